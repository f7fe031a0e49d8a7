/*
 * profile.c - implements profile.h, and reads a file of profiler events: {"events": [{"kind": "TorchOp", ...}, ...],
 * ...}.
 *
 * The text is indexed and checked as any document, then its events are walked in order. Addresses and tids may be any
 * JSON values; only their equality matters. O(bytes).
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "base/shared.h"
#include "columns/column.h"
#include "read/document.h"
#include "tree/profile.h"
#include "write/json_copy.h"

enum profile_field {
    EVENT_KIND,
    EVENT_NAME,
    EVENT_START,
    EVENT_END,
    EVENT_TID,
    EVENT_FORWARD_TID,
    EVENT_SEQUENCE,
    EVENT_SCOPE,
    EVENT_INPUTS,
    EVENT_MEMORY,
    EVENT_BYTES,
    EVENT_DEVICE,
    N_FIELDS
};

static const char *const field_names[N_FIELDS] = {"kind",   "name",        "start_ns",        "end_ns",
                                                  "tid",    "forward_tid", "sequence_number", "scope",
                                                  "inputs", "ptr",         "bytes",           "device"};

enum tensor_field {
    TENSOR_IMPL,
    TENSOR_STORAGE,
    TENSOR_DTYPE,
    TENSOR_SIZES,
    TENSOR_STRIDES,
    TENSOR_LAYOUT,
    TENSOR_DEVICE,
    TENSOR_LIST,
    TENSOR_SCALAR,
    N_TENSOR_FIELDS
};

static const char *const tensor_names[N_TENSOR_FIELDS] = {"impl",   "storage", "dtype", "sizes", "strides",
                                                          "layout", "device",  "list",  "scalar"};

static const char *const kind_names[] = {"TorchOp", "Backend", "Allocation", "OutOfMemory",
                                         "PyCall",  "PyCCall", "Kineto"};

struct event_reader {
    struct sutra_context *context;
    struct document document;
    struct field_reader fields;
    struct sutra_profile *profile;
    struct thread_numbers threads, devices;
    struct input_source source;
    row_t event;
    struct sutra_error *error;
    enum sutra_status status;
};

static struct json_walker walk_at(const struct event_reader *reader, size_t at) {
    return walk_from(&reader->document.source, at);
}

static const char *text_at(const struct event_reader *reader, struct json_span place) {
    return reader->document.source.bytes + place.at;
}

static bool is_there(const struct event_reader *reader, struct json_span place) {
    return place.at && *text_at(reader, place) != 'n';
}

/* Fails because a field has the wrong type, unless lenient: then the field is ignored. */
static void wrong_type(struct event_reader *reader, size_t at, const char *field, const char *expected) {
    if (reader->context->options.lenient || reader->status)
        return;
    reader->status = source_error(&reader->document.source, reader->error, at,
                                  "event %u: field %s: %s was expected (--lenient ignores such fields)", reader->event,
                                  field, expected);
}

static void out_of_memory(struct event_reader *reader) {
    if (!reader->status)
        reader->status = error_memory(reader->error);
}

/* Finds the fields of an object by name; of duplicate keys the last one counts. */
static void find_fields(const struct event_reader *reader, size_t at, const char *const *names, int n,
                        struct json_span *places) {
    struct json_walker walker = walk_at(reader, at);
    memset(places, 0, (size_t)n * sizeof *places);
    for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
        struct json_span key = walk_key(&walker);
        struct json_span value = walk_value(&walker);
        for (int i = 0; i < n; i++)
            if (place_is(&reader->document.source, key, names[i]))
                places[i] = value;
    }
}

static bool read_integer(struct event_reader *reader, struct json_span place, const char *field, int64_t *value) {
    if (!is_there(reader, place))
        return false;
    if (field_integer(text_at(reader, place), value))
        return true;
    wrong_type(reader, place.at, field, "an integer of 64 bits");
    return false;
}

static uint64_t read_id(struct event_reader *reader, struct json_span place) {
    return is_there(reader, place) ? (uint64_t)field_key(&reader->fields, place) : 0;
}

static uint32_t read_device(struct event_reader *reader, struct json_span place) {
    uint32_t device = thread_number(&reader->devices, read_id(reader, place), 0);
    if (device == PAIR_NONE)
        out_of_memory(reader);
    return device;
}

/* ---- Inputs ---- */

/* Adds a value that is not a list. */
static void add_value(struct event_reader *reader, struct json_span place, const struct json_span *places) {
    size_t length = 0;
    if (places[TENSOR_SCALAR].at && !places[TENSOR_IMPL].at && *text_at(reader, places[TENSOR_SCALAR]) == '"') {
        const char *text = field_string(&reader->fields, places[TENSOR_SCALAR], &length);
        source_add_scalar(&reader->source, text, length);
        return;
    }
    if (!places[TENSOR_IMPL].at) {
        source_add_tag(&reader->source, *text_at(reader, place) == '{' ? SUTRA_INPUT_OTHER : SUTRA_INPUT_UNDEFINED);
        return;
    }
    struct sutra_tensor tensor = {.impl = read_id(reader, places[TENSOR_IMPL]),
                                  .storage = read_id(reader, places[TENSOR_STORAGE]),
                                  .device_index = (int32_t)read_device(reader, places[TENSOR_DEVICE])};
    struct json_span layout = places[TENSOR_LAYOUT], dtype = places[TENSOR_DTYPE];
    bool strided = !is_there(reader, layout) || *text_at(reader, layout) != '"' ||
                   place_is(&reader->document.source, layout, "torch.strided");
    tensor.layout = strided ? SUTRA_LAYOUT_STRIDED : SUTRA_LAYOUT_OTHER;
    char name[64] = "";
    if (is_there(reader, dtype) && *text_at(reader, dtype) == '"') {
        const char *text = field_string(&reader->fields, dtype, &length);
        memcpy(name, text, length < sizeof name ? length : sizeof name - 1);
    }
    tensor.dtype = name;
    source_add_tensor(&reader->source, tensor, places[TENSOR_SIZES], places[TENSOR_STRIDES]);
}

/* Finds the fields of a value; all are absent if it is not an object. */
static void find_value(const struct event_reader *reader, struct json_span place, struct json_span *places) {
    memset(places, 0, N_TENSOR_FIELDS * sizeof *places);
    if (*text_at(reader, place) == '{')
        find_fields(reader, place.at, tensor_names, N_TENSOR_FIELDS, places);
}

static void read_list(struct event_reader *reader, struct json_span place) {
    struct json_span places[N_TENSOR_FIELDS];
    source_add_tag(&reader->source, SUTRA_INPUT_LIST);
    struct json_walker walker = walk_at(reader, place.at);
    for (bool more = walk_array(&walker); more && !reader->source.status; more = walk_element_end(&walker)) {
        struct json_span value = walk_value(&walker);
        find_value(reader, value, places);
        add_value(reader, value, places);
    }
    source_add_tag(&reader->source, SUTRA_INPUT_END);
}

static void read_inputs(struct event_reader *reader, struct json_span place) {
    struct json_span places[N_TENSOR_FIELDS];
    if (is_there(reader, place) && *text_at(reader, place) != '[') {
        wrong_type(reader, place.at, "inputs", "an array");
    } else if (is_there(reader, place)) {
        struct json_walker walker = walk_at(reader, place.at);
        for (bool more = walk_array(&walker); more && !reader->source.status; more = walk_element_end(&walker)) {
            struct json_span value = walk_value(&walker);
            find_value(reader, value, places);
            if (places[TENSOR_LIST].at && *text_at(reader, places[TENSOR_LIST]) == '[')
                read_list(reader, places[TENSOR_LIST]);
            else
                add_value(reader, value, places);
        }
    }
    source_add_tag(&reader->source, SUTRA_INPUT_END);
}

/* ---- Events ---- */

static void read_times(struct event_reader *reader, const struct json_span *places, row_t row, size_t at) {
    struct sutra_profile *profile = reader->profile;
    profile->end[row] = EVENT_NO_END;
    if (!read_integer(reader, places[EVENT_START], "start_ns", &profile->start[row]) && !reader->status)
        reader->status =
            source_error(&reader->document.source, reader->error, at, "event %u: field start_ns is missing", row);
    if (event_is_memory(profile->kind[row]))
        profile->end[row] = profile->start[row];
    else
        read_integer(reader, places[EVENT_END], "end_ns", &profile->end[row]);
    int64_t start = profile->start[row], end = profile->end[row];
    bool fits = start < NUMBER_INTEGER_LIMIT && start > -NUMBER_INTEGER_LIMIT &&
                (end == EVENT_NO_END || (end < NUMBER_INTEGER_LIMIT && end > -NUMBER_INTEGER_LIMIT));
    if (!fits && !reader->status)
        reader->status = source_error(&reader->document.source, reader->error, at,
                                      "event %u: its times must be below 2^62 nanoseconds", row);
}

/* Reads the name, or sets PyTorch's name of memory events. */
static void read_name(struct event_reader *reader, struct json_span place, row_t row) {
    struct strings *strings = &reader->profile->own_strings;
    uint8_t kind = reader->profile->kind[row];
    const char *usual = kind == SUTRA_EVENT_ALLOCATION      ? "[memory]"
                        : kind == SUTRA_EVENT_OUT_OF_MEMORY ? "[OutOfMemory]"
                                                            : "";
    bool there = is_there(reader, place);
    if (there && *text_at(reader, place) != '"')
        wrong_type(reader, place.at, "name", "a string");
    uint32_t name = there && *text_at(reader, place) == '"' ? field_intern(&reader->fields, place, strings)
                                                            : strings_intern(strings, usual, strlen(usual));
    if (name == STRING_NONE)
        out_of_memory(reader);
    reader->profile->name[row] = name;
}

static void read_event(struct event_reader *reader, size_t at) {
    struct sutra_profile *profile = reader->profile;
    const struct source *source = &reader->document.source;
    struct json_span places[N_FIELDS];
    if (source->bytes[at] != '{') {
        reader->status = source_error(source, reader->error, at, "event %u is not an object", reader->event);
        return;
    }
    find_fields(reader, at, field_names, N_FIELDS, places);
    size_t kind = 0, n_kinds = places[EVENT_KIND].at ? sizeof kind_names / sizeof *kind_names : 0;
    while (kind < n_kinds &&
           (*text_at(reader, places[EVENT_KIND]) != '"' || !place_is(source, places[EVENT_KIND], kind_names[kind])))
        kind++;
    if (kind == n_kinds) {
        reader->status = source_error(source, reader->error, at,
                                      "event %u: field kind: TorchOp, Backend, Allocation, OutOfMemory, PyCall, "
                                      "PyCCall or Kineto was expected",
                                      reader->event);
        return;
    }
    row_t row = profile_append(profile, (enum sutra_event_kind)kind, reader->event);
    read_name(reader, places[EVENT_NAME], row);
    read_times(reader, places, row, at);
    read_integer(reader, places[EVENT_TID], "tid", &profile->tid[row]);
    profile->thread[row] = thread_number(&reader->threads, read_id(reader, places[EVENT_TID]), 0);
    if (kind == SUTRA_EVENT_OPERATOR) { /* a value of the wrong type is 0 or absent */
        int64_t scope = 0;
        read_integer(reader, places[EVENT_SCOPE], "scope", &scope);
        profile->scope[row] = (uint8_t)(scope >= 0 && scope < UINT8_MAX ? scope : UINT8_MAX);
        read_integer(reader, places[EVENT_SEQUENCE], "sequence_number", &profile->sequence[row]);
        read_integer(reader, places[EVENT_FORWARD_TID], "forward_tid", &profile->forward_tid[row]);
        read_inputs(reader, places[EVENT_INPUTS]);
    }
    if (kind == SUTRA_EVENT_ALLOCATION) {
        profile->memory[row] = read_id(reader, places[EVENT_MEMORY]);
        profile->device[row] = read_device(reader, places[EVENT_DEVICE]);
        read_integer(reader, places[EVENT_BYTES], "bytes", &profile->bytes[row]);
    }
    if (profile->thread[row] == PAIR_NONE || reader->fields.failed)
        out_of_memory(reader);
    if (!reader->status)
        reader->status = reader->source.status;
}

static void read_all(struct event_reader *reader, size_t array) {
    struct sutra_profile *profile = reader->profile;
    struct json_walker walker = walk_at(reader, array);
    for (bool more = walk_array(&walker); more && !reader->status; more = walk_element_end(&walker), reader->event++) {
        size_t at = walker.at;
        walk_value(&walker);
        uint64_t capacity = (uint64_t)profile->capacity + profile->capacity / 2 + 1024;
        capacity = MIN(capacity, ROW_LIMIT);
        bool full = profile->n == profile->capacity;
        if (full && (profile->n >= ROW_LIMIT || !profile_reserve(profile, (row_t)capacity)))
            out_of_memory(reader);
        else
            read_event(reader, at);
    }
    for (row_t row = 0; row < profile->n && !reader->status; row++)
        if (profile->forward_tid[row])
            profile->forward[row] = pair_table_find(&reader->threads.table, (uint64_t)profile->forward_tid[row], 0);
    profile->n_threads = reader->threads.n;
}

static enum sutra_status read_document(struct event_reader *reader) {
    const struct document_reader all = {.read_stage = "read events"};
    TRY(document_read(&reader->document, reader->context, &all, reader->error));
    const struct document_member *events = document_find(&reader->document, "events");
    if (!events || reader->document.source.bytes[events->value] != '[')
        return error_file(reader->error, SUTRA_DATA, reader->document.source.name,
                          "expected a file of profiler events, found no array \"events\"");
    reader->profile = profile_new();
    if (!reader->profile || !thread_numbers_init(&reader->threads) || !thread_numbers_init(&reader->devices))
        return error_memory(reader->error);
    reader->profile->has_ids = true;
    TRY(sutra_inputs_create(SUTRA_TORCH_VERSION_2, &reader->profile->inputs, reader->error));
    reader->source =
        (struct input_source){.document = &reader->document, .inputs = reader->profile->inputs, .error = reader->error};
    read_all(reader, events->value);
    return reader->status;
}

static enum sutra_status finish(struct event_reader *reader, enum sutra_status status, struct sutra_profile **profile) {
    if (!status) {
        reader->fields = (struct field_reader){.source = &reader->document.source, .values = &reader->context->values};
        status = read_document(reader);
    }
    stage_end(reader->context);
    document_free(&reader->document);
    thread_numbers_free(&reader->threads);
    thread_numbers_free(&reader->devices);
    buffer_free(&reader->source.sizes);
    buffer_free(&reader->fields.scratch);
    if (status) {
        sutra_profile_free(reader->profile);
        return status;
    }
    profile_count(reader->profile);
    *profile = reader->profile;
    return SUTRA_OK;
}

enum sutra_status sutra_profile_read(struct sutra_context *context, const char *path, struct sutra_profile **profile,
                                     struct sutra_error *error) {
    struct event_reader reader = {.context = context, .error = error};
    stage_begin(context, "open events", 0);
    return finish(&reader, source_open(&reader.document.source, path, context->options.most_input_bytes, error),
                  profile);
}

enum sutra_status sutra_profile_parse(struct sutra_context *context, const char *name, const void *bytes, size_t size,
                                      struct sutra_profile **profile, struct sutra_error *error) {
    struct event_reader reader = {.context = context, .error = error};
    return finish(&reader, source_copy(&reader.document.source, name, bytes, size, error), profile);
}

/* ---- Columns ---- */

struct sutra_profile *profile_new(void) {
    struct sutra_profile *profile = calloc(1, sizeof *profile);
    if (!profile || !strings_init(&profile->own_strings) || !profile_reserve(profile, 1)) {
        sutra_profile_free(profile);
        return NULL;
    }
    profile->strings = &profile->own_strings;
    return profile;
}

bool profile_reserve(struct sutra_profile *profile, row_t n) {
    if (n <= profile->capacity)
        return true;
#define X(type, name)                                                                                                  \
    if (!column_resize(&profile->name, n, sizeof *profile->name))                                                      \
        return false;
    PROFILE_COLUMNS(X)
#undef X
    profile->capacity = n;
    return true;
}

void sutra_profile_free(struct sutra_profile *profile) {
    if (!profile)
        return;
#define X(type, name) free(profile->name);
    PROFILE_COLUMNS(X)
#undef X
    strings_free(&profile->own_strings);
    sutra_inputs_free(profile->inputs);
    free(profile);
}

row_t profile_append(struct sutra_profile *profile, enum sutra_event_kind kind, row_t event) {
    row_t row = profile->n++;
#define X(type, name) profile->name[row] = 0;
    PROFILE_COLUMNS(X)
#undef X
    profile->kind[row] = (uint8_t)kind;
    profile->event[row] = event;
    profile->index[row] = event;
    profile->forward[row] = THREAD_NONE;
    profile->sequence[row] = -1;
    profile->parent[row] = ROW_NONE;
    return row;
}

void profile_count(struct sutra_profile *profile) {
    struct sutra_profile_report *report = &profile->report;
    report->n_events = profile->n;
    report->n_threads = profile->n_threads;
    for (row_t row = 0; row < profile->n; row++) {
        uint8_t kind = profile->kind[row];
        report->n_operators += kind == SUTRA_EVENT_OPERATOR || kind == SUTRA_EVENT_BACKEND;
        report->n_memory += event_is_memory(kind);
        report->n_python += kind == SUTRA_EVENT_PYTHON_CALL || kind == SUTRA_EVENT_PYTHON_C_CALL;
        report->n_kineto += kind == SUTRA_EVENT_KINETO;
        profile->n_allocations += kind == SUTRA_EVENT_ALLOCATION;
    }
}

void sutra_profile_columns(const struct sutra_profile *profile, struct sutra_profile_columns *columns) {
    const struct sutra_profile_columns ours = {.n = profile->n,
                                               .kind = profile->kind,
                                               .start_ns = profile->start,
                                               .end_ns = profile->end,
                                               .thread = profile->thread,
                                               .forward_thread = profile->forward,
                                               .sequence = profile->sequence,
                                               .parent = profile->parent,
                                               .event = profile->event};
    report_give(columns, &ours, sizeof ours);
}

const char *sutra_profile_name(const struct sutra_profile *profile, uint64_t row) {
    return strings_text(profile->strings, profile->name[row]);
}

void sutra_profile_report(const struct sutra_profile *profile, struct sutra_profile_report *report) {
    report_give(report, &profile->report, sizeof profile->report);
}

void write_thread_name(const struct sutra_profile *profile, row_t row, struct text_out *text) {
    struct event_spans places;
    if (!profile->trace) {
        out_integer(text, profile->tid[row]);
        return;
    }
    event_find(profile->trace, profile->event[row], NULL, &places);
    struct text_out plain = {0};
    trace_copy_value(profile->trace, &plain, places.field[FIELD_TID]);
    out_name(text, plain.out.bytes, plain.out.length);
    text->out.failed |= plain.out.failed;
    buffer_free(&plain.out);
}
