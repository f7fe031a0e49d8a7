/*
 * link.c - links host operators to CPU operators by rf_id and numbers the nodes of ET+ (implements link.h).
 *
 *     host trace   -> host_ops.c    units ascending by id ----+
 *                                                             +--> unit -> CPU operator, new ids, ctrl_deps
 *     device trace -> device_ops.c  CPU and GPU operators ----+
 *
 * sync_deps.c then adds the dependencies on GPU nodes. Cost: O(n) after the sorts of both sides.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/options.h"
#include "base/shared.h"
#include "columns/column.h"
#include "context/context.h"
#include "facts/names.h"
#include "facts/times.h"
#include "facts/validity.h"
#include "link/link.h"
#include "read/document.h"
#include "text/quantities.h"

/* ---- Pairing: were both traces recorded together? ---- */

/* The host trace records local time in whole seconds, and its observer runs a little longer or shorter than the
 * profiler: try all time zones, in quarters of an hour, with two seconds of tolerance. */
#define ZONE_STEP  900.0
#define ZONE_STEPS 56
#define TOLERANCE  2.0

/* Timestamps before the year 2001 do not count from 1970. */
#define MIN_EPOCH 1e9

static bool member_number(const struct document *document, const char *name, struct number *number) {
    const struct document_member *member = document_find(document, name);
    return member && field_number(document->source.bytes + member->value, number);
}

/* Seconds from 1970 in which a host trace was recorded, as if its time zone were UTC. False: unknown. */
static bool read_host_span(const struct document *document, double *begin, double *end) {
    struct number start, finish; /* in milliseconds since boot */
    const struct document_member *member = document_find(document, "time");
    size_t n_left = member ? document->source.size - member->value : 0;
    char text[20] = {0}; /* "2026-11-21 08:03:46" */
    if (!member_number(document, "start_ts", &start) || !member_number(document, "finish_ts", &finish) ||
        n_left <= sizeof text || document->source.bytes[member->value] != '"')
        return false;
    memcpy(text, document->source.bytes + member->value + 1, sizeof text - 1);
    struct tm tm = {0};
    const char *text_end = strptime(text, "%Y-%m-%d %H:%M:%S", &tm);
    if (!text_end || *text_end)
        return false;
    *begin = (double)timegm(&tm);
    *end = *begin + (number_as_double(finish) - number_as_double(start)) / 1e3;
    return *begin <= *end;
}

/* Whether the device trace and the host trace overlap in any time zone of the host trace. Seconds from 1970. */
static bool spans_overlap(double begin, double end, double host_begin, double host_end) {
    bool overlaps = false;
    for (int zone = -ZONE_STEPS; zone <= ZONE_STEPS && !overlaps; zone++) {
        double shift = zone * ZONE_STEP;
        overlaps = begin <= host_end + shift + TOLERANCE && end >= host_begin + shift - TOLERANCE;
    }
    return overlaps;
}

static void range_add(struct rf_range *range, value_key rf) {
    if (!key_is_value(rf))
        return;
    range->n_zero += rf == 0;
    range->n_ids += rf != 0;
    if (rf == 0 || !key_is_integer(rf))
        return;
    range->low = MIN(rf, range->low);
    range->high = MAX(rf, range->high);
}

/* Whether GPU activities span a hundred times the time of the CPU operators, but as nanoseconds they would fit. */
static bool fits_in_ns(const struct us_range *gpu, const struct us_range *cpu) {
    double span = cpu->end - cpu->begin;
    return gpu->n && cpu->n && span > 0 && gpu->end > cpu->end + 100 * span && gpu->end / 1e3 <= cpu->end + span &&
           gpu->begin / 1e3 >= cpu->begin && (gpu->end - gpu->begin) / 1e3 > span / 100;
}

static const struct rf_range no_range = {.low = INT64_MAX, .high = INT64_MIN};

enum sutra_status pairing_inspect(const struct sutra_host_trace *host, const struct sutra_device_trace *device,
                                  struct pairing *pairing, struct sutra_error *error) {
    struct arena scratch = {0};
    const struct string_roles *roles = names_find(&device->strings, READER_LINKER, &scratch);
    if (!roles)
        return error_memory(error);
    struct number pid, base = number_integer(0);
    *pairing = (struct pairing){.host_name = host->document.source.name,
                                .device_name = device->document.source.name,
                                .n_nodes = host->nodes.n,
                                .linked = document_is_linked(&host->document),
                                .host = no_range,
                                .device = no_range};
    pairing->other_process = member_number(&host->document, "pid", &pid) && !number_is_double(pid);
    if (pairing->other_process)
        pairing->host_pid = (int64_t)pid.bits;
    for (row_t node = 0; node < host->nodes.n; node++)
        range_add(&pairing->host, host->nodes.rf[node]);
    const struct trace_defect *outside = &host->validity->defects[DEFECT_NOT_BELOW_ROOT];
    if (host->validity->lacks_thread && 2 * outside->count >= host->nodes.n)
        snprintf(pairing->absent_thread, sizeof pairing->absent_thread,
                 "%s from the host trace, so that %s of its %s are not below the root; record both traces again: the "
                 "observer loses nodes if an operator raises an exception",
                 outside->cause, count_text(outside->count).text, counted_text(host->nodes.n, "node", "nodes").text);

    /* Processes, ids and time range of the CPU operators. */
    const struct device_events *events = &device->events;
    struct us_range cpu = {0}, gpu = {0};
    for (row_t event = 0; event < events->n; event++) {
        const uint32_t category = category_roles(events, roles, event);
        if (category & CATEGORY_WORK)
            us_range_add(&gpu, events, event);
        if (!(category & CATEGORY_CPU_OP))
            continue;
        value_key op_pid = events->pid[event];
        if (cpu.n == 0)
            pairing->device_pid = op_pid;
        if (!key_is_integer(op_pid) || op_pid == pairing->host_pid)
            pairing->other_process = false;
        range_add(&pairing->device, events->rf[event]);
        us_range_add(&cpu, events, event);
    }
    pairing->n_cpu_ops = cpu.n;
    pairing->gpu_in_ns = fits_in_ns(&gpu, &cpu);
    pairing->other_process &= pairing->n_cpu_ops > 0;
    pairing->truncated = device->document.truncated;
    pairing->no_events = device_trace_is_empty(device);
    pairing->no_categories = !pairing->no_events && device_trace_check_events(device, NULL) != SUTRA_OK;

    /* Timestamps count from a base that the trace records; in older traces from 1970. */
    member_number(&device->document, "baseTimeNanoseconds", &base);
    double base_s = number_as_double(base) / 1e9, host_begin, host_end;
    if (cpu.begin <= cpu.end && cpu.n && base_s + cpu.begin / 1e6 >= MIN_EPOCH &&
        read_host_span(&host->document, &host_begin, &host_end)) {
        pairing->other_time = !spans_overlap(base_s + cpu.begin / 1e6, base_s + cpu.end / 1e6, host_begin, host_end);
        pairing->in_ns = pairing->other_time &&
                         spans_overlap(base_s + cpu.begin / 1e9, base_s + cpu.end / 1e9, host_begin, host_end);
    }
    arena_free(&scratch);
    return SUTRA_OK;
}

bool pairing_misfit(const struct pairing *pairing, char text[static PAIRING_TEXT]) {
    if (pairing->linked)
        snprintf(text, PAIRING_TEXT, "%.300s is already linked (ET+): use the host trace that was linked",
                 pairing->host_name);
    else if (pairing->other_process)
        snprintf(
            text, PAIRING_TEXT,
            "%.300s is of process %lld, %.300s of process %lld: these look like traces of two ranks or runs; use both "
            "traces of one rank",
            pairing->host_name, (long long)pairing->host_pid, pairing->device_name, (long long)pairing->device_pid);
    else if (pairing->in_ns)
        snprintf(text, PAIRING_TEXT,
                 "%.300s: times of the device trace are in ns: expected us; divide ts and dur of its events by 1,000",
                 pairing->device_name);
    else if (pairing->gpu_in_ns)
        snprintf(text, PAIRING_TEXT,
                 "%.300s: times of the GPU activities are in ns: expected us; divide their ts and dur by 1,000",
                 pairing->device_name);
    else if (pairing->other_time)
        snprintf(
            text, PAIRING_TEXT,
            "%.300s and %.300s were not recorded at the same time: these look like traces of two runs; use both traces "
            "of one run",
            pairing->host_name, pairing->device_name);
    return pairing->linked || pairing->other_process || pairing->other_time || pairing->gpu_in_ns;
}

enum sutra_status pairing_check(const struct pairing *pairing, struct sutra_context *context,
                                struct sutra_error *error) {
    char text[PAIRING_TEXT];
    if (!pairing_misfit(pairing, text))
        return SUTRA_OK;
    if (context->options.strict)
        return error_set(error, SUTRA_STRICT, "%s", text);
    context_warn(context, "%s", text);
    return SUTRA_OK;
}

const char *pairing_cause(const struct pairing *pairing) {
    const struct rf_range *host = &pairing->host, *device = &pairing->device;
    if (pairing->n_nodes == 0)
        return "the host trace has no nodes";
    if (pairing->no_events)
        return "the device trace has no events; record at least one step between start() and stop() of torch.profiler";
    if (pairing->no_categories)
        return "the device trace has no event with a category, so it is not a trace of PyTorch's profiler";
    if (pairing->n_cpu_ops == 0)
        return "the device trace has no CPU operators; record it with ProfilerActivity.CPU";
    if (device->n_ids == 0 && device->n_zero)
        return "all record-function ids of the device trace are 0, as in PyTorch 2.2 and 2.3, and in later versions "
               "without an active observer; record both traces together with PyTorch 2.4.1 or later";
    if (host->n_ids == 0 && host->n_zero)
        return "all record-function ids of the host trace are 0, as in PyTorch 2.2 and 2.3; record both traces "
               "together with PyTorch 2.4.1 or later";
    if (device->n_ids == 0)
        return "the device trace has no record-function ids, as before PyTorch 2.4; record both traces together with "
               "PyTorch 2.4.1 or later";
    if (host->n_ids == 0)
        return "the host trace has no record-function ids; record both traces together with PyTorch 2.4.1 or later";
    if (pairing->other_process)
        return "the traces are of two processes; use both traces of one rank";
    if (pairing->in_ns)
        return "times of the device trace are in ns: expected us";
    if (pairing->other_time)
        return "the traces were not recorded at the same time; use both traces of one run";
    if (*pairing->absent_thread)
        return pairing->absent_thread;
    if (pairing->truncated)
        return "the file of the device trace is truncated; record again, or copy the file again";
    if (host->low <= host->high && device->low <= device->high) {
        if (host->high < device->low || device->high < host->low)
            return "the traces have no step in common: their record-function ids do not overlap; record both traces "
                   "together";
        if (host->low < device->low || host->high > device->high)
            return "the host trace contains steps or threads that the device trace lacks; record both traces together, "
                   "with _ExperimentalConfig(profile_all_threads=True) if the script starts threads";
    }
    return "check that both traces are of the same run and rank";
}

/* ---- Linking ---- */

enum event_class event_classify(const struct device_events *events, const struct string_roles *roles, row_t event) {
    uint32_t category = category_roles(events, roles, event), name = name_roles(events, roles, event);
    if (category & (CATEGORY_CPU_OP | CATEGORY_ANNOTATION))
        return name & NAME_STEP ? EVENT_OTHER : EVENT_CPU_OP;
    if (category & CATEGORY_CALL)
        return name & NAME_LAUNCH ? EVENT_LAUNCH : EVENT_OTHER;
    if (category & CATEGORY_LINKED_WORK)
        return EVENT_GPU_OP;
    if (category & CATEGORY_SET)
        return EVENT_MEMORY_SET;
    return category & CATEGORY_LAUNCH_FLOW ? EVENT_LAUNCH_FLOW : EVENT_OTHER;
}

/* Finds the unit that each unit waits for: if its CPU operator waits for one of another thread, the last unit up to
 * this one that is linked to that operator. */
static enum sutra_status find_waits(struct sutra_linked *linked, struct sutra_error *error) {
    const struct device_ops *ops = &linked->ops;
    struct arena_mark mark = arena_mark(&linked->arena);
    row_t *op_unit = rows_none(&linked->arena, ops->cpu.n);
    if (!op_unit)
        return error_memory(error);
    for (row_t unit = 0; unit < linked->units.n_units; unit++) {
        row_t op = linked->unit_op[unit];
        linked->unit_after[unit] = ROW_NONE;
        if (op == ROW_NONE)
            continue;
        op_unit[op] = unit;
        if (ops->waits_for[op] != ROW_NONE)
            linked->unit_after[unit] = op_unit[ops->waits_for[op]];
        linked->report.n_inter_thread += linked->unit_after[unit] != ROW_NONE;
    }
    arena_release(&linked->arena, mark);
    return SUTRA_OK;
}

/* Numbers units and entries, and counts the GPU operators whose CPU operator no host operator is linked to. */
static enum sutra_status number_units(struct sutra_linked *linked, struct sutra_error *error) {
    const struct host_ops *units = &linked->units;
    const struct device_ops *ops = &linked->ops;
    uint64_t id = 0, entry = 0;
    struct arena_mark mark = arena_mark(&linked->arena);
    uint8_t *has_unit = arena_zeros(&linked->arena, ops->n_groups, 1);
    if (!has_unit)
        return error_memory(error);
    for (row_t unit = 0; unit < units->n_units; unit++) {
        row_t n_gpu = 0, op = linked->unit_op[unit];
        row_t group = op == ROW_NONE ? ROW_NONE : key_index_find(&ops->groups, ops->cpu.external[op]);
        if (group != ROW_NONE) {
            has_unit[group] = 1;
            n_gpu = ops->group_start[group + 1] - ops->group_start[group];
        }
        linked->unit_id[unit] = (row_t)id;
        linked->unit_entry[unit] = (row_t)entry;
        id += 1 + (uint64_t)n_gpu;
        entry += (uint64_t)(units->unit_start[unit + 1] - units->unit_start[unit]) + n_gpu;
        linked->report.n_gpu_nodes += n_gpu;
        if (entry + units->n_nodes > ROW_LIMIT) /* each node may name one more in its ctrl_deps */
            return error_set(error, SUTRA_DATA,
                             "the output would have more than %u nodes: many host operators share one external id",
                             ROW_LIMIT);
    }
    linked->unit_entry[units->n_units] = (row_t)entry;
    linked->unit_id[units->n_units] = (row_t)id;
    linked->report.n_nodes = entry;
    for (row_t group = 0; group < ops->n_groups; group++)
        if (!has_unit[group])
            linked->report.n_gpu_host_unmatched += ops->group_start[group + 1] - ops->group_start[group];
    arena_release(&linked->arena, mark);
    return SUTRA_OK;
}

/* Replaces ids in ctrl_deps by new ids. Ids that no node has get new ids after all others, in the order of output. */
static enum sutra_status renumber_ctrl_deps(struct sutra_linked *linked, struct sutra_context *context,
                                            struct sutra_error *error) {
    const struct host_ops *units = &linked->units;
    struct arena *arena = &linked->arena;
    struct arena_mark mark = arena_mark(arena);
    row_t *unknown = arena_alloc(arena, units->n_nodes, sizeof *unknown), n = 0;
    if (!unknown)
        return error_memory(error);
    for (row_t i = 0; i < units->n_nodes; i++) {
        value_key key = linked->host->nodes.ctrl_deps[units->node[i]];
        linked->ctrl_deps[i] = CTRL_DEPS_NONE;
        if (key == KEY_ABSENT)
            continue;
        row_t unit = key_index_find(&units->ids, key);
        if (unit == ROW_NONE)
            unknown[n++] = i;
        else
            linked->ctrl_deps[i] = linked->unit_id[unit];
    }

    value_key *keys = arena_alloc(arena, n, sizeof *keys);
    row_t *number = arena_alloc(arena, n, sizeof *number);
    struct key_index index = {0};
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < n && !status; i++)
        keys[i] = linked->host->nodes.ctrl_deps[units->node[unknown[i]]];
    if (!status)
        status = key_index_build(&index, &context->engine, keys, n, KEY_FIRST, NULL, error);
    if (!status)
        key_index_number(&index, keys, n, number);
    for (row_t i = 0; i < n && !status; i++)
        linked->ctrl_deps[unknown[i]] = linked->unit_id[units->n_units] + number[i];
    key_index_free(&index);
    arena_release(arena, mark);
    return status;
}

/* Warns about exclusive durations below 0; strict: fails. */
static enum sutra_status check_durations(const struct sutra_linked *linked, struct sutra_context *context,
                                         struct sutra_error *error) {
    const struct exclusive_anomalies *found = &linked->ops.anomalies;
    if (found->n_rounded)
        context_warn(context, "exclusive durations below 0 by rounding: %llu; replaced by 0",
                     (unsigned long long)found->n_rounded);
    if (!found->n_replaced)
        return SUTRA_OK;
    row_t event = linked->ops.cpu_event[found->first_replaced];
    if (context->options.strict) {
        source_error(&linked->device->document.source, error, linked->device->events.text[event],
                     "event %u: its exclusive duration is below 0 (the first of %llu events)", event,
                     (unsigned long long)found->n_replaced);
        if (error)
            error->status = SUTRA_STRICT;
        return SUTRA_STRICT;
    }
    context_warn(context,
                 "exclusive durations below 0 (the first is event %u): %llu; replaced by the inclusive duration, or 0",
                 event, (unsigned long long)found->n_replaced);
    return SUTRA_OK;
}

/* Launches by calls that chakra_trace_link does not know are a defect if they have more than this share of GPU time. */
#define UNKNOWN_LAUNCH_SHARE 0.05

static enum sutra_status check_unknown_launches(struct sutra_linked *linked, struct sutra_context *context,
                                                struct sutra_error *error) {
    const struct device_ops *ops = &linked->ops;
    struct trace_validity *found = &linked->found;
    struct trace_defect *defect = &found->defects[DEFECT_UNKNOWN_LAUNCH];
    found->gpu_us = linked->device->validity->gpu_us;
    if (ops->unknown_launch.gpu_us <= UNKNOWN_LAUNCH_SHARE * found->gpu_us)
        return SUTRA_OK;
    *defect = ops->unknown_launch;
    defect->of = ops->n_gpu;
    snprintf(defect->cause, sizeof defect->cause, "%.*s", (int)sizeof defect->cause - 1,
             call_names_text(linked->unknown_calls, linked->n_unknown_calls).text);
    return context->holds_defects ? SUTRA_OK : validity_report(context, found, NULL, error);
}

static enum sutra_status link_all(struct sutra_linked *linked, struct sutra_context *context,
                                  const struct sutra_link_options *options, struct sutra_error *error) {
    struct sutra_link_report *report = &linked->report;
    struct arena *arena = &linked->arena;
    struct pairing pairing;
    context_expect(context, linked->device->events.n);
    enum sutra_status status = pairing_inspect(linked->host, linked->device, &pairing, error);
    if (!status)
        status = pairing_check(&pairing, context, error);
    if (!status)
        status = device_ops_build(&linked->ops, context, linked->device, options->any_launch, arena, error);
    linked->unknown_calls = linked->ops.unknown_calls;
    linked->n_unknown_calls = linked->ops.n_unknown_calls;
    linked->ops.unknown_calls = NULL;
    stage_begin(context, "link", linked->host->nodes.n);
    if (!status)
        status = check_durations(linked, context, error);
    if (!status)
        status = check_unknown_launches(linked, context, error);
    if (!status)
        status = host_ops_build(&linked->units, context, linked->host, arena, error);
    if (!status)
        status = context_check_cancelled(context, error);
    if (status)
        return status;
    size_t n = (size_t)linked->units.n_units + 1;
    linked->unit_op = arena_alloc(arena, n, sizeof *linked->unit_op);
    linked->unit_after = arena_alloc(arena, n, sizeof *linked->unit_after);
    linked->unit_entry = arena_alloc(arena, n, sizeof *linked->unit_entry);
    linked->unit_id = arena_zeros(arena, n, sizeof *linked->unit_id);
    linked->ctrl_deps = arena_alloc(arena, linked->units.n_nodes, sizeof *linked->ctrl_deps);
    status = arena_status(arena, error);
    if (!status)
        status = match_units(linked, context, options, &pairing, error);
    if (!status)
        status = find_waits(linked, error);

    /* Warn if less than half of the operators are linked, with the cause; strict: fail. */
    unsigned long long n_linked = report->n_host_linked, n_ops = report->n_host_ops;
    if (!status && !linked->match.by_names && (n_ops == 0 || 2 * n_linked < n_ops)) {
        static const char few_linked[] = "%s%llu of %llu host operators are linked: %s";
        const char *head = n_linked ? "" : "nothing matches: ", *cause = pairing_cause(&pairing);
        if (context->options.strict)
            status = error_set(error, SUTRA_STRICT, few_linked, head, n_linked, n_ops, cause);
        else
            context_warn(context, few_linked, head, n_linked, n_ops, cause);
    }
    if (!status)
        status = number_units(linked, error);
    if (!status)
        status = renumber_ctrl_deps(linked, context, error);

    const struct device_ops *ops = &linked->ops;
    report->n_host_nodes = linked->host->nodes.n;
    report->n_events = linked->device->events.n;
    report->n_cpu_ops = ops->cpu.n;
    report->n_gpu_ops = ops->n_gpu + ops->n_memory_sets;
    report->n_gpu_memory_sets = ops->n_memory_sets;
    report->n_gpu_with_parent = ops->n_grouped;
    report->n_gpu_without_launch = ops->n_without_launch;
    report->n_gpu_unknown_launch = ops->unknown_launch.count;
    report->n_gpu_without_parent = ops->n_without_parent;
    report->n_exclusive_rounded = ops->anomalies.n_rounded;
    report->n_exclusive_replaced = ops->anomalies.n_replaced;
    report->n_fields_dropped =
        linked->host->n_fields_dropped + linked->device->n_fields_dropped + ops->n_fields_dropped;
    if (ops->n_untimed)
        context_warn(
            context, "%s no start or no duration: using 0",
            counted_text(ops->n_untimed, "operator of the device trace has", "operators of the device trace have")
                .text);
    if (report->n_fields_dropped)
        context_warn(
            context, "%s ignored",
            counted_text(report->n_fields_dropped, "field of the wrong type was", "fields of the wrong type were")
                .text);
    return status;
}

/* Measures the part of the device trace that the linked operators cover. O(events). */
static void measure_coverage(struct sutra_linked *linked) {
    const struct device_ops *ops = &linked->ops;
    const struct device_events *events = &linked->device->events;
    struct us_range covered = {0}, steps = {0}, all = {0};
    for (row_t unit = 0; unit < linked->units.n_units; unit++) {
        row_t op = linked->unit_op[unit], n;
        if (op == ROW_NONE)
            continue;
        us_range_add(&covered, events, ops->cpu_event[op]);
        const row_t *gpu = device_ops_group(ops, op, &n);
        for (row_t i = 0; i < n; i++)
            us_range_add(&covered, events, gpu[i]);
    }
    for (row_t i = 0; i < ops->cpu.n; i++)
        us_range_add(&all, events, ops->cpu_event[i]);
    bool has_steps = false;
    for (uint32_t i = 0; i < linked->device->strings.n && !has_steps; i++)
        has_steps = ops->roles[i].name & NAME_STEP;
    if (has_steps)
        for (row_t event = 0; event < events->n; event++)
            if (event_is_step(events, ops->roles, event))
                us_range_add(&steps, events, event);
    const struct us_range *whole = steps.n ? &steps : &all;
    linked->match.covered_us = covered.end - covered.begin;
    linked->match.steps_us = whole->end - whole->begin;
}

/* Number of GPU nodes per GPU operator, and of nodes, from which the estimated size is reported before writing. */
#define MANY_COPIES 10
#define MANY_NODES  10000

enum sutra_status sutra_link(struct sutra_context *context, const struct sutra_host_trace *host,
                             const struct sutra_device_trace *device, const struct sutra_link_options *options,
                             struct sutra_linked **linked, struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_link_options, hta_pandas3);
    struct sutra_link_options own;
    enum sutra_status status = options_copy(&form, options, &own, error);
    if (status)
        return status;
    struct sutra_linked *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(error);
    made->host = host;
    made->device = device;
    status = link_all(made, context, &own, error);
    if (!status)
        status = context_check_cancelled(context, error);
    if (!status)
        measure_coverage(made);
    if (!status && !own.no_sync)
        status = sync_build(made, context, own.hta_pandas3, error);

    /* The output can grow with the square of the input: each of several host operators with one external id gets a node
     * for every GPU operator of that id. */
    static const char text[] = "the output %s %llu nodes, about %.1f MB, for %llu GPU activities: many host operators "
                               "share one external id";
    unsigned long long n_nodes = made->report.n_nodes, n_gpu = made->report.n_gpu_ops;
    bool grows = made->report.n_gpu_nodes > MANY_COPIES * n_gpu && n_nodes > MANY_NODES;
    uint64_t bytes = !status && (grows || own.most_bytes) ? linked_size(made) : 1;
    bool too_large = !status && own.most_bytes && bytes >= own.most_bytes;
    if (bytes == 0)
        status = error_memory(error);
    else if (too_large && !grows)
        status = error_set(error, SUTRA_DATA, "the output would have about %.1f MB", (double)bytes / 1e6);
    else if (too_large)
        status = error_set(error, SUTRA_DATA, text, "would have", n_nodes, (double)bytes / 1e6, n_gpu);
    else if (!status && grows)
        context_warn(context, text, "has", n_nodes, (double)bytes / 1e6, n_gpu);
    stage_end(context);
    if (status)
        sutra_linked_free(made);
    else
        *linked = made;
    return status;
}

void sutra_linked_report(const struct sutra_linked *linked, struct sutra_link_report *report) {
    report_give(report, &linked->report, sizeof linked->report);
}

void sutra_linked_match(const struct sutra_linked *linked, struct sutra_link_match *match) {
    report_give(match, &linked->match, sizeof linked->match);
}

bool sutra_linked_unknown_call(const struct sutra_linked *linked, uint64_t index, struct sutra_count *call) {
    if (index >= linked->n_unknown_calls)
        return false;
    *call = linked->unknown_calls[index];
    return true;
}

/* Frees all but the report. */
static void free_columns(struct sutra_linked *linked) {
    host_ops_free(&linked->units);
    device_ops_free(&linked->ops);
    arena_free(&linked->arena);
    key_index_free(&linked->sync.targets);
}

/* The pointer is NULL afterwards, so that free() may get it again. */
#define FREE_COLUMN(column) (free(column), (column) = NULL)

void linked_traces_free_keys(const struct linked_traces *traces) {
    struct device_events *events = &traces->device->events;
    FREE_COLUMN(events->pid);
    FREE_COLUMN(events->tid);
    FREE_COLUMN(events->external);
    FREE_COLUMN(events->rf);
    FREE_COLUMN(events->correlation);
    FREE_COLUMN(events->category);
    FREE_COLUMN(events->phase);
    FREE_COLUMN(events->text);
    FREE_COLUMN(traces->host->nodes.id);
    FREE_COLUMN(traces->host->nodes.rf);
    FREE_COLUMN(traces->host->nodes.end);
}

void linked_traces_free_columns(const struct linked_traces *traces) {
    free_columns(traces->linked);
    host_nodes_free(&traces->host->nodes);
    device_events_free(&traces->device->events);
}

void sutra_linked_free(struct sutra_linked *linked) {
    if (!linked)
        return;
    free_columns(linked);
    arena_free(&linked->kept);
    free(linked->unknown_calls);
    free(linked);
}
