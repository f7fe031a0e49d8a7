/*
 * pieces.c - buffers that go from thread to thread.
 */
#include "write/pieces.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/error.h"

struct piece_buffer {
    struct buffer out;
    struct piece_buffer *next;
};

struct piece_writing {
    struct sink *sink;
    piece_fill *fill;
    const void *arg;
    pthread_mutex_t mutex;
    struct piece_buffer *idle;
    atomic_bool failed; /* out of memory */
};

static struct piece_buffer *take_buffer(struct piece_writing *writing) {
    pthread_mutex_lock(&writing->mutex);
    struct piece_buffer *buffer = writing->idle;
    if (buffer)
        writing->idle = buffer->next;
    pthread_mutex_unlock(&writing->mutex);
    return buffer ? buffer : calloc(1, sizeof *buffer);
}

static void return_buffer(struct piece_writing *writing, struct piece_buffer *buffer) {
    pthread_mutex_lock(&writing->mutex);
    buffer->next = writing->idle;
    writing->idle = buffer;
    pthread_mutex_unlock(&writing->mutex);
}

static void free_buffers(struct piece_writing *writing) {
    for (struct piece_buffer *buffer = writing->idle, *next; buffer; buffer = next) {
        next = buffer->next;
        buffer_free(&buffer->out);
        free(buffer);
    }
}

static void write_piece(void *arg, size_t number) {
    struct piece_writing *writing = arg;
    struct piece_buffer *buffer = take_buffer(writing);
    if (!buffer) {
        atomic_store(&writing->failed, true);
        sink_write(writing->sink, number, NULL, 0);
        return;
    }
    buffer->out.length = 0;
    if (!sink_failed(writing->sink) && !atomic_load(&writing->failed))
        writing->fill(writing->arg, number, &buffer->out);
    if (buffer->out.failed)
        atomic_store(&writing->failed, true);
    sink_write(writing->sink, number, buffer->out.bytes, buffer->out.length);
    return_buffer(writing, buffer);
}

enum sutra_status pieces_write(struct sutra_context *context, const char *path, size_t n_pieces, piece_fill *fill,
                               const void *arg, uint64_t *n_bytes, struct sutra_error *error) {
    struct piece_writing writing = {.fill = fill, .arg = arg, .mutex = PTHREAD_MUTEX_INITIALIZER};
    enum sutra_status status = sink_open(&writing.sink, context, path, error);
    if (status)
        return status;
    pool_run(context->pool, n_pieces, write_piece, &writing);
    bool whole = !atomic_load(&writing.failed);
    status = sink_close(writing.sink, whole, n_bytes, error);
    free_buffers(&writing);
    pthread_mutex_destroy(&writing.mutex);
    return status || whole ? status : error_memory(error);
}
