/*
 * key_sort.cu - see key_sort.h.
 */
#include "cuda/key_sort.h"

#include "cuda/atomic.h"
#include "cuda/bits.h"

#define EXTENT_ROWS 65536u /* rows that share out the keys to find the extremes */

struct key_columns {
    const value_key *keys;
    row_t n;
    struct pairs pairs;
    struct key_extent *extent;
};

SHARED void find_extent(const struct key_columns &c, row_t first) {
    struct key_extent found = {UINT64_MAX, 0};
    for (uint64_t row = first; row < c.n; row += EXTENT_ROWS) {
        uint64_t key = integer_sort_key(c.keys[row]);
        found.least = key < found.least ? key : found.least;
        found.most = key > found.most ? key : found.most;
    }
    keep_least(&c.extent->least, found.least);
    keep_most(&c.extent->most, found.most);
}

SHARED void put_key(const struct key_columns &c, row_t row) {
    c.pairs.keys[row] = integer_sort_key(c.keys[row]) - c.extent->least;
    c.pairs.rows[row] = row;
}

struct sorted_keys keys_sort(struct gpu *gpu, const value_key *keys, row_t n) {
    struct key_extent extent = {UINT64_MAX, 0};
    struct key_columns c = {keys, n, pairs_take(gpu, n), gpu_up(gpu, &extent, 1)};
    gpu_ready(gpu);
    gpu_each<find_extent>(gpu, n < EXTENT_ROWS ? n : EXTENT_ROWS, c);
    gpu_each<put_key>(gpu, n, c);
    gpu_down(gpu, &extent, c.extent, 1);
    gpu_sort(gpu, &c.pairs, n, gpu->planning ? 64 : bits_of(extent.most - extent.least));
    struct sorted_keys sorted = {c.pairs, c.extent};
    return sorted;
}
