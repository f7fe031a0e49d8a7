/*
 * options.h - structs of the public interface that later versions extend. Their first member, `size`, is the size that
 * the caller was compiled with.
 *
 *     options   filled by the caller     members the caller does not know are 0, the default; members the library does
 *                                        not know must be 0
 *     reports   filled by the library    members the caller does not know are skipped; others the library sets to 0
 */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "sutra/error.h"

/* A struct of options in this version. */
struct options_form {
    const char *name;
    size_t size;
    size_t first; /* bytes of its first version, without padding */
};

/* Of struct `type`, whose first version ended with `member`. */
#define OPTIONS_FORM(type, member)                                                                                     \
    { #type, sizeof(struct type), offsetof(struct type, member) + sizeof(((struct type *)0)->member) }

/* Copies the caller's options; NULL means all zeros. The copy has the `size` of this version. SUTRA_USAGE: a size below
 * that of the first version, or an unknown member is set. */
enum sutra_status options_copy(const struct options_form *form, const void *given, void *taken,
                               struct sutra_error *error);

/* Copies a report of `size` bytes to the caller's, which may be NULL and keeps its own size. */
void report_give(void *report, const void *ours, size_t size);

/* Size and modification time of a file, to detect changes. */
struct file_stamp {
    uint64_t bytes;
    int64_t modified_ns; /* since 1970; wraps round for times beyond 2262 */
};

static inline struct file_stamp file_stamp_of(const struct stat *found) {
    return (struct file_stamp){(uint64_t)found->st_size, (int64_t)((uint64_t)found->st_mtim.tv_sec * 1000000000 +
                                                                   (uint64_t)found->st_mtim.tv_nsec)};
}

/* Zeros if there is no such file. */
static inline struct file_stamp file_stamp_at(const char *path) {
    struct stat found;
    if (stat(path, &found))
        return (struct file_stamp){0};
    return file_stamp_of(&found);
}

static inline bool file_stamps_differ(struct file_stamp a, struct file_stamp b) {
    return a.bytes != b.bytes || a.modified_ns != b.modified_ns;
}

#endif
