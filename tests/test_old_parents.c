/*
 * test_old_parents.c - tests parents of linked nodes of schema 1.0.1: nodes have new ids, parents are recorded as old
 * ids.
 */
#include "plus_text.h"
#include "unit.h"

/* A node as schema 1.0.1 has it. */
struct flat_line {
    unsigned id, old_parent, thread;
    const char *name, *more;
};

static void put_line(FILE *file, const struct flat_line *line) {
    fprintf(
        file,
        "{\"id\": %u, \"parent\": %u, \"tid\": %u, \"name\": \"%s\", \"rf_id\": 0, \"fw_parent\": 0, \"seq_id\": -1, "
        "\"scope\": 0, \"fw_tid\": 0, \"op_schema\": \"\", \"inputs\": [], \"input_shapes\": [], \"input_types\": [], "
        "\"outputs\": [], \"output_shapes\": [], \"output_types\": []%s}",
        line->id, line->old_parent, line->thread, line->name, line->more ? line->more : "");
}

static void convert_flat(const struct flat_line *lines, size_t n, struct outcome *outcome) {
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    fprintf(file,
            "{\"schema\": \"1.0.1\", \"pid\": 5, \"time\": \"now\", \"start_ts\": 1, \"finish_ts\": 2, \"nodes\": [");
    for (size_t i = 0; i < n; i++) {
        fputs(i ? ", " : "", file);
        put_line(file, &lines[i]);
    }
    fputs("]}", file);
    assert_int_equal(fclose(file), 0);
    convert_text(text, NULL, outcome);
    free(text);
    assert_int_equal(outcome->status, SUTRA_OK);
}

#define CONVERT(lines, outcome) convert_flat(lines, sizeof(lines) / sizeof *(lines), outcome)

/* The id of a node's parent, or -1. */
static int64_t parent_id_of(const struct outcome *outcome, uint64_t id) {
    const struct et_nodes *nodes = &outcome->converted->nodes;
    row_t node = find(nodes, id);
    assert_int_not_equal(node, ROW_NONE);
    uint64_t first = nodes->ctrl.first[node];
    return nodes->ctrl.first[node + 1] > first ? (int64_t)nodes->ctrl.ids[first] : -1;
}

#define GRAPH_PROCESS "[pytorch|profiler|execution_graph|process]"
#define GRAPH_THREAD  "[pytorch|profiler|execution_graph|thread]"
#define ON_GPU        ", \"ctrl_deps\": 4, \"cat\": \"kernel\", \"stream\": 7, \"exclusive_dur\": 5"

/* Old ids: process 1, thread 2, a 3, b 6, c 9, (kernel), second thread 11, d 12, e 14, f 20. */
static void parents_come_right_before_the_first_that_names_them(void **state) {
    static const struct flat_line lines[] = {
        {0, 1, 0, GRAPH_PROCESS, NULL}, {1, 1, 1, GRAPH_THREAD, NULL}, {2, 2, 1, "a", NULL},
        {3, 3, 1, "b", NULL},           {4, 3, 1, "c", NULL},          {5, 3, 1, "kernel", ON_GPU},
        {6, 1, 2, GRAPH_THREAD, NULL},  {7, 11, 2, "d", NULL},         {8, 9, 1, "e", NULL},
        {9, 11, 2, "f", NULL},          {10, 2, 1, "g", NULL},
    };
    struct outcome outcome;
    CONVERT(lines, &outcome);
    static const int64_t parents[] = {-1, -1, 1, 2, 2, 4, -1, 6, 4, 6, 1};
    for (uint64_t id = 1; id <= 10; id++)
        assert_int_equal(parent_id_of(&outcome, id), parents[id]);
    assert_int_equal(outcome.report.n_rootless, 0);
    end(&outcome);
}

/* The process node and nodes before the recording are missing. */
static void parents_that_are_not_there_are_none(void **state) {
    static const struct flat_line lines[] = {
        {0, 1, 1, GRAPH_THREAD, NULL},
        {1, 2, 1, "a", NULL},
        {2, 1, 2, GRAPH_THREAD, NULL},
        {3, 50, 3, "b", NULL},
        {4, 2, 1, "kernel", ", \"ctrl_deps\": 1, \"cat\": \"kernel\", \"stream\": 7, \"exclusive_dur\": 5"},
    };
    struct outcome outcome;
    CONVERT(lines, &outcome);
    assert_int_equal(parent_id_of(&outcome, 0), -1);
    assert_int_equal(parent_id_of(&outcome, 1), 0);
    assert_int_equal(parent_id_of(&outcome, 3), -1);
    assert_int_equal(parent_id_of(&outcome, 4), 1);
    end(&outcome);
}

/* A host trace that was not linked: all ids are its own. */
static void ids_that_are_not_new_stay(void **state) {
    static const struct flat_line lines[] = {
        {1, 1, 0, GRAPH_PROCESS, NULL}, {2, 1, 1, GRAPH_THREAD, NULL}, {4, 2, 1, "a", NULL},
        {6, 2, 1, "b", NULL},           {7, 4, 1, "c", NULL},
    };
    struct outcome outcome;
    CONVERT(lines, &outcome);
    assert_int_equal(parent_id_of(&outcome, 6), 2);
    assert_int_equal(parent_id_of(&outcome, 7), 4);
    end(&outcome);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parents_come_right_before_the_first_that_names_them),
        cmocka_unit_test(parents_that_are_not_there_are_none),
        cmocka_unit_test(ids_that_are_not_new_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
