/*
 * test_et_plus_timeline.c - tests measured times from ET+ alone: small traces with known launches and waits.
 */
#include "simulate/convert.h"
#include "sutra/sutra.h"
#include "unit.h"

/* A node of ET+ with times; kernels have a stream. */
struct timed {
    uint64_t id, parent;
    double start, lasts;
    int stream;       /* 0: an operator */
    const char *name; /* NULL: "op" or "kernel" */
    const char *sync; /* its sync_dep, or NULL */
    int tid;          /* 0: 1 */
};

/* Further members may follow. */
#define OP(i, begin, us, ...)                                                                                          \
    { .id = (i), .parent = 1, .start = (begin), .lasts = (us), ##__VA_ARGS__ }
#define KERNEL(i, below, begin, us, ...)                                                                               \
    { .id = (i), .parent = (below), .start = (begin), .lasts = (us), .stream = 7, ##__VA_ARGS__ }

#define EMPTY_IO "{\"values\": [], \"shapes\": [], \"types\": []}"

static char *text_of(const struct timed *nodes, size_t n) {
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    fprintf(file, "{\"schema\": \"1.1.1-chakra.0.0.4\", \"pid\": 5, \"time\": \"now\", \"start_ts\": 1, "
                  "\"finish_ts\": 2, \"nodes\": [{\"id\": 1, \"name\": \"[pytorch|profiler|execution_trace|thread]\", "
                  "\"ctrl_deps\": 1, \"inputs\": " EMPTY_IO ", \"outputs\": " EMPTY_IO ", \"attrs\": []}");
    for (size_t i = 0; i < n; i++) {
        const char *name = nodes[i].name ? nodes[i].name : nodes[i].stream ? "kernel" : "op";
        fprintf(file, ",{\"id\": %d, \"name\": \"%s\", \"ctrl_deps\": %d", (int)nodes[i].id, name,
                (int)nodes[i].parent);
        fprintf(file, ", \"inputs\": " EMPTY_IO ", \"outputs\": " EMPTY_IO);
        fprintf(file, ", \"attrs\": [{\"name\": \"tid\", \"value\": %d}]", nodes[i].tid ? nodes[i].tid : 1);
        if (nodes[i].start >= 0)
            fprintf(file, ", \"ts\": %.3f, \"inclusive_dur\": %.3f, \"exclusive_dur\": 1", nodes[i].start,
                    nodes[i].lasts);
        if (nodes[i].stream)
            fprintf(file, ", \"cat\": \"kernel\", \"stream\": %d", nodes[i].stream);
        if (nodes[i].sync)
            fprintf(file, ", \"sync_dep\": %s", nodes[i].sync);
        fputs("}", file);
    }
    fputs("]}", file);
    assert_int_equal(fclose(file), 0);
    return text;
}

struct outcome {
    struct sutra_context *context;
    struct sutra_converted *converted;
    struct sutra_faithful_report report;
    struct sutra_error error;
    enum sutra_status status;
};

static struct outcome make(const struct timed *nodes, size_t n, bool keep_times) {
    struct outcome outcome = {.report.size = sizeof outcome.report};
    const struct sutra_convert_options options = {.size = sizeof options, .keep_times = keep_times};
    char *text = text_of(nodes, n);
    outcome.context = NEW_CONTEXT();
    outcome.status =
        sutra_convert_parse(outcome.context, "plus", text, strlen(text), &options, &outcome.converted, &outcome.error);
    if (outcome.status == SUTRA_OK)
        outcome.status = sutra_converted_run_faithful(outcome.context, outcome.converted, NULL, NULL, &outcome.report,
                                                      &outcome.error);
    free(text);
    return outcome;
}

#define MAKE(nodes) make(nodes, sizeof(nodes) / sizeof *(nodes), true)

static void end(struct outcome *outcome) {
    sutra_converted_free(outcome->converted);
    sutra_context_free(outcome->context);
}

/* All nodes run, in the measured time. */
static void check_time(const struct outcome *outcome, double us) {
    assert_int_equal(outcome->status, SUTRA_OK);
    assert_int_equal(outcome->report.n_never_ran, 0);
    assert_true(outcome->report.measured_us == us);
    assert_true(outcome->report.simulated_us >= us && outcome->report.simulated_us <= us + 1);
}

static row_t find(const struct et_nodes *nodes, uint64_t id) {
    for (row_t node = 0; node < nodes->n; node++)
        if (nodes->id[node] == id)
            return node;
    fail_msg("there is no node %d", (int)id);
    return ROW_NONE;
}

/* A node's duration, and the nodes on which it depends as text: "4 5". */
static void check_node(const struct outcome *outcome, uint64_t id, uint64_t duration_us, const char *deps) {
    const struct et_nodes *nodes = &outcome->converted->nodes;
    char text[100] = "";
    size_t n = 0;
    row_t node = find(nodes, id);
    assert_int_equal(nodes->duration_us[node], duration_us);
    for (uint64_t i = nodes->data.first[node]; i < nodes->data.first[node + 1]; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%d", n ? " " : "", (int)nodes->data.ids[i]);
    assert_string_equal(text, deps);
}

static void a_kernel_is_launched_where_it_starts_if_the_stream_was_idle(void **state) {
    const struct timed nodes[] = {OP(2, 0, 100), OP(3, 100, 100), KERNEL(4, 2, 60, 100)};
    struct outcome outcome = MAKE(nodes);
    check_time(&outcome, 200);
    check_node(&outcome, 2, 60, ""); /* split at the launch; the rest is node 5 */
    check_node(&outcome, 5, 40, "2");
    check_node(&outcome, 4, 100, "2");
    end(&outcome);
}

static void a_kernel_that_waits_in_its_stream_is_launched_early_in_its_operator(void **state) {
    const struct timed nodes[] = {
        OP(2, 0, 50), OP(3, 60, 40), OP(4, 300, 50), KERNEL(5, 2, 10, 190), KERNEL(6, 3, 200, 100),
    };
    struct outcome outcome = MAKE(nodes);
    check_time(&outcome, 350);
    check_node(&outcome, 6, 100, "3 5");
    end(&outcome);
}

static void sync_dep_is_a_wait_where_nothing_began_in_between(void **state) {
    struct timed nodes[] = {OP(2, 0, 50), OP(3, 450, 50, .sync = "[4]"), KERNEL(4, 2, 40, 360), OP(5, 600, 50)};
    struct outcome outcome = MAKE(nodes);
    check_time(&outcome, 650);
    assert_int_equal(outcome.report.n_waits, 1);
    check_node(&outcome, 7, 50, "4 6"); /* the gap after the kernel: 6 is the rest of operator 2 */
    end(&outcome);
    nodes[1].sync = NULL;
    outcome = MAKE(nodes);
    check_time(&outcome, 650);
    assert_int_equal(outcome.report.n_waits, 0);
    end(&outcome);
    nodes[1].sync = NULL, nodes[3].sync = "[4]"; /* operator 3 began in between */
    outcome = MAKE(nodes);
    check_time(&outcome, 650);
    assert_int_equal(outcome.report.n_waits, 0);
    end(&outcome);
}

static void a_sync_dep_that_names_no_kernel_does_not_count(void **state) {
    static const char *const lists[] = {"[]", "[3]", "[99, \"4\", null, -4, [4]]", "null", "4", "{\"4\": 4}"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const struct timed nodes[] = {OP(2, 0, 50), OP(3, 450, 50, .sync = lists[i]), KERNEL(4, 2, 40, 360)};
        struct outcome outcome = MAKE(nodes);
        check_time(&outcome, 500);
        assert_int_equal(outcome.report.n_waits, 0);
        end(&outcome);
    }
}

static void long_interval_ending_with_a_kernel_is_a_wait(void **state) {
    const struct timed nodes[] = {OP(2, 0, 50), OP(3, 450, 50), KERNEL(4, 2, 40, 390)};
    struct outcome outcome = MAKE(nodes);
    check_time(&outcome, 500);
    assert_int_equal(outcome.report.n_waits, 1);
    end(&outcome);
    const struct timed other[] = {OP(2, 0, 50), OP(3, 450, 50), KERNEL(4, 2, 40, 390), OP(5, 100, 50, .tid = 2)};
    outcome = MAKE(other);
    check_time(&outcome, 500);
    assert_int_equal(outcome.report.n_waits, 1); /* from the other thread's end on */
    end(&outcome);
}

static void a_pageable_copy_blocks_its_operator(void **state) {
    const struct timed nodes[] = {OP(2, 0, 300), KERNEL(3, 2, 20, 200, .name = "Memcpy HtoD (Pageable -> Device)"),
                                  OP(4, 300, 10)};
    struct outcome outcome = MAKE(nodes);
    check_time(&outcome, 310);
    assert_int_equal(outcome.report.n_pageable_copies, 1);
    end(&outcome);
}

static void kernels_without_a_timed_operator_use_the_cpu_clock(void **state) {
    const struct timed nodes[] = {OP(2, -1, 0), KERNEL(3, 2, 20, 200), OP(4, 0, 10), OP(5, 300, 10)};
    struct outcome outcome = MAKE(nodes);
    check_time(&outcome, 310);
    check_node(&outcome, 2, 0, "");
    end(&outcome);
}

static void trace_without_times_is_an_error(void **state) {
    const struct timed nodes[] = {OP(2, -1, 0), OP(3, -1, 0)};
    struct outcome outcome = MAKE(nodes);
    assert_int_equal(outcome.status, SUTRA_DATA);
    assert_non_null(strstr(outcome.error.message, "no node has a start time and a duration"));
    end(&outcome);
    outcome = make(nodes, 2, false);
    assert_int_equal(outcome.status, SUTRA_USAGE);
    end(&outcome);
}

static uint64_t random_next(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Some operators, then kernels below them, or below other kernels. */
static size_t draw(uint64_t *seed, bool is_causal, struct timed *nodes, char (*sync)[16]) {
    size_t n_ops = 2 + random_next(seed) % 10, n = n_ops + random_next(seed) % 12;
    for (size_t i = 0; i < n; i++) {
        bool kernel = i >= n_ops;
        size_t below = random_next(seed) % (is_causal ? n_ops : i + 1);
        double from = kernel && is_causal ? nodes[below].start : 0;
        snprintf(sync[i], sizeof sync[i], "[%d]", (int)(2 + random_next(seed) % n));
        nodes[i] = (struct timed){.id = i + 2,
                                  .parent = kernel ? 2 + below : 1,
                                  .start = from + (double)(random_next(seed) % 1000) / 2,
                                  .lasts = (double)(random_next(seed) % 400) / 2,
                                  .stream = kernel ? 7 + (int)(random_next(seed) % 2) : 0,
                                  .name = random_next(seed) % 3 ? NULL : "Memcpy DtoH (Device -> Pageable)",
                                  .sync = kernel || random_next(seed) % 2 ? NULL : sync[i],
                                  .tid = 1 + (int)(random_next(seed) % 2)};
    }
    return n;
}

/* No ring, whatever the times are, streams whose kernels overlap among them; and, where nothing runs before what
 * launched it, the measured time, but for what is not worth a cut and what nothing explains. */
static void random_times_are_kept(void **state) {
    uint64_t seed = 11;
    for (int round = 0; round < 400; round++) {
        struct timed nodes[24];
        char sync[24][16];
        size_t n = draw(&seed, round % 2, nodes, sync);
        struct outcome outcome = make(nodes, n, true);
        double slack = 3.5 + 3 * (double)outcome.report.n_waits + outcome.report.late_us;
        double departs = outcome.report.simulated_us - outcome.report.measured_us;
        assert_int_equal(outcome.status, SUTRA_OK);
        assert_int_equal(outcome.report.n_never_ran, 0);
        if (round % 2 && (departs < -slack || departs > slack))
            fail_msg("round %d: %f us simulated, %f us measured", round, outcome.report.simulated_us,
                     outcome.report.measured_us);
        end(&outcome);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_is_launched_where_it_starts_if_the_stream_was_idle),
        cmocka_unit_test(a_kernel_that_waits_in_its_stream_is_launched_early_in_its_operator),
        cmocka_unit_test(sync_dep_is_a_wait_where_nothing_began_in_between),
        cmocka_unit_test(a_sync_dep_that_names_no_kernel_does_not_count),
        cmocka_unit_test(long_interval_ending_with_a_kernel_is_a_wait),
        cmocka_unit_test(a_pageable_copy_blocks_its_operator),
        cmocka_unit_test(kernels_without_a_timed_operator_use_the_cpu_clock),
        cmocka_unit_test(trace_without_times_is_an_error),
        cmocka_unit_test(random_times_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
