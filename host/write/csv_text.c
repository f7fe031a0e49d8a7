/*
 * csv_text.c - values in CSV as pandas writes them.
 */
#include "write/csv_text.h"

#include <math.h>

#include "text/digits.h"
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
