/*
 * sync_map.c - the synchronisation edges of a path as pairs of external ids.
 *
 * The ids are those of the file, not the numbers that the linker makes of them: "12" is not 12 here.
 */
#include "critical_path/sync_map.h"

#include <stdlib.h>

#include "base/error.h"
#include "read/event_columns.h"

/* The events at both ends of each synchronisation edge of the path, one behind the other; returns how many. */
static row_t list_ends(const struct path_search *search, row_t *events) {
    const struct path_nodes *path = &search->path;
    row_t n = 0;
    for (node_t i = 0; i + 1 < path->n; i++)
        if (search->graph.type[path->edge[i]] == EDGE_SYNC) {
            events[n++] = node_event(&search->graph, path->node[i]);
            events[n++] = node_event(&search->graph, path->node[i + 1]);
        }
    return n;
}

static void put_pairs(struct sync_map *map, const value_key *external, const row_t *events, row_t n) {
    for (row_t i = 0; i < n; i += 2) {
        value_key start = external[events[i]], end = external[events[i + 1]];
        if (start == KEY_ABSENT || end == KEY_ABSENT || start == end)
            continue;
        map->start[map->n] = start;
        map->end[map->n++] = end;
    }
}

enum sutra_status sync_map_take(struct sync_map *map, const struct path_search *search, struct sutra_context *context,
                                struct sutra_error *error) {
    static const struct asked_field field = {"External id", ASK_KEY, false};
    struct asked_column external;
    struct arena arena = {0};
    row_t *events = arena_take(&arena, 2 * (size_t)search->path.n, sizeof *events);
    row_t n = events ? list_ends(search, events) : 0;
    map->n = 0;
    map->end = malloc(((size_t)n + 1) * sizeof *map->end);
    map->start = malloc(((size_t)n + 1) * sizeof *map->start);
    enum sutra_status status = map->end && map->start ? arena_status(&arena, error) : error_memory(error);
    if (!status && n > 0)
        status = event_columns_ask(context, search->trace, &field, 1, events, n, &external, error);
    if (!status && n > 0)
        put_pairs(map, external.key, events, n);
    arena_free(&arena);
    return status;
}

void sync_map_free(struct sync_map *map) {
    free(map->end);
    free(map->start);
    *map = (struct sync_map){0};
}

enum sutra_status sync_map_find(struct sync_map *map, struct sutra_context *context,
                                const struct sutra_device_trace *trace, bool pandas3, struct path_verdict *verdict,
                                struct sutra_error *error) {
    const struct path_rules rules = {.pandas3 = pandas3, .annotation = STEP_NAME};
    struct path_search search;
    *map = (struct sync_map){0};
    enum sutra_status status = path_search_run(&search, context, trace, &rules, error);
    if (!status)
        status = sync_map_take(map, &search, context, error);
    *verdict = search.verdict;
    path_search_free(&search);
    return status;
}
