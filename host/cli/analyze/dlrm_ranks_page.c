/*
 * dlrm_ranks_page.c - prints the terminal report of `sutra analyze dlrm` for several ranks: one line per rank, and the
 * overheads over all ranks.
 */
#include "cli/analyze/dlrm_ranks_page.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cli/tool/figures.h"

#define N_LINES 16 /* of ranks */

static void print_head(const struct sutra_dlrm_ranks *ranks) {
    const struct sutra_dlrm_rank *rank;
    uint64_t n_ranks = 0, n_skipped = 0, n_events = 0, n_ops = 0;
    for (size_t i = 0; (rank = sutra_dlrm_ranks_get(ranks, i)); i++) {
        n_ranks += !rank->reason;
        n_skipped += rank->reason != NULL;
        n_events += rank->report->n_events;
        n_ops += rank->report->n_ops;
    }
    printf("%s: ", counted_text(n_ranks, "rank", "ranks").text);
    printf("%s, ", counted_text(n_events, "event", "events").text);
    printf("%s\n", counted_text(n_ops, "operator", "operators").text);
    if (n_skipped > 0)
        printf("%s skipped; see the warnings\n", counted_text(n_skipped, "trace", "traces").text);
    putchar('\n');
}

/* Means of T1..T5, the rest of a line. */
static void print_overheads(const double *us) {
    for (int kind = 0; kind < SUTRA_N_OVERHEADS; kind++)
        printf(" %9s", isnan(us[kind]) ? "-" : time_text(us[kind]).text);
    putchar('\n');
}

static void print_rank(const struct sutra_dlrm_rank *rank) {
    const struct sutra_dlrm_report *report = rank->report;
    printf("  %6" PRId64, rank->rank);
    if (isnan(report->qps))
        printf(" %12s %10s", "-", "-");
    else
        printf(" %12.2f %10s", report->qps, time_text(report->host_us / (double)report->iters).text);
    printf(" %7s", report->has_streams ? share_text(report->union_us, report->host_us).text : "-");
    printf(" %7s", report->has_streams ? share_text(report->idle_us, report->span_us).text : "-");
    print_overheads(rank->overhead_us);
}

static void print_together(const struct sutra_dlrm_ranks *ranks) {
    uint64_t n_rows;
    const struct sutra_dlrm_overhead *rows = sutra_dlrm_ranks_overheads(ranks, &n_rows);
    double sum[SUTRA_N_OVERHEADS] = {0}, n[SUTRA_N_OVERHEADS] = {0};
    for (uint64_t i = 0; i < n_rows; i++) {
        if (rows[i].n == 0)
            continue;
        sum[rows[i].kind] += rows[i].mean_us * (double)rows[i].n;
        n[rows[i].kind] += (double)rows[i].n;
    }
    for (int kind = 0; kind < SUTRA_N_OVERHEADS; kind++)
        sum[kind] = n[kind] > 0 ? sum[kind] / n[kind] : NAN;
    printf("  %6s %12s %10s %7s %7s", "all", "", "", "", "");
    print_overheads(sum);
}

static void print_table(const struct sutra_dlrm_ranks *ranks) {
    const struct sutra_dlrm_rank *rank;
    size_t n = 0;
    printf("  %6s %12s %10s %7s %7s %9s %9s %9s %9s %9s\n", "rank", "queries/s", "iteration", "busy", "idle", "T1",
           "T2", "T3", "T4", "T5");
    for (; (rank = sutra_dlrm_ranks_get(ranks, n)) && !rank->reason; n++)
        if (n < N_LINES)
            print_rank(rank);
    if (n > N_LINES)
        printf("  %6s %zu more\n", "", n - N_LINES);
    print_together(ranks);
}

static void print_next(const char *output) {
    printf("\n  iteration: CPU time without data loading; busy: any stream, share of CPU time\n"
           "  idle: share of the time between first and last kernel; T1 between operators,\n"
           "  T2 operator start to first launch, T3 last launch to operator end,\n"
           "  T4 launch call, T5 between launches\n"
           "\nnext:\n");
    if (output)
        printf("  tables: %s, with one directory per rank\n"
               "  overheads of all ranks: overheads_merged.json; this table: ranks.csv\n",
               output);
    else
        printf("  sutra analyze dlrm TRACE... -o results   all tables\n");
    printf("  sutra analyze dlrm TRACE   time of one rank\n");
}

void dlrm_ranks_page_print(const struct sutra_dlrm_ranks *ranks, const char *output) {
    print_head(ranks);
    print_table(ranks);
    print_next(output);
}
