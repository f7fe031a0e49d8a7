/*
 * key_index.c - building and searching an index of keys.
 */
#include "match/key_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"

/* A direct table may have this many entries for each key, and a few more. */
#define DIRECT_PER_KEY 8
#define DIRECT_MORE    1024

/* What kinds of keys there are. */
struct extent {
    value_key least, most; /* of the integers */
    uint64_t n_integers, n_odd;
};

static struct extent measure(const value_key *keys, row_t n) {
    struct extent extent = {INT64_MAX, INT64_MIN, 0, 0};
    for (row_t i = 0; i < n; i++) {
        if (key_is_integer(keys[i])) {
            extent.least = keys[i] < extent.least ? keys[i] : extent.least;
            extent.most = keys[i] > extent.most ? keys[i] : extent.most;
            extent.n_integers++;
        } else {
            uint64_t place = (uint64_t)keys[i] - (uint64_t)INT64_MIN;
            extent.n_odd = place >= extent.n_odd ? place + 1 : extent.n_odd;
        }
    }
    return extent;
}

/* How many entries a direct table gets: for all integers, or for those near the least one if most are, or none. */
static uint64_t direct_entries(const struct extent *extent, const value_key *keys, row_t n) {
    uint64_t range = extent->n_integers ? (uint64_t)extent->most - (uint64_t)extent->least + 1 : 0;
    uint64_t most = (uint64_t)n * DIRECT_PER_KEY + DIRECT_MORE, n_near = 0, end = 0;
    if (range && range <= most)
        return range;
    for (row_t i = 0; i < n; i++) {
        uint64_t offset = (uint64_t)keys[i] - (uint64_t)extent->least;
        if (!key_is_integer(keys[i]) || offset >= most)
            continue;
        n_near++;
        end = offset >= end ? offset + 1 : end;
    }
    return n_near > extent->n_integers / 2 ? end : 0;
}

static row_t *empty_table(uint64_t n) {
    row_t *table = malloc((n + 1) * sizeof *table);
    if (table)
        memset(table, 0xff, n * sizeof *table);
    return table;
}

static inline void put(row_t *entry, row_t row, enum key_choice choice, row_t *second) {
    if (*entry != ROW_NONE && *second == ROW_NONE)
        *second = row;
    if (*entry == ROW_NONE || choice == KEY_LAST)
        *entry = row;
}

static bool is_direct(const struct key_index *index, value_key key) {
    return (uint64_t)key - (uint64_t)index->base < index->n_direct;
}

/* Fills the tables of odd keys, and of those that lie close together. */
static row_t fill_tables(struct key_index *index, const value_key *keys, row_t n, enum key_choice choice) {
    row_t second = ROW_NONE;
    for (row_t i = 0; i < n; i++) {
        if (!key_is_integer(keys[i]))
            put(&index->odd[(uint64_t)keys[i] - (uint64_t)INT64_MIN], i, choice, &second);
        else if (is_direct(index, keys[i]))
            put(&index->direct[keys[i] - index->base], i, choice, &second);
    }
    return second;
}

/* Drops repetitions from the sorted pairs; returns the first position whose key stood before. */
static row_t drop_repetitions(struct key_index *index, enum key_choice choice) {
    row_t n = 0, second = ROW_NONE;
    for (row_t i = 0; i < index->n_sorted; i++) {
        if (n == 0 || index->keys[i] != index->keys[n - 1]) {
            index->keys[n] = index->keys[i];
            index->rows[n++] = index->rows[i];
            continue;
        }
        if (index->rows[i] < second)
            second = index->rows[i];
        if (choice == KEY_LAST)
            index->rows[n - 1] = index->rows[i];
    }
    index->n_sorted = n;
    return second;
}

static bool is_sorted(const struct key_index *index, value_key key) {
    return key_is_integer(key) && !is_direct(index, key);
}

/* Sorts the integers that have no place in the direct table. */
static enum sutra_status sort_integers(struct key_index *index, const struct engine *engine, const value_key *keys,
                                       row_t n, struct sutra_error *error) {
    size_t n_sorted = 0;
    for (row_t i = 0; i < n; i++)
        n_sorted += is_sorted(index, keys[i]);
    index->keys = malloc((n_sorted + 1) * sizeof *index->keys);
    index->rows = malloc((n_sorted + 1) * sizeof *index->rows);
    if (!index->keys || !index->rows)
        return error_memory(error);
    for (row_t i = 0; i < n; i++)
        if (is_sorted(index, keys[i])) {
            index->keys[index->n_sorted] = integer_sort_key(keys[i]);
            index->rows[index->n_sorted++] = i;
        }
    struct sort_keys_step sort = {index->keys, index->rows, index->n_sorted};
    return engine->sort_keys(engine->state, &sort, error);
}

enum sutra_status key_index_build(struct key_index *index, const struct engine *engine, const value_key *keys, row_t n,
                                  enum key_choice choice, row_t *second, struct sutra_error *error) {
    *index = (struct key_index){0};
    const struct extent extent = measure(keys, n);
    uint64_t range = extent.n_integers ? (uint64_t)extent.most - (uint64_t)extent.least + 1 : 0;
    index->n_odd = extent.n_odd;
    index->odd = empty_table(extent.n_odd);
    index->base = extent.least;
    index->n_direct = direct_entries(&extent, keys, n);
    index->direct = empty_table(index->n_direct);
    enum sutra_status status = SUTRA_OK;
    if (!index->odd || !index->direct)
        status = error_memory(error);
    else if (range > index->n_direct)
        status = sort_integers(index, engine, keys, n, error);
    if (status) {
        key_index_free(index);
        return status;
    }
    row_t in_tables = fill_tables(index, keys, n, choice), in_sorted = drop_repetitions(index, choice);
    if (second)
        *second = in_tables < in_sorted ? in_tables : in_sorted;
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
        uint64_t place = (uint64_t)key - (uint64_t)INT64_MIN;
        return place < index->n_odd ? index->odd[place] : ROW_NONE;
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
