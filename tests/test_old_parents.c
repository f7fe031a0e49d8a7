/*
 * test_old_parents.c - tests parents of linked nodes of schema 1.0.1: nodes have new ids, parents are recorded as old
 * ids.
 */
#include "et_plus_text.h"
#include "trace_text.h"
#include "unit.h"

static void convert_host(const char *host, struct outcome *outcome) {
    char *text = host_json(host);
    convert_text(text, NULL, outcome);
    free(text);
    if (outcome->status)
        fail_msg("%s", outcome->error.message);
}

/* The id of a node's parent, or -1. */
static int64_t parent_id_of(const struct outcome *outcome, uint64_t id) {
    const struct et_nodes *nodes = &outcome->converted->nodes;
    row_t node = find(nodes, id);
    assert_int_not_equal(node, ROW_NONE);
    uint64_t first = nodes->ctrl.first[node];
    return nodes->ctrl.first[node + 1] > first ? (int64_t)nodes->ctrl.ids[first] : -1;
}

#define SCHEMA        "'schema':'1.0.1'; "
#define GRAPH_PROCESS " '[pytorch|profiler|execution_graph|process]' tid=0; "
#define GRAPH_THREAD  " '[pytorch|profiler|execution_graph|thread]' "

/* Old ids: process 1, thread 2, a 3, b 6, c 9, (kernel), second thread 11, d 12, e 14, f 20. */
static void old_parent_ids_are_translated_to_new_ids(void **state) {
    struct outcome outcome;
    convert_host(SCHEMA "0" GRAPH_PROCESS "1" GRAPH_THREAD "; 2 a parent=2; 3 b parent=3; 4 c parent=3; "
                        "5 kernel parent=3 ctrl_deps=4 rf_id=0 cat=kernel stream=7 exclusive_dur=5; "
                        "6" GRAPH_THREAD "tid=2; 7 d parent=11 tid=2; "
                        "8 e parent=9; 9 f parent=11 tid=2; 10 g parent=2",
                 &outcome);
    static const int64_t parents[] = {-1, -1, 1, 2, 2, 4, -1, 6, 4, 6, 1};
    for (uint64_t id = 1; id <= 10; id++)
        assert_int_equal(parent_id_of(&outcome, id), parents[id]);
    assert_int_equal(outcome.report.n_rootless, 0);
    end(&outcome);
}

/* The process node and nodes before the recording are missing. */
static void missing_parents_are_none(void **state) {
    struct outcome outcome;
    convert_host(SCHEMA "0" GRAPH_THREAD "; 1 a parent=2; 2" GRAPH_THREAD "tid=2; 3 b parent=50 tid=3; "
                        "4 kernel parent=2 ctrl_deps=1 rf_id=0 cat=kernel stream=7 exclusive_dur=5",
                 &outcome);
    assert_int_equal(parent_id_of(&outcome, 0), -1);
    assert_int_equal(parent_id_of(&outcome, 1), 0);
    assert_int_equal(parent_id_of(&outcome, 3), -1);
    assert_int_equal(parent_id_of(&outcome, 4), 1);
    end(&outcome);
}

/* A host trace that was not linked: all ids are its own. */
static void ids_of_unlinked_traces_are_kept(void **state) {
    struct outcome outcome;
    convert_host(SCHEMA "1" GRAPH_PROCESS "2" GRAPH_THREAD "; 4 a parent=2; 6 b parent=2; 7 c parent=4", &outcome);
    assert_int_equal(parent_id_of(&outcome, 6), 2);
    assert_int_equal(parent_id_of(&outcome, 7), 4);
    end(&outcome);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_parent_ids_are_translated_to_new_ids),
        cmocka_unit_test(missing_parents_are_none),
        cmocka_unit_test(ids_of_unlinked_traces_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
