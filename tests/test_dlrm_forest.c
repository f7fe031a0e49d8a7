/*
 * test_dlrm_forest.c - tests the forest of random host events against the notebook's scans, implemented here as in the
 * notebook: from leaf to leaf, from child to child.
 */
#include "dlrm_table.h"

#include <time.h>

#define N_MAX 120

struct item {
    double ts, dur;
    int tid;
    bool is_op;
};

static uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Events by rising start, then falling duration; all on a grid, so that ends often meet. */
static int compare_items(const void *left, const void *right) {
    const struct item *a = left, *b = right;
    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    return (b->dur > a->dur) - (b->dur < a->dur);
}

static int make_items(struct item *items, uint64_t *random) {
    int n = 2 + (int)(next_random(random) % (N_MAX - 2)), span = 1 + (int)(next_random(random) % 60);
    double unit = next_random(random) % 3 ? 1 : 0.1;
    for (int i = 0; i < n; i++) {
        bool wide = next_random(random) % 10 == 0;
        items[i] = (struct item){.ts = unit * (double)(next_random(random) % 100),
                                 .dur = unit * (double)(next_random(random) % (uint64_t)(wide ? 150 : span)),
                                 .tid = next_random(random) % 3 ? 1 : 1 + (int)(next_random(random) % 3),
                                 .is_op = next_random(random) % 3 != 0};
    }
    items[0] = (struct item){.ts = 0, .dur = unit * 200, .tid = 1, .is_op = true};
    qsort(items, (size_t)n, sizeof *items, compare_items);
    return n;
}

#define NOWHERE (-2)
#define ROOT    (-1)

/* Input and result of the notebook's scans. */
struct scan {
    const struct item *items;
    int n;
    int parent[N_MAX];
    int children[N_MAX][N_MAX], n_children[N_MAX];
};

static double end_of(const struct scan *scan, int i) {
    return scan->items[i].ts + scan->items[i].dur;
}

static int deepest(const struct scan *scan, int leaf, int x) {
    if (scan->items[leaf].ts > scan->items[x].ts || end_of(scan, leaf) < end_of(scan, x))
        return -1;
    for (int i = 0; i < scan->n_children[leaf]; i++) {
        int found = deepest(scan, scan->children[leaf][i], x);
        if (found >= 0 && scan->items[found].tid == scan->items[x].tid)
            return found;
    }
    return leaf;
}

static void scan_all(struct scan *scan) {
    int leaves[N_MAX], n_leaves = 0;
    for (int x = 0; x < scan->n; x++) {
        int kept = 0, found = -1;
        for (int i = 0; i < n_leaves; i++) {
            int leaf = leaves[i];
            if (found < 0 && scan->items[x].ts >= end_of(scan, leaf))
                continue;
            leaves[kept++] = leaf;
            if (found < 0 && end_of(scan, x) <= end_of(scan, leaf))
                found = leaf;
        }
        n_leaves = kept;
        leaves[n_leaves++] = x;
        scan->parent[x] = found < 0 ? ROOT : NOWHERE;
        if (found < 0 || (scan->items[found].tid != 1 && scan->items[found].tid != scan->items[x].tid))
            continue;
        int parent = deepest(scan, found, x);
        scan->parent[x] = parent;
        scan->children[parent][scan->n_children[parent]++] = x;
    }
}

static char *write_trace(const struct item *items, int n) {
    char *text = malloc((size_t)n * 200 + 200), *at = text;
    assert_non_null(text);
    at += sprintf(at, "{\"traceEvents\":[");
    for (int i = 0; i < n; i++)
        at += sprintf(at, "{\"cat\":\"%s\",\"name\":\"x\",\"pid\":2,\"tid\":%d,\"ts\":%.17g,\"dur\":%.17g},",
                      items[i].is_op ? "cpu_op" : "cuda_runtime", items[i].tid, items[i].ts, items[i].dur);
    sprintf(at, "{\"cat\":\"cpu_op\",\"name\":\"last\",\"pid\":1,\"tid\":1,\"ts\":1e6,\"dur\":1}]}");
    return text;
}

static void check_forest(const struct sutra_dlrm *dlrm, const struct scan *scan, uint64_t seed) {
    const struct dlrm_forest *forest = &dlrm->tree.forest;
    int n_nodes = 0;
    for (int i = 0; i < scan->n; i++)
        n_nodes += scan->parent[i] != NOWHERE;
    if ((int)forest->n != n_nodes)
        fail_msg("seed %llu: %u nodes instead of %d", (unsigned long long)seed, forest->n, n_nodes);
    for (row_t node = 0; node < forest->n; node++) {
        int event = (int)forest->event[node];
        int parent = forest->parent[node] == ROW_NONE ? ROOT : (int)forest->event[forest->parent[node]];
        if (parent != scan->parent[event])
            fail_msg("seed %llu: event %d is below %d instead of %d", (unsigned long long)seed, event, parent,
                     scan->parent[event]);
        if (node > 0 && forest->parent[node] != ROW_NONE)
            assert_true(forest->parent[node] < node && forest->end[forest->parent[node]] >= forest->end[node]);
    }
}

static void forests_equal_linear_scans(void **state) {
    uint64_t seed = (uint64_t)time(NULL), n_nested = 0;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (uint64_t run = seed; run < seed + 300; run++) {
        static struct scan scan;
        struct item items[N_MAX];
        uint64_t random = run * 0x9e3779b97f4a7c15u;
        memset(&scan, 0, sizeof scan);
        scan.items = items;
        scan.n = make_items(items, &random);
        scan_all(&scan);
        char *text = write_trace(items, scan.n);
        struct analysis analysis;
        analyze(&analysis, text,
                &(struct sutra_dlrm_options){.trim = SUTRA_TRIM_NONE, .module_marker = "", .compat = run % 2});
        assert_int_equal(analysis.status, SUTRA_OK);
        check_forest(analysis.dlrm, &scan, run);
        for (int i = 0; i < scan.n; i++)
            n_nested += scan.parent[i] >= 0 && scan.parent[scan.parent[i]] >= 0;
        analysis_free(&analysis);
        free(text);
    }
    assert_true(n_nested > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(forests_equal_linear_scans)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
