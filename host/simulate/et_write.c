/*
 * et_write.c - encodes and writes .et files (et_file.h) in protobuf's wire format, for the messages of chakra_et.proto.
 * Cost: O(bytes written).
 */
#include <string.h>

#include "base/error.h"
#include "context/context.h"
#include "simulate/et_file.h"
#include "write/sink.h"

/* The nodes of a piece. */
#define PIECE_NODES 512

/*
 * ---- Encoding ----
 *
 * The length of a message precedes it. Most attributes have lengths of one byte and most nodes of two, so a message is
 * written after a length of that size, and moved if its length needs another. The caller reserves the most bytes that
 * a message may need.
 */

/* The most bytes of an attribute without its texts: keys and lengths of the attribute and of three texts. */
#define ATTRIBUTE_MAX (4 * FIELD_HEAD_MAX)

/* Fields of a node, and its length. */
#define NODE_HEADS 11

/* Ends the message that was written from `start` + `reserved` up to `end`, after its length; returns its end. */
static inline char *end_message(char *start, size_t reserved, char *end) {
    const size_t length = (size_t)(end - start) - reserved, n = varint_size(length);
    if (n != reserved)
        memmove(start + n, start + reserved, length);
    write_varint(start, length);
    return start + n + length;
}

/* A number or a text; 0 and empty texts are omitted. */
static inline char *encode_number(char *to, unsigned field, uint64_t value) {
    return value ? write_varint(write_key(to, field, WIRE_VARINT), value) : to;
}

static inline char *encode_bytes(char *to, unsigned field, const char *bytes, size_t length) {
    to = write_varint(write_key(to, field, WIRE_BYTES), length);
    return length ? (char *)memcpy(to, bytes, length) + length : to;
}

static inline char *encode_text(char *to, unsigned field, struct et_text text) {
    return text.length ? encode_bytes(to, field, text.bytes, text.length) : to;
}

/* The value of AttributeProto. */
static inline char *encode_value(char *to, const struct et_attributes *attributes, uint64_t i) {
    const unsigned kind = attributes->kind[i];
    const union et_value *value = &attributes->value[i];
    if (kind == ET_NO_VALUE)
        return to;
    const enum wire_type wire = et_wire_type(kind);
    if (wire == WIRE_BYTES)
        return encode_bytes(to, kind, value->bytes, attributes->length[i]);
    to = write_key(to, kind, wire);
    if (wire == WIRE_VARINT)
        return write_varint(to, et_varint_of(kind, value->bits));
    const size_t n = wire == WIRE_64 ? 8 : 4;
    memcpy(to, &value->bits, n);
    return to + n;
}

/* The attributes from `begin` to `end`, as the repeated field `field`. */
static inline char *encode_attributes(char *to, const struct et_nodes *nodes, const struct et_attributes *attributes,
                                      unsigned field, uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; i++) {
        char *start = write_key(to, field, WIRE_BYTES);
        to = encode_text(start + 1, 1, et_name_text(nodes, attributes->name[i]));
        to = encode_text(to, 2, et_doc_find(attributes, i));
        to = end_message(start, 1, encode_value(to, attributes, i));
    }
    return to;
}

static size_t attributes_max(const struct et_nodes *nodes, const struct et_attributes *attributes, uint64_t begin,
                             uint64_t end) {
    size_t n = (size_t)(end - begin) * ATTRIBUTE_MAX;
    for (uint64_t i = begin; i < end; i++)
        n +=
            et_name_text(nodes, attributes->name[i]).length + et_doc_find(attributes, i).length + attributes->length[i];
    return n;
}

/* A packed list of ids. */
static inline char *encode_ids(char *to, unsigned field, const struct et_ids *list, row_t row) {
    if (list->first[row] == list->first[row + 1])
        return to;
    char *start = write_key(to, field, WIRE_BYTES);
    to = start + 1;
    for (uint64_t i = list->first[row]; i < list->first[row + 1]; i++)
        to = write_varint(to, list->ids[i]);
    return end_message(start, 1, to);
}

/* The message IOInfo of three columns from `first` on. */
static inline char *encode_texts(char *to, unsigned field, const struct et_nodes *nodes, int first, row_t row) {
    char *start = write_key(to, field, WIRE_BYTES);
    to = start + 1;
    for (unsigned i = 0; i < 3; i++)
        to = encode_text(to, i + 1, et_text_at(nodes->text[first + (int)i], row));
    return end_message(start, 1, to);
}

static inline uint64_t ids_of(const struct et_ids *list, row_t row) {
    return list->first[row + 1] - list->first[row];
}

static size_t node_max(const struct et_nodes *nodes, row_t row) {
    size_t n = (ids_of(&nodes->ctrl, row) + ids_of(&nodes->data, row)) * WIRE_VARINT_MAX +
               attributes_max(nodes, &nodes->attributes, nodes->attr_first[row], nodes->attr_first[row + 1]);
    for (int column = 0; column < ET_TEXT_COLUMNS; column++)
        n += nodes->text[column].length[row];
    return n + (ET_TEXT_COLUMNS + NODE_HEADS) * FIELD_HEAD_MAX;
}

void et_write_node(const struct et_nodes *nodes, row_t row, struct buffer *out) {
    char *start = buffer_reserve(out, node_max(nodes, row));
    if (!start)
        return;
    char *to = encode_number(start + 2, 1, nodes->id[row]);
    to = encode_text(to, 2, et_text_at(nodes->text[ET_NODE_NAME], row));
    to = encode_number(to, 3, (uint64_t)nodes->type[row]);
    to = encode_ids(to, 4, &nodes->ctrl, row);
    to = encode_ids(to, 5, &nodes->data, row);
    to = encode_number(to, 6, nodes->start_us[row]);
    to = encode_number(to, 7, nodes->duration_us[row]);
    if (nodes->flags[row] & ET_HAS_INPUTS)
        to = encode_texts(to, 8, nodes, ET_INPUT_VALUES, row);
    if (nodes->flags[row] & ET_HAS_OUTPUTS)
        to = encode_texts(to, 9, nodes, ET_OUTPUT_VALUES, row);
    to = encode_attributes(to, nodes, &nodes->attributes, 10, nodes->attr_first[row], nodes->attr_first[row + 1]);
    out->length = (size_t)(end_message(start, 2, to) - out->bytes);
}

void et_write_metadata(const struct et_nodes *nodes, struct buffer *out) {
    const struct et_attributes *metadata = &nodes->metadata;
    const size_t most = attributes_max(nodes, metadata, 0, metadata->n) + nodes->version.length + 2 * FIELD_HEAD_MAX;
    char *start = buffer_reserve(out, most);
    if (!start)
        return;
    char *to = encode_text(start + 2, 1, nodes->version);
    to = encode_attributes(to, nodes, metadata, 2, 0, metadata->n);
    out->length = (size_t)(end_message(start, 2, to) - out->bytes);
}

/* ---- The file ---- */

struct et_writing {
    const struct et_nodes *nodes;
    const struct et_supply *supply;
};

static bool encode_nodes(const void *of, const struct et_nodes *nodes, row_t first, row_t end, struct buffer *out) {
    (void)of;
    for (row_t row = first; row < end; row++)
        et_write_node(nodes, row, out);
    return !out->failed;
}

/* Piece 0 is the metadata. */
static void fill_piece(const void *arg, size_t number, struct buffer *out) {
    const struct et_writing *writing = arg;
    const struct et_supply *supply = writing->supply;
    if (number == 0) {
        et_write_metadata(writing->nodes, out);
        return;
    }
    row_t first = (row_t)(number - 1) * PIECE_NODES, end = first + MIN(supply->n - first, PIECE_NODES);
    out->failed |= !supply->encode(supply->of, writing->nodes, first, end, out);
}

enum sutra_status et_write(const struct et_nodes *nodes, const struct et_supply *supply, struct sutra_context *context,
                           const char *path, uint64_t *n_bytes, struct sutra_error *error) {
    const struct et_supply all = {.n = nodes->n, .encode = encode_nodes};
    const struct et_writing writing = {.nodes = nodes, .supply = supply ? supply : &all};
    const row_t n = writing.supply->n;
    const size_t n_pieces = ((size_t)n + PIECE_NODES - 1) / PIECE_NODES;
    stage_begin(context, "write", n);
    enum sutra_status status = pieces_write(context, path, n_pieces + 1, fill_piece, &writing, n_bytes, error);
    stage_end(context);
    return status;
}
