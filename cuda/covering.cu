/*
 * covering.cu - which operator runs at a moment: in come operators with rising starts and moments, out goes for each
 * moment the operator with the latest start among those that contain it. The operators' ends are in a max_tree, which
 * takes the place of covering.c's. O(n) to index, O(log n) a moment; 40 bytes an operator, 13 a moment.
 */
#include "cuda/atomic.h"
#include "cuda/max_tree.h"
#include "cuda/steps.h"

enum moment_kind { MOMENT_DOUBLE = 1, MOMENT_LARGE = 2 };

struct covering_columns {
    struct number_column ts, dur, at;
    row_t n;
    uint64_t *end; /* keys */
    struct max_tree ends;
    row_t *found;
    uint32_t *kinds; /* enum moment_kind, of all ends and moments */
};

SHARED uint32_t moment_kind_of(struct number x) {
    return number_is_double(x) ? MOMENT_DOUBLE : number_fits_double(x) ? 0 : MOMENT_LARGE;
}

SHARED struct number covering_end(const struct covering_columns &c, row_t row) {
    return number_add(number_at(c.ts, row), number_at(c.dur, row));
}

SHARED void look_at_op(const struct covering_columns &c, row_t row) {
    set_bits(c.kinds, moment_kind_of(covering_end(c, row)));
}

SHARED void look_at_moment(const struct covering_columns &c, row_t i) {
    set_bits(c.kinds, moment_kind_of(number_at(c.at, i)));
}

SHARED uint64_t moment_key(const struct covering_columns &c, struct number moment) {
    return number_sort_key(moment, *c.kinds & MOMENT_DOUBLE);
}

/* An end that is no number is after no moment. */
SHARED void put_end(const struct covering_columns &c, row_t row) {
    struct number end = covering_end(c, row);
    double value = number_as_double(end);
    c.end[row] = value == value ? moment_key(c, end) : 0;
}

SHARED void find_covering(const struct covering_columns &c, row_t i) {
    struct number at = number_at(c.at, i);
    uint64_t most, key = moment_key(c, at);
    row_t last = tree_last_at_least(&c.ends, 0, count_begun(c.ts, c.n, at), key + 1, &most);
    if (last != ROW_NONE && !op_start_counts(number_at(c.ts, last)))
        last = ROW_NONE;
    if (last != ROW_NONE)
        last = tree_first_above(&c.ends, count_begun(c.ts, c.n, number_at(c.ts, last)), c.n, key);
    c.found[i] = last;
}

void gpu_covering_ops(struct gpu *gpu, struct covering_ops_step *step) {
    uint32_t kinds = 0;
    gpu_enter(gpu, GPU_UP);
    struct covering_columns c = {};
    c.ts = gpu_up_numbers(gpu, step->ts, step->n);
    c.dur = gpu_up_numbers(gpu, step->dur, step->n);
    c.at = gpu_up_numbers(gpu, step->at, step->n_moments);
    c.n = step->n;
    c.end = gpu_take<uint64_t>(gpu, step->n);
    c.found = gpu_take<row_t>(gpu, step->n_moments);
    c.kinds = gpu_take_zeros<uint32_t>(gpu, 1);
    gpu_ready(gpu);
    gpu_enter(gpu, GPU_PARENTS);
    gpu_each<look_at_op>(gpu, step->n, c);
    gpu_each<look_at_moment>(gpu, step->n_moments, c);
    gpu_each<put_end>(gpu, step->n, c);
    c.ends = max_tree_build(gpu, c.end, step->n);
    gpu_each<find_covering>(gpu, step->n_moments, c);
    gpu_enter(gpu, GPU_DOWN);
    gpu_down(gpu, &kinds, c.kinds, 1);
    if (kinds == (MOMENT_DOUBLE | MOMENT_LARGE))
        gpu_leave(gpu, "parents by the CPU: integer times beyond 2^53 and doubles have no common key");
    gpu_down(gpu, step->found, c.found, step->n_moments);
}
