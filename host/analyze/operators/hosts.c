/*
 * hosts.c - the host's events as trees: in come events, out go rows in pre-order with their parents.
 *
 * Events are dealt out to their threads, sorted there by start (of equal starts the longer first; the reference keeps the
 * order of the file), and each thread is walked with a stack, which is the chain of parents. O(n) beside the sorts.
 */
#include "analyze/operators/reading.h"

#include <string.h>

#include "base/error.h"
#include "facts/threads.h"
#include "match/cpu_steps.h"

/* An event that the reference takes for one behind the last, though it begins before that ends: by less than this. */
#define BLEED_US 1.0

/* Events in the order of the file, then in the order of the walk. */
struct host_list {
    row_t n;
    uint32_t n_threads;
    row_t *event, *order;
    int64_t *start, *stop;
    uint32_t *thread;
    uint8_t *kind;
};

struct host_walk {
    const struct host_list *list;
    struct op_reading *reading;
    struct host_rows *rows;
    row_t top;       /* of the stack, a row; ROW_NONE: it is empty */
    row_t *left_out; /* places in the list */
};

/* ---- Which events ---- */

static bool kind_of(const struct op_reading *reading, row_t event, uint8_t *kind) {
    uint32_t roles = category_roles(reading->events, reading->roles, event);
    bool reference = reading->rules & READING_REFERENCE;
    if (roles & CATEGORY_CPU_OP)
        *kind = HOST_OPERATOR;
    else if (roles & CATEGORY_CALL)
        *kind = HOST_CALL;
    else if (roles & CATEGORY_PYTHON && !(reading->rules & READING_NO_FRAMES))
        *kind = HOST_FRAME;
    else if (roles & CATEGORY_ANNOTATION && !reference)
        *kind = HOST_ANNOTATION;
    else
        return false;
    return reading->events->flags[event] & EVENT_HAS_DUR;
}

static struct host_list list_take(row_t n, struct arena *arena) {
    return (struct host_list){.event = arena_take(arena, n, sizeof(row_t)),
                              .order = arena_take(arena, n, sizeof(row_t)),
                              .start = arena_take(arena, n, sizeof(int64_t)),
                              .stop = arena_take(arena, n, sizeof(int64_t)),
                              .thread = arena_take(arena, n, sizeof(uint32_t)),
                              .kind = arena_take(arena, n, sizeof(uint8_t))};
}

static row_t count_hosts(const struct op_reading *reading) {
    uint8_t kind;
    row_t n = 0;
    for (row_t event = 0; event < reading->events->n; event++)
        n += kind_of(reading, event, &kind);
    return n;
}

static void list_events(struct op_reading *reading, const struct exact_times *times, struct host_list *list) {
    struct op_time time;
    uint8_t kind;
    for (row_t event = 0; event < reading->events->n; event++) {
        if (!kind_of(reading, event, &kind) || !op_times_read(reading, times, event, &time))
            continue;
        list->event[list->n] = event;
        list->start[list->n] = time.start;
        list->stop[list->n] = time.stop;
        list->kind[list->n++] = kind;
    }
}

/* Numbers threads by process and tid, in the order of events. */
static enum sutra_status number_threads(const struct device_events *events, struct host_list *list,
                                        struct sutra_error *error) {
    struct thread_numbers processes, threads = {0};
    bool ok = thread_numbers_init(&processes) && thread_numbers_init(&threads);
    for (row_t i = 0; i < list->n && ok; i++) {
        uint32_t process = thread_number(&processes, (uint64_t)events->pid[list->event[i]], 0);
        uint32_t thread =
            process == PAIR_NONE ? PAIR_NONE : thread_number(&threads, (uint64_t)events->tid[list->event[i]], process);
        ok = (list->thread[i] = thread) != PAIR_NONE;
    }
    list->n_threads = threads.n;
    thread_numbers_free(&processes);
    thread_numbers_free(&threads);
    return ok ? SUTRA_OK : error_memory(error);
}

/* ---- Their order ---- */

/* Deals the places out to their threads, in the order of the file; first[thread] becomes the end of each one's places. */
static void deal_out(struct host_list *list, row_t *first) {
    for (row_t i = 0; i < list->n; i++)
        first[list->thread[i] + 1]++;
    for (uint32_t thread = 0; thread < list->n_threads; thread++)
        first[thread + 1] += first[thread];
    for (row_t i = 0; i < list->n; i++)
        list->order[first[list->thread[i]]++] = i;
}

static bool is_in_order(const struct host_list *list, row_t begin, row_t end) {
    bool rising = true;
    for (row_t i = begin + 1; i < end && rising; i++)
        rising = list->start[list->order[i - 1]] <= list->start[list->order[i]];
    return rising;
}

/* Sorts the places of a thread by start; in most files they stand so. */
static enum sutra_status sort_starts(struct host_list *list, row_t begin, row_t end, uint64_t *keys,
                                     struct sutra_error *error) {
    if (is_in_order(list, begin, end))
        return SUTRA_OK;
    for (row_t i = begin; i < end; i++)
        keys[i] = integer_sort_key(list->start[list->order[i]]);
    return cpu_sort_keys(NULL, &(struct sort_keys_step){keys + begin, list->order + begin, end - begin}, error);
}

/* Those of one start by falling length. These are few where events have times of their own. */
static enum sutra_status sort_equal(struct host_list *list, row_t from, row_t to, uint64_t *keys,
                                    struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    for (row_t begin = from, end; begin < to && !status; begin = end) {
        int64_t start = list->start[list->order[begin]];
        for (end = begin + 1; end < to && list->start[list->order[end]] == start; end++)
            ;
        if (end == begin + 1)
            continue;
        for (row_t i = begin; i < end; i++)
            keys[i] = ~((uint64_t)list->stop[list->order[i]] - (uint64_t)start);
        status = cpu_sort_keys(NULL, &(struct sort_keys_step){keys + begin, list->order + begin, end - begin}, error);
    }
    return status;
}

/* By thread, start, and (by our rules) falling length. */
static enum sutra_status sort_list(const struct op_reading *reading, struct host_list *list, struct arena *scratch,
                                   struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    uint64_t *keys = arena_take(scratch, list->n, sizeof *keys);
    row_t *end = arena_zeros(scratch, (size_t)list->n_threads + 1, sizeof *end);
    enum sutra_status status = arena_status(scratch, error);
    if (!status)
        deal_out(list, end);
    for (uint32_t thread = 0; thread < list->n_threads && !status; thread++) {
        row_t begin = thread ? end[thread - 1] : 0;
        status = sort_starts(list, begin, end[thread], keys, error);
        if (!status && !(reading->rules & READING_REFERENCE))
            status = sort_equal(list, begin, end[thread], keys, error);
    }
    arena_release(scratch, mark);
    return status;
}

/* ---- The walk ---- */

static void pop(struct host_walk *walk) {
    struct host_rows *rows = walk->rows;
    rows->end[walk->top] = rows->n;
    walk->top = rows->parent[walk->top];
}

static row_t put(struct host_walk *walk, row_t place, row_t parent) {
    const struct host_list *list = walk->list;
    struct host_rows *rows = walk->rows;
    row_t row = rows->n++;
    rows->event[row] = list->event[place];
    rows->parent[row] = parent;
    rows->end[row] = row + 1;
    rows->start[row] = list->start[place];
    rows->stop[row] = list->stop[place];
    rows->thread[row] = list->thread[place];
    rows->kind[row] = list->kind[place];
    return row;
}

/* What the reference does with an event that ends behind the one around it: it looks once whether it rather stands
 * behind that. False: it leaves the event out. */
static bool settle_crossing(struct host_walk *walk, row_t place) {
    struct host_rows *rows = walk->rows;
    int64_t left = rows->stop[walk->top] - walk->list->start[place];
    if (walk->list->stop[place] <= rows->stop[walk->top])
        return true;
    if (!((double)left < BLEED_US * walk->reading->ticks_per_us) || rows->parent[walk->top] == ROW_NONE)
        return false;
    pop(walk);
    return true;
}

static void take(struct host_walk *walk, row_t place) {
    struct host_rows *rows = walk->rows;
    bool other_thread = walk->top != ROW_NONE && rows->thread[walk->top] != walk->list->thread[place];
    while (walk->top != ROW_NONE && (other_thread || rows->stop[walk->top] <= walk->list->start[place]))
        pop(walk);
    if (walk->reading->rules & READING_REFERENCE && walk->top != ROW_NONE && !settle_crossing(walk, place))
        walk->left_out[rows->n_left_out++] = place;
    else
        walk->top = put(walk, place, walk->top);
}

static void walk_all(struct host_walk *walk) {
    for (row_t i = 0; i < walk->list->n; i++)
        take(walk, walk->list->order[i]);
    while (walk->top != ROW_NONE)
        pop(walk);
    for (row_t i = 0; i < walk->rows->n_left_out; i++)
        put(walk, walk->left_out[i], ROW_NONE);
}

static enum sutra_status make_rows(struct op_reading *reading, const struct host_list *list, struct arena *arena,
                                   struct arena *scratch, struct sutra_error *error) {
    struct host_rows *rows = &reading->hosts;
    *rows = (struct host_rows){.n_threads = list->n_threads,
                               .event = arena_take(arena, list->n, sizeof(row_t)),
                               .parent = arena_take(arena, list->n, sizeof(row_t)),
                               .end = arena_take(arena, list->n, sizeof(row_t)),
                               .start = arena_take(arena, list->n, sizeof(int64_t)),
                               .stop = arena_take(arena, list->n, sizeof(int64_t)),
                               .thread = arena_take(arena, list->n, sizeof(uint32_t)),
                               .kind = arena_take(arena, list->n, sizeof(uint8_t))};
    struct host_walk walk = {list, reading, rows, ROW_NONE, arena_take(scratch, list->n, sizeof(row_t))};
    enum sutra_status status = arena_status(arena, error);
    if (!status)
        status = arena_status(scratch, error);
    if (!status)
        walk_all(&walk);
    return status;
}

enum sutra_status host_rows_make(struct op_reading *reading, const struct exact_times *times, struct arena *arena,
                                 struct arena *scratch, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    struct host_list list = list_take(count_hosts(reading), scratch);
    enum sutra_status status = arena_status(scratch, error);
    if (!status)
        list_events(reading, times, &list);
    if (!status)
        status = number_threads(reading->events, &list, error);
    if (!status)
        status = sort_list(reading, &list, scratch, error);
    if (!status)
        status = make_rows(reading, &list, arena, scratch, error);
    arena_release(scratch, mark);
    return status;
}

/* ---- What is around ---- */

/* The innermost marked row among `row` and those above it that has not ended at a moment. What has ended stays so, so
 * the ways to it are cut short for those who look later. */
static row_t innermost(const struct host_rows *rows, const uint8_t *marked, row_t *above, row_t row, int64_t at) {
    row_t found = marked[row] ? row : above[row];
    while (found != ROW_NONE && rows->stop[found] <= at)
        found = above[found];
    for (row_t next = row; next != found && next != ROW_NONE;) {
        row_t then = above[next];
        above[next] = found;
        next = then;
    }
    return found;
}

enum sutra_status op_reading_around(const struct op_reading *reading, const uint8_t *marked, struct arena *scratch,
                                    row_t *around, struct sutra_error *error) {
    const struct host_rows *rows = &reading->hosts;
    bool reference = reading->rules & READING_REFERENCE;
    struct arena_mark mark = arena_mark(scratch);
    row_t *above = arena_take(scratch, rows->n, sizeof *above);
    enum sutra_status status = arena_status(scratch, error);
    for (row_t row = 0; row < rows->n && !status; row++) {
        row_t parent = rows->parent[row];
        if (parent == ROW_NONE)
            above[row] = ROW_NONE;
        else
            above[row] = innermost(rows, marked, above, parent, reference ? INT64_MIN : rows->start[row]);
        around[row] = above[row];
    }
    arena_release(scratch, mark);
    return status;
}
