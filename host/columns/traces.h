/*
 * traces.h - host and device traces as columns. Row i of a device trace is the i-th element of "traceEvents":
 *
 *     ts, dur       start and duration in microseconds, as numbers of the file (absent: integer 0)
 *     name          interned, decoded; absent: the empty string
 *     category      interned, decoded; absent: the empty string; STRING_NONE: not a string
 *     pid, tid      ids; an absent tid is 0
 *     external, rf, correlation, stream    ids from args: "External id" (absent: -1), "Record function id",
 *                   "correlation" (absent: -1), "stream"
 *     text          byte offset of the event in the file
 *     device        args "device" if it is an integer below DEVICE_ABSENT; else DEVICE_ABSENT or DEVICE_OTHER
 *     phase         the character of "ph"; 0: absent, PHASE_OTHER: anything else. The reader replaces B and E (begin and
 *                   end): B becomes X with a duration, E becomes PHASE_END, a row without name, category and ids
 *     flags         EVENT_... bits
 */
#ifndef COLUMNS_TRACES_H
#define COLUMNS_TRACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "columns/column.h"
#include "columns/numbers.h"
#include "columns/strings.h"

/*
 * Row i of a host trace is the i-th element of "nodes":
 *
 *     text, end   byte offsets of the node's opening brace and of the byte after its closing one
 *     id          the node's id
 *     parent      id of the parent: "ctrl_deps", or "parent" in schema 1.0.1; KEY_ABSENT: none
 *     ctrl_deps   id under "ctrl_deps" in any schema, KEY_ABSENT: none
 *     rf          record-function id: the attribute "rf_id", or the field in schema 1.0.1; KEY_NULL: none
 */

/* X(type, name) for each column. */
#define HOST_NODE_COLUMNS(X)                                                                                           \
    X(uint64_t, text)                                                                                                  \
    X(uint64_t, end)                                                                                                   \
    X(value_key, id)                                                                                                   \
    X(value_key, parent)                                                                                               \
    X(value_key, ctrl_deps)                                                                                            \
    X(value_key, rf)

struct host_nodes {
    row_t n, capacity;
#define X(type, name) type *name;
    HOST_NODE_COLUMNS(X)
#undef X
};

#define HOST_NODE_N_COLUMNS 6

void host_nodes_free(struct host_nodes *nodes);

#define PHASE_OTHER 1
#define PHASE_END   2

#define DEVICE_ABSENT 0xfffe
#define DEVICE_OTHER  0xffff /* any other value */

/* The column's value of an integer. */
static inline uint16_t device_of_integer(int64_t integer) {
    return (uint16_t)(integer >= 0 && integer < DEVICE_ABSENT ? integer : DEVICE_OTHER);
}

enum event_flag {
    EVENT_HAS_ID = 1,         /* "id" is present and not null */
    EVENT_NAME_NO_STRING = 2, /* "name" is present and not a string */
    EVENT_STREAM_INTEGER = 4, /* args["stream"] is written as an integer that the column stream holds */
    EVENT_HAS_TS = 8,         /* the field is present (for "ts" and "dur": as a number) */
    EVENT_HAS_DUR = 16,
    EVENT_HAS_TID = 32,
    EVENT_HAS_NAME = 64,
    EVENT_HAS_WAIT = 128,       /* args has "wait_on_stream" or "wait_on_cuda_event_record_corr_id" */
    EVENT_HAS_COLLECTIVE = 256, /* args has "Collective name" */
    EVENT_UNUSABLE = 512,       /* our analyses skip the event (facts/validity.h) */
};

/* X(type, name) for each column except the numbers. */
#define DEVICE_EVENT_COLUMNS(X)                                                                                        \
    X(uint32_t, name)                                                                                                  \
    X(uint32_t, category)                                                                                              \
    X(value_key, pid)                                                                                                  \
    X(value_key, tid)                                                                                                  \
    X(value_key, external)                                                                                             \
    X(value_key, rf)                                                                                                   \
    X(value_key, correlation)                                                                                          \
    X(value_key, stream)                                                                                               \
    X(uint64_t, text)                                                                                                  \
    X(uint16_t, device)                                                                                                \
    X(uint8_t, phase)                                                                                                  \
    X(uint16_t, flags)

/* Values that a copy of the trace may replace. */
enum event_value { VALUE_PID, VALUE_TS, VALUE_ID, VALUE_CORRELATION, VALUE_WAIT_RECORD, EVENT_N_VALUES };

/* Their offsets from the beginning of the event; 0: absent; VALUE_FAR: too large. */
struct value_places {
    uint16_t at[EVENT_N_VALUES];
};

#define VALUE_FAR UINT16_MAX

/* Bytes of one event in all columns. */
#define X(type, name) +sizeof(type)
enum { DEVICE_EVENT_BYTES = 2 * (sizeof(uint64_t) + 1) + sizeof(struct value_places) DEVICE_EVENT_COLUMNS(X) };
#undef X

/* Optional columns for later requests, as a set: ids, inputs of operators, inputs of launches. */
enum reading_ahead {
    PREFETCH_NOTHING,
    PREFETCH_IDS = 1,
    PREFETCH_ARGUMENTS = 2,
    PREFETCH_LAUNCHES = 4,
    PREFETCH_ALL = 7
};

struct device_events {
    row_t n, capacity;
    bool keep_offsets; /* has the column of value offsets; set before the first row, as `prefetch_columns` */
    unsigned prefetch_columns;
    struct value_places *places;
    row_t *begin;  /* by row: the B event that an E event ends, or ROW_NONE; NULL without such events or after
                     device_events_keep() */
    value_key *id; /* these three only during reading; then they move to */
    uint32_t *arguments, *launches; /* read/event_columns.h */
    struct number_column ts, dur;
    struct number_column usable_dur; /* durations for our analyses (facts/validity.h): `dur`, unless some differ */
#define X(type, name) type *name;
    DEVICE_EVENT_COLUMNS(X)
#undef X
};

/* All columns: value offsets, two per number, the columns above, and the columns that are read ahead. */
#define DEVICE_EVENT_N_COLUMNS 20

/* Lists the columns that exist, and returns their number. */
size_t device_event_forms(bool keep_offsets, unsigned prefetch_columns,
                          struct column_form forms[DEVICE_EVENT_N_COLUMNS]);

/* Grows the columns to `capacity` rows; false: out of memory. */
bool device_events_reserve(struct device_events *events, row_t capacity);
void device_events_free(struct device_events *events);

/* Removes the rows whose byte is 0. */
void device_events_keep(struct device_events *events, const uint8_t *kept);

#endif
