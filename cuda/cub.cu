/*
 * cub.cu - the sorts and scans of cuda/gpu.h, by CUB. CUB is slow to compile, so all of it is here.
 *
 * Each call asks CUB for the size of its scratch memory, takes that, and runs. While a step plans, it only asks.
 */
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/version.cuh>

#include "cuda/gpu.h"

static cudaStream_t stream_of(const struct gpu *gpu) {
    return static_cast<cudaStream_t>(device_stream(gpu));
}

static void check(struct gpu *gpu, cudaError_t result, const char *what) {
    if (result != cudaSuccess)
        gpu_fail(gpu, "%s: %s", what, cudaGetErrorString(result));
}

void gpu_sort(struct gpu *gpu, struct pairs *pairs, row_t n, unsigned bits) {
    cub::DoubleBuffer<uint64_t> keys(pairs->keys, pairs->other_keys);
    cub::DoubleBuffer<row_t> rows(pairs->rows, pairs->other_rows);
    size_t bytes = 0, mark = gpu_mark(gpu);
    if (gpu->failed || n == 0 || bits == 0)
        return;
    check(gpu, cub::DeviceRadixSort::SortPairs(NULL, bytes, keys, rows, n, 0, (int)bits, stream_of(gpu)), "sorting");
    void *scratch = gpu_take_bytes(gpu, bytes);
    if (!gpu_idle(gpu)) {
        check(gpu, cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, rows, n, 0, (int)bits, stream_of(gpu)),
              "sorting");
        *pairs = {keys.Current(), keys.Alternate(), rows.Current(), rows.Alternate()};
    }
    gpu_release(gpu, mark);
}

void gpu_sort_rows(struct gpu *gpu, const uint32_t *numbers, uint32_t *sorted_numbers, const row_t *rows,
                   row_t *sorted_rows, row_t n, unsigned bits) {
    size_t bytes = 0, mark = gpu_mark(gpu);
    if (gpu->failed || n == 0)
        return;
    check(gpu,
          cub::DeviceRadixSort::SortPairs(NULL, bytes, numbers, sorted_numbers, rows, sorted_rows, n, 0, (int)bits,
                                          stream_of(gpu)),
          "sorting");
    void *scratch = gpu_take_bytes(gpu, bytes);
    if (!gpu_idle(gpu))
        check(gpu,
              cub::DeviceRadixSort::SortPairs(scratch, bytes, numbers, sorted_numbers, rows, sorted_rows, n, 0,
                                              (int)bits, stream_of(gpu)),
              "sorting");
    gpu_release(gpu, mark);
}

/* Scans count in int until CUB 2.7, which came with CUDA 12.8. */
#if CUB_VERSION < 200700
#define MOST_SCANNED ((row_t)INT32_MAX)
#else
#define MOST_SCANNED ROW_LIMIT
#endif

/* run(scratch, bytes) is a scan of n values: asks for the size of the scratch memory if `scratch` is NULL. */
template <class Scan> static void scan(struct gpu *gpu, row_t n, Scan run) {
    size_t bytes = 0, mark = gpu_mark(gpu);
    if (n > MOST_SCANNED)
        gpu_fail(gpu, "scanning: the CUDA toolkit of this build scans no more than %u values", MOST_SCANNED);
    if (gpu->failed || n == 0)
        return;
    check(gpu, run(NULL, bytes), "scanning");
    void *scratch = gpu_take_bytes(gpu, bytes);
    if (!gpu_idle(gpu))
        check(gpu, run(scratch, bytes), "scanning");
    gpu_release(gpu, mark);
}

template <class T, class Merge> static void scan_in_place(struct gpu *gpu, T *values, Merge merge, row_t n) {
    scan(gpu, n, [=](void *scratch, size_t &bytes) {
        return cub::DeviceScan::InclusiveScan(scratch, bytes, values, values, merge, n, stream_of(gpu));
    });
}

struct larger {
    template <class T> __host__ __device__ T operator()(T a, T b) const {
        return a > b ? a : b;
    }
};

struct same {
    __host__ __device__ bool operator()(uint32_t a, uint32_t b) const {
        return a == b;
    }
};

struct sum {
    __host__ __device__ row_t operator()(row_t a, row_t b) const {
        return a + b;
    }
};

struct merge_depths {
    __host__ __device__ struct frame_depth operator()(const struct frame_depth &earlier,
                                                      const struct frame_depth &later) const {
        return frame_depth_merge(&earlier, &later);
    }
};

struct merge_ends {
    __host__ __device__ struct segment_end operator()(const struct segment_end &earlier,
                                                      const struct segment_end &later) const {
        return segment_end_merge(&earlier, &later);
    }
};

void gpu_scan_max(struct gpu *gpu, row_t *values, row_t n) {
    scan_in_place(gpu, values, larger(), n);
}

void gpu_scan_sum(struct gpu *gpu, row_t *values, row_t n) {
    scan_in_place(gpu, values, sum(), n);
}

void gpu_scan_max_in_groups(struct gpu *gpu, const uint32_t *group, const uint64_t *keys, uint64_t *largest, row_t n) {
    scan(gpu, n, [=](void *scratch, size_t &bytes) {
        return cub::DeviceScan::InclusiveScanByKey(scratch, bytes, group, keys, largest, larger(), n, same(),
                                                   stream_of(gpu));
    });
}

void gpu_scan_depths(struct gpu *gpu, struct frame_depth *values, row_t n) {
    scan_in_place(gpu, values, merge_depths(), n);
}

void gpu_scan_ends(struct gpu *gpu, struct segment_end *values, row_t n) {
    scan_in_place(gpu, values, merge_ends(), n);
}
