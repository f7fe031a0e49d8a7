/*
 * inputs.c - encodes inputs of operators into flat arrays (see profile.h), and reads them per operator.
 *
 * O(1) amortized per value. The reader trusts no count: the operator ends at the end of an array.
 */
#include "tree/profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "columns/column.h"

/* Allocates capacity for `extra` more elements. */
static bool reserve(void *column, uint64_t n, uint64_t *capacity, uint64_t extra, size_t size) {
    if (*capacity - n >= extra)
        return true;
    uint64_t wanted = n + extra + n / 2 + 64;
    if (!column_resize(column, wanted, size))
        return false;
    *capacity = wanted;
    return true;
}

enum sutra_status sutra_inputs_create(enum sutra_torch_version torch_version, struct sutra_inputs **inputs,
                                      struct sutra_error *error) {
    struct sutra_inputs *made = calloc(1, sizeof *made);
    if (!made || !strings_init(&made->strings)) {
        free(made);
        return error_memory(error);
    }
    made->torch_version = torch_version;
    *inputs = made;
    return SUTRA_OK;
}

void sutra_inputs_free(struct sutra_inputs *inputs) {
    if (!inputs)
        return;
    free(inputs->tags);
    free(inputs->tensors);
    free(inputs->sizes);
    free(inputs->scalars);
    strings_free(&inputs->strings);
    free(inputs);
}

/* Members of lists are not recorded up to PyTorch 1.13. */
static bool is_skipped(const struct sutra_inputs *inputs) {
    return inputs->in_list && inputs->torch_version == SUTRA_TORCH_VERSION_1_13;
}

enum sutra_status sutra_inputs_add(struct sutra_inputs *inputs, enum sutra_input_tag tag, struct sutra_error *error) {
    bool dropped = is_skipped(inputs) && tag != SUTRA_INPUT_END;
    if (inputs->in_list && tag == SUTRA_INPUT_LIST)
        return error_set(error, SUTRA_USAGE, "a list of inputs is nested in a list");
    if (!dropped) {
        TRY_ALLOC(reserve(&inputs->tags, inputs->n_tags, &inputs->tags_capacity, 1, sizeof *inputs->tags), error);
        inputs->tags[inputs->n_tags++] = (uint8_t)tag;
    }
    inputs->in_list = tag == SUTRA_INPUT_LIST || (inputs->in_list && tag != SUTRA_INPUT_END);
    return SUTRA_OK;
}

enum sutra_status sutra_inputs_add_tensor(struct sutra_inputs *inputs, const struct sutra_tensor *tensor,
                                          const int64_t *sizes, const int64_t *strides, struct sutra_error *error) {
    if (tensor->nested)
        return sutra_inputs_add(inputs, SUTRA_INPUT_UNDEFINED, error);
    if (is_skipped(inputs))
        return SUTRA_OK;
    bool strided = tensor->layout == SUTRA_LAYOUT_STRIDED;
    uint64_t n = (uint64_t)tensor->dim * (strided ? 2 : 1);
    uint32_t dtype =
        inputs_dtype(inputs, tensor->dtype ? tensor->dtype : "", tensor->dtype ? strlen(tensor->dtype) : 0);
    TRY_ALLOC(dtype != STRING_NONE &&
                  reserve(&inputs->tensors, inputs->n_tensors, &inputs->tensors_capacity, 1, sizeof *inputs->tensors) &&
                  reserve(&inputs->sizes, inputs->n_sizes, &inputs->sizes_capacity, n, sizeof *inputs->sizes),
              error);
    TRY(sutra_inputs_add(inputs, SUTRA_INPUT_TENSOR, error));
    struct sutra_tensor *added = &inputs->tensors[inputs->n_tensors++];
    *added = *tensor;
    added->dtype = NULL;
    added->dtype_number = dtype;
    if (tensor->dim)
        memcpy(inputs->sizes + inputs->n_sizes, sizes, tensor->dim * sizeof *sizes);
    if (tensor->dim && strided)
        memcpy(inputs->sizes + inputs->n_sizes + tensor->dim, strides, tensor->dim * sizeof *strides);
    inputs->n_sizes += n;
    return SUTRA_OK;
}

enum sutra_status sutra_inputs_add_scalar(struct sutra_inputs *inputs, const char *text, size_t length,
                                          struct sutra_error *error) {
    if (is_skipped(inputs))
        return SUTRA_OK;
    uint32_t string = strings_intern(&inputs->strings, text, length);
    TRY_ALLOC(string != STRING_NONE &&
                  reserve(&inputs->scalars, inputs->n_scalars, &inputs->scalars_capacity, 1, sizeof *inputs->scalars),
              error);
    TRY(sutra_inputs_add(inputs, SUTRA_INPUT_SCALAR, error));
    inputs->scalars[inputs->n_scalars++] = string;
    return SUTRA_OK;
}

/* ---- Reading ---- */

static bool read_tensor(struct sutra_inputs_reader *reader, struct sutra_input *input) {
    const struct sutra_inputs *inputs = reader->inputs;
    if (reader->tensor >= inputs->n_tensors)
        return false;
    const struct sutra_tensor *tensor = &inputs->tensors[reader->tensor];
    bool strided = tensor->layout == SUTRA_LAYOUT_STRIDED;
    uint64_t n = (uint64_t)tensor->dim * (strided ? 2 : 1);
    if (n > inputs->n_sizes - reader->size)
        return false;
    input->tensor = *tensor;
    input->tensor_row = reader->tensor++;
    input->tensor.dtype = input->dtype = strings_text(&inputs->strings, tensor->dtype_number);
    input->sizes = n ? inputs->sizes + reader->size : NULL;
    input->n_sizes = tensor->dim;
    input->strides = n ? input->sizes + tensor->dim : NULL;
    input->n_strides = strided ? tensor->dim : 0;
    reader->size += n;
    return true;
}

/* Ends the operator and the array. */
static enum sutra_input_tag end_early(struct sutra_inputs_reader *reader) {
    reader->tag = reader->inputs->n_tags;
    reader->in_list = false;
    return SUTRA_INPUT_END;
}

struct sutra_inputs_reader sutra_inputs_read(const struct sutra_inputs *inputs) {
    return (struct sutra_inputs_reader){.inputs = inputs};
}

enum sutra_input_tag sutra_inputs_next(struct sutra_inputs_reader *reader, struct sutra_input *input) {
    *input = (struct sutra_input){.dtype = ""};
    while (reader->tag < reader->inputs->n_tags) {
        enum sutra_input_tag tag = (enum sutra_input_tag)reader->inputs->tags[reader->tag++];
        if (tag == SUTRA_INPUT_END && !reader->in_list)
            return tag;
        input->in_list = reader->in_list;
        if (tag == SUTRA_INPUT_END) {
            reader->in_list = false;
            continue;
        }
        if ((tag == SUTRA_INPUT_TENSOR && !read_tensor(reader, input)) ||
            (tag == SUTRA_INPUT_SCALAR && reader->scalar >= reader->inputs->n_scalars))
            return end_early(reader);
        if (tag == SUTRA_INPUT_SCALAR) {
            input->scalar = strings_text(&reader->inputs->strings, reader->inputs->scalars[reader->scalar++]);
            input->dtype = "Scalar";
        }
        if (tag == SUTRA_INPUT_LIST) {
            reader->in_list = true;
            input->dtype = "TensorList";
        }
        return tag;
    }
    return end_early(reader);
}

/* ---- Inputs in the text of a trace ---- */

static void set_status(struct input_source *source, enum sutra_status status) {
    if (!source->status)
        source->status = status;
}

void source_add_tag(struct input_source *source, enum sutra_input_tag tag) {
    set_status(source, sutra_inputs_add(source->inputs, tag, source->error));
}

void source_add_scalar(struct input_source *source, const char *text, size_t length) {
    set_status(source, sutra_inputs_add_scalar(source->inputs, text, length, source->error));
}

/* Appends the numbers of an array to the sizes, other values as 0; returns the number of elements. */
static uint32_t read_sizes(struct input_source *source, struct json_span place) {
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

void source_add_tensor(struct input_source *source, struct sutra_tensor tensor, struct json_span shape,
                       struct json_span strides) {
    source->sizes.length = 0;
    tensor.dim = read_sizes(source, shape);
    if (tensor.layout == SUTRA_LAYOUT_STRIDED && read_sizes(source, strides) != tensor.dim)
        tensor.layout = SUTRA_LAYOUT_OTHER;
    if (source->sizes.failed)
        set_status(source, error_memory(source->error));
    const int64_t *sizes = (const int64_t *)(const void *)source->sizes.bytes;
    if (!source->status)
        source->status = sutra_inputs_add_tensor(source->inputs, &tensor, sizes, tensor.dim ? sizes + tensor.dim : NULL,
                                                 source->error);
}
