/*
 * analyze_operators.h - common options and run function of `sutra analyze operators` and `sutra analyze kernels`.
 */
#ifndef CLI_ANALYZE_ANALYZE_OPERATORS_H
#define CLI_ANALYZE_ANALYZE_OPERATORS_H

#include "cli/analyze/analysis.h"
#include "sutra/operators.h"

enum operators_compat { COMPAT_NONE, COMPAT_TRACELENS };

struct operators_values {
    struct analysis_values analysis;
    int compat;
    const char *peaks;
};

#endif
