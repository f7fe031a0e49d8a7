/*
 * event_fields.c - walking one event and noting where the fields stand that we know.
 *
 * From value to value: the tokens between two of them are recognised by their bytes where such were seen before
 * (event_forms.h), else walked one by one. Members of the event and of its "args" are one sequence.
 */
#include <stdlib.h>
#include <string.h>

#include "read/document.h"
#include "read/event_fields.h"
#include "text/strings.h"

/*
 * Adding to what was learned.
 */

void event_forms_free(struct event_forms *forms) {
    free(forms->list);
    *forms = (struct event_forms){0};
}

/* Where another child of `parent` belongs; NULL: it has enough. */
static struct form **last_child(struct form *parent) {
    struct form **end = &parent->child;
    for (unsigned n = 0; *end; end = &(*end)->sibling)
        if (++n == FORM_SIBLINGS)
            return NULL;
    return end;
}

/* A new node; NULL: there are enough, or memory ran out. They never move, as they point to each other. */
static struct form *new_form(struct event_forms *forms) {
    if (!forms->list)
        forms->list = malloc(FORMS_MAX * sizeof *forms->list);
    return forms->list && forms->n < FORMS_MAX ? &forms->list[forms->n++] : NULL;
}

void event_forms_learn(struct event_forms *forms, struct form *parent, const char *text, const struct form *form) {
    struct form **end = last_child(parent);
    if (!end || form->length == 0 || form->length > FORM_BYTES)
        return;
    struct form *made = new_form(forms);
    if (!made)
        return;
    *made = *form;
    made->child = made->sibling = NULL;
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

/* Longest raw form of a key that we know: all of its characters as \uXXXX. */
#define KEY_RAW_MAX (33 * 6)

static inline enum event_field known_field(const struct json_walker *walker, struct json_place key, bool inside) {
    enum event_field (*known)(const char *, size_t) = inside ? inner_field : outer_field;
    const char *raw = walker->text + key.at + 1;
    size_t length = key.end - key.at - 1;
    enum event_field field = known(raw, length);
    if (field != FIELD_NONE || length > KEY_RAW_MAX || !memchr(raw, '\\', length))
        return field;
    char decoded[KEY_RAW_MAX];
    return known(decoded, string_decode(raw, length, decoded));
}

/* An enum event_field, or FIELD_NAMED and the number of a named one. */
static inline unsigned field_of(const struct json_walker *walker, struct json_place key, bool inside,
                                const struct named_fields *named) {
    enum event_field field = known_field(walker, key, inside);
    for (size_t i = 0; field == FIELD_NONE && named && i < named->n; i++)
        if (named->outside[i] != inside && place_is(walker->source, key, named->name[i]))
            return FIELD_NAMED + (unsigned)i;
    return field;
}

/* Walks the tokens from byte `at`, the event's opening bracket or the one behind a value, to the next value, and says
 * what they mean. */
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
        struct json_place key = walk_key(walker);
        form->field = (uint8_t)field_of(walker, key, form->inside, named);
        form->length = walker->at - at;
        if (form->field != FIELD_ARGS || walk_char(walker) != '{')
            return;
        form->args = form->length;
        form->inside = begins = true;
    }
}

/* The known fields that a form brings, as a set. */
static inline uint64_t fields_of(const struct form *form) {
    return (form->args ? FIELD_BIT(FIELD_ARGS) : 0) |
           (form->ends || form->field >= FIELD_NONE ? 0 : FIELD_BIT(form->field));
}

/* Walks the value at byte `at`, before which there may be white space; *end is the byte behind it. */
static inline struct json_place walk_leaf(struct json_walker *walker, size_t at, size_t *end) {
    struct json_place place;
    at = space_end(walker->text, at);
    *end = leaf_end(walker, at, &place);
    if (*end == 0) {
        walker->at = at;
        walk_value(walker);
    }
    if (walker->text[at] != '"')
        place.end = *end;
    return place;
}

/* What a walk finds. */
struct event_finding {
    struct event_places *places;
    const struct named_fields *named; /* NULL: none */
    struct json_place *found;
};

/* "args" is at this place; it replaces another that came before. */
static inline void begin_args(struct event_finding finding, size_t at) {
    finding.places->field[FIELD_ARGS] = (struct json_place){.at = at};
    for (int field = FIELD_EXTERNAL; field < FIELD_NONE; field++)
        finding.places->field[field].at = 0;
    for (size_t i = 0; finding.named && i < finding.named->n; i++)
        if (!finding.named->outside[i])
            finding.found[i].at = 0;
}

static inline void begin_event(struct event_finding finding) {
    for (int field = 0; field < FIELD_NONE; field++)
        finding.places->field[field].at = 0;
    for (size_t i = 0; finding.named && i < finding.named->n; i++)
        finding.found[i].at = 0;
}

static inline void put_place(struct event_finding finding, unsigned field, struct json_place place) {
    if (field == FIELD_ARGS)
        begin_args(finding, place.at);
    else if (field < FIELD_NONE)
        finding.places->field[field] = place;
    else if (field >= FIELD_NAMED)
        finding.found[field - FIELD_NAMED] = place;
}

static inline void find_all(struct json_walker *walker, struct event_forms *learned, struct event_finding finding) {
    struct json_walker local = *walker; /* which stays in registers */
    struct form unknown = {0};
    struct form *form = learned ? &learned->begin : &unknown;
    size_t begin = local.at, at = begin;
    begin_event(finding);
    for (;;) {
        struct form *next = form_find(form, local.text + at);
        if (!next) {
            walk_to(&local, at);
            walk_form(&local, at, at == begin, form->inside, finding.named, &unknown);
            if (local.expected)
                break;
            if (form != &unknown && unknown.field != FIELD_ARGS) { /* which may as well be an object */
                form_see(&unknown, form, fields_of(&unknown));
                event_forms_learn(learned, form, local.text + at, &unknown);
            }
            next = &unknown;
        }
        form = next;
        if (form->args)
            begin_args(finding, at + form->args);
        at += form->length;
        if (form->ends) {
            walk_to(&local, at);
            break;
        }
        struct json_place place = walk_leaf(&local, at, &at);
        if (local.expected)
            break;
        put_place(finding, form->field, place);
    }
    *walker = local;
}

void walk_event(struct json_walker *walker, struct event_forms *learned, struct event_places *places) {
    find_all(walker, learned, (struct event_finding){.places = places});
}

void walk_event_named(struct json_walker *walker, struct event_forms *learned, const struct named_fields *named,
                      struct event_places *places, struct json_place *found) {
    find_all(walker, learned, (struct event_finding){places, named, found});
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
