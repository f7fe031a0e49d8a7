/*
 * fuzz_collectives.c - fuzzes the analysis of collectives: the input is device traces of several ranks, separated by
 * NUL. Tables (sutra's and TraceLens') must be equal for traces read with one thread and with two.
 */
#include "analyze/collectives/collectives.h"
#include "analyze/ranks.h"
#include "fuzz.h"
#include "fuzz_tables.h"
#include "fuzz_trace.h"
#include "read/trace_head.h"

#define RANKS_MOST 4

struct made {
    struct sutra_context *context;
    struct sutra_collectives *of;
};

static bool is_taken(const struct rank_tasks *tasks, size_t n, int64_t rank) {
    for (size_t i = 0; i < n; i++)
        if (!tasks->list[i].status && tasks->list[i].rank == rank)
            return true;
    return false;
}

/* A task of the batch. */
static void take(struct made *made, size_t number, const uint8_t *data, size_t size) {
    struct sutra_collectives *of = made->of;
    struct rank_task *task = &of->tasks.list[number];
    struct sutra_device_trace *trace = NULL;
    static char path[] = "-";
    task->path = path;
    task->status = sutra_device_trace_parse(made->context, "device", data, size, &trace, &task->error);
    check_outcome(task->status, &task->error, trace);
    if (!trace)
        return;
    task->rank = rank_number(trace, path, number, &task->source);
    if (is_taken(&of->tasks, number, task->rank))
        task->status = SUTRA_DATA;
    else
        task->status = collective_part_read(collective_part_of(of, number), made->context, trace, task->rank,
                                            of->options.compat, &task->error);
    sutra_device_trace_free(trace);
}

static int compare_tasks(const void *left, const void *right, void *arg) {
    const struct rank_task *list = arg, *a = &list[*(const size_t *)left], *b = &list[*(const size_t *)right];
    if (!a->status != !b->status)
        return a->status ? 1 : -1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

static struct made make(unsigned n_threads, const uint8_t *data, size_t size, bool compat) {
    struct made made = {.context = new_context(n_threads), .of = calloc(1, sizeof *made.of)};
    check(made.of && collective_calls_init(&made.of->calls), "memory");
    struct rank_tasks *tasks = &made.of->tasks;
    made.of->options = (struct sutra_collectives_options){.compat = compat, .arrivals = true, .link_gb_per_s = 100};
    tasks->analysis = &collectives_analysis;
    tasks->list = arena_zeros(&tasks->arena, RANKS_MOST, sizeof *tasks->list);
    tasks->order = arena_zeros(&tasks->arena, RANKS_MOST, sizeof *tasks->order);
    tasks->results = arena_zeros(&tasks->arena, RANKS_MOST, sizeof(struct collective_part));
    for (const uint8_t *at = data, *end = data + size; at < end && tasks->n < RANKS_MOST;) {
        const uint8_t *nul = memchr(at, 0, (size_t)(end - at));
        size_t length = nul ? (size_t)(nul - at) : (size_t)(end - at);
        tasks->order[tasks->n] = tasks->n;
        take(&made, tasks->n++, at, length);
        at += length + 1;
    }
    for (size_t i = 0; i < tasks->n; i++)
        tasks->n_analyzed += !tasks->list[i].status;
    qsort_r(tasks->order, tasks->n, sizeof *tasks->order, compare_tasks, tasks->list);
    struct sutra_error error;
    check(collectives_join(made.of, made.context, &error) == SUTRA_OK, "tables of whatever was read");
    return made;
}

static void made_free(struct made *made) {
    sutra_collectives_free(made->of);
    sutra_context_free(made->context);
}

static void try_rules(const uint8_t *data, size_t size, bool compat) {
    struct made one = make(1, data, size, compat), two = make(2, data, size, compat);
    for (int id = 0; id < SUTRA_COLLECTIVES_N_TABLES; id++)
        check_tables_alike(sutra_result_table(SUTRA_RESULT(one.of), (uint32_t)id, NULL),
                           sutra_result_table(SUTRA_RESULT(two.of), (uint32_t)id, NULL));
    made_free(&one);
    made_free(&two);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    try_rules(data, size, false);
    try_rules(data, size, true);
    return 0;
}
