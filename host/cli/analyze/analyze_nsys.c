/*
 * analyze_nsys.c - `sutra analyze nsys`: summaries of a report of a profiler, as `nsys stats` prints
 * them, on the terminal and as tables.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/analyze/analysis.h"
#include "cli/terminal.h"
#include "sutra/nsys.h"
#include "text/quantities.h"

#define N_ROWS 8 /* of each summary on the terminal */

struct nsys_analysis {
    struct analysis analysis;
    struct sutra_nsys_options options;
    uint64_t min_gap_ns;
    struct sutra_nsys *report;
};

static int check(struct analysis *analysis) {
    if (analysis->job.n_inputs != 1)
        return message_fail(SUTRA_USAGE, "expected one report, found %zu", analysis->job.n_inputs);
    return SUTRA_OK;
}

static enum sutra_status work(struct analysis *analysis, struct sutra_error *error) {
    struct nsys_analysis *self = (struct nsys_analysis *)analysis;
    struct job *job = &analysis->job;
    self->options.min_gap_ns = (int64_t)self->min_gap_ns;
    TRY(sutra_nsys_read(job->context, job->inputs[0], &self->options, &self->report, error));
    return job->output ? analysis_write_tables(analysis, SUTRA_RESULT(self->report), RANK_ALL, error) : SUTRA_OK;
}

/* ---- Page ---- */

/* Prints the first rows of a summary: total, share, instances, name. `texts` and `totals` name its columns. */
static void print_summary(const struct sutra_nsys *report, enum sutra_nsys_table id, const char *title,
                          const char *texts, const char *totals) {
    const struct sutra_table *table = sutra_result_table(SUTRA_RESULT(report), id, NULL);
    const uint64_t n = sutra_table_rows(table);
    struct sutra_column names = column_named(table, texts), sums = column_named(table, totals);
    struct sutra_column counts = column_named(table, "instances");
    int64_t total = 0;
    for (uint64_t i = 0; i < n; i++)
        total += sums.integers[i];
    if (n)
        printf("\n%s\n%12s %7s %10s  %s\n", title, "total", "share", "instances", "name");
    for (uint64_t i = 0; i < n && i < N_ROWS; i++) {
        double value = (double)sums.integers[i];
        bool is_bytes = id == SUTRA_NSYS_MEMORY_SIZES;
        printf("%12s %7s %10s  %s\n",
               is_bytes ? bytes_text((uint64_t)sums.integers[i]).text : time_text(value / 1000).text,
               share_text(value, (double)total).text, count_text((uint64_t)counts.integers[i]).text,
               short_text(sutra_column_text(&names, i), screen_columns() - 33).text);
    }
    if (n > N_ROWS)
        printf("%12s %7s %10s  %s\n", "", "", "", counted_text(n - N_ROWS, "more row", "more rows").text);
}

static void print_gpus(const struct sutra_nsys *report) {
    const struct sutra_table *table = sutra_result_table(SUTRA_RESULT(report), SUTRA_NSYS_EXPOSED, NULL);
    static const char *const columns[] = {
        "rank", "device", "span_ns", "compute_ns", "exposed_communication_ns", "exposed_memory_ns", "idle_ns"};
    enum { N_COLUMNS = COUNT_OF(columns) };
    const uint64_t n = sutra_table_rows(table);
    struct sutra_column found[N_COLUMNS];
    for (size_t i = 0; i < N_COLUMNS; i++)
        found[i] = column_named(table, columns[i]);
    if (n)
        printf("\nGPU time\n%6s %4s %12s %12s %14s %12s %12s\n", "rank", "GPU", "span", "compute", "exposed comm.",
               "exposed mem.", "idle");
    for (uint64_t row = 0; row < n; row++) {
        printf("%6" PRId64 " %4" PRId64, found[0].integers[row], found[1].integers[row]);
        for (size_t i = 2; i < N_COLUMNS; i++)
            printf(" %*s", i == 4 ? 14 : 12, time_text((double)found[i].integers[row] / 1000).text);
        puts("");
    }
}

static int report(struct analysis *analysis) {
    const struct nsys_analysis *self = (const struct nsys_analysis *)analysis;
    const struct sutra_nsys *nsys = self->report;
    struct sutra_nsys_info info = {.size = sizeof info};
    sutra_nsys_info(nsys, &info);
    if (!analysis->job.quiet) {
        printf("%s: %s, %s", short_path(analysis->job.inputs[0], 50).text,
               counted_text(info.n_ranks, "rank", "ranks").text, counted_text(info.n_events, "event", "events").text);
        printf(", %s\n", counted_text(info.n_steps, "step", "steps").text);
        print_gpus(nsys);
        print_summary(nsys, SUTRA_NSYS_KERNELS, "Kernels (cuda_gpu_kern_sum)", "name", "total_ns");
        print_summary(nsys, SUTRA_NSYS_API, "CUDA calls (cuda_api_sum)", "name", "total_ns");
        print_summary(nsys, SUTRA_NSYS_NVTX_PROJECTION, "NVTX ranges on the GPU (nvtx_gpu_proj_sum)", "range",
                      "total_proj_ns");
        print_summary(nsys, SUTRA_NSYS_MEMORY_TIMES, "Memcpy and memset (cuda_gpu_mem_time_sum)", "name", "total_ns");
        print_summary(nsys, SUTRA_NSYS_MEMORY_SIZES, "Bytes (cuda_gpu_mem_size_sum)", "name", "total_bytes");
    }
    const struct named_count counts[] = {{"n_ranks", info.n_ranks},     {"n_events", info.n_events},
                                         {"n_kernels", info.n_kernels}, {"n_calls", info.n_calls},
                                         {"n_ranges", info.n_ranges},   {"n_steps", info.n_steps}};
    return analysis_close(analysis, counts, COUNT_OF(counts), NULL, 0);
}

static void release(struct job *job) {
    sutra_nsys_free(((struct nsys_analysis *)job)->report);
}

/* ---- The command ---- */

static const struct stage_share stages[] = {
    {"read report", 70, false}, {"make tables", 25, false}, {"write", 5, false}, {0}};

static const struct analysis_kind kind = {.page = "", .check = check, .work = work, .report = report};
static const struct nsys_analysis defaults = {
    .analysis = {.kind = &kind, .names = NAMES_REPORT, .no_report = true, .job.stages = stages},
    .options.size = sizeof(struct sutra_nsys_options)};

static const struct option_row options[] = {
    {"output", 'o', OPTION_FILE, "DIR", AT(job, output), .help = "write a file for each table into directory DIR"},
    ANALYSIS_ROW_TABLE_FORMAT,
    {"annotation", 'a', OPTION_TEXT, "TEXT", AT(nsys_analysis, options.annotation),
     .help = "use the NVTX ranges TEXT as steps (default: ranges such as iteration_3, step 3, batch#3)"},
    {"min-gap-ns", 0, OPTION_NUMBER, "NS", AT(nsys_analysis, min_gap_ns), .maximum = INT64_MAX,
     .help = "list gaps of at least NS nanoseconds, 0 for 1 ms (default: 0)"},
    JOB_ROW_THREADS,
    ANALYSIS_ROWS_HOW,
    {0},
};

static const char *const synopses[] = {"REPORT [-o DIR] [OPTIONS]", NULL};
static const char *const description[] = {
    "Summarizes a report of Nsight Systems (nsys export --type sqlite), rocprofv3 (rocpd) or rocmProfileData (.rpd) with "
    "the definitions of 'nsys stats': kernels, CUDA calls, NVTX ranges projected onto the GPU, memcpy and memset. Also lists gaps, and for "
    "each GPU of a rank the compute time, exposed communication, exposed memcpy and memset, and idle time.",
    "All other analyses read a report as a device trace: 'sutra analyze REPORT', 'sutra analyze hta REPORT', and so on.",
    NULL,
};
static const struct example examples[] = {
    {"sutra analyze nsys report.sqlite", "print the summaries"},
    {"sutra analyze nsys report.sqlite -o tables", "also write all tables as CSV"},
    {"sutra analyze nsys report.sqlite --annotation 'train loop body' -o tables", "use other ranges as steps"},
    {0},
};

const struct command analyze_nsys_command = {
    .name = "nsys",
    .called = "sutra analyze nsys",
    .summary = "summaries of a report of Nsight Systems",
    COMMAND_TEXTS,
    .n_operands_min = 1,
    .n_operands_max = 1,
    .missing = "the report is missing",
    .size = sizeof(struct nsys_analysis),
    .defaults = &defaults,
    .check = analysis_check,
    .writes = "",
    .work = analysis_run,
    .release = release,
};
