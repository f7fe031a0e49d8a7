/*
 * steps.h - the steps of the CUDA engine: for each of match/steps.h gpu_NAME(), to be run by gpu_run(), and for those
 * that are cut pieces_NAME().
 *
 * pieces_NAME() does a step by pieces that fit, after it did not fit as a whole, and returns what gpu_run() would.
 * Sorts and the order between threads are cut anywhere, the others between threads, so that GPU_TOO_SMALL then means
 * that the operators of one thread are too many.
 */
#ifndef CUDA_STEPS_H
#define CUDA_STEPS_H

#include "cuda/gpu.h"

#define WHOLE(name)
#define CUT(name) enum gpu_outcome pieces_##name(struct gpu *gpu, struct name##_step *step);
#define GPU_STEP(name, what, pieces)                                                                                   \
    void gpu_##name(struct gpu *gpu, struct name##_step *step);                                                        \
    pieces(name)
STEPS(GPU_STEP)
#undef GPU_STEP
#undef CUT
#undef WHOLE

#endif
