/*
 * text_writer.h - text of a result on its way to a sink.
 */
#ifndef WRITE_TEXT_WRITER_H
#define WRITE_TEXT_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "write/sink.h"

/* Text that is handed to a sink piece by piece, so that memory does not grow with it. */
struct text_writer {
    struct sink *sink;
    struct buffer out;
    size_t n_pieces;
};

/* Opens `path`, has `write` append the text (false: out of memory), and closes it. *n_bytes may be NULL. */
enum sutra_status text_writer_to_file(struct sutra_context *context, const char *path,
                                      bool (*write)(const void *of, struct text_writer *text), const void *of,
                                      uint64_t *n_bytes, struct sutra_error *error);

void text_writer_flush(struct text_writer *text);
void text_writer_add(struct text_writer *text, const char *string);
void text_writer_integer(struct text_writer *text, int64_t value);
void text_writer_number(struct text_writer *text, double value); /* as Python writes it */
void text_writer_bytes(struct text_writer *text, const char *bytes,
                       size_t n); /* a decoded string, as JSON with its quotes */
__attribute__((format(printf, 2, 3))) void text_writer_format(struct text_writer *text, const char *format, ...);

/* Hands what there is to the sink once it is enough for a piece. */
static inline void text_writer_step(struct text_writer *text) {
    if (text->out.length > (1 << 20))
        text_writer_flush(text);
}

#endif
