/*
 * test_processes.c - tests which processes of a device trace are ranks, and which events belong to each rank.
 *
 * A trace is written as "o:P l:P:C k:P:C": a CPU operator, a launch call and a kernel of pid P with correlation C;
 * further letters: a annotation, g GPU annotation, p process_name, i event without a category, b and e begin and end of
 * a kernel. In a pid, ~ is a blank.
 */
#include "trace_folder.h"

#include "base/memory.h"
#include "context/context.h"
#include "facts/processes.h"
#include "sutra/sutra.h"
#include "text/numbers.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

static struct buffer make_trace(const char *events, const char *members) {
    static const char *const categories[128] = {
        ['o'] = "cpu_op", ['l'] = "cuda_runtime",    ['k'] = "kernel",
        ['b'] = "kernel", ['a'] = "user_annotation", ['g'] = "gpu_user_annotation"};
    struct buffer text = {0};
    buffer_format(&text, "{%s\"traceEvents\": [\n", members);
    for (int n = 0; *events; n++) {
        char pid[64] = "", quote[2] = "";
        int length = 0, correlation = -1;
        char kind = *events;
        assert_int_equal(sscanf(events + 2, "%63[^: ]%n", pid, &length), 1);
        events += 2 + length;
        if (*events == ':') {
            assert_int_equal(sscanf(events, ":%d%n", &correlation, &length), 1);
            events += length;
        }
        while (*events == ' ')
            events++;
        for (char *at = pid; *at; at++) {
            if (!is_digit(*at))
                *quote = '"';
            *at = *at == '~' ? ' ' : *at;
        }
        buffer_format(&text, "%s{\"pid\": %s%s%s, \"tid\": 1", n ? ",\n" : "", quote, pid, quote);
        if (kind == 'p')
            buffer_format(&text, ", \"ph\": \"M\", \"name\": \"process_name\", \"args\": {\"name\": \"python\"}}");
        else if (kind == 'i' || kind == 'e')
            buffer_format(&text, ", \"ph\": \"%c\", \"name\": \"%c%d\", \"ts\": %d}", kind == 'i' ? 'i' : 'E', kind, n,
                          10 + n);
        else
            buffer_format(&text,
                          ", \"ph\": \"%s, \"cat\": \"%s\", \"name\": \"%c%d\", \"ts\": %d, \"args\": "
                          "{\"correlation\": %d}}",
                          kind == 'b' ? "B\"" : "X\", \"dur\": 1", categories[(int)kind], kind, n, 10 + n, correlation);
    }
    buffer_format(&text, "\n]}");
    buffer_append(&text, "", 1);
    assert_false(text.failed);
    return text;
}

static struct sutra_context *make_context(bool keeps_processes) {
    struct sutra_context *context = NEW_CONTEXT(.n_threads = 1, .device = SUTRA_DEVICE_CPU);
    context->keeps_processes = keeps_processes;
    return context;
}

/* The processes as "rank pid operators launches activities, ..."; "one" if all calls have one pid. */
static void list_processes(const char *events, char *list, size_t size) {
    struct sutra_context *context = make_context(true);
    struct sutra_device_trace *trace = NULL;
    struct buffer text = make_trace(events, "");
    assert_int_equal(sutra_device_trace_parse(context, "trace", text.bytes, text.length - 1, &trace, NULL), SUTRA_OK);
    size_t length = (size_t)snprintf(list, size, "%s", trace->processes ? "" : "one");
    for (uint32_t i = 0; trace->processes && i < trace->processes->n; i++) {
        const struct trace_process *process = &trace->processes->list[i];
        length += (size_t)snprintf(list + length, size - length, "%s%d %s %d %d %d", i ? ", " : "", (int)process->rank,
                                   process->pid, (int)process->n_operators, (int)process->n_launches,
                                   (int)process->n_activities);
    }
    if (trace->processes && trace->processes->n_shared)
        snprintf(list + length, size - length, "; shared %d", (int)trace->processes->n_shared);
    buffer_free(&text);
    sutra_device_trace_free(trace);
    sutra_context_free(context);
}

static void processes_with_launches_are_ranks(void **state) {
    static const struct {
        const char *events, *processes;
    } cases[] = {
        {"o:10 l:10:1 k:0:1", "one"},
        {"o:10 l:10:1 k:0:1 o:11 o:12", "one"},
        {"o:10 l:10:1 o:11 l:11:2", "one"}, /* without GPU activities */
        {"o:10 l:10:1 k:0:1 o:11 l:11:2", "0 10 1 1 1, -1 11 1 0 0"},
        {"o:11 l:11:1 k:0:1 o:10 l:10:2 k:0:2 k:0:2", "0 10 1 1 2, 1 11 1 1 1"},
        {"o:10 l:10:1 k:0:1 l:10:5 o:9 l:9:2 k:1:2 k:1:3", "0 9 1 1 2, 1 10 1 1 1"},
        {"l:10:1 k:0:1 l:9:2 k:1:2 o:8", "0 9 0 1 1, 1 10 0 1 1, -1 8 1 0 0"},
        {"o:10 l:10:1 l:10:2 k:0:1 k:0:2 o:11 l:11:2 k:1:2", "0 10 1 2 1, 1 11 1 1 0; shared 1"},
        {"o:10 l:10:1 o:11 l:11:1 o:12 l:12:1 k:0:1", "0 10 1 1 0, 1 11 1 1 0, 2 12 1 1 0; shared 1"},
        {"o:[TP01]~7 l:[TP01]~7:1 k:[TP01]~0:1 o:[TP00]~7 l:[TP00]~7:1 k:[TP00]~0:1 k:[TP00]~0:9",
         "0 [TP00] 7 1 1 2, 1 [TP01] 7 1 1 1"},
        {"l:[DP1]~[TP03]~7:1 k:[DP1]~[TP03]~0:1 l:[DP0]~[TP02]~7:1 k:[DP0]~[TP02]~0:1",
         "2 [DP0] [TP02] 7 0 1 1, 3 [DP1] [TP03] 7 0 1 1"},
        /* equal last numbers, and none: the order in the file */
        {"l:[TP1-DP0]~7:1 k:[TP1-DP0]~0:1 l:[TP0-DP0]~7:1 k:[TP0-DP0]~0:1", "0 [TP1-DP0] 7 0 1 1, 1 [TP0-DP0] 7 0 1 1"},
        {"l:b~7:1 k:b~0:1 l:a~7:1 k:a~0:1", "0 b 7 0 1 1, 1 a 7 0 1 1"},
        /* GPUs without the prefix: by correlation */
        {"l:[TP01]~7:1 k:0:1 l:[TP00]~7:2 k:0:2", "0 [TP00] 7 0 1 1, 1 [TP01] 7 0 1 1"},
        {"l:[TP01]~7:1 k:0:1 l:[TP00]~7:1 k:1:1", "0 [TP00] 7 0 1 0, 1 [TP01] 7 0 1 0; shared 1"},
        /* two processes of a prefix */
        {"l:[TP0]~7:1 l:[TP0]~8:2 k:[TP0]~0:1 k:[TP0]~0:2", "0 [TP0] 7 0 1 1, 1 [TP0] 8 0 1 1"},
        {"l:[TP0]~7:1 l:[TP0]~8:1 k:[TP0]~0:1", "0 [TP0] 7 0 1 0, 1 [TP0] 8 0 1 0; shared 1"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char list[400];
        list_processes(cases[i].events, list, sizeof list);
        if (strcmp(list, cases[i].processes) != 0)
            fail_msg("%s: %s, not %s", cases[i].events, list, cases[i].processes);
    }
}

/* Names of the events of FILE/rankN, and dropped events: "l0 k1; 2 dropped"; or the error. */
static void list_events(struct folder *folder, int rank, char *list, size_t size) {
    struct sutra_context *context = make_context(false);
    struct sutra_device_trace *trace = NULL;
    struct sutra_error error;
    char path[256];
    size_t length = 0;
    snprintf(path, sizeof path, "%s/rank%d", folder->paths[0], rank);
    if (sutra_device_trace_read(context, path, &trace, &error))
        snprintf(list, size, "%s", error.message);
    for (row_t event = 0; trace && event < trace->events.n; event++)
        length += (size_t)snprintf(list + length, size - length, "%s%s", event ? " " : "",
                                   strings_text(&trace->strings, trace->events.name[event]));
    if (trace && trace->validity->defects[DEFECT_NO_RANK].count)
        snprintf(list + length, size - length, "; %d of %d dropped, %s",
                 (int)trace->validity->defects[DEFECT_NO_RANK].count, (int)trace->validity->defects[DEFECT_NO_RANK].of,
                 trace->validity->defects[DEFECT_NO_RANK].example);
    sutra_device_trace_free(trace);
    sutra_context_free(context);
}

static void events_belong_to_the_rank_of_their_process(void **state) {
    static const struct {
        const char *events;
        int rank;
        const char *kept;
    } cases[] = {
        {"o:10 l:10:1 k:0:1 o:11 l:11:2 k:1:2", 0, "o0 l1 k2"},
        {"o:10 l:10:1 k:0:1 o:11 l:11:2 k:1:2", 1, "o3 l4 k5"},
        {"o:10 l:10:1 k:0:1 o:11 l:11:2 k:0:2 g:0", 0, "o0 l1 k2; 1 of 7 dropped, 'g6', event 6"},
        {"o:10 l:10:1 k:0:1 o:11 l:11:2 k:1:2 g:1 g:0 k:1:5", 1, "o3 l4 k5 g6 k8"},
        {"p:10 p:0 p:13 i:14 o:10 l:10:1 k:0:1 o:11 l:11:2 k:1:2", 1,
         "process_name i3 o7 l8 k9"}, /* of processes without work: all ranks */
        {"o:10 l:10:1 k:0:1 o:11 l:11:2 k:1:2 o:12 o:12 a:13", 0, "o0 l1 k2; 3 of 9 dropped, 'o6', event 6"},
        {"l:[TP0]~7:1 k:[TP0]~0:1 l:[TP1]~7:1 k:[TP1]~0:1 o:[TP1]~8 g:[TP1]~0 i:[TP1]~x o:9", 1,
         "l2 k3 o4 g5 i6; 1 of 8 dropped, 'o7', event 7"},
        {"l:10:1 b:0:1 e:0 l:11:2 b:0:2 e:0", 1, "l3 b4 "}, /* an E event has no name */
        {"o:10 l:10:1 k:0:1 o:11 l:11:2 k:1:2", 2, "no rank 2 in this trace: it has 2 ranks, from 0 to 1"},
        {"o:10 l:10:1 k:0:1", 0, "no rank 0 in this trace, which has one rank: name the file without /rank0"},
        {"o:10 l:10:1 k:0:1 o:11 l:11:1", 0,
         "2 processes with launches in one trace (pids 10, 11) share 1 correlation: pass the traces of the ranks, one "
         "file each"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct folder folder = make_folder();
        struct buffer text = make_trace(cases[i].events, "");
        char list[400];
        add_file(&folder, "t.json", text.bytes);
        list_events(&folder, cases[i].rank, list, sizeof list);
        if (strcmp(list, cases[i].kept) != 0)
            fail_msg("%s/rank%d: %s, not %s", cases[i].events, cases[i].rank, list, cases[i].kept);
        buffer_free(&text);
        remove_folder(&folder);
    }
}

/* The text of a rank without its events. */
static void text_records_the_rank(void **state) {
    static const struct {
        const char *members, *text;
    } cases[] = {
        {"", "{\"distributedInfo\": {\"rank\": 1, \"world_size\": 2},\n\"traceEvents\": ["},
        {"\"a\": [1, {}] ,\"distributedInfo\": { \"rank\" : 0 , \"world_size\": 8}, \"b\": \"x\",",
         "{\"a\": [1, {}],\n\"distributedInfo\": { \"rank\" : 1 , \"world_size\": 8},\n\"b\": \"x\",\n\"traceEvents\": ["},
        {"\"distributedInfo\": 5, \"traceEvents\": 3,",
         "{\"distributedInfo\": {\"rank\": 1, \"world_size\": 2},\n\"traceEvents\": ["},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct folder folder = make_folder();
        struct buffer text = make_trace("l:10:1 k:0:1 l:11:2 k:1:2", cases[i].members);
        struct sutra_context *context = make_context(false);
        struct sutra_device_trace *trace = NULL;
        char path[256];
        add_file(&folder, "t.json", text.bytes);
        snprintf(path, sizeof path, "%s/rank1", folder.paths[0]);
        assert_int_equal(sutra_device_trace_read(context, path, &trace, NULL), SUTRA_OK);
        assert_memory_equal(trace->document.source.bytes, cases[i].text, strlen(cases[i].text));
        assert_string_equal(trace->document.source.name, path);
        sutra_device_trace_free(trace);
        sutra_context_free(context);
        buffer_free(&text);
        remove_folder(&folder);
    }
}

static void trace_of_one_rank_accepts_its_number(void **state) {
    struct folder folder = make_folder();
    struct buffer text = make_trace("o:10 l:10:1 k:0:1", "\"distributedInfo\": {\"rank\": 4},");
    char list[200];
    add_file(&folder, "t.json", text.bytes);
    list_events(&folder, 4, list, sizeof list);
    assert_string_equal(list, "o0 l1 k2");
    list_events(&folder, 3, list, sizeof list);
    assert_string_equal(list, "no rank 3 in this trace, which has one rank: name the file without /rank3");
    buffer_free(&text);
    remove_folder(&folder);
}

static void trace_of_several_ranks_is_refused(void **state) {
    struct folder folder = make_folder();
    struct buffer text = make_trace("l:[TP4]~7:1 k:[TP4]~0:1 l:[TP2]~7:1 k:[TP2]~0:1 l:[TP9]~7:1 k:[TP9]~0:1", "");
    struct sutra_context *context = make_context(false);
    struct sutra_device_trace *trace = NULL;
    struct sutra_error error;
    add_file(&folder, "t.json", text.bytes);
    assert_int_equal(sutra_device_trace_read(context, folder.paths[0], &trace, &error), SUTRA_DATA);
    assert_string_equal(error.message, "3 ranks in one trace: pass t.json/rank2 to t.json/rank9");
    assert_int_equal(sutra_device_trace_parse(context, "x", text.bytes, text.length - 1, &trace, &error), SUTRA_DATA);
    assert_string_equal(error.message, "3 ranks in one trace: write it to a file, and pass FILE/rank2 to FILE/rank9");
    sutra_context_free(context);
    buffer_free(&text);
    remove_folder(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_with_launches_are_ranks),
        cmocka_unit_test(events_belong_to_the_rank_of_their_process),
        cmocka_unit_test(text_records_the_rank),
        cmocka_unit_test(trace_of_one_rank_accepts_its_number),
        cmocka_unit_test(trace_of_several_ranks_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
