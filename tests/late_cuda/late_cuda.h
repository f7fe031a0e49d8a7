/*
 * late_cuda.h - what tests tell the CUDA runtime of late_cuda.cpp.
 */
#ifndef TESTS_LATE_CUDA_LATE_CUDA_H
#define TESTS_LATE_CUDA_LATE_CUDA_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The call of this number from here on fails (0: none): an allocation once, as memory has run out, any other for good,
 * as the device is lost. Returns the number of calls since the last time. */
uint64_t late_cuda_fail(uint64_t call);

/* Whether nothing of the device is in use. */
bool late_cuda_is_empty(void);

#ifdef __cplusplus
}
#endif

#endif
