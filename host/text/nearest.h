/*
 * nearest.h - the word that a person probably meant.
 *
 * Start with nearest_to(), offer the candidates, and take `word`: the candidate with the fewest letters to insert,
 * drop, change or swap, if these are at most a third of the letters and one, else NULL. A candidate that begins with at
 * least three typed letters is as near as two such slips.
 */
#ifndef TEXT_NEAREST_H
#define TEXT_NEAREST_H

#include <stddef.h>

struct nearest {
    const char *typed;
    const char *word;
    size_t distance; /* a candidate must be nearer than this */
};

struct nearest nearest_to(const char *typed);
void nearest_try(struct nearest *nearest, const char *candidate);

#endif
