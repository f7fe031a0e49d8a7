/*
 * test_linked_free.c - tests conversion that frees the traces early: the file is the same as with the traces kept; the
 * columns are freed afterwards, the report is not.
 */
#include "job/rank_link.h"
#include "link_case.h"
#include "one_context.h"

static const char host_source[] = "1 root; 2 a rf_id=7; 3 b rf_id=8";
static const char device_source[] =
    "cpu_op a ts=10+40 'External id'=5 'Record function id'=7; "
    "cpu_op b ts=60+90 'External id'=6 'Record function id'=8; cudaLaunchKernel ts=12+1 correlation=20; "
    "cudaLaunchKernel ts=70+1 correlation=21; kernel k1 stream=7 ts=20+5 correlation=20 'External id'=5; "
    "kernel k2 stream=7 ts=75+5 correlation=21 'External id'=6";

static struct linked_traces link_both(void) {
    struct linked_traces made = {0};
    char *host = host_json(host_source), *device = trace_json(device_source);
    assert_int_equal(sutra_host_trace_parse(context, "host", host, strlen(host), &made.host, NULL), SUTRA_OK);
    assert_int_equal(sutra_device_trace_parse(context, "device", device, strlen(device), &made.device, NULL), SUTRA_OK);
    assert_int_equal(sutra_link(context, made.host, made.device, NULL, &made.linked, NULL), SUTRA_OK);
    free(host);
    free(device);
    return made;
}

static void free_both(const struct linked_traces *traces) {
    sutra_linked_free(traces->linked);
    sutra_device_trace_free(traces->device);
    sutra_host_trace_free(traces->host);
}

static void write_kept(const struct linked_traces *traces, const struct link_output *output, const char *path,
                       struct sutra_faithful_report *report) {
    struct sutra_converted *converted = NULL;
    assert_int_equal(sutra_linked_convert(context, traces->linked, &output->what, &converted, NULL), SUTRA_OK);
    if (output->faithful)
        assert_int_equal(sutra_converted_run_faithful(context, converted, traces->linked, &output->how, report, NULL),
                         SUTRA_OK);
    assert_int_equal(sutra_converted_write(context, converted, path, NULL, NULL), SUTRA_OK);
    sutra_converted_free(converted);
}

static void assert_freed(const struct linked_traces *traces) {
    struct sutra_link_report report = {.size = sizeof report};
    sutra_linked_report(traces->linked, &report);
    assert_int_equal(report.n_gpu_nodes, 2);
    assert_null(traces->linked->arena.newest);
    assert_null(traces->host->nodes.text);
    assert_null(traces->device->events.text);
}

/* All members without padding. */
static void check_reports(const struct sutra_faithful_report *a, const struct sutra_faithful_report *b) {
    assert_memory_equal(a, b, offsetof(struct sutra_faithful_report, departs));
    assert_int_equal(a->departs, b->departs);
    assert_int_equal(a->departs_id, b->departs_id);
    assert_memory_equal(&a->departs_us, &b->departs_us, sizeof a->departs_us);
    assert_int_equal(a->n_works, b->n_works);
}

static void check_same(bool faithful) {
    char path[] = P_tmpdir "/sutra_free_XXXXXX";
    size_t n_kept, n_freed;
    const struct link_output output = {
        .et = true, .faithful = faithful, .what.size = sizeof output.what, .how.size = sizeof output.how};
    struct sutra_faithful_report reports[2] = {{.size = sizeof reports[0]}, {.size = sizeof reports[1]}};
    const struct linked_traces traces = link_both();
    make_temp_file(path, "");
    write_kept(&traces, &output, path, &reports[0]);
    char *kept = file_text(path, &n_kept);
    assert_int_equal(link_output_write(context, &traces, &output, NULL, path, NULL, &reports[1], NULL), SUTRA_OK);
    char *freed = file_text(path, &n_freed);
    assert_true(n_kept > 0 && n_freed == n_kept);
    assert_memory_equal(kept, freed, n_kept);
    check_reports(&reports[0], &reports[1]);
    assert_freed(&traces);
    free(kept);
    free(freed);
    unlink(path);
    free_both(&traces);
}

static void file_without_measured_times_is_the_same(void **state) {
    check_same(false);
}

static void file_with_measured_times_is_the_same(void **state) {
    check_same(true);
}

/* Twice, too; nodes are read without them. */
static void keys_are_freed_before_conversion(void **state) {
    const struct linked_traces traces = link_both();
    const struct sutra_convert_options options = {.size = sizeof options};
    struct sutra_convert_report report = {.size = sizeof report};
    struct sutra_converted *converted = NULL;
    linked_traces_free_keys(&traces);
    linked_traces_free_keys(&traces);
    assert_null(traces.device->events.rf);
    assert_null(traces.host->nodes.id);
    assert_int_equal(sutra_linked_convert(context, traces.linked, &options, &converted, NULL), SUTRA_OK);
    sutra_converted_report(converted, &report);
    assert_int_equal(report.n_gpu_nodes, 2);
    sutra_converted_free(converted);
    free_both(&traces);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(file_without_measured_times_is_the_same),
                                       cmocka_unit_test(file_with_measured_times_is_the_same),
                                       cmocka_unit_test(keys_are_freed_before_conversion)};
    return cmocka_run_group_tests(tests, make_context, free_context);
}
