/*
 * row_ranks.h - a set of rows below a bound that numbers its members: what is known of a few rows among many stands in
 * a short array.
 *
 *     members  1 3 4 .. 200     ranks  0 1 2 .. 57          row_of[row_rank(&ranks, 200)] == row_of[57]
 *
 * A bit for each row, and for each word of them how many members stand before it: adding and asking take one word each,
 * of 3 bytes for 16 rows, so that a million rows stay in the cache.
 */
#ifndef COLUMNS_ROW_RANKS_H
#define COLUMNS_ROW_RANKS_H

#include <stdbool.h>

#include "base/arena.h"
#include "columns/row.h"

struct row_ranks {
    uint64_t *bits;
    row_t *before; /* once they are counted */
    size_t n_words;
};

/* An empty set of rows below n, in the arena, which says whether memory ran out. */
static inline struct row_ranks row_ranks_take(struct arena *arena, row_t n) {
    size_t n_words = n / 64 + 1;
    return (struct row_ranks){.bits = arena_zeros(arena, n_words, sizeof(uint64_t)),
                              .before = arena_take(arena, n_words, sizeof(row_t)),
                              .n_words = n_words};
}

/* False: it is there already. */
static inline bool row_ranks_add(const struct row_ranks *ranks, row_t row) {
    uint64_t bit = (uint64_t)1 << row % 64, *word = &ranks->bits[row / 64];
    bool is_new = !(*word & bit);
    *word |= bit;
    return is_new;
}

static inline bool row_ranks_have(const struct row_ranks *ranks, row_t row) {
    return ranks->bits[row / 64] >> row % 64 & 1;
}

/* How many there are; due when all are there. */
static inline row_t row_ranks_count(const struct row_ranks *ranks) {
    row_t n = 0;
    for (size_t word = 0; word < ranks->n_words; word++) {
        ranks->before[word] = n;
        n += (row_t)__builtin_popcountll(ranks->bits[word]);
    }
    return n;
}

/* Lists the members, which rise: rows[row_rank(ranks, row)] is row. */
static inline void row_ranks_list(const struct row_ranks *ranks, row_t *rows) {
    for (size_t word = 0; word < ranks->n_words; word++)
        for (uint64_t left = ranks->bits[word]; left; left &= left - 1)
            *rows++ = (row_t)(word * 64) + (row_t)__builtin_ctzll(left);
}

/* The number of a member, in rising order. */
static inline row_t row_rank(const struct row_ranks *ranks, row_t row) {
    uint64_t below = ranks->bits[row / 64] & (((uint64_t)1 << row % 64) - 1);
    return ranks->before[row / 64] + (row_t)__builtin_popcountll(below);
}

#endif
