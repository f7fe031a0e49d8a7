/*
 * text_out.c - text that is handed to a sink piece by piece.
 */
#include "write/text_out.h"

#include <stdarg.h>
#include <stdio.h>

#include "text/number_text.h"
#include "text/string_text.h"
#include "text/visible.h"

void out_flush(struct text_out *text) {
    sink_write(text->sink, text->n_pieces++, text->out.bytes, text->out.length);
    text->out.length = 0;
}

void out_integer(struct text_out *text, int64_t value) {
    char *to = buffer_reserve(&text->out, NUMBER_TEXT_MAX);
    if (to)
        text->out.length += integer_format(value, to);
}

void out_number(struct text_out *text, double value) {
    char *to = buffer_reserve(&text->out, NUMBER_TEXT_MAX);
    if (to)
        text->out.length += double_format(value, to);
}

void out_string(struct text_out *text, const char *bytes, size_t n) {
    char *to = buffer_reserve(&text->out, 6 * n + 66);
    if (!to)
        return;
    size_t written = string_encode(bytes, n, to + 1);
    to[0] = to[written + 1] = '"';
    text->out.length += written + 2;
}

void out_format(struct text_out *text, const char *format, ...) {
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    out_add(text, line);
}

void out_name(struct text_out *text, const char *name, size_t n) {
    struct visible visible = {0};
    for (size_t i = 0; i < n; i++) {
        char *to = buffer_reserve(&text->out, VISIBLE_MAX);
        if (!to)
            return;
        text->out.length += visible_put(&visible, name[i], to);
    }
}
