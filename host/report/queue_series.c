/*
 * queue_series.c - the length of queues over time.
 *
 *     changes of a stream    1 2 1 2   3 2 1 0         a length holds until the next change; the mean of a stretch is
 *     stretches              |-----|-----|-----|       over its time
 */
#include "report/queue_series.h"

#include <math.h>
#include <stdlib.h>

/* Columns of the table. */
enum { COLUMN_TS = 1, COLUMN_STREAM = 4, COLUMN_LENGTH = 5 };

static double ts_of(const struct sutra_table *changes, uint64_t row) {
    return table_get_real(changes, COLUMN_TS, row);
}

static int64_t stream_of(const struct sutra_table *changes, uint64_t row) {
    return table_get_integer(changes, COLUMN_STREAM, row);
}

/* Counts a length that held from `from` to `to`, in stretches from the beginning. */
static void add_length(struct queue_series *series, double length, double from, double to) {
    double *most = series->values[0], *mean = series->values[1];
    uint32_t first = (uint32_t)from, last = (uint32_t)to;
    first = first < QUEUE_STRETCHES ? first : QUEUE_STRETCHES - 1;
    last = last < QUEUE_STRETCHES ? last : QUEUE_STRETCHES - 1;
    for (uint32_t i = first; i <= last; i++) {
        mean[i] += length * (fmin(to, i + 1) - fmax(from, i));
        most[i] = fmax(most[i], length);
    }
    series->most = fmax(series->most, length);
}

/* Adds the series of changes[first .. end), which are of one stream. */
static bool add_series(struct queue_list *list, int64_t rank, const struct sutra_table *changes, uint64_t first,
                       uint64_t end, double begin_us, double end_us) {
    struct queue_series *series = arena_zeros(&list->arena, 1, sizeof *series);
    double scale = end_us > begin_us ? QUEUE_STRETCHES / (end_us - begin_us) : 0;
    if (!arena_grow(&list->arena, &list->series, list->n, &list->capacity, sizeof(struct queue_series *)) || !series)
        return false;
    for (uint64_t i = first; i < end; i++) {
        double to = i + 1 < end ? ts_of(changes, i + 1) : end_us;
        add_length(series, (double)table_get_integer(changes, COLUMN_LENGTH, i), (ts_of(changes, i) - begin_us) * scale,
                   (to - begin_us) * scale);
    }
    series->lines = (struct line_series){.rank = rank,
                                         .stream = stream_of(changes, first),
                                         .begin_us = begin_us,
                                         .end_us = end_us,
                                         .most = series->values[0],
                                         .mean = series->values[1],
                                         .n = QUEUE_STRETCHES};
    list->series[list->n++] = series;
    return true;
}

bool queue_list_add(struct queue_list *list, int64_t rank, const struct sutra_table *changes) {
    double begin_us = INFINITY, end_us = -INFINITY;
    for (uint64_t i = 0; i < changes->n_rows; i++) {
        begin_us = fmin(begin_us, ts_of(changes, i));
        end_us = fmax(end_us, ts_of(changes, i));
    }
    for (uint64_t first = 0, end; first < changes->n_rows; first = end) {
        for (end = first + 1; end < changes->n_rows && stream_of(changes, end) == stream_of(changes, first);)
            end++;
        if (!add_series(list, rank, changes, first, end, begin_us, end_us))
            return false;
    }
    return true;
}

void queue_list_free(struct queue_list *list) {
    arena_free(&list->arena);
    *list = (struct queue_list){0};
}

static int compare_places(const struct line_series *a, const struct line_series *b) {
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return (a->stream > b->stream) - (a->stream < b->stream);
}

static int compare_series(const void *left, const void *right) {
    const struct queue_series *a = *(struct queue_series *const *)left, *b = *(struct queue_series *const *)right;
    if (a->most != b->most)
        return a->most > b->most ? -1 : 1;
    return compare_places(&a->lines, &b->lines);
}

static int compare_lines(const void *left, const void *right) {
    return compare_places(left, right);
}

size_t queue_list_longest(const struct queue_list *list, struct line_series *lines, size_t n_most) {
    size_t n = list->n < n_most ? (size_t)list->n : n_most;
    if (list->n > 1)
        qsort(list->series, list->n, sizeof(struct queue_series *), compare_series);
    for (size_t i = 0; i < n; i++)
        lines[i] = list->series[i]->lines;
    if (n > 1)
        qsort(lines, n, sizeof *lines, compare_lines);
    return n;
}
