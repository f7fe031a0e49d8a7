/*
 * trace_devices.c - reading "deviceProperties".
 */
#include "analyze/trace_devices.h"

#include "read/fields.h"

int64_t trace_device_count(const struct document *document) {
    const struct document_member *devices = document_find(document, "deviceProperties");
    if (!devices || document->source.bytes[devices->value] != '[')
        return 0;
    struct json_walker walker = walk_from(&document->source, devices->value);
    int64_t n = 0;
    for (bool more = walk_array(&walker); more; more = walk_element_end(&walker)) {
        walk_value(&walker);
        n++;
    }
    return n;
}
