/*
 * text.h - writes text to a sink or a stream in pieces, so that memory does not grow with the text.
 *
 * Out of memory sets `out.failed`, which the writer checks once, at the end.
 */
#ifndef WRITE_TEXT_H
#define WRITE_TEXT_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "write/sink.h"

struct text_out {
    struct sink *sink;
    struct buffer out;
    size_t n_pieces;
    FILE *file; /* a stream instead of the sink; or NULL. Without either, the text stays in memory */
};

void out_flush(struct text_out *text);
void out_integer(struct text_out *text, int64_t value);
void out_number(struct text_out *text, double value);                /* as Python writes it */
void out_string(struct text_out *text, const char *bytes, size_t n); /* a decoded string, as JSON with its quotes */
__attribute__((format(printf, 2, 3))) void out_format(struct text_out *text, const char *format, ...);

/* Inline, so that the length of a literal is a constant. */
static inline void out_add(struct text_out *text, const char *string) {
    buffer_append_text(&text->out, string);
}

/* A name with control characters escaped: text/strings.h. */
void out_name(struct text_out *text, const char *name, size_t n);

/* Writes the text to the sink once it is enough for a piece. */
static inline void out_step(struct text_out *text) {
    if (text->out.length > (1 << 20))
        out_flush(text);
}

/* Opens `path`, has `write` append the text (false: out of memory), and closes it. *n_bytes may be NULL. */
enum sutra_status text_file_write(struct sutra_context *context, const char *path,
                                  bool (*write)(const void *of, struct text_out *text), const void *of,
                                  uint64_t *n_bytes, struct sutra_error *error);

/* The same for a file in a folder; adds to *n_bytes. */
enum sutra_status text_file_write_in(struct sutra_context *context, const char *folder, const char *name,
                                     bool (*write)(const void *of, struct text_out *text), const void *of,
                                     uint64_t *n_bytes, struct sutra_error *error);

/* ---- Values in CSV as pandas writes them ---- */

/* In quotes only if necessary. Bytes that are not UTF-8 become \xff. */
void csv_text(struct text_out *text, const char *bytes, size_t length);

/* The same with ' before text that begins with =, +, -, @, a tab or a carriage return, which a spreadsheet would run as
 * a formula (OWASP, CSV injection), except numbers with a sign. */
void csv_safe_text(struct text_out *text, const char *bytes, size_t length);

/* As Python's repr(); nothing for NaN. */
void csv_real(struct text_out *text, double value);

#endif
