/*
 * test_cuda_bytes.c - tests how many bytes the CUDA engine copies to and from the device for one matching (sorted starts,
 * exclusive durations, order between threads, parents), with the CPU in place of the device (host_gpu.cpp). Columns that
 * travel with fewer bytes give the results of the CPU engine.
 */
#include "cuda_compare.h"

#define N    80000
#define SOME 20000 /* enough for several parts of the host's columns */

static const struct table_shape recorded = {"recorded", 8, (int64_t)200 * N, 5000, NESTED, DOUBLES};

/* Replaces the threads. */
static void set_threads(struct match_table *big, uint32_t n_threads) {
    for (row_t i = 0; i < big->ops.n; i++) {
        big->thread[i] = i % n_threads;
        big->launch_thread[i] = i % 3 ? i * 7 % n_threads : i * 7;
    }
    big->ops.n_threads = n_threads;
}

/* Copied bytes of a matching, whose results are compared. */
static uint64_t bytes_of_matching(const char *name, const struct match_table *big) {
    row_t n = big->ops.n;
    struct match_results results[2];
    struct cuda_engine_counts counts;
    struct engines engines;
    double seconds[N_MATCH_STEPS];
    engines_open(&engines);
    for (int e = 0; e < 2; e++) {
        assert_int_equal(match_results_make(&results[e], n, NULL), SUTRA_OK);
        assert_int_equal(match_measure(&engines.engine[e], big, &results[e], seconds, NULL), SUTRA_OK);
    }
    if (match_results_differ(&results[0], &results[1], n))
        fail_msg("%s: the results of the engines differ", name);
    cuda_engine_counts(&engines.engine[1], &counts);
    arena_free(&results[0].arena);
    arena_free(&results[1].arena);
    engines_close(&engines);
    return counts.bytes_up + counts.bytes_down;
}

static void expect_bytes_per_operator(const char *name, const struct match_table *big, double expected) {
    double bytes = (double)bytes_of_matching(name, big), of_columns = expected * big->ops.n;
    if (bytes < of_columns || bytes > of_columns + 1000) /* and a few bytes for each step */
        fail_msg("%s: %.3f bytes are copied for an operator, not %.3f", name, bytes / big->ops.n, expected);
}

/* Up: starts 8, operators 2 + 8 + 8 + 4 + 1, queries 8 + 2 + 4 + 1; down: order 4, durations 8, order between threads 4,
 * parents 4. */
static void a_recorded_trace_copies_at_most_68_bytes_per_operator(void **state) {
    struct match_table big;
    make(&recorded, 1, N, &big);
    match_table_order_queries(&big, true);
    expect_bytes_per_operator("recorded", &big, 66);
    match_table_order_queries(&big, false);
    expect_bytes_per_operator("ascending starts", &big, 62);
    memset(big.coalesced, 0, N);
    memset(big.nccl, 1, N);
    expect_bytes_per_operator("equal flags", &big, 60);
    big.nccl[N / 2] = 0;
    expect_bytes_per_operator("one other flag", &big, 61);
    match_table_free(&big);
}

static void kinds_of_numbers_are_copied_if_they_differ(void **state) {
    static const struct table_shape mixed = {"mixed", 8, (int64_t)200 * N, 5000, NESTED, MIXED};
    struct match_table big;
    make(&mixed, 1, N, &big);
    match_table_order_queries(&big, true);
    expect_bytes_per_operator("mixed", &big, 66 + 3); /* the sorted starts, those of queries, are doubles */
    match_table_free(&big);
    make(&recorded, 1, N, &big);
    match_table_order_queries(&big, true);
    number_set(big.dur, N - 1, number_integer(5));
    expect_bytes_per_operator("one integer", &big, 66 + 2); /* the kind of its exclusive duration */
    match_table_free(&big);
}

static void threads_from_65535_on_are_copied_with_32_bits(void **state) {
    static const struct table_shape overlapping = {"threads", 8, (int64_t)200 * N, 2000, OVERLAPPING, DOUBLES};
    static const struct {
        uint32_t n_threads;
        double bytes;
    } cases[] = {{1000, 66}, {65534, 66}, {65535, 70}, {70000, 70}};
    static const uint32_t marked[] = {65535, 65536};
    struct match_table big;
    make(&overlapping, 1, N, &big);
    match_table_order_queries(&big, true);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        set_threads(&big, cases[i].n_threads);
        big.markers.thread = cases[i].n_threads;
        /* A flag for each thread comes down. */
        expect_bytes_per_operator("threads", &big, cases[i].bytes + (double)cases[i].n_threads / N);
        for (size_t k = 0; cases[i].n_threads == 65534 && k < sizeof marked / sizeof *marked; k++) {
            big.markers.thread = marked[k];
            bytes_of_matching("markers", &big);
        }
    }
    match_table_free(&big);
}

static void ids_that_are_small_are_copied_with_32_bits(void **state) {
    static const struct {
        value_key id;
        double bytes;
    } cases[] = {
        {KEY_ABSENT, 66},
        {KEY_ABSENT + 0xFFFF, 66},
        {KEY_ABSENT + 0x10000, 70},
        {-0x10001, 70},
        {-0x10000, 66},
        {(value_key)UINT32_MAX - 0x20000, 66},
        {(value_key)UINT32_MAX - 0x1FFFF, 70},
        {INT64_MAX, 70},
    };
    struct match_table big;
    make(&recorded, 1, SOME, &big);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        match_table_order_queries(&big, true);
        big.external[SOME - 3] = cases[i].id;
        expect_bytes_per_operator("id of an operator", &big, cases[i].bytes);
        big.wanted[0] = big.wanted[SOME - 2] = cases[i].id;
        expect_bytes_per_operator("id of both", &big, cases[i].bytes > 66 ? 74 : 66);
    }
    match_table_free(&big);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recorded_trace_copies_at_most_68_bytes_per_operator),
        cmocka_unit_test(kinds_of_numbers_are_copied_if_they_differ),
        cmocka_unit_test(threads_from_65535_on_are_copied_with_32_bits),
        cmocka_unit_test(ids_that_are_small_are_copied_with_32_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
