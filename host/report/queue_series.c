/*
 * queue_series.c - the length of queues over time, of the streams with the longest ones.
 *
 *     changes of a stream    1 2 1 2   3 2 1 0         a length holds until the next change; the mean of a stretch is
 *     stretches              |-----|-----|-----|       over its time
 */
#include "report/queue_series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Columns of the table. */
enum { COLUMN_TS = 1, COLUMN_STREAM = 4, COLUMN_LENGTH = 5 };

struct queue_columns {
    struct sutra_column ts; /* of integers or of real numbers */
    const int64_t *stream, *length;
};

static struct queue_columns columns_of(const struct sutra_table *changes) {
    struct queue_columns columns;
    struct sutra_column column;
    sutra_table_column(changes, COLUMN_TS, &columns.ts);
    sutra_table_column(changes, COLUMN_STREAM, &column);
    columns.stream = column.integers;
    sutra_table_column(changes, COLUMN_LENGTH, &column);
    columns.length = column.integers;
    return columns;
}

static double ts_of(const struct queue_columns *changes, uint64_t row) {
    return changes->ts.integers ? (double)changes->ts.integers[row] : changes->ts.reals[row];
}

/* The most work that waited in a stream's queue. */
static double longest_of(const struct queue_columns *changes, uint64_t first, uint64_t end) {
    int64_t most = 0;
    for (uint64_t i = first; i < end; i++)
        most = changes->length[i] > most ? changes->length[i] : most;
    return (double)most;
}

/* Counts a length that held from `from` to `to`, in stretches from the beginning. */
static void add_length(struct queue_series *series, double length, double from, double to) {
    double *most = series->values[0], *mean = series->values[1];
    uint32_t first = (uint32_t)from, last = (uint32_t)to;
    first = first < QUEUE_STRETCHES ? first : QUEUE_STRETCHES - 1;
    last = last < QUEUE_STRETCHES ? last : QUEUE_STRETCHES - 1;
    for (uint32_t i = first; i <= last; i++) {
        mean[i] += length * ((to < i + 1 ? to : i + 1) - (from > i ? from : i));
        most[i] = length > most[i] ? length : most[i];
    }
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

/* Where a series goes that has so long a queue: NULL if as many are kept that come before it, or, and then the arena
 * tells, if memory ran out. */
static struct queue_series *place_for(struct queue_list *list, const struct queue_series *added) {
    if (list->n < QUEUES_KEPT) {
        struct queue_series *made = arena_take(&list->arena, 1, sizeof *made);
        if (made)
            list->series[list->n++] = made;
        return made;
    }
    struct queue_series *last = list->series[0];
    for (uint64_t i = 1; i < list->n; i++)
        if (compare_series(&last, &list->series[i]) < 0)
            last = list->series[i];
    return compare_series(&added, &last) < 0 ? last : NULL;
}

/* Adds the series of changes[first .. end), which are of one stream. */
static bool add_series(struct queue_list *list, int64_t rank, const struct queue_columns *changes, uint64_t first,
                       uint64_t end, double begin_us, double end_us) {
    const struct queue_series added = {.lines = {.rank = rank, .stream = changes->stream[first]},
                                       .most = longest_of(changes, first, end)};
    double scale = end_us > begin_us ? QUEUE_STRETCHES / (end_us - begin_us) : 0;
    list->n_all++;
    struct queue_series *series = place_for(list, &added);
    if (!series)
        return !list->arena.failed;
    *series = added;
    for (uint64_t i = first; i < end; i++) {
        double to = i + 1 < end ? ts_of(changes, i + 1) : end_us;
        add_length(series, (double)changes->length[i], (ts_of(changes, i) - begin_us) * scale, (to - begin_us) * scale);
    }
    series->lines = (struct line_series){.rank = rank,
                                         .stream = added.lines.stream,
                                         .begin_us = begin_us,
                                         .end_us = end_us,
                                         .most = series->values[0],
                                         .mean = series->values[1],
                                         .n = QUEUE_STRETCHES};
    return true;
}

bool queue_list_add(struct queue_list *list, int64_t rank, const struct sutra_table *table) {
    const struct queue_columns changes = columns_of(table);
    double begin_us = INFINITY, end_us = -INFINITY;
    for (uint64_t i = 0; i < table->n_rows; i++) {
        double ts = ts_of(&changes, i);
        begin_us = ts < begin_us ? ts : begin_us;
        end_us = ts > end_us ? ts : end_us;
    }
    for (uint64_t first = 0, end; first < table->n_rows; first = end) {
        for (end = first + 1; end < table->n_rows && changes.stream[end] == changes.stream[first];)
            end++;
        if (!add_series(list, rank, &changes, first, end, begin_us, end_us))
            return false;
    }
    return true;
}

void queue_list_free(struct queue_list *list) {
    arena_free(&list->arena);
    *list = (struct queue_list){0};
}

size_t queue_list_longest(const struct queue_list *list, struct line_series *lines, size_t n_most) {
    size_t n = list->n < n_most ? (size_t)list->n : n_most;
    const struct queue_series *series[QUEUES_KEPT];
    memcpy(series, list->series, sizeof series);
    if (list->n > 1)
        qsort(series, list->n, sizeof(void *), compare_series);
    for (size_t i = 0; i < n; i++)
        lines[i] = series[i]->lines;
    return n;
}
