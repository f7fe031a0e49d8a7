/*
 * critical_path.c - `sutra critical-path`: reads a device trace; writes its critical path as text, JSON or a marked
 * trace.
 */
#include <stddef.h>
#include <stdio.h>

#include "analyze/ranks.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/job.h"
#include "cli/paths.h"
#include "cli/terminal.h"
#include "read/device_trace.h"
#include "sutra/critical_path.h"
#include "text/quantities.h"

/* ---- The page: coverage, breakdown, operators and kernels with the most time, longest edges ---- */

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
    const struct sutra_path_share *operators[N_TOP], *kernels[N_TOP]; /* by descending time */
    struct sutra_path_step steps[N_TOP];                              /* longest edges */
    size_t n_operators, n_kernels, n_steps;
    struct shortened names[N_LISTS * N_TOP]; /* of operators, kernels and steps: equal names are shortened equally */
};

/* Collects the largest shares of a kind; the report lists shares by descending time. */
static size_t collect_shares(const struct sutra_critical_path_report *report, enum sutra_path_kind kind,
                             const struct sutra_path_share **shares) {
    size_t n = 0;
    for (uint64_t i = 0; i < report->n_shares && n < N_TOP; i++)
        if (report->shares[i].kind == kind && report->shares[i].name)
            shares[n++] = &report->shares[i];
    return n;
}

static void collect_rows(struct path_page *page) {
    page->n_operators = collect_shares(&page->report, SUTRA_PATH_OPERATOR, page->operators);
    page->n_kernels = collect_shares(&page->report, SUTRA_PATH_KERNEL, page->kernels);

    /* Insert each edge into the list of the longest; equal edges keep their order. */
    struct sutra_path_step step = {.size = sizeof step};
    for (uint64_t i = 0; i + 1 < page->report.n_path_nodes; i++) {
        sutra_critical_path_step(page->path, i, &step);
        if (!(step.us > 0))
            continue;
        size_t at = page->n_steps < N_TOP ? page->n_steps++ : N_TOP;
        for (; at > 0 && page->steps[at - 1].us < step.us; at--)
            if (at < N_TOP)
                page->steps[at] = page->steps[at - 1];
        if (at < N_TOP)
            page->steps[at] = step;
    }

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

/* Prints the time before or after the path. */
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
    if (!report->extended)
        printf("  rules    HTA\n");
    else if (*report->reason)
        printf("  rules    extended, because HTA finds no path:\n           %s\n",
               short_text(report->reason, screen_columns() - 11).text);
    else
        printf("  rules    extended, for stream 0, HIP, graphs or equal streams of several devices\n");
    printf("  covers   %s (%s), ", time_text(report->us).text, share_text(report->us, report->window_us).text);
    printf("from %s ", time_text(report->begin_us).text);
    printf("to %s of the window\n", time_text(report->end_us).text);
    print_outside("before_path", &report->before);
    print_outside("after", &report->after);
}

static void print_row(double us, double whole, uint64_t n, const char *name) {
    printf("  %10s %8s %10s  %s\n", time_text(us).text, share_text(us, whole).text, count_text(n).text, name);
}

static void print_shares(const struct path_page *page, const struct sutra_path_share *const *shares, size_t n,
                         const struct shortened *names, const char *title) {
    if (n == 0)
        return;
    printf("\n        time    share      edges  %s\n", title);
    for (size_t i = 0; i < n; i++)
        print_row(shares[i]->us, page->report.us, shares[i]->n_edges, names[i].text);
}

static void critical_path_page_print(const struct sutra_critical_path *path, const char *trace) {
    struct path_page page = {.path = path, .report.size = sizeof page.report};
    const struct sutra_critical_path_report *report = &page.report;
    sutra_critical_path_report(path, &page.report);
    collect_rows(&page);
    print_head(&page, trace);
    printf("\n        time    share      edges  kind\n");
    for (int kind = 0; kind < SUTRA_PATH_N_KINDS; kind++)
        if (report->kind_edges[kind] > 0)
            print_row(report->kind_us[kind], report->us, report->kind_edges[kind], kind_words[kind]);
    const struct shortened *names = page.names;
    print_shares(&page, page.operators, page.n_operators, names, "operators");
    print_shares(&page, page.kernels, page.n_kernels, names += page.n_operators, "kernels, memcpy and memset");
    names += page.n_kernels;
    printf("\n          at       time  longest edges (--all prints all %s)\n",
           count_text(report->n_path_nodes > 0 ? report->n_path_nodes - 1 : 0).text);
    for (size_t i = 0; i < page.n_steps; i++) {
        const struct sutra_path_step *step = &page.steps[i];
        printf("  %10s %10s  %-14s  %s\n", time_text(step->at_us).text, time_text(step->us).text,
               step_words[step->kind], names[i].text);
    }
}

/* ---- The command ---- */

struct path_job {
    struct job job;
    struct sutra_critical_path_options options;
    int format, rules;
    bool all;
    struct sutra_device_trace *trace;
    struct sutra_critical_path *path; /* by the rules of HTA */
    struct sutra_full_path *full_path;
};

enum { RULES_HTA, RULES_FULL, RULES_HTA_0_6 };
static const char *const rule_sets[] = {"hta", "full", "hta-0.6", NULL};
static const char *const hta_versions[] = {"0.5", "0.6", NULL};        /* in the order of enum sutra_hta_version */
static const char *const arrows[] = {"path", "arrows", "all", NULL};   /* in the order of enum sutra_path_arrows */
static const char *const formats[] = {"text", "json", "chrome", NULL}; /* in the order of enum sutra_path_format */

static const struct stage_share stages[] = {
    STAGES_READ("device trace", 50), {"critical path", 35, false}, {"write", 15, false}, {0}};

static const struct option_row options[] = {
    JOB_ROW_OUTPUT,
    {"format", 'f', OPTION_CHOICE, "FORMAT", AT(path_job, format), .choices = formats,
     .help = "write text, json with map, nodes, edges and path, or chrome, the trace with the path marked (default: "
             "json if OUT ends in .json, else text)"},
    {"all", 0, OPTION_FLAG, AT(path_job, all),
     .help = "print every edge of the path on a terminal, not only the longest"},
    {"rules", 0, OPTION_CHOICE, "RULES", AT(path_job, rules), .choices = rule_sets,
     .help = "apply the rules of Holistic Trace Analysis (hta), of its version 0.6 (hta-0.6, as --hta-version 0.6), or "
             "find the longest path through all recorded dependencies, which spans the whole window (full; text or "
             "json only) (default: hta)"},
    {"hta-version", 0, OPTION_CHOICE, "VERSION", AT(path_job, options.hta_version), .choices = hta_versions,
     .help = "apply the rules of this HTA version: 0.6 connects the backward thread to the forward thread, makes calls "
             "wait for the CUDA runtime's lock, and ignores kernel gaps of 1.5 ms or more (default: 0.5)"},
    {"data-loading", 0, OPTION_TEXT, "NAME", AT(path_job, options.data_loading),
     .help = "treat events whose name contains NAME as data loading on the path (needs --hta-version 0.6)",
     .group = group_more},
    {"step", 0, OPTION_TEXT, "N", AT(path_job, options.step),
     .help = "find the path within ProfilerStep#N, or within a range of steps such as 3-5 (default: the first step)"},
    {"annotation", 'a', OPTION_TEXT, "NAME", AT(path_job, options.annotation),
     .help = "find the path within an event whose name contains NAME; '' is the whole trace (default: ProfilerStep if "
             "the trace has one, else the whole trace)"},
    {"instance", 'i', OPTION_NUMBER, "N", AT(path_job, options.instance), .maximum = UINT32_MAX,
     .help = "select event N of the events whose name contains NAME of --annotation, from 0 (default: 0)",
     .group = group_more},
    {"only-critical", 0, OPTION_FLAG, AT(path_job, options.only_critical),
     .help = "omit spans off the path from the marked trace, except annotations and Python functions",
     .group = group_more},
    {"edges", 0, OPTION_CHOICE, "EDGES", AT(path_job, options.arrows), .choices = arrows,
     .help = "draw arrows in the marked trace for all edges of the path (path), for its dependencies, launch latencies "
             "and synchronization (arrows), or for all edges of the graph (all) (default: path)",
     .group = group_more},
    JOB_ROW_MAX_OUTPUT(path_job, options.most_bytes, "OUT"),
    JOB_ROWS_DEVICE,
    JOB_ROW_LENIENT,
    JOB_ROW_INPUT,
    JOB_ROW_QUIET,
    JOB_ROW_VERBOSE,
    {0},
};

static int check(struct job *job) {
    struct path_job *path = (struct path_job *)job;
    struct sutra_critical_path_options *rules = &path->options;
    bool full = path->rules == RULES_FULL;
    if (full && path->format == SUTRA_PATH_CHROME)
        return message_fail(SUTRA_USAGE, "--rules full and --format chrome exclude each other: use text or json");
    if (full && (rules->hta_version || rules->data_loading || rules->most_bytes))
        return message_fail(SUTRA_USAGE, "%s needs --rules hta",
                            rules->hta_version    ? "--hta-version"
                            : rules->data_loading ? "--data-loading"
                                                  : "--max-output");
    if (path->rules == RULES_HTA_0_6)
        rules->hta_version = SUTRA_HTA_VERSION_0_6;
    if (rules->data_loading && rules->hta_version != SUTRA_HTA_VERSION_0_6)
        return message_fail(SUTRA_USAGE, "--data-loading needs --hta-version 0.6");
    if ((rules->only_critical || rules->arrows) && path->format != SUTRA_PATH_CHROME)
        return message_fail(SUTRA_USAGE, "%s needs --format chrome",
                            rules->only_critical ? "--only-critical" : "--edges");
    if (rules->step && (rules->annotation || rules->instance))
        return message_fail(SUTRA_USAGE, "--step and %s exclude each other",
                            rules->annotation ? "--annotation" : "--instance");
    if (path->format < 0)
        path->format = path_ends_in(job->output, ".json") ? SUTRA_PATH_JSON : SUTRA_PATH_TEXT;
    return SUTRA_OK;
}

static enum sutra_status write_path(struct path_job *path, struct sutra_error *error) {
    struct job *job = &path->job;
    enum sutra_path_format format = (enum sutra_path_format)path->format;
    TRY(job_open(job, job->output, error));
    TRY(sutra_device_trace_read(job->context, job->inputs[0], &path->trace, error));
    TRY(device_trace_check_events(path->trace, error));
    if (path->rules == RULES_FULL) {
        TRY(restrict_to_complete_part(job->context, path->trace, error));
        TRY(sutra_full_path_find(job->context, path->trace, &path->options, &path->full_path, error));
        return sutra_full_path_write(job->context, path->full_path, format, job->output, error);
    }
    TRY(sutra_critical_path_find(job->context, path->trace, &path->options, &path->path, error));
    progress_clear(&job->watch.progress);
    if (format != SUTRA_PATH_TEXT || path->all || !screen_shows(job->output))
        return sutra_critical_path_write(job->context, path->path, format, job->output, error);
    critical_path_page_print(path->path, job->inputs[0]);
    return SUTRA_OK;
}

static int find_path(struct job *job) {
    struct sutra_error error;
    return write_path((struct path_job *)job, &error) ? job_fail(job, &error) : SUTRA_OK;
}

static void release(struct job *job) {
    struct path_job *path = (struct path_job *)job;
    sutra_critical_path_free(path->path);
    sutra_full_path_free(path->full_path);
    sutra_device_trace_free(path->trace);
}

static const char *const synopses[] = {
    "TRACE [-o OUT] [OPTIONS]",
    NULL,
};
static const char *const description[] = {
    "Finds the critical path of the device trace TRACE: the longest chain of dependent operators, launches, kernels "
    "and synchronization. Prints the time of the path by operator, by kernel and by kind of edge. A file also lists "
    "each edge.",
    "The rules match Holistic Trace Analysis (HTA). If HTA finds no path, a warning reports the reason and extended "
    "rules apply. Extended rules also support stream 0, named streams, equal streams of several devices, and HIP.",
    "The default matches HTA 0.5. --hta-version 0.6 matches HTA 0.6.1, which connects more threads and finds longer paths. "
    "Select the HTA version to compare results with, regardless of the traced program.",
    "With --rules full, the path spans the whole window. It consists of CPU work as one chain over all threads, waits "
    "for the GPU, launches, streams and CUDA events, as in 'sutra link -o X.et'. Each moment has one kind: operator, "
    "launch latency, kernel, memcpy, communication or gap. The output also lists operators and kernels with their "
    "slack: how much longer each may take without a longer path.",
    NULL,
};
static const struct example examples[] = {
    {"sutra critical-path device.json", "print the critical path of the first step"},
    {"sutra critical-path device.json --step 3", "print the critical path of ProfilerStep#3"},
    {"sutra critical-path device.json --format chrome -o marked.json.gz", "mark the path in the trace, for Perfetto"},
    {"sutra critical-path device.json --format chrome -o marked.pftrace", "the same in Perfetto's format"},
    {"sutra critical-path device.json --format chrome --only-critical --edges arrows -o path.json.gz",
     "write the same overlay as HTA"},
    {"sutra critical-path device.json --rules full", "attribute the whole time of the first step"},
    {"sutra critical-path device.json --annotation forward --instance 3 --format json -o path.json",
     "write the path of one annotation as JSON"},
    {0},
};

const struct command critical_path_command = {
    .name = "critical-path",
    .called = "sutra critical-path",
    .summary = "find the critical path of a device trace",
    .writes = ".json, .txt or .pftrace",
    COMMAND_TEXTS,
    .n_operands_min = 1,
    .n_operands_max = 1,
    .missing = "the trace is missing",
    .size = sizeof(struct path_job),
    .defaults = &(const struct path_job){.job = {.output = "-", .stages = stages},
                                         .options.size = sizeof(struct sutra_critical_path_options),
                                         .format = -1},
    .check = check,
    .work = find_path,
    .release = release,
};
