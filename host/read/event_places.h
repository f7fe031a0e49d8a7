/*
 * event_places.h - where the fields of one event of a device trace stand in its text.
 */
#ifndef READ_EVENT_PLACES_H
#define READ_EVENT_PLACES_H

#include "columns/device_events.h"
#include "read/event_forms.h"
#include "read/json_walk.h"

enum event_field {
    FIELD_ID,
    FIELD_PHASE,
    FIELD_TS,
    FIELD_CATEGORY,
    FIELD_DUR,
    FIELD_PID,
    FIELD_TID,
    FIELD_NAME,
    FIELD_ARGS,
    FIELD_EXTERNAL, /* from here on inside args */
    FIELD_EVENT_INDEX,
    FIELD_STREAM,
    FIELD_DEVICE,
    FIELD_RF,
    FIELD_PROCESS_GROUP,
    FIELD_CORRELATION,
    FIELD_WAIT_STREAM,
    FIELD_WAIT_RECORD,
    FIELD_LOWER_EXTERNAL,
    FIELD_INPUT_DIMS,
    FIELD_OUTPUT_DIMS,
    FIELD_SEQUENCE,
    FIELD_FORWARD_THREAD,
    FIELD_ADDRESS,
    FIELD_BYTES,
    FIELD_CONCRETE_INPUTS,
    FIELD_INPUT_TYPES,
    FIELD_INPUT_SHAPES,
    FIELD_INPUT_STRIDES,
    FIELD_GRID,
    FIELD_BLOCK,
    FIELD_REGISTERS,
    FIELD_SHARED_MEMORY,
    FIELD_OCCUPANCY,
    FIELD_NONE,  /* any other */
    FIELD_NAMED, /* from here on: the first of those that are found by name */
};

/* The fields of values that a copy may change, by enum event_value. */
extern const enum event_field event_value_fields[EVENT_N_VALUES];

/* What operators and launches of kernels were given, in the order of those fields. */
#define N_EVENT_INPUTS (FIELD_NONE - FIELD_CONCRETE_INPUTS)

/* A field in a set of them. */
#define FIELD_BIT(field) ((uint64_t)1 << (field))

/* A place whose `at` is 0 is absent. `end` is that of json_place for strings, else the byte behind the value, but for
 * "args" that is an object. */
struct event_places {
    struct json_place field[FIELD_NONE];
};

/* Bytes of the value at a place that is there, and is not "args". */
static inline size_t event_place_length(const char *text, struct json_place place) {
    return place.end + (text[place.at] == '"') - place.at;
}

/* Fields to be found by their names, beyond those that we know. No name stands twice. */
#define NAMED_MAX 32
struct named_fields {
    const char *name[NAMED_MAX];
    bool outside[NAMED_MAX]; /* a member of the event itself, not of its "args" */
    size_t n;
};

/* Walks one event, an object. Of repeated keys the last counts. `learned` may be NULL. */
void walk_event(struct json_walker *walker, struct event_forms *learned, struct event_places *places);

/* The same, with the places of named fields: found[0..named->n), as those of event_places. What `learned` holds was
 * learned with the same names. */
void walk_event_named(struct json_walker *walker, struct event_forms *learned, const struct named_fields *named,
                      struct event_places *places, struct json_place *found);

/* The field of this name, in the event or in its "args"; FIELD_NONE: we do not know it. */
enum event_field event_field_named(const char *name, bool outside);

/* The field's key in the file, for messages. */
const char *event_field_name(enum event_field field);

#endif
