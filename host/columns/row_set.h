/*
 * row_set.h - a set of rows below a bound that finds the smallest member from a row on.
 *
 * A bit for each row, a bit for each word of those that is not zero, and so on up to a single word: adding and finding
 * take one word a level, and 32-bit rows have at most six levels.
 */
#ifndef COLUMNS_ROW_SET_H
#define COLUMNS_ROW_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "columns/row.h"

#define ROW_SET_LEVELS 6

struct row_set {
    uint64_t *words;                 /* of all levels, the rows' own first */
    uint64_t *level[ROW_SET_LEVELS]; /* where each begins */
    uint64_t n_words[ROW_SET_LEVELS];
    unsigned n_levels;
};

/* An empty set of rows below n; false: out of memory. */
bool row_set_init(struct row_set *set, row_t n);
void row_set_free(struct row_set *set);

void row_set_add(struct row_set *set, row_t row);

/* The smallest member that is `row` or above, or ROW_NONE. `row` may be n. */
row_t row_set_next(const struct row_set *set, row_t row);

#endif
