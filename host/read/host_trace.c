/*
 * host_trace.c - reads a host trace: "nodes" into columns.
 *
 * The schema may follow the nodes, so both forms of a node's parent and rf_id are read: "parent" and the field "rf_id"
 * of schema 1.0.1, "ctrl_deps" and the attribute "rf_id" of later schemas. If the schema is unknown, the nodes decide.
 */
#include "read/host_trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "columns/column.h"
#include "read/document.h"
#include "text/quantities.h"
#include "text/strings.h"

enum host_field { NODE_ID, NODE_PARENT, NODE_CTRL_DEPS, NODE_RF, NODE_RF_ATTRIBUTE, NODE_FIELDS };

static const char *const field_names[] = {"'id'", "'parent'", "'ctrl_deps'", "'rf_id'", "'attrs': value of rf_id"};

struct host_places {
    struct json_span field[NODE_FIELDS];
    bool later; /* the node has the form of later schemas */
};

/* Rows during reading: parent and rf have the meaning of schema 1.0.1, `rf_attribute` the meaning of later schemas. */
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
    uint64_t n_mismatches[NODE_FIELDS]; /* values of the wrong type */
    row_t mismatch_row[NODE_FIELDS];    /* of the first one */
    size_t mismatch_at[NODE_FIELDS];
    uint64_t n_with_attributes; /* nodes of the form of later schemas */
    uint64_t n_mixed;           /* nodes that were skipped, see is_mixed() */
};

static struct node_part *node_part(struct document_part *part) {
    return (struct node_part *)part;
}

static void part_free(struct document_part *of) {
    event_forms_free(&node_part(of)->forms);
}

static enum host_field find_field(const struct json_walker *walker, struct json_span key) {
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

/* ---- Token by token ---- */

static unsigned find_attribute(const struct json_walker *walker, struct json_span name) {
    return place_is(walker->source, name, "rf_id") ? NODE_RF_ATTRIBUTE : NODE_FIELDS;
}

/* The list of attributes; the last rf_id counts. */
static struct json_span walk_attributes(struct json_walker *walker, struct node_leaves *leaves) {
    struct json_span rf = {0};
    for (bool more = walk_array(walker); more; more = walk_element_end(walker)) {
        if (walk_char(walker) != '{') {
            leaves->unusual = true;
            walk_value(walker);
            continue;
        }
        unsigned field;
        struct json_span found = node_attribute(walker, leaves, find_attribute, NODE_FIELDS, &field);
        rf = field == NODE_RF_ATTRIBUTE && found.at ? found : rf;
    }
    return rf;
}

static void walk_node(struct json_walker *walker, struct host_places *places, struct node_leaves *leaves) {
    for (bool more = walk_object(walker); more; more = walk_member_end(walker)) {
        struct json_span key = walk_key(walker);
        if (!key.at)
            break;
        enum host_field field = find_field(walker, key);
        places->later |= field == NODE_RF_ATTRIBUTE || field == NODE_CTRL_DEPS;
        if (field == NODE_RF_ATTRIBUTE && walk_char(walker) == '[') {
            leaves->unusual |= leaves->attributes != 0;
            leaves->attributes = walker->at;
            places->field[field] = walk_attributes(walker, leaves);
        } else if (field == NODE_RF_ATTRIBUTE) { /* no list: ignored */
            leaves->unusual = true;
            places->field[field] = (struct json_span){0};
            walk_value(walker);
        } else if (field == NODE_FIELDS && walk_char(walker) == '{') { /* inputs or outputs: each value is a leaf */
            for (bool inner = walk_object(walker); inner; inner = walk_member_end(walker)) {
                walk_key(walker);
                node_leaf(walker, leaves, NODE_FIELDS);
            }
        } else {
            struct json_span value = node_leaf(walker, leaves, field);
            if (field != NODE_FIELDS)
                places->field[field] = value;
        }
    }
}

/* Steps over a node by learned bytes. */
static bool walk_known_node(struct json_walker *walker, const struct event_forms *forms, struct host_places *places) {
    bool has_attributes;
    uint64_t fields = node_walk_learned(walker, forms, NODE_FIELDS, places->field, &has_attributes);
    places->later = has_attributes || fields >> NODE_CTRL_DEPS & 1;
    return fields != 0;
}

/* ---- Rows ---- */

static void count_mismatch(struct node_part *part, enum host_field field, size_t at) {
    if (part->n_mismatches[field]++ == 0) {
        part->mismatch_row[field] = part->part.n;
        part->mismatch_at[field] = at;
    }
}

/* An id that may be absent, but not a list. */
static value_key read_key(struct node_part *part, const struct host_places *places, enum host_field field,
                          value_key absent) {
    struct json_span place = places->field[field];
    value_key key = place.at ? field_key(&part->part.fields, place) : absent;
    if (key != KEY_UNHASHABLE)
        return key;
    count_mismatch(part, field, place.at);
    return absent;
}

/* Whether a node has a field of the wrong type, in a file with another document whose text the node may contain. */
static bool is_mixed(struct node_part *part, const struct host_places *places) {
    static const enum host_field keys[] = {NODE_PARENT, NODE_CTRL_DEPS, NODE_RF};
    const struct sutra_host_trace *trace = part->part.trace;
    struct field_reader *fields = &part->part.fields;
    struct json_span rf = places->field[NODE_RF_ATTRIBUTE];
    value_key value;
    if (!trace->document.is_mixed)
        return false;
    bool is_wrong = rf.at && !field_int(fields, rf, &value);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct json_span place = places->field[keys[i]];
        is_wrong |= place.at && field_key(fields, place) == KEY_UNHASHABLE;
    }
    return is_wrong;
}

static void append_node(struct node_part *part, const struct host_places *places, size_t text, size_t end) {
    struct host_nodes *nodes = &part->rows.nodes;
    struct field_reader *fields = &part->part.fields;
    struct json_span id = places->field[NODE_ID], rf = places->field[NODE_RF_ATTRIBUTE];
    row_t row = part->part.n;
    if (!id.at || !strchr("-0123456789Itf", fields->source->bytes[id.at])) {
        count_mismatch(part, NODE_ID, id.at ? id.at : text);
        return;
    }
    if (is_mixed(part, places)) {
        part->n_mixed++;
        return;
    }
    nodes->text[row] = text;
    nodes->end[row] = end;
    nodes->id[row] = field_key(fields, id);
    nodes->parent[row] = read_key(part, places, NODE_PARENT, KEY_ABSENT);
    nodes->ctrl_deps[row] = read_key(part, places, NODE_CTRL_DEPS, KEY_ABSENT);
    nodes->rf[row] = read_key(part, places, NODE_RF, KEY_NULL);
    part->rows.rf_attribute[row] = KEY_NULL;
    if (rf.at && !field_int(fields, rf, &part->rows.rf_attribute[row]))
        count_mismatch(part, NODE_RF_ATTRIBUTE, rf.at);
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
    if (!walk_known_node(walker, &part->forms, &places)) {
        struct node_leaves leaves = {.n = 0};
        places = (struct host_places){0};
        walk_node(walker, &places, &leaves);
        if (!walker->expected && !leaves.unusual)
            node_learn(&part->forms, walker->text, text, trim_end(walker->text, walker->at), &leaves, NODE_FIELDS);
    }
    part->n_with_attributes += places.later && !walker->expected;
    if (!walker->expected && document_row(of, text))
        append_node(part, &places, text, trim_end(walker->text, walker->at));
}

/* Selects the columns of the schema. */
static void part_finish(struct document_part *of) {
    const struct node_rows *rows = &node_part(of)->rows;
    const struct sutra_host_trace *trace = of->trace;
    if (trace->flat || of->n == 0)
        return;
    memcpy(rows->nodes.parent, rows->nodes.ctrl_deps, of->n * sizeof *rows->nodes.parent);
    memcpy(rows->nodes.rf, rows->rf_attribute, of->n * sizeof *rows->nodes.rf);
}

static const struct document_reader host_reader = {
    .array = "nodes",
    .kind = "host trace",
    .other_array = "traceEvents",
    .other_kind = "device trace",
    .too_many = "nodes",
    .read_stage = "read host trace",
    .join_stage = "join host trace",
    .part_size = sizeof(struct node_part),
    .columns = row_columns,
    .n_columns = HOST_NODE_N_COLUMNS + 1,
    .columns_at = offsetof(struct node_part, rows),
    .element = read_element,
    .finish = part_finish,
    .free = part_free,
};

/* Keeps the schema's name and decides which form the nodes have. */
static enum sutra_status choose_schema(const struct document_parts *parts, struct sutra_error *error) {
    static const char *const later[] = {"1.0.2-chakra.0.0.4", "1.0.3-chakra.0.0.4", "1.1.0-chakra.0.0.4",
                                        "1.1.1-chakra.0.0.4"};
    struct sutra_host_trace *trace = parts->trace;
    const struct document *document = &trace->document;
    struct field_reader reader = {.source = &document->source, .values = &parts->context->values};
    const struct document_member *member = document_find(document, "schema");
    const char *schema = "";
    size_t length = 0;
    if (member && document->source.bytes[member->value] == '"') {
        struct json_walker walker = walk_from(&document->source, member->value);
        schema = field_string(&reader, walk_string(&walker), &length);
    }
    trace->schema = strndup(schema, length);
    buffer_free(&reader.scratch);
    TRY_ALLOC(trace->schema, error);
    trace->flat = strcmp(trace->schema, "1.0.1") == 0;
    bool known = trace->flat;
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        known |= strcmp(trace->schema, later[i]) == 0;
    if (known)
        return SUTRA_OK;
    trace->flat = true;
    for (size_t i = 0; i < parts->n; i++) {
        const struct node_part *part = document_part_at(parts, i);
        trace->flat &= part->part.n == 0 || part->n_with_attributes == 0;
    }
    context_warn(parts->context, "%s: the schema is %s%s%s: read as %s, by the shape of its nodes",
                 document->source.name, *trace->schema ? "\"" : "", *trace->schema ? trace->schema : "missing",
                 *trace->schema ? "\", which is unknown" : "", trace->flat ? "1.0.1" : "1.0.2 or later");
    return SUTRA_OK;
}

/* Counts the values of the wrong type in fields that matter for this schema. The first one of the part is an error,
 * unless the reader is lenient. Nodes without an id have no row. */
static enum sutra_status check_types(const struct node_part *part, struct sutra_host_trace *trace, bool lenient,
                                     struct sutra_error *error) {
    int first = NODE_FIELDS;
    for (int field = 0; field < NODE_FIELDS; field++) {
        bool matters = field == NODE_ID || field == NODE_CTRL_DEPS || trace->flat != (field == NODE_RF_ATTRIBUTE);
        if (part->n_mismatches[field] == 0 || !matters)
            continue;
        if (field != NODE_ID)
            trace->n_fields_dropped += part->n_mismatches[field];
        if (first == NODE_FIELDS || part->mismatch_at[field] < part->mismatch_at[first])
            first = field;
    }
    if (first == NODE_FIELDS || lenient)
        return SUTRA_OK;
    const char *expected = first == NODE_ID             ? "a number in every node"
                           : first == NODE_RF_ATTRIBUTE ? "an integer"
                                                        : "a number";
    return source_error(part->part.fields.source, error, part->mismatch_at[first],
                        "node %u: field %s: %s was expected (--lenient %s)",
                        part->part.first_row + part->mismatch_row[first], field_names[first], expected,
                        first == NODE_ID ? "skips such nodes" : "ignores such fields");
}

/* Reads the elements and checks their types. The columns become the trace's. */
static enum sutra_status read_parts(struct document_parts *parts, struct sutra_error *error) {
    struct sutra_host_trace *trace = parts->trace;
    struct document_part *all;
    TRY(document_walk(parts, error)); /* read_element() for each node */
    TRY(choose_schema(parts, error));
    uint64_t n_without_id = 0, n_mixed = 0;
    bool closed = false; /* parts after the array's end are not read */
    for (size_t i = 0; i < parts->n && !closed; i++) {
        const struct node_part *part = document_part_at(parts, i);
        TRY(check_types(part, trace, parts->context->options.lenient, error));
        n_without_id += part->n_mismatches[NODE_ID];
        n_mixed += part->n_mixed;
        closed = part->part.closed;
    }
    if (n_without_id)
        context_warn(parts->context, "%s: %s without a number as id: skipped", trace->document.source.name,
                     counted_text(n_without_id, "node", "nodes").text);
    if (n_mixed)
        context_warn(parts->context, "%s: %s with fields of the wrong type, in a file with several traces: skipped",
                     trace->document.source.name, counted_text(n_mixed, "node", "nodes").text);
    TRY(document_join(parts, &all, error));
    const struct node_rows *rows = &node_part(all)->rows;
    trace->nodes = rows->nodes;
    trace->nodes.n = all->n;
    trace->nodes.capacity = all->capacity;
    free(rows->rf_attribute);
    return SUTRA_OK;
}

enum sutra_status host_trace_read(struct sutra_context *context, const struct source_input *input,
                                  struct sutra_host_trace **trace, struct sutra_error *error) {
    struct sutra_host_trace *made = calloc(1, sizeof *made);
    TRY_ALLOC(made, error);
    struct document_parts parts = {
        .document = &made->document, .context = context, .reader = &host_reader, .trace = made};
    enum sutra_status status = source_read(&made->document.source, context, "open host trace", input, error);
    if (!status)
        status = read_parts(&parts, error);
    document_end(&parts);
    if (status)
        sutra_host_trace_free(made);
    else
        *trace = made;
    return status;
}

void host_trace_unref(struct sutra_host_trace *trace) {
    if (!refcount_release(&trace->holders))
        return;
    host_nodes_free(&trace->nodes);
    free(trace->validity);
    free(trace->schema);
    free(trace);
}

void sutra_host_trace_free(struct sutra_host_trace *trace) {
    if (!trace)
        return;
    document_free(&trace->document);
    host_trace_unref(trace);
}

enum sutra_status host_trace_check_nodes(const struct sutra_host_trace *trace, struct sutra_error *error) {
    return trace->nodes.n ? SUTRA_OK
                          : error_file(error, SUTRA_DATA, trace->document.source.name,
                                       "the trace has no nodes: record at least one step between start() and stop() of "
                                       "ExecutionTraceObserver");
}

/* ---- Learned nodes ---- */

void node_learn(struct event_forms *forms, const char *text, size_t at, size_t end, const struct node_leaves *leaves,
                unsigned n_fields) {
    struct form *parent = &forms->begin;
    for (unsigned i = 0; i <= leaves->n && parent; i++) {
        bool ends = i == leaves->n;
        size_t to = ends ? end : leaves->list[i].at, attributes = leaves->attributes;
        struct form form = {.length = to - at, .field = (uint8_t)(ends ? n_fields : leaves->list[i].field)};
        form.ends = ends;
        form.args = attributes >= at && attributes < to ? attributes - at : 0;
        struct form *known = form_find(parent, text + at);
        if (!known) {
            event_forms_learn(forms, parent, text + at, &form, form.field == n_fields ? 0 : (uint64_t)1 << form.field);
            known = form_find(parent, text + at);
        }
        parent = known && known->length == form.length && known->ends == ends ? known : NULL;
        at = ends ? end : leaves->list[i].end;
    }
}
