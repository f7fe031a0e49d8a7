/*
 * report_place.c - implements report_place.h.
 */
#include "cli/tool/report_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that stand for themselves in an address. */
static int is_plain(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           (byte != '\0' && strchr("/-._~", byte) != NULL);
}

void report_place_print(const char *folder, const char *page) {
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
