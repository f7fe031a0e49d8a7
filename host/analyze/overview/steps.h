/*
 * steps.h - the window of an overview in steps, and the parts of each step.
 *
 *     overview --> bounds: profiler steps, an annotation, or repetitions --> rows cut at the bounds --> steps
 *
 *     host     | step 1 | step 2 |         step 2 begins at its time on the host, or when the activities of step 1 have
 *     GPU        1 1 1 1 1 1 | 2 2 2       ended, if later, as when the host runs ahead
 *
 * A profiler step lasts until the next one begins, and the last one until the end of the window, so that steps fill the
 * window. An annotation lasts from its start to its end on the host; of overlapping ones, the first counts. Without
 * either, repetitions of the GPU activities are the steps. The sum of the parts of a step is its time, to the tick.
 */
#ifndef ANALYZE_OVERVIEW_STEPS_H
#define ANALYZE_OVERVIEW_STEPS_H

#include "analyze/overview/overview.h"
#include "analyze/table.h"

/* ---- Spans: sets of time, and the time of rows of the overview in them ---- */

/* Disjoint, by start. */
struct spans {
    row_t n;
    int64_t *begin, *end;
};

/* The union of the marked rows of hosts in the window, in the arena. O(n), and a sort. */
enum sutra_status make_host_spans(const struct overview *overview, const uint8_t *marked, struct arena *arena,
                                  struct spans *spans, struct sutra_error *error);

/* The same of a list of n rows. */
enum sutra_status spans_of_hosts(const struct overview *overview, const row_t *rows, row_t n, struct arena *arena,
                                 struct spans *spans, struct sutra_error *error);

/* The rows of some kinds (a bit for each), and the union of marked GPU activities in the window, in the arena. O(n). */
enum sutra_status spans_of_kinds(const struct overview *overview, uint32_t kinds, struct arena *arena,
                                 struct spans *spans, struct sutra_error *error);
enum sutra_status spans_of_devices(const struct overview *overview, const uint8_t *marked, struct arena *arena,
                                   struct spans *spans, struct sutra_error *error);

/* The time in `a` that is also in `b`, or that is not; or the time in either. In the arena; O(n). */
enum sutra_status spans_common(const struct spans *a, const struct spans *b, struct arena *arena, struct spans *spans,
                               struct sutra_error *error);
enum sutra_status spans_without(const struct spans *a, const struct spans *b, struct arena *arena, struct spans *spans,
                                struct sutra_error *error);

enum sutra_status spans_union(const struct spans *a, const struct spans *b, struct arena *arena, struct spans *spans,
                              struct sutra_error *error);

int64_t spans_length(const struct spans *spans);

/* Appends an interval that begins no earlier than the last one; there must be room for it. */
static inline void spans_append(struct spans *spans, int64_t begin, int64_t end) {
    if (begin >= end)
        return;
    if (spans->n && begin <= spans->end[spans->n - 1]) {
        spans->end[spans->n - 1] = MAX(end, spans->end[spans->n - 1]);
        return;
    }
    spans->begin[spans->n] = begin;
    spans->end[spans->n++] = end;
}

/* Room for n intervals in the arena; no intervals yet. */
enum sutra_status spans_reserve(row_t n, struct arena *arena, struct spans *spans, struct sutra_error *error);

/* Whether a moment is in one of them. O(log n). */
bool spans_contain(const struct spans *spans, int64_t moment);

/* Clock of some kinds of rows: it runs only during these. */
struct kind_clock {
    row_t n;
    int64_t *begin, *end, *before; /* of the rows; the sum of all rows before */
};

#define KIND(kind) (1u << (kind))
#define KINDS_BUSY (KIND(OVERVIEW_COMPUTE) | KIND(OVERVIEW_COMMUNICATION) | KIND(OVERVIEW_COPY))
#define KINDS_IDLE (KIND(OVERVIEW_N_KINDS) - 1 - KINDS_BUSY)

/* Set-up: memory allocation, code that is loaded, slow first launches. */
#define KINDS_SET_UP (KIND(OVERVIEW_SET_UP) | KIND(OVERVIEW_SLOW_LAUNCH))
static inline int64_t set_up_ticks(const struct overview *overview) {
    return overview->ticks[OVERVIEW_SET_UP] + overview->ticks[OVERVIEW_SLOW_LAUNCH];
}

/* Whether set-up recurs: at least a third of it is in the second half of at least three steps. */
bool set_up_recurs(const struct overview *overview);

/* `kinds`: a bit for each. In the arena. */
enum sutra_status kind_clock_make(const struct overview *overview, uint32_t kinds, struct arena *arena,
                                  struct kind_clock *clock, struct sutra_error *error);

/* The time of these rows between two moments. O(log n). */
int64_t kind_clock_between(const struct kind_clock *clock, int64_t begin, int64_t end);

/* The same in all spans. O(n log n). */
int64_t kind_clock_in(const struct kind_clock *clock, const struct spans *spans);

/* ---- Steps ---- */

enum step_part {
    STEP_COMPUTE,
    STEP_COMMUNICATION, /* exposed: without compute */
    STEP_COPIES,        /* exposed: without either */
    STEP_WAIT_HOST,     /* from here on idle: not launched yet, */
    STEP_WAIT_DATA,     /* because the host loads data, */
    STEP_WAIT_SYNC,     /* because the host synchronized; */
    STEP_WAIT_DEVICE,   /* launched, but not started; */
    STEP_IDLE_REST,     /* cause unknown */
    N_STEP_PARTS
};

/* The part of a kind of row. */
enum step_part step_part_of(enum overview_kind kind);

enum steps_source { STEPS_NONE, STEPS_PROFILER, STEPS_ANNOTATION, STEPS_REPETITION };

struct overview_step {
    uint32_t name; /* string of the trace; STRING_NONE: a repetition */
    int64_t begin, end;
    int64_t ticks[N_STEP_PARTS];
    int64_t host;   /* in which no thread synchronizes or loads */
    row_t n_pieces; /* activities that begin in it */
};

/* In the arena. */
struct overview_steps {
    enum steps_source source;
    row_t n;
    struct overview_step *list; /* disjoint, by begin */
    row_t n_overlapping;        /* skipped annotations, which overlap earlier ones */
};

/* `annotation`: NULL, or the name of the annotations that are steps, with or without "#" and more after it.
 * SUTRA_SYSTEM: out of memory. */
enum sutra_status overview_steps_make(const struct overview *overview, const char *annotation, struct arena *arena,
                                      struct arena *scratch, struct overview_steps *steps, struct sutra_error *error);

/* ---- Tables (step_tables.c) ---- */

/* Columns of the table of steps: a row for each step of each rank. */
enum {
    STEPS_RANK,
    STEPS_NAME,
    STEPS_START,
    STEPS_TIME,
    STEPS_PARTS,
    STEPS_IDLE = STEPS_PARTS + N_STEP_PARTS,
    STEPS_HOST,
    STEPS_PIECES
};

void steps_table_add(struct sutra_table *table, int64_t rank, const struct overview *overview,
                     const struct overview_steps *steps);

/* Columns of the table of ranks; parts are of the mean step. */
enum {
    STEP_RANKS_RANK,
    STEP_RANKS_N,
    STEP_RANKS_MEAN,
    STEP_RANKS_SPREAD,
    STEP_RANKS_FASTEST,
    STEP_RANKS_MEDIAN,
    STEP_RANKS_SLOWEST,
    STEP_RANKS_PARTS,
    STEP_RANKS_HOST = STEP_RANKS_PARTS + N_STEP_PARTS,
    STEP_RANKS_STEP,
    STEP_RANKS_CAUSE,
    STEP_RANKS_MORE
};

/* From the table of steps, by rank: a row for each rank with mean, deviation, slowest step and its cause. O(n log n).
 * Out of memory sets `failed`. */
void step_ranks_add(struct sutra_table *table, const struct sutra_table *steps);

/* The same over ranks: a row for each step index. No rows for a single rank. */
void step_indices_add(struct sutra_table *table, const struct sutra_table *steps);

/* Names of the parts, as causes. */
extern const char *const step_part_names[N_STEP_PARTS];

#endif
