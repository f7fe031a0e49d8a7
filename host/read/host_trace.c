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
#include "read/document.h"
#include "read/event_fields.h"
#include "text/strings.h"

enum host_field { NODE_ID, NODE_PARENT, NODE_CTRL_DEPS, NODE_RF, NODE_RF_ATTRIBUTE, NODE_FIELDS };

static const char *const field_names[] = {"'id'", "'parent'", "'ctrl_deps'", "'rf_id'", "'attrs': value of rf_id"};

struct host_places {
    struct json_place field[NODE_FIELDS];
    bool later; /* the node has the form of later schemas */
};

/* Most values of a node that is learned. */
#define LEAVES_MAX 64

/* The values of a node between which the same bytes stand in others: all but names in "attrs", which say what an
 * attribute is. */
struct node_leaves {
    struct {
        size_t at, end;
        enum host_field field; /* NODE_FIELDS: any other */
    } list[LEAVES_MAX];
    unsigned n;
    size_t attributes; /* where "attrs" begins, or 0 */
    bool unusual;      /* its form is not to be learned */
};

/* A field of a wrong type: the first one of a kind in a part. */
struct mismatch {
    row_t row; /* ROW_NONE: there is none */
    size_t at;
};

/* Rows while they are read: the columns parent and rf hold what schema 1.0.1 means, `rf_attribute` what others do. */
struct node_rows {
    struct host_nodes nodes;
    value_key *rf_attribute;
};

static const struct column_form row_columns[HOST_NODE_N_COLUMNS + 1] = {
#define X(type, name) {offsetof(struct node_rows, nodes.name), sizeof(type)},
    HOST_NODE_COLUMNS(X)
#undef X
        {offsetof(struct node_rows, rf_attribute), sizeof(value_key)},
};

struct node_part {
    struct document_part part;
    struct node_rows rows;
    struct event_forms forms;
    struct mismatch mismatches[NODE_FIELDS];
    uint64_t n_mismatches[NODE_FIELDS];
    uint64_t n_with_attributes; /* nodes of the form of later schemas */
};

static struct node_part *node_part(struct document_part *part) {
    return (struct node_part *)part;
}

static void part_free(struct document_part *of) {
    event_forms_free(&node_part(of)->forms);
}

static bool part_begin(struct document_part *of) {
    for (int field = 0; field < NODE_FIELDS; field++)
        node_part(of)->mismatches[field].row = ROW_NONE;
    return true;
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

/* ---- Walking a node token by token ---- */

static inline void add_leaf(struct node_leaves *leaves, const struct json_walker *walker, size_t at,
                            enum host_field field) {
    leaves->unusual |= leaves->n == LEAVES_MAX || walker->expected;
    if (leaves->unusual)
        return;
    leaves->list[leaves->n].at = at;
    leaves->list[leaves->n].end = trim_end(walker->text, walker->at);
    leaves->list[leaves->n++].field = field;
}

static inline struct json_place walk_leaf(struct json_walker *walker, struct node_leaves *leaves,
                                          enum host_field field) {
    struct json_place value = walk_value(walker);
    add_leaf(leaves, walker, value.at, field);
    return value;
}

/* {"name": "rf_id", "type": "uint64", "value": 883}: the place of its value if it is the rf_id. */
static struct json_place read_attribute_key(struct json_walker *walker, struct node_leaves *leaves) {
    struct json_place name = {0}, value = {0};
    for (bool more = walk_object(walker); more; more = walk_member_end(walker)) {
        struct json_place key = walk_key(walker);
        if (!key.at)
            break;
        bool is_name = place_is(walker->source, key, "name"), is_value = place_is(walker->source, key, "value");
        leaves->unusual |= (is_name && (name.at || value.at)) || (is_value && (!name.end || value.at));
        if (is_value) {
            bool rf = name.end && place_is(walker->source, name, "rf_id");
            value = walk_leaf(walker, leaves, rf ? NODE_RF_ATTRIBUTE : NODE_FIELDS);
        } else {
            struct json_place other = walk_value(walker);
            name = is_name ? other : name;
        }
    }
    return name.end && place_is(walker->source, name, "rf_id") ? value : (struct json_place){0};
}

/* The list of attributes; the last rf_id counts. */
static struct json_place walk_attributes(struct json_walker *walker, struct node_leaves *leaves) {
    struct json_place rf = {0};
    for (bool more = walk_array(walker); more; more = walk_element_end(walker)) {
        if (walk_char(walker) != '{') {
            leaves->unusual = true;
            walk_value(walker);
            continue;
        }
        struct json_place found = read_attribute_key(walker, leaves);
        rf = found.at ? found : rf;
    }
    return rf;
}

/* An object that is not looked into, but for its values: inputs or outputs. */
static void walk_object_of_leaves(struct json_walker *walker, struct node_leaves *leaves) {
    for (bool more = walk_object(walker); more; more = walk_member_end(walker)) {
        walk_key(walker);
        walk_leaf(walker, leaves, NODE_FIELDS);
    }
}

static void walk_node(struct json_walker *walker, struct host_places *places, struct node_leaves *leaves) {
    for (bool more = walk_object(walker); more; more = walk_member_end(walker)) {
        struct json_place key = walk_key(walker);
        if (!key.at)
            break;
        enum host_field field = field_of(walker, key);
        places->later |= field == NODE_RF_ATTRIBUTE || field == NODE_CTRL_DEPS;
        if (field == NODE_RF_ATTRIBUTE && walk_char(walker) == '[') {
            leaves->unusual |= leaves->attributes != 0;
            leaves->attributes = walker->at;
            places->field[field] = walk_attributes(walker, leaves);
        } else if (field == NODE_RF_ATTRIBUTE) { /* which nothing is read of */
            leaves->unusual = true;
            places->field[field] = (struct json_place){0};
            walk_value(walker);
        } else if (field == NODE_FIELDS && walk_char(walker) == '{') {
            walk_object_of_leaves(walker, leaves);
        } else {
            struct json_place value = walk_leaf(walker, leaves, field);
            if (field != NODE_FIELDS)
                places->field[field] = value;
        }
    }
}

/* ---- Nodes that are written as others before ---- */

/* Learns what stands between the values of a node that ends at byte `end`. Where another form begins alike, the rest is
 * not learned. */
static void learn_node(struct event_forms *forms, const char *text, size_t at, size_t end,
                       const struct node_leaves *leaves) {
    struct form *parent = &forms->begin;
    for (unsigned i = 0; i <= leaves->n && parent; i++) {
        bool ends = i == leaves->n;
        size_t to = ends ? end : leaves->list[i].at, attributes = leaves->attributes;
        struct form form = {.length = to - at, .field = ends ? NODE_FIELDS : (uint8_t)leaves->list[i].field};
        form.ends = ends;
        form.args = attributes >= at && attributes < to ? attributes - at : 0;
        form_see(&form, parent, form.field == NODE_FIELDS ? 0 : (uint64_t)1 << form.field);
        struct form *known = form_find(parent, text + at);
        if (!known) {
            event_forms_learn(forms, parent, text + at, &form);
            known = form_find(parent, text + at);
        }
        parent = known && known->length == form.length && known->ends == ends ? known : NULL;
        at = ends ? end : leaves->list[i].end;
    }
}

/* Finds the fields of a node that is written as one that was learned, and steps behind it. False: it is not, or has a
 * field twice; the walker did not move, and the places are undefined. */
static bool known_node(struct json_walker *walker, const struct event_forms *forms, struct host_places *places) {
    const struct json_walker local = *walker;
    const struct form *form = form_find(&forms->begin, local.text + local.at);
    size_t at = local.at;
    for (; form && !form->ends; form = form_find(form, local.text + at)) {
        struct json_place place;
        places->later |= form->args > 0;
        at = leaf_end(&local, at + form->length, &place);
        if (!at)
            return false;
        if (form->field != NODE_FIELDS)
            places->field[form->field] = place;
    }
    if (!form || form->repeats)
        return false;
    places->later |= form->args > 0 || form->seen >> NODE_CTRL_DEPS & 1;
    walk_to(walker, at + form->length);
    return true;
}

/* ---- Rows ---- */

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
    struct host_nodes *nodes = &part->rows.nodes;
    row_t row = part->part.n;
    nodes->text[row] = text;
    nodes->end[row] = end;
    nodes->id[row] = read_id(part, places, text);
    nodes->parent[row] = read_key(part, places, NODE_PARENT, KEY_ABSENT);
    nodes->ctrl_deps[row] = read_key(part, places, NODE_CTRL_DEPS, KEY_ABSENT);
    nodes->rf[row] = read_key(part, places, NODE_RF, KEY_NULL);
    part->rows.rf_attribute[row] = read_rf_attribute(part, places);
    part->part.n++;
}

static void read_element(struct document_part *of, struct json_walker *walker) {
    struct node_part *part = node_part(of);
    struct host_places places = {0};
    size_t text = walker->at;
    if (walk_char(walker) != '{') {
        walk_fail(walker, "an object (a node)");
        return;
    }
    if (!known_node(walker, &part->forms, &places)) {
        struct node_leaves leaves = {.n = 0};
        places = (struct host_places){0};
        walk_node(walker, &places, &leaves);
        if (!walker->expected && !leaves.unusual)
            learn_node(&part->forms, walker->text, text, trim_end(walker->text, walker->at), &leaves);
    }
    part->n_with_attributes += places.later && !walker->expected;
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
    const char *expected = field == NODE_ID             ? "a number in every node"
                           : field == NODE_RF_ATTRIBUTE ? "an integer"
                                                        : "a number";
    return source_error(part->part.fields.source, error, part->mismatches[field].at,
                        "node %u: field %s: %s was expected%s", part->part.first_row + part->mismatches[field].row,
                        field_names[field], expected, field == NODE_ID ? "" : " (--lenient ignores such fields)");
}

/* Fields of a wrong type that matter for this schema are counted. The first of the part is an error, unless such are to
 * be taken as absent; a node without an id is always one. */
static enum sutra_status check_types(const struct node_part *part, struct sutra_host_trace *trace, bool lenient,
                                     struct sutra_error *error) {
    int first = NODE_FIELDS;
    for (int field = 0; field < NODE_FIELDS; field++) {
        bool matters = field == NODE_ID || field == NODE_CTRL_DEPS || trace->flat != (field == NODE_RF_ATTRIBUTE);
        if (part->mismatches[field].row == ROW_NONE || !matters)
            continue;
        trace->n_fields_dropped += part->n_mismatches[field];
        bool before = first == NODE_FIELDS || part->mismatches[field].at < part->mismatches[first].at;
        if (before && (!lenient || field == NODE_ID))
            first = field;
    }
    return first == NODE_FIELDS ? SUTRA_OK : type_error(part, (enum host_field)first, error);
}

static enum sutra_status join_parts(struct document_parts *parts, struct sutra_error *error) {
    struct sutra_host_trace *trace = parts->trace;
    enum sutra_status status = choose_schema(parts, error);
    for (size_t i = 0; i < parts->n && !status; i++) {
        const struct node_part *part = document_part_at(parts, i);
        if (part->part.n > 0)
            status = check_types(part, trace, parts->context->options.lenient, error);
    }
    return status;
}

/* Decides for what the schema says. */
static void part_finish(struct document_part *of) {
    const struct node_rows *rows = &node_part(of)->rows;
    const struct sutra_host_trace *trace = of->trace;
    if (trace->flat || of->n == 0)
        return;
    memcpy(rows->nodes.parent, rows->nodes.ctrl_deps, of->n * sizeof *rows->nodes.parent);
    memcpy(rows->nodes.rf, rows->rf_attribute, of->n * sizeof *rows->nodes.rf);
}

static void take_rows(struct document_part *of) {
    const struct node_rows *rows = &node_part(of)->rows;
    struct sutra_host_trace *trace = of->trace;
    trace->nodes = rows->nodes;
    trace->nodes.n = of->n;
    trace->nodes.capacity = of->capacity;
    free(rows->rf_attribute);
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
    .columns = row_columns,
    .n_columns = HOST_NODE_N_COLUMNS + 1,
    .columns_at = offsetof(struct node_part, rows),
    .begin = part_begin,
    .element = read_element,
    .join = join_parts,
    .finish = part_finish,
    .take = take_rows,
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
