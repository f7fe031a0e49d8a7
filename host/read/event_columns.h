/*
 * event_columns.h - columns on demand: fields of events that the reader of the trace made no columns of.
 *
 *     names of fields, selected events --> one walk over new events, in parallel --> a column per field, by event
 *
 *     static const struct requested_field fields[] = {{"grid", ASK_PLACE}, {"memory bandwidth (GB/s)", ASK_NUMBER}};
 *     struct requested_column columns[2];
 *     status = event_columns_request(context, trace, fields, 2, kernels, n_kernels, columns, error);
 *     ... number_at(columns[1].number, event) ...
 *
 * Columns are kept with the trace: a repeated request returns them immediately, and a request for more events adds
 * these. If the context reads ahead, the columns of ids and inputs exist from the start. Elements of events that were
 * not requested are never touched, so that they cost no memory.
 *
 * Cost: O(length of new events), and O(requested events). Thread-safe.
 */
#ifndef READ_EVENT_COLUMNS_H
#define READ_EVENT_COLUMNS_H

#include "columns/numbers.h"
#include "columns/strings.h"
#include "context/context.h"
#include "read/document.h"
#include "read/event_fields.h"
#include "sutra/trace.h"

/* Type of a column. */
enum asked_form {
    ASK_PLACE,     /* offset in the text; `at` is 0 if absent */
    ASK_KEY,       /* any value as an id; KEY_ABSENT */
    ASK_INT,       /* result of Python's int(), as an id; KEY_ABSENT, or KEY_UNHASHABLE if int() fails */
    ASK_NUMBER,    /* a number, true or false; NaN if absent or another type */
    ASK_ARGUMENTS, /* of "args": inputs of an operator as one text (see below), a string number; STRING_NONE: no inputs */
    ASK_LAUNCH,    /* the same for a kernel launch */
    ASK_STRING,    /* string number of event_columns_strings(); STRING_NONE if absent or another type */
};

struct requested_field {
    const char *name;
    enum asked_form form;
    bool outside; /* a member of the event itself, not of its "args" */
};

/* A column by event, valid for the requested events. Only the member of its form is set. */
struct requested_column {
    const struct json_span *place;
    const value_key *key; /* ASK_KEY and ASK_INT */
    struct number_column number;
    const uint32_t *string; /* ASK_ARGUMENTS, ASK_LAUNCH and ASK_STRING */
};

/* Most fields of one request. */
#define ASK_MAX NAMED_MAX

/* Fills columns[0..n_fields). `events`: in any order, with duplicates and ROW_NONE allowed; NULL: the first n_events
 * events. Ids are ids of the context. SUTRA_SYSTEM: out of memory. */
enum sutra_status event_columns_request(struct sutra_context *context, const struct sutra_device_trace *trace,
                                        const struct requested_field *fields, size_t n_fields, const row_t *events,
                                        row_t n_events, struct requested_column *columns, struct sutra_error *error);

/* Whether the column of a field is known for all events. */
bool event_columns_are_complete(const struct sutra_device_trace *trace, const struct requested_field *field);

/* The strings of all columns. String numbers are stable; texts may move during a request. */
const struct strings *event_columns_strings(const struct sutra_device_trace *trace);

/* The columns of a trace. NULL: out of memory. */
struct kept_columns;
struct kept_columns *event_columns_new(void);
void event_columns_free(struct kept_columns *columns);

/* The table of event_columns_strings(), for reading ahead. */
struct strings *event_columns_table(struct kept_columns *columns);

/* Moves the columns that were read ahead from the events. False: out of memory. */
bool event_columns_keep(struct kept_columns *columns, struct device_events *events);

/* Frees all columns of a trace, which must not be in use; strings are kept. */
void event_columns_forget(struct kept_columns *columns);

/*
 * ---- Inputs as one text ----
 *
 * The inputs of an operator (values, types, shapes, strides), and of a kernel launch (grid, block, registers, shared
 * memory, and Kineto's estimate of the occupancy): the fields of "args" from FIELD_CONCRETE_INPUTS on. Events with
 * equal bytes have one string number for all of them.
 *
 *     operator  1 ["", "1"] NUL 2 ["float", "Scalar"] NUL 3 [[8, 32], []] NUL 4 [[32, 1], []] NUL
 *     launch    5 [32, 8, 1] NUL 6 [128, 1, 1] NUL 7 32 NUL 8 49152 NUL 9 80 NUL
 *
 * Each present field is a byte that identifies the field, and the bytes of the file, which contain no NUL.
 */

/* Sets of the inputs of operators and of launches. */
#define GIVEN_TO_OPERATORS ((1U << (FIELD_GRID - FIELD_CONCRETE_INPUTS)) - 1)
#define GIVEN_TO_LAUNCHES  (((1U << N_EVENT_INPUTS) - 1) & ~GIVEN_TO_OPERATORS)

/* The set of the inputs that are present. */
static inline unsigned inputs_given(const struct json_span *places) {
    unsigned given = 0;
    for (int i = 0; i < N_EVENT_INPUTS; i++)
        given |= places[i].at ? 1U << i : 0;
    return given;
}

/* Interns the inputs in the set `given`. STRING_NONE: the set is empty, or out of memory, and the reader has failed. */
static inline uint32_t inputs_intern(struct field_reader *reader, const struct json_span *places, unsigned given,
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

/* A field of such a text, and its length; 0: absent. */
static inline const char *inputs_find(const char *text, enum event_field field, size_t *length) {
    while (*text && *text != 1 + (int)field - FIELD_CONCRETE_INPUTS)
        text += strlen(text) + 1;
    text += *text != 0;
    *length = strlen(text);
    return text;
}

#endif
