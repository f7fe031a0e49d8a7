/*
 * legacy.c - the stages of the older linker, from two traces to the nodes of the output.
 *
 *     host trace --host_side--> operators of an iteration \
 *                                                          match --> gpu_groups --> assemble --> nodes and GPU nodes
 *     device trace --device_side--> operators of a segment /
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "context/context.h"
#include "facts/calibration.h"
#include "legacy/legacy.h"
#include "link/pairing.h"
#include "write/text.h"

/* ---- Durations ---- */

/* Writes one JSON object, {"1": 55, "2": 20}: durations by the ids of host operators. A duration is end minus start,
 * which rounds fractions. */
static bool write_durations(const void *of, struct text_out *text) {
    const struct sutra_legacy *legacy = of;
    const struct device_side *device = &legacy->sides.device;
    const struct host_side *host = &legacy->sides.host;
    bool any = false;
    out_add(text, "{");
    for (row_t op = 0; op < host->n; op++) {
        row_t entry = legacy->match[op];
        if (entry == ROW_NONE)
            continue;
        struct number ts = number_at(device->ts, entry);
        struct number dur = number_subtract(number_add(ts, number_at(device->dur, entry)), ts);
        out_add(text, any ? ",\n    \"" : "\n    \"");
        any = true;
        out_integer(text, host_side_id(host, op));
        out_add(text, "\": ");
        if (number_is_double(dur))
            out_number(text, number_as_double(dur));
        else
            out_integer(text, (int64_t)dur.bits);
    }
    out_add(text, any ? "\n}" : "}");
    return true;
}

enum sutra_status sutra_legacy_write_durations(struct sutra_context *context, const struct sutra_legacy *legacy,
                                               const char *path, uint64_t *n_bytes, struct sutra_error *error) {
    stage_begin(context, "write", legacy->sides.host.n);
    enum sutra_status status = text_file_write(context, path, write_durations, legacy, n_bytes, error);
    stage_end(context);
    return status;
}

/* ---- Stages ---- */

/* The inputs of a link, its log and report. */
struct linking {
    struct sutra_context *context;
    const struct sutra_host_trace *host;
    const struct sutra_legacy_options *options;
    struct legacy_log log;
    struct sutra_legacy_report report;
    struct arena scratch; /* of the match */
    struct sutra_error *error;
};

/* Lists the operators of both traces in the arena, the iterations that end at `annotation` (NULL: all) on the host's
 * side and all operators on the device's side. The caller frees the names and the units. SUTRA_DATA: as
 * host_side_read() and host_side_choose(). */
static enum sutra_status read_sides(struct legacy_sides *sides, struct sutra_context *context,
                                    const struct sutra_host_trace *host, const struct sutra_device_trace *device,
                                    const struct sutra_legacy_options *options, struct legacy_log *log,
                                    struct arena *arena, struct sutra_error *error) {
    TRY_ALLOC(names_begin(&sides->names, &device->strings), error);
    TRY(host_side_read(&sides->host, context, host, &sides->names, arena, error));
    TRY_ALLOC(names_finish(&sides->names, options->annotation, arena), error);
    TRY(host_side_choose(&sides->host, context, &sides->names, !options->exact, log, arena, error));
    return device_side_read(&sides->device, context, device, options->all_launches, arena, error);
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

/* Warns, or fails if strict. */
static enum sutra_status doubt(const struct linking *linking, const char *text) {
    const char *file = linking->host->document.source.name;
    if (linking->context->options.strict)
        return error_file(linking->error, SUTRA_STRICT, file, "%s", text);
    context_warn(linking->context, "%s: %s", file, text);
    return SUTRA_OK;
}

/* Matches the operators of both sides, and groups the GPU operators of the segment: exactly if selected; else exactly
 * without a log if each operator has a partner of its own and no sequence number contradicts; else by names. */
static enum sutra_status match_sides(struct linking *linking, struct sutra_legacy *legacy) {
    struct sutra_context *context = linking->context;
    struct legacy_sides *sides = &legacy->sides;
    const struct sutra_legacy_options *options = linking->options;
    struct sutra_legacy_report *report = &linking->report;
    struct legacy_log *log = &linking->log, silent = {0};
    struct sutra_error *error = linking->error;
    struct arena *arena = &legacy->arena, *scratch = &linking->scratch;
    struct legacy_ops ops;
    struct op_match found = {0};
    struct number_counts counts = {0};
    row_t *match = arena_alloc(arena, sides->host.n, sizeof *match);
    legacy->match = match;
    TRY(arena_status(arena, error));
    struct arena_mark mark = arena_mark(arena);
    TRY(device_side_list(&sides->device, context, &sides->names, arena, error));
    report->n_device_ops = sides->device.n;
    if (options->exact || options->positional)
        TRY(gpu_groups_build(&legacy->groups, context, &sides->device, log, report, arena, error));
    if (options->positional)
        return positional_match(sides, context, options->min_match, log, report, match, scratch, error);
    if (options->exact) {
        TRY(exact_match(sides, log, report, match, scratch, error));
        TRY(check_counts(linking));
        TRY(count_numbers(sides, context, match, &counts, scratch, error));
        if (counts.n_different > counts.n_equal)
            TRY(doubt(linking, arena_format(scratch,
                                            "the sequence numbers of %u operators differ: the operators are of another "
                                            "step; use 'sutra link'",
                                            counts.n_different)));
        return SUTRA_OK;
    }

    struct sutra_legacy_report attempt = *report;
    const enum sutra_status status = exact_match(sides, &silent, &attempt, match, scratch, error);
    if (status && status != SUTRA_DATA)
        return status;
    bool is_exact = !status && attempt.n_matched == sides->host.n && attempt.n_matched_twice == 0;
    if (is_exact)
        TRY(count_numbers(sides, context, match, &counts, scratch, error));
    is_exact = is_exact && counts.n_different <= counts.n_equal;

    /* Even if exact match fits, operators of other steps may fit as well, unless numbers agree. */
    const bool needs_names = !is_exact || (counts.n_equal == 0 && sides->device.n_cpu > sides->host.n);
    if (needs_names) {
        TRY(legacy_ops_read(&ops, context, sides, options->max_depth, scratch, error));
        TRY(legacy_ops_match(&ops, context, sides, scratch, &found, error));
    }
    if (is_exact) {
        *report = attempt;
        log_info(log, "Exact match fits");
    }
    report->n_positions = found.n_positions;
    if (!is_exact) {
        arena_release(arena, mark);
        TRY(names_match(sides, context, &ops, &found, options->min_match, log, report, arena, scratch, match, error));
    }
    if (found.n_positions > 1) {
        const bool is_host = found.limits_host;
        TRY(doubt(linking, arena_format(scratch,
                                        "the %s trace fits %u positions of the %s trace equally well: the first one is "
                                        "used",
                                        is_host ? "device" : "host", found.n_positions, is_host ? "host" : "device")));
    }
    return gpu_groups_build(&legacy->groups, context, &sides->device, log, report, arena, error);
}

enum sutra_status sutra_legacy_link(struct sutra_context *context, const struct sutra_host_trace *host,
                                    const struct sutra_device_trace *device, const struct sutra_legacy_options *options,
                                    struct sutra_legacy_report *report, struct sutra_legacy **legacy,
                                    struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_legacy_options, arg);
    struct sutra_legacy_options chosen;
    struct pairing pairing;
    TRY(pairing_inspect(host, device, &pairing, error));
    TRY(pairing_check(&pairing, context, error));
    TRY(options_copy(&form, options, &chosen, error));
    struct sutra_legacy *made = calloc(1, sizeof *made);
    TRY_ALLOC(made, error);
    if (!chosen.annotation)
        chosen.annotation = "DataLoader";
    struct linking linking = {.context = context, .host = host, .options = &chosen, .error = error};
    struct legacy_sides *sides = &made->sides;
    struct sutra_legacy_report *found = &linking.report;
    linking.log = (struct legacy_log){.line = chosen.line, .arg = chosen.arg};
    found->n_host_nodes = host->nodes.n;
    choose_engine_for_matching(context, device);
    stage_begin(context, "list operators", host->nodes.n);
    enum sutra_status status = read_sides(sides, context, host, device, &chosen, &linking.log, &made->arena, error);
    found->n_host_ops = sides->host.n;
    if (!status) {
        device_side_choose(&sides->device, &sides->names, chosen.annotation, sides->host.n, &linking.log);
        found->n_segments = sides->device.n_segments;
        found->n_gpu_ops = sides->device.n_gpu + sides->device.n_memory_sets;
        found->n_gpu_memory_sets = sides->device.n_memory_sets;
    }
    stage_begin(context, "match", sides->host.n);
    if (!status)
        status = match_sides(&linking, made);
    stage_begin(context, "assemble", host->nodes.n);
    if (!status)
        status = assemble(&made->nodes, context, sides, &made->groups, made->match, chosen.most_bytes, found,
                          &made->arena, error);
    stage_end(context);
    arena_free(&linking.scratch);
    buffer_free(&linking.log.text);
    report_give(report, found, sizeof *found);
    if (status)
        sutra_legacy_free(made);
    else
        *legacy = made;
    return status;
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
