/*
 * attribute.h - an attribute of a node of later schemas: {"name": "rf_id", "type": "uint64", "value": 883}.
 */
#ifndef READ_ATTRIBUTE_H
#define READ_ATTRIBUTE_H

#include "read/document.h"

/* Walks an attribute, an object; the place of its value if it has this name. */
static inline struct json_place walk_attribute(struct json_walker *walker, const char *wanted) {
    struct json_place name = {0}, value = {0};
    for (bool more = walk_object(walker); more; more = walk_member_end(walker)) {
        struct json_place key = walk_key(walker);
        if (!key.at)
            break;
        struct json_place place = walk_value(walker);
        if (place_is(walker->source, key, "name"))
            name = place;
        else if (place_is(walker->source, key, "value"))
            value = place;
    }
    bool found = name.end && place_is(walker->source, name, wanted);
    return found ? value : (struct json_place){0};
}

#endif
