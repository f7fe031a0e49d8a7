/*
 * rank_link.c - implements rank_link.h.
 */
#include "job/rank_link.h"
#include "link/pairing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/ranks.h"
#include "base/error.h"
#include "base/shared.h"
#include "read/document.h"
#include "read/file_kind.h"
#include "simulate/convert.h"
#include "simulate/simulation.h"

/* Writes ASTRA-sim's configuration, which replays all durations, and a copy of the file for each of the two ranks that
 * ASTRA-sim needs at least. */
static enum sutra_status write_astra_copies(struct sutra_context *context, const struct sutra_converted *converted,
                                            const char *folder, struct sutra_error *error) {
    const struct astra_job job = {.n_ranks = 2, .replays = true, .n_dimensions = 1, .n_of_dimension = {2}};
    enum sutra_status status = astra_files_write(context, folder, &job, error);
    for (int rank = 0; rank < 2 && !status; rank++) {
        char *path;
        if (asprintf(&path, "%s/rank.%d.et", folder, rank) < 0)
            return error_memory(error);
        status = sutra_converted_write(context, converted, path, NULL, error);
        free(path);
    }
    return status;
}

/* Converts the linked traces into *converted, which the caller frees, and writes the files of the rank. */
static enum sutra_status write_converted(struct sutra_context *context, const struct linked_traces *inputs_to_free,
                                         const struct link_output *output, struct rank_of_job *job, const char *path,
                                         uint64_t *n_bytes, struct sutra_faithful_report *faithful,
                                         struct sutra_converted **converted, struct sutra_error *error) {
    struct sutra_convert_options what = output->what;
    what.keep_times = output->faithful;
    TRY(linked_convert_and_free(context, inputs_to_free, &what, converted, error));
    if (job && job->needs_streams)
        TRY(et_nodes_begin(&job->streams.nodes, error));
    if (output->faithful)
        TRY(converted_make_measured(context, *converted, NULL, &output->how, job, faithful, error));
    TRY(sutra_converted_write(context, *converted, path, n_bytes, error));
    if (job && job->needs_streams) {
        struct et_maker maker = (*converted)->maker;
        maker.measured = &job->streams.nodes;
        maker.plain = job->streams.plain;
        TRY(et_maker_write(&maker, &job->streams.nodes, context, output->streams_path, NULL, error));
    }
    return output->astra_folder ? write_astra_copies(context, *converted, output->astra_folder, error) : SUTRA_OK;
}

enum sutra_status link_output_write(struct sutra_context *context, const struct linked_traces *inputs_to_free,
                                    const struct link_output *output, struct rank_of_job *job, const char *path,
                                    uint64_t *n_bytes, struct sutra_faithful_report *faithful,
                                    struct sutra_error *error) {
    if (!output->et)
        return sutra_linked_write(context, inputs_to_free->linked, path, n_bytes, error);
    struct sutra_converted *converted = NULL;
    if (job)
        job->needs_streams = output->streams_path != NULL;
    enum sutra_status status =
        write_converted(context, inputs_to_free, output, job, path, n_bytes, faithful, &converted, error);
    if (job)
        et_nodes_free(&job->streams.nodes);
    sutra_converted_free(converted);
    return status;
}

/* Checks the complete traces of a pair whose heads did not contradict each other. */
static enum sutra_status check_pair(const struct rank_pair *pair, const struct sutra_host_trace *host,
                                    const struct sutra_device_trace *device, struct pairing *pairing,
                                    struct sutra_error *error) {
    char text[PAIRING_TEXT];
    enum sutra_rank_source source;
    int64_t rank = rank_number(device, pair->device.path, 0, &source);
    if (source == SUTRA_RANK_INFO && rank != pair->rank)
        return error_file(error, SUTRA_DATA, pair->device.path, "it says that it is of rank %" PRId64 ", not %" PRId64,
                          rank, pair->rank);
    TRY(pairing_inspect(host, device, pairing, error));
    return pairing_misfit(pairing, text) ? error_set(error, SUTRA_DATA, "%.390s", text) : SUTRA_OK;
}

/* Writes the output. For a rank of a simulated job, also fills the node and the times of each collective and the start
 * of the rank. */
static enum sutra_status write_output(struct sutra_context *context, const struct linked_traces *inputs_to_free,
                                      int64_t base_ns, const struct link_output *output, const char *path,
                                      struct rank_result *result, struct sutra_error *error) {
    if (!output->of_job)
        return link_output_write(context, inputs_to_free, output, NULL, path, NULL, &result->faithful, error);
    struct arena arena = {0};
    struct collective_calls *calls = &result->calls;
    row_t *events = arena_alloc(&arena, calls->n, sizeof *events);
    for (uint64_t i = 0; events && i < calls->n; i++)
        events[i] = calls->list[i].event;
    struct rank_of_job job = {.arena = &arena, .events = events, .n_events = (row_t)calls->n};
    enum sutra_status status = events ? SUTRA_OK : error_memory(error);
    if (!status)
        status = link_output_write(context, inputs_to_free, output, &job, path, NULL, &result->faithful, error);
    /* calls are in the order of their events, marks are not */
    const struct rank_marks *marks = &job.marks;
    for (row_t i = 0; !status && i < marks->n; i++) {
        struct bisection at = {0, job.n_events};
        while (at.low < at.high)
            bisect(&at, events[bisect_middle(at)] < marks->event[i]);
        if (at.low == job.n_events || events[at.low] != marks->event[i])
            continue;
        struct collective_call *call = &calls->list[at.low];
        call->node = marks->id[i];
        call->ready_us = marks->ready_us[i];
        call->done_us = marks->done_us[i];
        call->op_bytes = marks->bytes[i];
    }
    if (!status)
        result->start = (struct rank_start){.is_known = true,
                                            .has_ops = marks->has_ops,
                                            .origin_ns = trace_time_ns(marks->origin, base_ns),
                                            .end_ns = trace_time_ns(marks->end, base_ns),
                                            .first_node = marks->first_id};
    arena_free(&arena);
    return status;
}

/* Checks that the linked traces match, reads the members of their process groups, and writes the output. */
static enum sutra_status check_and_write(struct sutra_context *context, const struct linked_traces *traces,
                                         const struct pairing *pairing, int64_t rank, const struct link_output *output,
                                         const char *path, struct rank_result *result, struct sutra_error *error) {
    const char *host = traces->host->document.source.name, *device = traces->device->document.source.name;
    const int64_t base_ns = trace_base_ns(traces->device);
    if (context->options.strict)
        TRY(validity_report(context, &traces->linked->found, device, error));
    if (result->report.n_host_linked == 0 && result->report.n_host_ops > 0)
        return error_file(error, SUTRA_DATA, device, "nothing of it matches %.100s: %s", host,
                          *pairing->absent_thread ? pairing->absent_thread : "are they of the same run?");
    TRY(collective_records_read(&result->calls, context, traces->linked, rank, error));
    return write_output(context, traces, base_ns, output, path, result, error);
}

static enum sutra_status link_traces(struct sutra_context *context, struct sutra_host_trace *host,
                                     struct sutra_device_trace *device, const struct pairing *pairing, int64_t rank,
                                     const struct sutra_link_options *options, const struct link_output *output,
                                     const char *path, struct rank_result *result, struct sutra_error *error) {
    struct sutra_linked *linked = NULL;
    TRY(sutra_link(context, host, device, options, &linked, error));
    sutra_linked_report(linked, &result->report);
    sutra_linked_match(linked, &result->match);
    result->validity.defects[DEFECT_UNKNOWN_LAUNCH] = linked->found.defects[DEFECT_UNKNOWN_LAUNCH];
    const struct linked_traces traces = {linked, host, device};
    enum sutra_status status = check_and_write(context, &traces, pairing, rank, output, path, result, error);
    sutra_linked_free(linked);
    return status;
}

/* Reads the two traces, which the caller frees, and links them. */
static enum sutra_status read_and_link(struct sutra_context *context, const struct rank_pair *pair,
                                       const struct sutra_link_options *options, const struct link_output *output,
                                       const char *path, struct sutra_host_trace **host,
                                       struct sutra_device_trace **device, struct rank_result *result,
                                       struct sutra_error *error) {
    struct pairing pairing = {0};
    TRY_ALLOC(collective_calls_init(&result->calls), error);
    TRY(sutra_host_trace_read(context, pair->host.path, host, error));
    TRY(sutra_device_trace_read(context, pair->device.path, device, error));
    result->validity = *(*host)->validity;
    validity_add(&result->validity, (*device)->validity);
    if (context->options.strict) {
        TRY(validity_report(context, (*host)->validity, pair->host.path, error));
        TRY(validity_report(context, (*device)->validity, pair->device.path, error));
    }
    if (output->faithful)
        TRY(restrict_to_complete_part(context, *device, error));
    TRY(check_pair(pair, *host, *device, &pairing, error));
    TRY(collective_calls_read(&result->calls, context, *device, pair->rank, error));
    event_columns_forget((*device)->columns); /* linking needs no columns of collectives */
    int64_t n = trace_device_count(&(*device)->document);
    result->n_devices = n > 0 ? n : NOT_RECORDED;
    return link_traces(context, *host, *device, &pairing, pair->rank, options, output, path, result, error);
}

enum sutra_status rank_link(struct sutra_context *context, const struct rank_pair *pair,
                            const struct sutra_link_options *options, const struct link_output *output,
                            const char *path, struct rank_result *result, struct sutra_error *error) {
    struct sutra_host_trace *host = NULL;
    struct sutra_device_trace *device = NULL;
    *result = (struct rank_result){.report.size = sizeof result->report,
                                   .match.size = sizeof result->match,
                                   .faithful.size = sizeof result->faithful};
    enum sutra_status status = read_and_link(context, pair, options, output, path, &host, &device, result, error);
    sutra_device_trace_free(device);
    sutra_host_trace_free(host);
    return status;
}

void rank_result_free(struct rank_result *result) {
    collective_calls_free(&result->calls);
}
