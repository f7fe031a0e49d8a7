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

/* The columns parent and rf hold what schema 1.0.1 means; `rf_attribute` what others do. */
struct node_part {
    struct document_part part;
    struct host_nodes nodes;
    value_key *rf_attribute;
    struct seen_values seen;
    struct mismatch mismatches[NODE_FIELDS];
    uint64_t n_mismatches[NODE_FIELDS];
    uint64_t n_with_attributes; /* nodes of the form of later schemas */
};

static struct node_part *node_part(struct document_part *part) {
    return (struct node_part *)part;
}

static void part_free(struct document_part *of) {
    struct node_part *part = node_part(of);
    host_nodes_free(&part->nodes);
    free(part->rf_attribute);
    part->rf_attribute = NULL;
}

static bool part_begin(struct document_part *of) {
    for (int field = 0; field < NODE_FIELDS; field++)
        node_part(of)->mismatches[field].row = ROW_NONE;
    return true;
}

static bool part_reserve(struct document_part *of, row_t capacity) {
    struct node_part *part = node_part(of);
    return column_resize(&part->rf_attribute, capacity, sizeof *part->rf_attribute) &&
           host_nodes_reserve(&part->nodes, capacity);
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
        part->mismatches[field] = (struct mismatch){part->part.n, at};
}

/* An id that may be absent, but not a list. */
static value_key read_key(struct node_part *part, const struct host_places *places, enum host_field field,
                          value_key absent) {
    struct json_place place = places->field[field];
    value_key key = place.at ? field_key(&part->part.fields, place) : absent;
    if (key != KEY_UNHASHABLE)
        return key;
    mismatch(part, field, place.at);
    return absent;
}

/* A node's own id must be a number. */
static value_key read_id(struct node_part *part, const struct host_places *places, size_t text) {
    struct json_place place = places->field[NODE_ID];
    if (place.at && strchr("-0123456789Itf", part->part.fields.source->bytes[place.at]))
        return field_key(&part->part.fields, place);
    mismatch(part, NODE_ID, place.at ? place.at : text);
    return 0;
}

static value_key read_rf_attribute(struct node_part *part, const struct host_places *places) {
    struct json_place place = places->field[NODE_RF_ATTRIBUTE];
    value_key key = KEY_NULL;
    if (place.at && !field_int(&part->part.fields, place, &key))
        mismatch(part, NODE_RF_ATTRIBUTE, place.at);
    return key;
}

static void append_node(struct node_part *part, const struct host_places *places, size_t text, size_t end) {
    struct host_nodes *nodes = &part->nodes;
    row_t row = part->part.n;
    nodes->text[row] = text;
    nodes->end[row] = end;
    nodes->id[row] = read_id(part, places, text);
    nodes->parent[row] = read_key(part, places, NODE_PARENT, KEY_ABSENT);
    nodes->ctrl_deps[row] = read_key(part, places, NODE_CTRL_DEPS, KEY_ABSENT);
    nodes->rf[row] = read_key(part, places, NODE_RF, KEY_NULL);
    part->rf_attribute[row] = read_rf_attribute(part, places);
    part->part.n++;
}

static void read_element(struct document_part *of, struct json_walker *walker) {
    struct node_part *part = node_part(of);
    struct host_places places = {0};
    size_t text = walker->at;
    if (walk_char(walker) != '{') {
        walk_fail(walker, "a node, which is an object,");
        return;
    }
    part->n_with_attributes += walk_node(walker, &part->seen, &places);
    if (!walker->expected && document_row(of, text))
        append_node(part, &places, text, trim_end(walker->text, walker->at));
}

static const char *read_schema(const struct document *document, struct field_reader *reader, size_t *length) {
    const struct document_member *schema = document_find(document, "schema");
    *length = 0;
    if (!schema || document->source.bytes[schema->value] != '"')
        return "";
    struct json_walker walker = walk_from(&document->source, schema->value);
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

static bool any_attributes(const struct document_parts *parts) {
    for (size_t i = 0; i < parts->n; i++) {
        const struct node_part *part = document_part_at(parts, i);
        if (part->part.n > 0 && part->n_with_attributes > 0)
            return true;
    }
    return false;
}

/* Keeps the schema's name and decides which form the nodes have. */
static enum sutra_status choose_schema(const struct document_parts *parts, struct sutra_error *error) {
    struct sutra_host_trace *trace = parts->trace;
    struct field_reader reader = {.source = &trace->document.source, .values = &parts->context->values};
    size_t length;
    const char *schema = read_schema(&trace->document, &reader, &length);
    trace->schema = strndup(schema, length);
    buffer_free(&reader.scratch);
    if (!trace->schema)
        return error_memory(error);
    trace->flat = strcmp(trace->schema, "1.0.1") == 0;
    if (trace->flat || known_schema(trace->schema))
        return SUTRA_OK;
    trace->flat = !any_attributes(parts);
    context_warn(parts->context, "%s: the schema is %s%s%s: read as %s, by the shape of its nodes",
                 trace->document.source.name, *trace->schema ? "\"" : "", *trace->schema ? trace->schema : "missing",
                 *trace->schema ? "\", which is unknown" : "", trace->flat ? "1.0.1" : "1.0.2 or later");
    return SUTRA_OK;
}

static enum sutra_status type_error(const struct node_part *part, enum host_field field, struct sutra_error *error) {
    const char *expected = field == NODE_ID             ? "a number, and every node needs one"
                           : field == NODE_RF_ATTRIBUTE ? "an integer"
                                                        : "a number";
    return source_error(part->part.fields.source, error, part->mismatches[field].at,
                        "node %u: field %s: %s was expected%s", part->part.first_row + part->mismatches[field].row,
                        field_names[field], expected,
                        field == NODE_ID ? "" : " (--lenient takes such fields as absent)");
}

/* The first field of a wrong type among those that matter for this schema is an error, unless such are to be taken as
 * absent; a node without an id is always one. */
static enum sutra_status check_types(const struct node_part *part, struct sutra_host_trace *trace, bool lenient,
                                     struct sutra_error *error) {
    for (int field = 0; field < NODE_FIELDS; field++) {
        bool matters = field == NODE_ID || field == NODE_CTRL_DEPS || trace->flat != (field == NODE_RF_ATTRIBUTE);
        if (part->mismatches[field].row == ROW_NONE || !matters)
            continue;
        trace->n_fields_dropped += part->n_mismatches[field];
        if (!lenient || field == NODE_ID)
            return type_error(part, (enum host_field)field, error);
    }
    return SUTRA_OK;
}

static enum sutra_status join_parts(struct document_parts *parts, struct sutra_error *error) {
    struct sutra_host_trace *trace = parts->trace;
    if (!host_nodes_reserve(&trace->nodes, parts->n_rows + 1))
        return error_memory(error);
    trace->nodes.n = parts->n_rows;
    enum sutra_status status = choose_schema(parts, error);
    for (size_t i = 0; i < parts->n && !status; i++) {
        const struct node_part *part = document_part_at(parts, i);
        if (part->part.n > 0)
            status = check_types(part, trace, parts->context->options.lenient, error);
    }
    return status;
}

static void part_copy(struct document_part *of) {
    struct node_part *part = node_part(of);
    struct sutra_host_trace *trace = of->trace;
    struct host_nodes *nodes = &part->nodes;
    nodes->n = of->n;
    for (row_t i = 0; i < nodes->n && !trace->flat; i++) {
        nodes->parent[i] = nodes->ctrl_deps[i];
        nodes->rf[i] = part->rf_attribute[i];
    }
    host_nodes_copy(&trace->nodes, of->first_row, nodes);
}

static const struct document_reader host_reader = {
    .array = "nodes",
    .kind = "host trace",
    .other_array = "traceEvents",
    .other_kind = "device trace",
    .too_many = "nodes",
    .open_stage = "open host trace",
    .read_stage = "read host trace",
    .join_stage = "join host trace",
    .part_size = sizeof(struct node_part),
    .begin = part_begin,
    .reserve = part_reserve,
    .element = read_element,
    .join = join_parts,
    .copy = part_copy,
    .free = part_free,
};

static enum sutra_status read_trace(struct sutra_context *context, const struct document_input *input,
                                    struct sutra_host_trace **trace, struct sutra_error *error) {
    struct sutra_host_trace *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(error);
    enum sutra_status status = document_read_rows(&made->document, context, &host_reader, input, made, error);
    if (status)
        sutra_host_trace_free(made);
    else
        *trace = made;
    return status;
}

enum sutra_status sutra_host_trace_read(struct sutra_context *context, const char *path,
                                        struct sutra_host_trace **trace, struct sutra_error *error) {
    return read_trace(context, &(struct document_input){.name = path}, trace, error);
}

enum sutra_status sutra_host_trace_parse(struct sutra_context *context, const char *name, const void *bytes,
                                         size_t size, struct sutra_host_trace **trace, struct sutra_error *error) {
    return read_trace(context, &(struct document_input){name, true, bytes, size}, trace, error);
}

void host_trace_leave(struct sutra_host_trace *trace) {
    if (!holders_leave(&trace->holders))
        return;
    host_nodes_free(&trace->nodes);
    free(trace->schema);
    free(trace);
}

void sutra_host_trace_free(struct sutra_host_trace *trace) {
    if (!trace)
        return;
    document_free(&trace->document);
    host_trace_leave(trace);
}
