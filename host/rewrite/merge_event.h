/*
 * merge_event.h - an event of one rank's trace as it stands in a timeline of all ranks.
 *
 *     {"ph": "X", "pid": 8123, "ts": 10.5, "args": {"correlation": 7}}
 *                        30001       12.0                          6755399441055751  all else stays byte for byte
 *
 * Cost: the bytes that are copied.
 */
#ifndef REWRITE_MERGE_EVENT_H
#define REWRITE_MERGE_EVENT_H

#include "base/buffer.h"
#include "read/device_trace.h"

/* How a rank's ids become different from those of others: its position among all stands above so many bits. */
struct merge_ids {
    uint32_t position;
    unsigned bits;
};

/* As many bits as leave room for all ranks, and one more position, in the integers that doubles hold. */
static inline unsigned merge_id_bits(uint64_t n_ranks) {
    return 53 - (unsigned)(64 - __builtin_clzll(n_ranks + 1));
}

/* What becomes of the events of a rank. */
struct merge_changes {
    const struct sutra_device_trace *trace; /* read by a context that notes places */
    struct event_forms learned;
    int64_t shift_ns; /* is added to times */
    struct merge_ids ids;
};

/* Appends the event, which is an object, without what stands behind it; `pid` becomes its process. */
void merge_event_write(struct merge_changes *changes, row_t event, int64_t pid, struct buffer *out);

/* Appends a flow id or correlation so that it differs from those of other ranks: `length` bytes of JSON at `text`, a
 * string or an integer. What is neither, or negative, stays: it is none. */
void merge_id_write(struct merge_ids ids, const char *text, size_t length, struct buffer *out);

#endif
