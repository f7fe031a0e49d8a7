/*
 * faithful.h - common parts of commands that write .et files with measured times: options and closing lines.
 */
#ifndef CLI_FAITHFUL_H
#define CLI_FAITHFUL_H

#include <stddef.h>

#include "cli/tool/arguments.h"
#include "sutra/convert.h"

/* Member of the values of such a command. */
struct faithful_values {
    const char *rest;
    int gpu;        /* place in faithful_gpus; GPU_UNSAID may stand in for the first before the words are read */
    double rest_us; /* of `rest`, once it is checked */
};

#define GPU_UNSAID  (-1)
#define GPU_STREAMS 1
extern const char *const faithful_gpus[];

/* Rows of the options; `faithful` is the path to the struct for the file's AT(field), `what` names the output. */
#define FAITHFUL_ROWS(faithful, what)                                                                                  \
    {"gpu",                                                                                                            \
     0,                                                                                                                \
     OPTION_CHOICE,                                                                                                    \
     "HOW",                                                                                                            \
     AT(faithful.gpu),                                                                                                 \
     .choices = faithful_gpus,                                                                                         \
     .help = "run one GPU activity at a time (one), as ASTRA-sim does, or one per stream (streams), in " what          \
             " (default: one; streams for the ranks of a job)"},                                                       \
    {                                                                                                                  \
        "min-idle-us", 0, OPTION_TEXT, "US", AT(faithful.rest),                                                        \
            .help = "write gaps without recorded work that are longer than US microseconds as nodes of " what          \
                    ", -1 for none (default: 5)"                                                                       \
    }

/* Whether one of the options was given. */
bool faithful_is_asked(const struct faithful_values *values);

/* SUTRA_OK, or another exit code after saying what is wrong. */
int faithful_check(struct faithful_values *values);

struct sutra_faithful_options faithful_options(const struct faithful_values *values);

/* Lines of the summary on standard error, to stand before those about the run. */
void faithful_summary_print(const struct sutra_faithful_report *report);

/* Warns where the simulated time is not the measured one. */
void faithful_warn(const struct sutra_faithful_report *report);

#endif
