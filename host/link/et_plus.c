/*
 * et_plus.c - writes ET+: the document around the nodes, and the nodes in pieces that threads format in parallel.
 *
 *     host node     {"id": 7, "name": "aten::mm", "inputs": {...}, ...}
 *     template      "id": 7,|"name": "aten::mm",|"inputs": {...},|      members as Python writes them, each with its field
 *     values        id 12, ts 5, inclusive_dur 30                        fields that linking sets, and a bit for each
 *     node of ET+   "id": 12,|"name": "aten::mm",|"inputs": {...},|"inclusive_dur": 30,|"ts": 5
 *
 * A template is made once for the CPU node and the GPU nodes below it, which copy most members. Fields that the
 * template lacks are appended. A piece is a run of entries (see link.h) of about NODES_PIECE_BYTES of output, so that
 * memory does not grow with the output; a unit with very many GPU operators is cut too.
 *
 * Cost: O(bytes of the output).
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "context/context.h"
#include "link/et_plus.h"
#include "link/link.h"
#include "read/event_fields.h"
#include "text/strings.h"
#include "write/json_copy.h"
#include "write/sink.h"

/* Fields that linking sets, in the order in which they are appended to nodes that lack them. */
static const uint8_t linked_fields[] = {
    ET_PLUS_INCLUSIVE_DUR,
    ET_PLUS_EXCLUSIVE_DUR,
    ET_PLUS_TS,
    ET_PLUS_INTER_THREAD_DEP,
    ET_PLUS_ID,
    ET_PLUS_CTRL_DEPS,
    ET_PLUS_CATEGORY,
    ET_PLUS_NAME,
    ET_PLUS_PHASE,
    ET_PLUS_STREAM,
    ET_PLUS_PG_NAME,
    ET_PLUS_SYNC_DEP,
};
enum { N_LINKED_FIELDS = sizeof linked_fields };

#define BIT(name)      ET_PLUS_BIT(ET_PLUS_##name)
#define KEY_DECORATION 4 /* bytes around a key: two quotes, colon, blank */

static const struct {
    const char *text; /* "key":_ */
    size_t length;
} node_keys[ET_PLUS_N_FIELDS] = {
#define X(constant, key, attribute, expected) {"\"" key "\": ", sizeof key - 1 + KEY_DECORATION},
    ET_PLUS_FIELDS(X)
#undef X
};

struct node_template {
    struct buffer text;
    struct json_emitter emitter; /* its members are the node's */
    uint8_t *field;              /* per member: enum et_plus_field; ET_PLUS_N_FIELDS: not set by linking */
    size_t field_capacity;
    struct buffer values; /* scratch for values that are copied from the text of the device trace */
    bool failed;          /* out of memory */
};

/* The values of the fields of one node. */
struct node_values {
    const struct sutra_linked *linked;
    uint32_t set;                     /* a bit per enum et_plus_field */
    int64_t id, ctrl_deps, waits_for; /* waits_for below 0: null */
    struct number inclusive, exclusive, ts;
    row_t gpu;         /* the event of a GPU node */
    const row_t *sync; /* the GPU nodes that it waits for */
    row_t n_sync;
};

/* Reads the node at `node` of the host trace into the template. */
static void node_template_read(struct node_template *template, const struct sutra_host_trace *host, row_t node) {
    struct json_emitter *emitter = &template->emitter;
    struct json_walker walker = walk_from(&host->document.source, host->nodes.text[node]);
    template->text.length = 0;
    emitter->out = &template->text;
    if (!emitter->values) /* a cache: without memory for it the emitter is only slower */
        emitter->values = calloc(EMITTED_VALUES, sizeof *emitter->values);
    emitter->members.n = 0;
    for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
        node_separate(&template->text, false);
        struct json_span key = walk_string(&walker);
        walk_next(&walker); /* the colon */
        emit_member_key(emitter, &walker, key);
        size_t n = emitter->members.n;
        emit_value(emitter, &walker, NODE_LEVEL + 1);
        emitter->members.n = n;
        end_member(emitter);
    }
    merge_members(emitter, 0);
    size_t n_members = emitter->members.n;
    if (n_members > template->field_capacity) {
        uint8_t *field = realloc(template->field, n_members + 64);
        template->failed |= !field;
        template->field = field ? field : template->field;
        template->field_capacity = field ? n_members + 64 : template->field_capacity;
    }
    template->failed |= emitter->failed || template->text.failed;
    for (size_t i = 0; i < n_members && !template->failed; i++) {
        const struct emitted_member *member = &emitter->members.list[i];
        const char *key = template->text.bytes + member->start;
        template->field[i] = ET_PLUS_N_FIELDS;
        for (int k = 0; k < N_LINKED_FIELDS; k++) {
            uint8_t field = linked_fields[k];
            if (node_keys[field].length == member->key + KEY_DECORATION &&
                memcmp(node_keys[field].text, key, member->key + 2) == 0) {
                template->field[i] = field;
                break;
            }
        }
    }
}

static void node_template_free(struct node_template *template) {
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

/* The position of a field of the event in the device trace; at 0: it is missing. */
static struct json_span event_field_place(const struct sutra_device_trace *device, row_t event,
                                          enum event_field field) {
    const struct document *document = &device->document;
    struct event_spans places;
    struct json_walker walker = walk_from(&document->source, device->events.text[event]);
    if (walk_char(&walker) != '{')
        return (struct json_span){0};
    walk_event(&walker, NULL, &places);
    return places.field[field];
}

/* Copies the value of a field of the event, which must have it, from the device trace. */
static void write_from_event(struct node_template *template, const struct sutra_device_trace *device, row_t event,
                             enum event_field field, struct buffer *out) {
    struct json_span place = event_field_place(device, event, field);
    struct json_emitter emitter = {.out = out, .scratch = template->values};
    struct json_walker walker = walk_from(&device->document.source, place.at);
    emit_value(&emitter, &walker, NODE_LEVEL + 1);
    template->failed |= emitter.failed;
    template->values = emitter.scratch;
    emitter.scratch = (struct buffer){0};
    json_emitter_free(&emitter);
}

static void write_value(struct node_template *template, const struct node_values *values, enum et_plus_field field,
                        struct buffer *out) {
    const struct sutra_device_trace *device = values->linked->device;
    switch (field) {
    case ET_PLUS_INCLUSIVE_DUR:
        emit_number(out, values->inclusive);
        return;
    case ET_PLUS_EXCLUSIVE_DUR:
        emit_number(out, values->exclusive);
        return;
    case ET_PLUS_TS:
        emit_number(out, values->ts);
        return;
    case ET_PLUS_INTER_THREAD_DEP:
        if (values->waits_for < 0)
            buffer_append_text(out, "null");
        else
            write_integer(out, values->waits_for);
        return;
    case ET_PLUS_ID:
        write_integer(out, values->id);
        return;
    case ET_PLUS_CTRL_DEPS:
        write_integer(out, values->ctrl_deps);
        return;
    case ET_PLUS_CATEGORY:
        write_string(out, &device->strings, device->events.category[values->gpu]);
        return;
    case ET_PLUS_NAME:
        write_string(out, &device->strings, device->events.name[values->gpu]);
        return;
    case ET_PLUS_PHASE:
        if (device->events.phase[values->gpu] == 0)
            buffer_append_text(out, "null");
        else if ((char)device->events.phase[values->gpu] == PHASE_OTHER)
            write_from_event(template, device, values->gpu, FIELD_PHASE, out);
        else
            buffer_append(out, (char[]){'"', (char)device->events.phase[values->gpu], '"'}, 3);
        return;
    case ET_PLUS_STREAM:
        if (device->events.flags[values->gpu] & EVENT_STREAM_INTEGER)
            write_integer(out, device->events.stream[values->gpu]);
        else if (device->events.stream[values->gpu] == KEY_ABSENT)
            buffer_append_text(out, "null");
        else
            write_from_event(template, device, values->gpu, FIELD_STREAM, out);
        return;
    case ET_PLUS_PG_NAME:
        write_from_event(template, device, values->gpu, FIELD_PROCESS_GROUP, out);
        return;
    case ET_PLUS_SYNC_DEP:
        for (row_t i = 0; i < values->n_sync; i++) {
            buffer_append(out, i ? "," : "[", 1);
            emit_newline(out, NODE_LEVEL + 2);
            write_integer(out, values->sync[i]);
        }
        emit_newline(out, NODE_LEVEL + 1);
        buffer_append_text(out, "]");
        return;
    default:
        return;
    }
}

static void write_node(struct node_template *template, struct node_values *values, struct buffer *out) {
    const struct emitted_members *members = &template->emitter.members;
    values->sync = linked_waits_for(values->linked, (row_t)values->id, &values->n_sync);
    if (values->n_sync)
        values->set |= BIT(SYNC_DEP);
    uint32_t missing = values->set;
    size_t copied = 0;
    if (template->failed)
        return;
    buffer_append_text(out, "{");
    for (size_t i = 0; i < members->n; i++) {
        enum et_plus_field field = (enum et_plus_field) template->field[i];
        if (!(values->set >> field & 1))
            continue;
        node_copy_members(members, copied, i, &template->text, out);
        copied = i + 1;
        node_separate(out, i == 0);
        const struct emitted_member *member = &members->list[i];
        buffer_append(out, template->text.bytes + member->start, member->key + KEY_DECORATION);
        write_value(template, values, field, out);
        missing &= ~ET_PLUS_BIT(field);
    }
    node_copy_members(members, copied, members->n, &template->text, out);
    bool comma = members->n > 0;
    for (int k = 0; k < N_LINKED_FIELDS; k++) {
        uint8_t field = linked_fields[k];
        if (!(missing >> field & 1))
            continue;
        node_separate(out, !comma);
        buffer_append(out, node_keys[field].text, node_keys[field].length);
        write_value(template, values, (enum et_plus_field)field, out);
        comma = true;
    }
    buffer_append_text(out, "\n        }");
}

#define NODES_PIECE_BYTES (1 << 18) /* fits the cache of a core while the kernel copies it */
#define GROWTH            3         /* about how much longer a node is in the output than in the input */

/* A run of entries: from entry `first` of `unit` (counted in the unit) to the start of the next piece. */
struct text_piece {
    row_t unit, first;
};

/* Buffers of a thread while it formats a piece, reused for later pieces. */
struct workspace {
    struct workspace *next;
    struct node_template template;
    struct buffer out;
};

struct writing {
    const struct sutra_linked *linked;
    struct sutra_context *context;
    struct sink *sink;
    struct text_piece *pieces; /* n_pieces + 1; the last one marks the end */
    size_t n_pieces;
    uint64_t capacity;
    struct buffer head, tail; /* the document's text before and after the nodes */
    atomic_bool failed;       /* out of memory */
    pthread_mutex_t mutex;    /* guards the list of idle workspaces */
    struct workspace *idle;
};

static row_t unit_entries(const struct sutra_linked *linked, row_t unit) {
    return linked->unit_entry[unit + 1] - linked->unit_entry[unit];
}

static bool add_piece(struct writing *writing, row_t unit, row_t first) {
    if (!column_grow(&writing->pieces, writing->n_pieces, &writing->capacity, sizeof *writing->pieces))
        return false;
    writing->pieces[writing->n_pieces++] = (struct text_piece){unit, first};
    return true;
}

/* Writes entry `entry` of a unit: one of its CPU nodes, or a GPU node, for which the unit's first node is the template.
 * The template is reused while its node stays the same. */
static void write_entry(const struct sutra_linked *linked, struct node_template *template, row_t *in_template,
                        row_t unit, row_t entry, struct buffer *out) {
    const struct host_ops *units = &linked->units;
    row_t n_nodes = units->unit_start[unit + 1] - units->unit_start[unit];
    row_t sorted = units->unit_start[unit] + (entry < n_nodes ? entry : 0);
    if (*in_template != sorted) {
        node_template_read(template, linked->host, units->node[sorted]);
        *in_template = sorted;
    }

    /* The values that CPU nodes and GPU nodes of a unit have in common. */
    struct node_values values = {.linked = linked, .set = BIT(ID), .id = linked->unit_id[unit], .waits_for = -1};
    row_t op = linked->unit_op[unit];
    if (op != ROW_NONE) {
        values.set |= BIT(INCLUSIVE_DUR) | BIT(EXCLUSIVE_DUR) | BIT(TS) | BIT(INTER_THREAD_DEP);
        values.inclusive = number_at(linked->ops.cpu.dur, op);
        values.exclusive = number_at(linked->ops.exclusive, op);
        values.ts = number_at(linked->ops.cpu.ts, op);
        if (linked->unit_after[unit] != ROW_NONE)
            values.waits_for = linked->unit_id[linked->unit_after[unit]];
    }
    if (entry < n_nodes) {
        values.ctrl_deps = linked->ctrl_deps[sorted];
        if (values.ctrl_deps != CTRL_DEPS_NONE)
            values.set |= BIT(CTRL_DEPS);
        write_node(template, &values, out);
        return;
    }
    const struct sutra_device_trace *device = linked->device;
    row_t n_gpu, i = entry - n_nodes, gpu = linked_gpu_ops(linked, unit, &n_gpu)[i];
    values.set |= BIT(CTRL_DEPS) | BIT(CATEGORY) | BIT(NAME) | BIT(PHASE) | BIT(STREAM);
    values.ctrl_deps = values.id;
    values.id += 1 + (int64_t)i;
    values.inclusive = values.exclusive = number_at(device->events.dur, gpu);
    values.ts = number_at(device->events.ts, gpu);
    values.gpu = gpu;
    if (name_roles(&device->events, linked->ops.roles, gpu) & NAME_NCCL_KERNEL) {
        size_t at = event_field_place(device, gpu, FIELD_PROCESS_GROUP).at;
        if (at && device->document.source.bytes[at] != 'n') /* not null */
            values.set |= BIT(PG_NAME);
    }
    write_node(template, &values, out);
}

/* Writes the entries from `begin` up to `end` into the workspace. */
static void format_piece(const struct sutra_linked *linked, struct workspace *workspace, struct text_piece begin,
                         struct text_piece end) {
    row_t in_template = ROW_NONE;
    workspace->out.length = 0;
    for (row_t unit = begin.unit, entry = begin.first; unit < end.unit || (unit == end.unit && entry < end.first);) {
        if (entry == unit_entries(linked, unit)) {
            unit++;
            entry = 0;
            continue;
        }
        if (unit > 0 || entry > 0)
            buffer_append_text(&workspace->out, ",");
        emit_newline(&workspace->out, 2);
        write_entry(linked, &workspace->template, &in_template, unit, entry, &workspace->out);
        entry++;
    }
}

/* Nodes that an estimate formats. */
#define SAMPLES 500

uint64_t linked_size(const struct sutra_linked *linked) {
    struct workspace workspace = {0};
    uint64_t n_nodes = linked->report.n_nodes, step = n_nodes / SAMPLES + 1, bytes = 0, n = 0;
    row_t unit = 0;
    for (uint64_t entry = 0; entry < n_nodes; entry += step, n++) {
        while (linked->unit_entry[unit + 1] <= entry)
            unit++;
        row_t first = (row_t)entry - linked->unit_entry[unit];
        format_piece(linked, &workspace, (struct text_piece){unit, first}, (struct text_piece){unit, first + 1});
        bytes += workspace.out.length;
    }
    bool failed = workspace.template.failed || workspace.out.failed;
    node_template_free(&workspace.template);
    buffer_free(&workspace.out);
    return failed ? 0 : (uint64_t)((double)bytes / (double)(n ? n : 1) * (double)n_nodes) + 1;
}

static void write_piece(void *arg, size_t number) {
    struct writing *writing = arg;
    pthread_mutex_lock(&writing->mutex);
    struct workspace *workspace = writing->idle;
    if (workspace)
        writing->idle = workspace->next;
    pthread_mutex_unlock(&writing->mutex);
    if (!workspace)
        workspace = calloc(1, sizeof *workspace);
    if (!workspace) {
        atomic_store(&writing->failed, true);
        sink_write(writing->sink, number + 1, NULL, 0);
        return;
    }
    if (!sink_failed(writing->sink))
        format_piece(writing->linked, workspace, writing->pieces[number], writing->pieces[number + 1]);
    if (workspace->template.failed || workspace->out.failed)
        atomic_store(&writing->failed, true);
    sink_write(writing->sink, number + 1, workspace->out.bytes, workspace->out.length);
    pthread_mutex_lock(&writing->mutex);
    workspace->next = writing->idle;
    writing->idle = workspace;
    pthread_mutex_unlock(&writing->mutex);
}

enum sutra_status sutra_linked_write(struct sutra_context *context, const struct sutra_linked *linked, const char *path,
                                     uint64_t *n_bytes, struct sutra_error *error) {
    struct writing writing = {.linked = linked, .context = context, .mutex = PTHREAD_MUTEX_INITIALIZER};
    const struct host_ops *units = &linked->units;
    const struct host_nodes *nodes = &linked->host->nodes;
    uint64_t bytes = NODES_PIECE_BYTES;
    bool ok = document_frame(&linked->host->document, units->n_units == 0, &writing.head, &writing.tail);
    stage_begin(context, "write", linked->report.n_nodes);

    /* Cut the entries into pieces; the last piece is the end. */
    for (row_t unit = 0; unit < units->n_units && ok; unit++) {
        row_t node = units->node[units->unit_start[unit]], n = unit_entries(linked, unit);
        uint64_t each = (nodes->end[node] - nodes->text[node]) * GROWTH + 256;
        for (row_t entry = 0; entry < n && ok;) {
            if (bytes >= NODES_PIECE_BYTES) {
                ok = add_piece(&writing, unit, entry);
                bytes = 0;
            }
            uint64_t n_fitting = (NODES_PIECE_BYTES - bytes) / each + 1;
            row_t n_added = (row_t)MIN(n_fitting, n - entry);
            entry += n_added;
            bytes += n_added * each;
        }
    }
    ok = ok && add_piece(&writing, units->n_units, 0);
    enum sutra_status status = ok ? sink_open(&writing.sink, context, path, error) : error_memory(error);
    if (!status) {
        size_t n_pieces = writing.n_pieces - 1;
        sink_write(writing.sink, 0, writing.head.bytes, writing.head.length);
        pool_run(context->pool, n_pieces, write_piece, &writing);
        sink_write(writing.sink, n_pieces + 1, writing.tail.bytes, writing.tail.length);
        bool whole = !atomic_load(&writing.failed);
        status = sink_close(writing.sink, whole, n_bytes, error);
        if (!status && !whole)
            status = error_memory(error);
    }
    stage_end(context);
    buffer_free(&writing.head);
    buffer_free(&writing.tail);
    free(writing.pieces);
    for (struct workspace *workspace = writing.idle, *next; workspace; workspace = next) {
        next = workspace->next;
        node_template_free(&workspace->template);
        buffer_free(&workspace->out);
        free(workspace);
    }
    pthread_mutex_destroy(&writing.mutex);
    return status;
}
