/*
 * analyze_operators.c - `sutra analyze operators`: device traces of one or many ranks in, tables of operators,
 * categories and modules, and a page about them out.
 */
#include <stddef.h>
#include <stdio.h>

#include "cli/analyze/analysis_job.h"
#include "cli/analyze/table_files.h"
#include "cli/tool/trace_list.h"
#include "sutra/operators.h"

enum operators_compat { COMPAT_NONE, COMPAT_TRACELENS };

struct operators_values {
    struct analysis_values analysis;
    int format, compat;
    const char *peaks;
};

static const char *const compats[] = {"none", "tracelens", NULL}; /* in the order of enum operators_compat */

#define AT(field) .offset = offsetof(struct operators_values, field)

static const struct option_row options[] = {
    {"output", 'o', OPTION_FILE, "DIR", AT(analysis.job.output),
     .help = "write a file for each table into the folder DIR"},
    {"format", 'f', OPTION_CHOICE, "FORMAT", AT(format), .choices = table_formats,
     .help = "of the tables: csv, or json, an array of rows (default: csv)"},
    {"compat", 0, OPTION_CHOICE, "TOOL", AT(compat), .choices = compats,
     .help = "tracelens: the tables of TraceLens, with its rules, its arithmetic and its columns (default: none)"},
    {"peaks", 0, OPTION_FILE, "FILE", AT(peaks),
     .help = "take what the device can do at most from FILE, {\"mem_bw_gbps\": N, \"max_achievable_tflops\": "
             "{\"matrix_bf16\": N, ...}}, instead of data sheets"},
    {"no-report", 0, OPTION_FLAG, AT(analysis.no_report), .help = "write only the tables"},
    ANALYSIS_ROWS_WHERE,
    {"strict", 0, OPTION_FLAG, AT(analysis.job.strict), .help = "fail if one of several traces cannot be read"},
    ANALYSIS_ROWS_HOW,
    {0},
};

/* What lives while traces are analyzed. */
struct operators_job {
    const struct operators_values *values;
    struct job analysis;
    struct trace_list traces;
    struct sutra_operators_ranks *ranks;
    struct result_folder results;
};

static enum sutra_status write_table(struct operators_job *job, const struct sutra_table *table, int64_t rank,
                                     struct sutra_error *error) {
    return table_file_write(&job->analysis, job->results.path, table, rank,
                            (enum sutra_table_format)job->values->format, error);
}

/* One rank is done: tables that are not joined. */
static enum sutra_status on_rank(void *arg, struct sutra_context *context, const struct sutra_operators *operators,
                                 struct sutra_error *error) {
    struct operators_job *job = arg;
    int64_t rank = job->traces.n > 1 ? sutra_operators_rank_of(operators) : RANK_ALL;
    enum sutra_status status = SUTRA_OK;
    (void)context;
    for (int id = 0; id <= SUTRA_TRACELENS_RATES && !status; id++) {
        const struct sutra_table *table = sutra_operators_table(operators, (enum sutra_operators_table)id);
        if (table)
            status = write_table(job, table, rank, error);
    }
    return status;
}

static enum sutra_status write_tables(struct operators_job *job, struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    for (int id = 0; id < SUTRA_OPERATORS_N_TABLES && !status; id++) {
        const struct sutra_table *table = sutra_operators_ranks_table(job->ranks, (enum sutra_operators_table)id);
        if (table)
            status = write_table(job, table, RANK_ALL, error);
    }
    return status;
}

static enum sutra_status job_run(void *arg, struct sutra_error *error) {
    struct operators_job *job = arg;
    const struct operators_values *values = job->values;
    const char *output = values->analysis.job.output;
    struct job *analysis = &job->analysis;
    const struct sutra_operators_options of_each = {
        .size = sizeof of_each, .compat = values->compat == COMPAT_TRACELENS, .peaks = values->peaks};
    const struct sutra_operators_ranks_options ranks_options = {
        .size = sizeof ranks_options, .operators = &of_each, .visit = output ? on_rank : NULL, .arg = job};
    enum sutra_status status = job_open(analysis, NULL, error);
    if (!status)
        status = sutra_operators_ranks_make(analysis->context, (const char *const *)job->traces.paths, job->traces.n,
                                            &ranks_options, &job->ranks, error);
    if (!status && output)
        status = write_tables(job, error);
    progress_clear(&analysis->watch.progress);
    return status;
}

static void print_stats(FILE *file, const void *result) {
    const struct operators_job *job = result;
    run_figures_print_json(file, &job->analysis.figures);
}

static int job_tell(struct operators_job *job) {
    const struct analysis_values *values = &job->values->analysis;
    job_measure(&job->analysis, job->traces.streams ? 0 : job->traces.n_bytes,
                trace_list_largest(&job->traces, where_threads(&values->job.where)));
    return analysis_job_close(&job->analysis, values->open, print_stats, job);
}

/* ---- The command ---- */

static int run_job(struct operators_job *job, const struct operands *operands) {
    int exit_code = trace_list_make(&job->traces, operands);
    if (exit_code == SUTRA_OK)
        exit_code = analysis_job_work(&job->values->analysis, &job->traces, &job->results, job_run, job);
    return exit_code == SUTRA_OK ? job_tell(job) : exit_code;
}

static int run(const struct command *command, int argc, char **argv) {
    struct operators_values values = {.analysis.job.stages = analysis_stages};
    struct operands operands;
    int exit_code;
    if (!arguments_parse(command, argc, argv, &values, &operands, &exit_code))
        return exit_code;
    if ((exit_code = analysis_values_check(&values.analysis, &operands, command)) != SUTRA_OK)
        return exit_code;
    struct operators_job job = {.values = &values, .analysis = analysis_job_start(&values.analysis)};
    exit_code = run_job(&job, &operands);
    sutra_operators_ranks_free(job.ranks);
    sutra_context_free(job.analysis.context);
    trace_list_free(&job.traces);
    return exit_code;
}

static const char *const synopses[] = {"TRACE... [-o DIR] [OPTIONS]", NULL};
static const char *const description[] = {
    "Says where the device's time went in the words of the model: operators, their shapes, categories and modules. "
    "Every kernel is charged once, to the innermost operator that launched it, on whatever thread; kernels of a CUDA "
    "graph to its launch. What is charged and what is not add up to all device time.",
    NULL,
};
static const struct example examples[] = {
    {"sutra analyze operators device.json.gz -o results", "the tables of one rank"},
    {"sutra analyze operators device.json.gz --compat tracelens -o tables", "those of TraceLens"},
    {0},
};

const struct command analyze_operators_command = {
    .name = "operators",
    .called = "sutra analyze operators",
    .summary = "device time of operators, categories and modules",
    .synopses = synopses,
    .description = description,
    .options = options,
    .examples = examples,
    .n_operands_max = OPERANDS_ANY,
    .run = run,
};
