/*
 * result_folder.c - creates, moves and removes the files of an analysis. sutra nests directories at most two deep, so
 * recursive walking is safe.
 */
#include "cli/analyze/result_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/tool/interrupt.h"
#include "cli/tool/message.h"
#include "cli/tool/paths.h"
#include "sutra/link.h"

#define DEPTH_MAX 8

/* What is done with the files of a folder, and where they are to go. */
enum walk { WALK_REMOVE, WALK_CHECK, WALK_MOVE };

static int cannot_write(const char *path) {
    return message_fail(SUTRA_NO_OUTPUT, "%s: cannot be written: %s", path, strerror(errno));
}

static int check_file(const char *to, const struct result_folder *folder) {
    struct sutra_error error;
    struct stat there;
    if (lstat(to, &there) == 0 && S_ISDIR(there.st_mode)) {
        errno = EISDIR;
        return cannot_write(to);
    }
    for (size_t i = 0; i < folder->n_inputs; i++)
        if (paths_same(folder->inputs[i], to))
            return message_fail(SUTRA_USAGE, "%s: the results would overwrite this input; select another --output",
                                folder->inputs[i]);
    return !folder->force && sutra_output_check(to, &error) ? message_error(&error) : SUTRA_OK;
}

static int do_file(enum walk walk, const char *from, const char *to, const struct result_folder *folder) {
    if (walk == WALK_CHECK)
        return check_file(to, folder);
    if (walk == WALK_REMOVE ? unlink(from) : rename(from, to))
        return cannot_write(walk == WALK_REMOVE ? from : to);
    return SUTRA_OK;
}

static int walk_folder(enum walk walk, const char *from, const char *to, const struct result_folder *folder, int depth);

static int do_entry(enum walk walk, const char *from, const char *to, const char *name,
                    const struct result_folder *folder, int depth) {
    char file[PATH_MAX], place[PATH_MAX];
    struct stat found;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return SUTRA_OK;
    errno = ENAMETOOLONG;
    if (snprintf(file, sizeof file, "%s/%s", from, name) >= (int)sizeof file ||
        snprintf(place, sizeof place, "%s/%s", to, name) >= (int)sizeof place || lstat(file, &found))
        return cannot_write(name);
    return S_ISDIR(found.st_mode) ? walk_folder(walk, file, place, folder, depth + 1)
                                  : do_file(walk, file, place, folder);
}

/* A folder that is not there yet has no files in the way. */
static bool is_clear(enum walk walk, const char *to) {
    struct stat found;
    return walk == WALK_CHECK && stat(to, &found) && errno == ENOENT;
}

static bool is_link(const char *path) {
    struct stat found;
    return lstat(path, &found) == 0 && S_ISLNK(found.st_mode);
}

static int walk_folder(enum walk walk, const char *from, const char *to, const struct result_folder *folder,
                       int depth) {
    if (is_clear(walk, to))
        return SUTRA_OK;
    if (depth > 0 && walk != WALK_REMOVE && is_link(to))
        return message_fail(SUTRA_NO_OUTPUT, "%s: cannot be written: a symbolic link may lead out of the directory",
                            to);
    if (depth > DEPTH_MAX || (walk != WALK_REMOVE && !path_make_folder(to)))
        return cannot_write(to);
    DIR *list = opendir(from);
    if (!list)
        return cannot_write(from);
    int exit_code = SUTRA_OK;
    const struct dirent *entry;
    /* cppcheck-suppress readdirCalled; nobody else reads this list */
    while (exit_code == SUTRA_OK && (entry = readdir(list)))
        exit_code = do_entry(walk, from, to, entry->d_name, folder, depth);
    closedir(list);
    if (exit_code == SUTRA_OK && walk != WALK_CHECK && rmdir(from))
        exit_code = cannot_write(from);
    return exit_code;
}

/* Opens and locks the folder that a killed run has left, or the one that was just made. */
static int take(struct result_folder *folder) {
    folder->lock = open(folder->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder->lock < 0)
        return cannot_write(folder->path);
    if (flock(folder->lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
        close(folder->lock);
        return message_fail(SUTRA_NO_OUTPUT, "%s: another run is writing to this directory", folder->target);
    }
    return SUTRA_OK;
}

static int begin(struct result_folder *folder) {
    const char *target = folder->target;
    struct stat found;
    folder->made |= stat(target, &found) != 0;
    if (folder_make(target) != SUTRA_OK)
        return SUTRA_NO_OUTPUT;
    errno = ENAMETOOLONG;
    if (snprintf(folder->path, sizeof folder->path, "%s/incomplete.sutra", target) >= (int)sizeof folder->path)
        return cannot_write(target);
    bool left = mkdir(folder->path, 0777) != 0;
    if (left && errno != EEXIST)
        return cannot_write(folder->path);
    int exit_code = take(folder);
    if (exit_code == SUTRA_OK && !left)
        interrupt_guard_set_folder(folder->path, folder->made ? target : NULL);
    if (exit_code != SUTRA_OK || !left)
        return exit_code;
    exit_code = walk_folder(WALK_REMOVE, folder->path, folder->path, folder, 0);
    close(folder->lock);
    return exit_code == SUTRA_OK ? begin(folder) : exit_code;
}

int result_folder_begin(struct result_folder *folder) {
    folder->lock = -1;
    if (!folder->target)
        return SUTRA_OK;
    interrupt_hold();
    int exit_code = begin(folder);
    interrupt_release();
    return exit_code;
}

int result_folder_end(struct result_folder *folder, bool whole) {
    int exit_code = SUTRA_OK;
    if (!folder->target)
        return SUTRA_OK;
    interrupt_hold(); /* a signal between two moves would leave old and new files */
    if (whole)
        exit_code = walk_folder(WALK_CHECK, folder->path, folder->target, folder, 0);
    if (whole && exit_code == SUTRA_OK)
        exit_code = walk_folder(WALK_MOVE, folder->path, folder->target, folder, 0);
    else if (walk_folder(WALK_REMOVE, folder->path, folder->path, folder, 0) == SUTRA_OK && folder->made)
        rmdir(folder->target);
    interrupt_guard_set_folder(NULL, NULL);
    interrupt_release();
    close(folder->lock);
    return exit_code;
}

int result_folder_remove(const char *path) {
    struct stat found;
    if (lstat(path, &found))
        return SUTRA_OK;
    if (!S_ISDIR(found.st_mode)) /* a link may lead out of the folder */
        return do_file(WALK_REMOVE, path, path, NULL);
    return walk_folder(WALK_REMOVE, path, path, NULL, 0);
}
