/*
 * figure.h - human-readable numbers for pages and drawings, independent of the locale.
 */
#ifndef REPORT_FIGURE_H
#define REPORT_FIGURE_H

#include <stdint.h>

/* What a number measures. */
enum unit { UNIT_US, UNIT_PERCENT, UNIT_COUNT, UNIT_PLAIN, UNIT_BYTES };

struct shown {
    char text[48];
};

/* "1,234.5" with so many decimals, at most 3; "n/a" for what is no number. */
struct shown shown_decimal(double value, int decimals);

/* With about three significant digits and its unit: "12.3 ms", "45 %", "1,234". */
struct shown shown_figure(double value, enum unit unit);

/* An axis from 0 to `end` with marks at round numbers, in the unit that suits the end: `n` of them, every `step`. */
struct ticks {
    double step, end; /* of the values themselves */
    int n;
    double unit;      /* how much of the value is one in the text */
    const char *name; /* of the unit, behind the number: " ms" */
    int decimals;
};

/* At most `n_most` marks, and two at least. */
struct ticks ticks_make(double largest, enum unit unit, int n_most);
struct shown ticks_text(const struct ticks *ticks, int i);

#endif
