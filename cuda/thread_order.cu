/*
 * thread_order.cu - which operator of another thread each group of operators waits for; in come the operators of a
 * table, out goes a row for each.
 *
 * What has begun before an operator is a scan over the rows: first the choice among the rows of one start, then the
 * choices merged from start to start (the rules say how). A group begins at a place among its thread's operators;
 * another scan leads from each operator to the place where its group began. O(n), 110 bytes an operator. A table may
 * come in parts, one after the other, with what each must know of those before (struct order_carry).
 */
#include "cuda/thread_order.h"

#include "cuda/starts.h"
#include "cuda/steps.h"
#include "cuda/table.h"

struct order_columns {
    struct gpu_table table;
    int64_t gap;
    row_t *first;               /* by row: the first row with its start */
    struct run_choice *choices; /* by row: among the rows of its start so far */
    struct begun *begun;        /* by row: what has begun up to its start, in the last row of the start */
    row_t *head;                /* by place: where its group begins */
    row_t *before;
    struct order_carry carry; /* seen is NULL: there are no rows before these */
};

SHARED struct number ts_of(const struct order_columns &c, row_t row) {
    return number_at(c.table.ts, row);
}

SHARED void put_choice(const struct order_columns &c, row_t row) {
    struct run_choice only = {c.first[row], start_choice_none()};
    if (op_start_counts(ts_of(c, row)))
        start_choice_add(&only.choice, c.carry.n_rows + row, c.table.thread[row]);
    c.choices[row] = only;
}

SHARED void put_begun(const struct order_columns &c, row_t row) {
    bool last = row + 1 == c.table.n || c.first[row + 1] == row + 1;
    struct begun begun = {last ? c.choices[row].choice : start_choice_none(), start_choice_none()};
    c.begun[row] = begun;
}

/* Whether the operator at a place begins a group; the first of its thread may go on with one of an earlier part. */
SHARED bool begins_group(const struct order_columns &c, row_t place) {
    row_t row = c.table.by_thread[place];
    uint32_t thread = c.table.thread[row];
    if (place > c.table.start[thread]) {
        row_t last = c.table.by_thread[place - 1];
        return group_begins(ts_of(c, row), ts_of(c, last), number_at(c.table.dur, last), c.gap);
    }
    return !c.carry.seen || !c.carry.seen[thread] ||
           group_begins(ts_of(c, row), number_at(c.carry.ts, thread), number_at(c.carry.dur, thread), c.gap);
}

/* The first place of a thread is a head whether or not it begins a group. */
SHARED void put_head(const struct order_columns &c, row_t place) {
    bool first = place == c.table.start[c.table.thread[c.table.by_thread[place]]];
    c.head[place] = first || begins_group(c, place) ? place : 0;
}

SHARED void put_before(const struct order_columns &c, row_t place) {
    row_t row = c.table.by_thread[place], head = c.head[place], first = c.first[c.table.by_thread[head]];
    uint32_t thread = c.table.thread[row];
    if (!begins_group(c, head))
        c.before[row] = c.carry.before[thread];
    else
        c.before[row] = begun_for(first ? &c.begun[first - 1] : &c.carry.begun, thread);
}

/* What came before joins the first row, which all others build on. */
SHARED void put_carry(const struct order_columns &c, row_t row) {
    c.begun[row] = begun_merge(&c.carry.begun, &c.begun[row]);
}

static void bring_carry_up(struct gpu *gpu, struct order_columns *c, const struct order_carry *carry) {
    uint32_t n = c->table.n_threads;
    c->carry = *carry;
    c->carry.ts = gpu_up_numbers(gpu, carry->ts, n);
    c->carry.dur = gpu_up_numbers(gpu, carry->dur, n);
    c->carry.before = gpu_up(gpu, carry->before, n);
    c->carry.seen = gpu_up(gpu, carry->seen, n);
    gpu_ready(gpu);
}

void gpu_order_part(struct gpu *gpu, struct order_part *part) {
    struct gpu_table *table = table_of(gpu, part->step.ops);
    table_need_times(gpu, table);
    row_t n = table->n;
    struct order_columns c = {};
    c.carry.begun.latest = c.carry.begun.under = start_choice_none();
    c.table = *table;
    c.gap = part->step.gap;
    if (part->carry)
        bring_carry_up(gpu, &c, part->carry);
    gpu_enter(gpu, GPU_ORDER);
    c.first = starts_find_first(gpu, c.table.ts, n);
    c.choices = gpu_take<struct run_choice>(gpu, n);
    c.begun = gpu_take<struct begun>(gpu, n);
    c.head = gpu_take<row_t>(gpu, n);
    c.before = gpu_take<row_t>(gpu, n);
    gpu_each<put_choice>(gpu, n, c);
    gpu_scan_choices(gpu, c.choices, n);
    gpu_each<put_begun>(gpu, n, c);
    gpu_each<put_carry>(gpu, n ? 1 : 0, c);
    gpu_scan_begun(gpu, c.begun, n);
    gpu_each<put_head>(gpu, n, c);
    gpu_scan_max(gpu, c.head, n);
    gpu_each<put_before>(gpu, n, c);
    gpu_enter(gpu, GPU_DOWN);
    gpu_down(gpu, part->step.before, c.before, n);
    if (part->carry && n && !gpu_idle(gpu))
        gpu_down(gpu, &part->carry->begun, c.begun + (n - 1), 1);
}

void gpu_thread_order(struct gpu *gpu, struct thread_order_step *step) {
    struct order_part whole = {*step, NULL};
    gpu_order_part(gpu, &whole);
}
