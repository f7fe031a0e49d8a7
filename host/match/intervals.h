/*
 * intervals.h - merging intervals of time, the time that several merged sets cover together, and sums by key; on plain
 * arrays.
 *
 * Times and durations are integers (nanoseconds since some origin), so all sums are exact and do not depend on the
 * order in which an engine adds. Magnitudes of times are below 2^63 and differences of two fit; sums have 128 bits. The
 * rules for one element are here once, for the CPU and the CUDA engine.
 *
 * An interval may end before it starts (a negative duration); its length is then negative.
 */
#ifndef MATCH_INTERVALS_H
#define MATCH_INTERVALS_H

#include "base/arena.h"
#include "columns/numbers.h"

/*
 * The time that the intervals of each of many ranges cover; overlaps count once.
 *
 *     intervals   0 [1, 5)   1 [3, 8)   2 [20, 22)        ranges   [0, 2): 7   [1, 3): 7   [0, 3): 9
 *
 * Ranges may overlap and nest. Cost: O((intervals + ranges) log intervals).
 */

/* length[i] = time covered by the intervals [start[k], end[k]) for first[i] <= k < last[i]; end[k] >= start[k].
 * SUTRA_SYSTEM: out of memory. */
enum sutra_status range_cover(const int64_t *start, const int64_t *end, row_t n, const row_t *first, const row_t *last,
                              row_t n_ranges, struct arena *scratch, int64_t *length, struct sutra_error *error);

typedef __int128 wide_t;
typedef unsigned __int128 uwide_t;

/* ---- Merging ---- */

/* Whether an interval begins a new group after the intervals with earlier or equal starts, whose latest end is
 * `last_end`. Intervals that touch are in one group. */
SHARED bool interval_begins_group(int64_t start, int64_t last_end) {
    return start > last_end;
}

/* The latest end of a segment, or of a group, among a run of rows. */
struct segment_end {
    uint32_t segment; /* of the last row; runs of different segments are not merged */
    int64_t end;
};

SHARED struct segment_end segment_end_merge(const struct segment_end *earlier, const struct segment_end *later) {
    struct segment_end merged = *later;
    if (earlier->segment == later->segment && earlier->end > later->end)
        merged.end = earlier->end;
    return merged;
}

/* Disjoint groups of each segment: the groups of segment s are [start[i], end[i]) for i from first[s] to
 * first[s + 1]. */
struct merged {
    row_t n;
    uint32_t n_segments;
    int64_t *start, *end;
    row_t *first; /* n_segments + 1 */
};

void merged_free(struct merged *merged);

/* The sum of (end - start) of a segment's groups. O(groups). */
wide_t cpu_merged_length(const struct merged *merged, uint32_t segment);

/* ---- States ---- */

#define STATE_SETS_MAX 3
#define N_STATES       (1 << STATE_SETS_MAX)

/* A length rounded to whole units, towards zero. */
SHARED int64_t whole_units(int64_t length, int64_t unit) {
    return unit == 1 ? length : length / unit * unit; /* avoid the slow division */
}

/* The time in each state. State s means that exactly the segments with bit 1 << segment in s cover the time. */
struct interval_states {
    wide_t length[N_STATES]; /* of whole units */
    wide_t exact[N_STATES];  /* not rounded */
    bool seen[N_STATES];     /* whether the state occurred, even for no time */
};

/* ---- Sums ---- */

/* Count, extremes, sum and sum of squares of integers; independent of the order of adding. */
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
 * fit 128 bits. NaN if n is below 2. */
double moments_deviation(const struct moments *moments, double scale);

#endif
