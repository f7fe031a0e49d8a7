/*
 * pickle.h - read a pickle that contains plain data only.
 */
#ifndef READ_PICKLE_H
#define READ_PICKLE_H

#include <stdbool.h>
#include <stddef.h>

#include "read/objects.h"
#include "read/source.h"

/* Whether a file may be a pickle of protocol 2 or later. */
static inline bool is_pickle(const char *bytes, size_t size) {
    return size > 0 && (unsigned char)bytes[0] == 0x80;
}

/* Reads a pickle of protocol 2 to 5. *end is the offset of the byte after it. SUTRA_DATA: malformed, truncated, or an
 * opcode that is not allowed, with its byte offset; SUTRA_SYSTEM: out of memory. O(size). */
enum sutra_status pickle_read(struct objects *objects, const struct source *source, object_t *root, size_t *end,
                              struct sutra_error *error);

#endif
