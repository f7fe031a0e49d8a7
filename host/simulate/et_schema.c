/*
 * et_schema.c - tables of Chakra's schema.
 */
#include "simulate/et_schema.h"

#include <string.h>

static const struct {
    const char *word;
    enum wire_type wire;
} scalars[ET_N_SCALARS] = {
    {"double", WIRE_64},     {"float", WIRE_32},      {"int32", WIRE_VARINT},  {"int64", WIRE_VARINT},
    {"uint32", WIRE_VARINT}, {"uint64", WIRE_VARINT}, {"sint32", WIRE_VARINT}, {"sint64", WIRE_VARINT},
    {"fixed32", WIRE_32},    {"fixed64", WIRE_64},    {"sfixed32", WIRE_32},   {"sfixed64", WIRE_64},
    {"bool", WIRE_VARINT},   {"string", WIRE_BYTES},  {"bytes", WIRE_BYTES},
};

static size_t scalar_of(uint32_t kind) {
    return (kind - ET_DOUBLE) / 2;
}

enum wire_type et_wire_type(uint32_t kind) {
    return kind % 2 ? scalars[scalar_of(kind)].wire : WIRE_BYTES;
}

const char *et_kind_word(uint32_t kind) {
    return scalars[scalar_of(kind)].word;
}

uint64_t et_scalar_bits(uint32_t kind, uint64_t bits) {
    switch (kind) {
    case ET_INT32:
    case ET_SFIXED32:
        return (uint64_t)(int64_t)(int32_t)(uint32_t)bits;
    case ET_SINT32:
        bits &= UINT32_MAX;
        return (uint64_t)(int64_t)(int32_t)((uint32_t)(bits >> 1) ^ -(uint32_t)(bits & 1));
    case ET_SINT64:
        return (bits >> 1) ^ -(bits & 1);
    case ET_UINT32:
    case ET_FIXED32:
    case ET_FLOAT:
        return bits & UINT32_MAX;
    case ET_BOOL:
        return bits != 0;
    default:
        return bits;
    }
}

uint64_t et_varint_of(uint32_t kind, uint64_t bits) {
    if (kind == ET_SINT32 || kind == ET_SINT64)
        return bits << 1 ^ (0 - (bits >> 63));
    return kind == ET_BOOL ? bits != 0 : bits;
}

static const char *const types[] = {
    "INVALID_NODE", "METADATA_NODE",  "MEM_LOAD_NODE",  "MEM_STORE_NODE",
    "COMP_NODE",    "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE",
};

static const char *const collectives[] = {
    "ALL_REDUCE", "REDUCE",         "ALL_GATHER",           "GATHER",  "SCATTER", "BROADCAST",
    "ALL_TO_ALL", "REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "BARRIER",
};

#define N_OF(table) ((int64_t)(sizeof(table) / sizeof *(table)))

const char *et_type_name(int64_t type) {
    return type >= 0 && type < N_OF(types) ? types[type] : NULL;
}

const char *et_collective_name(int64_t type) {
    return type >= 0 && type < N_OF(collectives) ? collectives[type] : NULL;
}

int et_type_of(const char *name, size_t length) {
    for (int type = 0; type < N_OF(types); type++)
        if (strlen(types[type]) == length && memcmp(types[type], name, length) == 0)
            return type;
    return -1;
}

/* One value of a packed list. */
static bool next_packed(struct et_list *list, uint64_t *bits) {
    enum wire_type wire = et_wire_type(list->element);
    if (list->packed.at == list->packed.end)
        return false;
    return wire == WIRE_VARINT ? wire_varint(&list->packed, bits)
                               : wire_fixed(&list->packed, wire == WIRE_64 ? 8 : 4, bits);
}

bool et_list_next(struct et_list *list, uint64_t *bits, struct et_text *text) {
    enum wire_type wire = et_wire_type(list->element);
    struct wire_field field;
    for (;;) {
        if (next_packed(list, bits)) {
            *bits = et_scalar_bits(list->element, *bits);
            return true;
        }
        if (list->packed.fault || !wire_next(&list->fields, &field))
            return false;
        if (field.number != 1)
            continue;
        if (wire == WIRE_BYTES && field.type == WIRE_BYTES) {
            *text = (struct et_text){field.bytes, (uint32_t)field.bits};
            return true;
        }
        if (field.type == WIRE_BYTES)
            list->packed = wire_over(field.bytes, field.bits);
        if (field.type == wire) {
            *bits = et_scalar_bits(list->element, field.bits);
            return true;
        }
    }
}
