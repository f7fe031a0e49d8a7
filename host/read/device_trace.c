/*
 * device_trace.c - reads a device trace: "traceEvents" into columns.
 *
 * Each part of the array fills columns and a string table of its own; then the tables are joined in file order, so that
 * rows and string numbers do not depend on the number of parts.
 *
 * An event is decoded in one of two ways with equal results (test_known_events compares them):
 *   - fast: the bytes between its values are learned (event_fields.h), and each value is scanned where it is, once;
 *   - plain: walk_event() finds all values token by token, and then each value is read. Used for anything unusual:
 *     bytes that are not learned, a value of another type, a repeated key, malformed text.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "columns/hash_tables.h"
#include "columns/traces.h"
#include "read/device_trace.h"
#include "read/document.h"
#include "read/event_fields.h"
#include "read/file_kind.h"
#include "read/nsys.h"
#include "read/repeated_text.h"
#include "text/quantities.h"

/* Values of one event, with the meaning of columns/traces.h; strings are not interned yet. */
struct event_row {
    struct number ts, dur;
    struct json_span name, category; /* `at` is 0 if absent */
    value_key pid, tid, external, rf, correlation, stream;
    uint16_t device;
    size_t value_at[EVENT_N_VALUES]; /* in the trace's text; 0: absent */
    value_key id_key;                /* if it is an integer, */
    struct json_span id;             /* else */
    uint16_t flags;
    uint16_t given; /* set of the inputs that are present */
    uint8_t phase;
    bool lower_external; /* has an "external id" */
    struct json_span inputs[N_EVENT_INPUTS];
};

/* ---- Fast decoder: from value to value along the tree of forms. O(length of the event) ---- */

static const struct event_row absent = {
    .pid = KEY_ABSENT,
    .external = -1,
    .rf = KEY_NULL,
    .correlation = -1,
    .id_key = KEY_ABSENT,
    .stream = KEY_ABSENT,
    .device = DEVICE_ABSENT,
};

/*
 * scan_*(): decodes the value at text[at] and returns the byte after it, or 0 if the value is unusual.
 */

/* The byte after a number, or 0 if it begins or ends in a way that is not JSON. */
static inline size_t number_end(const char *text, size_t at, struct short_number number) {
    bool zeros = text[at] == '0' && number.n_integer > 1;
    return number.length && !zeros && scalar_may_end(text[at + number.length]) ? at + number.length : 0;
}

static inline size_t scan_number(const char *text, size_t at, struct number *number) {
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

/* A number in a string, as Ascend's profiler writes times: "1704161511420306.491". */
static size_t scan_text_number(const struct json_walker *walker, size_t at, struct number *number) {
    struct json_span ignored_place;
    bool is_time = walker->text[at] == '"' && field_time(walker->text + at, number);
    return is_time ? leaf_end(walker, at, &ignored_place) : 0;
}

/* Whether a value is a string that is not empty. */
static inline bool is_text_of_bytes(const char *value) {
    return value[0] == '"' && value[1] != '"';
}

/* Up to 15 digits. */
static inline size_t scan_natural(const char *text, size_t at, value_key *key) {
    size_t n = digit_run_short(text + at);
    if (n == 0 || n == SCAN_BYTES || text[at + n] == '.')
        return 0;
    *key = (value_key)short_integer_value(text + at, n);
    return number_end(text, at, (struct short_number){.n_integer = n, .length = n});
}

/* The sign is a branch, which is predicted, so that no instruction waits for it. */
static inline size_t scan_integer(const char *text, size_t at, value_key *key) {
    if (text[at] != '-')
        return scan_natural(text, at, key);
    size_t end = scan_natural(text, at + 1, key);
    if (end)
        *key = -*key;
    return end;
}

/* Any value; its end is defined in struct event_spans. */
static inline size_t scan_any(const struct json_walker *walker, size_t at, struct json_span *place) {
    size_t end = leaf_end(walker, at, place);
    if (walker->text[at] != '"')
        place->end = end;
    return end;
}

static inline size_t scan_key(const struct json_walker *walker, size_t at, struct field_reader *fields,
                              value_key *key) {
    size_t end = scan_integer(walker->text, at, key);
    struct json_span place;
    if (!end) {
        end = leaf_end(walker, at, &place);
        if (end)
            *key = field_key(fields, place);
    }
    return *key == KEY_UNHASHABLE ? 0 : end;
}

static inline size_t scan_field(const struct json_walker *walker, size_t at, enum event_field field,
                                struct field_reader *fields, struct event_row *row) {
    const char *text = walker->text;
    struct json_span ignored_place;
    value_key integer;
    size_t end;
    bool plain;
    switch (field) {
    case FIELD_TS:
        row->value_at[VALUE_TS] = at;
        end = scan_number(text, at, &row->ts);
        return end ? end : scan_text_number(walker, at, &row->ts);
    case FIELD_DUR:
        end = scan_number(text, at, &row->dur);
        return end ? end : scan_text_number(walker, at, &row->dur);
    case FIELD_NAME:
        return text[at] == '"' ? leaf_end(walker, at, &row->name) : 0;
    case FIELD_CATEGORY:
        return text[at] == '"' ? leaf_end(walker, at, &row->category) : 0;
    case FIELD_PHASE:
        plain = text[at] == '"' && text[at + 1] > PHASE_END && text[at + 1] < 0x7f && text[at + 1] != '"' &&
                text[at + 1] != '\\';
        row->phase = (uint8_t)text[at + 1];
        return plain && text[at + 1] >= ' ' && text[at + 2] == '"' ? at + 3 : 0;
    case FIELD_PID:
        row->value_at[VALUE_PID] = at;
        return scan_key(walker, at, fields, &row->pid);
    case FIELD_TID:
        return scan_key(walker, at, fields, &row->tid);
    case FIELD_RF:
        return scan_key(walker, at, fields, &row->rf);
    case FIELD_CORRELATION:
        row->value_at[VALUE_CORRELATION] = at;
        return scan_key(walker, at, fields, &row->correlation);
    case FIELD_STREAM:
        row->flags |= EVENT_STREAM_INTEGER;
        return scan_integer(text, at, &row->stream);
    case FIELD_DEVICE:
        end = scan_integer(text, at, &integer);
        row->device = end ? device_of_integer(integer) : DEVICE_OTHER;
        return end ? end : leaf_end(walker, at, &ignored_place);
    case FIELD_EXTERNAL:
        return scan_integer(text, at, &row->external);
    case FIELD_EVENT_INDEX:
        return scan_integer(text, at, &integer);
    case FIELD_WAIT_RECORD:
        row->value_at[VALUE_WAIT_RECORD] = at;
        return leaf_end(walker, at, &ignored_place);
    case FIELD_COLLECTIVE_NAME:
        row->flags |= is_text_of_bytes(text + at) ? EVENT_HAS_COLLECTIVE : 0;
        return leaf_end(walker, at, &ignored_place);
    case FIELD_ID:
        row->value_at[VALUE_ID] = at;
        row->flags |= text[at] == 'n' ? 0 : EVENT_HAS_ID;
        end = scan_integer(text, at, &row->id_key);
        return end ? end : scan_any(walker, at, &row->id);
    case FIELD_CONCRETE_INPUTS:
    case FIELD_INPUT_TYPES:
    case FIELD_INPUT_SHAPES:
    case FIELD_INPUT_STRIDES:
    case FIELD_GRID:
    case FIELD_BLOCK:
    case FIELD_REGISTERS:
    case FIELD_SHARED_MEMORY:
    case FIELD_OCCUPANCY:
        return scan_any(walker, at, &row->inputs[field - FIELD_CONCRETE_INPUTS]);
    case FIELD_ARGS: /* no object */
        return 0;
    default:
        return leaf_end(walker, at, &ignored_place);
    }
}

static inline uint16_t flag_if(uint64_t fields, uint64_t wanted, enum event_flag flag) {
    return fields & wanted ? (uint16_t)flag : 0;
}

/* Decodes the event at the walker and steps over it. False: unusual; then the walker has not moved, and *row is
 * undefined. */
static bool scan_event(struct json_walker *walker, const struct event_forms *forms, struct field_reader *fields,
                       struct event_row *row) {
    const struct json_walker local = *walker;
    const struct form *form = form_find(&forms->begin, local.text + local.at);
    size_t at = local.at;
    /* Prefetch the text of an event a few events ahead: the CPU itself prefetches only within a page. */
    for (size_t line = 0; line < 5; line++)
        __builtin_prefetch(local.text + at + 2048 + 64 * line);
    /* Reset all but the inputs, by words: an assignment may become a string instruction, which is slower. */
    _Static_assert(offsetof(struct event_row, inputs) % 8 == 0, "whole words");
    for (size_t i = 0; i < offsetof(struct event_row, inputs); i += 8)
        memcpy((char *)row + i, (const char *)&absent + i, 8);
    for (; form && !form->ends; form = form_find(form, local.text + at)) {
        at = scan_field(&local, at + form->length, (enum event_field)form->field, fields, row);
        if (!at)
            return false;
    }
    if (!form || form->repeats)
        return false;
    row->flags |= flag_if(form->fields, FIELD_BIT(FIELD_TS), EVENT_HAS_TS) |
                  flag_if(form->fields, FIELD_BIT(FIELD_DUR), EVENT_HAS_DUR) |
                  flag_if(form->fields, FIELD_BIT(FIELD_TID), EVENT_HAS_TID) |
                  flag_if(form->fields, FIELD_BIT(FIELD_NAME), EVENT_HAS_NAME) |
                  flag_if(form->fields, FIELD_BIT(FIELD_WAIT_STREAM) | FIELD_BIT(FIELD_WAIT_RECORD), EVENT_HAS_WAIT);
    row->lower_external = form->fields & FIELD_BIT(FIELD_LOWER_EXTERNAL);
    row->given = (uint16_t)(form->fields >> FIELD_CONCRETE_INPUTS);
    walk_to(walker, at + form->length);
    return true;
}

/* ---- Plain decoder ---- */

struct event_part {
    struct document_part part;
    struct device_events events;
    struct strings strings, inputs;
    struct string_cache string_cache;
    struct inputs_cache inputs_cache;
    struct event_forms learned;
    uint64_t n_dropped;     /* fields of the wrong type */
    uint64_t n_not_objects; /* elements of the array that are not objects */
    uint64_t n_lower_external;
    row_t bad_row; /* the first event with such a field, or ROW_NONE */
    enum event_field bad_field;
    size_t bad_at;
    uint32_t *string_map; /* to the string numbers of all parts */
    uint32_t *inputs_map;
};

static struct event_part *event_part(struct document_part *part) {
    return (struct event_part *)part;
}

/* Counts a field of the wrong type; join_parts() decides whether it is an error. */
static void count_wrong_type(struct event_part *part, enum event_field field, size_t at) {
    part->n_dropped++;
    if (part->bad_row != ROW_NONE)
        return;
    part->bad_row = part->part.n;
    part->bad_field = field;
    part->bad_at = at;
}

/* Adds `flag` to *flags if the event has the field. */
static struct number read_number(struct event_part *part, const struct event_spans *places, enum event_field field,
                                 enum event_flag flag, uint16_t *flags) {
    struct number number = number_integer(0);
    size_t at = places->field[field].at;
    if (at && !field_time(part->part.fields.source->bytes + at, &number))
        count_wrong_type(part, field, at);
    else if (at)
        *flags |= (uint16_t)flag;
    return number;
}

static value_key read_int(struct event_part *part, const struct event_spans *places, enum event_field field) {
    value_key key = -1;
    struct json_span place = places->field[field];
    if (place.at && !field_int(&part->part.fields, place, &key))
        count_wrong_type(part, field, place.at);
    return key;
}

static value_key read_key(struct event_part *part, const struct event_spans *places, enum event_field field,
                          value_key otherwise) {
    struct json_span place = places->field[field];
    return place.at ? field_key(&part->part.fields, place) : otherwise;
}

/* The empty string if the field is absent, STRING_NONE if it is not a string. */
static uint32_t intern_string(struct event_part *part, struct json_span place) {
    if (!place.at)
        return strings_intern(&part->strings, "", 0);
    if (part->part.fields.source->bytes[place.at] != '"')
        return STRING_NONE;
    return cached_string_intern(&part->string_cache, &part->part.fields, place, &part->strings);
}

/* Whether at most 18 digits are at `text`, and after them no other byte of a number. */
static bool is_small_integer(const char *text) {
    size_t n = 0;
    while (n < 19 && text[n] >= '0' && text[n] <= '9')
        n++;
    return n > 0 && n < 19 && text[n] != '.' && text[n] != 'e' && text[n] != 'E';
}

static struct event_row read_event(struct event_part *part, const struct event_spans *places) {
    const char *text = part->part.fields.source->bytes;
    const struct json_span *field = places->field;
    size_t args = field[FIELD_ARGS].at, id = field[FIELD_ID].at, name = field[FIELD_NAME].at;
    size_t stream = field[FIELD_STREAM].at, phase = field[FIELD_PHASE].at, device = field[FIELD_DEVICE].at;
    size_t collective = field[FIELD_COLLECTIVE_NAME].at;
    bool waits = field[FIELD_WAIT_STREAM].at || field[FIELD_WAIT_RECORD].at;
    struct event_row row = {
        .flags = (uint16_t)((id && text[id] != 'n' ? EVENT_HAS_ID : 0) |
                            (name && text[name] != '"' ? EVENT_NAME_NO_STRING : 0) |
                            (stream && is_small_integer(text + stream) ? EVENT_STREAM_INTEGER : 0) |
                            (name ? EVENT_HAS_NAME : 0) | (field[FIELD_TID].at ? EVENT_HAS_TID : 0) |
                            (waits ? EVENT_HAS_WAIT : 0) |
                            (collective && is_text_of_bytes(text + collective) ? EVENT_HAS_COLLECTIVE : 0)),
        .category = field[FIELD_CATEGORY],
        .id = field[FIELD_ID],
        .id_key = KEY_ABSENT,
        .lower_external = field[FIELD_LOWER_EXTERNAL].at,
        .given = (uint16_t)inputs_given(&field[FIELD_CONCRETE_INPUTS]),
        .device = DEVICE_ABSENT,
    };
    memcpy(row.inputs, &field[FIELD_CONCRETE_INPUTS], sizeof row.inputs);
    for (int value = 0; value < EVENT_N_VALUES; value++)
        row.value_at[value] = field[event_value_fields[value]].at;
    if (!(row.flags & EVENT_NAME_NO_STRING))
        row.name = field[FIELD_NAME];
    if (args && text[args] != '{')
        count_wrong_type(part, FIELD_ARGS, args);
    row.ts = read_number(part, places, FIELD_TS, EVENT_HAS_TS, &row.flags);
    row.dur = read_number(part, places, FIELD_DUR, EVENT_HAS_DUR, &row.flags);
    row.pid = read_key(part, places, FIELD_PID, KEY_ABSENT);
    row.tid = read_key(part, places, FIELD_TID, 0);
    if (row.tid == KEY_UNHASHABLE) {
        count_wrong_type(part, FIELD_TID, field[FIELD_TID].at);
        row.tid = 0;
    }
    row.external = read_int(part, places, FIELD_EXTERNAL);
    read_int(part, places, FIELD_EVENT_INDEX); /* only its type matters */
    row.rf = read_key(part, places, FIELD_RF, KEY_NULL);
    row.correlation = read_key(part, places, FIELD_CORRELATION, -1);
    row.stream = read_key(part, places, FIELD_STREAM, KEY_ABSENT);
    int64_t integer;
    if (device)
        row.device = field_integer(text + device, &integer) ? device_of_integer(integer) : DEVICE_OTHER;
    if (phase) {
        bool plain = text[phase] == '"' && field[FIELD_PHASE].end == phase + 2 && text[phase + 1] > PHASE_END &&
                     text[phase + 1] < 0x7f;
        row.phase = plain ? (uint8_t)text[phase + 1] : PHASE_OTHER;
    }
    return row;
}

/* ---- The parts of the array ---- */

/* Whether inputs are read ahead. */
static bool reads_inputs(const struct device_events *events) {
    return events->prefetch_columns & (PREFETCH_ARGUMENTS | PREFETCH_LAUNCHES);
}

/* Appends the event that begins at `text` to the part's columns. */
static void append_event(struct event_part *part, const struct event_row *values, size_t text) {
    struct device_events *events = &part->events;
    row_t row = part->part.n++;
    number_set(events->ts, row, values->ts);
    number_set(events->dur, row, values->dur);
    events->name[row] = intern_string(part, values->name);
    events->category[row] = intern_string(part, values->category);
    events->pid[row] = values->pid;
    events->tid[row] = values->tid;
    events->external[row] = values->external;
    events->rf[row] = values->rf;
    events->correlation[row] = values->correlation;
    events->stream[row] = values->stream;
    events->device[row] = values->device;
    events->text[row] = text;
    events->phase[row] = values->phase;
    events->flags[row] = values->flags;
    for (int value = 0; value < EVENT_N_VALUES && events->keep_offsets; value++) {
        size_t at = values->value_at[value], from_text = at ? at - text : 0;
        events->places[row].at[value] = (uint16_t)MIN(from_text, VALUE_FAR);
    }
    if (events->prefetch_columns & PREFETCH_IDS)
        events->id[row] = values->id.at ? field_key(&part->part.fields, values->id) : values->id_key;
    if (events->prefetch_columns & PREFETCH_ARGUMENTS)
        events->arguments[row] = cached_inputs_intern(&part->inputs_cache, &part->part.fields, values->inputs,
                                                      values->given & GIVEN_TO_OPERATORS, &part->inputs);
    if (events->prefetch_columns & PREFETCH_LAUNCHES)
        events->launches[row] =
            inputs_intern(&part->part.fields, values->inputs, values->given & GIVEN_TO_LAUNCHES, &part->inputs);
    part->n_lower_external += values->lower_external;
}

static bool part_begin(struct document_part *of) {
    struct event_part *part = event_part(of);
    const struct device_events *events = &((const struct sutra_device_trace *)of->trace)->events;
    part->bad_row = ROW_NONE;
    part->events.keep_offsets = events->keep_offsets;
    part->events.prefetch_columns = events->prefetch_columns;
    return strings_init(&part->strings) && (!reads_inputs(events) || strings_init(&part->inputs));
}

static void read_element(struct document_part *of, struct json_walker *walker) {
    struct event_part *part = event_part(of);
    struct event_spans places = {0};
    struct event_row row;
    size_t at = walker->at;
    bool object = walk_char(walker) == '{';
    if (object && scan_event(walker, &part->learned, &of->fields, &row)) {
        if (document_row(of, at))
            append_event(part, &row, at);
        return;
    }
    if (object) {
        walk_event(walker, &part->learned, &places);
    } else {
        walk_value(walker);
        if (((const struct sutra_device_trace *)of->trace)->document.is_array)
            part->n_not_objects++;
        else
            count_wrong_type(part, FIELD_NONE, at);
    }
    if (walker->expected || !document_row(of, at))
        return;
    row = read_event(part, &places);
    append_event(part, &row, at);
}

static void map_inputs(uint32_t *inputs, row_t n, const uint32_t *map) {
    for (row_t i = 0; i < n; i++)
        if (inputs[i] != STRING_NONE)
            inputs[i] = map[inputs[i]];
}

/* Replaces the part's string numbers by the numbers in the joined tables. */
static void part_finish(struct document_part *of) {
    struct event_part *part = event_part(of);
    struct device_events *events = &part->events;
    if (part->inputs_map && events->arguments)
        map_inputs(events->arguments, of->n, part->inputs_map);
    if (part->inputs_map && events->launches)
        map_inputs(events->launches, of->n, part->inputs_map);
    if (!part->string_map)
        return; /* the first part: its numbers are unchanged */
    for (row_t i = 0; i < of->n; i++) {
        events->name[i] = part->string_map[events->name[i]];
        if (events->category[i] != STRING_NONE)
            events->category[i] = part->string_map[events->category[i]];
    }
}

static void part_free(struct document_part *of) {
    struct event_part *part = event_part(of);
    strings_free(&part->strings);
    strings_free(&part->inputs);
    event_forms_free(&part->learned);
    free(part->string_map);
    free(part->inputs_map);
    part->string_map = part->inputs_map = NULL;
}

static const struct document_reader device_reader = {
    .array = "traceEvents",
    .kind = "device trace",
    .other_array = "nodes",
    .other_kind = "host trace",
    .too_many = "events: cut the trace",
    .read_stage = "read device trace",
    .join_stage = "join device trace",
    .part_size = sizeof(struct event_part),
    .columns_at = offsetof(struct event_part, events),
    .bare_array = true,
    .begin = part_begin,
    .element = read_element,
    .finish = part_finish,
    .free = part_free,
};

/* ---- The trace ---- */

/* The error about the first field of the wrong type. */
static enum sutra_status type_error(const struct event_part *part, struct sutra_error *error) {
    const struct source *source = part->part.fields.source;
    row_t row = part->part.first_row + part->bad_row;
    if (part->bad_field == FIELD_NONE)
        return source_error(source, error, part->bad_at, "event %u is not an object (--lenient treats it as empty)",
                            row);
    bool is_time = part->bad_field == FIELD_TS || part->bad_field == FIELD_DUR;
    if (is_time && source->bytes[part->bad_at] == 'N')
        return source_error(source, error, part->bad_at,
                            "event %u: field %s: NaN is not a time (--lenient ignores such fields)", row,
                            event_field_name(part->bad_field));
    const char *expected = part->bad_field == FIELD_ARGS  ? "an object"
                           : part->bad_field == FIELD_TID ? "a number or a string"
                           : is_time                      ? "a number below 2^62"
                                                          : "an integer";
    return source_error(source, error, part->bad_at,
                        "event %u: field %s: %s was expected (--lenient ignores such fields)", row,
                        event_field_name(part->bad_field), expected);
}

/* The first part's strings keep their numbers. */
static bool join_strings(struct strings *all, struct strings *own, uint32_t **map) {
    if (all->n == 0) {
        strings_free(all);
        *all = *own;
        *own = (struct strings){0};
        return true;
    }
    *map = strings_join(all, own);
    return *map;
}

/* Reads the elements, joins the strings of the parts, and counts the fields of the wrong type, an error unless the
 * context is lenient. The columns become the trace's. */
static enum sutra_status read_parts(struct document_parts *parts, struct sutra_error *error) {
    struct sutra_device_trace *trace = parts->trace;
    struct document_part *all;
    TRY(document_walk(parts, error)); /* read_element() for each event */
    for (size_t i = 0; i < parts->n; i++) {
        struct event_part *part = document_part_at(parts, i);
        if (part->part.n == 0)
            continue;
        if (!join_strings(&trace->strings, &part->strings, &part->string_map) ||
            (reads_inputs(&trace->events) &&
             !join_strings(event_columns_table(trace->columns), &part->inputs, &part->inputs_map)))
            return error_memory(error);
        trace->n_fields_dropped += part->n_dropped;
        trace->n_lower_external += part->n_lower_external;
        trace->n_not_objects += part->n_not_objects;
        if (part->bad_row != ROW_NONE && !parts->context->options.lenient)
            return type_error(part, error);
    }
    TRY(document_join(parts, &all, error));
    struct device_events *events = &trace->events, *columns = &event_part(all)->events;
    columns->keep_offsets = events->keep_offsets;
    columns->prefetch_columns = events->prefetch_columns;
    columns->n = all->n;
    columns->capacity = all->capacity;
    *events = *columns;
    events->usable_dur = events->dur;
    return SUTRA_OK;
}

static enum sutra_status read_rows(struct sutra_device_trace *trace, struct sutra_context *context,
                                   const struct source_input *input, struct sutra_error *error) {
    struct document_reader reader = device_reader;
    struct column_form forms[DEVICE_EVENT_N_COLUMNS];
    reader.columns = forms;
    reader.n_columns = device_event_forms(context->keep_offsets, context->prefetch_columns, forms);
    struct document_parts parts = {.document = &trace->document, .context = context, .reader = &reader, .trace = trace};
    struct source *source = &trace->document.source;
    enum sutra_status status =
        context->report ? nsys_shared_read(context->report, source, context, "open device trace", input, error)
                        : source_read(source, context, "open device trace", input, error);
    if (!status && is_sqlite(source->bytes, source->size)) /* a profiler's report: its text in Kineto's format */
        status = nsys_source_convert(source, context, &(struct nsys_options){.rank = source->rank}, error);
    if (!status)
        status = read_parts(&parts, error);
    document_end(&parts);
    return status;
}

/* ---- Begin and end events ----
 *
 *     B  ts 10 ------------------------ E  ts 90           X  ts 10, dur 80      and two rows of PHASE_END
 *        B  ts 20 ------- E  ts 50                   ->    X  ts 20, dur 30
 *
 * Each thread (pid, tid) is a stack, in file order, or in the order of the times if the times of any thread descend.
 * O(n); without such events, only a search for the phases.
 */

/* Doubles of microseconds from here on are coarser than nanoseconds. */
#define US_COARSE 0x1p43

/* The start of an event as nanoseconds, from its text; false: not a number. */
static bool start_from_text(const struct sutra_device_trace *trace, row_t event, int64_t *ns) {
    struct event_spans places;
    size_t length;
    event_find(trace, event, NULL, &places);
    const char *text = trace->document.source.bytes + places.field[FIELD_TS].at;
    text += *text == '"';
    return number_scan(text, &length) != NUMBER_FORM_BAD && decimal_ns(text, length, ns);
}

/* Sets the duration of an event that ends at the start of row `last`, or, if this is ROW_NONE, at `end`. */
static void set_duration(struct sutra_device_trace *trace, row_t event, row_t last, struct number end) {
    struct device_events *events = &trace->events;
    struct number start = number_at(events->ts, event), dur = number_subtract(end, start);
    int64_t from, to, ns;
    if (last != ROW_NONE && number_is_double(dur) && fabs(number_as_double(end)) >= US_COARSE &&
        start_from_text(trace, event, &from) && start_from_text(trace, last, &to) &&
        !__builtin_sub_overflow(to, from, &ns))
        dur = number_double((double)ns / NS_PER_US);
    events->flags[event] &= (uint16_t)~EVENT_HAS_DUR;
    number_set(events->dur, event, number_integer(0));
    if (number_is_double(dur) ? isfinite(number_as_double(dur)) : (int64_t)dur.bits < NUMBER_INTEGER_LIMIT) {
        number_set(events->dur, event, dur);
        events->flags[event] |= EVENT_HAS_DUR;
    }
}

/* The last start or end of an event; E events without a B event have no start. */
static struct number trace_end(const struct device_events *events) {
    struct number last = number_double(-INFINITY);
    for (row_t event = 0; event < events->n; event++) {
        if (!(events->flags[event] & EVENT_HAS_TS) || events->phase[event] == 'M')
            continue;
        struct number end = number_at(events->ts, event);
        if (events->flags[event] & EVENT_HAS_DUR)
            end = number_add(end, number_at(events->dur, event));
        if (number_compare(end, last) > 0)
            last = end;
    }
    return last;
}

static void report_pairs(struct sutra_context *context, const char *file, uint64_t n_begins, uint64_t n_open,
                         uint64_t n_unpaired_ends) {
    struct buffer text = {0};
    if (!n_open && !n_unpaired_ends)
        buffer_format(&text, "%s: read as complete events",
                      counted_text(n_begins, "pair of a B and an E event", "pairs of B and E events").text);
    if (n_open)
        buffer_format(&text, "%s of %s %s with the trace", count_text(n_open).text,
                      counted_text(n_begins, "B event", "B events").text,
                      n_open == 1 ? "has no E event: it ends" : "have no E event: they end");
    if (n_unpaired_ends)
        buffer_format(&text, "%s%s no B event: skipped", n_open ? "; " : "",
                      counted_text(n_unpaired_ends, "E event has", "E events have").text);
    if (!text.failed)
        context_warn(context, "%s: %s", file, text.bytes);
    buffer_free(&text);
}

static enum sutra_status pair_begin_and_end(struct sutra_context *context, struct sutra_device_trace *trace,
                                            struct sutra_error *error) {
    struct device_events *events = &trace->events;
    const struct engine *engine = &context->choice.cpu;
    const row_t n = events->n;
    if (n == 0 || (!memchr(events->phase, 'B', n) && !memchr(events->phase, 'E', n)))
        return SUTRA_OK;
    const uint32_t empty = strings_intern(&trace->strings, "", 0);
    struct tuples threads = {0};
    struct arena arena = {0};
    row_t *begin = events->begin = column_new(n, sizeof *begin);
    uint32_t *thread = arena_alloc(&arena, n, sizeof *thread);
    row_t *top = rows_none(&arena, n); /* of each thread: the last event, then the open one */
    row_t *order = arena_alloc(&arena, n, sizeof *order);
    enum sutra_status status = begin && empty != STRING_NONE ? arena_status(&arena, error) : error_memory(error);
    bool is_ascending = true;
    for (row_t event = 0; event < n && !status; event++) {
        begin[event] = ROW_NONE;
        order[event] = event;
        if (events->phase[event] != 'B' && events->phase[event] != 'E')
            continue;
        thread[event] = tuples_number(&threads, (struct tuple){{events->pid[event], events->tid[event]}});
        if (thread[event] == TUPLE_NONE) {
            status = error_memory(error);
        } else if (events->flags[event] & EVENT_HAS_TS) {
            row_t *last = &top[thread[event]];
            is_ascending &=
                *last == ROW_NONE || number_compare(number_at(events->ts, *last), number_at(events->ts, event)) <= 0;
            *last = event;
        }
    }
    if (!status && !is_ascending)
        status = engine->sort_numbers(engine->state, &(struct sort_numbers_step){events->ts, n, order}, error);
    for (uint32_t i = 0; i < threads.n && !status; i++)
        top[i] = ROW_NONE;

    /* Until it is paired, begin[] of a B event is the open event below it. */
    uint64_t n_begins = 0, n_open = 0, n_unpaired_ends = 0;
    for (row_t i = 0; i < n && !status; i++) {
        const row_t event = order[i];
        const uint8_t phase = events->phase[event];
        if (phase == 'B') {
            begin[event] = top[thread[event]];
            top[thread[event]] = event;
            events->phase[event] = 'X';
            n_begins++;
        } else if (phase == 'E') {
            const row_t opened = begin[event] = top[thread[event]];
            n_unpaired_ends += opened == ROW_NONE;
            if (opened != ROW_NONE) {
                top[thread[event]] = begin[opened];
                begin[opened] = ROW_NONE;
                if (events->flags[opened] & events->flags[event] & EVENT_HAS_TS)
                    set_duration(trace, opened, event, number_at(events->ts, event));
            }
            events->phase[event] = PHASE_END;
            events->name[event] = events->category[event] = empty;
            events->external[event] = events->correlation[event] = -1;
            events->rf[event] = KEY_NULL;
            events->stream[event] = KEY_ABSENT;
            events->device[event] = DEVICE_ABSENT;
            events->flags[event] &= opened == ROW_NONE ? EVENT_HAS_TID : EVENT_HAS_TID | EVENT_HAS_TS;
        }
    }
    struct number end = number_integer(0);
    for (uint32_t i = 0; i < threads.n && !status; i++)
        for (row_t event = top[i], below; event != ROW_NONE; event = below) {
            end = n_open++ ? end : trace_end(events);
            below = begin[event];
            begin[event] = ROW_NONE;
            if (events->flags[event] & EVENT_HAS_TS)
                set_duration(trace, event, ROW_NONE, end);
        }
    tuples_free(&threads);
    arena_free(&arena);
    if (!status)
        report_pairs(context, trace->document.source.name, n_begins, n_open, n_unpaired_ends);
    return status;
}

/* ---- Ascend ----
 *
 *     M  process_name   pid 8   args.name "Ascend Hardware"
 *     X  aclnnMm_MatMul pid 8   tid 3, without "cat"          ->   category "npu", stream 3
 *
 * O(metadata events), and O(events) if there is such a process.
 */

/* Collects the pids of the hardware. False: out of memory. */
static bool find_npu_processes(const struct sutra_device_trace *trace, struct pair_table *pids, bool *found) {
    const struct device_events *events = &trace->events;
    const uint8_t *phase = events->phase, *end = phase + events->n;
    uint32_t name = strings_find(&trace->strings, "process_name", strlen("process_name"));
    for (; name != STRING_NONE && phase < end && (phase = memchr(phase, 'M', (size_t)(end - phase))); phase++) {
        row_t event = (row_t)(phase - events->phase);
        if (events->name[event] != name)
            continue;
        struct json_span args = document_member_of(&trace->document, events->text[event], "args");
        struct json_span label = args.at ? document_member_of(&trace->document, args.at, "name") : args;
        if (!label.at || trace->document.source.bytes[label.at] != '"' ||
            !place_is(&trace->document.source, label, "Ascend Hardware"))
            continue;
        *found = true;
        if (!pair_table_note(pids, (uint64_t)events->pid[event], 0, 1))
            return false;
    }
    return true;
}

static enum sutra_status mark_npu_events(struct sutra_device_trace *trace, struct sutra_error *error) {
    struct device_events *events = &trace->events;
    struct pair_table pids;
    bool found = false, ok = pair_table_init(&pids) && find_npu_processes(trace, &pids, &found);
    uint32_t none = strings_find(&trace->strings, "", 0);
    uint32_t npu = ok && found ? strings_intern(&trace->strings, "npu", 3) : STRING_NONE;
    ok = ok && (!found || npu != STRING_NONE);
    for (row_t event = 0; event < events->n && ok && found; event++) {
        if (events->category[event] != none || events->phase[event] != 'X' ||
            pair_table_find(&pids, (uint64_t)events->pid[event], 0) == PAIR_NONE)
            continue;
        events->category[event] = npu;
        if (events->stream[event] == KEY_ABSENT)
            events->stream[event] = events->tid[event];
    }
    pair_table_free(&pids);
    return ok ? SUTRA_OK : error_memory(error);
}

static enum sutra_status fill_trace(struct sutra_device_trace *trace, struct sutra_context *context,
                                    const struct source_input *input, struct sutra_error *error) {
    trace->events.keep_offsets = context->keep_offsets;
    trace->events.prefetch_columns = context->prefetch_columns;
    trace->columns = event_columns_new();
    TRY_ALLOC(trace->columns && strings_init(&trace->strings), error);
    TRY(read_rows(trace, context, input, error));
    TRY_ALLOC(event_columns_keep(trace->columns, &trace->events), error);
    TRY(pair_begin_and_end(context, trace, error));
    TRY(mark_npu_events(trace, error));
    if (trace->n_not_objects && trace->n_not_objects == trace->events.n)
        return error_file(error, SUTRA_DATA, trace->document.source.name,
                          "this is not a device trace: no element of the array is an object");
    if (trace->n_not_objects)
        context_warn(
            context, "%s: %s of the array: skipped", trace->document.source.name,
            counted_text(trace->n_not_objects, "element that is no object", "elements that are no objects").text);
    return SUTRA_OK;
}

enum sutra_status device_trace_read(struct sutra_context *context, const struct source_input *input,
                                    struct sutra_device_trace **trace, struct sutra_error *error) {
    struct sutra_device_trace *made = calloc(1, sizeof *made);
    TRY_ALLOC(made, error);
    enum sutra_status status = fill_trace(made, context, input, error);
    if (status)
        sutra_device_trace_free(made);
    else
        *trace = made;
    return status;
}

/* ---- Access to events ---- */

void event_find(const struct sutra_device_trace *trace, row_t event, struct event_forms *learned,
                struct event_spans *places) {
    const struct document *document = &trace->document;
    struct json_walker walker = walk_from(&document->source, trace->events.text[event]);
    *places = (struct event_spans){0};
    if (walk_char(&walker) == '{')
        walk_event(&walker, learned, places);
}

void events_passed(const struct sutra_device_trace *trace, row_t first, row_t last) {
    if (first < last)
        source_return_pages(&trace->document.source, trace->events.text[first], trace->events.text[last]);
}

enum sutra_status event_error(const struct sutra_device_trace *trace, row_t event, const char *field,
                              const char *expected, struct sutra_error *error) {
    return source_error(&trace->document.source, error, trace->events.text[event],
                        "event %u: field %s: %s was expected (--lenient ignores such fields)", event, field, expected);
}

void device_trace_unref(struct sutra_device_trace *trace) {
    if (!refcount_release(&trace->holders))
        return;
    device_events_free(&trace->events);
    free(trace->validity);
    free(trace->processes);
    strings_free(&trace->strings);
    free(trace->categories);
    free(trace);
}

void sutra_device_trace_free(struct sutra_device_trace *trace) {
    if (!trace)
        return;
    document_free(&trace->document);
    event_columns_free(trace->columns);
    device_trace_unref(trace);
}

bool device_trace_is_empty(const struct sutra_device_trace *trace) {
    row_t event = 0;
    while (event < trace->events.n && trace->events.phase[event] == 'M')
        event++;
    return event == trace->events.n;
}

enum sutra_status device_trace_check_events(const struct sutra_device_trace *trace, struct sutra_error *error) {
    const struct device_events *events = &trace->events;
    const uint32_t none = strings_find(&trace->strings, "", 0);
    row_t n = 0;
    if (device_trace_is_empty(trace))
        return error_file(error, SUTRA_DATA, trace->document.source.name,
                          "the trace has no events: record at least one step between start() and stop() of "
                          "torch.profiler, and export the trace after stop()");
    for (row_t event = 0; event < events->n; event++) {
        uint8_t phase = events->phase[event];
        if (phase == PHASE_END || (phase && strchr("MstfiIC", phase))) /* of Kineto's own, some have no category */
            continue;
        if (events->category[event] != none && events->category[event] != STRING_NONE)
            return SUTRA_OK;
        n++;
    }
    return n ? error_file(error, SUTRA_DATA, trace->document.source.name,
                          "%s without a category: not a trace of PyTorch's profiler; use the JSON file of "
                          "torch.profiler",
                          counted_text(n, "event", "events").text)
             : SUTRA_OK;
}
