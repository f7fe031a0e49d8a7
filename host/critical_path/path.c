/*
 * path.c - sutra_critical_path_...(): which rules apply, and the way to a file.
 *
 * The reference's rules are tried first, of HTA 0.5, which give the map, then those of 0.6 where they are wanted.
 * Where they give no path, or where the trace has what they do not tell apart, the extended rules give the path; the
 * map of external ids stays the reference's where that has one.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "critical_path/path.h"
#include "read/event_columns.h"
#include "text/quantities.h"

/*
 * Runs the stages in order until one ends the search; and what several of them need.
 */

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

/*
 * The synchronisation edges of a path as pairs of external ids.
 *
 * The ids are those of the file, not the numbers that the linker makes of them: "12" is not 12 here.
 */

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

/* Takes the map from a search; without a path it is empty. */
static enum sutra_status sync_map_take(struct sync_map *map, const struct path_search *search,
                                       struct sutra_context *context, struct sutra_error *error) {
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

/* Whether a row has a name of HIP, which only the extended rules know. */
static bool has_hip_names(const struct path_rows *rows) {
    return rows->used.name & NAME_HIP || rows->used.category & CATEGORY_HIP;
}

/* Whether a row launches a graph, whose kernels to the reference were launched by nothing. */
static bool launches_graphs(const struct path_rows *rows, const struct strings *strings) {
    static const char name[] = "cudaGraphLaunch";
    uint32_t string = strings_find(strings, name, strlen(name));
    return string != STRING_NONE && rows->roles[string].name & NAME_USED;
}

/* Whether the rows have what the reference's rules take for something else. */
static enum sutra_status needs_extended(const struct path_rows *rows, const struct strings *strings, bool *needed,
                                        struct sutra_error *error) {
    struct tuples streams = {0}, of_devices = {0};
    enum sutra_status status = SUTRA_OK;
    *needed = has_hip_names(rows) || launches_graphs(rows, strings);
    for (row_t i = 0; i < rows->n && !status && !*needed; i++) {
        row_t event = rows->list[i];
        if (!on_stream(rows, event) || category_has(rows, event, CATEGORY_SYNC))
            continue;
        value_key stream = rows->stream[event];
        bool ok = tuples_number(&streams, (struct tuple){{stream}}) != TUPLE_NONE &&
                  tuples_number(&of_devices, (struct tuple){{stream, rows->events->pid[event]}}) != TUPLE_NONE;
        status = ok ? SUTRA_OK : error_memory(error);
        *needed = stream == 0 || streams.n != of_devices.n;
    }
    tuples_free(&streams);
    tuples_free(&of_devices);
    return status;
}

/* The default annotation, if any name has it. */
static const char *annotation_of(const struct path_search *reference, const struct path_rules *rules, bool given) {
    const struct string_roles *roles = reference->rows.roles;
    if (given)
        return rules->annotation;
    for (uint32_t string = 0; roles && string < reference->trace->strings.n; string++)
        if (roles[string].name & NAME_STEP && roles[string].name & NAME_USED)
            return rules->annotation;
    return NULL;
}

/* Takes the extended rules' path instead of the reference's, unless only the reference has one. */
static enum sutra_status run_extended(struct sutra_critical_path *path, const struct path_rules *rules,
                                      struct sutra_error *error) {
    const struct sutra_device_trace *trace = path->search.trace;
    enum outcome reference = path->verdict.outcome;
    struct path_search search;
    if (reference != OUTCOME_PATH)
        path_search_free(&path->search);
    enum sutra_status status = path_search_run(&search, path->context, trace, rules, error);
    enum outcome extended = search.verdict.outcome;
    if (!status && extended != OUTCOME_PATH && reference == OUTCOME_PATH) {
        path_search_free(&search);
        return SUTRA_OK;
    }
    if (!status && extended != OUTCOME_PATH)
        status =
            error_file(error, SUTRA_DATA, trace->document.source.name, "no critical path: %s", search.verdict.reason);
    if (!status && reference == OUTCOME_CRASH)
        status = sync_map_take(&path->map, &search, path->context, error);
    path_search_free(&path->search);
    path->search = search;
    return status;
}

/* Whether event 0 is an operator in the window, which the linker's version of the reference takes for none. */
static bool leaves_out_first(const struct path_rows *rows) {
    return rows->state[0] & ROW_CLIPPED && category_has(rows, 0, CATEGORY_OP);
}

/* Takes the path of other rules, if those have one. The verdict and the map stay. */
static enum sutra_status search_again(struct sutra_critical_path *path, const struct path_rules *rules,
                                      struct sutra_error *error) {
    struct path_search search;
    enum sutra_status status = path_search_run(&search, path->context, path->search.trace, rules, error);
    if (status || search.verdict.outcome != OUTCOME_PATH) {
        path_search_free(&search);
        return status;
    }
    path_search_free(&path->search);
    path->search = search;
    return SUTRA_OK;
}

/* The path of HTA 0.6, which is taken as the reference has it wherever that has one. */
static enum sutra_status find_newer(struct sutra_critical_path *path, struct path_rules *rules, bool *extended,
                                    struct sutra_error *error) {
    rules->newer = rules->first_counts = true;
    enum sutra_status status = search_again(path, rules, error);
    *extended = !path->search.rules.newer;
    return status;
}

/* The path of HTA 0.5: that of the extended rules, where the trace has what the reference does not tell apart. */
static enum sutra_status find_older(struct sutra_critical_path *path, struct path_rules *rules, bool *extended,
                                    struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    if (path->verdict.outcome == OUTCOME_PATH)
        status = needs_extended(&path->search.rows, &path->search.trace->strings, extended, error);
    if (status || *extended || !leaves_out_first(&path->search.rows))
        return status;
    rules->first_counts = true;
    return search_again(path, rules, error);
}

static enum sutra_status find(struct sutra_critical_path *path, const struct sutra_device_trace *trace,
                              struct path_rules *rules, bool given, struct sutra_error *error) {
    bool extended = true;
    enum sutra_status status = path_search_run(&path->search, path->context, trace, rules, error);
    path->verdict = path->search.verdict;
    enum outcome reference = path->verdict.outcome;
    if (!status && reference != OUTCOME_CRASH)
        status = sync_map_take(&path->map, &path->search, path->context, error);
    if (!status)
        status = (path->newer ? find_newer : find_older)(path, rules, &extended, error);
    if (!status && extended) {
        rules->extended = true;
        rules->annotation = annotation_of(&path->search, rules, given);
        status = run_extended(path, rules, error);
    }
    if (!status && reference != OUTCOME_PATH && extended)
        context_warn(path->context, PATH_REFERENCE " finds no critical path (%s); using extended rules",
                     path->verdict.reason);
    if (!status && path->search.rows.n_untimed)
        context_warn(path->context, "%s a duration but no start: skipped",
                     counted_text(path->search.rows.n_untimed, "event has", "events have").text);
    return status ? status : breakdown_make(path, error);
}

enum sutra_status sutra_critical_path_find(struct sutra_context *context, const struct sutra_device_trace *trace,
                                           const struct sutra_critical_path_options *options,
                                           struct sutra_critical_path **path, struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_critical_path_options, instance);
    struct sutra_critical_path_options taken;
    enum sutra_status status = options_take(&form, options, &taken, error);
    if (status)
        return status;
    bool given = taken.annotation;
    struct path_rules rules = {.annotation = given ? taken.annotation : STEP_NAME,
                               .instance = taken.instance,
                               .data_loading = taken.data_loading};
    if ((unsigned)taken.hta_version >= SUTRA_HTA_N_VERSIONS)
        return error_set(error, SUTRA_USAGE, "unknown HTA version number %d", (int)taken.hta_version);
    if ((unsigned)taken.arrows >= SUTRA_N_ARROWS)
        return error_set(error, SUTRA_USAGE, "unknown choice of arrows %d", (int)taken.arrows);
    struct sutra_critical_path *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(error);
    made->context = context;
    made->newer = taken.hta_version == SUTRA_HTA_VERSION_0_6;
    made->only_critical = taken.only_critical;
    made->arrows = taken.arrows;
    context_expect(context, trace->events.n);
    stage_begin(context, "critical path", trace->events.n);
    status = find(made, trace, &rules, given, error);
    stage_end(context);
    if (status)
        sutra_critical_path_free(made);
    else
        *path = made;
    return status;
}

void sutra_critical_path_report(const struct sutra_critical_path *path, struct sutra_critical_path_report *report) {
    report_give(report, &path->report, sizeof path->report);
}

void sutra_critical_path_step(const struct sutra_critical_path *path, uint64_t i, struct sutra_path_step *step) {
    const struct path_search *search = &path->search;
    const node_t *nodes = search->path.node;
    uint32_t edge = search->path.edge[i];
    row_t owner;
    struct sutra_path_step ours = {.kind = edge_kind(search, edge, &owner)};
    ours.name = event_name(search, owner == ROW_NONE ? node_event(&search->graph, nodes[i]) : owner);
    ours.to_name = owner == ROW_NONE ? event_name(search, node_event(&search->graph, nodes[i + 1])) : NULL;
    ours.at_us = path->report.begin_us + node_time(&search->rows, &search->graph, nodes[i]) -
                 node_time(&search->rows, &search->graph, nodes[0]);
    ours.us = search->graph.weight[edge];
    report_give(step, &ours, sizeof ours);
}

void sutra_critical_path_free(struct sutra_critical_path *path) {
    if (!path)
        return;
    path_search_free(&path->search);
    sync_map_free(&path->map);
    free(path->shares);
    free(path);
}

enum sutra_status sutra_critical_path_write(struct sutra_context *context, const struct sutra_critical_path *path,
                                            enum sutra_path_format format, const char *file,
                                            struct sutra_error *error) {
    static bool (*const writers[])(const struct sutra_critical_path *,
                                   struct text_out *) = {[SUTRA_PATH_TEXT] = write_path_text,
                                                         [SUTRA_PATH_JSON] = write_path_json,
                                                         [SUTRA_PATH_CHROME] = write_path_chrome};
    struct text_out text = {0};
    stage_begin(context, "write", path->search.path.n);
    enum sutra_status status = sink_open(&text.sink, context, file, error);
    if (!status) {
        bool whole = writers[format](path, &text) && !text.out.failed;
        out_flush(&text);
        status = sink_close(text.sink, whole, NULL, error);
        if (!status && !whole)
            status = error_memory(error);
    }
    stage_end(context);
    buffer_free(&text.out);
    return status;
}
