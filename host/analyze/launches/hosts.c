/*
 * hosts.c - the host rows of launches.h: events of each thread as a tree in pre-order. Also the lists of events from
 * which a launch model is built.
 *
 *     events in file order --by thread--> sorted by start, longer first --stack--> rows with parent, end, around
 *
 *     thread 7   | linear .............. |            row     0 linear   1 addmm   2 launch   3 relu
 *                |  addmm ...  |  relu | |            parent  -          0         1          0
 *                |   launch    |                      end     4          3         3          4
 *
 * The stack is the chain of parents. Threads are sorted and walked in parallel.
 *
 * Cost: O(n), and a sort of each thread that is not in order.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/launches/launches.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "columns/hash_tables.h"
#include "facts/times.h"
#include "match/steps.h"

/* ---- Lists of events ---- */

/* Lists to which the events of a category belong; all but arrows need a duration. */
enum { LIST_HOST = 1, LIST_CALLS = 2, LIST_DEVICE = 4, LIST_ARROWS = 8 };

enum sutra_status reserve_event_lists(const struct launch_model *model, unsigned kinds, uint32_t device_roles,
                                      struct arena *arena, struct event_lists *lists, struct sutra_error *error) {
    uint32_t n_strings = model->strings->n;
    row_t n = model->events->n;
    *lists = (struct event_lists){.host = arena_alloc(arena, n, sizeof(row_t)),
                                  .call = arena_alloc(arena, n, sizeof(row_t)),
                                  .device = arena_alloc(arena, n, sizeof(row_t)),
                                  .arrow = arena_alloc(arena, n, sizeof(row_t)),
                                  .kind_of = arena_alloc(arena, n_strings, sizeof(uint8_t)),
                                  .lists_of = arena_alloc(arena, n_strings, sizeof(uint8_t))};
    TRY(arena_status(arena, error));
    for (uint32_t string = 0; string < n_strings; string++) {
        uint32_t roles = model->roles[string].category;
        enum host_kind kind = roles & CATEGORY_CPU_OP       ? HOST_OPERATOR
                              : roles & CATEGORY_CALL       ? HOST_CALL
                              : roles & CATEGORY_PYTHON     ? HOST_FRAME
                              : roles & CATEGORY_ANNOTATION ? HOST_ANNOTATION
                                                            : HOST_NONE;
        if (!(kinds >> kind & 1))
            kind = HOST_NONE;
        lists->kind_of[string] = (uint8_t)kind;
        lists->lists_of[string] =
            (uint8_t)((kind != HOST_NONE ? LIST_HOST : 0) | (kind == HOST_CALL ? LIST_CALLS : 0) |
                      (roles & device_roles ? LIST_DEVICE : 0) | (roles & CATEGORY_LAUNCH_FLOW ? LIST_ARROWS : 0));
    }
    return SUTRA_OK;
}

/* The lists, of `wanted`, to which an event belongs. Without branches, as neighbors rarely belong to the same list. */
static unsigned lists_of_event(const struct device_events *events, const uint8_t *lists_of, row_t event,
                               row_t *n_endless, unsigned wanted) {
    uint32_t category = events->category[event];
    unsigned of = category == STRING_NONE ? 0 : lists_of[category] & wanted;
    bool ends = events->flags[event] & EVENT_HAS_DUR;
    *n_endless += !ends && of & (LIST_HOST | LIST_DEVICE);
    return of & (ends ? ~0U : LIST_ARROWS);
}

void list_host_events(const struct launch_model *model, struct event_lists *lists) {
    row_t n = 0, n_endless = 0;
    for (row_t event = 0; event < model->events->n; event++) {
        lists->host[n] = event;
        n += lists_of_event(model->events, lists->lists_of, event, &n_endless, LIST_HOST) != 0;
    }
    lists->n_host = n;
    lists->n_host_endless = n_endless;
}

void list_device_events(const struct launch_model *model, struct event_lists *lists) {
    row_t n_calls = 0, n_device = 0, n_arrows = 0, n_endless = 0;
    for (row_t event = 0; event < model->events->n; event++) {
        lists->call[n_calls] = lists->device[n_device] = lists->arrow[n_arrows] = event;
        unsigned of = lists_of_event(model->events, lists->lists_of, event, &n_endless, ~(unsigned)LIST_HOST);
        n_calls += (of & LIST_CALLS) != 0;
        n_device += (of & LIST_DEVICE) != 0;
        n_arrows += (of & LIST_ARROWS) != 0;
    }
    lists->n_calls = n_calls;
    lists->n_device = n_device;
    lists->n_arrows = n_arrows;
    lists->n_device_endless = n_endless;
}

/* ---- Marked ancestors ---- */

/* The innermost row that has not ended at a moment, among the ancestors of `row`, and `row` itself if it is marked.
 * Rows that have ended stay so: the paths over them are compressed. */
static row_t innermost(const struct host_rows *rows, row_t *above, row_t row, bool is_marked, int64_t moment) {
    row_t found = is_marked ? row : above[row];
    while (found != ROW_NONE && rows->stop[found] <= moment)
        found = above[found];
    compress_path(above, row, found);
    return found;
}

enum sutra_status find_marked_ancestors(const struct launch_model *model, const uint8_t *marked, struct arena *scratch,
                                        row_t *around, struct sutra_error *error) {
    const struct host_rows *rows = &model->hosts;
    struct arena_mark mark = arena_mark(scratch);
    row_t *above = arena_alloc(scratch, rows->n, sizeof *above);
    TRY(arena_status(scratch, error));
    for (row_t row = 0; row < rows->n; row++) {
        row_t parent = rows->parent[row];
        if (parent == ROW_NONE)
            above[row] = ROW_NONE;
        else
            above[row] = innermost(rows, above, parent, marked[parent], rows->start[row]);
        around[row] = above[row];
    }
    arena_release(scratch, mark);
    return SUTRA_OK;
}

/* ---- Modules ---- */

bool host_is_module(const struct launch_model *model, row_t host) {
    return model->hosts.kind[host] == HOST_FRAME &&
           text_compare(model->strings, host_name(model, host), TEXT_BEGINS, MODULE_PREFIX);
}

void mark_modules(const struct launch_model *model, uint8_t *marked) {
    for (row_t row = 0; row < model->hosts.n; row++)
        marked[row] = host_is_module(model, row);
}

/* ---- Rows ---- */

/* Events thread by thread, sorted: the columns of the rows. */
struct host_build {
    struct launch_model *model;
    const uint8_t *kinds; /* by string of a category */
    row_t *first;         /* events of thread t are first[t] .. first[t + 1] - 1 */
    row_t *scratch;       /* a column */
};

/* Fills the other columns from events and starts. */
static void fill_columns(struct host_build *build, row_t begin, row_t end) {
    const struct launch_model *model = build->model;
    const struct host_rows *rows = &model->hosts;
    for (row_t i = begin; i < end; i++) {
        row_t event = rows->event[i];
        rows->name[i] = model->events->name[event];
        rows->stop[i] = end_ticks(model, event, rows->start[i]);
        rows->kind[i] = build->kinds[model->events->category[event]];
    }
}

/* Sorts events, and the values themselves, ascending and stable. Values that are not negative are sort keys. */
static enum sutra_status sort_events(row_t *event, int64_t *values, row_t n, struct sutra_error *error) {
    uint64_t *keys = (uint64_t *)values;
    int64_t signs = 0;
    for (row_t i = 0; i < n; i++)
        signs |= values[i];
    for (row_t i = 0; i < n && signs < 0; i++)
        keys[i] = integer_sort_key(values[i]);
    enum sutra_status status = cpu_sort_keys(NULL, &(struct sort_keys_step){keys, event, n}, error);
    for (row_t i = 0; i < n && signs < 0; i++)
        values[i] = integer_of_sort_key(keys[i]);
    return status;
}

/* Pool task: sorts a thread by start, events of the same start by length, longest first, and walks it. */
static enum sutra_status make_thread(void *arg, size_t thread, struct sutra_error *error) {
    struct host_build *build = arg;
    const struct host_rows *rows = &build->model->hosts;
    row_t begin = build->first[thread], end = build->first[thread + 1];
    bool ascending = true; /* in most files */
    for (row_t i = begin + 1; i < end && ascending; i++)
        ascending = rows->start[i - 1] <= rows->start[i];
    if (!ascending)
        TRY(sort_events(rows->event + begin, rows->start + begin, end - begin, error));
    fill_columns(build, begin, end);
    for (row_t from = begin, to; from < end; from = to) {
        bool descending = true;
        for (to = from + 1; to < end && rows->start[to] == rows->start[from]; to++)
            descending = descending && rows->stop[to] <= rows->stop[to - 1];
        if (descending)
            continue;
        for (row_t i = from; i < to; i++)
            rows->stop[i] = rows->start[i] - rows->stop[i];
        TRY(sort_events(rows->event + from, rows->stop + from, to - from, error));
        fill_columns(build, from, to);
    }

    row_t top = ROW_NONE, *above = build->scratch;
    for (row_t row = begin; row < end; row++) {
        for (; top != ROW_NONE && rows->stop[top] <= rows->start[row]; top = rows->parent[top])
            rows->end[top] = row;
        bool below_operator = top != ROW_NONE && rows->kind[top] == HOST_OPERATOR;
        above[row] = top == ROW_NONE || below_operator ? top : innermost(rows, above, top, false, rows->start[row]);
        rows->around[row] = above[row];
        rows->parent[row] = top;
        rows->thread[row] = (uint32_t)thread;
        top = row;
    }
    for (; top != ROW_NONE; top = rows->parent[top])
        rows->end[top] = end;
    return SUTRA_OK;
}

bool number_threads(const struct device_events *events, const row_t *rows, row_t n, uint32_t *thread,
                    uint32_t *n_threads) {
    struct event_threads numbers;
    bool ok = event_threads_init(&numbers);
    for (row_t i = 0; i < n && ok; i++) {
        thread[i] = event_thread(&numbers, events, rows[i]);
        ok = thread[i] != PAIR_NONE;
    }
    *n_threads = numbers.threads.n;
    event_threads_free(&numbers);
    return ok;
}

enum sutra_status make_host_rows(struct sutra_context *context, struct launch_model *model,
                                 const struct exact_times *times, const struct event_lists *lists, struct arena *arena,
                                 struct arena *scratch, struct sutra_error *error) {
    const struct device_events *events = model->events;
    struct arena_mark mark = arena_mark(scratch);

    /* Keep the listed events with known times, and number their threads in file order. */
    row_t *listed = lists->host, n = 0;
    for (row_t i = 0; i < lists->n_host; i++) {
        row_t event = listed[i];
        if (time_is_usable(events, event))
            listed[n++] = event;
        else
            model->n_untimed_hosts += !(events->flags[event] & EVENT_UNUSABLE); /* reported with the trace */
    }
    uint32_t n_threads, *thread = arena_alloc(arena, n, sizeof *thread);
    TRY_ALLOC(thread && number_threads(events, listed, n, thread, &n_threads), error);

    /* `thread` and `listed` become a column of rows, and scratch memory, once the events are distributed. */
    struct host_build build = {.model = model,
                               .kinds = lists->kind_of,
                               .first = arena_zeros(scratch, (size_t)n_threads + 2, sizeof *build.first),
                               .scratch = listed};
    struct host_rows *rows = &model->hosts;
    *rows = (struct host_rows){.n = n,
                               .n_threads = n_threads,
                               .event = arena_alloc(arena, n, sizeof(row_t)),
                               .name = arena_alloc(arena, n, sizeof(uint32_t)),
                               .parent = arena_alloc(arena, n, sizeof(row_t)),
                               .end = arena_alloc(arena, n, sizeof(row_t)),
                               .around = arena_alloc(arena, n, sizeof(row_t)),
                               .start = arena_alloc(arena, n, sizeof(int64_t)),
                               .stop = arena_alloc(arena, n, sizeof(int64_t)),
                               .thread = thread,
                               .kind = arena_alloc(arena, n, sizeof(uint8_t))};
    TRY_ALLOC(!arena->failed && !scratch->failed, error);

    /* Distribute them to their threads. */
    for (row_t i = 0; i < n; i++)
        build.first[thread[i] + 2]++;
    for (uint32_t t = 0; t < n_threads; t++)
        build.first[t + 2] += build.first[t + 1];
    for (row_t i = 0; i < n; i++) {
        row_t k = build.first[thread[i] + 1]++;
        rows->event[k] = listed[i];
        rows->start[k] = exact_start_ns(model->trace, times, listed[i]);
    }
    TRY(pool_try(context->pool, n_threads, make_thread, &build, error));
    arena_release(scratch, mark);
    return SUTRA_OK;
}

/* ---- Rows at the starts of arrows ---- */

struct arrow_start {
    uint32_t thread;
    int64_t moment;
    row_t device;
};

ORDER_BY(compare_arrow_starts, struct arrow_start, ASCENDING(thread) ASCENDING(moment) ASCENDING(device))

/* Numbers the threads of hosts again, by their first rows; `first` has a row for each, and one more. False: out of
 * memory. */
static bool number_host_threads(const struct launch_model *model, struct event_threads *threads, uint32_t *host_thread,
                                row_t *first) {
    const struct host_rows *hosts = &model->hosts;
    for (row_t row = 0; row < hosts->n; row++) {
        if (row && hosts->thread[row] == hosts->thread[row - 1])
            continue;
        uint32_t number = event_thread(threads, model->events, hosts->event[row]);
        if (number == PAIR_NONE)
            return false;
        host_thread[number] = hosts->thread[row];
        first[hosts->thread[row]] = row;
    }
    first[hosts->n_threads] = hosts->n;
    return true;
}

enum sutra_status find_arrow_rows(struct launch_model *model, const struct exact_times *times, struct arena *scratch,
                                  struct sutra_error *error) {
    const struct host_rows *hosts = &model->hosts;
    struct device_rows *devices = &model->devices;
    struct arena_mark mark = arena_mark(scratch);
    struct arrow_start *starts = arena_alloc(scratch, devices->n, sizeof *starts);
    row_t n = 0, *first = arena_zeros(scratch, (size_t)hosts->n_threads + 1, sizeof *first);
    uint32_t *host_thread = arena_alloc(scratch, hosts->n_threads, sizeof *host_thread);
    row_t *above = arena_alloc(scratch, hosts->n, sizeof *above); /* the nearest operator or call that encloses a row */
    struct event_threads threads = {0};
    bool ok =
        !scratch->failed && event_threads_init(&threads) && number_host_threads(model, &threads, host_thread, first);
    for (row_t i = 0; i < devices->n && ok; i++) {
        row_t arrow = devices->call[i];
        if (arrow == ROW_NONE || model->events->phase[arrow] != 's')
            continue;
        devices->call[i] = ROW_NONE;
        uint32_t thread = event_thread(&threads, model->events, arrow);
        ok = thread != PAIR_NONE;
        if (ok && thread < hosts->n_threads)
            starts[n++] = (struct arrow_start){host_thread[thread], exact_start_ns(model->trace, times, arrow), i};
    }
    event_threads_free(&threads);
    TRY_ALLOC(ok, error);
    for (row_t row = 0; row < hosts->n; row++) {
        row_t parent = hosts->parent[row];
        bool counts = parent != ROW_NONE && hosts->kind[parent] <= HOST_CALL;
        above[row] = parent == ROW_NONE || counts ? parent : above[parent];
    }

    /* Moments ascend in each thread, so that a row that has ended never counts again. */
    qsort(starts, n, sizeof *starts, compare_arrow_starts);
    for (row_t k = 0; k < n; k++) {
        row_t begin = first[starts[k].thread];
        row_t n_begun = count_up_to(hosts->start + begin, first[starts[k].thread + 1] - begin, starts[k].moment);
        if (n_begun == 0)
            continue;
        row_t row = begin + n_begun - 1;
        bool counts = hosts->kind[row] <= HOST_CALL && hosts->stop[row] > starts[k].moment;
        row_t found = counts ? row : innermost(hosts, above, row, false, starts[k].moment);
        devices->call[starts[k].device] = found == ROW_NONE ? ROW_NONE : hosts->event[found];
    }
    arena_release(scratch, mark);
    return SUTRA_OK;
}
