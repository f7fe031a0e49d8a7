/*
 * test_columns.c - tests export of events, nodes and results as columns of the Arrow C data interface.
 */
#include <math.h>

#include "analyze/table.h"
#include "arrow_check.h"
#include "et_text.h"
#include "one_context.h"
#include "read/device_trace.h"
#include "sutra/sutra.h"
#include "trace_text.h"
#include "unit.h"

#define NULL_TEXT "(null)"

static struct sutra_device_trace *device_trace(const char *text) {
    struct sutra_device_trace *trace = NULL;
    assert_int_equal(sutra_device_trace_parse(context, "device", text, strlen(text), &trace, NULL), SUTRA_OK);
    return trace;
}

static struct arrow_table take(struct ArrowArrayStream *stream) {
    struct arrow_table table;
    assert_null(arrow_take(stream, &table));
    assert_null(arrow_wrong(&table));
    return table;
}

static struct arrow_table events_of(const struct sutra_device_trace *trace,
                                    const struct sutra_columns_options *options) {
    struct ArrowArrayStream stream;
    assert_int_equal(sutra_device_trace_arrow(context, trace, options, &stream, NULL), SUTRA_OK);
    return take(&stream);
}

/* The table below a heading of docs/arrow.md lists the columns with their types and units. */
static void assert_documented(const struct arrow_table *table, const char *heading) {
    static const char *const types[][2] = {{"l", "int64"}, {"g", "float64"}, {"I", "uint32"},
                                           {"b", "bool"},  {"u", "text"},    {"+l", "list of uint32"}};
    FILE *page = fopen("docs/arrow.md", "r");
    char line[1000] = "";
    assert_non_null(page);
    while (strcmp(line, heading) != 0) {
        assert_non_null(fgets(line, sizeof line, page));
        line[strcspn(line, "\n")] = 0;
    }
    while (strncmp(line, "| `", 3) != 0)
        assert_non_null(fgets(line, sizeof line, page));
    for (int64_t i = 0; i < table->schema.n_children; i++) {
        const struct ArrowSchema *column = table->schema.children[i];
        const char *type = "dictionary", *unit = ""; /* metadata: number of pairs, and texts after their lengths */
        const size_t length_at = 2 * sizeof(int32_t) + strlen("unit");
        int32_t length = 0;
        char row[200], other[200];
        for (size_t k = 0; k < sizeof types / sizeof *types && !column->dictionary; k++)
            type = strcmp(column->format, types[k][0]) == 0 ? types[k][1] : type;
        if (column->metadata) {
            memcpy(&length, column->metadata + length_at, sizeof length);
            unit = column->metadata + length_at + sizeof length;
        }
        snprintf(row, sizeof row, "| `%s` | %s |%s%.*s | ", column->name, type, length ? " " : "", length, unit);
        snprintf(other, sizeof other, "| `%s` | int64 or float64 | %.*s | ", column->name, length, unit);
        if (strncmp(line, row, strlen(row)) != 0 && strncmp(line, other, strlen(other)) != 0)
            fail_msg("docs/arrow.md, %s: expected %s, found %s", heading, row, line);
        if (!fgets(line, sizeof line, page))
            *line = 0;
    }
    assert_int_not_equal(*line, '|');
    fclose(page);
}

/* A value as text, which is kept until the next call. */
static const char *text_at(const struct ArrowSchema *schema, const struct ArrowArray *array, int64_t row) {
    static char text[100];
    const void *values = array->n_buffers > 1 ? array->buffers[1] : NULL;
    if (!arrow_valid(array, row))
        return NULL_TEXT;
    if (schema->dictionary)
        return text_at(schema->dictionary, array->dictionary, arrow_index(array, schema->format, row));
    switch (*schema->format) {
    case 'u':
        snprintf(text, sizeof text, "%.*s", (int)(arrow_offset(array, "u", row + 1) - arrow_offset(array, "u", row)),
                 (const char *)array->buffers[2] + arrow_offset(array, "u", row));
        return text;
    case 'l':
        snprintf(text, sizeof text, "%lld", (long long)((const int64_t *)values)[row]);
        return text;
    case 'I':
        snprintf(text, sizeof text, "%u", ((const uint32_t *)values)[row]);
        return text;
    case 'g':
        snprintf(text, sizeof text, "%.17g", ((const double *)values)[row]);
        return text;
    default:
        return ((const uint8_t *)values)[row >> 3] >> (row & 7) & 1 ? "true" : "false";
    }
}

/* A column as its values, with a space between them, and its type before them. */
static const char *column_text(const struct arrow_table *table, const char *name) {
    static char text[1000];
    int64_t column = arrow_find(table, name);
    if (column < 0)
        return "no such column";
    const struct ArrowSchema *schema = table->schema.children[column];
    size_t length = (size_t)snprintf(text, sizeof text, "%s%s:", schema->format, schema->dictionary ? "*" : "");
    for (int64_t row = 0; row < table->array.length; row++)
        length += (size_t)snprintf(text + length, sizeof text - length, " %s",
                                   text_at(schema, table->array.children[column], row));
    return text;
}

static const char events_text[] =
    "{\"traceEvents\":["
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":5,\"ts\":10,\"dur\":9,"
    "\"args\":{\"External id\":3,\"Record function id\":4,\"device\":9}},"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":5,\"ts\":11,\"dur\":2,"
    "\"args\":{\"correlation\":70}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"pid\":0,\"tid\":7,\"ts\":15,\"dur\":0,"
    "\"args\":{\"correlation\":70,\"stream\":7,\"device\":2}},"
    "{\"ph\":\"M\",\"name\":\"\\ud800x\",\"pid\":\"Spans\",\"tid\":1.5,\"args\":{\"stream\":7.0}},"
    "{\"ph\":\"two\",\"name\":4,\"cat\":\"\",\"pid\":9223372036854775808,\"args\":{\"stream\":\"all\",\"correlation\":-1}},"
    "{\"cat\":5,\"pid\":null}]}";

static void events_become_columns(void **state) {
    static const char *const expected[][2] = {
        {"ts", "l: 10 11 15 (null) (null) (null)"},
        {"dur", "l: 9 2 0 (null) (null) (null)"},
        {"name", "i*: a cudaLaunchKernel a \xef\xbf\xbdx (null) (null)"},
        {"category", "i*: cpu_op cuda_runtime kernel (null) (null) (null)"},
        {"phase", "c*: X X X M (null) (null)"},
        {"kind", "c*: cpu_operator launch gpu_operator other other other"},
        {"pid", "l: 1 1 0 (null) (null) (null)"},
        {"tid", "l: 5 5 7 (null) (null) (null)"},
        {"stream", "l: (null) (null) 7 7 (null) (null)"},
        {"device", "l: (null) (null) 2 (null) (null) (null)"},
        {"correlation", "l: (null) 70 70 (null) (null) (null)"},
        {"external_id", "l: 3 (null) (null) (null) (null) (null)"},
        {"rf_id", "l: 4 (null) (null) (null) (null) (null)"},
    };
    struct sutra_device_trace *trace = device_trace(events_text);
    struct arrow_table table = events_of(trace, NULL);
    sutra_device_trace_free(trace);
    assert_int_equal(table.array.n_children, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_string_equal(column_text(&table, expected[i][0]), expected[i][1]);
    const char unit[] = "\1\0\0\0\4\0\0\0unit\2\0\0\0us";
    assert_memory_equal(table.schema.children[0]->metadata, unit, sizeof unit - 1);
    assert_null(table.schema.children[2]->metadata);
    assert_documented(&table, "## Events");
    arrow_free(&table);
}

static void threads_make_the_same_columns(void **state) {
    struct ArrowArrayStream stream;
    struct sutra_device_trace *trace = device_trace(events_text);
    struct sutra_context *three = NEW_CONTEXT(.n_threads = 3, .device = SUTRA_DEVICE_CPU);
    struct arrow_table one = events_of(trace, NULL);
    assert_int_equal(sutra_device_trace_arrow(three, trace, NULL, &stream, NULL), SUTRA_OK);
    struct arrow_table several = take(&stream);
    assert_int_equal(one.array.n_children, several.array.n_children);
    for (int64_t i = 0; i < one.array.n_children; i++) {
        char expected[1000];
        const char *name = one.schema.children[i]->name;
        strcpy(expected, column_text(&one, name));
        assert_string_equal(several.schema.children[i]->name, name);
        assert_string_equal(column_text(&several, name), expected);
    }
    arrow_free(&one);
    arrow_free(&several);
    sutra_device_trace_free(trace);
    sutra_context_free(three);
}

static void devices_are_ids_of_events_with_a_stream(void **state) {
    static const char text[] = "{\"traceEvents\":["
                               "{\"args\":{\"stream\":7,\"device\":1}},{\"args\":{\"device\":2}},"
                               "{\"args\":{\"stream\":7,\"device\":3.0}},{\"args\":{\"stream\":7,\"device\":\"a\"}},"
                               "{\"args\":{\"stream\":7,\"device\":65533}},{\"args\":{\"stream\":7,\"device\":65534}},"
                               "{\"args\":{\"stream\":7,\"device\":65535}},{\"args\":{\"stream\":7,\"device\":-4}},"
                               "{\"args\":{\"stream\":7,\"device\":null}},{\"args\":{\"stream\":7}},"
                               "{\"args\":{\"stream\":7,\"device\":8,\"device\":9}}]}";
    struct sutra_device_trace *trace = device_trace(text);
    struct arrow_table table = events_of(trace, NULL);
    assert_string_equal(column_text(&table, "device"), "l: 1 (null) 3 (null) 65533 65534 65535 -4 (null) (null) 9");
    arrow_free(&table);
    sutra_device_trace_free(trace);
}

static void only_requested_columns_are_read(void **state) {
    static const char *const names[] = {"tid_text", "pid_text", "ts"};
    const struct sutra_columns_options options = {.size = sizeof options, .names = names, .n_names = 3};
    struct sutra_device_trace *trace = device_trace(events_text);
    struct arrow_table table = events_of(trace, &options);
    assert_int_equal(table.array.n_children, 3);
    assert_string_equal(table.schema.children[0]->name, "tid_text");
    assert_string_equal(column_text(&table, "tid_text"), "i*: (null) (null) (null) 1.5 (null) (null)");
    assert_string_equal(column_text(&table, "pid_text"), "i*: (null) (null) (null) Spans 9223372036854775808 (null)");
    arrow_free(&table);
    const char *const wrong[] = {"ts", "speed"};
    struct ArrowArrayStream stream;
    struct sutra_error error;
    assert_int_equal(sutra_device_trace_arrow(context, trace,
                                              &(struct sutra_columns_options){sizeof options, wrong, 2, NULL, 0},
                                              &stream, &error),
                     SUTRA_USAGE);
    assert_non_null(strstr(error.message, "unknown column \"speed\"; columns: ts, dur,"));
    sutra_device_trace_free(trace);
}

static void args_have_the_type_of_all_their_values(void **state) {
    static const char text[] =
        "{\"traceEvents\":["
        "{\"args\":{\"i\":1,\"r\":1,\"b\":true,\"s\":\"x\\u0041\",\"j\":[1, 2] ,\"l\":5,\"m\":\"x\",\"ts\":3,\"n\":null}},"
        "{\"args\":{\"i\":-2,\"r\":2.5,\"b\":false,\"s\":\"\",\"j\":{\"a\": \"}\"},\"l\":36893488147419103232,\"m\":7}},"
        "{\"args\":{\"i\":null,\"r\":36893488147419103232,\"b\":null,\"j\":\"\\n\"}},{}]}";
    static const char *const args[] = {"i", "r", "b", "s", "j", "l", "m", "n", "ts", "none"};
    static const char *const expected[][2] = {
        {"i", "l: 1 -2 (null) (null)"},
        {"r", "g: 1 2.5 3.6893488147419103e+19 (null)"},
        {"b", "b: true false (null) (null)"},
        {"s", "i*: xA  (null) (null)"},
        {"j", "i*: [1, 2] {\"a\": \"}\"} \"\\n\" (null)"},
        {"l", "i*: 5 36893488147419103232 (null) (null)"},
        {"m", "i*: \"x\" 7 (null) (null)"},
        {"n", "n: (null) (null) (null) (null)"},
        {"args.ts", "l: 3 (null) (null) (null)"},
        {"none", "n: (null) (null) (null) (null)"},
    };
    const struct sutra_columns_options options = {.size = sizeof options, .args = args, .n_args = 10};
    struct sutra_device_trace *trace = device_trace(text);
    struct arrow_table table = events_of(trace, &options);
    sutra_device_trace_free(trace);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_string_equal(column_text(&table, expected[i][0]), expected[i][1]);
    const char encoding[] = "\1\0\0\0\10\0\0\0encoding\4\0\0\0json";
    assert_memory_equal(table.schema.children[arrow_find(&table, "j")]->metadata, encoding, sizeof encoding - 1);
    assert_null(table.schema.children[arrow_find(&table, "s")]->metadata);
    arrow_free(&table);
}

static void times_are_real_numbers_where_one_is(void **state) {
    struct sutra_device_trace *trace =
        device_trace("{\"traceEvents\":[{\"ts\":1,\"dur\":2.5},{\"ts\":1.5,\"dur\":0},{\"ts\":4,\"dur\":0.5},{}]}");
    struct arrow_table table = events_of(trace, NULL);
    assert_string_equal(column_text(&table, "ts"), "g: 1 1.5 4 (null)");
    assert_string_equal(column_text(&table, "dur"), "g: 2.5 0 0.5 (null)");
    assert_ptr_equal(table.array.children[1]->buffers[1], trace->events.dur.bits);
    arrow_free(&table);
    sutra_device_trace_free(trace);
}

/* AddressSanitizer watches. */
static void columns_outlive_trace_and_batch(void **state) {
    struct sutra_device_trace *trace = device_trace(events_text);
    const void *pids = trace->events.pid;
    struct arrow_table table = events_of(trace, NULL);
    sutra_device_trace_free(trace);
    assert_null(trace->document.source.bytes); /* the text is freed; only columns are left */
    struct ArrowArray pid = *table.array.children[arrow_find(&table, "pid")];
    table.array.children[arrow_find(&table, "pid")]->release = NULL;
    arrow_free(&table);
    assert_ptr_equal(pid.buffers[1], pids);
    assert_int_equal(((const int64_t *)pid.buffers[1])[1], 1);
    pid.release(&pid);
    assert_null(pid.release);
}

static void unread_stream_is_released(void **state) {
    struct ArrowArrayStream stream;
    struct sutra_device_trace *trace = device_trace(events_text);
    assert_int_equal(sutra_device_trace_arrow(context, trace, NULL, &stream, NULL), SUTRA_OK);
    sutra_device_trace_free(trace);
    assert_null(stream.get_last_error(&stream));
    stream.release(&stream);
    assert_null(stream.release);
}

static struct sutra_host_trace *host_trace(void) {
    struct sutra_host_trace *trace = NULL;
    char *json = host_json("1 root rf_id=0 tid=7; 2 thread rf_id=0 tid=7; 3 a ctrl_deps=2 rf_id=4 tid=7");
    assert_int_equal(sutra_host_trace_parse(context, "host", json, strlen(json), &trace, NULL), SUTRA_OK);
    free(json);
    return trace;
}

static void nodes_become_columns_with_attributes(void **state) {
    static const char *const args[] = {"tid", "none"};
    const struct sutra_columns_options options = {.size = sizeof options, .args = args, .n_args = 2};
    struct ArrowArrayStream stream;
    struct sutra_host_trace *trace = host_trace();
    assert_int_equal(sutra_host_trace_arrow(context, trace, NULL, &stream, NULL), SUTRA_OK);
    struct arrow_table table = take(&stream);
    assert_documented(&table, "## Nodes of a host trace");
    arrow_free(&table);
    assert_int_equal(sutra_host_trace_arrow(context, trace, &options, &stream, NULL), SUTRA_OK);
    sutra_host_trace_free(trace);
    table = take(&stream);
    assert_string_equal(column_text(&table, "id"), "l: 1 2 3");
    assert_string_equal(column_text(&table, "name"), "i*: root thread a");
    assert_string_equal(column_text(&table, "parent"), "l: 1 1 2");
    assert_string_equal(column_text(&table, "rf_id"), "l: 0 0 4");
    assert_string_equal(column_text(&table, "tid"), "l: 7 7 7");
    assert_string_equal(column_text(&table, "none"), "n: (null) (null) (null)");
    arrow_free(&table);
}

static void linked_nodes_record_their_event_rows(void **state) {
    static const char *const expected[][2] = {
        {"id", "l: 0 1 2 3"},
        {"name", "i*: root thread a a"},
        {"gpu", "b: false false false true"},
        {"host_id", "l: 1 2 3 3"},
        {"host_row", "I: 0 1 2 2"},
        {"event", "I: (null) (null) 0 2"},
        {"ctrl_deps", "l: 0 0 1 2"},
        {"inter_thread_dep", "l: (null) (null) (null) (null)"},
        {"ts", "l: (null) (null) 10 15"},
        {"inclusive_dur", "l: (null) (null) 9 0"},
        {"category", "i*: (null) (null) (null) kernel"},
        {"stream", "l: (null) (null) (null) 7"},
    };
    struct sutra_linked *linked = NULL;
    struct ArrowArrayStream stream;
    struct sutra_device_trace *device =
        parse_trace(context, "cpu_op a tid=5 ts=10+9 'External id'=3 'Record function id'=4; "
                             "cudaLaunchKernel tid=5 ts=11+2 correlation=70 'External id'=3; "
                             "kernel a stream=7 ts=15+0 correlation=70 'External id'=3");
    struct sutra_host_trace *host = host_trace();
    assert_int_equal(sutra_link(context, host, device, NULL, &linked, NULL), SUTRA_OK);
    assert_int_equal(sutra_linked_arrow(context, linked, NULL, &stream, NULL), SUTRA_OK);
    sutra_linked_free(linked);
    sutra_host_trace_free(host);
    sutra_device_trace_free(device);
    struct arrow_table table = take(&stream);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_string_equal(column_text(&table, expected[i][0]), expected[i][1]);
    assert_documented(&table, "## Nodes of ET+");
    arrow_free(&table);
}

static void a_tree_and_its_pairs_become_columns(void **state) {
    const struct sutra_correlation_options all = {.size = sizeof all, .kind = SUTRA_CORRELATION_ALL};
    struct sutra_profile *profile = NULL;
    struct sutra_tree *tree = NULL;
    struct sutra_correlation *correlation = NULL;
    struct ArrowArrayStream nodes, pairs;
    struct sutra_device_trace *trace = device_trace(events_text);
    assert_int_equal(sutra_profile_from_trace(context, trace, NULL, NULL, &profile, NULL), SUTRA_OK);
    assert_int_equal(sutra_tree_build(context, profile, SUTRA_TORCH_VERSION_2, &tree, NULL), SUTRA_OK);
    assert_int_equal(sutra_correlation_find(context, profile, &all, &correlation, NULL), SUTRA_OK);
    assert_int_equal(sutra_tree_arrow(context, tree, NULL, &nodes, NULL), SUTRA_OK);
    assert_int_equal(sutra_correlation_arrow(context, correlation, NULL, &pairs, NULL), SUTRA_OK);
    sutra_correlation_free(correlation);
    sutra_tree_free(tree);
    sutra_profile_free(profile);
    sutra_device_trace_free(trace);
    struct arrow_table table = take(&nodes);
    assert_string_equal(column_text(&table, "event"), "I: 0 1 2");
    assert_string_equal(column_text(&table, "kind"), "c*: operator kineto kineto");
    assert_string_equal(column_text(&table, "parent"), "I: (null) 0 1");
    assert_string_equal(column_text(&table, "depth"), "I: 0 1 2");
    assert_string_equal(column_text(&table, "start_ns"), "l: 10000 11000 15000");
    assert_string_equal(column_text(&table, "end_ns"), "l: 19000 13000 15000");
    assert_documented(&table, "## Call tree");
    arrow_free(&table);
    table = take(&pairs);
    assert_string_equal(column_text(&table, "kind"), "c*: launch operator");
    assert_string_equal(column_text(&table, "from_event"), "I: 1 0");
    assert_string_equal(column_text(&table, "to_event"), "I: 2 2");
    assert_string_equal(column_text(&table, "flow_id"), "l: (null) (null)");
    assert_documented(&table, "## Pairs");
    arrow_free(&table);
}

static void edges_of_a_path_become_columns(void **state) {
    struct sutra_critical_path *path = NULL;
    struct sutra_critical_path_report report = {.size = sizeof report};
    struct ArrowArrayStream stream;
    struct sutra_device_trace *trace = device_trace(events_text);
    assert_int_equal(sutra_critical_path_find(context, trace, NULL, &path, NULL), SUTRA_OK);
    sutra_critical_path_report(path, &report);
    assert_int_equal(sutra_critical_path_arrow(context, path, NULL, &stream, NULL), SUTRA_OK);
    sutra_critical_path_free(path);
    sutra_device_trace_free(trace);
    struct arrow_table table = take(&stream);
    assert_int_equal(table.array.length, report.n_edges);
    int64_t n_critical = 0;
    for (int64_t row = 0; row < table.array.length; row++)
        n_critical += strcmp(text_at(table.schema.children[6], table.array.children[6], row), "true") == 0;
    assert_int_equal(n_critical, report.n_path_nodes - 1);
    assert_non_null(strstr(column_text(&table, "kind"), "operator"));
    assert_documented(&table, "## Critical path");
    arrow_free(&table);
}

static void a_table_becomes_columns_that_outlive_it(void **state) {
    static const struct column_spec specs[] = {
        {"rank", SUTRA_COLUMN_INTEGER}, {"share", SUTRA_COLUMN_REAL}, {"name", SUTRA_COLUMN_TEXT}};
    struct sutra_table table;
    struct ArrowArrayStream first, second;
    table_init(&table, "shares", specs, 3);
    table_integer(&table, 4);
    table_real(&table, 0.5);
    table_text(&table, "a\xed\xa0\x80", 4);
    table_integer(&table, -1);
    table_real(&table, NAN);
    table_text(&table, "", 0);
    const void *ranks = table.columns[0].values.bytes;
    assert_int_equal(sutra_table_arrow(&table, &first, NULL), SUTRA_OK);
    assert_int_equal(sutra_table_arrow(&table, &second, NULL), SUTRA_OK);
    table_free(&table);
    struct arrow_table made = take(&first);
    assert_ptr_equal(made.array.children[0]->buffers[1], ranks);
    arrow_free(&made);
    made = take(&second);
    assert_string_equal(column_text(&made, "rank"), "l: 4 -1");
    assert_string_equal(column_text(&made, "share"), "g: 0.5 (null)");
    assert_string_equal(column_text(&made, "name"), "u: a\xef\xbf\xbd ");
    arrow_free(&made);
}

static void an_empty_table_has_columns(void **state) {
    static const struct column_spec specs[] = {{"rank", SUTRA_COLUMN_INTEGER}, {"name", SUTRA_COLUMN_TEXT}};
    struct sutra_table table;
    struct ArrowArrayStream stream;
    table_init(&table, "shares", specs, 2);
    assert_int_equal(sutra_table_arrow(&table, &stream, NULL), SUTRA_OK);
    table_free(&table);
    struct arrow_table made = take(&stream);
    assert_int_equal(made.array.length, 0);
    assert_int_equal(made.array.n_children, 2);
    arrow_free(&made);
}

static void results_of_the_notebook_become_columns(void **state) {
    static const char *const headings[SUTRA_DLRM_N_COLUMNS] = {"### Streams", "### Rows", "### Overheads",
                                                               "### Overheads by shape"};
    struct sutra_dlrm *dlrm = NULL;
    struct sutra_device_trace *trace = device_trace(events_text);
    assert_int_equal(sutra_dlrm_analyze(context, trace, NULL, &dlrm, NULL), SUTRA_OK);
    for (int which = 0; which < SUTRA_DLRM_N_COLUMNS; which++) {
        struct ArrowArrayStream stream;
        assert_int_equal(sutra_dlrm_arrow(dlrm, (enum sutra_dlrm_columns)which, &stream, NULL), SUTRA_OK);
        struct arrow_table table = take(&stream);
        if (which == SUTRA_DLRM_STREAMS)
            assert_string_equal(column_text(&table, "stream"), "u: 7");
        if (which == SUTRA_DLRM_OVERHEADS)
            assert_non_null(strstr(column_text(&table, "name"), "cudaLaunchKernel"));
        assert_documented(&table, headings[which]);
        arrow_free(&table);
    }
    sutra_dlrm_free(dlrm);
    sutra_device_trace_free(trace);
}

static void lists_of_a_simulation_become_columns(void **state) {
    static const char lines[] =
        "{}\n{\"id\":\"1\",\"name\":\"a\",\"type\":\"COMP_NODE\",\"durationMicros\":\"9\",\"attr\":[]}\n"
        "{\"id\":\"2\",\"name\":\"b\",\"type\":\"COMM_COLL_NODE\",\"dataDeps\":[\"1\"],\"durationMicros\":\"9\",\"attr\":["
        "{\"name\":\"meeting\",\"int64Val\":\"0\"},{\"name\":\"meeting_kind\",\"stringVal\":\"all-reduce\"}]}\n"
        "{\"id\":\"3\",\"name\":\"c\",\"type\":\"COMP_NODE\",\"dataDeps\":[\"3\"],\"attr\":[]}\n";
    static const struct {
        const char *heading, *column, *values;
    } expected[SUTRA_SIMULATED_N_COLUMNS] = {
        [SUTRA_SIMULATED_RANKS] = {"### Ranks", "time_ns", "l: 27000 27000"},
        [SUTRA_SIMULATED_WAITS] = {"### Waits", "ns", "l: 9000"},
        [SUTRA_SIMULATED_COLLECTIVES] = {"### Collectives", "kind", "u: all-reduce"},
        [SUTRA_SIMULATED_LINKS] = {"### Links", "bytes_per_s", "g: (null)"},
        [SUTRA_SIMULATED_PATH] = {"### Path", "name", "u: a b"},
        [SUTRA_SIMULATED_NAMES] = {"### Names", "n_nodes", "l: 2 2 2"},
        [SUTRA_SIMULATED_DEADLOCKED] = {"### Deadlocked nodes", "awaited_name", "u: c c"},
    };
    static const char *const changes[] = {"rank=1:compute:2"};
    const struct sutra_simulate_options options = {.size = sizeof options, .scales = changes, .n_scales = 1};
    struct sutra_simulation *simulation = NULL;
    struct sutra_et *et = NULL;
    assert_int_equal(et_parse_text(context, lines, &et, NULL), SUTRA_OK);
    const struct sutra_et *const ets[] = {et, et};
    assert_int_equal(sutra_simulate(context, ets, NULL, 2, &options, &simulation, NULL), SUTRA_OK);
    for (int which = 0; which < SUTRA_SIMULATED_N_COLUMNS; which++) {
        struct ArrowArrayStream stream;
        assert_int_equal(sutra_simulation_arrow(simulation, (enum sutra_simulated_columns)which, &stream, NULL),
                         SUTRA_OK);
        struct arrow_table table = take(&stream);
        assert_string_equal(column_text(&table, expected[which].column), expected[which].values);
        assert_documented(&table, expected[which].heading);
        if (which == SUTRA_SIMULATED_PATH)
            assert_non_null(strstr(column_text(&table, "work"), "computation communication"));
        arrow_free(&table);
    }
    sutra_simulation_free(simulation);
    sutra_et_free(et);
}

static void repairs_become_columns(void **state) {
    static const char text[] = "{\"traceEvents\":[{\"ts\":NaN},{\"ts\":1},,{\"ts\":2}]}";
    struct sutra_repair *repair = NULL;
    struct ArrowArrayStream stream;
    assert_int_equal(sutra_repair_parse(context, "text", text, strlen(text), &repair, NULL), SUTRA_OK);
    assert_int_equal(sutra_repair_arrow(repair, &stream, NULL), SUTRA_OK);
    sutra_repair_free(repair);
    struct arrow_table table = take(&stream);
    assert_string_equal(column_text(&table, "offset"), "l: 22 35");
    assert_string_equal(column_text(&table, "kind"),
                        "c*: NaN or infinity, replaced by null range of malformed elements, skipped");
    assert_documented(&table, "## Repairs");
    arrow_free(&table);
}

static void ranks_of_a_timeline_become_columns(void **state) {
    char path[] = P_tmpdir "/sutra_XXXXXX";
    struct sutra_merged *merged = NULL;
    struct ArrowArrayStream stream;
    make_temp_file(path, events_text);
    const char *const paths[] = {path};
    assert_int_equal(sutra_merge(context, paths, 1, NULL, "/dev/null", &merged, NULL), SUTRA_OK);
    assert_int_equal(remove(path), 0);
    assert_int_equal(sutra_merged_arrow(merged, &stream, NULL), SUTRA_OK);
    sutra_merged_free(merged);
    struct arrow_table table = take(&stream);
    assert_string_equal(column_text(&table, "rank"), "l: 0");
    assert_non_null(strstr(column_text(&table, "path"), path));
    assert_documented(&table, "## Ranks of a merged timeline");
    arrow_free(&table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_become_columns),
        cmocka_unit_test(threads_make_the_same_columns),
        cmocka_unit_test(devices_are_ids_of_events_with_a_stream),
        cmocka_unit_test(only_requested_columns_are_read),
        cmocka_unit_test(args_have_the_type_of_all_their_values),
        cmocka_unit_test(times_are_real_numbers_where_one_is),
        cmocka_unit_test(columns_outlive_trace_and_batch),
        cmocka_unit_test(unread_stream_is_released),
        cmocka_unit_test(nodes_become_columns_with_attributes),
        cmocka_unit_test(linked_nodes_record_their_event_rows),
        cmocka_unit_test(a_tree_and_its_pairs_become_columns),
        cmocka_unit_test(edges_of_a_path_become_columns),
        cmocka_unit_test(a_table_becomes_columns_that_outlive_it),
        cmocka_unit_test(an_empty_table_has_columns),
        cmocka_unit_test(results_of_the_notebook_become_columns),
        cmocka_unit_test(lists_of_a_simulation_become_columns),
        cmocka_unit_test(repairs_become_columns),
        cmocka_unit_test(ranks_of_a_timeline_become_columns),
    };
    return cmocka_run_group_tests(tests, make_context, free_context);
}
