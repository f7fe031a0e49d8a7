/*
 * document_frame.c - what stands around the array. O(bytes written).
 */
#include "write/document_frame.h"

#include <stdlib.h>

#include "columns/strings.h"
#include "text/string_text.h"
#include "write/json_emit.h"

/* Top-level members without those that a later one of the same key replaces. keep[i]: the member whose value stands at
 * the place of member i, or SIZE_MAX. */
static bool resolve_members(const struct document *document, size_t *keep) {
    struct strings keys;
    size_t *first = calloc(document->n_members + 1, sizeof *first);
    struct buffer decoded = {0};
    bool ok = strings_init(&keys) && first;
    for (size_t i = 0; i < document->n_members && ok; i++) {
        struct json_place key = document->members[i].key;
        decoded.length = 0;
        char *to = buffer_reserve(&decoded, key.end - key.at);
        uint32_t n_before = keys.n;
        uint32_t number =
            !to ? STRING_NONE
                : strings_intern(&keys, to,
                                 string_decode(document->source.bytes + key.at + 1, key.end - key.at - 1, to));
        ok = number != STRING_NONE;
        keep[i] = SIZE_MAX;
        if (ok && number == n_before)
            first[number] = i;
        if (ok)
            keep[first[number]] = i;
    }
    buffer_free(&decoded);
    strings_free(&keys);
    free(first);
    return ok;
}

bool document_frame(const struct document *document, bool empty, struct buffer *head, struct buffer *tail) {
    bool comma = false;
    struct buffer *out = head;
    struct json_emitter emitter = {0};
    size_t *keep = calloc(document->n_members + 1, sizeof *keep);
    bool ok = keep && resolve_members(document, keep);
    buffer_append(out, "{", 1);
    for (size_t i = 0; i < document->n_members && ok; i++) {
        if (keep[i] == SIZE_MAX)
            continue;
        emitter.out = out;
        if (comma)
            buffer_append(out, ",", 1);
        emit_newline(out, 1);
        comma = true;
        struct json_walker walker = walk_from(&document->source, &document->index, document->members[i].key.at);
        emit_value(&emitter, &walker, 1);
        buffer_append(out, ": ", 2);
        if (keep[i] == document->array) {
            buffer_append(out, "[", 1);
            out = tail;
            buffer_append(out, empty ? "]" : "\n    ]", empty ? 1 : 6);
            continue;
        }
        walker = walk_from(&document->source, &document->index, document->members[keep[i]].value);
        emit_value(&emitter, &walker, 1);
    }
    buffer_append(out, "\n}", 2);
    ok = ok && !emitter.failed && !head->failed && !tail->failed;
    json_emitter_free(&emitter);
    free(keep);
    return ok;
}
