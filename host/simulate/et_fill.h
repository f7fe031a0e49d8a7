/*
 * et_fill.h - filling the columns of an .et file by readers of any format, in two passes over the same code: the first
 * counts, the second puts what it reads where the first has made room.
 *
 *     et_fill_begin   -->   a pass   -->   et_fill_room   -->   the same pass again  
 *
 * Parts of a file may be filled side by side: each part has a filler for its first pass, whose counts are added up;
 * what stands before a part is where its second pass begins (et_fill_part). Names that no part knows are numbered when
 * all are filled, in the order of the parts.
 */
#ifndef SIMULATE_ET_FILL_H
#define SIMULATE_ET_FILL_H

#include "simulate/et_nodes.h"

/* Names of attributes come in the same order in node after node: how many places of a node are remembered. */
#define FILL_GUESSES 32

/* How much of everything there is. */
struct et_totals {
    row_t n_nodes;
    uint64_t n_ctrl, n_data, n_attributes, n_docs;
    uint64_t n_metadata, n_metadata_docs;
    uint64_t n_joined; /* bytes of lists that come in several pieces, put together */
};

struct et_filler {
    struct et_nodes *nodes;
    bool fill;                /* the second pass */
    struct et_totals n;       /* so far */
    uint64_t first_attribute; /* of the current node */
    uint32_t guesses[FILL_GUESSES];
    struct strings own; /* of a part: names that were not known before, numbered behind those */
    uint32_t n_known;   /* how many that are */
    bool is_part, no_memory;
    bool slim;      /* of nodes only what a simulator needs is kept: et_fill_wants() */
    uint64_t place; /* of the attribute that it was asked for last, among those of its node */
};

/* A node's single fields. */
struct et_node {
    uint64_t id, start_us, duration_us;
    int32_t type;
    uint8_t flags;
    struct et_text text[ET_TEXT_COLUMNS];
};

struct et_attribute {
    struct et_text name, doc;
    uint8_t kind;        /* enum et_kind, or the number of its list */
    struct et_text text; /* of texts and lists */
    bool is_joined;      /* a list that was put together, and is the last that was */
    uint64_t bits;       /* of numbers */
};

/* SUTRA_SYSTEM: out of memory. */
enum sutra_status et_fill_begin(struct et_filler *filler, struct et_nodes *nodes, struct sutra_error *error);

/* Makes room for what filler->n has counted, and begins the second pass. */
enum sutra_status et_fill_room(struct et_filler *filler, struct sutra_error *error);

/* Whether a slim filler keeps the next attribute, of this name; what it does not keep need not be read. */
bool et_fill_wants(struct et_filler *filler, const char *bytes, size_t length);

/* A part's second pass, behind so much; to be freed. False: out of memory. */
bool et_fill_part(struct et_filler *part, struct et_nodes *nodes, const struct et_totals *before);
void et_fill_part_free(struct et_filler *part);

/* Gives the names that a part, which began behind `before`, has met first their numbers. False: out of memory. */
bool et_fill_join(struct et_filler *part, const struct et_totals *before);

/* All of two. */
struct et_totals et_totals_add(struct et_totals a, struct et_totals b);

/* Of the current node, until et_fill_node() ends it. */
void et_fill_ctrl(struct et_filler *filler, uint64_t id);
void et_fill_data(struct et_filler *filler, uint64_t id);
void et_fill_attribute(struct et_filler *filler, const struct et_attribute *attribute);
void et_fill_node(struct et_filler *filler, const struct et_node *node);

/* Puts a further piece of a list behind what the attribute has of it. O(bytes of the piece). */
void et_fill_list(struct et_filler *filler, struct et_attribute *attribute, struct et_text piece);

/* Of the metadata. */
void et_fill_metadata(struct et_filler *filler, const struct et_attribute *attribute);

/* Whether memory ran out in the second pass. */
bool et_fill_failed(const struct et_filler *filler);

#endif
