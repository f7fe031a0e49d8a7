/*
 * device_trace.c - reading a device trace: "traceEvents" into columns.
 *
 * Each part of the array fills columns and a string table of its own; then the tables are joined in file order, so that
 * rows and string numbers do not depend on the number of parts.
 */
#include "read/device_trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "columns/column.h"
#include "read/fields.h"

/* One part of the array. */
struct event_part {
    struct device_events events;
    struct strings strings;
    struct field_reader reader;
    struct events_learned learned;
    size_t size;        /* of its text, about */
    uint64_t n_dropped; /* fields of a wrong type */
    uint64_t n_lower_external;
    row_t bad_row;        /* the first event that has one, or ROW_NONE */
    enum event_field bad; /* which field */
    size_t bad_at;        /* and where it stands */
    row_t first_row;      /* of this part in the joined table */
    uint32_t *string_map; /* its string numbers in the joined table */
    struct sutra_device_trace *trace;
};

struct event_parts {
    struct sutra_context *context;
    struct sutra_device_trace *trace;
    struct event_part *list;
    size_t n;
};

static void free_parts(struct event_parts *parts) {
    for (size_t i = 0; i < parts->n; i++) {
        device_events_free(&parts->list[i].events);
        strings_free(&parts->list[i].strings);
        event_forms_free(&parts->list[i].learned.forms);
        buffer_free(&parts->list[i].reader.scratch);
        free(parts->list[i].string_map);
    }
    free(parts->list);
    parts->list = NULL;
    parts->n = 0;
}

static enum sutra_status begin_parts(void *arg, size_t n, struct sutra_error *error) {
    struct event_parts *parts = arg;
    free_parts(parts);
    parts->list = calloc(n, sizeof *parts->list);
    if (!parts->list)
        return error_memory(error);
    parts->n = n;
    for (size_t i = 0; i < n; i++) {
        struct event_part *part = &parts->list[i];
        part->bad_row = ROW_NONE;
        part->reader =
            (struct field_reader){.source = &parts->trace->document.source, .values = &parts->context->values};
        part->size = parts->trace->document.source.size / n;
        part->reader.failed = !strings_init(&part->strings);
    }
    return SUTRA_OK;
}

/* Notes a field of a wrong type; whether that is an error is decided when all parts are there. */
static void wrong_type(struct event_part *part, enum event_field field, size_t at) {
    part->n_dropped++;
    if (part->bad_row != ROW_NONE)
        return;
    part->bad_row = part->events.n;
    part->bad = field;
    part->bad_at = at;
}

/* Adds `flag` to *flags if the event has the field. */
static struct number read_number(struct event_part *part, const struct event_places *places, enum event_field field,
                                 enum event_flag flag, uint8_t *flags) {
    struct number number = number_integer(0);
    size_t at = places->field[field].at;
    if (at && !field_number(part->reader.source->bytes + at, &number))
        wrong_type(part, field, at);
    else if (at)
        *flags |= (uint8_t)flag;
    return number;
}

static value_key read_int(struct event_part *part, const struct event_places *places, enum event_field field) {
    value_key key = -1;
    struct json_place place = places->field[field];
    if (place.at && !field_int(&part->reader, place, &key))
        wrong_type(part, field, place.at);
    return key;
}

static value_key read_key(struct event_part *part, const struct event_places *places, enum event_field field,
                          value_key absent) {
    struct json_place place = places->field[field];
    return place.at ? field_key(&part->reader, place) : absent;
}

static value_key read_tid(struct event_part *part, const struct event_places *places) {
    value_key tid = read_key(part, places, FIELD_TID, 0);
    if (tid != KEY_UNHASHABLE)
        return tid;
    wrong_type(part, FIELD_TID, places->field[FIELD_TID].at);
    return 0;
}

/* The empty string if the field is absent, STRING_NONE if it is no string. */
static uint32_t read_string(struct event_part *part, struct json_place place) {
    if (!place.at)
        return strings_intern(&part->strings, "", 0);
    if (part->reader.source->bytes[place.at] != '"')
        return STRING_NONE;
    return field_intern(&part->reader, place, &part->strings);
}

static uint8_t read_phase(const struct event_part *part, struct json_place place) {
    const char *text = part->reader.source->bytes + place.at;
    if (!place.at)
        return 0;
    bool plain = *text == '"' && place.end == place.at + 2 && text[1] > PHASE_OTHER && text[1] < 0x7f;
    return plain ? (uint8_t)text[1] : PHASE_OTHER;
}

/* Up to 18 digits and nothing behind them that belongs to the number. */
static bool is_small_integer(const char *text) {
    size_t n = 0;
    while (n < 19 && text[n] >= '0' && text[n] <= '9')
        n++;
    return n > 0 && n < 19 && text[n] != '.' && text[n] != 'e' && text[n] != 'E';
}

static uint8_t read_flags(const struct event_part *part, const struct event_places *places) {
    const char *text = part->reader.source->bytes;
    size_t id = places->field[FIELD_ID].at, name = places->field[FIELD_NAME].at;
    size_t stream = places->field[FIELD_STREAM].at;
    return (uint8_t)((id && text[id] != 'n' ? EVENT_HAS_ID : 0) |
                     (name && text[name] != '"' ? EVENT_NAME_NO_STRING : 0) |
                     (stream && is_small_integer(text + stream) ? EVENT_STREAM_INTEGER : 0) |
                     (name ? EVENT_HAS_NAME : 0) | (places->field[FIELD_TID].at ? EVENT_HAS_TID : 0) |
                     (places->field[FIELD_WAIT_STREAM].at || places->field[FIELD_WAIT_RECORD].at ? EVENT_HAS_WAIT : 0));
}

/* Appends the event that begins at `text` to the part's columns. */
static void append_event(struct event_part *part, const struct event_places *places, size_t text) {
    struct device_events *events = &part->events;
    row_t row = events->n;
    size_t args = places->field[FIELD_ARGS].at;
    if (args && part->reader.source->bytes[args] != '{')
        wrong_type(part, FIELD_ARGS, args);
    uint8_t flags = read_flags(part, places);
    number_put(events->ts, row, read_number(part, places, FIELD_TS, EVENT_HAS_TS, &flags));
    number_put(events->dur, row, read_number(part, places, FIELD_DUR, EVENT_HAS_DUR, &flags));
    struct json_place name = places->field[FIELD_NAME];
    if (flags & EVENT_NAME_NO_STRING)
        name.at = 0;
    events->name[row] = read_string(part, name);
    events->category[row] = read_string(part, places->field[FIELD_CATEGORY]);
    events->pid[row] = read_key(part, places, FIELD_PID, KEY_ABSENT);
    events->tid[row] = read_tid(part, places);
    events->external[row] = read_int(part, places, FIELD_EXTERNAL);
    part->n_lower_external += places->field[FIELD_LOWER_EXTERNAL].at != 0;
    read_int(part, places, FIELD_EVENT_INDEX); /* only its type matters */
    events->rf[row] = read_key(part, places, FIELD_RF, KEY_NULL);
    events->correlation[row] = read_key(part, places, FIELD_CORRELATION, -1);
    events->stream[row] = read_key(part, places, FIELD_STREAM, KEY_ABSENT);
    events->text[row] = text;
    events->phase[row] = read_phase(part, places->field[FIELD_PHASE]);
    events->flags[row] = flags;
    events->n++;
}

/* Room for the event at byte `at`. */
static bool make_room(struct event_part *part, size_t at) {
    struct device_events *events = &part->events;
    if (events->n < events->capacity)
        return true;
    uint64_t n_bytes = events->n ? at - events->text[0] : 0;
    uint64_t capacity = capacity_wanted(events->capacity, n_bytes, part->size);
    if (capacity > ROW_LIMIT)
        capacity = ROW_LIMIT;
    return events->n < capacity && device_events_reserve(events, (row_t)capacity);
}

static void read_element(void *arg, size_t number, struct json_walker *walker) {
    struct event_part *part = &((struct event_parts *)arg)->list[number];
    struct event_places places;
    size_t at = walker->at;
    if (walk_char(walker) == '{') {
        walk_event(walker, &part->learned, &places);
    } else {
        places = (struct event_places){0};
        walk_value(walker);
        wrong_type(part, FIELD_NONE, at);
    }
    if (walker->expected)
        return;
    if (part->reader.failed || !make_room(part, at)) {
        part->reader.failed = true;
        return;
    }
    append_event(part, &places, at);
}

static void end_parts(void *arg, size_t n) {
    struct event_parts *parts = arg;
    for (size_t i = n; i < parts->n; i++)
        parts->list[i].events.n = 0;
}

/* Numbers the rows of all parts, and their strings, in file order. */
static enum sutra_status number_parts(struct event_parts *parts, struct sutra_error *error) {
    uint64_t n = 0;
    for (size_t i = 0; i < parts->n; i++) {
        struct event_part *part = &parts->list[i];
        if (part->reader.failed)
            return error_memory(error);
        part->trace = parts->trace;
        part->first_row = (row_t)n;
        n += part->events.n;
        if (n > ROW_LIMIT)
            return error_file(error, SUTRA_DATA, parts->trace->document.source.name,
                              "more than %u events: cut the trace", ROW_LIMIT);
        if (part->events.n && !(part->string_map = strings_join(&parts->trace->strings, &part->strings)))
            return error_memory(error);
    }
    if (!device_events_reserve(&parts->trace->events, (row_t)n + 1))
        return error_memory(error);
    parts->trace->events.n = (row_t)n;
    return SUTRA_OK;
}

static void copy_part(void *arg, size_t number) {
    struct event_part *part = &((struct event_parts *)arg)->list[number];
    struct device_events *events = &part->events;
    for (row_t i = 0; i < events->n; i++) {
        events->name[i] = part->string_map[events->name[i]];
        if (events->category[i] != STRING_NONE)
            events->category[i] = part->string_map[events->category[i]];
    }
    device_events_copy(&part->trace->events, part->first_row, events);
    device_events_free(events);
}

/* The first field of a wrong type is an error, unless such fields are to be taken as absent. */
static enum sutra_status check_types(const struct event_parts *parts, struct sutra_error *error) {
    const struct source *source = &parts->trace->document.source;
    for (size_t i = 0; i < parts->n; i++) {
        const struct event_part *part = &parts->list[i];
        if (part->events.n == 0)
            continue;
        parts->trace->n_fields_dropped += part->n_dropped;
        parts->trace->n_lower_external += part->n_lower_external;
        if (part->bad_row == ROW_NONE || parts->context->options.lenient)
            continue;
        row_t row = part->first_row + part->bad_row;
        if (part->bad == FIELD_NONE)
            return source_error(source, error, part->bad_at,
                                "event %u is not an object (--lenient takes it as an empty one)", row);
        const char *expected = part->bad == FIELD_ARGS                           ? "an object"
                               : part->bad == FIELD_TID                          ? "a number or a string"
                               : part->bad == FIELD_TS || part->bad == FIELD_DUR ? "a number below 2^62"
                                                                                 : "an integer";
        return source_error(source, error, part->bad_at,
                            "event %u: field %s: %s was expected (--lenient takes such fields as absent)", row,
                            event_field_name(part->bad), expected);
    }
    return SUTRA_OK;
}

void event_find(const struct sutra_device_trace *trace, row_t event, struct events_learned *learned,
                struct event_places *places) {
    const struct document *document = &trace->document;
    struct json_walker walker = walk_from(&document->source, &document->index, trace->events.text[event]);
    *places = (struct event_places){0};
    if (walk_char(&walker) == '{')
        walk_event(&walker, learned, places);
}

struct json_place event_find_argument(const struct sutra_device_trace *trace, row_t event, const char *name) {
    struct event_places places;
    event_find(trace, event, NULL, &places);
    size_t at = places.field[FIELD_ARGS].at;
    return at ? document_member_of(&trace->document, at, name) : (struct json_place){0};
}

enum sutra_status event_error(const struct sutra_device_trace *trace, row_t event, const char *field,
                              const char *expected, struct sutra_error *error) {
    return source_error(&trace->document.source, error, trace->events.text[event],
                        "event %u: field %s: %s was expected (--lenient takes such fields as absent)", event, field,
                        expected);
}

static enum sutra_status read_events(struct event_parts *parts, struct sutra_error *error) {
    struct sutra_device_trace *trace = parts->trace;
    const struct document_reader reader = {.array = "traceEvents",
                                           .kind = "device trace",
                                           .other_array = "nodes",
                                           .other_kind = "host trace",
                                           .index_stage = "index device trace",
                                           .read_stage = "read device trace",
                                           .arg = parts,
                                           .begin = begin_parts,
                                           .element = read_element,
                                           .end = end_parts};
    enum sutra_status status = document_read(&trace->document, parts->context, &reader, error);
    if (!status)
        status = document_check_kind(&trace->document, &reader, error);
    stage_begin(parts->context, "join device trace", trace->document.source.size);
    if (!status)
        status = number_parts(parts, error);
    if (!status)
        status = check_types(parts, error);
    if (!status)
        pool_run(parts->context->pool, parts->n, copy_part, parts);
    return status;
}

/* Takes over an opened source, or frees everything. */
static enum sutra_status finish(struct sutra_context *context, struct sutra_device_trace *made,
                                enum sutra_status status, struct sutra_device_trace **trace,
                                struct sutra_error *error) {
    struct event_parts parts = {.context = context, .trace = made};
    made->columns = event_columns_new();
    if (!status && (!made->columns || !strings_init(&made->strings)))
        status = error_memory(error);
    if (!status)
        status = read_events(&parts, error);
    free_parts(&parts);
    stage_end(context);
    if (status)
        sutra_device_trace_free(made);
    else
        *trace = made;
    return status;
}

enum sutra_status sutra_device_trace_read(struct sutra_context *context, const char *path,
                                          struct sutra_device_trace **trace, struct sutra_error *error) {
    struct sutra_device_trace *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(error);
    stage_begin(context, "open device trace", 0);
    return finish(context, made, source_open(&made->document.source, path, error), trace, error);
}

enum sutra_status sutra_device_trace_parse(struct sutra_context *context, const char *name, const void *bytes,
                                           size_t size, struct sutra_device_trace **trace, struct sutra_error *error) {
    struct sutra_device_trace *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(error);
    return finish(context, made, source_copy(&made->document.source, name, bytes, size, error), trace, error);
}

void sutra_device_trace_free(struct sutra_device_trace *trace) {
    if (!trace)
        return;
    document_free(&trace->document);
    device_events_free(&trace->events);
    strings_free(&trace->strings);
    free(trace->categories);
    event_columns_free(trace->columns);
    free(trace);
}
