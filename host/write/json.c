/*
 * json.c - implements json.h.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "facts/validity.h"
#include "write/json.h"

/* Length of the UTF-8 sequence at `text` and its code point; 0: invalid. Lone surrogates are valid. */
static unsigned decode(const unsigned char *text, uint32_t *code) {
    static const struct {
        unsigned char mask, lead;
        uint32_t smallest;
    } forms[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    for (unsigned n = 1; n <= 4; n++) {
        if ((*text & forms[n - 1].mask) != forms[n - 1].lead)
            continue;
        *code = *text & (unsigned char)~forms[n - 1].mask;
        for (unsigned i = 1; i < n; i++) {
            if ((text[i] & 0xc0) != 0x80)
                return 0;
            *code = *code << 6 | (text[i] & 0x3f);
        }
        return *code >= forms[n - 1].smallest && *code <= 0x10ffff ? n : 0;
    }
    return 0;
}

static void line(struct json_out *json) {
    static const char spaces[] = "                                ";
    size_t n = json->depth * (size_t)json->indent;
    out_add(json->text, "\n");
    for (; n >= sizeof spaces - 1; n -= sizeof spaces - 1)
        buffer_append(&json->text->out, spaces, sizeof spaces - 1);
    buffer_append(&json->text->out, spaces, n);
}

/* Writes the text before an element: nothing after a key, else a comma and a new line. */
static void begin_element(struct json_out *json) {
    if (!json->after_key) {
        if (json->begun)
            out_add(json->text, json->indent < 0 ? ", " : ",");
        if (json->depth > 0 && json->indent >= 0)
            line(json);
    }
    json->begun = true;
    json->after_key = false;
    out_step(json->text);
}

void json_open(struct json_out *json, char bracket) {
    begin_element(json);
    buffer_append(&json->text->out, &bracket, 1);
    json->depth++;
    json->begun = false;
}

void json_close(struct json_out *json, char bracket) {
    json->depth--;
    if (json->begun && json->indent >= 0)
        line(json);
    buffer_append(&json->text->out, &bracket, 1);
    json->begun = true;
}

void json_key(struct json_out *json, const char *key, size_t length) {
    begin_element(json);
    out_string(json->text, key, length);
    out_add(json->text, ": ");
    json->after_key = true;
}

void json_string(struct json_out *json, const char *bytes, size_t length) {
    begin_element(json);
    out_string(json->text, bytes, length);
}

void json_double(struct json_out *json, double value) {
    begin_element(json);
    out_number(json->text, value);
}

void json_integer(struct json_out *json, int64_t value) {
    begin_element(json);
    out_integer(json->text, value);
}

void json_number(struct json_out *json, struct number number) {
    if (number_is_double(number))
        json_double(json, number_as_double(number));
    else
        json_integer(json, (int64_t)number.bits);
}

void json_literal(struct json_out *json, const char *text, size_t length) {
    begin_element(json);
    buffer_append(&json->text->out, text, length);
}

void json_list(struct json_out *json, const char *text) {
    while (*text) {
        size_t n = 1;
        if (*text == '[') {
            json_open(json, '[');
        } else if (*text == ']') {
            json_close(json, ']');
        } else if (*text != ',' && *text != ' ') {
            bool quoted = *text == '"';
            while (quoted ? text[n] != '"' : !strchr(",]", text[n]))
                n += quoted && text[n] == '\\' ? 2 : 1;
            n += quoted;
            json_literal(json, text, n);
        }
        text += n;
    }
}

void json_cstring(struct json_out *json, const char *text) {
    struct text_out *out = json->text;
    begin_element(json);
    if (!text) {
        out_add(out, "null");
        return;
    }
    out_add(out, "\"");
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        uint32_t code;
        unsigned length = decode(at, &code);
        code = length ? code : 0xdc00u + *at;
        if (code >= ' ' && code < 0x7f && code != '"' && code != '\\')
            buffer_append(&out->out, (const char *)at, 1);
        else if (code == '"' || code == '\\')
            out_format(out, "\\%c", (char)code);
        else if (code < 0x10000)
            out_format(out, "\\u%04x", code);
        else
            out_format(out, "\\u%04x\\u%04x", 0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
        at += length ? length : 1;
    }
    out_add(out, "\"");
}

void json_cstring_key(struct json_out *json, const char *key) {
    json_cstring(json, key);
    out_add(json->text, ": ");
    json->after_key = true;
}

static void append_format(struct json_out *json, const char *format, va_list arguments) {
    begin_element(json);
    buffer_vformat(&json->text->out, format, arguments);
}

void json_format(struct json_out *json, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    append_format(json, format, arguments);
    va_end(arguments);
}

void json_open_line(struct json_out *json) {
    json_open(json, '{');
    if (json->n_lines++ == 0)
        json->outer_indent = json->indent;
    json->indent = JSON_ONE_LINE;
}

void json_close_line(struct json_out *json) {
    json_close(json, '}');
    if (--json->n_lines == 0)
        json->indent = json->outer_indent;
}

void json_add_open(struct json_out *json, const char *name, char bracket) {
    json_key(json, name, strlen(name));
    json_open(json, bracket);
}

void json_add_text(struct json_out *json, const char *name, const char *text) {
    json_key(json, name, strlen(name));
    json_cstring(json, text);
}

void json_add_count(struct json_out *json, const char *name, uint64_t count) {
    json_add_format(json, name, "%" PRIu64, count);
}

void json_add_format(struct json_out *json, const char *name, const char *format, ...) {
    va_list arguments;
    json_key(json, name, strlen(name));
    va_start(arguments, format);
    append_format(json, format, arguments);
    va_end(arguments);
}

void json_add_string(struct json_out *json, const char *name, const char *text) {
    json_key(json, name, strlen(name));
    json_string(json, text, strlen(text));
}

void json_add_integer(struct json_out *json, const char *name, int64_t value) {
    json_key(json, name, strlen(name));
    json_integer(json, value);
}

void json_add_double(struct json_out *json, const char *name, double value) {
    json_key(json, name, strlen(name));
    json_double(json, value);
}

void json_add_real(struct json_out *json, const char *name, int n_digits, double value) {
    if (isfinite(value))
        json_add_format(json, name, "%.*g", n_digits, value);
    else
        json_add_text(json, name, NULL);
}

void json_add_counts(struct json_out *json, const char *name, const struct sutra_count *counts, uint64_t n) {
    json_add_open(json, name, '{');
    for (uint64_t i = 0; i < n; i++) {
        json_cstring_key(json, counts[i].name);
        json_format(json, "%" PRIu64, counts[i].count);
    }
    json_close(json, '}');
}

void json_add_defect(struct json_out *json, const struct sutra_trace_defect *defect) {
    json_open_line(json);
    json_add_text(json, "defect", defect->name);
    json_add_count(json, "count", defect->count);
    json_add_count(json, "of", defect->of);
    json_add_real(json, "largest_us", 17, defect->largest_us);
    json_add_text(json, "example", defect->example);
    if (*defect->cause)
        json_add_text(json, "cause", defect->cause);
    json_add_text(json, "effect", defect->effect);
    json_close_line(json);
}

void json_add_defects(struct json_out *json, const struct trace_validity *validity) {
    json_add_open(json, "validity", '[');
    for (int kind = 0; kind < N_DEFECTS; kind++) {
        const struct sutra_trace_defect defect =
            defect_publish(&validity->defects[kind], (enum trace_defect_kind)kind, "");
        if (defect.count)
            json_add_defect(json, &defect);
    }
    json_close(json, ']');
}

void json_close_lines(struct json_out *json, char bracket) {
    json->begun = true;
    json_close(json, bracket);
}

void json_break(struct json_out *json, int n) {
    out_format(json->text, "%s\n%*s", json->begun ? "," : "", n, "");
    json->begun = false;
}

bool json_end(struct json_out *json) {
    struct text_out *text = json->text;
    out_add(text, "\n");
    bool complete = !text->out.failed;
    if (complete)
        out_flush(text);
    buffer_free(&text->out);
    return complete;
}
