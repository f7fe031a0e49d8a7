/*
 * output.c - a file behind a buffer of 1 MiB, which appears whole or not at all.
 */
#include "generate/output.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "text/number_text.h"

enum sutra_status output_open(struct output *output, const char *path, const struct beside_options *options,
                              struct sutra_error *error) {
    struct output made = {.path = path, .bytes = malloc(OUTPUT_CAPACITY)};
    if (!made.bytes)
        return error_memory(error);
    enum sutra_status status = beside_open(&made.beside, path, options, error);
    if (status)
        free(made.bytes);
    else
        *output = made;
    return status;
}

void output_flush(struct output *output) {
    size_t done = 0;
    while (done < output->length && !output->failure) {
        ssize_t n = write(output->beside.file, output->bytes + done, output->length - done);
        if (n > 0)
            done += (size_t)n;
        else if (n < 0 && errno != EINTR)
            output->failure = errno;
    }
    output->length = 0;
}

void output_number(struct output *output, int64_t number) {
    output->length += integer_format(number, output_reserve(output, NUMBER_TEXT_MAX));
}

static enum sutra_status failed(struct output *output, struct sutra_error *error) {
    return error_file(error, SUTRA_IO, output->path, "cannot write: %s", strerror(output->failure));
}

enum sutra_status output_finish(struct output *output, struct sutra_error *error) {
    output_flush(output);
    return output->failure ? failed(output, error) : SUTRA_OK;
}

enum sutra_status output_close(struct output *output, bool keep, struct sutra_error *error) {
    output->failure = beside_close(&output->beside, keep);
    free(output->bytes);
    output->bytes = NULL;
    return keep && output->failure ? failed(output, error) : SUTRA_OK;
}
