/*
 * json_objects.c - the values of a JSON text as the values of a pickle (objects.h).
 *
 * Input: a JSON text. Output: objects; containers are created when their bracket closes, from the values on a stack.
 * Reals become text, as Python's json.loads(parse_float=str) reads them: no number of a memory snapshot is a real.
 * Nesting costs no recursion. Cost: O(size), 8 bytes per value of the open containers.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "columns/column.h"
#include "read/json.h"
#include "read/objects.h"
#include "text/numbers.h"
#include "text/strings.h"

struct json_objects {
    object_t *stack;
    uint64_t n, capacity;
    struct {
        uint64_t first; /* value of the container on the stack */
        bool is_dict;
    } open[DEPTH_MAX];
    size_t depth;
};

static object_t json_string(struct objects *objects, const char *text, struct json_span place) {
    const char *raw = text + place.at + 1;
    size_t length = place.end - place.at - 1;
    if (!memchr(raw, '\\', length)) {
        uint32_t string = strings_intern(&objects->strings, raw, length);
        return string == STRING_NONE ? OBJECT_ABSENT : object_make(OBJECT_STRING, string);
    }
    char *decoded = malloc(length + 64);
    if (!decoded)
        return OBJECT_ABSENT;
    uint32_t string = strings_intern(&objects->strings, decoded, string_decode(raw, length, decoded));
    free(decoded);
    return string == STRING_NONE ? OBJECT_ABSENT : object_make(OBJECT_STRING, string);
}

static object_t json_scalar(struct objects *objects, const char *text) {
    size_t length;
    int64_t value;
    uint64_t digits = 0;
    __extension__ __int128 wide = 0;
    switch (*text) {
    case 't':
        return object_make(OBJECT_BOOL, 1);
    case 'f':
        return object_make(OBJECT_BOOL, 0);
    case 'n':
        return OBJECT_NONE;
    default:
        if (*text == 'N' || *text == 'I' || text[1] == 'I') { /* NaN, Infinity, -Infinity */
            double real = *text == 'N' ? NAN : *text == 'I' ? INFINITY : -INFINITY;
            memcpy(&digits, &real, sizeof digits);
            return objects_wide(objects, OBJECT_REAL, digits, 0);
        }
        if (number_scan(text, &length) != NUMBER_FORM_INTEGER) {
            uint32_t string = strings_intern(&objects->strings, text, length);
            return string == STRING_NONE ? OBJECT_ABSENT : object_make(OBJECT_STRING, string);
        }
        if (integer_parse(text, length, &value))
            return objects_integer(objects, value);
        for (size_t i = *text == '-'; i < length; i++)
            if (__builtin_mul_overflow(wide, 10, &wide) || __builtin_add_overflow(wide, text[i] - '0', &wide))
                return objects_wide(objects, OBJECT_WIDE, 0, *text == '-' ? (uint64_t)1 << 63 : INT64_MAX);
        wide = *text == '-' ? -wide : wide;
        return objects_wide(objects, OBJECT_WIDE, (uint64_t)wide, (uint64_t)(wide >> 64));
    }
}

/* Walks one value; containers close as soon as their bracket does. False: out of memory. */
static bool read_value(struct objects *objects, struct json_walker *walker, struct json_objects *json) {
    for (bool begins = true;;) {
        object_t value = OBJECT_ABSENT;
        char c = walk_char(walker);
        if (!column_grow(&json->stack, json->n + 1, &json->capacity, sizeof(object_t)))
            return false;
        if (begins && json->depth && json->open[json->depth - 1].is_dict) {
            struct json_span key = walk_key(walker);
            if (walker->expected)
                return true;
            if (!(json->stack[json->n++] = json_string(objects, walker->text, key)))
                return false;
            c = walk_char(walker);
        }
        if (begins && (c == '{' || c == '[')) {
            if (json->depth == DEPTH_MAX) {
                walk_fail(walker, "at most " DEPTH_MAX_TEXT " open brackets");
                return true;
            }
            json->open[json->depth].first = json->n;
            json->open[json->depth++].is_dict = c == '{';
            walk_next(walker);
            if (walk_char(walker) != c + 2)
                continue;
        } else if (begins && c == '"') {
            struct json_span place = walk_string(walker);
            if (!walker->expected && !(value = json_string(objects, walker->text, place)))
                return false;
        } else if (begins) {
            const char *text = walker->text + walker->at;
            walk_scalar(walker);
            if (!walker->expected && !(value = json_scalar(objects, text)))
                return false;
        }
        if (walker->expected)
            return true;
        if (!value) { /* a bracket closes */
            uint64_t first = json->open[--json->depth].first;
            walk_next(walker);
            value = json->open[json->depth].is_dict
                        ? objects_dict(objects, json->stack + first, (json->n - first) / 2)
                        : objects_list(objects, OBJECT_LIST, json->stack + first, json->n - first);
            if (!value)
                return false;
            json->n = first;
        }
        json->stack[json->n++] = value;
        if (json->depth == 0)
            return true;
        c = walk_char(walker);
        bool is_dict = json->open[json->depth - 1].is_dict;
        if (c == ',')
            walk_next(walker);
        else if (c != (is_dict ? '}' : ']'))
            walk_fail(walker, is_dict ? "',' or '}'" : "',' or ']'");
        begins = c == ',';
        if (walker->expected)
            return true;
    }
}

enum sutra_status objects_read_json(struct objects *objects, const struct source *source, object_t *root,
                                    struct sutra_error *error) {
    struct json_objects *json = calloc(1, sizeof *json);
    struct json_walker walker = walk_from(source, 0);
    enum sutra_status status = json ? SUTRA_OK : error_memory(error);
    if (!status && !read_value(objects, &walker, json))
        status = error_memory(error);
    if (!status && !walker.expected && walker.at < source->size)
        walk_fail(&walker, "the end of the file");
    if (!status)
        status = walk_error(&walker, error);
    if (!status)
        *root = json->stack[0];
    if (json)
        free(json->stack);
    free(json);
    return status;
}
