/*
 * nearest.h - the word that a person probably meant.
 *
 * Start with nearest_to(), offer the candidates, and take `word`: the candidate with the fewest letters to insert,
 * drop, change or swap, if these are few enough to be a slip (a third of the letters, at least one), else NULL.
 */
#ifndef CLI_NEAREST_H
#define CLI_NEAREST_H

#include <stddef.h>

struct nearest {
    const char *typed;
    const char *word;
    size_t distance; /* a candidate must be nearer than this */
};

struct nearest nearest_to(const char *typed);
void nearest_try(struct nearest *nearest, const char *candidate);

#endif
