/*
 * device.h - CUDA devices of this machine.
 */
#ifndef SUTRA_DEVICE_H
#define SUTRA_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "sutra/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Returns the number of CUDA devices. If it is 0, *error (may be NULL) has the reason as SUTRA_UNAVAILABLE, such as a
 * missing driver or a build without CUDA. The first call initializes the driver, which may take a second. */
uint32_t sutra_device_count(struct sutra_error *error);

/* A device. `size` is sizeof the struct, set by the caller. */
struct sutra_device_info {
    size_t size;
    char name[128];
    uint32_t major, minor; /* compute capability */
    uint32_t n_processors; /* streaming multiprocessors */
    uint64_t memory;       /* bytes */
    uint64_t free_memory;  /* bytes available now */
    char refused[160];     /* why it is unsupported; "": supported */
    uint32_t driver;       /* CUDA version of the driver, such as 13000 for CUDA 13.0 */
};

/* Fills *device. Initializes a CUDA context, which uses several hundred megabytes of the device's memory until the
 * process ends. Errors: SUTRA_USAGE: no device has this number. */
enum sutra_status sutra_device_describe(uint32_t number, struct sutra_device_info *device, struct sutra_error *error);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
