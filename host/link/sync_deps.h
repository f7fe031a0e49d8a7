/*
 * sync_deps.h - synchronisation dependencies of ET+: which nodes wait for which GPU nodes.
 */
#ifndef LINK_SYNC_DEPS_H
#define LINK_SYNC_DEPS_H

#include "context/context.h"
#include "link/link.h"

/* Fills linked->sync and the report's n_sync. Everything else of `linked` is there already. Where the reference finds
 * no critical path there are no dependencies, and a warning says why. */
enum sutra_status sync_build(struct sutra_linked *linked, struct sutra_context *context, bool pandas3,
                             struct sutra_error *error);

#endif
