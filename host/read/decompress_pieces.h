/*
 * decompress_pieces.h - compressed text of many members or frames, which all threads decompress side by side.
 */
#ifndef READ_DECOMPRESS_PIECES_H
#define READ_DECOMPRESS_PIECES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/pool.h"

/* What gzip members or zstd frames stand for, where there are two at least, they tell their sizes, and they are whole:
 * at most `limit` bytes. False: `out`, which is empty, stays so, and decompress.h says what is there. */
bool gzip_pieces(const char *bytes, size_t size, size_t limit, struct pool *pool, struct buffer *out);
bool zstd_pieces(const char *bytes, size_t size, size_t limit, struct pool *pool, struct buffer *out);

#endif
