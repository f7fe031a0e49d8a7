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

/* Scans count in int until CUB 2.7, which came with CUDA 12.8. */
#if CUB_VERSION < 200700
#define MOST_SCANNED ((row_t)INT32_MAX)
#else
#define MOST_SCANNED ROW_LIMIT
#endif

template <class T, class Merge> static void scan(struct gpu *gpu, T *values, Merge merge, row_t n) {
    size_t bytes = 0, mark = gpu_mark(gpu);
    if (n > MOST_SCANNED)
        gpu_fail(gpu, "scanning: the CUDA toolkit of this build scans no more than %u values", MOST_SCANNED);
    if (gpu->failed || n == 0)
        return;
    check(gpu, cub::DeviceScan::InclusiveScan(NULL, bytes, values, values, merge, n, stream_of(gpu)), "scanning");
    void *scratch = gpu_take_bytes(gpu, bytes);
    if (!gpu_idle(gpu))
        check(gpu, cub::DeviceScan::InclusiveScan(scratch, bytes, values, values, merge, n, stream_of(gpu)),
              "scanning");
    gpu_release(gpu, mark);
}

struct larger {
    __host__ __device__ row_t operator()(row_t a, row_t b) const {
        return a > b ? a : b;
    }
};

struct sum {
    __host__ __device__ row_t operator()(row_t a, row_t b) const {
        return a + b;
    }
};

struct merge_choices {
    __host__ __device__ struct run_choice operator()(const struct run_choice &earlier,
                                                     const struct run_choice &later) const {
        return run_choice_merge(&earlier, &later);
    }
};

struct merge_begun {
    __host__ __device__ struct begun operator()(const struct begun &earlier, const struct begun &later) const {
        return begun_merge(&earlier, &later);
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
    scan(gpu, values, larger(), n);
}

void gpu_scan_sum(struct gpu *gpu, row_t *values, row_t n) {
    scan(gpu, values, sum(), n);
}

void gpu_scan_choices(struct gpu *gpu, struct run_choice *values, row_t n) {
    scan(gpu, values, merge_choices(), n);
}

void gpu_scan_begun(struct gpu *gpu, struct begun *values, row_t n) {
    scan(gpu, values, merge_begun(), n);
}

void gpu_scan_depths(struct gpu *gpu, struct frame_depth *values, row_t n) {
    scan(gpu, values, merge_depths(), n);
}

void gpu_scan_ends(struct gpu *gpu, struct segment_end *values, row_t n) {
    scan(gpu, values, merge_ends(), n);
}
