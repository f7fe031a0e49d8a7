/*
 * kernel_type.h - what kind of work a GPU operator does, told by its name.
 */
#ifndef FACTS_KERNEL_TYPE_H
#define FACTS_KERNEL_TYPE_H

#include <stdbool.h>
#include <stddef.h>

enum kernel_type { KERNEL_COMPUTATION, KERNEL_COMMUNICATION, KERNEL_MEMORY, KERNEL_OTHER, KERNEL_N_TYPES };

/* "COMPUTATION" and so on. */
extern const char *const kernel_type_names[KERNEL_N_TYPES];

/* The type of a kernel of this name, by the expressions of HTA 0.5. O(length). */
enum kernel_type kernel_type_of(const char *name, size_t length);

/* The same by those of HTA 0.6. They take all that begins with hip for communication, which is kept only with
 * `hip_communicates`; else HIP's copies and sets are of memory, and the rest computes. */
enum kernel_type kernel_type_of_0_6(const char *name, size_t length, bool hip_communicates);

#endif
