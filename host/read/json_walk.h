/*
 * json_walk.h - walking the tokens of an indexed JSON text, checking the grammar on the way.
 *
 * A walker stands on a token: `at` is the byte where it begins (the text's size at the end, where a zero byte stands).
 * Values are walked in one pass without recursion. Errors set `status` and fill the caller's sutra_error; the walker
 * then stands at the end, so that loops end by themselves.
 */
#ifndef READ_JSON_WALK_H
#define READ_JSON_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read/json_index.h"
#include "read/source.h"
#include "text/number_text.h"
#include "text/scan.h"

/* Deepest nesting of brackets that is read: a little more than Python's json module does with its usual limit. What is
 * written grows with the square of the depth, since lines are indented by it. */
#define DEPTH_MAX      1024
#define DEPTH_MAX_TEXT "1,024"

struct json_walker {
    const char *text;
    size_t at;
    const uint64_t *marks;
    size_t word, n_words;
    uint64_t bits; /* marks of the current word that were not visited */
    const struct source *source;
    struct sutra_error *error;
    enum sutra_status status;
};

/* What stands at a value's place in the text: its first byte, and for strings the closing quote. 0: no such value. */
struct json_place {
    size_t at, end;
};

static inline void walk_next(struct json_walker *walker) {
    while (!walker->bits) {
        if (++walker->word >= walker->n_words) {
            walker->word = walker->n_words;
            walker->at = walker->source->size;
            return;
        }
        walker->bits = walker->marks[walker->word];
    }
    walker->at = walker->word * 64 + (size_t)__builtin_ctzll(walker->bits);
    walker->bits &= walker->bits - 1;
}

/* A walker on the first token at or behind byte `at`. */
static inline struct json_walker walk_from(const struct source *source, const struct json_index *index, size_t at,
                                           struct sutra_error *error) {
    struct json_walker walker = {.text = source->bytes,
                                 .marks = index->marks,
                                 .word = at / 64,
                                 .n_words = index->n_words,
                                 .source = source,
                                 .error = error};
    walker.bits = index->marks[at / 64] & (UINT64_MAX << at % 64);
    walk_next(&walker);
    return walker;
}

static inline char walk_char(const struct json_walker *walker) {
    return walker->text[walker->at];
}

/* Says what was expected where the walker stands. */
__attribute__((format(printf, 2, 3))) void walk_fail(struct json_walker *walker, const char *format, ...);

/* Steps over the token if it is `c`; else an error that says so. */
static inline bool walk_expect(struct json_walker *walker, char c, const char *what) {
    if (walk_char(walker) != c || walker->at >= walker->source->size) {
        walk_fail(walker, "%s", what);
        return false;
    }
    walk_next(walker);
    return true;
}

/* Whether a positive integer of up to 15 digits stands there, right before a comma or a closing bracket: by far the
 * most frequent scalar. */
static inline bool is_short_integer(const char *text) {
    size_t n = digit_run(text);
    return n > 0 && n < SCAN_BYTES && *text != '0' && (text[n] == ',' || text[n] == ']' || text[n] == '}');
}

/* From the opening quote to behind the closing one. */
static inline struct json_place walk_string(struct json_walker *walker) {
    struct json_place place = {.at = walker->at};
    walk_next(walker);
    place.end = walker->at;
    walk_next(walker);
    return place;
}

/* From an opening bracket to behind the closing one, checking what is between. */
void walk_brackets(struct json_walker *walker);

/* Checks the number or word at the walker, which is no short integer. */
void walk_scalar(struct json_walker *walker);

/* Steps over a value of any kind, checking it, and returns its place. */
static inline struct json_place walk_value(struct json_walker *walker) {
    const char *text = walker->text + walker->at;
    if (*text == '"')
        return walk_string(walker);
    struct json_place place = {.at = walker->at};
    if (*text == '{' || *text == '[') {
        walk_brackets(walker);
        return place;
    }
    if (!is_short_integer(text))
        walk_scalar(walker);
    walk_next(walker);
    return place;
}

/*
 * Members of an object, one after the other:
 *
 *     for (bool more = walk_object(w); more; more = walk_member_end(w)) {
 *         struct json_place key = walk_key(w);     now at the value
 *         ... walk_value(w) or a walk of its own ...
 *     }
 *
 * and elements of an array with walk_array() and walk_element_end() alike.
 */

/* Opens a bracket; false if it closes at once. */
static inline bool walk_open(struct json_walker *walker, char open, const char *what) {
    if (!walk_expect(walker, open, what))
        return false;
    if (walk_char(walker) != open + 2)
        return true;
    walk_next(walker);
    return false;
}

/* Behind a member or element: true at a comma, false at the closing bracket. */
static inline bool walk_close(struct json_walker *walker, char close, const char *what) {
    char c = walk_char(walker);
    if (c != ',' && c != close) {
        walk_fail(walker, "%s", what);
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

static inline struct json_place walk_key(struct json_walker *walker) {
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

#endif
