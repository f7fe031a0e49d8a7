/*
 * intervals.cu - merging intervals, the states of several merged sets, and sums by key (see match/intervals.h); all in
 * integers, so that rows may add in any order.
 *
 * Merging: rows by segment; a scan computes the latest end so far, and a row with a later start begins a group; another
 * scan computes each group's own end. States: all bounds in one sorted column, whose running sum is the state. Sums:
 * rows by key; each kernel row adds SUM_ROWS neighbours and then adds the result, in limbs of 32 bits, to the sums of
 * their key. O(n log n); 60 bytes per interval, 45 per bound, 40 per value.
 */
#include <stdlib.h>

#include "cuda/engine.h"
#include "cuda/gpu.h"
#include "cuda/table.h"

/* ---- Merging ---- */

struct merge_columns {
    row_t n;
    const int64_t *start, *end;
    struct groups rows;         /* by segment */
    struct segment_end *latest; /* by position: the latest end of the segment so far, then of the group */
    row_t *groups;              /* by position: groups that begin up to here, in all */
    uint8_t *begins;            /* by position */
    int64_t *group_start, *group_end;
    row_t *group_first; /* by segment */
};

SHARED void set_end(const struct merge_columns &c, row_t position) {
    row_t row = c.rows.rows[position];
    struct segment_end latest = {c.rows.number[position], c.end[row]};
    c.latest[position] = latest;
}

SHARED void set_begins(const struct merge_columns &c, row_t position) {
    row_t row = c.rows.rows[position];
    bool first = position == c.rows.start[c.rows.number[position]];
    c.begins[position] = first || interval_begins_group(c.start[row], c.latest[position - 1].end);
    c.groups[position] = c.begins[position];
}

SHARED void set_group_end(const struct merge_columns &c, row_t position) {
    struct segment_end latest = {c.groups[position], c.end[c.rows.rows[position]]};
    c.latest[position] = latest;
}

SHARED void set_group(const struct merge_columns &c, row_t position) {
    row_t group = c.groups[position] - 1;
    if (c.begins[position])
        c.group_start[group] = c.start[c.rows.rows[position]];
    if (position + 1 == c.n || c.begins[position + 1])
        c.group_end[group] = c.latest[position].end;
}

SHARED void set_group_first(const struct merge_columns &c, row_t segment) {
    row_t position = c.rows.start[segment];
    c.group_first[segment] = position ? c.groups[position - 1] : 0;
}

void gpu_merge_intervals(struct gpu *gpu, struct merge_intervals_step *step) {
    row_t n = step->n;
    struct merge_columns c = {};
    gpu_enter(gpu, GPU_UP);
    c.n = n;
    c.start = gpu_up(gpu, step->start, n);
    c.end = gpu_up(gpu, step->end, n);
    const uint32_t *segment = step->segment ? gpu_up(gpu, step->segment, n) : gpu_take_zeros<uint32_t>(gpu, n);
    gpu_ready(gpu);
    gpu_enter(gpu, GPU_SORT);
    c.rows = groups_take(gpu, n, step->n_segments, false);
    c.latest = gpu_take<struct segment_end>(gpu, n);
    c.groups = gpu_take<row_t>(gpu, n);
    c.begins = gpu_take<uint8_t>(gpu, n);
    c.group_start = gpu_take<int64_t>(gpu, n);
    c.group_end = gpu_take<int64_t>(gpu, n);
    c.group_first = gpu_take<row_t>(gpu, (uint64_t)step->n_segments + 1);
    groups_fill(gpu, &c.rows, segment, n, step->n_segments);
    gpu_enter(gpu, GPU_OTHER);
    gpu_each<set_end>(gpu, n, c);
    gpu_scan_ends(gpu, c.latest, n);
    gpu_each<set_begins>(gpu, n, c);
    gpu_scan_sum(gpu, c.groups, n);
    gpu_each<set_group_end>(gpu, n, c);
    gpu_scan_ends(gpu, c.latest, n);
    gpu_each<set_group>(gpu, n, c);
    gpu_each<set_group_first>(gpu, step->n_segments + 1, c);

    /* Allocate the result when its size is known. */
    struct merged merged = {};
    row_t n_groups = 0;
    gpu_enter(gpu, GPU_DOWN);
    if (!gpu_idle(gpu) && n)
        gpu_down(gpu, &n_groups, c.groups + (n - 1), 1);
    if (gpu_idle(gpu))
        return;
    merged.n = n_groups;
    merged.n_segments = step->n_segments;
    merged.start = static_cast<int64_t *>(calloc((size_t)n_groups + 1, sizeof *merged.start));
    merged.end = static_cast<int64_t *>(calloc((size_t)n_groups + 1, sizeof *merged.end));
    merged.first = static_cast<row_t *>(calloc((size_t)step->n_segments + 1, sizeof *merged.first));
    if (!merged.start || !merged.end || !merged.first)
        gpu_end(gpu, GPU_NO_MEMORY);
    gpu_down(gpu, merged.start, c.group_start, n_groups);
    gpu_down(gpu, merged.end, c.group_end, n_groups);
    gpu_down(gpu, merged.first, c.group_first, (uint64_t)step->n_segments + 1);
    if (gpu_arrived(gpu))
        *step->merged = merged;
    else
        merged_free(&merged);
}

/* ---- States ---- */

/* A sum of times, in halves of 32 bits. */
struct time_sum {
    uint64_t low, high;
};

/* Time in a state, and whether it occurred. */
struct state_sum {
    struct time_sum whole, exact;
    uint32_t seen;
};

struct state_columns {
    row_t n_groups;
    row_t first[STATE_SETS_MAX + 1]; /* groups of the sets */
    uint32_t n_sets;
    const int64_t *start, *end; /* of groups */
    struct pairs pairs;         /* keys: times; rows: starts are groups, ends are groups + n_groups */
    row_t *state;               /* by position: the sum of changes up to here, modulo 2^32 */
    int64_t unit;
    struct state_sum *sums;
};

/* Bounds are ordered by set, starts before ends; a stable sort by time keeps this order for equal times. */
SHARED void set_bound(const struct state_columns &c, row_t group) {
    uint32_t set = 0;
    while (set + 1 < c.n_sets && group >= c.first[set + 1])
        set++;
    row_t before = c.first[set], n = c.first[set + 1] - before, at = 2 * before + (group - before);
    c.pairs.keys[at] = integer_sort_key(c.start[group]);
    c.pairs.rows[at] = 2 * set;
    c.pairs.keys[at + n] = integer_sort_key(c.end[group]);
    c.pairs.rows[at + n] = 2 * set + 1;
}

SHARED void set_change(const struct state_columns &c, row_t position) {
    row_t list = c.pairs.rows[position], bit = 1u << list / 2;
    c.state[position] = list % 2 ? 0 - bit : bit;
}

SHARED void add_interval(const struct state_columns &c, row_t position) {
    int32_t state = (int32_t)c.state[position];
    if (state <= 0 || state >= N_STATES)
        return;
    uint64_t length = c.pairs.keys[position + 1] - c.pairs.keys[position];
    uint64_t whole = (uint64_t)whole_units((int64_t)length, c.unit);
    uint64_t sums[] = {whole & UINT32_MAX, whole >> 32, length & UINT32_MAX, length >> 32};
    if (!sum_in_warp((uint32_t)state, sums))
        return;
    add_to(&c.sums[state].whole.low, sums[0]);
    add_to(&c.sums[state].whole.high, sums[1]);
    add_to(&c.sums[state].exact.low, sums[2]);
    add_to(&c.sums[state].exact.high, sums[3]);
    set_bits(&c.sums[state].seen, 1);
}

static wide_t time_of(struct time_sum sum) {
    return ((wide_t)sum.high << 32) + sum.low;
}

void gpu_interval_states(struct gpu *gpu, struct interval_states_step *step) {
    const struct merged *merged = step->merged;
    struct state_columns c = {};
    struct state_sum sums[N_STATES] = {};
    if (merged->first[step->n_sets] > ROW_LIMIT / 2) {
        gpu_leave(gpu, NULL);
        return;
    }
    c.n_sets = step->n_sets;
    c.unit = step->unit;
    for (uint32_t s = 0; s <= step->n_sets; s++)
        c.first[s] = merged->first[s];
    c.n_groups = merged->first[step->n_sets];
    row_t n = 2 * c.n_groups;
    gpu_enter(gpu, GPU_UP);
    c.start = gpu_up(gpu, merged->start, c.n_groups);
    c.end = gpu_up(gpu, merged->end, c.n_groups);
    c.sums = gpu_take_zeros<struct state_sum>(gpu, N_STATES);
    gpu_ready(gpu);
    gpu_enter(gpu, GPU_SORT);
    c.pairs = pairs_take(gpu, n);
    c.state = gpu_take<row_t>(gpu, n);
    gpu_each<set_bound>(gpu, c.n_groups, c);
    gpu_sort(gpu, &c.pairs, n, 64);
    gpu_enter(gpu, GPU_OTHER);
    gpu_each<set_change>(gpu, n, c);
    gpu_scan_sum(gpu, c.state, n);
    gpu_each<add_interval>(gpu, n ? n - 1 : 0, c);
    gpu_enter(gpu, GPU_DOWN);
    gpu_down(gpu, sums, c.sums, N_STATES);
    for (int state = 0; state < N_STATES && !gpu_idle(gpu); state++) {
        step->states->length[state] = time_of(sums[state].whole);
        step->states->exact[state] = time_of(sums[state].exact);
        step->states->seen[state] = sums[state].seen;
    }
}

/* ---- Sums ---- */

#define SUM_ROWS 64
#define LIMBS    4 /* of 32 bits in a wide sum */

struct key_sums {
    uint64_t n, min, max;                /* extremes as sort keys */
    uint64_t sum[LIMBS], squares[LIMBS]; /* below 2^32 additions of at most 2^38 each do not run over */
};

struct sum_columns {
    row_t n;
    const int64_t *values;
    struct groups rows; /* by key */
    struct key_sums *sums;
};

SHARED void set_nothing(const struct sum_columns &c, row_t key) {
    struct key_sums none = {0, UINT64_MAX, 0, {0, 0, 0, 0}, {0, 0, 0, 0}};
    c.sums[key] = none;
}

/* The position after the neighbours from `begin` on that have its key, at most `end`. */
SHARED row_t end_of_key(const struct sum_columns &c, row_t begin, row_t end) {
    row_t position = begin + 1;
    while (position < end && c.rows.number[position] == c.rows.number[begin])
        position++;
    return position;
}

/* The sums of moments_add() for SUM_ROWS neighbours: of values and, in another kernel since both together need too many
 * registers, of squares. */
SHARED void add_values(const struct sum_columns &c, row_t part) {
    row_t position = part * SUM_ROWS, end = c.n - position > SUM_ROWS ? position + SUM_ROWS : c.n;
    while (position < end) {
        row_t begin = position, key_end = end_of_key(c, position, end);
        int64_t min = INT64_MAX, max = INT64_MIN, high = 0; /* of values, without their lowest 32 bits */
        uint64_t low = 0;
        for (; position < key_end; position++) {
            int64_t value = c.values[c.rows.rows[position]];
            min = value < min ? value : min;
            max = value > max ? value : max;
            low += (uint64_t)value & UINT32_MAX;
            high += value >> 32;
        }
        struct key_sums *sums = &c.sums[c.rows.number[begin]];
        uwide_t sum = ((uwide_t)high << 32) + low;
        keep_min(&sums->min, integer_sort_key(min));
        keep_max(&sums->max, integer_sort_key(max));
        uint64_t added[1 + LIMBS] = {key_end - begin};
        for (int k = 0; k < LIMBS; k++)
            added[1 + k] = (uint64_t)(sum >> 32 * k) & UINT32_MAX;
        if (!sum_in_warp(c.rows.number[begin], added))
            continue;
        add_to(&sums->n, added[0]);
        for (int k = 0; k < LIMBS; k++)
            add_to(&sums->sum[k], added[1 + k]);
    }
}

SHARED void add_squares(const struct sum_columns &c, row_t part) {
    row_t position = part * SUM_ROWS, end = c.n - position > SUM_ROWS ? position + SUM_ROWS : c.n;
    while (position < end) {
        row_t begin = position, key_end = end_of_key(c, position, end);
        uint64_t limbs[LIMBS] = {0, 0, 0, 0};
        for (; position < key_end; position++) {
            int64_t value = c.values[c.rows.rows[position]];
            uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
            uwide_t square = (uwide_t)magnitude * magnitude;
            for (int k = 0; k < LIMBS; k++)
                limbs[k] += (uint64_t)(square >> 32 * k) & UINT32_MAX;
        }
        if (!sum_in_warp(c.rows.number[begin], limbs))
            continue;
        for (int k = 0; k < LIMBS; k++)
            add_to(&c.sums[c.rows.number[begin]].squares[k], limbs[k]);
    }
}

/* The sum of the limbs; *carry is the part beyond 128 bits. */
static uwide_t join_limbs(const uint64_t *limbs, uint64_t *carry) {
    uwide_t value = 0;
    *carry = 0;
    for (int k = 0; k < LIMBS; k++) {
        uint64_t limb = limbs[k] + *carry;
        value |= (uwide_t)(limb & UINT32_MAX) << 32 * k;
        *carry = limb >> 32;
    }
    return value;
}

void gpu_sums_by_key(struct gpu *gpu, struct sums_by_key_step *step) {
    struct sum_columns c = {};
    row_t n = step->n;
    gpu_enter(gpu, GPU_UP);
    c.n = n;
    const uint32_t *keys = gpu_up(gpu, step->keys, n);
    c.values = gpu_up(gpu, step->values, n);
    gpu_ready(gpu);
    gpu_enter(gpu, GPU_SORT);
    c.rows = groups_take(gpu, n, step->n_keys, false);
    c.sums = gpu_take<struct key_sums>(gpu, step->n_keys);
    groups_fill(gpu, &c.rows, keys, n, step->n_keys);
    gpu_enter(gpu, GPU_OTHER);
    gpu_each<set_nothing>(gpu, step->n_keys, c);
    gpu_each<add_values>(gpu, n / SUM_ROWS + (n % SUM_ROWS != 0), c);
    gpu_each<add_squares>(gpu, n / SUM_ROWS + (n % SUM_ROWS != 0), c);

    struct key_sums *sums = static_cast<struct key_sums *>(calloc((size_t)step->n_keys + 1, sizeof *sums));
    gpu_enter(gpu, GPU_DOWN);
    if (!sums)
        gpu_end(gpu, GPU_NO_MEMORY);
    gpu_down(gpu, sums, c.sums, step->n_keys);
    for (uint32_t key = 0; sums && gpu_arrived(gpu) && key < step->n_keys; key++) {
        struct moments *moments = &step->moments[key];
        uint64_t carry, ignored;
        if (sums[key].n == 0)
            continue;
        moments->n = sums[key].n;
        moments->min = (int64_t)(sums[key].min ^ (uint64_t)1 << 63);
        moments->max = (int64_t)(sums[key].max ^ (uint64_t)1 << 63);
        moments->sum = (wide_t)join_limbs(sums[key].sum, &ignored);
        moments->squares = join_limbs(sums[key].squares, &carry);
        moments->overflow = carry != 0;
    }
    free(sums);
}
