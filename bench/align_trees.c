/*
 * align_trees.c - measures quality and speed of the alignment of call trees: a synthetic tree, a copy with deleted,
 * inserted, renamed or moved operators, and the share of unchanged operators that are matched with themselves.
 *
 *     align_trees [OPERATORS [THREADS]]      a table on standard output; exit code 1 if a target is missed
 *
 * Two kinds of trees: model-like trees, where each operator always calls the same few others and subtrees repeat; and
 * random trees with random names. Edits: the children of a deleted operator move to its parent; an inserted operator is
 * a leaf or the new parent of a sibling; a moved operator moves with its subtree to a random position.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "align/tree_align.h"
#include "bench.h"
#include "generate/random.h"

#define KINDS  300
#define LEVELS 6
#define CALLS  6

/* A tree that can be edited. Row 0 is the root; rows at or beyond n_made were inserted. */
struct editable {
    row_t n, n_made;
    row_t *parent, *first, *next, *before, *last;
    uint32_t *token;
    uint8_t *touched; /* deleted, inserted, renamed or moved */
};

static void *rows_new(row_t n) {
    void *rows = malloc(((size_t)n + 1) * sizeof(row_t));
    if (!rows)
        fail("out of memory");
    memset(rows, 0xff, ((size_t)n + 1) * sizeof(row_t));
    return rows;
}

static struct editable tree_new(row_t capacity) {
    struct editable tree = {.n = 1,
                            .parent = rows_new(capacity),
                            .first = rows_new(capacity),
                            .next = rows_new(capacity),
                            .before = rows_new(capacity),
                            .last = rows_new(capacity),
                            .token = rows_new(capacity),
                            .touched = calloc((size_t)capacity + 1, 1)};
    if (!tree.touched)
        fail("out of memory");
    tree.token[0] = KINDS;
    return tree;
}

static void tree_free(struct editable *tree) {
    free(tree->parent);
    free(tree->first);
    free(tree->next);
    free(tree->before);
    free(tree->last);
    free(tree->token);
    free(tree->touched);
}

/* Inserts a row as a child of `parent` after `before` (ROW_NONE: as the first). */
static void link_row(struct editable *tree, row_t row, row_t parent, row_t before) {
    row_t next = before == ROW_NONE ? tree->first[parent] : tree->next[before];
    tree->parent[row] = parent;
    tree->before[row] = before;
    tree->next[row] = next;
    *(before == ROW_NONE ? &tree->first[parent] : &tree->next[before]) = row;
    *(next == ROW_NONE ? &tree->last[parent] : &tree->before[next]) = row;
}

static void unlink_row(struct editable *tree, row_t row) {
    row_t parent = tree->parent[row], before = tree->before[row], next = tree->next[row];
    *(before == ROW_NONE ? &tree->first[parent] : &tree->next[before]) = next;
    *(next == ROW_NONE ? &tree->last[parent] : &tree->before[next]) = before;
}

static row_t append(struct editable *tree, row_t parent, uint32_t token) {
    row_t row = tree->n++;
    tree->token[row] = token;
    link_row(tree, row, parent, tree->last[parent]);
    return row;
}

/* Each kind of a level calls the same kinds of the next. */
static struct editable make_model(row_t n, row_t capacity, struct random *random) {
    struct editable tree = tree_new(capacity);
    uint32_t calls[KINDS][CALLS], n_calls[KINDS], level = KINDS / LEVELS;
    for (uint32_t kind = 0; kind < KINDS; kind++) {
        n_calls[kind] = kind < KINDS - level ? random_below(random, CALLS) : 0;
        for (uint32_t i = 0; i < CALLS; i++)
            calls[kind][i] = (kind / level + 1) * level + random_below(random, level);
    }
    while (tree.n < n) {
        row_t open = append(&tree, 0, random_below(random, level));
        for (; open < tree.n && tree.n < n; open++) /* rows that are there already call theirs */
            for (uint32_t i = 0; i < n_calls[tree.token[open]] && tree.n < n; i++)
                append(&tree, open, calls[tree.token[open]][i]);
    }
    tree.n_made = tree.n;
    return tree;
}

static struct editable make_loose(row_t n, row_t capacity, struct random *random) {
    struct editable tree = tree_new(capacity);
    row_t at = 0;
    while (tree.n < n) {
        for (row_t up = random_below(random, 4); up > 0 && at != 0; up--)
            at = tree.parent[at];
        uint32_t low = random_below(random, KINDS); /* frequent and rare names */
        at = append(&tree, at, random_below(random, low + 1));
    }
    tree.n_made = tree.n;
    return tree;
}

static void delete_row(struct editable *tree, row_t row) {
    row_t before = tree->before[row], parent = tree->parent[row];
    unlink_row(tree, row);
    for (row_t child = tree->first[row], next; child != ROW_NONE; child = next) {
        next = tree->next[child];
        link_row(tree, child, parent, before);
        before = child;
    }
    tree->first[row] = tree->last[row] = ROW_NONE;
    tree->touched[row] = 1;
}

static void insert_at(struct editable *tree, row_t row, struct random *random) {
    row_t made = tree->n++, before = tree->before[row], parent = tree->parent[row];
    tree->token[made] = random_below(random, KINDS);
    tree->touched[made] = 1;
    link_row(tree, made, parent, before);
    if (random_below(random, 2)) {
        unlink_row(tree, row);
        link_row(tree, row, made, ROW_NONE);
    }
}

static bool is_below(const struct editable *tree, row_t row, row_t above) {
    while (row != ROW_NONE && row != above)
        row = tree->parent[row];
    return row != ROW_NONE;
}

/* Moves a row with all below it; returns how many operators that were. */
static row_t move_row(struct editable *tree, row_t row, struct random *random) {
    row_t to = 1 + random_below(random, tree->n - 1), moved = 0;
    if (tree->touched[row] || is_below(tree, to, row))
        return 0;
    unlink_row(tree, row);
    link_row(tree, row, tree->parent[to], tree->before[to]);
    for (row_t at = row; at != ROW_NONE;) {
        tree->touched[at] = 1;
        moved++;
        if (tree->first[at] != ROW_NONE) {
            at = tree->first[at];
            continue;
        }
        while (at != row && tree->next[at] == ROW_NONE)
            at = tree->parent[at];
        at = at == row ? ROW_NONE : tree->next[at];
    }
    return moved;
}

enum edit { EDIT_DELETE, EDIT_INSERT, EDIT_RENAME, EDIT_MOVE, N_EDITS };

static void edit_tree(struct editable *tree, enum edit edit, unsigned percent, struct random *random) {
    row_t n = (row_t)((uint64_t)tree->n_made * percent / 100), n_made = tree->n_made;
    for (row_t done = 0; done < n;) {
        row_t row = 1 + random_below(random, n_made - 1);
        if (tree->touched[row])
            continue;
        if (edit == EDIT_DELETE)
            delete_row(tree, row);
        else if (edit == EDIT_INSERT)
            insert_at(tree, row, random);
        else if (edit == EDIT_RENAME) {
            tree->token[row] = (tree->token[row] + 1 + random_below(random, KINDS - 1)) % KINDS;
            tree->touched[row] = 1;
        }
        done += edit == EDIT_MOVE ? move_row(tree, row, random) : 1;
    }
}

/* The tree as input of the alignment; sets row[] to the row of each position. */
static struct call_tree flatten(const struct editable *tree, struct arena *arena, row_t *row) {
    struct sibling_lists lists = {.n = tree->n, .parent = tree->parent, .first = tree->first, .next = tree->next};
    struct call_tree flat = sibling_lists_flatten(&lists, 0, tree->token, 0, arena, row);
    if (arena->failed)
        fail("out of memory");
    return flat;
}

struct outcome {
    double share, seconds;
    row_t n_untouched, n_found, n_wrong;
};

static struct outcome align(const struct editable *before, const struct editable *after, struct pool *pool) {
    row_t *row_a = rows_new(before->n), *row_b = rows_new(after->n), *match = rows_new(before->n);
    struct arena arena = {0};
    struct call_tree a = flatten(before, &arena, row_a), b = flatten(after, &arena, row_b);
    struct sutra_error error;
    struct outcome outcome = {0};
    double begin = seconds(CLOCK_MONOTONIC);
    if (tree_align(&a, &b, pool, match, &error))
        fail(error.message);
    outcome.seconds = seconds(CLOCK_MONOTONIC) - begin;
    for (row_t i = 0; i < a.n; i++) {
        bool untouched = !after->touched[row_a[i]], found = match[i] != ROW_NONE && row_b[match[i]] == row_a[i];
        outcome.n_untouched += untouched;
        outcome.n_found += untouched && found;
        outcome.n_wrong += match[i] != ROW_NONE && !found;
    }
    outcome.share = (double)outcome.n_found / outcome.n_untouched;
    arena_free(&arena);
    free(row_a);
    free(row_b);
    free(match);
    return outcome;
}

int main(int argc, char **argv) {
    static const char *const edits[N_EDITS] = {"delete", "insert", "rename", "move"};
    static const double targets[N_EDITS] = {0.99, 0.99, 0.95, 0.95};
    static const unsigned percents[] = {1, 5, 10, 20};
    row_t n = argc > 1 ? (row_t)strtoul(argv[1], NULL, 10) : 10000;
    struct pool *pool = pool_create(argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1);
    bool met = true;
    if (n < 100 || n > ROW_LIMIT / 4 || !pool)
        fail("at least 100 operators, and a thread or more");
    printf("| tree | edit | %% | untouched | found again | share | wrong | seconds | |\n"
           "|---|---|---|---|---|---|---|---|---|\n");
    for (int loose = 0; loose < 2; loose++)
        for (int edit = 0; edit < N_EDITS; edit++)
            for (size_t p = 0; p < sizeof percents / sizeof *percents; p++) {
                struct random first = {n + (unsigned)loose}, second = first,
                              edits_random = {percents[p] + (unsigned)edit};
                struct editable before = (loose ? make_loose : make_model)(n, n, &first);
                struct editable after = (loose ? make_loose : make_model)(n, n + n / 4, &second);
                edit_tree(&after, (enum edit)edit, percents[p], &edits_random);
                struct outcome outcome = align(&before, &after, pool);
                bool good = outcome.share >= targets[edit];
                met &= good;
                printf("| %s | %s | %u | %u | %u | %.4f | %u | %.4f | %s |\n", loose ? "loose" : "model", edits[edit],
                       percents[p], outcome.n_untouched, outcome.n_found, outcome.share, outcome.n_wrong,
                       outcome.seconds, good ? "" : "missed");
                tree_free(&before);
                tree_free(&after);
            }
    pool_free(pool);
    return !met;
}
