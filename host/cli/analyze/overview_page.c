/*
 * overview_page.c - prints findings, followed by their data: windows, kinds of GPU time, operators and kernels.
 */
#include "cli/analyze/overview_page.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/tool/figures.h"
#include "cli/tool/json_text.h"
#include "cli/tool/screen.h"

#define N_TOP      3
#define N_TOP_JSON 10
#define NAME_WIDTH 40
#define LEAST_PART 1.0 /* percent of the window: less of idle time has no line of its own */

/* Columns of a table by place, as enum sutra_overview_table tells them. */
static struct sutra_column column_at(const struct sutra_overview *overview, enum sutra_overview_table id, uint32_t i) {
    struct sutra_column column = {0};
    sutra_table_column(sutra_overview_table(overview, id), i, &column);
    return column;
}

static uint64_t n_rows(const struct sutra_overview *overview, enum sutra_overview_table id) {
    return sutra_table_rows(sutra_overview_table(overview, id));
}

/* ---- The page ---- */

static void print_findings(const struct sutra_overview *overview) {
    struct sutra_finding finding;
    for (size_t i = 0; sutra_overview_finding(overview, i, &finding); i++) {
        char win[32] = "";
        if (!isnan(finding.saving_percent))
            snprintf(win, sizeof win, "%.0f%%", finding.saving_percent);
        int column = printf("%zu. %4s  ", i + 1, win);
        wrapped_print(finding.text, column, column);
    }
    if (!sutra_overview_finding(overview, 0, &finding))
        puts(n_rows(overview, SUTRA_OVERVIEW_KERNELS)
                 ? "No findings: no rule fires on this trace."
                 : "No GPU activity in the trace: profile with ProfilerActivity.CUDA.");
}

static void print_ranks(const struct sutra_overview *overview) {
    struct sutra_column ranks = column_at(overview, SUTRA_OVERVIEW_RANKS, 0),
                        traces = column_at(overview, SUTRA_OVERVIEW_RANKS, 1),
                        windows = column_at(overview, SUTRA_OVERVIEW_RANKS, 2),
                        steps = column_at(overview, SUTRA_OVERVIEW_RANKS, 3);
    uint64_t n = n_rows(overview, SUTRA_OVERVIEW_RANKS);
    if (n == 0)
        return;
    printf("\nrank %" PRId64 ": %s\n", ranks.integers[0], short_path(sutra_column_text(&traces, 0), 68).text);
    if (n > 1)
        printf("the first of %s ranks; the findings above are of all ranks\n", count_text(n).text);
    printf("  %-11s %11s %7s  ", "window", time_text(windows.reals[0]).text, "");
    if (steps.integers[0])
        printf("%s, %s each\n", counted_text((uint64_t)steps.integers[0], "step", "steps").text,
               time_text(windows.reals[0] / (double)steps.integers[0]).text);
    else
        puts("full trace: no ProfilerStep");
}

/* Of the first rank, if it has several steps. */
static void print_steps(const struct sutra_overview *overview) {
    enum { N = 1, MEAN = 2, MEDIAN = 5, SLOWEST = 6, STEP = 16, CAUSE = 17, MORE = 18 };
    const enum sutra_overview_table id = SUTRA_OVERVIEW_STEP_RANKS;
    struct sutra_column counts = column_at(overview, id, N), means = column_at(overview, id, MEAN),
                        medians = column_at(overview, id, MEDIAN), slowest = column_at(overview, id, SLOWEST),
                        steps = column_at(overview, id, STEP), causes = column_at(overview, id, CAUSE),
                        more = column_at(overview, id, MORE);
    if (n_rows(overview, id) == 0 || counts.integers[0] < 2)
        return;
    printf("  %-11s %11s %7s  mean of %s, median %s\n", "steps", time_text(means.reals[0]).text, "",
           counted_text((uint64_t)counts.integers[0], "step", "steps").text, time_text(medians.reals[0]).text);
    printf("  %-11s %11s %7s  %s\n", "slowest", time_text(slowest.reals[0]).text, "",
           short_text(sutra_column_text(&steps, 0), NAME_WIDTH).text);
    if (*sutra_column_text(&causes, 0))
        printf("  %-11s %11s %7s  above the median step (%s)\n", "", time_text(more.reals[0]).text, "",
               sutra_column_text(&causes, 0));
}

/* What has a line: the classes, and of idle time what there is. */
static void print_timeline(const struct sutra_overview *overview) {
    struct sutra_column ranks = column_at(overview, SUTRA_OVERVIEW_TIMELINE, 0),
                        what = column_at(overview, SUTRA_OVERVIEW_TIMELINE, 1),
                        times = column_at(overview, SUTRA_OVERVIEW_TIMELINE, 2),
                        shares = column_at(overview, SUTRA_OVERVIEW_TIMELINE, 3);
    for (uint64_t row = 0; row < n_rows(overview, SUTRA_OVERVIEW_TIMELINE); row++) {
        const char *name = sutra_column_text(&what, row);
        bool part = strncmp(name, "idle: ", 6) == 0;
        if (ranks.integers[row] != ranks.integers[0] || (part && !(shares.reals[row] >= LEAST_PART)))
            continue;
        printf("  %-11s %11s %7s  %s%s\n", row ? "" : "timeline", time_text(times.reals[row]).text,
               share_text(shares.reals[row], isnan(shares.reals[row]) ? 0 : 100).text, part ? "  " : "",
               part ? name + 6 : name);
    }
}

static void print_names(const struct sutra_overview *overview, enum sutra_overview_table id, const char *title) {
    struct sutra_column ranks = column_at(overview, id, 0), names = column_at(overview, id, 1),
                        times = column_at(overview, id, 2), shares = column_at(overview, id, 3),
                        counts = column_at(overview, id, 4);
    for (uint64_t row = 0; row < n_rows(overview, id) && row < N_TOP && ranks.integers[row] == ranks.integers[0];
         row++) {
        printf("  %-11s %11s %7s  ", row ? "" : title, time_text(times.reals[row]).text,
               share_text(shares.reals[row], 100).text);
        shortened_print(&(struct shortened[]){short_name(sutra_column_text(&names, row), NAME_WIDTH)}[0], NAME_WIDTH);
        printf(" %s\n", count_text((uint64_t)counts.integers[row]).text);
    }
}

/* Whether a finding is about ranks that meet, whose price a simulation of the job knows better than a rule. */
static bool tells_of_communication(const struct sutra_overview *overview) {
    static const char *const rules[] = {"exposed_comm", "straggler", "slow_collective"};
    struct sutra_finding finding;
    for (size_t i = 0; sutra_overview_finding(overview, i, &finding); i++)
        for (size_t k = 0; k < sizeof rules / sizeof *rules; k++)
            if (strcmp(finding.rule, rules[k]) == 0)
                return true;
    return false;
}

static void print_next(const struct sutra_overview *overview, const char *trace) {
    bool many = n_rows(overview, SUTRA_OVERVIEW_RANKS) > 1;
    const char *typed = typed_path(trace, 30);
    printf("\nnext:\n");
    printf("  sutra analyze %s -o DIR   report with charts and all tables\n", typed);
    printf("  sutra analyze operators %s\n", typed);
    printf("  sutra analyze kernels %s\n", typed);
    printf("  sutra critical-path %s\n", typed);
    if (!many)
        return;
    printf("  sutra analyze hta TRACE...   compare ranks\n");
    printf("  sutra analyze collectives TRACE...   stragglers and bus bandwidth\n");
    if (tells_of_communication(overview))
        printf("  sutra link HOSTS DEVICES -o DIR -f et; sutra simulate DIR/*.et --what-if-summary\n"
               "      the price of a straggler, and of the network, by simulation\n");
}

void overview_page_print(const struct sutra_overview *overview, const char *trace) {
    print_findings(overview);
    print_ranks(overview);
    print_steps(overview);
    print_timeline(overview);
    print_names(overview, SUTRA_OVERVIEW_OPERATORS, "operators");
    print_names(overview, SUTRA_OVERVIEW_KERNELS, "kernels");
    print_next(overview, trace);
}

/* ---- JSON ---- */

static void json_number(double value) {
    if (isnan(value) || isinf(value))
        printf("null");
    else
        printf("%.6g", value);
}

static void json_findings(const struct sutra_overview *overview) {
    struct sutra_finding finding;
    printf("{\n  \"findings\": [");
    for (size_t i = 0; sutra_overview_finding(overview, i, &finding); i++) {
        printf("%s\n    {\"rule\": \"%s\", \"saving_percent\": ", i ? "," : "", finding.rule);
        json_number(finding.saving_percent);
        printf(",\n     \"text\": ");
        json_string_print(stdout, finding.text);
        printf(",\n     \"numbers\": {");
        for (size_t k = 0; k < finding.n_numbers; k++) {
            printf("%s\"%s\": ", k ? ", " : "", finding.numbers[k].name);
            json_number(finding.numbers[k].value);
        }
        printf("}}");
    }
    printf("\n  ],\n");
}

/* The rows of a rank as a member: `most` of them, or all where it is 0. */
static void json_rows(const struct sutra_overview *overview, enum sutra_overview_table id, int64_t rank,
                      const char *title, uint64_t most) {
    const struct sutra_table *table = sutra_overview_table(overview, id);
    struct sutra_column ranks = column_at(overview, id, 0), column;
    uint64_t n = 0;
    printf(",\n     \"%s\": [", title);
    for (uint64_t row = 0; row < n_rows(overview, id) && (most == 0 || n < most); row++) {
        if (ranks.integers[row] != rank)
            continue;
        printf("%s\n       {", n++ ? "," : "");
        for (uint32_t i = 1; sutra_table_column(table, i, &column); i++) {
            printf("%s\"%s\": ", i > 1 ? ", " : "", column.name);
            if (column.kind == SUTRA_COLUMN_TEXT)
                json_string_print(stdout, sutra_column_text(&column, row));
            else if (column.kind == SUTRA_COLUMN_INTEGER)
                printf("%" PRId64, column.integers[row]);
            else
                json_number(column.reals[row]);
        }
        putchar('}');
    }
    printf("]");
}

void overview_json_print(const struct sutra_overview *overview) {
    struct sutra_column ranks = column_at(overview, SUTRA_OVERVIEW_RANKS, 0),
                        traces = column_at(overview, SUTRA_OVERVIEW_RANKS, 1),
                        windows = column_at(overview, SUTRA_OVERVIEW_RANKS, 2),
                        steps = column_at(overview, SUTRA_OVERVIEW_RANKS, 3),
                        busy = column_at(overview, SUTRA_OVERVIEW_RANKS, 4);
    json_findings(overview);
    printf("  \"ranks\": [");
    for (uint64_t row = 0; row < n_rows(overview, SUTRA_OVERVIEW_RANKS); row++) {
        int64_t rank = ranks.integers[row];
        printf("%s\n    {\"rank\": %" PRId64 ", \"trace\": ", row ? "," : "", rank);
        json_string_print(stdout, sutra_column_text(&traces, row));
        printf(", \"window_us\": ");
        json_number(windows.reals[row]);
        printf(", \"steps\": %" PRId64 ", \"busy_percent\": ", steps.integers[row]);
        json_number(busy.reals[row]);
        json_rows(overview, SUTRA_OVERVIEW_TIMELINE, rank, "timeline", 0);
        json_rows(overview, SUTRA_OVERVIEW_STEPS, rank, "steps", 0);
        json_rows(overview, SUTRA_OVERVIEW_OPERATORS, rank, "operators", N_TOP_JSON);
        json_rows(overview, SUTRA_OVERVIEW_KERNELS, rank, "kernels", N_TOP_JSON);
        putchar('}');
    }
    printf("\n  ]\n}\n");
}
