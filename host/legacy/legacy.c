/*
 * legacy.c - the older linker's way from two traces to what the output holds.
 */
#include "legacy/legacy.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"

static enum sutra_status read_sides(struct sutra_legacy *legacy, struct sutra_context *context,
                                    const struct sutra_legacy_options *options, const char *annotation,
                                    struct sutra_error *error) {
    if (!names_begin(&legacy->names, &legacy->device_trace->strings))
        return error_memory(error);
    enum sutra_status status = host_side_read(&legacy->host, context, legacy->host_trace, &legacy->names, error);
    if (!status && !names_finish(&legacy->names, annotation))
        status = error_memory(error);
    if (!status)
        status = host_side_choose(&legacy->host, context, &legacy->names, !options->exact, &legacy->log, error);
    legacy->report.n_host_ops = legacy->host.n;
    if (!status)
        status = device_side_read(&legacy->device, context, legacy->device_trace, options->all_launches, error);
    if (status)
        return status;
    device_side_choose(&legacy->device, &legacy->names, annotation, legacy->host.n, &legacy->log);
    legacy->report.n_segments = legacy->device.n_segments;
    legacy->report.n_gpu_ops = legacy->device.n_gpu;
    status = device_side_list(&legacy->device, context, &legacy->names, error);
    legacy->report.n_device_ops = legacy->device.n;
    return status;
}

/* Fewer device than host operators: the output has no times and no GPU operators, which a person would not notice. */
static enum sutra_status judge_counts(const struct sutra_legacy *legacy, struct sutra_context *context,
                                      struct sutra_error *error) {
    if (!legacy->report.count_mismatch)
        return SUTRA_OK;
    if (context->options.strict)
        return error_file(
            error, SUTRA_DATA, legacy->host_trace->document.source.name,
            "%u operators of the host trace do not fit %u of the device trace: try another --annotation, or "
            "approximate match, without --exact-match",
            legacy->host.n, legacy->device.n);
    context_warn(
        context,
        "%s: %u operators of the host trace do not fit %u of the device trace: the output holds no times and no "
        "GPU operators; try another --annotation, or approximate match, without --exact-match",
        legacy->host_trace->document.source.name, legacy->host.n, legacy->device.n);
    return SUTRA_OK;
}

/* Exact match without a word; *fits: each operator found one of its own. */
static enum sutra_status try_exact(struct sutra_legacy *legacy, bool *fits, struct sutra_error *error) {
    struct sutra_legacy_report *report = &legacy->report, before = *report;
    struct legacy_log log = legacy->log;
    legacy->log = (struct legacy_log){0};
    enum sutra_status status = exact_match(legacy, error);
    legacy->log = log;
    *fits = !status && report->n_matched == legacy->host.n && report->n_matched_twice == 0;
    if (!*fits)
        *report = before;
    return status == SUTRA_DATA ? SUTRA_OK : status;
}

static enum sutra_status match_any(struct sutra_legacy *legacy, struct sutra_context *context,
                                   const struct sutra_legacy_options *options, struct sutra_error *error) {
    bool fits = false;
    enum sutra_status status = options->positional ? SUTRA_OK : try_exact(legacy, &fits, error);
    if (status)
        return status;
    if (!fits)
        return approximate_match(legacy, context, options, error);
    log_text(&legacy->log, "Exact match fits");
    log_end(&legacy->log, SUTRA_LEGACY_INFO);
    return SUTRA_OK;
}

static enum sutra_status match_sides(struct sutra_legacy *legacy, struct sutra_context *context,
                                     const struct sutra_legacy_options *options, struct sutra_error *error) {
    legacy->match = malloc(((size_t)legacy->host.n + 1) * sizeof *legacy->match);
    if (!legacy->match)
        return error_memory(error);
    enum sutra_status status =
        gpu_groups_build(&legacy->groups, context, &legacy->device, &legacy->log, &legacy->report, error);
    if (!status)
        status = options->exact ? exact_match(legacy, error) : match_any(legacy, context, options, error);
    return status ? status : judge_counts(legacy, context, error);
}

static enum sutra_status link_all(struct sutra_legacy *legacy, struct sutra_context *context,
                                  const struct sutra_legacy_options *options, struct sutra_error *error) {
    const char *annotation = options->annotation ? options->annotation : "DataLoader";
    legacy->report.n_host_nodes = legacy->host_trace->nodes.n;
    stage_begin(context, "list operators", legacy->host_trace->nodes.n);
    enum sutra_status status = read_sides(legacy, context, options, annotation, error);
    stage_begin(context, "match", legacy->host.n);
    if (!status)
        status = match_sides(legacy, context, options, error);
    stage_begin(context, "assemble", legacy->host_trace->nodes.n);
    if (!status)
        status = assemble(legacy, context, error);
    stage_end(context);
    return status;
}

enum sutra_status sutra_legacy_link(struct sutra_context *context, const struct sutra_host_trace *host,
                                    const struct sutra_device_trace *device, const struct sutra_legacy_options *options,
                                    struct sutra_legacy_report *report, struct sutra_legacy **legacy,
                                    struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_legacy_options, arg);
    struct sutra_legacy_options taken;
    enum sutra_status status = options_take(&form, options, &taken, error);
    if (status)
        return status;
    struct sutra_legacy *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(error);
    made->host_trace = host;
    made->device_trace = device;
    made->log = (struct legacy_log){.line = taken.line, .arg = taken.arg};
    context_expect(context, device->events.n);
    status = link_all(made, context, &taken, error);
    log_free(&made->log);
    report_give(report, &made->report, sizeof made->report);
    if (status)
        sutra_legacy_free(made);
    else
        *legacy = made;
    return status;
}

void sutra_legacy_free(struct sutra_legacy *legacy) {
    if (!legacy)
        return;
    names_free(&legacy->names);
    host_side_free(&legacy->host);
    device_side_free(&legacy->device);
    gpu_groups_free(&legacy->groups);
    free(legacy->match);
    free(legacy->change);
    free(legacy->id);
    free(legacy->parent);
    free(legacy->node_match);
    free(legacy->gpu);
    free(legacy);
}
