/*
 * runtime.cu - what cuda/gpu.h asks of a device, by the CUDA runtime: memory, copies through pinned memory, two
 * streams, and the devices that there are.
 *
 *     host column --memcpy, by all threads--> pinned | pinned --stream `copies`--> device column
 *
 * While one half of the pinned memory is on its way, the other is filled. Results come back the same way on the stream
 * of the kernels. The runtime is linked statically and loads the driver by itself, so all of this fails with a message,
 * and not when the program starts, where there is none.
 */
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

#include "cuda/engine.h"

extern "C" {
#include "base/error.h"
}

#define STAGED_BYTES ((size_t)8 << 20) /* of each half: large enough for full speed, small enough for an early start */
#define SPARE        10                /* one tenth of the free memory remains for other programs */
#define MOST_MARKS   64                /* changes of phase recorded until the next wait */

struct mark {
    cudaEvent_t event;
    enum gpu_phase phase; /* that begins here */
};

struct gpu_device {
    int number;
    cudaStream_t copies, kernels;
    cudaEvent_t copied, launched;
    uint8_t *staged[2];
    cudaEvent_t moved[2]; /* when the copy from or to each half is done */
    unsigned next;        /* half to be used next */
    struct mark marks[MOST_MARKS];
    unsigned n_marks;
};

static bool check(struct gpu *gpu, cudaError_t result, const char *what) {
    if (result != cudaSuccess) {
        cudaGetLastError(); /* or the next check would find it again */
        gpu_fail(gpu, "%s: %s", what, cudaGetErrorString(result));
    }
    return result == cudaSuccess;
}

/* ---- Memory ---- */

/* Clears errors of earlier CUDA calls, so that the first kernel does not report them. */
void device_begin(struct gpu *gpu) {
    cudaGetLastError();
    check(gpu, cudaSetDevice(gpu->device->number), "cudaSetDevice");
}

bool device_allocate(struct gpu *gpu, uint8_t **base, size_t bytes) {
    void *memory;
    cudaError_t result = cudaMalloc(&memory, bytes);
    if (result == cudaErrorMemoryAllocation)
        cudaGetLastError();
    else if (check(gpu, result, "cudaMalloc"))
        *base = static_cast<uint8_t *>(memory);
    return result == cudaSuccess;
}

void device_free(struct gpu *gpu, uint8_t *base) {
    (void)gpu;
    cudaFree(base);
}

/* ---- Copies ---- */

struct block_copy {
    uint8_t *to;
    const uint8_t *from;
    size_t bytes, n_parts;
};

static void copy_part(void *arg, size_t i) {
    const struct block_copy *copy = static_cast<const struct block_copy *>(arg);
    size_t begin = part_start(copy->bytes, copy->n_parts, i), end = part_start(copy->bytes, copy->n_parts, i + 1);
    memcpy(copy->to + begin, copy->from + begin, end - begin);
}

/* A memcpy by as many threads as it is worth. */
static void copy_block(struct gpu *gpu, void *to, const void *from, size_t bytes) {
    struct block_copy copy = {static_cast<uint8_t *>(to), static_cast<const uint8_t *>(from), bytes, 1};
    copy.n_parts = bytes / 262144 + 1 < pool_threads(gpu->pool) ? bytes / 262144 + 1 : pool_threads(gpu->pool);
    if (copy.n_parts == 1)
        copy_part(&copy, 0);
    else
        pool_run(gpu->pool, copy.n_parts, copy_part, &copy);
}

/* Scratch memory may have been another column's a moment ago, so copies to it wait for the kernels so far. */
static void order_copies(struct gpu *gpu) {
    struct gpu_device *device = gpu->device;
    if (gpu->taking == GPU_SCRATCH && check(gpu, cudaEventRecord(device->launched, device->kernels), "cudaEventRecord"))
        check(gpu, cudaStreamWaitEvent(device->copies, device->launched, 0), "cudaStreamWaitEvent");
}

void gpu_copy_up(struct gpu *gpu, void *to, const void *from, uint64_t bytes) {
    struct gpu_device *device = gpu->device;
    if (gpu_idle(gpu) || bytes == 0)
        return;
    order_copies(gpu);
    for (uint64_t at = 0; at < bytes && !gpu->failed; at += STAGED_BYTES) {
        size_t n = bytes - at < STAGED_BYTES ? bytes - at : STAGED_BYTES;
        unsigned half = device->next++ % 2;
        check(gpu, cudaEventSynchronize(device->moved[half]), "waiting for a copy");
        copy_block(gpu, device->staged[half], static_cast<const uint8_t *>(from) + at, n);
        check(gpu,
              cudaMemcpyAsync(static_cast<uint8_t *>(to) + at, device->staged[half], n, cudaMemcpyHostToDevice,
                              device->copies),
              "copying to the device");
        check(gpu, cudaEventRecord(device->moved[half], device->copies), "cudaEventRecord");
    }
}

void gpu_ready(struct gpu *gpu) {
    struct gpu_device *device = gpu->device;
    if (!gpu_idle(gpu) && check(gpu, cudaEventRecord(device->copied, device->copies), "cudaEventRecord"))
        check(gpu, cudaStreamWaitEvent(device->kernels, device->copied, 0), "cudaStreamWaitEvent");
}

/* Part k is on its way while part k - 1 is copied out of its half. */
void gpu_copy_down(struct gpu *gpu, void *to, const void *from, uint64_t bytes) {
    struct gpu_device *device = gpu->device;
    uint64_t n_parts = (bytes + STAGED_BYTES - 1) / STAGED_BYTES;
    unsigned first = device->next;
    for (uint64_t part = 0; part <= n_parts && n_parts && !gpu_idle(gpu); part++) {
        if (part < n_parts) {
            uint64_t at = part * STAGED_BYTES;
            unsigned half = device->next++ % 2;
            check(gpu, cudaEventSynchronize(device->moved[half]), "waiting for a copy");
            check(gpu,
                  cudaMemcpyAsync(device->staged[half], static_cast<const uint8_t *>(from) + at,
                                  bytes - at < STAGED_BYTES ? bytes - at : STAGED_BYTES, cudaMemcpyDeviceToHost,
                                  device->kernels),
                  "copying from the device");
            check(gpu, cudaEventRecord(device->moved[half], device->kernels), "cudaEventRecord");
        }
        if (part > 0 && !gpu->failed) {
            uint64_t at = (part - 1) * STAGED_BYTES;
            unsigned half = (unsigned)(first + part - 1) % 2;
            if (check(gpu, cudaEventSynchronize(device->moved[half]), "copying from the device"))
                copy_block(gpu, static_cast<uint8_t *>(to) + at, device->staged[half],
                           bytes - at < STAGED_BYTES ? bytes - at : STAGED_BYTES);
        }
    }
}

void gpu_fill(struct gpu *gpu, void *to, int byte, uint64_t bytes) {
    if (!gpu_idle(gpu) && bytes)
        check(gpu, cudaMemsetAsync(to, byte, bytes, gpu->device->kernels), "cudaMemset");
}

/* ---- Kernels and time ---- */

void *device_stream(const struct gpu *gpu) {
    return gpu->device->kernels;
}

void device_check_launch(struct gpu *gpu) {
    check(gpu, cudaGetLastError(), "starting a kernel");
}

void gpu_enter(struct gpu *gpu, enum gpu_phase phase) {
    struct gpu_device *device = gpu->device;
    if (!gpu->timing || gpu_idle(gpu) || device->n_marks == MOST_MARKS)
        return;
    struct mark *mark = &device->marks[device->n_marks];
    if (!mark->event && !check(gpu, cudaEventCreate(&mark->event), "cudaEventCreate"))
        return;
    mark->phase = phase;
    if (check(gpu, cudaEventRecord(mark->event, device->kernels), "cudaEventRecord"))
        device->n_marks++;
}

static void add_times(struct gpu *gpu) {
    struct gpu_device *device = gpu->device;
    for (unsigned i = 0; i + 1 < device->n_marks; i++) {
        float milliseconds = 0;
        if (cudaEventElapsedTime(&milliseconds, device->marks[i].event, device->marks[i + 1].event) == cudaSuccess)
            gpu->seconds[device->marks[i].phase] += milliseconds * 1e-3;
    }
    device->n_marks = 0;
}

void device_wait(struct gpu *gpu) {
    gpu_enter(gpu, GPU_OTHER);
    check(gpu, cudaStreamSynchronize(gpu->device->copies), "waiting for the device");
    check(gpu, cudaStreamSynchronize(gpu->device->kernels), "waiting for the device");
    add_times(gpu);
}

/* ---- Devices ---- */

/* An empty kernel: its launch shows whether the program has code for a device. */
__global__ void probe() {}

uint32_t cuda_device_count(char *why, size_t size) {
    int n = 0, driver = 0;
    cudaError_t result = cudaGetDeviceCount(&n);
    if (size)
        why[0] = '\0';
    if (result == cudaSuccess && n > 0)
        return (uint32_t)n;
    cudaGetLastError();
    if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0)
        snprintf(why, size, "no NVIDIA driver is loaded");
    else if (result == cudaErrorInsufficientDriver)
        snprintf(why, size, "the NVIDIA driver knows CUDA %d.%d, this build needs %d.%d: update the driver",
                 driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    else
        snprintf(why, size, "%s", cudaGetErrorString(result == cudaSuccess ? cudaErrorNoDevice : result));
    return 0;
}

/* Whether work can be done on a device; it becomes the current one. */
static cudaError_t try_device(uint32_t number) {
    cudaFuncAttributes attributes;
    cudaError_t result = cudaSetDevice((int)number);
    if (result == cudaSuccess)
        result = cudaFuncGetAttributes(&attributes, probe);
    if (result != cudaSuccess)
        cudaGetLastError();
    return result;
}

void cuda_device_describe(uint32_t number, struct cuda_device *device) {
    cudaDeviceProp properties;
    size_t free_bytes = 0, bytes = 0;
    memset(device, 0, sizeof *device);
    cudaError_t result = cudaGetDeviceProperties(&properties, (int)number);
    if (result == cudaSuccess) {
        memcpy(device->name, properties.name, sizeof device->name - 1);
        device->major = properties.major;
        device->minor = properties.minor;
        device->n_processors = (uint32_t)properties.multiProcessorCount;
        device->memory = properties.totalGlobalMem;
        result = try_device(number);
    }
    if (result == cudaSuccess)
        result = cudaMemGetInfo(&free_bytes, &bytes);
    device->free_memory = free_bytes;
    if (result == cudaErrorNoKernelImageForDevice || result == cudaErrorInvalidDeviceFunction)
        snprintf(device->refused, sizeof device->refused, "this build has no code for compute capability %d.%d",
                 device->major, device->minor);
    else if (result != cudaSuccess)
        snprintf(device->refused, sizeof device->refused, "%s", cudaGetErrorString(result));
}

/* ---- Opening ---- */

static void close_device(struct gpu *gpu) {
    struct gpu_device *device = gpu->device;
    for (int i = 0; i < 2; i++) {
        if (device->staged[i])
            cudaFreeHost(device->staged[i]);
        if (device->moved[i])
            cudaEventDestroy(device->moved[i]);
    }
    for (unsigned i = 0; i < MOST_MARKS; i++)
        if (device->marks[i].event)
            cudaEventDestroy(device->marks[i].event);
    if (device->copied)
        cudaEventDestroy(device->copied);
    if (device->launched)
        cudaEventDestroy(device->launched);
    if (device->copies)
        cudaStreamDestroy(device->copies);
    if (device->kernels)
        cudaStreamDestroy(device->kernels);
    free(device);
}

static bool open_device(struct gpu *gpu, uint64_t memory) {
    struct gpu_device *device = gpu->device;
    size_t free_bytes, bytes;
    const unsigned untimed = cudaEventDisableTiming;
    bool ok = check(gpu, try_device((uint32_t)device->number), "opening the device") &&
              check(gpu, cudaMemGetInfo(&free_bytes, &bytes), "asking for free memory") &&
              check(gpu, cudaStreamCreateWithFlags(&device->copies, cudaStreamNonBlocking), "cudaStreamCreate") &&
              check(gpu, cudaStreamCreateWithFlags(&device->kernels, cudaStreamNonBlocking), "cudaStreamCreate") &&
              check(gpu, cudaEventCreateWithFlags(&device->copied, untimed), "cudaEventCreate") &&
              check(gpu, cudaEventCreateWithFlags(&device->launched, untimed), "cudaEventCreate");
    for (int i = 0; i < 2 && ok; i++)
        ok = check(gpu, cudaEventCreateWithFlags(&device->moved[i], untimed), "cudaEventCreate") &&
             check(gpu, cudaMallocHost(&device->staged[i], STAGED_BYTES), "allocating pinned memory");
    if (ok)
        gpu->limit = memory ? (size_t)memory : free_bytes - free_bytes / SPARE;
    return ok;
}

enum sutra_status cuda_engine_open(struct pool *pool, const struct cuda_engine_options *options, struct engine *engine,
                                   struct sutra_error *error) {
    char why[160];
    uint32_t n = cuda_device_count(why, sizeof why);
    if (n == 0)
        return error_set(error, SUTRA_UNAVAILABLE, "no CUDA device: %s", why);
    if (options->device >= n)
        return error_set(error, SUTRA_UNAVAILABLE, "no CUDA device %u: there are %u, see sutra devices",
                         options->device, n);
    struct cuda_engine *made = host_new<struct cuda_engine>(0);
    struct gpu_device *device = host_new<struct gpu_device>(0);
    if (!made || !device) {
        free(made);
        free(device);
        return error_memory(error);
    }
    made->options = *options;
    made->gpu.pool = pool;
    made->gpu.device = device;
    device->number = (int)options->device;
    if (!open_device(&made->gpu, options->memory)) {
        enum sutra_status status =
            error_set(error, SUTRA_UNAVAILABLE, "CUDA device %u: %s", options->device, made->gpu.failure);
        close_device(&made->gpu);
        free(made);
        return status;
    }
    engine_cuda_fill(made, engine);
    return SUTRA_OK;
}

void cuda_engine_close(struct engine *engine) {
    struct cuda_engine *made = static_cast<struct cuda_engine *>(engine->state);
    gpu_forget(&made->gpu);
    close_device(&made->gpu);
    free(made);
    memset(engine, 0, sizeof *engine);
}

void cuda_engine_time(struct engine *engine) {
    static_cast<struct cuda_engine *>(engine->state)->gpu.timing = true;
}

void cuda_engine_seconds(const struct engine *engine, double seconds[CUDA_PHASES]) {
    memcpy(seconds, static_cast<const struct cuda_engine *>(engine->state)->gpu.seconds, CUDA_PHASES * sizeof *seconds);
}
