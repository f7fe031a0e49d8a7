/*
 * paths.c - names of files: whether two mean the same file; folders for outputs.
 */
#include "cli/tool/paths.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

bool path_is_stream(const char *path) {
    return strcmp(path, "-") == 0;
}

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The folder of a name; false where there is none. */
static bool folder_stat(const char *path, struct stat *folder) {
    char name[4096];
    size_t length = (size_t)(last_part(path) - path);
    if (length >= sizeof name)
        return false;
    memcpy(name, path, length);
    name[length] = '\0';
    return stat(length ? name : ".", folder) == 0;
}

static bool same_inode(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool paths_same(const char *a, const char *b) {
    struct stat stat_a, stat_b;
    if (path_is_stream(a) || path_is_stream(b))
        return false;
    bool has_a = stat(a, &stat_a) == 0, has_b = stat(b, &stat_b) == 0;
    if (has_a != has_b)
        return false;
    if (has_a)
        return S_ISREG(stat_a.st_mode) && same_inode(&stat_a, &stat_b);
    return strcmp(last_part(a), last_part(b)) == 0 && folder_stat(a, &stat_a) && folder_stat(b, &stat_b) &&
           same_inode(&stat_a, &stat_b);
}

uint64_t path_size(const char *path) {
    struct stat found;
    return stat(path, &found) == 0 && S_ISREG(found.st_mode) ? (uint64_t)found.st_size : 0;
}

bool path_make_folder(const char *path) {
    struct stat found;
    if (mkdir(path, 0777) == 0)
        return true;
    int reason = errno;
    if (reason == EEXIST && stat(path, &found) == 0 && S_ISDIR(found.st_mode))
        return true;
    errno = reason;
    return false;
}
