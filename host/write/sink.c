/*
 * sink.c - ordered writing from several threads.
 *
 * A plain file: a thread waits only until its piece's offset is known, then writes there while others do the same; for
 * a long one room on the disk is asked for ahead. A stream or a compressed file: a thread waits for its turn and writes
 * before it lets the next one.
 */
#include "write/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "text/visible.h"
#include "write/beside.h"
#include "write/compress.h"

/* Room on the disk is asked for in pieces of so much. */
#define RESERVE_BYTES ((uint64_t)64 << 20)

struct sink {
    struct sutra_context *context;
    char *path; /* as given, for messages */
    struct beside beside;
    bool placed;   /* pieces are written where they belong, by several threads at a time */
    bool terminal; /* which only shows control characters, whatever the format */
    struct visible visible;
    int file;
    enum compression compression;

    pthread_mutex_t mutex;
    pthread_cond_t turn;
    size_t next;        /* the piece whose turn it is */
    uint64_t offset;    /* bytes in the file that have their place */
    uint64_t reserved;  /* bytes of the file that have room on the disk, or UINT64_MAX: no more is asked for */
    uint64_t n_json;    /* bytes handed in */
    atomic_int failure; /* errno of the first failure, or ENOMEM */
};

static enum sutra_status open_file(struct sink *sink, struct sutra_error *error) {
    const struct sutra_context_options *options = &sink->context->options;
    const struct beside_options beside = {options->force, sink->context->own_names, options->temporary, options->arg};
    enum sutra_status status = beside_open(&sink->beside, sink->path, &beside, error);
    sink->file = sink->beside.file;
    sink->placed = sink->beside.temporary;
    return status;
}

static void sink_free(struct sink *sink) {
    pthread_cond_destroy(&sink->turn);
    pthread_mutex_destroy(&sink->mutex);
    free(sink->path);
    free(sink);
}

enum sutra_status sink_open(struct sink **sink, struct sutra_context *context, const char *path,
                            struct sutra_error *error) {
    struct sink *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(error);
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->turn, NULL);
    made->context = context;
    made->compression = compression_of(path);
    bool standard = strcmp(path, "-") == 0;
    made->path = strdup(standard ? "standard output" : path);
    made->file = STDOUT_FILENO;
    made->terminal = standard && isatty(STDOUT_FILENO);
    enum sutra_status status = SUTRA_OK;
    if (!made->path)
        status = error_memory(error);
    else if (!standard)
        status = open_file(made, error);
    if (status)
        sink_free(made);
    else
        *sink = made;
    return status;
}

static void fail(struct sink *sink, int reason) {
    int none = 0;
    atomic_compare_exchange_strong(&sink->failure, &none, reason);
}

int sink_failed(struct sink *sink) {
    if (context_is_cancelled(sink->context))
        fail(sink, ECANCELED);
    return atomic_load_explicit(&sink->failure, memory_order_relaxed);
}

static void write_at(struct sink *sink, const char *bytes, size_t n, uint64_t offset) {
    while (n > 0 && !sink_failed(sink)) {
        ssize_t written = sink->placed ? pwrite(sink->file, bytes, n, (off_t)offset) : write(sink->file, bytes, n);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0) {
            fail(sink, errno);
            return;
        }
        bytes += written;
        n -= (size_t)written;
        offset += (uint64_t)written;
    }
}

static void write_shown(struct sink *sink, const char *bytes, size_t n) {
    char shown[4096];
    const char *end = bytes + n;
    while (bytes < end)
        write_at(sink, shown, visible_fill(&sink->visible, &bytes, end, shown, sizeof shown), 0);
}

static void wait_turn(struct sink *sink, size_t number) {
    pthread_mutex_lock(&sink->mutex);
    while (sink->next != number)
        pthread_cond_wait(&sink->turn, &sink->mutex);
    pthread_mutex_unlock(&sink->mutex);
}

/* Asks for room on the disk ahead of long outputs: finding it in large pieces costs the system less than page by page.
 * Where it cannot be had so, writing tells what is wrong, if anything is. */
static void reserve_ahead(struct sink *sink) {
    if (!sink->placed || sink->offset < RESERVE_BYTES || sink->offset < sink->reserved)
        return;
    bool reserved = fallocate(sink->file, FALLOC_FL_KEEP_SIZE, (off_t)sink->offset, (off_t)RESERVE_BYTES) == 0;
    sink->reserved = reserved ? sink->offset + RESERVE_BYTES : UINT64_MAX;
}

/* Claims a place of n bytes and lets the next piece claim its own; returns the place. */
static uint64_t pass_turn(struct sink *sink, size_t n_json, size_t n) {
    pthread_mutex_lock(&sink->mutex);
    uint64_t offset = sink->offset;
    reserve_ahead(sink);
    sink->offset += n;
    sink->n_json += n_json;
    sink->next++;
    pthread_cond_broadcast(&sink->turn);
    pthread_mutex_unlock(&sink->mutex);
    return offset;
}

static void place(struct sink *sink, size_t number, const char *bytes, size_t n, size_t n_json) {
    wait_turn(sink, number);
    if (sink->terminal)
        write_shown(sink, bytes, n);
    else if (!sink->placed)
        write_at(sink, bytes, n, 0);
    uint64_t offset = pass_turn(sink, n_json, n);
    if (sink->placed)
        write_at(sink, bytes, n, offset);
}

void sink_write(struct sink *sink, size_t number, const char *bytes, size_t n) {
    struct buffer packed = {0};
    size_t n_json = n;
    if (sink->compression && n > 0) {
        if (!compress_piece(sink->compression, bytes, n, &packed))
            fail(sink, ENOMEM);
        bytes = packed.bytes;
        n = packed.length;
    }
    place(sink, number, bytes, n, n_json);
    buffer_free(&packed);
}

bool sink_pack(const struct sink *sink, struct buffer *piece) {
    struct buffer packed = {0};
    if (!sink->compression || piece->length == 0)
        return !piece->failed;
    bool ok = compress_piece(sink->compression, piece->bytes, piece->length, &packed) && !piece->failed;
    buffer_free(piece);
    *piece = packed;
    return ok;
}

void sink_write_packed(struct sink *sink, size_t number, const struct buffer *packed, size_t n_text) {
    place(sink, number, packed->bytes, packed->length, n_text);
}

enum sutra_status sink_close(struct sink *sink, bool keep, uint64_t *n_bytes, struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    int failure = sink_failed(sink);
    if (sink->reserved && ftruncate(sink->file, (off_t)sink->offset)) /* gives back what was not needed */
        failure = failure ? failure : errno;
    if (sink->file != STDOUT_FILENO) {
        int on_close = beside_close(&sink->beside, keep && !failure);
        failure = failure ? failure : on_close;
    }
    if (failure == ECANCELED)
        status = context_gave_up(sink->context, error);
    else if (failure && keep)
        status = error_file(error, failure == ENOMEM ? SUTRA_SYSTEM : SUTRA_IO, sink->path, "cannot be written: %s",
                            strerror(failure));
    if (n_bytes && !status)
        *n_bytes = sink->n_json;
    sink_free(sink);
    return status;
}
