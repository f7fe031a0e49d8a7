/*
 * et_plus_nodes.h - the nodes of ET+ as columns: row i is the i-th node of the file.
 *
 *     text         offset of the node in ET+, or in the host trace that it was linked from
 *     key          "id" as the key for lookups; id, the number, which an attribute of that name may have changed
 *     parent       key of ctrl_deps; KEY_ABSENT: none
 *     inter        key of inter_thread_dep; KEY_NULL: none, or a value that is false in Python
 *     start_us, duration_us, stream, rf_id, ...    numbers
 *     start, end   microseconds with their fraction; NaN if the text of ET+ does not record them
 *     sync         offset of the list of its sync_dep, or 0
 *     name, op_schema, pg_name    texts; those without escapes point into the file
 *     io           offsets of the values, shapes and types of inputs and outputs, or 0
 *     comm_bytes   bytes of the tensors among the inputs of a communication kernel
 *     faults       a bit per field that is missing or of the wrong type (enum et_plus_field)
 *     flags        ET_PLUS_...
 *
 * The fault of a field is an error only if the field is needed, which is determined later. Columns are filled from the
 * text of ET+ (et_plus_read()), or from linked traces (et_plus_linked()); convert.c makes protobuf nodes from them.
 */
#ifndef SIMULATE_ET_PLUS_NODES_H
#define SIMULATE_ET_PLUS_NODES_H

#include <string.h>

#include "base/arena.h"
#include "columns/column.h"
#include "columns/numbers.h"
#include "context/context.h"
#include "link/et_plus.h"
#include "link/link.h"
#include "read/document.h"
#include "read/host_trace.h"
#include "read/json.h"
#include "simulate/et_format.h"
#include "simulate/timeline.h"
#include "write/json_copy.h"
#include <math.h>

/*
 * Texts, one after the other, which keep their addresses until all are freed.
 *
 * One store per thread that makes texts. Initialize with zeros. Cost: O(length) per text.
 */

#define TEXT_STORE_CHUNK ((size_t)1 << 18)

struct text_store {
    struct arena arena;
    char *at;
    size_t left;
};

/* A copy of the bytes; empty if out of memory, which store->arena.failed records. */
static inline struct et_text text_store_add(struct text_store *store, const char *bytes, size_t length) {
    if (length == 0)
        return (struct et_text){"", 0};
    if (length > store->left) {
        store->left = length > TEXT_STORE_CHUNK / 8 ? length : TEXT_STORE_CHUNK;
        store->at = arena_alloc(&store->arena, store->left, 1);
        if (!store->at) {
            store->left = 0;
            return (struct et_text){"", 0};
        }
    }
    struct et_text text = {store->at, (uint32_t)length};
    memcpy(store->at, bytes, length);
    store->at += length;
    store->left -= length;
    return text;
}

/* Attributes of 64 bits, each a column. */
#define ET_PLUS_FIRST_NUMBER ET_PLUS_RF_ID
#define ET_PLUS_N_NUMBERS    6

/* Flags. An attribute that is null has the bit ET_PLUS_NULL << (field - ET_PLUS_FIRST_NUMBER). */
enum {
    ET_PLUS_IS_GPU = 1,          /* has a category */
    ET_PLUS_IS_META = 2,         /* its name contains process_group:init */
    ET_PLUS_NO_STREAM = 4,       /* stream is null */
    ET_PLUS_PG_NULL = 8,         /* pg_name is null */
    ET_PLUS_ID_CHANGED = 16,     /* id differs from the key */
    ET_PLUS_HAS_OLD_PARENT = 32, /* of schema 1.0.1: its parent has the id of the host trace */
    ET_PLUS_NULL = 64,
    ET_PLUS_IS_COLLECTIVE = ET_PLUS_NULL << (ET_PLUS_N_NUMBERS + 2), /* a kernel of NCCL */
    ET_PLUS_IS_NESTED = ET_PLUS_NULL << (ET_PLUS_N_NUMBERS + 1),     /* comm_bytes includes tensors in lists of lists */
    /* The kernel's arguments record a send, or a receive; only of linked traces. */
    ET_PLUS_SENDS = ET_PLUS_NULL << (ET_PLUS_N_NUMBERS + 3),
    ET_PLUS_RECEIVES = ET_PLUS_NULL << (ET_PLUS_N_NUMBERS + 4),
    ET_PLUS_IS_LEGACY =
        ET_PLUS_NULL << (ET_PLUS_N_NUMBERS + 5), /* of link-legacy: has "dur", but no exclusive duration */
};

/* Inputs and outputs, in the order of enum et_text_column. */
enum { ET_PLUS_N_IO = 6 };

/* X(type, name) for each column. */
#define ET_PLUS_COLUMNS(X)                                                                                             \
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

/* The same for columns that only measured times need. */
#define ET_PLUS_TIME_COLUMNS(X)                                                                                        \
    X(uint64_t, sync)                                                                                                  \
    X(double, start)                                                                                                   \
    X(double, end)

struct et_plus_node {
#define X(type, name) type name;
    ET_PLUS_COLUMNS(X)
    ET_PLUS_TIME_COLUMNS(X)
#undef X
    int64_t number[ET_PLUS_N_NUMBERS];
    uint64_t io[ET_PLUS_N_IO];
};

struct et_plus_nodes {
    row_t n, capacity;
    bool times; /* the columns of times exist, too; set before allocation */
#define X(type, name) type *name;
    ET_PLUS_COLUMNS(X)
    ET_PLUS_TIME_COLUMNS(X)
#undef X
    int64_t *number[ET_PLUS_N_NUMBERS];
    uint64_t *io[ET_PLUS_N_IO];
};

/* All columns; columns that only measured times need are last. */
enum { ET_PLUS_N_TIME_COLUMNS = 3, ET_PLUS_N_COLUMNS = 14 + ET_PLUS_N_NUMBERS + ET_PLUS_N_IO + ET_PLUS_N_TIME_COLUMNS };

static inline size_t et_plus_n_columns(bool times) {
    return times ? ET_PLUS_N_COLUMNS : ET_PLUS_N_COLUMNS - ET_PLUS_N_TIME_COLUMNS;
}

void et_plus_nodes_set(struct et_plus_nodes *nodes, row_t row, const struct et_plus_node *node);

/* The global rank at the other end of a send or receive, from the arguments of its kernel. */
struct et_plus_peer {
    row_t row;
    int64_t peer;
};

/* ET+: the nodes, their texts, and the other members of the file. */
struct et_plus_trace {
    const struct document *document; /* the other members of the file */
    struct et_plus_nodes nodes;
    struct et_plus_peer *peers; /* by ascending row; only of linked traces */
    row_t n_peers;
    int64_t own_rank;          /* recorded in the device trace; -1: not recorded, or not linked */
    struct text_store *stores; /* one per part that was read */
    size_t n_stores;
};

void et_plus_trace_free(struct et_plus_trace *trace);

/* ---- ET+ from its text ---- */

/* Reads ET+ into the document, which the caller owns, and the trace, whose texts may point into the document;
 * measured times only on request. SUTRA_NO_INPUT: cannot be read. SUTRA_DATA: malformed, not ET+, or a node without
 * an id. */
enum sutra_status et_plus_read(struct et_plus_trace *trace, struct sutra_context *context, struct document *document,
                               const struct source_input *input, bool times, struct sutra_error *error);

/*
 * ---- ET+ from linked traces, without its text ----
 *
 * A row is an entry of link.h: a node of the host trace with the fields that linking sets, or one of its GPU nodes.
 */

/* Arguments of linked NCCL kernels, by event; `at` is 0 if absent. The arguments of messages are NULL if they are not
 * requested. */
struct et_plus_arguments {
    const struct json_span *group, *collective, *members, *from, *to;
    int64_t own_rank; /* -1: not recorded */
    bool measured;    /* for nodes with measured times: unusable activities take no time (facts/validity.h) */
};

/* Finds the group of each linked NCCL kernel; with `measured` also direction and ranks of sends and receives, which ET+
 * does not record. Stored with the device trace; then et_plus_linked() needs no tokens of the device trace.
 * SUTRA_SYSTEM: out of memory. */
enum sutra_status et_plus_linked_arguments(struct sutra_context *context, const struct sutra_linked *linked,
                                           bool measured, struct et_plus_arguments *arguments,
                                           struct sutra_error *error);

/* Fills the trace, whose texts may point into both traces. `arguments` is from et_plus_linked_arguments(). Nodes of
 * schema 1.0.1 get the new ids of their parents, which the text of ET+ does not record. SUTRA_SYSTEM: out of memory. */
enum sutra_status et_plus_linked(struct et_plus_trace *trace, struct sutra_context *context,
                                 const struct sutra_linked *linked, const struct et_plus_arguments *arguments,
                                 struct sutra_error *error);

/*
 * ---- The operator that the CPU runs over time: of all running operators the last to start ----
 *
 *     thread 1   [ a      [ b  ]     ]
 *     thread 2                 [ c        ]
 *     spans      | a      | b  | c        |
 */

/* Span i starts at start[i], and ends at the start of the next span. */
struct op_spans {
    row_t n;
    double *start;
    row_t *op; /* or ROW_NONE */
};

/* The arena owns the columns. False: out of memory. O(n log n). */
bool op_spans_make(const struct timeline_ops *ops, struct arena *arena, struct op_spans *spans);

/*
 * ---- Parents in linked traces of schema 1.0.1, whose nodes have new ids but name their parents by the old ids ----
 *
 * Nodes are in the order of their old ids, which are numbered by start. So the first node that names a parent directly
 * follows the parent on its thread:
 *
 *     new id   thread   parent
 *     0        0        1        the process, whose old id is always 1
 *     1        1        1        so its parent is 0
 *     2        1        2        the first to name 2: its parent is the preceding node of the thread, 1
 *     3        1        3        ... and the parent of this one is 2
 *     4        1        2        2 again: the parent is 1
 *
 * A host trace in which a node is its own parent, or a later node is, has no such order; its nodes get other parents.
 * Cost: O(nodes), or O(n log n) for sparse ids.
 */

/* Replaces parents by new ids, if the nodes were linked. SUTRA_SYSTEM: out of memory. */
enum sutra_status old_parents_replace(struct et_plus_nodes *nodes, struct sutra_context *context,
                                      struct sutra_error *error);

/*
 * ---- ET+ of link-legacy, the older format (et_plus_legacy.c) ----
 *
 *     CPU node   {"name": "aten::mm", "id": 3, "parent": 2, ..., "dur": 20, "ts": 10}
 *     GPU node   {"cat": "kernel", "name": "gemm", "ts": 15, "dur": 4, "args": {"stream": 7}, "parent": 3, "id": 4, ...}
 *
 * A CPU node has its inclusive duration. A GPU node is its event, with the id of its parent, and the inputs and outputs
 * of its parent; "ts" is the end of its launch. Dependencies between threads are missing. Parents are new ids.
 */

/* Whether nodes are of link-legacy. With `compat` only if chakra_converter fails on them: else it ignores "dur". */
bool et_plus_is_legacy(const struct et_plus_nodes *nodes, bool compat);

/* Completes the nodes as link records them: exclusive durations of CPU nodes, dependencies between threads; durations,
 * streams, groups and the parent's attributes of GPU nodes. *n_gpu: GPU nodes below CPU nodes, without start time.
 * SUTRA_DATA: no GPU node has a CPU parent. SUTRA_SYSTEM: out of memory. O(n log n). */
enum sutra_status et_plus_legacy_complete(struct et_plus_trace *trace, struct sutra_context *context, row_t *n_gpu,
                                          struct sutra_error *error);

/*
 * ---- Python's str() of a JSON value after json.load(), in UTF-8: the form of inputs and outputs in .et files ----
 *
 *     [[64, 1e3], "it's", null, {"a": true}]   ->   [[64, 1000.0], "it's", None, {'a': True}]
 *
 * A string by itself is unchanged; in lists and objects it is its repr(). The grammar is checked in the same walk.
 * Cost: O(bytes read and written), and O(k log k) for an object of k keys.
 */

/* An open bracket. */
struct python_frame {
    bool object;
    size_t first_member; /* in the list of members */
    size_t start;        /* of the text after the bracket */
};

/* The state of a thread; initialize with zeros and python_text_begin(). */
struct python_text {
    struct buffer out;
    struct json_emitter members; /* for objects: the keys and their offsets in `out` */
    struct buffer decoded;       /* a string with escapes */
    struct python_frame *frames; /* DEPTH_MAX of them */
    size_t depth;
    bool failed; /* out of memory; the buffers have their own flags */
};

/* Cache: a list and its text, reused if the same bytes recur. */
struct python_cache_entry {
    struct cached_value seen;
    struct et_text text;
};

#define PYTHON_CACHE 1024

/* The longest text of a protobuf message, and the longest JSON of a value: its text has at most eight times as many
 * bytes. */
#define ET_PLUS_TEXT_MAX ((size_t)1 << 30)
#define ET_PLUS_JSON_MAX (ET_PLUS_TEXT_MAX / 8)

/* The texts of inputs and outputs of nodes, for one thread. */
struct et_plus_texts {
    const struct source *source;
    struct field_reader fields;
    struct text_store store;
    struct python_text python;
    struct python_cache_entry *cache; /* PYTHON_CACHE entries */
};

/* False: out of memory. To be ended in any case. */
bool et_plus_texts_begin(struct et_plus_texts *texts, const struct source *source);
void et_plus_texts_end(struct et_plus_texts *texts);
bool et_plus_texts_failed(const struct et_plus_texts *texts);

/* The text of a value of inputs or outputs, until et_plus_texts_end(). Empty if there is none. O(length). */
struct et_text et_plus_io_text(struct et_plus_texts *texts, const struct et_plus_nodes *nodes, row_t row, int column);

/* The text of a string: its bytes in the source, or, with escapes, a decoded copy in the store. False: it cannot be
 * encoded in UTF-8. */
bool et_plus_string_text(struct field_reader *fields, struct text_store *store, struct json_span place,
                         struct et_text *text);

/*
 * ---- Fields of one node, of ET+ or of a host trace ----
 *
 *     et_plus_spans_walk()      the spans of its fields, in one pass over the node
 *     et_plus_node_fields()     the values of its fields
 *                            ... linking sets some of them
 *     et_plus_node_attributes() the values of its attributes, some of which replace fields
 *
 * Nodes without attributes are of schema 1.0.1; their fields are identified by name.
 */

/* The state of a thread; initialize with zeros except the first three members. */
struct et_plus_reader {
    const struct source *source;
    struct text_store *store;
    struct field_reader *fields; /* of the same source */
    struct event_forms forms;    /* learned nodes */
    struct buffer scratch;
};

void et_plus_reader_end(struct et_plus_reader *reader);
bool et_plus_reader_failed(const struct et_plus_reader *reader); /* out of memory */

/* Spans by number: fields of the node, attributes, and the parts of inputs and outputs, if these are objects. */
enum {
    ET_PLUS_N_ATTRIBUTES = ET_PLUS_OP_SCHEMA + 1,
    ET_PLUS_SPAN_INPUTS = ET_PLUS_N_FIELDS + ET_PLUS_N_ATTRIBUTES,
    ET_PLUS_SPAN_OUTPUTS = ET_PLUS_SPAN_INPUTS + 3,
    ET_PLUS_N_SPANS = ET_PLUS_SPAN_OUTPUTS + 3,
};

_Static_assert(ET_PLUS_N_SPANS <= 64, "learned nodes have a bit for each span");

struct et_plus_spans {
    struct json_span span[ET_PLUS_N_SPANS];
    size_t text; /* offset of the node */
    bool bare;   /* without "attrs" */
    bool flat;   /* of schema 1.0.1 */
};

/* Walks the node at the walker, which records malformed JSON. */
void et_plus_spans_walk(struct et_plus_reader *reader, struct json_walker *walker, struct et_plus_spans *spans);

void et_plus_node_fields(struct et_plus_reader *reader, const struct et_plus_spans *spans, struct et_plus_node *node);
void et_plus_node_attributes(struct et_plus_reader *reader, const struct et_plus_spans *spans,
                             struct et_plus_node *node);

/* Sets or clears the fault of a field. */
static inline void et_plus_set_fault(struct et_plus_node *node, enum et_plus_field field, bool on) {
    node->faults = on ? node->faults | ET_PLUS_BIT(field) : node->faults & ~ET_PLUS_BIT(field);
}

/* int() of a double; false: negative or too large. */
static inline bool truncate_double(double real, uint64_t *number) {
    real = trunc(real);
    if (!(real >= 0) || real >= 18446744073709551616.0)
        return false;
    *number = (uint64_t)real;
    return true;
}

/* Sets pg_name from a string, or null, of another file. */
void et_plus_node_set_pg_name(struct et_plus_reader *reader, const struct source *source, struct json_span place,
                              struct et_plus_node *node);

#endif
