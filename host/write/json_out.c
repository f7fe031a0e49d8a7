/*
 * json_out.c - JSON of our own making.
 */
#include "write/json_out.h"

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
