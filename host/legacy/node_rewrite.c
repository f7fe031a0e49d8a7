/*
 * node_rewrite.c - writing an object's members into a buffer, then those that stay to the output. O(bytes written).
 */
#include "legacy/node_rewrite.h"

#include <string.h>

#include "link/node_layout.h"

/* Writes the value at a walker, leaving the emitter's list of members as it was. */
static void put_value(struct json_emitter *emitter, struct json_walker *walker) {
    size_t n = emitter->members.n;
    emit_value(emitter, walker, NODE_LEVEL + 1);
    emitter->members.n = n;
}

static void put_change(struct json_emitter *emitter, const struct member_change *change) {
    if (!change->document) {
        emit_number(emitter->out, change->number);
        return;
    }
    struct json_walker walker = walk_from(&change->document->source, change->at);
    put_value(emitter, &walker);
}

static size_t change_of(const struct source *source, struct json_place key, const struct member_change *changes,
                        size_t n) {
    size_t i = 0;
    while (i < n && !place_is(source, key, changes[i].key))
        i++;
    return i;
}

/* Writes all members into the rewriter's buffer; returns a bit for each change that met its member. */
static uint32_t read_members(struct node_rewriter *rewriter, const struct document *document, size_t at,
                             const struct member_change *changes, size_t n) {
    struct json_emitter *emitter = &rewriter->emitter;
    struct json_walker walker = walk_from(&document->source, at);
    uint32_t met = 0;
    rewriter->text.length = 0;
    emitter->out = &rewriter->text;
    emitter->members.n = 0;
    for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
        node_separate(&rewriter->text, false);
        struct json_place key = walk_string(&walker);
        walk_next(&walker); /* the colon */
        emit_member_key(emitter, &walker, key);
        size_t change = change_of(&document->source, key, changes, n);
        if (change < n) {
            walk_value(&walker);
            put_change(emitter, &changes[change]);
            met |= (uint32_t)1 << change;
        } else {
            put_value(emitter, &walker);
        }
        end_member(emitter);
    }
    merge_members(emitter, 0);
    return met;
}

void node_rewrite(struct node_rewriter *rewriter, const struct document *document, size_t at,
                  const struct member_change *changes, size_t n, struct buffer *out) {
    struct json_emitter *emitter = &rewriter->emitter;
    uint32_t met = read_members(rewriter, document, at, changes, n);
    buffer_append(out, "{", 1);
    node_copy_members(&emitter->members, 0, emitter->members.n, &rewriter->text, out);
    bool comma = emitter->members.n > 0;
    emitter->out = out;
    for (size_t i = 0; i < n; i++) {
        if (met >> i & 1)
            continue;
        node_separate(out, !comma);
        buffer_append(out, "\"", 1);
        buffer_append(out, changes[i].key, strlen(changes[i].key));
        buffer_append(out, "\": ", 3);
        put_change(emitter, &changes[i]);
        comma = true;
    }
    emit_newline(out, NODE_LEVEL);
    buffer_append(out, "}", 1);
    rewriter->failed |= emitter->failed || rewriter->text.failed;
}

void node_rewriter_free(struct node_rewriter *rewriter) {
    json_emitter_free(&rewriter->emitter);
    buffer_free(&rewriter->text);
    *rewriter = (struct node_rewriter){0};
}
