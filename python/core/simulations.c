/*
 * simulations.c - operations: simulate the .et files of a job.
 */
#include "core.h"

#include <stdlib.h>

/* A simulation and its ranks. */
struct simulated {
    struct sutra_simulation *simulation;
    struct sutra_et_ranks *ranks, *scaled; /* scaled NULL: the recorded job */
    struct sutra_simulated_interval interval;
    bool has_interval;
};

static void simulation_release(void *thing) {
    struct simulated *made = thing;
    sutra_simulation_free(made->simulation);
    sutra_et_ranks_free(made->scaled);
    sutra_et_ranks_free(made->ranks);
    free(made);
}

/* numbers[1]: enum sutra_simulated_columns. */
static enum sutra_status simulation_columns(struct job *job, struct sutra_context *context, const void *thing,
                                            const struct sutra_columns_options *options) {
    (void)context;
    (void)options;
    return sutra_simulation_arrow(((const struct simulated *)thing)->simulation,
                                  (enum sutra_simulated_columns)job->numbers[1], &job->stream, &job->error);
}

static PyObject *simulation_report(const void *thing) {
    const struct simulated *made = thing;
    PyObject *dict =
        dict_add(PyDict_New(), "time_ns", PyLong_FromUnsignedLongLong(sutra_simulation_time_ns(made->simulation)));
    dict = dict_add(dict, "n_ranks", PyLong_FromUnsignedLong(sutra_simulation_ranks(made->simulation)));
    dict = dict_add(dict, "n_deadlocked", PyLong_FromUnsignedLongLong(sutra_simulation_n_deadlocked(made->simulation)));
    if (made->has_interval) {
        dict = dict_add(dict, "low_ns", PyLong_FromUnsignedLongLong(made->interval.low_ns));
        dict = dict_add(dict, "high_ns", PyLong_FromUnsignedLongLong(made->interval.high_ns));
        dict = dict_add(dict, "assumes_ring", PyBool_FromLong(made->interval.assumes_ring));
    }
    struct sutra_scaled_layers layers = {.size = sizeof layers};
    if (made->scaled && sutra_et_ranks_layers(made->scaled, &layers))
        dict = dict_add(dict, "n_recorded_layers", PyLong_FromUnsignedLong(layers.n_recorded));
    return dict;
}

static const struct kind simulation_kind = {
    .name = "simulation", .free = simulation_release, .columns = simulation_columns, .report = simulation_report};

#define SIMULATE_NUMBERS 12

/* The number of an option: 0 if it is not set. */
static uint32_t job_count(const struct job *job, size_t i) {
    return job->numbers[i] > 0 && job->numbers[i] <= UINT32_MAX ? (uint32_t)job->numbers[i] : 0;
}

/* Makes the job with the requested numbers of layers, micro-batches and replicas, if any. */
static enum sutra_status scale_job(struct job *job, struct sutra_context *context, struct simulated *made) {
    const struct sutra_scale_options options = {
        .size = sizeof options,
        .layers = job_count(job, 7),
        .micro_batches = job_count(job, 8),
        .data_parallel = job_count(job, 9),
        .ranks_per_host = job_count(job, 10),
        .has_hop = job->numbers[11] >= 0,
        .hop_us = job->numbers[11] >= 0 ? job->numbers[11] : 0,
        .network = job->texts[0],
    };
    if (!options.layers && !options.micro_batches && !options.data_parallel)
        return SUTRA_OK;
    return sutra_et_ranks_scale(context, made->ranks, &options, &made->scaled, &job->error);
}

/* Texts: network, peak rates, scales, files. Numbers: GPU streams (negative: as in the files), CPU threads, alone, no launch
 * latency, no stragglers, bandwidth, number of scales, layers, micro-batches, replicas, ranks per host, hop in us
 * (negative: assumed), then the rank of each file. */
static enum sutra_status run_simulation(struct job *job, struct sutra_context *context) {
    size_t n_changes = (size_t)job->numbers[6], n = job->n_numbers - SIMULATE_NUMBERS;
    if (n_changes > job->n_texts - 2 || n != job->n_texts - 2 - n_changes || n < 1 || n > UINT32_MAX)
        return job_fail(job, SUTRA_USAGE, "the number of ranks differs from the number of files");
    struct simulated *made = calloc(1, sizeof *made);
    uint64_t *numbers = calloc(n, sizeof *numbers);
    job->thing = made;
    if (!made || !numbers) {
        free(numbers);
        return job_fail(job, SUTRA_SYSTEM, "out of memory");
    }
    for (size_t i = 0; i < n; i++)
        numbers[i] = (uint64_t)job->numbers[SIMULATE_NUMBERS + i];
    enum sutra_status status = sutra_et_ranks_read(context, (const char *const *)job->texts + 2 + n_changes, numbers,
                                                   (uint32_t)n, &made->ranks, &job->error);
    free(numbers);
    if (!status)
        status = scale_job(job, context, made);
    if (status)
        return status;
    const struct sutra_et_ranks *ranks = made->scaled ? made->scaled : made->ranks;
    const struct sutra_simulate_options options = {
        .size = sizeof options,
        .gpu_streams = job->numbers[0] < 0 ? sutra_et_ranks_gpu_streams(made->ranks) : job->numbers[0] != 0,
        .cpu_threads = job->numbers[1] != 0,
        .alone = job->numbers[2] != 0,
        .scales = (const char *const *)job->texts + 2,
        .n_scales = n_changes,
        .no_launch_latency = job->numbers[3] != 0,
        .no_straggler = job->numbers[4] != 0,
        .bandwidth = job->numbers[5],
        .network = job->texts[0],
        .peaks = job->texts[1],
    };
    status = sutra_simulate_ranks(context, ranks, &options, &made->simulation, &job->error);
    made->has_interval = job_count(job, 9);
    made->interval.size = sizeof made->interval;
    if (!status && made->has_interval)
        status = sutra_simulate_interval(context, ranks, &options, &made->interval, &job->error);
    return status;
}

static enum sutra_status run_simulation_trace(struct job *job, struct sutra_context *context) {
    const struct simulated *made = job->things[0]->thing;
    return sutra_simulation_write_trace(context, made->simulation, job->texts[0], &job->number, &job->error);
}

/* ---- Pipeline bubbles and experts ---- */

DEFINE_FREE(pipeline)

static PyObject *pipeline_report(const void *thing) {
    static const struct member members[] = {REAL(sutra_pipeline_summary, bubble_percent),
                                            REAL(sutra_pipeline_summary, ideal_percent),
                                            REAL(sutra_pipeline_summary, experts_lost_us),
                                            {0}};
    struct sutra_pipeline_summary summary = {.size = sizeof summary};
    sutra_pipeline_summary(thing, &summary);
    PyObject *dict = dict_from_members(&summary, members);
    dict = dict_add(dict, "n_stages", PyLong_FromUnsignedLong(summary.n_stages));
    return dict_add(dict, "n_micro_batches", PyLong_FromUnsignedLong(summary.n_micro_batches));
}

static const struct kind pipeline_kind = {
    .name = "pipeline", .free = pipeline_release, .result = own_result, .report = pipeline_report};

static enum sutra_status run_pipeline(struct job *job, struct sutra_context *context) {
    const struct simulated *simulated = job->things[0]->thing;
    RETURN_THING(job, sutra_pipeline_run(context, simulated->simulation, &made, &job->error), sutra_pipeline);
}

static enum sutra_status run_pipeline_page(struct job *job, struct sutra_context *context) {
    return sutra_report_write_pipeline(context, job->things[0]->thing, "", job->texts[0], &job->number, &job->error);
}

const struct operation simulation_operations[] = {
    {"simulate", {NULL}, 2, SIMULATE_NUMBERS, RETURNS_THING, run_simulation, &simulation_kind},
    {"pipeline", {"simulation"}, 0, 0, RETURNS_THING, run_pipeline, &pipeline_kind},
    {"pipeline_page", {"pipeline"}, 1, 0, RETURNS_NOTHING, run_pipeline_page, NULL},
    {"simulate_trace", {"simulation"}, 1, 0, RETURNS_NUMBER, run_simulation_trace, NULL},
    {0},
};
