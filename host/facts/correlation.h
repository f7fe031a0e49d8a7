/*
 * correlation.h - which events belong together: calls and what they caused on the GPU have one correlation.
 *
 *     CPU    launch 7    copy 8    launch 9                     partner: the last event of the other side
 *     GPU        kernel 7    kernel 7    copy 8                 launch 7 <-> the second kernel, launch 9: none
 */
#ifndef FACTS_CORRELATION_H
#define FACTS_CORRELATION_H

#include "base/arena.h"
#include "columns/device_events.h"
#include "match/engine.h"

/* Whether a correlation ties its event to others: it is there, and no list. */
static inline bool is_correlation(value_key key) {
    return key != -1 && key >= KEY_VALUES;
}

/* Finds the partners of events rows[0..n), a side of which are those with the bit `gpu` in state[event]: partner[event]
 * becomes the last event of the other side with the same correlation. That of events without one stays what it is.
 * O(n) or O(n log n), as the engine joins. */
enum sutra_status correlation_partners(const struct device_events *events, const row_t *rows, row_t n,
                                       const uint8_t *state, uint8_t gpu, const struct engine *engine,
                                       struct arena *scratch, row_t *partner, struct sutra_error *error);

#endif
