/*
 * groups.c - members that share a key, sums of them, and an order by falling value. O(n), and a sort of the groups.
 */
#include "analyze/operators/tables.h"
#include "base/error.h"
#include "columns/column.h"
#include "match/cpu_steps.h"

/* Deals members out to their groups, which are numbered. */
static enum sutra_status deal_out(row_t n, struct arena *arena, struct op_groups *groups, struct sutra_error *error) {
    groups->first = arena_zeros(arena, (size_t)groups->n + 2, sizeof *groups->first);
    groups->member = arena_take(arena, n, sizeof *groups->member);
    if (arena->failed)
        return error_memory(error);
    for (row_t i = 0; i < n; i++)
        groups->first[groups->of[i] + 2]++;
    for (uint32_t g = 0; g < groups->n; g++)
        groups->first[g + 2] += groups->first[g + 1];
    for (row_t i = 0; i < n; i++)
        groups->member[groups->first[groups->of[i] + 1]++] = i;
    return SUTRA_OK;
}

enum sutra_status op_groups_make(const struct tuple *keys, row_t n, struct arena *arena, struct op_groups *groups,
                                 struct sutra_error *error) {
    struct tuples numbers = {0};
    bool ok = true;
    *groups = (struct op_groups){.of = arena_take(arena, n, sizeof *groups->of)};
    for (row_t i = 0; i < n && groups->of && ok; i++)
        ok = (groups->of[i] = tuples_number(&numbers, keys[i])) != TUPLE_NONE;
    groups->n = numbers.n;
    tuples_free(&numbers);
    return ok ? deal_out(n, arena, groups, error) : error_memory(error);
}

enum sutra_status op_groups_number(const uint32_t *values, row_t n, uint32_t n_values, struct arena *arena,
                                   struct op_groups *groups, struct sutra_error *error) {
    uint32_t *group_of = rows_none(arena, n_values);
    *groups = (struct op_groups){.of = arena_take(arena, n, sizeof *groups->of)};
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < n && !status; i++) {
        uint32_t *group = &group_of[values[i]];
        if (*group == ROW_NONE)
            *group = groups->n++;
        groups->of[i] = *group;
    }
    return status ? status : deal_out(n, arena, groups, error);
}

wide_t op_group_sum(const struct op_groups *groups, uint32_t group, const int64_t *values) {
    wide_t sum = 0;
    for (row_t i = groups->first[group]; i < groups->first[group + 1]; i++)
        sum += values[groups->member[i]];
    return sum;
}

enum sutra_status op_groups_order(const double *values, uint32_t n, struct arena *arena, uint32_t *order,
                                  struct sutra_error *error) {
    struct arena_mark mark = arena_mark(arena);
    uint64_t *keys = arena_take(arena, n, sizeof *keys);
    enum sutra_status status = arena_status(arena, error);
    for (uint32_t i = 0; i < n && !status; i++) {
        keys[i] = ~double_sort_key(values[i]);
        order[i] = i;
    }
    if (!status)
        status = cpu_sort_keys(NULL, &(struct sort_keys_step){keys, order, n}, error);
    arena_release(arena, mark);
    return status;
}

bool op_is_module(const struct op_reading *reading, row_t host) {
    return reading->hosts.kind[host] == HOST_FRAME &&
           text_compare(reading->strings, host_name(reading, host), TEXT_BEGINS, MODULE_PREFIX);
}

void op_modules_mark(const struct op_reading *reading, uint8_t *marked) {
    for (row_t row = 0; row < reading->hosts.n; row++)
        marked[row] = op_is_module(reading, row);
}
