/*
 * test_unknown_launches.c - launches by calls that chakra_trace_link does not know: counted and named for ET+, linked
 * with any_launch.
 */
#include "link_case.h"

#define HOST "1 root; 2 a rf_id=7; 3 b rf_id=8"
#define OPERATORS                                                                                                      \
    "cpu_op a ts=10+9 'External id'=5 'Record function id'=7; "                                                        \
    "cpu_op b ts=20+9 'External id'=6 'Record function id'=8; "

static void calls_of_any_name_launch_on_request(void **state) {
    static const struct {
        const char *what, *events, *plus, *any; /* nodes without and with any_launch */
        uint64_t n_without, n_unknown, n_without_any;
    } cases[] = {
        {"a graph is launched",
         "cudaGraphLaunch ts=11+1 correlation=1; kernel k stream=7 ts=12+5 correlation=1 'External id'=5",
         "0 root; 1 a; 2 b", "0 root; 1 a; 2 k; 3 b", 1, 1, 0},
        {"no call has the correlation",
         "cudaGraphLaunch ts=11+1 correlation=2; kernel k stream=7 ts=12+5 correlation=1 'External id'=5",
         "0 root; 1 a; 2 b", "0 root; 1 a; 2 b", 1, 0, 1},
        {"a known call counts before others",
         "cuda_driver cuLaunchKernel ts=11+1 correlation=1; cudaGraphLaunch ts=21+1 correlation=1; "
         "kernel k stream=7 ts=22+5 correlation=1 'External id'=99",
         "0 root; 1 a; 2 k; 3 b", "0 root; 1 a; 2 k; 3 b", 0, 0, 0},
        {"a call of the runtime counts before one of the driver",
         "cudaGraphLaunch ts=11+1 correlation=1; cuda_driver cuGraphLaunch ts=21+1 correlation=1; "
         "kernel k stream=7 ts=22+5 correlation=1 'External id'=99",
         "0 root; 1 a; 2 b", "0 root; 1 a; 2 k; 3 b", 1, 1, 0},
        {"GPU nodes of one operator are in the order of their starts",
         "cudaLaunchKernel ts=11+1 correlation=1; cudaGraphLaunch ts=12+1 correlation=2; "
         "cudaLaunchKernel ts=13+1 correlation=3; "
         "kernel k1 stream=7 ts=14+5 correlation=1 'External id'=5; "
         "kernel k2 stream=7 ts=15+5 correlation=2 'External id'=5; "
         "kernel k3 stream=7 ts=16+5 correlation=3 'External id'=5",
         "0 root; 1 a; 2 k1; 3 k3; 4 b", "0 root; 1 a; 2 k1; 3 k2; 4 k3; 5 b", 1, 1, 0},
        {"an arrow starts at a call",
         "cudaLaunchKernel ts=11+1 correlation=44; ac2g ac2g ph=s id=9 ts=11; "
         "ac2g ac2g ph=f id=9 pid=0 tid=7 ts=12; kernel k stream=7 ts=12+5 'External id'=5",
         "0 root; 1 a; 2 b", "0 root; 1 a; 2 k; 3 b", 1, 0, 0},
        {"an arrow starts where no call begins",
         "cudaLaunchKernel ts=11+1 correlation=44; ac2g ac2g ph=s id=9 ts=12; "
         "ac2g ac2g ph=f id=9 pid=0 tid=7 ts=12; kernel k stream=7 ts=12+5 'External id'=5",
         "0 root; 1 a; 2 b", "0 root; 1 a; 2 b", 1, 0, 1},
        {"an arrow ends at another activity",
         "cudaLaunchKernel ts=11+1 correlation=44; ac2g ac2g ph=s id=9 ts=11; "
         "ac2g ac2g ph=f id=9 pid=0 tid=7 ts=13; kernel k stream=7 ts=12+5 'External id'=5",
         "0 root; 1 a; 2 b", "0 root; 1 a; 2 b", 1, 0, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char device[4000];
        snprintf(device, sizeof device, "%s%s", OPERATORS, cases[i].events);
        for (int any = 0; any < 2; any++) {
            struct outcome outcome = link_texts(HOST, device, any ? CASE_ANY_LAUNCH : 0);
            const char *expected = any ? cases[i].any : cases[i].plus;
            assert_int_equal(outcome.status, SUTRA_OK);
            char *line = nodes_show(outcome.text, "id name");
            if (strcmp(line, expected))
                fail_msg("%s, %d: %s, expected %s", cases[i].what, any, line, expected);
            assert_int_equal(outcome.report.n_gpu_unknown_launch, any ? 0 : cases[i].n_unknown);
            assert_int_equal(outcome.report.n_gpu_without_launch, any ? cases[i].n_without_any : cases[i].n_without);
            free(line);
            free(outcome.text);
        }
    }
}

static void at_most_five_calls_are_named(void **state) {
    static const char device[] =
        OPERATORS "cuda_runtime c1 ts=11+1 correlation=1; cuda_runtime c2 ts=11+1 correlation=2; "
                  "cuda_runtime c3 ts=11+1 correlation=3; cuda_runtime c4 ts=11+1 correlation=4; "
                  "cuda_runtime c5 ts=11+1 correlation=5; cuda_runtime c6 ts=11+1 correlation=6; "
                  "kernel k stream=7 ts=12+5 correlation=1 'External id'=5; "
                  "kernel k stream=7 ts=20+5 correlation=2 'External id'=5; "
                  "kernel k stream=7 ts=30+5 correlation=3 'External id'=5; "
                  "kernel k stream=7 ts=40+5 correlation=4 'External id'=5; "
                  "kernel k stream=7 ts=50+5 correlation=5 'External id'=5; "
                  "kernel k stream=7 ts=60+5 correlation=6 'External id'=5; "
                  "kernel k stream=7 ts=70+5 correlation=6 'External id'=5";
    struct outcome outcome = link_texts(HOST, device, 0);
    assert_int_equal(outcome.status, SUTRA_OK);
    assert_string_equal(
        outcome.warnings,
        "7 of 7 GPU activities, 100.0 % of the GPU time, are launched by calls that chakra_trace_link "
        "does not know: c6 2, c1 1, c2 1, c3 1, c4 1 and 1 other (the first: 'k', event 8): ET+ lacks them, .et"
        " files with "
        "measured times contain them\n");
    free(outcome.text);
    outcome = link_texts(HOST, device, CASE_STRICT);
    assert_int_equal(outcome.status, SUTRA_STRICT);
    assert_non_null(strstr(outcome.error.message, "c6 2"));
    outcome = link_texts(HOST, device, CASE_STRICT | CASE_ANY_LAUNCH);
    assert_int_equal(outcome.status, SUTRA_OK);
    assert_string_equal(outcome.warnings, "");
    free(outcome.text);
}

static void few_unknown_launches_are_counted_without_a_warning(void **state) {
#define FEW(dur)                                                                                                       \
    "cpu_op a ts=10+9 'External id'=5 'Record function id'=7; "                                                        \
    "cpu_op b ts=20+9 'External id'=6 'Record function id'=8; cudaLaunchKernel ts=11+1 correlation=1; "                \
    "cudaGraphLaunch ts=12+1 correlation=2; kernel k stream=7 ts=100+95 correlation=1 'External id'=5; "               \
    "kernel g stream=7 ts=300+" dur " correlation=2 'External id'=5"
    struct outcome outcome = link_texts(HOST, FEW("5"), CASE_STRICT); /* 5 % */
    assert_int_equal(outcome.status, SUTRA_OK);
    assert_string_equal(outcome.warnings, "");
    assert_int_equal(outcome.report.n_gpu_unknown_launch, 1);
    free(outcome.text);
    outcome = link_texts(HOST, FEW("6"), CASE_STRICT);
    assert_int_equal(outcome.status, SUTRA_STRICT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_of_any_name_launch_on_request),
        cmocka_unit_test(at_most_five_calls_are_named),
        cmocka_unit_test(few_unknown_launches_are_counted_without_a_warning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
