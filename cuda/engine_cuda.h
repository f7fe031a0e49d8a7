/*
 * engine_cuda.h - interface of the CUDA engine to the C code: list of devices, and an engine on a device. No CUDA
 * types.
 */
#ifndef CUDA_ENGINE_CUDA_H
#define CUDA_ENGINE_CUDA_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Phases of a step on the GPU, for timing: phase(NAME, text).
 */

#define GPU_PHASES(phase)                                                                                              \
    phase(UP, "up") phase(SORT, "sort") phase(PARENTS, "parents") phase(EXCLUSIVE, "exclusive") phase(ORDER, "order")  \
        phase(DOWN, "down") phase(OTHER, "other")

#define PHASE_NUMBER(name, text) GPU_##name,
enum gpu_phase { GPU_PHASES(PHASE_NUMBER) CUDA_PHASES };
#undef PHASE_NUMBER

#define PHASE_NAME(name, text) text,
#define PHASE_NAMES                                                                                                    \
    { GPU_PHASES(PHASE_NAME) }

#ifdef __cplusplus
extern "C" {
#endif

#include "match/steps.h"

/* A device listed by the CUDA runtime. */
struct cuda_device {
    char name[128];
    int major, minor; /* compute capability */
    uint32_t n_processors;
    uint64_t memory, free_memory; /* bytes */
    char refused[160];            /* why it is unsupported; "": supported */
    uint32_t driver;              /* CUDA version of the driver, such as 13000 for CUDA 13.0 */
};

/* Returns the number of devices. If it is 0, `why` is set to the reason, such as a missing driver. */
uint32_t cuda_device_count(char *why, size_t size);

/* Fills *device for a number below cuda_device_count(). Creates a CUDA context on the device, which remains until the
 * process ends. */
void cuda_device_describe(uint32_t number, struct cuda_device *device);

/* Columns in device memory, for tests: apart from each other, so that sanitizers and checks of the padding between them
 * detect accesses beyond a column. Slow. */
enum cuda_columns {
    COLUMNS_TOGETHER,
    COLUMNS_APART,         /* fresh columns are filled with 0xA5 */
    COLUMNS_APART_UNFILLED /* for tools that detect reads of uninitialized memory */
};

struct cuda_engine_options {
    uint32_t device;
    uint64_t memory; /* maximum bytes on the device; 0: all free memory */
    enum cuda_columns columns;
    bool may_fall_back; /* the CPU does what the device cannot, with a warning; else an error */
    void (*warn)(void *arg, const char *message);
    void (*note)(void *arg, const char *message);
    void *arg;
};

/* Whether there is a device of this number. Errors: SUTRA_UNAVAILABLE: no such device, or no driver. */
enum sutra_status cuda_device_check(uint32_t number, struct sutra_error *error);

/* Opens a device and creates *engine, which uses `pool`. The caller closes it with cuda_engine_close(). Errors:
 * SUTRA_UNAVAILABLE: see cuda_device_check(); the device cannot be opened. */
enum sutra_status cuda_engine_open(struct pool *pool, const struct cuda_engine_options *options, struct engine *engine,
                                   struct sutra_error *error);

/* Lets later steps use another pool, and the callbacks and `may_fall_back` of these options. */
void cuda_engine_serve(struct engine *engine, struct pool *pool, const struct cuda_engine_options *options);
void cuda_engine_close(struct engine *engine);

/* A buffer in host memory; `to` is set to its copy on the device. */
struct cuda_buffer {
    const void *from;
    uint64_t bytes;
    const void *to;
};

/* Copies buffers to the engine's device, into one allocation that the caller frees with cuda_memory_free(), also after
 * the engine is closed. Copies are aligned to 256 bytes and have ended on return. Errors: SUTRA_SYSTEM. */
enum sutra_status cuda_buffers_copy(struct engine *engine, struct cuda_buffer *buffers, size_t n, void **memory,
                                    struct sutra_error *error);
void cuda_memory_free(void *memory);

/* Seconds of kernels and copies by phase since the engine was opened. Measured only after cuda_engine_time(). */
extern const char *const cuda_phase_names[CUDA_PHASES];
void cuda_engine_time(struct engine *engine);
void cuda_engine_seconds(const struct engine *engine, double seconds[CUDA_PHASES]);

/* Work of the device since the engine was opened. */
struct cuda_engine_counts {
    uint64_t n_steps;              /* completed by the device, as a whole or in pieces */
    uint64_t bytes_up, bytes_down; /* copied to the device and from it */
};

void cuda_engine_counts(const struct engine *engine, struct cuda_engine_counts *counts);

#ifdef __cplusplus
}
#endif

#endif
