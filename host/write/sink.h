/*
 * sink.h - where an output goes: a file that appears whole or not at all, or a stream; plain, gzip or zstd by its name.
 *
 * Pieces are numbered from 0 and may be handed in by several threads at once; they come out in the order of their
 * numbers. Pieces of compressed outputs are compressed each for itself, in the thread that hands them in (a gzip file
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

/* Opens `path`; "-" is standard output. A regular file is written beside its place. */
enum sutra_status sink_open(struct sink **sink, struct sutra_context *context, const char *path,
                            struct sutra_error *error);

/* Writes piece `number`; waits until all pieces before it have their place. Every number must be handed in exactly
 * once, also after an error, which sink_close() reports. */
void sink_write(struct sink *sink, size_t number, const char *bytes, size_t n);

/* The same in two steps, for who knows a piece before its number. sink_pack() makes of it what the file will hold, and
 * false is out of memory; `n_text` is what the piece was before. */
bool sink_pack(const struct sink *sink, struct buffer *piece);
void sink_write_packed(struct sink *sink, size_t number, const struct buffer *packed, size_t n_text);

/* Whether writing has failed, so that the rest need not be made. */
int sink_failed(struct sink *sink);

/* Ends the output, puts it in its place if `keep` is true and all went well, and frees the sink. */
enum sutra_status sink_close(struct sink *sink, bool keep, uint64_t *n_bytes, struct sutra_error *error);

/*
 * An output that all threads make, in numbered pieces.
 *
 *     fill(arg, 0) fill(arg, 1) ... by any thread, in any order  -->  pieces 0, 1, ... in the file
 *
 * Memory: a buffer for each thread. Pieces of about PIECE_BYTES are large enough for the compressor and small enough to
 * keep all threads busy.
 */

#define PIECE_BYTES ((size_t)1 << 20)

/* Appends the text of piece `number` to the empty buffer. Out of memory sets out->failed. */
typedef void piece_fill(const void *arg, size_t number, struct buffer *out);

/* Writes the pieces to `path` as sink.h does; *n_bytes, which may be NULL, is the size before compression.
 * SUTRA_SYSTEM: out of memory; nothing is left at `path` then. */
enum sutra_status pieces_write(struct sutra_context *context, const char *path, size_t n_pieces, piece_fill *fill,
                               const void *arg, uint64_t *n_bytes, struct sutra_error *error);

/*
 * A file that appears whole or not at all: it is written under a hidden name beside its place, and renamed.
 *
 *     out.json -> .out.json.0.tmp         locked while it is written; what is not locked was left by a program that
 *                                         was killed, and is removed by the next one that writes to this place
 *
 * What is no regular file, a pipe or a device, is written to as it is.
 */

/* How a file is made. */
struct beside_options {
    bool force; /* replace a file that is read-only */
    /* The program chose the name, not the user: a symbolic link, or a pipe, in its place is replaced, so that no file
     * outside of the folder is written. */
    bool own_name;
    /* Told of the temporary name before there is such a file, and NULL when there is none any more; may be NULL. */
    void (*temporary)(void *arg, const char *path);
    void *arg;
};

struct beside {
    struct beside_options options;
    char *target;    /* where the file is to appear, behind all links; NULL: it is no regular file */
    char *temporary; /* where it is until then */
    int file;        /* open for writing */
};

/* Opens what `path` names for writing; on success it must be closed. SUTRA_NO_OUTPUT: that cannot be. */
enum sutra_status beside_open(struct beside *beside, const char *path, const struct beside_options *options,
                              struct sutra_error *error);

/* Closes the file, and puts it in its place if `keep` is true, else removes it; errno of what failed, or 0. */
int beside_close(struct beside *beside, bool keep);

/*
 * Compressing a piece of an output for itself.
 */

enum compression { COMPRESSION_NONE, COMPRESSION_GZIP, COMPRESSION_ZSTD };

/* Appends the compressed bytes to `out`; false: out of memory. */
bool compress_piece(enum compression compression, const char *bytes, size_t n, struct buffer *out);

#endif
