/*
 * et_schema.h - what Chakra's schema says of values and names: how each kind of attribute is encoded, what node types
 * and collectives are called, and the values of a list.
 */
#ifndef SIMULATE_ET_SCHEMA_H
#define SIMULATE_ET_SCHEMA_H

#include "simulate/et_nodes.h"
#include "simulate/et_wire.h"

/* Kinds of single values: (kind - ET_DOUBLE) / 2 is their place in tables. */
#define ET_N_SCALARS 15

/* The type on the wire of a field of AttributeProto; lists are messages. */
enum wire_type et_wire_type(uint32_t kind);

/* A number as the columns have it, from what was on the wire: sign-extended, zigzag undone, bool 0 or 1. */
uint64_t et_scalar_bits(uint32_t kind, uint64_t bits);

/* The other way round, of a number whose type is WIRE_VARINT. */
uint64_t et_varint_of(uint32_t kind, uint64_t bits);

/* "double", "float", "int32", ... of a single value or of the elements of a list. */
const char *et_kind_word(uint32_t kind);

/* The schema's names; NULL: there is none. */
const char *et_type_name(int64_t type);
const char *et_collective_name(int64_t type);

/* The type of a name, or -1. */
int et_type_of(const char *name, size_t length);

/* A walk along the values of a list, packed or not. */
struct et_list {
    uint32_t element; /* kind of the elements */
    struct wire fields, packed;
};

static inline struct et_list et_list_over(uint32_t kind, const char *bytes, size_t length) {
    return (struct et_list){.element = kind - 1, .fields = wire_over(bytes, length)};
}

/* The next value, a number or a text; false: the end, or a fault in one of the cursors. */
bool et_list_next(struct et_list *list, uint64_t *bits, struct et_text *text);

#endif
