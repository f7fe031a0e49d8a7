/*
 * faithful_result.h - what is told about a file for simulators that keeps the measured times.
 */
#ifndef CLI_FAITHFUL_RESULT_H
#define CLI_FAITHFUL_RESULT_H

#include "sutra/convert.h"

/* Lines of the summary on standard error, to stand before those about the run. */
void faithful_summary_print(const struct sutra_faithful_report *report);

/* Warns where the simulated time is not the measured one. */
void faithful_warn(const struct sutra_faithful_report *report);

#endif
