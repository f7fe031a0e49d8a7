/*
 * event_fields.h - where the fields of one event of a device trace stand in its text.
 */
#ifndef READ_EVENT_FIELDS_H
#define READ_EVENT_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "columns/traces.h"
#include "read/json.h"
#include "text/numbers.h"

/*
 * What stands between the values of events, learned while reading: a short cut for walk_event().
 *
 * Profilers write the same keys in the same order millions of times. What was walked once is kept as a tree, whose
 * nodes are the bytes from the end of one value to the start of the next:
 *
 *     {"ph": "X", "cat": "cpu_op", "name": "aten::add", "ts": 5, "args": {"External id": 7}}
 *
 *     '{"ph": ' --- ', "cat": ' --- ', "name": ' -+- ', "ts": ' --- ', "args": {"External id": ' --- '}}'
 *               |                                 +- ', "pid": ' ...
 *               +-- ', "id": ' ...
 *
 * Where the same bytes stand behind the same values again, the same tokens do, for where a value has ended the grammar
 * of JSON does not depend on what the value was. So one comparison of bytes replaces finding, naming and checking each
 * token between two values. What is not in the tree is walked token by token, and learned. (One form may begin another
 * only by white space: "args" whose value is no object is not learned, for it begins those whose value is one.)
 *
 * One tree for each thread. Cost: O(bytes compared), at most FORM_SIBLINGS comparisons for a value; up to FORMS_MAX
 * nodes.
 */

/* Longer texts than this are not learned, nor more siblings or more nodes. */
#define FORM_BYTES    64
#define FORM_SIBLINGS 16
#define FORMS_MAX     1024

/* A node: bytes behind a value (or those that an event begins with), and what their tokens mean. */
struct form {
    struct form *child, *sibling; /* what stands behind the value that follows; what else stood here; or NULL */
    uint64_t words[FORM_BYTES / 8];
    uint64_t last_mask; /* of the last word, those bytes that count */
    size_t last_word;
    size_t length; /* in bytes */
    uint64_t seen; /* fields of the values from the event's first to the one that follows, as a set */
    size_t args;   /* offset of the value of "args", an object, if that begins among the bytes; else 0 */
    uint8_t field; /* enum event_field of the value that follows */
    bool inside;   /* that is a member of "args" */
    bool ends;     /* no value follows: these are the last bytes of the event */
    bool repeats;  /* a known field stands twice on the way here */
};

struct event_forms {
    struct form begin; /* stands before all events */
    struct form *list; /* NULL until something is learned */
    size_t n;
};

void event_forms_free(struct event_forms *forms);

/* Where `form` stands behind `parent`, which fields were seen; `fields` are those of the value that follows and of what
 * begins among its bytes, but for unknown ones. */
static inline void form_see(struct form *form, const struct form *parent, uint64_t fields) {
    form->seen = parent->seen | fields;
    form->repeats = parent->repeats || (parent->seen & fields);
}

/* Adds a copy of `form`, whose bytes stand at `text` and whose meaning is set, behind `parent`, one of `forms`. Does
 * nothing where it would be too much, or memory runs out, which only costs speed. */
void event_forms_learn(struct event_forms *forms, struct form *parent, const char *text, const struct form *form);

static inline bool form_stands(const struct form *form, const char *text) {
    for (size_t i = 0; i < form->last_word; i++)
        if (form->words[i] != word_load(text + 8 * i))
            return false;
    return ((form->words[form->last_word] ^ word_load(text + 8 * form->last_word)) & form->last_mask) == 0;
}

/* The node behind `parent` whose bytes stand at `text`, or NULL. Reads up to FORM_BYTES bytes there. */
static inline struct form *form_find(const struct form *parent, const char *text) {
    struct form *form = parent->child;
    while (form && !form_stands(form, text))
        form = form->sibling;
    return form;
}

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
