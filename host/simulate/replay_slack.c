/*
 * replay_slack.c - from the last end backwards: what is behind a node ends later than the node itself.
 */
#include "simulate/replay_slack.h"

static uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* When a node that has so much slack may begin at the latest. */
static uint64_t latest_begin(const struct replay_times *times, const uint64_t *slack_ns, row_t node) {
    return times->run_ns[node] + slack_ns[node];
}

bool replay_slack(const struct replay_graph *graph, const struct replay_times *times, const struct engine *engine,
                  struct arena *arena, uint64_t *slack_ns) {
    struct arena_mark mark = arena_mark(arena);
    uint64_t *keys = arena_take(arena, graph->n, sizeof *keys);
    row_t *order = arena_take(arena, graph->n, sizeof *order);
    uint64_t *next_begin = arena_take(arena, graph->n_resources, sizeof *next_begin); /* of each resource */
    bool done = !arena->failed;
    for (row_t i = 0; i < graph->n && done; i++) {
        keys[i] = times->finish_ns - times->end_ns[i];
        order[i] = i;
    }
    struct sort_keys_step latest_first = {keys, order, graph->n};
    done = done && !engine->sort_keys(engine->state, &latest_first, NULL);
    for (uint32_t r = 0; r < graph->n_resources && done; r++)
        next_begin[r] = times->finish_ns;
    for (row_t i = 0; i < graph->n && done; i++) {
        row_t node = order[i];
        uint64_t *next = &next_begin[graph->resource[node]], latest_end = *next;
        for (uint64_t w = graph->first_waiter[node]; w < graph->first_waiter[node + 1]; w++)
            latest_end = smaller(latest_end, latest_begin(times, slack_ns, graph->waiters[w]));
        slack_ns[node] = latest_end - times->end_ns[node];
        *next = latest_begin(times, slack_ns, node);
    }
    arena_release(arena, mark);
    return done;
}
