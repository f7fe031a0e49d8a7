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
    static const struct overview_case cases[] = {
        {"nothing", "", ""},
        {"all at once",
         "user_annotation ProfilerStep#1 ts=0+50; kernel k stream=7 ts=0+10 correlation=1; "
         "kernel ncclKernel stream=8 ts=5+15 correlation=2; "
         "gpu_memcpy 'Memcpy HtoD' stream=9 ts=15+10 correlation=3 'memory bandwidth (GB/s)'=1; "
         "kernel l stream=7 ts=25+25 correlation=4",
         "compute 0-10 | communication 10-20 | copy 20-25 | compute 25-50"},
        {"sets count as copies, collectives of others as communication, not what was fused of them",
         "user_annotation ProfilerStep#1 ts=0+40; gpu_memset Memset stream=7 ts=0+10 correlation=1; "
         "kernel two_shot_all_reduce_kernel stream=7 ts=10+10 correlation=2; "
         "kernel triton_poi_fused_all_reduce stream=7 ts=20+20 correlation=3",
         "copy 0-10 | communication 10-20 | compute 20-40"},
    };
    check_all(cases, N(cases));
}

static void window_covers_steps_and_their_gpu_activity(void **state) {
    static const struct overview_case cases[] = {
        {"work of a step ends after it; what was launched before or after the steps is cut",
         "user_annotation ProfilerStep#2 ts=30+20; user_annotation ProfilerStep#1 ts=10+20; "
         "cudaLaunchKernel ts=45+2 correlation=1; cudaLaunchKernel ts=70+2 correlation=2; "
         "kernel early stream=7 ts=0+12 correlation=9; kernel k stream=7 ts=47+23 correlation=1; "
         "kernel late stream=7 ts=75+10 correlation=2",
         "compute 10-12 | host 12-45 | launch 45-47 cudaLaunchKernel | compute 47-70"},
        {"without steps all of the trace", "cpu_op a ts=5+5; kernel k stream=7 ts=20+5 correlation=1",
         "? 5-20 | compute 20-25"},
        {"no work of the device", "user_annotation ProfilerStep#1 ts=10+20", "after 10-30"},
    };
    check_all(cases, N(cases));
}

static void gaps_are_split_by_launch_delay_cause(void **state) {
    static const struct overview_case cases[] = {
        {"the launch came first",
         "user_annotation ProfilerStep#1 ts=0+40; cudaLaunchKernel ts=1+2 correlation=1; "
         "kernel k stream=7 ts=0+10 correlation=9; kernel l stream=7 ts=30+10 correlation=1",
         "compute 0-10 | queued 10-30 | compute 30-40"},
        {"an operator, its launch",
         "user_annotation ProfilerStep#1 ts=0+100; cpu_op aten::mm ts=15+80; cudaLaunchKernel ts=80+5 correlation=1; "
         "kernel k stream=7 ts=1+9 correlation=9; kernel l stream=7 ts=90+10 correlation=1",
         "? 0-1 | compute 1-10 | host 10-80 aten::mm | launch 80-90 aten::mm | compute 90-100"},
        {"work that starts long after its launch, whose call was long",
         "user_annotation ProfilerStep#1 ts=0+4000; cudaLaunchKernel ts=100+1500 correlation=1; "
         "kernel l stream=7 ts=2000+2000 correlation=1",
         "host 0-100 | slow 100-1600 cudaLaunchKernel | not started 1600-2000 | compute 2000-4000"},
        {"a graph and a copy may take long to launch",
         "user_annotation ProfilerStep#1 ts=0+4000; cudaGraphLaunch ts=0+1500 correlation=1; "
         "kernel l stream=7 ts=1510+490 correlation=1; cudaMemcpyAsync ts=2000+1100 correlation=2; "
         "gpu_memcpy 'Memcpy HtoD' stream=7 ts=3100+900 correlation=2 'memory bandwidth (GB/s)'=1",
         "launch 0-1510 cudaGraphLaunch | compute 1510-2000 | launch 2000-3100 cudaMemcpyAsync | copy 3100-4000"},
        {"loading, waiting, setting up on the thread that launches",
         "user_annotation ProfilerStep#1 ts=0+100; "
         "user_annotation enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__ ts=10+30; "
         "cpu_op inside ts=15+5; cudaMalloc ts=50+10 correlation=8; cudaStreamSynchronize ts=65+5 correlation=7; "
         "cudaLaunchKernel ts=90+2 correlation=1; kernel k stream=7 ts=95+5 correlation=1",
         "host 0-10 | load 10-40 enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__ | host 40-50 | "
         "set-up 50-60 cudaMalloc | host 60-65 | sync 65-70 cudaStreamSynchronize | host 70-90 | "
         "launch 90-95 | compute 95-100"},
        {"what other threads do is none of it",
         "user_annotation ProfilerStep#1 ts=0+50; cudaMalloc tid=2 ts=0+30 correlation=8; "
         "cudaLaunchKernel ts=40+5 correlation=1; kernel k stream=7 ts=45+5 correlation=1",
         "host 0-40 | launch 40-45 cudaLaunchKernel | compute 45-50"},
        {"the host starts anew after a call that blocks",
         "user_annotation ProfilerStep#1 ts=0+50; cudaDeviceSynchronize ts=2+10 correlation=8; "
         "kernel k stream=7 ts=0+10 correlation=9; cudaLaunchKernel ts=40+5 correlation=1; "
         "kernel l stream=7 ts=45+5 correlation=1",
         "compute 0-10 | sync 10-12 cudaDeviceSynchronize | drained 12-40 | launch 40-45 cudaLaunchKernel | "
         "compute 45-50"},
        {"a copy to the host whose call waits for it blocks, one to pinned memory does not",
         "user_annotation ProfilerStep#1 ts=0+60; cudaMemcpyAsync ts=0+12 correlation=1; "
         "gpu_memcpy 'Memcpy DtoH' stream=7 ts=5+5 correlation=1 'memory bandwidth (GB/s)'=1; "
         "cudaMemcpyAsync ts=20+3 correlation=2; "
         "gpu_memcpy 'Memcpy DtoH' stream=7 ts=25+5 correlation=2 'memory bandwidth (GB/s)'=1; "
         "cudaLaunchKernel ts=40+2 correlation=3; kernel k stream=7 ts=50+10 correlation=3",
         "launch 0-5 cudaMemcpyAsync | copy 5-10 | sync 10-12 cudaMemcpyAsync | drained 12-20 | "
         "launch 20-25 | copy 25-30 | host 30-40 | launch 40-50 | compute 50-60"},
        {"a long call of the runtime that nothing is known of sets up",
         "user_annotation ProfilerStep#1 ts=0+3000; cudaDeviceGetStreamPriorityRange ts=0+2000 correlation=8; "
         "cudaFuncGetAttributes ts=2000+900 correlation=7; cudaLaunchKernel ts=2950+5 correlation=1; "
         "kernel k stream=7 ts=2960+40 correlation=1",
         "set-up 0-2000 cudaDeviceGetStreamPriorityRange | host 2000-2950 cudaFuncGetAttributes | "
         "launch 2950-2960 | compute 2960-3000"},
        {"a wait after the last work is attributed to no operator",
         "user_annotation ProfilerStep#1 ts=0+60; cudaLaunchKernel ts=0+5 correlation=1; "
         "kernel k stream=7 ts=5+15 correlation=1; cudaDeviceSynchronize ts=10+15 correlation=9; "
         "user_annotation enumerate(DataLoader)#x ts=40+20",
         "launch 0-5 cudaLaunchKernel | compute 5-20 | after 20-40 | load 40-60 enumerate(DataLoader)#x"},
    };
    check_all(cases, N(cases));
}

static void crop_keeps_later_intervals(void **state) {
    char text[1024];
    struct overviewed made;
    overview_of(
        "user_annotation ProfilerStep#1 ts=0+100; cudaLaunchKernel ts=20+2 correlation=1; "
        "kernel k stream=7 ts=25+5 correlation=1; cpu_op aten::mm ts=30+60; cudaLaunchKernel ts=80+5 correlation=2; "
        "kernel l stream=7 ts=90+10 correlation=2",
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
    char text[1024] = "", *at = text;
    struct overviewed made;
    struct sutra_result result;
    struct sutra_error error;
    assert_true(result_init(&result, overview_table_specs, SUTRA_OVERVIEW_N_TABLES));
    struct sutra_table *table = result_table_begin(&result, SUTRA_OVERVIEW_STREAMS);
    overview_of("user_annotation ProfilerStep#1 ts=10+50; kernel early stream=7 ts=0+15 correlation=1; "
                "kernel ncclKernel stream=20 ts=15+30 correlation=2; kernel k stream=7 ts=20+4 correlation=3; "
                "gpu_memcpy 'Memcpy HtoD' stream=7 ts=30+2 correlation=4 'memory bandwidth (GB/s)'=1; "
                "kernel gone stream=9 ts=0+5 correlation=5",
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

static void rows_cover_the_window_without_overlap(void **state) {
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
        cmocka_unit_test(rows_cover_the_window_without_overlap),
        cmocka_unit_test(cold_memcpy_calls_are_set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
