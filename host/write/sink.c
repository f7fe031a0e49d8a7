/*
 * sink.c - implements sink.h: ordered writing from several threads, files that appear atomically, compression.
 *
 * Plain file: a thread waits until the offset of its piece is known, then writes in parallel with the others; for long
 * files, disk space is reserved ahead. Stream: a thread waits for its turn and writes before the next one.
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
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/error.h"
#include "sutra/link.h"
#include "text/strings.h"
#include "write/sink.h"

/* ---- Output in pieces by all threads: buffers are reused ---- */

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

static void write_piece(void *arg, size_t number) {
    struct piece_writing *writing = arg;
    pthread_mutex_lock(&writing->mutex);
    struct piece_buffer *buffer = writing->idle;
    if (buffer)
        writing->idle = buffer->next;
    pthread_mutex_unlock(&writing->mutex);
    if (!buffer)
        buffer = calloc(1, sizeof *buffer);
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
    pthread_mutex_lock(&writing->mutex);
    buffer->next = writing->idle;
    writing->idle = buffer;
    pthread_mutex_unlock(&writing->mutex);
}

enum sutra_status pieces_write_to(struct sutra_context *context, struct sink *sink, size_t n_pieces, piece_fill *fill,
                                  const void *arg, struct sutra_error *error) {
    struct piece_writing writing = {.sink = sink, .fill = fill, .arg = arg, .mutex = PTHREAD_MUTEX_INITIALIZER};
    pool_run(context->pool, n_pieces, write_piece, &writing);
    for (struct piece_buffer *buffer = writing.idle, *next; buffer; buffer = next) {
        next = buffer->next;
        buffer_free(&buffer->out);
        free(buffer);
    }
    pthread_mutex_destroy(&writing.mutex);
    return atomic_load(&writing.failed) ? error_memory(error) : SUTRA_OK;
}

enum sutra_status pieces_write(struct sutra_context *context, const char *path, size_t n_pieces, piece_fill *fill,
                               const void *arg, uint64_t *n_bytes, struct sutra_error *error) {
    struct sink *sink;
    TRY(sink_open(&sink, context, path, error));
    enum sutra_status status = pieces_write_to(context, sink, n_pieces, fill, arg, error);
    enum sutra_status closed = sink_close(sink, !status, n_bytes, status ? NULL : error);
    return status ? status : closed;
}

/*
 * ---- Temporary files ----
 *
 * Several programs may write the same output, and some may be killed. A temporary file belongs to the program that
 * holds its lock; only the owner of the lock may remove the file. A file without a lock may be one that was just
 * created, so after locking, its creator checks that the file still has its name.
 */

#define ATTEMPTS  100 /* programs that write the same output, and lost races with one of them */
#define LINKS_MAX 40  /* chained symbolic links, as in the kernel */

static size_t folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* The file that `path` names, through links, even if the last link is dangling. NULL: out of memory. */
static char *resolve(const char *path) {
    char *real = realpath(path, NULL);
    if (real)
        return real;
    char *name = strdup(path), text[PATH_MAX];
    for (int i = 0; name && i < LINKS_MAX; i++) {
        ssize_t length = readlink(name, text, sizeof text);
        if (length <= 0 || (size_t)length == sizeof text)
            break;
        int n_folder = text[0] == '/' ? 0 : (int)folder_length(name);
        char *next = NULL;
        if (asprintf(&next, "%.*s%.*s", n_folder, name, (int)length, text) < 0)
            break;
        free(name);
        name = next;
    }
    return name;
}

/* A hidden name next to the target, the same in all programs that write the target. */
static char *temporary_name(const char *target, unsigned number) {
    size_t n_folder = folder_length(target);
    char *name = NULL;
    if (asprintf(&name, "%.*s.%.200s.%u.tmp", (int)n_folder, target, target + n_folder, number) < 0)
        return NULL;
    return name;
}

static bool has_name(int file, const char *name) {
    struct stat by_file, by_name;
    return fstat(file, &by_file) == 0 && lstat(name, &by_name) == 0 && by_file.st_ino == by_name.st_ino &&
           by_file.st_dev == by_name.st_dev;
}

/* Removes the temporary file of a killed program; false: it is in use, or does not exist. */
static bool remove_stale(const char *name) {
    int file = open(name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return false;
    bool removed = flock(file, LOCK_EX | LOCK_NB) == 0 && has_name(file, name) && unlink(name) == 0;
    close(file);
    return removed;
}

/* Creates and locks a file; -1 and errno. EEXIST: another program owns the name. Locks may be unavailable. */
static int create(const char *name) {
    int file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0)
        return file;
    bool locked = flock(file, LOCK_EX | LOCK_NB) == 0 || errno == ENOLCK || errno == EOPNOTSUPP || errno == ENOSYS;
    if (locked && has_name(file, name))
        return file;
    close(file);
    errno = EEXIST;
    return -1;
}

static void report_temporary(const struct temp_file_options *options, const char *temporary) {
    if (options->temporary)
        options->temporary(options->arg, temporary);
}

/* Creates a temporary file next to the target; -1 and errno. The name is reported before the file exists, so that an
 * interrupted program can always remove the file. */
static int create_temporary(const char *target, char **temporary, const struct temp_file_options *options) {
    int reason = EEXIST;
    for (unsigned number = 0; number < ATTEMPTS && reason == EEXIST; number++) {
        char *name = temporary_name(target, number);
        if (!name) {
            reason = ENOMEM;
            break;
        }
        remove_stale(name);
        report_temporary(options, name);
        int file = create(name);
        reason = errno;
        if (file < 0) {
            report_temporary(options, NULL);
            free(name);
            continue;
        }
        *temporary = name;
        for (bool removed = true; removed && ++number < ATTEMPTS;) { /* stale files of the following names */
            char *other = temporary_name(target, number);
            removed = other && remove_stale(other);
            free(other);
        }
        return file;
    }
    errno = reason;
    return -1;
}

/* Whether a file can be created next to the target: an unnamed file, if the file system supports it. */
static bool can_create(const char *target) {
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
        file = create_temporary(target, &temporary, &(struct temp_file_options){0});
        if (file >= 0)
            unlink(temporary);
        free(temporary);
    }
    if (file >= 0)
        close(file);
    return file >= 0;
}

enum sutra_status output_error_missing(const char *path, struct sutra_error *error) {
    struct stat found;
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    char *folder = strndup(path, length);
    TRY_ALLOC(folder, error);
    length = (size_t)(path_file_name(folder) - folder);
    folder[length > 1 ? length - 1 : length] = 0;
    enum sutra_status status = SUTRA_OK;
    if (*folder && stat(folder, &found) && errno == ENOENT)
        status = error_file(error, SUTRA_NO_OUTPUT, path,
                            "the directory %s does not exist: create it with 'mkdir -p %s'", folder, folder);
    if (status && error)
        error->os_error = ENOENT;
    free(folder);
    return status;
}

static enum sutra_status cannot_create(const char *path, struct sutra_error *error) {
    const bool slash = *path && path[strlen(path) - 1] == '/';
    int reason = errno;
    if (reason == ENOENT)
        TRY(output_error_missing(path, error));
    errno = reason;
    if (errno == EISDIR)
        return error_file(error, SUTRA_NO_OUTPUT, path,
                          "expected a file, found a directory: name a file in it, such as %s%sout.json", path,
                          slash ? "" : "/");
    return error_os(error, SUTRA_NO_OUTPUT, path, errno, "cannot be written");
}

/* What `path` is: 0 nothing or a regular file, 1 a pipe or device to write to directly, -1 an error. */
static int check_target(const char *path, bool own_name, struct stat *info) {
    const bool missing = (own_name ? lstat : stat)(path, info) != 0;
    if (missing && (errno != ENOENT || !*path))
        return -1;
    if (missing && path[strlen(path) - 1] != '/')
        return 0;
    if (!missing && own_name && !S_ISREG(info->st_mode) && !S_ISDIR(info->st_mode)) {
        *info = (struct stat){0}; /* will be replaced */
        return 0;
    }
    if (missing || S_ISDIR(info->st_mode)) {
        errno = EISDIR;
        return -1;
    }
    return !S_ISREG(info->st_mode);
}

/* A read-only file is not replaced, although its directory permits this, even for an administrator. */
static bool is_read_only(const char *path, const struct stat *info) {
    return info->st_mode &&
           (!(info->st_mode & 0222) || (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) && errno == EACCES));
}

static enum sutra_status refuse(const char *path, struct sutra_error *error) {
    return error_file(error, SUTRA_NO_OUTPUT, path, "cannot be written: it is read-only (--force replaces it)");
}

enum sutra_status temp_file_open(struct temp_file *temp, const char *path, const struct temp_file_options *options,
                                 struct sutra_error *error) {
    struct stat info = {0};
    int special = check_target(path, options->own_name, &info);
    *temp = (struct temp_file){.options = *options, .file = -1};
    if (special < 0)
        return cannot_create(path, error);
    if (special) {
        temp->file = open(path, O_WRONLY | O_CLOEXEC);
        return temp->file < 0 ? cannot_create(path, error) : SUTRA_OK;
    }
    if (!options->force && is_read_only(path, &info))
        return refuse(path, error);
    temp->target = options->own_name ? strdup(path) : resolve(path);
    TRY_ALLOC(temp->target, error);
    temp->file = create_temporary(temp->target, &temp->temporary, options);
    if (temp->file < 0) {
        enum sutra_status status = cannot_create(path, error);
        free(temp->target);
        return status;
    }
    if (info.st_mode && fchmod(temp->file, info.st_mode & 07777)) {
        /* The file keeps the default mode: not worth a failure. */
    }
    return SUTRA_OK;
}

int temp_file_close(struct temp_file *temp, bool keep) {
    /* Some file systems report errors only on close(). Close a copy: the file stays open, and with it the lock. */
    int copy = fcntl(temp->file, F_DUPFD_CLOEXEC, 0), failure = copy >= 0 && close(copy) ? errno : 0;
    if (keep && !failure && temp->temporary && rename(temp->temporary, temp->target))
        failure = errno;
    if (temp->temporary && (failure || !keep))
        unlink(temp->temporary);
    if (temp->temporary)
        report_temporary(&temp->options, NULL);
    close(temp->file);
    free(temp->target);
    free(temp->temporary);
    *temp = (struct temp_file){.file = -1};
    return failure;
}

enum sutra_status sutra_output_check(const char *path, struct sutra_error *error) {
    struct stat info = {0};
    if (strcmp(path, "-") == 0)
        return SUTRA_OK;
    int special = check_target(path, false, &info);
    if (special < 0 || (special && access(path, W_OK)))
        return cannot_create(path, error);
    if (special)
        return SUTRA_OK;
    if (is_read_only(path, &info))
        return refuse(path, error);
    char *target = resolve(path);
    TRY_ALLOC(target, error);
    enum sutra_status status = can_create(target) ? SUTRA_OK : cannot_create(path, error);
    free(target);
    return status;
}

/* ---- Compression: gzip members by libdeflate, zstd frames by libzstd, both at a fast level ---- */

#define GZIP_LEVEL 4
#define ZSTD_LEVEL 3

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), wanted = strlen(end);
    return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

bool compress_piece(enum compression compression, const char *bytes, size_t n, struct buffer *out) {
    struct libdeflate_compressor *compressor = NULL;
    bool gzip = compression == COMPRESSION_GZIP;
    if (gzip && !(compressor = libdeflate_alloc_compressor(GZIP_LEVEL)))
        return false;
    size_t bound = gzip ? libdeflate_gzip_compress_bound(compressor, n) : ZSTD_compressBound(n), made = 0;
    char *to = buffer_reserve(out, bound);
    if (to)
        made = gzip ? libdeflate_gzip_compress(compressor, bytes, n, to, bound)
                    : ZSTD_compress(to, bound, bytes, n, ZSTD_LEVEL);
    libdeflate_free_compressor(compressor);
    if (made == 0 || (!gzip && ZSTD_isError(made)))
        return false;
    out->length += made;
    return true;
}

/* ---- The sink ---- */

/* Disk space is reserved in pieces of this size. */
#define RESERVE_BYTES ((uint64_t)64 << 20)

struct sink {
    struct sutra_context *context;
    char *path; /* as given, for messages */
    struct temp_file temp;
    bool placed;   /* pieces are written at their offsets, by several threads in parallel */
    bool terminal; /* control characters are escaped, regardless of the format */
    struct visible visible;
    int file;
    enum compression compression;
    bool converts;           /* `file` is memory for the JSON text of a timeline, which sink_close() converts */
    enum compression packed; /* compression of the converted file */

    pthread_mutex_t mutex;
    pthread_cond_t turn;
    size_t next;        /* number of the next piece */
    uint64_t offset;    /* of the next piece in the file */
    uint64_t reserved;  /* bytes of the file with disk space, or UINT64_MAX: do not reserve more */
    uint64_t n_json;    /* bytes before compression */
    atomic_int failure; /* errno of the first failure, or ENOMEM */
};

/* Whether the name has the extension of a Perfetto trace, compressed or not. */
static bool is_perfetto(const char *path) {
    return ends_with(path, ".pftrace") || ends_with(path, ".pftrace.gz") || ends_with(path, ".pftrace.zst");
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
    TRY_ALLOC(made, error);
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->turn, NULL);
    made->context = context;
    made->compression = ends_with(path, ".gz")    ? COMPRESSION_GZIP
                        : ends_with(path, ".zst") ? COMPRESSION_ZSTD
                                                  : COMPRESSION_NONE;
    bool standard = strcmp(path, "-") == 0;
    made->path = strdup(standard ? "standard output" : path);
    made->file = STDOUT_FILENO;
    made->terminal = standard && isatty(STDOUT_FILENO);
    enum sutra_status status = SUTRA_OK;
    if (!made->path)
        status = error_memory(error);
    if (!status && !standard) {
        const struct sutra_context_options *options = &context->options;
        status = temp_file_open(
            &made->temp, path,
            &(struct temp_file_options){options->force, context->may_replace_links, options->temporary, options->arg},
            error);
        made->file = made->temp.file;
        made->placed = made->temp.temporary;
    }
    if (!status && is_perfetto(path)) {
        made->file = memfd_create("sutra timeline", MFD_CLOEXEC);
        made->converts = made->placed = true;
        made->packed = made->compression;
        made->compression = COMPRESSION_NONE;
        if (made->file < 0) {
            temp_file_close(&made->temp, false);
            status = error_memory(error);
        }
    }
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

/* Writes piece `number`: claims its range of the file in the order of numbers, and lets the next piece claim one. */
static void write_in_turn(struct sink *sink, size_t number, const char *bytes, size_t n, size_t n_json) {
    pthread_mutex_lock(&sink->mutex);
    while (sink->next != number)
        pthread_cond_wait(&sink->turn, &sink->mutex);
    pthread_mutex_unlock(&sink->mutex);
    if (sink->terminal) {
        char shown[4096];
        for (const char *at = bytes, *end = bytes + n; at < end;)
            write_at(sink, shown, visible_fill(&sink->visible, &at, end, shown, sizeof shown), 0);
    } else if (!sink->placed) {
        write_at(sink, bytes, n, 0);
    }
    pthread_mutex_lock(&sink->mutex);
    uint64_t offset = sink->offset;
    /* Reserve disk space ahead of long outputs: cheaper for the system than page by page. Writing reports errors. */
    if (sink->placed && offset >= RESERVE_BYTES && offset >= sink->reserved) {
        bool reserved = fallocate(sink->file, FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)RESERVE_BYTES) == 0;
        sink->reserved = reserved ? offset + RESERVE_BYTES : UINT64_MAX;
    }
    sink->offset += n;
    sink->n_json += n_json;
    sink->next++;
    pthread_cond_broadcast(&sink->turn);
    pthread_mutex_unlock(&sink->mutex);
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
    write_in_turn(sink, number, bytes, n, n_json);
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
    write_in_turn(sink, number, packed->bytes, packed->length, n_text);
}

/* Converts the JSON text of the timeline, and closes it. */
static enum sutra_status convert_timeline(struct sink *sink, bool keep, struct sutra_error *error) {
    int json = sink->file;
    char name[40];
    snprintf(name, sizeof name, "/proc/self/fd/%d", json);
    sink->file = sink->temp.file;
    sink->compression = sink->packed;
    sink->placed = sink->temp.temporary;
    sink->converts = false;
    sink->offset = sink->reserved = sink->n_json = sink->next = 0;
    enum sutra_status status =
        keep && !sink_failed(sink) ? perfetto_write(sink->context, name, sink->path, sink, error) : SUTRA_OK;
    close(json);
    return status;
}

enum sutra_status sink_close(struct sink *sink, bool keep, uint64_t *n_bytes, struct sutra_error *error) {
    enum sutra_status status = sink->converts ? convert_timeline(sink, keep, error) : SUTRA_OK;
    int failure = sink_failed(sink);
    if (status) {
        temp_file_close(&sink->temp, false);
        sink_free(sink);
        return status;
    }
    if (sink->reserved && ftruncate(sink->file, (off_t)sink->offset)) /* returns unused disk space */
        failure = failure ? failure : errno;
    if (sink->file != STDOUT_FILENO) {
        int on_close = temp_file_close(&sink->temp, keep && !failure);
        failure = failure ? failure : on_close;
    }
    if (failure == ECANCELED)
        status = context_early_end_error(sink->context, error);
    else if (failure && keep)
        status = error_os(error, failure == ENOMEM ? SUTRA_SYSTEM : SUTRA_IO, sink->path, failure, "cannot be written");
    if (n_bytes && !status)
        *n_bytes = sink->n_json;
    sink_free(sink);
    return status;
}
