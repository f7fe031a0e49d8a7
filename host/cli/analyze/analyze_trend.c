/*
 * analyze_trend.c - `sutra analyze RUN --window all`: the trend over the profiling windows of each role of a run.
 *
 *     windows --sutra_overview_run, one after another--> steps, shares, findings --trend_find_changes--> changes
 *     window before a change, changed window   --sutra_diff_run--> cause
 *     baseline, default window                 --sutra_diff_run--> gate
 *
 * Memory: one window at a time, besides the overview of the default window. Several processes deal the traces of all
 * windows in the order of the inventory, and write partial results to a directory per window; the process that combines
 * them reads traces of changed windows only.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/overview/overview.h"
#include "base/error.h"
#include "base/shared.h"
#include "cli/analyze/analysis.h"
#include "cli/runs.h"
#include "cli/terminal.h"
#include "report/sections.h"
#include "text/quantities.h"
#include "text/strings.h"
#include "write/json.h"

/* Causes are found for the last changes only, each of which reads the traces of two windows. */
#define CAUSES_MAX 64

#define WINDOWS_SHOWN 30 /* of a table on the screen or in Markdown */

/* ---- Windows of several processes ---- */

/* The traces of a window in the list of all traces. */
struct window_deal {
    struct analysis *analysis;
    struct role_trend *role;
    size_t first, n;
};

/* The next trace of this process in the window; the first one after the window is kept for the next windows. */
static bool next_in_window(void *arg, size_t *number) {
    const struct window_deal *deal = arg;
    struct role_trend *role = deal->role;
    const struct shard_plan *plan = &deal->analysis->plan;
    if (!role->has_next && !role->has_no_more) {
        role->has_no_more = !plan->next(plan->arg, &role->next);
        role->has_next = !role->has_no_more;
    }
    if (!role->has_next || role->next >= deal->first + deal->n)
        return false;
    *number = role->next - deal->first;
    role->has_next = false;
    return true;
}

/* Analyzes a window, whose traces begin at `first` in the list of all traces. *made is NULL if another process combines
 * the results. */
static enum sutra_status analyze_window(struct analysis *analysis, struct role_trend *role, size_t first,
                                        const struct chosen_window *window, bool combines, struct sutra_overview **made,
                                        struct sutra_error *error) {
    struct sutra_context *context = analysis->job.context;
    struct sutra_overview_options options = *role->options;
    struct window_deal deal = {analysis, role, first, window->n};
    struct shard_plan plan = analysis->plan;
    char folder[SHARE_PATH_MAX] = "", result[SHARE_PATH_MAX + 32];
    *made = NULL;
    if (!window->is_default) {
        options.tables = false;
        options.companion = NULL;
    }
    if (analysis->is_shared) {
        analysis_share_path(analysis, window->window, folder);
        if (!path_make_own_folder(folder))
            return error_os(error, SUTRA_NO_OUTPUT, folder, errno, "");
        plan.folder = folder;
        plan.end = NULL;
        plan.combines = combines;
        plan.arg = &deal;
        plan.next = combines || !plan.next ? NULL : next_in_window;
        if (combines)
            plan.n_shards = 0;
        else if (plan.n_shards)
            plan.shard = (plan.shard + plan.n_shards - first % plan.n_shards) % plan.n_shards;
        context->plan = &plan;
    }
    for (size_t i = 0; i < window->n && analysis->is_shared && combines; i++) {
        snprintf(result, sizeof result, "%s/%zu", folder, i);
        analysis->lacks_results |= access(result, F_OK) != 0;
    }
    context->window = window;
    const enum sutra_status status = sutra_overview_run(context, window->paths, window->n, &options, made, error);
    context->window = NULL;
    context->plan = analysis->is_shared ? &analysis->plan : NULL;
    return status;
}

/* ---- Windows of a role ---- */

static void begin_window(const struct run_window *of, struct trend_window *window) {
    const char *name = of->label ? of->label : "-";
    if (!of->label && of->n_traces == 1) {
        const char *slash = strrchr(of->traces[0]->path, '/');
        name = slash ? slash + 1 : of->traces[0]->path;
    }
    *window = (struct trend_window){.label = of->label,
                                    .name = name,
                                    .missing = of->missing,
                                    .n_ranks = of->n_traces,
                                    .step_us = (double)NAN,
                                    .spread_us = (double)NAN};
    for (int part = 0; part < SUTRA_N_PARTS; part++)
        window->shares[part] = (double)NAN;
    if (of->begin_ns != RUN_NO_TIME)
        snprintf(window->start, sizeof window->start, "%.19s", utc_text(of->begin_ns).text);
}

static enum sutra_status set_window(struct trend *trend, const struct sutra_overview *overview,
                                    struct trend_window *window, struct sutra_error *error) {
    const struct sutra_verdict *verdict = sutra_overview_verdict(overview);
    struct arena scratch = {0};
    struct sutra_finding finding;
    double *us;
    uint64_t n;
    enum sutra_status status = overview_step_times(overview, &scratch, &us, &n, error);
    if (!status)
        trend_window_set_steps(window, us, n);
    arena_free(&scratch);
    TRY(status);
    window->n_ranks = verdict->n_ranks;
    if (verdict->kind == SUTRA_VERDICT_STEPS)
        memcpy(window->shares, verdict->shares, sizeof window->shares);
    for (size_t i = 0; i < TREND_FINDINGS && sutra_overview_finding(overview, i, &finding); i++)
        window->findings.list[window->findings.n++] = (struct trend_finding){
            arena_text(&trend->arena, finding.rule, strlen(finding.rule)),
            arena_text(&trend->arena, finding.title, strlen(finding.title)), finding.saving_percent};
    return arena_status(&trend->arena, error);
}

/* Compares two windows of the job, by index. */
static enum sutra_status compare_windows(struct analysis *analysis, size_t index_a, size_t index_b,
                                         struct sutra_diff **diff, struct sutra_error *error) {
    const struct sutra_restriction *part = &analysis->restriction;
    struct sutra_context *context = analysis->job.context;
    struct chosen_window b = analysis->job.window[index_b], a = analysis->job.window[index_a];
    const struct sutra_diff_options options = {.size = sizeof options,
                                               .ranks = part->ranks,
                                               .n_ranks = part->n_ranks,
                                               .step = {part->step, part->step},
                                               .from_us = part->from_us,
                                               .to_us = part->to_us,
                                               .name = part->name,
                                               .stream = part->stream,
                                               .category = part->category};
    void (*const warning)(void *, const char *) = context->options.warning;
    a.other = &b;
    context->window = &a;
    context->options.warning = NULL; /* the overviews of the windows have reported all warnings */
    context->plan = NULL;
    const enum sutra_status status = sutra_diff_run(context, a.paths, a.n, b.paths, b.n, &options, diff, error);
    context->options.warning = warning;
    context->plan = analysis->is_shared ? &analysis->plan : NULL;
    context->window = NULL;
    return status;
}

static enum sutra_status find_causes(struct analysis *analysis, struct trend *trend, struct sutra_error *error) {
    const size_t n = trend->n_changes;
    for (size_t i = n > CAUSES_MAX ? n - CAUSES_MAX : 0; i < n; i++) {
        struct trend_change *change = &trend->changes[i];
        struct sutra_diff *diff = NULL;
        TRY(compare_windows(analysis, change->before, change->window, &diff, error));
        const enum sutra_status status = trend_set_cause(trend, change, diff, error);
        sutra_diff_free(diff);
        TRY(status);
    }
    return SUTRA_OK;
}

static enum sutra_status find_baseline(const struct run *run, const struct run_role *of, const char *baseline,
                                       size_t *window, struct sutra_error *error) {
    *window = 0;
    if (!baseline)
        return SUTRA_OK;
    if (strcmp(baseline, "previous") == 0) {
        *window = of->default_window ? of->default_window - 1 : 0;
        return SUTRA_OK;
    }
    struct run_pick pick;
    TRY(run_find_window(run, of, baseline, &pick, error));
    *window = pick.first;
    return pick.n == 1 ? SUTRA_OK : error_set(error, SUTRA_USAGE, "--baseline '%s': expected one window", baseline);
}

static enum sutra_status decide_gate(struct analysis *analysis, struct role_trend *role, struct sutra_error *error) {
    struct trend *trend = &role->trend;
    struct sutra_diff *diff = NULL;
    TRY(compare_windows(analysis, trend->baseline, trend->default_window, &diff, error));
    role->gate = diff_gate_decide(diff, role->fail_above);
    const uint64_t cause = diff_cause(diff, role->gate.growth_us);
    const struct sutra_table *steps = sutra_result_table(SUTRA_RESULT(diff), SUTRA_DIFF_STEPS, NULL);
    role->gate_cause = arena_format(&trend->arena, "%s", cause ? text_named(steps, "part", cause) : "");
    if (role->gate.decision == DIFF_UNCLEAR)
        role->reason = diff_gate_reason(diff, &role->gate);
    sutra_diff_free(diff);
    return arena_status(&trend->arena, error);
}

/* Analyzes all windows; `combines`: from the results of other processes, if there are any. */
static enum sutra_status analyze_windows(struct analysis *analysis, struct role_trend *role, const struct run_role *of,
                                         bool combines, struct sutra_error *error) {
    const struct job *job = &analysis->job;
    struct trend *trend = &role->trend;
    for (size_t i = 0, first = 0; i < trend->n_windows; first += job->window[i++].n) {
        const struct chosen_window *window = &job->window[i];
        struct sutra_overview *overview = NULL;
        struct sutra_error why;
        begin_window(&of->windows[i], &trend->windows[i]);
        enum sutra_status status = analyze_window(analysis, role, first, window, combines, &overview, &why);
        if (status == SUTRA_DATA && !window->is_default && !job->options.strict) { /* it remains without steps */
            char text[sizeof why];
            sutra_error_text(&why, text, sizeof text);
            if (combines)
                context_warn(job->context, "window %zu: %s", i, text);
            continue;
        }
        if (status)
            return error_copy(error, status, &why);
        if (overview)
            status = set_window(trend, overview, &trend->windows[i], error);
        if (window->is_default)
            role->overview = overview;
        else
            sutra_overview_free(overview);
        TRY(status);
    }
    return SUTRA_OK;
}

enum sutra_status role_trend_run(struct analysis *analysis, struct role_trend *role, struct sutra_error *error) {
    const struct run_inputs *inputs = &analysis->job.run;
    const struct shard_plan *plan = &analysis->plan;
    struct trend *trend = &role->trend;
    size_t pick = 0, first = 0;
    while (&inputs->windows[first] != analysis->job.window)
        first += inputs->run.picks[pick++].n;
    const struct run_role *of = inputs->run.picks[pick].role;
    trend->role = of->name;
    trend->n_windows = analysis->job.n_windows;
    trend->default_window = of->default_window;
    trend->windows = arena_alloc(&trend->arena, trend->n_windows, sizeof *trend->windows);
    TRY_ALLOC(trend->windows, error);
    TRY(find_baseline(&inputs->run, of, role->baseline, &trend->baseline, error));
    /* Several processes first write the results of all windows; then one process combines them. */
    if (analysis->is_shared && (plan->n_shards || plan->next)) {
        const enum sutra_status status = analyze_windows(analysis, role, of, false, error);
        if (plan->end)
            plan->end(plan->arg);
        TRY(status);
    }
    if (analysis->is_shared && !plan->combines)
        return SUTRA_OK;
    TRY(analyze_windows(analysis, role, of, true, error));
    TRY(trend_find_changes(trend, error));
    TRY(find_causes(analysis, trend, error));
    if (role->has_gate)
        TRY(decide_gate(analysis, role, error));
    return trend_write_sentences(trend, error);
}

void role_trend_free(struct role_trend *role) {
    sutra_overview_free(role->overview);
    arena_free(&role->trend.arena);
}

/* ---- The screen ---- */

#define LABEL_COLUMNS    24
#define FINDING_COLUMNS  24 /* at least */
#define TREND_INDENT     9
#define EXTRA_PART_SHARE 5.0 /* percent: other parts have a column from this share on, if it fits */

/* A time without fractions of microseconds: "8 us", "4.16 ms". */
static struct figure rounded_time(double us) {
    struct figure figure = brief_time_text(us * 1000);
    if (us < 999.5)
        snprintf(figure.text, sizeof figure.text, "%.0f us", us);
    return figure;
}

/* Parts with a column: the first four always, the others where they matter. */
static const struct {
    enum sutra_verdict_part part;
    const char *name;
    unsigned width;
} part_columns[] = {{SUTRA_PART_COMPUTE, "compute", 10}, {SUTRA_PART_EXPOSED_COMM, "comm.", 7},
                    {SUTRA_PART_HOST, "host", 6},        {SUTRA_PART_DATA, "data", 6},
                    {SUTRA_PART_SYNC, "sync", 6},        {SUTRA_PART_EXPOSED_COPY, "copy", 6},
                    {SUTRA_PART_SETUP, "setup", 7},      {SUTRA_PART_QUEUED, "queued", 8},
                    {SUTRA_PART_AFTER, "after", 7},      {SUTRA_PART_UNKNOWN, "unknown", 9}};
#define N_PART_COLUMNS              (sizeof part_columns / sizeof *part_columns)
#define MAIN_PARTS                  4
#define SPREAD_COLUMNS              8
#define COLUMNS_BEFORE_PARTS(label) (8 + 2 + (label) + 9 + SPREAD_COLUMNS + 8)

struct trend_columns {
    unsigned label, findings;
    bool has_spread;
    bool parts[N_PART_COLUMNS];
    bool shown[]; /* by window */
};

/* Makes the layout of the table; the caller frees it. NULL: out of memory. */
static struct trend_columns *make_columns(const struct trend *trend) {
    struct trend_columns *columns = calloc(1, sizeof *columns + trend->n_windows * sizeof *columns->shown);
    if (!columns)
        return NULL;
    trend_select_windows(trend, WINDOWS_SHOWN, columns->shown);
    columns->label = (unsigned)strlen("label");
    for (size_t i = 0; i < trend->n_windows; i++)
        if (columns->shown[i])
            columns->label = MAX(columns->label, short_text(trend->windows[i].name, LABEL_COLUMNS).n_columns);
    unsigned used = COLUMNS_BEFORE_PARTS(columns->label) + 2;
    for (size_t k = 0; k < N_PART_COLUMNS; k++) {
        for (size_t i = 0; i < trend->n_windows && k >= MAIN_PARTS; i++)
            columns->parts[k] |= trend->windows[i].shares[part_columns[k].part] >= EXTRA_PART_SHARE;
        columns->parts[k] =
            k < MAIN_PARTS || (columns->parts[k] && used + part_columns[k].width + FINDING_COLUMNS <= screen_columns());
        used += columns->parts[k] ? part_columns[k].width : 0;
    }
    /* A terminal without room for a finding shows neither spread nor host. */
    const bool is_terminal = screen_shows("-");
    const unsigned n_min = is_terminal ? FINDING_COLUMNS / 2 : FINDING_COLUMNS;
    columns->has_spread = !is_terminal || used + n_min <= screen_columns();
    if (!columns->has_spread) {
        columns->parts[2] = false;
        used -= SPREAD_COLUMNS + part_columns[2].width;
    }
    columns->findings = MAX(screen_columns(), used + n_min) - used;
    return columns;
}

/* Cells of a window; unknown ones are "-". */
static struct figure step_text(const struct trend_window *window) {
    const struct figure unknown = {"-"};
    return isnan(window->step_us) ? unknown : brief_time_text(window->step_us * 1000);
}

static struct figure spread_text(const struct trend_window *window) {
    const struct figure unknown = {"-"};
    return window->n_steps < 2 ? unknown : rounded_time(window->spread_us);
}

static struct figure window_change(const struct trend *trend, size_t i, const char *unit) {
    struct figure figure = {"-"};
    if (i != trend->baseline && !isnan(trend->windows[i].change_percent))
        snprintf(figure.text, sizeof figure.text, "%+.1f%s", trend->windows[i].change_percent, unit);
    return figure;
}

static struct figure share_of(double share, const char *unit) {
    struct figure figure = {"-"};
    if (!isnan(share))
        snprintf(figure.text, sizeof figure.text, "%.1f%s", share, unit);
    return figure;
}

static void print_window(const struct trend *trend, const struct trend_columns *columns, size_t i) {
    const struct trend_window *window = &trend->windows[i];
    const struct shortened name = short_path(window->name, columns->label);
    printf("%3s%5zu  ", window->differs ? "*" : "", i);
    shortened_print(&name, columns->label);
    printf("%9s", step_text(window).text);
    if (columns->has_spread)
        printf("%*s", SPREAD_COLUMNS, spread_text(window).text);
    printf("%8s", window_change(trend, i, "%").text);
    for (size_t k = 0; k < N_PART_COLUMNS; k++)
        if (columns->parts[k])
            printf("%*s", (int)part_columns[k].width, share_of(window->shares[part_columns[k].part], "").text);
    for (size_t k = 0, width = 0; k < window->findings.n; k++) {
        const char *rule = window->findings.list[k].rule;
        width += strlen(rule) + 2;
        if (k && width > columns->findings) {
            printf(" +%zu", window->findings.n - k);
            break;
        }
        printf("%s%s", k ? ", " : "  ", rule);
    }
    putchar('\n');
}

static void print_table(const struct trend *trend, const struct trend_columns *columns) {
    size_t n_hidden = 0;
    printf("  window  %-*s%9s", (int)columns->label, "label", "step");
    if (columns->has_spread)
        printf("%*s", SPREAD_COLUMNS, "spread");
    printf("%8s", "change");
    for (size_t k = 0; k < N_PART_COLUMNS; k++)
        if (columns->parts[k])
            printf("%*s", (int)part_columns[k].width, part_columns[k].name);
    puts("  findings");
    for (size_t i = 0; i < trend->n_windows; i++) {
        n_hidden += columns->shown[i] ? 0 : 1;
        if (!columns->shown[i])
            continue;
        if (n_hidden)
            printf("     ...  %s\n", counted_text(n_hidden, "more window", "more windows").text);
        n_hidden = 0;
        print_window(trend, columns, i);
    }
}

/* "7 windows of 4 steps, 2026-11-28 04:24:30 to 04:30:30" */
static void print_headline(const struct analysis *analysis, const struct trend *trend) {
    uint64_t n_steps_min = UINT64_MAX, n_steps_max = 0;
    size_t n_ranks = 0;
    const char *first = trend->windows[0].start, *last = trend->windows[trend->n_windows - 1].start;
    for (size_t i = 0; i < trend->n_windows; i++) {
        n_ranks = MAX(trend->windows[i].n_ranks, n_ranks);
        n_steps_min = MIN(trend->windows[i].n_steps, n_steps_min);
        n_steps_max = MAX(trend->windows[i].n_steps, n_steps_max);
    }
    printf("%s in %s   ", counted_text(n_ranks, "rank", "ranks").text, short_path(analysis->job.run.run.path, 40).text);
    printf("%s", counted_text(trend->n_windows, "window", "windows").text);
    if (n_steps_max == 0)
        printf(" without steps");
    else if (n_steps_min == n_steps_max)
        printf(" of %s", counted_text(n_steps_max, "step", "steps").text);
    else
        printf(" of %s to %s", count_text(n_steps_min).text, counted_text(n_steps_max, "step", "steps").text);
    const bool is_same_day = strncmp(first, last, strlen("2026-11-28 ")) == 0;
    if (*first && *last && trend->n_windows > 1)
        printf(", %s to %s", first, is_same_day ? last + strlen("2026-11-28 ") : last);
    puts("\n");
}

static void print_next(const struct analysis *analysis, const struct trend *trend) {
    const struct trend_change *change = trend->n_changes ? &trend->changes[trend->n_changes - 1] : NULL;
    const char *path = analysis->job.run.run.path;
    struct buffer words = {0};
    if (!analysis->job.window->is_one_folder)
        return;
    for (size_t i = trend->n_changes; i > 0 && change->kind == TREND_SPIKE; i--)
        change = trend->changes[i - 1].kind == TREND_SHIFT ? &trend->changes[i - 1] : change;
    buffer_append_text(&words, change ? "sutra diff " : "sutra analyze ");
    shell_append_word(&words, path);
    if (change) {
        buffer_append_text(&words, " ");
        shell_append_word(&words, path);
    }
    if (analysis->job.window->role) {
        buffer_append_text(&words, " --role ");
        shell_append_word(&words, trend->role);
    }
    if (change)
        buffer_format(&words, " --window %zu --window-b %zu", change->before, change->window);
    buffer_append(&words, "", 1);
    printf("Next:\n  %s      %s\n", words.failed ? "" : words.bytes,
           change ? "compare before and after the change" : "findings of the default window");
    buffer_free(&words);
}

enum sutra_status role_trend_print(const struct analysis *analysis, const struct role_trend *role,
                                   struct sutra_error *error) {
    const struct trend *trend = &role->trend;
    struct trend_columns *columns = make_columns(trend);
    bool differs = false;
    TRY_ALLOC(columns, error);
    print_headline(analysis, trend);
    for (size_t k = 0; k < trend->n_sentences; k++) {
        printf("%-*s", TREND_INDENT, k ? "" : "TREND");
        wrapped_print(trend->sentences[k], TREND_INDENT, TREND_INDENT);
    }
    putchar('\n');
    print_table(trend, columns);
    free(columns);
    for (size_t k = 0; k < trend->n_windows; k++)
        differs |= trend->windows[k].differs;
    if (*trend_no_limit(trend))
        printf("  %s", trend_no_limit(trend));
    else
        printf("  noise %s: changes below %.1f %% are not reported", rounded_time(trend->noise_us).text,
               trend->limit_percent);
    if (differs)
        printf("; * differs from window %zu", trend->baseline);
    putchar('\n');
    print_next(analysis, trend);
    return SUTRA_OK;
}

/* ---- JSON ---- */

#define DIGITS 6

static void add_rules(struct json_out *json, const char *name, const struct trend_findings *findings) {
    json_add_open(json, name, '[');
    for (size_t i = 0; i < findings->n; i++)
        json_cstring(json, findings->list[i].rule);
    json_close(json, ']');
}

static void add_text_or_null(struct json_out *json, const char *name, const char *text) {
    json_add_text(json, name, *text ? text : NULL);
}

static void add_window(struct json_out *json, const struct trend *trend, size_t i) {
    const struct trend_window *window = &trend->windows[i];
    json_open_line(json);
    json_add_count(json, "window", i);
    json_add_text(json, "label", window->label);
    add_text_or_null(json, "start", window->start);
    json_add_count(json, "n_ranks", window->n_ranks);
    json_add_text(json, "missing", window->missing);
    json_add_count(json, "n_steps", window->n_steps);
    json_add_real(json, "step_us", DIGITS + 2, window->step_us);
    json_add_real(json, "spread_us", DIGITS, window->spread_us);
    json_add_open(json, "shares", '{');
    for (int part = 0; part < SUTRA_N_PARTS && !isnan(window->shares[0]); part++)
        if (part != SUTRA_PART_OUTSIDE_STEP || window->shares[part] > 0)
            json_add_real(json, sutra_verdict_part_name((enum sutra_verdict_part)part), DIGITS, window->shares[part]);
    json_close(json, '}');
    add_rules(json, "findings", &window->findings);
    json_add_real(json, "change_percent", DIGITS, window->change_percent);
    json_close_line(json);
}

static void add_change(struct json_out *json, const struct trend_change *change) {
    json_open_line(json);
    json_add_text(json, "kind", change->kind == TREND_SHIFT ? "shift" : "spike");
    json_add_count(json, "window", change->window);
    json_add_count(json, "before", change->before);
    json_add_real(json, "from_us", DIGITS + 2, change->from_us);
    json_add_real(json, "to_us", DIGITS + 2, change->to_us);
    json_add_real(json, "percent", DIGITS, (change->to_us / change->from_us - 1) * 100);
    json_add_format(json, "confirmed", "%s", change->confirmed ? "true" : "false");
    add_text_or_null(json, "part", change->part);
    json_add_real(json, "part_us", DIGITS, change->part_us);
    add_text_or_null(json, "operator", change->operator);
    add_text_or_null(json, "kernel", change->kernel);
    add_text_or_null(json, "collective", change->collective);
    add_rules(json, "new_findings", &change->new_findings);
    add_rules(json, "gone_findings", &change->gone_findings);
    json_close_line(json);
}

static enum sutra_status add_role(struct json_out *json, const struct role_trend *role, struct sutra_error *error) {
    const struct trend *trend = &role->trend;
    char *verdict;
    size_t length;
    TRY(sutra_overview_json(role->overview, &verdict, &length, error));
    json_open(json, '{');
    json_add_text(json, "role", trend->role);
    json_add_real(json, "noise_us", DIGITS, trend->noise_us);
    json_add_open(json, "windows", '[');
    for (size_t i = 0; i < trend->n_windows; i++)
        add_window(json, trend, i);
    json_close_lines(json, ']');
    json_add_open(json, "changes", '[');
    for (size_t i = 0; i < trend->n_changes; i++)
        add_change(json, &trend->changes[i]);
    json_close_lines(json, ']');
    if (role->has_gate) {
        json_add_open(json, "gate", '{');
        json_add_count(json, "baseline", trend->baseline);
        json_add_count(json, "window", trend->default_window);
        json_add_text(json, "decision", diff_decision_names[role->gate.decision]);
        json_add_real(json, "diff_percent", DIGITS, role->gate.growth_percent);
        json_add_real(json, "noise_percent", DIGITS, role->gate.noise_percent);
        if (role->gate.n_steps_needed)
            json_add_count(json, "steps_needed", role->gate.n_steps_needed);
        else
            json_add_text(json, "steps_needed", NULL);
        json_close(json, '}');
    }
    json_name(json, "verdict");
    json_literal(json, verdict, length - 1); /* without its line break */
    json_close(json, '}');
    free(verdict);
    return SUTRA_OK;
}

enum sutra_status role_trend_print_json(const struct role_trend *role, struct sutra_error *error) {
    struct text_out text = {.file = stdout};
    struct json_out json = {.text = &text, .indent = 2};
    const enum sutra_status status = add_role(&json, role, error);
    return json_end(&json) || status ? status : error_memory(error);
}

/* ---- Markdown ---- */

enum sutra_status role_trend_print_markdown(const struct analysis *analysis, const struct role_trend *role,
                                            bool keep_paths, struct sutra_error *error) {
    const struct trend *trend = &role->trend;
    struct trend_columns *columns = make_columns(trend);
    char *verdict;
    size_t length;
    TRY_ALLOC(columns, error);
    printf("# Step times of ");
    markdown_print(MARKDOWN_PATH, analysis->job.run.run.path);
    puts("\n");
    for (size_t k = 0; k < trend->n_sentences; k++) {
        printf("%s", trend->n_sentences > 1 ? "- " : "");
        markdown_print(MARKDOWN_TEXT, trend->sentences[k]);
        putchar('\n');
    }
    puts("\n| | window | label | step | spread | change | compute | comm. | host | data | findings |\n"
         "|---|--:|---|--:|--:|--:|--:|--:|--:|--:|---|");
    for (size_t k = 0; k < trend->n_windows; k++) {
        const struct trend_window *window = &trend->windows[k];
        if (!columns->shown[k])
            continue;
        printf("| %s | %zu | ", window->differs ? "\\*" : "", k);
        markdown_print(MARKDOWN_CELL, window->name);
        printf(" | %s | %s | %s", step_text(window).text, spread_text(window).text, window_change(trend, k, " %").text);
        for (size_t part = 0; part < MAIN_PARTS; part++)
            printf(" | %s", share_of(window->shares[part_columns[part].part], " %").text);
        printf(" | ");
        for (size_t f = 0; f < window->findings.n; f++)
            printf("%s`%s`", f ? ", " : "", window->findings.list[f].rule);
        puts(" |");
    }
    free(columns);
    putchar('\n');
    TRY(sutra_overview_markdown(role->overview, keep_paths, &verdict, &length, error));
    fwrite(verdict, 1, length, stdout);
    free(verdict);
    return SUTRA_OK;
}

/* ---- Files and the gate ---- */

enum sutra_status role_trend_write(struct analysis *analysis, const struct role_trend *role,
                                   struct sutra_error *error) {
    struct sutra_table windows;
    uint64_t n_bytes = 0;
    trend_table(&role->trend, &windows);
    enum sutra_status status = windows.failed ? error_memory(error) : SUTRA_OK;
    if (!status)
        status = analysis_write_table(analysis, &windows, RANK_ALL, error);
    table_free(&windows);
    if (!status && !analysis->no_report)
        status = trend_page_write(analysis->job.context, &role->trend, analysis->job.run.run.path,
                                  analysis->results.path, &n_bytes, error);
    analysis->job.figures.output_bytes += n_bytes;
    return status;
}

int fail_above_parse(const char *text, double *percent) {
    char *end;
    *percent = strtod(text, &end);
    end += *end == '%';
    if (end == text || *end || !(*percent >= 0) || isinf(*percent))
        return message_fail(SUTRA_USAGE, "--fail-above '%s': expected a percentage such as 5%%", text);
    return SUTRA_OK;
}

int role_trend_report_gate(const struct analysis *analysis, const struct role_trend *role) {
    const char *name = analysis->job.window->role, *colon = name ? ": " : "", *cause = role->gate_cause;
    if (!role->has_gate || role->gate.decision == DIFF_PASS)
        return SUTRA_OK;
    name = name ? name : "";
    if (role->gate.decision == DIFF_REGRESSION)
        return message_fail(SUTRA_STRICT, "%s%sstep time: window %zu is %s above window %zu, limit %g %%%s%s%s", name,
                            colon, role->trend.default_window, change_text(role->gate.growth_percent).text,
                            role->trend.baseline, role->fail_above, *cause ? " (" : "", cause, *cause ? ")" : "");
    if (role->fail_on_unclear)
        return message_fail(SUTRA_STRICT, "%s%s%s", name, colon, role->reason.text);
    message_warn("%s%s%s", name, colon, role->reason.text);
    return SUTRA_OK;
}
