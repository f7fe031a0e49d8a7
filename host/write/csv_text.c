/*
 * csv_text.c - values in CSV as pandas writes them.
 */
#include "write/csv_text.h"

#include <math.h>

void csv_text(struct text_out *text, const char *bytes, size_t length) {
    bool quoted = false;
    for (size_t i = 0; i < length && !quoted; i++)
        quoted = bytes[i] == ',' || bytes[i] == '"' || bytes[i] == '\n' || bytes[i] == '\r';
    if (!quoted) {
        buffer_append(&text->out, bytes, length);
        return;
    }
    out_add(text, "\"");
    for (size_t i = 0; i < length; i++)
        buffer_append(&text->out, bytes[i] == '"' ? "\"\"" : &bytes[i], bytes[i] == '"' ? 2 : 1);
    out_add(text, "\"");
}

void csv_real(struct text_out *text, double value) {
    if (isinf(value))
        out_add(text, value < 0 ? "-inf" : "inf");
    else if (!isnan(value))
        out_number(text, value);
}
