/*
 * test_validity_host.c - defects of host traces: nodes that are not below the root, and duplicate ids.
 */
#include <math.h>

#include "facts/validity.h"
#include "sutra/sutra.h"
#include "unit.h"

/* Nodes of both forms; `tid` is the thread. */
#define NEW(id, parent, name, tid)                                                                                     \
    "{'id':" id ",'name':'" name "','ctrl_deps':" parent ",'attrs':[{'name':'tid','type':'uint64','value':" tid "}]}"
#define OLD(id, parent, name, tid) "{'id':" id ",'name':'" name "','parent':" parent ",'tid':" tid ",'rf_id':1}"
#define ROOT                       NEW("1", "1", "process", "1")
#define TRACE(nodes)               "{'schema':'1.1.1-chakra.0.0.4','nodes':[" nodes "]}"

static void keep_warning(void *arg, const char *message) {
    char *text = arg;
    snprintf(text + strlen(text), 1000 - strlen(text), "%s\n", message);
}

/* The warnings, a line each; in a strict context the error, or "". */
static void read_host(const char *json, bool strict, char text[static 1000]) {
    struct sutra_context_options options = {
        .size = sizeof options, .n_threads = 1, .strict = strict, .warning = keep_warning, .arg = text};
    struct sutra_context *context = NULL;
    struct sutra_host_trace *trace = NULL;
    struct sutra_error error = {0};
    char *bytes = double_quotes(json);
    *text = 0;
    assert_int_equal(sutra_context_create(&options, &context, NULL), SUTRA_OK);
    enum sutra_status status = sutra_host_trace_parse(context, "host", bytes, strlen(bytes), &trace, &error);
    if (status) {
        assert_int_equal(status, SUTRA_STRICT);
        snprintf(text, 1000, "%s: %s\n", error.file, error.message);
    } else {
        assert_false(validity_has_damaged_times(trace->validity)); /* a host trace has no GPU time */
    }
    sutra_host_trace_free(trace);
    sutra_context_free(context);
    free(bytes);
}

#define NOT_LINKED "link writes them without times and GPU activities\n"

static void nodes_without_the_root_above_them_are_counted(void **state) {
    static const struct {
        const char *what, *json, *warnings;
    } cases[] = {
        {"children precede their parents",
         TRACE(NEW("4", "3", "mm", "1") "," NEW("3", "2", "step", "1") "," NEW("2", "1", "thread", "1") "," ROOT), ""},
        {"the root has another parent", TRACE(NEW("1", "7", "process", "1") "," NEW("2", "1", "thread", "1")), ""},
        {"an operator is absent",
         TRACE(ROOT "," NEW("2", "1", "thread", "1") "," NEW("5", "4", "mm", "1") "," NEW("6", "5", "add", "1")),
         "host: 2 of 4 nodes are not below the root: node 4 is absent (the first: 'mm', node 5): " NOT_LINKED},
        {"two operators are absent",
         TRACE(ROOT "," NEW("2", "1", "thread",
                            "1") "," NEW("4", "3", "a", "1") "," NEW("6", "5", "b", "1") "," NEW("7", "6", "c", "1")),
         "host: 3 of 5 nodes are not below the root: node 5, above 2 of them, is absent (the first: 'b', node "
         "6): " NOT_LINKED},
        {"a thread is absent",
         TRACE(ROOT "," NEW("3", "2", "a", "1") "," NEW("4", "1", "thread", "2") "," NEW("5", "4", "b", "2")),
         "host: 1 of 4 nodes is not below the root: node 2, a thread, is absent (the first: 'a', node 3): " NOT_LINKED},
        {"schema 1.0.1, a thread is absent",
         "{'schema':'1.0.1','nodes':[" OLD("1", "1", "process", "0") "," OLD("3", "2", "a",
                                                                             "1") "," OLD("4", "1", "thread", "2") "]}",
         "host: 1 of 3 nodes is not below the root: node 2, a thread, is absent (the first: 'a', node 3): " NOT_LINKED},
        {"parents form a cycle",
         TRACE(ROOT "," NEW("2", "3", "a", "1") "," NEW("3", "2", "b", "1") "," NEW("4", "3", "c", "1")),
         "host: 3 of 4 nodes are not below the root: their parents form a cycle (the first: 'a', node 2): " NOT_LINKED},
        {"a node has no parent", TRACE(ROOT ",{'id':2,'name':'a','attrs':[]}," NEW("3", "2", "b", "1")),
         "host: 2 of 3 nodes are not below the root: a node without a parent is above them (the first: 'a', node "
         "2): " NOT_LINKED},
        {"an absent parent is named before a cycle",
         TRACE(ROOT "," NEW("2", "1", "thread",
                            "1") "," NEW("3", "3", "a", "1") "," NEW("4", "4", "b", "1") "," NEW("6", "5", "c", "1")),
         "host: 3 of 5 nodes are not below the root: node 5, above 1 of them, is absent (the first: 'c', node "
         "6): " NOT_LINKED},
        {"no root", TRACE(NEW("2", "1", "thread", "1") "," NEW("3", "2", "a", "1")),
         "host: 2 of 2 nodes have no root (a node with id 1) above them (the first: 'thread', node 2): link "
         "treats all nodes as host operators\n"},
        {"ET+ has other ids",
         TRACE("{'id':0,'name':'process','ctrl_deps':0,'exclusive_dur':1,'attrs':[]}," NEW("1", "0", "thread", "1")),
         ""},
        {"no nodes", TRACE(""), ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1000];
        read_host(cases[i].json, false, text);
        if (strcmp(text, cases[i].warnings))
            fail_msg("%s:\n  %s, expected\n  %s", cases[i].what, text, cases[i].warnings);
        read_host(cases[i].json, true, text);
        if (strcmp(text, cases[i].warnings))
            fail_msg("%s, strict:\n  %s, expected\n  %s", cases[i].what, text, cases[i].warnings);
    }
}

static void later_nodes_with_an_id_are_counted(void **state) {
    char text[1000];
    read_host(TRACE(ROOT "," NEW("2", "1", "a", "1") "," NEW("3", "1", "b", "1") "," NEW("2", "1", "c", "1") "," NEW(
                  "3", "1", "d", "1") "," NEW("2", "1", "e", "1")),
              false, text);
    assert_string_equal(text, "host: 3 of 6 nodes have the id of an earlier node (the first: 'c', node 2): link uses "
                              "the last node of each id\n");
}

static void programs_read_the_defects_of_a_trace(void **state) {
    struct sutra_context_options options = {.size = sizeof options, .n_threads = 1};
    struct sutra_context *context = NULL;
    struct sutra_host_trace *host = NULL;
    struct sutra_device_trace *device = NULL;
    struct sutra_trace_defect defect = {.size = sizeof defect};
    char *nodes = double_quotes(TRACE(ROOT "," NEW("3", "2", "a", "2") "," NEW("3", "2", "b", "2")));
#define KERNEL "{'ph':'X','cat':'kernel','name':'k','pid':0,'tid':7,'ts':5,'dur':2,'args':{'stream':7,'device':0}}"
    char *events = double_quotes("{'traceEvents':[" KERNEL "," KERNEL "]}");
    assert_int_equal(sutra_context_create(&options, &context, NULL), SUTRA_OK);
    assert_int_equal(sutra_host_trace_parse(context, "host", nodes, strlen(nodes), &host, NULL), SUTRA_OK);
    assert_int_equal(sutra_device_trace_parse(context, "device", events, strlen(events), &device, NULL), SUTRA_OK);

    assert_true(sutra_host_trace_defect(host, 0, &defect));
    assert_string_equal(defect.name, "not_below_root");
    assert_int_equal(defect.count, 2);
    assert_int_equal(defect.of, 3);
    assert_true(isnan(defect.largest_us));
    assert_string_equal(defect.example, "'a', node 3");
    assert_string_equal(defect.cause, "node 2, a thread, is absent");
    assert_string_equal(defect.effect, "link writes them without times and GPU activities");
    assert_string_equal(defect.message, "2 of 3 nodes are not below the root: node 2, a thread, is absent (the first: "
                                        "'a', node 3): link writes them without times and GPU activities");
    assert_true(sutra_host_trace_defect(host, 1, &defect));
    assert_string_equal(defect.name, "duplicate_id");
    assert_string_equal(defect.cause, "");
    assert_false(sutra_host_trace_defect(host, 2, &defect));

    assert_true(sutra_device_trace_defect(device, 0, &defect));
    assert_string_equal(defect.name, "duplicate");
    assert_string_equal(defect.example, "'k', event 1");
    assert_false(sutra_device_trace_defect(device, 1, &defect));
    sutra_device_trace_free(device);
    sutra_host_trace_free(host);
    sutra_context_free(context);
    free(nodes);
    free(events);
}

/* A chain of parents is walked without recursion, and once. */
static void a_long_chain_is_below_the_root(void **state) {
    enum { N = 200000 };
    char *json = malloc((size_t)N * 48 + 100), text[1000], *at = json;
    assert_non_null(json);
    at += sprintf(at, "{'schema':'1.1.1-chakra.0.0.4','nodes':[");
    for (int i = N; i > 1; i--)
        at += sprintf(at, "{'id':%d,'name':'a','ctrl_deps':%d},", i, i - 1);
    sprintf(at, "%s]}", ROOT);
    read_host(json, false, text);
    assert_string_equal(text, "");
    free(json);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_without_the_root_above_them_are_counted),
        cmocka_unit_test(later_nodes_with_an_id_are_counted),
        cmocka_unit_test(programs_read_the_defects_of_a_trace),
        cmocka_unit_test(a_long_chain_is_below_the_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
