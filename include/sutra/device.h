/*
 * device.h - the CUDA devices of this machine.
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

/* The number of CUDA devices. Where it is 0, *error (which may be NULL) tells why: SUTRA_UNAVAILABLE, such as a missing
 * driver or a build without the CUDA engine. The first call starts the driver, which may take a second. */
uint32_t sutra_device_count(struct sutra_error *error);

/* A device. `size` is sizeof the struct as the caller knows it, and the caller sets it. */
struct sutra_device_info {
    size_t size;
    char name[128];
    uint32_t major, minor; /* compute capability */
    uint32_t n_processors; /* streaming multiprocessors */
    uint64_t memory;       /* bytes */
    uint64_t free_memory;  /* of them */
    char refused[160];     /* why it cannot be used; "" if it can */
};

/* Asks a device about itself, which takes some hundred megabytes of its memory until the process ends. SUTRA_USAGE: no
 * device has this number. */
enum sutra_status sutra_device_describe(uint32_t number, struct sutra_device_info *device, struct sutra_error *error);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
