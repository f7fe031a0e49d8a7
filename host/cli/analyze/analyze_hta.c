/*
 * analyze_hta.c - `sutra analyze hta`: reads device traces of one or many ranks; writes the tables of Holistic Trace
 * Analysis and an HTML page.
 *
 * Tables of a single rank (launches, changes of queue lengths) are written as soon as the rank is analyzed, to save
 * memory; all other tables at the end.
 */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "analyze/restriction.h"
#include "cli/analyze/analysis.h"
#include "cli/terminal.h"
#include "sutra/analyze.h"
#include "text/quantities.h"

/*
 * Prints the terminal report of `sutra analyze hta`: one to a few lines for each of ten questions.
 *
 * For several ranks, times are sums over all ranks, and shares refer to these sums.
 */

#define N_TOP         5
#define COMMAND_WIDTH 54 /* of a trace in a command that people may type */
#define TEXT_COLUMN   17
#define TYPE_COLUMN   39    /* where types of kernels begin */
#define NAME_COLUMN   31    /* where names of kernels begin */
#define ALIKE         0.001 /* the share by which ranks may differ without one being the slowest */

struct hta_page {
    const struct sutra_hta_ranks *ranks;
    struct sutra_hta_sums sums;
};

/* ---- Lines ---- */

static void begin(const char *what) {
    printf("  %-15s", what);
}

static void print_head(const struct hta_page *page) {
    const struct sutra_hta_rank *first = sutra_hta_ranks_get(page->ranks, 0);
    if (page->sums.n_ranks == 1 && page->sums.n_skipped == 0)
        printf("rank %lld: ", (long long)first->rank);
    else
        printf("%s: ", counted_text(page->sums.n_ranks, "rank", "ranks").text);
    printf("%s, ", counted_text(page->sums.all->n_events, "event", "events").text);
    printf("%s ", counted_text(page->sums.all->n_kernels, "kernel or memcpy", "kernels and memcpys").text);
    printf("on %s\n", counted_text(page->sums.all->n_streams, "stream", "streams").text);
    const struct sutra_hta_options *rules = sutra_hta_ranks_rules(page->ranks);
    printf("rules: HTA %s%s\n", sutra_hta_version_name(rules->hta_version),
           rules->compat ? ", including its bugs" : "");
    if (page->sums.all->n_steps > 1)
        printf("the last of %s steps is skipped (--last-step keeps it)\n", count_text(page->sums.all->n_steps).text);
    if (page->sums.n_skipped > 0)
        printf("%s skipped; see the warnings\n", counted_text(page->sums.n_skipped, "trace", "traces").text);
    putchar('\n');
}

/* The least and the most of all ranks that have kernels; 0 and 0: none has. */
static void span_range(const struct sutra_hta_ranks *ranks, double *least, double *most, uint64_t *n) {
    const struct sutra_hta_rank *rank;
    *least = *most = 0;
    *n = 0;
    for (size_t i = 0; (rank = sutra_hta_ranks_get(ranks, i)); i++) {
        if (!rank->summary || rank->summary->n_kernels == 0)
            continue;
        double span = rank->summary->span_us;
        *least = *n == 0 || span < *least ? span : *least;
        *most = span > *most ? span : *most;
        ++*n;
    }
}

/* Of one rank, or of several: a sum over ranks that ran side by side would be nobody's time. */
static void print_span(const struct hta_page *page) {
    const struct sutra_hta_summary *all = page->sums.all;
    const char *last = all->n_no_work ? "last event on a stream" : "last kernel";
    double least, most;
    uint64_t n;
    span_range(page->ranks, &least, &most, &n);
    begin("GPU time");
    if (n < 2) {
        printf("%s from first to %s:\n", time_text(all->span_us).text, last);
    } else {
        printf("%s per rank from first to %s\n", time_text(all->span_us / (double)n).text, last);
        begin("");
        printf("(mean; %s to %s):\n", time_text(least).text, time_text(most).text);
    }
    begin("");
}

static void print_time(const struct hta_page *page) {
    const struct sutra_hta_summary *all = page->sums.all;
    double other = all->span_us - all->compute_us - all->idle_us;
    print_span(page);
    printf("%s compute, ", share_text(all->compute_us, all->span_us).text);
    printf("%s other activity, %s idle\n", share_text(other, all->span_us).text,
           share_text(all->idle_us, all->span_us).text);
}

static void print_idle(const struct hta_page *page) {
    const struct sutra_hta_summary *all = page->sums.all;
    double waits = all->host_wait_us + all->kernel_wait_us + all->other_wait_us;
    begin("idle");
    printf("gaps on streams: %s host wait,\n", share_text(all->host_wait_us, waits).text);
    begin("");
    printf("%s kernel wait, %s other\n", share_text(all->kernel_wait_us, waits).text,
           share_text(all->other_wait_us, waits).text);
}

static void print_types(const struct hta_page *page) {
    const struct sutra_table *table = sutra_hta_ranks_table(page->ranks, SUTRA_HTA_TYPES_MEMORY, NULL);
    struct sutra_column name, us, share;
    if (!table || !sutra_table_column(table, 0, &name) || !sutra_table_column(table, 1, &us) ||
        !sutra_table_column(table, 2, &share))
        return;
    for (uint64_t row = 0; row < sutra_table_rows(table); row++) {
        double time = us.integers ? (double)us.integers[row] : us.reals[row];
        begin(row ? "" : "kernel types");
        printf("%12s %5.1f %%  ", time_text(time).text, share.reals[row]);
        printf("%s\n", short_text(sutra_column_text(&name, row), screen_columns() - TYPE_COLUMN).text);
    }
}

/* A name with the sum over all ranks. */
struct named {
    const char *name;
    double us;
};

/* Puts a name to its place among the N_TOP largest. */
static void keep_largest(struct named *top, struct named named) {
    for (int i = 0; i < N_TOP; i++)
        if (!top[i].name || named.us > top[i].us) {
            struct named last = top[i];
            top[i] = named;
            if (!last.name)
                return;
            named = last;
        }
}

static void print_top(const struct named top[N_TOP]) {
    const char *names[N_TOP];
    struct shortened shorts[N_TOP];
    size_t n = 0;
    for (; n < N_TOP && top[n].name; n++)
        names[n] = top[n].name;
    short_names(names, n, screen_columns() - NAME_COLUMN, shorts);
    for (size_t i = 0; i < n; i++) {
        begin(i ? "" : "top kernels");
        printf("%12s  %s\n", time_text(top[i].us).text, shorts[i].text);
    }
}

/* The names with the largest sums of all that the table has by name: its rows of one name stand together. */
static void print_kernels(const struct hta_page *page) {
    const struct sutra_table *table = sutra_hta_ranks_table(page->ranks, SUTRA_HTA_KERNELS_MEMORY, NULL);
    struct sutra_column name, us;
    struct named top[N_TOP] = {{0}}, named = {0};
    if (!table || !sutra_table_column(table, 0, &name) || !sutra_table_column(table, 1, &us))
        return;
    for (uint64_t row = 0; row < sutra_table_rows(table); row++) {
        const char *text = sutra_column_text(&name, row);
        if (named.name && strcmp(named.name, text) != 0) {
            keep_largest(top, named);
            named.name = NULL;
        }
        if (strcmp(text, "others") == 0)
            continue;
        double time = us.integers ? (double)us.integers[row] : us.reals[row];
        named = (struct named){text, named.name ? named.us + time : time};
    }
    if (named.name)
        keep_largest(top, named);
    print_top(top);
}

static void print_communication(const struct hta_page *page) {
    const struct sutra_hta_summary *all = page->sums.all;
    begin("communication");
    if (all->communication_us > 0)
        printf("%s, %s overlaps with compute, %s exposed\n", time_text(all->communication_us).text,
               share_text(all->overlap_us, all->communication_us).text, time_text(all->exposed_us).text);
    else
        printf("none (no kernel is called nccl...Kernel)\n");
}

/* No exponent where there are more. */
static struct figure three_digits(double value) {
    struct figure figure;
    snprintf(figure.text, sizeof figure.text, value < 100 ? "%.3g" : "%.0f", value);
    return figure;
}

static void print_copies(const struct hta_page *page) {
    const struct sutra_table *table = sutra_hta_ranks_table(page->ranks, SUTRA_HTA_BANDWIDTH, NULL);
    struct sutra_column rank, name, median, most;
    if (!table || sutra_table_rows(table) == 0 || !sutra_table_column(table, 0, &rank) ||
        !sutra_table_column(table, 1, &name) || !sutra_table_column(table, 7, &median) ||
        !sutra_table_column(table, 9, &most))
        return;
    for (uint64_t row = 0; row < sutra_table_rows(table) && row < N_TOP && rank.integers[row] == rank.integers[0];
         row++) {
        begin(row ? "" : "memcpy");
        printf("%-14s median %s, ", short_text(sutra_column_text(&name, row), 20).text,
               three_digits(median.reals[row]).text);
        printf("at most %s GB/s (rank %lld)\n", three_digits(most.reals[row]).text, (long long)rank.integers[row]);
    }
}

static void print_launches(const struct hta_page *page) {
    const struct sutra_hta_summary *all = page->sums.all;
    begin("launches");
    if (all->n_launches == 0) {
        printf("no launch is matched to a kernel\n");
        return;
    }
    printf("%s in %s; ", count_text(all->n_launches).text, time_text(all->launch_us).text);
    printf("median queue delay %s;\n", time_text(fmax(all->delay_median_us, 0)).text);
    begin("");
    printf("%s shorter than %s launch call (%s)\n", counted_text(all->n_short, "kernel is", "kernels are").text,
           all->n_short == 1 ? "its" : "their", share_text((double)all->n_short, (double)all->n_launches).text);
    if (all->n_unlisted == 0)
        return;
    begin("");
    printf("%s missing from the launch tables,\n", counted_text(all->n_unlisted, "kernel is", "kernels are").text);
    begin("");
    printf("launched by calls unknown to HTA (cuLaunchKernel):\n");
    begin("");
    printf("--all-launches counts them\n");
}

static void print_queue(const struct hta_page *page) {
    const struct sutra_hta_summary *all = page->sums.all;
    if (all->queue_most == 0)
        return;
    begin("queue");
    printf("%s at most, ", counted_text((uint64_t)all->queue_most, "kernel", "kernels").text);
    printf("mean %s (stream %lld of rank %lld)\n", three_digits(all->queue_mean).text, (long long)all->queue_stream,
           (long long)page->sums.queue_rank);
}

static void print_slowest(const struct hta_page *page) {
    static const char *const causes[] = {"compute", "exposed communication", "exposed memcpy", "idle time"};
    struct sutra_hta_slowest slowest = {.size = sizeof slowest};
    if (!sutra_hta_ranks_slowest(page->ranks, &slowest))
        return;
    begin("slowest rank");
    if (slowest.span_us - slowest.median_span_us <= ALIKE * slowest.median_span_us) {
        printf("none: all ranks take about %s\n", time_text(slowest.median_span_us).text);
        return;
    }
    printf("%lld: %s, median %s;\n", (long long)slowest.rank, time_text(slowest.span_us).text,
           time_text(slowest.median_span_us).text);
    begin("");
    printf("mostly due to %s:\n", causes[slowest.cause]);
    begin("");
    printf("%s, median %s\n", time_text(slowest.cause_us).text, time_text(slowest.median_cause_us).text);
    if (slowest.awaited_rank < 0)
        return;
    begin("straggler");
    printf("rank %lld has the least communication time\n", (long long)slowest.awaited_rank);
}

/* ---- What is missing, and what is next ---- */

static void print_missing(const struct hta_page *page) {
    static const struct {
        enum sutra_hta_table id;
        const char *what;
    } tables[] = {{SUTRA_HTA_TEMPORAL, "GPU time"},
                  {SUTRA_HTA_IDLE, "idle"},
                  {SUTRA_HTA_QUEUE_SUMMARY, "queue"},
                  {SUTRA_HTA_BANDWIDTH, "memcpy"}};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        const char *reason;
        if (sutra_hta_ranks_table(page->ranks, tables[i].id, &reason))
            continue;
        begin(tables[i].what);
        wrapped_print(reason, TEXT_COLUMN + printf("not computed:"), TEXT_COLUMN);
    }
    if (page->sums.all->n_bad_times > 0) {
        begin("skipped");
        printf("%s\n",
               counted_text(page->sums.all->n_bad_times, "event without a valid time", "events without a valid time")
                   .text);
    }
    if (page->sums.all->n_negative > 0) {
        begin("invalid");
        printf("%s\n", counted_text(page->sums.all->n_negative, "negative duration, used as recorded",
                                    "negative durations, used as recorded")
                           .text);
    }
}

static void print_next(const struct hta_page *page, const char *folder) {
    const struct sutra_hta_summary *all = page->sums.all;
    struct sutra_hta_slowest slowest = {.size = sizeof slowest};
    const struct sutra_hta_rank *first = sutra_hta_ranks_get(page->ranks, 0);
    bool several = sutra_hta_ranks_slowest(page->ranks, &slowest);
    for (size_t i = 0; several && first && first->rank != slowest.rank; i++)
        first = sutra_hta_ranks_get(page->ranks, i + 1);
    printf("\nnext:\n");
    if (all->n_kernels == 0) {
        printf("  profile with ProfilerActivity.CUDA to record kernels\n");
        return;
    }
    if (all->idle_us > all->compute_us && all->idle_us > all->exposed_us)
        printf("  most time is idle; find out what the GPU waits for:\n");
    else if (all->exposed_us > all->compute_us)
        printf("  most time is exposed communication; find out what it waits for:\n");
    else
        printf("  most time is compute; find the kernels on the critical path:\n");
    printf("    sutra critical-path %s\n", first ? typed_path(first->path, COMMAND_WIDTH) : "TRACE");
    if (!folder)
        printf("  write the tables with -o DIR\n");
}

/* Prints at most 100 columns to standard output: ten things to know, what could not be computed, what to run next.
 * `folder` is where the tables are, or NULL. */
static void hta_page_print(const struct sutra_hta_ranks *ranks, const char *folder) {
    struct hta_page page = {.ranks = ranks, .sums.size = sizeof page.sums};
    sutra_hta_ranks_sum(ranks, &page.sums);
    print_head(&page);
    if (page.sums.all->n_kernels > 0) {
        print_time(&page);
        print_idle(&page);
        print_types(&page);
        print_kernels(&page);
        print_communication(&page);
        print_copies(&page);
        print_launches(&page);
        print_queue(&page);
        print_slowest(&page);
    }
    print_missing(&page);
    print_next(&page, folder);
}

struct hta_values {
    struct analysis_values analysis;
    uint64_t n_kernels, kernel_delay, full_queue, sequence_kernels;
    const char *sequences_of;
    int hta_version, counters;
    bool last_step, all_launches, nanoseconds, no_series, compat;
};

static const char *const hta_versions[] = {"0.5", "0.6", NULL}; /* in the order of enum sutra_hta_version */

/* Endings of traces with counters. */
static const char *const endings[] = {"json", "json.gz", "json.zst", NULL};

#define AT(field) .offset = offsetof(struct hta_values, field)

static const struct option_row options[] = {
    ANALYSIS_ROW_OUTPUT(PAGE_HTA),
    {"format", 'f', OPTION_CHOICE, "FORMAT", AT(analysis.tables), .choices = table_formats,
     .help =
         "write tables as csv with the columns of Holistic Trace Analysis, or as json arrays of rows (default: csv)"},
    {"kernels", 'n', OPTION_NUMBER, "N", AT(n_kernels), .minimum = 1, .maximum = UINT32_MAX,
     .help = "list at most N kernels of each type, and sum the rest as 'others' (default: 10)"},
    {"kernel-gap-us", 0, OPTION_NUMBER, "US", AT(kernel_delay), .minimum = 1, .maximum = UINT32_MAX,
     .help = "count gaps below US microseconds as kernel wait (default: 30)"},
    {"last-step", 0, OPTION_FLAG, AT(last_step),
     .help = "keep the last ProfilerStep (default: skip it if there are several)"},
    {"all-launches", 0, OPTION_FLAG, AT(all_launches),
     .help =
         "also count launches by cuLaunchKernelEx, cudaGraphLaunch and HIP calls in the tables of launches and queues "
         "(launch_calls always counts them)"},
    {"nanoseconds", 0, OPTION_FLAG, AT(nanoseconds),
     .help = "keep fractions of microseconds, as HTA with HTA_DISABLE_NS_ROUNDING=1"},
    {"hta-version", 0, OPTION_CHOICE, "VERSION", AT(hta_version), .choices = hta_versions,
     .help = "use the rules of HTA 0.5 or 0.6; 0.6 classifies more kernels (default: 0.5)"},
    {"compat", 0, OPTION_FLAG, AT(compat),
     .help = "compute all tables exactly as HTA, including its bugs, for comparison"},
    {"full-queue", 0, OPTION_NUMBER, "N", AT(full_queue), .minimum = 1, .maximum = UINT32_MAX,
     .help = "set the queue capacity to N kernels, for time_spent_blocked_on_full_queue (default: 1024)"},
    {"sequences", 0, OPTION_TEXT, "NAME", AT(sequences_of),
     .help = "list the kernel sequences of operators whose name contains NAME (default: aten::)"},
    {"sequence-kernels", 0, OPTION_NUMBER, "N", AT(sequence_kernels), .minimum = 1, .maximum = UINT32_MAX,
     .help = "list only sequences of at least N kernels (default: 3)"},
    {"write-counters", 0, OPTION_CHOICE, "ENDING", AT(counters), .choices = endings,
     .help =
         "also write trace_with_counters.rankN.ENDING for Perfetto, with counters of queue length, memory bandwidth "
         "and GPU busy share"},
    {"no-series", 0, OPTION_FLAG, AT(no_series), .help = "skip the tables with one row per launch or kernel"},
    ANALYSIS_ROWS_PART,
    ANALYSIS_ROWS_SHARE,
    ANALYSIS_ROWS_WHERE,
    ANALYSIS_ROWS_HOW,
    {0},
};

/* What lives while traces are analyzed. */
struct hta_job {
    struct analysis_run run;
    struct hta_values values;
    struct sutra_hta_ranks *ranks;
};

/* By which rules the tables were made; and what HTA gives as lists, for who compares with it. */
static enum sutra_status write_lists(struct hta_job *job, struct sutra_error *error) {
    static const struct {
        const char *name;
        enum sutra_hta_list list;
    } lists[] = {{"rules", SUTRA_HTA_LIST_RULES},
                 {"profiler_steps", SUTRA_HTA_LIST_STEPS},
                 {"potential_stragglers", SUTRA_HTA_LIST_STRAGGLERS}};
    enum sutra_status status = SUTRA_OK;
    for (size_t i = 0; i < (job->values.compat ? sizeof lists / sizeof *lists : 1) && !status; i++) {
        struct result_path path;
        uint64_t n_bytes = 0;
        status = result_place(job->run.results.path, lists[i].name, RANK_ALL, "json", &path, error);
        if (!status)
            status =
                sutra_hta_ranks_write_list(job->run.job.context, job->ranks, lists[i].list, path.text, &n_bytes, error);
        job->run.job.figures.output_bytes += n_bytes;
    }
    return status;
}

/* One rank is done. */
static enum sutra_status on_rank(void *arg, struct sutra_context *context, const struct sutra_hta *hta,
                                 struct sutra_error *error) {
    static const struct {
        enum sutra_hta_table id;
        bool series; /* a row for each launch or kernel */
    } tables[] = {{SUTRA_HTA_LAUNCHES, true},         {SUTRA_HTA_QUEUE, true},      {SUTRA_HTA_ANNOTATED, true},
                  {SUTRA_HTA_BANDWIDTH_SERIES, true}, {SUTRA_HTA_OPERATORS, false}, {SUTRA_HTA_SEQUENCES, false},
                  {SUTRA_HTA_BUSY_SERIES, true}};
    struct hta_job *job = arg;
    enum sutra_status status = SUTRA_OK;
    (void)context;
    for (size_t i = 0; i < sizeof tables / sizeof *tables && !status; i++) {
        const struct sutra_table *table = sutra_hta_table(hta, tables[i].id, NULL);
        if (table && !(tables[i].series && job->values.no_series))
            status = analysis_write_table(&job->run, table, sutra_hta_rank_of(hta), error);
    }
    return status;
}

/* Its trace is still there. */
static enum sutra_status on_trace(void *arg, struct sutra_context *context, const struct sutra_device_trace *trace,
                                  const struct sutra_hta *hta, struct sutra_error *error) {
    struct hta_job *job = arg;
    struct result_path path;
    uint64_t n_bytes = 0;
    enum sutra_status status = result_place(job->run.results.path, "trace_with_counters", sutra_hta_rank_of(hta),
                                            endings[job->values.counters], &path, error);
    if (!status)
        status = sutra_hta_write_counters(context, trace, hta, SUTRA_HTA_COUNTERS_ALL, path.text, &n_bytes, error);
    job->run.job.figures.output_bytes += n_bytes;
    return status;
}

static enum sutra_status write_tables(struct hta_job *job, struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    for (int id = 0; id < SUTRA_HTA_N_TABLES && !status; id++) {
        const struct sutra_table *table = sutra_hta_ranks_table(job->ranks, (enum sutra_hta_table)id, NULL);
        if (table)
            status = analysis_write_table(&job->run, table, RANK_ALL, error);
    }
    return status;
}

static enum sutra_status write_report(struct hta_job *job, struct sutra_error *error) {
    uint64_t n_bytes = 0;
    enum sutra_status status =
        sutra_report_write_hta(job->run.job.context, job->ranks, job->run.results.path, &n_bytes, error);
    job->run.job.figures.output_bytes += n_bytes;
    return status;
}

static enum sutra_status work(struct analysis_run *run, struct sutra_error *error) {
    struct hta_job *job = (struct hta_job *)run;
    const struct hta_values *values = &job->values;
    const char *output = values->analysis.job.output;
    const struct sutra_hta_options hta_options = {.size = sizeof hta_options,
                                                  .n_kernels = values->n_kernels,
                                                  .kernel_delay_us = values->kernel_delay,
                                                  .last_step = values->last_step,
                                                  .all_launches = values->all_launches,
                                                  .nanoseconds = values->nanoseconds,
                                                  .compat = values->compat,
                                                  .hta_version = (enum sutra_hta_version)values->hta_version,
                                                  .full_queue = values->full_queue,
                                                  .sequences_of = values->sequences_of,
                                                  .sequence_kernels = values->sequence_kernels};
    const struct sutra_hta_ranks_options ranks_options = {.size = sizeof ranks_options,
                                                          .hta = &hta_options,
                                                          .visit = output ? on_rank : NULL,
                                                          .arg = job,
                                                          .visit_trace =
                                                              output && values->counters >= 0 ? on_trace : NULL,
                                                          .restriction = &run->part.restriction};
    enum sutra_status status = sutra_hta_ranks_run(run->job.context, (const char *const *)run->traces.paths,
                                                   run->traces.n, &ranks_options, &job->ranks, error);
    if (!status && output)
        status = write_tables(job, error);
    if (!status && output)
        status = write_lists(job, error);
    if (!status && output && !values->analysis.no_report)
        status = write_report(job, error);
    return status;
}

static void print(const struct analysis_run *run) {
    if (!run->values->job.quiet)
        hta_page_print(((const struct hta_job *)run)->ranks, run->values->job.output);
}

static void print_counts(FILE *file, const struct analysis_run *run) {
    const struct sutra_hta_rank *rank;
    uint64_t n_ranks = 0, n_skipped = 0, n_events = 0, n_kernels = 0, n_launches = 0, n_bad_times = 0;
    for (size_t i = 0; (rank = sutra_hta_ranks_get(((const struct hta_job *)run)->ranks, i)); i++) {
        n_ranks += !rank->reason;
        n_skipped += rank->reason != NULL;
        n_events += rank->summary->n_events;
        n_kernels += rank->summary->n_kernels;
        n_launches += rank->summary->n_launches;
        n_bad_times += rank->summary->n_bad_times;
    }
    const struct named_count counts[] = {
        {"n_ranks", n_ranks},     {"n_skipped", n_skipped},   {"n_events", n_events},
        {"n_kernels", n_kernels}, {"n_launches", n_launches}, {"n_bad_times", n_bad_times},
    };
    run_counts_print_json(file, counts, sizeof counts / sizeof *counts, NULL, 0);
}

/* ---- The command ---- */

/* Traces with counters are whole ones, and those that were read here. */
static int check(struct analysis_run *run, bool is_shared) {
    if (((const struct hta_job *)run)->values.counters < 0)
        return SUTRA_OK;
    if (!run->values->job.output)
        return message_fail(SUTRA_USAGE, "--write-counters needs --output");
    if (is_shared)
        return message_fail(
            SUTRA_USAGE,
            "--write-counters needs the traces: run it in a single process, without --shard and --combine");
    if (restriction_is_part(&run->part.restriction))
        return message_fail(SUTRA_USAGE, "--write-counters writes full traces; extract a part first with 'sutra cut'");
    return SUTRA_OK;
}

static const struct analysis_kind kind = {
    .page = PAGE_HTA, .check = check, .work = work, .print = print, .print_counts = print_counts};

int hta_run_shared(const struct command *command, int argc, char **argv, const struct job_team *processes) {
    struct hta_job job = {.values = {.analysis.job.stages = analysis_stages, .counters = -1}};
    int exit_code = analysis_run(&kind, &job.run, &job.values.analysis, command, argc, argv, processes);
    sutra_hta_ranks_free(job.ranks);
    analysis_run_free(&job.run);
    return exit_code;
}

static int run(const struct command *command, int argc, char **argv) {
    return hta_run_shared(command, argc, argv, NULL);
}

static const char *const synopses[] = {"TRACE... [-o DIR] [OPTIONS]", NULL};
static const char *const description[] = {
    "Computes the tables of Holistic Trace Analysis (HTA) from the device traces of one or many ranks (plain or "
    "compressed files, or directories), and prints a summary. The tables are: temporal and kernel breakdown, idle time, "
    "overlap of communication and compute, launches, queues, memory bandwidth, annotations, operators with their "
    "kernels, kernel sequences, steps and stragglers. rules.json records the rules. Events with equal times keep the "
    "order of the file.",
    "The rank of a trace comes from distributedInfo, else from the number after the last 'rank' in the file name, else "
    "from the order of the arguments. A trace that cannot be read is skipped with a warning. A table that cannot be "
    "computed is reported with the reason.",
    NULL,
};
static const struct example examples[] = {
    {"sutra analyze hta device.json.gz", "print the summary"},
    {"sutra analyze hta traces/ -o results --open", "write a report and CSV tables of all ranks of a job"},
    {"sutra analyze hta device.json -o results --write-counters json.gz",
     "also write the trace with counters for Perfetto"},
    {"sutra analyze hta rank*.json.zst -o tables --format json --no-report -q", "write JSON tables only"},
    {0},
};

const struct command analyze_hta_command = {
    .name = "hta",
    .called = "sutra analyze hta",
    .summary = "compute the tables of Holistic Trace Analysis (HTA)",
    .synopses = synopses,
    .description = description,
    .options = options,
    .examples = examples,
    .n_operands_max = OPERANDS_ANY,
    .run = run,
};
