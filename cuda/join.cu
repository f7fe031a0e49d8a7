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
    row_t low = 0, high = c.n;
    value_key wanted = c.wanted[i];
    while (low < high) {
        row_t middle = low + (high - low) / 2;
        if (sorted_key(c.sorted, middle) <= wanted)
            low = middle + 1;
        else
            high = middle;
    }
    bool there = low && sorted_key(c.sorted, low - 1) == wanted;
    c.found[i] = there ? c.sorted.pairs.rows[low - 1] : ROW_NONE;
}

void gpu_join(struct gpu *gpu, void *arg) {
    struct join_step *step = static_cast<struct join_step *>(arg);
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
