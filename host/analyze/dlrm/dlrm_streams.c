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
#include <stdlib.h>

#include "analyze/dlrm/dlrm_names.h"
#include "base/error.h"

struct streams {
    struct dlrm_work *work;
    struct dlrm_stream_times *times;
    row_t *event; /* by start */
    row_t n;
    struct tuples ids;
    uint64_t capacity; /* of the list of times */
};

static enum sutra_status sort_events(struct streams *streams, const struct dlrm_links *links,
                                     struct sutra_error *error) {
    const struct dlrm_work *work = streams->work;
    struct arena *scratch = &streams->work->scratch;
    row_t n = links->first_started[links->n], *order = arena_take(scratch, n, sizeof *order);
    row_t *events = arena_take(scratch, n, sizeof *events);
    struct number_column ts = numbers_take(scratch, n);
    streams->event = arena_take(scratch, n, sizeof *streams->event);
    if (scratch->failed)
        return error_memory(error);
    for (; streams->n < n; streams->n++) {
        events[streams->n] = links->started[streams->n];
        number_put(ts, streams->n, event_ts(work, events[streams->n]));
    }
    enum sutra_status status =
        work->engine->sort_numbers(work->engine->state, &(struct sort_numbers_step){ts, n, order}, error);
    for (row_t i = 0; i < n && !status; i++)
        streams->event[i] = events[order[i]];
    return status;
}

static struct number least(struct number a, struct number b) {
    return number_compare(b, a) < 0 ? b : a;
}

static struct number most(struct number a, struct number b) {
    return number_compare(b, a) > 0 ? b : a;
}

/* The original takes an end less a start: with fractions and far from 0 that is not quite the duration. */
static struct number original_overlap(const struct dlrm_work *work, struct number ts, struct number end,
                                      struct number dur) {
    return work->options->compat ? number_subtract(end, ts) : dur;
}

/* Idle and overlapping time; `times` come in as zeros. */
static void measure_all(const struct streams *streams, struct dlrm_stream_times *times) {
    const struct dlrm_work *work = streams->work;
    struct number last = event_end(work, streams->event[0]);
    struct number active = event_dur(work, streams->event[0]);
    for (row_t i = 0; i < streams->n; i++) {
        struct number ts = event_ts(work, streams->event[i]), end = event_end(work, streams->event[i]);
        struct number dur = event_dur(work, streams->event[i]);
        times->sum = number_add(times->sum, dur);
        if (number_compare(ts, last) > 0) {
            times->idle = number_add(times->idle, number_subtract(ts, last));
            active = number_add(active, dur);
        } else {
            times->original_overlap = number_add(times->original_overlap, original_overlap(work, ts, end, dur));
            if (i > 0) {
                struct number shared = number_subtract(least(last, end), ts);
                times->overlap = number_add(times->overlap, most(number_integer(0), shared));
                active = number_add(active, most(number_integer(0), number_subtract(end, last)));
            }
        }
        last = number_compare(ts, last) > 0 ? end : most(last, end);
    }
    times->span = number_subtract(last, event_ts(work, streams->event[0]));
    times->active = active;
}

/* The number of an event's stream, which gets a row if it is new; TUPLE_NONE: out of memory. */
static uint32_t stream_of(struct streams *streams, row_t event) {
    struct dlrm_work *work = streams->work;
    struct dlrm_stream_times *times = streams->times;
    value_key id = work->events->stream[event];
    uint32_t n = streams->ids.n, number = tuples_number(&streams->ids, (struct tuple){{id}});
    if (number != n || number == TUPLE_NONE)
        return number;
    if (!arena_grow(work->arena, &times->list, n, &streams->capacity, sizeof *times->list))
        return TUPLE_NONE;
    times->list[n] = (struct dlrm_stream_time){dlrm_id_text(work, id), number_integer(0), number_integer(0)};
    times->n = n + 1;
    return times->list[n].name == STRING_NONE ? TUPLE_NONE : number;
}

/* Busy time of each stream, as the original counts it and as it is. */
static bool measure_each(struct streams *streams, struct dlrm_stream_times *times) {
    const struct dlrm_work *work = streams->work;
    for (row_t i = 0; i < streams->n;) {
        struct number begin = event_ts(work, streams->event[i]), front = begin;
        row_t j = i;
        for (; j < streams->n && (j == i || number_compare(event_ts(work, streams->event[j]), front) < 0); j++) {
            uint32_t stream = stream_of(streams, streams->event[j]);
            if (stream == TUPLE_NONE)
                return false;
            struct number *us = &times->list[stream].original;
            *us = number_add(*us, event_dur(work, streams->event[j]));
            front = j == i ? event_end(work, streams->event[j]) : most(front, event_end(work, streams->event[j]));
        }
        times->original_total = number_add(times->original_total, number_subtract(front, begin));
        i = j - i > 1 ? j - 1 : j;
    }
    for (row_t i = 0; i < streams->n; i++) {
        struct number *us = &times->list[stream_of(streams, streams->event[i])].sum;
        *us = number_add(*us, event_dur(work, streams->event[i]));
    }
    return true;
}

/* ---- Names of all streams ---- */

static int compare_texts(const void *left, const void *right, void *arg) {
    const struct strings *texts = arg;
    return strcmp(strings_text(texts, *(const uint32_t *)left), strings_text(texts, *(const uint32_t *)right));
}

static bool name_streams(struct dlrm_work *work, const struct dlrm_window *window, struct dlrm_stream_times *times) {
    struct tuples ids = {0};
    bool ok = true;
    for (row_t i = 0; i < window->n && ok; i++) {
        value_key id = work->events->stream[window->rows[i]];
        ok = !key_is_value(id) || tuples_number(&ids, (struct tuple){{id}}) != TUPLE_NONE;
    }
    times->names = ok ? arena_take(work->arena, ids.n, sizeof *times->names) : NULL;
    ok = times->names != NULL;
    for (; ok && times->n_names < ids.n; times->n_names++) {
        times->names[times->n_names] = dlrm_id_text(work, ids.list[times->n_names].part[0]);
        ok = times->names[times->n_names] != STRING_NONE;
    }
    tuples_free(&ids);
    if (ok)
        qsort_r(times->names, times->n_names, sizeof *times->names, compare_texts, work->texts);
    return ok;
}

enum sutra_status dlrm_streams_measure(struct dlrm_work *work, const struct dlrm_window *window,
                                       const struct dlrm_links *links, struct dlrm_stream_times *times,
                                       struct sutra_error *error) {
    struct arena_mark mark = arena_mark(&work->scratch);
    struct streams streams = {.work = work, .times = times};
    *times = (struct dlrm_stream_times){0};
    enum sutra_status status =
        name_streams(work, window, times) ? sort_events(&streams, links, error) : error_memory(error);
    if (!status && streams.n > 0) {
        measure_all(&streams, times);
        status = measure_each(&streams, times) ? SUTRA_OK : error_memory(error);
    }
    tuples_free(&streams.ids);
    arena_release(&work->scratch, mark);
    return status;
}
