/*
 * test_collective_records.c - tests collectives that only host traces record: the inputs of record_param_comms, and the
 * members of process groups that are known by their addresses.
 */
#include "analyze/collective_calls.h"
#include "facts/collectives.h"
#include "unit.h"

#define TENSORS "[[5, 6, 0, 10, 4, \"cuda:0\"]]"

static void inputs_of_all_versions_are_read(void **state) {
    static const struct {
        const char *list, *name, *group;
        int64_t seq, rank, size, start, step;
        bool has_address, names_own_rank;
    } cases[] = {
        {"[" TENSORS ", 337, 93825114103440, 3, \"allreduce\", [], [], 8]", "allreduce", "93825114103440", 337, 3, 8,
         -1, -1, true, true},
        {"[" TENSORS ", 337, 93825114103440, 3, 'broadcast', [], [], 8]", "broadcast", "93825114103440", 337, 3, 8, -1,
         -1, true, false},
        {"[337, 0, 3, \"wait\", [], [], 1]", "wait", "0", 337, 3, 1, -1, -1, true, false},
        {"[" TENSORS ", 7, [\"1\", \"tp\"], 0, \"_allgather_base\", [], [], 4, 2, 8]", "_allgather_base", "1", 7, 0, 8,
         4, 2, false, true},
        {"[" TENSORS ", [7, true], ['3', \"pipe's\"], 1, 'send', [], [], 4, 2, 2]", "send", "3", -1, 1, 2, 4, 2, false,
         false},
        {"[" TENSORS ", 7, 12345, 0, \"allreduce\", [], [], 4, 2, 8]", "allreduce", "12345", 7, 0, 8, 4, 2, false,
         true},
        {"[" TENSORS ", 7, \"tp\", 0, \"allreduce\", [], [], 8]", "allreduce", "tp", 7, 0, 8, -1, -1, false, true},
        {"[" TENSORS ", 7, 1, null]", NULL, NULL, -1, -1, -1, -1, -1, false, false},
        {"[]", NULL, NULL, -1, -1, -1, -1, -1, false, false},
        {"", NULL, NULL, -1, -1, -1, -1, -1, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct comms_inputs inputs;
        const bool found = comms_inputs_read((struct input_text){cases[i].list, strlen(cases[i].list)}, &inputs);
        assert_int_equal(found, cases[i].name != NULL);
        assert_int_equal(inputs.seq, cases[i].seq);
        assert_int_equal(inputs.rank, cases[i].rank);
        assert_int_equal(inputs.size, cases[i].size);
        assert_int_equal(inputs.start, cases[i].start);
        assert_int_equal(inputs.step, cases[i].step);
        assert_int_equal(inputs.has_address, cases[i].has_address);
        if (!found)
            continue;
        assert_int_equal(comms_inputs_name_own_rank(&inputs), cases[i].names_own_rank);
        assert_int_equal(inputs.name.length, strlen(cases[i].name));
        assert_memory_equal(inputs.name.at, cases[i].name, inputs.name.length);
        assert_int_equal(inputs.group.length, strlen(cases[i].group));
        assert_memory_equal(inputs.group.at, cases[i].group, inputs.group.length);
    }
}

static void types_of_tensors_get_the_names_of_collectives(void **state) {
    static const char *const cases[][2] = {{"GenericList[Tensor(c10::Half)]", "Half"},
                                           {"Tensor(float)", "Float"},
                                           {"GenericList[Tensor(c10::BFloat16),Tensor(float)]", "BFloat16"},
                                           {"Tensor(long int)", "Long"},
                                           {"Tensor(c10::Float8_e4m3fn)", "Float8_e4m3fn"},
                                           {"Tensor(c10::complex<float>)", "ComplexFloat"},
                                           {"Tensor(nothing)", NULL},
                                           {"", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *type = collective_type_of_tensor(cases[i][0], strlen(cases[i][0]));
        if (cases[i][1])
            assert_string_equal(type, cases[i][1]);
        else
            assert_null(type);
        assert_true(!type || collective_type_bytes(type) > 0);
    }
}

/* ---- Members of groups ---- */

static void add(struct collective_calls *calls, int64_t rank, const char *group, int64_t size, const char *members,
                const char *what, int64_t peer) {
    struct collective_call call = {
        .rank = rank,
        .group = collective_group_add(calls, group, strlen(group), members, strlen(members), size, COLLECTIVES_OF_NCCL),
        .what = strings_intern(&calls->strings, what, strlen(what)),
        .peer = peer,
        .is_message = collective_is_message(what)};
    call.is_send = call.is_message && *what == 's';
    assert_true(collective_call_add(calls, &call));
}

/* "rank group members peer; " of each call. */
static void check_members(struct collective_calls *calls, int64_t world_size, const char *expected) {
    struct sutra_error error;
    uint64_t n_inferred;
    char text[2000] = "", *at = text;
    assert_int_equal(collective_groups_find_members(calls, world_size, &n_inferred, &error), SUTRA_OK);
    for (uint64_t i = 0; i < calls->n; i++) {
        const struct collective_call *call = &calls->list[i];
        const struct collective_group *group = &calls->groups[call->group];
        at += sprintf(at, "%d %s %s %d; ", (int)call->rank, strings_text(&calls->strings, group->name),
                      strings_text(&calls->strings, group->members), (int)call->peer);
    }
    at += sprintf(at, "%d groups, %d inferred, %d unrecorded", (int)calls->n_groups, (int)n_inferred,
                  (int)calls->n_untold);
    assert_string_equal(text, expected);
    collective_calls_free(calls);
}

#define ALL    "address 0 of 4 ranks"
#define PAIR_0 "address 0 of 2 ranks"
#define PAIR_1 "address 1 of 2 ranks"

static struct collective_calls new_calls(void) {
    struct collective_calls calls;
    assert_true(collective_calls_init(&calls));
    return calls;
}

static void a_group_of_the_size_of_the_job_contains_all_ranks(void **state) {
    struct collective_calls calls = new_calls();
    add(&calls, 1, ALL, 4, "", "allreduce", 1);
    add(&calls, 2, ALL, 4, "", "broadcast", CALL_UNKNOWN);
    add(&calls, 2, ALL, 4, "", "send", 3);
    check_members(&calls, 4,
                  "1 0 [0, 1, 2, 3] -1; 2 0 [0, 1, 2, 3] -1; 2 0 [0, 1, 2, 3] 3; 1 groups, 0 inferred, 0 unrecorded");
}

static void smaller_groups_follow_from_the_ranks_in_them(void **state) {
    struct collective_calls calls = new_calls();
    for (int64_t rank = 0; rank < 4; rank++) {
        add(&calls, rank, PAIR_0, 2, "", "allreduce", rank % 2);
        add(&calls, rank, PAIR_1, 2, "", rank < 2 ? "send" : "recv", 1 - rank / 2);
    }
    check_members(&calls, 4,
                  "0 1 [0, 1] -1; 0 2 [0, 2] 2; 1 1 [0, 1] -1; 1 3 [1, 3] 3; 2 4 [2, 3] -1; 2 2 [0, 2] 0; "
                  "3 4 [2, 3] -1; 3 3 [1, 3] 1; 4 groups, 4 inferred, 0 unrecorded");
}

static void groups_of_one_rank_contain_it(void **state) {
    struct collective_calls calls = new_calls();
    add(&calls, 2, "address 0 of 1 ranks", 1, "", "allreduce", 0);
    check_members(&calls, 4, "2 1 [2] -1; 1 groups, 0 inferred, 0 unrecorded");
}

static void recorded_groups_remain(void **state) {
    struct collective_calls calls = new_calls();
    add(&calls, 0, ALL, 4, "", "allreduce", 0);
    add(&calls, 0, "0", 4, "[0, 1, 2, 3]", "allreduce", CALL_UNKNOWN);
    add(&calls, 0, "1", 2, "[0, 1]", "send", 1);
    check_members(&calls, 4,
                  "0 2 [0, 1, 2, 3] -1; 0 0 [0, 1, 2, 3] -1; 0 1 [0, 1] 1; 3 groups, 0 inferred, 0 unrecorded");
}

static void groups_without_one_explanation_are_unrecorded(void **state) {
    /* the first three ranks of the job are rank 0 of their groups */
    struct collective_calls calls = new_calls();
    for (int64_t rank = 0; rank < 3; rank++)
        add(&calls, rank, PAIR_0, 2, "", "allreduce", 0);
    check_members(&calls, 4, "0 groups, 0 inferred, 3 unrecorded");

    /* strides 1 and 2 */
    calls = new_calls();
    add(&calls, 0, PAIR_0, 2, "", "allreduce", 0);
    add(&calls, 3, PAIR_0, 2, "", "allreduce", 1);
    check_members(&calls, 4, "0 groups, 0 inferred, 2 unrecorded");

    /* two ranks in one group, an impossible rank, no rank, and a size that does not divide the job */
    calls = new_calls();
    add(&calls, 0, PAIR_0, 2, "", "allreduce", 0);
    add(&calls, 0, PAIR_0, 2, "", "allreduce", 1);
    add(&calls, 0, PAIR_1, 2, "", "allreduce", 5);
    add(&calls, 1, "address 2 of 2 ranks", 2, "", "broadcast", CALL_UNKNOWN);
    add(&calls, 1, "address 0 of 3 ranks", 3, "", "allreduce", 1);
    check_members(&calls, 4, "0 groups, 0 inferred, 5 unrecorded");

    /* the first and the last stage of three stages of two ranks: stride 3 has members 2 and 3 */
    calls = new_calls();
    for (int64_t rank = 0; rank < 6; rank++)
        if (rank / 2 == 1)
            add(&calls, rank, "1", 2, "[2, 3]", "allreduce", CALL_UNKNOWN);
        else
            add(&calls, rank, PAIR_0, 2, "", "allreduce", rank / 4);
    check_members(&calls, 6, "2 1 [2, 3] -1; 3 1 [2, 3] -1; 1 groups, 0 inferred, 4 unrecorded");

    /* rank 1 of the job is rank 0 of all */
    calls = new_calls();
    add(&calls, 1, ALL, 4, "", "allreduce", 0);
    check_members(&calls, 4, "0 groups, 0 inferred, 1 unrecorded");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_of_all_versions_are_read),
        cmocka_unit_test(types_of_tensors_get_the_names_of_collectives),
        cmocka_unit_test(a_group_of_the_size_of_the_job_contains_all_ranks),
        cmocka_unit_test(smaller_groups_follow_from_the_ranks_in_them),
        cmocka_unit_test(groups_of_one_rank_contain_it),
        cmocka_unit_test(recorded_groups_remain),
        cmocka_unit_test(groups_without_one_explanation_are_unrecorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
