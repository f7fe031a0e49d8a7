/*
 * options.h - structs of the public interface that later versions make longer; `size`, their first member, says how
 * much of one the caller knows.
 *
 *     options   the caller fills them     what the caller does not know is 0, the default; what we do not know must be
 * 0
 *     reports   the library fills them    what the caller does not know is left out; what we do not know is 0
 */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "sutra/error.h"

/* A struct of options as the library knows it. */
struct options_form {
    const char *name;
    size_t size;
    size_t first; /* bytes of its first version, without padding */
};

/* The form of struct `type`, whose first version ended with `member`. */
#define OPTIONS_FORM(type, member)                                                                                     \
    { #type, sizeof(struct type), offsetof(struct type, member) + sizeof(((struct type *)0)->member) }

/* Takes the caller's options over; `given` may be NULL, which stands for zeros. `size` of what is taken is ours.
 * SUTRA_USAGE: a size below that of the first version, or something set that we do not know. */
enum sutra_status options_take(const struct options_form *form, const void *given, void *taken,
                               struct sutra_error *error);

/* Fills the caller's report with ours, of `size` bytes; `report` may be NULL. Its own size stays. */
void report_give(void *report, const void *ours, size_t size);

/*
 * Size and time of a file, by which it is seen to be another one than before.
 */

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
