/*
 * test_call_tree.c - tests call trees and forward/backward pairs of small traces: parents, fields of nodes, and
 * rejected input.
 *
 * A tree is written by ascending start as NAME<PARENT, with - for a root; pairs as
 * FORWARD>BACKWARD.
 */
#include "trace_text.h"
#include "unit.h"

#define X(cat, name, pid, tid, ts, dur, args)                                                                          \
    "{'ph':'X','cat':'" cat "','name':'" name "','pid':" pid ",'tid':" tid ",'ts':" ts ",'dur':" dur ",'args':{" args  \
    "}}"
#define GPU(name, ts, dur, args) X("kernel", name, "0", "7", ts, dur, args)
#define LAUNCHED(id, tid, ts, gpu_ts)                                                                                  \
    "ac2g ac2g ph=s id=" id " tid=" tid " ts=" ts "; ac2g ac2g ph=f id=" id " pid=0 tid=7 ts=" gpu_ts "; "

struct tree_case {
    const char *name, *trace;
    const char *host; /* or NULL */
    bool rocm;
    const char *tree;  /* or the error */
    const char *pairs; /* or NULL */
    const char *warning;
};

static const struct tree_case cases[] = {
    {.name = "kernel_is_below_its_launch_and_operator",
     .trace = "cpu_op a ts=10.5+20; cpu_op b ts=12+5; cuda_runtime l ts=13+2 correlation=7; "
              "kernel k pid=0 tid=7 ts=40+9 correlation=7; " LAUNCHED("7", "1", "13", "40"),
     .tree = "a<- b<a l<b k<l "},
    {.name = "flow_connects_events_without_correlations",
     .trace =
         "cpu_op a ts=10.5+20; cuda_runtime l ts=13+2; kernel k pid=0 tid=7 ts=40+9; " LAUNCHED("7", "1", "13", "40"),
     .tree = "a<- l<a k<l "},
    {.name = "correlation_connects_events_without_flows",
     .trace = "cpu_op a ts=10.5+20; cuda_runtime l ts=13+2 correlation=7; cuda_runtime m ts=16+2 correlation=8; "
              "kernel k pid=0 tid=7 ts=40+9 correlation=8",
     .tree = "a<- l<a m<a k<m "},
    {.name = "external_id_connects_threads",
     .trace = "cpu_op a ts=10.5+20 'External id'=3; cuda_runtime l tid=2 ts=50+2 correlation=7 'External id'=3; "
              "kernel k pid=0 tid=7 ts=60+9 correlation=7 'External id'=3",
     .tree = "a<- l<a k<l "},
    {.name = "external_id_equal_to_the_correlation_connects_nothing",
     .trace = "cpu_op a ts=10.5+20 'External id'=7; cpu_op b tid=2 ts=50+9 'External id'=8; "
              "cuda_runtime l tid=2 ts=51+2 correlation=7 'External id'=7; "
              "kernel k pid=0 tid=7 ts=60+9 correlation=7 'External id'=7",
     .tree = "a<- b<- l<b k<l "},
    {.name = "kernel_without_a_launch_is_a_root",
     .trace = "cpu_op a ts=10.5+20; kernel k pid=0 tid=7 ts=12+9 correlation=7",
     .tree = "a<- k<- ",
     .warning = "1 GPU activity has no launch: it becomes a root"},
    {.name = "flow_ends_at_the_kernel_of_its_correlation",
     .trace = "cuda_runtime l ts=13.5+2 correlation=7; cuda_runtime m ts=16+2 correlation=8; "
              "kernel j pid=0 tid=7 ts=40+1 correlation=8; kernel k pid=0 tid=7 ts=40+9 correlation=7; " LAUNCHED(
                  "7", "1", "13.5", "40") LAUNCHED("8", "1", "16", "40"),
     .tree = "l<- m<- j<m k<l "},
    {.name = "event_that_starts_at_an_end_is_a_sibling",
     .trace = "cpu_op a ts=10+10; cpu_op b ts=20+10; cuda_runtime l ts=25+5; cuda_runtime m ts=30+0",
     .tree = "a<- b<- l<b m<b "},
    {.name = "event_that_starts_at_a_fractional_end_is_a_child",
     .trace = "cpu_op a ts=10+10; cpu_op b ts=20+10.5",
     .tree = "a<- b<a "},
    {.name = "events_that_overlap_without_nesting_end_together",
     .trace = "cpu_op a ts=10+10; cpu_op b ts=15+10; cpu_op c ts=22+1.5",
     .tree = "a<- b<a c<- "},
    {.name = "ev_idx_orders_events_of_equal_times",
     .trace = "cpu_op b ts=10.5+5 'Ev Idx'=1; cpu_op a ts=10.5+9 'Ev Idx'=0",
     .tree = "a<- b<a "},
    {.name = "operator_without_a_duration_ends_with_its_parent",
     .trace = "cpu_op a ts=10.5+5; {'ph':'X','cat':'cpu_op','name':'b','pid':1,'tid':1,'ts':12}; cpu_op c ts=13+1; "
              "cpu_op d ts=20+1",
     .tree = "a<- b<a c<b d<- "},
    {.name = "an_end_before_the_start_is_counted",
     .trace = "cpu_op a ts=10.5+-5; cpu_op b ts=11+1",
     .tree = "a<- b<- ",
     .warning = "1 event ends before it starts"},
    {.name = "event_without_a_start_is_skipped",
     .trace = "{'ph':'X','cat':'cpu_op','name':'a','pid':1,'tid':1,'dur':5}; cpu_op b ts=11+1",
     .tree = "b<- ",
     .warning = "1 event has no start"},
    {.name = "event_with_a_too_large_time_is_skipped",
     .trace = "cpu_op a ts=4611686018427387.5+2000; cpu_op b ts=11+1",
     .tree = "b<- ",
     .warning = "times beyond 2^62"},
    {.name = "threads_of_two_processes_differ",
     .trace = "cpu_op a ts=10+9.5; cpu_op b pid=2 ts=12+5",
     .tree = "a<- b<- "},
    {.name = "tids_may_be_strings",
     .trace = "cpu_op a tid=x ts=10+9.5; cpu_op b tid=x ts=12+5; cpu_op c tid=y ts=12+5",
     .tree = "a<- b<a c<- "},
    {.name = "memory_event_is_below_the_running_operator",
     .trace = "cpu_op a ts=10+9.5; cpu_instant_event '[memory]' ph=i ts=12 Addr=5 Bytes=-8",
     .tree = "a<- [memory]<a "},
    {.name = "last_start_of_a_flow_before_its_end_counts",
     .trace =
         "cuda_runtime l ts=13+2; cuda_runtime m ts=16+2; kernel j pid=0 tid=7 ts=14+1; kernel k pid=0 tid=7 ts=40+9; "
         "ac2g ac2g ph=s id=7 ts=13; ac2g ac2g ph=s id=7 ts=16; ac2g ac2g ph=f id=7 pid=0 tid=7 ts=14; "
         "ac2g ac2g ph=f id=7 pid=0 tid=7 ts=40",
     .tree = "l<- j<l m<- k<m ",
     .warning = "1 flow starts twice: using the last start before its end"},
    {.name = "last_call_of_a_correlation_before_the_kernel_counts",
     .trace = "cuda_runtime l ts=13+2 correlation=7; cuda_runtime m ts=16+2 correlation=7; "
              "kernel j pid=0 tid=7 ts=14+1 correlation=7; kernel k pid=0 tid=7 ts=40+9 correlation=7; "
              "kernel i pid=0 tid=7 ts=1+2 correlation=7",
     .tree = "i<l l<- j<l m<- k<m ",
     .warning = "1 of 3 GPU activities starts before its launch call"},
    {.name = "two_starts_without_an_end_are_counted",
     .trace = "cuda_runtime l ts=13+2; cuda_runtime m ts=16+2; ac2g ac2g ph=s id=7 ts=13; ac2g ac2g ph=s id=7 ts=16",
     .tree = "l<- m<- ",
     .warning = "1 flow starts twice"},
    {.name = "rocm_ignores_the_second_start_of_a_flow",
     .trace =
         "cuda_runtime l ts=13+2; cuda_runtime m ts=16+2; kernel k pid=0 tid=7 ts=40+9; ac2g ac2g ph=s id=7 ts=13; "
         "ac2g ac2g ph=s id=7 ts=16; ac2g ac2g ph=f id=7 pid=0 tid=7 ts=40",
     .rocm = true,
     .tree = "l<- m<- k<l ",
     .warning = "1 flow starts twice"},
    {.name = "a_flow_without_an_event_is_counted",
     .trace = "cuda_runtime l ts=13+2; ac2g ac2g ph=s id=7 ts=99",
     .tree = "l<- ",
     .warning = "1 end of a launch-to-kernel flow"},
    {.name = "events_of_other_categories_are_skipped", .trace = "Trace t ts=0+99; cpu_op a ts=10+9", .tree = "a<- "},
    {.name = "an_empty_trace_has_no_tree", .trace = "", .tree = "", .pairs = "", .warning = "none of its 0 events"},
    /* forward and backward */
    {.name = "flows_map_autograd_threads_to_tids",
     .trace = "cpu_op f tid=11 ts=10+5.5 'Sequence number'=3 'Fwd thread id'=0; cpu_op w tid=11 ts=20+50; "
              "cpu_op g tid=12 ts=30+5 'Sequence number'=3 'Fwd thread id'=1; fwdbwd fwdbwd ph=s id=1 tid=11 ts=10; "
              "fwdbwd fwdbwd ph=f id=1 tid=12 ts=30",
     .tree = "f<- w<- g<w ",
     .pairs = "f>g "},
    {.name = "sequence_numbers_and_names_map_threads_without_flows",
     .trace = "cpu_op aten::mm tid=11 ts=10+5.5 'Sequence number'=3 'Fwd thread id'=0; "
              "cpu_op aten::sum tid=13 ts=10+5 'Sequence number'=3 'Fwd thread id'=0; cpu_op w tid=11 ts=20+50; "
              "cpu_op MmBackward0 tid=12 ts=30+5 'Sequence number'=3 'Fwd thread id'=1",
     .tree = "aten::mm<- aten::sum<- w<- MmBackward0<w ",
     .pairs = "aten::mm>MmBackward0 "},
    {.name = "sequence_numbers_without_backward_names_map_no_thread",
     .trace = "cpu_op aten::sum tid=11 ts=10+5.5 'Sequence number'=3 'Fwd thread id'=0; cpu_op w tid=11 ts=20+50; "
              "cpu_op MmBackward0 tid=12 ts=30+5 'Sequence number'=3 'Fwd thread id'=1",
     .tree = "aten::sum<- w<- MmBackward0<- ",
     .pairs = "",
     .warning = "no pairs: no backward operator"},
    {.name = "host_trace_maps_threads_before_other_sources",
     .trace = "cpu_op f tid=11 ts=10+5.5 'Record function id'=5; cpu_op w tid=11 ts=20+50; "
              "cpu_op g tid=12 ts=30+5 'Record function id'=6",
     .host = "2 f rf_id=5 tid=1 fw_tid=0 seq_id=3 scope=0; 2 g rf_id=6 tid=2 fw_tid=1 seq_id=3 scope=0",
     .tree = "f<- w<- g<w ",
     .pairs = "f>g ",
     .warning = "2 of 2 nodes have no root"},
    {.name = "a_host_trace_of_another_run_is_not_used",
     .trace = "cpu_op f tid=11 ts=10+5.5 'Record function id'=5",
     .host = "2 f rf_id=9 tid=1 fw_tid=0 seq_id=3 scope=0",
     .tree = "f<- ",
     .warning = "no operator of the device trace has an rf_id of the host trace"},
    {.name = "a_thread_number_of_17_bits_is_refused",
     .trace = "cpu_op g tid=12 ts=30+5.5 'Sequence number'=3 'Fwd thread id'=65536",
     .tree = "g<- ",
     .pairs = "trace: operator 0: forward tid 65536: thread numbers of autograd range from 0 to 65535 (is this a thread"
              " id of the system?)"},
    {.name = "a_sequence_number_of_49_bits_is_counted",
     .trace = "cpu_op f tid=11 ts=10+5.5 'Sequence number'=281474976710657 'Fwd thread id'=0; "
              "cpu_op g tid=12 ts=30+5 'Sequence number'=281474976710657 'Fwd thread id'=1; "
              "fwdbwd fwdbwd ph=s id=1 tid=11 ts=10; fwdbwd fwdbwd ph=f id=1 tid=12 ts=30",
     .tree = "f<- g<- ",
     .pairs = "f>g ",
     .warning = "2 sequence numbers have more than 48 bits"},
    {.name = "invalid_sequence_numbers_are_counted",
     .trace = "cpu_op f tid=11 ts=10+5.5 'Sequence number'=x 'Fwd thread id'=1e99",
     .tree = "f<- ",
     .pairs = "",
     .warning = "2 arguments of events are not integers"},
};

static void note_warning(void *arg, const char *message) {
    char *warnings = arg;
    strncat(warnings, message, 999 - strlen(warnings));
}

static struct sutra_context *make_context(char *warnings) {
    *warnings = 0;
    return NEW_CONTEXT(.n_threads = 2, .warning = note_warning, .arg = warnings);
}

static struct sutra_host_trace *parse_host(struct sutra_context *context, const char *text) {
    struct sutra_host_trace *trace = NULL;
    struct sutra_error error;
    if (!text)
        return NULL;
    char *json = host_json(text);
    if (sutra_host_trace_parse(context, "host", json, strlen(json), &trace, &error))
        fail_msg("%s", error.message);
    free(json);
    return trace;
}

static void tell_tree(struct sutra_context *context, const struct sutra_profile *profile, char *text, size_t size) {
    struct sutra_tree *tree = NULL;
    struct sutra_tree_columns columns = {.size = sizeof columns};
    assert_int_equal(sutra_tree_build(context, profile, SUTRA_TORCH_VERSION_2, &tree, NULL), SUTRA_OK);
    sutra_tree_columns(tree, &columns);
    *text = 0;
    for (uint64_t i = 0; i < columns.n; i++) {
        uint32_t parent = columns.parent[i];
        snprintf(text + strlen(text), size - strlen(text), "%s<%s ", sutra_profile_name(profile, columns.row[i]),
                 parent == SUTRA_ROW_NONE ? "-" : sutra_profile_name(profile, columns.row[parent]));
    }
    sutra_tree_free(tree);
}

static void tell_pairs(struct sutra_context *context, const struct sutra_profile *profile, char *text, size_t size) {
    struct sutra_correlation *correlation = NULL;
    struct sutra_error error;
    char path[] = P_tmpdir "/sutra_pairs_XXXXXX", line[1000];
    *text = 0;
    if (sutra_correlation_find(context, profile, NULL, &correlation, &error)) {
        sutra_error_text(&error, text, size);
        return;
    }
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    assert_int_equal(sutra_correlation_write(context, correlation, SUTRA_CORRELATION_CSV, path, NULL, &error),
                     SUTRA_OK);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    while (fgets(line, sizeof line, file)) { /* flow id, index, name, tid, ts, index, name */
        char *fields[7] = {line};
        for (int i = 1; i < 7; i++) {
            fields[i] = strchr(fields[i - 1], ',') + 1;
            fields[i][-1] = 0;
        }
        fields[6][strcspn(fields[6], ",")] = 0;
        snprintf(text + strlen(text), size - strlen(text), "%s>%s ", fields[2], fields[6]);
    }
    fclose(file);
    close(descriptor);
    remove(path);
    sutra_correlation_free(correlation);
}

static void gives_its_tree_and_pairs(void **state) {
    const struct tree_case *of = *state;
    char warnings[1000], text[1000] = "";
    struct sutra_context *context = make_context(warnings);
    struct sutra_device_trace *trace = parse_trace(context, of->trace);
    struct sutra_host_trace *host = parse_host(context, of->host);
    struct sutra_profile *profile = NULL;
    struct sutra_error error;
    const struct sutra_profile_options options = {.size = sizeof options, .rocm = of->rocm, .inputs = true};
    if (sutra_profile_from_trace(context, trace, host, &options, &profile, &error))
        sutra_error_text(&error, text, sizeof text);
    else
        tell_tree(context, profile, text, sizeof text);
    assert_string_equal(text, of->tree);
    if (profile && of->pairs) {
        tell_pairs(context, profile, text, sizeof text);
        assert_string_equal(text, of->pairs);
    }
    if (of->warning)
        assert_non_null(strstr(warnings, of->warning));
    else
        assert_string_equal(warnings, "");
    sutra_profile_free(profile);
    sutra_host_trace_free(host);
    sutra_device_trace_free(trace);
    sutra_context_free(context);
}

/* ---- Times ---- */

static void times_add_up_over_threads_and_devices(void **state) {
    char warnings[1000];
    struct sutra_context *context = make_context(warnings);
    /* a from 10 to 30, b in it from 12 to 17 with a launch of 2, its kernel takes 9; c of another thread takes 4 */
    struct sutra_device_trace *trace = parse_trace(
        context,
        "cpu_op a ts=10+20; cpu_op b ts=12+5; cuda_runtime l ts=13+2 correlation=7; "
        "kernel k pid=0 tid=7 ts=40.5+9 correlation=7; cpu_op c tid=2 ts=20+4 'Sequence number'=3 'Fwd thread id'=1; "
        "cpu_op f ts=1+2 'Sequence number'=3 'Fwd thread id'=0; fwdbwd fwdbwd ph=s id=1 ts=1; "
        "fwdbwd fwdbwd ph=f id=1 tid=2 ts=20");
    struct sutra_profile *profile = NULL;
    struct sutra_tree *tree = NULL;
    struct sutra_tree_columns columns = {.size = sizeof columns};
    struct sutra_tree_report report = {.size = sizeof report};
    assert_int_equal(sutra_profile_from_trace(context, trace, NULL, NULL, &profile, NULL), SUTRA_OK);
    assert_int_equal(sutra_tree_build(context, profile, SUTRA_TORCH_VERSION_2, &tree, NULL), SUTRA_OK);
    sutra_tree_columns(tree, &columns);
    sutra_tree_report(tree, &report);
    /*                               f     a      b     l     c     k */
    const int64_t host[] = {2000, 20000, 5000, 2000, 4000, 0}, host_self[] = {2000, 15000, 3000, 2000, 4000, 0};
    const int64_t device[] = {0, 9000, 9000, 9000, 0, 9000}, device_self[] = {0, 0, 9000, 9000, 0, 9000};
    const uint32_t depth[] = {0, 0, 1, 2, 1, 3};
    assert_int_equal(columns.n, 6);
    assert_memory_equal(columns.host_ns, host, sizeof host);
    assert_memory_equal(columns.host_self_ns, host_self, sizeof host_self);
    assert_memory_equal(columns.device_ns, device, sizeof device);
    assert_memory_equal(columns.device_self_ns, device_self, sizeof device_self);
    assert_memory_equal(columns.depth, depth, sizeof depth);
    assert_int_equal(columns.child_begin[2] - columns.child_begin[1], 2);
    assert_int_equal(columns.children[columns.child_begin[1]], 2);
    assert_int_equal(columns.children[columns.child_begin[1] + 1], 4);
    assert_int_equal(report.n_roots, 2);
    assert_int_equal(report.n_adopted, 1);
    assert_int_equal(report.max_depth, 4);
    sutra_tree_free(tree);
    sutra_profile_free(profile);
    sutra_device_trace_free(trace);
    sutra_context_free(context);
}

static void missing_end_is_the_end_of_the_parent(void **state) {
    char warnings[1000];
    struct sutra_context *context = make_context(warnings);
    char *json = double_quotes("{'events':[{'kind':'TorchOp','start_ns':1,'end_ns':9,'tid':1},"
                               "{'kind':'TorchOp','start_ns':2,'end_ns':-9223372036854775808,'tid':1},"
                               "{'kind':'TorchOp','start_ns':3,'end_ns':null,'tid':1},"
                               "{'kind':'PyCall','start_ns':4,'tid':1},"
                               "{'kind':'TorchOp','start_ns':5,'tid':2}]}");
    struct sutra_profile *profile = NULL;
    struct sutra_tree *tree = NULL;
    struct sutra_tree_columns columns = {.size = sizeof columns};
    struct sutra_tree_report report = {.size = sizeof report};
    assert_int_equal(sutra_profile_parse(context, "events", json, strlen(json), &profile, NULL), SUTRA_OK);
    assert_int_equal(sutra_tree_build(context, profile, SUTRA_TORCH_VERSION_2, &tree, NULL), SUTRA_OK);
    sutra_tree_columns(tree, &columns);
    sutra_tree_report(tree, &report);
    const int64_t end[] = {9, 9, 9, 4, SUTRA_NO_END};
    assert_memory_equal(columns.end_ns, end, sizeof end);
    assert_int_equal(report.n_borrowed, 2);
    assert_int_equal(report.n_reversed, 1);
    assert_int_equal(report.n_endless, 1);
    assert_non_null(strstr(warnings, "1 event never ends"));
    sutra_tree_free(tree);
    sutra_profile_free(profile);
    sutra_context_free(context);
    free(json);
}

/* ---- Files of events ---- */

static void malformed_events_are_errors_with_a_reason(void **state) {
    static const struct {
        const char *text, *reason;
    } texts[] = {
        {"{}", "no array \"events\""},
        {"{'events':{}}", "no array \"events\""},
        {"{'events':[1]}", "event 0 is not an object"},
        {"{'events':[{}]}", "event 0: field kind"},
        {"{'events':[{'kind':'Torch'}]}", "event 0: field kind"},
        {"{'events':[{'kind':'TorchOp'}]}", "event 0: field start_ns is missing"},
        {"{'events':[{'kind':'TorchOp','start_ns':1.5}]}",
         "event 0: field start_ns: an integer of 64 bits was expected"},
        {"{'events':[{'kind':'TorchOp','start_ns':4611686018427387904}]}", "its times must be below 2^62"},
        {"{'events':[{'kind':'TorchOp','start_ns':1,'end_ns':'x'}]}", "event 0: field end_ns"},
        {"{'events':[{'kind':'TorchOp','start_ns':1,'name':7}]}", "event 0: field name: a string was expected"},
        {"{'events':[{'kind':'TorchOp','start_ns':1,'inputs':7}]}", "event 0: field inputs: an array was expected"},
        {"{'events':[", "expected"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char warnings[1000], *json = double_quotes(texts[i].text);
        struct sutra_context *context = make_context(warnings);
        struct sutra_profile *profile = NULL;
        struct sutra_error error;
        assert_int_equal(sutra_profile_parse(context, "events", json, strlen(json), &profile, &error), SUTRA_DATA);
        assert_non_null(strstr(error.message, texts[i].reason));
        assert_string_equal(error.file, "events");
        assert_null(profile);
        sutra_context_free(context);
        free(json);
    }
}

#define COUNT(table) (sizeof(table) / sizeof *(table))

int main(void) {
    struct CMUnitTest tests[COUNT(cases)];
    for (size_t i = 0; i < COUNT(cases); i++)
        tests[i] = (struct CMUnitTest){cases[i].name, gives_its_tree_and_pairs, NULL, NULL, (void *)&cases[i]};
    const struct CMUnitTest others[] = {
        cmocka_unit_test(times_add_up_over_threads_and_devices),
        cmocka_unit_test(missing_end_is_the_end_of_the_parent),
        cmocka_unit_test(malformed_events_are_errors_with_a_reason),
    };
    int failed = _cmocka_run_group_tests("traces", tests, COUNT(cases), NULL, NULL);
    return failed + cmocka_run_group_tests(others, NULL, NULL);
}
