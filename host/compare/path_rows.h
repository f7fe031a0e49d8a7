/*
 * path_rows.h - the merged tree of both sides as rows that say what runs where: at a call path, the kernels of A and
 * those of B.
 *
 *     both have the piece of work         the same kernel at the same path
 *     one has it, but the other has the   the same, there with fewer calls
 *     same elsewhere at such a path
 *     one has it                          gone, or new: an operator with all below it
 *     both have what the other has not,   replaced, as one row: "gemm, reduce" -> "gemm2", "foo" -> "bar, baz"
 *     side by side
 *
 * All work stands in one row. Rows with equal texts are one. O(n), beside the texts.
 */
#ifndef COMPARE_PATH_ROWS_H
#define COMPARE_PATH_ROWS_H

#include "compare/sums.h"

struct path_row {
    uint32_t path[2], kernels[2]; /* texts; 0 where a side has none */
    uint64_t calls[2];
    wide_t ns[2];
};

struct path_row_list {
    struct path_row *list; /* in the arena of the caller */
    uint64_t n, capacity;
    struct tuples keys;
};

/* Texts are added to those of the whole. `rows` needs tuples_free(&rows->keys) in any case. SUTRA_SYSTEM: out of
 * memory. */
enum sutra_status path_rows_make(struct part *whole, const struct path_tree *tree, struct arena *arena,
                                 struct path_row_list *rows, struct sutra_error *error);

#endif
