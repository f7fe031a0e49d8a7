/*
 * no_cuda.c - replaces the CUDA engine in a build without it: there are no devices, and the reason is reported.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cuda/engine_cuda.h"

#define REASON "this build has no CUDA engine; build again with nvcc of the CUDA toolkit and SUTRA_CUDA=ON to get it"

const char *const cuda_phase_names[CUDA_PHASES] = PHASE_NAMES;

uint32_t cuda_device_count(char *why, size_t size) {
    snprintf(why, size, "%s", REASON);
    return 0;
}

void cuda_device_describe(uint32_t number, struct cuda_device *device) {
    (void)number;
    *device = (struct cuda_device){0};
}

enum sutra_status cuda_device_check(uint32_t number, struct sutra_error *error) {
    (void)number;
    return error_set(error, SUTRA_UNAVAILABLE, "no CUDA device: %s", REASON);
}

enum sutra_status cuda_engine_open(struct pool *pool, const struct cuda_engine_options *options, struct engine *engine,
                                   struct sutra_error *error) {
    (void)pool, (void)engine;
    return cuda_device_check(options->device, error);
}

void cuda_engine_serve(struct engine *engine, struct pool *pool, const struct cuda_engine_options *options) {
    (void)engine, (void)pool, (void)options;
}

void cuda_engine_close(struct engine *engine) {
    *engine = (struct engine){0};
}

enum sutra_status cuda_buffers_copy(struct engine *engine, struct cuda_buffer *buffers, size_t n, void **memory,
                                    struct sutra_error *error) {
    (void)engine, (void)buffers, (void)n, (void)memory;
    return cuda_device_check(0, error);
}

void cuda_memory_free(void *memory) {
    (void)memory;
}

void cuda_engine_time(struct engine *engine) {
    (void)engine;
}

void cuda_engine_seconds(const struct engine *engine, double seconds[CUDA_PHASES]) {
    (void)engine;
    memset(seconds, 0, CUDA_PHASES * sizeof *seconds);
}

void cuda_engine_counts(const struct engine *engine, struct cuda_engine_counts *counts) {
    (void)engine;
    *counts = (struct cuda_engine_counts){0, 0, 0};
}
