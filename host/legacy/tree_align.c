/*
 * tree_align.c - anchors, gaps, and the nesting of what was matched.
 */
#include "legacy/tree_align.h"

#include <stdatomic.h>
#include <string.h>

#include "base/error.h"

struct align_gap *align_gaps(const row_t *match, row_t n_a, row_t n_b, struct arena *arena, row_t *n) {
    row_t most = 1; /* one before each pair, one behind all */
    for (row_t i = 0; i < n_a; i++)
        most += match[i] != ROW_NONE;
    struct align_gap *gaps = arena_take(arena, most, sizeof *gaps);
    row_t a = 0, b = 0;
    *n = 0;
    for (row_t i = 0; i <= n_a && gaps; i++) {
        if (i < n_a && match[i] == ROW_NONE)
            continue;
        row_t to = i < n_a ? match[i] : n_b;
        if (i > a && to > b)
            gaps[(*n)++] = (struct align_gap){a, i - a, b, to - b};
        a = i + 1;
        b = to + 1;
    }
    return gaps;
}

struct gap_filling {
    const struct call_tree *a, *b;
    const struct align_gap *gaps;
    row_t n;
    row_t *match;
    atomic_bool failed;
};

/* Gaps that one task fills. */
#define BLOCK 64

static void fill_block(void *arg, size_t block) {
    struct gap_filling *filling = arg;
    struct arena scratch = {0};
    size_t begin = block * BLOCK, end = begin + BLOCK < filling->n ? begin + BLOCK : filling->n;
    for (size_t i = begin; i < end; i++)
        align_gap_fill(filling->a, filling->b, filling->gaps[i], &scratch, filling->match);
    if (scratch.failed)
        atomic_store(&filling->failed, true);
    arena_free(&scratch);
}

static bool fill_gaps(const struct call_tree *a, const struct call_tree *b, struct pool *pool, struct arena *arena,
                      row_t *match) {
    struct gap_filling filling = {.a = a, .b = b, .match = match};
    struct arena_mark mark = arena_mark(arena);
    filling.gaps = align_gaps(match, a->n, b->n, arena, &filling.n);
    pool_run(pool, ((size_t)filling.n + BLOCK - 1) / BLOCK, fill_block, &filling);
    arena_release(arena, mark);
    return !arena->failed && !atomic_load(&filling.failed);
}

/* How many pairs come before each position, on either side. */
struct pair_counts {
    row_t *a, *b;
};

static void count_pairs(const struct call_tree *a, const struct call_tree *b, const row_t *match,
                        const struct pair_counts *counts) {
    memset(counts->b, 0, ((size_t)b->n + 1) * sizeof *counts->b);
    counts->a[0] = 0;
    for (row_t i = 0; i < a->n; i++) {
        counts->a[i + 1] = counts->a[i] + (match[i] != ROW_NONE);
        if (match[i] != ROW_NONE)
            counts->b[match[i] + 1] = 1;
    }
    for (row_t i = 0; i < b->n; i++)
        counts->b[i + 1] += counts->b[i];
}

static row_t pairs_between(const row_t *counts, row_t from, row_t to) {
    return counts[to + 1] - counts[from + 1];
}

/* Drops pairs below which more pairs contradict than agree. Pairs are in one order on both sides, so those below either
 * operator are runs that begin together, and the longer run's rest contradicts. */
static void drop_wrong_parents(const struct call_tree *a, const struct call_tree *b, row_t *match,
                               const struct pair_counts *counts) {
    for (row_t i = 0; i < a->n; i++) {
        row_t k = match[i];
        if (k == ROW_NONE)
            continue;
        row_t below = pairs_between(counts->a, i, a->last[i]);
        row_t surely = pairs_between(counts->b, k, b->last[k]), perhaps = pairs_between(counts->b, k, b->reach[k]);
        row_t differ = below > perhaps ? below - perhaps : surely > below ? surely - below : 0;
        row_t agree = below < perhaps ? below : perhaps;
        if (differ > agree)
            match[i] = ROW_NONE;
    }
}

/* Drops pairs that leave the subtree of a pair above on one side only. `open` has room for all positions of a. */
static void drop_contradictions(const struct call_tree *a, const struct call_tree *b, row_t *match, row_t *open) {
    row_t n = 0;
    for (row_t i = 0; i < a->n; i++) {
        row_t k = match[i];
        if (k == ROW_NONE)
            continue;
        while (n && i > a->last[open[n - 1]] && k > b->last[match[open[n - 1]]])
            n--;
        bool left = n && i > a->last[open[n - 1]], right = n && k > b->reach[match[open[n - 1]]];
        if (left || right)
            match[i] = ROW_NONE;
        else
            open[n++] = i;
    }
}

/* Drops pairs that contradict the nesting of others; without memory the arena fails. */
static void drop_wrong_pairs(const struct call_tree *a, const struct call_tree *b, struct arena *arena, row_t *match) {
    const struct pair_counts counts = {arena_take(arena, (size_t)a->n + 1, sizeof *counts.a),
                                       arena_take(arena, (size_t)b->n + 1, sizeof *counts.b)};
    row_t *open = arena_take(arena, a->n, sizeof *open);
    if (arena->failed)
        return;
    count_pairs(a, b, match, &counts);
    drop_wrong_parents(a, b, match, &counts);
    drop_contradictions(a, b, match, open);
}

enum sutra_status tree_align(const struct call_tree *a, const struct call_tree *b, struct pool *pool, row_t *match,
                             struct sutra_error *error) {
    struct arena scratch = {0};
    align_anchors(a, b, &scratch, match);
    bool filled = fill_gaps(a, b, pool, &scratch, match);
    if (filled)
        drop_wrong_pairs(a, b, &scratch, match);
    bool ok = filled && !scratch.failed;
    arena_free(&scratch);
    return ok ? SUTRA_OK : error_memory(error);
}
