/*
 * trace_text.h - device and host traces of tests as text that names the fields of each event and node.
 *
 *     cpu_op aten::mm ts=10+5 'External id'=3; kernel gemm stream=7 ts=20+9 correlation=1
 *
 * is the same as
 *
 *     {"traceEvents":[
 *     {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":10,"dur":5,"args":{"External id":3}},
 *     {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":20,"dur":9,"args":{"stream":7,"correlation":1}}]}
 *
 * An event is a category, a name and fields; the category of names such as cudaLaunchKernel is cuda_runtime. ts=10+5
 * is a start and a duration. By default, an event with a stream has pid 0 and the stream as its tid, another event has
 * pid 1 and tid 1; `tid=` omits the field. Fields other than ph, id, pid, tid, ts and dur are args. Names with spaces
 * are written in '...'. A value is JSON with ' for " if it begins like a number, a list or an object, or is true, false
 * or null; other values are strings.
 *
 * Instead of an event, JSON with ' for " is an event, and 'key':value a member of the trace.
 *
 *     'schemaVersion':1; {'ph':'M','name':'process_name'}; cpu_op aten::mm ts=10+5
 *
 * A node of a host trace is an id, a name and fields; its parent is 1 by default, and its id is its input. Fields other
 * than ctrl_deps are attributes. Without members, the trace has schema 1.1.1 and pid 1.
 *
 *     1 root; 2 aten::mm rf_id=7; 3 aten::add ctrl_deps=2 rf_id=8
 *
 * In schema 1.0.1, nodes have a parent instead of ctrl_deps, tid 1 by default, and no attributes but fields.
 *
 *     'schema':'1.0.1'; 1 root; 2 aten::mm rf_id=7; 3 aten::add parent=2 tid=5
 */
#ifndef TESTS_TRACE_TEXT_H
#define TESTS_TRACE_TEXT_H

#include <ctype.h>
#include <stdbool.h>

#include "sutra/sutra.h"
#include "unit.h"

/* The end of a word: one of `ends` outside of quotes and brackets, or the end of the text. */
static inline const char *word_end(const char *at, const char *ends) {
    bool in_quotes = false;
    for (int depth = 0; *at && (in_quotes || depth || !strchr(ends, *at)); at++) {
        in_quotes ^= *at == '\'';
        depth += in_quotes ? 0 : (*at == '[' || *at == '{') - (*at == ']' || *at == '}');
    }
    return at;
}

/* Writes a word as a JSON value. */
static inline void write_value(FILE *out, const char *word, size_t length) {
    static const char *const constants[] = {"true", "false", "null"};
    bool is_json = length && (isdigit((unsigned char)*word) || strchr("-[{", *word));
    for (size_t i = 0; i < 3; i++)
        is_json |= length == strlen(constants[i]) && memcmp(word, constants[i], length) == 0;
    const bool is_quoted = length > 1 && *word == '\'';
    word += is_quoted;
    length -= 2 * is_quoted;
    fputs(is_json ? "" : "\"", out);
    for (size_t i = 0; i < length; i++)
        fputc(is_json && word[i] == '\'' ? '"' : word[i], out);
    fputs(is_json ? "" : "\"", out);
}

struct field {
    const char *key, *value;
    size_t key_length, length; /* of the key, and of the value */
};

static inline bool has_key(const struct field *field, const char *key) {
    return field->key_length == strlen(key) && memcmp(field->key, key, field->key_length) == 0;
}

/* The next field of an event; false at its end. A category and a name are fields without a key. */
static inline bool next_field(const char **at, struct field *field) {
    const char *begin = *at + strspn(*at, " "), *end = word_end(begin, " ;"), *equals = word_end(begin, "= ;");
    const bool has_key = *equals == '=';
    *field = (struct field){begin, has_key ? equals + 1 : begin, has_key ? (size_t)(equals - begin) : 0, 0};
    field->length = (size_t)(end - field->value);
    *at = end;
    return begin < end;
}

/* Writes a member of an event: the field of this key, or else the fallback if there is one. */
static inline void write_member(FILE *out, const char *event, const char *key, const char *fallback) {
    struct field field, member = {.value = fallback, .length = fallback ? strcspn(fallback, " ;") : 0};
    while (next_field(&event, &field))
        if (has_key(&field, key))
            member = field;
    const char *plus = member.length && strcmp(key, "ts") == 0 ? memchr(member.value, '+', member.length) : NULL;
    if (member.length)
        fprintf(out, ",\"%s\":", key);
    if (member.length)
        write_value(out, member.value, plus ? (size_t)(plus - member.value) : member.length);
    if (plus)
        fprintf(out, ",\"dur\":%.*s", (int)(member.value + member.length - plus) - 1, plus + 1);
}

/* Writes an event in the short form. */
static inline void write_event(FILE *out, const char *event) {
    static const char *const members[] = {"ph", "id", "pid", "tid", "ts", "dur"};
    const char *at = event, *stream = NULL;
    const bool is_call = strncmp(event, "cuda", 4) == 0 && isupper((unsigned char)event[4]);
    const int n_names = is_call ? 1 : 2;
    struct field field;
    fputs(is_call ? "{\"cat\":\"cuda_runtime\"" : "{\"cat\":", out);
    for (int i = 0; next_field(&at, &field); i++) {
        if (i < n_names) {
            fputs(is_call || i ? ",\"name\":" : "", out);
            write_value(out, field.value, field.length);
        } else if (has_key(&field, "stream")) {
            stream = field.value;
        }
    }
    write_member(out, event, "ph", "X");
    write_member(out, event, "id", NULL);
    write_member(out, event, "pid", stream ? "0" : "1");
    write_member(out, event, "tid", stream ? stream : "1");
    write_member(out, event, "ts", NULL);
    write_member(out, event, "dur", NULL);
    fputs(",\"args\":{", out);
    at = event;
    for (int i = 0, n = 0; next_field(&at, &field); i++) {
        bool is_member = i < n_names;
        for (size_t k = 0; k < sizeof members / sizeof *members; k++)
            is_member |= has_key(&field, members[k]);
        if (is_member)
            continue;
        fputs(n++ ? "," : "", out);
        write_value(out, field.key, field.key_length);
        fputc(':', out);
        write_value(out, field.value, field.length);
    }
    fputs("}}", out);
}

/* Writes the beginning of a node, up to its name; returns the position of its fields. */
static inline const char *write_id_and_name(FILE *out, const char *node) {
    const char *at = node;
    struct field id, name;
    next_field(&at, &id);
    assert_true(next_field(&at, &name));
    fputs("{\"id\":", out);
    write_value(out, id.value, id.length);
    fputs(",\"name\":", out);
    write_value(out, name.value, name.length);
    return at;
}

static inline void write_node(FILE *out, const char *node) {
    const char *at = write_id_and_name(out, node);
    struct field field;
    write_member(out, node, "ctrl_deps", "1");
    fprintf(out, ",\"inputs\":{\"values\":[%.*s],\"shapes\":[[]],\"types\":[\"Int\"]}", (int)strcspn(node, " "), node);
    fputs(",\"outputs\":{\"values\":[],\"shapes\":[],\"types\":[]},\"attrs\":[", out);
    for (int n = 0; next_field(&at, &field);) {
        if (has_key(&field, "ctrl_deps"))
            continue;
        fprintf(out, "%s{\"name\":\"%.*s\",\"type\":\"uint64\",\"value\":", n++ ? "," : "", (int)field.key_length,
                field.key);
        write_value(out, field.value, field.length);
        fputc('}', out);
    }
    fputs("]}", out);
}

/* A node of schema 1.0.1. */
static inline void write_flat_node(FILE *out, const char *node) {
    const char *at = write_id_and_name(out, node);
    struct field field;
    write_member(out, node, "parent", "1");
    write_member(out, node, "tid", "1");
    fprintf(out, ",\"inputs\":[%.*s],\"input_shapes\":[],\"input_types\":[]", (int)strcspn(node, " "), node);
    fputs(",\"outputs\":[],\"output_shapes\":[],\"output_types\":[]", out);
    while (next_field(&at, &field)) {
        if (has_key(&field, "parent") || has_key(&field, "tid"))
            continue;
        fprintf(out, ",\"%.*s\":", (int)field.key_length, field.key);
        write_value(out, field.value, field.length);
    }
    fputc('}', out);
}

static inline void write_json(FILE *out, const char *text, const char *end) {
    for (; text < end; text++)
        fputc(*text == '\'' ? '"' : *text, out);
}

/* An object of the members before the first element, and of a list of all elements. */
static inline char *json_of_list(const char *text, const char *list, void (*write_element)(FILE *, const char *)) {
    char *json = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&json, &n);
    assert_non_null(out);
    fputc('{', out);
    for (const char *end; *text == '\''; text = end + strspn(end, "; \n")) {
        end = word_end(text, ";");
        write_json(out, text, end);
        fputc(',', out);
    }
    fprintf(out, "\"%s\":[", list);
    for (const char *end; *text; text = end + strspn(end, "; \n")) {
        end = word_end(text, ";");
        if (*text == '{')
            write_json(out, text, end);
        else
            write_element(out, text);
        fputs(end[strspn(end, "; \n")] ? ",\n" : "", out);
    }
    fputs("]}", out);
    assert_int_equal(fclose(out), 0);
    return json;
}

/* The device trace as JSON, which the caller frees; {"... is JSON already, {...'traceEvents'... is JSON with ' for ". */
static inline char *trace_json(const char *text) {
    if (strncmp(text, "{\"", 2) == 0)
        return strdup(text);
    if (*text == '{' && strstr(text, "'traceEvents'"))
        return double_quotes(text);
    return json_of_list(text, "traceEvents", write_event);
}

/* The host trace as JSON, which the caller frees; {... is JSON with ' for ". */
static inline char *host_json(const char *text) {
    if (text[strspn(text, " ")] == '{')
        return double_quotes(text);
    if (*text == '\'')
        return json_of_list(text, "nodes", strstr(text, "'schema':'1.0.1'") ? write_flat_node : write_node);
    char *with_schema;
    assert_true(asprintf(&with_schema, "'schema':'1.1.1-chakra.0.0.4'; 'pid':1; %s", text) > 0);
    char *json = json_of_list(with_schema, "nodes", write_node);
    free(with_schema);
    return json;
}

static inline struct sutra_device_trace *parse_trace(struct sutra_context *reader, const char *text) {
    char *json = trace_json(text);
    struct sutra_device_trace *trace = NULL;
    struct sutra_error error;
    if (sutra_device_trace_parse(reader, "trace", json, strlen(json), &trace, &error))
        fail_msg("%s", error.message);
    free(json);
    return trace;
}

#endif
