/*
 * device_time.h - device time of operators, by their names.
 */
#ifndef ANALYZE_DLRM_DEVICE_TIME_H
#define ANALYZE_DLRM_DEVICE_TIME_H

#include "analyze/dlrm/dlrm.h"

struct dlrm_operator_time {
    uint32_t name; /* text */
    uint64_t calls, kernels;
    double us;
};

/* All names of operators that started device work, in the order of first sight; *times lies in the arena. Returns false
 * when memory runs out, and leaves both alone. O(operators + kernels). */
bool dlrm_operator_times(const struct sutra_dlrm *dlrm, struct arena *arena, struct dlrm_operator_time **times,
                         uint32_t *n);

#endif
