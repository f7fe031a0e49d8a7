/*
 * node_layout.h - how the members of a node stand in the text of ET+: three levels deep (document, list of nodes,
 * node), each on a line of its own.
 */
#ifndef WRITE_NODE_LAYOUT_H
#define WRITE_NODE_LAYOUT_H

#include "write/json_emit.h"

/* Level of a node's brackets; its members stand one deeper. */
#define NODE_LEVEL 2

/* Between two members, and, without its comma, before the first. */
#define NODE_SEPARATOR        ",\n            "
#define NODE_SEPARATOR_LENGTH (sizeof NODE_SEPARATOR - 1)

/* Writes what stands before a member: the separator, without its comma before the first one. */
static inline void node_separate(struct buffer *out, bool first) {
    static const char separator[] = NODE_SEPARATOR;
    buffer_append(out, separator + first, NODE_SEPARATOR_LENGTH - first);
}

/* Copies members [begin, end) of a node whose text, with a separator before each member, is in `text`. Before each
 * comes its separator; they go in one piece where they stand one behind the other, as they do unless keys were
 * repeated. */
void node_copy_members(const struct emitted_members *members, size_t begin, size_t end, const struct buffer *text,
                       struct buffer *out);

#endif
