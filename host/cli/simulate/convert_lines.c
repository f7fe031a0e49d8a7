/*
 * convert_lines.c - converts JSON lines to an .et file, and prints the summary.
 */
#include "cli/simulate/convert_lines.h"

#include "cli/tool/paths.h"

struct lines_result {
    uint64_t n_nodes;
    const struct run_figures *figures;
};

bool convert_lines_known(const char *input) {
    bool known = false;
    return path_size(input) > 0 && sutra_is_et_lines(input, &known, NULL) == SUTRA_OK && known;
}

static void print_stats(FILE *file, const void *data) {
    const struct lines_result *result = data;
    const struct named_count count = {"n_nodes", result->n_nodes};
    run_counts_print_json(file, &count, 1, NULL, 0);
    run_figures_print_json(file, result->figures);
}

static int tell(struct job *job, const char *input, const struct sutra_et *et) {
    const struct lines_result result = {sutra_et_nodes(et), &job->figures};
    const char *output = job->values->output;
    const struct summary_row row = {result.n_nodes, "nodes written", true};
    job_measure_inputs(job, &input, 1);
    if (!job->values->quiet) {
        fprintf(stderr, "sutra: converted into %s\n", path_is_stream(output) ? "standard output" : output);
        summary_print(&row, 1);
        run_figures_print(&job->figures);
    }
    return job->values->stats ? (int)stats_write(job->values->stats, print_stats, &result) : SUTRA_OK;
}

int convert_lines(const struct job_values *values, const char *input) {
    struct job job = job_start(values, !values->quiet, true, values->verbose);
    struct sutra_et *et = NULL;
    struct sutra_error error;
    enum sutra_status status = job_open(&job, values->output, &error);
    if (!status)
        status = sutra_et_read_lines(job.context, input, &et, &error);
    if (!status)
        status = sutra_et_write(job.context, et, values->output, &job.figures.output_bytes, &error);
    int told = status ? SUTRA_OK : tell(&job, input, et);
    sutra_et_free(et);
    int exit_code = job_end(&job, status, &error);
    return exit_code ? exit_code : told;
}
