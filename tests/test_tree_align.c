/*
 * test_tree_align.c - tests the alignment of call trees: small trees with known results, and the order of random
 * trees.
 *
 * Trees are written as text: a letter is an operator, parentheses contain its children: "a(bc(d))".
 */
#include <inttypes.h>

#include "align/tree_align.h"
#include "generate/random.h"
#include "unit.h"

#define LARGE 3000

static struct call_tree tree_of(struct arena *arena, const char *text) {
    struct call_tree tree = call_tree_take(arena, (row_t)strlen(text));
    row_t open = ROW_NONE, n = 0;
    assert_false(arena->failed);
    for (; *text; text++) {
        if (*text == '(') {
            open = n - 1;
        } else if (*text == ')') {
            open = tree.parent[open];
        } else {
            tree.token[n] = (uint32_t)*text;
            tree.parent[n++] = open;
        }
    }
    tree.n = n;
    call_tree_finish(&tree);
    return tree;
}

static void align(const struct call_tree *a, const struct call_tree *b, row_t *match) {
    struct pool *pool = pool_create(2);
    struct sutra_error error;
    memset(match, 0xff, a->n * sizeof *match);
    assert_int_equal(tree_align(a, b, pool, match, &error), SUTRA_OK);
    pool_free(pool);
}

static void small_trees_are_matched_as_by_hand(void **state) {
    static const struct {
        const char *a, *b, *match; /* per operator of a: its place in b as a letter from A on, or - */
    } rows[] = {
        {"a(bcd)", "a(bcd)", "ABCD"},
        {"a(bcd)", "a(bd)", "AB-C"},             /* deleted */
        {"a(bd)", "a(bcd)", "ABD"},              /* inserted */
        {"a(b(x)c(y))", "a(b(x)z(y))", "ABC-E"}, /* renamed: children still match */
        {"a(b(xy)c)", "a(xyc)", "A-BCD"},        /* a level deleted */
        {"a(xyc)", "a(b(xy)c)", "ACDE"},         /* a level inserted */
        {"a(bc)", "a(cb)", NULL},                /* order is kept: one of the two */
        {"a(b(x)c(x))", "a(c(x))", "A--BC"},     /* the x below the c that is there */
        {"a(b(x)b(y)b(z))", "a(b(y)b(z))", "A--BCDE"},
        {"a", "b", "-"},
        {"a(b)", "a", "A-"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct call_tree a = tree_of(&arena, rows[i].a), b = tree_of(&arena, rows[i].b);
        row_t match[32];
        align(&a, &b, match);
        row_t n = 0;
        for (row_t k = 0; k < a.n; k++) {
            char place = match[k] == ROW_NONE ? '-' : (char)('A' + match[k]);
            n += match[k] != ROW_NONE;
            if (rows[i].match && place != rows[i].match[k])
                fail_msg("%s and %s: operator %u has %c, expected %c", rows[i].a, rows[i].b, k, place,
                         rows[i].match[k]);
        }
        if (!rows[i].match)
            assert_int_equal(n, a.n - 1);
        arena_free(&arena);
    }
}

static struct call_tree random_tree(struct arena *arena, struct random *random, row_t n, uint32_t names) {
    struct call_tree tree = call_tree_take(arena, n);
    assert_false(arena->failed);
    for (row_t i = 0; i < n; i++) {
        tree.token[i] = random_below(random, names);
        tree.parent[i] = i == 0 ? ROW_NONE : i - 1;
        for (row_t up = random_below(random, 4); i > 1 && up > 0 && tree.parent[i] != 0; up--)
            tree.parent[i] = tree.parent[tree.parent[i]];
    }
    call_tree_finish(&tree);
    return tree;
}

/* A copy without some operators, whose children move up; kept[] has the position of each that is left. */
static struct call_tree thin_out(struct arena *arena, const struct call_tree *tree, struct random *random,
                                 row_t *kept) {
    struct call_tree copy = call_tree_take(arena, tree->n);
    row_t n = 0;
    assert_false(arena->failed);
    for (row_t i = 0; i < tree->n; i++) {
        row_t above = tree->parent[i];
        while (above != ROW_NONE && kept[above] == ROW_NONE)
            above = tree->parent[above];
        kept[i] = i > 0 && random_below(random, 8) == 0 ? ROW_NONE : n;
        if (kept[i] == ROW_NONE)
            continue;
        copy.token[n] = random_below(random, 30) ? tree->token[i] : 99;
        copy.parent[n++] = above == ROW_NONE ? ROW_NONE : kept[above];
    }
    copy.n = n;
    call_tree_finish(&copy);
    return copy;
}

/* Equal names, ascending on both sides. */
static void check_alignment(const struct call_tree *a, const struct call_tree *b, const row_t *match, uint64_t seed) {
    row_t last = ROW_NONE;
    for (row_t i = 0; i < a->n; i++) {
        if (match[i] == ROW_NONE)
            continue;
        if (a->token[i] != b->token[match[i]] || (last != ROW_NONE && match[i] <= last))
            fail_msg("seed %" PRIu64 ": %u and %u", seed, i, match[i]);
        last = match[i];
    }
}

static void order_is_kept_and_nearly_all_is_found(void **state) {
    static row_t kept[LARGE], match[LARGE + 1];
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct random random = {seed};
        struct arena arena = {0};
        row_t n = 20 + random_below(&random, LARGE - 20), found = 0, left = 0;
        struct call_tree a = random_tree(&arena, &random, n, 40 + random_below(&random, 100));
        struct call_tree b = thin_out(&arena, &a, &random, kept);
        align(&a, &b, match);
        check_alignment(&a, &b, match, seed);
        for (row_t i = 0; i < n; i++) {
            bool is_left = kept[i] != ROW_NONE && a.token[i] == b.token[kept[i]];
            left += is_left;
            found += is_left && match[i] == kept[i];
        }
        if (found * 100 < left * 98)
            fail_msg("seed %" PRIu64 ": %u of %u were found", seed, found, left);
        arena_free(&arena);
    }
}

static void unrelated_trees_still_give_an_alignment(void **state) {
    static row_t match[LARGE + 1];
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct random random = {seed};
        struct arena arena = {0};
        struct call_tree a = random_tree(&arena, &random, LARGE, 2), b = random_tree(&arena, &random, LARGE / 2, 2);
        align(&a, &b, match);
        check_alignment(&a, &b, match, seed);
        arena_free(&arena);
    }
}

/* A list of operators without nesting. */
static struct call_tree random_list(struct arena *arena, struct random *random, row_t n, uint32_t names) {
    struct call_tree list = call_tree_take(arena, n);
    assert_false(arena->failed);
    for (row_t i = 0; i < n; i++) {
        list.token[i] = random_below(random, names);
        list.parent[i] = ROW_NONE;
    }
    call_tree_finish(&list);
    return list;
}

/* The length of the longest common subsequence, by the table of all prefixes. */
static row_t longest_common(const struct call_tree *a, const struct call_tree *b) {
    static row_t length[LARGE + 1];
    memset(length, 0, sizeof length);
    for (row_t i = 0; i < a->n; i++) {
        row_t diagonal = 0;
        for (row_t k = 0; k < b->n; k++) {
            row_t above = length[k + 1], best = above > length[k] ? above : length[k];
            length[k + 1] = a->token[i] == b->token[k] ? diagonal + 1 : best;
            diagonal = above;
        }
    }
    return length[b->n];
}

/* Lists of fewer than EDITS_MAX operators in total are matched with the fewest edits. The differences are too dense for
 * regions that are matched again. */
static void lists_are_matched_with_the_fewest_edits(void **state) {
    static row_t match[LARGE + 1];
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct random random = {seed};
        struct arena arena = {0};
        const uint32_t names = 2 + random_below(&random, 30);
        struct call_tree a = random_list(&arena, &random, 400 + random_below(&random, 600), names);
        struct call_tree b = random_list(&arena, &random, 400 + random_below(&random, 500), names);
        row_t n = 0, expected = longest_common(&a, &b);
        align(&a, &b, match);
        check_alignment(&a, &b, match, seed);
        for (row_t i = 0; i < a.n; i++)
            n += match[i] != ROW_NONE;
        if (n != expected)
            fail_msg("seed %" PRIu64 ": %u operators match, at most %u can", seed, n, expected);
        arena_free(&arena);
    }
}

/* Lists that differ in a few operators: matching the surroundings again prefers runs, which may cost a twelfth of the
 * pairs there, and never finds more than the longest common subsequence. */
static void similar_lists_lose_few_pairs_to_longer_runs(void **state) {
    static row_t match[LARGE + 1];
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct random random = {seed};
        struct arena arena = {0};
        struct call_tree a = random_list(&arena, &random, random_below(&random, 900), 2 + random_below(&random, 30));
        struct call_tree b = call_tree_take(&arena, a.n);
        row_t n = 0;
        assert_false(arena.failed);
        for (row_t i = 0; i < a.n; i++)
            if (random_below(&random, 30)) {
                b.token[n] = random_below(&random, 30) ? a.token[i] : 99;
                b.parent[n++] = ROW_NONE;
            }
        b.n = n;
        call_tree_finish(&b);
        const row_t expected = longest_common(&a, &b);
        align(&a, &b, match);
        check_alignment(&a, &b, match, seed);
        n = 0;
        for (row_t i = 0; i < a.n; i++)
            n += match[i] != ROW_NONE;
        if (n > expected || 12 * n < 11 * expected)
            fail_msg("seed %" PRIu64 ": %u operators match, at most %u can", seed, n, expected);
        arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_trees_are_matched_as_by_hand),
        cmocka_unit_test(order_is_kept_and_nearly_all_is_found),
        cmocka_unit_test(unrelated_trees_still_give_an_alignment),
        cmocka_unit_test(lists_are_matched_with_the_fewest_edits),
        cmocka_unit_test(similar_lists_lose_few_pairs_to_longer_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
