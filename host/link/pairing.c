/* pairing.c - implements pairing.h. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/shared.h"
#include "facts/names.h"
#include "facts/times.h"
#include "facts/validity.h"
#include "link/pairing.h"
#include "read/document.h"
#include "text/quantities.h"

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
    TRY_ALLOC(roles, error);
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
