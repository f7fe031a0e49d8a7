/*
 * simulation.c - sutra_simulate(): from the files of a job to the times of its nodes.
 *
 *     .et files --et_ranks--> graphs --changes--> durations --replay--> times --> path, sums by name
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "base/shared.h"
#include "columns/hash_tables.h"
#include "simulate/simulation.h"
#include "simulate/what_if.h"

/*
 * Who waited for whom, and each meeting of a job; in come the times of all nodes.
 *
 * Members of a meeting that came before the last one were let go by it: it is the cause of their run.
 */

/* ---- Waits ---- */

/* The longest first; then by ranks. */
ORDER_BY(compare_waits, struct simulation_wait, DESCENDING(ns) ASCENDING(rank) ASCENDING(awaited))

static bool add_wait(struct sutra_simulation *simulation, struct pair_table *known, uint64_t *capacity, uint32_t rank,
                     uint32_t awaited, uint64_t ns) {
    struct pair_entry *entry = pair_table_take(known, rank, awaited);
    if (!entry ||
        !arena_grow(&simulation->arena, &simulation->waits, simulation->n_waits, capacity, sizeof *simulation->waits))
        return false;
    if (entry->number == PAIR_NONE) {
        entry->number = (uint32_t)simulation->n_waits;
        simulation->waits[simulation->n_waits++] = (struct simulation_wait){.rank = rank, .awaited = awaited};
    }
    simulation->waits[entry->number].n++;
    simulation->waits[entry->number].ns += ns;
    return true;
}

static bool add_waits(struct sutra_simulation *simulation, struct pair_table *known) {
    uint64_t capacity = 0;
    bool done = true;
    for (uint32_t r = 0; r < simulation->n; r++) {
        const struct rank_graph *graph = &simulation->graphs[r];
        const struct replay_times *times = &simulation->times[r];
        for (row_t c = 0; c < graph->n_contacts && graph->meeting && done; c++) {
            const row_t i = graph->contacts[c].node;
            if (graph->meeting[i] != NO_MEETING && times->run_ns[i] != TIME_NEVER &&
                times->run_ns[i] > times->start_ns[i])
                done = add_wait(simulation, known, &capacity, r, times->cause[i].rank,
                                times->run_ns[i] - times->start_ns[i]);
        }
    }
    return done;
}

static bool find_waits(struct sutra_simulation *simulation) {
    struct pair_table known;
    bool done = pair_table_init(&known) && add_waits(simulation, &known);
    pair_table_free(&known);
    if (done && simulation->n_waits)
        qsort(simulation->waits, simulation->n_waits, sizeof *simulation->waits, compare_waits);
    return done;
}

uint64_t sutra_simulation_n_waits(const struct sutra_simulation *simulation) {
    return simulation->n_waits;
}

void sutra_simulation_wait(const struct sutra_simulation *simulation, uint64_t i, struct sutra_simulated_wait *wait) {
    const struct simulation_wait *found = &simulation->waits[i];
    const struct sutra_simulated_wait made = {.rank = simulation->ranks[found->rank],
                                              .awaited = simulation->ranks[found->awaited],
                                              .n = found->n,
                                              .ns = found->ns};
    report_give(wait, &made, sizeof made);
}

/* ---- Meetings ---- */

/* Adds what became of a member. */
static void add_member(struct simulation_meeting *meeting, const struct replay_times *times, struct replay_node node) {
    const uint64_t start_ns = times->start_ns[node.row];
    if (meeting->n == 0) {
        meeting->first = meeting->last = node;
        meeting->start_ns = meeting->last_ns = start_ns;
        meeting->run_ns = times->run_ns[node.row];
    }
    meeting->n++;
    meeting->wait_ns += times->run_ns[node.row] - start_ns;
    meeting->start_ns = start_ns < meeting->start_ns ? start_ns : meeting->start_ns;
    meeting->end_ns = times->end_ns[node.row] > meeting->end_ns ? times->end_ns[node.row] : meeting->end_ns;
    if (start_ns > meeting->last_ns) {
        meeting->last_ns = start_ns;
        meeting->last = node;
    }
}

ORDER_BY(compare_meetings, struct simulation_meeting, ASCENDING(end_ns) ASCENDING(number))

static bool find_meetings(struct sutra_simulation *simulation) {
    struct simulation_meeting *meetings = arena_zeros(&simulation->arena, simulation->n_meetings, sizeof *meetings);
    if (!meetings)
        return false;
    for (uint32_t r = 0; r < simulation->n; r++) {
        const struct rank_graph *graph = &simulation->graphs[r];
        for (row_t c = 0; c < graph->n_contacts && graph->meeting; c++) {
            const row_t i = graph->contacts[c].node;
            if (graph->meeting[i] != NO_MEETING && simulation->times[r].end_ns[i] != TIME_NEVER)
                add_member(&meetings[graph->meeting[i]], &simulation->times[r], (struct replay_node){r, i});
        }
    }
    for (uint32_t m = 0; m < simulation->n_meetings; m++) {
        meetings[m].number = m;
        if (meetings[m].n)
            meetings[simulation->n_met++] = meetings[m];
    }
    if (simulation->n_met)
        qsort(meetings, simulation->n_met, sizeof *meetings, compare_meetings);
    simulation->met = meetings;
    return true;
}

uint64_t sutra_simulation_n_collectives(const struct sutra_simulation *simulation) {
    return simulation->n_met;
}

/* The transfer of a node, or NULL. O(log n). */
static const struct transfer *transfer_of(const struct rank_graph *graph, row_t node) {
    struct bisection at = {0, graph->n_transfers};
    while (at.low < at.high)
        bisect(&at, graph->transfers[bisect_middle(at)].node < node);
    return at.low < graph->n_transfers && graph->transfers[at.low].node == node ? &graph->transfers[at.low] : NULL;
}

void sutra_simulation_collective(const struct sutra_simulation *simulation, uint64_t i,
                                 struct sutra_simulated_collective *meeting) {
    const struct simulation_meeting *found = &simulation->met[i];
    const struct rank_graph *graph = &simulation->graphs[found->first.rank];
    const struct transfer *transfer = transfer_of(graph, found->first.row);
    const struct sutra_simulated_collective made = {
        .name = strings_text(simulation->names, graph->name[found->first.row]),
        .kind = transfer ? collective_kind_names[transfer->kind] : "",
        .n_ranks = found->n,
        .n_told = transfer ? transfer->n_ranks : 0,
        .bytes = transfer ? transfer->bytes : 0,
        .last = simulation->ranks[found->last.rank],
        .start_ns = found->start_ns,
        .run_ns = found->run_ns,
        .end_ns = found->end_ns,
        .wait_ns = found->wait_ns,
    };
    report_give(meeting, &made, sizeof made);
}

/* Finds who waited for whom, and lists meetings. */
static enum sutra_status simulation_meetings_find(struct sutra_simulation *simulation, struct sutra_error *error) {
    return find_waits(simulation) && find_meetings(simulation) ? SUTRA_OK : error_memory(error);
}

/* ---- The network ---- */

uint64_t sutra_simulation_n_links(const struct sutra_simulation *simulation) {
    return simulation->job->network.n;
}

void sutra_simulation_link(const struct sutra_simulation *simulation, uint64_t i, struct sutra_network_link *link) {
    const struct network_link *found = &simulation->job->network.links[i];
    const struct sutra_network_link made = {
        .kind = collective_kind_names[found->kind],
        .n_ranks = found->n_ranks,
        .n_transfers = found->n,
        .alpha_us = found->alpha_ns / 1e3,
        .bytes_per_s = network_link_share(found) * 1e9 / found->ns_per_byte,
        .residual_us = found->residual_ns / 1e3,
        .is_fitted = found->is_fitted,
    };
    report_give(link, &made, sizeof made);
}

static enum sutra_status simulation_names_sum(struct sutra_simulation *simulation, struct sutra_error *error);
static enum sutra_status simulation_path_find(struct sutra_simulation *simulation, struct sutra_error *error);

/* ---- Durations ---- */

static double **take_run_times(const struct sutra_simulation *simulation, struct arena *arena) {
    double **run_ns = arena_take(arena, simulation->n, sizeof *run_ns);
    for (uint32_t r = 0; r < simulation->n && !arena->failed; r++) {
        const struct rank_graph *graph = &simulation->graphs[r];
        run_ns[r] = arena_take(arena, graph->n, sizeof **run_ns);
        for (row_t i = 0; i < graph->n && !arena->failed; i++)
            run_ns[r][i] = (double)graph->run_ns[i];
    }
    return arena->failed ? NULL : run_ns;
}

static bool take_durations(struct sutra_simulation *simulation) {
    struct arena *arena = &simulation->arena;
    simulation->run_ns = arena_take(arena, simulation->n, sizeof *simulation->run_ns);
    simulation->wait_ns = arena_take(arena, simulation->n, sizeof *simulation->wait_ns);
    for (uint32_t r = 0; r < simulation->n && !arena->failed; r++) {
        simulation->run_ns[r] = arena_take(arena, simulation->graphs[r].n, sizeof **simulation->run_ns);
        simulation->wait_ns[r] = arena_take(arena, simulation->graphs[r].n, sizeof **simulation->wait_ns);
    }
    return !arena->failed;
}

/* Communication of files that do not tell meetings: all of it gets faster with the network. */
static void scale_untold(const struct sutra_simulation *simulation, double times, double *const *run_ns) {
    for (uint32_t r = 0; r < simulation->n; r++)
        for (row_t i = 0; i < simulation->graphs[r].n; i++)
            if (simulation->graphs[r].work[i] == WORK_COMMUNICATION && !simulation->graphs[r].is_shared[i])
                run_ns[r][i] /= times;
}

/* Another network, and ranks without stragglers. */
static enum sutra_status change_job(const struct sutra_simulation *simulation,
                                    const struct sutra_simulate_options *options, double *const *run_ns,
                                    struct sutra_error *error) {
    struct told_network told;
    double times = options->bandwidth != 0 ? options->bandwidth : 1;
    enum sutra_status status = options->network ? network_read(&told, options->network, error) : SUTRA_OK;
    if (!status && !(times > 0 && times <= 1e9))
        status = error_set(error, SUTRA_USAGE, "the bandwidth factor must be above 0 and at most 1e9");
    if (status)
        return status;
    if (times != 1)
        scale_untold(simulation, times, run_ns);
    if (times != 1 || options->network)
        network_apply(&simulation->job->network, options->network ? &told : NULL, times, simulation->graphs,
                      simulation->n, run_ns);
    if (options->no_straggler)
        slowness_even(simulation->graphs, simulation->n, simulation->job->slowness, run_ns);
    return SUTRA_OK;
}

/* What nodes take: execution with the changes, rounded to whole microseconds with the latency, as a file would have
 * it. */
static enum sutra_status set_durations(struct sutra_simulation *simulation,
                                       const struct sutra_simulate_options *options, struct sutra_error *error) {
    struct arena scratch = {0};
    const struct change_target target = {simulation->graphs, simulation->ranks, simulation->n, simulation->names};
    double **run_ns = take_run_times(simulation, &scratch);
    enum sutra_status status = run_ns && take_durations(simulation) ? SUTRA_OK : error_memory(error);
    if (!status)
        status = changes_apply(&target, options->scales, options->n_scales, run_ns, &scratch, error);
    if (!status)
        status = change_job(simulation, options, run_ns, error);
    for (uint32_t r = 0; r < simulation->n && !status; r++)
        for (row_t i = 0; i < simulation->graphs[r].n; i++) {
            const struct rank_graph *graph = &simulation->graphs[r];
            uint64_t latency = options->no_launch_latency ? 0 : graph->dur_ns[i] - graph->run_ns[i];
            double run = run_ns[r][i] < 4e18 ? run_ns[r][i] : 4e18;
            simulation->wait_ns[r][i] = latency;
            simulation->run_ns[r][i] = (uint64_t)run;
        }
    arena_free(&scratch);
    return status;
}

/* ---- Graphs ---- */

static enum sutra_status share_graphs(struct sutra_simulation *simulation, const struct sutra_simulate_options *options,
                                      struct sutra_error *error) {
    const struct rank_resources resources = {options->cpu_threads, options->gpu_streams};
    enum sutra_status status = SUTRA_OK;
    for (uint32_t r = 0; r < simulation->n && !status; r++) {
        struct rank_graph *graph = &simulation->graphs[r];
        *graph = simulation->job->graphs[r];
        if (options->alone)
            graph->meeting = NULL;
        status = rank_graph_share(graph, resources, &simulation->arena, error);
    }
    return status;
}

static enum sutra_status make_runs(struct sutra_simulation *simulation, struct sutra_error *error) {
    for (uint32_t r = 0; r < simulation->n; r++) {
        const struct rank_graph *graph = &simulation->graphs[r];
        uint64_t *dur_ns = arena_take(&simulation->arena, graph->n, sizeof *dur_ns);
        if (simulation->arena.failed)
            return error_memory(error);
        for (row_t i = 0; i < graph->n; i++)
            dur_ns[i] = (simulation->run_ns[r][i] + simulation->wait_ns[r][i] + 500) / 1000 * 1000;
        simulation->runs[r] = (struct replay_graph){.n = graph->n,
                                                    .dur_ns = dur_ns,
                                                    .resource = graph->resource,
                                                    .n_resources = graph->n_resources,
                                                    .n_waits = graph->n_waits,
                                                    .first_waiter = graph->first_waiter,
                                                    .waiters = graph->waiters,
                                                    .meeting = graph->meeting};
    }
    return SUTRA_OK;
}

/* Columns for the times of all ranks. NULL: out of memory. */
static struct replay_times *simulation_times_take(const struct sutra_simulation *simulation, struct arena *arena) {
    struct replay_times *times = arena_take(arena, simulation->n, sizeof *times);
    for (uint32_t r = 0; r < simulation->n && !arena->failed; r++) {
        const row_t n = simulation->graphs[r].n;
        times[r] = (struct replay_times){
            .start_ns = arena_take(arena, n, sizeof(uint64_t)),
            .run_ns = arena_take(arena, n, sizeof(uint64_t)),
            .end_ns = arena_take(arena, n, sizeof(uint64_t)),
            .cause = arena_take(arena, n, sizeof(struct replay_node)),
        };
    }
    return arena->failed ? NULL : times;
}

/* When the last node of all ranks ended. */
static uint64_t simulation_end_ns(const struct replay_times *times, uint32_t n) {
    uint64_t end = 0;
    for (uint32_t r = 0; r < n; r++)
        end = times[r].finish_ns > end ? times[r].finish_ns : end;
    return end;
}

/* ---- All of it ---- */

static enum sutra_status begin(struct sutra_simulation *simulation, const struct sutra_et_ranks *job, bool alone,
                               struct sutra_error *error) {
    simulation->job = job;
    simulation->n = job->n;
    simulation->ranks = job->ranks;
    simulation->names = &job->names;
    simulation->n_meetings = alone ? 0 : job->n_meetings;
    simulation->graphs = arena_zeros(&simulation->arena, job->n, sizeof *simulation->graphs);
    simulation->runs = arena_zeros(&simulation->arena, job->n, sizeof *simulation->runs);
    return arena_status(&simulation->arena, error);
}

static enum sutra_status simulate(struct sutra_simulation *simulation, const struct pool *pool,
                                  const struct sutra_simulate_options *options, struct sutra_error *error) {
    enum sutra_status status = share_graphs(simulation, options, error);
    if (!status)
        status = set_durations(simulation, options, error);
    if (!status)
        status = make_runs(simulation, error);
    if (status)
        return status;
    simulation->times = simulation_times_take(simulation, &simulation->arena);
    if (!simulation->times)
        return error_memory(error);
    const struct replay_job job = {simulation->n, simulation->runs, simulation->n_meetings, pool};
    status = replay(&job, simulation->times, error);
    for (uint32_t r = 0; r < simulation->n && !status; r++)
        simulation->n_stuck += simulation->graphs[r].n - simulation->times[r].n_ran;
    if (!status && simulation->n_stuck)
        status = simulation_find_stuck(simulation, error);
    if (!status)
        status = simulation_meetings_find(simulation, error);
    if (!status)
        status = simulation_path_find(simulation, error);
    return status ? status : simulation_names_sum(simulation, error);
}

enum sutra_status sutra_simulate_ranks(struct sutra_context *context, const struct sutra_et_ranks *ranks,
                                       const struct sutra_simulate_options *options,
                                       struct sutra_simulation **simulation, struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_simulate_options, no_launch_latency);
    struct sutra_simulate_options taken;
    enum sutra_status status = options_take(&form, options, &taken, error);
    if (status)
        return status;
    struct sutra_simulation *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(error);
    stage_begin(context, "simulate", 0);
    status = begin(made, ranks, taken.alone, error);
    if (!status)
        status = simulate(made, context->pool, &taken, error);
    stage_end(context);
    if (status)
        sutra_simulation_free(made);
    else
        *simulation = made;
    return status;
}

enum sutra_status sutra_simulate(struct sutra_context *context, const struct sutra_et *const *ets,
                                 const uint64_t *ranks, uint32_t n, const struct sutra_simulate_options *options,
                                 struct sutra_simulation **simulation, struct sutra_error *error) {
    struct sutra_et_ranks *own = NULL;
    struct sutra_simulation *made = NULL;
    enum sutra_status status = et_ranks_of(context, ets, ranks, n, &own, error);
    if (!status)
        status = sutra_simulate_ranks(context, own, options, &made, error);
    if (status) {
        sutra_et_ranks_free(own);
        return status;
    }
    made->own = own;
    *simulation = made;
    return SUTRA_OK;
}

void sutra_simulation_free(struct sutra_simulation *simulation) {
    if (!simulation)
        return;
    sutra_et_ranks_free(simulation->own);
    arena_free(&simulation->arena);
    free(simulation);
}

/* ---- Results ---- */

uint64_t sutra_simulation_time_ns(const struct sutra_simulation *simulation) {
    return simulation_end_ns(simulation->times, simulation->n);
}

uint32_t sutra_simulation_ranks(const struct sutra_simulation *simulation) {
    return simulation->n;
}

/* Adds a node's times to its rank's. */
static void add_node(const struct sutra_simulation *simulation, uint32_t r, row_t i,
                     struct sutra_simulated_rank *rank) {
    const struct replay_times *times = &simulation->times[r];
    if (times->end_ns[i] == TIME_NEVER)
        return;
    uint64_t *const sums[WORK_KINDS] = {&rank->cpu_ns, &rank->compute_ns, &rank->comm_ns};
    *sums[simulation->graphs[r].work[i]] += times->end_ns[i] - times->run_ns[i];
    rank->wait_ns += times->run_ns[i] - times->start_ns[i];
}

void sutra_simulation_rank(const struct sutra_simulation *simulation, uint32_t i, struct sutra_simulated_rank *rank) {
    const struct rank_graph *graph = &simulation->graphs[i];
    struct sutra_simulated_rank made = {.rank = simulation->ranks[i],
                                        .n_nodes = graph->n,
                                        .n_ran = simulation->times[i].n_ran,
                                        .time_ns = simulation->times[i].finish_ns,
                                        .n_absent = graph->n_absent,
                                        .cpu_slowness = simulation->job->slowness[i].cpu,
                                        .gpu_slowness = simulation->job->slowness[i].gpu};
    for (row_t row = 0; row < graph->n; row++)
        add_node(simulation, i, row, &made);
    for (row_t c = 0; c < graph->n_contacts && graph->meeting; c++)
        made.n_meetings += graph->meeting[graph->contacts[c].node] != NO_MEETING;
    report_give(rank, &made, sizeof made);
}

uint64_t sutra_simulation_n_deadlocked(const struct sutra_simulation *simulation) {
    return simulation->n_stuck;
}

/*
 * What the simulated time consists of: the critical path, sums by name, and what a name is worth;
 * in come the times of all nodes.
 *
 *     the path goes back from the node that ended last: each node to the one whose end let it run
 *
 *     rank 0   [ a ][ b          ]                      a <- b <- d <- e     d met c, which waited for it
 *     rank 1        [ c (waits) ...  | c ]
 *     rank 2                   [ d   | d ][ e ]
 */

/* ---- The path ---- */

static struct replay_node cause_of(const struct sutra_simulation *simulation, struct replay_node node) {
    return simulation->times[node.rank].cause[node.row];
}

/* The node before this one on the path. Where members of a meeting waited, the last one to come does not precede
 * them but runs beside them; what it waited for does. */
static struct replay_node step_back(const struct sutra_simulation *simulation, struct replay_node node) {
    uint64_t began = simulation->times[node.rank].run_ns[node.row];
    struct replay_node before = cause_of(simulation, node);
    while (before.row != ROW_NONE && simulation->times[before.rank].end_ns[before.row] > began)
        before = cause_of(simulation, before);
    return before;
}

/* The node that ended last, of several that of the first rank; its row is ROW_NONE where nothing ran. */
static struct replay_node last_node(const struct sutra_simulation *simulation) {
    uint64_t end = simulation_end_ns(simulation->times, simulation->n);
    for (uint32_t r = 0; r < simulation->n; r++)
        for (row_t i = 0; simulation->times[r].finish_ns == end && i < simulation->graphs[r].n; i++)
            if (simulation->times[r].end_ns[i] == end)
                return (struct replay_node){r, i};
    return (struct replay_node){0, ROW_NONE};
}

/* Finds the critical path and sums times by name. */
static enum sutra_status simulation_path_find(struct sutra_simulation *simulation, struct sutra_error *error) {
    struct replay_node last = last_node(simulation);
    for (struct replay_node node = last; node.row != ROW_NONE; node = step_back(simulation, node))
        simulation->n_steps++;
    simulation->steps = arena_take(&simulation->arena, simulation->n_steps, sizeof *simulation->steps);
    if (simulation->arena.failed)
        return error_memory(error);
    uint64_t i = 0;
    for (struct replay_node node = last; node.row != ROW_NONE; node = step_back(simulation, node)) {
        const struct replay_times *times = &simulation->times[node.rank];
        simulation->steps[i++] = (struct path_step){node, times->run_ns[node.row], times->end_ns[node.row]};
    }
    return SUTRA_OK;
}

uint64_t sutra_simulation_n_steps(const struct sutra_simulation *simulation) {
    return simulation->n_steps;
}

void sutra_simulation_step(const struct sutra_simulation *simulation, uint64_t i, struct sutra_simulated_step *step) {
    const struct path_step *found = &simulation->steps[simulation->n_steps - 1 - i];
    const struct rank_graph *graph = &simulation->graphs[found->node.rank];
    const struct sutra_simulated_step made = {
        .rank = simulation->ranks[found->node.rank],
        .id = graph->id[found->node.row],
        .name = strings_text(simulation->names, graph->name[found->node.row]),
        .work = graph->work[found->node.row],
        .start_ns = found->start_ns,
        .end_ns = found->end_ns,
    };
    report_give(step, &made, sizeof made);
}

/* ---- Names ---- */

/* The longest first, of equal ones the one that came first. */
ORDER_BY(compare_names, struct simulation_name, DESCENDING(run_ns) ASCENDING(name))

static enum sutra_status simulation_names_sum(struct sutra_simulation *simulation, struct sutra_error *error) {
    struct simulation_name *names = arena_zeros(&simulation->arena, simulation->names->n, sizeof *names);
    if (!names)
        return error_memory(error);
    for (uint32_t r = 0; r < simulation->n; r++)
        for (row_t i = 0; i < simulation->graphs[r].n; i++) {
            struct simulation_name *name = &names[simulation->graphs[r].name[i]];
            if (name->n_nodes++ == 0)
                name->work = simulation->graphs[r].work[i];
            name->run_ns += simulation->run_ns[r][i];
            if (simulation->times[r].run_ns[i] != TIME_NEVER)
                name->wait_ns += simulation->times[r].run_ns[i] - simulation->times[r].start_ns[i];
        }
    for (uint64_t i = 0; i < simulation->n_steps; i++) {
        const struct path_step *step = &simulation->steps[i];
        names[simulation->graphs[step->node.rank].name[step->node.row]].path_ns += step->end_ns - step->start_ns;
    }
    for (uint32_t i = 0; i < simulation->names->n; i++) {
        names[i].name = i;
        names[i].free_ns = TIME_NEVER;
    }
    qsort(names, simulation->names->n, sizeof *names, compare_names);
    simulation->by_name = names;
    simulation->n_by_name = simulation->names->n;
    return SUTRA_OK;
}

uint64_t sutra_simulation_n_names(const struct sutra_simulation *simulation) {
    return simulation->n_by_name;
}

void sutra_simulation_name(const struct sutra_simulation *simulation, uint64_t i, struct sutra_simulated_name *name) {
    const struct simulation_name *found = &simulation->by_name[i];
    const struct sutra_simulated_name made = {
        .name = strings_text(simulation->names, found->name),
        .work = found->work,
        .n_nodes = found->n_nodes,
        .run_ns = found->run_ns,
        .path_ns = found->path_ns,
        .free_ns = found->free_ns,
        .wait_ns = found->wait_ns,
    };
    report_give(name, &made, sizeof made);
}

/* ---- What names are worth ---- */

struct worth_work {
    struct sutra_simulation *simulation;
    const struct pool *pool;
    atomic_bool failed; /* out of memory, or cancelled */
};

/* The job's graphs with the execution of one name's nodes left out; NULL: out of memory. */
static struct replay_graph *runs_without(const struct sutra_simulation *simulation, uint32_t name,
                                         struct arena *arena) {
    struct replay_graph *runs = arena_take(arena, simulation->n, sizeof *runs);
    for (uint32_t r = 0; r < simulation->n && !arena->failed; r++) {
        const struct rank_graph *graph = &simulation->graphs[r];
        uint64_t *dur_ns = arena_take(arena, graph->n, sizeof *dur_ns);
        if (!dur_ns)
            break;
        for (row_t i = 0; i < graph->n; i++)
            dur_ns[i] = graph->name[i] == name ? simulation->wait_ns[r][i] : simulation->runs[r].dur_ns[i];
        runs[r] = simulation->runs[r];
        runs[r].dur_ns = dur_ns;
    }
    return arena->failed ? NULL : runs;
}

static void find_worth(void *arg, size_t i) {
    struct worth_work *work = arg;
    struct sutra_simulation *simulation = work->simulation;
    struct arena arena = {0};
    struct replay_graph *runs = runs_without(simulation, simulation->by_name[i].name, &arena);
    struct replay_times *times = runs ? simulation_times_take(simulation, &arena) : NULL;
    const struct replay_job job = {simulation->n, runs, simulation->n_meetings, work->pool};
    if (times && !replay(&job, times, NULL))
        simulation->by_name[i].free_ns = simulation_end_ns(times, simulation->n);
    else
        atomic_store(&work->failed, true);
    arena_free(&arena);
}

enum sutra_status sutra_simulation_what_if(struct sutra_context *context, struct sutra_simulation *simulation,
                                           uint64_t n, struct sutra_error *error) {
    struct worth_work work = {.simulation = simulation, .pool = context->pool};
    uint64_t n_names = n < simulation->n_by_name ? n : simulation->n_by_name;
    stage_begin(context, "sensitivity", n_names);
    pool_run(context->pool, n_names, find_worth, &work);
    stage_end(context);
    return atomic_load(&work.failed) ? context_gave_up(context, error) : SUTRA_OK;
}
