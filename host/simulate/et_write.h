/*
 * et_write.h - from columns to the bytes of an .et file.
 *
 * Bytes are those of Google's own writer: fields in rising order, without those that are empty or 0, but each member of
 * a oneof that is set; lists of ids packed; varints as short as they can be.
 */
#ifndef SIMULATE_ET_WRITE_H
#define SIMULATE_ET_WRITE_H

#include "base/memory.h"
#include "context/context.h"
#include "read/document.h"
#include "simulate/convert.h"
#include "simulate/et_format.h"

/*
 * What stands before the nodes of an .et file: schema, pid, time, start_ts and finish_ts of ET+.
 */

/* Fills nodes->metadata. A member that is null has no value. One that is missing or of a wrong type is left out, or, if
 * they are needed, an error. */
enum sutra_status et_metadata_make(struct et_nodes *nodes, const struct document *document, bool needed,
                                   struct sutra_error *error);

/* Appends a node, or GlobalMetadata, with its length before it. Out of memory: out->failed. */
void et_write_node(const struct et_nodes *nodes, row_t row, struct buffer *out);
void et_write_metadata(const struct et_nodes *nodes, struct buffer *out);

/* Writes the file: beside its place first, then renamed. "-" is standard output; a name that ends in .gz or .zst is
 * compressed. Nodes are encoded by the context's threads, in pieces; the bytes are the same for any number of them.
 * With a maker (else NULL) the nodes of a piece are made when it is encoded, and `nodes` has only the metadata.
 * *n_bytes (may be NULL): bytes written, before compression. SUTRA_NO_OUTPUT, SUTRA_IO, SUTRA_SYSTEM. */
enum sutra_status et_write(const struct et_nodes *nodes, const struct et_maker *maker, struct sutra_context *context,
                           const char *path, uint64_t *n_bytes, struct sutra_error *error);

#endif
