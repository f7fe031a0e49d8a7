/*
 * host_cub.cpp - simple sorts and scans on the CPU, in place of CUB's.
 */
#include "host_cub.h"
#include "host_gpu.h"

#include <algorithm>
#include <numeric>
#include <vector>

template <class Key>
static void sort(const Key *keys, Key *sorted_keys, const row_t *rows, row_t *sorted_rows, row_t n, unsigned bits) {
    uint64_t mask = bits < 64 ? ((uint64_t)1 << bits) - 1 : UINT64_MAX;
    std::vector<row_t> order(n);
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](row_t a, row_t b) { return (keys[a] & mask) < (keys[b] & mask); });
    for (row_t i = 0; i < n; i++) {
        sorted_keys[i] = keys[order[i]];
        sorted_rows[i] = rows[order[i]];
    }
}

/* Takes scratch memory as CUB does, a little more than CUB 3.0 on compute capability 9.0, and releases it. */
static void take_scratch(struct gpu *gpu, uint64_t bytes) {
    size_t mark = gpu_mark(gpu);
    gpu_take_bytes(gpu, bytes);
    gpu_release(gpu, mark);
}

static void take_sort_scratch(struct gpu *gpu, row_t n) {
    take_scratch(gpu, 20480 + n / 2);
}

static void take_scan_scratch(struct gpu *gpu, row_t n) {
    take_scratch(gpu, 1024 + n / 64);
}

static unsigned last_sorted_bits;

unsigned host_cub_sorted_bits(void) {
    return last_sorted_bits;
}

void gpu_sort(struct gpu *gpu, struct pairs *pairs, row_t n, unsigned bits) {
    struct pairs unsorted = *pairs;
    last_sorted_bits = bits;
    if (n == 0 || bits == 0)
        return;
    take_sort_scratch(gpu, n);
    if (gpu_idle(gpu))
        return;
    device_do(gpu, [=] { sort(unsorted.keys, unsorted.other_keys, unsorted.rows, unsorted.other_rows, n, bits); });
    *pairs = {unsorted.other_keys, unsorted.keys, unsorted.other_rows, unsorted.rows};
}

void gpu_sort_rows(struct gpu *gpu, const uint32_t *numbers, uint32_t *sorted_numbers, const row_t *rows,
                   row_t *sorted_rows, row_t n, unsigned bits) {
    take_sort_scratch(gpu, n);
    if (!gpu_idle(gpu))
        device_do(gpu, [=] { sort(numbers, sorted_numbers, rows, sorted_rows, n, bits); });
}

/* A device merges in any grouping: here in runs of 1, 2, 3, ... values, each merged first and then to those before. */
template <class T, T (*merge)(const T *earlier, const T *later)> static void scan(T *values, row_t n) {
    for (row_t begin = 0, length = 1; begin < n; begin += length++) {
        row_t end = n - begin < length ? n : begin + length;
        for (row_t i = begin + 1; i < end; i++)
            values[i] = merge(&values[i - 1], &values[i]);
        for (row_t i = begin; i < end && begin; i++)
            values[i] = merge(&values[begin - 1], &values[i]);
    }
}

template <class T, T (*merge)(const T *earlier, const T *later)>
static void do_scan(struct gpu *gpu, T *values, row_t n) {
    take_scan_scratch(gpu, n);
    if (!gpu_idle(gpu))
        device_do(gpu, [=] { scan<T, merge>(values, n); });
}

static row_t larger(const row_t *a, const row_t *b) {
    return *a > *b ? *a : *b;
}

static row_t sum(const row_t *a, const row_t *b) {
    return *a + *b;
}

struct group_key {
    uint32_t group;
    uint64_t key;
};

static struct group_key larger_in_group(const struct group_key *a, const struct group_key *b) {
    return {b->group, a->group == b->group && a->key > b->key ? a->key : b->key};
}

void gpu_scan_max(struct gpu *gpu, row_t *values, row_t n) {
    do_scan<row_t, larger>(gpu, values, n);
}

void gpu_scan_sum(struct gpu *gpu, row_t *values, row_t n) {
    do_scan<row_t, sum>(gpu, values, n);
}

void gpu_scan_max_in_groups(struct gpu *gpu, const uint32_t *group, const uint64_t *keys, uint64_t *largest, row_t n) {
    take_scan_scratch(gpu, n);
    if (gpu_idle(gpu))
        return;
    device_do(gpu, [=] {
        std::vector<struct group_key> values(n);
        for (row_t i = 0; i < n; i++)
            values[i] = {group[i], keys[i]};
        scan<struct group_key, larger_in_group>(values.data(), n);
        for (row_t i = 0; i < n; i++)
            largest[i] = values[i].key;
    });
}

void gpu_scan_depths(struct gpu *gpu, struct frame_depth *values, row_t n) {
    do_scan<struct frame_depth, frame_depth_merge>(gpu, values, n);
}

void gpu_scan_ends(struct gpu *gpu, struct segment_end *values, row_t n) {
    do_scan<struct segment_end, segment_end_merge>(gpu, values, n);
}
