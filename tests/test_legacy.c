/*
 * test_legacy.c - tests link-legacy (linking by names and order), one small pair of traces for each rule.
 */
#include "link_case.h"

/* Host traces of schema 1.0.1. */
#define PROCESS   "'schema':'1.0.1'; 1 '[pytorch|profiler|execution_trace|process]'; "
#define FLAT_HOST PROCESS "2 '[pytorch|profiler|execution_trace|thread]'; "

enum { EXACT = 4, ALL_LAUNCHES = 8, DEPTH_3 = 16 };

struct legacy_outcome {
    enum sutra_status status;
    struct sutra_error error;
    struct sutra_legacy_report report;
    char *text;        /* ET+ without white space; NULL after a failure */
    char lines[20000]; /* of the log: kind and text */
    struct outcome warnings;
};

static void note_line(void *arg, enum sutra_legacy_line kind, const char *text, size_t length) {
    struct legacy_outcome *outcome = arg;
    size_t n = strlen(outcome->lines);
    snprintf(outcome->lines + n, sizeof outcome->lines - n, "%c %.*s\n", "IWD"[kind], (int)length, text);
}

static char *written_text(struct sutra_context *context, const struct sutra_legacy *legacy, struct sutra_error *error) {
    char path[] = P_tmpdir "/sutra_legacy_XXXXXX";
    make_temp_file(path, "");
    uint64_t n_bytes = 0;
    assert_int_equal(sutra_legacy_write(context, legacy, path, &n_bytes, error), SUTRA_OK);
    char *text = file_text(path, NULL);
    unlink(path);
    assert_int_equal(strlen(text), n_bytes);
    squeeze(text);
    return text;
}

static void link_pair(const char *host, const char *device, const char *annotation, unsigned flags,
                      struct legacy_outcome *outcome) {
    char *host_text = host_json(host), *device_text = trace_json(device);
    *outcome = (struct legacy_outcome){.report.size = sizeof outcome->report};
    struct sutra_legacy_options legacy_options = {.size = sizeof legacy_options,
                                                  .annotation = annotation,
                                                  .exact = (flags & EXACT) != 0,
                                                  .all_launches = (flags & ALL_LAUNCHES) != 0,
                                                  .max_depth = flags & DEPTH_3 ? 3 : 0,
                                                  .min_match = 0.5,
                                                  .line = note_line,
                                                  .arg = outcome};
    struct sutra_host_trace *host_trace = NULL;
    struct sutra_device_trace *device_trace = NULL;
    struct sutra_legacy *legacy = NULL;
    struct sutra_error *error = &outcome->error;
    struct sutra_context *context =
        NEW_CONTEXT(.n_threads = 2, .strict = (flags & CASE_STRICT) != 0, .lenient = (flags & CASE_LENIENT) != 0,
                    .warning = note_warning, .arg = &outcome->warnings);
    outcome->status = sutra_host_trace_parse(context, "host", host_text, strlen(host_text), &host_trace, error);
    if (!outcome->status)
        outcome->status =
            sutra_device_trace_parse(context, "device", device_text, strlen(device_text), &device_trace, error);
    if (!outcome->status)
        outcome->status =
            sutra_legacy_link(context, host_trace, device_trace, &legacy_options, &outcome->report, &legacy, error);
    if (!outcome->status)
        outcome->text = written_text(context, legacy, error);
    sutra_legacy_free(legacy);
    sutra_device_trace_free(device_trace);
    sutra_host_trace_free(host_trace);
    sutra_context_free(context);
    free(host_text);
    free(device_text);
}

struct result_case {
    const char *what, *host, *device, *annotation;
    unsigned flags;
    const char *fields, *expected; /* fields of all nodes */
    const char *line;              /* a line of the log, or NULL */
};

static void check_results(const struct result_case *cases, size_t n) {
    static struct legacy_outcome outcome;
    for (size_t i = 0; i < n; i++) {
        link_pair(cases[i].host, cases[i].device, cases[i].annotation, cases[i].flags, &outcome);
        if (outcome.status)
            fail_msg("%s: %s", cases[i].what, outcome.error.message);
        char *line = nodes_show(outcome.text, cases[i].fields);
        if (strcmp(line, cases[i].expected) != 0)
            fail_msg("%s:\n  %s, expected\n  %s", cases[i].what, line, cases[i].expected);
        if (cases[i].line && !strstr(outcome.lines, cases[i].line))
            fail_msg("%s: the log lacks %s:\n%s", cases[i].what, cases[i].line, outcome.lines);
        free(line);
        free(outcome.text);
    }
}

#define N_OF(table) (sizeof(table) / sizeof *(table))

#define TWO_OPS FLAT_HOST "3 a parent=2; 4 b parent=2"
#define TWO_RUN "cpu_op a tid=7 ts=10+20 'Ev Idx'=0; cpu_op b tid=7 ts=40+20 'Ev Idx'=1; "

static void operators_get_times_and_their_gpu_nodes(void **state) {
    const struct result_case cases[] = {
        {"times; process and thread span all", TWO_OPS, TWO_RUN, "no mark", EXACT, "id ts dur",
         "1 10 50; 2 10 50; 3 10 20; 4 40 20", "W Could not find annotation no mark in kineto file"},
        {"a kernel is below the operator that runs when its launch ends, and moves later ids up", TWO_OPS,
         TWO_RUN "cudaLaunchKernel tid=7 ts=12+2 'External id'=5; kernel k tid=0 ts=70+5 'External id'=5", "no mark",
         EXACT, "id parent name ts inputs",
         "1 1 [pytorch|profiler|execution_trace|process] 10 [1]; "
         "2 1 [pytorch|profiler|execution_trace|thread] 10 [2]; 3 2 a 10 [3]; 5 2 b 40 [4]; 4 3 k 14 [3]",
         NULL},
        {"kernels come by the time of their launch, not of the file", TWO_OPS,
         TWO_RUN "cudaLaunchKernel tid=7 ts=16+2 'External id'=5; "
                 "cudaMemcpyAsync tid=7 ts=12+2 'External id'=6; kernel k tid=0 ts=70+5 'External id'=5; "
                 "kernel m tid=0 ts=80+5 'External id'=6",
         "no mark", EXACT, "id name ts",
         "1 [pytorch|profiler|execution_trace|process] 10; "
         "2 [pytorch|profiler|execution_trace|thread] 10; 3 a 10; 6 b 40; 4 m 14; 5 k 18",
         NULL},
        {"other calls are no launches: the arrow counts", TWO_OPS,
         TWO_RUN "cuda_runtime cuLaunchKernel tid=7 ts=12+2 'External id'=5; "
                 "kernel k tid=0 ts=70+5 'External id'=5; ac2g ac2g ph=s id=5 tid=7 ts=45",
         "no mark", EXACT, "id parent", "1 1; 2 1; 3 2; 4 2; 5 4", NULL},
        {"unless all launches are taken", TWO_OPS,
         TWO_RUN "cudaLaunchKernelExC tid=7 ts=12+2 'External id'=5; kernel k tid=0 ts=70+5 'External id'=5; "
                 "ac2g ac2g ph=s id=5 tid=7 ts=45",
         "no mark", EXACT | ALL_LAUNCHES, "id parent", "1 1; 2 1; 3 2; 5 2; 4 3", NULL},
        {"a kernel whose launch ends when its operator does is discarded", TWO_OPS,
         TWO_RUN "cudaLaunchKernel tid=7 ts=28+2 'External id'=5; kernel k tid=0 ts=70+5 'External id'=5", "no mark",
         EXACT, "id", "1; 2; 3; 4",
         "D Warning! the parent cpu_op for the following gpu_op is not foundand hence it is discarded. "
         "gpu_op name: k, ts: 30, external_id: 5\n"},
        {"operators with one index share their kernels", TWO_OPS,
         "cpu_op a tid=7 ts=10+20 'Ev Idx'=9; cpu_op b tid=7 ts=40+20 'Ev Idx'=9; "
         "cudaLaunchKernel tid=7 ts=12+2 'External id'=5; kernel k tid=0 ts=70+5 'External id'=5",
         "no mark", EXACT, "id parent", "1 1; 2 1; 3 2; 5 2; 4 3; 6 5", NULL},
        {"fields that are there keep their place", FLAT_HOST "3 a parent=2 dur=1 z=0",
         "cpu_op a tid=7 ts=10+20 'Ev Idx'=0", "no mark", EXACT, "dur z ts", "20 - 10; 20 - 10; 20 0 10", NULL},
        {"a node with a category ends the walk", FLAT_HOST "3 a parent=2; 4 k parent=2 cat=kernel",
         "cpu_op a tid=7 ts=10+20 'Ev Idx'=0; cpu_op k tid=7 ts=12+2 'Ev Idx'=1", "no mark", EXACT, "id ts",
         "1 10; 2 10; 3 10; 4 -", NULL},
    };
    check_results(cases, N_OF(cases));
}

static void iterations_are_cut_at_annotations(void **state) {
    const struct result_case cases[] = {
        {"of two iterations the one between the marks is taken, and the segment whose length fits",
         FLAT_HOST "3 mark parent=2; 4 a parent=2; 5 b parent=2; 6 mark parent=2; 7 a parent=2; "
                   "9 '[pytorch|profiler|execution_trace|thread]'",
         "cpu_op mark tid=7 ts=10+5 'Ev Idx'=0; cpu_op a tid=7 ts=20+5 'Ev Idx'=1; cpu_op b tid=8 ts=30+5; "
         "cpu_op mark tid=7 ts=40+5 'Ev Idx'=2; cpu_op a tid=7 ts=50+6 'Ev Idx'=3",
         "mark", EXACT, "id ts", "1 20; 2 20; 3 40; 4 20; 5 30; 6 -; 7 -; 9 30",
         "I Iteration node ids list = [1, 3, 6]\nI Execution trace has 2 > 1 iterations.\nI Copying nodes for iter 1 "
         "for ids "
         "in the range [3, 6)\nI Nodes trimmed ET = 6\n"},
        {"a segment begins with the first operator after the annotated one has ended, so nested ones belong to it",
         FLAT_HOST "3 a parent=2; 4 mark parent=2; 5 in parent=2",
         "cpu_op a tid=7 ts=10+5 'Ev Idx'=0; cpu_op mark tid=7 ts=20+9 'Ev Idx'=1; "
         "cpu_op in tid=7 ts=22+2 'Ev Idx'=2; cpu_op late tid=7 ts=29+2 'Ev Idx'=3",
         "mark", EXACT, "id ts", "1 10; 2 10; 3 10; 4 20; 5 22", "I Kineto trace has 2 segments\n"},
        {"profiler steps are no operators, and their mean is reported", TWO_OPS,
         TWO_RUN "user_annotation ProfilerStep#1 tid=7 ts=0+100; user_annotation ProfilerStep#2 tid=7 ts=1+101",
         "ProfilerStep", EXACT, "id ts", "1 10; 2 10; 3 10; 4 40", "I Average iteration latency: 100.5\n"},
    };
    check_results(cases, N_OF(cases));
}

/* 16 operators a, b, ... p with ids from 3 on, and their runs from a number of places on. */
#define LETTERS(X)                                                                                                     \
    X(3, a)                                                                                                            \
    X(4, b)                                                                                                            \
    X(5, c)                                                                                                            \
    X(6, d) X(7, e) X(8, f) X(9, g) X(10, h) X(11, i) X(12, j) X(13, k) X(14, l) X(15, m) X(16, n) X(17, o) X(18, p)
#define LETTER_OP(id, letter)  #id " " #letter " parent=2; "
#define LETTER_RUN(ts, letter) "; cpu_op " #letter " tid=7 ts=" #ts "+1 'Ev Idx'=" #ts
#define LETTER_HOST            FLAT_HOST LETTERS(LETTER_OP)

static void lists_that_are_shifted_or_have_gaps_are_matched(void **state) {
    static struct legacy_outcome outcome;
    static const struct {
        const char *before;
        uint64_t shift;
    } rows[] = {
        {"cpu_op x tid=7 ts=1+1 'Ev Idx'=0", 1},
        {"cpu_op x tid=7 ts=1+1 'Ev Idx'=0; cpu_op x tid=7 ts=1+1 'Ev Idx'=0; cpu_op x tid=7 ts=1+1 'Ev Idx'=0", 3},
    };
    for (size_t i = 0; i < N_OF(rows); i++) {
        char device[4000];
        snprintf(device, sizeof device, "%s%s", rows[i].before, LETTERS(LETTER_RUN));
        link_pair(LETTER_HOST, device, "x-none", EXACT, &outcome);
        assert_int_equal(outcome.status, SUTRA_OK);
        assert_int_equal(outcome.report.shift, rows[i].shift);
        assert_int_equal(outcome.report.n_matched, 18);
        assert_non_null(strstr(outcome.lines, "I shift found between et_nodes, and kineto_et_events. Shift amount: "));
        assert_non_null(strstr(outcome.text, "\"dur\":1,\"ts\":18}")); /* p */
        free(outcome.text);
    }
}

/* A pair whose device trace has `n` more operators between a and b; a free text each. */
static void pair_with_gap(unsigned n, char **host, char **device) {
    *host = strdup(TWO_OPS);
    size_t size;
    FILE *out = open_memstream(device, &size);
    fputs("cpu_op a tid=7 ts=10+1 'Ev Idx'=0", out);
    for (unsigned i = 0; i < n; i++)
        fputs("; cpu_op x tid=7 ts=20+1 'Ev Idx'=1", out);
    fputs("; cpu_op b tid=7 ts=30+1 'Ev Idx'=2", out);
    fclose(out);
}

static void names_are_searched_within_20_nodes(void **state) {
    static struct legacy_outcome outcome;
    for (unsigned n = 19; n <= 22; n++) {
        char *host, *device;
        pair_with_gap(n, &host, &device);
        link_pair(host, device, "no mark", EXACT, &outcome);
        assert_int_equal(outcome.status, n <= 20 ? SUTRA_OK : SUTRA_DATA);
        assert_int_equal(outcome.report.mismatch, n > 20);
        free(outcome.text);
        link_pair(host, device, "no mark", 0, &outcome); /* aligned trees bridge any gap */
        assert_int_equal(outcome.status, SUTRA_OK);
        assert_int_equal(outcome.report.n_matched, 4);
        assert_int_equal(outcome.report.aligned, n > 20);
        free(outcome.text);
        free(host);
        free(device);
    }
}

static void older_names_of_process_and_threads_match(void **state) {
    const struct result_case cases[] = {
        {"execution_graph",
         "'schema':'1.0.1'; 1 '[pytorch|profiler|execution_graph|process]'; "
         "2 '[pytorch|profiler|execution_graph|thread]'; 3 a parent=2",
         "cpu_op a tid=7 ts=10+20 'Ev Idx'=0", "no mark", EXACT, "id ts", "1 10; 2 10; 3 10", NULL},
        {"iteration#", FLAT_HOST "3 '## iteration#3 ##' parent=2", "cpu_op iteration#9 tid=7 ts=10+20 'Ev Idx'=0",
         "no mark", EXACT, "id ts", "1 10; 2 10; 3 10", NULL},
    };
    check_results(cases, N_OF(cases));
}

struct failure_case {
    const char *what, *host, *device;
    unsigned flags;
    const char *message; /* part of it */
    const char *lenient; /* ids of all nodes when lenient; NULL: not asked */
    const char *annotation;
};

#define KERNEL_RUN                                                                                                     \
    "cpu_op a tid=7 ts=10+20 'Ev Idx'=0; cpu_op b tid=7 ts=40+20 'Ev Idx'=1; "                                         \
    "cudaLaunchKernel tid=7 ts=12+2 'External id'=5; kernel k tid=0 ts=70+5 'External id'=5; "
static void unlinkable_input_is_a_one_line_error(void **state) {
    static const struct failure_case cases[] = {
        {"names differ", TWO_OPS, "cpu_op a tid=7 ts=10+20 'Ev Idx'=0; cpu_op c tid=7 ts=40+20 'Ev Idx'=1", EXACT,
         "node 3 (operator 3, \"b\") has no operator of its name within 20 positions of operator 3", NULL, NULL},
        {"too few operators, strict", TWO_OPS, "cpu_op a tid=7 ts=10+20 'Ev Idx'=0", EXACT | CASE_STRICT,
         "the host trace has 4 operators, the device trace 3", NULL, NULL},
        {"the match runs past the list", LETTER_HOST,
         "cpu_op x tid=7 ts=1+1 'Ev Idx'=0; cpu_op x tid=7 ts=2+1 'Ev Idx'=0; cpu_op c tid=7 ts=5+1 'Ev Idx'=0; "
         "cpu_op d tid=7 ts=6+1 'Ev Idx'=0; cpu_op e tid=7 ts=7+1 'Ev Idx'=0; cpu_op f tid=7 ts=8+1 'Ev Idx'=0; "
         "cpu_op g tid=7 ts=9+1 'Ev Idx'=0; cpu_op h tid=7 ts=10+1 'Ev Idx'=0; cpu_op i tid=7 ts=11+1 'Ev Idx'=0; "
         "cpu_op j tid=7 ts=12+1 'Ev Idx'=0; cpu_op k tid=7 ts=13+1 'Ev Idx'=0; cpu_op l tid=7 ts=14+1 'Ev Idx'=0; "
         "cpu_op m tid=7 ts=15+1 'Ev Idx'=0; cpu_op a tid=7 ts=1+1 'Ev Idx'=0; cpu_op b tid=7 ts=1+1 'Ev Idx'=0; "
         "cpu_op n tid=7 ts=16+1 'Ev Idx'=0",
         EXACT, "of the device trace", NULL, NULL},
        {"no CPU operators", TWO_OPS, "kernel k tid=0 ts=70+5 'External id'=5", EXACT, "there are no CPU operators",
         NULL, NULL},
        {"a kernel without an external id", TWO_OPS, TWO_RUN "kernel k tid=0 ts=70+5", EXACT,
         "event 2: this GPU activity has no args[\"External id\"]", "1; 2; 3; 4", NULL},
        {"a kernel without a launch", TWO_OPS, TWO_RUN "kernel k tid=0 ts=70+5 'External id'=5", EXACT,
         "event 2: no launch and no flow event has the external id", "1; 2; 3; 4", NULL},
        {"an operator without an index", TWO_OPS,
         "cpu_op a tid=7 ts=10+20; cpu_op b tid=7 ts=40+20 'Ev Idx'=1; "
         "cudaLaunchKernel tid=7 ts=12+2 'External id'=5; kernel k tid=0 ts=70+5 'External id'=5",
         EXACT, "has no args[\"Ev Idx\"]", "1; 2; 3; 4", NULL},
        {"a node without inputs has a kernel", FLAT_HOST "{'name':'a','id':3,'parent':2,'tid':1}; 4 b parent=2",
         KERNEL_RUN, EXACT, "node 2: field 'inputs' is missing", NULL, NULL},
        {"a parent that is no node", FLAT_HOST "3 a parent=2; 4 b parent=2; 5 c parent=77", TWO_RUN, EXACT,
         "node 4: its parent 77 is not a node", "1; 2; 3; 4; 5", NULL},
        {"no root", "'schema':'1.0.1'; 3 a parent=2", TWO_RUN, EXACT, "there is no root (a node with id 1)", NULL,
         NULL},
        {"parents in a cycle", FLAT_HOST "3 a parent=5; 4 b parent=3; 5 c parent=4", TWO_RUN, EXACT,
         "parents form a cycle of 3 nodes: 3 -> 5 -> 4 -> 3", NULL, NULL},
        {"no node of a thread when an iteration is cut out", PROCESS "3 execution; 4 execution", TWO_RUN, EXACT,
         "there is no thread node", NULL, "execution"},
        {"a node without a name", PROCESS "{'id':3,'parent':1}", TWO_RUN, EXACT, "node 1: field 'name'", NULL, NULL},
    };
    static struct legacy_outcome outcome;
    for (size_t i = 0; i < N_OF(cases); i++) {
        const struct failure_case *c = &cases[i];
        if (c->message) {
            link_pair(c->host, c->device, c->annotation ? c->annotation : "no mark", c->flags, &outcome);
            if (outcome.status != SUTRA_DATA || !strstr(outcome.error.message, c->message))
                fail_msg("%s: status %d, %s", c->what, outcome.status, outcome.error.message);
            assert_null(strchr(outcome.error.message, '\n'));
        }
        link_pair(c->host, c->device, c->annotation ? c->annotation : "no mark",
                  (c->flags & ~(unsigned)CASE_STRICT) | CASE_LENIENT, &outcome);
        if (!c->lenient) {
            free(outcome.text);
            continue;
        }
        if (outcome.status)
            fail_msg("%s, lenient: %s", c->what, outcome.error.message);
        char *ids = nodes_show(outcome.text, "id");
        assert_string_equal(ids, c->lenient);
        free(ids);
        free(outcome.text);
    }
}

static void too_few_device_operators_give_a_file_without_times_and_a_warning(void **state) {
    static struct legacy_outcome outcome;
    link_pair(TWO_OPS, "cpu_op a tid=7 ts=10+20 'Ev Idx'=0", "no mark", EXACT, &outcome);
    assert_int_equal(outcome.status, SUTRA_OK);
    assert_true(outcome.report.count_mismatch);
    assert_null(strstr(outcome.text, "\"ts\""));
    assert_non_null(strstr(outcome.warnings.warnings, "the output has no times and no GPU operators"));
    assert_non_null(strstr(outcome.lines,
                           "I Ops count mismatch between kineto and execution trace ( et size = 4, kineto "
                           "size: 3 )\n"));
    free(outcome.text);
}

static void later_schemas_are_linked_on_their_own_fields(void **state) {
    const struct result_case cases[] = {
        {"ctrl_deps, nested inputs",
         "1 '[pytorch|profiler|execution_trace|process]' tid=1; 2 '[pytorch|profiler|execution_trace|thread]' tid=1; "
         "3 a ctrl_deps=2 tid=1; 4 b ctrl_deps=2 tid=1",
         KERNEL_RUN, "no mark", EXACT, "id ctrl_deps ts inputs",
         "1 1 10 {\"values\":[1],\"shapes\":[[]],\"types\":[\"Int\"]}; "
         "2 1 10 {\"values\":[2],\"shapes\":[[]],\"types\":[\"Int\"]}; "
         "3 2 10 {\"values\":[3],\"shapes\":[[]],\"types\":[\"Int\"]}; "
         "5 2 40 {\"values\":[4],\"shapes\":[[]],\"types\":[\"Int\"]}; "
         "4 3 14 {\"values\":[3],\"shapes\":[[]],\"types\":[\"Int\"]}",
         NULL},
    };
    check_results(cases, N_OF(cases));
}

static void approximate_match_skips_unmatched_operators(void **state) {
    const struct result_case cases[] = {
        {"what exact match links it links alike", TWO_OPS, KERNEL_RUN, "no mark", 0, "id parent ts",
         "1 1 10; 2 1 10; 3 2 10; 5 2 40; 4 3 14", "I Exact match fits\n"},
        {"an operator that the device trace lacks", FLAT_HOST "3 a parent=2; 4 gone parent=2; 5 b parent=2", KERNEL_RUN,
         "no mark", 0, "id parent ts", "1 1 10; 2 1 10; 3 2 10; 5 2 -; 6 2 40; 4 3 14",
         "I Approximate match: 4 of 5 operators (80.0 %), edit cost: 1\nI Unmatched in the execution trace: gone, id: "
         "4\n"},
        {"a name that differs", FLAT_HOST "3 a parent=2; 4 old parent=2; 5 b parent=4",
         "cpu_op a tid=7 ts=10+20 'Ev Idx'=0; cpu_op new tid=7 ts=40+20 'Ev Idx'=1; cpu_op b tid=7 ts=45+5 'Ev Idx'=2",
         "no mark", 0, "id ts", "1 10; 2 10; 3 10; 4 -; 5 45", "I Unmatched in the kineto trace: new, timestamp: 40\n"},
        {"threads in another order",
         FLAT_HOST "3 a parent=2; 4 b parent=2; 5 only parent=2; "
                   "6 '[pytorch|profiler|execution_trace|thread]' tid=2; 7 c parent=6 tid=2; 8 d parent=6 tid=2",
         "cpu_op c tid=8 ts=5+5; cpu_op d tid=8 ts=15+5; " TWO_RUN, "no mark", 0, "id ts",
         "1 5; 2 10; 3 10; 4 40; 5 -; 6 5; 7 5; 8 15", NULL},
    };
    check_results(cases, N_OF(cases));
}

static void too_few_matches_are_an_error_with_the_counts(void **state) {
    static struct legacy_outcome outcome;
    link_pair(FLAT_HOST "3 a parent=2; 4 b parent=2; 5 c parent=2; 6 d parent=2",
              "cpu_op p tid=7 ts=10+20 'Ev Idx'=0; cpu_op q tid=7 ts=40+20 'Ev Idx'=1", "no mark", 0, &outcome);
    assert_int_equal(outcome.status, SUTRA_DATA);
    assert_non_null(strstr(outcome.error.message, "matches only 0 of 4 operators"));
    assert_true(outcome.report.aligned);
    assert_int_equal(outcome.report.edit_cost, (1 + 4) + (1 + 2)); /* threads without a partner, and operators */
}

/* A host trace of the 16 letters, and a device trace of `n_steps` steps of them, each after a mark. Step s, from 0 on,
 * starts at 1000 * s, and its letter i has the sequence number 100 * s + i; the host's numbers are of step `host_step`,
 * plus a constant. Without `numbers` none is recorded. Free the texts. */
static void pair_of_steps(unsigned n_steps, unsigned host_step, unsigned constant, bool numbers, char **host,
                          char **device) {
    size_t size;
    FILE *out = open_memstream(host, &size);
    fputs(FLAT_HOST, out);
    for (unsigned i = 0; i < 16; i++) {
        fprintf(out, "%u %c parent=2", i + 3, 'a' + i);
        if (numbers)
            fprintf(out, " seq_id=%u", 100 * host_step + i + constant);
        fputs("; ", out);
    }
    fclose(out);
    out = open_memstream(device, &size);
    for (unsigned s = 0; s < n_steps; s++)
        for (unsigned i = 0; i <= 16; i++) {
            const char name[] = {(char)('a' + i), 0};
            fprintf(out, "cpu_op %s tid=7 ts=%u+5 'Ev Idx'=%u", i < 16 ? name : "mark", 1000 * s + 10 * i, 17 * s + i);
            if (numbers && i < 16)
                fprintf(out, " 'Sequence number'=%u", 100 * s + i);
            fputs("; ", out);
        }
    fclose(out);
}

static void step_is_chosen_by_numbers_and_names(void **state) {
    static struct legacy_outcome outcome;
    static const struct {
        const char *what, *annotation;
        unsigned n_steps, host_step, constant, flags;
        bool numbers;
        unsigned start; /* of the step in the output */
        bool aligned;
        unsigned n_positions;
        const char *warning;
    } cases[] = {
        {"one step", "none", 1, 0, 0, 0, true, 0, false, 0, NULL},
        {"numbers of the third step", "none", 5, 2, 0, 0, true, 2000, true, 1, NULL},
        {"the annotation's segment is another step", "mark", 5, 2, 0, 0, true, 2000, true, 1, NULL},
        {"exact match takes the annotation's segment", "mark", 5, 2, 0, EXACT, true, 0, false, 0,
         "the sequence numbers of 16 operators differ: the operators are of another step; use 'sutra link'"},
        {"the first step", "mark", 5, 0, 0, 0, true, 0, false, 0, NULL},
        {"no numbers", "none", 5, 2, 0, 0, false, 0, false, 5,
         "the host trace fits 5 positions of the device trace equally well: the first one is used"},
        {"no numbers, segments", "mark", 3, 2, 0, 0, false, 0, false, 3,
         "the host trace fits 3 positions of the device trace equally well: the first one is used"},
        {"exact match of one of several steps", "mark", 3, 2, 0, EXACT, false, 0, false, 0, NULL},
        {"numbers of a later iteration of the process", "none", 1, 0, 4000, 0, true, 0, true, 0, NULL},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        char *host, *device, start[20];
        pair_of_steps(cases[i].n_steps, cases[i].host_step, cases[i].constant, cases[i].numbers, &host, &device);
        link_pair(host, device, cases[i].annotation, cases[i].flags, &outcome);
        if (outcome.status)
            fail_msg("%s: %s", cases[i].what, outcome.error.message);
        char *line = nodes_show(outcome.text, "ts");
        snprintf(start, sizeof start, "%u; %u; %u; %u;", cases[i].start, cases[i].start, cases[i].start,
                 cases[i].start + 10);
        if (strncmp(line, start, strlen(start)) != 0)
            fail_msg("%s: %s, expected %s", cases[i].what, line, start);
        free(line);
        free(outcome.text);
        assert_int_equal(outcome.report.n_matched, 18);
        assert_int_equal(outcome.report.aligned, cases[i].aligned);
        assert_int_equal(outcome.report.n_positions, cases[i].n_positions);
        if (cases[i].warning ? !strstr(outcome.warnings.warnings, cases[i].warning) : *outcome.warnings.warnings)
            fail_msg("%s: warnings: %s", cases[i].what, outcome.warnings.warnings);
        link_pair(host, device, cases[i].annotation, cases[i].flags | CASE_STRICT, &outcome);
        assert_int_equal(outcome.status, cases[i].warning ? SUTRA_STRICT : SUTRA_OK);
        free(outcome.text);
        free(host);
        free(device);
    }
}

static void operators_below_the_depth_are_unmatched(void **state) {
    static struct legacy_outcome outcome;
    link_pair(
        FLAT_HOST "3 a parent=2; 4 in parent=3; 5 old parent=2",
        "cpu_op a tid=7 ts=10+20 'Ev Idx'=0; cpu_op in tid=7 ts=12+5 'Ev Idx'=1; cpu_op b tid=7 ts=40+20 'Ev Idx'=2",
        "none", DEPTH_3, &outcome);
    assert_int_equal(outcome.status, SUTRA_OK);
    assert_int_equal(outcome.report.n_matched, 3);
    assert_int_equal(outcome.report.edit_cost, 2); /* old and b */
    free(outcome.text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_get_times_and_their_gpu_nodes),
        cmocka_unit_test(iterations_are_cut_at_annotations),
        cmocka_unit_test(lists_that_are_shifted_or_have_gaps_are_matched),
        cmocka_unit_test(names_are_searched_within_20_nodes),
        cmocka_unit_test(older_names_of_process_and_threads_match),
        cmocka_unit_test(unlinkable_input_is_a_one_line_error),
        cmocka_unit_test(too_few_device_operators_give_a_file_without_times_and_a_warning),
        cmocka_unit_test(later_schemas_are_linked_on_their_own_fields),
        cmocka_unit_test(approximate_match_skips_unmatched_operators),
        cmocka_unit_test(too_few_matches_are_an_error_with_the_counts),
        cmocka_unit_test(step_is_chosen_by_numbers_and_names),
        cmocka_unit_test(operators_below_the_depth_are_unmatched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
