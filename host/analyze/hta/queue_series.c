/*
 * queue_series.c - see queue_series.h.
 */
#include "analyze/hta/queue_series.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/hta/hta.h"

/* ---- Those that are kept ---- */

static bool comes_before(const struct queue_series *a, const struct queue_series *b) {
    if (a->longest != b->longest)
        return a->longest > b->longest;
    return a->rank != b->rank ? a->rank < b->rank : a->stream < b->stream;
}

/* Where a series goes; QUEUES_KEPT: nowhere. */
static uint32_t place_of(const struct queue_list *list, const struct queue_series *added) {
    uint32_t at = list->n;
    while (at > 0 && comes_before(added, &list->list[at - 1]))
        at--;
    return at;
}

/* Puts a series at its place, which is not nowhere. False: out of memory. */
static bool put_at(struct queue_list *list, uint32_t at, const struct queue_series *added) {
    if (!list->list && !(list->list = malloc(QUEUES_KEPT * sizeof *list->list)))
        return false;
    list->n += list->n < QUEUES_KEPT;
    memmove(&list->list[at + 1], &list->list[at], (list->n - 1 - at) * sizeof *list->list);
    list->list[at] = *added;
    return true;
}

bool queue_list_join(struct queue_list *list, const struct queue_list *added, double later_us) {
    bool ok = true;
    for (uint32_t i = 0; i < added->n && ok; i++) {
        struct queue_series series = added->list[i];
        uint32_t at = place_of(list, &series);
        series.begin_us += later_us;
        series.end_us += later_us;
        ok = at == QUEUES_KEPT || put_at(list, at, &series);
    }
    list->n_all += added->n_all;
    return ok;
}

void queue_list_free(struct queue_list *list) {
    free(list->list);
    *list = (struct queue_list){0};
}

/* ---- One rank ---- */

/* The most work that waited in a stream's queue. */
static double longest_of(const struct queue_times *times, row_t first, row_t end) {
    int64_t most = 0;
    for (row_t i = first; i < end; i++)
        most = times->length[i] > most ? times->length[i] : most;
    return (double)most;
}

/* Counts a length that held from `from` to `to`, in stretches from the beginning. */
static void add_length(struct queue_series *series, double length, double from, double to) {
    uint32_t first = (uint32_t)from, last = (uint32_t)to;
    first = first < QUEUE_STRETCHES ? first : QUEUE_STRETCHES - 1;
    last = last < QUEUE_STRETCHES ? last : QUEUE_STRETCHES - 1;
    for (uint32_t i = first; i <= last; i++) {
        series->mean[i] += length * ((to < i + 1 ? to : i + 1) - (from > i ? from : i));
        series->most[i] = length > series->most[i] ? length : series->most[i];
    }
}

static void add_lengths(struct queue_series *series, const struct queue_times *times, row_t first, row_t end) {
    memset(series->most, 0, sizeof series->most);
    memset(series->mean, 0, sizeof series->mean);
    double begin_us = series->begin_us, end_us = series->end_us;
    double scale = end_us > begin_us ? QUEUE_STRETCHES / (end_us - begin_us) : 0;
    for (row_t i = first; i < end; i++) {
        double from = us_of(times->ns[i]), to = i + 1 < end ? us_of(times->ns[i + 1]) : end_us;
        add_length(series, (double)times->length[i], (from - begin_us) * scale, (to - begin_us) * scale);
    }
}

bool queue_list_add(struct queue_list *list, int64_t rank, const struct queue_times *times) {
    struct queue_series series; /* whose stretches are only filled where it is kept: streams may be many */
    int64_t begin = INT64_MAX, last = INT64_MIN;
    bool ok = true;
    series.rank = rank;
    for (row_t i = 0; i < times->n; i++) {
        begin = times->ns[i] < begin ? times->ns[i] : begin;
        last = times->ns[i] > last ? times->ns[i] : last;
    }
    series.begin_us = us_of(begin);
    series.end_us = us_of(last);
    for (row_t first = 0, end; first < times->n && ok; first = end) {
        for (end = first + 1; end < times->n && times->lane[end] == times->lane[first];)
            end++;
        series.stream = times->streams[times->lane[first]];
        series.longest = longest_of(times, first, end);
        uint32_t at = place_of(list, &series);
        list->n_all++;
        if (at == QUEUES_KEPT)
            continue;
        add_lengths(&series, times, first, end);
        ok = put_at(list, at, &series);
    }
    return ok;
}

/* ---- From one process to another ---- */

void queue_list_put(const struct queue_list *list, struct buffer *out) {
    spool_put(out, list->n_all);
    spool_put(out, list->n);
    for (uint32_t i = 0; i < list->n; i++)
        spool_put(out, list->list[i]);
}

bool queue_list_take(struct queue_list *list, struct spool_reader *reader) {
    bool ok = true;
    spool_take(reader, list->n_all);
    const uint32_t n = spool_take_limited(reader, QUEUES_KEPT);
    for (uint32_t i = 0; i < n && ok && !reader->failed; i++) {
        struct queue_series series;
        spool_take(reader, series);
        ok = put_at(list, i, &series);
    }
    return ok;
}
