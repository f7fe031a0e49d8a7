/*
 * test_path_map.c - tests results of a critical path: the map of external ids, the breakdown and the API functions;
 * deeply nested traces do not overflow the stack.
 */
#include "critical_path/path.h"
#include "path_table.h"
#include "unit.h"

#define BASE                                                                                                           \
    "user_annotation ProfilerStep#1 ts=0+100; cudaLaunchKernel ts=10+2 correlation=7; "                                \
    "kernel k stream=20 ts=15+5 correlation=7; "

/* ---- The map ---- */

static const struct map_case {
    const char *name, *trace;
    row_t n;
    value_key end, start;
} map_cases[] = {
    {"the end's external id leads to the start's",
     STEP_1 "cudaLaunchKernel ts=10+2 correlation=7; "
            "kernel k stream=20 ts=15+5 correlation=7 'External id'=3; "
            "cudaStreamSynchronize ts=13+10 correlation=8 'External id'=4; "
            "cuda_sync 'Stream Sync' stream=20 ts=14+7 correlation=8; cpu_op after ts=50+60; " SOME_OP,
     1, 4, 3},
    {"equal ids give no entry",
     STEP_1 "cudaLaunchKernel ts=10+2 correlation=7; "
            "kernel k stream=20 ts=15+5 correlation=7 'External id'=3; "
            "cudaStreamSynchronize ts=13+10 correlation=8 'External id'=3.0; "
            "cuda_sync 'Stream Sync' stream=20 ts=14+7 correlation=8; cpu_op after ts=50+60; " SOME_OP,
     0, 0, 0},
    {"a start without an id gives no entry",
     STEP_1 "cudaLaunchKernel ts=10+2 correlation=7; kernel k stream=20 ts=15+5 correlation=7; "
            "cudaStreamSynchronize ts=13+10 correlation=8 'External id'=4; "
            "cuda_sync 'Stream Sync' stream=20 ts=14+7 correlation=8; cpu_op after ts=50+60; " SOME_OP,
     0, 0, 0},
    {"an end without an id gives no entry",
     STEP_1 "cudaLaunchKernel ts=10+2 correlation=7; "
            "kernel k stream=20 ts=15+5 correlation=7 'External id'=4; cudaStreamSynchronize ts=13+10 correlation=8; "
            "cuda_sync 'Stream Sync' stream=20 ts=14+7 correlation=8; cpu_op after ts=50+60; " SOME_OP,
     0, 0, 0},
};

static void gives_its_map(void **state) {
    const struct map_case *of = *state;
    struct sutra_context *context = make_context();
    struct sutra_device_trace *trace = parse_trace(context, of->trace);
    struct sync_map map;
    struct path_verdict verdict;
    assert_int_equal(sync_map_find(&map, context, trace, &verdict, NULL), SUTRA_OK);
    assert_string_equal(verdict.reason, "");
    assert_int_equal(map.n, of->n);
    if (map.n) {
        assert_true(map.end[0] == of->end);
        assert_true(map.start[0] == of->start);
    }
    sync_map_free(&map);
    sutra_device_trace_free(trace);
    sutra_context_free(context);
}

static void string_differs_from_the_number_that_it_contains(void **state) {
    struct sutra_context *context = make_context();
    struct sutra_device_trace *trace = parse_trace(
        context, STEP_1 "cudaLaunchKernel ts=10+2 correlation=7; "
                        "kernel k stream=20 ts=15+5 correlation=7 'External id'=4; "
                        "cudaStreamSynchronize ts=13+10 correlation=8 'External id'='4'; "
                        "cuda_sync 'Stream Sync' stream=20 ts=14+7 correlation=8; cpu_op after ts=50+60; " SOME_OP);
    struct sync_map map;
    struct path_verdict verdict;
    assert_int_equal(sync_map_find(&map, context, trace, &verdict, NULL), SUTRA_OK);
    assert_int_equal(map.n, 1);
    assert_false(key_is_integer(map.end[0]));
    assert_true(map.start[0] == 4);
    sync_map_free(&map);
    sutra_device_trace_free(trace);
    sutra_context_free(context);
}

/* ---- Sizes ---- */

/* Operators each inside the one before. */
static void deeply_nested_operators_are_mapped(void **state) {
    const unsigned depth = 200000;
    char *text = malloc((size_t)depth * 40 + 1000), *end = text;
    assert_non_null(text);
    end += sprintf(end, "user_annotation ProfilerStep#1 ts=0+500000;");
    for (unsigned i = 0; i < depth; i++)
        end += sprintf(end, "cpu_op a ts=%u+%u;", i, 500000 - 2 * i);
    strcpy(end, "cudaLaunchKernel ts=499990+2 correlation=7; kernel k stream=20 ts=600000+5 correlation=7");
    struct sutra_context *context = make_context();
    struct sutra_device_trace *trace = parse_trace(context, text);
    const struct path_rules rules = {.annotation = "ProfilerStep"};
    struct path_search search;
    assert_int_equal(path_search_run(&search, context, trace, &rules, NULL), SUTRA_OK);
    assert_int_equal(search.verdict.outcome, OUTCOME_PATH);
    /* The launch begins before the last ten operators end. */
    assert_int_equal(search.graph.n_pairs, depth + 2);
    assert_int_equal(search.path.n, 2 * depth + 3 - 10);
    path_search_free(&search);
    sutra_device_trace_free(trace);
    sutra_context_free(context);
    free(text);
}

/* ---- The library's functions ---- */

static struct sutra_critical_path *find_path(struct sutra_context *context, const struct sutra_device_trace *trace,
                                             const char *annotation, uint64_t instance, enum sutra_status expected) {
    const struct sutra_critical_path_options options = {
        .size = sizeof options, .annotation = annotation, .instance = instance};
    struct sutra_critical_path *path = NULL;
    struct sutra_error error;
    assert_int_equal(sutra_critical_path_find(context, trace, &options, &path, &error), expected);
    return path;
}

static void the_breakdown_adds_up(void **state) {
    struct sutra_context *context = make_context();
    struct sutra_device_trace *trace = parse_trace(
        context, STEP_1
        "cpu_op a ts=5+10; cudaLaunchKernel ts=7+2 correlation=7; "
        "kernel ncclDevKernel_AllReduce stream=20 ts=15+6 correlation=7; cudaLaunchKernel ts=20+2 correlation=8; "
        "gpu_memcpy 'Memcpy DtoH' stream=20 ts=24+30 correlation=8; " SOME_OP);
    struct sutra_critical_path *path = find_path(context, trace, NULL, 0, SUTRA_OK);
    struct sutra_critical_path_report report = {.size = sizeof report};
    sutra_critical_path_report(path, &report);
    assert_false(report.extended);
    assert_string_equal(report.reason, "");
    /* a 5-7, launch delay 7-15, all-reduce 15-21, kernel delay 21-24, copy 24-54 */
    assert_float_equal(report.us, 49, 0);
    assert_float_equal(report.kind_us[SUTRA_PATH_OPERATOR], 2, 0);
    assert_float_equal(report.kind_us[SUTRA_PATH_LAUNCH_DELAY], 8, 0);
    assert_float_equal(report.kind_us[SUTRA_PATH_KERNEL_DELAY], 3, 0);
    assert_float_equal(report.kind_us[SUTRA_PATH_KERNEL], 36, 0);
    assert_float_equal(report.communication_us, 6, 0);
    assert_float_equal(report.memory_us, 30, 0);
    assert_float_equal(report.compute_us, 0, 0);
    assert_int_equal(report.n_shares, 5);
    assert_string_equal(report.shares[0].name, "a");
    assert_string_equal(report.shares[1].name, "Memcpy DtoH");
    sutra_critical_path_free(path);
    sutra_device_trace_free(trace);
    sutra_context_free(context);
}

static void time_between_nested_operators_belongs_to_the_enclosing_operator(void **state) {
    struct sutra_context *context = make_context();
    struct sutra_device_trace *trace =
        parse_trace(context, BASE "cpu_op a ts=30+60; cpu_op b ts=35+10; cpu_op b ts=50+10; " SOME_OP);
    struct sutra_critical_path *path = find_path(context, trace, NULL, 0, SUTRA_OK);
    struct sutra_critical_path_report report = {.size = sizeof report};
    sutra_critical_path_report(path, &report);
    assert_string_equal(report.shares[0].name, "a");
    assert_float_equal(report.shares[0].us, 40, 0);
    assert_string_equal(report.shares[1].name, "b");
    assert_float_equal(report.shares[1].us, 20, 0);
    sutra_critical_path_free(path);
    sutra_device_trace_free(trace);
    sutra_context_free(context);
}

static void instances_are_counted_from_0(void **state) {
    struct sutra_context *context = make_context();
    struct sutra_device_trace *trace = parse_trace(
        context, BASE "user_annotation span ts=0+1; user_annotation span ts=30+20; cpu_op a ts=31+10; " SOME_OP);
    struct sutra_critical_path *path = find_path(context, trace, "span", 1, SUTRA_OK);
    struct sutra_critical_path_report report = {.size = sizeof report};
    sutra_critical_path_report(path, &report);
    assert_int_equal(report.n_path_nodes, 2);
    assert_float_equal(report.us, 10, 0);
    sutra_critical_path_free(path);
    assert_null(find_path(context, trace, "span", 2, SUTRA_DATA));
    assert_null(find_path(context, trace, "nothing", 0, SUTRA_DATA));
    sutra_device_trace_free(trace);
    sutra_context_free(context);
}

static void extended_rules_apply_where_hta_fails(void **state) {
    struct sutra_context *context = make_context();
    struct sutra_device_trace *trace = parse_trace(
        context,
        "cpu_op b ts=0+9; cudaLaunchKernel ts=1+2 correlation=7; kernel k stream=0 ts=15+5 correlation=7; " SOME_OP);
    struct sutra_critical_path *path = find_path(context, trace, NULL, 0, SUTRA_OK);
    struct sutra_critical_path_report report = {.size = sizeof report};
    sutra_critical_path_report(path, &report);
    assert_true(report.extended);
    assert_string_equal(report.reason, "no event name contains \"ProfilerStep\"");
    assert_float_equal(report.us, 20, 0);
    sutra_critical_path_free(path);
    sutra_device_trace_free(trace);
    sutra_context_free(context);
}

static void extended_rules_apply_with_stream_0(void **state) {
    struct sutra_context *context = make_context();
    struct sutra_device_trace *trace = parse_trace(
        context, BASE "cudaLaunchKernel ts=20+2 correlation=8; kernel k stream=0 ts=30+50 correlation=8; " SOME_OP);
    struct sutra_critical_path *path = find_path(context, trace, NULL, 0, SUTRA_OK);
    struct sutra_critical_path_report report = {.size = sizeof report};
    sutra_critical_path_report(path, &report);
    assert_true(report.extended);
    assert_string_equal(report.reason, "");
    assert_float_equal(report.us, 62, 0); /* launch 10-12, launch 20-30, kernel 30-80 */
    sutra_critical_path_free(path);
    sutra_device_trace_free(trace);
    sutra_context_free(context);
}

/* The window that extended rules prefer, on the CPU, is empty here. */
static void hta_window_is_used_if_only_it_has_a_path(void **state) {
    struct sutra_context *context = make_context();
    struct sutra_device_trace *trace = parse_trace(
        context,
        "gpu_user_annotation ProfilerStep#1 stream=20 ts=0+100 correlation=99; "
        "cudaLaunchKernel ts=10+2 correlation=7; kernel k stream=20 ts=15+5 correlation=7; "
        "user_annotation ProfilerStep#1 ts=500+1; kernel k stream=0 ts=30+5 correlation=98; cpu_op o tid=9 ts=50+1");
    struct sutra_critical_path *path = find_path(context, trace, NULL, 0, SUTRA_OK);
    struct sutra_critical_path_report report = {.size = sizeof report};
    sutra_critical_path_report(path, &report);
    assert_false(report.extended);
    assert_float_equal(report.us, 10, 0);
    sutra_critical_path_free(path);
    sutra_device_trace_free(trace);
    sutra_context_free(context);
}

#define COUNT(table) (sizeof(table) / sizeof *(table))

static int run_map_table(void) {
    struct CMUnitTest tests[COUNT(map_cases)];
    for (size_t i = 0; i < COUNT(map_cases); i++)
        tests[i] = (struct CMUnitTest){map_cases[i].name, gives_its_map, NULL, NULL, (void *)(uintptr_t)&map_cases[i]};
    return _cmocka_run_group_tests("map", tests, COUNT(map_cases), NULL, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(string_differs_from_the_number_that_it_contains),
        cmocka_unit_test(deeply_nested_operators_are_mapped),
        cmocka_unit_test(the_breakdown_adds_up),
        cmocka_unit_test(time_between_nested_operators_belongs_to_the_enclosing_operator),
        cmocka_unit_test(instances_are_counted_from_0),
        cmocka_unit_test(extended_rules_apply_where_hta_fails),
        cmocka_unit_test(extended_rules_apply_with_stream_0),
        cmocka_unit_test(hta_window_is_used_if_only_it_has_a_path),
    };
    return run_map_table() + cmocka_run_group_tests(tests, NULL, NULL);
}
