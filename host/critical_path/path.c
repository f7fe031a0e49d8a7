/*
 * path.c - sutra_critical_path_...(): selects the rules, runs the stages of a search, and attributes the time
 * of the path.
 *
 * HTA's rules are tried first: the rules of HTA 0.5, which give the map of external ids, then 0.6 if requested. The
 * extended rules give the path if HTA's rules find none, or if the trace has features that HTA does not distinguish.
 * The map remains HTA's if HTA has one.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "critical_path/path.h"
#include "facts/kernel_class.h"
#include "facts/names.h"
#include "read/event_columns.h"
#include "text/quantities.h"

static enum sutra_status run_stages(struct path_work *work, struct path_search *search, struct path_waits *waits) {
    struct path_rows *rows = &search->rows;
    struct path_window *window = &search->window;
    struct graph *graph = &search->graph;
    uint8_t *queue = arena_zeros(&work->scratch, work->events->n, sizeof *queue);
    if (!graph_init(graph, work->events->n))
        return error_memory(work->error);
    TRY(work_check_memory(work));
    TRY(rows_read(work, rows));
    TRY(links_find(work, rows));
    TRY(window_find(work, rows, window));
    TRY(cpu_graph_build(work, rows, window, graph));
    TRY(queue_measure(work, rows, queue));
    TRY(waits_resolve(work, rows, waits));
    TRY(gpu_graph_build(work, rows, window, queue, waits, graph));
    return longest_path_find(work, rows, graph, &search->path);
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
    struct path_waits waits = {0};
    enum sutra_status status = run_stages(&work, search, &waits);
    tuples_free(&waits.records);
    tuples_free(&waits.wait_calls);
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

/* ---- The map of external ids ---- */

/* Lists the pairs of external ids of a search's path; none without a path. Ids are as in the file, not the numbers
 * that the linker makes of them: "12" is not 12. */
static enum sutra_status sync_map_fill(struct sync_map *map, const struct path_search *search,
                                       struct sutra_context *context, struct sutra_error *error) {
    static const struct requested_field field = {"External id", ASK_KEY, false};
    const struct path_nodes *path = &search->path;
    struct requested_column external = {0};
    struct arena arena = {0};
    row_t *events = arena_alloc(&arena, 2 * (size_t)path->n, sizeof *events), n = 0;

    /* The events at both ends of each synchronization edge */
    for (node_t i = 0; i + 1 < path->n && events; i++)
        if (search->graph.type[path->edge[i]] == EDGE_SYNC) {
            events[n++] = node_event(&search->graph, path->node[i]);
            events[n++] = node_event(&search->graph, path->node[i + 1]);
        }
    map->n = 0;
    map->end = malloc(((size_t)n + 1) * sizeof *map->end);
    map->start = malloc(((size_t)n + 1) * sizeof *map->start);
    enum sutra_status status = map->end && map->start ? arena_status(&arena, error) : error_memory(error);
    if (!status && n > 0)
        status = event_columns_request(context, search->trace, &field, 1, events, n, &external, error);
    for (row_t i = 0; i < n && !status; i += 2) {
        value_key start = external.key[events[i]], end = external.key[events[i + 1]];
        if (start == KEY_ABSENT || end == KEY_ABSENT || start == end)
            continue;
        map->start[map->n] = start;
        map->end[map->n++] = end;
    }
    arena_free(&arena);
    return status;
}

void sync_map_free(struct sync_map *map) {
    free(map->end);
    free(map->start);
    *map = (struct sync_map){0};
}

enum sutra_status sync_map_find(struct sync_map *map, struct sutra_context *context,
                                const struct sutra_device_trace *trace, struct path_verdict *verdict,
                                struct sutra_error *error) {
    const struct path_rules rules = {.annotation = STEP_NAME};
    struct path_search search;
    *map = (struct sync_map){0};
    enum sutra_status status = path_search_run(&search, context, trace, &rules, error);
    if (!status)
        status = sync_map_fill(map, &search, context, error);
    *verdict = search.verdict;
    path_search_free(&search);
    return status;
}

/*
 * ---- Time of the path by operator, kernel and kind of edge, and its coverage of the window ----
 *
 * An edge between CPU nodes belongs to the operator that runs during the edge: the operator that starts at its first
 * node or ends at its last node; between siblings, their parent.
 *
 *     window   |  a    b                  c        |
 *     path               [ ............ ]
 *               before: a, b             after: c
 *
 * A path starts at the first node without an earlier dependency, which may be late in a step: threads are connected
 * only by synchronization with the GPU. Cost: O(path + strings + nodes).
 */

/* Summarizes the nodes that start in [begin, end). Only top-level operators and kernels can be the longest event. */
static struct sutra_path_outside summarize_outside(const struct path_search *search, double begin, double end) {
    const struct graph *graph = &search->graph;
    struct sutra_path_outside outside = {.us = fmax(end - begin, 0)};
    for (row_t pair = 0; outside.us > 0 && pair < graph->n_pairs; pair++) {
        bool kernel = pair >= graph->n_cpu_pairs;
        double pair_begin = node_time(&search->rows, graph, pair * 2);
        if (!(pair_begin >= begin && pair_begin < end))
            continue;
        outside.n_operators += !kernel;
        outside.n_kernels += kernel;
        double us = fmin(node_time(&search->rows, graph, pair * 2 + 1), end) - pair_begin;
        if ((!kernel && graph->above[pair] != ROW_NONE) || !(us > outside.longest_us))
            continue;
        outside.longest_us = us;
        outside.longest = event_name(search, graph->event[pair]);
    }
    return outside;
}

/* Reports the share of the window that the path covers, and the events before and after the path. */
static void measure_coverage(const struct path_search *search, struct sutra_critical_path_report *report) {
    const struct path_nodes *path = &search->path;
    double begin = node_time(&search->rows, &search->graph, path->node[0]);
    double end = node_time(&search->rows, &search->graph, path->node[path->n - 1]);

    /* The window is the annotation's time range, else the time range of all nodes. */
    double window_begin = INFINITY, window_end = -INFINITY;
    if (search->window.annotation != ROW_NONE) {
        report->window = *search->window.steps ? search->window.steps : event_name(search, search->window.annotation);
        window_begin = (double)search->window.begin;
        window_end = search->window.end;
    } else {
        for (node_t node = 0; node < graph_nodes(&search->graph); node++) {
            double time = node_time(&search->rows, &search->graph, node);
            window_begin = fmin(window_begin, time);
            window_end = fmax(window_end, time);
        }
    }
    report->window_us = window_end - window_begin;
    report->begin_us = begin - window_begin;
    report->end_us = end - window_begin;
    report->before = summarize_outside(search, window_begin, begin);
    report->after = summarize_outside(search, end, window_end);
}

/* Time and number of edges per name (string id). */
struct name_totals {
    double *us;
    uint64_t *n;
};

enum sutra_path_kind edge_kind(const struct path_search *search, uint32_t edge, row_t *owner) {
    static const enum sutra_path_kind kinds[EDGE_N_TYPES] = {[EDGE_OPERATOR] = SUTRA_PATH_OPERATOR,
                                                             [EDGE_DEPENDENCY] = SUTRA_PATH_DEPENDENCY,
                                                             [EDGE_LAUNCH_DELAY] = SUTRA_PATH_LAUNCH_DELAY,
                                                             [EDGE_KERNEL_DELAY] = SUTRA_PATH_KERNEL_DELAY,
                                                             [EDGE_SYNC] = SUTRA_PATH_SYNC};
    const struct graph *graph = &search->graph;
    *owner = ROW_NONE;
    if (graph->type[edge] != EDGE_OPERATOR)
        return kinds[graph->type[edge]];
    node_t from = graph->from[edge], to = graph->to[edge];
    *owner = !node_is_end(from) ? node_event(graph, from)
             : node_is_end(to)  ? node_event(graph, to)
                                : graph->above[to / 2];
    return from / 2 >= graph->n_cpu_pairs ? SUTRA_PATH_KERNEL : SUTRA_PATH_OPERATOR;
}

static int compare_shares(const void *left, const void *right) {
    const struct sutra_path_share *a = left, *b = right;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->us != b->us)
        return a->us > b->us ? -1 : 1;
    return a->name && b->name ? strcmp(a->name, b->name) : 0;
}

static enum sutra_status list_shares(struct sutra_critical_path *path, const struct name_totals *totals,
                                     struct sutra_error *error) {
    const struct strings *strings = &path->search.trace->strings;
    size_t n = SUTRA_PATH_N_KINDS;
    for (uint32_t string = 0; string < strings->n; string++)
        n += (size_t)(totals[SUTRA_PATH_OPERATOR].n[string] > 0) + (totals[SUTRA_PATH_KERNEL].n[string] > 0);
    path->shares = calloc(n, sizeof *path->shares);
    TRY_ALLOC(path->shares, error);
    struct sutra_critical_path_report *report = &path->report;
    for (int kind = SUTRA_PATH_OPERATOR; kind <= SUTRA_PATH_KERNEL; kind++)
        for (uint32_t string = 0; string < strings->n; string++)
            if (totals[kind].n[string])
                path->shares[report->n_shares++] =
                    (struct sutra_path_share){(enum sutra_path_kind)kind, strings_text(strings, string),
                                              totals[kind].us[string], totals[kind].n[string]};
    for (int kind = SUTRA_PATH_LAUNCH_DELAY; kind < SUTRA_PATH_N_KINDS; kind++)
        if (report->kind_edges[kind])
            path->shares[report->n_shares++] = (struct sutra_path_share){
                (enum sutra_path_kind)kind, NULL, report->kind_us[kind], report->kind_edges[kind]};
    qsort(path->shares, report->n_shares, sizeof *path->shares, compare_shares);
    report->shares = path->shares;
    return SUTRA_OK;
}

/* Fills the report and the shares. */
static enum sutra_status breakdown_make(struct sutra_critical_path *path, struct sutra_error *error) {
    const struct path_search *search = &path->search;
    size_t n = search->trace->strings.n;
    struct arena *arena = &path->search.arena;
    struct arena_mark mark = arena_mark(arena);
    struct name_totals totals[2];
    for (int i = 0; i < 2; i++)
        totals[i] =
            (struct name_totals){arena_zeros(arena, n, sizeof(double)), arena_zeros(arena, n, sizeof(uint64_t))};
    path->report = (struct sutra_critical_path_report){.n_nodes = graph_nodes(&search->graph),
                                                       .n_path_nodes = search->path.n,
                                                       .extended = search->rules.extended,
                                                       .reason = path->verdict.reason,
                                                       .hta_version = search->rules.newer ? SUTRA_HTA_VERSION_0_6
                                                                                          : SUTRA_HTA_VERSION_0_5};
    TRY(arena_status(arena, error));
    TRY_ALLOC(graph_count_edges(&search->graph, arena, &path->report.n_edges), error);

    /* Add the time of each edge of the path to the totals of its kind, its name and, for kernels, its resource. */
    const struct strings *strings = &search->trace->strings;
    struct sutra_critical_path_report *report = &path->report;
    for (node_t i = 0; i + 1 < search->path.n; i++) {
        uint32_t edge = search->path.edge[i];
        double us = search->graph.weight[edge];
        row_t owner;
        enum sutra_path_kind kind = edge_kind(search, edge, &owner);
        report->us += us;
        report->kind_us[kind] += us;
        report->kind_edges[kind]++;
        if (owner == ROW_NONE)
            continue;
        uint32_t name = search->rows.events->name[owner];
        totals[kind].us[name] += us;
        totals[kind].n[name]++;
        if (kind == SUTRA_PATH_KERNEL) {
            const char *text = strings_text(strings, name);
            size_t length = strings_length(strings, name);
            enum kernel_type type =
                search->rules.newer ? kernel_type_of_0_6(text, length, false) : kernel_type_of(text, length);
            uint8_t kernel =
                kernel_kind_with(kernel_kind_find(CATEGORY_KERNEL, text, length), search->rows.events->flags[owner]);
            *(kernel_kinds[kernel].class == DEVICE_COMMUNICATION ? &report->communication_us
              : type == KERNEL_MEMORY                            ? &report->memory_us
                                                                 : &report->compute_us) += us;
        } else if (name_has(&search->rows, owner, NAME_LOADS_DATA)) {
            report->data_loading_us += us;
        }
    }
    measure_coverage(search, &path->report);
    TRY(list_shares(path, totals, error));
    arena_release(arena, mark);
    return SUTRA_OK;
}

/* ---- Rules ---- */

/* Whether the rows contain what HTA's rules misread: HIP, CUDA graphs, whose kernels HTA does not link to a launch,
 * stream 0, or equal streams of several devices. */
static enum sutra_status needs_extended(const struct path_rows *rows, const struct strings *strings, bool *needed,
                                        struct sutra_error *error) {
    static const char graph_launch[] = "cudaGraphLaunch";
    uint32_t string = strings_find(strings, graph_launch, strlen(graph_launch));
    *needed = rows->used.name & NAME_HIP || rows->used.category & CATEGORY_HIP ||
              (string != STRING_NONE && rows->roles[string].name & NAME_USED);
    struct tuples streams = {0}, of_devices = {0};
    enum sutra_status status = SUTRA_OK;
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

/* Replaces HTA's path by the path of the extended rules, unless only HTA has one. Without a given annotation, the
 * window is the default annotation if a name contains it, else the whole trace. */
static enum sutra_status run_extended(struct sutra_critical_path *path, struct path_rules *rules, bool given,
                                      struct sutra_error *error) {
    const struct sutra_device_trace *trace = path->search.trace;
    const struct string_roles *roles = path->search.rows.roles;
    bool has_step = false;
    for (uint32_t string = 0; roles && string < trace->strings.n; string++)
        has_step |= roles[string].name & NAME_STEP && roles[string].name & NAME_USED;
    rules->extended = true;
    rules->annotation = given || has_step ? rules->annotation : NULL;

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
        status = sync_map_fill(&path->map, &search, path->context, error);
    path_search_free(&path->search);
    path->search = search;
    return status;
}

/* Replaces the path by the path of other rules, if those find one. The verdict and the map stay. */
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

static enum sutra_status find_path(struct sutra_critical_path *path, const struct sutra_device_trace *trace,
                                   struct path_rules *rules, bool given, struct sutra_error *error) {
    bool extended = true;
    TRY(path_search_run(&path->search, path->context, trace, rules, error));
    path->verdict = path->search.verdict;
    enum outcome reference = path->verdict.outcome;
    if (reference != OUTCOME_CRASH)
        TRY(sync_map_fill(&path->map, &path->search, path->context, error));
    if (path->newer) {
        /* HTA 0.6: the extended rules serve only traces without a path. */
        rules->newer = rules->first_counts = true;
        TRY(search_again(path, rules, error));
        extended = !path->search.rules.newer;
    } else {
        /* HTA 0.5: the extended rules also serve traces that HTA misreads. The linker's HTA skips an operator
         * of event 0 in the window. */
        const struct path_rows *rows = &path->search.rows;
        if (reference == OUTCOME_PATH)
            TRY(needs_extended(rows, &trace->strings, &extended, error));
        if (!extended && rows->state[0] & ROW_CLIPPED && category_has(rows, 0, CATEGORY_OP)) {
            rules->first_counts = true;
            TRY(search_again(path, rules, error));
        }
    }
    if (extended)
        TRY(run_extended(path, rules, given, error));
    if (reference != OUTCOME_PATH && extended)
        context_warn(path->context, PATH_REFERENCE " finds no critical path (%s); using extended rules",
                     path->verdict.reason);
    if (path->search.rows.n_untimed)
        context_warn(path->context, "%s a duration but no start: skipped",
                     counted_text(path->search.rows.n_untimed, "event has", "events have").text);
    return breakdown_make(path, error);
}

enum sutra_status sutra_critical_path_find(struct sutra_context *context, const struct sutra_device_trace *trace,
                                           const struct sutra_critical_path_options *options,
                                           struct sutra_critical_path **path, struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_critical_path_options, instance);
    struct sutra_critical_path_options chosen;
    TRY(options_copy(&form, options, &chosen, error));
    if (chosen.step && (chosen.annotation || chosen.instance))
        return error_set(error, SUTRA_USAGE, "a step and an annotation exclude each other");
    bool given = chosen.annotation || chosen.step;
    struct path_rules rules = {.annotation = chosen.annotation ? chosen.annotation : STEP_NAME,
                               .instance = chosen.instance,
                               .step = chosen.step,
                               .data_loading = chosen.data_loading};
    if ((unsigned)chosen.hta_version >= SUTRA_HTA_N_VERSIONS)
        return error_set(error, SUTRA_USAGE, "unknown HTA version number %d", (int)chosen.hta_version);
    if ((unsigned)chosen.arrows >= SUTRA_N_ARROWS)
        return error_set(error, SUTRA_USAGE, "unknown choice of arrows %d", (int)chosen.arrows);
    struct sutra_critical_path *made = calloc(1, sizeof *made);
    TRY_ALLOC(made, error);
    made->context = context;
    made->newer = chosen.hta_version == SUTRA_HTA_VERSION_0_6;
    made->only_critical = chosen.only_critical;
    made->arrows = chosen.arrows;
    made->most_bytes = chosen.most_bytes;
    context_choose_engine(context, NO_MATCHING);
    stage_begin(context, "critical path", trace->events.n);
    enum sutra_status status = find_path(made, trace, &rules, given, error);
    stage_end(context);
    if (status)
        sutra_critical_path_free(made);
    else
        *path = made;
    return status;
}

/* ---- Results ---- */

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

/* Number of edges per node, and of edges, from which the estimated size is reported before writing. */
#define MANY_EDGES_OF_NODE 10
#define MANY_EDGES         10000

/* A synchronization of a device has an edge from each stream, so the graph of JSON and of --edges all can grow with the
 * square of the input: warn, or fail beyond the limit. */
static enum sutra_status check_output_size(struct sutra_context *context, const struct sutra_critical_path *path,
                                           enum sutra_path_format format, struct sutra_error *error) {
    static const char text[] = "the output %s %llu edges, about %.1f MB, for %llu nodes: many streams are synchronized "
                               "with their device many times";
    unsigned long long n_nodes = path->report.n_nodes, n_edges = path->report.n_edges;
    bool has_all = format == SUTRA_PATH_JSON || (format == SUTRA_PATH_CHROME && path->arrows == SUTRA_ARROWS_ALL);
    bool grows = has_all && n_edges > MANY_EDGES && n_edges / MANY_EDGES_OF_NODE > n_nodes;
    uint64_t bytes = path_output_size(path, format);
    bool too_large = path->most_bytes && bytes >= path->most_bytes;
    if (too_large && grows)
        return error_set(error, SUTRA_DATA, text, "would have", n_edges, (double)bytes / 1e6, n_nodes);
    if (too_large)
        return error_set(error, SUTRA_DATA, "the output would have about %.1f MB", (double)bytes / 1e6);
    if (grows)
        context_warn(context, text, "has", n_edges, (double)bytes / 1e6, n_nodes);
    return SUTRA_OK;
}

enum sutra_status sutra_critical_path_write(struct sutra_context *context, const struct sutra_critical_path *path,
                                            enum sutra_path_format format, const char *file,
                                            struct sutra_error *error) {
    static bool (*const writers[])(const void *, struct text_out *) = {[SUTRA_PATH_TEXT] = write_path_text,
                                                                       [SUTRA_PATH_JSON] = write_path_json,
                                                                       [SUTRA_PATH_CHROME] = write_path_chrome};
    TRY(check_output_size(context, path, format, error));
    stage_begin(context, "write", path->search.path.n);
    enum sutra_status status = text_file_write(context, file, writers[format], path, NULL, error);
    stage_end(context);
    return status;
}
