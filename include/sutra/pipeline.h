/*
 * pipeline.h - pipeline bubbles and expert balance of a simulated job.
 *
 *     sutra_simulate_ranks() --> sutra_pipeline_run() --> struct sutra_pipeline --> sutra_result_table()
 *                                                                               --> sutra_pipeline_summary()
 *
 * A step of a pipeline stage is a sequence of forward and backward passes, one of each per micro-batch. Times are in
 * microseconds.
 */
#ifndef SUTRA_PIPELINE_H
#define SUTRA_PIPELINE_H

#include <stddef.h>
#include <stdint.h>

#include "sutra/simulate.h"
#include "sutra/table.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct sutra_pipeline;

/* Tables in the order of their files. Each comment lists the keys of a row, then the values. */
enum sutra_pipeline_table {
    SUTRA_PIPELINE_BUBBLES, /* rank, step: window, busy time, bubbles by phase and in percent, ideal bubble */
    SUTRA_PIPELINE_PASSES,  /* rank, step, pass: direction, micro-batch, start, end, busy time, gap before, phase */
    SUTRA_PIPELINE_EXPERTS, /* layer, rank: compute of the experts; imbalance and lost time of the layer */
    SUTRA_PIPELINE_N_TABLES
};

/* Computes the tables from the simulated times. The caller frees *pipeline, which does not use the simulation. A table
 * is missing, with a reason, if the job has no pipeline or no experts. Errors: SUTRA_SYSTEM: out of memory; SUTRA_DATA:
 * the dependencies of a rank form a cycle. */
enum sutra_status sutra_pipeline_run(struct sutra_context *context, const struct sutra_simulation *simulation,
                                     struct sutra_pipeline **pipeline, struct sutra_error *error);
void sutra_pipeline_free(struct sutra_pipeline *pipeline);

struct sutra_pipeline_summary {
    size_t size;
    uint32_t n_stages;        /* largest number of stages; 1: no pipeline */
    uint32_t n_micro_batches; /* largest number per step */
    double bubble_percent;    /* mean over ranks and steps; NaN: no pipeline */
    double ideal_percent; /* (stages - 1) / (micro-batches + stages - 1), for stages of equal time; NaN: no pipeline */
    double experts_lost_us; /* over all layers; NaN: no experts */
};
void sutra_pipeline_summary(const struct sutra_pipeline *pipeline, struct sutra_pipeline_summary *summary);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
