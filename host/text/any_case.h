/*
 * any_case.h - looking for a word in a text, whatever the case of its letters.
 */
#ifndef TEXT_ANY_CASE_H
#define TEXT_ANY_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* Whether the word stands somewhere in the text, which may hold NUL characters; an empty one always does. Few places
 * have its first letter, so that the rest is seldom compared. */
static inline bool text_has_in_any_case(const char *text, size_t length, const char *word) {
    size_t n = strlen(word);
    for (size_t i = 0; n > 0 && i + n <= length; i++)
        if ((text[i] | 0x20) == (*word | 0x20) && strncasecmp(text + i, word, n) == 0)
            return true;
    return n == 0;
}

#endif
