/*
 * gpu_floors.cu - implements gpu_floors.h. The engine's own phase times the sort; a host clock times the copies, which
 * reuse one buffer of at most CHUNK bytes.
 */
#include <cuda_runtime.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "cuda/engine.h"

extern "C" {
#include "base/error.h"
#include "gpu_floors.h"
}

#define CHUNK ((size_t)256 << 20)

struct floors_step {
    row_t n;
};

/* The steps of xorshift64*, so that all bits of the keys are significant. */
SHARED void set_random(const struct pairs &pairs, row_t row) {
    uint64_t x = (uint64_t)row + 1;
    for (int i = 0; i < 3; i++) {
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        x *= 0x2545F4914F6CDD1D;
    }
    pairs.keys[row] = x;
    pairs.rows[row] = row;
}

static void run_sort(struct gpu *gpu, struct floors_step *step) {
    struct pairs pairs = pairs_take(gpu, step->n);
    gpu_enter(gpu, GPU_OTHER);
    gpu_each<set_random>(gpu, step->n, pairs);
    gpu_enter(gpu, GPU_SORT);
    gpu_sort(gpu, &pairs, step->n, 64);
    gpu_enter(gpu, GPU_OTHER);
}

static void keep_least(double *least, double seconds) {
    if (*least == 0 || seconds < *least)
        *least = seconds;
}

/* Copies `bytes` bytes, in chunks between the same two buffers; false: CUDA failed. */
static bool time_copy(void *to, const void *from, uint64_t bytes, cudaMemcpyKind kind, double *least) {
    auto begin = std::chrono::steady_clock::now();
    for (uint64_t left = bytes; left;) {
        size_t n = left < CHUNK ? (size_t)left : CHUNK;
        if (cudaMemcpy(to, from, n, kind) != cudaSuccess)
            return false;
        left -= n;
    }
    keep_least(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    return true;
}

enum sutra_status gpu_floors_measure(struct engine *cuda, row_t n, uint64_t bytes_up, uint64_t bytes_down,
                                     unsigned n_rounds, struct gpu_floors *floors, struct sutra_error *error) {
    struct gpu *gpu = &static_cast<struct cuda_engine *>(cuda->state)->gpu;
    struct floors_step step = {n};
    *floors = {};
    for (unsigned i = 0; i < n_rounds; i++) {
        double sort = gpu->seconds[GPU_SORT];
        if (gpu_run<run_sort>(gpu, &step) != GPU_DONE)
            return error_set(error, SUTRA_SYSTEM, "the sort does not fit the GPU, or failed: %s", gpu->failure);
        keep_least(&floors->sort, gpu->seconds[GPU_SORT] - sort);
    }
    void *device = NULL, *pinned = NULL, *pageable = malloc(CHUNK);
    bool ok = pageable && cudaMalloc(&device, CHUNK) == cudaSuccess && cudaMallocHost(&pinned, CHUNK) == cudaSuccess;
    if (ok)
        memset(pageable, 1, CHUNK); /* the first touch of a page is not part of a copy */
    for (unsigned i = 0; i < n_rounds && ok; i++)
        ok = time_copy(device, pinned, bytes_up, cudaMemcpyHostToDevice, &floors->up) &&
             time_copy(device, pageable, bytes_up, cudaMemcpyHostToDevice, &floors->up_pageable) &&
             time_copy(pinned, device, bytes_down, cudaMemcpyDeviceToHost, &floors->down) &&
             time_copy(pageable, device, bytes_down, cudaMemcpyDeviceToHost, &floors->down_pageable);
    enum sutra_status status =
        ok ? SUTRA_OK : error_set(error, SUTRA_SYSTEM, "copies: %s", cudaGetErrorString(cudaGetLastError()));
    cudaFree(device);
    cudaFreeHost(pinned);
    free(pageable);
    return status;
}
