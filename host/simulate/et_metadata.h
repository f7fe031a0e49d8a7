/*
 * et_metadata.h - what stands before the nodes of an .et file: schema, pid, time, start_ts and finish_ts of ET+.
 */
#ifndef SIMULATE_ET_METADATA_H
#define SIMULATE_ET_METADATA_H

#include "read/document.h"
#include "simulate/et_nodes.h"

/* Fills nodes->metadata. A member that is null has no value. One that is missing or of a wrong type is left out, or, if
 * they are needed, an error. */
enum sutra_status et_metadata_make(struct et_nodes *nodes, const struct document *document, bool needed,
                                   struct sutra_error *error);

#endif
