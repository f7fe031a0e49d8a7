/*
 * attribute.h - an attribute of a node of later schemas: {"name": "rf_id", "type": "uint64", "value": 883}.
 */
#ifndef READ_ATTRIBUTE_H
#define READ_ATTRIBUTE_H

#include "read/document.h"

struct attribute_places {
    struct json_place name, value; /* absent where `at` is 0 */
};

/* Walks an attribute, an object. */
static inline struct attribute_places walk_any_attribute(struct json_walker *walker) {
    struct attribute_places found = {0};
    for (bool more = walk_object(walker); more; more = walk_member_end(walker)) {
        struct json_place key = walk_key(walker);
        if (!key.at)
            break;
        struct json_place place = walk_value(walker);
        if (place_is(walker->source, key, "name"))
            found.name = place;
        else if (place_is(walker->source, key, "value"))
            found.value = place;
    }
    return found;
}

/* The same; the place of its value if it has this name. */
static inline struct json_place walk_attribute(struct json_walker *walker, const char *wanted) {
    struct attribute_places found = walk_any_attribute(walker);
    bool is_it = found.name.end && place_is(walker->source, found.name, wanted);
    return is_it ? found.value : (struct json_place){0};
}

#endif
