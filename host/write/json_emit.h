/*
 * json_emit.h - from tokens of a checked JSON text to the text that Python's json.dump(x, f, indent=4) writes.
 *
 * Values are walked without recursion and written straight into a buffer. Of repeated keys in an object the first place
 * and the last value stay, as in Python. Cost: O(bytes written), and O(k log k) for an object of k keys.
 */
#ifndef WRITE_JSON_EMIT_H
#define WRITE_JSON_EMIT_H

#include "base/buffer.h"
#include "columns/number.h"
#include "read/json_walk.h"
#include "read/seen_values.h"

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

#endif
