/*
 * row_set.c - the set of rows as bits in levels.
 */
#include "columns/row_set.h"

#include <stdlib.h>

#include "columns/column.h"

bool row_set_init(struct row_set *set, row_t n) {
    uint64_t n_words = 0, bits = n;
    *set = (struct row_set){0};
    do {
        bits = bits / 64 + 1; /* one more than needed, so that a search from n on stays inside */
        set->n_words[set->n_levels++] = bits;
        n_words += bits;
    } while (bits > 1);
    set->words = column_new(n_words, sizeof *set->words);
    if (!set->words)
        return false;
    n_words = 0;
    for (unsigned level = 0; level < set->n_levels; level++) {
        set->level[level] = set->words + n_words;
        n_words += set->n_words[level];
    }
    return true;
}

void row_set_free(struct row_set *set) {
    free(set->words);
    *set = (struct row_set){0};
}

void row_set_add(struct row_set *set, row_t row) {
    uint64_t bit = row;
    for (unsigned level = 0; level < set->n_levels; level++, bit /= 64)
        set->level[level][bit / 64] |= (uint64_t)1 << bit % 64;
}

row_t row_set_next(const struct row_set *set, row_t row) {
    uint64_t bit = row;
    unsigned level = 0;
    for (;; level++, bit = bit / 64 + 1) { /* up, until something lies from here on */
        if (level == set->n_levels || bit / 64 >= set->n_words[level])
            return ROW_NONE;
        uint64_t word = set->level[level][bit / 64] & UINT64_MAX << bit % 64;
        if (!word)
            continue;
        bit = bit / 64 * 64 + (uint64_t)__builtin_ctzll(word);
        break;
    }
    for (; level > 0; level--) /* and down to the first of it */
        bit = bit * 64 + (uint64_t)__builtin_ctzll(set->level[level - 1][bit]);
    return (row_t)bit;
}
