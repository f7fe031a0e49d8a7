/*
 * rates_report.c - writes a roofline chart of the first rank's operators, and tables of rates.
 */
#include <stdlib.h>
#include <string.h>

#include "base/shared.h"
#include "report/rates_report.h"

/* Points of a roofline, which are the operators with the most time, and peaks. */
#define POINTS_SHOWN 100
#define PEAKS_SHOWN  6

static const enum shape shapes[N_SHAPES] = {SHAPE_CIRCLE, SHAPE_SQUARE, SHAPE_DIAMOND, SHAPE_UP,
                                            SHAPE_DOWN,   SHAPE_CROSS,  SHAPE_RING};
static const struct legend_entry kinds[N_SHAPES] = {{"matmul", 0, &shapes[0]},     {"convolutions", 0, &shapes[1]},
                                                    {"attention", 0, &shapes[2]},  {"elementwise", 0, &shapes[3]},
                                                    {"reductions", 0, &shapes[4]}, {"norms", 0, &shapes[5]},
                                                    {"others", 0, &shapes[6]}};

/* Beginnings of the categories, in the order of the kinds. */
static enum shape shape_of(const char *category) {
    static const char *const begins[] = {"GEMM", "CONV", "SDPA", "elementwise", "reduce", "NORM"};
    for (int i = 0; i < (int)(sizeof begins / sizeof *begins); i++)
        if (strncmp(category, begins[i], strlen(begins[i])) == 0)
            return shapes[i];
    return SHAPE_RING;
}

static uint32_t column_of(const struct sutra_table *table, const char *name) {
    uint32_t column = 0;
    while (strcmp(table->columns[column].spec.name, name) != 0)
        column++;
    return column;
}

static double real_at(const struct sutra_table *table, const char *column, uint64_t row) {
    return table_get_real(table, column_of(table, column), row);
}

static const char *text_at(const struct sutra_table *table, const char *column, uint64_t row, size_t *length) {
    return table_get_text(table, column_of(table, column), row, length);
}

static int64_t rank_at(const struct sutra_table *table, uint64_t row) {
    return table_get_integer(table, column_of(table, "rank"), row);
}

/* ---- The roofline ---- */

struct roofline_making {
    struct roofline_point points[POINTS_SHOWN];
    uint64_t n_points;
    struct buffer names; /* of points, one behind the other */
    struct roofline_peak peaks[PEAKS_SHOWN];
    char peak_names[PEAKS_SHOWN][32];
    int n_peaks;
    double us, tbytes_per_s;
};

/* A text of the table as a string, cut where there is no room. */
static void copy_text(const struct sutra_table *table, const char *column, uint64_t row, char *to, size_t size) {
    size_t length;
    const char *text = text_at(table, column, row, &length);
    length = length < size ? length : size - 1;
    memcpy(to, text, length);
    to[length] = 0;
}

static void add_point(struct roofline_making *making, const struct sutra_table *rates, uint64_t row) {
    char category[32];
    size_t n_name, n_dims, before = making->names.length;
    double flops_per_byte = real_at(rates, "flops_per_byte", row), rate = real_at(rates, "tflops_per_s", row);
    making->us += real_at(rates, "self_device_us", row);
    if (!(flops_per_byte > 0) || !(rate > 0) || making->n_points == POINTS_SHOWN)
        return;
    const char *name = text_at(rates, "name", row, &n_name), *dims = text_at(rates, "input_dims", row, &n_dims);
    copy_text(rates, "category", row, category, sizeof category);
    buffer_append(&making->names, name, n_name);
    buffer_append(&making->names, " ", 1);
    buffer_append(&making->names, dims, n_dims);
    making->points[making->n_points++] = (struct roofline_point){.name.length = making->names.length - before,
                                                                 .flops_per_byte = flops_per_byte,
                                                                 .tflops_per_s = rate,
                                                                 .us = real_at(rates, "self_device_us", row),
                                                                 .shape = shape_of(category),
                                                                 .row = row};
}

/* Names are where they are when nothing is added any more. */
static void name_points(struct roofline_making *making) {
    size_t at = 0;
    for (uint64_t i = 0; i < making->n_points; i++) {
        making->points[i].name.bytes = making->names.bytes + at;
        at += making->points[i].name.length;
    }
}

/* Whether an operator of the rank computes on the unit. */
static bool is_used(const struct sutra_table *rates, int64_t rank, const char *unit) {
    char used[32];
    for (uint64_t row = 0; row < rates->n_rows; row++) {
        copy_text(rates, "unit", row, used, sizeof used);
        if (rank_at(rates, row) == rank && strcmp(used, unit) == 0)
            return true;
    }
    return false;
}

ORDER_BY(compare_peaks, struct roofline_peak, DESCENDING(tflops_per_s))

static void add_peaks(struct roofline_making *making, const struct sutra_table *rates, const struct sutra_table *peaks,
                      int64_t rank) {
    for (uint64_t row = 0; row < peaks->n_rows; row++) {
        char *unit = making->peak_names[making->n_peaks < PEAKS_SHOWN ? making->n_peaks : 0];
        if (rank_at(peaks, row) != rank || making->n_peaks == PEAKS_SHOWN)
            continue;
        copy_text(peaks, "unit", row, unit, sizeof making->peak_names[0]);
        if (strcmp(unit, "memory") == 0)
            making->tbytes_per_s = real_at(peaks, "tbytes_per_s", row);
        else if (is_used(rates, rank, unit))
            making->peaks[making->n_peaks++] =
                (struct roofline_peak){.name = unit, .tflops_per_s = real_at(peaks, "tflops_per_s", row)};
    }
    qsort(making->peaks, (size_t)making->n_peaks, sizeof *making->peaks, compare_peaks);
}

static void show_roofline(struct page *page, const struct sutra_table *rates, const struct sutra_table *peaks) {
    struct roofline_making making = {.n_points = 0};
    int64_t rank = rank_at(rates, 0);
    for (uint64_t row = 0; row < rates->n_rows; row++)
        if (rank_at(rates, row) == rank)
            add_point(&making, rates, row);
    name_points(&making);
    if (peaks)
        add_peaks(&making, rates, peaks, rank);
    const struct roofline_chart chart = {.points = making.points,
                                         .n_points = making.n_points,
                                         .us = making.us,
                                         .peaks = making.peaks,
                                         .n_peaks = making.n_peaks,
                                         .tbytes_per_s = making.tbytes_per_s,
                                         .legend = kinds,
                                         .n_legend = (int)(sizeof kinds / sizeof *kinds)};
    page->markup.out.out.failed |= making.names.failed;
    if (making.n_points && !making.names.failed)
        page_chart(
            page, "roofline", "Roofline of operators",
            "One point per operator and arguments, sized by GPU time, at its FLOPs per byte and FLOPs per second; the "
            "lines are the peak memory bandwidth and compute rate.",
            roofline_draw, &chart);
    buffer_free(&making.names);
}

/* ---- What nothing is known of ---- */

static const struct column_spec unknown_columns[] = {{"rank", SUTRA_COLUMN_INTEGER},  {"name", SUTRA_COLUMN_TEXT},
                                                     {"calls", SUTRA_COLUMN_INTEGER}, {"device_us", SUTRA_COLUMN_REAL},
                                                     {"percent", SUTRA_COLUMN_REAL},  {"missing", SUTRA_COLUMN_TEXT}};

static void add_unknown(struct sutra_table *table, const struct sutra_table *rates, uint64_t row) {
    size_t n_name, n_missing;
    const char *name = text_at(rates, "name", row, &n_name), *missing = text_at(rates, "missing", row, &n_missing);
    if (n_missing == 0)
        return;
    table_integer(table, rank_at(rates, row));
    table_text(table, name, n_name);
    table_integer(table, table_get_integer(rates, column_of(rates, "calls"), row));
    table_real(table, real_at(rates, "device_us", row));
    table_real(table, real_at(rates, "percent", row));
    table_text(table, missing, n_missing);
}

static void show_unknown(struct page *page, const struct sutra_table *rates) {
    struct sutra_table table;
    table_init(&table, "rates_unknown", unknown_columns, sizeof unknown_columns / sizeof *unknown_columns);
    for (uint64_t row = 0; row < rates->n_rows; row++)
        add_unknown(&table, rates, row);
    page_check(page, &table);
    if (table.n_rows)
        page_table(page, &table, "GPU activity without known FLOPs", "rates");
    table_free(&table);
}

void rates_show(struct page *page, const struct sutra_operators_ranks *ranks) {
    const struct sutra_table *rates = sutra_result_table(SUTRA_RESULT(ranks), SUTRA_OPERATORS_RATES, NULL);
    const struct sutra_table *steps = sutra_result_table(SUTRA_RESULT(ranks), SUTRA_OPERATORS_RATE_STEPS, NULL);
    const struct sutra_table *peaks = sutra_result_table(SUTRA_RESULT(ranks), SUTRA_OPERATORS_PEAKS, NULL);
    if (!rates || rates->n_rows == 0) {
        page_missing(page, "Rates", "no GPU activity is attributed to operators");
        return;
    }
    show_roofline(page, rates, peaks);
    if (!peaks || peaks->n_rows == 0)
        page_missing(page, "Share of the roofline",
                     "no data sheet for this GPU, or the trace does not name it; use --peaks FILE");
    else
        page_table(page, peaks, "Peak rates of the GPU", "device_peaks");
    page_table(page, steps, "FLOPs of steps and model FLOPs utilization (MFU)", "rate_steps");
    page_table(page, rates, "Rates", "rates");
    show_unknown(page, rates);
}
