/*
 * sequences.h - rows of tables that count how often an operator came with the same kernels.
 *
 *     patterns_take(&patterns, {operator, kernel, kernel}, 3)   as numbers of names; the row of that pattern
 *     patterns_sort(&patterns, ...)                             when all are taken: the most frequent first
 *
 * Cost: O(1) for each name that is taken, and for each different pattern O(length of its text) and a sort.
 */
#ifndef ANALYZE_HTA_SEQUENCES_H
#define ANALYZE_HTA_SEQUENCES_H

#include "base/arena.h"
#include "base/memory.h"
#include "columns/strings.h"

struct pattern {
    uint64_t n;
    int64_t ns[2];       /* sums that the caller makes */
    size_t text, length; /* names, in `texts`: of the operator, then of the kernels */
    uint32_t name;       /* of the operator */
};

struct patterns {
    struct strings keys; /* the numbers of names, as bytes */
    struct pattern *list;
    uint64_t capacity;
    struct buffer texts;
    uint32_t *order; /* made by patterns_sort() */
};

bool patterns_init(struct patterns *patterns);
void patterns_free(struct patterns *patterns);

/* The pattern of these names, counted once more; NULL: out of memory. It stays where it is until the next call. */
struct pattern *patterns_take(struct patterns *patterns, const uint32_t *names, size_t n, struct arena *arena);

/* Writes the texts, with `behind` (of n_behind bytes) behind the operator and `between` between kernels, and gives the
 * order: by falling count, then by text. False: out of memory. */
bool patterns_sort(struct patterns *patterns, const struct strings *strings, const char *behind, size_t n_behind,
                   const char *between, struct arena *arena);

#endif
