/*
 * test_hang.c - dumps of the flight recorder become entries; progress, mismatches and the wait-for graph of a job find
 * the cause of a hang.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "analyze/table.h"
#include "base/memory.h"
#include "one_context.h"
#include "read/flight_recorder.h"
#include "sutra/hang.h"
#include "unit.h"

#define RANKS_MAX 8

/* ---- Jobs in short: a text per rank, "GROUP/OPERATION/NUMBER/STATE[/ELEMENTS]", separated by spaces ----
 *
 * States: c completed, s scheduled, r started, t timed out. An operation with a dot is a send or receive: "send.0->1".
 * The record id of an entry is its position, plus `first_id` of the rank: "@7 0/all_reduce/8/s". */

static const char *const state_names[256] = {
    ['c'] = "completed", ['s'] = "scheduled", ['r'] = "started", ['t'] = "scheduled"};

/* Appends the entry of a word; false: no word is left. */
static bool append_entry(struct buffer *json, const char **at, int id) {
    char group[32], operation[64], state, seq[24], elements[24] = "64";
    int length = 0, more = 0;
    *at += strspn(*at, " ");
    if (sscanf(*at, "%31[^/]/%63[^/]/%23[^/]/%c%n", group, operation, seq, &state, &length) < 4)
        return false;
    if ((*at)[length] == '/' && sscanf(*at + length, "/%23[^ ]%n", elements, &more) == 1)
        length += more;
    *at += length;
    char *dot = strchr(operation, '.');
    if (dot)
        *dot = ' ';
    buffer_format(json,
                  "%s{\"record_id\": %d, \"process_group\": [\"%s\", \"group %s\"], \"is_p2p\": %s, \"%s\": %s, "
                  "\"profiling_name\": \"nccl:%s\", \"state\": \"%s\", \"retired\": %s, \"time_created_ns\": %d, "
                  "\"timeout_ms\": 600000, \"input_sizes\": [[%s]], \"output_sizes\": [[%s]], \"input_dtypes\": "
                  "[\"Float\"], \"output_dtypes\": [\"Float\"], \"frames\": [{\"name\": \"f%d\", \"filename\": "
                  "\"/job/train.py\", \"line\": %d}]}",
                  id ? ", " : "", id, group, group, dot ? "true" : "false", dot ? "p2p_seq_id" : "collective_seq_id",
                  seq, operation, state_names[(unsigned char)state], state == 'c' || state == 't' ? "true" : "false",
                  1000 + id, elements, elements, id, id);
    return true;
}

/* Writes the dump of a rank; `groups`: "0=0,1,2;1=0,1". */
static void append_dump(struct buffer *json, const char *groups, const char *entries) {
    buffer_format(json, "{\"version\": \"2.9\", \"pg_config\": {");
    for (const char *at = groups; *at;) {
        const size_t n_name = strcspn(at, "="), n = strcspn(at, ";");
        buffer_format(json, "%s\"%.*s\": {\"desc\": \"group %.*s\", \"ranks\": \"[%.*s]\"}", at == groups ? "" : ", ",
                      (int)n_name, at, (int)n_name, at, (int)(n - n_name - 1), at + n_name + 1);
        at += n + (at[n] == ';');
    }
    buffer_format(json, "}, \"entries\": [");
    int id = 0;
    if (*entries == '@')
        id = (int)strtol(entries + 1, (char **)&entries, 10);
    buffer_format(json, "%s", id ? "{}" : "");
    while (append_entry(json, &entries, id))
        id++;
    buffer_format(json, "]}");
}

/* Analyzes a job; NULL entries: the rank has no dump. */
static struct sutra_hang *analyze(const char *groups, const char *const ranks[RANKS_MAX]) {
    struct buffer json[RANKS_MAX] = {{0}};
    struct sutra_hang_dump dumps[RANKS_MAX];
    char names[RANKS_MAX][32];
    const struct sutra_hang_options options = {.size = sizeof options, .operations = 1};
    struct sutra_hang *hang = NULL;
    struct sutra_error error;
    size_t n = 0;
    for (int r = 0; r < RANKS_MAX; r++) {
        if (!ranks[r])
            continue;
        append_dump(&json[r], groups, ranks[r]);
        snprintf(names[r], sizeof names[r], "rank_%d.json", r);
        dumps[n++] = (struct sutra_hang_dump){names[r], json[r].bytes, json[r].length};
    }
    const enum sutra_status status = sutra_hang_parse(context, dumps, n, &options, &hang, &error);
    if (status)
        print_error("%s\n", error.message);
    assert_int_equal(status, SUTRA_OK);
    for (int r = 0; r < RANKS_MAX; r++)
        buffer_free(&json[r]);
    return hang;
}

static void causes_are_found(void **state) {
    static const struct {
        const char *name, *groups;
        const char *ranks[RANKS_MAX];
        const char *cause, *confidence, *culprits, *group;
        int64_t seq;
    } cases[] = {
        {"a rank outside of collectives does not arrive",
         "0=0,1,2",
         {"0/all_reduce/1/c 0/all_reduce/2/s", "0/all_reduce/1/c", "0/all_reduce/1/c 0/all_reduce/2/s"},
         "rank_not_arrived",
         "high",
         "1",
         "0",
         2},
        {"a missing rank that waits in another group is not the culprit",
         "0=0,1,2;1=1,2",
         {"0/all_reduce/1/c 0/all_reduce/2/s", "0/all_reduce/1/c 1/all_reduce/1/s", "0/all_reduce/1/c"},
         "rank_not_arrived",
         "high",
         "2",
         "1",
         1},
        {"a member without a dump lowers the confidence",
         "0=0,1,2",
         {"0/all_reduce/1/s", "0/barrier/0/c", NULL},
         "rank_not_arrived",
         "medium",
         "1",
         "0",
         1},
        {"all ranks with dumps have arrived",
         "0=0,1,2",
         {"0/all_reduce/1/s", "0/all_reduce/1/s", NULL},
         "dump_missing",
         "medium",
         "2",
         "0",
         1},
        {"one dump alone blames the others with low confidence",
         "0=0,1",
         {"0/all_reduce/1/s", NULL},
         "dump_missing",
         "low",
         "1",
         "0",
         1},
        {"some kernels started, one rank is only scheduled",
         "0=0,1",
         {"0/all_reduce/1/r", "0/all_reduce/1/s"},
         "gpu_not_arrived",
         "medium",
         "1",
         "0",
         1},
        {"all kernels run and none ends",
         "0=0,1",
         {"0/all_reduce/1/r", "0/all_reduce/1/r"},
         "stuck_in_kernel",
         "medium",
         "0-1",
         "0",
         1},
        {"without timing a kernel that runs looks like one that waits",
         "0=0,1",
         {"0/all_reduce/1/s", "0/all_reduce/1/s"},
         "stuck_in_kernel",
         "low",
         "0-1",
         "0",
         1},
        {"the minority has another size",
         "0=0,1,2",
         {"0/all_reduce/1/s/64", "0/all_reduce/1/s/64", "0/all_reduce/1/s/65"},
         "size_mismatch",
         "high",
         "2",
         "0",
         1},
        {"two sizes on two ranks are a tie",
         "0=0,1",
         {"0/all_reduce/1/s/64", "0/all_reduce/1/s/65"},
         "size_mismatch",
         "medium",
         "0-1",
         "0",
         1},
        {"sizes of all_to_all differ between ranks",
         "0=0,1",
         {"0/all_to_all/1/c/64", "0/all_to_all/1/c/64"},
         "none",
         "high",
         "",
         NULL,
         0},
        {"variants of an operation are equal",
         "0=0,1",
         {"0/_all_gather_base/1/c", "0/all_gather_into_tensor/1/c"},
         "none",
         "high",
         "",
         NULL,
         0},
        {"the minority calls another collective",
         "0=0,1,2",
         {"0/all_reduce/1/s", "0/all_reduce/1/s", "0/broadcast/1/s"},
         "type_mismatch",
         "high",
         "2",
         "0",
         1},
        {"two operations are exchanged",
         "0=0,1,2",
         {"0/all_reduce/1/s 0/barrier/2/s", "0/all_reduce/1/s 0/barrier/2/s", "0/barrier/1/s 0/all_reduce/2/s"},
         "order_mismatch",
         "high",
         "2",
         "0",
         1},
        {"a rank skips an operation",
         "0=0,1,2",
         {"0/broadcast/1/s 0/all_reduce/2/s 0/all_gather/3/s", "0/broadcast/1/s 0/all_reduce/2/s 0/all_gather/3/s",
          "0/all_reduce/1/s 0/all_gather/2/s"},
         "skipped_collective",
         "high",
         "2",
         "0",
         1},
        {"a rank calls an additional operation",
         "0=0,1,2",
         {"0/all_reduce/1/s 0/all_gather/2/s", "0/all_reduce/1/s 0/all_gather/2/s",
          "0/broadcast/1/s 0/all_reduce/2/s 0/all_gather/3/s"},
         "extra_collective",
         "high",
         "2",
         "0",
         1},
        {"two ranks use two groups in different order",
         "0=0,1;1=0,1",
         {"0/all_reduce/1/c 1/all_reduce/1/c 0/all_reduce/2/s", "0/all_reduce/1/c 1/all_reduce/1/c 1/all_reduce/2/s"},
         "order_mismatch",
         "medium",
         "1",
         "0",
         2},
        {"both ranks send first",
         "0=0,1",
         {"0/send.0->1/1/s 0/recv.0<-1/2/s", "0/send.1->0/1/s 0/recv.1<-0/2/s"},
         "p2p_deadlock",
         "medium",
         "0-1",
         "0",
         1},
        {"a send has no receive",
         "0=0,1",
         {"0/send.0->1/1/s", "0/send.1->0/9/c"},
         "rank_not_arrived",
         "high",
         "1",
         "0",
         1},
        {"a send and its receive differ in size",
         "0=0,1",
         {"0/send.0->1/1/s/64", "0/recv.1<-0/1/s/65"},
         "size_mismatch",
         "medium",
         "0-1",
         "0",
         1},
        {"a lost beginning has passed",
         "0=0,1,2",
         {"0/all_reduce/7/c 0/all_reduce/8/c 0/all_reduce/9/s", "@40 0/all_reduce/9/s",
          "0/all_reduce/7/c 0/all_reduce/8/c"},
         "rank_not_arrived",
         "high",
         "2",
         "0",
         9},
        {"nothing waits", "0=0,1", {"0/all_reduce/1/c", "0/all_reduce/1/c"}, "none", "high", "", NULL, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sutra_hang *hang = analyze(cases[i].groups, cases[i].ranks);
        struct sutra_hang_summary summary = {.size = sizeof summary};
        sutra_hang_summary(hang, &summary);
        const struct sutra_table *causes = sutra_result_table(SUTRA_RESULT(hang), SUTRA_HANG_CAUSES, NULL);
        const bool is_stuck = sutra_table_rows(causes) > 0;
        if (strcmp(summary.cause, cases[i].cause) != 0 || strcmp(summary.confidence, cases[i].confidence) != 0 ||
            (is_stuck && (strcmp(text_named(causes, "ranks", 0), cases[i].culprits) != 0 ||
                          strcmp(text_named(causes, "group", 0), cases[i].group) != 0 ||
                          integer_named(causes, "seq", 0) != cases[i].seq)))
            fail_msg("%s: %s, %s, ranks %s, #%" PRId64, cases[i].name, summary.cause, summary.confidence,
                     is_stuck ? text_named(causes, "ranks", 0) : "", is_stuck ? integer_named(causes, "seq", 0) : 0);
        assert_int_equal(summary.stuck, is_stuck);
        assert_int_equal(is_stuck, cases[i].group != NULL);
        sutra_hang_free(hang);
    }
}

/* Ranks 0 and 1 record #2 as pending; rank 2 has recorded #3, so #2 has passed on all. */
static void a_later_operation_of_another_rank_proves_progress(void **state) {
    const char *const ranks[RANKS_MAX] = {"0/all_reduce/1/c 0/all_reduce/2/s",
                                          "0/all_reduce/1/c 0/all_reduce/2/c 0/all_reduce/3/s",
                                          "0/all_reduce/1/c 0/all_reduce/2/c 0/all_reduce/3/s"};
    (void)state;
    struct sutra_hang *hang = analyze("0=0,1,2", ranks);
    const struct sutra_table *causes = sutra_result_table(SUTRA_RESULT(hang), SUTRA_HANG_CAUSES, NULL);
    assert_string_equal(text_named(causes, "ranks", 0), "0");
    assert_int_equal(integer_named(causes, "seq", 0), 3);
    assert_int_equal(integer_named(causes, "stale", 0), 1);
    sutra_hang_free(hang);
}

static void a_coalesced_operation_has_the_state_of_its_end(void **state) {
    static const struct {
        const char *entries, *passed; /* of each entry */
    } cases[] = {
        {"0/all_reduce/1/s 0/all_reduce/1/s 0/ALLREDUCE_coalesced/1/c", "111"},
        {"0/all_reduce/1/s 0/all_reduce/1/s 0/ALLREDUCE_coalesced/1/s", "000"},
        {"0/all_reduce/1/s 0/all_reduce/1/s", "00"},
        {"0/all_reduce/1/s 0/all_reduce/1/s 0/all_reduce/2/s", "110"},
        {"0/all_reduce/1/s 0/all_reduce/2/s", "00"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const ranks[RANKS_MAX] = {cases[i].entries};
        struct sutra_hang *hang = analyze("0=0", ranks);
        const struct sutra_table *operations = sutra_result_table(SUTRA_RESULT(hang), SUTRA_HANG_OPERATIONS, NULL);
        assert_int_equal(sutra_table_rows(operations), strlen(cases[i].passed));
        for (uint64_t k = 0; k < sutra_table_rows(operations); k++)
            assert_int_equal(integer_named(operations, "passed", k), cases[i].passed[k] - '0');
        sutra_hang_free(hang);
    }
}

/* ---- Readers ---- */

static void ranks_are_the_last_number_of_a_file_name(void **state) {
    static const struct {
        const char *path;
        int64_t rank; /* -1: none */
    } cases[] = {
        {"nccl_trace_rank_node02_5", 5},
        {"/tmp/run7/nccl_trace_rank_3", 3},
        {"_dump_12.json.gz", 12},
        {"rank_4.pkl", 4},
        {"rank_4.pickle.zst", 4},
        {"7", 7},
        {"rank_4.txt", -1},
        {"readme", -1},
        {"rank_2147483647", 2147483647},
        {"rank_2147483648", -1},
        {"rank_99999999999999999999", -1},
        {"rank_3.gz.json", -1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t rank = 0;
        const bool found = flight_dump_rank(cases[i].path, &rank);
        if (found != (cases[i].rank >= 0) || (found && rank != cases[i].rank))
            fail_msg("%s: %" PRId64, cases[i].path, found ? rank : -1);
    }
}

static void unreadable_dumps_are_errors_with_a_remedy(void **state) {
    static const struct {
        const char *name, *text, *error;
    } cases[] = {
        {"rank_0", "", "rank_0: byte 0, line 1: the file is truncated here"},
        {"rank_0", "{\"entries\": [", "rank_0: byte 13"},
        {"rank_0", "[]", "rank_0: byte 0, line 1: expected a dump of PyTorch's flight recorder"},
        {"rank_0", "{\"traceEvents\": []}",
         "rank_0: byte 0, line 1: expected a dump of PyTorch's flight recorder, found a device trace"},
        {"rank_0", "\x80\x02}q\1.", "rank_0: byte 0, line 1: this pickle is not a dump of PyTorch's flight recorder"},
        {"rank_0", "\x80\x02}q", "rank_0: byte 3: truncated pickle"},
        {"rank_0", "\x80\2cos\nsystem\n.", "rank_0: byte 2: pickle opcode GLOBAL is not allowed"},
        {"rank_x", "{\"entries\": []}",
         "no readable dump of a flight recorder in 1 file; the first: rank_x: no rank in the file name"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct sutra_hang_dump dump = {cases[i].name, cases[i].text, strlen(cases[i].text)};
        struct sutra_hang *hang = NULL;
        struct sutra_error error;
        char text[800];
        assert_int_equal(sutra_hang_parse(context, &dump, 1, NULL, &hang, &error), SUTRA_DATA);
        sutra_error_text(&error, text, sizeof text);
        if (strncmp(text, cases[i].error, strlen(cases[i].error)) != 0)
            fail_msg("case %zu: %s", i, text);
        assert_null(hang);
    }
}

/* Fields of the wrong type are absent; entries without a name are skipped; elements saturate. */
static void odd_fields_are_read_as_absent(void **state) {
    static const char text[] =
        "{\"version\": [1], \"pg_config\": {\"\": {\"ranks\": \"[0]\"}, \"0\": {\"ranks\": [2, 0, 1.5, -1, 0]}, "
        "\"1\": {\"ranks\": \"[5]\"}, \"2\": 7}, \"entries\": [3, {}, {\"profiling_name\": \"\"}, "
        "{\"profiling_name\": \"gloo:all_reduce\", \"process_group\": 7, \"pg_name\": \"0\", \"seq_id\": 4, "
        "\"collective_seq_id\": \"x\", \"state\": 1, \"retired\": true, \"record_id\": null, "
        "\"input_sizes\": [[4611686018427387904, 4], [-3, 2], 7, [true]], \"output_sizes\": [[0, 9223372036854775807, 4]], "
        "\"input_dtypes\": [\"Half\", 3, \"Float\", \"Half\"], \"frames\": [1, {\"filename\": \"/x/torch/a.py\", "
        "\"name\": \"b\", \"line\": 3}, {\"line\": \"4\"}]}]}";
    const struct sutra_hang_dump dump = {"rank_0", text, sizeof text - 1};
    const struct sutra_hang_options options = {.size = sizeof options, .operations = 1};
    struct sutra_hang *hang = NULL;
    struct sutra_error error;
    (void)state;
    assert_int_equal(sutra_hang_parse(context, &dump, 1, &options, &hang, &error), SUTRA_OK);
    const struct sutra_table *operations = sutra_result_table(SUTRA_RESULT(hang), SUTRA_HANG_OPERATIONS, NULL);
    const struct sutra_table *groups = sutra_result_table(SUTRA_RESULT(hang), SUTRA_HANG_GROUPS, NULL);
    assert_int_equal(sutra_table_rows(operations), 1);
    assert_int_equal(integer_named(operations, "elements_in", 0), INT64_MAX);
    assert_int_equal(integer_named(operations, "elements_out", 0), 0);
    assert_string_equal(text_named(operations, "dtype", 0), "Float,Half");
    assert_string_equal(text_named(operations, "state", 0), "scheduled");
    assert_string_equal(text_named(operations, "frame", 0), " (:0)");
    assert_int_equal(integer_named(operations, "passed", 0), 1); /* Gloo retires, and records no state */
    assert_int_equal(sutra_table_rows(groups), 1);
    assert_string_equal(text_named(groups, "members", 0), "0,2");
    sutra_hang_free(hang);
}

/* Of two dumps of a rank the pickle counts; a dump without entries is a rank without operations. */
static void a_pickle_replaces_json_of_the_same_rank(void **state) {
    const struct sutra_hang_dump dumps[] = {
        {"rank_0.json", "{\"entries\": [{\"profiling_name\": \"nccl:barrier\"}]}", 47},
        {"a/rank_0", "\x80\x02}q\1X\7\0\0\0entriesq\2]q\3s.", 24},
        {"b/rank_0", "\x80\x02}q\1X\7\0\0\0entriesq\2]q\3s.", 24},
    };
    struct sutra_hang *hang = NULL;
    struct sutra_error error;
    struct sutra_hang_summary summary = {.size = sizeof summary};
    (void)state;
    assert_int_equal(sutra_hang_parse(context, dumps, 3, NULL, &hang, &error), SUTRA_OK);
    sutra_hang_summary(hang, &summary);
    assert_int_equal(summary.n_ranks, 1);
    assert_int_equal(summary.n_skipped, 2);
    assert_int_equal(summary.n_entries, 0);
    sutra_hang_free(hang);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(causes_are_found),
        cmocka_unit_test(a_later_operation_of_another_rank_proves_progress),
        cmocka_unit_test(a_coalesced_operation_has_the_state_of_its_end),
        cmocka_unit_test(ranks_are_the_last_number_of_a_file_name),
        cmocka_unit_test(unreadable_dumps_are_errors_with_a_remedy),
        cmocka_unit_test(odd_fields_are_read_as_absent),
        cmocka_unit_test(a_pickle_replaces_json_of_the_same_rank),
    };
    return cmocka_run_group_tests(tests, make_context, free_context);
}
