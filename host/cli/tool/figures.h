/*
 * figures.h - numbers for people.
 */
#ifndef CLI_FIGURES_H
#define CLI_FIGURES_H

#include <stdint.h>

/* A number's text in the expression that prints it: count_text(n).text */
struct figure {
    char text[64];
};

/* "1,234,567" */
struct figure count_text(uint64_t count);

/* "1 rank", "2,345 ranks": a number and what it counts, one and several of it. */
struct figure counted_text(uint64_t count, const char *one, const char *several);

/* "1.234 s", "56.789 ms", "12 us"; "unknown" for NaN. */
struct figure time_text(double us);

/* "12.3 %"; "-" where there is no whole. */
struct figure share_text(double part, double whole);

/* "512 B", "1.5 kB", "12.3 MB": powers of 1000. */
struct figure bytes_text(uint64_t n_bytes);

#endif
