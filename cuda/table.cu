/*
 * table.cu - bringing the columns of the CPU operators to the GPU, and their rows together by thread. While the times
 * go up, the rows are sorted already.
 */
#include "cuda/table.h"

#include <cstring>

#include "cuda/bits.h"

void table_reset(struct gpu *gpu, struct gpu_table *table, const struct cpu_ops *ops) {
    memset(table, 0, sizeof *table);
    gpu->memory[GPU_TABLE].used = 0;
    table->ops = ops;
    if (ops) {
        table->n = ops->n;
        table->n_threads = ops->n_threads;
    }
}

struct threads {
    const uint32_t *thread;
    struct pairs pairs;
    row_t *by_thread, *start;
    row_t n;
    uint32_t n_threads;
};

SHARED void put_thread(const struct threads &c, row_t row) {
    c.pairs.keys[row] = c.thread[row];
    c.pairs.rows[row] = row;
}

/* Place `n` ends the last thread. */
SHARED void put_start(const struct threads &c, row_t place) {
    uint64_t first = place ? c.pairs.keys[place - 1] + 1 : 0, last = place < c.n ? c.pairs.keys[place] : c.n_threads;
    for (uint64_t thread = first; thread <= last; thread++)
        c.start[thread] = place;
    if (place < c.n)
        c.by_thread[place] = c.pairs.rows[place];
}

static void group_by_thread(struct gpu *gpu, struct gpu_table *table, row_t *by_thread, row_t *start) {
    gpu->taking = GPU_SCRATCH;
    size_t mark = gpu_mark(gpu);
    struct threads threads = {table->thread, pairs_take(gpu, table->n), by_thread, start, table->n, table->n_threads};
    gpu_enter(gpu, GPU_SORT);
    gpu_each<put_thread>(gpu, table->n, threads);
    gpu_sort(gpu, &threads.pairs, table->n, bits_of(table->n_threads));
    gpu_each<put_start>(gpu, table->n + 1, threads);
    gpu_release(gpu, mark);
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
    group_by_thread(gpu, table, by_thread, start);
    gpu->taking = GPU_TABLE;
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
