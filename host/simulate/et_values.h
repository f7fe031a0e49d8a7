/*
 * et_values.h - what the attributes of a node say, as ASTRA-sim reads them, and those of a file.
 */
#ifndef SIMULATE_ET_VALUES_H
#define SIMULATE_ET_VALUES_H

#include "simulate/et_nodes.h"

bool et_is_communication(int32_t type);

/* A send or a receive. */
static inline bool et_is_message(int32_t type) {
    return type == ET_COMM_SEND || type == ET_COMM_RECV;
}

/* Kinds of single integers, bool among them. */
bool et_is_integer(uint8_t kind);

/* There is no is_cpu_op, or it is false. */
bool et_is_gpu(const struct et_nodes *nodes, row_t row);

/* There is such an attribute, with any value. */
bool et_has(const struct et_nodes *nodes, row_t row, enum et_name name);

/* The attribute's value, if it is an integer of any kind. */
bool et_integer(const struct et_nodes *nodes, row_t row, enum et_name name, int64_t *value);

/* The group that a communication runs in; empty: that of all ranks. */
struct et_text et_group_name(const struct et_nodes *nodes, row_t row);

/* Its number; false: its name does not begin with one. */
bool et_group_of(const struct et_nodes *nodes, row_t row, int64_t *group);

/* The file says that it was made for a resource for each stream. */
bool et_nodes_per_stream(const struct et_nodes *nodes);

#endif
