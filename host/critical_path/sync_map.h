/*
 * sync_map.h - what waits for what on the critical path, in external ids: all that the linker wants of it.
 */
#ifndef CRITICAL_PATH_SYNC_MAP_H
#define CRITICAL_PATH_SYNC_MAP_H

#include "critical_path/path_search.h"

/* Entry i: what has the external id end[i] waits for what has start[i]. Pairs may repeat. */
struct sync_map {
    value_key *end, *start;
    row_t n;
};

/* Takes the map from a search; without a path it is empty. */
enum sutra_status sync_map_take(struct sync_map *map, const struct path_search *search, struct sutra_context *context,
                                struct sutra_error *error);
void sync_map_free(struct sync_map *map);

/* The map by the rules of the reference. Where there is none `map` is empty and the verdict tells why. */
enum sutra_status sync_map_find(struct sync_map *map, struct sutra_context *context,
                                const struct sutra_device_trace *trace, bool pandas3, struct path_verdict *verdict,
                                struct sutra_error *error);

#endif
