/*
 * exclusive.h - what the GPU leaves of exclusive durations.
 */
#ifndef CUDA_EXCLUSIVE_H
#define CUDA_EXCLUSIVE_H

#include "cuda/gpu.h"

/* Does the threads again for which left[] is 1, by the CPU, and adds their anomalies; a remark tells the user. Part of
 * a step. */
void exclusive_do_left(struct gpu *gpu, struct exclusive_durations_step *step, const uint8_t *left);

#endif
