/*
 * test_cut.c - tests `cut`: which events of a trace and which nodes are kept; the other text of the file does not
 * change.
 */
#include "one_context.h"
#include "trace_text.h"
#include "unit.h"

/* ' is ". Names are letters, in the order of the file. Step 1 is 100 .. 200, step 2 is 200 .. 300. */
static const char device_text[] =
    "{'schemaVersion': 1,\n 'traceEvents': [\n"
    "  {'ph': 'M', 'name': 'm', 'pid': 1, 'tid': 0, 'args': {'name': 'python'}},\n"
    "  {'ph': 'X', 'cat': 'cpu_op', 'name': 'a', 'pid': 1, 'tid': 1, 'ts': 10, 'dur': 5, 'args': {'Record function id': 1}},\n"
    "  {'ph': 'X', 'cat': 'python_function', 'name': 'p', 'pid': 1, 'tid': 1, 'ts': 90, 'dur': 300},\n"
    "  {'ph': 'X', 'cat': 'cpu_op', 'name': 'b', 'pid': 1, 'tid': 1, 'ts': 95, 'dur': 20, 'args': {'Record function id': 2}},\n"
    "  {'ph': 'X', 'cat': 'cuda_runtime', 'name': 'l', 'pid': 1, 'tid': 1, 'ts': 97, 'dur': 1, 'args': {'correlation': 7}},\n"
    "  {'ph': 's', 'id': 7, 'cat': 'ac2g', 'name': 's', 'pid': 1, 'tid': 1, 'ts': 97},\n"
    "  {'ph': 'X', 'cat': 'kernel', 'name': 'k', 'pid': 0, 'tid': 7, 'ts': 150, 'dur': 10, 'args': {'correlation': 7}},\n"
    "  {'ph': 'f', 'id': 7, 'cat': 'ac2g', 'name': 'f', 'pid': 0, 'tid': 7, 'ts': 150, 'bp': 'e'},\n"
    "  {'ph': 'X', 'cat': 'user_annotation', 'name': 'ProfilerStep#1', 'pid': 1, 'tid': 1, 'ts': 100, 'dur': 100,\n"
    "   'args': {'External id': 3}}, {'ph': 'X', 'cat': 'gpu_user_annotation', 'name': 'ProfilerStep#1', 'pid': 0,\n"
    "   'tid': 7, 'ts': 250, 'dur': 20, 'args': {'External id': 3}},\n"
    "  {'ph': 'X', 'cat': 'cpu_op', 'name': 'c', 'pid': 1, 'tid': 1, 'ts': 160, 'dur': 20, 'args': {'Record function id': 3}},\n"
    "  {'ph': 's', 'id': 7, 'cat': 'fwdbwd', 'name': 'g', 'pid': 1, 'tid': 1, 'ts': 160},\n"
    "  {'ph': 'X', 'cat': 'cuda_runtime', 'name': 'L', 'pid': 1, 'tid': 1, 'ts': 170, 'dur': 2, 'args': {'correlation': 8}},\n"
    "  {'ph': 's', 'id': 8, 'cat': 'ac2g', 'name': 'S', 'pid': 1, 'tid': 1, 'ts': 170},\n"
    "  {'ph': 'f', 'id': 8, 'cat': 'ac2g', 'name': 'F', 'pid': 0, 'tid': 7, 'ts': 210, 'bp': 'e'},\n"
    "  {'ph': 'X', 'cat': 'kernel', 'name': 'ncclDevKernel', 'pid': 0, 'tid': 7, 'ts': 210, 'dur': 9,\n"
    "   'args': {'correlation': 8}},\n"
    "  {'ph': 'X', 'cat': 'user_annotation', 'name': 'ProfilerStep#2', 'pid': 1, 'tid': 1, 'ts': 200, 'dur': 100},\n"
    "  {'ph': 'X', 'cat': 'cpu_op', 'name': 'd', 'pid': 1, 'tid': 1, 'ts': 220, 'dur': 2, 'args': {'Record function id': 4}},\n"
    "  {'ph': 'f', 'id': 7, 'cat': 'fwdbwd', 'name': 'h', 'pid': 1, 'tid': 1, 'ts': 220, 'bp': 'e'},\n"
    "  {'ph': 'X', 'cat': 'user_annotation', 'name': 'nccl:all_reduce', 'pid': 1, 'tid': 1, 'ts': 230, 'dur': 1}\n"
    " ],\n 'traceName': 'x'}\n";

static const char host_text[] =
    "{'schema': '1.0.1', 'nodes': [\n"
    " {'id': 1, 'name': 'root', 'parent': 1}, {'id': 2, 'name': 'thread', 'parent': 1, 'rf_id': 0},\n"
    " {'id': 3, 'name': 'a', 'parent': 2, 'rf_id': 1}, {'id': 4, 'name': 'b', 'parent': 2, 'rf_id': 2},\n"
    " {'id': 5, 'name': 'c', 'parent': 6, 'rf_id': 3}, {'id': 6, 'name': 'x', 'parent': 2, 'rf_id': 9},\n"
    " {'id': 7, 'name': 'd', 'parent': 8, 'rf_id': 4}, {'id': 8, 'name': 'y', 'parent': 7, 'rf_id': 9}\n ]}\n";

struct cut_case {
    const char *what;
    struct sutra_selection selection;
    const char *events; /* first letters of the names that are kept, of some the first two */
    const char *nodes;  /* of the host trace; NULL: it is not cut */
};

static const struct cut_case cases[] = {
    {"all", {0}, "m a p b l s k f Pr Pr c g L S F nc Pr d h nc", "ro th a b c x d y"},
    {"a step: by calls, operators and Python that run at its start, annotations on streams by the host's; arrows are whole",
     {.step = "1"},
     "m p b Pr Pr c L S F nc",
     "ro th b c x"},
    {"the next step has the backward end of an arrow only", {.step = "2"}, "m p Pr d nc", "ro d y"},
    {"two steps have it all", {.step = "1-2"}, "m p b Pr Pr c g L S F nc Pr d h nc", "ro th b c x d y"},
    {"times count from the first event; work comes with its call", {.from_us = 85, .to_us = 90}, "m p b l s k f", NULL},
    {"until a time", {.to_us = 80}, "m a", "ro th a"},
    {"overlap: what runs in the range, and the call of a kernel launched before; the call's operator does not run in it",
     {.from_us = 142, .to_us = 148, .overlap = true},
     "m p l s k f Pr",
     "ro"},
    {"overlap: operators that run in the range, and their annotation on the stream",
     {.from_us = 165, .to_us = 250, .overlap = true},
     "m p Pr Pr c g L S F nc Pr d h nc",
     "ro th c x d y"},
    {"overlap with a step: a kernel that runs in it comes with its call",
     {.step = "2", .overlap = true},
     "m p Pr L S F nc Pr d nc",
     "ro d y"},
    {"overlap excludes both ends", {.from_us = 150, .to_us = 200, .overlap = true}, "m p Pr c L Pr", NULL},
    {"overlap on the device only: no calls",
     {.from_us = 142, .to_us = 148, .overlap = true, .only = SUTRA_ONLY_GPU},
     "m k",
     NULL},
    {"overlap without a range has no effect", {.overlap = true, .only = SUTRA_ONLY_GPU}, "m k Pr nc", NULL},
    {"steps and times", {.step = "1", .from_us = 155}, "m p Pr c L S F nc", NULL},
    {"the device", {.only = SUTRA_ONLY_GPU}, "m k Pr nc", NULL},
    {"the host", {.only = SUTRA_ONLY_CPU}, "m a p b l Pr c g L Pr d h nc", NULL},
    {"communication", {.only = SUTRA_ONLY_COMMUNICATION}, "m nc nc", NULL},
    {"no Python", {.no_python = true}, "m a b l s k f Pr Pr c g L S F nc Pr d h nc", "ro th a b c x d y"},
    {"what is long, and arrows between that", {.min_us = 5}, "m a p b k Pr Pr c nc Pr", NULL},
};

/* The beginnings of all names of elements, up to two letters, as a list. */
static void list_names(const char *text, char *names) {
    *names = 0;
    for (const char *at = text; (at = strstr(at, "\"name\":")); at++) {
        if (strncmp(at - 9, "\"args\": {", 9) == 0)
            continue;
        const char *name = strchr(at + 7, '"') + 1;
        strcat(names, *names ? " " : "");
        strncat(names, name, name[1] == '"' ? 1 : 2);
    }
}

struct pair {
    struct sutra_device_trace *device;
    struct sutra_host_trace *host;
};

static struct pair read_pair(void) {
    struct pair pair = {0};
    char *device = double_quotes(device_text), *host = double_quotes(host_text);
    assert_int_equal(sutra_device_trace_parse(context, "device", device, strlen(device), &pair.device, NULL), SUTRA_OK);
    assert_int_equal(sutra_host_trace_parse(context, "host", host, strlen(host), &pair.host, NULL), SUTRA_OK);
    free(device);
    free(host);
    return pair;
}

static void pair_free(struct pair *pair) {
    sutra_device_trace_free(pair->device);
    sutra_host_trace_free(pair->host);
}

/* The names of the events in the output; also reads the output as a trace. */
static void cut_names(const struct pair *pair, const struct cut_case *c, bool host, char *names) {
    char path[] = "/tmp/test_cut.XXXXXX";
    struct sutra_selection selection = c->selection;
    struct sutra_cut *cut = NULL;
    struct sutra_device_trace *again = NULL;
    struct sutra_host_trace *host_again = NULL;
    make_temp_file(path, "");
    selection.size = sizeof selection;
    assert_int_equal(sutra_cut_run(context, pair->device, host ? pair->host : NULL, &selection, &cut, NULL), SUTRA_OK);
    assert_int_equal((host ? sutra_cut_write_host : sutra_cut_write)(context, cut, path, NULL, NULL), SUTRA_OK);
    enum sutra_status status = host ? sutra_host_trace_read(context, path, &host_again, NULL)
                                    : sutra_device_trace_read(context, path, &again, NULL);
    assert_int_equal(status, SUTRA_OK);
    char *text = file_text(path, NULL);
    unlink(path);
    list_names(text, names);
    free(text);
    sutra_cut_free(cut);
    sutra_device_trace_free(again);
    sutra_host_trace_free(host_again);
}

static void selected_events_are_kept(void **state) {
    struct pair pair = read_pair();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char names[256];
        cut_names(&pair, &cases[i], false, names);
        if (strcmp(names, cases[i].events) != 0)
            fail_msg("%s: %s, expected %s", cases[i].what, names, cases[i].events);
        if (!cases[i].nodes)
            continue;
        cut_names(&pair, &cases[i], true, names);
        if (strcmp(names, cases[i].nodes) != 0)
            fail_msg("%s: nodes %s, expected %s", cases[i].what, names, cases[i].nodes);
    }
    pair_free(&pair);
}

/* Two arrows whose ends have no event at their times, on one thread at one time, and one whose first end follows a
 * later event of its thread: the ends with an event at their time are kept like this event, the others by their time. */
static void arrow_ends_without_an_event_are_kept_by_their_time(void **state) {
    static const struct {
        struct sutra_selection selection;
        const char *events;
    } rows[] = {
        {{0}, "a k b s t u f g h"},       {{.min_us = 5}, "k b s t f g"},  {{.to_us = 55}, "a b"},
        {{.from_us = 15}, "k b s t f g"}, {{.only = SUTRA_ONLY_GPU}, "k"},
    };
    struct pair pair = {0};
    pair.device = parse_trace(context, "cpu_op a ts=10+2; kernel k stream=7 ts=100+9; cpu_op b ts=50+9;"
                                       "ac2g s ph=s id=1 ts=30; ac2g t ph=s id=2 ts=30; ac2g u ph=s id=3 ts=10;"
                                       "ac2g f ph=f id=1 pid=0 tid=7 ts=90; ac2g g ph=f id=2 pid=0 tid=7 ts=90;"
                                       "ac2g h ph=f id=3 pid=0 tid=7 ts=100");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char names[256];
        const struct cut_case c = {.selection = rows[i].selection};
        cut_names(&pair, &c, false, names);
        if (strcmp(names, rows[i].events) != 0)
            fail_msg("%zu: %s, expected %s", i, names, rows[i].events);
    }
    pair_free(&pair);
}

static void host_trace_is_required_to_write_it(void **state) {
    struct pair pair = read_pair();
    const struct sutra_selection selection = {.size = sizeof selection};
    struct sutra_cut *cut = NULL;
    struct sutra_error error;
    assert_int_equal(sutra_cut_run(context, pair.device, NULL, &selection, &cut, NULL), SUTRA_OK);
    assert_int_equal(sutra_cut_write_host(context, cut, "/dev/null", NULL, &error), SUTRA_USAGE);
    assert_non_null(strstr(error.message, "no host trace"));
    sutra_cut_free(cut);
    pair_free(&pair);
}

static void text_between_events_is_kept(void **state) {
    static const struct {
        const char *text, *kept;
        double min_us;
    } texts[] = {
        {"{\"a\": 1, \"traceEvents\": [ {\"dur\":1} , {\"dur\":5}\n,{\"dur\":6},{\"dur\":1}\n ] , \"b\": [2] }",
         "{\"a\": 1, \"traceEvents\": [ {\"dur\":5}\n,{\"dur\":6}\n ] , \"b\": [2] }", 5},
        {"{\"traceEvents\":[{\"dur\":1}, {\"dur\":2}]}", "{\"traceEvents\":[]}", 5},
        {"{\"traceEvents\":[{\"dur\":9},\n{\"dur\":2},\n {\"dur\":8}]}",
         "{\"traceEvents\":[{\"dur\":9},\n {\"dur\":8}]}", 5},
        {"{\"traceEvents\": [ ]}", "{\"traceEvents\": [ ]}", 5},
        {"{\"traceEvents\": [{\"dur\": 1.50, \"args\": {\"x\": 1E5}}]}\n", NULL, 0},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char path[] = "/tmp/test_cut.XXXXXX";
        const struct sutra_selection selection = {.size = sizeof selection, .min_us = texts[i].min_us};
        struct sutra_device_trace *trace = NULL;
        struct sutra_cut *cut = NULL;
        make_temp_file(path, "");
        assert_int_equal(sutra_device_trace_parse(context, "t", texts[i].text, strlen(texts[i].text), &trace, NULL),
                         SUTRA_OK);
        assert_int_equal(sutra_cut_run(context, trace, NULL, &selection, &cut, NULL), SUTRA_OK);
        assert_int_equal(sutra_cut_write(context, cut, path, NULL, NULL), SUTRA_OK);
        char *text = file_text(path, NULL);
        unlink(path);
        assert_string_equal(text, texts[i].kept ? texts[i].kept : texts[i].text);
        free(text);
        sutra_cut_free(cut);
        sutra_device_trace_free(trace);
    }
}

static void impossible_selections_are_errors(void **state) {
    static const struct {
        struct sutra_selection selection;
        bool host;
        enum sutra_status status;
    } refused[] = {
        {{.step = "3"}, false, SUTRA_DATA},
        {{.step = "3-9"}, false, SUTRA_DATA},
        {{.step = "2-1"}, false, SUTRA_DATA},
        {{.step = ""}, false, SUTRA_DATA},
        {{.only = SUTRA_ONLY_CPU}, true, SUTRA_USAGE},
        {{.min_us = 1}, true, SUTRA_USAGE},
    };
    struct pair pair = read_pair();
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct sutra_selection selection = refused[i].selection;
        struct sutra_cut *cut = NULL;
        struct sutra_error error;
        selection.size = sizeof selection;
        assert_int_equal(
            sutra_cut_run(context, pair.device, refused[i].host ? pair.host : NULL, &selection, &cut, &error),
            refused[i].status);
        assert_null(cut);
        assert_int_not_equal(error.message[0], 0);
    }
    pair_free(&pair);
}

static void kept_events_are_counted(void **state) {
    struct pair pair = read_pair();
    const struct sutra_selection selection = {.size = sizeof selection, .step = "1"};
    struct sutra_cut_report report = {.size = sizeof report};
    struct sutra_cut *cut = NULL;
    assert_int_equal(sutra_cut_run(context, pair.device, pair.host, &selection, &cut, NULL), SUTRA_OK);
    sutra_cut_report(cut, &report);
    assert_int_equal(report.n_events, 20);
    assert_int_equal(report.n_events_kept, 10);
    assert_int_equal(report.n_operators, 4);
    assert_int_equal(report.n_operators_kept, 2);
    assert_int_equal(report.n_work, 2);
    assert_int_equal(report.n_work_kept, 1);
    assert_int_equal(report.n_arrow_ends, 6);
    assert_int_equal(report.n_arrow_ends_kept, 2);
    assert_int_equal(report.n_broken_ends, 1);
    assert_int_equal(report.n_nodes, 8);
    assert_int_equal(report.n_nodes_kept, 5);
    sutra_cut_free(cut);
    pair_free(&pair);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selected_events_are_kept),
        cmocka_unit_test(arrow_ends_without_an_event_are_kept_by_their_time),
        cmocka_unit_test(host_trace_is_required_to_write_it),
        cmocka_unit_test(text_between_events_is_kept),
        cmocka_unit_test(impossible_selections_are_errors),
        cmocka_unit_test(kept_events_are_counted),
    };
    return cmocka_run_group_tests(tests, make_context, free_context);
}
