/*
 * intervals.c - merging intervals, the states of several merged sets, and sums by key, on the CPU.
 *
 * Merging keeps the open group of each segment while it walks the rows by rising start. The sweep takes the lowest of
 * at most six sorted lists of bounds (starts and ends of three segments) at a time.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "match/cpu_steps.h"
#include "match/intervals.h"

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

static void merge_walk_rows(struct merge_walk *walk, const struct merge_intervals_step *step) {
    memset(walk->opened, 0, step->n_segments);
    for (row_t i = 0; i < step->n; i++)
        merge_row(walk, step->segment ? step->segment[i] : 0, step->start[i], step->end[i]);
}

/* Counts the groups and makes room for them. */
static bool make_groups(struct merge_walk *walk, const struct merge_intervals_step *step) {
    struct merged *made = walk->merged;
    made->n_segments = step->n_segments;
    made->first = calloc((size_t)step->n_segments + 1, sizeof *made->first);
    if (!made->first)
        return false;
    merge_walk_rows(walk, step);
    for (uint32_t s = 0; s < step->n_segments; s++)
        made->first[s + 1] += made->first[s];
    made->n = made->first[step->n_segments];
    made->start = malloc(((size_t)made->n + 1) * sizeof *made->start);
    made->end = malloc(((size_t)made->n + 1) * sizeof *made->end);
    return made->start && made->end;
}

enum sutra_status cpu_merge_intervals(void *pool, struct merge_intervals_step *step, struct sutra_error *error) {
    (void)pool;
    struct arena arena = {0};
    struct merged made = {0};
    struct merge_walk walk = {.merged = &made};
    walk.open_end = arena_zeros(&arena, step->n_segments, sizeof *walk.open_end);
    walk.opened = arena_take(&arena, step->n_segments, sizeof *walk.opened);
    row_t *next = arena_take(&arena, step->n_segments, sizeof *next);
    bool ok = !arena.failed && make_groups(&walk, step);
    if (ok) {
        memcpy(next, made.first, step->n_segments * sizeof *next);
        walk.next = next;
        merge_walk_rows(&walk, step);
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

/* The bounds of one kind of one segment that are still to come. */
struct bounds {
    const int64_t *at, *end;
    int change; /* of the state at each */
};

/* The list whose next bound comes first, by (time, place in the table). */
static uint32_t lowest(const int64_t *next, uint32_t n) {
    uint32_t found = 0;
    for (uint32_t i = 1; i < n; i++)
        found = next[i] < next[found] ? i : found;
    return found;
}

/* A list that has ended has its next bound behind all others. */
static void sweep(struct bounds *lists, uint32_t n_lists, int64_t unit, struct interval_states *states) {
    int64_t next[2 * STATE_SETS_MAX], at = 0;
    size_t n = 0;
    int state = 0;
    for (uint32_t i = 0; i < n_lists; i++) {
        n += (size_t)(lists[i].end - lists[i].at);
        next[i] = lists[i].at < lists[i].end ? *lists[i].at : INT64_MAX;
    }
    for (; n > 0; n--) {
        uint32_t i = lowest(next, n_lists);
        struct bounds *list = &lists[i];
        if (state > 0 && state < N_STATES) {
            states->length[state] += stretch_whole(next[i] - at, unit);
            states->exact[state] += next[i] - at;
            states->seen[state] = true;
        }
        state += list->change;
        at = next[i];
        list->at++;
        next[i] = list->at < list->end ? *list->at : INT64_MAX;
    }
}

/* Rising ends. They are that already unless a group ends before it starts. */
static enum sutra_status sort_ends(struct arena *arena, const int64_t *ends, row_t n, const int64_t **rising,
                                   struct sutra_error *error) {
    row_t n_rising = 1;
    while (n_rising < n && ends[n_rising - 1] <= ends[n_rising])
        n_rising++;
    *rising = ends;
    if (n_rising >= n)
        return SUTRA_OK;
    int64_t *sorted = arena_take(arena, n, sizeof *sorted);
    struct arena_mark mark = arena_mark(arena);
    struct sort_keys_step pairs = {arena_take(arena, n, sizeof *pairs.keys), arena_take(arena, n, sizeof *pairs.rows),
                                   n};
    enum sutra_status status = arena->failed ? error_memory(error) : SUTRA_OK;
    for (row_t i = 0; i < n && !status; i++) {
        pairs.keys[i] = integer_sort_key(ends[i]);
        pairs.rows[i] = i;
    }
    if (!status)
        status = cpu_sort_keys(NULL, &pairs, error);
    for (row_t i = 0; i < n && !status; i++)
        sorted[i] = ends[pairs.rows[i]];
    arena_release(arena, mark);
    *rising = sorted;
    return status;
}

enum sutra_status cpu_interval_states(void *pool, struct interval_states_step *step, struct sutra_error *error) {
    (void)pool;
    const struct merged *merged = step->merged;
    struct arena arena = {0};
    struct bounds lists[2 * STATE_SETS_MAX];
    enum sutra_status status = SUTRA_OK;
    for (uint32_t s = 0; s < step->n_sets && !status; s++) {
        row_t first = merged->first[s], n = merged->first[s + 1] - first;
        const int64_t *ends = NULL;
        status = sort_ends(&arena, merged->end + first, n, &ends, error);
        lists[2 * s] = (struct bounds){merged->start + first, merged->start + first + n, 1 << s};
        lists[2 * s + 1] = (struct bounds){ends, ends + n, -(1 << s)};
    }
    if (!status) {
        *step->states = (struct interval_states){0};
        sweep(lists, 2 * step->n_sets, step->unit, step->states);
    }
    arena_free(&arena);
    return status;
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
    return sqrt((rest > 0 ? rest : 0) / (n - 1)) / scale;
}
