/*
 * test_hta_more.c - tests annotations, operators, kernel sequences, series, full queues, histograms, steps and both HTA
 * versions on small traces; with sutra's rules and, where they differ, with HTA's.
 */
#include "hta_table.h"

static const struct sutra_hta_options ours = {.size = sizeof ours};
static const struct sutra_hta_options compat = {.size = sizeof compat, .compat = true};
static const struct sutra_hta_options newer = {.size = sizeof newer, .hta_version = SUTRA_HTA_VERSION_0_6};
static const struct sutra_hta_options newer_compat = {
    .size = sizeof newer_compat, .compat = true, .hta_version = SUTRA_HTA_VERSION_0_6};

static void check(const char *events, const struct sutra_hta_options *options, enum sutra_hta_table id,
                  const char *expected) {
    char text[4096];
    const char *reason;
    for (unsigned n_threads = 1; n_threads <= 2; n_threads++) {
        struct sutra_context *context = make_context(n_threads);
        struct sutra_hta *hta = analyze(context, events, options);
        const struct sutra_table *table = sutra_result_table(SUTRA_RESULT(hta), id, &reason);
        tell_table(table, reason, text);
        assert_string_equal(text, expected);
        sutra_hta_free(hta);
        sutra_context_free(context);
    }
}

#define ROW(index, ts, dur, end, stream, correlation, name, annotation)                                                \
#index "," #ts "," #dur "," #end ",0," #stream "," #stream "," #correlation ",0,kernel," name "," annotation

static void kernels_have_the_shortest_overlapping_annotation(void **state) {
    check("gpu_user_annotation step pid=0 tid=7 ts=0+100; gpu_user_annotation forward pid=0 tid=7 ts=10+20; "
          "kernel a stream=7 ts=5+5 correlation=1; kernel b stream=7 ts=25+10 correlation=2; "
          "kernel c stream=7 ts=100+5 correlation=3; kernel d stream=8 ts=15+5 correlation=4",
          &ours, SUTRA_HTA_ANNOTATED,
          ROW(2, 5, 5, 10, 7, 1, "a", "step") " | " ROW(3, 25, 10, 35, 7, 2, "b", "forward") " | "
          /* touching is not meeting, and the other stream has none */
          ROW(4, 100, 5, 105, 7, 3, "c", "") " | " ROW(5, 15, 5, 20, 8, 4, "d", ""));
    check("gpu_user_annotation first pid=0 tid=7 ts=0+10; gpu_user_annotation last pid=0 tid=7 ts=5+10; "
          "kernel a stream=7 ts=6+2 correlation=1",
          &ours, SUTRA_HTA_ANNOTATED, ROW(2, 6, 2, 8, 7, 1, "a", "last"));
    /* without length only strictly within */
    check("gpu_user_annotation x pid=0 tid=7 ts=10+10; kernel a stream=7 ts=10+0 correlation=1; "
          "kernel b stream=7 ts=15+0 correlation=2",
          &ours, SUTRA_HTA_ANNOTATED, ROW(1, 0, 0, 0, 7, 1, "a", "") " | " ROW(2, 5, 0, 5, 7, 2, "b", "x"));
    check("kernel a stream=7 ts=5+5 correlation=1", &ours, SUTRA_HTA_ANNOTATED,
          "none: no event has the category gpu_user_annotation");
}

static void hta_0_6_shares_annotations_of_kernels_with_equal_times(void **state) {
#define TWINS                                                                                                          \
    "gpu_user_annotation x pid=0 tid=7 ts=0+10; kernel a stream=7 ts=5+5 correlation=1; "                              \
    "kernel b stream=8 ts=5+5 correlation=2"
    check(TWINS, &newer, SUTRA_HTA_ANNOTATED, ROW(1, 5, 5, 10, 7, 1, "a", "x") " | " ROW(2, 5, 5, 10, 8, 2, "b", ""));
    check(TWINS, &compat, SUTRA_HTA_ANNOTATED, ROW(1, 5, 5, 10, 7, 1, "a", "x") " | " ROW(2, 5, 5, 10, 8, 2, "b", ""));
    check(TWINS, &newer_compat, SUTRA_HTA_ANNOTATED,
          ROW(1, 5, 5, 10, 7, 1, "a", "x") " | " ROW(2, 5, 5, 10, 8, 2, "b", "x"));
}

static void annotations_have_their_durations_by_name(void **state) {
#define ANNOTATIONS                                                                                                    \
    "user_annotation b ts=0+4; user_annotation b ts=5+8; user_annotation a ts=20+3; "                                  \
    "gpu_user_annotation a pid=0 tid=7 ts=22+5"
    check(ANNOTATIONS, &ours, SUTRA_HTA_ANNOTATIONS, "a,3,3,3,0.0,3.0,0 | b,12,8,4,2.8284271247461903,6.0,0");
    check(ANNOTATIONS, &ours, SUTRA_HTA_GPU_ANNOTATIONS, "a,5,5,5,0.0,5.0,0");
    check("kernel a stream=7 ts=5+5 correlation=1", &ours, SUTRA_HTA_ANNOTATIONS,
          "none: no event has the category user_annotation: annotate code with record_function()");
}

static void names_beyond_a_number_or_quantile_become_others(void **state) {
    static const char *const texts[] = {"zero"};
    const struct sutra_hta_options two = {.size = sizeof two, .n_annotations = 2, .kept_ratio = 0.9},
                                   quantile = {.size = sizeof quantile, .n_annotations = 2, .kept_ratio = 0.25},
                                   named = {.size = sizeof named,
                                            .n_annotations = 1,
                                            .kept_annotations = texts,
                                            .n_kept_annotations = 1},
                                   wrong = {.size = sizeof wrong, .kept_ratio = 1.5};
    struct sutra_context *context = make_context(1);
    struct sutra_device_trace *trace = NULL;
    struct sutra_hta *hta = NULL;
    struct sutra_error error;
#define FOUR_NAMES                                                                                                     \
    "user_annotation step ts=0+8; user_annotation forward ts=10+4; user_annotation backward ts=20+2; "                 \
    "user_annotation zero_grad ts=30+1"
    check(FOUR_NAMES, &two, SUTRA_HTA_ANNOTATIONS,
          "forward,4,4,4,0.0,4.0,0 | others,3,2,1,0.7071067811865476,1.5,0 | step,8,8,8,0.0,8.0,0");
    check(FOUR_NAMES, &quantile, SUTRA_HTA_ANNOTATIONS,
          "others,7,4,1,1.5275252316519468,2.3333333333333335,0 | step,8,8,8,0.0,8.0,0");
    check(FOUR_NAMES, &named, SUTRA_HTA_ANNOTATIONS,
          "others,6,4,2,1.4142135623730951,3.0,0 | step,8,8,8,0.0,8.0,0 | zero_grad,1,1,1,0.0,1.0,0");
    trace = parse_trace(context, FOUR_NAMES);
    assert_int_equal(sutra_hta_run(context, trace, &wrong, &hta, &error), SUTRA_USAGE);
    assert_string_equal(error.message, "kept_ratio 1.5 is not between 0 and 1");
    sutra_device_trace_free(trace);
    sutra_context_free(context);
}

static void rows_and_short_names_are_made_on_request(void **state) {
    const struct sutra_hta_options rows = {.size = sizeof rows, .rows = true, .short_names = true};
#define TEMPLATES                                                                                                      \
    "user_annotation ProfilerStep#3 ts=0+50; cudaLaunchKernel ts=5+2 correlation=1; "                                  \
    "kernel 'void a::b<float>(int)' stream=7 ts=10+5 correlation=1; gpu_user_annotation loss<x> pid=0 tid=7 ts=9+8"
    check(TEMPLATES, &ours, SUTRA_HTA_ROWS, "none: a table on request");
    check(TEMPLATES, &rows, SUTRA_HTA_ROWS,
          "0,0,50,50,1,1,-1,-1,-1,user_annotation,ProfilerStep#3,3 |"
          " 1,5,2,7,1,1,-1,1,2,cuda_runtime,cudaLaunchKernel,3 | "
          "2,10,5,15,0,7,7,1,1,kernel,a::b,3 | 3,9,8,17,0,7,-1,-1,-1,gpu_user_annotation,loss,3");
    check(TEMPLATES, &rows, SUTRA_HTA_ANNOTATED, "2,10,5,15,0,7,7,1,1,kernel,a::b,loss");
}

static void profiler_ranges_have_the_enclosing_operators_of_their_launch(void **state) {
#define TWO_LAUNCHES                                                                                                   \
    "cpu_op aten::conv ts=0+50; cpu_op aten::fft ts=5+20; cudaLaunchKernel ts=10+2 correlation=1; "                    \
    "cudaLaunchKernel ts=60+2 correlation=2; cuda_profiler_range second pid=0 tid=0 ts=62+1 b=2 a=1; "                 \
    "cuda_profiler_range first pid=0 tid=0 ts=12+1 a=3; "
    check(TWO_LAUNCHES, &ours, SUTRA_HTA_RANGES, "5,2,0,aten::conv | 5,2,1,aten::fft | 4,3,-1,");
    check(TWO_LAUNCHES, &ours, SUTRA_HTA_COUNTERS, "b | a");
    check(TWO_LAUNCHES "cudaLaunchKernel ts=70+2 correlation=3", &ours, SUTRA_HTA_RANGES,
          "none: the numbers of cuda_profiler_range events and of kernel launches differ");
    check("cudaLaunchKernel ts=10+2 correlation=1", &ours, SUTRA_HTA_COUNTERS,
          "none: no event has the category cuda_profiler_range");
}

static void launches_of_copies_are_omitted_on_request(void **state) {
    const struct sutra_hta_options kernels = {.size = sizeof kernels, .no_memory_launches = true};
#define KERNEL_AND_COPY                                                                                                \
    "cudaLaunchKernel ts=0+2 correlation=1; kernel k stream=7 ts=5+3 correlation=1; "                                  \
    "cudaMemcpyAsync ts=10+2 correlation=2; "                                                                          \
    "gpu_memcpy 'Memcpy HtoD' stream=7 ts=15+4 correlation=2 'memory bandwidth (GB/s)'=1"
    check(KERNEL_AND_COPY, &ours, SUTRA_HTA_LAUNCHES, "1,2,3,3 | 2,2,4,3");
    check(KERNEL_AND_COPY, &kernels, SUTRA_HTA_LAUNCHES, "1,2,3,3");
}

static void operators_have_the_kernels_of_their_launches(void **state) {
    /* Twice the same, once with one kernel; the innermost operator has the launches. */
    check("cpu_op aten::linear ts=0+50; cpu_op aten::addmm ts=2+30; cudaLaunchKernel ts=5+2 correlation=1; "
          "cudaLaunchKernel ts=10+2 correlation=2; cpu_op aten::addmm ts=100+30; "
          "cudaLaunchKernel ts=101+2 correlation=3; cudaLaunchKernel ts=110+2 correlation=4; "
          "cpu_op aten::addmm ts=200+30; cudaLaunchKernel ts=204+2 correlation=5; "
          "kernel gemm stream=7 ts=15+5 correlation=1; kernel add stream=7 ts=30+5 correlation=2; "
          "kernel gemm stream=7 ts=107+5 correlation=3; kernel add stream=7 ts=130+5 correlation=4; "
          "kernel gemm stream=7 ts=210+5 correlation=5",
          &ours, SUTRA_HTA_OPERATORS, "aten::addmm,gemm -> add,2,2.0,8.0 | aten::addmm,gemm,1,4.0,6.0");
    check("cpu_op mine ts=0+50; cudaLaunchKernel ts=5+2 correlation=1; kernel gemm stream=7 ts=15+5 correlation=1",
          &ours, SUTRA_HTA_OPERATORS, "none: no ATen operator launches a kernel");
}

static void operators_belong_to_their_thread_except_in_hta_mode(void **state) {
#define TWO_THREADS                                                                                                    \
    "cpu_op aten::mm ts=0+50; cpu_op aten::add tid=2 ts=4+50; cudaLaunchKernel ts=5+2 correlation=1; "                 \
    "kernel gemm stream=7 ts=15+5 correlation=1"
    check(TWO_THREADS, &ours, SUTRA_HTA_OPERATORS, "aten::mm,gemm,1,5.0,10.0");
    check(TWO_THREADS, &compat, SUTRA_HTA_OPERATORS, "aten::add,gemm,1,1.0,10.0");
    /* A launch whose kernel is lost stops only HTA. */
#define LOST                                                                                                           \
    "cpu_op aten::mm ts=1+50; cudaLaunchKernel ts=5+2 correlation=1; cudaLaunchKernel ts=8+2 correlation=2; "          \
    "kernel gemm stream=7 ts=15+5 correlation=1"
    check(LOST, &ours, SUTRA_HTA_OPERATORS, "aten::mm,gemm,1,4.0,10.0");
    check(LOST, &compat, SUTRA_HTA_OPERATORS,
          "none: a launch in an operator has no kernel or several kernels: HTA fails here");
}

#define CALL_OF_TWO(ts, first, second)                                                                                 \
    "cpu_op aten::linear ts=" #ts "+10; cudaLaunchKernel ts=" #ts "+1 correlation=" #first "; "                        \
    "cudaLaunchKernel ts=" #ts "+3 correlation=" #second "; "

static void sequences_count_what_operators_launch_in_the_order_of_time(void **state) {
    static const struct sutra_hta_options two = {.size = sizeof two, .sequence_kernels = 2};
    /* The second launch's kernel runs first, on another stream. */
    check("cpu_op x ts=0+5; " CALL_OF_TWO(10, 1, 2)
              CALL_OF_TWO(30, 3, 4) "kernel a stream=7 ts=50+5 correlation=1; kernel b stream=8 ts=40+7 correlation=2; "
                                    "kernel a stream=7 ts=70+5 correlation=3; kernel b stream=8 ts=60+7 correlation=4",
          &two, SUTRA_HTA_SEQUENCES, "aten::linear|b|a,2,24,20");
    check(CALL_OF_TWO(10, 1, 2) "kernel a stream=7 ts=50+5 correlation=1; "
                                "kernel b stream=8 ts=40+7 correlation=2",
          &ours, SUTRA_HTA_SEQUENCES, "none: no operator with this name launches that many kernels");
}

static void sequences_are_of_outermost_operators_and_for_hta_of_the_least_depth(void **state) {
    static const struct sutra_hta_options one = {.size = sizeof one, .sequence_kernels = 1};
    static const struct sutra_hta_options one_compat = {
        .size = sizeof one_compat, .sequence_kernels = 1, .compat = true};
#define DEPTHS                                                                                                         \
    "cpu_op x ts=1+5; cpu_op aten::mm ts=10+10; cpu_op aten::add ts=12+5; cudaLaunchKernel ts=13+1 correlation=1; "    \
    "cpu_op y ts=30+10; cpu_op aten::mul ts=31+5; cudaLaunchKernel ts=32+1 correlation=2; "                            \
    "kernel a stream=7 ts=50+5 correlation=1; kernel b stream=7 ts=60+7 correlation=2"
    check(DEPTHS, &one, SUTRA_HTA_SEQUENCES, "aten::mm|a,1,5,10 | aten::mul|b,1,7,5");
    check(DEPTHS, &one_compat, SUTRA_HTA_SEQUENCES, "aten::mm|a,1,5,10");
}

static void bandwidth_changes_with_each_copy(void **state) {
#define COPIES                                                                                                         \
    "gpu_memcpy 'Memcpy DtoH (x)' stream=7 ts=10+4 correlation=1 'memory bandwidth (GB/s)'=0.1; "                      \
    "gpu_memcpy 'Memcpy DtoH (x)' stream=8 ts=12+4 correlation=2 'memory bandwidth (GB/s)'=0.2; "                      \
    "gpu_memcpy 'Memset (Device)' stream=7 ts=30+0 correlation=3 'memory bandwidth (GB/s)'=5.5"
    check(COPIES, &compat, SUTRA_HTA_BANDWIDTH_SERIES,
          "0.0,0,Memcpy DtoH,0.1 | 2.0,0,Memcpy DtoH,0.30000000000000004 | 4.0,0,Memcpy DtoH,0.20000000000000004 | "
          "6.0,0,Memcpy DtoH,2.7755575615628914e-17 | 20.0,0,Memset,5.5 | 21.0,0,Memset,0.0");
    check(COPIES, &ours, SUTRA_HTA_BANDWIDTH_SERIES,
          "0.0,0,Memcpy DtoH,0.1 | 2.0,0,Memcpy DtoH,0.30000000000000004 | 4.0,0,Memcpy DtoH,0.20000000000000004 | "
          "6.0,0,Memcpy DtoH,0.0 | 20.0,0,Memset,5.5 | 21.0,0,Memset,0.0");
}

static void bandwidths_are_per_device_except_in_hta_mode(void **state) {
#define COPY_ON(pid, ts, dur, gbps)                                                                                    \
    "gpu_memcpy 'Memcpy DtoD' pid=" #pid " stream=7 ts=" #ts "+" #dur                                                  \
    " correlation=1 'memory bandwidth (GB/s)'=" #gbps "; "
    check(COPY_ON(0, 0, 4, 1) COPY_ON(1, 2, 4, 2), &ours, SUTRA_HTA_BANDWIDTH_SERIES,
          "0.0,0,Memcpy DtoD,1.0 | 4.0,0,Memcpy DtoD,0.0 | 2.0,1,Memcpy DtoD,2.0 | 6.0,1,Memcpy DtoD,0.0");
    check(COPY_ON(0, 0, 4, 1) COPY_ON(1, 2, 4, 2), &compat, SUTRA_HTA_BANDWIDTH_SERIES,
          "0.0,0,Memcpy DtoD,1.0 | 2.0,1,Memcpy DtoD,3.0 | 4.0,0,Memcpy DtoD,2.0 | 6.0,1,Memcpy DtoD,0.0");
}

static void each_stream_has_its_time_on_a_full_queue(void **state) {
    static const struct sutra_hta_options full = {.size = sizeof full, .full_queue = 2};
    static const struct sutra_hta_options full_compat = {.size = sizeof full_compat, .full_queue = 2, .compat = true};
    /* Rows from 0 to 100; stream 7 has two in its queue from 10 to 30, stream 8 from 20 to 25. */
#define QUEUES                                                                                                         \
    "cpu_op x ts=0+1; cudaLaunchKernel ts=5+1 correlation=1; cudaLaunchKernel ts=10+1 correlation=2; "                 \
    "kernel a stream=7 ts=30+1 correlation=1; kernel b stream=7 ts=40+1 correlation=2; "                               \
    "cudaLaunchKernel ts=15+1 correlation=3; cudaLaunchKernel ts=20+1 correlation=4; "                                 \
    "kernel c stream=8 ts=25+1 correlation=3; kernel d stream=8 ts=100+1 correlation=4"
    check(QUEUES, &full, SUTRA_HTA_BLOCKED, "0,7,20.0,0.2 | 0,8,5.0,0.05");
    check(QUEUES, &full_compat, SUTRA_HTA_BLOCKED, "0,8,5.0,0.05");
    check(QUEUES, &ours, SUTRA_HTA_BLOCKED, "");
}

static void slow_launches_are_counted_in_bins_of_microseconds(void **state) {
    /* A call of 5 with a kernel of 3; one of 60 and a delay of 140 with a kernel of 100; one that is inconspicuous. */
    check("cudaLaunchKernel ts=0+5 correlation=1; kernel a stream=7 ts=6+3 correlation=1; "
          "cudaLaunchKernel ts=10+60 correlation=2; kernel b stream=7 ts=210+100 correlation=2; "
          "cudaLaunchKernel ts=400+5 correlation=3; kernel a stream=7 ts=410+30 correlation=3",
          &ours, SUTRA_HTA_LAUNCH_HISTOGRAM,
          "0,short_gpu_kernels,4,8,1,5 | 0,runtime_outliers,32,64,1,60 | 0,launch_delay_outliers,128,256,1,140");
}

static void tables_of_single_ranks_are_omitted_on_request(void **state) {
    static const struct sutra_hta_options joined = {.size = sizeof joined, .only_joined = true};
    static const char trace[] =
        "cudaLaunchKernel ts=0+60 correlation=1; "
        "gpu_memcpy 'Memcpy HtoD (x)' stream=7 ts=70+4 correlation=1 'memory bandwidth (GB/s)'=2.5";
    static const enum sutra_hta_table left_out[] = {
        SUTRA_HTA_LAUNCHES,  SUTRA_HTA_ANNOTATED, SUTRA_HTA_BANDWIDTH_SERIES,
        SUTRA_HTA_OPERATORS, SUTRA_HTA_SEQUENCES, SUTRA_HTA_BUSY_SERIES,
        SUTRA_HTA_QUEUE};
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        check(trace, &joined, left_out[i], "none: not requested, or no data");
    check(trace, &ours, SUTRA_HTA_LAUNCHES, "1,60,4,10");
    check(trace, &joined, SUTRA_HTA_LAUNCH_HISTOGRAM, "0,runtime_outliers,32,64,1,60");
    check(trace, &joined, SUTRA_HTA_BANDWIDTH, "0,Memcpy HtoD,1.0,2.5,-,2.5,2.5,2.5,2.5,2.5");
    check(trace, &joined, SUTRA_HTA_QUEUE_SUMMARY, "0,7,2.0,0.5,0.7071067811865476,0.0,0.25,0.5,0.75,1.0");
}

#define WORKING_STEP(number, ts, first, second)                                                                        \
    "user_annotation ProfilerStep#" #number " ts=" #ts "+100; cudaLaunchKernel ts=" #ts "+1 correlation=" #first "; "  \
    "cudaLaunchKernel ts=" #ts "+2 correlation=" #second "; "

static void steps_have_the_work_that_they_launched(void **state) {
    /* Step 3 is the last one, and cut off; the second kernel of step 1 runs in step 2. */
    check(WORKING_STEP(1, 0, 1, 2) WORKING_STEP(
              2, 100, 3,
              4) "user_annotation ProfilerStep#3 ts=200+100; kernel a stream=7 ts=10+20 correlation=1; "
                 "kernel ncclKernel_X stream=8 ts=120+10 correlation=2; kernel b stream=7 ts=110+15 correlation=3; "
                 "kernel ncclKernel_X stream=8 ts=120+25 correlation=4",
          &ours, SUTRA_HTA_STEPS, "0,1,0,100,2,30,30,20,10,10 | 0,2,100,100,2,40,35,15,25,20");
    check("cpu_op a ts=0+5", &ours, SUTRA_HTA_STEPS,
          "none: no ProfilerStep annotation: call profiler.step() after each training step");
}

static void hta_0_6_names_kernel_kinds_differently(void **state) {
#define KINDS                                                                                                          \
    "kernel k stream=7 ts=0+1 correlation=1; cuda_sync 'Stream Wait Event' stream=7 ts=10+2 correlation=2; "           \
    "kernel hipblas stream=7 ts=20+4 correlation=3; kernel ncclX stream=7 ts=30+8 correlation=4; "                     \
    "kernel hipMemcpyX stream=7 ts=40+16 correlation=5"
    check(KINDS, &ours, SUTRA_HTA_TYPES_MEMORY, "COMPUTATION,15,100.0");
    check(KINDS, &newer, SUTRA_HTA_TYPES_MEMORY, "MEMORY,16,55.2 | COMMUNICATION,8,27.6 | COMPUTATION,5,17.2");
    check(KINDS, &newer_compat, SUTRA_HTA_TYPES_MEMORY, "COMMUNICATION,28,96.6 | COMPUTATION,1,3.4");
}

static void hta_0_6_counts_more_launches_and_fewer_steps(void **state) {
#define NEW_LAUNCH                                                                                                     \
    "cpu_op x ts=0+1; cuda_runtime cuLaunchKernelEx ts=1+1 correlation=5; kernel k stream=7 ts=4+1 correlation=5"
    check(NEW_LAUNCH, &ours, SUTRA_HTA_QUEUE, "none: no kernel has the correlation of a launch");
    check(NEW_LAUNCH, &newer, SUTRA_HTA_QUEUE, "1,1,0,7,7,1 | 2,4,0,7,7,0");
    /* Two names with ProfilerStep in them cut the last step off, unless it takes a number to be one. */
#define ONE_STEP                                                                                                       \
    "user_annotation ProfilerStep#1 ts=0+100; user_annotation 'my ProfilerStep' ts=50+10; "                            \
    "cudaLaunchKernel ts=60+5 correlation=1; kernel a stream=7 ts=66+3 correlation=1"
    check(ONE_STEP, &ours, SUTRA_HTA_TEMPORAL, "none: no event has a stream");
    check(ONE_STEP, &newer, SUTRA_HTA_TEMPORAL, "0,0,3,0,3,0.0,100.0,0.0");
}

static void device_utilization_is_computed_per_interval(void **state) {
    /* From 0 to 1 us are 500 stretches of 2 ns; with nanoseconds two kernels overlap for 4 of the first 10. */
    char text[64];
    const char *reason;
    static const struct sutra_hta_options exact = {.size = sizeof exact, .nanoseconds = true};
    struct sutra_context *context = make_context(1);
    struct sutra_hta *hta =
        analyze(context,
                "kernel a stream=7 ts=0+0.007 correlation=1; kernel b stream=8 ts=0.003+0.004 correlation=2; "
                "kernel c stream=7 ts=0.999+0.001 correlation=3",
                &exact);
    const struct sutra_table *table = sutra_result_table(SUTRA_RESULT(hta), SUTRA_HTA_BUSY_SERIES, &reason);
    static const double expected[] = {100, 100, 100, 50, 0};
    struct sutra_column ts, busy;
    assert_int_equal(sutra_table_rows(table), 500);
    assert_true(sutra_table_column(table, 0, &ts) && sutra_table_column(table, 2, &busy));
    for (int i = 0; i < 5; i++) {
        snprintf(text, sizeof text, "%.3f %.1f", ts.reals[i], busy.reals[i]);
        char wanted[64];
        snprintf(wanted, sizeof wanted, "%.3f %.1f", 0.002 * i, expected[i]);
        assert_string_equal(text, wanted);
    }
    assert_true(busy.reals[499] == 50);
    sutra_hta_free(hta);
    sutra_context_free(context);
    check("kernel a stream=7 ts=5+0 correlation=1", &ours, SUTRA_HTA_BUSY_SERIES,
          "none: all kernels have a duration of 0");
}

static void a_trace_with_counters_is_the_trace_and_the_series(void **state) {
    char *json = trace_json(
        "cpu_op x ts=100+1; cudaLaunchKernel ts=101+1 correlation=1; kernel k stream=7 ts=110+500 correlation=1");
    static const char expected[] =
        ",\n{\"pid\": 0, \"ts\": 101, \"args\": {\"Queue Length\": 1}, \"ph\": \"C\", \"name\": \"Queue Length\","
        " \"id\": 7}"
        ",\n{\"pid\": 0, \"ts\": 110, \"args\": {\"Queue Length\": 0}, \"ph\": \"C\", \"name\": \"Queue Length\","
        " \"id\": 7}"
        ",\n{\"pid\": 0, \"ts\": 110, \"args\": {\"GPU busy, %\": 100.0}, \"ph\": \"C\", \"name\": \"GPU busy, %\"}";
    char path[] = P_tmpdir "/sutra_XXXXXX";
    struct sutra_context *context = make_context(1);
    struct sutra_device_trace *trace = NULL;
    struct sutra_hta *hta = NULL;
    uint64_t n_bytes = 0;
    size_t head = strlen(json) - strlen("]}"), n;
    make_temp_file(path, "");
    trace = parse_trace(context, json);
    assert_int_equal(sutra_hta_run(context, trace, NULL, &hta, NULL), SUTRA_OK);
    assert_int_equal(sutra_hta_write_counters(context, trace, hta, SUTRA_HTA_COUNTERS_ALL, path, &n_bytes, NULL),
                     SUTRA_OK);
    char *text = file_text(path, &n);
    remove(path);
    assert_int_equal(n, n_bytes);
    assert_memory_equal(text, json, head);
    free(json);
    assert_memory_equal(text + head, expected, strlen(expected));
    assert_string_equal(text + n - 2, "]}");
    free(text);
    assert_int_equal(
        sutra_hta_write_counters(context, trace, hta, SUTRA_HTA_COUNTERS_BUSY, "/dev/null", &n_bytes, NULL), SUTRA_OK);
    assert_int_equal(n_bytes,
                     n - (size_t)(strstr(expected, ",\n{\"pid\": 0, \"ts\": 110, \"args\": {\"GPU") - expected));
    sutra_hta_free(hta);
    sutra_device_trace_free(trace);
    sutra_context_free(context);
}

static void unknown_hta_versions_are_errors(void **state) {
    const struct sutra_hta_options options = {.size = sizeof options, .hta_version = SUTRA_HTA_N_VERSIONS};
    struct sutra_context *context = make_context(1);
    struct sutra_device_trace *trace = NULL;
    struct sutra_hta *hta = NULL;
    struct sutra_error error;
    assert_string_equal(sutra_hta_version_name(SUTRA_HTA_VERSION_0_5), "0.5");
    assert_string_equal(sutra_hta_version_name(SUTRA_HTA_VERSION_0_6), "0.6");
    assert_string_equal(sutra_hta_version_name(SUTRA_HTA_N_VERSIONS), "");
    trace = parse_trace(context, "");
    assert_int_equal(sutra_hta_run(context, trace, &options, &hta, &error), SUTRA_USAGE);
    assert_string_equal(error.message, "unknown HTA version 2 (supported: 0.5, 0.6)");
    sutra_device_trace_free(trace);
    sutra_context_free(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_have_the_shortest_overlapping_annotation),
        cmocka_unit_test(hta_0_6_shares_annotations_of_kernels_with_equal_times),
        cmocka_unit_test(annotations_have_their_durations_by_name),
        cmocka_unit_test(names_beyond_a_number_or_quantile_become_others),
        cmocka_unit_test(rows_and_short_names_are_made_on_request),
        cmocka_unit_test(profiler_ranges_have_the_enclosing_operators_of_their_launch),
        cmocka_unit_test(launches_of_copies_are_omitted_on_request),
        cmocka_unit_test(operators_have_the_kernels_of_their_launches),
        cmocka_unit_test(operators_belong_to_their_thread_except_in_hta_mode),
        cmocka_unit_test(sequences_count_what_operators_launch_in_the_order_of_time),
        cmocka_unit_test(sequences_are_of_outermost_operators_and_for_hta_of_the_least_depth),
        cmocka_unit_test(bandwidth_changes_with_each_copy),
        cmocka_unit_test(bandwidths_are_per_device_except_in_hta_mode),
        cmocka_unit_test(each_stream_has_its_time_on_a_full_queue),
        cmocka_unit_test(slow_launches_are_counted_in_bins_of_microseconds),
        cmocka_unit_test(tables_of_single_ranks_are_omitted_on_request),
        cmocka_unit_test(steps_have_the_work_that_they_launched),
        cmocka_unit_test(hta_0_6_names_kernel_kinds_differently),
        cmocka_unit_test(hta_0_6_counts_more_launches_and_fewer_steps),
        cmocka_unit_test(device_utilization_is_computed_per_interval),
        cmocka_unit_test(a_trace_with_counters_is_the_trace_and_the_series),
        cmocka_unit_test(unknown_hta_versions_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
