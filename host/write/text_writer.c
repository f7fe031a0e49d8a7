/*
 * text_writer.c - numbers and strings as Python's json module writes them, appended to the text at hand.
 */
#include "write/text_writer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "text/number_text.h"
#include "text/string_text.h"

enum sutra_status text_writer_to_file(struct sutra_context *context, const char *path,
                                      bool (*write)(const void *of, struct text_writer *text), const void *of,
                                      uint64_t *n_bytes, struct sutra_error *error) {
    struct text_writer text = {0};
    enum sutra_status status = sink_open(&text.sink, context, path, error);
    if (!status) {
        bool whole = write(of, &text) && !text.out.failed;
        text_writer_flush(&text);
        status = sink_close(text.sink, whole, n_bytes, error);
        if (!status && !whole)
            status = error_memory(error);
    }
    buffer_free(&text.out);
    return status;
}

void text_writer_flush(struct text_writer *text) {
    sink_write(text->sink, text->n_pieces++, text->out.bytes, text->out.length);
    text->out.length = 0;
}

void text_writer_add(struct text_writer *text, const char *string) {
    buffer_append(&text->out, string, strlen(string));
}

void text_writer_integer(struct text_writer *text, int64_t value) {
    char *to = buffer_reserve(&text->out, NUMBER_TEXT_MAX);
    if (to)
        text->out.length += integer_format(value, to);
}

void text_writer_number(struct text_writer *text, double value) {
    char *to = buffer_reserve(&text->out, NUMBER_TEXT_MAX);
    if (to)
        text->out.length += double_format(value, to);
}

void text_writer_bytes(struct text_writer *text, const char *bytes, size_t n) {
    char *to = buffer_reserve(&text->out, 6 * n + 66);
    if (!to)
        return;
    size_t written = string_encode(bytes, n, to + 1);
    to[0] = to[written + 1] = '"';
    text->out.length += written + 2;
}

void text_writer_format(struct text_writer *text, const char *format, ...) {
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    text_writer_add(text, line);
}
