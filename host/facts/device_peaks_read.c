/*
 * device_peaks_read.c - peaks from a small JSON file. O(bytes).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "facts/device_peaks.h"
#include "read/document.h"

#define GIGABYTES_PER_S "mem_bw_gbps"
#define TERAFLOPS       "max_achievable_tflops"

/* "matrix_bf16" and so on. */
static double *figure_of(struct device_peaks *peaks, const struct source *source, struct json_place key) {
    static const char *const units[] = {[UNIT_VECTOR] = "vector_", [UNIT_MATRIX] = "matrix_"};
    for (int unit = 0; unit < 2; unit++)
        for (int precision = 0; precision < N_PRECISIONS; precision++) {
            char name[32];
            snprintf(name, sizeof name, "%s%s", units[unit], precision_names[precision]);
            if (place_is(source, key, name))
                return &peaks->flops_per_s[unit][precision];
        }
    return NULL;
}

/* A number above 0 at the walker. */
static void read_figure(struct json_walker *walker, double unit, double *figure) {
    struct number number = {0};
    if (!field_number(walker->text + walker->at, &number) || number_as_double(number) <= 0 ||
        !isfinite(number_as_double(number) * unit)) {
        walk_fail(walker, "a number above 0");
        return;
    }
    *figure = number_as_double(number) * unit;
    walk_value(walker);
}

static void read_teraflops(struct json_walker *walker, struct device_peaks *peaks) {
    for (bool more = walk_object(walker); more; more = walk_member_end(walker)) {
        size_t at = walker->at;
        struct json_place key = walk_key(walker);
        if (walker->expected)
            return;
        double *figure = figure_of(peaks, walker->source, key);
        if (figure) {
            read_figure(walker, 1e12, figure);
            continue;
        }
        walk_to(walker, at);
        walk_fail(walker, "a unit and a precision, such as matrix_bf16 or vector_fp32,");
    }
}

static void read_peaks(struct json_walker *walker, struct device_peaks *peaks, struct json_place *name) {
    for (bool more = walk_object(walker); more; more = walk_member_end(walker)) {
        struct json_place key = walk_key(walker);
        if (walker->expected)
            return;
        if (place_is(walker->source, key, GIGABYTES_PER_S))
            read_figure(walker, 1e9, &peaks->bytes_per_s);
        else if (place_is(walker->source, key, TERAFLOPS))
            read_teraflops(walker, peaks);
        else if (place_is(walker->source, key, "name") && walk_char(walker) == '"')
            *name = walk_string(walker);
        else
            walk_value(walker);
    }
    if (!walker->expected && walker->at < walker->source->size)
        walk_fail(walker, "the end of the file");
}

static enum sutra_status read_source(const struct source *source, struct device_peaks *peaks, char **name,
                                     struct sutra_error *error) {
    struct json_place at = {0};
    struct json_walker walker = walk_from(source, 0);
    read_peaks(&walker, peaks, &at);
    enum sutra_status status = walk_error(&walker, error);
    if (!status && peaks->bytes_per_s <= 0)
        return error_file(error, SUTRA_DATA, source->name,
                          "'" GIGABYTES_PER_S "' (memory bandwidth in GB/s) is missing");
    if (!status) {
        *name = at.at ? strndup(source->bytes + at.at + 1, at.end - at.at - 1) : strdup(source->name);
        status = *name ? SUTRA_OK : error_memory(error);
    }
    return status;
}

enum sutra_status device_peaks_read(struct sutra_context *context, const char *path, struct device_peaks *peaks,
                                    char **name, struct sutra_error *error) {
    struct source source;
    struct device_peaks made = {0};
    enum sutra_status status = source_open(&source, path, context->options.most_input_bytes, error);
    if (status)
        return status;
    status = read_source(&source, &made, name, error);
    source_close(&source);
    if (!status) {
        made.name = *name;
        *peaks = made;
    }
    return status;
}
