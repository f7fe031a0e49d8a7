/*
 * test_hta_ranks.c - tests HTA's tables of several ranks: rank numbers, combined tables, stragglers and malformed
 * ranks, with any number of threads.
 */
#include "hta_table.h"
#include "trace_folder.h"

struct observed {
    unsigned n_warnings, n_visits;
    char last_warning[512];
    int64_t ranks; /* sum of the ranks that were visited */
};

static void on_warning(void *arg, const char *message) {
    struct observed *observed = arg;
    observed->n_warnings++;
    snprintf(observed->last_warning, sizeof observed->last_warning, "%s", message);
}

static enum sutra_status on_visit(void *arg, struct sutra_context *context, const struct sutra_hta *hta,
                                  struct sutra_error *error) {
    struct observed *observed = arg;
    (void)context;
    (void)error;
    observed->n_visits++;
    observed->ranks += sutra_hta_rank_of(hta);
    assert_non_null(sutra_result_table(SUTRA_RESULT(hta), SUTRA_HTA_LAUNCHES, NULL));
    return SUTRA_OK;
}

static enum sutra_status make(struct folder *folder, unsigned n_threads, bool strict, struct observed *observed,
                              struct sutra_context **context, struct sutra_hta_ranks **ranks) {
    struct sutra_hta_ranks_options ranks_options = {.size = sizeof ranks_options, .visit = on_visit, .arg = observed};
    struct sutra_error error;
    *observed = (struct observed){0};
    list_files(folder);
    *context = NEW_CONTEXT(.n_threads = n_threads, .strict = strict, .warning = on_warning, .arg = observed);
    return sutra_hta_ranks_run(*context, folder->list, folder->n, &ranks_options, ranks, &error);
}

#define WORK_OF(compute, communication)                                                                                \
    "cudaLaunchKernel ts=0+1 correlation=1; kernel k stream=7 ts=10+" #compute " correlation=1; "                      \
    "kernel ncclKernel stream=8 ts=1000+" #communication " correlation=2; "

static void check_table(const struct sutra_hta_ranks *ranks, enum sutra_hta_table id, const char *expected) {
    char text[4096];
    const char *reason;
    const struct sutra_table *table = sutra_result_table(SUTRA_RESULT(ranks), id, &reason);
    tell_table(table, reason, text);
    assert_string_equal(text, expected);
}

static void ranks_come_from_trace_file_name_or_index(void **state) {
    struct folder folder = make_folder();
    struct observed observed;
    struct sutra_context *context;
    struct sutra_hta_ranks *ranks;
    add_trace_text(&folder, "x.json", "'distributedInfo':{'backend':'nccl','rank':5}; " WORK_OF(10, 10));
    add_trace_text(&folder, "host7_rank-03.json", WORK_OF(10, 10));
    add_trace_text(&folder, "y.json", WORK_OF(10, 10));
    add_trace_text(&folder, "rank9.json", "'distributedInfo':{'backend':'nccl','rank':4}; " WORK_OF(10, 10));
    assert_int_equal(make(&folder, 2, false, &observed, &context, &ranks), SUTRA_OK);
    static const struct {
        int64_t rank;
        enum sutra_rank_source source;
    } expected[] = {{2, SUTRA_RANK_POSITION}, {3, SUTRA_RANK_NAME}, {4, SUTRA_RANK_INFO}, {5, SUTRA_RANK_INFO}};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(sutra_hta_ranks_get(ranks, i)->rank, expected[i].rank);
        assert_int_equal(sutra_hta_ranks_get(ranks, i)->source, expected[i].source);
    }
    assert_null(sutra_hta_ranks_get(ranks, 4));
    assert_int_equal(observed.n_visits, 4);
    assert_int_equal(observed.ranks, 2 + 3 + 4 + 5);
    sutra_hta_ranks_free(ranks);
    sutra_context_free(context);
    remove_folder(&folder);
}

static void tables_have_the_rows_of_all_ranks(void **state) {
    struct folder folder = make_folder();
    struct observed observed;
    struct sutra_context *context;
    struct sutra_hta_ranks *ranks;
    add_trace_text(&folder, "b.json",
                   "'distributedInfo':{'backend':'nccl','rank':1}; kernel k stream=7 ts=0+30 correlation=1; "
                   "kernel k stream=7 ts=90+10 correlation=2");
    add_trace_text(&folder, "a.json",
                   "'distributedInfo':{'backend':'nccl','rank':0}; kernel k stream=7 ts=0+10 correlation=1");
    for (unsigned n_threads = 1; n_threads <= 3; n_threads++) {
        assert_int_equal(make(&folder, n_threads, false, &observed, &context, &ranks), SUTRA_OK);
        check_table(ranks, SUTRA_HTA_TEMPORAL, "0,0,10,0,10,0.0,100.0,0.0 | 1,60,40,0,100,60.0,40.0,0.0");
        check_table(ranks, SUTRA_HTA_TYPES, "COMPUTATION,50,100.0");
        check_table(ranks, SUTRA_HTA_KERNELS,
                    "k,10,10,10,0.0,10.0,COMPUTATION,0 | k,40,30,10,14.142135623730951,20.0,COMPUTATION,1");
        check_table(ranks, SUTRA_HTA_LAUNCHES, "none: this table exists per rank only");
        check_table(ranks, SUTRA_HTA_QUEUE_SUMMARY, "none: no kernel has the correlation of a launch");
        sutra_hta_ranks_free(ranks);
        sutra_context_free(context);
    }
    remove_folder(&folder);
}

static void integers_become_reals_if_another_rank_has_reals(void **state) {
    struct folder folder = make_folder();
    struct observed observed;
    struct sutra_context *context;
    struct sutra_hta_ranks *ranks;
    add_trace_text(&folder, "a.json",
                   "'distributedInfo':{'backend':'nccl','rank':0}; kernel k stream=7 ts=0+10 correlation=1");
    add_trace_text(
        &folder, "b.json",
        "'distributedInfo':{'backend':'nccl','rank':1}; {'ph':'M'}; kernel k stream=7 ts=0+30 correlation=1");
    assert_int_equal(make(&folder, 1, false, &observed, &context, &ranks), SUTRA_OK);
    check_table(ranks, SUTRA_HTA_TEMPORAL, "0,0.0,10.0,0.0,10.0,0.0,100.0,0.0 | 1,0.0,30.0,0.0,30.0,0.0,100.0,0.0");
    sutra_hta_ranks_free(ranks);
    sutra_context_free(context);
    remove_folder(&folder);
}

static void malformed_and_duplicate_ranks_are_skipped_with_a_warning(void **state) {
    struct folder folder = make_folder();
    struct observed observed;
    struct sutra_context *context;
    struct sutra_hta_ranks *ranks;
    add_trace_text(&folder, "a.json", "'distributedInfo':{'backend':'nccl','rank':0}; " WORK_OF(10, 10));
    add_trace_text(&folder, "broken.json", "{\"traceEvents\": [{");
    add_trace_text(&folder, "c.json", "'distributedInfo':{'backend':'nccl','rank':2}; " WORK_OF(10, 10));
    add_trace_text(&folder, "d.json", "'distributedInfo':{'backend':'nccl','rank':0}; " WORK_OF(20, 10));
    for (unsigned n_threads = 1; n_threads <= 4; n_threads++) {
        assert_int_equal(make(&folder, n_threads, false, &observed, &context, &ranks), SUTRA_OK);
        assert_int_equal(observed.n_warnings, 2);
        assert_non_null(strstr(observed.last_warning, "d.json: duplicate rank 0, also in "));
        assert_int_equal(observed.n_visits, 2);
        assert_null(sutra_hta_ranks_get(ranks, 1)->reason);
        assert_int_equal(sutra_hta_ranks_get(ranks, 1)->rank, 2);
        assert_non_null(strstr(sutra_hta_ranks_get(ranks, 2)->reason, "truncated"));
        assert_string_equal(sutra_hta_ranks_get(ranks, 2)->path, folder.paths[1]);
        assert_string_equal(sutra_hta_ranks_get(ranks, 3)->path, folder.paths[3]);
        sutra_hta_ranks_free(ranks);
        sutra_context_free(context);
        assert_int_equal(make(&folder, n_threads, true, &observed, &context, &ranks), SUTRA_DATA);
        sutra_context_free(context);
    }
    remove_folder(&folder);
}

static void without_any_good_trace_the_first_error_counts(void **state) {
    struct folder folder = make_folder();
    struct observed observed;
    struct sutra_context *context;
    struct sutra_hta_ranks *ranks;
    add_trace_text(&folder, "a.json", "{\"nodes\": []}");
    add_trace_text(&folder, "b.json", "");
    assert_int_equal(make(&folder, 2, false, &observed, &context, &ranks), SUTRA_DATA);
    assert_int_equal(observed.n_warnings, 0);
    sutra_context_free(context);
    unlink(folder.paths[0]);
    unlink(folder.paths[1]);
    assert_int_equal(make(&folder, 2, false, &observed, &context, &ranks), SUTRA_NO_INPUT);
    sutra_context_free(context);
    remove_folder(&folder);
}

static enum sutra_status refuse(void *arg, struct sutra_context *context, const struct sutra_hta *hta,
                                struct sutra_error *error) {
    (void)context;
    (void)hta;
    *(unsigned *)arg += 1;
    *error = (struct sutra_error){.status = SUTRA_IO, .offset = SUTRA_NO_OFFSET, .message = "no room"};
    return SUTRA_IO;
}

static void error_of_the_visitor_ends_the_analysis(void **state) {
    struct folder folder = make_folder();
    struct sutra_context *context = make_context(1);
    struct sutra_hta_ranks *ranks;
    struct sutra_error error;
    unsigned n_visits = 0;
    struct sutra_hta_ranks_options options = {.size = sizeof options, .visit = refuse, .arg = &n_visits};
    add_trace_text(&folder, "a.json", "'distributedInfo':{'backend':'nccl','rank':0}; " WORK_OF(10, 10));
    add_trace_text(&folder, "b.json", "'distributedInfo':{'backend':'nccl','rank':1}; " WORK_OF(10, 10));
    list_files(&folder);
    assert_int_equal(sutra_hta_ranks_run(context, folder.list, folder.n, &options, &ranks, &error), SUTRA_IO);
    assert_string_equal(error.message, "no room");
    assert_int_equal(n_visits, 1);
    sutra_context_free(context);
    remove_folder(&folder);
}

static void the_slowest_rank_has_a_cause(void **state) {
    static const struct {
        const char *slow; /* rank 1 of 3; the others end at 1,100 with 100 of compute and communication each */
        double span_us;
        enum sutra_hta_cause cause;
        double cause_us;
        int64_t awaited;
    } cases[] = {
        {"'distributedInfo':{'backend':'nccl','rank':1}; " WORK_OF(110, 200), 1190, SUTRA_CAUSE_COMMUNICATION, 200, 0},
        {"'distributedInfo':{'backend':'nccl','rank':1}; " WORK_OF(900,
                                                                   99) "kernel k stream=9 ts=1100+10 correlation=3",
         1100, SUTRA_CAUSE_COMPUTE, 910, 1},
        {"'distributedInfo':{'backend':'nccl','rank':1}; " WORK_OF(100,
                                                                   100) "kernel k stream=9 ts=1900+100 correlation=3",
         1990, SUTRA_CAUSE_IDLE, 1690, 0},
        {"'distributedInfo':{'backend':'nccl','rank':1}; " WORK_OF(
             100, 100) "gpu_memcpy 'Memcpy HtoD' stream=9 ts=1100+900 correlation=3 'memory bandwidth (GB/s)'=1",
         1990, SUTRA_CAUSE_MEMORY, 900, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct folder folder = make_folder();
        struct observed observed;
        struct sutra_context *context;
        struct sutra_hta_ranks *ranks;
        struct sutra_hta_slowest slowest = {.size = sizeof slowest};
        add_trace_text(&folder, "a.json", "'distributedInfo':{'backend':'nccl','rank':0}; " WORK_OF(100, 100));
        add_trace_text(&folder, "b.json", cases[i].slow);
        add_trace_text(&folder, "c.json", "'distributedInfo':{'backend':'nccl','rank':2}; " WORK_OF(100, 100));
        assert_int_equal(make(&folder, 2, false, &observed, &context, &ranks), SUTRA_OK);
        assert_true(sutra_hta_ranks_slowest(ranks, &slowest));
        assert_int_equal(slowest.rank, 1);
        assert_true(slowest.span_us == cases[i].span_us);
        assert_true(slowest.median_span_us == 1090);
        assert_int_equal(slowest.cause, cases[i].cause);
        assert_true(slowest.cause_us == cases[i].cause_us);
        assert_int_equal(slowest.awaited_rank, cases[i].awaited);
        sutra_hta_ranks_free(ranks);
        sutra_context_free(context);
        remove_folder(&folder);
    }
}

/* ---- Stragglers ---- */

static struct sutra_hta_ranks *analyze_ranks(struct folder *folder, struct sutra_context *context,
                                             const struct sutra_hta_options *options) {
    struct sutra_hta_ranks_options ranks_options = {.size = sizeof ranks_options, .hta = options};
    struct sutra_hta_ranks *ranks;
    list_files(folder);
    assert_int_equal(sutra_hta_ranks_run(context, folder->list, folder->n, &ranks_options, &ranks, NULL), SUTRA_OK);
    return ranks;
}

#define COMES_AT(rank, name, first, first_dur, second, second_dur)                                                     \
    "'distributedInfo':{'backend':'nccl','rank':" #rank "}; user_annotation ProfilerStep#1 ts=0+1000; "                \
    "cudaLaunchKernel ts=0+1 correlation=1; kernel '" name "' stream=8 ts=" #first "+" #first_dur " correlation=1; "   \
    "user_annotation ProfilerStep#2 ts=1000+1000; cudaLaunchKernel ts=1000+1 correlation=2; "                          \
    "kernel '" name "' stream=8 ts=" #second "+" #second_dur                                                           \
    " correlation=2; user_annotation ProfilerStep#3 ts=2000+10"

/* Rank 1 comes last both times, rank 2 once later than rank 0. */
static struct folder late_ranks(bool old_names) {
    struct folder folder = make_folder();
    add_trace_text(&folder, "a.json",
                   old_names ? COMES_AT(0, "ncclKernel_X", 100, 400, 1100, 400)
                             : COMES_AT(0, "ncclDevKernel_X", 100, 400, 1100, 400));
    add_trace_text(&folder, "b.json",
                   old_names ? COMES_AT(1, "ncclKernel_X", 300, 200, 1400, 100)
                             : COMES_AT(1, "ncclDevKernel_X", 300, 200, 1400, 100));
    add_trace_text(&folder, "c.json",
                   old_names ? COMES_AT(2, "ncclKernel_X", 200, 300, 1100, 400)
                             : COMES_AT(2, "ncclDevKernel_X", 200, 300, 1100, 400));
    return folder;
}

static void check_file(const char *path, const char *expected) {
    char *text = file_text(path, NULL);
    remove(path);
    assert_string_equal(text, expected);
    free(text);
}

static void check_list(struct folder *folder, struct sutra_context *context, const struct sutra_hta_ranks *ranks,
                       enum sutra_hta_list list, const char *expected) {
    char path[256];
    snprintf(path, sizeof path, "%s/list.json", folder->name);
    assert_int_equal(sutra_hta_ranks_write_list(context, ranks, list, path, NULL, NULL), SUTRA_OK);
    check_file(path, expected);
}

/* The candidates from one step, or from all for step 0. */
static void check_stragglers(struct folder *folder, struct sutra_context *context, const struct sutra_hta_ranks *ranks,
                             int64_t step, uint64_t n_candidates, const char *expected) {
    char path[256];
    snprintf(path, sizeof path, "%s/list.json", folder->name);
    assert_int_equal(sutra_hta_ranks_write_stragglers(context, ranks, step ? &step : NULL, step != 0, n_candidates,
                                                      path, NULL, NULL),
                     SUTRA_OK);
    check_file(path, expected);
}

static void late_ranks_have_the_short_collectives(void **state) {
    for (int old_names = 0; old_names < 2; old_names++) {
        struct folder folder = late_ranks(old_names);
        struct sutra_context *context = make_context(2);
        struct sutra_hta_ranks *ranks = analyze_ranks(&folder, context, NULL);
        check_table(ranks, SUTRA_HTA_STRAGGLERS,
                    "1,2,2,500.0,300.0,0.0,2 | 2,2,0,100.0,100.0,400.0,2 | 0,2,0,0.0,0.0,500.0,1");
        sutra_hta_ranks_free(ranks);
        sutra_context_free(context);
        remove_folder(&folder);
    }
}

static void hta_suspects_late_ranks_and_recognizes_only_old_kernel_names(void **state) {
    static const struct sutra_hta_options compat = {.size = sizeof compat, .compat = true};
    static const char *const suspects[] = {
        "{\n \"num_candidates=1\": null,\n \"num_candidates=2\": null,\n \"num_candidates=3\": null\n}\n",
        "{\n \"num_candidates=1\": [1],\n \"num_candidates=2\": [1, 2],\n \"num_candidates=3\": [0, 1, 2]\n}\n"};
    for (int old_names = 0; old_names < 2; old_names++) {
        struct folder folder = late_ranks(old_names);
        struct sutra_context *context = make_context(2);
        struct sutra_hta_ranks *ranks = analyze_ranks(&folder, context, &compat);
        check_list(&folder, context, ranks, SUTRA_HTA_LIST_STEPS, "[1, 2]\n");
        check_list(&folder, context, ranks, SUTRA_HTA_LIST_STRAGGLERS, suspects[old_names]);
        assert_true(sutra_hta_ranks_rules(ranks)->compat);
        assert_int_equal(sutra_hta_ranks_rules(ranks)->full_queue, 1024);
        sutra_hta_ranks_free(ranks);
        sutra_context_free(context);
        remove_folder(&folder);
    }
}

static void stragglers_are_listed_for_any_step_and_number(void **state) {
    static const struct sutra_hta_options compat = {.size = sizeof compat, .compat = true};
    struct folder folder = late_ranks(true);
    struct sutra_context *context = make_context(2);
    struct sutra_hta_ranks *ranks = analyze_ranks(&folder, context, &compat);
    check_stragglers(&folder, context, ranks, 0, 2, "[1, 2]\n");
    check_stragglers(&folder, context, ranks, 1, 2, "[1, 2]\n");
    check_stragglers(&folder, context, ranks, 2, 1, "[1]\n");
    check_stragglers(&folder, context, ranks, 2, 2, "[0, 1]\n");
    check_stragglers(&folder, context, ranks, 2, 4, "null\n");
    check_stragglers(&folder, context, ranks, 7, 1, "null\n");
    sutra_hta_ranks_free(ranks);
    sutra_context_free(context);
    remove_folder(&folder);
}

static enum sutra_status on_series(void *arg, struct sutra_context *context, const struct sutra_hta *hta,
                                   struct sutra_error *error) {
    char text[512];
    (void)context;
    (void)error;
    tell_table(sutra_result_table(SUTRA_RESULT(hta), SUTRA_HTA_BANDWIDTH_SERIES, NULL), "", text);
    strcat(arg, text);
    strcat(arg, ";");
    return SUTRA_OK;
}

/* HTA counts times from the first event of all ranks, so that no table of a rank can be shown before all are there. */
static void times_of_series_count_from_the_rank_or_for_hta_from_all(void **state) {
    static const char *const expected[] = {
        "0.0,0,Memcpy DtoD,1.0 | 2.0,0,Memcpy DtoD,0.0;0.0,0,Memcpy DtoD,1.0 | 2.0,0,Memcpy DtoD,0.0;",
        "0.0,0,Memcpy DtoD,1.0 | 2.0,0,Memcpy DtoD,0.0;40.0,0,Memcpy DtoD,1.0 | 42.0,0,Memcpy DtoD,0.0;"};
    struct folder folder = make_folder();
    add_trace_text(&folder, "a.json",
                   "'distributedInfo':{'backend':'nccl','rank':0}; "
                   "gpu_memcpy 'Memcpy DtoD' stream=7 ts=10+2 correlation=1 'memory bandwidth (GB/s)'=1");
    add_trace_text(&folder, "b.json",
                   "'distributedInfo':{'backend':'nccl','rank':1}; "
                   "gpu_memcpy 'Memcpy DtoD' stream=7 ts=50+2 correlation=1 'memory bandwidth (GB/s)'=1");
    list_files(&folder);
    for (int compat = 0; compat < 2; compat++) {
        char observed[1024] = "";
        const struct sutra_hta_options options = {.size = sizeof options, .compat = compat};
        struct sutra_hta_ranks_options ranks_options = {
            .size = sizeof ranks_options, .hta = &options, .visit = on_series, .arg = observed};
        struct sutra_context *context = make_context(1);
        struct sutra_hta_ranks *ranks;
        assert_int_equal(sutra_hta_ranks_run(context, folder.list, folder.n, &ranks_options, &ranks, NULL), SUTRA_OK);
        assert_string_equal(observed, expected[compat]);
        sutra_hta_ranks_free(ranks);
        sutra_context_free(context);
    }
    remove_folder(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_come_from_trace_file_name_or_index),
        cmocka_unit_test(tables_have_the_rows_of_all_ranks),
        cmocka_unit_test(integers_become_reals_if_another_rank_has_reals),
        cmocka_unit_test(malformed_and_duplicate_ranks_are_skipped_with_a_warning),
        cmocka_unit_test(without_any_good_trace_the_first_error_counts),
        cmocka_unit_test(error_of_the_visitor_ends_the_analysis),
        cmocka_unit_test(the_slowest_rank_has_a_cause),
        cmocka_unit_test(late_ranks_have_the_short_collectives),
        cmocka_unit_test(hta_suspects_late_ranks_and_recognizes_only_old_kernel_names),
        cmocka_unit_test(stragglers_are_listed_for_any_step_and_number),
        cmocka_unit_test(times_of_series_count_from_the_rank_or_for_hta_from_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
