/*
 * input_lists.c - arrays of inputs, side by side. O(bytes).
 */
#include "tree/input_lists.h"

#include <string.h>

#include "base/error.h"
#include "read/fields.h"

bool source_begins(const struct input_source *source, struct json_place place, const char *with) {
    size_t length = strlen(with);
    return place.at && *source_text(source, place.at) == '"' && place.end - place.at > length &&
           memcmp(source_text(source, place.at) + 1, with, length) == 0;
}

bool source_is(const struct input_source *source, struct json_place place, const char *text) {
    return place.at && *source_text(source, place.at) == '"' && place_is(&source->document->source, place, text);
}

bool source_integer(const struct input_source *source, struct json_place place, int64_t *value) {
    return place.at && field_integer(source_text(source, place.at), value);
}

struct input_lists lists_open(const struct input_source *source, const struct json_place *places) {
    struct input_lists lists = {0};
    for (int i = 0; i < N_LISTS; i++) {
        if (!source_is_array(source, places[i]))
            continue;
        lists.walker[i] = source_walk(source, places[i].at);
        lists.more[i] = walk_array(&lists.walker[i]);
    }
    return lists;
}

bool lists_step(struct input_lists *lists, enum input_list leading, struct json_place *places) {
    bool more = lists->more[leading];
    for (int i = 0; i < N_LISTS; i++) {
        places[i] = lists->more[i] ? walk_value(&lists->walker[i]) : (struct json_place){0};
        lists->more[i] = lists->more[i] && walk_element_end(&lists->walker[i]);
    }
    return more;
}

static void note(struct input_source *source, enum sutra_status status) {
    if (!source->status)
        source->status = status;
}

void source_add_tag(struct input_source *source, enum sutra_input_tag tag) {
    note(source, sutra_inputs_add(source->inputs, tag, source->error));
}

void source_add_scalar(struct input_source *source, const char *text, size_t length) {
    note(source, sutra_inputs_add_scalar(source->inputs, text, length, source->error));
}

/* Appends the numbers of an array to the sizes at hand; returns how many there are. What is no integer counts as 0. */
static uint32_t read_sizes(struct input_source *source, struct json_place place) {
    uint32_t n = 0;
    if (!source_is_array(source, place))
        return 0;
    struct json_walker walker = source_walk(source, place.at);
    for (bool more = walk_array(&walker); more; more = walk_element_end(&walker), n++) {
        int64_t size = 0;
        source_integer(source, walk_value(&walker), &size);
        buffer_append(&source->sizes, &size, sizeof size);
    }
    return n;
}

void source_add_tensor(struct input_source *source, struct sutra_tensor tensor, struct json_place shape,
                       struct json_place strides) {
    source->sizes.length = 0;
    tensor.dim = read_sizes(source, shape);
    if (tensor.layout == SUTRA_LAYOUT_STRIDED && read_sizes(source, strides) != tensor.dim)
        tensor.layout = SUTRA_LAYOUT_OTHER;
    if (source->sizes.failed)
        note(source, error_memory(source->error));
    const int64_t *sizes = (const int64_t *)(const void *)source->sizes.bytes;
    if (!source->status)
        source->status = sutra_inputs_add_tensor(source->inputs, &tensor, sizes, tensor.dim ? sizes + tensor.dim : NULL,
                                                 source->error);
}
