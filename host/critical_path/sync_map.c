/*
 * sync_map.c - the synchronisation edges of a path as pairs of external ids.
 *
 * The ids are those of the file, not the numbers that the linker makes of them: "12" is not 12 here.
 */
#include "critical_path/sync_map.h"

#include <stdlib.h>

#include "base/error.h"

static value_key external_id(const struct path_search *search, struct field_reader *reader, node_t node) {
    struct event_places places;
    event_find(search->trace, node_event(&search->graph, node), NULL, &places);
    return event_key(reader, &places, FIELD_EXTERNAL, KEY_ABSENT);
}

enum sutra_status sync_map_take(struct sync_map *map, const struct path_search *search, struct values *values,
                                struct sutra_error *error) {
    const struct path_nodes *path = &search->path;
    struct field_reader reader = {.source = &search->trace->document.source, .values = values};
    row_t n = 0;
    for (node_t i = 0; i + 1 < path->n; i++)
        n += search->graph.type[path->edge[i]] == EDGE_SYNC;
    map->n = 0;
    map->end = malloc(((size_t)n + 1) * sizeof *map->end);
    map->start = malloc(((size_t)n + 1) * sizeof *map->start);
    if (!map->end || !map->start)
        return error_memory(error);
    for (node_t i = 0; i + 1 < path->n; i++) {
        if (search->graph.type[path->edge[i]] != EDGE_SYNC)
            continue;
        value_key start = external_id(search, &reader, path->node[i]);
        value_key end = external_id(search, &reader, path->node[i + 1]);
        if (start == KEY_ABSENT || end == KEY_ABSENT || start == end)
            continue;
        map->start[map->n] = start;
        map->end[map->n++] = end;
    }
    buffer_free(&reader.scratch);
    return reader.failed ? error_memory(error) : SUTRA_OK;
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
        status = sync_map_take(map, &search, &context->values, error);
    *verdict = search.verdict;
    path_search_free(&search);
    return status;
}
