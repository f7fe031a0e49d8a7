/*
 * analyze_collectives.c - `sutra analyze collectives`: reads device traces of many ranks, or logs of NCCL Inspector;
 * writes tables of their collectives and an HTML page.
 */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cli/analyze/analysis.h"
#include "cli/terminal.h"
#include "sutra/collectives.h"
#include "sutra/report.h"
#include "sutra/tracelens.h"
#include "text/quantities.h"

struct collectives_analysis {
    struct analysis analysis;
    struct sutra_collectives_options options;
    int compat;                            /* index into compats */
    struct sutra_collectives *collectives; /* or, with `compat`, NULL and */
    struct sutra_tracelens_collectives *tracelens;
};

/* ---- The page: straggler, ranks and types with the most time, clock offsets, violated checks ---- */

#define N_TOP    5
#define N_CHECKS 6

static void print_head(const struct sutra_collectives *collectives, const struct sutra_collectives_summary *summary) {
    struct sutra_collectives_straggler straggler = {.size = sizeof straggler};
    double wait_us = summary->n_ranks ? summary->wait_us / (double)summary->n_ranks : 0;
    printf("%s rank%s: %s collective%s", count_text(summary->n_ranks).text, summary->n_ranks == 1 ? "" : "s",
           count_text(summary->n_collectives).text, summary->n_collectives == 1 ? "" : "s");
    if (summary->n_messages)
        printf(", %s message%s", count_text(summary->n_messages).text, summary->n_messages == 1 ? "" : "s");
    putchar('\n');
    if (summary->n_skipped)
        printf("%s skipped; see the warnings\n", counted_text(summary->n_skipped, summary->from_logs ? "log" : "trace",
                                                              summary->from_logs ? "logs" : "traces")
                                                     .text);
    if (summary->n_untold)
        printf("%s without recorded group and number: matched by order\n",
               counted_text(summary->n_untold, "kernel", "kernels").text);
    if (summary->n_untimed)
        printf("%s without GPU time: skipped\n", counted_text(summary->n_untimed, "record", "records").text);
    if (summary->from_logs)
        puts("no timeline: shares are of the time in collectives");
    sutra_collectives_straggler(collectives, &straggler);
    putchar('\n');
    wrapped_print(straggler.sentence, 0, 0);
    putchar('\n');
    printf("  %-11s %11s %7s  %s\n", summary->from_logs ? "collectives" : "job", time_text(summary->span_us).text, "",
           summary->from_logs ? "time in collectives of the median rank" : "from the first to the last GPU activity");
    printf("  %-11s %11s %7s  %s\n", "waiting", time_text(wait_us).text, share_text(wait_us, summary->span_us).text,
           "in collectives, mean per rank");
    printf("  %-11s %11s %7s  %s\n", "transfer", time_text(summary->transfer_us).text, "",
           "of all collectives and messages, without waiting");
}

/* Prints the ranks that other ranks wait for most. */
static void print_ranks(const struct sutra_table *table) {
    struct sutra_column rank = column_named(table, "rank"), us = column_named(table, "wait_caused_us");
    struct sutra_column percent = column_named(table, "waited_for_percent"),
                        last = column_named(table, "n_arrived_last");
    struct sutra_column n = column_named(table, "collectives");
    uint64_t rows[N_TOP], n_rows = 0;
    for (uint64_t row = 0; row < sutra_table_rows(table); row++) { /* insert into the list of the largest */
        uint64_t at = n_rows < N_TOP ? n_rows++ : N_TOP;
        for (; at > 0 && us.reals[rows[at - 1]] < us.reals[row]; at--)
            if (at < N_TOP)
                rows[at] = rows[at - 1];
        if (at < N_TOP)
            rows[at] = row;
    }
    for (uint64_t i = 0; i < n_rows && us.reals[rows[i]] > 0; i++)
        printf("  %-11s %11s %7s  rank %" PRId64 ", last at %" PRId64 " of %" PRId64 " collectives\n",
               i ? "" : "waited for", time_text(us.reals[rows[i]]).text, share_text(percent.reals[rows[i]], 100).text,
               rank.integers[rows[i]], last.integers[rows[i]], n.integers[rows[i]]);
}

static void print_types(const struct sutra_table *table, double transfer_us) {
    struct sutra_column type = column_named(table, "type"), us = column_named(table, "transfer_us");
    struct sutra_column n = column_named(table, "count"), bytes = column_named(table, "bytes");
    struct sutra_column bus = column_named(table, "bus_gb_per_s"), size = column_named(table, "group_size");
    for (uint64_t row = 0; row < sutra_table_rows(table) && row < N_TOP; row++) {
        printf("  %-11s %11s %7s  %s x %s", row ? "" : "types", time_text(us.reals[row]).text,
               share_text(us.reals[row], transfer_us).text, count_text((uint64_t)n.integers[row]).text,
               short_text(sutra_column_text(&type, row), 16).text);
        if (!isnan(bytes.reals[row]))
            printf(", %s", bytes_text((uint64_t)bytes.reals[row]).text);
        printf(", %" PRId64 " ranks", size.integers[row]);
        if (!isnan(bus.reals[row]))
            printf(", %.*f GB/s", bus.reals[row] < 10 ? 2 : 1, bus.reals[row]);
        putchar('\n');
    }
}

static void print_clocks(const struct sutra_collectives_summary *summary) {
    char text[900];
    if (summary->n_ranks < 2 || summary->n_collectives == 0 || summary->from_logs)
        return;
    if (summary->n_clocks_set)
        snprintf(
            text, sizeof text,
            "up to %s apart (residual %s): aligned for %s rank%s; after alignment a collective ends before the last "
            "rank arrives in %s of %s cases",
            time_text(summary->clocks_apart_us).text, time_text(summary->clock_residual_us).text,
            count_text(summary->n_clocks_set).text, summary->n_clocks_set == 1 ? "" : "s",
            count_text(summary->n_impossible_aligned).text, count_text(summary->n_impossible).text);
    else
        snprintf(text, sizeof text, "agree within %s: no alignment",
                 time_text(fmax(summary->clocks_apart_us, summary->clock_residual_us)).text);
    printf("  %-11s ", "clocks");
    wrapped_print(text, 14, 14);
}

static void print_checks(const struct sutra_table *table) {
    struct sutra_column severity = column_named(table, "severity"), check = column_named(table, "check");
    struct sutra_column ranks = column_named(table, "ranks"), words = column_named(table, "text");
    uint64_t n = sutra_table_rows(table);
    if (n)
        putchar('\n');
    for (uint64_t row = 0; row < n && row < N_CHECKS; row++) {
        char text[1200];
        const char *of = sutra_column_text(&ranks, row);
        printf("  %-11s ", sutra_column_text(&severity, row));
        snprintf(text, sizeof text, "%s%s%s: %s", sutra_column_text(&check, row), *of ? ", rank " : "", of,
                 sutra_column_text(&words, row));
        wrapped_print(short_text(text, SHORT_COLUMNS).text, 14, 14);
    }
    if (n > N_CHECKS)
        printf("  %-11s %s more in collective_errors\n", "", count_text(n - N_CHECKS).text);
}

/* `folder`: directory of the tables, or NULL. */
static void print_page(const struct sutra_collectives *collectives, const char *folder) {
    struct sutra_collectives_summary summary = {.size = sizeof summary};
    sutra_collectives_summary(collectives, &summary);
    print_head(collectives, &summary);
    print_ranks(sutra_result_table(SUTRA_RESULT(collectives), SUTRA_COLLECTIVES_RANKS, NULL));
    print_types(sutra_result_table(SUTRA_RESULT(collectives), SUTRA_COLLECTIVES_KINDS, NULL), summary.transfer_us);
    print_clocks(&summary);
    print_checks(sutra_result_table(SUTRA_RESULT(collectives), SUTRA_COLLECTIVES_CHECKS, NULL));
    printf("\nnext:\n");
    if (folder)
        printf("  tables: %s\n", short_path(folder, 58).text);
    else
        printf("  sutra analyze collectives %s... -o results   all tables\n", summary.from_logs ? "LOG" : "TRACE");
    if (!summary.from_logs)
        printf("  sutra analyze operators TRACE   GPU time of one rank\n");
}

/* ---- The analysis ---- */

/* TraceLens reads no logs. */
static int list(struct analysis *analysis) {
    analysis->job.selection.reads_logs = !((struct collectives_analysis *)analysis)->compat;
    return job_list_inputs(&analysis->job, analysis->names);
}

static enum sutra_status work(struct analysis *analysis, struct sutra_error *error) {
    struct collectives_analysis *self = (struct collectives_analysis *)analysis;
    struct job *job = &analysis->job;
    uint64_t n_bytes = 0;
    self->options.restriction = &analysis->restriction;
    if (self->compat) {
        TRY(sutra_tracelens_collectives_run(job->context, job->inputs, job->n_inputs, &self->options, &self->tracelens,
                                            error));
        return job->output ? analysis_write_tables(analysis, SUTRA_RESULT(self->tracelens), RANK_ALL, error) : SUTRA_OK;
    }
    TRY(sutra_collectives_run(job->context, job->inputs, job->n_inputs, &self->options, &self->collectives, error));
    if (!job->output)
        return SUTRA_OK;
    TRY(analysis_write_tables(analysis, SUTRA_RESULT(self->collectives), RANK_ALL, error));
    if (!analysis->no_report)
        TRY(sutra_report_write_collectives(job->context, self->collectives, analysis->results.path, &n_bytes, error));
    job->figures.output_bytes += n_bytes;
    return SUTRA_OK;
}

static int report(struct analysis *analysis) {
    const struct collectives_analysis *self = (const struct collectives_analysis *)analysis;
    struct sutra_collectives_summary summary = {.size = sizeof summary};
    const struct sutra_collectives_rank *rank;
    if (!self->compat) {
        sutra_collectives_summary(self->collectives, &summary);
        if (!analysis->job.quiet)
            print_page(self->collectives, analysis->job.output);
    }
    for (size_t i = 0; self->compat && (rank = sutra_tracelens_collectives_get(self->tracelens, i)); i++)
        ++*(rank->reason ? &summary.n_skipped : &summary.n_ranks);
    const struct named_count counts[] = {{"n_ranks", summary.n_ranks},
                                         {"n_skipped", summary.n_skipped},
                                         {"n_collectives", summary.n_collectives},
                                         {"n_messages", summary.n_messages},
                                         {"n_faults", summary.n_faults},
                                         {"n_untimed", summary.n_untimed}}; /* of logs */
    return analysis_close(analysis, counts, COUNT_OF(counts) - !summary.from_logs, NULL, 0);
}

static void release(struct job *job) {
    sutra_collectives_free(((struct collectives_analysis *)job)->collectives);
    sutra_tracelens_collectives_free(((struct collectives_analysis *)job)->tracelens);
}

/* ---- The command ---- */

static const struct analysis_kind kind = {.page = PAGE_COLLECTIVES, .list = list, .work = work, .report = report};
static const struct collectives_analysis defaults = {.analysis = {.kind = &kind, .job.stages = analysis_stages},
                                                     .options.size = sizeof(struct sutra_collectives_options)};

static const char *const compats[] = {"none", "tracelens", NULL};

static const struct option_row options[] = {
    ANALYSIS_ROW_OUTPUT(PAGE_COLLECTIVES),
    ANALYSIS_ROW_TABLE_FORMAT,
    {"arrivals", 0, OPTION_FLAG, AT(collectives_analysis, options.arrivals),
     .help = "also write collective_arrivals: one row per rank of each collective"},
    {"ranks-per-host", 0, OPTION_NUMBER, "N", AT(collectives_analysis, options.ranks_per_host), .minimum = 1,
     .maximum = INT32_MAX,
     .help = "assume N ranks per host, with a common clock (default: the recorded number of GPUs per host)"},
    {"link-peak-gbps", 0, OPTION_REAL, "GB", AT(collectives_analysis, options.link_gb_per_s), .minimum = 1,
     .maximum = UINT32_MAX,
     .help = "set the peak link bandwidth of a GPU in one direction, in GB/s (default: NVLink or Infinity Fabric data "
             "sheet, inside hosts)"},
    {"compat", 0, OPTION_CHOICE, "TOOL", AT(collectives_analysis, compat), .choices = compats,
     .help = "tracelens: compute the tables of TraceLens with its rules and columns: ranks by file order, collectives "
             "matched by order, GB as GiB (default: none)"},
    ANALYSIS_ROWS,
    {0},
};

static const char *const synopses[] = {"TRACE... [-o DIR] [OPTIONS]", NULL};
static const char *const description[] = {
    "Reports the straggler and its cause, the bus bandwidth of collectives against the peak of the links, the clock "
    "offsets of ranks, and errors in the collectives of a job. A TRACE is the device trace of a rank, or a directory of "
    "device traces.",
    "Logs of NCCL Inspector, or a directory of logs (.log, .jsonl), are read like traces. They have no timeline: clock "
    "offsets, data types and the operators of the straggler are missing, and shares are of the time in collectives.",
    "Collectives are matched across ranks by group and sequence number (Seq). Without recorded numbers they are matched "
    "by order, and realigned where a rank lost collectives. Clocks that are clearly off are aligned by the end times of "
    "collectives; the summary reports the alignment.",
    NULL,
};
static const struct example examples[] = {
    {"sutra analyze collectives traces/ -o results", "write tables and a report of a job"},
    {"sutra analyze collectives rank*.json.gz", "print the summary: is there a straggler?"},
    {"sutra analyze collectives nccl-inspector-1234/", "print the summary of NCCL Inspector logs"},
    {0},
};

const struct command analyze_collectives_command = {
    .name = "collectives",
    .called = "sutra analyze collectives",
    .summary = "find stragglers, bus bandwidth and clock offsets across ranks",
    .is_shared = true,
    ANALYSIS_WORK,
    .release = release,
};
