/*
 * csv_text.c - values in CSV as pandas writes them.
 */
#include "write/csv_text.h"

#include <math.h>

#include "text/visible.h"

/* Whether it has to stand in quotes. */
static bool is_quoted(const char *bytes, size_t length) {
    return memchr(bytes, ',', length) || memchr(bytes, '"', length) || memchr(bytes, '\n', length) ||
           memchr(bytes, '\r', length);
}

static void add_text(struct text_out *text, const char *prefix, const char *bytes, size_t length) {
    const char *end = bytes + length, *quote;
    bool quoted = is_quoted(bytes, length);
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

void csv_safe_text(struct text_out *text, const char *bytes, size_t length) {
    add_text(text, length > 0 && memchr("=+-@\t\r", bytes[0], 6) ? "'" : "", bytes, length);
}

void csv_real(struct text_out *text, double value) {
    if (isinf(value))
        out_add(text, value < 0 ? "-inf" : "inf");
    else if (!isnan(value))
        out_number(text, value);
}
