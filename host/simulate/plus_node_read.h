/*
 * plus_node_read.h - parses the text of one node, of ET+ or of a host trace, into the fields that the conversion needs.
 *
 *     plus_places_walk()     offsets of the fields, and the texts of inputs and outputs, in one pass over the node
 *     plus_node_fields()     the values of its fields
 *                            ... linking sets some of them
 *     plus_node_attributes() the values of its attributes, some of which replace fields
 *
 * Nodes without attributes are of schema 1.0.1; their fields are identified by name.
 */
#ifndef SIMULATE_PLUS_NODE_READ_H
#define SIMULATE_PLUS_NODE_READ_H

#include <math.h>

#include "read/document.h"
#include "read/json.h"
#include "simulate/plus.h"
#include "write/json_copy.h"

/*
 * ---- Python's str() of a JSON value after json.load(), in UTF-8: the form of inputs and outputs in .et files ----
 *
 *     [[64, 1e3], "it's", null, {"a": true}]   ->   [[64, 1000.0], "it's", None, {'a': True}]
 *
 * A string by itself is unchanged; in lists and objects it is its repr(). The grammar is checked in the same walk.
 * Cost: O(bytes read and written), and O(k log k) for an object of k keys.
 */

/* An open bracket. */
struct python_frame {
    bool object;
    size_t first_member; /* in the list of members */
    size_t start;        /* of the text after the bracket */
};

/* The state of a thread; initialize with zeros and python_text_begin(). */
struct python_text {
    struct buffer out;
    struct json_emitter members; /* for objects: the keys and their offsets in `out` */
    struct buffer decoded;       /* a string with escapes */
    struct python_frame *frames; /* DEPTH_MAX of them */
    size_t depth;
    bool failed; /* out of memory; the buffers have their own flags */
};

/* Cache: a list and its text, reused if the same bytes recur. */
struct python_cache_entry {
    struct cached_value seen;
    struct et_text text;
};

#define PYTHON_CACHE 1024

/* The state of a thread; initialize with zeros except the first four members. */
struct plus_reader {
    const struct source *source;
    struct text_store *store;
    struct field_reader *fields; /* of the same source */
    struct python_text text;
    struct python_cache_entry *cache; /* PYTHON_CACHE entries */
    /* The last successor of each field, and of the start, among keys and among attributes: it probably recurs. */
    uint8_t after_key[PLUS_N_FIELDS + 1], after_attribute[PLUS_N_FIELDS + 1];
};

/* False: out of memory. */
bool plus_reader_begin(struct plus_reader *reader);
void plus_reader_end(struct plus_reader *reader);
bool plus_reader_failed(const struct plus_reader *reader);

/* The inputs, or the outputs. */
struct plus_io {
    struct et_text text[3];     /* values, shapes, types */
    size_t values_at, types_at; /* offsets in the file; 0: none */
    bool is_complete;           /* all three are present, and can be encoded */
};

struct plus_places {
    struct json_span direct[PLUS_N_FIELDS], attribute[PLUS_N_FIELDS];
    struct plus_io inputs, outputs;
    size_t text; /* offset of the node */
    bool flat;   /* of schema 1.0.1 */
};

/* Walks the node at the walker, which records malformed JSON. */
void plus_places_walk(struct plus_reader *reader, struct json_walker *walker, struct plus_places *places);

void plus_node_fields(struct plus_reader *reader, const struct plus_places *places, struct plus_node *node);
void plus_node_attributes(struct plus_reader *reader, const struct plus_places *places, struct plus_node *node);

/* Sets or clears the fault of a field. */
static inline void plus_set_fault(struct plus_node *node, enum plus_field field, bool on) {
    node->faults = on ? node->faults | PLUS_BIT(field) : node->faults & ~PLUS_BIT(field);
}

/* int() of a double; false: negative or too large. */
static inline bool truncate_double(double real, uint64_t *number) {
    real = trunc(real);
    if (!(real >= 0) || real >= 18446744073709551616.0)
        return false;
    *number = (uint64_t)real;
    return true;
}

/* Sets pg_name from a string, or null, of another file. */
void plus_node_set_pg_name(struct plus_reader *reader, const struct source *source, struct json_span place,
                           struct plus_node *node);

#endif
