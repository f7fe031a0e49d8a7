/*
 * starts.cu - see starts.h: each row that begins later than the one before it stands for those that follow.
 */
#include "cuda/starts.h"

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
