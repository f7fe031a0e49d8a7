/*
 * figures.h - human-readable numbers.
 */
#ifndef CLI_FIGURES_H
#define CLI_FIGURES_H

#include <stdint.h>

#include "text/counted.h"

/* "1.234 s", "56.789 ms", "12 us"; "unknown" for NaN. */
struct figure time_text(double us);

/* "12.3 %"; "-" where there is no whole. */
struct figure share_text(double part, double whole);

/* "512 B", "1.5 kB", "12.3 MB": powers of 1000. */
struct figure bytes_text(uint64_t n_bytes);

#endif
