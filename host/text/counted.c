/*
 * counted.c - digits in threes, and the word behind them.
 */
#include "text/counted.h"

#include <inttypes.h>
#include <stdio.h>

struct figure count_text(uint64_t count) {
    char digits[24];
    struct figure figure;
    size_t n = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, count), out = 0;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            figure.text[out++] = ',';
        figure.text[out++] = digits[i];
    }
    figure.text[out] = '\0';
    return figure;
}

struct figure counted_text(uint64_t count, const char *one, const char *several) {
    struct figure figure;
    snprintf(figure.text, sizeof figure.text, "%.26s %s", count_text(count).text, count == 1 ? one : several);
    return figure;
}
