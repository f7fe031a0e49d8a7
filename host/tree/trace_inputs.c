/*
 * trace_inputs.c - inputs of operators as the device trace has them: types and shapes, strides where it has them, and
 * scalars; no addresses, so no tensor ids.
 *
 *     "Input type": ["float", "TensorList", "Scalar", ""]    "Input Dims": [[8, 3], [[2], [4]], [], []]
 *     "Input Strides": [[3, 1], [[1], [1]], [], []]          "Concrete Inputs": ["", "", "1.0", ""]
 *
 * O(bytes of the operators).
 */
#include <string.h>

#include "base/error.h"
#include "tree/input_lists.h"
#include "tree/take_trace.h"

static void add_list(struct input_source *source, const struct json_place *places) {
    struct json_place lists_at[N_LISTS] = {[LIST_SHAPES] = places[LIST_SHAPES], [LIST_STRIDES] = places[LIST_STRIDES]};
    struct json_place member[N_LISTS];
    struct input_lists lists = lists_open(source, lists_at);
    source_add_tag(source, SUTRA_INPUT_LIST);
    while (lists_step(&lists, LIST_SHAPES, member) && !source->status)
        source_add_tensor(source, (struct sutra_tensor){0}, member[LIST_SHAPES], member[LIST_STRIDES]);
    source_add_tag(source, SUTRA_INPUT_END);
}

static void add_tensor(struct input_source *source, const struct json_place *places) {
    char dtype[64];
    size_t length = places[LIST_TYPES].end - places[LIST_TYPES].at - 1;
    length = length < sizeof dtype ? length : sizeof dtype - 1;
    memcpy(dtype, source_text(source, places[LIST_TYPES].at) + 1, length);
    dtype[length] = 0;
    source_add_tensor(source, (struct sutra_tensor){.dtype = dtype}, places[LIST_SHAPES], places[LIST_STRIDES]);
}

static void add_input(struct input_source *source, const struct json_place *places) {
    struct json_place type = places[LIST_TYPES], value = places[LIST_VALUES];
    bool text = value.at && *source_text(source, value.at) == '"';
    if (source_is(source, type, "Scalar"))
        source_add_scalar(source, text ? source_text(source, value.at) + 1 : "", text ? value.end - value.at - 1 : 0);
    else if (source_is(source, type, "TensorList"))
        add_list(source, places);
    else if (source_is(source, type, "ScalarList") || source_is(source, type, "GenericList"))
        source_add_tag(source, SUTRA_INPUT_OTHER);
    else if (type.at && *source_text(source, type.at) == '"' && type.end > type.at + 1)
        add_tensor(source, places);
    else
        source_add_tag(source, SUTRA_INPUT_UNDEFINED);
}

static void add_operator(struct input_source *source, const struct event_places *event) {
    struct json_place input[N_LISTS];
    const struct json_place places[N_LISTS] = {[LIST_VALUES] = event->field[FIELD_CONCRETE_INPUTS],
                                               [LIST_TYPES] = event->field[FIELD_INPUT_TYPES],
                                               [LIST_SHAPES] = event->field[FIELD_INPUT_SHAPES],
                                               [LIST_STRIDES] = event->field[FIELD_INPUT_STRIDES]};
    struct input_lists lists = lists_open(source, places);
    while (lists_step(&lists, LIST_TYPES, input) && !source->status)
        add_input(source, input);
    source_add_tag(source, SUTRA_INPUT_END);
}

enum sutra_status take_inputs(struct sutra_profile *profile, struct sutra_error *error) {
    const struct sutra_device_trace *trace = profile->trace;
    enum sutra_status status = sutra_inputs_create(SUTRA_TORCH_VERSION_2, &profile->inputs, error);
    if (status)
        return status;
    struct event_forms learned = {0};
    struct input_source source = {.document = &trace->document, .inputs = profile->inputs, .error = error};
    for (row_t row = 0; row < profile->n && !source.status; row++) {
        struct event_places places;
        if (profile->kind[row] != SUTRA_EVENT_OPERATOR)
            continue;
        event_find(trace, profile->event[row], &learned, &places);
        add_operator(&source, &places);
    }
    event_forms_free(&learned);
    buffer_free(&source.sizes);
    return source.status;
}
