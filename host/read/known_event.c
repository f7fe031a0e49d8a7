/*
 * known_event.c - from value to value along the tree of forms. O(length of the event).
 */
#include "read/known_event.h"

/* Fields as a set. */
#define BIT(field) ((uint64_t)1 << (field))

static const struct event_row absent = {
    .pid = KEY_ABSENT, .external = -1, .rf = KEY_NULL, .correlation = -1, .stream = KEY_ABSENT};

/* Each of the following reads the value at `text + at` and returns the byte behind it, or 0 where it is unusual. */

static inline size_t read_short(const char *text, size_t at, int64_t *integer, double *real, enum number_form *form) {
    size_t length = 0;
    *form = number_parse_short(text + at, integer, real, &length);
    bool zeros = text[at] == '0' && length > 1 && text[at + 1] != '.';
    return *form != NUMBER_FORM_BAD && !zeros && scalar_may_end(text[at + length]) ? at + length : 0;
}

static inline size_t read_number(const char *text, size_t at, struct number *number) {
    int64_t integer;
    double real;
    enum number_form form;
    size_t end = read_short(text, at, &integer, &real, &form);
    if (end)
        *number = form == NUMBER_FORM_INTEGER ? number_integer(integer) : number_double(real);
    return end;
}

static inline size_t read_integer(const char *text, size_t at, value_key *key) {
    bool negative = text[at] == '-';
    double real;
    enum number_form form;
    size_t end = read_short(text, at + negative, key, &real, &form);
    if (form != NUMBER_FORM_INTEGER || !end)
        return 0;
    *key = negative ? -*key : *key;
    return end;
}

static inline size_t read_string(const struct json_walker *walker, size_t at, struct json_place *place) {
    return walker->text[at] == '"' ? leaf_end(walker, at, place) : 0;
}

static inline size_t skip(const struct json_walker *walker, size_t at) {
    struct json_place place;
    return leaf_end(walker, at, &place);
}

static inline size_t read_key(const struct json_walker *walker, size_t at, struct field_reader *fields,
                              value_key *key) {
    size_t end = read_integer(walker->text, at, key);
    struct json_place place;
    if (!end) {
        end = leaf_end(walker, at, &place);
        if (end)
            *key = field_key(fields, place);
    }
    return *key == KEY_UNHASHABLE ? 0 : end;
}

static inline size_t read_phase(const struct json_walker *walker, size_t at, uint8_t *phase) {
    const char *text = walker->text + at;
    bool plain = text[0] == '"' && text[1] > PHASE_OTHER && text[1] < 0x7f && text[1] != '"' && text[1] != '\\';
    *phase = (uint8_t)text[1];
    return plain && text[1] >= ' ' && text[2] == '"' ? at + 3 : 0;
}

static inline size_t read_field(const struct json_walker *walker, size_t at, enum event_field field,
                                struct field_reader *fields, struct event_row *row) {
    value_key ignored;
    switch (field) {
    case FIELD_TS:
        row->value_at[VALUE_TS] = at;
        return read_number(walker->text, at, &row->ts);
    case FIELD_DUR:
        return read_number(walker->text, at, &row->dur);
    case FIELD_NAME:
        return read_string(walker, at, &row->name);
    case FIELD_CATEGORY:
        return read_string(walker, at, &row->category);
    case FIELD_PHASE:
        return read_phase(walker, at, &row->phase);
    case FIELD_PID:
        row->value_at[VALUE_PID] = at;
        return read_key(walker, at, fields, &row->pid);
    case FIELD_TID:
        return read_key(walker, at, fields, &row->tid);
    case FIELD_RF:
        return read_key(walker, at, fields, &row->rf);
    case FIELD_CORRELATION:
        row->value_at[VALUE_CORRELATION] = at;
        return read_key(walker, at, fields, &row->correlation);
    case FIELD_STREAM:
        row->flags |= EVENT_STREAM_INTEGER;
        return read_integer(walker->text, at, &row->stream);
    case FIELD_EXTERNAL:
        return read_integer(walker->text, at, &row->external);
    case FIELD_EVENT_INDEX:
        return read_integer(walker->text, at, &ignored);
    case FIELD_WAIT_RECORD:
        row->value_at[VALUE_WAIT_RECORD] = at;
        return skip(walker, at);
    case FIELD_ID:
        row->value_at[VALUE_ID] = at;
        row->flags |= walker->text[at] == 'n' ? 0 : EVENT_HAS_ID;
        return skip(walker, at);
    case FIELD_ARGS: /* which is no object */
        return 0;
    default:
        return skip(walker, at);
    }
}

static inline uint8_t flags_of(uint64_t seen) {
    return (uint8_t)((seen & BIT(FIELD_TS) ? EVENT_HAS_TS : 0) | (seen & BIT(FIELD_DUR) ? EVENT_HAS_DUR : 0) |
                     (seen & BIT(FIELD_TID) ? EVENT_HAS_TID : 0) | (seen & BIT(FIELD_NAME) ? EVENT_HAS_NAME : 0) |
                     (seen & (BIT(FIELD_WAIT_STREAM) | BIT(FIELD_WAIT_RECORD)) ? EVENT_HAS_WAIT : 0));
}

bool known_event_read(struct json_walker *walker, const struct event_forms *forms, struct field_reader *fields,
                      struct event_row *row) {
    const struct json_walker local = *walker;
    const struct form *form = &forms->begin;
    size_t at = local.at;
    uint64_t seen = 0;
    *row = absent;
    for (;;) {
        form = form_find(form, local.text + at);
        if (!form || (form->args && seen & BIT(FIELD_ARGS)))
            return false;
        seen |= form->args ? BIT(FIELD_ARGS) : 0;
        at += form->length;
        if (form->ends)
            break;
        if (seen & BIT(form->field) & ~BIT(FIELD_NONE))
            return false;
        seen |= BIT(form->field);
        at = read_field(&local, at, form->field, fields, row);
        if (!at)
            return false;
    }
    row->flags |= flags_of(seen);
    row->lower_external = seen & BIT(FIELD_LOWER_EXTERNAL);
    walk_to(walker, at);
    return true;
}
