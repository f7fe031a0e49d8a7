/*
 * fuzz_processes.c - fuzzes the separation of ranks: the input is a device trace with several ranks. The ranks can be
 * separated unless they share correlations; each of their traces has one rank at most, and each event of the input is
 * in one of them or counted as dropped.
 */
#include "facts/processes.h"
#include "fuzz.h"
#include "fuzz_trace.h"

static struct sutra_device_trace *parse(struct sutra_context *context, const void *bytes, size_t size) {
    struct sutra_device_trace *trace = NULL;
    struct sutra_error error = {0};
    context->keeps_processes = true;
    enum sutra_status status = sutra_device_trace_parse(context, "trace", bytes, size, &trace, &error);
    check_outcome(status, &error, trace);
    return trace;
}

/* The trace of a rank, also if it is made alone. Returns the number of its events. */
static uint64_t check_rank(struct sutra_context *context, const struct sutra_device_trace *whole,
                           const struct rank_texts *texts, uint32_t i) {
    const struct trace_process *process = &whole->processes->list[i];
    const struct rank_text *text = &texts->list[i];
    struct rank_texts *alone = NULL;
    struct trace_processes *of_rank = NULL;
    struct sutra_device_trace *rank = NULL;
    struct sutra_error error = {0};
    check(text->rank == process->rank, "ranks are in the order of the processes");
    check(processes_split(context, whole, text->rank, &alone, &error) == SUTRA_OK && alone->n == 1 &&
              alone->list->json.length == text->json.length &&
              memcmp(alone->list->json.bytes, text->json.bytes, text->json.length) == 0,
          "one rank and all ranks are separated alike");
    enum sutra_status status = validity_read_rank(context, "rank", texts, i, &rank, &error);
    check_outcome(status, &error, rank);
    check(rank, "the trace of a rank is a trace");
    check(processes_find(context, rank, &of_rank, &error) == SUTRA_OK, "there is memory");
    check(of_rank->n_ranks <= 1, "the trace of a rank has no other rank");
    check(of_rank->n_ranks == 0 || of_rank->list[0].n_activities <= process->n_activities,
          "the activities of a rank are its own");
    uint64_t n_events = rank->events.n;
    free(of_rank);
    rank_texts_free(alone);
    sutra_device_trace_free(rank);
    return n_events;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sutra_context *context = new_context(1);
    struct sutra_device_trace *whole = parse(context, data, size);
    const struct trace_processes *processes = whole ? whole->processes : NULL;
    if (processes && processes->n_ranks > 1 && processes->n_ranks <= 8) {
        struct rank_texts *texts = NULL;
        struct sutra_error error = {0};
        uint64_t n_events = 0;
        enum sutra_status status = processes_split(context, whole, SOURCE_ALL_RANKS, &texts, &error);
        check_outcome(status, &error, texts);
        check((status == SUTRA_OK) == (processes->n_shared == 0), "ranks without shared correlations are separated");
        for (uint32_t i = 0; texts && i < processes->n_ranks; i++)
            n_events += check_rank(context, whole, texts, i);
        if (texts)
            check(n_events + texts->dropped.count + whole->n_not_objects >= whole->events.n, "no event is lost");
        rank_texts_free(texts);
    }
    sutra_device_trace_free(whole);
    sutra_context_free(context);
    return 0;
}
