/*
 * test_timeline.c - tests nodes with measured times: one synthetic trace for each rule, simulated unchanged and with
 * scaled times.
 *
 * Each trace is a list of operators, kernels, calls and dependencies. Its nodes run on one CPU thread, one GPU for
 * compute and one for communication, or one GPU per stream.
 */
#include <math.h>

#include "base/threads.h"
#include "generate/random.h"
#include "match/steps.h"
#include "simulate/replay.h"
#include "simulate/timeline.h"
#include "unit.h"

#define OPS_MAX     12
#define KERNELS_MAX 12
#define CALLS_MAX   6

struct drawn_op {
    double start, end;
    uint32_t thread;
};

struct drawn_kernel {
    double launch, launched, start, end;
    uint32_t stream;
    uint8_t traits;
    uint32_t thread;
};

struct drawn_call {
    double start, end, before;
    uint32_t stream, thread;
};

struct drawn_order {
    uint32_t stream, awaited;
    double call, record;
};

/* Lists end where `end` (or `call` of an order) is 0. */
struct drawn {
    struct drawn_op ops[OPS_MAX];
    struct drawn_kernel kernels[KERNELS_MAX];
    struct drawn_call calls[CALLS_MAX];
    struct drawn_order orders[CALLS_MAX];
    bool per_stream, of_job;
    bool records_waits;           /* the trace records stream dependencies */
    double wait_calls[CALLS_MAX]; /* of cudaStreamWaitEvent, if the trace records no dependencies; they end with 0 */
    double min_gap_us;            /* 0: none is split off */
};

/* The result. */
struct result {
    struct arena arena;
    struct timeline_nodes nodes;
    struct timeline_report report;
};

/* ---- From lists to columns, to nodes ---- */

static struct pool *pool;
static struct engine engine;

#define COLUMN(type, n) ((type *)arena_alloc(arena, (n) + 1, sizeof(type)))

static struct timeline_ops take_ops(const struct drawn *drawn, struct arena *arena, uint64_t *next_id) {
    row_t n = 0;
    while (n < OPS_MAX && drawn->ops[n].end > 0)
        n++;
    uint64_t *id = COLUMN(uint64_t, n);
    double *start = COLUMN(double, n), *end = COLUMN(double, n);
    uint32_t *thread = COLUMN(uint32_t, n);
    for (row_t i = 0; i < n; i++) {
        id[i] = (*next_id)++;
        start[i] = drawn->ops[i].start;
        end[i] = drawn->ops[i].end;
        thread[i] = drawn->ops[i].thread;
    }
    return (struct timeline_ops){.n = n, .n_threads = 3, .id = id, .start = start, .end = end, .thread = thread};
}

static struct timeline_kernels take_kernels(const struct drawn *drawn, struct arena *arena, uint64_t *next_id) {
    row_t n = 0;
    while (n < KERNELS_MAX && drawn->kernels[n].end > 0)
        n++;
    uint64_t *id = COLUMN(uint64_t, n);
    double *start = COLUMN(double, n), *end = COLUMN(double, n), *launch = COLUMN(double, n),
           *launched = COLUMN(double, n);
    uint32_t *stream = COLUMN(uint32_t, n), *thread = COLUMN(uint32_t, n);
    uint8_t *traits = COLUMN(uint8_t, n);
    for (row_t i = 0; i < n; i++) {
        const struct drawn_kernel *kernel = &drawn->kernels[i];
        id[i] = (*next_id)++;
        start[i] = kernel->start;
        end[i] = kernel->end;
        launch[i] = kernel->launch;
        launched[i] = kernel->launched;
        stream[i] = kernel->stream;
        thread[i] = kernel->thread;
        traits[i] = kernel->traits;
    }
    return (struct timeline_kernels){.n = n,
                                     .n_streams = 3,
                                     .id = id,
                                     .start = start,
                                     .end = end,
                                     .stream = stream,
                                     .launch_start = launch,
                                     .launch_end = launched,
                                     .launch_thread = thread,
                                     .traits = traits};
}

static struct timeline_calls take_calls(const struct drawn *drawn, struct arena *arena) {
    row_t n = 0;
    while (n < CALLS_MAX && drawn->calls[n].end > 0)
        n++;
    struct timeline_calls calls = timeline_calls_alloc(arena, n);
    for (row_t i = 0; i < n; i++) {
        const struct drawn_call *call = &drawn->calls[i];
        timeline_calls_add(&calls,
                           (struct timeline_call){call->start, call->end, call->before, call->stream, call->thread});
    }
    return calls;
}

static struct timeline_orders take_orders(const struct drawn *drawn, struct arena *arena) {
    row_t n = 0;
    while (n < CALLS_MAX && drawn->orders[n].call > 0)
        n++;
    uint32_t *stream = COLUMN(uint32_t, n), *awaited = COLUMN(uint32_t, n);
    double *call = COLUMN(double, n), *record = COLUMN(double, n);
    for (row_t i = 0; i < n; i++) {
        stream[i] = drawn->orders[i].stream;
        awaited[i] = drawn->orders[i].awaited;
        call[i] = drawn->orders[i].call;
        record[i] = drawn->orders[i].record;
    }
    row_t n_calls = 0;
    while (n_calls < CALLS_MAX && drawn->wait_calls[n_calls] > 0)
        n_calls++;
    return (struct timeline_orders){.n = n,
                                    .stream = stream,
                                    .awaited = awaited,
                                    .call_start = call,
                                    .record_start = record,
                                    .n_streams = 5,
                                    .recorded = drawn->records_waits,
                                    .n_calls = n_calls,
                                    .calls = drawn->wait_calls};
}

static void make(const struct drawn *drawn, struct result *result) {
    struct sutra_error error;
    struct arena *arena = &result->arena;
    uint64_t next_id = 100;
    *arena = (struct arena){0};
    struct timeline_input input = {
        .ops = take_ops(drawn, arena, &next_id),
        .kernels = take_kernels(drawn, arena, &next_id),
        .calls = take_calls(drawn, arena),
        .orders = take_orders(drawn, arena),
        .options = {drawn->min_gap_us > 0 ? drawn->min_gap_us : INFINITY, drawn->per_stream, drawn->of_job}};
    input.first_new_id = next_id;
    assert_int_equal(timeline_build(&input, &engine, arena, &result->nodes, &result->report, &error), SUTRA_OK);
}

/* ---- From nodes to simulated time ---- */

/* Rows of nodes by rising id, as the simulator prefers them. */
static const uint64_t *sorting_ids;
static int compare_ids(const void *a, const void *b) {
    uint64_t x = sorting_ids[*(const row_t *)a], y = sorting_ids[*(const row_t *)b];
    return (x > y) - (x < y);
}

static uint32_t resource_of(const struct drawn *drawn, const struct timeline_nodes *nodes, row_t node) {
    if (nodes->role[node] != NODE_KERNEL)
        return 0;
    const struct drawn_kernel *kernel = &drawn->kernels[nodes->of[node]];
    return drawn->per_stream ? 1 + kernel->stream : kernel->traits & KERNEL_COMMUNICATES ? 2 : 1;
}

/* The nodes as a simulator runs them, with kernels' execution times `scale` as long. */
static struct replay_graph make_graph(const struct drawn *drawn, struct result *result, double scale) {
    const struct timeline_nodes *nodes = &result->nodes;
    struct arena *arena = &result->arena;
    const row_t n = nodes->n;
    row_t *order = COLUMN(row_t, n), *place = COLUMN(row_t, n), *n_waits = COLUMN(row_t, n),
          *waiters = COLUMN(row_t, nodes->n_deps);
    uint64_t *dur = COLUMN(uint64_t, n), *first = COLUMN(uint64_t, n + 1);
    uint32_t *resource = COLUMN(uint32_t, n);
    for (row_t i = 0; i < n; i++)
        order[i] = i;
    sorting_ids = nodes->id;
    qsort(order, n, sizeof *order, compare_ids);
    for (row_t i = 0; i < n; i++)
        place[order[i]] = i;
    uint64_t n_waiters = 0;
    for (row_t i = 0; i < n; i++) {
        row_t node = order[i];
        double us = (double)nodes->duration_us[node] + (scale - 1) * nodes->run_us[node];
        if (i)
            assert_true(nodes->id[node] != nodes->id[order[i - 1]]);
        dur[i] = us > 0 ? (uint64_t)(us * 1000) : 0;
        resource[i] = resource_of(drawn, nodes, node);
        n_waits[i] = (row_t)(nodes->first_dep[node + 1] - nodes->first_dep[node]);
        first[i] = n_waiters;
        for (row_t k = 0; k < n; k++)
            for (uint64_t d = nodes->first_dep[k]; d < nodes->first_dep[k + 1]; d++)
                if (nodes->deps[d] == node)
                    waiters[n_waiters++] = place[k];
    }
    first[n] = n_waiters;
    return (struct replay_graph){.n = n,
                                 .dur_ns = dur,
                                 .resource = resource,
                                 .n_resources = 4,
                                 .n_waits = n_waits,
                                 .first_waiter = first,
                                 .waiters = waiters};
}

/* All nodes must run. */
static struct replay_times run(const struct replay_graph *graph, struct arena *arena) {
    const row_t n = graph->n;
    const struct replay_job job = {1, graph, 0, NULL};
    struct replay_times times = {
        COLUMN(uint64_t, n), COLUMN(uint64_t, n), COLUMN(uint64_t, n), COLUMN(struct replay_node, n), 0, 0};
    struct sutra_error error;
    assert_int_equal(replay(&job, &times, &error), SUTRA_OK);
    assert_int_equal(times.n_ran, n);
    return times;
}

/* The simulated time in microseconds. */
static double simulate(const struct drawn *drawn, struct result *result, double scale) {
    const struct replay_graph graph = make_graph(drawn, result, scale);
    return (double)run(&graph, &result->arena).finish_ns / 1000;
}

/* Checks the simulated time to the microsecond: as measured, and with kernels half and twice as long. */
static void expect_times(const struct drawn *drawn, double measured, double half, double twice) {
    struct result result;
    make(drawn, &result);
    assert_true(fabs(result.report.measured_us - measured) < 1e-6);
    const double scales[] = {1, 0.5, 2}, expected[] = {measured, half, twice};
    for (int i = 0; i < 3; i++) {
        double us = simulate(drawn, &result, scales[i]);
        if (fabs(us - expected[i]) > 0.5)
            fail_msg("kernels %g times as long: %g us, expected %g", scales[i], us, expected[i]);
    }
    arena_free(&result.arena);
}

/* ---- A trace for each rule ---- */

static void durations_are_differences_of_rounded_cuts(void **state) {
    expect_times(
        &(struct drawn){.ops = {{0, 10.4, 0}, {10.4, 20.8, 0}, {20.8, 31.2, 0}, {31.2, 41.6, 0}, {41.6, 52, 0}}}, 52,
        52, 52);
}

static void a_parent_that_waits_for_another_thread_is_not_counted_twice(void **state) {
    const struct drawn drawn = {.ops = {{0, 100, 0}, {10, 90, 1}, {20, 50, 1}}};
    expect_times(&drawn, 100, 100, 100);
}

static void synchronization_lasts_until_its_stream_ends(void **state) {
    const struct drawn drawn = {.ops = {{0, 20, 0}, {20, 130, 0}, {130, 150, 0}},
                                .kernels = {{5, 10, 30, 120, 0, 0, 0}},
                                .calls = {{25, 121, 25, 0, 0}}};
    /* the launch's latency of 10 us after the end of the first operator stays; 30 us follow the kernel */
    expect_times(&drawn, 150, 105, 240);
}

static void synchronization_may_wait_for_its_own_launch(void **state) {
    const struct drawn drawn = {
        .ops = {{0, 100, 0}}, .kernels = {{10, 12, 20, 80, 0, 0, 0}}, .calls = {{15, 81, 15, STREAM_ANY, 0}}};
    expect_times(&drawn, 100, 70, 160);
}

static void event_synchronize_waits_for_launches_before_the_record(void **state) {
    const struct drawn drawn = {.ops = {{0, 30, 0}, {30, 110, 0}},
                                .kernels = {{5, 6, 10, 100, 0, 0, 0}, {20, 21, 100, 105, 0, 0, 0}},
                                .calls = {{40, 100.5, 12, 0, 0}}};
    expect_times(&drawn, 110, 65, 200);
}

static void a_copy_from_pageable_memory_blocks(void **state) {
    const struct drawn drawn = {.ops = {{0, 100, 0}},
                                .kernels = {{10, 12, 20, 80, 0, KERNEL_COPIES | KERNEL_PAGEABLE, 0}}};
    expect_times(&drawn, 100, 70, 160);
}

static void a_copy_whose_call_ends_after_it_blocks(void **state) {
    const struct drawn drawn = {.ops = {{0, 100, 0}}, .kernels = {{10, 81, 20, 80, 0, KERNEL_COPIES, 0}}};
    expect_times(&drawn, 100, 70, 160);
}

static void asynchronous_copy_does_not_block(void **state) {
    const struct drawn drawn = {.ops = {{0, 100, 0}}, .kernels = {{10, 12, 20, 80, 0, KERNEL_COPIES, 0}}};
    expect_times(&drawn, 100, 100, 140);
}

static void a_kernel_waits_for_the_one_before_it_on_its_stream(void **state) {
    const struct drawn drawn = {.ops = {{0, 10, 0}}, .kernels = {{2, 3, 10, 60, 0, 0, 0}, {4, 5, 60, 110, 0, 0, 0}}};
    expect_times(&drawn, 110, 60, 210);
}

static void a_stream_waits_for_another_ones_event(void **state) {
    const struct drawn drawn = {.ops = {{0, 10, 0}},
                                .kernels = {{2, 3, 10, 60, 0, 0, 0}, {6, 7, 62, 112, 1, 0, 0}},
                                .orders = {{1, 0, 5, 4}},
                                .per_stream = true};
    expect_times(&drawn, 112, 62, 212);
}

static void kernel_that_starts_at_the_end_of_another_stream_waits_for_it(void **state) {
    const struct drawn drawn = {
        .ops = {{0, 10, 0}}, .kernels = {{2, 3, 10, 60, 0, 0, 0}, {6, 7, 62, 112, 1, 0, 0}}, .per_stream = true};
    struct result result;
    make(&drawn, &result);
    assert_int_equal(result.report.n_inferred, 1);
    arena_free(&result.arena);
    expect_times(&drawn, 112, 62, 212);
}

static void unexplained_kernel_start_follows_the_cpu_clock(void **state) {
    const struct drawn drawn = {.ops = {{0, 10, 0}, {10, 50, 0}, {50, 200, 0}}, .kernels = {{2, 3, 100, 150, 0, 0, 0}}};
    struct result result;
    make(&drawn, &result);
    assert_int_equal(result.report.n_clocked, 1);
    assert_int_equal(result.report.n_late, 1);
    assert_true(fabs(result.report.late_us - 50) < 1e-9);
    arena_free(&result.arena);
    expect_times(&drawn, 200, 200, 200);
}

static void kernels_that_overlap_share_the_gpu(void **state) {
    /* 10..40 a, 40..70 b (which ends first), 70..100 a */
    const struct drawn drawn = {.ops = {{0, 10, 0}, {10, 36, 0}},
                                .kernels = {{2, 3, 10, 100, 0, 0, 0}, {30, 31, 40, 70, 1, 0, 0}}};
    struct result result;
    make(&drawn, &result);
    assert_int_equal(result.report.n_parts, 1);
    arena_free(&result.arena);
    expect_times(&drawn, 100, 70, 186); /* the second launch is at 36 however long kernels take, and 4 us are latency */
}

static void three_kernels_that_overlap_take_no_longer(void **state) {
    /* a from 10, b from 20, c from 30 to 60, b to 90, a to 100 */
    const struct drawn drawn = {
        .ops = {{0, 10, 0}, {10, 20, 0}, {20, 30, 0}},
        .kernels = {{2, 3, 10, 100, 0, 0, 0}, {14, 15, 20, 90, 1, 0, 0}, {24, 25, 30, 60, 2, 0, 0}}};
    expect_times(&drawn, 100, 65, 190);
}

/* As kernels of a graph do: no ring, whichever is interrupted. */
static void kernels_of_a_stream_may_overlap(void **state) {
    const struct drawn drawn = {
        .ops = {{0, 10, 0}, {200, 210, 0}},
        .kernels = {{5, 6, 10, 100, 0, 0, 0}, {6, 7, 20, 60, 0, 0, 0}, {7, 8, 99.5, 150, 0, 0, 0}},
        .calls = {{10, 160, 10, 0, 0}},
    };
    expect_times(&drawn, 210, 145, 340); /* 10 us are latency */
    struct drawn streams = drawn;
    streams.per_stream = true;
    struct result result;
    make(&streams, &result);
    simulate(&streams, &result, 1);
    arena_free(&result.arena);
}

static void streams_of_their_own_overlap(void **state) {
    const struct drawn drawn = {
        .ops = {{0, 10, 0}}, .kernels = {{2, 3, 12, 100, 0, 0, 0}, {4, 5, 12, 70, 1, 0, 0}}, .per_stream = true};
    struct result result;
    make(&drawn, &result);
    assert_int_equal(result.report.n_parts, 0);
    arena_free(&result.arena);
    expect_times(&drawn, 100, 56, 188);
}

static void communication_has_a_resource_of_its_own(void **state) {
    const struct drawn drawn = {.ops = {{0, 10, 0}},
                                .kernels = {{2, 3, 12, 100, 0, 0, 0}, {4, 5, 12, 70, 1, KERNEL_COMMUNICATES, 0}}};
    struct result result;
    make(&drawn, &result);
    assert_int_equal(result.report.n_parts, 0);
    arena_free(&result.arena);
    expect_times(&drawn, 100, 56, 188);
}

/* Stream 3 has no kernel; it waits for stream 0, and stream 1 waits for stream 3. */
static const struct drawn carried = {
    .ops = {{0, 10, 0}, {10, 20, 0}, {20, 30, 0}, {30, 40, 0}},
    .kernels = {{5, 6, 11, 111, 0, 0, 0}, {25, 26, 112, 162, 1, 0, 0}},
    .orders = {{3, 0, 12, 11}, {1, 3, 22, 21}},
    .per_stream = true,
    .of_job = true,
    .records_waits = true,
};

static void event_carries_the_waits_of_its_stream(void **state) {
    struct result result;
    expect_times(&carried, 162, 87, 312);
    make(&carried, &result);
    assert_int_equal(result.report.n_orders, 1);
    assert_int_equal(result.report.n_inferred, 0);
    arena_free(&result.arena);
}

/* A kernel of stream 3 consumes the wait, so that an event that is recorded later does not include it. */
static void kernel_consumes_the_waits_of_its_stream(void **state) {
    struct drawn drawn = carried;
    struct result result;
    drawn.kernels[2] = (struct drawn_kernel){15, 16, 112, 117, 2, 0, 0};
    drawn.orders[0].stream = 2;
    drawn.orders[1].awaited = 2;
    drawn.kernels[1].start = 118;
    make(&drawn, &result);
    assert_int_equal(result.report.n_orders, 2);
    const struct timeline_nodes *nodes = &result.nodes;
    bool waits = false;
    for (uint64_t d = nodes->first_dep[1]; d < nodes->first_dep[2]; d++) {
        assert_int_not_equal(nodes->deps[d], 0);
        waits |= nodes->deps[d] == 2;
    }
    assert_true(waits);
    arena_free(&result.arena);
}

static void synchronization_includes_the_waits_of_its_stream(void **state) {
    struct drawn drawn = carried;
    struct result result;
    drawn.kernels[1] = (struct drawn_kernel){0};
    drawn.orders[1].call = 0;
    drawn.ops[3].end = 150;
    drawn.calls[0] = (struct drawn_call){32, 112, 32, 3, 0};
    make(&drawn, &result);
    assert_int_equal(result.report.n_waits, 1);
    arena_free(&result.arena);
    expect_times(&drawn, 150, 100, 250);
}

/* The trace records no dependencies: the collective waits for the kernel launched before it, and the one after the call waits
 * for the collective. */
static void unrecorded_collective_order_is_inferred(void **state) {
    struct result result;
    const struct drawn drawn = {.ops = {{0, 10, 0}, {10, 20, 0}, {20, 30, 0}, {30, 40, 0}},
                                .kernels = {{5, 6, 11, 111, 0, 0, 0},
                                            {15, 16, 112, 162, 1, KERNEL_COMMUNICATES, 0},
                                            {25, 26, 163, 183, 0, 0, 0}},
                                .wait_calls = {22},
                                .per_stream = true,
                                .of_job = true};
    make(&drawn, &result);
    assert_int_equal(result.report.n_guessed, 2);
    assert_int_equal(result.report.n_inferred, 0);
    arena_free(&result.arena);
    expect_times(&drawn, 183, 98, 353);
}

static void communication_of_a_job_is_not_cut(void **state) {
    struct result result;
    struct drawn drawn = {
        .ops = {{0, 10, 0}, {10, 20, 0}},
        .kernels = {{5, 6, 8, 108, 1, KERNEL_COMMUNICATES, 0}, {15, 16, 30, 60, 2, KERNEL_COMMUNICATES, 0}}};
    for (int of_job = 0; of_job < 2; of_job++) {
        drawn.of_job = of_job;
        make(&drawn, &result);
        assert_int_equal(result.report.n_parts, of_job ? 0 : 1);
        arena_free(&result.arena);
    }
}

static void an_operator_is_cut_at_a_launch_that_it_outlasts(void **state) {
    const struct drawn drawn = {.ops = {{0, 100, 0}}, .kernels = {{10, 12, 14, 104, 0, 0, 0}}};
    struct result result;
    make(&drawn, &result);
    assert_int_equal(result.report.n_launch_cuts, 1);
    arena_free(&result.arena);
    expect_times(&drawn, 104, 100, 194);
}

static void long_gaps_become_nodes(void **state) {
    /* the parent works 10 us between its children; 30 us pass in no operator */
    struct drawn drawn = {.ops = {{0, 50, 0}, {5, 20, 0}, {30, 48, 0}, {80, 100, 0}}, .min_gap_us = 5};
    struct result result;
    make(&drawn, &result);
    assert_int_equal(result.report.n_gaps, 2);
    int n_op_gaps = 0, n_gaps = 0;
    for (row_t i = 0; i < result.nodes.n; i++) {
        n_op_gaps +=
            result.nodes.role[i] == NODE_OP_GAP && result.nodes.of[i] == 0 && result.nodes.duration_us[i] == 10;
        n_gaps += result.nodes.role[i] == NODE_GAP && result.nodes.duration_us[i] == 32;
    }
    assert_int_equal(n_op_gaps, 1);
    assert_int_equal(n_gaps, 1);
    arena_free(&result.arena);
    expect_times(&drawn, 100, 100, 100);
}

/* Durations stay integers that simulators refuse as too long, whichever way times lie apart. */
static void times_beyond_64_bits_are_limited(void **state) {
    static const double far[] = {1e19, 1e300, 1e308};
    for (size_t i = 0; i < sizeof far / sizeof *far; i++)
        for (int first = 0; first < 2; first++) {
            struct drawn drawn = {.ops = {{first ? 0 : -far[i], 50, 0}, {60, 70, 0}, {far[i], 1.5 * far[i], 0}},
                                  .kernels = {{61, 62, far[i], 1.25 * far[i], 1, 0, 0}},
                                  .min_gap_us = 5};
            struct result result;
            make(&drawn, &result);
            uint64_t longest = 0;
            for (row_t k = 0; k < result.nodes.n; k++)
                longest = result.nodes.duration_us[k] > longest ? result.nodes.duration_us[k] : longest;
            assert_in_range(longest, (uint64_t)1 << 60, (uint64_t)1 << 62);
            arena_free(&result.arena);
        }
}

static void a_trace_without_anything_takes_no_time(void **state) {
    struct result result;
    make(&(struct drawn){0}, &result);
    assert_int_equal(result.nodes.n, 0);
    arena_free(&result.arena);
}

static void kernels_without_operators_keep_their_streams(void **state) {
    const struct drawn drawn = {
        .kernels = {{10, 10, 10, 60, 0, 0, THREAD_UNKNOWN}, {60, 60, 60, 110, 0, 0, THREAD_UNKNOWN}}};
    struct result result;
    make(&drawn, &result);
    assert_true(fabs(simulate(&drawn, &result, 1) - 100) < 0.5);
    arena_free(&result.arena);
}

/* ---- Random traces ---- */

/* A processor with up to three threads whose operators nest at random; kernels in the order of their launches, each
 * after the one before it on its stream; calls that return when their streams have ended. */
static void draw(struct drawn *drawn, uint64_t seed) {
    struct random random = {seed};
    double now = 0, stream_end[3] = {0};
    int n_ops = 2 + (int)random_below(&random, OPS_MAX - 2), n_kernels = 0, n_calls = 0;
    *drawn = (struct drawn){.per_stream = random_below(&random, 2), .min_gap_us = random_below(&random, 2) ? 5 : 0};
    for (int i = 0; i < n_ops; i++) {
        uint32_t thread = random_below(&random, 3);
        double begin = now;
        now += 1 + random_below(&random, 30);
        while (n_kernels < KERNELS_MAX && random_below(&random, 3)) {
            uint32_t stream = random_below(&random, 3);
            double start = fmax(now + 1, stream_end[stream]) + random_below(&random, 12);
            double end = start + 1 + random_below(&random, 60);
            drawn->kernels[n_kernels++] =
                (struct drawn_kernel){now, now + 1, start, end, stream, random_below(&random, 4) ? 0 : 1, thread};
            stream_end[stream] = end;
            now += 1 + random_below(&random, 8);
        }
        if (n_calls < CALLS_MAX && random_below(&random, 3) == 0) {
            uint32_t stream = random_below(&random, 4);
            double end = now;
            for (uint32_t s = 0; s < 3; s++)
                end = s == stream || stream == 3 ? fmax(end, stream_end[s]) : end;
            drawn->calls[n_calls++] =
                (struct drawn_call){now, end + 0.5, now, stream == 3 ? STREAM_ANY : stream, thread};
            now = end + 0.5;
        }
        now += 1 + random_below(&random, 20);
        drawn->ops[i] = (struct drawn_op){begin, now, thread};
        if (random_below(&random, 3) == 0)
            now += random_below(&random, 15);
    }
}

/* No cycle, every node runs, and the time is the measured one but for what is not worth a cut: 2 us from a launch to
 * the cut after it, and a microsecond for each wait. */
static void random_traces_take_the_measured_time(void **state) {
    for (uint64_t seed = 1; seed <= 10000; seed++) {
        struct drawn drawn;
        struct result result;
        draw(&drawn, seed);
        make(&drawn, &result);
        double us = simulate(&drawn, &result, 1), allowed = 3.5 + 3 * (double)result.report.n_waits;
        for (double scale = 0.5; scale <= 2; scale *= 4)
            simulate(&drawn, &result, scale);
        allowed += result.report.late_us;
        if (fabs(us - result.report.measured_us) > allowed)
            fail_msg("seed %llu: %g us, measured %g", (unsigned long long)seed, us, result.report.measured_us);
        arena_free(&result.arena);
    }
}

/* Each node by its slack longer, and by a microsecond more: the end moves by that only. */
static void random_nodes_may_take_their_slack_longer(void **state) {
    uint64_t n_slack = 0;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct drawn drawn;
        struct result result;
        draw(&drawn, seed);
        drawn.per_stream = true;
        make(&drawn, &result);
        struct arena *arena = &result.arena;
        struct replay_graph graph = make_graph(&drawn, &result, 1);
        struct replay_times times = run(&graph, arena);
        uint64_t *slack = COLUMN(uint64_t, graph.n), *longer = COLUMN(uint64_t, graph.n);
        assert_true(replay_slack(&graph, &times, &engine, arena, slack));
        memcpy(longer, graph.dur_ns, graph.n * sizeof *longer);
        graph.dur_ns = longer;
        for (row_t i = 0; i < graph.n; i++) {
            const uint64_t dur = longer[i];
            n_slack += slack[i] > 0;
            longer[i] = times.end_ns[i] - times.run_ns[i] + slack[i];
            assert_int_equal(run(&graph, arena).finish_ns, times.finish_ns);
            longer[i] += 1000;
            assert_int_equal(run(&graph, arena).finish_ns, times.finish_ns + 1000);
            longer[i] = dur;
        }
        arena_free(arena);
    }
    assert_true(n_slack > 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_are_differences_of_rounded_cuts),
        cmocka_unit_test(a_parent_that_waits_for_another_thread_is_not_counted_twice),
        cmocka_unit_test(synchronization_lasts_until_its_stream_ends),
        cmocka_unit_test(synchronization_may_wait_for_its_own_launch),
        cmocka_unit_test(event_synchronize_waits_for_launches_before_the_record),
        cmocka_unit_test(a_copy_from_pageable_memory_blocks),
        cmocka_unit_test(a_copy_whose_call_ends_after_it_blocks),
        cmocka_unit_test(asynchronous_copy_does_not_block),
        cmocka_unit_test(a_kernel_waits_for_the_one_before_it_on_its_stream),
        cmocka_unit_test(a_stream_waits_for_another_ones_event),
        cmocka_unit_test(kernel_that_starts_at_the_end_of_another_stream_waits_for_it),
        cmocka_unit_test(unexplained_kernel_start_follows_the_cpu_clock),
        cmocka_unit_test(kernels_that_overlap_share_the_gpu),
        cmocka_unit_test(three_kernels_that_overlap_take_no_longer),
        cmocka_unit_test(kernels_of_a_stream_may_overlap),
        cmocka_unit_test(streams_of_their_own_overlap),
        cmocka_unit_test(communication_has_a_resource_of_its_own),
        cmocka_unit_test(event_carries_the_waits_of_its_stream),
        cmocka_unit_test(kernel_consumes_the_waits_of_its_stream),
        cmocka_unit_test(synchronization_includes_the_waits_of_its_stream),
        cmocka_unit_test(unrecorded_collective_order_is_inferred),
        cmocka_unit_test(communication_of_a_job_is_not_cut),
        cmocka_unit_test(an_operator_is_cut_at_a_launch_that_it_outlasts),
        cmocka_unit_test(long_gaps_become_nodes),
        cmocka_unit_test(times_beyond_64_bits_are_limited),
        cmocka_unit_test(a_trace_without_anything_takes_no_time),
        cmocka_unit_test(kernels_without_operators_keep_their_streams),
        cmocka_unit_test(random_traces_take_the_measured_time),
        cmocka_unit_test(random_nodes_may_take_their_slack_longer),
    };
    pool = pool_create(1);
    assert_non_null(pool);
    engine = engine_cpu(pool);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    pool_free(pool);
    return failed;
}
