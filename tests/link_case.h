/*
 * link_case.h - links a pair of traces that a test writes as text, and shows selected fields of the ET+.
 *
 * Traces are written as in trace_text.h. Results are one line: for each node the values of some fields, with "; "
 * between nodes:
 *
 *     nodes_show(outcome.text, "id name ts")  ->  "0 root -; 1 aten::mm 10; 2 gemm 15"
 *
 * Strings are shown without quotes; - is a field that a node does not have.
 */
#ifndef TESTS_LINK_CASE_H
#define TESTS_LINK_CASE_H

#include "sutra/sutra.h"
#include "trace_text.h"
#include "unit.h"

enum case_flag { CASE_STRICT = 1, CASE_LENIENT = 2, CASE_SYNC = 4, CASE_ANY_LAUNCH = 8 };

struct outcome {
    enum sutra_status status;
    struct sutra_error error;
    struct sutra_link_report report;
    char *text;          /* ET+ without white space; NULL after a failure */
    char warnings[4000]; /* a line each */
};

static inline void note_warning(void *arg, const char *message) {
    struct outcome *outcome = arg;
    size_t n = strlen(outcome->warnings);
    snprintf(outcome->warnings + n, sizeof outcome->warnings - n, "%s\n", message);
}

/* Removes white space outside of strings. */
static inline void squeeze(char *text) {
    char *to = text;
    bool in_string = false;
    for (char *at = text; *at; at++) {
        if (*at == '"')
            in_string = !in_string;
        if (in_string && *at == '\\')
            *to++ = *at++;
        if (in_string || (*at != ' ' && *at != '\n'))
            *to++ = *at;
    }
    *to = 0;
}

/* The text that is written, with its white space. The caller frees it. */
static inline char *linked_text(struct sutra_context *context, const struct sutra_linked *linked,
                                struct sutra_error *error) {
    char path[] = P_tmpdir "/sutra_case_XXXXXX";
    make_temp_file(path, "");
    uint64_t n_bytes = 0;
    enum sutra_status status = sutra_linked_write(context, linked, path, &n_bytes, error);
    char *text = status ? NULL : file_text(path, NULL);
    unlink(path);
    if (text)
        assert_int_equal(strlen(text), n_bytes);
    return text;
}

/* Links two texts of given sizes, in which ' is '. */
static inline struct outcome link_bytes(const char *host, size_t host_size, const char *device, size_t device_size,
                                        unsigned flags) {
    struct outcome outcome = {0};
    struct sutra_host_trace *host_trace = NULL;
    struct sutra_device_trace *device_trace = NULL;
    struct sutra_linked *linked = NULL;
    struct sutra_link_options link_options = {.size = sizeof link_options,
                                              .match = SUTRA_MATCH_IDS,
                                              .no_sync = !(flags & CASE_SYNC),
                                              .any_launch = (flags & CASE_ANY_LAUNCH) != 0};
    struct sutra_context *context =
        NEW_CONTEXT(.n_threads = 2, .strict = flags & CASE_STRICT, .lenient = (flags & CASE_LENIENT) != 0,
                    .warning = note_warning, .arg = &outcome);
    outcome.status = sutra_host_trace_parse(context, "host", host, host_size, &host_trace, &outcome.error);
    if (!outcome.status)
        outcome.status =
            sutra_device_trace_parse(context, "device", device, device_size, &device_trace, &outcome.error);
    if (!outcome.status)
        outcome.status = sutra_link(context, host_trace, device_trace, &link_options, &linked, &outcome.error);
    if (!outcome.status) {
        outcome.report.size = sizeof outcome.report;
        sutra_linked_report(linked, &outcome.report);
        outcome.text = linked_text(context, linked, &outcome.error);
        assert_non_null(outcome.text);
        squeeze(outcome.text);
    }
    sutra_linked_free(linked);
    sutra_device_trace_free(device_trace);
    sutra_host_trace_free(host_trace);
    sutra_context_free(context);
    return outcome;
}

/* Links two texts: as in trace_text.h, or JSON with ' for ". */
static inline struct outcome link_texts(const char *host, const char *device, unsigned flags) {
    char *host_text = host_json(host), *device_text = trace_json(device);
    struct outcome outcome = link_bytes(host_text, strlen(host_text), device_text, strlen(device_text), flags);
    free(host_text);
    free(device_text);
    return outcome;
}

/* The end of the value at `at` in text without white space. */
static inline const char *value_end(const char *at) {
    size_t depth = 0;
    bool in_string = false;
    for (;; at++) {
        if (in_string && *at == '\\')
            at++;
        else if (*at == '"')
            in_string = !in_string;
        else if (!in_string && (*at == '{' || *at == '['))
            depth++;
        else if (!in_string && depth == 0 && strchr(",]}", *at))
            return at;
        else if (!in_string && (*at == '}' || *at == ']'))
            depth--;
    }
}

/* The value of a node's field; NULL: it has none. */
static inline const char *member_of(const char *node, const char *field, size_t length) {
    for (const char *at = node + 1; *at == '"';) {
        const char *key = at + 1, *value = strchr(key, '"') + 2;
        if ((size_t)(value - 2 - key) == length && memcmp(key, field, length) == 0)
            return value;
        at = value_end(value);
        at += *at == ',';
    }
    return NULL;
}

/* See above. "nodes" must be a member of the outermost object. The caller frees the line. */
static inline char *nodes_show(const char *text, const char *fields) {
    char *line = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&line, &n);
    assert_non_null(out);
    const char *node = strstr(text, "\"nodes\":[");
    assert_non_null(node);
    for (node += strlen("\"nodes\":["); *node == '{'; node += *node == ',') {
        for (const char *field = fields; *field;) {
            size_t length = strcspn(field, " ");
            const char *value = member_of(node, field, length);
            const char *end = value ? value_end(value) : NULL;
            if (!value)
                fputc('-', out);
            else if (*value == '"')
                fwrite(value + 1, 1, (size_t)(end - value) - 2, out);
            else
                fwrite(value, 1, (size_t)(end - value), out);
            field += length + (field[length] == ' ');
            fputs(*field ? " " : "", out);
        }
        node = value_end(node);
        fputs(*node == ',' ? "; " : "", out);
    }
    fclose(out);
    return line;
}

/* One row of a table of rules: the fields of all nodes that a pair's ET+ must have. */
struct rule_case {
    const char *what, *host, *device, *fields, *expected;
};

static inline void check_rules(const struct rule_case *cases, size_t n) {
    for (size_t i = 0; i < n; i++) {
        struct outcome outcome = link_texts(cases[i].host, cases[i].device, 0);
        if (outcome.status)
            fail_msg("%s: %s", cases[i].what, outcome.error.message);
        char *line = nodes_show(outcome.text, cases[i].fields);
        if (strcmp(line, cases[i].expected))
            fail_msg("%s:\n  %s, expected\n  %s", cases[i].what, line, cases[i].expected);
        free(line);
        free(outcome.text);
    }
}

#endif
