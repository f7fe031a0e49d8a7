/*
 * replay.c - a discrete-event simulation: in comes what each rank does, out go the times at which it did it.
 *
 *     events    of a rank: the ends of the nodes that run, one for each resource that is taken, and a heap of them
 *     lanes     a resource: whether it is taken, and a heap of the free nodes that want it, lowest row first
 *     touched   the lanes of a rank in which something changed since its last nodes were started
 *
 * All lanes of a rank share one array of rows, since a node can only ever wait in its own lane.
 *
 * Ranks touch each other only where they meet. So a rank none of whose nodes waits in a meeting runs on by itself,
 * until one does; then others are run, up to the one that was missing. Where all ranks wait, the one whose next end
 * comes first goes on: nobody can let it go before. Thus what is at hand is that of one rank for long. What ends at the
 * same moment does so in the order of ranks, and on a rank in the order of starts; as these are numbered by each rank
 * for itself, what a meeting let go comes among them by who was the last one to come: (moment, that rank, its number).
 */
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "columns/rows.h"
#include "simulate/replay.h"

/*
 * From the last end backwards: what is behind a node ends later than the node itself.
 */

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

/* Who lets a node run, and when. */
struct replay_start {
    uint64_t time, number; /* of the starts of the rank */
    uint32_t rank;
};

struct event {
    uint64_t time;
    struct replay_start start;
    row_t row;
};

struct lane {
    struct row_heap waiting; /* free nodes, the lowest row first */
    bool taken, is_touched;
};

struct rank_state {
    struct lane *lanes;
    struct event *events; /* by resource */
    struct row_heap next; /* resources whose node runs */
    uint64_t n_started;
    uint32_t n_held; /* nodes that wait in meetings */
    uint32_t *touched;
    uint32_t n_touched;
    row_t *starting; /* nodes about to start, at most one for each lane */
    row_t *n_waits;  /* of each node: what it still waits for */
};

struct arrival {
    struct replay_node node;
    uint64_t number; /* of the starts of its rank */
};

struct meeting {
    struct arrival *arrived;
    uint32_t n_arrived, n_members;
};

/* Ranks all of which wait in meetings, the one whose next end comes first at the front: a heap that knows places. */
struct rank_queue {
    uint32_t *ranks, *place; /* place of each rank in `ranks`, or NOT_QUEUED */
    uint32_t n;
};

#define NOT_QUEUED UINT32_MAX

/* Ends of nodes between two looks whether the work is cancelled. */
#define LOOK_EVENTS 16384

struct simulation {
    const struct replay_job *job;
    struct replay_times *times;
    struct rank_state *ranks;
    struct meeting *meetings;
    uint32_t *free_ranks; /* with something that runs, and nothing that waits in a meeting */
    uint32_t n_free;
    struct rank_queue queue;
    uint32_t running; /* the rank at hand */
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

static void queue_put(struct rank_queue *queue, uint32_t rank, uint32_t place) {
    queue->ranks[place] = rank;
    queue->place[rank] = place;
}

/* The rank goes forward from its place, or a free place, as far as it comes before others. */
static void queue_raise(struct simulation *simulation, uint32_t rank, uint32_t place) {
    struct rank_queue *queue = &simulation->queue;
    for (; place && rank_is_before(simulation, rank, queue->ranks[(place - 1) / 2]); place = (place - 1) / 2)
        queue_put(queue, queue->ranks[(place - 1) / 2], place);
    queue_put(queue, rank, place);
}

/* Takes the rank at a place out. */
static void queue_take(struct simulation *simulation, uint32_t place) {
    struct rank_queue *queue = &simulation->queue;
    const uint32_t last = queue->ranks[--queue->n];
    queue->place[queue->ranks[place]] = NOT_QUEUED;
    if (place == queue->n)
        return;
    for (uint64_t child; (child = 2 * (uint64_t)place + 1) < queue->n; place = (uint32_t)child) {
        child += child + 1 < queue->n && rank_is_before(simulation, queue->ranks[child + 1], queue->ranks[child]);
        if (!rank_is_before(simulation, queue->ranks[child], last))
            break;
        queue_put(queue, queue->ranks[child], place);
    }
    queue_raise(simulation, last, place);
}

/* A rank can go on, or has something earlier to do: puts it where it belongs, unless it is at hand. */
static void rank_wake(struct simulation *simulation, uint32_t rank) {
    const struct rank_state *state = &simulation->ranks[rank];
    uint32_t place = simulation->queue.place[rank];
    if (rank == simulation->running || state->next.n == 0)
        return;
    if (state->n_held) {
        queue_raise(simulation, rank, place == NOT_QUEUED ? simulation->queue.n++ : place);
        return;
    }
    if (place != NOT_QUEUED)
        queue_take(simulation, place);
    simulation->free_ranks[simulation->n_free++] = rank;
}

/* ---- Lanes ---- */

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

/* Takes the first node of each touched lane that is idle; their rows go to starting[], rising. */
static uint32_t lanes_take_next(struct rank_state *rank) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < rank->n_touched; i++) {
        struct lane *lane = &rank->lanes[rank->touched[i]];
        lane->is_touched = false;
        if (lane->taken || lane->waiting.n == 0)
            continue;
        lane->taken = true;
        rank->starting[n++] = row_heap_pop(&lane->waiting, row_is_lower, NULL);
    }
    rank->n_touched = 0;
    rows_sort(rank->starting, n);
    return n;
}

/* ---- Nodes ---- */

/* The node runs from a moment on. */
static void node_run(struct simulation *simulation, struct replay_node node, struct replay_start start,
                     struct replay_node cause) {
    const struct replay_graph *graph = &simulation->job->ranks[node.rank];
    struct replay_times *times = &simulation->times[node.rank];
    struct rank_state *rank = &simulation->ranks[node.rank];
    const uint64_t dur = graph->dur_ns[node.row];
    const row_t event = graph->resource[node.row];
    times->run_ns[node.row] = start.time;
    times->cause[node.row] = cause;
    rank->events[event] = (struct event){start.time + (dur ? dur : 1), start, node.row};
    row_heap_push(&rank->next, event, is_before, rank->events);
}

static struct replay_start start_of(const struct simulation *simulation, const struct arrival *arrival) {
    const struct replay_node node = arrival->node;
    return (struct replay_start){simulation->times[node.rank].start_ns[node.row], arrival->number, node.rank};
}

/* The one that came last, of those at one moment that of the highest rank. */
static const struct arrival *last_arrival(const struct simulation *simulation, const struct meeting *meeting) {
    const struct arrival *last = &meeting->arrived[0];
    struct replay_start latest = start_of(simulation, last);
    for (uint32_t i = 1; i < meeting->n_arrived; i++) {
        const struct replay_start start = start_of(simulation, &meeting->arrived[i]);
        bool later = start.time != latest.time   ? start.time > latest.time
                     : start.rank != latest.rank ? start.rank > latest.rank
                                                 : start.number > latest.number;
        if (!later)
            continue;
        last = &meeting->arrived[i];
        latest = start;
    }
    return last;
}

/* The node takes part in its meeting; all run once the last one is there. */
static void node_meet(struct simulation *simulation, struct meeting *meeting, struct replay_node node, uint64_t number,
                      struct replay_node cause) {
    meeting->arrived[meeting->n_arrived++] = (struct arrival){node, number};
    simulation->times[node.rank].cause[node.row] = cause;
    simulation->ranks[node.rank].n_held++;
    if (meeting->n_arrived < meeting->n_members)
        return;
    const struct arrival *last = last_arrival(simulation, meeting);
    const struct replay_start start = start_of(simulation, last);
    for (uint32_t i = 0; i < meeting->n_arrived; i++) {
        const struct replay_node member = meeting->arrived[i].node;
        const bool is_last = &meeting->arrived[i] == last;
        node_run(simulation, member, start, is_last ? simulation->times[member.rank].cause[member.row] : last->node);
        simulation->ranks[member.rank].n_held--;
        rank_wake(simulation, member.rank);
    }
}

/* Starts all nodes of the rank that can start now. */
static void start_nodes(struct simulation *simulation, uint32_t rank, uint64_t now, struct replay_node cause) {
    const struct replay_graph *graph = &simulation->job->ranks[rank];
    struct rank_state *state = &simulation->ranks[rank];
    uint32_t n = lanes_take_next(state);
    for (uint32_t i = 0; i < n; i++) {
        struct replay_node node = {rank, state->starting[i]};
        uint32_t meeting = graph->meeting ? graph->meeting[node.row] : NO_MEETING;
        const uint64_t number = state->n_started++;
        simulation->times[rank].start_ns[node.row] = now;
        if (meeting == NO_MEETING)
            node_run(simulation, node, (struct replay_start){now, number, rank}, cause);
        else
            node_meet(simulation, &simulation->meetings[meeting], node, number, cause);
    }
}

/* The rank's next node ends: its resource is idle, and what waited for it may be free. */
static void end_next(struct simulation *simulation, uint32_t rank) {
    const struct replay_graph *graph = &simulation->job->ranks[rank];
    struct rank_state *state = &simulation->ranks[rank];
    struct replay_times *times = &simulation->times[rank];
    const struct event event = state->events[row_heap_pop(&state->next, is_before, state->events)];

    if (++simulation->n_ended % LOOK_EVENTS == 0)
        simulation->is_cancelled = pool_is_cancelled(simulation->job->pool);
    times->end_ns[event.row] = event.time;
    times->finish_ns = event.time;
    times->n_ran++;
    state->lanes[graph->resource[event.row]].taken = false;
    lane_touch(state, graph->resource[event.row]);
    for (uint64_t i = graph->first_waiter[event.row]; i < graph->first_waiter[event.row + 1]; i++)
        if (--state->n_waits[graph->waiters[i]] == 0)
            node_free(state, graph, graph->waiters[i]);
    start_nodes(simulation, rank, event.time, (struct replay_node){rank, event.row});
}

/* ---- Ranks ---- */

/* Runs a rank until a node of it waits in a meeting. */
static void run_free(struct simulation *simulation, uint32_t rank) {
    struct rank_state *state = &simulation->ranks[rank];
    simulation->running = rank;
    while (state->next.n && !state->n_held && !simulation->is_cancelled)
        end_next(simulation, rank);
    simulation->running = NOT_QUEUED;
    rank_wake(simulation, rank);
}

/* All that run have a node that waits in a meeting: an end of the one that comes first. */
static void run_first(struct simulation *simulation) {
    const uint32_t rank = simulation->queue.ranks[0];
    queue_take(simulation, 0);
    simulation->running = rank;
    end_next(simulation, rank);
    simulation->running = NOT_QUEUED;
    rank_wake(simulation, rank);
}

static void run_all(struct simulation *simulation) {
    for (uint32_t r = 0; r < simulation->job->n_ranks; r++) {
        simulation->running = r;
        start_nodes(simulation, r, 0, (struct replay_node){0, ROW_NONE});
        simulation->running = NOT_QUEUED;
        rank_wake(simulation, r);
    }
    while ((simulation->n_free || simulation->queue.n) && !simulation->is_cancelled) {
        if (simulation->n_free)
            run_free(simulation, simulation->free_ranks[--simulation->n_free]);
        else
            run_first(simulation);
    }
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
    rank->starting = arena_take(arena, graph->n_resources, sizeof *rank->starting);
    rank->events = arena_take(arena, graph->n_resources, sizeof *rank->events);
    rank->next.rows = arena_take(arena, graph->n_resources, sizeof *rank->next.rows);
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
    simulation->ranks = arena_zeros(arena, job->n_ranks, sizeof *simulation->ranks);
    simulation->free_ranks = arena_take(arena, job->n_ranks, sizeof *simulation->free_ranks);
    simulation->queue.ranks = arena_take(arena, job->n_ranks, sizeof *simulation->queue.ranks);
    simulation->queue.place = arena_take(arena, job->n_ranks, sizeof *simulation->queue.place);
    if (arena->failed)
        return false;
    memset(simulation->queue.place, 0xff, job->n_ranks * sizeof *simulation->queue.place); /* NOT_QUEUED */
    for (uint32_t r = 0; r < job->n_ranks && !arena->failed; r++) {
        times_reset(&simulation->times[r], job->ranks[r].n);
        rank_begin(&simulation->ranks[r], &job->ranks[r], arena);
    }
    meetings_begin(simulation, arena);
    return !arena->failed;
}

enum sutra_status replay(const struct replay_job *job, struct replay_times *times, struct sutra_error *error) {
    struct arena arena = {0};
    struct simulation simulation = {.job = job, .times = times, .running = NOT_QUEUED};
    enum sutra_status status = simulation_begin(&simulation, &arena) ? SUTRA_OK : error_memory(error);
    if (!status)
        run_all(&simulation);
    if (simulation.is_cancelled)
        status = error_set(error, SUTRA_CANCELLED, "cancelled");
    arena_free(&arena);
    return status;
}
