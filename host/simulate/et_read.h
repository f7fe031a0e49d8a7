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

#include "base/pool.h"
#include "read/source.h"
#include "simulate/et_nodes.h"

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
