/*
 * json_walk.h - walking the tokens of an indexed JSON text, checking the grammar on the way.
 *
 * A walker stands on a token: `at` is the byte where it begins (the text's size at the end, where a zero byte stands).
 * Values are walked in one pass without recursion. Where the text is malformed, the walker notes what was expected, and
 * then stands at the end, so that loops end by themselves; walk_error() makes an error of it. No function here that is
 * not inlined gets the walker's address: a local one lives in registers.
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
    const struct source *source;
    const struct json_index *index;
    const char *text;
    size_t at;
    size_t word;
    uint64_t bits;        /* marks of the current word that were not visited */
    const char *expected; /* what was expected at `failed_at`, or NULL: nothing malformed was seen */
    size_t failed_at;
};

/* What stands at a value's place in the text: its first byte, and for strings the closing quote. 0: no such value. */
struct json_place {
    size_t at, end;
};

static inline void walk_next(struct json_walker *walker) {
    while (!walker->bits) {
        if (++walker->word >= walker->index->n_words) {
            walker->word = walker->index->n_words;
            walker->at = walker->source->size;
            return;
        }
        walker->bits = walker->index->marks[walker->word];
    }
    walker->at = walker->word * 64 + (size_t)__builtin_ctzll(walker->bits);
    walker->bits &= walker->bits - 1;
}

/* On to the first token at or behind byte `at`. */
static inline void walk_to(struct json_walker *walker, size_t at) {
    walker->word = at / 64;
    walker->bits = walker->index->marks[at / 64] & (UINT64_MAX << at % 64);
    walk_next(walker);
}

/* A walker on the first token at or behind byte `at`. */
static inline struct json_walker walk_from(const struct source *source, const struct json_index *index, size_t at) {
    struct json_walker walker = {.source = source, .index = index, .text = source->bytes};
    walk_to(&walker, at);
    return walker;
}

static inline char walk_char(const struct json_walker *walker) {
    return walker->text[walker->at];
}

/* Notes what was expected where the walker stands, if that is the first mistake, and goes to the end. */
static inline void walk_fail(struct json_walker *walker, const char *expected) {
    if (!walker->expected) {
        walker->expected = expected;
        walker->failed_at = walker->at;
    }
    walker->bits = 0;
    walker->word = walker->index->n_words;
    walker->at = walker->source->size;
}

/* SUTRA_DATA if something malformed was seen; the error says what and where. */
enum sutra_status walk_error(const struct json_walker *walker, struct sutra_error *error);

/* Steps over the token if it is `c`; else an error that says so. */
static inline bool walk_expect(struct json_walker *walker, char c, const char *what) {
    if (walk_char(walker) != c || walker->at >= walker->source->size) {
        walk_fail(walker, what);
        return false;
    }
    walk_next(walker);
    return true;
}

/* Length of a number of the most frequent forms that stands right before a comma or a closing bracket: 12, 0, 12.5,
 * with up to 15 digits on either side of the point. 0: something else stands there. */
static inline size_t short_number_length(const char *text) {
    size_t n = digit_run_short(text);
    if (n == 0 || n == SCAN_BYTES || (*text == '0' && n > 1))
        return 0;
    if (text[n] == '.') {
        size_t n_fraction = digit_run_short(text + n + 1);
        if (n_fraction == 0 || n_fraction == SCAN_BYTES)
            return 0;
        n += 1 + n_fraction;
    }
    return text[n] == ',' || text[n] == ']' || text[n] == '}' ? n : 0;
}

/* The first token behind byte `at`, which is not the last one. */
static inline size_t mark_behind(const struct json_index *index, size_t at) {
    size_t word = (at + 1) / 64;
    uint64_t bits = index->marks[word] & (UINT64_MAX << (at + 1) % 64);
    while (!bits)
        bits = index->marks[++word];
    return word * 64 + (size_t)__builtin_ctzll(bits);
}

/* From the opening quote to behind the closing one. */
static inline struct json_place walk_string(struct json_walker *walker) {
    struct json_place place = {.at = walker->at};
    walk_next(walker);
    place.end = walker->at;
    walk_next(walker);
    return place;
}

/* Where something ends: the byte behind it; or the byte at which something else was expected. */
struct json_end {
    size_t at;
    const char *expected; /* NULL: well-formed */
};

/* The end of the value that an opening bracket at byte `at` begins. */
struct json_end brackets_end(const struct source *source, const struct json_index *index, size_t at);

/* What was expected at byte `at` if neither a number nor a word stands there, or NULL. */
const char *scalar_fault(const struct source *source, size_t at);

/* Steps over a value of any kind, checking it, and returns its place. */
__attribute__((always_inline)) static inline struct json_place walk_value(struct json_walker *walker) {
    const char *text = walker->text + walker->at;
    if (*text == '"')
        return walk_string(walker);
    struct json_place place = {.at = walker->at};
    const char *fault = NULL;
    if (*text == '{' || *text == '[') {
        struct json_end end = brackets_end(walker->source, walker->index, walker->at);
        walk_to(walker, end.at);
        fault = end.expected;
    } else {
        if (short_number_length(text) == 0)
            fault = scalar_fault(walker->source, walker->at);
        if (!fault)
            walk_next(walker);
    }
    if (fault)
        walk_fail(walker, fault);
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
        walk_fail(walker, what);
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
