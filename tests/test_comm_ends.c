/*
 * test_comm_ends.c - tests source and destination ranks of sends and receives, derived from their enclosing operators.
 */
#include "et_plus_text.h"
#include "unit.h"

/* An attribute's number, or -1 where there is none. */
static int64_t rank_of(const struct outcome *outcome, uint64_t id, enum et_name name) {
    const struct et_nodes *nodes = &outcome->converted->nodes;
    uint64_t i = et_attribute_find(nodes, find(nodes, id), name);
    if (i == UINT64_MAX)
        return -1;
    assert_int_equal(nodes->attributes.kind[i], ET_INT32);
    return (int64_t)nodes->attributes.value[i].bits;
}

static void check_ends(const struct outcome *outcome, uint64_t id, int64_t src, int64_t dst, int64_t tag) {
    assert_int_equal(rank_of(outcome, id, ET_NAME_COMM_SRC), src);
    assert_int_equal(rank_of(outcome, id, ET_NAME_COMM_DST), dst);
    assert_int_equal(rank_of(outcome, id, ET_NAME_COMM_TAG), tag);
}

static void convert_plainly(const struct line *lines, size_t n, struct outcome *outcome) {
    const struct sutra_convert_options options = {.size = sizeof options};
    convert_with(lines, n, &options, outcome);
    assert_int_equal(outcome->status, SUTRA_OK);
}

#define CONVERT(lines, outcome) convert_plainly(lines, sizeof(lines) / sizeof *(lines), outcome)

#define GIVEN(values) ", \"inputs\": {\"values\": " values ", \"shapes\": [], \"types\": []}"
#define TENSORS       "[[5, 6, 0, 10, 4, \"cuda:0\"]]"
#define GROUPS(text)  ", \"inputs\": {\"values\": [\"" text "\"], \"shapes\": [[]], \"types\": [\"String\"]}"
#define SEND_RECV     "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"

/* PyTorch 2.6 with NCCL records the group's name; a separate node records the members of all groups. */
static void parameters_contain_the_peer_in_its_group(void **state) {
    static const struct line lines[] = {
        {2, THREAD, 2, NULL},
        {3, "## process_group:init ##", 2,
         GROUPS("[{\\\"pg_name\\\": \\\"0\\\", \\\"ranks\\\": [], \\\"group_size\\\": 8}, "
                "{\\\"pg_name\\\": \\\"3\\\", \\\"ranks\\\": [4, 6], \\\"group_size\\\": 2}]")},
        {10, "c10d::send", 2, GIVEN("[" TENSORS ", \"<Object>\", 1, 0]")},
        {11, "record_param_comms", 10,
         GIVEN("[" TENSORS ", [7, true], [\"3\", \"pipe's\"], 1, \"send\", [], [], 4, 2, 2]")},
        {12, "nccl:send 0->1", 11, NULL},
        {13, SEND_RECV, 12, KERNEL(TENSOR_IO)},
        {21, "record_param_comms", 2, GIVEN("[" TENSORS ", [8, true], [\"3\", \"\"], 1, \"send\", [], [], 4, 2, 2]")},
        {22, SEND_RECV, 21, KERNEL(TENSOR_IO)},
        {30, "c10d::recv_", 2, GIVEN("[" TENSORS ", \"<Object>\", 1, 0]")},
        {31, "record_param_comms", 30, GIVEN("[" TENSORS ", [9, true], [\"3\", \"\"], 1, \"recv\", [], [], 4, 2, 2]")},
        {32, SEND_RECV, 31, KERNEL(TENSOR_IO)},
    };
    struct outcome outcome;
    CONVERT(lines, &outcome);
    check_ends(&outcome, 13, 4, 6, 3 << 16);
    check_ends(&outcome, 32, 6, 4, 3 << 16);
    assert_int_equal(outcome.converted->nodes.type[find(&outcome.converted->nodes, 22)], ET_COMM_COLL); /* as by name */
    assert_int_equal(outcome.report.n_peers, 2);
    assert_string_equal(outcome.warnings, "");
    end(&outcome);
}

/* Messages of a direction to a peer are counted, each direction, group and peer alone. */
static void tags_count_messages(void **state) {
    static const struct line lines[] = {
        {2, THREAD, 2, NULL},
        {10, "nccl:send 2->1", 2, NULL},
        {11, SEND_RECV, 10, KERNEL(TENSOR_IO)},
        {12, "nccl:send 2->3", 2, NULL},
        {13, SEND_RECV, 12, KERNEL(TENSOR_IO)},
        {14, "nccl:recv 2<-1", 2, NULL},
        {15, SEND_RECV, 14, KERNEL(TENSOR_IO)},
        {16, "nccl:send 2->1", 2, NULL},
        {17, SEND_RECV, 16, KERNEL(TENSOR_IO)},
        {18, "nccl:send 2->1", 2, NULL},
        {19, SEND_RECV, 18, KERNEL(TENSOR_IO)},
        {20, "nccl:recv 2<-1", 2, NULL},
        {21, SEND_RECV, 20, KERNEL(TENSOR_IO)},
    };
    struct outcome outcome;
    CONVERT(lines, &outcome);
    check_ends(&outcome, 11, 2, 1, 0);
    check_ends(&outcome, 13, 2, 3, 0);
    check_ends(&outcome, 15, 1, 2, 0);
    check_ends(&outcome, 17, 2, 1, 1);
    check_ends(&outcome, 19, 2, 1, 2);
    check_ends(&outcome, 21, 1, 2, 1);
    end(&outcome);
}

/* Without members, the first rank and the stride determine them; older traces record a group number with the
 * members. */
static void ranks_of_groups_become_ranks_of_all(void **state) {
    static const struct {
        const char *groups, *given;
        int64_t src, dst, tag;
    } cases[] = {
        {"[]", "[" TENSORS ", 3, [\"9\", \"\"], 2, \"send\", [], [], 5, 3, 4]", -1, 11, 0},
        {"[]", "[" TENSORS ", 3, [\"9\", \"\"], 0, \"send\", [], [], 5, 0, 1]", -1, 5, 0},
        {"[]", "[" TENSORS ", 3, [\"0\", \"\"], 2, \"send\", [], []]", -1, 2, 0},
        {"[]", "[" TENSORS ", 3, [\"9\", \"\"], 2, \"send\", [], [], 5, -1, 4]", -1, -1, -1},
        {"[]", "[" TENSORS ", 3, [\"9\", \"\"], -1, \"send\", [], [], 5, 3, 4]", -1, -1, -1},
        {"[]", "[" TENSORS ", 3, [\"9\", \"\"], 1, \"recv\", [], [], 5, 3, 4]", -1, -1, -1},
        {"[]", "\"send\"", -1, -1, -1},
        {"[{\\\"pg_name\\\": \\\"2\\\", \\\"backend_id\\\": 94594, \\\"ranks\\\": [3, 1]}]",
         "[" TENSORS ", 3, 94594, 1, \"send\", [], []]", -1, 1, 2 << 16},
        {"[{\\\"pg_name\\\": \\\"2\\\", \\\"uid\\\": \\\"x7\\\", \\\"ranks\\\": [3, 1]}]",
         "[3, \"x7\", 0, \"send\", [], []]", -1, 3, 2 << 16},
        {"[{\\\"pg_name\\\": \\\"2\\\", \\\"ranks\\\": [3, 1]}]", "[3, [\"2\", \"\"], 2, \"send\", [], []]", -1, -1,
         -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char groups[300], given[300];
        const struct line lines[] = {{2, THREAD, 2, NULL},
                                     {3, "## process_group:init ##", 2, groups},
                                     {10, "c10d::send", 2, NULL},
                                     {11, "record_param_comms", 10, given},
                                     {12, SEND_RECV, 11, KERNEL(TENSOR_IO)}};
        struct outcome outcome;
        snprintf(groups, sizeof groups, GROUPS("%s"), cases[i].groups);
        snprintf(given, sizeof given, GIVEN("%s"), cases[i].given);
        CONVERT(lines, &outcome);
        check_ends(&outcome, 12, cases[i].src, cases[i].dst, cases[i].tag);
        end(&outcome);
    }
}

/* A collective's parameters name the own rank; those of a broadcast name its root. */
static void collectives_record_the_own_rank(void **state) {
    static const struct line lines[] = {
        {2, THREAD, 2, NULL},
        {3, "record_param_comms", 2, GIVEN("[" TENSORS ", 3, [\"0\", \"\"], 7, \"broadcast\", [], [], 0, 1, 8]")},
        {4, "record_param_comms", 2, GIVEN("[3, [\"0\", \"\"], 0, \"wait\", [], [], 0, 1, 8]")},
        {5, "record_param_comms", 2, GIVEN("[" TENSORS ", 3, [\"4\", \"\"], 1, \"allreduce\", [], [], 2, 3, 2]")},
        {10, "c10d::recv_", 2, GIVEN("[" TENSORS ", \"<Object>\", 6, 0]")},
        {12, SEND_RECV, 10, KERNEL(TENSOR_IO)},
    };
    struct outcome outcome;
    CONVERT(lines, &outcome);
    check_ends(&outcome, 12, 6, 5, 0);
    end(&outcome);
}

static void missing_peers_are_reported(void **state) {
    static const struct line lines[] = {
        {2, THREAD, 2, NULL},
        {10, "my send", 2, NULL},
        {11, SEND_RECV, 10, KERNEL(TENSOR_IO)},
        {12, "c10d::recv_any_source_", 2, GIVEN("[" TENSORS ", \"<Object>\", 0]")},
        {13, SEND_RECV, 12, KERNEL(TENSOR_IO)},
        {14, "nccl:recv", 2, NULL},
        {15, "record_param_comms", 14, GIVEN("[" TENSORS ", 3, [\"9\", \"\"], 1, \"recv\", [], [], -1, -1, 2]")},
        {16, SEND_RECV, 15, KERNEL(TENSOR_IO)},
    };
    struct sutra_convert_options options = {.size = sizeof options, .no_peers = true};
    struct outcome outcome;
    CONVERT(lines, &outcome);
    check_ends(&outcome, 11, -1, -1, -1);
    check_ends(&outcome, 13, -1, -1, -1);
    check_ends(&outcome, 16, -1, -1, -1);
    assert_int_equal(outcome.report.n_peers, 0);
    assert_non_null(strstr(outcome.warnings, "2 sends and receives lack comm_src, comm_dst and comm_tag: no "
                                             "peer in the record_param_comms, c10d::send or c10d::recv_ above"));
    assert_non_null(strstr(outcome.warnings,
                           "1 send or receive lacks comm_src, comm_dst and comm_tag: the trace "
                           "has the peer's rank in a process group, but not the members of the group"));
    end(&outcome);
    convert_with(lines, sizeof lines / sizeof *lines, &options, &outcome);
    assert_non_null(strstr(outcome.warnings, "3 sends and receives lack comm_src, comm_dst and comm_tag;"));
    end(&outcome);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_contain_the_peer_in_its_group),
        cmocka_unit_test(tags_count_messages),
        cmocka_unit_test(ranks_of_groups_become_ranks_of_all),
        cmocka_unit_test(collectives_record_the_own_rank),
        cmocka_unit_test(missing_peers_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
