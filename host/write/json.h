/*
 * json.h - writes new JSON as Python's json.dump() does: indented by a number of spaces, or in one line.
 *
 *     json_open(&json, '{');
 *     json_key(&json, "us", 2);
 *     json_number(&json, 1.5);
 *     json_close(&json, '}');
 */
#ifndef WRITE_JSON_H
#define WRITE_JSON_H

#include "columns/numbers.h"
#include "sutra/trace.h"
#include "write/text.h"

struct sutra_count;
struct trace_defect;
struct trace_validity;

#define JSON_ONE_LINE (-1)

struct json_out {
    struct text_out *text;
    int indent; /* spaces for each level, or JSON_ONE_LINE */
    unsigned depth;
    bool begun;       /* the open list or object has an element */
    bool after_key;   /* the next value belongs to a key */
    int outer_indent; /* outside the objects in one line */
    unsigned n_lines; /* open objects in one line */
};

void json_open(struct json_out *json, char bracket);
void json_close(struct json_out *json, char bracket);
void json_key(struct json_out *json, const char *key, size_t length);
void json_string(struct json_out *json, const char *bytes, size_t length);
void json_double(struct json_out *json, double value);
void json_integer(struct json_out *json, int64_t value);
void json_number(struct json_out *json, struct number number);
void json_literal(struct json_out *json, const char *text, size_t length); /* a value's text as it is */

/* A checked JSON list without objects, with new white space. */
void json_list(struct json_out *json, const char *text);

/* A constant key. */
#define json_name(json, name) json_key(json, name, sizeof(name) - 1)

/*
 * ---- JSON for the terminal: strings of any bytes, numbers in a format of printf ----
 *
 * A string is written in ASCII. Bytes that are not UTF-8 become \udc80 to \udcff, as in Python's surrogateescape, so
 * that any file name gives valid JSON.
 */

void json_cstring(struct json_out *json, const char *text); /* NULL: null */
void json_cstring_key(struct json_out *json, const char *key);
__attribute__((format(printf, 2, 3))) void json_format(struct json_out *json, const char *format, ...);

/* An object in one line in an indented document; objects inside it stay in its line. */
void json_open_line(struct json_out *json);
void json_close_line(struct json_out *json);

/* Members of an object. */
void json_add_open(struct json_out *json, const char *name, char bracket);
void json_add_text(struct json_out *json, const char *name, const char *text);
void json_add_count(struct json_out *json, const char *name, uint64_t count);
__attribute__((format(printf, 3, 4))) void json_add_format(struct json_out *json, const char *name, const char *format,
                                                           ...);

/* A member that is an object: a count for each name. */
void json_add_counts(struct json_out *json, const char *name, const struct sutra_count *counts, uint64_t n);

/* As json_string(), json_integer() and json_double() write the value. */
void json_add_string(struct json_out *json, const char *name, const char *text);
void json_add_integer(struct json_out *json, const char *name, int64_t value);
void json_add_double(struct json_out *json, const char *name, double value);

/* With `n_digits` significant digits; NaN and infinity: null. */
void json_add_real(struct json_out *json, const char *name, int n_digits, double value);

/* The member "validity": the defects of a trace (facts/validity.h):
 *
 *     "validity": [{"defect": "not_below_root", "count": 20, "of": 43, "largest_us": null, "example": "'aten::mm', node 25",
 *                   "cause": "node 24 is absent", "effect": "..."}]
 *
 * largest_us is null if the defect is not an amount of time; only some defects have a cause. */
void json_add_defects(struct json_out *json, const struct trace_validity *validity);

/* An element of it. */
void json_add_defect(struct json_out *json, const struct sutra_trace_defect *defect);

/* Closes a list or object on a line of its own, even if it is empty. */
void json_close_lines(struct json_out *json, char bracket);

/* Continues an object or list of one line on a new line, after `n` spaces. */
void json_break(struct json_out *json, int n);

/* Ends the document with a line break, writes it to the sink or stream, and frees the buffer. False: out of memory. */
bool json_end(struct json_out *json);

#endif
