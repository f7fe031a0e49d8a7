/*
 * groups.h - rows brought together by a small number, such as their thread, on the GPU.
 *
 *     rows    | those of number 0 | of number 1 | ... |     rising in each
 *     start   0                   start[1]      ...   n
 */
#ifndef CUDA_GROUPS_H
#define CUDA_GROUPS_H

#include "cuda/gpu.h"

/* In come n numbers below n_groups, on the GPU; rows[] has room for n, start[] for n_groups + 1. Takes scratch memory.
 */
void groups_fill(struct gpu *gpu, const uint32_t *number, row_t n, uint32_t n_groups, row_t *rows, row_t *start);

#endif
