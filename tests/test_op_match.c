/*
 * test_op_match.c - tests matching operators by names and numbers: synthetic runs whose true pairs are known, recorded
 * twice with other threads, windows, constants and missing operators; and random input.
 *
 * Each operator of a run has a `truth`: its number in the run. A recording keeps some operators of the run in order.
 */
#include <inttypes.h>

#include "align/op_match.h"
#include "base/shared.h"
#include "columns/column.h"
#include "context/context.h"
#include "generate/random.h"
#include "sutra/context.h"
#include "unit.h"

#define OPS_MAX  20000
#define N_TOKENS 100

struct op {
    uint32_t token;
    row_t thread, depth, truth;
    value_key sequence, collective;
};

struct recording {
    struct op op[OPS_MAX];
    row_t n;
};

static struct recording run, host, device; /* large */

static struct op *add(uint32_t token, row_t thread) {
    struct op *op = &run.op[run.n];
    assert_true(run.n < OPS_MAX);
    *op = (struct op){token, thread, 0, run.n++, KEY_ABSENT, KEY_ABSENT};
    return op;
}

/* Copies the operators of the run from `begin` to `end` - 1, except `percent` of a hundred at random. */
static void record(struct recording *to, row_t begin, row_t end, struct random *random, uint32_t percent) {
    to->n = 0;
    for (row_t i = begin; i < end && to->n < OPS_MAX; i++)
        if (!percent || random_below(random, 1000) >= 10 * percent)
            to->op[to->n++] = run.op[i];
}

/* The columns of a recording. Threads are numbered by first use; an operator is below the last one of less depth. */
static struct op_side side_of(const struct recording *recording, struct arena *arena) {
    struct op_side side = op_side_alloc(arena, recording->n);
    row_t *number = rows_none(arena, OPS_MAX), *top = rows_none(arena, OPS_MAX);
    assert_false(arena->failed);
    for (row_t i = 0; i < side.n; i++) {
        const struct op *op = &recording->op[i];
        if (number[op->thread] == ROW_NONE)
            number[op->thread] = side.n_threads++;
        row_t above = top[op->thread];
        while (above != ROW_NONE && recording->op[above].depth >= op->depth)
            above = side.parent[above];
        side.token[i] = op->token;
        side.thread[i] = number[op->thread];
        side.parent[i] = above;
        side.sequence[i] = op->sequence;
        side.collective[i] = op->collective;
        top[op->thread] = i;
    }
    return side;
}

struct result {
    struct op_match match;
    row_t n_true, n_wrong; /* pairs of equal and of different truth */
    row_t n_common;        /* operators of both recordings */
};

static struct result match_with(unsigned n_threads, struct arena *arena) {
    struct sutra_error error;
    struct result result = {0};
    static uint8_t is_common[OPS_MAX];
    struct op_side a = side_of(&host, arena), b = side_of(&device, arena);
    struct sutra_context *context = NEW_CONTEXT(.n_threads = n_threads);
    assert_int_equal(ops_match(context, &a, &b, N_TOKENS, arena, &result.match, &error), SUTRA_OK);
    sutra_context_free(context);
    memset(is_common, 0, sizeof is_common);
    for (row_t i = 0; i < host.n; i++)
        is_common[host.op[i].truth] = 1;
    for (row_t i = 0; i < device.n; i++)
        result.n_common += is_common[device.op[i].truth];
    for (row_t i = 0; i < host.n; i++) {
        const row_t found = result.match.device[i];
        if (found == ROW_NONE)
            continue;
        assert_int_equal(result.match.host[found], i);
        assert_int_equal(host.op[i].token, device.op[found].token);
        result.n_true += host.op[i].truth == device.op[found].truth;
        result.n_wrong += host.op[i].truth != device.op[found].truth;
    }
    assert_int_equal(result.n_true + result.n_wrong, result.match.n);
    return result;
}

static void assert_all_true(const struct result *result) {
    if (result->n_wrong || result->n_true != result->n_common)
        fail_msg("%u pairs of %u are true, %u wrong", result->n_true, result->n_common, result->n_wrong);
}

/* A call of a module: an operator with two below it. */
static void add_module(uint32_t token, row_t thread, value_key sequence) {
    add(token, thread)->sequence = sequence;
    add(50, thread)->depth = 1;
    add(token + 1, thread)->depth = 1;
}

static void similar_threads_are_distinguished_by_numbers(void **state) {
    struct arena arena = {0};
    run.n = 0;
    for (row_t i = 0; i < 100; i++)
        for (row_t t = 0; t < 4; t++)
            add_module(2 * (i % 7), t, 1000 * t + i);
    record(&host, 0, run.n, NULL, 0);
    /* The device trace has the threads in another order. */
    device.n = 0;
    for (row_t t = 4; t-- > 0;)
        for (row_t i = 0; i < run.n; i++)
            if (run.op[i].thread == t)
                device.op[device.n++] = run.op[i];
    struct result result = match_with(2, &arena);
    assert_all_true(&result);
    assert_true(result.match.has_numbers);
    assert_int_equal(result.match.number_shift, 0);
    for (row_t t = 0; t < 4; t++)
        assert_int_equal(result.match.host_partner[t], 3 - t);
    arena_free(&arena);
}

static void equal_threads_are_paired_by_order(void **state) {
    struct arena arena = {0};
    run.n = 0;
    for (row_t i = 0; i < 100; i++)
        for (row_t t = 0; t < 4; t++)
            add_module(2 * (i % 7), t, KEY_ABSENT);
    record(&host, 0, run.n, NULL, 0);
    record(&device, 0, run.n, NULL, 0);
    for (row_t i = 0; i < device.n; i++)
        device.op[i].thread = 900 - 100 * device.op[i].thread;
    struct result result = match_with(2, &arena);
    assert_all_true(&result);
    assert_false(result.match.has_numbers);
    arena_free(&arena);
}

/* Steps with a forward and a backward thread; `numbers` on the forward thread. Returns the rows of a step. */
static row_t add_steps(row_t n_steps, bool numbers) {
    run.n = 0;
    for (row_t s = 0; s < n_steps; s++) {
        for (row_t i = 0; i < 40; i++)
            add_module(2 * (i % 9), 0, numbers ? 40 * s + i : KEY_ABSENT);
        for (row_t i = 0; i < 30; i++)
            add(60 + i % 11, 1);
    }
    return run.n / n_steps;
}

static void window_limits_all_threads(void **state) {
    for (row_t step = 0; step < 8; step++)
        for (int is_host = 0; is_host < 2; is_host++) {
            struct arena arena = {0};
            const row_t n = add_steps(8, true);
            record(is_host ? &device : &host, step * n, (step + 1) * n, NULL, 0);
            record(is_host ? &host : &device, 0, run.n, NULL, 0);
            struct result result = match_with(2, &arena);
            assert_all_true(&result);
            assert_int_equal(result.match.n_positions, 1);
            assert_int_equal(result.match.n, n);
            assert_true(result.match.confidence == 1);
            arena_free(&arena);
        }
}

static void equal_steps_are_counted_and_the_first_is_chosen(void **state) {
    for (row_t n_steps = 2; n_steps <= 40; n_steps += 19) {
        struct arena arena = {0};
        const row_t n = add_steps(n_steps, false);
        record(&host, (n_steps - 1) * n, run.n, NULL, 0);
        record(&device, 0, run.n, NULL, 0);
        struct result result = match_with(1, &arena);
        assert_int_equal(result.match.n_positions, n_steps);
        assert_int_equal(result.match.n, n);
        for (row_t i = 0; i < n; i++)
            assert_int_equal(result.match.device[i], i);
        arena_free(&arena);
    }
}

static void numbers_may_differ_by_a_constant(void **state) {
    static const int64_t constants[] = {40, -40, 1, INT64_MAX - 1000, 0};
    for (size_t c = 0; c < sizeof constants / sizeof *constants; c++) {
        struct arena arena = {0};
        run.n = 0;
        for (row_t i = 0; i < 300; i++)
            add_module(2 * (i % 7), 0, 100 + i);
        struct op *unknown = add(TOKEN_NONE, 0); /* has a number, but no name */
        unknown->sequence = 7;
        record(&host, 0, run.n, NULL, 0);
        record(&device, 0, run.n - 1, NULL, 0);
        for (row_t i = 0; i < device.n; i++)
            if (device.op[i].sequence != KEY_ABSENT)
                device.op[i].sequence += constants[c];
        struct result result = match_with(1, &arena);
        assert_all_true(&result);
        assert_true(result.match.has_numbers);
        assert_int_equal(result.match.number_shift, constants[c]);
        arena_free(&arena);
    }
}

static void collectives_match_by_number(void **state) {
    struct arena arena = {0};
    struct random random = {5};
    run.n = 0;
    for (row_t i = 0; i < 400; i++)
        add(9, 0)->collective = i;
    record(&host, 0, run.n, &random, 10);
    record(&device, 0, run.n, &random, 10);
    struct result result = match_with(1, &arena);
    assert_all_true(&result);
    arena_free(&arena);
}

static void operators_on_other_threads_are_paired_in_order(void **state) {
    struct arena arena = {0};
    const row_t n = add_steps(3, true), n_run = run.n;
    for (row_t i = 0; i < 3; i++)
        add(99, 0); /* gloo:all_reduce: begins on thread 0, ends on thread 7 */
    record(&host, 0, run.n, NULL, 0);
    record(&device, 0, run.n, NULL, 0);
    for (row_t i = n_run; i < device.n; i++)
        device.op[i].thread = 7;
    struct result result = match_with(1, &arena);
    assert_all_true(&result);

    /* Not if their counts differ, or their numbers. */
    device.n--;
    result = match_with(1, &arena);
    assert_int_equal(result.n_true, n_run);
    device.n++;
    host.op[n_run].collective = 5;
    device.op[n_run].collective = 6;
    result = match_with(1, &arena);
    assert_int_equal(result.n_true, n_run + 2);
    assert_int_equal(n_run, 3 * n);
    arena_free(&arena);
}

static void repeated_blocks_do_not_drift(void **state) {
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct arena arena = {0};
        struct random random = {seed};
        run.n = 0;
        for (row_t i = 0; i < 60; i++)
            add_module(2 * random_below(&random, 20), 0, KEY_ABSENT);
        for (row_t p = 0; p < 160; p++) /* one optimizer step per parameter */
            for (row_t i = 0; i < 12; i++)
                add(80 + i % 8, 0);
        for (row_t i = 0; i < 60; i++)
            add_module(2 * random_below(&random, 20), 0, KEY_ABSENT);
        record(&host, 0, run.n, &random, 2);
        record(&device, 0, run.n, &random, 2);
        struct result result = match_with(1, &arena);
        if (100 * result.n_wrong > result.n_common || 100 * result.n_true < 98 * result.n_common)
            fail_msg("seed %" PRIu64 ": %u pairs of %u are true, %u wrong", seed, result.n_true, result.n_common,
                     result.n_wrong);
        arena_free(&arena);
    }
}

/* The device trace has more than 1,024 threads of one size. */
static void many_threads_of_equal_size_are_compared(void **state) {
    struct arena arena = {0};
    run.n = 0;
    for (row_t t = 0; t < 1500; t++)
        for (row_t i = 0; i < 4; i++)
            add(i, t);
    record(&host, 0, 4 * 10, NULL, 0);
    record(&device, 0, run.n, NULL, 0);
    struct result result = match_with(1, &arena);
    assert_int_equal(result.n_true, 40);
    assert_int_equal(result.match.n, 40);
    arena_free(&arena);
}

/* Random recordings of a random run. Threads, numbers and names are changed at random, so no result is expected except
 * valid pairs, for any number of threads. */
static void random_recordings_are_matched_alike_by_any_number_of_threads(void **state) {
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct arena arena = {0};
        struct random random = {seed};
        const uint32_t n_tokens = 1 + random_below(&random, N_TOKENS), n_threads = 1 + random_below(&random, 6);
        const row_t n = random_below(&random, 800);
        run.n = 0;
        for (row_t i = 0; i < n; i++) {
            struct op *op = add(random_below(&random, n_tokens), random_below(&random, n_threads));
            op->depth = random_below(&random, 5);
            if (random_below(&random, 3) == 0)
                op->sequence = random_below(&random, 2) ? (value_key)i : random_below(&random, 50);
            if (random_below(&random, 20) == 0)
                op->collective = random_below(&random, 30);
        }
        const row_t begin = n ? random_below(&random, n) : 0;
        record(&host, random_below(&random, 2) ? begin : 0, n, &random, random_below(&random, 50));
        record(&device, 0, random_below(&random, 2) ? n : begin, &random, random_below(&random, 50));
        for (int i = 0; i < 2; i++) {
            struct recording *changed = i ? &host : &device;
            for (row_t k = 0; k < changed->n; k++)
                if (random_below(&random, 40) == 0)
                    changed->op[k].token = TOKEN_NONE;
                else if (random_below(&random, 40) == 0)
                    changed->op[k].thread = random_below(&random, 9);
        }
        struct result one = match_with(1, &arena), four = match_with(4, &arena);
        for (row_t i = 0; i < host.n; i++) {
            const row_t found = one.match.device[i];
            if (four.match.device[i] != found)
                fail_msg("seed %" PRIu64 ": operator %u has another partner with four threads", seed, i);
            if (found == ROW_NONE)
                continue;
            const value_key a = host.op[i].collective, b = device.op[found].collective;
            if (host.op[i].token == TOKEN_NONE || (a != b && a != KEY_ABSENT && b != KEY_ABSENT))
                fail_msg("seed %" PRIu64 ": operators %u and %u match", seed, i, found);
        }
        assert_int_equal(one.match.n_positions, four.match.n_positions);
        assert_true(one.match.confidence >= 0);
        arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(similar_threads_are_distinguished_by_numbers),
        cmocka_unit_test(equal_threads_are_paired_by_order),
        cmocka_unit_test(window_limits_all_threads),
        cmocka_unit_test(equal_steps_are_counted_and_the_first_is_chosen),
        cmocka_unit_test(numbers_may_differ_by_a_constant),
        cmocka_unit_test(collectives_match_by_number),
        cmocka_unit_test(operators_on_other_threads_are_paired_in_order),
        cmocka_unit_test(repeated_blocks_do_not_drift),
        cmocka_unit_test(many_threads_of_equal_size_are_compared),
        cmocka_unit_test(random_recordings_are_matched_alike_by_any_number_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
