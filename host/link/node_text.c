/*
 * node_text.c - templates of nodes, and the nodes of ET+ made from them.
 *
 *     template     "id": 7,|"name": "aten::mm",|"inputs": {...},|         members in a buffer, each with its field
 *     values       id 12, ts 5, inclusive_dur 30                          what linking sets, and a bit for each
 *     node         "id": 12,|"name": "aten::mm",|"inputs": {...},|"inclusive_dur": 30,|"ts": 5
 *
 * Members without a field are copied as they are. Cost: O(bytes of the node).
 */
#include "link/node_text.h"

#include <stdlib.h>
#include <string.h>

#include "link/node_layout.h"
#include "read/event_places.h"
#include "text/string_text.h"

/* Which fields a node sets, and from what. */
struct node_values {
    const struct sutra_linked *linked;
    uint32_t set;                     /* a bit per enum node_field */
    int64_t id, ctrl_deps, waits_for; /* waits_for below 0: null */
    struct number inclusive, exclusive, ts;
    row_t gpu;         /* the event of a GPU node */
    const row_t *sync; /* the GPU nodes that it waits for */
    row_t n_sync;
};

static enum node_field field_of(const char *key, size_t length) {
    static const struct {
        const char *key;
        size_t length;
    } fields[] = {
#define X(name, key) {key, sizeof key - 1},
        NODE_FIELDS(X)
#undef X
    };
    for (int field = 0; field < NODE_N_FIELDS; field++)
        if (fields[field].length == length && memcmp(fields[field].key, key, length) == 0)
            return (enum node_field)field;
    return NODE_OTHER;
}

static bool reserve_fields(struct node_template *template, size_t n) {
    if (n <= template->field_capacity)
        return true;
    uint8_t *field = realloc(template->field, n + 64);
    if (!field)
        return false;
    template->field = field;
    template->field_capacity = n + 64;
    return true;
}

void node_template_read(struct node_template *template, const struct sutra_host_trace *host, row_t node) {
    struct json_emitter *emitter = &template->emitter;
    struct json_walker walker = walk_from(&host->document.source, host->nodes.text[node]);
    template->text.length = 0;
    emitter->out = &template->text;
    if (!emitter->values) /* without them, for want of memory, it only takes longer */
        emitter->values = calloc(EMITTED_VALUES, sizeof *emitter->values);
    emitter->members.n = 0;
    for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
        node_separate(&template->text, false);
        struct json_place key = walk_string(&walker);
        walk_next(&walker); /* the colon */
        emit_member_key(emitter, &walker, key);
        size_t n = emitter->members.n;
        emit_value(emitter, &walker, NODE_LEVEL + 1);
        emitter->members.n = n;
        end_member(emitter);
    }
    merge_members(emitter, 0);
    template->failed |= emitter->failed || template->text.failed || !reserve_fields(template, emitter->members.n);
    for (size_t i = 0; i < emitter->members.n && !template->failed; i++) {
        const struct emitted_member *member = &emitter->members.list[i];
        template->field[i] = (uint8_t)field_of(template->text.bytes + member->start + 1, member->key);
    }
}

void node_template_free(struct node_template *template) {
    json_emitter_free(&template->emitter);
    buffer_free(&template->text);
    buffer_free(&template->values);
    free(template->field);
    *template = (struct node_template){0};
}

static void write_integer(struct buffer *out, int64_t value) {
    emit_number(out, number_integer(value));
}

static void write_string(struct buffer *out, const struct strings *strings, uint32_t string) {
    size_t length = strings_length(strings, string);
    char *to = buffer_reserve(out, 6 * length + 2);
    if (!to)
        return;
    *to = '"';
    size_t written = string_encode(strings_text(strings, string), length, to + 1);
    to[written + 1] = '"';
    out->length += written + 2;
}

/* Where a field of the event stands in the device trace; at 0: it has none. */
static struct json_place event_field_place(const struct sutra_device_trace *device, row_t event,
                                           enum event_field field) {
    const struct document *document = &device->document;
    struct event_places places;
    struct json_walker walker = walk_from(&document->source, device->events.text[event]);
    if (walk_char(&walker) != '{')
        return (struct json_place){0};
    walk_event(&walker, NULL, &places);
    return places.field[field];
}

/* Whether the event has the field with a value other than null. */
static bool has_in_event(const struct sutra_device_trace *device, row_t event, enum event_field field) {
    size_t at = event_field_place(device, event, field).at;
    return at && device->document.source.bytes[at] != 'n';
}

/* A value of the device trace, which the event has, as it stands there. */
static void write_from_event(struct node_template *template, const struct sutra_device_trace *device, row_t event,
                             enum event_field field, struct buffer *out) {
    struct json_place place = event_field_place(device, event, field);
    struct json_emitter emitter = {.out = out, .scratch = template->values};
    struct json_walker walker = walk_from(&device->document.source, place.at);
    emit_value(&emitter, &walker, NODE_LEVEL + 1);
    template->failed |= emitter.failed;
    template->values = emitter.scratch;
    emitter.scratch = (struct buffer){0};
    json_emitter_free(&emitter);
}

static void write_stream(struct node_template *template, const struct node_values *values, struct buffer *out) {
    const struct sutra_device_trace *device = values->linked->device;
    if (device->events.flags[values->gpu] & EVENT_STREAM_INTEGER)
        write_integer(out, device->events.stream[values->gpu]);
    else if (device->events.stream[values->gpu] == KEY_ABSENT)
        buffer_append(out, "null", 4);
    else
        write_from_event(template, device, values->gpu, FIELD_STREAM, out);
}

static void write_phase(struct node_template *template, const struct node_values *values, struct buffer *out) {
    const struct sutra_device_trace *device = values->linked->device;
    char phase = (char)device->events.phase[values->gpu];
    if (phase == 0)
        buffer_append(out, "null", 4);
    else if (phase == PHASE_OTHER)
        write_from_event(template, device, values->gpu, FIELD_PHASE, out);
    else
        buffer_append(out, (char[]){'"', phase, '"'}, 3);
}

static void write_list(const struct node_values *values, struct buffer *out) {
    for (row_t i = 0; i < values->n_sync; i++) {
        buffer_append(out, i ? "," : "[", 1);
        emit_newline(out, NODE_LEVEL + 2);
        write_integer(out, values->sync[i]);
    }
    emit_newline(out, NODE_LEVEL + 1);
    buffer_append(out, "]", 1);
}

static void write_value(struct node_template *template, const struct node_values *values, enum node_field field,
                        struct buffer *out) {
    const struct sutra_device_trace *device = values->linked->device;
    switch (field) {
    case NODE_INCLUSIVE_DUR:
        emit_number(out, values->inclusive);
        return;
    case NODE_EXCLUSIVE_DUR:
        emit_number(out, values->exclusive);
        return;
    case NODE_TS:
        emit_number(out, values->ts);
        return;
    case NODE_INTER_THREAD_DEP:
        if (values->waits_for < 0)
            buffer_append(out, "null", 4);
        else
            write_integer(out, values->waits_for);
        return;
    case NODE_ID:
        write_integer(out, values->id);
        return;
    case NODE_CTRL_DEPS:
        write_integer(out, values->ctrl_deps);
        return;
    case NODE_CATEGORY:
        write_string(out, &device->strings, device->events.category[values->gpu]);
        return;
    case NODE_NAME:
        write_string(out, &device->strings, device->events.name[values->gpu]);
        return;
    case NODE_PHASE:
        write_phase(template, values, out);
        return;
    case NODE_STREAM:
        write_stream(template, values, out);
        return;
    case NODE_PROCESS_GROUP:
        write_from_event(template, device, values->gpu, FIELD_PROCESS_GROUP, out);
        return;
    case NODE_SYNC_DEP:
        write_list(values, out);
        return;
    case NODE_N_FIELDS:
        return;
    }
}

/* Set fields that the node lacks, at its end. */
static void append_fields(struct node_template *template, const struct node_values *values, uint32_t missing,
                          bool comma, struct buffer *out) {
    static const char *const keys[] = {
#define X(name, key) "\"" key "\": ",
        NODE_FIELDS(X)
#undef X
    };
    for (int field = 0; field < NODE_N_FIELDS; field++) {
        if (!(missing >> field & 1))
            continue;
        node_separate(out, !comma);
        buffer_append(out, keys[field], strlen(keys[field]));
        write_value(template, values, (enum node_field)field, out);
        comma = true;
    }
}

static void write_node(struct node_template *template, struct node_values *values, struct buffer *out) {
    const struct emitted_members *members = &template->emitter.members;
    values->sync = linked_waits_for(values->linked, (row_t)values->id, &values->n_sync);
    if (values->n_sync)
        values->set |= (uint32_t)1 << NODE_SYNC_DEP;
    uint32_t missing = values->set;
    size_t copied = 0;
    if (template->failed)
        return;
    buffer_append(out, "{", 1);
    for (size_t i = 0; i < members->n; i++) {
        enum node_field field = (enum node_field) template->field[i];
        if (!(values->set >> field & 1))
            continue;
        node_copy_members(members, copied, i, &template->text, out);
        copied = i + 1;
        node_separate(out, i == 0);
        const struct emitted_member *member = &members->list[i];
        buffer_append(out, template->text.bytes + member->start, member->key + 4);
        write_value(template, values, field, out);
        missing &= ~((uint32_t)1 << field);
    }
    node_copy_members(members, copied, members->n, &template->text, out);
    append_fields(template, values, missing, members->n > 0, out);
    buffer_append(out, "\n        }", 10);
}

#define BIT(name) ((uint32_t)1 << NODE_##name)

static struct node_values cpu_values(const struct sutra_linked *linked, row_t unit) {
    struct node_values values = {.linked = linked, .set = BIT(ID), .id = linked->unit_id[unit], .waits_for = -1};
    row_t op = linked->unit_op[unit];
    if (op == ROW_NONE)
        return values;
    values.set |= BIT(INCLUSIVE_DUR) | BIT(EXCLUSIVE_DUR) | BIT(TS) | BIT(INTER_THREAD_DEP);
    values.inclusive = number_at(linked->ops.cpu.dur, op);
    values.exclusive = number_at(linked->ops.exclusive, op);
    values.ts = number_at(linked->ops.cpu.ts, op);
    if (linked->unit_after[unit] != ROW_NONE)
        values.waits_for = linked->unit_id[linked->unit_after[unit]];
    return values;
}

void node_write_cpu(struct node_template *template, const struct sutra_linked *linked, row_t unit, row_t sorted,
                    struct buffer *out) {
    struct node_values values = cpu_values(linked, unit);
    values.ctrl_deps = linked->ctrl_deps[sorted];
    if (values.ctrl_deps != CTRL_DEPS_NONE)
        values.set |= BIT(CTRL_DEPS);
    write_node(template, &values, out);
}

void node_write_gpu(struct node_template *template, const struct sutra_linked *linked, row_t unit, row_t i, row_t gpu,
                    struct buffer *out) {
    const struct sutra_device_trace *device = linked->device;
    struct node_values values = cpu_values(linked, unit);
    values.set |= BIT(CTRL_DEPS) | BIT(CATEGORY) | BIT(NAME) | BIT(PHASE) | BIT(STREAM);
    values.ctrl_deps = values.id;
    values.id += 1 + (int64_t)i;
    values.inclusive = values.exclusive = number_at(device->events.dur, gpu);
    values.ts = number_at(device->events.ts, gpu);
    values.gpu = gpu;
    if (name_roles(&device->events, linked->ops.roles, gpu) & NAME_NCCL_KERNEL &&
        has_in_event(device, gpu, FIELD_PROCESS_GROUP))
        values.set |= BIT(PROCESS_GROUP);
    write_node(template, &values, out);
}
