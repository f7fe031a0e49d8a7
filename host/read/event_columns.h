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

#include "columns/numbers.h"
#include "columns/row.h"
#include "columns/strings.h"
#include "context/context.h"
#include "read/document.h"
#include "read/event_fields.h"
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

/*
 * What an operator was given (values, types, shapes, strides of its inputs) as one text, and what the
 * launch of a kernel was (grid, block, registers, shared memory, and the occupancy that Kineto estimates of them) as
 * another: the fields of "args" from FIELD_CONCRETE_INPUTS on. So events with equal bytes have one number for all.
 *
 *     operator  1 ["", "1"] NUL 2 ["float", "Scalar"] NUL 3 [[8, 32], []] NUL 4 [[32, 1], []] NUL
 *     launch    5 [32, 8, 1] NUL 6 [128, 1, 1] NUL 7 32 NUL 8 49152 NUL 9 80 NUL
 *
 * Each field is one byte, which field it is, and the bytes of the file, in which a value has no NUL. What is absent is
 * not there.
 */

/* Those of operators and those of launches among sets of inputs. */
#define GIVEN_TO_OPERATORS ((1U << (FIELD_GRID - FIELD_CONCRETE_INPUTS)) - 1)
#define GIVEN_TO_LAUNCHES  (((1U << N_EVENT_INPUTS) - 1) & ~GIVEN_TO_OPERATORS)

/* Which of N_EVENT_INPUTS places are there, as a set. */
static inline unsigned inputs_given(const struct json_place *places) {
    unsigned given = 0;
    for (int i = 0; i < N_EVENT_INPUTS; i++)
        given |= places[i].at ? 1U << i : 0;
    return given;
}

/* The number of the inputs at those of N_EVENT_INPUTS places that are `given`; STRING_NONE: none is, or memory ran out,
 * which fails. */
static inline uint32_t inputs_intern(struct field_reader *reader, const struct json_place *places, unsigned given,
                                     struct strings *strings) {
    const char *text = reader->source->bytes;
    size_t lengths[N_EVENT_INPUTS], n = 0;
    if (!given)
        return STRING_NONE;
    for (unsigned left = given; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        lengths[i] = event_place_length(text, places[i]);
        n += lengths[i] + 2;
    }
    reader->scratch.length = 0;
    char *to = buffer_reserve(&reader->scratch, n), *at = to;
    for (unsigned left = to ? given : 0; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        *at++ = (char)(1 + i);
        memcpy(at, text + places[i].at, lengths[i]);
        at += lengths[i];
        *at++ = 0;
    }
    uint32_t number = to ? strings_intern(strings, to, n) : STRING_NONE;
    reader->failed |= number == STRING_NONE;
    return number;
}

/* One of them out of such a text, and its length; 0: it is absent. */
static inline const char *inputs_find(const char *text, enum event_field field, size_t *length) {
    while (*text && *text != 1 + (int)field - FIELD_CONCRETE_INPUTS)
        text += strlen(text) + 1;
    text += *text != 0;
    *length = strlen(text);
    return text;
}

#endif
