/*
 * simulation.c - sutra_simulate(): from the files of a job to the times of its nodes.
 *
 *     .et files --et_ranks--> graphs --changes--> durations --replay--> times --> path, sums by name
 */
#include "simulate/simulation.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "simulate/changes.h"

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

struct replay_times *simulation_times_take(const struct sutra_simulation *simulation, struct arena *arena) {
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

uint64_t simulation_end_ns(const struct replay_times *times, uint32_t n) {
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
