/*
 * output.h - a file that is written from front to end through a fixed buffer.
 *
 * A failed write is remembered and what follows is dropped, so that writers need not check; output_close() tells.
 */
#ifndef GENERATE_OUTPUT_H
#define GENERATE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "sutra/error.h"

/* Bytes of the buffer; no single output_reserve() may ask for more. */
#define OUTPUT_CAPACITY ((size_t)1 << 20)

struct output {
    const char *path;
    char *bytes;
    size_t length;
    int fd;
    int failure; /* errno of the first write that failed, or 0 */
    bool is_regular;
};

/* Creates or empties the file. On success the output must be closed or discarded. */
enum sutra_status output_open(struct output *output, const char *path, struct sutra_error *error);

/* Writes the rest and closes; on failure nothing stays. */
enum sutra_status output_close(struct output *output, struct sutra_error *error);

/* Removes a file that was closed; devices and pipes are left where they are. */
void output_remove(const struct output *output);

/* Closes and removes. */
void output_discard(struct output *output);

void output_flush(struct output *output);

/* Room for n bytes; advance `length` by what was written. */
static inline char *output_reserve(struct output *output, size_t n) {
    if (OUTPUT_CAPACITY - output->length < n)
        output_flush(output);
    return output->bytes + output->length;
}

static inline void output_text(struct output *output, const char *text) {
    size_t n = strlen(text);
    memcpy(output_reserve(output, n), text, n);
    output->length += n;
}

#endif
