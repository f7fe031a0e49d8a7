/*
 * sort.cu - rows sorted by number or by key, as the engine's callers ask for it: columns in host memory, up, sorted,
 * and down again.
 */
#include "cuda/atomic.h"
#include "cuda/steps.h"

enum number_finding { FOUND_DOUBLE = 1, FOUND_INTEGER = 2, FOUND_LARGE = 4, FOUND_DISORDER = 8 };

struct number_columns {
    struct number_column numbers;
    struct pairs pairs;
    uint32_t *found; /* enum number_finding */
};

SHARED void look_at(const struct number_columns &c, row_t row) {
    struct number x = number_at(c.numbers, row);
    uint32_t found = number_is_double(x) ? FOUND_DOUBLE : FOUND_INTEGER;
    if (!number_fits_double(x))
        found |= FOUND_LARGE;
    if (row && number_below(x, number_at(c.numbers, row - 1)))
        found |= FOUND_DISORDER;
    set_bits(c.found, found);
    c.pairs.rows[row] = row;
}

SHARED void put_rest(const struct number_columns &c, row_t i) {
    c.pairs.keys[i] = number_rest_key(number_at(c.numbers, c.pairs.rows[i]));
}

SHARED void put_whole(const struct number_columns &c, row_t i) {
    c.pairs.keys[i] = number_whole_key(number_at(c.numbers, c.pairs.rows[i]));
}

SHARED void put_integer(const struct number_columns &c, row_t i) {
    c.pairs.keys[i] = integer_sort_key((int64_t)number_at(c.numbers, c.pairs.rows[i]).bits);
}

void gpu_sort_numbers(struct gpu *gpu, struct sort_numbers_step *step) {
    uint32_t found = 0;
    gpu_enter(gpu, GPU_UP);
    struct number_columns c = {gpu_up_numbers(gpu, step->numbers, step->n), pairs_take(gpu, step->n),
                               gpu_take_zeros<uint32_t>(gpu, 1)};
    gpu_ready(gpu);
    gpu_enter(gpu, GPU_SORT);
    gpu_each<look_at>(gpu, step->n, c);
    gpu_down(gpu, &found, c.found, 1);
    if (gpu->planning || (found & FOUND_DISORDER && found & FOUND_DOUBLE && found & FOUND_LARGE)) {
        gpu_each<put_rest>(gpu, step->n, c);
        gpu_sort(gpu, &c.pairs, step->n, 64);
    }
    if (found & FOUND_DISORDER) {
        if (found & FOUND_DOUBLE)
            gpu_each<put_whole>(gpu, step->n, c);
        else
            gpu_each<put_integer>(gpu, step->n, c);
        gpu_sort(gpu, &c.pairs, step->n, 64);
    }
    gpu_enter(gpu, GPU_DOWN);
    gpu_down(gpu, step->order, c.pairs.rows, step->n);
}

void gpu_sort_keys(struct gpu *gpu, struct sort_keys_step *step) {
    struct pairs pairs = pairs_take(gpu, step->n);
    gpu_enter(gpu, GPU_UP);
    gpu_copy_up(gpu, pairs.keys, step->keys, step->n * sizeof *step->keys);
    gpu_copy_up(gpu, pairs.rows, step->rows, step->n * sizeof *step->rows);
    gpu_ready(gpu);
    gpu_enter(gpu, GPU_SORT);
    gpu_sort(gpu, &pairs, step->n, 64);
    gpu->remarks.overwriting = gpu_arrived(gpu);
    gpu_enter(gpu, GPU_DOWN);
    gpu_down(gpu, step->keys, pairs.keys, step->n);
    gpu_down(gpu, step->rows, pairs.rows, step->n);
}
