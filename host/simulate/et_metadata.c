/*
 * et_metadata.c - five members of the file as attributes. The index of tokens may be gone by now.
 */
#include "simulate/et_metadata.h"

#include <string.h>

#include "base/error.h"
#include "simulate/unsigned_text.h"
#include "text/string_text.h"

struct member {
    const char *key;
    enum et_name name;
    enum et_kind kind;
};

static const struct member members[] = {
    {"schema", ET_NAME_SCHEMA, ET_STRING},       {"pid", ET_NAME_PID, ET_UINT64},
    {"time", ET_NAME_TIME, ET_STRING},           {"start_ts", ET_NAME_START_TS, ET_UINT64},
    {"finish_ts", ET_NAME_FINISH_TS, ET_UINT64},
};

#define N_MEMBERS (sizeof members / sizeof *members)

/* The string at `raw`, which was checked when it was read, decoded; false: it cannot be encoded in UTF-8. */
static bool read_text(struct arena *arena, const char *raw, struct et_text *text) {
    size_t length = 0;
    while (raw[length] != '"')
        length += raw[length] == '\\' ? 2 : 1;
    char *decoded = arena_take(arena, length + 64, 1);
    if (!decoded)
        return true; /* which the arena tells */
    *text = (struct et_text){decoded, (uint32_t)string_decode(raw, length, decoded)};
    return length < UINT32_MAX && utf8_check(decoded, text->length) == text->length;
}

/* Reads a member's value into the place `at`; false: it is of a wrong type. */
static bool put_value(struct et_nodes *nodes, uint64_t at, enum et_kind kind, const char *value) {
    struct et_attributes *metadata = &nodes->metadata;
    struct et_text text = {0};
    metadata->kind[at] = *value == 'n' ? ET_NO_VALUE : (uint8_t)kind;
    metadata->length[at] = 0;
    metadata->value[at].bits = 0;
    if (*value == 'n')
        return true;
    if (kind == ET_UINT64)
        return unsigned_parse(value, &metadata->value[at].bits);
    if (*value != '"' || !read_text(&nodes->arena, value + 1, &text))
        return false;
    metadata->value[at].bytes = text.bytes;
    metadata->length[at] = text.length;
    return true;
}

static enum sutra_status refuse(const struct document *document, const struct document_member *found,
                                const struct member *member, struct sutra_error *error) {
    const char *expected =
        member->kind == ET_STRING ? "a string that can be encoded in UTF-8" : "a non-negative integer";
    if (!found)
        return error_file(error, SUTRA_DATA, document->source.name, "missing member \"%s\" next to \"nodes\"",
                          member->key);
    return source_error(&document->source, error, found->value, "\"%s\": expected %s", member->key, expected);
}

enum sutra_status et_metadata_make(struct et_nodes *nodes, const struct document *document, bool needed,
                                   struct sutra_error *error) {
    enum sutra_status status = et_attributes_take(nodes, &nodes->metadata, N_MEMBERS, error);
    uint64_t n = 0;
    for (size_t i = 0; i < N_MEMBERS && !status; i++) {
        const struct document_member *found = document_find(document, members[i].key);
        nodes->metadata.name[n] = members[i].name;
        if (found && put_value(nodes, n, members[i].kind, document->source.bytes + found->value))
            n++;
        else if (needed)
            status = refuse(document, found, &members[i], error);
        if (nodes->arena.failed)
            status = error_memory(error);
    }
    nodes->metadata.n = n;
    return status;
}
