/*
 * et_plus_node_read.c - implements the second part of et_plus_nodes.h. Fields are located first and read later, because
 * the last of repeated keys counts.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/shared.h"
#include "columns/hash.h"
#include "facts/collectives.h"
#include "read/document.h"
#include "simulate/communication.h"
#include "simulate/et_format.h"
#include "simulate/et_plus_nodes.h"
#include "text/strings.h"

bool et_plus_reader_failed(const struct et_plus_reader *reader) {
    return reader->fields->failed || reader->store->arena.failed || reader->scratch.failed;
}

void et_plus_reader_end(struct et_plus_reader *reader) {
    event_forms_free(&reader->forms);
    buffer_free(&reader->scratch);
}

/* ---- Spans of fields, token by token ---- */

static int io_index(const struct json_walker *walker, struct json_span key) {
    static const char *const parts[] = {"values", "shapes", "types"};
    for (int i = 0; i < 3; i++)
        if (place_is(walker->source, key, parts[i]))
            return i;
    return -1;
}

/* Walks the object of inputs or outputs at the walker; sets the spans of its three parts. */
static void walk_io(struct json_walker *walker, struct node_leaves *leaves, unsigned first, struct json_span *parts) {
    memset(parts, 0, 3 * sizeof *parts);
    for (bool more = walk_object(walker); more; more = walk_member_end(walker)) {
        int part = io_index(walker, walk_key(walker));
        struct json_span place = node_leaf(walker, leaves, part < 0 ? ET_PLUS_N_SPANS : first + (unsigned)part);
        if (part < 0)
            continue;
        place.end = place.end ? place.end : trim_end(walker->text, walker->at);
        parts[part] = place;
    }
}

struct field_name {
    const char *name;
    size_t length;
};

static const struct field_name keys[] = {
#define X(constant, key, attribute, expected) {key, sizeof key - 1},
    ET_PLUS_FIELDS(X)
#undef X
};

static const struct field_name attributes[] = {
#define X(constant, key, attribute, expected) {attribute, sizeof attribute - 1},
    ET_PLUS_FIELDS(X)
#undef X
};

/* The field with the name at `place`, or ET_PLUS_N_FIELDS. */
static inline enum et_plus_field field_of(const struct json_walker *walker, struct json_span place,
                                          const struct field_name *names) {
    const char *raw = walker->text + place.at + 1;
    size_t length = place.end - place.at - 1;
    for (int field = 0; field < ET_PLUS_N_FIELDS && length > 0; field++)
        if (names[field].length == length && memcmp(names[field].name, raw, length) == 0)
            return (enum et_plus_field)field;
    if (!length || !memchr(raw, '\\', length))
        return ET_PLUS_N_FIELDS;
    for (int field = 0; field < ET_PLUS_N_FIELDS; field++)
        if (names[field].length > 0 && place_is(walker->source, place, names[field].name))
            return (enum et_plus_field)field;
    return ET_PLUS_N_FIELDS;
}

static unsigned find_attribute(const struct json_walker *walker, struct json_span name) {
    enum et_plus_field field = field_of(walker, name, attributes);
    return field == ET_PLUS_N_FIELDS ? ET_PLUS_N_SPANS : ET_PLUS_N_FIELDS + field;
}

static void walk_attributes(struct json_walker *walker, struct node_leaves *leaves, struct et_plus_spans *spans) {
    leaves->unusual |= leaves->attributes != 0;
    leaves->attributes = walker->at;
    memset(spans->span + ET_PLUS_N_FIELDS, 0, ET_PLUS_N_ATTRIBUTES * sizeof *spans->span);
    for (bool more = walk_array(walker); more; more = walk_element_end(walker)) {
        if (walk_char(walker) == '{') {
            unsigned field;
            struct json_span value = node_attribute(walker, leaves, find_attribute, ET_PLUS_N_SPANS, &field);
            if (value.at && field != ET_PLUS_N_SPANS)
                spans->span[field] = value;
        } else {
            walk_fail(walker, "an attribute object");
        }
    }
}

/* Determines the schema of a node; rf_id is optional in schema 1.0.1. */
static void set_schema(struct et_plus_spans *spans, bool has_attributes) {
    const struct json_span *span = spans->span;
    spans->bare = !has_attributes;
    spans->flat =
        spans->bare && (span[ET_PLUS_RF_ID].at || (span[ET_PLUS_FLAT_PARENT].at && !span[ET_PLUS_CTRL_DEPS].at));
}

static void walk_tokens(struct json_walker *walker, struct node_leaves *leaves, struct et_plus_spans *spans) {
    bool has_io[2] = {false, false};
    for (bool more = walk_object(walker); more; more = walk_member_end(walker)) {
        struct json_span key = walk_key(walker);
        if (!key.at)
            return;
        enum et_plus_field field = field_of(walker, key, keys);
        struct json_span value = {.at = walker->at};
        char c = walk_char(walker);
        bool outputs = field == ET_PLUS_OUTPUTS;
        if ((field == ET_PLUS_INPUTS || outputs) && c == '{') {
            unsigned first = outputs ? ET_PLUS_SPAN_OUTPUTS : ET_PLUS_SPAN_INPUTS;
            walk_io(walker, leaves, first, spans->span + first);
            leaves->unusual |= has_io[outputs];
            has_io[outputs] = true;
        } else if (field == ET_PLUS_ATTRIBUTES && c == '[') {
            walk_attributes(walker, leaves, spans);
        } else {
            value = node_leaf(walker, leaves, field == ET_PLUS_N_FIELDS ? ET_PLUS_N_SPANS : field);
            leaves->unusual |= field == ET_PLUS_ATTRIBUTES;
        }
        if (field != ET_PLUS_N_FIELDS)
            spans->span[field] = value;
    }
    set_schema(spans, spans->span[ET_PLUS_ATTRIBUTES].at != 0);
    leaves->unusual |= spans->flat && (has_io[0] || has_io[1]);
}

void et_plus_spans_walk(struct et_plus_reader *reader, struct json_walker *walker, struct et_plus_spans *spans) {
    struct node_leaves leaves = {.n = 0};
    bool has_attributes;
    *spans = (struct et_plus_spans){.text = walker->at};
    if (node_walk_learned(walker, &reader->forms, ET_PLUS_N_SPANS, spans->span, &has_attributes)) {
        set_schema(spans, has_attributes);
        return;
    }
    *spans = (struct et_plus_spans){.text = walker->at};
    walk_tokens(walker, &leaves, spans);
    if (!walker->expected && !leaves.unusual)
        node_learn(&reader->forms, walker->text, spans->text, trim_end(walker->text, walker->at), &leaves,
                   ET_PLUS_N_SPANS);
}

/* ---- Values ---- */

/* Python's int() of a value, if it fits unsigned 64 bits. */
static bool read_int(struct et_plus_reader *reader, struct json_span place, uint64_t *number) {
    const char *value = reader->source->bytes + place.at;
    if (*value == 't' || *value == 'f') {
        *number = *value == 't';
        return true;
    }
    if (*value == '"') {
        size_t length;
        const char *string = field_string(reader->fields, place, &length);
        char *digits = buffer_reserve(&reader->scratch, length + SOURCE_PADDING);
        if (!digits || (length = python_int(string, length, digits)) == 0)
            return false;
        memset(digits + length, 0, SOURCE_PADDING / 2);
        return unsigned_parse(digits, number);
    }
    size_t length;
    enum number_form form = number_scan(value, &length);
    if (form == NUMBER_FORM_REAL)
        return truncate_double(double_parse(value, length), number);
    return form == NUMBER_FORM_INTEGER && unsigned_parse(value, number);
}

/* The start of a node; in whole microseconds; 0 if absent. */
static void read_start(const char *value, struct et_plus_node *node) {
    struct number number;
    node->start_us = 0;
    node->start = field_number(value, &number) ? number_as_double(number) : NAN;
    truncate_double(node->start, &node->start_us);
}

/* Its end, after its start is known. */
static double read_end(const char *value, double start) {
    struct number number;
    return field_number(value, &number) ? start + number_as_double(number) : NAN;
}

/* Whether the list or object is empty. */
static bool is_empty(const struct et_plus_reader *reader, size_t at) {
    const char *text = reader->source->bytes;
    return text[space_end(text, at + 1)] == text[at] + 2;
}

/* The key of a dependency, KEY_NULL for values that are false in Python; false: invalid. */
static bool read_inter(struct et_plus_reader *reader, struct json_span place, value_key *key) {
    char c = reader->source->bytes[place.at];
    *key = KEY_NULL;
    if (c == '[' || c == '{')
        return is_empty(reader, place.at);
    if (c == '"' && place.end == place.at + 1)
        return true;
    *key = field_key(reader->fields, place);
    if (*key == 0)
        *key = KEY_NULL;
    return true;
}

static bool is_null(const struct et_plus_reader *reader, struct json_span place) {
    return reader->source->bytes[place.at] == 'n';
}

static bool read_string(struct et_plus_reader *reader, struct json_span place, struct et_text *text) {
    return reader->source->bytes[place.at] == '"' && et_plus_string_text(reader->fields, reader->store, place, text);
}

static void set_flag(struct et_plus_node *node, uint32_t flag, bool on) {
    node->flags = on ? node->flags | flag : node->flags & ~flag;
}

/* An attribute of 64 bits or a text; each may be null. */
static bool set_attribute(struct et_plus_reader *reader, struct et_plus_node *node, enum et_plus_field field,
                          struct json_span place) {
    bool null = is_null(reader, place);
    set_flag(node, (uint32_t)ET_PLUS_NULL << (field - ET_PLUS_FIRST_NUMBER), null);
    if (null)
        return true;
    if (field == ET_PLUS_OP_SCHEMA)
        return read_string(reader, place, &node->op_schema);
    return field_integer(reader->source->bytes + place.at, &node->number[field - ET_PLUS_FIRST_NUMBER]);
}

static bool set_pg_name(struct et_plus_reader *reader, struct et_plus_node *node, struct json_span place) {
    set_flag(node, ET_PLUS_PG_NULL, is_null(reader, place));
    return is_null(reader, place) || read_string(reader, place, &node->pg_name);
}

/* Sets a field from its value; false: the wrong type. */
static bool set_value(struct et_plus_reader *reader, struct et_plus_node *node, enum et_plus_field field,
                      struct json_span place) {
    const char *value = reader->source->bytes + place.at;
    switch (field) {
    case ET_PLUS_ID:
        return unsigned_parse(value, &node->id);
    case ET_PLUS_NAME:
        return read_string(reader, place, &node->name);
    case ET_PLUS_CTRL_DEPS:
        node->parent = field_key(reader->fields, place);
        return node->parent != KEY_UNHASHABLE;
    case ET_PLUS_EXCLUSIVE_DUR:
        return read_int(reader, place, &node->duration_us);
    case ET_PLUS_INTER_THREAD_DEP:
        return read_inter(reader, place, &node->inter);
    case ET_PLUS_CATEGORY:
        set_flag(node, ET_PLUS_IS_GPU, !is_null(reader, place));
        return true;
    case ET_PLUS_STREAM:
        set_flag(node, ET_PLUS_NO_STREAM, is_null(reader, place));
        return is_null(reader, place) || field_integer(value, &node->stream);
    case ET_PLUS_PG_NAME:
        return set_pg_name(reader, node, place);
    case ET_PLUS_TS:
        read_start(value, node);
        return true;
    case ET_PLUS_INCLUSIVE_DUR:
        node->end = read_end(value, node->start);
        return true;
    case ET_PLUS_SYNC_DEP:
        node->sync = *value == '[' ? place.at : 0;
        return true;
    default:
        return set_attribute(reader, node, field, place);
    }
}

static void set_field(struct et_plus_reader *reader, struct et_plus_node *node, enum et_plus_field field,
                      struct json_span place) {
    et_plus_set_fault(node, field, !set_value(reader, node, field, place));
}

/* The value of a field, by the schema of the node. */
static struct json_span direct_place(const struct et_plus_spans *spans, enum et_plus_field field) {
    struct json_span place = spans->span[field];
    if (field == ET_PLUS_CTRL_DEPS && spans->flat && !place.at)
        return spans->span[ET_PLUS_FLAT_PARENT];
    bool attribute = field >= ET_PLUS_FIRST_NUMBER && field <= ET_PLUS_OP_SCHEMA;
    if (attribute && !spans->flat)
        return (struct json_span){0};
    return place;
}

void et_plus_node_fields(struct et_plus_reader *reader, const struct et_plus_spans *spans, struct et_plus_node *node) {
    *node =
        (struct et_plus_node){.text = spans->text, .parent = KEY_ABSENT, .inter = KEY_NULL, .start = NAN, .end = NAN};
    node->faults = ET_PLUS_BIT(ET_PLUS_ID) | ET_PLUS_BIT(ET_PLUS_NAME) | ET_PLUS_BIT(ET_PLUS_CTRL_DEPS);
    for (int field = ET_PLUS_FIRST_NUMBER; field <= ET_PLUS_OP_SCHEMA; field++)
        node->faults |= ET_PLUS_BIT(field);
    /* Up to the last field that set_value() knows: the start of a node precedes its duration. */
    for (enum et_plus_field field = ET_PLUS_ID; field <= ET_PLUS_SYNC_DEP; field++) {
        struct json_span place = direct_place(spans, field);
        if (place.at && field != ET_PLUS_INPUTS && field != ET_PLUS_OUTPUTS && field != ET_PLUS_COMM_BYTES)
            set_field(reader, node, field, place);
    }
    node->key = spans->span[ET_PLUS_ID].at ? field_key(reader->fields, spans->span[ET_PLUS_ID]) : KEY_ABSENT;
    bool has_dur =
        spans->span[ET_PLUS_DUR].at && !spans->span[ET_PLUS_EXCLUSIVE_DUR].at && !spans->span[ET_PLUS_INCLUSIVE_DUR].at;
    set_flag(node, ET_PLUS_IS_LEGACY, has_dur && (spans->bare || !(node->flags & ET_PLUS_IS_GPU)));
}

/* The spans of values, shapes and types of the inputs or outputs; an attribute of that name has priority. */
static void find_io(const struct et_plus_reader *reader, const struct et_plus_spans *spans, bool inputs,
                    struct json_span *parts) {
    static const enum et_plus_field flat_fields[2][3] = {{ET_PLUS_OUTPUTS, ET_PLUS_OUTPUT_SHAPES, ET_PLUS_OUTPUT_TYPES},
                                                         {ET_PLUS_INPUTS, ET_PLUS_INPUT_SHAPES, ET_PLUS_INPUT_TYPES}};
    const size_t attribute = spans->span[ET_PLUS_N_FIELDS + (inputs ? ET_PLUS_INPUTS : ET_PLUS_OUTPUTS)].at;
    const struct json_span *own = spans->span + (inputs ? ET_PLUS_SPAN_INPUTS : ET_PLUS_SPAN_OUTPUTS);
    if (attribute) {
        struct json_walker walker = walk_from(reader->source, attribute);
        struct node_leaves leaves = {.n = 0};
        memset(parts, 0, 3 * sizeof *parts);
        if (walk_char(&walker) == '{')
            walk_io(&walker, &leaves, ET_PLUS_N_SPANS, parts);
        return;
    }
    for (int i = 0; i < 3; i++)
        parts[i] = spans->flat ? spans->span[flat_fields[inputs][i]] : own[i];
}

/* Whether the text of a value of inputs or outputs can be encoded. */
static bool can_be_encoded(const struct et_plus_reader *reader, struct json_span place) {
    struct et_text text;
    if (reader->source->bytes[place.at] == '"')
        return et_plus_string_text(reader->fields, reader->store, place, &text);
    return place.end <= place.at + ET_PLUS_JSON_MAX;
}

/* Sets three of the offsets of inputs and outputs. */
static void set_io(const struct et_plus_reader *reader, struct et_plus_node *node, enum et_plus_field field,
                   const struct json_span *parts) {
    bool is_complete = true;
    for (int i = 0; i < 3; i++) {
        is_complete = is_complete && parts[i].at && can_be_encoded(reader, parts[i]);
        node->io[(field == ET_PLUS_INPUTS ? 0 : 3) + i] = parts[i].at;
    }
    et_plus_set_fault(node, field, !is_complete);
}

void et_plus_node_attributes(struct et_plus_reader *reader, const struct et_plus_spans *spans,
                             struct et_plus_node *node) {
    const struct json_span *attribute = spans->span + ET_PLUS_N_FIELDS;
    struct json_span inputs[3], outputs[3];
    for (int field = 0; field < ET_PLUS_N_ATTRIBUTES; field++)
        if (attribute[field].at && field != ET_PLUS_INPUTS && field != ET_PLUS_OUTPUTS)
            set_field(reader, node, (enum et_plus_field)field, attribute[field]);
    set_flag(node, ET_PLUS_HAS_OLD_PARENT, spans->flat && !spans->span[ET_PLUS_CTRL_DEPS].at);
    set_flag(node, ET_PLUS_ID_CHANGED, attribute[ET_PLUS_ID].at != 0);
    find_io(reader, spans, true, inputs);
    find_io(reader, spans, false, outputs);
    set_io(reader, node, ET_PLUS_INPUTS, inputs);
    set_io(reader, node, ET_PLUS_OUTPUTS, outputs);
    set_flag(node, ET_PLUS_IS_META, kernel_name_has(node->name, "process_group:init"));
    bool nested = false, collective = node->flags & ET_PLUS_IS_GPU && kernel_is_collective(node->name);
    set_flag(node, ET_PLUS_IS_COLLECTIVE, collective);
    if (collective)
        et_plus_set_fault(node, ET_PLUS_COMM_BYTES,
                          !comm_bytes_read(reader->fields, inputs[0].at, inputs[2].at, &node->comm_bytes, &nested));
    set_flag(node, ET_PLUS_IS_NESTED, nested);
}

void et_plus_node_set_pg_name(struct et_plus_reader *reader, const struct source *source, struct json_span place,
                              struct et_plus_node *node) {
    struct et_plus_reader other = *reader;
    const struct source *own = reader->source;
    other.source = other.fields->source = source;
    et_plus_set_fault(node, ET_PLUS_PG_NAME, !set_pg_name(&other, node, place));
    reader->fields->source = own;
}
