/*
 * sink.c - ordered writing from several threads.
 *
 * A plain file: a thread waits only until its piece's offset is known, then writes there while others do the same; for
 * a long one room on the disk is asked for ahead. A stream or a compressed file: a thread waits for its turn and writes
 * before it lets the next one.
 */
#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/error.h"
#include "sutra/link.h"
#include "text/strings.h"
#include "write/sink.h"

/*
 * Buffers that go from thread to thread.
 */

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

/*
 * Making a file beside its place.
 *
 * Several programs may write to one place, and some may be killed. A lock tells whom a temporary file belongs to: who
 * holds that of a file may remove it, and nobody else does. A file without a lock may be one that was made a moment
 * ago, so its maker looks, once it has the lock, whether the file still has its name.
 */

#define ATTEMPTS  100 /* programs that write to one place at a time, and moments that were lost to one of them */
#define LINKS_MAX 40  /* from one link to another, as in the kernel */

static size_t folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* What a link says, seen from where the link's name is seen from; NULL: it is no link, or memory is out. */
static char *follow(const char *path) {
    char text[PATH_MAX], *followed = NULL;
    ssize_t length = readlink(path, text, sizeof text);
    if (length <= 0 || (size_t)length == sizeof text)
        return NULL;
    int n_folder = text[0] == '/' ? 0 : (int)folder_length(path);
    return asprintf(&followed, "%.*s%.*s", n_folder, path, (int)length, text) < 0 ? NULL : followed;
}

/* The file that `path` names, through links, also where the last of them leads to nothing yet. */
static char *resolve(const char *path) {
    char *real = realpath(path, NULL);
    if (real)
        return real;
    char *name = strdup(path);
    for (int i = 0; name && i < LINKS_MAX; i++) {
        char *next = follow(name);
        if (!next)
            break;
        free(name);
        name = next;
    }
    return name;
}

/* A name beside the target: hidden, and known to whoever writes to the same place. */
static char *temporary_name(const char *target, unsigned number) {
    size_t n_folder = folder_length(target);
    char *name = NULL;
    if (asprintf(&name, "%.*s.%.200s.%u.tmp", (int)n_folder, target, target + n_folder, number) < 0)
        return NULL;
    return name;
}

/* Locks a file; a file system without locks is no hindrance to writing. */
static bool lock(int file) {
    return flock(file, LOCK_EX | LOCK_NB) == 0 || errno == ENOLCK || errno == EOPNOTSUPP || errno == ENOSYS;
}

static bool has_name(int file, const char *name) {
    struct stat by_file, by_name;
    return fstat(file, &by_file) == 0 && lstat(name, &by_name) == 0 && by_file.st_ino == by_name.st_ino &&
           by_file.st_dev == by_name.st_dev;
}

/* Removes what a program has left that was killed; false: it is in use, or no such file. */
static bool remove_left(const char *name) {
    int file = open(name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return false;
    bool removed = flock(file, LOCK_EX | LOCK_NB) == 0 && has_name(file, name) && unlink(name) == 0;
    close(file);
    return removed;
}

/* A new file of this name that is ours; -1 and errno. EEXIST: the name is somebody else's. */
static int create(const char *name) {
    int file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0 || (lock(file) && has_name(file, name)))
        return file;
    close(file);
    errno = EEXIST;
    return -1;
}

static void tell(const struct beside_options *options, const char *temporary) {
    if (options->temporary)
        options->temporary(options->arg, temporary);
}

/* Removes what else was left under the names that follow. */
static void remove_others(const char *target, unsigned number) {
    for (bool removed = true; removed && number < ATTEMPTS; number++) {
        char *name = temporary_name(target, number);
        removed = name && remove_left(name);
        free(name);
    }
}

/* Makes a file beside the target; -1 and errno. The name is told before the file is there, so that there is no moment
 * at which an interrupted program would leave it behind. */
static int create_beside(const char *target, char **temporary, const struct beside_options *options) {
    int reason = EEXIST;
    for (unsigned number = 0; number < ATTEMPTS && reason == EEXIST; number++) {
        char *name = temporary_name(target, number);
        if (!name) {
            reason = ENOMEM;
            break;
        }
        remove_left(name);
        tell(options, name);
        int file = create(name);
        if (file >= 0) {
            remove_others(target, number + 1);
            *temporary = name;
            return file;
        }
        reason = errno;
        tell(options, NULL);
        free(name);
    }
    errno = reason;
    return -1;
}

/* Whether a file can be made beside the target: a nameless one where the file system has such. */
static bool can_create_beside(const char *target) {
    size_t n_folder = folder_length(target);
    char *temporary = NULL, *folder = n_folder ? strndup(target, n_folder) : strdup(".");
    if (!folder) {
        errno = ENOMEM;
        return false;
    }
    int file = open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666), reason = errno;
    free(folder);
    errno = reason;
    if (file < 0 && (reason == EOPNOTSUPP || reason == EISDIR || reason == ENOENT || reason == EINVAL)) {
        file = create_beside(target, &temporary, &(struct beside_options){0});
        if (file >= 0)
            unlink(temporary);
        free(temporary);
    }
    if (file >= 0)
        close(file);
    return file >= 0;
}

static enum sutra_status cannot_create(const char *path, struct sutra_error *error) {
    const bool slash = *path && path[strlen(path) - 1] == '/';
    if (errno == EISDIR)
        return error_file(error, SUTRA_NO_OUTPUT, path,
                          "expected a file, found a directory: name a file in it, such as %s%sout.json", path,
                          slash ? "" : "/");
    return error_file(error, SUTRA_NO_OUTPUT, path, "cannot be written: %s", strerror(errno));
}

/* What stands at `path` now: 0 nothing or a regular file, 1 something to be written to as it is, -1 an error. */
static int look_at(const char *path, bool own_name, struct stat *info) {
    const bool missing = (own_name ? lstat : stat)(path, info) != 0;
    if (missing && (errno != ENOENT || !*path))
        return -1;
    if (missing && path[strlen(path) - 1] != '/')
        return 0;
    if (!missing && own_name && !S_ISREG(info->st_mode) && !S_ISDIR(info->st_mode)) {
        *info = (struct stat){0}; /* is replaced */
        return 0;
    }
    if (missing || S_ISDIR(info->st_mode)) {
        errno = EISDIR;
        return -1;
    }
    return !S_ISREG(info->st_mode);
}

/* A file that nobody may write to is kept, although its folder would let it be replaced: also from an administrator,
 * who may write to everything. */
static bool is_read_only(const char *path, const struct stat *info) {
    return info->st_mode &&
           (!(info->st_mode & 0222) || (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) && errno == EACCES));
}

static enum sutra_status refuse(const char *path, struct sutra_error *error) {
    return error_file(error, SUTRA_NO_OUTPUT, path, "cannot be written: it is read-only (--force replaces it)");
}

static enum sutra_status open_special(struct beside *beside, const char *path, struct sutra_error *error) {
    beside->file = open(path, O_WRONLY | O_CLOEXEC);
    return beside->file < 0 ? cannot_create(path, error) : SUTRA_OK;
}

enum sutra_status beside_open(struct beside *beside, const char *path, const struct beside_options *options,
                              struct sutra_error *error) {
    struct stat info = {0};
    int special = look_at(path, options->own_name, &info);
    *beside = (struct beside){.options = *options, .file = -1};
    if (special < 0)
        return cannot_create(path, error);
    if (special)
        return open_special(beside, path, error);
    if (!options->force && is_read_only(path, &info))
        return refuse(path, error);
    beside->target = options->own_name ? strdup(path) : resolve(path);
    if (!beside->target)
        return error_memory(error);
    beside->file = create_beside(beside->target, &beside->temporary, options);
    if (beside->file < 0) {
        enum sutra_status status = cannot_create(path, error);
        free(beside->target);
        return status;
    }
    if (info.st_mode && fchmod(beside->file, info.st_mode & 07777)) {
        /* The new file keeps the default mode: not worth a failure. */
    }
    return SUTRA_OK;
}

/* What a file system tells only when a file is closed. The file itself stays open, and with it the lock. */
static int close_copy(int file) {
    int copy = fcntl(file, F_DUPFD_CLOEXEC, 0);
    return copy >= 0 && close(copy) ? errno : 0;
}

int beside_close(struct beside *beside, bool keep) {
    int failure = close_copy(beside->file);
    if (keep && !failure && beside->temporary && rename(beside->temporary, beside->target))
        failure = errno;
    if (beside->temporary && (failure || !keep))
        unlink(beside->temporary);
    if (beside->temporary)
        tell(&beside->options, NULL);
    close(beside->file);
    free(beside->target);
    free(beside->temporary);
    *beside = (struct beside){.file = -1};
    return failure;
}

enum sutra_status sutra_output_check(const char *path, struct sutra_error *error) {
    struct stat info = {0};
    if (strcmp(path, "-") == 0)
        return SUTRA_OK;
    int special = look_at(path, false, &info);
    if (special < 0 || (special && access(path, W_OK)))
        return cannot_create(path, error);
    if (special)
        return SUTRA_OK;
    if (is_read_only(path, &info))
        return refuse(path, error);
    char *target = resolve(path);
    if (!target)
        return error_memory(error);
    enum sutra_status status = can_create_beside(target) ? SUTRA_OK : cannot_create(path, error);
    free(target);
    return status;
}

/*
 * Gzip members through libdeflate, zstd frames through libzstd, both at a fast level.
 */

#define GZIP_LEVEL 4
#define ZSTD_LEVEL 3

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), wanted = strlen(end);
    return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

/* By the end of a file's name: .gz, .zst. */
static enum compression compression_of(const char *path) {
    return ends_with(path, ".gz") ? COMPRESSION_GZIP : ends_with(path, ".zst") ? COMPRESSION_ZSTD : COMPRESSION_NONE;
}

static bool gzip_piece(const char *bytes, size_t n, struct buffer *out) {
    struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(GZIP_LEVEL);
    if (!compressor)
        return false;
    size_t bound = libdeflate_gzip_compress_bound(compressor, n);
    char *to = buffer_reserve(out, bound);
    size_t made = to ? libdeflate_gzip_compress(compressor, bytes, n, to, bound) : 0;
    libdeflate_free_compressor(compressor);
    out->length += made;
    return made > 0;
}

static bool zstd_piece(const char *bytes, size_t n, struct buffer *out) {
    size_t bound = ZSTD_compressBound(n);
    char *to = buffer_reserve(out, bound);
    size_t made = to ? ZSTD_compress(to, bound, bytes, n, ZSTD_LEVEL) : 0;
    if (!to || ZSTD_isError(made))
        return false;
    out->length += made;
    return true;
}

bool compress_piece(enum compression compression, const char *bytes, size_t n, struct buffer *out) {
    return compression == COMPRESSION_GZIP ? gzip_piece(bytes, n, out) : zstd_piece(bytes, n, out);
}

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
