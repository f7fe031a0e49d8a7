/*
 * forest.c - host events below each other.
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
#include <string.h>

#include "analyze/dlrm/dlrm.h"
#include "analyze/dlrm/forest.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/rows.h"
#include "facts/times.h"
#include "match/key_index.h"

/*
 * The forest with siblings of one id together (compat mode).
 *
 * The original keeps results of siblings by id, so time of a later sibling is added where the first one of its id
 * stands. Only nodes that start device work are looked at. Each node's children are gone through twice: once to see how
 * much room those of an id need, once to give each its place. O(n).
 */

struct placing {
    const struct dlrm_forest *forest;
    const value_key *external; /* per event */
    struct tuples ids;         /* (parent, id) */
    row_t *room, *next;        /* per such: places of its nodes, and the next one */
    struct id_order *order;
};

static uint32_t number_child(struct placing *placing, row_t parent, row_t child) {
    value_key id = placing->external[placing->forest->event[child]];
    return tuples_number(&placing->ids, (struct tuple){{parent, id}});
}

/* Gives the children of a node their places behind it, those that start no device work last. */
static bool place_children(struct placing *placing, row_t node) {
    const struct dlrm_forest *forest = placing->forest;
    row_t at = placing->order->place[node] + 1, end = forest->end[node];
    uint32_t first = placing->ids.n;
    for (row_t child = node + 1; child < end; child = forest->end[child]) {
        if (!(forest->flags[child] & NODE_DEVICE))
            continue;
        uint32_t id = number_child(placing, node, child);
        if (id == TUPLE_NONE)
            return false;
        placing->order->again[child] = placing->room[id] > 0;
        placing->room[id] += forest->end[child] - child;
    }
    for (uint32_t id = first; id < placing->ids.n; id++) {
        placing->next[id] = at;
        at += placing->room[id];
    }
    for (row_t child = node + 1; child < end; child = forest->end[child]) {
        bool device = (forest->flags[child] & NODE_DEVICE) != 0;
        row_t *next = device ? &placing->next[number_child(placing, node, child)] : &at;
        placing->order->place[child] = *next;
        *next += forest->end[child] - child;
    }
    return true;
}

static bool place_all(struct placing *placing) {
    const struct dlrm_forest *forest = placing->forest;
    for (row_t node = 0; node < forest->n; node++) {
        if (forest->parent[node] == ROW_NONE)
            placing->order->place[node] = node;
        placing->order->node[placing->order->place[node]] = node;
        if (!place_children(placing, node))
            return false;
    }
    return true;
}

bool id_order_make(struct id_order *order, const struct dlrm_forest *forest, const value_key *external,
                   struct arena *arena) {
    row_t n = forest->n;
    *order = (struct id_order){.node = arena_take(arena, n, sizeof *order->node),
                               .place = arena_take(arena, n, sizeof *order->place),
                               .again = arena_zeros(arena, n, sizeof *order->again)};
    struct placing placing = {.forest = forest,
                              .external = external,
                              .room = arena_zeros(arena, n, sizeof *placing.room),
                              .next = arena_take(arena, n, sizeof *placing.next),
                              .order = order};
    bool ok = !arena->failed && place_all(&placing);
    tuples_free(&placing.ids);
    return ok;
}

/*
 * Launches and what they started.
 *
 *     window, by start:   call 70   kernel 70   call 71   call 70   kernel 71   kernel 70
 *                          |            |         |          |          |           |
 *                          launch 0     started   launch 1   no launch: started by  started by launch 0 as well;
 *                                       by 0                 70 is      launch 1    to the original it is the only one
 *                                                            known
 *
 * In come the window and the forest; out go the launches with the nodes that they are called in and the device's
 * events. O(n), and the index of ids.
 */

/* The id that launches and kernels are matched by. */
static value_key launch_id(const struct dlrm_work *work, row_t event) {
    value_key id = work->options->compat ? work->external[event] : work->events->correlation[event];
    return key_is_integer(id) || id >= KEY_VALUES ? id : -1;
}

/* Calls of the window with an id: the first of each id is a launch. */
struct dlrm_calls {
    row_t n;
    value_key *id;
    row_t *at;   /* its place in the window */
    row_t *link; /* the launch of its id */
    row_t *last; /* per launch: the last event that it started, as a row of the window */
    struct key_index index;
};

static void take_calls(const struct dlrm_work *work, const struct dlrm_window *window, struct dlrm_calls *calls) {
    for (row_t i = 0; i < window->n; i++) {
        if (!event_in(work, window->rows[i], CATEGORY_CALL))
            continue;
        value_key id = launch_id(work, window->rows[i]);
        if (id == -1)
            continue;
        calls->id[calls->n] = id;
        calls->at[calls->n++] = i;
    }
}

/* The launch of each device event of the window; that of the others, and of those without one, is ROW_NONE. To the
 * original it is a call before the event, which starts the last event of its id only; by our rules the id is enough.
 * Events of the categories `apart` are no device events; the number of those without a launch comes back. `started_by`
 * is per row of the window. */
static uint64_t find_launches(const struct dlrm_work *work, const struct dlrm_window *window,
                              const struct dlrm_calls *calls, uint32_t apart, struct dlrm_links *links,
                              row_t *started_by) {
    bool compat = work->options->compat;
    uint64_t n_orphans = 0;
    links->n_unlaunched = 0;
    memset(calls->last, 0xff, links->n * sizeof *calls->last);
    memset(started_by, 0xff, window->n * sizeof *started_by);
    for (row_t i = 0; i < window->n; i++) {
        row_t event = window->rows[i];
        value_key id = launch_id(work, event);
        if (id == -1 || event_in(work, event, CATEGORY_CPU_OP | CATEGORY_CALL | apart))
            continue;
        row_t call = key_index_find(&calls->index, id);
        if (call == ROW_NONE || (compat && calls->at[call] > i)) {
            n_orphans++;
            links->n_unlaunched += key_is_value(work->events->stream[event]);
            continue;
        }
        row_t link = calls->link[call];
        if (compat && calls->last[link] != ROW_NONE)
            started_by[calls->last[link]] = ROW_NONE;
        calls->last[link] = i;
        started_by[i] = link;
    }
    return n_orphans;
}

/* Lists the events that each launch started, which come in the order of the window. */
static void list_started(const struct dlrm_work *work, const struct dlrm_window *window, const row_t *started_by,
                         struct dlrm_links *links) {
    row_t *first = links->first_started, *next = first + 1; /* next[link] ends up as the end of its events */
    memset(first, 0, (links->n + (size_t)1) * sizeof *first);
    for (row_t i = 0; i < window->n; i++)
        if (started_by[i] != ROW_NONE && started_by[i] + 1 < links->n)
            next[started_by[i] + 1]++;
    for (row_t link = 1; link < links->n; link++)
        next[link] += next[link - 1];
    for (row_t i = 0; i < window->n; i++)
        if (started_by[i] != ROW_NONE)
            links->started[next[started_by[i]]++] = window->rows[i];
    for (row_t link = 0; link < links->n; link++)
        links->n_executed += first[link] < first[link + 1];
    for (row_t i = 0; i < first[links->n]; i++) {
        double us = number_as_double(event_dur(work, links->started[i]));
        links->executed_us += us;
        links->launched_us += event_is_work(work, links->started[i]) ? us : 0;
    }
}

/* The original takes events of any category but annotations for device work, and stops with an exception where one has
 * no launch, or where operators cross or data loading does not pair up. Then, and by default, fewer categories count.
 */
static void find_started(const struct dlrm_work *work, const struct dlrm_window *window, uint64_t n_crossing,
                         const struct dlrm_calls *calls, row_t *started_by, struct dlrm_links *links) {
    links->tolerant = !work->options->compat || n_crossing ||
                      (window->n_loaders && window->n_loaders != window->n_forwards) ||
                      find_launches(work, window, calls, CATEGORY_ANNOTATION, links, started_by) > 0;
    if (links->tolerant)
        links->n_orphans = find_launches(work, window, calls, CATEGORY_ANNOTATION | CATEGORY_APART, links, started_by);
    list_started(work, window, started_by, links);
}

/* Numbers the launches, with the nodes that they are called in; `caller_of` is per event. */
static void number_links(const struct dlrm_window *window, struct dlrm_calls *calls, const row_t *caller_of,
                         struct dlrm_links *links) {
    for (row_t i = 0; i < calls->n; i++) {
        if (key_index_find(&calls->index, calls->id[i]) != i)
            continue;
        calls->link[i] = links->n;
        links->caller[links->n++] = caller_of[window->rows[calls->at[i]]];
    }
}

/* Which launch each node's id leads to. To the original that is so for all nodes with the id; by our rules for the call
 * that is the launch, so that no kernel counts twice where a call of the driver lies in one of the runtime. */
static void link_nodes(const struct dlrm_work *work, const struct dlrm_window *window, const struct dlrm_forest *forest,
                       const struct dlrm_calls *calls, struct dlrm_links *links) {
    bool compat = work->options->compat;
    for (row_t node = 0; node < forest->n; node++) {
        bool is_op = (forest->flags[node] & NODE_OPERATOR) != 0;
        value_key id = is_op && !compat ? -1 : launch_id(work, forest->event[node]);
        row_t call = id == -1 ? ROW_NONE : key_index_find(&calls->index, id);
        if (call != ROW_NONE && !compat && window->rows[calls->at[call]] != forest->event[node])
            call = ROW_NONE;
        links->of_node[node] = call == ROW_NONE ? ROW_NONE : calls->link[call];
        links->n_colliding += is_op && call != ROW_NONE;
    }
}

/* The node above one; by our rules, where a call lies in another one, what that one is called in. */
static row_t caller_of_node(const struct dlrm_work *work, const struct dlrm_forest *forest, const row_t *caller_of,
                            row_t node) {
    row_t parent = forest->parent[node];
    bool is_call = parent != ROW_NONE && !(forest->flags[parent] & NODE_OPERATOR);
    return is_call && !work->options->compat ? caller_of[forest->event[parent]] : parent;
}

/* Only calls that are in the forest have a caller. */
static void find_callers(const struct dlrm_work *work, const struct dlrm_forest *forest, row_t *caller_of) {
    memset(caller_of, 0xff, work->events->n * sizeof *caller_of);
    for (row_t node = 0; node < forest->n; node++)
        caller_of[forest->event[node]] = caller_of_node(work, forest, caller_of, node);
}

static enum sutra_status find_links(const struct dlrm_work *work, const struct dlrm_window *window,
                                    const struct dlrm_forest *forest, struct dlrm_calls *calls, row_t *caller_of,
                                    row_t *started_by, struct dlrm_links *links, struct sutra_error *error) {
    take_calls(work, window, calls);
    find_callers(work, forest, caller_of);
    enum sutra_status status =
        key_index_build(&calls->index, work->engine, calls->id, calls->n, KEY_FIRST, NULL, error);
    if (status)
        return status;
    number_links(window, calls, caller_of, links);
    find_started(work, window, forest->n_crossing, calls, started_by, links);
    link_nodes(work, window, forest, calls, links);
    return SUTRA_OK;
}

enum sutra_status dlrm_links_find(struct dlrm_work *work, const struct dlrm_window *window,
                                  const struct dlrm_forest *forest, struct dlrm_links *links,
                                  struct sutra_error *error) {
    struct arena *scratch = &work->scratch;
    struct arena_mark mark = arena_mark(scratch);
    struct dlrm_calls calls = {.id = arena_take(scratch, window->n, sizeof *calls.id),
                               .at = arena_take(scratch, window->n, sizeof *calls.at),
                               .link = arena_take(scratch, window->n, sizeof *calls.link),
                               .last = arena_take(scratch, window->n, sizeof *calls.last)};
    row_t *caller_of = arena_take(scratch, work->events->n, sizeof *caller_of);
    row_t *started_by = arena_take(scratch, window->n, sizeof *started_by);
    *links = (struct dlrm_links){.caller = arena_take(work->arena, window->n, sizeof *links->caller),
                                 .first_started = arena_take(work->arena, window->n + (size_t)1, sizeof(row_t)),
                                 .started = arena_take(work->arena, window->n, sizeof *links->started),
                                 .of_node = arena_take(work->arena, forest->n, sizeof *links->of_node)};
    bool ok = !scratch->failed && !work->arena->failed;
    enum sutra_status status =
        ok ? find_links(work, window, forest, &calls, caller_of, started_by, links, error) : error_memory(error);
    key_index_free(&calls.index);
    arena_release(scratch, mark);
    return status;
}

/*
 * Which nodes start device work, and the list of operators.
 *
 * A node whose id leads to a launch that was executed starts device work, and in compat mode nothing below it is looked
 * at; any other node does if one below it does. Operators are the outermost host operators that are no labels. Two
 * operators share their device time if they have the same group: in compat mode the same id. O(n).
 */

/* Whether what a launch started counts. To the original it does if nothing lies in the call. With its threads and our
 * ids, a call of no length is such a thing as well: where times are whole microseconds, one right before or behind the
 * launch looks as if it was in it. */
static bool launch_counts(const struct dlrm_work *work, const struct dlrm_forest *forest, row_t node) {
    row_t last = forest->end[node] - 1;
    return last == node || !work->as_notebook ||
           (!work->options->compat && number_compare(event_dur(work, forest->event[last]), number_integer(0)) != 0);
}

static void mark_device(const struct dlrm_work *work, const struct dlrm_links *links, struct dlrm_forest *forest) {
    const row_t *first = links->first_started;
    for (row_t node = 0; node < forest->n;) {
        row_t link = links->of_node[node];
        bool starts = link != ROW_NONE && first[link] < first[link + 1];
        if (starts)
            forest->flags[node] |= (uint8_t)(NODE_DEVICE | (launch_counts(work, forest, node) ? NODE_LAUNCH : 0));
        node = starts && work->options->compat ? forest->end[node] : node + 1;
    }
    for (row_t node = forest->n; node-- > 0;)
        if ((forest->flags[node] & NODE_DEVICE) && forest->parent[node] != ROW_NONE)
            forest->flags[forest->parent[node]] |= NODE_DEVICE;
}

static bool list_operators(struct dlrm_work *work, const struct dlrm_forest *forest, struct dlrm_operators *ops) {
    for (row_t node = 0; node < forest->n;) {
        row_t event = forest->event[node];
        bool is_op = (forest->flags[node] & NODE_OPERATOR) && !event_is(work, event, DLRM_LABEL);
        if (is_op) {
            ops->name[ops->n] = dlrm_name(work, work->events->name[event]);
            if (ops->name[ops->n] == STRING_NONE)
                return false;
            ops->id[ops->n] = work->external[event];
            ops->node[ops->n++] = node;
        }
        node = is_op ? forest->end[node] : node + 1;
    }
    return true;
}

/* In compat mode, where a node of any kind counts as an operator whose id it has. */
static enum sutra_status group_by_id(const struct dlrm_work *work, const struct dlrm_forest *forest,
                                     struct dlrm_operators *ops, struct sutra_error *error) {
    struct key_index index = {0};
    enum sutra_status status = key_index_build(&index, work->engine, ops->id, ops->n, KEY_FIRST, NULL, error);
    for (row_t op = 0; op < ops->n && !status; op++)
        ops->group[op] = key_index_find(&index, ops->id[op]);
    for (row_t node = 0; node < forest->n && !status; node++)
        ops->node_group[node] = key_index_find(&index, work->external[forest->event[node]]);
    key_index_free(&index);
    return status;
}

static void group_each(const struct dlrm_forest *forest, struct dlrm_operators *ops) {
    for (row_t node = 0; node < forest->n; node++)
        ops->node_group[node] = ROW_NONE;
    for (row_t op = 0; op < ops->n; op++)
        ops->node_group[ops->node[op]] = ops->group[op] = op;
}

enum sutra_status dlrm_operators_find(struct dlrm_work *work, const struct dlrm_links *links,
                                      struct dlrm_forest *forest, struct dlrm_operators *ops,
                                      struct sutra_error *error) {
    row_t n = forest->n;
    *ops = (struct dlrm_operators){.node = arena_take(work->arena, n, sizeof *ops->node),
                                   .name = arena_take(work->arena, n, sizeof *ops->name),
                                   .id = arena_take(work->arena, n, sizeof *ops->id),
                                   .group = arena_take(work->arena, n, sizeof *ops->group),
                                   .node_group = arena_take(work->arena, n, sizeof *ops->node_group)};
    if (work->arena->failed)
        return error_memory(error);
    mark_device(work, links, forest);
    if (!list_operators(work, forest, ops))
        return error_memory(error);
    if (work->options->compat)
        return group_by_id(work, forest, ops, error);
    group_each(forest, ops);
    return SUTRA_OK;
}

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
