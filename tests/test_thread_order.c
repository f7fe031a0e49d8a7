/*
 * test_thread_order.c - tests inter-thread dependencies (the operator of another thread that a group waits for): corner
 * cases, and random operators against a direct implementation of the rule.
 */
#include <inttypes.h>
#include <math.h>

#include "base/threads.h"
#include "match/steps.h"
#include "match_table.h"
#include "unit.h"

#define GAP  1000
#define NONE ROW_NONE

static void run(const struct table *table, row_t *before) {
    struct pool *pool = pool_create(1);
    struct engine engine = engine_cpu(pool);
    struct sutra_error error;
    assert_int_equal(engine.thread_order(engine.state, &(struct thread_order_step){&table->ops, GAP, before}, &error),
                     SUTRA_OK);
    pool_free(pool);
}

struct op_case {
    uint32_t thread;
    struct number ts, dur;
    row_t before;
};

static void check(const struct op_case *cases, row_t n) {
    struct table table;
    row_t before[TABLE_OPS];
    table_clear(&table);
    for (row_t i = 0; i < n; i++)
        table_add(&table, cases[i].thread, cases[i].ts, cases[i].dur);
    run(&table, before);
    for (row_t i = 0; i < n; i++)
        assert_int_equal(before[i], cases[i].before);
}

static void a_group_waits_for_the_latest_start_on_another_thread(void **state) {
    const struct op_case cases[] = {{0, integer(10), integer(5), NONE}, {0, integer(20), integer(5), NONE},
                                    {1, integer(30), integer(5), 1},    {1, integer(40), integer(5), 1},
                                    {2, integer(50), integer(5), 3},    {0, integer(60), integer(5), NONE}};
    check(cases, 6);
}

static void a_gap_of_exactly_1000_does_not_end_a_group(void **state) {
    const struct op_case integers[] = {{0, integer(10), integer(5), NONE},
                                       {1, integer(11), integer(5), 0},
                                       {0, integer(1015), integer(5), NONE},
                                       {0, integer(2021), integer(5), 1}};
    check(integers, 4);
    const struct op_case doubles[] = {{0, real(10.5), real(5.25), NONE},
                                      {1, integer(11), integer(5), 0},
                                      {0, real(1015.75), real(5.25), NONE},
                                      {0, real(2021.125), real(5.25), 1}};
    check(doubles, 4);
}

static void a_gap_is_computed_in_the_order_of_subtractions(void **state) {
    /* (ts - last_ts) - last_dur; the sum of the last two first would give 1000 sharp. */
    struct number ts = real(4390000001000.125), last_ts = real(4390000000000.0), dur = real(0.1249);
    assert_true(4390000001000.125 - (4390000000000.0 + 0.1249) <= GAP);
    const struct op_case cases[] = {{0, last_ts, dur, NONE},
                                    {1, real(4390000000000.5), dur, 0},
                                    {1, real(4390000001000.0), dur, 0},
                                    {0, ts, dur, 2}};
    check(cases, 4);
}

static void a_gap_of_integers_may_exceed_64_bits(void **state) {
    int64_t far = (int64_t)1 << 62;
    const struct op_case cases[] = {
        {0, integer(-far), integer(0), NONE}, {1, integer(5), integer(0), NONE}, {0, integer(far), integer(0), 1}};
    check(cases, 3);
}

static void a_negative_duration_widens_the_gap(void **state) {
    const struct op_case cases[] = {
        {0, integer(1), integer(-1001), NONE}, {1, integer(2), integer(0), 0}, {0, integer(3), integer(0), 1}};
    check(cases, 3);
}

static void no_operator_waits_for_starts_at_or_below_0(void **state) {
    const struct op_case cases[] = {{0, integer(-7), integer(5), NONE},
                                    {0, integer(0), integer(5), NONE},
                                    {1, integer(1), integer(5), NONE},
                                    {2, integer(2), integer(5), 2}};
    check(cases, 4);
}

static void equal_starts_go_to_the_first_thread_and_its_first_operator(void **state) {
    const struct op_case cases[] = {{0, integer(1), integer(0), NONE}, {1, integer(5), integer(0), 0},
                                    {2, integer(5), integer(0), 0},    {1, real(5), integer(0), 0},
                                    {3, integer(6), integer(0), 1},    {1, integer(2000), integer(0), 4},
                                    {4, integer(2000), integer(0), 4}};
    check(cases, 7);
}

static void latest_start_of_the_own_thread_is_skipped(void **state) {
    const struct op_case cases[] = {{1, integer(5), integer(0), NONE}, {0, integer(5), integer(0), NONE},
                                    {2, integer(6), integer(0), 1},    {2, integer(7), integer(0), 1},
                                    {2, integer(9000), integer(0), 1}, {0, integer(9001), integer(0), 4}};
    check(cases, 6);
}

/* ---- The rule, plainly ---- */

static row_t expect(const struct cpu_ops *ops, row_t first) {
    row_t best = NONE;
    for (row_t i = 0; i < ops->n; i++) {
        struct number ts = number_at(ops->ts, i);
        if (ops->thread[i] == ops->thread[first] || number_compare(ts, number_at(ops->ts, first)) >= 0 ||
            number_compare(ts, integer(0)) <= 0)
            continue;
        int later = best == NONE ? 1 : number_compare(ts, number_at(ops->ts, best));
        if (later > 0 || (later == 0 && ops->thread[i] < ops->thread[best]))
            best = i;
    }
    return best;
}

static bool same_group(const struct cpu_ops *ops, row_t i, row_t last) {
    struct number idle = number_subtract(number_at(ops->ts, i), number_at(ops->ts, last));
    return number_compare(number_subtract(idle, number_at(ops->dur, last)), integer(GAP)) <= 0;
}

static struct number random_time(uint64_t *random, int64_t most) {
    int64_t value = xorshift_below(random, most);
    switch (xorshift_below(random, 3)) {
    case 0:
        return real((double)(4000 * value) / 1000.0);
    case 1:
        return integer(value);
    default:
        return real((double)(1000 * value + xorshift_below(random, 1000)) / 1000.0);
    }
}

static void make(uint64_t *random, struct table *table) {
    struct number starts[TABLE_OPS];
    row_t n = (row_t)xorshift_below(random, 120);
    int64_t most = xorshift_below(random, 2) ? 30 : 20000, n_threads = 1 + xorshift_below(random, 6);
    bool steps = xorshift_below(random, 2); /* many at one start, and groups that end */
    for (row_t i = 0; i < n; i++)
        starts[i] = steps ? integer(2500 * xorshift_below(random, 12)) : random_time(random, most);
    sort_plainly(starts, n);
    table_clear(table);
    for (row_t i = 0; i < n; i++)
        table_add(table, (uint32_t)xorshift_below(random, n_threads), starts[i], random_time(random, 2000));
}

static void random_operators_follow_the_rule(void **state) {
    static struct table table;
    row_t before[TABLE_OPS];
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        uint64_t random = seed * UINT64_C(0x9E3779B97F4A7C15);
        make(&random, &table);
        run(&table, before);
        for (row_t i = 0; i < table.ops.n; i++) {
            row_t last = NONE;
            for (row_t j = 0; j < i; j++)
                last = table.thread[j] == table.thread[i] ? j : last;
            bool same = last != NONE && same_group(&table.ops, i, last);
            row_t expected = same ? before[last] : expect(&table.ops, i);
            if (before[i] != expected)
                fail_msg("seed %" PRIu64 ", row %" PRIu32 ": %" PRIu32 ", not %" PRIu32, seed, i, before[i], expected);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_waits_for_the_latest_start_on_another_thread),
        cmocka_unit_test(a_gap_of_exactly_1000_does_not_end_a_group),
        cmocka_unit_test(a_gap_is_computed_in_the_order_of_subtractions),
        cmocka_unit_test(a_gap_of_integers_may_exceed_64_bits),
        cmocka_unit_test(a_negative_duration_widens_the_gap),
        cmocka_unit_test(no_operator_waits_for_starts_at_or_below_0),
        cmocka_unit_test(equal_starts_go_to_the_first_thread_and_its_first_operator),
        cmocka_unit_test(latest_start_of_the_own_thread_is_skipped),
        cmocka_unit_test(random_operators_follow_the_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
