/*
 * host_trace.c - reading a host trace: "nodes" into columns.
 *
 * The schema may stand behind the nodes, so both forms of a node's parent and rf_id are read at first: "parent" and the
 * field "rf_id" of schema 1.0.1, "ctrl_deps" and the attribute "rf_id" of later ones. What a file without a known
 * schema means is told by its nodes.
 */
#include "read/host_trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "columns/column.h"
#include "read/attribute.h"
#include "read/fields.h"
#include "read/seen_values.h"
#include "text/string_text.h"

enum host_field { NODE_ID, NODE_PARENT, NODE_CTRL_DEPS, NODE_RF, NODE_RF_ATTRIBUTE, NODE_FIELDS };

static const char *const field_names[] = {"'id'", "'parent'", "'ctrl_deps'", "'rf_id'", "'attrs': value of rf_id"};

struct host_places {
    struct json_place field[NODE_FIELDS];
};

/* A field of a wrong type: the first one of a kind in a part. */
struct mismatch {
    row_t row; /* ROW_NONE: there is none */
    size_t at;
};

/* One part of the array. The columns parent and rf hold what schema 1.0.1 means; `rf_attribute` what others do. */
struct node_part {
    struct host_nodes nodes;
    value_key *rf_attribute;
    struct field_reader reader;
    struct seen_values seen;
    size_t size; /* of its text, about */
    struct mismatch mismatches[NODE_FIELDS];
    uint64_t n_mismatches[NODE_FIELDS];
    uint64_t n_with_attributes; /* nodes of the form of later schemas */
    row_t first_row;            /* of this part in the joined table */
    bool flat;                  /* the file is of schema 1.0.1 */
    struct sutra_host_trace *trace;
};

struct node_parts {
    struct sutra_context *context;
    struct sutra_host_trace *trace;
    struct node_part *list;
    size_t n;
};

static void free_parts(struct node_parts *parts) {
    for (size_t i = 0; i < parts->n; i++) {
        host_nodes_free(&parts->list[i].nodes);
        free(parts->list[i].rf_attribute);
        buffer_free(&parts->list[i].reader.scratch);
    }
    free(parts->list);
    parts->list = NULL;
    parts->n = 0;
}

static enum sutra_status begin_parts(void *arg, size_t n, struct sutra_error *error) {
    struct node_parts *parts = arg;
    free_parts(parts);
    parts->list = calloc(n, sizeof *parts->list);
    if (!parts->list)
        return error_memory(error);
    parts->n = n;
    for (size_t i = 0; i < n; i++) {
        struct node_part *part = &parts->list[i];
        part->reader =
            (struct field_reader){.source = &parts->trace->document.source, .values = &parts->context->values};
        part->trace = parts->trace;
        part->size = parts->trace->document.source.size / n;
        for (int field = 0; field < NODE_FIELDS; field++)
            part->mismatches[field].row = ROW_NONE;
    }
    return SUTRA_OK;
}

static enum host_field field_of(const struct json_walker *walker, struct json_place key) {
    switch (walker->text[key.at + 1]) {
    case 'i':
        return place_is(walker->source, key, "id") ? NODE_ID : NODE_FIELDS;
    case 'p':
        return place_is(walker->source, key, "parent") ? NODE_PARENT : NODE_FIELDS;
    case 'c':
        return place_is(walker->source, key, "ctrl_deps") ? NODE_CTRL_DEPS : NODE_FIELDS;
    case 'r':
        return place_is(walker->source, key, "rf_id") ? NODE_RF : NODE_FIELDS;
    case 'a':
        return place_is(walker->source, key, "attrs") ? NODE_RF_ATTRIBUTE : NODE_FIELDS;
    case '\\':
        for (int field = 0; field < NODE_RF_ATTRIBUTE; field++) {
            static const char *const names[] = {"id", "parent", "ctrl_deps", "rf_id"};
            if (place_is(walker->source, key, names[field]))
                return (enum host_field)field;
        }
        return place_is(walker->source, key, "attrs") ? NODE_RF_ATTRIBUTE : NODE_FIELDS;
    default:
        return NODE_FIELDS;
    }
}

/* The list of attributes; the last rf_id counts. Others are kept in `seen`. */
static inline struct json_place walk_attributes(struct json_walker *walker, struct seen_values *seen) {
    struct json_place rf = {0};
    for (bool more = walk_array(walker); more; more = walk_element_end(walker)) {
        size_t at = walker->at;
        struct seen_value *other = &seen->list[seen_slot(walker->text + at, SEEN_VALUES)];
        if (walk_char(walker) != '{') {
            walk_value(walker);
        } else if (seen_stands(other, walker->source, at)) {
            walk_to(walker, at + other->length);
        } else {
            struct json_place found = walk_attribute(walker, "rf_id");
            if (found.at)
                rf = found;
            else
                *other = seen_walked(walker, at);
        }
    }
    return rf;
}

/* A value that is not looked into. Of an object the lists are likely to have been seen. */
static inline void walk_other(struct json_walker *walker, struct seen_values *seen) {
    if (walk_char(walker) == '[') {
        walk_to(walker, seen_end(seen, walker, walker->at));
        return;
    }
    if (walk_char(walker) != '{') {
        walk_value(walker);
        return;
    }
    for (bool more = walk_object(walker); more; more = walk_member_end(walker)) {
        walk_key(walker);
        if (walk_char(walker) == '[')
            walk_to(walker, seen_end(seen, walker, walker->at));
        else
            walk_value(walker);
    }
}

/* Walks a node; true if it has the form of later schemas. */
static bool walk_node(struct json_walker *walker, struct seen_values *seen, struct host_places *places) {
    struct json_walker local = *walker; /* which stays in registers */
    bool later = false;
    for (bool more = walk_object(&local); more; more = walk_member_end(&local)) {
        struct json_place key = walk_key(&local);
        if (!key.at)
            break;
        enum host_field field = field_of(&local, key);
        later |= field == NODE_RF_ATTRIBUTE || field == NODE_CTRL_DEPS;
        struct json_place value = {0};
        if (field == NODE_RF_ATTRIBUTE && walk_char(&local) == '[')
            value = walk_attributes(&local, seen);
        else if (field == NODE_RF_ATTRIBUTE || field == NODE_FIELDS)
            walk_other(&local, seen);
        else
            value = walk_value(&local);
        if (field != NODE_FIELDS)
            places->field[field] = value;
    }
    *walker = local;
    return later;
}

static void mismatch(struct node_part *part, enum host_field field, size_t at) {
    part->n_mismatches[field]++;
    if (part->mismatches[field].row == ROW_NONE)
        part->mismatches[field] = (struct mismatch){part->nodes.n, at};
}

/* An id that may be absent, but not a list. */
static value_key read_key(struct node_part *part, const struct host_places *places, enum host_field field,
                          value_key absent) {
    struct json_place place = places->field[field];
    value_key key = place.at ? field_key(&part->reader, place) : absent;
    if (key != KEY_UNHASHABLE)
        return key;
    mismatch(part, field, place.at);
    return absent;
}

/* A node's own id must be a number. */
static value_key read_id(struct node_part *part, const struct host_places *places, size_t text) {
    struct json_place place = places->field[NODE_ID];
    if (place.at && strchr("-0123456789Itf", part->reader.source->bytes[place.at]))
        return field_key(&part->reader, place);
    mismatch(part, NODE_ID, place.at ? place.at : text);
    return 0;
}

static value_key read_rf_attribute(struct node_part *part, const struct host_places *places) {
    struct json_place place = places->field[NODE_RF_ATTRIBUTE];
    value_key key = KEY_NULL;
    if (place.at && !field_int(&part->reader, place, &key))
        mismatch(part, NODE_RF_ATTRIBUTE, place.at);
    return key;
}

static void append_node(struct node_part *part, const struct host_places *places, size_t text, size_t end) {
    struct host_nodes *nodes = &part->nodes;
    row_t row = nodes->n;
    nodes->text[row] = text;
    nodes->end[row] = end;
    nodes->id[row] = read_id(part, places, text);
    nodes->parent[row] = read_key(part, places, NODE_PARENT, KEY_ABSENT);
    nodes->ctrl_deps[row] = read_key(part, places, NODE_CTRL_DEPS, KEY_ABSENT);
    nodes->rf[row] = read_key(part, places, NODE_RF, KEY_NULL);
    part->rf_attribute[row] = read_rf_attribute(part, places);
    nodes->n++;
}

/* Room for the node at byte `at`. */
static bool make_room(struct node_part *part, size_t at) {
    struct host_nodes *nodes = &part->nodes;
    if (nodes->n < nodes->capacity)
        return true;
    uint64_t n_bytes = nodes->n ? at - nodes->text[0] : 0;
    uint64_t capacity = capacity_wanted(nodes->capacity, n_bytes, part->size);
    if (capacity > ROW_LIMIT)
        capacity = ROW_LIMIT;
    void *rf_attribute = reallocarray(part->rf_attribute, capacity, sizeof *part->rf_attribute);
    if (!rf_attribute)
        return false;
    part->rf_attribute = rf_attribute;
    return nodes->n < capacity && host_nodes_reserve(nodes, (row_t)capacity);
}

static void read_element(void *arg, size_t number, struct json_walker *walker) {
    struct node_part *part = &((struct node_parts *)arg)->list[number];
    struct host_places places = {0};
    size_t text = walker->at;
    if (walk_char(walker) != '{') {
        walk_fail(walker, "a node, which is an object,");
        return;
    }
    part->n_with_attributes += walk_node(walker, &part->seen, &places);
    if (walker->expected)
        return;
    if (part->reader.failed || !make_room(part, text)) {
        part->reader.failed = true;
        return;
    }
    append_node(part, &places, text, trim_end(walker->text, walker->at));
}

static void end_parts(void *arg, size_t n) {
    struct node_parts *parts = arg;
    for (size_t i = n; i < parts->n; i++) {
        parts->list[i].nodes.n = 0;
        parts->list[i].n_with_attributes = 0;
    }
}

static enum sutra_status number_parts(struct node_parts *parts, struct sutra_error *error) {
    uint64_t n = 0;
    for (size_t i = 0; i < parts->n; i++) {
        struct node_part *part = &parts->list[i];
        if (part->reader.failed)
            return error_memory(error);
        part->first_row = (row_t)n;
        n += part->nodes.n;
        if (n > ROW_LIMIT)
            return error_file(error, SUTRA_DATA, parts->trace->document.source.name, "more than %u nodes", ROW_LIMIT);
    }
    if (!host_nodes_reserve(&parts->trace->nodes, (row_t)n + 1))
        return error_memory(error);
    parts->trace->nodes.n = (row_t)n;
    return SUTRA_OK;
}

static const char *read_schema(const struct document *document, struct field_reader *reader, size_t *length) {
    const struct document_member *schema = document_find(document, "schema");
    *length = 0;
    if (!schema || document->source.bytes[schema->value] != '"')
        return "";
    struct json_walker walker = walk_from(&document->source, &document->index, schema->value);
    return field_string(reader, walk_string(&walker), length);
}

static bool known_schema(const char *schema) {
    static const char *const later[] = {"1.0.2-chakra.0.0.4", "1.0.3-chakra.0.0.4", "1.1.0-chakra.0.0.4",
                                        "1.1.1-chakra.0.0.4"};
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        if (strcmp(schema, later[i]) == 0)
            return true;
    return false;
}

/* Keeps the schema's name and decides which form the nodes have. */
static enum sutra_status choose_schema(struct node_parts *parts, bool *flat, struct sutra_error *error) {
    struct sutra_host_trace *trace = parts->trace;
    struct field_reader reader = {.source = &trace->document.source, .values = &parts->context->values};
    size_t length;
    const char *schema = read_schema(&trace->document, &reader, &length);
    trace->schema = malloc(length + 1);
    if (trace->schema) {
        memcpy(trace->schema, schema, length);
        trace->schema[length] = 0;
    }
    buffer_free(&reader.scratch);
    if (!trace->schema)
        return error_memory(error);
    *flat = strcmp(trace->schema, "1.0.1") == 0;
    if (*flat || known_schema(trace->schema))
        return SUTRA_OK;
    uint64_t n_later = 0;
    for (size_t i = 0; i < parts->n; i++)
        n_later += parts->list[i].n_with_attributes;
    *flat = n_later == 0;
    context_warn(parts->context, "%s: the schema is %s%s%s: read as %s, by the shape of its nodes",
                 trace->document.source.name, *trace->schema ? "\"" : "", *trace->schema ? trace->schema : "missing",
                 *trace->schema ? "\", which is unknown" : "", *flat ? "1.0.1" : "1.0.2 or later");
    return SUTRA_OK;
}

/* The first field of a wrong type among those that matter for this schema is an error, unless such are to be taken as
 * absent; a node without an id is always one. */
static enum sutra_status check_types(const struct node_parts *parts, bool flat, struct sutra_error *error) {
    const struct source *source = &parts->trace->document.source;
    for (size_t i = 0; i < parts->n; i++) {
        const struct node_part *part = &parts->list[i];
        for (int field = 0; field < NODE_FIELDS && part->nodes.n; field++) {
            struct mismatch found = part->mismatches[field];
            bool matters = field == NODE_ID || field == NODE_CTRL_DEPS || flat != (field == NODE_RF_ATTRIBUTE);
            if (found.row == ROW_NONE || !matters)
                continue;
            parts->trace->n_fields_dropped += part->n_mismatches[field];
            if (parts->context->options.lenient && field != NODE_ID)
                continue;
            const char *expected = field == NODE_ID             ? "a number, and every node needs one"
                                   : field == NODE_RF_ATTRIBUTE ? "an integer"
                                                                : "a number";
            return source_error(source, error, found.at, "node %u: field %s: %s was expected%s",
                                part->first_row + found.row, field_names[field], expected,
                                field == NODE_ID ? "" : " (--lenient takes such fields as absent)");
        }
    }
    return SUTRA_OK;
}

static void copy_part(void *arg, size_t number) {
    struct node_part *part = &((struct node_parts *)arg)->list[number];
    struct host_nodes *nodes = &part->nodes;
    if (!part->flat)
        for (row_t i = 0; i < nodes->n; i++) {
            nodes->parent[i] = nodes->ctrl_deps[i];
            nodes->rf[i] = part->rf_attribute[i];
        }
    host_nodes_copy(&part->trace->nodes, part->first_row, nodes);
    host_nodes_free(nodes);
}

static enum sutra_status read_nodes(struct node_parts *parts, struct sutra_error *error) {
    struct sutra_host_trace *trace = parts->trace;
    const struct document_reader reader = {.array = "nodes",
                                           .kind = "host trace",
                                           .other_array = "traceEvents",
                                           .other_kind = "device trace",
                                           .index_stage = "index host trace",
                                           .read_stage = "read host trace",
                                           .arg = parts,
                                           .begin = begin_parts,
                                           .element = read_element,
                                           .end = end_parts};
    bool flat = false;
    enum sutra_status status = document_read(&trace->document, parts->context, &reader, error);
    if (!status)
        status = document_check_kind(&trace->document, &reader, error);
    stage_begin(parts->context, "join host trace", trace->document.source.size);
    if (!status)
        status = number_parts(parts, error);
    if (!status)
        status = choose_schema(parts, &flat, error);
    if (!status)
        status = check_types(parts, flat, error);
    for (size_t i = 0; i < parts->n; i++)
        parts->list[i].flat = flat;
    trace->flat = flat;
    if (!status)
        pool_run(parts->context->pool, parts->n, copy_part, parts);
    return status;
}

/* Takes over an opened source, or frees everything. */
static enum sutra_status finish(struct sutra_context *context, struct sutra_host_trace *made, enum sutra_status status,
                                struct sutra_host_trace **trace, struct sutra_error *error) {
    struct node_parts parts = {.context = context, .trace = made};
    if (!status)
        status = read_nodes(&parts, error);
    free_parts(&parts);
    stage_end(context);
    if (status)
        sutra_host_trace_free(made);
    else
        *trace = made;
    return status;
}

enum sutra_status sutra_host_trace_read(struct sutra_context *context, const char *path,
                                        struct sutra_host_trace **trace, struct sutra_error *error) {
    struct sutra_host_trace *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(error);
    stage_begin(context, "open host trace", 0);
    return finish(context, made, source_open(&made->document.source, path, error), trace, error);
}

enum sutra_status sutra_host_trace_parse(struct sutra_context *context, const char *name, const void *bytes,
                                         size_t size, struct sutra_host_trace **trace, struct sutra_error *error) {
    struct sutra_host_trace *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(error);
    return finish(context, made, source_copy(&made->document.source, name, bytes, size, error), trace, error);
}

void sutra_host_trace_free(struct sutra_host_trace *trace) {
    if (!trace)
        return;
    document_free(&trace->document);
    host_nodes_free(&trace->nodes);
    free(trace->schema);
    free(trace);
}
