/*
 * test_collective_checks.c - tests checks of a job's collectives: each kind of error is found with its ranks and its
 * first position; valid jobs have no errors.
 */
#include <math.h>

#include "analyze/collective_matches.h"
#include "facts/collectives.h"
#include "text/quantities.h"
#include "unit.h"

static const int64_t all_ranks[] = {0, 1, 2, 3};

#define N_STEPS 4

/* A job of four ranks: an all-reduce, an all-gather and an exchange a step, numbered by turns. */
struct small_job {
    struct collective_calls calls;
    uint32_t world;
};

static void add(struct small_job *job, uint32_t group, const char *what, int64_t rank, int64_t seq, int64_t n) {
    struct strings *strings = &job->calls.strings;
    struct collective_call call = {.rank = rank,
                                   .group = group,
                                   .what = strings_intern(strings, what, strlen(what)),
                                   .type = strings_intern(strings, "Float", 5),
                                   .n_in = n,
                                   .n_out = n,
                                   .seq = seq,
                                   .peer = CALL_UNKNOWN,
                                   .start_ns = seq * 1000 + rank,
                                   .end_ns = seq * 1000 + 500,
                                   .is_message = collective_is_message(what)};
    call.is_send = call.is_message && *what == 's';
    assert_true(collective_call_add(&job->calls, &call));
}

static uint32_t add_text(struct small_job *job, const char *text) {
    return strings_intern(&job->calls.strings, text, strlen(text)) + 1;
}

static void fill(struct small_job *job, int64_t size) {
    assert_true(collective_calls_init(&job->calls));
    job->world = collective_group_add(&job->calls, "0", 1, "[0, 1, 2, 3]", 12, size, COLLECTIVES_OF_NCCL);
    for (int64_t rank = 0; rank < 4; rank++)
        for (int64_t step = 0; step < N_STEPS; step++) {
            add(job, job->world, "allreduce", rank, 3 * step, 1000);
            add(job, job->world, "_allgather_base", rank, 3 * step + 1, 2000);
            add(job, job->world, "all_to_allv", rank, 3 * step + 2, 10);
            job->calls.list[job->calls.n - 1].in_split = add_text(job, "[1, 2, 3, 4]");
            static const char *const out[] = {"[1, 1, 1, 1]", "[2, 2, 2, 2]", "[3, 3, 3, 3]", "[4, 4, 4, 4]"};
            job->calls.list[job->calls.n - 1].out_split = add_text(job, out[rank]);
            job->calls.list[job->calls.n - 1].n_out = 4 * (rank + 1);
        }
}

/* The call of a rank with a number. */
static struct collective_call *call_of(struct small_job *job, int64_t rank, int64_t seq) {
    for (uint64_t i = 0; i < job->calls.n; i++)
        if (job->calls.list[i].rank == rank && job->calls.list[i].seq == seq)
            return &job->calls.list[i];
    fail();
    return NULL;
}

static void lose(struct small_job *job, int64_t rank, int64_t seq) {
    *call_of(job, rank, seq) = job->calls.list[--job->calls.n];
}

/* "severity rule ranks number rank; " of each check. */
static void check_told(struct small_job *job, size_t n_ranks, const char *expected) {
    struct arena arena = {0};
    struct collective_matches matches;
    struct collective_checks checks;
    char text[1000] = "", *at = text;
    assert_int_equal(collective_matches_find(&job->calls, &arena, &matches, NULL), SUTRA_OK);
    assert_int_equal(collective_checks_find(&job->calls, &matches, all_ranks, n_ranks, &arena, &checks, NULL),
                     SUTRA_OK);
    for (uint64_t i = 0; i < checks.n; i++) {
        const struct collective_check *check = &checks.list[i];
        at += sprintf(at, "%s%s %s [%s] %d %d; ", check_severity_names[check->severity], check->hangs ? "!" : "",
                      check->rule, check->ranks, (int)check->number, (int)check->rank);
    }
    assert_string_equal(text, expected);
    arena_free(&arena);
    collective_calls_free(&job->calls);
}

static void valid_jobs_have_no_collective_errors(void **state) {
    struct small_job job;
    fill(&job, 4);
    check_told(&job, 4, "");
}

static void each_fault_is_found(void **state) {
    struct small_job job;
    fill(&job, 4);
    lose(&job, 2, 3);
    check_told(&job, 4, "error lost collective [2] 3 0; ");
    fill(&job, 4);
    lose(&job, 1, 0); /* a profile that began later */
    check_told(&job, 4, "note uneven profile [] -1 -1; ");
    fill(&job, 4);
    call_of(&job, 3, 4)->n_in = 7;
    check_told(&job, 4, "error! different collective [3] 4 3; ");
    fill(&job, 4);
    call_of(&job, 3, 4)->type = strings_intern(&job.calls.strings, "Half", 4);
    check_told(&job, 4, "error! different collective [3] 4 3; ");
    fill(&job, 4);
    call_of(&job, 1, 3)->seq = 100;
    call_of(&job, 1, 4)->seq = 3;
    call_of(&job, 1, 100)->seq = 4;
    check_told(&job, 4, "error! other order [1] 3 1; error! other order [1] 4 1; ");
    fill(&job, 8);
    check_told(&job, 4, "error group size [] -1 -1; ");
    fill(&job, 4);
    call_of(&job, 2, 5)->out_split = add_text(&job, "[3, 3, 2, 4]");
    check_told(&job, 4, "error! split sizes [2] 5 2; ");
    fill(&job, 4);
    call_of(&job, 2, 5)->n_in = 11;
    check_told(&job, 4, "error split sizes [2] 5 2; ");
    fill(&job, 4);
    check_told(&job, 3, "warning missing rank [3] -1 -1; ");
    fill(&job, 4);
    uint32_t others = collective_group_add(&job.calls, "9", 1, "[0, 1]", 6, 2, COLLECTIVES_OF_NCCL);
    for (int64_t rank = 0; rank < 4; rank += rank ? 2 : 1)
        add(&job, others, "allreduce", rank, 0, 5);
    check_told(&job, 4, "error another rank's trace [3] -1 3; ");
}

static void unmatched_messages_are_reported(void **state) {
    struct small_job job;
    fill(&job, 4);
    uint32_t pair = collective_group_add(&job.calls, "5", 1, "[0, 1]", 6, 2, COLLECTIVES_OF_NCCL);
    add(&job, pair, "send", 0, 0, 5);
    add(&job, pair, "recv", 1, 0, 5);
    add(&job, pair, "send", 0, 1, 5);
    add(&job, pair, "recv", 1, 1, 6);
    add(&job, pair, "send", 0, 2, 5);
    check_told(&job, 4, "warning unmatched message [0, 1] 2 0; error different message [0, 1] 1 0; ");
}

static void lists_of_ranks_are_short(void **state) {
    struct rank_list list = {0}, many = {0};
    static const int64_t ranks[] = {0, 1, 2, 7, 9, 10};
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
        rank_list_add(&list, ranks[i]);
    assert_string_equal(rank_list_text(&list), "0-2, 7, 9, 10");
    assert_string_equal(rank_list_text(&list), "0-2, 7, 9, 10");
    for (int64_t i = 0; i < 1000; i += 2)
        rank_list_add(&many, i);
    assert_non_null(strstr(rank_list_text(&many), ", ..."));
}

static void kinds_follow_from_names(void **state) {
    static const struct {
        const char *name;
        enum comm_kind kind;
        bool at_once, differ;
        double share; /* of 4 ranks */
    } kinds[] = {
        {"allreduce", COMM_ALL_REDUCE, true, false, 1.5},
        {"allreduce_coalesced", COMM_ALL_REDUCE, true, true, 1.5},
        {"_allgather_base", COMM_ALL_GATHER, true, false, 0.75},
        {"all_gather_into_tensor_coalesced", COMM_ALL_GATHER, true, true, 0.75},
        {"reduce_scatter_tensor_coalesced", COMM_REDUCE_SCATTER, true, true, 0.75},
        {"_reduce_scatter_base", COMM_REDUCE_SCATTER, true, false, 0.75},
        {"all_to_all", COMM_ALL_TO_ALL, true, false, 0.75},
        {"all_to_allv", COMM_ALL_TO_ALL_V, false, true, 0.75},
        {"broadcast", COMM_BROADCAST, false, false, 1},
        {"reduce", COMM_REDUCE, false, false, 1},
        {"gather", COMM_GATHER, false, true, 0.75},
        {"scatter", COMM_SCATTER, false, true, 0.75},
        {"barrier", COMM_BARRIER, true, false, NAN},
        {"send", COMM_MESSAGE, false, false, 1},
        {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", COMM_ALL_REDUCE, true, false,
         1.5},
        {"void vllm::cross_device_reduce_1stage<half, 4>()", COMM_ALL_REDUCE, true, false, 1.5},
        {"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", COMM_REDUCE_SCATTER, true, false, 0.75},
        {"wait", COMM_OTHER, false, false, NAN},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        enum comm_kind kind = collective_kind_of(kinds[i].name);
        assert_int_equal(kind, kinds[i].kind);
        assert_int_equal(collective_ends_at_once(kind), kinds[i].at_once);
        assert_int_equal(collective_sizes_differ(kinds[i].name), kinds[i].differ);
        double share = collective_bus_share(kind, 4);
        assert_true(isnan(kinds[i].share) ? isnan(share) : share == kinds[i].share);
    }
    assert_int_equal(collective_elements(COMM_ALL_GATHER, 10, 40, 4), 40);
    assert_int_equal(collective_elements(COMM_REDUCE_SCATTER, 40, 10, 4), 40);
    assert_int_equal(collective_elements(COMM_GATHER, 10, 10, 4),
                     40); /* ranks other than the root record only their own part */
    assert_int_equal(collective_elements(COMM_SCATTER, 40, 10, 4), 40);
    assert_int_equal(collective_type_bytes("Float"), 4);
    assert_int_equal(collective_type_bytes("BFloat16"), 2);
    assert_int_equal(collective_type_bytes("Long"), 8);
    assert_int_equal(collective_type_bytes("Char"), 1);
    assert_int_equal(collective_type_bytes("Bool"), 1);
    assert_int_equal(collective_type_bytes("Float8_e4m3fn"), 1);
    assert_int_equal(collective_type_bytes("QUInt4x2"), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_jobs_have_no_collective_errors),
        cmocka_unit_test(each_fault_is_found),
        cmocka_unit_test(unmatched_messages_are_reported),
        cmocka_unit_test(lists_of_ranks_are_short),
        cmocka_unit_test(kinds_follow_from_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
