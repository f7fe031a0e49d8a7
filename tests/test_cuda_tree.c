/*
 * test_cuda_tree.c - parents of events and ids of tensors by the steps of the CUDA engine (on the CPU, host_gpu.cpp)
 * against the CPU engine: random events that nest, overlap, never end and fall back on other threads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/pool.h"
#include "cuda_compare.h"

struct events {
    struct tree_events table;
    int64_t *start, *end;
    uint32_t *thread, *forward;
    uint8_t *placed;
};

static void events_free(struct events *events) {
    free(events->start), free(events->end), free(events->thread), free(events->forward), free(events->placed);
}

/* Mostly nested where `overlap` is 0; more of what is odd as `odd` grows, in percent. */
static void make_events(struct events *events, uint64_t seed, row_t n, int64_t overlap, int64_t odd) {
    uint64_t random = seed * UINT64_C(0x9E3779B97F4A7C15);
    uint32_t n_threads = 1 + (uint32_t)random_below(&random, 6);
    int64_t now = 0, inner = 4;
    *events = (struct events){
        .start = room(n, 8), .end = room(n, 8), .thread = room(n, 4), .forward = room(n, 4), .placed = room(n, 1)};
    for (row_t i = 0; i < n; i++) {
        now += random_below(&random, 4);
        inner = random_below(&random, 3) ? inner / 2 + 1 : 1 + random_below(&random, 60);
        events->start[i] = now;
        events->end[i] = overlap ? now + random_below(&random, overlap) : now / inner * inner + inner;
        if (random_below(&random, 100) < odd)
            events->end[i] = random_below(&random, 2) ? EVENT_NO_END : now - random_below(&random, 3);
        events->thread[i] = (uint32_t)random_below(&random, n_threads);
        events->forward[i] =
            random_below(&random, 100) < odd ? (uint32_t)random_below(&random, n_threads) : THREAD_NONE;
        events->placed[i] = random_below(&random, 100) < odd / 2;
    }
    events->table = (struct tree_events){n,
                                         n_threads,
                                         events->start,
                                         events->end,
                                         events->thread,
                                         events->forward,
                                         random_below(&random, 4) ? events->placed : NULL};
    if (random_below(&random, 4) == 0)
        events->table.forward = NULL;
}

static void compare_parents(const struct engine *cpu, const struct engine *cuda, const struct events *events,
                            uint64_t seed) {
    row_t n = events->table.n;
    row_t *got = room(n, 4), *expected = room(n, 4);
    int64_t *got_closing = room(n, 8), *expected_closing = room(n, 8);
    struct sutra_error error;
    for (row_t i = 0; i < n; i++) {
        got[i] = expected[i] = i * 7; /* of rows that are placed */
        got_closing[i] = expected_closing[i] = i * 9;
    }
    assert_int_equal(cpu->event_parents(cpu->state, &events->table, expected, expected_closing, &error), SUTRA_OK);
    assert_int_equal(cuda->event_parents(cuda->state, &events->table, got, got_closing, &error), SUTRA_OK);
    expect_rows("parent", "events", seed, got, expected, n);
    for (row_t i = 0; i < n; i++)
        if (got_closing[i] != expected_closing[i])
            fail_msg("seed %" PRIu64 ": event %" PRIu32 " closes at %" PRId64 ", not %" PRId64, seed, i, got_closing[i],
                     expected_closing[i]);
    free(got), free(expected), free(got_closing), free(expected_closing);
}

static void parents_of_events_agree(void **state) {
    (void)state;
    static const int64_t overlaps[] = {0, 10, 100}, odds[] = {0, 10, 40};
    struct engines engines;
    engines_open(&engines);
    for (uint64_t seed = 1; seed <= 600; seed++) {
        struct events events;
        make_events(&events, seed, (row_t)(seed % 67 + (seed % 20 == 0 ? 900 : 0)), overlaps[seed % 3],
                    odds[seed / 3 % 3]);
        unsigned n_left = engines.said.notes;
        compare_parents(&engines.engine[0], &engines.engine[1], &events, seed);
        assert_true(engines.said.notes == n_left || events.table.n > 900);
        events_free(&events);
    }
    assert_in_range(engines.said.notes, 1, 20); /* overlaps upon overlaps */
    engines_close(&engines);
}

static void starts_that_fall_back_are_left_to_the_cpu(void **state) {
    (void)state;
    struct engines engines;
    struct events events;
    engines_open(&engines);
    make_events(&events, 3, 200, 30, 30);
    events.table.forward = events.forward;
    for (row_t i = 1; i < 200; i += 5)
        events.start[i] = events.start[i - 1] - 1;
    compare_parents(&engines.engine[0], &engines.engine[1], &events, 3);
    assert_int_equal(engines.said.notes, 1);
    events_free(&events);
    engines_close(&engines);
}

static void ids_of_tensors_agree(void **state) {
    (void)state;
    struct engines engines;
    engines_open(&engines);
    for (uint64_t seed = 1; seed <= 300; seed++) {
        uint64_t random = seed * UINT64_C(0x9E3779B97F4A7C15);
        row_t n = (row_t)(seed % 50 + (seed % 20 == 0 ? 800 : 0));
        uint64_t *tensor = room(n, 8), *storage = room(n, 8);
        uint32_t *device = room(n, 4), *number[2], *group[2];
        uint8_t *use = room(n, 1);
        struct sutra_error error;
        for (row_t i = 0; i < n; i++) {
            tensor[i] = (uint64_t)random_below(&random, 1 + n / 3) << 40;
            storage[i] = (uint64_t)random_below(&random, 1 + n / 4) << 33;
            device[i] = (uint32_t)random_below(&random, 2);
            use[i] = (uint8_t)(random_below(&random, 3) ? STORAGE_INPUT : random_below(&random, 3));
        }
        struct storage_uses uses = {n, tensor, storage, seed % 2 ? device : NULL, use};
        for (int e = 0; e < 2; e++) {
            const struct engine *engine = &engines.engine[e];
            number[e] = room(n, 4);
            group[e] = room(n, 4);
            assert_int_equal(engine->tensor_groups(engine->state, &uses, number[e], group[e], &error), SUTRA_OK);
        }
        expect_rows("number", "storages", seed, number[1], number[0], n);
        expect_rows("group", "tensors", seed, group[1], group[0], n);
        free(tensor), free(storage), free(device), free(use);
        free(number[0]), free(number[1]), free(group[0]), free(group[1]);
    }
    engines_close(&engines);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parents_of_events_agree),
        cmocka_unit_test(starts_that_fall_back_are_left_to_the_cpu),
        cmocka_unit_test(ids_of_tensors_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
