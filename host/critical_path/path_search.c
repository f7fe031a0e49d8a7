/*
 * path_search.c - runs the stages in order until one ends the search; and what several of them need.
 */
#include "critical_path/path_search.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"

__attribute__((format(printf, 3, 0))) static enum sutra_status stop(struct path_search *search, enum outcome outcome,
                                                                    const char *format, va_list arguments) {
    search->outcome = outcome;
    vsnprintf(search->reason, sizeof search->reason, format, arguments);
    return SUTRA_OK;
}

enum sutra_status stop_empty(struct path_search *search, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    enum sutra_status status = stop(search, OUTCOME_EMPTY, format, arguments);
    va_end(arguments);
    return status;
}

enum sutra_status stop_crash(struct path_search *search, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    enum sutra_status status = stop(search, OUTCOME_CRASH, format, arguments);
    va_end(arguments);
    return status;
}

value_key event_key(struct path_search *search, const struct event_places *places, enum event_field field,
                    value_key absent) {
    struct json_place place = places->field[field];
    return place.at ? field_key(&search->reader, place) : absent;
}

enum sutra_status search_sort(const struct path_search *search, uint64_t *keys, row_t *rows, row_t n) {
    const struct engine *engine = &search->context->engine;
    return engine->sort_keys(engine->state, &(struct sort_keys_step){keys, rows, n}, search->error);
}

enum sutra_status search_add_edge(struct path_search *search, node_t from, node_t to, enum edge_type type,
                                  bool no_time) {
    if (from == to)
        return stop_crash(search, "event %u would wait for itself", node_event(&search->graph, from));
    bool weightless = no_time || type == EDGE_DEPENDENCY || type == EDGE_SYNC;
    double weight = weightless ? 0 : node_time(search, to) - node_time(search, from);
    if (!graph_add_edge(&search->graph, from, to, type, weight))
        return error_memory(search->error);
    return SUTRA_OK;
}

enum sutra_status path_search_run(struct path_search *search, struct sutra_context *context,
                                  const struct sutra_device_trace *trace, const struct path_rules *rules,
                                  struct sutra_error *error) {
    static enum sutra_status (*const stages[])(struct path_search *) = {
        rows_read,     links_find,    window_find,     cpu_graph_build,
        queue_measure, waits_resolve, gpu_graph_build, longest_path_find,
    };
    *search = (struct path_search){
        .context = context,
        .trace = trace,
        .events = &trace->events,
        .rules = *rules,
        .reader = {.source = &trace->document.source, .values = &context->values},
        .error = error,
        .annotation = ROW_NONE,
    };
    enum sutra_status status = SUTRA_OK;
    for (size_t i = 0; i < sizeof stages / sizeof *stages && !status && search->outcome == OUTCOME_PATH; i++)
        status = stages[i](search);
    if (!status && search->reader.failed)
        status = error_memory(error);
    return status;
}

void path_search_free(struct path_search *search) {
    buffer_free(&search->reader.scratch);
    arena_free(&search->arena);
    free(search->ts);
    free(search->dur);
    free(search->stream);
    free(search->link);
    free(search->state);
    free(search->full);
    free(search->clipped);
    free(search->waits);
    free(search->queue);
    tuples_free(&search->records);
    free(search->record_launch);
    tuples_free(&search->wait_calls);
    free(search->wait_launch);
    graph_free(&search->graph);
    free(search->path);
    free(search->path_edge);
    *search = (struct path_search){0};
}
