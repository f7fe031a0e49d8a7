/*
 * key_index.h - an index of an array of keys: key -> its first or last position; and groups of rows that share a key.
 *
 * Keys that are close together, as most ids in traces are, get a table for direct lookup; others are sorted and
 * searched. Odd ids (see columns/numbers.h) have a table of their own. Cost: O(n) or O(n log n) to build, O(1) or
 * O(log n) to look up.
 */
#ifndef MATCH_KEY_INDEX_H
#define MATCH_KEY_INDEX_H

#include "base/arena.h"
#include "columns/hash_tables.h"
#include "columns/numbers.h"
#include "match/steps.h"
#include "sutra/error.h"

struct key_index {
    value_key base;    /* smallest integer key */
    uint64_t n_direct; /* entries of `direct`, for keys from base on */
    row_t *direct;     /* position, or ROW_NONE */
    uint64_t n_odd;    /* entries of `odd`, for keys from INT64_MIN on */
    row_t *odd;
    row_t n_sorted; /* other integer keys without duplicates, and their positions */
    uint64_t *keys;
    row_t *rows;
};

enum key_choice { KEY_FIRST, KEY_LAST };

/* Indexes keys[0..n). *second (may be NULL) becomes the first position whose key occurs earlier, or ROW_NONE. */
enum sutra_status key_index_build(struct key_index *index, const struct engine *engine, const value_key *keys, row_t n,
                                  enum key_choice choice, row_t *second, struct sutra_error *error);
void key_index_free(struct key_index *index);

/* Numbers the different keys in the order of first occurrence: numbers[i] = the number of keys[i]. `first` is the
 * KEY_FIRST index of the same keys. Returns the number of different keys. */
row_t key_index_number(const struct key_index *first, const value_key *keys, row_t n, row_t *numbers);

row_t key_index_search(const struct key_index *index, value_key key);

/* The position of the key, or ROW_NONE. */
static inline row_t key_index_find(const struct key_index *index, value_key key) {
    uint64_t entry = (uint64_t)key - (uint64_t)index->base;
    if (entry < index->n_direct)
        return index->direct[entry];
    return key_index_search(index, key);
}

/*
 * ---- Groups of rows that share a key, in the order of first occurrence, and their order by a value ----
 *
 *     keys     a b a c b       of  0 1 0 2 1       first  0 2 4 5       member  0 2 | 1 4 | 3
 *
 * Cost: O(n) in expectation; the order sorts the groups. Results are in the arena.
 */

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
