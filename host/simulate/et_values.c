/*
 * et_values.c - attributes by their known names.
 */
#include "simulate/et_values.h"

#include "simulate/et_groups.h"

bool et_is_communication(int32_t type) {
    return et_is_message(type) || type == ET_COMM_COLL;
}

bool et_is_integer(uint8_t kind) {
    return kind >= ET_INT32 && kind <= ET_BOOL && kind % 2 == 1;
}

bool et_is_gpu(const struct et_nodes *nodes, row_t row) {
    uint64_t at = et_attribute_find(nodes, row, ET_NAME_IS_CPU_OP);
    return at == UINT64_MAX || !et_is_integer(nodes->attributes.kind[at]) || nodes->attributes.value[at].bits == 0;
}

bool et_has(const struct et_nodes *nodes, row_t row, enum et_name name) {
    return et_attribute_find(nodes, row, name) != UINT64_MAX;
}

bool et_integer(const struct et_nodes *nodes, row_t row, enum et_name name, int64_t *value) {
    uint64_t at = et_attribute_find(nodes, row, name);
    if (at == UINT64_MAX || !et_is_integer(nodes->attributes.kind[at]))
        return false;
    *value = (int64_t)nodes->attributes.value[at].bits;
    return true;
}

struct et_text et_group_name(const struct et_nodes *nodes, row_t row) {
    uint64_t at = et_attribute_find(nodes, row, ET_NAME_PG_NAME);
    if (at == UINT64_MAX || nodes->attributes.kind[at] != ET_STRING)
        return (struct et_text){"", 0};
    return (struct et_text){nodes->attributes.value[at].bytes, nodes->attributes.length[at]};
}

bool et_group_of(const struct et_nodes *nodes, row_t row, int64_t *group) {
    struct et_text name = et_group_name(nodes, row);
    *group = 0;
    return name.length == 0 || et_group_number(name, group);
}

bool et_nodes_per_stream(const struct et_nodes *nodes) {
    const struct et_attributes *metadata = &nodes->metadata;
    for (uint64_t i = 0; i < metadata->n; i++)
        if (metadata->name[i] == ET_NAME_GPU && metadata->kind[i] == ET_STRING)
            return et_text_is((struct et_text){metadata->value[i].bytes, metadata->length[i]}, "streams");
    return false;
}
