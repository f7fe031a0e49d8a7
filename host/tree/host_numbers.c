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
#include <string.h>

#include "match/key_index.h"
#include "read/attribute.h"
#include "read/fields.h"
#include "tree/input_lists.h"
#include "tree/take_trace.h"

enum node_number { NODE_TID, NODE_FORWARD_TID, NODE_SEQUENCE, NODE_SCOPE, N_NUMBERS };
static const char *const number_names[N_NUMBERS] = {"tid", "fw_tid", "seq_id", "scope"};
static const char *const flat_names[N_LISTS] = {"inputs", "input_types", "input_shapes", "input_strides"};
static const char *const list_names[N_LISTS] = {"values", "types", "shapes", "strides"};

struct number_places {
    struct json_place number[N_NUMBERS], list[N_LISTS];
};

struct host_reader {
    struct sutra_profile *profile;
    const struct sutra_host_trace *host;
    struct input_source source;
    struct field_reader fields;
    struct thread_numbers devices;
};

/* ---- Finding the fields ---- */

static bool find_name(const struct host_reader *reader, struct json_place key, const char *const *names, int n,
                      int *found) {
    for (*found = 0; *found < n; ++*found)
        if (place_is(&reader->source.document->source, key, names[*found]))
            return true;
    return false;
}

static void find_attribute(const struct host_reader *reader, struct json_walker *walker, struct number_places *places) {
    struct attribute_places found = walk_any_attribute(walker);
    int number;
    if (found.name.end && find_name(reader, found.name, number_names, N_NUMBERS, &number))
        places->number[number] = found.value;
}

static void find_attributes(const struct host_reader *reader, size_t at, struct number_places *places) {
    struct json_walker walker = source_walk(&reader->source, at);
    for (bool more = walk_array(&walker); more; more = walk_element_end(&walker))
        if (walk_char(&walker) == '{')
            find_attribute(reader, &walker, places);
        else
            walk_value(&walker);
}

static void find_lists(const struct host_reader *reader, size_t at, struct number_places *places) {
    struct json_walker walker = source_walk(&reader->source, at);
    int list;
    for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
        struct json_place key = walk_key(&walker), place = walk_value(&walker);
        if (find_name(reader, key, list_names, N_LISTS, &list))
            places->list[list] = place;
    }
}

static void find_fields(const struct host_reader *reader, row_t node, struct number_places *places) {
    struct json_walker walker = source_walk(&reader->source, reader->host->nodes.text[node]);
    int field;
    memset(places, 0, sizeof *places);
    for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
        struct json_place key = walk_key(&walker), place = walk_value(&walker);
        char first = *source_text(&reader->source, place.at);
        if (first == '[' && place_is(&reader->source.document->source, key, "attrs"))
            find_attributes(reader, place.at, places);
        else if (first == '{' && place_is(&reader->source.document->source, key, "inputs"))
            find_lists(reader, place.at, places);
        else if (find_name(reader, key, number_names, N_NUMBERS, &field))
            places->number[field] = place;
        else if (find_name(reader, key, flat_names, N_LISTS, &field))
            places->list[field] = place;
    }
}

/* ---- Inputs ---- */

/* What stands between the brackets of "Tensor(float)". */
static void dtype_of(const struct host_reader *reader, struct json_place type, char *dtype, size_t size) {
    const char *open = "Tensor(", *text = source_text(&reader->source, type.at) + 1;
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
    struct json_walker walker = source_walk(&reader->source, places[LIST_VALUES].at);
    for (bool more = walk_array(&walker); more; more = walk_element_end(&walker), n++) {
        struct json_place place = walk_value(&walker);
        if (n < 2)
            source_integer(&reader->source, place, &part[n]);
        if (n == 5)
            device = thread_number(&reader->devices, (uint64_t)field_key(&reader->fields, place), 0);
    }
    if (device == PAIR_NONE)
        reader->fields.failed = true;
    tensor.impl = (uint64_t)part[0];
    tensor.storage = (uint64_t)part[1];
    tensor.device_index = (int32_t)device;
    dtype_of(reader, places[LIST_TYPES], dtype, sizeof dtype);
    tensor.dtype = dtype;
    source_add_tensor(&reader->source, tensor, places[LIST_SHAPES], places[LIST_STRIDES]);
}

static void add_scalar(struct host_reader *reader, struct json_place place) {
    const char *text = source_text(&reader->source, place.at);
    size_t length = 0;
    if (number_scan(text, &length) == NUMBER_FORM_BAD)
        length = *text == 't' ? 4 : *text == 'f' ? 5 : 0;
    source_add_scalar(&reader->source, text, length);
}

/* A list of tensors; their types are known by the list's. */
static void add_list(struct host_reader *reader, const struct json_place *places) {
    struct input_lists lists = lists_open(&reader->source, places);
    struct json_place member[N_LISTS];
    source_add_tag(&reader->source, SUTRA_INPUT_LIST);
    while (lists_step(&lists, LIST_VALUES, member) && !reader->source.status) {
        member[LIST_TYPES] = (struct json_place){0};
        if (source_is_array(&reader->source, member[LIST_VALUES]))
            add_tensor(reader, member);
        else
            source_add_tag(&reader->source, SUTRA_INPUT_UNDEFINED);
    }
    source_add_tag(&reader->source, SUTRA_INPUT_END);
}

static void add_input(struct host_reader *reader, const struct json_place *places) {
    static const char *const scalars[] = {"Int", "Double", "Bool"};
    struct json_place type = places[LIST_TYPES];
    bool array = source_is_array(&reader->source, places[LIST_VALUES]);
    if (array && source_begins(&reader->source, type, "Tensor")) {
        add_tensor(reader, places);
        return;
    }
    if (array && source_begins(&reader->source, type, "GenericList[Tensor")) {
        add_list(reader, places);
        return;
    }
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++)
        if (source_is(&reader->source, type, scalars[i])) {
            add_scalar(reader, places[LIST_VALUES]);
            return;
        }
    source_add_tag(&reader->source, SUTRA_INPUT_OTHER);
}

static void add_inputs(struct host_reader *reader, const struct number_places *places) {
    struct input_lists lists = lists_open(&reader->source, places->list);
    struct json_place input[N_LISTS];
    while (lists_step(&lists, LIST_VALUES, input) && !reader->source.status)
        add_input(reader, input);
}

/* ---- Operators ---- */

static void take_numbers(struct host_reader *reader, row_t row, const struct number_places *places) {
    struct sutra_profile *profile = reader->profile;
    int64_t number[N_NUMBERS] = {0, 0, -1, 0};
    for (int i = 0; i < N_NUMBERS; i++)
        source_integer(&reader->source, places->number[i], &number[i]);
    profile->tid[row] = number[NODE_TID];
    profile->scope[row] = (uint8_t)(number[NODE_SCOPE] >= 0 && number[NODE_SCOPE] < UINT8_MAX ? number[NODE_SCOPE] : 0);
    if (profile->sequence[row] < 0)
        profile->sequence[row] = number[NODE_SEQUENCE];
    if (profile->forward_tid[row] <= 0)
        profile->forward_tid[row] = number[NODE_FORWARD_TID];
}

/* Reads the node of each operator that has one; returns how many do. */
static row_t take_operators(struct host_reader *reader, const struct key_index *nodes) {
    const struct sutra_profile *profile = reader->profile;
    row_t n_found = 0;
    for (row_t row = 0; row < profile->n && !reader->source.status; row++) {
        struct number_places places;
        if (profile->kind[row] != SUTRA_EVENT_OPERATOR)
            continue;
        value_key rf = profile->trace->events.rf[profile->event[row]];
        row_t node = key_is_value(rf) && rf != 0 ? key_index_find(nodes, rf) : ROW_NONE;
        if (node != ROW_NONE) {
            find_fields(reader, node, &places);
            take_numbers(reader, row, &places);
            add_inputs(reader, &places);
            n_found++;
        }
        source_add_tag(&reader->source, SUTRA_INPUT_END);
    }
    if (reader->fields.failed && !reader->source.status)
        reader->source.status = error_memory(reader->source.error);
    return n_found;
}

/* Operators that hand nodes to autograd take over the numbers of those that run them. */
static enum sutra_status plumb(struct sutra_profile *profile, struct sutra_error *error) {
    struct arena scratch = {0};
    uint8_t *evaluates = arena_take(&scratch, profile->n, sizeof *evaluates);
    row_t n = 0; /* operators: they come first */
    for (; evaluates && n < profile->n && profile->kind[n] != SUTRA_EVENT_KINETO; n++) {
        const char *name = sutra_profile_name(profile, n);
        evaluates[n] = sutra_autograd_evaluates(name, strlen(name));
    }
    enum sutra_status status = arena_status(&scratch, error);
    if (!status)
        status = sutra_autograd_plumb(n, profile->n_threads, profile->thread, profile->scope, evaluates,
                                      profile->sequence, profile->forward_tid, error);
    arena_free(&scratch);
    return status;
}

/* Reads what the nodes know into the profile; *n_found operators have one. */
static enum sutra_status read_nodes(struct host_reader *reader, struct sutra_context *context, row_t *n_found) {
    const struct host_nodes *nodes = &reader->host->nodes;
    struct sutra_error *error = reader->source.error;
    struct key_index index = {0};
    if (!thread_numbers_init(&reader->devices))
        return error_memory(error);
    enum sutra_status status = key_index_build(&index, &context->engine, nodes->rf, nodes->n, KEY_FIRST, NULL, error);
    if (!status) {
        *n_found = take_operators(reader, &index);
        status = reader->source.status;
    }
    key_index_free(&index);
    return status;
}

enum sutra_status take_host(struct sutra_profile *profile, struct sutra_context *context,
                            const struct sutra_host_trace *host, struct sutra_error *error) {
    row_t n_found = 0;
    enum sutra_status status = sutra_inputs_create(SUTRA_TORCH_VERSION_2, &profile->inputs, error);
    if (status)
        return status;
    struct host_reader reader = {.profile = profile,
                                 .host = host,
                                 .source = {.document = &host->document, .inputs = profile->inputs, .error = error},
                                 .fields = {.source = &host->document.source, .values = &context->values}};
    status = read_nodes(&reader, context, &n_found);
    thread_numbers_free(&reader.devices);
    buffer_free(&reader.source.sizes);
    buffer_free(&reader.fields.scratch);
    if (status)
        return status;
    profile->has_ids = n_found > 0;
    if (n_found)
        return plumb(profile, error);
    context_warn(context, "no operator of the device trace has an rf_id of the host trace: ignoring the host trace");
    sutra_inputs_free(profile->inputs);
    profile->inputs = NULL;
    return SUTRA_OK;
}
