/*
 * align_anchors.c - operators that can only belong together: what occurs once on both sides of a gap.
 *
 * A round gives each position of a large gap a key, made from what stands there (a whole subtree, or the next k tokens)
 * and from the gap's number. Keys that stand once on each side are pairs, and pairs in a row are stretches. Chance
 * makes wrong ones too, which lie far from the others, so of each gap the chain is kept that covers most and drifts
 * least; all that it covers is matched. Later rounds look into smaller gaps with shorter runs. O(n) for a round.
 */
#include <string.h>

#include "columns/hash.h"
#include "legacy/tree_align.h"

/* Smallest subtree that counts as an anchor. */
#define SUBTREE_MIN 4

/* Stretches that a chain may leave out between two of its own. */
#define LOOK_BACK 64

/* A key and where it stands. */
struct anchor_slot {
    uint64_t key; /* 0: empty */
    row_t a, b;
    uint8_t n_a, n_b; /* 2: more than once */
};

/* Pairs that follow each other: n from a and b on. */
struct stretch {
    row_t a, b, n;
    row_t before;  /* the stretch before it in its best chain, or ROW_NONE */
    int64_t score; /* of that chain */
};

struct anchors {
    const struct call_tree *a, *b;
    row_t *match;
    row_t run; /* tokens of a key; 0: subtrees */
    struct anchor_slot *slots;
    size_t n_slots;
    uint64_t *key_a, *key_b;   /* 0: none */
    struct stretch *stretches; /* of one gap */
};

static struct anchor_slot *slot_of(struct anchors *anchors, uint64_t key) {
    size_t mask = anchors->n_slots - 1, slot = (size_t)hash_pair(key, 0, 0) & mask;
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

/* What a chain pays where the positions of the two sides drift apart by `drift` from one stretch to the next. */
static int64_t drift_cost(int64_t drift) {
    uint64_t size = (uint64_t)(drift < 0 ? -drift : drift);
    return size == 0 ? 0 : 2 + 4 * (63 - __builtin_clzll(size));
}

static int64_t diagonal(const struct stretch *stretch) {
    return (int64_t)stretch->a - stretch->b;
}

/* Joins pairs of a gap that follow each other on both sides; returns how many stretches that makes. */
static row_t list_stretches(struct anchors *anchors, const struct align_gap *gap) {
    row_t n = 0;
    for (row_t a = gap->a; a < gap->a + gap->n_a; a++) {
        const struct anchor_slot *slot = anchors->key_a[a] ? slot_of(anchors, anchors->key_a[a]) : NULL;
        if (!slot || slot->n_a != 1 || slot->n_b != 1)
            continue;
        row_t length = covered(anchors, anchors->a, a);
        struct stretch *last = n ? &anchors->stretches[n - 1] : NULL;
        if (covered(anchors, anchors->b, slot->b) != length)
            continue; /* equal hashes by chance */
        if (last && diagonal(last) == (int64_t)a - slot->b && a <= last->a + last->n) {
            last->n = a + length > last->a + last->n ? a + length - last->a : last->n;
            continue;
        }
        anchors->stretches[n] = (struct stretch){.a = a, .b = slot->b, .n = length};
        n++;
    }
    return n;
}

/* How much of a stretch lies behind another one on both sides. */
static int64_t fresh(const struct stretch *before, const struct stretch *stretch) {
    int64_t over_a = (int64_t)before->a + before->n - stretch->a, over_b = (int64_t)before->b + before->n - stretch->b;
    int64_t over = over_a > over_b ? over_a : over_b;
    return over > 0 ? (int64_t)stretch->n - over : stretch->n;
}

/* The chain of rising stretches that covers most and drifts least, from the gap's beginning to its end; returns its
 * last stretch or ROW_NONE. Each looks back at LOOK_BACK others at most. */
static row_t best_chain(struct anchors *anchors, const struct align_gap *gap, row_t n) {
    int64_t begin = (int64_t)gap->a - gap->b, end = begin + gap->n_a - gap->n_b, best_score = -drift_cost(end - begin);
    row_t best = ROW_NONE;
    for (row_t i = 0; i < n; i++) {
        struct stretch *stretch = &anchors->stretches[i];
        stretch->score = stretch->n - drift_cost(diagonal(stretch) - begin);
        stretch->before = ROW_NONE;
        for (row_t back = 1; back <= LOOK_BACK && back <= i; back++) {
            const struct stretch *other = &anchors->stretches[i - back];
            int64_t gain = fresh(other, stretch);
            int64_t score = other->score + gain - drift_cost(diagonal(stretch) - diagonal(other));
            if (gain <= 0 || other->b >= stretch->b || score <= stretch->score)
                continue;
            stretch->score = score;
            stretch->before = i - back;
        }
        if (stretch->score - drift_cost(end - diagonal(stretch)) > best_score) {
            best_score = stretch->score - drift_cost(end - diagonal(stretch));
            best = i;
        }
    }
    return best;
}

/* Matches what the best chain of a gap covers, from its end to its beginning. */
static void match_gap(struct anchors *anchors, const struct align_gap *gap) {
    row_t at = best_chain(anchors, gap, list_stretches(anchors, gap));
    for (; at != ROW_NONE; at = anchors->stretches[at].before) {
        const struct stretch *stretch = &anchors->stretches[at];
        const struct stretch *before = stretch->before == ROW_NONE ? NULL : &anchors->stretches[stretch->before];
        row_t skip = before ? (row_t)(stretch->n - fresh(before, stretch)) : 0;
        for (row_t i = skip; i < stretch->n; i++)
            if (anchors->a->token[stretch->a + i] == anchors->b->token[stretch->b + i])
                anchors->match[stretch->a + i] = stretch->b + i;
    }
}

static bool is_large(const struct align_gap *gap) {
    return gap->n_a && gap->n_b && (gap->n_a > SPAN / 8 || gap->n_b > SPAN / 8);
}

/* One round over all large gaps; returns their number. */
static row_t anchor_round(struct anchors *anchors, const struct align_gap *gaps, row_t n_gaps) {
    row_t n = 0;
    memset(anchors->slots, 0, anchors->n_slots * sizeof *anchors->slots);
    for (row_t g = 0; g < n_gaps; g++) {
        const struct align_gap *gap = &gaps[g];
        if (!is_large(gap))
            continue;
        n++;
        make_keys(anchors, anchors->a, anchors->key_a, gap->a, gap->n_a, g);
        make_keys(anchors, anchors->b, anchors->key_b, gap->b, gap->n_b, g);
        count_keys(anchors, gap);
    }
    for (row_t g = 0; g < n_gaps; g++)
        if (is_large(&gaps[g]))
            match_gap(anchors, &gaps[g]);
    return n;
}

void align_anchors(const struct call_tree *a, const struct call_tree *b, struct arena *arena, row_t *match) {
    static const row_t runs[] = {0, 32, 16, 8};
    struct arena_mark mark = arena_mark(arena);
    struct anchors anchors = {.a = a, .b = b, .match = match, .n_slots = 64};
    while (anchors.n_slots < 2 * ((size_t)a->n + 1))
        anchors.n_slots *= 2;
    anchors.slots = arena_take(arena, anchors.n_slots, sizeof *anchors.slots);
    anchors.key_a = arena_take(arena, a->n, sizeof *anchors.key_a);
    anchors.key_b = arena_take(arena, b->n, sizeof *anchors.key_b);
    anchors.stretches = arena_take(arena, a->n, sizeof *anchors.stretches);
    row_t n_large = 1, n_gaps;
    for (size_t i = 0; i < sizeof runs / sizeof *runs && n_large && !arena->failed; i++) {
        struct arena_mark round = arena_mark(arena);
        const struct align_gap *gaps = align_gaps(match, a->n, b->n, arena, &n_gaps);
        anchors.run = runs[i];
        n_large = gaps ? anchor_round(&anchors, gaps, n_gaps) : 0;
        arena_release(arena, round);
    }
    arena_release(arena, mark);
}
