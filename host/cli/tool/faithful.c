/*
 * faithful.c - adds measured times to .et files, and prints simulated time, measured time and the changes.
 *
 *     sutra: 244.280 ms simulated, 244.278 ms measured
 *              623  nodes in the file
 *              ...
 */
#include "cli/tool/faithful.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/tool/figures.h"
#include "cli/tool/message.h"
#include "cli/tool/run_figures.h"

const char *const faithful_gpus[] = {"one", "streams", NULL};

bool faithful_is_asked(const struct faithful_values *values) {
    return values->gpu == GPU_STREAMS || values->rest;
}

static bool read_rest(const char *text, double *us) {
    char *end;
    *us = strtod(text, &end);
    if (*us == 0) /* which would be the default */
        *us = 1e-9;
    return end > text && !*end;
}

int faithful_check(struct faithful_values *values) {
    if (values->rest && !read_rest(values->rest, &values->rest_us))
        return message_fail(SUTRA_USAGE, "--min-idle-us: '%s' is not a number of microseconds", values->rest);
    return SUTRA_OK;
}

struct sutra_faithful_options faithful_options(const struct faithful_values *values) {
    return (struct sutra_faithful_options){.size = sizeof(struct sutra_faithful_options),
                                           .rest_us = values->rest_us,
                                           .gpu_streams = values->gpu == GPU_STREAMS};
}

void faithful_summary_print(const struct sutra_faithful_report *report) {
    const struct summary_row rows[] = {
        {report->n_nodes, "nodes in the file", true},
        {report->n_rests, "  gaps without recorded work", false},
        {report->n_launch_cuts, "  second parts of operators split at a launch", false},
        {report->n_parts, "  parts of kernels that shared the GPU", false},
        {report->n_waits, "synchronizing calls with kernels to wait for", true},
        {report->n_calls_without_kernel, "synchronizing calls without kernels to wait for", false},
        {report->n_blocking_copies, "blocking memcpy calls", false},
        {report->n_pageable_copies, "blocking memcpy calls with pageable memory", false},
        {report->n_orders, "kernels that wait for another stream's event", false},
        {report->n_inferred, "kernels inferred to wait for a kernel of another stream that ended just before", false},
        {report->n_clocked, "kernels started by CPU time, because the cause of their wait is unknown", false},
        {report->n_works, "kernels with known operations and bytes", false},
        {report->n_late, "kernels that start late for an unknown reason", false},
    };
    fprintf(stderr, "sutra: %s simulated,", time_text(report->simulated_us).text);
    fprintf(stderr, " %s measured\n", time_text(report->measured_us).text);
    summary_print(rows, sizeof rows / sizeof *rows);
    if (report->n_late)
        fprintf(stderr, "                  late by %s in total\n", time_text(report->late_us).text);
}

void faithful_warn(const struct sutra_faithful_report *report) {
    if (report->n_never_ran)
        message_warn("%s of the file can never run: internal error, please report it",
                     counted_text(report->n_never_ran, "node", "nodes").text);
    if (!report->departs)
        return;
    struct figure simulated = time_text(report->simulated_us), measured = time_text(report->measured_us);
    message_warn("simulated time %s differs from measured time %s: first at node %" PRIu64 ", which starts %s off",
                 simulated.text, measured.text, report->departs_id, time_text(report->departs_us).text);
}
