/*
 * document.h - reads a trace file: one object, whose longest member is an array that is walked in parallel parts.
 *
 *     {"schema": "...", "nodes": [ {..}, {..}, {..}, {..}, {..} ], "finish_ts": 1}
 *                                  |----- part 0 -----|- part 1-|
 *
 * Each part begins, after a comma, with an element that begins as the first one does, for instance with {"ph": in
 * well-formed JSON these bytes cannot occur inside a string. If they begin an object inside an element, or the text is
 * malformed, a part does not end where the next one begins, and the array is walked once more in one part. A part
 * counts only if all earlier parts are correct, so the first error in the file is reported.
 *
 * A reader of a format defines the elements. Each part reads its elements as rows, into columns that all parts share.
 * By samples of its text, each part has room for slightly more rows than expected, so that all rows are joined at the
 * end without other memory, each column by itself:
 *
 *     | part 0 ... - | part 1 .... -- | part 2 ... - |   -->   | part 0 ... | part 1 .... | part 2 ... |
 *
 * A part that needs more room allocates its own columns; then all rows are copied into new ones. A reader calls, in
 * this order:
 *
 *     source_read()    opens the input
 *     document_walk()  element() ... element() in each part; numbers the rows in file order
 *     (the reader)     joins the data that parts have in common, such as strings
 *     document_join()  finish() for each part; joins the columns, which the reader then takes
 *     document_end()   frees the parts
 */
#ifndef READ_DOCUMENT_H
#define READ_DOCUMENT_H

#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "columns/column.h"
#include "columns/numbers.h"
#include "columns/strings.h"
#include "context/context.h"
#include "read/json.h"
#include "read/source.h"

/*
 * ---- Values ----
 *
 * A field is found first and read later, since in Python the last of repeated keys counts. Each function returns false
 * for a value of another type, with nothing changed.
 */

/* State for reading values; one per thread. */
struct field_reader {
    const struct source *source;
    struct values *values;
    struct buffer scratch; /* a decoded string */
    bool failed;           /* out of memory */
};

/* A time or duration: an integer below NUMBER_INTEGER_LIMIT in magnitude, a double that is not NaN, true or false. */
bool field_number(const char *value, struct number *number);

/* The same of a time, which may be a string that contains a number. */
bool field_time(const char *value, struct number *number);

/* An integer that fits 64 bits. */
bool field_integer(const char *value, int64_t *integer);

/* Any value as an id. Lists and objects give KEY_UNHASHABLE. */
value_key field_key(struct field_reader *reader, struct json_span place);

/* The result of Python's int() for a value, as an id; false if int() raises an exception. */
bool field_int(struct field_reader *reader, struct json_span place, value_key *key);

/* A string, decoded into the reader's scratch buffer if it has escapes; valid until the next call. */
const char *field_string(struct field_reader *reader, struct json_span place, size_t *length);

/* A string, interned. STRING_NONE: out of memory. */
uint32_t field_intern(struct field_reader *reader, struct json_span place, struct strings *strings);

/* A member of the top-level object. */
struct document_member {
    struct json_span key;
    size_t value; /* offset of the value */
};

struct document {
    struct source source;
    struct document_member *members; /* in file order, repeated keys included */
    size_t n_members, members_capacity;
    size_t array;          /* the last member of the array's name that is an array, or SIZE_MAX */
    bool is_array;         /* the document is the array alone, without members */
    bool truncated;        /* its end is missing: a repair, now or when the file was written, marks it (repair.h) */
    uint64_t truncated_at; /* byte of the decompressed file before the repair; 0: unknown */
    bool is_mixed;         /* the repair has skipped another document in the file */
};

struct document_reader;

/* One part of the array; the reader's own struct begins with it. */
struct document_part {
    struct field_reader fields;
    const struct document_reader *reader;
    void *trace;       /* of struct document_parts */
    row_t n, capacity; /* rows; rows that the columns have room for */
    row_t first_row;   /* row number of this part's first row */
    size_t first_text; /* offset of the part */
    size_t size;       /* of its text, estimated */
    bool shares;       /* its columns are a range of the columns that all parts share */
    bool closed;       /* the array ends in this part, or its text is malformed */
    struct json_walker walker;
};

/* All parts. */
struct document_parts {
    struct document *document;
    struct sutra_context *context;
    const struct document_reader *reader;
    void *trace;
    char *list; /* the reader's parts: n of them, one with the shared columns, and one with the columns of all rows */
    size_t n;
    row_t n_rows;
    size_t open;      /* the array's opening bracket */
    size_t beginning; /* length of the bytes that begin an element, or 0 */
    size_t *begins;   /* offset of each part: the first at the bracket, others at an element */
    row_t *expected;  /* rows of each part, fewer than ROW_LIMIT in total; there may be more */
};

/* A format. */
struct document_reader {
    const char *array; /* the array's key; NULL: read no array; then only read_stage and the flags are used */
    const char *kind;  /* name of a file with this array; and the other array with its kind */
    const char *other_array, *other_kind;
    const char *too_many; /* name of the rows, and advice if there are too many: "events: cut the trace" */
    bool bare_array;      /* the array without its object is a document, too */
    bool keeps_malformed; /* do not repair malformed text, even if the context is lenient */
    bool inspects_only;   /* do not warn about repairs: another reader reads the same file */
    bool empty_counts;    /* read an empty object or string as an empty array */
    const char *read_stage, *join_stage;
    size_t part_size;                  /* sizeof the reader's part */
    const struct column_form *columns; /* of rows */
    size_t n_columns, columns_at;      /* offset in a part of the struct with the columns */
    /* Initializes a part, which is zero except for struct document_part. False: out of memory. May be NULL. */
    bool (*begin)(struct document_part *part);
    /* Walks the element at the walker and appends a row if document_row() has room. Errors go into the walker. */
    void (*element)(struct document_part *part, struct json_walker *walker);
    /* Updates a part's rows after the reader joined the data of the parts, on any thread; may be NULL. */
    void (*finish)(struct document_part *part);
    /* Frees a part, except its columns. */
    void (*free)(struct document_part *part);
};

static inline void *document_part_at(const struct document_parts *parts, size_t i) {
    return parts->list + i * parts->reader->part_size;
}

bool document_make_room(struct document_part *part, size_t at);

/* Makes room for one more row, part->n, whose element begins at byte `at`; the caller increments part->n. False: out of
 * memory, and the part has failed. */
static inline bool document_row(struct document_part *part, size_t at) {
    return !part->fields.failed && (part->n < part->capacity || document_make_room(part, at));
}

/* Walks the document, whose source is open, and its array in parts; numbers the rows of the parts. Malformed text is
 * repaired (repair.h) if the context is lenient. document, context, reader and trace are set in *parts; document_end()
 * must follow, and the caller frees the document, also on failure. The reader ignores parts without rows. SUTRA_DATA:
 * malformed, another kind, too many rows. SUTRA_SYSTEM: out of memory. */
enum sutra_status document_walk(struct document_parts *parts, struct sutra_error *error);

/* Joins the rows of the parts. On success *all is the part with the columns of all rows, which the caller takes. */
enum sutra_status document_join(struct document_parts *parts, struct document_part **all, struct sutra_error *error);

/* Frees the parts and ends the stage. */
void document_end(struct document_parts *parts);

/* Walks all of the source for a reader without an array. The document owns the source, also on failure. SUTRA_DATA:
 * malformed; SUTRA_SYSTEM: out of memory. */
enum sutra_status document_read(struct document *document, struct sutra_context *context,
                                const struct document_reader *reader, struct sutra_error *error);
void document_free(struct document *document);

/* The last member with this name, or NULL. */
const struct document_member *document_find(const struct document *document, const char *name);

/* Whether this is ET+: its first nodes have durations; nodes of a host trace have none. O(1). */
bool document_is_linked(const struct document *document);

/* The value of a member of the object at byte `at`; offset 0 if there is no such member or no object. Of repeated names
 * the last counts. O(length of the object). */
struct json_span document_member_of(const struct document *document, size_t at, const char *name);

/* The value of "rank" in "distributedInfo"; offset 0 if it is not recorded. */
struct json_span document_rank(const struct document *document);

/* Whether the raw text of a string with escapes decodes to `name`. */
bool escaped_is(const char *raw, size_t length, const char *name);

/* Whether a string decodes to `name`. */
static inline bool place_is(const struct source *source, struct json_span place, const char *name) {
    const char *raw = source->bytes + place.at + 1;
    if (*raw != *name && *raw != '\\' && *name) /* the most frequent case */
        return false;
    size_t length = place.end - place.at - 1, wanted = strlen(name);
    if (length == wanted)
        return memcmp(raw, name, wanted) == 0;
    return length > wanted && length <= 6 * wanted && memchr(raw, '\\', length) && escaped_is(raw, length, name);
}

/* Finds the start of each part and its expected rows; one part, if `one`. The caller frees both arrays, also on
 * failure. False: out of memory. Cost: reads samples of the text. */
bool document_cut(struct document_parts *parts, bool one);

/* ---- Attributes of nodes of later schemas: {"name": "rf_id", "type": "uint64", "value": 883} ---- */

struct attribute_spans {
    struct json_span name, value; /* absent if `at` is 0 */
};

/* Walks an attribute, an object. */
static inline struct attribute_spans walk_any_attribute(struct json_walker *walker) {
    struct attribute_spans found = {0};
    for (bool more = walk_object(walker); more; more = walk_member_end(walker)) {
        struct json_span key = walk_key(walker);
        if (!key.at)
            break;
        struct json_span place = walk_value(walker);
        if (place_is(walker->source, key, "name"))
            found.name = place;
        else if (place_is(walker->source, key, "value"))
            found.value = place;
    }
    return found;
}

/* Walks an attribute and returns its value if it has this name. */
static inline struct json_span walk_attribute(struct json_walker *walker, const char *wanted) {
    struct attribute_spans found = walk_any_attribute(walker);
    bool is_it = found.name.end && place_is(walker->source, found.name, wanted);
    return is_it ? found.value : (struct json_span){0};
}

#endif
