/*
 * join.cu - the last position of each wanted key; in come two columns of keys, out go positions of the first.
 *
 * The keys are sorted once, stably, so that of equal keys the last position is the last place; each wanted key is
 * searched there. O(n log n), 40 bytes a key and 12 a wanted one.
 */
#include "cuda/key_sort.h"
#include "cuda/steps.h"

struct join_columns {
    struct sorted_keys sorted;
    row_t n;
    const value_key *wanted;
    row_t *found;
};

SHARED void find_last(const struct join_columns &c, row_t i) {
    struct bisection at = {0, c.n};
    value_key wanted = c.wanted[i];
    while (at.low < at.high)
        bisect(&at, sorted_key(c.sorted, bisect_middle(at)) <= wanted);
    bool there = at.low && sorted_key(c.sorted, at.low - 1) == wanted;
    c.found[i] = there ? c.sorted.pairs.rows[at.low - 1] : ROW_NONE;
}

void gpu_join(struct gpu *gpu, struct join_step *step) {
    gpu_enter(gpu, GPU_UP);
    const value_key *keys = gpu_up(gpu, step->keys, step->n);
    gpu_ready(gpu);
    const value_key *wanted = gpu_up(gpu, step->wanted, step->n_wanted);
    gpu_enter(gpu, GPU_SORT);
    struct join_columns c = {keys_sort(gpu, keys, step->n), step->n, wanted, gpu_take<row_t>(gpu, step->n_wanted)};
    gpu_ready(gpu);
    gpu_enter(gpu, GPU_OTHER);
    gpu_each<find_last>(gpu, step->n_wanted, c);
    gpu_enter(gpu, GPU_DOWN);
    gpu_down(gpu, step->found, c.found, step->n_wanted);
}
