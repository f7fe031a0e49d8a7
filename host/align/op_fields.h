/*
 * op_fields.h - reads the fields by which operators are matched (op_match.h): names, threads and numbers, from nodes of
 * a host trace and events of a device trace.
 *
 *     field       host trace                                    device trace
 *     name        "name"                                        "name"
 *     thread      "tid", or the attribute                       "tid"
 *     sequence    "seq_id", or the attribute, if not negative   "Sequence number"
 *     collective  record_param_comms: the first integer of      the first integer of "Concrete Inputs", whose elements
 *                 the inputs                                    are strings
 */
#ifndef ALIGN_OP_FIELDS_H
#define ALIGN_OP_FIELDS_H

#include "align/op_match.h"
#include "base/arena.h"
#include "columns/strings.h"
#include "context/context.h"
#include "read/device_trace.h"
#include "read/host_trace.h"

/* X(name, key) */
#define PLACED_FIELDS(X)                                                                                               \
    X(NAME, "name")                                                                                                    \
    X(CATEGORY, "cat")                                                                                                 \
    X(TID, "tid")                                                                                                      \
    X(SEQUENCE, "seq_id")                                                                                              \
    X(PARENT, "parent")                                                                                                \
    X(CTRL_DEPS, "ctrl_deps")                                                                                          \
    X(INPUTS, "inputs")                                                                                                \
    X(INPUT_SHAPES, "input_shapes")                                                                                    \
    X(INPUT_TYPES, "input_types")                                                                                      \
    X(OUTPUTS, "outputs")                                                                                              \
    X(OUTPUT_SHAPES, "output_shapes")                                                                                  \
    X(OUTPUT_TYPES, "output_types")

enum placed_field {
#define X(name, key) PLACED_##name,
    PLACED_FIELDS(X)
#undef X
        N_PLACED,
    PLACED_VALUES = N_PLACED, /* "values" in an object "inputs" */
    PLACED_TID_ATTRIBUTE,
    PLACED_SEQUENCE_ATTRIBUTE,
    N_PLACES
};

struct node_places {
    struct json_span field[N_PLACES]; /* `at` is 0 if the field is absent */
};

/* The key of a field. */
const char *placed_key(enum placed_field field);

/* Finds the fields of a node. In later schemas, tid and seq_id are attributes, which are copied to TID and SEQUENCE.
 * With `forms` (or NULL), repeated layouts of nodes are learned, and objects have no place. O(length of the node). */
void node_places_read(const struct sutra_host_trace *host, row_t node, struct event_forms *forms,
                      struct node_places *places);

/* The sequence number of a node; KEY_ABSENT: none, or below 0. */
value_key placed_sequence(const struct source *source, const struct node_places *places);

/* Kinds of nodes of a host trace. */
enum node_kind { NODE_OPERATOR, NODE_MARKER /* of the process or a thread */, NODE_STEP /* of the profiler */ };

/* Fields of the nodes node[0..n), in the arena. */
struct node_fields {
    uint8_t *kind;   /* enum node_kind */
    uint32_t *token; /* the number of the name in `names`, or TOKEN_NONE */
    value_key *tid;
    value_key *sequence, *collective; /* KEY_ABSENT: none */
};

/* Reads the fields in parallel. SUTRA_SYSTEM: out of memory. O(length of the nodes). */
enum sutra_status node_fields_read(struct node_fields *fields, struct sutra_context *context,
                                   const struct sutra_host_trace *host, const row_t *node, row_t n,
                                   const struct strings *names, struct arena *arena, struct sutra_error *error);

/* The argument of an event that is its sequence number. */
#define SEQUENCE_FIELD "Sequence number"

/* Fills the numbers of the operators event[0..n) of a device trace. SUTRA_SYSTEM: out of memory. O(length of the
 * events). */
enum sutra_status event_numbers_read(struct op_side *side, struct sutra_context *context,
                                     const struct sutra_device_trace *device, const row_t *event,
                                     struct sutra_error *error);

#endif
