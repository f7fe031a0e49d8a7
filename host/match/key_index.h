/*
 * key_index.h - an index of an array of keys: key -> its first or last position.
 *
 * Keys that are close together, as most ids in traces are, get a table for direct lookup; others are sorted and
 * searched. Odd ids (see columns/numbers.h) have a table of their own. Cost: O(n) or O(n log n) to build, O(1) or
 * O(log n) to look up.
 */
#ifndef MATCH_KEY_INDEX_H
#define MATCH_KEY_INDEX_H

#include "columns/numbers.h"
#include "columns/row.h"
#include "match/steps.h"

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

#endif
