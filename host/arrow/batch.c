/*
 * batch.c - implements batch.h: columns as arrays of the Arrow C data interface.
 *
 *     ArrowArray --> private data: pointers to buffers | buffers to free | owner to release | a child or dictionary
 *
 * Each array can be released alone, as consumers may take children out of a batch.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/batch.h"
#include "base/error.h"
#include "columns/column.h"
#include "read/source.h"

/* ---- Schemas ---- */

struct schema_memory {
    char *name, *metadata;
    struct ArrowSchema **children; /* n of them, in `list` */
    struct ArrowSchema *list;
    struct ArrowSchema below; /* the dictionary, or a list's elements */
    struct ArrowSchema *only[1];
};

static void schema_release(struct ArrowSchema *schema) {
    struct schema_memory *memory = schema->private_data;
    for (int64_t i = 0; i < schema->n_children; i++)
        if (schema->children[i]->release)
            schema->children[i]->release(schema->children[i]);
    if (schema->dictionary && schema->dictionary->release)
        schema->dictionary->release(schema->dictionary);
    free(memory->name);
    free(memory->metadata);
    free(memory->children);
    free(memory->list);
    free(memory);
    schema->release = NULL;
}

/* False: out of memory. */
static bool schema_new(struct ArrowSchema *schema, const char *name, const char *format) {
    struct schema_memory *memory = calloc(1, sizeof *memory);
    if (!memory || !(memory->name = strdup(name))) {
        free(memory);
        return false;
    }
    *schema = (struct ArrowSchema){
        .format = format, .name = memory->name, .flags = ARROW_FLAG_NULLABLE, .release = schema_release};
    schema->private_data = memory;
    return true;
}

/* One pair of metadata, as the interface wants it: counts and lengths of 32 bits before the texts. */
static char *metadata_of(const char *key, const char *value) {
    int32_t counts[] = {1, (int32_t)strlen(key), (int32_t)strlen(value)};
    char *made = malloc(sizeof counts + strlen(key) + strlen(value)), *at = made;
    if (!made)
        return NULL;
    at = mempcpy(at, &counts[0], 2 * sizeof counts[0]);
    at = mempcpy(at, key, strlen(key));
    at = mempcpy(at, &counts[2], sizeof counts[2]);
    memcpy(at, value, strlen(value));
    return made;
}

static bool column_schema(struct ArrowSchema *schema, const struct batch_column *column) {
    if (!schema_new(schema, column->name, column->format))
        return false;
    struct schema_memory *memory = schema->private_data;
    if (column->unit || column->is_json) {
        memory->metadata = column->is_json ? metadata_of("encoding", "json") : metadata_of("unit", column->unit);
        schema->metadata = memory->metadata;
        if (!memory->metadata)
            return false;
    }
    if (!column->inner)
        return true;
    bool is_list = *column->format == '+';
    if (!schema_new(&memory->below, is_list ? "item" : "", column->inner))
        return false;
    if (is_list) {
        memory->only[0] = &memory->below;
        schema->children = memory->only;
        schema->n_children = 1;
    } else {
        schema->dictionary = &memory->below;
    }
    return true;
}

static bool batch_schema(struct ArrowSchema *schema, const struct batch *batch) {
    if (!schema_new(schema, "", "+s"))
        return false;
    struct schema_memory *memory = schema->private_data;
    schema->flags = 0;
    memory->list = calloc(batch->n_columns + 1, sizeof *memory->list);
    memory->children = calloc(batch->n_columns + 1, sizeof(void *));
    schema->children = memory->children;
    for (uint64_t i = 0; i < batch->n_columns && memory->list && memory->children; i++) {
        memory->children[i] = &memory->list[i];
        schema->n_children++;
        if (!column_schema(&memory->list[i], &batch->columns[i]))
            return false;
    }
    return memory->list && memory->children;
}

/* ---- The batch as an array ---- */

struct batch_memory {
    const void *buffers[1]; /* no row is null */
    struct ArrowArray **children;
    struct ArrowArray *list;
};

static void batch_array_release(struct ArrowArray *array) {
    struct batch_memory *memory = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++)
        if (array->children[i]->release)
            array->children[i]->release(array->children[i]);
    free(memory->children);
    free(memory->list);
    free(memory);
    array->release = NULL;
}

/* Moves the arrays out of the batch. False: out of memory, and the batch is unchanged. */
static bool batch_array(struct ArrowArray *array, struct batch *batch) {
    struct batch_memory *memory = calloc(1, sizeof *memory);
    struct ArrowArray *list = calloc(batch->n_columns + 1, sizeof *list);
    struct ArrowArray **children = calloc(batch->n_columns + 1, sizeof(void *));
    if (!memory || !list || !children) {
        free(memory);
        free(list);
        free(children);
        return false;
    }
    for (uint64_t i = 0; i < batch->n_columns; i++) {
        children[i] = &list[i];
        list[i] = batch->columns[i].array;
        batch->columns[i].array.release = NULL;
    }
    *memory = (struct batch_memory){.children = children, .list = list};
    *array = (struct ArrowArray){.length = (int64_t)batch->n_rows,
                                 .n_buffers = 1,
                                 .n_children = (int64_t)batch->n_columns,
                                 .buffers = memory->buffers,
                                 .children = children,
                                 .release = batch_array_release};
    array->private_data = memory;
    return true;
}

/* ---- The Arrow C stream: the schema on each request, the batch once ---- */

struct stream_memory {
    struct batch batch;
    bool given;
    const char *last_error;
};

static int out_of_memory(struct stream_memory *memory) {
    memory->last_error = "out of memory";
    return ENOMEM;
}

static int stream_schema(struct ArrowArrayStream *stream, struct ArrowSchema *schema) {
    struct stream_memory *memory = stream->private_data;
    struct ArrowSchema made = {0};
    if (!batch_schema(&made, &memory->batch)) {
        if (made.release)
            made.release(&made);
        return out_of_memory(memory);
    }
    *schema = made;
    return 0;
}

static int stream_next(struct ArrowArrayStream *stream, struct ArrowArray *array) {
    struct stream_memory *memory = stream->private_data;
    if (memory->given) {
        *array = (struct ArrowArray){0};
        return 0;
    }
    if (!batch_array(array, &memory->batch))
        return out_of_memory(memory);
    memory->given = true;
    return 0;
}

static const char *stream_last_error(struct ArrowArrayStream *stream) {
    return ((const struct stream_memory *)stream->private_data)->last_error;
}

static void stream_release(struct ArrowArrayStream *stream) {
    struct stream_memory *memory = stream->private_data;
    batch_free(&memory->batch);
    free(memory);
    stream->release = NULL;
}

enum sutra_status batch_stream(struct batch *batch, struct ArrowArrayStream *stream, struct sutra_error *error) {
    struct stream_memory *memory = batch->failed ? NULL : calloc(1, sizeof *memory);
    if (!memory) {
        batch_free(batch);
        return error_memory(error);
    }
    memory->batch = *batch;
    *batch = (struct batch){0};
    *stream = (struct ArrowArrayStream){
        .get_schema = stream_schema,
        .get_next = stream_next,
        .get_last_error = stream_last_error,
        .release = stream_release,
        .private_data = memory,
    };
    return SUTRA_OK;
}

struct valid_rows valid_new(uint64_t n) {
    struct valid_rows valid = {.bits = column_new((size_t)(n / 64), sizeof *valid.bits)};
    valid.failed = !valid.bits;
    return valid;
}

/* Writes the rows after the last complete word of n. */
static void valid_end(struct valid_rows *valid, uint64_t n) {
    if (n % 64)
        valid_write_word(valid, n, n % 64);
}

/* ---- Arrays ---- */

#define ARRAY_BUFFERS 3

struct array_memory {
    const void *buffers[ARRAY_BUFFERS];
    void *own[ARRAY_BUFFERS]; /* to be freed */
    void (*leave)(void *owner);
    void *owner;
    struct ArrowArray below; /* the child or dictionary */
    struct ArrowArray *children[1];
};

static void array_release(struct ArrowArray *array) {
    struct array_memory *memory = array->private_data;
    if (memory->below.release)
        memory->below.release(&memory->below);
    for (int i = 0; i < ARRAY_BUFFERS; i++)
        free(memory->own[i]);
    if (memory->leave)
        memory->leave(memory->owner);
    free(memory);
    array->release = NULL;
}

/* An array with that many buffers, still without them. False: out of memory. */
static bool array_new(struct ArrowArray *array, uint64_t n, int n_buffers) {
    struct array_memory *memory = calloc(1, sizeof *memory);
    if (!memory)
        return false;
    *array = (struct ArrowArray){
        .length = (int64_t)n, .n_buffers = n_buffers, .buffers = memory->buffers, .release = array_release};
    array->private_data = memory;
    return true;
}

/* Sets a buffer of an array, which the array frees. */
static void array_own(struct ArrowArray *array, int number, void *bytes) {
    struct array_memory *memory = array->private_data;
    memory->buffers[number] = memory->own[number] = bytes;
}

static void array_valid(struct ArrowArray *array, struct valid_rows valid) {
    valid_end(&valid, (uint64_t)array->length);
    if (valid.n_null == 0) {
        free(valid.bits);
        return;
    }
    array_own(array, 0, valid.bits);
    array->null_count = (int64_t)valid.n_null;
}

/* Adds an empty array as child or dictionary, to be filled in. */
static struct ArrowArray *array_below(struct ArrowArray *array, bool is_child) {
    struct array_memory *memory = array->private_data;
    if (is_child) {
        memory->children[0] = &memory->below;
        array->children = memory->children;
        array->n_children = 1;
    } else {
        array->dictionary = &memory->below;
    }
    return &memory->below;
}

static bool array_share(struct ArrowArray *to, const struct ArrowArray *from, const struct column_owner *owner) {
    if (!array_new(to, (uint64_t)from->length, (int)from->n_buffers))
        return false;
    struct array_memory *memory = to->private_data;
    for (int64_t i = 0; i < from->n_buffers; i++)
        memory->buffers[i] = from->buffers[i];
    refcount_add(owner->holders);
    memory->leave = owner->leave;
    memory->owner = owner->thing;
    to->null_count = from->null_count;
    to->offset = from->offset;
    bool is_child = from->n_children > 0;
    const struct ArrowArray *below = is_child ? from->children[0] : from->dictionary;
    return !below || array_share(array_below(to, is_child), below, owner);
}

bool batch_share(struct ArrowArray *to, const struct ArrowArray *from, const struct column_owner *owner) {
    uint64_t n = (uint64_t)from->n_children;
    struct batch batch = {.n_rows = (uint64_t)from->length, .columns = column_new(n, sizeof *batch.columns)};
    bool ok = batch.columns;
    while (ok && batch.n_columns < n) {
        uint64_t i = batch.n_columns++;
        ok = array_share(&batch.columns[i].array, from->children[i], owner);
    }
    ok = ok && batch_array(to, &batch);
    batch_free(&batch);
    return ok;
}

/* ---- Columns ---- */

/* The next column, with an array; NULL: out of memory. */
static struct batch_column *add_column(struct batch *batch, const char *name, const char *format, int n_buffers) {
    struct batch_column made = {.name = strdup(name), .format = format};
    batch->failed |=
        !made.name || !column_grow(&batch->columns, batch->n_columns, &batch->capacity, sizeof *batch->columns);
    batch->failed |= batch->failed || !array_new(&made.array, batch->n_rows, n_buffers);
    if (batch->failed) {
        free(made.name);
        return NULL;
    }
    batch->columns[batch->n_columns] = made;
    return &batch->columns[batch->n_columns++];
}

char *batch_name_arg(struct batch *batch, const char *name) {
    static const char prefix[] = "args.";
    size_t length = strlen(name);
    char *made = malloc(sizeof prefix + length);
    batch->failed |= !made;
    if (!made)
        return NULL;
    size_t skip = 0;
    for (uint64_t i = 0; i < batch->n_columns; i++)
        if (strcmp(batch->columns[i].name, name) == 0)
            skip = sizeof prefix - 1;
    memcpy(made, prefix, skip);
    memcpy(made + skip, name, length + 1);
    return made;
}

void batch_values(struct batch *batch, const char *name, const char *format, const char *unit,
                  struct batch_values values) {
    batch->failed |= values.valid.failed || !values.data;
    struct batch_column *column = batch->failed ? NULL : add_column(batch, name, format, 2);
    if (!column) {
        if (values.leave)
            values.leave(values.owner);
        else
            free((void *)values.data);
        free(values.valid.bits);
        return;
    }
    struct array_memory *memory = column->array.private_data;
    column->unit = unit;
    memory->buffers[1] = values.data;
    memory->own[1] = values.leave ? NULL : (void *)values.data;
    memory->leave = values.leave;
    memory->owner = values.owner;
    array_valid(&column->array, values.valid);
}

void batch_bits(struct batch *batch, const char *name, struct valid_rows bits, struct valid_rows valid) {
    valid_end(&bits, batch->n_rows);
    batch_values(batch, name, "b", NULL, (struct batch_values){.data = bits.bits, .valid = valid});
}

void batch_nothing(struct batch *batch, const char *name) {
    struct batch_column *column = add_column(batch, name, "n", 0);
    if (column)
        column->array.null_count = column->array.length;
}

/* ---- Texts ---- */

/* Surrogates are encoded as ED A0..BF xx, a prefix of no other character. */
static void replace_surrogates(char *text, size_t length) {
    for (char *at = text; (at = memchr(at, 0xed, length - (size_t)(at - text))); at++)
        if ((size_t)(at - text) + 2 < length && (unsigned char)at[1] >= 0xa0)
            memcpy(at, "\xef\xbf\xbd", 3);
}

void text_list_add(struct text_list *texts, const char *bytes, size_t length) {
    size_t begin = texts->bytes.length;
    buffer_append(&texts->bytes, bytes, length);
    if (!texts->bytes.failed && length)
        replace_surrogates(texts->bytes.bytes + begin, length);
    int64_t end = (int64_t)texts->bytes.length;
    buffer_append(&texts->ends, &end, sizeof end);
    texts->n++;
}

/* Makes an array of texts, with offsets of 32 bits if they fit, and returns its format; NULL: out of memory. Frees the
 * texts also on failure. */
static const char *array_of_texts(struct ArrowArray *array, struct text_list *texts) {
    bool large = texts->bytes.length > INT32_MAX;
    void *starts = column_new(texts->n + 1, large ? sizeof(int64_t) : sizeof(int32_t));
    char *bytes = buffer_reserve(&texts->bytes, 1); /* an empty array has a buffer, too */
    bool ok = starts && bytes && !texts->ends.failed && !texts->bytes.failed && array_new(array, texts->n, 3);
    const int64_t *ends = (const int64_t *)(const void *)texts->ends.bytes;
    for (uint64_t i = 0; i < texts->n && ok; i++) {
        if (large)
            ((int64_t *)starts)[i + 1] = ends[i];
        else
            ((int32_t *)starts)[i + 1] = (int32_t)ends[i];
    }
    if (ok) {
        array_own(array, 1, starts);
        array_own(array, 2, texts->bytes.bytes);
        texts->bytes.bytes = NULL;
    } else {
        free(starts);
    }
    buffer_free(&texts->bytes);
    buffer_free(&texts->ends);
    *texts = (struct text_list){0};
    return !ok ? NULL : large ? "U" : "u";
}

void batch_texts(struct batch *batch, const char *name, struct text_list *texts, struct valid_rows valid) {
    struct ArrowArray array;
    const char *format = array_of_texts(&array, texts);
    struct batch_column *column = format && !valid.failed ? add_column(batch, name, format, 0) : NULL;
    if (!column) {
        batch->failed = true;
        if (format)
            array.release(&array);
        free(valid.bits);
        return;
    }
    column->array.release(&column->array);
    column->array = array;
    array_valid(&column->array, valid);
}

void batch_dictionary(struct batch *batch, const char *name, void *numbers, bool small, struct text_list *texts,
                      struct valid_rows valid) {
    struct ArrowArray array;
    const char *format = array_of_texts(&array, texts);
    uint64_t n = batch->n_columns;
    batch->failed |= !format;
    batch_values(batch, name, small ? "c" : "i", NULL, (struct batch_values){.data = numbers, .valid = valid});
    if (!batch->failed) {
        batch->columns[n].inner = format;
        *array_below(&batch->columns[n].array, false) = array;
    } else if (format) {
        array.release(&array);
    }
}

void batch_strings_but(struct batch *batch, const char *name, const uint32_t *numbers, const struct strings *strings,
                       uint32_t empty) {
    uint64_t n = batch->n_rows;
    struct text_list texts = {0};
    struct valid_rows valid = valid_new(n);
    uint32_t *place = column_new(strings->n, sizeof *place); /* in the dictionary, + 1 */
    int32_t *made = column_new(n, sizeof *made);
    for (uint64_t i = 0; i < n && numbers && place && made && !valid.failed; i++) {
        uint32_t string = numbers[i];
        bool is_valid = string != STRING_NONE && string != empty;
        valid_append(&valid, i, is_valid);
        if (!is_valid)
            continue;
        if (!place[string]) {
            text_list_add(&texts, strings_text(strings, string), strings_length(strings, string));
            place[string] = (uint32_t)texts.n;
        }
        made[i] = (int32_t)(place[string] - 1);
    }
    batch->failed |= !numbers || !place;
    free(place);
    batch_dictionary(batch, name, made, false, &texts, valid);
}

void batch_strings(struct batch *batch, const char *name, const uint32_t *numbers, const struct strings *strings) {
    batch_strings_but(batch, name, numbers, strings, STRING_NONE);
}

void batch_words(struct batch *batch, const char *name, const uint8_t *numbers, const char *const *words,
                 uint32_t n_words) {
    struct text_list texts = {0};
    int8_t *made = column_new(batch->n_rows, sizeof *made);
    batch->failed |= !numbers;
    if (made && numbers)
        memcpy(made, numbers, batch->n_rows);
    for (uint32_t i = 0; i < n_words; i++)
        text_list_add(&texts, words[i], strlen(words[i]));
    batch_dictionary(batch, name, made, true, &texts, (struct valid_rows){0});
}

void batch_lists(struct batch *batch, const char *name, int32_t *starts, uint32_t *items, struct valid_rows valid) {
    struct ArrowArray below = {0};
    uint64_t n = batch->n_columns;
    bool ok = starts && items && array_new(&below, (uint64_t)starts[batch->n_rows], 2);
    if (ok)
        array_own(&below, 1, items);
    else
        free(items);
    batch->failed |= !ok;
    batch_values(batch, name, "+l", NULL, (struct batch_values){.data = starts, .valid = valid});
    if (!batch->failed) {
        batch->columns[n].inner = "I";
        *array_below(&batch->columns[n].array, true) = below;
    } else if (ok) {
        below.release(&below);
    }
}

void batch_join(struct batch *batch, struct batch *part) {
    batch->failed |= part->failed;
    for (uint64_t i = 0; i < part->n_columns && !batch->failed; i++) {
        batch->failed |= !column_grow(&batch->columns, batch->n_columns, &batch->capacity, sizeof *batch->columns);
        if (batch->failed)
            break;
        batch->columns[batch->n_columns++] = part->columns[i];
        part->columns[i] = (struct batch_column){0};
    }
    batch_free(part);
}

void batch_free(struct batch *batch) {
    for (uint64_t i = 0; i < batch->n_columns; i++) {
        if (batch->columns[i].array.release)
            batch->columns[i].array.release(&batch->columns[i].array);
        free(batch->columns[i].name);
    }
    free(batch->columns);
    *batch = (struct batch){0};
}
