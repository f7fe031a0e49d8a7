/*
 * diff.c - `sutra diff`: compares two traces or jobs; reports the differences in time.
 */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/analyze/analysis_job.h"
#include "cli/analyze/operators_job.h"
#include "cli/analyze/table_files.h"
#include "cli/diff_page.h"
#include "cli/tool/figures.h"
#include "sutra/report.h"

enum diff_compat { DIFF_COMPAT_NONE, DIFF_COMPAT_HTA };
enum diff_format { DIFF_TEXT, DIFF_JSON, DIFF_MARKDOWN };

struct diff_values {
    struct analysis_values analysis;
    int compat, format;
    bool fail_on_unclear;
    const char *step_b, *fail_above;
    struct word_list map;
};

/* What lives while sides are compared. */
struct diff_job {
    const struct diff_values *values;
    struct job analysis;
    struct trace_list sides[2], all;
    char *const *names; /* of the sides, as they were given */
    struct sutra_diff *diff;
    struct result_folder results;
    struct analysis_part part;
    struct sutra_rename renames[WORDS_MAX];
    double fail_above; /* percent; NaN: it never fails */
};

/* ---- Values ---- */

/* "OLD=NEW", cut in two in place. */
static int take_renames(struct diff_job *job) {
    const struct word_list *words = &job->values->map;
    for (size_t i = 0; i < words->n; i++) {
        char *equals = strchr(words->words[i], '=');
        if (!equals || equals == words->words[i] || !equals[1])
            return message_fail(SUTRA_USAGE, "--map '%s': expected OLD=NEW", words->words[i]);
        *equals = '\0';
        job->renames[i] = (struct sutra_rename){words->words[i], equals + 1};
    }
    return SUTRA_OK;
}

/* "5%" or "5". */
static int take_limit(struct diff_job *job) {
    const char *text = job->values->fail_above;
    char *end;
    job->fail_above = (double)NAN;
    if (!text)
        return SUTRA_OK;
    job->fail_above = strtod(text, &end);
    end += *end == '%';
    if (end == text || *end || !(job->fail_above >= 0) || isinf(job->fail_above))
        return message_fail(SUTRA_USAGE, "--fail-above '%s': expected a percentage such as 5%%", text);
    return SUTRA_OK;
}

static int take_values(struct diff_job *job) {
    if (analysis_part_take(&job->values->analysis.wanted, &job->part))
        return SUTRA_USAGE;
    if (job->values->compat && !job->values->analysis.job.output)
        return message_fail(SUTRA_USAGE, "--compat needs --output: it only writes tables");
    if (job->values->compat && (job->values->fail_above || job->values->fail_on_unclear || job->values->format))
        return message_fail(SUTRA_USAGE, "--compat excludes --fail-above, --fail-on-unclear and --format");
    int exit_code = take_renames(job);
    return exit_code == SUTRA_OK ? take_limit(job) : exit_code;
}

/* ---- Work ---- */

static enum sutra_status write_tables(struct diff_job *job, struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    for (int id = 0; id < SUTRA_DIFF_N_TABLES && !status; id++) {
        const struct sutra_table *table = sutra_diff_table(job->diff, (enum sutra_diff_table)id);
        if (table)
            status = table_file_write(&job->analysis, job->results.path, table, RANK_ALL,
                                      (enum sutra_table_format)job->values->analysis.tables, error);
    }
    return status;
}

/* HTA's lists of names. */
static enum sutra_status write_changes(struct diff_job *job, struct sutra_error *error) {
    static const struct {
        enum sutra_diff_table table;
        const char *name;
    } lists[] = {{SUTRA_HTA_COMPARE_ALL, "hta_ops_diff_all"},
                 {SUTRA_HTA_COMPARE_CPU, "hta_ops_diff_cpu"},
                 {SUTRA_HTA_COMPARE_GPU, "hta_ops_diff_gpu"}};
    enum sutra_status status = SUTRA_OK;
    for (size_t i = 0; i < sizeof lists / sizeof *lists && !status; i++) {
        struct result_path path;
        uint64_t n_bytes = 0;
        status = result_place(job->results.path, lists[i].name, RANK_ALL, "json", &path, error);
        if (!status)
            status =
                sutra_diff_write_changes(job->analysis.context, job->diff, lists[i].table, path.text, &n_bytes, error);
        job->analysis.figures.output_bytes += n_bytes;
    }
    return status;
}

static enum sutra_status write_report(struct diff_job *job, struct sutra_error *error) {
    uint64_t n_bytes = 0;
    enum sutra_status status = sutra_report_write_diff(job->analysis.context, job->diff, job->names[0], job->names[1],
                                                       job->results.path, &n_bytes, error);
    job->analysis.figures.output_bytes += n_bytes;
    return status;
}

static enum sutra_status job_run(void *arg, struct sutra_error *error) {
    struct diff_job *job = arg;
    const struct diff_values *values = job->values;
    const struct sutra_restriction *part = &job->part.restriction;
    const struct sutra_diff_options options = {.size = sizeof options,
                                               .compat = values->compat == DIFF_COMPAT_HTA,
                                               .renames = job->renames,
                                               .n_renames = values->map.n,
                                               .ranks = part->ranks,
                                               .n_ranks = part->n_ranks,
                                               .step = {part->step, values->step_b ? values->step_b : part->step},
                                               .from_us = part->from_us,
                                               .to_us = part->to_us,
                                               .name = part->name,
                                               .stream = part->stream,
                                               .category = part->category};
    enum sutra_status status = job_open(&job->analysis, NULL, error);
    if (!status)
        status = sutra_diff_run(job->analysis.context, (const char *const *)job->sides[0].paths, job->sides[0].n,
                                (const char *const *)job->sides[1].paths, job->sides[1].n, &options, &job->diff, error);
    if (!status && values->analysis.job.output)
        status = write_tables(job, error);
    if (!status && values->compat == DIFF_COMPAT_HTA)
        status = write_changes(job, error);
    else if (!status && values->analysis.job.output && !values->analysis.no_report)
        status = write_report(job, error);
    progress_clear(&job->analysis.watch.progress);
    return status;
}

static void print_stats(FILE *file, const void *result) {
    const struct diff_job *job = result;
    struct sutra_diff_summary summary = {.size = sizeof summary};
    sutra_diff_summary(job->diff, &summary);
    const struct named_count counts[] = {{"n_ranks_a", summary.n_ranks[0]},
                                         {"n_ranks_b", summary.n_ranks[1]},
                                         {"n_steps_a", summary.n_steps[0]},
                                         {"n_steps_b", summary.n_steps[1]}};
    run_counts_print_json(file, counts, sizeof counts / sizeof *counts, NULL, 0);
    run_figures_print_json(file, &job->analysis.figures);
}

/* The exit code of the gate, after a line that says why it is not SUTRA_OK or why there is no decision. */
static int report_gate(const struct diff_job *job, const struct diff_gate *gate) {
    struct sutra_diff_summary summary = {.size = sizeof summary};
    sutra_diff_summary(job->diff, &summary);
    if (gate->decision == DIFF_REGRESSION)
        return message_fail(SUTRA_STRICT, "%s %s (%.1f %%) longer than A: more than %g %%",
                            summary.has_steps[1] ? "a step of B takes" : "B takes", time_text(gate->growth_us).text,
                            gate->growth_percent, job->fail_above);
    if (gate->decision == DIFF_UNCLEAR && job->values->fail_on_unclear)
        return message_fail(SUTRA_STRICT, "%s", diff_gate_reason(job->diff, gate).text);
    if (gate->decision == DIFF_UNCLEAR && job->values->fail_above)
        message_warn("%s", diff_gate_reason(job->diff, gate).text);
    return SUTRA_OK;
}

static int job_tell(struct diff_job *job) {
    const struct diff_values *values = job->values;
    const struct diff_page_names names = {{job->names[0], job->names[1]}, values->analysis.job.output};
    struct sutra_error error;
    job_measure(&job->analysis, job->all.streams ? 0 : job->all.n_bytes,
                trace_list_largest(&job->all, where_threads(&values->analysis.job.where)));
    if (values->compat)
        return analysis_job_close(&job->analysis, PAGE_FIRST, print_stats, job);
    const struct diff_gate gate = diff_gate_decide(job->diff, job->fail_above);
    if (values->format == DIFF_MARKDOWN)
        diff_markdown_print(job->diff, &names, &gate);
    else if (values->format == DIFF_TEXT && !values->analysis.job.quiet)
        diff_page_print(job->diff, &names, &gate);
    else if (values->format == DIFF_JSON && diff_json_print(job->analysis.context, job->diff, &names, &gate, &error))
        return message_error(&error);
    int exit_code = analysis_job_close(&job->analysis, PAGE_FIRST, print_stats, job);
    return exit_code == SUTRA_OK ? report_gate(job, &gate) : exit_code;
}

/* ---- The command ---- */

static int make_lists(struct diff_job *job, const struct operands *operands) {
    int exit_code = trace_list_make(&job->all, operands, NAMES_JSON);
    for (unsigned side = 0; side < 2 && exit_code == SUTRA_OK; side++)
        exit_code = trace_list_make(&job->sides[side], &(struct operands){1, &operands->words[side]}, NAMES_JSON);
    return exit_code;
}

static int run_job(struct diff_job *job, const struct operands *operands) {
    int exit_code = take_values(job);
    if (exit_code == SUTRA_OK)
        exit_code = make_lists(job, operands);
    if (exit_code == SUTRA_OK)
        exit_code = analysis_job_work(&job->values->analysis, &job->all, &job->results, job_run, job);
    return exit_code == SUTRA_OK ? job_tell(job) : exit_code;
}

static int run(const struct command *command, int argc, char **argv) {
    struct diff_values values = {.analysis = {.job.stages = analysis_stages, .may_meet = true}};
    struct operands operands;
    int exit_code;
    if (!arguments_parse(command, argc, argv, &values, &operands, &exit_code))
        return exit_code;
    if (operands.n != 2)
        return message_fail(SUTRA_USAGE, "expected two traces or two directories of traces; see '%s --help'",
                            command->called);
    if ((exit_code = analysis_values_check(&values.analysis, &operands, command)) != SUTRA_OK)
        return exit_code;
    struct diff_job job = {
        .values = &values, .analysis = analysis_job_start(&values.analysis), .names = operands.words};
    exit_code = run_job(&job, &operands);
    sutra_diff_free(job.diff);
    sutra_context_free(job.analysis.context);
    trace_list_free(&job.all);
    for (int side = 0; side < 2; side++)
        trace_list_free(&job.sides[side]);
    return exit_code;
}

static const char *const compats[] = {"none", "hta", NULL};              /* in the order of enum diff_compat */
static const char *const formats[] = {"text", "json", "markdown", NULL}; /* in the order of enum diff_format */

#define AT(field) .offset = offsetof(struct diff_values, field)

static const struct option_row options[] = {
    ANALYSIS_ROW_OUTPUT(PAGE_FIRST),
    {"format", 'f', OPTION_CHOICE, "FORMAT", AT(format), .choices = formats,
     .help = "print text, json with the rows of all tables, or a markdown table for a pull request comment (default: "
             "text)"},
    {"tables", 0, OPTION_CHOICE, "FORMAT", AT(analysis.tables), .choices = table_formats,
     .help = "write the files of tables as csv or json (default: csv)"},
    {"fail-above", 0, OPTION_TEXT, "PERCENT", AT(fail_above),
     .help =
         "exit with 1 if B's step time exceeds A's by more than PERCENT, beyond noise; warn if the step time is too "
         "noisy to decide"},
    {"fail-on-unclear", 0, OPTION_FLAG, AT(fail_on_unclear),
     .help = "exit with 1 if the step time is too noisy to decide, and print how many steps to record"},
    {"map", 0, OPTION_WORDS, "OLD=NEW", AT(map),
     .help = "compare operator or kernel OLD of A with NEW of B; may be repeated"},
    {"compat", 0, OPTION_CHOICE, "TOOL", AT(compat), .choices = compats,
     .help =
         "hta: write the TraceDiff tables of Holistic Trace Analysis, for the first step of the first rank of each side "
         "(default: none)"},
    ANALYSIS_ROWS_PART,
    {"step-b", 0, OPTION_TEXT, "N", AT(step_b), .help = "compare step N of B (default: the step of --step)"},
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
    "Call paths are aligned by equal subpaths, then by names, regardless of wrapping calls. Each row lists the kernels "
    "of A and B at a call path. The rows of each table add up to the total difference.",
    NULL,
};
static const struct example examples[] = {
    {"sutra diff before.json.gz after.json.gz", "print the effect of a change"},
    {"sutra diff before/ after/ -o results", "compare two jobs: write all tables and a report"},
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
    .summary = "compare two traces or jobs: find what became slower or faster",
    .synopses = synopses,
    .description = description,
    .options = options,
    .examples = examples,
    .n_operands_max = 2,
    .run = run,
};
