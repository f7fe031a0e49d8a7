/*
 * test_unknown_launches.c - launches by calls that chakra_trace_link does not know: counted and named for ET+, linked
 * with any_launch.
 */
#include "link_case.h"

#define HOST                              HOST_OF(ROOT "," NODE("2", "a", "7") "," NODE("3", "b", "8"))
#define OPERATORS                         CPU("a", "1", "10", "9", "5", "7") "," CPU("b", "1", "20", "9", "6", "8")
#define CALL(kind, name, ts, correlation) EVENT(kind, name, "1", ts, "1", "'correlation':" correlation)
#define LONG_KERNEL(name, ts, dur, correlation, external)                                                              \
    EVENT("kernel", name, "'stream 7'", ts, dur, "'correlation':" correlation ",'External id':" external ",'stream':7")

#define ARROW(phase, id, tid, ts) "{'ph':'" phase "','cat':'ac2g','name':'ac2g','id':" id ",'tid':" tid ",'ts':" ts "}"
#define UNNUMBERED                EVENT("kernel", "k", "'stream 7'", "12", "5", "'External id':5,'stream':7")

static void calls_of_any_name_launch_on_request(void **state) {
    (void)state;
    static const struct {
        const char *what, *events, *plus, *any; /* nodes without and with any_launch */
        uint64_t n_without, n_unknown, n_without_any;
    } cases[] = {
        {"a graph is launched", CALL("cuda_runtime", "cudaGraphLaunch", "11", "1") "," KERNEL("k", "12", "1", "5"),
         "0 root; 1 a; 2 b", "0 root; 1 a; 2 k; 3 b", 1, 1, 0},
        {"no call has the correlation",
         CALL("cuda_runtime", "cudaGraphLaunch", "11", "2") "," KERNEL("k", "12", "1", "5"), "0 root; 1 a; 2 b",
         "0 root; 1 a; 2 b", 1, 0, 1},
        {"a known call counts before others",
         CALL("cuda_driver", "cuLaunchKernel", "11", "1") "," CALL("cuda_runtime", "cudaGraphLaunch", "21", "1") "," //
         KERNEL("k", "22", "1", "99"),
         "0 root; 1 a; 2 k; 3 b", "0 root; 1 a; 2 k; 3 b", 0, 0, 0},
        {"a call of the runtime counts before one of the driver",
         CALL("cuda_runtime", "cudaGraphLaunch", "11", "1") "," CALL("cuda_driver", "cuGraphLaunch", "21", "1") "," //
         KERNEL("k", "22", "1", "99"),
         "0 root; 1 a; 2 b", "0 root; 1 a; 2 k; 3 b", 1, 1, 0},
        {"GPU nodes of one operator are in the order of their starts",
         LAUNCH("1", "11", "1") "," CALL("cuda_runtime", "cudaGraphLaunch", "12", "2") "," LAUNCH("1", "13", "3") "," //
         KERNEL("k1", "14", "1", "5") "," KERNEL("k2", "15", "2", "5") "," KERNEL("k3", "16", "3", "5"),
         "0 root; 1 a; 2 k1; 3 k3; 4 b", "0 root; 1 a; 2 k1; 3 k2; 4 k3; 5 b", 1, 1, 0},
        {"an arrow starts at a call",
         LAUNCH("1", "11", "44") "," ARROW("s", "9", "1", "11") "," ARROW("f", "9", "'stream 7'", "12") "," UNNUMBERED,
         "0 root; 1 a; 2 b", "0 root; 1 a; 2 k; 3 b", 1, 0, 0},
        {"an arrow starts where no call begins",
         LAUNCH("1", "11", "44") "," ARROW("s", "9", "1", "12") "," ARROW("f", "9", "'stream 7'", "12") "," UNNUMBERED,
         "0 root; 1 a; 2 b", "0 root; 1 a; 2 b", 1, 0, 1},
        {"an arrow ends at another activity",
         LAUNCH("1", "11", "44") "," ARROW("s", "9", "1", "11") "," ARROW("f", "9", "'stream 7'", "13") "," UNNUMBERED,
         "0 root; 1 a; 2 b", "0 root; 1 a; 2 b", 1, 0, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char device[4000];
        snprintf(device, sizeof device, DEVICE_OF("%s,%s"), OPERATORS, cases[i].events);
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
    (void)state;
    static const char device[] =
        DEVICE_OF(OPERATORS ","                                                                                   //
                  CALL("cuda_runtime", "c1", "11", "1") "," CALL("cuda_runtime", "c2", "11", "2") ","             //
                  CALL("cuda_runtime", "c3", "11", "3") "," CALL("cuda_runtime", "c4", "11", "4") ","             //
                  CALL("cuda_runtime", "c5", "11", "5") "," CALL("cuda_runtime", "c6", "11", "6") ","             //
                  KERNEL("k", "12", "1", "5") "," KERNEL("k", "20", "2", "5") "," KERNEL("k", "30", "3", "5") "," //
                  KERNEL("k", "40", "4", "5") "," KERNEL("k", "50", "5", "5") "," KERNEL("k", "60", "6", "5") "," //
                  KERNEL("k", "70", "6", "5"));
    struct outcome outcome = link_texts(HOST, device, 0);
    assert_int_equal(outcome.status, SUTRA_OK);
    assert_string_equal(
        outcome.warnings,
        "7 of 7 GPU activities, 100.0 % of the GPU time, are launched by calls that chakra_trace_link "
        "does not know: c6 2, c1 1, c2 1, c3 1, c4 1 and 1 other (the first: 'k', event 8): ET+ lacks them, .et files with "
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
    (void)state;
#define FEW(dur)                                                                                                       \
    DEVICE_OF(OPERATORS                                                                                                \
              "," LAUNCH("1", "11", "1") "," CALL("cuda_runtime", "cudaGraphLaunch", "12", "2") "," LONG_KERNEL(       \
                  "k", "100", "95", "1", "5") "," LONG_KERNEL("g", "300", dur, "2", "5"))
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
