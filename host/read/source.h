/*
 * source.h - the bytes of an input: mapped, or read and decompressed (gzip, zstd; told by their first bytes).
 *
 *     bytes   the JSON text, `size` bytes, then at least SOURCE_PADDING zero bytes that may be read
 *
 * Plain files are mapped and cost no memory of ours; everything else is held in memory, up to a limit (input_limit.h).
 */
#ifndef READ_SOURCE_H
#define READ_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/threads.h"
#include "sutra/error.h"

/*
 * Gzip and zstd in memory, any number of members or frames one after the other.
 */

bool is_gzip(const char *bytes, size_t size);
bool is_zstd(const char *bytes, size_t size);

/* Appends the decompressed bytes to `out`, at most as many as input_limit_expanded() says of `most`. SUTRA_DATA:
 * damaged, cut off, or more than that; `name` stands in the error. */
enum sutra_status gzip_decompress(const char *name, const char *bytes, size_t size, uint64_t most, struct buffer *out,
                                  struct sutra_error *error);
enum sutra_status zstd_decompress(const char *name, const char *bytes, size_t size, uint64_t most, struct buffer *out,
                                  struct sutra_error *error);

/* The first bytes that they would give, up to n; returns how many. Fewer, or none, are no error. */
size_t gzip_begin(const char *bytes, size_t size, char *to, size_t n);
size_t zstd_begin(const char *bytes, size_t size, char *to, size_t n);

/*
 * Compressed text of many members or frames, which all threads decompress side by side.
 */

/* What gzip members or zstd frames stand for, where there are two at least, they tell their sizes, and they are whole:
 * at most `limit` bytes. False: `out`, which is empty, stays so, and decompress.h says what is there. */
bool gzip_pieces(const char *bytes, size_t size, size_t limit, struct pool *pool, struct buffer *out);
bool zstd_pieces(const char *bytes, size_t size, size_t limit, struct pool *pool, struct buffer *out);

/*
 * The kind of a file that is not JSON, by its first bytes.
 */

/* Whether a text that begins so may be JSON, as far as these bytes go: an object, an array, spaces only, or a byte
 * order mark, which readers have words for. */
bool may_be_json(const char *bytes, size_t size);

struct file_kind {
    const char *name;   /* such as "an SQLite database"; NULL: unknown */
    const char *remedy; /* ": " and what the user can do who has a trace to read; "" where there is no advice */
    bool is_et;
};

/* The kind of a file that begins with these bytes. Cost: O(size) for databases, at most 64 kB; else O(1). */
struct file_kind file_kind(const char *bytes, size_t size);

#define SOURCE_PADDING 64

/* Whether an input that begins with these bytes may be of the expected format. */
typedef bool source_format(const char *bytes, size_t size);

struct source {
    char *name;
    const char *bytes;
    size_t size;
    void *mapping; /* what to unmap, or NULL */
    size_t mapping_size;
    char *memory;          /* what to free, or NULL */
    source_format *begins; /* the expected format, or NULL: any */
    bool is_beginning;     /* of another format, and a stream or compressed: only its first bytes were read */
    struct pool *pool;     /* of threads that decompress, or NULL */
    uint64_t most;         /* bytes to hold in memory, as input_limit() takes them */
    bool keep_rest;        /* of compressed bytes that are damaged or cut off what can be had counts; */
    bool is_rest;          /* this is all that could be had */
};

/* Opens `path`; "-" is standard input. Of what is no JSON by its first bytes, and comes in a stream or compressed,
 * there may be no more than these. `most` is for input_limit.h. */
enum sutra_status source_open(struct source *source, const char *path, uint64_t most, struct sutra_error *error);

/* The same; of compressed bytes that are damaged or cut off what stands before that counts, and `is_rest` says so. */
enum sutra_status source_open_rest(struct source *source, const char *path, uint64_t most, struct sutra_error *error);

/* One of both, decompressed by all threads where it can be. */
enum sutra_status source_open_by(struct source *source, const char *path, bool rest, struct pool *pool, uint64_t most,
                                 struct sutra_error *error);

/* The same from bytes in memory, which are copied (and decompressed if they are compressed). */
enum sutra_status source_copy(struct source *source, const char *name, const void *bytes, size_t size,
                              struct sutra_error *error);

/* Opens an input of any format, which may be empty. */
enum sutra_status source_open_any(struct source *source, const char *path, uint64_t most, struct sutra_error *error);

/* The same for one format: of another one that comes in a stream or compressed only the first bytes are read, and
 * `is_beginning` is set. */
enum sutra_status source_open_format(struct source *source, const char *path, source_format *begins, uint64_t most,
                                     struct sutra_error *error);
enum sutra_status source_copy_any(struct source *source, const char *name, const void *bytes, size_t size,
                                  struct sutra_error *error);

/* Puts other bytes in place of the source's, and takes them over. */
enum sutra_status source_replace(struct source *source, struct buffer *bytes, struct sutra_error *error);

/* Bytes from..to were passed: pages of a mapped file among them count no longer as memory of ours, and are there again
 * when they are looked at. */
void source_give_back(const struct source *source, size_t from, size_t to);

void source_close(struct source *source);

/* An error at a byte of the source; counts the lines up to there. */
__attribute__((format(printf, 4, 5))) enum sutra_status
source_error(const struct source *source, struct sutra_error *error, uint64_t offset, const char *format, ...);

#endif
