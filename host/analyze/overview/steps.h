/*
 * steps.h - the window of an overview in steps, and what each consists of.
 *
 *     overview --> bounds: of the profiler's steps, of an annotation, or of what repeats --> rows cut there --> steps
 *
 *     host     | step 1 | step 2 |         step 2 begins when it does on the host, or when the work of step 1 is done,
 *     device     1 1 1 1 1 1 | 2 2 2       if that is later, as where the host runs ahead
 *
 * A step of the profiler goes on to the beginning of the next one, the last one to the end of the window, so that steps
 * are all of it. An annotation is from its start to its end on the host; of those that overlap, the one that begins
 * first counts. Where there is neither, repetitions.c looks for what the device does again and again, which then are
 * steps as the profiler's. The parts of a step are together its time, to the tick.
 */
#ifndef ANALYZE_OVERVIEW_STEPS_H
#define ANALYZE_OVERVIEW_STEPS_H

#include "analyze/overview/overview.h"
#include "analyze/table.h"

/*
 * Stretches of time as sets: what several of the host's events cover together, and how much of it lies in
 * rows of an overview.
 */

/* Disjoint, by start. */
struct spans {
    row_t n;
    int64_t *begin, *end;
};

/* Of the host's rows that have a mark, what lies in the window, in the arena. O(n), beside a sort. */
enum sutra_status spans_of_hosts(const struct overview *overview, const uint8_t *marked, struct arena *arena,
                                 struct spans *spans, struct sutra_error *error);

int64_t spans_length(const struct spans *spans);

/* Whether a moment lies in one of them. O(log n). */
bool spans_hold(const struct spans *spans, int64_t moment);

/* How much time of rows of some kinds went by, for any moment. */
struct kind_clock {
    row_t n;
    int64_t *begin, *end, *before; /* of the rows, and what the rows before them come to */
};

#define KIND(kind) (1u << (kind))
#define KINDS_BUSY (KIND(OVERVIEW_COMPUTE) | KIND(OVERVIEW_COMMUNICATION) | KIND(OVERVIEW_COPY))
#define KINDS_IDLE (KIND(OVERVIEW_N_KINDS) - 1 - KINDS_BUSY)

/* `kinds`: a bit for each. In the arena. */
enum sutra_status kind_clock_make(const struct overview *overview, uint32_t kinds, struct arena *arena,
                                  struct kind_clock *clock, struct sutra_error *error);

/* Between two moments. O(log n). */
int64_t kind_clock_between(const struct kind_clock *clock, int64_t begin, int64_t end);

/* In all of the spans. O(n log n). */
int64_t kind_clock_in(const struct kind_clock *clock, const struct spans *spans);

enum step_part {
    STEP_COMPUTE,
    STEP_COMMUNICATION, /* exposed: without computation */
    STEP_COPIES,        /* exposed: without either */
    STEP_WAIT_HOST,     /* from here on idle: nothing was launched yet, */
    STEP_WAIT_DATA,     /* since the host loaded data, */
    STEP_WAIT_SYNC,     /* since it had waited for the device; */
    STEP_WAIT_DEVICE,   /* it was launched, and had not begun; */
    STEP_IDLE_REST,     /* nothing is known of that */
    N_STEP_PARTS
};

/* The part that a kind of row is of. */
enum step_part step_part_of(enum overview_kind kind);

enum steps_source { STEPS_NONE, STEPS_PROFILER, STEPS_ANNOTATION, STEPS_REPETITION };

struct overview_step {
    uint32_t name; /* string of the trace; STRING_NONE: a repetition */
    int64_t begin, end;
    int64_t ticks[N_STEP_PARTS];
    int64_t host;   /* in neither a call that blocks nor a data loader, on any thread */
    row_t n_pieces; /* of work that begin in it */
};

/* In the arena. */
struct overview_steps {
    enum steps_source source;
    row_t n;
    struct overview_step *list; /* disjoint, by begin */
    row_t n_overlapping;        /* annotations that are no steps, since others overlap them */
};

/* `annotation`: NULL, or the name of the annotations that are steps, with or without "#" and more behind it. O(rows +
 * hosts log hosts), and O(work log work) to look for repetitions. SUTRA_SYSTEM: out of memory. */
enum sutra_status overview_steps_make(const struct overview *overview, const char *annotation, struct arena *arena,
                                      struct arena *scratch, struct overview_steps *steps, struct sutra_error *error);

/* repetitions.c: moments at which what the device does begins anew, in the arena; fewer than two: nothing repeats. */
struct repetitions {
    row_t n;
    int64_t *begin;
};

/* ---- Tables (step_tables.c) ---- */

/* Columns of the table of steps, a row for each step of each rank. */
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

void steps_table_init(struct sutra_table *table);
void steps_table_add(struct sutra_table *table, int64_t rank, const struct overview *overview,
                     const struct overview_steps *steps);

/* Columns of the table of ranks, of which the parts are those of the mean step. */
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

/* A row for each rank (mean, spread, slowest step and why), made of the table of steps, whose rows are by rank. O(n log
 * n). Out of memory sets `failed`. */
void step_ranks_table(struct sutra_table *table, const struct sutra_table *steps);

/* A row for each place of steps: the n-th of all ranks together. Where there is one rank only, no rows. */
void step_places_table(struct sutra_table *table, const struct sutra_table *steps);

/* What a part is called, as a cause. */
extern const char *const step_part_names[N_STEP_PARTS];

#endif
