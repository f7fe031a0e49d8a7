/*
 * simulation.c - sutra_simulate(): from the files of a job to the times of its nodes; implements simulation.h.
 */
#include <math.h>
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
 * ---- Waits between ranks, and matches ----
 *
 * Members of a match that arrived before the last one were released by it: it is the cause of their run.
 */

/* The longest first; then by ranks. */
ORDER_BY(compare_waits, struct simulation_wait, DESCENDING(ns) ASCENDING(rank) ASCENDING(awaited))

static bool find_waits(struct sutra_simulation *simulation) {
    struct pair_table known;
    uint64_t capacity = 0;
    bool done = pair_table_init(&known);
    for (uint32_t r = 0; r < simulation->n; r++) {
        const struct rank_graph *graph = &simulation->graphs[r];
        const struct replay_times *times = &simulation->times[r];
        for (row_t c = 0; c < graph->n_contacts && graph->matched_collective && done; c++) {
            const row_t i = graph->contacts[c].node;
            if (graph->matched_collective[i] == NO_MATCH || times->run_ns[i] == TIME_NEVER ||
                times->run_ns[i] <= times->start_ns[i])
                continue;
            const uint32_t awaited = times->cause[i].rank;
            struct pair_entry *entry = pair_table_insert(&known, r, awaited);
            done = entry && arena_grow(&simulation->arena, &simulation->waits, simulation->n_waits, &capacity,
                                       sizeof *simulation->waits);
            if (!done)
                break;
            if (entry->number == PAIR_NONE) {
                entry->number = (uint32_t)simulation->n_waits;
                simulation->waits[simulation->n_waits++] = (struct simulation_wait){.rank = r, .awaited = awaited};
            }
            simulation->waits[entry->number].n++;
            simulation->waits[entry->number].ns += times->run_ns[i] - times->start_ns[i];
        }
    }
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

ORDER_BY(compare_matches, struct simulation_match, ASCENDING(end_ns) ASCENDING(number))

static bool find_matches(struct sutra_simulation *simulation) {
    struct simulation_match *matches =
        arena_zeros(&simulation->arena, simulation->n_matched_collectives, sizeof *matches);
    if (!matches)
        return false;
    for (uint32_t r = 0; r < simulation->n; r++) {
        const struct rank_graph *graph = &simulation->graphs[r];
        const struct replay_times *times = &simulation->times[r];
        for (row_t c = 0; c < graph->n_contacts && graph->matched_collective; c++) {
            const row_t i = graph->contacts[c].node;
            if (graph->matched_collective[i] == NO_MATCH || times->end_ns[i] == TIME_NEVER)
                continue;
            struct simulation_match *match = &matches[graph->matched_collective[i]];
            const struct replay_node node = {r, i};
            const uint64_t start_ns = times->start_ns[i];
            if (match->n == 0) {
                match->first = match->last = node;
                match->start_ns = match->last_ns = start_ns;
                match->run_ns = times->run_ns[i];
            }
            match->n++;
            match->wait_ns += times->run_ns[i] - start_ns;
            match->start_ns = MIN(start_ns, match->start_ns);
            match->end_ns = MAX(times->end_ns[i], match->end_ns);
            if (start_ns > match->last_ns) {
                match->last_ns = start_ns;
                match->last = node;
            }
        }
    }
    for (uint32_t m = 0; m < simulation->n_matched_collectives; m++) {
        matches[m].number = m;
        if (matches[m].n)
            matches[simulation->n_met++] = matches[m];
    }
    qsort(matches, simulation->n_met, sizeof *matches, compare_matches);
    simulation->met = matches;
    return true;
}

uint64_t sutra_simulation_n_collectives(const struct sutra_simulation *simulation) {
    return simulation->n_met;
}

/* The transfer of a node, or NULL. O(log n). */
static const struct transfer *transfer_of(const struct rank_graph *graph, row_t node) {
    row_t i;
    BISECT(i, graph->n_transfers, graph->transfers[i].node < node);
    return i < graph->n_transfers && graph->transfers[i].node == node ? &graph->transfers[i] : NULL;
}

/* The communication of a node in files without matches, or NULL. O(log n). */
static const struct contact *contact_of(const struct rank_graph *graph, row_t node) {
    const row_t n = graph->role ? graph->n_contacts : 0;
    row_t i;
    BISECT(i, n, graph->contacts[i].node < node);
    return i < n && graph->contacts[i].node == node ? &graph->contacts[i] : NULL;
}

void sutra_simulation_collective(const struct sutra_simulation *simulation, uint64_t i,
                                 struct sutra_simulated_collective *matched_collective) {
    const struct simulation_match *found = &simulation->met[i];
    const struct rank_graph *graph = &simulation->graphs[found->first.rank];
    const struct transfer *transfer = transfer_of(graph, found->first.row);
    const struct contact *contact = contact_of(graph, found->first.row);
    const enum comm_kind kind = transfer ? transfer->kind : contact ? contact->kind : COMM_OTHER;
    const struct sutra_simulated_collective made = {
        .name = strings_text(simulation->names, graph->name[found->first.row]),
        .kind = kind != COMM_OTHER || transfer ? collective_kind_names[kind] : "",
        .n_ranks = found->n,
        .n_told = transfer ? transfer->n_ranks : 0,
        .bytes = transfer  ? transfer->bytes
                 : contact ? contact->bytes
                           : 0,
        .last = simulation->ranks[found->last.rank],
        .start_ns = found->start_ns,
        .run_ns = found->run_ns,
        .end_ns = found->end_ns,
        .wait_ns = found->wait_ns,
    };
    report_give(matched_collective, &made, sizeof made);
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

/* ---- Results ---- */

/* Allocates the times of all ranks. NULL: out of memory. */
static struct replay_times *alloc_times(const struct sutra_simulation *simulation, struct arena *arena) {
    struct replay_times *times = arena_alloc(arena, simulation->n, sizeof *times);
    for (uint32_t r = 0; r < simulation->n && !arena->failed; r++)
        replay_times_alloc(&times[r], simulation->graphs[r].n, arena);
    return arena->failed ? NULL : times;
}

/* The end of the last node of all ranks. */
static uint64_t simulation_end_ns(const struct replay_times *times, uint32_t n) {
    uint64_t end = 0;
    for (uint32_t r = 0; r < n; r++)
        end = MAX(times[r].finish_ns, end);
    return end;
}

uint64_t sutra_simulation_time_ns(const struct sutra_simulation *simulation) {
    return simulation_end_ns(simulation->times, simulation->n);
}

uint32_t sutra_simulation_ranks(const struct sutra_simulation *simulation) {
    return simulation->n;
}

void sutra_simulation_rank(const struct sutra_simulation *simulation, uint32_t i, struct sutra_simulated_rank *rank) {
    const struct rank_graph *graph = &simulation->graphs[i];
    const struct replay_times *times = &simulation->times[i];
    struct sutra_simulated_rank made = {.rank = simulation->ranks[i],
                                        .n_nodes = graph->n,
                                        .n_ran = simulation->times[i].n_ran,
                                        .time_ns = simulation->times[i].finish_ns,
                                        .n_absent = graph->n_absent,
                                        .cpu_slowness = simulation->job->slowness[i].cpu,
                                        .gpu_slowness = simulation->job->slowness[i].gpu};
    for (row_t row = 0; row < graph->n; row++) {
        if (times->end_ns[row] == TIME_NEVER)
            continue;
        uint64_t *const sums[WORK_KINDS] = {&made.cpu_ns, &made.compute_ns, &made.comm_ns};
        *sums[graph->work[row]] += times->end_ns[row] - times->run_ns[row];
        made.wait_ns += times->run_ns[row] - times->start_ns[row];
    }
    for (row_t c = 0; c < graph->n_contacts && graph->matched_collective; c++)
        made.n_matched_collectives += graph->matched_collective[graph->contacts[c].node] != NO_MATCH;
    report_give(rank, &made, sizeof made);
}

uint64_t sutra_simulation_n_deadlocked(const struct sutra_simulation *simulation) {
    return simulation->n_stuck;
}

/*
 * ---- The critical path, sums by name, and the sensitivity to a name ----
 *
 *     the path goes back from the node that ended last: from each node to the node whose end released it
 *
 *     rank 0   [ a ][ b          ]                      a <- b <- d <- e     d matches c, which waited for it
 *     rank 1        [ c (waits) ...  | c ]
 *     rank 2                   [ d   | d ][ e ]
 */

/* The preceding node of the path. If members of a match waited, the last one to arrive does not precede them but runs
 * concurrently; its own cause precedes them. */
static struct replay_node step_back(const struct sutra_simulation *simulation, struct replay_node node) {
    uint64_t began = simulation->times[node.rank].run_ns[node.row];
    struct replay_node before = simulation->times[node.rank].cause[node.row];
    while (before.row != ROW_NONE && simulation->times[before.rank].end_ns[before.row] > began)
        before = simulation->times[before.rank].cause[before.row];
    return before;
}

/* The node that ended last, of several the one of the first rank; row ROW_NONE if no node ran. */
static struct replay_node last_node(const struct sutra_simulation *simulation) {
    uint64_t end = simulation_end_ns(simulation->times, simulation->n);
    for (uint32_t r = 0; r < simulation->n; r++)
        for (row_t i = 0; simulation->times[r].finish_ns == end && i < simulation->graphs[r].n; i++)
            if (simulation->times[r].end_ns[i] == end)
                return (struct replay_node){r, i};
    return (struct replay_node){0, ROW_NONE};
}

static enum sutra_status find_critical_path(struct sutra_simulation *simulation, struct sutra_error *error) {
    struct replay_node last = last_node(simulation);
    for (struct replay_node node = last; node.row != ROW_NONE; node = step_back(simulation, node))
        simulation->n_steps++;
    simulation->steps = arena_alloc(&simulation->arena, simulation->n_steps, sizeof *simulation->steps);
    TRY(arena_status(&simulation->arena, error));
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

/* The longest first, ties by first appearance. */
ORDER_BY(compare_names, struct simulation_name, DESCENDING(run_ns) ASCENDING(name))

static enum sutra_status sum_by_name(struct sutra_simulation *simulation, struct sutra_error *error) {
    struct simulation_name *names = arena_zeros(&simulation->arena, simulation->names->n, sizeof *names);
    TRY(arena_status(&simulation->arena, error));
    for (uint32_t r = 0; r < simulation->n; r++)
        for (row_t i = 0; i < simulation->graphs[r].n; i++) {
            struct simulation_name *name = &names[simulation->graphs[r].name[i]];
            if (name->n_nodes++ == 0)
                name->work = simulation->graphs[r].work[i];
            name->run_ns += i == simulation->graphs[r].start ? 0 : simulation->run_ns[r][i]; /* of other work */
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

struct sensitivity_task {
    struct sutra_simulation *simulation;
    const struct pool *pool;
    atomic_bool failed; /* out of memory, or cancelled */
};

/* The graphs of the job without the execution time of the nodes of one name; NULL: out of memory. */
static struct replay_graph *runs_without(const struct sutra_simulation *simulation, uint32_t name,
                                         struct arena *arena) {
    struct replay_graph *runs = arena_alloc(arena, simulation->n, sizeof *runs);
    for (uint32_t r = 0; r < simulation->n && !arena->failed; r++) {
        const struct rank_graph *graph = &simulation->graphs[r];
        uint64_t *dur_ns = arena_alloc(arena, graph->n, sizeof *dur_ns);
        if (!dur_ns)
            break;
        for (row_t i = 0; i < graph->n; i++)
            dur_ns[i] = graph->name[i] == name ? simulation->wait_ns[r][i] : simulation->runs[r].dur_ns[i];
        runs[r] = simulation->runs[r];
        runs[r].dur_ns = dur_ns;
    }
    return arena->failed ? NULL : runs;
}

static void simulate_without_name(void *arg, size_t i) {
    struct sensitivity_task *task = arg;
    struct sutra_simulation *simulation = task->simulation;
    struct arena arena = {0};
    struct replay_graph *runs = runs_without(simulation, simulation->by_name[i].name, &arena);
    struct replay_times *times = runs ? alloc_times(simulation, &arena) : NULL;
    const struct replay_job job = {simulation->n, runs, simulation->n_matched_collectives, task->pool};
    if (times && !replay(&job, times, NULL))
        simulation->by_name[i].free_ns = simulation_end_ns(times, simulation->n);
    else
        atomic_store(&task->failed, true);
    arena_free(&arena);
}

enum sutra_status sutra_simulation_what_if(struct sutra_context *context, struct sutra_simulation *simulation,
                                           uint64_t n, struct sutra_error *error) {
    struct sensitivity_task task = {.simulation = simulation, .pool = context->pool};
    uint64_t n_names = MIN(n, simulation->n_by_name);
    stage_begin(context, "sensitivity", n_names);
    pool_run(context->pool, n_names, simulate_without_name, &task);
    stage_end(context);
    return atomic_load(&task.failed) ? context_early_end_error(context, error) : SUTRA_OK;
}

/* ---- The nodes that a what-if changed ---- */

static bool has_other_duration(const struct sutra_simulation *a, const struct sutra_simulation *b, uint32_t r,
                               row_t i) {
    return a->runs[r].dur_ns[i] != b->runs[r].dur_ns[i];
}

bool sutra_simulation_change(const struct sutra_simulation *simulation, const struct sutra_simulation *before,
                             struct sutra_simulated_change *change) {
    struct sutra_simulated_change made = {0};
    if (simulation->n != before->n || simulation->job->sources != before->job->sources)
        return false;
    for (uint32_t r = 0; r < simulation->n; r++)
        if (simulation->graphs[r].n != before->graphs[r].n)
            return false;
    for (uint32_t r = 0; r < simulation->n; r++)
        for (row_t i = 0; i < simulation->graphs[r].n; i++)
            if (has_other_duration(simulation, before, r, i))
                made.n_nodes++;
            else
                made.n_rounded += simulation->run_ns[r][i] != before->run_ns[r][i] ||
                                  simulation->wait_ns[r][i] != before->wait_ns[r][i];
    for (uint64_t i = 0; i < before->n_steps; i++) {
        const struct path_step *step = &before->steps[i];
        if (has_other_duration(simulation, before, step->node.rank, step->node.row))
            made.path_ns += step->end_ns - step->start_ns;
    }
    report_give(change, &made, sizeof made);
    return true;
}

/* ---- Durations ---- */

static double bandwidth_factor(const struct sutra_simulate_options *options) {
    return options->bandwidth != 0 ? options->bandwidth : 1;
}

/* Whether communication takes its time from its size, and receives wait for their messages. The size of a process group
 * is unknown in one file. */
static bool uses_messages(const struct sutra_simulation *simulation, const struct sutra_simulate_options *options) {
    return options->network && simulation->job->lacks_matches && simulation->n > 1;
}

/* Sets the times of nodes of files without matches from their sizes. SUTRA_DATA: their sum is no time. */
static enum sutra_status set_times_from_sizes(const struct sutra_simulation *simulation, struct sutra_context *context,
                                              const struct sutra_simulate_options *options, double *const *run_ns,
                                              struct arena *scratch, struct sutra_error *error) {
    const struct sutra_et_ranks *job = simulation->job;
    if (options->peaks) {
        struct device_peaks peaks;
        char *name;
        TRY(device_peaks_read(context, options->peaks, &peaks, &name, error));
        kernels_price(&peaks, job->graphs, job->n, run_ns);
        free(name);
    }
    if (uses_messages(simulation, options)) {
        struct network_model model;
        TRY(network_read(&model, options->network, error));
        if (isnan(model.alpha_ns) || isnan(model.bytes_per_ns))
            return error_set(error, SUTRA_DATA,
                             "network '%.100s': the files record no matches, from which sutra fits the missing part; "
                             "give alpha and beta, such as alpha=12us,beta=50GB/s",
                             options->network);
        TRY(network_price(&model, bandwidth_factor(options), job->graphs, job->n, job->n_matched_collectives, run_ns,
                          scratch, error));
    }
    double sum_ns = 0;
    for (uint32_t r = 0; r < job->n; r++)
        for (row_t i = 0; i < job->graphs[r].n; i++)
            sum_ns += run_ns[r][i];
    if (sum_ns > (double)(TIME_NEVER / 4))
        return error_set(error, SUTRA_DATA,
                         "the times of all nodes exceed 146 years: check num_ops, tensor_size and "
                         "comm_size, the network and the peak rates");
    return SUTRA_OK;
}

/* Applies another network, and removes stragglers. */
static enum sutra_status change_job(const struct sutra_simulation *simulation,
                                    const struct sutra_simulate_options *options, double *const *run_ns,
                                    struct sutra_error *error) {
    struct network_model model;
    const double times = bandwidth_factor(options);
    if (options->network)
        TRY(network_read(&model, options->network, error));
    /* In files without recorded matches all communication scales with the network. */
    for (uint32_t r = 0; r < simulation->n && times != 1 && !uses_messages(simulation, options); r++)
        for (row_t i = 0; i < simulation->graphs[r].n; i++)
            if (simulation->graphs[r].work[i] == WORK_COMMUNICATION && !simulation->graphs[r].is_shared[i])
                run_ns[r][i] /= times;
    if (!simulation->job->lacks_matches && (times != 1 || options->network))
        network_apply(&simulation->job->network, options->network ? &model : NULL, times, simulation->graphs,
                      simulation->n, run_ns);
    if (options->no_straggler)
        slowness_even(simulation->graphs, simulation->n, simulation->job->slowness, run_ns);
    return SUTRA_OK;
}

/* Sets the execution times, with all changes, and the launch latencies of the nodes. */
static enum sutra_status set_durations(struct sutra_simulation *simulation, struct sutra_context *context,
                                       const struct sutra_simulate_options *options, struct arena *scratch,
                                       struct sutra_error *error) {
    struct arena *arena = &simulation->arena;
    const struct change_target target = {simulation->graphs, simulation->ranks, simulation->n, simulation->names};
    const bool removes = options->n_removals > 0;
    double **run_ns = arena_alloc(scratch, simulation->n, sizeof *run_ns);
    double **kept = arena_alloc(scratch, simulation->n, sizeof *kept); /* factors; only to remove nodes */
    simulation->run_ns = arena_alloc(arena, simulation->n, sizeof *simulation->run_ns);
    simulation->wait_ns = arena_alloc(arena, simulation->n, sizeof *simulation->wait_ns);
    for (uint32_t r = 0; r < simulation->n && !arena->failed && !scratch->failed; r++) {
        const struct rank_graph *graph = &simulation->graphs[r];
        run_ns[r] = arena_alloc(scratch, graph->n, sizeof **run_ns);
        kept[r] = arena_alloc(scratch, removes ? graph->n : 0, sizeof **kept);
        simulation->run_ns[r] = arena_alloc(arena, graph->n, sizeof **simulation->run_ns);
        simulation->wait_ns[r] = arena_alloc(arena, graph->n, sizeof **simulation->wait_ns);
        for (row_t i = 0; i < graph->n && !scratch->failed; i++)
            run_ns[r][i] = (double)graph->run_ns[i];
        for (row_t i = 0; removes && i < graph->n && !scratch->failed; i++)
            kept[r][i] = 1;
    }
    if (arena->failed || scratch->failed)
        return error_memory(error);
    if (!(bandwidth_factor(options) > 0 && bandwidth_factor(options) <= 1e9))
        return error_set(error, SUTRA_USAGE, "the bandwidth factor must be above 0 and at most 1e9");
    if (simulation->job->lacks_matches && (options->network || options->peaks))
        TRY(set_times_from_sizes(simulation, context, options, run_ns, scratch, error));
    TRY(changes_apply(&target, options->scales, options->n_scales, run_ns, scratch, error));
    TRY(removals_apply(&target, options->removals, options->n_removals, kept, scratch, error));
    TRY(change_job(simulation, options, run_ns, error));
    for (uint32_t r = 0; r < simulation->n; r++) {
        const struct rank_graph *graph = &simulation->graphs[r];
        for (row_t i = 0; i < graph->n; i++) {
            simulation->wait_ns[r][i] = options->no_launch_latency ? 0 : graph->dur_ns[i] - graph->run_ns[i];
            simulation->run_ns[r][i] = (uint64_t)(MIN(run_ns[r][i], 4e18) + 0.5);
            if (removes && kept[r][i] == 0)
                simulation->run_ns[r][i] = simulation->wait_ns[r][i] = 0;
        }
    }
    return SUTRA_OK;
}

/* ---- Graphs ---- */

/* Removes the matches of sends and receives, which then run for their durations. */
static enum sutra_status drop_messages(struct rank_graph *graph, struct arena *arena, struct sutra_error *error) {
    uint32_t *kept = arena_alloc(arena, graph->n, sizeof *kept);
    TRY(arena_status(arena, error));
    memcpy(kept, graph->matched_collective, graph->n * sizeof *kept);
    for (row_t c = 0; c < graph->n_contacts; c++)
        if (graph->contacts[c].is_message)
            kept[graph->contacts[c].node] = NO_MATCH;
    graph->matched_collective = kept;
    return SUTRA_OK;
}

static enum sutra_status simulate(struct sutra_simulation *simulation, struct sutra_context *context,
                                  const struct sutra_simulate_options *options, struct sutra_error *error) {
    const bool has_messages = uses_messages(simulation, options);
    for (uint32_t r = 0; r < simulation->n; r++) {
        struct rank_graph *graph = &simulation->graphs[r];
        *graph = simulation->job->graphs[r];
        if (options->alone)
            graph->matched_collective = NULL;
        else if (graph->role && graph->matched_collective && !has_messages)
            TRY(drop_messages(graph, &simulation->arena, error));
        TRY(rank_graph_share(graph, options->cpu_threads, options->gpu_streams, &simulation->arena, error));
    }
    struct arena scratch = {0};
    const enum sutra_status status = set_durations(simulation, context, options, &scratch, error);
    arena_free(&scratch);
    TRY(status);

    /* The input of replay(): execution and latency; in microseconds as in a file, unless sizes determine them. */
    const uint64_t unit_ns = has_messages || (options->peaks && simulation->job->lacks_matches) ? 1 : NS_PER_US;
    for (uint32_t r = 0; r < simulation->n; r++) {
        const struct rank_graph *graph = &simulation->graphs[r];
        uint64_t *dur_ns = arena_alloc(&simulation->arena, graph->n, sizeof *dur_ns);
        TRY(arena_status(&simulation->arena, error));
        for (row_t i = 0; i < graph->n; i++)
            dur_ns[i] = (simulation->run_ns[r][i] + simulation->wait_ns[r][i] + unit_ns / 2) / unit_ns * unit_ns;
        simulation->runs[r] = rank_graph_replay(graph, dur_ns);
        simulation->runs[r].role = has_messages ? graph->role : NULL;
    }
    simulation->times = alloc_times(simulation, &simulation->arena);
    TRY_ALLOC(simulation->times, error);
    const struct replay_job job = {simulation->n, simulation->runs, simulation->n_matched_collectives, context->pool};
    TRY(replay(&job, simulation->times, error));
    for (uint32_t r = 0; r < simulation->n; r++)
        simulation->n_stuck += simulation->graphs[r].n - simulation->times[r].n_ran;
    if (simulation->n_stuck)
        TRY(simulation_find_stuck(simulation, error));
    TRY_ALLOC(find_waits(simulation) && find_matches(simulation), error);
    TRY(find_critical_path(simulation, error));
    return sum_by_name(simulation, error);
}

enum sutra_status sutra_simulate_ranks(struct sutra_context *context, const struct sutra_et_ranks *ranks,
                                       const struct sutra_simulate_options *options,
                                       struct sutra_simulation **simulation, struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_simulate_options, no_launch_latency);
    struct sutra_simulate_options used_options;
    TRY(options_copy(&form, options, &used_options, error));
    struct sutra_simulation *made = calloc(1, sizeof *made);
    TRY_ALLOC(made, error);
    stage_begin(context, "simulate", 0);
    made->job = ranks;
    made->n = ranks->n;
    made->ranks = ranks->ranks;
    made->names = &ranks->names;
    made->n_matched_collectives = used_options.alone ? 0 : ranks->n_matched_collectives;
    made->graphs = arena_zeros(&made->arena, ranks->n, sizeof *made->graphs);
    made->runs = arena_zeros(&made->arena, ranks->n, sizeof *made->runs);
    enum sutra_status status = arena_status(&made->arena, error);
    if (!status)
        status = simulate(made, context, &used_options, error);
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
