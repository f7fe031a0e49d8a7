/*
 * profile_from_trace.c - converts an exported trace to a profile.
 *
 *     events of the trace --> rows of the profile, as recorded --> parents by flow, correlation and external id
 *     (trace_links.c) --> numbers and inputs of the host trace --> autograd's threads (trace_links.c)
 *
 * The profiler's events are the first rows, by "Ev Idx" if all have one, then Kineto's events in file order. Roles,
 * exact times and autograd's numbers are not in the trace's columns: threads read them from the text in parallel.
 *
 * Inputs in the device trace have types, shapes, strides and scalars, but no addresses, so no tensor ids:
 *
 *     "Input type": ["float", "TensorList", "Scalar", ""]    "Input Dims": [[8, 3], [[2], [4]], [], []]
 *     "Input Strides": [[3, 1], [[1], [1]], [], []]          "Concrete Inputs": ["", "", "1.0", ""]
 *
 * The host trace's node with the same rf_id has autograd's numbers, and inputs with ids of tensors and storages. The
 * value of a tensor is [tensor id, storage id, offset, elements, element size, device].
 *
 *     schema 1.0.1    "tid", "fw_tid", "seq_id", "scope", "inputs", "input_types", "input_shapes" in the node
 *     later schemas   numbers in "attrs"; "inputs": {"values", "types", "shapes", "strides"}
 *
 * Cost: O(bytes), and sorts.
 */
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "facts/names.h"
#include "facts/times.h"
#include "match/key_index.h"
#include "read/document.h"
#include "text/numbers.h"
#include "text/quantities.h"
#include "tree/profile.h"

/* ---- Rows of the trace ---- */

/* Roles of categories. */
static const struct {
    uint32_t categories;
    enum event_role role;
} known_categories[] = {
    {CATEGORY_CPU_OP, ROLE_OPERATOR},
    {CATEGORY_ANNOTATION, ROLE_ANNOTATION},
    {CATEGORY_PYTHON, ROLE_PYTHON},
    {CATEGORY_INSTANT, ROLE_INSTANT},
    {CATEGORY_CALL | CATEGORY_OVERHEAD, ROLE_CALL},
    {CATEGORY_WORK, ROLE_GPU_OPERATOR},
    {CATEGORY_SYNC | CATEGORY_GPU_ANNOTATION, ROLE_ON_DEVICE},
    {CATEGORY_LAUNCH_FLOW, ROLE_LAUNCH_FLOW},
    {CATEGORY_AUTOGRAD_FLOW, ROLE_AUTOGRAD_FLOW},
};

/* Events per task. */
#define BLOCK 8192

struct reading {
    const struct sutra_device_trace *trace;
    const uint8_t *roles; /* per string, as a category */
    struct trace_rows *rows;
    size_t n_blocks;
    struct row_block {
        struct field_reader fields;
        uint64_t n_dropped;
        row_t n_untimed;
    } * blocks;
};

/* The role of an event, or none if its phase does not fit. */
static enum event_role role_of(const struct reading *reading, row_t event) {
    const struct device_events *events = &reading->trace->events;
    if (events->category[event] == STRING_NONE)
        return ROLE_NONE;
    enum event_role role = (enum event_role)reading->roles[events->category[event]];
    uint8_t phase = events->phase[event];
    bool fits = role >= ROLE_LAUNCH_FLOW ? phase == 's' || phase == 'f'
                                         : phase == 'X' || (role == ROLE_INSTANT && (phase == 'i' || phase == 'I'));
    return fits ? role : ROLE_NONE;
}

/* Converts microseconds to nanoseconds. */
static bool read_time(const char *text, int64_t *ns) {
    size_t length;
    text += *text == '"';
    if (*text == 't' || *text == 'f') {
        *ns = *text == 't' ? 1000 : 0;
        return true;
    }
    return number_scan(text, &length) != NUMBER_FORM_BAD && decimal_ns(text, length, ns);
}

/* Sets start and end; false: the event has no valid start, duration or end. */
static bool read_times(struct trace_rows *rows, const struct device_events *events, row_t event, const char *bytes,
                       const struct event_spans *places) {
    int64_t duration = 0;
    uint16_t flags = events->flags[event];
    enum event_role role = (enum event_role)rows->role[event];
    if (!(flags & EVENT_HAS_TS) || !read_time(bytes + places->field[FIELD_TS].at, &rows->start[event]))
        return false;
    if (flags & EVENT_HAS_DUR && !places->field[FIELD_DUR].at) { /* a B event: the duration is not in its text */
        struct number dur = number_at(events->dur, event);
        if (!us_are_sound(number_as_double(dur)))
            return false;
        duration = ns_of_us(dur);
    } else if (flags & EVENT_HAS_DUR && !read_time(bytes + places->field[FIELD_DUR].at, &duration)) {
        return false;
    }
    bool endless =
        !(flags & EVENT_HAS_DUR) && (role == ROLE_OPERATOR || role == ROLE_ANNOTATION || role == ROLE_PYTHON);
    rows->end[event] = endless ? EVENT_NO_END : rows->start[event] + duration;
    return endless || (rows->end[event] < NUMBER_INTEGER_LIMIT && rows->end[event] > -NUMBER_INTEGER_LIMIT);
}

/* Reads an argument; one that is not an integer is absent. */
static void read_argument(struct row_block *block, struct json_span place, int64_t *value) {
    const char *text = block->fields.source->bytes + place.at;
    if (place.at && *text != 'n' && !field_integer(text, value))
        block->n_dropped++;
}

static void read_event(struct reading *reading, struct row_block *block, struct event_forms *learned, row_t event) {
    struct trace_rows *rows = reading->rows;
    struct event_spans places;
    rows->role[event] = (uint8_t)role_of(reading, event);
    if (reading->trace->events.flags[event] & EVENT_UNUSABLE)
        rows->role[event] = ROLE_NONE; /* as reported when the trace was read (facts/validity.h) */
    if (rows->role[event] == ROLE_NONE)
        return;
    event_find(reading->trace, event, learned, &places);
    if (!read_times(rows, &reading->trace->events, event, block->fields.source->bytes, &places)) {
        rows->role[event] = ROLE_NONE;
        block->n_untimed++;
        return;
    }
    rows->index[event] = rows->sequence[event] = -1;
    rows->flow[event] = places.field[FIELD_ID].at ? field_key(&block->fields, places.field[FIELD_ID]) : KEY_ABSENT;
    read_argument(block, places.field[FIELD_EVENT_INDEX], &rows->index[event]);
    if (rows->role[event] > ROLE_INSTANT)
        return;
    int64_t address = 0;
    read_argument(block, places.field[FIELD_SEQUENCE], &rows->sequence[event]);
    read_argument(block, places.field[FIELD_FORWARD_THREAD], &rows->forward_tid[event]);
    read_argument(block, places.field[FIELD_BYTES], &rows->bytes[event]);
    read_argument(block, places.field[FIELD_ADDRESS], &address);
    rows->memory[event] = (uint64_t)address;
}

static void read_block(void *arg, size_t number) {
    struct reading *reading = arg;
    struct event_forms learned = {0};
    row_t n = reading->trace->events.n;
    row_t begin = (row_t)part_offset(n, reading->n_blocks, number);
    row_t end = (row_t)part_offset(n, reading->n_blocks, number + 1);
    for (row_t event = begin; event < end; event++)
        read_event(reading, &reading->blocks[number], &learned, event);
    if (begin < end)
        events_passed(reading->trace, begin, end - 1);
    event_forms_free(&learned);
}

/* Finds the role of each string as a category. */
static uint8_t *find_roles(const struct strings *strings, struct arena *arena) {
    uint8_t *roles = arena_zeros(arena, strings->n, sizeof *roles);
    struct arena_mark mark = arena_mark(arena);
    const struct string_roles *known = names_find(strings, READER_TREE, arena);
    for (uint32_t string = 0; string < strings->n && known; string++)
        for (size_t i = 0; i < sizeof known_categories / sizeof *known_categories; i++)
            if (known[string].category & known_categories[i].categories)
                roles[string] = (uint8_t)known_categories[i].role;
    arena_release(arena, mark);
    return roles;
}

/* Fills the columns of the trace's events, in parallel, in the arena. */
static enum sutra_status trace_rows_read(struct trace_rows *rows, struct sutra_context *context,
                                         const struct sutra_device_trace *trace, struct arena *arena,
                                         struct sutra_error *error) {
    const struct device_events *events = &trace->events;
    row_t n = events->n;
    *rows = (struct trace_rows){.role = arena_alloc(arena, n, sizeof(uint8_t)),
                                .start = arena_alloc(arena, n, sizeof(int64_t)),
                                .end = arena_alloc(arena, n, sizeof(int64_t)),
                                .index = arena_alloc(arena, n, sizeof(int64_t)),
                                .sequence = arena_alloc(arena, n, sizeof(int64_t)),
                                .forward_tid = arena_zeros(arena, n, sizeof(int64_t)),
                                .bytes = arena_zeros(arena, n, sizeof(int64_t)),
                                .memory = arena_zeros(arena, n, sizeof(uint64_t)),
                                .flow = arena_alloc(arena, n, sizeof(value_key)),
                                .thread = arena_alloc(arena, n, sizeof(uint32_t))};
    struct arena_mark mark = arena_mark(arena);
    struct reading reading = {
        .trace = trace, .roles = find_roles(&trace->strings, arena), .rows = rows, .n_blocks = n / BLOCK + 1};
    reading.blocks = arena_zeros(arena, reading.n_blocks, sizeof *reading.blocks);
    TRY(arena_status(arena, error));
    for (size_t i = 0; i < reading.n_blocks; i++)
        reading.blocks[i].fields = (struct field_reader){.source = &trace->document.source, .values = &context->values};
    pool_run(context->pool, reading.n_blocks, read_block, &reading);
    bool ok = true;
    for (size_t i = 0; i < reading.n_blocks; i++) {
        rows->n_dropped += reading.blocks[i].n_dropped;
        rows->n_untimed += reading.blocks[i].n_untimed;
        ok = ok && !reading.blocks[i].fields.failed;
        buffer_free(&reading.blocks[i].fields.scratch);
    }
    arena_release(arena, mark);
    TRY_ALLOC(ok, error);

    /* Number threads by process and tid, in the order of events. */
    struct event_threads threads;
    ok = event_threads_init(&threads);
    for (row_t event = 0; event < n && ok; event++) {
        if (rows->role[event] == ROLE_NONE)
            continue;
        rows->thread[event] = event_thread(&threads, events, event);
        ok = rows->thread[event] != PAIR_NONE;
    }
    rows->n_threads = threads.threads.n;
    event_threads_free(&threads);
    return ok ? SUTRA_OK : error_memory(error);
}

/* ---- Arrays of inputs ---- */

enum input_list { LIST_VALUES, LIST_TYPES, LIST_SHAPES, LIST_STRIDES, N_LISTS };

/* Arrays that are read in parallel; missing elements are absent. */
struct input_lists {
    struct json_walker walker[N_LISTS];
    bool more[N_LISTS];
};

/* Whether a value is a string that begins with the text. */
static bool source_begins(const struct input_source *source, struct json_span place, const char *with) {
    size_t length = strlen(with);
    return place.at && *source_text(source, place.at) == '"' && place.end - place.at > length &&
           memcmp(source_text(source, place.at) + 1, with, length) == 0;
}

static bool source_is(const struct input_source *source, struct json_span place, const char *text) {
    return place.at && *source_text(source, place.at) == '"' && place_is(&source->document->source, place, text);
}

static struct input_lists lists_open(const struct input_source *source, const struct json_span *places) {
    struct input_lists lists = {0};
    for (int i = 0; i < N_LISTS; i++) {
        if (!source_is_array(source, places[i]))
            continue;
        lists.walker[i] = source_walk(source, places[i].at);
        lists.more[i] = walk_array(&lists.walker[i]);
    }
    return lists;
}

/* Steps to the next element of each array; false at the end of `leading`. */
static bool lists_step(struct input_lists *lists, enum input_list leading, struct json_span *places) {
    bool more = lists->more[leading];
    for (int i = 0; i < N_LISTS; i++) {
        places[i] = lists->more[i] ? walk_value(&lists->walker[i]) : (struct json_span){0};
        lists->more[i] = lists->more[i] && walk_element_end(&lists->walker[i]);
    }
    return more;
}

/* ---- Inputs in the device trace ---- */

/* Adds one input, as the device trace records it. */
static void add_device_input(struct input_source *source, const struct json_span *places) {
    struct json_span type = places[LIST_TYPES], value = places[LIST_VALUES];
    bool text = value.at && *source_text(source, value.at) == '"';
    if (source_is(source, type, "Scalar")) {
        source_add_scalar(source, text ? source_text(source, value.at) + 1 : "", text ? value.end - value.at - 1 : 0);
    } else if (source_is(source, type, "TensorList")) {
        struct json_span lists_at[N_LISTS] = {
            [LIST_SHAPES] = places[LIST_SHAPES], [LIST_STRIDES] = places[LIST_STRIDES]};
        struct json_span member[N_LISTS];
        struct input_lists lists = lists_open(source, lists_at);
        source_add_tag(source, SUTRA_INPUT_LIST);
        while (lists_step(&lists, LIST_SHAPES, member) && !source->status)
            source_add_tensor(source, (struct sutra_tensor){0}, member[LIST_SHAPES], member[LIST_STRIDES]);
        source_add_tag(source, SUTRA_INPUT_END);
    } else if (source_is(source, type, "ScalarList") || source_is(source, type, "GenericList")) {
        source_add_tag(source, SUTRA_INPUT_OTHER);
    } else if (type.at && *source_text(source, type.at) == '"' && type.end > type.at + 1) {
        char dtype[64];
        size_t length = type.end - type.at - 1;
        length = length < sizeof dtype ? length : sizeof dtype - 1;
        memcpy(dtype, source_text(source, type.at) + 1, length);
        dtype[length] = 0;
        source_add_tensor(source, (struct sutra_tensor){.dtype = dtype}, places[LIST_SHAPES], places[LIST_STRIDES]);
    } else {
        source_add_tag(source, SUTRA_INPUT_UNDEFINED);
    }
}

/* Reads the inputs of all operators from the device trace. */
static enum sutra_status read_device_inputs(struct sutra_profile *profile, struct sutra_error *error) {
    const struct sutra_device_trace *trace = profile->trace;
    TRY(sutra_inputs_create(SUTRA_TORCH_VERSION_2, &profile->inputs, error));
    struct event_forms learned = {0};
    struct input_source source = {.document = &trace->document, .inputs = profile->inputs, .error = error};
    for (row_t row = 0; row < profile->n && !source.status; row++) {
        struct event_spans event;
        struct json_span input[N_LISTS];
        if (profile->kind[row] != SUTRA_EVENT_OPERATOR)
            continue;
        event_find(trace, profile->event[row], &learned, &event);
        const struct json_span places[N_LISTS] = {[LIST_VALUES] = event.field[FIELD_CONCRETE_INPUTS],
                                                  [LIST_TYPES] = event.field[FIELD_INPUT_TYPES],
                                                  [LIST_SHAPES] = event.field[FIELD_INPUT_SHAPES],
                                                  [LIST_STRIDES] = event.field[FIELD_INPUT_STRIDES]};
        struct input_lists lists = lists_open(&source, places);
        while (lists_step(&lists, LIST_TYPES, input) && !source.status)
            add_device_input(&source, input);
        source_add_tag(&source, SUTRA_INPUT_END);
    }
    event_forms_free(&learned);
    buffer_free(&source.sizes);
    return source.status;
}

/* ---- Numbers and inputs in the host trace ---- */

enum node_number { NODE_TID, NODE_FORWARD_TID, NODE_SEQUENCE, NODE_SCOPE, N_NUMBERS };
static const char *const number_names[N_NUMBERS] = {"tid", "fw_tid", "seq_id", "scope"};
static const char *const flat_names[N_LISTS] = {"inputs", "input_types", "input_shapes", "input_strides"};
static const char *const list_names[N_LISTS] = {"values", "types", "shapes", "strides"};

struct number_places {
    struct json_span number[N_NUMBERS], list[N_LISTS];
};

struct host_reader {
    struct sutra_profile *profile;
    const struct sutra_host_trace *host;
    struct input_source source;
    struct field_reader fields;
    struct thread_numbers devices;
};

static bool find_name(const struct host_reader *reader, struct json_span key, const char *const *names, int n,
                      int *found) {
    for (*found = 0; *found < n; ++*found)
        if (place_is(&reader->source.document->source, key, names[*found]))
            return true;
    return false;
}

static void find_attributes(const struct host_reader *reader, size_t at, struct number_places *places) {
    struct json_walker walker = source_walk(&reader->source, at);
    for (bool more = walk_array(&walker); more; more = walk_element_end(&walker)) {
        int number;
        if (walk_char(&walker) != '{') {
            walk_value(&walker);
            continue;
        }
        struct attribute_spans found = walk_any_attribute(&walker);
        if (found.name.end && find_name(reader, found.name, number_names, N_NUMBERS, &number))
            places->number[number] = found.value;
    }
}

static void find_lists(const struct host_reader *reader, size_t at, struct number_places *places) {
    struct json_walker walker = source_walk(&reader->source, at);
    int list;
    for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
        struct json_span key = walk_key(&walker), place = walk_value(&walker);
        if (find_name(reader, key, list_names, N_LISTS, &list))
            places->list[list] = place;
    }
}

static void find_fields(const struct host_reader *reader, row_t node, struct number_places *places) {
    struct json_walker walker = source_walk(&reader->source, reader->host->nodes.text[node]);
    int field;
    memset(places, 0, sizeof *places);
    for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
        struct json_span key = walk_key(&walker), place = walk_value(&walker);
        char first = *source_text(&reader->source, place.at);
        if (first == '[' && place_is(&reader->source.document->source, key, "attrs"))
            find_attributes(reader, place.at, places);
        else if (first == '{' && place_is(&reader->source.document->source, key, "inputs"))
            find_lists(reader, place.at, places);
        else if (find_name(reader, key, number_names, N_NUMBERS, &field))
            places->number[field] = place;
        else if (find_name(reader, key, flat_names, N_LISTS, &field))
            places->list[field] = place;
    }
}

/* Copies the text between the parentheses of "Tensor(float)". */
static void dtype_of(const struct host_reader *reader, struct json_span type, char *dtype, size_t size) {
    const char *open = "Tensor(", *text = source_text(&reader->source, type.at) + 1;
    size_t length = type.at ? type.end - type.at - 1 : 0, skip = strlen(open);
    bool plain = length > skip && memcmp(text, open, skip) == 0 && text[length - 1] == ')';
    size_t n = plain ? length - skip - 1 : 0;
    n = n < size ? n : size - 1;
    memcpy(dtype, text + skip, n);
    dtype[n] = 0;
}

static void add_host_tensor(struct host_reader *reader, const struct json_span *places) {
    char dtype[64];
    int64_t id[2] = {0}; /* tensor, storage */
    uint32_t device = 0;
    int n = 0;
    struct json_walker walker = source_walk(&reader->source, places[LIST_VALUES].at);
    for (bool more = walk_array(&walker); more; more = walk_element_end(&walker), n++) {
        struct json_span place = walk_value(&walker);
        if (n < 2)
            source_integer(&reader->source, place, &id[n]);
        if (n == 5)
            device = thread_number(&reader->devices, (uint64_t)field_key(&reader->fields, place), 0);
    }
    if (device == PAIR_NONE)
        reader->fields.failed = true;
    dtype_of(reader, places[LIST_TYPES], dtype, sizeof dtype);
    struct sutra_tensor tensor = {
        .impl = (uint64_t)id[0], .storage = (uint64_t)id[1], .device_index = (int32_t)device, .dtype = dtype};
    source_add_tensor(&reader->source, tensor, places[LIST_SHAPES], places[LIST_STRIDES]);
}

/* Adds one input, as the host trace records it. */
static void add_host_input(struct host_reader *reader, const struct json_span *places) {
    struct input_source *source = &reader->source;
    struct json_span type = places[LIST_TYPES], value = places[LIST_VALUES];
    bool array = source_is_array(source, value);
    if (array && source_begins(source, type, "Tensor")) {
        add_host_tensor(reader, places);
    } else if (array && source_begins(source, type, "GenericList[Tensor")) {
        struct input_lists lists = lists_open(source, places);
        struct json_span member[N_LISTS];
        source_add_tag(source, SUTRA_INPUT_LIST);
        while (lists_step(&lists, LIST_VALUES, member) && !source->status) {
            member[LIST_TYPES] = (struct json_span){0}; /* the list has the type */
            if (source_is_array(source, member[LIST_VALUES]))
                add_host_tensor(reader, member);
            else
                source_add_tag(source, SUTRA_INPUT_UNDEFINED);
        }
        source_add_tag(source, SUTRA_INPUT_END);
    } else if (source_is(source, type, "Int") || source_is(source, type, "Double") || source_is(source, type, "Bool")) {
        const char *text = source_text(source, value.at);
        size_t length = 0;
        if (number_scan(text, &length) == NUMBER_FORM_BAD)
            length = *text == 't' ? 4 : *text == 'f' ? 5 : 0;
        source_add_scalar(source, text, length);
    } else {
        source_add_tag(source, SUTRA_INPUT_OTHER);
    }
}

/* Reads the node of each operator; returns the number of operators with a node. */
static row_t read_nodes(struct host_reader *reader, const struct key_index *nodes) {
    struct sutra_profile *profile = reader->profile;
    struct input_source *source = &reader->source;
    row_t n_found = 0;
    for (row_t row = 0; row < profile->n && !source->status; row++) {
        struct number_places places;
        struct json_span input[N_LISTS];
        if (profile->kind[row] != SUTRA_EVENT_OPERATOR)
            continue;
        value_key rf = profile->trace->events.rf[profile->event[row]];
        row_t node = key_is_value(rf) && rf != 0 ? key_index_find(nodes, rf) : ROW_NONE;
        if (node == ROW_NONE) {
            source_add_tag(source, SUTRA_INPUT_END);
            continue;
        }
        find_fields(reader, node, &places);
        int64_t number[N_NUMBERS] = {0, 0, -1, 0};
        for (int i = 0; i < N_NUMBERS; i++)
            source_integer(source, places.number[i], &number[i]);
        int64_t scope = number[NODE_SCOPE];
        profile->tid[row] = number[NODE_TID];
        profile->scope[row] = (uint8_t)(scope >= 0 && scope < UINT8_MAX ? scope : 0);
        if (profile->sequence[row] < 0)
            profile->sequence[row] = number[NODE_SEQUENCE];
        if (profile->forward_tid[row] <= 0)
            profile->forward_tid[row] = number[NODE_FORWARD_TID];
        struct input_lists lists = lists_open(source, places.list);
        while (lists_step(&lists, LIST_VALUES, input) && !source->status)
            add_host_input(reader, input);
        n_found++;
        source_add_tag(source, SUTRA_INPUT_END);
    }
    if (reader->fields.failed && !source->status)
        source->status = error_memory(source->error);
    return n_found;
}

/* Copies the numbers of backward operators to the operators that evaluate them. */
static enum sutra_status plumb(struct sutra_profile *profile, struct sutra_error *error) {
    struct arena scratch = {0};
    uint8_t *evaluates = arena_alloc(&scratch, profile->n, sizeof *evaluates);
    row_t n = 0; /* operators: they are the first rows */
    for (; evaluates && n < profile->n && profile->kind[n] != SUTRA_EVENT_KINETO; n++) {
        const char *name = sutra_profile_name(profile, n);
        evaluates[n] = sutra_autograd_evaluates(name, strlen(name));
    }
    enum sutra_status status = arena_status(&scratch, error);
    if (!status)
        status = sutra_autograd_plumb(n, profile->n_threads, profile->thread, profile->scope, evaluates,
                                      profile->sequence, profile->forward_tid, error);
    arena_free(&scratch);
    return status;
}

/* Reads numbers and inputs from the host trace, for operators with the same rf_id. */
static enum sutra_status read_host(struct sutra_profile *profile, struct sutra_context *context,
                                   const struct sutra_host_trace *host, struct sutra_error *error) {
    row_t n_found = 0;
    TRY(sutra_inputs_create(SUTRA_TORCH_VERSION_2, &profile->inputs, error));
    struct host_reader reader = {.profile = profile,
                                 .host = host,
                                 .source = {.document = &host->document, .inputs = profile->inputs, .error = error},
                                 .fields = {.source = &host->document.source, .values = &context->values}};
    struct key_index index = {0};
    enum sutra_status status = thread_numbers_init(&reader.devices) ? SUTRA_OK : error_memory(error);
    if (!status)
        status = key_index_build(&index, &context->engine, host->nodes.rf, host->nodes.n, KEY_FIRST, NULL, error);
    if (!status) {
        n_found = read_nodes(&reader, &index);
        status = reader.source.status;
    }
    key_index_free(&index);
    thread_numbers_free(&reader.devices);
    buffer_free(&reader.source.sizes);
    buffer_free(&reader.fields.scratch);
    if (status)
        return status;
    profile->has_ids = n_found > 0;
    if (n_found)
        return plumb(profile, error);
    context_warn(context, "no operator of the device trace has an rf_id of the host trace: ignoring the host trace");
    sutra_inputs_free(profile->inputs);
    profile->inputs = NULL;
    return SUTRA_OK;
}

/* ---- Rows of the profile ---- */

static void append_event(struct sutra_profile *profile, const struct trace_rows *rows, row_t event) {
    const struct sutra_device_trace *trace = profile->trace;
    enum event_role role = (enum event_role)rows->role[event];
    enum sutra_event_kind kind = SUTRA_EVENT_KINETO;
    if (role == ROLE_OPERATOR || role == ROLE_ANNOTATION)
        kind = SUTRA_EVENT_OPERATOR;
    else if (role == ROLE_PYTHON)
        kind = SUTRA_EVENT_PYTHON_CALL;
    else if (role == ROLE_INSTANT)
        kind = trace->events.name[event] == strings_find(&trace->strings, "[OutOfMemory]", 13)
                   ? SUTRA_EVENT_OUT_OF_MEMORY
                   : SUTRA_EVENT_ALLOCATION;
    row_t row = profile_append(profile, kind, event);
    profile->scope[row] = role == ROLE_ANNOTATION ? SUTRA_SCOPE_USER : SUTRA_SCOPE_FUNCTION;
    profile->gpu[row] = role == ROLE_GPU_OPERATOR ? EVENT_GPU_OPERATOR
                        : role == ROLE_ON_DEVICE  ? EVENT_ON_DEVICE
                                                  : EVENT_ON_HOST;
    if (rows->index[event] >= 0)
        profile->index[row] = rows->index[event];
    profile->name[row] = trace->events.name[event];
    profile->start[row] = rows->start[event];
    profile->end[row] = event_is_memory((uint8_t)kind) ? rows->start[event] : rows->end[event];
    profile->thread[row] = rows->thread[event];
    profile->memory[row] = rows->memory[event];
    profile->bytes[row] = rows->bytes[event];
    if (kind == SUTRA_EVENT_OPERATOR) {
        profile->sequence[row] = rows->sequence[event];
        profile->forward_tid[row] = rows->forward_tid[event];
    }
}

/* Sorts the profiler's events by index if all have one; else they stay in file order. */
static enum sutra_status sort_by_index(struct sutra_context *context, const struct trace_rows *rows, row_t *order,
                                       row_t n, struct arena *arena, struct sutra_error *error) {
    uint64_t *keys = arena_alloc(arena, n, sizeof *keys);
    row_t n_indexed = 0, n_repeated = 0;
    TRY_ALLOC(keys, error);
    for (row_t i = 0; i < n; i++) {
        n_indexed += rows->index[order[i]] >= 0;
        keys[i] = (uint64_t)rows->index[order[i]];
    }
    if (n_indexed < n) {
        if (n_indexed)
            context_warn(context, "%u of %u events of the profiler have no \"Ev Idx\": using the order of the file",
                         n - n_indexed, n);
        return SUTRA_OK;
    }
    TRY(context->engine.sort_keys(context->engine.state, &(struct sort_keys_step){keys, order, n}, error));
    for (row_t i = 1; i < n; i++)
        n_repeated += keys[i] == keys[i - 1];
    if (n_repeated)
        context_warn(context, "%s the \"Ev Idx\" of another event",
                     counted_text(n_repeated, "event has", "events have").text);
    return SUTRA_OK;
}

/* Appends the profiler's events, by index, then Kineto's events, in file order. */
static enum sutra_status append_events(struct sutra_profile *profile, struct sutra_context *context,
                                       const struct trace_rows *rows, struct arena *arena, struct sutra_error *error) {
    const struct device_events *events = &profile->trace->events;
    profile->n_threads = rows->n_threads;
    TRY_ALLOC(profile_reserve(profile, events->n + 1), error);
    struct arena_mark mark = arena_mark(arena);
    row_t n = 0, *order = arena_alloc(arena, events->n, sizeof *order);
    for (row_t event = 0; event < events->n && order; event++)
        if (rows->role[event] >= ROLE_OPERATOR && rows->role[event] <= ROLE_INSTANT)
            order[n++] = event;
    TRY(sort_by_index(context, rows, order, n, arena, error));
    for (row_t i = 0; i < n; i++)
        append_event(profile, rows, order[i]);
    arena_release(arena, mark);
    for (row_t event = 0; event < events->n; event++) {
        uint8_t role = rows->role[event];
        if (role >= ROLE_CALL && role <= ROLE_ON_DEVICE)
            append_event(profile, rows, event);
        profile->report.n_other += role == ROLE_NONE && events->phase[event] == 'X';
    }
    return SUTRA_OK;
}

static void warn(struct sutra_context *context, const struct trace_rows *rows, const struct sutra_profile *profile) {
    if (profile->n == 0)
        context_warn(context,
                     "%s: none of its %u events is an operator, a runtime call or GPU activity: the result is empty",
                     profile->trace->document.source.name, profile->trace->events.n);
    if (rows->n_dropped)
        context_warn(context, "%s: ignored",
                     counted_text(rows->n_dropped, "argument of an event is not an integer",
                                  "arguments of events are not integers")
                         .text);
    if (rows->n_untimed)
        context_warn(context, "%s no start, or times beyond 2^62 ns: skipped",
                     counted_text(rows->n_untimed, "event has", "events have").text);
}

/* Runs all steps; the profile is empty. */
static enum sutra_status run_steps(struct sutra_profile *profile, struct sutra_context *context,
                                   const struct sutra_host_trace *host, const struct sutra_profile_options *options,
                                   struct arena *arena, struct sutra_error *error) {
    struct trace_rows rows;
    TRY(trace_rows_read(&rows, context, profile->trace, arena, error));
    TRY(append_events(profile, context, &rows, arena, error));
    TRY(error_name_file(error, find_kineto_parents(profile, context, &rows, options->rocm, arena, error),
                        profile->trace->document.source.name));
    if (host)
        TRY(read_host(profile, context, host, error));
    if (options->inputs && !profile->inputs)
        TRY(read_device_inputs(profile, error));
    TRY(find_autograd_threads(profile, &rows, host, error));

    /* Older traces have whole microseconds. */
    profile->whole_us = true;
    for (row_t row = 0; row < profile->n && profile->whole_us; row++)
        profile->whole_us =
            profile->start[row] % 1000 == 0 && (profile->end[row] == EVENT_NO_END || profile->end[row] % 1000 == 0);
    profile_count(profile);
    warn(context, &rows, profile);
    return SUTRA_OK;
}

enum sutra_status sutra_profile_from_trace(struct sutra_context *context, const struct sutra_device_trace *trace,
                                           const struct sutra_host_trace *host,
                                           const struct sutra_profile_options *options, struct sutra_profile **profile,
                                           struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_profile_options, inputs);
    struct sutra_profile_options chosen;
    TRY(options_copy(&form, options, &chosen, error));
    struct arena arena = {0};
    struct sutra_profile *made = profile_new();
    TRY_ALLOC(made, error);
    made->trace = trace;
    made->strings = &trace->strings;
    context_choose_engine(context, NO_MATCHING);
    stage_begin(context, "build profile", trace->events.n);
    enum sutra_status status = run_steps(made, context, host, &chosen, &arena, error);
    stage_end(context);
    arena_free(&arena);
    if (status)
        sutra_profile_free(made);
    else
        *profile = made;
    return status;
}
