/*
 * align.c - implements align.h.
 *
 * Anchors: keys that occur once on both sides of a large gap. A round gives each position a key, computed from a whole
 * subtree or the next k tokens, and from the number of the gap. Keys that occur once on each side are pairs;
 * consecutive pairs are runs. Some pairs are wrong by chance, and far from the others. So of each gap the chain of runs
 * with the most pairs and the least drift is matched. Later rounds use shorter runs in smaller gaps. O(n) per round.
 *
 * Gaps: dynamic programming. Cell (i, j) has the best score of the first i operators of one side and the first j of the
 * other. Rows of a long gap keep only the cells near the diagonal:
 *
 *     row i     columns from centre(i) - half to centre(i) + half, centre(i) = i * n_b / n_a
 *
 * Steps take two bits per cell. O(n_a * width) time, a quarter of it in bytes.
 *
 * Ids: pairs of operators with equal record-function ids, reduced to the longest chain that ascends on both sides.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/hash_tables.h"
#include "legacy/align.h"
#include "match/key_index.h"

/* A gap without matches on both sides: n_a (n_b) positions, starting at a (b). */
struct align_gap {
    row_t a, n_a, b, n_b;
};

/* Longest side of a gap that is aligned optimally. */
#define SPAN 256

/* The score of a pair, and the additional scores of equal parents, equal subtrees and consecutive pairs. */
#define SCORE_PAIR    16
#define SCORE_PARENT  3
#define SCORE_SUBTREE 3
#define SCORE_RUN     2

/* Maximum number of cells of one gap. */
#define CELLS_MAX ((uint64_t)1 << 28)

enum step { STEP_NONE, STEP_A, STEP_B, STEP_PAIR };

struct gap_table {
    const struct call_tree *a, *b;
    struct align_gap gap;
    uint64_t half, width;     /* columns per row */
    int32_t *row, *above;     /* scores by column, relative to the first column of the row */
    uint8_t *run, *run_above; /* whether the best path to a cell ends with a pair */
    uint8_t *steps;
};

static uint64_t first_column(const struct gap_table *table, uint64_t i) {
    uint64_t centre = i * table->gap.n_b / table->gap.n_a;
    return centre > table->half ? centre - table->half : 0;
}

static uint64_t last_column(const struct gap_table *table, uint64_t i) {
    uint64_t last = i * table->gap.n_b / table->gap.n_a + table->half;
    return MIN(last, table->gap.n_b);
}

static uint32_t parent_token(const struct call_tree *tree, row_t position) {
    row_t above = tree->parent[position];
    return above == ROW_NONE ? UINT32_MAX : tree->token[above];
}

/* Fills row i from the previous row. */
static void fill_row(struct gap_table *table, uint64_t i) {
    const struct call_tree *tree_a = table->a, *tree_b = table->b;
    uint64_t first = first_column(table, i), last = last_column(table, i);
    uint64_t first_above = first_column(table, i - 1), last_above = last_column(table, i - 1);
    row_t a = table->gap.a + (row_t)i - 1;
    uint32_t token = tree_a->token[a], above_token = parent_token(tree_a, a);
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
        if (j > first_above && j - 1 <= last_above && token == tree_b->token[b]) {
            uint64_t diagonal = j - 1 - first_above;
            int32_t score = table->above[diagonal] + SCORE_PAIR + table->run_above[diagonal] * SCORE_RUN +
                            (above_token == parent_token(tree_b, b) ? SCORE_PARENT : 0) +
                            (tree_a->hash[a] == tree_b->hash[b] ? SCORE_SUBTREE : 0);
            if (score >= best) {
                best = score;
                step = STEP_PAIR;
            }
        }
        table->row[j - first] = best;
        table->run[j - first] = step == STEP_PAIR;
        uint64_t cell = i * table->width + (j - first);
        table->steps[cell / 4] |= (uint8_t)((unsigned)step << cell % 4 * 2);
    }
}

/* Matches inside one gap; without memory the arena fails. */
static void fill_gap(const struct call_tree *a, const struct call_tree *b, struct align_gap gap, struct arena *arena,
                     row_t *match) {
    bool is_long = gap.n_a > SPAN || gap.n_b > SPAN;

    /* Match equal ends of a long gap directly. */
    while (is_long && gap.n_a && gap.n_b && a->token[gap.a] == b->token[gap.b]) {
        match[gap.a++] = gap.b++;
        gap.n_a--;
        gap.n_b--;
    }
    while (is_long && gap.n_a && gap.n_b && a->token[gap.a + gap.n_a - 1] == b->token[gap.b + gap.n_b - 1]) {
        gap.n_a--;
        gap.n_b--;
        match[gap.a + gap.n_a] = gap.b + gap.n_b;
    }
    if (!gap.n_a || !gap.n_b)
        return;

    struct arena_mark mark = arena_mark(arena);
    struct gap_table table = {.a = a, .b = b, .gap = gap, .half = gap.n_b};
    uint64_t max_half = CELLS_MAX / 2 / ((uint64_t)gap.n_a + 1), slope = gap.n_b / gap.n_a + 1;
    if (is_long)
        table.half = max_half < SPAN + slope ? max_half + slope : SPAN + slope;
    table.width = MIN(2 * table.half + 1, (uint64_t)gap.n_b + 1);
    table.row = arena_zeros(arena, table.width, sizeof *table.row);
    table.above = arena_zeros(arena, table.width, sizeof *table.above);
    table.run = arena_zeros(arena, table.width, 1);
    table.run_above = arena_zeros(arena, table.width, 1);
    table.steps = arena_zeros(arena, ((uint64_t)gap.n_a + 1) * table.width / 4 + 1, 1);
    if (arena->failed) {
        arena_release(arena, mark);
        return;
    }

    /* Fill the table, then match the pairs of the best path, from its end to its start. */
    for (uint64_t j = 0; j <= last_column(&table, 0); j++) {
        table.row[j] = 0;
        table.run[j] = 0;
    }
    for (uint64_t row = 1; row <= gap.n_a; row++) {
        int32_t *scores = table.row;
        uint8_t *run = table.run;
        table.row = table.above;
        table.above = scores;
        table.run = table.run_above;
        table.run_above = run;
        fill_row(&table, row);
    }
    uint64_t i = gap.n_a, j = gap.n_b;
    while (i > 0 && j > 0 && j >= first_column(&table, i) && j <= last_column(&table, i)) {
        uint64_t cell = i * table.width + (j - first_column(&table, i));
        enum step step = (enum step)(table.steps[cell / 4] >> cell % 4 * 2 & 3);
        if (step == STEP_PAIR)
            match[gap.a + i - 1] = gap.b + (row_t)j - 1;
        i -= step != STEP_B;
        j -= step == STEP_PAIR || step == STEP_B;
    }
    arena_release(arena, mark);
}

/* Lists the gaps of a match in order, in the arena. */
static struct align_gap *list_gaps(const row_t *match, row_t n_a, row_t n_b, struct arena *arena, row_t *n) {
    row_t n_max = 1; /* one before each pair, one after all */
    for (row_t i = 0; i < n_a; i++)
        n_max += match[i] != ROW_NONE;
    struct align_gap *gaps = arena_alloc(arena, n_max, sizeof *gaps);
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

/* ---- Anchors ---- */

/* Smallest subtree that counts as an anchor. */
#define SUBTREE_MIN 4

/* Maximum distance between consecutive runs of a chain, in runs. */
#define LOOK_BACK 64

/* The positions of a key on both sides. */
struct tree_anchor {
    row_t a, b;
    uint8_t n_a, n_b; /* 2: more than once */
};

/* Consecutive pairs: n of them, starting at a and b. */
struct pair_run {
    row_t a, b, n;
    row_t previous; /* the previous run in its best chain, or ROW_NONE */
    int64_t score;  /* of the chain */
};

struct anchors {
    const struct call_tree *a, *b;
    row_t *match;
    row_t run;                 /* tokens per key; 0: subtrees */
    struct pair_table numbers; /* key of side a -> its anchor */
    struct tree_anchor *list;
    uint64_t *key_a, *key_b; /* 0: none */
    struct pair_run *runs;   /* of one gap */
};

/* The anchor of a key, or NULL. */
static struct tree_anchor *find_anchor(const struct anchors *anchors, uint64_t key) {
    uint32_t number = key ? pair_table_find(&anchors->numbers, key, 0) : PAIR_NONE;
    return number == PAIR_NONE ? NULL : &anchors->list[number];
}

/* Number of positions that the key at a position covers. */
static row_t covered(const struct anchors *anchors, const struct call_tree *tree, row_t position) {
    return anchors->run ? anchors->run : tree->last[position] - position + 1;
}

/* Computes the keys of one side of a gap. */
static void make_keys(const struct anchors *anchors, const struct call_tree *tree, uint64_t *keys, row_t from, row_t n,
                      uint64_t gap) {
    for (row_t i = from; i < from + n; i++) {
        row_t length = covered(anchors, tree, i);
        keys[i] = 0;
        if (length > from + n - i || (!anchors->run && length < SUBTREE_MIN))
            continue;
        uint64_t hash = anchors->run ? length : tree->hash[i];
        for (row_t k = 0; k < anchors->run; k++)
            hash = hash_fold(hash ^ tree->token[i + k], 0xa0761d6478bd642fu) + k;
        keys[i] = hash_fold(hash ^ 0x8ebc6af09c88c6e3u, gap + 0x9e3779b97f4a7c15u) | 1;
    }
}

/* False: out of memory. */
static bool count_keys(struct anchors *anchors, const struct align_gap *gap) {
    for (row_t i = gap->a; i < gap->a + gap->n_a; i++) {
        if (!anchors->key_a[i])
            continue;
        struct pair_entry *entry = pair_table_insert(&anchors->numbers, anchors->key_a[i], 0);
        if (!entry)
            return false;
        if (entry->number == PAIR_NONE) {
            entry->number = anchors->numbers.n - 1;
            anchors->list[entry->number] = (struct tree_anchor){.a = i, .n_a = 1};
        } else {
            anchors->list[entry->number].n_a = 2;
        }
    }
    for (row_t i = gap->b; i < gap->b + gap->n_b; i++) {
        struct tree_anchor *anchor = find_anchor(anchors, anchors->key_b[i]);
        if (!anchor)
            continue;
        anchor->b = i;
        anchor->n_b = anchor->n_b ? 2 : 1;
    }
    return true;
}

/* The cost of a chain in which the positions of the two sides drift apart by `drift` between two runs. */
static int64_t drift_cost(int64_t drift) {
    uint64_t size = (uint64_t)(drift < 0 ? -drift : drift);
    return size == 0 ? 0 : 2 + 4 * (63 - __builtin_clzll(size));
}

static int64_t diagonal(const struct pair_run *run) {
    return (int64_t)run->a - run->b;
}

/* Joins pairs of a gap that are consecutive on both sides; returns the number of runs. */
static row_t list_runs(struct anchors *anchors, const struct align_gap *gap) {
    row_t n = 0;
    for (row_t a = gap->a; a < gap->a + gap->n_a; a++) {
        const struct tree_anchor *anchor = find_anchor(anchors, anchors->key_a[a]);
        if (!anchor || anchor->n_a != 1 || anchor->n_b != 1)
            continue;
        row_t length = covered(anchors, anchors->a, a);
        struct pair_run *last = &anchors->runs[n ? n - 1 : 0];
        if (covered(anchors, anchors->b, anchor->b) != length)
            continue; /* equal hashes by chance */
        if (n && diagonal(last) == (int64_t)a - anchor->b && a <= last->a + last->n) {
            last->n = a + length > last->a + last->n ? a + length - last->a : last->n;
            continue;
        }
        anchors->runs[n] = (struct pair_run){.a = a, .b = anchor->b, .n = length};
        n++;
    }
    return n;
}

/* The number of pairs of a run that follow another run on both sides. */
static int64_t count_new_pairs(const struct pair_run *previous, const struct pair_run *run) {
    int64_t over_a = (int64_t)previous->a + previous->n - run->a, over_b = (int64_t)previous->b + previous->n - run->b;
    int64_t over = MAX(over_a, over_b);
    return over > 0 ? (int64_t)run->n - over : run->n;
}

/* Finds the chain of ascending runs with the most pairs and the least drift, from the start of the gap to its end.
 * Returns its last run or ROW_NONE. Each run is compared with at most LOOK_BACK earlier runs. */
static row_t find_best_chain(struct anchors *anchors, const struct align_gap *gap, row_t n) {
    int64_t begin = (int64_t)gap->a - gap->b, end = begin + gap->n_a - gap->n_b, best_score = -drift_cost(end - begin);
    row_t best = ROW_NONE;
    for (row_t i = 0; i < n; i++) {
        struct pair_run *run = &anchors->runs[i];
        run->score = run->n - drift_cost(diagonal(run) - begin);
        run->previous = ROW_NONE;
        for (row_t back = 1; back <= LOOK_BACK && back <= i; back++) {
            const struct pair_run *other = &anchors->runs[i - back];
            int64_t gain = count_new_pairs(other, run);
            int64_t score = other->score + gain - drift_cost(diagonal(run) - diagonal(other));
            if (gain <= 0 || other->b >= run->b || score <= run->score)
                continue;
            run->score = score;
            run->previous = i - back;
        }
        if (run->score - drift_cost(end - diagonal(run)) > best_score) {
            best_score = run->score - drift_cost(end - diagonal(run));
            best = i;
        }
    }
    return best;
}

static bool is_large(const struct align_gap *gap) {
    return gap->n_a && gap->n_b && (gap->n_a > SPAN / 8 || gap->n_b > SPAN / 8);
}

/* Matches the anchors of all large gaps; *n is their number. False: out of memory. */
static bool anchor_round(struct anchors *anchors, const struct align_gap *gaps, row_t n_gaps, row_t *n) {
    bool ok = pair_table_init(&anchors->numbers);
    *n = 0;
    for (row_t g = 0; g < n_gaps && ok; g++) {
        const struct align_gap *gap = &gaps[g];
        if (!is_large(gap))
            continue;
        ++*n;
        make_keys(anchors, anchors->a, anchors->key_a, gap->a, gap->n_a, g);
        make_keys(anchors, anchors->b, anchors->key_b, gap->b, gap->n_b, g);
        ok = count_keys(anchors, gap);
    }
    for (row_t g = 0; g < n_gaps && ok; g++) {
        const struct align_gap *gap = &gaps[g];
        if (!is_large(gap))
            continue;

        /* Match the pairs of the best chain of the gap, from its end to its start. */
        row_t at = find_best_chain(anchors, gap, list_runs(anchors, gap));
        for (; at != ROW_NONE; at = anchors->runs[at].previous) {
            const struct pair_run *run = &anchors->runs[at];
            const struct pair_run *previous = run->previous == ROW_NONE ? NULL : &anchors->runs[run->previous];
            row_t skip = previous ? (row_t)(run->n - count_new_pairs(previous, run)) : 0;
            for (row_t i = skip; i < run->n; i++)
                if (anchors->a->token[run->a + i] == anchors->b->token[run->b + i])
                    anchors->match[run->a + i] = run->b + i;
        }
    }
    pair_table_free(&anchors->numbers);
    return ok;
}

/* Matches the anchors. False: out of memory. */
static bool align_anchors(const struct call_tree *a, const struct call_tree *b, struct arena *arena, row_t *match) {
    static const row_t runs[] = {0, 32, 16, 8};
    struct arena_mark mark = arena_mark(arena);
    struct anchors anchors = {.a = a,
                              .b = b,
                              .match = match,
                              .list = arena_alloc(arena, a->n, sizeof *anchors.list),
                              .key_a = arena_alloc(arena, a->n, sizeof *anchors.key_a),
                              .key_b = arena_alloc(arena, b->n, sizeof *anchors.key_b),
                              .runs = arena_alloc(arena, a->n, sizeof *anchors.runs)};
    row_t n_large = 1, n_gaps;
    bool ok = !arena->failed;
    for (size_t i = 0; i < sizeof runs / sizeof *runs && n_large && ok; i++) {
        struct arena_mark round = arena_mark(arena);
        const struct align_gap *gaps = list_gaps(match, a->n, b->n, arena, &n_gaps);
        anchors.run = runs[i];
        ok = gaps && anchor_round(&anchors, gaps, n_gaps, &n_large);
        arena_release(arena, round);
    }
    arena_release(arena, mark);
    return ok;
}

/* ---- All gaps, and the nesting of the pairs ---- */

struct gap_filling {
    const struct call_tree *a, *b;
    const struct align_gap *gaps;
    row_t n;
    row_t *match;
    atomic_bool failed;
};

/* Gaps per task. */
#define BLOCK 64

static void fill_block(void *arg, size_t block) {
    struct gap_filling *filling = arg;
    struct arena scratch = {0};
    size_t begin = block * BLOCK, end = MIN(begin + BLOCK, filling->n);
    for (size_t i = begin; i < end; i++)
        fill_gap(filling->a, filling->b, filling->gaps[i], &scratch, filling->match);
    if (scratch.failed)
        atomic_store(&filling->failed, true);
    arena_free(&scratch);
}

static row_t pairs_between(const row_t *counts, row_t from, row_t to) {
    return counts[to + 1] - counts[from + 1];
}

/* Drops pairs that contradict the nesting of other pairs; without memory the arena fails. */
static void drop_wrong_pairs(const struct call_tree *a, const struct call_tree *b, struct arena *arena, row_t *match) {
    row_t *pairs_a = arena_alloc(arena, (size_t)a->n + 1, sizeof *pairs_a);
    row_t *pairs_b = arena_alloc(arena, (size_t)b->n + 1, sizeof *pairs_b);
    row_t *open = arena_alloc(arena, a->n, sizeof *open), n = 0;
    if (arena->failed)
        return;

    /* Drop pairs below which more pairs contradict than agree. Pairs have one order on both sides, so the pairs below
     * either operator are runs with the same start; the rest of the longer run contradicts. Count the pairs before each
     * position first. */
    memset(pairs_b, 0, ((size_t)b->n + 1) * sizeof *pairs_b);
    pairs_a[0] = 0;
    for (row_t i = 0; i < a->n; i++) {
        pairs_a[i + 1] = pairs_a[i] + (match[i] != ROW_NONE);
        if (match[i] != ROW_NONE)
            pairs_b[match[i] + 1] = 1;
    }
    for (row_t i = 0; i < b->n; i++)
        pairs_b[i + 1] += pairs_b[i];

    for (row_t i = 0; i < a->n; i++) {
        row_t k = match[i];
        if (k == ROW_NONE)
            continue;
        row_t below = pairs_between(pairs_a, i, a->last[i]);
        row_t min_below = pairs_between(pairs_b, k, b->last[k]), max_below = pairs_between(pairs_b, k, b->reach[k]);
        row_t differ = below > max_below ? below - max_below : min_below > below ? min_below - below : 0;
        row_t agree = MIN(below, max_below);
        if (differ > agree)
            match[i] = ROW_NONE;
    }

    /* Drop pairs that leave the subtree of an enclosing pair on one side only. */
    for (row_t i = 0; i < a->n; i++) {
        row_t k = match[i];
        if (k == ROW_NONE)
            continue;
        while (n && i > a->last[open[n - 1]] && k > b->last[match[open[n - 1]]])
            n--;
        if (n && (i > a->last[open[n - 1]] || k > b->reach[match[open[n - 1]]]))
            match[i] = ROW_NONE;
        else
            open[n++] = i;
    }
}

enum sutra_status tree_align(const struct call_tree *a, const struct call_tree *b, struct pool *pool, row_t *match,
                             struct sutra_error *error) {
    struct arena scratch = {0};
    if (!align_anchors(a, b, &scratch, match)) {
        arena_free(&scratch);
        return error_memory(error);
    }

    /* Fill the gaps in parallel. */
    struct gap_filling filling = {.a = a, .b = b, .match = match};
    struct arena_mark mark = arena_mark(&scratch);
    filling.gaps = list_gaps(match, a->n, b->n, &scratch, &filling.n);
    pool_run(pool, ((size_t)filling.n + BLOCK - 1) / BLOCK, fill_block, &filling);
    arena_release(&scratch, mark);
    bool filled = !scratch.failed && !atomic_load(&filling.failed);
    if (filled)
        drop_wrong_pairs(a, b, &scratch, match);
    bool ok = filled && !scratch.failed;
    arena_free(&scratch);
    return ok ? SUTRA_OK : error_memory(error);
}

/* ---- Ids ---- */

enum sutra_status id_anchors(struct sutra_context *context, const struct call_tree *a, const value_key *id_a,
                             const struct call_tree *b, const value_key *id_b, row_t *match,
                             struct sutra_error *error) {
    struct arena scratch = {0};
    struct key_index index = {0};
    row_t n = 0, n_unequal = 0, length = 0;
    row_t *pair_a = arena_alloc(&scratch, a->n, sizeof *pair_a), *pair_b = arena_alloc(&scratch, a->n, sizeof *pair_b);
    row_t *tops = arena_alloc(&scratch, a->n, sizeof *tops), *previous = arena_alloc(&scratch, a->n, sizeof *previous);
    enum sutra_status status = arena_status(&scratch, error);

    /* Pairs by id, ascending in a. Of several positions of b with one id, the last one counts. */
    if (!status)
        status = key_index_build(&index, &context->engine, id_b, b->n, KEY_LAST, NULL, error);
    for (row_t i = 0; i < a->n && !status; i++) {
        row_t k = key_is_value(id_a[i]) && id_a[i] != 0 ? key_index_find(&index, id_a[i]) : ROW_NONE;
        if (k == ROW_NONE)
            continue;
        if (a->token[i] != b->token[k]) {
            n_unequal++;
            continue;
        }
        pair_a[n] = i;
        pair_b[n++] = k;
    }
    key_index_free(&index);

    /* The longest chain of pairs that ascends on both sides; tops[k]: the last pair of the best chain of k + 1 pairs */
    bool trusted = !status && n > n_unequal;
    for (row_t i = 0; i < n && trusted; i++) {
        struct bisection at = {0, length};
        while (at.low < at.high)
            bisect(&at, pair_b[tops[bisect_middle(at)]] < pair_b[i]);
        previous[i] = at.low ? tops[at.low - 1] : ROW_NONE;
        tops[at.low] = i;
        length += at.low == length;
    }
    for (row_t i = length ? tops[length - 1] : ROW_NONE; i != ROW_NONE; i = previous[i])
        match[pair_a[i]] = pair_b[i];
    arena_free(&scratch);
    return status;
}
