/*
 * host_gpu.h - runs the CUDA engine's steps on the CPU in tests; see host_gpu.cpp.
 */
#ifndef TESTS_HOST_GPU_H
#define TESTS_HOST_GPU_H

#include "cuda/engine_cuda.h"

#ifdef __cplusplus
#include "cuda/engine.h"
extern "C" {
#endif

struct cuda_engine;

/* An engine on a GPU of `memory` bytes that fails from a kernel on (UINT32_MAX: never). Close it; it keeps the pool. */
struct cuda_engine *host_gpu_open(struct pool *pool, const struct cuda_engine_options *options, size_t memory,
                                  row_t fails_from, struct engine *engine);
void host_gpu_close(struct cuda_engine *made);

/* Bits of the keys of the last sort of pairs. */
unsigned host_cub_sorted_bits(void);

/* A step that writes 7 to n rows of a column and copies the column to result[]: correctly, one row too many, or no row
 * at all. Returns the failure; NULL: none. */
enum broken_step { STEP_WRITES_ALL, STEP_WRITES_BEYOND, STEP_READS_UNWRITTEN };
const char *broken_step_run(struct cuda_engine *made, enum broken_step step, row_t n, uint32_t *result);

/* Calls sum_lanes() with each active lane of a warp as a thread, and returns what each lane returns. False: no threads. */
#define LANES 32
bool warp_sum(uint32_t active, const uint32_t label[LANES], uint64_t sums[LANES][2], bool is_first[LANES]);

#ifdef __cplusplus
}
#endif

#endif
