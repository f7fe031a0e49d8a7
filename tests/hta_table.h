/*
 * hta_table.h - analyses of small device traces (trace_text.h), and their tables as one line of text.
 *
 * A table is written row by row, "0,7,host_wait,12.0,1.0 | 0,7,other,0.0,0.0"; a number that could not be computed is
 * "-".
 */
#ifndef TESTS_HTA_TABLE_H
#define TESTS_HTA_TABLE_H

#include <math.h>

#include "sutra/sutra.h"
#include "text/numbers.h"
#include "trace_text.h"
#include "unit.h"

static inline struct sutra_context *make_context(unsigned n_threads) {
    return NEW_CONTEXT(.n_threads = n_threads, .lenient = true);
}

/* The tables of a trace, which is gone by then. */
static inline struct sutra_hta *analyze(struct sutra_context *context, const char *text,
                                        const struct sutra_hta_options *options) {
    struct sutra_device_trace *trace = parse_trace(context, text);
    struct sutra_hta *hta = NULL;
    struct sutra_error error;
    assert_int_equal(sutra_hta_run(context, trace, options, &hta, &error), SUTRA_OK);
    sutra_device_trace_free(trace);
    return hta;
}

static inline void tell_cell(const struct sutra_column *column, uint64_t row, char *to) {
    if (column->kind == SUTRA_COLUMN_TEXT)
        strcpy(to, sutra_column_text(column, row));
    else if (column->kind == SUTRA_COLUMN_INTEGER)
        to[integer_format(column->integers[row], to)] = 0;
    else if (isnan(column->reals[row]))
        strcpy(to, "-");
    else
        to[double_format(column->reals[row], to)] = 0;
}

/* The table as a line; "none: REASON" where it could not be made. */
static inline void tell_table(const struct sutra_table *table, const char *reason, char *text) {
    struct sutra_column column;
    *text = 0;
    if (!table) {
        sprintf(text, "none: %s", reason ? reason : "");
        return;
    }
    for (uint64_t row = 0; row < sutra_table_rows(table); row++) {
        strcat(text, row ? " | " : "");
        for (uint32_t i = 0; sutra_table_column(table, i, &column); i++) {
            strcat(text, i ? "," : "");
            tell_cell(&column, row, text + strlen(text));
        }
    }
}

#endif
