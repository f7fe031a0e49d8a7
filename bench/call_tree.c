/*
 * call_tree.c - measures the call tree and the tensor ids of synthetic events, by size; prints a table.
 *
 *     build/call_tree [LARGEST [ROUNDS [THREADS]]]      10,000,000 events, 5 rounds, 2 threads
 *
 * Events resemble a training step: operators nested up to eight deep on two forward threads, backward operators on
 * threads of their own that continue on a forward thread, memory events, inputs that use the memory; some ends are
 * missing. Threads are recorded one after the other, so that starts must be sorted.
 *
 * Timed: sutra_tree_build(), then its two expensive steps alone, then forward/backward pairs. Seconds are the minimum
 * of the rounds; exit code 1 if the target is missed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench.h"
#include "context/context.h"
#include "generate/random.h"
#include "tree/tree.h"

#define TARGET_EVENTS  1000000
#define TARGET_SECONDS 0.25
#define NESTED_MAX     8

enum { FORWARD_THREADS = 2, THREADS = 4, TENSORS_MAX = 3, STORAGES = 4096 };

static void add_inputs(struct sutra_profile *profile, struct random *random) {
    static const int64_t sizes[] = {8, 16}, strides[] = {16, 1};
    struct sutra_error error;
    enum sutra_status status = SUTRA_OK;
    for (uint32_t i = random_below(random, TENSORS_MAX + 1); i > 0 && !status; i--) {
        uint32_t storage = random_below(random, STORAGES);
        struct sutra_tensor tensor = {.impl = 0x700000 + 64 * (uint64_t)(storage + random_below(random, 3)),
                                      .storage = 0x900000 + 4096 * (uint64_t)storage,
                                      .dtype = "float",
                                      .dim = 2};
        status = sutra_inputs_add_tensor(profile->inputs, &tensor, sizes, strides, &error);
    }
    if (status || sutra_inputs_add(profile->inputs, SUTRA_INPUT_END, &error))
        fail("out of memory");
}

static void add_memory(struct sutra_profile *profile, uint32_t thread, int64_t now, struct random *random) {
    row_t row = profile_append(profile, SUTRA_EVENT_ALLOCATION, profile->n);
    profile->start[row] = profile->end[row] = now;
    profile->thread[row] = thread;
    profile->memory[row] = 0x900000 + 4096 * (uint64_t)random_below(random, STORAGES);
    profile->bytes[row] = random_below(random, 2) ? 4096 : -4096;
}

static void add_operator(struct sutra_profile *profile, uint32_t thread, int64_t now, struct random *random) {
    row_t row = profile_append(profile, SUTRA_EVENT_OPERATOR, profile->n);
    bool backward = thread >= FORWARD_THREADS;
    profile->start[row] = now;
    profile->end[row] = EVENT_NO_END;
    profile->thread[row] = thread;
    profile->tid[row] = thread + 1;
    profile->sequence[row] = random_below(random, 4) ? (int64_t)random_below(random, 1 << 20) : -1;
    if (backward) {
        profile->forward[row] = thread - FORWARD_THREADS;
        profile->forward_tid[row] = thread - FORWARD_THREADS + 1;
    }
    add_inputs(profile, random);
}

/* One thread's events: a walk up and down a stack. */
static void add_thread(struct sutra_profile *profile, uint32_t thread, row_t n, struct random *random) {
    row_t open[NESTED_MAX], n_open = 0;
    int64_t now = 1000;
    for (row_t made = 0; made < n; now += random_between(random, 50, 4000)) {
        uint32_t what = random_below(random, 10);
        if (n_open && (what < 4 || n_open == NESTED_MAX)) {
            row_t row = open[--n_open];
            if (random_below(random, 1000))
                profile->end[row] = now;
            continue;
        }
        made++;
        if (what >= 8) {
            add_memory(profile, thread, now, random);
            continue;
        }
        add_operator(profile, thread, now, random);
        open[n_open++] = profile->n - 1;
    }
    while (n_open)
        profile->end[open[--n_open]] = now++;
}

static struct sutra_profile *make_profile(row_t n) {
    struct sutra_error error;
    struct random random = {n};
    struct sutra_profile *profile = profile_new();
    if (!profile || !profile_reserve(profile, n + THREADS) ||
        sutra_inputs_create(SUTRA_TORCH_VERSION_2, &profile->inputs, &error))
        fail("out of memory");
    for (uint32_t thread = 0; thread < THREADS; thread++)
        add_thread(profile, thread, n / THREADS, &random);
    profile->n_threads = THREADS;
    profile->has_ids = true;
    profile_count(profile);
    return profile;
}

struct times {
    double tree, processors, parents, ids, pairs;
};

static double least(double a, double b) {
    return a == 0 || b < a ? b : a;
}

static void time_steps(const struct engine *engine, const struct sutra_tree *tree, struct times *times) {
    struct sutra_error error;
    struct arena arena = {0};
    struct tensor_ids ids;
    row_t n = tree->profile->n;
    row_t *parent = malloc(((size_t)n + 1) * sizeof *parent);
    int64_t *closing = malloc(((size_t)n + 1) * sizeof *closing);
    double begin = seconds(CLOCK_MONOTONIC);
    if (!parent || !closing ||
        engine->event_parents(engine->state, &(struct event_parents_step){&tree->sorted.events, parent, closing},
                              &error))
        fail("out of memory");
    times->parents = least(times->parents, seconds(CLOCK_MONOTONIC) - begin);
    begin = seconds(CLOCK_MONOTONIC);
    if (tensor_ids_find(&ids, tree, engine, SUTRA_TORCH_VERSION_2, &arena, &error))
        fail("out of memory");
    times->ids = least(times->ids, seconds(CLOCK_MONOTONIC) - begin);
    free(parent);
    free(closing);
    arena_free(&arena);
}

static void time_round(struct sutra_context *context, const struct sutra_profile *profile, struct times *times) {
    struct sutra_tree *tree = NULL;
    struct sutra_correlation *correlation = NULL;
    struct sutra_error error;
    double begin = seconds(CLOCK_MONOTONIC), worked = seconds(CLOCK_PROCESS_CPUTIME_ID);
    if (sutra_tree_build(context, profile, SUTRA_TORCH_VERSION_2, &tree, &error))
        fail(error.message);
    times->tree = least(times->tree, seconds(CLOCK_MONOTONIC) - begin);
    times->processors = least(times->processors, seconds(CLOCK_PROCESS_CPUTIME_ID) - worked);
    time_steps(&context->engine, tree, times);
    sutra_tree_free(tree);
    begin = seconds(CLOCK_MONOTONIC);
    if (sutra_correlation_find(context, profile, NULL, &correlation, &error))
        fail(error.message);
    times->pairs = least(times->pairs, seconds(CLOCK_MONOTONIC) - begin);
    sutra_correlation_free(correlation);
}

static bool print_row(const struct sutra_profile *profile, const struct times *times) {
    double n = profile->n;
    bool counts = profile->n >= TARGET_EVENTS / 2 && profile->n <= TARGET_EVENTS;
    bool met = times->tree <= TARGET_SECONDS;
    printf("| %u | %llu | %.4f | %.4f | %.4f | %.4f | %.4f | %.0f | %s |\n", profile->n,
           (unsigned long long)profile->inputs->n_tensors, times->tree, times->processors, times->parents, times->ids,
           times->pairs, times->tree / n * 1e9,
           !counts ? ""
           : met   ? "met"
                   : "MISSED");
    fflush(stdout);
    return met || !counts;
}

int main(int argc, char **argv) {
    unsigned long largest = argc > 1 ? strtoul(argv[1], NULL, 10) : 10000000;
    unsigned long rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 5;
    struct sutra_context_options options = {.size = sizeof options,
                                            .n_threads = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 2};
    struct sutra_context *context = NULL;
    struct sutra_error error;
    bool met = true;
    if (sutra_context_create(&options, &context, &error))
        fail(error.message);
    printf("| events | tensors | tree and ids, s | of processors, s | parents, s | ids, s | pairs, s | ns an event | "
           "at most %.2f s |\n",
           TARGET_SECONDS);
    printf("|---|---|---|---|---|---|---|---|---|\n");
    for (row_t n = 10000; n <= largest; n *= 10) {
        struct sutra_profile *profile = make_profile(n);
        struct times times = {0};
        for (unsigned long round = 0; round < rounds; round++)
            time_round(context, profile, &times);
        met = print_row(profile, &times) && met;
        sutra_profile_free(profile);
    }
    sutra_context_free(context);
    return met ? 0 : 1;
}
