/*
 * queues.h - the length of each stream's queue over time, in a few hundred equal stretches; of the streams with
 * the longest queues.
 *
 *     changes of a stream    1 2 1 2   3 2 1 0         a length holds until the next change; the mean of a stretch is
 *     stretches              |-----|-----|-----|       over its time
 */
#ifndef ANALYZE_HTA_QUEUES_H
#define ANALYZE_HTA_QUEUES_H

#include "analyze/codec.h"
#include "columns/row.h"

/* Stretches of each series, and series that are kept. */
#define QUEUE_STRETCHES 300
#define QUEUES_KEPT     8

struct queue_series {
    int64_t rank, stream;
    double begin_us, end_us; /* of the first and the last change of the rank */
    double longest;
    double most[QUEUE_STRETCHES], mean[QUEUE_STRETCHES]; /* in each stretch */
};

/* The longest first, equal ones by rank and stream. Zero-initialise. */
struct queue_list {
    struct queue_series *list;
    uint32_t n;     /* kept, */
    uint64_t n_all; /* of so many */
};

/* Changes of the queues of a rank: stream by stream, each by time. */
struct queue_times {
    row_t n;
    const int64_t *ns;      /* when, */
    const int64_t *length;  /* and how many wait from then on */
    const uint32_t *lane;   /* number of the stream, */
    const int64_t *streams; /* and its id, by number */
};

/* Adds the series of one rank. False: out of memory. O(changes + streams + stretches). */
bool queue_list_add(struct queue_list *list, int64_t rank, const struct queue_times *times);

/* Adds series that are there, so much later. In whatever order they are added, the same are kept. */
bool queue_list_join(struct queue_list *list, const struct queue_list *added, double later_us);
void queue_list_free(struct queue_list *list);

/* Encodes the list, or decodes it into an empty one. */
void queue_list_codec(struct codec *codec, struct queue_list *list);

#endif
