/*
 * text.c - implements text.h.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "text/numbers.h"
#include "text/strings.h"
#include "write/text.h"

enum sutra_status text_file_write(struct sutra_context *context, const char *path,
                                  bool (*write)(const void *of, struct text_out *text), const void *of,
                                  uint64_t *n_bytes, struct sutra_error *error) {
    struct text_out text = {0};
    enum sutra_status status = sink_open(&text.sink, context, path, error);
    if (!status) {
        bool complete = write(of, &text) && !text.out.failed;
        out_flush(&text);
        status = sink_close(text.sink, complete, n_bytes, error);
        if (!status && !complete)
            status = error_memory(error);
    }
    buffer_free(&text.out);
    return status;
}

enum sutra_status text_file_write_in(struct sutra_context *context, const char *folder, const char *name,
                                     bool (*write)(const void *of, struct text_out *text), const void *of,
                                     uint64_t *n_bytes, struct sutra_error *error) {
    char *path = NULL;
    uint64_t n_written = 0;
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return error_memory(error);
    enum sutra_status status = text_file_write(context, path, write, of, &n_written, error);
    *n_bytes += n_written;
    free(path);
    return status;
}

/* ---- CSV ---- */

static void add_text(struct text_out *text, const char *prefix, const char *bytes, size_t length) {
    const char *end = bytes + length, *quote;
    bool quoted = memchr(bytes, ',', length) || memchr(bytes, '"', length) || memchr(bytes, '\n', length) ||
                  memchr(bytes, '\r', length);
    out_add(text, quoted ? "\"" : "");
    out_add(text, prefix);
    for (; quoted && (quote = memchr(bytes, '"', (size_t)(end - bytes))); bytes = quote + 1) {
        visible_append_utf8(&text->out, bytes, (size_t)(quote + 1 - bytes));
        out_add(text, "\"");
    }
    visible_append_utf8(&text->out, bytes, (size_t)(end - bytes));
    out_add(text, quoted ? "\"" : "");
}

void csv_text(struct text_out *text, const char *bytes, size_t length) {
    add_text(text, "", bytes, length);
}

/* A sign and digits with at most one point: a spreadsheet reads such a text as a number. */
static bool is_signed_number(const char *bytes, size_t length) {
    size_t n_digits = 0, n_points = 0;
    for (size_t i = 1; i < length; i++) {
        n_digits += is_digit(bytes[i]);
        n_points += bytes[i] == '.';
    }
    return (bytes[0] == '-' || bytes[0] == '+') && n_digits > 0 && n_points <= 1 && n_digits + n_points == length - 1;
}

void csv_safe_text(struct text_out *text, const char *bytes, size_t length) {
    bool is_formula = length > 0 && memchr("=+-@\t\r", bytes[0], 6) && !is_signed_number(bytes, length);
    add_text(text, is_formula ? "'" : "", bytes, length);
}

void csv_real(struct text_out *text, double value) {
    if (isinf(value))
        out_add(text, value < 0 ? "-inf" : "inf");
    else if (!isnan(value))
        out_number(text, value);
}

void out_flush(struct text_out *text) {
    if (text->file)
        fwrite(text->out.bytes, 1, text->out.length, text->file);
    else if (text->sink)
        sink_write(text->sink, text->n_pieces++, text->out.bytes, text->out.length);
    else
        return;
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
    va_list arguments;
    va_start(arguments, format);
    buffer_vformat(&text->out, format, arguments);
    va_end(arguments);
}

void out_name(struct text_out *text, const char *name, size_t n) {
    struct visible visible = {0};
    for (size_t i = 0; i < n; i++) {
        char *to = buffer_reserve(&text->out, VISIBLE_MAX);
        if (!to)
            return;
        text->out.length += visible_append(&visible, name[i], to);
    }
}
