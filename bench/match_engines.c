/*
 * match_engines.c - measures the matching steps of each engine; prints JSON for bench/engine.
 *
 *     build/match_engines SIZE SHAPE [ROUNDS [DEVICE]]      SHAPE: see `shapes`, or "list"
 *
 * Input: a synthetic table of SIZE CPU operators and SIZE GPU operators in memory. Steps as in `sutra link`: sorted
 * starts, exclusive durations, inter-thread order, and parents of GPU operators. The CPU engine runs with one thread
 * and with all threads, the CUDA engine on a device if there is one. Results are compared before times are printed.
 * Each round is printed, including the first.
 */
#include <sched.h>
#include <time.h>

#include "../tests/engine_tables.h"
#include "base/threads.h"
#include "cuda/engine_cuda.h"
#ifdef HAVE_GPU_FLOORS
#include "gpu_floors.h"
#endif

#define GAP         1000 /* of the order between threads, as sutra link has it */
#define ROUNDS_MAX  100
#define THREADS_MAX 256
#define SLOW        50000000u /* operators from which the CPU engine does one round */

/* Spans are for each operator; they are multiplied with the size. The first shape is like a recorded trace; in the
 * others questions come in no order, from anywhere, and times are as hard as the name says. */
static const struct shape bench_shapes[] = {
    {"recorded", 8, 200, 5000, true, DOUBLES},     {"nested", 8, 200, 5000, true, DOUBLES},
    {"overlapping", 8, 200, 2000, false, DOUBLES}, {"far-overlaps", 2, 8, 1 << 16, false, DOUBLES},
    {"equal-starts", 4, 1, 50, true, INTEGERS},    {"mixed", 8, 200, 5000, true, MIXED},
    {"threads", 4096, 200, 5000, true, DOUBLES},
};
#define N_BENCH_SHAPES (sizeof bench_shapes / sizeof *bench_shapes)
#define SPAN_MAX       ((int64_t)1 << 31)

enum step { STEP_SORT, STEP_EXCLUSIVE, STEP_ORDER, STEP_PARENTS, STEP_TOTAL, N_STEPS };
static const char *const step_names[N_STEPS] = {"sort", "exclusive", "order", "parents", "total"};

struct round {
    double seconds[N_STEPS];    /* wall time of a step */
    double device[CUDA_PHASES]; /* of the device's own work */
};

struct measured {
    row_t *sorted, *before, *parent;
    struct number_column exclusive;
    struct exclusive_anomalies anomalies;
    struct round rounds[ROUNDS_MAX];
};

static void fail(const char *what, const char *why) {
    fprintf(stderr, "match_engines: %s: %s\n", what, why);
    exit(2);
}

static double clock_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Results are written before the first round, so that no round pays for new pages, and no old result is taken for one of
 * this engine. */
static struct measured *measured_new(row_t n) {
    struct measured *made = room(1, sizeof *made);
    made->sorted = room(n, sizeof *made->sorted);
    made->before = room(n, sizeof *made->before);
    made->parent = room(n, sizeof *made->parent);
    made->exclusive = numbers(n);
    memset(made->sorted, 0xA5, n * sizeof *made->sorted);
    memset(made->before, 0xA5, n * sizeof *made->before);
    memset(made->parent, 0xA5, n * sizeof *made->parent);
    memset(made->exclusive.bits, 0xA5, n * sizeof *made->exclusive.bits);
    memset(made->exclusive.kind, 0xA5, n);
    return made;
}

static void measured_free(struct measured *made) {
    free(made->sorted), free(made->before), free(made->parent);
    free(made->exclusive.bits), free(made->exclusive.kind);
    free(made);
}

/* Makes the queries of a recorded trace: each operator launches one GPU operator, almost in time order. */
static void ask_in_order(struct big *big) {
    for (row_t i = 0; i < big->ops.n; i++) {
        row_t op = i ^ 1;
        op = op < big->ops.n ? op : i;
        big->external[i] = (value_key)i;
        big->wanted[i] = (value_key)op;
        big->launch_thread[i] = big->thread[op];
        column_set(big->launch_ts, i, number_add(number_at(big->ts, op), real(0.5)));
    }
}

/* One round of all steps. */
static void match(const struct engine *engine, const struct big *big, struct measured *to, struct round *round) {
    const struct cpu_ops *ops = &big->ops;
    struct sutra_error error;
    double at[N_STEPS];
    struct sort_numbers_step by_number = {big->launch_ts, ops->n, to->sorted};
    struct exclusive_durations_step exclusive = {ops, to->exclusive, &to->anomalies};
    struct thread_order_step thread_order = {ops, GAP, to->before};
    struct parents_step parents = {ops, &big->markers, &big->queries, to->parent};
    at[0] = clock_now();
    enum sutra_status status = engine->sort_numbers(engine->state, &by_number, &error);
    engine->load(engine->state, ops);
    at[1] = clock_now();
    if (!status)
        status = engine->exclusive_durations(engine->state, &exclusive, &error);
    at[2] = clock_now();
    if (!status)
        status = engine->thread_order(engine->state, &thread_order, &error);
    at[3] = clock_now();
    if (!status)
        status = engine->parents(engine->state, &parents, &error);
    at[4] = clock_now();
    engine->load(engine->state, NULL);
    if (status)
        fail(engine->name, error.message);
    for (int i = 0; i < STEP_TOTAL; i++)
        round->seconds[i] = at[i + 1] - at[i];
    round->seconds[STEP_TOTAL] = at[4] - at[0];
}

static void expect_same(const struct measured *got, const struct measured *expected, row_t n, const char *what) {
    size_t rows = n * sizeof(row_t);
    if (memcmp(got->sorted, expected->sorted, rows) != 0 || memcmp(got->before, expected->before, rows) != 0 ||
        memcmp(got->parent, expected->parent, rows) != 0 ||
        memcmp(got->exclusive.bits, expected->exclusive.bits, n * sizeof(uint64_t)) != 0 ||
        memcmp(got->exclusive.kind, expected->exclusive.kind, n) != 0 ||
        got->anomalies.n_replaced != expected->anomalies.n_replaced ||
        got->anomalies.n_rounded != expected->anomalies.n_rounded)
        fail(what, "its results differ from those of the CPU engine on one thread");
}

/* ---- JSON ---- */

static void print_round(const char *separator, const struct round *round, bool on_device) {
    printf("%s{\"seconds\": {", separator);
    for (int i = 0; i < N_STEPS; i++)
        printf("%s\"%s\": %.9f", i ? ", " : "", step_names[i], round->seconds[i]);
    printf("}");
    for (int i = 0; i < CUDA_PHASES && on_device; i++)
        printf("%s\"%s\": %.9f", i ? ", " : ", \"device\": {", cuda_phase_names[i], round->device[i]);
    if (on_device)
        printf("}");
    printf("}");
}

static void print_rounds(const char *name, const struct measured *measured, unsigned n, bool on_device) {
    printf(", \"%s\": [", name);
    for (unsigned i = 0; i < n; i++)
        print_round(i ? ", " : "", &measured->rounds[i], on_device);
    printf("]");
}

/* ---- Engines ---- */

static struct measured *measure_cpu(const struct big *big, unsigned n_threads, unsigned n_rounds) {
    struct measured *measured = measured_new(big->ops.n);
    struct pool *pool = pool_create(n_threads);
    if (!pool)
        fail("threads", "the system has no more");
    struct engine engine = engine_cpu(pool);
    for (unsigned i = 0; i < n_rounds; i++)
        match(&engine, big, measured, &measured->rounds[i]);
    pool_free(pool);
    return measured;
}

static void say(void *arg, const char *message) {
    (void)arg;
    fprintf(stderr, "match_engines: %s\n", message);
}

#ifdef HAVE_GPU_FLOORS
/* Prints the floors for the columns that go to the device and the results that come from it. */
static void print_floors(struct engine *engine, row_t n, unsigned n_rounds) {
    const uint64_t number = 9, ops = 2 * number + 4 + 8 + 1, queries = number + 4 + 8 + 1, results = number + 4 + 4 + 4;
    struct gpu_floors floors;
    struct sutra_error error;
    if (gpu_floors_measure(engine, n, n * (number + ops + queries), n * results, n_rounds, &floors, &error))
        fail("floors", error.message);
    printf(
        ", \"floors\": {\"sort\": %.9f, \"up\": %.9f, \"down\": %.9f, \"up_pageable\": %.9f, \"down_pageable\": %.9f}",
        floors.sort, floors.up, floors.down, floors.up_pageable, floors.down_pageable);
}
#endif

static void measure_round_on_device(struct engine *engine, const struct big *big, struct measured *measured,
                                    unsigned i) {
    double before[CUDA_PHASES], after[CUDA_PHASES];
    struct round *round = &measured->rounds[i];
    cuda_engine_seconds(engine, before);
    match(engine, big, measured, round);
    cuda_engine_seconds(engine, after);
    for (int phase = 0; phase < CUDA_PHASES; phase++)
        round->device[phase] = after[phase] - before[phase];
}

/* Prints the times of the device, or why there is none. */
static void tell_device(const struct big *big, const struct measured *expected, unsigned n_threads, unsigned n_rounds,
                        uint32_t number) {
    struct cuda_engine_options options = {.device = number, .warn = say, .note = say};
    struct cuda_device device;
    struct sutra_error error;
    struct engine engine;
    struct pool *pool = pool_create(n_threads);
    double begin = clock_now();
    if (!pool || cuda_engine_open(pool, &options, &engine, &error)) {
        printf(", \"gpu\": null, \"no_gpu\": \"%s\"", error.message);
        pool_free(pool);
        return;
    }
    double open = clock_now() - begin;
    struct measured *measured = measured_new(big->ops.n);
    cuda_device_describe(number, &device);
    cuda_engine_time(&engine);
    for (unsigned i = 0; i < n_rounds; i++)
        measure_round_on_device(&engine, big, measured, i);
    expect_same(measured, expected, big->ops.n, "the CUDA engine");
    printf(", \"gpu\": \"%s\", \"open\": %.6f", device.name, open);
#ifdef HAVE_GPU_FLOORS
    print_floors(&engine, big->ops.n, n_rounds);
#endif
    print_rounds("cuda", measured, n_rounds, true);
    measured_free(measured);
    cuda_engine_close(&engine);
    pool_free(pool);
}

/* ---- The program ---- */

static unsigned processors(void) {
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    return n < 1 ? 1 : n > THREADS_MAX ? THREADS_MAX : (unsigned)n;
}

static struct shape shape_of(const char *name, row_t n) {
    for (size_t i = 0; i < N_BENCH_SHAPES; i++)
        if (strcmp(bench_shapes[i].name, name) == 0) {
            struct shape shape = bench_shapes[i];
            shape.span = shape.span * n < SPAN_MAX ? shape.span * n : SPAN_MAX;
            return shape;
        }
    fail(name, "no such shape");
    return bench_shapes[0];
}

int main(int argc, char **argv) {
    unsigned n_rounds = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 5, n_threads = processors();
    if (argc == 3 && strcmp(argv[2], "list") == 0) {
        for (size_t i = 0; i < N_BENCH_SHAPES; i++)
            printf("%s\n", bench_shapes[i].name);
        return 0;
    }
    double size = argc > 2 ? strtod(argv[1], NULL) : 0;
    if (!(size >= 1 && size <= 1e9) || n_rounds < 1 || n_rounds > ROUNDS_MAX)
        fail("usage", "match_engines SIZE SHAPE [ROUNDS [DEVICE]]");
    row_t n = (row_t)size;
    struct shape shape = shape_of(argv[2], n);
    struct big big;
    struct pool *pool = pool_create(n_threads);
    make_with(pool, &shape, 1, n, &big);
    pool_free(pool);
    if (strcmp(shape.name, bench_shapes[0].name) == 0)
        ask_in_order(&big);
    unsigned n_on_cpu = n < SLOW ? n_rounds : 1;
    struct measured *one = measure_cpu(&big, 1, n_on_cpu), *all = measure_cpu(&big, n_threads, n_on_cpu);
    expect_same(all, one, n, "the CPU engine on all threads");
    printf("{\"operators\": %" PRIu32 ", \"shape\": \"%s\", \"threads\": %u", n, shape.name, n_threads);
    print_rounds("cpu_one", one, n_on_cpu, false);
    print_rounds("cpu_all", all, n_on_cpu, false);
    tell_device(&big, one, n_threads, n_rounds, argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 0);
    printf("}\n");
    measured_free(one);
    measured_free(all);
    big_free(&big);
    return 0;
}
