/*
 * rank_link.c - one rank: read, link, write.
 */
#include "job/rank_link.h"

#include <inttypes.h>
#include <string.h>

#include "analyze/rank_number.h"
#include "analyze/trace_devices.h"
#include "base/bisect.h"
#include "base/error.h"
#include "link/linked.h"
#include "link/pairing.h"
#include "read/fields.h"
#include "simulate/converted.h"

enum sutra_status link_output_write(struct sutra_context *context, const struct linked_traces *spent,
                                    const struct link_output *output, struct rank_of_job *job, const char *path,
                                    uint64_t *n_bytes, struct sutra_faithful_report *faithful,
                                    struct sutra_error *error) {
    if (!output->et)
        return sutra_linked_write(context, spent->linked, path, n_bytes, error);
    struct sutra_converted *converted = NULL;
    struct sutra_convert_options what = output->what;
    what.keep_times = output->faithful;
    enum sutra_status status = linked_convert_spend(context, spent, &what, &converted, error);
    if (!status && output->faithful)
        status = converted_make_faithful(context, converted, NULL, &output->how, job, faithful, error);
    if (!status)
        status = sutra_converted_write(context, converted, path, n_bytes, error);
    sutra_converted_free(converted);
    return status;
}

/* What the traces as a whole say, after their beginnings did not speak against the pair. */
static enum sutra_status confirm(const struct rank_pair *pair, const struct sutra_host_trace *host,
                                 const struct sutra_device_trace *device, struct sutra_error *error) {
    struct pairing pairing;
    char text[PAIRING_TEXT];
    enum sutra_rank_source source;
    int64_t rank = rank_number(device, pair->device.path, 0, &source);
    if (source == SUTRA_RANK_INFO && rank != pair->rank)
        return error_file(error, SUTRA_DATA, pair->device.path, "it says that it is of rank %" PRId64 ", not %" PRId64,
                          rank, pair->rank);
    enum sutra_status status = pairing_look(host, device, &pairing, error);
    if (!status && pairing_misfit(&pairing, text))
        status = error_set(error, SUTRA_DATA, "%.390s", text);
    return status;
}

/* ---- A rank of a simulated job ---- */

static bool list_events(const struct collective_calls *calls, struct rank_of_job *job) {
    row_t *events = arena_take(job->arena, calls->n, sizeof *events);
    for (uint64_t i = 0; events && i < calls->n; i++)
        events[i] = calls->list[i].event;
    job->events = events;
    job->n_events = (row_t)calls->n;
    return events;
}

/* Calls stand in the order of their events; the kernels do not. */
static void mark_calls(const struct rank_of_job *job, struct collective_calls *calls) {
    for (row_t i = 0; i < job->marks.n; i++) {
        struct bisection at = {0, job->n_events};
        while (at.low < at.high)
            bisect(&at, job->events[bisect_middle(at)] < job->marks.event[i]);
        if (at.low == job->n_events || job->events[at.low] != job->marks.event[i])
            continue;
        struct collective_call *call = &calls->list[at.low];
        call->node = job->marks.id[i];
        call->ready_us = job->marks.ready_us[i];
        call->done_us = job->marks.done_us[i];
    }
}

static struct rank_start start_of(const struct rank_marks *marks, int64_t base_ns) {
    int64_t origin_ns = trace_time_ns(marks->origin, base_ns);
    return (struct rank_start){.is_told = true,
                               .has_ops = marks->has_ops,
                               .origin_ns = origin_ns,
                               .end_ns = trace_time_ns(marks->end, base_ns),
                               .first_node = marks->first_id};
}

static enum sutra_status write_output(struct sutra_context *context, const struct linked_traces *spent, int64_t base_ns,
                                      const struct link_output *output, const char *path, struct rank_result *result,
                                      struct sutra_error *error) {
    struct arena arena = {0};
    struct rank_of_job job = {.arena = &arena};
    enum sutra_status status = SUTRA_OK;
    if (output->of_job && !list_events(&result->calls, &job))
        status = error_memory(error);
    if (!status)
        status = link_output_write(context, spent, output, output->of_job ? &job : NULL, path, NULL, &result->faithful,
                                   error);
    if (!status && output->of_job) {
        mark_calls(&job, &result->calls);
        result->start = start_of(&job.marks, base_ns);
    }
    arena_free(&arena);
    return status;
}

/* ---- All of it ---- */

static enum sutra_status link_traces(struct sutra_context *context, struct sutra_host_trace *host,
                                     struct sutra_device_trace *device, const struct sutra_link_options *options,
                                     const struct link_output *output, const char *path, struct rank_result *result,
                                     struct sutra_error *error) {
    struct sutra_linked *linked = NULL;
    enum sutra_status status = sutra_link(context, host, device, options, &linked, error);
    if (status)
        return status;
    sutra_linked_report(linked, &result->report);
    if (result->report.n_host_linked == 0 && result->report.n_host_ops > 0)
        status = error_file(error, SUTRA_DATA, device->document.source.name,
                            "nothing of it matches %.200s: are they of the same run?", host->document.source.name);
    const struct linked_traces spent = {linked, host, device};
    int64_t base_ns = trace_base_ns(device);
    if (!status)
        status = write_output(context, &spent, base_ns, output, path, result, error);
    sutra_linked_free(linked);
    return status;
}

enum sutra_status rank_link(struct sutra_context *context, const struct rank_pair *pair,
                            const struct sutra_link_options *options, const struct link_output *output,
                            const char *path, struct rank_result *result, struct sutra_error *error) {
    struct sutra_host_trace *host = NULL;
    struct sutra_device_trace *device = NULL;
    *result = (struct rank_result){.report.size = sizeof result->report, .faithful.size = sizeof result->faithful};
    enum sutra_status status = collective_calls_init(&result->calls) ? SUTRA_OK : error_memory(error);
    if (!status)
        status = sutra_host_trace_read(context, pair->host.path, &host, error);
    if (!status)
        status = sutra_device_trace_read(context, pair->device.path, &device, error);
    if (!status)
        status = confirm(pair, host, device, error);
    if (!status)
        status = collective_calls_take(&result->calls, context, device, pair->rank, error);
    if (!status) {
        event_columns_forget(device->columns); /* linking asks for none of what collectives tell */
        int64_t n = trace_device_count(&device->document);
        result->n_devices = n > 0 ? n : NOT_TOLD;
        status = link_traces(context, host, device, options, output, path, result, error);
    }
    sutra_device_trace_free(device);
    sutra_host_trace_free(host);
    return status;
}

void rank_result_free(struct rank_result *result) {
    collective_calls_free(&result->calls);
}
