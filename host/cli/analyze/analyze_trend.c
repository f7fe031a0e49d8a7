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

#include "analyze/overview/overview.h"
#include "analyze/overview/verdict.h"
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

/* ---- Windows ---- */

/* Several processes deal the traces of all windows, one window after another. */
struct window_deal {
    const struct shard_plan *plan; /* of all traces */
    size_t first, end;             /* the window's traces in the list of all traces */
    size_t next;                   /* the next trace of this process; SIZE_MAX: none is left */
    bool is_kept;                  /* for a later window */
};

/* The next trace of this process in the window. */
static bool next_in_window(void *arg, size_t *number) {
    struct window_deal *deal = arg;
    const struct shard_plan *plan = deal->plan;
    if (!deal->is_kept && !plan->next)
        deal->next += plan->n_shards;
    else if (!deal->is_kept && !plan->next(plan->arg, &deal->next))
        deal->next = SIZE_MAX;
    deal->is_kept = deal->next >= deal->end;
    *number = deal->next - deal->first;
    return !deal->is_kept;
}

/* Sets the facts about a window, and the numbers of its overview, if there is one. */
static enum sutra_status set_window(struct trend *trend, const struct run_window *of,
                                    const struct sutra_overview *overview, struct trend_window *window,
                                    struct sutra_error *error) {
    struct arena *arena = &trend->arena;
    const char *file = of->n_traces == 1 ? path_file_name(of->traces[0]->path) : "-";
    struct sutra_finding finding;
    double *us;
    uint64_t n;
    *window = (struct trend_window){.label = of->label,
                                    .name = of->label ? of->label : file,
                                    .missing = of->missing,
                                    .n_ranks = of->n_traces,
                                    .step_us = (double)NAN,
                                    .spread_us = (double)NAN};
    if (of->begin_ns != RUN_NO_TIME)
        snprintf(window->start, sizeof window->start, "%.19s", utc_text(of->begin_ns).text);
    for (int part = 0; part < SUTRA_N_PARTS; part++)
        window->shares[part] = (double)NAN;
    if (!overview)
        return SUTRA_OK;
    const struct sutra_verdict *verdict = sutra_overview_verdict(overview);
    const struct arena_mark mark = arena_mark(arena);
    TRY(overview_step_times(overview, arena, &us, &n, error));
    trend_window_set_steps(window, us, n);
    arena_release(arena, mark);
    window->n_ranks = verdict->n_ranks;
    if (verdict->kind == SUTRA_VERDICT_STEPS)
        memcpy(window->shares, verdict->shares, sizeof window->shares);
    for (size_t i = 0; i < TREND_FINDINGS && sutra_overview_finding(overview, i, &finding); i++)
        window->findings.list[window->findings.n++] = (struct trend_finding){
            arena_format(arena, "%s", finding.rule), arena_format(arena, "%s", finding.title), finding.saving_percent};
    return arena_status(arena, error);
}

/* Analyzes all windows; `combines`: from the results of other processes, if there are any. Only the default window has
 * tables. */
static enum sutra_status analyze_windows(struct analysis *analysis, struct role_trend *role, bool combines,
                                         struct sutra_error *error) {
    const struct job *job = &analysis->job;
    struct sutra_context *context = job->context;
    const struct shard_plan *all = context->plan;
    struct window_deal deal = {.plan = all, .next = analysis->plan.shard, .is_kept = !analysis->plan.next};
    for (size_t i = 0; i < job->n_windows; i++, deal.first = deal.end) {
        const struct chosen_window *window = &job->window[i];
        struct sutra_overview_options options = *role->options;
        struct sutra_overview *overview = NULL;
        struct sutra_error why;
        struct shard_plan plan;
        char folder[SHARE_PATH_MAX], text[sizeof why];
        deal.end += window->n;
        if (!window->is_default) {
            options.tables = false;
            options.companion = NULL;
        }
        if (all) {
            analysis_share_path(analysis, i, folder);
            if (!path_make_own_folder(folder))
                return error_os(error, SUTRA_NO_OUTPUT, folder, errno, "");
            plan = (struct shard_plan){
                .folder = folder, .next = combines ? NULL : next_in_window, .arg = &deal, .combines = combines};
            context->plan = &plan;
        }
        context->window = window;
        enum sutra_status status = sutra_overview_run(context, window->paths, window->n, &options, &overview, &why);
        context->window = NULL;
        context->plan = all;
        if (status && (status != SUTRA_DATA || window->is_default || job->options.strict))
            return error_copy(error, status, &why);
        if (status && combines) { /* the window remains without steps */
            sutra_error_text(&why, text, sizeof text);
            context_warn(context, "window %zu: %s", i, text);
        }
        status = set_window(&role->trend, &analysis->role->windows[i], overview, &role->trend.windows[i], error);
        if (window->is_default)
            *role->overview = overview;
        else
            sutra_overview_free(overview);
        TRY(status);
    }
    return SUTRA_OK;
}

/* ---- Changes and the gate ---- */

/* Compares two windows of the job, by index. */
static enum sutra_status compare_windows(struct analysis *analysis, size_t index_a, size_t index_b,
                                         struct sutra_diff **diff, struct sutra_error *error) {
    const struct sutra_restriction *part = &analysis->restriction;
    struct sutra_context *context = analysis->job.context;
    const struct shard_plan *plan = context->plan;
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
    context->plan = plan;
    context->window = NULL;
    return status;
}

static enum sutra_status find_baseline(const struct analysis *analysis, const char *baseline, size_t *window,
                                       struct sutra_error *error) {
    const struct run_role *role = analysis->role;
    struct run_pick pick = {.first = role->default_window ? role->default_window - 1 : 0, .n = 1};
    if (strcmp(baseline, "previous") != 0)
        TRY(run_find_window(&analysis->job.run.run, role, baseline, &pick, error));
    *window = pick.first;
    return pick.n == 1 ? SUTRA_OK : error_set(error, SUTRA_USAGE, "--baseline '%s': expected one window", baseline);
}

enum sutra_status role_trend_run(struct analysis *analysis, struct role_trend *role, struct sutra_error *error) {
    const struct shard_plan *plan = analysis->job.context->plan;
    struct trend *trend = &role->trend;
    struct sutra_diff *diff;
    trend->role = analysis->role->name;
    trend->n_windows = analysis->job.n_windows;
    trend->default_window = analysis->role->default_window;
    trend->windows = arena_alloc(&trend->arena, trend->n_windows, sizeof *trend->windows);
    TRY_ALLOC(trend->windows, error);
    TRY(find_baseline(analysis, role->baseline ? role->baseline : "first", &trend->baseline, error));
    /* Several processes first write the results of all windows; then one process combines them. */
    if (plan && (plan->n_shards || plan->next)) {
        const enum sutra_status status = analyze_windows(analysis, role, false, error);
        if (plan->end)
            plan->end(plan->arg);
        TRY(status);
    }
    if (plan && !plan->combines)
        return SUTRA_OK;
    TRY(analyze_windows(analysis, role, true, error));
    TRY(trend_find_changes(trend, error));
    trend_select_windows(trend, WINDOWS_SHOWN);
    for (size_t i = trend->n_changes - MIN(trend->n_changes, CAUSES_MAX); i < trend->n_changes; i++) {
        struct trend_change *change = &trend->changes[i];
        TRY(compare_windows(analysis, change->before, change->window, &diff, error));
        const enum sutra_status status = trend_set_cause(trend, change, diff, error);
        sutra_diff_free(diff);
        TRY(status);
    }
    if (role->has_gate) {
        TRY(compare_windows(analysis, trend->baseline, trend->default_window, &diff, error));
        role->gate = diff_gate_decide(diff, role->fail_above);
        sutra_diff_free(diff);
    }
    return trend_write_sentences(trend, error);
}

/* ---- Cells of the table on the screen and in Markdown ---- */

enum cell { CELL_STEP = SUTRA_N_PARTS, CELL_SPREAD, CELL_CHANGE };

/* Columns between the label and the findings. */
static const struct {
    int cell; /* a part of the step, or enum cell */
    const char *name;
    unsigned width; /* on the screen, right-aligned */
} columns[] = {{CELL_STEP, "step", 9},
               {CELL_SPREAD, "spread", 8},
               {CELL_CHANGE, "change", 8},
               {SUTRA_PART_COMPUTE, "compute", 10},
               {SUTRA_PART_EXPOSED_COMM, "comm.", 7},
               {SUTRA_PART_HOST, "host", 6},
               {SUTRA_PART_DATA, "data", 6},
               {SUTRA_PART_SYNC, "sync", 6}, /* from here on where they matter, on the screen only */
               {SUTRA_PART_EXPOSED_COPY, "copy", 6},
               {SUTRA_PART_SETUP, "setup", 7},
               {SUTRA_PART_QUEUED, "queued", 8},
               {SUTRA_PART_AFTER, "after", 7},
               {SUTRA_PART_UNKNOWN, "unknown", 9}};
#define N_COLUMNS    (sizeof columns / sizeof *columns)
#define MAIN_COLUMNS 7

/* A time without fractions of microseconds: "8 us", "4.16 ms". */
static struct figure rounded_time(double us) {
    struct figure figure = brief_time_text(us * 1000);
    if (us < 999.5)
        snprintf(figure.text, sizeof figure.text, "%.0f us", us);
    return figure;
}

/* The text of a window in a column; "-": unknown. Changes end with `change_unit`, shares with `share_unit`. */
static struct figure cell_text(const struct trend *trend, size_t i, int cell, const char *change_unit,
                               const char *share_unit) {
    const struct trend_window *window = &trend->windows[i];
    struct figure figure = {"-"};
    if (cell == CELL_STEP && !isnan(window->step_us))
        figure = brief_time_text(window->step_us * 1000);
    else if (cell == CELL_SPREAD && window->n_steps >= 2)
        figure = rounded_time(window->spread_us);
    else if (cell == CELL_CHANGE && i != trend->baseline && !isnan(window->change_percent))
        snprintf(figure.text, sizeof figure.text, "%+.1f%s", window->change_percent, change_unit);
    else if (cell < SUTRA_N_PARTS && !isnan(window->shares[cell]))
        snprintf(figure.text, sizeof figure.text, "%.1f%s", window->shares[cell], share_unit);
    return figure;
}

/* ---- The screen ---- */

#define LABEL_COLUMNS    24
#define FINDING_COLUMNS  24 /* at least */
#define TREND_INDENT     9
#define EXTRA_PART_SHARE 5.0 /* percent: other parts have a column from this share on, if it fits */

static void print_table(const struct trend *trend) {
    unsigned label_width = (unsigned)strlen("label"), finding_width;
    bool has[N_COLUMNS] = {false};
    for (size_t i = 0; i < trend->n_windows; i++)
        if (trend->windows[i].is_shown)
            label_width = MAX(label_width, short_text(trend->windows[i].name, LABEL_COLUMNS).n_columns);
    unsigned used = (unsigned)strlen("  window  ") + label_width + 2;
    for (size_t k = 0; k < N_COLUMNS; k++) {
        for (size_t i = 0; i < trend->n_windows && k >= MAIN_COLUMNS; i++)
            has[k] |= trend->windows[i].shares[columns[k].cell] >= EXTRA_PART_SHARE;
        has[k] = k < MAIN_COLUMNS || (has[k] && used + columns[k].width + FINDING_COLUMNS <= screen_columns());
        used += has[k] ? columns[k].width : 0;
    }
    /* A terminal without room for a finding shows neither spread nor host. */
    const bool is_terminal = screen_shows("-");
    const unsigned n_min = is_terminal ? FINDING_COLUMNS / 2 : FINDING_COLUMNS;
    const bool is_narrow = is_terminal && used + n_min > screen_columns();
    for (size_t k = 0; k < N_COLUMNS && is_narrow; k++)
        if (columns[k].cell == CELL_SPREAD || columns[k].cell == SUTRA_PART_HOST) {
            has[k] = false;
            used -= columns[k].width;
        }
    finding_width = MAX(screen_columns(), used + n_min) - used;

    size_t n_hidden = 0;
    printf("  window  %-*s", (int)label_width, "label");
    for (size_t k = 0; k < N_COLUMNS; k++)
        if (has[k])
            printf("%*s", (int)columns[k].width, columns[k].name);
    puts("  findings");
    for (size_t i = 0; i < trend->n_windows; i++) {
        const struct trend_window *window = &trend->windows[i];
        const struct shortened name = short_path(window->name, label_width);
        if (!window->is_shown) {
            n_hidden++;
            continue;
        }
        if (n_hidden)
            printf("     ...  %s\n", counted_text(n_hidden, "more window", "more windows").text);
        n_hidden = 0;
        printf("%3s%5zu  ", window->differs ? "*" : "", i);
        shortened_print(&name, label_width);
        for (size_t k = 0; k < N_COLUMNS; k++)
            if (has[k])
                printf("%*s", (int)columns[k].width, cell_text(trend, i, columns[k].cell, "%", "").text);
        for (size_t k = 0, width = 0; k < window->findings.n; k++) {
            const char *rule = window->findings.list[k].rule;
            width += strlen(rule) + 2;
            if (k && width > finding_width) {
                printf(" +%zu", window->findings.n - k);
                break;
            }
            printf("%s%s", k ? ", " : "  ", rule);
        }
        putchar('\n');
    }
}

/* Compares the windows at the last shift, or else at the last spike. */
static void print_next(const struct analysis *analysis, const struct trend *trend) {
    const struct chosen_window *window = analysis->job.window;
    const struct trend_change *change = NULL;
    struct arena words = {0};
    if (!window->is_one_folder)
        return;
    for (size_t i = trend->n_changes; i-- > 0;)
        if (!change || (change->kind == TREND_SPIKE && trend->changes[i].kind == TREND_SHIFT))
            change = &trend->changes[i];
    const char *run = shell_word(&words, window->run);
    const char *role = window->role ? arena_format(&words, " --role %s", shell_word(&words, window->role)) : "";
    if (change)
        printf("Next:\n  sutra diff %s %s%s --window %zu --window-b %zu      compare before and after the change\n",
               run, run, role, change->before, change->window);
    else
        printf("Next:\n  sutra analyze %s%s      findings of the default window\n", run, role);
    arena_free(&words);
}

void role_trend_print(const struct analysis *analysis, const struct role_trend *role) {
    const struct trend *trend = &role->trend;
    const size_t date = strlen("2026-11-28 ");
    const char *first = trend->windows[0].start, *last = trend->windows[trend->n_windows - 1].start;
    uint64_t n_steps_min = UINT64_MAX, n_steps_max = 0;
    size_t n_ranks = 0;
    bool differs = false;
    for (size_t i = 0; i < trend->n_windows; i++) {
        n_ranks = MAX(trend->windows[i].n_ranks, n_ranks);
        n_steps_min = MIN(trend->windows[i].n_steps, n_steps_min);
        n_steps_max = MAX(trend->windows[i].n_steps, n_steps_max);
        differs |= trend->windows[i].differs;
    }
    /* "2 ranks in run   7 windows of 4 steps, 2026-11-28 04:24:30 to 04:30:30" */
    printf("%s in %s   %s%s", counted_text(n_ranks, "rank", "ranks").text,
           short_path(analysis->job.run.run.path, 40).text, counted_text(trend->n_windows, "window", "windows").text,
           n_steps_max ? " of " : " without steps");
    if (n_steps_min != n_steps_max)
        printf("%s to ", count_text(n_steps_min).text);
    if (n_steps_max)
        printf("%s", counted_text(n_steps_max, "step", "steps").text);
    if (*first && *last && trend->n_windows > 1)
        printf(", %s to %s", first, strncmp(first, last, date) == 0 ? last + date : last);
    puts("\n");
    for (size_t k = 0; k < trend->n_sentences; k++) {
        printf("%-*s", TREND_INDENT, k ? "" : "TREND");
        wrapped_print(trend->sentences[k], TREND_INDENT, TREND_INDENT);
    }
    putchar('\n');
    print_table(trend);
    if (trend->no_limit)
        printf("  %s", trend->no_limit);
    else
        printf("  noise %s: changes below %.1f %% are not reported", rounded_time(trend->noise_us).text,
               trend->limit_percent);
    if (differs)
        printf("; * differs from window %zu", trend->baseline);
    putchar('\n');
    print_next(analysis, trend);
}

/* ---- JSON ---- */

#define DIGITS 6

static void add_rules(struct json_out *json, const char *name, const struct trend_findings *findings) {
    json_add_open(json, name, '[');
    for (size_t i = 0; i < findings->n; i++)
        json_cstring(json, findings->list[i].rule);
    json_close(json, ']');
}

static void add_window(struct json_out *json, const struct trend *trend, size_t i) {
    const struct trend_window *window = &trend->windows[i];
    json_open_line(json);
    json_add_count(json, "window", i);
    json_add_text(json, "label", window->label);
    json_add_text(json, "start", *window->start ? window->start : NULL);
    json_add_count(json, "n_ranks", window->n_ranks);
    json_add_text(json, "missing", window->missing);
    json_add_count(json, "n_steps", window->n_steps);
    json_add_real(json, "step_us", DIGITS + 2, window->step_us);
    json_add_real(json, "spread_us", DIGITS, window->spread_us);
    json_add_shares(json, isnan(window->shares[0]) ? NULL : window->shares);
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
    json_add_real(json, "percent", DIGITS, change->percent);
    json_add_format(json, "confirmed", "%s", change->confirmed ? "true" : "false");
    json_add_text(json, "part", change->part);
    json_add_real(json, "part_us", DIGITS, change->part_us);
    json_add_text(json, "operator", change->operator);
    json_add_text(json, "kernel", change->kernel);
    json_add_text(json, "collective", change->collective);
    add_rules(json, "new_findings", &change->new_findings);
    add_rules(json, "gone_findings", &change->gone_findings);
    json_close_line(json);
}

enum sutra_status role_trend_print_json(const struct role_trend *role, struct sutra_error *error) {
    const struct trend *trend = &role->trend;
    struct text_out text = {.file = stdout};
    struct json_out json = {.text = &text, .indent = 2};
    char *verdict;
    size_t length;
    TRY(sutra_overview_json(*role->overview, &verdict, &length, error));
    json_open(&json, '{');
    json_add_text(&json, "role", trend->role);
    json_add_real(&json, "noise_us", DIGITS, trend->noise_us);
    json_add_open(&json, "windows", '[');
    for (size_t i = 0; i < trend->n_windows; i++)
        add_window(&json, trend, i);
    json_close_lines(&json, ']');
    json_add_open(&json, "changes", '[');
    for (size_t i = 0; i < trend->n_changes; i++)
        add_change(&json, &trend->changes[i]);
    json_close_lines(&json, ']');
    if (role->has_gate) {
        json_add_open(&json, "gate", '{');
        json_add_count(&json, "baseline", trend->baseline);
        json_add_count(&json, "window", trend->default_window);
        json_add_text(&json, "decision", diff_decision_names[role->gate.decision]);
        json_add_real(&json, "diff_percent", DIGITS, role->gate.growth_percent);
        json_add_real(&json, "noise_percent", DIGITS, role->gate.noise_percent);
        if (role->gate.n_steps_needed)
            json_add_count(&json, "steps_needed", role->gate.n_steps_needed);
        else
            json_add_text(&json, "steps_needed", NULL);
        json_close(&json, '}');
    }
    json_name(&json, "verdict");
    json_literal(&json, verdict, length - 1); /* without its line break */
    json_close(&json, '}');
    free(verdict);
    return json_end(&json) ? SUTRA_OK : error_memory(error);
}

/* ---- Markdown ---- */

void role_trend_print_markdown(const struct analysis *analysis, const struct role_trend *role) {
    const struct trend *trend = &role->trend;
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
    for (size_t i = 0; i < trend->n_windows; i++) {
        const struct trend_window *window = &trend->windows[i];
        if (!window->is_shown)
            continue;
        printf("| %s | %zu | ", window->differs ? "\\*" : "", i);
        markdown_print(MARKDOWN_CELL, window->name);
        for (size_t k = 0; k < MAIN_COLUMNS; k++)
            printf(" | %s", cell_text(trend, i, columns[k].cell, " %", " %").text);
        printf(" | ");
        for (size_t k = 0; k < window->findings.n; k++)
            printf("%s`%s`", k ? ", " : "", window->findings.list[k].rule);
        puts(" |");
    }
    putchar('\n');
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
    if (!status && !analysis->no_report)
        status = trend_page_write(analysis->job.context, &role->trend, &windows, analysis->job.run.run.path,
                                  analysis->results.path, &n_bytes, error);
    table_free(&windows);
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
    const struct diff_gate *gate = &role->gate;
    const char *name = analysis->job.window->role, *colon = name ? ": " : "", *cause = gate->cause;
    if (!role->has_gate || gate->decision == DIFF_PASS)
        return SUTRA_OK;
    name = name ? name : "";
    if (gate->decision == DIFF_REGRESSION)
        return message_fail(SUTRA_STRICT, "%s%sstep time: window %zu is %s above window %zu, limit %g %%%s%s%s", name,
                            colon, role->trend.default_window, change_text(gate->growth_percent).text,
                            role->trend.baseline, role->fail_above, *cause ? " (" : "", cause, *cause ? ")" : "");
    if (role->fail_on_unclear)
        return message_fail(SUTRA_STRICT, "%s%s%s", name, colon, gate->reason);
    message_warn("%s%s%s", name, colon, gate->reason);
    return SUTRA_OK;
}
