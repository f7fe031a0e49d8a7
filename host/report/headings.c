/*
 * headings.c - determines heading and unit of a table column from the ending of its name, or from a list.
 */
#include "report/headings.h"

#include <string.h>

/* Ends of names, the longer ones first. */
static const struct {
    const char *end, *unit;
} ends[] = {{" (us)", "µs"},
            {"(us)", "µs"},
            {"_us", "µs"},
            {"_pctg", "%"},
            {"_percent", "%"},
            {"percent", "%"},
            {"_gb_per_s", "GB/s"},
            {"_ppm", "ppm"},
            {"_bytes", "bytes"},
            {"_tflops_per_s", "TFLOP/s"},
            {"tflops_per_s", "TFLOP/s"},
            {"tbytes_per_s", "TB/s"},
            {"flops_per_byte", "FLOP/byte"},
            {"gflops", "GFLOP"},
            {"tflops", "TFLOP"},
            {"mbytes", "MB"}};

/* Columns whose names are no words, or tell no unit; no table: in any. */
static const struct {
    const char *table, *column, *words, *unit;
} others[] = {{NULL, "tflops_per_s", "rate", "TFLOP/s"},
              {NULL, "peak_tflops_per_s", "peak", "TFLOP/s"},
              {NULL, "tbytes_per_s", "bandwidth", "TB/s"},
              {NULL, "flops_per_byte", "intensity", "FLOP/byte"},
              {NULL, "gflops", "work", "GFLOP"},
              {NULL, "tflops", "work", "TFLOP"},
              {NULL, "mbytes", "moved", "MB"},
              {NULL, "percent", "share", "%"},
              {NULL, "percentage", "share", "%"},
              {NULL, "shared_memory", "shared memory", "bytes"},
              {NULL, "memory_bw_gbps", "bandwidth", "GB/s"},
              {NULL, "cpu_op_kernel_ratio", "CPU time to kernel time", "ratio"},
              {"gpu_kernel_breakdown_mem.types", "sum", "time", "µs"}};

/* Times whose names do not say so. */
static const char *const times[] = {"ts",
                                    "dur",
                                    "duration",
                                    "stddev",
                                    "cpu_duration",
                                    "gpu_duration",
                                    "delay_mean",
                                    "delay_50%",
                                    "delay_max",
                                    "avg_aten_op_launch_delay",
                                    "avg_runtime_delay",
                                    "duration_at_max_queue_length"};

/* Numbers of whole tables. */
static const struct {
    const char *table, *unit;
} tables[] = {{"memory_bw_summary", "GB/s"}, {"queue_length_summary", "kernels"}};

static bool same(const char *a, const char *b) {
    return strcmp(a, b) == 0;
}

static void set_words(struct heading *heading, const char *name, size_t length) {
    size_t room = sizeof heading->words - 1;
    length = length < room ? length : room;
    for (size_t i = 0; i < length; i++)
        heading->words[i] = name[i];
    for (size_t i = 0; i < length; i++)
        if (name[i] == '_')
            heading->words[i] = ' ';
    heading->words[length] = '\0';
}

/* What describes a distribution. */
static bool describes(const char *column) {
    static const char *const names[] = {"mean", "std", "min", "25%", "50%", "75%", "max"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (same(column, names[i]))
            return true;
    return false;
}

struct heading heading_of(const char *table, const char *column) {
    struct heading heading = {.unit = ""};
    size_t length = strlen(column);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (same(others[i].column, column) && (!others[i].table || same(others[i].table, table))) {
            set_words(&heading, others[i].words, strlen(others[i].words));
            heading.unit = others[i].unit;
            return heading;
        }
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t n = strlen(ends[i].end);
        if (length < n || !same(column + length - n, ends[i].end))
            continue;
        set_words(&heading, column, length - n);
        heading.unit = ends[i].unit;
        return heading;
    }
    set_words(&heading, column, length);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (same(times[i], column))
            heading.unit = "µs";
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (same(tables[i].table, table) && describes(column))
            heading.unit = tables[i].unit;
    return heading;
}

bool heading_of_kernels(const char *table, const char *column) {
    static const char *const tables_of_kernels[] = {"kernels", "top_kernels", "kernel_configurations", "diff_kernels",
                                                    "gpu_kernel_breakdown_mem.kernels"};
    if (strstr(column, "kernel") && !same(column, "kernels"))
        return true;
    for (size_t i = 0; i < sizeof tables_of_kernels / sizeof *tables_of_kernels; i++)
        if (same(table, tables_of_kernels[i]) && same(column, "name"))
            return true;
    return false;
}
