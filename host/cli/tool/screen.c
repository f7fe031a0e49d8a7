/*
 * screen.c - determines the terminal width.
 */
#include "cli/tool/screen.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/tool/paths.h"

#define LEAST 80
#define MOST  200 /* beyond that a line is hard to follow */

bool screen_shows(const char *output) {
    return path_is_stream(output) && isatty(STDOUT_FILENO);
}

unsigned screen_columns(void) {
    struct winsize size;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < LEAST)
        return LEAST;
    return size.ws_col < MOST ? size.ws_col : MOST;
}

unsigned screen_columns_more(void) {
    return screen_columns() - LEAST;
}

void shortened_print(const struct shortened *shortened, unsigned width) {
    printf("%s%*s", shortened->text, (int)(width > shortened->n_columns ? width - shortened->n_columns : 0), "");
}

const char *typed_path(const char *path, unsigned width) {
    return strlen(path) > width + screen_columns_more() ? "TRACE" : path;
}

void wrapped_print(const char *text, int column, int indent) {
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (column > indent && column + 1 + length > LEAST) {
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
