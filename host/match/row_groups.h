/*
 * row_groups.h - groups of rows that share a key, in the order of first occurrence, and their order by a value.
 *
 *     keys     a b a c b       of  0 1 0 2 1       first  0 2 4 5       member  0 2 | 1 4 | 3
 *
 * Cost: O(n) in expectation; the order sorts the groups. Results are in the arena.
 */
#ifndef MATCH_ROW_GROUPS_H
#define MATCH_ROW_GROUPS_H

#include "base/arena.h"
#include "columns/hash_tables.h"
#include "columns/row.h"
#include "sutra/error.h"

/* The members of group g are member[first[g]] .. member[first[g + 1] - 1], ascending. */
struct row_groups {
    uint32_t n;
    uint32_t *of; /* by row */
    row_t *first, *member;
};

/* Groups the rows below n by their keys. */
enum sutra_status row_groups_make(const struct tuple *keys, row_t n, struct arena *arena, struct row_groups *groups,
                                  struct sutra_error *error);

/* The same with keys that are numbers below n_values. */
enum sutra_status row_groups_number(const uint32_t *values, row_t n, uint32_t n_values, struct arena *arena,
                                    struct row_groups *groups, struct sutra_error *error);

/* order[] = groups by descending value, then ascending number. */
enum sutra_status row_groups_order(const double *values, uint32_t n, struct arena *arena, uint32_t *order,
                                   struct sutra_error *error);

#endif
