/*
 * dlrm_table.h - small device traces as strings, and the results of the DLRM analysis as text.
 *
 *     OP("aten::a", 10, 5, 11)      an operator from 10 to 15 with external id 11 on thread 1
 *     LAUNCH(12, 1, 7)              a launch with correlation 7
 *     KERNEL("gemm", 20, 14, 3, 7)  a kernel on stream 20 of this launch
 */
#ifndef TESTS_DLRM_TABLE_H
#define TESTS_DLRM_TABLE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/compat/dlrm/dlrm.h"
#include "sutra/sutra.h"

#define EVENT(cat, name, tid, ts, dur, args)                                                                           \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":1,\"tid\":" #tid ",\"ts\":" #ts ",\"dur\":" #dur  \
    ",\"args\":{" args "}}"
#define OP_ON(tid, name, ts, dur, id)  EVENT("cpu_op", name, tid, ts, dur, "\"External id\":" #id)
#define OP(name, ts, dur, id)          OP_ON(1, name, ts, dur, id)
#define OP_OF(name, ts, dur, id, dims) EVENT("cpu_op", name, 1, ts, dur, "\"External id\":" #id ",\"Input dims\":" dims)
#define CALL_ON(tid, name, ts, dur, id)                                                                                \
    EVENT("cuda_runtime", name, tid, ts, dur, "\"correlation\":" #id ",\"External id\":" #id)
#define CALL(name, ts, dur, id) CALL_ON(1, name, ts, dur, id)
#define LAUNCH(ts, dur, id)     CALL("cudaLaunchKernel", ts, dur, id)
#define KERNEL(name, stream, ts, dur, id)                                                                              \
    EVENT("kernel", name, stream, ts, dur, "\"stream\":" #stream ",\"correlation\":" #id ",\"External id\":" #id)
#define LABEL(name, ts, dur) OP(name, ts, dur, 900##ts)
#define END                  EVENT("cpu_op", "end", 1, 100000, 1, "") /* the last event counts for nothing */
#define TRACE(events)        "{\"traceEvents\":[" events "]}"

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
    struct sutra_context_options context_options = {
        .size = sizeof context_options, .n_threads = 2, .warning = take_warning, .arg = &analysis->warnings};
    assert_int_equal(sutra_context_create(&context_options, &analysis->context, &analysis->error), SUTRA_OK);
    analysis->status =
        sutra_device_trace_parse(analysis->context, "trace", trace, strlen(trace), &analysis->trace, &analysis->error);
    assert_int_equal(analysis->status, SUTRA_OK);
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
