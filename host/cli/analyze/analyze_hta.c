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

#include "analyze/ranks.h"
#include "base/shared.h"
#include "cli/analyze/analysis.h"
#include "cli/terminal.h"
#include "sutra/analyze.h"
#include "text/quantities.h"

struct hta_analysis {
    struct analysis analysis;
    struct sutra_hta_options options;
    int counters; /* index into extensions, or -1 */
    bool no_series;
    struct sutra_hta_ranks *ranks;
};

static const char *const hta_versions[] = {"0.5", "0.6", NULL}; /* in the order of enum sutra_hta_version */

/* Extensions of traces with counters. */
static const char *const extensions[] = {"json", "json.gz", "json.zst", NULL};

/*
 * The page: one to a few lines for each of ten questions, in at most 100 columns. For several ranks, times are sums
 * over all ranks, and shares refer to these sums.
 */

#define N_TOP         5
#define COMMAND_WIDTH 54 /* of a path in a command */
#define TEXT_COLUMN   17
#define TYPE_COLUMN   39    /* start of kernel types */
#define NAME_COLUMN   31    /* start of kernel names */
#define ALIKE         0.001 /* if ranks differ less, none is the slowest */

struct hta_page {
    const struct sutra_hta_ranks *ranks;
    struct sutra_hta_sums sums;
};

/* Begins a row with its title. */
static void begin_row(const char *title) {
    printf("  %-15s", title);
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

/* Prints the GPU time: of one rank, or the mean of several ranks, which ran at the same time. */
static void print_time(const struct hta_page *page) {
    const struct sutra_hta_summary *all = page->sums.all;
    const char *last = all->n_no_work ? "last event on a stream" : "last kernel";
    const struct sutra_hta_rank *rank;
    double min_us = 0, max_us = 0;
    uint64_t n = 0; /* ranks with kernels */
    for (size_t i = 0; (rank = sutra_hta_ranks_get(page->ranks, i)); i++) {
        if (!rank->summary || rank->summary->n_kernels == 0)
            continue;
        double us = rank->summary->span_us;
        min_us = n == 0 || us < min_us ? us : min_us;
        max_us = MAX(us, max_us);
        n++;
    }
    begin_row("GPU time");
    if (n < 2) {
        printf("%s from first to %s:\n", time_text(all->span_us).text, last);
    } else {
        printf("%s per rank from first to %s\n", time_text(all->span_us / (double)n).text, last);
        begin_row("");
        printf("(mean; %s to %s):\n", time_text(min_us).text, time_text(max_us).text);
    }
    begin_row("");
    double other = all->span_us - all->compute_us - all->idle_us;
    printf("%s compute, ", share_text(all->compute_us, all->span_us).text);
    printf("%s other activity, %s idle\n", share_text(other, all->span_us).text,
           share_text(all->idle_us, all->span_us).text);

    double waits = all->host_wait_us + all->kernel_wait_us + all->other_wait_us;
    begin_row("idle");
    printf("gaps on streams: %s host wait,\n", share_text(all->host_wait_us, waits).text);
    begin_row("");
    printf("%s kernel wait, %s other\n", share_text(all->kernel_wait_us, waits).text,
           share_text(all->other_wait_us, waits).text);
}

static void print_types(const struct hta_page *page) {
    const struct sutra_table *table = sutra_result_table(SUTRA_RESULT(page->ranks), SUTRA_HTA_TYPES_MEMORY, NULL);
    if (!table)
        return;
    struct sutra_column name = column_named(table, "kernel_type"), us = column_named(table, "sum");
    struct sutra_column share = column_named(table, "percentage");
    for (uint64_t row = 0; row < sutra_table_rows(table); row++) {
        double time = us.integers ? (double)us.integers[row] : us.reals[row];
        begin_row(row ? "" : "kernel types");
        printf("%12s %5.1f %%  ", time_text(time).text, share.reals[row]);
        printf("%s\n", short_text(sutra_column_text(&name, row), screen_columns() - TYPE_COLUMN).text);
    }
}

/* A kernel name with its sum over all ranks. */
struct named {
    const char *name;
    double us;
};

/* Inserts a name into the list of the N_TOP largest. */
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

/* Prints the kernel names with the largest sums; the table lists rows of equal names consecutively. */
static void print_kernels(const struct hta_page *page) {
    const struct sutra_table *table = sutra_result_table(SUTRA_RESULT(page->ranks), SUTRA_HTA_KERNELS_MEMORY, NULL);
    struct named top[N_TOP] = {{0}}, named = {0};
    if (!table)
        return;
    struct sutra_column name = column_named(table, "name"), us = column_named(table, "sum (us)");
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
    const char *names[N_TOP];
    struct shortened shorts[N_TOP];
    size_t n = 0;
    for (; n < N_TOP && top[n].name; n++)
        names[n] = top[n].name;
    short_names(names, n, screen_columns() - NAME_COLUMN, shorts);
    for (size_t i = 0; i < n; i++) {
        begin_row(i ? "" : "top kernels");
        printf("%12s  %s\n", time_text(top[i].us).text, shorts[i].text);
    }
}

/* Three digits, or all digits of larger integers. */
static struct figure three_digits(double value) {
    struct figure figure;
    snprintf(figure.text, sizeof figure.text, value < 100 ? "%.3g" : "%.0f", value);
    return figure;
}

static void print_transfers(const struct hta_page *page) {
    const struct sutra_hta_summary *all = page->sums.all;
    begin_row("communication");
    if (all->communication_us > 0)
        printf("%s, %s overlaps with compute, %s exposed\n", time_text(all->communication_us).text,
               share_text(all->overlap_us, all->communication_us).text, time_text(all->exposed_us).text);
    else
        printf("none (no kernel is called nccl...Kernel)\n");

    const struct sutra_table *table = sutra_result_table(SUTRA_RESULT(page->ranks), SUTRA_HTA_BANDWIDTH, NULL);
    if (!table || sutra_table_rows(table) == 0)
        return;
    struct sutra_column rank = column_named(table, "rank"), name = column_named(table, "name");
    struct sutra_column median = column_named(table, "50%"), most = column_named(table, "max");
    for (uint64_t row = 0; row < sutra_table_rows(table) && row < N_TOP && rank.integers[row] == rank.integers[0];
         row++) {
        begin_row(row ? "" : "memcpy");
        printf("%-14s median %s, ", short_text(sutra_column_text(&name, row), 20).text,
               three_digits(median.reals[row]).text);
        printf("at most %s GB/s (rank %lld)\n", three_digits(most.reals[row]).text, (long long)rank.integers[row]);
    }
}

static void print_launches(const struct hta_page *page) {
    const struct sutra_hta_summary *all = page->sums.all;
    begin_row("launches");
    if (all->n_launches == 0) {
        printf("no launch is matched to a kernel\n");
    } else {
        printf("%s in %s; ", count_text(all->n_launches).text, time_text(all->launch_us).text);
        printf("median queue delay %s;\n", time_text(fmax(all->delay_median_us, 0)).text);
        begin_row("");
        printf("%s shorter than %s launch call (%s)\n", counted_text(all->n_short, "kernel is", "kernels are").text,
               all->n_short == 1 ? "its" : "their", share_text((double)all->n_short, (double)all->n_launches).text);
    }
    if (all->n_launches && all->n_unlisted) {
        begin_row("");
        printf("%s missing from the launch tables,\n", counted_text(all->n_unlisted, "kernel is", "kernels are").text);
        begin_row("");
        printf("launched by calls unknown to HTA (cuLaunchKernel):\n");
        begin_row("");
        printf("--all-launches counts them\n");
    }
    if (all->queue_most == 0)
        return;
    begin_row("queue");
    printf("%s at most, ", counted_text((uint64_t)all->queue_most, "kernel", "kernels").text);
    printf("mean %s (stream %lld of rank %lld)\n", three_digits(all->queue_mean).text, (long long)all->queue_stream,
           (long long)page->sums.queue_rank);
}

static void print_slowest(const struct hta_page *page) {
    static const char *const causes[] = {"compute", "exposed communication", "exposed memcpy", "idle time"};
    struct sutra_hta_slowest slowest = {.size = sizeof slowest};
    if (!sutra_hta_ranks_slowest(page->ranks, &slowest))
        return;
    begin_row("slowest rank");
    if (slowest.span_us - slowest.median_span_us <= ALIKE * slowest.median_span_us) {
        printf("none: all ranks take about %s\n", time_text(slowest.median_span_us).text);
        return;
    }
    printf("%lld: %s, median %s;\n", (long long)slowest.rank, time_text(slowest.span_us).text,
           time_text(slowest.median_span_us).text);
    begin_row("");
    printf("mostly due to %s:\n", causes[slowest.cause]);
    begin_row("");
    printf("%s, median %s\n", time_text(slowest.cause_us).text, time_text(slowest.median_cause_us).text);
    if (slowest.awaited_rank < 0)
        return;
    begin_row("straggler");
    printf("rank %lld has the least communication time\n", (long long)slowest.awaited_rank);
}

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
        if (sutra_result_table(SUTRA_RESULT(page->ranks), tables[i].id, &reason))
            continue;
        begin_row(tables[i].what);
        wrapped_print(reason, TEXT_COLUMN + printf("not computed:"), TEXT_COLUMN);
    }
    if (page->sums.all->n_bad_times > 0) {
        begin_row("skipped");
        printf("%s\n",
               counted_text(page->sums.all->n_bad_times, "event without a valid time", "events without a valid time")
                   .text);
    }
    if (page->sums.all->n_negative > 0) {
        begin_row("invalid");
        printf("%s\n", counted_text(page->sums.all->n_negative, "negative duration, used as recorded",
                                    "negative durations, used as recorded")
                           .text);
    }
}

/* Recommends the next command, for the slowest rank. */
static void print_next(const struct hta_page *page, const char *folder) {
    const struct sutra_hta_summary *all = page->sums.all;
    struct sutra_hta_slowest slowest = {.size = sizeof slowest};
    const struct sutra_hta_rank *first = sutra_hta_ranks_get(page->ranks, 0);
    bool several = sutra_hta_ranks_slowest(page->ranks, &slowest);
    for (size_t i = 0; several && first && first->rank != slowest.rank; i++)
        first = sutra_hta_ranks_get(page->ranks, i + 1);
    printf("\nnext:\n");
    if (all->n_kernels == 0) {
        printf("  sutra analyze TRACE   why the trace has no kernels, and the remedy\n");
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

/* `folder`: directory of the tables, or NULL. */
static void hta_page_print(const struct sutra_hta_ranks *ranks, const char *folder) {
    struct hta_page page = {.ranks = ranks, .sums.size = sizeof page.sums};
    sutra_hta_ranks_sum(ranks, &page.sums);
    print_head(&page);
    if (page.sums.all->n_kernels > 0) {
        print_time(&page);
        print_types(&page);
        print_kernels(&page);
        print_transfers(&page);
        print_launches(&page);
        print_slowest(&page);
    }
    print_missing(&page);
    print_next(&page, folder);
}

/* ---- The analysis ---- */

/* Writes the tables of a rank. */
static enum sutra_status on_rank_done(void *arg, struct sutra_context *context, const struct sutra_hta *hta,
                                      struct sutra_error *error) {
    static const struct {
        enum sutra_hta_table id;
        bool series; /* a row for each launch or kernel */
    } tables[] = {{SUTRA_HTA_LAUNCHES, true},         {SUTRA_HTA_QUEUE, true},      {SUTRA_HTA_ANNOTATED, true},
                  {SUTRA_HTA_BANDWIDTH_SERIES, true}, {SUTRA_HTA_OPERATORS, false}, {SUTRA_HTA_SEQUENCES, false},
                  {SUTRA_HTA_BUSY_SERIES, true}};
    struct hta_analysis *self = arg;
    (void)context;
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        if (!tables[i].series || !self->no_series)
            TRY(analysis_write_table(&self->analysis, sutra_result_table(SUTRA_RESULT(hta), tables[i].id, NULL),
                                     sutra_hta_rank_of(hta), error));
    return SUTRA_OK;
}

/* Writes the trace of a rank with counters. */
static enum sutra_status on_rank_trace(void *arg, struct sutra_context *context, const struct sutra_device_trace *trace,
                                       const struct sutra_hta *hta, struct sutra_error *error) {
    struct hta_analysis *self = arg;
    struct result_path path;
    uint64_t n_bytes = 0;
    TRY(result_file_path(&self->analysis, "trace_with_counters", sutra_hta_rank_of(hta), extensions[self->counters],
                         &path, error));
    TRY(sutra_hta_write_counters(context, trace, hta, SUTRA_HTA_COUNTERS_ALL, path.text, &n_bytes, error));
    self->analysis.job.figures.output_bytes += n_bytes;
    return SUTRA_OK;
}

static enum sutra_status work(struct analysis *analysis, struct sutra_error *error) {
    static const struct {
        const char *name;
        enum sutra_hta_list list;
    } lists[] = {{"rules", SUTRA_HTA_LIST_RULES},
                 {"profiler_steps", SUTRA_HTA_LIST_STEPS},
                 {"potential_stragglers", SUTRA_HTA_LIST_STRAGGLERS}};
    struct hta_analysis *self = (struct hta_analysis *)analysis;
    struct job *job = &analysis->job;
    const struct sutra_hta_ranks_options ranks_options = {.size = sizeof ranks_options,
                                                          .hta = &self->options,
                                                          .visit = job->output ? on_rank_done : NULL,
                                                          .arg = self,
                                                          .visit_trace =
                                                              job->output && self->counters >= 0 ? on_rank_trace : NULL,
                                                          .restriction = &analysis->restriction};
    TRY(sutra_hta_ranks_run(job->context, job->inputs, job->n_inputs, &ranks_options, &self->ranks, error));
    if (!job->output)
        return SUTRA_OK;
    TRY(analysis_write_tables(analysis, SUTRA_RESULT(self->ranks), RANK_ALL, error));
    uint64_t n_bytes = 0;
    /* The rules; and for comparison HTA's lists. */
    for (size_t i = 0; i < (self->options.compat ? COUNT_OF(lists) : 1); i++) {
        struct result_path path;
        TRY(result_file_path(analysis, lists[i].name, RANK_ALL, "json", &path, error));
        TRY(sutra_hta_ranks_write_list(job->context, self->ranks, lists[i].list, path.text, &n_bytes, error));
        job->figures.output_bytes += n_bytes;
    }
    if (analysis->no_report)
        return SUTRA_OK;
    TRY(sutra_report_write_hta(job->context, self->ranks, analysis->results.path, &n_bytes, error));
    job->figures.output_bytes += n_bytes;
    return SUTRA_OK;
}

static int report(struct analysis *analysis) {
    const struct sutra_hta_ranks *ranks = ((const struct hta_analysis *)analysis)->ranks;
    const struct sutra_hta_rank *rank;
    uint64_t n_ranks = 0, n_skipped = 0, n_events = 0, n_kernels = 0, n_launches = 0, n_bad_times = 0;
    if (!analysis->job.quiet)
        hta_page_print(ranks, analysis->job.output);
    for (size_t i = 0; (rank = sutra_hta_ranks_get(ranks, i)); i++) {
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
    return analysis_close(analysis, counts, COUNT_OF(counts), NULL, 0);
}

/* Traces with counters are complete traces that this process reads. */
static int check(struct analysis *analysis) {
    if (((const struct hta_analysis *)analysis)->counters < 0)
        return SUTRA_OK;
    if (!analysis->job.output)
        return message_fail(SUTRA_USAGE, "--write-counters needs --output");
    if (analysis_is_shared(analysis))
        return message_fail(
            SUTRA_USAGE,
            "--write-counters needs the traces: run it in a single process, without --shard and --combine");
    if (restriction_is_part(&analysis->restriction))
        return message_fail(SUTRA_USAGE, "--write-counters writes full traces; extract a part first with 'sutra cut'");
    return SUTRA_OK;
}

static void release(struct job *job) {
    sutra_hta_ranks_free(((struct hta_analysis *)job)->ranks);
}

/* ---- The command ---- */

static const struct analysis_kind kind = {.page = PAGE_HTA, .check = check, .work = work, .report = report};
static const struct hta_analysis defaults = {.analysis = {.kind = &kind, .job.stages = analysis_stages},
                                             .options.size = sizeof(struct sutra_hta_options),
                                             .counters = -1};

static const struct option_row options[] = {
    ANALYSIS_ROW_OUTPUT(PAGE_HTA),
    ANALYSIS_ROW_TABLE_FORMAT,
    {"kernels", 'n', OPTION_NUMBER, "N", AT(hta_analysis, options.n_kernels), .minimum = 1, .maximum = UINT32_MAX,
     .help = "list at most N kernels of each type, and sum the rest as 'others' (default: 10)"},
    {"kernel-gap-us", 0, OPTION_NUMBER, "US", AT(hta_analysis, options.kernel_delay_us), .minimum = 1,
     .maximum = UINT32_MAX, .help = "count gaps below US microseconds as kernel wait (default: 30)",
     .group = group_more},
    {"last-step", 0, OPTION_FLAG, AT(hta_analysis, options.last_step),
     .help = "keep the last ProfilerStep (default: skip it if there are several)"},
    {"all-launches", 0, OPTION_FLAG, AT(hta_analysis, options.all_launches),
     .help =
         "also count launches by cuLaunchKernelEx, cudaGraphLaunch and HIP calls in the tables of launches and queues "
         "(launch_calls always counts them)",
     .group = group_more},
    {"nanoseconds", 0, OPTION_FLAG, AT(hta_analysis, options.nanoseconds),
     .help = "keep fractions of microseconds, as HTA with HTA_DISABLE_NS_ROUNDING=1", .group = group_more},
    {"hta-version", 0, OPTION_CHOICE, "VERSION", AT(hta_analysis, options.hta_version), .choices = hta_versions,
     .help = "use the rules of HTA 0.5 or 0.6; 0.6 classifies more kernels (default: 0.5)"},
    {"compat", 0, OPTION_FLAG, AT(hta_analysis, options.compat),
     .help = "compute all tables exactly as HTA, including its bugs, for comparison"},
    {"full-queue", 0, OPTION_NUMBER, "N", AT(hta_analysis, options.full_queue), .minimum = 1, .maximum = UINT32_MAX,
     .help = "set the queue capacity to N kernels, for time_spent_blocked_on_full_queue (default: 1024)",
     .group = group_more},
    {"sequences", 0, OPTION_TEXT, "NAME", AT(hta_analysis, options.sequences_of),
     .help = "list the kernel sequences of operators whose name contains NAME (default: aten::)"},
    {"sequence-kernels", 0, OPTION_NUMBER, "N", AT(hta_analysis, options.sequence_kernels), .minimum = 1,
     .maximum = UINT32_MAX, .help = "list only sequences of at least N kernels (default: 3)", .group = group_more},
    {"write-counters", 0, OPTION_CHOICE, "ENDING", AT(hta_analysis, counters), .choices = extensions,
     .help =
         "also write trace_with_counters.rankN.ENDING for Perfetto, with counters of queue length, memory bandwidth "
         "and GPU busy share"},
    {"no-series", 0, OPTION_FLAG, AT(hta_analysis, no_series),
     .help = "skip the tables with one row per launch or kernel", .group = group_more},
    ANALYSIS_ROWS,
    {0},
};

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
    {"sutra analyze hta traces/ -o results --print-path", "write a report and CSV tables of all ranks of a job"},
    {"sutra analyze hta device.json -o results --write-counters json.gz",
     "also write the trace with counters for Perfetto"},
    {"sutra analyze hta rank*.json.zst -o tables --table-format json --no-report -q", "write JSON tables only"},
    {0},
};

const struct command analyze_hta_command = {
    .name = "hta",
    .called = "sutra analyze hta",
    .summary = "compute the tables of Holistic Trace Analysis (HTA)",
    .is_shared = true,
    ANALYSIS_WORK,
    .release = release,
};
