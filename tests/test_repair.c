/*
 * test_repair.c - tests `repair`: each kind of damage as a small case; well-formed text does not change; one random
 * damaged byte in a string changes at most one event; lenient readers accept the repaired file.
 */
#include "one_context.h"
#include "read/device_trace.h"
#include "read/host_trace.h"
#include "read/repair.h"
#include "unit.h"

/* ` is ". */
struct repair_case {
    const char *what, *broken, *repaired; /* NULL: rejected */
    enum sutra_repair_kind kind;
    uint64_t n;
};

#define EVENT(name)    "{`ph`: `X`, `cat`: `python_function`, `name`: `" name "`, `pid`: 1, `ts`: 5}"
#define FULL(more)     "{`ph`: `X`, `name`: `a`, `pid`: 1, `ts`: 5, `args`: {`x`: " more
#define NODE(id, more) "{`id`: " id ", `name`: `a`, `ctrl_deps`: 1, `attrs`: [" more
#define TRACE(events)  "{`schemaVersion`: 1, `traceEvents`: [\n" events "\n], `traceName`: `x`}\n"

/* The end of a repaired trace whose end was missing. */
#define MARK(at, elements, bytes)                                                                                      \
    ",\n`sutra_repair`: {`truncated_at_byte`: " #at ", `lost`: {`elements`: " #elements ", `bytes`: " #bytes "}}}"

static const struct repair_case cases[] = {
    /* pytorch #146900: a dict's text as the name of a frame's file; #113001: a line of the user's */
    {"quotes of a dict", TRACE(EVENT("{`device`: `cpu`, `dtype`: `float32`}(12): run")),
     TRACE(EVENT("{\\`device\\`: \\`cpu\\`, \\`dtype\\`: \\`float32\\`}(12): run")), SUTRA_REPAIR_QUOTE, 8},
    {"quotes and a line break", TRACE(EVENT("l = torch.library.Library(`_test`, `IMPL`)\n(1): <module>")),
     TRACE(EVENT("l = torch.library.Library(\\`_test\\`, \\`IMPL\\`)\\n(1): <module>")), SUTRA_REPAIR_QUOTE, 4},
    {"a quote at the end", TRACE(EVENT("say `hi`")), TRACE(EVENT("say \\`hi\\`")), SUTRA_REPAIR_QUOTE, 2},
    {"a quote at the beginning", TRACE(EVENT("`hi` she said")), TRACE(EVENT("\\`hi\\` she said")), SUTRA_REPAIR_QUOTE,
     2},
    {"one quote", TRACE(EVENT("5` disk") "," EVENT("b")), TRACE(EVENT("5\\` disk") "," EVENT("b")), SUTRA_REPAIR_QUOTE,
     1},
    {"a quote before a bracket", TRACE(EVENT("f({`a`})")), TRACE(EVENT("f({\\`a\\`})")), SUTRA_REPAIR_QUOTE, 2},
    {"quotes in arguments", TRACE("{`ph`: `X`, `name`: `a`, `args`: {`x`: `a`b`c`, `y z`: 1, `list`: [`u`v`, `w`]}}"),
     TRACE("{`ph`: `X`, `name`: `a`, `args`: {`x`: `a\\`b\\`c`, `y z`: 1, `list`: [`u\\`v`, `w`]}}"),
     SUTRA_REPAIR_QUOTE, 3},
    {"keys that traces do not have", TRACE("{`my ph`: `a`b`, `mine`: 1}"), TRACE("{`my ph`: `a\\`b`, `mine`: 1}"),
     SUTRA_REPAIR_QUOTE, 1},
    /* pytorch #130622, #136180 */
    {"control characters", TRACE(EVENT("torch/config.py(0): \x01\t\x1f")),
     TRACE(EVENT("torch/config.py(0): \\u0001\\t\\u001f")), SUTRA_REPAIR_CONTROL, 3},
    {"bytes that are no UTF-8",
     TRACE(EVENT("\xff"
                 "a\xc3\xa9\xc3")),
     TRACE(EVENT("\xef\xbf\xbd"
                 "a\xc3\xa9\xef\xbf\xbd")),
     SUTRA_REPAIR_UTF8, 2},
    /* pytorch #98432 */
    {"backslashes of a path", TRACE(EVENT("torch\\cuda\\__init__.py(219): \\udev")),
     TRACE(EVENT("torch\\\\cuda\\\\__init__.py(219): \\\\udev")), SUTRA_REPAIR_BACKSLASH, 3},
    {"a backslash before the closing quote", TRACE(EVENT("C:\\dir\\") "," EVENT("b")),
     TRACE(EVENT("C:\\\\dir\\\\") "," EVENT("b")), SUTRA_REPAIR_BACKSLASH, 2},
    {"escapes stay", TRACE(EVENT("a\\`b\\\\c\\n\\u00e9`d")), TRACE(EVENT("a\\`b\\\\c\\n\\u00e9\\`d")),
     SUTRA_REPAIR_QUOTE, 1},
    {"a closing quote that is missing", TRACE("{`ph`: `X`, `name`: `aten::add, `pid`: 1, `ts`: 5}"),
     TRACE("{`ph`: `X`, `name`: `aten::add`, `pid`: 1, `ts`: 5}"), SUTRA_REPAIR_END_QUOTE, 1},
    {"NaN and infinities",
     TRACE("{`ph`: `C`, `args`: {`a`: NaN, `b`: -Infinity, `c`: nan, `d`: -nan, `e`: inf, `f`: [1.#INF]}}"),
     TRACE("{`ph`: `C`, `args`: {`a`: null, `b`: null, `c`: null, `d`: null, `e`: null, `f`: [null]}}"),
     SUTRA_REPAIR_NUMBER, 6},
    {"a comma too many", TRACE("{`ph`: `X`, `args`: {`a`: [1,], }, }, "), TRACE("{`ph`: `X`, `args`: {`a`: [1] } } "),
     SUTRA_REPAIR_COMMA, 4},
    {"a comma that is missing", TRACE("{`ph`: `X`}\n{`ph`: `i`}"), TRACE("{`ph`: `X`}\n,{`ph`: `i`}"),
     SUTRA_REPAIR_COMMA, 1},
    {"cut off in a string", "{`traceEvents`: [{`ph`: `X`}, {`ph`: `X`, `name`: `at",
     "{`traceEvents`: [{`ph`: `X`}\n]" MARK(53, 1, 25), SUTRA_REPAIR_CUT_OFF, 1},
    {"cut off after a comma", "{`a`: 1, `traceEvents`: [{`ph`: `X`},\n",
     "{`a`: 1, `traceEvents`: [{`ph`: `X`}\n]" MARK(38, 0, 2), SUTRA_REPAIR_CUT_OFF, 1},
    {"cut off after an event", "{`traceEvents`: [{`ph`: `X`}", "{`traceEvents`: [{`ph`: `X`}\n]" MARK(28, 0, 0),
     SUTRA_REPAIR_CUT_OFF, 1},
    {"cut off after the array", "{`traceEvents`: [{`ph`: `X`}], `b`: {`c",
     "{`traceEvents`: [{`ph`: `X`}]" MARK(39, 0, 10), SUTRA_REPAIR_CUT_OFF, 1},
    {"cut off in an escape", "{`traceEvents`: [{`ph`: `X`}, {`name`: `\\",
     "{`traceEvents`: [{`ph`: `X`}\n]" MARK(41, 1, 13), SUTRA_REPAIR_CUT_OFF, 1},
    {"cut off before any event", "{`traceEvents`: [{`ph`: `X", NULL, SUTRA_REPAIR_CUT_OFF, 1},
    {"cut off before the array", "{`schemaVersion`: 1, `tra", NULL, SUTRA_REPAIR_CUT_OFF, 1},
    {"nodes cut off", "{`schema`: `1.0.1`, `nodes`: [{`id`: 1}, {`id`",
     "{`schema`: `1.0.1`, `nodes`: [{`id`: 1}\n]" MARK(46, 1, 7), SUTRA_REPAIR_CUT_OFF, 1},
    /* chakra #192: recorded again into the same file */
    {"two traces", "{`schema`: `1`, `nodes`: [{`id`: 1}]}\n{`schema`: `1`, `nodes`: [{`id`: 1}, {`id`: 2}]}\n",
     "{`schema`: `1`, `nodes`: [{`id`: 1}, {`id`: 2}]}\n", SUTRA_REPAIR_OBJECT, 1},
    {"two traces, the first larger", "{`nodes`: [{`id`: 1}, {`id`: 2}]} {`nodes`: [{`id`: 1}]}",
     "{`nodes`: [{`id`: 1}, {`id`: 2}]}\n", SUTRA_REPAIR_OBJECT, 1},
    {"a trace that begins within another one's string",
     "{`schema`: `1`, `nodes`: [{`id`: 1}, {`id`: 2, `name`: `at{`schema`: `1`, `nodes`: [{`id`: 1}, {`id`: 2}]}",
     "{`schema`: `1`, `nodes`: [{`id`: 1}, {`id`: 2}]}\n", SUTRA_REPAIR_OBJECT, 1},
    {"a bare array", "[{`ph`: `X`}, {`ph`: `i`}]\n", "{`traceEvents`: [{`ph`: `X`}, {`ph`: `i`}]}\n",
     SUTRA_REPAIR_ARRAY, 1},
    {"a bare array that is cut off", "[\n{`ph`: `X`},\n{`ph`:", "{`traceEvents`: [\n{`ph`: `X`}\n]" MARK(21, 1, 8),
     SUTRA_REPAIR_ARRAY, 1},
    {"a bare array of nodes", "[{`id`: 1, `ctrl_deps`: 1}]", "{`nodes`: [{`id`: 1, `ctrl_deps`: 1}]}",
     SUTRA_REPAIR_ARRAY, 1},
    {"a byte order mark", "\xef\xbb\xbf{`traceEvents`: []}", "{`traceEvents`: []}", SUTRA_REPAIR_BEGINNING, 1},
    {"text after the trace", "{`traceEvents`: []}\n]}", "{`traceEvents`: []}\n", SUTRA_REPAIR_REST, 1},
    {"an event that is nothing", TRACE(EVENT("a") ",\n {`ph`: X},\n " EVENT("b")), TRACE(EVENT("a") ",\n" EVENT("b")),
     SUTRA_REPAIR_ELEMENT, 1},
    {"the first event is nothing", TRACE("{`ph` `X`},\n" EVENT("b")),
     "{`schemaVersion`: 1, `traceEvents`: [" EVENT("b") "\n], `traceName`: `x`}\n", SUTRA_REPAIR_ELEMENT, 1},
    {"the last event is nothing", TRACE(EVENT("a") ",\n{`ph` `X`}"),
     "{`schemaVersion`: 1, `traceEvents`: [\n" EVENT("a") "], `traceName`: `x`}\n", SUTRA_REPAIR_ELEMENT, 1},
    {"an event whose last string has no end", TRACE(EVENT("a") ",\n" FULL("`b}}") ",\n" EVENT("c")),
     TRACE(EVENT("a") ",\n" FULL("`b`}}") ",\n" EVENT("c")), SUTRA_REPAIR_END_QUOTE, 1},
    {"an event whose last string has no end, and closes too few brackets",
     TRACE(EVENT("a") ",\n" FULL("`b}") ",\n" EVENT("c")), TRACE(EVENT("a") ",\n" EVENT("c")), SUTRA_REPAIR_ELEMENT, 1},
    /* pytorch #126703 */
    {"a brace is missing at the end of an event", TRACE(FULL("1}") ",\n" EVENT("b")),
     TRACE(FULL("1}}") ",\n" EVENT("b")), SUTRA_REPAIR_BRACKET, 1},
    {"a brace is missing after a string", TRACE("{`ph`: `X`, `cat`: `c`, `pid`: 1, `name`: `a`,\n" EVENT("b")),
     TRACE("{`ph`: `X`, `cat`: `c`, `pid`: 1, `name`: `a`},\n" EVENT("b")), SUTRA_REPAIR_BRACKET, 1},
    {"both braces are missing", TRACE(EVENT("a") ",\n" FULL("1") ",\n" EVENT("b")),
     TRACE(EVENT("a") ",\n" FULL("1}}") ",\n" EVENT("b")), SUTRA_REPAIR_BRACKET, 2},
    {"braces are missing in several events", TRACE(FULL("1}") ",\n" FULL("2}") ",\n" EVENT("b")),
     TRACE(FULL("1}}") ",\n" FULL("2}}") ",\n" EVENT("b")), SUTRA_REPAIR_BRACKET, 2},
    {"a brace is missing in the last event", TRACE(EVENT("a") ",\n" FULL("1}")), TRACE(EVENT("a") ",\n" FULL("1}}")),
     SUTRA_REPAIR_BRACKET, 1},
    {"a brace is missing on one line", "{`traceEvents`:[{`ph`:`X`,`pid`:1,{`ph`:`X`,`pid`:2,{`ph`:`X`,`pid`:3}]}",
     "{`traceEvents`:[{`ph`:`X`,`pid`:1},{`ph`:`X`,`pid`:2},{`ph`:`X`,`pid`:3}]}", SUTRA_REPAIR_BRACKET, 2},
    {"a brace is missing inside of an event",
     TRACE(EVENT("a") ",\n{`ph`: `X`, `args`: {`stream`: 7, `cat`: `c`, `name`: `b`, `pid`: 1, `ts`: 5},\n" EVENT("c")),
     TRACE(
         EVENT("a") ",\n{`ph`: `X`, `args`: {`stream`: 7}, `cat`: `c`, `name`: `b`, `pid`: 1, `ts`: 5},\n" EVENT("c")),
     SUTRA_REPAIR_BRACKET, 1},
    {"braces are missing inside of all events",
     TRACE(
         "{`ph`: `X`, `args`: {`name`: `b`, `pid`: 1, `ts`: 5},\n{`ph`: `X`, `args`: {`stream`: 7, `pid`: 1, `ts`: 5}"),
     TRACE("{`ph`: `X`, `args`: {`name`: `b`}, `pid`: 1, `ts`: 5},\n"
           "{`ph`: `X`, `args`: {`stream`: 7}, `pid`: 1, `ts`: 5}"),
     SUTRA_REPAIR_BRACKET, 2},
    {"a brace is missing after arguments with a key of events",
     TRACE(EVENT("a") ",\n{`ph`: `M`, `name`: `n`, `pid`: 1, `args`: {`x`: 7, `name`: `b`},\n" EVENT("c")),
     TRACE(EVENT("a") ",\n{`ph`: `M`, `name`: `n`, `pid`: 1, `args`: {`x`: 7, `name`: `b`}},\n" EVENT("c")),
     SUTRA_REPAIR_BRACKET, 1},
    {"a bracket is missing inside of an event", TRACE(FULL("[[1], [2], `y`: [3, `z`: [}}") ",\n" EVENT("b")),
     TRACE(FULL("[[1], [2]], `y`: [3], `z`: []}}") ",\n" EVENT("b")), SUTRA_REPAIR_BRACKET, 3},
    {"a bracket and a brace are missing in a node",
     "{`nodes`: [" NODE("1", "{`name`: `tid`}]}") ",\n" NODE("2", "{`name`: `tid`}") ",\n" NODE(
         "3", "{`name`: `tid`}]}") "]}",
     "{`nodes`: [" NODE("1", "{`name`: `tid`}]}") ",\n" NODE("2", "{`name`: `tid`}]}") ",\n" NODE(
         "3", "{`name`: `tid`}]}") "]}",
     SUTRA_REPAIR_BRACKET, 2},
    {"a brace is missing in an attribute of a node", "{`nodes`: [" NODE("1", "{`name`: `tid`, {`name`: `rf_id`]}") "]}",
     "{`nodes`: [" NODE("1", "{`name`: `tid`}, {`name`: `rf_id`}]}") "]}", SUTRA_REPAIR_BRACKET, 2},
    {"a brace is missing after a surplus comma", "{`nodes`: [{`id`: 1}, {`id`: 2, ]}",
     "{`nodes`: [{`id`: 1}, {`id`: 2} ]}", SUTRA_REPAIR_BRACKET, 1},
    {"a bracket is missing before the array", "{`devices`: [{`id`: 0}, `traceEvents`: [{`ph`: `X`}]}",
     "{`devices`: [{`id`: 0}], `traceEvents`: [{`ph`: `X`}]}", SUTRA_REPAIR_BRACKET, 1},
    {"a comma too many after the array", "{`traceEvents`: [{`ph`: `X`}], }", "{`traceEvents`: [{`ph`: `X`}] }",
     SUTRA_REPAIR_COMMA, 1},
    {"the array's bracket is missing", "{`traceEvents`: [{`ph`: `X`}}", "{`traceEvents`: [{`ph`: `X`}]}",
     SUTRA_REPAIR_BRACKET, 1},
    {"an event inside of a string of another one",
     TRACE(EVENT("a") ",\n{`ph`: `X`, `name`: `b" EVENT("c") "b`, `pid`: 2},\n" EVENT("d")),
     TRACE(EVENT("a") ",\n" EVENT("c") ",\n" EVENT("d")), SUTRA_REPAIR_ELEMENT, 2},
    {"an event between two members of another one",
     TRACE(EVENT("a") ",\n{`ph`: `X`, `name`: `b`,\n" EVENT("c") ", `pid`: 2},\n" EVENT("d")),
     TRACE(EVENT("a") ",\n" EVENT("c") ",\n" EVENT("d")), SUTRA_REPAIR_ELEMENT, 2},
    {"an event inside of an array of another one",
     TRACE(EVENT("a") ",\n" FULL("[1, 2" EVENT("b") "3]}}") ",\n" EVENT("c")),
     TRACE(EVENT("a") ",\n" EVENT("b") ",\n" EVENT("c")), SUTRA_REPAIR_ELEMENT, 2},
    {"an event in place of a value", TRACE(EVENT("a") ",\n{`ph`: `X`, `name`: \n" EVENT("b") ",\n" EVENT("c")),
     TRACE(EVENT("a") ",\n" EVENT("b") ",\n" EVENT("c")), SUTRA_REPAIR_ELEMENT, 1},
    {"an event after an incomplete one", TRACE(EVENT("a") ",\n{`ph`: `X`,\n" EVENT("b") ",\n" EVENT("c")),
     TRACE(EVENT("a") ",\n" EVENT("b") ",\n" EVENT("c")), SUTRA_REPAIR_ELEMENT, 1},
    {"an event on the next line of an incomplete string",
     TRACE(EVENT("a") ",\n{`ph`: `X`, `name`: `at\n" EVENT("b") ",\n" EVENT("c")),
     TRACE(EVENT("a") ",\n" EVENT("b") ",\n" EVENT("c")), SUTRA_REPAIR_ELEMENT, 1},
    {"an incomplete event on the next line of an incomplete string",
     TRACE(EVENT("a") ",\n{`ph`: `X`, `name`: `at\n{`ph`: `X`, `name`: `b`\n" EVENT("c")),
     TRACE(EVENT("a") ",\n" EVENT("c")), SUTRA_REPAIR_ELEMENT, 1},
    {"the rest of another event",
     TRACE(EVENT("a") ",\n{`ph`: `X`, `name`: `b`, `name`: `cc`dd`, `pid`: 1},\n" EVENT("e")),
     TRACE(EVENT("a") ",\n" EVENT("e")), SUTRA_REPAIR_ELEMENT, 1},
    {"an extra bracket between events", TRACE(EVENT("a") "],\n" EVENT("b")), TRACE(EVENT("a") ",\n" EVENT("b")),
     SUTRA_REPAIR_ELEMENT, 1},
    {"two heads", "{`schema`: `1`, `nodes`: [\n{`schema`: `1`, `nodes`: [{`id`: 1}, {`id`: 2}]}\n",
     "{`schema`: `1`, `nodes`: [{`id`: 1}, {`id`: 2}]}\n", SUTRA_REPAIR_OBJECT, 1},
    {"a second head in a node",
     "{`schema`: `1`, `nodes`: [{`id`: 1}, {`id`: 2, `ctrl_deps`: {`schema`: `1`, `nodes`: [{`id`: 1}, {`id`: 2}]}",
     "{`schema`: `1`, `nodes`: [{`id`: 1}, {`id`: 2}]}\n", SUTRA_REPAIR_OBJECT, 1},
    {"a head in place of a node", "{`schema`: `1`, `nodes`: [{`id`: 1}, {`schema`: `1`}, {`id`: 2}, {`id`: x]}",
     "{`schema`: `1`, `nodes`: [{`id`: 1},\n{`id`: 2}]}", SUTRA_REPAIR_ELEMENT, 2},
    {"a truncated trace that was repaired, with a malformed member", "{`nodes`: [{`id`: 1}], `x`: y" MARK(9, 1, 2),
     "{`nodes`: [{`id`: 1}]" MARK(9, 1, 2), SUTRA_REPAIR_CUT_OFF, 1},
    {"no trace", "hello", NULL, SUTRA_REPAIR_REST, 0},
    {"no value", "{`a`: }", NULL, SUTRA_REPAIR_REST, 0},
    {"nothing but a bracket", "{", NULL, SUTRA_REPAIR_REST, 0},
};

static const char *const good[] = {
    "{}",
    "{`a`: 1}",
    " { `traceEvents` : [ ] } \n",
    TRACE(EVENT("a")),
    TRACE(EVENT("a") ",\n" EVENT("b\\`, \\`ph\\`: \\`X")),
    "{`traceEvents`: [1, `a`, null, [], {}], `traceEvents`: []}",
    "{`nodes`: [{`id`: 1, `x`: {`y`: [[], {}, 1e5, -0.5]}}]}",
    "{`traceEvents`: [{`own key`: `\\\\`, `args`: {`\\u0041`: `\\ud800`}}]}",
    "{`a`: {`b`: [true, false, null]}}",
};

static char *quoted(const char *text) {
    char *copy = strdup(text);
    assert_non_null(copy);
    for (char *at = copy; *at; at++)
        *at = *at == '`' ? '"' : *at;
    return copy;
}

/* The repaired text with a NUL appended, or NULL; the caller frees the report. */
static char *repaired_text(const char *text, size_t size, struct text_repairs *report, size_t *length) {
    struct buffer padded = {0}, out = {0};
    size_t failed_at;
    buffer_append(&padded, text, size);
    memset(buffer_reserve(&padded, 64), 0, 64);
    *report = (struct text_repairs){0};
    enum repair_result result = repair_text(padded.bytes, size, report, &out, &failed_at);
    if (result == REPAIR_NONE)
        buffer_append(&out, text, size);
    else if (result != REPAIR_DONE)
        buffer_free(&out);
    buffer_free(&padded);
    *length = out.length;
    if (result == REPAIR_NONE || result == REPAIR_DONE)
        *buffer_reserve(&out, 1) = 0;
    return out.bytes;
}

/* Whether the text is strictly valid JSON that sutra's reader accepts. */
static bool is_json(const char *text, size_t size) {
    struct sutra_repair *repair = NULL;
    struct sutra_repair_report report = {.size = sizeof report};
    if (sutra_repair_parse(context, "repaired", text, size, &repair, NULL))
        return false;
    sutra_repair_report(repair, &report);
    sutra_repair_free(repair);
    return report.n_repaired == 0;
}

static void malformed_text_is_repaired_and_counted(void **state) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct repair_case *c = &cases[i];
        char *broken = quoted(c->broken), *expected = c->repaired ? quoted(c->repaired) : NULL;
        struct text_repairs report;
        size_t length;
        char *repaired = repaired_text(broken, strlen(broken), &report, &length);
        if (!expected != !repaired || (repaired && strcmp(repaired, expected) != 0))
            fail_msg("%s: %s, expected %s", c->what, repaired ? repaired : "refused", expected ? expected : "refused");
        if (repaired && report.n[c->kind] != c->n)
            fail_msg("%s: %d of its kind", c->what, (int)report.n[c->kind]);
        if (repaired && !is_json(repaired, length))
            fail_msg("%s: what is repaired is repaired again", c->what);
        text_repairs_free(&report);
        free(broken);
        free(expected);
        free(repaired);
    }
}

static void well_formed_text_is_unchanged(void **state) {
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char *text = quoted(good[i]);
        if (!is_json(text, strlen(text)))
            fail_msg("%s: is not taken as it is", good[i]);
        free(text);
    }
}

static void repair_offsets_are_bytes_of_the_input(void **state) {
    static const char text[] = "{\"traceEvents\": [{\"name\": \"a\"b\", \"ts\": NaN}]}";
    struct sutra_repair *repair = NULL;
    struct sutra_repair_report report = {.size = sizeof report};
    assert_int_equal(sutra_repair_parse(context, "t", text, strlen(text), &repair, NULL), SUTRA_OK);
    sutra_repair_report(repair, &report);
    assert_int_equal(report.n_repaired, 2);
    assert_int_equal(report.n_places, 2);
    assert_int_equal(text[report.places[0].offset], '"');
    assert_int_equal(report.places[0].offset, strstr(text, "\"b") - text);
    assert_int_equal(report.places[0].kind, SUTRA_REPAIR_QUOTE);
    assert_int_equal(report.places[1].offset, strstr(text, "NaN") - text);
    assert_string_equal(sutra_repair_kind_name(report.places[1].kind, false), "NaN or infinity, replaced by null");
    sutra_repair_free(repair);
}

/* ---- Readers ---- */

static void lenient_readers_repair_and_strict_readers_name_the_remedy(void **state) {
    static const char device[] = "{\"traceEvents\": [{\"name\": \"a\"b\", \"ph\": \"X\"}, {\"name\": \"c\"}, {\"na";
    static const char host[] = "{\"schema\": \"1.0.1\", \"nodes\": [{\"id\": 1, \"name\": \"a\\q\"}";
    for (int lenient = 0; lenient < 2; lenient++) {
        struct sutra_context *own = NEW_CONTEXT(.n_threads = 1, .device = SUTRA_DEVICE_CPU, .lenient = lenient);
        struct sutra_device_trace *trace = NULL;
        struct sutra_host_trace *nodes = NULL;
        struct sutra_device_summary summary = {.size = sizeof summary};
        struct sutra_host_summary host_summary = {.size = sizeof host_summary};
        struct sutra_error error;
        enum sutra_status status = sutra_device_trace_parse(own, "device", device, strlen(device), &trace, &error);
        enum sutra_status host_status = sutra_host_trace_parse(own, "host", host, strlen(host), &nodes, NULL);
        assert_int_equal(status, lenient ? SUTRA_OK : SUTRA_DATA);
        assert_int_equal(host_status, lenient ? SUTRA_OK : SUTRA_DATA);
        if (lenient) {
            assert_int_equal(sutra_device_trace_summary(own, trace, &summary, NULL), SUTRA_OK);
            assert_int_equal(summary.n_events, 2);
            sutra_host_trace_summary(nodes, &host_summary);
            assert_int_equal(host_summary.n_nodes, 1);
        } else {
            assert_non_null(strstr(error.message, "sutra repair"));
            assert_non_null(strstr(error.message, "--lenient"));
        }
        sutra_device_trace_free(trace);
        sutra_host_trace_free(nodes);
        sutra_context_free(own);
    }
}

static void lenient_host_reader_skips_nodes_without_a_number_as_id(void **state) {
    static const char text[] = "{`schema`: `1.0.1`, `nodes`: [{`id`: 1}, {`schema`: `1.0.1`, `nodes`: [{`id`: 2}]}, "
                               "{`id`: {`id`: 3}}, {`id`: `4`}, {`id`: 5}]}";
    char *json = quoted(text);
    for (int lenient = 0; lenient < 2; lenient++) {
        struct sutra_context *own = NEW_CONTEXT(.n_threads = 1, .device = SUTRA_DEVICE_CPU, .lenient = lenient);
        struct sutra_host_trace *trace = NULL;
        struct sutra_error error;
        enum sutra_status status = sutra_host_trace_parse(own, "host", json, strlen(json), &trace, &error);
        assert_int_equal(status, lenient ? SUTRA_OK : SUTRA_DATA);
        if (lenient) {
            assert_int_equal(trace->nodes.n, 2);
            assert_int_equal(trace->nodes.id[1], 5);
            assert_int_equal(trace->n_fields_dropped, 0);
        } else {
            assert_non_null(strstr(error.message, "node 1: field 'id'"));
        }
        sutra_host_trace_free(trace);
        sutra_context_free(own);
    }
    free(json);
}

/* ---- Truncated files ---- */

struct truncation_case {
    const char *what, *text; /* `#` is "nodes": [{"id": 1}, or "traceEvents": [{"ph": "X"} */
    bool lenient, truncated;
    uint64_t at; /* in the host trace, whose beginning is 8 bytes shorter */
};

static const struct truncation_case truncations[] = {
    {"complete", "{#]}", false, false, 0},
    {"complete, lenient", "{#]}", true, false, 0},
    {"a malformed member", "{#], `x`: [1}}", true, false, 0},
    {"a malformed element", "{#, {`id`: `a`b`}]}", true, false, 0},
    {"an element that is dropped", "{#, {`id` 3}]}", true, false, 0},
    {"a brace that is missing in the last element", "{#, {`id`: 3]}", true, false, 0},
    {"truncated after an element", "{#", true, true, 20},
    {"truncated in an element", "{#, {`id`: 3", true, true, 30},
    {"truncated in a number", "{#, {`id`: 3, `ts`: 0.", true, true, 40},
    {"truncated after the array", "{#]", true, true, 21},
    {"truncated in a member", "{#], `x`: {`y`", true, true, 32},
    {"marked", "{#], `sutra_repair`: {`lost`: {`elements`: 1}, `truncated_at_byte`: 77}}", false, true, 77},
    {"marked before the array", "{`sutra_repair`: {`truncated_at_byte`: 77}, #]}", true, true, 77},
    {"marked without an offset", "{#], `sutra_repair`: {}}", false, true, 0},
    {"marked with an offset that is no number", "{#], `sutra_repair`: {`truncated_at_byte`: `a`}}", false, true, 0},
    {"marked in another way", "{#], `sutra_repair`: null}", false, true, 0},
    {"marked, and truncated again", "{`sutra_repair`: {`truncated_at_byte`: 77}, #", true, true, 63},
};

static void readers_know_truncated_files(void **state) {
    static const char *const arrays[] = {"`nodes`: [{`id`: 1}", "`traceEvents`: [{`ph`: `X`}"};
    for (size_t i = 0; i < sizeof truncations / sizeof *truncations; i++)
        for (int device = 0; device < 2; device++) {
            const struct truncation_case *c = &truncations[i];
            const char *cut = strchr(c->text, '#');
            char text[256];
            snprintf(text, sizeof text, "%.*s%s%s", (int)(cut - c->text), c->text, arrays[device], cut + 1);
            char *json = quoted(text);
            struct sutra_context *own = NEW_CONTEXT(.n_threads = 1, .device = SUTRA_DEVICE_CPU, .lenient = c->lenient);
            struct sutra_device_trace *events = NULL;
            struct sutra_host_trace *nodes = NULL;
            enum sutra_status status = device ? sutra_device_trace_parse(own, "t", json, strlen(json), &events, NULL)
                                              : sutra_host_trace_parse(own, "t", json, strlen(json), &nodes, NULL);
            assert_int_equal(status, SUTRA_OK);
            const struct document *document = device ? &events->document : &nodes->document;
            uint64_t at = c->at && c->at != 77 && device ? c->at + 8 : c->at;
            if (document->truncated != c->truncated || document->truncated_at != at)
                fail_msg("%s: truncated: %d, at byte %d", text, document->truncated, (int)document->truncated_at);
            sutra_device_trace_free(events);
            sutra_host_trace_free(nodes);
            sutra_context_free(own);
            free(json);
        }
}

/* ---- Damage of one byte ---- */

#define N_EVENTS 6

/* A trace as Kineto writes it. */
static size_t make_trace(char *text, size_t *starts) {
    size_t n = (size_t)sprintf(text, "{\n  \"schemaVersion\": 1,\n  \"traceEvents\": [");
    for (int i = 0; i < N_EVENTS; i++) {
        n += (size_t)sprintf(text + n, "%s\n  ", i ? "," : "");
        starts[i] = n;
        n += (size_t)sprintf(
            text + n,
            "{\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::add_%d\", \"pid\": 7, \"tid\": 7,\n"
            "    \"ts\": %d.125, \"dur\": 3,\n    \"args\": {\n      \"External id\": %d,\"Input type\": "
            "[\"float\", \"\"], \"kernel_file\": \"a.py\"\n    }\n  }",
            i, 10 * i, i);
    }
    starts[N_EVENTS] = n;
    return n + (size_t)sprintf(text + n, "\n  ],\n  \"traceName\": \"x.json\"\n}\n");
}

/* Each byte in turn is replaced by each of some: what comes out is JSON, and all events but the one that was hit, and
 * at most its neighbour, are there as they were. */
static void corrupt_byte_removes_at_most_two_events(void **state) {
    static const char damage[] = "\"\\\n,:{}[]x\x01\xff";
    char text[4096], broken[4096];
    size_t starts[N_EVENTS + 1], size = make_trace(text, starts);
    for (size_t at = starts[0]; at < starts[N_EVENTS]; at++)
        for (const char *with = damage; *with; with++) {
            struct text_repairs report;
            size_t length;
            memcpy(broken, text, size + 1);
            broken[at] = *with;
            char *repaired = repaired_text(broken, size, &report, &length);
            if (repaired && !is_json(repaired, length))
                fail_msg("byte %zu, now %c: %s", at, *with, repaired);
            int n_lost = 0;
            for (int i = 0; i < N_EVENTS && repaired; i++) {
                size_t n = starts[i + 1] - starts[i] - (i + 1 < N_EVENTS ? 4 : 0);
                n_lost += !memmem(repaired, length, text + starts[i], n);
            }
            if (n_lost > 2)
                fail_msg("byte %zu, now %c: %d events are lost: %s", at, *with, n_lost, repaired);
            text_repairs_free(&report);
            free(repaired);
        }
}

/* Each event needs several attempts: their number of bytes is limited, but not too small for this. */
static void brackets_of_all_events_may_be_missing(void **state) {
    const uint64_t n_events = 5000;
    struct buffer text = {0};
    struct text_repairs report;
    size_t length;
    buffer_append_text(&text, "{\"traceEvents\": [\n");
    for (uint64_t i = 0; i < n_events; i++) /* without the brace of the event, or without the brace of "args" */
        buffer_format(&text,
                      "%s{\"ph\": \"X\", \"name\": \"aten::add\", \"pid\": 7, \"args\": {\"External id\": %d, "
                      "\"shapes\": [[4, 4], []]%s\"ts\": %d.5%s",
                      i ? ",\n" : "", (int)i, i % 2 ? ", " : "}, ", (int)i, i % 2 ? "}" : "");
    buffer_append_text(&text, "\n]}");
    char *repaired = repaired_text(text.bytes, text.length, &report, &length);
    assert_non_null(repaired);
    assert_int_equal(report.n_elements, n_events);
    assert_int_equal(report.n[SUTRA_REPAIR_BRACKET], n_events);
    assert_int_equal(report.n_skipped_bytes, 0);
    text_repairs_free(&report);
    buffer_free(&text);
    free(repaired);
}

/* Cut off at each byte, all whole events are there. */
static void truncated_traces_keep_all_complete_events(void **state) {
    char text[4096], broken[4096];
    size_t starts[N_EVENTS + 1], size = make_trace(text, starts);
    for (size_t end = starts[1]; end < size; end++) {
        struct text_repairs report;
        size_t length, n_whole = 0;
        memcpy(broken, text, size);
        char *repaired = repaired_text(broken, end, &report, &length);
        assert_non_null(repaired);
        assert_true(is_json(repaired, length));
        while (n_whole < N_EVENTS && starts[n_whole + 1] - (n_whole + 1 < N_EVENTS ? 4 : 0) <= end)
            n_whole++;
        if (report.n_elements != n_whole)
            fail_msg("cut off at %zu: %d events, %zu are whole: %s", end, (int)report.n_elements, n_whole, repaired);
        text_repairs_free(&report);
        free(repaired);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed_text_is_repaired_and_counted),
        cmocka_unit_test(well_formed_text_is_unchanged),
        cmocka_unit_test(repair_offsets_are_bytes_of_the_input),
        cmocka_unit_test(lenient_readers_repair_and_strict_readers_name_the_remedy),
        cmocka_unit_test(lenient_host_reader_skips_nodes_without_a_number_as_id),
        cmocka_unit_test(readers_know_truncated_files),
        cmocka_unit_test(corrupt_byte_removes_at_most_two_events),
        cmocka_unit_test(brackets_of_all_events_may_be_missing),
        cmocka_unit_test(truncated_traces_keep_all_complete_events),
    };
    return cmocka_run_group_tests(tests, make_context, free_context);
}
