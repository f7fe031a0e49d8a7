/*
 * json_walk.c - the grammar of JSON: strings, numbers, and what stands in brackets.
 */
#include "read/json_walk.h"

#include <string.h>

#include "read/plain_list.h"
#include "text/string_text.h"

/* Digits that Python reads in one integer, as text. */
#define INTEGER_DIGITS_TEXT "4300"

/* Stands for all that may be wrong with a string; the byte at which it is wrong tells what. */
static const char valid_string[] = "a valid string";

/* Whether what stands at byte `at` is not even a character. */
static bool is_no_character(const struct source *source, size_t at) {
    size_t rest = source->size - at;
    return utf8_check(source->bytes + at, rest < 4 ? rest : 4) == 0;
}

static enum sutra_status string_error(const struct source *source, size_t at, struct sutra_error *error) {
    unsigned char c = (unsigned char)source->bytes[at];
    if (c == '"')
        return source_error(source, error, at, "this string is not closed before the end of the file");
    if (is_no_character(source, at))
        return source_error(source, error, at, "byte 0x%02x is not valid UTF-8", c);
    if (c < 0x20)
        return source_error(source, error, at, "control character 0x%02x in a string: it must be escaped", c);
    return source_error(source, error, at,
                        "bad escape in a string: one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX was "
                        "expected");
}

enum sutra_status walk_error(const struct json_walker *walker, struct sutra_error *error) {
    const struct source *source = walker->source;
    size_t at = walker->failed_at;
    if (!walker->expected)
        return SUTRA_OK;
    if (at >= source->size)
        return source_error(source, error, source->size, "the file is truncated here: %s was expected",
                            walker->expected);
    if (walker->expected == valid_string || is_no_character(source, at))
        return string_error(source, at, error);
    return source_error(source, error, at, "malformed JSON: %s was expected", walker->expected);
}

/* ---- Strings ---- */

static bool is_hex(char c) {
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* Length of the escape that goes on at `text`, behind its backslash; 0: it is none. */
static size_t escape_length(const char *text) {
    if (*text == 'u')
        return is_hex(text[1]) && is_hex(text[2]) && is_hex(text[3]) && is_hex(text[4]) ? 5 : 0;
    return *text && strchr("\"\\/bfnrt", *text) ? 1 : 0;
}

static size_t high_run(const char *text) {
    size_t n = 0;
    while ((unsigned char)text[n] >= 0x80)
        n++;
    return n;
}

struct json_end string_end(const struct source *source, size_t at, size_t from) {
    const char *text = source->bytes;
    for (;; from = plain_end(text, from)) {
        char c = text[from];
        if (c == '"')
            return (struct json_end){from, NULL};
        from += c == '\\';
        if (from >= source->size)
            return (struct json_end){at, valid_string};
        size_t n, n_valid;
        if (c == '\\') {
            n = n_valid = escape_length(text + from);
        } else {
            n = high_run(text + from);
            n_valid = utf8_check(text + from, n);
        }
        from += n_valid;
        if (n_valid < n || n == 0)
            return (struct json_end){from, valid_string};
    }
}

/* ---- Numbers and words ---- */

/* The length of the word at `text`; 0: there is none. */
static inline size_t word_length(const char *text) {
    if (*text == 't')
        return memcmp(text, "true", 4) == 0 ? 4 : 0;
    if (*text == 'f')
        return memcmp(text, "false", 5) == 0 ? 5 : 0;
    return memcmp(text, "null", 4) == 0 ? 4 : 0;
}

struct json_end scalar_end(const struct source *source, size_t at) {
    const char *text = source->bytes + at;
    size_t length = word_length(text);
    if (length == 0) {
        enum number_form form = number_scan(text, &length);
        if (form == NUMBER_FORM_BAD)
            return (struct json_end){at, "a JSON value"};
        if (form == NUMBER_FORM_INTEGER && length - (*text == '-') > INTEGER_DIGITS_MAX)
            return (struct json_end){at, "an integer of at most " INTEGER_DIGITS_TEXT " digits (as Python reads)"};
    }
    char c = text[length];
    if (scalar_may_end(c) || at + length == source->size || (c && strchr(":\"[{", c))) /* others tell what is wrong */
        return (struct json_end){at + length, NULL};
    return (struct json_end){at, "a JSON value"};
}

/* ---- Brackets ---- */

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

/* Over a value that is not left open: a scalar, an empty bracket, or a short list. True: into another bracket. */
static inline bool enter_value(struct json_walker *walker, struct kinds *kinds) {
    char c = walk_char(walker);
    if (c == '"') {
        walk_string(walker);
    } else if (c == '{' || c == '[') {
        bool list = c == '[' && kinds->depth > 0 && kinds->depth + PLAIN_LIST_BYTES < DEPTH_MAX;
        size_t end = list ? plain_list_end(walker->text, walker->at) : 0;
        if (end) {
            walk_to(walker, end);
            return false;
        }
        if (kinds->depth == DEPTH_MAX) {
            walk_fail(walker, "nesting of at most " DEPTH_MAX_TEXT " brackets");
            return false;
        }
        walk_next(walker);
        if (walk_char(walker) != c + 2) {
            push(kinds, c == '{');
            return true;
        }
        walk_next(walker);
    } else {
        walk_scalar(walker);
    }
    return false;
}

/* Behind a value: closes what ends here. True: now at the next value or key. */
static inline bool leave_value(struct json_walker *walker, struct kinds *kinds) {
    while (kinds->depth > 0) {
        bool object = in_object(kinds);
        char c = walk_char(walker);
        if (c == ',') {
            walk_next(walker);
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
static struct json_end walk_brackets(const struct source *source, size_t at) {
    struct json_walker walker = walk_from(source, at);
    struct kinds kinds;
    kinds.depth = 0;
    while ((enter_value(&walker, &kinds) || leave_value(&walker, &kinds)) && !walker.expected)
        if (in_object(&kinds))
            walk_key(&walker);
    if (walker.expected)
        return (struct json_end){walker.failed_at, walker.expected};
    return (struct json_end){trim_end(source->bytes, walker.at), NULL};
}

struct json_end brackets_end(const struct source *source, size_t at) {
    size_t end = source->bytes[at] == '[' ? plain_list_end(source->bytes, at) : 0;
    return end ? (struct json_end){end, NULL} : walk_brackets(source, at);
}
