/*
 * et_write.c - protobuf's wire format, for the messages of chakra_et.proto.
 *
 * A message's length stands before it, so each is measured first and written then: a field by two functions of the same
 * shape. Cost: O(bytes written).
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "simulate/et_format.h"
#include "simulate/et_write.h"
#include "text/strings.h"
#include "write/sink.h"

/*
 * Five members of the file as attributes. The index of tokens may be gone by now.
 */

struct member {
    const char *key;
    enum et_name name;
    enum et_kind kind;
};

static const struct member members[] = {
    {"schema", ET_NAME_SCHEMA, ET_STRING},       {"pid", ET_NAME_PID, ET_UINT64},
    {"time", ET_NAME_TIME, ET_STRING},           {"start_ts", ET_NAME_START_TS, ET_UINT64},
    {"finish_ts", ET_NAME_FINISH_TS, ET_UINT64},
};

#define N_MEMBERS (sizeof members / sizeof *members)

/* The string at `raw`, which was checked when it was read, decoded; false: it cannot be encoded in UTF-8. */
static bool read_text(struct arena *arena, const char *raw, struct et_text *text) {
    size_t length = 0;
    while (raw[length] != '"')
        length += raw[length] == '\\' ? 2 : 1;
    char *decoded = arena_take(arena, length + 64, 1);
    if (!decoded)
        return true; /* which the arena tells */
    *text = (struct et_text){decoded, (uint32_t)string_decode(raw, length, decoded)};
    return length < UINT32_MAX && utf8_check(decoded, text->length) == text->length;
}

/* Reads a member's value into the place `at`; false: it is of a wrong type. */
static bool put_value_et_metadata(struct et_nodes *nodes, uint64_t at, enum et_kind kind, const char *value) {
    struct et_attributes *metadata = &nodes->metadata;
    struct et_text text = {0};
    metadata->kind[at] = *value == 'n' ? ET_NO_VALUE : (uint8_t)kind;
    metadata->length[at] = 0;
    metadata->value[at].bits = 0;
    if (*value == 'n')
        return true;
    if (kind == ET_UINT64)
        return unsigned_parse(value, &metadata->value[at].bits);
    if (*value != '"' || !read_text(&nodes->arena, value + 1, &text))
        return false;
    metadata->value[at].bytes = text.bytes;
    metadata->length[at] = text.length;
    return true;
}

static enum sutra_status refuse(const struct document *document, const struct document_member *found,
                                const struct member *member, struct sutra_error *error) {
    const char *expected =
        member->kind == ET_STRING ? "a string that can be encoded in UTF-8" : "a non-negative integer";
    if (!found)
        return error_file(error, SUTRA_DATA, document->source.name, "missing member \"%s\" next to \"nodes\"",
                          member->key);
    return source_error(&document->source, error, found->value, "\"%s\": expected %s", member->key, expected);
}

enum sutra_status et_metadata_make(struct et_nodes *nodes, const struct document *document, bool needed,
                                   struct sutra_error *error) {
    enum sutra_status status = et_attributes_take(nodes, &nodes->metadata, N_MEMBERS, error);
    uint64_t n = 0;
    for (size_t i = 0; i < N_MEMBERS && !status; i++) {
        const struct document_member *found = document_find(document, members[i].key);
        nodes->metadata.name[n] = members[i].name;
        if (found && put_value_et_metadata(nodes, n, members[i].kind, document->source.bytes + found->value))
            n++;
        else if (needed)
            status = refuse(document, found, &members[i], error);
        if (nodes->arena.failed)
            status = error_memory(error);
    }
    nodes->metadata.n = n;
    return status;
}

/* Output that a piece aims at, and the bytes of a node beside its texts, roughly. */
#define NODES_PIECE_BYTES (1 << 18)
#define NODE_BYTES        256

/* ---- fields ---- */

/* A field of bytes: its key and its length, then come the bytes. */
static inline size_t bytes_size(unsigned field, uint64_t length) {
    return key_size(field) + varint_size(length) + length;
}

static inline char *put_length(char *to, unsigned field, uint64_t length) {
    return put_varint(put_key(to, field, WIRE_BYTES), length);
}

static inline char *put_bytes(char *to, const char *bytes, size_t length) {
    if (length > 0)
        memcpy(to, bytes, length);
    return to + length;
}

/* A number or a text that is left out if it is 0 or empty. */
static inline size_t number_size(unsigned field, uint64_t value) {
    return value ? key_size(field) + varint_size(value) : 0;
}

static inline char *put_number(char *to, unsigned field, uint64_t value) {
    return value ? put_varint(put_key(to, field, WIRE_VARINT), value) : to;
}

static inline size_t text_size(unsigned field, struct et_text text) {
    return text.length ? bytes_size(field, text.length) : 0;
}

static inline char *put_text(char *to, unsigned field, struct et_text text) {
    return text.length ? put_bytes(put_length(to, field, text.length), text.bytes, text.length) : to;
}

/* ---- attributes ---- */

static size_t value_size(const struct et_attributes *attributes, uint64_t i) {
    unsigned kind = attributes->kind[i];
    if (kind == ET_NO_VALUE)
        return 0;
    switch (et_wire_type(kind)) {
    case WIRE_64:
        return key_size(kind) + 8;
    case WIRE_32:
        return key_size(kind) + 4;
    case WIRE_BYTES:
        return bytes_size(kind, attributes->length[i]);
    default:
        return key_size(kind) + varint_size(et_varint_of(kind, attributes->value[i].bits));
    }
}

static char *put_value_et_write(char *to, const struct et_attributes *attributes, uint64_t i) {
    unsigned kind = attributes->kind[i];
    union et_value value = attributes->value[i];
    if (kind == ET_NO_VALUE)
        return to;
    enum wire_type wire = et_wire_type(kind);
    to = put_key(to, kind, wire);
    switch (wire) {
    case WIRE_64:
        return put_bytes(to, (const char *)&value.bits, 8);
    case WIRE_32:
        return put_bytes(to, (const char *)&value.bits, 4);
    case WIRE_BYTES:
        return put_bytes(put_varint(to, attributes->length[i]), value.bytes, attributes->length[i]);
    default:
        return put_varint(to, et_varint_of(kind, value.bits));
    }
}

/* The message AttributeProto. */
static size_t attribute_size(const struct et_nodes *nodes, const struct et_attributes *attributes, uint64_t i) {
    return text_size(1, et_name_text(nodes, attributes->name[i])) + text_size(2, et_doc_find(attributes, i)) +
           value_size(attributes, i);
}

/* The attributes from `begin` to `end`, as the repeated field `field`. */
static size_t attributes_size(const struct et_nodes *nodes, const struct et_attributes *attributes, unsigned field,
                              uint64_t begin, uint64_t end) {
    size_t size = 0;
    for (uint64_t i = begin; i < end; i++)
        size += bytes_size(field, attribute_size(nodes, attributes, i));
    return size;
}

static char *put_attributes(char *to, const struct et_nodes *nodes, const struct et_attributes *attributes,
                            unsigned field, uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; i++) {
        to = put_length(to, field, attribute_size(nodes, attributes, i));
        to = put_text(to, 1, et_name_text(nodes, attributes->name[i]));
        to = put_value_et_write(put_text(to, 2, et_doc_find(attributes, i)), attributes, i);
    }
    return to;
}

/* ---- nodes ---- */

static uint64_t ids_length(const struct et_ids *list, row_t row) {
    uint64_t length = 0;
    for (uint64_t i = list->first[row]; i < list->first[row + 1]; i++)
        length += varint_size(list->ids[i]);
    return length;
}

static size_t ids_size(unsigned field, const struct et_ids *list, row_t row) {
    uint64_t length = ids_length(list, row);
    return length ? bytes_size(field, length) : 0;
}

static char *put_ids(char *to, unsigned field, const struct et_ids *list, row_t row) {
    uint64_t length = ids_length(list, row);
    if (length == 0)
        return to;
    to = put_length(to, field, length);
    for (uint64_t i = list->first[row]; i < list->first[row + 1]; i++)
        to = put_varint(to, list->ids[i]);
    return to;
}

/* The message IOInfo of three columns from `first` on. */
static size_t texts_size(const struct et_nodes *nodes, int first, row_t row) {
    size_t size = 0;
    for (unsigned i = 0; i < 3; i++)
        size += text_size(i + 1, et_text_at(nodes->text[first + (int)i], row));
    return size;
}

static char *put_texts(char *to, unsigned field, const struct et_nodes *nodes, int first, row_t row) {
    to = put_length(to, field, texts_size(nodes, first, row));
    for (unsigned i = 0; i < 3; i++)
        to = put_text(to, i + 1, et_text_at(nodes->text[first + (int)i], row));
    return to;
}

static size_t node_size(const struct et_nodes *nodes, row_t row) {
    size_t size = number_size(1, nodes->id[row]) + text_size(2, et_text_at(nodes->text[ET_NODE_NAME], row)) +
                  number_size(3, (uint64_t)nodes->type[row]) + ids_size(4, &nodes->ctrl, row) +
                  ids_size(5, &nodes->data, row) + number_size(6, nodes->start_us[row]) +
                  number_size(7, nodes->duration_us[row]);
    if (nodes->flags[row] & ET_HAS_INPUTS)
        size += bytes_size(8, texts_size(nodes, ET_INPUT_VALUES, row));
    if (nodes->flags[row] & ET_HAS_OUTPUTS)
        size += bytes_size(9, texts_size(nodes, ET_OUTPUT_VALUES, row));
    return size + attributes_size(nodes, &nodes->attributes, 10, nodes->attr_first[row], nodes->attr_first[row + 1]);
}

static char *put_node(char *to, const struct et_nodes *nodes, row_t row) {
    to = put_number(to, 1, nodes->id[row]);
    to = put_text(to, 2, et_text_at(nodes->text[ET_NODE_NAME], row));
    to = put_number(to, 3, (uint64_t)nodes->type[row]);
    to = put_ids(to, 4, &nodes->ctrl, row);
    to = put_ids(to, 5, &nodes->data, row);
    to = put_number(to, 6, nodes->start_us[row]);
    to = put_number(to, 7, nodes->duration_us[row]);
    if (nodes->flags[row] & ET_HAS_INPUTS)
        to = put_texts(to, 8, nodes, ET_INPUT_VALUES, row);
    if (nodes->flags[row] & ET_HAS_OUTPUTS)
        to = put_texts(to, 9, nodes, ET_OUTPUT_VALUES, row);
    return put_attributes(to, nodes, &nodes->attributes, 10, nodes->attr_first[row], nodes->attr_first[row + 1]);
}

void et_write_node(const struct et_nodes *nodes, row_t row, struct buffer *out) {
    size_t size = node_size(nodes, row);
    char *to = buffer_reserve(out, varint_size(size) + size);
    if (to)
        out->length = (size_t)(put_node(put_varint(to, size), nodes, row) - out->bytes);
}

void et_write_metadata(const struct et_nodes *nodes, struct buffer *out) {
    const struct et_attributes *metadata = &nodes->metadata;
    size_t size = text_size(1, nodes->version) + attributes_size(nodes, metadata, 2, 0, metadata->n);
    char *to = buffer_reserve(out, varint_size(size) + size);
    if (!to)
        return;
    to = put_text(put_varint(to, size), 1, nodes->version);
    out->length = (size_t)(put_attributes(to, nodes, metadata, 2, 0, metadata->n) - out->bytes);
}

/* ---- the file ---- */

struct et_writing {
    const struct et_nodes *nodes;
    const struct et_maker *maker; /* NULL: the nodes are there */
    struct sink *sink;
    row_t *first; /* of each piece, and the number of nodes behind the last */
    size_t n_pieces;
    atomic_bool failed; /* out of memory */
};

static uint64_t made_bytes(const struct et_maker *maker, row_t node) {
    const struct plus_nodes *plus = &maker->graph->plus->nodes;
    row_t row = maker->graph->message[maker->slot[node]];
    uint64_t bytes = plus->name[row].length;
    for (int i = 0; i < PLUS_N_IO; i++)
        bytes += plus->io[i][row].length;
    return bytes;
}

static uint64_t node_bytes(const struct et_nodes *nodes, row_t row) {
    uint64_t bytes = 0;
    for (int column = 0; column < ET_TEXT_COLUMNS; column++)
        bytes += nodes->text[column].length[row];
    return bytes;
}

static row_t count_nodes(const struct et_writing *writing) {
    return writing->maker ? writing->maker->n : writing->nodes->n;
}

/* Cuts the nodes into pieces of about NODES_PIECE_BYTES; returns their number. `first` may be NULL. */
static size_t cut_pieces(const struct et_writing *writing, row_t *first) {
    size_t n = 0;
    uint64_t bytes = NODES_PIECE_BYTES;
    row_t n_nodes = count_nodes(writing);
    for (row_t row = 0; row < n_nodes; row++) {
        if (bytes >= NODES_PIECE_BYTES) {
            if (first)
                first[n] = row;
            n++;
            bytes = 0;
        }
        bytes += NODE_BYTES + (writing->maker ? made_bytes(writing->maker, row) : node_bytes(writing->nodes, row));
    }
    if (first)
        first[n] = n_nodes;
    return n;
}

/* Encodes the nodes from `first` up to `end`. */
static bool encode(const struct et_writing *writing, row_t first, row_t end, struct buffer *out) {
    struct et_nodes made = {.names = writing->nodes->names};
    const struct et_nodes *nodes = writing->nodes;
    if (writing->maker) {
        if (et_maker_fill(writing->maker, first, end, &made, NULL, NULL) != SUTRA_OK) {
            arena_free(&made.arena);
            return false;
        }
        nodes = &made;
        end -= first;
        first = 0;
    }
    for (row_t row = first; row < end; row++)
        et_write_node(nodes, row, out);
    arena_free(&made.arena);
    return !out->failed;
}

static void write_piece(void *arg, size_t number) {
    struct et_writing *writing = arg;
    struct buffer out = {0};
    buffer_reserve(&out, 2 * NODES_PIECE_BYTES);
    if (!sink_failed(writing->sink) && !encode(writing, writing->first[number], writing->first[number + 1], &out))
        atomic_store(&writing->failed, true);
    sink_write(writing->sink, number + 1, out.bytes, out.length);
    buffer_free(&out);
}

static enum sutra_status write_pieces(struct et_writing *writing, struct sutra_context *context, const char *path,
                                      uint64_t *n_bytes, struct sutra_error *error) {
    struct buffer head = {0};
    et_write_metadata(writing->nodes, &head);
    enum sutra_status status = head.failed ? error_memory(error) : sink_open(&writing->sink, context, path, error);
    if (!status) {
        sink_write(writing->sink, 0, head.bytes, head.length);
        pool_run(context->pool, writing->n_pieces, write_piece, writing);
        bool whole = !atomic_load(&writing->failed);
        status = sink_close(writing->sink, whole, n_bytes, error);
        if (!status && !whole)
            status = error_memory(error);
    }
    buffer_free(&head);
    return status;
}

enum sutra_status et_write(const struct et_nodes *nodes, const struct et_maker *maker, struct sutra_context *context,
                           const char *path, uint64_t *n_bytes, struct sutra_error *error) {
    struct et_writing writing = {.nodes = nodes, .maker = maker};
    writing.n_pieces = cut_pieces(&writing, NULL);
    writing.first = malloc((writing.n_pieces + 1) * sizeof *writing.first);
    if (!writing.first)
        return error_memory(error);
    cut_pieces(&writing, writing.first);
    stage_begin(context, "write", count_nodes(&writing));
    enum sutra_status status = write_pieces(&writing, context, path, n_bytes, error);
    stage_end(context);
    free(writing.first);
    return status;
}
