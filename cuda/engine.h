/*
 * engine.h - inside of the CUDA engine: its state.
 */
#ifndef CUDA_ENGINE_H
#define CUDA_ENGINE_H

#include "cuda/engine_cuda.h"
#include "cuda/gpu.h"

#include <cstdlib>

struct cuda_engine {
    struct gpu gpu;
    struct cuda_engine_options options;
    bool broken; /* CUDA failed: nothing more is asked of it */
};

/* Fills *engine with the steps on a GPU that is open; `made` is its state. */
void engine_cuda_fill(struct cuda_engine *made, struct engine *engine);

/* Zeroed host memory for n elements, at least one; NULL: none left. */
template <class T> T *host_new(uint64_t n) {
    return static_cast<T *>(calloc(n + 1, sizeof(T)));
}

#endif
