/*
 * event_columns.h - columns on demand: fields of events that reading the trace made no columns of.
 *
 *     names of fields, chosen events --> one walk over those events, in parallel --> a column for each field, by event
 *
 *     static const struct asked_field fields[] = {{"grid", ASK_PLACE}, {"memory bandwidth (GB/s)", ASK_NUMBER}};
 *     struct asked_column columns[2];
 *     status = event_columns_ask(context, trace, fields, 2, kernels, n_kernels, columns, error);
 *     ... number_at(columns[1].number, event) ...
 *
 * Columns are kept with the trace: who asks for what is there gets it at once, who asks for more events adds them. Ids
 * and inputs are there from the start where the context of who read the trace reads ahead.
 * Elements of events that nobody asked for are never touched, so a column costs memory for the others only.
 *
 * Cost: O(length of the events that are new), and O(events) to tell these. Threads may ask at the same time.
 */
#ifndef READ_EVENT_COLUMNS_H
#define READ_EVENT_COLUMNS_H

#include "columns/key.h"
#include "columns/number.h"
#include "columns/row.h"
#include "columns/strings.h"
#include "context/context.h"
#include "read/event_places.h"
#include "sutra/trace.h"

/* What a field's value becomes. */
enum asked_form {
    ASK_PLACE,     /* where it stands in the text; `at` is 0 where it is absent */
    ASK_KEY,       /* any value as an id; KEY_ABSENT */
    ASK_INT,       /* what Python's int() makes of it, as an id; KEY_ABSENT, or KEY_UNHASHABLE where int() fails */
    ASK_NUMBER,    /* a number, true or false; NaN where it is absent or anything else */
    ASK_ARGUMENTS, /* of "args": what an operator was given (event_inputs.h), by number as those of ASK_STRING;
                      STRING_NONE where nothing is told of it */
    ASK_LAUNCH,    /* the same of what a launch was given */
    ASK_STRING, /* a string's number among event_columns_strings(); STRING_NONE where it is absent or anything else */
};

struct asked_field {
    const char *name;
    enum asked_form form;
    bool outside; /* a member of the event itself, not of its "args" */
};

/* A column by event, of which the elements of those events count that were asked for. Only the member of its form is
 * set. */
struct asked_column {
    const struct json_place *place;
    const value_key *key; /* ASK_KEY and ASK_INT */
    struct number_column number;
    const uint32_t *string; /* ASK_ARGUMENTS, ASK_LAUNCH and ASK_STRING */
};

/* Most fields of one question. */
#define ASK_MAX NAMED_MAX

/* Fills columns[0..n_fields). `events` may be NULL for the first n_events events, need no order, and may hold some more
 * than once, or ROW_NONE. Ids are those of the context. SUTRA_SYSTEM: out of memory. */
enum sutra_status event_columns_ask(struct sutra_context *context, const struct sutra_device_trace *trace,
                                    const struct asked_field *fields, size_t n_fields, const row_t *events,
                                    row_t n_events, struct asked_column *columns, struct sutra_error *error);

/* Whether a field of all events is there already. */
bool event_columns_have(const struct sutra_device_trace *trace, const struct asked_field *field);

/* The strings of all such columns. Their numbers stay; their texts may move when somebody asks. */
const struct strings *event_columns_strings(const struct sutra_device_trace *trace);

/* What is kept with a trace. NULL: out of memory. */
struct kept_columns;
struct kept_columns *event_columns_new(void);
void event_columns_free(struct kept_columns *columns);

/* While a trace is read ahead: the table of event_columns_strings(). */
struct strings *event_columns_table(struct kept_columns *columns);

/* Then takes the columns that were read ahead over from the events. False: out of memory. */
bool event_columns_keep(struct kept_columns *columns, struct device_events *events);

/* Gives back all columns of a trace, which nobody holds any more: who asks again walks again. Strings stay. */
void event_columns_forget(struct kept_columns *columns);

#endif
