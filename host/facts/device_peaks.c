/*
 * device_peaks.c - figures of data sheets, dense (without sparsity), at boost clocks.
 *
 * Sources, by their titles: NVIDIA V100 Tensor Core GPU data sheet (2020); A100 Tensor Core GPU data sheet (2021) and
 * A100 architecture white paper (fp16 and bf16 vectors); H100 Tensor Core GPU data sheet (2023) and Hopper architecture
 * white paper; H200 Tensor Core GPU data sheet (2024); GH200 data sheet (2023); Blackwell data sheet, HGX B200 and
 * GB200 (2024); Ada architecture white paper (RTX 4090: fp32 accumulation); L40S data sheet (2023); AMD Instinct MI210,
 * MI250 and MI250X data sheets (2022; the figures of one of two dies, which the driver shows as a device); AMD Instinct
 * MI300X (2023) and MI325X (2024) data sheets.
 */
#include "facts/device_peaks.h"

#include <math.h>
#include <string.h>

#include "text/any_case.h"

/* TFLOP/s in the order of enum precision: fp64, fp32, tf32, fp16, bf16, fp8, int8. */
struct peaks_line {
    const char *words[2]; /* that the name has, in any case; "": one suffices */
    const char *name;
    double gigabytes_per_s;
    double vector[N_PRECISIONS], matrix[N_PRECISIONS];
};

/* Of lines that fit, the first counts. */
static const struct peaks_line lines[] = {
    {{"GB200", ""}, "NVIDIA GB200", 8000, {40, 80, 0, 160, 160, 0, 0}, {40, 80, 1250, 2500, 2500, 5000, 5000}},
    {{"GH200", ""},
     "NVIDIA GH200",
     4000,
     {33.5, 66.9, 0, 133.8, 133.8, 0, 0},
     {66.9, 66.9, 494.7, 989.4, 989.4, 1978.9, 1978.9}},
    {{"B200", ""}, "NVIDIA B200", 8000, {37, 75, 0, 150, 150, 0, 0}, {37, 75, 1100, 2250, 2250, 4500, 4500}},
    {{"H200", ""},
     "NVIDIA H200",
     4800,
     {33.5, 66.9, 0, 133.8, 133.8, 0, 0},
     {66.9, 66.9, 494.7, 989.4, 989.4, 1978.9, 1978.9}},
    {{"H100", "PCIe"},
     "NVIDIA H100 PCIe",
     2000,
     {25.6, 51.2, 0, 102.4, 102.4, 0, 0},
     {51.2, 51.2, 378, 756, 756, 1513, 1513}},
    {{"H100", "NVL"}, "NVIDIA H100 NVL", 3900, {30, 60, 0, 120, 120, 0, 0}, {60, 60, 417.5, 835.5, 835.5, 1671, 1671}},
    {{"H100", ""},
     "NVIDIA H100 SXM",
     3350,
     {33.5, 66.9, 0, 133.8, 133.8, 0, 0},
     {66.9, 66.9, 494.7, 989.4, 989.4, 1978.9, 1978.9}},
    {{"A100", "80GB PCIe"},
     "NVIDIA A100 80GB PCIe",
     1935,
     {9.7, 19.5, 0, 78, 39, 0, 0},
     {19.5, 19.5, 156, 312, 312, 0, 624}},
    {{"A100", "80GB"}, "NVIDIA A100 80GB SXM", 2039, {9.7, 19.5, 0, 78, 39, 0, 0}, {19.5, 19.5, 156, 312, 312, 0, 624}},
    {{"A100", ""}, "NVIDIA A100 40GB", 1555, {9.7, 19.5, 0, 78, 39, 0, 0}, {19.5, 19.5, 156, 312, 312, 0, 624}},
    {{"V100", "PCIE"}, "NVIDIA V100 PCIe", 900, {7, 14, 0, 28, 0, 0, 0}, {7, 14, 0, 112, 0, 0, 0}},
    {{"V100", ""}, "NVIDIA V100 SXM2", 900, {7.8, 15.7, 0, 31.4, 0, 0, 0}, {7.8, 15.7, 0, 125, 0, 0, 0}},
    {{"RTX 4090", ""},
     "NVIDIA GeForce RTX 4090",
     1008,
     {1.29, 82.6, 0, 82.6, 82.6, 0, 0},
     {1.29, 82.6, 82.6, 165.2, 165.2, 330.3, 660.6}},
    {{"L40S", ""}, "NVIDIA L40S", 864, {1.43, 91.6, 0, 91.6, 91.6, 0, 0}, {1.43, 91.6, 183, 362, 362, 733, 733}},
    {{"MI325X", ""},
     "AMD Instinct MI325X",
     6000,
     {81.7, 163.4, 0, 163.4, 163.4, 0, 0},
     {163.4, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 2614.9}},
    {{"MI300X", ""},
     "AMD Instinct MI300X",
     5300,
     {81.7, 163.4, 0, 163.4, 163.4, 0, 0},
     {163.4, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 2614.9}},
    {{"MI250X", ""},
     "AMD Instinct MI250X, one of two dies",
     1638,
     {23.95, 23.95, 0, 0, 0, 0, 0},
     {47.85, 47.85, 0, 191.5, 191.5, 0, 191.5}},
    {{"MI250", ""},
     "AMD Instinct MI250, one of two dies",
     1638,
     {22.65, 22.65, 0, 0, 0, 0, 0},
     {45.25, 45.25, 0, 181, 181, 0, 181}},
    {{"MI210", ""}, "AMD Instinct MI210", 1638, {22.6, 22.6, 0, 0, 0, 0, 0}, {45.3, 45.3, 0, 181, 181, 0, 181}},
};

bool device_peaks_find(const char *name, size_t length, struct device_peaks *peaks) {
    const double tera = 1e12;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const struct peaks_line *line = &lines[i];
        if (!text_has_in_any_case(name, length, line->words[0]) || !text_has_in_any_case(name, length, line->words[1]))
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

struct json_place device_member(const struct document *document, const char *name) {
    const struct document_member *devices = document_find(document, "deviceProperties");
    const char *text = document->source.bytes;
    if (!devices || text[devices->value] != '[')
        return (struct json_place){0};
    size_t first = devices->value + 1;
    first += strspn(text + first, " \t\r\n");
    return text[first] == '{' ? document_member_of(document, first, name) : (struct json_place){0};
}

/* The device's name without its quotes; NULL. */
static const char *device_name(const struct document *document, size_t *length) {
    struct json_place name = device_member(document, "name");
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
    } links[] = {{{"B200", ""}, 900},      {{"H200", ""}, 450},     {{"H100", "HBM3"}, 450}, {{"A100", "SXM"}, 300},
                 {{"A100", "PG509"}, 300}, {{"V100", "SXM2"}, 150}, {{"MI300X", ""}, 448},   {{"MI325X", ""}, 448}};
    size_t length;
    const char *name = device_name(document, &length);
    if (!name || text_has_in_any_case(name, length, "PCI"))
        return 0;
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        if (text_has_in_any_case(name, length, links[i].words[0]) &&
            text_has_in_any_case(name, length, links[i].words[1]))
            return links[i].gigabytes_per_s * 1e9;
    return 0;
}

/* The peak of the unit, or where it has none in this precision that of vectors of fp32, which takes it as well. */
static double peak_of(const struct device_peaks *peaks, const struct op_flops *work, bool tf32) {
    const double *unit = peaks->flops_per_s[work->unit];
    enum precision precision = work->precision == PRECISION_NONE ? PRECISION_FP32 : work->precision;
    if (tf32 && precision == PRECISION_FP32 && work->unit == UNIT_MATRIX && unit[PRECISION_TF32] > 0)
        return unit[PRECISION_TF32];
    return unit[precision] > 0 ? unit[precision] : peaks->flops_per_s[UNIT_VECTOR][PRECISION_FP32];
}

struct roofline roofline_of(const struct device_peaks *peaks, const struct op_flops *work, bool tf32) {
    double peak = peak_of(peaks, work, tf32);
    struct roofline at = {.compute_s = peak > 0 ? work->flops / peak : (double)NAN,
                          .memory_s = peaks->bytes_per_s > 0 ? work->bytes / peaks->bytes_per_s : (double)NAN};
    at.by_compute = at.compute_s >= at.memory_s || isnan(at.memory_s);
    at.least_s = at.by_compute ? at.compute_s : at.memory_s;
    return at;
}
