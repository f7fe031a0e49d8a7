/*
 * gpu_floors.cu - see gpu_floors.h. Times are those of the engine's own phases, which events on its stream take.
 */
#include <cuda_runtime.h>

#include "cuda/engine.h"

extern "C" {
#include "base/error.h"
#include "gpu_floors.h"
}

struct floors_step {
    row_t n;
    uint64_t bytes;
};

/* The steps of xorshift64*, so that all bits of the keys count. */
SHARED void put_random(const struct pairs &pairs, row_t row) {
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

static void run_floors(struct gpu *gpu, struct floors_step *step) {
    struct pairs pairs = pairs_take(gpu, step->n);
    uint8_t *from = gpu_take_zeros<uint8_t>(gpu, step->bytes), *to = gpu_take<uint8_t>(gpu, step->bytes);
    gpu_enter(gpu, GPU_OTHER);
    gpu_each<put_random>(gpu, step->n, pairs);
    gpu_enter(gpu, GPU_SORT);
    gpu_sort(gpu, &pairs, step->n, 64);
    gpu_enter(gpu, GPU_DOWN);
    if (!gpu_idle(gpu) && cudaMemcpyAsync(to, from, step->bytes, cudaMemcpyDeviceToDevice,
                                          static_cast<cudaStream_t>(device_stream(gpu))) != cudaSuccess)
        gpu_fail(gpu, "copying on the device");
    gpu_enter(gpu, GPU_OTHER);
}

enum sutra_status gpu_floors_measure(struct engine *cuda, row_t n, uint64_t bytes, struct gpu_floors *floors,
                                     struct sutra_error *error) {
    struct gpu *gpu = &static_cast<struct cuda_engine *>(cuda->state)->gpu;
    struct floors_step step = {n, bytes};
    double sort = gpu->seconds[GPU_SORT], copy = gpu->seconds[GPU_DOWN];
    if (gpu_run<run_floors>(gpu, &step) != GPU_DONE)
        return error_set(error, SUTRA_SYSTEM, "the floors do not fit the GPU, or: %s", gpu->failure);
    *floors = {gpu->seconds[GPU_SORT] - sort, gpu->seconds[GPU_DOWN] - copy};
    return SUTRA_OK;
}
