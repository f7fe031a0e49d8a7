/*
 * dlrm_forest.c - host events below each other; launches and what they started.
 *
 * In comes the window by rising start; out go the forest in pre-order and the launches. The original looks at each
 * event's place from the first root on and then from child to child; here the same place is found by two searches.
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

#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/error.h"
#include "columns/row_set.h"
#include "match/key_index.h"

/* Host events of the window in the order of time. */
struct host {
    row_t n;
    row_t *event;
    row_t *root;   /* the root that it lies in, itself for a root, ROW_NONE where it is hidden */
    row_t *parent; /* ROW_NONE for roots and hidden ones */
    row_t *place;  /* its node, ROW_NONE where it is hidden */
    struct number_column end;
};

static bool host_new(struct host *host, row_t n) {
    host->event = column_new(n, sizeof *host->event);
    host->root = column_new(n, sizeof *host->root);
    host->parent = column_new(n, sizeof *host->parent);
    host->place = column_new(n, sizeof *host->place);
    return numbers_new(&host->end, n) && host->event && host->root && host->parent && host->place;
}

static void host_free(struct host *host) {
    free(host->event);
    free(host->root);
    free(host->parent);
    free(host->place);
    numbers_free(&host->end);
}

static void take_host_events(struct sutra_dlrm *dlrm, struct host *host) {
    struct dlrm_window *window = &dlrm->window;
    for (row_t i = 0; i < window->n; i++) {
        row_t event = window->rows[i];
        if (!event_in(dlrm, event, CATEGORY_OP | CATEGORY_CALL))
            continue;
        struct number end = event_end(dlrm, event);
        if (number_compare(end, window->end) > 0)
            window->end = end;
        number_put(host->end, host->n, end);
        host->event[host->n++] = event;
    }
}

/* ---- Roots ---- */

/* The first of `reaching`, whose ends rise, that ends after `start` and not before `end`; n: none. */
static row_t first_reaching(const struct host *host, const row_t *reaching, row_t n, struct number start,
                            struct number end) {
    struct bisection at = {0, n};
    while (at.low < at.high) {
        struct number its = number_at(host->end, reaching[bisect_middle(at)]);
        bisect(&at, number_compare(its, start) <= 0 || number_compare(its, end) < 0);
    }
    return at.low;
}

static enum sutra_status find_roots(struct sutra_dlrm *dlrm, struct host *host, struct sutra_error *error) {
    const value_key *tid = dlrm->events->tid;
    row_t *reaching = column_new(host->n, sizeof *reaching), n = 0;
    if (!reaching)
        return error_memory(error);
    for (row_t i = 0; i < host->n; i++) {
        struct number start = event_ts(dlrm, host->event[i]), end = number_at(host->end, i);
        row_t found = first_reaching(host, reaching, n, start, end);
        host->parent[i] = ROW_NONE;
        host->root[i] = found < n ? reaching[found] : i;
        dlrm->report.n_crossing += found > 0 && number_compare(number_at(host->end, reaching[found - 1]), start) > 0;
        if (found < n) {
            value_key thread = tid[host->event[reaching[found]]];
            if (thread != dlrm->window.main_tid && thread != tid[host->event[i]]) {
                host->root[i] = ROW_NONE;
                dlrm->report.n_hidden++;
            }
        } else if (!n || number_compare(end, number_at(host->end, reaching[n - 1])) > 0) {
            reaching[n++] = i;
        }
    }
    free(reaching);
    return SUTRA_OK;
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

static bool ranks_new(struct ranks *ranks, row_t n) {
    ranks->below = column_new(n, sizeof *ranks->below);
    ranks->group = column_new(n, sizeof *ranks->group);
    ranks->rank = column_new(n, sizeof *ranks->rank);
    ranks->group_end = column_new(n, sizeof *ranks->group_end);
    ranks->holder = column_new(n, sizeof *ranks->holder);
    return ranks->below && ranks->group && ranks->rank && ranks->group_end && ranks->holder;
}

static void ranks_free(struct ranks *ranks) {
    free(ranks->below);
    free(ranks->group);
    free(ranks->rank);
    free(ranks->group_end);
    free(ranks->holder);
}

static bool number_groups(const struct sutra_dlrm *dlrm, const struct host *host, struct ranks *ranks) {
    struct tuples groups = {0};
    bool ok = true;
    for (row_t i = 0; i < host->n && ok; i++) {
        if (host->root[i] == ROW_NONE || host->root[i] == i)
            continue;
        struct tuple tuple = {{host->root[i], dlrm->events->tid[host->event[i]]}};
        ranks->below[ranks->n] = i;
        ranks->group[ranks->n] = tuples_number(&groups, tuple);
        ok = ranks->group[ranks->n++] != TUPLE_NONE;
    }
    tuples_free(&groups);
    return ok;
}

/* Goes through `order`, which is sorted by group and end. */
static void number_ranks(const struct host *host, struct ranks *ranks, const row_t *order) {
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

static enum sutra_status sort_ranks(const struct sutra_dlrm *dlrm, const struct host *host, struct ranks *ranks,
                                    struct sutra_error *error) {
    const struct engine *engine = &dlrm->context->engine;
    row_t n = ranks->n, *order = column_new(n, sizeof *order);
    uint64_t *keys = column_new(n, sizeof *keys);
    struct number_column end = {0};
    enum sutra_status status = SUTRA_OK;
    if (!numbers_new(&end, n) || !order || !keys) {
        status = error_memory(error);
        goto out;
    }
    for (row_t i = 0; i < n; i++)
        number_put(end, i, number_at(host->end, ranks->below[i]));
    status = engine->sort_numbers(engine->state, &(struct sort_numbers_step){end, n, order}, error);
    for (row_t i = 0; i < n && !status; i++)
        keys[i] = ranks->group[order[i]];
    if (!status)
        status = engine->sort_keys(engine->state, &(struct sort_keys_step){keys, order, n}, error);
    if (!status)
        number_ranks(host, ranks, order);
out:
    free(order);
    free(keys);
    numbers_free(&end);
    return status;
}

static void place_below(const struct ranks *ranks, struct host *host, struct row_set *set) {
    for (row_t i = 0; i < ranks->n; i++) {
        row_t event = ranks->below[i], next = row_set_next(set, ranks->rank[i]);
        bool found = next < ranks->group_end[ranks->group[i]];
        host->parent[event] = found ? ranks->holder[next] : host->root[event];
        ranks->holder[ranks->rank[i]] = event;
        row_set_add(set, ranks->rank[i]);
    }
}

static enum sutra_status find_parents(struct sutra_dlrm *dlrm, struct host *host, struct sutra_error *error) {
    struct ranks ranks = {0};
    struct row_set set = {0};
    enum sutra_status status = SUTRA_OK;
    if (!ranks_new(&ranks, host->n) || !number_groups(dlrm, host, &ranks) || !row_set_init(&set, ranks.n))
        status = error_memory(error);
    if (!status)
        status = sort_ranks(dlrm, host, &ranks, error);
    if (!status)
        place_below(&ranks, host, &set);
    ranks_free(&ranks);
    row_set_free(&set);
    return status;
}

/* ---- Pre-order ---- */

static bool forest_new(struct dlrm_forest *forest, row_t n) {
    forest->event = column_new(n, sizeof *forest->event);
    forest->parent = column_new(n, sizeof *forest->parent);
    forest->end = column_new(n, sizeof *forest->end);
    forest->flags = column_new(n, sizeof *forest->flags);
    forest->link = column_new(n, sizeof *forest->link);
    return forest->event && forest->parent && forest->end && forest->flags && forest->link;
}

/* Sizes of subtrees from the last event to the first, since a parent comes before its children; then places from the
 * first to the last: each takes the next free one of its parent's range. `size` and `next` have room for all. */
static void lay_out(const struct sutra_dlrm *dlrm, struct host *host, struct dlrm_forest *forest, row_t *size,
                    row_t *next) {
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
        forest->flags[node] = event_in(dlrm, host->event[i], CATEGORY_OP) ? NODE_OPERATOR : 0;
        forest->n_roots += parent == ROW_NONE;
        forest->n++;
    }
}

static enum sutra_status number_nodes(struct sutra_dlrm *dlrm, struct host *host, struct sutra_error *error) {
    row_t *size = column_new(host->n, sizeof *size), *next = column_new(host->n, sizeof *next);
    bool ok = size && next && forest_new(&dlrm->forest, host->n);
    if (ok)
        lay_out(dlrm, host, &dlrm->forest, size, next);
    free(size);
    free(next);
    return ok ? SUTRA_OK : error_memory(error);
}

/* ---- Launches ---- */

/* The id that launches and kernels are matched by. */
static value_key launch_id(const struct sutra_dlrm *dlrm, row_t event) {
    value_key id = dlrm->options.compat ? dlrm_external_id(dlrm, event) : dlrm->events->correlation[event];
    return key_is_integer(id) || id >= KEY_VALUES ? id : -1;
}

/* Calls of the window with an id: the first of each id is a launch. */
struct calls {
    row_t n;
    value_key *id;
    row_t *at;   /* its place in the window */
    row_t *link; /* the launch of its id */
    struct key_index index;
};

static bool take_calls(struct sutra_dlrm *dlrm, struct calls *calls) {
    const struct dlrm_window *window = &dlrm->window;
    calls->id = column_new(window->n, sizeof *calls->id);
    calls->at = column_new(window->n, sizeof *calls->at);
    calls->link = column_new(window->n, sizeof *calls->link);
    if (!calls->id || !calls->at || !calls->link)
        return false;
    for (row_t i = 0; i < window->n; i++) {
        if (!event_in(dlrm, window->rows[i], CATEGORY_CALL))
            continue;
        value_key id = launch_id(dlrm, window->rows[i]);
        if (id == -1)
            continue;
        calls->id[calls->n] = id;
        calls->at[calls->n++] = i;
    }
    return true;
}

/* What a launch's device event is: the last one of its id that begins behind it. Events of the categories `apart` are
 * none; the number of those without a launch comes back. */
static uint64_t find_executors(struct sutra_dlrm *dlrm, const struct calls *calls, uint32_t apart) {
    const struct dlrm_window *window = &dlrm->window;
    struct dlrm_links *links = &dlrm->links;
    uint64_t n_orphans = 0;
    dlrm->report.n_unlaunched = 0;
    memset(links->executor, 0xff, links->n * sizeof *links->executor);
    for (row_t i = 0; i < window->n; i++) {
        row_t event = window->rows[i];
        if (event_in(dlrm, event, CATEGORY_OP | CATEGORY_CALL | apart))
            continue;
        value_key id = launch_id(dlrm, event);
        if (id == -1)
            continue;
        row_t call = key_index_find(&calls->index, id);
        if (call != ROW_NONE && calls->at[call] < i) {
            links->executor[calls->link[call]] = event;
            continue;
        }
        n_orphans++;
        dlrm->report.n_unlaunched += key_is_value(dlrm->events->stream[event]);
    }
    return n_orphans;
}

/* The original takes events of any category but annotations for device work, and stops with an exception where one has
 * no launch, or where operators cross or data loading does not pair up. Then, and by default, fewer categories count.
 */
static void choose_executors(struct sutra_dlrm *dlrm, const struct calls *calls) {
    struct dlrm_links *links = &dlrm->links;
    struct sutra_dlrm_report *report = &dlrm->report;
    report->tolerant = !report->compat || report->n_crossing ||
                       (report->n_loaders && report->n_loaders != report->n_forwards) ||
                       find_executors(dlrm, calls, CATEGORY_NOTE) > 0;
    if (report->tolerant)
        report->n_orphans = find_executors(dlrm, calls, CATEGORY_NOTE | CATEGORY_APART);
    for (row_t link = 0; link < links->n; link++) {
        if (links->executor[link] == ROW_NONE)
            continue;
        links->n_executed++;
        dlrm->report.executed_us += number_as_double(event_dur(dlrm, links->executor[link]));
    }
}

/* Nodes are the launches' callers only where the call is in the forest. `node_of` is per event. */
static void number_links(struct sutra_dlrm *dlrm, struct calls *calls, const row_t *caller_of) {
    struct dlrm_links *links = &dlrm->links;
    for (row_t i = 0; i < calls->n; i++) {
        if (key_index_find(&calls->index, calls->id[i]) != i)
            continue;
        calls->link[i] = links->n;
        links->caller[links->n++] = caller_of[dlrm->window.rows[calls->at[i]]];
    }
}

/* Which launch each node's id leads to: of all nodes in compat mode, of calls otherwise. */
static void link_nodes(struct sutra_dlrm *dlrm, const struct calls *calls) {
    struct dlrm_forest *forest = &dlrm->forest;
    for (row_t node = 0; node < forest->n; node++) {
        bool is_op = (forest->flags[node] & NODE_OPERATOR) != 0;
        value_key id = is_op && !dlrm->options.compat ? -1 : launch_id(dlrm, forest->event[node]);
        row_t call = id == -1 ? ROW_NONE : key_index_find(&calls->index, id);
        forest->link[node] = call == ROW_NONE ? ROW_NONE : calls->link[call];
        dlrm->report.n_colliding += is_op && call != ROW_NONE;
    }
}

static enum sutra_status find_links(struct sutra_dlrm *dlrm, const struct host *host, struct sutra_error *error) {
    struct calls calls = {0};
    row_t *caller_of = column_new(dlrm->events->n, sizeof *caller_of);
    enum sutra_status status = SUTRA_OK;
    dlrm->links.caller = column_new(host->n, sizeof *dlrm->links.caller);
    dlrm->links.executor = column_new(host->n, sizeof *dlrm->links.executor);
    if (!caller_of || !dlrm->links.caller || !dlrm->links.executor || !take_calls(dlrm, &calls))
        status = error_memory(error);
    for (row_t i = 0; i < host->n && !status; i++)
        caller_of[host->event[i]] = host->parent[i] == ROW_NONE ? ROW_NONE : host->place[host->parent[i]];
    if (!status)
        status = key_index_build(&calls.index, &dlrm->context->engine, calls.id, calls.n, KEY_FIRST, NULL, error);
    if (!status) {
        number_links(dlrm, &calls, caller_of);
        choose_executors(dlrm, &calls);
        link_nodes(dlrm, &calls);
    }
    free(caller_of);
    free(calls.id);
    free(calls.at);
    free(calls.link);
    key_index_free(&calls.index);
    return status;
}

enum sutra_status dlrm_forest_build(struct sutra_dlrm *dlrm, struct sutra_error *error) {
    struct host host = {0};
    enum sutra_status status = host_new(&host, dlrm->window.n) ? SUTRA_OK : error_memory(error);
    if (!status) {
        take_host_events(dlrm, &host);
        status = find_roots(dlrm, &host, error);
    }
    if (!status)
        status = find_parents(dlrm, &host, error);
    if (!status)
        status = number_nodes(dlrm, &host, error);
    if (!status)
        status = find_links(dlrm, &host, error);
    host_free(&host);
    return status;
}
