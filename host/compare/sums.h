/*
 * sums.h - what a comparison needs of one trace, small enough to be kept of every rank: sums by operator, shapes and
 * kernel, and the steps' call paths.
 *
 *     trace --> op_reading --> part_make(): windows.c steps, part.c sums, path_steps.c trees --> part_join() --> whole
 *
 * Work belongs to the step in which its call begins, else it begins itself; what lies in none is left out. A trace
 * without steps is one. Cost: O(n) beside the reading.
 */
#ifndef COMPARE_SUMS_H
#define COMPARE_SUMS_H

#include <math.h>
#include <stdbool.h>

#include "analyze/collective_calls.h"
#include "analyze/operators/operators.h"
#include "analyze/overview/steps.h"
#include "columns/hash_tables.h"
#include "columns/row.h"
#include "columns/strings.h"
#include "compare/path_align.h"
#include "match/intervals.h"
#include "sutra/diff.h"

/*
 * What work and operators under one key come to: counts, times, and how much they vary from step to step.
 *
 * Each step of each rank is a sample. Sums are exact; the spread is that of the time of the device in each sample,
 * taken with Welford's and Chan's formulas, so that samples that are equal have none.
 */

/* Of n values. */
struct spread {
    double n, mean, squares; /* the sum of squares of what they lie apart from the mean */
};

void spread_add(struct spread *spread, double value);

/* The same with zeros up to n values; the variance of a sample's mean. NaN: there are not two values. */
double spread_error(const struct spread *spread, double n);

struct ledger_sum {
    uint64_t calls;        /* of operators; of work itself in a ledger of kernels */
    wide_t device;         /* nanoseconds of work */
    wide_t host;           /* of operators, without those that they call */
    struct spread samples; /* of the device's time, where there was any */
    uint64_t n_met;        /* calls of collectives that are known on several ranks, */
    wide_t wait;           /* and what they took longer than the shortest of them */
    row_t sample;          /* the one at hand, + 1, */
    wide_t device_now;     /* and the time in it */
};

struct ledger {
    struct tuples keys;
    struct ledger_sum *sums; /* by key */
    uint64_t capacity;
};

enum part_ledger {
    LEDGER_OPERATORS,   /* text of the name, enum operator_kind */
    LEDGER_SHAPES,      /* the same; texts of dims and types */
    LEDGER_KERNELS,     /* text of the short name, enum device_class */
    LEDGER_COLLECTIVES, /* texts of what and of the type, elements, size of the group; CALL_UNKNOWN */
    N_LEDGERS
};

/* Parts of the keys that are texts. */
extern const bool ledger_key_texts[N_LEDGERS][4];

/* What work is charged to. */
enum operator_kind { KIND_OPERATOR, KIND_CALL, KIND_NOBODY, N_KINDS };

/* A step, and what it consists of: enum step_part (analyze/overview/steps.h). */
enum diff_part { DIFF_PART_STEP, DIFF_PART_FIRST, N_DIFF_PARTS = DIFF_PART_FIRST + N_STEP_PARTS };

struct part_side {
    row_t n_samples; /* steps of all ranks */
    bool has_steps;  /* else each trace is one */
    struct spread device;
    wide_t device_ns, left_out_ns; /* of all work in the steps; of that in none */
    wide_t parts_ns[N_DIFF_PARTS]; /* of all steps, and how they vary */
    struct spread parts[N_DIFF_PARTS];
    struct ledger ledgers[N_LEDGERS];
    struct collective_calls calls; /* in the steps */
    struct path_fold fold;         /* the steps' call paths */
};

/* Of one trace, or of both sides. */
struct part {
    struct strings texts;
    struct tuples paths; /* (path above + 1 or 0, text) */
    struct part_side sides[2];
};

struct part_options {
    int side;
    int64_t rank;
    struct sutra_diff_options diff;
};

/* False: out of memory. It needs part_free() in any case. */
bool part_init(struct part *part);
void part_free(struct part *part);

/* Fills a side. SUTRA_DATA: there is no such step. SUTRA_USAGE: no such category. */
enum sutra_status part_make(struct sutra_context *context, const struct sutra_device_trace *trace,
                            const struct part_options *options, struct part *part, struct sutra_error *error);

/* Adds a side to that of the whole. SUTRA_SYSTEM: out of memory. */
enum sutra_status part_join(struct part *whole, const struct part *part, int side, struct sutra_error *error);

/* ---- Between the files of a part ---- */

/* Stretches of time, rising, that do not overlap. */
struct step_window {
    int64_t from, to;
    row_t host; /* the step's row of hosts; ROW_NONE: all of the trace */
};

/* What the making of a part knows. */
struct part_work {
    struct sutra_context *context;
    const struct sutra_device_trace *trace;
    const struct part_options *options;
    struct op_reading reading;
    struct arena arena, scratch;
    struct part *part;
    struct part_side *side;
    struct step_window *windows;
    row_t n_windows;
    row_t *host_sample, *device_sample; /* by row: its window, or ROW_NONE */
    uint32_t *host_text, *work_text;    /* by string of the trace: as an operator, as a kernel */
    uint32_t *shapes_text;              /* by charge */
};

/* step_windows.c */
enum sutra_status step_windows_find(struct part_work *work, struct sutra_error *error);

/* collective_waits.c: of a side of the whole, how long calls of collectives took longer than the same on another rank;
 * SUTRA_SYSTEM: out of memory. */
enum sutra_status collective_waits_find(struct part *whole, int side, struct sutra_error *error);

/* path_steps.c: the trees of all steps. */
enum sutra_status path_steps_make(struct part_work *work, struct sutra_error *error);

#endif
