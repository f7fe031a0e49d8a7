/*
 * pipeline.c - sutra_pipeline_run(): pipeline bubbles of each stage and micro-batch, and the balance of experts, from
 * the simulated times of a job; implements sutra/pipeline.h.
 *
 *     stage 0   | F0  F1  F2 ....... B0  F3 .. B1 ... B2   B3 |
 *     stage 1   | ....F0  B0  F1 B1  F2 B2  F3 B3 ........... |
 *               |<-- window of the step: first to last compute of all stages -->|
 *
 * A gap is the time between the compute of two passes, before the first pass, or after the last one. Gaps up to the
 * first backward pass are the warm-up, gaps after the last forward pass the cool-down, the others the steady phase.
 * The bubble is the share of the gaps. With P stages of equal time and m micro-batches it is (P - 1) / (m + P - 1).
 *
 * Experts: the compute of a rank between an all-to-all that dispatches tokens and the next one that combines them.
 * Within a pass these collectives alternate; the k-th pair of a forward pass is layer k, and the backward pass has the
 * layers in reverse order. Ranks of a group wait for the slowest expert: the lost time is maximum - mean.
 *
 * Cost: O(n log n) for n nodes.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/table.h"
#include "base/error.h"
#include "base/options.h"
#include "base/shared.h"
#include "simulate/program.h"
#include "simulate/simulation.h"
#include "sutra/pipeline.h"

struct sutra_pipeline {
    struct sutra_result result;
    struct sutra_pipeline_summary summary;
};

/* All-to-alls of fewer bytes than this share of the largest one exchange counts, not tokens. */
#define TOKENS_SHARE 0.01

static const struct table_spec specs[SUTRA_PIPELINE_N_TABLES] = {
    [SUTRA_PIPELINE_BUBBLES] = {.name = "pipeline_bubbles",
                                .scope = OF_JOB,
                                .columns = {INTEGER("rank"), INTEGER("step"), REAL("window_us"), REAL("busy_us"),
                                            REAL("warmup_us"), REAL("steady_us"), REAL("cooldown_us"),
                                            REAL("bubble_percent"), REAL("ideal_percent")}},
    [SUTRA_PIPELINE_PASSES] = {.name = "pipeline_passes",
                               .scope = OF_JOB,
                               .columns = {INTEGER("rank"), INTEGER("step"), INTEGER("pass"), TEXT("direction"),
                                           INTEGER("micro_batch"), REAL("start_us"), REAL("end_us"), REAL("busy_us"),
                                           REAL("gap_us"), TEXT("phase")}},
    [SUTRA_PIPELINE_EXPERTS] = {.name = "expert_balance",
                                .scope = OF_JOB,
                                .columns = {INTEGER("layer"), INTEGER("rank"), REAL("compute_us"), REAL("imbalance"),
                                            REAL("lost_us")}},
};

/* ---- Passes with their times ---- */

/* The compute of a pass. */
struct pass_time {
    double start_ns, end_ns, busy_ns;
};

/* The window of a step over all stages. */
struct pipeline_window {
    double start_ns, end_ns;
};

struct pipeline_job {
    const struct sutra_simulation *simulation;
    struct programs programs;
    struct program_units *units; /* per program */
    uint32_t *stages;            /* per program: of its pipeline */
    uint32_t n_steps;            /* number of the last step + 1 */
    struct arena arena;
};

/* The time of the compute of a pass; the pass has some. */
static struct pass_time time_pass(const struct pipeline_job *job, const struct program *program,
                                  const struct program_unit *unit) {
    const struct replay_times *times = &job->simulation->times[program->source];
    const struct replay_graph *run = &job->simulation->runs[program->source];
    struct pass_time time = {.start_ns = INFINITY};
    for (row_t i = unit->first; i < unit->after; i++) {
        const struct program_item *item = &program->items.list[i];
        if (!item_computes(item))
            continue;
        time.start_ns = fmin(time.start_ns, (double)times->run_ns[item->node]);
        time.end_ns = fmax(time.end_ns, (double)times->end_ns[item->node]);
        time.busy_ns += (double)run->dur_ns[item->node];
    }
    return time;
}

/* The step windows, by number of the step. NULL: out of memory. */
static struct pipeline_window *find_windows(struct pipeline_job *job) {
    struct pipeline_window *windows = arena_alloc(&job->arena, job->n_steps, sizeof *windows);
    for (uint32_t s = 0; s < job->n_steps && windows; s++)
        windows[s] = (struct pipeline_window){.start_ns = INFINITY};
    for (uint32_t p = 0; p < job->programs.n && windows; p++)
        for (uint32_t s = 0; s < job->units[p].n_steps; s++) {
            const struct program_step *step = &job->units[p].steps[s];
            const struct program_unit *list = job->units[p].list + step->first_unit;
            if (step->n_units == 0)
                continue;
            const struct pass_time first = time_pass(job, &job->programs.list[p], list);
            const struct pass_time last = time_pass(job, &job->programs.list[p], &list[step->n_units - 1]);
            struct pipeline_window *window = &windows[step->step];
            window->start_ns = fmin(window->start_ns, first.start_ns);
            window->end_ns = fmax(window->end_ns, last.end_ns);
        }
    return windows;
}

enum bubble_phase { PHASE_WARMUP, PHASE_STEADY, PHASE_COOLDOWN, N_PHASES };
static const char *const phase_names[N_PHASES] = {"warm-up", "steady", "cool-down"};

/* Adds the rows of a step of a rank to both tables, and its bubble to *bubble. */
static void add_step(const struct pipeline_job *job, uint32_t p, const struct program_step *step,
                     const struct pipeline_window *window, struct sutra_table *bubbles, struct sutra_table *passes,
                     struct sutra_pipeline_summary *summary, double *bubble_percent) {
    const struct program *program = &job->programs.list[p];
    const struct program_unit *list = job->units[p].list + step->first_unit;
    const double window_ns = window->end_ns - window->start_ns;
    uint32_t first_backward = 0, last_forward = 0, counts[2] = {0, 0};
    while (first_backward < step->n_units && !list[first_backward].is_backward)
        first_backward++;
    for (uint32_t u = 0; u < step->n_units; u++)
        last_forward = list[u].is_backward ? last_forward : u;
    double gaps_ns[N_PHASES] = {0}, busy_ns = 0, end_ns = window->start_ns;
    for (uint32_t u = 0; u < step->n_units; u++) {
        const struct pass_time time = time_pass(job, program, &list[u]);
        const double gap_ns = fmax(0, time.start_ns - end_ns);
        const bool is_cooldown = u > last_forward && last_forward + 1 > first_backward;
        const enum bubble_phase phase = u == 0 || u < first_backward ? PHASE_WARMUP
                                        : is_cooldown                ? PHASE_COOLDOWN
                                                                     : PHASE_STEADY;
        gaps_ns[phase] += gap_ns;
        busy_ns += time.busy_ns;
        end_ns = time.end_ns;
        TABLE_INTEGERS(passes, (int64_t)program->rank, step->step, u);
        table_words(passes, list[u].is_backward ? "backward" : "forward");
        table_integer(passes, counts[list[u].is_backward]++);
        TABLE_REALS(passes, time.start_ns / 1e3, time.end_ns / 1e3, time.busy_ns / 1e3, gap_ns / 1e3);
        table_words(passes, phase_names[phase]);
    }
    gaps_ns[PHASE_COOLDOWN] += window->end_ns - end_ns;
    const double all_ns = gaps_ns[PHASE_WARMUP] + gaps_ns[PHASE_STEADY] + gaps_ns[PHASE_COOLDOWN];
    const uint32_t n_stages = job->stages[p], n_micro_batches = counts[0];
    const double ideal = 100 * ((double)n_stages - 1) / ((double)n_micro_batches + n_stages - 1);
    *bubble_percent = window_ns > 0 ? 100 * all_ns / window_ns : 0;
    table_integer(bubbles, (int64_t)program->rank);
    table_integer(bubbles, step->step);
    table_real(bubbles, window_ns / 1e3);
    table_real(bubbles, busy_ns / 1e3);
    for (enum bubble_phase phase = 0; phase < N_PHASES; phase++)
        table_real(bubbles, gaps_ns[phase] / 1e3);
    table_real(bubbles, *bubble_percent);
    table_real(bubbles, ideal);
    summary->n_micro_batches = MAX(summary->n_micro_batches, n_micro_batches);
    if (n_stages >= summary->n_stages)
        summary->ideal_percent = ideal;
    summary->n_stages = MAX(summary->n_stages, n_stages);
}

/* Fills the tables of bubbles and passes, or the reason for which they are missing. */
static enum sutra_status find_bubbles(struct pipeline_job *job, struct sutra_pipeline *made,
                                      struct sutra_error *error) {
    struct pipeline_window *windows = find_windows(job);
    TRY_ALLOC(windows, error);
    bool has_passes = false, has_stages = false;
    for (uint32_t p = 0; p < job->programs.n; p++) {
        has_stages = has_stages || job->stages[p] > 1;
        for (uint32_t s = 0; s < job->units[p].n_steps; s++)
            has_passes = has_passes || job->units[p].steps[s].n_units;
    }
    if (!has_stages || !has_passes) {
        made->result.reasons[SUTRA_PIPELINE_BUBBLES] = made->result.reasons[SUTRA_PIPELINE_PASSES] =
            has_stages ? "no profiler step has a backward pass on another thread than the forward pass"
                       : "no messages between ranks, so no pipeline";
        return SUTRA_OK;
    }
    struct sutra_table *bubbles = result_table_begin(&made->result, SUTRA_PIPELINE_BUBBLES);
    struct sutra_table *passes = result_table_begin(&made->result, SUTRA_PIPELINE_PASSES);
    double sum_percent = 0, n_rows = 0;
    for (uint32_t p = 0; p < job->programs.n; p++)
        for (uint32_t s = 0; s < job->units[p].n_steps; s++) {
            const struct program_step *step = &job->units[p].steps[s];
            double percent;
            if (step->n_units == 0)
                continue;
            add_step(job, p, step, &windows[step->step], bubbles, passes, &made->summary, &percent);
            sum_percent += percent;
            n_rows++;
        }
    made->summary.bubble_percent = sum_percent / n_rows;
    return SUTRA_OK;
}

/* ---- Experts ---- */

/* The compute of a rank between two all-to-alls. */
struct expert_time {
    uint32_t group, layer, match; /* match: of the dispatch */
    uint32_t program;
    double compute_us;
};

ORDER_BY(compare_expert_times, struct expert_time,
         ASCENDING(group) ASCENDING(layer) ASCENDING(match) ASCENDING(program))

/* A rank of a layer. */
struct expert_sum {
    uint32_t program;
    double compute_us;
};

ORDER_BY(compare_expert_sums, struct expert_sum, ASCENDING(program))

static bool exchanges_tokens(const struct rank_graph *graph, const struct program_item *item, double min_bytes) {
    const struct transfer *transfer = item_transfer(graph, item);
    return transfer && (transfer->kind == COMM_ALL_TO_ALL || transfer->kind == COMM_ALL_TO_ALL_V) &&
           (double)transfer->bytes >= min_bytes && graph->matched_collective &&
           graph->matched_collective[item->node] != NO_MATCH;
}

/* Lists the pairs of dispatch and combine of a pass in `list`. Returns the new number of elements. */
static uint64_t list_experts(const struct pipeline_job *job, uint32_t p, const struct program_unit *pass,
                             double min_bytes, struct expert_time *list, uint64_t n) {
    const struct program *program = &job->programs.list[p];
    const struct rank_graph *graph = program_graph_of(&job->programs, program);
    const uint64_t *run_ns = job->simulation->run_ns[program->source];
    const uint64_t first = n;
    struct expert_time open = {0};
    bool is_open = false;
    for (row_t i = pass->first; i < pass->after; i++) {
        const struct program_item *item = &program->items.list[i];
        if (item_computes(item))
            open.compute_us += (double)run_ns[item->node] / 1e3;
        if (!exchanges_tokens(graph, item, min_bytes))
            continue;
        if (is_open)
            list[n++] = open;
        is_open = !is_open;
        open = (struct expert_time){.group = item->group,
                                    .layer = (uint32_t)(n - first),
                                    .match = graph->matched_collective[item->node],
                                    .program = p};
    }
    for (uint64_t k = first; k < n && pass->is_backward; k++)
        list[k].layer = (uint32_t)(n - first) - 1 - list[k].layer;
    return n;
}

/* Adds the rows of a layer of a group: times begin..end - 1, sorted by match. Returns the lost time. */
static double add_layer(const struct pipeline_job *job, const struct expert_time *times, uint64_t n,
                        struct expert_sum *sums, struct sutra_table *table) {
    double most_us = 0, mean_us = 0;
    for (uint64_t begin = 0, end; begin < n; begin = end) {
        double most = 0, sum = 0;
        for (end = begin; end < n && times[end].match == times[begin].match; end++) {
            most = fmax(most, times[end].compute_us);
            sum += times[end].compute_us;
        }
        most_us += most;
        mean_us += sum / (double)(end - begin);
    }
    /* The times of each rank. */
    uint64_t n_sums = 0;
    for (uint64_t i = 0; i < n; i++)
        sums[i] = (struct expert_sum){times[i].program, times[i].compute_us};
    qsort(sums, n, sizeof *sums, compare_expert_sums);
    for (uint64_t i = 0; i < n; i++)
        if (n_sums > 0 && sums[n_sums - 1].program == sums[i].program)
            sums[n_sums - 1].compute_us += sums[i].compute_us;
        else
            sums[n_sums++] = sums[i];
    for (uint64_t i = 0; i < n_sums; i++) {
        table_integer(table, times->layer);
        table_integer(table, (int64_t)job->programs.list[sums[i].program].rank);
        TABLE_REALS(table, sums[i].compute_us, mean_us > 0 ? most_us / mean_us : (double)NAN, most_us - mean_us);
    }
    return most_us - mean_us;
}

static enum sutra_status find_experts(struct pipeline_job *job, struct sutra_pipeline *made,
                                      struct sutra_error *error) {
    double min_bytes = 0;
    uint64_t n_most = 0, n = 0;
    for (uint32_t p = 0; p < job->programs.n; p++) {
        const struct rank_graph *graph = program_graph_of(&job->programs, &job->programs.list[p]);
        for (row_t t = 0; t < graph->n_transfers; t++) {
            const struct transfer *transfer = &graph->transfers[t];
            if (transfer->kind == COMM_ALL_TO_ALL || transfer->kind == COMM_ALL_TO_ALL_V) {
                min_bytes = fmax(min_bytes, TOKENS_SHARE * (double)transfer->bytes);
                n_most++;
            }
        }
    }
    struct expert_time *times = arena_alloc(&job->arena, n_most, sizeof *times);
    struct expert_sum *sums = arena_alloc(&job->arena, n_most, sizeof *sums);
    TRY(arena_status(&job->arena, error));
    for (uint32_t p = 0; p < job->programs.n; p++)
        for (uint32_t u = 0; u < job->units[p].n; u++)
            n = list_experts(job, p, &job->units[p].list[u], min_bytes, times, n);
    if (n == 0) {
        made->result.reasons[SUTRA_PIPELINE_EXPERTS] =
            n_most ? "no pass has a dispatch and a combine all-to-all" : "no all-to-all, so no experts";
        return SUTRA_OK;
    }
    qsort(times, n, sizeof *times, compare_expert_times);
    struct sutra_table *table = result_table_begin(&made->result, SUTRA_PIPELINE_EXPERTS);
    made->summary.experts_lost_us = 0;
    for (uint64_t begin = 0, end; begin < n; begin = end) {
        for (end = begin; end < n && times[end].group == times[begin].group && times[end].layer == times[begin].layer;)
            end++;
        made->summary.experts_lost_us += add_layer(job, times + begin, end - begin, sums, table);
    }
    return SUTRA_OK;
}

/* ---- The result ---- */

static enum sutra_status make_tables(struct pipeline_job *job, struct sutra_pipeline *made, struct sutra_error *error) {
    const struct sutra_simulation *simulation = job->simulation;
    const struct change_target target = {simulation->graphs, simulation->ranks, simulation->n, simulation->names};
    if (sutra_simulation_n_deadlocked(simulation)) {
        for (int id = 0; id < SUTRA_PIPELINE_N_TABLES; id++)
            made->result.reasons[id] = "nodes never ran";
        return SUTRA_OK;
    }
    TRY(programs_make(&job->programs, &target, simulation->job->n_matched_collectives, &job->arena, error));
    job->units = arena_alloc(&job->arena, job->programs.n, sizeof *job->units);
    job->stages = arena_alloc(&job->arena, job->programs.n, sizeof *job->stages);
    TRY_ALLOC(!job->arena.failed && programs_stages(&job->programs, &job->arena, job->stages), error);
    for (uint32_t p = 0; p < job->programs.n; p++) {
        TRY_ALLOC(program_units_find(&job->programs, &job->programs.list[p], &job->arena, &job->units[p]), error);
        for (uint32_t s = 0; s < job->units[p].n_steps; s++)
            job->n_steps = MAX(job->n_steps, (uint32_t)job->units[p].steps[s].step + 1);
    }
    TRY(find_bubbles(job, made, error));
    TRY(find_experts(job, made, error));
    return result_status(&made->result, error);
}

enum sutra_status sutra_pipeline_run(struct sutra_context *context, const struct sutra_simulation *simulation,
                                     struct sutra_pipeline **pipeline, struct sutra_error *error) {
    struct sutra_pipeline *made = calloc(1, sizeof *made);
    struct pipeline_job job = {.simulation = simulation};
    TRY_ALLOC(made, error);
    made->summary = (struct sutra_pipeline_summary){
        .n_stages = 1, .bubble_percent = NAN, .ideal_percent = NAN, .experts_lost_us = NAN};
    stage_begin(context, "pipeline", simulation->n);
    enum sutra_status status =
        result_init(&made->result, specs, SUTRA_PIPELINE_N_TABLES) ? SUTRA_OK : error_memory(error);
    if (!status)
        status = make_tables(&job, made, error);
    arena_free(&job.arena);
    stage_end(context);
    if (status)
        sutra_pipeline_free(made);
    else
        *pipeline = made;
    return status;
}

void sutra_pipeline_free(struct sutra_pipeline *pipeline) {
    if (!pipeline)
        return;
    result_free(&pipeline->result);
    free(pipeline);
}

void sutra_pipeline_summary(const struct sutra_pipeline *pipeline, struct sutra_pipeline_summary *summary) {
    report_give(summary, &pipeline->summary, sizeof pipeline->summary);
}
