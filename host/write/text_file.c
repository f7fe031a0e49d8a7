/*
 * text_file.c - from a function that writes text to a file that appears whole or not at all.
 */
#include "write/text_file.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"

enum sutra_status text_file_write(struct sutra_context *context, const char *path,
                                  bool (*write)(const void *of, struct text_out *text), const void *of,
                                  uint64_t *n_bytes, struct sutra_error *error) {
    struct text_out text = {0};
    enum sutra_status status = sink_open(&text.sink, context, path, error);
    if (!status) {
        bool whole = write(of, &text) && !text.out.failed;
        out_flush(&text);
        status = sink_close(text.sink, whole, n_bytes, error);
        if (!status && !whole)
            status = error_memory(error);
    }
    buffer_free(&text.out);
    return status;
}

enum sutra_status text_file_write_in(struct sutra_context *context, const char *folder, const char *name,
                                     bool (*write)(const void *of, struct text_out *text), const void *of,
                                     uint64_t *n_bytes, struct sutra_error *error) {
    char *path = NULL;
    uint64_t n_written = 0;
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return error_memory(error);
    enum sutra_status status = text_file_write(context, path, write, of, &n_written, error);
    *n_bytes += n_written;
    free(path);
    return status;
}
