/*
 * test_matched_collectives.c - tests matched collectives of a synthetic job with known times: transfer time after the last
 * arrival, and the start time of each rank.
 */
#include "job/job.h"
#include "unit.h"

#define RANKS 3

/* A job that a test fills; times of the job are microseconds. */
struct made_job {
    bool clockless; /* nothing is known of clocks */
    struct collective_calls calls;
    struct match_rank ranks[RANKS];
    int64_t ahead_us[RANKS], start_us[RANKS]; /* of clocks; of ranks, by the clock of the job */
    size_t n;
    int64_t world_size;
    bool per_stream, astra;
    struct arena arena;
    struct job_matches matched_collectives;
};

static void job_begin(struct made_job *job, size_t n) {
    *job = (struct made_job){.n = n, .world_size = (int64_t)n, .per_stream = true};
    assert_true(collective_calls_init(&job->calls));
}

/* A collective of a group from when a rank is ready, by way of when its kernel begins, to the end. */
static void add(struct made_job *job, int64_t rank, const char *members, const char *what, int64_t seq, int64_t ready,
                int64_t begin, int64_t end) {
    int64_t size = 1;
    for (const char *at = members; *at; at++)
        size += *at == ',';
    const int64_t ahead = job->ahead_us[rank], start = job->start_us[rank];
    struct collective_call call = {.rank = rank,
                                   .group = collective_group_add(&job->calls, members, strlen(members), members,
                                                                 strlen(members), size, COLLECTIVES_OF_NCCL),
                                   .what = strings_intern(&job->calls.strings, what, strlen(what)),
                                   .type = strings_intern(&job->calls.strings, "Float", 5),
                                   .n_in = 1000,
                                   .n_out = 500,
                                   .seq = seq,
                                   .peer = CALL_UNKNOWN,
                                   .start_ns = (begin + ahead) * 1000,
                                   .end_ns = (end + ahead) * 1000,
                                   .node = (uint64_t)(rank * 100 + seq),
                                   .ready_us = ready - start,
                                   .done_us = end - start,
                                   .is_message = collective_is_message(what)};
    call.is_send = call.is_message && *what == 's';
    assert_true(collective_call_add(&job->calls, &call));
}

static void job_find(struct made_job *job) {
    struct collective_matches matches;
    struct rank_clock *clocks;
    struct sutra_error error;
    row_t n_clocks;
    for (size_t r = 0; r < job->n; r++)
        job->ranks[r] = (struct match_rank){.rank = (int64_t)r,
                                            .start = {.is_known = true,
                                                      .has_ops = true,
                                                      .origin_ns = (job->start_us[r] + job->ahead_us[r]) * 1000,
                                                      .end_ns = (1000 + job->ahead_us[r]) * 1000,
                                                      .first_node = 7}};
    assert_int_equal(collective_matches_find(&job->calls, &job->arena, &matches, &error), SUTRA_OK);
    assert_int_equal(rank_clocks_find(&job->calls, &matches, &job->arena, &clocks, &n_clocks, &error), SUTRA_OK);
    const struct match_job of = {.ranks = job->ranks,
                                 .n = job->n,
                                 .calls = &job->calls,
                                 .matches = &matches,
                                 .clocks = clocks,
                                 .n_clocks = job->clockless ? 0 : n_clocks,
                                 .world_size = job->world_size,
                                 .per_stream = job->per_stream,
                                 .astra = job->astra};
    assert_int_equal(job_matches_find(&of, &job->arena, &job->matched_collectives, &error), SUTRA_OK);
}

static void job_end(struct made_job *job) {
    collective_calls_free(&job->calls);
    arena_free(&job->arena);
}

static const struct matched_collective *node_of(const struct made_job *job, int64_t rank, int64_t seq) {
    const struct matched_collectives *of = &job->matched_collectives.ranks[rank];
    for (row_t i = 0; i < of->n; i++)
        if (of->nodes[i].node == (uint64_t)(rank * 100 + seq))
            return &of->nodes[i];
    fail_msg("rank %d has no collective %d", (int)rank, (int)seq);
    return NULL;
}

/* ---- One test for each rule ---- */

static void waits_are_in_no_duration(void **state) {
    struct made_job job;
    job_begin(&job, 2);
    add(&job, 0, "[0, 1]", "allreduce", 0, 100, 110, 300);
    add(&job, 1, "[0, 1]", "allreduce", 0, 200, 205, 300);
    job_find(&job);
    for (int rank = 0; rank < 2; rank++) {
        const struct matched_collective *node = node_of(&job, rank, 0);
        assert_int_equal(node->duration_us, 100);
        assert_int_equal(node->run_ns, 95000);
        assert_int_equal(node->matched_collective, 0);
        assert_int_equal(node->bytes, 4000);
        assert_int_equal(node->n_ranks, 2);
        assert_int_equal(node->kind, COMM_ALL_REDUCE);
        assert_false(node->has_before);
    }
    assert_int_equal(job.matched_collectives.n_matched_collectives, 1);
    job_end(&job);
}

static void ranks_start_by_the_clock_of_the_job(void **state) {
    struct made_job job;
    job_begin(&job, 2);
    job.ahead_us[1] = 500;
    job.start_us[1] = 20;
    for (int i = 0; i < 3; i++) {
        add(&job, 0, "[0, 1]", "allreduce", i, 100 + i * 300, 100 + i * 300, 300 + i * 300);
        add(&job, 1, "[0, 1]", "allreduce", i, 250 + i * 300, 250 + i * 300, 300 + i * 300);
    }
    job_find(&job);
    assert_false(job.matched_collectives.ranks[0].has_start);
    assert_true(job.matched_collectives.ranks[1].has_start);
    assert_int_equal(job.matched_collectives.ranks[1].start_us, 20);
    assert_int_equal(job.matched_collectives.ranks[1].ahead_us, 500);
    assert_int_equal(job.matched_collectives.ranks[1].first_node, 7);
    for (int i = 0; i < 6; i++)
        assert_int_equal(node_of(&job, i / 3, i % 3)->duration_us, 50);
    assert_true(job.matched_collectives.measured_us > 999.5 && job.matched_collectives.measured_us < 1000.5);
    assert_int_equal(job.matched_collectives.n_apart, 0);
    job_end(&job);
}

/* Rank 2 records an impossible end. */
static void impossible_end_is_replaced_by_the_end_of_other_ranks(void **state) {
    struct made_job job;
    job_begin(&job, 3);
    for (int i = 0; i < 3; i++)
        for (int rank = 0; rank < 3; rank++)
            add(&job, rank, "[0, 1, 2]", "allreduce", i, 100 + i * 200, 100 + i * 200,
                150 + i * 200 + (i == 1 && rank == 2 ? 40 : 0));
    job_find(&job);
    for (int rank = 0; rank < 3; rank++)
        for (int i = 0; i < 3; i++)
            assert_int_equal(node_of(&job, rank, i)->duration_us, 50);
    job_end(&job);
}

/* Clocks differ by 5 ms: the last rank is not ready for longer than its collective's duration. */
static void without_clocks_the_shortest_time_counts(void **state) {
    struct made_job job;
    job_begin(&job, 2);
    job.clockless = true;
    job.ahead_us[1] = 5000;
    add(&job, 0, "[0, 1]", "allreduce", 0, 100, 110, 300);
    add(&job, 1, "[0, 1]", "allreduce", 0, 220, 225, 300);
    job_find(&job);
    for (int rank = 0; rank < 2; rank++) {
        assert_int_equal(node_of(&job, rank, 0)->duration_us, 80);
        assert_int_equal(node_of(&job, rank, 0)->run_ns, 75000);
        assert_int_equal(node_of(&job, rank, 0)->matched_collective, 0);
    }
    job_end(&job);
}

/* The clock of rank 1 gains 1 us in 1,000: its collectives still end together with the collectives of rank 0. */
static void drifting_clock_is_corrected(void **state) {
    struct made_job job;
    job_begin(&job, 2);
    for (int i = 0; i < 20; i++) {
        add(&job, 0, "[0, 1]", "allreduce", i, 10000 + i * 10000, 10000 + i * 10000, 11000 + i * 10000);
        job.ahead_us[1] = 11 + i * 10; /* a thousandth of the time of its end */
        add(&job, 1, "[0, 1]", "allreduce", i, 10900 + i * 10000, 10900 + i * 10000, 11000 + i * 10000);
        struct collective_call *call = &job.calls.list[job.calls.n - 1];
        call->ready_us = call->start_ns / 1000;
        call->done_us = call->end_ns / 1000;
    }
    job.ahead_us[1] = 0;
    job_find(&job);
    for (int i = 0; i < 20; i++)
        for (int rank = 0; rank < 2; rank++) {
            const uint64_t us = node_of(&job, rank, i)->duration_us;
            if (us < 98 || us > 102)
                fail_msg("rank %d, collective %d: %d us", rank, i, (int)us);
        }
    job_end(&job);
}

static void ranks_without_files_do_not_count(void **state) {
    struct made_job job;
    job_begin(&job, 2);
    job.world_size = 4;
    add(&job, 0, "[0, 1, 2]", "allreduce", 0, 100, 110, 300);
    add(&job, 1, "[0, 1, 2]", "allreduce", 0, 200, 205, 300);
    add(&job, 1, "[1, 3]", "allreduce", 1, 400, 410, 500);
    job_find(&job);
    assert_int_equal(node_of(&job, 0, 0)->duration_us, 100);
    assert_int_equal(node_of(&job, 0, 0)->n_files, 2);
    assert_int_equal(node_of(&job, 1, 1)->duration_us, 100);
    assert_int_equal(node_of(&job, 1, 1)->run_ns, 90000);
    assert_true(node_of(&job, 1, 1)->matched_collective == NOT_MATCHED);
    assert_int_equal(job.matched_collectives.n_lacking, 1);
    assert_int_equal(job.matched_collectives.n_alone, 1);
    job_end(&job);
}

static void collectives_of_one_resource_run_in_the_order_of_their_ends(void **state) {
    struct made_job job;
    job_begin(&job, 2);
    job.per_stream = false;
    for (int rank = 0; rank < 2; rank++) {
        add(&job, rank, "[0, 1]", "allreduce", 0, 100, 100, 400);
        add(&job, rank, "[1, 0]", "allgather", 1, 150, 150, 300); /* another group; it ends first */
        add(&job, rank, "[0, 1]", "allreduce", 2, 500, 500, 600);
    }
    job_find(&job);
    for (int rank = 0; rank < 2; rank++) {
        assert_false(node_of(&job, rank, 1)->has_before);
        assert_int_equal(node_of(&job, rank, 1)->duration_us, 150);
        assert_true(node_of(&job, rank, 0)->has_before);
        assert_int_equal(node_of(&job, rank, 0)->before, rank * 100 + 1);
        assert_int_equal(node_of(&job, rank, 0)->duration_us, 100);
        assert_int_equal(node_of(&job, rank, 2)->before, rank * 100);
        assert_int_equal(node_of(&job, rank, 2)->duration_us, 100);
    }
    assert_int_equal(job.matched_collectives.n_beside, 2);
    job_end(&job);
}

static void send_matches_its_receive(void **state) {
    struct made_job job;
    job_begin(&job, 2);
    add(&job, 0, "[0, 1]", "send", 0, 100, 100, 300);
    add(&job, 1, "[0, 1]", "recv", 0, 260, 260, 300);
    job_find(&job);
    assert_int_equal(node_of(&job, 0, 0)->duration_us, 40);
    assert_int_equal(node_of(&job, 1, 0)->kind, COMM_MESSAGE);
    assert_int_equal(node_of(&job, 1, 0)->matched_collective, node_of(&job, 0, 0)->matched_collective);
    job_end(&job);
}

static void collectives_of_different_kinds_do_not_match(void **state) {
    struct made_job job;
    job_begin(&job, 2);
    add(&job, 0, "[0, 1]", "allreduce", 0, 100, 110, 300);
    add(&job, 1, "[0, 1]", "broadcast", 0, 200, 210, 300);
    job_find(&job);
    assert_true(node_of(&job, 0, 0)->matched_collective == NOT_MATCHED);
    assert_int_equal(node_of(&job, 0, 0)->duration_us, 200);
    assert_int_equal(job.matched_collectives.n_different, 1);
    job_end(&job);
}

static void unconnected_clocks_are_counted(void **state) {
    struct made_job job;
    job_begin(&job, 3);
    job.ahead_us[2] = 5000;
    add(&job, 0, "[0, 1]", "allreduce", 0, 100, 110, 300);
    add(&job, 1, "[0, 1]", "allreduce", 0, 100, 110, 300);
    job_find(&job);
    assert_int_equal(job.matched_collectives.n_apart, 1);
    assert_int_equal(job.matched_collectives.ranks[2].start_us, 5000);
    job_end(&job);
}

/* Times that no trace can be do not make numbers overflow. */
static void clocks_of_different_ages_are_far_apart(void **state) {
    struct made_job job;
    job_begin(&job, 2);
    job.ahead_us[0] = INT64_MIN / 1000 + 10000;
    job.ahead_us[1] = INT64_MAX / 1000 - 10000;
    job_find(&job);
    assert_true(job.matched_collectives.ranks[1].start_us > UINT64_C(1000000000000000));
    assert_int_equal(job.matched_collectives.n_apart, 1);
    job_end(&job);
}

static void groups_have_numbers_except_the_group_of_all_ranks(void **state) {
    struct made_job job;
    job_begin(&job, 3);
    for (int rank = 0; rank < 3; rank++)
        add(&job, rank, "[0, 1, 2]", "allreduce", 0, 100, 110, 300);
    for (int rank = 0; rank < 2; rank++)
        add(&job, rank, "[0, 1]", "allgather", 1, 400, 410, 500);
    job_find(&job);
    assert_int_equal(node_of(&job, 0, 0)->group, 0);
    assert_int_equal(node_of(&job, 1, 1)->group, 2);
    job_end(&job);
}

static const struct astra_group *group_of(const struct made_job *job, uint32_t number) {
    const struct job_matches *made = &job->matched_collectives;
    for (uint32_t i = 0; i < made->n_groups; i++)
        if (made->groups[i].number == number)
            return &made->groups[i];
    fail_msg("no group %u", number);
    return NULL;
}

/* ASTRA-sim never ends if ranks run different numbers of collectives in groups before a collective without a group. */
static void for_astra_sim_all_ranks_are_a_group(void **state) {
    struct made_job job;
    job_begin(&job, 3);
    job.astra = true;
    for (int rank = 0; rank < 2; rank++)
        add(&job, rank, "[0, 1]", "allreduce", 0, 100, 110, 300);
    for (int rank = 0; rank < 3; rank++)
        add(&job, rank, "[0, 1, 2]", "allreduce", 1, 400, 410, 500);
    job_find(&job);
    const uint32_t number = job.matched_collectives.ranks[0].all_ranks;
    assert_int_equal(number, 3);
    assert_int_equal(job.matched_collectives.ranks[2].all_ranks, number);
    assert_int_equal(node_of(&job, 2, 1)->group, 0);
    assert_int_equal(job.matched_collectives.n_groups, 2);
    assert_int_equal(group_of(&job, number)->n_ranks, 3);
    assert_int_equal(group_of(&job, number)->ranks[2], 2);
    assert_int_equal(group_of(&job, node_of(&job, 0, 0)->group)->n_ranks, 2);
    job_end(&job);

    /* ASTRA-sim cannot run a job that lacks files. */
    job_begin(&job, 2);
    job.astra = true;
    job.world_size = 3;
    for (int rank = 0; rank < 2; rank++)
        add(&job, rank, "[0, 1, 2]", "allreduce", 1, 400, 410, 500);
    job_find(&job);
    assert_int_equal(job.matched_collectives.ranks[0].all_ranks, 0);
    job_end(&job);
}

/* Rank 2 lacks the first collective, and for ASTRA-sim the others would wait for it forever. */
static void for_astra_sim_ranks_that_lack_a_collective_are_not_in_its_group(void **state) {
    struct made_job job;
    job_begin(&job, 3);
    job.astra = true;
    for (int i = 0; i < 3; i++)
        for (int rank = 0; rank < (i == 2 ? 3 : 2); rank++)
            add(&job, rank, "[0, 1, 2]", "allreduce", i, 100 + 200 * i, 110 + 200 * i, 250 + 200 * i);
    job_find(&job);
    const uint32_t number = node_of(&job, 0, 0)->group;
    assert_int_equal(group_of(&job, number)->n_ranks, 2);
    assert_int_equal(node_of(&job, 1, 0)->group, number);
    assert_int_equal(node_of(&job, 1, 1)->group, number);
    assert_int_equal(node_of(&job, 0, 2)->group, 0);
    assert_int_equal(node_of(&job, 0, 0)->n_ranks, 3);
    assert_int_equal(job.matched_collectives.n_lacking, 2);
    job_end(&job);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_are_in_no_duration),
        cmocka_unit_test(ranks_start_by_the_clock_of_the_job),
        cmocka_unit_test(impossible_end_is_replaced_by_the_end_of_other_ranks),
        cmocka_unit_test(without_clocks_the_shortest_time_counts),
        cmocka_unit_test(drifting_clock_is_corrected),
        cmocka_unit_test(ranks_without_files_do_not_count),
        cmocka_unit_test(collectives_of_one_resource_run_in_the_order_of_their_ends),
        cmocka_unit_test(send_matches_its_receive),
        cmocka_unit_test(collectives_of_different_kinds_do_not_match),
        cmocka_unit_test(unconnected_clocks_are_counted),
        cmocka_unit_test(clocks_of_different_ages_are_far_apart),
        cmocka_unit_test(groups_have_numbers_except_the_group_of_all_ranks),
        cmocka_unit_test(for_astra_sim_all_ranks_are_a_group),
        cmocka_unit_test(for_astra_sim_ranks_that_lack_a_collective_are_not_in_its_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
