/*
 * dlrm.c - sutra_dlrm_...(): the stages one after the other, and what they left out as warnings.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/dlrm/dlrm_names.h"
#include "base/error.h"
#include "base/options.h"
#include "read/fields.h"

#define BATCH_DEFAULT 2048

/* "external id", for events that have no "External id". */
static enum sutra_status read_lower_external(struct sutra_dlrm *dlrm, struct sutra_error *error) {
    const struct device_events *events = dlrm->events;
    const struct document *document = &dlrm->trace->document;
    struct field_reader reader = {.source = &document->source, .values = &dlrm->context->values};
    if (!dlrm->trace->n_lower_external)
        return SUTRA_OK;
    dlrm->lower_external = column_new(events->n, sizeof *dlrm->lower_external);
    if (!dlrm->lower_external)
        return error_memory(error);
    struct events_learned learned = {0};
    for (row_t event = 0; event < events->n; event++) {
        struct event_places places;
        dlrm->lower_external[event] = events->external[event];
        if (events->external[event] != -1)
            continue;
        event_find(dlrm->trace, event, &learned, &places);
        if (places.field[FIELD_LOWER_EXTERNAL].at && !places.field[FIELD_EXTERNAL].at)
            field_int(&reader, places.field[FIELD_LOWER_EXTERNAL], &dlrm->lower_external[event]);
    }
    event_forms_free(&learned.forms);
    buffer_free(&reader.scratch);
    return reader.failed ? error_memory(error) : SUTRA_OK;
}

static enum sutra_status begin(struct sutra_dlrm *dlrm, struct sutra_error *error) {
    uint32_t n = dlrm->trace->strings.n;
    dlrm->name_text = column_new(n, sizeof *dlrm->name_text);
    dlrm->short_text = column_new(n, sizeof *dlrm->short_text);
    if (!dlrm->name_text || !dlrm->short_text || !strings_init(&dlrm->texts))
        return error_memory(error);
    memset(dlrm->name_text, 0xff, n * sizeof *dlrm->name_text);
    memset(dlrm->short_text, 0xff, n * sizeof *dlrm->short_text);
    if (dlrm->options.module_marker && !(dlrm->marker = strdup(dlrm->options.module_marker)))
        return error_memory(error);
    enum sutra_status status = dlrm_roles_find(dlrm, error);
    return status ? status : read_lower_external(dlrm, error);
}

/* Times of the host, once the forest is there. */
static enum sutra_status measure_host(struct sutra_dlrm *dlrm, struct sutra_error *error) {
    const struct dlrm_window *window = &dlrm->window;
    struct sutra_dlrm_report *report = &dlrm->report;
    (void)error;
    dlrm->host = number_subtract(number_subtract(window->end, window->begin), window->skipped);
    report->begin_us = number_as_double(window->begin);
    report->end_us = number_as_double(window->end);
    report->skipped_us = number_as_double(window->skipped);
    report->host_us = number_as_double(dlrm->host);
    report->batch = dlrm->options.batch ? dlrm->options.batch : BATCH_DEFAULT;
    report->qps =
        report->host_us > 0 ? 1e6 / report->host_us * (double)report->iters * (double)report->batch : (double)NAN;
    return SUTRA_OK;
}

static void warn_if(const struct sutra_dlrm *dlrm, uint64_t count, const char *what) {
    if (count)
        context_warn(dlrm->context, "%llu %s", (unsigned long long)count, what);
}

static void warn(const struct sutra_dlrm *dlrm) {
    const struct sutra_dlrm_report *report = &dlrm->report;
    warn_if(dlrm, report->n_without_ts, "events with a duration but no start are left out");
    warn_if(dlrm, report->n_negative, "events with a duration below 0 are left out");
    warn_if(dlrm, report->n_odd_tid, "calls whose tid is more than twice their pid are left out");
    warn_if(dlrm, report->n_crossing,
            "host operators begin inside of another one and end behind it: they stand beside it");
    warn_if(dlrm, report->n_hidden, "host operators of one thread lie in an operator of another thread: left out");
    warn_if(dlrm, report->n_unlaunched,
            "pieces of device work are left out: no call of the runtime before them has their id (calls of the driver "
            "are no launches to this analysis)");
    warn_if(dlrm, report->n_without_stream, "pieces of device work without a stream are left out");
    if (report->n_loaders && report->n_loaders != report->n_forwards)
        context_warn(dlrm->context,
                     "%llu DataLoader events and %llu ## Forward ## events do not pair up: the time of data loading "
                     "counts as time of the host",
                     (unsigned long long)report->n_loaders, (unsigned long long)report->n_forwards);
    if (!(report->host_us > 0))
        context_warn(dlrm->context, "no queries per second: the host's events take no time");
    if (!dlrm->links.n_executed)
        context_warn(dlrm->context,
                     "no device time, breakdown, charts and streams: no kernel or copy has the %s of a "
                     "launch before it",
                     report->compat ? "external id" : "correlation");
    else if (!report->n_streams)
        context_warn(dlrm->context, "no breakdown and charts: no kernel or copy was launched below an operator");
    if (!dlrm->n_ops)
        context_warn(dlrm->context, "no overheads: there is no host operator that is no label");
}

static enum sutra_status run(struct sutra_dlrm *dlrm, struct sutra_error *error) {
    static enum sutra_status (*const stages[])(struct sutra_dlrm *, struct sutra_error *) = {
        begin,
        dlrm_trim,
        dlrm_window_find,
        dlrm_forest_build,
        measure_host,
        dlrm_shapes_read,
        dlrm_operators_find,
        dlrm_device_time_sum,
        dlrm_breakdown_make,
        dlrm_dominating_find,
        dlrm_chart_make,
        dlrm_overheads_measure,
        dlrm_streams_measure,
    };
    enum sutra_status status = SUTRA_OK;
    for (size_t i = 0; i < sizeof stages / sizeof *stages && !status; i++)
        status = stages[i](dlrm, error);
    return status;
}

/* Points the report at the tables. */
static void finish(struct sutra_dlrm *dlrm) {
    struct sutra_dlrm_report *report = &dlrm->report;
    report->n_nodes = dlrm->forest.n;
    report->n_roots = dlrm->forest.n_roots;
    report->n_ops = dlrm->n_ops;
    report->n_launches = dlrm->links.n;
    report->n_launches_executed = dlrm->links.n_executed;
    report->streams = dlrm->streams;
    report->rows = dlrm->rows;
    report->by_time = dlrm->by_time;
    report->dominating = dlrm->dominating;
    report->parts = dlrm->parts;
    report->groups = dlrm->groups;
    report->variants = dlrm->variants;
    report->shares = dlrm->shares;
    report->overheads = dlrm->overheads;
    report->overheads_by_shape = dlrm->overheads_by_shape;
}

enum sutra_status dlrm_options_take(const struct sutra_dlrm_options *given, struct sutra_dlrm_options *taken,
                                    struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_dlrm_options, iteration_us);
    return options_take(&form, given, taken, error);
}

enum sutra_status sutra_dlrm_analyze(struct sutra_context *context, const struct sutra_device_trace *trace,
                                     const struct sutra_dlrm_options *options, struct sutra_dlrm **dlrm,
                                     struct sutra_error *error) {
    struct sutra_dlrm_options taken;
    enum sutra_status status = dlrm_options_take(options, &taken, error);
    if (status)
        return status;
    struct sutra_dlrm *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(error);
    made->context = context;
    made->trace = trace;
    made->events = &trace->events;
    made->options = taken;
    made->report.size = sizeof made->report;
    made->report.compat = made->options.compat;
    context_expect(context, trace->events.n);
    stage_begin(context, "analyze", trace->events.n);
    status = run(made, error);
    stage_end(context);
    if (status) {
        sutra_dlrm_free(made);
        return status;
    }
    finish(made);
    warn(made);
    *dlrm = made;
    return SUTRA_OK;
}

void sutra_dlrm_report(const struct sutra_dlrm *dlrm, struct sutra_dlrm_report *report) {
    report_give(report, &dlrm->report, sizeof dlrm->report);
}

const char *sutra_dlrm_text(const struct sutra_dlrm *dlrm, uint32_t text) {
    return text < dlrm->texts.n ? strings_text(&dlrm->texts, text) : "";
}

static void free_forest(struct dlrm_forest *forest) {
    free(forest->event);
    free(forest->parent);
    free(forest->end);
    free(forest->flags);
    free(forest->link);
}

static void free_device_time(struct dlrm_device_time *time) {
    free(time->group_block);
    free(time->blocks);
    free(time->kernels);
}

static void free_launches(struct dlrm_launches *launches) {
    free(launches->lists);
    free(launches->names);
}

void sutra_dlrm_free(struct sutra_dlrm *dlrm) {
    if (!dlrm)
        return;
    void *const columns[] = {
        dlrm->marker,
        dlrm->roles,
        dlrm->lower_external,
        dlrm->trimmed,
        dlrm->name_text,
        dlrm->short_text,
        dlrm->window.rows,
        dlrm->links.caller,
        dlrm->links.executor,
        dlrm->input_shape,
        dlrm->output_shape,
        dlrm->ops,
        dlrm->op_group,
        dlrm->node_group,
        dlrm->stream_times.list,
        dlrm->streams,
        dlrm->rows,
        dlrm->by_time,
        dlrm->dominating,
        dlrm->parts,
        dlrm->groups,
        dlrm->variants,
        dlrm->shares,
        dlrm->samples.list,
        dlrm->samples_by_shape.list,
        dlrm->overheads,
        dlrm->overheads_by_shape,
        dlrm->stream_names,
        dlrm->op_shapes,
        dlrm->kept,
    };
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        free(columns[i]);
    strings_free(&dlrm->texts);
    free_forest(&dlrm->forest);
    free_device_time(&dlrm->device_time);
    free_device_time(&dlrm->device_time_by_id);
    free_launches(&dlrm->launches);
    free_launches(&dlrm->launches_by_shape);
    free(dlrm);
}
