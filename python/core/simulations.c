/*
 * simulations.c - operations: simulate the .et files of a job.
 */
#include "core.h"

#include <stdlib.h>

/* A simulation and its input files. */
struct simulated {
    struct sutra_simulation *simulation;
    uint64_t *ranks;
    uint32_t n;
    struct sutra_et *ets[];
};

static void simulation_release(void *thing) {
    struct simulated *made = thing;
    sutra_simulation_free(made->simulation);
    for (uint32_t i = 0; i < made->n; i++)
        sutra_et_free(made->ets[i]);
    free(made->ranks);
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
    const struct sutra_simulation *simulation = ((const struct simulated *)thing)->simulation;
    PyObject *dict =
        dict_add(PyDict_New(), "time_ns", PyLong_FromUnsignedLongLong(sutra_simulation_time_ns(simulation)));
    dict = dict_add(dict, "n_ranks", PyLong_FromUnsignedLong(sutra_simulation_ranks(simulation)));
    return dict_add(dict, "n_deadlocked", PyLong_FromUnsignedLongLong(sutra_simulation_n_deadlocked(simulation)));
}

static const struct kind simulation_kind = {
    .name = "simulation", .free = simulation_release, .columns = simulation_columns, .report = simulation_report};

#define SIMULATE_NUMBERS 7

/* Texts: network, scales, files. Numbers: GPU streams (negative: as in the first file), CPU threads, alone, no launch
 * latency, no stragglers, bandwidth, number of scales, then the rank of each file. */
static enum sutra_status run_simulation(struct job *job, struct sutra_context *context) {
    size_t n_changes = (size_t)job->numbers[6], n = job->n_numbers - SIMULATE_NUMBERS;
    if (n_changes > job->n_texts - 1 || n != job->n_texts - 1 - n_changes || n < 1 || n > UINT32_MAX)
        return job_fail(job, SUTRA_USAGE, "the number of ranks differs from the number of files");
    struct simulated *made = calloc(1, sizeof *made + n * sizeof *made->ets);
    if (!made)
        return job_fail(job, SUTRA_SYSTEM, "out of memory");
    job->thing = made;
    made->n = (uint32_t)n;
    made->ranks = calloc(n, sizeof *made->ranks);
    if (!made->ranks)
        return job_fail(job, SUTRA_SYSTEM, "out of memory");
    for (uint32_t i = 0; i < made->n; i++) {
        made->ranks[i] = (uint64_t)job->numbers[SIMULATE_NUMBERS + i];
        enum sutra_status status =
            sutra_et_read(context, job->texts[1 + n_changes + i], NULL, &made->ets[i], &job->error);
        if (status)
            return status;
    }
    const struct sutra_simulate_options options = {
        .size = sizeof options,
        .gpu_streams = job->numbers[0] < 0 ? sutra_et_gpu_streams(made->ets[0]) : job->numbers[0] != 0,
        .cpu_threads = job->numbers[1] != 0,
        .alone = job->numbers[2] != 0,
        .scales = (const char *const *)job->texts + 1,
        .n_scales = n_changes,
        .no_launch_latency = job->numbers[3] != 0,
        .no_straggler = job->numbers[4] != 0,
        .bandwidth = job->numbers[5],
        .network = job->texts[0],
    };
    return sutra_simulate(context, (const struct sutra_et *const *)made->ets, made->ranks, made->n, &options,
                          &made->simulation, &job->error);
}

static enum sutra_status run_simulation_trace(struct job *job, struct sutra_context *context) {
    const struct simulated *made = job->things[0]->thing;
    return sutra_simulation_write_trace(context, made->simulation, job->texts[0], &job->number, &job->error);
}

const struct operation simulation_operations[] = {
    {"simulate", {NULL}, 2, SIMULATE_NUMBERS, RETURNS_THING, run_simulation, &simulation_kind},
    {"simulate_trace", {"simulation"}, 1, 0, RETURNS_NUMBER, run_simulation_trace, NULL},
    {0},
};
