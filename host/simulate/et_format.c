/*
 * et_format.c - implements et_format.h.
 */
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "simulate/et_format.h"

/* ---- Columns ---- */

enum sutra_status et_nodes_begin(struct et_nodes *nodes, struct sutra_error *error) {
    static const char *const known[] = {
#define X(constant, name) name,
        ET_NAMES(X)
#undef X
    };
    *nodes = (struct et_nodes){0};
    TRY_ALLOC(strings_init(&nodes->names), error);
    for (size_t i = 0; i < ET_N_NAMES; i++)
        if (strings_intern(&nodes->names, known[i], strlen(known[i])) != i)
            return error_memory(error);
    return SUTRA_OK;
}

void et_nodes_free(struct et_nodes *nodes) {
    strings_free(&nodes->names);
    arena_free(&nodes->arena);
    *nodes = (struct et_nodes){0};
}

static void alloc_ids(struct arena *arena, struct et_ids *list, row_t n, uint64_t n_ids) {
    list->first = arena_alloc(arena, (size_t)n + 1, sizeof *list->first);
    list->ids = arena_alloc(arena, n_ids, sizeof *list->ids);
}

enum sutra_status et_attributes_take(struct et_nodes *nodes, struct et_attributes *attributes, uint64_t n,
                                     struct sutra_error *error) {
    struct arena *arena = &nodes->arena;
    attributes->n = n;
    attributes->name = arena_alloc(arena, n, sizeof *attributes->name);
    attributes->kind = arena_alloc(arena, n, sizeof *attributes->kind);
    attributes->length = arena_alloc(arena, n, sizeof *attributes->length);
    attributes->value = arena_alloc(arena, n, sizeof *attributes->value);
    return arena_status(arena, error);
}

enum sutra_status et_nodes_take(struct et_nodes *nodes, row_t n, uint64_t n_ctrl, uint64_t n_data,
                                uint64_t n_attributes, struct sutra_error *error) {
    struct arena *arena = &nodes->arena;
    nodes->n = n;
    nodes->id = arena_alloc(arena, n, sizeof *nodes->id);
    nodes->start_us = arena_zeros(arena, n, sizeof *nodes->start_us);
    nodes->duration_us = arena_alloc(arena, n, sizeof *nodes->duration_us);
    nodes->type = arena_alloc(arena, n, sizeof *nodes->type);
    nodes->flags = arena_zeros(arena, n, sizeof *nodes->flags);
    for (int column = 0; column < et_text_columns(nodes); column++) {
        nodes->text[column].bytes = arena_alloc(arena, n, sizeof *nodes->text[column].bytes);
        nodes->text[column].length = arena_alloc(arena, n, sizeof *nodes->text[column].length);
    }
    alloc_ids(arena, &nodes->ctrl, n, n_ctrl);
    alloc_ids(arena, &nodes->data, n, n_data);
    nodes->attr_first = arena_alloc(arena, (size_t)n + 1, sizeof *nodes->attr_first);
    TRY(et_attributes_take(nodes, &nodes->attributes, n_attributes, error));
    nodes->ctrl.first[0] = nodes->data.first[0] = nodes->attr_first[0] = 0;
    return SUTRA_OK;
}

enum sutra_status et_docs_take(struct et_nodes *nodes, struct et_attributes *attributes, uint64_t n,
                               struct sutra_error *error) {
    attributes->n_docs = 0;
    attributes->docs = arena_alloc(&nodes->arena, n, sizeof *attributes->docs);
    return attributes->docs ? SUTRA_OK : error_memory(error);
}

struct et_text et_doc_search(const struct et_attributes *attributes, uint64_t i) {
    uint64_t doc;
    BISECT(doc, attributes->n_docs, attributes->docs[doc].attribute < i);
    bool found = doc < attributes->n_docs && attributes->docs[doc].attribute == i;
    return found ? attributes->docs[doc].text : (struct et_text){NULL, 0};
}

/* ---- Attributes by their known names ---- */

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

bool et_group_number(struct et_text name, int64_t *number) {
    uint32_t at = 0;
    int64_t sum = 0;
    while (at < name.length && (name.bytes[at] == ' ' || (name.bytes[at] >= '\t' && name.bytes[at] <= '\r')))
        at++;
    bool negative = at < name.length && name.bytes[at] == '-';
    at += at < name.length && (negative || name.bytes[at] == '+');
    uint32_t begin = at;
    for (; at < name.length && is_digit(name.bytes[at]) && sum <= INT32_MAX; at++)
        sum = 10 * sum + (name.bytes[at] - '0');
    *number = negative ? -sum : sum;
    return at > begin && sum <= INT32_MAX;
}

bool et_group_of(const struct et_nodes *nodes, row_t row, int64_t *group) {
    struct et_text name = et_group_name(nodes, row);
    *group = 0;
    return name.length == 0 || et_group_number(name, group);
}

struct et_text et_metadata_text(const struct et_nodes *nodes, enum et_name name) {
    const struct et_attributes *metadata = &nodes->metadata;
    for (uint64_t i = 0; i < metadata->n; i++)
        if (metadata->name[i] == (uint32_t)name && metadata->kind[i] == ET_STRING)
            return (struct et_text){metadata->value[i].bytes, metadata->length[i]};
    return (struct et_text){"", 0};
}

bool et_nodes_record_gpu(const struct et_nodes *nodes) {
    return et_metadata_text(nodes, ET_NAME_GPU).length > 0;
}

bool et_nodes_unmatched(const struct et_nodes *nodes) {
    for (uint64_t i = 0; i < nodes->metadata.n; i++)
        if (nodes->metadata.name[i] == ET_NAME_MEETINGS)
            return true;
    return false;
}

bool et_nodes_per_stream(const struct et_nodes *nodes) {
    return et_text_is(et_metadata_text(nodes, ET_NAME_GPU), "streams");
}

uint32_t et_nodes_ranks_per_host(const struct et_nodes *nodes) {
    const struct et_attributes *metadata = &nodes->metadata;
    for (uint64_t i = 0; i < metadata->n; i++)
        if (metadata->name[i] == ET_NAME_RANKS_PER_HOST && et_is_integer(metadata->kind[i]))
            return metadata->value[i].bits <= UINT32_MAX ? (uint32_t)metadata->value[i].bits : 0;
    return 0;
}

/* ---- Wire format; groups are skipped with a stack of their numbers ---- */

/* Moves from the start tag of a group to the end of its end tag. */
static bool wire_skip_group(struct wire *wire, uint32_t number) {
    uint32_t open[WIRE_DEPTH_MAX] = {number};
    struct wire_field field;
    for (size_t depth = 1; depth > 0;) {
        const char *from = wire->at;
        if (from == wire->end)
            return wire_fail(wire, from, "truncated group");
        if (!wire_take(wire, &field))
            return false;
        if (field.type == WIRE_GROUP && depth == WIRE_DEPTH_MAX)
            return wire_fail(wire, from, "groups nested too deeply");
        if (field.type == WIRE_GROUP)
            open[depth++] = field.number;
        else if (field.type == WIRE_GROUP_END && field.number != open[--depth])
            return wire_fail(wire, from, "end of a group without its start");
    }
    return true;
}

bool wire_next_any(struct wire *wire, struct wire_field *field) {
    while (wire->at != wire->end) {
        const char *from = wire->at;
        if (!wire_take(wire, field))
            return false;
        if (field->type == WIRE_GROUP_END)
            return wire_fail(wire, from, "end of a group without its start");
        if (field->type != WIRE_GROUP)
            return true;
        if (!wire_skip_group(wire, field->number))
            return false;
    }
    return false;
}

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

/* The next value of a packed list. */
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
