/*
 * test_ordered_sums.c - tests sums in tree order against a recursive implementation, bit by bit.
 */
#include <time.h>

#include "analyze/statistics.h"
#include "unit.h"

#define N_MAX 200

/* A tree in pre-order; leaves have values. */
struct tree {
    int n, parent[N_MAX], depth[N_MAX], end[N_MAX];
    double us[N_MAX];
};

static void grow_tree(struct tree *tree, unsigned *seed) {
    tree->n = 2 + (int)((unsigned)rand_r(seed) % (N_MAX - 2));
    int wide = 1 + (int)((unsigned)rand_r(seed) % 5);
    for (int i = 0; i < tree->n; i++) {
        int parent = i - 1;
        for (int up = (int)((unsigned)rand_r(seed) % (unsigned)wide); up > 0 && parent > 0; up--)
            parent = tree->parent[parent];
        tree->parent[i] = i ? parent : -1;
        tree->depth[i] = i ? tree->depth[parent] + 1 : 0;
        tree->us[i] = (double)((unsigned)rand_r(seed) % 1000) / 10;
        tree->end[i] = i + 1;
        for (int above = tree->parent[i]; above >= 0; above = tree->parent[above])
            tree->end[above] = i + 1;
    }
}

static double sum_of(const struct tree *tree, int node) {
    double sum = 0;
    if (tree->end[node] == node + 1)
        return tree->us[node];
    for (int child = node + 1; child < tree->end[node]; child = tree->end[child])
        sum += sum_of(tree, child);
    return sum;
}

static double sum_leaves(const struct tree *tree) {
    struct ordered_sums sums = {0};
    struct ordered_sum sum = {0};
    int last = -1;
    for (int node = 0; node < tree->n; node++) {
        if (tree->end[node] != node + 1)
            continue;
        int meet = node;
        for (meet = node; last >= 0 && !(meet <= last && tree->end[meet] > last);)
            meet = tree->parent[meet];
        assert_true(ordered_sum_add(&sums, &sum, (uint32_t)tree->depth[meet], tree->us[node]));
        last = node;
    }
    double total = ordered_sum_total(&sums, &sum);
    free(sums.list);
    return total;
}

static void sums_are_rounded_in_the_order_of_the_tree(void **state) {
    unsigned seed = (unsigned)time(NULL), n_unequal = 0;
    print_message("seed %u\n", seed);
    for (int run = 0; run < 500; run++) {
        static struct tree tree;
        double flat = 0;
        grow_tree(&tree, &seed);
        for (int node = 0; node < tree.n; node++)
            flat += tree.end[node] == node + 1 ? tree.us[node] : 0;
        assert_true(sum_leaves(&tree) == sum_of(&tree, 0));
        n_unequal += flat != sum_of(&tree, 0);
    }
    assert_true(n_unequal > 0); /* the order does matter */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_are_rounded_in_the_order_of_the_tree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
