/*
 * et_read.h - reading a Chakra .et file: bytes in, columns (et_nodes.h) out.
 *
 *     file      (length, message) (length, message) ...      lengths are varints
 *               GlobalMetadata    Node               ...
 *
 * What protobuf reads is read as protobuf does: unknown fields are stepped over, of repeated single fields the last
 * counts, numbers may be packed or not, texts must be UTF-8. Where the messages end is told as Chakra's own readers do:
 * at the end of the file, at a length that is cut off, or at the first length 0; a last message that is shorter than
 * its length is read as it is. Two passes, one to check and count, one to fill, each in parts side by side. Cost:
 * O(bytes), without recursion.
 */
#ifndef SIMULATE_ET_READ_H
#define SIMULATE_ET_READ_H

#include "base/threads.h"
#include "read/source.h"
#include "simulate/et_format.h"

/*
 * Filling the columns of an .et file by readers of any format, in two passes over the same code: the first
 * counts, the second puts what it reads where the first has made room.
 *
 *     et_fill_begin   -->   a pass   -->   et_fill_room   -->   the same pass again  
 *
 * Parts of a file may be filled side by side: each part has a filler for its first pass, whose counts are added up;
 * what stands before a part is where its second pass begins (et_fill_part). Names that no part knows are numbered when
 * all are filled, in the order of the parts.
 */

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

/* Of the current node, until et_fill_node() ends it. */
void et_fill_ctrl(struct et_filler *filler, uint64_t id);
void et_fill_data(struct et_filler *filler, uint64_t id);
void et_fill_attribute(struct et_filler *filler, const struct et_attribute *attribute);
void et_fill_node(struct et_filler *filler, const struct et_node *node);

/* Of the metadata. */
void et_fill_metadata(struct et_filler *filler, const struct et_attribute *attribute);

/* Whether memory ran out in the second pass. */
bool et_fill_failed(const struct et_filler *filler);

#define ET_NOWHERE UINT64_MAX

struct et_file {
    struct source source; /* the texts of the columns stand here */
    struct et_nodes nodes;
    bool has_metadata;         /* there is a first message */
    uint64_t cut_at;           /* where a message or a length begins that the end of the file cuts off, or ET_NOWHERE */
    uint64_t empty_at;         /* where a length 0 ends the messages, or ET_NOWHERE */
    struct sutra_error damage; /* what ended the messages, where they were read as far as possible; else SUTRA_OK */
};

enum et_reading {
    ET_WHOLE,
    ET_TOLERANT, /* messages before which nothing is malformed are taken, and `damage` tells the rest; else that is the
                  * error */
    ET_SLIM, /* only what a simulator needs, by the first name of each attribute; what is not needed is stepped over,
                  * and may be malformed */
};

/* Reads the bytes of `file->source`, which the caller has opened and frees with the file in any case. SUTRA_DATA:
 * malformed; the error has the byte and the node. SUTRA_SYSTEM: out of memory. */
enum sutra_status et_read(struct et_file *file, enum et_reading how, struct pool *pool, struct sutra_error *error);
void et_file_free(struct et_file *file);

/* Opens a file for et_read(). SUTRA_DATA: it begins as no such file does. */
enum sutra_status et_open(struct et_file *file, const char *path, uint64_t most, struct sutra_error *error);

/* Whether the bytes begin as such a file does: with a message that can be nothing but a GlobalMetadata. */
bool et_looks_like(const char *bytes, size_t size);

/* Whether a file that begins with these bytes may be such a file with content: its first message is well-formed as far
 * as the bytes go, and the first two are not both empty. */
bool et_may_begin(const char *bytes, size_t size);

#endif
