/*
 * compress.c - gzip members through libdeflate, zstd frames through libzstd, both at a fast level.
 */
#include "write/compress.h"

#include <libdeflate.h>
#include <string.h>
#include <zstd.h>

#define GZIP_LEVEL 4
#define ZSTD_LEVEL 3

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), wanted = strlen(end);
    return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

enum compression compression_of(const char *path) {
    return ends_with(path, ".gz") ? COMPRESSION_GZIP : ends_with(path, ".zst") ? COMPRESSION_ZSTD : COMPRESSION_NONE;
}

static bool gzip_piece(const char *bytes, size_t n, struct buffer *out) {
    struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(GZIP_LEVEL);
    if (!compressor)
        return false;
    size_t bound = libdeflate_gzip_compress_bound(compressor, n);
    char *to = buffer_reserve(out, bound);
    size_t made = to ? libdeflate_gzip_compress(compressor, bytes, n, to, bound) : 0;
    libdeflate_free_compressor(compressor);
    out->length += made;
    return made > 0;
}

static bool zstd_piece(const char *bytes, size_t n, struct buffer *out) {
    size_t bound = ZSTD_compressBound(n);
    char *to = buffer_reserve(out, bound);
    size_t made = to ? ZSTD_compress(to, bound, bytes, n, ZSTD_LEVEL) : 0;
    if (!to || ZSTD_isError(made))
        return false;
    out->length += made;
    return true;
}

bool compress_piece(enum compression compression, const char *bytes, size_t n, struct buffer *out) {
    return compression == COMPRESSION_GZIP ? gzip_piece(bytes, n, out) : zstd_piece(bytes, n, out);
}
