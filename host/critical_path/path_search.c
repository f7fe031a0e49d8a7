/*
 * path_search.c - runs the stages in order until one ends the search; and what several of them need.
 */
#include "critical_path/path_search.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"

/* What stages return when they end the search: no status that a caller of the library sees. */
#define SEARCH_ENDED ((enum sutra_status)255)

__attribute__((format(printf, 3, 0))) static void stop(struct path_verdict *verdict, enum outcome outcome,
                                                       const char *format, va_list arguments) {
    verdict->outcome = outcome;
    vsnprintf(verdict->reason, sizeof verdict->reason, format, arguments);
}

enum sutra_status stop_empty(const struct path_work *work, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    stop(work->verdict, OUTCOME_EMPTY, format, arguments);
    va_end(arguments);
    return SEARCH_ENDED;
}

enum sutra_status stop_crash(const struct path_work *work, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    stop(work->verdict, OUTCOME_CRASH, format, arguments);
    va_end(arguments);
    return SEARCH_ENDED;
}

enum sutra_status work_sort(const struct path_work *work, uint64_t *keys, row_t *rows, row_t n) {
    return work->engine->sort_keys(work->engine->state, &(struct sort_keys_step){keys, rows, n}, work->error);
}

enum sutra_status work_add_edge(const struct path_work *work, const struct path_rows *rows, struct graph *graph,
                                node_t from, node_t to, enum edge_type type, bool no_time) {
    if (from == to)
        return stop_crash(work, "event %u depends on itself", node_event(graph, from));
    bool weightless = no_time || type == EDGE_DEPENDENCY || type == EDGE_SYNC;
    double weight = weightless ? 0 : node_time(rows, graph, to) - node_time(rows, graph, from);
    return graph_add_edge(graph, from, to, type, weight) ? SUTRA_OK : error_memory(work->error);
}

static enum sutra_status run_stages(struct path_work *work, struct path_search *search) {
    struct path_rows *rows = &search->rows;
    struct path_window *window = &search->window;
    struct graph *graph = &search->graph;
    struct path_waits waits = {0};
    uint8_t *queue = arena_zeros(&work->scratch, work->events->n, sizeof *queue);
    enum sutra_status status = graph_init(graph, work->events->n) ? work_taken(work) : error_memory(work->error);
    if (!status)
        status = rows_read(work, rows);
    if (!status)
        status = links_find(work, rows);
    if (!status)
        status = window_find(work, rows, window);
    if (!status)
        status = cpu_graph_build(work, rows, window, graph);
    if (!status)
        status = queue_measure(work, rows, queue);
    if (!status)
        status = waits_resolve(work, rows, &waits);
    if (!status)
        status = gpu_graph_build(work, rows, window, queue, &waits, graph);
    if (!status)
        status = longest_path_find(work, rows, graph, &search->path);
    tuples_free(&waits.records);
    tuples_free(&waits.wait_calls);
    return status;
}

enum sutra_status path_search_run(struct path_search *search, struct sutra_context *context,
                                  const struct sutra_device_trace *trace, const struct path_rules *rules,
                                  struct sutra_error *error) {
    *search = (struct path_search){.trace = trace, .rules = *rules, .window.annotation = ROW_NONE};
    struct path_work work = {
        .context = context,
        .engine = &context->engine,
        .trace = trace,
        .events = &trace->events,
        .rules = *rules,
        .reader = {.source = &trace->document.source, .values = &context->values},
        .results = &search->arena,
        .verdict = &search->verdict,
        .error = error,
    };
    enum sutra_status status = run_stages(&work, search);
    if (status == SEARCH_ENDED)
        status = SUTRA_OK;
    if (!status && work.reader.failed)
        status = error_memory(error);
    buffer_free(&work.reader.scratch);
    arena_free(&work.scratch);
    return status;
}

void path_search_free(struct path_search *search) {
    graph_free(&search->graph);
    arena_free(&search->arena);
    *search = (struct path_search){0};
}
