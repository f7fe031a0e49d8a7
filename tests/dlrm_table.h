/*
 * dlrm_table.h - the DLRM analysis of small device traces (trace_text.h), and its results as text.
 */
#ifndef TESTS_DLRM_TABLE_H
#define TESTS_DLRM_TABLE_H

#include "analyze/compat/dlrm/dlrm.h"
#include "sutra/sutra.h"
#include "trace_text.h"
#include "unit.h"

#define END "cpu_op end ts=100000+1" /* the last event counts for nothing */

struct text {
    char bytes[4096];
};

__attribute__((format(printf, 2, 3))) static inline void tell(struct text *text, const char *format, ...) {
    size_t length = strlen(text->bytes);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text->bytes + length, sizeof text->bytes - length, format, arguments);
    va_end(arguments);
}

/* An analysis: context, trace and result. */
struct analysis {
    struct sutra_context *context;
    struct sutra_device_trace *trace;
    struct sutra_dlrm *dlrm;
    struct sutra_dlrm_report report;
    struct sutra_error error;
    enum sutra_status status;
    struct text warnings;
};

static inline void take_warning(void *arg, const char *message) {
    tell(arg, "%s\n", message);
}

static inline void analyze(struct analysis *analysis, const char *trace, const struct sutra_dlrm_options *options) {
    *analysis = (struct analysis){.report.size = sizeof analysis->report};
    analysis->context = NEW_CONTEXT(.n_threads = 2, .warning = take_warning, .arg = &analysis->warnings);
    analysis->trace = parse_trace(analysis->context, trace);
    struct sutra_dlrm_options sized = *options;
    sized.size = sizeof sized;
    analysis->status =
        sutra_dlrm_analyze(analysis->context, analysis->trace, &sized, &analysis->dlrm, &analysis->error);
    if (analysis->status == SUTRA_OK)
        sutra_dlrm_report(analysis->dlrm, &analysis->report);
}

static inline void analysis_free(struct analysis *analysis) {
    sutra_dlrm_free(analysis->dlrm);
    sutra_device_trace_free(analysis->trace);
    sutra_context_free(analysis->context);
}

static inline const char *node_name(const struct sutra_dlrm *dlrm, row_t node) {
    return strings_text(&dlrm->trace->strings, dlrm->events->name[dlrm->tree.forest.event[node]]);
}

static inline const char *name_of(const struct analysis *analysis, uint32_t text) {
    return text == SUTRA_DLRM_NONE ? "-" : sutra_dlrm_text(analysis->dlrm, text);
}

#endif
