/*
 * event_fields.h - finds the fields of one event of a device trace: the offset of each known value in the text.
 *
 * Walking is fast where events repeat. Profilers write the same keys in the same order millions of times, so the bytes
 * between values are learned, as a tree whose nodes are the bytes from the end of one value to the start of the next:
 *
 *     {"ph": "X", "cat": "cpu_op", "name": "aten::add", "ts": 5, "args": {"External id": 7}}
 *
 *     '{"ph": ' --- ', "cat": ' --- ', "name": ' -+- ', "ts": ' --- ', "args": {"External id": ' --- '}}'
 *               |                                 +- ', "pid": ' ...
 *               +-- ', "id": ' ...
 *
 * The grammar of JSON after a value does not depend on the value. So if the same bytes follow the same sequence of
 * fields again, they are the same tokens, and one comparison of bytes replaces finding, naming and checking the tokens.
 * Bytes that are not in the tree are walked token by token, and learned. (One node may be a prefix of another only by
 * white space: "args" whose value is no object is not learned, since it is a prefix of "args" that is an object.)
 *
 * One tree per thread. Cost: O(bytes compared), at most FORM_SIBLINGS comparisons per value; up to FORMS_MAX nodes.
 */
#ifndef READ_EVENT_FIELDS_H
#define READ_EVENT_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "columns/traces.h"
#include "read/json.h"
#include "text/numbers.h"

/* Limits of the tree: bytes of a node, siblings, nodes. */
#define FORM_BYTES    192
#define FORM_SIBLINGS 16
#define FORMS_MAX     1024

/* A node: the bytes before a value, and the meaning of their tokens. */
struct form {
    struct form *child, *sibling; /* nodes after the following value; alternatives to this node; or NULL */
    uint64_t words[FORM_BYTES / 8];
    uint64_t last_mask; /* the bytes of the last word that count */
    size_t last_word;
    size_t length;   /* in bytes */
    uint64_t fields; /* set of the fields from the event's first value to the following value */
    size_t args;     /* offset of the value of "args", an object, if it begins among the bytes; else 0 */
    uint8_t field;   /* enum event_field of the following value */
    bool inside;     /* the following value is a member of "args" */
    bool ends;       /* no value follows: these are the last bytes of the event */
    bool repeats;    /* a known field occurs twice up to here */
};

struct event_forms {
    struct form begin; /* parent of the first bytes of events */
    struct form *list; /* NULL until a node is learned */
    size_t n;
};

void event_forms_free(struct event_forms *forms);

/* Adds a copy of `form`, whose bytes are at `text`, as a child of `parent`, one of `forms`. `fields`: set of the known
 * fields that `form` adds. Does nothing if a limit is reached or memory runs out, which only costs speed. */
void event_forms_learn(struct event_forms *forms, struct form *parent, const char *text, const struct form *form,
                       uint64_t fields);

static inline bool form_matches(const struct form *form, const char *text) {
    for (size_t i = 0; i < form->last_word; i++)
        if (form->words[i] != word_load(text + 8 * i))
            return false;
    return ((form->words[form->last_word] ^ word_load(text + 8 * form->last_word)) & form->last_mask) == 0;
}

/* The child of `parent` whose bytes are at `text`, or NULL. Reads at most 8 bytes beyond the first that differs. */
static inline struct form *form_find(const struct form *parent, const char *text) {
    struct form *form = parent->child;
    while (form && !form_matches(form, text))
        form = form->sibling;
    return form;
}

/* X(field, key) of the event itself, INSIDE(field, key) of its "args", from EXTERNAL on. */
#define EVENT_FIELDS(X, INSIDE)                                                                                        \
    X(ID, "id")                                                                                                        \
    X(PHASE, "ph")                                                                                                     \
    X(TS, "ts")                                                                                                        \
    X(CATEGORY, "cat")                                                                                                 \
    X(DUR, "dur")                                                                                                      \
    X(PID, "pid")                                                                                                      \
    X(TID, "tid")                                                                                                      \
    X(NAME, "name")                                                                                                    \
    X(ARGS, "args")                                                                                                    \
    INSIDE(EXTERNAL, "External id")                                                                                    \
    INSIDE(EVENT_INDEX, "Ev Idx")                                                                                      \
    INSIDE(STREAM, "stream")                                                                                           \
    INSIDE(DEVICE, "device")                                                                                           \
    INSIDE(RF, "Record function id")                                                                                   \
    INSIDE(PROCESS_GROUP, "Process Group Name")                                                                        \
    INSIDE(CORRELATION, "correlation")                                                                                 \
    INSIDE(WAIT_STREAM, "wait_on_stream")                                                                              \
    INSIDE(WAIT_RECORD, "wait_on_cuda_event_record_corr_id")                                                           \
    INSIDE(LOWER_EXTERNAL, "external id")                                                                              \
    INSIDE(COLLECTIVE_NAME, "Collective name")                                                                         \
    INSIDE(INPUT_DIMS, "Input dims")                                                                                   \
    INSIDE(OUTPUT_DIMS, "Output dims")                                                                                 \
    INSIDE(SEQUENCE, "Sequence number")                                                                                \
    INSIDE(FORWARD_THREAD, "Fwd thread id")                                                                            \
    INSIDE(ADDRESS, "Addr")                                                                                            \
    INSIDE(BYTES, "Bytes")                                                                                             \
    INSIDE(CONCRETE_INPUTS, "Concrete Inputs")                                                                         \
    INSIDE(INPUT_TYPES, "Input type")                                                                                  \
    INSIDE(INPUT_SHAPES, "Input Dims")                                                                                 \
    INSIDE(INPUT_STRIDES, "Input Strides")                                                                             \
    INSIDE(GRID, "grid")                                                                                               \
    INSIDE(BLOCK, "block")                                                                                             \
    INSIDE(REGISTERS, "registers per thread")                                                                          \
    INSIDE(SHARED_MEMORY, "shared memory")                                                                             \
    INSIDE(OCCUPANCY, "est. achieved occupancy %")

#define FIELD_ENUMERATOR(field, key) FIELD_##field,
enum event_field {
    EVENT_FIELDS(FIELD_ENUMERATOR, FIELD_ENUMERATOR) FIELD_NONE, /* any other */
    FIELD_NAMED,                                                 /* the first field of struct named_fields */
};

/* The fields of values that a copy may change, by enum event_value. */
extern const enum event_field event_value_fields[EVENT_N_VALUES];

/* Number of fields that describe the inputs of operators and kernel launches. */
#define N_EVENT_INPUTS (FIELD_NONE - FIELD_CONCRETE_INPUTS)

/* A field as an element of a set. */
#define FIELD_BIT(field) ((uint64_t)1 << (field))

/* Offsets of the values of one event; `at` is 0 for absent fields. `end` is the closing quote of strings, else the byte
 * after the value; for an object "args" it is unset. */
struct event_spans {
    struct json_span field[FIELD_NONE];
};

/* Bytes of a value that is present and is not "args". */
static inline size_t event_place_length(const char *text, struct json_span place) {
    return place.end + (text[place.at] == '"') - place.at;
}

/* Other fields to find, by distinct names. */
#define NAMED_MAX 32
struct named_fields {
    const char *name[NAMED_MAX];
    bool outside[NAMED_MAX]; /* a member of the event itself, not of its "args" */
    size_t n;
};

/* Walks one event, an object. Of repeated keys the last counts. `learned` may be NULL. */
void walk_event(struct json_walker *walker, struct event_forms *learned, struct event_spans *places);

/* As walk_event(), and finds named fields: found[0..named->n). All calls with the same `learned` pass equal names. */
void walk_event_named(struct json_walker *walker, struct event_forms *learned, const struct named_fields *named,
                      struct event_spans *places, struct json_span *found);

/* The field of this name, in the event or in its "args"; FIELD_NONE: unknown. */
enum event_field event_field_named(const char *name, bool outside);

/* The field's key in the file, for messages. */
const char *event_field_name(enum event_field field);

#endif
