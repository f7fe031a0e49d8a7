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

#define SKIP(field, name)
#define RETURN_IF_SAME(field, name)                                                                                    \
    if (length == sizeof name - 1 && memcmp(key, name, sizeof name - 1) == 0)                                          \
        return FIELD_##field;

static enum event_field outer_field(const char *key, size_t length) {
    EVENT_FIELDS(RETURN_IF_SAME, SKIP);
    return FIELD_NONE;
}

static enum event_field inner_field(const char *key, size_t length) {
    EVENT_FIELDS(SKIP, RETURN_IF_SAME);
    return FIELD_NONE;
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
#define NAME(field, key)        key,
#define NAME_INSIDE(field, key) "args[\"" key "\"]",
    static const char *const names[] = {EVENT_FIELDS(NAME, NAME_INSIDE)};
    return names[field];
}
