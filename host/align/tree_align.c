/*
 * tree_align.c - implements tree_align.h.
 *
 * Number anchors: the longest chain of pairs that ascends on both sides. O(n log n).
 *
 * Edits: the fewest insertions and deletions by the greedy algorithm of Myers. For each number d of edits, it keeps
 * the furthest position of side a on each diagonal, and then follows the path back. Expected O(n + d^2) time, O(d^2)
 * memory. Repeated blocks cannot drift apart by a period, since that costs edits.
 *
 * Run anchors: keys that occur once on both sides of a large gap. A round gives each position a key, computed from a
 * whole subtree or the next k tokens, and from the number of the gap. Keys that occur once on each side are pairs;
 * consecutive pairs are runs. Some pairs are wrong by chance, and far from the others. So of each gap the chain of runs
 * with the most pairs and the least drift is matched. Later rounds use shorter runs in smaller gaps. O(n) per round.
 *
 * Scores: dynamic programming. Cell (i, j) has the best score of the first i operators of one side and the first j of
 * the other. Rows of a long gap keep only the cells near the diagonal:
 *
 *     row i     columns from centre(i) - half to centre(i) + half, centre(i) = i * n_b / n_a
 *
 * Steps take two bits per cell. O(n_a * width) time, a quarter of it in bytes.
 */
#include "align/tree_align.h"

#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/hash_tables.h"

/* ---- Call trees ---- */

struct call_tree call_tree_take(struct arena *arena, row_t n) {
    return (struct call_tree){.n = n,
                              .token = arena_alloc(arena, n, sizeof(uint32_t)),
                              .parent = arena_alloc(arena, n, sizeof(row_t)),
                              .last = arena_alloc(arena, n, sizeof(row_t)),
                              .hash = arena_alloc(arena, n, sizeof(uint64_t))};
}

/* From the last position to the first, so that all children of an operator precede it. */
void call_tree_finish(struct call_tree *tree) {
    for (row_t i = 0; i < tree->n; i++) {
        tree->last[i] = i;
        tree->hash[i] = 0x9e3779b97f4a7c15u;
    }
    for (row_t i = tree->n; i-- > 0;) {
        tree->hash[i] =
            hash_fold(tree->hash[i] ^ 0xa0761d6478bd642fu, ((uint64_t)tree->token[i] << 1) ^ 0x8ebc6af09c88c6e3u);
        row_t above = tree->parent[i];
        if (above == ROW_NONE)
            continue;
        if (tree->last[above] < tree->last[i])
            tree->last[above] = tree->last[i];
        tree->hash[above] = hash_fold(tree->hash[above] ^ tree->hash[i], 0xe7037ed1a0b428dbu);
    }
}

struct call_tree sibling_lists_flatten(const struct sibling_lists *lists, row_t root, const uint32_t *token,
                                       uint32_t max_depth, struct arena *arena, row_t *row) {
    struct call_tree tree = call_tree_take(arena, lists->n);
    struct arena_mark mark = arena_mark(arena);
    row_t *position = arena_alloc(arena, lists->n, sizeof *position);
    if (arena->failed)
        return tree;
    uint32_t depth = 1;
    tree.n = 0;
    for (row_t at = root; at != ROW_NONE;) {
        row[tree.n] = at;
        position[at] = tree.n;
        tree.token[tree.n] = token[at];
        tree.parent[tree.n++] = at == root ? ROW_NONE : position[lists->parent[at]];
        if (lists->first[at] != ROW_NONE && depth != max_depth) {
            at = lists->first[at];
            depth++;
            continue;
        }
        for (; at != root && lists->next[at] == ROW_NONE; depth--)
            at = lists->parent[at];
        at = at == root ? ROW_NONE : lists->next[at];
    }
    arena_release(arena, mark);
    call_tree_finish(&tree);
    return tree;
}

/* ---- Gaps ---- */

/* Whether two positions may be the same operator. */
static inline bool may_match(const struct call_tree *a, row_t i, const struct call_tree *b, row_t k) {
    if (a->token[i] != b->token[k])
        return false;
    if (!a->number || !b->number)
        return true;
    return a->number[i] == b->number[k] || a->number[i] == KEY_ABSENT || b->number[k] == KEY_ABSENT;
}

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
    uint32_t above_token = parent_token(tree_a, a);
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
        if (j > first_above && j - 1 <= last_above && may_match(tree_a, a, tree_b, b)) {
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

/* Matches the operators of a gap with the best score; without memory the arena fails. */
static void match_by_score(const struct call_tree *a, const struct call_tree *b, struct align_gap gap,
                           struct arena *arena, row_t *match) {
    const bool is_long = gap.n_a > SPAN || gap.n_b > SPAN;
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

/* ---- The fewest insertions and deletions ---- */

/* Most insertions and deletions of a gap. */
#define EDITS_MAX 2000

/* The furthest position of side a, before equal operators follow, with d edits on diagonal 2 * i - d, from the row with
 * one edit less; -1: no path. *inserts: the last edit skips an operator of side b, which diagonal i of the row
 * precedes; else diagonal i - 1 does. */
static int32_t edit_position(const int32_t *row, int32_t d, int32_t i, const struct align_gap *gap, bool *inserts) {
    *inserts = false;
    if (d == 0)
        return 0;
    int32_t down = i < d ? row[i] : -1, right = i > 0 ? row[i - 1] : -1;
    if (down >= 0 && down - (2 * i - d) > (int32_t)gap->n_b)
        down = -1;
    right = right >= 0 && right < (int32_t)gap->n_a ? right + 1 : -1;
    *inserts = down >= right;
    return *inserts ? down : right;
}

/* Matches a gap with the fewest insertions and deletions. False: these exceed EDITS_MAX, and nothing is matched.
 * Without memory the arena fails. */
static bool match_by_edits(const struct call_tree *a, const struct call_tree *b, const struct align_gap *gap,
                           struct arena *arena, row_t *match) {
    const int32_t n_a = (int32_t)gap->n_a, n_b = (int32_t)gap->n_b;
    const int32_t most = (int64_t)n_a + n_b < EDITS_MAX ? n_a + n_b : EDITS_MAX;
    struct arena_mark mark = arena_mark(arena);
    int32_t **rows = arena_alloc(arena, (size_t)most + 1, sizeof *rows);
    int32_t d = 0, x = 0, last = -1;
    bool inserts;
    for (; d <= most && last < 0 && rows; d++) {
        rows[d] = arena_alloc(arena, (size_t)d + 1, sizeof *rows[d]);
        if (!rows[d])
            break;
        for (int32_t i = 0; i <= d; i++) {
            x = edit_position(d ? rows[d - 1] : NULL, d, i, gap, &inserts);
            int32_t y = x - (2 * i - d);
            while (x >= 0 && x < n_a && y < n_b && may_match(a, gap->a + (row_t)x, b, gap->b + (row_t)y)) {
                x++;
                y++;
            }
            rows[d][i] = x;
            if (x == n_a && y == n_b) {
                last = i;
                break;
            }
        }
    }

    /* Follow the path back. */
    for (int32_t i = last; last >= 0 && --d >= 0;) {
        int32_t start = edit_position(d ? rows[d - 1] : NULL, d, i, gap, &inserts);
        for (x = rows[d][i]; x > start;) {
            x--;
            match[gap->a + (row_t)x] = gap->b + (row_t)(x - (2 * i - d));
        }
        i -= !inserts;
    }
    arena_release(arena, mark);
    return last >= 0;
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

/* ---- Anchors: numbers ---- */

/* The positions of a key on both sides. */
struct tree_anchor {
    row_t a, b;
    uint8_t n_a, n_b; /* 2: more than once */
};

/* Matches operators whose token and number occur once on both sides. False: out of memory. */
static bool match_by_numbers(const struct call_tree *a, const struct call_tree *b, struct arena *arena, row_t *match) {
    if (!a->number || !b->number)
        return true;
    struct arena_mark mark = arena_mark(arena);
    struct pair_table keys;
    struct tree_anchor *list = arena_alloc(arena, a->n, sizeof *list);
    row_t *tops = arena_alloc(arena, a->n, sizeof *tops), *previous = arena_alloc(arena, a->n, sizeof *previous);
    row_t n = 0, length = 0;
    bool ok = !arena->failed && pair_table_init(&keys);
    for (row_t i = 0; i < a->n && ok; i++) {
        struct pair_entry *entry;
        if (a->number[i] == KEY_ABSENT)
            continue;
        entry = pair_table_insert(&keys, (uint64_t)a->number[i], a->token[i]);
        ok = entry != NULL;
        if (!ok)
            break;
        if (entry->number != PAIR_NONE) {
            list[entry->number].n_a = 2;
            continue;
        }
        entry->number = n;
        list[n++] = (struct tree_anchor){.a = i, .n_a = 1};
    }
    for (row_t k = 0; k < b->n && ok; k++) {
        uint32_t number =
            b->number[k] == KEY_ABSENT ? PAIR_NONE : pair_table_find(&keys, (uint64_t)b->number[k], b->token[k]);
        if (number == PAIR_NONE)
            continue;
        list[number].b = k;
        list[number].n_b = list[number].n_b ? 2 : 1;
    }

    /* The longest chain that ascends on both sides; tops[k]: the last anchor of the best chain of k + 1 anchors. */
    for (row_t i = 0; i < n && ok; i++) {
        struct bisection at = {0, length};
        if (list[i].n_a != 1 || list[i].n_b != 1)
            continue;
        while (at.low < at.high)
            bisect(&at, list[tops[bisect_middle(at)]].b < list[i].b);
        previous[i] = at.low ? tops[at.low - 1] : ROW_NONE;
        tops[at.low] = i;
        length += at.low == length;
    }
    for (row_t i = length ? tops[length - 1] : ROW_NONE; i != ROW_NONE; i = previous[i])
        match[list[i].a] = list[i].b;
    if (!arena->failed)
        pair_table_free(&keys);
    arena_release(arena, mark);
    return ok;
}

/* ---- Anchors: runs ---- */

/* Smallest subtree that counts as an anchor. */
#define SUBTREE_MIN 4

/* Maximum distance between consecutive runs of a chain, in runs. */
#define LOOK_BACK 64

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
                if (may_match(anchors->a, run->a + i, anchors->b, run->b + i))
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

/* ---- All gaps ---- */

/* How a list of gaps is matched. */
enum gap_method { GAP_BY_EDITS, GAP_BY_EDITS_OR_SCORE, GAP_BY_SCORE };

struct gap_filling {
    const struct call_tree *a, *b;
    const struct align_gap *gaps;
    row_t n;
    enum gap_method method;
    row_t *match;
    atomic_bool failed, has_left; /* out of memory; a gap with too many edits */
};

/* Gaps per task. */
#define BLOCK 64

static void fill_block(void *arg, size_t block) {
    struct gap_filling *filling = arg;
    struct arena scratch = {0};
    size_t begin = block * BLOCK, end = MIN(begin + BLOCK, filling->n);
    for (size_t i = begin; i < end; i++) {
        const struct align_gap *gap = &filling->gaps[i];
        if (filling->method != GAP_BY_SCORE && match_by_edits(filling->a, filling->b, gap, &scratch, filling->match))
            continue;
        if (filling->method == GAP_BY_EDITS)
            atomic_store(&filling->has_left, true);
        else
            match_by_score(filling->a, filling->b, *gap, &scratch, filling->match);
    }
    if (scratch.failed)
        atomic_store(&filling->failed, true);
    arena_free(&scratch);
}

/* Fills the gaps in parallel. False: out of memory. */
static bool fill_gaps(struct gap_filling *filling, struct pool *pool) {
    if (filling->gaps)
        pool_run(pool, ((size_t)filling->n + BLOCK - 1) / BLOCK, fill_block, filling);
    return filling->gaps && !atomic_load(&filling->failed);
}

/* Pairs on both sides of an unmatched operator that are matched again, and the longest side of such a region. */
#define MARGIN     8
#define REGION_MAX 160

/* Lists the regions around unmatched operators, in the arena, and unmatches their operators. */
static struct align_gap *list_regions(const struct call_tree *a, const struct call_tree *b, struct arena *arena,
                                      row_t *match, row_t *n) {
    row_t n_pairs = 0, n_regions = 0;
    row_t *pair = arena_alloc(arena, (size_t)a->n + 1, sizeof *pair); /* positions of a */
    *n = 0;
    for (row_t i = 0; i < a->n && pair; i++)
        if (match[i] != ROW_NONE)
            pair[n_pairs++] = i;
    /* Region r is between the pairs first[r] - 1 and end[r]. */
    row_t *first = arena_alloc(arena, (size_t)n_pairs + 1, sizeof *first);
    row_t *end = arena_alloc(arena, (size_t)n_pairs + 1, sizeof *end);
    struct align_gap *regions = arena_alloc(arena, (size_t)n_pairs + 1, sizeof *regions);
    for (row_t t = 0; t <= n_pairs && regions; t++) {
        row_t before_a = t ? pair[t - 1] + 1 : 0, before_b = t ? match[pair[t - 1]] + 1 : 0;
        row_t next_a = t < n_pairs ? pair[t] : a->n, next_b = t < n_pairs ? match[pair[t]] : b->n;
        if (before_a == next_a && before_b == next_b)
            continue;
        row_t low = t > MARGIN ? t - MARGIN : 0, high = MIN(t + MARGIN, n_pairs);
        if (n_regions && low <= end[n_regions - 1]) {
            end[n_regions - 1] = high;
        } else {
            first[n_regions] = low;
            end[n_regions++] = high;
        }
    }
    for (row_t r = 0; r < n_regions; r++) {
        struct align_gap region = {.a = first[r] ? pair[first[r] - 1] + 1 : 0,
                                   .b = first[r] ? match[pair[first[r] - 1]] + 1 : 0};
        region.n_a = (end[r] < n_pairs ? pair[end[r]] : a->n) - region.a;
        region.n_b = (end[r] < n_pairs ? match[pair[end[r]]] : b->n) - region.b;
        if (region.n_a <= REGION_MAX && region.n_b <= REGION_MAX)
            regions[(*n)++] = region;
    }
    for (row_t r = 0; r < *n; r++)
        memset(match + regions[r].a, 0xff, regions[r].n_a * sizeof *match);
    return regions;
}

enum sutra_status tree_align(const struct call_tree *a, const struct call_tree *b, struct pool *pool, row_t *match,
                             struct sutra_error *error) {
    row_t n_equal = 0;
    while (n_equal < MIN(a->n, b->n) && may_match(a, n_equal, b, n_equal)) {
        match[n_equal] = n_equal;
        n_equal++;
    }
    if (n_equal == a->n && n_equal == b->n)
        return SUTRA_OK;

    struct arena scratch = {0};
    struct gap_filling filling = {.a = a, .b = b, .method = GAP_BY_EDITS, .match = match};
    memset(match, 0xff, a->n * sizeof *match);
    bool ok = match_by_numbers(a, b, &scratch, match);
    struct arena_mark mark = arena_mark(&scratch);
    if (ok) {
        filling.gaps = list_gaps(match, a->n, b->n, &scratch, &filling.n);
        ok = fill_gaps(&filling, pool);
    }
    arena_release(&scratch, mark);
    if (ok && atomic_load(&filling.has_left)) {
        ok = align_anchors(a, b, &scratch, match);
        filling.method = GAP_BY_EDITS_OR_SCORE;
        if (ok) {
            filling.gaps = list_gaps(match, a->n, b->n, &scratch, &filling.n);
            ok = fill_gaps(&filling, pool);
        }
        arena_release(&scratch, mark);
    }
    if (ok) {
        filling.method = GAP_BY_SCORE;
        filling.gaps = list_regions(a, b, &scratch, match, &filling.n);
        ok = fill_gaps(&filling, pool);
        arena_release(&scratch, mark);
    }
    ok = ok && !scratch.failed;
    arena_free(&scratch);
    return ok ? SUTRA_OK : error_memory(error);
}
