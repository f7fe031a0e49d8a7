/*
 * comm_bytes.c - values and their types in pairs, to the end of the shorter list.
 */
#include "simulate/comm_bytes.h"

#include <string.h>

/* Lists in lists of a value that are looked into. */
#define LEVELS 3

__extension__ typedef __int128 wide;

struct tensor_sum {
    const struct source *source;
    wide total;
    bool nested;
};

/* The elements of a list, one after the other; of an object its keys, and of anything else none. */
struct elements {
    struct json_walker walker;
    bool object, more;
};

static struct elements elements_of(const struct tensor_sum *sum, size_t at) {
    struct elements elements = {.walker = walk_from(sum->source, at)};
    char c = walk_char(&elements.walker);
    elements.object = c == '{';
    elements.more = elements.object ? walk_object(&elements.walker) : c == '[' && walk_array(&elements.walker);
    return elements;
}

static struct json_place next_element(struct elements *elements) {
    if (!elements->object) {
        struct json_place place = walk_value(&elements->walker);
        elements->more = walk_element_end(&elements->walker);
        return place;
    }
    struct json_place key = walk_key(&elements->walker);
    walk_value(&elements->walker);
    elements->more = walk_member_end(&elements->walker);
    return key;
}

/* An integer, or true or false, which count as 1 and 0. */
static bool read_factor(const struct tensor_sum *sum, struct json_place place, wide *factor) {
    struct number number;
    if (!field_number(sum->source->bytes + place.at, &number) || number_is_double(number))
        return false;
    *factor = (int64_t)number.bits;
    return true;
}

/* Adds the tensor at byte `at`; false: there is none. */
static bool add_tensor(struct tensor_sum *sum, size_t at) {
    wide factors[2];
    struct elements elements = elements_of(sum, at);
    if (elements.object)
        return false;
    for (int i = 0; i < 5; i++) {
        if (!elements.more)
            return false;
        struct json_place place = next_element(&elements);
        if (i >= 3 && !read_factor(sum, place, &factors[i - 3]))
            return false;
    }
    wide product = factors[0] * factors[1]; /* of two below 2^62 */
    return !__builtin_add_overflow(sum->total, product, &sum->total);
}

/* Adds the tensors in the list at byte `at`, or in lists in it. */
static bool add_list(struct tensor_sum *sum, size_t at, int level) {
    char c = sum->source->bytes[at];
    if (c != '[' && c != '{')
        return c == '"' && sum->source->bytes[at + 1] == '"';
    for (struct elements elements = elements_of(sum, at); elements.more;) {
        size_t element = next_element(&elements).at;
        if (add_tensor(sum, element))
            continue;
        if (level == 0 || sum->source->bytes[element] != '[' || !add_list(sum, element, level - 1))
            return false;
        sum->nested = true;
    }
    return true;
}

/* Adds the value at byte `at` if its type is that of tensors. */
static bool add_value(struct tensor_sum *sum, struct field_reader *fields, size_t at, struct json_place type) {
    static const char list[] = "GenericList[Tensor";
    size_t length;
    if (sum->source->bytes[type.at] != '"')
        return false;
    const char *text = field_string(fields, type, &length);
    if (!memmem(text, length, "Tensor", 6))
        return true;
    if (length >= sizeof list - 1 && memcmp(text, list, sizeof list - 1) == 0)
        return add_list(sum, at, LEVELS);
    if (add_tensor(sum, at))
        return true;
    sum->nested = true;
    return sum->source->bytes[at] == '[' && add_list(sum, at, LEVELS);
}

bool comm_bytes_read(struct field_reader *fields, size_t values_at, size_t types_at, int64_t *bytes, bool *nested) {
    struct tensor_sum sum = {.source = fields->source};
    if (!values_at || !types_at)
        return false;
    struct elements values = elements_of(&sum, values_at), types = elements_of(&sum, types_at);
    while (values.more && types.more) {
        size_t at = next_element(&values).at;
        if (!add_value(&sum, fields, at, next_element(&types)))
            return false;
    }
    *bytes = (int64_t)sum.total;
    *nested = sum.nested;
    return *bytes == sum.total;
}
