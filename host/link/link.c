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

#include "base/error.h"
#include "base/options.h"
#include "base/shared.h"
#include "columns/column.h"
#include "context/context.h"
#include "facts/calibration.h"
#include "facts/names.h"
#include "facts/times.h"
#include "facts/validity.h"
#include "link/et_plus.h"
#include "link/link.h"
#include "link/pairing.h"
#include "text/quantities.h"

/* Finds the unit that each unit waits for: if its CPU operator waits for one of another thread, the last unit up to
 * this one that is linked to that operator. */
static enum sutra_status find_waits(struct sutra_linked *linked, struct sutra_error *error) {
    const struct device_ops *ops = &linked->ops;
    struct arena_mark mark = arena_mark(&linked->arena);
    row_t *op_unit = rows_none(&linked->arena, ops->cpu.n);
    TRY(arena_status(&linked->arena, error));
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
    TRY(arena_status(&linked->arena, error));
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
    TRY(arena_status(arena, error));
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
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < n; i++)
        keys[i] = linked->host->nodes.ctrl_deps[units->node[unknown[i]]];
    TRY(key_index_build(&index, &context->engine, keys, n, KEY_FIRST, NULL, error));
    key_index_number(&index, keys, n, number);
    for (row_t i = 0; i < n; i++)
        linked->ctrl_deps[unknown[i]] = linked->unit_id[units->n_units] + number[i];
    key_index_free(&index);
    arena_release(arena, mark);
    return SUTRA_OK;
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

/* Warns if less than half of the operators are linked by ids, with the cause; strict: fails. */
static enum sutra_status check_share(const struct sutra_linked *linked, struct sutra_context *context,
                                     const struct pairing *pairing, struct sutra_error *error) {
    static const char few_linked[] = "%s%llu of %llu host operators are linked: %s";
    unsigned long long n_linked = linked->report.n_host_linked, n_ops = linked->report.n_host_ops;
    if (linked->match.by_names || (n_ops > 0 && 2 * n_linked >= n_ops))
        return SUTRA_OK;
    const char *head = n_linked ? "" : "nothing matches: ", *cause = pairing_cause(pairing);
    if (context->options.strict)
        return error_set(error, SUTRA_STRICT, few_linked, head, n_linked, n_ops, cause);
    context_warn(context, few_linked, head, n_linked, n_ops, cause);
    return SUTRA_OK;
}

/* Links the units to their CPU operators and numbers the nodes of the output. */
static enum sutra_status link_units(struct sutra_linked *linked, struct sutra_context *context,
                                    const struct sutra_link_options *options, const struct pairing *pairing,
                                    struct sutra_error *error) {
    struct arena *arena = &linked->arena;
    size_t n = (size_t)linked->units.n_units + 1;
    linked->unit_op = arena_alloc(arena, n, sizeof *linked->unit_op);
    linked->unit_after = arena_alloc(arena, n, sizeof *linked->unit_after);
    linked->unit_entry = arena_alloc(arena, n, sizeof *linked->unit_entry);
    linked->unit_id = arena_zeros(arena, n, sizeof *linked->unit_id);
    linked->ctrl_deps = arena_alloc(arena, linked->units.n_nodes, sizeof *linked->ctrl_deps);
    TRY(arena_status(arena, error));
    TRY(match_units(linked, context, options, pairing, error));
    TRY(find_waits(linked, error));
    TRY(check_share(linked, context, pairing, error));
    TRY(number_units(linked, error));
    return renumber_ctrl_deps(linked, context, error);
}

/* Copies the counts of both sides to the report, and warns about fields that were replaced or ignored. */
static void complete_report(struct sutra_linked *linked, struct sutra_context *context) {
    struct sutra_link_report *report = &linked->report;
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

static enum sutra_status link_all(struct sutra_linked *linked, struct sutra_context *context,
                                  const struct sutra_link_options *options, struct sutra_error *error) {
    /* Check that both traces were recorded together. */
    struct pairing pairing;
    choose_engine_for_matching(context, linked->device);
    TRY(pairing_inspect(linked->host, linked->device, &pairing, error));
    TRY(pairing_check(&pairing, context, error));

    /* List the operators of both sides. The names of unknown calls remain when the columns are freed. */
    TRY(device_ops_build(&linked->ops, context, linked->device, options->any_launch, &linked->arena, error));
    linked->unknown_calls = linked->ops.unknown_calls;
    linked->n_unknown_calls = linked->ops.n_unknown_calls;
    linked->ops.unknown_calls = NULL;
    stage_begin(context, "link", linked->host->nodes.n);
    TRY(check_durations(linked, context, error));
    TRY(check_unknown_launches(linked, context, error));
    TRY(host_ops_build(&linked->units, context, linked->host, &linked->arena, error));
    TRY(context_check_cancelled(context, error));

    /* Join the two sides. Warnings precede the error if this fails. */
    const enum sutra_status status = link_units(linked, context, options, &pairing, error);
    complete_report(linked, context);
    TRY(status);
    TRY(context_check_cancelled(context, error));
    measure_coverage(linked);
    return options->no_sync ? SUTRA_OK : sync_build(linked, context, error);
}

/* Number of GPU nodes per GPU operator, and of nodes, from which the estimated size is reported before writing. */
#define MANY_COPIES 10
#define MANY_NODES  10000

/* Warns if the output grows with the square of the input: each of several host operators with one external id gets a
 * node for every GPU operator of that id. SUTRA_DATA: the output would exceed `most_bytes`. */
static enum sutra_status check_size(const struct sutra_linked *linked, struct sutra_context *context,
                                    uint64_t most_bytes, struct sutra_error *error) {
    static const char text[] = "the output %s %llu nodes, about %.1f MB, for %llu GPU activities: many host operators "
                               "share one external id";
    unsigned long long n_nodes = linked->report.n_nodes, n_gpu = linked->report.n_gpu_ops;
    bool grows = linked->report.n_gpu_nodes > MANY_COPIES * n_gpu && n_nodes > MANY_NODES;
    if (!grows && !most_bytes)
        return SUTRA_OK;
    uint64_t bytes = linked_size(linked);
    double megabytes = (double)bytes / 1e6;
    bool too_large = most_bytes && bytes >= most_bytes;
    TRY_ALLOC(bytes != 0, error);
    if (too_large && !grows)
        return error_set(error, SUTRA_DATA, "the output would have about %.1f MB", megabytes);
    if (too_large)
        return error_set(error, SUTRA_DATA, text, "would have", n_nodes, megabytes, n_gpu);
    if (grows)
        context_warn(context, text, "has", n_nodes, megabytes, n_gpu);
    return SUTRA_OK;
}

enum sutra_status sutra_link(struct sutra_context *context, const struct sutra_host_trace *host,
                             const struct sutra_device_trace *device, const struct sutra_link_options *options,
                             struct sutra_linked **linked, struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_link_options, most_bytes);
    struct sutra_link_options own;
    TRY(options_copy(&form, options, &own, error));
    struct sutra_linked *made = calloc(1, sizeof *made);
    TRY_ALLOC(made, error);
    made->host = host;
    made->device = device;
    enum sutra_status status = link_all(made, context, &own, error);
    if (!status)
        status = check_size(made, context, own.most_bytes, error);
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
