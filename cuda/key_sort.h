/*
 * key_sort.h - ids sorted on the GPU, with their rows; in come keys, out go pairs in the order of (key, row).
 *
 * Keys are taken relative to the smallest, and the sort goes through the bits that are left: ids of traces lie close
 * together, but for the odd ones far below (see columns/key.h).
 */
#ifndef CUDA_KEY_SORT_H
#define CUDA_KEY_SORT_H

#include "cuda/gpu.h"

extern "C" {
#include "columns/key.h"
}

struct key_extent {
    uint64_t least, most;
};

struct sorted_keys {
    struct pairs pairs; /* keys are relative to the least */
    const struct key_extent *extent;
};

/* Takes memory for the result and sorts n keys, which are on the GPU. */
struct sorted_keys keys_sort(struct gpu *gpu, const value_key *keys, row_t n);

SHARED value_key sorted_key(const struct sorted_keys &sorted, row_t place) {
    return (value_key)((sorted.pairs.keys[place] + sorted.extent->least) ^ (uint64_t)1 << 63);
}

#endif
