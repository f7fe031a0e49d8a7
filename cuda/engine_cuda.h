/*
 * engine_cuda.h - the CUDA engine as the rest of the program sees it: devices, and an engine on one of them. Nothing of
 * CUDA shows here.
 */
#ifndef CUDA_ENGINE_CUDA_H
#define CUDA_ENGINE_CUDA_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "cuda/phases.h"
#include "match/engine.h"

/* A device that the CUDA runtime lists. */
struct cuda_device {
    char name[128];
    int major, minor; /* compute capability */
    uint32_t n_processors;
    uint64_t memory, free_memory; /* bytes */
    char refused[160];            /* why it cannot be used; "" if it can */
};

/* The number of devices. Where there are none, `why` tells the reason, such as a missing driver. */
uint32_t cuda_device_count(char *why, size_t size);

/* Asks a device below cuda_device_count() about itself; makes a context on it, which stays until the process ends. */
void cuda_device_describe(uint32_t number, struct cuda_device *device);

struct cuda_engine_options {
    uint32_t device;
    uint64_t memory;    /* most bytes to take on the device; 0: what is free */
    bool may_fall_back; /* the CPU takes over what the device cannot do, with a warning; else that is an error */
    void (*warn)(void *arg, const char *message);
    void (*note)(void *arg, const char *message);
    void *arg;
};

/* Opens a device and makes *engine, which keeps `pool`; close it with cuda_engine_close(). SUTRA_UNAVAILABLE: no such
 * device, or no driver. */
enum sutra_status cuda_engine_open(struct pool *pool, const struct cuda_engine_options *options, struct engine *engine,
                                   struct sutra_error *error);
void cuda_engine_close(struct engine *engine);

/* Seconds of kernels and copies since the engine was opened, by phase; only measured after cuda_engine_time(). */
extern const char *const cuda_phase_names[CUDA_PHASES];
void cuda_engine_time(struct engine *engine);
void cuda_engine_seconds(const struct engine *engine, double seconds[CUDA_PHASES]);

#ifdef __cplusplus
}
#endif

#endif
