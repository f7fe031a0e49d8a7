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
 *    forest.
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
        if (!event_in(work, event, CATEGORY_CPU_OP | CATEGORY_RUNTIME))
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

/* The first of `reaching`, whose ends rise, that ends after `start` and not before `end`; n: none. */
static row_t first_reaching(const struct dlrm_host *host, const row_t *reaching, row_t n, struct number start,
                            struct number end) {
    struct bisection at = {0, n};
    while (at.low < at.high) {
        struct number its = number_at(host->end, reaching[bisect_middle(at)]);
        bisect(&at, number_compare(its, start) <= 0 || number_compare(its, end) < 0);
    }
    return at.low;
}

/* `reaching` has room for all. */
static void find_roots(const struct dlrm_work *work, value_key main_tid, struct dlrm_host *host, row_t *reaching,
                       struct dlrm_forest *forest) {
    const value_key *tid = work->events->tid;
    row_t n = 0;
    for (row_t i = 0; i < host->n; i++) {
        struct number start = event_ts(work, host->event[i]), end = number_at(host->end, i);
        row_t found = first_reaching(host, reaching, n, start, end);
        host->parent[i] = ROW_NONE;
        host->root[i] = found < n ? reaching[found] : i;
        forest->n_crossing += found > 0 && number_compare(number_at(host->end, reaching[found - 1]), start) > 0;
        if (found < n) {
            value_key thread = tid[host->event[reaching[found]]];
            if (thread != main_tid && thread != tid[host->event[i]]) {
                host->root[i] = ROW_NONE;
                forest->n_hidden++;
            }
        } else if (!n || number_compare(end, number_at(host->end, reaching[n - 1])) > 0) {
            reaching[n++] = i;
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
 * first to the last: each takes the next free one of its parent's range. `size` and `next` have room for all, the sizes are zeros. */
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
    row_t *reaching = arena_take(scratch, window->n, sizeof *reaching); /* and the next free place of each node */
    row_t *size = arena_zeros(scratch, window->n, sizeof *size);
    enum sutra_status status = SUTRA_OK;
    *forest = (struct dlrm_forest){0};
    if (scratch->failed) {
        status = error_memory(error);
        goto out;
    }
    forest->last = take_host_events(work, window, &host);
    find_roots(work, window->main_tid, &host, reaching, forest);
    status = find_parents(work, &host, error);
    if (status)
        goto out;
    forest_take(forest, host.n, work->arena);
    if (work->arena->failed)
        status = error_memory(error);
    else
        lay_out(work, &host, size, reaching, forest);
out:
    arena_release(scratch, mark);
    return status;
}
