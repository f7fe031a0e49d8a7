/*
 * quantities.c - implements quantities.h.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "text/numbers.h"
#include "text/quantities.h"

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

static const char *const binary_units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

struct figure rounded_bytes_text(double n_bytes) {
    struct figure figure;
    size_t unit = 0;
    for (; n_bytes >= 1024 && unit < 4; unit++)
        n_bytes /= 1024;
    snprintf(figure.text, sizeof figure.text, "%.0f %s", n_bytes, binary_units[unit]);
    return figure;
}

struct figure binary_bytes_text(int64_t n_bytes) {
    struct figure figure;
    double value = fabs((double)n_bytes);
    size_t unit = 0;
    for (; value >= 1000 && unit < 6; unit++)
        value /= 1024;
    int digits = unit == 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2;
    snprintf(figure.text, sizeof figure.text, "%s%.*f %s", n_bytes < 0 ? "-" : "", digits, value, binary_units[unit]);
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

struct figure utc_text(int64_t ns) {
    struct figure figure = {""};
    const time_t seconds = ns / 1000000000;
    struct tm utc;
    if (gmtime_r(&seconds, &utc))
        strftime(figure.text, sizeof figure.text, "%Y-%m-%d %H:%M:%S", &utc);
    return figure;
}

struct figure brief_time_text(double ns) {
    static const char *const units[] = {"us", "ms", "s"};
    struct figure figure;
    double value = ns / 1000;
    int unit = 0;
    for (; value >= 999.5 && unit < 2; value /= 1000)
        unit++;
    int digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(figure.text, sizeof figure.text, "%.*f %s", value <= 0 ? 0 : digits, value, units[unit]);
    return figure;
}

struct figure share_text(double part, double whole) {
    struct figure figure = {"-"};
    double share = 100 * part / whole;
    if (whole > 0)
        snprintf(figure.text, sizeof figure.text, "%.1f %%", fabs(share) < UNCHANGED_PERCENT ? 0 : share); /* no -0.0 */
    return figure;
}

struct figure change_text(double percent) {
    struct figure figure = {"-"};
    if (fabs(percent) < UNCHANGED_PERCENT)
        snprintf(figure.text, sizeof figure.text, "0.0 %%");
    else if (percent < 1000)
        snprintf(figure.text, sizeof figure.text, "%+.1f %%", percent);
    else if (!isnan(percent))
        snprintf(figure.text, sizeof figure.text, "x%.3g", 1 + percent / 100);
    return figure;
}

#define LARGEST 1e14 /* with decimals, still an exact integer of 64 bits */

/* Units of time and of memory, ascending. */
static const struct scaled_unit {
    double size;
    const char *name;
} times[] = {{1, " µs"}, {1e3, " ms"}, {1e6, " s"}},
  sizes[] = {{1, " B"}, {0x1p10, " KiB"}, {0x1p20, " MiB"}, {0x1p30, " GiB"}, {0x1p40, " TiB"}};

#define COUNT(list) (sizeof(list) / sizeof *(list))

struct shown shown_decimal(double value, int decimals) {
    static const long long scales[] = {1, 10, 100, 1000};
    if (isnan(value))
        return (struct shown){"n/a"};
    if (!(fabs(value) < LARGEST)) {
        struct shown exact;
        exact.text[double_format(value, exact.text)] = '\0';
        return exact;
    }
    long long scaled = llrint(fabs(value) * (double)scales[decimals]), whole = scaled / scales[decimals];
    char digits[32];
    struct shown shown;
    size_t n = integer_format(whole, digits), out = 0;
    if (value < 0 && scaled > 0)
        shown.text[out++] = '-';
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            shown.text[out++] = ',';
        shown.text[out++] = digits[i];
    }
    if (decimals > 0 && decimals < 4)
        out +=
            (size_t)snprintf(shown.text + out, sizeof shown.text - out, ".%0*lld", decimals, scaled % scales[decimals]);
    shown.text[out] = '\0';
    return shown;
}

/* About three digits. */
static int decimals_of(double value) {
    return fabs(value) < 9.995 ? 2 : fabs(value) < 99.95 ? 1 : 0;
}

static struct shown with_unit(double value, int decimals, const char *unit) {
    struct shown shown = shown_decimal(value, decimals);
    if (!isnan(value))
        strncat(shown.text, unit, sizeof shown.text - strlen(shown.text) - 1);
    return shown;
}

struct shown shown_figure(double value, enum unit unit) {
    size_t i = 0;
    switch (unit) {
    case UNIT_US:
        while (i + 1 < COUNT(times) && fabs(value) >= times[i + 1].size * 0.9995)
            i++;
        value /= times[i].size;
        return with_unit(value, value == rint(value) ? 0 : decimals_of(value), times[i].name);
    case UNIT_BYTES:
        while (i + 1 < COUNT(sizes) && fabs(value) >= sizes[i + 1].size * 0.9995)
            i++;
        value /= sizes[i].size;
        return with_unit(value, value == rint(value) ? 0 : decimals_of(value), sizes[i].name);
    case UNIT_PERCENT:
        return with_unit(value, 1, " %");
    default:
        return with_unit(value, value == rint(value) ? 0 : decimals_of(value), "");
    }
}

/* The smallest of 1, 2 and 5 times a power of ten that is not below `minimum`. */
static double round_step(double minimum) {
    double power = pow(10, floor(log10(minimum)));
    static const double steps[] = {1, 2, 5, 10};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (steps[i] * power >= minimum * (1 - 1e-9))
            return steps[i] * power;
    return 10 * power;
}

/* Limits of the largest value of an axis, so that steps differ. */
#define SMALLEST_AXIS 1e-30
#define LARGEST_AXIS  1e300

struct ticks ticks_make(double largest, enum unit unit, int n_most) {
    struct ticks ticks = {.unit = 1, .name = unit == UNIT_PERCENT ? " %" : ""};
    if (!(largest >= SMALLEST_AXIS && largest <= LARGEST_AXIS))
        largest = 1;
    const struct scaled_unit *units = unit == UNIT_US ? times : sizes;
    size_t n_units = unit == UNIT_US ? COUNT(times) : unit == UNIT_BYTES ? COUNT(sizes) : 0;
    for (size_t i = 0; i < n_units; i++)
        if (i == 0 || largest >= units[i].size * 2) {
            ticks.unit = units[i].size;
            ticks.name = units[i].name;
        }
    double step = round_step(largest / ticks.unit / (n_most > 2 ? n_most - 1 : 1));
    if (unit == UNIT_COUNT && step < 1)
        step = 1;
    ticks.step = step * ticks.unit;
    ticks.end = fmax(largest, ticks.step);
    ticks.n = (int)floor(ticks.end / ticks.step + 1e-9) + 1;
    ticks.decimals = step >= 1 ? 0 : step >= 0.1 ? 1 : step >= 0.01 ? 2 : 3;
    return ticks;
}

struct shown ticks_text(const struct ticks *ticks, int i) {
    double value = i * ticks->step / ticks->unit;
    return with_unit(value, i == 0 ? 0 : ticks->decimals, ticks->name);
}

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

struct figure mean_count_text(double mean) {
    struct figure figure;
    if (!(mean > 0 && mean < 9.95))
        return count_text(mean > 0 ? (uint64_t)llrint(mean) : 0);
    snprintf(figure.text, sizeof figure.text, "%.2g", mean);
    return figure;
}

struct figure counted_text(uint64_t count, const char *one, const char *several) {
    struct figure figure;
    snprintf(figure.text, sizeof figure.text, "%.26s %s", count_text(count).text, count == 1 ? one : several);
    return figure;
}

/* ---- Lists of ranks ---- */

static void end_run(struct rank_list *list) {
    size_t left = sizeof list->text - list->length;
    if (!list->any || list->cut)
        return;
    if (left < 50) {
        list->length += (size_t)snprintf(list->text + list->length, left, ", ...");
        list->cut = true;
        return;
    }
    list->length +=
        (size_t)snprintf(list->text + list->length, left, "%s%" PRId64, list->length ? ", " : "", list->first);
    left = sizeof list->text - list->length;
    if (list->last > list->first)
        list->length += (size_t)snprintf(list->text + list->length, left, "%s%" PRId64,
                                         list->last == list->first + 1 ? ", " : "-", list->last);
}

void rank_list_add_run(struct rank_list *list, int64_t first, int64_t last) {
    if (!list->any || (uint64_t)first - (uint64_t)list->last != 1) {
        end_run(list);
        list->any = true;
        list->first = first;
    }
    list->last = last;
}

void rank_list_add(struct rank_list *list, int64_t rank) {
    rank_list_add_run(list, rank, rank);
}

const char *rank_list_text(struct rank_list *list) {
    end_run(list);
    list->any = false;
    return list->text;
}

struct figure ranks_text(const int64_t *ranks, size_t n) {
    struct figure figure;
    if (n == 1) {
        snprintf(figure.text, sizeof figure.text, "rank %" PRId64, ranks[0]);
    } else if (n == 2) {
        snprintf(figure.text, sizeof figure.text, "ranks %" PRId64 " and %" PRId64, ranks[0], ranks[1]);
    } else if (n == 3) {
        snprintf(figure.text, sizeof figure.text, "ranks %" PRId64 ", %" PRId64 " and %" PRId64, ranks[0], ranks[1],
                 ranks[2]);
    } else {
        struct rank_list list = {0};
        for (size_t i = 0; i < n; i++)
            rank_list_add(&list, ranks[i]);
        snprintf(figure.text, sizeof figure.text, "ranks %s", rank_list_text(&list));
    }
    return figure;
}
