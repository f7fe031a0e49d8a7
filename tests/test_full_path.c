/*
 * test_full_path.c - tests the critical path with full rules: small synthetic traces, and recorded PyTorch traces,
 * whose path must have the measured duration.
 */
#include <inttypes.h>
#include <math.h>

#include "simulate/full_path.h"
#include "trace_text.h"
#include "unit.h"

struct found_path {
    struct sutra_context *context;
    struct sutra_device_trace *trace;
    struct sutra_full_path *path;
    enum sutra_status status;
    struct sutra_error error;
};

static struct found_path path_find(const char *source, const char *annotation, uint64_t instance) {
    const struct sutra_critical_path_options options = {
        .size = sizeof options, .annotation = annotation, .instance = instance};
    struct found_path found = {0};
    found.context = NEW_CONTEXT();
    found.trace = parse_trace(found.context, source);
    found.status = sutra_full_path_find(found.context, found.trace, &options, &found.path, &found.error);
    return found;
}

static void path_free(struct found_path *found) {
    sutra_full_path_free(found->path);
    sutra_device_trace_free(found->trace);
    sutra_context_free(found->context);
}

/* "operator a 0-12, kernel k 12-80!": kind, name, from and to in microseconds, and whether the processor awaited it. */
static void path_show(const struct sutra_full_path *path, char *text, size_t size) {
    static const char *const kinds[] = {"op", "gap", "launch", "stream", "kernel", "copy", "comm"};
    int length = 0;
    text[0] = 0;
    for (uint64_t i = 0; i < path->n_steps; i++) {
        const struct full_path_step *step = &path->steps[i];
        const char *name = step->name == STRING_NONE ? "-" : strings_text(&path->trace->strings, step->name);
        length += snprintf(text + length, size - (size_t)length, "%s%s %s %g-%g%s", i ? ", " : "", kinds[step->kind],
                           name, (double)step->start_ns / 1000, (double)step->end_ns / 1000, step->awaited ? "!" : "");
        assert_true((size_t)length < size);
    }
}

static void expect_path(const char *source, const char *annotation, uint64_t instance, const char *expected) {
    char shown[2000];
    struct found_path found = path_find(source, annotation, instance);
    if (found.status)
        fail_msg("%s", found.error.message);
    path_show(found.path, shown, sizeof shown);
    assert_string_equal(shown, expected);
    path_free(&found);
}

/* ---- Durations ---- */

static void path_follows_the_host_waits(void **state) {
    expect_path("cpu_op a pid= ts=100+100; cudaLaunchKernel pid= ts=110+2 correlation=7; "
                "kernel k pid= tid='stream 7' stream=7 ts=120+60 correlation=7; "
                "cudaDeviceSynchronize pid= ts=130+55 correlation=8",
                NULL, 0, "op a 0-12, launch k 12-20, kernel k 20-80!, op a 80-100");
}

static void without_host_waits_the_path_stays_on_the_cpu(void **state) {
    expect_path("cpu_op a pid= ts=100+100; cudaLaunchKernel pid= ts=110+2 correlation=7; "
                "kernel k pid= tid='stream 7' stream=7 ts=120+60 correlation=7",
                NULL, 0, "op a 0-100");
}

static void a_stream_waits_for_an_event_of_another_one(void **state) {
    expect_path("cpu_op a pid= ts=100+30; cudaLaunchKernel pid= ts=104+2 correlation=1; "
                "cudaEventRecord pid= ts=108+1 correlation=2; cudaStreamWaitEvent pid= ts=110+1 correlation=3; "
                "cudaLaunchKernel pid= ts=112+2 correlation=4; "
                "kernel k1 pid= tid='stream 7' stream=7 ts=106+54 correlation=1; "
                "gpu_memcpy 'Memcpy DtoD' pid= tid='stream 8' stream=8 ts=162+38 correlation=4; "
                "cuda_sync 'Stream Wait Event' pid= tid=s stream=8 ts=110+1 correlation=3 wait_on_stream=7"
                " wait_on_cuda_event_record_corr_id=2",
                NULL, 0, "op a 0-6, kernel k1 6-60, stream Memcpy DtoD 60-62, copy Memcpy DtoD 62-100");
}

static void communication_is_a_kind_of_its_own(void **state) {
    expect_path("cpu_op a pid= ts=100+10; cudaLaunchKernel pid= ts=102+2 correlation=1; "
                "kernel ncclDevKernel_AllReduce pid= tid='stream 7' stream=7 ts=120+80 correlation=1",
                NULL, 0, "op a 0-10, launch ncclDevKernel_AllReduce 10-20, comm ncclDevKernel_AllReduce 20-100");
}

static void unrecorded_time_is_a_separate_kind(void **state) {
    expect_path("cpu_op a pid= ts=100+50; cpu_op child pid= ts=110+10; cpu_op b pid= ts=170+30", NULL, 0,
                "op a 0-10, op child 10-20, op a 20-50, gap - 50-70, op b 70-100");
}

/* ---- Windows ---- */

#define TWO_STEPS                                                                                                      \
    "user_annotation ProfilerStep#1 pid= ts=100+50; cpu_op a pid= ts=110+20; "                                         \
    "user_annotation ProfilerStep#2 pid= ts=150+50; cpu_op b pid= ts=155+40; "                                         \
    "gpu_user_annotation ProfilerStep#1 pid= tid=7 ts=1+9"

static void default_step_is_used_unless_one_is_selected(void **state) {
    expect_path(TWO_STEPS, NULL, 0, "op a 0-20");
    expect_path(TWO_STEPS, NULL, 1, "op b 0-40");
    expect_path(TWO_STEPS, "#2", 0, "op b 0-40");
    expect_path(TWO_STEPS, "", 0, "op a 0-20, gap - 20-45, op b 45-85");
}

static void kernels_count_where_they_were_launched(void **state) {
    expect_path("user_annotation ProfilerStep#1 pid= ts=100+50; cpu_op a pid= ts=110+20; "
                "cudaLaunchKernel pid= ts=112+2 correlation=1; cpu_op b pid= ts=160+20; "
                "kernel k pid= tid='stream 7' stream=7 ts=155+45 correlation=1",
                NULL, 0, "op a 0-20, launch k 20-45, kernel k 45-90");
}

static void missing_or_empty_window_is_an_error(void **state) {
    static const struct {
        const char *source, *annotation;
        uint64_t instance;
        const char *reason;
    } cases[] = {
        {TWO_STEPS, NULL, 2, "no instance 2"},
        {TWO_STEPS, "nothing", 0, "\"nothing\""},
        {"", NULL, 0, "no events in the window"},
        {"user_annotation ProfilerStep#1 pid= ts=100+5; cpu_op a pid= ts=105+20", NULL, 0, "no events in the window"},
        {"cpu_op a pid= ts=0+1e300", NULL, 0, "146 years"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct found_path found = path_find(cases[i].source, cases[i].annotation, cases[i].instance);
        assert_int_equal(found.status, SUTRA_DATA);
        assert_null(found.path);
        assert_non_null(strstr(found.error.message, cases[i].reason));
        path_free(&found);
    }
}

/* ---- Sums ---- */

static void shares_and_kinds_add_up_to_the_path(void **state) {
    struct found_path found = path_find("cpu_op a pid= ts=100+100; cudaLaunchKernel pid= ts=110+2 correlation=7; "
                                        "kernel k pid= tid='stream 7' stream=7 ts=120+60 correlation=7; "
                                        "cudaDeviceSynchronize pid= ts=130+55 correlation=8",
                                        NULL, 0);
    struct sutra_full_report report = {.size = sizeof report};
    sutra_full_path_report(found.path, &report);
    assert_true(report.us == 100 && report.measured_us == 100);
    assert_true(report.kind_us[SUTRA_FULL_OPERATOR] == 32 && report.kind_us[SUTRA_FULL_LAUNCH] == 8);
    assert_int_equal(report.n_waits, 1);
    assert_int_equal(report.n_shares, 3);
    assert_string_equal(report.shares[0].name, "k");
    assert_true(report.shares[0].kind == SUTRA_FULL_KERNEL && report.shares[0].us == 60);
    assert_int_equal(report.shares[0].n_waits, 1);
    assert_string_equal(report.shares[1].name, "a");
    assert_true(report.shares[1].us == 32 && report.shares[1].n_steps == 2);
    path_free(&found);
}

/* ---- Slack ---- */

/* "a 0, k 20": names and slack in microseconds, by event. */
static void expect_slacks(const char *source, const char *expected) {
    struct found_path found = path_find(source, NULL, 0);
    struct sutra_full_report report = {.size = sizeof report};
    char shown[500] = "";
    int length = 0;
    assert_int_equal(found.status, SUTRA_OK);
    sutra_full_path_report(found.path, &report);
    for (uint64_t i = 0; i < report.n_slacks; i++)
        length += snprintf(shown + length, sizeof shown - (size_t)length, "%s%s %g", i ? ", " : "",
                           report.slacks[i].name, report.slacks[i].slack_us);
    assert_string_equal(shown, expected);
    path_free(&found);
}

/* The processor is the path; the kernels may last until its end, the first one as long as the second lets it. */
static void unawaited_nodes_have_slack_until_the_end(void **state) {
    expect_slacks(
        "cpu_op a pid= ts=100+100; cudaLaunchKernel pid= ts=110+2 correlation=7; "
        "kernel k pid= tid='stream 7' stream=7 ts=120+30 correlation=7; "
        "cudaLaunchKernel pid= ts=115+2 correlation=8; kernel l pid= tid='stream 7' stream=7 ts=150+30 correlation=8",
        "a 0, k 20, l 20");
}

/* The host waits for the kernel: the operator that ends while the kernel runs has slack until then, the launching
 * operator none. */
static void cpu_has_slack_while_the_path_runs_on_the_gpu(void **state) {
    expect_slacks("cpu_op launch pid= ts=100+10; cudaLaunchKernel pid= ts=104+2 correlation=7; "
                  "kernel k pid= tid='stream 7' stream=7 ts=110+60 correlation=7; cpu_op b pid= ts=110+25; "
                  "cpu_op wait pid= ts=140+60; cudaDeviceSynchronize pid= ts=145+25 correlation=8",
                  "launch 0, k 0, b 25, wait 0");
}

/* Names that have slack, the longest first. */
static void slack_is_summed_by_name(void **state) {
    struct found_path found = path_find(
        "cpu_op a pid= ts=100+100; cudaLaunchKernel pid= ts=110+2 correlation=7; "
        "kernel k pid= tid='stream 7' stream=7 ts=120+30 correlation=7; "
        "cudaLaunchKernel pid= ts=115+2 correlation=8; "
        "kernel k pid= tid='stream 8' stream=8 ts=130+30 correlation=8; "
        "cudaLaunchKernel pid= ts=118+2 correlation=9; kernel l pid= tid='stream 8' stream=8 ts=160+10 correlation=9",
        NULL, 0);
    struct sutra_full_report report = {.size = sizeof report};
    sutra_full_path_report(found.path, &report);
    assert_int_equal(report.n_slack_names, 2);
    assert_string_equal(report.slack_names[0].name, "k");
    assert_true(report.slack_names[0].kind == SUTRA_FULL_KERNEL && report.slack_names[0].n == 2);
    assert_true(report.slack_names[0].us == 60);
    assert_true(report.slack_names[0].least_us == 30 && report.slack_names[0].most_us == 50);
    assert_string_equal(report.slack_names[1].name, "l");
    path_free(&found);
}

static void expect_measured_time(struct sutra_context *context, const char *file) {
    struct sutra_full_report report = {.size = sizeof report};
    struct sutra_device_trace *trace = NULL;
    struct sutra_full_path *path = NULL;
    double sum = 0;
    assert_int_equal(sutra_device_trace_read(context, file, &trace, NULL), SUTRA_OK);
    assert_int_equal(sutra_full_path_find(context, trace, NULL, &path, NULL), SUTRA_OK);
    sutra_full_path_report(path, &report);
    if (fabs(report.us / report.measured_us - 1) > 0.005)
        fail_msg("%s: %.3f us of %.3f", file, report.us, report.measured_us);
    for (int kind = 0; kind < SUTRA_FULL_N_KINDS; kind++)
        sum += report.kind_us[kind];
    assert_true(fabs(sum - report.us) < 1e-6 * report.us);
    for (uint64_t i = 1; i < path->n_steps; i++)
        assert_int_equal(path->steps[i].start_ns, path->steps[i - 1].end_ns);
    sutra_full_path_free(path);
    sutra_device_trace_free(trace);
}

static void recorded_traces_take_the_measured_time(void **state) {
    static const char *const folders[] = {"torch_gloo1_r0_ne", "torch_gloo2_r0_dn", "torch_mlp_adam_ne",
                                          "torch_mlp_da",      "torch_mlp_nosync",  "torch_threads_int"};
    struct sutra_context *context = NEW_CONTEXT();
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char file[100];
        snprintf(file, sizeof file, "tests/data/link/%s/device.json.gz", folders[i]);
        expect_measured_time(context, file);
    }
    sutra_context_free(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(path_follows_the_host_waits),
        cmocka_unit_test(without_host_waits_the_path_stays_on_the_cpu),
        cmocka_unit_test(a_stream_waits_for_an_event_of_another_one),
        cmocka_unit_test(communication_is_a_kind_of_its_own),
        cmocka_unit_test(unrecorded_time_is_a_separate_kind),
        cmocka_unit_test(default_step_is_used_unless_one_is_selected),
        cmocka_unit_test(kernels_count_where_they_were_launched),
        cmocka_unit_test(missing_or_empty_window_is_an_error),
        cmocka_unit_test(shares_and_kinds_add_up_to_the_path),
        cmocka_unit_test(unawaited_nodes_have_slack_until_the_end),
        cmocka_unit_test(cpu_has_slack_while_the_path_runs_on_the_gpu),
        cmocka_unit_test(slack_is_summed_by_name),
        cmocka_unit_test(recorded_traces_take_the_measured_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
