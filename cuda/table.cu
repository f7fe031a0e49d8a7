/*
 * table.cu - bringing the columns of the CPU operators to the GPU, and their rows together by thread. While the times
 * go up, the rows are sorted already.
 */
#include "cuda/table.h"

#include "cuda/groups.h"

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
