/*
 * queue_series.h - the length of each stream's queue over time, in a few hundred equal stretches.
 */
#ifndef REPORT_QUEUE_SERIES_H
#define REPORT_QUEUE_SERIES_H

#include "base/arena.h"
#include "report/chart.h"
#include "sutra/analyze.h"

/* Stretches of each series. */
#define QUEUE_STRETCHES 300

struct queue_series {
    struct line_series lines;
    double most;
    double values[2][QUEUE_STRETCHES]; /* most, mean */
};

struct queue_list {
    struct arena arena; /* of the series */
    struct queue_series **series;
    uint64_t n, capacity;
};

/* Adds the series of one rank, from its table of changes. Returns false when memory runs out. O(changes + stretches).
 */
bool queue_list_add(struct queue_list *list, int64_t rank, const struct sutra_table *changes);
void queue_list_free(struct queue_list *list);

/* Copies the series of the longest queues to lines[], at most `n_most`, by rank and stream; returns how many. Ranks
 * that are equal come out alike, whatever the order in which they were added. */
size_t queue_list_longest(const struct queue_list *list, struct line_series *lines, size_t n_most);

#endif
