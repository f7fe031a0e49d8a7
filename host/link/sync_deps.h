/*
 * sync_deps.h - synchronization dependencies of ET+: the GPU nodes that each node waits for.
 */
#ifndef LINK_SYNC_DEPS_H
#define LINK_SYNC_DEPS_H

#include "context/context.h"
#include "link/link.h"

/* Fills linked->sync and the report's n_sync; the rest of `linked` is complete. Without a critical path there are no
 * dependencies, and a warning reports the reason. */
enum sutra_status sync_build(struct sutra_linked *linked, struct sutra_context *context, bool pandas3,
                             struct sutra_error *error);

#endif
