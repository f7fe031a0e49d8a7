/*
 * replay.c - a discrete-event simulation.
 *
 *     events    of a rank: the ends of running nodes, one per occupied resource, and a heap of them
 *     lanes     a resource: whether it is occupied, and a heap of its ready nodes, lowest row first
 *     touched   the lanes of a rank that changed since its last nodes were started
 *
 * All lanes of a rank share one array of rows, since a node only waits in its own lane.
 *
 * Ranks interact only at matches. So a rank without a node that waits for its match runs on by itself until a node
 * waits; then other ranks run, up to the missing one. If all ranks wait, the rank with the earliest next end continues:
 * no other rank can release it earlier. Thus the data of one rank stay in the cache for long. Nodes that end
 * simultaneously do so in rank order, and on a rank in the order of starts. As each rank numbers its own starts, nodes
 * that a match released are ordered by the member that arrived last: (time, rank of this member, its number).
 */
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/rows.h"
#include "simulate/replay.h"

/* ---- Slack, from the last end backwards: successors end after the node itself ---- */

/* The latest start of a node with this slack. */
static uint64_t latest_begin(const struct replay_times *times, const uint64_t *slack_ns, row_t node) {
    return times->run_ns[node] + slack_ns[node];
}

bool replay_slack(const struct replay_graph *graph, const struct replay_times *times, const struct engine *engine,
                  struct arena *arena, uint64_t *slack_ns) {
    struct arena_mark mark = arena_mark(arena);
    uint64_t *keys = arena_alloc(arena, graph->n, sizeof *keys);
    row_t *order = arena_alloc(arena, graph->n, sizeof *order);
    uint64_t *next_begin = arena_alloc(arena, graph->n_resources, sizeof *next_begin); /* per resource */
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
        for (uint64_t w = graph->first_waiter[node]; w < graph->first_waiter[node + 1]; w++) {
            uint64_t b = latest_begin(times, slack_ns, graph->waiters[w]);
            latest_end = MIN(latest_end, b);
        }
        slack_ns[node] = latest_end - times->end_ns[node];
        *next = latest_begin(times, slack_ns, node);
    }
    arena_release(arena, mark);
    return done;
}

/* The release of a node: its time, and the start of a rank that caused it. */
struct replay_start {
    uint64_t time, number; /* number: of the starts of the rank */
    uint32_t rank;
};

struct event {
    uint64_t time;
    struct replay_start start;
    row_t row;
};

struct lane {
    struct row_heap waiting; /* ready nodes, the lowest row first */
    bool is_busy, is_touched;
};

struct rank_state {
    struct lane *lanes;
    struct event *events; /* by resource */
    struct row_heap next; /* occupied resources, by the end of their node */
    uint64_t n_started;
    uint32_t n_held; /* nodes that wait for their match */
    uint32_t *touched;
    uint32_t n_touched;
    row_t *starting; /* nodes about to start, at most one per lane */
    row_t *n_waits;  /* per node: dependencies that have not ended */
};

struct arrival {
    struct replay_node node;
    uint64_t number; /* of the starts of its rank */
};

struct replay_match {
    struct arrival *arrived;
    uint32_t n_arrived, n_members;
    /* Of a message: */
    bool is_delivered;
    uint64_t delivered_ns;
    struct replay_node sender;
};

/* Ranks with nodes that wait for their match, the earliest next end first: a heap with the index of each rank. */
struct rank_queue {
    uint32_t *ranks, *index; /* index of each rank in ranks[], or NOT_QUEUED */
    uint32_t n;
};

#define NOT_QUEUED UINT32_MAX

/* Number of ends between two checks for cancellation. */
#define CANCEL_CHECK_EVENTS 16384

struct simulation {
    const struct replay_job *job;
    struct replay_times *times;
    struct rank_state *ranks;
    struct replay_match *matched_collectives;
    uint32_t *free_ranks; /* with running nodes, and no node that waits for its match */
    uint32_t n_free;
    struct rank_queue queue;
    uint32_t running; /* the rank that is being run */
    uint64_t n_ended;
    bool is_cancelled;
};

/* ---- Heaps ---- */

static bool is_before(const void *events, row_t a, row_t b) {
    const struct event *x = (const struct event *)events + a, *y = (const struct event *)events + b;
    if (x->time != y->time)
        return x->time < y->time;
    if (x->start.time != y->start.time)
        return x->start.time < y->start.time;
    if (x->start.rank != y->start.rank)
        return x->start.rank < y->start.rank;
    if (x->start.number != y->start.number)
        return x->start.number < y->start.number;
    return x->row < y->row;
}

static uint64_t next_time(const struct simulation *simulation, uint32_t rank) {
    const struct rank_state *state = &simulation->ranks[rank];
    return state->events[state->next.rows[0]].time;
}

static bool rank_is_before(const struct simulation *simulation, uint32_t a, uint32_t b) {
    const uint64_t x = next_time(simulation, a), y = next_time(simulation, b);
    return x != y ? x < y : a < b;
}

static void queue_set(struct rank_queue *queue, uint32_t rank, uint32_t index) {
    queue->ranks[index] = rank;
    queue->index[rank] = index;
}

/* Moves the rank from an index, or a new element, forward to its position. */
static void queue_raise(struct simulation *simulation, uint32_t rank, uint32_t index) {
    struct rank_queue *queue = &simulation->queue;
    for (; index && rank_is_before(simulation, rank, queue->ranks[(index - 1) / 2]); index = (index - 1) / 2)
        queue_set(queue, queue->ranks[(index - 1) / 2], index);
    queue_set(queue, rank, index);
}

/* Removes the rank at an index. */
static void queue_remove(struct simulation *simulation, uint32_t index) {
    struct rank_queue *queue = &simulation->queue;
    const uint32_t last = queue->ranks[--queue->n];
    queue->index[queue->ranks[index]] = NOT_QUEUED;
    if (index == queue->n)
        return;
    for (uint64_t child; (child = 2 * (uint64_t)index + 1) < queue->n; index = (uint32_t)child) {
        child += child + 1 < queue->n && rank_is_before(simulation, queue->ranks[child + 1], queue->ranks[child]);
        if (!rank_is_before(simulation, queue->ranks[child], last))
            break;
        queue_set(queue, queue->ranks[child], index);
    }
    queue_raise(simulation, last, index);
}

/* A rank can continue, or has an earlier event: queues it, unless it is being run. */
static void rank_wake(struct simulation *simulation, uint32_t rank) {
    const struct rank_state *state = &simulation->ranks[rank];
    uint32_t index = simulation->queue.index[rank];
    if (rank == simulation->running || state->next.n == 0)
        return;
    if (state->n_held) {
        queue_raise(simulation, rank, index == NOT_QUEUED ? simulation->queue.n++ : index);
        return;
    }
    if (index != NOT_QUEUED)
        queue_remove(simulation, index);
    simulation->free_ranks[simulation->n_free++] = rank;
}

/* ---- Lanes ---- */

static void lane_touch(struct rank_state *rank, uint32_t lane) {
    if (rank->lanes[lane].is_touched)
        return;
    rank->lanes[lane].is_touched = true;
    rank->touched[rank->n_touched++] = lane;
}

/* All dependencies of the node have ended. */
static void node_free(struct rank_state *rank, const struct replay_graph *graph, row_t row) {
    struct lane *lane = &rank->lanes[graph->resource[row]];
    row_heap_push(&lane->waiting, row, row_is_lower, NULL);
    lane_touch(rank, graph->resource[row]);
}

/* ---- Nodes ---- */

static enum node_role role_of(const struct replay_graph *graph, row_t row) {
    return graph->role ? (enum node_role)graph->role[row] : ROLE_NONE;
}

static uint32_t match_of(const struct replay_graph *graph, row_t row) {
    return graph->matched_collective ? graph->matched_collective[row] : NO_MATCH;
}

/* The node runs from start.time on. */
static void node_run(struct simulation *simulation, struct replay_node node, struct replay_start start,
                     struct replay_node cause) {
    const struct replay_graph *graph = &simulation->job->ranks[node.rank];
    struct replay_times *times = &simulation->times[node.rank];
    struct rank_state *rank = &simulation->ranks[node.rank];
    const bool is_message = role_of(graph, node.row) == ROLE_RECEIVES && match_of(graph, node.row) != NO_MATCH;
    const uint64_t dur = is_message ? 0 : MAX(graph->dur_ns[node.row], 1);
    const row_t event = graph->resource[node.row];
    times->run_ns[node.row] = start.time;
    times->cause[node.row] = cause;
    rank->events[event] = (struct event){start.time + dur, start, node.row};
    row_heap_push(&rank->next, event, is_before, rank->events);
}

static struct replay_start start_of(const struct simulation *simulation, const struct arrival *arrival) {
    const struct replay_node node = arrival->node;
    return (struct replay_start){simulation->times[node.rank].start_ns[node.row], arrival->number, node.rank};
}

/* The node arrives at its match; all members run once the last one arrives. */
static void node_arrive(struct simulation *simulation, struct replay_match *matched_collective, struct replay_node node,
                        uint64_t number, struct replay_node cause) {
    matched_collective->arrived[matched_collective->n_arrived++] = (struct arrival){node, number};
    simulation->times[node.rank].cause[node.row] = cause;
    simulation->ranks[node.rank].n_held++;
    if (matched_collective->n_arrived < matched_collective->n_members)
        return;
    /* The last arrival; of simultaneous ones, the highest rank. */
    const struct arrival *last = &matched_collective->arrived[0];
    struct replay_start latest = start_of(simulation, last);
    for (uint32_t i = 1; i < matched_collective->n_arrived; i++) {
        const struct replay_start start = start_of(simulation, &matched_collective->arrived[i]);
        bool later = start.time != latest.time   ? start.time > latest.time
                     : start.rank != latest.rank ? start.rank > latest.rank
                                                 : start.number > latest.number;
        if (!later)
            continue;
        last = &matched_collective->arrived[i];
        latest = start;
    }

    const struct replay_start start = start_of(simulation, last);
    for (uint32_t i = 0; i < matched_collective->n_arrived; i++) {
        const struct replay_node member = matched_collective->arrived[i].node;
        const bool is_last = &matched_collective->arrived[i] == last;
        node_run(simulation, member, start, is_last ? simulation->times[member.rank].cause[member.row] : last->node);
        simulation->ranks[member.rank].n_held--;
        rank_wake(simulation, member.rank);
    }
}

/* The receive starts: it ends with the delivery of its message, if the send has ended; else it waits. */
static void message_await(struct simulation *simulation, struct replay_match *message, struct replay_node node,
                          struct replay_start start, struct replay_node cause) {
    const bool is_later = message->is_delivered && message->delivered_ns > start.time;
    if (is_later)
        start.time = message->delivered_ns;
    if (message->is_delivered) {
        node_run(simulation, node, start, is_later ? message->sender : cause);
        return;
    }
    message->arrived[message->n_arrived++] = (struct arrival){node, start.number};
    simulation->times[node.rank].cause[node.row] = cause;
    simulation->ranks[node.rank].n_held++;
}

/* The send ends: its receive ends, if it waits. */
static void message_deliver(struct simulation *simulation, struct replay_match *message, struct replay_node sender,
                            uint64_t now) {
    if (message->is_delivered)
        return;
    message->is_delivered = true;
    message->delivered_ns = now;
    message->sender = sender;
    for (uint32_t i = 0; i < message->n_arrived; i++) {
        const struct arrival *arrival = &message->arrived[i];
        const uint32_t rank = arrival->node.rank;
        struct replay_start start = start_of(simulation, arrival);
        const bool is_early = start.time > now; /* the rank of the receive ran ahead */
        start.time = MAX(start.time, now);
        node_run(simulation, arrival->node, start,
                 is_early ? simulation->times[rank].cause[arrival->node.row] : sender);
        simulation->ranks[rank].n_held--;
        rank_wake(simulation, rank);
    }
}

/* Starts all nodes of the rank that can start now. */
static void start_nodes(struct simulation *simulation, uint32_t rank, uint64_t now, struct replay_node cause) {
    const struct replay_graph *graph = &simulation->job->ranks[rank];
    struct rank_state *state = &simulation->ranks[rank];
    /* Occupies each touched idle lane with its first node; their rows become starting[], ascending. */
    uint32_t n = 0;
    for (uint32_t i = 0; i < state->n_touched; i++) {
        struct lane *lane = &state->lanes[state->touched[i]];
        lane->is_touched = false;
        if (lane->is_busy || lane->waiting.n == 0)
            continue;
        lane->is_busy = true;
        state->starting[n++] = row_heap_pop(&lane->waiting, row_is_lower, NULL);
    }
    state->n_touched = 0;
    rows_sort(state->starting, n);

    for (uint32_t i = 0; i < n; i++) {
        struct replay_node node = {rank, state->starting[i]};
        const uint32_t match = match_of(graph, node.row);
        const enum node_role role = role_of(graph, node.row);
        const struct replay_start start = {now, state->n_started++, rank};
        simulation->times[rank].start_ns[node.row] = now;
        if (match == NO_MATCH || role == ROLE_SENDS)
            node_run(simulation, node, start, cause);
        else if (role == ROLE_RECEIVES)
            message_await(simulation, &simulation->matched_collectives[match], node, start, cause);
        else
            node_arrive(simulation, &simulation->matched_collectives[match], node, start.number, cause);
    }
}

/* The rank's next node ends: its resource is idle, and its dependents may be ready. */
static void end_next(struct simulation *simulation, uint32_t rank) {
    const struct replay_graph *graph = &simulation->job->ranks[rank];
    struct rank_state *state = &simulation->ranks[rank];
    struct replay_times *times = &simulation->times[rank];
    const struct event event = state->events[row_heap_pop(&state->next, is_before, state->events)];

    if (++simulation->n_ended % CANCEL_CHECK_EVENTS == 0)
        simulation->is_cancelled = pool_is_cancelled(simulation->job->pool);
    times->end_ns[event.row] = event.time;
    times->finish_ns = event.time;
    times->n_ran++;
    state->lanes[graph->resource[event.row]].is_busy = false;
    lane_touch(state, graph->resource[event.row]);
    for (uint64_t i = graph->first_waiter[event.row]; i < graph->first_waiter[event.row + 1]; i++)
        if (--state->n_waits[graph->waiters[i]] == 0)
            node_free(state, graph, graph->waiters[i]);
    if (role_of(graph, event.row) == ROLE_SENDS && match_of(graph, event.row) != NO_MATCH)
        message_deliver(simulation, &simulation->matched_collectives[match_of(graph, event.row)],
                        (struct replay_node){rank, event.row}, event.time);
    start_nodes(simulation, rank, event.time, (struct replay_node){rank, event.row});
}

/* ---- Ranks ---- */

static void run_ranks(struct simulation *simulation) {
    for (uint32_t r = 0; r < simulation->job->n_ranks; r++) {
        simulation->running = r;
        start_nodes(simulation, r, 0, (struct replay_node){0, ROW_NONE});
        simulation->running = NOT_QUEUED;
        rank_wake(simulation, r);
    }
    while ((simulation->n_free || simulation->queue.n) && !simulation->is_cancelled) {
        if (simulation->n_free) {
            /* Run a rank until one of its nodes waits for its match. */
            uint32_t rank = simulation->free_ranks[--simulation->n_free];
            struct rank_state *state = &simulation->ranks[rank];
            simulation->running = rank;
            while (state->next.n && !state->n_held && !simulation->is_cancelled)
                end_next(simulation, rank);
            simulation->running = NOT_QUEUED;
            rank_wake(simulation, rank);
        } else {
            /* All ranks wait: process the earliest end. */
            const uint32_t rank = simulation->queue.ranks[0];
            queue_remove(simulation, 0);
            simulation->running = rank;
            end_next(simulation, rank);
            simulation->running = NOT_QUEUED;
            rank_wake(simulation, rank);
        }
    }
}

/* ---- Initialization ---- */

static bool simulation_begin(struct simulation *simulation, struct arena *arena) {
    const struct replay_job *job = simulation->job;
    simulation->ranks = arena_zeros(arena, job->n_ranks, sizeof *simulation->ranks);
    simulation->free_ranks = arena_alloc(arena, job->n_ranks, sizeof *simulation->free_ranks);
    simulation->queue.ranks = arena_alloc(arena, job->n_ranks, sizeof *simulation->queue.ranks);
    simulation->queue.index = arena_alloc(arena, job->n_ranks, sizeof *simulation->queue.index);
    if (arena->failed)
        return false;
    memset(simulation->queue.index, 0xff, job->n_ranks * sizeof *simulation->queue.index); /* NOT_QUEUED */
    for (uint32_t r = 0; r < job->n_ranks && !arena->failed; r++) {
        for (row_t i = 0; i < job->ranks[r].n; i++) {
            simulation->times[r].start_ns[i] = simulation->times[r].run_ns[i] = simulation->times[r].end_ns[i] =
                TIME_NEVER;
            simulation->times[r].cause[i] = (struct replay_node){0, ROW_NONE};
        }
        simulation->times[r].n_ran = 0;
        simulation->times[r].finish_ns = 0;
        simulation->ranks[r].lanes = arena_zeros(arena, job->ranks[r].n_resources, sizeof *simulation->ranks[r].lanes);
        simulation->ranks[r].touched =
            arena_alloc(arena, job->ranks[r].n_resources, sizeof *simulation->ranks[r].touched);
        simulation->ranks[r].starting =
            arena_alloc(arena, job->ranks[r].n_resources, sizeof *simulation->ranks[r].starting);
        simulation->ranks[r].events =
            arena_alloc(arena, job->ranks[r].n_resources, sizeof *simulation->ranks[r].events);
        simulation->ranks[r].next.rows =
            arena_alloc(arena, job->ranks[r].n_resources, sizeof *simulation->ranks[r].next.rows);
        simulation->ranks[r].n_waits = arena_alloc(arena, job->ranks[r].n, sizeof *simulation->ranks[r].n_waits);
        row_t *waiting = arena_alloc(arena, job->ranks[r].n, sizeof *waiting);
        if (arena->failed)
            continue;
        /* Assign each lane a slice of `waiting` for its nodes. */
        for (row_t i = 0; i < job->ranks[r].n; i++)
            simulation->ranks[r].lanes[job->ranks[r].resource[i]].waiting.n++;
        for (uint32_t l = 0; l < job->ranks[r].n_resources; l++) {
            row_t n = simulation->ranks[r].lanes[l].waiting.n;
            simulation->ranks[r].lanes[l].waiting = (struct row_heap){waiting, 0};
            waiting += n;
        }
        for (row_t i = 0; i < job->ranks[r].n; i++) {
            simulation->ranks[r].n_waits[i] = job->ranks[r].n_waits[i];
            if (simulation->ranks[r].n_waits[i] == 0)
                node_free(&simulation->ranks[r], &job->ranks[r], i);
        }
    }
    simulation->matched_collectives =
        arena_zeros(arena, job->n_matched_collectives, sizeof *simulation->matched_collectives);
    if (arena->failed)
        return false;
    for (uint32_t r = 0; r < job->n_ranks; r++)
        for (row_t i = 0; job->ranks[r].matched_collective && i < job->ranks[r].n; i++)
            if (job->ranks[r].matched_collective[i] != NO_MATCH)
                simulation->matched_collectives[job->ranks[r].matched_collective[i]].n_members++;
    for (uint32_t m = 0; m < job->n_matched_collectives; m++)
        simulation->matched_collectives[m].arrived = arena_alloc(arena, simulation->matched_collectives[m].n_members,
                                                                 sizeof *simulation->matched_collectives[m].arrived);
    return !arena->failed;
}

bool replay_times_alloc(struct replay_times *times, row_t n, struct arena *arena) {
    *times = (struct replay_times){
        .start_ns = arena_alloc(arena, n, sizeof *times->start_ns),
        .run_ns = arena_alloc(arena, n, sizeof *times->run_ns),
        .end_ns = arena_alloc(arena, n, sizeof *times->end_ns),
        .cause = arena_alloc(arena, n, sizeof *times->cause),
    };
    return !arena->failed;
}

enum sutra_status replay(const struct replay_job *job, struct replay_times *times, struct sutra_error *error) {
    struct arena arena = {0};
    struct simulation simulation = {.job = job, .times = times, .running = NOT_QUEUED};
    enum sutra_status status = simulation_begin(&simulation, &arena) ? SUTRA_OK : error_memory(error);
    if (!status)
        run_ranks(&simulation);
    if (simulation.is_cancelled)
        status = error_set(error, SUTRA_CANCELLED, "cancelled");
    arena_free(&arena);
    return status;
}
