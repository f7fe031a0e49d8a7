/*
 * table.cu - copies the columns of the CPU operators to the GPU and groups their rows by thread, while the times are
 * still copied; gathers pieces of the table. Pieces are halved until they fit: O(log n) attempts, each with a pass over
 * all operators.
 */
#include "cuda/gpu.h"
#include "cuda/table.h"

/* One sort by the bits of the number, then a search for the begin of each group. */
struct group_columns {
    struct groups groups;
    row_t *identity; /* rows in their order */
    row_t n;
};

SHARED void set_identity(const struct group_columns &c, row_t row) {
    c.identity[row] = row;
}

/* Groups without rows begin where the next one does; the last start is n. */
SHARED void set_start(const struct group_columns &c, row_t group) {
    struct bisection at = {0, c.n};
    while (at.low < at.high)
        bisect(&at, c.groups.number[bisect_middle(at)] < group);
    c.groups.start[group] = at.low;
}

SHARED void set_position(const struct group_columns &c, row_t position) {
    c.groups.position[c.groups.rows[position]] = position;
}

struct groups groups_take(struct gpu *gpu, row_t n, uint32_t n_groups, bool with_positions) {
    struct groups groups = {gpu_take<row_t>(gpu, n), gpu_take<row_t>(gpu, (uint64_t)n_groups + 1),
                            gpu_take<uint32_t>(gpu, n), NULL};
    if (with_positions)
        groups.position = gpu_take<row_t>(gpu, n);
    return groups;
}

void groups_fill(struct gpu *gpu, struct groups *groups, const uint32_t *number, row_t n, uint32_t n_groups) {
    enum gpu_memory_kind taking = gpu->taking;
    gpu->taking = GPU_SCRATCH;
    size_t mark = gpu_mark(gpu);
    struct group_columns c = {*groups, gpu_take<row_t>(gpu, n), n};
    gpu_each<set_identity>(gpu, n, c);
    gpu_sort_rows(gpu, number, groups->number, c.identity, groups->rows, n, bits_of(n_groups));
    gpu_each<set_start>(gpu, n_groups + 1, c);
    if (groups->position)
        gpu_each<set_position>(gpu, n, c);
    gpu_release(gpu, mark);
    gpu->taking = taking;
}

void table_drop(struct gpu *gpu) {
    enum gpu_memory_kind taking = gpu->taking;
    gpu->taking = GPU_TABLE;
    gpu_release(gpu, 0);
    gpu->taking = taking;
    gpu->table = {};
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

/* Allocates all columns, since a table cannot grow later. */
void table_need_times(struct gpu *gpu, struct gpu_table *table) {
    if (table->ready)
        return;
    size_t mark = gpu_mark(gpu);
    gpu->taking = GPU_TABLE;
    uint32_t *thread = gpu_take<uint32_t>(gpu, table->n);
    table->by_thread = groups_take(gpu, table->n, table->n_threads, true);
    table->external = gpu_take<value_key>(gpu, table->n);
    table->coalesced = gpu_take<uint8_t>(gpu, table->n);
    gpu_enter(gpu, GPU_UP);
    table->thread = thread;
    gpu_copy_up_threads(gpu, thread, table->ops->thread, table->n, table->n_threads);
    gpu_ready(gpu);
    gpu->taking = GPU_SCRATCH;
    gpu_release(gpu, mark);
    gpu->taking = GPU_TABLE;
    gpu_enter(gpu, GPU_SORT);
    groups_fill(gpu, &table->by_thread, table->thread, table->n, table->n_threads);
    gpu_enter(gpu, GPU_UP);
    table->ts = gpu_up_numbers(gpu, table->ops->ts, table->n);
    table->dur = gpu_up_numbers(gpu, table->ops->dur, table->n);
    gpu_ready(gpu);
    gpu->taking = GPU_SCRATCH;
    table->ready = !gpu_idle(gpu);
}

void table_need_names(struct gpu *gpu, struct gpu_table *table) {
    if (table->has_names)
        return;
    size_t mark = gpu_mark(gpu);
    gpu_enter(gpu, GPU_UP);
    gpu_copy_up_ids(gpu, table->external, table->ops->external, table->n);
    gpu_copy_up_bytes(gpu, table->coalesced, table->ops->coalesced, table->n);
    gpu_ready(gpu);
    gpu_release(gpu, mark);
    table->has_names = !gpu_idle(gpu);
}

/* ---- Pieces ---- */

bool piece_gather(struct arena *arena, struct thread_piece *piece, const struct cpu_ops *ops, uint32_t n_threads) {
    row_t n = 0;
    for (row_t row = 0; row < ops->n; row++)
        n += piece->number[ops->thread[row]] != THREAD_OUT;
    struct number_column ts = room_for_numbers(arena, n), dur = room_for_numbers(arena, n);
    uint32_t *thread = room_for<uint32_t>(arena, n);
    value_key *external = room_for<value_key>(arena, n);
    uint8_t *coalesced = room_for<uint8_t>(arena, n);
    piece->rows = room_for<row_t>(arena, n);
    piece->ops = {n, n_threads, ts, dur, thread, external, coalesced};
    if (arena->failed)
        return false;
    n = 0;
    for (row_t row = 0; row < ops->n; row++) {
        if (piece->number[ops->thread[row]] == THREAD_OUT)
            continue;
        piece->rows[n] = row;
        number_set(ts, n, number_at(ops->ts, row));
        number_set(dur, n, number_at(ops->dur, row));
        thread[n] = piece->number[ops->thread[row]];
        external[n] = ops->external[row];
        coalesced[n++] = ops->coalesced[row];
    }
    return true;
}

static enum gpu_outcome run_threads(struct thread_cut *cut, uint32_t begin, uint32_t end, bool unknown_threads) {
    struct arena_mark mark = arena_mark(&cut->arena);
    struct thread_piece piece = {};
    piece.unknown_threads = unknown_threads;
    piece.number = room_for<uint32_t>(&cut->arena, cut->ops->n_threads);
    for (uint32_t t = 0; t < cut->ops->n_threads && piece.number; t++)
        piece.number[t] = t >= begin && t < end ? t - begin : THREAD_OUT;
    enum gpu_outcome outcome = GPU_NO_MEMORY;
    if (piece.number && piece_gather(&cut->arena, &piece, cut->ops, end - begin))
        outcome = cut->run(cut, &piece);
    arena_release(&cut->arena, mark);
    return outcome;
}

enum gpu_outcome cut_by_threads(struct thread_cut *cut) {
    enum gpu_outcome outcome = GPU_TOO_SMALL;
    uint32_t n = cut->ops->n_threads, width = n / 2;
    for (uint32_t begin = 0; begin < n && width;) {
        uint32_t end = n - begin > width ? begin + width : n;
        outcome = run_threads(cut, begin, end, false);
        if (outcome == GPU_TOO_SMALL)
            width = (end - begin) / 2;
        else if (outcome == GPU_DONE)
            begin = end;
        else
            break;
    }
    return outcome;
}

enum gpu_outcome cut_unknown_threads(struct thread_cut *cut) {
    return run_threads(cut, 0, 0, true);
}
