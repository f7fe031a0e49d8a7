/*
 * nearest.c - edit distance with neighbouring letters swapped counting as one slip; O(typed * candidate) for words of
 * at most WORD_MAX letters; of a longer one only the prefix is compared.
 */
#include "text/nearest.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define WORD_MAX 100

/* A candidate that begins with the typed letters, if these are at least so many, counts as this near. */
#define PREFIX_MIN      3
#define PREFIX_DISTANCE 2

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t distance(const char *a, size_t n_a, const char *b, size_t n_b) {
    uint8_t cost[WORD_MAX + 1][WORD_MAX + 1];
    for (size_t i = 0; i <= n_a; i++)
        cost[i][0] = (uint8_t)i;
    for (size_t j = 0; j <= n_b; j++)
        cost[0][j] = (uint8_t)j;
    for (size_t i = 1; i <= n_a; i++)
        for (size_t j = 1; j <= n_b; j++) {
            size_t change = (size_t)cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            size_t best = smaller(change, 1 + smaller(cost[i - 1][j], cost[i][j - 1]));
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped)
                best = smaller(best, cost[i - 2][j - 2] + (size_t)1);
            cost[i][j] = (uint8_t)best;
        }
    return cost[n_a][n_b];
}

struct nearest nearest_to(const char *typed) {
    return (struct nearest){.typed = typed, .distance = strlen(typed) / 3 + 2};
}

void nearest_try(struct nearest *nearest, const char *candidate) {
    size_t n_typed = strlen(nearest->typed), n_candidate = strlen(candidate);
    size_t difference = n_typed > n_candidate ? n_typed - n_candidate : n_candidate - n_typed, found = SIZE_MAX;
    if (n_typed <= WORD_MAX && n_candidate <= WORD_MAX && difference < nearest->distance)
        found = distance(nearest->typed, n_typed, candidate, n_candidate);
    if (n_typed >= PREFIX_MIN && strncmp(nearest->typed, candidate, n_typed) == 0)
        found = smaller(found, PREFIX_DISTANCE);
    if (found >= nearest->distance || found >= n_candidate)
        return;
    nearest->distance = found;
    nearest->word = candidate;
}
