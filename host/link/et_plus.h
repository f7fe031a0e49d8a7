/*
 * et_plus.h - the fields of ET+ nodes, for the writer (et_plus.c) and for the reader (simulate/et_plus_nodes.h), and
 * the estimated size of the nodes.
 *
 *     {"id": 12, "name": "aten::mm", "ctrl_deps": 3, ..., "attrs": [{"name": "rf_id", "value": 883}, ...]}
 *      key                                                            attribute
 *
 * The reader accepts a field under its key, and under the name of an attribute, if it has one. It reports the first
 * fault of a node in the order of this list. The writer sets the fields of linked_fields[] (et_plus.c), in another
 * order; it copies all others from the host trace.
 */
#ifndef LINK_ET_PLUS_H
#define LINK_ET_PLUS_H

#include <stdint.h>

/* X(constant, key in the node, name as an attribute or "", expected value). COMM_BYTES is a fault of the inputs of
 * communication; FLAT_PARENT to OUTPUT_TYPES are fields of schema 1.0.1; DUR and ARGS of ET+ of link-legacy. */
#define ET_PLUS_FIELDS(X)                                                                                              \
    X(ID, "id", "id", "an integer from 0 to 2^64 - 1")                                                                 \
    X(NAME, "name", "name", "a string that can be encoded in UTF-8")                                                   \
    X(CTRL_DEPS, "ctrl_deps", "parent", "a node's id")                                                                 \
    X(INPUTS, "inputs", "inputs", "an object with values, shapes and types that can be encoded in UTF-8")              \
    X(OUTPUTS, "outputs", "outputs", "an object with values, shapes and types that can be encoded in UTF-8")           \
    X(EXCLUSIVE_DUR, "exclusive_dur", "exclusive_dur", "a number from 0 to 2^64 - 1")                                  \
    X(INTER_THREAD_DEP, "inter_thread_dep", "inter_thread_dep", "a node's id")                                         \
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
    X(TS, "ts", "", "a number")                                                                                        \
    X(INCLUSIVE_DUR, "inclusive_dur", "", "a number")                                                                  \
    X(SYNC_DEP, "sync_dep", "", "a list of nodes' ids")                                                                \
    X(PHASE, "ph", "", "a string")                                                                                     \
    X(FLAT_PARENT, "parent", "", "a node's id")                                                                        \
    X(INPUT_SHAPES, "input_shapes", "", "a list")                                                                      \
    X(INPUT_TYPES, "input_types", "", "a list")                                                                        \
    X(OUTPUT_SHAPES, "output_shapes", "", "a list")                                                                    \
    X(OUTPUT_TYPES, "output_types", "", "a list")                                                                      \
    X(DUR, "dur", "", "a number from 0 to 2^64 - 1")                                                                   \
    X(ARGS, "args", "", "an object")                                                                                   \
    X(ATTRIBUTES, "attrs", "", "a list")

enum et_plus_field {
#define X(constant, key, attribute, expected) ET_PLUS_##constant,
    ET_PLUS_FIELDS(X)
#undef X
        ET_PLUS_N_FIELDS
};

#define ET_PLUS_BIT(field) ((uint32_t)1 << (field))

struct sutra_linked;

/* Estimates the bytes of the nodes as text from a sample of some hundreds. 0: out of memory. */
uint64_t linked_size(const struct sutra_linked *linked);

#endif
