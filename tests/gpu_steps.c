/*
 * gpu_steps.c - tests the steps of the CUDA engine on a real GPU against the CPU engine, array by array.
 *
 * Input: 100 seeds of random operator tables of all shapes; tables at the edges of warps and blocks; a GPU with limited
 * memory, which splits tables; 100 seeds each of events, storages, intervals and values.
 *
 *     gpu_steps [--apart | --apart-unfilled] [NAME...]
 *
 * Runs the tests with these names, which may contain * and ?, or all tests. The options are those of enum cuda_columns.
 * Exits with 64 if no test has a name, and with 77 without a GPU.
 */
#include <fnmatch.h>

#include "base/threads.h"
#include "cuda/engine_cuda.h"
#include "engine_compare.h"

struct engines {
    struct pool *pool;
    struct engine engine[2]; /* CPU, CUDA */
    unsigned n_said;         /* how often the device left a step to the CPU */
};

static void say(void *arg, const char *message) {
    struct engines *engines = arg;
    engines->n_said++;
    print_message("%s\n", message);
}

static enum cuda_columns columns;

static void engines_open(struct engines *engines, uint64_t memory) {
    struct sutra_error error;
    struct cuda_engine_options options = {
        .memory = memory, .columns = columns, .warn = say, .note = say, .arg = engines};
    engines->n_said = 0;
    engines->pool = pool_create(2);
    engines->engine[0] = engine_cpu(engines->pool);
    if (cuda_engine_open(engines->pool, &options, &engines->engine[1], &error))
        fail_msg("%s", error.message);
}

static void engines_close(struct engines *engines) {
    cuda_engine_close(&engines->engine[1]);
    pool_free(engines->pool);
}

static void both_engines_agree_at_the_edges_of_warps_and_blocks(void **state) {
    static const row_t sizes[] = {0, 1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 255, 256, 257, 65535, 65536, 65537};
    struct engines engines;
    engines_open(&engines, 0);
    for (size_t s = 0; s < N_SHAPES; s++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            compare_table(engines.engine, &shapes[s], i + 1, sizes[i]);
    engines_close(&engines);
}

static void both_engines_agree_on_random_tables(void **state) {
    struct engines engines;
    engines_open(&engines, 0);
    for (size_t s = 0; s < N_SHAPES; s++)
        for (uint64_t seed = 1; seed <= 100; seed++)
            compare_table(engines.engine, &shapes[s], seed, (row_t)(seed * 97));
    engines_close(&engines);
}

static void a_device_that_is_too_small_works_in_pieces(void **state) {
    static const struct table_shape many_threads = {"many threads", 300, 1 << 14, 500, NESTED, DOUBLES};
    struct engines engines;
    engines_open(&engines, 3000000);
    for (uint64_t seed = 1; seed <= 20; seed++)
        compare_table(engines.engine, &many_threads, seed, 20000);
    engines_close(&engines);
}

/* More rows than one launch has threads for. */
static void both_engines_agree_on_twenty_million_operators(void **state) {
    static const struct table_shape large = {"nested doubles", 4, (int64_t)1 << 32, 5000, NESTED, DOUBLES};
    struct engines engines;
    engines_open(&engines, 0);
    compare_table(engines.engine, &large, 1, 20000000);
    engines_close(&engines);
}

/* ---- Steps that know no operators ---- */

static void compare_columns(const struct engines *engines, uint64_t seed, row_t n) {
    compare_events(engines->engine, seed, n);
    compare_tensors(engines->engine, seed, n);
    compare_intervals(engines->engine, seed, n);
    compare_sums(engines->engine, seed, n);
}

static void both_engines_agree_on_columns_at_the_edges_of_warps(void **state) {
    static const row_t sizes[] = {0, 1, 31, 32, 33, 1000};
    struct engines engines;
    engines_open(&engines, 0);
    for (uint64_t seed = 1; seed <= 36; seed++)
        compare_columns(&engines, seed, sizes[seed % (sizeof sizes / sizeof *sizes)]);
    engines_close(&engines);
}

static void both_engines_agree_on_random_columns(void **state) {
    struct engines engines;
    engines_open(&engines, 0);
    for (uint64_t seed = 37; seed <= 97; seed++)
        compare_columns(&engines, seed, (row_t)(seed * 97));
    assert_in_range(engines.n_said, 0, 30); /* overlaps upon overlaps are left to the CPU, but not all events */
    engines_close(&engines);
}

static void both_engines_agree_on_columns_of_a_million_rows(void **state) {
    struct engines engines;
    engines_open(&engines, 0);
    for (uint64_t seed = 98; seed <= 100; seed++)
        compare_columns(&engines, seed, 1000000);
    assert_in_range(engines.n_said, 0, 2);
    engines_close(&engines);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(both_engines_agree_at_the_edges_of_warps_and_blocks),
    cmocka_unit_test(both_engines_agree_on_random_tables),
    cmocka_unit_test(a_device_that_is_too_small_works_in_pieces),
    cmocka_unit_test(both_engines_agree_on_twenty_million_operators),
    cmocka_unit_test(both_engines_agree_on_columns_at_the_edges_of_warps),
    cmocka_unit_test(both_engines_agree_on_random_columns),
    cmocka_unit_test(both_engines_agree_on_columns_of_a_million_rows),
};
#define N_TESTS (sizeof tests / sizeof *tests)

int main(int argc, char **argv) {
    char why[160];
    if (argc > 1 && strcmp(argv[1], "--apart") == 0)
        columns = COLUMNS_APART;
    else if (argc > 1 && strcmp(argv[1], "--apart-unfilled") == 0)
        columns = COLUMNS_APART_UNFILLED;
    if (columns != COLUMNS_TOGETHER)
        argv++, argc--;
    for (int i = 1; i < argc; i++) {
        size_t t = 0;
        while (t < N_TESTS && fnmatch(argv[i], tests[t].name, 0) != 0)
            t++;
        if (t < N_TESTS)
            continue;
        fprintf(stderr, "gpu_steps: no test has the name '%s'; the tests are:\n", argv[i]);
        for (t = 0; t < N_TESTS; t++)
            fprintf(stderr, "  %s\n", tests[t].name);
        return 64;
    }
    if (cuda_device_count(why, sizeof why) == 0) {
        printf("skipped: no GPU: %s\n", why);
        return 77;
    }
    if (argc == 1)
        return cmocka_run_group_tests(tests, NULL, NULL);
    int n_failed = 0;
    for (int i = 1; i < argc; i++) {
        cmocka_set_test_filter(argv[i]);
        n_failed += cmocka_run_group_tests(tests, NULL, NULL);
    }
    return n_failed ? 1 : 0;
}
