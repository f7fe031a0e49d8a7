/*
 * gpu_floors.h - lower bounds for the CUDA engine: one radix sort, and copies by cudaMemcpy.
 */
#ifndef BENCH_GPU_FLOORS_H
#define BENCH_GPU_FLOORS_H

#include "match/steps.h"

/* Seconds, each the minimum of some rounds. */
struct gpu_floors {
    double sort;                       /* CUB's radix sort of n random 64-bit keys with 32-bit values */
    double up, down;                   /* cudaMemcpy from and to pinned memory */
    double up_pageable, down_pageable; /* cudaMemcpy from and to ordinary memory */
};

/* Measures on the device of a CUDA engine. bytes_up and bytes_down: the bytes that the copies transfer. */
#ifdef __cplusplus
extern "C"
#endif
    enum sutra_status
    gpu_floors_measure(struct engine *cuda, row_t n, uint64_t bytes_up, uint64_t bytes_down, unsigned n_rounds,
                       struct gpu_floors *floors, struct sutra_error *error);

#endif
