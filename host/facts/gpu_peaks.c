/*
 * gpu_peaks.c - implements gpu_peaks.h; figures of data sheets, dense (without sparsity), at boost clocks.
 *
 * Sources, by their titles: NVIDIA V100 Tensor Core GPU data sheet (2020); A100 Tensor Core GPU data sheet (2021) and
 * A100 architecture white paper (fp16 and bf16 vectors); H100 Tensor Core GPU data sheet (2023) and Hopper architecture
 * white paper; H200 Tensor Core GPU data sheet (2024); GH200 data sheet (2023); Blackwell data sheet, HGX B200 and
 * GB200 (2024); Ada architecture white paper (RTX 4090: fp32 accumulation); L40S data sheet (2023); AMD Instinct MI210,
 * MI250 and MI250X data sheets (2022; the figures of one of two dies, which the driver shows as a device); AMD Instinct
 * MI300X (2023) and MI325X (2024) data sheets.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "facts/gpu_peaks.h"
#include "read/document.h"
#include "text/strings.h"

/* ---- Peaks from a JSON file ---- */

#define GIGABYTES_PER_S "mem_bw_gbps"
#define TERAFLOPS       "max_achievable_tflops"

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
    static const char *const units[] = {[UNIT_VECTOR] = "vector_", [UNIT_MATRIX] = "matrix_"};
    for (bool more = walk_object(walker); more; more = walk_member_end(walker)) {
        size_t at = walker->at;
        struct json_span key = walk_key(walker);
        if (walker->expected)
            return;
        double *figure = NULL;
        for (int unit = 0; unit < 2; unit++)
            for (int precision = 0; precision < N_PRECISIONS; precision++) {
                char name[32]; /* "matrix_bf16" and so on */
                snprintf(name, sizeof name, "%s%s", units[unit], precision_names[precision]);
                if (place_is(walker->source, key, name))
                    figure = &peaks->flops_per_s[unit][precision];
            }
        if (figure) {
            read_figure(walker, 1e12, figure);
            continue;
        }
        walk_to(walker, at);
        walk_fail(walker, "a unit and a precision, such as matrix_bf16 or vector_fp32,");
    }
}

static enum sutra_status read_source(const struct source *source, struct device_peaks *peaks, char **name,
                                     struct sutra_error *error) {
    struct json_span name_text = {0};
    struct json_walker walker = walk_from(source, 0);
    for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
        struct json_span key = walk_key(&walker);
        if (walker.expected)
            break;
        if (place_is(source, key, GIGABYTES_PER_S))
            read_figure(&walker, 1e9, &peaks->bytes_per_s);
        else if (place_is(source, key, TERAFLOPS))
            read_teraflops(&walker, peaks);
        else if (place_is(source, key, "name") && walk_char(&walker) == '"')
            name_text = walk_string(&walker);
        else
            walk_value(&walker);
    }
    if (!walker.expected && walker.at < source->size)
        walk_fail(&walker, "the end of the file");
    TRY(walk_error(&walker, error));
    if (peaks->bytes_per_s <= 0)
        return error_file(error, SUTRA_DATA, source->name,
                          "'" GIGABYTES_PER_S "' (memory bandwidth in GB/s) is missing");
    *name = name_text.at ? strndup(source->bytes + name_text.at + 1, name_text.end - name_text.at - 1)
                         : strdup(source->name);
    return *name ? SUTRA_OK : error_memory(error);
}

enum sutra_status device_peaks_read(struct sutra_context *context, const char *path, struct device_peaks *peaks,
                                    char **name, struct sutra_error *error) {
    struct source source;
    struct device_peaks made = {0};
    TRY(source_open(&source, path, context->options.most_input_bytes, error));
    enum sutra_status status = read_source(&source, &made, name, error);
    source_close(&source);
    if (!status) {
        made.name = *name;
        *peaks = made;
    }
    return status;
}

/* ---- Occupancy ---- */

/* NVIDIA's GPUs allocate registers to warps and shared memory to blocks in multiples of these. */
#define REGISTER_UNIT   256
#define SHARED_UNIT     128
#define SHARED_UNIT_OLD 256
#define SHARED_RESERVED 1024 /* for each block, from compute capability 8.0 on */
#define WARPS_AT_A_TIME 4
#define NVIDIA_WARP     32

static const struct {
    const char *name;
    size_t offset;
} members[] = {
    {"id", offsetof(struct device_limits, id)},
    {"computeMajor", offsetof(struct device_limits, major)},
    {"computeMinor", offsetof(struct device_limits, minor)},
    {"numSms", offsetof(struct device_limits, n_multiprocessors)},
    {"warpSize", offsetof(struct device_limits, warp_size)},
    {"maxThreadsPerMultiprocessor", offsetof(struct device_limits, threads)},
    {"regsPerMultiprocessor", offsetof(struct device_limits, registers)},
    {"sharedMemPerMultiprocessor", offsetof(struct device_limits, shared_memory)},
};

size_t device_limits_read(const struct sutra_device_trace *trace, struct device_limits *limits) {
    const struct document *document = &trace->document;
    const struct document_member *found = document_find(document, "deviceProperties");
    size_t n = 0;
    if (!found || document->source.bytes[found->value] != '[')
        return 0;
    struct json_walker walker = walk_from(&document->source, found->value);
    for (bool more = walk_array(&walker); more && n < MAX_DEVICES; more = walk_element_end(&walker), n++) {
        size_t at = walk_value(&walker).at;
        limits[n] = (struct device_limits){0};
        for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
            struct json_span place = document_member_of(document, at, members[i].name);
            int64_t value;
            if (place.at && field_integer(document->source.bytes + place.at, &value) && value >= 0 && value < INT32_MAX)
                memcpy((char *)&limits[n] + members[i].offset, &value, sizeof value);
        }
    }
    return n;
}

/* Blocks of a kernel that are resident on a multiprocessor simultaneously. */
static double resident_blocks(const struct device_limits *limits, const struct kernel_shape *shape) {
    int64_t version = limits->major * 10 + limits->minor;
    double max_blocks = 32;
    if (version == 75 || version == 86 || version == 87 || limits->major == 3)
        max_blocks = 16;
    else if (version == 89 || limits->major == 11 || limits->major == 12)
        max_blocks = 24;
    double warps = ceil(shape->threads / NVIDIA_WARP);
    double blocks = MIN(max_blocks, floor((double)limits->threads / NVIDIA_WARP / warps));
    if (shape->registers > 0) {
        double of_warp = ceil(shape->registers * NVIDIA_WARP / REGISTER_UNIT) * REGISTER_UNIT;
        double fit = floor((double)limits->registers / of_warp / WARPS_AT_A_TIME) * WARPS_AT_A_TIME;
        blocks = MIN(blocks, floor(fit / warps));
    }
    double unit = limits->major >= 8 ? SHARED_UNIT : SHARED_UNIT_OLD;
    double shared = shape->shared_memory + (limits->major >= 8 ? SHARED_RESERVED : 0);
    if (shared > 0)
        blocks = MIN(blocks, floor((double)limits->shared_memory / (ceil(shared / unit) * unit)));
    return blocks;
}

struct kernel_occupancy occupancy_of(const struct device_limits *limits, const struct kernel_shape *shape) {
    struct kernel_occupancy occupancy = {NAN, NAN, NAN};
    bool known = limits->warp_size == NVIDIA_WARP && limits->threads > 0 && limits->registers > 0 &&
                 limits->shared_memory > 0 && limits->n_multiprocessors > 0 && limits->major >= 3;
    if (!known || !(shape->threads > 0) || !(shape->blocks > 0) || isnan(shape->registers) ||
        isnan(shape->shared_memory))
        return occupancy;
    double blocks = resident_blocks(limits, shape), each = shape->blocks / (double)limits->n_multiprocessors;
    if (!(blocks > 0))
        return occupancy;
    occupancy.limit = blocks * shape->threads / (double)limits->threads;
    occupancy.occupied = MIN(blocks, each) * shape->threads / (double)limits->threads;
    occupancy.waves = each / blocks;
    return occupancy;
}

/* ---- Data sheets ---- */

/* TFLOP/s in the order of enum precision: fp64, fp32, tf32, fp16, bf16, fp8, int8; 0 at the end is omitted. The first
 * matching line counts. */
static const struct peaks_line {
    const char *words[2]; /* in the name, in any case; the second may be NULL */
    const char *name;
    double gigabytes_per_s;
    double vector[N_PRECISIONS], matrix[N_PRECISIONS];
} lines[] = {
    {{"GB200"}, "NVIDIA GB200", 8000, {40, 80, 0, 160, 160}, {40, 80, 1250, 2500, 2500, 5000, 5000}},
    {{"GH200"}, "NVIDIA GH200", 4000, {33.5, 66.9, 0, 133.8, 133.8}, {66.9, 66.9, 494.7, 989.4, 989.4, 1978.9, 1978.9}},
    {{"B200"}, "NVIDIA B200", 8000, {37, 75, 0, 150, 150}, {37, 75, 1100, 2250, 2250, 4500, 4500}},
    {{"H200"}, "NVIDIA H200", 4800, {33.5, 66.9, 0, 133.8, 133.8}, {66.9, 66.9, 494.7, 989.4, 989.4, 1978.9, 1978.9}},
    {{"H100", "PCIe"},
     "NVIDIA H100 PCIe",
     2000,
     {25.6, 51.2, 0, 102.4, 102.4},
     {51.2, 51.2, 378, 756, 756, 1513, 1513}},
    {{"H100", "NVL"}, "NVIDIA H100 NVL", 3900, {30, 60, 0, 120, 120}, {60, 60, 417.5, 835.5, 835.5, 1671, 1671}},
    {{"H100"},
     "NVIDIA H100 SXM",
     3350,
     {33.5, 66.9, 0, 133.8, 133.8},
     {66.9, 66.9, 494.7, 989.4, 989.4, 1978.9, 1978.9}},
    {{"A100", "80GB PCIe"}, "NVIDIA A100 80GB PCIe", 1935, {9.7, 19.5, 0, 78, 39}, {19.5, 19.5, 156, 312, 312, 0, 624}},
    {{"A100", "80GB"}, "NVIDIA A100 80GB SXM", 2039, {9.7, 19.5, 0, 78, 39}, {19.5, 19.5, 156, 312, 312, 0, 624}},
    {{"A100"}, "NVIDIA A100 40GB", 1555, {9.7, 19.5, 0, 78, 39}, {19.5, 19.5, 156, 312, 312, 0, 624}},
    {{"V100", "PCIE"}, "NVIDIA V100 PCIe", 900, {7, 14, 0, 28}, {7, 14, 0, 112}},
    {{"V100"}, "NVIDIA V100 SXM2", 900, {7.8, 15.7, 0, 31.4}, {7.8, 15.7, 0, 125}},
    {{"RTX 4090"},
     "NVIDIA GeForce RTX 4090",
     1008,
     {1.29, 82.6, 0, 82.6, 82.6},
     {1.29, 82.6, 82.6, 165.2, 165.2, 330.3, 660.6}},
    {{"L40S"}, "NVIDIA L40S", 864, {1.43, 91.6, 0, 91.6, 91.6}, {1.43, 91.6, 183, 362, 362, 733, 733}},
    {{"MI325X"},
     "AMD Instinct MI325X",
     6000,
     {81.7, 163.4, 0, 163.4, 163.4},
     {163.4, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 2614.9}},
    {{"MI300X"},
     "AMD Instinct MI300X",
     5300,
     {81.7, 163.4, 0, 163.4, 163.4},
     {163.4, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 2614.9}},
    {{"MI250X"},
     "AMD Instinct MI250X, one of two dies",
     1638,
     {23.95, 23.95},
     {47.85, 47.85, 0, 191.5, 191.5, 0, 191.5}},
    {{"MI250"}, "AMD Instinct MI250, one of two dies", 1638, {22.65, 22.65}, {45.25, 45.25, 0, 181, 181, 0, 181}},
    {{"MI210"}, "AMD Instinct MI210", 1638, {22.6, 22.6}, {45.3, 45.3, 0, 181, 181, 0, 181}},
};

static bool has_words(const char *name, size_t length, const char *const words[2]) {
    return text_has_in_any_case(name, length, words[0]) && (!words[1] || text_has_in_any_case(name, length, words[1]));
}

bool device_peaks_find(const char *name, size_t length, struct device_peaks *peaks) {
    const double tera = 1e12;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const struct peaks_line *line = &lines[i];
        if (!has_words(name, length, line->words))
            continue;
        *peaks = (struct device_peaks){.name = line->name, .bytes_per_s = line->gigabytes_per_s * 1e9};
        for (int precision = 0; precision < N_PRECISIONS; precision++) {
            peaks->flops_per_s[UNIT_VECTOR][precision] = line->vector[precision] * tera;
            peaks->flops_per_s[UNIT_MATRIX][precision] = line->matrix[precision] * tera;
        }
        return true;
    }
    return false;
}

struct json_span device_member(const struct document *document, const char *name) {
    const struct document_member *devices = document_find(document, "deviceProperties");
    const char *text = document->source.bytes;
    if (!devices || text[devices->value] != '[')
        return (struct json_span){0};
    size_t first = devices->value + 1;
    first += strspn(text + first, " \t\r\n");
    return text[first] == '{' ? document_member_of(document, first, name) : (struct json_span){0};
}

/* The device's name without its quotes; NULL. */
static const char *device_name(const struct document *document, size_t *length) {
    struct json_span name = device_member(document, "name");
    if (!name.at || document->source.bytes[name.at] != '"')
        return NULL;
    *length = name.end - name.at - 1;
    return document->source.bytes + name.at + 1;
}

bool device_peaks_of(const struct document *document, struct device_peaks *peaks) {
    size_t length;
    const char *name = device_name(document, &length);
    return name && device_peaks_find(name, length, peaks);
}

double device_link_of(const struct document *document) {
    static const struct {
        const char *words[2];
        double gigabytes_per_s;
    } links[] = {{{"B200"}, 900},          {{"H200"}, 450},         {{"H100", "HBM3"}, 450}, {{"A100", "SXM"}, 300},
                 {{"A100", "PG509"}, 300}, {{"V100", "SXM2"}, 150}, {{"MI300X"}, 448},       {{"MI325X"}, 448}};
    size_t length;
    const char *name = device_name(document, &length);
    if (!name || text_has_in_any_case(name, length, "PCI"))
        return 0;
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        if (has_words(name, length, links[i].words))
            return links[i].gigabytes_per_s * 1e9;
    return 0;
}

struct roofline roofline_of(const struct device_peaks *peaks, const struct op_flops *work, bool tf32) {
    /* The peak of the unit; without one in this precision, the peak of fp32 vectors, which can compute it too. */
    const double *unit = peaks->flops_per_s[work->unit];
    enum precision precision = work->precision == PRECISION_NONE ? PRECISION_FP32 : work->precision;
    if (tf32 && precision == PRECISION_FP32 && work->unit == UNIT_MATRIX && unit[PRECISION_TF32] > 0)
        precision = PRECISION_TF32;
    double peak = unit[precision] > 0 ? unit[precision] : peaks->flops_per_s[UNIT_VECTOR][PRECISION_FP32];
    struct roofline at = {.compute_s = peak > 0 ? work->flops / peak : (double)NAN,
                          .memory_s = peaks->bytes_per_s > 0 ? work->bytes / peaks->bytes_per_s : (double)NAN};
    at.by_compute = at.compute_s >= at.memory_s || isnan(at.memory_s);
    at.min_s = at.by_compute ? at.compute_s : at.memory_s;
    return at;
}
