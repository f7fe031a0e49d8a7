/*
 * cuda_compare.h - one table, both engines: the CUDA engine on a device of so many bytes that is played by the CPU.
 */
#ifndef TESTS_CUDA_COMPARE_H
#define TESTS_CUDA_COMPARE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine_tables.h"
#include "host_gpu.h"

#define NEVER     UINT32_MAX
#define UNLIMITED ((size_t)1 << 40)

struct said {
    unsigned warnings, notes;
};

static inline void on_warning(void *arg, const char *message) {
    assert_non_null(message);
    ((struct said *)arg)->warnings++;
}

static inline void on_note(void *arg, const char *message) {
    assert_non_null(message);
    ((struct said *)arg)->notes++;
}

static inline struct cuda_engine_options options_for(bool may_fall_back, struct said *said) {
    return (struct cuda_engine_options){
        .may_fall_back = may_fall_back, .warn = on_warning, .note = on_note, .arg = said};
}

static inline void expect_equal(const char *name, uint64_t seed, row_t n, const struct results *got,
                                const struct results *expected) {
    struct difference difference;
    if (results_differ(got, expected, n, &difference))
        fail_msg("%s, %" PRIu32 " rows, seed %" PRIu64 ": %s", name, n, seed, difference.text);
}

static inline void compare(const struct shape *shape, uint64_t seed, row_t n, unsigned n_threads, size_t memory) {
    struct big big;
    struct results got, expected;
    struct sutra_error error;
    struct said said = {0, 0};
    struct cuda_engine_options options = options_for(false, &said);
    struct pool *pool = pool_create(n_threads);
    struct engine cpu = engine_cpu(pool), cuda;
    struct cuda_engine *made = host_gpu_open(pool, &options, memory, NEVER, &cuda);
    make(shape, seed, n, &big);
    assert_int_equal(run_all(&cpu, &big, &expected, &error), SUTRA_OK);
    if (run_all(&cuda, &big, &got, &error))
        fail_msg("%s, %" PRIu32 " rows: %s", shape->name, n, error.message);
    expect_equal(shape->name, seed, n, &got, &expected);
    assert_int_equal(said.warnings, 0);
    results_free(&got);
    results_free(&expected);
    big_free(&big);
    host_gpu_close(made);
    pool_free(pool);
}

/* Both engines, the CUDA engine without limits. */
struct engines {
    struct pool *pool;
    struct engine engine[2]; /* CPU, CUDA */
    struct cuda_engine *made;
    struct said said;
};

static inline void engines_open(struct engines *engines) {
    engines->said = (struct said){0, 0};
    struct cuda_engine_options options = options_for(false, &engines->said);
    engines->pool = pool_create(2);
    engines->engine[0] = engine_cpu(engines->pool);
    engines->made = host_gpu_open(engines->pool, &options, UNLIMITED, NEVER, &engines->engine[1]);
}

static inline void engines_close(struct engines *engines) {
    host_gpu_close(engines->made);
    pool_free(engines->pool);
}

#endif
