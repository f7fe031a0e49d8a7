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
#include "simulate/et_fill.h"
#include "simulate/et_schema.h"
#include "text/string_text.h"

struct et_reader {
    struct et_file *file;
    struct et_filler filler;
    const char *fault, *fault_at; /* the first one that was met */
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
    if (!reader->filler.fill) {
        size_t good = utf8_check(field->bytes, field->bits);
        if (good < field->bits)
            note_fault(reader, field->bytes + good, "a text is not UTF-8");
    }
    return (struct et_text){field->bytes, (uint32_t)field->bits};
}

/* ---- Ids ---- */

static void read_ids(struct et_reader *reader, void (*put)(struct et_filler *filler, uint64_t id),
                     const struct wire_field *field) {
    if (field->type == WIRE_VARINT) {
        put(&reader->filler, field->bits);
    } else if (field->type == WIRE_BYTES) {
        struct wire wire = nested(field);
        uint64_t id;
        while (wire.at != wire.end && wire_varint(&wire, &id))
            put(&reader->filler, id);
        end_fields(reader, &wire);
    }
}

/* ---- Attributes ---- */

/* Lists that come in several pieces are the pieces one after the other. */
static void add_list(struct et_reader *reader, struct et_attribute *attribute, const struct wire_field *field) {
    struct et_text piece = {field->bytes, (uint32_t)field->bits};
    if (attribute->kind != field->number || attribute->text.length == 0) {
        attribute->text = piece;
    } else if (piece.length > 0 && reader->filler.fill) {
        char *whole = arena_take(&reader->file->nodes.arena, (size_t)attribute->text.length + piece.length, 1);
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

static void read_value(struct et_reader *reader, struct et_attribute *attribute, const struct wire_field *field) {
    if (field->number % 2 == 0) {
        if (!reader->filler.fill)
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

static struct et_attribute read_attribute(struct et_reader *reader, const struct wire_field *message) {
    struct et_attribute attribute = {0};
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

/* ---- Messages ---- */

static void read_texts(struct et_reader *reader, struct et_text *texts, const struct wire_field *message) {
    struct wire wire = nested(message);
    struct wire_field field;
    while (wire_next(&wire, &field))
        if (field.number >= 1 && field.number <= 3 && field.type == WIRE_BYTES)
            texts[field.number - 1] = text_of(reader, &field);
    end_fields(reader, &wire);
}

static void read_bytes_field(struct et_reader *reader, struct et_node *node, const struct wire_field *field) {
    struct et_attribute attribute;
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
        attribute = read_attribute(reader, field);
        et_fill_attribute(&reader->filler, &attribute);
        break;
    }
}

static void read_number_field(struct et_node *node, const struct wire_field *field) {
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

static void read_node(struct et_reader *reader, struct wire wire) {
    struct et_node node = {0};
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        if (field.number == 4)
            read_ids(reader, et_fill_ctrl, &field);
        else if (field.number == 5)
            read_ids(reader, et_fill_data, &field);
        else if (field.type == WIRE_BYTES)
            read_bytes_field(reader, &node, &field);
        else if (field.type == WIRE_VARINT)
            read_number_field(&node, &field);
    }
    end_fields(reader, &wire);
    et_fill_node(&reader->filler, &node);
}

static void read_metadata(struct et_reader *reader, struct wire wire) {
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        if (field.type != WIRE_BYTES)
            continue;
        if (field.number == 1)
            reader->file->nodes.version = text_of(reader, &field);
        if (field.number != 2)
            continue;
        struct et_attribute attribute = read_attribute(reader, &field);
        et_fill_metadata(&reader->filler, &attribute);
    }
    end_fields(reader, &wire);
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
    while (next_message(reader, &file, first, &message)) {
        struct et_totals before = reader->filler.n;
        if (first)
            read_metadata(reader, message);
        else if (reader->filler.n.n_nodes < ROW_LIMIT)
            read_node(reader, message);
        else
            note_fault(reader, message.at, "more nodes than fit 32 bits");
        if (reader->fault) {
            reader->filler.n = before;
            return;
        }
        reader->file->has_metadata = true;
        first = false;
    }
}

/* No message is whole: perhaps it is a file of another kind. */
static void first_fault(const struct et_reader *reader, struct sutra_error *damage) {
    const struct source *source = &reader->file->source;
    if (source->size > 0 && source->bytes[0] == '{') {
        error_file(damage, SUTRA_DATA, source->name,
                   "this is JSON, and an .et file was expected; 'sutra convert' makes one of ET+");
        return;
    }
    error_file(damage, SUTRA_DATA, source->name, "not an .et file, or a damaged one: the first message: %s",
               reader->fault);
    damage->offset = (uint64_t)(reader->fault_at - source->bytes);
}

static enum sutra_status fault_error(const struct et_reader *reader, struct sutra_error *error) {
    const struct et_file *file = reader->file;
    struct sutra_error damage;
    if (!file->has_metadata) {
        first_fault(reader, &damage);
    } else {
        error_file(&damage, SUTRA_DATA, file->source.name, "the file is damaged or cut off in node %u: %s",
                   reader->filler.n.n_nodes + 1, reader->fault);
        damage.offset = (uint64_t)(reader->fault_at - file->source.bytes);
    }
    if (error)
        *error = damage;
    return SUTRA_DATA;
}

/* The second pass, over the nodes that the first one found whole. */
static void fill(struct et_reader *reader) {
    struct wire file = wire_over(reader->file->source.bytes, reader->file->source.size), message;
    for (bool first = true; first || reader->filler.n.n_nodes < reader->file->nodes.n; first = false) {
        if (!next_message(reader, &file, first, &message))
            return;
        if (first)
            read_metadata(reader, message);
        else
            read_node(reader, message);
    }
}

enum sutra_status et_read(struct et_file *file, bool tolerant, struct sutra_error *error) {
    struct et_reader reader = {.file = file};
    file->cut_at = file->empty_at = ET_NOWHERE;
    enum sutra_status status = et_fill_begin(&reader.filler, &file->nodes, error);
    if (status)
        return status;
    read_messages(&reader);
    if (reader.fault) {
        status = fault_error(&reader, tolerant ? &file->damage : error);
        if (!tolerant)
            return status;
        reader.fault = NULL;
    }
    status = et_fill_room(&reader.filler, error);
    if (!status && file->has_metadata)
        fill(&reader);
    if (!status && et_fill_failed(&reader.filler))
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
