/*
 * check.c - `sutra check`: finds properties of a job's .et files that make ASTRA-sim fail or hang; prints one line per
 * finding, or JSON.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/check.h"
#include "cli/command.h"
#include "cli/job.h"
#include "cli/paths.h"
#include "cli/terminal.h"
#include "job/job.h"
#include "text/quantities.h"
#include "write/json.h"

/*
 * Prints the findings of a linked job, from the records in its directory.
 */

static void print_text_check_folder(const struct job_whole *whole) {
    for (uint64_t i = 0; i < whole->n_findings; i++) {
        const struct job_finding *finding = &whole->findings[i];
        printf("%-8s %s%s%s\n         ", check_severity_names[finding->severity], finding->rule,
               *finding->ranks ? ": rank " : "", finding->ranks);
        wrapped_print(finding->text, 9, 9);
    }
    printf("%s of %s linked, %s: %s\n", count_text(whole->n_done).text,
           counted_text((uint64_t)whole->world_size, "rank", "ranks").text,
           counted_text(whole->calls.n, "collective", "collectives").text,
           counted_text(whole->n_errors, "error", "errors").text);
}

static void print_finding_json_check_folder(const struct job_finding *finding) {
    const char *const texts[][2] = {{"{\"severity\": ", check_severity_names[finding->severity]},
                                    {", \"rule\": ", finding->rule},
                                    {", \"ranks\": ", finding->ranks},
                                    {", \"text\": ", finding->text}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        fputs(texts[i][0], stdout);
        json_string_print(stdout, texts[i][1]);
    }
    putchar('}');
}

static void print_json_check_folder(const struct job_whole *whole) {
    printf("{\n  \"world_size\": %" PRId64 ",\n  \"linked\": %zu,\n  \"collectives\": %" PRIu64
           ",\n  \"errors\": %" PRIu64 ",\n  \"findings\": [",
           whole->world_size, whole->n_done, whole->calls.n, whole->n_errors);
    for (uint64_t i = 0; i < whole->n_findings; i++) {
        printf("%s\n    ", i ? "," : "");
        print_finding_json_check_folder(&whole->findings[i]);
    }
    printf("%s],\n  \"clocks\": [", whole->n_findings ? "\n  " : "");
    for (row_t i = 0; i < whole->n_hosts; i++) {
        const struct host_clock *host = &whole->hosts[i];
        printf("%s\n    {\"host\": %" PRId64 ", \"first_rank\": %" PRId64 ", \"last_rank\": %" PRId64
               ", \"offset_us\": %.3f, \"spread_us\": %.3f}",
               i ? "," : "", host->host, host->first_rank, host->last_rank, (double)host->offset_ns / 1e3,
               (double)host->spread_ns / 1e3);
    }
    printf("%s]\n}\n", whole->n_hosts ? "\n  " : "");
}

/* Whether a path is a directory with the records of a job, as 'sutra link HOSTS DEVICES -o DIR' writes them. */
static bool is_linked_job(const char *folder) {
    char *plan = NULL;
    bool is_job = path_is_folder(folder) && record_read(folder, "plan", &plan, NULL) != SUTRA_NO_INPUT;
    free(plan);
    return is_job;
}

/* Prints it as a table or JSON, unless `quiet`; returns the exit code, SUTRA_DATA where there are errors. */
static int check_folder(const char *folder, bool json, bool quiet) {
    struct job_whole whole;
    struct sutra_error error;
    enum sutra_status status = job_whole_read(&whole, folder, &error);
    if (!status && !quiet)
        (json ? print_json_check_folder : print_text_check_folder)(&whole);
    bool good = whole.n_errors == 0;
    job_whole_free(&whole);
    if (status)
        return message_error(&error);
    return good ? SUTRA_OK : SUTRA_DATA;
}

/*
 * Opens and closes the context and the .et file of a command.
 */

enum sutra_status et_job_start(struct et_job *job, const struct job_values *values, struct sutra_error *error) {
    *job = (struct et_job){.job = job_start(values, !values->quiet, !values->quiet, false)};
    return job_open(&job->job, values->output, error);
}

enum sutra_status et_job_read(struct et_job *job, const char *path, const struct sutra_et_read_options *options,
                              struct sutra_error *error) {
    sutra_et_free(job->et);
    job->et = NULL;
    enum sutra_status status = sutra_et_read(job->job.context, path, options, &job->et, error);
    progress_clear(&job->job.watch.progress);
    return status;
}

int et_job_end(struct et_job *job, enum sutra_status status, const struct sutra_error *error) {
    sutra_et_free(job->et);
    return job_end(&job->job, status, error);
}

struct check_values {
    struct job_values job;
    const char *groups;
    int feeder;
    bool roofline, json;
};

static const char *const feeders[] = {"v3", "v1", NULL}; /* in the order of enum sutra_et_feeder */

static const struct stage_share stages[] = {{"read .et", 60, true}, {"check", 40, true}, {0}};

#define AT(field) .offset = offsetof(struct check_values, field)

static const struct option_row options[] = {
    {"groups", 'g', OPTION_FILE, "FILE", AT(groups),
     .help = "read process groups from ASTRA-sim's comm_group.json, such as {\"3\": [0, 1]}"},
    {"feeder", 0, OPTION_CHOICE, "FEEDER", AT(feeder), .choices = feeders,
     .help = "check for ASTRA-sim's reader v3 (current) or v1 (older) (default: v3)"},
    {"roofline", 0, OPTION_FLAG, AT(roofline), .help = "check for runs with ASTRA-sim's roofline model enabled"},
    {"json", 'j', OPTION_FLAG, AT(json), .help = "print one JSON object"},
    JOB_ROW_INPUT(job.most_input_bytes),
    {"quiet", 'q', OPTION_FLAG, AT(job.quiet),
     .help = "print only errors that prevent the check; the exit code is the result"},
    {0},
};

/* ---- Text ---- */

static void print_ids(const struct sutra_et_finding *finding) {
    for (uint32_t i = 0; i < finding->n_ids; i++)
        printf("%s%" PRIu64, i ? ", " : " (", finding->ids[i]);
    if (finding->n_ids > 0)
        printf("%s)", finding->count > finding->n_ids ? ", ..." : "");
}

static void print_finding(const struct sutra_et_finding *finding) {
    printf("%s: %s %s: %s", finding->file ? finding->file : "the job", finding->is_error ? "error" : "warning",
           finding->rule, finding->what);
    if (finding->n_ids > 0 || finding->count > 1) {
        int length = (int)strlen(finding->unit) - (finding->count == 1);
        printf(": %s %.*s", count_text(finding->count).text, length, finding->unit);
        print_ids(finding);
    }
    printf("%s%s. %s %s\n", *finding->detail ? ": " : "", finding->detail, finding->why, finding->mend);
}

static void print_text_check(const struct sutra_et_check *check, const struct sutra_et_check_report *report) {
    struct sutra_et_finding finding;
    for (uint64_t i = 0; sutra_et_check_finding(check, i, &finding); i++)
        print_finding(&finding);
    printf("%s %s: %s %s, %s %s\n", count_text(report->n_files).text, report->n_files == 1 ? "file" : "files",
           count_text(report->n_errors).text, report->n_errors == 1 ? "error" : "errors",
           count_text(report->n_warnings).text, report->n_warnings == 1 ? "warning" : "warnings");
}

/* ---- JSON ---- */

static void print_member(const char *name, const char *text) {
    printf(", \"%s\": ", name);
    json_string_print(stdout, text);
}

static void print_finding_json_check(const struct sutra_et_finding *finding) {
    printf("{\"file\": ");
    if (finding->file)
        json_string_print(stdout, finding->file);
    else
        printf("null");
    print_member("rule", finding->rule);
    print_member("severity", finding->is_error ? "error" : "warning");
    printf(", \"count\": %" PRIu64, finding->count);
    print_member("unit", finding->unit);
    printf(", \"ids\": [");
    for (uint32_t i = 0; i < finding->n_ids; i++)
        printf("%s%" PRIu64, i ? ", " : "", finding->ids[i]);
    printf("]");
    print_member("kind", finding->what);
    print_member("detail", finding->detail);
    print_member("why", finding->why);
    print_member("remedy", finding->mend);
    printf("}");
}

static void print_json_check(const struct sutra_et_check *check, const struct sutra_et_check_report *report) {
    struct sutra_et_finding finding;
    printf("{\n  \"files\": %" PRIu64 ",\n  \"errors\": %" PRIu64 ",\n  \"warnings\": %" PRIu64 ",\n  \"findings\": [",
           report->n_files, report->n_errors, report->n_warnings);
    for (uint64_t i = 0; sutra_et_check_finding(check, i, &finding); i++) {
        printf("%s\n    ", i ? "," : "");
        print_finding_json_check(&finding);
    }
    printf("%s]\n}\n", report->n_errors + report->n_warnings > 0 ? "\n  " : "");
}

/* ---- The command ---- */

static enum sutra_status check_files(struct et_job *job, struct sutra_et_check *check, const struct trace_list *files,
                                     struct sutra_error *error) {
    const struct sutra_et_read_options damaged = {.size = sizeof damaged, .damaged = true};
    enum sutra_status status = SUTRA_OK;
    for (size_t i = 0; i < files->n && !status; i++) {
        status = et_job_read(job, files->paths[i], &damaged, error);
        if (!status)
            status = sutra_et_check_add(check, job->et, error);
    }
    return status ? status : sutra_et_check_finish(check, error);
}

static int check_list(struct check_values *values, const struct trace_list *files) {
    const struct sutra_et_check_options check_options = {.size = sizeof check_options,
                                                         .feeder = (enum sutra_et_feeder)values->feeder,
                                                         .roofline = values->roofline,
                                                         .groups = values->groups};
    struct et_job job;
    struct sutra_error error;
    struct sutra_et_check *check = NULL;
    struct sutra_et_check_report report = {.size = sizeof report};
    values->job.n_inputs = files->n;
    enum sutra_status status = et_job_start(&job, &values->job, &error);
    if (!status)
        status = sutra_et_check_create(job.job.context, &check_options, &check, &error);
    if (!status)
        status = check_files(&job, check, files, &error);
    progress_clear(&job.job.watch.progress);
    if (!status) {
        sutra_et_check_report(check, &report);
        if (!values->job.quiet)
            (values->json ? print_json_check : print_text_check)(check, &report);
    }
    sutra_et_check_free(check);
    int exit_code = et_job_end(&job, status, &error);
    return exit_code == SUTRA_OK && report.n_errors > 0 ? (int)SUTRA_DATA : exit_code;
}

static int run(const struct command *command, int argc, char **argv) {
    struct check_values values = {.job.stages = stages};
    struct operands operands;
    struct trace_list files;
    int exit_code;
    if (!arguments_parse(command, argc, argv, &values, &operands, &exit_code))
        return exit_code;
    if (operands.n == 0)
        return message_fail(SUTRA_USAGE, "the file is missing; see '%s --help'", command->called);
    if (operands.n == 1 && is_linked_job(operands.words[0]))
        return check_folder(operands.words[0], values.json, values.job.quiet);
    exit_code = trace_list_make(&files, &operands, NAMES_ET);
    if (exit_code == SUTRA_OK)
        exit_code = check_list(&values, &files);
    trace_list_free(&files);
    return exit_code;
}

static const char *const synopses[] = {"FILE.et... [OPTIONS]", "DIR [OPTIONS]", NULL};
static const char *const description[] = {
    "Reports what ASTRA-sim rejects in Chakra files, without running ASTRA-sim. Each line has a violated rule, the "
    "number of nodes, their first ids, the effect in the simulator and a fix. Errors stop the simulation, make it hang "
    "or lose nodes, and give exit code 65. Warnings alone give exit code 0.",
    "Several files are the ranks of one job: PREFIX.0.et, PREFIX.1.et, ... Members of a process group must run the "
    "same collectives with the same sizes, and each send needs a matching receive. A process group with a number above "
    "0 must be defined by --groups or by the metadata of the files.",
    "DIR is the output directory of 'sutra link HOSTS DEVICES -o DIR'. sutra then compares all ranks of the job: "
    "members of a process group must run the same collectives in the same order, with the same types and sizes, and "
    "sends and receives must match. sutra also reports missing ranks, ranks that cannot be linked, unassigned files, "
    "and clock offsets between hosts. If DIR has no records of a linked job, sutra checks the .et files in DIR.",
    NULL,
};
static const struct example examples[] = {
    {"sutra check job.0.et", "check a file"},
    {"sutra check job.*.et --groups comm_group.json", "check all ranks of a job"},
    {"sutra check linked", "check a linked job in this directory"},
    {"sutra check job.*.et --json | jq '.findings[].rule'", "list the violated rules, for a script"},
    {0},
};

const struct command check_command = {
    .name = "check",
    .called = "sutra check",
    .summary = "validate .et files for ASTRA-sim, and compare the ranks of a job",
    .synopses = synopses,
    .description = description,
    .options = options,
    .examples = examples,
    .n_operands_max = OPERANDS_ANY,
    .run = run,
};
