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

/* Whether a number or a word may end before `at`. A zero byte ends it only behind the text. */
static inline bool ends_scalar(const struct json_walker *walker, const char *at) {
    char c = *at;
    return c == ',' || c == ']' || c == '}' || c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == ':' ||
           c == '"' || c == '[' || c == '{' || (c == 0 && at == walker->text + walker->source->size);
}

static bool is_word(const struct json_walker *walker, const char *word, size_t length) {
    const char *text = walker->text + walker->at;
    return memcmp(text, word, length) == 0 && ends_scalar(walker, text + length);
}

static void check_number(struct json_walker *walker) {
    const char *text = walker->text + walker->at;
    size_t length = 0;
    enum number_form form = number_scan(text, &length);
    if (form == NUMBER_FORM_BAD || !ends_scalar(walker, text + length)) {
        walk_fail(walker, "a JSON value");
        return;
    }
    if (form == NUMBER_FORM_INTEGER && length - (*text == '-') > INTEGER_DIGITS_MAX)
        walk_fail(walker, "an integer of at most %d digits (as Python reads)", INTEGER_DIGITS_MAX);
}

void walk_scalar(struct json_walker *walker) {
    if (walker->at >= walker->source->size)
        walk_fail(walker, "a JSON value");
    else if (!is_word(walker, "true", 4) && !is_word(walker, "false", 5) && !is_word(walker, "null", 4))
        check_number(walker);
}

/* Which of the open brackets are objects: a bit each. */
struct kinds {
    uint64_t words[DEPTH_MAX / 64 + 1];
    size_t depth;
};

/* An error where a copy of the walker stands. */
static bool fail_at(struct json_walker *original, const struct json_walker *copy, const char *expected) {
    *original = *copy;
    walk_fail(original, "%s", expected);
    return false;
}

/* walk_scalar() for a copy that must not leave its registers: false on an error. */
static bool walk_scalar_copy(struct json_walker *original, const struct json_walker *copy) {
    *original = *copy;
    walk_scalar(original);
    return !original->status;
}

static inline bool walk_key_copy(struct json_walker *original, struct json_walker *copy) {
    if (walk_char(copy) != '"')
        return fail_at(original, copy, "a key in double quotes");
    walk_string(copy);
    if (walk_char(copy) != ':')
        return fail_at(original, copy, "':' after a key");
    walk_next(copy);
    return true;
}

static inline bool push(struct kinds *kinds, struct json_walker *original, const struct json_walker *copy,
                        bool object) {
    if (kinds->depth == DEPTH_MAX)
        return fail_at(original, copy, "nesting of at most " DEPTH_MAX_TEXT " brackets");
    uint64_t bit = (uint64_t)1 << kinds->depth % 64, *word = &kinds->words[kinds->depth / 64];
    if (kinds->depth % 64 == 0)
        *word = 0;
    *word = object ? *word | bit : *word & ~bit;
    kinds->depth++;
    return true;
}

static inline bool in_object(const struct kinds *kinds) {
    size_t top = kinds->depth - 1;
    return kinds->words[top / 64] >> top % 64 & 1;
}

/* A loop over tokens with a bit per open bracket. The walker is a copy, so that it can stay in registers. */
void walk_brackets(struct json_walker *walker) {
    struct json_walker copy = *walker;
    struct kinds kinds;
    kinds.depth = 0;
    do {
        /* At a value. */
        const char *text = copy.text + copy.at;
        char c = *text;
        if (c == '"') {
            walk_string(&copy);
        } else if (c == '{' || c == '[') {
            if (!push(&kinds, walker, &copy, c == '{'))
                return;
            walk_next(&copy);
            if (walk_char(&copy) != c + 2) {
                if (c == '{' && !walk_key_copy(walker, &copy))
                    return;
                continue;
            }
            kinds.depth--;
            walk_next(&copy);
        } else {
            if (!is_short_integer(text) && !walk_scalar_copy(walker, &copy))
                return;
            walk_next(&copy);
        }
        /* Behind a value: close what ends here, then on to the next value. */
        while (kinds.depth > 0) {
            bool object = in_object(&kinds);
            c = walk_char(&copy);
            if (c == ',') {
                walk_next(&copy);
                if (object && !walk_key_copy(walker, &copy))
                    return;
                break;
            }
            if (c != (object ? '}' : ']')) {
                fail_at(walker, &copy, object ? "',' or '}'" : "',' or ']'");
                return;
            }
            kinds.depth--;
            walk_next(&copy);
        }
    } while (kinds.depth > 0);
    *walker = copy;
}
