/*
 * analyze_operators.c - `sutra analyze operators`: where the device's time went, by operator, category and module.
 */
#include <stddef.h>

#include "cli/analyze/operators_job.h"
#include "cli/analyze/shared_analyses.h"
#include "cli/analyze/table_files.h"

static const char *const compats[] = {"none", "tracelens", NULL}; /* in the order of enum operators_compat */

#define AT(field) .offset = offsetof(struct operators_values, field)

static const struct option_row options[] = {
    ANALYSIS_ROW_OUTPUT,
    ANALYSIS_ROW_FORMAT,
    {"compat", 0, OPTION_CHOICE, "TOOL", AT(compat), .choices = compats,
     .help = "tracelens: the tables of TraceLens, with its rules, its arithmetic and its columns (default: none)"},
    {"peaks", 0, OPTION_FILE, "FILE", AT(peaks),
     .help = "take what the device can do at most from FILE, {\"mem_bw_gbps\": N, \"max_achievable_tflops\": "
             "{\"matrix_bf16\": N, ...}}, instead of data sheets"},
    ANALYSIS_ROWS_PART,
    ANALYSIS_ROWS_SHARE,
    ANALYSIS_ROWS_WHERE,
    ANALYSIS_ROWS_HOW,
    {0},
};

static int run(const struct command *command, int argc, char **argv) {
    return operators_run_shared(command, argc, argv, NULL);
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
