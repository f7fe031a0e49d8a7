/*
 * json.c - JSON of our own making.
 */
#include <stdint.h>
#include <string.h>

#include "write/json.h"

/* Length of the UTF-8 sequence at `text` and its code point; 0 where there is none. Lone surrogates count as one. */
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

static void print_code(FILE *file, uint32_t code) {
    if (code == '"' || code == '\\')
        fprintf(file, "\\%c", (char)code);
    else if (code >= ' ' && code < 0x7f)
        putc((int)code, file);
    else if (code < 0x10000)
        fprintf(file, "\\u%04x", code);
    else
        fprintf(file, "\\u%04x\\u%04x", 0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
}

void json_string_print(FILE *file, const char *text) {
    putc('"', file);
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        uint32_t code;
        unsigned length = decode(at, &code);
        print_code(file, length ? code : 0xdc00u + *at);
        at += length ? length : 1;
    }
    putc('"', file);
}

static void line(struct json_out *json) {
    static const char spaces[] = "                                ";
    size_t n = json->depth * (size_t)json->indent;
    out_add(json->text, "\n");
    for (; n >= sizeof spaces - 1; n -= sizeof spaces - 1)
        buffer_append(&json->text->out, spaces, sizeof spaces - 1);
    buffer_append(&json->text->out, spaces, n);
}

/* What stands before an element: nothing behind a key, else a comma and a new line. */
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
