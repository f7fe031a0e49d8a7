/*
 * id_anchors.c - pairs by id, and the longest chain of them that rises on both sides.
 */
#include "legacy/id_anchors.h"

#include "base/bisect.h"
#include "match/key_index.h"

/* Pairs (a[i], b[i]) with rising a; tops and before are of the search for the chain. */
struct id_pairs {
    row_t *a, *b, *tops, *before;
    row_t n, n_unequal;
};

/* Of several positions with one id the last one on side b counts; ids of 0 are none. */
static enum sutra_status find_pairs(struct sutra_context *context, const struct call_tree *a, const value_key *id_a,
                                    const struct call_tree *b, const value_key *id_b, struct id_pairs *pairs,
                                    struct sutra_error *error) {
    struct key_index index = {0};
    enum sutra_status status = key_index_build(&index, &context->engine, id_b, b->n, KEY_LAST, NULL, error);
    for (row_t i = 0; i < a->n && !status; i++) {
        row_t k = key_is_value(id_a[i]) && id_a[i] != 0 ? key_index_find(&index, id_a[i]) : ROW_NONE;
        if (k == ROW_NONE)
            continue;
        if (a->token[i] != b->token[k]) {
            pairs->n_unequal++;
            continue;
        }
        pairs->a[pairs->n] = i;
        pairs->b[pairs->n++] = k;
    }
    key_index_free(&index);
    return status;
}

static void match_longest_chain(const struct id_pairs *pairs, row_t *match) {
    row_t length = 0;
    for (row_t i = 0; i < pairs->n; i++) {
        struct bisection at = {0, length};
        while (at.low < at.high)
            bisect(&at, pairs->b[pairs->tops[bisect_middle(at)]] < pairs->b[i]);
        pairs->before[i] = at.low ? pairs->tops[at.low - 1] : ROW_NONE;
        pairs->tops[at.low] = i;
        length += at.low == length;
    }
    for (row_t i = length ? pairs->tops[length - 1] : ROW_NONE; i != ROW_NONE; i = pairs->before[i])
        match[pairs->a[i]] = pairs->b[i];
}

enum sutra_status id_anchors(struct sutra_context *context, const struct call_tree *a, const value_key *id_a,
                             const struct call_tree *b, const value_key *id_b, row_t *match,
                             struct sutra_error *error) {
    struct arena scratch = {0};
    struct id_pairs pairs = {.a = arena_take(&scratch, a->n, sizeof *pairs.a),
                             .b = arena_take(&scratch, a->n, sizeof *pairs.b),
                             .tops = arena_take(&scratch, a->n, sizeof *pairs.tops),
                             .before = arena_take(&scratch, a->n, sizeof *pairs.before)};
    enum sutra_status status = arena_status(&scratch, error);
    if (!status)
        status = find_pairs(context, a, id_a, b, id_b, &pairs, error);
    if (!status && pairs.n > pairs.n_unequal)
        match_longest_chain(&pairs, match);
    arena_free(&scratch);
    return status;
}
