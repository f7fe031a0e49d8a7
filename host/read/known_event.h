/*
 * known_event.h - an event that is written as others before it, from its text straight to the values of its row.
 *
 * What stands between values is known by its bytes (event_forms.h), so that each value is read where it stands, once.
 * Whatever is unusual (bytes that are not known, a value of another type, a repeated key, a mistake) is left to those
 * who walk events token by token.
 */
#ifndef READ_KNOWN_EVENT_H
#define READ_KNOWN_EVENT_H

#include "columns/device_events.h"
#include "read/event_places.h"
#include "read/fields.h"

/* Values of one event, as columns/device_events.h has them, but for the numbers of strings. */
struct event_row {
    struct number ts, dur;
    struct json_place name, category; /* `at` is 0 where there is none */
    value_key pid, tid, external, rf, correlation, stream;
    uint16_t device;
    size_t value_at[EVENT_N_VALUES]; /* in the trace's text; 0: there is none */
    value_key id_key;                /* where it is an integer, which has no place, */
    struct json_place id;            /* else */
    uint8_t phase, flags;
    bool lower_external; /* it has an "external id" */
    uint16_t given;      /* which inputs there are, as a set */
    struct json_place inputs[N_EVENT_INPUTS];
};

/* Reads the event at the walker, and steps behind it. False: it is not known; the walker did not move, and the row is
 * undefined. */
bool known_event_read(struct json_walker *walker, const struct event_forms *forms, struct field_reader *fields,
                      struct event_row *row);

#endif
