/*
 * test_link_rules.c - tests linking of device traces: the operator of each GPU operator, times, durations, inter-thread
 * order, and the fields of GPU nodes. Each row is a small pair of traces.
 */
#include "link_case.h"

#define TREE             "id name ctrl_deps"
#define ALL_CASES(cases) check_rules(cases, sizeof(cases) / sizeof *(cases))

/* Two host operators, a with rf_id 7 and b with rf_id 8. */
#define AB "1 root; 2 a rf_id=7; 3 b rf_id=8"
/* Their events on thread 1: external ids 1 and 2, b inside of a. */
#define A    "cpu_op a ts=10+100 'External id'=1 'Record function id'=7; "
#define B    "cpu_op b ts=20+30 'External id'=2 'Record function id'=8; "
#define CALL "cudaLaunchKernel ts=40+1 correlation=5; "

#define NO_GPU    "0 root 0; 1 a 0; 2 b 0"
#define K_UNDER_A "0 root 0; 1 a 0; 2 k 1; 3 b 0"
#define K_UNDER_B "0 root 0; 1 a 0; 2 b 0; 3 k 2"

static void a_gpu_op_finds_its_cpu_op(void **state) {
    static const struct rule_case cases[] = {
        {"its own external id on the launch's thread wins over a nearer operator", AB,
         A B CALL "kernel k stream=7 ts=60+5 correlation=5 'External id'=1", TREE, K_UNDER_A},
        {"without that external id, the last operator that began before the launch", AB,
         A B CALL "kernel k stream=7 ts=60+5 correlation=5 'External id'=99", TREE, K_UNDER_B},
        {"also when it has ended by then", AB,
         A B "cudaLaunchKernel ts=900+1 correlation=5; "
             "kernel k stream=7 ts=950+5 correlation=5 'External id'=99",
         TREE, K_UNDER_B},
        {"the external id on another thread does not count", AB,
         "cpu_op a tid=2 ts=10+100 'External id'=1 'Record function id'=7; " B CALL
         "kernel k stream=7 ts=60+5 correlation=5 'External id'=1",
         TREE, K_UNDER_B},
        {"the events' order in the file does not matter", AB,
         "kernel k stream=7 ts=60+5 correlation=5 'External id'=1; " CALL B A, TREE, K_UNDER_A},
        {"the GPU operator may begin before its launch", AB,
         A B CALL "kernel k stream=7 ts=3+5 correlation=5 'External id'=1", TREE, K_UNDER_A},
        {"an operator that begins with the launch is not before it", AB,
         A "cpu_op b ts=40+9 'External id'=2 'Record function id'=8; " CALL
           "kernel k stream=7 ts=60+5 correlation=5 'External id'=2",
         TREE, K_UNDER_A},
        {"an operator that begins a fraction before the launch is", AB,
         A "cpu_op b ts=39.999+9 'External id'=2 'Record function id'=8; " CALL
           "kernel k stream=7 ts=60+5 correlation=5 'External id'=2",
         TREE, K_UNDER_B},
        {"of operators that begin together the last in the file", AB,
         A "cpu_op b ts=10+3 'External id'=2 'Record function id'=8; " CALL
           "kernel k stream=7 ts=60+5 correlation=5 'External id'=99",
         TREE, K_UNDER_B},
        {"and not the longest", AB,
         "cpu_op b ts=10+3 'External id'=2 'Record function id'=8; " A CALL
         "kernel k stream=7 ts=60+5 correlation=5 'External id'=99",
         TREE, K_UNDER_A},
        {"no external id is -1, which operators without one have", AB,
         "cpu_op a ts=10+100 'Record function id'=7; " B CALL "kernel k tid=9 ts=60+5 correlation=5", TREE, K_UNDER_A},
        {"no correlation is -1, which a launch without one has", AB,
         A B "cuda_driver cuLaunchKernel ts=40+5; kernel k tid=9 ts=60+5 'External id'=1", TREE, K_UNDER_A},
        {"external ids are read by int(): strings and fractions", AB,
         "cpu_op a ts=10+100 'External id'=' +1_0 ' 'Record function id'=7; " B CALL
         "kernel k stream=7 ts=60+5 correlation=5 'External id'=10.9",
         TREE, K_UNDER_A},
        {"and true is 1", AB, A B CALL "kernel k stream=7 ts=60+5 correlation=5 'External id'=true", TREE, K_UNDER_A},
        {"correlations are compared as values", AB,
         A B "cudaLaunchKernel ts=40+1 correlation=5.0; "
             "kernel k stream=7 ts=60+5 correlation=5 'External id'=1",
         TREE, K_UNDER_A},
        {"and a string is no number", AB,
         A B "cudaLaunchKernel ts=40+1 correlation='5'; "
             "kernel k stream=7 ts=60+5 correlation=5 'External id'=1",
         TREE, NO_GPU},
        {"operators of one external id all get its GPU operators", AB,
         A "cpu_op b ts=20+30 'External id'=1 'Record function id'=8; " CALL
           "kernel k stream=7 ts=60+5 correlation=5 'External id'=1",
         TREE, "0 root 0; 1 a 0; 2 k 1; 3 b 0; 4 k 3"},
        {"two GPU operators may share a launch, and stand in the order of their starts", AB,
         A B CALL "kernel z stream=7 ts=70+5 correlation=5 'External id'=1; "
                  "kernel x stream=7 ts=60+5 correlation=5 'External id'=1; "
                  "kernel y stream=7 ts=60+5 correlation=5 'External id'=1",
         TREE, "0 root 0; 1 a 0; 2 x 1; 3 y 1; 4 z 1; 5 b 0"},
    };
    ALL_CASES(cases);
}

static void threads_are_compared_as_values(void **state) {
#define ON(op_tid, launch_tid)                                                                                         \
    AB,                                                                                                                \
        "cpu_op a tid=" op_tid " ts=10+9 'External id'=1 'Record function id'=7; "                                     \
        "cudaLaunchKernel tid=" launch_tid " ts=40+1 correlation=5; "                                                  \
        "kernel k stream=7 ts=60+5 correlation=5 'External id'=1",                                                     \
        TREE
    static const struct rule_case cases[] = {
        {"7 is 7.0", ON("7", "7.0"), K_UNDER_A},
        {"1 is true", ON("true", "1"), K_UNDER_A},
        {"7 is not '7'", ON("7", "'7'"), NO_GPU},
        {"'7' is '7', however it is written", ON("'7'", "'\\u0037'"), K_UNDER_A},
        {"null is null", ON("null", "null"), K_UNDER_A},
        {"null is not 0", ON("null", "0"), NO_GPU},
        {"a fraction is itself", ON("7.5", "75e-1"), K_UNDER_A},
        {"integers above 64 bits", ON("123456789012345678901234567890", "123456789012345678901234567890"), K_UNDER_A},
        {"differ in the last digit", ON("123456789012345678901234567890", "123456789012345678901234567891"), NO_GPU},
        {"2^64 is 18446744073709551616.0", ON("18446744073709551616", "18446744073709551616.0"), K_UNDER_A},
    };
    ALL_CASES(cases);
}

/* Markers have tid 0 and external id -1, as has an operator without one. */
static void launches_of_thread_0_find_markers(void **state) {
    static const struct rule_case cases[] = {
        {"the marker's GPU operators go to operators without an external id", AB,
         "cpu_op a ts=10+100 'Record function id'=7; " B "cudaLaunchKernel tid=0 ts=40+1 correlation=5; "
         "kernel k stream=7 ts=60+5 correlation=5 'External id'=99",
         TREE, K_UNDER_A},
        {"a launch that is the first event of all has no marker before it", AB,
         "cpu_op a ts=10+100 'Record function id'=7; " B "cudaLaunchKernel tid=0 ts=3+1 correlation=5; "
         "kernel k stream=7 ts=60+5 correlation=5 'External id'=99",
         TREE, NO_GPU},
        {"an event without ts begins at 0, and so does its marker", AB,
         "{'ph':'M','name':'process_name','tid':5}; cpu_op a ts=10+100 'Record function id'=7; " B
         "cudaLaunchKernel tid=0 ts=3+1 correlation=5; kernel k stream=7 ts=60+5 correlation=5 'External id'=99",
         TREE, K_UNDER_A},
        {"but not where its tid is null", AB,
         "{'ph':'M','name':'process_name','tid':null}; cpu_op a ts=10+100 'Record function id'=7; " B
         "cudaLaunchKernel tid=0 ts=3+1 correlation=5; kernel k stream=7 ts=60+5 correlation=5 'External id'=99",
         TREE, NO_GPU},
        {"an operator of thread 0 after the marker wins", AB,
         "cpu_op a ts=10+100 'Record function id'=7; cpu_op b tid=0 ts=20+30 'External id'=2 'Record function id'=8; "
         "cudaLaunchKernel tid=0 ts=40+1 correlation=5; kernel k stream=7 ts=60+5 correlation=5 'External id'=99",
         TREE, K_UNDER_B},
        {"a later marker wins over it: thread 3 begins at 30", AB,
         "cpu_op a ts=10+100 'Record function id'=7; cpu_op b tid=0 ts=20+30 'External id'=2 'Record function id'=8; "
         "other x tid=3 ts=30+1; cudaLaunchKernel tid=0 ts=40+1 correlation=5; "
         "kernel k stream=7 ts=60+5 correlation=5 'External id'=99",
         TREE, K_UNDER_A},
        {"a thread's marker stands before its own first operator: thread 0 begins at 20", AB,
         "cpu_op a ts=10+100 'Record function id'=7; cpu_op b tid=0 ts=20+30 'External id'=2 'Record function id'=8; "
         "cudaLaunchKernel tid=0 ts=20.5+1 correlation=5; kernel k stream=7 ts=60+5 correlation=5 'External id'=99",
         TREE, K_UNDER_B},
        {"other threads do not find markers", AB,
         "cpu_op a ts=10+100 'Record function id'=7; cudaLaunchKernel tid=6 ts=40+1 correlation=5; "
         "kernel k stream=7 ts=60+5 correlation=5 'External id'=99",
         TREE, NO_GPU},
    };
    ALL_CASES(cases);
}

static void nccl_kernels_skip_coalesced_operators(void **state) {
#define COALESCED(op, kernel)                                                                                          \
    AB,                                                                                                                \
        A "cpu_op " op " ts=20+30 'External id'=2 'Record function id'=8; " CALL "kernel " kernel                      \
          " stream=7 ts=60+5 correlation=5 'External id'=2",                                                           \
        TREE
    static const struct rule_case cases[] = {
        {"an nccl kernel passes over", COALESCED("nccl:coalesced", "ncclDevKernel"),
         "0 root 0; 1 a 0; 2 ncclDevKernel 1; 3 b 0"},
        {"in any case of the letters", COALESCED("nccl:coalesced", "xNcClx"), "0 root 0; 1 a 0; 2 xNcClx 1; 3 b 0"},
        {"other kernels do not", COALESCED("nccl:coalesced", "k"), K_UNDER_B},
        {"a longer name is another operator", COALESCED("nccl:coalesced2", "nccl"), "0 root 0; 1 a 0; 2 b 0; 3 nccl 2"},
    };
    ALL_CASES(cases);
}

static void classes_come_from_category_and_name(void **state) {
#define AS(cpu_cat, cpu_name, launch_cat, launch_name, gpu_cat)                                                        \
    AB,                                                                                                                \
        cpu_cat " '" cpu_name "' ts=10+9 'External id'=1 'Record function id'=7; " launch_cat " '" launch_name         \
                "' ts=40+1 correlation=5; " gpu_cat " k tid=2 ts=60+5 correlation=5 'External id'=1",                  \
        "id name ts"
#define LINKED  "0 root -; 1 a 10; 2 k 60; 3 b -"
#define A_ALONE "0 root -; 1 a 10; 2 b -"
#define NOTHING "0 root -; 1 a -; 2 b -"
    static const struct rule_case cases[] = {
        {"annotations are CPU operators", AS("user_annotation", "a", "cuda_driver", "cuLaunchKernelEx", "gpu_memcpy"),
         LINKED},
        {"steps are not", AS("user_annotation", "xProfilerStep#1", "cuda_driver", "cuLaunchKernelEx", "kernel"),
         NOTHING},
        {"other categories are not", AS("python_function", "a", "cuda_runtime", "cudaMemcpy", "kernel"), NOTHING},
        {"categories are compared whole", AS("cpu_ops", "a", "cuda_runtime", "cudaMemcpy", "kernel"), NOTHING},
        {"calls of HIP launch", AS("cpu_op", "a", "cuda_runtime", "hipExtModuleLaunchKernel", "kernel"), LINKED},
        {"other calls do not", AS("cpu_op", "a", "cuda_runtime", "cudaMemsetAsync", "kernel"), A_ALONE},
        {"names of calls are compared whole", AS("cpu_op", "a", "cuda_runtime", "cudaLaunchKernel ", "kernel"),
         A_ALONE},
        {"a launch needs its category", AS("cpu_op", "a", "Runtime", "cudaLaunchKernel", "kernel"), A_ALONE},
        {"setting memory is no GPU operator", AS("cpu_op", "a", "cuda_runtime", "cudaLaunchKernel", "gpu_memset"),
         A_ALONE},
    };
    ALL_CASES(cases);
}

static void every_listed_call_launches(void **state) {
    static const char *const calls[] = {
        "cuLaunchKernel",        "cuLaunchKernelEx",    "cudaLaunchKernel",
        "cudaLaunchKernelExC",   "cudaMemcpy",          "cudaMemcpyAsync",
        "cudaMemcpyFromSymbol",  "cudaMemcpyToSymbol",  "cudaLaunchCooperativeKernel",
        "hipLaunchKernel",       "hipExtLaunchKernel",  "hipExtModuleLaunchKernel",
        "hipModuleLaunchKernel", "hipMemcpyWithStream", "hipMemcpyAsync",
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        for (int driver = 0; driver < 2; driver++) {
            char *device = NULL;
            assert_true(asprintf(&device,
                                 "%s %s ts=40 correlation=5; kernel k stream=7 ts=60+5 correlation=5 'External id'=1",
                                 driver ? A "cuda_driver" : A "cuda_runtime", calls[i]) > 0);
            struct outcome outcome = link_texts(AB, device, 0);
            assert_int_equal(outcome.status, SUTRA_OK);
            if (outcome.report.n_gpu_nodes != 1)
                fail_msg("%s does not launch", calls[i]);
            free(outcome.text);
            free(device);
        }
}

static void host_operators_find_events_by_rf_id(void **state) {
#define RF(host_rf, device_rf)                                                                                         \
    "1 root; 2 a rf_id=" host_rf, "cpu_op a ts=10+9 'External id'=1 'Record function id'=" device_rf, "name ts"
    static const struct rule_case cases[] = {
        {"0 is an rf_id like any other", RF("0", "0"), "root -; a 10"},
        {"7 is 7.0", RF("7", "7.0"), "root -; a 10"},
        {"the host's is read by int()", RF("'7'", "7"), "root -; a 10"},
        {"the device's is not", RF("7", "'7'"), "root -; a -"},
        {"null is none", RF("7", "null"), "root -; a -"},
        {"true is 1", RF("1", "true"), "root -; a 10"},
        {"the last event of an rf_id counts, by start", "1 root; 2 a rf_id=7",
         "cpu_op a ts=50+9 'External id'=1 'Record function id'=7; "
         "cpu_op a ts=10+9 'External id'=1 'Record function id'=7",
         "name ts", "root -; a 50"},
        {"of equal starts the last in the file", "1 root; 2 a rf_id=7",
         "cpu_op a ts=10+8 'External id'=1 'Record function id'=7; "
         "cpu_op a tid=2 ts=10+9 'External id'=1 'Record function id'=7",
         "name inclusive_dur", "root -; a 9"},
        {"several host operators may find one event", "1 root; 2 a rf_id=7; 3 b rf_id=7",
         A CALL "kernel k stream=7 ts=60+5 correlation=5 'External id'=1", TREE,
         "0 root 0; 1 a 0; 2 k 1; 3 b 0; 4 k 3"},
        {"the last rf_id among the attributes counts", "1 root; 2 a rf_id=8 rf_id=7", A, "name ts", "root -; a 10"},
    };
    ALL_CASES(cases);
}

static void exclusive_duration_is_duration_minus_children(void **state) {
#define TIMES(a_ts, a_dur, more)                                                                                       \
    AB, "cpu_op a ts=" a_ts "+" a_dur " 'External id'=1 'Record function id'=7" more, "name exclusive_dur"
#define CHILD(tid, ts, dur) "; cpu_op c tid=" tid " ts=" ts "+" dur
    static const struct rule_case cases[] = {
        {"all without children", TIMES("10", "100", ""), "root -; a 100; b -"},
        {"less a child", TIMES("10", "100", CHILD("1", "20", "30")), "root -; a 70; b -"},
        {"less the union of overlapping ones", TIMES("10", "100", CHILD("1", "20", "30") CHILD("1", "40", "20")),
         "root -; a 60; b -"},
        {"of touching ones", TIMES("10", "100", CHILD("1", "20", "30") CHILD("1", "50", "10")), "root -; a 60; b -"},
        {"grandchildren are inside children", TIMES("10", "100", CHILD("1", "20", "30") CHILD("1", "25", "5")),
         "root -; a 70; b -"},
        {"another thread's do not count", TIMES("10", "100", CHILD("2", "20", "30")), "root -; a 100; b -"},
        {"what ends later is no child", TIMES("10", "100", CHILD("1", "20", "91")), "root -; a 100; b -"},
        {"what ends with it is", TIMES("10", "100", CHILD("1", "20", "90")), "root -; a 10; b -"},
        {"what begins with it and is shorter comes earlier and is none", TIMES("10", "100", CHILD("1", "10", "30")),
         "root -; a 100; b -"},
        {"what begins and ends with it and comes later in the file is", TIMES("10", "100", CHILD("1", "10", "100")),
         "root -; a 0; b -"},
        {"one without duration takes nothing", TIMES("10", "100", CHILD("1", "20", "0")), "root -; a 100; b -"},
        {"integers stay exact beyond 2^53",
         TIMES("9007199254740993", "9007199254740993", CHILD("1", "9007199254740995", "9007199254740990")),
         "root -; a 3; b -"},
        {"a double makes doubles", TIMES("10", "100", CHILD("1", "20", "30.0")), "root -; a 70.0; b -"},
        {"in Python's arithmetic", TIMES("0.1", "1.0", CHILD("1", "0.2", "0.1") CHILD("1", "0.6", "0.2")),
         "root -; a 0.6999999999999998; b -"},
        {"no duration is 0", AB, "{'cat':'cpu_op','name':'a','ts':5,'args':{'Record function id':7}}",
         "name inclusive_dur exclusive_dur ts", "root - - -; a 0 0 5; b - - -"},
        {"no start is 0", AB, "{'cat':'cpu_op','name':'a','dur':1e2,'args':{'Record function id':7}}",
         "name inclusive_dur exclusive_dur ts", "root - - -; a 100.0 100.0 0; b - - -"},
        {"true stays true", AB, "{'cat':'cpu_op','name':'a','ts':true,'dur':false,'args':{'Record function id':7}}",
         "name inclusive_dur exclusive_dur ts", "root - - -; a false false true; b - - -"},
    };
    ALL_CASES(cases);
}

/* The dependency's host operator a has new id 1. */
static void threads_wait_for_the_last_started_operator_of_another_thread(void **state) {
#define DEP(events) AB, events
#define FIELDS      "name inter_thread_dep"
    static const struct rule_case cases[] = {
        {"the operator that began last on another thread",
         DEP("cpu_op a ts=10+5 'External id'=1 'Record function id'=7; "
             "cpu_op b tid=2 ts=100+5 'External id'=2 'Record function id'=8"),
         FIELDS, "root -; a null; b 1"},
        {"not on the same thread",
         DEP("cpu_op a tid=2 ts=10+5 'External id'=1 'Record function id'=7; "
             "cpu_op b tid=2 ts=5000+5 'External id'=2 'Record function id'=8"),
         FIELDS, "root -; a null; b null"},
        {"not at the same time",
         DEP("cpu_op a ts=100+5 'External id'=1 'Record function id'=7; "
             "cpu_op b tid=2 ts=100+5 'External id'=2 'Record function id'=8"),
         FIELDS, "root -; a null; b null"},
        {"not at time 0",
         DEP("cpu_op a ts=0+5 'External id'=1 'Record function id'=7; "
             "cpu_op b tid=2 ts=100+5 'External id'=2 'Record function id'=8"),
         FIELDS, "root -; a null; b null"},
        {"not before time 0",
         DEP("cpu_op a ts=-5+5 'External id'=1 'Record function id'=7; "
             "cpu_op b tid=2 ts=100+5 'External id'=2 'Record function id'=8"),
         FIELDS, "root -; a null; b null"},
        {"a gap of 1000 continues the group",
         DEP("cpu_op c tid=2 ts=5+5; cpu_op a ts=500+5 'External id'=1 'Record function id'=7; "
             "cpu_op b tid=2 ts=1010+5 'External id'=2 'Record function id'=8"),
         FIELDS, "root -; a null; b null"},
        {"a gap above 1000 begins one",
         DEP("cpu_op c tid=2 ts=5+5; cpu_op a ts=500+5 'External id'=1 'Record function id'=7; "
             "cpu_op b tid=2 ts=1011+5 'External id'=2 'Record function id'=8"),
         FIELDS, "root -; a null; b 1"},
        {"also by a fraction",
         DEP("cpu_op c tid=2 ts=5+5; cpu_op a ts=500+5 'External id'=1 'Record function id'=7; "
             "cpu_op b tid=2 ts=1010.5+5 'External id'=2 'Record function id'=8"),
         FIELDS, "root -; a null; b 1"},
        {"the gap counts from the previous start's end, however long an earlier one lasts",
         DEP("cpu_op c tid=2 ts=5+90000; cpu_op c tid=2 ts=6+4; "
             "cpu_op a ts=500+5 'External id'=1 'Record function id'=7; "
             "cpu_op b tid=2 ts=1011+5 'External id'=2 'Record function id'=8"),
         FIELDS, "root -; a null; b 1"},
        {"at equal starts the thread that occurs first",
         DEP("cpu_op a ts=10+5 'External id'=1 'Record function id'=7; "
             "cpu_op c tid=3 ts=10+5 'External id'=3 'Record function id'=9; "
             "cpu_op b tid=2 ts=100+5 'External id'=2 'Record function id'=8"),
         FIELDS, "root -; a null; b 1"},
        {"and if that one is unknown to the host trace, none",
         DEP("cpu_op c tid=3 ts=10+5 'External id'=3 'Record function id'=9; "
             "cpu_op a ts=10+5 'External id'=1 'Record function id'=7; "
             "cpu_op b tid=2 ts=100+5 'External id'=2 'Record function id'=8"),
         FIELDS, "root -; a null; b null"},
        {"at equal starts on one thread the first",
         DEP("cpu_op a ts=10+5 'External id'=1 'Record function id'=7; "
             "cpu_op c ts=10+5 'External id'=3 'Record function id'=9; "
             "cpu_op b tid=2 ts=100+5 'External id'=2 'Record function id'=8"),
         FIELDS, "root -; a null; b 1"},
        {"an rf_id of 0 is none", "1 root; 2 a rf_id=0; 3 b rf_id=8",
         "cpu_op a ts=10+5 'External id'=1 'Record function id'=0; "
         "cpu_op b tid=2 ts=100+5 'External id'=2 'Record function id'=8",
         FIELDS, "root -; a null; b null"},
        {"only host operators of lower ids are known yet", "1 root; 2 b rf_id=8; 3 a rf_id=7",
         "cpu_op a ts=10+5 'External id'=1 'Record function id'=7; "
         "cpu_op b tid=2 ts=100+5 'External id'=2 'Record function id'=8",
         FIELDS, "root -; b null; a null"},
        {"GPU nodes copy the dependency of their CPU node",
         DEP("cpu_op a ts=10+5 'External id'=1 'Record function id'=7; "
             "cpu_op b tid=2 ts=100+5 'External id'=2 'Record function id'=8; "
             "cudaLaunchKernel tid=2 ts=101+1 correlation=5; kernel k stream=7 ts=60+5 correlation=5 'External id'=2"),
         FIELDS, "root -; a null; b 1; k 1"},
    };
    ALL_CASES(cases);
}

static void gpu_nodes_have_the_fields_of_their_events(void **state) {
#define GPU(cat, name, ph, args)                                                                                       \
    "1 root; 2 a rf_id=7", A CALL "{'cat':'" cat "','name':'" name "','ts':60.5" ph                                    \
                                  ",'dur':5,'args':{'correlation':5,'External id':1" args "}}"
#define STREAM(text)      GPU("kernel", "k", ",'ph':'X'", ",'stream':" text), "stream", "-; -; "
#define PHASE(text)       GPU("kernel", "k", text, ""), "ph", "-; -; "
#define GROUP(name, text) GPU("kernel", name, "", ",'Process Group Name':" text), "pg_name", "-; -; "
#define NAME(text)        GPU("kernel", text, "", ""), "name", "root; a; "
    static const struct rule_case cases[] = {
        {"times and class", GPU("gpu_memcpy", "k", ",'ph':'X'", ""),
         "cat ts inclusive_dur exclusive_dur inter_thread_dep",
         "- - - - -; - 10 100 100 null; gpu_memcpy 60.5 5 5 null"},
        {"a stream", STREAM("7") "7"},
        {"a stream of 0 in front", STREAM("0") "0"},
        {"a negative stream", STREAM("-1") "-1"},
        {"minus zero", STREAM("-0") "0"},
        {"a real stream", STREAM("7.50") "7.5"},
        {"a stream with an exponent", STREAM("1E3") "1000.0"},
        {"a string", STREAM("'stream 7'") "stream 7"},
        {"true", STREAM("true") "true"},
        {"null", STREAM("null") "null"},
        {"no number", STREAM("NaN") "NaN"},
        {"too large for a double", STREAM("-1e999") "-Infinity"},
        {"18 digits", STREAM("123456789012345678") "123456789012345678"},
        {"19 digits", STREAM("9223372036854775807") "9223372036854775807"},
        {"30 digits", STREAM("123456789012345678901234567890") "123456789012345678901234567890"},
        {"a list", STREAM("[ 1, {'a':1,'a':2} ]") "[1,{\"a\":2}]"},
        {"an empty object", STREAM("{ }") "{}"},
        {"no stream", GPU("kernel", "k", "", ""), "stream", "-; -; null"},
        {"a phase", PHASE(",'ph':'X'") "X"},
        {"a longer phase", PHASE(",'ph':'XY'") "XY"},
        {"an empty phase", PHASE(",'ph':''") ""},
        {"a phase that is a number", PHASE(",'ph':5") "5"},
        {"a phase that is null", PHASE(",'ph':null") "null"},
        {"no phase", PHASE("") "null"},
        {"an escaped phase", PHASE(",'ph':'\\u0058'") "X"},
        {"a phase that needs escapes", PHASE(",'ph':'\\''") "\\\""},
        {"DEL as phase", PHASE(",'ph':'\x7f'") "\\u007f"},
        {"a backslash as phase", PHASE(",'ph':'\\\\'") "\\\\"},
        {"a group of an nccl kernel", GROUP("ncclDevKernel_X", "'g'") "g"},
        {"none of others", GROUP("ncclKernel", "'g'") "-"},
        {"the case counts here", GROUP("NCCLDEVKERNEL", "'g'") "-"},
        {"null is none", GROUP("ncclDevKernel", "null") "-"},
        {"an empty one is one", GROUP("ncclDevKernel", "''") ""},
        {"of any type", GROUP("ncclDevKernel", "[ ]") "[]"},
        {"escapes and other scripts",
         NAME("k\\n\\/\\u00e9\xc3\xa9\xf0\x9f\x98\x80\\ud800") "k\\n/\\u00e9\\u00e9\\ud83d\\ude00\\ud800"},
        {"a pair of escapes is one character", NAME("\\ud83d\\ude00\x7f") "\\ud83d\\ude00\\u007f"},
        {"no name", "1 root; 2 a rf_id=7", A CALL "{'cat':'kernel','ts':60,'args':{'correlation':5}}", "name stream",
         "root -; a -;  null"},
    };
    ALL_CASES(cases);
}

static void starts_of_all_kinds_sort_by_value(void **state) {
    static const struct rule_case cases[] = {
        {"integers and doubles", AB,
         A CALL "kernel c stream=7 ts=61+5 correlation=5 'External id'=1; "
                "kernel b stream=7 ts=60.5+5 correlation=5 'External id'=1; "
                "kernel a stream=7 ts=60+5 correlation=5 'External id'=1; "
                "kernel d stream=7 ts=61.0+5 correlation=5 'External id'=1",
         "name ts", "root -; a 10; a 60; b 60.5; c 61; d 61.0; b -"},
        {"beyond 2^53, where doubles are coarse", AB,
         A CALL "kernel c stream=7 ts=9007199254740993+5 correlation=5 'External id'=1; "
                "kernel b stream=7 ts=9007199254740992.0+5 correlation=5 'External id'=1; "
                "kernel a stream=7 ts=9007199254740991+5 correlation=5 'External id'=1",
         "name ts", "root -; a 10; a 9007199254740991; b 9007199254740992.0; c 9007199254740993; b -"},
        {"negative ones, zeros and true", AB,
         A CALL "kernel e stream=7 ts=true dur=5 correlation=5 'External id'=1; "
                "kernel c stream=7 ts=0+5 correlation=5 'External id'=1; "
                "kernel d stream=7 ts=-0.0+5 correlation=5 'External id'=1; "
                "kernel b stream=7 ts=-1+5 correlation=5 'External id'=1; "
                "kernel a stream=7 ts=-1.5+5 correlation=5 'External id'=1",
         "name ts", "root -; a 10; a -1.5; b -1; c 0; d -0.0; e true; b -"},
        {"infinities", AB,
         A CALL "{'ph':'X','cat':'kernel','name':'b','tid':7,'ts':Infinity,'dur':5,"
                "'args':{'correlation':5,'External id':1,'stream':7}}; "
                "kernel a stream=7 ts=1e308+5 correlation=5 'External id'=1",
         "name ts", "root -; a 10; a 1e+308; b Infinity; b -"},
    };
    ALL_CASES(cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gpu_op_finds_its_cpu_op),
        cmocka_unit_test(threads_are_compared_as_values),
        cmocka_unit_test(launches_of_thread_0_find_markers),
        cmocka_unit_test(nccl_kernels_skip_coalesced_operators),
        cmocka_unit_test(classes_come_from_category_and_name),
        cmocka_unit_test(every_listed_call_launches),
        cmocka_unit_test(host_operators_find_events_by_rf_id),
        cmocka_unit_test(exclusive_duration_is_duration_minus_children),
        cmocka_unit_test(threads_wait_for_the_last_started_operator_of_another_thread),
        cmocka_unit_test(gpu_nodes_have_the_fields_of_their_events),
        cmocka_unit_test(starts_of_all_kinds_sort_by_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
