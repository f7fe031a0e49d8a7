/*
 * rows.h - a heap of rows: the first one by an order that the caller has, again and again.
 *
 *     static bool ends_before(const void *table, row_t a, row_t b) { ... }
 *
 *     row_heap_push(&heap, row, ends_before, table);
 *     row_t first = row_heap_pop(&heap, ends_before, table);
 *
 * The caller makes room for all rows that are in it at a time. The order must not change while they are. O(log n) each;
 * everything is inline, so that the order is, too.
 */
#ifndef COLUMNS_ROWS_H
#define COLUMNS_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "columns/row.h"

/*
 * A set of rows below a bound that finds the smallest member from a row on.
 *
 * A bit for each row, a bit for each word of those that is not zero, and so on up to a single word: adding and finding
 * take one word a level, and 32-bit rows have at most six levels.
 */

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

/*
 * Lists of rows: putting short ones in order, sorting by small numbers, turning lists around.
 */

/* Sorts rows, rising. O(n log n). */
void rows_sort(row_t *rows, uint64_t n);

/* The same, and drops what stands there twice; gives how many are left. */
uint64_t rows_sort_unique(row_t *rows, uint64_t n);

/* The place of a row among n that rise, or ROW_NONE: it is not there. O(log n). */
row_t rows_place(const row_t *rows, row_t n, row_t row);

/* Sorts rows by number, each number's rows in the order in which they come: those of number b are then
 * sorted[first[b]] .. sorted[first[b + 1] - 1], for b below n_numbers. O(n + n_numbers). */
void rows_bucket(const row_t *rows, row_t n, const uint32_t *number, uint32_t n_numbers, row_t *first, row_t *sorted);

/* Turns lists around: where row i has the rows lists[first[i]] .., row r is on the lists of turned[turned_first[r]] ..,
 * by rising row; ROW_NONE stands for nothing. turned_first, n + 1, is 0 before; `turned` has room for all. O(n +
 * entries). */
void rows_turn(row_t n, const uint64_t *first, const row_t *lists, uint64_t *turned_first, row_t *turned);

struct row_heap {
    row_t *rows; /* rows[0] is the first */
    row_t n;
};

/* The order of the rows themselves; `none` is NULL. */
static inline bool row_is_lower(const void *none, row_t a, row_t b) {
    (void)none;
    return a < b;
}

__attribute__((always_inline)) static inline void
row_heap_push(struct row_heap *heap, row_t row, bool (*before)(const void *arg, row_t a, row_t b), const void *arg) {
    row_t at = heap->n++;
    for (; at && before(arg, row, heap->rows[(at - 1) / 2]); at = (at - 1) / 2)
        heap->rows[at] = heap->rows[(at - 1) / 2];
    heap->rows[at] = row;
}

/* Takes the first one out; there must be one. */
__attribute__((always_inline)) static inline row_t
row_heap_pop(struct row_heap *heap, bool (*before)(const void *arg, row_t a, row_t b), const void *arg) {
    row_t first = heap->rows[0], last = heap->rows[--heap->n];
    uint64_t at = 0, child;
    for (; (child = 2 * at + 1) < heap->n; at = child) {
        child += child + 1 < heap->n && before(arg, heap->rows[child + 1], heap->rows[child]);
        if (!before(arg, heap->rows[child], last))
            break;
        heap->rows[at] = heap->rows[child];
    }
    heap->rows[at] = last;
    return first;
}

/*
 * A set of rows below a bound that numbers its members: what is known of a few rows among many stands in
 * a short array.
 *
 *     members  1 3 4 .. 200     ranks  0 1 2 .. 57          row_of[row_rank(&ranks, 200)] == row_of[57]
 *
 * A bit for each row, and for each word of them how many members stand before it: adding and asking take one word each,
 * of 3 bytes for 16 rows, so that a million rows stay in the cache.
 */

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
