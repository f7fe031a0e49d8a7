/*
 * engine.h - internal state of the CUDA engine.
 */
#ifndef CUDA_ENGINE_H
#define CUDA_ENGINE_H

#include "cuda/engine_cuda.h"
#include "cuda/gpu.h"

#include <cstdlib>

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

#endif
