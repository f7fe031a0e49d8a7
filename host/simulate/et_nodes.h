/*
 * et_nodes.h - what a Chakra .et file holds (chakra_et.proto), as columns: row i is the i-th node of the file.
 *
 *     nodes        id, type, start, duration, name, texts of inputs and outputs
 *     ctrl, data   ids of the nodes that node i depends on:    ids[first[i]] .. ids[first[i + 1] - 1]
 *     attributes   of node i:                                  attr_first[i] .. attr_first[i + 1] - 1
 *                  each with a name, a kind, and a value
 *
 * Columns belong to the arena of the struct; texts point to where they stand, in a file or in a store, which whoever
 * fills the columns keeps for as long as they live. Names of attributes are numbers of the strings in `names`; those
 * that we know have the numbers of enum et_name in every struct.
 *
 * Filling takes two passes: count, et_nodes_take(), fill; a pass may be cut into rows for several threads.
 */
#ifndef SIMULATE_ET_NODES_H
#define SIMULATE_ET_NODES_H

#include <string.h>

#include "base/arena.h"
#include "columns/row.h"
#include "columns/strings.h"
#include "sutra/error.h"

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

/* What kind of value an attribute has: the number of its field in AttributeProto. A list's number is one more than that
 * of its elements' kind. */
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

/* X(constant, name) for each attribute that is known by name. */
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
    X(MEETING_KIND, "meeting_kind")                                                                                    \
    X(MEETING_RANKS, "meeting_ranks")                                                                                  \
    X(MEETING_BYTES, "meeting_bytes")                                                                                  \
    X(GPU, "gpu")                                                                                                      \
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

/* Bytes that stand somewhere else; not ended by a NUL. */
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

/* The message inputs, or outputs, is there, though it may be empty. */
enum { ET_HAS_INPUTS = 1, ET_HAS_OUTPUTS = 2 };

/* The documentation of an attribute, which few have. */
struct et_doc {
    uint64_t attribute; /* its place among the attributes */
    struct et_text text;
};

/* Attributes as columns. */
struct et_attributes {
    uint64_t n;
    uint32_t *name;   /* string of `names` */
    uint8_t *kind;    /* enum et_kind, or the number of its list */
    uint32_t *length; /* bytes of a text; 0 for numbers */
    union et_value {
        uint64_t bits;     /* integers (sign-extended) and bool; the bits of float, double and fixed numbers */
        const char *bytes; /* string, bytes, and the message of a list */
    } * value;
    struct et_doc *docs; /* by rising attribute */
    uint64_t n_docs;
};

/* Lists of ids, one for each node. */
struct et_ids {
    uint64_t *first; /* n + 1 */
    uint64_t *ids;
};

struct et_nodes {
    bool slim; /* there are names only of the texts, and of the attributes those that a simulator needs */
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
    char *joined;         /* lists that came in pieces, put together */
    struct arena arena;
};

/* Begins with nothing but the known names. SUTRA_SYSTEM: out of memory. */
enum sutra_status et_nodes_begin(struct et_nodes *nodes, struct sutra_error *error);
void et_nodes_free(struct et_nodes *nodes);

/* Makes room for n nodes, uninitialised but for `flags`, `start_us` and the first of each list, and for so many ids and
 * attributes. SUTRA_SYSTEM: out of memory. */
enum sutra_status et_nodes_take(struct et_nodes *nodes, row_t n, uint64_t n_ctrl, uint64_t n_data,
                                uint64_t n_attributes, struct sutra_error *error);

/* Makes room for n attributes in one of the two tables. */
enum sutra_status et_attributes_take(struct et_nodes *nodes, struct et_attributes *attributes, uint64_t n,
                                     struct sutra_error *error);

/* Makes room for the documentation of n of them; until then none has any. */
enum sutra_status et_docs_take(struct et_nodes *nodes, struct et_attributes *attributes, uint64_t n,
                               struct sutra_error *error);

/* The documentation of the i-th attribute; empty where it has none. O(log n). */
struct et_text et_doc_search(const struct et_attributes *attributes, uint64_t i);

static inline struct et_text et_doc_find(const struct et_attributes *attributes, uint64_t i) {
    return attributes->n_docs ? et_doc_search(attributes, i) : (struct et_text){NULL, 0};
}

/* How many of the columns of texts there are: the first ones. */
static inline int et_text_columns(const struct et_nodes *nodes) {
    return nodes->slim ? ET_NODE_NAME + 1 : ET_TEXT_COLUMNS;
}

static inline bool et_text_is(struct et_text text, const char *wanted) {
    return text.length == strlen(wanted) && memcmp(text.bytes, wanted, text.length) == 0;
}

static inline struct et_text et_text_at(struct et_texts column, row_t row) {
    return (struct et_text){column.bytes[row], column.length[row]};
}

static inline void et_text_put(struct et_texts column, row_t row, struct et_text text) {
    column.bytes[row] = text.bytes;
    column.length[row] = text.length;
}

/* The text of an attribute's name. */
static inline struct et_text et_name_text(const struct et_nodes *nodes, uint32_t name) {
    return (struct et_text){strings_text(&nodes->names, name), (uint32_t)strings_length(&nodes->names, name)};
}

/* The node's attribute of a known name: its place among the attributes, or UINT64_MAX. */
static inline uint64_t et_attribute_find(const struct et_nodes *nodes, row_t row, enum et_name name) {
    for (uint64_t i = nodes->attr_first[row]; i < nodes->attr_first[row + 1]; i++)
        if (nodes->attributes.name[i] == (uint32_t)name)
            return i;
    return UINT64_MAX;
}

/* Whether a value of this kind is bytes that stand elsewhere. */
static inline bool et_kind_is_text(unsigned kind) {
    return kind >= ET_STRING || (kind > 0 && kind % 2 == 0);
}

#endif
