/*
 * dlrm_trim.c - which events are looked at: some iterations out of many, a part of the time, or all.
 *
 * In comes the whole trace; out go rows in file order, or NULL for all of them, and the number of iterations that they
 * stand for. An iteration begins with each event whose name contains DataLoader or, failing that, ## Forward ##, in the
 * order of the file. O(n).
 */
#include "analyze/dlrm/dlrm.h"

#include <math.h>

#include "base/error.h"

#define ITERS_DEFAULT 10

struct trim_span {
    struct number from, to;
    bool with_from, with_to; /* whether the ends belong to it */
};

static bool has_ts(const struct dlrm_work *work, row_t event) {
    return (work->events->flags[event] & EVENT_HAS_TS) != 0;
}

static bool in_span(const struct trim_span *span, struct number ts) {
    int from = number_compare(ts, span->from), to = number_compare(ts, span->to);
    return (from > 0 || (span->with_from && from == 0)) && (to < 0 || (span->with_to && to == 0));
}

static enum sutra_status keep_span(struct dlrm_work *work, const struct trim_span *span, struct dlrm_trimmed *trimmed,
                                   struct sutra_error *error) {
    trimmed->rows = arena_take(work->arena, work->events->n, sizeof *trimmed->rows);
    if (!trimmed->rows)
        return error_memory(error);
    for (row_t event = 0; event < work->events->n; event++)
        if (has_ts(work, event) && in_span(span, event_ts(work, event)))
            trimmed->rows[trimmed->n++] = event;
    return SUTRA_OK;
}

/* ---- Iterations ---- */

/* The span from the event of this role number `skip` to the one `iters` later; false if there are not as many. */
static bool find_iterations(const struct dlrm_work *work, uint32_t role, uint64_t skip, uint64_t iters,
                            struct trim_span *span) {
    uint64_t n = 0;
    for (row_t event = 0; event < work->events->n; event++) {
        if (!event_is(work, event, role) || !has_ts(work, event))
            continue;
        if (n == skip)
            span->from = event_ts(work, event);
        if (n++ - skip == iters) {
            span->to = event_ts(work, event);
            return true;
        }
    }
    return false;
}

/* How many of the kept events of the role have a duration of more than `us` and are the host's. */
static uint64_t count_iterations(const struct dlrm_work *work, const struct dlrm_trimmed *trimmed, uint32_t role,
                                 int64_t us) {
    uint64_t n = 0;
    for (row_t i = 0; i < trimmed->n; i++) {
        row_t event = dlrm_trimmed_at(trimmed, i);
        n += event_is(work, event, role) && work->events->stream[event] == KEY_ABSENT &&
             number_compare(event_dur(work, event), number_integer(us)) > 0;
    }
    return n;
}

/* The iterations of the kept events, as far as those show them. */
static uint64_t iterations_shown(const struct dlrm_work *work, const struct dlrm_trimmed *trimmed) {
    uint64_t n = count_iterations(work, trimmed, DLRM_LOADER, 100);
    if (!n)
        n = count_iterations(work, trimmed, DLRM_FORWARD, 0);
    if (!n)
        n = count_iterations(work, trimmed, NAME_STEP, 0);
    return n ? n : 1;
}

static enum sutra_status keep_iterations(struct dlrm_work *work, struct dlrm_trimmed *trimmed,
                                         struct sutra_error *error) {
    const struct sutra_dlrm_options *options = work->options;
    uint64_t iters = options->iters ? options->iters : ITERS_DEFAULT;
    struct trim_span span = {.with_from = true};
    if (find_iterations(work, DLRM_LOADER, options->skip_iters, iters, &span) ||
        find_iterations(work, DLRM_FORWARD, options->skip_iters, iters, &span)) {
        trimmed->iters = iters;
        return keep_span(work, &span, trimmed, error);
    }
    if (options->iters || options->compat)
        context_warn(
            work->context,
            "fewer than %llu iterations (DataLoader or ## Forward ## events) after the first %llu: analyzing the "
            "full trace as %llu iterations",
            (unsigned long long)iters, (unsigned long long)options->skip_iters, (unsigned long long)iters);
    return SUTRA_OK;
}

/* ---- Parts of the time ---- */

/* First and last start; false if no event has one. */
static bool find_starts(const struct dlrm_work *work, struct number *first, struct number *last) {
    bool found = false;
    for (row_t event = 0; event < work->events->n; event++) {
        if (!has_ts(work, event))
            continue;
        struct number ts = event_ts(work, event);
        if (!found || number_compare(ts, *first) < 0)
            *first = ts;
        if (!found || number_compare(ts, *last) > 0)
            *last = ts;
        found = true;
    }
    return found;
}

static enum sutra_status keep_time(struct dlrm_work *work, struct dlrm_trimmed *trimmed, struct sutra_error *error) {
    const struct sutra_dlrm_options *options = work->options;
    struct number first = {0}, last = {0};
    if (!find_starts(work, &first, &last))
        return SUTRA_OK;
    double begin = number_as_double(first), end = number_as_double(last);
    struct trim_span span = {.with_from = true, .with_to = true};
    span.from = number_double(options->from);
    span.to = number_double(options->to);
    if (options->trim == SUTRA_TRIM_PERCENTAGE) {
        double range = end - begin;
        span = (struct trim_span){.from = number_double(begin + options->from / 100 * range),
                                  .to = number_double(begin + options->to / 100 * range)};
    } else if (options->from < begin || options->to > end) {
        return error_file(error, SUTRA_USAGE, work->trace->document.source.name,
                          "the time range is not inside the trace: its events start from %.17g to %.17g us", begin,
                          end);
    }
    return keep_span(work, &span, trimmed, error);
}

enum sutra_status dlrm_trim(struct dlrm_work *work, struct dlrm_trimmed *trimmed, struct sutra_error *error) {
    const struct sutra_dlrm_options *options = work->options;
    enum sutra_status status = SUTRA_OK;
    *trimmed = (struct dlrm_trimmed){0};
    if (options->trim == SUTRA_TRIM_AUTO)
        status = keep_iterations(work, trimmed, error);
    else if (options->trim != SUTRA_TRIM_NONE)
        status = keep_time(work, trimmed, error);
    if (!trimmed->rows)
        trimmed->n = work->events->n;
    if (!trimmed->iters)
        trimmed->iters = options->iters    ? options->iters
                         : options->compat ? ITERS_DEFAULT
                                           : iterations_shown(work, trimmed);
    return status;
}
