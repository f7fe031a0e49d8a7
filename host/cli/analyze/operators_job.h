/*
 * operators_job.h - what `sutra analyze operators` and `sutra analyze kernels` share: their values, and the run.
 */
#ifndef CLI_OPERATORS_JOB_H
#define CLI_OPERATORS_JOB_H

#include "cli/analyze/analysis_share.h"
#include "sutra/operators.h"

enum operators_compat { COMPAT_NONE, COMPAT_TRACELENS };

struct operators_values {
    struct analysis_values analysis;
    int format, compat;
    const char *peaks;
};

#endif
