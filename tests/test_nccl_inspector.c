/*
 * test_nccl_inspector.c - logs of NCCL Inspector: versions, malformed lines, ranks of a job, matches, waits, and errors
 * in the collectives.
 */
#include <inttypes.h>
#include <math.h>

#include "analyze/table.h"
#include "base/memory.h"
#include "read/file_kind.h"
#include "read/nccl_inspector.h"
#include "sutra/collectives.h"
#include "trace_folder.h"
#include "unit.h"

#define HEADER   "'header':{'id':'0x7a','comm_name':'DP','rank':1,'n_ranks':2,'nnodes':1}"
#define METADATA "'metadata':{'inspector_output_format_version':'v4.0','git_rev':'','hostname':'n1','pid':7}"
#define PERF     "'coll_perf':{'coll':'AllReduce','coll_sn':3,'coll_msg_size_bytes':8192,'coll_exec_time_us':61}"
#define P2P      "'p2p_perf':{'p2p':'Send','p2p_sn':4,'p2p_peer':0,'p2p_msg_size_bytes':9000,'p2p_exec_time_us':5"
#define LINE     "{" HEADER "," METADATA "," PERF "}\n"

/* The records of a log, as "type number bytes ns peer timed; ", then the malformed lines; or the error. */
static void describe_log(const char *text, char *out, size_t size) {
    struct inspector_log log;
    struct source source;
    struct sutra_error error = {0};
    char *json = double_quotes(text);
    assert_int_equal(source_copy_any(&source, "a.log", json, strlen(json), &error), SUTRA_OK);
    size_t n = 0;
    *out = 0;
    if (inspector_log_parse(&log, &source, &error)) {
        sutra_error_text(&error, out, size);
    } else {
        for (uint64_t i = 0; i < log.n_records && n < size; i++) {
            const struct inspector_record *record = &log.records[i];
            n += (size_t)snprintf(out + n, size - n, "%s %" PRId64 " %" PRId64 " %" PRId64 " %d %d; ",
                                  strings_text(&log.strings, record->type), record->number, record->bytes,
                                  record->duration_ns, record->peer, record->is_timed);
        }
        snprintf(out + n, size - n, "%" PRIu64 " malformed from %" PRIu64, log.n_malformed, log.first_malformed);
    }
    inspector_log_free(&log);
    source_close(&source);
    free(json);
}

static void lines_are_records_or_malformed(void **state) {
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {LINE, "AllReduce 3 8192 61000 -1 1; 0 malformed from 0"},
        {LINE LINE "\n\n" LINE,
         "AllReduce 3 8192 61000 -1 1; AllReduce 3 8192 61000 -1 1; AllReduce 3 8192 61000 -1 1; "
         "0 malformed from 0"},
        {"{" PERF "," METADATA ",'more':[{'a':1}]," HEADER "}", "AllReduce 3 8192 61000 -1 1; 0 malformed from 0"},
        {" {" HEADER ", " METADATA ", " P2P "}} \r\n", "Send 4 9000 5000 0 1; 0 malformed from 0"},
        {LINE "{" HEADER "," METADATA "," P2P ",'p2p_timing_source':'kernel_cpu'}}",
         "AllReduce 3 8192 61000 -1 1; Send 4 9000 5000 0 0; 0 malformed from 0"},
        {"{'header':{'id':'0x7a','rank':1,'n_ranks':2}," METADATA "," PERF "}",
         "AllReduce 3 8192 61000 -1 1; 0 malformed from 0"},
        {"{" HEADER ",'metadata':{'inspector_output_format_version':'v5.1','hostname':'a\\/b','pid':1}," PERF "}",
         "AllReduce 3 8192 61000 -1 1; 0 malformed from 0"},
        {LINE "{" HEADER ",\n" LINE "text\n[1]\n{}\n" LINE,
         "AllReduce 3 8192 61000 -1 1; AllReduce 3 8192 61000 -1 1; AllReduce 3 8192 61000 -1 1; 4 malformed from 2"},
        {"{" HEADER "," METADATA "," PERF "\n" LINE, "AllReduce 3 8192 61000 -1 1; 1 malformed from 1"},
        {LINE "{" HEADER "," METADATA "}\n{" HEADER "," PERF "}\n{" METADATA "," PERF "}\n{'header':1," METADATA
              "," PERF "}",
         "AllReduce 3 8192 61000 -1 1; 4 malformed from 2"},
        {LINE "{'header':{'id':'0x7a','rank':2,'n_ranks':2}," METADATA "," PERF "}",
         "AllReduce 3 8192 61000 -1 1; 1 malformed from 2"},
        {LINE "{'header':{'id':7,'rank':0,'n_ranks':2}," METADATA "," PERF "}",
         "AllReduce 3 8192 61000 -1 1; 1 malformed from 2"},
        {LINE "{" HEADER "," METADATA ",'coll_perf':{'coll':'AllReduce','coll_sn':-1,'coll_msg_size_bytes':1,"
              "'coll_exec_time_us':1}}",
         "AllReduce 3 8192 61000 -1 1; 1 malformed from 2"},
        {LINE "{" HEADER "," METADATA ",'coll_perf':{'coll':'AllReduce','coll_sn':1,'coll_msg_size_bytes':1,"
              "'coll_exec_time_us':'nan'}}",
         "AllReduce 3 8192 61000 -1 1; 1 malformed from 2"},
        {LINE "{" HEADER "," METADATA ",'p2p_perf':{'p2p':'Put','p2p_sn':1,'p2p_peer':0,'p2p_msg_size_bytes':1,"
              "'p2p_exec_time_us':1}}",
         "AllReduce 3 8192 61000 -1 1; 1 malformed from 2"},
        {LINE "{" HEADER ",'metadata':{'inspector_output_format_version':'v3.9','hostname':'n1','pid':7}," PERF "}",
         "a.log: byte 379, line 2: NCCL Inspector format 3 is not supported (supported: 4 and 5): record it with NCCL "
         "2.28 or later"},
        {"{" HEADER ",'metadata':{'inspector_output_format_version':'v6.0','hostname':'n1','pid':7}," PERF "}",
         "a.log: byte 119, line 1: NCCL Inspector format 6 is not supported (supported: 4 and 5): use a later sutra"},
        {"{" HEADER ",'metadata':{'inspector_output_format_version':'latest','hostname':'n1','pid':7}," PERF "}",
         "a.log: byte 0, line 1: malformed NCCL Inspector log: no line is a complete record"},
        {"{" HEADER "," METADATA "," P2P,
         "a.log: byte 0, line 1: malformed NCCL Inspector log: no line is a complete record"},
        {"step 1 loss 2.3\n", "a.log: byte 0, line 1: expected an NCCL Inspector log, found text that does not begin "
                              "with '{'"},
        {"", "a.log: no records: NCCL Inspector writes them at the end, or with "
             "NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1000];
        describe_log(cases[i].text, text, sizeof text);
        assert_string_equal(text, cases[i].expected);
    }
}

static void logs_are_recognized_by_their_first_records(void **state) {
    static const struct {
        const char *text;
        bool is_log;
    } cases[] = {
        {LINE, true},
        {"\n" LINE, true},
        {"{" HEADER "," METADATA ",'coll_perf':{", true},
        {"{" HEADER "," METADATA "," P2P, true},
        {"{'header':{'id':\n" LINE, true},
        {"{" HEADER "," METADATA "}", false},
        {"{'header':1,'metadata':2,'coll_perf':3}", false},
        {"{'traceEvents':[{'header':{},'metadata':{},'coll_perf':{}}]}", false},
        {"text", false},
        {"", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *json = double_quotes(cases[i].text);
        assert_int_equal(is_inspector_log(json, strlen(json)), cases[i].is_log);
        if (cases[i].is_log)
            assert_int_equal(file_kind("a", json, strlen(json)).format, FILE_INSPECTOR_LOG);
        free(json);
    }
}

/* ---- Jobs: a log per process ---- */

struct log_text {
    struct buffer text;
    const char *host;
    int pid;
};

/* "ID NAME RANK/N nodes" of a communicator: appends a record. */
static void append_record(struct log_text *log, const char *id, int rank, int n_ranks, int n_nodes, const char *perf) {
    char *json;
    assert_true(asprintf(&json,
                         "{'header':{'id':'%s','comm_name':'%s','rank':%d,'n_ranks':%d,'nnodes':%d},'metadata':{"
                         "'inspector_output_format_version':'v4.0','hostname':'%s','pid':%d},%s}\n",
                         id, *id == 't' ? "TP" : "unknown", rank, n_ranks, n_nodes, log->host, log->pid, perf) >= 0);
    char *quoted = double_quotes(json);
    buffer_append_text(&log->text, quoted);
    free(quoted);
    free(json);
}

static void append_collective(struct log_text *log, const char *id, int rank, int n_ranks, int n_nodes,
                              const char *type, int number, int bytes, int us, const char *source) {
    char perf[300];
    snprintf(perf, sizeof perf,
             "'coll_perf':{'coll':'%s','coll_sn':%d,'coll_msg_size_bytes':%d,'coll_exec_time_us':%d,"
             "'coll_timing_source':'%s','coll_algobw_gbs':1.0,'coll_busbw_gbs':1.0}",
             type, number, bytes, us, source);
    append_record(log, id, rank, n_ranks, n_nodes, perf);
}

static void append_message(struct log_text *log, const char *id, int rank, int n_ranks, int n_nodes, const char *type,
                           int number, int peer, int us) {
    char perf[300];
    snprintf(perf, sizeof perf,
             "'p2p_perf':{'p2p':'%s','p2p_sn':%d,'p2p_peer':%d,'p2p_msg_size_bytes':16384,'p2p_exec_time_us':%d}", type,
             number, peer, us);
    append_record(log, id, rank, n_ranks, n_nodes, perf);
}

/* Two processes on each of two hosts. */
static void begin_job(struct log_text logs[4]) {
    static const char *const hosts[] = {"a", "a", "b", "b"};
    for (int i = 0; i < 4; i++)
        logs[i] = (struct log_text){.host = hosts[i], .pid = 40 - i};
}

struct collectives_job {
    struct folder folder;
    struct sutra_context *context;
    struct sutra_collectives *collectives;
    struct sutra_collectives_summary summary;
};

/* Analyzes the logs, in this order, which are freed. */
static struct collectives_job analyze(struct log_text *logs, size_t n,
                                      const struct sutra_collectives_options *options) {
    struct collectives_job job = {.folder = make_folder(), .summary.size = sizeof job.summary};
    struct sutra_error error = {0};
    job.context = NEW_CONTEXT(.n_threads = 2);
    for (size_t i = 0; i < n; i++) {
        char name[32];
        buffer_append(&logs[i].text, "", 1);
        snprintf(name, sizeof name, "%zu.log", i);
        add_file(&job.folder, name, logs[i].text.bytes);
        buffer_free(&logs[i].text);
    }
    list_files(&job.folder);
    const enum sutra_status status =
        sutra_collectives_run(job.context, job.folder.list, n, options, &job.collectives, &error);
    assert_string_equal(error.message, "");
    assert_int_equal(status, SUTRA_OK);
    sutra_collectives_summary(job.collectives, &job.summary);
    return job;
}

static void free_job(struct collectives_job *job) {
    sutra_collectives_free(job->collectives);
    sutra_context_free(job->context);
    remove_folder(&job->folder);
}

static const struct sutra_table *table_of(const struct collectives_job *job, enum sutra_collectives_table id) {
    return sutra_result_table(SUTRA_RESULT(job->collectives), id, NULL);
}

/* The checks as "check ranks; ". */
static void describe_checks(const struct collectives_job *job, char *text) {
    const struct sutra_table *checks = table_of(job, SUTRA_COLLECTIVES_CHECKS);
    *text = 0;
    for (uint64_t row = 0; row < sutra_table_rows(checks); row++)
        text += sprintf(text, "%s %s; ", text_named(checks, "check", row), text_named(checks, "ranks", row));
}

static void ranks_are_of_the_communicator_of_all_processes(void **state) {
    struct log_text logs[4];
    begin_job(logs);
    static const int world[] = {2, 0, 3, 1};
    for (int i = 0; i < 4; i++) {
        append_collective(&logs[i], "0x1", world[i], 4, 2, "AllReduce", 1, 8192, 100 + 10 * i, "kernel_gpu");
        append_collective(&logs[i], i < 2 ? "t0" : "t1", i % 2, 2, 1, "AllGather", 1, 8192, 50, "kernel_gpu");
    }
    struct collectives_job job = analyze(logs, 4, NULL);
    const struct sutra_table *all = table_of(&job, SUTRA_COLLECTIVES_ALL),
                             *ranks = table_of(&job, SUTRA_COLLECTIVES_RANKS);
    assert_int_equal(sutra_table_rows(all), 3);
    assert_string_equal(text_named(all, "group", 0), "0x1");
    assert_string_equal(text_named(all, "group", 1), "t0 (TP)");
    assert_string_equal(text_named(all, "members", 1), "0, 2");
    assert_string_equal(text_named(all, "place", 0), "between");
    assert_string_equal(text_named(all, "place", 1), "inside");
    /* The longest duration is of the first rank to arrive. */
    assert_int_equal(integer_named(all, "first_rank", 0), 1);
    assert_int_equal(integer_named(all, "last_rank", 0), 2);
    assert_float_equal(real_named(all, "transfer_us", 0), 100, 0);
    assert_float_equal(real_named(all, "skew_us", 0), 30, 0);
    assert_float_equal(real_named(all, "mean_wait_us", 0), 15, 0);
    assert_float_equal(real_named(all, "bytes", 1), 16384, 0); /* of both ranks */
    assert_float_equal(real_named(all, "algorithm_gb_per_s", 0), 0.08192, 1e-12);
    assert_float_equal(real_named(all, "bus_gb_per_s", 0), 0.08192 * 1.5, 1e-12);
    assert_true(isnan(real_named(all, "arrival_us", 0)) && isnan(real_named(all, "end_skew_us", 0)));
    assert_string_equal(text_named(all, "dtype", 0), "");
    assert_string_equal(text_named(all, "library", 0), "");
    static const int hosts[] = {0, 1, 0, 1};
    for (uint64_t i = 0; i < 4; i++) {
        assert_int_equal(integer_named(ranks, "rank", i), i);
        assert_int_equal(integer_named(ranks, "host", i), hosts[i]);
        assert_true(isnan(real_named(ranks, "compute_us", i)));
    }
    assert_null(table_of(&job, SUTRA_COLLECTIVES_CLOCKS));
    assert_null(table_of(&job, SUTRA_COLLECTIVES_HOSTS));
    assert_true(job.summary.from_logs);
    assert_string_equal(sutra_collectives_at(job.collectives, 0)->path, job.folder.paths[1]);
    assert_null(sutra_collectives_at(job.collectives, 4));
    free_job(&job);
}

static void without_a_common_communicator_ranks_follow_host_and_pid(void **state) {
    struct log_text logs[4];
    begin_job(logs);
    for (int i = 0; i < 4; i++)
        append_collective(&logs[i], i % 2 ? "0x2" : "0x1", i / 2, 2, 2, "AllReduce", 1, 8192, 100, "kernel_gpu");
    struct collectives_job job = analyze(logs, 4, NULL);
    const struct sutra_table *all = table_of(&job, SUTRA_COLLECTIVES_ALL);
    assert_int_equal(sutra_table_rows(all), 2);
    /* Process ids descend: the second log of each host is the lower rank. */
    assert_string_equal(text_named(all, "members", 0), "1, 3");
    assert_string_equal(text_named(all, "members", 1), "0, 2");
    free_job(&job);
}

static void a_process_with_several_gpus_is_several_ranks(void **state) {
    struct log_text log = {.host = "a", .pid = 1};
    for (int rank = 0; rank < 4; rank++)
        append_collective(&log, "0x1", rank, 4, 1, "AllReduce", 1, 8192, 100 + rank, "kernel_gpu");
    append_collective(&log, "0x2", 0, 2, 1, "AllReduce", 1, 8192, 9, "kernel_gpu");
    struct collectives_job job = analyze(&log, 1, NULL);
    assert_int_equal(job.summary.n_ranks, 4);
    assert_int_equal(integer_named(table_of(&job, SUTRA_COLLECTIVES_ALL), "ranks", 0), 4);
    free_job(&job);
}

static void numbers_count_per_type(void **state) {
    struct log_text logs[4];
    begin_job(logs);
    for (int i = 0; i < 2; i++) {
        append_collective(&logs[i], "0x1", i, 2, 1, "AllReduce", 1, 8192, 10, "kernel_gpu");
        append_collective(&logs[i], "0x1", i, 2, 1, "Broadcast", 1, 8192, 20, "kernel_gpu");
        append_collective(&logs[i], "0x1", i, 2, 1, "AllReduce", 2, 8192, 30, "kernel_gpu");
    }
    struct collectives_job job = analyze(logs, 2, NULL);
    assert_int_equal(job.summary.n_collectives, 3);
    assert_int_equal(job.summary.n_checks, 0);
    free_job(&job);
}

static void sends_match_receives_in_the_order_of_their_numbers(void **state) {
    struct log_text logs[4];
    begin_job(logs);
    append_message(&logs[0], "0x1", 0, 2, 1, "Send", 9, 1, 40);
    append_message(&logs[0], "0x1", 0, 2, 1, "Send", 2, 1, 10);
    append_message(&logs[0], "0x1", 0, 2, 1, "Recv", 5, 1, 70);
    append_message(&logs[1], "0x1", 1, 2, 1, "Recv", 100, 0, 15);
    append_message(&logs[1], "0x1", 1, 2, 1, "Recv", 101, 0, 47);
    append_message(&logs[1], "0x1", 1, 2, 1, "Send", 102, 0, 90);
    append_message(&logs[1], "0x1", 1, 2, 1, "Send", 103, 0, 5);
    struct collectives_job job = analyze(logs, 2, NULL);
    static const struct {
        double from, to, transfer_us, skew_us;
        int ranks;
    } rows[] = {{0, 1, 10, 5, 2}, {0, 1, 40, 7, 2}, {1, 0, 70, 20, 2}, {1, 0, 5, 0, 1}};
    const struct sutra_table *all = table_of(&job, SUTRA_COLLECTIVES_ALL);
    assert_int_equal(sutra_table_rows(all), 4);
    for (uint64_t i = 0; i < 4; i++) {
        assert_float_equal(real_named(all, "from_rank", i), rows[i].from, 0);
        assert_float_equal(real_named(all, "to_rank", i), rows[i].to, 0);
        assert_float_equal(real_named(all, "transfer_us", i), rows[i].transfer_us, 0);
        assert_float_equal(real_named(all, "skew_us", i), rows[i].skew_us, 0);
        assert_int_equal(integer_named(all, "ranks", i), rows[i].ranks);
        assert_string_equal(text_named(all, "place", i), "inside");
    }
    assert_int_equal(job.summary.n_messages, 4);
    free_job(&job);
}

static void errors_in_collectives_are_reported(void **state) {
    struct log_text logs[4];
    char text[500];
    begin_job(logs);
    for (int number = 1; number <= 5; number++)
        for (int i = 0; i < 3; i++) {
            if (number == 3 && i == 1)
                continue; /* lost */
            append_collective(&logs[i], "0x1", i, 4, 1, "AllReduce", number + (number > 4),
                              number == 4 && i == 2 ? 9000 : 8192, 100,
                              number == 2 && i == 0 ? "kernel_cpu" : "kernel_gpu");
        }
    append_collective(&logs[2], "0x1", 2, 4, 1, "AllReduce", 1, 8192, 100, "kernel_gpu");
    struct collectives_job job = analyze(logs, 3, NULL);
    describe_checks(&job, text);
    assert_string_equal(text, "different collective 2; lost collective 1; missing rank 3; repeated records ; "
                              "unrecorded collectives ; untimed records ; ");
    assert_string_equal(text_named(table_of(&job, SUTRA_COLLECTIVES_CHECKS), "text", 2),
                        "1 group member's log is missing: waits for these ranks and waits of these ranks are unknown");
    assert_int_equal(job.summary.n_untimed, 1);
    assert_int_equal(job.summary.n_collectives, 5);
    free_job(&job);
}

static void the_straggler_is_measured_by_the_time_in_collectives(void **state) {
    struct log_text logs[4];
    struct sutra_collectives_straggler straggler = {.size = sizeof straggler};
    begin_job(logs);
    for (int number = 1; number <= 10; number++)
        for (int i = 0; i < 4; i++)
            append_collective(&logs[i], "0x1", i, 4, 1, "ReduceScatter", number, 8192, i == 2 ? 10 : 100, "kernel_gpu");
    struct collectives_job job =
        analyze(logs, 4,
                &(struct sutra_collectives_options){
                    .size = sizeof(struct sutra_collectives_options), .arrivals = true, .link_gb_per_s = 100});
    sutra_collectives_straggler(job.collectives, &straggler);
    assert_string_equal(straggler.sentence,
                        "Straggler: rank 2 makes the other ranks wait 900 us, 90.0 % of the time in collectives; it "
                        "arrives last at 10 of its 10 collectives.");
    assert_float_equal(job.summary.span_us, 1000, 0);
    const struct sutra_table *arrivals = table_of(&job, SUTRA_COLLECTIVES_ARRIVALS);
    assert_int_equal(sutra_table_rows(arrivals), 40);
    assert_float_equal(real_named(arrivals, "wait_us", 0), 90, 0);
    assert_true(isnan(real_named(arrivals, "arrival_us", 0)) && isnan(real_named(arrivals, "end_us", 0)));
    const struct sutra_table *all = table_of(&job, SUTRA_COLLECTIVES_ALL);
    assert_float_equal(real_named(all, "link_percent", 0), real_named(all, "bus_gb_per_s", 0), 1e-9);
    free_job(&job);
}

/* The error of a run of two files, with options. */
static void check_refused(const char *first, const char *second, const struct sutra_restriction *restriction,
                          enum sutra_status expected, const char *message) {
    struct folder folder = make_folder();
    struct sutra_context *context = NEW_CONTEXT(.n_threads = 1);
    struct sutra_collectives *collectives = NULL;
    struct sutra_error error = {0};
    const struct sutra_collectives_options options = {.size = sizeof options, .restriction = restriction};
    char *texts[] = {double_quotes(first), double_quotes(second)};
    add_file(&folder, "1.log", texts[0]);
    add_file(&folder, "2.log", texts[1]);
    list_files(&folder);
    assert_int_equal(sutra_collectives_run(context, folder.list, 2, &options, &collectives, &error), expected);
    assert_non_null(strstr(error.message, message));
    free(texts[0]);
    free(texts[1]);
    sutra_context_free(context);
    remove_folder(&folder);
}

static void logs_are_neither_mixed_with_traces_nor_restricted_to_steps(void **state) {
    const struct sutra_restriction step = {.size = sizeof step, .step = "1"};
    check_refused("{'traceEvents':[]}", LINE, NULL, SUTRA_USAGE, "analyze logs and traces separately");
    check_refused(LINE, LINE, &step, SUTRA_USAGE, "only ranks can be selected");
}

static void an_unreadable_log_is_skipped(void **state) {
    struct log_text logs[4];
    begin_job(logs);
    append_collective(&logs[0], "0x1", 0, 1, 1, "AllReduce", 1, 8192, 5, "kernel_gpu");
    buffer_append_text(&logs[1].text, "{}");
    struct collectives_job job = analyze(logs, 2, NULL);
    assert_int_equal(job.summary.n_ranks, 1);
    assert_int_equal(job.summary.n_skipped, 1);
    assert_int_equal(job.summary.n_faults, 1);
    assert_string_equal(text_named(table_of(&job, SUTRA_COLLECTIVES_CHECKS), "check", 0), "skipped log");
    assert_non_null(sutra_collectives_at(job.collectives, 1)->reason);
    free_job(&job);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_records_or_malformed),
        cmocka_unit_test(logs_are_recognized_by_their_first_records),
        cmocka_unit_test(ranks_are_of_the_communicator_of_all_processes),
        cmocka_unit_test(without_a_common_communicator_ranks_follow_host_and_pid),
        cmocka_unit_test(a_process_with_several_gpus_is_several_ranks),
        cmocka_unit_test(numbers_count_per_type),
        cmocka_unit_test(sends_match_receives_in_the_order_of_their_numbers),
        cmocka_unit_test(errors_in_collectives_are_reported),
        cmocka_unit_test(the_straggler_is_measured_by_the_time_in_collectives),
        cmocka_unit_test(logs_are_neither_mixed_with_traces_nor_restricted_to_steps),
        cmocka_unit_test(an_unreadable_log_is_skipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
