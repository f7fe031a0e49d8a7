/*
 * op_inputs.c - implements op_inputs.h.
 *
 * Shapes and strides are read into a flat list of records each: numbers are in one array, and a record has the range of
 * its numbers, or the number of its members, which are the following records. Pointers are set when no buffer grows any
 * more.
 */
#include <string.h>
#include <strings.h>

#include "base/shared.h"
#include "facts/op_inputs.h"
#include "text/quantities.h"

/* ---- Element types ---- */

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
    {"c10::Float", 4, 1, ELEMENT_FLOAT, PRECISION_FP32, false},
    {"c10::Double", 8, 1, ELEMENT_FLOAT, PRECISION_FP64, false},
    {"c10::Bool", 1, 1, ELEMENT_BOOL, PRECISION_NONE, false},
    {"c10::Byte", 1, 1, ELEMENT_INTEGER, PRECISION_INT8, false},
    {"c10::Char", 1, 1, ELEMENT_INTEGER, PRECISION_INT8, false},
    {"c10::Short", 2, 1, ELEMENT_INTEGER, PRECISION_NONE, false},
    {"c10::Int", 4, 1, ELEMENT_INTEGER, PRECISION_NONE, false},
    {"c10::Long", 8, 1, ELEMENT_INTEGER, PRECISION_NONE, false},
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

/* The name may be in "Tensor(...)", in a list of tensors (the first counts), and after "struct " or "class ",
 * as some compilers write it. */
const struct data_type *data_type_find(const char *name, size_t length) {
    static const char *const prefixes[] = {"GenericList[", "Tensor(", "struct ", "class "};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t n = strlen(prefixes[i]);
        if (length < n || memcmp(name, prefixes[i], n) != 0)
            continue;
        name += n;
        length -= n;
        const char *end = i == 1 ? memchr(name, ')', length) : NULL;
        length = end ? (size_t)(end - name) : length;
    }
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

/* ---- Lists ---- */

/* An element of the list of shapes, or of strides: its numbers, or its members, which are the following records. */
struct shape_record {
    uint32_t first, n;
    uint32_t n_members;
    bool is_list;
};

struct shape_list {
    size_t first_record;
    uint32_t n, n_members; /* elements, and members of all of them */
    bool present;
};

/* Also of a missing text. */
static struct list_cursor cursor_of(struct input_text text) {
    const char *at = text.at ? text.at : "";
    return (struct list_cursor){at, at + (text.at ? text.length : 0)};
}

/* An integer of at most 18 digits; anything else is not a size. */
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
    for (bool more = list_first(cursor); more; more = list_more(cursor)) {
        int64_t number;
        if (read_number(cursor, &number)) {
            buffer_append(&parser->numbers, &number, sizeof number);
            record->n++;
        }
    }
}

static struct shape_list read_shapes(struct op_inputs_parser *parser, struct input_text text) {
    struct shape_list list = {.first_record = parser->shapes.length / sizeof(struct shape_record)};
    struct list_cursor cursor = cursor_of(text);
    if (!list_enter(&cursor))
        return list;
    list.present = true;
    for (bool more = list_first(&cursor); more; more = list_more(&cursor), list.n++) {
        /* The element, and then its members. */
        struct shape_record record = {0};
        size_t offset = parser->shapes.length;
        buffer_append(&parser->shapes, &record, sizeof record);
        if (!list_enter(&cursor))
            continue;
        struct list_cursor inside = cursor;
        list_skip_space(&inside);
        record.is_list = inside.at < inside.end && list_opens(*inside.at);
        if (!record.is_list)
            read_numbers(parser, &cursor, &record);
        for (bool next = record.is_list && list_first(&cursor); next; next = list_more(&cursor)) {
            struct shape_record member = {0};
            if (list_enter(&cursor))
                read_numbers(parser, &cursor, &member);
            buffer_append(&parser->shapes, &member, sizeof member);
            record.n_members++;
        }
        if (!parser->shapes.failed)
            memcpy(parser->shapes.bytes + offset, &record, sizeof record);
        list.n_members += record.n_members;
    }
    return list;
}

/* The value at the cursor: a string without its quotes, other values verbatim without trailing white space. */
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

/* The first n inputs, zeroed if they are new. NULL: out of memory. */
static struct operator_input *inputs_reserve(struct op_inputs_parser *parser, uint32_t n) {
    const size_t length = n * sizeof(struct operator_input);
    if (length > parser->inputs.length) {
        char *new_bytes = buffer_reserve(&parser->inputs, length - parser->inputs.length);
        if (!new_bytes)
            return NULL;
        memset(new_bytes, 0, length - parser->inputs.length);
        parser->inputs.length = length;
    }
    return (struct operator_input *)(void *)parser->inputs.bytes;
}

/* Sets the type or the value of each input of the list. Returns its length. */
static uint32_t read_texts(struct op_inputs_parser *parser, struct input_text list, bool are_types) {
    struct list_cursor cursor = cursor_of(list);
    uint32_t n = 0;
    if (!list_enter(&cursor))
        return 0;
    for (bool more = list_first(&cursor); more; more = list_more(&cursor), n++) {
        struct input_text text = read_text(&cursor);
        struct operator_input *inputs = inputs_reserve(parser, n + 1);
        if (inputs && are_types)
            inputs[n].type = text;
        else if (inputs)
            inputs[n].value = text;
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

/* Sets shapes and strides of the inputs in parallel. */
static void set_shapes(const struct op_inputs_parser *parser, const struct shape_list *shapes,
                       const struct shape_list *strides, struct operator_input *inputs, struct input_tensor *members) {
    const struct shape_record *records = (const struct shape_record *)(const void *)parser->shapes.bytes;
    const struct shape_record *shape = records + shapes->first_record, *stride = records + strides->first_record;
    for (uint32_t i = 0; i < shapes->n; i++) {
        const struct shape_record *own = i < strides->n ? stride : NULL;
        struct operator_input *input = &inputs[i];
        input->tensor = tensor_of(parser, *shape);
        set_strides(parser, own, &input->tensor);
        input->is_list = shape->is_list;
        input->n_members = shape->n_members;
        input->members = members;
        for (uint32_t j = 0; j < shape->n_members; j++) {
            *members = tensor_of(parser, shape[1 + j]);
            set_strides(parser, own && j < own->n_members ? own + 1 + j : NULL, members++);
        }
        shape += 1 + shape->n_members;
        stride += own ? 1 + own->n_members : 0;
    }
}

bool op_inputs_parse(struct op_inputs_parser *parser, const struct op_input_texts *texts, struct op_inputs *inputs) {
    parser->numbers.length = parser->shapes.length = parser->inputs.length = parser->members.length = 0;
    struct shape_list shapes = read_shapes(parser, texts->shapes), strides = read_shapes(parser, texts->strides);
    struct op_inputs made = {.n_shapes = shapes.n,
                             .n_strides = strides.n,
                             .n_types = read_texts(parser, texts->types, true),
                             .n_values = read_texts(parser, texts->values, false),
                             .has_strides = strides.present};
    const uint32_t lengths[] = {made.n_shapes, made.n_strides, made.n_types, made.n_values};
    for (int i = 0; i < 4; i++)
        made.n = MAX(lengths[i], made.n);
    struct operator_input *list = inputs_reserve(parser, made.n);
    const size_t members_length = shapes.n_members * sizeof(struct input_tensor);
    char *members = buffer_reserve(&parser->members, members_length);
    if ((made.n && !list) || !members || parser->inputs.failed || parser->numbers.failed || parser->shapes.failed)
        return false;
    memset(members, 0, members_length);
    if (shapes.n)
        set_shapes(parser, &shapes, &strides, list, (struct input_tensor *)(void *)members);
    made.input = list;
    *inputs = made;
    return true;
}

void op_inputs_parser_free(struct op_inputs_parser *parser) {
    buffer_free(&parser->numbers);
    buffer_free(&parser->shapes);
    buffer_free(&parser->inputs);
    buffer_free(&parser->members);
}

struct operator_input op_input_at(const struct op_inputs *inputs, uint32_t position) {
    return position < inputs->n ? inputs->input[position] : (struct operator_input){0};
}

bool input_is(struct input_text value, const char *word) {
    return value.length == strlen(word) && strncasecmp(value.at ? value.at : "", word, value.length) == 0;
}

bool input_numbers(struct input_text value, int64_t *numbers, uint32_t max_numbers, uint32_t *n) {
    struct list_cursor cursor = cursor_of(value);
    uint32_t found = 0;
    if (!value.length)
        return false;
    bool list = list_enter(&cursor);
    for (bool more = list_first(&cursor); more; more = list && list_more(&cursor), found++) {
        if (found == max_numbers)
            return false;
        if (read_number(&cursor, &numbers[found]))
            continue;
        struct input_text word = read_text(&cursor);
        numbers[found] = input_is(word, "true");
        if (!numbers[found] && !input_is(word, "false"))
            return false;
    }
    *n = found;
    return true;
}
