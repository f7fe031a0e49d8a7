/*
 * device.c - the CUDA devices as callers of the library see them.
 */
#include "sutra/device.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "cuda/engine_cuda.h"

uint32_t sutra_device_count(struct sutra_error *error) {
    char why[160];
    uint32_t n = cuda_device_count(why, sizeof why);
    if (n == 0)
        error_set(error, SUTRA_UNAVAILABLE, "no CUDA device: %s", why);
    return n;
}

enum sutra_status sutra_device_describe(uint32_t number, struct sutra_device_info *device, struct sutra_error *error) {
    struct cuda_device found;
    struct sutra_device_info info = {0};
    uint32_t n = sutra_device_count(error);
    if (n == 0)
        return SUTRA_UNAVAILABLE;
    if (number >= n)
        return error_set(error, SUTRA_USAGE, "no CUDA device %u: the last one is %u", number, n - 1);
    cuda_device_describe(number, &found);
    _Static_assert(sizeof info.name == sizeof found.name && sizeof info.refused == sizeof found.refused, "all of it");
    memcpy(info.name, found.name, sizeof info.name);
    memcpy(info.refused, found.refused, sizeof info.refused);
    info.major = (uint32_t)found.major;
    info.minor = (uint32_t)found.minor;
    info.n_processors = found.n_processors;
    info.memory = found.memory;
    info.free_memory = found.free_memory;
    report_give(device, &info, sizeof info);
    return SUTRA_OK;
}
