/*
 * test_facts.c - tests the common columns of HTA's tables: rounded times, partners by correlation, thread numbers and
 * queue lengths.
 */
#include <math.h>
#include <time.h>

#include "facts/launches.h"
#include "facts/times.h"
#include "unit.h"

/* ---- Times ---- */

static struct device_events two_events(struct number ts, struct number dur, uint8_t second_flags) {
    struct device_events events = {0};
    assert_true(device_events_reserve(&events, 2));
    events.n = 2;
    for (row_t event = 0; event < 2; event++) {
        number_set(events.ts, event, event ? number_integer(5) : ts);
        number_set(events.dur, event, event ? number_integer(7) : dur);
        events.flags[event] = event ? second_flags : EVENT_HAS_TS | EVENT_HAS_DUR;
    }
    return events;
}

static void starts_with_fractions_or_without_a_value_mean_rounding(void **state) {
    const struct {
        struct number ts, dur;
        uint8_t second_flags;
        bool rounded;
    } cases[] = {
        {number_integer(3), number_integer(4), EVENT_HAS_TS | EVENT_HAS_DUR, false},
        {number_integer(3), number_double(4.5), EVENT_HAS_TS | EVENT_HAS_DUR, false},
        {number_double(3.5), number_integer(4), EVENT_HAS_TS | EVENT_HAS_DUR, true},
        {number_double(3), number_integer(4), EVENT_HAS_TS | EVENT_HAS_DUR, true},
        {number_integer(3), number_integer(4), EVENT_HAS_DUR, true},
        {number_integer(3), number_integer(4), EVENT_HAS_TS, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct device_events events = two_events(cases[i].ts, cases[i].dur, cases[i].second_flags);
        assert_int_equal(times_are_rounded(times_inspect(&events)), cases[i].rounded);
        device_events_free(&events);
    }
}

static void whole_times_begin_later_and_end_earlier(void **state) {
    struct device_events events = two_events(number_double(10.2), number_double(3.5), EVENT_HAS_TS);
    const struct time_rules exact = {false, 1e6, 1e6, false}, whole = {true, 1e6, 1e6, false};
    struct event_time time;
    assert_int_equal(time_read(&events, 0, &exact, &time), TIME_KNOWN);
    assert_true(number_as_double(time.start) == 10.2 && number_as_double(time.dur) == 3.5);
    assert_int_equal(time_read(&events, 0, &whole, &time), TIME_KNOWN);
    assert_true(number_as_double(time.start) == 11 && number_as_double(time.dur) == 2);
    assert_false(number_is_double(time.start));
    assert_int_equal(time_read(&events, 1, &whole, &time), TIME_NO_DURATION);
    events.flags[1] = EVENT_HAS_DUR;
    assert_int_equal(time_read(&events, 1, &whole, &time), TIME_NO_START);
    device_events_free(&events);
}

static void times_beyond_the_limits_are_unusable(void **state) {
    const struct time_rules rules = {false, 100, 50, false};
    const struct {
        double ts, dur;
        enum time_state state;
    } cases[] = {{100, 50, TIME_KNOWN},   {-100, -50, TIME_KNOWN},       {101, 1, TIME_TOO_LARGE},
                 {1, 51, TIME_TOO_LARGE}, {1, INFINITY, TIME_TOO_LARGE}, {NAN, 1, TIME_TOO_LARGE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct device_events events = two_events(number_double(cases[i].ts), number_double(cases[i].dur), EVENT_HAS_TS);
        struct event_time time;
        assert_int_equal(time_read(&events, 0, &rules, &time), cases[i].state);
        device_events_free(&events);
    }
}

static void times_count_from_the_first_row(void **state) {
    static const row_t rows[] = {3, 1, 2};
    int64_t start[] = {-100, 7, 5, 9};
    assert_int_equal(times_shift(start, rows, 3), 5);
    assert_true(start[0] == -100 && start[1] == 2 && start[2] == 0 && start[3] == 4);
    assert_int_equal(times_shift(start, rows, 0), 0);
}

/* ---- Correlations and queues: against the plain way ---- */

enum { N_EVENTS = 300 };

static row_t plain_partner(const value_key *keys, const uint8_t *on_gpu, row_t event) {
    row_t found = ROW_NONE;
    for (row_t other = 0; other < N_EVENTS; other++)
        if (on_gpu[other] != on_gpu[event] && keys[other] == keys[event] && is_correlation(keys[event]))
            found = other;
    return found;
}

static void partners_are_the_last_of_the_other_side(void **state) {
    static const value_key odd[] = {-1, KEY_NULL, KEY_UNHASHABLE, KEY_VALUES, -7};
    struct pool *pool = pool_create(1);
    struct engine engine = engine_cpu(pool);
    struct arena arena = {0};
    struct device_events events = {0};
    assert_true(device_events_reserve(&events, N_EVENTS));
    unsigned seed = (unsigned)time(NULL);
    print_message("seed %u\n", seed);
    uint8_t on_gpu[N_EVENTS];
    row_t rows[N_EVENTS], partner[N_EVENTS];
    for (row_t event = 0; event < N_EVENTS; event++) {
        int draw = rand_r(&seed) % 100;
        events.correlation[event] = draw < 5 ? odd[draw] : draw;
        on_gpu[event] = rand_r(&seed) % 2 ? 4 : 0;
        rows[event] = event;
        partner[event] = ROW_NONE;
    }
    assert_int_equal(correlation_partners(&events, rows, N_EVENTS, on_gpu, 4, &engine, &arena, partner, NULL),
                     SUTRA_OK);
    for (row_t event = 0; event < N_EVENTS; event++)
        assert_int_equal(partner[event], plain_partner(events.correlation, on_gpu, event));
    device_events_free(&events);
    arena_free(&arena);
    pool_free(pool);
}

static void threads_are_numbered_as_they_are_first_seen(void **state) {
    static const value_key tids[] = {7, 12, KEY_VALUES, 7, 99, 12};
    static const row_t rows[] = {5, 3, 0, 2, 1}; /* not 4 */
    static const uint32_t expected[] = {0, 1, 1, 2, 0};
    struct pool *pool = pool_create(1);
    struct engine engine = engine_cpu(pool);
    struct arena arena = {0};
    struct device_events events = {0};
    assert_true(device_events_reserve(&events, 6));
    memcpy(events.tid, tids, sizeof tids);
    struct key_index first = {0};
    uint32_t numbers[5], n_threads;
    assert_int_equal(threads_number(&events, rows, 5, &engine, &arena, &first, numbers, &n_threads, NULL), SUTRA_OK);
    assert_int_equal(n_threads, 3);
    for (int i = 0; i < 5; i++)
        assert_int_equal(numbers[i], expected[i]);
    assert_int_equal(key_index_find(&first, 7), 1);
    assert_int_equal(key_index_find(&first, 99), ROW_NONE);
    key_index_free(&first);
    device_events_free(&events);
    arena_free(&arena);
    pool_free(pool);
}

static void queues_grow_with_launches_and_shrink_with_kernels(void **state) {
    static const uint64_t time[] = {5, 1, 5, 20, /* kernels: */ 5, 9, 9, 30};
    static const uint64_t stream[] = {20, 70, 20, 20, /**/ 70, 20, 20, 20};
    static const uint8_t up[] = {1, 1, 1, 1, /**/ 0, 0, 0, 0};
    static const row_t changes_expected[] = {0, 2, 5, 6, 3, 7, 1, 4};
    static const uint32_t lengths_expected[] = {1, 2, 1, 0, 1, 0, 1, 0};
    const struct queue_changes changes = {8, time, stream, up};
    struct pool *pool = pool_create(1);
    struct engine engine = engine_cpu(pool);
    struct arena arena = {0};
    row_t change[8];
    uint32_t lane[8], length[8];
    struct queue_lengths series = {change, lane, length, 0};
    assert_int_equal(queues_measure(&changes, &engine, &arena, &series, NULL), SUTRA_OK);
    assert_int_equal(series.n_lanes, 2);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(change[i], changes_expected[i]);
        assert_int_equal(lane[i], i >= 6);
        assert_int_equal(length[i], lengths_expected[i]);
    }
    arena_free(&arena);
    pool_free(pool);
}

static void policy_selects_among_calls_with_one_id(void **state) {
    value_key ids[] = {7, 9, 7, 7, 9};
    uint64_t start[] = {10, 20, 30, 50, 60};
    uint8_t integer[5] = {NUMBER_INTEGER, NUMBER_INTEGER, NUMBER_INTEGER, NUMBER_INTEGER, NUMBER_INTEGER};
    const struct {
        value_key id;
        int64_t start;
        row_t first, last, last_before;
    } cases[] = {
        {7, 9, 0, 3, 0},  /* no call starts before: the first */
        {7, 10, 0, 3, 0}, /* a call that starts together with the activity counts */
        {7, 29, 0, 3, 0}, /* the call between them has another id */
        {7, 30, 0, 3, 2}, {7, 99, 0, 3, 3}, {9, 59, 1, 4, 1}, {9, 60, 1, 4, 4}, {8, 60, ROW_NONE, ROW_NONE, ROW_NONE},
    };
    struct pool *pool = pool_create(1);
    struct engine engine = engine_cpu(pool);
    struct arena arena = {0};
    struct launch_index first, last, before, single;
    const struct number_column starts = {start, integer};
    assert_int_equal(launch_index_build(&first, &engine, ids, starts, 5, LAUNCH_FIRST, &arena, NULL), SUTRA_OK);
    assert_int_equal(launch_index_build(&last, &engine, ids, starts, 5, LAUNCH_LAST, &arena, NULL), SUTRA_OK);
    assert_int_equal(launch_index_build(&before, &engine, ids, starts, 5, LAUNCH_LAST_BEFORE, &arena, NULL), SUTRA_OK);
    assert_int_equal(launch_index_build(&single, &engine, ids, starts, 2, LAUNCH_LAST_BEFORE, &arena, NULL), SUTRA_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(launch_index_find(&first, cases[i].id), cases[i].first);
        assert_int_equal(launch_index_find(&last, cases[i].id), cases[i].last);
        assert_int_equal(launch_index_find_before(&before, cases[i].id, number_integer(cases[i].start)),
                         cases[i].last_before);
        assert_int_equal(launch_index_find_before(&single, cases[i].id, number_integer(cases[i].start)),
                         cases[i].first);
    }
    assert_int_equal(before.repeated, 2);
    assert_int_equal(before.n_repeated, 3);
    assert_int_equal(single.repeated, ROW_NONE);
    launch_index_free(&first);
    launch_index_free(&last);
    launch_index_free(&before);
    launch_index_free(&single);
    arena_free(&arena);
    pool_free(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_with_fractions_or_without_a_value_mean_rounding),
        cmocka_unit_test(whole_times_begin_later_and_end_earlier),
        cmocka_unit_test(times_beyond_the_limits_are_unusable),
        cmocka_unit_test(times_count_from_the_first_row),
        cmocka_unit_test(partners_are_the_last_of_the_other_side),
        cmocka_unit_test(threads_are_numbered_as_they_are_first_seen),
        cmocka_unit_test(policy_selects_among_calls_with_one_id),
        cmocka_unit_test(queues_grow_with_launches_and_shrink_with_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
