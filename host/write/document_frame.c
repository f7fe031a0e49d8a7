/*
 * document_frame.c - what stands around the array. O(bytes written).
 */
#include "write/document_frame.h"

#include "base/arena.h"
#include "columns/strings.h"
#include "read/fields.h"
#include "write/json_emit.h"

/* The members that are written, those that a later one of the same key replaces in its stead: the member whose value
 * stands behind the key of member i, or SIZE_MAX. NULL: out of memory. */
static size_t *resolve_members(const struct document *document, struct arena *arena) {
    size_t *keep = arena_take(arena, document->n_members, sizeof *keep);
    size_t *first = arena_take(arena, document->n_members, sizeof *first); /* of each key */
    struct strings keys;
    struct field_reader reader = {.source = &document->source};
    bool ok = strings_init(&keys) && !arena->failed;
    for (size_t i = 0; i < document->n_members && ok; i++) {
        uint32_t n_before = keys.n, number = field_intern(&reader, document->members[i].key, &keys);
        ok = !reader.failed;
        keep[i] = SIZE_MAX;
        if (ok && number == n_before)
            first[number] = i;
        if (ok)
            keep[first[number]] = i;
    }
    buffer_free(&reader.scratch);
    strings_free(&keys);
    return ok ? keep : NULL;
}

bool document_frame(const struct document *document, bool empty, struct buffer *head, struct buffer *tail) {
    bool comma = false;
    struct buffer *out = head;
    struct json_emitter emitter = {0};
    struct arena arena = {0};
    const size_t *keep = resolve_members(document, &arena);
    buffer_append(out, "{", 1);
    for (size_t i = 0; i < document->n_members && keep; i++) {
        if (keep[i] == SIZE_MAX)
            continue;
        emitter.out = out;
        if (comma)
            buffer_append(out, ",", 1);
        emit_newline(out, 1);
        comma = true;
        struct json_walker walker = walk_from(&document->source, document->members[i].key.at);
        emit_value(&emitter, &walker, 1);
        buffer_append(out, ": ", 2);
        if (keep[i] == document->array) {
            buffer_append(out, "[", 1);
            out = tail;
            buffer_append(out, empty ? "]" : "\n    ]", empty ? 1 : 6);
            continue;
        }
        walker = walk_from(&document->source, document->members[keep[i]].value);
        emit_value(&emitter, &walker, 1);
    }
    buffer_append(out, "\n}", 2);
    bool ok = keep && !emitter.failed && !head->failed && !tail->failed;
    json_emitter_free(&emitter);
    arena_free(&arena);
    return ok;
}
