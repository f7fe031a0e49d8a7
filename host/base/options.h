/*
 * options.h - structs of the public interface that later versions make longer; `size`, their first member, says how
 * much of one the caller knows.
 *
 *     options   the caller fills them     what the caller does not know is 0, the default; what we do not know must be 0
 *     reports   the library fills them    what the caller does not know is left out; what we do not know is 0
 */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include <stddef.h>

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

#endif
