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
#include "columns/numbers.h"
#include "match/intervals.h"
#include "match/steps.h"

/*
 * The sweep behind range_cover(), for ranges that share many intervals; others are measured one by one.
 *
 * Intervals are painted over the axis of time in their order, each over those before it. When interval k has been
 * painted, what still shows of those from f to k is what they cover together: a later one only hides what it covers
 * itself. So for each range it is enough to look, when its last interval has been painted, at how much shows of the
 * intervals from its first on: a sum over the end of an array, which a Fenwick tree gives.
 *
 *     painted 0, 1     0 0 1 1 1 1 1          [0, 2): 2 + 5,  [1, 2): 5
 *
 * The axis is cut at the bounds of intervals. Stretches of one colour begin at places that are kept as bits, 64 of them
 * summed up in one above, so that the stretch around a place is found in a few steps. Each interval makes at most three
 * stretches and takes away all that it covers: O(1) of them amortised.
 */

#define LEVELS_MOST 6 /* 64^6 > 2^33 */

/* Where an interval stands in so many ranges at most, by the average, each range is measured alone. */
#define RANGES_AN_INTERVAL 3

/* A set of places; a bit of level l + 1 tells whether a word of level l has any. */
struct place_set {
    uint64_t *words[LEVELS_MOST];
    unsigned n_levels;
};

struct painting {
    int64_t *at; /* bounds of intervals, rising */
    uint32_t n_places;
    struct place_set begins; /* of stretches */
    row_t *colour;           /* of the stretch that begins at a place; ROW_NONE: nothing painted */
    uint64_t *sums;          /* Fenwick tree over intervals: how much of each shows */
    row_t n;
};

/* ---- Places ---- */

static bool places_init(struct place_set *set, uint32_t n, struct arena *arena) {
    uint64_t n_words = n;
    set->n_levels = 0;
    do {
        n_words = n_words / 64 + 1;
        set->words[set->n_levels++] = arena_zeros(arena, n_words, sizeof(uint64_t));
    } while (n_words > 1);
    return !arena->failed;
}

static void places_add(struct place_set *set, uint32_t place) {
    for (unsigned level = 0; level < set->n_levels; level++, place /= 64)
        set->words[level][place / 64] |= (uint64_t)1 << place % 64;
}

static void places_remove(struct place_set *set, uint32_t place) {
    for (unsigned level = 0; level < set->n_levels; level++, place /= 64) {
        set->words[level][place / 64] &= ~((uint64_t)1 << place % 64);
        if (set->words[level][place / 64])
            return;
    }
}

/* The last place of the set at or before one; place 0 is always in the set. */
static uint32_t places_before(const struct place_set *set, uint32_t place) {
    unsigned level = 0;
    uint64_t bits = set->words[0][place / 64] & (UINT64_MAX >> (63 - place % 64));
    while (!bits && ++level < set->n_levels) {
        place /= 64;
        bits = set->words[level][place / 64] & (((uint64_t)1 << place % 64) - 1);
    }
    place = place / 64 * 64 + (63 - (uint32_t)__builtin_clzll(bits));
    while (level--)
        place = place * 64 + (63 - (uint32_t)__builtin_clzll(set->words[level][place]));
    return place;
}

/* ---- What shows ---- */

static void sums_add(struct painting *painting, row_t interval, uint64_t length) {
    for (uint64_t i = (uint64_t)interval + 1; i <= painting->n; i += i & (0 - i))
        painting->sums[i] += length;
}

/* Of the first n intervals. */
static uint64_t sums_before(const struct painting *painting, row_t n) {
    uint64_t sum = 0;
    for (uint64_t i = n; i; i &= i - 1)
        sum += painting->sums[i];
    return sum;
}

/* ---- Painting ---- */

/* Has a stretch begin at a place. */
static void cut(struct painting *painting, uint32_t place) {
    uint32_t begin = places_before(&painting->begins, place);
    if (begin == place)
        return;
    painting->colour[place] = painting->colour[begin];
    places_add(&painting->begins, place);
}

/* What shows of a stretch up to a place shows no longer. */
static void hide(struct painting *painting, uint32_t begin, uint32_t end) {
    if (painting->colour[begin] != ROW_NONE)
        sums_add(painting, painting->colour[begin], 0 - ((uint64_t)painting->at[end] - (uint64_t)painting->at[begin]));
}

static void paint(struct painting *painting, row_t interval, uint32_t from, uint32_t to) {
    if (from == to)
        return;
    cut(painting, from);
    cut(painting, to);
    for (uint32_t end = to; end != from;) {
        uint32_t begin = places_before(&painting->begins, end - 1);
        hide(painting, begin, end);
        places_remove(&painting->begins, begin);
        end = begin;
    }
    places_add(&painting->begins, from);
    painting->colour[from] = interval;
    sums_add(painting, interval, (uint64_t)painting->at[to] - (uint64_t)painting->at[from]);
}

/* ---- Each range alone ---- */

/* Whether ranges are so short together that they are measured one by one. */
static bool ranges_are_short(row_t n, const row_t *first, const row_t *last, row_t n_ranges) {
    uint64_t sum = 0, most = (uint64_t)n * RANGES_AN_INTERVAL;
    for (row_t i = 0; i < n_ranges && sum <= most; i++)
        sum += last[i] - first[i];
    return sum <= most;
}

/* What n intervals cover together; keys and rows have room for them. */
static enum sutra_status cover_alone(const int64_t *start, const int64_t *end, row_t n, uint64_t *keys, row_t *rows,
                                     int64_t *length, struct sutra_error *error) {
    for (row_t i = 0; i < n; i++) {
        keys[i] = integer_sort_key(start[i]);
        rows[i] = i;
    }
    enum sutra_status status = cpu_sort_keys(NULL, &(struct sort_keys_step){keys, rows, n}, error);
    uint64_t sum = 0;
    int64_t covered = n ? start[rows[0]] : 0;
    for (row_t i = 0; i < n; i++) {
        int64_t from = start[rows[i]] > covered ? start[rows[i]] : covered;
        if (end[rows[i]] <= from)
            continue;
        sum += (uint64_t)end[rows[i]] - (uint64_t)from;
        covered = end[rows[i]];
    }
    *length = (int64_t)sum;
    return status;
}

static enum sutra_status cover_each(const int64_t *start, const int64_t *end, row_t n, const row_t *first,
                                    const row_t *last, row_t n_ranges, struct arena *scratch, int64_t *length,
                                    struct sutra_error *error) {
    uint64_t *keys = arena_take(scratch, n, sizeof *keys);
    row_t *rows = arena_take(scratch, n, sizeof *rows);
    enum sutra_status status = arena_status(scratch, error);
    for (row_t i = 0; i < n_ranges && !status; i++)
        status = cover_alone(start + first[i], end + first[i], last[i] - first[i], keys, rows, &length[i], error);
    return status;
}

/* ---- The sweep ---- */

/* Finds the places of the bounds of all intervals, whose starts stand before their ends in place[]. */
static enum sutra_status find_places(struct painting *painting, const int64_t *start, const int64_t *end, row_t n,
                                     uint32_t *place, struct arena *arena, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(arena);
    uint64_t *keys = arena_take(arena, (size_t)n * 2, sizeof *keys);
    row_t *rows = arena_take(arena, (size_t)n * 2, sizeof *rows);
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < n && !status; i++) {
        keys[i] = integer_sort_key(start[i]);
        keys[n + i] = integer_sort_key(end[i]);
        rows[i] = i;
        rows[n + i] = n + i;
    }
    if (!status)
        status = cpu_sort_keys(NULL, &(struct sort_keys_step){keys, rows, n * 2}, error);
    for (row_t i = 0; i < n * 2 && !status; i++) {
        if (i == 0 || keys[i] != keys[i - 1])
            painting->at[painting->n_places++] = rows[i] < n ? start[rows[i]] : end[rows[i] - n];
        place[rows[i]] = painting->n_places - 1;
    }
    arena_release(arena, mark);
    return status;
}

/* Ranges in the order in which they end: those that end before interval k are order[begin[k]] .. order[begin[k + 1] -
 * 1]. begin[] comes in as n + 2 zeros. */
static void order_ranges(const row_t *last, row_t n_ranges, row_t n, row_t *begin, row_t *order) {
    for (row_t i = 0; i < n_ranges; i++)
        begin[last[i] + 1]++;
    for (row_t k = 0; k <= n; k++)
        begin[k + 1] += begin[k];
    /* begin[k] runs on to the begin of k + 1 while ranges are placed, and is moved back after. */
    for (row_t i = 0; i < n_ranges; i++)
        order[begin[last[i]]++] = i;
    memmove(begin + 1, begin, ((size_t)n + 1) * sizeof *begin);
    begin[0] = 0;
}

static void sweep_range_cover(struct painting *painting, const uint32_t *place, const row_t *first, const row_t *begin,
                              const row_t *order, int64_t *length) {
    for (row_t k = 0; k <= painting->n; k++) {
        for (row_t i = begin[k]; i < begin[k + 1]; i++)
            length[order[i]] = (int64_t)(sums_before(painting, k) - sums_before(painting, first[order[i]]));
        if (k < painting->n)
            paint(painting, k, place[k], place[painting->n + k]);
    }
}

enum sutra_status range_cover(const int64_t *start, const int64_t *end, row_t n, const row_t *first, const row_t *last,
                              row_t n_ranges, struct arena *scratch, int64_t *length, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    struct painting painting = {.n = n};
    if (n > ROW_LIMIT / 2)
        return error_set(error, SUTRA_DATA, "more than %u GPU activities", ROW_LIMIT / 2);
    if (ranges_are_short(n, first, last, n_ranges)) {
        enum sutra_status alone = cover_each(start, end, n, first, last, n_ranges, scratch, length, error);
        arena_release(scratch, mark);
        return alone;
    }
    uint32_t *place = arena_take(scratch, (size_t)n * 2, sizeof *place);
    row_t *begin = arena_zeros(scratch, (size_t)n + 2, sizeof *begin);
    row_t *order = arena_take(scratch, n_ranges, sizeof *order);
    painting.at = arena_take(scratch, (size_t)n * 2, sizeof *painting.at);
    painting.colour = arena_take(scratch, (size_t)n * 2 + 1, sizeof *painting.colour);
    painting.sums = arena_zeros(scratch, (size_t)n + 1, sizeof *painting.sums);
    enum sutra_status status = arena_status(scratch, error);
    if (!status)
        status = find_places(&painting, start, end, n, place, scratch, error);
    if (!status && !places_init(&painting.begins, painting.n_places, scratch))
        status = error_memory(error);
    if (!status) {
        painting.colour[0] = ROW_NONE;
        places_add(&painting.begins, 0);
        order_ranges(last, n_ranges, n, begin, order);
        sweep_range_cover(&painting, place, first, begin, order, length);
    }
    arena_release(scratch, mark);
    return status;
}

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
static void sweep_intervals(struct bounds *lists, uint32_t n_lists, int64_t unit, struct interval_states *states) {
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
        sweep_intervals(lists, 2 * step->n_sets, step->unit, step->states);
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
