/*
 * parts.c - what is kept of a trace: its collectives, and how long its device computes.
 */
#include <math.h>
#include <stdlib.h>

#include "analyze/collectives/collectives.h"
#include "analyze/collectives/nccl.h"
#include "analyze/trace_devices.h"
#include "base/error.h"
#include "facts/device_class.h"
#include "facts/device_peaks.h"
#include "facts/exact_times.h"
#include "facts/names.h"

/* What each name of a kernel is to a timeline, found when it is met. */
static enum device_class class_of(const struct sutra_device_trace *trace, const struct string_roles *roles,
                                  uint8_t *classes, row_t event) {
    uint32_t name = trace->events.name[event], category = category_roles(&trace->events, roles, event);
    if (!(category & CATEGORY_WORK))
        return DEVICE_NO_WORK;
    if (category & (CATEGORY_COPY | CATEGORY_SET))
        return DEVICE_COPY;
    if (classes[name] == 0)
        classes[name] = (uint8_t)(1 + device_class_of(CATEGORY_KERNEL, strings_text(&trace->strings, name),
                                                      strings_length(&trace->strings, name)));
    return (enum device_class)(classes[name] - 1);
}

static void add_work(struct collective_part *part, enum device_class class, int64_t start_ns, int64_t end_ns) {
    part->first_ns = start_ns < part->first_ns ? start_ns : part->first_ns;
    part->last_ns = end_ns > part->last_ns ? end_ns : part->last_ns;
    if (class == DEVICE_COMPUTE)
        part->compute_ns += (double)moment_minus(end_ns, start_ns);
}

static enum sutra_status sum_work(struct collective_part *part, struct sutra_context *context,
                                  const struct sutra_device_trace *trace, struct sutra_error *error) {
    const struct device_events *events = &trace->events;
    struct arena scratch = {0};
    struct string_roles *roles = names_find(&trace->strings, READER_LINKER, &scratch);
    uint8_t *classes = arena_zeros(&scratch, trace->strings.n, sizeof *classes);
    enum sutra_status status = arena_status(&scratch, error);
    int64_t base_ns = trace_base_ns(trace);
    uint64_t n_untimed = 0;
    part->first_ns = INT64_MAX;
    part->last_ns = INT64_MIN;
    for (row_t i = 0; i < events->n && !status; i++) {
        enum device_class class = class_of(trace, roles, classes, i);
        int64_t start_ns = base_ns, end_ns;
        if (class == DEVICE_NO_WORK)
            continue;
        if (event_moments(events, i, base_ns, &start_ns, &end_ns))
            add_work(part, class, start_ns, end_ns);
        else
            n_untimed++;
    }
    if (!status)
        untimed_warn(context, n_untimed, "GPU activity has", "GPU activities have");
    arena_free(&scratch);
    return status;
}

enum sutra_status collective_part_take(struct collective_part *part, struct sutra_context *context,
                                       const struct sutra_device_trace *trace, int64_t rank, bool compat,
                                       struct sutra_error *error) {
    part->n_devices = trace_device_count(&trace->document);
    part->link_gb_per_s = device_link_of(&trace->document) / 1e9;
    if (!collective_calls_init(&part->calls))
        return error_memory(error);
    part->calls.keep_untold = true;
    part->taken = true;
    if (compat)
        return nccl_rows_take(&part->nccl, context, trace, error);
    enum sutra_status status = collective_calls_take(&part->calls, context, trace, rank, error);
    if (!status)
        status = sum_work(part, context, trace, error);
    return status;
}

void collective_part_put(const struct collective_part *part, struct buffer *out) {
    bool compat = part->nccl != NULL;
    spool_put(out, part->n_devices);
    spool_put(out, part->link_gb_per_s);
    spool_put(out, part->compute_ns);
    spool_put(out, part->first_ns);
    spool_put(out, part->last_ns);
    spool_put(out, compat);
    if (compat)
        nccl_rows_put(part->nccl, out);
    else
        collective_calls_put(&part->calls, out);
}

bool collective_part_restore(struct collective_part *part, int64_t rank, struct spool_reader *reader) {
    spool_take(reader, part->n_devices);
    spool_take(reader, part->link_gb_per_s);
    spool_take(reader, part->compute_ns);
    spool_take(reader, part->first_ns);
    spool_take(reader, part->last_ns);
    if (!collective_calls_init(&part->calls))
        return false;
    bool done = spool_take_bool(reader) ? nccl_rows_restore(&part->nccl, reader)
                                        : collective_calls_restore(&part->calls, rank, reader);
    part->taken = done && !reader->failed;
    return done;
}

void collective_part_free(struct collective_part *part) {
    collective_calls_free(&part->calls);
    nccl_rows_free(part->nccl);
    part->nccl = NULL;
}

struct collective_part *collective_part_of(const struct sutra_collectives *of, size_t number) {
    return (struct collective_part *)of->tasks.results + number;
}

struct collective_part *collective_part_at(const struct sutra_collectives *of, size_t i) {
    return collective_part_of(of, of->tasks.order[i]);
}
