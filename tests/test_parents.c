/*
 * test_parents.c - tests the search for the CPU operator that launched a GPU operator: corner cases, and random tables
 * against a direct implementation of the rule.
 */
#include <inttypes.h>

#include "base/threads.h"
#include "match/steps.h"
#include "match_table.h"
#include "unit.h"

#define QUERIES 20000 /* more than one task processes */
#define NONE    ROW_NONE

#define MARKERS 8

struct asked {
    struct op_markers markers;
    struct parent_queries queries; /* both point into the arrays below */
    uint64_t marker_bits[MARKERS];
    uint8_t marker_kind[MARKERS];
    row_t before[MARKERS];
    uint64_t ts_bits[QUERIES];
    uint8_t ts_kind[QUERIES], nccl[QUERIES];
    uint32_t thread[QUERIES];
    value_key external[QUERIES];
};

static void asked_clear(struct asked *asked) {
    asked->markers = (struct op_markers){
        .ts = {asked->marker_bits, asked->marker_kind}, .before = asked->before, .thread = UINT32_MAX - 1};
    asked->queries = (struct parent_queries){.launch_ts = {asked->ts_bits, asked->ts_kind},
                                             .thread = asked->thread,
                                             .external = asked->external,
                                             .nccl = asked->nccl};
}

static void ask(struct asked *asked, struct number ts, uint32_t thread, value_key external, bool nccl) {
    row_t row = asked->queries.n++;
    number_set(asked->queries.launch_ts, row, ts);
    asked->thread[row] = thread;
    asked->external[row] = external;
    asked->nccl[row] = nccl;
}

static void run(struct pool *pool, const struct table *table, const struct asked *asked, row_t *parent) {
    struct engine engine = engine_cpu(pool);
    struct parents_step step = {&table->ops, &asked->markers, &asked->queries, parent};
    struct sutra_error error;
    assert_int_equal(engine.parents(engine.state, &step, &error), SUTRA_OK);
}

/* One table for all corner cases:
 *
 *     row        0   1   2   3   4   5   6
 *     ts         0  10  10  20  30  40  50.5
 *     thread     0   0   1   0   0   1   0
 *     external  -1   7   7   8   7   9   7
 *     coalesced              3       5   6
 */
static void make_corner(struct table *table) {
    static const struct {
        double ts;
        uint32_t thread;
        value_key external;
        uint8_t coalesced;
    } rows[] = {{0, 0, -1, 0}, {10, 0, 7, 0}, {10, 1, 7, 0},  {20, 0, 8, 1},
                {30, 0, 7, 0}, {40, 1, 9, 1}, {50.5, 0, 7, 1}};
    table_clear(table);
    for (row_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool whole = rows[i].ts == (double)(int64_t)rows[i].ts;
        table_add(table, rows[i].thread, whole ? integer((int64_t)rows[i].ts) : real(rows[i].ts), integer(0));
        table->external[i] = rows[i].external;
        table->coalesced[i] = rows[i].coalesced;
    }
}

static void check(struct number ts, uint32_t thread, value_key external, bool nccl, row_t expected) {
    static struct table table;
    static struct asked asked;
    row_t parent = 12345;
    struct pool *pool = pool_create(1);
    make_corner(&table);
    asked_clear(&asked);
    ask(&asked, ts, thread, external, nccl);
    run(pool, &table, &asked, &parent);
    pool_free(pool);
    assert_int_equal(parent, expected);
}

static void last_operator_of_thread_and_external_id_is_the_parent(void **state) {
    check(integer(31), 0, 7, false, 4);
    check(integer(29), 0, 7, false, 1);
    check(integer(100), 1, 7, false, 2);
    check(integer(100), 0, -1, false, 0);
}

static void an_operator_must_begin_strictly_before_the_launch(void **state) {
    check(integer(30), 0, 7, false, 1);
    check(real(30.0), 0, 7, false, 1);
    check(real(30.25), 0, 7, false, 4);
    check(real(50.5), 0, 7, false, 4);
    check(integer(0), 0, -1, false, NONE);
}

static void without_external_id_the_last_operator_of_the_thread_is_the_parent(void **state) {
    check(integer(25), 0, 99, false, 3);
    check(integer(15), 0, 8, false, 1); /* 8 begins too late */
    check(integer(10), 1, 7, false, NONE);
}

static void coalesced_operators_are_skipped_for_nccl_kernels(void **state) {
    check(integer(60), 0, 7, false, 6);
    check(integer(60), 0, 7, true, 4);
    check(integer(25), 0, 8, true, 1); /* all of external id 8 are coalesced: the thread's last */
    check(integer(60), 1, 9, true, 2);
    check(integer(60), 1, 9, false, 5);
}

static void a_thread_without_operators_has_no_parent(void **state) {
    check(integer(60), 2, 7, false, NONE);
    check(integer(60), UINT32_MAX, 7, true, NONE);
}

static void only_coalesced_operators_are_no_parents_for_nccl(void **state) {
    static struct table table;
    static struct asked asked;
    row_t parent[2];
    struct pool *pool = pool_create(1);
    table_clear(&table);
    asked_clear(&asked);
    for (row_t i = 0; i < 9; i++)
        table.coalesced[table_add(&table, 0, integer(i), integer(0))] = 1;
    ask(&asked, integer(100), 0, -1, true);
    ask(&asked, integer(100), 0, -1, false);
    run(pool, &table, &asked, parent);
    pool_free(pool);
    assert_int_equal(parent[0], NONE);
    assert_int_equal(parent[1], 8);
}

static void no_operators_have_no_children(void **state) {
    static struct table table;
    static struct asked asked;
    row_t parent = 0;
    struct pool *pool = pool_create(1);
    table_clear(&table);
    asked_clear(&asked);
    run(pool, &table, &asked, &parent);
    ask(&asked, integer(1), 0, 1, false);
    run(pool, &table, &asked, &parent);
    pool_free(pool);
    assert_int_equal(parent, NONE);
}

static void mark(struct asked *asked, struct number ts, row_t before) {
    number_set(asked->markers.ts, asked->markers.n, ts);
    asked->before[asked->markers.n++] = before;
}

/* Markers at 5 and, twice, at 30: before row 4 and after it. */
static void a_marker_is_an_operator_of_external_id_minus_1(void **state) {
    static const struct {
        int64_t ts;
        value_key external;
        row_t expected;
    } asks[] = {{5, -1, 0},  {6, -1, 7},  {6, 99, 7},  {11, 99, 1}, {11, -1, 7},
                {31, 99, 9}, {31, -1, 9}, {30, 99, 3}, {60, 99, 6}, {60, 7, 6}};
    static struct table table;
    static struct asked asked;
    row_t parent[10];
    struct pool *pool = pool_create(1);
    make_corner(&table);
    asked_clear(&asked);
    mark(&asked, integer(5), 1);
    mark(&asked, integer(30), 4);
    mark(&asked, integer(30), 5);
    asked.markers.thread = 0;
    for (size_t i = 0; i < 10; i++)
        ask(&asked, integer(asks[i].ts), 0, asks[i].external, false);
    run(pool, &table, &asked, parent);
    pool_free(pool);
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(parent[i], asks[i].expected);
}

static void markers_exist_on_threads_without_operators(void **state) {
    static struct table table;
    static struct asked asked;
    row_t parent[2];
    struct pool *pool = pool_create(1);
    make_corner(&table);
    asked_clear(&asked);
    mark(&asked, integer(5), 1);
    asked.markers.thread = table.ops.n_threads;
    ask(&asked, integer(6), asked.markers.thread, 7, true);
    ask(&asked, integer(5), asked.markers.thread, 7, true);
    run(pool, &table, &asked, parent);
    pool_free(pool);
    assert_int_equal(parent[0], 7);
    assert_int_equal(parent[1], NONE);
}

/* ---- The rule, plainly ---- */

/* An operator or, from the number of operators on, a marker. */
struct candidate {
    struct number ts;
    uint32_t thread;
    value_key external;
    bool coalesced;
};

static struct candidate candidate_at(const struct cpu_ops *ops, const struct op_markers *markers, row_t row) {
    if (row >= ops->n)
        return (struct candidate){number_at(markers->ts, row - ops->n), markers->thread, -1, false};
    return (struct candidate){number_at(ops->ts, row), ops->thread[row], ops->external[row], ops->coalesced[row]};
}

/* Operators and markers in their order, backwards. */
static row_t step_back(const struct cpu_ops *ops, const struct op_markers *markers, row_t *op, row_t *marker) {
    if (*marker && (*op == 0 || markers->before[*marker - 1] >= *op))
        return ops->n + --*marker;
    return --*op;
}

static row_t expect(const struct cpu_ops *ops, const struct op_markers *markers, const struct parent_queries *queries,
                    row_t query) {
    row_t of_thread = NONE;
    for (row_t op = ops->n, marker = markers->n; op || marker;) {
        row_t row = step_back(ops, markers, &op, &marker);
        struct candidate candidate = candidate_at(ops, markers, row);
        if (number_compare(candidate.ts, number_at(queries->launch_ts, query)) >= 0 ||
            (queries->nccl[query] && candidate.coalesced) || candidate.thread != queries->thread[query])
            continue;
        if (candidate.external == queries->external[query])
            return row;
        if (of_thread == NONE)
            of_thread = row;
    }
    return of_thread;
}

static struct number random_time(uint64_t *random, int64_t most) {
    int64_t value = xorshift_below(random, most);
    return xorshift_below(random, 2) ? integer(value / 4) : real((double)value / 4);
}

static value_key random_external(uint64_t *random) {
    int64_t value = xorshift_below(random, 8);
    return value == 7 ? -1 : value ? value : KEY_VALUES;
}

/* Markers are ordered by start; at equal starts at any position among the operators with this start. */
static void make_markers(uint64_t *random, const struct table *table, struct asked *asked, int64_t most) {
    struct number starts[MARKERS];
    row_t n = (row_t)xorshift_below(random, MARKERS), before = 0;
    for (row_t k = 0; k < n; k++)
        starts[k] = random_time(random, most);
    sort_plainly(starts, n);
    for (row_t k = 0; k < n; k++) {
        while (before < table->ops.n &&
               number_compare(number_at(table->ops.ts, before), starts[k]) < (xorshift_below(random, 2) ? 1 : 0))
            before++;
        mark(asked, starts[k], before);
    }
}

static void make(uint64_t *random, row_t n_queries, struct table *table, struct asked *asked) {
    struct number starts[TABLE_OPS];
    row_t n = (row_t)xorshift_below(random, 100);
    int64_t n_threads = 1 + xorshift_below(random, 4), coalesced = 1 + xorshift_below(random, 4);
    int64_t most = xorshift_below(random, 2) ? 40 : 4000;
    for (row_t i = 0; i < n; i++)
        starts[i] = random_time(random, most);
    sort_plainly(starts, n);
    table_clear(table);
    for (row_t i = 0; i < n; i++) {
        table_add(table, (uint32_t)xorshift_below(random, n_threads), starts[i], integer(0));
        table->external[i] = random_external(random);
        table->coalesced[i] = xorshift_below(random, coalesced) == 1;
    }
    asked_clear(asked);
    asked->markers.thread = (uint32_t)xorshift_below(random, n_threads + 1);
    make_markers(random, table, asked, most);
    for (row_t i = 0; i < n_queries; i++)
        ask(asked, random_time(random, most + 8), (uint32_t)xorshift_below(random, n_threads + 1),
            random_external(random), xorshift_below(random, 2));
}

static void random_queries_follow_the_rule(void **state) {
    static const unsigned n_threads[] = {1, 2, 7};
    static struct table table;
    static struct asked asked;
    static row_t parent[QUERIES];
    for (size_t t = 0; t < 3; t++) {
        struct pool *pool = pool_create(n_threads[t]);
        for (uint64_t seed = 1; seed <= 300; seed++) {
            uint64_t random = seed * UINT64_C(0x9E3779B97F4A7C15);
            make(&random, seed == 300 ? QUERIES : 100, &table, &asked);
            run(pool, &table, &asked, parent);
            for (row_t i = 0; i < asked.queries.n; i++) {
                row_t expected = expect(&table.ops, &asked.markers, &asked.queries, i);
                if (parent[i] != expected)
                    fail_msg("seed %" PRIu64 ", query %" PRIu32 ": %" PRIu32 ", not %" PRIu32, seed, i, parent[i],
                             expected);
            }
        }
        pool_free(pool);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(last_operator_of_thread_and_external_id_is_the_parent),
        cmocka_unit_test(an_operator_must_begin_strictly_before_the_launch),
        cmocka_unit_test(without_external_id_the_last_operator_of_the_thread_is_the_parent),
        cmocka_unit_test(coalesced_operators_are_skipped_for_nccl_kernels),
        cmocka_unit_test(a_thread_without_operators_has_no_parent),
        cmocka_unit_test(only_coalesced_operators_are_no_parents_for_nccl),
        cmocka_unit_test(no_operators_have_no_children),
        cmocka_unit_test(a_marker_is_an_operator_of_external_id_minus_1),
        cmocka_unit_test(markers_exist_on_threads_without_operators),
        cmocka_unit_test(random_queries_follow_the_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
