/*
 * part.c - parses "3/64".
 */
#include "cli/tool/part.h"

#include <stdlib.h>

#include "cli/tool/message.h"

int part_read(const char *text, size_t *part, size_t *n_parts) {
    char *slash, *end = "";
    unsigned long long k = strtoull(text, &slash, 10), n = 0;
    if (slash != text && *slash == '/')
        n = strtoull(slash + 1, &end, 10);
    if (slash == text || *slash != '/' || *text == '-' || end == slash + 1 || *end || slash[1] == '-' || k == 0 ||
        k > n)
        return message_fail(SUTRA_USAGE, "--part: '%s' is no part such as 3/64", text);
    *part = k - 1;
    *n_parts = n;
    return SUTRA_OK;
}
