/*
 * selection_rows.h - options that select events of a trace, common to all commands that write traces.
 */
#ifndef CLI_SELECTION_ROWS_H
#define CLI_SELECTION_ROWS_H

#include "cli/tool/command.h"
#include "sutra/rewrite.h"

struct selection_values {
    const char *step;
    uint64_t from_us, to_us, min_us;
    int only;
    bool no_python;
};

extern const char *const selection_sides[]; /* in the order of enum sutra_only */

/* Rows of those that make sense for one trace and for many; `selection` is the path to a struct selection_values for
 * the file's AT(field), which gives a field's place. */
#define SELECTION_ROWS(selection)                                                                                      \
    {"step",                                                                                                           \
     0,                                                                                                                \
     OPTION_TEXT,                                                                                                      \
     "N",                                                                                                              \
     AT(selection.step),                                                                                               \
     .help = "keep the events of ProfilerStep#N, or of several steps, such as 3-5; GPU activity is selected by its "   \
             "launch"},                                                                                                \
        {"side",                                                                                                       \
         0,                                                                                                            \
         OPTION_CHOICE,                                                                                                \
         "SIDE",                                                                                                       \
         AT(selection.only),                                                                                           \
         .choices = selection_sides,                                                                                   \
         .help = "keep GPU activity and annotations on streams (gpu), all other events (cpu), or communication "       \
                 "kernels and collectives on the CPU (communication) (default: all)"},                                 \
        {"no-python", 0, OPTION_FLAG, AT(selection.no_python), .help = "omit Python functions"}, {                     \
        "min-us", 0, OPTION_NUMBER, "N", AT(selection.min_us), .maximum = UINT32_MAX,                                  \
                                                               .help = "omit events shorter than N microseconds"       \
    }

/* What was asked for. */
struct sutra_selection selection_of(const struct selection_values *values);

/* Whether anything is left out. */
bool selection_is_asked(const struct selection_values *values);

#endif
