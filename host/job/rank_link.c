/*
 * rank_link.c - one rank: read, link, write.
 */
#include "job/rank_link.h"

#include <inttypes.h>
#include <string.h>

#include "analyze/rank_number.h"
#include "analyze/trace_devices.h"
#include "base/error.h"
#include "link/linked.h"
#include "link/pairing.h"
#include "read/fields.h"
#include "simulate/converted.h"

enum sutra_status link_output_write(struct sutra_context *context, const struct linked_traces *spent,
                                    const struct link_output *output, const char *path, uint64_t *n_bytes,
                                    struct sutra_faithful_report *faithful, struct sutra_error *error) {
    if (!output->et)
        return sutra_linked_write(context, spent->linked, path, n_bytes, error);
    struct sutra_converted *converted = NULL;
    struct sutra_convert_options what = output->what;
    what.keep_times = output->faithful;
    enum sutra_status status = linked_convert_spend(context, spent, &what, &converted, error);
    if (!status && output->faithful)
        status = sutra_converted_make_faithful(context, converted, NULL, &output->how, faithful, error);
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
    if (!status)
        status = link_output_write(context, &spent, output, path, NULL, &result->faithful, error);
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
