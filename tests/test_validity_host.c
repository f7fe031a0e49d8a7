/*
 * test_validity_host.c - defects of host traces: nodes that are not below the root, and duplicate ids.
 */
#include <math.h>

#include "facts/validity.h"
#include "sutra/sutra.h"
#include "trace_text.h"
#include "unit.h"

static void keep_warning(void *arg, const char *message) {
    char *text = arg;
    snprintf(text + strlen(text), 1000 - strlen(text), "%s\n", message);
}

/* The warnings, a line each; in a strict context the error, or "". */
static void read_host(const char *host, bool strict, char text[static 1000]) {
    struct sutra_host_trace *trace = NULL;
    struct sutra_error error = {0};
    char *bytes = host_json(host);
    *text = 0;
    struct sutra_context *context = NEW_CONTEXT(.n_threads = 1, .strict = strict, .warning = keep_warning, .arg = text);
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
        const char *what, *host, *warnings;
    } cases[] = {
        {"children precede their parents",
         "4 mm ctrl_deps=3 tid=1; 3 step ctrl_deps=2 tid=1; 2 thread tid=1; 1 process tid=1", ""},
        {"the root has another parent", "1 process ctrl_deps=7 tid=1; 2 thread tid=1", ""},
        {"an operator is absent", "1 process tid=1; 2 thread tid=1; 5 mm ctrl_deps=4 tid=1; 6 add ctrl_deps=5 tid=1",
         "host: 2 of 4 nodes are not below the root: node 4 is absent (the first: 'mm', node 5): " NOT_LINKED},
        {"two operators are absent",
         "1 process tid=1; 2 thread tid=1; 4 a ctrl_deps=3 tid=1; 6 b ctrl_deps=5 tid=1; 7 c ctrl_deps=6 tid=1",
         "host: 3 of 5 nodes are not below the root: node 5, above 2 of them, is absent (the first: 'b', node "
         "6): " NOT_LINKED},
        {"a thread is absent", "1 process tid=1; 3 a ctrl_deps=2 tid=1; 4 thread tid=2; 5 b ctrl_deps=4 tid=2",
         "host: 1 of 4 nodes is not below the root: node 2, a thread, is absent (the first: 'a', node 3): " NOT_LINKED},
        {"schema 1.0.1, a thread is absent", "'schema':'1.0.1'; 1 process tid=0; 3 a parent=2; 4 thread tid=2",
         "host: 1 of 3 nodes is not below the root: node 2, a thread, is absent (the first: 'a', node 3): " NOT_LINKED},
        {"parents form a cycle", "1 process tid=1; 2 a ctrl_deps=3 tid=1; 3 b ctrl_deps=2 tid=1; 4 c ctrl_deps=3 tid=1",
         "host: 3 of 4 nodes are not below the root: their parents form a cycle (the first: 'a', node 2): " NOT_LINKED},
        {"a node has no parent", "1 process tid=1; {'id':2,'name':'a','attrs':[]}; 3 b ctrl_deps=2 tid=1",
         "host: 2 of 3 nodes are not below the root: a node without a parent is above them (the first: 'a', node "
         "2): " NOT_LINKED},
        {"an absent parent is named before a cycle",
         "1 process tid=1; 2 thread tid=1; 3 a ctrl_deps=3 tid=1; 4 b ctrl_deps=4 tid=1; 6 c ctrl_deps=5 tid=1",
         "host: 3 of 5 nodes are not below the root: node 5, above 1 of them, is absent (the first: 'c', node "
         "6): " NOT_LINKED},
        {"no root", "2 thread tid=1; 3 a ctrl_deps=2 tid=1",
         "host: 2 of 2 nodes have no root (a node with id 1) above them (the first: 'thread', node 2): link "
         "treats all nodes as host operators\n"},
        {"ET+ has other ids",
         "'schema':'1.1.1-chakra.0.0.4'; {'id':0,'name':'process','ctrl_deps':0,'exclusive_dur':1,'attrs':[]}; "
         "1 thread ctrl_deps=0 tid=1",
         ""},
        {"no nodes", "", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1000];
        read_host(cases[i].host, false, text);
        if (strcmp(text, cases[i].warnings))
            fail_msg("%s:\n  %s, expected\n  %s", cases[i].what, text, cases[i].warnings);
        read_host(cases[i].host, true, text);
        if (strcmp(text, cases[i].warnings))
            fail_msg("%s, strict:\n  %s, expected\n  %s", cases[i].what, text, cases[i].warnings);
    }
}

static void later_nodes_with_an_id_are_counted(void **state) {
    char text[1000];
    read_host("1 process tid=1; 2 a tid=1; 3 b tid=1; 2 c tid=1; 3 d tid=1; 2 e tid=1", false, text);
    assert_string_equal(text, "host: 3 of 6 nodes have the id of an earlier node (the first: 'c', node 2): link uses "
                              "the last node of each id\n");
}

static void programs_read_the_defects_of_a_trace(void **state) {
    struct sutra_host_trace *host = NULL;
    struct sutra_trace_defect defect = {.size = sizeof defect};
    char *nodes = host_json("1 process tid=1; 3 a ctrl_deps=2 tid=2; 3 b ctrl_deps=2 tid=2");
    struct sutra_context *context = NEW_CONTEXT(.n_threads = 1);
    assert_int_equal(sutra_host_trace_parse(context, "host", nodes, strlen(nodes), &host, NULL), SUTRA_OK);
    struct sutra_device_trace *device =
        parse_trace(context, "kernel k stream=7 ts=5+2 device=0; kernel k stream=7 ts=5+2 device=0");

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
}

/* A chain of parents is walked without recursion, and once. */
static void a_long_chain_is_below_the_root(void **state) {
    enum { N = 200000 };
    char *host = malloc((size_t)N * 48), text[1000], *at = host;
    assert_non_null(host);
    for (int i = N; i > 1; i--)
        at += sprintf(at, "%d a ctrl_deps=%d; ", i, i - 1);
    sprintf(at, "1 process");
    read_host(host, false, text);
    assert_string_equal(text, "");
    free(host);
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
