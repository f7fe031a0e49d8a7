/*
 * json_copy.h - converts checked JSON text to the text that Python's json.dump(x, f, indent=4) writes.
 *
 * Values are walked without recursion and written directly into a buffer. Of repeated keys in an object the first
 * position and the last value are kept, as in Python. Cost: O(bytes written), and O(k log k) for an object of k keys.
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
 * ---- The text before and after the elements of a document's array ----
 *
 *     head   {"schema": "1.0.1", "nodes": [
 *     tail   ], "finish_ts": 1}
 */

/* Appends the document's text before and after its array to head and tail; false: out of memory. */
bool document_frame(const struct document *document, bool empty, struct buffer *head, struct buffer *tail);

/* ---- Copies of a device trace with additions: its bytes are unchanged ---- */

/* Copies the file's bytes from *from to `to`, in pieces. */
void trace_copy_to(const struct sutra_device_trace *trace, struct text_out *text, size_t *from, size_t to);

/* Copies a number or string unchanged; other values become 0 or 1. */
void trace_copy_value(const struct sutra_device_trace *trace, struct text_out *text, struct json_span place);

/* The end of the last event (there must be one): at the closing bracket of the array, or white space before it. */
size_t trace_events_end(const struct sutra_device_trace *trace);

/* The end of an event: only white space and a comma are between it and the next event. O(white space), for the last
 * event O(length). */
size_t trace_event_end(const struct sutra_device_trace *trace, row_t event);

/* ---- Values ---- */

/* A member of an object in the output. */
struct emitted_member {
    uint64_t tag;      /* equal keys have equal tags */
    size_t start, end; /* from the key's quote to the byte after the value, in the buffer */
    size_t key;        /* length of the key's text, without quotes */
};

struct emitted_members {
    struct emitted_member *list;
    size_t n, capacity;
};

/* Cached outputs of values: longest text, and number. */
#define EMITTED_BYTES  480
#define EMITTED_VALUES 512

/* The output of a list or object at a level, for values with equal bytes. */
struct emitted_value {
    struct cached_value seen;
    unsigned level;
    unsigned length;
    char text[EMITTED_BYTES];
};

struct json_emitter {
    struct buffer *out;
    struct emitted_value *values;   /* EMITTED_VALUES slots, for one text; NULL: no cache */
    struct emitted_members members; /* of all open objects, the innermost last */
    struct buffer scratch;
    bool failed; /* out of memory; the buffer has a flag of its own */
};

void json_emitter_free(struct json_emitter *emitter);

/* Writes the value at the walker, whose members have `level` + 1, and steps over it. */
void emit_value(struct json_emitter *emitter, struct json_walker *walker, unsigned level);

/* Writes the key `key` with its colon and adds the member; call end_member() after its value is written. */
void emit_member_key(struct json_emitter *emitter, const struct json_walker *walker, struct json_span key);
void end_member(struct json_emitter *emitter);

/* Of members with equal keys from `first` on, keeps the first position with the text of the last. True: keys repeat. */
bool merge_members(struct json_emitter *emitter, size_t first);

/* A number as Python writes it: true and false for booleans. */
void emit_number(struct buffer *out, struct number number);

/* A line break and four spaces per level. */
void emit_newline(struct buffer *out, unsigned level);

/* ---- Nodes of the output: an object of either trace with some of its members changed ---- */

/* A member's new value: a number, or a value of a document. */
struct member_change {
    const char *key;
    const struct document *document; /* NULL: `number` */
    size_t at;                       /* offset of the value in the document */
    struct number number;
};

#define MEMBER_CHANGES_MAX 16

/* Buffers that nodes reuse. Zero-initialize. */
struct node_rewriter {
    struct buffer text;
    struct json_emitter emitter;
    bool failed; /* out of memory */
};

/* Appends the object at `at` of the document. Changed members keep their position; new members follow all others, in
 * the order of the changes. */
void node_rewrite(struct node_rewriter *rewriter, const struct document *document, size_t at,
                  const struct member_change *changes, size_t n, struct buffer *out);
void node_rewriter_free(struct node_rewriter *rewriter);

/* Level of a node's brackets in ET+ (document, list of nodes, node); each member has a line of its own, one level
 * deeper. */
#define NODE_LEVEL 2

/* Text between two members, and, without its comma, before the first. */
#define NODE_SEPARATOR        ",\n            "
#define NODE_SEPARATOR_LENGTH (sizeof NODE_SEPARATOR - 1)

/* Writes the separator before a member. */
static inline void node_separate(struct buffer *out, bool first) {
    static const char separator[] = NODE_SEPARATOR;
    buffer_append(out, separator + first, NODE_SEPARATOR_LENGTH - first);
}

/* Copies members [begin, end) of a node, whose text with a separator before each member is in `text`. Members that are
 * adjacent there, all unless keys repeat, are copied in one piece. */
void node_copy_members(const struct emitted_members *members, size_t begin, size_t end, const struct buffer *text,
                       struct buffer *out);

#endif
