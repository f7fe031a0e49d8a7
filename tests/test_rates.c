/*
 * test_rates.c - tests achieved rates of operators relative to the device's peaks, on small traces with results
 * computed by hand.
 */
#include "hta_table.h"

/* An operator with arguments: shapes, types and values; strides of dense tensors are not recorded. */
#define SHAPED(name, ts, dur, shapes, types, values)                                                                   \
    "cpu_op '" name "' ts=" #ts "+" #dur " 'Input Dims'=" shapes " 'Input type'=" types " 'Concrete Inputs'=" values   \
    "; "

/* 2e9 FLOPs and 6e6 bytes. */
#define PRODUCT(ts, dur)                                                                                               \
    "cpu_op aten::mm ts=" #ts "+" #dur                                                                                 \
    " 'Input Dims'=[[1000,1000],[1000,1000]] 'Input type'=['c10::BFloat16','c10::BFloat16'] 'Concrete Inputs'=['','']; "
/* The same in fp32: 12e6 bytes. */
#define SINGLE(ts, dur)                                                                                                \
    "cpu_op aten::mm ts=" #ts "+" #dur                                                                                 \
    " 'Input Dims'=[[1000,1000],[1000,1000]] 'Input type'=['float','float'] 'Concrete Inputs'=['','']; "

static char peaks_path[] = "/tmp/peaks-XXXXXX";

/* 400 TFLOP/s of bf16 products, 1 TB/s. */
static int write_peaks(void **state) {
    static const char text[] =
        "{\"name\": \"mine\", \"mem_bw_gbps\": 1000, \"max_achievable_tflops\": {\"matrix_bf16\": 400, "
        "\"matrix_fp32\": 50, \"matrix_tf32\": 200, \"vector_fp32\": 20}}";
    make_temp_file(peaks_path, text);
    return 0;
}

static int remove_peaks(void **state) {
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
        trace = parse_trace(context, events);
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
    check_table(PRODUCT(0, 10) "cudaLaunchKernel ts=1+2 correlation=1; " PRODUCT(
                    20, 10) "cudaLaunchKernel ts=21+2 correlation=2; kernel gemm stream=7 ts=100+10 correlation=1; "
                            "kernel gemm stream=7 ts=200+30 correlation=2",
                false, true, SUTRA_OPERATORS_RATES,
                "0,aten::mm,GEMM,((1000, 1000), (1000, 1000)),('c10::BFloat16', 'c10::BFloat16'),,('', ''),2,2,40.0,"
                "40.0,100.0,2.0,6.0,333.3333333333333,100.0,0.3,matrix bf16,memory,30.0,");
}

static void fp32_gemms_use_the_tf32_peak_for_tf32_kernels(void **state) {
    check_table(SINGLE(0, 10) "cudaLaunchKernel ts=1+2 correlation=1; "
                              "kernel cutlass_tf32_s1688gemm stream=7 ts=100+20 correlation=1",
                false, true, SUTRA_OPERATORS_RATES,
                "0,aten::mm,GEMM,((1000, 1000), (1000, 1000)),('float', 'float'),,('', ''),1,1,20.0,20.0,100.0,2.0,"
                "12.0,166.66666666666666,100.0,0.6,matrix tf32,memory,60.0,");
    check_table(SINGLE(0, 10) "cudaLaunchKernel ts=1+2 correlation=1; kernel sgemm stream=7 ts=100+80 correlation=1",
                false, true, SUTRA_OPERATORS_RATES,
                "0,aten::mm,GEMM,((1000, 1000), (1000, 1000)),('float', 'float'),,('', ''),1,1,80.0,80.0,100.0,2.0,"
                "12.0,166.66666666666666,25.0,0.15,matrix fp32,compute,50.0,");
}

/* An operator of whose work nothing is known leaves it to the one around it, which counts once for all it launched. */
static void the_innermost_operator_with_known_work_stands_for_kernels(void **state) {
    check_table(
        PRODUCT(0, 90) "cpu_op my::part ts=10+20; cudaLaunchKernel ts=11+2 correlation=1; "
                       "cpu_op my::part ts=40+20; cudaLaunchKernel ts=41+2 correlation=2; cpu_op my::other ts=100+20; "
                       "cudaLaunchKernel ts=101+2 correlation=3; cpu_op aten::mm ts=130+20; "
                       "cudaLaunchKernel ts=131+2 correlation=4; cudaLaunchKernel ts=160+2 correlation=5; "
                       "kernel a stream=7 ts=200+10 correlation=1; kernel b stream=7 ts=220+10 correlation=2; "
                       "kernel c stream=7 ts=240+8 correlation=3; kernel d stream=7 ts=260+7 correlation=4; "
                       "kernel e stream=7 ts=280+5 correlation=5",
        false, true, SUTRA_OPERATORS_RATES,
        "0,aten::mm,GEMM,((1000, 1000), (1000, 1000)),('c10::BFloat16', 'c10::BFloat16'),,('', ''),1,2,20.0,"
        "20.0,50.0,2.0,6.0,333.3333333333333,100.0,0.3,matrix bf16,memory,30.0, | "
        "0,my::other,other,,,,,1,1,8.0,8.0,20.0,-,-,-,-,-,,,-,no formula for this operator | "
        "0,aten::mm,GEMM,,,,,1,1,7.0,7.0,17.5,-,-,-,-,-,,,-,input shapes not recorded (record_shapes=True) | "
        "0,cudaLaunchKernel,other,,,,,1,1,5.0,5.0,12.5,-,-,-,-,-,,,-,launched outside operators");
}

/* Without peaks there are rates, but no roofline. */
static void unknown_devices_have_no_roofline(void **state) {
    check_table("'deviceProperties':[{'id':0,'name':'Unknown 9000'}]; " PRODUCT(
                    0, 10) "cudaLaunchKernel ts=1+2 correlation=1; kernel gemm stream=7 ts=100+10 correlation=1",
                false, false, SUTRA_OPERATORS_RATES,
                "0,aten::mm,GEMM,((1000, 1000), (1000, 1000)),('c10::BFloat16', 'c10::BFloat16'),,('', ''),1,1,10.0,"
                "10.0,100.0,2.0,6.0,333.3333333333333,200.0,0.6,matrix bf16,,-,");
}

/* rank, step, time, TFLOP, TFLOP/s, device, precision, peak, MFU, unknown percent */
static void steps_have_their_flops_of_any_thread(void **state) {
    check_table(
        "'deviceProperties':[{'id':0,'name':'NVIDIA A100-SXM4-80GB'}]; "
        "user_annotation ProfilerStep#1 ts=0+100; " PRODUCT(
            10, 20) "cudaLaunchKernel ts=11+2 correlation=1; user_annotation ProfilerStep#2 ts=100+100; "
                    "cpu_op aten::mm tid=2 ts=110+20 'Input Dims'=[[1000,1000],[1000,1000]]"
                    " 'Input type'=['c10::BFloat16','c10::BFloat16']; "
                    "cudaLaunchKernel tid=2 ts=112+2 correlation=2; " PRODUCT(
                        140, 20) "cudaLaunchKernel ts=141+2 correlation=3; cpu_op my::op ts=170+9; "
                                 "cudaLaunchKernel ts=171+2 correlation=4; "
                                 "cpu_op c10d::allreduce_ ts=180+9; cudaLaunchKernel ts=181+2 correlation=5; " PRODUCT(
                                     300, 20) "cudaLaunchKernel ts=301+2 correlation=6; "
                                              "kernel gemm stream=7 ts=400+10 correlation=1; "
                                              "kernel gemm stream=7 ts=410+10 correlation=2; "
                                              "kernel gemm stream=7 ts=420+10 correlation=3; "
                                              "kernel k stream=7 ts=430+5 correlation=4; "
                                              "kernel ncclDevKernel_AllReduce stream=7 ts=440+50 correlation=5; "
                                              "kernel gemm stream=7 ts=500+10 correlation=6",
        false, false, SUTRA_OPERATORS_RATE_STEPS,
        "0,ProfilerStep#1,100.0,0.002,20.0,NVIDIA A100 80GB SXM,bf16,312.0,6.41025641025641,0.0 | "
        "0,ProfilerStep#2,100.0,0.004,40.0,NVIDIA A100 80GB SXM,bf16,312.0,12.82051282051282,20.0");
}

static void a_trace_without_steps_is_one(void **state) {
    check_table(PRODUCT(0, 10) "cudaLaunchKernel ts=1+2 correlation=1; kernel gemm stream=7 ts=100+10 correlation=1; "
                               "kernel k stream=7 ts=190+10 correlation=9",
                false, true, SUTRA_OPERATORS_RATE_STEPS, "0,all,100.0,0.002,20.0,mine,bf16,400.0,5.0,0.0");
}

static void device_peaks_are_reported(void **state) {
    check_table(PRODUCT(0, 10), false, true, SUTRA_OPERATORS_PEAKS,
                "0,mine,memory,-,1.0 | 0,mine,vector fp32,20.0,- | 0,mine,matrix fp32,50.0,- | "
                "0,mine,matrix tf32,200.0,- | 0,mine,matrix bf16,400.0,-");
    check_table(PRODUCT(0, 10), false, false, SUTRA_OPERATORS_PEAKS, "");
}

static void traces_without_work_have_no_rates(void **state) {
    check_table(PRODUCT(0, 10), false, true, SUTRA_OPERATORS_RATES, "");
    check_table(PRODUCT(0, 10), false, true, SUTRA_OPERATORS_RATE_STEPS, "");
}

static void peaks_that_cannot_be_read_are_an_error(void **state) {
    struct sutra_context *context = make_context(1);
    struct sutra_device_trace *trace = NULL;
    struct sutra_operators *operators = NULL;
    struct sutra_error error;
    const struct sutra_operators_options options = {.size = sizeof options, .peaks = "/nowhere/peaks.json"};
    trace = parse_trace(context, "");
    assert_int_equal(sutra_operators_run(context, trace, &options, &operators, &error), SUTRA_NO_INPUT);
    sutra_device_trace_free(trace);
    sutra_context_free(context);
}

/* name, event, GFLOP, MB, FLOP/B, TB/s, TFLOP/s, time, count: arrows link, and nested operators both stand; the rates
 * are means of 200 and 100. */
static void tracelens_rates_are_means_including_nested_operators(void **state) {
#define ARROW(id, ts, to)                                                                                              \
    "ac2g ac2g ph=s id=" #id " ts=" #ts "; "                                                                           \
    "{'ph':'f','cat':'ac2g','name':'ac2g','pid':0,'tid':7,'ts':" #to ",'id':" #id ",'bp':'e'}; "
    check_table(
        PRODUCT(0, 10) "cudaLaunchKernel ts=1+2 correlation=1; " PRODUCT(
            20, 10) "cudaLaunchKernel ts=21+2 correlation=2; " SHAPED("aten::sum", 40, 20, "[[10]]", "['float']",
                                                                      "['']")
            SHAPED("aten::sum", 45, 10, "[[2,5]]", "['float']",
                   "['']") "cudaLaunchKernel ts=46+2 correlation=3; kernel gemm stream=7 ts=100+10 correlation=1; "
                           "kernel gemm stream=7 ts=200+20 correlation=2; "
                           "kernel sum stream=7 ts=300+10 correlation=3; " ARROW(1, 1, 100) ARROW(2, 21, 200)
                               ARROW(3, 46, 300),
        true, false, SUTRA_TRACELENS_RATES,
        "aten::mm,0,2.0,5.7220458984375,333.3333333333333,0.44999999999999996,150.0,30.0,2 | "
        "aten::sum,4,1e-08,4.1961669921875e-05,0.22727272727272727,4.4e-06,1e-06,20.0,2");
}

/* 2 x 3 heads of 8 queries and keys, 16 wide: 24,576 FLOPs forward, 61,440 backward; 7 and 4 operands of 1,536
 * bytes. */
static void attention_gradients_use_the_time_of_their_autograd_node(void **state) {
    check_table(
        "cpu_op aten::scaled_dot_product_attention ts=0+100 'Sequence number'=5; "
        "cpu_op aten::_scaled_dot_product_flash_attention ts=10+80"
        " 'Input Dims'=[[2,3,8,16],[2,3,8,16],[2,3,8,16],[],[],[],[]]"
        " 'Input type'=['c10::Half','c10::Half','c10::Half'] 'Concrete Inputs'=['','','','0.','False','False','']"
        " 'Sequence number'=5; "
        "cudaLaunchKernel ts=20+5 correlation=1; "
        "cpu_op 'autograd::engine::evaluate_function: Flash0' tid=2 ts=200+100 'Sequence number'=5; "
        "cudaLaunchKernel tid=2 ts=210+5 correlation=2; kernel fwd stream=7 ts=400+10 correlation=1; "
        "kernel bwd stream=7 ts=500+40 correlation=2; " ARROW(
            1, 20, 400) "ac2g ac2g ph=s id=2 tid=2 ts=210; "
                        "{'ph':'f','cat':'ac2g','name':'ac2g','pid':0,'tid':7,'ts':500,'id':2,'bp':'e'}",
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
