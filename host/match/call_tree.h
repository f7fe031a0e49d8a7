/*
 * call_tree.h - inputs of the steps `event_parents` and `tensor_groups`: events and uses of storages, as plain arrays
 * of the caller.
 */
#ifndef MATCH_CALL_TREE_H
#define MATCH_CALL_TREE_H

#include <stdint.h>

#include "columns/row.h"
#include "match/rules.h"

/*
 * Events sorted by start, ties in the order of recording.
 *
 *   row       0       1       ...  n-1
 *   start     nanoseconds, ascending (except neighbours that the caller keeps apart)
 *   end       nanoseconds, or EVENT_NO_END
 *   thread    number of its thread, below n_threads
 *   forward   forward thread, below n_threads, or THREAD_NONE; NULL: no event has one
 *   placed    1: has its parent already and is skipped; NULL: no event has one
 */
struct tree_events {
    row_t n;
    uint32_t n_threads;
    const int64_t *start, *end;
    const uint32_t *thread, *forward;
    const uint8_t *placed;
};

/* Events of storages, in order of time. */
enum storage_use {
    STORAGE_INPUT,     /* a tensor is an operator's input */
    STORAGE_ALLOCATED, /* memory is allocated */
    STORAGE_FREED,     /* memory is freed: its number ends here */
};

/*
 *   row       0       1       ...  n-1
 *   tensor    address of the tensor of an input; only compared for equality
 *   storage   address of the storage or of the memory
 *   device    number of the storage's device; NULL: addresses alone identify storages
 *   use       enum storage_use
 */
struct storage_uses {
    row_t n;
    const uint64_t *tensor, *storage;
    const uint32_t *device;
    const uint8_t *use;
};

#define STORAGE_NONE UINT32_MAX

#endif
