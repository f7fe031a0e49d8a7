/*
 * dlrm_links.c - launches and what they started.
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
#include <string.h>

#include "analyze/dlrm/dlrm.h"
#include "base/error.h"
#include "match/key_index.h"

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
