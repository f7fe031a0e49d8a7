/*
 * sink.c - ordered writing from several threads.
 *
 * A plain file: a thread waits only until its piece's offset is known, then writes there while others do the same. A
 * stream or a compressed file: a thread waits for its turn and writes before it lets the next one.
 */
#include "write/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "write/compress.h"

struct sink {
    struct sutra_context *context;
    char *path;      /* as given, for messages */
    char *target;    /* where the file is to appear; NULL for a stream */
    char *temporary; /* where it is until then */
    int file;
    enum compression compression;

    pthread_mutex_t mutex;
    pthread_cond_t turn;
    size_t next;        /* the piece whose turn it is */
    uint64_t offset;    /* bytes in the file that have their place */
    uint64_t n_json;    /* bytes handed in */
    atomic_int failure; /* errno of the first failure, or ENOMEM */
};

/* The file that `path` names, through links; a copy of `path` if there is none yet. */
static char *resolve(const char *path) {
    char *real = realpath(path, NULL);
    return real ? real : strdup(path);
}

/* A name beside the target: hidden, with the process's number and a counter. */
static char *temporary_name(const char *target, unsigned attempt) {
    const char *slash = strrchr(target, '/'), *base = slash ? slash + 1 : target;
    char *name = NULL;
    if (asprintf(&name, "%.*s.%.200s.%ld-%u.tmp", (int)(base - target), target, base, (long)getpid(), attempt) < 0)
        return NULL;
    return name;
}

/* Tells the caller which file to remove should the program end; NULL: none. */
static void announce(const struct sutra_context_options *options, const char *temporary) {
    if (options && options->temporary)
        options->temporary(options->arg, temporary);
}

/* Makes a file beside the target; -1 and errno if that cannot be. The name is announced before the file is there, so
 * that there is no moment at which an interrupted program would leave it behind. `options` may be NULL. */
static int create_beside(const char *target, char **temporary, const struct sutra_context_options *options) {
    int reason = EEXIST;
    for (unsigned attempt = 0; attempt < 100 && reason == EEXIST; attempt++) {
        *temporary = temporary_name(target, attempt);
        if (!*temporary) {
            reason = ENOMEM;
            break;
        }
        announce(options, *temporary);
        int file = open(*temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file >= 0)
            return file;
        reason = errno;
        announce(options, NULL);
        free(*temporary);
        *temporary = NULL;
    }
    errno = reason;
    return -1;
}

/* Whether a file can be made beside the target: a nameless one where the file system has such. */
static bool can_create_beside(const char *target) {
    const char *slash = strrchr(target, '/');
    char *temporary = NULL, *folder = strndup(slash ? target : ".", slash ? (size_t)(slash - target) + 1 : 1);
    if (!folder) {
        errno = ENOMEM;
        return false;
    }
    int file = open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666), reason = errno;
    free(folder);
    errno = reason;
    if (file < 0 && (reason == EOPNOTSUPP || reason == EISDIR || reason == ENOENT || reason == EINVAL)) {
        file = create_beside(target, &temporary, NULL);
        if (file >= 0)
            unlink(temporary);
        free(temporary);
    }
    if (file >= 0)
        close(file);
    return file >= 0;
}

static enum sutra_status cannot_create(const char *path, struct sutra_error *error) {
    return error_file(error, SUTRA_NO_OUTPUT, path, "cannot be written: %s", strerror(errno));
}

/* What stands at `path` now: 0 nothing or a regular file, 1 something to be written to as it is, -1 an error. */
static int look_at(const char *path, struct stat *info) {
    if (stat(path, info))
        return errno == ENOENT && *path ? 0 : -1;
    if (S_ISDIR(info->st_mode)) {
        errno = EISDIR;
        return -1;
    }
    return !S_ISREG(info->st_mode);
}

static enum sutra_status open_file(struct sink *sink, struct sutra_error *error) {
    struct stat info = {0};
    int special = look_at(sink->path, &info);
    if (special < 0)
        return cannot_create(sink->path, error);
    if (special) {
        sink->file = open(sink->path, O_WRONLY | O_CLOEXEC);
        return sink->file < 0 ? cannot_create(sink->path, error) : SUTRA_OK;
    }
    sink->target = resolve(sink->path);
    if (!sink->target)
        return error_memory(error);
    sink->file = create_beside(sink->target, &sink->temporary, &sink->context->options);
    if (sink->file < 0)
        return cannot_create(sink->path, error);
    if (info.st_mode && fchmod(sink->file, info.st_mode & 07777)) {
        /* The new file keeps the default mode: not worth a failure. */
    }
    return SUTRA_OK;
}

enum sutra_status sutra_output_check(const char *path, struct sutra_error *error) {
    struct stat info;
    if (strcmp(path, "-") == 0)
        return SUTRA_OK;
    int special = look_at(path, &info);
    if (special < 0 || (special && access(path, W_OK)))
        return cannot_create(path, error);
    if (special)
        return SUTRA_OK;
    char *target = resolve(path);
    if (!target)
        return error_memory(error);
    enum sutra_status status = can_create_beside(target) ? SUTRA_OK : cannot_create(path, error);
    free(target);
    return status;
}

static void sink_free(struct sink *sink) {
    pthread_cond_destroy(&sink->turn);
    pthread_mutex_destroy(&sink->mutex);
    free(sink->path);
    free(sink->target);
    free(sink->temporary);
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

int sink_failed(struct sink *sink) {
    return atomic_load_explicit(&sink->failure, memory_order_relaxed);
}

static void fail(struct sink *sink, int reason) {
    int none = 0;
    atomic_compare_exchange_strong(&sink->failure, &none, reason);
}

static void write_at(struct sink *sink, const char *bytes, size_t n, uint64_t offset) {
    while (n > 0 && !sink_failed(sink)) {
        ssize_t written = sink->temporary ? pwrite(sink->file, bytes, n, (off_t)offset) : write(sink->file, bytes, n);
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

static void wait_turn(struct sink *sink, size_t number) {
    pthread_mutex_lock(&sink->mutex);
    while (sink->next != number)
        pthread_cond_wait(&sink->turn, &sink->mutex);
    pthread_mutex_unlock(&sink->mutex);
}

/* Claims a place of n bytes and lets the next piece claim its own; returns the place. */
static uint64_t pass_turn(struct sink *sink, size_t n_json, size_t n) {
    pthread_mutex_lock(&sink->mutex);
    uint64_t offset = sink->offset;
    sink->offset += n;
    sink->n_json += n_json;
    sink->next++;
    pthread_cond_broadcast(&sink->turn);
    pthread_mutex_unlock(&sink->mutex);
    return offset;
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
    wait_turn(sink, number);
    if (!sink->temporary)
        write_at(sink, bytes, n, 0);
    uint64_t offset = pass_turn(sink, n_json, n);
    if (sink->temporary)
        write_at(sink, bytes, n, offset);
    buffer_free(&packed);
}

enum sutra_status sink_close(struct sink *sink, bool keep, uint64_t *n_bytes, struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    int failure = sink_failed(sink);
    if (sink->file != STDOUT_FILENO && close(sink->file) && !failure)
        failure = errno;
    if (keep && !failure && sink->temporary && rename(sink->temporary, sink->target))
        failure = errno;
    if (failure && keep)
        status = error_file(error, failure == ENOMEM ? SUTRA_SYSTEM : SUTRA_IO, sink->path, "cannot be written: %s",
                            strerror(failure));
    if (sink->temporary && (failure || !keep))
        unlink(sink->temporary);
    if (sink->temporary)
        announce(&sink->context->options, NULL);
    if (n_bytes && !status)
        *n_bytes = sink->n_json;
    sink_free(sink);
    return status;
}
