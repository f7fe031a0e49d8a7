/*
 * hta_rules.h - what is decided about single kernels and launches, for the CPU and the CUDA engine alike. Times are
 * integers of nanoseconds.
 */
#ifndef ANALYZE_HTA_RULES_H
#define ANALYZE_HTA_RULES_H

#include "columns/number.h"

/* What a stream waited for between two kernels. */
enum idle_cause { IDLE_HOST_WAIT, IDLE_KERNEL_WAIT, IDLE_OTHER, IDLE_N_CAUSES };

/* The cause of a gap that begins where the kernel before ended: the next one was launched only afterwards; it was
 * there already, and the gap is below `delay`, which the device needs between kernels; else something else. A gap below
 * 0 (kernels of one stream that overlap) is below any delay. */
SHARED enum idle_cause idle_cause_of(int64_t last_end, int64_t start, bool has_launch, int64_t launch, int64_t delay) {
    if (has_launch && launch > last_end)
        return IDLE_HOST_WAIT;
    return start - last_end < delay ? IDLE_KERNEL_WAIT : IDLE_OTHER;
}

/* From the end of a launch to the start of its kernel; a kernel may start before the launch returns. */
SHARED int64_t launch_delay_of(int64_t launch, int64_t launch_dur, int64_t start) {
    int64_t delay = start - launch - launch_dur;
    return delay > 0 ? delay : 0;
}

#endif
