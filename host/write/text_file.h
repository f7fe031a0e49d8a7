/*
 * text_file.h - a text that one function writes, as a file.
 */
#ifndef WRITE_TEXT_FILE_H
#define WRITE_TEXT_FILE_H

#include <stdbool.h>

#include "write/text_out.h"

/* Opens `path`, has `write` append the text (false: out of memory), and closes it. *n_bytes may be NULL. */
enum sutra_status text_file_write(struct sutra_context *context, const char *path,
                                  bool (*write)(const void *of, struct text_out *text), const void *of,
                                  uint64_t *n_bytes, struct sutra_error *error);

/* The same for a file in a folder; adds to *n_bytes. */
enum sutra_status text_file_write_in(struct sutra_context *context, const char *folder, const char *name,
                                     bool (*write)(const void *of, struct text_out *text), const void *of,
                                     uint64_t *n_bytes, struct sutra_error *error);

#endif
