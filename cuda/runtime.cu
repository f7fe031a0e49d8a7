/*
 * runtime.cu - implements the functions of cuda/gpu.h marked "device" with the CUDA runtime: memory, copies through
 * pinned memory, two streams, and the list of devices.
 *
 *     host columns     | block 0 | block 1 | | block 2 | ...        each thread of the pool copies every k-th block
 *                        memcpy |    ^ memcpy
 *                               v    |
 *     pinned memory    | 2 slots of thread 0 | 2 of thread 1 | ...  one is filled while the other is transferred
 *                               |    ^
 *     device columns            v    |                              up on the stream `copies`, down on `kernels`
 *
 * Copies to the device are collected until gpu_ready(), so that threads wait for each other once for all columns.
 * The runtime is linked statically and loads the driver by itself: without one, functions fail with a message, but the
 * program starts.
 */
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

#include "cuda/engine.h"

extern "C" {
#include "base/error.h"
}

/* Bytes of a slot: large enough for full speed, small enough for an early start. */
#define SLOT_BYTES ((size_t)1 << 20)

#define LEAST_BYTES  ((size_t)1 << 17) /* of a block, unless a column has fewer */
#define MOST_COPIERS 16                /* threads that copy: more are not faster than the bus */
#define MOST_COLUMNS 16                /* of a transfer */
#define SPARE        10                /* one tenth of the free memory remains for other programs */
#define MOST_MARKS   64                /* changes of phase recorded until the next wait */

struct mark {
    cudaEvent_t event;
    enum gpu_phase phase; /* that begins here */
};

/* Pinned memory for one block. */
struct pinned_slot {
    uint8_t *bytes;
    cudaEvent_t moved; /* when the last transfer from or to it is done */
};

struct column_copy {
    uint8_t *to;
    const uint8_t *from;
    uint64_t bytes, first_block;
    narrow_bytes *narrow; /* see device_copy_up() */
};

/* Copies of columns between host and device. Copier k does the blocks k, k + n_copiers, ... of all columns. */
struct column_transfer {
    struct gpu_device *device;
    struct column_copy columns[MOST_COLUMNS];
    unsigned n_columns, n_copiers;
    uint64_t bytes, block_bytes, n_blocks;
    bool after_kernels; /* some column is in scratch memory, which the kernels so far may use */
    cudaError_t result[MOST_COPIERS];
};

struct gpu_device {
    int number;
    cudaStream_t copies, kernels;
    cudaEvent_t copied, launched;
    uint8_t *pinned;
    struct pinned_slot slots[MOST_COPIERS][2];
    unsigned next[MOST_COPIERS]; /* slot of each copier to be used next */
    unsigned n_copiers;
    struct column_transfer waiting; /* copies to the device that gpu_ready() starts */
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

/* Clears errors of earlier CUDA calls, so that the first kernel does not report them, and copies of a failed step. */
void device_begin(struct gpu *gpu) {
    cudaGetLastError();
    gpu->device->waiting = {};
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
    cudaError_t result = cudaFree(base);
    if (gpu)
        check(gpu, result, "cudaFree");
}

/* ---- Copies ---- */

struct block {
    uint8_t *to;
    const uint8_t *from;
    size_t bytes;
    narrow_bytes *narrow;
};

static struct block block_at(const struct column_transfer *transfer, uint64_t index) {
    const struct column_copy *column = &transfer->columns[transfer->n_columns - 1];
    while (index < column->first_block)
        column--;
    uint64_t offset = (index - column->first_block) * transfer->block_bytes, left = column->bytes - offset;
    return {column->to + offset, column->from + (column->narrow ? 2 * offset : offset),
            (size_t)(left < transfer->block_bytes ? left : transfer->block_bytes), column->narrow};
}

/* Waits until the last transfer of the copier's next slot is done. */
static cudaError_t next_slot(struct gpu_device *device, size_t copier, struct pinned_slot **slot) {
    *slot = &device->slots[copier][device->next[copier]++ % 2];
    return cudaEventSynchronize((*slot)->moved);
}

static void copy_blocks_up(void *arg, size_t copier) {
    struct column_transfer *transfer = static_cast<struct column_transfer *>(arg);
    struct gpu_device *device = transfer->device;
    cudaError_t result = cudaSetDevice(device->number);
    for (uint64_t i = copier; i < transfer->n_blocks && !result; i += transfer->n_copiers) {
        struct block block = block_at(transfer, i);
        struct pinned_slot *slot;
        result = next_slot(device, copier, &slot);
        if (result)
            break;
        if (block.narrow)
            block.narrow(slot->bytes, block.from, block.bytes);
        else
            memcpy(slot->bytes, block.from, block.bytes);
        result = cudaMemcpyAsync(block.to, slot->bytes, block.bytes, cudaMemcpyHostToDevice, device->copies);
        if (!result)
            result = cudaEventRecord(slot->moved, device->copies);
    }
    transfer->result[copier] = result;
}

/* Copies each block out of its slot while the next one is transferred. */
static void copy_blocks_down(void *arg, size_t copier) {
    struct column_transfer *transfer = static_cast<struct column_transfer *>(arg);
    struct gpu_device *device = transfer->device;
    struct pinned_slot *slot = NULL, *last_slot = NULL;
    struct block block = {}, last = {};
    cudaError_t result = cudaSetDevice(device->number);
    for (uint64_t i = copier; !result && (i < transfer->n_blocks || slot); i += transfer->n_copiers) {
        last_slot = slot;
        last = block;
        slot = NULL;
        if (i < transfer->n_blocks) {
            block = block_at(transfer, i);
            result = next_slot(device, copier, &slot);
            if (!result)
                result = cudaMemcpyAsync(slot->bytes, block.from, block.bytes, cudaMemcpyDeviceToHost, device->kernels);
            if (!result)
                result = cudaEventRecord(slot->moved, device->kernels);
        }
        if (last_slot && !result)
            result = cudaEventSynchronize(last_slot->moved);
        if (last_slot && !result)
            memcpy(last.to, last_slot->bytes, last.bytes);
    }
    transfer->result[copier] = result;
}

static void transfer_add(struct column_transfer *transfer, void *to, const void *from, uint64_t bytes,
                         narrow_bytes *narrow) {
    transfer->columns[transfer->n_columns++] = {static_cast<uint8_t *>(to), static_cast<const uint8_t *>(from), bytes,
                                                0, narrow};
    transfer->bytes += bytes;
}

#define ELEMENT_BYTES 8 /* blocks do not divide elements */

/* Does the copies and clears the transfer. Blocks are as large as slots, or smaller so that each copier has some. */
static void transfer_run(struct gpu *gpu, struct column_transfer *transfer,
                         void (*copy_blocks)(void *transfer, size_t copier), const char *what) {
    struct gpu_device *device = gpu->device;
    uint64_t share = transfer->bytes / (2 * device->n_copiers) / ELEMENT_BYTES * ELEMENT_BYTES;
    transfer->device = device;
    transfer->block_bytes = share < LEAST_BYTES ? LEAST_BYTES : share > SLOT_BYTES ? SLOT_BYTES : share;
    for (unsigned i = 0; i < transfer->n_columns; i++) {
        transfer->columns[i].first_block = transfer->n_blocks;
        transfer->n_blocks += (transfer->columns[i].bytes + transfer->block_bytes - 1) / transfer->block_bytes;
    }
    transfer->n_copiers = transfer->n_blocks < device->n_copiers ? (unsigned)transfer->n_blocks : device->n_copiers;
    pool_run(gpu->pool, transfer->n_copiers, copy_blocks, transfer);
    for (unsigned i = 0; i < transfer->n_copiers; i++)
        check(gpu, transfer->result[i], what);
    *transfer = {};
}

/* Starts the collected copies. */
static void start_copies(struct gpu *gpu) {
    struct gpu_device *device = gpu->device;
    if (device->waiting.n_columns == 0)
        return;
    if (!device->waiting.after_kernels ||
        (check(gpu, cudaEventRecord(device->launched, device->kernels), "cudaEventRecord") &&
         check(gpu, cudaStreamWaitEvent(device->copies, device->launched, 0), "cudaStreamWaitEvent")))
        transfer_run(gpu, &device->waiting, copy_blocks_up, "copying to the device");
}

void device_copy_up(struct gpu *gpu, void *to, const void *from, uint64_t bytes, narrow_bytes *narrow) {
    if (gpu->device->waiting.n_columns == MOST_COLUMNS)
        start_copies(gpu);
    if (gpu->failed)
        return;
    transfer_add(&gpu->device->waiting, to, from, bytes, narrow);
    gpu->device->waiting.after_kernels |= gpu->taking == GPU_SCRATCH;
}

void device_copy_down(struct gpu *gpu, void *to, const void *from, uint64_t bytes) {
    struct column_transfer transfer = {};
    transfer_add(&transfer, to, from, bytes, NULL);
    transfer_run(gpu, &transfer, copy_blocks_down, "copying from the device");
}

void device_ready(struct gpu *gpu) {
    struct gpu_device *device = gpu->device;
    if (!gpu_idle(gpu))
        start_copies(gpu);
    if (!gpu_idle(gpu) && check(gpu, cudaEventRecord(device->copied, device->copies), "cudaEventRecord"))
        check(gpu, cudaStreamWaitEvent(device->kernels, device->copied, 0), "cudaStreamWaitEvent");
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
    int driver = 0;
    memset(device, 0, sizeof *device);
    if (cudaDriverGetVersion(&driver) == cudaSuccess)
        device->driver = (uint32_t)driver;
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
    if (device->pinned)
        cudaFreeHost(device->pinned);
    for (struct pinned_slot(&slots)[2] : device->slots)
        for (struct pinned_slot &slot : slots)
            if (slot.moved)
                cudaEventDestroy(slot.moved);
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
    device->n_copiers = pool_threads(gpu->pool) < MOST_COPIERS ? pool_threads(gpu->pool) : MOST_COPIERS;
    ok = ok &&
         check(gpu, cudaMallocHost(&device->pinned, 2 * device->n_copiers * SLOT_BYTES), "allocating pinned memory");
    for (unsigned i = 0; i < 2 * device->n_copiers && ok; i++) {
        struct pinned_slot *slot = &device->slots[i / 2][i % 2];
        slot->bytes = device->pinned + i * SLOT_BYTES;
        ok = check(gpu, cudaEventCreateWithFlags(&slot->moved, untimed), "cudaEventCreate");
    }
    if (ok)
        gpu->limit = memory ? (size_t)memory : free_bytes - free_bytes / SPARE;
    return ok;
}

enum sutra_status cuda_device_check(uint32_t number, struct sutra_error *error) {
    char why[160];
    uint32_t n = cuda_device_count(why, sizeof why);
    if (n == 0)
        return error_set(error, SUTRA_UNAVAILABLE, "no CUDA device: %s", why);
    if (number >= n)
        return error_set(error, SUTRA_UNAVAILABLE, "no CUDA device %u: there are %u, see sutra devices", number, n);
    return SUTRA_OK;
}

enum sutra_status cuda_engine_open(struct pool *pool, const struct cuda_engine_options *options, struct engine *engine,
                                   struct sutra_error *error) {
    TRY(cuda_device_check(options->device, error));
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
