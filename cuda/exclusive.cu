/*
 * exclusive.cu - exclusive durations on the GPU: durations of operators less the operators inside them. Input: the
 * operators of a table. Output: a number for each.
 *
 * Operators are sorted by thread, start and duration, so the operators inside one follow it. Each finds its parent: the
 * nearest slot before it whose end is not below its own (a max_tree over ends). A scan of the latest end of the thread
 * so far shows which operators have none. The latest end between both is the covered part of the parent so far, and the
 * rest of the operator's interval is added to the parent's sum:
 *
 *     parent  |--------------------------------|
 *                |---------| |---|                   covered until here
 *     op                        |------|             adds its end less the later of its start and the covered part
 *
 * Sums are integers on a grid (the lowest binary digit of any start or end), so rows add to them in any order. A sum
 * equals Python's subtractions if the operator is shorter than 2^53 units of the grid (see match/exclusive.c).
 *
 * An operator is crossed if another one begins inside and ends outside. An interval in the other one may be inside the
 * crossed one, too, but is added to the other only. Crossed operators, and operators with inexact sums, walk through
 * all that begin inside in Python's order, up to WALK_STEPS; the CPU does threads with longer walks.
 *
 * O(n log n); about 100 bytes per operator. Pieces have the operators of some threads. Where they can, kernels run over
 * rows, not slots (see groups in table.h).
 */
#include <cstdio>
#include <math.h>
#include <stdlib.h>

#include "cuda/engine.h"
#include "cuda/event_tree.h"
#include "cuda/gpu.h"
#include "cuda/table.h"

extern "C" {
#include "match/steps.h"
}

/* ---- Pieces, and threads on the CPU ---- */

static void scatter_results(const struct thread_piece *piece, const struct exclusive_durations_step *from,
                            const struct exclusive_durations_step *to) {
    struct exclusive_anomalies *sum = to->anomalies;
    for (row_t i = 0; i < piece->ops.n; i++)
        number_set(to->exclusive, piece->rows[i], number_at(from->exclusive, i));
    row_t first = from->anomalies->first_replaced;
    if (first != ROW_NONE && piece->rows[first] < sum->first_replaced)
        sum->first_replaced = piece->rows[first];
    sum->n_rounded += from->anomalies->n_rounded;
    sum->n_replaced += from->anomalies->n_replaced;
    sum->n_inspected += from->anomalies->n_inspected;
}

static void note_cpu_threads(struct gpu *gpu, uint32_t n_threads) {
    snprintf(gpu->remarks.note, sizeof gpu->remarks.note,
             "exclusive durations on %u of %u threads by the CPU: their operators overlap too far", gpu->remarks.n_left,
             n_threads);
}

/* Computes the threads with left[] = 1 on the CPU and adds their anomalies; a remark informs the user. Part of a
 * step. */
static void compute_on_cpu(struct gpu *gpu, struct exclusive_durations_step *step, const uint8_t *left) {
    struct arena arena = {};
    struct thread_piece piece = {};
    uint32_t n_left = 0;
    piece.number = room_for<uint32_t>(&arena, step->ops->n_threads);
    for (uint32_t t = 0; t < step->ops->n_threads && piece.number; t++)
        piece.number[t] = left[t] ? n_left++ : THREAD_OUT;
    bool ok = piece.number != NULL;
    if (ok && n_left) {
        struct exclusive_anomalies anomalies;
        ok = piece_gather(&arena, &piece, step->ops, n_left);
        struct exclusive_durations_step part = {&piece.ops, room_for_numbers(&arena, ok ? piece.ops.n : 0), &anomalies};
        ok = ok && !arena.failed && !cpu_exclusive_durations(gpu->pool, &part, NULL);
        if (ok)
            scatter_results(&piece, &part, step);
    }
    if (!ok)
        gpu_end(gpu, GPU_NO_MEMORY);
    gpu->remarks.n_left += n_left;
    if (n_left)
        note_cpu_threads(gpu, step->ops->n_threads);
    arena_free(&arena);
}

static enum gpu_outcome run_piece(struct thread_cut *cut, const struct thread_piece *piece) {
    struct exclusive_anomalies anomalies;
    struct exclusive_durations_step part = {&piece->ops, room_for_numbers(&cut->arena, piece->ops.n), &anomalies};
    if (cut->arena.failed)
        return GPU_NO_MEMORY;
    enum gpu_outcome outcome = gpu_run<gpu_exclusive_durations>(cut->gpu, &part);
    if (outcome == GPU_DONE)
        scatter_results(piece, &part, static_cast<const struct exclusive_durations_step *>(cut->step));
    return outcome;
}

enum gpu_outcome pieces_exclusive_durations(struct gpu *gpu, struct exclusive_durations_step *step) {
    struct thread_cut cut = {gpu, step->ops, run_piece, step, {}};
    *step->anomalies = {0, 0, ROW_NONE, 0};
    enum gpu_outcome outcome = cut_by_threads(&cut);
    if (gpu->remarks.n_left)
        note_cpu_threads(gpu, step->ops->n_threads);
    arena_free(&cut.arena);
    return outcome;
}

#define WALK_STEPS 1024
#define SHORT_RUN  32 /* operators of one start that one row sorts */

#define EXPONENT_BIAS 4096 /* makes exponents positive */

enum time_kind {
    TIME_INTEGER = 1,
    TIME_DOUBLE = 2,
    TIME_LARGE = 4, /* an integer that a double may not hold */
    TIME_INFINITE = 8,
    END_INTEGER = 16,
    END_DOUBLE = 32,
};

/* Properties of all times. */
struct findings {
    uint64_t lowest, highest; /* biased binary exponents of the lowest digit, and above the highest, of any time */
    uint32_t times;           /* enum time_kind */
    uint32_t long_run;        /* more than SHORT_RUN operators have one start */
    uint32_t crossing;        /* some operator crosses another */
};

struct result_findings {
    uint64_t n_rounded, n_replaced, first_replaced; /* UINT64_MAX: none */
    uint32_t kinds;                                 /* bits 1 << enum number_kind, of all results */
};

struct exclusive_columns {
    struct gpu_table table;
    row_t *rows;           /* by slot: in the order of (thread, start, duration, row) */
    row_t *slot;           /* by row */
    uint64_t *start, *end; /* by slot: keys; an end of 0 means that the operator is skipped */
    struct max_tree ends;
    uint64_t *latest;   /* by slot: the largest end of the thread up to here */
    uint64_t *inside;   /* by slot: the total length of the intervals inside, on the grid */
    uint32_t *n_merged; /* by slot: its merged intervals */
    uint8_t *left;      /* by thread: left to the CPU */
    uint8_t *verdict;   /* by row: enum exclusive_verdict */
    struct number_column exclusive;
    struct findings *findings;
    struct result_findings *result_findings;
};

SHARED struct number start_at(const struct exclusive_columns &c, row_t slot) {
    return number_at(c.table.ts, c.rows[slot]);
}

SHARED struct number dur_at(const struct exclusive_columns &c, row_t slot) {
    return number_at(c.table.dur, c.rows[slot]);
}

SHARED struct number end_at(const struct exclusive_columns &c, row_t slot) {
    return number_add(start_at(c, slot), dur_at(c, slot));
}

/* ---- The kinds of times ---- */

SHARED uint32_t kinds_of(struct number time) {
    if (number_is_double(time))
        return TIME_DOUBLE | (isinf(number_as_double(time)) ? TIME_INFINITE : 0);
    return TIME_INTEGER | (number_fits_double(time) ? 0 : TIME_LARGE);
}

/* Without atomics, for the share of one kernel row. */
SHARED void find_digits(struct findings *findings, struct number time) {
    double value = number_as_double(time);
    if (value == 0 || isinf(value))
        return;
    struct binary_digits digits = binary_digits_of(value);
    uint64_t lowest = (uint64_t)digits.lowest + EXPONENT_BIAS, highest = (uint64_t)digits.above + EXPONENT_BIAS;
    findings->lowest = lowest < findings->lowest ? lowest : findings->lowest;
    findings->highest = highest > findings->highest ? highest : findings->highest;
}

SHARED void find_kinds(const struct exclusive_columns &c, row_t first) {
    struct findings found = {UINT64_MAX, 0, 0, 0, 0};
    for (uint64_t row = first; row < c.table.n; row += SHARES) {
        struct number dur = number_at(c.table.dur, (row_t)row), start = number_at(c.table.ts, (row_t)row);
        struct number end = number_add(start, dur);
        if (op_is_solitary(dur, end))
            continue;
        found.times |= kinds_of(start) | kinds_of(end) | (number_is_double(end) ? END_DOUBLE : END_INTEGER);
        find_digits(&found, start);
        find_digits(&found, end);
    }
    keep_min(&c.findings->lowest, found.lowest);
    keep_max(&c.findings->highest, found.highest);
    set_bits(&c.findings->times, found.times);
}

/* Whether one kind of key is exact for all times. */
SHARED bool keys_are_exact(const struct findings *findings) {
    return (findings->times & (TIME_DOUBLE | TIME_LARGE)) != (TIME_DOUBLE | TIME_LARGE);
}

SHARED uint64_t time_key(const struct findings *findings, struct number time) {
    return number_sort_key(time, findings->times & TIME_DOUBLE);
}

/* Whether all times are integers on one grid, and the lengths of all intervals of one kind. */
SHARED bool grid_is_exact(const struct findings *findings) {
    uint32_t ends = findings->times & (END_INTEGER | END_DOUBLE);
    if (ends == (END_INTEGER | END_DOUBLE) || findings->times & TIME_INFINITE)
        return false;
    return !(findings->times & TIME_DOUBLE) || findings->lowest == UINT64_MAX ||
           findings->highest - findings->lowest <= 62;
}

SHARED int grid_of(const struct findings *findings) {
    return findings->lowest == UINT64_MAX ? 0 : (int)findings->lowest - EXPONENT_BIAS;
}

SHARED int64_t time_on_grid(const struct findings *findings, uint64_t key) {
    if (findings->times & TIME_DOUBLE)
        return (int64_t)ldexp(double_of_sort_key(key), -grid_of(findings));
    return (int64_t)(key ^ (uint64_t)1 << 63);
}

/* ---- The order of operators with equal starts ---- */

SHARED void fill_slot(const struct exclusive_columns &c, row_t row, row_t slot) {
    struct number start = number_at(c.table.ts, row), dur = number_at(c.table.dur, row), end = number_add(start, dur);
    bool skipped = op_is_solitary(dur, end) || !keys_are_exact(c.findings);
    c.rows[slot] = row;
    c.slot[row] = slot;
    c.start[slot] = time_key(c.findings, start);
    c.end[slot] = skipped ? 0 : time_key(c.findings, end);
}

/* The first operator of each run fills the slots of all of them, stably by duration, unless the run is long. */
SHARED void fill_run(const struct exclusive_columns &c, row_t row) {
    const struct groups &groups = c.table.by_thread;
    row_t position = groups.position[row], n = 1;
    uint32_t thread = c.table.thread[row];
    struct number start = number_at(c.table.ts, row);
    if (position > groups.start[thread] && !number_below(number_at(c.table.ts, groups.rows[position - 1]), start))
        return;
    while (position + n < groups.start[thread + 1] && n <= SHORT_RUN &&
           !number_below(start, number_at(c.table.ts, groups.rows[position + n])))
        n++;
    if (n == 1) {
        fill_slot(c, row, position);
        return;
    }
    if (n > SHORT_RUN) {
        set_bits(&c.findings->long_run, 1);
        return;
    }
    for (row_t i = 0; i < n; i++) {
        row_t next = groups.rows[position + i], j = i;
        struct number dur = number_at(c.table.dur, next);
        for (; j && number_compare(dur_at(c, position + j - 1), dur) > 0; j--)
            c.rows[position + j] = c.rows[position + j - 1];
        c.rows[position + j] = next;
    }
    for (row_t i = 0; i < n; i++)
        fill_slot(c, c.rows[position + i], position + i);
}

struct exclusive_order {
    struct exclusive_columns columns;
    struct pairs pairs;
    row_t *first; /* by row: the first row with its start */
};

SHARED void set_row(const struct exclusive_order &c, row_t row) {
    const struct number_column ts = c.columns.table.ts;
    bool same = row && !number_below(number_at(ts, row - 1), number_at(ts, row));
    c.first[row] = same ? 0 : row;
    c.pairs.rows[row] = row;
}

SHARED void set_dur_rest(const struct exclusive_order &c, row_t i) {
    c.pairs.keys[i] = number_rest_key(number_at(c.columns.table.dur, c.pairs.rows[i]));
}

SHARED void set_dur(const struct exclusive_order &c, row_t i) {
    c.pairs.keys[i] = number_whole_key(number_at(c.columns.table.dur, c.pairs.rows[i]));
}

SHARED void set_start(const struct exclusive_order &c, row_t i) {
    c.pairs.keys[i] = c.first[c.pairs.rows[i]];
}

SHARED void set_thread(const struct exclusive_order &c, row_t i) {
    c.pairs.keys[i] = c.columns.table.thread[c.pairs.rows[i]];
}

SHARED void fill_sorted(const struct exclusive_order &c, row_t slot) {
    fill_slot(c.columns, c.pairs.rows[slot], slot);
}

/* By duration, then by start, then by thread, each stably. Keys use the memory of starts and ends, which are set
 * last. */
static void sort_all(struct gpu *gpu, const struct exclusive_columns *c) {
    size_t mark = gpu_mark(gpu);
    row_t n = c->table.n;
    struct pairs pairs = {c->start, c->end, gpu_take<row_t>(gpu, n), gpu_take<row_t>(gpu, n)};
    struct exclusive_order order = {*c, pairs, gpu_take<row_t>(gpu, n)};
    gpu_each<set_row>(gpu, n, order);
    gpu_scan_max(gpu, order.first, n);
    gpu_each<set_dur_rest>(gpu, n, order);
    gpu_sort(gpu, &order.pairs, n, 64);
    gpu_each<set_dur>(gpu, n, order);
    gpu_sort(gpu, &order.pairs, n, 64);
    gpu_each<set_start>(gpu, n, order);
    gpu_sort(gpu, &order.pairs, n, bits_of(n));
    gpu_each<set_thread>(gpu, n, order);
    gpu_sort(gpu, &order.pairs, n, bits_of(c->table.n_threads));
    gpu_each<fill_sorted>(gpu, n, order);
    gpu_release(gpu, mark);
}

static void fill_slots(struct gpu *gpu, const struct exclusive_columns *c) {
    struct findings findings = {0, 0, 0, 0, 0};
    gpu_each<fill_run>(gpu, c->table.n, *c);
    gpu_down(gpu, &findings, c->findings, 1);
    if (findings.long_run || gpu->planning)
        sort_all(gpu, c);
}

/* ---- Operators inside ---- */

SHARED row_t thread_end(const struct exclusive_columns &c, row_t slot) {
    return c.table.by_thread.start[c.table.by_thread.number[slot] + 1];
}

SHARED void add_to_parent(const struct exclusive_columns &c, row_t slot) {
    const uint32_t *thread = c.table.by_thread.number;
    uint64_t start = c.start[slot], end = c.end[slot];
    if (end == 0)
        return;
    uint64_t covered = slot && thread[slot - 1] == thread[slot] ? c.latest[slot - 1] : 0;
    row_t parent = ROW_NONE;
    if (covered >= end)
        parent = tree_last_not_below(&c.ends, 0, slot, end, &covered);
    if (covered > start)
        set_bits(&c.findings->crossing, 1);
    if (parent == ROW_NONE)
        return;
    uint64_t sums[] = {covered < start, 0}; /* merged intervals, and their length */
    if (grid_is_exact(c.findings)) {
        int64_t from = time_on_grid(c.findings, covered > start ? covered : start);
        sums[1] = (uint64_t)time_on_grid(c.findings, end) - (uint64_t)from;
    }
    if (!sum_in_warp(parent, sums))
        return;
    if (sums[0])
        add_to(&c.n_merged[parent], (uint32_t)sums[0]);
    if (sums[1])
        add_to(&c.inside[parent], sums[1]);
}

SHARED bool is_crossed(const struct exclusive_columns &c, row_t slot) {
    row_t end = thread_end(c, slot);
    if (!c.findings->crossing || slot + 1 == end || c.start[slot + 1] >= c.end[slot])
        return false;
    row_t later = tree_first_above(&c.ends, slot + 1, end, c.end[slot]);
    return later != ROW_NONE && c.start[later] < c.end[slot];
}

/* ---- Results ---- */

/* Whether one subtraction of the sum is exact. */
SHARED bool sum_is_exact(const struct findings *findings, struct number dur) {
    if (!grid_is_exact(findings))
        return false;
    return !(findings->times & END_DOUBLE) || number_as_double(dur) < ldexp(0x1p53, grid_of(findings));
}

SHARED struct number subtract_sum(const struct exclusive_columns &c, row_t slot, struct number dur) {
    if (!(c.findings->times & END_DOUBLE))
        return number_integer((int64_t)(dur.bits - c.inside[slot]));
    return number_double(number_as_double(dur) - ldexp((double)c.inside[slot], grid_of(c.findings)));
}

/* In Python's order; false: more than WALK_STEPS. */
SHARED bool walk(const struct exclusive_columns &c, row_t slot, struct remaining *left) {
    row_t end = thread_end(c, slot);
    for (row_t i = slot + 1; i < end && c.start[i] <= c.end[slot]; i++) {
        if (i - slot > WALK_STEPS)
            return false;
        if (c.end[i] && c.end[i] <= c.end[slot])
            remaining_subtract(left, start_at(c, i), end_at(c, i));
    }
    remaining_close(left);
    return true;
}

SHARED void settle(const struct exclusive_columns &c, row_t row) {
    row_t slot = c.slot[row];
    struct number dur = number_at(c.table.dur, row);
    struct remaining left = {dur, dur, dur, 0};
    bool done = keys_are_exact(c.findings);
    if (done && c.end[slot]) {
        bool crossed = is_crossed(c, slot);
        if (!crossed && c.n_merged[slot] == 0)
            left.n_merged = 0;
        else if (!crossed && sum_is_exact(c.findings, dur)) {
            left.rest = subtract_sum(c, slot, dur);
            left.n_merged = c.n_merged[slot];
        } else
            done = walk(c, slot, &left);
    }
    c.verdict[row] = (uint8_t)exclusive_repair(&left.rest, dur, left.n_merged);
    number_set(c.exclusive, row, left.rest);
    if (!done)
        set_flag(&c.left[c.table.thread[row]]);
}

/* Counts anomalies, except on threads that are left to the CPU. */
SHARED void inspect_results(const struct exclusive_columns &c, row_t first) {
    struct result_findings found = {0, 0, UINT64_MAX, 0};
    for (uint64_t i = first; i < c.table.n; i += SHARES) {
        row_t row = (row_t)i;
        found.kinds |= 1u << c.exclusive.kind[row];
        if (c.verdict[row] == EXCLUSIVE_EXACT || c.left[c.table.thread[row]])
            continue;
        bool replaced = c.verdict[row] == EXCLUSIVE_REPLACED;
        found.n_rounded += !replaced;
        found.n_replaced += replaced;
        if (replaced && row < found.first_replaced)
            found.first_replaced = row;
    }
    if (found.n_rounded)
        add_to(&c.result_findings->n_rounded, found.n_rounded);
    if (found.n_replaced)
        add_to(&c.result_findings->n_replaced, found.n_replaced);
    keep_min(&c.result_findings->first_replaced, found.first_replaced);
    set_bits(&c.result_findings->kinds, found.kinds);
}

/* Kinds of results are copied only if there are several. */
static void bring_down(struct gpu *gpu, const struct exclusive_columns *c, struct exclusive_durations_step *step) {
    struct result_findings found = {0, 0, UINT64_MAX, 0};
    uint8_t *left = static_cast<uint8_t *>(calloc((size_t)c->table.n_threads + 1, 1));
    gpu_enter(gpu, GPU_DOWN);
    if (!left)
        gpu_end(gpu, GPU_NO_MEMORY);
    gpu_down(gpu, &found, c->result_findings, 1);
    gpu_down(gpu, step->exclusive.bits, c->exclusive.bits, c->table.n);
    if (found.kinds & (found.kinds - 1))
        gpu_down(gpu, step->exclusive.kind, c->exclusive.kind, c->table.n);
    else
        gpu_fill_host(gpu, step->exclusive.kind, (int)bits_of(found.kinds >> 1), c->table.n);
    gpu_down(gpu, left, c->left, c->table.n_threads);
    if (gpu_arrived(gpu) && left) {
        row_t first = found.first_replaced < c->table.n ? (row_t)found.first_replaced : ROW_NONE;
        *step->anomalies = {found.n_rounded, found.n_replaced, first, 0};
        compute_on_cpu(gpu, step, left);
    }
    free(left);
}

void gpu_exclusive_durations(struct gpu *gpu, struct exclusive_durations_step *step) {
    struct gpu_table *table = table_of(gpu, step->ops);
    table_need_times(gpu, table);
    row_t n = table->n;
    struct findings findings = {UINT64_MAX, 0, 0, 0, 0};
    struct result_findings results = {0, 0, UINT64_MAX, 0};
    gpu_enter(gpu, GPU_EXCLUSIVE);
    struct exclusive_columns c = {};
    c.table = *table;
    c.findings = gpu_up(gpu, &findings, 1);
    c.result_findings = gpu_up(gpu, &results, 1);
    gpu_ready(gpu);
    c.rows = gpu_take<row_t>(gpu, n);
    c.slot = gpu_take<row_t>(gpu, n);
    c.start = gpu_take<uint64_t>(gpu, n);
    c.end = gpu_take<uint64_t>(gpu, n);
    gpu_each_share<find_kinds>(gpu, n, c);
    fill_slots(gpu, &c);
    c.inside = gpu_take_zeros<uint64_t>(gpu, n);
    c.n_merged = gpu_take_zeros<uint32_t>(gpu, n);
    c.left = gpu_take_zeros<uint8_t>(gpu, c.table.n_threads);
    c.ends = max_tree_build(gpu, c.end, n);
    size_t mark = gpu_mark(gpu);
    c.latest = gpu_take<uint64_t>(gpu, n);
    gpu_scan_max_in_groups(gpu, c.table.by_thread.number, c.end, c.latest, n);
    gpu_each<add_to_parent>(gpu, n, c);
    gpu_release(gpu, mark);
    c.verdict = gpu_take<uint8_t>(gpu, n);
    c.exclusive = gpu_take_numbers(gpu, n);
    gpu_each<settle>(gpu, n, c);
    gpu_each_share<inspect_results>(gpu, n, c);
    bring_down(gpu, &c, step);
}
