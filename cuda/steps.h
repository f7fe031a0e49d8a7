/*
 * steps.h - steps of the CUDA engine: for each step of match/steps.h gpu_NAME(), to be run by gpu_run(), and
 * pieces_NAME() for divisible steps.
 *
 * pieces_NAME() runs a step in pieces after the complete step did not fit into memory, and returns the outcome as
 * gpu_run() does. Sorts and the order between threads are divided between rows, other steps between threads.
 * GPU_TOO_SMALL then means that the operators of one thread do not fit.
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
