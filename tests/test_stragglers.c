/*
 * test_stragglers.c - which rank holds the others up: made ranks with collectives that end at once.
 */
#include "analyze/overview/stragglers.h"
#include "made_steps.h"
#include "overview_trace.h"

#define N_STEPS   4
#define RANKS_MAX 4

/* A job: each rank computes for so long in a step; all-reduces of all end together. */
struct made_job {
    const char *name;
    int n_ranks;
    int work_us[RANKS_MAX][N_STEPS];
    int begins_us[RANKS_MAX]; /* of the first step */
    int clock_us[RANKS_MAX];  /* by which a rank's clock is ahead */
    int apart_us;             /* of the ends of the first collective */
    bool told;                /* by arguments of kernels, not by their order */
    int late;                 /* the rank that is to be found; -1: none */
    const char *words;
};

#define COLLECTIVE_US 50

static void add_collective(struct made_trace *made, const struct made_job *job, int step, long begin, long end) {
    char args[256] = "";
    if (job->told)
        sprintf(args,
                ",\"Collective name\":\"allreduce\",\"In msg nelems\":64,\"Out msg nelems\":64,\"dtype\":\"Float\","
                "\"Group size\":%d,\"Process Group Name\":\"0\",\"Seq\":%d",
                job->n_ranks, step);
    event(made,
          "\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce_Sum\",\"pid\":0,\"tid\":7,\"ts\":%ld,\"dur\":%ld,"
          "\"args\":{\"correlation\":%d%s}",
          begin, end - begin, made->n_calls, args);
}

/* The trace of a rank: its steps, each up to the end of the collective. */
static char *rank_text(const struct made_job *job, int rank) {
    struct made_trace made = {.now = 0};
    long now[RANKS_MAX];
    for (int i = 0; i < job->n_ranks; i++)
        now[i] = 100000 + job->begins_us[i];
    for (int step = 0; step < N_STEPS; step++) {
        long last = 0, clock = job->clock_us[rank];
        for (int i = 0; i < job->n_ranks; i++)
            last = now[i] + job->work_us[i][step] > last ? now[i] + job->work_us[i][step] : last;
        made.now = now[rank] + clock;
        step_begin(&made);
        launch(&made, "gemm", job->work_us[rank][step] - 20);
        call(&made, "cudaLaunchKernel", CALL_US);
        long end = last + COLLECTIVE_US + clock + (rank == 1 && step == 0 ? job->apart_us : 0);
        add_collective(&made, job, step, now[rank] + job->work_us[rank][step] + clock, end);
        made.now = end;
        step_end(&made);
        for (int i = 0; i < job->n_ranks; i++)
            now[i] = last + COLLECTIVE_US + 10;
    }
    return made_text(&made);
}

static bool find_late(const struct made_job *job, struct overview_finding *finding, double *waits) {
    struct overviewed made[RANKS_MAX];
    struct rank_collectives ranks[RANKS_MAX], *list[RANKS_MAX];
    struct sutra_error error;
    bool found;
    for (int i = 0; i < job->n_ranks; i++) {
        char *text = rank_text(job, i);
        overview_of(text, 1, &made[i]);
        free(text);
        ranks[i] = (struct rank_collectives){0};
        list[i] = &ranks[i];
        assert_int_equal(rank_collectives_take(made[i].context, &made[i].overview, i, &ranks[i], &error), SUTRA_OK);
    }
    assert_int_equal(stragglers_find(list, (size_t)job->n_ranks, &made[0].scratch, finding, &found, &error), SUTRA_OK);
    for (int i = 0; i < job->n_ranks; i++) {
        waits[i] = ranks[i].wait_percent;
        collective_calls_free(&ranks[i].calls);
        overview_forget(&made[i]);
    }
    return found;
}

#define EVEN                                                                                                           \
    { 1000, 1000, 1000, 1000 }
#define SLOW                                                                                                           \
    { 1400, 1400, 1400, 1400 }
#define MINUTE 60000000

static const struct made_job jobs[] = {
    {.name = "one that computes longer",
     .n_ranks = 3,
     .work_us = {EVEN, SLOW, EVEN},
     .late = 1,
     .words = "comes last to 4 collectives"},
    {.name = "told by arguments",
     .n_ranks = 2,
     .work_us = {SLOW, EVEN},
     .told = true,
     .late = 0,
     .words = "rank 1 waits 400 us"},
    {.name = "clocks that are apart",
     .n_ranks = 3,
     .work_us = {EVEN, EVEN, SLOW},
     .clock_us = {0, MINUTE, -MINUTE},
     .told = true,
     .late = 2,
     .words = "Rank 2 holds the others up"},
    {.name = "one that begins late",
     .n_ranks = 2,
     .work_us = {EVEN, EVEN},
     .begins_us = {900, 0},
     .late = 0,
     .words = "begins the step 900 us late"},
    {.name = "all alike", .n_ranks = 4, .work_us = {EVEN, EVEN, EVEN, EVEN}, .late = -1},
    {.name = "a little later", .n_ranks = 2, .work_us = {EVEN, {1040, 1040, 1040, 1040}}, .late = -1},
    {.name = "one after the other",
     .n_ranks = 4,
     .work_us =
         {{1400, 1000, 1000, 1000}, {1000, 1400, 1000, 1000}, {1000, 1000, 1400, 1000}, {1000, 1000, 1000, 1400}},
     .late = -1},
    {.name = "ends that lie apart",
     .n_ranks = 2,
     .work_us = {EVEN, {3000, 1000, 1000, 1000}},
     .apart_us = 200,
     .begins_us = {0, 0},
     .late = -1},
    {.name = "one rank", .n_ranks = 1, .work_us = {SLOW}, .late = -1},
};

static void who_comes_last_holds_the_others_up(void **state) {
    (void)state;
    size_t n_right = 0, n = sizeof jobs / sizeof *jobs;
    for (size_t i = 0; i < n; i++) {
        struct overview_finding finding = {.n_numbers = 0};
        double waits[RANKS_MAX];
        bool found = find_late(&jobs[i], &finding, waits);
        bool right = found == (jobs[i].late >= 0);
        if (found)
            right = right && finding.rule == FINDING_STRAGGLER && finding.numbers[0].value == jobs[i].late &&
                    strstr(finding.text, jobs[i].words) && waits[jobs[i].late] == 0 && finding.win > 5;
        for (int rank = 0; rank < jobs[i].n_ranks; rank++)
            right &= !found ? waits[rank] == 0 : rank == jobs[i].late || waits[rank] > 5;
        if (!right)
            print_error("%s: %s\n", jobs[i].name, found ? finding.text : "nothing");
        n_right += right;
    }
    assert_int_equal(n_right, n);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(who_comes_last_holds_the_others_up)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
