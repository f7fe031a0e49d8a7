/*
 * operators_job.h - what `sutra analyze operators` and `sutra analyze kernels` share: their values, and the run.
 */
#ifndef CLI_OPERATORS_JOB_H
#define CLI_OPERATORS_JOB_H

#include "cli/analyze/analysis_share.h"
#include "sutra/operators.h"

enum operators_compat { COMPAT_NONE, COMPAT_TRACELENS };

struct operators_values {
    struct analysis_values analysis;
    int format, compat;
    const char *peaks;
    const char *step, *name, *stream, *category;
    uint64_t from_us, to_us;
    struct word_list ranks;
};

/* Rows of the options that restrict the tables to a part of the work. */
#define RESTRICTION_ROWS                                                                                                 \
    {"rank", 0, OPTION_WORDS, "N", AT(ranks), .help = "only the trace of rank N; may be repeated"},                      \
        {"step", 0, OPTION_TEXT, "N", AT(step), .help = "only what is launched in ProfilerStep#N, or in several: 3-5"},  \
        {"from",                                                                                                         \
         0,                                                                                                              \
         OPTION_NUMBER,                                                                                                  \
         "US",                                                                                                           \
         AT(from_us),                                                                                                    \
         .maximum = UINT32_MAX,                                                                                          \
         .help = "only what is launched from so many microseconds after the first event on"},                            \
        {"to",                                                                                                           \
         0,                                                                                                              \
         OPTION_NUMBER,                                                                                                  \
         "US",                                                                                                           \
         AT(to_us),                                                                                                      \
         .minimum = 1,                                                                                                   \
         .maximum = UINT32_MAX,                                                                                          \
         .help = "only what is launched before so many microseconds after the first event"},                             \
        {"name", 0,        OPTION_TEXT,                                                                                  \
         "TEXT", AT(name), .help = "only kernels, copies and sets whose name, or whose operator's name, contains TEXT"}, \
        {"stream", 0, OPTION_TEXT, "ID", AT(stream), .help = "only what runs on the stream ID"}, {                       \
        "category", 0, OPTION_TEXT, "NAME", AT(category),                                                                \
            .help = "only work of operators of a category: GEMM, SDPA_fwd, elementwise, ..."                             \
    }

#endif
