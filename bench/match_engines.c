/*
 * match_engines.c - measures the matching steps of each engine; prints JSON for bench/engine.
 *
 *     build/match_engines SIZE SHAPE [ROUNDS [DEVICE]]      SHAPE: see `hard_shapes`, or "list"
 *
 * Input: a synthetic table of SIZE CPU operators and SIZE GPU operators in memory. The CPU engine runs with one thread
 * and with all threads, the CUDA engine on a device if there is one. Results are compared before times are printed.
 * Each round is printed, including the first.
 */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "cuda/engine_cuda.h"
#include "generate/match_table.h"
#ifdef HAVE_GPU_FLOORS
#include "gpu_floors.h"
#endif

#define ROUNDS_MAX  100
#define THREADS_MAX 256
#define SLOW        50000000u /* operators from which the CPU engine does one round */

/* Spans are for each operator; they are multiplied with the size. In these shapes, unlike "recorded", questions come in
 * no order, from anywhere, and times are as hard as the name says. */
static const struct table_shape hard_shapes[] = {
    {"nested", 8, 200, 5000, NESTED, DOUBLES},
    {"overlapping", 8, 200, 2000, OVERLAPPING, DOUBLES},
    {"far-overlaps", 2, 8, 1 << 16, OVERLAPPING, DOUBLES},
    {"equal-starts", 4, 1, 50, NESTED, INTEGERS},
    {"mixed", 8, 200, 5000, NESTED, MIXED},
    {"threads", 4096, 200, 5000, NESTED, DOUBLES},
    {"one-parent", 1, 200, 100, ONE_PARENT, DOUBLES},
};
#define N_HARD_SHAPES (sizeof hard_shapes / sizeof *hard_shapes)

static const char *const step_names[N_MATCH_STEPS] = {"sort", "exclusive", "order", "parents", "total"};

struct round {
    double seconds[N_MATCH_STEPS]; /* wall time of a step */
    double device[CUDA_PHASES];    /* of the device's own work */
};

struct measured {
    struct match_results results;
    struct round rounds[ROUNDS_MAX];
};

static void fail(const char *what, const char *why) {
    fprintf(stderr, "match_engines: %s: %s\n", what, why);
    exit(2);
}

static struct measured *measured_new(row_t n) {
    struct measured *made = calloc(1, sizeof *made);
    if (!made || match_results_make(&made->results, n, NULL))
        fail("memory", "the system has no more");
    return made;
}

static void measured_free(struct measured *made) {
    arena_free(&made->results.arena);
    free(made);
}

/* One round of all steps. */
static void match(const struct engine *engine, const struct match_table *table, struct measured *to,
                  struct round *round) {
    struct sutra_error error;
    if (match_measure(engine, table, &to->results, round->seconds, &error))
        fail(engine->name, error.message);
}

static void expect_same(const struct measured *got, const struct measured *expected, row_t n, const char *what) {
    if (match_results_differ(&got->results, &expected->results, n))
        fail(what, "its results differ from those of the CPU engine on one thread");
}

/* ---- JSON ---- */

static void print_round(const char *separator, const struct round *round, bool on_device) {
    printf("%s{\"seconds\": {", separator);
    for (int i = 0; i < N_MATCH_STEPS; i++)
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

static struct measured *measure_cpu(const struct match_table *table, unsigned n_threads, unsigned n_rounds) {
    struct measured *measured = measured_new(table->ops.n);
    struct pool *pool = pool_create(n_threads);
    if (!pool)
        fail("threads", "the system has no more");
    struct engine engine = engine_cpu(pool);
    for (unsigned i = 0; i < n_rounds; i++)
        match(&engine, table, measured, &measured->rounds[i]);
    pool_free(pool);
    return measured;
}

static void say(void *arg, const char *message) {
    (void)arg;
    fprintf(stderr, "match_engines: %s\n", message);
}

#ifdef HAVE_GPU_FLOORS
/* Prints the floors for the bytes that each of the rounds so far has copied. */
static void print_floors(struct engine *engine, row_t n, unsigned n_rounds) {
    struct cuda_engine_counts counts;
    struct gpu_floors floors;
    struct sutra_error error;
    cuda_engine_counts(engine, &counts);
    if (gpu_floors_measure(engine, n, counts.bytes_up / n_rounds, counts.bytes_down / n_rounds, n_rounds, &floors,
                           &error))
        fail("floors", error.message);
    printf(
        ", \"floors\": {\"sort\": %.9f, \"up\": %.9f, \"down\": %.9f, \"up_pageable\": %.9f, \"down_pageable\": %.9f}",
        floors.sort, floors.up, floors.down, floors.up_pageable, floors.down_pageable);
}
#endif

static void measure_round_on_device(struct engine *engine, const struct match_table *table, struct measured *measured,
                                    unsigned i) {
    double before[CUDA_PHASES], after[CUDA_PHASES];
    struct round *round = &measured->rounds[i];
    cuda_engine_seconds(engine, before);
    match(engine, table, measured, round);
    cuda_engine_seconds(engine, after);
    for (int phase = 0; phase < CUDA_PHASES; phase++)
        round->device[phase] = after[phase] - before[phase];
}

/* Prints the times of the device, or why there is none. */
static void tell_device(const struct match_table *table, const struct measured *expected, unsigned n_threads,
                        unsigned n_rounds, uint32_t number) {
    struct cuda_engine_options options = {.device = number, .warn = say, .note = say};
    struct cuda_device device;
    struct sutra_error error;
    struct engine engine;
    struct pool *pool = pool_create(n_threads);
    double begin = clock_seconds();
    if (!pool || cuda_engine_open(pool, &options, &engine, &error)) {
        printf(", \"gpu\": null, \"no_gpu\": \"%s\"", error.message);
        pool_free(pool);
        return;
    }
    double open = clock_seconds() - begin;
    struct measured *measured = measured_new(table->ops.n);
    cuda_device_describe(number, &device);
    cuda_engine_time(&engine);
    for (unsigned i = 0; i < n_rounds; i++)
        measure_round_on_device(&engine, table, measured, i);
    expect_same(measured, expected, table->ops.n, "the CUDA engine");
    printf(", \"gpu\": \"%s\", \"open\": %.6f", device.name, open);
#ifdef HAVE_GPU_FLOORS
    print_floors(&engine, table->ops.n, n_rounds);
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

/* Makes the table of a shape. */
static void make_table(struct pool *pool, const char *name, row_t n, struct match_table *table) {
    enum sutra_status status = SUTRA_USAGE;
    struct sutra_error error = {.message = "no such shape"};
    if (strcmp(name, table_shape_recorded.name) == 0)
        status = match_table_make_recorded(pool, n, table, &error);
    for (size_t i = 0; i < N_HARD_SHAPES; i++)
        if (strcmp(hard_shapes[i].name, name) == 0) {
            struct table_shape shape = table_shape_scale(&hard_shapes[i], n);
            status = match_table_make(pool, &shape, 1, n, table, &error);
        }
    if (status)
        fail(name, error.message);
}

int main(int argc, char **argv) {
    unsigned n_rounds = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 5, n_threads = processors();
    if (argc == 3 && strcmp(argv[2], "list") == 0) {
        printf("%s\n", table_shape_recorded.name);
        for (size_t i = 0; i < N_HARD_SHAPES; i++)
            printf("%s\n", hard_shapes[i].name);
        return 0;
    }
    double size = argc > 2 ? strtod(argv[1], NULL) : 0;
    if (!(size >= 1 && size <= 1e9) || n_rounds < 1 || n_rounds > ROUNDS_MAX)
        fail("usage", "match_engines SIZE SHAPE [ROUNDS [DEVICE]]");
    row_t n = (row_t)size;
    struct match_table table;
    struct pool *pool = pool_create(n_threads);
    make_table(pool, argv[2], n, &table);
    pool_free(pool);
    unsigned n_on_cpu = n < SLOW ? n_rounds : 1;
    struct measured *one = measure_cpu(&table, 1, n_on_cpu), *all = measure_cpu(&table, n_threads, n_on_cpu);
    expect_same(all, one, n, "the CPU engine on all threads");
    printf("{\"operators\": %" PRIu32 ", \"shape\": \"%s\", \"threads\": %u", n, argv[2], n_threads);
    print_rounds("cpu_one", one, n_on_cpu, false);
    print_rounds("cpu_all", all, n_on_cpu, false);
    tell_device(&table, one, n_threads, n_rounds, argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 0);
    printf("}\n");
    measured_free(one);
    measured_free(all);
    match_table_free(&table);
    return 0;
}
