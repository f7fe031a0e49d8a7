/*
 * analyze_kernels.c - `sutra analyze kernels`: kernels by name and by how they were launched.
 */
#include <stddef.h>

#include "cli/analyze/operators_job.h"
#include "cli/analyze/shared_analyses.h"
#include "cli/analyze/table_files.h"

#define AT(field) .offset = offsetof(struct operators_values, field)

static const struct option_row options[] = {
    ANALYSIS_ROW_OUTPUT,
    ANALYSIS_ROW_FORMAT,
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
    "Says what kernels, copies and sets of memory took the device's time: by name, shortened so that names stay "
    "different, and by how they were launched: operator, stream, grid, block, registers, shared memory. For each the "
    "delay from the end of its call to its start, the share of short ones, the occupancy as the profiler recorded it "
    "and as it follows from the trace's deviceProperties, and how often the grid fills the device (waves). A third "
    "table counts kernels by duration.",
    NULL,
};
static const struct example examples[] = {
    {"sutra analyze kernels device.json.gz", "print the page"},
    {"sutra analyze kernels traces/ -o results", "all ranks of a job: tables as CSV"},
    {0},
};

const struct command analyze_kernels_command = {
    .name = "kernels",
    .called = "sutra analyze kernels",
    .summary = "kernels by name and by launch: times, delays, occupancy",
    .synopses = synopses,
    .description = description,
    .options = options,
    .examples = examples,
    .n_operands_max = OPERANDS_ANY,
    .run = run,
};
