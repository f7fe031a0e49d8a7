/*
 * host_cub.h - interface of host_cub.cpp to the GPUs that tests simulate.
 */
#ifndef TESTS_HOST_CUB_H
#define TESTS_HOST_CUB_H

#include <functional>

#include "cuda/gpu.h"

/* Implemented by the simulated GPU: calls work() when the GPU would run it. */
void device_do(struct gpu *gpu, const std::function<void()> &work);

#endif
