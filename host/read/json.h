/*
 * json.h - walks the tokens of a JSON text and checks the grammar, the strings and the numbers on the way.
 *
 * A walker is at a token: `at` is the token's first byte (at the end the text's size, where a zero byte is). Values are
 * walked in one pass without recursion, strings and white space 16 bytes at a time. At malformed text the walker
 * records the expected token and moves to the end, so that loops end without a check; walk_error() converts it to an
 * error. A string that was walked over is valid: UTF-8, no control characters, legal escapes. No function that is not
 * inlined gets the walker's address, so a local walker is in registers.
 */
#ifndef READ_JSON_H
#define READ_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "read/source.h"
#include "text/numbers.h"
#include "text/strings.h"

/* Deepest nesting of brackets: slightly more than Python's json module reads by default. Output is indented, so that
 * its size grows with the square of the depth. */
#define DEPTH_MAX      1024
#define DEPTH_MAX_TEXT "1,024"

struct json_walker {
    const struct source *source;
    const char *text;
    size_t at;
    const char *expected; /* expected at `failed_at`; NULL: no error so far */
    size_t failed_at;
};

/* Offsets of a value: its first byte, and for strings the closing quote. 0: no value. */
struct json_span {
    size_t at, end;
};

/* End of a value: the byte after it (of strings the closing quote), or the malformed byte. */
struct json_end {
    size_t at;
    const char *expected; /* NULL: well-formed */
};

/* Moves to the first token at or after byte `at`, which is in no token. */
static inline void walk_to(struct json_walker *walker, size_t at) {
    walker->at = space_end(walker->text, at);
}

/* Steps over a bracket, a comma or a colon. */
static inline void walk_next(struct json_walker *walker) {
    walk_to(walker, walker->at + 1);
}

/* A walker at the first token at or after byte `at`. */
static inline struct json_walker walk_from(const struct source *source, size_t at) {
    return (struct json_walker){.source = source, .text = source->bytes, .at = space_end(source->bytes, at)};
}

static inline char walk_char(const struct json_walker *walker) {
    return walker->text[walker->at];
}

/* Records the first error, at the walker's byte, and moves to the end. */
static inline void walk_fail(struct json_walker *walker, const char *expected) {
    if (!walker->expected) {
        walker->expected = expected;
        walker->failed_at = walker->at;
    }
    walker->at = walker->source->size;
}

/* SUTRA_DATA if the text is malformed; the error contains the byte, the line and the expected token. */
enum sutra_status walk_error(const struct json_walker *walker, struct sutra_error *error);

/* Steps over the token `c`; fails at any other token. */
static inline bool walk_expect(struct json_walker *walker, char c, const char *expected) {
    if (walk_char(walker) != c) {
        walk_fail(walker, expected);
        return false;
    }
    walk_next(walker);
    return true;
}

/* Whether a number or a word may end before this character. The zero byte at the end of the text is not accepted. */
static inline bool scalar_may_end(char c) {
    return c == ',' || c == '}' || c == ']' || c == '\n' || c == ' ' || c == '\r' || c == '\t';
}

/* Length of a number of the most frequent forms: 12, 0, 12.5. 0: another value. */
static inline size_t short_number_length(const char *text) {
    size_t n = short_number_at(text).length;
    bool zeros = *text == '0' && n > 1 && text[1] != '.';
    return n && !zeros && scalar_may_end(text[n]) ? n : 0;
}

/* The closing quote of the string at byte `at`, whose bytes before `from` are plain. */
struct json_end string_end(const struct source *source, size_t at, size_t from);

/* The byte after the number or word at byte `at`. */
struct json_end scalar_end(const struct source *source, size_t at);

/* The byte after the value whose opening bracket is at byte `at`. */
struct json_end brackets_end(const struct source *source, size_t at);

/* How brackets_end() scans lists: the fastest scan of the CPU. Tests call all scans. */
enum list_scan { LIST_SCAN_BYTES, LIST_SCAN_16_BYTES, LIST_SCAN_64_BYTES, N_LIST_SCANS };

/* The byte after the list at byte `at` of a text that ends in zeros; reads up to 64 zeros. 0: the list is malformed,
 * too long or not plain (json.c). */
typedef size_t find_list_end(const char *text, size_t at);

/* The function of a scan; NULL: the CPU lacks its instructions. */
find_list_end *list_scan_function(enum list_scan scan);

/* Steps over a string. An empty string, if it is malformed. */
static inline struct json_span walk_string(struct json_walker *walker) {
    struct json_span place = {walker->at, plain_end(walker->text, walker->at + 1)};
    if (walker->text[place.end] != '"') {
        struct json_end end = string_end(walker->source, place.at, place.end);
        if (end.expected) {
            walker->at = end.at;
            walk_fail(walker, end.expected);
            return (struct json_span){place.at, place.at + 1};
        }
        place.end = end.at;
    }
    walk_to(walker, place.end + 1);
    return place;
}

/* Steps over a number or a word. */
static inline void walk_scalar(struct json_walker *walker) {
    size_t length = short_number_length(walker->text + walker->at);
    struct json_end end = {walker->at + length, NULL};
    if (length == 0)
        end = scalar_end(walker->source, walker->at);
    if (end.expected)
        walk_fail(walker, end.expected);
    else
        walk_to(walker, end.at);
}

/* Checks a value of any kind, steps over it, and returns its offsets. */
__attribute__((always_inline)) static inline struct json_span walk_value(struct json_walker *walker) {
    char c = walk_char(walker);
    if (c == '"')
        return walk_string(walker);
    struct json_span place = {.at = walker->at};
    if (c == '{' || c == '[') {
        struct json_end end = brackets_end(walker->source, walker->at);
        walker->at = end.at;
        if (end.expected)
            walk_fail(walker, end.expected);
        else
            walk_to(walker, end.at);
    } else {
        walk_scalar(walker);
    }
    return place;
}

/* The byte after the value at byte `at`, and the value's offsets; 0: malformed, walk_value() reports the error. */
static inline size_t leaf_end(const struct json_walker *walker, size_t at, struct json_span *place) {
    const char *text = walker->text;
    *place = (struct json_span){.at = at};
    if (text[at] == '"') {
        struct json_end end = {plain_end(text, at + 1), NULL};
        if (text[end.at] != '"')
            end = string_end(walker->source, at, end.at);
        place->end = end.at;
        return end.expected ? 0 : end.at + 1;
    }
    bool brackets = text[at] == '[' || text[at] == '{';
    size_t length = brackets ? 0 : short_number_length(text + at);
    if (length)
        return at + length;
    struct json_end end = brackets ? brackets_end(walker->source, at) : scalar_end(walker->source, at);
    return end.expected ? 0 : end.at;
}

/*
 * Members of an object in file order:
 *
 *     for (bool more = walk_object(w); more; more = walk_member_end(w)) {
 *         struct json_span key = walk_key(w);     now at the value
 *         ... walk_value(w) or another walk ...
 *     }
 *
 * and elements of an array with walk_array() and walk_element_end().
 */

/* Steps over an opening bracket; false: the bracket is empty, and the walker is after it. */
static inline bool walk_open(struct json_walker *walker, char open, const char *expected) {
    if (!walk_expect(walker, open, expected))
        return false;
    if (walk_char(walker) != open + 2)
        return true;
    walk_next(walker);
    return false;
}

/* Steps over the token after a member or element: true at a comma, false at the closing bracket. */
static inline bool walk_close(struct json_walker *walker, char close, const char *expected) {
    char c = walk_char(walker);
    if (c != ',' && c != close) {
        walk_fail(walker, expected);
        return false;
    }
    walk_next(walker);
    return c == ',';
}

static inline bool walk_object(struct json_walker *walker) {
    return walk_open(walker, '{', "'{'");
}

static inline bool walk_member_end(struct json_walker *walker) {
    return walk_close(walker, '}', "',' or '}'");
}

static inline bool walk_array(struct json_walker *walker) {
    return walk_open(walker, '[', "'['");
}

static inline bool walk_element_end(struct json_walker *walker) {
    return walk_close(walker, ']', "',' or ']'");
}

static inline struct json_span walk_key(struct json_walker *walker) {
    struct json_span key = {0};
    if (walk_char(walker) != '"') {
        walk_fail(walker, "a key in double quotes");
        return key;
    }
    key = walk_string(walker);
    if (walk_char(walker) != ':') {
        walk_fail(walker, "':' after a key");
        return (struct json_span){0};
    }
    walk_next(walker);
    return key;
}

/*
 * ---- Recorded arguments of operators as texts (argument_texts.c): as Python writes them, and shapes of tensors ----
 *
 *     [[512], [141, 512], []]   ->   ((512,), (141, 512), ())          ["float", ""]   ->   ('float', '')
 *
 * Input: checked JSON values. No recursion; O(length).
 */

/* Appends the value of `length` bytes, lists as tuples; a string alone without quotes, an object unchanged. */
void argument_append(struct buffer *out, const char *json, size_t length);

/* The shape of an event without one. */
#define SHAPE_NONE "[[-1]]"

/* Appends the list at `json` as Python writes it, without top-level elements that are false in Python: empty lists
 * (scalars), zeros, empty strings, null and false. SHAPE_NONE if no element remains, if it is not a list, or if it
 * contains an object. */
void shape_append(struct buffer *out, const char *json);

/* Appends a list that shape_append() wrote as Python's repr of nested tuples: "[[2], 3]" becomes "((2,), 3)". */
void shape_append_tuple(struct buffer *out, const char *json);

#endif
