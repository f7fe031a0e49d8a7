/*
 * file.c - writes columns to a file in Arrow's IPC format (Feather version 2). Source: arrow.apache.org/docs/format and
 * Message.fbs, Schema.fbs and File.fbs of Arrow 15.
 *
 *     "ARROW1" | schema | a batch per dictionary | the batch of rows | end | footer: schema, positions | size | "ARROW1"
 *
 * A message is a flatbuffer, which describes the lengths and positions of buffers, and the buffers themselves. These
 * are written from the memory of the columns. Input: a stream of one batch. Memory: the messages.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/shared.h"
#include "context/context.h"
#include "sutra/columns.h"
#include "write/sink.h"

/*
 * ---- Flatbuffers ----
 *
 * A flatbuffer is made from its end to its beginning, so that references point to what exists. A position is the
 * distance from the end. A table begins with the distance to its list of fields:
 *
 *     | size of the list, size of the table, position of field 0, of field 1 ... | distance to the list, fields |
 */
struct flat {
    char *bytes;
    size_t capacity, used; /* the last bytes are used */
    bool failed;           /* out of memory */
};

/* A position in a flatbuffer; 0: none. */
typedef uint32_t flat_ref;

#define FLAT_FIELDS_MAX 8

/* A table that is being made: its fields are added in any order. */
struct flat_table {
    size_t begin;
    uint32_t field[FLAT_FIELDS_MAX]; /* position of each; 0: absent */
    uint32_t n;
};

static void flat_prepend(struct flat *flat, const void *bytes, size_t n) {
    if (flat->capacity - flat->used < n && !flat->failed) {
        size_t capacity = 2 * (flat->capacity + n) + 1024;
        char *larger = malloc(capacity);
        if (larger && flat->used)
            memcpy(larger + capacity - flat->used, flat->bytes + flat->capacity - flat->used, flat->used);
        if (larger) {
            free(flat->bytes);
            flat->bytes = larger;
            flat->capacity = capacity;
        }
        flat->failed = !larger;
    }
    if (flat->failed || n == 0)
        return;
    flat->used += n;
    memcpy(flat->bytes + flat->capacity - flat->used, bytes, n);
}

/* Pads so that the position is aligned after `n` more bytes. */
static void flat_align(struct flat *flat, size_t alignment, size_t n) {
    static const char zeros[8] = "";
    flat_prepend(flat, zeros, (size_t)(-(flat->used + n)) & (alignment - 1));
}

static void flat_number(struct flat *flat, uint64_t value, size_t size) {
    uint64_t bits = htole64(value);
    flat_prepend(flat, &bits, size);
}

/* A reference to a position. */
static void flat_refer(struct flat *flat, flat_ref to) {
    flat_align(flat, 4, 0);
    flat_number(flat, flat->used + 4 - to, 4);
}

static flat_ref flat_text(struct flat *flat, const char *text, size_t n) {
    flat_align(flat, 4, n + 1);
    flat_prepend(flat, "", 1);
    flat_prepend(flat, text, n);
    flat_number(flat, n, 4);
    return (flat_ref)flat->used;
}

static flat_ref flat_list(struct flat *flat, const flat_ref *refs, size_t n) {
    flat_align(flat, 4, 4 * n);
    for (size_t i = n; i > 0; i--)
        flat_refer(flat, refs[i - 1]);
    flat_number(flat, n, 4);
    return (flat_ref)flat->used;
}

/* Structs of n_words numbers of 64 bits each. */
static flat_ref flat_structs(struct flat *flat, const uint64_t *words, size_t n, size_t n_words) {
    flat_align(flat, 8, 8 * n * n_words);
    for (size_t i = n * n_words; i > 0; i--)
        flat_number(flat, words[i - 1], 8);
    flat_number(flat, n, 4);
    return (flat_ref)flat->used;
}

static struct flat_table flat_begin(const struct flat *flat) {
    return (struct flat_table){.begin = flat->used};
}

static void table_field(struct flat *flat, struct flat_table *table, uint32_t field) {
    table->field[field] = (uint32_t)flat->used;
    table->n = MAX(table->n, field + 1);
}

/* A field of `size` bytes. */
static void table_number(struct flat *flat, struct flat_table *table, uint32_t field, uint64_t value, size_t size) {
    flat_align(flat, size, 0);
    flat_number(flat, value, size);
    table_field(flat, table, field);
}

static void table_refer(struct flat *flat, struct flat_table *table, uint32_t field, flat_ref to) {
    if (!to)
        return;
    flat_refer(flat, to);
    table_field(flat, table, field);
}

static flat_ref flat_end(struct flat *flat, const struct flat_table *table) {
    flat_align(flat, 4, 0);
    flat_number(flat, 2 * (table->n + 2), 4); /* the list is directly before the table */
    size_t position = flat->used;
    for (uint32_t i = table->n; i > 0; i--)
        flat_number(flat, table->field[i - 1] ? position - table->field[i - 1] : 0, 2);
    flat_number(flat, position - table->begin, 2);
    flat_number(flat, 2 * (table->n + 2), 2);
    return (flat_ref)position;
}

static void flat_finish(struct flat *flat, flat_ref root) {
    flat_align(flat, 8, 4);
    flat_refer(flat, root);
}

/* ---- Arrow's types ---- */

enum { VERSION_5 = 4 };
enum { HEADER_SCHEMA = 1, HEADER_DICTIONARY = 2, HEADER_BATCH = 3 };
enum { TYPE_NULL = 1, TYPE_INT = 2, TYPE_REAL = 3, TYPE_TEXT = 5, TYPE_BOOL = 6, TYPE_LIST = 12, TYPE_LARGE_TEXT = 20 };

/* The types of sutra's columns. */
struct column_type {
    char format[4]; /* of the C data interface */
    uint8_t type, bits;
    bool is_signed;
    uint8_t offset_bytes; /* of texts and lists */
};

static const struct column_type column_types[] = {
    {"n", TYPE_NULL, 0, false, 0},  {"b", TYPE_BOOL, 1, false, 0}, {"c", TYPE_INT, 8, true, 0},
    {"i", TYPE_INT, 32, true, 0},   {"I", TYPE_INT, 32, false, 0}, {"l", TYPE_INT, 64, true, 0},
    {"g", TYPE_REAL, 64, true, 0},  {"u", TYPE_TEXT, 8, false, 4}, {"U", TYPE_LARGE_TEXT, 8, false, 8},
    {"+l", TYPE_LIST, 0, false, 4},
};

static const struct column_type *type_of(const char *format) {
    for (size_t i = 0; i < sizeof column_types / sizeof *column_types; i++)
        if (strcmp(column_types[i].format, format) == 0)
            return &column_types[i];
    return NULL;
}

static flat_ref add_type(struct flat *flat, const struct column_type *type) {
    struct flat_table table = flat_begin(flat);
    if (type->type == TYPE_INT) {
        table_number(flat, &table, 0, type->bits, 4);
        table_number(flat, &table, 1, type->is_signed, 1);
    } else if (type->type == TYPE_REAL) {
        table_number(flat, &table, 0, 2, 2); /* double */
    }
    return flat_end(flat, &table);
}

/* The metadata of the C data interface: a number of pairs of texts with their lengths, all int32_t. */
static flat_ref add_metadata(struct flat *flat, const char *metadata) {
    int32_t n, length[2];
    flat_ref pair[2], only;
    if (!metadata)
        return 0;
    memcpy(&n, metadata, sizeof n);
    metadata += sizeof n;
    if (n != 1) /* batches have at most one */
        return 0;
    for (int i = 0; i < 2; i++) {
        memcpy(&length[i], metadata, sizeof length[i]);
        pair[i] = flat_text(flat, metadata + sizeof length[i], (size_t)length[i]);
        metadata += sizeof length[i] + (size_t)length[i];
    }
    struct flat_table table = flat_begin(flat);
    table_refer(flat, &table, 0, pair[0]);
    table_refer(flat, &table, 1, pair[1]);
    only = flat_end(flat, &table);
    return flat_list(flat, &only, 1);
}

/* A column; `dictionary` is the number of its dictionary, if it has one. False: a type that no column has. */
static bool add_field(struct flat *flat, const struct ArrowSchema *schema, uint64_t dictionary, flat_ref *made) {
    const struct column_type *type = type_of(schema->format);
    const struct column_type *value = schema->dictionary ? type_of(schema->dictionary->format) : type;
    flat_ref children = 0, encoding = 0, child;
    if (!type || !value || schema->n_children > 1)
        return false;
    if (schema->n_children) { /* of a list: its items, which have no children */
        if (schema->children[0]->n_children || !add_field(flat, schema->children[0], 0, &child))
            return false;
        children = flat_list(flat, &child, 1);
    }
    if (schema->dictionary) {
        flat_ref index = add_type(flat, type);
        struct flat_table table = flat_begin(flat);
        table_number(flat, &table, 0, dictionary, 8);
        table_refer(flat, &table, 1, index);
        encoding = flat_end(flat, &table);
    }
    flat_ref metadata = add_metadata(flat, schema->metadata), of_type = add_type(flat, value);
    flat_ref name = flat_text(flat, schema->name, strlen(schema->name)), none = flat_list(flat, NULL, 0);
    struct flat_table table = flat_begin(flat);
    table_refer(flat, &table, 0, name);
    table_number(flat, &table, 1, 1, 1); /* nullable */
    table_number(flat, &table, 2, value->type, 1);
    table_refer(flat, &table, 3, of_type);
    table_refer(flat, &table, 4, encoding);
    table_refer(flat, &table, 5, children ? children : none);
    table_refer(flat, &table, 6, metadata);
    *made = flat_end(flat, &table);
    return true;
}

static bool add_schema(struct flat *flat, const struct ArrowSchema *schema, flat_ref *made) {
    flat_ref *fields = malloc((size_t)(schema->n_children + 1) * sizeof *fields);
    bool ok = fields;
    uint64_t dictionary = 0;
    flat->failed |= !fields;
    for (int64_t i = 0; i < schema->n_children && ok; i++) {
        ok = add_field(flat, schema->children[i], dictionary, &fields[i]);
        dictionary += schema->children[i]->dictionary != NULL;
    }
    flat_ref list = ok ? flat_list(flat, fields, (size_t)schema->n_children) : 0;
    struct flat_table table = flat_begin(flat);
    table_number(flat, &table, 0, __BYTE_ORDER == __BIG_ENDIAN, 2);
    table_refer(flat, &table, 1, list);
    *made = flat_end(flat, &table);
    free(fields);
    return ok;
}

/* ---- The buffers of a batch ---- */

/* What a batch consists of: two words per array and per buffer, and the memory of each buffer. */
struct body {
    struct arena arena;
    uint64_t *nodes, *positions; /* length, number of nulls; offset, length */
    const void **memory;
    uint64_t n_nodes, nodes_capacity, n_positions, positions_capacity, memory_capacity;
    uint64_t length;
};

static size_t padded(size_t n) {
    return (n + 63) / 64 * 64;
}

static bool add_buffer(struct body *body, const void *memory, size_t n) {
    if (!arena_grow(&body->arena, &body->positions, body->n_positions, &body->positions_capacity,
                    2 * sizeof *body->positions) ||
        !arena_grow(&body->arena, &body->memory, body->n_positions, &body->memory_capacity, sizeof *body->memory))
        return false;
    n = memory ? n : 0;
    body->positions[2 * body->n_positions] = body->length;
    body->positions[2 * body->n_positions + 1] = n;
    body->memory[body->n_positions++] = memory;
    body->length += padded(n);
    return true;
}

/* An array and its items. The arrays of a batch begin at 0. */
static bool add_array(struct body *body, const struct ArrowSchema *schema, const struct ArrowArray *array) {
    const struct column_type *type = type_of(schema->format);
    if (!arena_grow(&body->arena, &body->nodes, body->n_nodes, &body->nodes_capacity, 2 * sizeof *body->nodes))
        return false;
    size_t n = (size_t)array->length;
    body->nodes[2 * body->n_nodes] = n;
    body->nodes[2 * body->n_nodes++ + 1] = type->type == TYPE_NULL ? n : (uint64_t)array->null_count;
    if (type->type == TYPE_NULL)
        return true;
    if (!add_buffer(body, array->buffers[0], (n + 7) / 8))
        return false;
    const char *values = array->buffers[1];
    if (!type->offset_bytes)
        return add_buffer(body, values, (n * type->bits + 7) / 8);
    if (!add_buffer(body, values, (n + 1) * type->offset_bytes))
        return false;
    if (type->type == TYPE_LIST)
        return add_array(body, schema->children[0], array->children[0]);
    uint64_t end = 0;
    uint32_t short_end = 0;
    if (values && type->offset_bytes == 8)
        memcpy(&end, values + 8 * n, sizeof end);
    else if (values)
        memcpy(&short_end, values + 4 * n, sizeof short_end);
    return add_buffer(body, array->buffers[2], (size_t)(end + short_end));
}

static flat_ref add_batch(struct flat *flat, const struct body *body, uint64_t n_rows) {
    flat_ref buffers = flat_structs(flat, body->positions, body->n_positions, 2);
    flat_ref nodes = flat_structs(flat, body->nodes, body->n_nodes, 2);
    struct flat_table table = flat_begin(flat);
    table_number(flat, &table, 0, n_rows, 8);
    table_refer(flat, &table, 1, nodes);
    table_refer(flat, &table, 2, buffers);
    return flat_end(flat, &table);
}

/* ---- The file ---- */

struct arrow_file {
    struct sink *sink;
    size_t n_pieces;
    uint64_t length;
    struct buffer blocks; /* of three words each: position, length of the metadata, length of the body */
    bool failed;          /* out of memory */
};

static void write_bytes(struct arrow_file *file, const void *bytes, size_t n) {
    if (n)
        sink_write(file->sink, file->n_pieces++, bytes, n);
    file->length += n;
}

/* A message and its buffers. */
static void write_message(struct arrow_file *file, struct flat *flat, uint8_t kind, flat_ref header,
                          const struct body *body) {
    static const char zeros[64] = "";
    struct flat_table table = flat_begin(flat);
    table_number(flat, &table, 3, body ? body->length : 0, 8);
    table_refer(flat, &table, 2, header);
    table_number(flat, &table, 0, VERSION_5, 2);
    table_number(flat, &table, 1, kind, 1);
    flat_finish(flat, flat_end(flat, &table));
    flat_number(flat, flat->used, 4);
    flat_number(flat, UINT32_MAX, 4);
    file->failed |= flat->failed;
    if (flat->failed)
        return;
    uint64_t block[] = {file->length, flat->used, body ? body->length : 0};
    if (body)
        buffer_append(&file->blocks, block, sizeof block);
    write_bytes(file, flat->bytes + flat->capacity - flat->used, flat->used);
    for (uint64_t i = 0; body && i < body->n_positions; i++) {
        size_t n = body->positions[2 * i + 1];
        write_bytes(file, body->memory[i], n);
        write_bytes(file, zeros, padded(n) - n);
    }
}

static void write_footer(struct arrow_file *file, const struct ArrowSchema *schema, size_t n_dictionaries) {
    struct flat flat = {0};
    flat_ref root;
    static const char end[8] = {-1, -1, -1, -1};
    write_bytes(file, end, sizeof end);
    const uint64_t *blocks = (const uint64_t *)(const void *)file->blocks.bytes;
    size_t n = file->blocks.length / (3 * sizeof *blocks);
    flat_ref batches = flat_structs(&flat, blocks + 3 * n_dictionaries, n - n_dictionaries, 3);
    flat_ref dictionaries = flat_structs(&flat, blocks, n_dictionaries, 3);
    add_schema(&flat, schema, &root);
    struct flat_table table = flat_begin(&flat);
    table_refer(&flat, &table, 1, root);
    table_refer(&flat, &table, 2, dictionaries);
    table_refer(&flat, &table, 3, batches);
    table_number(&flat, &table, 0, VERSION_5, 2);
    flat_finish(&flat, flat_end(&flat, &table));
    file->failed |= flat.failed;
    if (!flat.failed) {
        uint32_t size = htole32((uint32_t)flat.used);
        write_bytes(file, flat.bytes + flat.capacity - flat.used, flat.used);
        write_bytes(file, &size, sizeof size);
    }
    write_bytes(file, "ARROW1", 6);
    free(flat.bytes);
}

/* All messages: the schema, the dictionaries, the rows. */
static bool write_messages(struct arrow_file *file, const struct ArrowSchema *schema, const struct ArrowArray *rows) {
    struct flat flat = {0};
    struct body body = {0};
    flat_ref header;
    write_bytes(file, "ARROW1\0", 8);
    bool ok = add_schema(&flat, schema, &header);
    if (ok)
        write_message(file, &flat, HEADER_SCHEMA, header, NULL);
    uint64_t number = 0;
    for (int64_t i = 0; i < schema->n_children && ok; i++) {
        const struct ArrowArray *dictionary = rows->children[i]->dictionary;
        if (!dictionary)
            continue;
        struct body own = {0};
        flat.used = 0;
        ok = add_array(&own, schema->children[i]->dictionary, dictionary);
        if (ok) {
            flat_ref batch = add_batch(&flat, &own, (uint64_t)dictionary->length);
            struct flat_table table = flat_begin(&flat);
            table_number(&flat, &table, 0, number++, 8);
            table_refer(&flat, &table, 1, batch);
            write_message(file, &flat, HEADER_DICTIONARY, flat_end(&flat, &table), &own);
        }
        arena_free(&own.arena);
    }
    flat.used = 0;
    for (int64_t i = 0; i < schema->n_children && ok; i++)
        ok = add_array(&body, schema->children[i], rows->children[i]);
    if (ok) {
        header = add_batch(&flat, &body, (uint64_t)rows->length);
        write_message(file, &flat, HEADER_BATCH, header, &body);
    }
    ok = ok && !file->failed && !file->blocks.failed;
    if (ok)
        write_footer(file, schema, number);
    arena_free(&body.arena);
    free(flat.bytes);
    return ok && !file->failed;
}

enum sutra_status sutra_columns_write(struct sutra_context *context, struct ArrowArrayStream *stream, const char *path,
                                      uint64_t *n_rows, uint64_t *n_bytes, struct sutra_error *error) {
    struct arrow_file file = {0};
    struct ArrowSchema schema = {0};
    struct ArrowArray rows = {0};
    enum sutra_status status = SUTRA_OK;
    stage_begin(context, "write", 0);
    if (stream->get_schema(stream, &schema) || stream->get_next(stream, &rows) || !rows.release)
        status = error_memory(error);
    if (!status)
        status = sink_open(&file.sink, context, path, error);
    if (!status) {
        bool ok = write_messages(&file, &schema, &rows);
        status = ok ? SUTRA_OK : error_memory(error);
        enum sutra_status closed = sink_close(file.sink, ok, n_bytes, ok ? error : NULL);
        status = status ? status : closed;
    }
    if (n_rows && !status)
        *n_rows = (uint64_t)rows.length;
    buffer_free(&file.blocks);
    if (rows.release)
        rows.release(&rows);
    if (schema.release)
        schema.release(&schema);
    stream->release(stream);
    stage_end(context);
    return status;
}
