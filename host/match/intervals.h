/*
 * intervals.h - merging intervals of time, what several merged sets cover together, and sums by key; on plain arrays.
 *
 * Times and durations are integers (of nanoseconds, from some first moment), so all sums are exact and do not depend on
 * the order in which an engine adds. Magnitudes of times stay below 2^63 and differences of two fit; sums are of 128
 * bits. What is decided about one element stands here once, for the CPU and the CUDA engine alike.
 *
 * An interval may end before it starts (a duration below 0); it then counts as its difference says.
 */
#ifndef MATCH_INTERVALS_H
#define MATCH_INTERVALS_H

#include "base/arena.h"
#include "columns/numbers.h"
#include "columns/row.h"

/*
 * How long the intervals of each of many ranges are together, time that several cover counted once.
 *
 *     intervals   0 [1, 5)   1 [3, 8)   2 [20, 22)        ranges   [0, 2): 7   [1, 3): 7   [0, 3): 9
 *
 * Ranges may overlap and nest as they like. Cost: O((intervals + ranges) log intervals).
 */

/* length[i] = time covered by the intervals [start[k], end[k]) for k from first[i] to last[i], less the last; end[k] >=
 * start[k]. SUTRA_SYSTEM: out of memory. */
enum sutra_status range_cover(const int64_t *start, const int64_t *end, row_t n, const row_t *first, const row_t *last,
                              row_t n_ranges, struct arena *scratch, int64_t *length, struct sutra_error *error);

typedef __int128 wide_t;
typedef unsigned __int128 uwide_t;

/* ---- Merging ---- */

/* Whether an interval begins a new group behind those with starts at or before its own, of which the latest ends at
 * `last_end`: strictly later, so intervals that touch join. */
SHARED bool interval_begins_group(int64_t start, int64_t last_end) {
    return start > last_end;
}

/* The latest end of a segment, or of a group, among a run of rows. */
struct segment_end {
    uint32_t segment; /* of the last row; runs of different segments do not join */
    int64_t end;
};

SHARED struct segment_end segment_end_merge(const struct segment_end *earlier, const struct segment_end *later) {
    struct segment_end merged = *later;
    if (earlier->segment == later->segment && earlier->end > later->end)
        merged.end = earlier->end;
    return merged;
}

/* Disjoint groups of each segment: those of segment s are [start[i], end[i]) for i from first[s] to first[s + 1]. */
struct merged {
    row_t n;
    uint32_t n_segments;
    int64_t *start, *end;
    row_t *first; /* n_segments + 1 places */
};

void merged_free(struct merged *merged);

/* The sum of (end - start) of a segment's groups. O(groups). */
wide_t cpu_merged_length(const struct merged *merged, uint32_t segment);

/* ---- States ---- */

#define STATE_SETS_MAX 3
#define N_STATES       (1 << STATE_SETS_MAX)

/* Whole steps of `unit` in a stretch of time, as time; towards zero. */
SHARED int64_t stretch_whole(int64_t length, int64_t unit) {
    return unit == 1 ? length : length / unit * unit; /* a division takes longest */
}

/* For how long which segments cover the time together. State s stands for the segments whose bits 1 << segment are set
 * in it. */
struct interval_states {
    wide_t length[N_STATES]; /* of whole units */
    wide_t exact[N_STATES];  /* of all time */
    bool seen[N_STATES];     /* whether the state occurred, if only for no time */
};

/* ---- Sums ---- */

/* Count, extremes, sum and sum of squares of integers. Adding in any order gives the same; so does joining the moments
 * of parts. */
struct moments {
    uint64_t n;
    int64_t min, max;
    wide_t sum;
    uwide_t squares;
    bool overflow; /* the squares need more than 128 bits: there is no deviation */
};

SHARED void moments_add(struct moments *moments, int64_t value) {
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    uwide_t square = (uwide_t)magnitude * magnitude, squares = moments->squares + square;
    if (moments->n == 0 || value < moments->min)
        moments->min = value;
    if (moments->n == 0 || value > moments->max)
        moments->max = value;
    moments->n++;
    moments->sum += value;
    moments->overflow |= squares < square;
    moments->squares = squares;
}

/* The standard deviation of a sample (n - 1 in the denominator) of value / scale, from exact integers as long as they
 * fit 128 bits. NaN where n is below 2. */
double moments_deviation(const struct moments *moments, double scale);

#endif
