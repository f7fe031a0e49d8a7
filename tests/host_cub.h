/*
 * host_cub.h - sorts and scans of cuda/gpu.h on the CPU, for the CUDA engines of tests; see host_cub.cpp.
 */
#ifndef TESTS_HOST_CUB_H
#define TESTS_HOST_CUB_H

#include "cuda/gpu.h"

/* Sorts as gpu_sort() does; the result is in other_keys and other_rows. */
void host_sort(const struct pairs &pairs, row_t n, unsigned bits);

/* What a GPU that tests play does with a scan: calls scan(values, n) when it is time. */
void device_scan(struct gpu *gpu, void (*scan)(void *values, row_t n), void *values, row_t n);

#endif
