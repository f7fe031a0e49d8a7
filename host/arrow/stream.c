/*
 * stream.c - a batch as a stream of the Arrow C stream interface: its schema as often as it is asked for, the batch
 * once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/batch.h"
#include "base/error.h"

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

/* Takes the arrays out of the batch. False: out of memory, and they stay. */
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

/* ---- The stream ---- */

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
