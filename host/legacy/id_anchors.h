/*
 * id_anchors.h - matches that ids give: operators of both sides with one record-function id.
 */
#ifndef LEGACY_ID_ANCHORS_H
#define LEGACY_ID_ANCHORS_H

#include "context/context.h"
#include "legacy/call_tree.h"

/* Sets match[] for positions of `a` whose id a position of `b` has too, with an equal token, as far as their order
 * agrees; others stay as they are. id_a[] and id_b[] are per position. Ids are trusted only if most of those that both
 * sides have belong to equal tokens. O(n log n). */
enum sutra_status id_anchors(struct sutra_context *context, const struct call_tree *a, const value_key *id_a,
                             const struct call_tree *b, const value_key *id_b, row_t *match, struct sutra_error *error);

#endif
