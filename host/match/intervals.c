/*
 * intervals.c - merging intervals, the states of several merged sets, sums by key, and the cover of ranges, on the CPU.
 *
 * Merging walks the rows by ascending start and keeps the open group of each segment. The states come from a sweep that
 * takes the smallest of at most six sorted lists of bounds (starts and ends of three segments) at a time.
 *
 * range_cover() measures short ranges one by one. If ranges share many intervals, it paints the intervals over the time
 * axis in their order, each over the earlier ones. When interval k has been painted, the visible length of the
 * intervals from f to k is the time that they cover together, since a later interval only hides time that it covers
 * itself. So the cover of a range is read when its last interval has been painted: the sum of the visible lengths from
 * its first interval on, which a Fenwick tree returns.
 *
 *     painted 0, 1     0 0 1 1 1 1 1          [0, 2): 2 + 5,  [1, 2): 5
 *
 * The axis is cut at the bounds of intervals. A set of bits contains the positions at which runs of one colour begin,
 * with one bit per 64 in the level above, so that the run around a position is found in a few steps. Each interval adds
 * at most three runs and removes all runs that it covers: O(1) runs, amortized.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/numbers.h"
#include "match/intervals.h"
#include "match/steps.h"

/* ---- Cover of ranges ---- */

#define MAX_LEVELS 6 /* 64^6 > 2^33 */

/* Ranges are measured one by one up to this average number of ranges per interval. */
#define RANGES_PER_INTERVAL 3

/* A set of positions; a bit of level l + 1 is set if a word of level l has any. */
struct position_set {
    uint64_t *words[MAX_LEVELS];
    unsigned n_levels;
};

struct painting {
    int64_t *at; /* bounds of intervals, ascending */
    uint32_t n_positions;
    struct position_set begins; /* of runs */
    row_t *colour;              /* of the run that begins at a position: its interval, or ROW_NONE */
    uint64_t *sums;             /* Fenwick tree over intervals: the visible length of each */
    row_t n;
};

static void set_add(struct position_set *set, uint32_t position) {
    for (unsigned level = 0; level < set->n_levels; level++, position /= 64)
        set->words[level][position / 64] |= (uint64_t)1 << position % 64;
}

static void set_remove(struct position_set *set, uint32_t position) {
    for (unsigned level = 0; level < set->n_levels; level++, position /= 64) {
        set->words[level][position / 64] &= ~((uint64_t)1 << position % 64);
        if (set->words[level][position / 64])
            return;
    }
}

/* The last position of the set up to this one; position 0 is always in the set. */
static uint32_t set_last(const struct position_set *set, uint32_t position) {
    unsigned level = 0;
    uint64_t bits = set->words[0][position / 64] & (UINT64_MAX >> (63 - position % 64));
    while (!bits && ++level < set->n_levels) {
        position /= 64;
        bits = set->words[level][position / 64] & (((uint64_t)1 << position % 64) - 1);
    }
    position = position / 64 * 64 + (63 - (uint32_t)__builtin_clzll(bits));
    while (level--)
        position = position * 64 + (63 - (uint32_t)__builtin_clzll(set->words[level][position]));
    return position;
}

static void sums_add(struct painting *painting, row_t interval, uint64_t length) {
    for (uint64_t i = (uint64_t)interval + 1; i <= painting->n; i += i & (0 - i))
        painting->sums[i] += length;
}

/* The visible length of the first n intervals. */
static uint64_t sums_before(const struct painting *painting, row_t n) {
    uint64_t sum = 0;
    for (uint64_t i = n; i; i &= i - 1)
        sum += painting->sums[i];
    return sum;
}

/* Begins a run at a position. */
static void cut(struct painting *painting, uint32_t position) {
    uint32_t begin = set_last(&painting->begins, position);
    if (begin == position)
        return;
    painting->colour[position] = painting->colour[begin];
    set_add(&painting->begins, position);
}

static void paint(struct painting *painting, row_t interval, uint32_t from, uint32_t to) {
    if (from == to)
        return;
    cut(painting, from);
    cut(painting, to);
    for (uint32_t end = to; end != from;) {
        uint32_t begin = set_last(&painting->begins, end - 1);
        if (painting->colour[begin] != ROW_NONE)
            sums_add(painting, painting->colour[begin],
                     0 - ((uint64_t)painting->at[end] - (uint64_t)painting->at[begin]));
        set_remove(&painting->begins, begin);
        end = begin;
    }
    set_add(&painting->begins, from);
    painting->colour[from] = interval;
    sums_add(painting, interval, (uint64_t)painting->at[to] - (uint64_t)painting->at[from]);
}

/* Sorts and sums the intervals of each range. */
static enum sutra_status cover_each(const int64_t *start, const int64_t *end, row_t n, const row_t *first,
                                    const row_t *last, row_t n_ranges, struct arena *scratch, int64_t *length,
                                    struct sutra_error *error) {
    uint64_t *keys = arena_alloc(scratch, n, sizeof *keys);
    row_t *rows = arena_alloc(scratch, n, sizeof *rows);
    TRY(arena_status(scratch, error));
    for (row_t range = 0; range < n_ranges; range++) {
        row_t n_rows = last[range] - first[range];
        for (row_t i = 0; i < n_rows; i++) {
            rows[i] = first[range] + i;
            keys[i] = integer_sort_key(start[rows[i]]);
        }
        TRY(cpu_sort_keys(NULL, &(struct sort_keys_step){keys, rows, n_rows}, error));
        uint64_t sum = 0;
        int64_t covered = n_rows ? start[rows[0]] : 0;
        for (row_t i = 0; i < n_rows; i++) {
            int64_t from = MAX(start[rows[i]], covered);
            if (end[rows[i]] <= from)
                continue;
            sum += (uint64_t)end[rows[i]] - (uint64_t)from;
            covered = end[rows[i]];
        }
        length[range] = (int64_t)sum;
    }
    return SUTRA_OK;
}

/* Finds the positions of the bounds: position[i] of the start and position[n + i] of the end of interval i. */
static enum sutra_status find_positions(struct painting *painting, const int64_t *start, const int64_t *end,
                                        uint32_t *position, struct arena *arena, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(arena);
    row_t n = painting->n;
    uint64_t *keys = arena_alloc(arena, (size_t)n * 2, sizeof *keys);
    row_t *rows = arena_alloc(arena, (size_t)n * 2, sizeof *rows);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < n; i++) {
        keys[i] = integer_sort_key(start[i]);
        keys[n + i] = integer_sort_key(end[i]);
        rows[i] = i;
        rows[n + i] = n + i;
    }
    TRY(cpu_sort_keys(NULL, &(struct sort_keys_step){keys, rows, n * 2}, error));
    for (row_t i = 0; i < n * 2; i++) {
        if (i == 0 || keys[i] != keys[i - 1])
            painting->at[painting->n_positions++] = rows[i] < n ? start[rows[i]] : end[rows[i] - n];
        position[rows[i]] = painting->n_positions - 1;
    }
    arena_release(arena, mark);
    return SUTRA_OK;
}

enum sutra_status range_cover(const int64_t *start, const int64_t *end, row_t n, const row_t *first, const row_t *last,
                              row_t n_ranges, struct arena *scratch, int64_t *length, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    if (n > ROW_LIMIT / 2)
        return error_set(error, SUTRA_DATA, "more than %u GPU activities", ROW_LIMIT / 2);
    uint64_t n_measured = 0, limit = (uint64_t)n * RANGES_PER_INTERVAL;
    for (row_t i = 0; i < n_ranges && n_measured <= limit; i++)
        n_measured += last[i] - first[i];
    if (n_measured <= limit) {
        TRY(cover_each(start, end, n, first, last, n_ranges, scratch, length, error));
        arena_release(scratch, mark);
        return SUTRA_OK;
    }

    struct painting painting = {.n = n};
    uint32_t *position = arena_alloc(scratch, (size_t)n * 2, sizeof *position);
    row_t *begin = arena_zeros(scratch, (size_t)n + 2, sizeof *begin);
    row_t *order = arena_alloc(scratch, n_ranges, sizeof *order);
    painting.at = arena_alloc(scratch, (size_t)n * 2, sizeof *painting.at);
    painting.colour = arena_alloc(scratch, (size_t)n * 2 + 1, sizeof *painting.colour);
    painting.sums = arena_zeros(scratch, (size_t)n + 1, sizeof *painting.sums);
    TRY(arena_status(scratch, error));
    TRY(find_positions(&painting, start, end, position, scratch, error));
    uint64_t n_words = painting.n_positions;
    do {
        n_words = n_words / 64 + 1;
        painting.begins.words[painting.begins.n_levels++] = arena_zeros(scratch, n_words, sizeof(uint64_t));
    } while (n_words > 1);
    TRY(arena_status(scratch, error));

    /* Sort the ranges by their ends: the ranges that end before interval k are order[begin[k]] .. order[begin[k + 1]
     * - 1]. Placing the ranges moves begin[k] to the begin of k + 1; the memmove() restores it. */
    for (row_t i = 0; i < n_ranges; i++)
        begin[last[i] + 1]++;
    for (row_t k = 0; k <= n; k++)
        begin[k + 1] += begin[k];
    for (row_t i = 0; i < n_ranges; i++)
        order[begin[last[i]]++] = i;
    memmove(begin + 1, begin, ((size_t)n + 1) * sizeof *begin);
    begin[0] = 0;

    painting.colour[0] = ROW_NONE;
    set_add(&painting.begins, 0);
    for (row_t k = 0; k <= n; k++) {
        for (row_t i = begin[k]; i < begin[k + 1]; i++)
            length[order[i]] = (int64_t)(sums_before(&painting, k) - sums_before(&painting, first[order[i]]));
        if (k < n)
            paint(&painting, k, position[k], position[n + k]);
    }
    arena_release(scratch, mark);
    return SUTRA_OK;
}

/* ---- Merging ---- */

/* Walks the rows. With `next`, the position of each segment's next group, it writes groups; without, it counts them in
 * merged->first[segment + 1]. open_end[] is the latest end of each segment so far, where opened[] is set. */
static void merge_rows(const struct merge_intervals_step *step, struct merged *merged, row_t *next, int64_t *open_end,
                       uint8_t *opened) {
    memset(opened, 0, step->n_segments);
    for (row_t i = 0; i < step->n; i++) {
        uint32_t segment = step->segment ? step->segment[i] : 0;
        int64_t start = step->start[i], end = step->end[i];
        if (!opened[segment] || interval_begins_group(start, open_end[segment])) {
            if (next) {
                row_t group = next[segment]++;
                merged->start[group] = start;
                merged->end[group] = end;
            } else {
                merged->first[segment + 1]++;
            }
            if (!opened[segment] || end > open_end[segment])
                open_end[segment] = end;
            opened[segment] = 1;
            continue;
        }
        if (end > open_end[segment])
            open_end[segment] = end;
        if (next && end > merged->end[next[segment] - 1])
            merged->end[next[segment] - 1] = end;
    }
}

enum sutra_status cpu_merge_intervals(void *pool, struct merge_intervals_step *step, struct sutra_error *error) {
    (void)pool;
    struct arena arena = {0};
    struct merged made = {.n_segments = step->n_segments,
                          .first = calloc((size_t)step->n_segments + 1, sizeof *made.first)};
    int64_t *open_end = arena_zeros(&arena, step->n_segments, sizeof *open_end);
    uint8_t *opened = arena_alloc(&arena, step->n_segments, sizeof *opened);
    row_t *next = arena_alloc(&arena, step->n_segments, sizeof *next);
    bool ok = !arena.failed && made.first;
    if (ok) {
        merge_rows(step, &made, NULL, open_end, opened);
        for (uint32_t s = 0; s < step->n_segments; s++)
            made.first[s + 1] += made.first[s];
        made.n = made.first[step->n_segments];
        made.start = malloc(((size_t)made.n + 1) * sizeof *made.start);
        made.end = malloc(((size_t)made.n + 1) * sizeof *made.end);
        ok = made.start && made.end;
    }
    if (ok) {
        memcpy(next, made.first, step->n_segments * sizeof *next);
        merge_rows(step, &made, next, open_end, opened);
        *step->merged = made;
    } else
        merged_free(&made);
    arena_free(&arena);
    return ok ? SUTRA_OK : error_memory(error);
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

/* Ascending ends. They ascend already unless a group ends before it starts. */
static enum sutra_status sort_ends(struct arena *arena, const int64_t *ends, row_t n, const int64_t **ascending,
                                   struct sutra_error *error) {
    row_t n_sorted = 1;
    while (n_sorted < n && ends[n_sorted - 1] <= ends[n_sorted])
        n_sorted++;
    *ascending = ends;
    if (n_sorted >= n)
        return SUTRA_OK;
    int64_t *sorted = arena_alloc(arena, n, sizeof *sorted);
    struct arena_mark mark = arena_mark(arena);
    struct sort_keys_step pairs = {arena_alloc(arena, n, sizeof *pairs.keys), arena_alloc(arena, n, sizeof *pairs.rows),
                                   n};
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < n; i++) {
        pairs.keys[i] = integer_sort_key(ends[i]);
        pairs.rows[i] = i;
    }
    TRY(cpu_sort_keys(NULL, &pairs, error));
    for (row_t i = 0; i < n; i++)
        sorted[i] = ends[pairs.rows[i]];
    arena_release(arena, mark);
    *ascending = sorted;
    return SUTRA_OK;
}

enum sutra_status cpu_interval_states(void *pool, struct interval_states_step *step, struct sutra_error *error) {
    (void)pool;
    const struct merged *merged = step->merged;
    struct arena arena = {0};
    struct bounds { /* the remaining starts, or ends, of one segment */
        const int64_t *at, *end;
        int change; /* of the state at each */
    } lists[2 * STATE_SETS_MAX];
    int64_t next[2 * STATE_SETS_MAX]; /* of each list: its next bound, or INT64_MAX at its end */
    uint32_t n_lists = 2 * step->n_sets;
    size_t n = 0;
    for (uint32_t s = 0; s < step->n_sets; s++) {
        row_t first = merged->first[s], n_groups = merged->first[s + 1] - first;
        const int64_t *ends = NULL;
        enum sutra_status status = sort_ends(&arena, merged->end + first, n_groups, &ends, error);
        if (status) {
            arena_free(&arena);
            return status;
        }
        lists[2 * s] = (struct bounds){merged->start + first, merged->start + first + n_groups, 1 << s};
        lists[2 * s + 1] = (struct bounds){ends, ends + n_groups, -(1 << s)};
        next[2 * s] = n_groups ? *lists[2 * s].at : INT64_MAX;
        next[2 * s + 1] = n_groups ? *ends : INT64_MAX;
        n += 2 * (size_t)n_groups;
    }

    struct interval_states *states = step->states;
    *states = (struct interval_states){0};
    int64_t at = 0;
    int state = 0;
    for (; n > 0; n--) {
        uint32_t i = 0; /* the list with the smallest next bound, the first of equal ones */
        for (uint32_t k = 1; k < n_lists; k++)
            i = next[k] < next[i] ? k : i;
        if (state > 0 && state < N_STATES) {
            states->length[state] += whole_units(next[i] - at, step->unit);
            states->exact[state] += next[i] - at;
            states->seen[state] = true;
        }
        state += lists[i].change;
        at = next[i];
        lists[i].at++;
        next[i] = lists[i].at < lists[i].end ? *lists[i].at : INT64_MAX;
    }
    arena_free(&arena);
    return SUTRA_OK;
}

/* ---- Sums ---- */

enum sutra_status cpu_sums_by_key(void *pool, struct sums_by_key_step *step, struct sutra_error *error) {
    (void)pool, (void)error;
    for (row_t i = 0; i < step->n; i++)
        moments_add(&step->moments[step->keys[i]], step->values[i]);
    return SUTRA_OK;
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
    return sqrt(MAX(rest, 0) / (n - 1)) / scale;
}
