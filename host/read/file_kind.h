/*
 * file_kind.h - what a file is that is no JSON, where its first bytes tell.
 */
#ifndef READ_FILE_KIND_H
#define READ_FILE_KIND_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a text that begins so may be JSON, as far as these bytes go: an object, an array, spaces only, or a byte
 * order mark, which readers have words for. */
bool may_be_json(const char *bytes, size_t size);

/* What it is and what to do about it, as it follows "this is not JSON but"; NULL: that is not known. */
const char *file_kind(const char *bytes, size_t size);

#endif
