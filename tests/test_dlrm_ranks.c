/*
 * test_dlrm_ranks.c - tests the DLRM analysis of several ranks: rates, common overheads, malformed ranks; and the
 * sample table and the summary of each trace.
 */
#include "dlrm_table.h"
#include "trace_folder.h"

#include "analyze/compat/dlrm/overheads.h"
#include "analyze/compat/dlrm/write.h"

#define WHOLE .size = sizeof(struct sutra_dlrm_options), .trim = SUTRA_TRIM_NONE, .module_marker = ""

/* ---- Many ranks ---- */

struct observed {
    unsigned n_warnings, n_visits;
    char last_warning[512];
    uint64_t n_ops; /* of the visited analyses */
    bool refuses;
};

static void on_warning(void *arg, const char *message) {
    struct observed *observed = arg;
    observed->n_warnings++;
    snprintf(observed->last_warning, sizeof observed->last_warning, "%s", message);
}

static enum sutra_status on_visit(void *arg, struct sutra_context *context, const struct sutra_dlrm *dlrm,
                                  const struct sutra_dlrm_rank *rank, struct sutra_error *error) {
    struct observed *observed = arg;
    struct sutra_dlrm_report report = {.size = sizeof report};
    (void)context;
    sutra_dlrm_report(dlrm, &report);
    assert_int_equal(report.n_ops, rank->report->n_ops);
    observed->n_visits++;
    observed->n_ops += report.n_ops;
    if (!observed->refuses)
        return SUTRA_OK;
    *error = (struct sutra_error){.status = SUTRA_IO, .offset = SUTRA_NO_OFFSET, .message = "no room"};
    return SUTRA_IO;
}

/* State of the visitor of ranks. */
struct several {
    struct sutra_context *context;
    struct sutra_dlrm_ranks *ranks;
    struct sutra_error error;
    struct observed observed;
};

static enum sutra_status several_make(struct several *several, struct folder *folder, unsigned n_threads, bool strict) {
    const struct sutra_dlrm_options options_of_each = {WHOLE};
    struct sutra_dlrm_ranks_options ranks_options = {
        .size = sizeof ranks_options, .dlrm = &options_of_each, .visit = on_visit, .arg = &several->observed};
    list_files(folder);
    several->ranks = NULL;
    several->context =
        NEW_CONTEXT(.n_threads = n_threads, .strict = strict, .warning = on_warning, .arg = &several->observed);
    return sutra_dlrm_ranks_run(several->context, folder->list, folder->n, &ranks_options, &several->ranks,
                                &several->error);
}

static void several_free(struct several *several) {
    sutra_dlrm_ranks_free(several->ranks);
    sutra_context_free(several->context);
}

static void each_rank_has_its_figures_and_is_shown_once(void **state) {
    struct folder folder = make_folder();
    add_trace_text(&folder, "x.json",
                   "'distributedInfo':{'rank':5}; cpu_op '## f' ts=0+5; cpu_op a ts=10+12 'External id'=1; "
                   "cpu_op a ts=24+12 'External id'=2; " END);
    add_trace_text(&folder, "y_rank2.json", "cpu_op a ts=10+22 'External id'=1; " END);
    for (unsigned n_threads = 1; n_threads <= 3; n_threads++) {
        struct several several = {.observed = {0}};
        assert_int_equal(several_make(&several, &folder, n_threads, false), SUTRA_OK);
        const struct sutra_dlrm_rank *first = sutra_dlrm_ranks_get(several.ranks, 0);
        const struct sutra_dlrm_rank *second = sutra_dlrm_ranks_get(several.ranks, 1);
        assert_int_equal(first->rank, 2);
        assert_int_equal(first->source, SUTRA_RANK_NAME);
        assert_string_equal(first->path, folder.paths[1]);
        assert_int_equal(first->report->n_ops, 1);
        assert_true(first->overhead_us[SUTRA_T5] == 20);
        assert_true(first->overhead_us[SUTRA_T1] != first->overhead_us[SUTRA_T1]); /* there is none */
        assert_int_equal(second->rank, 5);
        assert_int_equal(second->source, SUTRA_RANK_INFO);
        assert_int_equal(second->report->n_ops, 2);
        assert_null(second->report->overheads);
        assert_null(second->report->marker);
        assert_true(second->overhead_us[SUTRA_T5] == 10);
        assert_null(sutra_dlrm_ranks_get(several.ranks, 2));
        assert_int_equal(several.observed.n_visits, 2);
        assert_int_equal(several.observed.n_ops, 3);
        several_free(&several);
    }
    remove_folder(&folder);
}

static void tell_overheads(const struct several *several, struct text *text) {
    static const char *const kinds[] = {"T1", "T2", "T3", "T4", "T5"};
    uint64_t n;
    const struct sutra_dlrm_overhead *rows = sutra_dlrm_ranks_overheads(several->ranks, &n);
    for (uint64_t i = 0; i < n; i++)
        tell(text, "%s %s %g+-%g %d; ", kinds[rows[i].kind], sutra_dlrm_ranks_text(several->ranks, rows[i].name),
             rows[i].mean_us, rows[i].std_us, (int)rows[i].n);
}

static void samples_of_all_ranks_and_shapes_count_together(void **state) {
    struct folder folder = make_folder();
    add_trace_text(
        &folder, "0.json",
        "'distributedInfo':{'rank':0}; cpu_op '## f' ts=0+5; cpu_op a ts=10+12 'External id'=1 'Input dims'=[[2]]; "
        "cpu_op b ts=30+5 'External id'=2; " END);
    add_trace_text(
        &folder, "1.json",
        "'distributedInfo':{'rank':1}; cpu_op '## f' ts=0+5; cpu_op a ts=10+22 'External id'=1 'Input dims'=[[3]]; "
        "cpu_op a ts=40+50 'External id'=2; cudaLaunchKernel ts=50+10 correlation=70 'External id'=70; " END);
    for (unsigned n_threads = 1; n_threads <= 2; n_threads++) {
        struct several several = {.observed = {0}};
        struct text text = {""};
        assert_int_equal(several_make(&several, &folder, n_threads, false), SUTRA_OK);
        tell_overheads(&several, &text);
        /* T1: 8 - 2 of both; T5 of a: 10, 20, and 0 next to the one launch; T3: 90 - 60 - 1 event */
        assert_string_equal(text.bytes, "T1  6+-0 2; T5 a 10+-8.16497 3; T5 b 3+-0 1; T4 cudaLaunchKernel 4+-0 1; "
                                        "T2 a 10+-0 1; T3 a 28+-0 1; ");
        several_free(&several);
    }
    remove_folder(&folder);
}

/* The text of a file in the folder, which is removed. */
static void take_file(const struct folder *folder, const char *name, struct text *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder->name, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text->bytes[fread(text->bytes, 1, sizeof text->bytes - 1, file)] = 0;
    fclose(file);
    assert_int_equal(unlink(path), 0);
}

static void the_longest_list_of_launches_counts_and_optimizers_have_none(void **state) {
    struct folder folder = make_folder();
    struct several several = {.observed = {0}};
    struct text merged, raw, table;
    uint64_t n_bytes = 0;
    add_trace_text(&folder, "0.json",
                   "'distributedInfo':{'rank':0}; cpu_op '## f' ts=0+5; cpu_op a ts=10+50 'External id'=1; "
                   "cudaLaunchKernel ts=20+10 correlation=70 'External id'=70; "
                   "cpu_op 'My Optimizer.step' ts=300+50 'External id'=2; "
                   "cudaLaunchKernel ts=310+10 correlation=71 'External id'=71; " END);
    add_trace_text(&folder, "1.json",
                   "'distributedInfo':{'rank':1}; cpu_op '## f' ts=0+5; cpu_op a ts=10+90 'External id'=1; "
                   "cudaLaunchKernel ts=20+10 correlation=70 'External id'=70; "
                   "cudaMemcpyAsync ts=40+10 correlation=71 'External id'=71; " END);
    assert_int_equal(several_make(&several, &folder, 1, false), SUTRA_OK);
    assert_int_equal(sutra_dlrm_ranks_write(several.context, several.ranks, folder.name, "m", &n_bytes, NULL),
                     SUTRA_OK);
    take_file(&folder, "overheads_merged.json", &merged);
    take_file(&folder, "overheads_merged_raw.csv", &raw);
    take_file(&folder, "ranks.csv", &table);
    assert_int_equal(n_bytes, strlen(merged.bytes) + strlen(raw.bytes) + strlen(table.bytes));
    assert_string_equal(strstr(merged.bytes, " \"launches\""),
                        " \"launches\": {\n  \"a\": [\n   \"cudaLaunchKernel\",\n   \"cudaMemcpyAsync\"\n  ]\n }\n}");
    assert_non_null(strstr(merged.bytes, "\"My Optimizer.step\": {\n   \"(((-1,),), ((-1,),))\""));
    several_free(&several);
    remove_folder(&folder);
}

static void malformed_and_duplicate_ranks_are_skipped_with_a_warning(void **state) {
    struct folder folder = make_folder();
    add_trace_text(&folder, "a.json",
                   "'distributedInfo':{'rank':0}; cpu_op '## f' ts=0+5; cpu_op a ts=10+12 'External id'=1; " END);
    add_trace_text(&folder, "broken.json", "{\"traceEvents\": [{");
    add_trace_text(&folder, "c.json", "{\"distributedInfo\":{\"rank\":7},\"traceEvents\":[]}"); /* nothing to analyze */
    add_trace_text(&folder, "d.json",
                   "'distributedInfo':{'rank':0}; cpu_op '## f' ts=0+5; cpu_op a ts=10+32 'External id'=1; " END);
    for (unsigned n_threads = 1; n_threads <= 4; n_threads++) {
        struct several several = {.observed = {0}};
        struct text text = {""};
        assert_int_equal(several_make(&several, &folder, n_threads, false), SUTRA_OK);
        assert_non_null(strstr(several.observed.last_warning, "d.json: duplicate rank 0, also in "));
        assert_int_equal(several.observed.n_visits, 1);
        assert_non_null(strstr(sutra_dlrm_ranks_get(several.ranks, 1)->reason, "truncated"));
        assert_non_null(strstr(sutra_dlrm_ranks_get(several.ranks, 2)->reason, "the trace has no events"));
        tell_overheads(&several, &text);
        assert_string_equal(text.bytes, "T1  nan+-nan 0; T5 a 10+-0 1; ");
        several_free(&several);
        assert_int_equal(several_make(&several, &folder, n_threads, true), SUTRA_DATA);
        several_free(&several);
    }
    remove_folder(&folder);
}

static void error_of_the_visitor_ends_the_analysis(void **state) {
    struct folder folder = make_folder();
    struct several several = {.observed = {.refuses = true}};
    add_trace_text(&folder, "a.json",
                   "'distributedInfo':{'rank':0}; cpu_op '## f' ts=0+5; cpu_op a ts=10+12 'External id'=1; " END);
    add_trace_text(&folder, "b.json",
                   "'distributedInfo':{'rank':1}; cpu_op '## f' ts=0+5; cpu_op a ts=10+12 'External id'=1; " END);
    assert_int_equal(several_make(&several, &folder, 1, false), SUTRA_IO);
    assert_string_equal(several.error.message, "no room");
    assert_int_equal(several.observed.n_visits, 1);
    several_free(&several);
    remove_folder(&folder);
}

/* ---- Results of single traces ---- */

#define HEAD "model_name,batch_size,op_name,shapes,type,time\n"

static const struct {
    const char *name, *trace, *expected;
} raw_cases[] = {
    {"operators stand in the order of their first calls, also where that has no sample",
     "cpu_op aten::to ts=10+5 'External id'=1 'Input dims'=[[2]]; cpu_op b ts=400+7 'External id'=2; "
     "cpu_op aten::to ts=800+9 'External id'=3 'Input dims'=[[3]]; "
     "cudaLaunchKernel ts=802+1 correlation=70 'External id'=70; " END,
     HEAD "\"m,\",2048,cudaLaunchKernel,\"((-1,),)\",t4,4\n"
          "\"m,\",2048,aten::to,\"(((3,),), ((-1,),))\",t2,2\n"
          "\"m,\",2048,aten::to,\"(((3,),), ((-1,),))\",t3,4\n"
          "\"m,\",2048,aten::to,\"(((3,),), ((-1,),))\",t5,0\n"
          "\"m,\",2048,b,\"(((-1,),), ((-1,),))\",t5,5\n"},
    {"shapes of one operator stand together, T1 has no operator",
     "cpu_op a ts=10+5 'External id'=1 'Input dims'=[[2]]; cpu_op b ts=25+7 'External id'=2; "
     "cpu_op a ts=800+9 'External id'=3 'Input dims'=[[3]]; " END,
     HEAD "\"m,\",2048,,\"((-1,),)\",t1,8\n"
          "\"m,\",2048,a,\"(((2,),), ((-1,),))\",t5,3\n"
          "\"m,\",2048,a,\"(((3,),), ((-1,),))\",t5,7\n"
          "\"m,\",2048,b,\"(((-1,),), ((-1,),))\",t5,5\n"},
    {"times are integers only if all of them are",
     "cpu_op a ts=10+5 'External id'=1; cpu_op b ts=800+7.5 'External id'=2; " END,
     HEAD "\"m,\",2048,a,\"(((-1,),), ((-1,),))\",t5,3.0\n"
          "\"m,\",2048,b,\"(((-1,),), ((-1,),))\",t5,5.5\n"},
    {"what lies far from the quartiles is left out, what is below 0 counts as 0, an integer",
     "cpu_op a ts=1000+12 'External id'=1; cpu_op a ts=2000+13 'External id'=1; "
     "cpu_op a ts=3000+14 'External id'=1; cpu_op a ts=4000+15 'External id'=1; "
     "cpu_op a ts=5000+100.5 'External id'=1; cpu_op b ts=6000+0.5 'External id'=2; " END,
     HEAD "\"m,\",2048,a,\"(((-1,),), ((-1,),))\",t5,10\n"
          "\"m,\",2048,a,\"(((-1,),), ((-1,),))\",t5,11\n"
          "\"m,\",2048,a,\"(((-1,),), ((-1,),))\",t5,12\n"
          "\"m,\",2048,a,\"(((-1,),), ((-1,),))\",t5,13\n"
          "\"m,\",2048,b,\"(((-1,),), ((-1,),))\",t5,0\n"},
};

static void samples_have_the_order_of_the_notebook(void **state) {
    for (size_t i = 0; i < sizeof raw_cases / sizeof *raw_cases; i++) {
        struct analysis analysis;
        struct dlrm_raw raw;
        struct text_out out = {0};
        analyze(&analysis, raw_cases[i].trace, &(struct sutra_dlrm_options){WHOLE});
        assert_int_equal(analysis.status, SUTRA_OK);
        assert_int_equal(dlrm_raw_make(analysis.dlrm, &raw, NULL), SUTRA_OK);
        const struct dlrm_raw_part part = {&raw, "m,", 2, analysis.report.batch};
        assert_true(dlrm_raw_write(&(struct dlrm_raw_table){&part, 1}, &out));
        buffer_append(&out.out, "", 1);
        if (strcmp(out.out.bytes, raw_cases[i].expected) != 0)
            fail_msg("%s:\n%s", raw_cases[i].name, out.out.bytes);
        buffer_free(&out.out);
        dlrm_raw_free(&raw);
        analysis_free(&analysis);
    }
}

/* Kernels of 30 and 20 us that overlap by 10 us, and a stream of kernels without launches; the host needs 100 us. */
#define BUSY                                                                                                           \
    "cpu_op a ts=0+100 'External id'=1; cudaLaunchKernel ts=1+1 correlation=70 'External id'=70; "                     \
    "cudaLaunchKernel ts=3+1 correlation=71 'External id'=71; "                                                        \
    "kernel k stream=7 ts=10+30 correlation=70 'External id'=70; "                                                     \
    "kernel k stream=20 ts=30+20 correlation=71 'External id'=71; "                                                    \
    "kernel k stream=9 ts=40+5 correlation=99 'External id'=99; cpu_op end ts=100+1"
#define COUNTS                                                                                                         \
    "Number of iterations: 2\n"                                                                                        \
    "Num of events: 7, num of root events: 1, num of caller/callee pairs: 2\n"                                         \
    "Average per-batch dataloading time: 0.00 us\n"                                                                    \
    "Average per-batch host runtime: 50.00 us\n"                                                                       \
    "QPS: 40960000.00\n"                                                                                               \
    "3 GPU stream(s) in total.\n"

static const struct {
    const char *name;
    struct sutra_dlrm_options options;
    const char *expected;
} summary_cases[] = {
    {"shares are of the host's time, and all streams are there",
     {WHOLE, .iters = 2},
     COUNTS "    Stream 20: average per-batch time: 10.00 us, active perc 20.00%, idle perc 80.00%\n"
            "    Stream 7: average per-batch time: 15.00 us, active perc 30.00%, idle perc 70.00%\n"
            "    Stream 9: average per-batch time: 0.00 us, active perc 0.00%, idle perc 100.00%\n"
            "Total per-batch GPU time and percentage: 20.00 us (40.00%)\n"},
    {"the original counts the last of overlapping kernels once more",
     {WHOLE, .iters = 2, .compat = true},
     COUNTS "    Stream 20: average per-batch time: 20.00 us, active perc 40.00%, idle perc 60.00%\n"
            "    Stream 7: average per-batch time: 15.00 us, active perc 30.00%, idle perc 70.00%\n"
            "    Stream 9: average per-batch time: 0.00 us, active perc 0.00%, idle perc 100.00%\n"
            "Total per-batch GPU time and percentage: 30.00 us (60.00%)\n"},
    {"of a time that was measured, at most all is active",
     {WHOLE, .iters = 2, .iteration_us = 12.5},
     COUNTS "    Stream 20: average per-batch time: 10.00 us, active perc 80.00%, idle perc 20.00%\n"
            "    Stream 7: average per-batch time: 12.50 us, active perc 100.00%, idle perc 0.00%\n"
            "    Stream 9: average per-batch time: 0.00 us, active perc 0.00%, idle perc 100.00%\n"
            "Total per-batch GPU time and percentage: 12.50 us (100.00%)\n"},
};

static void summary_has_the_text_of_the_notebook(void **state) {
    for (size_t i = 0; i < sizeof summary_cases / sizeof *summary_cases; i++) {
        struct analysis analysis;
        struct text_out out = {0};
        analyze(&analysis, BUSY, &summary_cases[i].options);
        assert_int_equal(analysis.status, SUTRA_OK);
        dlrm_write_summary(analysis.dlrm, &out);
        buffer_append(&out.out, "", 1);
        if (strcmp(out.out.bytes, summary_cases[i].expected) != 0)
            fail_msg("%s:\n%s", summary_cases[i].name, out.out.bytes);
        buffer_free(&out.out);
        analysis_free(&analysis);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rank_has_its_figures_and_is_shown_once),
        cmocka_unit_test(samples_of_all_ranks_and_shapes_count_together),
        cmocka_unit_test(the_longest_list_of_launches_counts_and_optimizers_have_none),
        cmocka_unit_test(malformed_and_duplicate_ranks_are_skipped_with_a_warning),
        cmocka_unit_test(error_of_the_visitor_ends_the_analysis),
        cmocka_unit_test(samples_have_the_order_of_the_notebook),
        cmocka_unit_test(summary_has_the_text_of_the_notebook),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
