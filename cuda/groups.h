/*
 * groups.h - group rows by a small number, such as their thread, on the GPU.
 *
 *     rows    | rows of number 0 | rows of number 1 | ... |     ascending in each group
 *     start   0                  start[1]           ...   n
 */
#ifndef CUDA_GROUPS_H
#define CUDA_GROUPS_H

#include "cuda/gpu.h"

/* Groups n rows by number[] (below n_groups, on the GPU). rows[] has n elements, start[] n_groups + 1. Uses scratch
 * memory. */
void groups_fill(struct gpu *gpu, const uint32_t *number, row_t n, uint32_t n_groups, row_t *rows, row_t *start);

#endif
