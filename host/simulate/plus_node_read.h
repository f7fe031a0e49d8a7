/*
 * plus_node_read.h - one node's text, of ET+ or of a host trace: from tokens to the fields that converting needs.
 *
 *     plus_places_walk()     where the fields stand, and the texts of inputs and outputs, in one pass over the node
 *     plus_node_fields()     the values of its fields
 *                            ... linking sets some of them
 *     plus_node_attributes() the values of its attributes, some of which replace fields
 *
 * Nodes of schema 1.0.1, which have no attributes, are told by that; their fields count as what they are called.
 */
#ifndef SIMULATE_PLUS_NODE_READ_H
#define SIMULATE_PLUS_NODE_READ_H

#include "read/document.h"
#include "simulate/plus.h"
#include "simulate/python_text.h"

/* A list whose text was made before: where its bytes come again, so does its text. */
struct python_seen {
    struct seen_value seen;
    struct et_text text;
};

#define PYTHON_SEEN 1024

/* What a thread needs; begin with zeros but for the first four. */
struct plus_reader {
    const struct source *source;
    struct text_store *store;
    struct field_reader *fields; /* of the same source */
    struct python_text text;
    struct python_seen *seen; /* PYTHON_SEEN of them */
    /* The field that came last behind each, and behind none, among keys and among attributes: it will come again. */
    uint8_t after_key[PLUS_N_FIELDS + 1], after_attribute[PLUS_N_FIELDS + 1];
};

/* False: out of memory. */
bool plus_reader_begin(struct plus_reader *reader);
void plus_reader_end(struct plus_reader *reader);
bool plus_reader_failed(const struct plus_reader *reader);

/* The inputs, or the outputs. */
struct plus_io {
    struct et_text text[3];     /* values, shapes, types */
    size_t values_at, types_at; /* where two of them stand in the file; 0: nowhere */
    bool whole;                 /* all three are there, and can be encoded */
};

struct plus_places {
    struct json_place direct[PLUS_N_FIELDS], attribute[PLUS_N_FIELDS];
    struct plus_io inputs, outputs;
    size_t text; /* where the node begins */
    bool flat;   /* of schema 1.0.1 */
};

/* Walks the node at the walker. What is malformed goes into the walker. */
void plus_places_walk(struct plus_reader *reader, struct json_walker *walker, struct plus_places *places);

void plus_node_fields(struct plus_reader *reader, const struct plus_places *places, struct plus_node *node);
void plus_node_attributes(struct plus_reader *reader, const struct plus_places *places, struct plus_node *node);

/* pg_name from a string, or null, of another file than the node's. */
void plus_node_set_pg_name(struct plus_reader *reader, const struct source *source, struct json_place place,
                           struct plus_node *node);

#endif
