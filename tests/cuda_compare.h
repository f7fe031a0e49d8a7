/*
 * cuda_compare.h - opens the CPU engine and a CUDA engine with a device of a given memory size that runs on the CPU
 * (host_gpu.cpp).
 */
#ifndef TESTS_CUDA_COMPARE_H
#define TESTS_CUDA_COMPARE_H

#include "base/threads.h"
#include "engine_compare.h"
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

struct engines {
    struct pool *pool;
    struct engine engine[2]; /* CPU, CUDA */
    struct cuda_engine *made;
    struct said said;
};

/* HOST_GPU_COLUMNS=apart in the environment runs all tests with columns apart. */
static inline struct cuda_engine_options options_for(bool may_fall_back, struct said *said) {
    return (struct cuda_engine_options){.columns = getenv("HOST_GPU_COLUMNS") ? COLUMNS_APART : COLUMNS_TOGETHER,
                                        .may_fall_back = may_fall_back,
                                        .warn = on_warning,
                                        .note = on_note,
                                        .arg = said};
}

/* The CUDA engine on a device of so many bytes, which fails from a kernel on. */
static inline void engines_open_on(struct engines *engines, unsigned n_threads, bool may_fall_back, size_t memory,
                                   row_t fails_from) {
    engines->said = (struct said){0, 0};
    struct cuda_engine_options options = options_for(may_fall_back, &engines->said);
    engines->pool = pool_create(n_threads);
    engines->engine[0] = engine_cpu(engines->pool);
    engines->made = host_gpu_open(engines->pool, &options, memory, fails_from, &engines->engine[1]);
}

static inline void engines_open(struct engines *engines) {
    engines_open_on(engines, 2, false, UNLIMITED, NEVER);
}

static inline void engines_close(struct engines *engines) {
    host_gpu_close(engines->made);
    pool_free(engines->pool);
}

static inline void compare(const struct table_shape *shape, uint64_t seed, row_t n, unsigned n_threads, size_t memory) {
    struct engines engines;
    engines_open_on(&engines, n_threads, false, memory, NEVER);
    compare_table(engines.engine, shape, seed, n);
    assert_int_equal(engines.said.warnings, 0);
    engines_close(&engines);
}

#endif
