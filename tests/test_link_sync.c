/*
 * test_link_sync.c - tests synchronization edges of the critical path in ET+: the node of the operator after the
 * synchronizing call gets a sync_dep with the id that chakra_trace_link uses.
 *
 *     CPU      [a launch]  [b    wait      ]  [c]         c waits for k, so c's node gets k's new id as sync_dep
 *     stream           [k            ]
 */
#include "link_case.h"

#define WAITED(step)                                                                                                   \
    "user_annotation '" step "' ts=100+100; cpu_op a ts=101+9 'External id'=5 'Record function id'=1; "                \
    "cudaLaunchKernel ts=102+2 correlation=7 'External id'=5; "                                                        \
    "kernel k stream=20 ts=110+30 correlation=7 'External id'=5; "                                                     \
    "cpu_op b ts=120+30 'External id'=6 'Record function id'=2; "                                                      \
    "cudaStreamSynchronize ts=121+25 correlation=8 'External id'=6; "                                                  \
    "cuda_sync 'Stream Sync' stream=20 ts=122+20 correlation=8 'External id'=6; "                                      \
    "cpu_op c ts=160+30 'External id'=9 'Record function id'=3"
#define IDS(a, b, c) "1 root; " a " a rf_id=1; " b " b rf_id=2; " c " c rf_id=3"

/* Another flag of a case: its host trace has two nodes of one id. */
#define DUPLICATE_ID 256

static const struct wait_case {
    const char *what, *host, *device;
    unsigned flags;
    const char *expected;
} cases[] = {
    {"c after a: known by its own id, once for all events that wait", IDS("10", "11", "12"), WAITED("ProfilerStep#1"),
     0, "0 root -; 1 a -; 2 k -; 3 b -; 4 c [2]"},
    {"c before a: known by its new id, which is no id of the host trace", IDS("11", "9", "10"),
     WAITED("ProfilerStep#1"), 0, "0 root -; 1 b -; 2 c [4]; 3 a -; 4 k -"},
    {"c before a: its new id is the id of b, which gets the list", IDS("4", "2", "3"), WAITED("ProfilerStep#1"), 0,
     "0 root -; 1 b [4]; 2 c -; 3 a -; 4 k -"},
    {"c has no host operator", "1 root; 10 a rf_id=1; 11 b rf_id=2", WAITED("ProfilerStep#1"), 0,
     "0 root -; 1 a -; 2 k -; 3 b -"},
    {"an id in ctrl_deps that no node has takes a name away from the later nodes",
     "1 root ctrl_deps=2; 9 b rf_id=2; 10 c rf_id=3; 11 a rf_id=1", WAITED("ProfilerStep#1"), 0,
     "0 root -; 1 b -; 2 c -; 3 a -; 4 k -"},
    {"a list that the node has already is replaced",
     "1 root; {'id':12,'sync_dep':[],'name':'c','ctrl_deps':1,'inputs':[],'outputs':[],"
     "'attrs':[{'name':'rf_id','type':'uint64','value':3}]}; 10 a rf_id=1; 11 b rf_id=2",
     WAITED("ProfilerStep#1"), 0, "0 root -; 1 a -; 2 k -; 3 b -; 4 c [2]"},
    {"all nodes of an id get the list", "1 root; 10 a rf_id=1; 11 b rf_id=2; 12 c rf_id=3; 12 d rf_id=3",
     WAITED("ProfilerStep#1"), DUPLICATE_ID, "0 root -; 1 a -; 2 k -; 3 b -; 4 c [2]; 4 d [2]"},
};

static void waits_belong_to_the_next_operator(void **state) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct outcome outcome = link_texts(cases[i].host, cases[i].device, CASE_SYNC | cases[i].flags);
        if (outcome.status)
            fail_msg("%s: %s", cases[i].what, outcome.error.message);
        char *line = nodes_show(outcome.text, "id name sync_dep");
        if (strcmp(line, cases[i].expected))
            fail_msg("%s:\n  %s, expected\n  %s", cases[i].what, line, cases[i].expected);
        size_t n_lists = 0;
        for (const char *at = line; (at = strchr(at, '[')); at++)
            n_lists++;
        assert_int_equal(outcome.report.n_sync, n_lists);
        assert_string_equal(outcome.warnings, cases[i].flags & DUPLICATE_ID
                                                  ? "host: 1 of 5 nodes has the id of an earlier node (the first: 'd', "
                                                    "node 12): link uses the last node of each id\n"
                                                  : "");
        free(line);
        free(outcome.text);
    }
}

static void link_without_critical_path_continues_with_a_warning(void **state) {
    struct outcome outcome = link_texts(IDS("10", "11", "12"), WAITED("Step"), CASE_SYNC);
    assert_int_equal(outcome.status, SUTRA_OK);
    assert_int_equal(outcome.report.n_sync, 0);
    assert_int_equal(outcome.report.n_gpu_nodes, 1);
    assert_string_equal(outcome.warnings, "no synchronization dependencies: no event name contains \"ProfilerStep\"\n");
    free(outcome.text);
}

static void disabled_sync_dependencies_print_no_warning(void **state) {
    struct outcome outcome = link_texts(IDS("10", "11", "12"), WAITED("Step"), 0);
    assert_int_equal(outcome.status, SUTRA_OK);
    assert_string_equal(outcome.warnings, "");
    free(outcome.text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_belong_to_the_next_operator),
        cmocka_unit_test(link_without_critical_path_continues_with_a_warning),
        cmocka_unit_test(disabled_sync_dependencies_print_no_warning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
