/*
 * test_covering.c - tests the search for the operator that is running at a time: corner cases, and random tables
 * against a direct implementation of the rule.
 */
#include <inttypes.h>

#include "generate/random.h"
#include "match/rules.h"
#include "match/steps.h"
#include "unit.h"

#define OPS     200
#define MOMENTS 3000 /* more than one task processes */

struct covering_case {
    struct number_column ts, dur, at;
    row_t n, n_moments;
    uint64_t bits[2 * OPS + MOMENTS];
    uint8_t kind[2 * OPS + MOMENTS];
    row_t found[MOMENTS];
};

static void case_clear(struct covering_case *c) {
    c->ts = (struct number_column){c->bits, c->kind};
    c->dur = (struct number_column){c->bits + OPS, c->kind + OPS};
    c->at = (struct number_column){c->bits + 2 * OPS, c->kind + 2 * OPS};
    c->n = c->n_moments = 0;
}

static void put(struct number_column column, row_t row, struct number x) {
    column.bits[row] = x.bits;
    column.kind[row] = x.kind;
}

static void add_op(struct covering_case *c, struct number ts, struct number dur) {
    put(c->ts, c->n, ts);
    put(c->dur, c->n++, dur);
}

static void run(struct covering_case *c, struct pool *pool) {
    struct sutra_error error;
    struct engine engine = engine_cpu(pool);
    struct covering_ops_step step = {c->ts, c->dur, c->n, c->at, c->n_moments, c->found};
    assert_int_equal(engine.covering_ops(engine.state, &step, &error), SUTRA_OK);
}

/* As the older program searches: the greatest start so far must be exceeded, and it begins at 0. */
static row_t plain(const struct covering_case *c, struct number at) {
    struct number best = number_integer(0);
    row_t found = ROW_NONE;
    for (row_t i = 0; i < c->n; i++) {
        struct number ts = number_at(c->ts, i), end = number_add(ts, number_at(c->dur, i));
        if (number_compare(ts, at) < 0 && number_compare(end, at) > 0 && number_compare(ts, best) > 0) {
            best = ts;
            found = i;
        }
    }
    return found;
}

static void the_innermost_operator_is_found_and_bounds_do_not_count(void **state) {
    static const struct {
        int64_t at;
        row_t expected;
    } moments[] = {{-1, ROW_NONE}, {0, ROW_NONE}, {5, ROW_NONE}, {10, ROW_NONE}, {11, 1}, {20, 1},
                   {21, 2},        {25, 2},       {29, 2},       {30, 1},        {99, 1}, {100, ROW_NONE}};
    static struct covering_case c;
    case_clear(&c);
    add_op(&c, number_integer(0), number_integer(8)); /* starts at 0: never found */
    add_op(&c, number_integer(10), number_integer(90));
    add_op(&c, number_integer(20), number_integer(10)); /* the first of two equal starts that still run */
    add_op(&c, number_integer(20), number_double(10));
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++)
        put(c.at, c.n_moments++, number_integer(moments[i].at));
    run(&c, NULL);
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++)
        if (c.found[i] != moments[i].expected)
            fail_msg("at %" PRId64 ": %u, expected %u", moments[i].at, c.found[i], moments[i].expected);
}

static void with_equal_starts_an_ended_interval_is_replaced(void **state) {
    static struct covering_case c;
    case_clear(&c);
    add_op(&c, number_integer(20), number_integer(1));
    add_op(&c, number_integer(20), number_integer(50));
    add_op(&c, number_integer(20), number_integer(60));
    put(c.at, c.n_moments++, number_integer(30));
    put(c.at, c.n_moments++, number_double(75.5));
    run(&c, NULL);
    assert_int_equal(c.found[0], 1);
    assert_int_equal(c.found[1], 2);
}

static void no_operators_cover_nothing(void **state) {
    static struct covering_case c;
    case_clear(&c);
    put(c.at, c.n_moments++, number_integer(30));
    run(&c, NULL);
    assert_int_equal(c.found[0], ROW_NONE);
}

static struct number random_number(struct random *random, uint32_t below) {
    int64_t value = random_below(random, below) - 5;
    return random_below(random, 3) ? number_integer(value) : number_double((double)value + 0.5);
}

static void random_tables_give_what_the_plain_rule_gives(void **state) {
    static struct covering_case c;
    struct pool *pool = pool_create(2);
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct random random = {seed};
        uint32_t span = 1 + random_below(&random, 400);
        case_clear(&c);
        int64_t ts = (int64_t)random_below(&random, 10) - 5;
        for (row_t n = random_below(&random, OPS); c.n < n; ts += random_below(&random, 4))
            add_op(&c, number_integer(ts), random_number(&random, span));
        while (c.n_moments < MOMENTS)
            put(c.at, c.n_moments++, random_number(&random, 500));
        run(&c, pool);
        for (row_t i = 0; i < c.n_moments; i++)
            if (c.found[i] != plain(&c, number_at(c.at, i)))
                fail_msg("seed %" PRIu64 ", moment %u: %u, expected %u", seed, i, c.found[i],
                         plain(&c, number_at(c.at, i)));
    }
    pool_free(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_innermost_operator_is_found_and_bounds_do_not_count),
        cmocka_unit_test(with_equal_starts_an_ended_interval_is_replaced),
        cmocka_unit_test(no_operators_cover_nothing),
        cmocka_unit_test(random_tables_give_what_the_plain_rule_gives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
