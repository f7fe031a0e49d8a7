/*
 * analysis.c - runs the stages in order until one ends the search; and what several of them need.
 */
#include "critical_path/analysis.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"

__attribute__((format(printf, 3, 0))) static enum sutra_status stop(struct analysis *analysis, enum outcome outcome,
                                                                   const char *format, va_list arguments) {
    analysis->outcome = outcome;
    vsnprintf(analysis->reason, sizeof analysis->reason, format, arguments);
    return SUTRA_OK;
}

enum sutra_status stop_empty(struct analysis *analysis, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    enum sutra_status status = stop(analysis, OUTCOME_EMPTY, format, arguments);
    va_end(arguments);
    return status;
}

enum sutra_status stop_crash(struct analysis *analysis, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    enum sutra_status status = stop(analysis, OUTCOME_CRASH, format, arguments);
    va_end(arguments);
    return status;
}

void event_find(const struct analysis *analysis, row_t event, struct event_places *places) {
    const struct document *document = &analysis->trace->document;
    struct json_walker walker =
        walk_from(&document->source, &document->index, analysis->events->text[event], NULL);
    *places = (struct event_places){0};
    if (walk_char(&walker) == '{')
        walk_event(&walker, places);
}

value_key event_key(struct analysis *analysis, const struct event_places *places, enum event_field field,
                    value_key absent) {
    struct json_place place = places->field[field];
    return place.at ? field_key(&analysis->reader, place) : absent;
}

enum sutra_status sort_rows(const struct analysis *analysis, uint64_t *keys, row_t *rows, row_t n) {
    const struct engine *engine = &analysis->context->engine;
    return engine->sort_keys(engine->state, keys, rows, n, analysis->error);
}

enum sutra_status add_edge(struct analysis *analysis, node_t from, node_t to, enum edge_type type, bool no_time) {
    if (from == to)
        return stop_crash(analysis, "event %u would wait for itself", node_event(&analysis->graph, from));
    bool weightless = no_time || type == EDGE_DEPENDENCY || type == EDGE_SYNC;
    double weight = weightless ? 0 : node_time(analysis, to) - node_time(analysis, from);
    if (!graph_add_edge(&analysis->graph, from, to, type, weight))
        return error_memory(analysis->error);
    return SUTRA_OK;
}

enum sutra_status analysis_run(struct analysis *analysis, struct sutra_context *context,
                               const struct sutra_device_trace *trace, const struct path_rules *rules,
                               struct sutra_error *error) {
    static enum sutra_status (*const stages[])(struct analysis *) = {
        rows_read,     links_find,    window_find,     cpu_graph_build,
        queue_measure, waits_resolve, gpu_graph_build, longest_path_find,
    };
    *analysis = (struct analysis){
        .context = context,
        .trace = trace,
        .events = &trace->events,
        .rules = *rules,
        .reader = {.source = &trace->document.source, .values = &context->values},
        .error = error,
        .annotation = ROW_NONE,
    };
    enum sutra_status status = SUTRA_OK;
    for (size_t i = 0; i < sizeof stages / sizeof *stages && !status && analysis->outcome == OUTCOME_PATH; i++)
        status = stages[i](analysis);
    if (!status && analysis->reader.failed)
        status = error_memory(error);
    return status;
}

void analysis_free(struct analysis *analysis) {
    buffer_free(&analysis->reader.scratch);
    free(analysis->roles);
    free(analysis->ts);
    free(analysis->dur);
    free(analysis->stream);
    free(analysis->link);
    free(analysis->state);
    free(analysis->full);
    free(analysis->clipped);
    free(analysis->waits);
    free(analysis->queue);
    tuples_free(&analysis->records);
    free(analysis->record_launch);
    tuples_free(&analysis->wait_calls);
    free(analysis->wait_launch);
    graph_free(&analysis->graph);
    free(analysis->path);
    free(analysis->path_edge);
    *analysis = (struct analysis){0};
}
