/*
 * sums.h - the reduction of one trace for a comparison, small enough to keep for every rank: sums by operator, shapes,
 * kernel and collective, and the call paths of the steps.
 *
 *     trace --> launch_model --> part_make(): steps, sums (sums.c), trees (call_paths.c) --> part_join() --> whole
 *
 * GPU activity belongs to the step in which its call starts, or without a call in which it starts. GPU activity outside
 * the steps is skipped. A trace without steps is one step. Cost: O(n), plus reading.
 */
#ifndef COMPARE_SUMS_H
#define COMPARE_SUMS_H

#include <math.h>
#include <stdbool.h>

#include "analyze/collective_calls.h"
#include "analyze/operators/operators.h"
#include "analyze/overview/steps.h"
#include "columns/hash_tables.h"
#include "columns/numbers.h"
#include "columns/strings.h"
#include "compare/call_paths.h"
#include "match/intervals.h"
#include "sutra/diff.h"

/*
 * Sums of GPU activity and operators of one key: counts, times, and the spread of device time over steps.
 *
 * Each step of each rank is a sample. Sums are exact; the spread is computed with Welford's and Chan's formulas, so
 * that equal samples have a spread of 0.
 */

/* The spread of n values. */
struct spread {
    double n, mean, squares; /* squares: the sum of squared deviations from the mean */
};

void spread_add(struct spread *spread, double value);

/* The variance of a sample's mean, with zeros added up to n values. NaN: fewer than two values. */
double spread_error(const struct spread *spread, double n);

struct ledger_sum {
    uint64_t calls;        /* of operators; of GPU activity in a ledger of kernels */
    wide_t device;         /* nanoseconds of GPU activity */
    wide_t host;           /* self time of operators */
    struct spread samples; /* of device time, in samples with device time */
    uint64_t n_met;        /* calls of collectives that are known on several ranks */
    wide_t wait;           /* sum of their excess over the shortest call */
    row_t sample;          /* current sample + 1 */
    wide_t device_now;     /* device time of the current sample */
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
    LEDGER_COLLECTIVES, /* texts of the collective and the type, elements, group size; CALL_UNKNOWN */
    N_LEDGERS
};

/* Parts of the keys that are texts. */
extern const bool ledger_key_texts[N_LEDGERS][4];

/* The row that GPU activity is attributed to. */
enum operator_kind { KIND_OPERATOR, KIND_CALL, KIND_UNATTRIBUTED, N_KINDS };

/* A step, and the categories of its time: enum step_part (analyze/overview/steps.h). */
enum diff_part { DIFF_PART_STEP, DIFF_PART_FIRST, N_DIFF_PARTS = DIFF_PART_FIRST + N_STEP_PARTS };

struct part_side {
    row_t n_samples; /* steps of all ranks */
    bool has_steps;  /* else each trace is one */
    struct spread device;
    wide_t device_ns, outside_ns;  /* of all GPU activity in steps, outside steps */
    wide_t parts_ns[N_DIFF_PARTS]; /* of all steps, and their spread */
    struct spread parts[N_DIFF_PARTS];
    struct ledger ledgers[N_LEDGERS];
    struct collective_calls calls; /* in the steps */
    struct path_fold fold;         /* the steps' call paths */
};

/* The reduction of one trace, or of both sides. */
struct part {
    struct strings texts;
    struct tuples paths; /* (parent path + 1 or 0, text) */
    struct part_side sides[2];
};

struct part_options {
    int side;
    int64_t rank;
    struct sutra_diff_options diff;
};

/* False: out of memory. Call part_free() also after a failure. */
bool part_init(struct part *part);
void part_free(struct part *part);

/* Fills a side. SUTRA_DATA: no such step. SUTRA_USAGE: no such category. */
enum sutra_status part_make(struct sutra_context *context, const struct sutra_device_trace *trace,
                            const struct part_options *options, struct part *part, struct sutra_error *error);

/* Adds a side of a part to the side of `whole`. SUTRA_SYSTEM: out of memory. */
enum sutra_status part_join(struct part *whole, const struct part *part, int side, struct sutra_error *error);

/* ---- Between the files of a part ---- */

/* Disjoint time intervals in ascending order. */
struct step_window {
    int64_t from, to;
    row_t host; /* the step's CPU row; ROW_NONE: the whole trace */
};

/* The state of part_make(). */
struct part_work {
    struct sutra_context *context;
    const struct sutra_device_trace *trace;
    const struct part_options *options;
    struct launch_model model;
    struct arena arena, scratch;
    struct part *part;
    struct part_side *side;
    struct step_window *windows;
    row_t n_windows;
    row_t *host_sample, *device_sample; /* by row: its window, or ROW_NONE */
    uint32_t *host_text, *work_text;    /* by string of the trace: as an operator, as a kernel */
    uint32_t *shapes_text;              /* by attributed row */
};

/* Finds the steps (call_paths.c). */
enum sutra_status step_windows_find(struct part_work *work, struct sutra_error *error);

/* Sums the wait time of collectives of a side of the whole. SUTRA_SYSTEM: out of memory. */
enum sutra_status collective_waits_find(struct part *whole, int side, struct sutra_error *error);

/* Builds the trees of all steps (call_paths.c). */
enum sutra_status path_steps_make(struct part_work *work, struct sutra_error *error);

#endif
