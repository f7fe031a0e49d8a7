/*
 * test_hta.c - tests each table of HTA on small traces with results computed by hand.
 */
#include "hta_table.h"

struct table_case {
    const char *name, *events;
    enum sutra_hta_table table;
    const char *expected;
};

static void check_with(const struct table_case *test, const struct sutra_hta_options *options) {
    char text[4096];
    const char *reason;
    for (unsigned n_threads = 1; n_threads <= 2; n_threads++) {
        struct sutra_context *context = make_context(n_threads);
        struct sutra_hta *hta = analyze(context, test->events, options);
        const struct sutra_table *table = sutra_result_table(SUTRA_RESULT(hta), test->table, &reason);
        tell_table(table, reason, text);
        if (strcmp(text, test->expected) != 0)
            print_error("%s\n", test->name);
        assert_string_equal(text, test->expected);
        sutra_hta_free(hta);
        sutra_context_free(context);
    }
}

#define N(cases) (sizeof(cases) / sizeof *(cases))

static void check_all(const struct table_case *cases, size_t n) {
    for (size_t i = 0; i < n; i++)
        check_with(&cases[i], NULL);
}

static void time_between_first_and_last_kernel_is_idle_compute_or_other(void **state) {
    static const struct table_case cases[] = {
        {"no gap: compute fills all", "kernel k stream=7 ts=100+50 correlation=1", SUTRA_HTA_TEMPORAL,
         "0,0,50,0,50,0.0,100.0,0.0"},
        {"a gap is idle; a copy outside of kernels is other",
         "kernel k stream=7 ts=0+10 correlation=1; "
         "gpu_memcpy 'Memcpy HtoD' stream=8 ts=15+5 correlation=2 'memory bandwidth (GB/s)'=1; "
         "kernel k stream=7 ts=30+10 correlation=3",
         SUTRA_HTA_TEMPORAL, "0,15,20,5,40,37.5,50.0,12.5"},
        {"communication under compute is compute",
         "kernel k stream=7 ts=0+10 correlation=1; kernel ncclDevKernel_AllReduce stream=8 ts=5+15 correlation=2",
         SUTRA_HTA_TEMPORAL, "0,0,10,10,20,0.0,50.0,50.0"},
        {"intervals that touch join, and stream 0 is a stream",
         "kernel k stream=0 ts=0+10 correlation=1; kernel k stream=0 ts=10+10 correlation=2", SUTRA_HTA_TEMPORAL,
         "0,0,20,0,20,0.0,100.0,0.0"},
        {"starts that are no integers round up, ends down",
         "kernel k stream=7 ts=0.5+10 correlation=1; kernel k stream=7 ts=20.2+10.5 correlation=2", SUTRA_HTA_TEMPORAL,
         "0,11,18,0,29,37.93,62.07,0.0"},
        {"a start that is missing anywhere makes starts real", "{'ph':'M'}; kernel k stream=7 ts=0+10 correlation=1",
         SUTRA_HTA_TEMPORAL, "0,0.0,10.0,0.0,10.0,0.0,100.0,0.0"},
        {"a kernel of no length is no division by 0", "kernel k stream=7 ts=5+0 correlation=1", SUTRA_HTA_TEMPORAL,
         "0,0,0,0,0,-,-,-"},
        {"one event without a stream", "cpu_op a ts=0+10", SUTRA_HTA_TEMPORAL, "none: no event has a stream"},
        {"no event at all", "", SUTRA_HTA_TEMPORAL, "none: no event has a stream"},
        {"a category Trace does not count", "Trace k stream=7 ts=0+10 correlation=1", SUTRA_HTA_TEMPORAL,
         "none: no event has a stream"},
    };
    check_all(cases, N(cases));
}

static void overlap_is_the_share_of_communication_that_compute_hides(void **state) {
    static const struct table_case cases[] = {
        {"half of it", "kernel k stream=7 ts=0+10 correlation=1; kernel ncclKernel_X stream=8 ts=5+10 correlation=2",
         SUTRA_HTA_OVERLAP, "0,50.0"},
        {"what two kernels hide counts once",
         "kernel k stream=7 ts=0+10 correlation=1; kernel k stream=9 ts=0+10 correlation=3; "
         "kernel ncclKernel_X stream=8 ts=5+10 correlation=2",
         SUTRA_HTA_OVERLAP, "0,50.0"},
        {"no communication", "kernel k stream=7 ts=0+10 correlation=1", SUTRA_HTA_OVERLAP, "0,-"},
        {"new names of NCCL",
         "kernel k stream=7 ts=0+10 correlation=1; kernel ncclSymDevKernel_X stream=8 ts=0+5 correlation=2",
         SUTRA_HTA_OVERLAP, "0,100.0"},
    };
    check_all(cases, N(cases));
}

static void kernel_types_show_overlap(void **state) {
    static const struct table_case cases[] = {
        {"longest first", "kernel k stream=7 ts=0+10 correlation=1; kernel ncclKernel_X stream=8 ts=5+20 correlation=2",
         SUTRA_HTA_TYPES, "COMMUNICATION,15,60.0 | COMPUTATION,5,20.0 | COMPUTATION overlapping COMMUNICATION,5,20.0"},
        {"copies only where they are asked for",
         "kernel k stream=7 ts=0+10 correlation=1; "
         "gpu_memcpy 'Memcpy DtoH' stream=8 ts=5+10 correlation=2 'memory bandwidth (GB/s)'=1",
         SUTRA_HTA_TYPES, "COMPUTATION,10,100.0"},
        {"with copies",
         "kernel k stream=7 ts=0+10 correlation=1; "
         "gpu_memcpy 'Memcpy DtoH' stream=8 ts=5+10 correlation=2 'memory bandwidth (GB/s)'=1",
         SUTRA_HTA_TYPES_MEMORY, "COMPUTATION,5,33.3 | COMPUTATION overlapping MEMORY,5,33.3 | MEMORY,5,33.3"},
        {"synchronisations are none of the three", "cuda_sync 'Stream Sync' stream=7 ts=0+10 correlation=1",
         SUTRA_HTA_TYPES_MEMORY, ""},
    };
    check_all(cases, N(cases));
}

static void names_of_kernels_have_their_durations(void **state) {
    static const struct table_case cases[] = {
        {"by name; one value has no deviation",
         "kernel b stream=7 ts=0+2 correlation=1; kernel a stream=7 ts=10+5 correlation=2; "
         "kernel b stream=7 ts=20+4 correlation=3",
         SUTRA_HTA_KERNELS, "a,5,5,5,0.0,5.0,COMPUTATION,0 | b,6,4,2,1.4142135623730951,3.0,COMPUTATION,0"},
        {"communication before compute, copies in their own table",
         "kernel a stream=7 ts=0+2 correlation=1; kernel ncclKernel stream=8 ts=0+3 correlation=2; "
         "gpu_memcpy 'Memset (Device)' stream=7 ts=4+1 correlation=3 'memory bandwidth (GB/s)'=1",
         SUTRA_HTA_KERNELS_MEMORY,
         "ncclKernel,3,3,3,0.0,3.0,COMMUNICATION,0 | a,2,2,2,0.0,2.0,COMPUTATION,0 | "
         "Memset (Device),1,1,1,0.0,1.0,MEMORY,0"},
    };
    check_all(cases, N(cases));
}

static void names_beyond_the_wanted_number_become_others(void **state) {
    /* Running sums 50, 70, 80, 85 have the quantile 81; the second name is one too many, and so are the later ones. */
    static const struct table_case test = {
        "one name is kept",
        "kernel a stream=7 ts=0+50 correlation=1; kernel b stream=7 ts=100+20 correlation=2; "
        "kernel c stream=7 ts=200+10 correlation=3; kernel d stream=7 ts=300+5 correlation=4",
        SUTRA_HTA_KERNELS,
        "a,50,50,50,0.0,50.0,COMPUTATION,0 | others,35,20,5,7.637626158259733,11.666666666666666,COMPUTATION,0"};
    check_with(&test, &(struct sutra_hta_options){.size = sizeof(struct sutra_hta_options), .n_kernels = 1});
    struct table_case kept = test;
    kept.name = "three may be kept, the last is beyond the quantile as well";
    kept.expected = "a,50,50,50,0.0,50.0,COMPUTATION,0 | b,20,20,20,0.0,20.0,COMPUTATION,0 | "
                    "c,10,10,10,0.0,10.0,COMPUTATION,0 | others,5,5,5,0.0,5.0,COMPUTATION,0";
    check_with(&kept, &(struct sutra_hta_options){.size = sizeof(struct sutra_hta_options), .n_kernels = 3});
    static const struct table_case negative = {
        "a name with a sum below 0 is kept, as HTA has it",
        "kernel a stream=7 ts=0+50 correlation=1; kernel b stream=7 ts=100+20 correlation=2; "
        "kernel c stream=7 ts=200+-1 correlation=3",
        SUTRA_HTA_KERNELS,
        "a,50,50,50,0.0,50.0,COMPUTATION,0 | c,-1,-1,-1,0.0,-1.0,COMPUTATION,0 | "
        "others,20,20,20,0.0,20.0,COMPUTATION,0"};
    check_with(&negative, &(struct sutra_hta_options){.size = sizeof(struct sutra_hta_options), .n_kernels = 1});
}

#define TWO_KERNELS(launch_ts, second_ts)                                                                              \
    "cudaLaunchKernel ts=0+1 correlation=1; cudaLaunchKernel ts=" #launch_ts "+1 correlation=2; "                      \
    "kernel k stream=7 ts=10+10 correlation=1; kernel k stream=7 ts=" #second_ts "+5 correlation=2"

static void idle_time_has_the_category_of_its_cause(void **state) {
    static const struct table_case cases[] = {
        {"launched after the one before ended: the host", TWO_KERNELS(25, 60), SUTRA_HTA_IDLE,
         "0,7,host_wait,40.0,1.0 | 0,7,other,0.0,0.0"},
        {"launched in time, a short gap: the kernel", TWO_KERNELS(2, 49), SUTRA_HTA_IDLE,
         "0,7,kernel_wait,29.0,1.0 | 0,7,other,0.0,0.0"},
        {"launched in time, a long gap: other", TWO_KERNELS(2, 50), SUTRA_HTA_IDLE, "0,7,other,30.0,1.0"},
        {"a negative gap counts as it is", TWO_KERNELS(2, 15), SUTRA_HTA_IDLE,
         "0,7,kernel_wait,-5.0,1.0 | 0,7,other,0.0,-0.0"},
        {"one kernel", "cudaLaunchKernel ts=0+1 correlation=1; kernel k stream=7 ts=10+10 correlation=1",
         SUTRA_HTA_IDLE, "0,7,other,0.0,-"},
        {"streams in the order of the file, each for itself",
         "kernel k stream=9 ts=10+10 correlation=1; kernel k stream=7 ts=0+10 correlation=2; "
         "kernel k stream=7 ts=12+10 correlation=3",
         SUTRA_HTA_IDLE, "0,9,other,0.0,- | 0,7,kernel_wait,2.0,1.0 | 0,7,other,0.0,0.0"},
        {"a synchronisation is no kernel", "cuda_sync 'Stream Sync' stream=7 ts=0+10 correlation=1", SUTRA_HTA_IDLE,
         "none: no kernel, memcpy or memset on a stream"},
        {"distribution of the gaps", TWO_KERNELS(25, 60), SUTRA_HTA_IDLE_STATS,
         "host_wait,0,7,1.0,40.0,-,40.0,40.0,40.0,40.0,40.0 | other,0,7,0.0,-,-,-,-,-,-,-"},
    };
    check_all(cases, N(cases));
    static const struct table_case longer = {"with a longer delay it is a wait for the kernel", TWO_KERNELS(2, 50),
                                             SUTRA_HTA_IDLE, "0,7,kernel_wait,30.0,1.0 | 0,7,other,0.0,0.0"};
    check_with(&longer, &(struct sutra_hta_options){.size = sizeof(struct sutra_hta_options), .kernel_delay_us = 31});
}

static void launches_are_paired_with_their_kernels(void **state) {
    static const struct table_case cases[] = {
        {"call, kernel, and the wait between",
         "cudaLaunchKernel ts=10+5 correlation=1; kernel k stream=7 ts=18+20 correlation=1", SUTRA_HTA_LAUNCHES,
         "1,5,20,3"},
        {"a kernel that begins during the call waits 0",
         "cudaLaunchKernel ts=10+5 correlation=1; kernel k stream=7 ts=12+20 correlation=1", SUTRA_HTA_LAUNCHES,
         "1,5,20,0"},
        {"in the order of the calls in the file",
         "kernel k stream=7 ts=12+20 correlation=1; cudaLaunchKernel ts=30+1 correlation=2; "
         "cudaLaunchKernel ts=10+5 correlation=1; kernel k stream=7 ts=40+2 correlation=2",
         SUTRA_HTA_LAUNCHES, "2,1,2,9 | 1,5,20,0"},
        {"HTA does not know cuLaunchKernelEx",
         "cuda_runtime cuLaunchKernelEx ts=10+5 correlation=1; kernel k stream=7 ts=18+20 correlation=1",
         SUTRA_HTA_LAUNCHES, ""},
        {"no correlation is none", "cudaLaunchKernel ts=0+1; kernel k stream=7 ts=5+5", SUTRA_HTA_LAUNCHES, ""},
        {"each with each where a correlation is repeated",
         "cudaLaunchKernel ts=0+1 correlation=1; cudaLaunchKernel ts=2+1 correlation=1; "
         "kernel k stream=7 ts=5+6 correlation=1; kernel k stream=7 ts=20+7 correlation=1",
         SUTRA_HTA_LAUNCHES, "1,1,6,4 | 1,1,7,19 | 1,1,6,2 | 1,1,7,17"},
    };
    check_all(cases, N(cases));
    static const struct table_case all = {
        "all launches if that is asked for",
        "cuda_runtime cuLaunchKernelEx ts=10+5 correlation=1; kernel k stream=7 ts=18+20 correlation=1; "
        "cudaStreamSynchronize ts=40+5 correlation=2; cuda_sync 'Stream Sync' stream=7 ts=40+5 correlation=2",
        SUTRA_HTA_LAUNCHES, "1,5,20,3"};
    check_with(&all, &(struct sutra_hta_options){.size = sizeof(struct sutra_hta_options), .all_launches = true});
}

static void calls_of_any_name_are_counted_in_our_table(void **state) {
    static const struct table_case cases[] = {
        {"a graph launches several kernels, its delay is that of the first",
         "cudaGraphLaunch ts=0+10 correlation=1; kernel k stream=7 ts=30+5 correlation=1; "
         "kernel k stream=7 ts=14+15 correlation=1",
         SUTRA_HTA_LAUNCH_CALLS, "0,cudaGraphLaunch,1,2,10,20,1,4.0,4.0,4.0"},
        {"HIP", "cuda_runtime hipModuleLaunchKernel ts=0+10 correlation=1; kernel k stream=0 ts=14+15 correlation=1",
         SUTRA_HTA_LAUNCH_CALLS, "0,hipModuleLaunchKernel,1,1,10,15,0,4.0,4.0,4.0"},
        {"a synchronisation launches nothing",
         "cpu_op a ts=0+1; cudaStreamSynchronize ts=0+10 correlation=1; "
         "cuda_sync 'Stream Sync' stream=7 ts=14+15 correlation=1",
         SUTRA_HTA_LAUNCH_CALLS, ""},
    };
    check_all(cases, N(cases));
}

static void queues_grow_with_launches_and_shrink_with_kernels(void **state) {
    /* Event 0 is linked with nothing in HTA, so an operator comes first. */
    static const struct table_case cases[] = {
        {"one after the other",
         "cpu_op a ts=0+1; cudaLaunchKernel ts=10+1 correlation=1; cudaLaunchKernel ts=12+1 correlation=2; "
         "kernel k stream=7 ts=20+5 correlation=1; kernel k stream=7 ts=25+5 correlation=2",
         SUTRA_HTA_QUEUE, "1,10,0,7,7,1 | 2,12,0,7,7,2 | 3,20,0,7,7,1 | 4,25,0,7,7,0"},
        {"its distribution is over events",
         "cpu_op a ts=0+1; cudaLaunchKernel ts=10+1 correlation=1; cudaLaunchKernel ts=12+1 correlation=2; "
         "kernel k stream=7 ts=20+5 correlation=1; kernel k stream=7 ts=25+5 correlation=2",
         SUTRA_HTA_QUEUE_SUMMARY, "0,7,4.0,1.0,0.816496580927726,0.0,0.75,1.0,1.25,2.0"},
        {"a launch comes before a kernel that begins at the same moment",
         "cpu_op a ts=0+1; cudaLaunchKernel ts=10+1 correlation=1; cudaLaunchKernel ts=20+1 correlation=2; "
         "kernel k stream=7 ts=20+5 correlation=1; kernel k stream=7 ts=25+5 correlation=2",
         SUTRA_HTA_QUEUE, "1,10,0,7,7,1 | 2,20,0,7,7,2 | 3,20,0,7,7,1 | 4,25,0,7,7,0"},
        {"streams rise, whatever their order in the file",
         "cpu_op a ts=0+1; cudaLaunchKernel ts=10+1 correlation=1; cudaLaunchKernel ts=12+1 correlation=2; "
         "kernel k stream=9 ts=20+5 correlation=1; kernel k stream=0 ts=25+5 correlation=2",
         SUTRA_HTA_QUEUE, "2,12,0,0,0,1 | 4,25,0,0,0,0 | 1,10,0,9,9,1 | 3,20,0,9,9,0"},
        {"a kernel without a launch has no queue", "cpu_op a ts=0+1; kernel k stream=7 ts=20+5 correlation=1",
         SUTRA_HTA_QUEUE, "none: no kernel has the correlation of a launch"},
        {"two launches of one correlation queue the kernel once, where HTA fails",
         "cpu_op a ts=0+1; cudaLaunchKernel ts=10+1 correlation=1; cudaLaunchKernel ts=12+1 correlation=1; "
         "kernel k stream=7 ts=20+5 correlation=1",
         SUTRA_HTA_QUEUE, "2,12,0,7,7,1 | 3,20,0,7,7,0"},
        {"tids that are text are kept, and then all are text",
         "cpu_op a ts=0+1; cudaLaunchKernel ts=10+1 correlation=1; "
         "kernel k tid='stream 7' stream=7 ts=20+5 correlation=1",
         SUTRA_HTA_QUEUE, "1,10,0,stream 7,7,1 | 2,20,0,stream 7,7,0"},
    };
    check_all(cases, N(cases));
}

static void bandwidth_sums_concurrent_copies_of_a_kind(void **state) {
    static const struct table_case cases[] = {
        {"alone, then both, then alone",
         "gpu_memcpy 'Memcpy HtoD (Pinned -> Device)' stream=7 ts=0+10 correlation=1 'memory bandwidth (GB/s)'=2.0; "
         "gpu_memcpy 'Memcpy HtoD' stream=8 ts=5+10 correlation=2 'memory bandwidth (GB/s)'=1.0",
         SUTRA_HTA_BANDWIDTH, "0,Memcpy HtoD,3.0,2.0,1.0,1.0,1.5,2.0,2.5,3.0"},
        {"of two that end together, the first of the file ends first",
         "gpu_memcpy 'Memcpy HtoD' stream=7 ts=5+5 correlation=1 'memory bandwidth (GB/s)'=2.0; "
         "gpu_memcpy 'Memcpy HtoD' stream=8 ts=0+10 correlation=2 'memory bandwidth (GB/s)'=1.0",
         SUTRA_HTA_BANDWIDTH, "0,Memcpy HtoD,3.0,1.6666666666666667,1.1547005383792517,1.0,1.0,1.0,2.0,3.0"},
        {"a copy of no length takes a microsecond",
         "gpu_memcpy 'Memcpy DtoH' stream=7 ts=0+0 correlation=1 'memory bandwidth (GB/s)'=2.0", SUTRA_HTA_BANDWIDTH,
         "0,Memcpy DtoH,1.0,2.0,-,2.0,2.0,2.0,2.0,2.0"},
        {"kinds by name",
         "gpu_memcpy dma stream=7 ts=0+1 correlation=1 'memory bandwidth (GB/s)'=3.0; "
         "gpu_memcpy 'Memset (Device)' stream=7 ts=5+1 correlation=2 'memory bandwidth (GB/s)'=4.0",
         SUTRA_HTA_BANDWIDTH,
         "0,Memcpy Unknown,1.0,3.0,-,3.0,3.0,3.0,3.0,3.0 | 0,Memset,1.0,4.0,-,4.0,4.0,4.0,4.0,4.0"},
        {"no bandwidth is 0, and is left out", "gpu_memcpy 'Memcpy DtoH' stream=7 ts=0+5 correlation=1",
         SUTRA_HTA_BANDWIDTH, ""},
        {"no copies", "kernel k stream=7 ts=0+5 correlation=1", SUTRA_HTA_BANDWIDTH,
         "none: no memcpy or memset on a stream"},
    };
    check_all(cases, N(cases));
}

#define TWO_STEPS                                                                                                      \
    "user_annotation ProfilerStep#1 ts=0+100; user_annotation ProfilerStep#2 ts=100+100; "                             \
    "cudaLaunchKernel ts=10+1 correlation=1; cudaLaunchKernel ts=110+1 correlation=2; "                                \
    "kernel k stream=7 ts=20+30 correlation=1; kernel k stream=7 ts=120+40 correlation=2"

static void last_of_several_steps_is_skipped(void **state) {
    static const struct table_case cases[] = {
        {"with the kernels that it launched", TWO_STEPS, SUTRA_HTA_TEMPORAL, "0,0,30,0,30,0.0,100.0,0.0"},
        {"one step is kept",
         "user_annotation ProfilerStep#1 ts=0+100; cudaLaunchKernel ts=10+1 correlation=1; "
         "kernel k stream=7 ts=20+30 correlation=1",
         SUTRA_HTA_TEMPORAL, "0,0,30,0,30,0.0,100.0,0.0"},
        {"a kernel counts as often as launches have its correlation, as HTA has it",
         "user_annotation ProfilerStep#1 ts=0+100; user_annotation ProfilerStep#2 ts=100+100; "
         "cudaLaunchKernel ts=10+1 correlation=1; cudaLaunchKernel ts=12+1 correlation=1; "
         "kernel k stream=7 ts=20+30 correlation=1",
         SUTRA_HTA_KERNELS, "k,60,30,30,0.0,30.0,COMPUTATION,0"},
    };
    check_all(cases, N(cases));
    static const struct table_case kept = {"unless it is asked for", TWO_STEPS, SUTRA_HTA_TEMPORAL,
                                           "0,70,70,0,140,50.0,50.0,0.0"};
    check_with(&kept, &(struct sutra_hta_options){.size = sizeof(struct sutra_hta_options), .last_step = true});
}

static void fractions_are_kept_on_request(void **state) {
    static const struct table_case test = {
        "nanoseconds", "kernel k stream=7 ts=0.5+10 correlation=1; kernel k stream=7 ts=20.25+10.5 correlation=2",
        SUTRA_HTA_TEMPORAL, "0,9.75,20.5,0.0,30.25,32.23,67.77,0.0"};
    check_with(&test, &(struct sutra_hta_options){.size = sizeof(struct sutra_hta_options), .nanoseconds = true});
}

static void unusual_streams_and_times_are_read(void **state) {
    static const struct table_case cases[] = {
        {"a stream in quotes is its number", "kernel k tid=7 stream='20' ts=0+10 correlation=1", SUTRA_HTA_IDLE,
         "0,20,other,0.0,-"},
        {"a stream with a name is none", "kernel k tid=7 stream=main ts=0+10 correlation=1", SUTRA_HTA_TEMPORAL,
         "none: no event has a stream"},
        {"a stream with a fraction is cut", "kernel k tid=7 stream=7.9 ts=0+10 correlation=1", SUTRA_HTA_IDLE,
         "0,7,other,0.0,-"},
        {"null, lists and objects are no streams",
         "{'ph':'X','cat':'kernel','name':'k','pid':0,'tid':7,'ts':0,'dur':10,'args':{'stream':null}}; "
         "kernel k tid=7 stream=[] ts=0+10",
         SUTRA_HTA_TEMPORAL, "none: no event has a stream"},
        {"correlations that are strings tie as well",
         "cpu_op a ts=0+1; cudaLaunchKernel ts=0+2 correlation=x; kernel k stream=7 ts=5+10 correlation=x",
         SUTRA_HTA_LAUNCHES, "-1,2,10,3"},
        {"a negative duration",
         "kernel k stream=7 ts=0+10 correlation=1; kernel k stream=7 ts=20+-5 correlation=2; "
         "kernel k stream=7 ts=30+10 correlation=3",
         SUTRA_HTA_TEMPORAL, "0,25,15,0,40,62.5,37.5,0.0"},
        {"times that are too large are left out",
         "kernel k stream=7 ts=0+10 correlation=1; kernel k stream=7 ts=4e18+10 correlation=2; "
         "kernel k stream=7 ts=0+1e300 correlation=3",
         SUTRA_HTA_OVERLAP, "0,-"},
    };
    check_all(cases, N(cases));
}

/* Two steps, n launches and n kernels, all of one correlation. */
static char *one_correlation(int n) {
    char *text = malloc((size_t)n * 100 + 1000), *at = text;
    assert_non_null(text);
    at += sprintf(at, "user_annotation ProfilerStep#1 ts=0+10; user_annotation ProfilerStep#2 ts=1000000+10");
    for (int i = 0; i < n; i++)
        at +=
            sprintf(at, "; cudaLaunchKernel ts=%d+1 correlation=5; kernel k stream=7 ts=%d+1 correlation=5", i, 10 + i);
    return text;
}

static void billions_of_pairs_of_one_correlation_are_not_built(void **state) {
    enum { N_EACH = 1500 }; /* 2.25 million repetitions, and more than 3 billion pairs */
    char *text = one_correlation(N_EACH);
    struct sutra_context *context = make_context(1);
    struct sutra_hta *hta = analyze(context, text, NULL);
    struct sutra_hta_summary summary = {.size = sizeof summary};
    sutra_hta_summary(hta, &summary);
    assert_int_equal(summary.n_kernels, N_EACH);
    assert_int_equal(sutra_table_rows(sutra_result_table(SUTRA_RESULT(hta), SUTRA_HTA_LAUNCHES, NULL)), N_EACH);
    assert_int_equal(sutra_table_rows(sutra_result_table(SUTRA_RESULT(hta), SUTRA_HTA_QUEUE, NULL)), 2 * N_EACH);
    sutra_hta_free(hta);
    sutra_context_free(context);
    free(text);
}

static void summary_counts_skipped_events(void **state) {
    struct sutra_context *context = make_context(1);
    struct sutra_hta *hta =
        analyze(context,
                "kernel k stream=7 ts=0+10 correlation=1; kernel k stream=7 ts=4e18+10 correlation=2; "
                "kernel k stream=7 ts=20+-5 correlation=3; {'dur':1}",
                NULL);
    struct sutra_hta_summary summary = {.size = sizeof summary};
    sutra_hta_summary(hta, &summary);
    assert_int_equal(summary.n_events, 4);
    assert_int_equal(summary.n_rows, 2);
    assert_int_equal(summary.n_kernels, 2);
    assert_int_equal(summary.n_bad_times, 1);
    assert_int_equal(summary.n_negative, 1);
    sutra_hta_free(hta);
    sutra_context_free(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_between_first_and_last_kernel_is_idle_compute_or_other),
        cmocka_unit_test(overlap_is_the_share_of_communication_that_compute_hides),
        cmocka_unit_test(kernel_types_show_overlap),
        cmocka_unit_test(names_of_kernels_have_their_durations),
        cmocka_unit_test(names_beyond_the_wanted_number_become_others),
        cmocka_unit_test(idle_time_has_the_category_of_its_cause),
        cmocka_unit_test(launches_are_paired_with_their_kernels),
        cmocka_unit_test(calls_of_any_name_are_counted_in_our_table),
        cmocka_unit_test(queues_grow_with_launches_and_shrink_with_kernels),
        cmocka_unit_test(bandwidth_sums_concurrent_copies_of_a_kind),
        cmocka_unit_test(last_of_several_steps_is_skipped),
        cmocka_unit_test(fractions_are_kept_on_request),
        cmocka_unit_test(unusual_streams_and_times_are_read),
        cmocka_unit_test(billions_of_pairs_of_one_correlation_are_not_built),
        cmocka_unit_test(summary_counts_skipped_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
