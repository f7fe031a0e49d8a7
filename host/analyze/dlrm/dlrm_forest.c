/*
 * dlrm_forest.c - host events below each other.
 *
 * In comes the window by rising start; out goes the forest in pre-order. The original looks for each event's parent
 * from the first root on and then from child to child; here the same one is found by two searches.
 *
 * 1. The root. An event x lies in the first root r, in the order of time, with r.end > x.start and r.end >= x.end. The
 *    first of all that reach so far reaches further than all before it:
 *
 *        ends of roots      5  9  7  9  12  11      searched by bisection:
 *        longest so far     5  9        12          the first of these that reaches x's end
 *
 *    No such root: x is a root. r of another thread, neither main nor x's own: x is hidden, it is nowhere in the
 *    forest. So it is to the original. By our rules only roots of x's own thread and labels of the main one are
 *    looked at, so that every operator is in the forest and none has the work of another thread's.
 *
 * 2. The parent. Below r, events of x's thread form a forest of their own; children of one event end later and later.
 *    The original descends to the first child that reaches x's end, and again, until there is none. That is, in
 *    post-order, the first event that reaches x's end, and x goes right before it: events of a thread below a root stay
 *    sorted by their ends. So the parent is the event with the smallest end from x's end on, the latest among equals;
 *    without one it is r. Ends are ranked beforehand, and a set of ranks finds the next.
 *
 * Cost: O(n log n) for the sorts of ends, O(log n) for an event, on any input; no recursion.
 */
#include "analyze/dlrm/dlrm.h"

#include "base/bisect.h"
#include "base/error.h"
#include "columns/row_set.h"
#include "facts/threads.h"

/* Host events of the window in the order of time. */
struct dlrm_host {
    row_t n;
    row_t *event;
    row_t *root;   /* the root that it lies in, itself for a root, ROW_NONE where it is hidden */
    row_t *parent; /* ROW_NONE for roots and hidden ones */
    row_t *place;  /* its node, ROW_NONE where it is hidden */
    struct number_column end;
};

/* Room for n of them, of which there are none yet. */
static struct dlrm_host host_new(row_t n, struct arena *arena) {
    return (struct dlrm_host){.event = arena_take(arena, n, sizeof(row_t)),
                              .root = arena_take(arena, n, sizeof(row_t)),
                              .parent = arena_take(arena, n, sizeof(row_t)),
                              .place = arena_take(arena, n, sizeof(row_t)),
                              .end = numbers_take(arena, n)};
}

/* Returns the last end, or that of the window. */
static struct number take_host_events(const struct dlrm_work *work, const struct dlrm_window *window,
                                      struct dlrm_host *host) {
    struct number last = window->end;
    for (row_t i = 0; i < window->n; i++) {
        row_t event = window->rows[i];
        if (!event_in(work, event, CATEGORY_CPU_OP | CATEGORY_CALL))
            continue;
        struct number end = event_end(work, event);
        if (number_compare(end, last) > 0)
            last = end;
        number_put(host->end, host->n, end);
        host->event[host->n++] = event;
    }
    return last;
}

/* ---- Roots ---- */

/* Roots that reach further than all before them, in lists: to the original one for all threads; by our rules one for
 * each thread, and behind those one for labels of the main thread. */
struct root_lists {
    uint32_t n;
    uint32_t *list;        /* per event: that of its thread */
    uint32_t labels;       /* the list that events of all other threads look into as well; LIST_NONE: there is none */
    row_t *first, *length; /* of each list, its part of `root` */
    row_t *root;
};

#define LIST_NONE UINT32_MAX

static enum sutra_status number_lists(struct dlrm_work *work, const struct dlrm_host *host, struct root_lists *lists,
                                      struct sutra_error *error) {
    struct key_index threads = {0};
    lists->labels = LIST_NONE;
    lists->n = 1;
    if (work->as_notebook)
        return SUTRA_OK;
    enum sutra_status status = threads_number(work->events, host->event, host->n, work->engine, &work->scratch,
                                              &threads, lists->list, &lists->n, error);
    key_index_free(&threads);
    lists->labels = lists->n++;
    return status;
}

static enum sutra_status lists_make(struct dlrm_work *work, const struct dlrm_host *host, struct root_lists *lists,
                                    struct sutra_error *error) {
    struct arena *scratch = &work->scratch;
    row_t at = 0;
    lists->list = arena_zeros(scratch, host->n, sizeof *lists->list);
    enum sutra_status status = scratch->failed ? error_memory(error) : number_lists(work, host, lists, error);
    if (status)
        return status;
    lists->first = arena_zeros(scratch, lists->n + (size_t)1, sizeof *lists->first);
    lists->length = arena_zeros(scratch, lists->n, sizeof *lists->length);
    lists->root = arena_take(scratch, 2 * (size_t)host->n, sizeof *lists->root);
    if (scratch->failed)
        return error_memory(error);
    for (row_t i = 0; i < host->n; i++)
        lists->first[lists->list[i] + 1]++;
    for (uint32_t list = 0; list <= lists->n; list++)
        at = lists->first[list] += at;
    return SUTRA_OK;
}

/* The first root of a list, whose ends rise, that ends after `start` and not before `end`; ROW_NONE: none. */
static row_t first_reaching(const struct dlrm_host *host, const struct root_lists *lists, uint32_t list,
                            struct number start, struct number end) {
    const row_t *root = lists->root + lists->first[list];
    struct bisection at = {0, lists->length[list]};
    while (at.low < at.high) {
        struct number its = number_at(host->end, root[bisect_middle(at)]);
        bisect(&at, number_compare(its, start) <= 0 || number_compare(its, end) < 0);
    }
    return at.low < lists->length[list] ? root[at.low] : ROW_NONE;
}

/* Whether the root before the one that was found, or the last, reaches into the event. */
static bool is_crossing(const struct dlrm_host *host, const struct root_lists *lists, row_t i, row_t found,
                        struct number start) {
    const row_t *root = lists->root + lists->first[lists->list[i]];
    struct bisection at = {0, lists->length[lists->list[i]]};
    while (at.low < at.high)
        bisect(&at, root[bisect_middle(at)] < found);
    return at.low > 0 && number_compare(number_at(host->end, root[at.low - 1]), start) > 0;
}

static void add_root(const struct dlrm_host *host, struct root_lists *lists, uint32_t list, row_t i) {
    row_t *root = lists->root + lists->first[list], *n = &lists->length[list];
    if (!*n || number_compare(number_at(host->end, i), number_at(host->end, root[*n - 1])) > 0)
        root[(*n)++] = i;
}

/* Whether what other threads do in the time of an event of the main thread belongs to it: an operator launches nothing
 * on their behalf. */
static bool is_main_label(const struct dlrm_work *work, value_key main_tid, row_t event) {
    return work->events->tid[event] == main_tid && event_in(work, event, CATEGORY_CPU_OP) &&
           event_is(work, event, DLRM_LABEL);
}

static void find_roots(const struct dlrm_work *work, value_key main_tid, struct dlrm_host *host,
                       struct root_lists *lists, struct dlrm_forest *forest) {
    const value_key *tid = work->events->tid;
    for (row_t i = 0; i < host->n; i++) {
        struct number start = event_ts(work, host->event[i]), end = number_at(host->end, i);
        row_t own = first_reaching(host, lists, lists->list[i], start, end), found = own;
        forest->n_crossing += is_crossing(host, lists, i, own, start);
        if (lists->labels != LIST_NONE && tid[host->event[i]] != main_tid) {
            row_t label = first_reaching(host, lists, lists->labels, start, end);
            found = label < own ? label : own; /* none is the largest row */
        }
        host->parent[i] = ROW_NONE;
        host->root[i] = found == ROW_NONE ? i : found;
        if (found == ROW_NONE) {
            add_root(host, lists, lists->list[i], i);
            if (lists->labels != LIST_NONE && is_main_label(work, main_tid, host->event[i]))
                add_root(host, lists, lists->labels, i);
        } else if (work->as_notebook && tid[host->event[found]] != main_tid &&
                   tid[host->event[found]] != tid[host->event[i]]) {
            host->root[i] = ROW_NONE;
            forest->n_hidden++;
        }
    }
}

/* ---- Parents ---- */

/* Events below roots, ranked by (root and thread, end); equal ends of a group have the same rank. */
struct ranks {
    row_t n;
    row_t *below;     /* the events, by time */
    uint64_t *group;  /* of each: the number of its root and thread */
    row_t *rank;      /* of each */
    row_t *group_end; /* per group: the rank behind its last */
    row_t *holder;    /* per rank: the latest event that has it */
};

static struct ranks ranks_new(row_t n, struct arena *arena) {
    return (struct ranks){.below = arena_take(arena, n, sizeof(row_t)),
                          .group = arena_take(arena, n, sizeof(uint64_t)),
                          .rank = arena_take(arena, n, sizeof(row_t)),
                          .group_end = arena_take(arena, n, sizeof(row_t)),
                          .holder = arena_take(arena, n, sizeof(row_t))};
}

static bool number_groups(const struct dlrm_work *work, const struct dlrm_host *host, struct ranks *ranks) {
    struct tuples groups = {0};
    bool ok = true;
    for (row_t i = 0; i < host->n && ok; i++) {
        if (host->root[i] == ROW_NONE || host->root[i] == i)
            continue;
        struct tuple tuple = {{host->root[i], work->events->tid[host->event[i]]}};
        ranks->below[ranks->n] = i;
        ranks->group[ranks->n] = tuples_number(&groups, tuple);
        ok = ranks->group[ranks->n++] != TUPLE_NONE;
    }
    tuples_free(&groups);
    return ok;
}

/* Goes through `order`, which is sorted by group and end. */
static void number_ranks(const struct dlrm_host *host, struct ranks *ranks, const row_t *order) {
    row_t rank = 0;
    for (row_t i = 0; i < ranks->n; i++) {
        row_t row = order[i], last = i ? order[i - 1] : row;
        bool other_group = ranks->group[row] != ranks->group[last];
        if (other_group ||
            number_compare(number_at(host->end, ranks->below[row]), number_at(host->end, ranks->below[last])) != 0)
            rank++;
        ranks->rank[row] = rank;
        ranks->group_end[ranks->group[row]] = rank + 1;
    }
}

static enum sutra_status sort_ranks(const struct engine *engine, const struct dlrm_host *host, struct ranks *ranks,
                                    struct arena *arena, struct sutra_error *error) {
    row_t n = ranks->n, *order = arena_take(arena, n, sizeof *order);
    uint64_t *keys = arena_take(arena, n, sizeof *keys);
    struct number_column end = numbers_take(arena, n);
    if (arena->failed)
        return error_memory(error);
    for (row_t i = 0; i < n; i++)
        number_put(end, i, number_at(host->end, ranks->below[i]));
    enum sutra_status status = engine->sort_numbers(engine->state, &(struct sort_numbers_step){end, n, order}, error);
    for (row_t i = 0; i < n && !status; i++)
        keys[i] = ranks->group[order[i]];
    if (!status)
        status = engine->sort_keys(engine->state, &(struct sort_keys_step){keys, order, n}, error);
    if (!status)
        number_ranks(host, ranks, order);
    return status;
}

static void place_below(const struct ranks *ranks, struct dlrm_host *host, struct row_set *set) {
    for (row_t i = 0; i < ranks->n; i++) {
        row_t event = ranks->below[i], next = row_set_next(set, ranks->rank[i]);
        bool found = next < ranks->group_end[ranks->group[i]];
        host->parent[event] = found ? ranks->holder[next] : host->root[event];
        ranks->holder[ranks->rank[i]] = event;
        row_set_add(set, ranks->rank[i]);
    }
}

static enum sutra_status find_parents(struct dlrm_work *work, struct dlrm_host *host, struct sutra_error *error) {
    struct arena *scratch = &work->scratch;
    struct ranks ranks = ranks_new(host->n, scratch);
    struct row_set set = {0};
    bool ok = !scratch->failed && number_groups(work, host, &ranks) && row_set_init(&set, ranks.n);
    enum sutra_status status = ok ? sort_ranks(work->engine, host, &ranks, scratch, error) : error_memory(error);
    if (!status)
        place_below(&ranks, host, &set);
    row_set_free(&set);
    return status;
}

/* ---- Pre-order ---- */

static void forest_take(struct dlrm_forest *forest, row_t n, struct arena *arena) {
    forest->event = arena_take(arena, n, sizeof *forest->event);
    forest->parent = arena_take(arena, n, sizeof *forest->parent);
    forest->end = arena_take(arena, n, sizeof *forest->end);
    forest->flags = arena_take(arena, n, sizeof *forest->flags);
}

/* Sizes of subtrees from the last event to the first, since a parent comes before its children; then places from the
 * first to the last: each takes the next free one of its parent's range. `size` and `next` have room for all, the sizes
 * are zeros. */
static void lay_out(const struct dlrm_work *work, struct dlrm_host *host, row_t *size, row_t *next,
                    struct dlrm_forest *forest) {
    row_t next_root = 0;
    for (row_t i = host->n; i-- > 0;) {
        size[i]++;
        if (host->parent[i] != ROW_NONE)
            size[host->parent[i]] += size[i];
    }
    for (row_t i = 0; i < host->n; i++) {
        row_t parent = host->parent[i], *free_place = parent == ROW_NONE ? &next_root : &next[parent];
        host->place[i] = ROW_NONE;
        if (host->root[i] == ROW_NONE)
            continue;
        row_t node = *free_place;
        *free_place += size[i];
        next[i] = node + 1;
        host->place[i] = node;
        forest->event[node] = host->event[i];
        forest->parent[node] = parent == ROW_NONE ? ROW_NONE : host->place[parent];
        forest->end[node] = node + size[i];
        forest->flags[node] = event_in(work, host->event[i], CATEGORY_CPU_OP) ? NODE_OPERATOR : 0;
        forest->n_roots += parent == ROW_NONE;
        forest->n++;
    }
}

enum sutra_status dlrm_forest_build(struct dlrm_work *work, const struct dlrm_window *window,
                                    struct dlrm_forest *forest, struct sutra_error *error) {
    struct arena *scratch = &work->scratch;
    struct arena_mark mark = arena_mark(scratch);
    struct dlrm_host host = host_new(window->n, scratch);
    row_t *next = arena_take(scratch, window->n, sizeof *next); /* the next free place of each node */
    struct root_lists lists = {0};
    row_t *size = arena_zeros(scratch, window->n, sizeof *size);
    enum sutra_status status = SUTRA_OK;
    *forest = (struct dlrm_forest){0};
    if (scratch->failed) {
        status = error_memory(error);
        goto out;
    }
    forest->last = take_host_events(work, window, &host);
    status = lists_make(work, &host, &lists, error);
    if (!status) {
        find_roots(work, window->main_tid, &host, &lists, forest);
        status = find_parents(work, &host, error);
    }
    if (status)
        goto out;
    forest_take(forest, host.n, work->arena);
    if (work->arena->failed)
        status = error_memory(error);
    else
        lay_out(work, &host, size, next, forest);
out:
    arena_release(scratch, mark);
    return status;
}
