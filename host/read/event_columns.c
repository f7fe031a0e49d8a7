/*
 * event_columns.c - reading fields of chosen events into columns.
 *
 * The events that are new are listed first, in the order in which they were asked for, and cut into parts. Each part
 * has a table of strings of its own; joined in the order of the parts, numbers of strings do not depend on threads.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "columns/column.h"
#include "read/device_trace.h"
#include "read/document.h"
#include "read/event_columns.h"

/* A part learns the forms of events anew, so that few and large ones are best; some are handed out late. */
#define EVENTS_A_PART    4096
#define PARTS_PER_THREAD 16

/* One column, of which only what its form needs is there. */
struct kept_column {
    char *name;
    enum asked_form form;
    bool outside;
    bool whole;      /* all is known */
    uint64_t *known; /* else a bit by event */
    struct json_place *place;
    value_key *key;
    struct number_column number;
    uint32_t *string;
};

struct kept_columns {
    pthread_mutex_t mutex;
    struct kept_column *list;
    uint64_t n, capacity;
    struct strings strings;
};

/* A field of a question, and where its place is found. */
struct found_field {
    uint64_t column;        /* in the list */
    enum event_field field; /* FIELD_NONE: by name */
    size_t named;           /* its number among the names, then */
};

struct column_asking {
    const struct sutra_device_trace *trace;
    struct values *values;
    struct pool *pool;
    struct kept_column *list;
    struct found_field fields[ASK_MAX];
    size_t n_fields;
    struct named_fields named;
    bool strings;  /* whether some field is a string */
    row_t *events; /* those that are new */
    row_t n_events;
    struct asking_part *parts;
    size_t n_parts;
};

struct asking_part {
    struct field_reader reader;
    struct strings strings;
    uint32_t *string_map; /* their numbers among those of all parts */
};

/* ---- What is kept ---- */

struct kept_columns *event_columns_new(void) {
    struct kept_columns *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    pthread_mutex_init(&made->mutex, NULL);
    if (!strings_init(&made->strings)) {
        event_columns_free(made);
        return NULL;
    }
    return made;
}

static void column_free(struct kept_column *column) {
    free(column->name);
    free(column->known);
    free(column->place);
    free(column->key);
    numbers_free(&column->number);
    free(column->string);
}

void event_columns_free(struct kept_columns *columns) {
    if (!columns)
        return;
    for (uint64_t i = 0; i < columns->n; i++)
        column_free(&columns->list[i]);
    free(columns->list);
    strings_free(&columns->strings);
    pthread_mutex_destroy(&columns->mutex);
    free(columns);
}

void event_columns_forget(struct kept_columns *columns) {
    for (uint64_t i = 0; i < columns->n; i++)
        column_free(&columns->list[i]);
    columns->n = 0;
}

const struct strings *event_columns_strings(const struct sutra_device_trace *trace) {
    return &trace->columns->strings;
}

struct strings *event_columns_table(struct kept_columns *columns) {
    return &columns->strings;
}

static bool column_alloc(struct kept_column *column, size_t n) {
    column->known = column_new(n / 64 + 1, sizeof *column->known);
    switch (column->form) {
    case ASK_PLACE:
        return (column->place = column_new(n, sizeof *column->place)) && column->known;
    case ASK_KEY:
    case ASK_INT:
        return (column->key = column_new(n, sizeof *column->key)) && column->known;
    case ASK_NUMBER:
        return numbers_new(&column->number, n) && column->known;
    default:
        return (column->string = column_new(n, sizeof *column->string)) && column->known;
    }
}

/* The number of a field's column; that of columns where there is none. */
static uint64_t seek_column(const struct kept_columns *columns, const struct asked_field *field) {
    uint64_t at = 0;
    for (; at < columns->n; at++) {
        const struct kept_column *column = &columns->list[at];
        if (column->form == field->form && column->outside == field->outside && strcmp(column->name, field->name) == 0)
            break;
    }
    return at;
}

/* The column of a field, new if there is none; false: out of memory. */
static bool find_column(struct kept_columns *columns, const struct asked_field *field, size_t n_events,
                        uint64_t *found) {
    *found = seek_column(columns, field);
    if (*found < columns->n)
        return true;
    if (!column_grow(&columns->list, columns->n, &columns->capacity, sizeof *columns->list))
        return false;
    struct kept_column made = {.name = strdup(field->name), .form = field->form, .outside = field->outside};
    if (!column_alloc(&made, n_events) || !made.name) {
        column_free(&made);
        return false;
    }
    columns->list[columns->n++] = made;
    return true;
}

/* A new column of which all is known. False: out of memory; `made` is as it was. */
static bool keep_column(struct kept_columns *columns, struct kept_column made) {
    made.whole = true;
    made.name = strdup(made.name);
    if (!made.name || !column_grow(&columns->list, columns->n, &columns->capacity, sizeof *columns->list)) {
        free(made.name);
        return false;
    }
    columns->list[columns->n++] = made;
    return true;
}

bool event_columns_keep(struct kept_columns *columns, struct device_events *events) {
    struct kept_column id = {.name = "id", .form = ASK_KEY, .outside = true, .key = events->id};
    struct kept_column arguments = {
        .name = "args", .form = ASK_ARGUMENTS, .outside = true, .string = events->arguments};
    struct kept_column launches = {.name = "args", .form = ASK_LAUNCH, .outside = true, .string = events->launches};
    if ((events->ahead & AHEAD_IDS) && !keep_column(columns, id))
        return false;
    events->id = NULL;
    if ((events->ahead & AHEAD_ARGUMENTS) && !keep_column(columns, arguments))
        return false;
    events->arguments = NULL;
    if ((events->ahead & AHEAD_LAUNCHES) && !keep_column(columns, launches))
        return false;
    events->launches = NULL;
    events->ahead = AHEAD_NOTHING;
    return true;
}

/* ---- Which events are new ---- */

static bool is_known(const struct column_asking *asking, row_t event) {
    bool known = true;
    for (size_t i = 0; i < asking->n_fields; i++) {
        const struct kept_column *column = &asking->list[asking->fields[i].column];
        known &= column->whole || (column->known[event / 64] >> event % 64 & 1);
    }
    return known;
}

static bool all_is_known(const struct column_asking *asking) {
    bool known = true;
    for (size_t i = 0; i < asking->n_fields; i++)
        known &= asking->list[asking->fields[i].column].whole;
    return known;
}

static void set_known(struct column_asking *asking, row_t event, bool known) {
    for (size_t i = 0; i < asking->n_fields; i++) {
        const struct kept_column *column = &asking->list[asking->fields[i].column];
        uint64_t bit = (uint64_t)1 << event % 64;
        if (column->whole)
            continue;
        uint64_t *word = &column->known[event / 64];
        *word = known ? *word | bit : *word & ~bit;
    }
}

/* Lists them, and takes them as known from now on. */
static void list_new(struct column_asking *asking, const row_t *events, row_t n_events) {
    for (row_t i = 0; i < n_events; i++) {
        row_t event = events ? events[i] : i;
        if (event == ROW_NONE || is_known(asking, event))
            continue;
        set_known(asking, event, true);
        asking->events[asking->n_events++] = event;
    }
}

/* ---- Reading ---- */

/* Where the fields of an event stand. */
struct asked_places {
    struct event_places known;
    struct json_place named[NAMED_MAX];
};

static void find_places(const struct column_asking *asking, row_t event, struct event_forms *learned,
                        struct asked_places *places) {
    const struct sutra_device_trace *trace = asking->trace;
    struct json_walker walker = walk_from(&trace->document.source, trace->events.text[event]);
    *places = (struct asked_places){0};
    if (walk_char(&walker) == '{')
        walk_event_named(&walker, learned, &asking->named, &places->known, places->named);
}

static value_key int_at(struct field_reader *reader, struct json_place place) {
    value_key key = KEY_UNHASHABLE;
    if (!place.at)
        return KEY_ABSENT;
    field_int(reader, place, &key);
    return key;
}

static struct number number_of(const char *bytes, struct json_place place) {
    struct number number = number_double(NAN);
    if (place.at)
        field_number(bytes + place.at, &number);
    return number;
}

static uint32_t inputs_at(struct asking_part *part, const struct json_place *places, unsigned which) {
    return inputs_intern(&part->reader, places, inputs_given(places) & which, &part->strings);
}

static void put_value(struct asking_part *part, const struct kept_column *column, row_t event,
                      const struct asked_places *places, struct found_field asked) {
    struct field_reader *reader = &part->reader;
    const char *bytes = reader->source->bytes;
    struct json_place place = asked.field == FIELD_NONE ? places->named[asked.named] : places->known.field[asked.field];
    switch (column->form) {
    case ASK_PLACE:
        column->place[event] = place;
        break;
    case ASK_KEY:
        column->key[event] = place.at ? field_key(reader, place) : KEY_ABSENT;
        break;
    case ASK_INT:
        column->key[event] = int_at(reader, place);
        break;
    case ASK_NUMBER:
        number_put(column->number, event, number_of(bytes, place));
        break;
    case ASK_ARGUMENTS:
        column->string[event] = inputs_at(part, &places->known.field[FIELD_CONCRETE_INPUTS], GIVEN_TO_OPERATORS);
        break;
    case ASK_LAUNCH:
        column->string[event] = inputs_at(part, &places->known.field[FIELD_CONCRETE_INPUTS], GIVEN_TO_LAUNCHES);
        break;
    case ASK_STRING:
        column->string[event] =
            place.at && bytes[place.at] == '"' ? field_intern(reader, place, &part->strings) : STRING_NONE;
        break;
    }
}

static row_t first_of_part(const struct column_asking *asking, size_t number) {
    return (row_t)part_start(asking->n_events, asking->n_parts, number);
}

static void read_part(void *arg, size_t number) {
    const struct column_asking *asking = arg;
    struct asking_part *part = &asking->parts[number];
    struct event_forms learned = {0};
    struct asked_places places;
    part->reader = (struct field_reader){.source = &asking->trace->document.source, .values = asking->values};
    part->reader.failed = asking->strings && !strings_init(&part->strings);
    row_t begin = first_of_part(asking, number), end = first_of_part(asking, number + 1);
    if (pool_is_cancelled(asking->pool))
        part->reader.failed = true;
    for (row_t i = begin; i < end && !part->reader.failed; i++) {
        find_places(asking, asking->events[i], &learned, &places);
        for (size_t j = 0; j < asking->n_fields; j++)
            put_value(part, &asking->list[asking->fields[j].column], asking->events[i], &places, asking->fields[j]);
    }
    if (begin < end)
        events_passed(asking->trace, asking->events[begin], asking->events[end - 1]);
    event_forms_free(&learned);
}

/* From the strings of a part to those of all. */
static void map_part(void *arg, size_t number) {
    const struct column_asking *asking = arg;
    const uint32_t *map = asking->parts[number].string_map;
    for (size_t j = 0; j < asking->n_fields; j++) {
        uint32_t *string = asking->list[asking->fields[j].column].string;
        for (row_t i = first_of_part(asking, number); string && i < first_of_part(asking, number + 1); i++)
            if (string[asking->events[i]] != STRING_NONE)
                string[asking->events[i]] = map[string[asking->events[i]]];
    }
}

/* Reads the new events; false: out of memory. */
static bool read_new(struct column_asking *asking, struct strings *strings) {
    bool ok = true;
    size_t most = (size_t)PARTS_PER_THREAD * pool_threads(asking->pool);
    asking->n_parts = asking->n_events / EVENTS_A_PART + 1;
    asking->n_parts = asking->n_parts < most ? asking->n_parts : most;
    asking->parts = calloc(asking->n_parts, sizeof *asking->parts);
    if (!asking->parts)
        return false;
    pool_run(asking->pool, asking->n_parts, read_part, asking);
    for (size_t i = 0; i < asking->n_parts; i++)
        ok = ok && !asking->parts[i].reader.failed;
    for (size_t i = 0; i < asking->n_parts && ok && asking->strings; i++)
        ok = (asking->parts[i].string_map = strings_join(strings, &asking->parts[i].strings));
    if (ok && asking->strings)
        pool_run(asking->pool, asking->n_parts, map_part, asking);
    for (size_t i = 0; i < asking->n_parts; i++) {
        strings_free(&asking->parts[i].strings);
        buffer_free(&asking->parts[i].reader.scratch);
        free(asking->parts[i].string_map);
    }
    free(asking->parts);
    return ok;
}

/* ---- A question ---- */

/* The number of a field among those that are found by name, which it joins. */
static size_t name_field(struct named_fields *named, const struct asked_field *field) {
    size_t i = 0;
    while (i < named->n && (named->outside[i] != field->outside || strcmp(named->name[i], field->name) != 0))
        i++;
    named->name[i] = field->name;
    named->outside[i] = field->outside;
    named->n += i == named->n;
    return i;
}

/* False: out of memory. */
static bool find_columns(struct column_asking *asking, struct kept_columns *columns, const struct asked_field *fields,
                         size_t n_fields) {
    for (size_t i = 0; i < n_fields; i++) {
        struct found_field *asked = &asking->fields[i];
        if (!find_column(columns, &fields[i], asking->trace->events.n, &asked->column))
            return false;
        asked->field = event_field_named(fields[i].name, fields[i].outside);
        if (asked->field == FIELD_NONE)
            asked->named = name_field(&asking->named, &fields[i]);
        asking->strings |= fields[i].form >= ASK_ARGUMENTS;
    }
    asking->list = columns->list;
    asking->n_fields = n_fields;
    return true;
}

static bool answer(struct column_asking *asking, struct kept_columns *columns, const row_t *events, row_t n_events) {
    if (all_is_known(asking))
        return true;
    asking->events = malloc(((size_t)n_events + 1) * sizeof *asking->events);
    if (!asking->events)
        return false;
    list_new(asking, events, n_events);
    bool ok = asking->n_events == 0 || read_new(asking, &columns->strings);
    for (row_t i = 0; i < asking->n_events && !ok; i++)
        set_known(asking, asking->events[i], false);
    free(asking->events);
    return ok;
}

enum sutra_status event_columns_ask(struct sutra_context *context, const struct sutra_device_trace *trace,
                                    const struct asked_field *fields, size_t n_fields, const row_t *events,
                                    row_t n_events, struct asked_column *columns, struct sutra_error *error) {
    struct kept_columns *kept = trace->columns;
    struct column_asking asking = {.trace = trace, .values = &context->values, .pool = context->pool};
    if (n_fields > ASK_MAX)
        return error_set(error, SUTRA_INTERNAL, "too many fields in one request: %zu", n_fields);
    pthread_mutex_lock(&kept->mutex);
    bool ok = find_columns(&asking, kept, fields, n_fields) && answer(&asking, kept, events, n_events);
    for (size_t i = 0; i < n_fields && ok; i++) {
        const struct kept_column *column = &kept->list[asking.fields[i].column];
        columns[i] = (struct asked_column){column->place, column->key, column->number, column->string};
    }
    pthread_mutex_unlock(&kept->mutex);
    return ok ? SUTRA_OK : context_gave_up(context, error);
}

bool event_columns_have(const struct sutra_device_trace *trace, const struct asked_field *field) {
    struct kept_columns *kept = trace->columns;
    pthread_mutex_lock(&kept->mutex);
    uint64_t at = seek_column(kept, field);
    bool whole = at < kept->n && kept->list[at].whole;
    pthread_mutex_unlock(&kept->mutex);
    return whole;
}
