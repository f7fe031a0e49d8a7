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

#include "base/buffer.h"
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

#endif
