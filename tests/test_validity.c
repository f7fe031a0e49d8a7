/*
 * test_validity.c - tests which events of a device trace can be true.
 */
#include <math.h>

#include "facts/validity.h"
#include "one_context.h"
#include "unit.h"

#define ACTIVITY(cat, pid, stream, time, correlation, more)                                                            \
    ",{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"k\",\"pid\":" #pid ",\"tid\":" #stream "," time                     \
    "\"args\":{\"stream\":" #stream ",\"correlation\":" #correlation more "}}"
#define AT(ts, dur)                           "\"ts\":" #ts ",\"dur\":" #dur ","
#define KERNEL(stream, ts, dur, correlation)  ACTIVITY("kernel", 0, stream, AT(ts, dur), correlation, "")
#define GRAPHED(stream, ts, dur, correlation) ACTIVITY("kernel", 0, stream, AT(ts, dur), correlation, ",\"graph id\":3")
#define COPY(stream, ts, dur, correlation)    ACTIVITY("gpu_memcpy", 0, stream, AT(ts, dur), correlation, "")
#define CALL(cat, ts, correlation)                                                                                     \
    ",{\"ph\":\"X\",\"cat\":\"" cat                                                                                    \
    "\",\"name\":\"launch\",\"pid\":9,\"tid\":9," AT(ts, 2) "\"args\":{\"correlation\":" #correlation "}}"
#define LAUNCH(ts, correlation) CALL("cuda_runtime", ts, correlation)
#define LONG_OP(ts, dur)                                                                                               \
    ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":9,\"tid\":9," AT(ts, dur) "\"args\":{}}"
#define OP(ts) LONG_OP(ts, 5)

struct validity_case {
    const char *name, *events;
    enum trace_defect_kind kind;
    uint64_t count, n_unusable;
    double largest_us; /* NaN: no amount of time */
};

static struct sutra_device_trace *read_events(const char *events) {
    char text[8192];
    struct sutra_device_trace *trace;
    struct sutra_error error;
    snprintf(text, sizeof text, "{\"traceEvents\":[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0}%s]}", events);
    assert_int_equal(sutra_device_trace_parse(context, "trace", text, strlen(text), &trace, &error), SUTRA_OK);
    return trace;
}

/* The counted defect is the only one. */
static void check_case(const struct validity_case *expected) {
    struct sutra_device_trace *trace = read_events(expected->events);
    uint64_t n_unusable = 0;
    for (row_t event = 0; event < trace->events.n; event++)
        n_unusable += (trace->events.flags[event] & EVENT_UNUSABLE) != 0;
    print_message("%s\n", expected->name);
    assert_int_equal(n_unusable, expected->n_unusable);
    for (int kind = 0; kind < N_DEFECTS; kind++) {
        const struct trace_defect *defect = &trace->validity->defects[kind];
        bool is_expected = kind == (int)expected->kind;
        assert_int_equal(defect->count, is_expected ? expected->count : 0);
        if (is_expected && expected->count)
            assert_true(isnan(expected->largest_us) ? isnan(defect->largest_us)
                                                    : fabs(defect->largest_us - expected->largest_us) < 1e-9);
    }
    sutra_device_trace_free(trace);
}

#define FIVE_LAUNCHED                                                                                                  \
    LAUNCH(1000, 1)                                                                                                    \
    LAUNCH(1100, 2)                                                                                                    \
    LAUNCH(1200, 3)                                                                                                    \
    LAUNCH(1300, 4)                                                                                                    \
    LAUNCH(5000, 5) KERNEL(7, 1010, 9, 1) KERNEL(7, 1110, 9, 2) KERNEL(7, 1210, 9, 3) KERNEL(7, 1310, 9, 4)

static void times_are_checked_by_rule(void **state) {
    static const struct validity_case cases[] = {
        {"a sound trace has no defect", OP(1000) FIVE_LAUNCHED KERNEL(7, 5010, 9, 5), DEFECT_NO_TIME, 0, 0, 0},
        {"a start at 0 is no start if operators start later", OP(1000) OP(2000) KERNEL(7, 0, 9, 1), DEFECT_NO_TIME, 1,
         1, NAN},
        {"but if most operators start at 0 or before", OP(-10) OP(0) OP(5) KERNEL(7, 0, 9, 1), DEFECT_NO_TIME, 0, 0, 0},
        {"or if there are none", KERNEL(7, 0, 9, 1) KERNEL(7, 20, 9, 1), DEFECT_NO_TIME, 0, 0, 0},
        {"missing and negative times are none",
         OP(1000) ACTIVITY("kernel", 0, 7, "\"ts\":1010,", 1, "") ACTIVITY("kernel", 0, 7, "\"dur\":5,", 1, "")
             KERNEL(7, 1020, -1, 1) KERNEL(7, -4, 5, 1),
         DEFECT_NO_TIME, 4, 4, NAN},
        {"a CPU event without a time is none of the GPU's",
         ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":9}", DEFECT_NO_TIME, 0, 0, 0},
        {"a CPU event at 0 has no start if all others are far from it", OP(5000) OP(5010) OP(0) KERNEL(7, 5020, 9, 1),
         DEFECT_HOST_NO_TIME, 1, 1, NAN},
        {"nor has one in nanoseconds",
         LAUNCH(70009000, 1) LAUNCH(70009100, 2) KERNEL(7, 70009010000, 9000, 1) KERNEL(7, 70009110000, 9000, 2),
         DEFECT_NO_TIME, 2, 2, NAN},
        {"but not if times count from the first event", OP(0) OP(500) KERNEL(7, 520, 900, 1), DEFECT_HOST_NO_TIME, 0, 0,
         0},
        {"nor has an event that starts days later than most, or ends so",
         FIVE_LAUNCHED KERNEL(7, 5010, 9, 5) OP(4e11) LONG_OP(1002, 4e11), DEFECT_HOST_NO_TIME, 2, 2, NAN},
        {"nor has a GPU activity", FIVE_LAUNCHED KERNEL(7, 4e11, 9, 5) KERNEL(8, 5020, 4e11, 5), DEFECT_NO_TIME, 2, 2,
         NAN},
        {"an hour is a queue delay, or a hang", FIVE_LAUNCHED KERNEL(7, 4e9, 9, 5) OP(4e9), DEFECT_NO_TIME, 0, 0, 0},
        {"a day is nothing to a trace of an hour", OP(1000) OP(2e9) OP(3e9) OP(4e9) KERNEL(7, 9e10, 9, 4),
         DEFECT_NO_TIME, 0, 0, 0},
        {"an activity early by more than 1 ms is unusable", FIVE_LAUNCHED KERNEL(7, 3999, 9, 5), DEFECT_BEFORE_LAUNCH,
         1, 1, 1001},
        {"up to 1 ms it is counted", FIVE_LAUNCHED KERNEL(7, 4000, 9, 5), DEFECT_BEFORE_LAUNCH, 1, 0, 1000},
        {"up to 1 us is rounding", FIVE_LAUNCHED KERNEL(7, 4999, 9, 5), DEFECT_BEFORE_LAUNCH, 0, 0, 0},
        {"the first of several calls counts", FIVE_LAUNCHED CALL("cuda_driver", 2000, 5) KERNEL(7, 2001, 9, 5),
         DEFECT_BEFORE_LAUNCH, 0, 0, 0},
        {"if nearly all are early, the clocks differ",
         LAUNCH(9000, 1) LAUNCH(9100, 2) KERNEL(7, 5000, 9, 1) KERNEL(7, 5100, 9, 2), DEFECT_DEVICE_CLOCK, 2, 0, 4000},
        {"so do they if nearly all start more than a minute late",
         LAUNCH(9000, 1) LAUNCH(9100, 2) KERNEL(7, 70009000, 9, 1) KERNEL(7, 70009100, 9, 2), DEFECT_DEVICE_CLOCK, 2, 0,
         7e7},
        {"even if it is days",
         LAUNCH(1000, 1) LAUNCH(1100, 2) LAUNCH(1200, 3) OP(999) KERNEL(7, 400000001000, 9, 1)
             KERNEL(7, 400000001100, 9, 2) KERNEL(7, 400000001200, 9, 3),
         DEFECT_DEVICE_CLOCK, 3, 0, 4e11},
        {"the second of equal activities is a duplicate", KERNEL(7, 10, 9, 1) KERNEL(7, 10, 9, 1) KERNEL(7, 30, 9, 2),
         DEFECT_DUPLICATE, 1, 1, NAN},
        {"also the third", KERNEL(7, 10, 9, 1) KERNEL(7, 10, 9, 1) KERNEL(7, 10, 9, 1), DEFECT_DUPLICATE, 2, 2, NAN},
        {"not with another duration, correlation or stream",
         KERNEL(7, 10, 2, 1) KERNEL(7, 10, 3, 1) KERNEL(7, 10, 2, 2) KERNEL(8, 10, 2, 1), DEFECT_DUPLICATE, 0, 0, 0},
        {"a kernel that runs over the next one of its stream", KERNEL(7, 100, 500, 1) KERNEL(7, 200, 50, 2),
         DEFECT_RUNS_OVER, 1, 0, 400},
        {"in any order of the file", KERNEL(7, 200, 50, 2) KERNEL(7, 100, 500, 1), DEFECT_RUNS_OVER, 1, 0, 400},
        {"so does a memcpy", COPY(7, 100, 500, 1) KERNEL(7, 200, 50, 2), DEFECT_RUNS_OVER, 1, 0, 400},
        {"10 us are programmatic dependent launch", KERNEL(7, 100, 30, 1) KERNEL(7, 120, 15, 2), DEFECT_RUNS_OVER, 0, 0,
         0},
        {"so are 20 % of the shorter kernel", KERNEL(7, 100, 300, 1) KERNEL(7, 360, 200, 2), DEFECT_RUNS_OVER, 0, 0, 0},
        {"kernels of graphs may overlap",
         GRAPHED(7, 100, 500, 1) KERNEL(7, 200, 50, 2) GRAPHED(7, 300, 500, 3) KERNEL(7, 400, 500, 4), DEFECT_RUNS_OVER,
         0, 0, 0},
        {"a kernel of a graph between two others hides no overlap",
         KERNEL(7, 100, 500, 1) GRAPHED(7, 200, 50, 2) KERNEL(7, 300, 50, 3), DEFECT_RUNS_OVER, 1, 0, 300},
        {"streams and devices are concurrent",
         KERNEL(7, 100, 500, 1) KERNEL(8, 200, 50, 2) ACTIVITY("kernel", 1, 7, AT(300, 50), 3, ""), DEFECT_RUNS_OVER, 0,
         0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_case(&cases[i]);
}

static double usable_us(const struct sutra_device_trace *trace, row_t event) {
    return number_as_double(number_at(trace->events.usable_dur, event));
}

static void ends_are_corrected_to_the_next_start(void **state) {
    struct sutra_device_trace *trace =
        read_events(KERNEL(7, 100, 500, 1) KERNEL(7, 180.25, 20, 2) KERNEL(7, 300, 50, 3));
    assert_true(usable_us(trace, 1) == 80.25);
    assert_true(number_as_double(number_at(trace->events.dur, 1)) == 500);
    assert_true(usable_us(trace, 2) == 20 && usable_us(trace, 3) == 50);
    sutra_device_trace_free(trace);
}

static void starts_are_read_with_all_decimals(void **state) {
    /* Doubles of this size are a quarter of a microsecond apart. */
    struct sutra_device_trace *trace =
        read_events(KERNEL(7, 1704161511420306.117, 500, 1) KERNEL(7, 1704161511420506.491, 20, 2));
    assert_true(fabs(usable_us(trace, 1) - 200.374) < 1e-9);
    sutra_device_trace_free(trace);
}

static void clock_difference_is_the_smallest_delay(void **state) {
    struct sutra_device_trace *trace =
        read_events(LAUNCH(9000, 1) LAUNCH(9100, 2) KERNEL(7, 8700, 9, 1) KERNEL(7, 8810, 9, 2));
    assert_true(trace->validity->clock_difference_us == -300);
    assert_true(validity_has_device_clock(trace->validity) && !validity_has_damaged_times(trace->validity));
    sutra_device_trace_free(trace);
}

/* 20 kernels of 10 us, of which the first have no time, and the last but one runs over the next one. */
static void more_than_5_percent_of_unusable_time_is_damage(void **state) {
    static const struct {
        int n_untimed, excess_us;
        bool is_damaged;
    } cases[] = {{0, 0, false}, {1, 0, false}, {2, 0, true}, {0, 15, true}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char events[4096] = "";
        size_t length = 0;
        for (int i = 0; i < 20; i++)
            length += (size_t)snprintf(events + length, sizeof events - length,
                                       ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"ts\":%d%s%d,"
                                       "\"args\":{\"stream\":7}}",
                                       1000 + 10 * i, i < cases[c].n_untimed ? ",\"x\":" : ",\"dur\":",
                                       i == 18 ? 10 + cases[c].excess_us : 10);
        struct sutra_device_trace *trace = read_events(events);
        assert_int_equal(trace->validity->defects[DEFECT_NO_TIME].count, cases[c].n_untimed);
        assert_int_equal(trace->validity->defects[DEFECT_RUNS_OVER].count, cases[c].excess_us > 0);
        assert_int_equal(validity_has_damaged_times(trace->validity), cases[c].is_damaged);
        sutra_device_trace_free(trace);
    }
}

static void messages_name_count_example_and_effect(void **state) {
    struct sutra_device_trace *trace = read_events(OP(1000) OP(4000) KERNEL(7, 0, 9, 1) KERNEL(7, 1010, 9, 2));
    assert_string_equal(defect_message(trace->validity, DEFECT_NO_TIME, "").text,
                        "1 of 2 GPU activities has no valid start time and duration (the first: 'k', event 3): "
                        "own analyses skip them; the other events span 3.0 ms");
    sutra_device_trace_free(trace);
    trace = read_events(KERNEL(7, 100, 500, 1) KERNEL(7, 200, 900, 2) KERNEL(7, 300, 20, 3));
    assert_string_equal(defect_message(trace->validity, DEFECT_RUNS_OVER, "ranks 0, 1").text,
                        "ranks 0, 1: 2 of 3 GPU activities run past the start of the next activity of their stream, by "
                        "1.200 ms in total (the first: 'k', event 1): own analyses end them at that start");
    sutra_device_trace_free(trace);
}

static void ranks_are_added(void **state) {
    struct sutra_device_trace *trace = read_events(KERNEL(7, 100, 500, 1) KERNEL(7, 200, 50, 2));
    struct trace_validity sum = {.n_activities = 0};
    for (int i = 0; i < 3; i++)
        validity_add(&sum, trace->validity);
    assert_int_equal(sum.n_activities, 6);
    assert_int_equal(sum.defects[DEFECT_RUNS_OVER].count, 3);
    assert_int_equal(sum.defects[DEFECT_RUNS_OVER].of, 6);
    assert_true(sum.defects[DEFECT_RUNS_OVER].largest_us == 400 && sum.gpu_us == 3 * 550);
    assert_string_equal(sum.defects[DEFECT_RUNS_OVER].example, "'k', event 1");
    sutra_device_trace_free(trace);
}

static void strict_contexts_fail_with_the_first_defect(void **state) {
    static const char text[] =
        "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"ts\":5}]}";
    struct sutra_device_trace *trace = NULL;
    struct sutra_error error;
    struct sutra_context *strict = NEW_CONTEXT(.n_threads = 1, .strict = true);
    assert_int_equal(sutra_device_trace_parse(strict, "trace", text, strlen(text), &trace, &error), SUTRA_STRICT);
    assert_null(trace);
    assert_non_null(strstr(error.message, "1 of 1 GPU activities has no valid start time"));
    sutra_context_free(strict);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_checked_by_rule),
        cmocka_unit_test(ends_are_corrected_to_the_next_start),
        cmocka_unit_test(starts_are_read_with_all_decimals),
        cmocka_unit_test(clock_difference_is_the_smallest_delay),
        cmocka_unit_test(more_than_5_percent_of_unusable_time_is_damage),
        cmocka_unit_test(messages_name_count_example_and_effect),
        cmocka_unit_test(ranks_are_added),
        cmocka_unit_test(strict_contexts_fail_with_the_first_defect),
    };
    return cmocka_run_group_tests(tests, make_context, free_context);
}
