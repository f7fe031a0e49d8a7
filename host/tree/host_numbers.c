/*
 * host_numbers.c - what the host trace knows of an operator with the same rf_id: autograd's numbers, and inputs with
 * ids of tensors and storages.
 *
 *     schema 1.0.1    "tid", "fw_tid", "seq_id", "scope", "inputs", "input_types", "input_shapes" in the node itself
 *     later ones      numbers in "attrs"; "inputs": {"values", "types", "shapes", "strides"}
 *
 * A tensor's value is [tensor id, storage id, offset, elements, bytes of one, device]. O(bytes of the nodes that
 * match).
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "columns/column.h"
#include "match/key_index.h"
#include "read/fields.h"
#include "tree/take_trace.h"

enum node_number { NODE_TID, NODE_FORWARD_TID, NODE_SEQUENCE, NODE_SCOPE, N_NUMBERS };
enum node_list { LIST_VALUES, LIST_TYPES, LIST_SHAPES, LIST_STRIDES, N_LISTS };

static const char *const number_names[N_NUMBERS] = {"tid", "fw_tid", "seq_id", "scope"};
static const char *const flat_names[N_LISTS] = {"inputs", "input_types", "input_shapes", "input_strides"};
static const char *const list_names[N_LISTS] = {"values", "types", "shapes", "strides"};

struct node_places {
    struct json_place number[N_NUMBERS], list[N_LISTS];
};

struct host_reader {
    struct taking *taking;
    const struct document *document;
    struct field_reader fields;
    struct thread_numbers devices;
    struct buffer sizes; /* int64_t, of the tensor at hand: sizes, then strides */
    enum sutra_status status;
};

static const char *text_at(const struct host_reader *reader, size_t at) {
    return reader->document->source.bytes + at;
}

static struct json_walker walk_at(const struct host_reader *reader, size_t at) {
    return walk_from(&reader->document->source, &reader->document->index, at, NULL);
}

static bool read_integer(const struct host_reader *reader, struct json_place place, int64_t *value) {
    size_t length;
    const char *text = text_at(reader, place.at);
    return place.at && (*text == '-' || (*text >= '0' && *text <= '9')) &&
           number_scan(text, &length) == NUMBER_FORM_INTEGER && integer_parse(text, length, value);
}

/* ---- Finding the fields ---- */

static bool find_name(const struct host_reader *reader, struct json_place key, const char *const *names, int n,
                      int *found) {
    for (*found = 0; *found < n; ++*found)
        if (place_is(&reader->document->source, key, names[*found]))
            return true;
    return false;
}

static void find_attribute(const struct host_reader *reader, struct json_walker *walker, struct node_places *places) {
    struct json_place name = {0}, value = {0};
    int number;
    for (bool more = walk_object(walker); more; more = walk_member_end(walker)) {
        struct json_place key = walk_key(walker), place = walk_value(walker);
        if (place_is(&reader->document->source, key, "name"))
            name = place;
        else if (place_is(&reader->document->source, key, "value"))
            value = place;
    }
    if (name.end && find_name(reader, name, number_names, N_NUMBERS, &number))
        places->number[number] = value;
}

static void find_attributes(const struct host_reader *reader, size_t at, struct node_places *places) {
    struct json_walker walker = walk_at(reader, at);
    for (bool more = walk_array(&walker); more; more = walk_element_end(&walker))
        if (walk_char(&walker) == '{')
            find_attribute(reader, &walker, places);
        else
            walk_value(&walker);
}

static void find_lists(const struct host_reader *reader, size_t at, struct node_places *places) {
    struct json_walker walker = walk_at(reader, at);
    int list;
    for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
        struct json_place key = walk_key(&walker), place = walk_value(&walker);
        if (find_name(reader, key, list_names, N_LISTS, &list))
            places->list[list] = place;
    }
}

static void find_fields(const struct host_reader *reader, row_t node, struct node_places *places) {
    struct json_walker walker = walk_at(reader, reader->taking->host->nodes.text[node]);
    int field;
    memset(places, 0, sizeof *places);
    for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
        struct json_place key = walk_key(&walker), place = walk_value(&walker);
        char first = *text_at(reader, place.at);
        if (first == '[' && place_is(&reader->document->source, key, "attrs"))
            find_attributes(reader, place.at, places);
        else if (first == '{' && place_is(&reader->document->source, key, "inputs"))
            find_lists(reader, place.at, places);
        else if (find_name(reader, key, number_names, N_NUMBERS, &field))
            places->number[field] = place;
        else if (find_name(reader, key, flat_names, N_LISTS, &field))
            places->list[field] = place;
    }
}

/* ---- Inputs ---- */

/* Steps through several arrays at once; one that is missing or too short gives absent places. */
struct lists {
    struct json_walker walker[N_LISTS];
    bool more[N_LISTS];
};

static struct lists open_lists(const struct host_reader *reader, const struct json_place *places) {
    struct lists lists = {0};
    for (int i = 0; i < N_LISTS; i++) {
        if (!places[i].at || *text_at(reader, places[i].at) != '[')
            continue;
        lists.walker[i] = walk_at(reader, places[i].at);
        lists.more[i] = walk_array(&lists.walker[i]);
    }
    return lists;
}

/* The next element of each; false where the values end. */
static bool step_lists(struct lists *lists, struct json_place *places) {
    bool more = lists->more[LIST_VALUES];
    for (int i = 0; i < N_LISTS; i++) {
        places[i] = lists->more[i] ? walk_value(&lists->walker[i]) : (struct json_place){0};
        lists->more[i] = lists->more[i] && walk_element_end(&lists->walker[i]);
    }
    return more;
}

static uint32_t read_sizes(struct host_reader *reader, struct json_place place) {
    uint32_t n = 0;
    if (!place.at || *text_at(reader, place.at) != '[')
        return 0;
    struct json_walker walker = walk_at(reader, place.at);
    for (bool more = walk_array(&walker); more; more = walk_element_end(&walker), n++) {
        int64_t size = 0;
        read_integer(reader, walk_value(&walker), &size);
        buffer_append(&reader->sizes, &size, sizeof size);
    }
    return n;
}

static void note(struct host_reader *reader, enum sutra_status status) {
    if (!reader->status)
        reader->status = status;
}

static void add_tag(struct host_reader *reader, enum sutra_input_tag tag) {
    note(reader, sutra_inputs_add(reader->taking->profile->inputs, tag, reader->taking->error));
}

/* What stands between the brackets of "Tensor(float)". */
static void dtype_of(const struct host_reader *reader, struct json_place type, char *dtype, size_t size) {
    const char *open = "Tensor(", *text = text_at(reader, type.at) + 1;
    size_t length = type.at ? type.end - type.at - 1 : 0, skip = strlen(open);
    bool plain = length > skip && memcmp(text, open, skip) == 0 && text[length - 1] == ')';
    size_t n = plain ? length - skip - 1 : 0;
    n = n < size ? n : size - 1;
    memcpy(dtype, text + skip, n);
    dtype[n] = 0;
}

static void add_tensor(struct host_reader *reader, const struct json_place *places) {
    struct sutra_tensor tensor = {0};
    char dtype[64];
    int64_t part[2] = {0};
    uint32_t device = 0;
    int n = 0;
    struct json_walker walker = walk_at(reader, places[LIST_VALUES].at);
    for (bool more = walk_array(&walker); more; more = walk_element_end(&walker), n++) {
        struct json_place place = walk_value(&walker);
        if (n < 2)
            read_integer(reader, place, &part[n]);
        if (n == 5)
            device = thread_number(&reader->devices, (uint64_t)field_key(&reader->fields, place), 0);
    }
    if (device == PAIR_NONE)
        note(reader, error_memory(reader->taking->error));
    tensor.impl = (uint64_t)part[0];
    tensor.storage = (uint64_t)part[1];
    tensor.device_index = (int32_t)device;
    dtype_of(reader, places[LIST_TYPES], dtype, sizeof dtype);
    tensor.dtype = dtype;
    reader->sizes.length = 0;
    tensor.dim = read_sizes(reader, places[LIST_SHAPES]);
    bool strided = read_sizes(reader, places[LIST_STRIDES]) == tensor.dim;
    tensor.layout = strided ? SUTRA_LAYOUT_STRIDED : SUTRA_LAYOUT_OTHER;
    const int64_t *sizes = (const int64_t *)(const void *)reader->sizes.bytes;
    if (reader->sizes.failed)
        note(reader, error_memory(reader->taking->error));
    if (!reader->status)
        reader->status =
            sutra_inputs_add_tensor(reader->taking->profile->inputs, &tensor, sizes,
                                    tensor.dim && strided ? sizes + tensor.dim : NULL, reader->taking->error);
}

static bool type_begins(const struct host_reader *reader, struct json_place type, const char *with) {
    size_t length = strlen(with);
    return type.at && *text_at(reader, type.at) == '"' && type.end - type.at > length &&
           memcmp(text_at(reader, type.at) + 1, with, length) == 0;
}

static bool is_array(const struct host_reader *reader, struct json_place place) {
    return place.at && *text_at(reader, place.at) == '[';
}

static void add_scalar(struct host_reader *reader, struct json_place place) {
    const char *text = text_at(reader, place.at);
    size_t length = 0;
    if (number_scan(text, &length) == NUMBER_FORM_BAD)
        length = *text == 't' ? 4 : *text == 'f' ? 5 : 0;
    note(reader, sutra_inputs_add_scalar(reader->taking->profile->inputs, text, length, reader->taking->error));
}

/* A list of tensors; their types are known by the list's. */
static void add_list(struct host_reader *reader, const struct json_place *places) {
    struct lists lists = open_lists(reader, places);
    struct json_place member[N_LISTS];
    add_tag(reader, SUTRA_INPUT_LIST);
    while (step_lists(&lists, member) && !reader->status) {
        member[LIST_TYPES] = (struct json_place){0};
        if (is_array(reader, member[LIST_VALUES]))
            add_tensor(reader, member);
        else
            add_tag(reader, SUTRA_INPUT_UNDEFINED);
    }
    add_tag(reader, SUTRA_INPUT_END);
}

static void add_input(struct host_reader *reader, const struct json_place *places) {
    static const char *const scalars[] = {"Int", "Double", "Bool"};
    struct json_place type = places[LIST_TYPES];
    bool array = is_array(reader, places[LIST_VALUES]);
    if (array && type_begins(reader, type, "Tensor")) {
        add_tensor(reader, places);
        return;
    }
    if (array && type_begins(reader, type, "GenericList[Tensor")) {
        add_list(reader, places);
        return;
    }
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++)
        if (type.at && *text_at(reader, type.at) == '"' && place_is(&reader->document->source, type, scalars[i])) {
            add_scalar(reader, places[LIST_VALUES]);
            return;
        }
    add_tag(reader, SUTRA_INPUT_OTHER);
}

static void add_inputs(struct host_reader *reader, const struct node_places *places) {
    struct lists lists = open_lists(reader, places->list);
    struct json_place input[N_LISTS];
    while (step_lists(&lists, input) && !reader->status)
        add_input(reader, input);
}

/* ---- Operators ---- */

static void take_numbers(struct host_reader *reader, row_t row, const struct node_places *places) {
    struct sutra_profile *profile = reader->taking->profile;
    int64_t number[N_NUMBERS] = {0, 0, -1, 0};
    for (int i = 0; i < N_NUMBERS; i++)
        read_integer(reader, places->number[i], &number[i]);
    profile->tid[row] = number[NODE_TID];
    profile->scope[row] = (uint8_t)(number[NODE_SCOPE] >= 0 && number[NODE_SCOPE] < UINT8_MAX ? number[NODE_SCOPE] : 0);
    if (profile->sequence[row] < 0)
        profile->sequence[row] = number[NODE_SEQUENCE];
    if (profile->forward_tid[row] <= 0)
        profile->forward_tid[row] = number[NODE_FORWARD_TID];
}

/* Reads the node of each operator that has one; returns how many do. */
static row_t take_operators(struct host_reader *reader, const struct key_index *nodes) {
    const struct taking *taking = reader->taking;
    struct sutra_profile *profile = taking->profile;
    row_t n_found = 0;
    for (row_t row = 0; row < profile->n && !reader->status; row++) {
        struct node_places places;
        if (profile->kind[row] != SUTRA_EVENT_OPERATOR)
            continue;
        value_key rf = taking->trace->events.rf[profile->event[row]];
        row_t node = key_is_value(rf) && rf != 0 ? key_index_find(nodes, rf) : ROW_NONE;
        if (node != ROW_NONE) {
            find_fields(reader, node, &places);
            take_numbers(reader, row, &places);
            add_inputs(reader, &places);
            n_found++;
        }
        add_tag(reader, SUTRA_INPUT_END);
    }
    if (reader->fields.failed)
        note(reader, error_memory(taking->error));
    return n_found;
}

/* Operators that hand nodes to autograd take over the numbers of those that run them. */
static enum sutra_status plumb(const struct taking *taking) {
    struct sutra_profile *profile = taking->profile;
    uint8_t *evaluates = column_new(profile->n, sizeof *evaluates);
    row_t n = 0; /* operators: they come first */
    if (!evaluates)
        return error_memory(taking->error);
    for (; n < profile->n && profile->kind[n] != SUTRA_EVENT_KINETO; n++) {
        const char *name = sutra_profile_name(profile, n);
        evaluates[n] = sutra_autograd_evaluates(name, strlen(name));
    }
    enum sutra_status status = sutra_autograd_plumb(n, profile->n_threads, profile->thread, profile->scope, evaluates,
                                                    profile->sequence, profile->forward_tid, taking->error);
    free(evaluates);
    return status;
}

enum sutra_status take_host(struct taking *taking) {
    const struct sutra_host_trace *host = taking->host;
    struct host_reader reader = {.taking = taking,
                                 .document = &host->document,
                                 .fields = {.source = &host->document.source, .values = &taking->context->values}};
    struct key_index nodes = {0};
    row_t n_found = 0;
    enum sutra_status status = sutra_inputs_create(SUTRA_EDITION_2, &taking->profile->inputs, taking->error);
    if (!status && !thread_numbers_init(&reader.devices))
        status = error_memory(taking->error);
    if (!status)
        status = key_index_build(&nodes, &taking->context->engine, host->nodes.rf, host->nodes.n, KEY_FIRST, NULL,
                                 taking->error);
    if (!status) {
        n_found = take_operators(&reader, &nodes);
        status = reader.status;
    }
    key_index_free(&nodes);
    thread_numbers_free(&reader.devices);
    buffer_free(&reader.sizes);
    buffer_free(&reader.fields.scratch);
    if (status)
        return status;
    if (n_found)
        return plumb(taking);
    context_warn(taking->context, "no operator of the trace has an rf_id that the host trace has: it is not used");
    sutra_inputs_free(taking->profile->inputs);
    taking->profile->inputs = NULL;
    return SUTRA_OK;
}
