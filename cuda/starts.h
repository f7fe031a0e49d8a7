/*
 * starts.h - groups of rows with equal start, for rows in the order of their starts.
 */
#ifndef CUDA_STARTS_H
#define CUDA_STARTS_H

#include "cuda/gpu.h"

/* Allocates and fills n rows: for each row, the first row with the same start. */
row_t *starts_find_first(struct gpu *gpu, struct number_column ts, row_t n);

#endif
