/*
 * link_summary.c - the closing lines of `sutra link`, one number and what it counts a line:
 *
 *     sutra: linked into out.json
 *           12,345  nodes of the host trace, 12,000 of them operators
 *           ...
 *
 * The first lines always stand there, so that two runs can be compared at a glance; lines on what was left out or
 * mended stand there where they count something.
 */
#include <stdio.h>
#include <string.h>

#include "cli/link/link_result.h"
#include "cli/tool/figures.h"
#include "cli/tool/paths.h"

static void print_row(uint64_t count, const char *what) {
    fprintf(stderr, "%16s  %s\n", count_text(count).text, what);
}

static void print_left_out(uint64_t count, const char *what) {
    if (count > 0)
        print_row(count, what);
}

static void print_counts(const struct sutra_link_report *report) {
    print_row(report->n_host_nodes, "nodes in the host trace");
    print_row(report->n_host_ops, "  of them operators below the root");
    print_row(report->n_host_linked, "    linked to an operator of the device trace");
    print_left_out(report->n_host_without_rf, "    not linked: no rf_id");
    print_left_out(report->n_host_rf_unmatched, "    not linked: the device trace lacks their rf_id");
    print_row(report->n_events, "events in the device trace");
    print_row(report->n_cpu_ops, "  of them CPU operators");
    print_row(report->n_gpu_ops, "  of them GPU operators");
    print_row(report->n_gpu_with_parent, "    that found their CPU operator");
    print_left_out(report->n_gpu_host_unmatched, "      left out: no host operator stands for that CPU operator");
    print_left_out(report->n_gpu_without_launch, "    left out: no launch has their correlation");
    print_left_out(report->n_gpu_without_parent, "    left out: no CPU operator begins before their launch");
    print_row(report->n_nodes, "nodes written");
    print_row(report->n_gpu_nodes, "  of them GPU operators");
    print_row(report->n_inter_thread, "  with a dependency on another thread");
    print_row(report->n_sync, "  with synchronisation dependencies");
    print_left_out(report->n_exclusive_rounded, "exclusive durations just below 0 (rounding), taken as 0");
    print_left_out(report->n_exclusive_replaced, "exclusive durations below 0, replaced by the inclusive ones");
    print_left_out(report->n_fields_dropped, "fields of a wrong type, taken as absent");
}

void link_summary_print(const struct link_result *result) {
    fprintf(stderr, "sutra: linked into %s\n",
            path_is_stream(result->figures.output) ? "standard output" : result->figures.output);
    print_counts(&result->report);
    run_figures_print(&result->figures);
}
