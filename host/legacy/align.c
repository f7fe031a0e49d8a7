/*
 * align.c - anchors, gaps, and the nesting of what was matched.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/hash_tables.h"
#include "legacy/align.h"
#include "match/key_index.h"

/*
 * Aligning two short sequences of operators by dynamic programming.
 *
 * Cell (i, j) holds the best score of the first i operators of one side and the first j of the other; each row keeps
 * the cells near the diagonal only where the gap is long:
 *
 *     row i     columns from centre(i) - half to centre(i) + half, centre(i) = i * n_b / n_a
 *
 * Steps are kept at two bits a cell. O(n_a * width) time, a quarter of that in bytes.
 */

/* What a pair is worth, and what more if its surroundings agree too. */
#define WORTH_PAIR    16
#define WORTH_PARENT  3
#define WORTH_SUBTREE 3
#define WORTH_RUN     2

/* Most cells of one gap. */
#define CELLS_MAX ((uint64_t)1 << 28)

enum step { STEP_NONE, STEP_A, STEP_B, STEP_PAIR };

struct gap_table {
    const struct call_tree *a, *b;
    struct align_gap gap;
    uint64_t half, width;     /* columns that a row keeps */
    int32_t *row, *above;     /* scores, at the column less the row's first */
    uint8_t *run, *run_above; /* whether the best way to a cell ends with a pair */
    uint8_t *steps;
};

static uint64_t first_column(const struct gap_table *table, uint64_t i) {
    uint64_t centre = i * table->gap.n_b / table->gap.n_a;
    return centre > table->half ? centre - table->half : 0;
}

static uint64_t last_column(const struct gap_table *table, uint64_t i) {
    uint64_t last = i * table->gap.n_b / table->gap.n_a + table->half;
    return last < table->gap.n_b ? last : table->gap.n_b;
}

static bool has_column(const struct gap_table *table, uint64_t i, uint64_t j) {
    return j >= first_column(table, i) && j <= last_column(table, i);
}

static void put_step(struct gap_table *table, uint64_t i, uint64_t j, enum step step) {
    uint64_t cell = i * table->width + (j - first_column(table, i));
    table->steps[cell / 4] |= (uint8_t)((unsigned)step << cell % 4 * 2);
}

static enum step get_step(const struct gap_table *table, uint64_t i, uint64_t j) {
    uint64_t cell = i * table->width + (j - first_column(table, i));
    return (enum step)(table->steps[cell / 4] >> cell % 4 * 2 & 3);
}

static uint32_t parent_token(const struct call_tree *tree, row_t position) {
    row_t above = tree->parent[position];
    return above == ROW_NONE ? UINT32_MAX : tree->token[above];
}

static int32_t pair_worth(const struct gap_table *table, row_t a, row_t b) {
    return WORTH_PAIR + (parent_token(table->a, a) == parent_token(table->b, b) ? WORTH_PARENT : 0) +
           (table->a->hash[a] == table->b->hash[b] ? WORTH_SUBTREE : 0);
}

/* Fills row i from the row above it. */
static void fill_row(struct gap_table *table, uint64_t i) {
    uint64_t first = first_column(table, i), last = last_column(table, i);
    uint64_t first_above = first_column(table, i - 1), last_above = last_column(table, i - 1);
    row_t a = table->gap.a + (row_t)i - 1;
    uint32_t token = table->a->token[a];
    for (uint64_t j = first; j <= last; j++) {
        int32_t best = INT32_MIN;
        enum step step = STEP_NONE;
        if (j <= last_above) {
            best = table->above[j - first_above];
            step = STEP_A;
        }
        if (j > first && table->row[j - first - 1] > best) {
            best = table->row[j - first - 1];
            step = STEP_B;
        }
        row_t b = table->gap.b + (row_t)j - 1;
        if (j > first_above && j - 1 <= last_above && token == table->b->token[b]) {
            int32_t score = table->above[j - 1 - first_above] + pair_worth(table, a, b) +
                            table->run_above[j - 1 - first_above] * WORTH_RUN;
            if (score >= best) {
                best = score;
                step = STEP_PAIR;
            }
        }
        table->row[j - first] = best;
        table->run[j - first] = step == STEP_PAIR;
        put_step(table, i, j, step);
    }
}

static void fill_table(struct gap_table *table) {
    for (uint64_t j = 0; j <= last_column(table, 0); j++) {
        table->row[j] = 0;
        table->run[j] = 0;
    }
    for (uint64_t i = 1; i <= table->gap.n_a; i++) {
        int32_t *row = table->row;
        uint8_t *run = table->run;
        table->row = table->above;
        table->above = row;
        table->run = table->run_above;
        table->run_above = run;
        fill_row(table, i);
    }
}

static void walk_back(const struct gap_table *table, row_t *match) {
    uint64_t i = table->gap.n_a, j = table->gap.n_b;
    while (i > 0 && j > 0 && has_column(table, i, j)) {
        switch (get_step(table, i, j)) {
        case STEP_PAIR:
            match[table->gap.a + i - 1] = table->gap.b + (row_t)j - 1;
            i--;
            j--;
            break;
        case STEP_B:
            j--;
            break;
        case STEP_A:
        case STEP_NONE:
            i--;
            break;
        }
    }
}

/* Equal ends of a long gap are matched as they are. */
static struct align_gap trim(const struct call_tree *a, const struct call_tree *b, struct align_gap gap, row_t *match) {
    while (gap.n_a && gap.n_b && a->token[gap.a] == b->token[gap.b]) {
        match[gap.a++] = gap.b++;
        gap.n_a--;
        gap.n_b--;
    }
    while (gap.n_a && gap.n_b && a->token[gap.a + gap.n_a - 1] == b->token[gap.b + gap.n_b - 1]) {
        gap.n_a--;
        gap.n_b--;
        match[gap.a + gap.n_a] = gap.b + gap.n_b;
    }
    return gap;
}

/* Sets how much of each row is kept. */
static struct gap_table table_shape(struct align_gap gap, bool is_long) {
    struct gap_table table = {.gap = gap, .half = gap.n_b};
    uint64_t room = CELLS_MAX / 2 / ((uint64_t)gap.n_a + 1), slope = gap.n_b / gap.n_a + 1;
    if (is_long)
        table.half = room < SPAN + slope ? room + slope : SPAN + slope;
    table.width = 2 * table.half + 1 < (uint64_t)gap.n_b + 1 ? 2 * table.half + 1 : (uint64_t)gap.n_b + 1;
    return table;
}

/* Matches inside one gap; without memory the arena fails. */
static void align_gap_fill(const struct call_tree *a, const struct call_tree *b, struct align_gap gap,
                           struct arena *arena, row_t *match) {
    bool is_long = gap.n_a > SPAN || gap.n_b > SPAN;
    if (is_long)
        gap = trim(a, b, gap, match);
    if (!gap.n_a || !gap.n_b)
        return;
    struct arena_mark mark = arena_mark(arena);
    struct gap_table table = table_shape(gap, is_long);
    table.a = a;
    table.b = b;
    table.row = arena_zeros(arena, table.width, sizeof *table.row);
    table.above = arena_zeros(arena, table.width, sizeof *table.above);
    table.run = arena_zeros(arena, table.width, 1);
    table.run_above = arena_zeros(arena, table.width, 1);
    table.steps = arena_zeros(arena, ((uint64_t)gap.n_a + 1) * table.width / 4 + 1, 1);
    if (!arena->failed) {
        fill_table(&table);
        walk_back(&table, match);
    }
    arena_release(arena, mark);
}

static void align_anchors(const struct call_tree *a, const struct call_tree *b, struct arena *arena, row_t *match);

/* The gaps of a match in order: *n of them, in the arena. */
static struct align_gap *align_gaps(const row_t *match, row_t n_a, row_t n_b, struct arena *arena, row_t *n) {
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

/*
 * Operators that can only belong together: what occurs once on both sides of a gap.
 *
 * A round gives each position of a large gap a key, made from what stands there (a whole subtree, or the next k tokens)
 * and from the gap's number. Keys that stand once on each side are pairs, and pairs in a row are stretches. Chance
 * makes wrong ones too, which lie far from the others, so of each gap the chain is kept that covers most and drifts
 * least; all that it covers is matched. Later rounds look into smaller gaps with shorter runs. O(n) for a round.
 */

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

/* Matches what anchors give; without memory the arena fails. */
static void align_anchors(const struct call_tree *a, const struct call_tree *b, struct arena *arena, row_t *match) {
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

/*
 * Pairs by id, and the longest chain of them that rises on both sides.
 */

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
