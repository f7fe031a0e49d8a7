/*
 * csv_text.c - values in CSV as pandas writes them.
 */
#include "write/csv_text.h"

#include <math.h>

/* Whether it has to stand in quotes. */
static bool is_quoted(const char *bytes, size_t length) {
    return memchr(bytes, ',', length) || memchr(bytes, '"', length) || memchr(bytes, '\n', length) ||
           memchr(bytes, '\r', length);
}

void csv_text(struct text_out *text, const char *bytes, size_t length) {
    const char *end = bytes + length, *quote;
    if (!is_quoted(bytes, length)) {
        buffer_append(&text->out, bytes, length);
        return;
    }
    out_add(text, "\"");
    for (; (quote = memchr(bytes, '"', (size_t)(end - bytes))); bytes = quote + 1) {
        buffer_append(&text->out, bytes, (size_t)(quote + 1 - bytes));
        out_add(text, "\"");
    }
    buffer_append(&text->out, bytes, (size_t)(end - bytes));
    out_add(text, "\"");
}

void csv_real(struct text_out *text, double value) {
    if (isinf(value))
        out_add(text, value < 0 ? "-inf" : "inf");
    else if (!isnan(value))
        out_number(text, value);
}
