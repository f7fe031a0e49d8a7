/*
 * json_walk.c - the grammar of JSON over tokens.
 */
#include "read/json_walk.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void stop(struct json_walker *walker) {
    walker->bits = 0;
    walker->word = walker->n_words;
    walker->at = walker->source->size;
}

void walk_fail(struct json_walker *walker, const char *format, ...) {
    if (walker->status)
        return;
    char message[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (walker->at >= walker->source->size)
        walker->status = source_error(walker->source, walker->error, walker->source->size,
                                      "the file ends here, cut off: %s was expected", message);
    else
        walker->status =
            source_error(walker->source, walker->error, walker->at, "malformed JSON: %s was expected", message);
    stop(walker);
}

bool walk_expect(struct json_walker *walker, char c, const char *what) {
    if (walk_char(walker) != c || walker->at >= walker->source->size) {
        walk_fail(walker, "%s", what);
        return false;
    }
    walk_next(walker);
    return true;
}

/* Whether `c` may follow a number or a word. */
static inline bool ends_scalar(char c) {
    return c == ',' || c == ']' || c == '}' || c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == 0 || c == ':' ||
           c == '"' || c == '[' || c == '{';
}

static bool is_word(const char *text, const char *word, size_t length) {
    return memcmp(text, word, length) == 0 && ends_scalar(text[length]);
}

static void check_number(struct json_walker *walker) {
    const char *text = walker->text + walker->at;
    size_t length = 0;
    enum number_form form = number_scan(text, &length);
    if (form == NUMBER_FORM_BAD || !ends_scalar(text[length])) {
        walk_fail(walker, "a JSON value");
        return;
    }
    if (form == NUMBER_FORM_INTEGER && length - (*text == '-') > INTEGER_DIGITS_MAX)
        walk_fail(walker, "an integer of at most %d digits (as Python reads)", INTEGER_DIGITS_MAX);
}

/* A number or a word, at the walker. A short plain integer, by far the most frequent, is told by its own digits. */
static inline void check_scalar(struct json_walker *walker) {
    const char *text = walker->text + walker->at;
    if (text[0] >= '1' && text[0] <= '9') {
        size_t n = 1;
        while (text[n] >= '0' && text[n] <= '9' && n < 20)
            n++;
        if (text[n] == ',' || text[n] == ']' || text[n] == '}')
            return;
    }
    if (walker->at >= walker->source->size)
        walk_fail(walker, "a JSON value");
    else if (!is_word(text, "true", 4) && !is_word(text, "false", 5) && !is_word(text, "null", 4))
        check_number(walker);
}

/* Which of the open brackets are objects: a bit each. */
struct kinds {
    uint64_t words[DEPTH_MAX / 64 + 1];
    size_t depth;
};

static inline bool push(struct kinds *kinds, struct json_walker *walker, bool object) {
    if (kinds->depth == DEPTH_MAX) {
        walk_fail(walker, "nesting of at most %d brackets", DEPTH_MAX);
        return false;
    }
    uint64_t bit = (uint64_t)1 << kinds->depth % 64, *word = &kinds->words[kinds->depth / 64];
    *word = object ? *word | bit : *word & ~bit;
    kinds->depth++;
    return true;
}

static inline bool in_object(const struct kinds *kinds) {
    size_t top = kinds->depth - 1;
    return kinds->words[top / 64] >> top % 64 & 1;
}

/* From an opening bracket to behind the closing one: a loop over tokens with a bit per open bracket. */
static void walk_brackets(struct json_walker *walker) {
    struct kinds kinds;
    kinds.depth = 0;
    for (;;) {
        /* At a value. */
        char c = walk_char(walker);
        if (c == '"') {
            walk_string(walker);
        } else if (c == '{' || c == '[') {
            if (!push(&kinds, walker, c == '{'))
                return;
            walk_next(walker);
            if (walk_char(walker) != c + 2) {
                if (c == '{' && !walk_key(walker).at)
                    return;
                continue;
            }
            kinds.depth--;
            walk_next(walker);
        } else {
            check_scalar(walker);
            walk_next(walker);
        }
        /* Behind a value: close what ends here, then on to the next value. */
        while (kinds.depth > 0) {
            bool object = in_object(&kinds);
            c = walk_char(walker);
            if (c == ',') {
                walk_next(walker);
                if (object && !walk_key(walker).at)
                    return;
                break;
            }
            if (c != (object ? '}' : ']')) {
                walk_fail(walker, object ? "',' or '}'" : "',' or ']'");
                return;
            }
            kinds.depth--;
            walk_next(walker);
        }
        if (kinds.depth == 0)
            return;
    }
}

struct json_place walk_value(struct json_walker *walker) {
    char c = walk_char(walker);
    if (c == '"')
        return walk_string(walker);
    struct json_place place = {.at = walker->at};
    if (c == '{' || c == '[') {
        walk_brackets(walker);
    } else {
        check_scalar(walker);
        walk_next(walker);
    }
    return place;
}

struct json_place walk_key(struct json_walker *walker) {
    struct json_place key = {0};
    if (walk_char(walker) != '"') {
        walk_fail(walker, "a key in double quotes");
        return key;
    }
    key = walk_string(walker);
    if (walk_char(walker) != ':') {
        walk_fail(walker, "':' after a key");
        return (struct json_place){0};
    }
    walk_next(walker);
    return key;
}

/* Opens a bracket; false if it closes at once. */
static bool open_bracket(struct json_walker *walker, char open, const char *what) {
    if (!walk_expect(walker, open, what))
        return false;
    if (walk_char(walker) != open + 2)
        return true;
    walk_next(walker);
    return false;
}

/* Behind a member or element: true at a comma, false at the closing bracket. */
static bool next_or_close(struct json_walker *walker, char close, const char *what) {
    char c = walk_char(walker);
    if (c != ',' && c != close) {
        walk_fail(walker, "%s", what);
        return false;
    }
    walk_next(walker);
    return c == ',';
}

bool walk_object(struct json_walker *walker) {
    return open_bracket(walker, '{', "'{'");
}

bool walk_member_end(struct json_walker *walker) {
    return next_or_close(walker, '}', "',' or '}'");
}

bool walk_array(struct json_walker *walker) {
    return open_bracket(walker, '[', "'['");
}

bool walk_element_end(struct json_walker *walker) {
    return next_or_close(walker, ']', "',' or ']'");
}
