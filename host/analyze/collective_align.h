/*
 * collective_align.h - collectives of one group that tell no numbers: which are the same on all ranks, though some
 * ranks lost some.
 *
 *     rank 0   A B C A B C A B C            A B C A B C A B C
 *     rank 1   A B C A   C A B C     ->     A B C A . C A B C        numbers are the places
 *     rank 2         A B C A B C            . . . A B C A B C
 *
 * A sequence of all is grown rank by rank. A rank whose sequence is another one is laid beside it by the ends of
 * collectives, which are the same moment everywhere: the clocks' difference that most pairs of one token agree on says
 * which belong together. Where ends do not agree, tokens alone do it, by patience diff: those that stand once on both
 * sides are anchors, as far as their orders agree, and so on between them. What is left between anchors, as many on
 * both sides, is the same collective with another size or type.
 *
 * Cost: O(n) of ranks that are equal, else O(n log n).
 */
#ifndef ANALYZE_COLLECTIVE_ALIGN_H
#define ANALYZE_COLLECTIVE_ALIGN_H

#include "base/arena.h"
#include "columns/row.h"

struct align_call {
    int64_t end_ns;
    uint32_t token;    /* what it is: type, data type and size */
    row_t number;      /* what comes out: its place among those of all ranks, from 0 */
    bool ends_at_once; /* with those of the other ranks */
};

/* Numbers the calls; those of rank i are calls[first[i]] to calls[first[i + 1]], in their order. False: out of
 * memory. */
bool collectives_align(struct align_call *calls, const row_t *first, row_t n_ranks, struct arena *arena);

#endif
