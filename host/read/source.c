/*
 * source.c - opening, mapping, reading and decompressing an input.
 *
 * A plain file is mapped over the start of an anonymous mapping that is a page longer, so that the bytes behind its end
 * are there and zero even if the file fills its last page.
 */
#include "read/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "read/decompress.h"
#include "read/decompress_pieces.h"
#include "read/file_kind.h"
#include "read/input_limit.h"

/* Bytes that tell whether an input is JSON. */
#define BEGINNING ((size_t)1 << 16)

static enum sutra_status map_file(struct source *source, int file, size_t size, struct sutra_error *error) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (size / page + 2) * page;
    /* cppcheck-suppress invalidFunctionArg; -1 is right for a mapping without a file */
    char *mapping = mmap(NULL, whole, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED)
        return error_memory(error);
    /* cppcheck-suppress leakReturnValNotUsed; it is `mapping` */
    if (mmap(mapping, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0) == MAP_FAILED) {
        munmap(mapping, whole);
        return error_file(error, SUTRA_NO_INPUT, source->name, "cannot be mapped: %s", strerror(errno));
    }
    madvise(mapping, size, MADV_SEQUENTIAL);
    source->mapping = mapping;
    source->mapping_size = whole;
    source->bytes = mapping;
    source->size = size;
    return SUTRA_OK;
}

/* Takes over a buffer as the source's memory, with padding behind. */
static enum sutra_status keep_buffer(struct source *source, struct buffer *buffer, struct sutra_error *error) {
    char *end = buffer_reserve(buffer, SOURCE_PADDING);
    if (!end)
        return error_memory(error);
    memset(end, 0, SOURCE_PADDING);
    source->memory = buffer->bytes;
    source->bytes = buffer->bytes;
    source->size = buffer->length;
    *buffer = (struct buffer){0};
    return SUTRA_OK;
}

/* Whether what begins so is not of the kind that is wanted. */
static bool is_other(const struct source *source, const char *bytes, size_t n) {
    return source->begins && !source->begins(bytes, n);
}

/* Whether the rest of an input need not be read: it is of another kind, and not compressed. */
static bool is_told(const struct source *source, const struct buffer *buffer) {
    return buffer->length >= BEGINNING && is_other(source, buffer->bytes, buffer->length) &&
           !is_gzip(buffer->bytes, buffer->length) && !is_zstd(buffer->bytes, buffer->length);
}

/* A stream may have no end. */
static enum sutra_status read_all(struct source *source, int file, struct sutra_error *error) {
    struct buffer buffer = {0};
    enum sutra_status status = SUTRA_OK;
    size_t limit = input_limit(source->most);
    while (!status && !is_told(source, &buffer)) {
        char *to = buffer_reserve(&buffer, 1 << 16);
        if (!to) {
            status = error_memory(error);
            break;
        }
        ssize_t n = read(file, to, buffer.capacity - buffer.length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            status = error_file(error, SUTRA_IO, source->name, "cannot be read: %s", strerror(errno));
        if (n <= 0)
            break;
        buffer.length += (size_t)n;
        if (buffer.length > limit)
            status =
                error_file(error, SUTRA_DATA, source->name,
                           "the piped input exceeds the limit of %.6g MB: write it to a file first, or raise the limit "
                           "(--max-input)",
                           (double)limit / 1e6);
    }
    source->is_beginning = is_told(source, &buffer);
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

/* Of compressed bytes that stand for another kind the beginning is enough: it is all that is told of them. */
static bool keep_beginning(const struct source *source, bool gzip, struct buffer *buffer) {
    char beginning[BEGINNING];
    size_t n = (gzip ? gzip_begin : zstd_begin)(source->bytes, source->size, beginning, sizeof beginning);
    if (n < sizeof beginning || !is_other(source, beginning, n))
        return false;
    buffer_append(buffer, beginning, n);
    return !buffer->failed;
}

static bool expand_pieces(const struct source *source, bool gzip, struct buffer *buffer) {
    size_t limit = input_limit_expanded(source->size, source->most);
    return source->pool && (gzip ? gzip_pieces : zstd_pieces)(source->bytes, source->size, limit, source->pool, buffer);
}

/* Replaces compressed bytes by what they stand for. */
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
    if (!expand_pieces(source, gzip, &buffer))
        status = (gzip ? gzip_decompress : zstd_decompress)(source->name, source->bytes, source->size, source->most,
                                                            &buffer, error);
    if (status == SUTRA_DATA && source->keep_rest &&
        buffer.length <= input_limit_expanded(source->size, source->most)) {
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
    if (!end)
        return error_memory(error);
    drop_bytes(source);
    return keep_buffer(source, bytes, error);
}

static enum sutra_status load(struct source *source, int file, struct sutra_error *error) {
    struct stat info;
    if (fstat(file, &info))
        return error_file(error, SUTRA_NO_INPUT, source->name, "cannot be read: %s", strerror(errno));
    if (S_ISDIR(info.st_mode))
        return error_file(error, SUTRA_NO_INPUT, source->name, "is a directory: give the trace file in it");
    if (S_ISREG(info.st_mode) && info.st_size > 0)
        return map_file(source, file, (size_t)info.st_size, error);
    return read_all(source, file, error);
}

static enum sutra_status finish_open(struct source *source, enum sutra_status status, struct sutra_error *error) {
    if (!status)
        status = expand(source, error);
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

/* Opens `path`; the source says what is wanted, how much of it, and by whom. */
static enum sutra_status open_source(struct source *source, const char *path, struct sutra_error *error) {
    bool standard = strcmp(path, "-") == 0;
    source->name = strdup(standard ? "standard input" : path);
    if (!source->name)
        return error_memory(error);
    int file = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    enum sutra_status status;
    if (file < 0)
        status = error_file(error, SUTRA_NO_INPUT, path, "cannot be opened: %s", strerror(errno));
    else
        status = load(source, file, error);
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
    *source = (struct source){.name = strdup(name)};
    if (!source->name)
        return error_memory(error);
    struct buffer buffer = {0};
    buffer_append(&buffer, bytes, size);
    enum sutra_status status = buffer.failed ? error_memory(error) : keep_buffer(source, &buffer, error);
    buffer_free(&buffer);
    return finish_open(source, status, error);
}

enum sutra_status source_open_by(struct source *source, const char *path, bool rest, struct pool *pool, uint64_t most,
                                 struct sutra_error *error) {
    *source = (struct source){.begins = may_be_json, .pool = pool, .most = most, .keep_rest = rest};
    return refuse_empty(source, open_source(source, path, error), error);
}

enum sutra_status source_open(struct source *source, const char *path, uint64_t most, struct sutra_error *error) {
    return source_open_by(source, path, false, NULL, most, error);
}

enum sutra_status source_open_rest(struct source *source, const char *path, uint64_t most, struct sutra_error *error) {
    return source_open_by(source, path, true, NULL, most, error);
}

enum sutra_status source_copy(struct source *source, const char *name, const void *bytes, size_t size,
                              struct sutra_error *error) {
    return refuse_empty(source, source_copy_any(source, name, bytes, size, error), error);
}

void source_give_back(const struct source *source, size_t from, size_t to) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), first = (from + page - 1) / page * page, end = to / page * page;
    if (source->mapping && first < end)
        madvise((char *)source->mapping + first, end - first, MADV_DONTNEED);
}

void source_close(struct source *source) {
    drop_bytes(source);
    free(source->name);
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
    const char *at = source->bytes, *end = source->bytes + (offset < source->size ? offset : source->size);
    while ((at = memchr(at, '\n', (size_t)(end - at)))) {
        error->line++;
        at++;
    }
    return SUTRA_DATA;
}
