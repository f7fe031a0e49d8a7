/*
 * repair.c - `sutra repair`: reads a malformed trace, writes valid JSON, and reports each repair with its byte offset.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/job.h"
#include "text/quantities.h"

#define OFFSETS_SHOWN 5 /* per kind of repair, in the summary */

struct repair_job {
    struct job job;
    struct sutra_repair *repair;
};

static const struct stage_share stages[] = {{"open", 5, false},        {"repair", 60, false},
                                            {"check text", 10, false}, {"check grammar", 20, false},
                                            {"write", 30, false},      {0}};

static const struct option_row options[] = {
    JOB_ROW_OUTPUT,
    JOB_ROW_THREADS,
    JOB_ROW_INPUT,
    JOB_ROW_STATS,
    JOB_ROW_QUIET,
    {"verbose", 'v', OPTION_FLAG, AT(job, verbose), .help = "print each of the first 1,000 repairs"},
    {0},
};

/* The summary, with the byte offsets of the first repairs of each kind. */
static void print_summary(const struct job *job, const struct sutra_repair_report *report) {
    for (size_t i = 0; job->verbose && i < report->n_places; i++)
        fprintf(stderr, "byte %" PRIu64 ": %s\n", report->places[i].offset,
                sutra_repair_kind_name(report->places[i].kind, false));
    fprintf(stderr, report->n_repaired ? "sutra: repaired into %s\n" : "sutra: nothing to repair: copied to %s\n",
            output_name(job->output));
    for (int kind = 0; kind < SUTRA_N_REPAIR_KINDS; kind++) {
        if (report->n[kind] == 0)
            continue;
        fprintf(stderr, "%16s  %s\n", count_text(report->n[kind]).text,
                sutra_repair_kind_name((enum sutra_repair_kind)kind, report->n[kind] > 1));
        const char *lead = report->n[kind] > 1 ? "                  at bytes " : "                  at byte ";
        unsigned n = 0;
        for (size_t i = 0; i < report->n_places && n < OFFSETS_SHOWN; i++)
            if (report->places[i].kind == (enum sutra_repair_kind)kind)
                fprintf(stderr, "%s%" PRIu64, n++ ? ", " : lead, report->places[i].offset);
        if (n)
            fprintf(stderr, "%s\n", n < report->n[kind] ? ", ..." : "");
    }
    const struct summary_row rows[] = {{report->n_elements, "events or nodes in the trace", true},
                                       {report->n_skipped_bytes, "bytes skipped", false}};
    summary_print(rows, COUNT_OF(rows));
    run_figures_print(&job->figures);
}

static int repair(struct job *job) {
    static const char *const names[SUTRA_N_REPAIR_KINDS] = {
        "n_quotes",   "n_controls", "n_backslashes", "n_not_utf8", "n_end_quotes",        "n_numbers", "n_commas",
        "n_brackets", "n_arrays",   "n_beginnings",  "n_cut_off",  "n_elements_left_out", "n_objects", "n_rests"};
    struct repair_job *repair = (struct repair_job *)job;
    struct sutra_repair_report report = {.size = sizeof report};
    struct named_count kinds[SUTRA_N_REPAIR_KINDS];
    struct sutra_error error;
    job->watch.notes = false; /* --verbose prints each repair instead */
    if (job_open(job, job->output, &error) ||
        sutra_repair_read(job->context, job->inputs[0], &repair->repair, &error) ||
        sutra_repair_write(job->context, repair->repair, job->output, &job->figures.output_bytes, &error))
        return job_fail(job, &error);
    sutra_repair_report(repair->repair, &report);
    job_measure_inputs(job);
    if (!job->quiet)
        print_summary(job, &report);
    const struct named_count counts[] = {{"n_elements", report.n_elements},
                                         {"n_skipped_bytes", report.n_skipped_bytes},
                                         {"n_repaired", report.n_repaired}};
    for (int kind = 0; kind < SUTRA_N_REPAIR_KINDS; kind++)
        kinds[kind] = (struct named_count){names[kind], report.n[kind]};
    return job_write_stats(job, NULL, counts, COUNT_OF(counts), kinds, SUTRA_N_REPAIR_KINDS);
}

static void release(struct job *job) {
    sutra_repair_free(((struct repair_job *)job)->repair);
}

static const char *const synopses[] = {
    "TRACE -o GOOD [OPTIONS]",
    NULL,
};
static const char *const description[] = {
    "Repairs a malformed or truncated host trace or device trace: unescaped quotes, line breaks or backslashes in "
    "names, missing closing brackets, a missing end, several traces in one file, an array of events without a trace, "
    "or NaN in place of a number.",
    "Well-formed events and nodes stay byte-identical. Elements that cannot be repaired are skipped and reported. All "
    "complete events of a truncated file are kept, and the member \"sutra_repair\" marks the file as truncated. If a "
    "file contains several traces, the trace with the most events is kept. A valid file is copied unchanged.",
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
    .writes = ".json",
    .summary = "repair a truncated or malformed trace",
    COMMAND_TEXTS,
    .n_operands_min = 1,
    .n_operands_max = 1,
    .missing = "the trace is missing",
    .size = sizeof(struct repair_job),
    .defaults = &(const struct repair_job){.job.stages = stages},
    .check = job_check_terminal,
    .work = repair,
    .release = release,
};
