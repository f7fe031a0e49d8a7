/*
 * test_stragglers.c - tests the choice of the straggler on synthetic ranks whose collectives end simultaneously.
 */
#include "analyze/overview/verdict.h"
#include "made_steps.h"
#include "overview_trace.h"
#include "sutra/collectives.h"
#include "trace_folder.h"

#define N_STEPS   4
#define RANKS_MAX 4

/* A job: each rank computes for work_us in each step; an all-reduce ends simultaneously on all ranks. */
struct made_job {
    const char *name;
    int n_ranks;
    int work_us[RANKS_MAX][N_STEPS];
    int start_us[RANKS_MAX];   /* of the first step */
    int clock_us[RANKS_MAX];   /* offset of the rank's clock */
    int end_offset_us;         /* of rank 1 in the first collective */
    bool exchange;             /* sends and receives, without arguments */
    bool recorded;             /* in arguments of kernels; else matched by order */
    int elements, transfer_us; /* of each collective; 0: 64, COLLECTIVE_US */
    int late;                  /* the straggler; -1: none */
    const char *words;
};

#define COLLECTIVE_US 50

static void add_collective(struct made_trace *made, const struct made_job *job, int step, long begin, long end) {
    char args[320] = "";
    int elements = job->elements ? job->elements : 64;
    if (job->recorded)
        sprintf(args,
                ",\"Collective name\":\"allreduce\",\"In msg nelems\":%d,\"Out msg nelems\":%d,\"dtype\":\"Float\","
                "\"Group size\":%d,\"Process Group Name\":\"0\",\"Seq\":%d",
                elements, elements, job->n_ranks, step);
    event(made,
          "\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,\"ts\":%ld,\"dur\":%ld,"
          "\"args\":{\"correlation\":%d%s}",
          job->exchange ? "ncclKernel_SendRecv_RING_SIMPLE" : "ncclDevKernel_AllReduce_Sum", begin, end - begin,
          made->n_calls, args);
}

/* The trace of a rank: its steps, each until the end of the collective. */
static char *rank_text(const struct made_job *job, int rank) {
    struct made_trace made = {.head = H100};
    long now[RANKS_MAX], transfer_us = job->transfer_us ? job->transfer_us : COLLECTIVE_US;
    for (int i = 0; i < job->n_ranks; i++)
        now[i] = 100000 + job->start_us[i];
    for (int step = 0; step < N_STEPS; step++) {
        long last = 0, clock = job->clock_us[rank];
        for (int i = 0; i < job->n_ranks; i++)
            last = now[i] + job->work_us[i][step] > last ? now[i] + job->work_us[i][step] : last;
        made.now = made.free_at = now[rank] + clock;
        step_begin(&made);
        launch_by(&made, "aten::mm", "", CALL_US + 2, "gemm", job->work_us[rank][step] - 20);
        call(&made, "cudaLaunchKernel", CALL_US);
        long end = last + transfer_us + clock + (rank == 1 && step == 0 ? job->end_offset_us : 0);
        add_collective(&made, job, step, now[rank] + job->work_us[rank][step] + clock, end);
        made.now = end;
        step_end(&made);
        for (int i = 0; i < job->n_ranks; i++)
            now[i] = last + transfer_us + 10;
    }
    return made_text(&made);
}

static bool find_late(const struct made_job *job, struct job_findings *found, double *waits) {
    struct overviewed made[RANKS_MAX];
    struct rank_collectives ranks[RANKS_MAX], *list[RANKS_MAX];
    struct sutra_error error;
    for (int i = 0; i < job->n_ranks; i++) {
        char *text = rank_text(job, i);
        overview_of(text, 1, &made[i]);
        free(text);
        ranks[i] = (struct rank_collectives){0};
        list[i] = &ranks[i];
        assert_int_equal(rank_collectives_read(made[i].context, &made[i].overview, i, &ranks[i], &error), SUTRA_OK);
    }
    assert_int_equal(find_job_stragglers(list, (size_t)job->n_ranks, &made[0].scratch, found, NULL, &error), SUTRA_OK);
    for (int i = 0; i < job->n_ranks; i++) {
        waits[i] = ranks[i].late_wait_ns / (double)(ranks[i].window.to_ns - ranks[i].window.from_ns) * 100;
        collective_calls_free(&ranks[i].calls);
        overview_forget(&made[i]);
    }
    return found->is_late;
}

#define EVEN                                                                                                           \
    { 1000, 1000, 1000, 1000 }
#define SLOW                                                                                                           \
    { 1400, 1400, 1400, 1400 }
#define MINUTE 60000000

static const struct made_job jobs[] = {
    {.name = "slow compute",
     .n_ranks = 3,
     .work_us = {EVEN, SLOW, EVEN},
     .late = 1,
     .words = "arrives last at 4 collectives"},
    {.name = "recorded arguments",
     .n_ranks = 2,
     .work_us = {SLOW, EVEN},
     .recorded = true,
     .late = 0,
     .words = "rank 1 waits 400 us"},
    {.name = "sends and receives",
     .n_ranks = 3,
     .work_us = {EVEN, EVEN, SLOW},
     .exchange = true,
     .late = 2,
     .words = "rank 0 waits 400 us"},
    {.name = "clock offsets",
     .n_ranks = 3,
     .work_us = {EVEN, EVEN, SLOW},
     .clock_us = {0, MINUTE, -MINUTE},
     .recorded = true,
     .late = 2,
     .words = "Straggler: Rank 2 arrives last"},
    {.name = "late start",
     .n_ranks = 2,
     .work_us = {EVEN, EVEN},
     .start_us = {900, 0},
     .late = 0,
     .words = "before the step"},
    {.name = "two slow ranks",
     .n_ranks = 4,
     .work_us = {EVEN, {1300, 1300, 1300, 1300}, SLOW, EVEN},
     .late = 2,
     .words = "on time, 300 us of wait for the second-latest rank remains"},
    {.name = "equal ranks", .n_ranks = 4, .work_us = {EVEN, EVEN, EVEN, EVEN}, .late = -1},
    {.name = "short waits", .n_ranks = 2, .work_us = {EVEN, {1040, 1040, 1040, 1040}}, .late = -1},
    {.name = "another rank in each step",
     .n_ranks = 4,
     .work_us =
         {{1400, 1000, 1000, 1000}, {1000, 1400, 1000, 1000}, {1000, 1000, 1400, 1000}, {1000, 1000, 1000, 1400}},
     .late = -1},
    {.name = "different ends",
     .n_ranks = 2,
     .work_us = {EVEN, {3000, 1000, 1000, 1000}},
     .end_offset_us = 200,
     .start_us = {0, 0},
     .late = -1},
    {.name = "two ranks in turn",
     .n_ranks = 2,
     .work_us = {{1500, 1000, 1400, 1000}, {1000, 1400, 1000, 1400}},
     .late = -1},
    {.name = "one rank", .n_ranks = 1, .work_us = {SLOW}, .late = -1},
};

static void last_arriving_rank_is_the_straggler(void **state) {
    size_t n_right = 0, n = sizeof jobs / sizeof *jobs;
    for (size_t i = 0; i < n; i++) {
        struct job_findings job;
        double waits[RANKS_MAX];
        bool found = find_late(&jobs[i], &job, waits);
        const struct overview_finding finding = job.late;
        bool right = found == (jobs[i].late >= 0);
        char text[2000] = "";
        if (found)
            finding_text(&finding, text, sizeof text);
        if (found)
            right = right && finding.rule == &rule_straggler && finding.numbers[0].value == jobs[i].late &&
                    strstr(text, jobs[i].words) && waits[jobs[i].late] == 0 && finding.saving_percent > 5;
        for (int rank = 0; rank < jobs[i].n_ranks; rank++)
            right &= !found ? waits[rank] == 0 : rank == jobs[i].late || waits[rank] > 5;
        if (!right)
            print_error("%s: %s\n", jobs[i].name, found ? text : "nothing");
        n_right += right;
    }
    assert_int_equal(n_right, n);
}

/* Many pairs of ranks wait concurrently for one of the pair; all ranks wait for one rank, or for none. */
static void straggler_is_found_despite_waits_in_many_groups(void **state) {
    enum { N = 512 };
    static struct rank_waits waits[N];
    static bool late[N];
    for (int i = 0; i < N; i++)
        waits[i] = (struct rank_waits){.wait_caused_ns = 25e3, .total_wait_caused_ns = 25e3};
    assert_int_equal(find_late_ranks(waits, N, 1e5, late), 0);
    waits[7] = (struct rank_waits){.wait_caused_ns = 8e6, .total_wait_caused_ns = 8e6 * (N - 1)};
    assert_int_equal(find_straggler_candidate(waits, N), 7);
    assert_int_equal(find_late_ranks(waits, N, 11e6, late), 1);
    assert_true(late[7]);
    assert_int_equal(find_late_ranks(waits, N, 200e6, late), 0); /* the waits are short */
    assert_false(late[7]);
    waits[9] = (struct rank_waits){.wait_caused_ns = 0.5e6, .total_wait_caused_ns = 9e6 * (N - 1)};
    assert_int_equal(find_late_ranks(waits, N, 11e6, late), 0); /* rank 9 causes more in total, but in short waits */
    waits[9].wait_caused_ns = 7e6;
    assert_int_equal(find_late_ranks(waits, N, 11e6, late), 2);
    assert_true(late[7] && late[9]);
}

/* Long waits for more than half of the ranks: only those that cause most of them are late. */
static void at_most_half_of_the_ranks_are_late(void **state) {
    static const struct {
        double caused[4];
        row_t n, n_late;
        bool late[4];
    } cases[] = {
        {{60, 6}, 2, 1, {true, false}},
        {{50, 40, 1, 1}, 4, 2, {true, true, false, false}},
        {{50, 8, 8, 1}, 4, 1, {true, false, false, false}},
        {{50, 8, 1, 1}, 4, 2, {true, true, false, false}},
        {{50, 40, 20, 1}, 4, 0, {false}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rank_waits waits[4] = {0};
        bool late[4];
        row_t latest[LATE_NAMED];
        for (row_t k = 0; k < cases[i].n; k++)
            waits[k].wait_caused_ns = waits[k].total_wait_caused_ns = cases[i].caused[k];
        assert_int_equal(find_late_ranks(waits, cases[i].n, 100, late), cases[i].n_late);
        for (row_t k = 0; k < cases[i].n; k++)
            assert_int_equal(late[k], cases[i].late[k]);
        assert_int_equal(find_latest_ranks(waits, cases[i].n, late, latest), cases[i].n_late);
        assert_true(cases[i].n_late == 0 || latest[0] == 0);
    }
}

/* ---- Compared with findings of single ranks ---- */

/* A hundred megabytes between two ranks, whose links give 450 GB/s. */
#define LARGE 25000000

static const struct {
    struct made_job job;
    bool straggler, slow_collective;
} slow_link_jobs[] = {
    {{.name = "waits for a straggler, which look like slow links",
      .n_ranks = 2,
      .work_us = {EVEN, {21000, 21000, 21000, 21000}},
      .recorded = true,
      .elements = LARGE,
      .transfer_us = 800},
     true,
     false},
    {{.name = "slow links",
      .n_ranks = 2,
      .work_us = {EVEN, EVEN},
      .recorded = true,
      .elements = LARGE,
      .transfer_us = 20000},
     false,
     true},
    {{.name = "both",
      .n_ranks = 2,
      .work_us = {EVEN, {11000, 11000, 11000, 11000}},
      .recorded = true,
      .elements = LARGE,
      .transfer_us = 20000},
     true,
     true},
};

/* The overview of a job, and the straggler by its collectives; -1: none. */
static struct sutra_overview *overview_of_job(struct sutra_context *context, const struct made_job *job,
                                              int64_t *straggler) {
    struct folder folder = make_folder();
    struct sutra_overview *overview;
    struct sutra_error error;
    struct sutra_collectives *collectives;
    struct sutra_collectives_straggler reported = {.size = sizeof reported};
    const struct sutra_overview_options options = {.size = sizeof options};
    const struct sutra_collectives_options collective_options = {.size = sizeof collective_options};
    for (int rank = 0; rank < job->n_ranks; rank++) {
        char name[32], *text = rank_text(job, rank);
        sprintf(name, "rank%d.json", rank);
        add_file(&folder, name, text);
        free(text);
    }
    list_files(&folder);
    assert_int_equal(sutra_overview_run(context, folder.list, folder.n, &options, &overview, &error), SUTRA_OK);
    assert_int_equal(sutra_collectives_run(context, folder.list, folder.n, &collective_options, &collectives, &error),
                     SUTRA_OK);
    sutra_collectives_straggler(collectives, &reported);
    *straggler = reported.rank;
    sutra_collectives_free(collectives);
    remove_folder(&folder);
    return overview;
}

static void wait_for_a_straggler_is_no_slow_link(void **state) {
    struct sutra_context *context = make_context(1);
    for (size_t i = 0; i < sizeof slow_link_jobs / sizeof *slow_link_jobs; i++) {
        int64_t of_collectives;
        struct sutra_overview *overview = overview_of_job(context, &slow_link_jobs[i].job, &of_collectives);
        struct sutra_finding finding;
        bool straggler = false, slow = false;
        double saving_percent = 0;
        print_message("%s\n", slow_link_jobs[i].job.name);
        for (size_t k = 0; sutra_overview_finding(overview, k, &finding); k++) {
            straggler |= strcmp(finding.rule, "straggler") == 0;
            slow |= strcmp(finding.rule, "slow_collective") == 0;
            saving_percent += strstr("straggler slow_collective", finding.rule) ? finding.saving_percent : 0;
        }
        assert_int_equal(straggler, slow_link_jobs[i].straggler);
        assert_int_equal(slow, slow_link_jobs[i].slow_collective);
        assert_int_equal(of_collectives, straggler ? 1 : -1); /* one rule for both */
        assert_true(saving_percent < 100);                    /* no time is saved twice */
        sutra_overview_free(overview);
    }
    sutra_context_free(context);
}

/* ---- Several stragglers ---- */

static double number_of(const struct sutra_finding *finding, const char *name) {
    for (size_t i = 0; i < finding->n_numbers; i++)
        if (strcmp(finding->numbers[i].name, name) == 0)
            return finding->numbers[i].value;
    return (double)NAN;
}

static const struct sutra_finding *find_rule(const struct sutra_overview *overview, const char *rule,
                                             struct sutra_finding *finding) {
    for (size_t k = 0; sutra_overview_finding(overview, k, finding); k++)
        if (strcmp(finding->rule, rule) == 0)
            return finding;
    return NULL;
}

/* Two ranks are late in turn. Exposed communication is waiting, and the transfer of 50 us is too short for a finding. */
static void waiting_belongs_to_all_stragglers(void **state) {
    static const struct made_job job = {
        .n_ranks = 4, .work_us = {{1400, 1000, 1400, 1000}, EVEN, {1000, 1400, 1000, 1400}, EVEN}, .recorded = true};
    struct sutra_context *context = make_context(1);
    struct sutra_finding finding;
    int64_t latest;
    struct sutra_overview *overview = overview_of_job(context, &job, &latest);
    const struct sutra_verdict *verdict = sutra_overview_verdict(overview);
    assert_null(find_rule(overview, "exposed_comm", &finding));
    assert_non_null(find_rule(overview, "straggler", &finding));
    assert_int_equal(finding.n_late_ranks, 2);
    assert_int_equal(finding.late_ranks[0], 0);
    assert_int_equal(finding.late_ranks[1], 2);
    assert_string_equal(finding.title, "Stragglers");
    assert_string_equal(finding.seen, "Ranks 0 and 2 arrive last at 4 of 4 collectives; the other ranks wait 400 us of "
                                      "the 1.46 ms step. Mean per rank: 300 us of waiting and 50.0 us of transfer.");
    assert_string_equal(finding.frame,
                        "Compared with rank 1: rank 0's GPU takes 200 us longer in aten::mm (forward); rank "
                        "2's GPU takes 200 us longer in aten::mm (forward)");
    assert_true(number_of(&finding, "late_ranks") == 2 && number_of(&finding, "wait_us") == 300 &&
                number_of(&finding, "transfer_us") == 50 && number_of(&finding, "longest_wait_us") == 400);
    assert_non_null(strstr(verdict->why, "ranks 0 and 2 are late"));
    assert_int_equal(latest, 0);
    /* Without waiting, each rank takes as long as the first to arrive. */
    for (size_t i = 0; i < verdict->n_achievable; i++)
        if (strcmp(verdict->achievable[i].fixed[verdict->achievable[i].n_fixed - 1], "straggler") == 0)
            assert_true(fabs(verdict->achievable[i].step_us - (verdict->step_us - 400)) < 1);
    assert_true(verdict->n_achievable > 0);
    sutra_overview_free(overview);
    sutra_context_free(context);
}

/* Different ranks are late: no rank is a straggler, and communication has no saving. */
static void waiting_without_stragglers_is_no_saving(void **state) {
    static const struct made_job job = {.n_ranks = 4,
                                        .work_us = {{1400, 1000, 1000, 1000},
                                                    {1000, 1400, 1000, 1000},
                                                    {1000, 1000, 1400, 1000},
                                                    {1000, 1000, 1000, 1400}},
                                        .recorded = true};
    struct sutra_context *context = make_context(1);
    struct sutra_finding finding;
    int64_t latest;
    struct sutra_overview *overview = overview_of_job(context, &job, &latest);
    assert_int_equal(latest, -1);
    assert_null(find_rule(overview, "straggler", &finding));
    assert_non_null(find_rule(overview, "exposed_comm", &finding));
    assert_true(isnan(finding.saving_percent));
    assert_non_null(strstr(finding.seen, "50.0 us of it is transfer, and 300 us is waiting for other ranks."));
    assert_true(number_of(&finding, "wait_us") == 300 && number_of(&finding, "transfer_us") == 50);
    sutra_overview_free(overview);
    sutra_context_free(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(straggler_is_found_despite_waits_in_many_groups),
                                       cmocka_unit_test(at_most_half_of_the_ranks_are_late),
                                       cmocka_unit_test(waiting_belongs_to_all_stragglers),
                                       cmocka_unit_test(waiting_without_stragglers_is_no_saving),
                                       cmocka_unit_test(wait_for_a_straggler_is_no_slow_link),
                                       cmocka_unit_test(last_arriving_rank_is_the_straggler)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
