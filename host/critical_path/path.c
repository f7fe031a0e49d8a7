/*
 * path.c - sutra_critical_path_...(): which rules apply, and the way to a file.
 *
 * The reference's rules are tried first, of HTA 0.5, which give the map, then those of 0.6 where they are wanted.
 * Where they give no path, or where the trace has what they do not tell apart, the extended rules give the path; the
 * map of external ids stays the reference's where that has one.
 */
#include "critical_path/path.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "text/counted.h"

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
