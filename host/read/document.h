/*
 * document.h - a trace file as a whole: one object, of whose members one is a long array that is read in parts.
 *
 *     {"schema": "...", "nodes": [ {..}, {..}, {..}, {..}, {..} ], "finish_ts": 1}
 *                                  |----- part 0 -----|- part 1-|
 *
 * Parts are walked in parallel. Each begins with an element that begins as the first one does, {"ph" for instance,
 * behind a comma: in well-formed JSON that cannot stand inside a string. Where it is an object inside an element, or
 * the text is malformed, the parts do not meet, and the array is walked once more in one part. Of several mistakes the
 * first in the file is told: a part counts only if those before it are right.
 *
 * A reader of a format says what an element is. Each part takes its elements in as rows, in columns that all parts
 * share: each has room for somewhat more rows than samples of its text let expect, so that they are moved together in
 * the end without other memory, each column by itself:
 *
 *     | part 0 ... - | part 1 .... -- | part 2 ... - |   -->   | part 0 ... | part 1 .... | part 2 ... |
 *
 * A part that needs more room takes columns of its own; then all rows are copied into new ones. When all rows are there
 * and numbered in the order of the file, the reader joins what parts have in common:
 *
 *     element() ... element()  in each part  -->  join()  once  -->  finish()  for each part  -->  take()  once
 */
#ifndef READ_DOCUMENT_H
#define READ_DOCUMENT_H

#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "columns/column.h"
#include "columns/numbers.h"
#include "columns/row.h"
#include "columns/strings.h"
#include "context/context.h"
#include "read/json.h"
#include "read/source.h"

/*
 * Reading values of the kinds that traces hold, from their place in the text.
 *
 * A field is found first and read later, since in Python the last of repeated keys counts. Each reader returns false
 * for a value of another kind, with nothing changed.
 */

/* What reading fields needs besides the text; one for each thread. */
struct field_reader {
    const struct source *source;
    struct values *values;
    struct buffer scratch; /* a decoded string */
    bool failed;           /* out of memory */
};

/* A time or duration: an integer below NUMBER_INTEGER_LIMIT in magnitude, a double that is not NaN, true or false. */
bool field_number(const char *value, struct number *number);

/* An integer that fits 64 bits. */
bool field_integer(const char *value, int64_t *integer);

/* Any value as an id. Lists and objects give KEY_UNHASHABLE. */
value_key field_key(struct field_reader *reader, struct json_place place);

/* What Python's int() makes of a value, as an id; false where int() would raise an exception. */
bool field_int(struct field_reader *reader, struct json_place place, value_key *key);

/* A string, decoded into the reader's scratch buffer if it has escapes; valid until the next call. */
const char *field_string(struct field_reader *reader, struct json_place place, size_t *length);

/* A string, interned. STRING_NONE: out of memory. */
uint32_t field_intern(struct field_reader *reader, struct json_place place, struct strings *strings);

/* A member of the top-level object. */
struct document_member {
    struct json_place key;
    size_t value; /* where its value begins */
};

struct document {
    struct source source;
    struct document_member *members; /* in file order, repeated keys included */
    size_t n_members, members_capacity;
    size_t array; /* the last member of the array's name that is an array, or SIZE_MAX */
};

struct document_reader;

/* One part of the array; a reader's own begins with it. */
struct document_part {
    struct field_reader fields;
    const struct document_reader *reader;
    void *trace;       /* what is read, as the reader was told */
    row_t n, capacity; /* rows; a reader's columns have room for so many */
    row_t first_row;   /* of this part among those of all */
    size_t first_text; /* where it begins */
    size_t size;       /* of its text, about */
    bool shares;       /* its columns are a piece of those that all parts share */
    bool closed;       /* the array ends in this part, or what is malformed does not let it go on */
    struct json_walker walker;
};

/* All parts. */
struct document_parts {
    struct document *document;
    struct sutra_context *context;
    const struct document_reader *reader;
    void *trace;
    char *list; /* what the reader makes of a part: n of them, one that has the columns which these share, and one whose
                   columns are those of all rows in the end */
    size_t n;
    row_t n_rows;
    size_t open;      /* the array's opening bracket */
    size_t beginning; /* bytes of an element's beginning that parts are looked for by, or 0 */
    size_t *begins;   /* where each part begins: the first at the bracket, others at an element */
    row_t *expected;  /* rows of each, less than ROW_LIMIT in all; there may be more */
};

/* How a format is read. */
struct document_reader {
    const char *array; /* the array's key; NULL: none is read, and but for the stage nothing below counts */
    const char *kind;  /* what a file with this array is called, and the other kind with its array */
    const char *other_array, *other_kind;
    const char *too_many; /* what there can be too many of, and what to do then: "nodes" */
    bool as_it_is;        /* text that is no JSON is not mended, also where the context is lenient */
    bool looks_only;      /* what is mended is told when the trace is read */
    bool empty_counts;    /* an empty object or string in the array's place stands for an empty array */
    const char *open_stage, *read_stage, *join_stage;
    size_t part_size;                  /* sizeof the reader's part */
    const struct column_form *columns; /* of rows */
    size_t n_columns, columns_at;      /* where in a part the struct is that has them */
    /* A part begins, all zeros but for what all parts have. False: out of memory. */
    bool (*begin)(struct document_part *part);
    /* Walks one element, at the walker, and makes a row of it if document_row() lets it. Errors go into the walker. */
    void (*element)(struct document_part *part, struct json_walker *walker);
    /* All is well-formed and numbered; parts without rows hold nothing that counts. */
    enum sutra_status (*join)(struct document_parts *parts, struct sutra_error *error);
    /* Changes what joining has changed for a part's rows, by any thread; NULL: nothing. */
    void (*finish)(struct document_part *part);
    /* Takes over the columns of all rows, which are those of this part. */
    void (*take)(struct document_part *all);
    /* Frees what a part has but its columns. */
    void (*free)(struct document_part *part);
};

static inline void *document_part_at(const struct document_parts *parts, size_t i) {
    return parts->list + i * parts->reader->part_size;
}

bool document_make_room(struct document_part *part, size_t at);

/* Whether there is room for one more row, whose element begins at byte `at`; then it is part->n, which the caller
 * counts up. Without memory the part fails. */
static inline bool document_row(struct document_part *part, size_t at) {
    return !part->fields.failed && (part->n < part->capacity || document_make_room(part, at));
}

/* Where the bytes of a document come from: the file `name`, or memory. */
struct document_input {
    const char *name;
    bool in_memory;
    const void *bytes;
    size_t size;
};

/* Reads a document of the reader's format, whose text is mended (mend.h) if it is no JSON and the context is lenient,
 * into its parts and from there into `trace`. The document is the caller's also when this fails. SUTRA_NO_INPUT: cannot
 * be read. SUTRA_DATA: malformed, another kind, too many rows. SUTRA_SYSTEM: out of memory. */
enum sutra_status document_read_rows(struct document *document, struct sutra_context *context,
                                     const struct document_reader *reader, const struct document_input *input,
                                     void *trace, struct sutra_error *error);

/* Opens a document's source; a lenient context takes what is there of compressed bytes that are damaged or cut off. */
enum sutra_status document_open(struct document *document, struct sutra_context *context, const char *path,
                                struct sutra_error *error);

/* Walks all of the source, which the document then owns (also when this fails), for the stage of a reader without an
 * array. SUTRA_DATA: malformed; SUTRA_SYSTEM: out of memory. */
enum sutra_status document_read(struct document *document, struct sutra_context *context,
                                const struct document_reader *reader, struct sutra_error *error);
void document_free(struct document *document);

/* The last member with this name, or NULL. */
const struct document_member *document_find(const struct document *document, const char *name);

/* Whether this is ET+: the first of its nodes have durations, as those of a host trace have not. O(1). The same of the
 * text of a host trace from its nodes on. */
bool nodes_have_durations(const char *bytes, size_t size);
bool document_is_linked(const struct document *document);

/* The value of a member of the object at byte `at` of a document that was read; at 0 where there is none, or no object.
 * Of repeated names the last counts. O(length of the object). */
struct json_place document_member_of(const struct document *document, size_t at, const char *name);

/* Whether the raw text of a string, which has escapes, stands for `name`. */
bool escaped_is(const char *raw, size_t length, const char *name);

/* Whether the raw text at a place, a string, stands for `name`; escapes are read. */
static inline bool place_is(const struct source *source, struct json_place place, const char *name) {
    const char *raw = source->bytes + place.at + 1;
    if (*raw != *name && *raw != '\\' && *name) /* most often */
        return false;
    size_t length = place.end - place.at - 1, wanted = strlen(name);
    if (length == wanted)
        return memcmp(raw, name, wanted) == 0;
    return length > wanted && length <= 6 * wanted && memchr(raw, '\\', length) && escaped_is(raw, length, name);
}

/*
 * Into which parts a document's array is cut, for threads to walk.
 */

/* Finds where parts begin, of which there are parts->n then, one if one is wanted, and what rows each may expect; both
 * are the caller's, also on failure. False: out of memory. Cost: some of the text is looked at. */
bool document_cut(struct document_parts *parts, bool one);

/*
 * An attribute of a node of later schemas: {"name": "rf_id", "type": "uint64", "value": 883}.
 */

struct attribute_places {
    struct json_place name, value; /* absent where `at` is 0 */
};

/* Walks an attribute, an object. */
static inline struct attribute_places walk_any_attribute(struct json_walker *walker) {
    struct attribute_places found = {0};
    for (bool more = walk_object(walker); more; more = walk_member_end(walker)) {
        struct json_place key = walk_key(walker);
        if (!key.at)
            break;
        struct json_place place = walk_value(walker);
        if (place_is(walker->source, key, "name"))
            found.name = place;
        else if (place_is(walker->source, key, "value"))
            found.value = place;
    }
    return found;
}

/* The same; the place of its value if it has this name. */
static inline struct json_place walk_attribute(struct json_walker *walker, const char *wanted) {
    struct attribute_places found = walk_any_attribute(walker);
    bool is_it = found.name.end && place_is(walker->source, found.name, wanted);
    return is_it ? found.value : (struct json_place){0};
}

#endif
