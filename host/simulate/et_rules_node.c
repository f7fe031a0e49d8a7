/*
 * et_rules_node.c - what ASTRA-sim needs of single nodes: their types, durations, attributes and groups.
 */
#include "simulate/et_check.h"

/* Collectives below so many bytes are cut into nothing (preferred-dataset-splits of system.json, 4 as a rule). */
#define ALL_GATHER_LEAST 4

static bool is_type(const struct et_checking *checking, row_t row, int32_t type) {
    return checking->nodes->type[row] == type;
}

/* ---- Types and durations ---- */

bool et_rule_type(const struct et_checking *checking, row_t row) {
    int32_t type = checking->nodes->type[row];
    return type < ET_INVALID || type > ET_COMM_COLL;
}

bool et_rule_invalid(const struct et_checking *checking, row_t row) {
    return is_type(checking, row, ET_INVALID);
}

bool et_rule_metadata(const struct et_checking *checking, row_t row) {
    return is_type(checking, row, ET_METADATA);
}

bool et_rule_cpu_communication(const struct et_checking *checking, row_t row) {
    return et_is_communication(checking->nodes->type[row]) && !et_is_gpu(checking->nodes, row);
}

bool et_rule_no_duration(const struct et_checking *checking, row_t row) {
    return is_type(checking, row, ET_COMP) && checking->nodes->duration_us[row] == 0;
}

bool et_rule_long_duration(const struct et_checking *checking, row_t row) {
    return checking->nodes->duration_us[row] > UINT64_MAX / 1000;
}

bool et_rule_roofline(const struct et_checking *checking, row_t row) {
    const struct et_nodes *nodes = checking->nodes;
    return is_type(checking, row, ET_COMP) && et_is_gpu(nodes, row) &&
           !(et_has(nodes, row, ET_NAME_NUM_OPS) && et_has(nodes, row, ET_NAME_TENSOR_SIZE));
}

bool et_rule_no_tensor(const struct et_checking *checking, row_t row) {
    int64_t size;
    return is_type(checking, row, ET_COMP) && et_is_gpu(checking->nodes, row) &&
           et_integer(checking->nodes, row, ET_NAME_TENSOR_SIZE, &size) && size == 0;
}

bool et_rule_memory(const struct et_checking *checking, row_t row) {
    return (is_type(checking, row, ET_MEM_LOAD) || is_type(checking, row, ET_MEM_STORE)) &&
           !et_has(checking->nodes, row, ET_NAME_TENSOR_SIZE);
}

/* ---- Kinds of values ---- */

static bool is_right_kind(uint32_t name, uint8_t kind) {
    switch (name) {
    case ET_NAME_IS_CPU_OP:
    case ET_NAME_NUM_OPS:
    case ET_NAME_TENSOR_SIZE:
    case ET_NAME_TENSOR_LOC:
    case ET_NAME_COMM_TYPE:
    case ET_NAME_COMM_PRIORITY:
    case ET_NAME_COMM_SIZE:
    case ET_NAME_COMM_SRC:
    case ET_NAME_COMM_DST:
    case ET_NAME_COMM_TAG:
        return et_is_integer(kind);
    case ET_NAME_PG_NAME:
        return kind == ET_STRING;
    case ET_NAME_INVOLVED_DIM:
        return kind == ET_BOOL + 1;
    default:
        return kind != ET_NO_VALUE;
    }
}

bool et_rule_values(const struct et_checking *checking, row_t row) {
    const struct et_nodes *nodes = checking->nodes;
    for (uint64_t i = nodes->attr_first[row]; i < nodes->attr_first[row + 1]; i++)
        if (!is_right_kind(nodes->attributes.name[i], nodes->attributes.kind[i]))
            return true;
    return false;
}

static bool has_other_kind(const struct et_nodes *nodes, row_t row, enum et_name name, enum et_kind kind) {
    uint64_t at = et_attribute_find(nodes, row, name);
    return at != UINT64_MAX && nodes->attributes.kind[at] != kind;
}

bool et_rule_narrow_kinds(const struct et_checking *checking, row_t row) {
    const struct et_nodes *nodes = checking->nodes;
    return et_is_communication(nodes->type[row]) && (has_other_kind(nodes, row, ET_NAME_COMM_TYPE, ET_INT64) ||
                                                     has_other_kind(nodes, row, ET_NAME_COMM_SIZE, ET_INT64) ||
                                                     has_other_kind(nodes, row, ET_NAME_COMM_SRC, ET_INT32) ||
                                                     has_other_kind(nodes, row, ET_NAME_COMM_DST, ET_INT32) ||
                                                     has_other_kind(nodes, row, ET_NAME_COMM_TAG, ET_INT32));
}

/* ---- Communication ---- */

bool et_rule_collective(const struct et_checking *checking, row_t row) {
    const struct et_nodes *nodes = checking->nodes;
    return is_type(checking, row, ET_COMM_COLL) &&
           !(et_has(nodes, row, ET_NAME_COMM_TYPE) && et_has(nodes, row, ET_NAME_COMM_SIZE));
}

bool et_rule_collective_type(const struct et_checking *checking, row_t row) {
    int64_t type;
    if (!is_type(checking, row, ET_COMM_COLL) || !et_integer(checking->nodes, row, ET_NAME_COMM_TYPE, &type))
        return false;
    return type != ET_ALL_REDUCE && type != ET_ALL_GATHER && type != ET_BROADCAST && type != ET_ALL_TO_ALL &&
           type != ET_REDUCE_SCATTER;
}

/* The bytes of a communication; false: it says none. */
static bool size_of(const struct et_checking *checking, row_t row, int64_t *size) {
    return et_is_communication(checking->nodes->type[row]) && et_integer(checking->nodes, row, ET_NAME_COMM_SIZE, size);
}

static bool is_small_gather(const struct et_checking *checking, row_t row, int64_t size) {
    int64_t type;
    return is_type(checking, row, ET_COMM_COLL) && et_integer(checking->nodes, row, ET_NAME_COMM_TYPE, &type) &&
           type == ET_ALL_GATHER && size < ALL_GATHER_LEAST;
}

bool et_rule_size(const struct et_checking *checking, row_t row) {
    int64_t size;
    return size_of(checking, row, &size) && (size < 0 || is_small_gather(checking, row, size));
}

bool et_rule_no_size(const struct et_checking *checking, row_t row) {
    int64_t size;
    return size_of(checking, row, &size) && size == 0 && !is_small_gather(checking, row, size);
}

static bool lacks_peer(const struct et_nodes *nodes, row_t row, enum et_name peer) {
    return !(et_has(nodes, row, peer) && et_has(nodes, row, ET_NAME_COMM_TAG) && et_has(nodes, row, ET_NAME_COMM_SIZE));
}

bool et_rule_peer(const struct et_checking *checking, row_t row) {
    if (is_type(checking, row, ET_COMM_SEND))
        return lacks_peer(checking->nodes, row, ET_NAME_COMM_DST);
    return is_type(checking, row, ET_COMM_RECV) && lacks_peer(checking->nodes, row, ET_NAME_COMM_SRC);
}

bool et_rule_own_rank(const struct et_checking *checking, row_t row) {
    bool sends = is_type(checking, row, ET_COMM_SEND);
    int64_t rank;
    if (checking->rank == RANK_UNKNOWN || !(sends || is_type(checking, row, ET_COMM_RECV)))
        return false;
    return et_integer(checking->nodes, row, sends ? ET_NAME_COMM_SRC : ET_NAME_COMM_DST, &rank) &&
           rank != checking->rank;
}

/* ---- Groups ---- */

bool et_rule_group_name(const struct et_checking *checking, row_t row) {
    int64_t group;
    return et_is_communication(checking->nodes->type[row]) && !et_group_of(checking->nodes, row, &group);
}

/* The group of a collective that is not the job's own. */
static bool special_group(const struct et_checking *checking, row_t row, int64_t *group) {
    return et_is_communication(checking->nodes->type[row]) && et_group_of(checking->nodes, row, group) && *group != 0;
}

bool et_rule_group_unknown(const struct et_checking *checking, row_t row) {
    int64_t group;
    return special_group(checking, row, &group) && !et_group_find(checking->groups, group);
}

bool et_rule_not_member(const struct et_checking *checking, row_t row) {
    int64_t number;
    if (checking->rank == RANK_UNKNOWN || !special_group(checking, row, &number))
        return false;
    const struct et_group *group = et_group_find(checking->groups, number);
    return group && !et_group_has(group, checking->rank);
}
