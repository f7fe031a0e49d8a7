/*
 * output.h - a file that is written from front to end through a fixed buffer.
 *
 * A failed write is remembered and what follows is dropped, so that writers need not check; output_finish() tells.
 */
#ifndef GENERATE_OUTPUT_H
#define GENERATE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "write/beside.h"

/* Bytes of the buffer; no single output_reserve() may ask for more. */
#define OUTPUT_CAPACITY ((size_t)1 << 20)

struct output {
    const char *path;
    char *bytes;
    size_t length;
    struct beside beside;
    int failure; /* errno of the first write that failed, or 0 */
};

/* Begins the file. On success the output must be closed. */
enum sutra_status output_open(struct output *output, const char *path, const struct beside_options *options,
                              struct sutra_error *error);

/* Writes the rest, and tells whether all has been written. */
enum sutra_status output_finish(struct output *output, struct sutra_error *error);

/* Closes; the file appears if `keep` is true, else nothing stays. */
enum sutra_status output_close(struct output *output, bool keep, struct sutra_error *error);

void output_flush(struct output *output);

/* Room for n bytes; advance `length` by what was written. */
static inline char *output_reserve(struct output *output, size_t n) {
    if (OUTPUT_CAPACITY - output->length < n)
        output_flush(output);
    return output->bytes + output->length;
}

void output_number(struct output *output, int64_t number);

static inline void output_text(struct output *output, const char *text) {
    size_t n = strlen(text);
    memcpy(output_reserve(output, n), text, n);
    output->length += n;
}

#endif
