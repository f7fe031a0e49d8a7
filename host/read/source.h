/*
 * source.h - the bytes of an input: mapped, or read and decompressed (gzip or zstd, recognized by their first bytes).
 *
 *     bytes   the text, `size` bytes, then at least SOURCE_PADDING readable zero bytes
 *
 * Plain files are mapped and cost no memory of the process; other inputs are read into memory, up to a limit: the
 * user's, or half of the memory that the process may use.
 */
#ifndef READ_SOURCE_H
#define READ_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/threads.h"
#include "context/context.h"
#include "sutra/error.h"

/* ---- Gzip and zstd in memory: any number of members or frames in a row ---- */

bool is_gzip(const char *bytes, size_t size);
bool is_zstd(const char *bytes, size_t size);

/* Appends the decompressed bytes to `out`, at most `most` bytes (0: by default, 1000 times `size` and half of the
 * memory). SUTRA_DATA: corrupt, truncated, or too large; the error contains `name`. */
enum sutra_status gzip_decompress(const char *name, const char *bytes, size_t size, uint64_t most, struct buffer *out,
                                  struct sutra_error *error);
enum sutra_status zstd_decompress(const char *name, const char *bytes, size_t size, uint64_t most, struct buffer *out,
                                  struct sutra_error *error);

/* Decompresses the first n bytes; returns their number. Fewer bytes, or none, are no error. */
size_t gzip_begin(const char *bytes, size_t size, char *to, size_t n);
size_t zstd_begin(const char *bytes, size_t size, char *to, size_t n);

/* Decompress the members or frames in parallel, at most `limit` bytes. False: fewer than two, of unknown size, or
 * corrupt; then `out`, which is empty, is unchanged, and the caller uses the functions above. */
bool gzip_pieces(const char *bytes, size_t size, size_t limit, struct pool *pool, struct buffer *out);
bool zstd_pieces(const char *bytes, size_t size, size_t limit, struct pool *pool, struct buffer *out);

/* Advice for a file that is no trace and has no remedy of its own, see source_refuse(). */
#define TRACE_ADVICE ": use the JSON file of torch.profiler or of ExecutionTraceObserver"

#define SOURCE_PADDING 64

/* Whether an input that begins with these bytes may be of the expected format. */
typedef bool source_format(const char *bytes, size_t size);

/* Of a source whose path names no rank. */
#define SOURCE_ALL_RANKS (-1)

struct source {
    char *name;
    char *path;   /* of a mapped file, or NULL */
    int64_t rank; /* SOURCE_ALL_RANKS, or N if the path is FILE/rankN: a report (nsys.h), or a trace of several ranks */
    const char *bytes;
    size_t size;
    void *mapping; /* or NULL */
    size_t mapping_size;
    char *memory;          /* malloc(), or NULL */
    source_format *begins; /* the expected format, or NULL: any */
    bool is_beginning;     /* another format, streamed or compressed: only its first bytes were read */
    struct pool *pool;     /* threads for decompression, or NULL */
    uint64_t most;         /* limit of bytes in memory; 0: the default */
    bool keep_rest;        /* read corrupt or truncated compressed data up to the error; */
    bool is_rest;          /* the data ended with an error */
    bool selects_rank;     /* the reader selects the rank of a trace; else only reports may have ranks as paths */
};

/*
 * `report.sqlite/rank3` is rank 3 of a report. Splits such a path into the path of the file, which the caller frees,
 * and the rank; *file is NULL for any other path. False: out of memory. O(length).
 */
bool rank_path_split(const char *path, char **file, int64_t *rank);

/* Formats such a path from the path of the file and the rank. */
#define RANK_PATH "%s/rank%" PRId64

/* Sets name, path and rank of a source that is not open. SUTRA_SYSTEM: out of memory. */
enum sutra_status source_set_names(struct source *source, const char *path, struct sutra_error *error);

/* Opens `path`; "-" is standard input. Of a streamed or compressed input that is not JSON only the first bytes are
 * read. `most` limits the bytes in memory; 0: the default. SUTRA_DATA: empty, too large or corrupt. */
enum sutra_status source_open(struct source *source, const char *path, uint64_t most, struct sutra_error *error);

/* The same, but reads corrupt or truncated compressed data up to the error, and sets is_rest. */
enum sutra_status source_open_rest(struct source *source, const char *path, uint64_t most, struct sutra_error *error);

/* An input of a reader: the file `name`, or memory. */
struct source_input {
    const char *name;
    bool in_memory;
    const void *bytes;
    size_t size;
    bool selects_rank; /* as in struct source */
};

/* The same for the input of a reader, with the context's limit and threads; `stage` is reported for files. A lenient
 * context reads corrupt or truncated compressed data up to the error. */
enum sutra_status source_read(struct source *source, struct sutra_context *context, const char *stage,
                              const struct source_input *input, struct sutra_error *error);

/* The same for bytes in memory, which are copied or decompressed. */
enum sutra_status source_copy(struct source *source, const char *name, const void *bytes, size_t size,
                              struct sutra_error *error);

/* Opens an input of any format, which may be empty. */
enum sutra_status source_open_any(struct source *source, const char *path, uint64_t most, struct sutra_error *error);

/* The same for one format: of a streamed or compressed input of another format only the first bytes are read, and
 * is_beginning is set. */
enum sutra_status source_open_format(struct source *source, const char *path, source_format *begins, uint64_t most,
                                     struct sutra_error *error);
enum sutra_status source_copy_any(struct source *source, const char *name, const void *bytes, size_t size,
                                  struct sutra_error *error);

/* Replaces the source's bytes by the bytes of the buffer, which the source then owns. */
enum sutra_status source_replace(struct source *source, struct buffer *bytes, struct sutra_error *error);

/* Returns the pages of a mapped file between these bytes to the system; they are mapped again on access. */
void source_return_pages(const struct source *source, size_t from, size_t to);

/* Maps the pages of a plain file, in ascending order: for a background thread while another one reads the bytes. */
void source_map_pages(void *arg);

void source_close(struct source *source);

/* Copies a stream ("-": standard input; a pipe or a device) to a new file in memory, *file, that can be opened and read
 * several times. Of a format that no command reads, it copies only the first bytes. `most` limits the bytes, as for
 * source_open(). */
enum sutra_status source_spool(const char *path, uint64_t most, int *file, struct sutra_error *error);

/* An error at a byte of the source; counts the lines up to there. */
__attribute__((format(printf, 4, 5))) enum sutra_status
source_error(const struct source *source, struct sutra_error *error, uint64_t offset, const char *format, ...);

/* The error for an input of another format, at a byte: names the expected format and the format of the input, and
 * appends the remedy of file_kind(), or `advice` (": ...", or "") for formats without a remedy. */
enum sutra_status source_refuse(const struct source *source, uint64_t at, const char *expected, const char *advice,
                                struct sutra_error *error);

#endif
