/*
 * dlrm_streams.c - idle and overlapping time of the streams together, and busy time of each.
 *
 * In comes what the launches started, by start; out go the original's figures, which count some kernels twice, and the
 * right ones:
 *
 *     |--a--|     |--b--------|                 span      from the first start to the last end
 *                    |--c--|       |--d--|      union     a + b + d;  idle: the rest
 *                                               overlap   c: with what began before it
 *
 * The original takes all of a kernel for overlapping as soon as it begins before the last end, also the first one; and
 * where several kernels overlap it counts the last of them once more for its stream. O(n log n).
 */
#include "analyze/dlrm/dlrm_names.h"

#include <stdlib.h>

#include "base/error.h"

struct streams {
    struct sutra_dlrm *dlrm;
    row_t *event; /* by start */
    row_t n;
    struct tuples ids;
};

static enum sutra_status sort_events(struct streams *streams, struct sutra_error *error) {
    const struct sutra_dlrm *dlrm = streams->dlrm;
    const struct engine *engine = &dlrm->context->engine;
    row_t n = dlrm->links.n_executed, *order = column_new(n, sizeof *order), *events = column_new(n, sizeof *events);
    struct number_column ts = {0};
    enum sutra_status status = SUTRA_OK;
    streams->event = column_new(n, sizeof *streams->event);
    if (!numbers_new(&ts, n) || !order || !events || !streams->event) {
        status = error_memory(error);
        goto out;
    }
    for (row_t link = 0; link < dlrm->links.n; link++) {
        row_t event = dlrm->links.executor[link];
        if (event == ROW_NONE)
            continue;
        number_put(ts, streams->n, event_ts(dlrm, event));
        events[streams->n++] = event;
    }
    status = engine->sort_numbers(engine->state, &(struct sort_numbers_step){ts, n, order}, error);
    for (row_t i = 0; i < n && !status; i++)
        streams->event[i] = events[order[i]];
out:
    free(order);
    free(events);
    numbers_free(&ts);
    return status;
}

static struct number least(struct number a, struct number b) {
    return number_compare(b, a) < 0 ? b : a;
}

static struct number most(struct number a, struct number b) {
    return number_compare(b, a) > 0 ? b : a;
}

/* Idle and overlapping time; `times` come in as zeros. */
static void measure_all(const struct streams *streams, struct dlrm_stream_times *times) {
    const struct sutra_dlrm *dlrm = streams->dlrm;
    struct number last = event_end(dlrm, streams->event[0]);
    struct number active = event_dur(dlrm, streams->event[0]);
    for (row_t i = 0; i < streams->n; i++) {
        struct number ts = event_ts(dlrm, streams->event[i]), end = event_end(dlrm, streams->event[i]);
        struct number dur = event_dur(dlrm, streams->event[i]);
        times->sum = number_add(times->sum, dur);
        if (number_compare(ts, last) > 0) {
            times->idle = number_add(times->idle, number_subtract(ts, last));
            active = number_add(active, dur);
        } else {
            times->original_overlap = number_add(times->original_overlap, dur);
            if (i > 0) {
                struct number shared = number_subtract(least(last, end), ts);
                times->overlap = number_add(times->overlap, most(number_integer(0), shared));
                active = number_add(active, most(number_integer(0), number_subtract(end, last)));
            }
        }
        last = number_compare(ts, last) > 0 ? end : most(last, end);
    }
    times->span = number_subtract(last, event_ts(dlrm, streams->event[0]));
    times->active = active;
}

/* The number of an event's stream, which gets a row if it is new; TUPLE_NONE: out of memory. */
static uint32_t stream_of(struct streams *streams, row_t event) {
    struct sutra_dlrm *dlrm = streams->dlrm;
    struct dlrm_stream_times *times = &dlrm->stream_times;
    uint32_t n = streams->ids.n, number = tuples_number(&streams->ids, (struct tuple){{dlrm->events->stream[event]}});
    if (number != n || number == TUPLE_NONE)
        return number;
    if (!column_grow(&times->list, n, &times->capacity, sizeof *times->list))
        return TUPLE_NONE;
    times->list[n] = (struct dlrm_stream_time){dlrm_id_text(dlrm, dlrm->events->stream[event]), number_integer(0),
                                               number_integer(0)};
    times->n = n + 1;
    return times->list[n].name == STRING_NONE ? TUPLE_NONE : number;
}

/* Busy time of each stream, as the original counts it and as it is. */
static bool measure_each(struct streams *streams, struct dlrm_stream_times *times) {
    const struct sutra_dlrm *dlrm = streams->dlrm;
    for (row_t i = 0; i < streams->n;) {
        struct number begin = event_ts(dlrm, streams->event[i]), front = begin;
        row_t j = i;
        for (; j < streams->n && (j == i || number_compare(event_ts(dlrm, streams->event[j]), front) < 0); j++) {
            uint32_t stream = stream_of(streams, streams->event[j]);
            if (stream == TUPLE_NONE)
                return false;
            struct number *us = &times->list[stream].original;
            *us = number_add(*us, event_dur(dlrm, streams->event[j]));
            front = j == i ? event_end(dlrm, streams->event[j]) : most(front, event_end(dlrm, streams->event[j]));
        }
        times->original_total = number_add(times->original_total, number_subtract(front, begin));
        i = j - i > 1 ? j - 1 : j;
    }
    for (row_t i = 0; i < streams->n; i++) {
        struct number *us = &times->list[stream_of(streams, streams->event[i])].sum;
        *us = number_add(*us, event_dur(dlrm, streams->event[i]));
    }
    return true;
}

/* ---- Names of all streams ---- */

static int compare_texts(const void *left, const void *right, void *arg) {
    const struct strings *texts = arg;
    return strcmp(strings_text(texts, *(const uint32_t *)left), strings_text(texts, *(const uint32_t *)right));
}

static bool name_streams(struct sutra_dlrm *dlrm) {
    const struct dlrm_window *window = &dlrm->window;
    struct tuples ids = {0};
    bool ok = true;
    for (row_t i = 0; i < window->n && ok; i++) {
        value_key id = dlrm->events->stream[window->rows[i]];
        ok = !key_is_value(id) || tuples_number(&ids, (struct tuple){{id}}) != TUPLE_NONE;
    }
    dlrm->stream_names = column_new(ids.n, sizeof *dlrm->stream_names);
    for (; ok && dlrm->stream_names && dlrm->n_stream_names < ids.n; dlrm->n_stream_names++) {
        uint32_t text = dlrm_id_text(dlrm, ids.list[dlrm->n_stream_names].part[0]);
        ok = text != STRING_NONE;
        dlrm->stream_names[dlrm->n_stream_names] = text;
    }
    tuples_free(&ids);
    if (!ok || !dlrm->stream_names)
        return false;
    qsort_r(dlrm->stream_names, dlrm->n_stream_names, sizeof *dlrm->stream_names, compare_texts, &dlrm->texts);
    return true;
}

enum sutra_status dlrm_streams_measure(struct sutra_dlrm *dlrm, struct sutra_error *error) {
    struct streams streams = {.dlrm = dlrm};
    struct sutra_dlrm_report *report = &dlrm->report;
    struct dlrm_stream_times *times = &dlrm->stream_times;
    enum sutra_status status = name_streams(dlrm) ? sort_events(&streams, error) : error_memory(error);
    report->has_streams = !status && streams.n > 0;
    if (report->has_streams) {
        measure_all(&streams, times);
        status = measure_each(&streams, times) ? SUTRA_OK : error_memory(error);
        report->span_us = number_as_double(times->span);
        report->union_us = number_as_double(times->active);
        report->idle_us = number_as_double(times->idle);
        report->overlap_us = number_as_double(times->overlap);
    }
    free(streams.event);
    tuples_free(&streams.ids);
    return status;
}
