/*
 * test_link_errors.c - tests errors of malformed traces with their positions, and lenient reading, which repairs and
 * counts.
 *
 * Texts contain ' for " and ^ for a zero byte. @ marks the position that the error must report; it is removed before
 * reading. A text without @ has an error without a position.
 */
#include "link_case.h"

#define GOOD_HOST "1 root; 2 a rf_id=7"
#define GOOD_DEVICE                                                                                                    \
    "cpu_op a ts=10+100 'External id'=1 'Record function id'=7; cudaLaunchKernel ts=40+1 correlation=5; "              \
    "kernel k stream=7 ts=60+5 correlation=5 'External id'=1"
#define N_OF(table) (sizeof(table) / sizeof *(table))

/* A text with the mark taken out. */
struct marked {
    char *text;
    size_t size;
    uint64_t offset, line; /* of the mark; SUTRA_NO_OFFSET and 0 without one */
};

static struct marked marked_text(const char *source) {
    struct marked marked = {.text = double_quotes(source), .offset = SUTRA_NO_OFFSET};
    char *mark = strchr(marked.text, '@');
    if (mark) {
        marked.offset = (uint64_t)(mark - marked.text);
        memmove(mark, mark + 1, strlen(mark));
        marked.line = 1;
        for (const char *at = marked.text; at < mark; at++)
            marked.line += *at == '\n';
    }
    marked.size = strlen(marked.text);
    for (char *at = marked.text; (at = strchr(at, '^'));)
        *at++ = 0;
    return marked;
}

struct error_case {
    const char *text, *message;
};

static void check_error(const char *source, const struct marked *marked, const struct outcome *outcome,
                        const char *file, const char *message) {
    if (outcome->status != SUTRA_DATA)
        fail_msg("%s: status %d", source, outcome->status);
    if (!strstr(outcome->error.message, message) || strchr(outcome->error.message, '\n'))
        fail_msg("%s: %s, expected %s", source, outcome->error.message, message);
    if (outcome->error.offset != marked->offset || outcome->error.line != marked->line)
        fail_msg("%s: byte %lld, line %lld, expected byte %lld, line %lld (%s)", source,
                 (long long)outcome->error.offset, (long long)outcome->error.line, (long long)marked->offset,
                 (long long)marked->line, outcome->error.message);
    assert_string_equal(outcome->error.file, file);
    assert_int_equal(outcome->error.status, SUTRA_DATA);
    assert_null(outcome->text);
}

static void check_host_errors(const struct error_case *cases, size_t n) {
    char *device = trace_json(GOOD_DEVICE);
    for (size_t i = 0; i < n; i++) {
        struct marked marked = marked_text(cases[i].text);
        struct outcome outcome = link_bytes(marked.text, marked.size, device, strlen(device), 0);
        check_error(cases[i].text, &marked, &outcome, "host", cases[i].message);
        free(marked.text);
    }
    free(device);
}

static void malformed_json_is_an_error_with_a_byte_offset(void **state) {
    static const struct error_case cases[] = {
        {"", "is empty"},
        {" @", "found only white space"},
        {" \n\t@", "found only white space"},
        {"\n\r\n@x", "expected a JSON trace, found text"},
        {"@'nodes'", "expected a JSON trace, found text"},
        {"@^", "expected a JSON trace, found binary data"},
        {"\n @[1, 2]", "found an array"},
        {"@\xef\xbb\xbf{'nodes':[]}", "byte order mark"},
        {"{@", "the file is truncated here"},
        {"{'nodes'@", "the file is truncated here"},
        {"{'nodes':@", "the file is truncated here"},
        {"{'nodes':[@", "the file is truncated here"},
        {"{'nodes':[]@", "the file is truncated here"},
        {"{'nodes':[],@", "the file is truncated here"},
        {"{'nodes':[{'id':1}@", "the file is truncated here"},
        {"{'nodes':[{'id':1@", "the file is truncated here"},
        {"{'nodes':[{'id':1,@", "the file is truncated here"},
        {"{'nodes':[{'id':1},@", "the file is truncated here"},
        {"{'nodes':[{@'id", "this string is not closed"},
        {"{'nodes':[{'id':1}]\n,'x': 'abc\\'@\n", "control character"},
        {"{'nodes':[]}\n@{}", "text after the end"},
        {"{'nodes':[]}@^", "text after the end"},
        {"{'nodes':[]}\n\n\n@]", "text after the end"},
        {"{'a':1,@}", "a key in double quotes"},
        {"{@,}", "a key in double quotes"},
        {"{@1:2}", "a key in double quotes"},
        {"{'a':{@null:2}}", "a key in double quotes"},
        {"{'a' @1}", "':' after a key"},
        {"{'a'@}", "':' after a key"},
        {"{'a'@,1}", "':' after a key"},
        {"{'a':@}", "a JSON value"},
        {"{'a':@:1}", "a JSON value"},
        {"{'a':1 @'b':2}", "',' or '}'"},
        {"{'a':1 @1}", "',' or '}'"},
        {"{'a':1@:2}", "',' or '}'"},
        {"{'a':1@]", "',' or '}'"},
        {"{'a':[1@}}", "',' or ']'"},
        {"{'a':[1 @2]}", "',' or ']'"},
        {"{'a':[@,1]}", "a JSON value"},
        {"{\n'a':[1,\n@]}", "a JSON value"},
        {"{'a':[1,@,2]}", "a JSON value"},
        {"{'a':@01}", "a JSON value"},
        {"{'a':@-}", "a JSON value"},
        {"{'a':@-01}", "a JSON value"},
        {"{'a':@+1}", "a JSON value"},
        {"{'a':@.5}", "a JSON value"},
        {"{'a':@1.}", "a JSON value"},
        {"{'a':@1.e5}", "a JSON value"},
        {"{'a':@1e}", "a JSON value"},
        {"{'a':@1e+}", "a JSON value"},
        {"{'a':@1.5.5}", "a JSON value"},
        {"{'a':@0x10}", "a JSON value"},
        {"{'a':@1_0}", "a JSON value"},
        {"{'a':@-NaN}", "a JSON value"},
        {"{'a':@nan}", "a JSON value"},
        {"{'a':@Infinityy}", "a JSON value"},
        {"{'a':@nul}", "a JSON value"},
        {"{'a':@nulll}", "a JSON value"},
        {"{'a':@True}", "a JSON value"},
        {"{'a':@1^}", "a JSON value"},
        {"{'a':@^}", "a JSON value"},
        {"{'a':[1,2,3 ,@/* */ 4]}", "a JSON value"},
        {"{'a':'x@\ty'}", "control character 0x09"},
        {"{'a':'x@\ny'}", "control character 0x0a"},
        {"{'a':'x@^y'}", "control character 0x00"},
        {"{'a@\x1f':1}", "control character 0x1f"},
        {"{'a':'x\\@qy'}", "bad escape"},
        {"{'a':'x\\@U0041'}", "bad escape"},
        {"{'\\@x41':1}", "bad escape"},
        {"{'a':'@\x80'}", "byte 0x80 is not valid UTF-8"},
        {"{'a':'x@\xc3'}", "byte 0xc3 is not valid UTF-8"},
        {"{'a':'@\xc0\x80'}", "byte 0xc0 is not valid UTF-8"},
        {"{'a':'@\xed\xa0\x80'}", "byte 0xed is not valid UTF-8"},
        {"{'a':'@\xf4\x90\x80\x80'}", "byte 0xf4 is not valid UTF-8"},
        {"{'a':'\xc3\xa9\xf0\x9f\x98\x80@\xff'}", "byte 0xff is not valid UTF-8"},
        {"{'a':@\xff}", "byte 0xff is not valid UTF-8"},
    };
    check_host_errors(cases, N_OF(cases));
}

static void other_files_are_reported_as_no_host_trace(void **state) {
    static const struct error_case cases[] = {
        {"{}", "this is not a host trace: it has no \"nodes\""},
        {"{'Nodes':[],'a':{'nodes':[]}}", "this is not a host trace: it has no \"nodes\""},
        {"{'traceEvents':[]}", "expected a host trace, found a device trace (it has \"traceEvents\")"},
        {"{'nodes':@{}}", "\"nodes\" is not an array"},
        {"{'nodes':[],\n'nodes':@7}", "\"nodes\" is not an array"},
        {"{'nodes':[{'id':1},\n@5]}", "an object (a node)"},
        {"{'nodes':[{'id':1},\n@{'a':1}]}", "node 1: field 'id': a number in every node was expected"},
        {"{'nodes':[{'id':@'1'}]}", "node 0: field 'id'"},
        {"{'nodes':[{'id':@null}]}", "node 0: field 'id'"},
        {"{'nodes':[{'id':1},{'id':2,'id':@[2]}]}", "node 1: field 'id'"},
        {"{'nodes':[{'id':1},{'id':2,'attrs':[],'ctrl_deps':@[1]}]}",
         "node 1: field 'ctrl_deps': a number was expected"},
        {"{'schema':'1.0.1','nodes':[{'id':1,'parent':@{}}]}", "node 0: field 'parent'"},
        {"{'schema':'1.0.1','nodes':[{'id':1,'rf_id':@[]}]}", "node 0: field 'rf_id'"},
        {"{'nodes':[{'id':1,'attrs':[{'name':'rf_id','value':@'x'}]}]}",
         "node 0: field 'attrs': value of rf_id: an integer"},
        {"{'nodes':[{'id':1,'attrs':[{'name':'rf_id','value':@null}]}]}", "node 0: field 'attrs'"},
        {"{'nodes':[{'id':1,'attrs':[{'name':'rf_id','value':@Infinity}]}]}", "node 0: field 'attrs'"},
    };
    check_host_errors(cases, N_OF(cases));
}

static void other_files_are_reported_as_no_device_trace(void **state) {
    static const struct error_case cases[] = {
        {"", "is empty"},
        {"{}", "this is not a device trace: it has no \"traceEvents\""},
        {"{'nodes':[]}", "expected a device trace, found a host trace (it has \"nodes\")"},
        {"{'traceEvents':@null}", "\"traceEvents\" is not an array"},
        {"{'traceEvents':[{}@", "the file is truncated here"},
        {"{'traceEvents':[{'args':{'a':1,@}}]}", "a key in double quotes"},
        {"{'traceEvents':[{'args':{'External id'@}}]}", "':' after a key"},
        {"{'traceEvents':[{'ts':@1x}]}", "a JSON value"},
    };
    const size_t n_texts = 4; /* the last ones are no JSON, which lenient links repair */
    char *host = host_json(GOOD_HOST);
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct marked marked = marked_text(cases[i].text);
        for (unsigned flags = 0; flags <= (i + n_texts < N_OF(cases) ? CASE_LENIENT : 0); flags += CASE_LENIENT) {
            struct outcome outcome = link_bytes(host, strlen(host), marked.text, marked.size, flags);
            check_error(cases[i].text, &marked, &outcome, "device", cases[i].message);
        }
        free(marked.text);
    }
    free(host);
}

/* Each is an error with its place; a lenient link takes the field as absent, counts it and says so. */
static void fields_of_a_wrong_type_are_errors_or_absent(void **state) {
#define FIRST "{'traceEvents':[{'ts':0},\n"
    static const struct error_case cases[] = {
        {FIRST "@null]}", "event 1 is not an object"},
        {FIRST "@'x']}", "event 1 is not an object"},
        {FIRST "@[{'ts':1}]]}", "event 1 is not an object"},
        {FIRST "{'ts':@null}]}", "event 1: field ts: a number"},
        {FIRST "{'ts':@'12x'}]}", "event 1: field ts: a number"},
        {FIRST "{'ts':@'NaN'}]}", "event 1: field ts: a number"},
        {FIRST "{'ts':@' 12'}]}", "event 1: field ts: a number"},
        {FIRST "{'dur':@''}]}", "event 1: field dur: a number"},
        {FIRST "{'ts':@[1]}]}", "event 1: field ts: a number"},
        {FIRST "{'ts':@NaN}]}", "event 1: field ts: NaN is not a time"},
        {FIRST "{'ts':1,'dur':@NaN}]}", "event 1: field dur: NaN is not a time"},
        {FIRST "{'ts':@4611686018427387905}]}", "event 1: field ts: a number"},
        {FIRST "{'ts':@-99999999999999999999}]}", "event 1: field ts: a number"},
        {FIRST "{'ts':1,\n'dur':@'x'}]}", "event 1: field dur: a number"},
        {FIRST "{'dur':@null}]}", "event 1: field dur: a number"},
        {FIRST "{'tid':@[1]}]}", "event 1: field tid: a number or a string"},
        {FIRST "{'tid':@{}}]}", "event 1: field tid: a number or a string"},
        {FIRST "{'args':@null}]}", "event 1: field args: an object"},
        {FIRST "{'args':@[1]}]}", "event 1: field args: an object"},
        {FIRST "{'args':{'External id':@null}}]}", "event 1: field args[\"External id\"]: an integer"},
        {FIRST "{'args':{'External id':@'abc'}}]}", "event 1: field args[\"External id\"]"},
        {FIRST "{'args':{'External id':@''}}]}", "event 1: field args[\"External id\"]"},
        {FIRST "{'args':{'External id':@'1.5'}}]}", "event 1: field args[\"External id\"]"},
        {FIRST "{'args':{'External id':@-Infinity}}]}", "event 1: field args[\"External id\"]"},
        {FIRST "{'args':{'External id':@[]}}]}", "event 1: field args[\"External id\"]"},
        {FIRST "{'args':{'Ev Idx':@null}}]}", "event 1: field args[\"Ev Idx\"]: an integer"},
        {FIRST "@{'cat':'cpu_op','name':null}]}", "event 1: field name: a string"},
        {FIRST "@{'cat':'cpu_op','args':{'Record function id':[7]}}]}", "event 1: field args[\"Record function id\"]"},
        {FIRST "@{'cat':'kernel','args':{'correlation':[7]}}]}", "event 1: field args[\"correlation\"]"},
        {FIRST "@{'cat':'cuda_driver','name':'cuLaunchKernel','args':{'correlation':{}}}]}",
         "event 1: field args[\"correlation\"]"},
        {FIRST "@{'cat':'ac2g','id':3}]}", "event 1: field ph: \"s\" or \"f\" on a flow event (ac2g)"},
        {FIRST "@{'cat':'ac2g','id':3,'ph':'t'}]}", "event 1: field ph"},
        {FIRST "@{'cat':'ac2g','ph':'s'}]}", "event 1: field id: an id on a flow event (ac2g)"},
        {FIRST "@{'cat':'ac2g','ph':'f','id':null}]}", "event 1: field id"},
    };
    char *host = host_json(GOOD_HOST);
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct marked marked = marked_text(cases[i].text);
        struct outcome outcome = link_bytes(host, strlen(host), marked.text, marked.size, 0);
        check_error(cases[i].text, &marked, &outcome, "device", cases[i].message);
        outcome = link_bytes(host, strlen(host), marked.text, marked.size, CASE_LENIENT);
        if (outcome.status || outcome.report.n_fields_dropped != 1)
            fail_msg("%s, lenient: status %d, %d fields dropped", cases[i].text, outcome.status,
                     (int)outcome.report.n_fields_dropped);
        assert_non_null(strstr(outcome.warnings, "1 field of the wrong type was ignored"));
        free(outcome.text);
        free(marked.text);
    }
    free(host);
}

static void lenient_link_uses_the_valid_events(void **state) {
    struct outcome outcome = link_texts(
        "1 root; {'id':2,'name':'a','ctrl_deps':1,'inputs':[],'outputs':[],'attrs':[5,{'name':'rf_id','value':7}]}; "
        "3 b rf_id=x; 4 c ctrl_deps=[1] rf_id=7",
        "{'traceEvents':[7,"
        "{'cat':'cpu_op','name':'a','tid':1,'ts':null,'dur':100,'args':{'External id':'?','Record function id':7}},"
        "{'cat':'cuda_runtime','name':'cudaLaunchKernel','tid':1,'ts':40,'dur':1,'args':{'correlation':5}},"
        "{'cat':'kernel','name':'k','tid':7,'ts':60,'dur':5,'args':{'correlation':5,'External id':-1,'stream':7}}]}",
        CASE_LENIENT);
    assert_int_equal(outcome.status, SUTRA_OK);
    assert_int_equal(outcome.report.n_fields_dropped, 5);
    char *line = nodes_show(outcome.text, "id name ctrl_deps ts");
    assert_string_equal(line, "0 root 0 -; 1 a 0 0; 2 k 1 60; 3 b 0 -; 4 c [1] -");
    free(line);
    free(outcome.text);
}

static void unused_fields_may_have_any_value(void **state) {
    static const struct rule_case cases[] = {
        {"categories, names of other events, ids and phases", GOOD_HOST,
         "{'cat':null,'name':7,'ph':[],'id':{},'pid':[]}; {'cat':['kernel'],'name':'k'}; {}; "
         "cpu_op a ts=10+9 'External id'=1 'Record function id'=7",
         "name ts", "root -; a 10"},
        {"inputs, outputs and attributes of nodes",
         "{'schema':'1.1.1-chakra.0.0.4','nodes':[{'id':1,'name':null,'attrs':{}},"
         "{'id':2,'ctrl_deps':1,'attrs':[1,{'name':['rf_id'],'value':[]},{'value':7},{'name':'rf_id','value':7},"
         "{'name':'rf_id'}],'inputs':{'values':7,'shapes':null}}]}",
         GOOD_DEVICE, "id name ts", "0 null -; 1 - 10; 2 k 60"},
        {"a correlation of null", GOOD_HOST,
         "cpu_op a ts=10+9 'External id'=1 'Record function id'=7; cudaLaunchKernel ts=40+1 correlation=null; "
         "kernel k stream=7 ts=60+5 correlation=null 'External id'=1",
         "name ts", "root -; a 10; k 60"},
    };
    check_rules(cases, N_OF(cases));
}

/* Built of n pieces. */
static struct outcome link_repeated(const char *before, const char *piece, size_t n, const char *after) {
    char *host = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&host, &size);
    assert_non_null(file);
    fputs(before, file);
    for (size_t i = 0; i < n; i++)
        fputs(piece, file);
    fputs(after, file);
    fclose(file);
    char *device = trace_json(GOOD_DEVICE);
    struct outcome outcome = link_bytes(host, size, device, strlen(device), 0);
    free(device);
    free(host);
    return outcome;
}

static void limits_are_errors_and_not_crashes(void **state) {
    struct outcome outcome = link_repeated("{\"nodes\":[],\"a\":", "9", 4300, "}");
    assert_int_equal(outcome.status, SUTRA_OK);
    free(outcome.text);
    outcome = link_repeated("{\"nodes\":[],\"a\":-", "9", 4301, "}");
    assert_int_equal(outcome.status, SUTRA_DATA);
    assert_non_null(strstr(outcome.error.message, "at most 4300 digits"));
    assert_int_equal(outcome.error.offset, 16);
    outcome = link_repeated("{\"nodes\":[],\"a\":", "[", 1000000, "}");
    assert_int_equal(outcome.status, SUTRA_DATA);
    assert_non_null(strstr(outcome.error.message, "nesting of at most"));
    outcome = link_repeated("{\"nodes\":[", "[", 1000000, "}");
    assert_int_equal(outcome.status, SUTRA_DATA);
    outcome = link_repeated("{\"nodes\":[", "{\"a\":", 1000000, "}");
    assert_int_equal(outcome.status, SUTRA_DATA);
    outcome = link_repeated("{\"nodes\":[]", "}", 1000000, "");
    assert_int_equal(outcome.status, SUTRA_DATA);
}

static void every_count_of_the_report_is_right(void **state) {
    /* Host: root and e without rf_id, a, b, d unknown to the device trace, x not below the root. Device: k1 and k2
     * linked under a, k3 without a launch, k4 on a thread without operators, k5 below c, which no node stands for. */
    struct outcome outcome =
        link_texts("1 root; 2 a rf_id=7; 3 b rf_id=8; 4 d rf_id=99; 5 e; 6 x ctrl_deps=77 rf_id=7",
                   "cpu_op a ts=10+100 'External id'=1 'Record function id'=7; "
                   "cpu_op b tid=2 ts=20+-5 'External id'=2 'Record function id'=8; "
                   "cpu_op c ts=50+10 'External id'=3 'Record function id'=9; cudaLaunchKernel ts=55+1 correlation=1; "
                   "cudaLaunchKernel tid=5 ts=56+1 correlation=2; cudaLaunchKernel ts=57+1 correlation=3; "
                   "kernel k1 stream=7 ts=60+5 correlation=1 'External id'=1; "
                   "kernel k2 stream=7 ts=61+5 correlation=1 'External id'=1; "
                   "kernel k3 stream=7 ts=62+5 correlation=9 'External id'=1; "
                   "kernel k4 stream=7 ts=63+5 correlation=2 'External id'=1; "
                   "kernel k5 stream=7 ts=64+5 correlation=3 'External id'=3; {}",
                   0);
    assert_int_equal(outcome.status, SUTRA_OK);
    const struct sutra_link_report expected = {
        .size = sizeof expected,
        .n_host_nodes = 6,
        .n_host_ops = 5,
        .n_host_linked = 2,
        .n_host_without_rf = 2,
        .n_host_rf_unmatched = 1,
        .n_events = 12,
        .n_cpu_ops = 3,
        .n_gpu_ops = 5,
        .n_gpu_with_parent = 3,
        .n_gpu_without_launch = 1,
        .n_gpu_without_parent = 1,
        .n_gpu_host_unmatched = 1,
        .n_gpu_nodes = 2,
        .n_nodes = 8,
        .n_inter_thread = 1,
        .n_exclusive_replaced = 1,
    };
    const uint64_t *got = (const uint64_t *)&outcome.report, *wanted = (const uint64_t *)&expected;
    for (size_t i = 0; i < sizeof expected / sizeof *got; i++)
        if (got[i] != wanted[i])
            fail_msg("count %d of the report is %d, not %d", (int)i, (int)got[i], (int)wanted[i]);
    assert_non_null(strstr(outcome.warnings, "exclusive durations below 0 (the first is event 1): 1;"));
    free(outcome.text);
}

static void negative_durations_are_repaired_or_fail_a_strict_link(void **state) {
#define A "cpu_op a 'External id'=1 'Record function id'=7 "
    static const struct {
        const char *events, *exclusive;
        uint64_t n_rounded, n_replaced;
    } cases[] = {
        {A "ts=10+-5", "root -; a 0", 0, 1},
        {A "ts=10+-0.5", "root -; a 0.0", 0, 1},
        {A "ts=0.3+0.1; cpu_op c ts=0.3+0.1", "root -; a 0.0", 1, 0},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct outcome outcome = link_texts(GOOD_HOST, cases[i].events, 0);
        assert_int_equal(outcome.status, SUTRA_OK);
        char *line = nodes_show(outcome.text, "name exclusive_dur");
        assert_string_equal(line, cases[i].exclusive);
        assert_int_equal(outcome.report.n_exclusive_rounded, cases[i].n_rounded);
        assert_int_equal(outcome.report.n_exclusive_replaced, cases[i].n_replaced);
        assert_non_null(
            strstr(outcome.warnings, cases[i].n_rounded ? "below 0 by rounding" : "below 0 (the first is event 0)"));
        free(line);
        free(outcome.text);
        outcome = link_texts(GOOD_HOST, cases[i].events, CASE_STRICT);
        assert_int_equal(outcome.status, cases[i].n_replaced ? SUTRA_STRICT : SUTRA_OK);
        if (outcome.status)
            assert_non_null(strstr(outcome.error.message, "event 0: its exclusive duration is below 0"));
        free(outcome.text);
    }
}

static void traces_without_anything_in_common_give_the_host_trace_alone(void **state) {
    struct outcome outcome = link_texts(GOOD_HOST, "cpu_op a ts=10+100 'External id'=1 'Record function id'=8", 0);
    assert_int_equal(outcome.status, SUTRA_OK);
    assert_int_equal(outcome.report.n_host_linked, 0);
    assert_int_equal(outcome.report.n_host_without_rf, 1);
    assert_int_equal(outcome.report.n_host_rf_unmatched, 1);
    char *line = nodes_show(outcome.text, "id name ts");
    assert_string_equal(line, "0 root -; 1 a -");
    free(line);
    free(outcome.text);
}

static void strict_link_of_a_valid_pair_prints_no_warning(void **state) {
    struct outcome outcome = link_texts(GOOD_HOST, GOOD_DEVICE, CASE_STRICT);
    assert_int_equal(outcome.status, SUTRA_OK);
    assert_string_equal(outcome.warnings, "");
    free(outcome.text);
}

static void times_of_a_host_trace_may_be_no_numbers(void **state) {
    struct outcome outcome = link_texts(
        "{'schema':'1.1.1-chakra.0.0.4','pid':1,'time':NaN,'start_ts':NaN,'nodes':["
        "{'id':1,'name':'root','ctrl_deps':1,'inputs':[],'outputs':[],'attrs':[]},"
        "{'id':2,'name':'a','ctrl_deps':1,'inputs':[],'outputs':[],'attrs':[{'name':'rf_id','value':7}]}],'finish_ts':NaN}",
        GOOD_DEVICE, CASE_STRICT);
    assert_int_equal(outcome.status, SUTRA_OK);
    assert_int_equal(outcome.report.n_host_linked, 1);
    free(outcome.text);
}

/* Two operators launch with correlation 5; the kernel at 60 began before the second launch, the one at 200 after it. */
static void last_launch_of_a_correlation_before_the_kernel_counts(void **state) {
    static const char device[] =
        "cpu_op a ts=10+100 'External id'=1 'Record function id'=7; cudaLaunchKernel ts=40+1 correlation=5; "
        "cpu_op b ts=120+50 'External id'=2 'Record function id'=8; cudaLaunchKernel ts=130+1 correlation=5.0; "
        "kernel k stream=7 ts=60+5 correlation=5 'External id'=1; "
        "kernel j stream=7 ts=200+5 correlation=5 'External id'=2";
    static const char host[] = "1 root; 2 a rf_id=7; 3 b rf_id=8";
    struct outcome outcome = link_texts(host, device, 0);
    assert_int_equal(outcome.status, SUTRA_OK);
    char *line = nodes_show(outcome.text, "id name ctrl_deps ts");
    assert_string_equal(line, "0 root 0 -; 1 a 0 10; 2 k 1 60; 3 b 0 120; 4 j 3 200");
    assert_non_null(strstr(outcome.warnings, "event 3: duplicate launch with correlation 5"));
    free(line);
    free(outcome.text);
    outcome = link_texts(host, device, CASE_STRICT);
    assert_int_equal(outcome.status, SUTRA_STRICT);
    assert_non_null(strstr(outcome.error.message, "event 3: duplicate launch with correlation 5"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed_json_is_an_error_with_a_byte_offset),
        cmocka_unit_test(other_files_are_reported_as_no_host_trace),
        cmocka_unit_test(other_files_are_reported_as_no_device_trace),
        cmocka_unit_test(fields_of_a_wrong_type_are_errors_or_absent),
        cmocka_unit_test(lenient_link_uses_the_valid_events),
        cmocka_unit_test(unused_fields_may_have_any_value),
        cmocka_unit_test(limits_are_errors_and_not_crashes),
        cmocka_unit_test(every_count_of_the_report_is_right),
        cmocka_unit_test(negative_durations_are_repaired_or_fail_a_strict_link),
        cmocka_unit_test(traces_without_anything_in_common_give_the_host_trace_alone),
        cmocka_unit_test(strict_link_of_a_valid_pair_prints_no_warning),
        cmocka_unit_test(times_of_a_host_trace_may_be_no_numbers),
        cmocka_unit_test(last_launch_of_a_correlation_before_the_kernel_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
