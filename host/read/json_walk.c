/*
 * json_walk.c - the grammar of JSON over tokens.
 */
#include "read/json_walk.h"

#include <string.h>

/* Digits that Python reads in one integer, as text. */
#define INTEGER_DIGITS_TEXT "4300"

enum sutra_status walk_error(const struct json_walker *walker, struct sutra_error *error) {
    if (!walker->expected)
        return SUTRA_OK;
    if (walker->failed_at >= walker->source->size)
        return source_error(walker->source, error, walker->source->size, "the file ends here, cut off: %s was expected",
                            walker->expected);
    return source_error(walker->source, error, walker->failed_at, "malformed JSON: %s was expected", walker->expected);
}

/* Whether a number or a word may end before `at`. A zero byte ends it only behind the text. */
static inline bool ends_scalar(const struct source *source, const char *at) {
    char c = *at;
    return c == ',' || c == ']' || c == '}' || c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == ':' ||
           c == '"' || c == '[' || c == '{' || (c == 0 && at == source->bytes + source->size);
}

/* The length of the word at `text`; 0: there is none. */
static inline size_t word_length(const char *text) {
    if (*text == 't')
        return memcmp(text, "true", 4) == 0 ? 4 : 0;
    if (*text == 'f')
        return memcmp(text, "false", 5) == 0 ? 5 : 0;
    return memcmp(text, "null", 4) == 0 ? 4 : 0;
}

const char *scalar_fault(const struct source *source, size_t at) {
    const char *text = source->bytes + at;
    size_t length = word_length(text);
    if (length == 0) {
        enum number_form form = number_scan(text, &length);
        if (form == NUMBER_FORM_BAD)
            return "a JSON value";
        if (form == NUMBER_FORM_INTEGER && length - (*text == '-') > INTEGER_DIGITS_MAX)
            return "an integer of at most " INTEGER_DIGITS_TEXT " digits (as Python reads)";
    }
    return ends_scalar(source, text + length) ? NULL : "a JSON value";
}

/* Which of the open brackets are objects: a bit each. */
struct kinds {
    uint64_t words[DEPTH_MAX / 64 + 1];
    size_t depth;
};

static inline void push(struct kinds *kinds, bool object) {
    uint64_t bit = (uint64_t)1 << kinds->depth % 64, *word = &kinds->words[kinds->depth / 64];
    if (kinds->depth % 64 == 0)
        *word = 0;
    *word = object ? *word | bit : *word & ~bit;
    kinds->depth++;
}

static inline bool in_object(const struct kinds *kinds) {
    size_t top = kinds->depth - 1;
    return kinds->words[top / 64] >> top % 64 & 1;
}

/* At a value: into it if it is a list or object that holds something, else over it. True: now at a value again. */
static inline bool enter_value(struct json_walker *walker, struct kinds *kinds) {
    const char *text = walker->text + walker->at;
    char c = *text;
    if (c == '"') {
        walk_string(walker);
    } else if (c == '{' || c == '[') {
        if (kinds->depth == DEPTH_MAX) {
            walk_fail(walker, "nesting of at most " DEPTH_MAX_TEXT " brackets");
            return false;
        }
        walk_next(walker);
        if (walk_char(walker) != c + 2) {
            push(kinds, c == '{');
            if (c == '{')
                walk_key(walker);
            return true;
        }
        walk_next(walker);
    } else {
        const char *fault = short_number_length(text) ? NULL : scalar_fault(walker->source, walker->at);
        if (fault)
            walk_fail(walker, fault);
        else
            walk_next(walker);
    }
    return false;
}

/* Behind a value: closes what ends here. True: now at the next value. */
static inline bool leave_value(struct json_walker *walker, struct kinds *kinds) {
    while (kinds->depth > 0) {
        bool object = in_object(kinds);
        char c = walk_char(walker);
        if (c == ',') {
            walk_next(walker);
            if (object)
                walk_key(walker);
            return true;
        }
        if (c != (object ? '}' : ']')) {
            walk_fail(walker, object ? "',' or '}'" : "',' or ']'");
            return false;
        }
        kinds->depth--;
        walk_next(walker);
    }
    return false;
}

/* A loop over tokens with a bit per open bracket. */
struct json_end brackets_end(const struct source *source, const struct json_index *index, size_t at) {
    struct json_walker walker = walk_from(source, index, at);
    struct kinds kinds;
    kinds.depth = 0;
    while ((enter_value(&walker, &kinds) || leave_value(&walker, &kinds)) && !walker.expected)
        ;
    return (struct json_end){walker.expected ? walker.failed_at : walker.at, walker.expected};
}
