/*
 * table.cu - bringing the columns of the CPU operators to the GPU, and their rows together by thread. While the times
 * go up, the rows are sorted already.
 */
#include "cuda/gpu.h"
#include "cuda/table.h"

/*
 * See groups.h: one sort by the bits of the number, then the places where it changes.
 */

struct group_columns {
    const uint32_t *number;
    struct pairs pairs;
    row_t *rows, *start;
    row_t n;
    uint32_t n_groups;
};

SHARED void put_number(const struct group_columns &c, row_t row) {
    c.pairs.keys[row] = c.number[row];
    c.pairs.rows[row] = row;
}

/* Place n ends the last group. Groups without rows begin where the next one does. */
SHARED void put_start(const struct group_columns &c, row_t place) {
    uint64_t first = place ? c.pairs.keys[place - 1] + 1 : 0;
    uint64_t last = place < c.n ? c.pairs.keys[place] : c.n_groups;
    for (uint64_t group = first; group <= last; group++)
        c.start[group] = place;
    if (place < c.n)
        c.rows[place] = c.pairs.rows[place];
}

void groups_fill(struct gpu *gpu, const uint32_t *number, row_t n, uint32_t n_groups, row_t *rows, row_t *start) {
    enum gpu_memory_kind taking = gpu->taking;
    gpu->taking = GPU_SCRATCH;
    size_t mark = gpu_mark(gpu);
    struct group_columns c = {number, pairs_take(gpu, n), rows, start, n, n_groups};
    gpu_each<put_number>(gpu, n, c);
    gpu_sort(gpu, &c.pairs, n, bits_of(n_groups));
    gpu_each<put_start>(gpu, n + 1, c);
    gpu_release(gpu, mark);
    gpu->taking = taking;
}

/*
 * See starts.h: each row that begins later than the one before it stands for those that follow.
 */

struct start_columns {
    struct number_column ts;
    row_t *first;
};

SHARED void put_first(const struct start_columns &c, row_t row) {
    bool same = row && !number_below(number_at(c.ts, row - 1), number_at(c.ts, row));
    c.first[row] = same ? 0 : row;
}

row_t *starts_find_first(struct gpu *gpu, struct number_column ts, row_t n) {
    struct start_columns c = {ts, gpu_take<row_t>(gpu, n)};
    gpu_each<put_first>(gpu, n, c);
    gpu_scan_max(gpu, c.first, n);
    return c.first;
}

void table_drop(struct gpu *gpu) {
    gpu->table = {};
    gpu->memory[GPU_TABLE].used = 0;
}

struct gpu_table *table_of(struct gpu *gpu, const struct cpu_ops *ops) {
    struct gpu_table *table = &gpu->table;
    if (table->ops != ops) {
        table_drop(gpu);
        gpu->memory[GPU_TABLE].most = 0;
        table->ops = ops;
        table->n = ops->n;
        table->n_threads = ops->n_threads;
    }
    return table;
}

/* Takes memory for all columns, as a table that is there cannot grow. */
void table_need_times(struct gpu *gpu, struct gpu_table *table) {
    if (table->ready)
        return;
    gpu->taking = GPU_TABLE;
    row_t *by_thread = gpu_take<row_t>(gpu, table->n), *start = gpu_take<row_t>(gpu, (uint64_t)table->n_threads + 1);
    table->external = gpu_take<value_key>(gpu, table->n);
    table->coalesced = gpu_take<uint8_t>(gpu, table->n);
    gpu_enter(gpu, GPU_UP);
    table->thread = gpu_up(gpu, table->ops->thread, table->n);
    gpu_ready(gpu);
    gpu_enter(gpu, GPU_SORT);
    groups_fill(gpu, table->thread, table->n, table->n_threads, by_thread, start);
    gpu_enter(gpu, GPU_UP);
    table->ts = gpu_up_numbers(gpu, table->ops->ts, table->n);
    table->dur = gpu_up_numbers(gpu, table->ops->dur, table->n);
    gpu_ready(gpu);
    gpu->taking = GPU_SCRATCH;
    table->by_thread = by_thread;
    table->start = start;
    table->ready = !gpu_idle(gpu);
}

void table_need_names(struct gpu *gpu, struct gpu_table *table) {
    if (table->has_names)
        return;
    gpu_enter(gpu, GPU_UP);
    gpu_copy_up(gpu, table->external, table->ops->external, table->n * sizeof *table->external);
    gpu_copy_up(gpu, table->coalesced, table->ops->coalesced, table->n);
    gpu_ready(gpu);
    table->has_names = !gpu_idle(gpu);
}
