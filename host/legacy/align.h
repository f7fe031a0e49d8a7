/*
 * align.h - matches the operators of two call trees: as many as possible with equal tokens, keeping order and nesting.
 *
 * Operators may be missing on either side: the children of a missing operator belong to its parent. Steps:
 *
 *   1. anchors: subtrees, then runs of 32, 16 and 8 operators that occur once on both sides, if their order agrees
 * 2. gaps between anchors: an optimal alignment of short sequences, an alignment near the diagonal of long ones; pairs
 *      with equal parents, equal subtrees and equal neighbors are preferred
 *   3. pairs that contradict the nesting of other pairs are dropped
 *
 * O(n log n) for the anchors, at most O(n * SPAN) for the gaps.
 */
#ifndef LEGACY_ALIGN_H
#define LEGACY_ALIGN_H

#include "base/threads.h"
#include "context/context.h"
#include "legacy/match.h"
#include "sutra/error.h"

/* match[i] = the position in `b` of position i of `a`, or ROW_NONE. Existing matches (ascending on both sides, else
 * ROW_NONE) are kept unless they contradict the nesting. SUTRA_SYSTEM: out of memory. */
enum sutra_status tree_align(const struct call_tree *a, const struct call_tree *b, struct pool *pool, row_t *match,
                             struct sutra_error *error);

/* Matches positions with equal record-function ids and equal tokens, if their order agrees; other entries of match[]
 * are unchanged. id_a[] and id_b[] are per position. Ids are used only if most common ids have equal tokens. O(n log
 * n). */
enum sutra_status id_anchors(struct sutra_context *context, const struct call_tree *a, const value_key *id_a,
                             const struct call_tree *b, const value_key *id_b, row_t *match, struct sutra_error *error);

#endif
