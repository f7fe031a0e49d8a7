/*
 * pairing.c - comparing what two traces say about where and when they were recorded.
 */
#include "link/pairing.h"

#include <stdio.h>
#include <time.h>

#include "base/error.h"
#include "facts/names.h"
#include "read/fields.h"

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
