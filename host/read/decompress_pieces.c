/*
 * decompress_pieces.c - finding where members or frames begin and how large they become, then one task for each.
 *
 * A zstd frame tells both. A gzip member tells its text's size in its last bytes, but not where it ends: wherever what
 * a member begins with stands another one may begin, and if one of them did not, the one before it fails its check, and
 * nothing is made of any. O(bytes), and as many bytes of memory as the text takes.
 */
#include "read/decompress_pieces.h"

#include <libdeflate.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/memory.h"
#include "columns/column.h"
#include "read/decompress.h"

/* The least that a member takes: 10 bytes before what is compressed, 8 behind it. */
#define MEMBER_LEAST 18

/* Where a member or frame stands, and where its text belongs. */
struct piece {
    size_t at, length;
    size_t text, text_length;
};

struct pieces {
    const char *bytes;
    struct piece *list;
    uint64_t n, capacity;
    size_t text_length; /* of all */
    char *to;
    atomic_bool failed;
};

/* False: out of memory, or too much text. */
static bool add_piece(struct pieces *pieces, size_t at, size_t length, size_t text_length, size_t limit) {
    if (text_length > limit - pieces->text_length ||
        !column_grow(&pieces->list, pieces->n, &pieces->capacity, sizeof *pieces->list))
        return false;
    pieces->list[pieces->n++] = (struct piece){at, length, pieces->text_length, text_length};
    pieces->text_length += text_length;
    return true;
}

/* What is compressed has the first three of these bytes by chance every 16 MB, with all that can stand behind them
 * seldom enough: flags, four bytes of time, how hard it was tried, and the system. */
static bool may_begin_member(const char *bytes) {
    uint8_t flags = (uint8_t)bytes[3], tried = (uint8_t)bytes[8], where = (uint8_t)bytes[9];
    return flags < 0x20 && (tried == 0 || tried == 2 || tried == 4) && (where <= 13 || where == 255);
}

/* Where the next member may begin from byte `at` on; the end of all bytes, if none does. */
static size_t next_member(const char *bytes, size_t at, size_t size) {
    while (size - at >= MEMBER_LEAST) {
        const char *found = memmem(bytes + at, size - at - MEMBER_LEAST + 3, "\x1f\x8b\x08", 3);
        if (!found || may_begin_member(found))
            return found ? (size_t)(found - bytes) : size;
        at = (size_t)(found - bytes) + 1;
    }
    return size;
}

static bool find_members(struct pieces *pieces, size_t size, size_t limit) {
    for (size_t at = 0, end; at < size; at = end) {
        uint32_t text_length;
        if (size - at < MEMBER_LEAST)
            return false;
        end = next_member(pieces->bytes, at + MEMBER_LEAST, size);
        memcpy(&text_length, pieces->bytes + end - sizeof text_length, sizeof text_length);
        if (!add_piece(pieces, at, end - at, text_length, limit))
            return false;
    }
    return pieces->n > 1;
}

static bool find_frames(struct pieces *pieces, size_t size, size_t limit) {
    for (size_t at = 0; at < size;) {
        const char *frame = pieces->bytes + at;
        size_t length = ZSTD_findFrameCompressedSize(frame, size - at);
        unsigned long long text_length = ZSTD_isError(length) ? 0 : ZSTD_getFrameContentSize(frame, length);
        if (ZSTD_isError(length) || text_length >= ZSTD_CONTENTSIZE_ERROR || text_length > limit ||
            !add_piece(pieces, at, length, (size_t)text_length, limit))
            return false;
        at += length;
    }
    return pieces->n > 1;
}

static void inflate_member(void *arg, size_t number) {
    struct pieces *pieces = arg;
    const struct piece *piece = &pieces->list[number];
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    size_t used = 0, made = 0;
    bool whole = decompressor && libdeflate_gzip_decompress_ex(decompressor, pieces->bytes + piece->at, piece->length,
                                                               pieces->to + piece->text, piece->text_length, &used,
                                                               &made) == LIBDEFLATE_SUCCESS;
    if (decompressor)
        libdeflate_free_decompressor(decompressor);
    if (!whole || used != piece->length || made != piece->text_length)
        atomic_store_explicit(&pieces->failed, true, memory_order_relaxed);
}

static void expand_frame(void *arg, size_t number) {
    struct pieces *pieces = arg;
    const struct piece *piece = &pieces->list[number];
    size_t made =
        ZSTD_decompress(pieces->to + piece->text, piece->text_length, pieces->bytes + piece->at, piece->length);
    if (made != piece->text_length)
        atomic_store_explicit(&pieces->failed, true, memory_order_relaxed);
}

/* Without memory nothing is told: the plain way needs as much. */
static bool run(struct pieces *pieces, void (*task)(void *arg, size_t number), struct pool *pool, struct buffer *out) {
    struct buffer text = {0};
    pieces->to = buffer_reserve(&text, pieces->text_length + 1);
    memory_on_large_pages(pieces->to, pieces->text_length);
    if (pieces->to)
        pool_run(pool, pieces->n, task, pieces);
    bool whole = pieces->to && !atomic_load_explicit(&pieces->failed, memory_order_relaxed);
    text.length = pieces->text_length;
    if (whole)
        *out = text;
    else
        buffer_free(&text);
    return whole;
}

bool gzip_pieces(const char *bytes, size_t size, size_t limit, struct pool *pool, struct buffer *out) {
    struct pieces pieces = {.bytes = bytes};
    bool made = find_members(&pieces, size, limit) && run(&pieces, inflate_member, pool, out);
    free(pieces.list);
    return made;
}

bool zstd_pieces(const char *bytes, size_t size, size_t limit, struct pool *pool, struct buffer *out) {
    struct pieces pieces = {.bytes = bytes};
    bool made = find_frames(&pieces, size, limit) && run(&pieces, expand_frame, pool, out);
    free(pieces.list);
    return made;
}
