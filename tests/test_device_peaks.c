/*
 * test_device_peaks.c - tests peak rates of devices, by name and from files, and the roofline model.
 */
#include <math.h>

#include "facts/gpu_peaks.h"
#include "unit.h"

static struct device_peaks peaks_of(const char *name) {
    struct device_peaks peaks;
    assert_true(device_peaks_find(name, strlen(name), &peaks));
    return peaks;
}

static void devices_are_known_by_parts_of_their_names(void **state) {
    static const struct {
        const char *name, *line;
        double gigabytes, bf16, fp16;
    } devices[] = {
        {"NVIDIA H100 80GB HBM3", "NVIDIA H100 SXM", 3350, 989.4, 989.4},
        {"NVIDIA H100 PCIe", "NVIDIA H100 PCIe", 2000, 756, 756},
        {"NVIDIA H200", "NVIDIA H200", 4800, 989.4, 989.4},
        {"NVIDIA GH200 480GB", "NVIDIA GH200", 4000, 989.4, 989.4},
        {"NVIDIA B200", "NVIDIA B200", 8000, 2250, 2250},
        {"NVIDIA A100-SXM4-80GB", "NVIDIA A100 80GB SXM", 2039, 312, 312},
        {"NVIDIA A100 80GB PCIe", "NVIDIA A100 80GB PCIe", 1935, 312, 312},
        {"NVIDIA A100-PG509-200", "NVIDIA A100 40GB", 1555, 312, 312},
        {"Tesla V100-SXM2-32GB", "NVIDIA V100 SXM2", 900, 0, 125},
        {"NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 4090", 1008, 165.2, 165.2},
        {"NVIDIA L40S", "NVIDIA L40S", 864, 362, 362},
        {"AMD Instinct MI210", "AMD Instinct MI210", 1638, 181, 181},
        {"AMD Instinct MI300X", "AMD Instinct MI300X", 5300, 1307.4, 1307.4},
    };
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        struct device_peaks peaks = peaks_of(devices[i].name);
        assert_string_equal(peaks.name, devices[i].line);
        assert_true(peaks.bytes_per_s == devices[i].gigabytes * 1e9);
        assert_true(peaks.flops_per_s[UNIT_MATRIX][PRECISION_BF16] == devices[i].bf16 * 1e12);
        assert_true(peaks.flops_per_s[UNIT_MATRIX][PRECISION_FP16] == devices[i].fp16 * 1e12);
    }
}

static void other_devices_are_unknown(void **state) {
    struct device_peaks peaks;
    assert_false(device_peaks_find("NVIDIA GeForce RTX 2080 Ti", 26, &peaks));
    assert_false(device_peaks_find("", 0, &peaks));
    assert_false(device_peaks_find("H100", 3, &peaks));
}

static struct op_flops work(double flops, double bytes, enum flops_unit unit, enum precision precision) {
    return (struct op_flops){.flops = flops, .bytes = bytes, .unit = unit, .precision = precision};
}

static void an_operator_is_bound_by_the_slower_of_two(void **state) {
    struct device_peaks peaks = {.bytes_per_s = 1e12};
    peaks.flops_per_s[UNIT_MATRIX][PRECISION_BF16] = 100e12;
    peaks.flops_per_s[UNIT_MATRIX][PRECISION_TF32] = 50e12;
    peaks.flops_per_s[UNIT_VECTOR][PRECISION_FP32] = 10e12;
    struct op_flops product = work(2e12, 1e9, UNIT_MATRIX, PRECISION_BF16);
    struct roofline at = roofline_of(&peaks, &product, false);
    assert_true(at.by_compute && at.compute_s == 0.02 && at.memory_s == 0.001 && at.min_s == 0.02);
    struct op_flops sum = work(1e9, 1e12, UNIT_VECTOR, PRECISION_FP32);
    at = roofline_of(&peaks, &sum, false);
    assert_true(!at.by_compute && at.min_s == 1);
    /* 50 FLOPs a byte with tf32, else as vectors: 10 */
    struct op_flops single = work(20e12, 1e12, UNIT_MATRIX, PRECISION_FP32);
    assert_true(roofline_of(&peaks, &single, true).compute_s == 0.4);
    assert_true(roofline_of(&peaks, &single, false).compute_s == 2);
    struct op_flops unknown = work(1e12, NAN, UNIT_MATRIX, PRECISION_BF16);
    at = roofline_of(&peaks, &unknown, false);
    assert_true(at.by_compute && at.min_s == 0.01 && isnan(at.memory_s));
}

/* ---- Files ---- */

static enum sutra_status read_text(const char *text, struct device_peaks *peaks, char **name,
                                   struct sutra_error *error) {
    char path[] = "/tmp/peaks-XXXXXX";
    make_temp_file(path, text);
    struct sutra_context *context = NEW_CONTEXT(.n_threads = 1);
    enum sutra_status status = device_peaks_read(context, path, peaks, name, error);
    sutra_context_free(context);
    unlink(path);
    return status;
}

static void device_peaks_are_read_from_a_file(void **state) {
    struct device_peaks peaks;
    char *name = NULL;
    assert_int_equal(read_text("{\"name\": \"mine\", \"freq_mhz\": [1], \"mem_bw_gbps\": 5300,\n"
                               " \"max_achievable_tflops\": {\"matrix_bf16\": 708.5, \"vector_fp32\": 60}}\n",
                               &peaks, &name, NULL),
                     SUTRA_OK);
    assert_string_equal(peaks.name, "mine");
    assert_true(peaks.bytes_per_s == 5300e9);
    assert_true(peaks.flops_per_s[UNIT_MATRIX][PRECISION_BF16] == 708.5e12);
    assert_true(peaks.flops_per_s[UNIT_VECTOR][PRECISION_FP32] == 60e12);
    assert_true(peaks.flops_per_s[UNIT_VECTOR][PRECISION_BF16] == 0);
    free(name);
}

static void malformed_peaks_files_are_errors(void **state) {
    static const struct {
        const char *text, *says;
    } files[] = {
        {"{}", "'mem_bw_gbps' (memory bandwidth in GB/s) is missing"},
        {"[]", "'{' was expected"},
        {"{\"mem_bw_gbps\": \"fast\"}", "a number above 0"},
        {"{\"mem_bw_gbps\": -1}", "a number above 0"},
        {"{\"mem_bw_gbps\": 1, \"max_achievable_tflops\": {\"matrix_fp3\": 1}}", "a unit and a precision"},
        {"{\"mem_bw_gbps\": 1, \"max_achievable_tflops\": {\"matrix_fp16\": null}}", "a number above 0"},
        {"{\"mem_bw_gbps\": 1} 2", "the end of the file"},
        {"{\"mem_bw_gbps\": 1", "was expected"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct device_peaks peaks;
        struct sutra_error error;
        char *name = NULL;
        assert_int_equal(read_text(files[i].text, &peaks, &name, &error), SUTRA_DATA);
        if (!strstr(error.message, files[i].says))
            fail_msg("%s: %s", files[i].text, error.message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_are_known_by_parts_of_their_names),
        cmocka_unit_test(other_devices_are_unknown),
        cmocka_unit_test(an_operator_is_bound_by_the_slower_of_two),
        cmocka_unit_test(device_peaks_are_read_from_a_file),
        cmocka_unit_test(malformed_peaks_files_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
