/*
 * json_copy.h - from tokens of a checked JSON text to the text that Python's json.dump(x, f, indent=4) writes.
 *
 * Values are walked without recursion and written straight into a buffer. Of repeated keys in an object the first place
 * and the last value stay, as in Python. Cost: O(bytes written), and O(k log k) for an object of k keys.
 */
#ifndef WRITE_JSON_COPY_H
#define WRITE_JSON_COPY_H

#include <stdbool.h>

#include "base/memory.h"
#include "columns/numbers.h"
#include "read/device_trace.h"
#include "read/document.h"
#include "read/json.h"
#include "read/repeated_text.h"
#include "write/text.h"

/*
 * The text of an output before and behind the elements of a document's array.
 *
 *     head   {"schema": "1.0.1", "nodes": [
 *     tail   ], "finish_ts": 1}
 */

/* Appends the document's text around its array, which is `empty` or not, to head and tail; false: out of memory. */
bool document_frame(const struct document *document, bool empty, struct buffer *head, struct buffer *tail);

/*
 * Writing a device trace once more with something added: its bytes are copied as they are.
 */

/* Copies the file's bytes from *from to `to`, in pieces. */
void trace_copy_to(const struct sutra_device_trace *trace, struct text_out *text, size_t *from, size_t to);

/* Copies a number or string as it stands in the file; what is neither becomes 0 or 1. */
void trace_copy_value(const struct sutra_device_trace *trace, struct text_out *text, struct json_place place);

/* Where the last of the events ends, of which there must be one: at the closing bracket of the array, or white space
 * before it. */
size_t trace_events_end(const struct sutra_device_trace *trace);

/* Where an event ends, behind which only white space and a comma stand before the next one. O(white space), but for the
 * last one O(length). */
size_t trace_event_end(const struct sutra_device_trace *trace, row_t event);

/* A member of an object as it stands in the output. */
struct emitted_member {
    uint64_t tag;      /* equal keys have equal tags */
    size_t start, end; /* from the key's quote to behind the value, in the buffer */
    size_t key;        /* length of the key's text, without quotes */
};

struct emitted_members {
    struct emitted_member *list;
    size_t n, capacity;
};

/* Longest text of a value that is kept, and how many are. */
#define EMITTED_BYTES  480
#define EMITTED_VALUES 512

/* A list or object as it was written at a level: where its bytes come again, they are written alike. */
struct emitted_value {
    struct seen_value seen;
    unsigned level;
    unsigned length;
    char text[EMITTED_BYTES];
};

struct json_emitter {
    struct buffer *out;
    struct emitted_value *values;   /* EMITTED_VALUES of them, of one text, each at its slot; NULL: none are kept */
    struct emitted_members members; /* of all open objects, the innermost last */
    struct buffer scratch;
    bool failed; /* out of memory; the buffer has a flag of its own */
};

void json_emitter_free(struct json_emitter *emitter);

/* Writes the value at the walker, whose members stand at `level` + 1, and steps behind it. */
void emit_value(struct json_emitter *emitter, struct json_walker *walker, unsigned level);

/* Writes a key at the walker's `key` with its colon and remembers the member; end_member() when its value is written.
 */
void emit_member_key(struct json_emitter *emitter, const struct json_walker *walker, struct json_place key);
void end_member(struct json_emitter *emitter);

/* Of members with equal keys from `first` on, keeps the first place with the text of the last. True if there were any.
 */
bool merge_members(struct json_emitter *emitter, size_t first);

/* A number as Python writes it: true and false for booleans. */
void emit_number(struct buffer *out, struct number number);

/* A line end and four spaces for each level. */
void emit_newline(struct buffer *out, unsigned level);

/*
 * The text of one node of the output: an object of either trace with some of its members changed.
 */

/* A member's new value: a number, or a value of a document. */
struct member_change {
    const char *key;
    const struct document *document; /* NULL: `number` */
    size_t at;                       /* where the value stands in the document */
    struct number number;
};

#define MEMBER_CHANGES_MAX 16

/* What is kept between nodes. Zero-initialise. */
struct node_rewriter {
    struct buffer text;
    struct json_emitter emitter;
    bool failed; /* out of memory */
};

/* Appends the object at `at` of the document. Changed members stay where they are; those that the object lacks come
 * behind all others, in the order of the changes. */
void node_rewrite(struct node_rewriter *rewriter, const struct document *document, size_t at,
                  const struct member_change *changes, size_t n, struct buffer *out);
void node_rewriter_free(struct node_rewriter *rewriter);

/*
 * How the members of a node stand in the text of ET+: three levels deep (document, list of nodes,
 * node), each on a line of its own.
 */

/* Level of a node's brackets; its members stand one deeper. */
#define NODE_LEVEL 2

/* Between two members, and, without its comma, before the first. */
#define NODE_SEPARATOR        ",\n            "
#define NODE_SEPARATOR_LENGTH (sizeof NODE_SEPARATOR - 1)

/* Writes what stands before a member: the separator, without its comma before the first one. */
static inline void node_separate(struct buffer *out, bool first) {
    static const char separator[] = NODE_SEPARATOR;
    buffer_append(out, separator + first, NODE_SEPARATOR_LENGTH - first);
}

/* Copies members [begin, end) of a node whose text, with a separator before each member, is in `text`. Before each
 * comes its separator; they go in one piece where they stand one behind the other, as they do unless keys were
 * repeated. */
void node_copy_members(const struct emitted_members *members, size_t begin, size_t end, const struct buffer *text,
                       struct buffer *out);

#endif
