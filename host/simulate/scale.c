/*
 * scale.c - sutra_et_ranks_scale(): the same job with other numbers of layers, micro-batches and replicas; and the
 * interval of its simulated time.
 *
 *     ranks --programs_make--> programs --layers, micro-batches--> programs --replicas--> graphs --> ranks
 *
 * The interval follows from collectives: the recorded ones determine how much of their time grows with the number of
 * ranks only within bounds. Cost: O(n log n) for n nodes of both jobs.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/options.h"
#include "base/shared.h"
#include "simulate/program.h"
#include "simulate/simulation.h"

/* Ranks of a host, if neither the caller nor the files have the number. */
#define RANKS_PER_HOST 8

/* Memory of a node of the new job: its graph, and its simulation. */
#define NODE_BYTES 200

/* Margins of the interval: below the least time; above the largest one, for the noise of more ranks. */
#define MARGIN_BELOW 0.995
#define MARGIN_ABOVE 1.01

/* An edit to the recorded numbers changes the time by at most this share. */
#define SAME_TIME 1e-3

/* Layers and micro-batches are at least this share of the nodes of a rank. */
#define COPY_SHARE 1e-3

/* Refuses a job with `factor` times the nodes that does not fit the memory of the machine. */
static enum sutra_status check_memory(const struct programs *programs, double factor, struct sutra_error *error) {
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    double n = 0;
    for (uint32_t p = 0; p < programs->n; p++)
        n += factor * programs->list[p].items.n;
    if (pages > 0 && page > 0 && n * NODE_BYTES > (double)pages * (double)page)
        return error_set(error, SUTRA_SYSTEM, "the changed job has %.1f million nodes and needs %.0f GB of memory",
                         n / 1e6, n * NODE_BYTES / 1e9);
    return SUTRA_OK;
}

/* The largest difference between the starts of the recorded ranks. */
static double start_skew_ns(const struct sutra_et_ranks *ranks) {
    double lowest = INFINITY, highest = 0;
    for (uint32_t r = 0; r < ranks->n; r++) {
        const struct rank_graph *graph = &ranks->graphs[r];
        const double start_ns = graph->start == ROW_NONE ? 0 : (double)graph->dur_ns[graph->start];
        lowest = fmin(lowest, start_ns);
        highest = fmax(highest, start_ns);
    }
    return ranks->n ? highest - lowest : 0;
}

/* ---- The new ranks ---- */

/* Ranks that share the names of `recorded`. NULL: out of memory. */
static struct sutra_et_ranks *begin_ranks(const struct sutra_et_ranks *recorded, uint32_t n) {
    struct sutra_et_ranks *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->n = n;
    made->names = recorded->names;
    made->shares_names = true;
    made->gpu_streams = recorded->gpu_streams;
    made->ranks_per_host = recorded->ranks_per_host;
    made->ranks = arena_alloc(&made->arena, n, sizeof *made->ranks);
    made->sources = arena_alloc(&made->arena, n, sizeof *made->sources);
    made->graphs = arena_zeros(&made->arena, n, sizeof *made->graphs);
    made->arenas = arena_zeros(&made->arena, n, sizeof *made->arenas);
    made->slowness = arena_alloc(&made->arena, n, sizeof *made->slowness);
    for (uint32_t r = 0; r < n && made->slowness; r++)
        made->slowness[r] = (struct rank_slowness){1, 1};
    if (!made->arena.failed)
        return made;
    sutra_et_ranks_free(made);
    return NULL;
}

/* ---- Edits ---- */

/* The numbers of the recorded job; 0: not determined. */
struct recorded_numbers {
    struct job_layers layers;
    uint32_t micro_batches;
};

/* Sets the numbers of layers and micro-batches that the options change; keeps_numbers: to the recorded ones. */
static enum sutra_status edit(struct programs *programs, const struct sutra_scale_options *options, bool keeps_numbers,
                              struct recorded_numbers *recorded, struct sutra_error *error) {
    const uint32_t n_layers = keeps_numbers ? 0 : options->layers, n = keeps_numbers ? 0 : options->micro_batches;
    TRY(check_memory(programs, COPY_SHARE * n_layers, error));
    if (options->layers)
        TRY(programs_set_layers(programs, n_layers, &recorded->layers, error));
    TRY(check_memory(programs, COPY_SHARE * n, error));
    if (options->micro_batches)
        TRY(programs_set_micro_batches(programs, n, &recorded->micro_batches, error));
    return programs_check_matches(programs, error);
}

/* Makes the graphs of the edited programs. */
static enum sutra_status make_graphs(const struct programs *programs, struct match_counts *counts,
                                     struct sutra_et_ranks *made, struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    for (uint32_t p = 0; p < programs->n && !status; p++) {
        made->ranks[p] = programs->list[p].rank;
        made->sources[p] = programs->list[p].source;
        status = program_graph(programs, &programs->list[p], counts, &made->graphs[p], &made->arenas[p], error);
    }
    made->n_matched_collectives = counts->n_matches;
    return status;
}

/* The simulated time of ranks. */
static enum sutra_status time_of_ranks(struct sutra_context *context, const struct sutra_et_ranks *ranks,
                                       const struct sutra_simulate_options *options, uint64_t *time_ns,
                                       struct sutra_error *error) {
    struct sutra_simulation *simulation = NULL;
    TRY(sutra_simulate_ranks(context, ranks, options, &simulation, error));
    *time_ns = sutra_simulation_time_ns(simulation);
    sutra_simulation_free(simulation);
    return SUTRA_OK;
}

/* Refuses a job that an edit to its recorded numbers changes. */
static enum sutra_status compare_times(const struct sutra_scale_options *options,
                                       const struct recorded_numbers *recorded, double time_ns, double recorded_ns,
                                       struct sutra_error *error) {
    char layers[32] = "", micro_batches[32] = "";
    if (fabs(time_ns - recorded_ns) <= SAME_TIME * recorded_ns)
        return SUTRA_OK;
    if (options->layers)
        snprintf(layers, sizeof layers, "%u layers", recorded->layers.n);
    if (options->micro_batches)
        snprintf(micro_batches, sizeof micro_batches, "%u micro-batches", recorded->micro_batches);
    return error_set(error, SUTRA_DATA,
                     "the job cannot be edited: with the recorded number of %s%s%s, the edited job takes %.3f ms "
                     "instead of %.3f ms",
                     layers, *layers && *micro_batches ? " and " : "", micro_batches, time_ns / 1e6, recorded_ns / 1e6);
}

/* Checks that the job takes its recorded time after an edit to the recorded numbers. `programs` do not change. */
static enum sutra_status check_recorded_numbers(struct sutra_context *context, const struct sutra_et_ranks *ranks,
                                                const struct programs *programs,
                                                const struct sutra_scale_options *options,
                                                struct recorded_numbers *recorded, struct sutra_error *error) {
    struct programs edited = *programs;
    struct match_counts counts;
    const struct sutra_simulate_options how = {.size = sizeof how, .gpu_streams = true};
    uint64_t time_ns = 0, recorded_ns = 0;
    edited.list = arena_alloc(programs->arena, programs->n, sizeof *edited.list);
    TRY_ALLOC(edited.list, error);
    memcpy(edited.list, programs->list, programs->n * sizeof *edited.list);
    TRY(edit(&edited, options, true, recorded, error));
    struct sutra_et_ranks *made = begin_ranks(ranks, ranks->n);
    TRY_ALLOC(made, error);
    enum sutra_status status =
        match_counts_init(&counts) ? make_graphs(&edited, &counts, made, error) : error_memory(error);
    match_counts_free(&counts);
    if (!status)
        status = time_of_ranks(context, made, &how, &time_ns, error);
    if (!status)
        status = time_of_ranks(context, ranks, &how, &recorded_ns, error);
    sutra_et_ranks_free(made);
    TRY(status);
    return compare_times(options, recorded, (double)time_ns, (double)recorded_ns, error);
}

/* Makes the graphs of all new replicas. */
static enum sutra_status make_replicas(struct programs *programs, struct replicas *replicas,
                                       struct match_counts *counts, struct sutra_et_ranks *made,
                                       struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    for (uint32_t p = 0; p < programs->n && !status; p++) {
        for (uint32_t replica = replicas->replica[p]; replica < replicas->n_new && !status; replica += replicas->n) {
            struct arena scratch = {0};
            struct program program;
            const uint64_t rank = replica_rank(replicas, replica, replicas->index[p]);
            struct network_times *times = arena_alloc(&scratch, programs->list[p].items.n, sizeof *times);
            status = times ? replica_program(programs, replicas, p, replica, &scratch, &program, times, error)
                           : error_memory(error);
            made->ranks[rank] = rank;
            made->sources[rank] = programs->list[p].source;
            if (!status)
                status = program_graph(programs, &program, counts, &made->graphs[rank], &made->arenas[rank], error);
            for (row_t t = 0; t < made->graphs[rank].n_transfers && !status; t++)
                for (int bound = 0; bound < 2; bound++)
                    made->graphs[rank].transfers[t].bound_ns[bound] =
                        times[t].run_ns[bound ? NETWORK_HIGH : NETWORK_LOW] - times[t].run_ns[NETWORK_ESTIMATE];
            arena_free(&scratch);
        }
    }
    made->n_matched_collectives = counts->n_matches;
    return status;
}

/* The replicas of the job, and its network. */
static enum sutra_status find_replicas_and_network(struct programs *programs, const struct sutra_scale_options *options,
                                                   uint32_t recorded_per_host, struct replicas *replicas,
                                                   struct sutra_error *error) {
    uint32_t per_host = options->ranks_per_host ? options->ranks_per_host : recorded_per_host;
    per_host = per_host ? per_host : RANKS_PER_HOST;
    for (uint32_t p = 0; p < programs->n; p++)
        if (programs->list[p].rank != p)
            return error_set(error, SUTRA_DATA,
                             "the file of rank %u is missing; replicas need the files of all ranks from 0 on", p);
    TRY(programs_find_replicas(programs, replicas, error));
    struct network_model model = {0};
    if (options->network)
        TRY(network_read(&model, options->network, error));
    replicas->has_network = options->network && !isnan(model.alpha_ns) && !isnan(model.bytes_per_ns);
    TRY(programs_fit_network(programs, per_host, options->has_hop ? 1e3 * options->hop_us : (double)NAN,
                             &replicas->network, error));
    TRY(programs_prepare_replicas(programs, replicas, options->data_parallel, error));
    return check_memory(programs, (double)options->data_parallel / replicas->n, error);
}

/* Copies an array of n numbers to the arena. */
static uint32_t *copy_numbers(const uint32_t *numbers, uint32_t n, struct arena *arena) {
    uint32_t *copy = arena_alloc(arena, n, sizeof *copy);
    for (uint32_t i = 0; i < n && copy; i++)
        copy[i] = numbers[i];
    return copy;
}

/* Copies the description of the layers from the arena of the programs. */
static enum sutra_status keep_layers(const struct job_layers *layers, uint32_t n_layers, struct sutra_et_ranks *made,
                                     struct sutra_error *error) {
    struct job_layers *kept = arena_alloc(&made->arena, 1, sizeof *kept);
    TRY_ALLOC(kept, error);
    *kept = *layers;
    for (int pass = 0; pass < 2; pass++) {
        struct pass_block *block = &kept->blocks[pass];
        block->names = copy_numbers(block->names, block->n_names, &made->arena);
        block->counts = copy_numbers(block->counts, block->n_names, &made->arena);
    }
    made->n_layers = n_layers;
    made->layers = kept;
    return arena_status(&made->arena, error);
}

/* Makes the changed ranks from the edited programs. */
static enum sutra_status make_ranks(const struct sutra_et_ranks *ranks, struct programs *programs,
                                    const struct sutra_scale_options *options, struct sutra_et_ranks **made,
                                    struct sutra_error *error) {
    struct replicas replicas = {0};
    struct match_counts counts;
    if (options->data_parallel)
        TRY(find_replicas_and_network(programs, options, ranks->ranks_per_host, &replicas, error));
    *made = begin_ranks(ranks, options->data_parallel ? options->data_parallel * replicas.size : ranks->n);
    TRY_ALLOC(*made, error);
    const bool has_tables = match_counts_init(&counts) && pair_table_init(&replicas.groups);
    enum sutra_status status = !has_tables              ? error_memory(error)
                               : options->data_parallel ? make_replicas(programs, &replicas, &counts, *made, error)
                                                        : make_graphs(programs, &counts, *made, error);
    match_counts_free(&counts);
    pair_table_free(&replicas.groups);
    (*made)->has_interval = options->data_parallel;
    (*made)->assumes_ring = replicas.assumes_ring;
    for (int level = 0; level < 2; level++)
        (*made)->has_one_size |= replicas.network.levels[level].has_one_size;
    return status;
}

static enum sutra_status scale(struct sutra_context *context, const struct sutra_et_ranks *ranks,
                               const struct sutra_scale_options *options, struct arena *arena,
                               struct sutra_et_ranks **made, struct sutra_error *error) {
    const struct change_target job = {ranks->graphs, ranks->ranks, ranks->n, &ranks->names};
    struct programs programs;
    struct recorded_numbers recorded = {0};
    if (!ranks->gpu_streams)
        return error_set(error, SUTRA_DATA,
                         "other layers, micro-batches and replicas need files with a resource per stream; link without "
                         "--astra and --gpu one");
    TRY(programs_make(&programs, &job, ranks->n_matched_collectives, arena, error));
    if (options->layers || options->micro_batches) {
        TRY(check_recorded_numbers(context, ranks, &programs, options, &recorded, error));
        TRY(edit(&programs, options, false, &recorded, error));
    }
    TRY(make_ranks(ranks, &programs, options, made, error));
    if (options->layers)
        TRY(keep_layers(&recorded.layers, options->layers, *made, error));
    (*made)->start_skew_ns = start_skew_ns(ranks);
    TRY(network_fit(&(*made)->network, &ranks->network, (*made)->graphs, (*made)->n, &(*made)->arena, error));
    return (*made)->n > 1 ? slowness_find((*made)->graphs, (*made)->n, (*made)->slowness, error) : SUTRA_OK;
}

enum sutra_status sutra_et_ranks_scale(struct sutra_context *context, const struct sutra_et_ranks *ranks,
                                       const struct sutra_scale_options *options, struct sutra_et_ranks **scaled,
                                       struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_scale_options, network);
    struct sutra_scale_options used;
    struct arena arena = {0};
    struct sutra_et_ranks *made = NULL;
    TRY(options_copy(&form, options, &used, error));
    if (!used.data_parallel && !used.micro_batches && !used.layers)
        return error_set(error, SUTRA_USAGE, "no number of replicas, micro-batches or layers is given");
    if (used.has_hop && !(used.hop_us >= 0 && used.hop_us <= 1e9))
        return error_set(error, SUTRA_USAGE, "the time of a hop must be a number of microseconds from 0 to 1e9");
    stage_begin(context, "change job", ranks->n);
    enum sutra_status status = scale(context, ranks, &used, &arena, &made, error);
    arena_free(&arena);
    stage_end(context);
    if (status)
        sutra_et_ranks_free(made);
    else
        *scaled = made;
    return status;
}

uint32_t sutra_et_ranks_source(const struct sutra_et_ranks *ranks, uint32_t i) {
    return ranks->sources ? ranks->sources[i] : i;
}

/* ---- The layers ---- */

bool sutra_et_ranks_layers(const struct sutra_et_ranks *ranks, struct sutra_scaled_layers *layers) {
    if (!ranks->n_layers)
        return false;
    const struct pass_block *forward = &ranks->layers->blocks[0], *backward = &ranks->layers->blocks[1];
    const struct sutra_scaled_layers made = {
        .n = ranks->n_layers,
        .n_recorded = ranks->layers->n,
        .n_stages = ranks->layers->n_stages,
        .n_forward_kernels = forward->n_kernels,
        .n_forward_collectives = forward->n_collectives,
        .n_backward_kernels = backward->n_kernels,
        .n_backward_collectives = backward->n_collectives,
    };
    report_give(layers, &made, sizeof made);
    return true;
}

bool sutra_et_ranks_block_kernel(const struct sutra_et_ranks *ranks, bool is_backward, uint32_t i,
                                 struct sutra_block_kernel *kernel) {
    const struct pass_block *block = ranks->n_layers ? &ranks->layers->blocks[is_backward] : NULL;
    if (!block || i >= block->n_names)
        return false;
    const struct sutra_block_kernel made = {.name = strings_text(&ranks->names, block->names[i]),
                                            .n = block->counts[i]};
    report_give(kernel, &made, sizeof made);
    return true;
}

/* ---- The interval ---- */

/* Longest time of a collective: a year. */
#define LONGEST_NS 3e16

/* The graph of a rank whose collectives take the time of one bound. */
static bool bound_graph(const struct rank_graph *graph, int bound, struct rank_graph *made, struct arena *arena) {
    uint64_t *dur_ns = arena_alloc(arena, graph->n, sizeof *dur_ns),
             *run_ns = arena_alloc(arena, graph->n, sizeof *run_ns);
    struct transfer *transfers = arena_alloc(arena, graph->n_transfers, sizeof *transfers);
    if (arena->failed)
        return false;
    memcpy(dur_ns, graph->dur_ns, graph->n * sizeof *dur_ns);
    memcpy(run_ns, graph->run_ns, graph->n * sizeof *run_ns);
    memcpy(transfers, graph->transfers, graph->n_transfers * sizeof *transfers);
    for (row_t t = 0; t < graph->n_transfers; t++) {
        const row_t i = transfers[t].node;
        const double latency_ns = (double)(dur_ns[i] - run_ns[i]);
        const double bound_ns = (double)run_ns[i] + transfers[t].bound_ns[bound];
        run_ns[i] = (uint64_t)(CLAMP(bound_ns, 0, LONGEST_NS) + 0.5);
        dur_ns[i] = run_ns[i] + (uint64_t)latency_ns;
    }
    *made = *graph;
    made->dur_ns = dur_ns;
    made->run_ns = run_ns;
    made->transfers = transfers;
    return true;
}

/* Simulates the ranks with the network's times: -1: the estimate; 0, 1: its bounds. */
static enum sutra_status simulate_bound(struct sutra_context *context, const struct sutra_et_ranks *ranks, int bound,
                                        const struct sutra_simulate_options *options, struct arena *arena,
                                        uint64_t *time_ns, struct sutra_error *error) {
    struct sutra_et_ranks copy = *ranks;
    if (bound >= 0) {
        copy.graphs = arena_alloc(arena, ranks->n, sizeof *copy.graphs);
        for (uint32_t r = 0; r < ranks->n; r++)
            TRY_ALLOC(copy.graphs && bound_graph(&ranks->graphs[r], bound, &copy.graphs[r], arena), error);
        TRY(network_fit(&copy.network, &ranks->network, copy.graphs, copy.n, arena, error));
    }
    return time_of_ranks(context, &copy, options, time_ns, error);
}

enum sutra_status sutra_simulate_interval(struct sutra_context *context, const struct sutra_et_ranks *ranks,
                                          const struct sutra_simulate_options *options,
                                          struct sutra_simulated_interval *interval, struct sutra_error *error) {
    struct sutra_simulated_interval made = {.has_one_size = ranks->has_one_size, .assumes_ring = ranks->assumes_ring};
    uint64_t times_ns[N_NETWORKS] = {0};
    if (!ranks->has_interval)
        return error_set(error, SUTRA_USAGE, "an interval exists only for another number of replicas");
    for (int bound = -1; bound < 2; bound++) {
        struct arena arena = {0};
        enum sutra_status status = simulate_bound(context, ranks, bound, options, &arena, &times_ns[bound + 1], error);
        arena_free(&arena);
        TRY(status);
    }
    uint64_t lowest = times_ns[0], highest = times_ns[0];
    for (int bound = 1; bound < N_NETWORKS; bound++) {
        lowest = MIN(lowest, times_ns[bound]);
        highest = MAX(highest, times_ns[bound]);
    }
    made.low_ns = (uint64_t)(MARGIN_BELOW * (double)lowest);
    made.high_ns = (uint64_t)(MARGIN_ABOVE * (double)highest + ranks->start_skew_ns);
    report_give(interval, &made, sizeof made);
    return SUTRA_OK;
}
