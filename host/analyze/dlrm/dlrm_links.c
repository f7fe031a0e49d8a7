/*
 * dlrm_links.c - launches and what they started.
 *
 *     window, by start:   call 70   kernel 70   call 71   call 70   kernel 71   kernel 70
 *                          |            |         |          |          |           |
 *                          launch 0     (an       launch 1   no launch: executor    executor of launch 0:
 *                                       earlier              70 is       of launch   the last one counts
 *                                       executor)            known       1
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
    struct key_index index;
};

static void take_calls(const struct dlrm_work *work, const struct dlrm_window *window, struct dlrm_calls *calls) {
    for (row_t i = 0; i < window->n; i++) {
        if (!event_in(work, window->rows[i], CATEGORY_RUNTIME))
            continue;
        value_key id = launch_id(work, window->rows[i]);
        if (id == -1)
            continue;
        calls->id[calls->n] = id;
        calls->at[calls->n++] = i;
    }
}

/* What a launch's device event is: the last one of its id that begins behind it. Events of the categories `apart` are
 * none; the number of those without a launch comes back. */
static uint64_t find_executors(const struct dlrm_work *work, const struct dlrm_window *window,
                               const struct dlrm_calls *calls, uint32_t apart, struct dlrm_links *links) {
    uint64_t n_orphans = 0;
    links->n_unlaunched = 0;
    memset(links->executor, 0xff, links->n * sizeof *links->executor);
    for (row_t i = 0; i < window->n; i++) {
        row_t event = window->rows[i];
        if (event_in(work, event, CATEGORY_CPU_OP | CATEGORY_RUNTIME | apart))
            continue;
        value_key id = launch_id(work, event);
        if (id == -1)
            continue;
        row_t call = key_index_find(&calls->index, id);
        if (call != ROW_NONE && calls->at[call] < i) {
            links->executor[calls->link[call]] = event;
            continue;
        }
        n_orphans++;
        links->n_unlaunched += key_is_value(work->events->stream[event]);
    }
    return n_orphans;
}

/* The original takes events of any category but annotations for device work, and stops with an exception where one has
 * no launch, or where operators cross or data loading does not pair up. Then, and by default, fewer categories count.
 */
static void choose_executors(const struct dlrm_work *work, const struct dlrm_window *window, uint64_t n_crossing,
                             const struct dlrm_calls *calls, struct dlrm_links *links) {
    links->tolerant = !work->options->compat || n_crossing ||
                      (window->n_loaders && window->n_loaders != window->n_forwards) ||
                      find_executors(work, window, calls, CATEGORY_ANNOTATION, links) > 0;
    if (links->tolerant)
        links->n_orphans = find_executors(work, window, calls, CATEGORY_ANNOTATION | CATEGORY_APART, links);
    for (row_t link = 0; link < links->n; link++) {
        if (links->executor[link] == ROW_NONE)
            continue;
        links->n_executed++;
        links->executed_us += number_as_double(event_dur(work, links->executor[link]));
    }
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

/* Which launch each node's id leads to: of all nodes in compat mode, of calls otherwise. */
static void link_nodes(const struct dlrm_work *work, const struct dlrm_forest *forest, const struct dlrm_calls *calls,
                       struct dlrm_links *links) {
    for (row_t node = 0; node < forest->n; node++) {
        bool is_op = (forest->flags[node] & NODE_OPERATOR) != 0;
        value_key id = is_op && !work->options->compat ? -1 : launch_id(work, forest->event[node]);
        row_t call = id == -1 ? ROW_NONE : key_index_find(&calls->index, id);
        links->of_node[node] = call == ROW_NONE ? ROW_NONE : calls->link[call];
        links->n_colliding += is_op && call != ROW_NONE;
    }
}

/* Only calls that are in the forest have a caller. */
static void find_callers(const struct dlrm_forest *forest, row_t n_events, row_t *caller_of) {
    memset(caller_of, 0xff, n_events * sizeof *caller_of);
    for (row_t node = 0; node < forest->n; node++)
        caller_of[forest->event[node]] = forest->parent[node];
}

static enum sutra_status find_links(const struct dlrm_work *work, const struct dlrm_window *window,
                                    const struct dlrm_forest *forest, struct dlrm_calls *calls, row_t *caller_of,
                                    struct dlrm_links *links, struct sutra_error *error) {
    take_calls(work, window, calls);
    find_callers(forest, work->events->n, caller_of);
    enum sutra_status status =
        key_index_build(&calls->index, work->engine, calls->id, calls->n, KEY_FIRST, NULL, error);
    if (status)
        return status;
    number_links(window, calls, caller_of, links);
    choose_executors(work, window, forest->n_crossing, calls, links);
    link_nodes(work, forest, calls, links);
    return SUTRA_OK;
}

enum sutra_status dlrm_links_find(struct dlrm_work *work, const struct dlrm_window *window,
                                  const struct dlrm_forest *forest, struct dlrm_links *links,
                                  struct sutra_error *error) {
    struct arena *scratch = &work->scratch;
    struct arena_mark mark = arena_mark(scratch);
    struct dlrm_calls calls = {.id = arena_take(scratch, window->n, sizeof *calls.id),
                               .at = arena_take(scratch, window->n, sizeof *calls.at),
                               .link = arena_take(scratch, window->n, sizeof *calls.link)};
    row_t *caller_of = arena_take(scratch, work->events->n, sizeof *caller_of);
    *links = (struct dlrm_links){.caller = arena_take(work->arena, window->n, sizeof *links->caller),
                                 .executor = arena_take(work->arena, window->n, sizeof *links->executor),
                                 .of_node = arena_take(work->arena, forest->n, sizeof *links->of_node)};
    bool ok = !scratch->failed && !work->arena->failed;
    enum sutra_status status =
        ok ? find_links(work, window, forest, &calls, caller_of, links, error) : error_memory(error);
    key_index_free(&calls.index);
    arena_release(scratch, mark);
    return status;
}
