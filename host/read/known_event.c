/*
 * known_event.c - from value to value along the tree of forms. O(length of the event).
 */
#include "read/known_event.h"

#include <string.h>

static const struct event_row absent = {
    .pid = KEY_ABSENT,
    .external = -1,
    .rf = KEY_NULL,
    .correlation = -1,
    .id_key = KEY_ABSENT,
    .stream = KEY_ABSENT,
    .device = DEVICE_ABSENT,
};

/* All but the inputs; in words: an assignment may become an instruction for whole blocks, which takes longer. */
static inline void reset(struct event_row *row) {
    _Static_assert(offsetof(struct event_row, inputs) % 8 == 0, "whole words");
    for (size_t i = 0; i < offsetof(struct event_row, inputs); i += 8)
        memcpy((char *)row + i, (const char *)&absent + i, 8);
}

/* Each of the following reads the value at `text + at` and returns the byte behind it, or 0 where it is unusual. */

/* The byte behind a number that begins and ends as JSON has it, or 0. */
static inline size_t number_end(const char *text, size_t at, struct short_number number) {
    bool zeros = text[at] == '0' && number.n_integer > 1;
    return number.length && !zeros && scalar_may_end(text[at + number.length]) ? at + number.length : 0;
}

static inline size_t read_number(const char *text, size_t at, struct number *number) {
    int64_t integer;
    double real;
    struct short_number found = short_number_at(text + at);
    enum number_form form = NUMBER_FORM_BAD;
    if (found.length)
        form = short_number_value(text + at, found, &integer, &real);
    if (form == NUMBER_FORM_BAD)
        return 0;
    *number = form == NUMBER_FORM_INTEGER ? number_integer(integer) : number_double(real);
    return number_end(text, at, found);
}

/* Up to 15 digits. */
static inline size_t read_natural(const char *text, size_t at, value_key *key) {
    size_t n = digit_run_short(text + at);
    if (n == 0 || n == SCAN_BYTES || text[at + n] == '.')
        return 0;
    *key = (value_key)short_integer_value(text + at, n);
    return number_end(text, at, (struct short_number){.n_integer = n, .length = n});
}

/* The sign is a branch, which is foretold, so that nothing waits for it. */
static inline size_t read_integer(const char *text, size_t at, value_key *key) {
    if (text[at] != '-')
        return read_natural(text, at, key);
    size_t end = read_natural(text, at + 1, key);
    if (end)
        *key = -*key;
    return end;
}

static inline size_t read_string(const struct json_walker *walker, size_t at, struct json_place *place) {
    return walker->text[at] == '"' ? leaf_end(walker, at, place) : 0;
}

/* Any value, whose place is as event_places.h has it. */
static inline size_t read_place(const struct json_walker *walker, size_t at, struct json_place *place) {
    size_t end = leaf_end(walker, at, place);
    if (walker->text[at] != '"')
        place->end = end;
    return end;
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

static inline size_t read_device(const struct json_walker *walker, size_t at, uint16_t *device) {
    value_key integer;
    size_t end = read_integer(walker->text, at, &integer);
    *device = end ? device_of_integer(integer) : DEVICE_OTHER;
    return end ? end : skip(walker, at);
}

static inline size_t read_phase(const struct json_walker *walker, size_t at, uint8_t *phase) {
    const char *text = walker->text + at;
    bool plain = text[0] == '"' && text[1] > PHASE_OTHER && text[1] < 0x7f && text[1] != '"' && text[1] != '\\';
    *phase = (uint8_t)text[1];
    return plain && text[1] >= ' ' && text[2] == '"' ? at + 3 : 0;
}

static inline size_t read_id(const struct json_walker *walker, size_t at, struct event_row *row) {
    size_t end = read_integer(walker->text, at, &row->id_key);
    return end ? end : read_place(walker, at, &row->id);
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
    case FIELD_DEVICE:
        return read_device(walker, at, &row->device);
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
        return read_id(walker, at, row);
    case FIELD_CONCRETE_INPUTS:
    case FIELD_INPUT_TYPES:
    case FIELD_INPUT_SHAPES:
    case FIELD_INPUT_STRIDES:
    case FIELD_GRID:
    case FIELD_BLOCK:
    case FIELD_REGISTERS:
    case FIELD_SHARED_MEMORY:
    case FIELD_OCCUPANCY:
        return read_place(walker, at, &row->inputs[field - FIELD_CONCRETE_INPUTS]);
    case FIELD_ARGS: /* which is no object */
        return 0;
    default:
        return skip(walker, at);
    }
}

static inline uint8_t flag_if(uint64_t seen, uint64_t fields, enum event_flag flag) {
    return seen & fields ? (uint8_t)flag : 0;
}

static inline uint8_t flags_of(uint64_t seen) {
    return flag_if(seen, FIELD_BIT(FIELD_TS), EVENT_HAS_TS) | flag_if(seen, FIELD_BIT(FIELD_DUR), EVENT_HAS_DUR) |
           flag_if(seen, FIELD_BIT(FIELD_TID), EVENT_HAS_TID) | flag_if(seen, FIELD_BIT(FIELD_NAME), EVENT_HAS_NAME) |
           flag_if(seen, FIELD_BIT(FIELD_WAIT_STREAM) | FIELD_BIT(FIELD_WAIT_RECORD), EVENT_HAS_WAIT);
}

/* Asks for as much text as most events have, some events ahead: the processor does so itself only within a page. */
static inline void fetch_ahead(const char *text) {
    for (size_t line = 0; line < 5; line++)
        __builtin_prefetch(text + 2048 + 64 * line);
}

bool known_event_read(struct json_walker *walker, const struct event_forms *forms, struct field_reader *fields,
                      struct event_row *row) {
    const struct json_walker local = *walker;
    const struct form *form = form_find(&forms->begin, local.text + local.at);
    size_t at = local.at;
    fetch_ahead(local.text + at);
    reset(row);
    for (; form && !form->ends; form = form_find(form, local.text + at)) {
        at = read_field(&local, at + form->length, (enum event_field)form->field, fields, row);
        if (!at)
            return false;
    }
    if (!form || form->repeats)
        return false;
    row->flags |= flags_of(form->seen);
    row->lower_external = form->seen & FIELD_BIT(FIELD_LOWER_EXTERNAL);
    row->given = (uint16_t)(form->seen >> FIELD_CONCRETE_INPUTS);
    walk_to(walker, at + form->length);
    return true;
}
