/*
 * traces.h - the events of a device trace as columns: row i is the i-th element of "traceEvents".
 *
 *     ts, dur       start and duration in microseconds, as the numbers that the file gives (absent: integer 0)
 *     name          interned, decoded; absent: the empty string
 *     category      interned, decoded; absent: the empty string; STRING_NONE: not a string
 *     pid, tid      ids; an absent tid is 0
 *     external, rf, correlation, stream    ids from args: "External id" (absent: -1), "Record function id",
 *                   "correlation" (absent: -1), "stream"
 *     text          byte offset of the event in the file
 *     device        args "device" where that is an integer below DEVICE_ABSENT, as it mostly is; or one of the two
 * beyond
 *     phase         the character of "ph"; 0: absent, PHASE_OTHER: anything else
 *     flags         EVENT_... bits
 */
#ifndef COLUMNS_TRACES_H
#define COLUMNS_TRACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "columns/column.h"
#include "columns/numbers.h"
#include "columns/row.h"
#include "columns/strings.h"

/*
 * The nodes of a host trace as columns: row i is the i-th element of "nodes".
 *
 *     text, end   byte offsets of the node's opening brace and of the byte behind its closing one
 *     id          the node's id
 *     parent      id of the parent: "ctrl_deps", or "parent" in schema 1.0.1; KEY_ABSENT where there is none
 *     ctrl_deps   id under "ctrl_deps" in any schema, KEY_ABSENT where there is none
 *     rf          record-function id: the attribute "rf_id", or the field in schema 1.0.1; KEY_NULL where there is none
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
extern const struct column_form host_node_columns[HOST_NODE_N_COLUMNS];

void host_nodes_free(struct host_nodes *nodes);

#define PHASE_OTHER 1

#define DEVICE_ABSENT 0xfffe
#define DEVICE_OTHER  0xffff /* anything else: its text tells */

/* The column's value of an integer that is there. */
static inline uint16_t device_of_integer(int64_t integer) {
    return (uint16_t)(integer >= 0 && integer < DEVICE_ABSENT ? integer : DEVICE_OTHER);
}

enum event_flag {
    EVENT_HAS_ID = 1,         /* "id" is there and not null */
    EVENT_NAME_NO_STRING = 2, /* "name" is there and not a string */
    EVENT_STREAM_INTEGER = 4, /* args["stream"] is written as an integer that the column stream holds */
    EVENT_HAS_TS = 8,         /* the field is there (for "ts" and "dur": as a number) */
    EVENT_HAS_DUR = 16,
    EVENT_HAS_TID = 32,
    EVENT_HAS_NAME = 64,
    EVENT_HAS_WAIT = 128, /* args has "wait_on_stream" or "wait_on_cuda_event_record_corr_id" */
};

/* X(type, name) for each column but the numbers. */
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
    X(uint8_t, flags)

/* Values that a copy of the trace may put others in the place of. */
enum event_value { VALUE_PID, VALUE_TS, VALUE_ID, VALUE_CORRELATION, VALUE_WAIT_RECORD, EVENT_N_VALUES };

/* Where they begin, in bytes from the event's own beginning: 0: it has none; VALUE_FAR: further than this can tell. */
struct value_places {
    uint16_t at[EVENT_N_VALUES];
};

#define VALUE_FAR UINT16_MAX

/* Of one event in all columns. */
#define X(type, name) +sizeof(type)
enum { DEVICE_EVENT_BYTES = 2 * (sizeof(uint64_t) + 1) + sizeof(struct value_places) DEVICE_EVENT_COLUMNS(X) };
#undef X

/* What is read although it is no column of all traces, for who will ask for it: a set of ids, what operators were
 * given, and what launches were. */
enum reading_ahead { AHEAD_NOTHING, AHEAD_IDS = 1, AHEAD_ARGUMENTS = 2, AHEAD_LAUNCHES = 4, AHEAD_ALL = 7 };

struct device_events {
    row_t n, capacity;
    bool notes_places; /* this and the next are set before the first row: there are columns of them */
    unsigned ahead;
    struct value_places *places;
    value_key *id; /* while the trace is read: then the three are kept where such columns are asked for */
    uint32_t *arguments, *launches; /* read/event_columns.h */
    struct number_column ts, dur;
#define X(type, name) type *name;
    DEVICE_EVENT_COLUMNS(X)
#undef X
};

/* All columns: that of places, two for each of the numbers, those above, and those that are read ahead. */
#define DEVICE_EVENT_N_COLUMNS 20

/* Lists those that there are, and returns how many. */
size_t device_event_forms(bool notes_places, unsigned ahead, struct column_form forms[DEVICE_EVENT_N_COLUMNS]);

/* Room for `capacity` rows, keeping those that are there; false: out of memory. */
bool device_events_reserve(struct device_events *events, row_t capacity);
void device_events_free(struct device_events *events);

/* Leaves the rows only whose byte is not 0, in their order. */
void device_events_keep(struct device_events *events, const uint8_t *kept);

#endif
