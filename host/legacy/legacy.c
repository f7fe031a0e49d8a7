/*
 * legacy.c - the older linker's way from two traces to what the output holds.
 *
 *     host trace --host_side--> operators of an iteration  \
 *                                                           match --> assemble --> nodes and GPU nodes
 *     device trace --device_side--> operators of a segment /     \
 *                  --gpu_groups--> GPU operators by the CPU operator that launched them
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/options.h"
#include "context/context.h"
#include "legacy/legacy.h"
#include "link/link.h"
#include "text/numbers.h"
#include "write/sink.h"

/*
 * Writing what was matched as one JSON object, {"1": 55, "2": 20}: durations by the ids of host
 * operators.
 */

static void put_duration(struct buffer *out, int64_t id, struct number dur) {
    char *to = buffer_reserve(out, 3 * NUMBER_TEXT_MAX);
    if (!to)
        return;
    char *begin = to;
    *to++ = '"';
    to += integer_format(id, to);
    *to++ = '"';
    *to++ = ':';
    *to++ = ' ';
    to += number_is_double(dur) ? double_format(number_as_double(dur), to) : integer_format((int64_t)dur.bits, to);
    out->length += (size_t)(to - begin);
}

/* A duration is what is between start and end, which for fractions is rounded. */
static void put_all(const struct sutra_legacy *legacy, struct buffer *out) {
    const struct device_side *device = &legacy->sides.device;
    const struct host_side *host = &legacy->sides.host;
    bool any = false;
    buffer_append(out, "{", 1);
    for (row_t op = 0; op < host->n; op++) {
        row_t entry = legacy->match[op];
        if (entry == ROW_NONE)
            continue;
        struct number ts = number_at(device->ts, entry);
        buffer_append(out, any ? ",\n    " : "\n    ", any ? 6 : 5);
        put_duration(out, host_side_id(host, op), number_subtract(number_add(ts, number_at(device->dur, entry)), ts));
        any = true;
    }
    buffer_append(out, any ? "\n}" : "}", any ? 2 : 1);
}

enum sutra_status sutra_legacy_write_durations(struct sutra_context *context, const struct sutra_legacy *legacy,
                                               const char *path, uint64_t *n_bytes, struct sutra_error *error) {
    struct buffer out = {0};
    struct sink *sink;
    stage_begin(context, "write", legacy->sides.host.n);
    put_all(legacy, &out);
    enum sutra_status status = out.failed ? error_memory(error) : sink_open(&sink, context, path, error);
    if (!status) {
        sink_write(sink, 0, out.bytes, out.length);
        status = sink_close(sink, true, n_bytes, error);
    }
    stage_end(context);
    buffer_free(&out);
    return status;
}

/* A link on its way: where from, how, and who is told. */
struct linking {
    struct sutra_context *context;
    const struct sutra_host_trace *host;
    const struct sutra_device_trace *device;
    const struct sutra_legacy_options *options;
    struct legacy_log log;
    struct sutra_legacy_report report;
    struct sutra_error *error;
};

static enum sutra_status read_host(struct linking *linking, const char *annotation, struct legacy_sides *sides,
                                   struct arena *arena) {
    struct sutra_error *error = linking->error;
    if (!names_begin(&sides->names, &linking->device->strings))
        return error_memory(error);
    enum sutra_status status =
        host_side_read(&sides->host, linking->context, linking->host, &sides->names, arena, error);
    if (!status && !names_finish(&sides->names, annotation, arena))
        status = error_memory(error);
    if (!status)
        status = host_side_choose(&sides->host, linking->context, &sides->names, !linking->options->exact,
                                  &linking->log, arena, error);
    linking->report.n_host_ops = sides->host.n;
    return status;
}

static enum sutra_status read_device(struct linking *linking, const char *annotation, struct legacy_sides *sides,
                                     struct arena *arena) {
    struct device_side *side = &sides->device;
    enum sutra_status status = device_side_read(side, linking->context, linking->device, linking->options->all_launches,
                                                arena, linking->error);
    if (status)
        return status;
    device_side_choose(side, &sides->names, annotation, sides->host.n, &linking->log);
    linking->report.n_segments = side->n_segments;
    linking->report.n_gpu_ops = side->n_gpu + side->n_memory_sets;
    linking->report.n_gpu_memory_sets = side->n_memory_sets;
    status = device_side_list(side, linking->context, &sides->names, arena, linking->error);
    linking->report.n_device_ops = side->n;
    return status;
}

/* Fewer device than host operators: the output has no times and no GPU operators, which a person would not notice. */
static enum sutra_status judge_counts(const struct linking *linking) {
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

/* Exact match without a word; *fits: each operator found one of its own. */
static enum sutra_status try_exact(struct linking *linking, const struct legacy_sides *sides, row_t *match,
                                   bool *fits) {
    struct sutra_legacy_report report = linking->report;
    struct legacy_log silent = {0};
    enum sutra_status status = exact_match(sides, &silent, &report, match, linking->error);
    *fits = !status && report.n_matched == sides->host.n && report.n_matched_twice == 0;
    if (*fits)
        linking->report = report;
    return status == SUTRA_DATA ? SUTRA_OK : status;
}

static enum sutra_status match_any(struct linking *linking, const struct legacy_sides *sides, row_t *match) {
    bool fits = false;
    enum sutra_status status = linking->options->positional ? SUTRA_OK : try_exact(linking, sides, match, &fits);
    if (status)
        return status;
    if (!fits)
        return approximate_match(sides, linking->context, linking->options, &linking->log, &linking->report, match,
                                 linking->error);
    log_info(&linking->log, "Exact match fits");
    return SUTRA_OK;
}

static enum sutra_status match_sides(struct linking *linking, struct sutra_legacy *legacy) {
    const struct legacy_sides *sides = &legacy->sides;
    legacy->match = arena_take(&legacy->arena, sides->host.n, sizeof *legacy->match);
    if (!legacy->match)
        return error_memory(linking->error);
    enum sutra_status status = gpu_groups_build(&legacy->groups, linking->context, &sides->device, &linking->log,
                                                &linking->report, &legacy->arena, linking->error);
    if (!status && linking->options->exact)
        status = exact_match(sides, &linking->log, &linking->report, legacy->match, linking->error);
    else if (!status)
        status = match_any(linking, sides, legacy->match);
    return status ? status : judge_counts(linking);
}

static enum sutra_status link_all(struct linking *linking, struct sutra_legacy *legacy) {
    struct sutra_context *context = linking->context;
    struct legacy_sides *sides = &legacy->sides;
    const char *annotation = linking->options->annotation ? linking->options->annotation : "DataLoader";
    linking->report.n_host_nodes = linking->host->nodes.n;
    stage_begin(context, "list operators", linking->host->nodes.n);
    enum sutra_status status = read_host(linking, annotation, sides, &legacy->arena);
    if (!status)
        status = read_device(linking, annotation, sides, &legacy->arena);
    stage_begin(context, "match", sides->host.n);
    if (!status)
        status = match_sides(linking, legacy);
    stage_begin(context, "assemble", linking->host->nodes.n);
    if (!status)
        status = assemble(&legacy->nodes, context, sides, &legacy->groups, legacy->match, linking->options->most_bytes,
                          &linking->report, &legacy->arena, linking->error);
    stage_end(context);
    return status;
}

enum sutra_status legacy_link(struct sutra_context *context, const struct sutra_host_trace *host,
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
    struct linking linking = {.context = context, .host = host, .device = device, .options = &taken, .error = error};
    linking.log = (struct legacy_log){.line = taken.line, .arg = taken.arg};
    context_expect(context, device->events.n);
    status = link_all(&linking, made);
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
    enum sutra_status status = pairing_look(host, device, &pairing, error);
    if (!status)
        status = pairing_judge(&pairing, context, error);
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
