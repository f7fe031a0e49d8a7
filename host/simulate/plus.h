/*
 * plus.h - what ET+ says of its nodes, as columns: row i is the i-th node of the file, or would be.
 *
 *     text         where the node begins: byte of ET+, or of the host trace that it was linked from
 *     key          "id" as what nodes are looked up by; id, the number, which an attribute of that name may have changed
 *     parent       key of ctrl_deps; KEY_ABSENT where there is none
 *     inter        key of inter_thread_dep; KEY_NULL where there is none, or what Python takes as false
 *     start_us, duration_us, stream, rf_id, ...    numbers
 *     start, end   microseconds with their fraction; NaN where the text of ET+ tells none
 *     sync         where the list of its sync_dep begins, or 0
 *     name, op_schema, pg_name, values of inputs, ...    texts; those without escapes lie in the file itself
 *     comm_bytes   bytes of the tensors among the inputs of a communication kernel
 *     faults       a bit for each field that is missing or of a wrong type (enum plus_field)
 *     flags        PLUS_...
 *
 * A field's fault is an error only where the field is needed, which is known later. Columns are filled from the text
 * of ET+ (plus_read.c), or from what was linked (plus_linked.c); convert.c makes protobuf nodes of them.
 */
#ifndef SIMULATE_PLUS_H
#define SIMULATE_PLUS_H

#include <string.h>

#include "base/arena.h"
#include "columns/column.h"
#include "columns/numbers.h"
#include "columns/row.h"
#include "context/context.h"
#include "link/link.h"
#include "read/document.h"
#include "simulate/et_format.h"
#include "simulate/timeline.h"

/*
 * Texts one behind the other, which stay where they are until all are freed.
 *
 * One for each thread that makes texts. Zero-initialise. Cost: O(length) a text.
 */

#define TEXT_STORE_CHUNK ((size_t)1 << 18)

struct text_store {
    struct arena arena;
    char *at;
    size_t left;
};

/* A copy of the bytes; empty when memory ran out, which store->arena.failed tells. */
static inline struct et_text text_store_add(struct text_store *store, const char *bytes, size_t length) {
    if (length == 0)
        return (struct et_text){"", 0};
    if (length > store->left) {
        store->left = length > TEXT_STORE_CHUNK / 8 ? length : TEXT_STORE_CHUNK;
        store->at = arena_take(&store->arena, store->left, 1);
        if (!store->at) {
            store->left = 0;
            return (struct et_text){0};
        }
    }
    struct et_text text = {store->at, (uint32_t)length};
    memcpy(store->at, bytes, length);
    store->at += length;
    store->left -= length;
    return text;
}

/* Fields of a node. X(constant, key in the node, name as an attribute or "", what is expected) */
#define PLUS_FIELDS(X)                                                                                                 \
    X(ID, "id", "id", "an integer from 0 to 2^64 - 1")                                                                 \
    X(NAME, "name", "name", "a string that can be encoded in UTF-8")                                                   \
    X(PARENT, "ctrl_deps", "parent", "a node's id")                                                                    \
    X(INPUTS, "inputs", "inputs", "an object with values, shapes and types that can be encoded in UTF-8")              \
    X(OUTPUTS, "outputs", "outputs", "an object with values, shapes and types that can be encoded in UTF-8")           \
    X(DURATION, "exclusive_dur", "exclusive_dur", "a number from 0 to 2^64 - 1")                                       \
    X(INTER, "inter_thread_dep", "inter_thread_dep", "a node's id")                                                    \
    X(CATEGORY, "cat", "cat", "a string")                                                                              \
    X(STREAM, "stream", "stream", "a 64-bit integer")                                                                  \
    X(PG_NAME, "pg_name", "pg_name", "a string that can be encoded in UTF-8")                                          \
    X(RF_ID, "rf_id", "rf_id", "a 64-bit integer")                                                                     \
    X(FW_PARENT, "fw_parent", "fw_parent", "a 64-bit integer")                                                         \
    X(SEQ_ID, "seq_id", "seq_id", "a 64-bit integer")                                                                  \
    X(SCOPE, "scope", "scope", "a 64-bit integer")                                                                     \
    X(TID, "tid", "tid", "a 64-bit integer")                                                                           \
    X(FW_TID, "fw_tid", "fw_tid", "a 64-bit integer")                                                                  \
    X(OP_SCHEMA, "op_schema", "op_schema", "a string that can be encoded in UTF-8")                                    \
    X(COMM_BYTES, "inputs", "", "tensors as lists with the number and size of elements")                               \
    X(START, "ts", "", "a number")                                                                                     \
    X(SPAN, "inclusive_dur", "", "a number")                                                                           \
    X(SYNC, "sync_dep", "", "a list of nodes' ids")                                                                    \
    X(FLAT_PARENT, "parent", "", "a node's id")                                                                        \
    X(INPUT_SHAPES, "input_shapes", "", "a list")                                                                      \
    X(INPUT_TYPES, "input_types", "", "a list")                                                                        \
    X(OUTPUT_SHAPES, "output_shapes", "", "a list")                                                                    \
    X(OUTPUT_TYPES, "output_types", "", "a list")                                                                      \
    X(ATTRIBUTES, "attrs", "", "a list")

enum plus_field {
#define X(constant, key, attribute, expected) PLUS_##constant,
    PLUS_FIELDS(X)
#undef X
        PLUS_N_FIELDS
};

/* Attributes of 64 bits, each a column of its name. */
#define PLUS_FIRST_NUMBER PLUS_RF_ID
#define PLUS_N_NUMBERS    6

#define PLUS_BIT(field) ((uint32_t)1 << (field))

/* Flags. An attribute that is null has the bit PLUS_NULL << (field - PLUS_FIRST_NUMBER). */
enum {
    PLUS_IS_GPU = 1,          /* has a category */
    PLUS_IS_META = 2,         /* its name says process_group:init */
    PLUS_NO_STREAM = 4,       /* stream is null */
    PLUS_PG_NULL = 8,         /* pg_name is null */
    PLUS_ID_CHANGED = 16,     /* id is not what the key says */
    PLUS_HAS_OLD_PARENT = 32, /* of schema 1.0.1: its parent is named as in the host trace */
    PLUS_NULL = 64,
    PLUS_IS_COLLECTIVE = PLUS_NULL << (PLUS_N_NUMBERS + 2), /* a kernel of NCCL */
    PLUS_IS_NESTED = PLUS_NULL << (PLUS_N_NUMBERS + 1),     /* comm_bytes has tensors in lists of lists */
};

/* Texts of inputs and outputs, in the order of enum et_text_column. */
enum { PLUS_N_IO = 6 };

struct plus_node {
    uint64_t text;
    value_key key, parent, inter;
    uint64_t id, start_us, duration_us, sync;
    double start, end;
    int64_t stream, comm_bytes;
    int64_t number[PLUS_N_NUMBERS];
    struct et_text name, op_schema, pg_name;
    struct et_text io[PLUS_N_IO];
    uint32_t faults, flags;
};

/* X(type, name) for each column. */
#define PLUS_COLUMNS(X)                                                                                                \
    X(uint64_t, text)                                                                                                  \
    X(value_key, key)                                                                                                  \
    X(value_key, parent)                                                                                               \
    X(value_key, inter)                                                                                                \
    X(uint64_t, id)                                                                                                    \
    X(uint64_t, start_us)                                                                                              \
    X(uint64_t, duration_us)                                                                                           \
    X(int64_t, stream)                                                                                                 \
    X(int64_t, comm_bytes)                                                                                             \
    X(struct et_text, name)                                                                                            \
    X(struct et_text, op_schema)                                                                                       \
    X(struct et_text, pg_name)                                                                                         \
    X(uint32_t, faults)                                                                                                \
    X(uint32_t, flags)

/* The same for those that only measured times need. */
#define PLUS_TIME_COLUMNS(X)                                                                                           \
    X(uint64_t, sync)                                                                                                  \
    X(double, start)                                                                                                   \
    X(double, end)

struct plus_nodes {
    row_t n, capacity;
    bool times; /* there are the columns of times, too; set before there is room */
#define X(type, name) type *name;
    PLUS_COLUMNS(X)
    PLUS_TIME_COLUMNS(X)
#undef X
    int64_t *number[PLUS_N_NUMBERS];
    struct et_text *io[PLUS_N_IO];
};

/* All columns, those that only measured times need last. */
enum { PLUS_N_TIME_COLUMNS = 3, PLUS_N_COLUMNS = 14 + PLUS_N_NUMBERS + PLUS_N_IO + PLUS_N_TIME_COLUMNS };
extern const struct column_form plus_columns[PLUS_N_COLUMNS];

static inline size_t plus_n_columns(bool times) {
    return times ? PLUS_N_COLUMNS : PLUS_N_COLUMNS - PLUS_N_TIME_COLUMNS;
}

void plus_nodes_free(struct plus_nodes *nodes);

/* The field's key, and what is expected of it. */
const char *plus_field_key(enum plus_field field);
const char *plus_field_expected(enum plus_field field);

/* A whole ET+: the nodes, where their texts lie, and the members of the file that the nodes stand in. */
struct plus_trace {
    const struct document *document; /* the file's other members */
    struct plus_nodes nodes;
    struct text_store *stores; /* one for each part that was read */
    size_t n_stores;
};

void plus_trace_free(struct plus_trace *trace);

/*
 * Reading ET+: its text into columns (plus_nodes.h).
 */

/* Reads ET+ into the document, which is the caller's, and the trace, whose texts lie there, too; measured times only
 * where they are asked for. SUTRA_NO_INPUT: cannot be read. SUTRA_DATA: malformed, not ET+, or a node without an id. */
enum sutra_status plus_read(struct plus_trace *trace, struct sutra_context *context, struct document *document,
                            const struct document_input *input, bool times, struct sutra_error *error);

/*
 * What was linked as the columns of ET+ (plus_nodes.h), without the text of ET+ in between.
 *
 * A row is an entry of linked.h: a node of the host trace with the fields that linking sets, or a GPU node below it.
 */

/* Where the name of its group stands for each kernel of NCCL that was linked, by event. Kept with the
 * device trace; behind it plus_linked() needs no tokens of that. SUTRA_SYSTEM: out of memory. */
enum sutra_status plus_linked_groups(struct sutra_context *context, const struct sutra_linked *linked,
                                     const struct json_place **groups, struct sutra_error *error);

/* `groups` is of plus_linked_groups(). Fills the trace, whose texts lie in both traces, too. Nodes of schema 1.0.1 get
 * the new ids of their parents, which the text of ET+ does not tell. SUTRA_SYSTEM: out of memory. */
enum sutra_status plus_linked(struct plus_trace *trace, struct sutra_context *context,
                              const struct sutra_linked *linked, const struct json_place *groups,
                              struct sutra_error *error);

/*
 * Which operator the processor is in, from moment to moment: of all that run the one that began last.
 *
 *     thread 1   [ a      [ b  ]     ]
 *     thread 2                 [ c        ]
 *     spans      | a      | b  | c        |
 */

/* Span i begins at start[i], and ends where the next one begins. */
struct op_spans {
    row_t n;
    double *start;
    row_t *op; /* or ROW_NONE */
};

/* The columns are the arena's. False: out of memory. O(n log n). */
bool op_spans_make(const struct timeline_ops *ops, struct arena *arena, struct op_spans *spans);

/*
 * Who the parents are in linked traces of schema 1.0.1, whose nodes got new ids but go on to name their
 * parents by the old ones.
 *
 * Nodes stand in the order of their old ids, which they got when they started. So the first node that names a parent
 * comes right behind it on its thread:
 *
 *     new id   thread   parent
 *     0        0        1        the process, whose old id always is 1
 *     1        1        1        so its parent is 0
 *     2        1        2        the first that names 2: its parent is the node before it on the thread, 1
 *     3        1        3        ... and of this one 2
 *     4        1        2        2 again: that is 1
 *
 * A host trace in which a node is its own parent, or a later one, has no such order; its nodes get other parents than
 * they name. Cost: O(nodes), or O(n log n) for ids that lie far apart.
 */

/* Replaces parents by new ids, if the nodes were linked. SUTRA_SYSTEM: out of memory. */
enum sutra_status old_parents_replace(struct plus_nodes *nodes, struct sutra_context *context,
                                      struct sutra_error *error);

#endif
