/*
 * test_graphs.c - tests the attribution of graph kernels to operators: alignment of kernels with captured dispatches,
 * against results determined by hand and against a direct implementation of the rule on random input; and each method
 * on small traces.
 */
#include "analyze/launches/graphs.h"
#include "hta_table.h"

/* ---- Alignment ---- */

#define MOST 64

/* Text to dispatches: letters are recorded names, '?' no name, 'M' memcpy, 'S' memset. */
static uint32_t symbol_of(char letter) {
    return letter == '?'   ? (uint32_t)GRAPH_UNNAMED
           : letter == 'M' ? (uint32_t)GRAPH_COPY
           : letter == 'S' ? (uint32_t)GRAPH_SET
                           : (uint32_t)GRAPH_N_SYMBOLS + (uint32_t)letter;
}

/* Text to kernels: letters are names, 'M' and 'S' memcpys and memsets; `streams` has a digit for each, or is NULL. */
static void kernels_of(const char *text, const char *streams, struct graph_kernel *kernels) {
    for (size_t i = 0; text[i]; i++)
        kernels[i] =
            (struct graph_kernel){.symbol = text[i] == 'M' || text[i] == 'S' ? GRAPH_NO_SYMBOL : symbol_of(text[i]),
                                  .copies = text[i] == 'M',
                                  .sets = text[i] == 'S',
                                  .stream = streams ? streams[i] - '0' : 7};
}

static enum graph_method align(const char *dispatches, const char *text, const char *streams, row_t *match) {
    struct arena arena = {0}, scratch = {0};
    uint32_t symbols[MOST];
    row_t calls[MOST] = {0};
    struct graph_kernel kernels[MOST];
    struct graph_segment segment = {.n = (row_t)strlen(dispatches), .call = calls, .symbol = symbols};
    for (row_t i = 0; i < segment.n; i++)
        symbols[i] = symbol_of(dispatches[i]);
    kernels_of(text, streams, kernels);
    assert_int_equal(graph_segment_index(&segment, &arena, &scratch, NULL), SUTRA_OK);
    enum graph_method method = graph_align(&segment, kernels, (row_t)strlen(text), &scratch, match);
    arena_free(&arena);
    arena_free(&scratch);
    return method;
}

static void kernels_align_with_captured_dispatches(void **state) {
    static const struct {
        const char *dispatches, *kernels, *streams;
        enum graph_method method;
        row_t match[6];
    } cases[] = {
        {"abcd", "abcd", NULL, GRAPH_VERIFIED, {0, 1, 2, 3}},
        {"????", "abcd", NULL, GRAPH_COUNTED, {0, 1, 2, 3}},
        {"a?c", "abc", NULL, GRAPH_COUNTED, {0, 1, 2}}, /* a name is missing */
        {"?", "ab", NULL, GRAPH_UNMATCHED, {0}},        /* other counts without names */
        {"???", "ab", NULL, GRAPH_UNMATCHED, {0}},
        {"aMbS", "aMbS", NULL, GRAPH_VERIFIED, {0, 1, 2, 3}},
        {"?M", "ab", NULL, GRAPH_UNMATCHED, {0}}, /* a kernel is no memcpy */
        {"M?", "Ma", NULL, GRAPH_COUNTED, {0, 1}},
        {"axbxxc", "abc", NULL, GRAPH_VERIFIED, {0, 2, 5}}, /* extra dispatches are skipped */
        {"ab", "abc", NULL, GRAPH_UNMATCHED, {0}},          /* a partly aligned launch is unmatched */
        {"abz", "abc", NULL, GRAPH_UNMATCHED, {0}},
        {"ba", "ab", "11", GRAPH_UNMATCHED, {0}},  /* one stream keeps its order */
        {"ba", "ab", "12", GRAPH_STREAMS, {1, 0}}, /* two streams interleave in another way */
        {"abxcd", "cdab", "2211", GRAPH_STREAMS, {3, 4, 0, 1}},
        /* both heads are a: the queue of stream 2 agrees with a, b, c, the other one with a only */
        {"abcaz", "aazbc", "12122", GRAPH_STREAMS, {3, 0, 4, 1, 2}},
        /* equal runs: the stream of the earliest kernel */
        {"xaa", "aax", "123", GRAPH_STREAMS, {1, 2, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        row_t match[MOST];
        enum graph_method method = align(cases[i].dispatches, cases[i].kernels, cases[i].streams, match);
        if (method != cases[i].method)
            fail_msg("%s and %s: %s", cases[i].dispatches, cases[i].kernels, graph_method_names[method]);
        for (size_t k = 0; method != GRAPH_UNMATCHED && k < strlen(cases[i].kernels); k++)
            if (match[k] != cases[i].match[k])
                fail_msg("%s and %s: kernel %zu has dispatch %u", cases[i].dispatches, cases[i].kernels, k, match[k]);
    }
}

/* Whether letters of a dispatch and a kernel agree. */
static bool letters_agree(char dispatch, char kernel) {
    return dispatch == '?' || dispatch == kernel;
}

/* The rule, written directly: scans of all letters. */
static enum graph_method align_plainly(const char *dispatches, const char *kernels, const char *streams, row_t *match) {
    size_t n_dispatches = strlen(dispatches), n = strlen(kernels), i = 0, n_found = 0;
    bool named = !strchr(dispatches, '?'), same = n_dispatches == n;
    for (size_t k = 0; k < n && same; k++) {
        same = letters_agree(dispatches[k], kernels[k]);
        match[k] = (row_t)k;
    }
    if (same || !named)
        return same ? named ? GRAPH_VERIFIED : GRAPH_COUNTED : GRAPH_UNMATCHED;
    for (size_t c = 0; c < n_dispatches && i < n; c++)
        if (letters_agree(dispatches[c], kernels[i]))
            match[i++] = (row_t)c;
    if (i == n)
        return GRAPH_VERIFIED;
    bool taken[MOST] = {false};
    for (size_t c = 0; c < n_dispatches; c++) {
        size_t best = n, longest = 0;
        for (char stream = '1'; stream <= '4'; stream++) {
            size_t run = 0, head = n;
            for (size_t k = 0; k < n; k++) {
                if (streams[k] != stream || taken[k])
                    continue;
                head = head == n ? k : head;
                if (c + run >= n_dispatches || !letters_agree(dispatches[c + run], kernels[k]))
                    break;
                run++;
            }
            /* of equal runs the stream whose first kernel is the earliest */
            if (run > longest || (run && run == longest && strchr(streams, stream) < strchr(streams, streams[best]))) {
                longest = run;
                best = head;
            }
        }
        if (best == n)
            continue;
        taken[best] = true;
        match[best] = (row_t)c;
        n_found++;
    }
    return n_found == n ? GRAPH_STREAMS : GRAPH_UNMATCHED;
}

static void alignment_equals_the_plain_rule_on_random_input(void **state) {
    unsigned seed = 20260, counts[GRAPH_N_METHODS] = {0};
    print_message("seed %u\n", seed);
    srand(seed);
    for (int round = 0; round < 20000; round++) {
        char dispatches[MOST], kernels[MOST] = "", streams[MOST] = "";
        row_t match[MOST], plain[MOST];
        int n = 1 + rand() % 12, n_letters = 1 + rand() % 4, n_streams = 1 + rand() % 4, n_kernels = 0;
        for (int i = 0; i < n; i++)
            dispatches[i] = (char)(rand() % 40 == 0 ? '?' : rand() % 12 == 0 ? 'M' : 'a' + rand() % n_letters);
        dispatches[n] = 0;
        /* the kernels are the dispatches by stream, the streams interleaved at random, and sometimes changed */
        char queue[4][MOST];
        int length[4] = {0}, at[4] = {0};
        for (int i = 0; i < n; i++) {
            int stream = rand() % n_streams;
            if (rand() % 8 == 0)
                continue;
            bool other = rand() % 60 == 0 || dispatches[i] == '?';
            queue[stream][length[stream]++] = (char)(other ? 'a' + rand() % n_letters : dispatches[i]);
            n_kernels++;
        }
        for (int k = 0; k < n_kernels;) {
            int stream = rand() % n_streams;
            if (at[stream] == length[stream])
                continue;
            kernels[k] = queue[stream][at[stream]++];
            streams[k++] = (char)('1' + stream);
        }
        if (n_kernels == 0)
            continue;
        enum graph_method method = align(dispatches, kernels, streams, match);
        enum graph_method expected = align_plainly(dispatches, kernels, streams, plain);
        if (method != expected ||
            (method != GRAPH_UNMATCHED && memcmp(match, plain, (size_t)n_kernels * sizeof *match)))
            fail_msg("round %d: %s, %s on %s: %s, not %s", round, dispatches, kernels, streams,
                     graph_method_names[method], graph_method_names[expected]);
        counts[method]++;
    }
    for (int method = GRAPH_VERIFIED; method < GRAPH_N_METHODS; method++)
        if (method != GRAPH_NAME && method != GRAPH_BETWEEN && method != GRAPH_NODE)
            assert_true(counts[method] > 100);
}

/* ---- Batch sizes ---- */

static void annotations_name_batch_sizes(void **state) {
    assert_int_equal(graph_iteration_size("execute_64_context_0(sq0sk0sqsq0sqsk0)_generation_64(sq64sk9sqsq64sqsk9)"),
                     64);
    assert_int_equal(graph_iteration_size("execute_context_0(0)_generation_3(3)"), 3);
    assert_int_equal(graph_iteration_size("step[DECODE bs=32 g_sq=32]"), 32);
    assert_int_equal(graph_iteration_size("execute"), -1);
    assert_int_equal(graph_iteration_size("ProfilerStep#3"), -1);
    assert_int_equal(graph_capture_size("capture_128_decode"), 128);
    assert_int_equal(graph_capture_size("capture_decode"), -1);
}

/* ---- Methods ---- */

#define REPLAYED                                                                                                       \
    "cpu_op run_graph ts=995+40; cudaGraphLaunch ts=1000+20 correlation=1; "                                           \
    "kernel a stream=7 ts=1050+10 correlation=1; kernel b stream=8 ts=1060+5 correlation=1; "                          \
    "kernel c stream=7 ts=1070+20 correlation=1; "

struct graph_case {
    const char *name, *captures[2], *trace;
    enum sutra_operators_table table;
    const char *expected;
};

static void check_cases(const struct graph_case *cases, size_t n) {
    char text[8192];
    for (size_t i = 0; i < n; i++)
        for (unsigned n_threads = 1; n_threads <= 2; n_threads++) {
            char paths[2][64];
            const char *captures[2] = {paths[0], paths[1]};
            struct sutra_operators_options options = {.size = sizeof options, .captures = captures};
            for (; options.n_captures < 2 && cases[i].captures[options.n_captures]; options.n_captures++) {
                char *path = paths[options.n_captures];
                strcpy(path, "/tmp/test_graphs.XXXXXX");
                char *capture = trace_json(cases[i].captures[options.n_captures]);
                make_temp_file(path, capture);
                free(capture);
            }
            struct sutra_context *context = make_context(n_threads);
            struct sutra_device_trace *trace = NULL;
            struct sutra_operators *operators = NULL;
            struct sutra_error error;
            trace = parse_trace(context, cases[i].trace);
            assert_int_equal(sutra_operators_run(context, trace, &options, &operators, &error), SUTRA_OK);
            sutra_device_trace_free(trace);
            tell_table(sutra_result_table(SUTRA_RESULT(operators), cases[i].table, NULL), "not made", text);
            if (strcmp(text, cases[i].expected) != 0)
                print_error("%s\n", cases[i].name);
            assert_string_equal(text, cases[i].expected);
            sutra_operators_free(operators);
            sutra_context_free(context);
            for (size_t c = 0; c < options.n_captures; c++)
                unlink(paths[c]);
        }
}

#define CHECK_CASES(cases) check_cases(cases, sizeof(cases) / sizeof *(cases))

static void capture_traces_name_the_operators(void **state) {
    static const char named[] =
        "cudaStreamBeginCapture ts=100+2; python_function 'nn.Module: Linear_3' ts=105+50; "
        "cpu_op aten::mm ts=110+20; cuda_runtime hipLaunchKernel ts=115+5 kernel=a; cpu_op aten::add ts=132+10; "
        "cuda_runtime hipLaunchKernel ts=135+5 kernel=b; cpu_op aten::relu ts=170+20; "
        "cuda_runtime hipLaunchKernel ts=175+5 kernel=c; cudaStreamEndCapture ts=200+2";
    static const char plain[] = "cudaStreamBeginCapture ts=100+2; python_function 'nn.Module: Linear_3' ts=105+50; "
                                "cpu_op aten::mm ts=110+20; cudaLaunchKernel ts=115+5; cpu_op aten::add ts=132+10; "
                                "cudaLaunchKernel ts=135+5; cpu_op aten::relu ts=170+20; cudaLaunchKernel ts=175+5; "
                                "cudaStreamEndCapture ts=200+2";
    static const char turned[] =
        "cudaStreamBeginCapture ts=100+2; python_function 'nn.Module: Linear_3' ts=105+50; "
        "cpu_op aten::mm ts=110+20; cuda_runtime hipLaunchKernel ts=115+5 kernel=b; cpu_op aten::add ts=132+10; "
        "cuda_runtime hipLaunchKernel ts=135+5 kernel=a; cpu_op aten::relu ts=170+20; "
        "cuda_runtime hipLaunchKernel ts=175+5 kernel=c; cudaStreamEndCapture ts=200+2";
    static const char other[] =
        "cudaStreamBeginCapture ts=100+2; python_function 'nn.Module: Linear_3' ts=105+50; "
        "cpu_op aten::mm ts=110+20; cuda_runtime hipLaunchKernel ts=115+5 kernel=a; cpu_op aten::add ts=132+10; "
        "cuda_runtime hipLaunchKernel ts=135+5 kernel=b; cpu_op aten::relu ts=170+20; "
        "cuda_runtime hipLaunchKernel ts=175+5 kernel=x; cudaStreamEndCapture ts=200+2";
    static const char outside[] =
        "cudaStreamBeginCapture ts=100+2; cudaLaunchKernel ts=115+5; cudaLaunchKernel ts=135+5; "
        "cudaLaunchKernel ts=175+5; cudaStreamEndCapture ts=200+2";
    static const char eager[] =
        "user_annotation ProfilerStep#0 ts=90+150; cpu_op aten::mm ts=110+20; cudaLaunchKernel ts=115+5; "
        "cudaLaunchKernel ts=122+5; cpu_op aten::relu ts=170+20; cudaLaunchKernel ts=175+5; "
        "user_annotation ProfilerStep#1 ts=300+50; cudaLaunchKernel ts=310+5";
    static const struct graph_case cases[] = {
        {"the kernel names of the capture",
         {named},
         REPLAYED,
         SUTRA_OPERATORS_GRAPH_OPERATORS,
         "0,aten::relu,,verified,exact,1,20.0,57.14285714285714 |"
         " 0,aten::mm,Linear,verified,exact,1,10.0,28.57142857142857 "
         "| 0,aten::add,Linear,verified,exact,1,5.0,14.285714285714285"},
        {"as many dispatches as kernels",
         {plain},
         REPLAYED,
         SUTRA_OPERATORS_GRAPH_KERNELS,
         "0,cudaGraphLaunch,counted,medium,3,35.0,100.0"},
        {"another order between streams",
         {turned},
         REPLAYED,
         SUTRA_OPERATORS_GRAPH_OPERATORS,
         "0,aten::relu,,streams,high,1,20.0,57.14285714285714 |"
         " 0,aten::add,Linear,streams,high,1,10.0,28.57142857142857 | "
         "0,aten::mm,Linear,streams,high,1,5.0,14.285714285714285"},
        {"another name: no kernel of the launch is attributed",
         {other},
         REPLAYED,
         SUTRA_OPERATORS_GRAPH_KERNELS,
         "0,cudaGraphLaunch,unmatched,none,3,35.0,100.0"},
        {"dispatches outside of operators",
         {outside},
         REPLAYED,
         SUTRA_OPERATORS_GRAPH_KERNELS,
         "0,cudaGraphLaunch,unmatched,none,3,35.0,100.0"},
        {"the steps of an eager run",
         {eager},
         REPLAYED,
         SUTRA_OPERATORS_GRAPH_OPERATORS,
         "0,aten::relu,,counted,medium,1,20.0,57.14285714285714 |"
         " 0,aten::mm,,counted,medium,2,15.0,42.857142857142854"},
        {"the second of two capture traces",
         {other, named},
         REPLAYED,
         SUTRA_OPERATORS_GRAPH_KERNELS,
         "0,cudaGraphLaunch,verified,exact,3,35.0,100.0"},
        /* host time of replayed operators is 0; the launch is the time of run_graph */
        {"tables of operators",
         {named},
         REPLAYED,
         SUTRA_OPERATORS_BY_NAME,
         "0,aten::relu,operator,elementwise,1,0.0,0.0,1,20.0,20.0,20.0,57.14285714285714 | "
         "0,aten::mm,operator,GEMM,1,0.0,0.0,1,10.0,10.0,10.0,28.57142857142857 | "
         "0,aten::add,operator,elementwise,1,0.0,0.0,1,5.0,5.0,5.0,14.285714285714285 | "
         "0,run_graph,operator,other,1,40.0,40.0,0,0.0,0.0,0.0,0.0"},
        {"tables of modules",
         {named},
         REPLAYED,
         SUTRA_OPERATORS_BY_MODULE,
         "0,nn.Module: Linear_3,Linear,,1,0.0,15.0,2,15.0,15.0,0,0.0,0.0"},
        {"call paths",
         {named},
         REPLAYED,
         SUTRA_OPERATORS_BY_PATH,
         "0,run_graph / aten::relu,1,1,20.0,20.0,20.0,57.14285714285714 | "
         "0,run_graph / aten::mm,1,1,10.0,10.0,10.0,28.57142857142857 | "
         "0,run_graph / aten::add,1,1,5.0,5.0,5.0,14.285714285714285"},
    };
    CHECK_CASES(cases);
}

/* Two replays of a graph with one kernel of unknown name, captured at two batch sizes. */
#define SIZED(size, op)                                                                                                \
    "user_annotation capture_" #size "_decode ts=90+150; cudaStreamBeginCapture ts=100+2; cpu_op '" op "' ts=110+20; " \
    "cudaLaunchKernel ts=115+5; cudaStreamEndCapture ts=200+2"
#define ITERATION(size, ts, correlation)                                                                               \
    "user_annotation execute_context_0(0)_generation_" #size "(" #size ") ts=" #ts "+90; "                             \
    "cudaGraphLaunch ts=" #ts "+20 correlation=" #correlation "; "

static void smallest_sufficient_batch_size_is_used(void **state) {
    static const char small[] = SIZED(8, "of_8"), large[] = SIZED(64, "of_64");
    static const struct graph_case cases[] = {
        {"8, then 9, then more than all",
         {large, small},
         ITERATION(8, 1000, 1) "kernel k stream=7 ts=1050+10 correlation=1; " ITERATION(
             9, 2000, 2) "kernel k stream=7 ts=2050+20 correlation=2; " ITERATION(65, 3000,
                                                                                  3) "kernel k stream=7 ts=3050+40"
                                                                                     " correlation=3",
         SUTRA_OPERATORS_GRAPH_OPERATORS,
         "0,of_64,,counted,medium,2,60.0,85.71428571428571 | 0,of_8,,counted,medium,1,10.0,14.285714285714285"},
    };
    CHECK_CASES(cases);
}

static void graph_node_ids_precede_names_and_order(void **state) {
    static const char capture[] =
        "cudaStreamBeginCapture ts=100+2; cpu_op aten::mm ts=110+20; cudaLaunchKernel ts=115+5 'graph node id'=41; "
        "cpu_op aten::add ts=132+10; cudaLaunchKernel ts=135+5 'graph node id'=40; cudaStreamEndCapture ts=200+2";
    static const struct graph_case cases[] = {
        {"kernels in another order than the calls",
         {capture},
         "cudaGraphLaunch ts=1000+20 correlation=1; kernel x stream=7 ts=1050+10 correlation=1 'graph node id'=40; "
         "kernel y stream=7 ts=1070+20 correlation=1 'graph node id'=41",
         SUTRA_OPERATORS_GRAPH_OPERATORS,
         "0,aten::mm,,node,exact,1,20.0,66.66666666666666 | 0,aten::add,,node,exact,1,10.0,33.33333333333333"},
        {"a node that is not captured: by count",
         {capture},
         "cudaGraphLaunch ts=1000+20 correlation=1; kernel x stream=7 ts=1050+10 correlation=1 'graph node id'=40; "
         "kernel y stream=7 ts=1070+20 correlation=1 'graph node id'=42",
         SUTRA_OPERATORS_GRAPH_OPERATORS,
         "0,aten::add,,counted,medium,1,20.0,66.66666666666666 | 0,aten::mm,,counted,medium,1,10.0,33.33333333333333"},
    };
    CHECK_CASES(cases);
}

/* An operator that launches a kernel outside of graphs. */
#define EAGER(op, kernel, ts, at, correlation)                                                                         \
    "cpu_op '" op "' ts=" #ts "+8; cudaLaunchKernel ts=" #ts "+3 correlation=" #correlation "; "                       \
    "kernel '" kernel "' stream=7 ts=" #at "+10 correlation=" #correlation "; "
#define WARM_UP                                                                                                        \
    "cpu_op norm ts=10+8; cudaLaunchKernel ts=10+3 correlation=1; kernel norm_k stream=7 ts=100+10 correlation=1; "    \
    "cpu_op mm ts=20+8; cudaLaunchKernel ts=20+3 correlation=2; kernel gemm_x stream=7 ts=120+10 correlation=2; "      \
    "cpu_op silu ts=30+8; cudaLaunchKernel ts=30+3 correlation=3; kernel silu_k stream=7 ts=140+10 correlation=3; "

static void kernels_outside_of_graphs_name_the_operators(void **state) {
    static const struct graph_case cases[] = {
        {"by name, and between two names",
         {NULL},
         WARM_UP "cudaGraphLaunch ts=1000+20 correlation=9; kernel norm_k stream=7 ts=1050+10 correlation=9; "
                 "kernel gemm_y stream=7 ts=1070+20 correlation=9; kernel silu_k stream=7 ts=1100+5 correlation=9",
         SUTRA_OPERATORS_GRAPH_OPERATORS,
         "0,mm,,between,medium,1,20.0,30.76923076923077 | 0,norm,,name,high,1,10.0,15.384615384615385 | "
         "0,silu,,name,high,1,5.0,7.6923076923076925"},
        {"two operators launch the name; no second landmark",
         {NULL},
         WARM_UP EAGER("add", "ew", 40, 160, 4)
             EAGER("mul", "ew", 50, 180,
                   5) "cudaGraphLaunch ts=1000+20 correlation=9; kernel norm_k stream=7 ts=1050+10 correlation=9; "
                      "kernel ew stream=7 ts=1070+20 correlation=9",
         SUTRA_OPERATORS_GRAPH_KERNELS,
         "0,cudaGraphLaunch,unmatched,none,1,20.0,25.0 | 0,cudaGraphLaunch,name,high,1,10.0,12.5"},
        {"two operators between the names",
         {NULL},
         WARM_UP EAGER("norm", "norm_k", 40, 160, 4) EAGER("bmm", "gemm_z", 50, 180, 5) EAGER(
             "silu", "silu_k", 60, 200,
             6) "cudaGraphLaunch ts=1000+20 correlation=9; "
                "kernel norm_k stream=7 ts=1050+10 correlation=9; kernel gemm_y stream=7 ts=1070+20 correlation=9; "
                "kernel silu_k stream=7 ts=1100+5 correlation=9",
         SUTRA_OPERATORS_GRAPH_KERNELS,
         "0,cudaGraphLaunch,unmatched,none,1,20.0,21.052631578947366 |"
         " 0,cudaGraphLaunch,name,high,2,15.0,15.789473684210526"},
        {"the other of both is in the gap",
         {NULL},
         "cpu_op norm ts=10+8; cudaLaunchKernel ts=10+3 correlation=1; "
         "kernel norm_k stream=7 ts=100+10 correlation=1; " EAGER("mm", "gemm_x", 20, 120, 2)
             EAGER("copy", "copy_k", 25, 130, 7)
                 EAGER("silu", "silu_k", 30, 140, 3) "cudaGraphLaunch ts=1000+20 correlation=9; "
                                                     "kernel norm_k stream=7 ts=1050+10 correlation=9; " EAGER(
                                                         "copy", "copy_k", 1030, 1060,
                                                         8) "kernel gemm_y stream=7 ts=1070+20 correlation=9; "
                                                            "kernel silu_k stream=7 ts=1100+5 correlation=9",
         SUTRA_OPERATORS_GRAPH_KERNELS,
         "0,cudaGraphLaunch,between,medium,1,20.0,23.52941176470588 |"
         " 0,cudaGraphLaunch,name,high,2,15.0,17.647058823529413"},
        {"a kernel without an operator between the names",
         {NULL},
         EAGER("norm", "norm_k", 10, 100, 1)
             EAGER("mm", "gemm_x", 20, 120, 2) "cudaLaunchKernel ts=28+2 correlation=7; "
                                               "kernel free stream=7 ts=130+10 correlation=7; " EAGER(
                                                   "silu", "silu_k", 30, 140,
                                                   3) "cudaGraphLaunch ts=1000+20 correlation=9; "
                                                      "kernel norm_k stream=7 ts=1050+10 correlation=9; "
                                                      "kernel gemm_y stream=7 ts=1070+20 correlation=9; "
                                                      "kernel silu_k stream=7 ts=1100+5 correlation=9",
         SUTRA_OPERATORS_GRAPH_KERNELS,
         "0,cudaGraphLaunch,unmatched,none,1,20.0,26.666666666666668 | 0,cudaGraphLaunch,name,high,2,15.0,20.0"},
        {"nothing outside of graphs",
         {NULL},
         REPLAYED,
         SUTRA_OPERATORS_BY_NAME,
         "0,run_graph,operator,other,1,40.0,40.0,3,35.0,35.0,35.0,100.0"},
        {"no graphs", {NULL}, WARM_UP, SUTRA_OPERATORS_GRAPH_KERNELS, ""},
    };
    CHECK_CASES(cases);
}

/* ---- Triton kernels ---- */

static void triton_kernels_are_rows_by_arguments_and_hash(void **state) {
    static const struct graph_case cases[] = {
        {"two hashes, and a kernel of a graph",
         {NULL},
         "cpu_op triton_poi_fused_add_relu_0 ts=10+8 'Input Dims'=[[10,100],[10,100],[]]"
         " 'Input type'=['float','float','Scalar'] 'Concrete Inputs'=['','','1000'] kernel_hash=c1"
         " kernel_file=c1.py kernel_kwargs='XBLOCK=512'; "
         "cudaLaunchKernel ts=10+3 correlation=1; "
         "kernel triton_poi_fused_add_relu_0 stream=7 ts=100+10 correlation=1; "
         "cpu_op triton_poi_fused_add_relu_0 ts=20+8 'Input Dims'=[[10,100],[10,100],[]]"
         " 'Input type'=['float','float','Scalar'] 'Concrete Inputs'=['','','1000'] kernel_hash=c2"
         " kernel_file=c2.py kernel_kwargs='XBLOCK=512'; "
         "cudaLaunchKernel ts=20+3 correlation=2; "
         "kernel triton_poi_fused_add_relu_0 stream=7 ts=120+20 correlation=2; "
         "cudaGraphLaunch ts=1000+20 correlation=9; "
         "kernel triton_poi_fused_add_relu_0 stream=7 ts=1050+5 correlation=9",
         SUTRA_OPERATORS_TRITON,
         "0,triton_poi_fused_add_relu_0,add relu,1000.0,1.0,1,1,10.0,2e-06,0.012,c1,c1.py,XBLOCK=512, | "
         "0,triton_poi_fused_add_relu_0,add relu,1000.0,1.0,1,1,20.0,2e-06,0.012,c2,c2.py,XBLOCK=512, | "
         "0,triton_poi_fused_add_relu_0,add relu,-,-,0,1,5.0,-,-,,,,no argument shapes in the trace"},
        {"an operator of another name",
         {NULL},
         "cpu_op call ts=10+8; cudaLaunchKernel ts=10+3 correlation=1; "
         "kernel triton_per_fused_frob_3 stream=7 ts=100+10 correlation=1",
         SUTRA_OPERATORS_TRITON,
         "0,triton_per_fused_frob_3,,-,-,0,1,10.0,-,-,,,,no argument shapes in the trace"},
    };
    CHECK_CASES(cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_align_with_captured_dispatches),
        cmocka_unit_test(alignment_equals_the_plain_rule_on_random_input),
        cmocka_unit_test(annotations_name_batch_sizes),
        cmocka_unit_test(capture_traces_name_the_operators),
        cmocka_unit_test(smallest_sufficient_batch_size_is_used),
        cmocka_unit_test(graph_node_ids_precede_names_and_order),
        cmocka_unit_test(kernels_outside_of_graphs_name_the_operators),
        cmocka_unit_test(triton_kernels_are_rows_by_arguments_and_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
