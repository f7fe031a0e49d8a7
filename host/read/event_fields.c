/*
 * event_fields.c - implements event_fields.h.
 *
 * The walk goes from value to value. The tokens between two values are recognized by their bytes, or else walked one by
 * one and learned. Members of the event and of its "args" are one sequence.
 */
#include <stdlib.h>
#include <string.h>

#include "read/document.h"
#include "read/event_fields.h"
#include "text/strings.h"

void event_forms_free(struct event_forms *forms) {
    free(forms->list);
    *forms = (struct event_forms){0};
}

void event_forms_learn(struct event_forms *forms, struct form *parent, const char *text, const struct form *form,
                       uint64_t fields) {
    struct form **end = &parent->child;
    for (unsigned n = 0; *end; end = &(*end)->sibling)
        if (++n == FORM_SIBLINGS)
            return;
    if (form->length == 0 || form->length > FORM_BYTES)
        return;
    if (!forms->list)
        forms->list = malloc(FORMS_MAX * sizeof *forms->list); /* nodes never move, since they point to each other */
    if (!forms->list || forms->n == FORMS_MAX)
        return;
    struct form *made = &forms->list[forms->n++];
    *made = *form;
    made->child = made->sibling = NULL;
    made->fields = parent->fields | fields;
    made->repeats = parent->repeats || (parent->fields & fields);
    made->last_word = (form->length - 1) / 8;
    made->last_mask = UINT64_MAX >> 8 * (7 - (form->length - 1) % 8);
    char bytes[FORM_BYTES] = {0};
    memcpy(bytes, text, form->length);
    for (size_t i = 0; i <= made->last_word; i++)
        made->words[i] = word_load(bytes + 8 * i);
    *end = made;
}

const enum event_field event_value_fields[EVENT_N_VALUES] = {
    [VALUE_PID] = FIELD_PID,
    [VALUE_TS] = FIELD_TS,
    [VALUE_ID] = FIELD_ID,
    [VALUE_CORRELATION] = FIELD_CORRELATION,
    [VALUE_WAIT_RECORD] = FIELD_WAIT_RECORD,
};

static inline bool same(const char *key, const char *name, size_t length) {
    return memcmp(key, name, length) == 0;
}

static enum event_field outer_field(const char *key, size_t length) {
    switch (length) {
    case 2:
        return same(key, "ts", 2)   ? FIELD_TS
               : same(key, "ph", 2) ? FIELD_PHASE
               : same(key, "id", 2) ? FIELD_ID
                                    : FIELD_NONE;
    case 3:
        return same(key, "cat", 3)   ? FIELD_CATEGORY
               : same(key, "dur", 3) ? FIELD_DUR
               : same(key, "pid", 3) ? FIELD_PID
               : same(key, "tid", 3) ? FIELD_TID
                                     : FIELD_NONE;
    case 4:
        return same(key, "name", 4) ? FIELD_NAME : same(key, "args", 4) ? FIELD_ARGS : FIELD_NONE;
    default:
        return FIELD_NONE;
    }
}

static enum event_field inner_field(const char *key, size_t length) {
    switch (length) {
    case 4:
        return same(key, "grid", 4) ? FIELD_GRID : same(key, "Addr", 4) ? FIELD_ADDRESS : FIELD_NONE;
    case 5:
        return same(key, "block", 5) ? FIELD_BLOCK : same(key, "Bytes", 5) ? FIELD_BYTES : FIELD_NONE;
    case 6:
        return same(key, "stream", 6)   ? FIELD_STREAM
               : same(key, "device", 6) ? FIELD_DEVICE
               : same(key, "Ev Idx", 6) ? FIELD_EVENT_INDEX
                                        : FIELD_NONE;
    case 10:
        return same(key, "Input Dims", 10)   ? FIELD_INPUT_SHAPES
               : same(key, "Input type", 10) ? FIELD_INPUT_TYPES
               : same(key, "Input dims", 10) ? FIELD_INPUT_DIMS
                                             : FIELD_NONE;
    case 11:
        return same(key, "External id", 11)   ? FIELD_EXTERNAL
               : same(key, "correlation", 11) ? FIELD_CORRELATION
               : same(key, "external id", 11) ? FIELD_LOWER_EXTERNAL
               : same(key, "Output dims", 11) ? FIELD_OUTPUT_DIMS
                                              : FIELD_NONE;
    case 13:
        return same(key, "Fwd thread id", 13)   ? FIELD_FORWARD_THREAD
               : same(key, "Input Strides", 13) ? FIELD_INPUT_STRIDES
               : same(key, "shared memory", 13) ? FIELD_SHARED_MEMORY
                                                : FIELD_NONE;
    case 14:
        return same(key, "wait_on_stream", 14) ? FIELD_WAIT_STREAM : FIELD_NONE;
    case 15:
        return same(key, "Sequence number", 15)   ? FIELD_SEQUENCE
               : same(key, "Concrete Inputs", 15) ? FIELD_CONCRETE_INPUTS
               : same(key, "Collective name", 15) ? FIELD_COLLECTIVE_NAME
                                                  : FIELD_NONE;
    case 18:
        return same(key, "Record function id", 18)   ? FIELD_RF
               : same(key, "Process Group Name", 18) ? FIELD_PROCESS_GROUP
                                                     : FIELD_NONE;
    case 20:
        return same(key, "registers per thread", 20) ? FIELD_REGISTERS : FIELD_NONE;
    case 25:
        return same(key, "est. achieved occupancy %", 25) ? FIELD_OCCUPANCY : FIELD_NONE;
    case 33:
        return same(key, "wait_on_cuda_event_record_corr_id", 33) ? FIELD_WAIT_RECORD : FIELD_NONE;
    default:
        return FIELD_NONE;
    }
}

/* Longest raw text of a known key: all characters as \uXXXX. */
#define KEY_RAW_MAX (33 * 6)

/* An enum event_field, or FIELD_NAMED and the index of a named field. */
static inline unsigned find_field(const struct json_walker *walker, struct json_span key, bool inside,
                                  const struct named_fields *named) {
    enum event_field (*known)(const char *, size_t) = inside ? inner_field : outer_field;
    const char *raw = walker->text + key.at + 1;
    size_t length = key.end - key.at - 1;
    enum event_field field = known(raw, length);
    if (field == FIELD_NONE && length <= KEY_RAW_MAX && memchr(raw, '\\', length)) {
        char decoded[KEY_RAW_MAX];
        field = known(decoded, string_decode(raw, length, decoded));
    }
    for (size_t i = 0; field == FIELD_NONE && named && i < named->n; i++)
        if (named->outside[i] != inside && place_is(walker->source, key, named->name[i]))
            return FIELD_NAMED + (unsigned)i;
    return field;
}

/* Walks the tokens from byte `at`, the event's opening bracket or the byte after a value, to the next value, and
 * fills *form with their meaning. */
static inline void walk_form(struct json_walker *walker, size_t at, bool begins, bool inside,
                             const struct named_fields *named, struct form *form) {
    *form = (struct form){.inside = inside};
    for (;;) {
        size_t bracket = walker->at;
        bool more = begins ? walk_object(walker) : walk_member_end(walker);
        begins = false;
        if (!more && form->inside) {
            form->inside = false;
            continue;
        }
        if (!more) {
            form->ends = true;
            form->length = (walker->text[bracket] == '}' ? bracket + 1 : walker->at) - at;
            return;
        }
        struct json_span key = walk_key(walker);
        form->field = (uint8_t)find_field(walker, key, form->inside, named);
        form->length = walker->at - at;
        if (form->field != FIELD_ARGS || walk_char(walker) != '{')
            return;
        form->args = form->length;
        form->inside = begins = true;
    }
}

/* "args" is at `at`; it replaces an earlier "args". */
static inline void begin_args(size_t at, const struct named_fields *named, struct event_spans *places,
                              struct json_span *found) {
    places->field[FIELD_ARGS] = (struct json_span){.at = at};
    for (int field = FIELD_EXTERNAL; field < FIELD_NONE; field++)
        places->field[field].at = 0;
    for (size_t i = 0; named && i < named->n; i++)
        if (!named->outside[i])
            found[i].at = 0;
}

void walk_event_named(struct json_walker *walker, struct event_forms *learned, const struct named_fields *named,
                      struct event_spans *places, struct json_span *found) {
    struct json_walker local = *walker; /* in registers */
    struct form unknown = {0};
    struct form *form = learned ? &learned->begin : &unknown;
    size_t begin = local.at, at = begin;
    for (int field = 0; field < FIELD_NONE; field++)
        places->field[field].at = 0;
    for (size_t i = 0; named && i < named->n; i++)
        found[i].at = 0;
    for (;;) {
        /* The tokens up to the next value. */
        struct form *next = form_find(form, local.text + at);
        if (!next) {
            walk_to(&local, at);
            walk_form(&local, at, at == begin, form->inside, named, &unknown);
            if (local.expected)
                break;
            if (form != &unknown && unknown.field != FIELD_ARGS) { /* else the next "args" may be an object */
                uint64_t fields = (unknown.args ? FIELD_BIT(FIELD_ARGS) : 0) |
                                  (unknown.ends || unknown.field >= FIELD_NONE ? 0 : FIELD_BIT(unknown.field));
                event_forms_learn(learned, form, local.text + at, &unknown, fields);
            }
            next = &unknown;
        }
        form = next;
        if (form->args)
            begin_args(at + form->args, named, places, found);
        at += form->length;
        if (form->ends) {
            walk_to(&local, at);
            break;
        }
        /* The value. */
        struct json_span place;
        size_t value = space_end(local.text, at);
        at = leaf_end(&local, value, &place);
        if (at == 0) {
            local.at = value;
            walk_value(&local);
        }
        if (local.expected)
            break;
        if (local.text[value] != '"')
            place.end = at;
        if (form->field == FIELD_ARGS)
            begin_args(place.at, named, places, found);
        else if (form->field < FIELD_NONE)
            places->field[form->field] = place;
        else if (form->field >= FIELD_NAMED)
            found[form->field - FIELD_NAMED] = place;
    }
    *walker = local;
}

void walk_event(struct json_walker *walker, struct event_forms *learned, struct event_spans *places) {
    walk_event_named(walker, learned, NULL, places, NULL);
}

enum event_field event_field_named(const char *name, bool outside) {
    return (outside ? outer_field : inner_field)(name, strlen(name));
}

const char *event_field_name(enum event_field field) {
    static const char *const names[] = {"id",
                                        "ph",
                                        "ts",
                                        "cat",
                                        "dur",
                                        "pid",
                                        "tid",
                                        "name",
                                        "args",
                                        "args[\"External id\"]",
                                        "args[\"Ev Idx\"]",
                                        "args[\"stream\"]",
                                        "args[\"device\"]",
                                        "args[\"Record function id\"]",
                                        "args[\"Process Group Name\"]",
                                        "args[\"correlation\"]",
                                        "args[\"wait_on_stream\"]",
                                        "args[\"wait_on_cuda_event_record_corr_id\"]",
                                        "args[\"external id\"]",
                                        "args[\"Collective name\"]",
                                        "args[\"Input dims\"]",
                                        "args[\"Output dims\"]",
                                        "args[\"Sequence number\"]",
                                        "args[\"Fwd thread id\"]",
                                        "args[\"Addr\"]",
                                        "args[\"Bytes\"]",
                                        "args[\"Concrete Inputs\"]",
                                        "args[\"Input type\"]",
                                        "args[\"Input Dims\"]",
                                        "args[\"Input Strides\"]",
                                        "args[\"grid\"]",
                                        "args[\"block\"]",
                                        "args[\"registers per thread\"]",
                                        "args[\"shared memory\"]",
                                        "args[\"est. achieved occupancy %\"]"};
    return names[field];
}
