/*
 * rate_peaks.c - what the device can do at most, and a table of it.
 */
#include <math.h>
#include <stdio.h>

#include "analyze/operators/rates.h"

enum sutra_status rate_peaks_find(struct rates_work *work, struct sutra_error *error) {
    const struct document *document = &work->reading->trace->document;
    const char *path = work->input->options.peaks;
    if (path) {
        work->has_peaks = true;
        return device_peaks_read(work->input->context, path, &work->peaks, &work->peaks_name, error);
    }
    work->has_peaks = device_peaks_of(document, &work->peaks);
    return SUTRA_OK;
}

static void put_peak(const struct rates_work *work, const char *unit, double tera_flops_per_s, double tera_bytes_per_s,
                     struct sutra_table *table) {
    table_integer(table, work->input->options.rank);
    table_words(table, work->peaks.name);
    table_words(table, unit);
    table_real(table, tera_flops_per_s);
    table_real(table, tera_bytes_per_s);
}

void rate_peaks_write(const struct rates_work *work, struct sutra_table *table) {
    static const char *const units[] = {[UNIT_VECTOR] = "vector", [UNIT_MATRIX] = "matrix"};
    char unit[32];
    if (!work->has_peaks)
        return;
    put_peak(work, "memory", NAN, work->peaks.bytes_per_s / 1e12, table);
    for (int i = 0; i < 2; i++)
        for (int precision = 0; precision < N_PRECISIONS; precision++) {
            double peak = work->peaks.flops_per_s[i][precision];
            snprintf(unit, sizeof unit, "%s %s", units[i], precision_names[precision]);
            if (peak > 0)
                put_peak(work, unit, peak / 1e12, NAN, table);
        }
}
