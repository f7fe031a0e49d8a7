/*
 * legacy.c - the stages of the older linker, from two traces to the nodes of the output; and its log lines.
 *
 *     host trace --host_side--> operators of an iteration  \
 *                                                           match --> assemble --> nodes and GPU nodes
 *     device trace --device_side--> operators of a segment /     \
 *                  --gpu_groups--> GPU operators by the CPU operator that launched them
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "context/context.h"
#include "legacy/legacy.h"
#include "link/link.h"
#include "text/numbers.h"
#include "write/sink.h"

/* ---- Log lines (log.h) ---- */

void log_text(struct legacy_log *log, const char *format, ...) {
    va_list list;
    va_start(list, format);
    if (log->line)
        buffer_vformat(&log->text, format, list);
    va_end(list);
}

void log_info(struct legacy_log *log, const char *format, ...) {
    va_list list;
    va_start(list, format);
    if (log->line)
        buffer_vformat(&log->text, format, list);
    va_end(list);
    log_end(log, SUTRA_LEGACY_INFO);
}

void log_bytes(struct legacy_log *log, const char *bytes, size_t n) {
    if (log->line)
        buffer_append(&log->text, bytes, n);
}

void log_number(struct legacy_log *log, struct number number) {
    char text[NUMBER_TEXT_MAX];
    if (number.kind == NUMBER_BOOLEAN)
        log_text(log, "%s", number.bits ? "True" : "False");
    else
        log_bytes(log, text,
                  number.kind == NUMBER_DOUBLE ? double_format(number_as_double(number), text)
                                               : integer_format((int64_t)number.bits, text));
}

void log_end(struct legacy_log *log, enum sutra_legacy_line kind) {
    if (log->line && !log->text.failed)
        log->line(log->arg, kind, log->text.bytes, log->text.length);
    log->text.length = 0;
    log->text.failed = false;
}

/* ---- Durations ---- */

/* Writes one JSON object, {"1": 55, "2": 20}: durations by the ids of host operators. A duration is end minus start,
 * which rounds fractions. */
enum sutra_status sutra_legacy_write_durations(struct sutra_context *context, const struct sutra_legacy *legacy,
                                               const char *path, uint64_t *n_bytes, struct sutra_error *error) {
    struct buffer out = {0};
    struct sink *sink;
    stage_begin(context, "write", legacy->sides.host.n);
    const struct device_side *device = &legacy->sides.device;
    const struct host_side *host = &legacy->sides.host;
    bool any = false;
    buffer_append_text(&out, "{");
    for (row_t op = 0; op < host->n; op++) {
        row_t entry = legacy->match[op];
        if (entry == ROW_NONE)
            continue;
        struct number ts = number_at(device->ts, entry);
        struct number dur = number_subtract(number_add(ts, number_at(device->dur, entry)), ts);
        buffer_append(&out, any ? ",\n    \"" : "\n    \"", any ? 7 : 6);
        any = true;
        char *begin = buffer_reserve(&out, 3 * NUMBER_TEXT_MAX), *to = begin;
        if (!begin)
            break;
        to += integer_format(host_side_id(host, op), to);
        memcpy(to, "\": ", 3);
        to += 3;
        to += number_is_double(dur) ? double_format(number_as_double(dur), to) : integer_format((int64_t)dur.bits, to);
        out.length += (size_t)(to - begin);
    }
    buffer_append(&out, any ? "\n}" : "}", any ? 2 : 1);
    enum sutra_status status = out.failed ? error_memory(error) : sink_open(&sink, context, path, error);
    if (!status) {
        sink_write(sink, 0, out.bytes, out.length);
        status = sink_close(sink, true, n_bytes, error);
    }
    stage_end(context);
    buffer_free(&out);
    return status;
}

/* ---- Stages ---- */

/* The inputs of a link, its log and report. */
struct linking {
    struct sutra_context *context;
    const struct sutra_host_trace *host;
    const struct sutra_device_trace *device;
    const struct sutra_legacy_options *options;
    struct legacy_log log;
    struct sutra_legacy_report report;
    struct sutra_error *error;
};

/* Reads the operators of both traces. */
static enum sutra_status read_sides(struct linking *linking, struct legacy_sides *sides, struct arena *arena) {
    struct sutra_context *context = linking->context;
    struct sutra_legacy_report *report = &linking->report;
    struct sutra_error *error = linking->error;
    struct host_side *host = &sides->host;
    struct device_side *device = &sides->device;
    const char *annotation = linking->options->annotation ? linking->options->annotation : "DataLoader";
    if (!names_begin(&sides->names, &linking->device->strings))
        return error_memory(error);
    enum sutra_status status = host_side_read(host, context, linking->host, &sides->names, arena, error);
    if (!status && !names_finish(&sides->names, annotation, arena))
        status = error_memory(error);
    if (!status)
        status = host_side_choose(host, context, &sides->names, !linking->options->exact, &linking->log, arena, error);
    report->n_host_ops = host->n;
    if (!status)
        status = device_side_read(device, context, linking->device, linking->options->all_launches, arena, error);
    if (status)
        return status;
    device_side_choose(device, &sides->names, annotation, host->n, &linking->log);
    report->n_segments = device->n_segments;
    report->n_gpu_ops = device->n_gpu + device->n_memory_sets;
    report->n_gpu_memory_sets = device->n_memory_sets;
    status = device_side_list(device, context, &sides->names, arena, error);
    report->n_device_ops = device->n;
    return status;
}

/* With fewer device than host operators, the output has no times and no GPU operators: warn, or fail if strict. */
static enum sutra_status check_counts(const struct linking *linking) {
    const struct sutra_legacy_report *report = &linking->report;
    const char *file = linking->host->document.source.name;
    if (!report->count_mismatch)
        return SUTRA_OK;
    if (linking->context->options.strict)
        return error_file(
            linking->error, SUTRA_DATA, file,
            "the host trace has %u operators, the device trace %u: try another --annotation, or approximate match, "
            "without --exact-match",
            (row_t)report->n_host_ops, (row_t)report->n_device_ops);
    context_warn(
        linking->context,
        "%s: the host trace has %u operators, the device trace %u: the output has no times and no GPU operators; try "
        "another --annotation, or approximate match, without --exact-match",
        file, (row_t)report->n_host_ops, (row_t)report->n_device_ops);
    return SUTRA_OK;
}

/* Matches the operators of both sides: exactly if selected, else exactly without a log if each operator has a partner
 * of its own, else approximately. */
static enum sutra_status match_sides(struct linking *linking, struct sutra_legacy *legacy) {
    const struct legacy_sides *sides = &legacy->sides;
    const struct sutra_legacy_options *options = linking->options;
    struct sutra_error *error = linking->error;
    row_t *match = arena_alloc(&legacy->arena, sides->host.n, sizeof *match);
    legacy->match = match;
    if (!match)
        return error_memory(error);
    enum sutra_status status = gpu_groups_build(&legacy->groups, linking->context, &sides->device, &linking->log,
                                                &linking->report, &legacy->arena, error);
    if (status)
        return status;
    if (options->exact) {
        status = exact_match(sides, &linking->log, &linking->report, match, error);
        return status ? status : check_counts(linking);
    }
    if (!options->positional) {
        struct sutra_legacy_report report = linking->report;
        struct legacy_log silent = {0};
        status = exact_match(sides, &silent, &report, match, error);
        if (!status && report.n_matched == sides->host.n && report.n_matched_twice == 0) {
            linking->report = report;
            log_info(&linking->log, "Exact match fits");
            return check_counts(linking);
        }
        if (status && status != SUTRA_DATA)
            return status;
    }
    status = approximate_match(sides, linking->context, options, &linking->log, &linking->report, match, error);
    return status ? status : check_counts(linking);
}

enum sutra_status legacy_link(struct sutra_context *context, const struct sutra_host_trace *host,
                              const struct sutra_device_trace *device, const struct sutra_legacy_options *options,
                              struct sutra_legacy_report *report, struct sutra_legacy **legacy,
                              struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_legacy_options, arg);
    struct sutra_legacy_options chosen;
    enum sutra_status status = options_copy(&form, options, &chosen, error);
    if (status)
        return status;
    struct sutra_legacy *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(error);
    struct linking linking = {.context = context, .host = host, .device = device, .options = &chosen, .error = error};
    linking.log = (struct legacy_log){.line = chosen.line, .arg = chosen.arg};
    linking.report.n_host_nodes = host->nodes.n;
    context_expect(context, device->events.n);
    stage_begin(context, "list operators", host->nodes.n);
    status = read_sides(&linking, &made->sides, &made->arena);
    stage_begin(context, "match", made->sides.host.n);
    if (!status)
        status = match_sides(&linking, made);
    stage_begin(context, "assemble", host->nodes.n);
    if (!status)
        status = assemble(&made->nodes, context, &made->sides, &made->groups, made->match, chosen.most_bytes,
                          &linking.report, &made->arena, error);
    stage_end(context);
    buffer_free(&linking.log.text);
    report_give(report, &linking.report, sizeof linking.report);
    if (status)
        sutra_legacy_free(made);
    else
        *legacy = made;
    return status;
}

enum sutra_status sutra_legacy_link(struct sutra_context *context, const struct sutra_host_trace *host,
                                    const struct sutra_device_trace *device, const struct sutra_legacy_options *options,
                                    struct sutra_legacy_report *report, struct sutra_legacy **legacy,
                                    struct sutra_error *error) {
    struct pairing pairing;
    enum sutra_status status = pairing_inspect(host, device, &pairing, error);
    if (!status)
        status = pairing_check(&pairing, context, error);
    return status ? status : legacy_link(context, host, device, options, report, legacy, error);
}

void sutra_legacy_free(struct sutra_legacy *legacy) {
    if (!legacy)
        return;
    strings_free(&legacy->sides.names.table);
    host_ops_free(&legacy->sides.host.units);
    key_index_free(&legacy->groups.index);
    arena_free(&legacy->arena);
    free(legacy);
}
