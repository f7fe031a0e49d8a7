/*
 * queue.c - how many kernels wait on each stream, just behind each launch and each kernel's start.
 *
 * Only two things are asked later: whether a launch found the stream idle, and whether its kernel left it empty, so two
 * bits of each row are kept (facts/queues.h has the lengths). Each kernel has a launch here, by correlation, and a
 * launch may have several kernels:
 *
 *     launches     a     b     c                    in the order of the rows
 *     kernels      a1    c1    a2   c2              in that order, too
 *     changes      a     a     c    c   a1 c1 a2 c2     a launch for each of its kernels, then the kernels' starts
 *
 * Cost: two sorts of launches and kernels, O(n) else.
 */
#include "critical_path/queue.h"

#include "base/error.h"
#include "critical_path/path_search.h"
#include "facts/queues.h"
#include "match/key_index.h"

struct launches {
    row_t *row, n;
    row_t *n_kernels;       /* of each */
    struct key_index index; /* correlation -> launch */
};

/* Rows on a stream whose correlation a launch has. */
struct launched_rows {
    row_t *row, n;
    row_t *launch;  /* of each, its number */
    uint32_t *lane; /* and the number of its stream */
    struct tuples lanes;
};

static bool is_launch(const struct path_work *work, const struct path_rows *rows, row_t event) {
    row_t link = rows->link[event];
    if (!name_has(rows, event, NAME_LAUNCH) || link == ROW_NONE)
        return false;
    return work->rules.extended ? !(rows->state[event] & ROW_GPU) : link > 0;
}

static enum sutra_status find_launches(struct path_work *work, const struct path_rows *rows,
                                       struct launches *launches) {
    value_key *keys = arena_take(&work->scratch, rows->n, sizeof *keys);
    launches->row = arena_take(&work->scratch, rows->n, sizeof *launches->row);
    launches->n_kernels = arena_zeros(&work->scratch, rows->n, sizeof *launches->n_kernels);
    enum sutra_status status = work_taken(work);
    for (row_t i = 0; i < rows->n && !status; i++)
        if (is_launch(work, rows, rows->list[i])) {
            keys[launches->n] = work->events->correlation[rows->list[i]];
            launches->row[launches->n++] = rows->list[i];
        }
    row_t second = ROW_NONE;
    if (!status)
        status = key_index_build(&launches->index, work->engine, keys, launches->n, KEY_LAST, &second, work->error);
    if (status || work->rules.extended)
        return status;
    if (launches->n == 0)
        return stop_crash(work, "no launch has a kernel");
    if (second != ROW_NONE)
        return stop_crash(work, "two launches have the correlation of event %u", launches->row[second]);
    return SUTRA_OK;
}

static enum sutra_status find_kernels(struct path_work *work, const struct path_rows *rows, struct launches *launches,
                                      struct launched_rows *kernels) {
    kernels->row = arena_take(&work->scratch, rows->n, sizeof *kernels->row);
    kernels->launch = arena_take(&work->scratch, rows->n, sizeof *kernels->launch);
    kernels->lane = arena_take(&work->scratch, rows->n, sizeof *kernels->lane);
    enum sutra_status status = work_taken(work);
    for (row_t i = 0; i < rows->n && !status; i++) {
        row_t event = rows->list[i];
        if (!on_stream(rows, event) || (work->rules.extended && category_has(rows, event, CATEGORY_SYNC)))
            continue;
        row_t launch = key_index_find(&launches->index, work->events->correlation[event]);
        if (launch == ROW_NONE)
            continue;
        uint32_t lane = tuples_number(&kernels->lanes, stream_of(work, rows, event));
        if (lane == TUPLE_NONE)
            return error_memory(work->error);
        launches->n_kernels[launch]++;
        kernels->launch[kernels->n] = launch;
        kernels->lane[kernels->n] = lane;
        kernels->row[kernels->n++] = event;
    }
    return status;
}

/* The reference wants as many launches as kernels, and can look up no row twice. */
static enum sutra_status check_counts(const struct path_work *work, const struct path_rows *rows,
                                      const struct launches *launches) {
    if (work->rules.extended)
        return SUTRA_OK;
    for (row_t i = 0; i < launches->n; i++)
        if (launches->n_kernels[i] == 0)
            return stop_crash(work, "the launch at event %u has no kernel on a stream", launches->row[i]);
    for (row_t i = 0; i < launches->n; i++)
        if (launches->n_kernels[i] > 1 || on_stream(rows, launches->row[i]))
            return stop_empty(work, "several kernels have the correlation of event %u", launches->row[i]);
    return SUTRA_OK;
}

/* kernel_of[i] = the kernel whose start or launch change i is. `next` is where each launch goes on. */
static void list_changes(const struct launches *launches, const struct launched_rows *kernels, row_t *next,
                         row_t *kernel_of) {
    row_t n = 0;
    for (row_t i = 0; i < launches->n; i++) {
        next[i] = n;
        n += launches->n_kernels[i];
    }
    for (row_t kernel = 0; kernel < kernels->n; kernel++) {
        kernel_of[next[kernels->launch[kernel]]++] = kernel;
        kernel_of[kernels->n + kernel] = kernel;
    }
}

/* The row of a change. */
static row_t row_of(const struct launches *launches, const struct launched_rows *kernels, row_t change, row_t kernel) {
    return change < kernels->n ? launches->row[kernels->launch[kernel]] : kernels->row[kernel];
}

static struct queue_lengths lengths_take(struct arena *arena, row_t n) {
    return (struct queue_lengths){.change = arena_take(arena, n, sizeof(row_t)),
                                  .lane = arena_take(arena, n, sizeof(uint32_t)),
                                  .length = arena_take(arena, n, sizeof(uint32_t))};
}

static enum sutra_status measure(struct path_work *work, const struct path_rows *rows, const struct launches *launches,
                                 const struct launched_rows *kernels, uint8_t *queue) {
    row_t n = 2 * kernels->n;
    struct arena *scratch = &work->scratch;
    row_t *next = arena_take(scratch, launches->n, sizeof *next);
    row_t *kernel_of = arena_take(scratch, n, sizeof *kernel_of);
    uint64_t *time = arena_take(scratch, n, sizeof *time), *stream = arena_take(scratch, n, sizeof *stream);
    uint8_t *up = arena_take(scratch, n, sizeof *up);
    struct queue_lengths series = lengths_take(scratch, n);
    enum sutra_status status = work_taken(work);
    if (!status)
        list_changes(launches, kernels, next, kernel_of);
    for (row_t i = 0; i < n && !status; i++) {
        stream[i] = kernels->lane[kernel_of[i]];
        time[i] = (uint64_t)rows->ts[row_of(launches, kernels, i, kernel_of[i])];
        up[i] = i < kernels->n;
    }
    const struct queue_changes changes = {n, time, stream, up};
    if (!status)
        status = queues_measure(&changes, work->engine, scratch, &series, work->error);
    for (row_t i = 0; i < n && !status; i++) {
        row_t change = series.change[i], kernel = kernel_of[change], event = row_of(launches, kernels, change, kernel);
        bool one = series.length[i] == 1, zero = series.length[i] == 0;
        queue[event] |= (uint8_t)(QUEUE_SEEN | (one ? QUEUE_ONE : 0) | (zero ? QUEUE_ZERO : 0));
        if (up[change] && one)
            queue[kernels->row[kernel]] |= QUEUE_LAUNCH_ONE;
    }
    return status;
}

enum sutra_status queue_measure(struct path_work *work, const struct path_rows *rows, uint8_t *queue) {
    struct arena_mark mark = arena_mark(&work->scratch);
    struct launches launches = {0};
    struct launched_rows kernels = {0};
    enum sutra_status status = find_launches(work, rows, &launches);
    if (!status)
        status = find_kernels(work, rows, &launches, &kernels);
    if (!status)
        status = check_counts(work, rows, &launches);
    if (!status && kernels.n > ROW_LIMIT / 2)
        status = error_set(work->error, SUTRA_DATA, "more than %u kernels: cut the trace", ROW_LIMIT / 2);
    if (!status)
        status = measure(work, rows, &launches, &kernels, queue);
    key_index_free(&launches.index);
    tuples_free(&kernels.lanes);
    arena_release(&work->scratch, mark);
    return status;
}
