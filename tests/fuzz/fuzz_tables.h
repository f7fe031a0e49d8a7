/*
 * fuzz_tables.h - tables that must be equal, to the bits of real numbers.
 */
#ifndef FUZZ_TABLES_H
#define FUZZ_TABLES_H

#include <string.h>

#include "fuzz.h"
#include "sutra/table.h"

static inline void check_columns_alike(const struct sutra_column *a, const struct sutra_column *b, uint64_t n_rows) {
    check(a->kind == b->kind && strcmp(a->name, b->name) == 0, "the same columns");
    if (n_rows == 0)
        return;
    if (a->kind == SUTRA_COLUMN_INTEGER)
        check(memcmp(a->integers, b->integers, n_rows * sizeof *a->integers) == 0, "the same integers");
    else if (a->kind == SUTRA_COLUMN_REAL)
        check(memcmp(a->reals, b->reals, n_rows * sizeof *a->reals) == 0, "the same real numbers");
    else
        check(memcmp(a->starts, b->starts, (n_rows + 1) * sizeof *a->starts) == 0 &&
                  memcmp(a->bytes, b->bytes, a->starts[n_rows]) == 0,
              "the same text");
}

/* Either may be NULL, and then both are. */
static inline void check_tables_alike(const struct sutra_table *a, const struct sutra_table *b) {
    struct sutra_column left, right;
    check((a == NULL) == (b == NULL), "both tables or none");
    if (!a || !b)
        return;
    check(sutra_table_rows(a) == sutra_table_rows(b), "as many rows");
    for (uint32_t i = 0; sutra_table_column(a, i, &left); i++) {
        check(sutra_table_column(b, i, &right), "as many columns");
        check_columns_alike(&left, &right, sutra_table_rows(a));
    }
}

#endif
