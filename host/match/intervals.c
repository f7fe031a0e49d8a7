/*
 * intervals.c - merging intervals, the states of several merged sets, and sums by key, on the CPU.
 *
 * Merging keeps the open group of each segment while it walks the rows by rising start. The sweep takes the lowest of
 * at most six sorted lists of bounds (starts and ends of three segments) at a time.
 */
#include "match/intervals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "match/steps.h"

/* ---- Merging ---- */

/* Walks the rows. With places (`next`: where each segment's next group goes) it writes groups, else it counts them in
 * merged->first[segment + 1]. open_end[] has the latest end of each segment so far, where opened[] says there is one.
 */
struct merge_walk {
    struct merged *merged;
    row_t *next; /* NULL: count */
    int64_t *open_end;
    uint8_t *opened;
};

static void merge_row(struct merge_walk *walk, uint32_t segment, int64_t start, int64_t end) {
    struct merged *merged = walk->merged;
    if (!walk->opened[segment] || interval_begins_group(start, walk->open_end[segment])) {
        if (walk->next) {
            row_t place = walk->next[segment]++;
            merged->start[place] = start;
            merged->end[place] = end;
        } else {
            merged->first[segment + 1]++;
        }
        if (!walk->opened[segment] || end > walk->open_end[segment])
            walk->open_end[segment] = end;
        walk->opened[segment] = 1;
        return;
    }
    if (end > walk->open_end[segment])
        walk->open_end[segment] = end;
    if (walk->next && end > merged->end[walk->next[segment] - 1])
        merged->end[walk->next[segment] - 1] = end;
}

static void merge_walk_rows(struct merge_walk *walk, const int64_t *start, const int64_t *end, const uint32_t *segment,
                            row_t n) {
    memset(walk->opened, 0, walk->merged->n_segments);
    for (row_t i = 0; i < n; i++)
        merge_row(walk, segment ? segment[i] : 0, start[i], end[i]);
}

enum sutra_status cpu_merge_intervals(const int64_t *start, const int64_t *end, const uint32_t *segment, row_t n,
                                      uint32_t n_segments, struct merged *merged, struct sutra_error *error) {
    struct merged made = {.n_segments = n_segments};
    struct merge_walk walk = {.merged = &made};
    enum sutra_status status = SUTRA_OK;
    made.first = calloc((size_t)n_segments + 1, sizeof *made.first);
    walk.open_end = calloc((size_t)n_segments + 1, sizeof *walk.open_end);
    walk.opened = malloc((size_t)n_segments + 1);
    row_t *next = malloc(((size_t)n_segments + 1) * sizeof *next);
    if (!made.first || !walk.open_end || !walk.opened || !next) {
        status = error_memory(error);
        goto out;
    }
    merge_walk_rows(&walk, start, end, segment, n);
    for (uint32_t s = 0; s < n_segments; s++)
        made.first[s + 1] += made.first[s];
    made.n = made.first[n_segments];
    made.start = malloc(((size_t)made.n + 1) * sizeof *made.start);
    made.end = malloc(((size_t)made.n + 1) * sizeof *made.end);
    if (!made.start || !made.end) {
        status = error_memory(error);
        goto out;
    }
    memcpy(next, made.first, ((size_t)n_segments + 1) * sizeof *next);
    walk.next = next;
    merge_walk_rows(&walk, start, end, segment, n);
out:
    free(next);
    free(walk.opened);
    free(walk.open_end);
    if (status)
        merged_free(&made);
    else
        *merged = made;
    return status;
}

void merged_free(struct merged *merged) {
    free(merged->start);
    free(merged->end);
    free(merged->first);
    *merged = (struct merged){0};
}

wide_t cpu_merged_length(const struct merged *merged, uint32_t segment) {
    wide_t length = 0;
    for (row_t i = merged->first[segment]; i < merged->first[segment + 1]; i++)
        length += merged->end[i] - merged->start[i];
    return length;
}

/* ---- States ---- */

/* The bounds of one kind of one segment that are still to come. */
struct bounds {
    const int64_t *at, *end;
    int change; /* of the state at each */
};

/* The list whose next bound comes first, by (time, place in the table); NULL at the end of all. */
static struct bounds *lowest(struct bounds *lists, uint32_t n) {
    struct bounds *found = NULL;
    for (uint32_t i = 0; i < n; i++)
        if (lists[i].at < lists[i].end && (!found || *lists[i].at < *found->at))
            found = &lists[i];
    return found;
}

static void sweep(struct bounds *lists, uint32_t n_lists, int64_t unit, struct interval_states *states) {
    int state = 0;
    int64_t at = 0;
    for (struct bounds *list; (list = lowest(lists, n_lists)); at = *list->at++) {
        if (state > 0 && state < N_STATES) {
            states->length[state] += stretch_whole(*list->at - at, unit);
            states->exact[state] += *list->at - at;
            states->seen[state] = true;
        }
        state += list->change;
    }
}

/* Rising ends. They are that already unless a group ends before it starts. */
static enum sutra_status sort_ends(const int64_t *ends, row_t n, int64_t *sorted, struct sutra_error *error) {
    uint64_t *keys = malloc(((size_t)n + 1) * sizeof *keys);
    row_t *rows = malloc(((size_t)n + 1) * sizeof *rows);
    enum sutra_status status = keys && rows ? SUTRA_OK : error_memory(error);
    for (row_t i = 0; i < n && !status; i++) {
        keys[i] = integer_sort_key(ends[i]);
        rows[i] = i;
    }
    if (!status)
        status = cpu_sort_keys(NULL, keys, rows, n, error);
    for (row_t i = 0; i < n && !status; i++)
        sorted[i] = ends[rows[i]];
    free(keys);
    free(rows);
    return status;
}

enum sutra_status cpu_interval_states(const struct merged *merged, uint32_t n_sets, int64_t unit,
                                      struct interval_states *states, struct sutra_error *error) {
    struct bounds lists[2 * STATE_SETS_MAX];
    struct interval_states made = {0};
    int64_t *ends = malloc(((size_t)merged->n + 1) * sizeof *ends);
    if (!ends)
        return error_memory(error);
    enum sutra_status status = SUTRA_OK;
    for (uint32_t s = 0; s < n_sets && !status; s++) {
        row_t first = merged->first[s], n = merged->first[s + 1] - first;
        status = sort_ends(merged->end + first, n, ends + first, error);
        lists[2 * s] = (struct bounds){merged->start + first, merged->start + first + n, 1 << s};
        lists[2 * s + 1] = (struct bounds){ends + first, ends + first + n, -(1 << s)};
    }
    if (!status) {
        sweep(lists, 2 * n_sets, unit, &made);
        *states = made;
    }
    free(ends);
    return status;
}

/* ---- Sums ---- */

void cpu_sums_by_key(const uint32_t *keys, const int64_t *values, row_t n, struct moments *moments) {
    for (row_t i = 0; i < n; i++)
        moments_add(&moments[keys[i]], values[i]);
}

double moments_deviation(const struct moments *moments, double scale) {
    if (moments->n < 2 || moments->overflow)
        return NAN;
    double n = (double)moments->n;
    uwide_t sum = (uwide_t)(moments->sum < 0 ? -moments->sum : moments->sum), scaled, squared;
    if (!__builtin_mul_overflow(moments->squares, (uwide_t)moments->n, &scaled) &&
        !__builtin_mul_overflow(sum, sum, &squared))
        return sqrt((double)(scaled - squared) / (n * (n - 1)) / (scale * scale));
    double rest = (double)moments->squares - (double)sum / n * (double)sum;
    return sqrt((rest > 0 ? rest : 0) / (n - 1)) / scale;
}
