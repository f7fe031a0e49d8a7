/*
 * json.h - JSON of our own making, as Python's json.dump() writes it: indented by a number of spaces, or in one
 * line.
 *
 *     json_open(&json, '{');
 *     json_key(&json, "us", 2);
 *     json_number(&json, 1.5);
 *     json_close(&json, '}');
 */
#ifndef WRITE_JSON_H
#define WRITE_JSON_H

#include <stdio.h>

#include "columns/numbers.h"
#include "write/text.h"

/*
 * Encode arbitrary bytes as JSON strings in ASCII.
 */

/* Writes `text` with its quotes. Bytes that are no UTF-8 become \udc80 to \udcff, as Python's surrogateescape has it,
 * so that any file name gives valid JSON. */
void json_string_print(FILE *file, const char *text);

#define JSON_ONE_LINE (-1)

struct json_out {
    struct text_out *text;
    int indent; /* spaces for each level, or JSON_ONE_LINE */
    unsigned depth;
    bool begun;     /* the open list or object has an element */
    bool after_key; /* the next value belongs to a key */
};

void json_open(struct json_out *json, char bracket);
void json_close(struct json_out *json, char bracket);
void json_key(struct json_out *json, const char *key, size_t length);
void json_string(struct json_out *json, const char *bytes, size_t length);
void json_double(struct json_out *json, double value);
void json_integer(struct json_out *json, int64_t value);
void json_number(struct json_out *json, struct number number);
void json_literal(struct json_out *json, const char *text, size_t length); /* a value's text as it is */

/* A checked JSON list without objects, laid out anew. */
void json_list(struct json_out *json, const char *text);

/* A key that is a constant of ours. */
#define json_name(json, name) json_key(json, name, sizeof(name) - 1)

#endif
