/*
 * op_fields.c - implements op_fields.h. Threads read blocks of nodes; thread ids that are no integers are read
 * afterwards, since the table of their values is shared.
 */
#include "align/op_fields.h"

#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "facts/names.h"
#include "read/event_columns.h"

/* ---- Fields of a node ---- */

static const struct {
    const char *key;
    size_t length;
} placed[] = {
#define X(name, key) {key, sizeof key - 1},
    PLACED_FIELDS(X)
#undef X
};

const char *placed_key(enum placed_field field) {
    return placed[field].key;
}

static unsigned find_attribute(const struct json_walker *walker, struct json_span name) {
    return place_is(walker->source, name, "tid")      ? PLACED_TID_ATTRIBUTE
           : place_is(walker->source, name, "seq_id") ? PLACED_SEQUENCE_ATTRIBUTE
                                                      : N_PLACES;
}

/* The list of attributes; the last one of a name counts. */
static void walk_attributes(struct json_walker *walker, struct node_leaves *leaves, struct node_places *places) {
    for (bool more = walk_array(walker); more; more = walk_element_end(walker)) {
        unsigned field;
        if (walk_char(walker) != '{') {
            leaves->unusual = true;
            walk_value(walker);
            continue;
        }
        struct json_span found = node_attribute(walker, leaves, find_attribute, N_PLACES, &field);
        if (field < N_PLACES && found.at)
            places->field[field] = found;
    }
}

/* The number of a member's field; keys with escapes are compared decoded. */
static unsigned find_placed(const struct json_walker *walker, struct json_span key) {
    const char *raw = walker->text + key.at + 1;
    const size_t length = key.end - key.at - 1;
    const bool escaped = memchr(raw, '\\', length) != NULL;
    unsigned field = 0;
    while (field < N_PLACED && !(placed[field].length == length && memcmp(placed[field].key, raw, length) == 0) &&
           !(escaped && place_is(walker->source, key, placed[field].key)))
        field++;
    return field < N_PLACED ? field : N_PLACES;
}

static void walk_node(struct json_walker *walker, bool is_flat, bool learns, struct node_leaves *leaves,
                      struct node_places *places) {
    for (bool more = walk_object(walker); more; more = walk_member_end(walker)) {
        struct json_span key = walk_key(walker);
        if (!key.at)
            break;
        const unsigned field = find_placed(walker, key);
        const bool is_object = walk_char(walker) == '{';
        if (!is_flat && walk_char(walker) == '[' && place_is(walker->source, key, "attrs")) {
            leaves->unusual |= leaves->attributes != 0;
            leaves->attributes = walker->at;
            walk_attributes(walker, leaves, places);
        } else if (is_object && learns) { /* inputs or outputs: each value is a leaf */
            for (bool inner = walk_object(walker); inner; inner = walk_member_end(walker)) {
                struct json_span name = walk_key(walker);
                const bool is_values = field == PLACED_INPUTS && place_is(walker->source, name, "values");
                struct json_span value = node_leaf(walker, leaves, is_values ? PLACED_VALUES : N_PLACES);
                if (is_values)
                    places->field[PLACED_VALUES] = value;
            }
        } else {
            struct json_span value = learns ? node_leaf(walker, leaves, field) : walk_value(walker);
            if (field < N_PLACES)
                places->field[field] = value;
        }
    }
}

void node_places_read(const struct sutra_host_trace *host, row_t node, struct event_forms *forms,
                      struct node_places *places) {
    struct json_walker walker = walk_from(&host->document.source, host->nodes.text[node]);
    bool has_attributes;
    *places = (struct node_places){0};
    if (!forms || !node_walk_learned(&walker, forms, N_PLACES, places->field, &has_attributes)) {
        struct node_leaves leaves = {.n = 0};
        *places = (struct node_places){0};
        walk_node(&walker, host->flat, forms != NULL, &leaves, places);
        if (forms && !walker.expected && !leaves.unusual)
            node_learn(forms, walker.text, host->nodes.text[node], trim_end(walker.text, walker.at), &leaves, N_PLACES);
    }
    if (places->field[PLACED_TID_ATTRIBUTE].at)
        places->field[PLACED_TID] = places->field[PLACED_TID_ATTRIBUTE];
    if (places->field[PLACED_SEQUENCE_ATTRIBUTE].at)
        places->field[PLACED_SEQUENCE] = places->field[PLACED_SEQUENCE_ATTRIBUTE];
}

value_key placed_sequence(const struct source *source, const struct node_places *places) {
    const size_t at = places->field[PLACED_SEQUENCE].at;
    int64_t sequence;
    return at && field_integer(source->bytes + at, &sequence) && sequence >= 0 ? sequence : KEY_ABSENT;
}

/* The beginning of the names of markers; "execution_trace" or "execution_graph" follows. */
#define MARKER_PREFIX "[pytorch|profiler|execution_"

/* The first integer of a list of inputs, which may be a string; KEY_ABSENT: none. O(length of the list). */
static value_key first_integer(const struct source *source, struct json_span list) {
    value_key found = KEY_ABSENT;
    struct json_walker walker = walk_from(source, list.at);
    if (walk_char(&walker) != '[')
        return found;
    for (bool more = walk_array(&walker); more && found == KEY_ABSENT; more = walk_element_end(&walker)) {
        struct json_span value = walk_value(&walker);
        const char *text = source->bytes + value.at;
        int64_t integer;
        size_t sign = text[0] == '"' && text[1] == '-',
               n_digits = text[0] == '"' ? strspn(text + 1 + sign, "0123456789") : 0;
        if (n_digits && n_digits < 19 && text[1 + sign + n_digits] == '"') {
            found = 0;
            for (size_t i = 0; i < n_digits; i++)
                found = found * 10 + (text[1 + sign + i] - '0');
            found = sign ? -found : found;
        } else if (*text != '"' && *text != 't' && *text != 'f' && field_integer(text, &integer)) {
            found = integer;
        }
    }
    return found;
}

/* Tasks per thread. */
#define TASKS_PER_THREAD 4

struct node_reading {
    struct node_fields *fields;
    const struct sutra_host_trace *host;
    const row_t *node;
    row_t n;
    const struct strings *names;
    struct json_span *tid; /* of nodes whose tid is not read yet */
    size_t n_tasks;
    atomic_bool failed; /* out of memory */
};

static void read_nodes(void *arg, size_t task) {
    struct node_reading *reading = arg;
    const struct source *source = &reading->host->document.source;
    struct node_fields *fields = reading->fields;
    struct field_reader reader = {.source = source};
    struct event_forms forms = {0};
    const size_t begin = part_offset(reading->n, reading->n_tasks, task);
    const size_t end = part_offset(reading->n, reading->n_tasks, task + 1);
    for (size_t i = begin; i < end; i++) {
        struct node_places places;
        int64_t integer;
        size_t length = 0;
        node_places_read(reading->host, reading->node[i], &forms, &places);
        struct json_span tid = places.field[PLACED_TID];
        struct json_span name = places.field[PLACED_NAME], inputs = places.field[PLACED_INPUTS];
        inputs = places.field[PLACED_VALUES].at ? places.field[PLACED_VALUES] : inputs;
        const char *text = name.at && source->bytes[name.at] == '"' ? field_string(&reader, name, &length) : NULL;
        const bool is_marker =
            text && length >= strlen(MARKER_PREFIX) && memcmp(text, MARKER_PREFIX, strlen(MARKER_PREFIX)) == 0;
        fields->token[i] = text ? strings_find(reading->names, text, length) : TOKEN_NONE;
        fields->kind[i] = is_marker                                                    ? NODE_MARKER
                          : text && memmem(text, length, STEP_NAME, strlen(STEP_NAME)) ? NODE_STEP
                                                                                       : NODE_OPERATOR;
        const bool is_comms = text && length == strlen(COMMS_NAME) && memcmp(text, COMMS_NAME, length) == 0;
        fields->collective[i] = KEY_ABSENT;
        if (is_comms && inputs.at)
            fields->collective[i] = first_integer(source, inputs);
        fields->sequence[i] = placed_sequence(source, &places);
        reading->tid[i] = (struct json_span){0};
        fields->tid[i] = KEY_ABSENT;
        if (tid.at && field_integer(source->bytes + tid.at, &integer) && key_is_integer(integer))
            fields->tid[i] = integer;
        else
            reading->tid[i] = tid;
    }
    if (reader.failed)
        atomic_store(&reading->failed, true);
    buffer_free(&reader.scratch);
    event_forms_free(&forms);
}

enum sutra_status node_fields_read(struct node_fields *fields, struct sutra_context *context,
                                   const struct sutra_host_trace *host, const row_t *node, row_t n,
                                   const struct strings *names, struct arena *arena, struct sutra_error *error) {
    *fields = (struct node_fields){.kind = arena_alloc(arena, n, 1),
                                   .token = arena_alloc(arena, n, sizeof *fields->token),
                                   .tid = arena_alloc(arena, n, sizeof *fields->tid),
                                   .sequence = arena_alloc(arena, n, sizeof *fields->sequence),
                                   .collective = arena_alloc(arena, n, sizeof *fields->collective)};
    struct arena_mark mark = arena_mark(arena);
    struct node_reading reading = {.fields = fields,
                                   .host = host,
                                   .node = node,
                                   .n = n,
                                   .names = names,
                                   .tid = arena_alloc(arena, n, sizeof *reading.tid),
                                   .n_tasks = (size_t)pool_threads(context->pool) * TASKS_PER_THREAD};
    struct field_reader reader = {.source = &host->document.source, .values = &context->values};
    TRY(arena_status(arena, error));
    pool_run(context->pool, reading.n_tasks, read_nodes, &reading);
    for (row_t i = 0; i < n; i++)
        if (reading.tid[i].at)
            fields->tid[i] = field_key(&reader, reading.tid[i]);
    bool failed = reader.failed || atomic_load(&reading.failed);
    buffer_free(&reader.scratch);
    arena_release(arena, mark);
    return failed ? error_memory(error) : SUTRA_OK;
}

/* ---- Numbers of events ---- */

enum sutra_status event_numbers_read(struct op_side *side, struct sutra_context *context,
                                     const struct sutra_device_trace *device, const row_t *event,
                                     struct sutra_error *error) {
    static const struct requested_field sequence = {SEQUENCE_FIELD, ASK_KEY, false};
    static const struct requested_field inputs = {"Concrete Inputs", ASK_PLACE, false};
    struct requested_column column = {0};
    struct arena scratch = {0};
    row_t n = 0, *comms = arena_alloc(&scratch, side->n, sizeof *comms);
    const uint32_t comms_name = strings_find(&device->strings, COMMS_NAME, strlen(COMMS_NAME));
    enum sutra_status status = arena_status(&scratch, error);
    if (!status)
        status = event_columns_request(context, device, &sequence, 1, event, side->n, &column, error);
    for (row_t i = 0; i < side->n && !status; i++) {
        value_key number = column.key[event[i]];
        side->sequence[i] = key_is_integer(number) && number >= 0 ? number : KEY_ABSENT;
        if (comms_name != STRING_NONE && device->events.name[event[i]] == comms_name)
            comms[n++] = event[i];
    }
    if (!status && n)
        status = event_columns_request(context, device, &inputs, 1, comms, n, &column, error);
    for (row_t i = 0; i < side->n && n && !status; i++)
        if (device->events.name[event[i]] == comms_name && column.place[event[i]].at)
            side->collective[i] = first_integer(&device->document.source, column.place[event[i]]);
    arena_free(&scratch);
    return status;
}
