/*
 * engine_choice.h - which engine does a context's work: the CPU's, or one on a CUDA device, which is opened when it is
 * first wanted and kept.
 */
#ifndef CONTEXT_ENGINE_CHOICE_H
#define CONTEXT_ENGINE_CHOICE_H

#include "cuda/engine_cuda.h"
#include "match/engine.h"
#include "sutra/context.h"
#include "sutra/link.h"

/* Events from which --device auto takes a CUDA device if there is one.
 *
 * That is the least number at which linking is faster with the device, copies included, than on all cores without it.
 * It has not been measured on any GPU yet, so it is never reached. `bench/engine` measures it: the size at which its
 * column "total" passes below the CPU's on all cores, with the time to open the device (column "open") added. */
#define NEVER_FASTER      UINT64_MAX
#define GPU_FASTER_EVENTS NEVER_FASTER

/* Whether a device is worth asking for. */
static inline bool gpu_is_faster(uint64_t n_events, uint64_t faster_from) {
    return faster_from != NEVER_FASTER && n_events >= faster_from;
}

/* That for people. */
void gpu_faster_text(uint64_t faster_from, char *text, size_t size);

struct engine_choice {
    struct engine cpu, cuda; /* cuda.name is NULL while it is not open */
    bool tried;              /* to open it */
    char refused[400];       /* why that failed */
    char told[600];          /* the last note */
    uint64_t faster_from;    /* GPU_FASTER_EVENTS, less in tests */
    struct sutra_stage stages[CUDA_PHASES];
};

/* Makes the choice that the options leave: SUTRA_DEVICE_CUDA opens the device now, or fails. */
enum sutra_status engine_choice_begin(struct sutra_context *context, struct sutra_error *error);
void engine_choice_end(struct sutra_context *context);

/* Chooses the engine for work on so many events, before its first step, and notes the reason. */
void context_expect(struct sutra_context *context, uint64_t n_events);

#endif
