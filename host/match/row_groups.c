/*
 * row_groups.c - implements row_groups.h.
 */
#include "match/row_groups.h"

#include "base/error.h"
#include "columns/column.h"
#include "columns/rows.h"
#include "match/steps.h"

/* Lists the members of the groups, which are numbered. */
static enum sutra_status list_members(row_t n, struct arena *arena, struct row_groups *groups,
                                      struct sutra_error *error) {
    groups->first = arena_alloc(arena, (size_t)groups->n + 1, sizeof *groups->first);
    groups->member = arena_alloc(arena, n, sizeof *groups->member);
    TRY(arena_status(arena, error));
    rows_bucket(NULL, n, groups->of, groups->n, groups->first, groups->member);
    return SUTRA_OK;
}

enum sutra_status row_groups_make(const struct tuple *keys, row_t n, struct arena *arena, struct row_groups *groups,
                                  struct sutra_error *error) {
    struct tuples numbers = {0};
    bool ok = true;
    *groups = (struct row_groups){.of = arena_alloc(arena, n, sizeof *groups->of)};
    for (row_t i = 0; i < n && groups->of && ok; i++)
        ok = (groups->of[i] = tuples_number(&numbers, keys[i])) != TUPLE_NONE;
    groups->n = numbers.n;
    tuples_free(&numbers);
    return ok ? list_members(n, arena, groups, error) : error_memory(error);
}

enum sutra_status row_groups_number(const uint32_t *values, row_t n, uint32_t n_values, struct arena *arena,
                                    struct row_groups *groups, struct sutra_error *error) {
    uint32_t *group_of = rows_none(arena, n_values);
    *groups = (struct row_groups){.of = arena_alloc(arena, n, sizeof *groups->of)};
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < n; i++) {
        uint32_t *group = &group_of[values[i]];
        if (*group == ROW_NONE)
            *group = groups->n++;
        groups->of[i] = *group;
    }
    return list_members(n, arena, groups, error);
}

enum sutra_status row_groups_order(const double *values, uint32_t n, struct arena *arena, uint32_t *order,
                                   struct sutra_error *error) {
    struct arena_mark mark = arena_mark(arena);
    uint64_t *keys = arena_alloc(arena, n, sizeof *keys);
    TRY(arena_status(arena, error));
    for (uint32_t i = 0; i < n; i++) {
        keys[i] = ~double_sort_key(values[i]);
        order[i] = i;
    }
    TRY(cpu_sort_keys(NULL, &(struct sort_keys_step){keys, order, n}, error));
    arena_release(arena, mark);
    return SUTRA_OK;
}
