/*
 * python_text.h - what Python's str() makes of a JSON value after json.load(), in UTF-8: the form in which .et files
 * hold inputs and outputs.
 *
 *     [[64, 1e3], "it's", null, {"a": true}]   ->   [[64, 1000.0], "it's", None, {'a': True}]
 *
 * A string by itself stays as it is; inside of lists and objects it is its repr(). The grammar is checked on the way,
 * so that a text is walked once. Cost: O(bytes read and written), and O(k log k) for an object of k keys.
 */
#ifndef SIMULATE_PYTHON_TEXT_H
#define SIMULATE_PYTHON_TEXT_H

#include "read/json.h"
#include "write/json_copy.h"

/* An open bracket. */
struct python_frame {
    bool object;
    size_t first_member; /* in the list of members */
    size_t start;        /* of the text behind the bracket */
};

/* What a thread needs; begin with zeros and python_text_begin(). */
struct python_text {
    struct buffer out;
    struct json_emitter members; /* for objects: which keys stand where in `out` */
    struct buffer decoded;       /* a string with escapes */
    struct python_frame *frames; /* DEPTH_MAX of them */
    size_t depth;
    bool failed; /* out of memory; the buffers have flags of their own */
};

/* False: out of memory. */
bool python_text_begin(struct python_text *text);
void python_text_end(struct python_text *text);

/* Whether memory ran out. */
bool python_text_failed(const struct python_text *text);

/* Writes the value at the walker into `out`, from its start on, and steps behind it. What is malformed goes into the
 * walker. */
void python_text_write(struct python_text *text, struct json_walker *walker);

#endif
