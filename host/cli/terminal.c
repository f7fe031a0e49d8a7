/*
 * terminal.c - implements terminal.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/shared.h"
#include "cli/paths.h"
#include "cli/terminal.h"
#include "report/markup.h"
#include "text/strings.h"

#define PIECE 4096

/* A stream that lives as long as the program. */
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

/* Opens an escaping stream; out of memory: `plain`. */
static FILE *open_escaped(struct stream *stream, FILE *plain, int buffering) {
    const cookie_io_functions_t functions = {.write = write_visible};
    FILE *made = fopencookie(stream, "w", functions);
    if (!made)
        return plain;
    setvbuf(made, NULL, buffering, BUFSIZ);
    return made;
}

void streams_start(void) {
    static struct stream output = {.file = STDOUT_FILENO}, error = {.file = STDERR_FILENO};
    stdout = open_escaped(&output, stdout, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF);
    stderr = open_escaped(&error, stderr, _IOLBF);
}

/* Whether a byte needs no escape in a URL. */
static int is_plain(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           (byte != '\0' && strchr("/-._~", byte) != NULL);
}

void report_path_print(const char *folder, const char *page) {
    char *real = realpath(folder, NULL);
    printf("%s/%s.html\n", folder, page);
    if (!real)
        return;
    printf("file://");
    for (const char *at = strcmp(real, "/") == 0 ? "" : real; *at; at++)
        if (is_plain(*at))
            putchar(*at);
        else
            printf("%%%02X", (unsigned)(unsigned char)*at);
    printf("/%s.html\n", page);
    free(real);
}

#define COLUMNS_MIN 80
#define COLUMNS_MAX 200 /* longer lines are hard to read */

bool screen_shows(const char *output) {
    return path_is_stream(output) && isatty(STDOUT_FILENO);
}

unsigned screen_columns(void) {
    struct winsize size;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < COLUMNS_MIN)
        return COLUMNS_MIN;
    return (unsigned)MIN(size.ws_col, COLUMNS_MAX);
}

unsigned screen_columns_more(void) {
    return screen_columns() - COLUMNS_MIN;
}

bool screen_has_colours(void) {
    const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(no_colour && *no_colour) && !(terminal && strcmp(terminal, "dumb") == 0);
}

void screen_style(const char *sequence) {
    fflush(stdout);
    write_all(STDOUT_FILENO, sequence, strlen(sequence));
}

void shortened_print(const struct shortened *shortened, unsigned width) {
    printf("%s%*s", shortened->text, (int)(width > shortened->n_columns ? width - shortened->n_columns : 0), "");
}

const char *typed_path(const char *path, unsigned width) {
    return strlen(path) > width + screen_columns_more() ? "TRACE" : path;
}

void markdown_print(enum markdown_print_form form, const char *text) {
    struct text_out out = {.file = stdout};
    const struct markdown markdown = {.out = &out, .in_table = form == MARKDOWN_CELL || form == MARKDOWN_CELL_CODE};
    if (form == MARKDOWN_PATH)
        markdown_path(&markdown, text);
    else if (form == MARKDOWN_CELL_CODE)
        markdown_code(&markdown, text, strlen(text));
    else
        markdown_text(&markdown, text);
    out_flush(&out);
    buffer_free(&out.out);
}

void wrapped_print(const char *text, int column, int indent) {
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (column > indent && column + 1 + length > COLUMNS_MIN) {
            putchar('\n');
            column = 0;
        }
        if (column < indent)
            column += printf("%*s", indent - column, "");
        else if (column > indent)
            column += printf(" ");
        column += printf("%.*s", length, text);
        text += length + (text[length] == ' ');
    }
    putchar('\n');
}
