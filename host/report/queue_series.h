/*
 * queue_series.h - the length of each stream's queue over time, in a few hundred equal stretches.
 */
#ifndef REPORT_QUEUE_SERIES_H
#define REPORT_QUEUE_SERIES_H

#include "base/arena.h"
#include "report/chart.h"
#include "sutra/analyze.h"

/* Stretches of each series, and series that are kept: those of the longest queues. */
#define QUEUE_STRETCHES 300
#define QUEUES_KEPT     16

struct queue_series {
    struct line_series lines;
    double most;
    double values[2][QUEUE_STRETCHES]; /* most, mean */
};

struct queue_list {
    struct arena arena; /* of the series */
    struct queue_series *series[QUEUES_KEPT];
    uint64_t n, n_all; /* kept, and added */
};

/* Adds the series of one rank, from its table of changes. Returns false when memory runs out. O(changes + streams +
 * stretches).
 */
bool queue_list_add(struct queue_list *list, int64_t rank, const struct sutra_table *table);
void queue_list_free(struct queue_list *list);

/* Copies the series of the longest queues to lines[], at most `n_most`, by rank and stream; returns how many. Ranks
 * that are equal come out alike, whatever the order in which they were added. */
size_t queue_list_longest(const struct queue_list *list, struct line_series *lines, size_t n_most);

#endif
