/*
 * arguments.c - lists of arguments; runs once for each operator, so that nothing here need be fast.
 *
 *     letters "tws", shapes k --facet--> "[[8, 32, 64], [64, 64], []]"            sizes
 *                                        "['Tensor(float)', ..., 'Int']"          types, and so on
 *
 * The text holds ' for " and @field@ for the ids of tensors, as templates take it.
 */
#include "generate/arguments.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "generate/lines.h"

struct shape {
    uint32_t n, size[4];
};

void text_add(struct buffer *text, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int n = vsnprintf(NULL, 0, format, arguments);
    char *to = n < 0 ? NULL : buffer_reserve(text, (size_t)n + 1);
    if (to) {
        vsnprintf(to, (size_t)n + 1, format, again);
        text->length += (size_t)n;
    }
    va_end(again);
    va_end(arguments);
}

static const struct shape tensors[N_TENSOR_SHAPES] = {{3, {8, 32, 64}},    {3, {32, 8, 256}},    {2, {256, 64}},
                                                      {4, {8, 4, 32, 32}}, {4, {4, 16, 64, 64}}, {2, {512, 1024}}};
static const struct shape matrices[N_TENSOR_SHAPES] = {{2, {64, 64}}, {2, {1000, 64}}, {2, {256, 64}},
                                                       {2, {32, 32}}, {2, {64, 192}},  {2, {1024, 1024}}};

static bool is_tensor(char letter) {
    return letter == 't' || letter == 'w' || letter == 'v' || letter == 'l';
}

/* Of a list of integers: the sizes of the tensor that it speaks of. */
static struct shape shape_of(char letter, size_t k) {
    if (letter == 'w')
        return matrices[k];
    if (letter == 'v')
        return (struct shape){1, {matrices[k].size[1]}};
    if (letter == 'l')
        return (struct shape){2, {8, 32}};
    return tensors[k];
}

static struct shape strides_of(struct shape shape) {
    struct shape strides = {.n = shape.n};
    uint32_t stride = 1;
    for (uint32_t i = shape.n; i-- > 0;) {
        strides.size[i] = stride;
        stride *= shape.size[i];
    }
    return strides;
}

static void integers_add(struct buffer *text, struct shape shape) {
    for (uint32_t i = 0; i < shape.n; i++)
        text_add(text, "%s%u", i ? ", " : "[", shape.size[i]);
    text_add(text, "]");
}

/* A word once for each integer of a list. */
static void words_add(struct buffer *text, struct shape shape, const char *word, const char *between) {
    for (uint32_t i = 0; i < shape.n; i++)
        text_add(text, "%s%s", i ? between : "", word);
}

static void value_add(struct buffer *text, char letter, bool is_made, size_t k) {
    struct shape shape = shape_of(letter, k);
    uint32_t elements = strides_of(shape).size[0] * shape.size[0];
    if (is_tensor(letter))
        text_add(text, "[%s, 0, %u, %d, 'cuda:0']", is_made ? "@output@, @made@" : "@input@, @storage@", elements,
                 letter == 'l' ? 8 : 4);
    else if (letter == 'i')
        integers_add(text, shape);
    else
        text_add(text, "%s",
                 letter == 's'   ? "1"
                 : letter == 'f' ? "1e-05"
                 : letter == 'b' ? "false"
                 : letter == 'd' ? "'cuda:0'"
                                 : "'<None>'");
}

static void shape_add(struct buffer *text, char letter, struct shape shape) {
    if (is_tensor(letter)) {
        integers_add(text, shape);
        return;
    }
    text_add(text, "[");
    if (letter == 'i')
        words_add(text, shape, "[]", ", ");
    text_add(text, "]");
}

static void type_add(struct buffer *text, char letter, size_t k) {
    if (letter == 'i') {
        text_add(text, "'GenericList[");
        words_add(text, shape_of(letter, k), "Int", ",");
        text_add(text, "]'");
        return;
    }
    text_add(text, "%s",
             letter == 'l'       ? "'Tensor(long int)'"
             : is_tensor(letter) ? "'Tensor(float)'"
             : letter == 's'     ? "'Int'"
             : letter == 'f'     ? "'Double'"
             : letter == 'b'     ? "'Bool'"
             : letter == 'd'     ? "'Device'"
                                 : "'None'");
}

static void concrete_add(struct buffer *text, char letter, size_t k) {
    text_add(text, "'");
    if (letter == 'i')
        integers_add(text, shape_of(letter, k));
    else if (letter == 's' || letter == 'f' || letter == 'b')
        text_add(text, "%s", letter == 's' ? "1" : letter == 'f' ? "1.0000000000000001e-05" : "False");
    text_add(text, "'");
}

static const char *input_type(char letter) {
    if (is_tensor(letter))
        return letter == 'l' ? "'long int'" : "'float'";
    if (letter == 'i')
        return "'ScalarList'";
    return letter == 's' || letter == 'f' || letter == 'b' ? "'Scalar'" : "''";
}

static void sizes_add(struct buffer *text, char letter, struct shape shape) {
    if (is_tensor(letter))
        integers_add(text, shape);
    else
        text_add(text, "[]");
}

static void argument_add(struct buffer *text, enum facet facet, char letter, bool is_made, size_t k) {
    struct shape shape = shape_of(letter, k);
    switch (facet) {
    case FACET_VALUES:
        value_add(text, letter, is_made, k);
        break;
    case FACET_SHAPES:
        shape_add(text, letter, shape);
        break;
    case FACET_TYPES:
        type_add(text, letter, k);
        break;
    case FACET_STRIDES:
        shape_add(text, letter, strides_of(shape));
        break;
    case FACET_CONCRETE_INPUTS:
        concrete_add(text, letter, k);
        break;
    case FACET_INPUT_TYPES:
        text_add(text, "%s", input_type(letter));
        break;
    case FACET_INPUT_STRIDES:
        sizes_add(text, letter, strides_of(shape));
        break;
    case FACET_INPUT_DIMS:
        sizes_add(text, letter, shape);
        break;
    }
}

void arguments_add(struct buffer *text, enum facet facet, const char *letters, bool are_made, size_t k) {
    text_add(text, "[");
    for (size_t i = 0; letters[i]; i++) {
        text_add(text, "%s", i ? ", " : "");
        argument_add(text, facet, letters[i], are_made, k);
    }
    text_add(text, "]");
}
