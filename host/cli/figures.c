/*
 * figures.c - numbers for people.
 */
#include "cli/figures.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

struct figure bytes_text(uint64_t n_bytes) {
    static const char *const units[] = {"kB", "MB", "GB", "TB", "PB"};
    struct figure figure;
    if (n_bytes < 1000) {
        snprintf(figure.text, sizeof figure.text, "%" PRIu64 " B", n_bytes);
        return figure;
    }
    double value = (double)n_bytes / 1000;
    size_t i = 0;
    for (; value >= 999.95 && i + 1 < sizeof units / sizeof *units; i++)
        value /= 1000;
    snprintf(figure.text, sizeof figure.text, "%.1f %s", value, units[i]);
    return figure;
}
