/*
 * file_stamp.h - size and time of a file, by which it is seen to be another one than before.
 */
#ifndef BASE_FILE_STAMP_H
#define BASE_FILE_STAMP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct file_stamp {
    uint64_t bytes;
    int64_t modified_ns; /* since 1970; wraps round for times beyond 2262 */
};

static inline struct file_stamp file_stamp_of(const struct stat *found) {
    return (struct file_stamp){(uint64_t)found->st_size, (int64_t)((uint64_t)found->st_mtim.tv_sec * 1000000000 +
                                                                   (uint64_t)found->st_mtim.tv_nsec)};
}

/* Zeros where there is no such file. */
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
