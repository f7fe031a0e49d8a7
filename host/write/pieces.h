/*
 * pieces.h - an output that all threads make, in numbered pieces.
 *
 *     fill(arg, 0) fill(arg, 1) ... by any thread, in any order  -->  pieces 0, 1, ... in the file
 *
 * Memory: a buffer for each thread. Pieces of about PIECE_BYTES are large enough for the compressor and small enough to
 * keep all threads busy.
 */
#ifndef WRITE_PIECES_H
#define WRITE_PIECES_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "write/sink.h"

#define PIECE_BYTES ((size_t)1 << 20)

/* Appends the text of piece `number` to the empty buffer. Out of memory sets out->failed. */
typedef void piece_fill(const void *arg, size_t number, struct buffer *out);

/* Writes the pieces to `path` as sink.h does; *n_bytes, which may be NULL, is the size before compression.
 * SUTRA_SYSTEM: out of memory; nothing is left at `path` then. */
enum sutra_status pieces_write(struct sutra_context *context, const char *path, size_t n_pieces, piece_fill *fill,
                               const void *arg, uint64_t *n_bytes, struct sutra_error *error);

#endif
