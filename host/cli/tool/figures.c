/*
 * figures.c - implements figures.h.
 */
#include "cli/tool/figures.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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

struct figure time_text(double us) {
    struct figure figure;
    if (isnan(us))
        snprintf(figure.text, sizeof figure.text, "unknown");
    else if (fabs(us) >= 999999.5)
        snprintf(figure.text, sizeof figure.text, "%.3f s", us / 1e6);
    else if (fabs(us) >= 1000)
        snprintf(figure.text, sizeof figure.text, "%.3f ms", us / 1e3);
    else
        snprintf(figure.text, sizeof figure.text, "%.4g us", us);
    return figure;
}

struct figure share_text(double part, double whole) {
    struct figure figure = {"-"};
    double share = 100 * part / whole;
    if (whole > 0)
        snprintf(figure.text, sizeof figure.text, "%.1f %%", fabs(share) < 0.05 ? 0 : share); /* no -0.0 */
    return figure;
}
