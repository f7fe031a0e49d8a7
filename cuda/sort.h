/*
 * sort.h - sort ids with their rows on the GPU: n keys to n pairs in the order of (key, row).
 *
 * Keys are sorted relative to the minimum, so that the radix sort needs fewer bits: ids of traces are close together,
 * except for a few far smaller ones (see columns/key.h).
 */
#ifndef CUDA_SORT_H
#define CUDA_SORT_H

#include "cuda/gpu.h"

extern "C" {
#include "columns/numbers.h"
}

struct key_extent {
    uint64_t least, most;
};

struct sorted_keys {
    struct pairs pairs; /* keys are relative to the minimum */
    const struct key_extent *extent;
};

/* Allocates the result and sorts n keys, which are on the GPU. */
struct sorted_keys keys_sort(struct gpu *gpu, const value_key *keys, row_t n);

SHARED value_key sorted_key(const struct sorted_keys &sorted, row_t place) {
    return (value_key)((sorted.pairs.keys[place] + sorted.extent->least) ^ (uint64_t)1 << 63);
}

#endif
