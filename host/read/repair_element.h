/*
 * repair_element.h - the parts of repair.c that repair one value of a trace: edits of the text, keys, strings, values.
 *
 * An edit replaces bytes of the input in ascending order; all other bytes are copied. A checkpoint restores the state
 * before an attempt that fails. Cost: linear in the value's length for each attempt, and the budget limits attempts.
 */
#ifndef READ_REPAIR_ELEMENT_H
#define READ_REPAIR_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "read/repair.h"

#define NO_END SIZE_MAX

/* State to return to if the parse of an element fails. */
struct repair_checkpoint {
    size_t out_length, copied, n_places;
    uint64_t n[SUTRA_N_REPAIR_KINDS], n_skipped_bytes;
};

/* An element of the trace's array, with which others are compared. */
struct repair_neighbor {
    size_t at;                 /* 0: none */
    size_t key, key_length;    /* first key; key_length SIZE_MAX: no key */
    size_t indent, key_indent; /* white space before both on their lines; SIZE_MAX: the line begins with other text */
    uint64_t keys;             /* its keys of elements, a bit each; 0: unknown */
};

/* The repair of one trace of the file. Result: `out`, then the text from `copied` on. */
struct trace_repair {
    const char *text;
    size_t size;
    size_t begin, at; /* first byte of the trace; current byte, finally the byte after the trace */
    struct buffer out;
    size_t copied;
    struct text_repairs report;
    uint64_t budget;               /* bytes that may be parsed again */
    size_t kept_end;               /* the byte after the last member or element that is kept */
    struct repair_checkpoint kept; /* state at kept_end */
    uint64_t n_elements;           /* of all arrays */
    uint64_t n_in_array;           /* of the current array */
    size_t quote_from, quote; /* text[quote] is the first unescaped quote at or after quote_from, or the text's end */
    struct repair_neighbor neighbors[2]; /* the first and the last element that is kept */
    struct repair_neighbor element;      /* the current one */
    size_t failed_at;                    /* in the last malformed value */
    size_t clear_from, clear_to;         /* no element begins between these bytes */
    bool is_inside;                      /* the current element was found inside malformed text */
    bool has_array, ok;
    bool is_checked, is_well_formed; /* of all text from `begin` on, see repair_is_well_formed() */
};

/* ---- Edits ---- */

void repair_roll_back(struct trace_repair *repair, const struct repair_checkpoint *mark);

/* Keeps all bytes up to `end`, with their edits, and continues there. */
void repair_keep_until(struct trace_repair *repair, size_t end);

/* Copies the text that is kept, unless it is copied already, so that later attempts do not copy it again. */
void repair_flush(struct trace_repair *repair);

/* Replaces n bytes at `at`, which must follow all earlier edits; repair_edit() also reports the repair. */
void repair_replace(struct trace_repair *repair, size_t at, size_t n, const char *with);
void repair_edit(struct trace_repair *repair, size_t at, size_t n, const char *with, enum sutra_repair_kind kind);

void repair_report(struct text_repairs *report, size_t at, enum sutra_repair_kind kind);

/* Deducts the bytes from `from` to `to` from the budget; false: too few are left, and now none. */
bool repair_deduct(struct trace_repair *repair, size_t from, size_t to);

/* ---- Keys ---- */

static inline bool is_json_space(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* The first byte at or after `at` that is no white space. */
static inline size_t repair_skip_spaces(const struct trace_repair *repair, size_t at) {
    while (at < repair->size && is_json_space(repair->text[at]))
        at++;
    return at;
}

/* Length of the key whose opening quote is at `at`, if a colon follows it; SIZE_MAX: no key. */
size_t repair_key_length(const struct trace_repair *repair, size_t at);

/* The element at `at`. */
struct repair_neighbor repair_element_at(const struct trace_repair *repair, size_t at);

/* The current element is kept: the next ones are compared with it. */
void repair_keep_element(struct trace_repair *repair);

/* Whether an object begins at `at` with the first key of this trace's elements, or, if none is known yet, with a key of
 * elements. */
bool repair_begins_element(const struct trace_repair *repair, size_t at);

/* Whether an object begins at `at` with a key of traces. */
bool repair_begins_trace(const struct trace_repair *repair, size_t at);

/* Whether the next element may begin at `at`, a brace, inside malformed text: after the end of an element, on a line of
 * its own, or as a complete event, which another thread has written into the malformed one. */
bool repair_may_begin_element(struct trace_repair *repair, size_t at);

/* Whether the trace's array may end with the bracket at `at`: after it the trace ends, or has other members, but no
 * elements. */
bool repair_ends_array(struct trace_repair *repair, size_t at);

/* The same inside malformed text, where a bracket at the text's end may belong to an inner array. Unless the element
 * `is_complete`, the bracket follows an object. */
bool repair_may_end_array(struct trace_repair *repair, size_t at, bool is_complete);

/* Whether all of the trace's text is well-formed: then no element is repaired. Checked once. */
bool repair_is_well_formed(struct trace_repair *repair);

/* ---- Values ---- */

/* The byte after the well-formed string whose opening quote is at `at`; NO_END. */
size_t repair_strict_string_end(struct trace_repair *repair, size_t at);

/* Keys of elements that the object at `at` has, a bit each, up to its first malformed byte. *end: the byte after it;
 * NO_END: malformed, or the budget is too small. */
uint64_t repair_keys(struct trace_repair *repair, size_t at, size_t *end);

/* Parses the value at `at` strictly, then with repairs; only elements that are objects are repaired. Returns the byte
 * after the value, or NO_END with nothing changed but failed_at. */
size_t repair_value(struct trace_repair *repair, size_t at, bool element);

#endif
