/*
 * node_layout.c - copying members of a node.
 */
#include "link/node_layout.h"

void node_copy_members(const struct emitted_members *members, size_t begin, size_t end, const struct buffer *text,
                       struct buffer *out) {
    const struct emitted_member *list = members->list;
    for (size_t i = begin; i < end;) {
        size_t first = i++;
        while (i < end && list[i].start == list[i - 1].end + NODE_SEPARATOR_LENGTH)
            i++;
        node_separate(out, first == 0);
        buffer_append(out, text->bytes + list[first].start, list[i - 1].end - list[first].start);
    }
}
