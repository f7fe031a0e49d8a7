/*
 * compress.h - compressing a piece of an output for itself.
 */
#ifndef WRITE_COMPRESS_H
#define WRITE_COMPRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

enum compression { COMPRESSION_NONE, COMPRESSION_GZIP, COMPRESSION_ZSTD };

/* By the end of a file's name: .gz, .zst. */
enum compression compression_of(const char *path);

/* Appends the compressed bytes to `out`; false: out of memory. */
bool compress_piece(enum compression compression, const char *bytes, size_t n, struct buffer *out);

#endif
