/*
 * output.c - a file behind a buffer of 1 MiB.
 */
#include "generate/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

enum sutra_status output_open(struct output *output, const char *path, struct sutra_error *error) {
    struct stat status;
    char *bytes = malloc(OUTPUT_CAPACITY);
    if (!bytes)
        return error_memory(error);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        free(bytes);
        return error_file(error, SUTRA_NO_OUTPUT, path, "cannot be created: %s", strerror(errno));
    }
    bool is_regular = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    *output = (struct output){.path = path, .bytes = bytes, .fd = fd, .is_regular = is_regular};
    return SUTRA_OK;
}

void output_flush(struct output *output) {
    size_t done = 0;
    while (done < output->length && !output->failure) {
        ssize_t n = write(output->fd, output->bytes + done, output->length - done);
        if (n > 0)
            done += (size_t)n;
        else if (n < 0 && errno != EINTR)
            output->failure = errno;
    }
    output->length = 0;
}

static void release(struct output *output) {
    if (close(output->fd) != 0 && !output->failure && errno != EINTR)
        output->failure = errno;
    free(output->bytes);
}

void output_remove(const struct output *output) {
    if (output->is_regular)
        unlink(output->path);
}

enum sutra_status output_close(struct output *output, struct sutra_error *error) {
    output_flush(output);
    release(output);
    if (!output->failure)
        return SUTRA_OK;
    output_remove(output);
    return error_file(error, SUTRA_IO, output->path, "writing failed: %s", strerror(output->failure));
}

void output_discard(struct output *output) {
    release(output);
    output_remove(output);
}
