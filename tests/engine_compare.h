/*
 * engine_compare.h - compares two engines array by array: all steps on synthetic operator tables; steps without
 * operators on profiler events, storages of tensors, intervals and values. engines[0] is the correct engine, engines[1]
 * the engine under test.
 */
#ifndef TESTS_ENGINE_COMPARE_H
#define TESTS_ENGINE_COMPARE_H

#include "engine_tables.h"
#include "unit.h"

static inline void expect_rows(const char *what, const char *name, uint64_t seed, const uint32_t *got,
                               const uint32_t *expected, row_t n) {
    struct difference difference;
    if (rows_differ(what, got, expected, n, &difference))
        fail_msg("%s, %" PRIu32 " rows, seed %" PRIu64 ": %s", name, n, seed, difference.text);
}

/* ---- Tables of operators ---- */

static inline void expect_equal(const char *name, uint64_t seed, row_t n, const struct results *got,
                                const struct results *expected) {
    struct difference difference;
    if (results_differ(got, expected, n, &difference))
        fail_msg("%s, %" PRIu32 " rows, seed %" PRIu64 ": %s", name, n, seed, difference.text);
}

static inline void compare_table(const struct engine engines[2], const struct table_shape *shape, uint64_t seed,
                                 row_t n) {
    struct match_table big;
    struct results results[2];
    make(shape, seed, n, &big);
    for (int e = 0; e < 2; e++) {
        struct sutra_error error;
        if (run_all(&engines[e], &big, &results[e], &error))
            fail_msg("%s, %" PRIu32 " rows, seed %" PRIu64 ": %s", shape->name, n, seed, error.message);
    }
    expect_equal(shape->name, seed, n, &results[1], &results[0]);
    results_free(&results[0]);
    results_free(&results[1]);
    match_table_free(&big);
}

/* ---- Parents of profiler events ---- */

struct events {
    struct tree_events table;
    int64_t *start, *end;
    uint32_t *thread, *forward;
    uint8_t *placed;
};

static inline void events_free(struct events *events) {
    free(events->start), free(events->end), free(events->thread), free(events->forward), free(events->placed);
}

/* Random events: mostly nested if `overlap` is 0; `odd` percent are malformed or unusual. */
static inline void make_events(struct events *events, uint64_t seed, row_t n, int64_t overlap, int64_t odd) {
    uint64_t random = seed * UINT64_C(0x9E3779B97F4A7C15);
    uint32_t n_threads = 1 + (uint32_t)xorshift_below(&random, 6);
    int64_t now = 0, inner = 4;
    *events = (struct events){
        .start = room(n, 8), .end = room(n, 8), .thread = room(n, 4), .forward = room(n, 4), .placed = room(n, 1)};
    for (row_t i = 0; i < n; i++) {
        now += xorshift_below(&random, 4);
        inner = xorshift_below(&random, 3) ? inner / 2 + 1 : 1 + xorshift_below(&random, 60);
        events->start[i] = now;
        events->end[i] = overlap ? now + xorshift_below(&random, overlap) : now / inner * inner + inner;
        if (xorshift_below(&random, 100) < odd)
            events->end[i] = xorshift_below(&random, 2) ? EVENT_NO_END : now - xorshift_below(&random, 3);
        events->thread[i] = (uint32_t)xorshift_below(&random, n_threads);
        events->forward[i] =
            xorshift_below(&random, 100) < odd ? (uint32_t)xorshift_below(&random, n_threads) : THREAD_NONE;
        events->placed[i] = xorshift_below(&random, 100) < odd / 2;
    }
    events->table = (struct tree_events){n,
                                         n_threads,
                                         events->start,
                                         events->end,
                                         events->thread,
                                         events->forward,
                                         xorshift_below(&random, 4) ? events->placed : NULL};
    if (xorshift_below(&random, 4) == 0)
        events->table.forward = NULL;
}

static inline void compare_parents(const struct engine engines[2], const struct events *events, uint64_t seed) {
    row_t n = events->table.n, *parent[2];
    int64_t *closing[2];
    for (int e = 0; e < 2; e++) {
        struct sutra_error error;
        parent[e] = room(n, 4);
        closing[e] = room(n, 8);
        for (row_t i = 0; i < n; i++) { /* the result of rows without a query */
            parent[e][i] = i * 7;
            closing[e][i] = (int64_t)i * 9;
        }
        struct event_parents_step step = {&events->table, parent[e], closing[e]};
        assert_int_equal(engines[e].event_parents(engines[e].state, &step, &error), SUTRA_OK);
    }
    expect_rows("parent", "events", seed, parent[1], parent[0], n);
    for (row_t i = 0; i < n; i++)
        if (closing[1][i] != closing[0][i])
            fail_msg("%" PRIu32 " events, seed %" PRIu64 ": event %" PRIu32 " closes at %" PRId64 ", not %" PRId64, n,
                     seed, i, closing[1][i], closing[0][i]);
    free(parent[0]), free(parent[1]), free(closing[0]), free(closing[1]);
}

static inline void compare_events(const struct engine engines[2], uint64_t seed, row_t n) {
    static const int64_t overlaps[] = {0, 10, 100}, odds[] = {0, 10, 40};
    struct events events;
    make_events(&events, seed, n, overlaps[seed % 3], odds[seed / 3 % 3]);
    compare_parents(engines, &events, seed);
    events_free(&events);
}

/* ---- Ids of tensors ---- */

static inline void compare_tensors(const struct engine engines[2], uint64_t seed, row_t n) {
    uint64_t random = seed * UINT64_C(0x9E3779B97F4A7C15), *tensor = room(n, 8), *storage = room(n, 8);
    uint32_t *device = room(n, 4), *number[2], *group[2];
    uint8_t *use = room(n, 1);
    for (row_t i = 0; i < n; i++) {
        tensor[i] = (uint64_t)xorshift_below(&random, 1 + n / 3) << 40;
        storage[i] = (uint64_t)xorshift_below(&random, 1 + n / 4) << 33;
        device[i] = (uint32_t)xorshift_below(&random, 2);
        use[i] = (uint8_t)(xorshift_below(&random, 3) ? STORAGE_INPUT : xorshift_below(&random, 3));
    }
    const struct storage_uses uses = {n, tensor, storage, seed % 2 ? device : NULL, use};
    for (int e = 0; e < 2; e++) {
        struct sutra_error error;
        number[e] = room(n, 4);
        group[e] = room(n, 4);
        struct tensor_groups_step step = {&uses, number[e], group[e]};
        assert_int_equal(engines[e].tensor_groups(engines[e].state, &step, &error), SUTRA_OK);
    }
    expect_rows("number", "storages", seed, number[1], number[0], n);
    expect_rows("group", "tensors", seed, group[1], group[0], n);
    free(tensor), free(storage), free(device), free(use);
    free(number[0]), free(number[1]), free(group[0]), free(group[1]);
}

/* ---- Intervals ---- */

static inline void expect_same_groups(const struct merged *got, const struct merged *expected) {
    assert_int_equal(got->n, expected->n);
    assert_int_equal(got->n_segments, expected->n_segments);
    for (row_t i = 0; i < got->n; i++) {
        assert_int_equal(got->start[i], expected->start[i]);
        assert_int_equal(got->end[i], expected->end[i]);
    }
    for (uint32_t s = 0; s <= got->n_segments; s++)
        assert_int_equal(got->first[s], expected->first[s]);
}

static inline void compare_states(const struct engine engines[2], const struct merged *merged, uint32_t n_sets,
                                  int64_t unit) {
    struct interval_states states[2];
    for (int e = 0; e < 2; e++) {
        struct sutra_error error;
        struct interval_states_step step = {merged, n_sets, unit, &states[e]};
        assert_int_equal(engines[e].interval_states(engines[e].state, &step, &error), SUTRA_OK);
    }
    for (int s = 1; s < N_STATES; s++) {
        assert_true(states[0].length[s] == states[1].length[s]);
        assert_true(states[0].exact[s] == states[1].exact[s]);
        assert_int_equal(states[0].seen[s], states[1].seen[s]);
    }
}

static inline void compare_intervals(const struct engine engines[2], uint64_t seed, row_t n) {
    uint64_t random = seed * UINT64_C(0x9E3779B97F4A7C15);
    uint32_t n_segments = 3 + (uint32_t)xorshift_below(&random, 3), *segment = room(n, 4);
    int64_t *start = room(n, 8), *end = room(n, 8), now = -50;
    for (row_t i = 0; i < n; i++) {
        now += xorshift_below(&random, 5);
        start[i] = now;
        end[i] = now + xorshift_below(&random, 12) - (seed % 3 == 0 ? 3 : 0);
        segment[i] = (uint32_t)xorshift_below(&random, n_segments);
    }
    struct merged merged[2];
    for (int e = 0; e < 2; e++) {
        struct sutra_error error;
        struct merge_intervals_step step = {start, end, seed % 4 ? segment : NULL, n, n_segments, &merged[e]};
        assert_int_equal(engines[e].merge_intervals(engines[e].state, &step, &error), SUTRA_OK);
    }
    expect_same_groups(&merged[1], &merged[0]);
    compare_states(engines, &merged[0], 2, 1);
    compare_states(engines, &merged[0], 3, 1 + (int64_t)seed % 3);
    merged_free(&merged[0]);
    merged_free(&merged[1]);
    free(start), free(end), free(segment);
}

/* ---- Sums ---- */

static inline void compare_sums(const struct engine engines[2], uint64_t seed, row_t n) {
    uint64_t random = seed * UINT64_C(0x9E3779B97F4A7C15);
    uint32_t n_keys = 1 + (uint32_t)xorshift_below(&random, 7), *keys = room(n, 4);
    int64_t *values = room(n, 8);
    for (row_t i = 0; i < n; i++) {
        keys[i] = (uint32_t)xorshift_below(&random, n_keys);
        values[i] = (int64_t)(xorshift_next(&random) >> xorshift_below(&random, 64)) * (seed % 2 ? 1 : -1);
    }
    struct moments *moments[2];
    for (int e = 0; e < 2; e++) {
        struct sutra_error error;
        moments[e] = room(n_keys, sizeof **moments);
        struct sums_by_key_step step = {keys, values, n, n_keys, moments[e]};
        assert_int_equal(engines[e].sums_by_key(engines[e].state, &step, &error), SUTRA_OK);
    }
    for (uint32_t k = 0; k < n_keys; k++) {
        const struct moments *got = &moments[1][k], *expected = &moments[0][k];
        if (got->n != expected->n || got->min != expected->min || got->max != expected->max ||
            got->sum != expected->sum || got->squares != expected->squares || got->overflow != expected->overflow)
            fail_msg("%" PRIu32 " values, seed %" PRIu64 ": the sums of key %" PRIu32 " differ", n, seed, k);
    }
    free(keys), free(values), free(moments[0]), free(moments[1]);
}

#endif
