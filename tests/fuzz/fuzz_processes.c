/*
 * fuzz_processes.c - fuzzes the separation of ranks: the input is a device trace with several ranks. Each rank can be
 * selected unless the ranks share correlations; its trace has one rank at most, and each event of the input is in the
 * trace of a rank or counted as dropped.
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sutra_context *context = new_context(1);
    struct sutra_device_trace *whole = parse(context, data, size);
    const struct trace_processes *processes = whole ? whole->processes : NULL;
    uint64_t n_events = 0;
    struct trace_defect dropped = {0};
    for (uint32_t i = 0; processes && processes->n_ranks > 1 && i < processes->n_ranks && i < 8; i++) {
        struct sutra_device_trace *rank = parse(context, data, size);
        struct trace_processes *of_rank = NULL;
        struct sutra_error error = {0};
        check(rank, "the same input is read again");
        rank->document.source.rank = processes->list[i].rank;
        enum sutra_status status = processes_select_rank(context, "rank", &rank, &dropped, &error);
        check_outcome(status, &error, rank);
        check((status == SUTRA_OK) == (processes->n_shared == 0), "ranks without shared correlations are separated");
        if (rank) {
            check(processes_find(context, rank, &of_rank, &error) == SUTRA_OK, "there is memory");
            check(of_rank->n_ranks <= 1, "the trace of a rank has no other rank");
            check(of_rank->n_ranks == 0 || of_rank->list[0].n_activities <= processes->list[i].n_activities,
                  "the activities of a rank are its own");
            n_events += rank->events.n;
        }
        free(of_rank);
        sutra_device_trace_free(rank);
    }
    if (processes && processes->n_ranks > 1 && processes->n_ranks <= 8 && !processes->n_shared)
        check(n_events + dropped.count + whole->n_not_objects >= whole->events.n, "no event is lost");
    sutra_device_trace_free(whole);
    sutra_context_free(context);
    return 0;
}
