/*
 * measured_et.c - implements measured_et.h.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "base/shared.h"
#include "base/threads.h"
#include "columns/rows.h"
#include "simulate/convert.h"
#include "simulate/et_format.h"
#include "simulate/measured_et.h"
#include "simulate/rank_graph.h"
#include "simulate/replay.h"

/* Two times differ if their difference exceeds this share of the measured time */
#define DEPARTS_SHARE 0.005
/* and this time. */
#define DEPARTS_MIN_US 50.0

/* ---- Check by simulation ---- */

/* Simulates the nodes of one rank, and compares the times with the measured ones. */
static enum sutra_status check_nodes(const struct et_nodes *nodes, bool per_stream, struct pool *pool,
                                     struct arena *arena, struct measured_report *report, struct sutra_error *error) {
    struct rank_graph graph;
    struct replay_times times;
    TRY(rank_graph_make(&graph, nodes, NULL, pool, arena, error));
    TRY(rank_graph_share(&graph, per_stream, per_stream, arena, error));
    const struct replay_graph run = rank_graph_replay(&graph, graph.dur_ns);
    const struct replay_job job = {1, &run, 0, pool};
    TRY_ALLOC(replay_times_alloc(&times, graph.n, arena), error);
    TRY(replay(&job, &times, error));
    report->simulated_us = (double)times.finish_ns / 1000;
    report->n_never_ran = graph.n - times.n_ran;
    const double measured_us = report->timeline.measured_us, most_us = measured_us * DEPARTS_SHARE;
    if (fabs(report->simulated_us - measured_us) <= most_us)
        return SUTRA_OK;

    /* Find the first node whose simulated start differs from the measured start. */
    double first = INFINITY;
    for (row_t i = 0; i < graph.n; i++) {
        if (times.start_ns[i] == TIME_NEVER || nodes->start_us[graph.node[i]] == 0)
            continue;
        double measured = (double)nodes->start_us[graph.node[i]] - report->timeline.origin;
        double simulated = (double)times.start_ns[i] / 1000;
        if (fabs(simulated - measured) > fmax(DEPARTS_MIN_US, most_us) && measured < first) {
            first = measured;
            report->departs = graph.node[i];
            report->departs_us = simulated - measured;
        }
    }
    return SUTRA_OK;
}

/* ---- A rank of a job ---- */

/* The times rounded to nanoseconds, unless they are too large. NULL: out of memory. */
static double *round_to_ns(const double *us, row_t n, struct arena *arena) {
    double *whole = arena_alloc(arena, n, sizeof *whole);
    for (row_t i = 0; whole && i < n; i++)
        whole[i] = fabs(us[i]) < 1e14 ? (double)llround(us[i] * 1e3) / 1e3 : us[i];
    return whole;
}

/* Microseconds since the origin, rounded; 0 for more than 30 years. */
static int64_t mark_us(double time, double origin) {
    double us = time - origin + 0.5;
    return fabs(us) < 1e15 ? (int64_t)us : 0;
}

static bool fill_marks(const struct timeline_input *input, const struct et_nodes *plain,
                       const struct timeline_nodes *nodes, const struct timeline_report *report,
                       struct rank_of_job *job) {
    const struct timeline_kernels *kernels = &input->kernels;
    struct rank_marks *marks = &job->marks;
    *marks = (struct rank_marks){.origin = report->origin,
                                 .end = report->origin + report->measured_us,
                                 .has_ops = input->ops.n > 0,
                                 .id = arena_alloc(job->arena, kernels->n, sizeof *marks->id),
                                 .event = arena_alloc(job->arena, kernels->n, sizeof *marks->event),
                                 .ready_us = arena_alloc(job->arena, kernels->n, sizeof *marks->ready_us),
                                 .done_us = arena_alloc(job->arena, kernels->n, sizeof *marks->done_us),
                                 .bytes = arena_alloc(job->arena, kernels->n, sizeof *marks->bytes)};
    if (job->arena->failed)
        return false;
    if (marks->has_ops) /* kernels are first, then the CPU nodes */
        marks->first_id = nodes->id[kernels->n];
    for (row_t k = 0; k < kernels->n && kernels->event; k++) {
        if (!(kernels->traits[k] & KERNEL_COMMUNICATES))
            continue;
        marks->id[marks->n] = kernels->id[k];
        marks->event[marks->n] = kernels->event[k];
        marks->ready_us[marks->n] = mark_us(nodes->start[k], report->origin);
        marks->done_us[marks->n] = marks->ready_us[marks->n] + mark_us((double)nodes->duration_us[k], 0);
        const row_t row = find_ascending_id(plain->id, plain->n, kernels->id[k]);
        const int64_t bytes = row == plain->n ? 0 : et_integer_or(plain, row, ET_NAME_COMM_SIZE, 0);
        marks->bytes[marks->n++] = MAX(bytes, 0);
    }
    return true;
}

/* A search for operations of kernels, concurrent with the timeline. */
struct work_search {
    struct sutra_converted *converted;
    enum sutra_status status;
    struct sutra_error error;
};

static void search_work(void *arg) {
    struct work_search *search = arg;
    search->status = converted_find_work(search->converted, &search->error);
}

static enum sutra_status build_timeline(struct sutra_context *context, struct sutra_converted *converted,
                                        const struct rank_of_job *job, struct arena *arena,
                                        struct timeline_nodes *timeline, struct timeline_report *report,
                                        struct sutra_error *error) {
    struct timeline_input *input = &converted->times;
    TRY(et_maker_outline(&converted->maker, &converted->nodes, context->pool, error));
    et_timeline_prepare(&converted->nodes, input);
    if (job) {
        /* Kernels of a collective communicate, regardless of their names. */
        for (row_t k = 0; k < input->kernels.n && input->kernels.event; k++)
            if (rows_find(job->events, job->n_events, input->kernels.event[k]) != ROW_NONE)
                input->kernels.traits[k] |= KERNEL_COMMUNICATES;
    }
    /* Ends are sums of recorded times. An end that rounding puts just after the next start would separate the two. */
    input->ops.end = round_to_ns(input->ops.end, input->ops.n, arena);
    input->kernels.end = round_to_ns(input->kernels.end, input->kernels.n, arena);
    input->kernels.launch_end = round_to_ns(input->kernels.launch_end, input->kernels.n, arena);
    TRY(arena_status(arena, error));
    return timeline_build(input, &context->engine, arena, timeline, report, error);
}

static enum sutra_status make_nodes(struct sutra_context *context, struct sutra_converted *converted,
                                    struct rank_of_job *job, struct measured_nodes *made,
                                    struct timeline_report *report, struct sutra_error *error) {
    const struct timeline_input *input = &converted->times;
    const struct et_nodes *plain = &converted->nodes;
    struct arena arena = {0};
    struct timeline_nodes timeline;
    struct work_search search = {.converted = converted};
    struct background_call background_call;
    background_call_begin(&background_call, pool_threads(context->pool) > 1, search_work, &search);
    enum sutra_status status = build_timeline(context, converted, job, &arena, &timeline, report, error);
    background_call_end(&background_call);
    if (!status && search.status)
        status = error_copy(error, search.status, &search.error);
    if (!status)
        status = et_timeline_make(made, job && job->needs_streams ? &job->streams : NULL, plain, &converted->maker,
                                  input, &timeline, context, error);
    if (!status && job && !fill_marks(input, plain, &timeline, report, job))
        status = error_memory(error);
    arena_free(&arena);
    return status;
}

/* Makes the measured nodes in outline. `job` is NULL for a rank alone. SUTRA_SYSTEM: out of memory. O(n log n). */
static enum sutra_status measured_make(struct sutra_context *context, struct sutra_converted *converted,
                                       struct rank_of_job *job, struct measured_report *report,
                                       struct sutra_error *error) {
    struct arena arena = {0};
    struct measured_nodes made;
    struct et_nodes *plain = &converted->nodes;
    const bool per_stream = converted->times.options.per_stream;
    *report = (struct measured_report){.departs = ROW_NONE};
    enum sutra_status status = et_nodes_begin(&made.nodes, error);
    if (!status)
        status = make_nodes(context, converted, job, &made, &report->timeline, error);
    stage_begin(context, "simulate", made.nodes.n);
    if (!status && !job)
        status = check_nodes(&made.nodes, per_stream, context->pool, &arena, report, error);
    stage_end(context);
    arena_free(&arena);
    if (status) {
        et_nodes_free(&made.nodes);
        return status;
    }
    et_nodes_free(plain);
    converted->nodes = made.nodes;
    converted->maker.measured = &converted->nodes;
    converted->maker.plain = made.plain;
    return SUTRA_OK;
}

/* ---- Public functions ---- */

#define MIN_GAP_US 5.0

enum sutra_status converted_make_measured(struct sutra_context *context, struct sutra_converted *converted,
                                          const struct sutra_linked *linked,
                                          const struct sutra_faithful_options *options, struct rank_of_job *job,
                                          struct sutra_faithful_report *report, struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_faithful_options, gpu_streams);
    struct sutra_faithful_options taken;
    struct measured_report made;
    struct timeline_input *times = &converted->times;
    enum sutra_status status = SUTRA_OK;
    TRY(options_copy(&form, options, &taken, error));
    if (!linked && !converted->has_times)
        return error_set(error, SUTRA_USAGE, "the nodes have no times: convert ET+ with keep_times");
    bool of_file = converted->et_plus.document == &converted->document;
    if (of_file && times->ops.n + times->kernels.n == 0)
        return error_set(error, SUTRA_DATA,
                         "no node has a start time and a duration (\"ts\", \"inclusive_dur\"): no linked nodes");
    stage_begin(context, "measured times", converted->maker.n);
    if (linked)
        status = linked_timeline_read(context, linked, &converted->times_arena, times, error);
    converted->has_times = false;
    double min_gap_us = taken.min_gap_us > 0 ? taken.min_gap_us : MIN_GAP_US;
    times->options = (struct timeline_options){.min_gap_us = taken.min_gap_us < 0 ? INFINITY : min_gap_us,
                                               .per_stream = taken.gpu_streams};
    times->options.of_job = job != NULL;
    if (!status)
        status = measured_make(context, converted, job, &made, error);
    arena_free(&converted->times_arena);
    stage_end(context);
    TRY(status);
    const struct timeline_report *timeline = &made.timeline;
    const struct et_nodes *nodes = &converted->nodes;
    const struct sutra_faithful_report filled = {
        .n_nodes = nodes->n,
        .n_gaps = timeline->n_gaps,
        .n_launch_cuts = timeline->n_launch_cuts,
        .n_parts = timeline->n_parts,
        .n_waits = timeline->n_waits,
        .n_blocking_copies = timeline->n_blocking_copies,
        .n_pageable_copies = timeline->n_pageable_copies,
        .n_calls_without_kernel = timeline->n_calls_without_kernel,
        .n_orders = timeline->n_orders,
        .n_inferred = timeline->n_inferred,
        .n_clocked = timeline->n_clocked,
        .n_late = timeline->n_late,
        .late_us = timeline->late_us,
        .measured_us = timeline->measured_us,
        .simulated_us = made.simulated_us,
        .n_never_ran = made.n_never_ran,
        .departs = made.departs != ROW_NONE,
        .departs_id = made.departs == ROW_NONE ? 0 : nodes->id[made.departs],
        .departs_us = made.departs_us,
        .n_works = converted->report.n_works,
    };
    report_give(report, &filled, sizeof filled);
    return SUTRA_OK;
}

enum sutra_status sutra_converted_run_faithful(struct sutra_context *context, struct sutra_converted *converted,
                                               const struct sutra_linked *linked,
                                               const struct sutra_faithful_options *options,
                                               struct sutra_faithful_report *report, struct sutra_error *error) {
    return converted_make_measured(context, converted, linked, options, NULL, report, error);
}
