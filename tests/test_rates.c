/*
 * test_rates.c - tests achieved rates of operators relative to the device's peaks, on small traces with results
 * computed by hand.
 */
#include <stdlib.h>
#include <unistd.h>

#include "hta_table.h"

/* An operator with arguments: shapes, types and values; strides of dense tensors are not recorded. */
#define SHAPED(name, ts, dur, shapes, types, values)                                                                   \
    EVENT("cpu_op", name, 1, 1, ts, dur,                                                                               \
          "\"Input Dims\":" shapes ",\"Input type\":" types ",\"Concrete Inputs\":" values)

/* 2e9 FLOPs and 6e6 bytes. */
#define PRODUCT(ts, dur)                                                                                               \
    SHAPED("aten::mm", ts, dur, "[[1000,1000],[1000,1000]]", "[\"c10::BFloat16\",\"c10::BFloat16\"]", "[\"\",\"\"]")
/* The same in fp32: 12e6 bytes. */
#define SINGLE(ts, dur) SHAPED("aten::mm", ts, dur, "[[1000,1000],[1000,1000]]", "[\"float\",\"float\"]", "[\"\",\"\"]")

#define ON_A(device, events) "{\"deviceProperties\":[{\"id\":0,\"name\":\"" device "\"}],\"traceEvents\":[" events "]}"

static char peaks_path[] = "/tmp/peaks-XXXXXX";

/* 400 TFLOP/s of bf16 products, 1 TB/s. */
static int write_peaks(void **state) {
    (void)state;
    static const char text[] =
        "{\"name\": \"mine\", \"mem_bw_gbps\": 1000, \"max_achievable_tflops\": {\"matrix_bf16\": 400, "
        "\"matrix_fp32\": 50, \"matrix_tf32\": 200, \"vector_fp32\": 20}}";
    int file = mkstemp(peaks_path);
    assert_true(file >= 0 && write(file, text, sizeof text - 1) == (ssize_t)sizeof text - 1);
    return close(file);
}

static int remove_peaks(void **state) {
    (void)state;
    return unlink(peaks_path);
}

/* `table`: enum sutra_operators_table, or sutra_tracelens_table. */
static void check_table(const char *events, bool tracelens, bool with_peaks, int table, const char *expected) {
    char text[8192];
    const struct sutra_operators_options options = {.size = sizeof options, .peaks = with_peaks ? peaks_path : NULL};
    for (unsigned n_threads = 1; n_threads <= 2; n_threads++) {
        struct sutra_context *context = make_context(n_threads);
        struct sutra_device_trace *trace = NULL;
        struct sutra_operators *operators = NULL;
        assert_int_equal(sutra_device_trace_parse(context, "trace", events, strlen(events), &trace, NULL), SUTRA_OK);
        enum sutra_status status = tracelens ? sutra_tracelens_run(context, trace, 0, &operators, NULL)
                                             : sutra_operators_run(context, trace, &options, &operators, NULL);
        assert_int_equal(status, SUTRA_OK);
        tell_table(sutra_result_table(SUTRA_RESULT(operators), (uint32_t)table, NULL), "not made", text);
        assert_string_equal(text, expected);
        sutra_operators_free(operators);
        sutra_device_trace_free(trace);
        sutra_context_free(context);
    }
}

/* rank, name, category, dims, types, strides, values, calls, kernels, device, direct, percent, GFLOP, MB, FLOP/B,
 * TFLOP/s, TB/s, unit, bound, roofline percent, missing */
static void rates_cover_all_calls(void **state) {
    (void)state;
    check_table(TRACE(PRODUCT(0, 10) "," LAUNCH(1, 2, 1) "," PRODUCT(20, 10) "," LAUNCH(21, 2, 2) "," KERNEL(
                    "gemm", 7, 100, 10, 1) "," KERNEL("gemm", 7, 200, 30, 2)),
                false, true, SUTRA_OPERATORS_RATES,
                "0,aten::mm,GEMM,((1000, 1000), (1000, 1000)),('c10::BFloat16', 'c10::BFloat16'),,('', ''),2,2,40.0,"
                "40.0,100.0,2.0,6.0,333.3333333333333,100.0,0.3,matrix bf16,memory,30.0,");
}

static void fp32_gemms_use_the_tf32_peak_for_tf32_kernels(void **state) {
    (void)state;
    check_table(TRACE(SINGLE(0, 10) "," LAUNCH(1, 2, 1) "," KERNEL("cutlass_tf32_s1688gemm", 7, 100, 20, 1)), false,
                true, SUTRA_OPERATORS_RATES,
                "0,aten::mm,GEMM,((1000, 1000), (1000, 1000)),('float', 'float'),,('', ''),1,1,20.0,20.0,100.0,2.0,"
                "12.0,166.66666666666666,100.0,0.6,matrix tf32,memory,60.0,");
    check_table(TRACE(SINGLE(0, 10) "," LAUNCH(1, 2, 1) "," KERNEL("sgemm", 7, 100, 80, 1)), false, true,
                SUTRA_OPERATORS_RATES,
                "0,aten::mm,GEMM,((1000, 1000), (1000, 1000)),('float', 'float'),,('', ''),1,1,80.0,80.0,100.0,2.0,"
                "12.0,166.66666666666666,25.0,0.15,matrix fp32,compute,50.0,");
}

/* An operator of whose work nothing is known leaves it to the one around it, which counts once for all it launched. */
static void the_innermost_operator_with_known_work_stands_for_kernels(void **state) {
    (void)state;
    check_table(
        TRACE(PRODUCT(0, 90) "," OP("my::part", 10, 20) "," LAUNCH(11, 2, 1) "," OP("my::part", 40, 20) "," LAUNCH(41, 2, 2) "," OP(
            "my::other", 100,
            20) "," LAUNCH(101, 2,
                           3) "," OP("aten::mm", 130,
                                     20) "," LAUNCH(131, 2,
                                                    4) "," LAUNCH(160, 2,
                                                                  5) "," KERNEL("a", 7, 200, 10,
                                                                                1) "," KERNEL("b", 7, 220, 10,
                                                                                              2) "," KERNEL("c", 7, 240,
                                                                                                            8,
                                                                                                            3) "," KERNEL("d",
                                                                                                                          7,
                                                                                                                          260,
                                                                                                                          7,
                                                                                                                          4) "," KERNEL("e",
                                                                                                                                        7,
                                                                                                                                        280,
                                                                                                                                        5,
                                                                                                                                        5)),
        false, true, SUTRA_OPERATORS_RATES,
        "0,aten::mm,GEMM,((1000, 1000), (1000, 1000)),('c10::BFloat16', 'c10::BFloat16'),,('', ''),1,2,20.0,"
        "20.0,50.0,2.0,6.0,333.3333333333333,100.0,0.3,matrix bf16,memory,30.0, | "
        "0,my::other,other,,,,,1,1,8.0,8.0,20.0,-,-,-,-,-,,,-,no formula for this operator | "
        "0,aten::mm,GEMM,,,,,1,1,7.0,7.0,17.5,-,-,-,-,-,,,-,input shapes not recorded (record_shapes=True) | "
        "0,cudaLaunchKernel,other,,,,,1,1,5.0,5.0,12.5,-,-,-,-,-,,,-,launched outside operators");
}

/* Without peaks there are rates, but no roofline. */
static void unknown_devices_have_no_roofline(void **state) {
    (void)state;
    check_table(ON_A("Unknown 9000", PRODUCT(0, 10) "," LAUNCH(1, 2, 1) "," KERNEL("gemm", 7, 100, 10, 1)), false,
                false, SUTRA_OPERATORS_RATES,
                "0,aten::mm,GEMM,((1000, 1000), (1000, 1000)),('c10::BFloat16', 'c10::BFloat16'),,('', ''),1,1,10.0,"
                "10.0,100.0,2.0,6.0,333.3333333333333,200.0,0.6,matrix bf16,,-,");
}

/* rank, step, time, TFLOP, TFLOP/s, device, precision, peak, MFU, unknown percent */
static void steps_have_their_flops_of_any_thread(void **state) {
    (void)state;
    check_table(ON_A("NVIDIA A100-SXM4-80GB", STEP(1, 0, 100) "," PRODUCT(10, 20) "," LAUNCH(11, 2,
                                                                                             1) "," STEP(2, 100, 100) "," EVENT("cpu_op", "aten::mm", 1, 2, 110, 20, "\"Input Dims\":[[1000,1000],[1000,1000]],\"Input type\":[\"c10::BFloat16\",\"c10::BFloat16\"]") "," EVENT("cuda_runtime", "cudaLaunchKernel", 1, 2, 112, 2, "\"correlation\":2") "," PRODUCT(140, 20) "," LAUNCH(141, 2, 3) "," OP("my::op",
                                                                                                                                                                                                                                                                                                                                                                                                         170,
                                                                                                                                                                                                                                                                                                                                                                                                         9) "," LAUNCH(171,
                                                                                                                                                                                                                                                                                                                                                                                                                       2, 4) "," OP("c10d::allreduce_",
                                                                                                                                                                                                                                                                                                                                                                                                                                    180,
                                                                                                                                                                                                                                                                                                                                                                                                                                    9) "," LAUNCH(181,
                                                                                                                                                                                                                                                                                                                                                                                                                                                  2, 5) "," PRODUCT(300, 20) "," LAUNCH(301, 2, 6) "," KERNEL("gemm", 7, 400, 10, 1) "," KERNEL("gemm",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                7, 410, 10, 2) "," KERNEL("gemm", 7, 420, 10, 3) "," KERNEL("k",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                            7, 430, 5, 4) "," KERNEL("ncclDevKernel_AllReduce",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                     7,
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                     440, 50, 5) "," KERNEL("gemm", 7, 500, 10, 6)),
                false, false, SUTRA_OPERATORS_RATE_STEPS,
                "0,ProfilerStep#1,100.0,0.002,20.0,NVIDIA A100 80GB SXM,bf16,312.0,6.41025641025641,0.0 | "
                "0,ProfilerStep#2,100.0,0.004,40.0,NVIDIA A100 80GB SXM,bf16,312.0,12.82051282051282,20.0");
}

static void a_trace_without_steps_is_one(void **state) {
    (void)state;
    check_table(
        TRACE(PRODUCT(0, 10) "," LAUNCH(1, 2, 1) "," KERNEL("gemm", 7, 100, 10, 1) "," KERNEL("k", 7, 190, 10, 9)),
        false, true, SUTRA_OPERATORS_RATE_STEPS, "0,all,100.0,0.002,20.0,mine,bf16,400.0,5.0,0.0");
}

static void device_peaks_are_reported(void **state) {
    (void)state;
    check_table(TRACE(PRODUCT(0, 10)), false, true, SUTRA_OPERATORS_PEAKS,
                "0,mine,memory,-,1.0 | 0,mine,vector fp32,20.0,- | 0,mine,matrix fp32,50.0,- | "
                "0,mine,matrix tf32,200.0,- | 0,mine,matrix bf16,400.0,-");
    check_table(TRACE(PRODUCT(0, 10)), false, false, SUTRA_OPERATORS_PEAKS, "");
}

static void traces_without_work_have_no_rates(void **state) {
    (void)state;
    check_table(TRACE(PRODUCT(0, 10)), false, true, SUTRA_OPERATORS_RATES, "");
    check_table(TRACE(PRODUCT(0, 10)), false, true, SUTRA_OPERATORS_RATE_STEPS, "");
}

static void peaks_that_cannot_be_read_are_an_error(void **state) {
    (void)state;
    struct sutra_context *context = make_context(1);
    struct sutra_device_trace *trace = NULL;
    struct sutra_operators *operators = NULL;
    struct sutra_error error;
    const struct sutra_operators_options options = {.size = sizeof options, .peaks = "/nowhere/peaks.json"};
    assert_int_equal(sutra_device_trace_parse(context, "trace", TRACE(""), strlen(TRACE("")), &trace, NULL), SUTRA_OK);
    assert_int_equal(sutra_operators_run(context, trace, &options, &operators, &error), SUTRA_NO_INPUT);
    sutra_device_trace_free(trace);
    sutra_context_free(context);
}

/* name, event, GFLOP, MB, FLOP/B, TB/s, TFLOP/s, time, count: arrows link, and nested operators both stand; the rates
 * are means of 200 and 100. */
static void tracelens_rates_are_means_including_nested_operators(void **state) {
    (void)state;
#define ARROW(id, ts, to)                                                                                              \
    "{\"ph\":\"s\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"pid\":1,\"tid\":1,\"ts\":" #ts ",\"id\":" #id "},"             \
    "{\"ph\":\"f\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"pid\":0,\"tid\":7,\"ts\":" #to ",\"id\":" #id ",\"bp\":\"e\"}"
    check_table(
        TRACE(PRODUCT(0, 10) "," LAUNCH(1, 2, 1) "," PRODUCT(20, 10) "," LAUNCH(21, 2, 2) "," SHAPED(
            "aten::sum", 40, 20, "[[10]]", "[\"float\"]",
            "[\"\"]") "," SHAPED("aten::sum", 45, 10, "[[2,5]]", "[\"float\"]",
                                 "[\"\"]") "," LAUNCH(46, 2,
                                                      3) "," KERNEL("gemm", 7, 100, 10,
                                                                    1) "," KERNEL("gemm", 7, 200, 20,
                                                                                  2) "," KERNEL("sum", 7, 300, 10,
                                                                                                3) "," ARROW(1, 1,
                                                                                                             100) "," ARROW(2,
                                                                                                                            21,
                                                                                                                            200) "," ARROW(3,
                                                                                                                                           46,
                                                                                                                                           300)),
        true, false, SUTRA_TRACELENS_RATES,
        "aten::mm,0,2.0,5.7220458984375,333.3333333333333,0.44999999999999996,150.0,30.0,2 | "
        "aten::sum,4,1e-08,4.1961669921875e-05,0.22727272727272727,4.4e-06,1e-06,20.0,2");
}

/* 2 x 3 heads of 8 queries and keys, 16 wide: 24,576 FLOPs forward, 61,440 backward; 7 and 4 operands of 1,536
 * bytes. */
static void attention_gradients_use_the_time_of_their_autograd_node(void **state) {
    (void)state;
#define NUMBERED(tid, name, ts, dur, more) EVENT("cpu_op", name, 1, tid, ts, dur, more "\"Sequence number\":5")
#define ATTENTION                                                                                                      \
    "\"Input Dims\":[[2,3,8,16],[2,3,8,16],[2,3,8,16],[],[],[],[]],"                                                   \
    "\"Input type\":[\"c10::Half\",\"c10::Half\",\"c10::Half\"],"                                                      \
    "\"Concrete Inputs\":[\"\",\"\",\"\",\"0.\",\"False\",\"False\",\"\"],"
    check_table(
        TRACE(NUMBERED(1, "aten::scaled_dot_product_attention", 0, 100, "") "," NUMBERED(
            1, "aten::_scaled_dot_product_flash_attention", 10, 80,
            ATTENTION) "," LAUNCH(20, 5,
                                  1) "," NUMBERED(2, "autograd::engine::evaluate_function: Flash0", 200, 100,
                                                  "") "," EVENT("cuda_runtime", "cudaLaunchKernel", 1, 2, 210, 5,
                                                                "\"correlation\":2") "," KERNEL("fwd", 7, 400, 10,
                                                                                                1) "," KERNEL("bwd", 7,
                                                                                                              500, 40,
                                                                                                              2) "," ARROW(1,
                                                                                                                           20,
                                                                                                                           400) ","
                                                                                                                                "{\"ph\":\"s\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"pid\":1,\"tid\":2,\"ts\":210,\"id\":2},"
                                                                                                                                "{\"ph\":\"f\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"pid\":0,\"tid\":7,\"ts\":500,\"id\":2,"
                                                                                                                                "\"bp\":\"e\"}"),
        true, false, SUTRA_TRACELENS_RATES,
        "aten::_scaled_dot_product_flash_attention,1,2.4576e-05,0.005859375,4.0,0.0006144,0.0024576,10.0,1 | "
        "aten::_scaled_dot_product_flash_attention,1,6.144e-05,0.01025390625,5.7142857142857135,0.0002688,"
        "0.0015359999999999998,40.0,1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_cover_all_calls),
        cmocka_unit_test(fp32_gemms_use_the_tf32_peak_for_tf32_kernels),
        cmocka_unit_test(the_innermost_operator_with_known_work_stands_for_kernels),
        cmocka_unit_test(unknown_devices_have_no_roofline),
        cmocka_unit_test(steps_have_their_flops_of_any_thread),
        cmocka_unit_test(a_trace_without_steps_is_one),
        cmocka_unit_test(device_peaks_are_reported),
        cmocka_unit_test(traces_without_work_have_no_rates),
        cmocka_unit_test(peaks_that_cannot_be_read_are_an_error),
        cmocka_unit_test(tracelens_rates_are_means_including_nested_operators),
        cmocka_unit_test(attention_gradients_use_the_time_of_their_autograd_node),
    };
    return cmocka_run_group_tests(tests, write_peaks, remove_peaks);
}
