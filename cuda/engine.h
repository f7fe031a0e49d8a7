/*
 * engine.h - internal state of the CUDA engine.
 */
#ifndef CUDA_ENGINE_H
#define CUDA_ENGINE_H

#include <cstdlib>

#include "cuda/engine_cuda.h"
#include "cuda/gpu.h"

struct cuda_engine {
    struct gpu gpu;
    struct cuda_engine_options options;
    bool broken; /* after a CUDA failure: do not use the engine again */
};

/* Fills *engine with the steps for the opened GPU; `made` is its state. */
void engine_cuda_fill(struct cuda_engine *made, struct engine *engine);

/* Allocates zeroed host memory for n elements (at least one); NULL: out of memory. */
template <class T> T *host_new(uint64_t n) {
    return static_cast<T *>(calloc(n + 1, sizeof(T)));
}

/*
 * Steps of the CUDA engine: for each step of match/steps.h gpu_NAME(), to be run by gpu_run(), and
 * pieces_NAME() for divisible steps.
 *
 * pieces_NAME() runs a step in pieces after the complete step did not fit into memory, and returns the outcome as
 * gpu_run() does. Sorts and the order between threads are divided between rows, other steps between threads.
 * GPU_TOO_SMALL then means that the operators of one thread do not fit.
 */

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
