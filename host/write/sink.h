/*
 * sink.h - an output: a file that is written atomically, or a stream; plain, gzip or zstd by the end of its name. A
 * timeline as JSON becomes Perfetto's format if the name ends with .pftrace, .pftrace.gz or .pftrace.zst (perfetto.c).
 *
 * Pieces are numbered from 0 and may be written by several threads in parallel; the output contains them in the order
 * of their numbers. Pieces of compressed outputs are compressed separately, in the thread that writes them (a gzip file
 * of many members, a zstd file of many frames).
 */
#ifndef WRITE_SINK_H
#define WRITE_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "context/context.h"
#include "sutra/error.h"

struct sink;

/* Opens `path`; "-" is standard output. A regular file is written under a temporary name. */
enum sutra_status sink_open(struct sink **sink, struct sutra_context *context, const char *path,
                            struct sutra_error *error);

/* Writes piece `number`; waits until the offset of the piece is known. Every piece must be written exactly once, even
 * after an error, which sink_close() reports. */
void sink_write(struct sink *sink, size_t number, const char *bytes, size_t n);

/* The same in two steps, for pieces whose number is unknown. sink_pack() compresses the piece (false: out of
 * memory); `n_text` is its size before. */
bool sink_pack(const struct sink *sink, struct buffer *piece);
void sink_write_packed(struct sink *sink, size_t number, const struct buffer *packed, size_t n_text);

/* errno of the first failure, so that the caller can stop; 0: none. */
int sink_failed(struct sink *sink);

/* Closes the output, renames it to `path` if `keep` is true and no error occurred, and frees the sink. */
enum sutra_status sink_close(struct sink *sink, bool keep, uint64_t *n_bytes, struct sutra_error *error);

/*
 * ---- An output that all threads produce, in numbered pieces ----
 *
 *     fill(arg, 0) fill(arg, 1) ... by any thread, in any order  -->  pieces 0, 1, ... in the file
 *
 * Memory: a buffer per thread. Pieces of about PIECE_BYTES are large enough for the compressor and small enough to keep
 * all threads busy.
 */

#define PIECE_BYTES ((size_t)1 << 20)

/* Appends the text of piece `number` to the empty buffer. Out of memory sets out->failed. */
typedef void piece_fill(const void *arg, size_t number, struct buffer *out);

/* Writes the pieces to `path`; *n_bytes, which may be NULL, is the size before compression. SUTRA_SYSTEM: out of
 * memory; then `path` is unchanged. */
enum sutra_status pieces_write(struct sutra_context *context, const char *path, size_t n_pieces, piece_fill *fill,
                               const void *arg, uint64_t *n_bytes, struct sutra_error *error);

/* The same to an open output, as its only pieces. */
enum sutra_status pieces_write_to(struct sutra_context *context, struct sink *sink, size_t n_pieces, piece_fill *fill,
                                  const void *arg, struct sutra_error *error);

/*
 * ---- A file that is written atomically: under a hidden name in the same directory, then renamed ----
 *
 *     out.json -> .out.json.0.tmp         locked while it is written; a file without a lock is that of a killed
 *                                         program, and the next program that writes out.json removes it
 *
 * A pipe or device is written to directly.
 */

struct temp_file_options {
    bool force; /* replace a file that is read-only */
    /* The program chose the name, not the user: replace a symbolic link or a pipe, so that no file outside of the
     * directory is written. */
    bool own_name;
    /* Called with the temporary name before the file exists, with NULL after it is renamed or removed; may be NULL. */
    void (*temporary)(void *arg, const char *path);
    void *arg;
};

struct temp_file {
    struct temp_file_options options;
    char *target;    /* final name, links resolved; NULL: not a regular file */
    char *temporary; /* temporary name */
    int file;        /* open for writing */
};

/* The error of an output in a directory that does not exist, with the remedy; SUTRA_OK: the directory exists. */
enum sutra_status output_error_missing(const char *path, struct sutra_error *error);

/* Opens `path` for writing; close it after success. SUTRA_NO_OUTPUT: cannot be written. */
enum sutra_status temp_file_open(struct temp_file *temp, const char *path, const struct temp_file_options *options,
                                 struct sutra_error *error);

/* Closes the file, and renames it if `keep` is true, else removes it. Returns errno of the failure, or 0. */
int temp_file_close(struct temp_file *temp, bool keep);

enum compression { COMPRESSION_NONE, COMPRESSION_GZIP, COMPRESSION_ZSTD };

/* Appends the compressed bytes to `out`; false: out of memory. */
bool compress_piece(enum compression compression, const char *bytes, size_t n, struct buffer *out);

/* ---- Perfetto's own format, a protobuf of trace packets (perfetto.c) ---- */

/*
 * Converts the trace events of a JSON text (Chrome's trace event format, as sutra writes it), the file `json`, to
 * Perfetto's format in `to`, which stays open. SUTRA_USAGE: the text is no timeline; SUTRA_SYSTEM: out of memory.
 * Errors name `path`. O(n log n) for n events.
 *
 * Times are nanoseconds, exactly. Names, categories, keys and texts of arguments are interned. Arguments stay:
 * integers, reals, truth values and texts with their types; lists, objects and null as their JSON text.
 */
enum sutra_status perfetto_write(struct sutra_context *context, const char *json, const char *path, struct sink *to,
                                 struct sutra_error *error);

#endif
