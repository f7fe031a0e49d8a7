/*
 * test_overview.c - tests the time breakdown of a window: small traces with results computed by hand; on random traces
 * the rows must cover the window exactly once.
 */
#include "analyze/overview/findings.h"
#include "generate/random.h"
#include "made_steps.h"
#include "overview_trace.h"

struct overview_case {
    const char *name, *events, *expected;
};

static void check_all(const struct overview_case *cases, size_t n) {
    char text[2048];
    for (size_t i = 0; i < n; i++)
        for (unsigned n_threads = 1; n_threads <= 2; n_threads++) {
            struct overviewed made;
            overview_of(cases[i].events, n_threads, &made);
            tell_overview(&made.overview, text);
            if (strcmp(text, cases[i].expected) != 0)
                print_error("%s\n", cases[i].name);
            assert_string_equal(text, cases[i].expected);
            overview_forget(&made);
        }
}

#define N(cases) (sizeof(cases) / sizeof *(cases))

static void computation_hides_communication_and_both_hide_copies(void **state) {
    (void)state;
    static const struct overview_case cases[] = {
        {"nothing", TRACE(""), ""},
        {"all at once",
         TRACE(STEP(1, 0, 50) "," KERNEL("k", 7, 0, 10, 1) "," KERNEL("ncclKernel", 8, 5, 15, 2) "," COPY(
             "Memcpy HtoD", 9, 15, 10, 3, 1) "," KERNEL("l", 7, 25, 25, 4)),
         "compute 0-10 | communication 10-20 | copy 20-25 | compute 25-50"},
        {"sets count as copies, collectives of others as communication, not what was fused of them",
         TRACE(STEP(1, 0, 40) "," WORK("gpu_memset", "Memset", 7, 0, 10, 1) "," KERNEL(
             "two_shot_all_reduce_kernel", 7, 10, 10, 2) "," KERNEL("triton_poi_fused_all_reduce", 7, 20, 20, 3)),
         "copy 0-10 | communication 10-20 | compute 20-40"},
    };
    check_all(cases, N(cases));
}

static void window_covers_steps_and_their_gpu_activity(void **state) {
    (void)state;
    static const struct overview_case cases[] = {
        {"work of a step ends behind it; what was launched before or behind the steps is cut",
         TRACE(STEP(2, 30, 20) "," STEP(1, 10, 20) "," LAUNCH(45, 2, 1) "," LAUNCH(70, 2, 2) "," KERNEL(
             "early", 7, 0, 12, 9) "," KERNEL("k", 7, 47, 23, 1) "," KERNEL("late", 7, 75, 10, 2)),
         "compute 10-12 | host 12-45 | launch 45-47 cudaLaunchKernel | compute 47-70"},
        {"without steps all of the trace", TRACE(OP("a", 5, 5) "," KERNEL("k", 7, 20, 5, 1)), "? 5-20 | compute 20-25"},
        {"no work of the device", TRACE(STEP(1, 10, 20)), "after 10-30"},
    };
    check_all(cases, N(cases));
}

static void gaps_are_split_by_launch_delay_cause(void **state) {
    (void)state;
    static const struct overview_case cases[] = {
        {"the launch came first",
         TRACE(STEP(1, 0, 40) "," LAUNCH(1, 2, 1) "," KERNEL("k", 7, 0, 10, 9) "," KERNEL("l", 7, 30, 10, 1)),
         "compute 0-10 | queued 10-30 | compute 30-40"},
        {"an operator, its launch",
         TRACE(STEP(1, 0, 100) "," OP("aten::mm", 15, 80) "," LAUNCH(80, 5, 1) "," KERNEL("k", 7, 1, 9, 9) "," KERNEL(
             "l", 7, 90, 10, 1)),
         "? 0-1 | compute 1-10 | host 10-80 aten::mm | launch 80-90 aten::mm | compute 90-100"},
        {"work that starts long after its launch, whose call was long",
         TRACE(STEP(1, 0, 4000) "," LAUNCH(100, 1500, 1) "," KERNEL("l", 7, 2000, 2000, 1)),
         "host 0-100 | slow 100-1600 cudaLaunchKernel | not started 1600-2000 | compute 2000-4000"},
        {"a graph and a copy may take long to launch",
         TRACE(STEP(1, 0, 4000) "," CALL("cudaGraphLaunch", 0, 1500, 1) "," KERNEL("l", 7, 1510, 490, 1) "," CALL(
             "cudaMemcpyAsync", 2000, 1100, 2) "," COPY("Memcpy HtoD", 7, 3100, 900, 2, 1)),
         "launch 0-1510 cudaGraphLaunch | compute 1510-2000 | launch 2000-3100 cudaMemcpyAsync | copy 3100-4000"},
        {"loading, waiting, setting up on the thread that launches",
         TRACE(STEP(1, 0, 100) "," LABEL("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 10, 30) "," OP(
             "inside", 15, 5) "," CALL("cudaMalloc", 50, 10, 8) "," CALL("cudaStreamSynchronize", 65, 5,
                                                                         7) "," LAUNCH(90, 2, 1) "," KERNEL("k", 7, 95,
                                                                                                            5, 1)),
         "host 0-10 | load 10-40 enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__ | host 40-50 | "
         "set-up 50-60 cudaMalloc | host 60-65 | sync 65-70 cudaStreamSynchronize | host 70-90 | "
         "launch 90-95 | compute 95-100"},
        {"what other threads do is none of it",
         TRACE(STEP(1, 0, 50) "," CALLED(2, "cudaMalloc", 0, 30, 8) "," CALLED(1, "cudaLaunchKernel", 40, 5,
                                                                               1) "," KERNEL("k", 7, 45, 5, 1)),
         "host 0-40 | launch 40-45 cudaLaunchKernel | compute 45-50"},
        {"the host starts anew behind a call that blocks",
         TRACE(STEP(1, 0, 50) "," CALL("cudaDeviceSynchronize", 2, 10, 8) "," KERNEL("k", 7, 0, 10, 9) "," LAUNCH(
             40, 5, 1) "," KERNEL("l", 7, 45, 5, 1)),
         "compute 0-10 | sync 10-12 cudaDeviceSynchronize | drained 12-40 | launch 40-45 cudaLaunchKernel | "
         "compute 45-50"},
        {"a copy to the host whose call waits for it blocks, one to pinned memory does not",
         TRACE(STEP(1, 0, 60) "," CALL("cudaMemcpyAsync", 0, 12, 1) "," COPY("Memcpy DtoH", 7, 5, 5, 1, 1) "," CALL(
             "cudaMemcpyAsync", 20, 3, 2) "," COPY("Memcpy DtoH", 7, 25, 5, 2,
                                                   1) "," LAUNCH(40, 2, 3) "," KERNEL("k", 7, 50, 10, 3)),
         "launch 0-5 cudaMemcpyAsync | copy 5-10 | sync 10-12 cudaMemcpyAsync | drained 12-20 | "
         "launch 20-25 | copy 25-30 | host 30-40 | launch 40-50 | compute 50-60"},
        {"a long call of the runtime that nothing is known of sets up",
         TRACE(STEP(1, 0, 3000) "," CALL("cudaDeviceGetStreamPriorityRange", 0, 2000, 8) "," CALL(
             "cudaFuncGetAttributes", 2000, 900, 7) "," LAUNCH(2950, 5, 1) "," KERNEL("k", 7, 2960, 40, 1)),
         "set-up 0-2000 cudaDeviceGetStreamPriorityRange | host 2000-2950 cudaFuncGetAttributes | "
         "launch 2950-2960 | compute 2960-3000"},
        {"behind the last work a wait is nobody's",
         TRACE(STEP(1, 0, 60) "," LAUNCH(0, 5, 1) "," KERNEL("k", 7, 5, 15, 1) "," CALL("cudaDeviceSynchronize", 10, 15,
                                                                                        9) "," LABEL("enumerate("
                                                                                                     "DataLoader)#x",
                                                                                                     40, 20)),
         "launch 0-5 cudaLaunchKernel | compute 5-20 | after 20-40 | load 40-60 enumerate(DataLoader)#x"},
    };
    check_all(cases, N(cases));
}

static void crop_keeps_later_intervals(void **state) {
    (void)state;
    char text[1024];
    struct overviewed made;
    overview_of(TRACE(STEP(1, 0, 100) "," LAUNCH(20, 2, 1) "," KERNEL("k", 7, 25, 5, 1) "," OP(
                    "aten::mm", 30, 60) "," LAUNCH(80, 5, 2) "," KERNEL("l", 7, 90, 10, 2)),
                1, &made);
    overview_crop(&made.overview, 50000);
    tell_overview(&made.overview, text);
    assert_string_equal(text, "host 50-80 aten::mm | launch 80-90 aten::mm | compute 90-100");
    assert_int_equal(made.overview.n_gaps, 1);
    assert_int_equal(made.overview.gaps[0].first, 0);
    assert_int_equal(made.overview.gaps[0].last, 2);
    assert_int_equal(made.overview.rows[1].gap, 0);
    assert_int_equal(made.overview.ticks[OVERVIEW_HOST], 30000);
    assert_int_equal(overview_busy(&made.overview), 10000);
    overview_forget(&made);
}

/* Of the step from 10 to 60; the busiest stream first, work outside of the window not at all. */
static void streams_are_summed_by_kind_within_the_window(void **state) {
    (void)state;
    char text[1024] = "", *at = text;
    struct overviewed made;
    struct sutra_result result;
    struct sutra_error error;
    assert_true(result_init(&result, overview_table_specs, SUTRA_OVERVIEW_N_TABLES));
    struct sutra_table *table = result_table_begin(&result, SUTRA_OVERVIEW_STREAMS);
    overview_of(
        TRACE(STEP(1, 10, 50) "," KERNEL("early", 7, 0, 15, 1) "," KERNEL("ncclKernel", 20, 15, 30, 2) "," KERNEL(
            "k", 7, 20, 4, 3) "," COPY("Memcpy HtoD", 7, 30, 2, 4, 1) "," KERNEL("gone", 9, 0, 5, 5)),
        1, &made);
    assert_int_equal(overview_streams_add(made.context, &made.overview, 3, &made.scratch, table, &error), SUTRA_OK);
    for (uint64_t row = 0; row < table->n_rows; row++) {
        size_t length;
        at += sprintf(at, "%lld stream %s: %lld", (long long)table_get_integer(table, 0, row),
                      table_get_text(table, 1, row, &length), (long long)table_get_integer(table, 2, row));
        for (uint32_t column = 3; column < 7; column++)
            at += sprintf(at, " %g", table_get_real(table, column, row));
        at += sprintf(at, "\n");
    }
    assert_string_equal(text, "3 stream 20: 1 0 30 0 30\n3 stream 7: 3 9 0 2 11\n");
    result_free(&result);
    overview_forget(&made);
}

/* ---- Random traces ---- */

static void add_events(struct random *random, char *text) {
    static const char *const calls[] = {"cudaLaunchKernel", "cudaStreamSynchronize", "cudaMalloc", "cudaMemcpyAsync"};
    int n = (int)random_below(random, 40);
    text += sprintf(text, "{\"traceEvents\":[{}");
    for (int i = 0; i < n; i++) {
        int ts = (int)random_below(random, 200), dur = (int)random_below(random, 40);
        int id = (int)random_below(random, 12);
        if (random_below(random, 2))
            text += sprintf(text,
                            ",{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":%d,"
                            "\"args\":{\"correlation\":%d}}",
                            id % 3 ? "kernel" : "gpu_memcpy", id % 4 ? "k" : "nccl DtoH", ts, dur, id);
        else
            text += sprintf(text,
                            ",{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":1,\"tid\":%d,\"ts\":%d,\"dur\":%d,"
                            "\"args\":{\"correlation\":%d}}",
                            id % 4 ? "cuda_runtime" : "cpu_op", calls[id % 4], id % 2, ts, dur, id);
    }
    sprintf(text, "]}");
}

static bool runs_at(const struct launch_model *model, int64_t moment) {
    for (row_t i = 0; i < model->devices.n; i++)
        if (model->devices.start[i] <= moment && moment < model->devices.stop[i])
            return true;
    return false;
}

/* The shortest event of the gap's thread that covers enough of a row has the frame's length. */
static int64_t shortest_cover(const struct overview *overview, const struct overview_row *row) {
    const struct host_rows *hosts = &overview->model->hosts;
    int64_t shortest = INT64_MAX;
    for (row_t i = 0; i < hosts->n; i++) {
        int64_t from = hosts->start[i] > row->begin ? hosts->start[i] : row->begin;
        int64_t to = hosts->stop[i] < row->end ? hosts->stop[i] : row->end, length = hosts->stop[i] - hosts->start[i];
        bool nested = hosts->parent[i] == ROW_NONE || hosts->stop[i] <= hosts->stop[hosts->parent[i]];
        if (!nested)
            return -1; /* events that cross have no order of length */
        if (hosts->thread[i] == overview->gaps[row->gap].thread && (to - from) * 100 >= (row->end - row->begin) * 70 &&
            length < shortest)
            shortest = length;
    }
    return shortest;
}

static void check_random(const struct overview *overview) {
    const struct host_rows *hosts = &overview->model->hosts;
    int64_t moment = overview->window.from, sum = 0;
    for (row_t i = 0; i < overview->n_rows; i++) {
        const struct overview_row *row = &overview->rows[i];
        assert_int_equal(row->begin, moment);
        assert_true(row->end > row->begin);
        assert_int_equal(row->kind < OVERVIEW_FIRST_IDLE, runs_at(overview->model, row->begin));
        assert_int_equal(row->kind < OVERVIEW_FIRST_IDLE, runs_at(overview->model, row->end - 1));
        assert_int_equal(row->kind < OVERVIEW_FIRST_IDLE, row->gap == ROW_NONE);
        if (row->gap != ROW_NONE && overview->gaps[row->gap].thread != THREAD_UNKNOWN) {
            int64_t shortest = shortest_cover(overview, row);
            int64_t found = row->frame == ROW_NONE ? INT64_MAX : hosts->stop[row->frame] - hosts->start[row->frame];
            if (shortest >= 0)
                assert_int_equal(found, shortest);
        }
        moment = row->end;
    }
    assert_int_equal(moment, overview->window.to);
    for (int kind = 0; kind < OVERVIEW_N_KINDS; kind++)
        sum += overview->ticks[kind];
    assert_int_equal(sum, overview_length(overview));
}

static void all_of_the_window_is_there_once(void **state) {
    (void)state;
    static char text[16384];
    struct random random = {20261122};
    for (int round = 0; round < 300; round++) {
        struct overviewed made;
        add_events(&random, text);
        overview_of(text, 1, &made);
        check_random(&made.overview);
        overview_forget(&made);
    }
}

/* Set-up microseconds of a trace with this many slow ones among its memcpy calls. */
static double set_up_of_slow_copies(int n_slow) {
    struct made_trace made = {0};
    struct overviewed overviewed;
    for (int i = 0; i < 12; i++) {
        call(&made, "cudaMemcpyAsync", i < n_slow ? 5000 : 5);
        queue(&made, "gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 20);
        made.now = made.free_at;
    }
    char *text = made_text(&made);
    overview_of(text, 1, &overviewed);
    double us = (double)overviewed.overview.ticks[OVERVIEW_SLOW_LAUNCH] / 1000;
    overview_forget(&overviewed);
    free(text);
    return us;
}

/* The first calls set something up; a third slow call makes them a habit. */
static void cold_memcpy_calls_are_set_up(void **state) {
    (void)state;
    assert_true(set_up_of_slow_copies(0) == 0);
    assert_true(set_up_of_slow_copies(1) == 5000);
    assert_true(set_up_of_slow_copies(2) == 10000);
    assert_true(set_up_of_slow_copies(3) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(computation_hides_communication_and_both_hide_copies),
        cmocka_unit_test(window_covers_steps_and_their_gpu_activity),
        cmocka_unit_test(gaps_are_split_by_launch_delay_cause),
        cmocka_unit_test(crop_keeps_later_intervals),
        cmocka_unit_test(streams_are_summed_by_kind_within_the_window),
        cmocka_unit_test(all_of_the_window_is_there_once),
        cmocka_unit_test(cold_memcpy_calls_are_set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
