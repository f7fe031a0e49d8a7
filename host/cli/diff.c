/*
 * diff.c - `sutra diff`: compares two traces or jobs; reports the differences in time, and decides as a gate of
 * continuous integration whether the step time regressed.
 *
 *     A, B --sutra_diff_run--> tables --> page, markdown or JSON; decision --> exit code
 */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/table.h"
#include "base/error.h"
#include "base/shared.h"
#include "cli/analyze/analysis.h"
#include "cli/terminal.h"
#include "compare/trend.h"
#include "sutra/analyze.h"
#include "sutra/diff.h"
#include "sutra/report.h"
#include "text/names.h"
#include "text/quantities.h"
#include "write/json.h"

enum diff_compat { DIFF_COMPAT_NONE, DIFF_COMPAT_HTA };
enum diff_format { DIFF_TEXT, DIFF_JSON, DIFF_MARKDOWN };

struct diff_analysis {
    struct analysis analysis;
    int compat, format; /* enum diff_compat, enum diff_format */
    bool fail_on_unclear;
    const char *step_b, *fail_above;
    double fail_above_percent; /* NaN: no limit */
    struct option_list map;
    struct sutra_rename renames[LIST_MAX]; /* of map */
    struct run_inputs runs[2];
    const char *names[2];
    const char *window_b;
    size_t n_a;              /* inputs of the job that are traces of A */
    struct sutra_diff *diff; /* or with --compat: */
    struct sutra_hta_compare *hta;
};

/* The sides as named by the user, and the directory of the tables or NULL. */
struct diff_names {
    const char *sides[2], *folder;
};

/* ---- The page: the faster side, the difference, and the rows of each table with the largest differences ---- */

#define N_TOP      6
#define NAME_WIDTH 42
#define PATH_WIDTH 54

/* ---- Numbers ---- */

/* A difference with its sign. */
static struct figure signed_time(double us) {
    struct figure figure, time = time_text(fabs(us));
    snprintf(figure.text, sizeof figure.text, "%c%.*s", us < 0 ? '-' : '+', (int)sizeof figure.text - 2, time.text);
    return figure;
}

/* "48 calls", "48 -> 50.5 calls": per step. */
static struct figure calls_text(double a, double b) {
    struct figure figure;
    if (a == b)
        snprintf(figure.text, sizeof figure.text, "%.4g call%s", b, b == 1 ? "" : "s");
    else
        snprintf(figure.text, sizeof figure.text, "%.4g -> %.4g calls", a, b);
    return figure;
}

/* ---- The head ---- */

static void print_verdict(const struct sutra_diff *diff, const struct sutra_diff_summary *summary,
                          const struct diff_gate *gate) {
    const struct sutra_table *steps = sutra_result_table(SUTRA_RESULT(diff), SUTRA_DIFF_STEPS, NULL);
    const char *clear = text_named(steps, "clear", 0);
    puts(summary->sentence);
    if (gate->growth_us == 0)
        return;
    const uint64_t cause = diff_cause(diff, gate->growth_us);
    if (cause)
        printf("Largest part: %s (%s)\n", signed_time(real_named(steps, "diff_us", cause)).text,
               text_named(steps, "part", cause));
    if (strcmp(clear, "no") == 0)
        printf("The difference is unclear: the step time noise is %.1f %%\n", gate->noise_percent);
    else if (strcmp(clear, "unknown") == 0)
        printf("Step time noise is unknown: one side has only one step.\n");
}

static void print_steps(const struct sutra_diff *diff, bool has_steps) {
    const struct sutra_table *table = sutra_result_table(SUTRA_RESULT(diff), SUTRA_DIFF_STEPS, NULL);
    printf("\n  %-22s %11s %11s %12s\n", has_steps ? "mean step" : "full trace", "A", "B", "B - A");
    for (uint64_t row = 0; row < sutra_table_rows(table); row++) {
        const char *clear = text_named(table, "clear", row);
        double difference = real_named(table, "diff_us", row);
        if (real_named(table, "a_us", row) == 0 && real_named(table, "b_us", row) == 0)
            continue;
        printf("  %-22s %11s ", text_named(table, "part", row), time_text(real_named(table, "a_us", row)).text);
        printf("%11s ", time_text(real_named(table, "b_us", row)).text);
        printf("%12s %9s", difference == 0 ? "0" : signed_time(difference).text,
               change_text(real_named(table, "diff_percent", row)).text);
        printf("%s\n", strcmp(clear, "no") == 0 && difference != 0 ? " unclear" : "");
    }
}

/* ---- Tables ---- */

/* Prints the change of the calls of a row. */
static void print_change(const struct sutra_table *table, uint64_t row) {
    const char *change = text_named(table, "change", row);
    double a = real_named(table, "calls_a", row), b = real_named(table, "calls_b", row);
    if (strcmp(change, "new") == 0)
        printf("new, %s", calls_text(b, b).text);
    else if (strcmp(change, "gone") == 0)
        printf("gone, %s", calls_text(a, a).text);
    else
        printf("%s", calls_text(a, b).text);
}

/* The number of rows that differ, which precede the others. */
static uint64_t rows_that_differ(const struct sutra_table *table) {
    uint32_t difference = table_column(table, "device_diff_us");
    uint64_t n = 0;
    while (n < sutra_table_rows(table) && table_get_real(table, difference, n) != 0)
        n++;
    return n;
}

static void print_rest(uint64_t n) {
    if (n > N_TOP)
        printf("  %s more rows in the table\n", count_text(n - N_TOP).text);
}

static void print_named(const struct sutra_table *table, const char *title) {
    const char *names[N_TOP];
    struct shortened shorts[N_TOP];
    uint64_t n = rows_that_differ(table), n_shown = MIN(n, N_TOP);
    if (!n)
        return;
    printf("\n%s\n", title);
    for (uint64_t row = 0; row < n_shown; row++)
        names[row] = text_named(table, "name", row);
    short_names(names, n_shown, NAME_WIDTH, shorts);
    for (uint64_t row = 0; row < n_shown; row++) {
        printf("  %11s ", signed_time(real_named(table, "device_diff_us", row)).text);
        printf("%9s  %s%*s ", change_text(real_named(table, "diff_percent", row)).text, shorts[row].text,
               (int)(NAME_WIDTH - shorts[row].n_columns), "");
        print_change(table, row);
        putchar('\n');
    }
    print_rest(n);
}

/* Prints waits and bus bandwidth, if both sides record them. */
static void print_waits_and_bandwidth(const struct sutra_table *table, uint64_t row) {
    double wait_a = real_named(table, "wait_a_us", row), wait_b = real_named(table, "wait_b_us", row);
    double bus_a = real_named(table, "bus_a_gbps", row), bus_b = real_named(table, "bus_b_gbps", row);
    bool waits = !isnan(wait_a) && !isnan(wait_b), moves = !isnan(bus_a) && !isnan(bus_b);
    if (!waits && !moves)
        return;
    printf("%26s", "");
    if (waits)
        printf("wait %s -> %s%s", time_text(wait_a).text, time_text(wait_b).text, moves ? ", " : "");
    if (moves)
        printf("%.4g -> %.4g GB/s", bus_a, bus_b);
    putchar('\n');
}

static void print_collectives(const struct sutra_table *table) {
    uint64_t n = rows_that_differ(table);
    if (n)
        printf("\ncollectives\n");
    for (uint64_t row = 0; row < n && row < N_TOP; row++) {
        printf("  %11s ", signed_time(real_named(table, "device_diff_us", row)).text);
        printf("%9s  %-20s", change_text(real_named(table, "diff_percent", row)).text,
               short_text(text_named(table, "collective", row), 20).text);
        char elements[64] = "";
        if (!isnan(real_named(table, "elements", row)))
            snprintf(elements, sizeof elements, "%.0f %.12s", real_named(table, "elements", row),
                     text_named(table, "type", row));
        printf(" %-21s ", elements);
        print_change(table, row);
        putchar('\n');
        print_waits_and_bandwidth(table, row);
    }
    print_rest(n);
}

static void print_paths(const struct sutra_table *table) {
    uint64_t n = rows_that_differ(table);
    if (!n)
        return;
    printf("\ncall paths\n");
    for (uint64_t row = 0; row < n && row < N_TOP; row++) {
        const char *a = text_named(table, "path_a", row), *b = text_named(table, "path_b", row);
        const char *kernels_a = text_named(table, "kernels_a", row), *kernels_b = text_named(table, "kernels_b", row);
        printf("  %11s ", signed_time(real_named(table, "device_diff_us", row)).text);
        printf("%9s  ", change_text(real_named(table, "diff_percent", row)).text);
        printf("%s\n", short_path(*a ? a : b, PATH_WIDTH).text);
        if (*a && *b && strcmp(a, b) != 0)
            printf("%25s-> %s\n", "", short_path(b, PATH_WIDTH).text);
        printf("%25s", "");
        print_change(table, row);
        printf(": %s", short_text(*a ? kernels_a : kernels_b, 36).text);
        if (*a && *b && strcmp(kernels_a, kernels_b) != 0)
            printf("\n%25s-> %s", "", short_text(kernels_b, 50).text);
        putchar('\n');
    }
    print_rest(n);
}

static void print_page(const struct sutra_diff *diff, const struct diff_names *names, const struct diff_gate *gate) {
    struct sutra_diff_summary summary = {.size = sizeof summary};
    sutra_diff_summary(diff, &summary);
    for (int side = 0; side < 2; side++) {
        printf("%c  %-44s  ", side ? 'B' : 'A', short_path(names->sides[side], 44).text);
        if (summary.n_ranks[side] > 1)
            printf("%s, ", counted_text(summary.n_ranks[side], "rank", "ranks").text);
        if (summary.has_steps[side])
            printf("%s\n", counted_text(summary.n_steps[side], "step", "steps").text);
        else
            printf("no steps: counts as one step\n");
    }
    putchar('\n');
    print_verdict(diff, &summary, gate);
    if (!summary.reliable[0] || !summary.reliable[1])
        wrapped_print(gate->reason, 0, 0);
    if (summary.outside_us[0] > 0 || summary.outside_us[1] > 0)
        printf("GPU activity before the first step is skipped: %s of A, %s of B\n",
               time_text(summary.outside_us[0]).text, time_text(summary.outside_us[1]).text);
    print_steps(diff, summary.has_steps[0] || summary.has_steps[1]);
    print_paths(sutra_result_table(SUTRA_RESULT(diff), SUTRA_DIFF_PATHS, NULL));
    print_named(sutra_result_table(SUTRA_RESULT(diff), SUTRA_DIFF_OPERATORS, NULL), "operators");
    print_named(sutra_result_table(SUTRA_RESULT(diff), SUTRA_DIFF_KERNELS, NULL), "kernels");
    print_collectives(sutra_result_table(SUTRA_RESULT(diff), SUTRA_DIFF_COLLECTIVES, NULL));
    printf("\nnext:\n");
    if (names->folder)
        printf("  tables: %s\n", short_path(names->folder, 58).text);
    else
        printf("  sutra diff A B -o results   all tables\n");
}

/* ---- Markdown ---- */

static void print_markdown_steps(const struct sutra_table *table, bool has_steps) {
    printf("\n| %s | A | B | B - A | change |\n|---|--:|--:|--:|--:|\n", has_steps ? "mean step" : "full trace");
    for (uint64_t row = 0; row < sutra_table_rows(table); row++) {
        double a = real_named(table, "a_us", row), b = real_named(table, "b_us", row), difference = b - a;
        if (a == 0 && b == 0)
            continue;
        printf("| %s | %s ", text_named(table, "part", row), time_text(a).text);
        printf("| %s | %s ", time_text(b).text, difference == 0 ? "0" : signed_time(difference).text);
        printf("| %s%s |\n", change_text(real_named(table, "diff_percent", row)).text,
               strcmp(text_named(table, "clear", row), "no") == 0 && difference != 0 ? " (unclear)" : "");
    }
}

static void print_markdown_kernels(const struct sutra_table *table) {
    const char *names[N_TOP];
    struct shortened shorts[N_TOP];
    uint64_t n = rows_that_differ(table), n_shown = MIN(n, N_TOP);
    if (!n)
        return;
    printf("\n| kernel, per step | B - A | change | calls |\n|---|--:|--:|---|\n");
    for (uint64_t row = 0; row < n_shown; row++)
        names[row] = text_named(table, "name", row);
    short_names(names, n_shown, NAME_WIDTH, shorts);
    for (uint64_t row = 0; row < n_shown; row++) {
        printf("| ");
        markdown_print(MARKDOWN_CELL_CODE, shorts[row].text);
        printf(" | %s ", signed_time(real_named(table, "device_diff_us", row)).text);
        printf("| %s | ", change_text(real_named(table, "diff_percent", row)).text);
        print_change(table, row);
        printf(" |\n");
    }
    if (n > N_TOP)
        printf("\n%s more kernels differ\n", count_text(n - N_TOP).text);
}

/* The step time and the kernels that changed most, for a comment on a pull request. */
static void print_markdown(const struct sutra_diff *diff, const struct diff_names *names,
                           const struct diff_gate *gate) {
    struct sutra_diff_summary summary = {.size = sizeof summary};
    sutra_diff_summary(diff, &summary);
    printf("**%s**\n", summary.sentence);
    if (gate->decision == DIFF_UNCLEAR)
        printf("\n%s\n", gate->reason);
    putchar('\n');
    for (int side = 0; side < 2; side++) {
        printf("%s ", side ? ", B:" : "A:");
        markdown_print(MARKDOWN_PATH, names->sides[side]);
        printf(" (%s)", counted_text(summary.n_steps[side], "step", "steps").text);
    }
    putchar('\n');
    print_markdown_steps(sutra_result_table(SUTRA_RESULT(diff), SUTRA_DIFF_STEPS, NULL),
                         summary.has_steps[0] || summary.has_steps[1]);
    print_markdown_kernels(sutra_result_table(SUTRA_RESULT(diff), SUTRA_DIFF_KERNELS, NULL));
}

/* ---- JSON ---- */

/* A member; NaN and infinity are null. */
static void add_real(struct json_out *json, const char *name, double value) {
    json_key(json, name, strlen(name));
    if (isfinite(value))
        json_double(json, value);
    else
        json_cstring(json, NULL);
}

/* Prints both sides, the decision of the gate, and all tables with the rows of their JSON files. SUTRA_IO: standard
 * output cannot be written. */
static enum sutra_status print_json(struct sutra_context *context, const struct sutra_diff *diff,
                                    const struct diff_names *names, const struct diff_gate *gate,
                                    struct sutra_error *error) {
    struct sutra_diff_summary summary = {.size = sizeof summary};
    struct text_out text = {.file = stdout};
    struct json_out json = {.text = &text, .indent = JSON_ONE_LINE};
    enum sutra_status status = SUTRA_OK;
    sutra_diff_summary(diff, &summary);
    json_open(&json, '{');
    for (int side = 0; side < 2; side++) {
        json_add_open(&json, side ? "b" : "a", '{');
        json_add_text(&json, "path", names->sides[side]);
        json_add_count(&json, "n_ranks", summary.n_ranks[side]);
        json_add_count(&json, "n_steps", summary.n_steps[side]);
        json_add_format(&json, "has_steps", "%s", summary.has_steps[side] ? "true" : "false");
        add_real(&json, "step_us", summary.step_us[side]);
        json_add_format(&json, "reliable", "%s", summary.reliable[side] ? "true" : "false");
        json_close(&json, '}');
        json_break(&json, 0);
    }
    struct sutra_trace_defect defect = {.size = sizeof defect};
    json_add_open(&json, "validity", '[');
    for (uint32_t i = 0; sutra_result_defect(SUTRA_RESULT(diff), i, &defect); i++)
        json_add_defect(&json, &defect);
    json_close(&json, ']');
    json_break(&json, 0);
    json_add_open(&json, "step", '{');
    json_add_text(&json, "decision", diff_decision_names[gate->decision]);
    add_real(&json, "diff_us", gate->growth_us);
    add_real(&json, "diff_percent", gate->growth_percent);
    add_real(&json, "noise_us", gate->noise_us);
    add_real(&json, "noise_percent", gate->noise_percent);
    if (gate->n_steps_needed)
        json_add_count(&json, "steps_needed", gate->n_steps_needed);
    else
        json_add_text(&json, "steps_needed", NULL);
    json_close(&json, '}');
    for (int id = 0; id < SUTRA_DIFF_N_TABLES && !status; id++) {
        const struct sutra_table *table = sutra_result_table(SUTRA_RESULT(diff), (uint32_t)id, NULL);
        if (!table)
            continue;
        json_break(&json, 0);
        json_key(&json, sutra_table_name(table), strlen(sutra_table_name(table)));
        out_flush(&text);
        fflush(stdout); /* the table is written below the stream */
        status = sutra_table_write(context, table, SUTRA_TABLE_JSON, "-", NULL, error);
        json.after_key = false;
    }
    json_close(&json, '}');
    return json_end(&json) || status ? status : error_memory(error);
}

/* ---- The analysis ---- */

static int check(struct analysis *analysis) {
    struct diff_analysis *self = (struct diff_analysis *)analysis;
    if (self->compat && !analysis->job.output)
        return message_fail(SUTRA_USAGE, "--compat needs --output: it only writes tables");
    if (self->compat && (self->fail_above || self->fail_on_unclear || self->format))
        return message_fail(SUTRA_USAGE, "--compat excludes --fail-above, --fail-on-unclear and --format");
    for (size_t i = 0; i < self->map.n; i++) { /* "OLD=NEW", split in place */
        char *equals = strchr(self->map.texts[i], '=');
        if (!equals || equals == self->map.texts[i] || !equals[1])
            return message_fail(SUTRA_USAGE, "--map '%s': expected OLD=NEW", self->map.texts[i]);
        *equals = '\0';
        self->renames[i] = (struct sutra_rename){self->map.texts[i], equals + 1};
    }
    self->fail_above_percent = (double)NAN;
    if (self->fail_above)
        TRY_CODE(fail_above_parse(self->fail_above, &self->fail_above_percent));
    return SUTRA_OK;
}

/* Lists the traces of both sides. A side may be a run: then its name contains the window. */
static int list_traces(struct analysis *analysis) {
    struct diff_analysis *self = (struct diff_analysis *)analysis;
    struct job *job = &analysis->job;
    for (unsigned side = 0; side < 2; side++) {
        struct operands traces = {.words = &job->operands.words[side], .n = 1};
        struct run_selection selection = job->selection;
        struct run_inputs *run = &self->runs[side];
        if (side == 1 && self->window_b)
            selection.window = self->window_b;
        self->names[side] = traces.words[0];
        if (operands_are_run(&traces))
            TRY_CODE(run_inputs_open(job, &traces, &selection, run));
        if (!run_inputs_are_plain(run)) {
            struct chosen_window *window = &run->windows[0];
            traces = (struct operands){.words = (char **)window->paths, .n = (unsigned)window->n};
            window->other = job->window;
            job->window = window;
            self->names[side] = window->name;
        }
        self->n_a = job->traces.n;
        TRY_CODE(trace_list_add(&job->traces, &traces, NAMES_JSON));
    }
    job->inputs = (const char *const *)job->traces.paths;
    job->n_inputs = job->traces.n;
    return SUTRA_OK;
}

/* Writes HTA's tables and lists of names. */
static enum sutra_status compare_as_hta(struct diff_analysis *self, struct sutra_error *error) {
    static const struct {
        enum sutra_hta_compare_table table;
        const char *name;
    } lists[] = {{SUTRA_HTA_COMPARE_ALL, "hta_ops_diff_all"},
                 {SUTRA_HTA_COMPARE_CPU, "hta_ops_diff_cpu"},
                 {SUTRA_HTA_COMPARE_GPU, "hta_ops_diff_gpu"}};
    struct job *job = &self->analysis.job;
    const struct sutra_restriction *part = &self->analysis.restriction;
    const struct sutra_hta_compare_options options = {
        .size = sizeof options,
        .ranks = part->ranks,
        .n_ranks = part->n_ranks,
        .step = {part->step, self->step_b ? self->step_b : part->step},
    };
    if (self->map.n || part->from_us > 0 || part->to_us > 0 || part->name || part->stream || part->category)
        return error_set(error, SUTRA_USAGE,
                         "HTA tables compare all events of a step: select only with --rank and --step");
    TRY(sutra_hta_compare_run(job->context, job->inputs, self->n_a, job->inputs + self->n_a, job->n_inputs - self->n_a,
                              &options, &self->hta, error));
    TRY(analysis_write_tables(&self->analysis, SUTRA_RESULT(self->hta), RANK_ALL, error));
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        struct result_path path;
        uint64_t n_bytes = 0;
        TRY(result_file_path(&self->analysis, lists[i].name, RANK_ALL, "json", &path, error));
        TRY(sutra_hta_compare_write_changes(job->context, self->hta, lists[i].table, path.text, &n_bytes, error));
        job->figures.output_bytes += n_bytes;
    }
    return SUTRA_OK;
}

static enum sutra_status work(struct analysis *analysis, struct sutra_error *error) {
    struct diff_analysis *self = (struct diff_analysis *)analysis;
    struct job *job = &analysis->job;
    const struct sutra_restriction *part = &analysis->restriction;
    const struct sutra_diff_options options = {.size = sizeof options,
                                               .renames = self->renames,
                                               .n_renames = self->map.n,
                                               .ranks = part->ranks,
                                               .n_ranks = part->n_ranks,
                                               .step = {part->step, self->step_b ? self->step_b : part->step},
                                               .from_us = part->from_us,
                                               .to_us = part->to_us,
                                               .name = part->name,
                                               .stream = part->stream,
                                               .category = part->category};
    uint64_t n_bytes = 0;
    if (self->compat == DIFF_COMPAT_HTA)
        return compare_as_hta(self, error);
    TRY(sutra_diff_run(job->context, job->inputs, self->n_a, job->inputs + self->n_a, job->n_inputs - self->n_a,
                       &options, &self->diff, error));
    if (job->output)
        TRY(analysis_write_tables(analysis, SUTRA_RESULT(self->diff), RANK_ALL, error));
    if (job->output && !analysis->no_report)
        TRY(sutra_report_write_diff(job->context, self->diff, self->names[0], self->names[1], analysis->results.path,
                                    &n_bytes, error));
    job->figures.output_bytes += n_bytes;
    return SUTRA_OK;
}

/* The exit code of the gate; reports why it is not SUTRA_OK, or why there is no decision. */
static int report_gate(const struct diff_analysis *self, const struct sutra_diff_summary *summary,
                       const struct diff_gate *gate) {
    if (gate->decision == DIFF_REGRESSION)
        return message_fail(SUTRA_STRICT, "%s %s (%.1f %%) longer than A: more than %g %%",
                            summary->has_steps[1] ? "a step of B takes" : "B takes", time_text(gate->growth_us).text,
                            gate->growth_percent, self->fail_above_percent);
    if (gate->decision == DIFF_UNCLEAR && self->fail_on_unclear)
        return message_fail(SUTRA_STRICT, "%s", gate->reason);
    if (gate->decision == DIFF_UNCLEAR && self->fail_above)
        message_warn("%s", gate->reason);
    return SUTRA_OK;
}

static int report(struct analysis *analysis) {
    const struct diff_analysis *self = (const struct diff_analysis *)analysis;
    const struct job *job = &analysis->job;
    const struct diff_names names = {{self->names[0], self->names[1]}, job->output};
    struct sutra_diff_summary summary = {.size = sizeof summary};
    struct diff_gate gate = {0};
    struct sutra_error error;
    if (self->diff) {
        sutra_diff_summary(self->diff, &summary);
        gate = diff_gate_decide(self->diff, self->fail_above_percent);
        if (self->format == DIFF_MARKDOWN)
            print_markdown(self->diff, &names, &gate);
        else if (self->format == DIFF_TEXT && !job->quiet)
            print_page(self->diff, &names, &gate);
        else if (self->format == DIFF_JSON && print_json(job->context, self->diff, &names, &gate, &error))
            return message_error(&error);
    }
    const struct named_count counts[] = {{"n_ranks_a", summary.n_ranks[0]},
                                         {"n_ranks_b", summary.n_ranks[1]},
                                         {"n_steps_a", summary.n_steps[0]},
                                         {"n_steps_b", summary.n_steps[1]}};
    TRY_CODE(analysis_close(analysis, counts, COUNT_OF(counts), NULL, 0));
    return self->diff ? report_gate(self, &summary, &gate) : SUTRA_OK;
}

static void release(struct job *job) {
    struct diff_analysis *self = (struct diff_analysis *)job;
    sutra_diff_free(self->diff);
    sutra_hta_compare_free(self->hta);
    run_free(&self->runs[0].run);
    run_free(&self->runs[1].run);
}

/* ---- The command ---- */

static const struct analysis_kind kind = {
    .page = PAGE_FIRST, .list = list_traces, .check = check, .work = work, .report = report};
static const struct diff_analysis defaults = {
    .analysis = {.kind = &kind, .job.stages = analysis_stages, .repeats_inputs = true}};

static const char *const compats[] = {"none", "hta", NULL};              /* in the order of enum diff_compat */
static const char *const formats[] = {"text", "json", "markdown", NULL}; /* in the order of enum diff_format */

static const struct option_row options[] = {
    ANALYSIS_ROW_OUTPUT(PAGE_FIRST),
    {"format", 'f', OPTION_CHOICE, "FORMAT", AT(diff_analysis, format), .choices = formats,
     .help = "print text, json with the rows of all tables, or a markdown table for a pull request comment (default: "
             "text)"},
    ANALYSIS_ROW_TABLE_FORMAT,
    {"fail-above", 0, OPTION_TEXT, "PERCENT", AT(diff_analysis, fail_above),
     .help =
         "exit with 1 if B's step time exceeds A's by more than PERCENT, beyond noise; warn if the step time is too "
         "noisy to decide"},
    {"fail-on-unclear", 0, OPTION_FLAG, AT(diff_analysis, fail_on_unclear),
     .help = "exit with 1 if the step time is too noisy to decide, and print how many steps to record"},
    {"map", 0, OPTION_LIST, "OLD=NEW", AT(diff_analysis, map),
     .help = "compare operator or kernel OLD of A with NEW of B; may be repeated"},
    {"compat", 0, OPTION_CHOICE, "TOOL", AT(diff_analysis, compat), .choices = compats,
     .help =
         "hta: write the TraceDiff tables of Holistic Trace Analysis, for the first step of the first rank of each side "
         "(default: none)"},
    ANALYSIS_ROWS_PART,
    {"window-b", 0, OPTION_TEXT, "WINDOW", AT(diff_analysis, window_b),
     .help = "of the run B, read this window (default: the window of --window, else the default window)"},
    {"step-b", 0, OPTION_TEXT, "N", AT(diff_analysis, step_b),
     .help = "compare step N of B (default: the step of --step)"},
    ANALYSIS_ROWS_WHERE,
    ANALYSIS_ROWS_HOW,
    {0},
};

static const char *const synopses[] = {"A B [-o DIR] [OPTIONS]", NULL};
static const char *const description[] = {
    "Reports steps, operators, kernels, collectives and call paths that became slower or faster from A to B. A and B "
    "are device traces, or directories with the device traces of a job.",
    "All times are means per step, over all profiler steps and ranks. A trace without steps counts as one step. GPU "
    "activity belongs to the step that launched it. A difference is unclear if it is less than twice its standard "
    "error over the steps of both sides.",
    "Of the directory of a run, the last of the windows with most ranks is compared, or the windows of --window and "
    "--window-b; RUN RUN compares two windows of one run.",
    "Call paths are aligned by equal subpaths, then by names, regardless of wrapping calls. Each row lists the kernels "
    "of A and B at a call path. The rows of each table add up to the total difference.",
    NULL,
};
static const struct example examples[] = {
    {"sutra diff before.json.gz after.json.gz", "print the effect of a change"},
    {"sutra diff before/ after/ -o results", "compare two jobs: write all tables and a report"},
    {"sutra diff run run --window 3 --window-b 7", "compare two profiling windows of one run"},
    {"sutra diff main.json.gz branch.json.gz --fail-above 5% -q", "fail a CI job on a regression"},
    {"sutra diff main.json.gz branch.json.gz --fail-above 5% --fail-on-unclear -q",
     "also fail if the measurement is too noisy"},
    {"sutra diff main.json.gz branch.json.gz --format markdown", "print a comment for a pull request"},
    {"sutra diff h100.json.gz mi300.json.gz --map aten::_flash=aten::_efficient", "map an operator to its other name"},
    {"sutra diff a.json.gz b.json.gz --compat hta -o tables", "write compare_traces and ops_diff of HTA"},
    {0},
};

const struct command diff_command = {
    .name = "diff",
    .called = "sutra diff",
    .writes = "",
    .summary = "compare two traces or jobs: find what became slower or faster",
    COMMAND_TEXTS,
    .n_operands_min = 2,
    .n_operands_max = 2,
    .missing = "expected two traces or two directories of traces",
    .size = sizeof(struct diff_analysis),
    .defaults = &defaults,
    .check = analysis_check,
    .work = analysis_run,
    .release = release,
};
