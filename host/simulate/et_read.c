/*
 * et_read.c - from the messages of an .et file to columns.
 *
 * Both passes walk the messages with the same functions: the first checks all and counts ids and attributes, the second
 * puts them into the columns. What was read before a fault stays counted, so that a damaged file can be looked at as far
 * as it is whole.
 */
#include "simulate/et_read.h"

#include <string.h>

#include "base/error.h"
#include "simulate/et_schema.h"
#include "text/string_text.h"

/* Names of attributes come in the same order in node after node. */
#define NAME_GUESSES 32

/* How much of everything there is. */
struct totals {
    row_t n_nodes;
    uint64_t n_ctrl, n_data, n_attributes, n_docs;
};

struct et_reader {
    struct et_file *file;
    struct et_nodes *nodes;
    bool fill;       /* the second pass */
    struct totals n; /* so far */
    uint32_t guesses[NAME_GUESSES];
    const char *fault, *fault_at; /* the first one that was met */
    bool no_memory;
};

/* A node's single fields. */
struct et_node_read {
    uint64_t id, start_us, duration_us;
    int32_t type;
    uint8_t flags;
    struct et_text text[ET_TEXT_COLUMNS];
};

struct attribute {
    struct et_text name, doc;
    uint8_t kind;
    struct et_text text; /* of texts and lists */
    uint64_t bits;
};

static void note_fault(struct et_reader *reader, const char *at, const char *fault) {
    if (reader->fault)
        return;
    reader->fault = fault;
    reader->fault_at = at;
}

/* The bytes of a field as a cursor. */
static struct wire nested(const struct wire_field *field) {
    return wire_over(field->bytes, field->bits);
}

static void end_fields(struct et_reader *reader, const struct wire *wire) {
    if (wire->fault)
        note_fault(reader, wire->at, wire->fault);
}

static struct et_text text_of(struct et_reader *reader, const struct wire_field *field) {
    if (!reader->fill) {
        size_t good = utf8_check(field->bytes, field->bits);
        if (good < field->bits)
            note_fault(reader, field->bytes + good, "a text is not UTF-8");
    }
    return (struct et_text){field->bytes, (uint32_t)field->bits};
}

/* ---- Ids ---- */

static void put_id(struct et_reader *reader, struct et_ids *list, uint64_t *n, uint64_t id) {
    if (reader->fill)
        list->ids[*n] = id;
    (*n)++;
}

static void read_ids(struct et_reader *reader, struct et_ids *list, uint64_t *n, const struct wire_field *field) {
    if (field->type == WIRE_VARINT) {
        put_id(reader, list, n, field->bits);
    } else if (field->type == WIRE_BYTES) {
        struct wire wire = nested(field);
        uint64_t id;
        while (wire.at != wire.end && wire_varint(&wire, &id))
            put_id(reader, list, n, id);
        end_fields(reader, &wire);
    }
}

/* ---- Attributes ---- */

/* Lists that come in several pieces are the pieces one after the other. */
static void add_list(struct et_reader *reader, struct attribute *attribute, const struct wire_field *field) {
    struct et_text piece = {field->bytes, (uint32_t)field->bits};
    if (attribute->kind != field->number || attribute->text.length == 0) {
        attribute->text = piece;
    } else if (piece.length > 0 && reader->fill) {
        char *whole = arena_take(&reader->nodes->arena, (size_t)attribute->text.length + piece.length, 1);
        if (!whole)
            return;
        memcpy(whole, attribute->text.bytes, attribute->text.length);
        memcpy(whole + attribute->text.length, piece.bytes, piece.length);
        attribute->text = (struct et_text){whole, attribute->text.length + piece.length};
    }
}

static void check_list(struct et_reader *reader, const struct wire_field *field) {
    struct et_list list = et_list_over(field->number, field->bytes, field->bits);
    struct et_text text;
    uint64_t bits;
    while (et_list_next(&list, &bits, &text))
        if (field->number - 1 == ET_STRING)
            text_of(reader, &(struct wire_field){.bits = text.length, .bytes = text.bytes});
    end_fields(reader, &list.fields);
    end_fields(reader, &list.packed);
}

static void read_value(struct et_reader *reader, struct attribute *attribute, const struct wire_field *field) {
    if (field->number % 2 == 0) {
        if (!reader->fill)
            check_list(reader, field);
        add_list(reader, attribute, field);
    } else if (field->number == ET_STRING) {
        attribute->text = text_of(reader, field);
    } else if (field->number == ET_BYTES) {
        attribute->text = (struct et_text){field->bytes, (uint32_t)field->bits};
    } else {
        attribute->bits = et_scalar_bits(field->number, field->bits);
    }
    attribute->kind = (uint8_t)field->number;
}

static struct attribute read_attribute(struct et_reader *reader, const struct wire_field *message) {
    struct attribute attribute = {0};
    struct wire wire = nested(message);
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        if (field.number == 1 && field.type == WIRE_BYTES)
            attribute.name = text_of(reader, &field);
        else if (field.number == 2 && field.type == WIRE_BYTES)
            attribute.doc = text_of(reader, &field);
        else if (field.number >= ET_DOUBLE && field.number < ET_KINDS && field.type == et_wire_type(field.number))
            read_value(reader, &attribute, &field);
    }
    end_fields(reader, &wire);
    return attribute;
}

static uint32_t name_number(struct et_reader *reader, uint32_t *guess, struct et_text name) {
    struct strings *names = &reader->nodes->names;
    if (strings_length(names, *guess) != name.length ||
        memcmp(strings_text(names, *guess), name.bytes ? name.bytes : "", name.length) != 0) {
        uint32_t number = strings_intern(names, name.bytes ? name.bytes : "", name.length);
        reader->no_memory |= number == STRING_NONE;
        if (number != STRING_NONE)
            *guess = number;
    }
    return *guess;
}

/* The i-th attribute of its node, at place `at` of the table. */
static void put_attribute(struct et_reader *reader, struct et_attributes *table, uint64_t at, uint64_t i,
                          const struct attribute *attribute) {
    bool is_text = et_kind_is_text(attribute->kind);
    table->name[at] = name_number(reader, &reader->guesses[i % NAME_GUESSES], attribute->name);
    table->kind[at] = attribute->kind;
    table->length[at] = is_text ? attribute->text.length : 0;
    if (is_text)
        table->value[at].bytes = attribute->text.bytes;
    else
        table->value[at].bits = attribute->bits;
    if (attribute->doc.length > 0)
        table->docs[table->n_docs++] = (struct et_doc){at, attribute->doc};
}

/* ---- Messages ---- */

static void read_texts(struct et_reader *reader, struct et_text *texts, const struct wire_field *message) {
    struct wire wire = nested(message);
    struct wire_field field;
    while (wire_next(&wire, &field))
        if (field.number >= 1 && field.number <= 3 && field.type == WIRE_BYTES)
            texts[field.number - 1] = text_of(reader, &field);
    end_fields(reader, &wire);
}

static void read_node_attribute(struct et_reader *reader, const struct wire_field *field) {
    struct attribute attribute = read_attribute(reader, field);
    uint64_t at = reader->n.n_attributes++;
    reader->n.n_docs += attribute.doc.length > 0;
    if (reader->fill)
        put_attribute(reader, &reader->nodes->attributes, at, at - reader->nodes->attr_first[reader->n.n_nodes],
                      &attribute);
}

static void read_bytes_field(struct et_reader *reader, struct et_node_read *node, const struct wire_field *field) {
    switch (field->number) {
    case 2:
        node->text[ET_NODE_NAME] = text_of(reader, field);
        break;
    case 8:
        node->flags |= ET_HAS_INPUTS;
        read_texts(reader, &node->text[ET_INPUT_VALUES], field);
        break;
    case 9:
        node->flags |= ET_HAS_OUTPUTS;
        read_texts(reader, &node->text[ET_OUTPUT_VALUES], field);
        break;
    case 10:
        read_node_attribute(reader, field);
        break;
    }
}

static void read_number_field(struct et_node_read *node, const struct wire_field *field) {
    switch (field->number) {
    case 1:
        node->id = field->bits;
        break;
    case 3:
        node->type = (int32_t)(uint32_t)field->bits;
        break;
    case 6:
        node->start_us = field->bits;
        break;
    case 7:
        node->duration_us = field->bits;
        break;
    }
}

static void put_node(struct et_nodes *nodes, row_t row, const struct et_node_read *node) {
    nodes->id[row] = node->id;
    nodes->start_us[row] = node->start_us;
    nodes->duration_us[row] = node->duration_us;
    nodes->type[row] = node->type;
    nodes->flags[row] = node->flags;
    for (int column = 0; column < ET_TEXT_COLUMNS; column++)
        et_text_put(nodes->text[column], row, node->text[column]);
}

static void end_lists(struct et_reader *reader) {
    row_t row = reader->n.n_nodes;
    reader->nodes->ctrl.first[row] = reader->n.n_ctrl;
    reader->nodes->data.first[row] = reader->n.n_data;
    reader->nodes->attr_first[row] = reader->n.n_attributes;
}

static void read_node(struct et_reader *reader, struct wire wire) {
    struct et_node_read node = {0};
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        if (field.number == 4)
            read_ids(reader, &reader->nodes->ctrl, &reader->n.n_ctrl, &field);
        else if (field.number == 5)
            read_ids(reader, &reader->nodes->data, &reader->n.n_data, &field);
        else if (field.type == WIRE_BYTES)
            read_bytes_field(reader, &node, &field);
        else if (field.type == WIRE_VARINT)
            read_number_field(&node, &field);
    }
    end_fields(reader, &wire);
    if (reader->fill)
        put_node(reader->nodes, reader->n.n_nodes, &node);
    reader->n.n_nodes++;
    if (reader->fill)
        end_lists(reader);
}

/* The first message; the first pass makes room for its attributes. */
static void read_metadata(struct et_reader *reader, struct wire wire) {
    struct et_attributes *table = &reader->nodes->metadata;
    struct wire_field field;
    uint64_t n = 0, n_docs = 0;
    while (wire_next(&wire, &field)) {
        if (field.type != WIRE_BYTES)
            continue;
        if (field.number == 1)
            reader->nodes->version = text_of(reader, &field);
        if (field.number != 2)
            continue;
        struct attribute attribute = read_attribute(reader, &field);
        if (reader->fill)
            put_attribute(reader, table, n, n, &attribute);
        n++;
        n_docs += attribute.doc.length > 0;
    }
    end_fields(reader, &wire);
    if (!reader->fill)
        reader->no_memory |=
            et_attributes_take(reader->nodes, table, n, NULL) || et_docs_take(reader->nodes, table, n_docs, NULL);
}

/* ---- The file ---- */

/* The next message's bytes; false where the messages end. */
static bool next_message(struct et_reader *reader, struct wire *file, bool first, struct wire *message) {
    const struct source *source = &reader->file->source;
    uint64_t at = (uint64_t)(file->at - source->bytes), length;
    if (file->at == file->end)
        return false;
    if (!wire_varint(file, &length)) {
        if (source->size - at >= WIRE_VARINT_MAX) /* as many bytes, and none of them the last one */
            note_fault(reader, file->at, file->fault);
        reader->file->cut_at = at;
        return false;
    }
    length &= UINT32_MAX; /* as Chakra's readers do */
    uint64_t left = (uint64_t)(file->end - file->at);
    if (length > left)
        reader->file->cut_at = at;
    if (length == 0 && !first)
        reader->file->empty_at = at;
    *message = wire_over(file->at, length < left ? length : left);
    file->at = message->end;
    return length > 0 || first;
}

/* One pass. Stops at a fault, before which all stays counted. */
static void read_messages(struct et_reader *reader) {
    struct wire file = wire_over(reader->file->source.bytes, reader->file->source.size), message;
    bool first = true;
    while (next_message(reader, &file, first, &message) && !reader->no_memory) {
        struct totals before = reader->n;
        if (first)
            read_metadata(reader, message);
        else if (reader->n.n_nodes < ROW_LIMIT)
            read_node(reader, message);
        else
            note_fault(reader, message.at, "more nodes than fit 32 bits");
        if (reader->fault) {
            reader->n = before;
            return;
        }
        reader->file->has_metadata = true;
        first = false;
    }
}

static enum sutra_status fault_error(const struct et_reader *reader, struct sutra_error *error) {
    const struct et_file *file = reader->file;
    struct sutra_error damage;
    if (!file->has_metadata)
        error_file(&damage, SUTRA_DATA, file->source.name, "not an .et file, or a damaged one: the first message: %s",
                   reader->fault);
    else
        error_file(&damage, SUTRA_DATA, file->source.name, "the file is damaged or cut off in node %u: %s",
                   reader->n.n_nodes + 1, reader->fault);
    damage.offset = (uint64_t)(reader->fault_at - file->source.bytes);
    if (error)
        *error = damage;
    return SUTRA_DATA;
}

/* Room for what the first pass counted. */
static enum sutra_status make_room(struct et_reader *reader, struct sutra_error *error) {
    struct totals n = reader->n;
    enum sutra_status status = et_nodes_take(reader->nodes, n.n_nodes, n.n_ctrl, n.n_data, n.n_attributes, error);
    return status ? status : et_docs_take(reader->nodes, &reader->nodes->attributes, n.n_docs, error);
}

/* The second pass, over the nodes that the first one found whole. */
static void fill(struct et_reader *reader) {
    struct wire file = wire_over(reader->file->source.bytes, reader->file->source.size), message;
    reader->fill = true;
    reader->n = (struct totals){0};
    for (bool first = true; !reader->no_memory && (first || reader->n.n_nodes < reader->nodes->n); first = false) {
        if (!next_message(reader, &file, first, &message))
            return;
        if (first)
            read_metadata(reader, message);
        else
            read_node(reader, message);
    }
}

enum sutra_status et_read(struct et_file *file, bool tolerant, struct sutra_error *error) {
    struct et_reader reader = {.file = file, .nodes = &file->nodes};
    file->cut_at = file->empty_at = ET_NOWHERE;
    enum sutra_status status = et_nodes_begin(&file->nodes, error);
    if (status)
        return status;
    read_messages(&reader);
    if (reader.fault) {
        status = fault_error(&reader, tolerant ? &file->damage : error);
        if (!tolerant)
            return status;
        reader.fault = NULL;
    }
    status = reader.no_memory ? error_memory(error) : make_room(&reader, error);
    if (!status && file->has_metadata)
        fill(&reader);
    if (!status && (reader.no_memory || file->nodes.arena.failed))
        status = error_memory(error);
    return status;
}

void et_file_free(struct et_file *file) {
    et_nodes_free(&file->nodes);
    source_close(&file->source);
}

bool et_looks_like(const char *bytes, size_t size) {
    struct wire file = wire_over(bytes, size), message;
    struct wire_field field;
    uint64_t length;
    if (!wire_varint(&file, &length) || length > (uint64_t)(file.end - file.at))
        return false;
    message = wire_over(file.at, length);
    while (wire_next(&message, &field))
        if (field.number > 2 || field.type != WIRE_BYTES)
            return false;
    return !message.fault;
}
