/*
 * starts.h - rows in the order of their starts: which of them begin together.
 */
#ifndef CUDA_STARTS_H
#define CUDA_STARTS_H

#include "cuda/gpu.h"

/* Takes memory for n rows and fills it: the first row that begins with each row. */
row_t *starts_find_first(struct gpu *gpu, struct number_column ts, row_t n);

#endif
