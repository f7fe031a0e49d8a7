/*
 * groups.cu - see groups.h: one sort by the bits of the number, then the places where it changes.
 */
#include "cuda/groups.h"

#include "cuda/bits.h"

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
