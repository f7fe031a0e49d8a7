/*
 * test_link_host.c - tests linking of host traces: which nodes are host operators, new ids, the fields that nodes keep
 * and get. All other text of the file must not change.
 */
#include "link_case.h"

#define ALL_CASES(cases) check_rules(cases, sizeof(cases) / sizeof *(cases))
#define TREE             "id name ctrl_deps"
#define IDS              "id name"

/* An operator with rf_id 7, start 10 and duration 100, and its kernel k. */
#define DEVICE                                                                                                         \
    "cpu_op a ts=10+100 'External id'=1 'Record function id'=7; cudaLaunchKernel ts=40+1 correlation=5; "              \
    "kernel k stream=7 ts=60+5 correlation=5 'External id'=1"

static void nodes_are_numbered_in_the_order_of_their_ids(void **state) {
    static const struct rule_case cases[] = {
        {"unsorted nodes", "9 c rf_id=3; 1 root; 4 b rf_id=2", "", TREE, "0 root 0; 1 b 0; 2 c 0"},
        {"nodes of one id share a number and keep their order", "4 b rf_id=1; 1 root; 4 a rf_id=1; 5 c rf_id=1", "",
         TREE, "0 root 0; 1 b 0; 1 a 0; 2 c 0"},
        {"the last of them is the operator, the first gets the GPU nodes, all get the times",
         "1 root; 4 x rf_id=1; 4 y rf_id=7", DEVICE, "id name ctrl_deps ts",
         "0 root 0 -; 1 x 0 10; 1 y 0 10; 2 k 1 60"},
        {"the rf_id of an earlier one does not count", "1 root; 4 x rf_id=7; 4 y rf_id=1", DEVICE, IDS,
         "0 root; 1 x; 1 y"},
        {"unknown ids in ctrl_deps get the next numbers, in the order of the output",
         "1 root; 3 b ctrl_deps=98; 2 a ctrl_deps=99; 4 c ctrl_deps=98", "", TREE, "0 root 0; 1 a 4; 2 b 5; 3 c 5"},
        {"after those of GPU nodes", "1 root; 2 a rf_id=7; 3 b ctrl_deps=50", DEVICE, TREE,
         "0 root 0; 1 a 0; 2 k 1; 3 b 4"},
        {"also null and strings", "1 root; 2 a ctrl_deps=null; 3 b ctrl_deps='1'; 4 c ctrl_deps=null", "", TREE,
         "0 root 0; 1 a 4; 2 b 5; 3 c 4"},
        {"ids are compared as values", "1 root; 2.0 a ctrl_deps=1.0; 3 b ctrl_deps=2", "", TREE,
         "0 root 0; 1 a 0; 2 b 1"},
        {"fractions and large integers are ids too",
         "1 root; 123456789012345678901234567890 c ctrl_deps=2.5; 2.5 b; -3 a ctrl_deps=123456789012345678901234567890",
         "", TREE, "0 a 3; 1 root 1; 2 b 1; 3 c 2"},
        {"ids of all kinds are compared exactly",
         "1 root; 9007199254740993 d; 9007199254740992.0 c; 1e400 f; 100000000000000000000000 e; -1.5 a; -1 b", "",
         "id name", "0 a; 1 b; 2 root; 3 c; 4 d; 5 e; 6 f"},
    };
    ALL_CASES(cases);
}

static void only_nodes_below_the_root_are_operators(void **state) {
    static const struct rule_case cases[] = {
        {"below the root", "1 root; 2 x; 3 a ctrl_deps=2 rf_id=7", DEVICE, "name ts", "root -; x -; a 10; k 60"},
        {"below nothing", "1 root; 3 a ctrl_deps=99 rf_id=7", DEVICE, "name ts", "root -; a -"},
        {"below itself", "1 root; 3 a ctrl_deps=3 rf_id=7", DEVICE, "name ts", "root -; a -"},
        {"in a circle", "1 root; 2 b ctrl_deps=3 rf_id=7; 3 a ctrl_deps=2 rf_id=7", DEVICE, "name ts",
         "root -; b -; a -"},
        {"below a later id", "1 root; 2 a ctrl_deps=3 rf_id=7; 3 x", DEVICE, "name ts", "root -; a 10; k 60; x -"},
        {"the root's own parent does not matter", "1 root ctrl_deps=2; 2 a rf_id=7", DEVICE, "name ts",
         "root -; a 10; k 60"},
        {"the root itself is one", "1 root rf_id=7", DEVICE, TREE, "0 root 0; 1 k 0"},
    };
    ALL_CASES(cases);
}

static void schema_version_selects_the_parent_and_rf_id_fields(void **state) {
#define TREES   "id name parent ctrl_deps ts"
#define ROOT_OF "{'id':1,'name':'root','inputs':[],'outputs':[],"
#define A_OF    ",{'id':2,'name':'a','inputs':[],'outputs':[],"
#define LATER   ROOT_OF "'ctrl_deps':1,'attrs':[]}" A_OF "'ctrl_deps':1,'attrs':[{'name':'rf_id','value':7}]}"
#define FLAT    ROOT_OF "'parent':1}" A_OF "'parent':1,'rf_id':7}"
    static const struct rule_case cases[] = {
        {"1.0.2", "'schema':'1.0.2-chakra.0.0.4'; 1 root; 2 a rf_id=7", DEVICE, IDS, "0 root; 1 a; 2 k"},
        {"1.0.3", "'schema':'1.0.3-chakra.0.0.4'; 1 root; 2 a rf_id=7", DEVICE, IDS, "0 root; 1 a; 2 k"},
        {"1.1.0", "'schema':'1.1.0-chakra.0.0.4'; 1 root; 2 a rf_id=7", DEVICE, IDS, "0 root; 1 a; 2 k"},
        {"1.1.1", "'schema':'1.1.1-chakra.0.0.4'; 1 root; 2 a rf_id=7", DEVICE, IDS, "0 root; 1 a; 2 k"},
        {"1.0.1 keeps parents as they are; GPU nodes name their CPU node's old id",
         "'schema':'1.0.1'; 1 root; 2 a rf_id=7", DEVICE, TREES, "0 root 1 - -; 1 a 1 - 10; 2 k 1 1 60"},
        {"1.0.1 with ctrl_deps, which is no parent there but is renumbered",
         "'schema':'1.0.1'; 1 root; 2 a rf_id=7 ctrl_deps=55", DEVICE, TREES, "0 root 1 - -; 1 a 1 3 10; 2 k 1 1 60"},
        {"1.0.1 with a null rf_id", "'schema':'1.0.1'; 1 root; 2 a rf_id=null", DEVICE, IDS, "0 root; 1 a"},
        {"1.0.1 takes rf_ids as they are: '7' is not 7", "'schema':'1.0.1'; 1 root; 2 a rf_id='7'", DEVICE, IDS,
         "0 root; 1 a"},
        {"the schema may follow the nodes", "{'nodes':[" LATER "],'pid':1,'schema':'1.0.2-chakra.0.0.4'}", DEVICE, IDS,
         "0 root; 1 a; 2 k"},
        {"and is that of the last such key",
         "{'schema':'1.0.1','nodes':[" LATER "],'pid':1,'schema':'1.0.2-chakra.0.0.4'}", DEVICE, IDS,
         "0 root; 1 a; 2 k"},
        {"written with escapes", "{'\\u0073chema':'1.0.\\u0031','nodes':[" FLAT "],'pid':1}", DEVICE, IDS,
         "0 root; 1 a; 2 k"},
    };
    ALL_CASES(cases);
}

static void unknown_schema_is_detected_from_the_nodes(void **state) {
    static const struct {
        const char *host, *warning, *expected;
    } cases[] = {
        {"'schema':'9.9.9'; 1 root; 2 a rf_id=7", "the schema is \"9.9.9\", which is unknown: read as 1.0.2 or later",
         "0 root; 1 a; 2 k"},
        {"{'schema':'9.9.9','nodes':[" FLAT "]}", "the schema is \"9.9.9\", which is unknown: read as 1.0.1",
         "0 root; 1 a; 2 k"},
        {"{'nodes':[" LATER "]}", "the schema is missing: read as 1.0.2 or later", "0 root; 1 a; 2 k"},
        {"{'schema':7,'nodes':[" FLAT "]}", "the schema is missing: read as 1.0.1", "0 root; 1 a; 2 k"},
        {"2 a rf_id=7", "1 of 1 nodes has no root (a node with id 1) above it", "0 a; 1 k"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct outcome outcome = link_texts(cases[i].host, DEVICE, 0);
        assert_int_equal(outcome.status, SUTRA_OK);
        if (!strstr(outcome.warnings, cases[i].warning))
            fail_msg("%s: expected the warning %s, got %s", cases[i].host, cases[i].warning, outcome.warnings);
        char *line = nodes_show(outcome.text, IDS);
        assert_string_equal(line, cases[i].expected);
        free(line);
        free(outcome.text);
    }
}

/* Compares the whole text, including the order of fields. */
static void fields_keep_their_order(void **state) {
#define BEGIN "{'schema':'1.0.2-chakra.0.0.4','pid':1,'nodes':["
#define ATTRS "'attrs':[{'name':'rf_id','value':7}]"
    static const struct {
        const char *what, *host, *expected;
    } cases[] = {
        /* clang-format off */
        {"new fields are appended, in their order",
         BEGIN "{'id':1,'ctrl_deps':1,'inputs':{},'outputs':{}," ATTRS ",'x':0}]}",
         BEGIN "{'id':0,'ctrl_deps':0,'inputs':{},'outputs':{}," ATTRS ",'x':0,'inclusive_dur':100,'exclusive_dur':100,'ts':10,'inter_thread_dep':null},"
         "{'id':1,'ctrl_deps':0,'inputs':{},'outputs':{}," ATTRS ",'x':0,'inclusive_dur':5,'exclusive_dur':5,'ts':60,'inter_thread_dep':null,"
         "'cat':'kernel','name':'k','ph':'X','stream':7}]}"},
        {"fields of the node keep their positions",
         BEGIN "{'stream':1,'ts':[2],'cat':{'y':1},'name':'n'," ATTRS ",'inter_thread_dep':9,'inputs':1,'ctrl_deps':1,'exclusive_dur':8,'id':1,'ph':'q','outputs':2}]}",
         BEGIN "{'stream':1,'ts':10,'cat':{'y':1},'name':'n'," ATTRS ",'inter_thread_dep':null,'inputs':1,'ctrl_deps':0,'exclusive_dur':100,'id':0,'ph':'q','outputs':2,'inclusive_dur':100},"
         "{'stream':7,'ts':60,'cat':'kernel','name':'k'," ATTRS ",'inter_thread_dep':null,'inputs':1,'ctrl_deps':0,'exclusive_dur':5,'id':1,'ph':'X','outputs':2,'inclusive_dur':5}]}"},
        {"a repeated key keeps the first position and the last value, at every level",
         "{'z':1,'schema':'1.0.1','nodes':[{'name':'x'}],'pid':{'a':1,'b':2,'a':{'c':1,'c':2}},'z':2,'schema':'1.0.2-chakra.0.0.4',"
         "'nodes':[{'id':9,'x':1,'ctrl_deps':1,'id':1,'inputs':[{'p':1,'q':2,'p':3}],'outputs':0,"
         "'attrs':[],'attrs':[{'name':'rf_id','value':8,'name':'rf\\u005fid','value':7}],'x':2}]}",
         "{'z':2,'schema':'1.0.2-chakra.0.0.4','nodes':[{'id':0,'x':2,'ctrl_deps':0,'inputs':[{'p':3,'q':2}],'outputs':0,"
         ATTRS ",'inclusive_dur':100,'exclusive_dur':100,'ts':10,'inter_thread_dep':null},"
         "{'id':1,'x':2,'ctrl_deps':0,'inputs':[{'p':3,'q':2}],'outputs':0," ATTRS ",'inclusive_dur':5,'exclusive_dur':5,'ts':60,'inter_thread_dep':null,"
         "'cat':'kernel','name':'k','ph':'X','stream':7}],'pid':{'a':{'c':2},'b':2}}"},
        {"the rest of the file does not change, except for Python's format",
         " {'a' : [ ] , '' : [1E5,-0,-0.0,1e400,-1e400,NaN,Infinity,1e16,1e-5,0.1,100000000000000000000] ,"
         "'nodes' : [ ] ,'s':'\\/\\u0041\x7f\\u00e9\xc3\xa9\\ud83d\\ude00\\udc00\\b\\f\\n\\r\\t\\\\\\'',"
         "'o':{ },'schema':'1.0.2-chakra.0.0.4','n':null,'t':true,'f':false} \n",
         "{'a':[],'':[100000.0,0,-0.0,Infinity,-Infinity,NaN,Infinity,1e+16,1e-05,0.1,100000000000000000000],"
         "'nodes':[],'s':'/A\\u007f\\u00e9\\u00e9\\ud83d\\ude00\\udc00\\b\\f\\n\\r\\t\\\\\\'',"
         "'o':{},'schema':'1.0.2-chakra.0.0.4','n':null,'t':true,'f':false}"},
        /* clang-format on */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct outcome outcome = link_texts(cases[i].host, DEVICE, 0);
        if (outcome.status)
            fail_msg("%s: %s", cases[i].what, outcome.error.message);
        char *expected = double_quotes(cases[i].expected);
        if (strcmp(outcome.text, expected))
            fail_msg("%s:\n  %s, expected\n  %s", cases[i].what, outcome.text, expected);
        free(expected);
        free(outcome.text);
    }
}

static void repeated_keys_of_events_count_by_the_last(void **state) {
#define HOST "1 root; 2 a rf_id=7"
    static const struct rule_case cases[] = {
        {"fields", HOST,
         "{'ts':1,'cat':'x','name':'y','ts':12,'cat':'cpu_op','dur':3,'dur':4,"
         "'args':{'Record function id':1,'Record function id':7}}",
         "name ts inclusive_dur", "root - -; a 12 4"},
        {"args as a whole", HOST, "{'ts':1,'cat':'cpu_op','name':'y','args':{'Record function id':7},'args':{}}",
         "name ts", "root -; a -"},
        {"keys that need decoding", HOST,
         "{'t\\u0073':9,'cat':'cpu\\u005fop','name':'y','args':{'Record function \\u0069d':7}}", "name ts",
         "root -; a 9"},
        {"the list of events", HOST,
         "{'traceEvents':[{'cat':'cpu_op','name':'a','ts':20,'dur':1,'args':{'Record function id':7}}],'x':0,"
         "'traceEvents':[{'cat':'cpu_op','name':'a','ts':10,'dur':1,'args':{'Record function id':7}}]}",
         "name ts", "root -; a 10"},
        {"args inside of other fields are others", HOST,
         "{'ts':1,'cat':'cpu_op','name':'y','x':{'args':{'Record function id':7}}}", "name ts", "root -; a -"},
    };
    ALL_CASES(cases);
}

static void empty_traces_link(void **state) {
    struct outcome outcome = link_texts("", "", 0);
    assert_int_equal(outcome.status, SUTRA_OK);
    assert_string_equal(outcome.text, "{\"schema\":\"1.1.1-chakra.0.0.4\",\"pid\":1,\"nodes\":[]}");
    assert_int_equal(outcome.report.n_nodes, 0);
    assert_int_equal(outcome.report.n_events, 0);
    free(outcome.text);
}

#define CHAIN 1000000

/* Parents: each node is below the previous one, or below the next one, which ends at the root or closes a cycle. */
enum chain { DOWN, UP, CYCLE };

static struct sutra_link_report link_chain(enum chain chain) {
    char *host = NULL, *device = trace_json(DEVICE);
    size_t n = 0;
    FILE *file = open_memstream(&host, &n);
    assert_non_null(file);
    fputs("{\"schema\":\"1.0.1\",\"nodes\":[{\"id\":1,\"parent\":1}", file);
    for (int i = 2; i <= CHAIN; i++) {
        const int parent = chain == DOWN ? i - 1 : i < CHAIN ? i + 1 : chain == UP ? 1 : 2;
        const bool is_a = chain == CYCLE || i == (chain == DOWN ? CHAIN : 2);
        fprintf(file, ",{\"id\":%d,\"parent\":%d,\"rf_id\":%d}", i, parent, is_a ? 7 : 8);
    }
    fputs("]}", file);
    fclose(file);
    struct outcome outcome = link_bytes(host, n, device, strlen(device), 0);
    assert_int_equal(outcome.status, SUTRA_OK);
    free(outcome.text);
    free(device);
    free(host);
    return outcome.report;
}

static void chains_of_a_million_parents_are_followed(void **state) {
    for (enum chain chain = DOWN; chain <= UP; chain++) {
        const struct sutra_link_report report = link_chain(chain);
        assert_int_equal(report.n_host_ops, CHAIN);
        assert_int_equal(report.n_host_linked, 1);
        assert_int_equal(report.n_gpu_nodes, 1);
    }
}

static void cycles_of_a_million_parents_are_not_linked(void **state) {
    const struct sutra_link_report report = link_chain(CYCLE);
    assert_int_equal(report.n_host_ops, 1);
    assert_int_equal(report.n_host_linked, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_numbered_in_the_order_of_their_ids),
        cmocka_unit_test(only_nodes_below_the_root_are_operators),
        cmocka_unit_test(schema_version_selects_the_parent_and_rf_id_fields),
        cmocka_unit_test(unknown_schema_is_detected_from_the_nodes),
        cmocka_unit_test(fields_keep_their_order),
        cmocka_unit_test(repeated_keys_of_events_count_by_the_last),
        cmocka_unit_test(empty_traces_link),
        cmocka_unit_test(chains_of_a_million_parents_are_followed),
        cmocka_unit_test(cycles_of_a_million_parents_are_not_linked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
