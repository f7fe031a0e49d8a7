/*
 * overview_job.h - `sutra analyze TRACE...`: reads device traces of a job; writes findings and a time breakdown.
 */
#ifndef CLI_OVERVIEW_JOB_H
#define CLI_OVERVIEW_JOB_H

#include "cli/analyze/analysis_job.h"

enum overview_format { OVERVIEW_TEXT, OVERVIEW_JSON };

struct overview_values {
    struct analysis_values analysis;
    int format; /* enum overview_format */
    const char *annotation, *peaks;
};

#endif
