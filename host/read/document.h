/*
 * document.h - a trace file as a whole: one object, of whose members one is a long array that is read in parts.
 *
 *     {"schema": "...", "nodes": [ {..}, {..}, {..}, {..}, {..} ], "finish_ts": 1}
 *                                  |--- part 0 --|--- part 1 --|
 *
 * Parts are walked in parallel; an element belongs to the part in whose chunk of the index the comma before it stands.
 * Where a chunk begins in the nesting is known if the text is well-formed; if it is not, the parts do not meet, and the
 * array is walked once more in one part, which finds the place of the mistake.
 */
#ifndef READ_DOCUMENT_H
#define READ_DOCUMENT_H

#include <string.h>

#include "context/context.h"
#include "read/json_index.h"
#include "read/json_walk.h"
#include "read/source.h"

/* A member of the top-level object. */
struct document_member {
    struct json_place key;
    size_t value; /* where its value begins */
};

struct document {
    struct source source;
    struct json_index index;
    struct document_member *members; /* in file order, repeated keys included */
    size_t n_members, members_capacity;
    size_t array; /* the last member of the array's name that is an array, or SIZE_MAX */
};

/* Who reads the array. */
struct document_reader {
    const char *array; /* its key; NULL: no array is read, and nothing below is called */
    const char *kind;  /* what a file with this array is called, and the other kind with its array */
    const char *other_array, *other_kind;
    const char *index_stage, *read_stage;
    void *arg;
    /* The array begins; n_parts parts will come, perhaps not all. Called again when a later member of the same name
     * replaces it, or when parts must be walked once more. SUTRA_SYSTEM: out of memory. */
    enum sutra_status (*begin)(void *arg, size_t n_parts, struct sutra_error *error);
    /* Walks one element, at the walker; called by one thread for each part. Errors go into the walker. */
    void (*element)(void *arg, size_t part, struct json_walker *walker);
    /* Parts from n_parts on hold nothing: what they took in lies behind the array. */
    void (*end)(void *arg, size_t n_parts);
};

/* Indexes the source, which the document then owns (also when this fails), and walks all of it.
 * SUTRA_DATA: malformed; SUTRA_SYSTEM: out of memory. */
enum sutra_status document_read(struct document *document, struct sutra_context *context,
                                const struct document_reader *reader, struct sutra_error *error);
void document_free(struct document *document);

/* Whether the reader's array is there and an array; the error else names the kind that the file is of. */
enum sutra_status document_check_kind(const struct document *document, const struct document_reader *reader,
                                      struct sutra_error *error);

/* The last member with this name, or NULL. */
const struct document_member *document_find(const struct document *document, const char *name);

/* The value of a member of the object at byte `at` of a document that was read; at 0 where there is none, or no object.
 * Of repeated names the last counts. O(length of the object). */
struct json_place document_member_of(const struct document *document, size_t at, const char *name);

/* Whether the raw text of a string, which has escapes, stands for `name`. */
bool escaped_is(const char *raw, size_t length, const char *name);

/* Whether the raw text at a place, a string, stands for `name`; escapes are read. */
static inline bool place_is(const struct source *source, struct json_place place, const char *name) {
    const char *raw = source->bytes + place.at + 1;
    size_t length = place.end - place.at - 1, wanted = strlen(name);
    if (length == wanted)
        return memcmp(raw, name, wanted) == 0;
    return length > wanted && length <= 6 * wanted && memchr(raw, '\\', length) && escaped_is(raw, length, name);
}

#endif
