/*
 * link.c - linking host operators with CPU operators by rf_id, and numbering what ET+ will hold.
 *
 *     host trace  -> host_ops.c    units in rising id ----+
 *                                                         +--> a CPU operator for each, new ids, ctrl_deps, what waits
 *     device trace -> device_ops.c CPU and GPU operators -+    for another thread; sync.c adds what waits for the GPU
 *
 * Cost: O(n) behind the sorts of both sides.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "base/options.h"
#include "columns/column.h"
#include "context/context.h"
#include "facts/names.h"
#include "link/link.h"
#include "link/sync_deps.h"
#include "read/document.h"
#include "text/quantities.h"

/*
 * Comparing what two traces say about where and when they were recorded.
 */

/* A host trace's time is local and in whole seconds; its observer begins and ends a little before or after the
 * profiler.
 */
#define ZONE_STEP  900.0
#define ZONE_STEPS 56
#define SLACK      2.0

/* Times before this one, the year 2001, count from something else than 1970. */
#define EPOCH_LEAST 1e9

/* In seconds; end < begin: not known. */
struct clock_span {
    double begin, end;
};

static const struct clock_span no_span = {0, -1};

static bool member_number(const struct document *document, const char *name, struct number *number) {
    const struct document_member *member = document_find(document, name);
    return member && field_number(document->source.bytes + member->value, number);
}

static bool member_integer(const struct document *document, const char *name, int64_t *integer) {
    struct number number;
    if (!member_number(document, name, &number) || number_is_double(number))
        return false;
    *integer = (int64_t)number.bits;
    return true;
}

/* "2026-11-21 08:03:46" as if its zone were UTC. */
static bool clock_read(const struct document *document, double *seconds) {
    const struct document_member *member = document_find(document, "time");
    char text[20] = {0};
    struct tm tm = {0};
    size_t left = member ? document->source.size - member->value : 0;
    if (left <= sizeof text || document->source.bytes[member->value] != '"')
        return false;
    memcpy(text, document->source.bytes + member->value + 1, sizeof text - 1);
    const char *end = strptime(text, "%Y-%m-%d %H:%M:%S", &tm);
    if (!end || *end)
        return false;
    *seconds = (double)timegm(&tm);
    return true;
}

/* Both ends of a host trace are in milliseconds since the machine began. */
static struct clock_span host_span(const struct sutra_host_trace *host) {
    struct number start, finish;
    double begin;
    if (!member_number(&host->document, "start_ts", &start) || !member_number(&host->document, "finish_ts", &finish) ||
        !clock_read(&host->document, &begin))
        return no_span;
    return (struct clock_span){begin, begin + (number_as_double(finish) - number_as_double(start)) / 1e3};
}

/* Today's traces count from a base, older ones from 1970. */
static struct clock_span device_span(const struct sutra_device_trace *device, const struct clock_span *microseconds) {
    struct number base = number_integer(0);
    member_number(&device->document, "baseTimeNanoseconds", &base);
    double from = number_as_double(base) / 1e9;
    struct clock_span span = {from + microseconds->begin / 1e6, from + microseconds->end / 1e6};
    return span.begin >= EPOCH_LEAST ? span : no_span;
}

static bool spans_meet(const struct clock_span *host, const struct clock_span *device) {
    if (!(host->begin <= host->end) || !(device->begin <= device->end))
        return true;
    for (int zone = -ZONE_STEPS; zone <= ZONE_STEPS; zone++) {
        double shift = zone * ZONE_STEP;
        if (device->begin <= host->end + shift + SLACK && device->end >= host->begin + shift - SLACK)
            return true;
    }
    return false;
}

static void range_add(struct rf_range *range, value_key rf) {
    if (!key_is_value(rf))
        return;
    range->n_zero += rf == 0;
    range->n_ids += rf != 0;
    if (rf == 0 || !key_is_integer(rf))
        return;
    range->low = rf < range->low ? rf : range->low;
    range->high = rf > range->high ? rf : range->high;
}

static bool range_is_empty(const struct rf_range *range) {
    return range->low > range->high;
}

static const struct rf_range no_range = {.low = INT64_MAX, .high = INT64_MIN};

static void span_add(struct clock_span *span, const struct device_events *events, row_t event, bool first) {
    double begin = number_as_double(number_at(events->ts, event));
    double end = begin + number_as_double(number_at(events->dur, event));
    span->begin = first || begin < span->begin ? begin : span->begin;
    span->end = first || end > span->end ? end : span->end;
}

/* The pid of a CPU operator that is no integer tells nothing about the process. */
static void process_add(struct pairing *pairing, value_key pid, bool first) {
    if (first)
        pairing->device_pid = pid;
    pairing->other_process &= key_is_integer(pid) && pid != pairing->host_pid;
}

static void look_at_ops(const struct sutra_device_trace *device, const struct string_roles *roles,
                        struct pairing *pairing, struct clock_span *microseconds) {
    const struct device_events *events = &device->events;
    for (row_t event = 0; event < events->n; event++) {
        if (!(category_roles(events, roles, event) & CATEGORY_CPU_OP))
            continue;
        bool first = pairing->n_cpu_ops++ == 0;
        process_add(pairing, events->pid[event], first);
        range_add(&pairing->device, events->rf[event]);
        span_add(microseconds, events, event, first);
    }
}

enum sutra_status pairing_look(const struct sutra_host_trace *host, const struct sutra_device_trace *device,
                               struct pairing *pairing, struct sutra_error *error) {
    struct arena scratch = {0};
    const struct string_roles *roles = names_find(&device->strings, READER_LINKER, &scratch);
    if (!roles)
        return error_memory(error);
    *pairing = (struct pairing){.host_name = host->document.source.name,
                                .device_name = device->document.source.name,
                                .n_nodes = host->nodes.n,
                                .linked = document_is_linked(&host->document),
                                .host = no_range,
                                .device = no_range};
    pairing->other_process = member_integer(&host->document, "pid", &pairing->host_pid);
    for (row_t node = 0; node < host->nodes.n; node++)
        range_add(&pairing->host, host->nodes.rf[node]);
    struct clock_span microseconds = no_span, at_host = host_span(host);
    look_at_ops(device, roles, pairing, &microseconds);
    pairing->other_process &= pairing->n_cpu_ops > 0;
    struct clock_span at_device = pairing->n_cpu_ops ? device_span(device, &microseconds) : no_span;
    pairing->other_time = !spans_meet(&at_host, &at_device);
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
    else if (pairing->other_time)
        snprintf(
            text, PAIRING_TEXT,
            "%.300s and %.300s were not recorded at the same time: these look like traces of two runs; use both traces "
            "of one run",
            pairing->host_name, pairing->device_name);
    return pairing->linked || pairing->other_process || pairing->other_time;
}

enum sutra_status pairing_judge(const struct pairing *pairing, struct sutra_context *context,
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
    if (pairing->other_time)
        return "the traces were not recorded at the same time; use both traces of one run";
    if (!range_is_empty(host) && !range_is_empty(device) && (host->high < device->low || device->high < host->low))
        return "the traces have no step in common: their record-function ids do not overlap; record both traces "
               "together";
    if (!range_is_empty(host) && !range_is_empty(device) && (host->low < device->low || host->high > device->high))
        return "the host trace contains steps before or after the device trace; record both traces together";
    return "check that both traces are of the same run and rank";
}

/*
 * The linker's sorts of events: annotations are operators, steps are not, and what sets memory is counted
 * and left out.
 */

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

/* Finds the CPU operator of each host operator, in rising id; an operator that waits for another thread waits for the
 * host operator that was linked last to that thread's CPU operator. */
static enum sutra_status link_units(struct sutra_linked *linked, struct sutra_error *error) {
    struct sutra_link_report *report = &linked->report;
    const struct host_ops *units = &linked->units;
    const struct device_ops *ops = &linked->ops;
    struct arena_mark mark = arena_mark(&linked->arena);
    row_t *op_unit = rows_none(&linked->arena, ops->cpu.n);
    if (!op_unit)
        return error_memory(error);
    for (row_t unit = 0; unit < units->n_units; unit++) {
        linked->unit_op[unit] = linked->unit_after[unit] = ROW_NONE;
        if (!units->reachable[unit])
            continue;
        report->n_host_ops++;
        value_key rf = linked->host->nodes.rf[unit_node(units, unit)];
        report->n_host_rf_zero += rf == 0;
        row_t found = key_is_value(rf) ? key_index_find(&ops->rf, rf) : ROW_NONE;
        if (found == ROW_NONE) {
            *(key_is_value(rf) ? &report->n_host_rf_unmatched : &report->n_host_without_rf) += rf != 0;
            continue;
        }
        row_t op = ops->rf_op[found];
        op_unit[op] = unit;
        linked->unit_op[unit] = op;
        if (ops->waits_for[op] != ROW_NONE)
            linked->unit_after[unit] = op_unit[ops->waits_for[op]];
        report->n_host_linked += rf != 0; /* equal zeros are a link to the reference, and to nobody else */
        report->n_inter_thread += linked->unit_after[unit] != ROW_NONE;
    }
    arena_release(&linked->arena, mark);
    return SUTRA_OK;
}

/* Numbers units and entries. */
static enum sutra_status number_units(struct sutra_linked *linked, struct sutra_error *error) {
    const struct host_ops *units = &linked->units;
    uint64_t id = 0, entry = 0;
    for (row_t unit = 0; unit < units->n_units; unit++) {
        row_t n_gpu;
        linked_gpu_ops(linked, unit, &n_gpu);
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
    return SUTRA_OK;
}

/* Ids in ctrl_deps that no node has get new numbers behind all others, in the order of the output. */
static enum sutra_status number_unknown(struct sutra_linked *linked, struct sutra_context *context,
                                        const row_t *unknown, row_t n, struct sutra_error *error) {
    value_key *keys = arena_take(&linked->arena, n, sizeof *keys);
    row_t *number = arena_take(&linked->arena, n, sizeof *number);
    struct key_index index = {0};
    enum sutra_status status = arena_status(&linked->arena, error);
    for (row_t i = 0; i < n && !status; i++)
        keys[i] = linked->host->nodes.ctrl_deps[linked->units.node[unknown[i]]];
    if (!status)
        status = key_index_build(&index, &context->engine, keys, n, KEY_FIRST, NULL, error);
    if (!status)
        key_index_number(&index, keys, n, number);
    for (row_t i = 0; i < n && !status; i++)
        linked->ctrl_deps[unknown[i]] = linked->unit_id[linked->units.n_units] + number[i];
    key_index_free(&index);
    return status;
}

static enum sutra_status renumber_ctrl_deps(struct sutra_linked *linked, struct sutra_context *context,
                                            struct sutra_error *error) {
    const struct host_ops *units = &linked->units;
    struct arena_mark mark = arena_mark(&linked->arena);
    row_t *unknown = arena_take(&linked->arena, units->n_nodes, sizeof *unknown), n_unknown = 0;
    if (!unknown)
        return error_memory(error);
    for (row_t i = 0; i < units->n_nodes; i++) {
        value_key key = linked->host->nodes.ctrl_deps[units->node[i]];
        linked->ctrl_deps[i] = CTRL_DEPS_NONE;
        if (key == KEY_ABSENT)
            continue;
        row_t unit = key_index_find(&units->ids, key);
        if (unit == ROW_NONE)
            unknown[n_unknown++] = i;
        else
            linked->ctrl_deps[i] = linked->unit_id[unit];
    }
    enum sutra_status status = number_unknown(linked, context, unknown, n_unknown, error);
    arena_release(&linked->arena, mark);
    return status;
}

/* GPU operators whose CPU operator no host operator is linked to: those of groups that no unit takes. */
static enum sutra_status count_unmatched_gpu(struct sutra_linked *linked, struct sutra_error *error) {
    const struct device_ops *ops = &linked->ops;
    struct arena_mark mark = arena_mark(&linked->arena);
    uint8_t *taken = arena_zeros(&linked->arena, ops->n_groups, 1);
    if (!taken)
        return error_memory(error);
    for (row_t unit = 0; unit < linked->units.n_units; unit++) {
        if (linked->unit_op[unit] == ROW_NONE)
            continue;
        row_t group = key_index_find(&ops->groups, ops->cpu.external[linked->unit_op[unit]]);
        if (group != ROW_NONE)
            taken[group] = 1;
    }
    for (row_t group = 0; group < ops->n_groups; group++)
        if (!taken[group])
            linked->report.n_gpu_host_unmatched += ops->group_start[group + 1] - ops->group_start[group];
    arena_release(&linked->arena, mark);
    return SUTRA_OK;
}

static void fill_report(struct sutra_linked *linked) {
    struct sutra_link_report *report = &linked->report;
    const struct device_ops *ops = &linked->ops;
    report->n_host_nodes = linked->host->nodes.n;
    report->n_events = linked->device->events.n;
    report->n_cpu_ops = ops->cpu.n;
    report->n_gpu_ops = ops->n_gpu + ops->n_memory_sets;
    report->n_gpu_memory_sets = ops->n_memory_sets;
    report->n_gpu_with_parent = ops->n_grouped;
    report->n_gpu_without_launch = ops->n_without_launch;
    report->n_gpu_without_parent = ops->n_without_parent;
    report->n_exclusive_rounded = ops->anomalies.n_rounded;
    report->n_exclusive_replaced = ops->anomalies.n_replaced;
    report->n_fields_dropped =
        linked->host->n_fields_dropped + linked->device->n_fields_dropped + ops->n_fields_dropped;
}

/* Exclusive durations below 0 stop a strict link; otherwise they are told. */
static enum sutra_status judge_durations(const struct sutra_linked *linked, struct sutra_context *context,
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

/* Less than half of the operators linked are told with the cause, and stop a strict link. */
static enum sutra_status judge_links(const struct sutra_linked *linked, const struct pairing *pairing,
                                     struct sutra_context *context, struct sutra_error *error) {
    const struct sutra_link_report *report = &linked->report;
    unsigned long long n_linked = report->n_host_linked, n_ops = report->n_host_ops;
    if (n_ops && 2 * n_linked >= n_ops)
        return SUTRA_OK;
    static const char few_linked[] = "%s%llu of %llu host operators are linked: %s";
    const char *head = n_linked ? "" : "nothing matches: ";
    if (context->options.strict)
        return error_set(error, SUTRA_STRICT, few_linked, head, n_linked, n_ops, pairing_cause(pairing));
    context_warn(context, few_linked, head, n_linked, n_ops, pairing_cause(pairing));
    return SUTRA_OK;
}

static enum sutra_status link_all(struct sutra_linked *linked, struct sutra_context *context,
                                  struct sutra_error *error) {
    context_expect(context, linked->device->events.n);
    struct pairing pairing;
    enum sutra_status status = pairing_look(linked->host, linked->device, &pairing, error);
    if (!status)
        status = pairing_judge(&pairing, context, error);
    if (!status)
        status = device_ops_build(&linked->ops, context, linked->device, &linked->arena, error);
    stage_begin(context, "link", linked->host->nodes.n);
    if (!status)
        status = judge_durations(linked, context, error);
    if (!status)
        status = host_ops_build(&linked->units, context, linked->host, &linked->arena, error);
    if (!status)
        status = context_go_on(context, error);
    if (status)
        return status;
    struct arena *arena = &linked->arena;
    size_t n = (size_t)linked->units.n_units + 1;
    linked->unit_op = arena_take(arena, n, sizeof *linked->unit_op);
    linked->unit_after = arena_take(arena, n, sizeof *linked->unit_after);
    linked->unit_entry = arena_take(arena, n, sizeof *linked->unit_entry);
    linked->unit_id = arena_zeros(arena, n, sizeof *linked->unit_id);
    linked->ctrl_deps = arena_take(arena, linked->units.n_nodes, sizeof *linked->ctrl_deps);
    status = arena_status(arena, error);
    if (!status)
        status = link_units(linked, error);
    if (!status)
        status = judge_links(linked, &pairing, context, error);
    if (!status)
        status = number_units(linked, error);
    if (!status)
        status = renumber_ctrl_deps(linked, context, error);
    if (!status)
        status = count_unmatched_gpu(linked, error);
    fill_report(linked);
    if (linked->ops.n_untimed)
        context_warn(context, "%s no start or no duration: using 0",
                     counted_text(linked->ops.n_untimed, "operator of the device trace has",
                                  "operators of the device trace have")
                         .text);
    if (linked->report.n_fields_dropped)
        context_warn(context, "%s ignored",
                     counted_text(linked->report.n_fields_dropped, "field of the wrong type was",
                                  "fields of the wrong type were")
                         .text);
    return status;
}

/* GPU nodes per GPU operator, and nodes, beyond which the output's size is told before it is written. */
#define MANY_COPIES 10
#define MANY_NODES  10000

/* Host operators that share an external id have a node each for every GPU operator of that id: the output can grow with
 * the square of the input. */
static enum sutra_status judge_size(const struct sutra_linked *linked, struct sutra_context *context, uint64_t most,
                                    struct sutra_error *error) {
    static const char text[] =
        "the output %s %llu nodes, about %.1f MB, for %llu GPU activities: many host operators share one external id";
    const struct sutra_link_report *report = &linked->report;
    unsigned long long n_nodes = report->n_nodes, n_gpu = report->n_gpu_ops;
    bool grows = report->n_gpu_nodes > MANY_COPIES * report->n_gpu_ops && n_nodes > MANY_NODES;
    if (!grows && !most)
        return SUTRA_OK;
    uint64_t bytes = linked_size(linked);
    if (bytes == 0)
        return error_memory(error);
    if (most && bytes >= most && !grows)
        return error_set(error, SUTRA_DATA, "the output would have about %.1f MB", (double)bytes / 1e6);
    if (most && bytes >= most)
        return error_set(error, SUTRA_DATA, text, "would have", n_nodes, (double)bytes / 1e6, n_gpu);
    if (grows)
        context_warn(context, text, "has", n_nodes, (double)bytes / 1e6, n_gpu);
    return SUTRA_OK;
}

enum sutra_status sutra_link(struct sutra_context *context, const struct sutra_host_trace *host,
                             const struct sutra_device_trace *device, const struct sutra_link_options *options,
                             struct sutra_linked **linked, struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_link_options, hta_pandas3);
    struct sutra_link_options taken;
    enum sutra_status status = options_take(&form, options, &taken, error);
    if (status)
        return status;
    struct sutra_linked *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(error);
    made->host = host;
    made->device = device;
    status = link_all(made, context, error);
    if (!status)
        status = context_go_on(context, error);
    if (!status && !taken.no_sync)
        status = sync_build(made, context, taken.hta_pandas3, error);
    if (!status)
        status = judge_size(made, context, taken.most_bytes, error);
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

/* The report stays. */
static void free_columns(struct sutra_linked *linked) {
    host_ops_free(&linked->units);
    device_ops_free(&linked->ops);
    arena_free(&linked->arena);
    key_index_free(&linked->sync.targets);
}

/* Frees a column, which free() may be given again. */
#define SPEND(column) (free(column), (column) = NULL)

void linked_traces_spend_keys(const struct linked_traces *spent) {
    struct device_events *events = &spent->device->events;
    SPEND(events->pid);
    SPEND(events->tid);
    SPEND(events->external);
    SPEND(events->rf);
    SPEND(events->correlation);
    SPEND(events->category);
    SPEND(events->phase);
    SPEND(events->text);
    SPEND(spent->host->nodes.id);
    SPEND(spent->host->nodes.rf);
    SPEND(spent->host->nodes.end);
}

void linked_traces_spend(const struct linked_traces *spent) {
    free_columns(spent->linked);
    host_nodes_free(&spent->host->nodes);
    device_events_free(&spent->device->events);
}

void sutra_linked_free(struct sutra_linked *linked) {
    if (!linked)
        return;
    free_columns(linked);
    free(linked);
}
