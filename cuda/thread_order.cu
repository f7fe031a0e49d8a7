/*
 * thread_order.cu - order between threads, lanes and call stack frames on the GPU, by the rules of match/rules.h.
 *
 * Order between threads: scans merge the choices of equal starts, and then the choices of all starts so far. A group
 * begins at a position among its thread's operators; another scan leads from each operator to the position where its
 * group begins. O(n), 110 bytes per operator. A table may come in parts, one after the other, with the state of the
 * preceding parts (struct order_carry).
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
    struct order_carry *carry;     /* NULL: the table is complete; else its `begun` is updated */
};

struct order_columns {
    struct gpu_table table;
    int64_t gap;
    row_t *first;               /* by row: the first row with its start */
    struct run_choice *choices; /* by row: among the rows of its start so far */
    struct begun *begun; /* by row: the operators that have begun up to its start, in the last row of the start */
    row_t *head;         /* by position: where its group begins */
    row_t *before;
    struct order_carry carry; /* has_op is NULL: there are no rows before these */
};

SHARED struct number ts_of(const struct order_columns &c, row_t row) {
    return number_at(c.table.ts, row);
}

SHARED void set_choice(const struct order_columns &c, row_t row) {
    struct run_choice only = {c.first[row], start_choice_none()};
    if (op_start_counts(ts_of(c, row)))
        start_choice_add(&only.choice, c.carry.n_rows + row, c.table.thread[row]);
    c.choices[row] = only;
}

SHARED void set_begun(const struct order_columns &c, row_t row) {
    bool last = row + 1 == c.table.n || c.first[row + 1] == row + 1;
    struct begun begun = {last ? c.choices[row].choice : start_choice_none(), start_choice_none()};
    c.begun[row] = begun;
}

/* Whether the operator at a position begins a group; the first of its thread may continue one of an earlier part. */
SHARED bool begins_group(const struct order_columns &c, row_t position) {
    row_t row = c.table.by_thread[position];
    uint32_t thread = c.table.thread[row];
    if (position > c.table.start[thread]) {
        row_t last = c.table.by_thread[position - 1];
        return group_begins(ts_of(c, row), ts_of(c, last), number_at(c.table.dur, last), c.gap);
    }
    return !c.carry.has_op || !c.carry.has_op[thread] ||
           group_begins(ts_of(c, row), number_at(c.carry.ts, thread), number_at(c.carry.dur, thread), c.gap);
}

/* The first position of a thread is a head whether or not it begins a group. */
SHARED void set_head(const struct order_columns &c, row_t position) {
    bool first = position == c.table.start[c.table.thread[c.table.by_thread[position]]];
    c.head[position] = first || begins_group(c, position) ? position : 0;
}

SHARED void set_before(const struct order_columns &c, row_t position) {
    row_t row = c.table.by_thread[position], head = c.head[position], first = c.first[c.table.by_thread[head]];
    uint32_t thread = c.table.thread[row];
    if (!begins_group(c, head))
        c.before[row] = c.carry.before[thread];
    else
        c.before[row] = begun_for(first ? &c.begun[first - 1] : &c.carry.begun, thread);
}

/* The state of the preceding parts is merged into the first row, from which the scan continues. */
SHARED void set_carry(const struct order_columns &c, row_t row) {
    c.begun[row] = begun_merge(&c.carry.begun, &c.begun[row]);
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
    c.first = starts_find_first(gpu, c.table.ts, n);
    c.choices = gpu_take<struct run_choice>(gpu, n);
    c.begun = gpu_take<struct begun>(gpu, n);
    c.head = gpu_take<row_t>(gpu, n);
    c.before = gpu_take<row_t>(gpu, n);
    gpu_each<set_choice>(gpu, n, c);
    gpu_scan_choices(gpu, c.choices, n);
    gpu_each<set_begun>(gpu, n, c);
    gpu_each<set_carry>(gpu, n ? 1 : 0, c);
    gpu_scan_begun(gpu, c.begun, n);
    gpu_each<set_head>(gpu, n, c);
    gpu_scan_max(gpu, c.head, n);
    gpu_each<set_before>(gpu, n, c);
    gpu_enter(gpu, GPU_DOWN);
    gpu_down(gpu, part->step.before, c.before, n);
    if (part->carry && n && !gpu_idle(gpu))
        gpu_down(gpu, &part->carry->begun, c.begun + (n - 1), 1);
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
        for (row_t row = begin; row < end; row++) {
            uint32_t thread = ops->thread[row];
            number_set(carry.ts, thread, number_at(ops->ts, row));
            number_set(carry.dur, thread, number_at(ops->dur, row));
            carry.before[thread] = step->before[row];
            carry.has_op[thread] = 1;
        }
        carry.n_rows = begin = end;
    }
    arena_free(&arena);
    return outcome;
}

/* ---- Lanes ---- */

struct neighbour_columns {
    row_t *start, *item; /* by lane */
    const uint64_t *item_time;
    const uint32_t *lane;
    const uint64_t *time;
    row_t *before, *after;
};

SHARED void find_neighbours(const struct neighbour_columns &c, row_t i) {
    row_t begin = c.start[c.lane[i]], end = c.start[c.lane[i] + 1];
    struct bisection at = {begin, end};
    while (at.low < at.high)
        bisect(&at, c.item_time[c.item[bisect_middle(at)]] <= c.time[i]);
    c.before[i] = at.low > begin ? c.item[at.low - 1] : ROW_NONE;
    c.after[i] = at.low < end ? c.item[at.low] : ROW_NONE;
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
    c.start = gpu_take<row_t>(gpu, (uint64_t)items->n_lanes + 1);
    c.item = gpu_take<row_t>(gpu, items->n);
    c.before = gpu_take<row_t>(gpu, step->n);
    c.after = gpu_take<row_t>(gpu, step->n);
    groups_fill(gpu, item_lane, items->n, items->n_lanes, c.item, c.start);
    gpu_enter(gpu, GPU_OTHER);
    gpu_each<find_neighbours>(gpu, step->n, c);
    gpu_enter(gpu, GPU_DOWN);
    if (step->before)
        gpu_down(gpu, step->before, c.before, step->n);
    if (step->after)
        gpu_down(gpu, step->after, c.after, step->n);
}

struct length_columns {
    const uint32_t *lane;
    const uint8_t *up;
    row_t *row, *start;
    struct frame_depth *depth; /* by position */
    uint32_t *length;
};

SHARED void set_change(const struct length_columns &c, row_t position) {
    row_t row = c.row[position];
    c.depth[position] = frame_depth_of(c.lane[row], c.up[row] != 0);
}

SHARED void set_length(const struct length_columns &c, row_t position) {
    c.length[c.row[position]] = (uint32_t)c.depth[position].sum;
}

void gpu_queue_lengths(struct gpu *gpu, struct queue_lengths_step *step) {
    row_t n = step->n;
    gpu_enter(gpu, GPU_UP);
    struct length_columns c = {};
    c.lane = gpu_up(gpu, step->lane, n);
    c.up = gpu_up(gpu, step->up, n);
    gpu_ready(gpu);
    gpu_enter(gpu, GPU_SORT);
    c.row = gpu_take<row_t>(gpu, n);
    c.start = gpu_take<row_t>(gpu, (uint64_t)step->n_lanes + 1);
    c.depth = gpu_take<struct frame_depth>(gpu, n);
    c.length = gpu_take<uint32_t>(gpu, n);
    groups_fill(gpu, c.lane, n, step->n_lanes, c.row, c.start);
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
