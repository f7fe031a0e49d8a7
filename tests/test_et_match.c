/*
 * test_et_match.c - tests the changes to a rank's file after the collectives of its job were matched: start times,
 * attributes of collectives, and fields that do not change.
 */
#include "et_text.h"
#include "link_case.h"
#include "simulate/et_file.h"
#include "simulate/et_format.h"
#include "simulate/measured_et.h"

#define IS_CPU(value)   "{'name':'is_cpu_op','boolVal':" value "}"
#define NUMBER_OF(n, v) "{'name':'" n "','int64Val':'" v "'}"

/* Two operators, a kernel, and a collective of 200 us that depends on the kernel. */
static const char lines[] =
    "{}\n"
    "{'id':'1','name':'op a','type':'COMP_NODE','startTimeMicros':'1000','durationMicros':'10','attr':[" IS_CPU(
        "true") "]}\n"
                "{'id':'2','name':'op b','type':'COMP_NODE','dataDeps':['1'],'durationMicros':'10','attr':[" IS_CPU(
                    "true") "]}\n"
                            "{'id':'3','name':'gemm','type':'COMP_NODE','dataDeps':['1'],'durationMicros':'50','attr':[" IS_CPU(
                                "false") "]}\n"
                                         "{'id':'4','name':'ncclDevKernel_AllReduce','type':'COMM_COLL_NODE','ctrlDeps':['2'],'dataDeps':['3'],"
                                         "'durationMicros':'200','attr':[" IS_CPU("false") "," NUMBER_OF("comm_type", "0") "," NUMBER_OF(
                                             "comm_size",
                                             "77") ",{'name':'pg_name','stringVal':'9'}," NUMBER_OF("kernel_exec_ns",
                                                                                                    "190000") "]}\n";

struct met {
    struct sutra_context *context;
    struct sutra_et *alone;
    struct et_nodes nodes;
};

static struct met meet(const struct matched_collectives *rank, enum sutra_status expected) {
    struct met met;
    struct sutra_error error;
    met.context = NEW_CONTEXT();
    assert_int_equal(et_parse_text(met.context, lines, &met.alone, &error), SUTRA_OK);
    assert_int_equal(et_nodes_begin(&met.nodes, &error), SUTRA_OK);
    assert_int_equal(et_make_for_job(&met.nodes, &met.alone->file.nodes, rank, &error), expected);
    return met;
}

static void met_free(struct met *met) {
    et_nodes_free(&met->nodes);
    sutra_et_free(met->alone);
    sutra_context_free(met->context);
}

static int64_t number_of(const struct met *met, row_t row, enum et_name name) {
    int64_t value = -1;
    et_integer(&met->nodes, row, name, &value);
    return value;
}

static void expect_deps(const struct met *met, row_t row, const char *expected) {
    char text[100] = "", *at = text;
    const struct et_ids *data = &met->nodes.data;
    for (uint64_t d = data->first[row]; d < data->first[row + 1]; d++)
        at += sprintf(at, "%d ", (int)data->ids[d]);
    assert_string_equal(text, expected);
}

static struct matched_collective collective(void) {
    return (struct matched_collective){.node = 4,
                                       .matched_collective = 12,
                                       .kind = COMM_ALL_REDUCE,
                                       .n_ranks = 8,
                                       .n_files = 8,
                                       .group = 3,
                                       .bytes = 4096,
                                       .duration_us = 60,
                                       .run_ns = 55000};
}

static void a_rank_begins_when_it_starts_and_its_collective_is_its_transfer(void **state) {
    struct matched_collective node = collective();
    const struct matched_collectives rank = {.has_start = true,
                                             .first_node = 1,
                                             .start_us = 30,
                                             .ahead_us = 400,
                                             .per_stream = true,
                                             .nodes = &node,
                                             .n = 1};
    struct met met = meet(&rank, SUTRA_OK);
    const struct et_nodes *nodes = &met.nodes;
    assert_int_equal(nodes->n, 5);
    assert_int_equal(nodes->id[4], 5);
    assert_true(et_text_is(et_text_at(nodes->text[ET_NODE_NAME], 4), "[start]"));
    assert_int_equal(nodes->duration_us[4], 30);
    assert_false(et_is_gpu(nodes, 4));
    expect_deps(&met, 0, "5 ");
    expect_deps(&met, 1, "1 ");
    assert_int_equal(nodes->start_us[0], 600);
    assert_int_equal(nodes->duration_us[3], 60);
    assert_int_equal(number_of(&met, 3, ET_NAME_KERNEL_EXEC_NS), 55000);
    assert_int_equal(number_of(&met, 3, ET_NAME_MEETING), 12);
    assert_int_equal(number_of(&met, 3, ET_NAME_MEETING_RANKS), 8);
    assert_int_equal(number_of(&met, 3, ET_NAME_MEETING_BYTES), 4096);
    assert_int_equal(number_of(&met, 3, ET_NAME_COMM_SIZE), 77);
    assert_true(et_text_is(et_group_name(nodes, 3), "9"));
    expect_deps(&met, 3, "3 ");
    assert_int_equal(nodes->ctrl.first[4] - nodes->ctrl.first[3], 1);
    assert_true(et_nodes_per_stream(&met.nodes));
    met_free(&met);
}

static void on_one_resource_collectives_follow_each_other(void **state) {
    struct matched_collective node = collective();
    const struct matched_collectives rank = {.nodes = &node, .n = 1};
    node.has_before = true;
    node.before = 2;
    struct met met = meet(&rank, SUTRA_OK);
    assert_int_equal(met.nodes.n, 4);
    expect_deps(&met, 3, "3 2 ");
    assert_false(et_nodes_per_stream(&met.nodes));
    met_free(&met);
}

static void astra_sim_output_has_a_node_per_matched_collective(void **state) {
    struct matched_collective node = collective();
    const struct matched_collectives rank = {
        .astra = true, .has_start = true, .first_node = 1, .start_us = 30, .nodes = &node, .n = 1};
    struct met met = meet(&rank, SUTRA_OK);
    const struct et_nodes *nodes = &met.nodes;
    assert_int_equal(nodes->n, 6);
    assert_int_equal(nodes->id[5], 6);
    assert_true(et_text_is(et_text_at(nodes->text[ET_NODE_NAME], 5), "[meet] ncclDevKernel_AllReduce"));
    assert_int_equal(nodes->duration_us[5], 0);
    assert_int_equal(nodes->type[5], ET_COMM_COLL);
    assert_int_equal(number_of(&met, 5, ET_NAME_COMM_TYPE), ET_ALL_REDUCE);
    assert_int_equal(number_of(&met, 5, ET_NAME_COMM_SIZE), 64);
    assert_int_equal(number_of(&met, 5, ET_NAME_MEETING), 12);
    assert_true(et_text_is(et_group_name(nodes, 5), "3"));
    expect_deps(&met, 5, "3 ");
    expect_deps(&met, 3, "6 ");
    assert_int_equal(number_of(&met, 3, ET_NAME_COMM_TYPE), ET_BROADCAST);
    assert_int_equal(number_of(&met, 3, ET_NAME_MEETING), -1);
    assert_true(et_text_is(et_group_name(nodes, 3), "3"));
    met_free(&met);
}

static void unmatched_collectives_keep_their_time(void **state) {
    struct matched_collective node = collective();
    const struct matched_collectives rank = {.astra = true, .nodes = &node, .n = 1};
    node.matched_collective = NOT_MATCHED;
    node.group = 0;
    struct met met = meet(&rank, SUTRA_OK);
    assert_int_equal(met.nodes.n, 4);
    expect_deps(&met, 3, "3 ");
    assert_int_equal(et_group_name(&met.nodes, 3).length, 0);
    met_free(&met);
}

/* Without a group, ASTRA-sim could wait for collectives of other ranks. */
static void astra_sim_output_has_the_group_of_all_ranks(void **state) {
    struct matched_collective node = collective();
    const struct matched_collectives rank = {.astra = true, .all_ranks = 5, .nodes = &node, .n = 1};
    node.group = 0;
    struct met met = meet(&rank, SUTRA_OK);
    assert_true(et_text_is(et_group_name(&met.nodes, 3), "5"));
    assert_true(et_text_is(et_group_name(&met.nodes, 4), "5"));
    met_free(&met);
}

/* A communication that the job does not match would wait in ASTRA-sim for ranks that may lack it. */
static void astra_sim_output_replays_other_communication(void **state) {
    const struct matched_collectives rank = {.astra = true}, other = {0};
    struct met met = meet(&rank, SUTRA_OK);
    assert_int_equal(met.nodes.type[3], ET_COMM_COLL);
    assert_int_equal(met.nodes.duration_us[3], 200);
    assert_int_equal(number_of(&met, 3, ET_NAME_COMM_TYPE), ET_BROADCAST);
    assert_int_equal(number_of(&met, 3, ET_NAME_COMM_SIZE), 1);
    assert_int_equal(number_of(&met, 3, ET_NAME_KERNEL_EXEC_NS), 190000);
    assert_int_equal(et_group_name(&met.nodes, 3).length, 0);
    met_free(&met);
    met = meet(&other, SUTRA_OK);
    assert_int_equal(number_of(&met, 3, ET_NAME_COMM_TYPE), ET_ALL_REDUCE);
    assert_true(et_text_is(et_group_name(&met.nodes, 3), "9"));
    met_free(&met);
}

static void missing_collective_is_reported(void **state) {
    struct matched_collective node = collective();
    const struct matched_collectives rank = {.nodes = &node, .n = 1}, start = {.has_start = true, .first_node = 99};
    node.node = 40;
    struct met met = meet(&rank, SUTRA_DATA);
    met_free(&met);
    met = meet(&start, SUTRA_DATA);
    met_free(&met);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_begins_when_it_starts_and_its_collective_is_its_transfer),
        cmocka_unit_test(on_one_resource_collectives_follow_each_other),
        cmocka_unit_test(astra_sim_output_has_a_node_per_matched_collective),
        cmocka_unit_test(unmatched_collectives_keep_their_time),
        cmocka_unit_test(astra_sim_output_has_the_group_of_all_ranks),
        cmocka_unit_test(astra_sim_output_replays_other_communication),
        cmocka_unit_test(missing_collective_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
