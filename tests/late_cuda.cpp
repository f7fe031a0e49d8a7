/*
 * late_cuda.cpp - a fake CUDA runtime for cuda/runtime.cu that runs operations on the CPU at the latest or earliest
 * moment that CUDA permits.
 *
 * CUDA guarantees only that operations of a stream run in order, after the events that the stream waits for, and before
 * a call that waits for them returns. Runs choose at random between:
 *
 *     late, late     operations run only when the host waits, and only those that it waits for
 *     early copies   copies run before earlier kernels have read the data that the copies overwrite
 *     early kernels  kernels run before earlier copies have written the data that the kernels read
 *
 * An operation without a required event or wait then reads memory of another step, or the fill byte of fresh memory,
 * and results differ. Ends the program where CUDA's behavior is undefined: a copy beyond its allocation or from memory
 * that is not pinned; memory that is freed before its operations have run. Calls of several threads run one after the
 * other.
 */
#include <cuda_runtime.h>

#include "host_cub.h"
#include "host_gpu.h"
#include "late_cuda/late_cuda.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

extern "C" {
#include "base/error.h"
}

#define FRESH_BYTE 0xA5

/* ---- Streams and events ---- */

struct late_stream {
    std::deque<std::function<void()>> work;
    uint64_t n_done;
    bool early;
};

/* The work on a stream up to a moment. NULL: nothing was recorded. */
struct late_event {
    struct late_stream *stream;
    uint64_t n_before;
};

[[noreturn]] static void give_up(const char *what) {
    fprintf(stderr, "late_cuda: %s\n", what);
    abort();
}

static void do_until(struct late_stream *stream, uint64_t n) {
    while (stream->n_done < n) {
        std::function<void()> next = std::move(stream->work.front());
        stream->work.pop_front();
        next();
        stream->n_done++;
    }
}

static uint64_t pushed(const struct late_stream *stream) {
    return stream->n_done + stream->work.size();
}

static void push(struct late_stream *stream, std::function<void()> work) {
    stream->work.push_back(std::move(work));
    if (stream->early)
        do_until(stream, pushed(stream));
}

static void expect(const struct late_event &event) {
    if (event.stream)
        do_until(event.stream, event.n_before);
}

/* ---- Memory ---- */

struct late_device {
    std::map<const uint8_t *, size_t> memory, pinned; /* allocations and their sizes */
    std::vector<struct late_stream *> streams;
    unsigned n_events;
    uint32_t chance;
    uint64_t n_calls, fails_at;      /* calls since late_cuda_fail(), and the one that fails, counted from 1; 0: none */
    bool lost;                       /* a call has failed for good: all that follow do */
    row_t kernels_left = UINT32_MAX; /* until they fail */
};

static struct late_device *late_device() {
    static struct late_device device;
    return &device;
}

/* Each function of the runtime begins with this. */
static std::unique_lock<std::recursive_mutex> lock_device() {
    static std::recursive_mutex mutex;
    return std::unique_lock<std::recursive_mutex>(mutex);
}

/* Each call of CUDA begins with this. A device that is lost forgets its work. */
static cudaError_t call(cudaError_t failure = cudaErrorIllegalAddress) {
    struct late_device *device = late_device();
    if (!device->lost && ++device->n_calls != device->fails_at)
        return cudaSuccess;
    if (failure == cudaErrorMemoryAllocation && !device->lost)
        return failure;
    device->lost = true;
    for (struct late_stream *stream : device->streams) {
        stream->n_done += stream->work.size();
        stream->work.clear();
    }
    return cudaErrorIllegalAddress;
}

static void expect_inside(const std::map<const uint8_t *, size_t> &allocations, const void *from, size_t bytes,
                          const char *what) {
    const uint8_t *begin = static_cast<const uint8_t *>(from);
    auto after = allocations.upper_bound(begin);
    if (after == allocations.begin())
        give_up(what);
    after--;
    if (begin + bytes > after->first + after->second)
        give_up(what);
}

static cudaError_t allocate(std::map<const uint8_t *, size_t> *allocations, void **memory, size_t bytes) {
    cudaError_t result = call(cudaErrorMemoryAllocation);
    if (result)
        return result;
    *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (!*memory)
        return cudaErrorMemoryAllocation;
    memset(*memory, FRESH_BYTE, bytes);
    (*allocations)[static_cast<uint8_t *>(*memory)] = bytes;
    return cudaSuccess;
}

static void release(std::map<const uint8_t *, size_t> *allocations, void *memory) {
    for (const struct late_stream *stream : late_device()->streams)
        if (!stream->work.empty())
            give_up("memory is given back while work waits");
    if (memory && !allocations->erase(static_cast<uint8_t *>(memory)))
        give_up("memory is given back that was not allocated");
    free(memory);
}

cudaError_t cudaMalloc(void **memory, size_t bytes) {
    const auto lock = lock_device();
    return allocate(&late_device()->memory, memory, bytes);
}

cudaError_t cudaFree(void *memory) {
    const auto lock = lock_device();
    cudaError_t result = memory ? call() : cudaSuccess;
    release(&late_device()->memory, memory);
    return result;
}

cudaError_t cudaMallocHost(void **memory, size_t bytes) {
    const auto lock = lock_device();
    return allocate(&late_device()->pinned, memory, bytes);
}

cudaError_t cudaFreeHost(void *memory) {
    const auto lock = lock_device();
    release(&late_device()->pinned, memory);
    return cudaSuccess;
}

/* ---- Calls ---- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
    const auto lock = lock_device();
    if (cudaError_t result = call(cudaErrorMemoryAllocation))
        return result;
    if (flags != cudaStreamNonBlocking)
        give_up("a stream that waits for the default one");
    *stream = new late_stream();
    late_device()->streams.push_back(*stream);
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    const auto lock = lock_device();
    std::vector<struct late_stream *> &streams = late_device()->streams;
    if (!stream->work.empty())
        give_up("a stream is destroyed while work waits");
    streams.erase(std::remove(streams.begin(), streams.end(), stream), streams.end());
    delete stream;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    const auto lock = lock_device();
    if (cudaError_t result = call())
        return result;
    do_until(stream, pushed(stream));
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    const auto lock = lock_device();
    if (cudaError_t result = call())
        return result;
    struct late_event recorded = *event;
    push(stream, [recorded] { expect(recorded); });
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) {
    const auto lock = lock_device();
    if (cudaError_t result = call(cudaErrorMemoryAllocation))
        return result;
    *event = new late_event();
    late_device()->n_events++;
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event) {
    return cudaEventCreateWithFlags(event, 0);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    const auto lock = lock_device();
    late_device()->n_events--;
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    const auto lock = lock_device();
    if (cudaError_t result = call())
        return result;
    *event = {stream, pushed(stream)};
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    const auto lock = lock_device();
    if (cudaError_t result = call())
        return result;
    expect(*event);
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t, cudaEvent_t) {
    const auto lock = lock_device();
    *milliseconds = 1;
    return call();
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream) {
    const auto lock = lock_device();
    if (cudaError_t result = call())
        return result;
    bool up = kind == cudaMemcpyHostToDevice;
    expect_inside(late_device()->memory, up ? to : from, bytes, "a copy beyond its allocation");
    expect_inside(late_device()->pinned, up ? from : to, bytes, "a copy of memory that is not pinned");
    push(stream, [=] { memcpy(to, from, bytes); });
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t stream) {
    const auto lock = lock_device();
    if (cudaError_t result = call())
        return result;
    expect_inside(late_device()->memory, to, bytes, "memory beyond its allocation is filled");
    push(stream, [=] { memset(to, byte, bytes); });
    return cudaSuccess;
}

cudaError_t cudaGetLastError() {
    const auto lock = lock_device();
    return late_device()->lost ? cudaErrorIllegalAddress : cudaSuccess;
}

const char *cudaGetErrorString(cudaError_t) {
    return "an error";
}

cudaError_t cudaGetDeviceCount(int *count) {
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int) {
    *properties = {"late", 1, 0, 2, (size_t)1 << 41};
    return cudaSuccess;
}

/* A step begins with this. */
cudaError_t cudaSetDevice(int device) {
    const auto lock = lock_device();
    std::vector<struct late_stream *> &streams = late_device()->streams;
    late_device()->chance = late_device()->chance * 1664525 + 1013904223;
    for (size_t i = 0; i < streams.size(); i++)
        streams[i]->early = (late_device()->chance >> 16) % 3 == i;
    return device == 0 ? call() : cudaErrorInvalidValue;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, void (*)()) {
    const auto lock = lock_device();
    if (cudaError_t result = call())
        return result;
    attributes->ptxVersion = 10;
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *bytes) {
    const auto lock = lock_device();
    if (cudaError_t result = call())
        return result;
    *free_bytes = *bytes = (size_t)1 << 41;
    return cudaSuccess;
}

/* ---- Kernels, sorts and scans, on the stream of the kernels ---- */

void *device_stream(const struct gpu *gpu); /* runtime.cu */

static cudaStream_t kernels_of(const struct gpu *gpu) {
    return static_cast<cudaStream_t>(device_stream(gpu));
}

/* Columns are the kernel's from the launch on, as with CUDA. */
void device_each(struct gpu *gpu, row_t n, void (*rows)(const void *columns, row_t begin, row_t end),
                 const void *columns, size_t bytes) {
    const auto lock = lock_device();
    if (late_device()->kernels_left == 0) {
        gpu_fail(gpu, "the device was taken away");
        return;
    }
    late_device()->kernels_left--;
    std::vector<uint64_t> copy((bytes + 7) / 8);
    memcpy(copy.data(), columns, bytes);
    push(kernels_of(gpu), [=] { rows(copy.data(), 0, n); });
}

void device_do(struct gpu *gpu, const std::function<void()> &work) {
    const auto lock = lock_device();
    push(kernels_of(gpu), work);
}

/* ---- Control by tests ---- */

uint64_t late_cuda_fail(uint64_t call) {
    uint64_t n_calls = late_device()->n_calls;
    late_device()->n_calls = 0;
    late_device()->fails_at = call;
    late_device()->lost = false;
    return n_calls;
}

bool late_cuda_is_empty(void) {
    const struct late_device *device = late_device();
    return device->memory.empty() && device->pinned.empty() && device->streams.empty() && device->n_events == 0;
}

struct cuda_engine *host_gpu_open(struct pool *pool, const struct cuda_engine_options *options, size_t memory,
                                  row_t fails_from, struct engine *engine) {
    struct cuda_engine_options limited = *options;
    struct sutra_error error;
    limited.memory = memory;
    late_device()->kernels_left = fails_from;
    if (cuda_engine_open(pool, &limited, engine, &error))
        give_up(error.message);
    return static_cast<struct cuda_engine *>(engine->state);
}

void host_gpu_close(struct cuda_engine *made) {
    struct engine engine = {};
    engine.state = made;
    cuda_engine_close(&engine);
    if (!late_cuda_is_empty())
        give_up("the engine is closed and something of it is left");
}
