/*
 * critical_path_page.c - prints the critical path in 50 lines: coverage, breakdown, operators and kernels with the most
 * time, longest edges.
 */
#include "cli/critical_path_page.h"

#include <stdio.h>

#include "cli/tool/figures.h"
#include "cli/tool/screen.h"

#define N_TOP       10
#define NAME_COLUMN 41
#define N_LISTS     3

static const char *const kind_words[SUTRA_PATH_N_KINDS] = {
    [SUTRA_PATH_OPERATOR] = "operators",          [SUTRA_PATH_KERNEL] = "kernels, memcpy and memset",
    [SUTRA_PATH_LAUNCH_DELAY] = "launch latency", [SUTRA_PATH_KERNEL_DELAY] = "kernel gaps",
    [SUTRA_PATH_SYNC] = "synchronization",        [SUTRA_PATH_DEPENDENCY] = "dependencies",
};
static const char *const step_words[SUTRA_PATH_N_KINDS] = {
    [SUTRA_PATH_OPERATOR] = "operator",
    [SUTRA_PATH_KERNEL] = "kernel",
    [SUTRA_PATH_LAUNCH_DELAY] = "launch latency",
    [SUTRA_PATH_KERNEL_DELAY] = "kernel gap",
    [SUTRA_PATH_SYNC] = "sync",
    [SUTRA_PATH_DEPENDENCY] = "dependency",
};

struct path_page {
    const struct sutra_critical_path *path;
    struct sutra_critical_path_report report;
    const struct sutra_path_share *operators[N_TOP], *kernels[N_TOP];
    struct sutra_path_step steps[N_TOP];
    size_t n_operators, n_kernels, n_steps;
    struct shortened names[N_LISTS * N_TOP];
};
/* ---- What stands on the page ---- */

/* The largest shares of a kind, which stand by falling time. */
static size_t take_shares(const struct sutra_critical_path_report *report, enum sutra_path_kind kind,
                          const struct sutra_path_share **shares) {
    size_t n = 0;
    for (uint64_t i = 0; i < report->n_shares && n < N_TOP; i++)
        if (report->shares[i].kind == kind && report->shares[i].name)
            shares[n++] = &report->shares[i];
    return n;
}

/* Puts a stretch to its place among the longest; of equal ones the earlier comes first. */
static void keep_longest(struct path_page *page, const struct sutra_path_step *step) {
    size_t place = page->n_steps < N_TOP ? page->n_steps++ : N_TOP;
    for (; place > 0 && page->steps[place - 1].us < step->us; place--)
        if (place < N_TOP)
            page->steps[place] = page->steps[place - 1];
    if (place < N_TOP)
        page->steps[place] = *step;
}

static void take_steps(struct path_page *page) {
    struct sutra_path_step step = {.size = sizeof step};
    for (uint64_t i = 0; i + 1 < page->report.n_path_nodes; i++) {
        sutra_critical_path_step(page->path, i, &step);
        if (step.us > 0)
            keep_longest(page, &step);
    }
}

/* The same name looks the same wherever it stands. */
static void take_names(struct path_page *page) {
    const char *names[N_LISTS * N_TOP];
    size_t n = 0;
    for (size_t i = 0; i < page->n_operators; i++)
        names[n++] = page->operators[i]->name;
    for (size_t i = 0; i < page->n_kernels; i++)
        names[n++] = page->kernels[i]->name;
    for (size_t i = 0; i < page->n_steps; i++)
        names[n++] = page->steps[i].to_name ? page->steps[i].to_name : page->steps[i].name;
    short_names(names, n, screen_columns() - NAME_COLUMN, page->names);
}

/* ---- Lines ---- */

static void print_rules(const struct sutra_critical_path_report *report) {
    if (!report->extended)
        printf("  rules    HTA\n");
    else if (*report->reason)
        printf("  rules    extended, because HTA finds no path:\n           %s\n",
               short_text(report->reason, screen_columns() - 11).text);
    else
        printf("  rules    extended, for stream 0, HIP, graphs or equal streams of several devices\n");
}

static void print_outside(const char *where, const struct sutra_path_outside *outside) {
    if (!(outside->us > 0))
        return;
    char line[120];
    int n = snprintf(line, sizeof line, "  %-6s   %s: ", where, time_text(outside->us).text);
    if (outside->n_operators + outside->n_kernels == 0) {
        printf("%sno events start there\n", line);
        return;
    }
    n += snprintf(line + n, sizeof line - (size_t)n, "%s, ",
                  counted_text(outside->n_operators, "operator", "operators").text);
    n += snprintf(line + n, sizeof line - (size_t)n, "%s", counted_text(outside->n_kernels, "kernel", "kernels").text);
    fputs(line, stdout);
    if (outside->longest) {
        n += printf("; %s in ", time_text(outside->longest_us).text);
        fputs(short_name(outside->longest, screen_columns() - (unsigned)n).text, stdout);
    }
    putchar('\n');
}

static void print_head(const struct path_page *page, const char *trace) {
    const struct sutra_critical_path_report *report = &page->report;
    const char *window = report->window ? report->window : "the whole trace";
    printf("critical path of %s\n", short_path(trace, screen_columns() - 17).text);
    printf("  window   %s, %s\n", short_text(window, screen_columns() - 30).text, time_text(report->window_us).text);
    print_rules(report);
    printf("  covers   %s (%s), ", time_text(report->us).text, share_text(report->us, report->window_us).text);
    printf("from %s ", time_text(report->begin_us).text);
    printf("to %s of the window\n", time_text(report->end_us).text);
    print_outside("before_path", &report->before);
    print_outside("after", &report->behind);
}

static void print_row(double us, double whole, uint64_t n, const char *name) {
    printf("  %10s %8s %10s  %s\n", time_text(us).text, share_text(us, whole).text, count_text(n).text, name);
}

static void print_kinds(const struct sutra_critical_path_report *report) {
    printf("\n        time    share      edges  kind\n");
    for (int kind = 0; kind < SUTRA_PATH_N_KINDS; kind++)
        if (report->kind_edges[kind] > 0)
            print_row(report->kind_us[kind], report->us, report->kind_edges[kind], kind_words[kind]);
}

static void print_shares(const struct path_page *page, const struct sutra_path_share *const *shares, size_t n,
                         const struct shortened *names, const char *title) {
    if (n == 0)
        return;
    printf("\n        time    share      edges  %s\n", title);
    for (size_t i = 0; i < n; i++)
        print_row(shares[i]->us, page->report.us, shares[i]->n_edges, names[i].text);
}

static void print_steps(const struct path_page *page, const struct shortened *names) {
    printf("\n          at       time  longest edges (--all prints all %s)\n",
           count_text(page->report.n_path_nodes > 0 ? page->report.n_path_nodes - 1 : 0).text);
    for (size_t i = 0; i < page->n_steps; i++) {
        const struct sutra_path_step *step = &page->steps[i];
        printf("  %10s %10s  %-14s  %s\n", time_text(step->at_us).text, time_text(step->us).text,
               step_words[step->kind], names[i].text);
    }
}

void critical_path_page_print(const struct sutra_critical_path *path, const char *trace) {
    struct path_page page = {.path = path, .report.size = sizeof page.report};
    sutra_critical_path_report(path, &page.report);
    page.n_operators = take_shares(&page.report, SUTRA_PATH_OPERATOR, page.operators);
    page.n_kernels = take_shares(&page.report, SUTRA_PATH_KERNEL, page.kernels);
    take_steps(&page);
    take_names(&page);
    const struct shortened *of_kernels = page.names + page.n_operators;
    print_head(&page, trace);
    print_kinds(&page.report);
    print_shares(&page, page.operators, page.n_operators, page.names, "operators");
    print_shares(&page, page.kernels, page.n_kernels, of_kernels, "kernels, memcpy and memset");
    print_steps(&page, of_kernels + page.n_kernels);
}
