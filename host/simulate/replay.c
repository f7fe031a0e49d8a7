/*
 * replay.c - a discrete-event simulation: in comes what each rank does, out go the times at which it did it.
 *
 *     events    the ends of the nodes that run, one for each resource that is taken, and a heap of them by (time, order
 *               of start)
 *     lanes     a resource: whether it is taken, and a heap of the free nodes that want it, lowest row first
 *     touched   the lanes of a rank in which something changed since its last nodes were started
 *
 * All lanes of a rank share one array of rows, since a node can only ever wait in its own lane.
 */
#include "simulate/replay.h"

#include "base/arena.h"
#include "base/error.h"
#include "columns/row_heap.h"
#include "columns/row_list.h"

struct event {
    uint64_t time, order;
    struct replay_node node;
};

struct lane {
    struct row_heap waiting; /* free nodes, the lowest row first */
    bool taken, is_touched;
};

struct rank_state {
    struct lane *lanes;
    uint32_t first_event; /* resource 0 of the rank among those of the job */
    uint32_t *touched;
    uint32_t n_touched;
    row_t *next;    /* nodes about to start, at most one for each lane */
    row_t *n_waits; /* of each node: what it still waits for */
};

struct meeting {
    struct replay_node *arrived;
    uint32_t n_arrived, n_members;
};

struct simulation {
    const struct replay_job *job;
    struct replay_times *times;
    struct rank_state *ranks;
    struct meeting *meetings;
    struct event *events; /* by resource of the job */
    struct row_heap next; /* resources whose node runs */
    uint64_t n_started;
};

/* ---- Heaps ---- */

static bool is_before(const void *events, row_t a, row_t b) {
    const struct event *x = (const struct event *)events + a, *y = (const struct event *)events + b;
    return x->time != y->time ? x->time < y->time : x->order < y->order;
}

static void lane_touch(struct rank_state *rank, uint32_t lane) {
    if (rank->lanes[lane].is_touched)
        return;
    rank->lanes[lane].is_touched = true;
    rank->touched[rank->n_touched++] = lane;
}

/* The node waits for nothing any more but its resource. */
static void node_free(struct rank_state *rank, const struct replay_graph *graph, row_t row) {
    struct lane *lane = &rank->lanes[graph->resource[row]];
    row_heap_push(&lane->waiting, row, row_is_lower, NULL);
    lane_touch(rank, graph->resource[row]);
}

/* Takes the first node of each touched lane that is idle; their rows go to next[], rising. */
static uint32_t lanes_take_next(struct rank_state *rank) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < rank->n_touched; i++) {
        struct lane *lane = &rank->lanes[rank->touched[i]];
        lane->is_touched = false;
        if (lane->taken || lane->waiting.n == 0)
            continue;
        lane->taken = true;
        rank->next[n++] = row_heap_pop(&lane->waiting, row_is_lower, NULL);
    }
    rank->n_touched = 0;
    rows_sort(rank->next, n);
    return n;
}

/* ---- Nodes ---- */

/* The node runs from now on. */
static void node_run(struct simulation *simulation, struct replay_node node, uint64_t now, struct replay_node cause) {
    struct replay_times *times = &simulation->times[node.rank];
    uint64_t dur = simulation->job->ranks[node.rank].dur_ns[node.row];
    times->run_ns[node.row] = now;
    times->cause[node.row] = cause;
    row_t event = simulation->ranks[node.rank].first_event + simulation->job->ranks[node.rank].resource[node.row];
    simulation->events[event] = (struct event){now + (dur ? dur : 1), simulation->n_started++, node};
    row_heap_push(&simulation->next, event, is_before, simulation->events);
}

/* The node takes part in its meeting; all run once the last one is there. */
static void node_meet(struct simulation *simulation, struct meeting *meeting, struct replay_node node, uint64_t now,
                      struct replay_node cause) {
    meeting->arrived[meeting->n_arrived++] = node;
    simulation->times[node.rank].cause[node.row] = cause;
    if (meeting->n_arrived < meeting->n_members)
        return;
    for (uint32_t i = 0; i + 1 < meeting->n_arrived; i++)
        node_run(simulation, meeting->arrived[i], now, node);
    node_run(simulation, node, now, cause);
}

/* Starts all nodes of the rank that can start now. */
static void start_nodes(struct simulation *simulation, uint32_t rank, uint64_t now, struct replay_node cause) {
    const struct replay_graph *graph = &simulation->job->ranks[rank];
    uint32_t n = lanes_take_next(&simulation->ranks[rank]);
    for (uint32_t i = 0; i < n; i++) {
        struct replay_node node = {rank, simulation->ranks[rank].next[i]};
        uint32_t meeting = graph->meeting ? graph->meeting[node.row] : NO_MEETING;
        simulation->times[rank].start_ns[node.row] = now;
        if (meeting == NO_MEETING)
            node_run(simulation, node, now, cause);
        else
            node_meet(simulation, &simulation->meetings[meeting], node, now, cause);
    }
}

/* The node has ended: its resource is idle, and what waited for it may be free. */
static void node_end(struct simulation *simulation, const struct event *ended) {
    const struct event event = *ended;
    struct replay_node node = event.node;
    const struct replay_graph *graph = &simulation->job->ranks[node.rank];
    struct rank_state *rank = &simulation->ranks[node.rank];
    struct replay_times *times = &simulation->times[node.rank];

    times->end_ns[node.row] = event.time;
    times->finish_ns = event.time;
    times->n_ran++;
    rank->lanes[graph->resource[node.row]].taken = false;
    lane_touch(rank, graph->resource[node.row]);
    for (uint64_t i = graph->first_waiter[node.row]; i < graph->first_waiter[node.row + 1]; i++)
        if (--rank->n_waits[graph->waiters[i]] == 0)
            node_free(rank, graph, graph->waiters[i]);
    start_nodes(simulation, node.rank, event.time, node);
}

/* ---- Beginning ---- */

static void times_reset(struct replay_times *times, row_t n) {
    for (row_t i = 0; i < n; i++) {
        times->start_ns[i] = times->run_ns[i] = times->end_ns[i] = TIME_NEVER;
        times->cause[i] = (struct replay_node){0, ROW_NONE};
    }
    times->n_ran = 0;
    times->finish_ns = 0;
}

/* Gives each lane its part of `waiting`, as long as it has nodes. */
static void lanes_share(struct rank_state *rank, const struct replay_graph *graph, row_t *waiting) {
    for (row_t i = 0; i < graph->n; i++)
        rank->lanes[graph->resource[i]].waiting.n++;
    for (uint32_t l = 0; l < graph->n_resources; l++) {
        row_t n = rank->lanes[l].waiting.n;
        rank->lanes[l].waiting = (struct row_heap){waiting, 0};
        waiting += n;
    }
}

static void rank_begin(struct rank_state *rank, const struct replay_graph *graph, struct arena *arena) {
    rank->lanes = arena_zeros(arena, graph->n_resources, sizeof *rank->lanes);
    rank->touched = arena_take(arena, graph->n_resources, sizeof *rank->touched);
    rank->next = arena_take(arena, graph->n_resources, sizeof *rank->next);
    rank->n_waits = arena_take(arena, graph->n, sizeof *rank->n_waits);
    row_t *waiting = arena_take(arena, graph->n, sizeof *waiting);
    if (arena->failed)
        return;
    lanes_share(rank, graph, waiting);
    for (row_t i = 0; i < graph->n; i++) {
        rank->n_waits[i] = graph->n_waits[i];
        if (rank->n_waits[i] == 0)
            node_free(rank, graph, i);
    }
}

static void meetings_begin(struct simulation *simulation, struct arena *arena) {
    const struct replay_job *job = simulation->job;
    simulation->meetings = arena_zeros(arena, job->n_meetings, sizeof *simulation->meetings);
    if (arena->failed)
        return;
    for (uint32_t r = 0; r < job->n_ranks; r++)
        for (row_t i = 0; job->ranks[r].meeting && i < job->ranks[r].n; i++)
            if (job->ranks[r].meeting[i] != NO_MEETING)
                simulation->meetings[job->ranks[r].meeting[i]].n_members++;
    for (uint32_t m = 0; m < job->n_meetings; m++)
        simulation->meetings[m].arrived =
            arena_take(arena, simulation->meetings[m].n_members, sizeof *simulation->meetings[m].arrived);
}

static bool simulation_begin(struct simulation *simulation, struct arena *arena) {
    const struct replay_job *job = simulation->job;
    uint64_t n_resources = 0;
    simulation->ranks = arena_zeros(arena, job->n_ranks, sizeof *simulation->ranks);
    for (uint32_t r = 0; r < job->n_ranks && !arena->failed; r++) {
        times_reset(&simulation->times[r], job->ranks[r].n);
        rank_begin(&simulation->ranks[r], &job->ranks[r], arena);
        simulation->ranks[r].first_event = (uint32_t)n_resources;
        n_resources += job->ranks[r].n_resources;
    }
    meetings_begin(simulation, arena);
    simulation->events = arena_take(arena, n_resources, sizeof *simulation->events);
    simulation->next.rows = arena_take(arena, n_resources, sizeof(row_t));
    return !arena->failed;
}

/* Ends of nodes between two looks whether the work is cancelled. */
#define LOOK_EVENTS 16384

enum sutra_status replay(const struct replay_job *job, struct replay_times *times, struct sutra_error *error) {
    struct arena arena = {0};
    struct simulation simulation = {.job = job, .times = times};
    enum sutra_status status = simulation_begin(&simulation, &arena) ? SUTRA_OK : error_memory(error);
    for (uint32_t r = 0; r < job->n_ranks && !status; r++)
        start_nodes(&simulation, r, 0, (struct replay_node){0, ROW_NONE});
    for (uint64_t n = 1; !status && simulation.next.n; n++) {
        node_end(&simulation, &simulation.events[row_heap_pop(&simulation.next, is_before, simulation.events)]);
        if (n % LOOK_EVENTS == 0 && pool_is_cancelled(job->pool))
            status = error_set(error, SUTRA_CANCELLED, "cancelled");
    }
    arena_free(&arena);
    return status;
}
