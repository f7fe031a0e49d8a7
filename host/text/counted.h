/*
 * counted.h - counts for people.
 */
#ifndef TEXT_COUNTED_H
#define TEXT_COUNTED_H

#include <stdint.h>

/* A number's text in the expression that prints it: count_text(n).text */
struct figure {
    char text[128];
};

/* "1,234,567" */
struct figure count_text(uint64_t count);

/* "1 rank", "2,345 ranks": a number and what it counts, one and several of it. */
struct figure counted_text(uint64_t count, const char *one, const char *several);

#endif
