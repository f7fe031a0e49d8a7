/*
 * link_job.c - `sutra link HOSTS DEVICES -o DIR`: matches files to ranks, links each rank, and reports the result.
 *
 *     directories or table --> plan --> ranks, each with its record --> job.json, summary, findings
 *
 * --shard processes and MPI processes link other ranks of the same plan. They share only DIR.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/link_job.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "job/job.h"
#include "text/quantities.h"

const char *const link_formats[] = {"json", "json.gz", "json.zst", "et", "et.gz", "et.zst", NULL};
const char *const link_endings[] = {".json", ".json.gz", ".json.zst", ".et", ".et.gz", ".et.zst"};

#define OPTIONS_TEXT 200

/* A job while it is linked. */
struct whole_link {
    const struct link_values *values;
    const struct job_team *team; /* or NULL */
    struct job job;
    struct job_plan plan;
    char options[OPTIONS_TEXT];
    size_t part, n_parts, next; /* pairs part, part + n_parts, ... */
    bool meets;                 /* the ranks' files are to meet when they are simulated, which takes two passes */
    bool per_stream;            /* and are for a simulator with a resource for each stream */
    double begin;
    uint64_t n_before;
    enum sutra_status failure; /* exit code for the ranks that cannot be linked, or SUTRA_OK */
};

/* The exit code of a job after a rank has failed with `status`: a full disk, say, is not a fault of the traces. */
static enum sutra_status graver_failure(enum sutra_status failure, enum sutra_status status) {
    static const enum sutra_status grave[] = {SUTRA_SYSTEM, SUTRA_IO, SUTRA_NO_OUTPUT};
    for (size_t i = 0; i < sizeof grave / sizeof *grave; i++)
        if (failure == grave[i] || status == grave[i])
            return grave[i];
    return SUTRA_DATA;
}

struct sutra_link_options link_options_of(const struct link_values *values) {
    return (struct sutra_link_options){.size = sizeof(struct sutra_link_options),
                                       .no_sync = values->no_sync,
                                       .hta_pandas3 = values->hta_pandas3,
                                       .most_bytes = values->pair.most_bytes};
}

struct link_output link_output_of(const struct link_values *values) {
    return (struct link_output){
        .et = values->et,
        .faithful = values->faithful,
        .what = {.size = sizeof(struct sutra_convert_options), .compat = values->compat, .no_work = values->no_work},
        .how = faithful_options(&values->how)};
}

bool link_is_job(const struct link_values *values) {
    return values->table || values->finish || (values->pair.host && path_is_folder(values->pair.host)) ||
           (values->pair.device && path_is_folder(values->pair.device));
}

/* ---- What is wrong with the words ---- */

static int check_folders(const struct link_values *values, const struct command *command) {
    const char *const sides[] = {values->pair.host, values->pair.device};
    if (values->table) {
        if (sides[0] || sides[1])
            return message_fail(SUTRA_USAGE, "--ranks names all traces: unexpected argument '%s'",
                                sides[0] ? sides[0] : sides[1]);
    } else {
        if (!sides[0] || !sides[1])
            return message_fail(SUTRA_USAGE, "the directory of the %s traces is missing; see '%s --help'",
                                sides[0] ? "device" : "host", command->called);
        for (size_t i = 0; i < 2; i++)
            if (!path_is_folder(sides[i]))
                return message_fail(SUTRA_USAGE,
                                    "%s is not a directory, but %s is: name both traces of a rank, or both directories",
                                    sides[i], sides[1 - i]);
    }
    if (!values->pair.job.output && !values->dry_run)
        return message_fail(SUTRA_USAGE, "the output directory is missing (-o DIR); see '%s --help'", command->called);
    for (size_t i = 0; i < 2; i++)
        if (values->pair.job.output && sides[i] && paths_same_folder(values->pair.job.output, sides[i]))
            return message_fail(SUTRA_USAGE, "%s: the output directory is an input directory", sides[i]);
    return SUTRA_OK;
}

static int check_words(struct link_values *values, const struct command *command) {
    int exit_code = pair_check_flags(&values->pair);
    if (exit_code != SUTRA_OK)
        return exit_code;
    if (values->pair.job.stats)
        return message_fail(SUTRA_USAGE, "--stats needs a pair of traces: job.json contains the statistics of a job");
    if (!values->finish)
        return check_folders(values, command);
    if (values->pair.host || values->table || values->pair.job.output || values->part || values->dry_run)
        return message_fail(SUTRA_USAGE, "--combine accepts only the directory of the job");
    return SUTRA_OK;
}

/* All that what is written depends on. */
static void tell_options(const struct link_values *values, bool per_stream, char text[static OPTIONS_TEXT]) {
    const struct job_values *job = &values->pair.job;
    snprintf(text, OPTIONS_TEXT, "--format %s%s%s%s%s%s%s%s%s%s%s%s", link_formats[values->format],
             values->no_sync ? " --no-sync" : "", values->hta_pandas3 ? " --hta-pandas3" : "",
             values->plain ? " --plain" : "", values->compat ? " --compat" : "", values->no_work ? " --no-flops" : "",
             per_stream ? " --gpu streams" : "", values->how.rest ? " --min-idle-us " : "",
             values->how.rest ? values->how.rest : "", values->astra ? " --astra" : "", job->strict ? " --strict" : "",
             job->lenient ? " --lenient" : "");
}

/* ---- Pairs ---- */

static int list_traces(char *folder, struct trace_list *list) {
    const struct operands operands = {1, &folder};
    return trace_list_make(list, &operands, NAMES_JSON);
}

static int pair_folders(struct whole_link *link, struct sutra_error *error) {
    struct trace_list hosts = {0}, devices = {0};
    char *folders[] = {strdup(link->values->pair.host), strdup(link->values->pair.device)};
    int exit_code = folders[0] && folders[1] ? SUTRA_OK : message_fail(SUTRA_SYSTEM, "out of memory");
    if (exit_code == SUTRA_OK)
        exit_code = list_traces(folders[0], &hosts);
    if (exit_code == SUTRA_OK)
        exit_code = list_traces(folders[1], &devices);
    if (exit_code == SUTRA_OK) {
        bool mixed = paths_same_folder(folders[0], folders[1]);
        const struct trace_files of_host = {hosts.paths, hosts.n, mixed}, of_device = {devices.paths, devices.n, mixed};
        if (job_plan_pair(&link->plan, &of_host, &of_device, error))
            exit_code = message_error(error);
    }
    trace_list_free(&hosts);
    trace_list_free(&devices);
    free(folders[0]);
    free(folders[1]);
    return exit_code;
}

static int make_plan(struct whole_link *link) {
    struct sutra_error error;
    int exit_code = SUTRA_OK;
    link->plan.lenient = link->values->pair.job.lenient;
    if (!link->values->table)
        exit_code = pair_folders(link, &error);
    else if (job_plan_read(&link->plan, link->values->table, &error))
        exit_code = message_error(&error);
    return exit_code;
}

static void print_plan(const struct job_plan *plan) {
    printf("# rank\thost trace\tdevice trace\tpaired by\n");
    for (size_t i = 0; i < plan->n_pairs; i++) {
        const struct rank_pair *pair = &plan->pairs[i];
        printf("%" PRId64 "\t%s\t%s\t%s\n", pair->rank, pair->host.path, pair->device.path, pair_by_names[pair->by]);
    }
    for (size_t i = 0; i < plan->n_left; i++)
        printf("# skipped: %s: %s\n", plan->left[i].path, plan->left[i].why);
}

/* ---- Progress ---- */

static void tell_progress(struct whole_link *link, const struct job_progress *progress) {
    char words[256];
    double seconds = clock_seconds() - link->begin;
    double rate = seconds > 0 ? (double)progress->bytes_done / seconds : 0;
    double left = rate > 0 ? (double)(progress->bytes - progress->bytes_done) / rate : 0;
    int length = snprintf(words, sizeof words, "rank %" PRIu64 " of %" PRIu64 ", %s/s", progress->n_done,
                          progress->n_ranks, bytes_text((uint64_t)rate).text);
    if (left >= 120)
        snprintf(words + length, sizeof words - (size_t)length, ", %.0f min left", left / 60);
    else if (rate > 0)
        snprintf(words + length, sizeof words - (size_t)length, ", %.0f s left", left);
    progress_line(&link->job.watch.progress, words);
}

static void on_done(void *arg, size_t pair, const struct sutra_error *error, const struct job_progress *progress) {
    struct whole_link *link = arg;
    if (error)
        link->failure = graver_failure(link->failure, error->status);
    if (error && link->values->part) { /* else job.json and the findings report the error */
        char text[900];
        sutra_error_text(error, text, sizeof text);
        progress_clear(&link->job.watch.progress);
        message_fail(error->status, "rank %" PRId64 ": %s", link->plan.pairs[pair].rank, text);
    }
    link->n_before = progress->n_before;
    tell_progress(link, progress);
}

static void on_rank_temporary(void *arg, unsigned place, const char *path) {
    (void)arg;
    interrupt_guard_set_at(1 + place, path); /* place 0 is that of the job's own files */
}

static bool next_pair(void *arg, size_t *pair) {
    struct whole_link *link = arg;
    if (link->team)
        return link->team->next(link->team->arg, pair);
    *pair = link->next;
    link->next += link->n_parts;
    return *pair < link->plan.n_pairs;
}

/* ---- The work ---- */

static int link_ranks(struct whole_link *link) {
    const struct link_values *values = link->values;
    const struct job_values *job = &values->pair.job;
    struct sutra_error error;
    struct rank_job_options options = {
        .folder = job->output,
        .ending = link_endings[values->format],
        .words = link->options,
        .link = link_options_of(values),
        .output = link_output_of(values),
        .into = "",
        .context = {.size = sizeof options.context,
                    .strict = job->strict,
                    .lenient = job->lenient,
                    .force = job->force},
        .memory = values->memory,
        .again = values->again,
        .next = next_pair,
        .done = on_done,
        .temporary = on_rank_temporary,
        .arg = link,
    };
    options.output.how.gpu_streams = link->per_stream;
    if (link->meets) {
        options.output.of_job = true;
        options.into = RECORD_FOLDER "/";
    }
    where_set(&job->where, &options.context);
    if (link->team)
        options.context.n_threads = link->team->n_threads;
    enum sutra_status status = rank_job_run(&link->plan, &options, &error);
    progress_clear(&link->job.watch.progress);
    return status ? message_error(&error) : SUTRA_OK;
}

static int make_folders(const char *folder) {
    char *records;
    if (folder_make(folder) != SUTRA_OK)
        return SUTRA_NO_OUTPUT;
    if (asprintf(&records, "%s/" RECORD_FOLDER, folder) < 0)
        return message_fail(SUTRA_SYSTEM, "out of memory");
    bool made = path_make_own_folder(records);
    int reason = errno;
    free(records);
    return made ? SUTRA_OK : message_fail(SUTRA_NO_OUTPUT, "%s/" RECORD_FOLDER ": %s", folder, strerror(reason));
}

static int write_plan(struct whole_link *link) {
    struct sutra_error error;
    enum sutra_status status = plan_write(link->job.context, link->values->pair.job.output, &link->plan, link->options,
                                          link_endings[link->values->format], &error);
    return status ? message_error(&error) : SUTRA_OK;
}

/* ---- What is told ---- */

/* Errors always: a failure is never silent. */
static void report_findings(const struct job_whole *whole, bool warnings) {
    for (uint64_t i = 0; i < whole->n_findings; i++) {
        const struct job_finding *finding = &whole->findings[i];
        if (finding->severity == CHECK_ERROR || (warnings && finding->severity == CHECK_WARNING))
            message_warn("%s%s%s%s", *finding->ranks ? "rank " : "", finding->ranks, *finding->ranks ? ": " : "",
                         finding->text);
    }
}

static void print_summary(const struct whole_link *link, const struct job_whole *whole, const char *folder) {
    uint64_t n_read = 0, n_written = 0, n_warnings = 0;
    for (size_t i = 0; i < whole->n_ranks; i++) {
        n_read += whole->ranks[i].input_bytes;
        n_written += whole->ranks[i].file_bytes;
        n_warnings += whole->ranks[i].n_warnings;
    }
    const struct summary_row rows[] = {
        {whole->n_done, "ranks linked", true},
        {link->n_before, "  linked before", false},
        {whole->n_broken, "ranks that cannot be linked", false},
        {whole->n_missing, "ranks not linked yet", false},
        {whole->n_left, "files skipped", false},
        {n_warnings, "warnings about single ranks: see job.json", false},
    };
    fprintf(stderr, "sutra: linked into %s\n", folder);
    summary_print(rows, sizeof rows / sizeof *rows);
    fprintf(stderr, "%16s  read\n%16s  written\n", bytes_text(n_read).text, bytes_text(n_written).text);
    if (whole->meetings)
        fprintf(stderr, "%16s  measured, from the first start to the last end of a rank\n",
                time_text(whole->meetings->measured_us).text);
}

/* Lets the ranks' files meet. */
static enum sutra_status run_second_pass(struct whole_link *link, struct job_whole *whole, const char *folder,
                                         struct sutra_error *error) {
    const struct job_values *job = &link->values->pair.job;
    struct second_pass_options options = {
        .folder = folder,
        .context = {.size = sizeof options.context, .force = job->force},
        .memory = link->values->memory,
        .temporary = on_rank_temporary,
        .arg = link,
    };
    where_set(&job->where, &options.context);
    if (link->team)
        options.context.n_threads = link->team->n_threads;
    progress_line(&link->job.watch.progress, "match collectives");
    return second_pass_run(whole, &options, error);
}

/* Sums up what the records tell, for all who took part. */
static int finish_job(struct whole_link *link, const char *folder) {
    struct job_whole whole;
    struct sutra_error error;
    enum sutra_status status = job_whole_read(&whole, folder, &error);
    if (!status && whole.meetings)
        status = run_second_pass(link, &whole, folder, &error);
    if (!status)
        status = job_whole_write(&whole, link->job.context, folder, &error);
    progress_clear(&link->job.watch.progress);
    if (status) {
        job_whole_free(&whole);
        return message_error(&error);
    }
    report_findings(&whole, link->values->pair.log_level <= LOG_WARNING);
    if (link->values->pair.log_level <= LOG_INFO)
        print_summary(link, &whole, folder);
    int exit_code = whole.n_done == whole.n_ranks && whole.n_ranks > 0 ? SUTRA_OK : SUTRA_DATA;
    for (size_t i = 0; i < whole.n_ranks; i++)
        if (whole.ranks[i].state == RANK_BROKEN)
            exit_code = (int)graver_failure((enum sutra_status)exit_code, whole.ranks[i].status);
    job_whole_free(&whole);
    return exit_code;
}

/* ---- All of it ---- */

static int link_planned(struct whole_link *link) {
    const struct link_values *values = link->values;
    const char *folder = values->pair.job.output;
    int exit_code = make_plan(link);
    if (exit_code != SUTRA_OK)
        return exit_code;
    if (link->values->dry_run) {
        print_plan(&link->plan);
        return SUTRA_OK;
    }
    link->meets = values->faithful && link->plan.n_pairs > 1;
    link->per_stream =
        values->how.gpu == GPU_STREAMS || (link->meets && values->how.gpu == GPU_UNSAID && !values->astra);
    tell_options(values, link->per_stream, link->options);
    if (link->plan.n_pairs == 0)
        return message_fail(SUTRA_DATA, "no two of these traces are of one rank; '--dry-run' prints the reasons");
    if ((exit_code = make_folders(folder)) != SUTRA_OK)
        return exit_code;
    return write_plan(link);
}

static int run_planned(struct whole_link *link, int exit_code) {
    const struct job_team *team = link->team;
    if (link->values->dry_run)
        return exit_code;
    if (team && !team->begin(team->arg, exit_code == SUTRA_OK ? link->plan.n_pairs : SIZE_MAX))
        return exit_code != SUTRA_OK ? exit_code : SUTRA_NO_INPUT;
    if (exit_code == SUTRA_OK)
        exit_code = link_ranks(link);
    if (team)
        team->end(team->arg);
    if (exit_code != SUTRA_OK || (team && !team->is_first))
        return exit_code;
    if (link->values->part)
        return (int)link->failure;
    return finish_job(link, link->values->pair.job.output);
}

static int run_job(struct whole_link *link) {
    struct sutra_error error;
    struct job_values quiet = link->values->pair.job;
    quiet.output = NULL;
    link->job =
        job_start(&quiet, link->values->pair.log_level <= LOG_INFO, link->values->pair.log_level <= LOG_WARNING, false);
    int exit_code = job_open(&link->job, NULL, &error) ? message_error(&error) : SUTRA_OK;
    if (exit_code == SUTRA_OK)
        link->job.context->own_names = true;
    if (exit_code == SUTRA_OK && link->values->finish)
        exit_code = finish_job(link, link->values->finish);
    else
        exit_code = run_planned(link, exit_code == SUTRA_OK ? link_planned(link) : exit_code);
    progress_clear(&link->job.watch.progress);
    sutra_context_free(link->job.context);
    job_plan_free(&link->plan);
    return exit_code;
}

int link_whole_job(struct link_values *values, const struct command *command, const struct job_team *team) {
    struct whole_link link = {.values = values, .team = team, .n_parts = 1, .begin = clock_seconds()};
    int exit_code = check_words(values, command);
    if (exit_code != SUTRA_OK)
        return exit_code;
    if (values->part && part_read(values->part, &link.part, &link.n_parts) != SUTRA_OK)
        return SUTRA_USAGE;
    link.next = link.part;
    return run_job(&link);
}
