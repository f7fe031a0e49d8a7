/*
 * rows.h - rows of tables: sets, sorted lists, a heap, and ranks of a few rows among many.
 */
#ifndef COLUMNS_ROWS_H
#define COLUMNS_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "columns/numbers.h"

/*
 * ---- A set of rows below a bound that finds the smallest member from a row on ----
 *
 * A bit per row, a bit per nonzero word of these bits, and so on up to a single word. Adding and finding access one
 * word per level; 32-bit rows have at most six levels.
 */

#define ROW_SET_LEVELS 6

struct row_set {
    uint64_t *words;                 /* of all levels; the level of the rows is first */
    uint64_t *level[ROW_SET_LEVELS]; /* first word of each level */
    uint64_t n_words[ROW_SET_LEVELS];
    unsigned n_levels;
};

/* An empty set of rows below n; false: out of memory. */
bool row_set_init(struct row_set *set, row_t n);
void row_set_free(struct row_set *set);

void row_set_add(struct row_set *set, row_t row);

/* The smallest member that is `row` or above, or ROW_NONE. `row` may be n. */
row_t row_set_next(const struct row_set *set, row_t row);

/* ---- Lists of rows ---- */

/* Sorts rows, ascending. O(n log n). */
void rows_sort(row_t *rows, uint64_t n);

/* The same, and removes duplicates; returns the number of remaining rows. */
uint64_t rows_sort_unique(row_t *rows, uint64_t n);

/* The index of a row among n ascending rows, or ROW_NONE. O(log n). */
row_t rows_find(const row_t *rows, row_t n, row_t row);

/* Sorts rows (NULL: the rows below n) by number, stable: the rows of number b are sorted[first[b]] ..
 * sorted[first[b + 1] - 1], for b below n_numbers. O(n + n_numbers). */
void rows_bucket(const row_t *rows, row_t n, const uint32_t *number, uint32_t n_numbers, row_t *first, row_t *sorted);

/* Inverts lists: if row i has the list lists[first[i]] .., row r is on the lists of the rows turned[turned_first[r]]
 * .., ascending. ROW_NONE is skipped. turned_first has n + 1 elements, 0 before the call; `turned` has room for all
 * entries. O(n + entries). */
void rows_invert(row_t n, const uint64_t *first, const row_t *lists, uint64_t *turned_first, row_t *turned);

/*
 * ---- A heap of rows: the first one by an order of the caller ----
 *
 *     static bool ends_before(const void *table, row_t a, row_t b) { ... }
 *
 *     row_heap_push(&heap, row, ends_before, table);
 *     row_t first = row_heap_pop(&heap, ends_before, table);
 *
 * The caller allocates room for all rows. The order of rows in the heap must not change. O(log n) per call; inline, so
 * that the order is inlined too.
 */

struct row_heap {
    row_t *rows; /* rows[0] is the first */
    row_t n;
};

/* The order by row number; `none` is NULL. */
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

/* Removes the first row; the heap must not be empty. */
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
 * ---- A set of rows below a bound that numbers its members, so that data of a few rows among many fits a short array
 * ----
 *
 *     members  1 3 4 .. 200     ranks  0 1 2 .. 57          row_of[row_rank(&ranks, 200)] == row_of[57]
 *
 * A bit per row, and per word of these bits the number of earlier members. Adding and finding access one word each, 3
 * bytes per 16 rows, so that a million rows fit the cache.
 */

struct row_ranks {
    uint64_t *bits;
    row_t *before; /* set by row_ranks_count() */
    size_t n_words;
};

/* An empty set of rows below n, in the arena, which records a failure. */
static inline struct row_ranks row_ranks_alloc(struct arena *arena, row_t n) {
    size_t n_words = n / 64 + 1;
    return (struct row_ranks){.bits = arena_zeros(arena, n_words, sizeof(uint64_t)),
                              .before = arena_alloc(arena, n_words, sizeof(row_t)),
                              .n_words = n_words};
}

/* False: the row is already a member. */
static inline bool row_ranks_add(const struct row_ranks *ranks, row_t row) {
    uint64_t bit = (uint64_t)1 << row % 64, *word = &ranks->bits[row / 64];
    bool is_new = !(*word & bit);
    *word |= bit;
    return is_new;
}

static inline bool row_ranks_contain(const struct row_ranks *ranks, row_t row) {
    return ranks->bits[row / 64] >> row % 64 & 1;
}

/* Counts the members; call after the last row_ranks_add(). */
static inline row_t row_ranks_count(const struct row_ranks *ranks) {
    row_t n = 0;
    for (size_t word = 0; word < ranks->n_words; word++) {
        ranks->before[word] = n;
        n += (row_t)__builtin_popcountll(ranks->bits[word]);
    }
    return n;
}

/* Lists the members, ascending: rows[row_rank(ranks, row)] is row. */
static inline void row_ranks_list(const struct row_ranks *ranks, row_t *rows) {
    for (size_t word = 0; word < ranks->n_words; word++)
        for (uint64_t left = ranks->bits[word]; left; left &= left - 1)
            *rows++ = (row_t)(word * 64) + (row_t)__builtin_ctzll(left);
}

/* The number of a member, in ascending order. */
static inline row_t row_rank(const struct row_ranks *ranks, row_t row) {
    uint64_t below = ranks->bits[row / 64] & (((uint64_t)1 << row % 64) - 1);
    return ranks->before[row / 64] + (row_t)__builtin_popcountll(below);
}

#endif
