/*
 * op_inputs.c - four texts to one list of inputs.
 *
 * Shapes and strides are read into a flat list of records each: numbers lie in one array, and a record says which of
 * them are its own, or how many records behind it are its members. Pointers are set when nothing grows any more.
 */
#include <string.h>
#include <strings.h>

#include "facts/op_inputs.h"
#include "text/quantities.h"

/*
 * The table of element types.
 */

const char *const precision_names[N_PRECISIONS] = {
#define PRECISION_NAME(number, name) name,
    PRECISIONS(PRECISION_NAME)
#undef PRECISION_NAME
};

static const struct data_type types[] = {
    {"float", 4, 1, ELEMENT_FLOAT, PRECISION_FP32, true},
    {"c10::Half", 2, 1, ELEMENT_FLOAT, PRECISION_FP16, true},
    {"c10::BFloat16", 2, 1, ELEMENT_FLOAT, PRECISION_BF16, true},
    {"double", 8, 1, ELEMENT_FLOAT, PRECISION_FP64, true},
    {"long int", 8, 1, ELEMENT_INTEGER, PRECISION_NONE, true},
    {"int", 4, 1, ELEMENT_INTEGER, PRECISION_NONE, true},
    {"bool", 1, 1, ELEMENT_BOOL, PRECISION_NONE, false},
    {"unsigned char", 1, 1, ELEMENT_INTEGER, PRECISION_INT8, true},
    {"signed char", 1, 1, ELEMENT_INTEGER, PRECISION_INT8, true},
    {"char", 1, 1, ELEMENT_INTEGER, PRECISION_INT8, false},
    {"short int", 2, 1, ELEMENT_INTEGER, PRECISION_NONE, false},
    {"short", 2, 1, ELEMENT_INTEGER, PRECISION_NONE, false},
    {"unsigned short", 2, 1, ELEMENT_INTEGER, PRECISION_NONE, false},
    {"short unsigned int", 2, 1, ELEMENT_INTEGER, PRECISION_NONE, false},
    {"unsigned int", 4, 1, ELEMENT_INTEGER, PRECISION_NONE, false},
    {"long", 8, 1, ELEMENT_INTEGER, PRECISION_NONE, false},
    {"long long", 8, 1, ELEMENT_INTEGER, PRECISION_NONE, false},
    {"__int64", 8, 1, ELEMENT_INTEGER, PRECISION_NONE, false},
    {"unsigned long", 8, 1, ELEMENT_INTEGER, PRECISION_NONE, false},
    {"long unsigned int", 8, 1, ELEMENT_INTEGER, PRECISION_NONE, false},
    {"c10::Float8_e4m3fn", 1, 1, ELEMENT_FLOAT, PRECISION_FP8, true},
    {"c10::Float8_e4m3fnuz", 1, 1, ELEMENT_FLOAT, PRECISION_FP8, true},
    {"c10::Float8_e5m2", 1, 1, ELEMENT_FLOAT, PRECISION_FP8, true},
    {"c10::Float8_e5m2fnuz", 1, 1, ELEMENT_FLOAT, PRECISION_FP8, false},
    {"c10::Float8_e8m0fnu", 1, 1, ELEMENT_FLOAT, PRECISION_FP8, true},
    {"c10::Float4_e2m1fn_x2", 1, 2, ELEMENT_FLOAT, PRECISION_FP8, true},
    {"fp8", 1, 1, ELEMENT_FLOAT, PRECISION_FP8, true},
    {"fp4", 1, 1, ELEMENT_FLOAT, PRECISION_FP8, true},
    {"c10::complex<c10::Half>", 4, 1, ELEMENT_COMPLEX, PRECISION_FP16, false},
    {"c10::complex<float>", 8, 1, ELEMENT_COMPLEX, PRECISION_FP32, false},
    {"c10::complex<double>", 16, 1, ELEMENT_COMPLEX, PRECISION_FP64, false},
    {"c10::qint8", 1, 1, ELEMENT_INTEGER, PRECISION_INT8, false},
    {"c10::quint8", 1, 1, ELEMENT_INTEGER, PRECISION_INT8, false},
    {"c10::qint32", 4, 1, ELEMENT_INTEGER, PRECISION_NONE, false},
};

static bool is_name(const char *name, size_t length, const char *of) {
    return strlen(of) == length && strncasecmp(name, of, length) == 0;
}

/* What stands in "Tensor(...)", or in the first one of a list of them, and behind "struct " or "class ", as some
 * compilers write it. */
static void unwrap(const char **name, size_t *length) {
    static const char *const before[] = {"GenericList[", "Tensor(", "struct ", "class "};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        size_t n = strlen(before[i]);
        if (*length < n || memcmp(*name, before[i], n) != 0)
            continue;
        *name += n;
        *length -= n;
        const char *end = i == 1 ? memchr(*name, ')', *length) : NULL;
        *length = end ? (size_t)(end - *name) : *length;
    }
}

const struct data_type *data_type_find(const char *name, size_t length) {
    unwrap(&name, &length);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (is_name(name, length, types[i].name))
            return &types[i];
    return NULL;
}

unsigned data_type_tracelens_bytes(const char *name, size_t length) {
    if (is_name(name, length, "Scalar"))
        return 4;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].tracelens && is_name(name, length, types[i].name))
            return types[i].bytes;
    return 0;
}

const struct data_type *data_type_of_number(long number) {
    static const char *const names[] = {
        "unsigned char",
        "signed char",
        "short int",
        "int",
        "long int",
        "c10::Half",
        "float",
        "double",
        "c10::complex<c10::Half>",
        "c10::complex<float>",
        "c10::complex<double>",
        "bool",
        "c10::qint8",
        "c10::quint8",
        "c10::qint32",
        "c10::BFloat16",
    };
    if (number < 0 || (size_t)number >= sizeof names / sizeof *names)
        return NULL;
    return data_type_find(names[number], strlen(names[number]));
}

/* An element of the list of shapes, or of strides: its numbers, or its members, which are the records behind it. */
struct shape_record {
    uint32_t first, n;
    uint32_t n_members;
    bool is_list;
};

struct shape_list {
    size_t first_record;
    uint32_t n, n_members; /* elements, and members of all of them */
    bool there;
};

/* Also over a text that is not there. */
static struct list_cursor over(struct input_text text) {
    const char *at = text.at ? text.at : "";
    return (struct list_cursor){at, at + (text.at ? text.length : 0)};
}

/* A whole number of at most 18 digits; anything else is no size. */
static bool read_number(struct list_cursor *cursor, int64_t *number) {
    const char *at = cursor->at;
    bool negative = at < cursor->end && *at == '-';
    at += negative;
    const char *digits = at;
    int64_t value = 0;
    while (at < cursor->end && *at >= '0' && *at <= '9' && at - digits < 18)
        value = value * 10 + (*at++ - '0');
    if (at == digits || (at < cursor->end && !list_closes(*at) && *at != ',' && !list_is_space(*at)))
        return false;
    cursor->at = at;
    *number = negative ? -value : value;
    return true;
}

/* The numbers of the list that was just entered, into a record. */
static void read_numbers(struct op_inputs_parser *parser, struct list_cursor *cursor, struct shape_record *record) {
    record->first = (uint32_t)(parser->numbers.length / sizeof(int64_t));
    for (bool there = list_first(cursor); there; there = list_more(cursor)) {
        int64_t number;
        if (read_number(cursor, &number)) {
            buffer_append(&parser->numbers, &number, sizeof number);
            record->n++;
        }
    }
}

/* The element at the cursor, and its members behind it. */
static uint32_t read_shape(struct op_inputs_parser *parser, struct list_cursor *cursor) {
    struct shape_record record = {0};
    size_t place = parser->shapes.length;
    buffer_append(&parser->shapes, &record, sizeof record);
    if (!list_enter(cursor))
        return 0;
    struct list_cursor inside = *cursor;
    list_skip_space(&inside);
    record.is_list = inside.at < inside.end && list_opens(*inside.at);
    if (!record.is_list) {
        read_numbers(parser, cursor, &record);
    } else {
        for (bool there = list_first(cursor); there; there = list_more(cursor)) {
            struct shape_record member = {0};
            if (list_enter(cursor))
                read_numbers(parser, cursor, &member);
            buffer_append(&parser->shapes, &member, sizeof member);
            record.n_members++;
        }
    }
    if (!parser->shapes.failed)
        memcpy(parser->shapes.bytes + place, &record, sizeof record);
    return record.n_members;
}

static struct shape_list read_shapes(struct op_inputs_parser *parser, struct input_text text) {
    struct shape_list list = {.first_record = parser->shapes.length / sizeof(struct shape_record)};
    struct list_cursor cursor = over(text);
    if (!list_enter(&cursor))
        return list;
    list.there = true;
    for (bool there = list_first(&cursor); there; there = list_more(&cursor), list.n++)
        list.n_members += read_shape(parser, &cursor);
    return list;
}

/* The value at the cursor: a string without its quotes, anything else as it is, without white space behind it. */
static struct input_text read_text(struct list_cursor *cursor) {
    struct input_text text = {.at = cursor->at};
    if (list_quotes(*cursor->at)) {
        list_skip_string(cursor);
        text.at++;
        bool closed = cursor->at - text.at > 0 && cursor->at[-1] == text.at[-1];
        text.length = (size_t)(cursor->at - text.at) - (closed ? 1 : 0);
        return text;
    }
    list_skip_value(cursor);
    const char *end = cursor->at;
    while (end > text.at && list_is_space(end[-1]))
        end--;
    text.length = (size_t)(end - text.at);
    return text;
}

/* Places that the text has; where `to` is given, sets the type or the value of these inputs. */
static uint32_t read_texts(struct input_text list, struct operator_input *to, bool want_types) {
    struct list_cursor cursor = over(list);
    uint32_t n = 0;
    if (!list_enter(&cursor))
        return 0;
    for (bool there = list_first(&cursor); there; there = list_more(&cursor), n++) {
        struct input_text text = read_text(&cursor);
        if (to && want_types)
            to[n].type = text;
        else if (to)
            to[n].value = text;
    }
    return n;
}

static struct input_tensor tensor_of(const struct op_inputs_parser *parser, struct shape_record record) {
    const int64_t *numbers = (const int64_t *)(const void *)parser->numbers.bytes;
    return (struct input_tensor){.dims = record.n ? numbers + record.first : NULL, .n_dims = record.n};
}

/* The numbers of a record of strides, if there are as many as the tensor has dimensions. */
static void set_strides(const struct op_inputs_parser *parser, const struct shape_record *record,
                        struct input_tensor *tensor) {
    if (record && record->n == tensor->n_dims && record->n)
        tensor->strides = (const int64_t *)(const void *)parser->numbers.bytes + record->first;
}

/* Sets shapes and strides of the inputs, side by side. */
static void set_shapes(const struct op_inputs_parser *parser, const struct shape_list *shapes,
                       const struct shape_list *strides, struct operator_input *inputs, struct input_tensor *members) {
    const struct shape_record *records = (const struct shape_record *)(const void *)parser->shapes.bytes;
    const struct shape_record *shape = records + shapes->first_record, *stride = records + strides->first_record;
    for (uint32_t i = 0; i < shapes->n; i++) {
        const struct shape_record *beside = i < strides->n ? stride : NULL;
        struct operator_input *input = &inputs[i];
        input->tensor = tensor_of(parser, *shape);
        set_strides(parser, beside, &input->tensor);
        input->is_list = shape->is_list;
        input->n_members = shape->n_members;
        input->members = members;
        for (uint32_t j = 0; j < shape->n_members; j++) {
            *members = tensor_of(parser, shape[1 + j]);
            set_strides(parser, beside && j < beside->n_members ? beside + 1 + j : NULL, members++);
        }
        shape += 1 + shape->n_members;
        stride += beside ? 1 + beside->n_members : 0;
    }
}

static uint32_t larger(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

/* Room for n elements of zeros, in place of what was there. */
static void *take(struct buffer *buffer, uint32_t n, size_t size) {
    buffer->length = 0;
    char *room = buffer_reserve(buffer, n * size);
    if (room)
        memset(room, 0, n * size);
    return room;
}

bool op_inputs_parse(struct op_inputs_parser *parser, const struct op_input_texts *texts, struct op_inputs *inputs) {
    parser->numbers.length = parser->shapes.length = 0;
    struct shape_list shapes = read_shapes(parser, texts->shapes), strides = read_shapes(parser, texts->strides);
    struct op_inputs made = {.n_shapes = shapes.n,
                             .n_strides = strides.n,
                             .n_types = read_texts(texts->types, NULL, true),
                             .n_values = read_texts(texts->values, NULL, false),
                             .has_strides = strides.there};
    made.n = larger(larger(made.n_shapes, made.n_strides), larger(made.n_types, made.n_values));
    struct operator_input *room = take(&parser->inputs, made.n, sizeof *room);
    struct input_tensor *members = take(&parser->members, shapes.n_members, sizeof *members);
    if (!room || !members || parser->numbers.failed || parser->shapes.failed)
        return false;
    if (shapes.n)
        set_shapes(parser, &shapes, &strides, room, members);
    read_texts(texts->types, room, true);
    read_texts(texts->values, room, false);
    made.input = room;
    *inputs = made;
    return true;
}

void op_inputs_parser_free(struct op_inputs_parser *parser) {
    buffer_free(&parser->numbers);
    buffer_free(&parser->shapes);
    buffer_free(&parser->inputs);
    buffer_free(&parser->members);
}

struct operator_input op_input_at(const struct op_inputs *inputs, uint32_t place) {
    return place < inputs->n ? inputs->input[place] : (struct operator_input){0};
}

bool input_is(struct input_text value, const char *word) {
    return value.length == strlen(word) && strncasecmp(value.at ? value.at : "", word, value.length) == 0;
}

/* The number or the word at the cursor. */
static bool read_numeral(struct list_cursor *cursor, int64_t *number) {
    if (read_number(cursor, number))
        return true;
    struct input_text word = read_text(cursor);
    *number = input_is(word, "true");
    return *number || input_is(word, "false");
}

bool input_numbers(struct input_text value, int64_t *numbers, uint32_t most, uint32_t *n) {
    struct list_cursor cursor = over(value);
    uint32_t found = 0;
    if (!value.length)
        return false;
    bool list = list_enter(&cursor);
    for (bool there = list_first(&cursor); there; there = list && list_more(&cursor), found++)
        if (found == most || !read_numeral(&cursor, &numbers[found]))
            return false;
    *n = found;
    return true;
}
