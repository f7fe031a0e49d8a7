/*
 * beside.c - making a file beside its place.
 *
 * Several programs may write to one place, and some may be killed. A lock tells whom a temporary file belongs to: who
 * holds that of a file may remove it, and nobody else does. A file without a lock may be one that was made a moment
 * ago, so its maker looks, once it has the lock, whether the file still has its name.
 */
#include "write/beside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "sutra/link.h"

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
