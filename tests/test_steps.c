/*
 * test_steps.c - tests steps of a window and their components: small traces with results computed by hand; on random
 * traces the components must add up to the step's duration.
 */
#include "analyze/overview/overview.h"
#include "analyze/overview/steps.h"
#include "generate/random.h"
#include "overview_trace.h"

struct stepped {
    struct overviewed of;
    struct overview_steps steps;
};

static void steps_of(const char *text, const char *annotation, struct stepped *made) {
    struct sutra_error error;
    overview_of(text, 1, &made->of);
    assert_int_equal(
        overview_steps_make(&made->of.overview, annotation, &made->of.arena, &made->of.scratch, &made->steps, &error),
        SUTRA_OK);
}

/* "10-40: 5 0 0 25 0 0 0 0 host 30 of 1": bounds, parts in their order, the host's time, pieces of work;
 * microseconds. */
static void tell(const struct overview_steps *steps, char *text) {
    *text = 0;
    for (row_t i = 0; i < steps->n; i++) {
        const struct overview_step *step = &steps->list[i];
        text += sprintf(text, "%s%g-%g:", i ? " | " : "", (double)step->begin / 1000, (double)step->end / 1000);
        for (int part = 0; part < N_STEP_PARTS; part++)
            text += sprintf(text, " %g", (double)step->ticks[part] / 1000);
        text += sprintf(text, " host %g of %u", (double)step->host / 1000, (unsigned)step->n_pieces);
    }
}

struct step_case {
    const char *name, *annotation, *events;
    enum steps_source source;
    const char *expected;
};

static void check_all(const struct step_case *cases, size_t n) {
    char text[4096];
    for (size_t i = 0; i < n; i++) {
        struct stepped made;
        steps_of(cases[i].events, cases[i].annotation, &made);
        tell(&made.steps, text);
        if (strcmp(text, cases[i].expected) != 0)
            print_error("%s\n", cases[i].name);
        assert_string_equal(text, cases[i].expected);
        assert_int_equal(made.steps.source, cases[i].source);
        overview_forget(&made.of);
    }
}

#define N(cases) (sizeof(cases) / sizeof *(cases))
#define RUN(at, start, correlation)                                                                                    \
    "cudaLaunchKernel ts=" #at "+1 correlation=" #correlation "; kernel k stream=7 ts=" #start                         \
    "+8 correlation=" #correlation "; "

static void steps_of_the_profiler_are_all_of_the_window(void **state) {
    static const struct step_case cases[] = {
        {"nothing", NULL, "", STEPS_NONE, ""},
        {"the second begins where the first ends, and goes on to the end of its work", NULL,
         "user_annotation ProfilerStep#1 ts=0+40; user_annotation ProfilerStep#2 ts=50+30; " RUN(10, 12, 1)
             RUN(60, 62, 2) "cudaLaunchKernel ts=78+1 correlation=3; "
                            "kernel ncclKernel stream=8 ts=85+15 correlation=3",
         STEPS_PROFILER, "0-50: 8 0 0 42 0 0 0 0 host 50 of 1 | 50-100: 8 15 0 27 0 0 0 0 host 50 of 2"},
        {"where the host runs ahead, a step begins when the work of the one before is done", NULL,
         "user_annotation ProfilerStep#1 ts=0+10; user_annotation ProfilerStep#2 ts=10+10; "
         "user_annotation ProfilerStep#3 ts=20+10; cudaLaunchKernel ts=1+1 correlation=1; "
         "kernel k stream=7 ts=5+25 correlation=1; cudaLaunchKernel ts=12+1 correlation=2; "
         "kernel k stream=7 ts=30+20 correlation=2; cudaLaunchKernel ts=22+1 correlation=3; "
         "kernel k stream=7 ts=52+28 correlation=3",
         STEPS_PROFILER,
         "0-30: 25 0 0 5 0 0 0 0 host 30 of 1 | 30-50: 20 0 0 0 0 0 0 0 host 20 of 1 | "
         "50-80: 28 0 0 0 0 0 2 0 host 30 of 1"},
        {"loading, waiting, copies, work that was launched early, and the end", NULL,
         "user_annotation ProfilerStep#1 ts=0+100; user_annotation enumerate(DataLoader)#x ts=0+10; "
         "cudaMemcpyAsync ts=12+1 correlation=1; "
         "gpu_memcpy 'Memcpy HtoD' stream=7 ts=15+5 correlation=1 'memory bandwidth (GB/s)'=1; "
         "cudaLaunchKernel ts=16+1 correlation=2; kernel k stream=7 ts=30+10 correlation=2; "
         "cudaStreamSynchronize ts=35+10 correlation=9; cudaLaunchKernel ts=55+5 correlation=3; "
         "kernel l stream=7 ts=60+10 correlation=3",
         STEPS_PROFILER, "0-100: 20 0 5 10 10 15 10 30 host 80 of 3"},
    };
    check_all(cases, N(cases));
}

static void annotations_are_steps_on_request(void **state) {
    static const struct step_case cases[] = {
        {"by name, with a number or without; those within others are none", "train",
         "user_annotation ProfilerStep#1 ts=0+100; user_annotation train ts=10+20; user_annotation train ts=12+5; "
         "user_annotation train#2 ts=40+30; user_annotation trains ts=80+10; " RUN(20, 22, 1) RUN(50, 52, 2),
         STEPS_ANNOTATION, "10-30: 8 0 0 12 0 0 0 0 host 20 of 1 | 40-70: 8 0 0 12 0 0 0 10 host 30 of 1"},
        {"there is none", "train", "user_annotation ProfilerStep#1 ts=0+100; " RUN(20, 22, 1), STEPS_NONE, ""},
    };
    check_all(cases, N(cases));
}

/* Kernels of these names, one each 5 us from 2 us on, launched 2 us before. */
static void kernels_text(const char *names, char *text) {
    text += sprintf(text, "{};");
    for (int i = 0; names[i]; i++)
        if (names[i] != ' ')
            text += sprintf(text, "cudaLaunchKernel ts=%d+1 correlation=%d; kernel %c stream=7 ts=%d+3 correlation=%d;",
                            5 * i, i + 1, names[i], 5 * i + 2, i + 1);
}

static void repeated_steps_are_found(void **state) {
    static const struct {
        const char *name, *kernels, *begins; /* microseconds */
    } cases[] = {
        {"three times; b alone repeats otherwise", "abbcabbcabbc", "0 20 40"},
        {"rows before and after are not part of it", "xyabbcabbcabbcz", "10 30 50"},
        {"a layer repeats more often than the step", "sllluv sllluv sllluv sllluv", "0 35 70 105"},
        {"work may change places", "abcdabdcacbdabcd", "0 20 40 60"},
        {"twice is too few", "abbcabbc", ""},
        {"so is a part of the time", "abbcabbcabbc                            z", ""},
        {"the work differs", "abcdabcefabgghhh", ""},
        {"one kernel", "aaaa", "0 5 10 15"},
    };
    for (size_t i = 0; i < N(cases); i++) {
        char text[32768], begins[256] = "", *at = begins;
        struct stepped made;
        kernels_text(cases[i].kernels, text);
        steps_of(text, NULL, &made);
        for (row_t k = 0; k < made.steps.n; k++)
            at += sprintf(at, "%s%g", k ? " " : "", (double)made.steps.list[k].begin / 1000);
        if (strcmp(begins, cases[i].begins) != 0)
            print_error("%s\n", cases[i].name);
        assert_string_equal(begins, cases[i].begins);
        assert_int_equal(made.steps.source, *begins ? STEPS_REPETITION : STEPS_NONE);
        overview_forget(&made.of);
    }
}

static void parts_of_random_steps_are_their_time(void **state) {
    static const char *const calls[] = {"cudaLaunchKernel", "cudaStreamSynchronize", "cudaMalloc", "cudaMemcpyAsync"};
    struct random random = {5};

    for (int round = 0; round < 200; round++) {
        char text[8192];
        char *at =
            text + sprintf(text, "user_annotation ProfilerStep#1 ts=0+60; user_annotation ProfilerStep#2 ts=70+80");
        for (int i = (int)random_below(&random, 30); i > 0; i--) {
            int ts = (int)random_below(&random, 200), dur = (int)random_below(&random, 40);
            int id = (int)random_below(&random, 12);
            if (random_below(&random, 2))
                at += sprintf(at, "; kernel %s pid=2 stream=7 ts=%d+%d correlation=%d", id % 3 ? "k" : "ncclKernel", ts,
                              dur, id);
            else
                at += sprintf(at, "; %s ts=%d+%d correlation=%d", calls[id % 4], ts, dur, id);
        }
        struct stepped made;
        steps_of(text, NULL, &made);
        int64_t all = 0;
        for (row_t i = 0; i < made.steps.n; i++) {
            const struct overview_step *step = &made.steps.list[i];
            int64_t sum = 0;
            for (int part = 0; part < N_STEP_PARTS; part++)
                sum += step->ticks[part];
            assert_int_equal(sum, step->end - step->begin);
            assert_in_range(step->host, 0, step->end - step->begin);
            all += sum;
        }
        assert_int_equal(all, overview_length(&made.of.overview));
        overview_forget(&made.of);
    }
}

/* ---- Tables ---- */

/* A row of the table of steps: rank, name, compute, idle time of the host. */
static void add_row(struct sutra_table *steps, int64_t rank, const char *name, double compute, double host) {
    table_integer(steps, rank);
    table_text(steps, name, strlen(name));
    table_real(steps, 0);
    table_real(steps, compute + host);
    for (int part = 0; part < N_STEP_PARTS; part++)
        table_real(steps, part == STEP_COMPUTE ? compute : part == STEP_WAIT_HOST ? host : 0);
    table_real(steps, host);
    table_real(steps, 0);
    table_integer(steps, 1);
}

static void slowest_step_is_reported_with_its_cause(void **state) {
    struct sutra_result result;
    char text[2048];
    assert_true(result_init(&result, overview_table_specs, SUTRA_OVERVIEW_N_TABLES));
    struct sutra_table *steps = result_table_begin(&result, SUTRA_OVERVIEW_STEPS);
    struct sutra_table *ranks = result_table_begin(&result, SUTRA_OVERVIEW_STEP_RANKS);
    struct sutra_table *indices = result_table_begin(&result, SUTRA_OVERVIEW_STEP_INDICES);
    add_row(steps, 0, "s1", 10, 5);
    add_row(steps, 0, "s2", 11, 25);
    add_row(steps, 0, "s3", 12, 6);
    add_row(steps, 3, "s1", 20, 5);
    add_row(steps, 3, "s2", 11, 5);
    step_ranks_add(ranks, steps);
    step_indices_add(indices, steps);
    tell_table(ranks, NULL, text);
    assert_string_equal(text, "0,3,23.0,11.357816691600547,15.0,18.0,36.0,11.0,0.0,0.0,12.0,0.0,0.0,0.0,0.0,0.0,s2,"
                              "idle: host,19.0 | "
                              "3,2,20.5,6.363961030678928,16.0,20.5,25.0,15.5,0.0,0.0,5.0,0.0,0.0,0.0,0.0,0.0,s1,"
                              "compute,4.5");
    tell_table(indices, NULL, text);
    assert_string_equal(text, "s1,2,20.0,7.0710678118654755,15.0,20.0,25.0,3,compute,5.0 | "
                              "s2,2,26.0,14.142135623730951,16.0,26.0,36.0,0,idle: host,10.0 | "
                              "s3,1,18.0,-,18.0,18.0,18.0,0,,0.0");
    result_free(&result);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_of_the_profiler_are_all_of_the_window),
        cmocka_unit_test(annotations_are_steps_on_request),
        cmocka_unit_test(repeated_steps_are_found),
        cmocka_unit_test(parts_of_random_steps_are_their_time),
        cmocka_unit_test(slowest_step_is_reported_with_its_cause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
