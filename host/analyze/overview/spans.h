/*
 * spans.h - stretches of time as sets: what several of the host's events cover together, and how much of it lies in
 * rows of an overview.
 */
#ifndef ANALYZE_OVERVIEW_SPANS_H
#define ANALYZE_OVERVIEW_SPANS_H

#include "analyze/overview/overview.h"

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

#endif
