/*
 * rows.c - implements rows.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/shared.h"
#include "columns/column.h"
#include "columns/rows.h"

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
    for (;; level++, bit = bit / 64 + 1) { /* up, until a member follows */
        if (level == set->n_levels || bit / 64 >= set->n_words[level])
            return ROW_NONE;
        uint64_t word = set->level[level][bit / 64] & UINT64_MAX << bit % 64;
        if (!word)
            continue;
        bit = bit / 64 * 64 + (uint64_t)__builtin_ctzll(word);
        break;
    }
    for (; level > 0; level--) /* down to the first one */
        bit = bit * 64 + (uint64_t)__builtin_ctzll(set->level[level - 1][bit]);
    return (row_t)bit;
}

void rows_sort(row_t *rows, uint64_t n) {
    if (n > 1)
        qsort(rows, n, sizeof *rows, compare_uint32s);
}

uint64_t rows_sort_unique(row_t *rows, uint64_t n) {
    uint64_t kept = 0;
    rows_sort(rows, n);
    for (uint64_t i = 0; i < n; i++)
        if (i == 0 || rows[i] != rows[i - 1])
            rows[kept++] = rows[i];
    return kept;
}

row_t rows_find(const row_t *rows, row_t n, row_t row) {
    row_t at = 0;
    BISECT(at, n, rows[at] < row);
    return at < n && rows[at] == row ? at : ROW_NONE;
}

void rows_bucket(const row_t *rows, row_t n, const uint32_t *number, uint32_t n_numbers, row_t *first, row_t *sorted) {
    memset(first, 0, ((size_t)n_numbers + 1) * sizeof *first);
    for (row_t i = 0; i < n; i++)
        first[number[rows ? rows[i] : i]]++;
    row_t end = 0;
    for (uint32_t b = 0; b <= n_numbers; b++) {
        end += first[b];
        first[b] = end;
    }
    for (row_t i = n; i-- > 0;) {
        const row_t row = rows ? rows[i] : i;
        sorted[--first[number[row]]] = row;
    }
}

void rows_invert(row_t n, const uint64_t *first, const row_t *lists, uint64_t *turned_first, row_t *turned) {
    for (uint64_t i = 0; i < first[n]; i++)
        if (lists[i] != ROW_NONE)
            turned_first[lists[i]]++;
    uint64_t end = 0;
    for (row_t r = 0; r <= n; r++) {
        end += turned_first[r];
        turned_first[r] = end;
    }
    for (row_t row = n; row-- > 0;)
        for (uint64_t i = first[row + 1]; i-- > first[row];)
            if (lists[i] != ROW_NONE)
                turned[--turned_first[lists[i]]] = row;
}
