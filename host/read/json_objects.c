/*
 * json_objects.c - the values of a JSON text as the values of a pickle (objects.h).
 *
 * Input: a JSON text. Output: objects; containers are created when their bracket closes, from the values on a stack.
 * Reals become text, as Python's json.loads(parse_float=str) reads them: no number of a memory snapshot is a real.
 * Nesting costs no recursion. A string is first compared with the last one at its position in a container, which needs
 * no hash. Cost: O(size), 8 bytes per value of the open containers.
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

/* The last string at a position: dicts of a list have the same keys in the same order, and often the same texts. */
struct recent_string {
    object_t value;
    uint32_t length; /* with its quotes; 0: none */
    char bytes[52];  /* as in the text: at most SOURCE_PADDING, so that a comparison may pass the end */
};
#define RECENT_STRINGS 256 /* a power of two: positions of four levels */

struct json_objects {
    struct recent_string recent[RECENT_STRINGS];
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

/* Steps over a string at the walker. OBJECT_ABSENT: malformed, or out of memory. */
static object_t read_string(struct objects *objects, struct json_walker *walker, struct recent_string *recent) {
    if (recent->length > 0 && memcmp(walker->text + walker->at, recent->bytes, recent->length) == 0) {
        walk_to(walker, walker->at + recent->length);
        return recent->value;
    }
    const struct json_span place = walk_string(walker);
    const object_t value = walker->expected ? OBJECT_ABSENT : json_string(objects, walker->text, place);
    const size_t length = place.end + 1 - place.at;
    if (value && length <= sizeof recent->bytes) {
        *recent = (struct recent_string){.value = value, .length = (uint32_t)length};
        memcpy(recent->bytes, walker->text + place.at, length);
    }
    return value;
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

/* The last string that was read at the position of the next value. */
static struct recent_string *recent_at_end(struct json_objects *json) {
    const uint64_t first = json->depth ? json->open[json->depth - 1].first : 0;
    return &json->recent[(64 * json->depth + json->n - first) % RECENT_STRINGS];
}

/* Walks one value; containers close as soon as their bracket does. False: out of memory. */
static bool read_value(struct objects *objects, struct json_walker *walker, struct json_objects *json) {
    for (bool begins = true;;) {
        object_t value = OBJECT_ABSENT;
        char c = walk_char(walker);
        if (!column_grow(&json->stack, json->n + 1, &json->capacity, sizeof(object_t)))
            return false;
        if (begins && json->depth && json->open[json->depth - 1].is_dict) {
            if (c != '"') {
                walk_fail(walker, "a key in double quotes");
                return true;
            }
            if (!(json->stack[json->n] = read_string(objects, walker, recent_at_end(json))) && !walker->expected)
                return false;
            json->n++;
            if (!walk_expect(walker, ':', "':' after a key"))
                return true;
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
            if (!(value = read_string(objects, walker, recent_at_end(json))) && !walker->expected)
                return false;
        } else if (begins) {
            const char *text = walker->text + walker->at;
            size_t n_digits = 0;
            uint64_t number = 0;
            for (; n_digits < 19 && is_digit(text[n_digits]); n_digits++)
                number = 10 * number + (uint64_t)(text[n_digits] - '0');
            if (n_digits > 0 && scalar_may_end(text[n_digits]) && number <= INT64_MAX &&
                (*text != '0' || n_digits == 1)) { /* as most scalars */
                value = objects_integer(objects, (int64_t)number);
                walk_to(walker, walker->at + n_digits);
            } else {
                walk_scalar(walker);
                if (!walker->expected)
                    value = json_scalar(objects, text);
            }
            if (!value && !walker->expected)
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
