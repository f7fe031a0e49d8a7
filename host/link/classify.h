/*
 * classify.h - what an event of a device trace is to the linker, from its category and name.
 */
#ifndef LINK_CLASSIFY_H
#define LINK_CLASSIFY_H

#include <stdint.h>

#include "columns/device_events.h"
#include "columns/strings.h"
#include "sutra/error.h"

enum event_class { EVENT_OTHER, EVENT_CPU_OP, EVENT_LAUNCH, EVENT_GPU_OP, EVENT_ARROW };

/* Bits of an interned string, as a category and as a name. */
enum string_trait {
    TRAIT_CPU_CATEGORY = 1,       /* cpu_op, user_annotation */
    TRAIT_RUNTIME_CATEGORY = 2,   /* cuda_runtime, cuda_driver */
    TRAIT_GPU_CATEGORY = 4,       /* kernel, gpu_memcpy */
    TRAIT_ARROW_CATEGORY = 8,     /* ac2g */
    TRAIT_LAUNCH_NAME = 16,       /* one of the calls that launch GPU operators */
    TRAIT_STEP_NAME = 32,         /* contains ProfilerStep */
    TRAIT_NCCL_NAME = 64,         /* contains nccl in any case */
    TRAIT_NCCL_KERNEL_NAME = 128, /* contains ncclDevKernel */
    TRAIT_COALESCED_NAME = 256,   /* is nccl:coalesced */
};

/* The traits of every string of a table; the caller frees the array. NULL: out of memory. */
uint16_t *string_traits(const struct strings *strings);

enum event_class event_classify(const struct device_events *events, const uint16_t *traits, row_t event);

#endif
