/*
 * host_cub.cpp - simple sorts and scans on the CPU, in place of CUB's.
 */
#include "host_cub.h"

#include <algorithm>
#include <numeric>
#include <vector>

void host_sort(const struct pairs &pairs, row_t n, unsigned bits) {
    uint64_t mask = bits < 64 ? ((uint64_t)1 << bits) - 1 : UINT64_MAX;
    std::vector<row_t> order(n);
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(),
                     [&](row_t a, row_t b) { return (pairs.keys[a] & mask) < (pairs.keys[b] & mask); });
    for (row_t i = 0; i < n; i++) {
        pairs.other_keys[i] = pairs.keys[order[i]];
        pairs.other_rows[i] = pairs.rows[order[i]];
    }
}

/* A device merges in any grouping: here in runs of 1, 2, 3, ... values, each merged first and then to those before. */
template <class T, T (*merge)(const T *earlier, const T *later)> static void scan(void *from, row_t n) {
    T *values = static_cast<T *>(from);
    for (row_t begin = 0, length = 1; begin < n; begin += length++) {
        row_t end = n - begin < length ? n : begin + length;
        for (row_t i = begin + 1; i < end; i++)
            values[i] = merge(&values[i - 1], &values[i]);
        for (row_t i = begin; i < end && begin; i++)
            values[i] = merge(&values[begin - 1], &values[i]);
    }
}

static row_t larger(const row_t *a, const row_t *b) {
    return *a > *b ? *a : *b;
}

static row_t sum(const row_t *a, const row_t *b) {
    return *a + *b;
}

void gpu_scan_max(struct gpu *gpu, row_t *values, row_t n) {
    device_scan(gpu, scan<row_t, larger>, values, n);
}

void gpu_scan_sum(struct gpu *gpu, row_t *values, row_t n) {
    device_scan(gpu, scan<row_t, sum>, values, n);
}

void gpu_scan_choices(struct gpu *gpu, struct run_choice *values, row_t n) {
    device_scan(gpu, scan<struct run_choice, run_choice_merge>, values, n);
}

void gpu_scan_begun(struct gpu *gpu, struct begun *values, row_t n) {
    device_scan(gpu, scan<struct begun, begun_merge>, values, n);
}

void gpu_scan_depths(struct gpu *gpu, struct frame_depth *values, row_t n) {
    device_scan(gpu, scan<struct frame_depth, frame_depth_merge>, values, n);
}

void gpu_scan_ends(struct gpu *gpu, struct segment_end *values, row_t n) {
    device_scan(gpu, scan<struct segment_end, segment_end_merge>, values, n);
}
