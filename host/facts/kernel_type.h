/*
 * kernel_type.h - what kind of work a GPU operator does, told by its name.
 */
#ifndef FACTS_KERNEL_TYPE_H
#define FACTS_KERNEL_TYPE_H

#include <stddef.h>

enum kernel_type { KERNEL_COMPUTATION, KERNEL_COMMUNICATION, KERNEL_MEMORY, KERNEL_OTHER, KERNEL_N_TYPES };

/* "COMPUTATION" and so on. */
extern const char *const kernel_type_names[KERNEL_N_TYPES];

/* The type of a kernel of this name. O(length). */
enum kernel_type kernel_type_of(const char *name, size_t length);

#endif
