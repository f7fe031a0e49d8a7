/*
 * thread_order.cu - order between threads, lanes and call stack frames on the GPU, by the rules of match/rules.h.
 *
 * Order between threads: three scans find, for each row, the first row with its start, the first row of the run of rows
 * with its thread, and the position at which its group begins. The rows of other threads end before such a run:
 *
 *     row       0  1  2  3  4  5        group of thread 0 that begins at row 5: row 4 is of thread 0, whose run begins
 *     thread    0  1  1  0  0  0        at row 3, so row 2 is the last one of another thread
 *
 * If more rows begin together with that row, atomic minima have their first operators of the two lowest threads. O(n),
 * 35 bytes per operator. A table may come in parts, one after the other, with the state of the preceding parts (struct
 * order_carry).
 *
 * Lanes: searches for all queries in parallel, and a scan along each lane. O(n log n); 40 bytes per item, 24 per query,
 * 45 per counted row.
 *
 * Frames: a scan computes the depth of the stack at each token. Sorted by thread and level, begins and ends alternate:
 *
 *     tokens   (  (  )  (  (  )  )  )      level 1   ( . . . . . . )     an end matches the begin before it; the
 *     level    1  2  2  2  3  3  2  1      level 2   . ( ) ( . . ) .     enclosing begin is the last earlier one of
 *                                          level 3   . . . . ( ) . .     the level above
 *
 * Ends without an open frame have level 0. O(n log n), 50 bytes per token.
 */
#include "cuda/engine.h"
#include "cuda/gpu.h"
#include "cuda/table.h"

/* ---- Order between threads ---- */

/* State of all preceding rows, passed from part to part. A part boundary never separates equal starts. */
struct order_carry {
    row_t n_rows; /* number of preceding rows */
    struct begun begun;
    struct number_column ts, dur; /* by thread: of its last operator */
    row_t *before;                /* by thread: result of its last group */
    uint8_t *has_op;              /* by thread: 1 if it had an operator */
};

struct order_part {
    struct thread_order_step step; /* for the operators of this part */
    struct order_carry *carry;     /* NULL: the table is complete */
};

struct order_columns {
    struct gpu_table table;
    int64_t gap;
    row_t *first;            /* by row: the first row with its start */
    row_t *run;              /* by row: the first row of its run of rows of one thread */
    uint64_t *best, *second; /* by the first row of several with one start: thread and row, see order_choice() */
    row_t *head;             /* by position: where its group begins */
    row_t *head_before;      /* by position where a group begins: the operator that it waits for */
    row_t *before;
    struct order_carry carry; /* has_op is NULL: there are no rows before these */
};

SHARED void set_runs(const struct order_columns &c, row_t row) {
    c.first[row] = row && !number_below(number_at(c.table.ts, row - 1), number_at(c.table.ts, row)) ? 0 : row;
    c.run[row] = row && c.table.thread[row - 1] == c.table.thread[row] ? 0 : row;
}

SHARED bool begins_alone(const struct order_columns &c, row_t row) {
    return c.first[row] == row && (row + 1 == c.table.n || c.first[row + 1] == row + 1);
}

/* The minimum among operators with equal start is the first operator of the lowest thread. */
SHARED uint64_t order_choice(const struct order_columns &c, row_t row) {
    return (uint64_t)c.table.thread[row] << 32 | row;
}

SHARED void find_best(const struct order_columns &c, row_t row) {
    if (!begins_alone(c, row))
        keep_min(&c.best[c.first[row]], order_choice(c, row));
}

/* Of the other threads. */
SHARED void find_second(const struct order_columns &c, row_t row) {
    if (!begins_alone(c, row) && c.best[c.first[row]] >> 32 != c.table.thread[row])
        keep_min(&c.second[c.first[row]], order_choice(c, row));
}

/* Whether an operator begins a group; the first of its thread may continue a group of an earlier part. */
SHARED bool begins_group(const struct order_columns &c, row_t row, row_t position) {
    struct number ts = number_at(c.table.ts, row);
    uint32_t thread = c.table.thread[row];
    if (position > c.table.by_thread.start[thread]) {
        row_t last = c.table.by_thread.rows[position - 1];
        return group_begins(ts, number_at(c.table.ts, last), number_at(c.table.dur, last), c.gap);
    }
    return !c.carry.has_op || !c.carry.has_op[thread] ||
           group_begins(ts, number_at(c.carry.ts, thread), number_at(c.carry.dur, thread), c.gap);
}

/* The operator of another thread that the group waits for that begins at a row. */
SHARED row_t find_before(const struct order_columns &c, row_t row) {
    uint32_t thread = c.table.thread[row];
    row_t first = c.first[row], last = first ? first - 1 : ROW_NONE;
    if (last != ROW_NONE && c.table.thread[last] == thread)
        last = c.run[last] ? c.run[last] - 1 : ROW_NONE;
    if (last == ROW_NONE)
        return begun_for(&c.carry.begun, thread);
    if (!op_start_counts(number_at(c.table.ts, last)))
        return ROW_NONE;
    if (begins_alone(c, last))
        return c.carry.n_rows + last;
    uint64_t choice = c.best[c.first[last]];
    if (choice >> 32 == thread)
        choice = c.second[c.first[last]];
    return c.carry.n_rows + (row_t)choice;
}

/* The first position of a thread is a head whether or not it begins a group. */
SHARED void set_head(const struct order_columns &c, row_t row) {
    row_t position = c.table.by_thread.position[row];
    uint32_t thread = c.table.thread[row];
    bool first = position == c.table.by_thread.start[thread], begins = begins_group(c, row, position);
    c.head[position] = first || begins ? position : 0;
    if (first || begins)
        c.head_before[position] = begins ? find_before(c, row) : c.carry.before[thread];
}

SHARED void set_before(const struct order_columns &c, row_t row) {
    c.before[row] = c.head_before[c.head[c.table.by_thread.position[row]]];
}

/* A step for gpu_run(). */
static void gpu_order_part(struct gpu *gpu, struct order_part *part) {
    struct gpu_table *table = table_of(gpu, part->step.ops);
    table_need_times(gpu, table);
    row_t n = table->n;
    struct order_columns c = {};
    c.carry.begun.latest = c.carry.begun.under = start_choice_none();
    c.table = *table;
    c.gap = part->step.gap;
    if (part->carry) {
        c.carry = *part->carry;
        c.carry.ts = gpu_up_numbers(gpu, part->carry->ts, table->n_threads);
        c.carry.dur = gpu_up_numbers(gpu, part->carry->dur, table->n_threads);
        c.carry.before = gpu_up(gpu, part->carry->before, table->n_threads);
        c.carry.has_op = gpu_up(gpu, part->carry->has_op, table->n_threads);
        gpu_ready(gpu);
    }
    gpu_enter(gpu, GPU_ORDER);
    c.first = gpu_take<row_t>(gpu, n);
    c.run = gpu_take<row_t>(gpu, n);
    c.best = gpu_take<uint64_t>(gpu, n);
    c.second = gpu_take<uint64_t>(gpu, n);
    c.head = gpu_take<row_t>(gpu, n);
    c.head_before = gpu_take<row_t>(gpu, n);
    c.before = gpu_take<row_t>(gpu, n);
    gpu_fill(gpu, c.best, 0xff, n * sizeof *c.best);
    gpu_fill(gpu, c.second, 0xff, n * sizeof *c.second);
    gpu_each<set_runs>(gpu, n, c);
    gpu_scan_max(gpu, c.first, n);
    gpu_scan_max(gpu, c.run, n);
    gpu_each<find_best>(gpu, n, c);
    gpu_each<find_second>(gpu, n, c);
    gpu_each<set_head>(gpu, n, c);
    gpu_scan_max(gpu, c.head, n);
    gpu_each<set_before>(gpu, n, c);
    gpu_enter(gpu, GPU_DOWN);
    gpu_down(gpu, part->step.before, c.before, n);
}

void gpu_thread_order(struct gpu *gpu, struct thread_order_step *step) {
    struct order_part whole = {*step, NULL};
    gpu_order_part(gpu, &whole);
}

#define MIN_ROWS 256 /* minimum size of a part */

/* In parts of neighbouring rows. */
enum gpu_outcome pieces_thread_order(struct gpu *gpu, struct thread_order_step *step) {
    const struct cpu_ops *ops = step->ops;
    struct arena arena = {};
    struct order_carry carry = {};
    carry.begun.latest = carry.begun.under = start_choice_none();
    carry.ts = room_for_numbers(&arena, ops->n_threads);
    carry.dur = room_for_numbers(&arena, ops->n_threads);
    carry.before = room_for<row_t>(&arena, ops->n_threads);
    carry.has_op = room_for<uint8_t>(&arena, ops->n_threads);
    enum gpu_outcome outcome = arena.failed ? GPU_NO_MEMORY : GPU_TOO_SMALL;
    row_t n = arena.failed ? 0 : ops->n, size = n / 2;
    for (row_t begin = 0; begin < n && size >= MIN_ROWS;) {
        row_t end = n - begin > size ? begin + size : n;
        while (end < n && !number_below(number_at(ops->ts, end - 1), number_at(ops->ts, end)))
            end++; /* equal starts stay together */
        struct cpu_ops part_ops = *ops;
        part_ops.n = end - begin;
        part_ops.ts = {ops->ts.bits + begin, ops->ts.kind + begin};
        part_ops.dur = {ops->dur.bits + begin, ops->dur.kind + begin};
        part_ops.thread = ops->thread + begin;
        struct order_part part = {{&part_ops, step->gap, step->before + begin}, &carry};
        outcome = gpu_run<gpu_order_part>(gpu, &part);
        if (outcome == GPU_TOO_SMALL) {
            size /= 2;
            continue;
        }
        if (outcome != GPU_DONE)
            break;
        for (row_t row = begin; row < end;) {
            struct begun run = {start_choice_none(), start_choice_none()};
            row_t first = row;
            do {
                uint32_t thread = ops->thread[row];
                if (op_start_counts(number_at(ops->ts, row)))
                    start_choice_add(&run.latest, row, thread);
                number_set(carry.ts, thread, number_at(ops->ts, row));
                number_set(carry.dur, thread, number_at(ops->dur, row));
                carry.before[thread] = step->before[row];
                carry.has_op[thread] = 1;
                row++;
            } while (row < end && !number_below(number_at(ops->ts, first), number_at(ops->ts, row)));
            carry.begun = begun_merge(&carry.begun, &run);
        }
        carry.n_rows = begin = end;
    }
    arena_free(&arena);
    return outcome;
}

/* ---- Lanes ---- */

struct neighbour_columns {
    struct groups items; /* by lane */
    const uint64_t *item_time;
    const uint32_t *lane;
    const uint64_t *time;
    row_t *before, *after;
};

SHARED void find_neighbours(const struct neighbour_columns &c, row_t i) {
    row_t begin = c.items.start[c.lane[i]], end = c.items.start[c.lane[i] + 1];
    struct bisection at = {begin, end};
    while (at.low < at.high)
        bisect(&at, c.item_time[c.items.rows[bisect_middle(at)]] <= c.time[i]);
    c.before[i] = at.low > begin ? c.items.rows[at.low - 1] : ROW_NONE;
    c.after[i] = at.low < end ? c.items.rows[at.low] : ROW_NONE;
}

void gpu_lane_neighbours(struct gpu *gpu, struct lane_neighbours_step *step) {
    const struct lane_items *items = step->items;
    gpu_enter(gpu, GPU_UP);
    const uint32_t *item_lane = gpu_up(gpu, items->lane, items->n);
    struct neighbour_columns c = {};
    c.item_time = gpu_up(gpu, items->time, items->n);
    c.lane = gpu_up(gpu, step->lane, step->n);
    c.time = gpu_up(gpu, step->time, step->n);
    gpu_ready(gpu);
    gpu_enter(gpu, GPU_SORT);
    c.items = groups_take(gpu, items->n, items->n_lanes, false);
    c.before = gpu_take<row_t>(gpu, step->n);
    c.after = gpu_take<row_t>(gpu, step->n);
    groups_fill(gpu, &c.items, item_lane, items->n, items->n_lanes);
    gpu_enter(gpu, GPU_OTHER);
    gpu_each<find_neighbours>(gpu, step->n, c);
    gpu_enter(gpu, GPU_DOWN);
    if (step->before)
        gpu_down(gpu, step->before, c.before, step->n);
    if (step->after)
        gpu_down(gpu, step->after, c.after, step->n);
}

struct length_columns {
    const uint8_t *up;
    struct groups rows;        /* by lane */
    struct frame_depth *depth; /* by position */
    uint32_t *length;
};

SHARED void set_change(const struct length_columns &c, row_t position) {
    c.depth[position] = frame_depth_of(c.rows.number[position], c.up[c.rows.rows[position]] != 0);
}

SHARED void set_length(const struct length_columns &c, row_t position) {
    c.length[c.rows.rows[position]] = (uint32_t)c.depth[position].sum;
}

void gpu_queue_lengths(struct gpu *gpu, struct queue_lengths_step *step) {
    row_t n = step->n;
    gpu_enter(gpu, GPU_UP);
    struct length_columns c = {};
    const uint32_t *lane = gpu_up(gpu, step->lane, n);
    c.up = gpu_up(gpu, step->up, n);
    gpu_ready(gpu);
    gpu_enter(gpu, GPU_SORT);
    c.rows = groups_take(gpu, n, step->n_lanes, false);
    c.depth = gpu_take<struct frame_depth>(gpu, n);
    c.length = gpu_take<uint32_t>(gpu, n);
    groups_fill(gpu, &c.rows, lane, n, step->n_lanes);
    gpu_enter(gpu, GPU_OTHER);
    gpu_each<set_change>(gpu, n, c);
    gpu_scan_depths(gpu, c.depth, n);
    gpu_each<set_length>(gpu, n, c);
    gpu_enter(gpu, GPU_DOWN);
    gpu_down(gpu, step->length, c.length, n);
}

/* ---- Frames ---- */

struct frame_columns {
    row_t n;
    uint32_t n_threads;
    const row_t *thread_start;
    const uint8_t *begins;
    struct frame_depth *depth;
    struct pairs pairs; /* keys: thread and level */
    unsigned level_bits;
    row_t *partner;
};

SHARED uint32_t thread_of(const struct frame_columns &c, row_t token) {
    struct bisection at = {0, c.n_threads};
    while (at.low < at.high)
        bisect(&at, c.thread_start[bisect_middle(at) + 1] <= token);
    return at.low;
}

SHARED void set_depth(const struct frame_columns &c, row_t token) {
    c.depth[token] = frame_depth_of(thread_of(c, token), c.begins[token] != 0);
}

SHARED void set_level(const struct frame_columns &c, row_t token) {
    uint32_t thread = c.depth[token].thread, level = 0;
    if (c.begins[token])
        level = frame_depth_open(&c.depth[token]);
    else if (token > c.thread_start[thread])
        level = frame_depth_open(&c.depth[token - 1]);
    c.pairs.keys[token] = (uint64_t)thread << c.level_bits | level;
    c.pairs.rows[token] = token;
}

/* The last token of a thread and level before another one; there must be one. */
SHARED row_t last_before(const struct frame_columns &c, uint64_t key, row_t token) {
    struct bisection at = {0, c.n};
    while (at.low < at.high) {
        row_t middle = bisect_middle(at);
        uint64_t found = c.pairs.keys[middle];
        bisect(&at, found < key || (found == key && c.pairs.rows[middle] < token));
    }
    return c.pairs.rows[at.low - 1];
}

SHARED void set_partner(const struct frame_columns &c, row_t position) {
    row_t token = c.pairs.rows[position], partner = ROW_NONE;
    uint64_t key = c.pairs.keys[position], level = key & (((uint64_t)1 << c.level_bits) - 1);
    if (!c.begins[token] && level)
        partner = c.pairs.rows[position - 1];
    else if (level > 1)
        partner = last_before(c, key - 1, token);
    c.partner[token] = partner;
}

void gpu_match_frames(struct gpu *gpu, struct match_frames_step *step) {
    const struct frame_tokens *tokens = step->tokens;
    row_t n = tokens->n;
    gpu_enter(gpu, GPU_UP);
    struct frame_columns c = {};
    c.n = n;
    c.n_threads = tokens->n_threads;
    c.level_bits = bits_of(n);
    c.thread_start = gpu_up(gpu, tokens->thread_start, (uint64_t)tokens->n_threads + 1);
    c.begins = gpu_up(gpu, tokens->begins, n);
    gpu_ready(gpu);
    gpu_enter(gpu, GPU_OTHER);
    c.depth = gpu_take<struct frame_depth>(gpu, n);
    c.pairs = pairs_take(gpu, n);
    c.partner = gpu_take<row_t>(gpu, n);
    gpu_each<set_depth>(gpu, n, c);
    gpu_scan_depths(gpu, c.depth, n);
    gpu_each<set_level>(gpu, n, c);
    gpu_sort(gpu, &c.pairs, n, c.level_bits + bits_of(c.n_threads));
    gpu_each<set_partner>(gpu, n, c);
    gpu_enter(gpu, GPU_DOWN);
    gpu_down(gpu, step->partner, c.partner, n);
}
