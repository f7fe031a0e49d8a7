/*
 * plus_path.c - implements plus_path.h.
 */
#include "cli/link/plus_path.h"

#include <stdlib.h>
#include <string.h>

static const char ending[] = ".json", plus[] = "_plus.json";

/* The last ending in a text, or NULL. */
static const char *last_ending(const char *text) {
    const char *last = NULL;
    for (const char *at = text; (at = strstr(at, ending)); at++)
        last = at;
    return last;
}

char *plus_path(const char *host, bool everywhere) {
    const char *slash = strrchr(host, '/'), *from = host;
    char *path = malloc(strlen(host) * 2 + sizeof plus);
    if (!path)
        return NULL;
    const char *next = everywhere ? strstr(host, ending) : last_ending(slash ? slash : host);
    bool found = next != NULL;
    char *to = path;
    for (; next; next = everywhere ? strstr(from, ending) : NULL) {
        to = mempcpy(to, from, (size_t)(next - from));
        to = mempcpy(to, plus, sizeof plus - 1);
        from = next + sizeof ending - 1;
    }
    to = mempcpy(to, from, strlen(from));
    if (!found)
        to = mempcpy(to, plus, sizeof plus - 1);
    *to = 0;
    return path;
}
