/*
 * align.h - matching the operators of two call trees: as many as possible with equal tokens, so that order and
 * nesting are kept.
 *
 * Operators may be missing on either side: what is below a missing operator counts as below the next one above. The
 * way:
 *
 *   1. anchors: subtrees, then runs of 32, 16 and 8 operators that occur once on both sides, as far as their order
 *      agrees
 *   2. the gaps between anchors: an optimal alignment of the two sequences if they are short, else one that stays near
 *      the diagonal; among equals, pairs with equal parents, equal subtrees and equal neighbours are preferred
 *   3. pairs that contradict the nesting of others are dropped
 *
 * O(n log n) for the anchors, at most O(n * SPAN) for the gaps.
 */
#ifndef LEGACY_ALIGN_H
#define LEGACY_ALIGN_H

#include "base/threads.h"
#include "context/context.h"
#include "legacy/match.h"
#include "sutra/error.h"

/* match[i] = the position in `b` of position i of `a`, or ROW_NONE. What the caller has matched already (rising on both
 * sides; else ROW_NONE) is kept unless it contradicts the nesting. SUTRA_SYSTEM: out of memory. */
enum sutra_status tree_align(const struct call_tree *a, const struct call_tree *b, struct pool *pool, row_t *match,
                             struct sutra_error *error);

/* ---- For the files of the alignment ---- */

/* A stretch without matches on both sides: positions from a (b) on, n_a (n_b) of them. */
struct align_gap {
    row_t a, n_a, b, n_b;
};

/* Longest side of a gap that is aligned optimally. */
#define SPAN 256

/*
 * Matches that ids give: operators of both sides with one record-function id.
 */

/* Sets match[] for positions of `a` whose id a position of `b` has too, with an equal token, as far as their order
 * agrees; others stay as they are. id_a[] and id_b[] are per position. Ids are trusted only if most of those that both
 * sides have belong to equal tokens. O(n log n). */
enum sutra_status id_anchors(struct sutra_context *context, const struct call_tree *a, const value_key *id_a,
                             const struct call_tree *b, const value_key *id_b, row_t *match, struct sutra_error *error);

#endif
