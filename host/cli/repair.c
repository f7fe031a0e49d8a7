/*
 * repair.c - `sutra repair`: reads a malformed trace, writes valid JSON, and reports each repair with its byte offset.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/job.h"
#include "cli/paths.h"
#include "text/quantities.h"

/* Places of a kind that are told. */
#define PLACES_TOLD 5

struct repair_values {
    struct job_values job;
    const char *trace;
};

static const struct stage_share stages[] = {{"open", 5, false},        {"repair", 60, false},
                                            {"check text", 10, false}, {"check grammar", 20, false},
                                            {"write", 30, false},      {0}};

#define AT(field) .offset = offsetof(struct repair_values, field)

static const struct option_row options[] = {
    JOB_ROW_OUTPUT(job),
    {"threads", 'T', OPTION_NUMBER, "N", AT(job.where.n_threads), .maximum = 256,
     .help = "use N threads, 0 for one per available CPU (default: 0)"},
    JOB_ROW_INPUT(job.most_input_bytes),
    JOB_ROW_STATS(job),
    {"quiet", 'q', OPTION_FLAG, AT(job.quiet), .help = "print no progress, no summary and no warnings"},
    {"verbose", 'v', OPTION_FLAG, AT(job.verbose), .help = "print each of the first 1,000 repairs"},
    {0},
};

/* What lives while a trace is mended. */
struct repair_job {
    const struct repair_values *values;
    struct job job;
    struct sutra_repair *repair;
    struct sutra_repair_report report;
};

static enum sutra_status job_run(struct repair_job *repair, struct sutra_error *error) {
    const struct repair_values *values = repair->values;
    enum sutra_status status = job_open(&repair->job, values->job.output, error);
    if (!status)
        status = sutra_repair_read(repair->job.context, values->trace, &repair->repair, error);
    if (!status)
        status = sutra_repair_write(repair->job.context, repair->repair, values->job.output,
                                    &repair->job.figures.output_bytes, error);
    if (!status)
        sutra_repair_report(repair->repair, &repair->report);
    return status;
}

/* ---- What was mended ---- */

static void print_stats(FILE *file, const void *result) {
    static const char *const names[SUTRA_N_REPAIR_KINDS] = {
        "n_quotes", "n_controls",   "n_backslashes", "n_not_utf8",          "n_end_quotes", "n_numbers", "n_commas",
        "n_arrays", "n_beginnings", "n_cut_off",     "n_elements_left_out", "n_objects",    "n_rests"};
    const struct repair_job *repair = result;
    struct named_count kinds[SUTRA_N_REPAIR_KINDS];
    const struct named_count counts[] = {{"n_elements", repair->report.n_elements},
                                         {"n_skipped_bytes", repair->report.n_skipped_bytes},
                                         {"n_repaired", repair->report.n_repaired}};
    for (int kind = 0; kind < SUTRA_N_REPAIR_KINDS; kind++)
        kinds[kind] = (struct named_count){names[kind], repair->report.n[kind]};
    run_counts_print_json(file, counts, sizeof counts / sizeof *counts, kinds, SUTRA_N_REPAIR_KINDS);
    run_figures_print_json(file, &repair->job.figures);
}

/* The bytes of the first places of a kind. */
static void print_first(const struct sutra_repair_report *report, int kind) {
    unsigned n = 0;
    for (size_t i = 0; i < report->n_places && n < PLACES_TOLD; i++)
        if (report->places[i].kind == (enum sutra_repair_kind)kind)
            fprintf(stderr, "%s%" PRIu64,
                    n++                   ? ", "
                    : report->n[kind] > 1 ? "                  at bytes "
                                          : "                  at byte ",
                    report->places[i].offset);
    if (n)
        fprintf(stderr, "%s\n", n < report->n[kind] ? ", ..." : "");
}

static void print_places(const struct sutra_repair_report *report) {
    for (size_t i = 0; i < report->n_places; i++)
        fprintf(stderr, "byte %" PRIu64 ": %s\n", report->places[i].offset,
                sutra_repair_kind_name(report->places[i].kind, false));
}

static void print_summary(const struct repair_job *repair) {
    const struct sutra_repair_report *report = &repair->report;
    const char *output = repair->values->job.output;
    if (repair->values->job.verbose)
        print_places(report);
    fprintf(stderr, report->n_repaired ? "sutra: repaired into %s\n" : "sutra: nothing to repair: copied to %s\n",
            path_is_stream(output) ? "standard output" : output);
    for (int kind = 0; kind < SUTRA_N_REPAIR_KINDS; kind++)
        if (report->n[kind]) {
            fprintf(stderr, "%16s  %s\n", count_text(report->n[kind]).text,
                    sutra_repair_kind_name((enum sutra_repair_kind)kind, report->n[kind] > 1));
            print_first(report, kind);
        }
    const struct summary_row rows[] = {{report->n_elements, "events or nodes in the trace", true},
                                       {report->n_skipped_bytes, "bytes skipped", false}};
    summary_print(rows, sizeof rows / sizeof *rows);
    run_figures_print(&repair->job.figures);
}

static enum sutra_status job_tell(struct repair_job *repair) {
    const struct repair_values *values = repair->values;
    job_measure_inputs(&repair->job, &values->trace, 1);
    if (!values->job.quiet)
        print_summary(repair);
    return values->job.stats ? stats_write(values->job.stats, print_stats, repair) : SUTRA_OK;
}

/* ---- The command ---- */

static int run(const struct command *command, int argc, char **argv) {
    struct repair_values values = {.job.stages = stages};
    struct operands operands;
    int exit_code;
    if (!arguments_parse(command, argc, argv, &values, &operands, &exit_code))
        return exit_code;
    if (operands.n == 0)
        return message_fail(SUTRA_USAGE, "the trace is missing; see '%s --help'", command->called);
    values.trace = operands.words[0];
    if ((exit_code = job_check_flags(&values.job)) != SUTRA_OK ||
        (exit_code = job_check_terminal(&values.job)) != SUTRA_OK)
        return exit_code;
    if (paths_same(values.job.output, values.trace))
        return message_fail(SUTRA_USAGE, "%s: output and input are the same file", values.job.output);
    if ((exit_code = job_check_stats(values.job.stats, values.job.output, &values.trace, 1)) != SUTRA_OK)
        return exit_code;
    struct repair_job repair = {.values = &values,
                                .job = job_start(&values.job, !values.job.quiet, !values.job.quiet, false),
                                .report = {.size = sizeof repair.report}};
    struct sutra_error error;
    enum sutra_status status = job_run(&repair, &error), told = status ? SUTRA_OK : job_tell(&repair);
    sutra_repair_free(repair.repair);
    exit_code = job_end(&repair.job, status, &error);
    return exit_code ? exit_code : (int)told;
}

static const char *const synopses[] = {
    "TRACE -o GOOD [OPTIONS]",
    NULL,
};
static const char *const description[] = {
    "Repairs a malformed or truncated host trace or device trace: unescaped quotes, line breaks or backslashes in "
    "names, a missing end, several traces in one file, an array of events without a trace, or NaN in place of a "
    "number.",
    "Well-formed events and nodes stay byte-identical. Elements that cannot be repaired are skipped and reported. All "
    "complete events of a truncated file are kept. If a file contains several traces, the trace with the most events "
    "is kept. A valid file is copied unchanged.",
    "Commands that read traces make the same repairs in memory with --lenient.",
    NULL,
};
static const struct example examples[] = {
    {"sutra repair broken.json -o good.json", "repair a trace, and report the repairs"},
    {"sutra repair broken.json.gz -o good.json.gz -v", "print each repair of a truncated compressed file"},
    {0},
};

const struct command repair_command = {
    .name = "repair",
    .called = "sutra repair",
    .summary = "repair a truncated or malformed trace",
    .synopses = synopses,
    .description = description,
    .options = options,
    .examples = examples,
    .n_operands_max = 1,
    .run = run,
};
