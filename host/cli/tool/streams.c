/*
 * streams.c - replaces standard output and standard error by streams that escape control characters.
 */
#include "cli/tool/streams.h"

#include <errno.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

#include "text/visible.h"

#define PIECE 4096

/* A stream of the program: they live as long as it does. */
struct stream {
    int file;
    struct visible visible;
};

static bool write_all(int file, const char *bytes, size_t n) {
    while (n > 0) {
        ssize_t written = write(file, bytes, n);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        bytes += written;
        n -= (size_t)written;
    }
    return true;
}

static ssize_t write_visible(void *cookie, const char *bytes, size_t n) {
    struct stream *stream = cookie;
    char shown[PIECE];
    for (const char *at = bytes; at < bytes + n;)
        if (!write_all(stream->file, shown, visible_fill(&stream->visible, &at, bytes + n, shown, sizeof shown)))
            return 0;
    return (ssize_t)n;
}

/* Where there is no memory for a stream, the one that is there serves. */
static FILE *show(struct stream *stream, FILE *plain, int buffering) {
    const cookie_io_functions_t functions = {.write = write_visible};
    FILE *made = fopencookie(stream, "w", functions);
    if (!made)
        return plain;
    setvbuf(made, NULL, buffering, BUFSIZ);
    return made;
}

void streams_start(void) {
    static struct stream output = {.file = STDOUT_FILENO}, error = {.file = STDERR_FILENO};
    stdout = show(&output, stdout, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF);
    stderr = show(&error, stderr, _IOLBF);
}
