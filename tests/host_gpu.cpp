/*
 * host_gpu.cpp - implements cuda/gpu.h on the CPU, so that the steps of the CUDA engine run and are compared with the
 * CPU engine on machines without a GPU.
 *
 * Device memory is host memory; AddressSanitizer poisons the parts that are not allocated. Kernels are loops on the
 * threads of a pool, so that ThreadSanitizer detects conflicting accesses of rows. Sorts and scans are simple.
 */
#include "host_gpu.h"
#include "host_cub.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

extern "C" {
#include "base/error.h"
}

struct gpu_device {
    size_t memory;    /* most that can be allocated */
    row_t fails_from; /* number of the kernel from which on all fail */
    row_t n_kernels;
    bool is_wrong; /* results of 10,000 rows and more have a wrong bit */
};

void device_begin(struct gpu *gpu) {
    (void)gpu;
}

bool device_allocate(struct gpu *gpu, uint8_t **base, size_t bytes) {
    size_t other = gpu->memory[GPU_TABLE].size + gpu->memory[GPU_SCRATCH].size;
    if (gpu->columns == COLUMNS_TOGETHER && other + bytes > gpu->device->memory)
        return false;
    *base = static_cast<uint8_t *>(aligned_alloc(256, bytes));
    return *base != NULL;
}

void device_free(struct gpu *gpu, uint8_t *base) {
    (void)gpu;
    free(base);
}

void device_wait(struct gpu *gpu) {
    (void)gpu;
}

void device_copy_up(struct gpu *, void *to, const void *from, uint64_t bytes, narrow_bytes *narrow) {
    if (narrow)
        narrow(to, from, bytes);
    else
        memcpy(to, from, bytes);
}

void device_copy_down(struct gpu *gpu, void *to, const void *from, uint64_t bytes) {
    memcpy(to, from, bytes);
    if (gpu->device->is_wrong && bytes >= 10000 * sizeof(row_t))
        *static_cast<uint8_t *>(to) ^= 1;
}

void device_ready(struct gpu *gpu) {
    (void)gpu;
}

void gpu_fill(struct gpu *gpu, void *to, int byte, uint64_t bytes) {
    if (!gpu_idle(gpu))
        memset(to, byte, bytes);
}

void gpu_enter(struct gpu *gpu, enum gpu_phase phase) {
    gpu->phase = phase;
}

struct kernel {
    void (*rows)(const void *columns, row_t begin, row_t end);
    const void *columns;
    row_t n;
    size_t n_parts;
};

static void run_part(void *arg, size_t i) {
    const struct kernel *kernel = static_cast<const struct kernel *>(arg);
    kernel->rows(kernel->columns, (row_t)part_offset(kernel->n, kernel->n_parts, i),
                 (row_t)part_offset(kernel->n, kernel->n_parts, i + 1));
}

void device_each(struct gpu *gpu, row_t n, void (*rows)(const void *columns, row_t begin, row_t end),
                 const void *columns, size_t) {
    if (gpu->device->n_kernels++ >= gpu->device->fails_from) {
        gpu_fail(gpu, "the device was taken away");
        return;
    }
    struct kernel kernel = {rows, columns, n, pool_threads(gpu->pool)};
    pool_run(gpu->pool, kernel.n_parts, run_part, &kernel);
}

void device_do(struct gpu *gpu, const std::function<void()> &work) {
    (void)gpu;
    work();
}

struct cuda_engine *host_gpu_open(struct pool *pool, const struct cuda_engine_options *options, size_t memory,
                                  row_t fails_from, struct engine *engine) {
    struct cuda_engine *made = host_new<struct cuda_engine>(0);
    made->gpu.device = host_new<struct gpu_device>(0);
    made->gpu.device->memory = memory;
    made->gpu.device->fails_from = fails_from;
    made->gpu.device->is_wrong = getenv("HOST_GPU_WRONG") != NULL;
    made->gpu.pool = pool;
    made->gpu.limit = memory;
    made->options = *options;
    engine_cuda_fill(made, engine);
    return made;
}

void host_gpu_close(struct cuda_engine *made) {
    gpu_forget(&made->gpu);
    free(made->gpu.device);
    free(made);
}

/* ---- As the CUDA engine of a program ---- */

/* Properties of the device that tests set in the environment. */
static uint64_t told(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

uint32_t cuda_device_count(char *why, size_t size) {
    uint32_t n = (uint32_t)told("HOST_GPU_DEVICES", 1);
    snprintf(why, size, "%s", n ? "" : "a test has taken it away");
    return n;
}

/* Only the first can be used. */
void cuda_device_describe(uint32_t number, struct cuda_device *device) {
    *device = {};
    snprintf(device->name, sizeof device->name, "stand-in %u", number);
    device->major = 1;
    device->minor = (int)number;
    device->n_processors = 2;
    device->driver = 13000;
    device->memory = 2000000000;
    device->free_memory = number ? 0 : 1500000000;
    if (number)
        snprintf(device->refused, sizeof device->refused, "this build has no code for compute capability 1.%u", number);
}

enum sutra_status cuda_device_check(uint32_t number, struct sutra_error *error) {
    char why[160];
    uint32_t n = cuda_device_count(why, sizeof why);
    if (number >= n)
        return error_set(error, SUTRA_UNAVAILABLE, "no CUDA device%s%s", n ? " of this number" : ": ", why);
    return SUTRA_OK;
}

enum sutra_status cuda_engine_open(struct pool *pool, const struct cuda_engine_options *options, struct engine *engine,
                                   struct sutra_error *error) {
    TRY(cuda_device_check(options->device, error));
    usleep((useconds_t)told("HOST_GPU_OPENS_IN_US", 0));
    if (told("HOST_GPU_FAILS_TO_OPEN", 0))
        return error_set(error, SUTRA_UNAVAILABLE, "CUDA device %u: a test lets it fail", options->device);
    size_t memory = options->memory ? options->memory : (size_t)1 << 40;
    return host_gpu_open(pool, options, memory, (row_t)told("HOST_GPU_FAILS_FROM", UINT32_MAX), engine)
               ? SUTRA_OK
               : error_memory(error);
}

void cuda_engine_close(struct engine *engine) {
    host_gpu_close(static_cast<struct cuda_engine *>(engine->state));
    *engine = {};
}

void cuda_engine_time(struct engine *engine) {
    (void)engine;
}

void cuda_engine_seconds(const struct engine *engine, double seconds[CUDA_PHASES]) {
    const struct cuda_engine *made = static_cast<const struct cuda_engine *>(engine->state);
    memcpy(seconds, made->gpu.seconds, CUDA_PHASES * sizeof *seconds);
}
