/*
 * name_match.c - finds the CPU operator of each unit (match_units() of link.h): by ids, or by names if ids fail.
 *
 *     host trace     unit  3      4      5      6
 *                           |      |      |      |        ids: the last operator with the id of the unit
 *     device trace   op    12     13     15     16        names: one operator, by align/op_match.h
 *
 * Ids fail if less than half of the operators with ids on the smaller side have an operator of their name and id on the
 * other side. Ids that are a constant apart name other operators. Names are compared on a sample first.
 *
 * A match by names has a confidence: matched operators / operators from the first to the last match of each thread. At
 * least half is needed, and a tenth of the smaller side.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "align/op_fields.h"
#include "align/op_match.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "facts/profiler_steps.h"
#include "link/link.h"
#include "link/pairing.h"
#include "match/rules.h"
#include "text/quantities.h"

/* Least confidence of a match by names, and the least one with which a strict context uses it. */
#define CONFIDENCE_MIN    0.5
#define CONFIDENCE_STRICT 0.9

/* Names that are compared to estimate how many ids belong to operators of the same name, and the error of the estimate
 * as a share. */
#define NAMES_SAMPLE       512
#define NAMES_SAMPLE_ERROR 0.1

struct name_linking {
    struct sutra_linked *linked;
    struct sutra_context *context;
    const struct sutra_link_options *options;
    const struct pairing *pairing;
    struct arena arena; /* scratch */
    struct sutra_error *error;

    row_t *op_unit;                   /* per host operator: its unit */
    value_key *host_tid, *device_tid; /* ids of the threads of `host` and `device` */
    row_t n_named;                    /* units whose names were read */
    row_t *marker_unit, n_markers;    /* of these, processes and threads */
    struct op_side host, device;
    struct op_match match;
};

/* ---- By ids ---- */

/* Whether a host node is a profiler step. O(length of the node). */
static bool is_step(const struct sutra_host_trace *host, row_t node) {
    const struct document *document = &host->document;
    struct json_span name = document_member_of(document, host->nodes.text[node], "name");
    return name.at && memmem(document->source.bytes + name.at, name.end - name.at, STEP_NAME, strlen(STEP_NAME));
}

/* Finds the last operator with the id of each unit, and counts host operators. O(units). */
static void find_by_ids(struct sutra_linked *linked) {
    struct sutra_link_report *report = &linked->report;
    const struct host_ops *units = &linked->units;
    for (row_t unit = 0; unit < units->n_units; unit++) {
        linked->unit_op[unit] = ROW_NONE;
        if (!units->reachable[unit])
            continue;
        report->n_host_ops++;
        value_key rf = linked->host->nodes.rf[unit_node(units, unit)];
        report->n_host_rf_zero += rf == 0;
        row_t found = key_is_value(rf) ? key_index_find(&linked->ops.rf, rf) : ROW_NONE;
        if (found == ROW_NONE) {
            *(key_is_value(rf) ? &report->n_host_rf_unmatched : &report->n_host_without_rf) += rf != 0;
            continue;
        }
        linked->unit_op[unit] = linked->ops.rf_op[found];
        report->n_host_linked += rf != 0; /* chakra_trace_link links ids that are 0 */
    }
}

/* Completes the result of find_by_ids(): dependencies, and profiler steps among the unlinked operators. */
static void use_ids(struct sutra_linked *linked, struct sutra_context *context) {
    const struct host_ops *units = &linked->units;
    device_ops_resolve_waits(&linked->ops, linked->device, &context->values);
    for (row_t unit = 0; unit < units->n_units; unit++) {
        value_key rf = linked->host->nodes.rf[unit_node(units, unit)];
        if (units->reachable[unit] && linked->unit_op[unit] == ROW_NONE && key_is_value(rf) && rf != 0)
            linked->report.n_host_steps += is_step(linked->host, unit_node(units, unit));
    }
}

/* Whether node and operator have the same name. O(length of the node up to its name). */
static bool names_are_equal(struct field_reader *reader, const struct sutra_linked *linked, row_t node, row_t op) {
    const struct strings *strings = &linked->device->strings;
    struct json_span place = document_member_of(&linked->host->document, linked->host->nodes.text[node], "name");
    uint32_t name = linked->device->events.name[linked->ops.cpu_event[op]];
    size_t length = 0;
    if (!place.at || reader->source->bytes[place.at] != '"')
        return false;
    const char *text = field_string(reader, place, &length);
    return text && length == strings_length(strings, name) && memcmp(text, strings_text(strings, name), length) == 0;
}

/* Counts units that are linked by ids and have the name of their operator, of every `step`-th of them. */
static row_t count_equal_names(const struct sutra_linked *linked, struct field_reader *reader, row_t step) {
    const struct host_ops *units = &linked->units;
    row_t n = 0, n_equal = 0;
    for (row_t unit = 0; unit < units->n_units; unit++) {
        const row_t node = unit_node(units, unit);
        if (linked->unit_op[unit] != ROW_NONE && linked->host->nodes.rf[node] != 0 && n++ % step == 0)
            n_equal += names_are_equal(reader, linked, node, linked->unit_op[unit]);
    }
    return n_equal;
}

/* Determines whether the ids of find_by_ids() fail, and why: less than half of the operators with ids on the smaller
 * side have an operator of their name and id on the other side. The number of equal names is an estimate if it is far
 * from half. */
static enum sutra_status check_ids(struct name_linking *linking, bool *fails) {
    struct sutra_linked *linked = linking->linked;
    const struct device_ops *ops = &linked->ops;
    const row_t n = (row_t)linked->report.n_host_linked, n_host = n + (row_t)linked->report.n_host_rf_unmatched;
    row_t n_device = 0;
    for (row_t i = 0; i < ops->n_rf; i++)
        n_device += linked->device->events.rf[ops->cpu_event[ops->rf_op[i]]] != 0;
    struct field_reader reader = {.source = &linked->host->document.source};
    const row_t n_smaller = MIN(n_host, n_device);
    double n_equal = 0;
    if (n_smaller && 2 * (uint64_t)n >= n_smaller) {
        const row_t step = n / NAMES_SAMPLE + 1, n_sampled = (n + step - 1) / step;
        n_equal = (double)count_equal_names(linked, &reader, step) / n_sampled * n;
        bool is_close =
            2 * n_equal > (1 - NAMES_SAMPLE_ERROR) * n_smaller && 2 * n_equal < (1 + NAMES_SAMPLE_ERROR) * n_smaller;
        if (is_close && step > 1)
            n_equal = count_equal_names(linked, &reader, 1);
    }
    *fails = !n_smaller || 2 * n_equal < n_smaller;
    linked->match.n_common_ids = n;
    if (*fails)
        linked->match.ids_fault =
            !n_device && linking->pairing->device.n_zero ? "the record-function ids of the device trace are 0"
            : !n_device                   ? "the device trace has no record-function ids, as before PyTorch 2.4"
            : !n_host                     ? "the host trace has no record-function ids"
            : !n                          ? "the traces have no record-function id in common"
            : 2 * (uint64_t)n < n_smaller ? "the traces have few record-function ids in common"
                                          : "operators with equal record-function ids have other names";
    bool failed = reader.failed;
    buffer_free(&reader.scratch);
    return failed ? error_memory(linking->error) : SUTRA_OK;
}

/* ---- By names ---- */

/* Lists the operators of the host trace, without the nodes of processes, threads and profiler steps. */
static enum sutra_status list_host_side(struct name_linking *linking) {
    const struct sutra_linked *linked = linking->linked;
    const struct host_ops *units = &linked->units;
    const struct host_nodes *nodes = &linked->host->nodes;
    struct arena *arena = &linking->arena;
    struct node_fields fields;
    struct key_index tids;
    row_t n = 0, n_ops = 0;
    row_t *unit_of = arena_alloc(arena, units->n_units, sizeof *unit_of);
    row_t *node = arena_alloc(arena, units->n_units, sizeof *node);
    row_t *op_of = rows_none(arena, units->n_units); /* per unit */
    linking->marker_unit = arena_alloc(arena, units->n_units, sizeof *linking->marker_unit);
    TRY(arena_status(arena, linking->error));
    for (row_t unit = 0; unit < units->n_units; unit++)
        if (units->reachable[unit]) {
            unit_of[n] = unit;
            node[n++] = unit_node(units, unit);
        }
    TRY(node_fields_read(&fields, linking->context, linked->host, node, n, &linked->device->strings, arena,
                         linking->error));
    for (row_t i = 0; i < n; i++) {
        if (fields.kind[i] == NODE_MARKER)
            linking->marker_unit[linking->n_markers++] = unit_of[i];
        if (fields.kind[i] != NODE_OPERATOR)
            continue;
        op_of[unit_of[i]] = n_ops;
        unit_of[n_ops] = unit_of[i];
        fields.token[n_ops] = fields.token[i];
        fields.tid[n_ops] = fields.tid[i];
        fields.sequence[n_ops] = fields.sequence[i];
        fields.collective[n_ops++] = fields.collective[i];
    }
    struct op_side *side = &linking->host;
    *side = op_side_alloc(arena, n_ops);
    TRY(arena_status(arena, linking->error));
    TRY(key_index_build(&tids, &linking->context->choice.cpu, fields.tid, n_ops, KEY_FIRST, NULL, linking->error));
    side->n_threads = key_index_number(&tids, fields.tid, n_ops, side->thread);
    key_index_free(&tids);
    linking->host_tid = arena_alloc(arena, side->n_threads, sizeof *linking->host_tid);
    TRY(arena_status(arena, linking->error));
    for (row_t i = 0; i < n_ops; i++) {
        row_t above = key_index_find(&units->ids, nodes->parent[unit_node(units, unit_of[i])]);
        above = above == ROW_NONE ? ROW_NONE : op_of[above];
        linking->host_tid[side->thread[i]] = fields.tid[i];
        side->token[i] = fields.token[i];
        side->sequence[i] = fields.sequence[i];
        side->collective[i] = fields.collective[i];
        if (above != ROW_NONE && above < i && side->thread[above] == side->thread[i])
            side->parent[i] = above;
    }
    linking->op_unit = unit_of;
    linking->n_named = n;
    return SUTRA_OK;
}

/* Whether the name of a profiler step is the selected one, or has the selected number. */
static bool is_selected_step(const struct strings *strings, uint32_t name, const char *wanted) {
    const char *text = strings_text(strings, name);
    const char *number = profiler_step_number(text, strings_length(strings, name), STEPS_SELECTION);
    return strcmp(text, wanted) == 0 || (number && strcmp(number, wanted) == 0);
}

/* Limits the device side to the operators that begin in a profiler step. */
static enum sutra_status select_step(struct name_linking *linking) {
    const struct sutra_linked *linked = linking->linked;
    const struct device_events *events = &linked->device->events;
    const struct cpu_ops *cpu = &linked->ops.cpu;
    const char *wanted = linking->options->match_step;
    for (row_t event = 0; event < events->n; event++) {
        if (!event_is_step(events, linked->ops.roles, event) ||
            !is_selected_step(&linked->device->strings, events->name[event], wanted))
            continue;
        struct number begin = number_at(events->ts, event);
        struct number end = number_add(begin, number_at(events->dur, event));
        linking->device.begin = count_begun(cpu->ts, cpu->n, begin);
        linking->device.end = count_begun(cpu->ts, cpu->n, end);
        return SUTRA_OK;
    }
    char text[300];
    profiler_steps_explain(&linked->device->strings, wanted, text, sizeof text);
    return error_file(linking->error, SUTRA_DATA, linked->device->document.source.name, "%s", text);
}

static enum sutra_status match_by_names(struct name_linking *linking) {
    struct sutra_linked *linked = linking->linked;
    const struct device_ops *ops = &linked->ops;
    TRY(list_host_side(linking));
    struct op_side *device = &linking->device;
    *device = op_side_alloc(&linking->arena, ops->cpu.n);
    linking->device_tid = arena_alloc(&linking->arena, ops->cpu.n_threads, sizeof *linking->device_tid);
    TRY(arena_status(&linking->arena, linking->error));
    for (row_t i = 0; i < ops->cpu.n; i++) {
        device->token[i] = linked->device->events.name[ops->cpu_event[i]];
        device->thread[i] = ops->cpu.thread[i];
        linking->device_tid[device->thread[i]] = linked->device->events.tid[ops->cpu_event[i]];
    }
    device->n_threads = ops->cpu.n_threads;
    op_side_nest(device, &linked->device->events, ops->cpu_event, &linking->arena);
    TRY(arena_status(&linking->arena, linking->error));
    TRY(event_numbers_read(device, linking->context, linked->device, ops->cpu_event, linking->error));
    if (linking->options->match_step)
        TRY(select_step(linking));
    return ops_match(linking->context, &linking->host, device, linked->device->strings.n, &linking->arena,
                     &linking->match, linking->error);
}

/* ---- What matched ---- */

ORDER_BY(compare_unmatched, struct sutra_count, DESCENDING(count) ASCENDING_TEXT(name))

/* The count of the reason why an operator has no partner; rows from `begin` to `end` - 1 are between matched ones. */
static uint64_t *reason_of(struct sutra_unmatched *unmatched, const struct op_side *side, const row_t *thread_partner,
                           row_t begin, row_t end, row_t row) {
    return thread_partner[side->thread[row]] == ROW_NONE ? &unmatched->n_of_threads
           : row < begin                                 ? &unmatched->n_before
           : row >= end                                  ? &unmatched->n_after
                                                         : &unmatched->n_between;
}

/* Lists the ids of the threads without a partner, as many as fit. `tid` and `partner` are per thread. */
static void list_threads(const value_key *tid, const row_t *partner, row_t n, struct sutra_unmatched *unmatched) {
    static const char more[] = ", ...";
    const size_t size = sizeof unmatched->threads, longest = 20; /* characters of an integer */
    char *text = unmatched->threads;
    size_t length = 0;
    for (row_t thread = 0; thread < n; thread++) {
        if (partner[thread] != ROW_NONE)
            continue;
        if (key_is_integer(tid[thread]) && length + sizeof more + longest < size)
            length += (size_t)snprintf(text + length, size - length, "%s%" PRId64, length ? ", " : "", tid[thread]);
        else if (length && text[length - 1] != '.')
            length += (size_t)snprintf(text + length, size - length, "%s", more);
    }
}

/* Counts the unmatched operators of one side by reason and name. */
static enum sutra_status count_unmatched(struct name_linking *linking, const struct op_side *side, const row_t *partner,
                                         const row_t *thread_partner, struct sutra_unmatched *unmatched) {
    const struct strings *strings = &linking->linked->device->strings;
    const struct sutra_host_trace *host = linking->linked->host;
    struct field_reader reader = {.source = &host->document.source};
    struct strings names; /* of the host trace that the device trace lacks, after the ones of the device trace */
    struct arena_mark mark = arena_mark(&linking->arena);
    uint32_t n = strings->n;
    row_t begin = 0, end = side->n; /* from the first matched operator to the last one */
    bool ok = strings_init(&names);
    while (begin < side->n && partner[begin] == ROW_NONE)
        begin++;
    while (end > begin && partner[end - 1] == ROW_NONE)
        end--;
    struct sutra_count *list =
        arena_zeros(&linking->arena, (size_t)strings->n + side->n, sizeof *list); /* by string, then by other name */
    ok = ok && list;
    for (row_t i = 0; i < side->n; i++)
        if (partner[i] == ROW_NONE)
            ++*reason_of(unmatched, side, thread_partner, begin, end, i);
    uint64_t most = MAX(unmatched->n_before, unmatched->n_after);
    most = MAX(most, unmatched->n_of_threads);
    most = MAX(most, unmatched->n_between);
    for (row_t i = 0; i < side->n && ok; i++) {
        uint32_t name = side->token[i];
        if (partner[i] != ROW_NONE || *reason_of(unmatched, side, thread_partner, begin, end, i) != most)
            continue;
        if (name == TOKEN_NONE) {
            row_t node = unit_node(&linking->linked->units, linking->op_unit[i]);
            struct json_span place = document_member_of(&host->document, host->nodes.text[node], "name");
            if (!place.at || host->document.source.bytes[place.at] != '"')
                continue;
            uint32_t number = field_intern(&reader, place, &names);
            ok = number != STRING_NONE;
            name = strings->n + number;
            n = MAX(n, name + 1);
        }
        if (ok)
            list[name].count++;
    }
    for (uint32_t name = 0; name < n && ok; name++)
        list[name].name = name < strings->n ? strings_text(strings, name) : strings_text(&names, name - strings->n);
    if (ok)
        qsort(list, n, sizeof *list, compare_unmatched);
    for (size_t i = 0; i < sizeof unmatched->names / sizeof *unmatched->names && i < n && ok && list[i].count; i++)
        unmatched->names[i] =
            (struct sutra_count){arena_text(&linking->linked->kept, list[i].name, strlen(list[i].name)), list[i].count};
    buffer_free(&reader.scratch);
    strings_free(&names);
    arena_release(&linking->arena, mark);
    return ok && !linking->linked->kept.failed ? SUTRA_OK : error_memory(linking->error);
}

/* The name of the profiler step in which the first matched operator begins. */
static void name_step(struct name_linking *linking) {
    const struct sutra_linked *linked = linking->linked;
    const struct device_events *events = &linked->device->events;
    const struct op_match *match = &linking->match;
    row_t first = 0;
    while (first < linking->device.n && match->host[first] == ROW_NONE)
        first++;
    if (first == linking->device.n)
        return;
    struct number start = number_at(linked->ops.cpu.ts, first);
    for (row_t event = 0; event < events->n; event++) {
        if (!event_is_step(events, linked->ops.roles, event))
            continue;
        struct number begin = number_at(events->ts, event);
        if (number_compare(begin, start) > 0 ||
            number_compare(number_add(begin, number_at(events->dur, event)), start) <= 0)
            continue;
        snprintf(linking->linked->match.step, sizeof linking->linked->match.step, "%s",
                 strings_text(&linked->device->strings, events->name[event]));
        return;
    }
}

static enum sutra_status describe_match(struct name_linking *linking) {
    struct sutra_link_match *found = &linking->linked->match;
    const struct op_match *match = &linking->match;
    found->by_names = true;
    found->has_numbers = match->has_numbers;
    found->number_shift = match->number_shift;
    found->confidence = match->confidence;
    found->n_host_ops = linking->host.n;
    found->n_device_ops = linking->device.n;
    found->n_matched = match->n;
    found->n_positions = match->n_positions;
    found->limits_host = match->limits_host;
    name_step(linking);
    list_threads(linking->host_tid, match->host_partner, linking->host.n_threads, &found->host);
    list_threads(linking->device_tid, match->device_partner, linking->device.n_threads, &found->device);
    TRY(count_unmatched(linking, &linking->host, match->device, match->host_partner, &found->host));
    return count_unmatched(linking, &linking->device, match->host, match->device_partner, &found->device);
}

/* The data loader's annotation, if only this one, without GPU operators, precedes the first matched operator; else
 * ROW_NONE. PyTorch gives it the id 0, because the observer of the host trace begins after it. */
static row_t find_data_loader(const struct name_linking *linking) {
    const struct sutra_linked *linked = linking->linked;
    const struct device_ops *ops = &linked->ops;
    row_t row = 0;
    for (; row < linking->device.n && linking->match.host[row] == ROW_NONE; row++) {
        row_t n_gpu;
        const uint32_t name = linking->device.token[row];
        device_ops_group(ops, row, &n_gpu);
        if (n_gpu || linking->device.parent[row] != ROW_NONE ||
            !strstr(strings_text(&linked->device->strings, name), "DataLoader"))
            return ROW_NONE;
    }
    return row && row < linking->device.n ? row - 1 : ROW_NONE;
}

/* Links the units to their operators. An operator without a host operator gives no dependency. As chakra_trace_link
 * does with ids, nodes of processes and threads, whose ids are 0, are linked to an operator of id 0. */
static void use_names(struct name_linking *linking) {
    struct sutra_linked *linked = linking->linked;
    struct device_ops *ops = &linked->ops;
    const row_t before = find_data_loader(linking);
    memset(linked->unit_op, 0xff, linked->units.n_units * sizeof *linked->unit_op);
    for (row_t i = 0; i < linking->host.n; i++)
        linked->unit_op[linking->op_unit[i]] = linking->match.device[i];
    for (row_t i = 0; i < linking->n_markers && before != ROW_NONE; i++)
        if (linked->host->nodes.rf[unit_node(&linked->units, linking->marker_unit[i])] == 0)
            linked->unit_op[linking->marker_unit[i]] = before;
    for (row_t i = 0; i < ops->cpu.n; i++)
        if (ops->waits_for[i] != ROW_NONE && linking->match.host[ops->waits_for[i]] == ROW_NONE)
            ops->waits_for[i] = ROW_NONE;
    linked->report = (struct sutra_link_report){.n_host_ops = linking->n_named, .n_host_linked = linking->match.n};
}

/* Reports other positions that fit, or the iteration that the times are of; "" if neither applies. */
static void describe_position(const struct sutra_link_match *match, char *text, size_t size) {
    *text = 0;
    if (match->n_positions > 1)
        snprintf(text, size,
                 "; the %s trace fits %" PRIu64 " positions of the %s trace equally well: the first is used%s%s%s",
                 match->limits_host ? "device" : "host", match->n_positions, match->limits_host ? "host" : "device",
                 *match->step ? ", " : "", match->step,
                 match->limits_host ? "" : " (--match-step selects another one)");
    else if (match->has_numbers && match->number_shift)
        snprintf(text, size,
                 "; sequence numbers differ by %" PRId64 ": the times are of another iteration of this process",
                 match->number_shift);
}

/* Warns that names are used, or fails in a strict context. */
static enum sutra_status report_names(struct name_linking *linking) {
    const struct sutra_link_match *match = &linking->linked->match;
    const bool is_auto = linking->options->match == SUTRA_MATCH_AUTO;
    char position[300], counts[400], reference[160] = "link nothing";
    describe_position(match, position, sizeof position);
    snprintf(counts, sizeof counts, "%s of %s host operators are matched by name (confidence %.1f %%)",
             count_text(match->n_matched).text, count_text(match->n_host_ops).text, 100 * match->confidence);
    if (match->n_common_ids)
        snprintf(reference, sizeof reference, "link %s", count_text(match->n_common_ids).text);
    if (linking->context->options.strict && is_auto)
        return error_set(linking->error, SUTRA_STRICT, "%s; %s: --strict needs ids, or '--match names' to use names",
                         match->ids_fault, counts);
    if (linking->context->options.strict && (match->n_positions > 1 || match->confidence < CONFIDENCE_STRICT))
        return error_set(linking->error, SUTRA_STRICT, "%s%s; --strict needs one position and a confidence of %.0f %%",
                         counts, position, 100 * CONFIDENCE_STRICT);
    if (linking->context->holds_defects)
        return SUTRA_OK;
    if (is_auto)
        context_warn(linking->context, "%s: %s; chakra_trace_link would %s (--match ids)%s", counts, match->ids_fault,
                     reference, position);
    else
        context_warn(linking->context, "%s%s", counts, position);
    return SUTRA_OK;
}

/* Matches by ids, or by names if ids fail. */
static enum sutra_status choose_match(struct name_linking *linking) {
    struct sutra_linked *linked = linking->linked;
    struct sutra_context *context = linking->context;
    const struct sutra_link_options *options = linking->options;
    bool by_names = options->match == SUTRA_MATCH_NAMES;
    if (!by_names)
        find_by_ids(linked);
    if (options->match == SUTRA_MATCH_AUTO)
        TRY(check_ids(linking, &by_names));
    if (by_names) {
        stage_begin(context, "match names", linked->host->nodes.n);
        TRY(match_by_names(linking));
        const uint64_t n = linking->match.n, n_smaller = MIN(linking->host.n, linking->device.n);
        by_names = n && linking->match.confidence >= CONFIDENCE_MIN && 10 * n >= n_smaller;
        if (!by_names && options->match == SUTRA_MATCH_NAMES)
            return error_set(linking->error, SUTRA_DATA,
                             "%s of %s host operators match by name (confidence %.0f %%, at least %.0f %% required): "
                             "check that both traces are of the same run and rank",
                             count_text(n).text, count_text(linking->host.n).text, 100 * linking->match.confidence,
                             100 * CONFIDENCE_MIN);
        stage_begin(context, "link", linked->host->nodes.n);
    }
    if (by_names) {
        TRY(describe_match(linking));
        TRY(report_names(linking));
        use_names(linking);
        return SUTRA_OK;
    }
    use_ids(linked, context);
    if (options->match_step)
        context_warn(context, "operators are matched by ids: selecting the step %s has no effect", options->match_step);
    return SUTRA_OK;
}

enum sutra_status match_units(struct sutra_linked *linked, struct sutra_context *context,
                              const struct sutra_link_options *options, const struct pairing *pairing,
                              struct sutra_error *error) {
    struct name_linking linking = {
        .linked = linked, .context = context, .options = options, .pairing = pairing, .error = error};
    if (options->match > SUTRA_MATCH_NAMES)
        return error_set(error, SUTRA_USAGE, "struct sutra_link_options: unknown way of matching (%d)",
                         (int)options->match);
    if (options->match == SUTRA_MATCH_IDS && options->match_step)
        return error_set(error, SUTRA_USAGE, "struct sutra_link_options: match_step needs a match by names");
    const enum sutra_status status = choose_match(&linking);
    arena_free(&linking.arena);
    return status;
}
