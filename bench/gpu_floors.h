/*
 * gpu_floors.h - what a GPU needs at least: one radix sort of as many pairs, one copy of as many bytes.
 */
#ifndef BENCH_GPU_FLOORS_H
#define BENCH_GPU_FLOORS_H

#include "match/steps.h"

struct gpu_floors {
    double sort; /* seconds for a CUB radix sort of n random 64-bit keys with 32-bit values */
    double copy; /* seconds to copy so many bytes from one place on the device to another */
};

/* Measures them on the device of a CUDA engine. Shorter than the first time, as of all that is measured here. */
#ifdef __cplusplus
extern "C"
#endif
    enum sutra_status
    gpu_floors_measure(struct engine *cuda, row_t n, uint64_t bytes, struct gpu_floors *floors,
                       struct sutra_error *error);

#endif
