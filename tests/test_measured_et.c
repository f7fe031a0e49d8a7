/*
 * test_measured_et.c - tests exact time stamps in converted files: the end of an operator or kernel is a sum of two
 * decimal numbers without an exact binary form. An event that ends at the start of the next one must have ended then.
 */
#include "link_case.h"
#include "one_context.h"

/* An operator that launches a kernel, continues, and ends when the next one begins; a third operator encloses both. */
#define ABUTS(ts, dur)                                                                                                 \
    "cpu_op whole ts=100+100 'External id'=5 'Record function id'=7; "                                                 \
    "cpu_op first ts=" ts "+" dur " 'External id'=6 'Record function id'=8; "                                          \
    "cpu_op second ts=109.9+20 'External id'=7 'Record function id'=9; cudaLaunchKernel ts=100.2+1 correlation=20; "   \
    "kernel kernel stream=7 ts=104+5 correlation=20 'External id'=6"

static void write_file(const char *device_source, const char *path) {
    const struct sutra_convert_options what = {.size = sizeof what};
    const struct sutra_faithful_options how = {.size = sizeof how};
    char *host = host_json("1 root; 2 whole rf_id=7; 3 first rf_id=8; 4 second rf_id=9");
    char *device = trace_json(device_source);
    struct sutra_host_trace *host_trace = NULL;
    struct sutra_device_trace *device_trace = NULL;
    struct sutra_linked *linked = NULL;
    struct sutra_converted *converted = NULL;
    assert_int_equal(sutra_host_trace_parse(context, "host", host, strlen(host), &host_trace, NULL), SUTRA_OK);
    assert_int_equal(sutra_device_trace_parse(context, "device", device, strlen(device), &device_trace, NULL),
                     SUTRA_OK);
    assert_int_equal(sutra_link(context, host_trace, device_trace, NULL, &linked, NULL), SUTRA_OK);
    assert_int_equal(sutra_linked_convert(context, linked, &what, &converted, NULL), SUTRA_OK);
    assert_int_equal(sutra_converted_run_faithful(context, converted, linked, &how, NULL, NULL), SUTRA_OK);
    assert_int_equal(sutra_converted_write(context, converted, path, NULL, NULL), SUTRA_OK);
    sutra_converted_free(converted);
    sutra_linked_free(linked);
    sutra_device_trace_free(device_trace);
    sutra_host_trace_free(host_trace);
    free(host);
    free(device);
}

static bool has_text(const char *path, const char *text) {
    size_t n;
    char *bytes = file_text(path, &n);
    const bool found = memmem(bytes, n, text, strlen(text));
    free(bytes);
    return found;
}

static void adjacent_operators_leave_no_gap(void **state) {
    /* Their sums are 109.9 in decimals; the first two are as doubles, and the third is a hair less. */
    static const char *const cases[] = {ABUTS("100.2", "9.7"), ABUTS("99.9", "10"), ABUTS("100.1", "9.8")};
    char path[] = P_tmpdir "/sutra_rests_XXXXXX";
    make_temp_file(path, "");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_file(cases[i], path);
        if (!has_text(path, "first") || has_text(path, "[rest] first"))
            fail_msg("case %zu: an operator's own time is taken for a rest", i);
    }
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(adjacent_operators_leave_no_gap)};
    return cmocka_run_group_tests(tests, make_context, free_context);
}
