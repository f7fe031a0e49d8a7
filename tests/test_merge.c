/*
 * test_merge.c - tests the merge of several ranks into one trace: changed and unchanged fields of events, processes and
 * their names, clocks, arrows and skipped ranks.
 */
#include "trace_folder.h"

#include "base/memory.h"
#include "rewrite/merge.h"
#include "sutra/merge.h"
#include "text/doubles.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* ---- Numbers ---- */

static void times_are_moved_as_decimals(void **state) {
    static const struct {
        const char *text;
        int64_t ns;
        const char *moved;
    } cases[] = {
        {"4391163258924.761", 1500, "4391163258926.261"},
        {"4391163258924.761", 0, "4391163258924.761"},
        {"12.50", 0, "12.50"},
        {"12.5", -1, "12.499"},
        {"12.5", 1000, "13.5"},
        {"7", 2000, "9"},
        {"7", 2001, "9.001"},
        {"0.001", -2, "-0.001"},
        {"-1.25", 1250, "0.000"},
        {"-0.5", -1000, "-1.5"},
        {"99.9999", 1, "100.0009"},
        {"1.000000000000001", 1, "1.001000000000001"},
        {"1.00000000000000001", 1, "1.001"},
        {"1e3", 5, "1000.005"},
        {"1.5E1", 1000, "16.000"},
        {"NaN", 5, "NaN"},
        {"Infinity", 5, "Infinity"},
        {"1e300", 5, "1e300"},
        {"12345678901234567890", 1000, "12345678901234567891"},
        {"9223372036854775807.999", INT64_MAX, "9232595408891630583.806"},
        {"99999999999999999999.999999999999999", INT64_MAX, "100009223372036854775.806999999999999"},
        {"122222222222222222222222222222999999999999999", 5, "122222222222222222222222222222999999999999999"},
        {"-122222222222222222222222222222999999999999999.25", 5, "-122222222222222222222222222222999999999999999.25"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char out[128];
        size_t length = decimal_shift(cases[i].text, strlen(cases[i].text), cases[i].ns, out);
        out[length] = 0;
        assert_string_equal(out, cases[i].moved);
    }
}

static void merged_ids_differ_between_ranks(void **state) {
    static const struct {
        uint32_t position;
        const char *text, *id;
    } cases[] = {
        {0, "7", "7"},
        {1, "7", "1125899906842631"},
        {3, "0", "3377699720527872"},
        {3, "-1", "-1"},
        {3, "1125899906842623", "4503599627370495"},
        {3, "1125899906842624", "\"3:1125899906842624\""},
        {0, "1125899906842624", "\"0:1125899906842624\""},
        {2, "\"0x7\"", "\"2:0x7\""},
        {2, "1.5", "1.5"},
        {2, "99999999999999999999", "99999999999999999999"},
    };
    assert_int_equal(merge_id_bits(6), 50);
    assert_int_equal(merge_id_bits(7), 49);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buffer out = {0};
        char text[64] = {0};
        snprintf(text, sizeof text, "%s", cases[i].text);
        merge_id_write((struct merge_ids){cases[i].position, 50}, text, strlen(text), &out);
        buffer_append(&out, "", 1);
        assert_string_equal(out.bytes, cases[i].id);
        buffer_free(&out);
    }
}

/* ---- Traces ---- */

/* State of a merge; texts of traces contain ' for ". */
struct merging {
    struct folder folder;
    struct sutra_context *context;
    struct sutra_merged *merged;
    struct sutra_merge_report report;
    struct sutra_error error;
    char output[160], warnings[1024];
    char *text;
};

static void on_warning(void *arg, const char *message) {
    struct merging *merging = arg;
    size_t length = strlen(merging->warnings);
    snprintf(merging->warnings + length, sizeof merging->warnings - length, "%s\n", message);
}

static void add_trace(struct merging *merging, const char *name, const char *format, ...) {
    static char text[65536];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (char *at = text; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    add_file(&merging->folder, name, text);
}

static struct merging begin(void) {
    return (struct merging){.folder = make_folder(), .report.size = sizeof(struct sutra_merge_report)};
}

/* Merges all traces of the folder; the output's text is merging->text. */
static enum sutra_status merge_with(struct merging *merging, unsigned n_threads, bool strict,
                                    const struct sutra_merge_options *options) {
    list_files(&merging->folder);
    merging->warnings[0] = 0;
    snprintf(merging->output, sizeof merging->output, "%s/all.json", merging->folder.name);
    merging->context = NEW_CONTEXT(.n_threads = n_threads, .strict = strict, .warning = on_warning, .arg = merging);
    enum sutra_status status = sutra_merge(merging->context, merging->folder.list, merging->folder.n, options,
                                           merging->output, &merging->merged, &merging->error);
    if (!status) {
        sutra_merged_report(merging->merged, &merging->report);
        merging->text = file_text(merging->output, NULL);
        assert_int_equal(merging->report.n_bytes, strlen(merging->text));
    }
    sutra_context_free(merging->context);
    return status;
}

static void end_merge(struct merging *merging) {
    sutra_merged_free(merging->merged);
    free(merging->text);
    unlink(merging->output);
    merging->merged = NULL;
    merging->text = NULL;
}

/* Whether the output has these lines, with ' in place of ", one after the other. */
static void assert_has(const struct merging *merging, const char *lines) {
    char wanted[4096];
    snprintf(wanted, sizeof wanted, "%s", lines);
    for (char *at = wanted; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    if (!strstr(merging->text, wanted))
        fail_msg("not there:\n%s\nbut:\n%s", wanted, merging->text);
}

#define REDUCE(ts, dur, seq)                                                                                           \
    "{'ph':'X','cat':'kernel','name':'ncclAllReduce','pid':0,'tid':7,'ts':" ts ",'dur':" dur                           \
    ",'args':{'stream':7,'correlation':3,'Collective name':'allreduce','dtype':'Float','Process Group Name':'0',"      \
    "'Process Group Ranks':'[0, 1]','Group size':2,'In msg nelems':8,'Out msg nelems':8,'Seq':" seq "}}"

static void merged_events_change_only_ids_and_times(void **state) {
    struct merging merging = begin();
    add_trace(
        &merging, "rank0.json",
        "{'baseTimeNanoseconds':1000,'traceEvents':[{ 'ph' : 'X','cat':'cpu_op','name':'a\\u00e9','pid':9, 'tid':9,"
        "'ts':1.5,'dur':2, 'args': {'x' : [1, {}],'correlation':3} } , {'ph':'s','id':3,'pid':9,'tid':9,'ts':2}]}");
    add_trace(&merging, "rank1.json",
              "{'baseTimeNanoseconds':3500,'traceEvents':[{'args': {'wait_on_cuda_event_record_corr_id':5,"
              "'correlation':3}, 'cat':'cpu_op', 'ts':10,'dur':2.50,'pid':'p q','ph':'X','tid':'main'},\n"
              "{'ph':'f','id':'k','pid':'p q','tid':'main','ts':12.1},{'ph':'X','cat':'cpu_op','ts':1},{},"
              "{'ph':'M','name':'x','pid':'p q','tid':'main','ts':5}]}");
    assert_int_equal(merge_with(&merging, 1, false, NULL), SUTRA_OK);
    assert_has(
        &merging,
        "{ 'ph' : 'X','cat':'cpu_op','name':'a\\u00e9','pid':1, 'tid':9,'ts':1.5,'dur':2, 'args': {'x' : [1, {}],"
        "'correlation':3} },\n{'ph':'s','id':3,'pid':1,'tid':9,'ts':2},\n");
    assert_has(&merging,
               "{'args': {'wait_on_cuda_event_record_corr_id':2251799813685253,'correlation':2251799813685251}, "
               "'cat':'cpu_op', 'ts':12.500,'dur':2.50,'pid':10001,'ph':'X','tid':'main'},\n"
               "{'ph':'f','id':'1:k','pid':10001,'tid':'main','ts':14.600},\n"
               "{'pid': 10002, 'ph':'X','cat':'cpu_op','ts':3.500},\n{'pid': 10002},\n"
               "{'ph':'M','name':'x','pid':10001,'tid':'main','ts':5}\n]}\n");
    assert_has(&merging, "{'name': 'rank 0: CPU'}");
    assert_has(&merging, "{'name': 'rank 1: CPU p q'}");
    assert_has(&merging, "{'name': 'rank 1: CPU 0'}");
    assert_has(&merging, " 'baseTimeNanoseconds': 1000,\n");
    end_merge(&merging);
    remove_folder(&merging.folder);
}

static void streams_become_processes_in_order(void **state) {
    struct merging merging = begin();
    add_trace(&merging, "rank4.json",
              "{'traceEvents':[{'ph':'M','name':'process_name','pid':1,'tid':0,'args':{'name':'python'}},"
              "{'ph':'M','name':'process_name','pid':5,'tid':0,'args':{'name':'python'}},"
              "{'ph':'M','name':'thread_name','pid':1,'tid':20,'args':{'name':'stream 20 '}},"
              "{'ph':'M','name':'thread_name','pid':77,'tid':78,'args':{'name':'worker'}},"
              "{'ph':'M','name':'thread_name','pid':77,'tid':79,'args':{'name':'idle'}},"
              "{'ph':'X','cat':'Trace','pid':'Spans','tid':'t','ts':1,'dur':1},"
              "{'ph':'X','cat':'kernel','name':'k','pid':1,'tid':20,'ts':1,'dur':1},"
              "{'ph':'X','cat':'cuda_sync','name':'s','pid':1,'tid':7,'ts':1,'dur':1},"
              "{'ph':'X','cat':'gpu_memcpy','name':'k','pid':0,'tid':20,'ts':1,'dur':1},"
              "{'ph':'X','cat':'gpu_user_annotation','name':'k','pid':1,'tid':7,'ts':1,'dur':1},"
              "{'ph':'X','cat':'cuda_runtime','name':'k','pid':77,'tid':78,'ts':1,'dur':1},"
              "{'ph':'C','name':'c','pid':0,'ts':1}]}");
    assert_int_equal(merge_with(&merging, 1, false, NULL), SUTRA_OK);
    assert_has(&merging, "'process_name', 'pid': 1, 'tid': 0, 'args': {'name': 'rank 4: CPU'}}");
    assert_has(&merging, "'process_sort_index', 'pid': 1, 'tid': 0, 'args': {'sort_index': 1}}");
    assert_has(&merging, "'process_name', 'pid': 2, 'tid': 0, 'args': {'name': 'rank 4: GPU 0 stream 20'}}");
    assert_has(&merging, "'thread_name', 'pid': 2, 'tid': 20, 'args': {'name': 'stream 20'}}");
    assert_has(&merging, "'process_name', 'pid': 3, 'tid': 0, 'args': {'name': 'rank 4: GPU 1 stream 7'}}");
    assert_has(&merging, "'process_name', 'pid': 4, 'tid': 0, 'args': {'name': 'rank 4: GPU 1 stream 20'}}");
    assert_has(&merging, "'process_name', 'pid': 5, 'tid': 0, 'args': {'name': 'rank 4: Spans'}}");
    assert_has(&merging, "'process_name', 'pid': 6, 'tid': 0, 'args': {'name': 'rank 4: process 0'}}");
    assert_has(&merging, ",\n{'ph':'M','name':'thread_name','pid':1,'tid':78,'args':{'name':'worker'}},\n{'ph':'X'");
    assert_null(strstr(merging.text, "python"));
    assert_null(strstr(merging.text, "idle"));
    assert_null(strstr(merging.text, "stream 20 "));
    assert_int_equal(merging.report.n_processes, 6);
    assert_int_equal(merging.report.n_kept, 8);
    end_merge(&merging);
    remove_folder(&merging.folder);
}

/* ---- Ranks together ---- */

/* Rank 1's clock is 500 us ahead. */
static struct merging begin_two_ranks(void) {
    struct merging merging = begin();
    add_trace(&merging, "rank1.json", "{'distributedInfo':{'rank':1},'traceEvents':[%s,%s,%s]}",
              REDUCE("604.25", "6", "0"), REDUCE("700", "10", "1"), REDUCE("820", "10", "2"));
    add_trace(&merging, "rank0.json", "{'distributedInfo':{'rank':0},'traceEvents':[%s,%s,%s]}",
              REDUCE("100", "10.25", "0"), REDUCE("205", "5", "1"), REDUCE("320.5", "9.5", "2"));
    return merging;
}

static void clocks_are_aligned_by_collectives(void **state) {
    struct merging merging = begin_two_ranks();
    assert_int_equal(merge_with(&merging, 2, false, NULL), SUTRA_OK);
    assert_int_equal(merging.report.n_ranks, 2);
    assert_int_equal(merging.report.ranks[0].offset_ns, 0);
    assert_int_equal(merging.report.ranks[1].rank, 1);
    assert_int_equal(merging.report.ranks[1].offset_ns, -500000);
    assert_int_equal(merging.report.ranks[1].n_aligned, 3);
    assert_has(&merging, "'pid':10001,'tid':7,'ts':104.25,'dur':6");
    assert_has(&merging, "'pid':1,'tid':7,'ts':205,'dur':5");
    assert_has(&merging, "'offset_us': -500.0, 'residual_us': 0.0, 'n_aligned': 3}");
    end_merge(&merging);
    const struct sutra_merge_options none = {.size = sizeof none, .clocks = SUTRA_CLOCKS_NONE};
    assert_int_equal(merge_with(&merging, 2, false, &none), SUTRA_OK);
    assert_has(&merging, "'pid':10001,'tid':7,'ts':604.25,'dur':6");
    assert_int_equal(merging.report.n_collectives, 3);
    end_merge(&merging);
    remove_folder(&merging.folder);
}

/* Four ranks on two hosts, whose second clock is some 500 us ahead; ends of each rank lie a little apart. */
static void ranks_of_a_host_share_its_clock(void **state) {
    static const struct {
        const char *devices;
        const char *ends[4][3];
        int64_t offsets_ns[4];
    } cases[] = {
        {"{'id':0},{'id':1}",
         {{"100", "200", "300"}, {"100", "200", "300"}, {"600.2", "700.4", "800.6"}, {"600.4", "700.6", "800.2"}},
         {0, 0, -400, -400}},
        {"{'id':0}", /* each its own */
         {{"100", "200", "300"}, {"100", "200", "300"}, {"600.2", "700.3", "800.4"}, {"600.4", "700.5", "800.6"}},
         {0, 0, -300, -500}},
        {"{'id':0},{'id':1}", /* too far apart for one clock */
         {{"100", "200", "300"}, {"100", "200", "300"}, {"600.2", "700.3", "800.4"}, {"650.2", "750.3", "850.4"}},
         {0, 0, -300, -50300}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct merging merging = begin();
        for (int rank = 0; rank < 4; rank++) {
            char name[32], events[4096] = "";
            for (int k = 0; k < 3; k++)
                snprintf(events + strlen(events), sizeof events - strlen(events),
                         "%s{'ph':'X','cat':'kernel','name':'ncclAllReduce','pid':0,'tid':7,'ts':%s,'dur':9,'args':{"
                         "'stream':7,'correlation':3,'Collective name':'allreduce','dtype':'Float',"
                         "'Process Group Name':'0','Process Group Ranks':'[0, 1, 2, 3]','Group size':4,"
                         "'In msg nelems':8,'Out msg nelems':8,'Seq':%d}}",
                         k ? "," : "", cases[i].ends[rank][k], k);
            snprintf(name, sizeof name, "rank%d.json", rank);
            add_trace(&merging, name, "{'distributedInfo':{'rank':%d},'deviceProperties':[%s],'traceEvents':[%s]}",
                      rank, cases[i].devices, events);
        }
        assert_int_equal(merge_with(&merging, 2, false, NULL), SUTRA_OK);
        for (int rank = 0; rank < 4; rank++)
            assert_int_equal(merging.report.ranks[rank].offset_ns, cases[i].offsets_ns[rank] - (rank > 1 ? 500000 : 0));
        end_merge(&merging);
        remove_folder(&merging.folder);
    }
}

#define ARROW(phase, id, pid, ts)                                                                                      \
    "{'ph': " phase ", 'id': " id ", 'pid': " pid ", 'tid': 7, 'ts': " ts ", 'cat': 'collective', 'name': 'allreduce'}"

static void flows_connect_the_first_rank_with_the_last(void **state) {
    struct merging merging = begin_two_ranks();
    assert_int_equal(merge_with(&merging, 1, false, NULL), SUTRA_OK);
    assert_has(&merging, ",\n" ARROW("'s'", "4503599627370496", "1", "100.000") ",\n" ARROW(
                             "'f', 'bp': 'e'", "4503599627370496", "10001", "104.250") ",\n");
    assert_has(&merging, ",\n" ARROW("'s'", "4503599627370497", "10001", "200.000") ",\n" ARROW(
                             "'f', 'bp': 'e'", "4503599627370497", "1", "205.000") ",\n");
    end_merge(&merging);
    const struct sutra_merge_options bare = {.size = sizeof bare, .no_arrows = true};
    assert_int_equal(merge_with(&merging, 1, false, &bare), SUTRA_OK);
    assert_null(strstr(merging.text, "\"cat\": \"collective\""));
    end_merge(&merging);
    remove_folder(&merging.folder);
}

static void flows_to_skipped_collectives_are_omitted(void **state) {
    struct merging merging = begin_two_ranks();
    const struct sutra_selection longer = {.size = sizeof longer, .min_us = 9.9};
    const struct sutra_merge_options options = {.size = sizeof options, .selection = &longer};
    assert_int_equal(merge_with(&merging, 1, false, &options), SUTRA_OK);
    assert_int_equal(merging.report.n_kept, 3);
    assert_int_equal(merging.report.n_collectives, 0);
    assert_int_equal(merging.report.ranks[1].offset_ns, -500000);
    end_merge(&merging);
    remove_folder(&merging.folder);
}

static void all_threads_write_the_same_bytes(void **state) {
    struct merging merging = begin();
    char *first = NULL;
    for (int rank = 0; rank < 6; rank++) {
        char name[32];
        snprintf(name, sizeof name, "rank%d.json", rank);
        add_trace(&merging, name,
                  "{'traceEvents':[%s,{'ph':'X','cat':'cpu_op','name':'r%d','pid':5,'tid':6,'ts':1,'dur':2}]}",
                  REDUCE("604.25", "6", "0"), rank);
    }
    for (unsigned n_threads = 1; n_threads <= 5; n_threads++) {
        assert_int_equal(merge_with(&merging, n_threads, false, NULL), SUTRA_OK);
        if (first)
            assert_string_equal(first, merging.text);
        else
            first = strdup(merging.text);
        end_merge(&merging);
    }
    free(first);
    remove_folder(&merging.folder);
}

/* ---- Errors ---- */

static void malformed_ranks_are_skipped_once(void **state) {
    struct merging merging = begin_two_ranks();
    add_trace(&merging, "rank2.json", "{'traceEvents':[");
    assert_int_equal(merge_with(&merging, 2, false, NULL), SUTRA_OK);
    assert_int_equal(merging.report.n_ranks, 2);
    assert_int_equal(merging.report.n_skipped, 1);
    const char *warning = strstr(merging.warnings, "skipped: ");
    assert_non_null(warning);
    assert_null(strstr(warning + 1, "skipped: "));
    end_merge(&merging);
    assert_int_equal(merge_with(&merging, 2, true, NULL), SUTRA_DATA);
    assert_int_equal(access(merging.output, F_OK), -1);
    remove_folder(&merging.folder);
}

/* Neither the memory limit nor the position of a number in a long event changes the output. */
static void traces_are_held_or_read_twice(void **state) {
    static const uint64_t room[] = {0, 1, 4096, UINT64_MAX};
    static char name[66000], text[66200];
    char *texts[COUNT(room)];
    struct merging merging = begin_two_ranks();
    memset(name, 'n', sizeof name - 1);
    snprintf(text, sizeof text,
             "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"pid\":8,\"name\":\"%s\",\"tid\":8,\"ts\":5,"
             "\"args\":{\"correlation\":6}},{\"ph\":\"X\",\"cat\":\"kernel\",\"pid\":0,\"tid\":7,\"ts\":9,\"dur\":1}]}",
             name);
    add_file(&merging.folder, "rank2.json", text);
    for (size_t i = 0; i < COUNT(room); i++) {
        const struct sutra_merge_options options = {.size = sizeof options, .memory = room[i]};
        assert_int_equal(merge_with(&merging, 1 + i % 2, false, &options), SUTRA_OK);
        texts[i] = merging.text;
        merging.text = NULL;
        end_merge(&merging);
        assert_string_equal(texts[i], texts[0]);
    }
    merging.text = texts[0];
    assert_has(&merging, "'pid':20001,'name':'nnn");
    assert_has(&merging, "nnn','tid':8,'ts':5,'args':{'correlation':2251799813685254}}");
    for (size_t i = 0; i < COUNT(room); i++)
        free(texts[i]);
    remove_folder(&merging.folder);
}

static void unknown_step_is_an_error(void **state) {
    struct merging merging = begin_two_ranks();
    const struct sutra_selection step = {.size = sizeof step, .step = "9"};
    const struct sutra_merge_options options = {.size = sizeof options, .selection = &step};
    assert_int_equal(merge_with(&merging, 2, false, &options), SUTRA_DATA);
    assert_int_equal(access(merging.output, F_OK), -1);
    remove_folder(&merging.folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_moved_as_decimals),
        cmocka_unit_test(merged_ids_differ_between_ranks),
        cmocka_unit_test(merged_events_change_only_ids_and_times),
        cmocka_unit_test(streams_become_processes_in_order),
        cmocka_unit_test(clocks_are_aligned_by_collectives),
        cmocka_unit_test(ranks_of_a_host_share_its_clock),
        cmocka_unit_test(flows_connect_the_first_rank_with_the_last),
        cmocka_unit_test(flows_to_skipped_collectives_are_omitted),
        cmocka_unit_test(all_threads_write_the_same_bytes),
        cmocka_unit_test(malformed_ranks_are_skipped_once),
        cmocka_unit_test(traces_are_held_or_read_twice),
        cmocka_unit_test(unknown_step_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
