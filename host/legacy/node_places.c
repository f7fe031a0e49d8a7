/*
 * node_places.c - walking a node. O(bytes of its text).
 */
#include "legacy/node_places.h"

#include <string.h>

#include "read/attribute.h"

static const struct {
    const char *key;
    size_t length;
} fields[] = {
#define X(name, key) {key, sizeof key - 1},
    PLACED_FIELDS(X)
#undef X
};

static enum placed_field field_of(const struct json_walker *walker, struct json_place key) {
    const char *raw = walker->text + key.at + 1;
    size_t length = key.end - key.at - 1;
    for (int field = 0; field < N_PLACED; field++)
        if (fields[field].length == length && memcmp(fields[field].key, raw, length) == 0)
            return (enum placed_field)field;
    if (!memchr(raw, '\\', length))
        return N_PLACED;
    for (int field = 0; field < N_PLACED; field++)
        if (place_is(walker->source, key, fields[field].key))
            return (enum placed_field)field;
    return N_PLACED;
}

static void walk_attributes(struct json_walker *walker, struct json_place *tid) {
    if (walk_char(walker) != '[') {
        walk_value(walker);
        return;
    }
    for (bool more = walk_array(walker); more; more = walk_element_end(walker)) {
        struct json_place found = {0};
        if (walk_char(walker) == '{')
            found = walk_attribute(walker, "tid");
        else
            walk_value(walker);
        if (found.at)
            *tid = found;
    }
}

void node_places_read(const struct sutra_host_trace *host, row_t node, struct node_places *places) {
    *places = (struct node_places){0};
    struct json_place attribute = {0};
    struct json_walker walker = walk_from(&host->document.source, host->nodes.text[node]);
    for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
        struct json_place key = walk_key(&walker);
        if (!host->flat && place_is(walker.source, key, "attrs")) {
            walk_attributes(&walker, &attribute);
            continue;
        }
        enum placed_field field = field_of(&walker, key);
        struct json_place value = walk_value(&walker);
        if (field != N_PLACED)
            places->field[field] = value;
    }
    if (attribute.at)
        places->field[PLACED_TID] = attribute;
}

const char *placed_field_key(enum placed_field field) {
    return fields[field].key;
}
