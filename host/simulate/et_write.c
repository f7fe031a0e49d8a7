/*
 * et_write.c - encodes and writes .et files (convert.h) in protobuf's wire format, for the messages of chakra_et.proto.
 * Cost: O(bytes written).
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "simulate/convert.h"
#include "simulate/et_format.h"
#include "text/strings.h"
#include "write/sink.h"

/* ---- Metadata: five members of the file as attributes; the index of tokens may be freed by now ---- */

/* Decodes the string at `raw`, which was checked when it was read; false: it cannot be encoded in UTF-8. */
static bool read_text(struct arena *arena, const char *raw, struct et_text *text) {
    size_t length = 0;
    while (raw[length] != '"')
        length += raw[length] == '\\' ? 2 : 1;
    char *decoded = arena_alloc(arena, length + 64, 1);
    if (!decoded)
        return true; /* the arena records the failure */
    *text = (struct et_text){decoded, (uint32_t)string_decode(raw, length, decoded)};
    return length < UINT32_MAX && utf8_check(decoded, text->length) == text->length;
}

/* Reads the value of a member into index `at`; false: the wrong type. */
static bool read_member(struct et_nodes *nodes, uint64_t at, enum et_kind kind, const char *value) {
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

enum sutra_status et_metadata_make(struct et_nodes *nodes, const struct document *document, bool needed,
                                   struct sutra_error *error) {
    static const struct {
        const char *key;
        enum et_name name;
        enum et_kind kind;
    } members[] = {
        {"schema", ET_NAME_SCHEMA, ET_STRING},       {"pid", ET_NAME_PID, ET_UINT64},
        {"time", ET_NAME_TIME, ET_STRING},           {"start_ts", ET_NAME_START_TS, ET_UINT64},
        {"finish_ts", ET_NAME_FINISH_TS, ET_UINT64},
    };
    const size_t n_members = sizeof members / sizeof *members;
    enum sutra_status status = et_attributes_take(nodes, &nodes->metadata, n_members, error);
    uint64_t n = 0;
    for (size_t i = 0; i < n_members && !status; i++) {
        const struct document_member *found = document_find(document, members[i].key);
        nodes->metadata.name[n] = members[i].name;
        if (found && read_member(nodes, n, members[i].kind, document->source.bytes + found->value))
            n++;
        else if (needed && found)
            status = source_error(&document->source, error, found->value, "\"%s\": expected %s", members[i].key,
                                  members[i].kind == ET_STRING ? "a string that can be encoded in UTF-8"
                                                               : "a non-negative integer");
        else if (needed)
            status = error_file(error, SUTRA_DATA, document->source.name, "missing member \"%s\" next to \"nodes\"",
                                members[i].key);
        if (nodes->arena.failed)
            status = error_memory(error);
    }
    nodes->metadata.n = n;
    return status;
}

/* The nodes of a piece, and the bytes that they usually need. */
#define PIECE_NODES 512
#define ET_PIECE_BYTES ((size_t)PIECE_NODES * 1024)

/*
 * ---- Encoding ----
 *
 * The length of a message precedes it, so each message is measured before it is written. One function does both: with
 * `write` it writes at `to`, and it always returns the size. Callers pass a constant, and the functions are inlined.
 */

#define ENCODE static inline __attribute__((always_inline)) size_t

/* The address after n bytes. Measuring writes nothing, and passes `nowhere`. */
static char nowhere[1];
#define AFTER(n) (write ? to + (n) : nowhere)

/* The key and the length of a field of bytes. */
ENCODE encode_head(char *to, bool write, unsigned field, uint64_t length) {
    if (write)
        write_varint(write_key(to, field, WIRE_BYTES), length);
    return key_size(field) + varint_size(length);
}

ENCODE encode_bytes(char *to, bool write, const void *bytes, size_t length) {
    if (write && length > 0)
        memcpy(to, bytes, length);
    return length;
}

/* A number or a text; 0 and empty texts are omitted. */
ENCODE encode_number(char *to, bool write, unsigned field, uint64_t value) {
    if (!value)
        return 0;
    if (write)
        write_varint(write_key(to, field, WIRE_VARINT), value);
    return key_size(field) + varint_size(value);
}

ENCODE encode_text(char *to, bool write, unsigned field, struct et_text text) {
    if (!text.length)
        return 0;
    size_t n = encode_head(to, write, field, text.length);
    return n + encode_bytes(AFTER(n), write, text.bytes, text.length);
}

/* The value of AttributeProto. */
ENCODE encode_value(char *to, bool write, const struct et_attributes *attributes, uint64_t i) {
    const unsigned kind = attributes->kind[i];
    const union et_value *value = &attributes->value[i];
    if (kind == ET_NO_VALUE)
        return 0;
    const enum wire_type wire = et_wire_type(kind);
    const size_t n = key_size(kind);
    if (wire == WIRE_BYTES) {
        size_t head = encode_head(to, write, kind, attributes->length[i]);
        return head + encode_bytes(AFTER(head), write, value->bytes, attributes->length[i]);
    }
    if (write)
        write_key(to, kind, wire);
    if (wire != WIRE_VARINT)
        return n + encode_bytes(AFTER(n), write, &value->bits, wire == WIRE_64 ? 8 : 4);
    uint64_t varint = et_varint_of(kind, value->bits);
    if (write)
        write_varint(to + n, varint);
    return n + varint_size(varint);
}

ENCODE encode_attribute(char *to, bool write, const struct et_nodes *nodes, const struct et_attributes *attributes,
                        uint64_t i) {
    size_t n = encode_text(to, write, 1, et_name_text(nodes, attributes->name[i]));
    n += encode_text(AFTER(n), write, 2, et_doc_find(attributes, i));
    return n + encode_value(AFTER(n), write, attributes, i);
}

/* The attributes from `begin` to `end`, as the repeated field `field`. */
ENCODE encode_attributes(char *to, bool write, const struct et_nodes *nodes, const struct et_attributes *attributes,
                         unsigned field, uint64_t begin, uint64_t end) {
    size_t n = 0;
    for (uint64_t i = begin; i < end; i++) {
        size_t length = encode_attribute(nowhere, false, nodes, attributes, i);
        n += encode_head(AFTER(n), write, field, length);
        if (write)
            encode_attribute(to + n, true, nodes, attributes, i);
        n += length;
    }
    return n;
}

/* A packed list of ids. */
ENCODE encode_ids(char *to, bool write, unsigned field, const struct et_ids *list, row_t row) {
    uint64_t length = 0;
    for (uint64_t i = list->first[row]; i < list->first[row + 1]; i++)
        length += varint_size(list->ids[i]);
    if (length == 0)
        return 0;
    size_t n = encode_head(to, write, field, length);
    char *end = AFTER(n);
    for (uint64_t i = list->first[row]; write && i < list->first[row + 1]; i++)
        end = write_varint(end, list->ids[i]);
    return n + length;
}

/* The message IOInfo of three columns from `first` on. */
ENCODE encode_texts(char *to, bool write, unsigned field, const struct et_nodes *nodes, int first, row_t row) {
    size_t length = 0;
    for (unsigned i = 0; i < 3; i++)
        length += encode_text(nowhere, false, i + 1, et_text_at(nodes->text[first + (int)i], row));
    size_t n = encode_head(to, write, field, length);
    for (unsigned i = 0; write && i < 3; i++)
        n += encode_text(to + n, true, i + 1, et_text_at(nodes->text[first + (int)i], row));
    return write ? n : n + length;
}

ENCODE encode_node(char *to, bool write, const struct et_nodes *nodes, row_t row) {
    size_t n = encode_number(to, write, 1, nodes->id[row]);
    n += encode_text(AFTER(n), write, 2, et_text_at(nodes->text[ET_NODE_NAME], row));
    n += encode_number(AFTER(n), write, 3, (uint64_t)nodes->type[row]);
    n += encode_ids(AFTER(n), write, 4, &nodes->ctrl, row);
    n += encode_ids(AFTER(n), write, 5, &nodes->data, row);
    n += encode_number(AFTER(n), write, 6, nodes->start_us[row]);
    n += encode_number(AFTER(n), write, 7, nodes->duration_us[row]);
    if (nodes->flags[row] & ET_HAS_INPUTS)
        n += encode_texts(AFTER(n), write, 8, nodes, ET_INPUT_VALUES, row);
    if (nodes->flags[row] & ET_HAS_OUTPUTS)
        n += encode_texts(AFTER(n), write, 9, nodes, ET_OUTPUT_VALUES, row);
    return n + encode_attributes(AFTER(n), write, nodes, &nodes->attributes, 10, nodes->attr_first[row],
                                 nodes->attr_first[row + 1]);
}

void et_write_node(const struct et_nodes *nodes, row_t row, struct buffer *out) {
    const size_t size = encode_node(nowhere, false, nodes, row);
    char *to = buffer_reserve(out, varint_size(size) + size);
    if (!to)
        return;
    to = write_varint(to, size);
    out->length = (size_t)(to + encode_node(to, true, nodes, row) - out->bytes);
}

void et_write_metadata(const struct et_nodes *nodes, struct buffer *out) {
    const struct et_attributes *metadata = &nodes->metadata;
    const struct et_text version = nodes->version;
    const size_t size =
        encode_text(nowhere, false, 1, version) + encode_attributes(nowhere, false, nodes, metadata, 2, 0, metadata->n);
    char *to = buffer_reserve(out, varint_size(size) + size);
    if (!to)
        return;
    to = write_varint(to, size);
    to += encode_text(to, true, 1, version);
    out->length = (size_t)(to + encode_attributes(to, true, nodes, metadata, 2, 0, metadata->n) - out->bytes);
}

/* ---- The file ---- */

struct et_writing {
    const struct et_nodes *nodes;
    const struct et_maker *maker; /* NULL: the nodes are made */
    struct sink *sink;
    row_t n;            /* nodes */
    atomic_bool failed; /* out of memory */
};

/* Encodes the nodes from `first` up to `end`. */
static bool encode(const struct et_writing *writing, row_t first, row_t end, struct buffer *out) {
    struct et_nodes made = {.names = writing->nodes->names};
    const struct et_nodes *nodes = writing->nodes;
    if (writing->maker) {
        if (et_maker_fill(writing->maker, first, end, &made, NULL) != SUTRA_OK) {
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
    row_t first = (row_t)number * PIECE_NODES, n = MIN(writing->n - first, PIECE_NODES);
    buffer_reserve(&out, ET_PIECE_BYTES);
    if (!sink_failed(writing->sink) && !encode(writing, first, first + n, &out))
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
        pool_run(context->pool, ((size_t)writing->n + PIECE_NODES - 1) / PIECE_NODES, write_piece, writing);
        bool is_complete = !atomic_load(&writing->failed);
        status = sink_close(writing->sink, is_complete, n_bytes, error);
        if (!status && !is_complete)
            status = error_memory(error);
    }
    buffer_free(&head);
    return status;
}

enum sutra_status et_write(const struct et_nodes *nodes, const struct et_maker *maker, struct sutra_context *context,
                           const char *path, uint64_t *n_bytes, struct sutra_error *error) {
    struct et_writing writing = {.nodes = nodes, .maker = maker, .n = maker ? et_maker_count(maker) : nodes->n};
    stage_begin(context, "write", writing.n);
    enum sutra_status status = write_pieces(&writing, context, path, n_bytes, error);
    stage_end(context);
    return status;
}
