/*
 * simulation_stuck.c - why nodes never ran; in come the times of all nodes, out go the few that explain it.
 *
 *     a member of a meeting has started, and others have not: their ranks stand still for another reason, which is
 *     in the list, too, or lack the node
 *     no member waits: the nodes of a cycle
 */
#include "base/options.h"
#include "simulate/simulation.h"

/* Whether the node holds its resource and waits for the others of its meeting. */
static bool waits_in_meeting(const struct sutra_simulation *simulation, struct replay_node node) {
    const struct replay_times *times = &simulation->times[node.rank];
    return times->start_ns[node.row] != TIME_NEVER && times->run_ns[node.row] == TIME_NEVER;
}

/* A member of the meeting that has not started; the node itself where there is none. */
static struct replay_node missing_member(const struct sutra_simulation *simulation, struct replay_node node) {
    uint32_t meeting = simulation->graphs[node.rank].meeting[node.row];
    for (uint32_t r = 0; r < simulation->n; r++)
        for (row_t i = 0; i < simulation->graphs[r].n; i++)
            if (simulation->graphs[r].meeting[i] == meeting && simulation->times[r].start_ns[i] == TIME_NEVER)
                return (struct replay_node){r, i};
    return node;
}

/* The first node that this one depends on and that never ran; the node itself where there is none. */
static struct replay_node missing_dep(const struct sutra_simulation *simulation, struct replay_node node) {
    const struct rank_graph *graph = &simulation->graphs[node.rank];
    for (uint64_t d = graph->first_dep[node.row]; d < graph->first_dep[node.row + 1]; d++)
        if (simulation->times[node.rank].end_ns[graph->deps[d]] == TIME_NEVER)
            return (struct replay_node){node.rank, graph->deps[d]};
    return node;
}

/* The i-th node that waits in a meeting; its row is ROW_NONE where there are fewer, and *n then is how many. */
static struct replay_node nth_waiting(const struct sutra_simulation *simulation, uint32_t i, uint32_t *n) {
    *n = 0;
    for (uint32_t r = 0; r < simulation->n; r++)
        for (row_t row = 0; row < simulation->graphs[r].n; row++)
            if (waits_in_meeting(simulation, (struct replay_node){r, row}) && (*n)++ == i)
                return (struct replay_node){r, row};
    return (struct replay_node){0, ROW_NONE};
}

/* The i-th node of a cycle, or ROW_NONE behind its last: from any node that never ran, going from each to what it waits
 * for leads into one. */
static struct replay_node nth_in_cycle(const struct sutra_simulation *simulation, uint32_t i) {
    struct replay_node node = {0, ROW_NONE};
    for (uint32_t r = 0; r < simulation->n && node.row == ROW_NONE; r++)
        for (row_t row = 0; row < simulation->graphs[r].n && node.row == ROW_NONE; row++)
            if (simulation->times[r].start_ns[row] == TIME_NEVER)
                node = (struct replay_node){r, row};
    if (node.row == ROW_NONE)
        return node;
    for (row_t step = 0; step < simulation->graphs[node.rank].n; step++)
        node = missing_dep(simulation, node);
    struct replay_node first = node;
    for (uint32_t step = 0; step < i; step++) {
        node = missing_dep(simulation, node);
        if (node.row == first.row)
            return (struct replay_node){0, ROW_NONE};
    }
    return node;
}

static const char *name_of(const struct sutra_simulation *simulation, struct replay_node node) {
    return strings_text(&simulation->names, simulation->graphs[node.rank].name[node.row]);
}

static uint64_t id_of(const struct sutra_simulation *simulation, struct replay_node node) {
    const struct rank_graph *graph = &simulation->graphs[node.rank];
    return graph->nodes->id[graph->node[node.row]];
}

bool sutra_simulation_stuck(const struct sutra_simulation *simulation, uint32_t i, struct sutra_stuck_node *node) {
    uint32_t n_waiting;
    struct replay_node found = nth_waiting(simulation, i, &n_waiting);
    bool meets = found.row != ROW_NONE;
    if (!meets && n_waiting == 0)
        found = nth_in_cycle(simulation, i);
    if (found.row == ROW_NONE)
        return false;
    struct replay_node awaited = meets ? missing_member(simulation, found) : missing_dep(simulation, found);
    const struct sutra_stuck_node made = {
        .rank = simulation->ranks[found.rank],
        .id = id_of(simulation, found),
        .name = name_of(simulation, found),
        .awaited_rank = simulation->ranks[awaited.rank],
        .awaited_id = id_of(simulation, awaited),
        .awaited_name = name_of(simulation, awaited),
        .meets = meets,
    };
    report_give(node, &made, sizeof made);
    return true;
}
