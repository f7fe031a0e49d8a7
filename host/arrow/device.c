/*
 * device.c - columns in the memory of a CUDA device (sutra/columns.h).
 *
 *     batch on the host --copy--> the same tree of arrays, with buffers on the device      (struct sutra_device_columns)
 *                                   |
 *     exported array  <-------------+   which holds references to the columns
 */
#include <stdlib.h>
#include <string.h>

#include "arrow/batch.h"
#include "base/arena.h"
#include "base/error.h"
#include "columns/column.h"
#include "context/context.h"
#include "sutra/columns.h"

struct sutra_device_columns {
    struct holders holders; /* references by exported arrays */
    void *memory;           /* on the device */
    uint32_t device;
    struct arena arena;             /* of the tree below */
    struct ArrowArray array;        /* release and private_data are not used */
    struct ArrowArrayStream stream; /* has the schema */
};

/* ---- The copy ---- */

/* Buffers to be copied, and where the tree has the pointers to their copies. */
struct copy_list {
    struct cuda_buffer *buffers;
    const void ***pointers;
    uint64_t n, capacity, pointers_capacity;
    struct arena *arena;
};

/* The bytes of a buffer of an array in one of the formats of this library (sutra/columns.h); n: length and offset. */
static uint64_t buffer_bytes(const struct ArrowArray *array, const char *format, int64_t number) {
    uint64_t n = (uint64_t)(array->length + array->offset);
    bool large = *format == 'U';
    if (number == 0 || *format == 'b')
        return (n + 7) / 8;
    if (number == 2)
        return large ? (uint64_t)((const int64_t *)array->buffers[1])[n]
                     : (uint64_t)((const int32_t *)array->buffers[1])[n];
    switch (*format) {
    case 'c':
    case 'C':
        return n;
    case 'i':
    case 'I':
        return 4 * n;
    case 'u':
    case '+':
        return 4 * (n + 1);
    case 'U':
        return 8 * (n + 1);
    default:
        return 8 * n; /* l, g */
    }
}

/* Makes the copy of an array, still without its buffers. False: out of memory. */
static bool copy_array(const struct ArrowArray *from, const struct ArrowSchema *schema, struct ArrowArray *to,
                       struct copy_list *list) {
    struct arena *arena = list->arena;
    *to = *from;
    to->release = NULL;
    to->private_data = NULL;
    to->buffers = arena_zeros(arena, (size_t)from->n_buffers, sizeof *to->buffers);
    to->children = arena_zeros(arena, (size_t)from->n_children, sizeof(void *));
    if (arena->failed)
        return false;
    for (int64_t i = 0; i < from->n_buffers; i++) {
        if (!from->buffers[i])
            continue;
        if (!column_grow(&list->buffers, list->n, &list->capacity, sizeof *list->buffers) ||
            !column_grow(&list->pointers, list->n, &list->pointers_capacity, sizeof *list->pointers))
            return false;
        list->buffers[list->n] =
            (struct cuda_buffer){.from = from->buffers[i], .bytes = buffer_bytes(from, schema->format, i)};
        list->pointers[list->n++] = &to->buffers[i];
    }
    if (from->dictionary) {
        to->dictionary = arena_zeros(arena, 1, sizeof *to->dictionary);
        if (!to->dictionary || !copy_array(from->dictionary, schema->dictionary, to->dictionary, list))
            return false;
    }
    for (int64_t i = 0; i < from->n_children; i++) {
        to->children[i] = arena_zeros(arena, 1, sizeof *to->children[i]);
        if (!to->children[i] || !copy_array(from->children[i], schema->children[i], to->children[i], list))
            return false;
    }
    return true;
}

static enum sutra_status copy_batch(struct sutra_context *context, const struct ArrowArray *batch,
                                    const struct ArrowSchema *schema, struct sutra_device_columns *columns,
                                    struct sutra_error *error) {
    struct copy_list list = {.arena = &columns->arena};
    struct engine *cuda;
    enum sutra_status status = copy_array(batch, schema, &columns->array, &list)
                                   ? context_device_acquire(context, &cuda, error)
                                   : error_memory(error);
    if (!status) {
        status = cuda_buffers_copy(cuda, list.buffers, list.n, &columns->memory, error);
        context_device_release(context);
    }
    for (uint64_t i = 0; i < list.n && !status; i++)
        *list.pointers[i] = list.buffers[i].to;
    free(list.buffers);
    free(list.pointers);
    return status;
}

enum sutra_status sutra_device_columns_create(struct sutra_context *context, struct ArrowArrayStream *stream,
                                              struct sutra_device_columns **columns, struct sutra_error *error) {
    struct ArrowSchema schema = {0};
    struct ArrowArray batch = {0};
    struct sutra_device_columns *made = calloc(1, sizeof *made);
    enum sutra_status status = made ? cuda_device_check(context->options.device_number, error) : error_memory(error);
    if (!status && (stream->get_schema(stream, &schema) || stream->get_next(stream, &batch)))
        status = error_memory(error);
    if (!status)
        status = copy_batch(context, &batch, &schema, made, error);
    if (schema.release)
        schema.release(&schema);
    if (batch.release)
        batch.release(&batch);
    if (status) {
        stream->release(stream);
        if (made)
            arena_free(&made->arena);
        free(made);
        return status;
    }
    made->stream = *stream;
    stream->release = NULL;
    made->device = context->options.device_number;
    *columns = made;
    return SUTRA_OK;
}

void sutra_device_columns_free(struct sutra_device_columns *columns) {
    if (!columns || !refcount_release(&columns->holders))
        return;
    cuda_memory_free(columns->memory);
    columns->stream.release(&columns->stream);
    arena_free(&columns->arena);
    free(columns);
}

/* ---- Exports ---- */

static void leave_columns(void *columns) {
    sutra_device_columns_free(columns);
}

enum sutra_status sutra_device_columns_arrow(struct sutra_device_columns *columns, struct ArrowDeviceArray *array,
                                             struct ArrowSchema *schema, struct sutra_error *error) {
    struct ArrowDeviceArray made = {.device_id = columns->device, .device_type = ARROW_DEVICE_CUDA};
    const struct column_owner owner = {columns, &columns->holders, leave_columns};
    TRY_ALLOC(batch_share(&made.array, &columns->array, &owner), error);
    if (schema && columns->stream.get_schema(&columns->stream, schema)) {
        made.array.release(&made.array);
        return error_memory(error);
    }
    *array = made;
    return SUTRA_OK;
}
