/*
 * test_begin_end.c - tests B and E events of Chrome traces: the reader pairs them as complete events.
 */
#include "parse_case.h"
#include "read/device_trace.h"
#include "unit.h"

static char warning[400];

static void on_warning(void *arg, const char *text) {
    (void)arg;
    snprintf(warning, sizeof warning, "%s", text);
}

/* Reads a trace and keeps its last warning. */
static struct sutra_device_trace *parse(struct sutra_context *context, const char *text) {
    struct sutra_device_trace *trace = NULL;
    context->options.warning = on_warning;
    *warning = 0;
    assert_int_equal(sutra_device_trace_parse(context, "trace", text, strlen(text), &trace, NULL), SUTRA_OK);
    return trace;
}

#define NO_DUR -1

struct expected_row {
    char phase;
    double dur; /* NO_DUR: none */
    row_t begin;
};

static void events_of_a_thread_are_paired_as_a_stack(void **state) {
    static const struct {
        const char *name, *events;
        struct expected_row rows[6];
        const char *warning;
    } cases[] = {
        {"nested",
         "{\"ph\":\"B\",\"tid\":1,\"ts\":10},{\"ph\":\"B\",\"tid\":1,\"ts\":20},{\"ph\":\"E\",\"tid\":1,\"ts\":50},"
         "{\"ph\":\"E\",\"tid\":1,\"ts\":90}",
         {{'X', 80, ROW_NONE}, {'X', 30, ROW_NONE}, {PHASE_END, NO_DUR, 1}, {PHASE_END, NO_DUR, 0}},
         "trace: 2 pairs of B and E events: read as complete events"},
        {"threads and processes are apart, other events stay",
         "{\"ph\":\"B\",\"tid\":1,\"ts\":10},{\"ph\":\"B\",\"tid\":2,\"ts\":20},{\"ph\":\"i\",\"tid\":1,\"ts\":25},"
         "{\"ph\":\"E\",\"tid\":1,\"ts\":50},{\"ph\":\"E\",\"pid\":3,\"tid\":2,\"ts\":60},"
         "{\"ph\":\"E\",\"tid\":2,\"ts\":70}",
         {{'X', 40, ROW_NONE},
          {'X', 50, ROW_NONE},
          {'i', NO_DUR, ROW_NONE},
          {PHASE_END, NO_DUR, 0},
          {PHASE_END, NO_DUR, ROW_NONE},
          {PHASE_END, NO_DUR, 1}},
         "trace: 1 E event has no B event: skipped"},
        {"an open event ends with the trace",
         "{\"ph\":\"B\",\"tid\":1,\"ts\":10},{\"ph\":\"B\",\"tid\":1,\"ts\":12},{\"ph\":\"X\",\"tid\":2,\"ts\":20,"
         "\"dur\":30},{\"ph\":\"M\",\"ts\":99},{\"ph\":\"i\",\"ts\":15}",
         {{'X', 40, ROW_NONE},
          {'X', 38, ROW_NONE},
          {'X', 30, ROW_NONE},
          {'M', NO_DUR, ROW_NONE},
          {'i', NO_DUR, ROW_NONE}},
         "trace: 2 of 2 B events have no E event: they end with the trace"},
        {"an E event without a B event does not extend the trace",
         "{\"ph\":\"E\",\"tid\":1,\"ts\":5},{\"ph\":\"B\",\"tid\":1,\"ts\":10},{\"ph\":\"E\",\"tid\":2,\"ts\":80},"
         "{\"ph\":\"X\",\"tid\":3,\"ts\":20,\"dur\":5}",
         {{PHASE_END, NO_DUR, ROW_NONE}, {'X', 15, ROW_NONE}, {PHASE_END, NO_DUR, ROW_NONE}, {'X', 5, ROW_NONE}},
         "trace: 1 of 1 B event has no E event: it ends with the trace; 2 E events have no B event: skipped"},
        {"times that descend decide",
         "{\"ph\":\"E\",\"tid\":1,\"ts\":50},{\"ph\":\"B\",\"tid\":1,\"ts\":60},{\"ph\":\"B\",\"tid\":1,\"ts\":10},"
         "{\"ph\":\"E\",\"tid\":1,\"ts\":75}",
         {{PHASE_END, NO_DUR, 2}, {'X', 15, ROW_NONE}, {'X', 40, ROW_NONE}, {PHASE_END, NO_DUR, 1}},
         "trace: 2 pairs of B and E events: read as complete events"},
        {"equal times keep the order of the file",
         "{\"ph\":\"B\",\"tid\":1,\"ts\":10},{\"ph\":\"E\",\"tid\":1,\"ts\":10},{\"ph\":\"B\",\"tid\":1,\"ts\":10},"
         "{\"ph\":\"E\",\"tid\":1,\"ts\":20}",
         {{'X', 0, ROW_NONE}, {PHASE_END, NO_DUR, 0}, {'X', 10, ROW_NONE}, {PHASE_END, NO_DUR, 2}},
         "trace: 2 pairs of B and E events: read as complete events"},
        {"without a time there is no duration",
         "{\"ph\":\"B\",\"tid\":1,\"dur\":7},{\"ph\":\"E\",\"tid\":1,\"ts\":10},{\"ph\":\"B\",\"tid\":1,\"ts\":20},"
         "{\"ph\":\"E\",\"tid\":1}",
         {{'X', 7, ROW_NONE}, {PHASE_END, NO_DUR, 0}, {'X', NO_DUR, ROW_NONE}, {PHASE_END, NO_DUR, 2}},
         "trace: 2 pairs of B and E events: read as complete events"},
        {"a duration of a B event does not count",
         "{\"ph\":\"B\",\"tid\":1,\"ts\":1,\"dur\":7},{\"ph\":\"E\",\"tid\":1,\"ts\":11,\"dur\":3}",
         {{'X', 10, ROW_NONE}, {PHASE_END, NO_DUR, 0}},
         "trace: 1 pair of a B and an E event: read as complete events"},
        {"traces without such events have no column", "{\"ph\":\"X\",\"ts\":1,\"dur\":2}", {{'X', 2, ROW_NONE}}, ""},
    };
    struct sutra_context *context = make_parts_context(1, SIZE_MAX / 2, false);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[800];
        snprintf(text, sizeof text, "{\"traceEvents\": [%s]}", cases[i].events);
        struct sutra_device_trace *trace = parse(context, text);
        const struct device_events *events = &trace->events;
        print_message("%s\n", cases[i].name);
        assert_string_equal(warning, cases[i].warning);
        assert_int_equal(!*warning, !events->begin);
        for (row_t row = 0; row < events->n; row++) {
            const struct expected_row *expected = &cases[i].rows[row];
            assert_int_equal(events->phase[row], expected->phase);
            assert_int_equal(!(events->flags[row] & EVENT_HAS_DUR), expected->dur == NO_DUR);
            if (expected->dur != NO_DUR)
                assert_true(number_as_double(number_at(events->dur, row)) == expected->dur);
            if (events->begin)
                assert_int_equal(events->begin[row], expected->begin);
        }
        sutra_device_trace_free(trace);
    }
    sutra_context_free(context);
}

/* Integers stay integers, also beyond the range of doubles; doubles of epoch times keep their nanoseconds. */
static void durations_are_exact(void **state) {
    static const struct {
        const char *begin, *end;
        struct number dur;
    } cases[] = {
        {"9007199254740993", "9007199254740996", {3, NUMBER_INTEGER}},
        {"1", "2.5", {0, NUMBER_DOUBLE}},
        {"1704161511420306.491", "1704161511420318.498", {0, NUMBER_DOUBLE}},
        {"\"1704161511420306.491\"", "\"1704161511420318.498\"", {0, NUMBER_DOUBLE}},
    };
    static const double doubles[] = {0, 1.5, 12.007, 12.007};
    struct sutra_context *context = make_parts_context(1, SIZE_MAX / 2, false);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400];
        snprintf(text, sizeof text, "[{\"ph\":\"B\",\"ts\":%s},{\"ph\":\"E\",\"ts\":%s}]", cases[i].begin,
                 cases[i].end);
        struct sutra_device_trace *trace = parse(context, text);
        struct number dur = number_at(trace->events.dur, 0);
        assert_int_equal(dur.kind, cases[i].dur.kind);
        if (cases[i].dur.kind == NUMBER_INTEGER)
            assert_int_equal(dur.bits, cases[i].dur.bits);
        else
            assert_true(number_as_double(dur) == doubles[i]);
        sutra_device_trace_free(trace);
    }
    sutra_context_free(context);
}

/* The arguments of the B event count; the E event has a thread and a time only. */
static void end_events_are_no_operators(void **state) {
    struct sutra_context *context = make_parts_context(1, SIZE_MAX / 2, false);
    struct sutra_device_trace *trace = parse(
        context, "[{\"ph\":\"B\",\"ts\":1,\"cat\":\"kernel\",\"name\":\"k\",\"args\":{\"correlation\":5,\"stream\":7}},"
                 "{\"ph\":\"E\",\"ts\":4,\"cat\":\"kernel\",\"name\":\"k\",\"args\":{\"correlation\":6,\"stream\":8,"
                 "\"device\":1,\"External id\":9,\"Record function id\":3}}]");
    const struct device_events *events = &trace->events;
    struct sutra_device_summary summary = {.size = sizeof summary};
    assert_int_equal(events->correlation[0], 5);
    assert_int_equal(events->stream[0], 7);
    assert_string_equal(strings_text(&trace->strings, events->name[1]), "");
    assert_string_equal(strings_text(&trace->strings, events->category[1]), "");
    assert_int_equal(events->correlation[1], -1);
    assert_int_equal(events->external[1], -1);
    assert_true(events->rf[1] == KEY_NULL && events->stream[1] == KEY_ABSENT);
    assert_int_equal(sutra_device_trace_summary(context, trace, &summary, NULL), SUTRA_OK);
    assert_int_equal(summary.n_gpu_ops, 1);
    sutra_device_trace_free(trace);
    sutra_context_free(context);
}

/* Random events of three threads equal a plain stack, in the order of their times and shuffled. */
static void random_events_equal_a_plain_stack(void **state) {
    enum { N = 200, N_THREADS = 3 };
    struct random dice = {20260};
    print_message("seed %llu\n", (unsigned long long)dice.state);
    struct sutra_context *context = make_parts_context(2, 100, false);
    for (int round = 0; round < 50; round++) {
        struct buffer text = {0};
        uint32_t order[N], thread[N], end[N], stack[N_THREADS][N], height[N_THREADS] = {0}, last = 0;
        bool is_begin[N];
        for (uint32_t i = 0; i < N; i++) { /* event i is at time i */
            thread[i] = random_below(&dice, N_THREADS);
            is_begin[i] = random_below(&dice, 2);
            order[i] = i;
            end[i] = UINT32_MAX; /* the end of the trace */
            uint32_t *n = &height[thread[i]];
            if (is_begin[i])
                stack[thread[i]][(*n)++] = i;
            else if (*n)
                end[stack[thread[i]][--*n]] = i;
            else
                continue;
            last = i;
        }
        for (uint32_t i = N - 1; i > 0 && round % 2; i--) {
            uint32_t other = random_below(&dice, i + 1), swapped = order[i];
            order[i] = order[other];
            order[other] = swapped;
        }
        add(&text, "{\"traceEvents\": [");
        for (uint32_t i = 0; i < N; i++)
            buffer_format(&text, "%s{\"ph\": \"%s\", \"pid\": 1, \"tid\": %u, \"ts\": %u}", i ? ", " : "",
                          is_begin[order[i]] ? "B" : "E", thread[order[i]], order[i]);
        add(&text, "]}");
        buffer_append(&text, "", 1);
        struct sutra_device_trace *trace = parse(context, text.bytes);
        for (uint32_t row = 0; row < N; row++) {
            uint32_t event = order[row];
            assert_int_equal(trace->events.phase[row], is_begin[event] ? 'X' : PHASE_END);
            if (is_begin[event])
                assert_int_equal(number_at(trace->events.dur, row).bits,
                                 (end[event] == UINT32_MAX ? last : end[event]) - event);
        }
        sutra_device_trace_free(trace);
        buffer_free(&text);
    }
    sutra_context_free(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_of_a_thread_are_paired_as_a_stack),
        cmocka_unit_test(durations_are_exact),
        cmocka_unit_test(end_events_are_no_operators),
        cmocka_unit_test(random_events_equal_a_plain_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
