/*
 * key_index.c - implements key_index.h: the index, then groups of rows.
 *
 *     keys     7 9 8 | 2^40 + 1, 2^50 | INT64_MIN + 3
 *              direct, from base 7 on | sorted, searched | odd: one table from INT64_MIN on
 */
#include "match/key_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "columns/rows.h"
#include "match/steps.h"

/* Entries of the direct table per key, and in addition. */
#define DIRECT_PER_KEY 8
#define DIRECT_MORE    1024

/* Chooses the sizes of both tables. The direct table covers all integers, or those near the smallest if most are near,
 * or none. True: some integers are in neither table. */
static bool choose_tables(struct key_index *index, const value_key *keys, row_t n) {
    value_key smallest = INT64_MAX, largest = INT64_MIN;
    uint64_t n_integers = 0, n_near = 0, end = 0, max_direct = (uint64_t)n * DIRECT_PER_KEY + DIRECT_MORE;
    for (row_t i = 0; i < n; i++) {
        if (key_is_integer(keys[i])) {
            smallest = MIN(keys[i], smallest);
            largest = MAX(keys[i], largest);
            n_integers++;
        } else {
            uint64_t entry = (uint64_t)keys[i] - (uint64_t)INT64_MIN;
            index->n_odd = entry >= index->n_odd ? entry + 1 : index->n_odd;
        }
    }
    index->base = smallest;
    uint64_t range = n_integers ? (uint64_t)largest - (uint64_t)smallest + 1 : 0;
    if (range && range <= max_direct) {
        index->n_direct = range;
        return false;
    }
    for (row_t i = 0; i < n; i++) {
        uint64_t offset = (uint64_t)keys[i] - (uint64_t)smallest;
        if (!key_is_integer(keys[i]) || offset >= max_direct)
            continue;
        n_near++;
        end = offset >= end ? offset + 1 : end;
    }
    index->n_direct = n_near > n_integers / 2 ? end : 0;
    return range > index->n_direct;
}

static row_t *empty_table(uint64_t n) {
    row_t *table = malloc((n + 1) * sizeof *table);
    if (table)
        memset(table, 0xff, n * sizeof *table);
    return table;
}

static inline void set_entry(row_t *entry, row_t row, enum key_choice choice, row_t *second) {
    if (*entry != ROW_NONE && *second == ROW_NONE)
        *second = row;
    if (*entry == ROW_NONE || choice == KEY_LAST)
        *entry = row;
}

static bool is_direct(const struct key_index *index, value_key key) {
    return (uint64_t)key - (uint64_t)index->base < index->n_direct;
}

/* Sorts the integers that are not in the direct table. */
static enum sutra_status sort_integers(struct key_index *index, const struct engine *engine, const value_key *keys,
                                       row_t n, struct sutra_error *error) {
    size_t n_sorted = 0;
    for (row_t i = 0; i < n; i++)
        n_sorted += key_is_integer(keys[i]) && !is_direct(index, keys[i]);
    index->keys = malloc((n_sorted + 1) * sizeof *index->keys);
    index->rows = malloc((n_sorted + 1) * sizeof *index->rows);
    TRY_ALLOC(index->keys && index->rows, error);
    for (row_t i = 0; i < n; i++)
        if (key_is_integer(keys[i]) && !is_direct(index, keys[i])) {
            index->keys[index->n_sorted] = integer_sort_key(keys[i]);
            index->rows[index->n_sorted++] = i;
        }
    struct sort_keys_step sort = {index->keys, index->rows, index->n_sorted};
    return engine->sort_keys(engine->state, &sort, error);
}

enum sutra_status key_index_build(struct key_index *index, const struct engine *engine, const value_key *keys, row_t n,
                                  enum key_choice choice, row_t *second, struct sutra_error *error) {
    *index = (struct key_index){0};
    bool sorts = choose_tables(index, keys, n);
    index->odd = empty_table(index->n_odd);
    index->direct = empty_table(index->n_direct);
    enum sutra_status status = SUTRA_OK;
    if (!index->odd || !index->direct)
        status = error_memory(error);
    else if (sorts)
        status = sort_integers(index, engine, keys, n, error);
    if (status) {
        key_index_free(index);
        return status;
    }
    row_t repeated = ROW_NONE;
    for (row_t i = 0; i < n; i++) {
        if (!key_is_integer(keys[i]))
            set_entry(&index->odd[(uint64_t)keys[i] - (uint64_t)INT64_MIN], i, choice, &repeated);
        else if (is_direct(index, keys[i]))
            set_entry(&index->direct[keys[i] - index->base], i, choice, &repeated);
    }

    /* Keep one of each key among the sorted ones. */
    row_t n_different = 0;
    for (row_t i = 0; i < index->n_sorted; i++) {
        if (n_different == 0 || index->keys[i] != index->keys[n_different - 1]) {
            index->keys[n_different] = index->keys[i];
            index->rows[n_different++] = index->rows[i];
            continue;
        }
        repeated = MIN(index->rows[i], repeated);
        if (choice == KEY_LAST)
            index->rows[n_different - 1] = index->rows[i];
    }
    index->n_sorted = n_different;
    if (second)
        *second = repeated;
    return SUTRA_OK;
}

void key_index_free(struct key_index *index) {
    free(index->direct);
    free(index->odd);
    free(index->keys);
    free(index->rows);
    *index = (struct key_index){0};
}

row_t key_index_search(const struct key_index *index, value_key key) {
    if (!key_is_integer(key)) {
        uint64_t entry = (uint64_t)key - (uint64_t)INT64_MIN;
        return entry < index->n_odd ? index->odd[entry] : ROW_NONE;
    }
    uint64_t wanted = integer_sort_key(key);
    struct bisection at = {0, index->n_sorted};
    while (at.low < at.high)
        bisect(&at, index->keys[bisect_middle(at)] < wanted);
    return at.low < index->n_sorted && index->keys[at.low] == wanted ? index->rows[at.low] : ROW_NONE;
}

row_t key_index_number(const struct key_index *first, const value_key *keys, row_t n, row_t *numbers) {
    row_t n_numbers = 0;
    for (row_t i = 0; i < n; i++) {
        row_t before = key_index_find(first, keys[i]);
        numbers[i] = before == i ? n_numbers++ : numbers[before];
    }
    return n_numbers;
}

/* ---- Groups of rows that share a key ---- */

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
