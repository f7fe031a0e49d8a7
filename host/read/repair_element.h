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
    uint64_t n[SUTRA_N_REPAIR_KINDS];
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
    size_t learned[2];        /* first keys of the first and the last element that is kept; 0: none */
    size_t failed_at;         /* in the last malformed value */
    bool has_array, ok;
};

/* ---- Edits ---- */

struct repair_checkpoint repair_save(const struct trace_repair *repair);
void repair_roll_back(struct trace_repair *repair, const struct repair_checkpoint *mark);

/* Keeps all bytes up to `end`, with their edits, and continues there. */
void repair_keep_until(struct trace_repair *repair, size_t end);

/* Replaces n bytes at `at`, which must follow all earlier edits; repair_edit() also reports the repair. */
void repair_replace(struct trace_repair *repair, size_t at, size_t n, const char *with);
void repair_edit(struct trace_repair *repair, size_t at, size_t n, const char *with, enum sutra_repair_kind kind);

void repair_report(struct text_repairs *report, size_t at, enum sutra_repair_kind kind);

/* Deducts the bytes from `from` to `to` from the budget; false: too few are left. */
bool repair_spend(struct trace_repair *repair, size_t from, size_t to);

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

/* The first token of the object at `at`; the text's end, if there is no object. */
size_t repair_first_key(const struct trace_repair *repair, size_t at);

/* Whether an object begins at `at` with the first key of this trace's elements, or, if none is known yet, with a key of
 * elements. */
bool repair_begins_element(const struct trace_repair *repair, size_t at);

/* Whether an object begins at `at` with a key of traces. */
bool repair_begins_trace(const struct trace_repair *repair, size_t at);

/* Whether an element ends right before `at`: a closing brace, a comma, white space. */
bool repair_is_border(const struct trace_repair *repair, size_t at);

/* Whether the trace's array may end at `at`: a closing bracket after an object, and a valid token after the bracket. */
bool repair_ends_elements(const struct trace_repair *repair, size_t at);

/* ---- Values ---- */

/* The byte after the well-formed string whose opening quote is at `at`; NO_END. */
size_t repair_strict_string_end(struct trace_repair *repair, size_t at);

/* Parses the value at `at` strictly, then with repairs; only elements that are objects are repaired. Returns the byte
 * after the value, or NO_END with nothing changed but failed_at. */
size_t repair_value(struct trace_repair *repair, size_t at, bool element);

#endif
