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
#include <unistd.h>

#include "cli/command.h"
#include "cli/job.h"
#include "cli/paths.h"
#include "cli/terminal.h"
#include "job/job.h"
#include "text/quantities.h"
#include "write/json.h"

struct check_job {
    struct job job;
    struct sutra_et_check_options options;
    bool json;
    bool is_linked_job;  /* the operand is the directory of a linked job */
    char *folder_groups; /* comm_group.json of another directory, without --groups */
    struct sutra_et *et;
    struct sutra_et_check *check;
};

static const char *const feeders[] = {"v3", "v1", NULL}; /* in the order of enum sutra_et_feeder */

static const struct stage_share stages[] = {{"read .et", 60, true}, {"check", 40, true}, {0}};

static const struct option_row options[] = {
    {"groups", 'g', OPTION_FILE, "FILE", AT(check_job, options.groups),
     .help =
         "read process groups from ASTRA-sim's comm_group.json, such as {\"3\": [0, 1]} (default: this file in DIR)"},
    {"feeder", 0, OPTION_CHOICE, "FEEDER", AT(check_job, options.feeder), .choices = feeders,
     .help = "check for ASTRA-sim's reader v3 (current) or v1 (older) (default: v3)"},
    {"roofline", 0, OPTION_FLAG, AT(check_job, options.roofline),
     .help = "check for runs with ASTRA-sim's roofline model enabled"},
    {"replay", 0, OPTION_FLAG, AT(check_job, options.replay),
     .help =
         "check for runs in which ASTRA-sim replays durations (\"replay-only\": 1): rules that it does not apply are "
         "warnings"},
    {"json", 'j', OPTION_FLAG, AT(check_job, json), .help = "print one JSON object"},
    JOB_ROW_INPUT,
    {"quiet", 'q', OPTION_FLAG, AT(job, quiet),
     .help = "print only errors that prevent the check; the exit code is the result"},
    {0},
};

/* ---- A linked job: findings from the records in its directory ---- */

static uint64_t count_messages(const struct collective_matches *matches) {
    uint64_t n = 0;
    for (row_t i = 0; i < matches->n; i++)
        n += matches->list[i].is_message;
    return n;
}

static void print_linked_job(const struct job_whole *whole) {
    const uint64_t n_messages = count_messages(&whole->matches);
    for (uint64_t i = 0; i < whole->n_findings; i++) {
        const struct job_finding *finding = &whole->findings[i];
        printf("%-8s %s%s%s\n         ", check_severity_names[finding->severity], finding->rule,
               *finding->ranks ? ": rank " : "", finding->ranks);
        wrapped_print(finding->text, 9, 9);
    }
    printf("%s of %s linked, %s", count_text(whole->n_done).text,
           counted_text((uint64_t)whole->world_size, "rank", "ranks").text,
           counted_text(whole->matches.n - n_messages, "collective", "collectives").text);
    if (n_messages)
        printf(", %s", counted_text(n_messages, "message", "messages").text);
    printf(": %s\n", counted_text(whole->n_errors, "error", "errors").text);
}

static int print_linked_job_json(const struct job_whole *whole) {
    struct text_out text = {.file = stdout};
    struct json_out json = {.text = &text, .indent = 2};
    json_open(&json, '{');
    json_add_format(&json, "world_size", "%" PRId64, whole->world_size);
    json_add_count(&json, "linked", whole->n_done);
    json_add_count(&json, "collectives", whole->matches.n - count_messages(&whole->matches));
    json_add_count(&json, "messages", count_messages(&whole->matches));
    json_add_count(&json, "errors", whole->n_errors);
    json_add_open(&json, "findings", '[');
    for (uint64_t i = 0; i < whole->n_findings; i++) {
        const struct job_finding *finding = &whole->findings[i];
        json_open_line(&json);
        json_add_text(&json, "severity", check_severity_names[finding->severity]);
        json_add_text(&json, "rule", finding->rule);
        json_add_text(&json, "ranks", finding->ranks);
        json_add_text(&json, "text", finding->text);
        json_close_line(&json);
    }
    json_close(&json, ']');
    json_add_open(&json, "clocks", '[');
    for (row_t i = 0; i < whole->n_hosts; i++) {
        const struct host_clock *host = &whole->hosts[i];
        json_open_line(&json);
        json_add_format(&json, "host", "%" PRId64, host->host);
        json_add_format(&json, "first_rank", "%" PRId64, host->first_rank);
        json_add_format(&json, "last_rank", "%" PRId64, host->last_rank);
        json_add_format(&json, "offset_us", "%.3f", (double)host->offset_ns / 1e3);
        json_add_format(&json, "spread_us", "%.3f", (double)host->spread_ns / 1e3);
        json_close_line(&json);
    }
    json_close(&json, ']');
    json_close(&json, '}');
    return json_finish(&json);
}

static int check_linked_job(const struct job *job) {
    struct job_whole whole;
    struct sutra_error error;
    enum sutra_status status = job_whole_read(&whole, job->operands.words[0], &error);
    int exit_code = status ? message_error(&error) : SUTRA_OK;
    if (!status && !job->quiet && ((const struct check_job *)job)->json)
        exit_code = print_linked_job_json(&whole);
    else if (!status && !job->quiet)
        print_linked_job(&whole);
    if (exit_code == SUTRA_OK && whole.n_errors > 0)
        exit_code = SUTRA_DATA;
    job_whole_free(&whole);
    return exit_code;
}

/* ---- .et files: text ---- */

static void print_finding(const struct sutra_et_finding *finding) {
    printf("%s: %s %s: %s", finding->file ? finding->file : "the job", finding->is_error ? "error" : "warning",
           finding->rule, finding->what);
    if (finding->n_ids > 0 || finding->count > 1) {
        int length = (int)strlen(finding->unit) - (finding->count == 1);
        printf(": %s %.*s", count_text(finding->count).text, length, finding->unit);
        for (uint32_t i = 0; i < finding->n_ids; i++)
            printf("%s%" PRIu64, i ? ", " : " (", finding->ids[i]);
        if (finding->n_ids > 0)
            printf("%s)", finding->count > finding->n_ids ? ", ..." : "");
    }
    printf("%s%s. %s %s\n", *finding->detail ? ": " : "", finding->detail, finding->why, finding->remedy);
}

static void print_report(const struct sutra_et_check *check, const struct sutra_et_check_report *report) {
    struct sutra_et_finding finding;
    for (uint64_t i = 0; sutra_et_check_finding(check, i, &finding); i++)
        print_finding(&finding);
    printf("%s %s: %s %s, %s %s\n", count_text(report->n_files).text, report->n_files == 1 ? "file" : "files",
           count_text(report->n_errors).text, report->n_errors == 1 ? "error" : "errors",
           count_text(report->n_warnings).text, report->n_warnings == 1 ? "warning" : "warnings");
}

/* ---- .et files: JSON ---- */

static int print_report_json(const struct sutra_et_check *check, const struct sutra_et_check_report *report) {
    struct text_out text = {.file = stdout};
    struct json_out json = {.text = &text, .indent = 2};
    struct sutra_et_finding finding;
    json_open(&json, '{');
    json_add_count(&json, "files", report->n_files);
    json_add_count(&json, "errors", report->n_errors);
    json_add_count(&json, "warnings", report->n_warnings);
    json_add_open(&json, "findings", '[');
    for (uint64_t i = 0; sutra_et_check_finding(check, i, &finding); i++) {
        json_open_line(&json);
        json_add_text(&json, "file", finding.file);
        json_add_text(&json, "rule", finding.rule);
        json_add_text(&json, "severity", finding.is_error ? "error" : "warning");
        json_add_count(&json, "count", finding.count);
        json_add_text(&json, "unit", finding.unit);
        json_add_open(&json, "ids", '[');
        for (uint32_t k = 0; k < finding.n_ids; k++)
            json_format(&json, "%" PRIu64, finding.ids[k]);
        json_close(&json, ']');
        json_add_text(&json, "kind", finding.what);
        json_add_text(&json, "detail", finding.detail);
        json_add_text(&json, "why", finding.why);
        json_add_text(&json, "remedy", finding.remedy);
        json_close_line(&json);
    }
    json_close(&json, ']');
    json_close(&json, '}');
    return json_finish(&json);
}

/* ---- The command ---- */

static int check(struct job *job) {
    struct check_job *check = (struct check_job *)job;
    const char *path = job->operands.words[0];
    if (job->operands.n == 1 && path_is_folder(path)) {
        char *plan = NULL;
        check->is_linked_job = record_read(path, "plan", &plan, NULL) != SUTRA_NO_INPUT;
        free(plan);
        if (!check->is_linked_job && !check->options.groups) {
            if (asprintf(&check->folder_groups, "%s/comm_group.json", path) < 0)
                return message_fail(SUTRA_SYSTEM, "out of memory");
            check->options.groups = access(check->folder_groups, F_OK) == 0 ? check->folder_groups : NULL;
        }
    }
    return check->is_linked_job ? SUTRA_OK : job_list_inputs(job, NAMES_ET);
}

static int check_files(struct job *job) {
    struct check_job *check = (struct check_job *)job;
    const struct sutra_et_read_options damaged = {.size = sizeof damaged, .damaged = true};
    struct sutra_et_check_report report = {.size = sizeof report};
    struct sutra_error error;
    if (check->is_linked_job)
        return check_linked_job(job);
    if (job_open(job, NULL, &error) || sutra_et_check_create(job->context, &check->options, &check->check, &error))
        return job_fail(job, &error);
    for (size_t i = 0; i < job->n_inputs; i++) {
        sutra_et_free(check->et);
        check->et = NULL;
        if (sutra_et_read(job->context, job->inputs[i], &damaged, &check->et, &error) ||
            sutra_et_check_add(check->check, check->et, &error))
            return job_fail(job, &error);
        progress_clear(&job->watch.progress);
    }
    if (sutra_et_check_finish(check->check, &error))
        return job_fail(job, &error);
    progress_clear(&job->watch.progress);
    sutra_et_check_report(check->check, &report);
    int exit_code = SUTRA_OK;
    if (!job->quiet && check->json)
        exit_code = print_report_json(check->check, &report);
    else if (!job->quiet)
        print_report(check->check, &report);
    return exit_code == SUTRA_OK && report.n_errors > 0 ? SUTRA_DATA : exit_code;
}

static void release(struct job *job) {
    struct check_job *check = (struct check_job *)job;
    sutra_et_check_free(check->check);
    sutra_et_free(check->et);
    free(check->folder_groups);
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
    {"sutra check rank.0.et --replay", "check a file that ASTRA-sim replays"},
    {"sutra check linked", "check a linked job in this directory"},
    {"sutra check job.*.et --json | jq '.findings[].rule'", "list the violated rules, for a script"},
    {0},
};

const struct command check_command = {
    .name = "check",
    .called = "sutra check",
    .summary = "validate .et files for ASTRA-sim, and compare the ranks of a job",
    COMMAND_TEXTS,
    .n_operands_min = 1,
    .n_operands_max = OPERANDS_ANY,
    .missing = "the file is missing",
    .size = sizeof(struct check_job),
    .defaults = &(const struct check_job){.job.stages = stages, .options.size = sizeof(struct sutra_et_check_options)},
    .check = check,
    .work = check_files,
    .release = release,
};
