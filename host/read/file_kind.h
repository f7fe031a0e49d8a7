/*
 * file_kind.h - the kind of a file that is not JSON, by its first bytes.
 */
#ifndef READ_FILE_KIND_H
#define READ_FILE_KIND_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a text that begins so may be JSON, as far as these bytes go: an object, an array, spaces only, or a byte
 * order mark, which readers have words for. */
bool may_be_json(const char *bytes, size_t size);

struct file_kind {
    const char *name;   /* such as "an SQLite database"; NULL: unknown */
    const char *remedy; /* ": " and what the user can do who has a trace to read; "" where there is no advice */
    bool is_et;
};

/* The kind of a file that begins with these bytes. Cost: O(size) for databases, at most 64 kB; else O(1). */
struct file_kind file_kind(const char *bytes, size_t size);

#endif
