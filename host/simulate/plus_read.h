/*
 * plus_read.h - reading ET+: its text into columns (plus_nodes.h).
 */
#ifndef SIMULATE_PLUS_READ_H
#define SIMULATE_PLUS_READ_H

#include "context/context.h"
#include "simulate/plus_nodes.h"

/* Reads ET+ into the document, which is the caller's, and the trace, whose texts lie there, too; measured times only
 * where they are asked for. SUTRA_NO_INPUT: cannot be read. SUTRA_DATA: malformed, not ET+, or a node without an id. */
enum sutra_status plus_read(struct plus_trace *trace, struct sutra_context *context, struct document *document,
                            const struct document_input *input, bool times, struct sutra_error *error);

#endif
