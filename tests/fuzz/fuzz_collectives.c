/*
 * fuzz_collectives.c - fuzzes the analysis of collectives: the input is device traces of several ranks, separated by
 * NUL. Tables (sutra's and TraceLens') must be equal for traces read with one thread and with two.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "analyze/collectives/collectives.h"
#include "analyze/ranks.h"
#include "fuzz.h"
#include "fuzz_tables.h"
#include "fuzz_trace.h"
#include "read/file_kind.h"

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
        task->status =
            collective_part_read(collective_part_of(of, number), made->context, trace, task->rank, &task->error);
    sutra_device_trace_free(trace);
}

static int compare_tasks(const void *left, const void *right, void *arg) {
    const struct rank_task *list = arg, *a = &list[*(const size_t *)left], *b = &list[*(const size_t *)right];
    if (!a->status != !b->status)
        return a->status ? 1 : -1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

static struct made make(unsigned n_threads, const uint8_t *data, size_t size) {
    struct made made = {.context = new_context(n_threads), .of = calloc(1, sizeof *made.of)};
    check(made.of && collective_calls_init(&made.of->calls), "memory");
    struct rank_tasks *tasks = &made.of->tasks;
    made.of->options = (struct sutra_collectives_options){.arrivals = true, .link_gb_per_s = 100};
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

static void try_own(const uint8_t *data, size_t size) {
    struct made one = make(1, data, size), two = make(2, data, size);
    for (int id = 0; id < SUTRA_COLLECTIVES_N_TABLES; id++)
        check_tables_alike(sutra_result_table(SUTRA_RESULT(one.of), (uint32_t)id, NULL),
                           sutra_result_table(SUTRA_RESULT(two.of), (uint32_t)id, NULL));
    made_free(&one);
    made_free(&two);
}

/* TraceLens' tables of the same traces, as files in memory. */
static void try_tracelens(const uint8_t *data, size_t size) {
    char names[RANKS_MOST][32];
    const char *paths[RANKS_MOST];
    int files[RANKS_MOST];
    size_t n = 0;
    for (const uint8_t *at = data, *end = data + size; at < end && n < RANKS_MOST; n++) {
        const uint8_t *nul = memchr(at, 0, (size_t)(end - at));
        size_t length = nul ? (size_t)(nul - at) : (size_t)(end - at);
        files[n] = memfd_create("trace", 0);
        check(files[n] >= 0 && write(files[n], at, length) == (ssize_t)length, "the trace is written");
        snprintf(names[n], sizeof names[n], "/proc/self/fd/%d", files[n]);
        paths[n] = names[n];
        at += length + 1;
    }
    struct sutra_context *contexts[2];
    struct sutra_tracelens_collectives *made[2] = {NULL, NULL};
    for (unsigned i = 0; i < 2; i++) {
        struct sutra_error error = {0};
        contexts[i] = new_context(i + 1);
        enum sutra_status status = sutra_tracelens_collectives_run(contexts[i], paths, n, NULL, &made[i], &error);
        check_outcome(status, &error, made[i]);
    }
    check((made[0] == NULL) == (made[1] == NULL), "tables for any number of threads or for none");
    for (uint32_t id = 0; made[0] && id < SUTRA_TRACELENS_NCCL_N_TABLES; id++)
        check_tables_alike(sutra_result_table(SUTRA_RESULT(made[0]), id, NULL),
                           sutra_result_table(SUTRA_RESULT(made[1]), id, NULL));
    for (int i = 0; i < 2; i++) {
        sutra_tracelens_collectives_free(made[i]);
        sutra_context_free(contexts[i]);
    }
    while (n > 0)
        close(files[--n]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    try_own(data, size);
    try_tracelens(data, size);
    return 0;
}
