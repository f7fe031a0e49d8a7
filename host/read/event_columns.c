/*
 * event_columns.c - implements event_columns.h.
 *
 * New events are listed in the order of the request and divided into parts. Each part has its own string table; the
 * tables are joined in the order of the parts, so that string numbers do not depend on the number of threads.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "read/device_trace.h"
#include "read/document.h"
#include "read/event_columns.h"

/* Each part learns the forms of events again, so parts are large; but enough parts balance the threads. */
#define EVENTS_A_PART    4096
#define PARTS_PER_THREAD 16

/* A column; of the arrays only the one of its form is allocated. */
struct kept_column {
    char *name;
    enum asked_form form;
    bool outside;
    bool complete;   /* known for all events */
    uint64_t *known; /* else a bit per event */
    struct json_span *place;
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

/* A request. */
struct column_request {
    const struct sutra_device_trace *trace;
    struct values *values;
    struct pool *pool;
    struct kept_column *list;
    uint64_t columns[ASK_MAX];        /* column in the list, by field */
    enum event_field fields[ASK_MAX]; /* FIELD_NONE: found by name, */
    size_t named_index[ASK_MAX];      /* at this index of `named` */
    size_t n_fields;
    struct named_fields named;
    bool strings;  /* some field is a string */
    row_t *events; /* new events */
    row_t n_events;
    struct request_part *parts;
    size_t n_parts;
};

struct request_part {
    struct field_reader reader;
    struct strings strings;
    uint32_t *string_map; /* to the string numbers of all parts */
};

/* ---- Columns of a trace ---- */

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

/* Index of a field's column; columns->n if there is none. */
static uint64_t find_column(const struct kept_columns *columns, const struct requested_field *field) {
    uint64_t at = 0;
    for (; at < columns->n; at++) {
        const struct kept_column *column = &columns->list[at];
        if (column->form == field->form && column->outside == field->outside && strcmp(column->name, field->name) == 0)
            break;
    }
    return at;
}

/* Adds a column for a field. False: out of memory. */
static bool add_column(struct kept_columns *columns, const struct requested_field *field, size_t n) {
    struct kept_column made = {.name = strdup(field->name), .form = field->form, .outside = field->outside};
    bool ok = column_grow(&columns->list, columns->n, &columns->capacity, sizeof *columns->list) && made.name &&
              (made.known = column_new(n / 64 + 1, sizeof *made.known));
    if (ok && made.form == ASK_PLACE)
        ok = (made.place = column_new(n, sizeof *made.place));
    else if (ok && (made.form == ASK_KEY || made.form == ASK_INT))
        ok = (made.key = column_new(n, sizeof *made.key));
    else if (ok && made.form == ASK_NUMBER)
        ok = numbers_new(&made.number, n);
    else if (ok)
        ok = (made.string = column_new(n, sizeof *made.string));
    if (ok)
        columns->list[columns->n++] = made;
    else
        column_free(&made);
    return ok;
}

/* Adds a column that is known for all events. False: out of memory; `made` is unchanged. */
static bool keep_column(struct kept_columns *columns, struct kept_column made) {
    made.complete = true;
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
    if ((events->prefetch_columns & PREFETCH_IDS) && !keep_column(columns, id))
        return false;
    events->id = NULL;
    if ((events->prefetch_columns & PREFETCH_ARGUMENTS) && !keep_column(columns, arguments))
        return false;
    events->arguments = NULL;
    if ((events->prefetch_columns & PREFETCH_LAUNCHES) && !keep_column(columns, launches))
        return false;
    events->launches = NULL;
    events->prefetch_columns = PREFETCH_NOTHING;
    return true;
}

/* ---- Requests ---- */

static void set_known(struct column_request *request, row_t event, bool known) {
    for (size_t i = 0; i < request->n_fields; i++) {
        const struct kept_column *column = &request->list[request->columns[i]];
        uint64_t bit = (uint64_t)1 << event % 64;
        if (column->complete)
            continue;
        uint64_t *word = &column->known[event / 64];
        *word = known ? *word | bit : *word & ~bit;
    }
}

/* Lists the new events and marks them as known. */
static void list_new(struct column_request *request, const row_t *events, row_t n_events) {
    for (row_t i = 0; i < n_events; i++) {
        row_t event = events ? events[i] : i;
        bool known = true;
        for (size_t field = 0; field < request->n_fields && event != ROW_NONE; field++) {
            const struct kept_column *column = &request->list[request->columns[field]];
            known &= column->complete || (column->known[event / 64] >> event % 64 & 1);
        }
        if (known)
            continue;
        set_known(request, event, true);
        request->events[request->n_events++] = event;
    }
}

static uint32_t intern_inputs(struct request_part *part, const struct event_spans *places, unsigned selected) {
    const struct json_span *inputs = &places->field[FIELD_CONCRETE_INPUTS];
    return inputs_intern(&part->reader, inputs, inputs_given(inputs) & selected, &part->strings);
}

/* Reads a field of an event from its offset to a column. */
static void read_value(struct request_part *part, const struct kept_column *column, row_t event,
                       const struct event_spans *places, struct json_span place) {
    struct field_reader *reader = &part->reader;
    const char *bytes = reader->source->bytes;
    struct number number = number_double(NAN);
    value_key key = place.at ? KEY_UNHASHABLE : KEY_ABSENT;
    switch (column->form) {
    case ASK_PLACE:
        column->place[event] = place;
        break;
    case ASK_KEY:
        column->key[event] = place.at ? field_key(reader, place) : KEY_ABSENT;
        break;
    case ASK_INT:
        if (place.at)
            field_int(reader, place, &key);
        column->key[event] = key;
        break;
    case ASK_NUMBER:
        if (place.at)
            field_number(bytes + place.at, &number);
        number_set(column->number, event, number);
        break;
    case ASK_ARGUMENTS:
        column->string[event] = intern_inputs(part, places, GIVEN_TO_OPERATORS);
        break;
    case ASK_LAUNCH:
        column->string[event] = intern_inputs(part, places, GIVEN_TO_LAUNCHES);
        break;
    case ASK_STRING:
        column->string[event] =
            place.at && bytes[place.at] == '"' ? field_intern(reader, place, &part->strings) : STRING_NONE;
        break;
    }
}

static row_t first_of_part(const struct column_request *request, size_t number) {
    return (row_t)part_offset(request->n_events, request->n_parts, number);
}

static void read_part(void *arg, size_t number) {
    const struct column_request *request = arg;
    const struct sutra_device_trace *trace = request->trace;
    struct request_part *part = &request->parts[number];
    struct event_forms learned = {0};
    part->reader = (struct field_reader){.source = &trace->document.source, .values = request->values};
    part->reader.failed = request->strings && !strings_init(&part->strings);
    row_t begin = first_of_part(request, number), end = first_of_part(request, number + 1);
    if (pool_is_cancelled(request->pool))
        part->reader.failed = true;
    for (row_t i = begin; i < end && !part->reader.failed; i++) {
        row_t event = request->events[i];
        struct event_spans places = {0};
        struct json_span found[NAMED_MAX] = {{0}};
        struct json_walker walker = walk_from(&trace->document.source, trace->events.text[event]);
        if (walk_char(&walker) == '{')
            walk_event_named(&walker, &learned, &request->named, &places, found);
        for (size_t j = 0; j < request->n_fields; j++) {
            enum event_field field = request->fields[j];
            read_value(part, &request->list[request->columns[j]], event, &places,
                       field == FIELD_NONE ? found[request->named_index[j]] : places.field[field]);
        }
    }
    if (begin < end)
        events_passed(trace, request->events[begin], request->events[end - 1]);
    event_forms_free(&learned);
}

/* Replaces the string numbers of a part by the numbers in the joined table. */
static void map_part(void *arg, size_t number) {
    const struct column_request *request = arg;
    const uint32_t *map = request->parts[number].string_map;
    for (size_t j = 0; j < request->n_fields; j++) {
        uint32_t *string = request->list[request->columns[j]].string;
        for (row_t i = first_of_part(request, number); string && i < first_of_part(request, number + 1); i++)
            if (string[request->events[i]] != STRING_NONE)
                string[request->events[i]] = map[string[request->events[i]]];
    }
}

/* Reads the new events; false: out of memory. */
static bool read_new(struct column_request *request, struct strings *strings) {
    bool ok = true;
    size_t most = (size_t)PARTS_PER_THREAD * pool_threads(request->pool);
    request->n_parts = request->n_events / EVENTS_A_PART + 1;
    request->n_parts = MIN(request->n_parts, most);
    request->parts = calloc(request->n_parts, sizeof *request->parts);
    if (!request->parts)
        return false;
    pool_run(request->pool, request->n_parts, read_part, request);
    for (size_t i = 0; i < request->n_parts; i++)
        ok = ok && !request->parts[i].reader.failed;
    for (size_t i = 0; i < request->n_parts && ok && request->strings; i++)
        ok = (request->parts[i].string_map = strings_join(strings, &request->parts[i].strings));
    if (ok && request->strings)
        pool_run(request->pool, request->n_parts, map_part, request);
    for (size_t i = 0; i < request->n_parts; i++) {
        strings_free(&request->parts[i].strings);
        buffer_free(&request->parts[i].reader.scratch);
        free(request->parts[i].string_map);
    }
    free(request->parts);
    return ok;
}

/* Finds or adds the columns of the fields. False: out of memory. */
static bool find_columns(struct column_request *request, struct kept_columns *columns,
                         const struct requested_field *fields, size_t n_fields) {
    struct named_fields *named = &request->named;
    for (size_t i = 0; i < n_fields; i++) {
        const struct requested_field *field = &fields[i];
        request->columns[i] = find_column(columns, field);
        if (request->columns[i] == columns->n && !add_column(columns, field, request->trace->events.n))
            return false;
        request->fields[i] = event_field_named(field->name, field->outside);
        request->strings |= field->form >= ASK_ARGUMENTS;
        if (request->fields[i] != FIELD_NONE)
            continue;
        size_t k = 0; /* the index of its name, which is added once */
        while (k < named->n && (named->outside[k] != field->outside || strcmp(named->name[k], field->name) != 0))
            k++;
        named->name[k] = field->name;
        named->outside[k] = field->outside;
        named->n += k == named->n;
        request->named_index[i] = k;
    }
    request->list = columns->list;
    request->n_fields = n_fields;
    return true;
}

/* Reads the events that are new. False: out of memory, or cancelled. */
static bool update_columns(struct column_request *request, struct kept_columns *columns, const row_t *events,
                           row_t n_events) {
    bool complete = true;
    for (size_t i = 0; i < request->n_fields; i++)
        complete &= request->list[request->columns[i]].complete;
    if (complete)
        return true;
    request->events = malloc(((size_t)n_events + 1) * sizeof *request->events);
    if (!request->events)
        return false;
    list_new(request, events, n_events);
    bool ok = request->n_events == 0 || read_new(request, &columns->strings);
    for (row_t i = 0; i < request->n_events && !ok; i++)
        set_known(request, request->events[i], false);
    free(request->events);
    return ok;
}

enum sutra_status event_columns_request(struct sutra_context *context, const struct sutra_device_trace *trace,
                                        const struct requested_field *fields, size_t n_fields, const row_t *events,
                                        row_t n_events, struct requested_column *columns, struct sutra_error *error) {
    struct kept_columns *kept = trace->columns;
    struct column_request request = {.trace = trace, .values = &context->values, .pool = context->pool};
    if (n_fields > ASK_MAX)
        return error_set(error, SUTRA_INTERNAL, "too many fields in one request: %zu", n_fields);
    pthread_mutex_lock(&kept->mutex);
    bool ok = find_columns(&request, kept, fields, n_fields) && update_columns(&request, kept, events, n_events);
    for (size_t i = 0; i < n_fields && ok; i++) {
        const struct kept_column *column = &kept->list[request.columns[i]];
        columns[i] = (struct requested_column){column->place, column->key, column->number, column->string};
    }
    pthread_mutex_unlock(&kept->mutex);
    return ok ? SUTRA_OK : context_early_end_error(context, error);
}

bool event_columns_are_complete(const struct sutra_device_trace *trace, const struct requested_field *field) {
    struct kept_columns *kept = trace->columns;
    pthread_mutex_lock(&kept->mutex);
    uint64_t at = find_column(kept, field);
    bool complete = at < kept->n && kept->list[at].complete;
    pthread_mutex_unlock(&kept->mutex);
    return complete;
}
