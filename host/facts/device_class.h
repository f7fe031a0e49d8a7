/*
 * device_class.h - what a piece of work on the device is to a timeline: computation, communication or a copy.
 *
 * Unlike the types of kernels that HTA tells (kernel_type.h), categories count, sets of memory are computation, and
 * AMD's names are known.
 */
#ifndef FACTS_DEVICE_CLASS_H
#define FACTS_DEVICE_CLASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum device_class {
    DEVICE_COMPUTE,
    DEVICE_COMMUNICATION,
    DEVICE_COPY,
    DEVICE_N_CLASSES,
    DEVICE_NO_WORK = DEVICE_N_CLASSES, /* such as synchronisation */
};

/* The class of an event whose category has these roles (facts/names.h). O(length). */
enum device_class device_class_of(uint32_t category, const char *text, size_t length);

/* Whether a kernel of this name communicates, though device_class_of() takes it for computation: collectives of others
 * than NCCL, unless they are only called after what was fused. O(length). */
bool device_is_collective(const char *text, size_t length);

#endif
