/*
 * exclusive.h - CPU fallback for exclusive durations that the GPU does not compute.
 */
#ifndef CUDA_EXCLUSIVE_H
#define CUDA_EXCLUSIVE_H

#include "cuda/gpu.h"

/* Computes the threads with left[] = 1 on the CPU and adds their anomalies; a remark informs the user. Part of a
 * step. */
void exclusive_do_left(struct gpu *gpu, struct exclusive_durations_step *step, const uint8_t *left);

#endif
