/*
 * test_operators.c - tests attribution of kernels to operators: small traces with results computed by hand, random
 * traces against a direct implementation of the rule, and recorded traces in which each kernel must be attributed once.
 */
#include <glob.h>
#include <inttypes.h>

#include "analyze/launches/launches.h"
#include "analyze/operators/operators.h"
#include "base/memory.h"
#include "generate/random.h"
#include "hta_table.h"

enum made_tables { MADE_OURS, MADE_TRACELENS, MADE_KERNELS };

static struct sutra_operators *make(struct sutra_context *context, const char *text, enum made_tables made) {
    const struct sutra_operators_options options = {.size = sizeof options, .kernels = made == MADE_KERNELS};
    struct sutra_device_trace *trace = NULL;
    struct sutra_operators *operators = NULL;
    struct sutra_error error;
    trace = parse_trace(context, text);
    enum sutra_status status = made == MADE_TRACELENS
                                   ? sutra_tracelens_run(context, trace, 0, &operators, &error)
                                   : sutra_operators_run(context, trace, &options, &operators, &error);
    assert_int_equal(status, SUTRA_OK);
    sutra_device_trace_free(trace);
    return operators;
}

struct table_case {
    const char *name, *events;
    int table; /* enum sutra_operators_table, or sutra_tracelens_table */
    const char *expected;
};

static void check_all(const struct table_case *cases, size_t n, enum made_tables made) {
    char text[8192];
    for (size_t i = 0; i < n; i++)
        for (unsigned n_threads = 1; n_threads <= 2; n_threads++) {
            struct sutra_context *context = make_context(n_threads);
            struct sutra_operators *operators = make(context, cases[i].events, made);
            tell_table(sutra_result_table(SUTRA_RESULT(operators), (uint32_t)cases[i].table, NULL), "not made", text);
            if (strcmp(text, cases[i].expected) != 0)
                print_error("%s\n", cases[i].name);
            assert_string_equal(text, cases[i].expected);
            sutra_operators_free(operators);
            sutra_context_free(context);
        }
}

#define N(cases) (sizeof(cases) / sizeof *(cases))

/* rank, name, kind, category, calls, host, host self, kernels, device, direct, subtree, percent */
static void kernels_are_attributed_to_the_innermost_operator(void **state) {
    static const struct table_case cases[] = {
        {"an operator below another one",
         "cpu_op outer ts=0+100; cpu_op aten::mm ts=10+50; cudaLaunchKernel ts=20+5 correlation=1; "
         "kernel k stream=7 ts=200+10 correlation=1",
         SUTRA_OPERATORS_BY_NAME,
         "0,aten::mm,operator,GEMM,1,50.0,50.0,1,10.0,10.0,10.0,100.0 | "
         "0,outer,operator,other,1,100.0,50.0,0,0.0,0.0,0.0,0.0"},
        {"its own kernel and one below: kernels that overlap count once",
         "cpu_op aten::a ts=0+100; cudaLaunchKernel ts=2+5 correlation=2; cpu_op aten::mm ts=10+50; "
         "cudaLaunchKernel ts=20+5 correlation=1; kernel k stream=7 ts=200+10 correlation=1; "
         "kernel k stream=8 ts=205+20 correlation=2",
         SUTRA_OPERATORS_BY_NAME,
         "0,aten::a,operator,other,1,100.0,50.0,1,20.0,20.0,25.0,66.66666666666666 | "
         "0,aten::mm,operator,GEMM,1,50.0,50.0,1,10.0,10.0,10.0,33.33333333333333"},
        {"on the thread of the call, whatever runs on others",
         "cpu_op main ts=0+100; cpu_op other tid=2 ts=15+20; cudaLaunchKernel ts=20+5 correlation=1; "
         "kernel k stream=7 ts=200+10 correlation=1",
         SUTRA_OPERATORS_BY_NAME,
         "0,main,operator,other,1,100.0,100.0,1,10.0,10.0,10.0,100.0 | "
         "0,other,operator,other,1,20.0,20.0,0,0.0,0.0,0.0,0.0"},
        {"an operator that has ended is not around, though one that it began is",
         "cpu_op ended ts=0+10; user_annotation label ts=5+20; cudaLaunchKernel ts=15+2 correlation=1; "
         "kernel k stream=7 ts=200+10 correlation=1",
         SUTRA_OPERATORS_BY_NAME,
         "0,cudaLaunchKernel,call,other,1,2.0,2.0,1,10.0,10.0,10.0,100.0 | "
         "0,ended,operator,other,1,10.0,10.0,0,0.0,0.0,0.0,0.0"},
        {"calls of the driver, and kernels of a graph",
         "cpu_op aten::a ts=0+10; cuda_driver cuLaunchKernelEx ts=2+3 correlation=1; "
         "cudaGraphLaunch ts=20+5 correlation=2; kernel j stream=7 ts=100+10 correlation=1; "
         "kernel k stream=7 ts=110+10 correlation=2; kernel l stream=7 ts=120+20 correlation=2",
         SUTRA_OPERATORS_BY_NAME,
         "0,cudaGraphLaunch,call,other,1,5.0,5.0,2,30.0,30.0,30.0,75.0 | "
         "0,aten::a,operator,other,1,10.0,10.0,1,10.0,10.0,10.0,25.0"},
        {"communication counts, and what an operator around is known for",
         "cpu_op c10d::allreduce_ ts=0+50; cpu_op record_param_comms ts=5+20; cudaLaunchKernel ts=10+5 correlation=1; "
         "kernel ncclDevKernel_AllReduce stream=7 ts=100+10 correlation=1; "
         "cpu_op aten::_scaled_dot_product_flash_attention ts=60+30; cpu_op aten::_flash_attention_forward ts=65+20; "
         "cudaLaunchKernel ts=70+5 correlation=2; kernel flash stream=7 ts=120+30 correlation=2",
         SUTRA_OPERATORS_BY_CATEGORY,
         "0,SDPA_fwd,1,1,30.0,30.0,30.0,75.0 | 0,record_param_comms,1,1,10.0,10.0,10.0,25.0"},
    };
    check_all(cases, N(cases), MADE_OURS);
}

static void attributed_plus_unattributed_time_is_the_total(void **state) {
    static const struct table_case cases[] = {
        {"an operator's, a call's, nobody's",
         "cpu_op aten::a ts=0+10; cudaLaunchKernel ts=2+3 correlation=1; cudaLaunchKernel ts=20+3 correlation=2; "
         "kernel k stream=7 ts=100+10 correlation=1; kernel ncclKernel stream=8 ts=105+10 correlation=2; "
         "gpu_memcpy Memcpy stream=7 ts=120+5 correlation=3 'memory bandwidth (GB/s)'=1",
         SUTRA_OPERATORS_TIMELINE,
         "0,compute,10.0,40.0 | 0,exposed communication,5.0,20.0 | 0,exposed memcpy,5.0,20.0 | 0,busy,20.0,80.0 | "
         "0,idle,5.0,20.0 | 0,total,25.0,100.0 | 0,communication,10.0,40.0 | 0,memcpy,5.0,20.0 | "
         "0,attributed to operators,10.0,40.0 | 0,attributed to calls,10.0,40.0 | 0,unattributed,5.0,20.0 | "
         "0,all GPU activity,25.0,100.0"},
        {"no work at all", "cpu_op aten::a ts=0+10", SUTRA_OPERATORS_TIMELINE,
         "0,compute,0.0,- | 0,exposed communication,0.0,- | 0,exposed memcpy,0.0,- | 0,busy,0.0,- | 0,idle,0.0,- | "
         "0,total,0.0,- | 0,communication,0.0,- | 0,memcpy,0.0,- | 0,attributed to operators,0.0,- | "
         "0,attributed to calls,0.0,- | 0,unattributed,0.0,- | 0,all GPU activity,0.0,-"},
        {"nanoseconds of starts since 1970",
         "kernel k stream=7 ts=1695835585940062.123+1.002 correlation=1; "
         "kernel l stream=7 ts=1695835585940064.001+1 correlation=2",
         SUTRA_OPERATORS_TIMELINE,
         "0,compute,2.002,69.56219596942321 | 0,exposed communication,0.0,0.0 | 0,exposed memcpy,0.0,0.0 | "
         "0,busy,2.002,69.56219596942321 | 0,idle,0.876,30.437804030576785 | 0,total,2.878,100.0 | "
         "0,communication,0.0,0.0 | 0,memcpy,0.0,0.0 | 0,attributed to operators,0.0,0.0 | 0,attributed to"
         " calls,0.0,0.0 | "
         "0,unattributed,2.002,100.0 | 0,all GPU activity,2.002,100.0"},
    };
    check_all(cases, N(cases), MADE_OURS);
}

static void flows_attribute_kernels_without_a_correlation(void **state) {
    static const struct table_case cases[] = {
        {"from the moment of a call to that of the kernel",
         "cpu_op aten::a ts=0+10; cudaLaunchKernel ts=2+3; kernel k stream=7 ts=100+10; ac2g ac2g ph=s id=5 ts=2; "
         "ac2g ac2g ph=f id=5 pid=0 tid=7 ts=100",
         SUTRA_OPERATORS_BY_NAME, "0,aten::a,operator,other,1,10.0,10.0,1,10.0,10.0,10.0,100.0"},
    };
    check_all(cases, N(cases), MADE_OURS);
}

/* rank, name, kind, parent, calls, host, own, kernels, device, busy, and backward */
static void modules_have_what_runs_below_them_and_backward_of_it(void **state) {
    static const struct table_case cases[] = {
        {"two modules, one in the other; backward on another thread",
         "python_function 'nn.Module: Net_0' ts=0+100; python_function 'nn.Module: Linear_0' ts=10+50; "
         "cpu_op aten::addmm ts=20+30 'Sequence number'=17; cudaLaunchKernel ts=25+2 correlation=1; "
         "cudaLaunchKernel ts=80+2 correlation=2; "
         "cpu_op 'autograd::engine::evaluate_function: AddmmBackward0' tid=2 ts=200+50 'Sequence number'=17; "
         "cpu_op AddmmBackward0 tid=2 ts=205+40 'Sequence number'=17; cpu_op aten::mm tid=2 ts=210+30; "
         "cudaLaunchKernel tid=2 ts=215+2 correlation=3; kernel a stream=7 ts=300+10 correlation=1; "
         "kernel b stream=7 ts=310+5 correlation=2; kernel c stream=7 ts=320+20 correlation=3",
         SUTRA_OPERATORS_BY_MODULE,
         "0,nn.Module: Net_0,Net,,1,100.0,5.0,2,15.0,15.0,1,20.0,20.0 | "
         "0,nn.Module: Linear_0,Linear,nn.Module: Net_0,1,50.0,30.0,1,10.0,10.0,1,20.0,20.0"},
        {"no module", "cpu_op a ts=0+10", SUTRA_OPERATORS_BY_MODULE, "none: not made"},
    };
    check_all(cases, N(cases), MADE_OURS);
}

static void annotations_and_paths_are_recorded(void **state) {
    static const struct table_case cases[] = {
        {"a step of two kernels",
         "user_annotation ProfilerStep#3 ts=0+100; cpu_op aten::a ts=10+50; cudaLaunchKernel ts=20+5 correlation=1; "
         "cudaLaunchKernel ts=70+5 correlation=2; kernel k stream=7 ts=200+10 correlation=1; "
         "kernel k stream=8 ts=205+10 correlation=2",
         SUTRA_OPERATORS_BY_ANNOTATION, "0,ProfilerStep#3,,1,100.0,20.0,2,20.0,15.0"},
        {"from the outermost to the innermost",
         "cpu_op outer ts=0+100; cpu_op inner ts=10+50; cudaLaunchKernel ts=20+5 correlation=1; "
         "kernel k stream=7 ts=200+10 correlation=1",
         SUTRA_OPERATORS_BY_PATH, "0,outer / inner,1,1,10.0,10.0,10.0,100.0"},
        {"arguments",
         "cpu_op aten::mm ts=0+10 'Input Dims'=[[2,3],[3,4]] 'Input type'=['float','float']; "
         "cudaLaunchKernel ts=2+3 correlation=1; kernel k stream=7 ts=20+4 correlation=1",
         SUTRA_OPERATORS_BY_ARGUMENTS, "0,aten::mm,GEMM,((2, 3), (3, 4)),('float', 'float'),,,1,1,4.0,4.0,4.0,100.0"},
    };
    check_all(cases, N(cases), MADE_OURS);
}

#define TWO_KERNELS                                                                                                    \
    "'deviceProperties':[{'id':0,'computeMajor':8,'computeMinor':0,'numSms':100,'warpSize':32,"                        \
    "'maxThreadsPerMultiprocessor':2048,'regsPerMultiprocessor':65536,'sharedMemPerMultiprocessor':167936}]; "         \
    "cpu_op aten::a ts=0+50; cudaLaunchKernel ts=10+5 correlation=1; cudaLaunchKernel ts=20+5 correlation=2; "         \
    "kernel 'void k<int>(int)' stream=7 ts=20+4 device=0 correlation=1 grid=[200,1,1] block=[256,1,1]"                 \
    " 'registers per thread'=32 'shared memory'=0 'est. achieved occupancy %'=27; "                                    \
    "kernel 'void k<int>(int)' stream=7 ts=30+16 device=0 correlation=2 grid=[400,2,1] block=[256,1,1]"                \
    " 'registers per thread'=32 'shared memory'=0 'est. achieved occupancy %'=27"

/* The same launch three times: device as a string and as a real number, other number formats, occupancy recorded
 * once. */
#define THREE_KERNELS                                                                                                  \
    "'deviceProperties':[{'id':0,'computeMajor':8,'computeMinor':0,'numSms':100,'warpSize':32,"                        \
    "'maxThreadsPerMultiprocessor':2048,'regsPerMultiprocessor':65536,'sharedMemPerMultiprocessor':167936}]; "         \
    "kernel k stream=7 ts=20+4 device='0' grid=[200,1,1] block=[256] 'registers per thread'=32 'shared memory'=0; "    \
    "kernel k stream=7 ts=30+4 device=0.0 grid=[200,1,1] block=[256] 'shared memory'=0 'registers per thread'=32"      \
    " 'est. achieved occupancy %'=20.5; "                                                                              \
    "kernel k stream=7 ts=40+4 device=0 grid=[200,1,1] block=[256] 'shared memory'='0' 'registers per thread'=[] x=1"

/* 8 blocks of 256 threads fit a multiprocessor of 2048: 2 of them are there of 200 blocks, 8 of 800. */
static void kernels_record_their_launch_configuration(void **state) {
    static const struct table_case cases[] = {
        {"by name, with what takes the most time", TWO_KERNELS, SUTRA_KERNELS_BY_NAME,
         "0,void k<int>(int),compute,2,20.0,100.0,10.0,4.0,10.0,16.0,50.0,5.0,5.0,2,aten::a,7,(400, 2, 1),(256, 1, "
         "1),32.0,0.0,27.0,100.0,100.0,1.0,,void k<int>(int)"},
        {"by configuration", TWO_KERNELS, SUTRA_KERNELS_BY_CONFIGURATION,
         "0,void k<int>(int),1,16.0,80.0,16.0,5.0,aten::a,7,(400, 2, 1),(256, 1, 1),32.0,0.0,27.0,100.0,100.0,1.0, | "
         "0,void k<int>(int),1,4.0,20.0,4.0,5.0,aten::a,7,(200, 1, 1),(256, 1, 1),32.0,0.0,27.0,25.0,100.0,0.25,"},
        {"durations; a copy without a grid",
         "kernel k stream=7 ts=0+4 correlation=1; "
         "gpu_memcpy Memcpy stream=7 ts=50+3 correlation=2 'memory bandwidth (GB/s)'=1",
         SUTRA_KERNELS_DURATIONS, "0,2.0,5.0,2,100.0,7.0,100.0"},
        {"nothing known of a launch", "kernel k stream=7 ts=0+4 correlation=1", SUTRA_KERNELS_BY_CONFIGURATION,
         "0,k,1,4.0,100.0,4.0,-,,7,,,-,-,-,-,-,-,"},
        {"equal launches in other words, and one of which little is known", THREE_KERNELS,
         SUTRA_KERNELS_BY_CONFIGURATION,
         "0,k,2,8.0,66.66666666666666,4.0,-,,7,(200, 1, 1),(256,),32.0,0.0,20.5,25.0,100.0,0.25, | "
         "0,k,1,4.0,33.33333333333333,4.0,-,,7,(200, 1, 1),(256,),-,-,-,-,-,-,"},
        {"no work", "cpu_op aten::a ts=0+10", SUTRA_KERNELS_DURATIONS, ""},
        {"what limits the occupancy", "kernel k stream=7 ts=0+4 limitingFactors=WARPS|REGS",
         SUTRA_KERNELS_BY_CONFIGURATION, "0,k,1,4.0,100.0,4.0,-,,7,,,-,-,-,-,-,-,WARPS|REGS"},
    };
    check_all(cases, N(cases), MADE_KERNELS);
}

/* 100 us of compute, 60 us of it next to 100 us of communication in two kernels of one row. */
static void communication_is_exposed_without_compute(void **state) {
    static const struct table_case cases[] = {
        {"by library, collective, phase and group",
         "kernel gemm stream=7 ts=0+100 correlation=1; kernel deep_ep::internode::combine<8> stream=20 ts=40+50; "
         "kernel deep_ep::internode::combine<8> stream=20 ts=80+60; "
         "kernel ncclDevKernel_AllGather stream=21 ts=200+10 'Collective name'=_allgather_base"
         " 'Process Group Name'='3'",
         SUTRA_OPERATORS_COMMUNICATION,
         "0,deepep,alltoall,combine,,0,2,110.0,40.0 | 0,nccl,allgather,,3,0,1,10.0,10.0"},
        {"by argument", "kernel copy stream=21 ts=200+10 'Collective name'=broadcast", SUTRA_OPERATORS_COMMUNICATION,
         "0,other,broadcast,,,0,1,10.0,10.0"},
        {"no communication", "kernel k stream=7 ts=0+4 correlation=1", SUTRA_OPERATORS_COMMUNICATION, ""},
    };
    check_all(cases, N(cases), MADE_OURS);
}

#define SAMPLE(ts, value)                                                                                              \
    "{'ph':'C','cat':'HARDWARE_COUNTERS','name':'sm','pid':'GPU 0 Counters','tid':0,'ts':" #ts ",'args':{'':" #value   \
    "}}; "

/* A sample while two kernels run is of neither. */
static void counters_belong_to_the_kernel_that_runs_alone(void **state) {
    static const struct table_case cases[] = {
        {"by kernel and by step",
         "user_annotation ProfilerStep#1 ts=0+100; kernel a stream=7 ts=10+20 device=0; "
         "kernel b stream=8 ts=20+20 device=0; " SAMPLE(12, 10) SAMPLE(25, 40) SAMPLE(35, 70) SAMPLE(200, 0),
         SUTRA_OPERATORS_COUNTERS,
         "0,0,sm,,,4,30.0,0.0,70.0 | 0,0,sm,a,,1,10.0,10.0,10.0 | 0,0,sm,b,,1,70.0,70.0,70.0 | "
         "0,0,sm,,ProfilerStep#1,3,40.0,10.0,70.0"},
        {"no counters", "kernel k stream=7 ts=0+4 correlation=1", SUTRA_OPERATORS_COUNTERS, ""},
    };
    check_all(cases, N(cases), MADE_OURS);
}

#define TWO_STEPS                                                                                                      \
    "user_annotation ProfilerStep#1 ts=0+100; cpu_op aten::mm ts=10+20; cudaLaunchKernel ts=15+5 correlation=1; "      \
    "cpu_op aten::relu ts=50+20; cudaLaunchKernel ts=55+5 correlation=2; "                                             \
    "user_annotation ProfilerStep#2 ts=100+100; cpu_op aten::mm ts=110+20; "                                           \
    "cudaLaunchKernel ts=115+5 correlation=3; kernel gemm stream=7 ts=20+10 correlation=1; "                           \
    "kernel relu stream=8 ts=60+10 correlation=2; kernel gemm stream=7 ts=120+30 correlation=3; "                      \
    "kernel lost stream=8 ts=300+5 correlation=9"

/* Names, calls and device time of the selected kernels. */
static void tell_operators(const struct sutra_restriction *part, const char *events, char *text) {
    struct sutra_context *context = make_context(1);
    struct sutra_device_trace *trace = NULL;
    struct sutra_operators *operators = NULL;
    struct sutra_column name, calls, device;
    struct sutra_error error;
    trace = parse_trace(context, events);
    *text = 0;
    if (sutra_device_trace_restrict(context, trace, part, &error) ||
        sutra_operators_run(context, trace, NULL, &operators, &error)) {
        strcpy(text, error.message);
    } else {
        const struct sutra_table *table = sutra_result_table(SUTRA_RESULT(operators), SUTRA_OPERATORS_BY_NAME, NULL);
        sutra_table_column(table, 1, &name);
        sutra_table_column(table, 4, &calls);
        sutra_table_column(table, 8, &device);
        for (uint64_t row = 0; row < sutra_table_rows(table); row++)
            sprintf(text + strlen(text), "%s%s %d %g", row ? ", " : "", sutra_column_text(&name, row),
                    (int)calls.integers[row], device.reals[row]);
    }
    sutra_operators_free(operators);
    sutra_device_trace_free(trace);
    sutra_context_free(context);
}

#define ONLY(...)                                                                                                      \
    { .size = sizeof(struct sutra_restriction), __VA_ARGS__ }

static void part_of_the_gpu_activity_can_be_selected(void **state) {
    static const struct {
        struct sutra_restriction part;
        const char *expected;
    } cases[] = {
        {ONLY(.n_ranks = 0), "aten::mm 2 40, aten::relu 1 10"},
        {ONLY(.step = "1"), "aten::mm 1 10, aten::relu 1 10"},
        {ONLY(.step = "2"), "aten::mm 1 30"},
        {ONLY(.step = "1-2"), "aten::mm 2 40, aten::relu 1 10"},
        {ONLY(.step = "12"), "no annotation ProfilerStep#12: the trace has steps 1 to 2"},
        {ONLY(.from_us = 40, .to_us = 100), "aten::relu 1 10"},
        {ONLY(.from_us = 20), "aten::mm 2 30, aten::relu 1 10"},
        {ONLY(.name = "relu"), "aten::relu 1 10, aten::mm 2 0"},
        {ONLY(.stream = "7"), "aten::mm 2 40, aten::relu 1 0"},
        {ONLY(.category = "gemm"), "aten::mm 2 40, aten::relu 1 0"},
        {ONLY(.category = "gem"), "unknown operator category gem; categories: other, CONV_bwd"},
        {ONLY(.category = "reduce"),
         "no operator of category reduce launched GPU activity; categories that did: elementwise, GEMM"},
        {ONLY(.stream = "9"), "no GPU activity on stream '9'; streams with activity: 7, 8"},
        {ONLY(.name = "softmax"), "no GPU activity and no launching operator has 'softmax' in its name"},
        {ONLY(.name = "relu", .stream = "7"), "no GPU activity matches the name, stream and category together"},
        {ONLY(.from_us = 5000), "no events in the time range; the trace is 305 us long"},
        {ONLY(.step = "1", .category = "GEMM"), "aten::mm 1 10, aten::relu 1 0"},
    };
    char text[1024];
    for (size_t i = 0; i < N(cases); i++) {
        tell_operators(&cases[i].part, TWO_STEPS, text);
        text[strlen(cases[i].expected)] = '\0'; /* a message may go on */
        assert_string_equal(text, cases[i].expected);
    }
}

/* Flow arrows decide; communication is not attributed; partial overlaps are skipped; duplicates are added. */
static void tracelens_has_rules_of_its_own(void **state) {
    static const struct table_case cases[] = {
        {"no arrow, though others have one",
         "cpu_op aten::a ts=0+10; cudaLaunchKernel ts=2+3 correlation=1; kernel k stream=7 ts=100+10 correlation=1; "
         "ac2g ac2g ph=s id=5 ts=2",
         SUTRA_TRACELENS_OPS, ""},
        {"no arrows at all: correlations",
         "cpu_op aten::a ts=0+10; cudaLaunchKernel ts=2+3 correlation=1; kernel k stream=7 ts=100+10 correlation=1",
         SUTRA_TRACELENS_OPS, "aten::a,10,10,0.01,0.01,1,['other'],100.0,100.0"},
        {"communication",
         "cpu_op aten::a ts=0+10; cudaLaunchKernel ts=2+3 correlation=1; kernel ncclX stream=7 ts=100+10 correlation=1",
         SUTRA_TRACELENS_OPS, ""},
        {"an operator that ends after the one around it is skipped",
         "cpu_op aten::a ts=0+10; cpu_op aten::b ts=5+15; cudaLaunchKernel ts=7+2 correlation=1; "
         "kernel k stream=7 ts=100+10 correlation=1",
         SUTRA_TRACELENS_OPS, "aten::a,10,10,0.01,0.01,1,['other'],100.0,100.0"},
        {"unless by less than a microsecond, where it is a sibling",
         "cpu_op outer ts=0+100; cpu_op aten::a ts=1+5; cpu_op aten::b ts=5.5+15; "
         "cudaLaunchKernel ts=7+2 correlation=1; kernel k stream=7 ts=100+10 correlation=1",
         SUTRA_TRACELENS_OPS, "aten::b,10,10,0.01,0.01,1,['other'],100.0,100.0"},
    };
    check_all(cases, N(cases), MADE_TRACELENS);
}

/* ---- Random traces ---- */

#define HOSTS 40
#define WORKS 20
#define TICKS 400

struct random_host {
    int tid, kind, start, stop; /* kind: enum host_kind */
};

struct random_trace {
    struct random_host hosts[HOSTS];
    int call_of[WORKS], start[WORKS], stop[WORKS]; /* call_of: a host, or -1 */
    struct buffer text;
};

static const char *const categories[] = {"cpu_op", "cuda_runtime", "python_function", "user_annotation"};

static void add_event(struct random_trace *trace, const char *category, int i, int tid, int start, int stop,
                      int correlation) {
    char text[256];
    snprintf(text, sizeof text,
             "%s{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"n%d\",\"pid\":1,\"tid\":%d,\"ts\":%d,\"dur\":%d,"
             "\"args\":{\"stream\":%d,\"correlation\":%d}}",
             trace->text.length > 20 ? "," : "", category, i, tid, start, stop - start, i, correlation);
    buffer_append(&trace->text, text, strlen(text));
}

static void make_random(struct random_trace *trace, struct random *random) {
    trace->text.length = 0;
    buffer_append(&trace->text, "{\"traceEvents\":[", 16);
    for (int i = 0; i < HOSTS; i++) {
        struct random_host *host = &trace->hosts[i];
        host->tid = (int)random_below(random, 2);
        host->kind = (int)random_below(random, 4);
        host->start = (int)random_below(random, TICKS);
        host->stop = host->start + (int)random_below(random, host->kind == HOST_CALL ? 10 : 150);
        add_event(trace, categories[host->kind], i, host->tid, host->start, host->stop,
                  host->kind == HOST_CALL ? i : 1000 + i);
    }
    for (int i = 0; i < WORKS; i++) {
        int wanted = (int)random_below(random, HOSTS);
        trace->call_of[i] = trace->hosts[wanted].kind == HOST_CALL ? wanted : -1;
        trace->start[i] = 1 + (int)random_below(random, TICKS);
        trace->stop[i] = trace->start[i] + (int)random_below(random, 40);
        add_event(trace, "kernel", i, 7, trace->start[i], trace->stop[i], wanted);
    }
    buffer_append(&trace->text, "]}", 3);
    trace->text.length--;
}

/* Whether host event a precedes host event b in the order of the search. */
static bool is_before(const struct random_trace *trace, int a, int b) {
    const struct random_host *x = &trace->hosts[a], *y = &trace->hosts[b];
    if (x->start != y->start)
        return x->start < y->start;
    return x->stop != y->stop ? x->stop > y->stop : a < b;
}

/* The last event before `host` on its thread that runs when it begins; of a kind, or of any (-1). */
static int plain_around(const struct random_trace *trace, int host, int kind) {
    int found = -1;
    for (int i = 0; i < HOSTS; i++)
        if (trace->hosts[i].tid == trace->hosts[host].tid && is_before(trace, i, host) &&
            trace->hosts[i].stop > trace->hosts[host].start && (kind < 0 || trace->hosts[i].kind == kind) &&
            (found < 0 || is_before(trace, found, i)))
            found = i;
    return found;
}

static bool plain_is_below(const struct random_trace *trace, int host, int above) {
    while (host >= 0 && host != above)
        host = plain_around(trace, host, -1);
    return host == above;
}

static int plain_launcher(const struct random_trace *trace, int work) {
    int call = trace->call_of[work];
    int op = call < 0 ? -1 : plain_around(trace, call, HOST_OPERATOR);
    return op < 0 ? call : op;
}

/* Ticks with any GPU activity that is attributed to a host row, or that was launched below it. */
static int plain_busy(const struct random_trace *trace, int host, bool below) {
    char busy[TICKS + 200] = {0};
    int n = 0;
    for (int i = 0; i < WORKS; i++)
        if (below ? trace->call_of[i] >= 0 && plain_is_below(trace, trace->call_of[i], host)
                  : plain_launcher(trace, i) == host)
            memset(busy + trace->start[i], 1, (size_t)(trace->stop[i] - trace->start[i]));
    for (size_t i = 0; i < sizeof busy; i++)
        n += busy[i];
    return n;
}

static void check_random(const struct random_trace *trace, const struct launch_model *model) {
    const struct attribution_table *attributions = &model->attributions;
    row_t n_attributed = 0;
    int64_t all = 0, attributed = 0, nobodys = 0;
    for (int i = 0; i < WORKS; i++) {
        row_t launcher = model->devices.launcher[i];
        int64_t length = model->devices.stop[i] - model->devices.start[i];
        int found = launcher == ROW_NONE ? -1 : (int)model->hosts.event[launcher];
        assert_int_equal(found, plain_launcher(trace, i));
        all += length;
        nobodys += launcher == ROW_NONE ? length : 0;
    }
    for (row_t i = 0; i < attributions->n; i++) {
        int host = (int)model->hosts.event[attributions->host[i]];
        assert_int_equal(attributions->direct[i], 1000 * plain_busy(trace, host, false));
        assert_int_equal(attributions->subtree[i], 1000 * plain_busy(trace, host, true));
        n_attributed += attributions->first[i + 1] - attributions->first[i];
        for (row_t k = attributions->first[i]; k < attributions->first[i + 1]; k++)
            attributed += model->devices.stop[attributions->device[k]] - model->devices.start[attributions->device[k]];
    }
    assert_true(n_attributed <= WORKS);
    assert_int_equal(attributed + nobodys, all);
}

static void random_traces_are_attributed_by_the_rule(void **state) {
    struct random random = {20261122};
    struct random_trace made = {0};
    print_message("seed %" PRIu64 "\n", random.state);
    for (int round = 0; round < 300; round++) {
        struct sutra_context *context = make_context(1);
        struct sutra_device_trace *trace = NULL;
        struct arena arena = {0}, scratch = {0};
        struct launch_model model;
        struct sutra_error error;
        make_random(&made, &random);
        assert_int_equal(sutra_device_trace_parse(context, "random", made.text.bytes, made.text.length, &trace, &error),
                         SUTRA_OK);
        assert_int_equal(launch_model_build(context, trace, 0, &arena, &scratch, &model, &error), SUTRA_OK);
        check_random(&made, &model);
        arena_free(&arena);
        arena_free(&scratch);
        sutra_device_trace_free(trace);
        sutra_context_free(context);
    }
    buffer_free(&made.text);
}

/* ---- Recorded traces ---- */

static int64_t length_of(const struct launch_model *model, row_t device) {
    return model->devices.stop[device] - model->devices.start[device];
}

/* Attributed (each GPU activity once) plus unattributed time is the total. */
static int64_t check_sums(const struct launch_model *model) {
    const struct attribution_table *attributions = &model->attributions;
    uint8_t *seen = calloc((size_t)model->devices.n + 1, 1);
    int64_t sum = 0;
    assert_non_null(seen);
    for (row_t i = 0; i < attributions->n; i++)
        for (row_t k = attributions->first[i]; k < attributions->first[i + 1]; k++) {
            assert_int_equal(seen[attributions->device[k]]++, 0);
            assert_int_equal(model->devices.launcher[attributions->device[k]], attributions->host[i]);
            sum += length_of(model, attributions->device[k]);
        }
    for (row_t i = 0; i < model->devices.n; i++) {
        assert_int_equal(seen[i], model->devices.launcher[i] != ROW_NONE);
        sum += seen[i] ? 0 : length_of(model, i);
    }
    assert_true((wide_t)sum == sum_device_time(model));
    free(seen);
    return sum;
}

/* All work of a part of the trace; -1: there is no such part. */
static int64_t time_of_part(struct sutra_context *context, const struct sutra_device_trace *trace,
                            const struct sutra_restriction *part) {
    struct arena arena = {0}, scratch = {0};
    struct launch_model model;
    struct sutra_error error;
    int64_t sum = -1;
    assert_int_equal(launch_model_build(context, trace, 0, &arena, &scratch, &model, &error), SUTRA_OK);
    if (!restrict_launch_model(context, part, &model, &arena, &scratch, &error))
        sum = check_sums(&model);
    arena_free(&arena);
    arena_free(&scratch);
    return sum;
}

/* The work before a moment and that from there on are all work; streams and names only leave some out. */
static int check_parts(struct sutra_context *context, const struct sutra_device_trace *trace) {
    const struct sutra_restriction whole = {.size = sizeof whole};
    struct sutra_restriction late = whole, early = whole, stream = whole, gemm = whole;
    late.from_us = early.to_us = 20000;
    stream.stream = "7";
    gemm.name = "gemm";
    int64_t all = time_of_part(context, trace, &whole), before = time_of_part(context, trace, &early),
            after = time_of_part(context, trace, &late);
    assert_true(all >= 0);
    if (before >= 0 && after >= 0)
        assert_int_equal(before + after, all);
    assert_true(time_of_part(context, trace, &stream) <= all);
    assert_true(time_of_part(context, trace, &gemm) <= all);
    return before > 0 && after > 0;
}

static void recorded_flops_are_attributed_once_in_trace_selections(void **state) {
    glob_t paths;
    int n_parted = 0;
    assert_int_equal(glob("tests/data/*/*/device*.json.gz", 0, NULL, &paths), 0);
    assert_int_equal(glob("tests/data/*/*/trace.json.gz", GLOB_APPEND, NULL, &paths), 0);
    struct sutra_context *context = make_context(1);
    for (size_t i = 0; i < paths.gl_pathc; i++) {
        struct sutra_device_trace *trace = NULL;
        struct sutra_error error;
        assert_int_equal(sutra_device_trace_read(context, paths.gl_pathv[i], &trace, &error), SUTRA_OK);
        n_parted += check_parts(context, trace);
        sutra_device_trace_free(trace);
    }
    assert_true(n_parted > 3);
    sutra_context_free(context);
    globfree(&paths);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_attributed_to_the_innermost_operator),
        cmocka_unit_test(attributed_plus_unattributed_time_is_the_total),
        cmocka_unit_test(flows_attribute_kernels_without_a_correlation),
        cmocka_unit_test(modules_have_what_runs_below_them_and_backward_of_it),
        cmocka_unit_test(annotations_and_paths_are_recorded),
        cmocka_unit_test(kernels_record_their_launch_configuration),
        cmocka_unit_test(communication_is_exposed_without_compute),
        cmocka_unit_test(counters_belong_to_the_kernel_that_runs_alone),
        cmocka_unit_test(part_of_the_gpu_activity_can_be_selected),
        cmocka_unit_test(tracelens_has_rules_of_its_own),
        cmocka_unit_test(random_traces_are_attributed_by_the_rule),
        cmocka_unit_test(recorded_flops_are_attributed_once_in_trace_selections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
