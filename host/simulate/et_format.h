/*
 * et_format.h - the contents of a Chakra .et file (chakra_et.proto) as columns, the names of the schema, and protobuf's
 * wire format.
 */
#ifndef SIMULATE_ET_FORMAT_H
#define SIMULATE_ET_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "columns/numbers.h"
#include "columns/strings.h"
#include "read/document.h"
#include "sutra/error.h"
#include "text/numbers.h"
#include "write/protobuf.h"

/*
 * The nodes of an .et file as columns: row i is the i-th node of the file.
 *
 *     nodes        id, type, start, duration, name, texts of inputs and outputs
 *     ctrl, data   ids of the nodes that node i depends on:    ids[first[i]] .. ids[first[i + 1] - 1]
 *     attributes   of node i:                                  attr_first[i] .. attr_first[i + 1] - 1
 *                  each with a name, a kind, and a value
 *
 * The arena of the struct owns the columns. Texts point into a file or a store, which the caller keeps as long as the
 * columns. Names of attributes are numbers of the strings in `names`; known names have the numbers of enum et_name in
 * every struct.
 *
 * Filling takes two passes: count, et_nodes_take(), fill; a pass may be cut into rows for several threads.
 */

enum et_type {
    ET_INVALID = 0,
    ET_METADATA = 1,
    ET_MEM_LOAD = 2,
    ET_MEM_STORE = 3,
    ET_COMP = 4,
    ET_COMM_SEND = 5,
    ET_COMM_RECV = 6,
    ET_COMM_COLL = 7,
};

enum et_collective {
    ET_ALL_REDUCE = 0,
    ET_REDUCE = 1,
    ET_ALL_GATHER = 2,
    ET_GATHER = 3,
    ET_SCATTER = 4,
    ET_BROADCAST = 5,
    ET_ALL_TO_ALL = 6,
    ET_REDUCE_SCATTER = 7,
    ET_REDUCE_SCATTER_BLOCK = 8,
    ET_BARRIER = 9,
};

/* The kind of the value of an attribute: its field number in AttributeProto. The number of a list is one more than
 * the number of its elements. */
enum et_kind {
    ET_NO_VALUE = 0,
    ET_DOUBLE = 3,
    ET_FLOAT = 5,
    ET_INT32 = 7,
    ET_INT64 = 9,
    ET_UINT32 = 11,
    ET_UINT64 = 13,
    ET_SINT32 = 15,
    ET_SINT64 = 17,
    ET_FIXED32 = 19,
    ET_FIXED64 = 21,
    ET_SFIXED32 = 23,
    ET_SFIXED64 = 25,
    ET_BOOL = 27,
    ET_STRING = 29,
    ET_BYTES = 31,
    ET_KINDS = 33,
};

/* X(constant, name) for each attribute with a known name. */
#define ET_NAMES(X)                                                                                                    \
    X(RF_ID, "rf_id")                                                                                                  \
    X(FW_PARENT, "fw_parent")                                                                                          \
    X(SEQ_ID, "seq_id")                                                                                                \
    X(SCOPE, "scope")                                                                                                  \
    X(TID, "tid")                                                                                                      \
    X(FW_TID, "fw_tid")                                                                                                \
    X(OP_SCHEMA, "op_schema")                                                                                          \
    X(IS_CPU_OP, "is_cpu_op")                                                                                          \
    X(STREAM, "stream")                                                                                                \
    X(COMM_TYPE, "comm_type")                                                                                          \
    X(COMM_SIZE, "comm_size")                                                                                          \
    X(PG_NAME, "pg_name")                                                                                              \
    X(COMM_SRC, "comm_src")                                                                                            \
    X(COMM_DST, "comm_dst")                                                                                            \
    X(COMM_TAG, "comm_tag")                                                                                            \
    X(COMM_PRIORITY, "comm_priority")                                                                                  \
    X(NUM_OPS, "num_ops")                                                                                              \
    X(TENSOR_SIZE, "tensor_size")                                                                                      \
    X(TENSOR_LOC, "tensor_loc")                                                                                        \
    X(INVOLVED_DIM, "involved_dim")                                                                                    \
    X(KERNEL_EXEC_NS, "kernel_exec_ns")                                                                                \
    X(MEETING, "meeting")                                                                                              \
    X(MEETINGS, "meetings")                                                                                            \
    X(MEETING_KIND, "meeting_kind")                                                                                    \
    X(MEETING_RANKS, "meeting_ranks")                                                                                  \
    X(MEETING_BYTES, "meeting_bytes")                                                                                  \
    X(GPU, "gpu")                                                                                                      \
    X(FIRST_PART, "first_part")                                                                                        \
    X(RANKS_PER_HOST, "ranks_per_host")                                                                                \
    X(WHAT_IF, "what_if")                                                                                              \
    X(SCHEMA, "schema")                                                                                                \
    X(PID, "pid")                                                                                                      \
    X(TIME, "time")                                                                                                    \
    X(START_TS, "start_ts")                                                                                            \
    X(FINISH_TS, "finish_ts")

enum et_name {
#define X(constant, name) ET_NAME_##constant,
    ET_NAMES(X)
#undef X
        ET_N_NAMES
};

/* Bytes in other memory, without a final NUL. */
struct et_text {
    const char *bytes;
    uint32_t length;
};

/* A column of texts. */
struct et_texts {
    const char **bytes;
    uint32_t *length;
};

/* Texts of a node. */
enum et_text_column {
    ET_NODE_NAME,
    ET_INPUT_VALUES,
    ET_INPUT_SHAPES,
    ET_INPUT_TYPES,
    ET_OUTPUT_VALUES,
    ET_OUTPUT_SHAPES,
    ET_OUTPUT_TYPES,
    ET_TEXT_COLUMNS
};

/* The message inputs, or outputs, is present, even if it is empty. */
enum { ET_HAS_INPUTS = 1, ET_HAS_OUTPUTS = 2 };

/* The documentation of an attribute, which few have. */
struct et_doc {
    uint64_t attribute; /* its index */
    struct et_text text;
};

/* Attributes as columns. */
struct et_attributes {
    uint64_t n;
    uint32_t *name;   /* number in `names` */
    uint8_t *kind;    /* enum et_kind, or the number of its list */
    uint32_t *length; /* bytes of a text; 0 for numbers */
    union et_value {
        uint64_t bits;     /* integers (sign-extended) and bool; the bits of float, double and fixed numbers */
        const char *bytes; /* string, bytes, and the message of a list */
    } * value;
    struct et_doc *docs; /* by ascending attribute */
    uint64_t n_docs;
};

/* Lists of ids, one per node. */
struct et_ids {
    uint64_t *first; /* n + 1 */
    uint64_t *ids;
};

/* Copies the list of a node to the next node `node`, and sets its end. */
static inline void et_ids_copy(struct et_ids *to, row_t node, const struct et_ids *from, row_t of) {
    uint64_t n = to->first[node];
    for (uint64_t i = from->first[of]; i < from->first[of + 1]; i++)
        to->ids[n++] = from->ids[i];
    to->first[node + 1] = n;
}

struct et_nodes {
    bool slim; /* of the texts only names, and only attributes that a simulator needs */
    row_t n;
    uint64_t *id, *start_us, *duration_us;
    int32_t *type;  /* enum et_type */
    uint8_t *flags; /* ET_HAS_INPUTS, ET_HAS_OUTPUTS */
    struct et_texts text[ET_TEXT_COLUMNS];
    struct et_ids ctrl, data;
    uint64_t *attr_first; /* n + 1 */
    struct et_attributes attributes;

    struct et_text version; /* of GlobalMetadata */
    struct et_attributes metadata;

    struct strings names; /* of attributes */
    char *joined;         /* lists that were in several pieces, joined */
    struct arena arena;
};

/* Initializes `nodes` with the known names. SUTRA_SYSTEM: out of memory. */
enum sutra_status et_nodes_begin(struct et_nodes *nodes, struct sutra_error *error);
void et_nodes_free(struct et_nodes *nodes);

/* Allocates n nodes, uninitialized except `flags`, `start_us` and the first of each list, and ids and attributes.
 * SUTRA_SYSTEM: out of memory. */
enum sutra_status et_nodes_take(struct et_nodes *nodes, row_t n, uint64_t n_ctrl, uint64_t n_data,
                                uint64_t n_attributes, struct sutra_error *error);

/* Allocates n attributes in one of the two tables. */
enum sutra_status et_attributes_take(struct et_nodes *nodes, struct et_attributes *attributes, uint64_t n,
                                     struct sutra_error *error);

/* Allocates the documentation of n attributes; the count starts at 0. */
enum sutra_status et_docs_take(struct et_nodes *nodes, struct et_attributes *attributes, uint64_t n,
                               struct sutra_error *error);

/* The documentation of the i-th attribute; empty if absent. O(log n). */
struct et_text et_doc_search(const struct et_attributes *attributes, uint64_t i);

static inline struct et_text et_doc_find(const struct et_attributes *attributes, uint64_t i) {
    return attributes->n_docs ? et_doc_search(attributes, i) : (struct et_text){NULL, 0};
}

/* The number of text columns that exist: the first ones. */
static inline int et_text_columns(const struct et_nodes *nodes) {
    return nodes->slim ? ET_NODE_NAME + 1 : ET_TEXT_COLUMNS;
}

/* Tasks over rows: the nodes per task, the number of tasks for n rows, and the range of a task. */
#define ET_TASK_NODES 4096

static inline size_t et_tasks(row_t n) {
    return ((size_t)n + ET_TASK_NODES - 1) / ET_TASK_NODES;
}

static inline row_t et_task_start(size_t task) {
    return (row_t)(task * ET_TASK_NODES);
}

static inline row_t et_task_end(row_t n, size_t task) {
    return (task + 1) * ET_TASK_NODES < n ? (row_t)((task + 1) * ET_TASK_NODES) : n;
}

static inline bool et_text_is(struct et_text text, const char *wanted) {
    return text.length == strlen(wanted) && memcmp(text.bytes, wanted, text.length) == 0;
}

static inline struct et_text et_text_at(struct et_texts column, row_t row) {
    return (struct et_text){column.bytes[row], column.length[row]};
}

static inline void et_text_set(struct et_texts column, row_t row, struct et_text text) {
    column.bytes[row] = text.bytes;
    column.length[row] = text.length;
}

/* Copies the i-th attribute of `from` to index `at`, without documentation. */
static inline void et_attribute_copy(struct et_attributes *to, uint64_t at, const struct et_attributes *from,
                                     uint64_t i) {
    to->name[at] = from->name[i];
    to->kind[at] = from->kind[i];
    to->length[at] = from->length[i];
    to->value[at] = from->value[i];
}

/* Sets an attribute to a number, or to a text. */
static inline void et_attribute_set(struct et_attributes *to, uint64_t at, enum et_name name, enum et_kind kind,
                                    uint64_t bits) {
    to->name[at] = (uint32_t)name;
    to->kind[at] = (uint8_t)kind;
    to->length[at] = 0;
    to->value[at].bits = bits;
}

static inline void et_attribute_set_text(struct et_attributes *to, uint64_t at, enum et_name name,
                                         struct et_text text) {
    et_attribute_set(to, at, name, ET_STRING, 0);
    to->length[at] = text.length;
    to->value[at].bytes = text.bytes;
}

/* The text of the name of an attribute. */
static inline struct et_text et_name_text(const struct et_nodes *nodes, uint32_t name) {
    return (struct et_text){strings_text(&nodes->names, name), (uint32_t)strings_length(&nodes->names, name)};
}

/* The index of an attribute of the node by its known name, or UINT64_MAX. */
static inline uint64_t et_attribute_find(const struct et_nodes *nodes, row_t row, enum et_name name) {
    for (uint64_t i = nodes->attr_first[row]; i < nodes->attr_first[row + 1]; i++)
        if (nodes->attributes.name[i] == (uint32_t)name)
            return i;
    return UINT64_MAX;
}

/* Whether a value of this kind is bytes in other memory. */
static inline bool et_kind_is_text(unsigned kind) {
    return kind >= ET_STRING || (kind > 0 && kind % 2 == 0);
}

/* ---- Attributes of a node, as ASTRA-sim reads them, and of a file ---- */

bool et_is_communication(int32_t type);

/* A send or a receive. */
static inline bool et_is_message(int32_t type) {
    return type == ET_COMM_SEND || type == ET_COMM_RECV;
}

/* Whether the kind is a single integer or bool. */
bool et_is_integer(uint8_t kind);

/* Whether is_cpu_op is missing or false. */
bool et_is_gpu(const struct et_nodes *nodes, row_t row);

/* Whether the node has the attribute, with any value. */
bool et_has(const struct et_nodes *nodes, row_t row, enum et_name name);

/* The value of the attribute, if it is an integer of any kind. */
bool et_integer(const struct et_nodes *nodes, row_t row, enum et_name name, int64_t *value);

/* The same, or `other`. */
static inline int64_t et_integer_or(const struct et_nodes *nodes, row_t row, enum et_name name, int64_t other) {
    int64_t value;
    return et_integer(nodes, row, name, &value) ? value : other;
}

/* The group of a communication; empty: all ranks. */
struct et_text et_group_name(const struct et_nodes *nodes, row_t row);

/* The number at the beginning of the name of a group, as std::stoi() reads it; false if std::stoi() throws. */
bool et_group_number(struct et_text name, int64_t *number);

/* The number of its group; false: the name does not begin with a number. */
bool et_group_of(const struct et_nodes *nodes, row_t row, int64_t *group);

/* The text of a member of the metadata; empty if absent or another value. */
struct et_text et_metadata_text(const struct et_nodes *nodes, enum et_name name);

/* Whether the file records the resources of the GPU for which it was made. */
bool et_nodes_record_gpu(const struct et_nodes *nodes);

/* Whether the file is of a linked job that records no collectives of its rank: simulators must not match them. */
bool et_nodes_unmatched(const struct et_nodes *nodes);

/* Whether the file was made for a resource per stream. */
bool et_nodes_per_stream(const struct et_nodes *nodes);

/* The number of ranks on a host that the file records; 0: none. */
uint32_t et_nodes_ranks_per_host(const struct et_nodes *nodes);

/*
 * ---- Reading of protobuf's wire format: the fields of a message, one after the other ----
 *
 *     tag (varint: number * 8 + type), then by type   0 varint   1 eight bytes   2 length and bytes   5 four bytes
 *                                                     3 .. 4 a group, which the schema does not use: skipped
 *
 * A cursor stays within its bytes. At the first fault it stops, with the position and the reason; loops over fields
 * then end and check once. No recursion. Cost: O(bytes), without nested messages.
 */

/* The maximum depth of nested groups; protobuf's own limit. */
#define WIRE_DEPTH_MAX 100

struct wire {
    const char *at, *end;
    const char *fault; /* the fault at `at`, or NULL */
};

struct wire_field {
    uint32_t number;
    enum wire_type type;
    uint64_t bits;     /* the value of a varint, the eight or four bytes, the length */
    const char *bytes; /* of type WIRE_BYTES */
};

static inline struct wire wire_over(const char *bytes, size_t length) {
    return (struct wire){.at = bytes, .end = bytes + length};
}

/* Records the fault and ends the cursor. */
static inline bool wire_fail(struct wire *wire, const char *at, const char *fault) {
    wire->at = at;
    wire->end = at;
    wire->fault = fault;
    return false;
}

/* A varint of at most ten bytes; bits beyond 64 are dropped, as in protobuf. Most have one byte. */
static inline bool wire_varint(struct wire *wire, uint64_t *value) {
    const char *at = wire->at;
    if (at != wire->end && (unsigned char)*at < 0x80) {
        *value = (unsigned char)*at;
        wire->at = at + 1;
        return true;
    }
    uint64_t sum = 0;
    for (unsigned shift = 0; shift < 7 * WIRE_VARINT_MAX; shift += 7) {
        if (at == wire->end)
            return wire_fail(wire, wire->at, "truncated number");
        uint64_t byte = (unsigned char)*at++;
        sum |= (byte & 0x7f) << shift;
        if (byte < 0x80) {
            wire->at = at;
            *value = sum;
            return true;
        }
    }
    return wire_fail(wire, wire->at, "number longer than ten bytes");
}

/* The n bytes at the cursor (4 or 8) as a number. */
static inline bool wire_fixed(struct wire *wire, size_t n, uint64_t *value) {
    char bytes[8] = {0};
    if ((size_t)(wire->end - wire->at) < n)
        return wire_fail(wire, wire->at, "truncated number");
    memcpy(bytes, wire->at, n);
    *value = word_load(bytes);
    wire->at += n;
    return true;
}

static inline bool wire_bytes(struct wire *wire, struct wire_field *field) {
    const char *from = wire->at;
    if (!wire_varint(wire, &field->bits))
        return false;
    if (field->bits > (uint64_t)(wire->end - wire->at))
        return wire_fail(wire, from, "length exceeds the enclosing message");
    field->bytes = wire->at;
    wire->at += field->bits;
    return true;
}

/* A tag and, except at the start and end of a group, the following value. */
static inline bool wire_take(struct wire *wire, struct wire_field *field) {
    const char *from = wire->at;
    uint64_t tag;
    if (!wire_varint(wire, &tag))
        return false;
    if (tag > UINT32_MAX || tag < 8)
        return wire_fail(wire, from, "invalid field number");
    field->number = (uint32_t)(tag >> 3);
    field->type = (enum wire_type)(tag & 7);
    switch (field->type) {
    case WIRE_VARINT:
        return wire_varint(wire, &field->bits);
    case WIRE_64:
        return wire_fixed(wire, 8, &field->bits);
    case WIRE_BYTES:
        return wire_bytes(wire, field);
    case WIRE_32:
        return wire_fixed(wire, 4, &field->bits);
    case WIRE_GROUP:
    case WIRE_GROUP_END:
        return true;
    }
    return wire_fail(wire, from, "invalid field type");
}

/* The next field of any form. */
bool wire_next_any(struct wire *wire, struct wire_field *field);

/* The next field; groups are skipped. False: the end, or a fault. The fast path: a tag of one byte, and a value or
 * length of one byte. */
static inline bool wire_next(struct wire *wire, struct wire_field *field) {
    const size_t left = (size_t)(wire->end - wire->at);
    if (left >= 2) {
        const unsigned tag = (unsigned char)wire->at[0], value = (unsigned char)wire->at[1];
        const unsigned type = tag & 7;
        if (tag >= 8 && tag < 0x80 && value < 0x80 &&
            (type == WIRE_VARINT || (type == WIRE_BYTES && value <= left - 2))) {
            *field = (struct wire_field){tag >> 3, (enum wire_type)type, value, wire->at + 2};
            wire->at += type == WIRE_BYTES ? 2 + value : 2;
            return true;
        }
    }
    return wire_next_any(wire, field);
}

/* Number of kinds of single values; (kind - ET_DOUBLE) / 2 is their index in tables. */
#define ET_N_SCALARS 15

/* The wire type of a field of AttributeProto; lists are messages. */
enum wire_type et_wire_type(uint32_t kind);

/* A number as in the columns, from its wire form: sign-extended, zigzag decoded, bool 0 or 1. */
uint64_t et_scalar_bits(uint32_t kind, uint64_t bits);

/* The inverse, for a number of type WIRE_VARINT. */
uint64_t et_varint_of(uint32_t kind, uint64_t bits);

/* "double", "float", "int32", ... of a single value or of the elements of a list. */
const char *et_kind_word(uint32_t kind);

/* Names of the schema; NULL: unknown. */
const char *et_type_name(int64_t type);
const char *et_collective_name(int64_t type);

/* A cursor over the values of a list, packed or not. */
struct et_list {
    uint32_t element; /* kind of the elements */
    struct wire fields, packed;
};

static inline struct et_list et_list_over(uint32_t kind, const char *bytes, size_t length) {
    return (struct et_list){.element = kind - 1, .fields = wire_over(bytes, length)};
}

/* The next value, a number or a text; false: the end, or a fault in one of the cursors. */
bool et_list_next(struct et_list *list, uint64_t *bits, struct et_text *text);

/* ---- Unsigned integers from JSON text ---- */

/* The integer at `value`, if it is in 0 .. 2^64 - 1. Reads like number_scan(). */
static inline bool unsigned_parse(const char *value, uint64_t *number) {
    int64_t integer;
    size_t length;
    if (field_integer(value, &integer)) {
        *number = (uint64_t)integer;
        return integer >= 0;
    }
    if (*value < '1' || *value > '9' || number_scan(value, &length) != NUMBER_FORM_INTEGER || length > 20)
        return false;
    uint64_t sum = 0;
    for (size_t i = 0; i < length; i++)
        if (__builtin_mul_overflow(sum, (uint64_t)10, &sum) ||
            __builtin_add_overflow(sum, (uint64_t)(value[i] - '0'), &sum))
            return false;
    *number = sum;
    return true;
}

#endif
