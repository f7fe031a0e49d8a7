/*
 * overview_trace.h - the overview of a small device trace as a line of text.
 *
 *     "compute 0-10 | host 10-25 aten::mm | launch 25-31 | compute 31-40"        microseconds; a name is the frame's
 */
#ifndef TESTS_OVERVIEW_TRACE_H
#define TESTS_OVERVIEW_TRACE_H

#include "analyze/operators/operators.h"
#include "analyze/overview/overview.h"
#include "hta_table.h"

/* An overview with the objects that it refers to. */
struct overviewed {
    struct sutra_context *context;
    struct sutra_device_trace *trace;
    struct arena arena, scratch;
    struct launch_model model;
    struct overview overview;
};

static inline void overview_of(const char *text, unsigned n_threads, struct overviewed *made) {
    struct sutra_error error;
    *made = (struct overviewed){.context = make_context(n_threads)};
    made->trace = parse_trace(made->context, text);
    assert_int_equal(
        launch_model_build(made->context, made->trace, 0, &made->arena, &made->scratch, &made->model, &error),
        SUTRA_OK);
    assert_int_equal(overview_make(made->context, &made->model, &made->arena, &made->scratch, &made->overview, &error),
                     SUTRA_OK);
}

static inline void overview_forget(struct overviewed *made) {
    arena_free(&made->arena);
    arena_free(&made->scratch);
    sutra_device_trace_free(made->trace);
    sutra_context_free(made->context);
}

static inline void tell_overview(const struct overview *overview, char *text) {
    static const char *const kinds[] = {"compute", "communication", "copy", "queued", "not started",
                                        "slow",    "launch",        "load", "sync",   "set-up",
                                        "drained", "host",          "?",    "after"};
    *text = 0;
    for (row_t i = 0; i < overview->n_rows; i++) {
        const struct overview_row *row = &overview->rows[i];
        text += sprintf(text, "%s%s %g-%g", i ? " | " : "", kinds[row->kind], (double)row->begin / 1000,
                        (double)row->end / 1000);
        if (row->frame != ROW_NONE)
            text +=
                sprintf(text, " %s", strings_text(overview->model->strings, host_name(overview->model, row->frame)));
    }
}

#endif
