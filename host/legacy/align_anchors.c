/*
 * align_anchors.c - operators that can only belong together: what occurs once on both sides of a gap.
 *
 * A round gives each position of a large gap a key, made from what stands there (a whole subtree, or the next k tokens)
 * and from the gap's number. Keys that stand once on each side are pairs; of those of one gap the longest rising chain
 * is kept, and all that the keys were made from is matched. Later rounds look into smaller gaps with shorter runs.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "columns/hash.h"
#include "legacy/tree_align.h"

/* Smallest subtree that counts as an anchor. */
#define SUBTREE_MIN 4

/* A key and where it stands. */
struct anchor_slot {
    uint64_t key; /* 0: empty */
    row_t a, b;
    uint8_t n_a, n_b; /* 2: more than once */
};

struct anchors {
    const struct call_tree *a, *b;
    row_t *match;
    row_t run; /* tokens of a key; 0: subtrees */
    struct anchor_slot *slots;
    size_t n_slots;
    uint64_t *key_a, *key_b;          /* 0: none */
    row_t *chain, *before, *tops, *found; /* of the longest chain */
};

static struct anchor_slot *slot_of(struct anchors *anchors, uint64_t key) {
    size_t mask = anchors->n_slots - 1, slot = (size_t)(key >> 8) & mask;
    while (anchors->slots[slot].key && anchors->slots[slot].key != key)
        slot = (slot + 1) & mask;
    return &anchors->slots[slot];
}

static uint64_t run_key(const struct call_tree *tree, row_t from, row_t n) {
    uint64_t hash = n;
    for (row_t i = from; i < from + n; i++)
        hash = hash_fold(hash ^ tree->token[i], 0xa0761d6478bd642fu) + i - from;
    return hash;
}

/* Positions that the key at a position covers. */
static row_t covered(const struct anchors *anchors, const struct call_tree *tree, row_t position) {
    return anchors->run ? anchors->run : tree->last[position] - position + 1;
}

/* Keys of one side of a gap. */
static void make_keys(const struct anchors *anchors, const struct call_tree *tree, uint64_t *keys, row_t from, row_t n,
                      uint64_t gap) {
    for (row_t i = from; i < from + n; i++) {
        row_t length = covered(anchors, tree, i);
        keys[i] = 0;
        if (length > from + n - i || (!anchors->run && length < SUBTREE_MIN))
            continue;
        uint64_t what = anchors->run ? run_key(tree, i, length) : tree->hash[i];
        keys[i] = hash_fold(what ^ 0x8ebc6af09c88c6e3u, gap + 0x9e3779b97f4a7c15u) | 1;
    }
}

static void count_keys(struct anchors *anchors, const struct align_gap *gap) {
    for (row_t i = gap->a; i < gap->a + gap->n_a; i++) {
        if (!anchors->key_a[i])
            continue;
        struct anchor_slot *slot = slot_of(anchors, anchors->key_a[i]);
        slot->key = anchors->key_a[i];
        slot->a = i;
        slot->n_a = slot->n_a ? 2 : 1;
    }
    for (row_t i = gap->b; i < gap->b + gap->n_b; i++) {
        if (!anchors->key_b[i])
            continue;
        struct anchor_slot *slot = slot_of(anchors, anchors->key_b[i]);
        if (!slot->key)
            continue;
        slot->b = i;
        slot->n_b = slot->n_b ? 2 : 1;
    }
}

/* The longest rising chain among found[0..n), whose partners are chain[]; leaves its members at the front of found[]. */
static row_t longest_chain(struct anchors *anchors, row_t n) {
    row_t length = 0;
    for (row_t i = 0; i < n; i++) {
        row_t low = 0, high = length;
        while (low < high) {
            row_t middle = low + (high - low) / 2;
            if (anchors->chain[anchors->tops[middle]] < anchors->chain[i])
                low = middle + 1;
            else
                high = middle;
        }
        anchors->before[i] = low ? anchors->tops[low - 1] : ROW_NONE;
        anchors->tops[low] = i;
        length += low == length;
    }
    row_t place = length;
    for (row_t i = length ? anchors->tops[length - 1] : ROW_NONE; i != ROW_NONE; i = anchors->before[i])
        anchors->tops[--place] = i;
    return length;
}

/* Pairs of one gap. */
static void match_gap(struct anchors *anchors, const struct align_gap *gap) {
    row_t n = 0;
    for (row_t i = gap->a; i < gap->a + gap->n_a; i++) {
        if (!anchors->key_a[i])
            continue;
        const struct anchor_slot *slot = slot_of(anchors, anchors->key_a[i]);
        if (slot->n_a != 1 || slot->n_b != 1)
            continue;
        anchors->found[n] = i;
        anchors->chain[n++] = slot->b;
    }
    row_t length = longest_chain(anchors, n), next_a = gap->a, next_b = gap->b;
    for (row_t k = 0; k < length; k++) {
        row_t a = anchors->found[anchors->tops[k]], b = anchors->chain[anchors->tops[k]];
        row_t end = a + covered(anchors, anchors->a, a);
        if (covered(anchors, anchors->b, b) != end - a)
            continue; /* equal hashes by chance */
        if ((a < next_a || b < next_b) && a - next_a != b - next_b)
            continue; /* it overlaps the one before it elsewhere */
        for (; a < end; a++, b++)
            if (anchors->a->token[a] == anchors->b->token[b])
                anchors->match[a] = b;
        next_a = a > next_a ? a : next_a;
        next_b = b > next_b ? b : next_b;
    }
}

static bool is_large(const struct align_gap *gap) {
    return gap->n_a && gap->n_b && (gap->n_a > SPAN / 8 || gap->n_b > SPAN / 8);
}

/* One round over all large gaps; *n is their number. */
static enum sutra_status anchor_round(struct anchors *anchors, row_t *n, struct sutra_error *error) {
    struct align_gap *gaps;
    row_t n_gaps;
    *n = 0;
    enum sutra_status status = align_gaps(anchors->match, anchors->a->n, anchors->b->n, &gaps, &n_gaps, error);
    if (status)
        return status;
    memset(anchors->slots, 0, anchors->n_slots * sizeof *anchors->slots);
    for (row_t g = 0; g < n_gaps; g++) {
        const struct align_gap *gap = &gaps[g];
        if (!is_large(gap))
            continue;
        ++*n;
        make_keys(anchors, anchors->a, anchors->key_a, gap->a, gap->n_a, g);
        make_keys(anchors, anchors->b, anchors->key_b, gap->b, gap->n_b, g);
        count_keys(anchors, gap);
    }
    for (row_t g = 0; g < n_gaps; g++)
        if (is_large(&gaps[g]))
            match_gap(anchors, &gaps[g]);
    free(gaps);
    return SUTRA_OK;
}

static bool allocate(struct anchors *anchors) {
    size_t n_a = (size_t)anchors->a->n + 1, n_b = (size_t)anchors->b->n + 1;
    anchors->n_slots = 64;
    while (anchors->n_slots < 2 * n_a)
        anchors->n_slots *= 2;
    anchors->slots = malloc(anchors->n_slots * sizeof *anchors->slots);
    anchors->key_a = malloc(n_a * sizeof *anchors->key_a);
    anchors->key_b = malloc(n_b * sizeof *anchors->key_b);
    anchors->chain = malloc(n_a * sizeof *anchors->chain);
    anchors->before = malloc(n_a * sizeof *anchors->before);
    anchors->tops = malloc(n_a * sizeof *anchors->tops);
    anchors->found = malloc(n_a * sizeof *anchors->found);
    return anchors->slots && anchors->key_a && anchors->key_b && anchors->chain && anchors->before && anchors->tops &&
           anchors->found;
}

enum sutra_status align_anchors(const struct call_tree *a, const struct call_tree *b, row_t *match,
                                struct sutra_error *error) {
    static const row_t runs[] = {0, 32, 16, 8};
    struct anchors anchors = {.a = a, .b = b, .match = match};
    enum sutra_status status = allocate(&anchors) ? SUTRA_OK : error_memory(error);
    row_t n_large = 1;
    for (size_t i = 0; i < sizeof runs / sizeof *runs && !status && n_large; i++) {
        anchors.run = runs[i];
        status = anchor_round(&anchors, &n_large, error);
    }
    free(anchors.slots);
    free(anchors.key_a);
    free(anchors.key_b);
    free(anchors.chain);
    free(anchors.before);
    free(anchors.tops);
    free(anchors.found);
    return status;
}
