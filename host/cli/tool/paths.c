/*
 * paths.c - implements paths.h.
 */
#include "cli/tool/paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "cli/tool/message.h"

bool path_is_stream(const char *path) {
    return strcmp(path, "-") == 0;
}

static bool ends_in(const char *name, size_t length, const char *ending) {
    size_t n = strlen(ending);
    return length > n && memcmp(name + length - n, ending, n) == 0;
}

bool path_ends_in(const char *path, const char *ending) {
    size_t length = strlen(path);
    if (ends_in(path, length, ".gz"))
        length -= strlen(".gz");
    else if (ends_in(path, length, ".zst"))
        length -= strlen(".zst");
    return ends_in(path, length, ending);
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

/* A name and the file that it means. */
struct named_file {
    dev_t device;
    ino_t inode;
    size_t number;
};

static int compare_files(const void *a, const void *b) {
    const struct named_file *one = a, *two = b;
    if (one->device != two->device)
        return one->device < two->device ? -1 : 1;
    if (one->inode != two->inode)
        return one->inode < two->inode ? -1 : 1;
    return (one->number > two->number) - (one->number < two->number);
}

size_t paths_find_twice(const char *const *paths, size_t n, size_t *earlier) {
    struct named_file *files = reallocarray(NULL, n + 1, sizeof *files);
    size_t n_files = 0, found = n;
    if (!files)
        return SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        struct stat info;
        if (!path_is_stream(paths[i]) && stat(paths[i], &info) == 0 && S_ISREG(info.st_mode))
            files[n_files++] = (struct named_file){info.st_dev, info.st_ino, i};
    }
    qsort(files, n_files, sizeof *files, compare_files);
    for (size_t i = 1; i < n_files; i++)
        if (files[i].device == files[i - 1].device && files[i].inode == files[i - 1].inode && files[i].number < found) {
            found = files[i].number;
            *earlier = files[i - 1].number;
        }
    free(files);
    return found;
}

bool path_lies_in(const char *path, const char *folder) {
    struct stat of_path, of_folder;
    return !path_is_stream(path) && folder_stat(path, &of_path) && stat(folder, &of_folder) == 0 &&
           same_inode(&of_path, &of_folder);
}

bool path_is_folder(const char *path) {
    struct stat found;
    return !path_is_stream(path) && stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

bool paths_same_folder(const char *a, const char *b) {
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && same_inode(&one, &other);
}

uint64_t path_size(const char *path) {
    struct stat found;
    return stat(path, &found) == 0 && S_ISREG(found.st_mode) ? (uint64_t)found.st_size : 0;
}

bool path_is_compressed(const char *path) {
    unsigned char magic[4] = {0};
    FILE *file = fopen(path, "re");
    size_t n = file ? fread(magic, 1, sizeof magic, file) : 0;
    if (file)
        fclose(file);
    return n == sizeof magic &&
           ((magic[0] == 0x1f && magic[1] == 0x8b) || memcmp(magic, "\x28\xb5\x2f\xfd", sizeof magic) == 0);
}

bool path_make_folder(const char *path) {
    struct stat found;
    if (mkdir(path, 0777) == 0)
        return true;
    int reason = errno;
    if (reason == EEXIST && stat(path, &found) == 0 && S_ISDIR(found.st_mode))
        return true;
    errno = reason == EEXIST ? ENOTDIR : reason;
    return false;
}

bool path_make_own_folder(const char *path) {
    struct stat found;
    if (lstat(path, &found) == 0 && S_ISLNK(found.st_mode)) {
        errno = ENOTDIR;
        return false;
    }
    return path_make_folder(path);
}

enum sutra_status folder_create(const char *path, struct sutra_error *error) {
    if (path_make_folder(path))
        return SUTRA_OK;
    struct stat found;
    if (errno == ENOTDIR && stat(path, &found) == 0)
        return error_file(error, SUTRA_NO_OUTPUT, path,
                          "expected a directory, found a file: name another directory, or remove the file");
    return error_file(error, SUTRA_NO_OUTPUT, path, "cannot create the directory: %s", strerror(errno));
}

int folder_make(const char *path) {
    struct sutra_error error;
    return folder_create(path, &error) ? message_error(&error) : SUTRA_OK;
}
