/*
 * decompress.h - gzip and zstd in memory, any number of members or frames one after the other.
 */
#ifndef READ_DECOMPRESS_H
#define READ_DECOMPRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "sutra/error.h"

bool is_gzip(const char *bytes, size_t size);
bool is_zstd(const char *bytes, size_t size);

/* Appends the decompressed bytes to `out`, at most as many as input_limit_expanded() says of `most`. SUTRA_DATA:
 * damaged, cut off, or more than that; `name` stands in the error. */
enum sutra_status gzip_decompress(const char *name, const char *bytes, size_t size, uint64_t most, struct buffer *out,
                                  struct sutra_error *error);
enum sutra_status zstd_decompress(const char *name, const char *bytes, size_t size, uint64_t most, struct buffer *out,
                                  struct sutra_error *error);

/* Of gzip data that is damaged or cut off, of which `out` holds the whole members: appends what can be had of the next
 * one. The last bytes of that are not known for sure, and are left out. */
void gzip_rest(const char *bytes, size_t size, uint64_t most, struct buffer *out);

/* The first bytes that they would give, up to n; returns how many. Fewer, or none, are no error. */
size_t gzip_begin(const char *bytes, size_t size, char *to, size_t n);
size_t zstd_begin(const char *bytes, size_t size, char *to, size_t n);

#endif
