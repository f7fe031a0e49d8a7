/*
 * et_file.h - reads Chakra's .et files into columns (et_format.h), and writes them.
 *
 *     file      (length, message) (length, message) ...      lengths are varints
 *               GlobalMetadata    Node               ...
 *
 * Fields are read as protobuf does: unknown fields are skipped, of repeated single fields the last counts, numbers may
 * be packed or not, texts must be UTF-8. Messages end as in Chakra's own readers: at the end of the file, at a
 * truncated length, or at the first length 0; a last message that is shorter than its length is read as it is. Two
 * passes, one to check and count, one to fill, each in parallel parts. Cost: O(bytes), without recursion.
 */
#ifndef SIMULATE_ET_FILE_H
#define SIMULATE_ET_FILE_H

#include "base/threads.h"
#include "read/source.h"
#include "simulate/et_format.h"
#include "sutra/simulate.h"
#include "write/text.h"

#define ET_NOWHERE UINT64_MAX

struct et_file {
    struct source source; /* contains the texts of the columns */
    struct et_nodes nodes;
    bool has_metadata;         /* there is a first message */
    uint64_t cut_at;           /* offset of a message or length that the end of the file truncates, or ET_NOWHERE */
    uint64_t empty_at;         /* offset of a length 0 that ends the messages, or ET_NOWHERE */
    struct sutra_error damage; /* ET_TOLERANT: the error that ended the messages, or SUTRA_OK */
};

enum et_reading {
    ET_WHOLE,
    ET_TOLERANT, /* read the messages before the first malformed one; `damage` is the error. Without ET_TOLERANT it is
                  * the error of et_read() */
    ET_SLIM, /* only fields that a simulator needs, by the first name of each attribute; other fields are skipped and
              * may be malformed */
};

/* Reads the bytes of `file->source`, which the caller has opened and frees with the file in any case. SUTRA_DATA:
 * malformed; the error has the byte and the node. SUTRA_SYSTEM: out of memory. */
enum sutra_status et_read(struct et_file *file, enum et_reading how, struct pool *pool, struct sutra_error *error);
void et_file_free(struct et_file *file);

/* Opens a file for et_read(). SUTRA_DATA: not an .et file. */
enum sutra_status et_open(struct et_file *file, const char *path, uint64_t most, struct sutra_error *error);

/* Whether the bytes begin like an .et file: with a message that can only be a GlobalMetadata. */
bool is_et_file(const char *bytes, size_t size);

/* Whether a file with these first bytes may be an .et file with content: its first message is well-formed as far as
 * the bytes go, and the first two are not both empty. */
bool et_may_begin(const char *bytes, size_t size);

/*
 * ---- JSON (et_json.c): the messages of an .et file as protobuf's MessageToJson writes them ----
 *
 * Names are in lower camel case, fields ascend by number without empty or zero fields, integers of 64 bits are strings,
 * bytes are in base64.
 *
 *     ET_JSON_CHAKRA   objects indented by 2, one directly after the other, as chakra_jsonizer writes them
 *     ET_JSON_LINES    one object per line, the metadata first:
 *
 *     {"attr": [{"name": "schema", "stringVal": "1.1.1-chakra.0.0.4"}]}
 *     {"id": "1", "name": "aten::mm", "type": "COMP_NODE", "ctrlDeps": ["7"], "attr": [...]}
 */

enum et_json_layout { ET_JSON_CHAKRA, ET_JSON_LINES };

void et_json_metadata(const struct et_nodes *nodes, enum et_json_layout layout, struct text_out *text);
void et_json_node(const struct et_nodes *nodes, row_t row, enum et_json_layout layout, struct text_out *text);

/*
 * ---- Output (et_write.c) ----
 *
 * The bytes equal the output of Google's own writer: fields ascend by number, without empty and zero fields, but with
 * each set member of a oneof; lists of ids are packed; varints have the minimum length.
 */

/* Appends a node, or GlobalMetadata, after its length. Out of memory: out->failed. */
void et_write_node(const struct et_nodes *nodes, row_t row, struct buffer *out);
void et_write_metadata(const struct et_nodes *nodes, struct buffer *out);

/* Nodes that are made while they are written: encode() appends the nodes from `first` up to `end`, on any thread. It
 * returns false if memory ran out. `nodes` is the argument of et_write(). */
struct et_supply {
    row_t n;
    const void *of;
    bool (*encode)(const void *of, const struct et_nodes *nodes, row_t first, row_t end, struct buffer *out);
};

/* Writes the file atomically: a temporary file, then renamed. "-" is standard output; a name that ends in .gz or .zst
 * is compressed. The threads of the context encode nodes in pieces; the bytes are the same for any number of threads.
 * With a supply (else NULL) it encodes the nodes, and `nodes` has the metadata.
 * *n_bytes (may be NULL): bytes written, before compression. SUTRA_NO_OUTPUT, SUTRA_IO, SUTRA_SYSTEM. */
enum sutra_status et_write(const struct et_nodes *nodes, const struct et_supply *supply, struct sutra_context *context,
                           const char *path, uint64_t *n_bytes, struct sutra_error *error);

struct sutra_et {
    struct et_file file;
    struct arena info; /* texts of the last sutra_et_info() */
};

#endif
