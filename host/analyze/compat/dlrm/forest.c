/*
 * forest.c - builds the forest of CPU events, links launches to GPU activity, and lists the operators.
 *
 * Input: the window by ascending start. Output: the forest in pre-order. The notebook searches each event's parent
 * linearly from the first root down from child to child; here two searches find the same parent.
 *
 * 1. The root. The root of an event x is the first root r, by time, with r.end > x.start and r.end >= x.end. Only roots
 *    that end later than all earlier roots can be the first:
 *
 *        ends of roots      5  9  7  9  12  11      searched by bisection:
 *        longest so far     5  9        12          the first of these that reaches x's end
 *
 *    Without such a root, x is a root. In the notebook, x is hidden (not in the forest) if r is of another thread,
 *    neither the main thread nor x's own. By our rules only roots of x's own thread and labels of the main thread are
 *    searched, so that every operator is in the forest and none gets the kernels of another thread.
 *
 * 2. The parent. Below r, events of x's thread form a forest of their own; children of one event have ascending ends.
 *    The notebook descends to the first child that reaches x's end, again and again, until there is none. In post-order
 *    this is the first event that reaches x's end, and x goes right before it: events of a thread below a root stay
 *    sorted by their ends. So the parent is the event with the smallest end from x's end on, the latest among equals,
 *    and r without such an event. Ends are ranked beforehand, and a set of ranks finds the next.
 *
 * Cost: O(n log n) for the sorts of ends, O(log n) for an event, on any input; no recursion.
 */
#include <string.h>

#include "analyze/compat/dlrm/dlrm.h"

#include "base/error.h"
#include "base/shared.h"
#include "columns/rows.h"
#include "facts/launches.h"
#include "facts/times.h"
#include "match/key_index.h"

/* Host events of the window in the order of time. */
struct dlrm_host {
    row_t n;
    row_t *event;
    row_t *root;   /* its root, itself for a root, ROW_NONE if hidden */
    row_t *parent; /* ROW_NONE for roots and hidden events */
    row_t *node;   /* ROW_NONE if hidden */
    struct number_column end;
};

/* ---- Roots ---- */

/* Roots that end later than all earlier ones, in lists: in the notebook one for all threads; by our rules one for each
 * thread, and after them one for labels of the main thread. */
struct root_lists {
    uint32_t n;
    uint32_t *list;        /* per event: the list of its thread */
    uint32_t labels;       /* the list that events of all other threads search as well; LIST_NONE: there is none */
    row_t *first, *length; /* of each list: its range in `root` */
    row_t *root;
};

#define LIST_NONE UINT32_MAX

static enum sutra_status lists_make(struct dlrm_work *work, const struct dlrm_host *host, struct root_lists *lists,
                                    struct sutra_error *error) {
    struct arena *scratch = &work->scratch;
    row_t at = 0;
    lists->list = arena_zeros(scratch, host->n, sizeof *lists->list);
    lists->labels = LIST_NONE;
    lists->n = 1;
    TRY(arena_status(scratch, error));
    if (!work->as_notebook) {
        struct key_index threads = {0};
        enum sutra_status status = threads_number(work->events, host->event, host->n, work->engine, scratch, &threads,
                                                  lists->list, &lists->n, error);
        key_index_free(&threads);
        if (status)
            return status;
        lists->labels = lists->n++;
    }
    lists->first = arena_zeros(scratch, lists->n + (size_t)1, sizeof *lists->first);
    lists->length = arena_zeros(scratch, lists->n, sizeof *lists->length);
    lists->root = arena_alloc(scratch, 2 * (size_t)host->n, sizeof *lists->root);
    TRY(arena_status(scratch, error));
    for (row_t i = 0; i < host->n; i++)
        lists->first[lists->list[i] + 1]++;
    for (uint32_t list = 0; list <= lists->n; list++)
        at = lists->first[list] += at;
    return SUTRA_OK;
}

/* The first root of a list (by ascending end) that ends after `start` and not before `end`; ROW_NONE: none. */
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

static void add_root(const struct dlrm_host *host, struct root_lists *lists, uint32_t list, row_t i) {
    row_t *root = lists->root + lists->first[list], *n = &lists->length[list];
    if (!*n || number_compare(number_at(host->end, i), number_at(host->end, root[*n - 1])) > 0)
        root[(*n)++] = i;
}

static void find_roots(const struct dlrm_work *work, value_key main_tid, struct dlrm_host *host,
                       struct root_lists *lists, struct dlrm_forest *forest) {
    const value_key *tid = work->events->tid;
    for (row_t i = 0; i < host->n; i++) {
        struct number start = event_ts(work, host->event[i]), end = number_at(host->end, i);
        row_t own = first_reaching(host, lists, lists->list[i], start, end), found = own;
        /* An event crosses the root before the root that was found, or the last one, if this root ends after the
         * event's start. */
        const row_t *roots = lists->root + lists->first[lists->list[i]];
        struct bisection at = {0, lists->length[lists->list[i]]};
        while (at.low < at.high)
            bisect(&at, roots[bisect_middle(at)] < own);
        forest->n_crossing += (at.low > 0 && number_compare(number_at(host->end, roots[at.low - 1]), start) > 0);
        if (lists->labels != LIST_NONE && tid[host->event[i]] != main_tid) {
            row_t label = first_reaching(host, lists, lists->labels, start, end);
            found = MIN(label, own); /* none is the largest row */
        }
        host->parent[i] = ROW_NONE;
        host->root[i] = found == ROW_NONE ? i : found;
        if (found == ROW_NONE) {
            add_root(host, lists, lists->list[i], i);
            /* events of other threads during an event of the main thread belong to a label, but not to an operator */
            if (lists->labels != LIST_NONE &&
                (work->events->tid[host->event[i]] == main_tid && event_in(work, host->event[i], CATEGORY_CPU_OP) &&
                 event_is(work, host->event[i], DLRM_LABEL)))
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
    row_t *group_end; /* per group: its last rank + 1 */
    row_t *holder;    /* per rank: the latest event that has it */
};

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

static enum sutra_status sort_ranks(const struct engine *engine, const struct dlrm_host *host, struct ranks *ranks,
                                    struct arena *arena, struct sutra_error *error) {
    row_t n = ranks->n, *order = arena_alloc(arena, n, sizeof *order);
    uint64_t *keys = arena_alloc(arena, n, sizeof *keys);
    struct number_column end = numbers_alloc(arena, n);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < n; i++)
        number_set(end, i, number_at(host->end, ranks->below[i]));
    TRY(engine->sort_numbers(engine->state, &(struct sort_numbers_step){end, n, order}, error));
    for (row_t i = 0; i < n; i++)
        keys[i] = ranks->group[order[i]];
    TRY(engine->sort_keys(engine->state, &(struct sort_keys_step){keys, order, n}, error));
    /* Equal ends of a group have the same rank. */
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
    return SUTRA_OK;
}

static enum sutra_status find_parents(struct dlrm_work *work, struct dlrm_host *host, struct sutra_error *error) {
    struct arena *scratch = &work->scratch;
    struct ranks ranks = {.below = arena_alloc(scratch, host->n, sizeof(row_t)),
                          .group = arena_alloc(scratch, host->n, sizeof(uint64_t)),
                          .rank = arena_alloc(scratch, host->n, sizeof(row_t)),
                          .group_end = arena_alloc(scratch, host->n, sizeof(row_t)),
                          .holder = arena_alloc(scratch, host->n, sizeof(row_t))};
    struct row_set set = {0};
    bool ok = !scratch->failed && number_groups(work, host, &ranks) && row_set_init(&set, ranks.n);
    enum sutra_status status = ok ? sort_ranks(work->engine, host, &ranks, scratch, error) : error_memory(error);
    /* Insert the events by time; the parent has the next rank of the group. */
    for (row_t i = 0; i < ranks.n && !status; i++) {
        row_t event = ranks.below[i], next = row_set_next(&set, ranks.rank[i]);
        bool found = next < ranks.group_end[ranks.group[i]];
        host->parent[event] = found ? ranks.holder[next] : host->root[event];
        ranks.holder[ranks.rank[i]] = event;
        row_set_add(&set, ranks.rank[i]);
    }
    row_set_free(&set);
    return status;
}

/* ---- Pre-order ---- */

enum sutra_status dlrm_forest_build(struct dlrm_work *work, const struct dlrm_window *window,
                                    struct dlrm_forest *forest, struct sutra_error *error) {
    struct arena *scratch = &work->scratch;
    struct arena_mark mark = arena_mark(scratch);
    struct dlrm_host host = {.event = arena_alloc(scratch, window->n, sizeof(row_t)),
                             .root = arena_alloc(scratch, window->n, sizeof(row_t)),
                             .parent = arena_alloc(scratch, window->n, sizeof(row_t)),
                             .node = arena_alloc(scratch, window->n, sizeof(row_t)),
                             .end = numbers_alloc(scratch, window->n)};
    row_t *next = arena_alloc(scratch, window->n, sizeof *next); /* the next free node in each subtree */
    struct root_lists lists = {0};
    row_t *size = arena_zeros(scratch, window->n, sizeof *size);
    *forest = (struct dlrm_forest){0};
    TRY(arena_status(scratch, error));
    struct number last = window->end;
    for (row_t i = 0; i < window->n; i++) {
        row_t event = window->rows[i];
        if (!event_in(work, event, CATEGORY_CPU_OP | CATEGORY_CALL))
            continue;
        struct number end = event_end(work, event);
        if (number_compare(end, last) > 0)
            last = end;
        number_set(host.end, host.n, end);
        host.event[host.n++] = event;
    }
    forest->last = last;
    TRY(lists_make(work, &host, &lists, error));
    find_roots(work, window->main_tid, &host, &lists, forest);
    TRY(find_parents(work, &host, error));
    forest->event = arena_alloc(work->arena, host.n, sizeof *forest->event);
    forest->parent = arena_alloc(work->arena, host.n, sizeof *forest->parent);
    forest->end = arena_alloc(work->arena, host.n, sizeof *forest->end);
    forest->flags = arena_alloc(work->arena, host.n, sizeof *forest->flags);
    TRY(arena_status(work->arena, error));
    /* Sum the sizes of subtrees from the last event to the first, since a parent precedes its children. Then number
     * the nodes from the first to the last: each gets the next free node of its parent. */
    row_t next_root = 0;
    for (row_t i = host.n; i-- > 0;) {
        size[i]++;
        if (host.parent[i] != ROW_NONE)
            size[host.parent[i]] += size[i];
    }
    for (row_t i = 0; i < host.n; i++) {
        row_t parent = host.parent[i], *free_node = parent == ROW_NONE ? &next_root : &next[parent];
        host.node[i] = ROW_NONE;
        if (host.root[i] == ROW_NONE)
            continue;
        row_t node = *free_node;
        *free_node += size[i];
        next[i] = node + 1;
        host.node[i] = node;
        forest->event[node] = host.event[i];
        forest->parent[node] = parent == ROW_NONE ? ROW_NONE : host.node[parent];
        forest->end[node] = node + size[i];
        forest->flags[node] = event_in(work, host.event[i], CATEGORY_CPU_OP) ? NODE_OPERATOR : 0;
        forest->n_roots += parent == ROW_NONE;
        forest->n++;
    }
    arena_release(scratch, mark);
    return SUTRA_OK;
}

/*
 * ---- Launches and the GPU activity that they started ----
 *
 *     window, by start:   call 70   kernel 70   call 71   call 70   kernel 71   kernel 70
 *                          |            |         |          |          |           |
 *                          launch 0     started   launch 1   no launch: started by  started by launch 0 as well;
 *                                       by 0                 70 is      launch 1    in the notebook it is the only one
 *                                                            known
 *
 * Lists the launches with the nodes that call them and their GPU activity. Cost: O(n), and the index of ids.
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
    row_t *at;                 /* its index in the window */
    row_t *link;               /* the launch of its id */
    row_t *last;               /* per launch: the last event that it started, as an index in the window */
    struct launch_index index; /* the first call of an id is its launch */
};

/* Finds the launch of each GPU activity of the window; started_by (per index in the window) is ROW_NONE for all other
 * events and without a launch. In the notebook the launch precedes the event and starts only the last event of its id;
 * by our rules the id is enough. Events of the categories `apart` are not GPU activity. Returns the number of GPU
 * activities without a launch. */
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
        row_t call = launch_index_find(&calls->index, id);
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

static enum sutra_status find_links(const struct dlrm_work *work, const struct dlrm_window *window,
                                    const struct dlrm_forest *forest, struct dlrm_calls *calls, row_t *caller_of,
                                    row_t *started_by, struct dlrm_links *links, struct sutra_error *error) {
    for (row_t i = 0; i < window->n; i++) {
        if (!event_in(work, window->rows[i], CATEGORY_CALL))
            continue;
        value_key id = launch_id(work, window->rows[i]);
        if (id == -1)
            continue;
        calls->id[calls->n] = id;
        calls->at[calls->n++] = i;
    }
    /* The caller of each event is its parent node; by our rules a call nested in a call has the caller of the outer
     * call. */
    memset(caller_of, 0xff, work->events->n * sizeof *caller_of);
    for (row_t node = 0; node < forest->n; node++) {
        row_t parent = forest->parent[node];
        bool in_call = parent != ROW_NONE && !(forest->flags[parent] & NODE_OPERATOR);
        caller_of[forest->event[node]] = in_call && !work->options->compat ? caller_of[forest->event[parent]] : parent;
    }
    TRY(launch_index_build(&calls->index, work->engine, calls->id, (struct number_column){0}, calls->n, LAUNCH_FIRST,
                           work->arena, error));
    /* The first call of each id is a launch. */
    for (row_t i = 0; i < calls->n; i++) {
        if (launch_index_find(&calls->index, calls->id[i]) != i)
            continue;
        calls->link[i] = links->n;
        links->caller[links->n++] = caller_of[window->rows[calls->at[i]]];
    }
    /* The notebook treats events of any category other than annotations as GPU activity. It fails if an event has no
     * launch, operators cross, or data loading does not pair up. In these cases and by default fewer categories
     * count. */
    links->tolerant = !work->options->compat || forest->n_crossing ||
                      (window->n_loaders && window->n_loaders != window->n_forwards) ||
                      find_launches(work, window, calls, CATEGORY_ANNOTATION, links, started_by) > 0;
    if (links->tolerant)
        links->n_orphans = find_launches(work, window, calls, CATEGORY_ANNOTATION | CATEGORY_APART, links, started_by);
    /* List the events of each launch in the order of the window. */
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
    /* In the notebook all nodes with the id of a launch have it; by our rules only the launching call, so that no
     * kernel counts twice if a driver call is nested in a runtime call. */
    bool compat = work->options->compat;
    for (row_t node = 0; node < forest->n; node++) {
        bool is_op = (forest->flags[node] & NODE_OPERATOR) != 0;
        value_key id = is_op && !compat ? -1 : launch_id(work, forest->event[node]);
        row_t call = id == -1 ? ROW_NONE : launch_index_find(&calls->index, id);
        if (call != ROW_NONE && !compat && window->rows[calls->at[call]] != forest->event[node])
            call = ROW_NONE;
        links->of_node[node] = call == ROW_NONE ? ROW_NONE : calls->link[call];
        links->n_colliding += is_op && call != ROW_NONE;
    }
    return SUTRA_OK;
}

enum sutra_status dlrm_links_find(struct dlrm_work *work, const struct dlrm_window *window,
                                  const struct dlrm_forest *forest, struct dlrm_links *links,
                                  struct sutra_error *error) {
    struct arena *scratch = &work->scratch;
    struct arena_mark mark = arena_mark(scratch);
    struct dlrm_calls calls = {.id = arena_alloc(scratch, window->n, sizeof *calls.id),
                               .at = arena_alloc(scratch, window->n, sizeof *calls.at),
                               .link = arena_alloc(scratch, window->n, sizeof *calls.link),
                               .last = arena_alloc(scratch, window->n, sizeof *calls.last)};
    row_t *caller_of = arena_alloc(scratch, work->events->n, sizeof *caller_of);
    row_t *started_by = arena_alloc(scratch, window->n, sizeof *started_by);
    *links = (struct dlrm_links){.caller = arena_alloc(work->arena, window->n, sizeof *links->caller),
                                 .first_started = arena_alloc(work->arena, window->n + (size_t)1, sizeof(row_t)),
                                 .started = arena_alloc(work->arena, window->n, sizeof *links->started),
                                 .of_node = arena_alloc(work->arena, forest->n, sizeof *links->of_node)};
    bool ok = !scratch->failed && !work->arena->failed;
    enum sutra_status status =
        ok ? find_links(work, window, forest, &calls, caller_of, started_by, links, error) : error_memory(error);
    launch_index_free(&calls.index);
    arena_release(scratch, mark);
    return status;
}

/*
 * ---- Nodes that start GPU activity, and the list of operators ----
 *
 * A node whose launch has GPU activity starts GPU activity, and in compat mode its descendants are skipped; any other
 * node does if a descendant does. Operators are the outermost CPU operators that are no labels. Operators of the same
 * group share their device time: in compat mode operators with the same id. Cost: O(n).
 */

/* Whether the GPU activity of a launch counts. In the notebook it does if no node is nested in the call. With the
 * notebook's threads and our ids, nested calls of no duration are ignored: with times in whole microseconds, a call
 * right before or after the launch looks nested. */
static bool launch_counts(const struct dlrm_work *work, const struct dlrm_forest *forest, row_t node) {
    row_t last = forest->end[node] - 1;
    return last == node || !work->as_notebook ||
           (!work->options->compat && number_compare(event_dur(work, forest->event[last]), number_integer(0)) != 0);
}

enum sutra_status dlrm_operators_find(struct dlrm_work *work, const struct dlrm_links *links,
                                      struct dlrm_forest *forest, struct dlrm_operators *ops,
                                      struct sutra_error *error) {
    row_t n = forest->n;
    *ops = (struct dlrm_operators){.node = arena_alloc(work->arena, n, sizeof *ops->node),
                                   .name = arena_alloc(work->arena, n, sizeof *ops->name),
                                   .id = arena_alloc(work->arena, n, sizeof *ops->id),
                                   .group = arena_alloc(work->arena, n, sizeof *ops->group),
                                   .node_group = arena_alloc(work->arena, n, sizeof *ops->node_group)};
    TRY(arena_status(work->arena, error));
    /* Nodes that start GPU activity, and their ancestors. */
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
    /* List the operators. */
    for (row_t node = 0; node < forest->n;) {
        row_t event = forest->event[node];
        bool is_op = (forest->flags[node] & NODE_OPERATOR) && !event_is(work, event, DLRM_LABEL);
        if (is_op) {
            ops->name[ops->n] = dlrm_name(work, work->events->name[event]);
            TRY_ALLOC(ops->name[ops->n] != STRING_NONE, error);
            ops->id[ops->n] = work->external[event];
            ops->node[ops->n++] = node;
        }
        node = is_op ? forest->end[node] : node + 1;
    }
    if (work->options->compat) {
        /* In compat mode a node of any kind counts as the operator with its id. */
        struct key_index index = {0};
        enum sutra_status status = key_index_build(&index, work->engine, ops->id, ops->n, KEY_FIRST, NULL, error);
        for (row_t op = 0; op < ops->n && !status; op++)
            ops->group[op] = key_index_find(&index, ops->id[op]);
        for (row_t node = 0; node < forest->n && !status; node++)
            ops->node_group[node] = key_index_find(&index, work->external[forest->event[node]]);
        key_index_free(&index);
        return status;
    }
    for (row_t node = 0; node < forest->n; node++)
        ops->node_group[node] = ROW_NONE;
    for (row_t op = 0; op < ops->n; op++)
        ops->node_group[ops->node[op]] = ops->group[op] = op;
    return SUTRA_OK;
}

/*
 * ---- The forest with siblings of one id next to each other (compat mode) ----
 *
 * The notebook keeps results of siblings by id, so the time of a later sibling is added at the first sibling with its
 * id. Only nodes that start GPU activity matter. Each node's children are visited twice: once to sum the sizes of the
 * subtrees of each id, once to assign positions. Cost: O(n).
 */

struct id_ordering {
    const struct dlrm_forest *forest;
    const value_key *external; /* per event */
    struct tuples ids;         /* (parent, id) */
    row_t *size, *next;        /* per (parent, id): number of its nodes, and the next position */
    struct id_order *order;
};

static uint32_t number_child(struct id_ordering *ordering, row_t parent, row_t child) {
    value_key id = ordering->external[ordering->forest->event[child]];
    return tuples_number(&ordering->ids, (struct tuple){{parent, id}});
}

static bool order_nodes(struct id_ordering *ordering) {
    const struct dlrm_forest *forest = ordering->forest;
    for (row_t node = 0; node < forest->n; node++) {
        if (forest->parent[node] == ROW_NONE)
            ordering->order->position[node] = node;
        ordering->order->node[ordering->order->position[node]] = node;
        /* The children follow their parent; children that start no GPU activity are last. */
        row_t at = ordering->order->position[node] + 1, end = forest->end[node];
        uint32_t first = ordering->ids.n;
        for (row_t child = node + 1; child < end; child = forest->end[child]) {
            if (!(forest->flags[child] & NODE_DEVICE))
                continue;
            uint32_t id = number_child(ordering, node, child);
            if (id == TUPLE_NONE)
                return false;
            ordering->order->again[child] = ordering->size[id] > 0;
            ordering->size[id] += forest->end[child] - child;
        }
        for (uint32_t id = first; id < ordering->ids.n; id++) {
            ordering->next[id] = at;
            at += ordering->size[id];
        }
        for (row_t child = node + 1; child < end; child = forest->end[child]) {
            bool device = (forest->flags[child] & NODE_DEVICE) != 0;
            row_t *next = device ? &ordering->next[number_child(ordering, node, child)] : &at;
            ordering->order->position[child] = *next;
            *next += forest->end[child] - child;
        }
    }
    return true;
}

bool id_order_make(struct id_order *order, const struct dlrm_forest *forest, const value_key *external,
                   struct arena *arena) {
    row_t n = forest->n;
    *order = (struct id_order){.node = arena_alloc(arena, n, sizeof *order->node),
                               .position = arena_alloc(arena, n, sizeof *order->position),
                               .again = arena_zeros(arena, n, sizeof *order->again)};
    struct id_ordering ordering = {.forest = forest,
                                   .external = external,
                                   .size = arena_zeros(arena, n, sizeof *ordering.size),
                                   .next = arena_alloc(arena, n, sizeof *ordering.next),
                                   .order = order};
    bool ok = !arena->failed && order_nodes(&ordering);
    tuples_free(&ordering.ids);
    return ok;
}
