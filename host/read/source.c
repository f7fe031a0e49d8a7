/*
 * source.c - implements source.h: opens, maps, reads and decompresses an input.
 *
 * A plain file is mapped over the start of an anonymous mapping that is at least a page longer, so that the bytes after
 * its end are readable zeros even if the file fills its last page.
 */
#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/shared.h"
#include "columns/column.h"
#include "read/file_kind.h"
#include "read/source.h"
#include "text/numbers.h"
#include "text/strings.h"

/* ---- Memory limits: of piped input, and of decompressed bytes. Mapped files have no limit. ---- */

/* Limit of decompressed bytes per compressed byte, and a limit that small files always have. */
#define EXPANSION_MAX   1000
#define EXPANSION_SMALL ((size_t)16 << 20)

/* The user's limit, or if it is 0 half of the memory that this process may use. */
static size_t input_limit(uint64_t user_limit) {
    return MIN(SIZE_MAX / 2, user_limit ? user_limit : memory_usable() / 2);
}

/* The limit of the text that `size` compressed bytes decompress to. */
static size_t expanded_limit(size_t size, uint64_t user_limit) {
    if (user_limit)
        return input_limit(user_limit);
    size_t expanded = size < SIZE_MAX / EXPANSION_MAX ? size * EXPANSION_MAX : SIZE_MAX;
    return MIN(input_limit(0), MAX(expanded, EXPANSION_SMALL));
}

/* ---- Gzip by libdeflate (complete members; the output grows until a member fits) and zstd as a stream ---- */

/* Deflate cannot expand its input by more than this, so a larger output buffer never helps. */
#define DEFLATE_RATIO_MAX 1032

bool is_gzip(const char *bytes, size_t size) {
    return size >= 2 && memcmp(bytes, "\x1f\x8b", 2) == 0;
}

/* A frame, or a skippable frame, which some compressors write first. */
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

enum sutra_status gzip_decompress(const char *name, const char *bytes, size_t size, uint64_t most, struct buffer *out,
                                  struct sutra_error *error) {
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    TRY_ALLOC(decompressor, error);
    enum libdeflate_result result = LIBDEFLATE_SUCCESS;
    size_t limit = expanded_limit(size, most);
    for (size_t at = 0, used = 0; at < size && result == LIBDEFLATE_SUCCESS; at += used) {
        if (at > 0 && !is_gzip(bytes + at, size - at))
            break; /* padding after the last member, which gzip ignores too */
        /* First guess of the member's size: the last four bytes of the file, correct for a single member below 4
         * GiB. */
        uint32_t stated = 0;
        if (size >= 4)
            memcpy(&stated, bytes + size - 4, 4);
        size_t room = at ? size : stated / DEFLATE_RATIO_MAX <= size ? (size_t)stated + SOURCE_PADDING : 4 * size;
        for (room = MAX(room, 4096);; room *= 2) {
            size_t made = 0, left = limit - out->length;
            room = MIN(room, left);
            char *to = buffer_reserve(out, room);
            result = LIBDEFLATE_INSUFFICIENT_SPACE;
            if (!to)
                break;
            memory_on_large_pages(to, room);
            result = libdeflate_gzip_decompress_ex(decompressor, bytes + at, size - at, to, room, &used, &made);
            if (result == LIBDEFLATE_SUCCESS)
                out->length += made;
            if (result != LIBDEFLATE_INSUFFICIENT_SPACE || room / DEFLATE_RATIO_MAX > size - at || room == left)
                break;
        }
    }
    libdeflate_free_decompressor(decompressor);
    TRY_ALLOC(!out->failed, error);
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
    TRY_ALLOC(stream, error);
    const ZSTD_bounds windows = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax);
    size_t left = ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, windows.upperBound); /* as --long=31 writes */
    ZSTD_inBuffer in = {bytes, size, 0};
    size_t step = ZSTD_DStreamOutSize(), limit = expanded_limit(size, most);
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
    TRY_ALLOC(!out->failed, error);
    if (out->length > limit)
        return too_large(name, size, limit, error);
    if (left != 0)
        return error_file(
            error, SUTRA_DATA, name,
            "the zstd data is corrupt or truncated: copy or record the file again, or try 'sutra repair'");
    return SUTRA_OK;
}

/* The decompressor copies words, so that fewer than this many bytes at the end of its output may be wrong. */
#define UNSURE_BYTES 64

/* For gzip data that is corrupt or truncated, after its complete members in `out`: appends the readable text of the
 * next member, except for its last, unsure bytes. */
static void gzip_rest(const char *bytes, size_t size, uint64_t most, struct buffer *out) {
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    size_t limit = expanded_limit(size, most), at = 0, done = 0, used, made;
    if (!decompressor)
        return;
    while (done < out->length) { /* skip the complete members */
        char *scratch = buffer_reserve(out, out->length - done);
        if (!scratch || libdeflate_gzip_decompress_ex(decompressor, bytes + at, size - at, scratch, out->length - done,
                                                      &used, &made) != LIBDEFLATE_SUCCESS)
            break;
        at += used;
        done += made;
    }
    /* libdeflate does not report how much it wrote before an error. But bytes that it did not write are still zero, and
     * text has no zeros. The room doubles until the data ends before it. */
    bool more = done == out->length && at < size && out->length < limit;
    limit -= out->length;
    for (size_t room = 4 * (size - at) + 4096; more; room *= 2) {
        room = MIN(room, limit);
        char *to = buffer_reserve(out, room);
        if (!to)
            break;
        memset(to, 0, room);
        enum libdeflate_result result =
            libdeflate_gzip_decompress_ex(decompressor, bytes + at, size - at, to, room, &used, &made);
        more = result == LIBDEFLATE_INSUFFICIENT_SPACE && room < limit;
        size_t n = room;
        while (n > 0 && to[n - 1] == 0 && !more)
            n--;
        if (!more)
            out->length += n > UNSURE_BYTES ? n - UNSURE_BYTES : 0;
    }
    libdeflate_free_decompressor(decompressor);
}

/* libdeflate wants room for a complete member, but fills the room that it has. If it did not, the bytes would look like
 * the beginning of an object, so that no other format is recognized. */
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

/*
 * ---- Members or frames in parallel: find their offsets and sizes, then decompress each as one task ----
 *
 * A zstd frame contains both. A gzip member contains the size of its text in its last bytes, but not its own length. So
 * a member may begin wherever the first bytes of a member occur. If one of these is no member, the check of the member
 * before it fails, and nothing is decompressed here. O(bytes), and memory for the text.
 */

/* Shortest member: 10 bytes before the compressed data, 8 after it. */
#define MEMBER_MIN 18

/* Offsets of a member or frame, and of its text. */
struct piece {
    size_t at, length;
    size_t text, text_length;
};

struct pieces {
    const char *bytes;
    struct piece *list;
    uint64_t n, capacity;
    size_t text_length; /* of all pieces */
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

/* The offset of the next possible member at or after byte `at`, or `size`. Compressed data contains the first three
 * bytes by chance every 16 MB; with the following bytes (flags, four bytes of time, compression level, system) rarely
 * enough. */
static size_t next_member(const char *bytes, size_t at, size_t size) {
    for (; size - at >= MEMBER_MIN; at++) {
        const char *found = memmem(bytes + at, size - at - MEMBER_MIN + 3, "\x1f\x8b\x08", 3);
        if (!found)
            return size;
        uint8_t flags = (uint8_t)found[3], level = (uint8_t)found[8], system = (uint8_t)found[9];
        at = (size_t)(found - bytes);
        if (flags < 0x20 && (level == 0 || level == 2 || level == 4) && (system <= 13 || system == 255))
            return at;
    }
    return size;
}

static bool find_members(struct pieces *pieces, size_t size, size_t limit) {
    for (size_t at = 0, end; at < size; at = end) {
        uint32_t text_length;
        if (size - at < MEMBER_MIN)
            return false;
        end = next_member(pieces->bytes, at + MEMBER_MIN, size);
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

/* Out of memory is not reported: decompressing in one piece needs as much. */
static bool decompress_pieces(struct pieces *pieces, void (*task)(void *arg, size_t number), struct pool *pool,
                              struct buffer *out) {
    struct buffer text = {0};
    pieces->to = buffer_reserve(&text, pieces->text_length + 1);
    memory_on_large_pages(pieces->to, pieces->text_length);
    if (pieces->to)
        pool_run(pool, pieces->n, task, pieces);
    bool complete = pieces->to && !atomic_load_explicit(&pieces->failed, memory_order_relaxed);
    text.length = pieces->text_length;
    if (complete)
        *out = text;
    else
        buffer_free(&text);
    return complete;
}

bool gzip_pieces(const char *bytes, size_t size, size_t limit, struct pool *pool, struct buffer *out) {
    struct pieces pieces = {.bytes = bytes};
    bool made = find_members(&pieces, size, limit) && decompress_pieces(&pieces, inflate_member, pool, out);
    free(pieces.list);
    return made;
}

bool zstd_pieces(const char *bytes, size_t size, size_t limit, struct pool *pool, struct buffer *out) {
    struct pieces pieces = {.bytes = bytes};
    bool made = find_frames(&pieces, size, limit) && decompress_pieces(&pieces, expand_frame, pool, out);
    free(pieces.list);
    return made;
}

/* ---- Sources ---- */

/* Bytes that decide whether an input has the expected format. */
#define BEGINNING ((size_t)1 << 16)

static enum sutra_status map_file(struct source *source, int file, size_t size, struct sutra_error *error) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (size / page + 2) * page;
    /* cppcheck-suppress invalidFunctionArg; -1 is right for a mapping without a file */
    char *mapping = mmap(NULL, whole, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    TRY_ALLOC(mapping != MAP_FAILED, error);
    /* cppcheck-suppress leakReturnValNotUsed; it is `mapping` */
    if (mmap(mapping, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0) == MAP_FAILED) {
        munmap(mapping, whole);
        return error_os(error, SUTRA_NO_INPUT, source->name, errno, "cannot be mapped");
    }
    madvise(mapping, size, MADV_SEQUENTIAL);
    source->mapping = mapping;
    source->mapping_size = whole;
    source->bytes = mapping;
    source->size = size;
    return SUTRA_OK;
}

/* Moves a buffer to the source and adds the padding. */
static enum sutra_status keep_buffer(struct source *source, struct buffer *buffer, struct sutra_error *error) {
    char *end = buffer_reserve(buffer, SOURCE_PADDING);
    TRY_ALLOC(end, error);
    memset(end, 0, SOURCE_PADDING);
    source->memory = buffer->bytes;
    source->bytes = buffer->bytes;
    source->size = buffer->length;
    *buffer = (struct buffer){0};
    return SUTRA_OK;
}

/* Whether an input that begins with these bytes has another format. */
static bool is_other_format(const struct source *source, const char *bytes, size_t n) {
    return source->begins && !source->begins(bytes, n);
}

/* Whether the rest of an input need not be read: it has another format, and is not compressed. */
static bool is_rejected(const struct source *source, const struct buffer *buffer) {
    return buffer->length >= BEGINNING && is_other_format(source, buffer->bytes, buffer->length) &&
           !is_gzip(buffer->bytes, buffer->length) && !is_zstd(buffer->bytes, buffer->length);
}

static enum sutra_status too_much_piped(const char *name, size_t limit, struct sutra_error *error) {
    return error_file(error, SUTRA_DATA, name,
                      "the piped input exceeds the limit of %.6g MB: write it to a file first, or raise the limit "
                      "(--max-input)",
                      (double)limit / 1e6);
}

/* Reads a stream, which may be endless. */
static enum sutra_status read_all(struct source *source, int file, struct sutra_error *error) {
    struct buffer buffer = {0};
    enum sutra_status status = SUTRA_OK;
    size_t limit = input_limit(source->most);
    while (!status && !is_rejected(source, &buffer)) {
        char *to = buffer_reserve(&buffer, 1 << 16);
        if (!to) {
            status = error_memory(error);
            break;
        }
        ssize_t n = read(file, to, buffer.capacity - buffer.length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            status = error_os(error, SUTRA_IO, source->name, errno, "cannot be read");
        if (n <= 0)
            break;
        buffer.length += (size_t)n;
        if (buffer.length > limit)
            status = too_much_piped(source->name, limit, error);
    }
    source->is_beginning = is_rejected(source, &buffer);
    if (!status)
        status = keep_buffer(source, &buffer, error);
    buffer_free(&buffer);
    return status;
}

static void drop_bytes(struct source *source) {
    if (source->mapping)
        munmap(source->mapping, source->mapping_size);
    free(source->memory);
    source->mapping = NULL;
    source->memory = NULL;
}

/* Whether compressed bytes have another format: then *buffer becomes their beginning, which is enough for the error. */
static bool keep_beginning(const struct source *source, bool gzip, struct buffer *buffer) {
    char beginning[BEGINNING];
    size_t n = (gzip ? gzip_begin : zstd_begin)(source->bytes, source->size, beginning, sizeof beginning);
    if (n < sizeof beginning || !is_other_format(source, beginning, n))
        return false;
    buffer_append(buffer, beginning, n);
    return !buffer->failed;
}

/* Replaces compressed bytes by the decompressed ones. */
static enum sutra_status expand(struct source *source, struct sutra_error *error) {
    bool gzip = is_gzip(source->bytes, source->size);
    if (!gzip && !is_zstd(source->bytes, source->size))
        return SUTRA_OK;
    struct buffer buffer = {0};
    if (source->begins && keep_beginning(source, gzip, &buffer)) {
        source->is_beginning = true;
        drop_bytes(source);
        return keep_buffer(source, &buffer, error);
    }
    enum sutra_status status = SUTRA_OK;
    size_t limit = expanded_limit(source->size, source->most);
    bool expanded =
        source->pool && (gzip ? gzip_pieces : zstd_pieces)(source->bytes, source->size, limit, source->pool, &buffer);
    if (!expanded)
        status = (gzip ? gzip_decompress : zstd_decompress)(source->name, source->bytes, source->size, source->most,
                                                            &buffer, error);
    if (status == SUTRA_DATA && source->keep_rest && buffer.length <= limit) {
        if (gzip)
            gzip_rest(source->bytes, source->size, source->most, &buffer);
        source->is_rest = buffer.length > 0;
        status = source->is_rest ? SUTRA_OK : status;
    }
    if (!status) {
        drop_bytes(source);
        status = keep_buffer(source, &buffer, error);
    }
    buffer_free(&buffer);
    return status;
}

enum sutra_status source_replace(struct source *source, struct buffer *bytes, struct sutra_error *error) {
    char *end = buffer_reserve(bytes, SOURCE_PADDING);
    TRY_ALLOC(end, error);
    drop_bytes(source);
    return keep_buffer(source, bytes, error);
}

static enum sutra_status finish_open(struct source *source, enum sutra_status status, struct sutra_error *error) {
    if (!status)
        status = expand(source, error);
    if (!status && source->rank != SOURCE_ALL_RANKS && !source->selects_rank && !is_sqlite(source->bytes, source->size))
        status = error_file(error, SUTRA_DATA, source->name,
                            "only device traces and reports have ranks as paths: name the file without /rank%lld",
                            (long long)source->rank);
    if (status)
        source_close(source);
    return status;
}

static enum sutra_status refuse_empty(struct source *source, enum sutra_status status, struct sutra_error *error) {
    if (status || source->size > 0)
        return status;
    status = error_file(error, SUTRA_DATA, source->name, "is empty: a JSON trace was expected");
    source_close(source);
    return status;
}

bool rank_path_split(const char *path, char **file, int64_t *rank) {
    struct stat found;
    const char *name = path_file_name(path);
    *file = NULL;
    if (name == path || strncmp(name, "rank", 4) != 0 || !integer_parse(name + 4, strlen(name + 4), rank) ||
        *rank < 0 || stat(path, &found) == 0 || errno != ENOTDIR)
        return true;
    *file = strndup(path, (size_t)(name - path) - 1);
    return *file;
}

enum sutra_status source_set_names(struct source *source, const char *path, struct sutra_error *error) {
    bool standard = strcmp(path, "-") == 0;
    source->rank = SOURCE_ALL_RANKS;
    TRY_ALLOC(rank_path_split(path, &source->path, &source->rank), error);
    if (source->path)
        path = source->path;
    else
        source->rank = SOURCE_ALL_RANKS;
    if (!source->path && !standard)
        source->path = strdup(path);
    source->name = strdup(standard ? "standard input" : path);
    if (!source->name || (!source->path && !standard)) {
        source_close(source);
        return error_memory(error);
    }
    return SUTRA_OK;
}

/* Opens `path` with the options that are set in *source. */
static enum sutra_status open_source(struct source *source, const char *path, struct sutra_error *error) {
    bool standard = strcmp(path, "-") == 0;
    enum sutra_status named = source_set_names(source, path, error);
    if (named)
        return named;
    if (source->path)
        path = source->path;
    int file = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    enum sutra_status status;
    if (file < 0)
        status = error_os(error, SUTRA_NO_INPUT, path, errno, "cannot be opened");
    else if (fstat(file, &info))
        status = error_os(error, SUTRA_NO_INPUT, source->name, errno, "cannot be read");
    else if (S_ISDIR(info.st_mode))
        status = error_file(error, SUTRA_NO_INPUT, source->name, "is a directory: give the trace file in it");
    else if (S_ISREG(info.st_mode) && info.st_size > 0)
        status = map_file(source, file, (size_t)info.st_size, error);
    else
        status = read_all(source, file, error);
    if (file >= 0 && !standard)
        close(file);
    return finish_open(source, status, error);
}

enum sutra_status source_open_any(struct source *source, const char *path, uint64_t most, struct sutra_error *error) {
    return source_open_format(source, path, NULL, most, error);
}

enum sutra_status source_open_format(struct source *source, const char *path, source_format *begins, uint64_t most,
                                     struct sutra_error *error) {
    *source = (struct source){.begins = begins, .most = most};
    return open_source(source, path, error);
}

enum sutra_status source_copy_any(struct source *source, const char *name, const void *bytes, size_t size,
                                  struct sutra_error *error) {
    *source = (struct source){.name = strdup(name), .rank = SOURCE_ALL_RANKS};
    TRY_ALLOC(source->name, error);
    struct buffer buffer = {0};
    buffer_append(&buffer, bytes, size);
    enum sutra_status status = buffer.failed ? error_memory(error) : keep_buffer(source, &buffer, error);
    buffer_free(&buffer);
    return finish_open(source, status, error);
}

/* Opens a file that may be JSON with the options that are set in *source. */
static enum sutra_status open_trace(struct source *source, const char *path, struct sutra_error *error) {
    source->begins = may_be_trace;
    return refuse_empty(source, open_source(source, path, error), error);
}

enum sutra_status source_open(struct source *source, const char *path, uint64_t most, struct sutra_error *error) {
    *source = (struct source){.most = most};
    return open_trace(source, path, error);
}

enum sutra_status source_open_rest(struct source *source, const char *path, uint64_t most, struct sutra_error *error) {
    *source = (struct source){.most = most, .keep_rest = true};
    return open_trace(source, path, error);
}

enum sutra_status source_read(struct source *source, struct sutra_context *context, const char *stage,
                              const struct source_input *input, struct sutra_error *error) {
    if (input->in_memory)
        return source_copy(source, input->name, input->bytes, input->size, error);
    stage_begin(context, stage, 0);
    *source = (struct source){.pool = context->pool,
                              .most = context->options.most_input_bytes,
                              .keep_rest = context->options.lenient,
                              .selects_rank = input->selects_rank};
    return open_trace(source, input->name, error);
}

enum sutra_status source_copy(struct source *source, const char *name, const void *bytes, size_t size,
                              struct sutra_error *error) {
    return refuse_empty(source, source_copy_any(source, name, bytes, size, error), error);
}

void source_return_pages(const struct source *source, size_t from, size_t to) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), first = (from + page - 1) / page * page, end = to / page * page;
    if (source->mapping && first < end)
        madvise((char *)source->mapping + first, end - first, MADV_DONTNEED);
}

void source_map_pages(void *arg) {
#ifdef MADV_POPULATE_READ
    const struct source *source = arg;
    const size_t step = (size_t)2 << 20;
    for (size_t at = 0; source->mapping && at < source->size; at += step)
        if (madvise((char *)source->mapping + at, source->size - at < step ? source->size - at : step,
                    MADV_POPULATE_READ))
            return;
#else
    (void)arg;
#endif
}

void source_close(struct source *source) {
    drop_bytes(source);
    free(source->name);
    free(source->path);
    *source = (struct source){0};
}

enum sutra_status source_error(const struct source *source, struct sutra_error *error, uint64_t offset,
                               const char *format, ...) {
    if (!error)
        return SUTRA_DATA;
    char message[sizeof error->message];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    error_file(error, SUTRA_DATA, source->name, "%s", message);
    error->offset = offset;
    error->line = 1;
    const char *at = source->bytes, *end = source->bytes + MIN(offset, source->size);
    while ((at = memchr(at, '\n', (size_t)(end - at)))) {
        error->line++;
        at++;
    }
    return SUTRA_DATA;
}

/* Whether the rest of a stream need not be read: its first bytes are of a format that no command reads. */
static bool is_unreadable(const char *name, const char *bytes, size_t n) {
    return !is_gzip(bytes, n) && !is_zstd(bytes, n) && !is_sqlite(bytes, n) &&
           file_kind(name, bytes, n).format == FILE_OTHER;
}

enum sutra_status source_spool(const char *path, uint64_t most, int *file, struct sutra_error *error) {
    bool standard = strcmp(path, "-") == 0;
    const char *name = standard ? "standard input" : path;
    size_t limit = input_limit(most), n = 0, n_chunk = 0;
    char chunk[BEGINNING];
    int from = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return error_os(error, SUTRA_NO_INPUT, path, errno, "cannot be opened");
    int to = memfd_create("sutra input", MFD_CLOEXEC);
    enum sutra_status status = to < 0 ? error_memory(error) : SUTRA_OK;
    for (bool more = true; !status && more;) {
        ssize_t got = read(from, chunk + n_chunk, sizeof chunk - n_chunk);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            status = error_os(error, SUTRA_IO, name, errno, "cannot be read");
        n_chunk += got > 0 ? (size_t)got : 0;
        more = got > 0;
        if (status || (more && n_chunk < sizeof chunk))
            continue;
        more = more && (n > 0 || !is_unreadable(name, chunk, n_chunk));
        n += n_chunk;
        if (n > limit)
            status = too_much_piped(name, limit, error);
        for (size_t at = 0; !status && at < n_chunk;) {
            ssize_t written = write(to, chunk + at, n_chunk - at);
            if (written < 0 && errno != EINTR)
                status = error_memory(error);
            at += written > 0 ? (size_t)written : 0;
        }
        n_chunk = 0;
    }
    if (!standard)
        close(from);
    if (!status)
        *file = to;
    else if (to >= 0)
        close(to);
    return status;
}

enum sutra_status source_refuse(const struct source *source, uint64_t at, const char *expected, const char *advice,
                                struct sutra_error *error) {
    const struct file_kind kind = file_kind(source->name, source->bytes, source->size);
    return source_error(source, error, at, "expected %s, found %s%s", expected, kind.name,
                        *kind.remedy ? kind.remedy : advice);
}
