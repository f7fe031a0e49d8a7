/*
 * text_out.h - text that is handed to a sink piece by piece, so that memory does not grow with it.
 *
 * Out of memory sets `out.failed`, which the writer looks at once, at the end.
 */
#ifndef WRITE_TEXT_OUT_H
#define WRITE_TEXT_OUT_H

#include <string.h>

#include "base/buffer.h"
#include "write/sink.h"

struct text_out {
    struct sink *sink;
    struct buffer out;
    size_t n_pieces;
};

void out_flush(struct text_out *text);
void out_integer(struct text_out *text, int64_t value);
void out_number(struct text_out *text, double value);                /* as Python writes it */
void out_string(struct text_out *text, const char *bytes, size_t n); /* a decoded string, as JSON with its quotes */
__attribute__((format(printf, 2, 3))) void out_format(struct text_out *text, const char *format, ...);

/* Here, so that the length of a literal is known when this is compiled. */
static inline void out_add(struct text_out *text, const char *string) {
    buffer_append(&text->out, string, strlen(string));
}

/* A name as people may see it: visible.h. */
void out_name(struct text_out *text, const char *name, size_t n);

/* Hands what there is to the sink once it is enough for a piece. */
static inline void out_step(struct text_out *text) {
    if (text->out.length > (1 << 20))
        out_flush(text);
}

#endif
