/*
 * decompress.c - gzip through libdeflate (whole members, the output grown until they fit) and zstd as a stream.
 */
#include "read/decompress.h"

#include <libdeflate.h>
#include <string.h>
#include <zstd.h>

#include "base/error.h"
#include "base/memory.h"
#include "read/input_limit.h"
#include "read/source.h"

/* Deflate cannot expand its input by more than this, so a larger output buffer never helps. */
#define DEFLATE_RATIO_MAX 1032

bool is_gzip(const char *bytes, size_t size) {
    return size >= 2 && memcmp(bytes, "\x1f\x8b", 2) == 0;
}

/* A frame, or one that is to be skipped, which some compressors put first. */
bool is_zstd(const char *bytes, size_t size) {
    return size >= 4 && (memcmp(bytes, "\x28\xb5\x2f\xfd", 4) == 0 ||
                         (((unsigned char)bytes[0] & 0xf0) == 0x50 && memcmp(bytes + 1, "\x2a\x4d\x18", 3) == 0));
}

static enum sutra_status too_large(const char *name, size_t size, size_t limit, struct sutra_error *error) {
    return error_file(
        error, SUTRA_DATA, name,
        "%zu compressed bytes decompress to more than the limit of %.6g MB: decompress the input to a file first, or "
        "raise the limit (--max-input)",
        size, (double)limit / 1e6);
}

/* A first guess of a member's size: the last four bytes of the file say it for a single member below 4 GiB. */
static size_t first_guess(const char *bytes, size_t size) {
    uint32_t stated = 0;
    if (size >= 4)
        memcpy(&stated, bytes + size - 4, 4);
    return stated / DEFLATE_RATIO_MAX <= size ? (size_t)stated + SOURCE_PADDING : 4 * size;
}

/* Decompresses the member at `bytes`; *used is its length. */
static enum libdeflate_result one_member(struct libdeflate_decompressor *decompressor, const char *bytes, size_t size,
                                         size_t guess, size_t limit, struct buffer *out, size_t *used) {
    for (size_t room = guess < 4096 ? 4096 : guess;; room *= 2) {
        size_t made = 0, left = limit - out->length;
        room = room < left ? room : left;
        char *to = buffer_reserve(out, room);
        if (!to)
            return LIBDEFLATE_INSUFFICIENT_SPACE;
        memory_on_large_pages(to, room);
        enum libdeflate_result result = libdeflate_gzip_decompress_ex(decompressor, bytes, size, to, room, used, &made);
        if (result == LIBDEFLATE_SUCCESS)
            out->length += made;
        if (result != LIBDEFLATE_INSUFFICIENT_SPACE || room / DEFLATE_RATIO_MAX > size || room == left)
            return result;
    }
}

enum sutra_status gzip_decompress(const char *name, const char *bytes, size_t size, uint64_t most, struct buffer *out,
                                  struct sutra_error *error) {
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    if (!decompressor)
        return error_memory(error);
    enum libdeflate_result result = LIBDEFLATE_SUCCESS;
    size_t limit = input_limit_expanded(size, most);
    for (size_t at = 0, used = 0; at < size && result == LIBDEFLATE_SUCCESS; at += used) {
        if (at > 0 && !is_gzip(bytes + at, size - at))
            break; /* padding behind the last member, which gzip ignores too */
        size_t guess = at ? size : first_guess(bytes, size);
        result = one_member(decompressor, bytes + at, size - at, guess, limit, out, &used);
    }
    libdeflate_free_decompressor(decompressor);
    if (out->failed)
        return error_memory(error);
    if (result == LIBDEFLATE_INSUFFICIENT_SPACE && out->capacity >= limit)
        return too_large(name, size, limit, error);
    if (result != LIBDEFLATE_SUCCESS)
        return error_file(
            error, SUTRA_DATA, name,
            "the gzip data is corrupt or truncated: copy or record the file again, or try 'sutra repair'");
    return SUTRA_OK;
}

enum sutra_status zstd_decompress(const char *name, const char *bytes, size_t size, uint64_t most, struct buffer *out,
                                  struct sutra_error *error) {
    ZSTD_DCtx *stream = ZSTD_createDCtx();
    if (!stream)
        return error_memory(error);
    const ZSTD_bounds windows = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax);
    size_t left = ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, windows.upperBound); /* as --long=31 writes */
    ZSTD_inBuffer in = {bytes, size, 0};
    size_t step = ZSTD_DStreamOutSize(), limit = input_limit_expanded(size, most);
    while (!ZSTD_isError(left) && !out->failed && out->length <= limit) {
        char *to = buffer_reserve(out, step);
        if (!to)
            break;
        ZSTD_outBuffer piece = {to, out->capacity - out->length, 0};
        left = ZSTD_decompressStream(stream, &piece, &in);
        out->length += piece.pos;
        if (in.pos == size && (left == 0 || piece.pos < piece.size))
            break; /* all is read and all is written */
    }
    ZSTD_freeDCtx(stream);
    if (out->failed)
        return error_memory(error);
    if (out->length > limit)
        return too_large(name, size, limit, error);
    if (left != 0)
        return error_file(
            error, SUTRA_DATA, name,
            "the zstd data is corrupt or truncated: copy or record the file again, or try 'sutra repair'");
    return SUTRA_OK;
}

/* The decompressor copies words, so that some bytes behind what it came to may be written and wrong: less than so
 * many. */
#define REST_UNSURE 64

/* It does not tell how far it came, but what it did not write stays zero, and text has no zeros. The room is doubled
 * until the data ends before it. */
static size_t decompress_rest(struct libdeflate_decompressor *decompressor, const char *bytes, size_t size,
                              size_t limit, struct buffer *out) {
    size_t used, made;
    for (size_t room = 4 * size + 4096;; room *= 2) {
        room = room < limit ? room : limit;
        char *to = buffer_reserve(out, room);
        if (!to)
            return 0;
        memset(to, 0, room);
        enum libdeflate_result result =
            libdeflate_gzip_decompress_ex(decompressor, bytes, size, to, room, &used, &made);
        if (result == LIBDEFLATE_INSUFFICIENT_SPACE && room < limit)
            continue;
        size_t n = room;
        while (n > 0 && to[n - 1] == 0)
            n--;
        return n;
    }
}

void gzip_rest(const char *bytes, size_t size, uint64_t most, struct buffer *out) {
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    size_t limit = input_limit_expanded(size, most), at = 0, done = 0, used, made;
    if (!decompressor)
        return;
    while (done < out->length) { /* over the members that are whole */
        char *scratch = buffer_reserve(out, out->length - done);
        if (!scratch || libdeflate_gzip_decompress_ex(decompressor, bytes + at, size - at, scratch, out->length - done,
                                                      &used, &made) != LIBDEFLATE_SUCCESS)
            break;
        at += used;
        done += made;
    }
    if (done == out->length && at < size && out->length < limit) {
        size_t n = decompress_rest(decompressor, bytes + at, size - at, limit - out->length, out);
        out->length += n > REST_UNSURE ? n - REST_UNSURE : 0;
    }
    libdeflate_free_decompressor(decompressor);
}

/* The decompressor wants room for a whole member, but fills what it has. Should it ever not, the bytes look like the
 * beginning of an object, and nothing is told too early. */
size_t gzip_begin(const char *bytes, size_t size, char *to, size_t n) {
    size_t made = n, used;
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    if (!decompressor)
        return 0;
    memset(to, '{', n);
    enum libdeflate_result result = libdeflate_gzip_decompress_ex(decompressor, bytes, size, to, n, &used, &made);
    libdeflate_free_decompressor(decompressor);
    if (result == LIBDEFLATE_SUCCESS)
        return made;
    return result == LIBDEFLATE_INSUFFICIENT_SPACE ? n : 0;
}

size_t zstd_begin(const char *bytes, size_t size, char *to, size_t n) {
    ZSTD_DCtx *stream = ZSTD_createDCtx();
    ZSTD_inBuffer in = {bytes, size, 0};
    ZSTD_outBuffer out = {to, n, 0};
    while (stream && out.pos < n && in.pos < size)
        if (ZSTD_isError(ZSTD_decompressStream(stream, &out, &in)))
            break;
    ZSTD_freeDCtx(stream);
    return out.pos;
}
