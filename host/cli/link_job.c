/*
 * link_job.c - `sutra link HOSTS DEVICES -o DIR`: matches files to ranks, links each rank, and reports the result.
 *
 *     directories or table --> plan --> ranks, each with its record --> job.json, summary, findings
 *
 * --shard processes and MPI processes link other ranks of the same plan. They share only DIR.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/link.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "job/job.h"
#include "run/run.h"
#include "text/quantities.h"

const char *const link_formats[] = {"json", "json.gz", "json.zst", "et", "et.gz", "et.zst", NULL};
const char *const link_extensions[] = {".json", ".json.gz", ".json.zst", ".et", ".et.gz", ".et.zst"};

#define OPTIONS_TEXT 400

/* The state while ranks are linked. */
struct ranks_run {
    struct link_job *link;
    struct job *job; /* of link */
    struct job_plan plan;
    char options[OPTIONS_TEXT]; /* all options that the outputs depend on */
    size_t next;                /* next pair of this shard */
    bool synchronizes;          /* ranks synchronize at collectives when they are simulated: needs a second pass */
    bool per_stream;            /* for a simulator with one resource per stream */
    uint64_t n_linked_before;
    enum sutra_status failure; /* exit code for the ranks that cannot be linked, or SUTRA_OK */
};

/* The exit code of a job after a rank has failed with `status`: a full disk is not an error of the traces, and --strict
 * is the reason only if it is for each failed rank. */
static enum sutra_status graver_failure(enum sutra_status failure, enum sutra_status status) {
    static const enum sutra_status grave[] = {SUTRA_SYSTEM, SUTRA_IO, SUTRA_NO_OUTPUT};
    for (size_t i = 0; i < COUNT_OF(grave); i++)
        if (failure == grave[i] || status == grave[i])
            return grave[i];
    return status == SUTRA_STRICT && (failure == SUTRA_OK || failure == SUTRA_STRICT) ? SUTRA_STRICT : SUTRA_DATA;
}

int link_check_job(struct link_job *link) {
    struct job *job = &link->pair.job;
    const char *const *traces = link->pair.traces, *called = job->command->called;
    job->n_inputs = 0; /* directories: compared below */
    if (job->stats)
        return message_fail(SUTRA_USAGE, "--stats needs a pair of traces: job.json contains the statistics of a job");
    if (link->combine) {
        if (traces[HOST_TRACE] || link->table || !job->output || link->shard || link->dry_run)
            return message_fail(SUTRA_USAGE, "--combine needs only the directory of the job: -o DIR");
        return SUTRA_OK;
    }
    if (link->table) {
        if (traces[0] || traces[1])
            return message_fail(SUTRA_USAGE, "--ranks names all traces: unexpected argument '%s'",
                                traces[0] ? traces[0] : traces[1]);
    } else {
        if (!traces[0])
            return message_fail(SUTRA_USAGE, "the directory of the host traces is missing; see '%s --help'", called);
        for (size_t i = 0; i < 2; i++)
            if (!path_is_folder(traces[i]))
                return message_fail(SUTRA_USAGE,
                                    "%s is not a directory, but %s is: name both traces of a rank, or both directories",
                                    traces[i], traces[1 - i]);
    }
    if (!job->output && !link->dry_run)
        return message_fail(SUTRA_USAGE, "the output directory is missing (-o DIR); see '%s --help'", called);
    for (size_t i = 0; i < 2; i++)
        if (job->output && traces[i] && paths_same_folder(job->output, traces[i]))
            return message_fail(SUTRA_USAGE, "%s: the output directory is an input directory", traces[i]);
    return link->shard ? shard_parse(link->shard, &link->shard_index, &link->n_shards) : SUTRA_OK;
}

/* ---- The plan ---- */

/* Pairs the device traces of a window of a run with the host traces of the run. Labels that both have must agree. */
static enum sutra_status pair_window(struct ranks_run *run, const struct chosen_window *window,
                                     struct sutra_error *error) {
    const struct run *devices = &run->job->run.run, *hosts = run->link->hosts.path ? &run->link->hosts : devices;
    const struct run_trace *first = devices->picks[0].role->windows[window->window].traces[0];
    char **paths = arena_alloc(&run->plan.arena, hosts->n_skipped, sizeof *paths);
    int64_t *ranks = arena_alloc(&run->plan.arena, hosts->n_skipped, sizeof *ranks);
    struct trace_name label, name;
    size_t n = 0;
    TRY(arena_status(&run->plan.arena, error));
    trace_name_read(first->path, first->pid, &label);
    for (size_t i = 0; i < hosts->n_skipped; i++) {
        if (hosts->skipped[i].kind != RUN_HOST)
            continue;
        trace_name_read(hosts->skipped[i].path, -1, &name);
        if (window->label && name.label != NAME_NONE &&
            (name.label != label.label ||
             (name.label == LABEL_IS_DATE && strcmp(name.label_text, label.label_text) != 0)))
            continue;
        paths[n] = (char *)hosts->skipped[i].file;
        ranks[n++] = name.rank != NAME_NONE             ? name.rank
                     : name.directory_rank != NAME_NONE ? name.directory_rank
                                                        : name.number;
    }
    return job_plan_pair(
        &run->plan, &(struct trace_files){.paths = paths, .n = n, .ranks = ranks},
        &(struct trace_files){.paths = (char *const *)window->paths, .n = window->n, .ranks = window->ranks}, error);
}

/* Pairs the files of both directories, or of the selected window of a run. */
static int pair_folders(struct ranks_run *run) {
    const char *const *folders = run->link->pair.traces;
    struct trace_list *traces = &run->job->traces;
    struct sutra_error error;
    size_t n_hosts = 0;
    if (run->job->window)
        return pair_window(run, run->job->window, &error) ? message_error(&error) : SUTRA_OK;
    for (int side = 0; side < 2; side++) {
        char *folder = (char *)folders[side]; /* struct operands has words of argv */
        n_hosts = traces->n;
        TRY_CODE(trace_list_add(traces, &(const struct operands){1, &folder}, NAMES_JSON));
    }
    const bool mixed = paths_same_folder(folders[0], folders[1]);
    const struct trace_files hosts = {.paths = traces->paths, .n = n_hosts, .mixed = mixed},
                             devices = {.paths = traces->paths + n_hosts, .n = traces->n - n_hosts, .mixed = mixed};
    return job_plan_pair(&run->plan, &hosts, &devices, &error) ? message_error(&error) : SUTRA_OK;
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

/* Makes the plan, and writes it to the output directory. */
static int plan_ranks(struct ranks_run *run) {
    const struct link_job *link = run->link;
    const struct job *job = run->job;
    const char *folder = job->output, *min_idle_us = link->faithful.min_idle_us;
    struct sutra_error error;
    run->plan.lenient = job->options.lenient;
    if (!link->table)
        TRY_CODE(pair_folders(run));
    else if (job_plan_read(&run->plan, link->table, &error))
        return message_error(&error);
    if (link->dry_run) {
        print_plan(&run->plan);
        return SUTRA_OK;
    }
    run->synchronizes = link->output.faithful && run->plan.n_pairs > 1;
    run->per_stream = link->faithful.gpu == GPU_STREAMS ||
                      (run->synchronizes && link->faithful.gpu == GPU_DEFAULT && !link->astra.is_given);
    snprintf(run->options, OPTIONS_TEXT, "--format %s%s%s%s%s%s%s%s%s%s%s%s%s%s%s", link_formats[link->format],
             link->options.match ? " --match " : "", link->options.match ? match_names[link->options.match] : "",
             link->options.match_step ? " --match-step " : "", link->options.match_step ? link->options.match_step : "",
             link->options.no_sync ? " --no-sync" : "", link->plain ? " --plain" : "",
             link->output.what.compat ? " --compat" : "", link->output.what.no_work ? " --no-flops" : "",
             run->per_stream ? " --gpu streams" : "", min_idle_us ? " --min-idle-us " : "",
             min_idle_us ? min_idle_us : "",
             link->astra_network    ? " --astra network"
             : link->astra.is_given ? " --astra"
                                    : "",
             job->options.strict ? " --strict" : "", job->options.lenient ? " --lenient" : "");
    if (run->plan.n_pairs == 0)
        return message_fail(SUTRA_DATA, "no two of these traces are of one rank; '--dry-run' prints the reasons");

    char *records;
    if (folder_make(folder) != SUTRA_OK)
        return SUTRA_NO_OUTPUT;
    if (asprintf(&records, "%s/" RECORD_FOLDER, folder) < 0)
        return message_fail(SUTRA_SYSTEM, "out of memory");
    bool made = path_make_own_folder(records);
    int reason = errno;
    free(records);
    if (!made)
        return message_fail(SUTRA_NO_OUTPUT, "%s/" RECORD_FOLDER ": %s", folder, strerror(reason));
    if (plan_write(job->context, folder, &run->plan, run->options, link_extensions[link->format], &error))
        return message_error(&error);
    return SUTRA_OK;
}

/* ---- Linking ---- */

static bool next_pair(void *arg, size_t *pair) {
    struct ranks_run *run = arg;
    if (run->job->plan)
        return run->job->plan->next(run->job->plan->arg, pair);
    *pair = run->next;
    run->next += run->link->n_shards;
    return *pair < run->plan.n_pairs;
}

/* Reports a rank that is done, with the progress. */
static void on_rank_done(void *arg, size_t pair, const struct sutra_error *error, const struct job_progress *progress) {
    struct ranks_run *run = arg;
    struct job *job = run->job;
    if (error)
        run->failure = graver_failure(run->failure, error->status);
    if (error && run->link->shard) { /* else job.json and the findings report the error */
        char text[900];
        sutra_error_text(error, text, sizeof text);
        progress_clear(&job->watch.progress);
        message_fail(error->status, "rank %" PRId64 ": %s", run->plan.pairs[pair].rank, text);
    }
    run->n_linked_before = progress->n_before;

    char words[256];
    double seconds = clock_seconds() - job->begin;
    double rate = seconds > 0 ? (double)progress->bytes_done / seconds : 0;
    double left = rate > 0 ? (double)(progress->bytes - progress->bytes_done) / rate : 0;
    int length = snprintf(words, sizeof words, "rank %" PRIu64 " of %" PRIu64 ", %s/s", progress->n_done,
                          progress->n_ranks, bytes_text((uint64_t)rate).text);
    if (left >= 120)
        snprintf(words + length, sizeof words - (size_t)length, ", %.0f min left", left / 60);
    else if (rate > 0)
        snprintf(words + length, sizeof words - (size_t)length, ", %.0f s left", left);
    progress_line(&job->watch.progress, words);
}

static void on_rank_temporary(void *arg, unsigned worker, const char *path) {
    (void)arg;
    interrupt_guard_set_at(1 + worker, path); /* slot 0 is for the files of the job */
}

static unsigned threads_of(const struct job *job) {
    return job->plan ? job->plan->n_threads : job->options.n_threads;
}

/* With --verbose, since each rank has statistics of its own, but the ranks share the device. */
static void report_device(const struct job *job) {
    struct cuda_engine_counts counts;
    char text[400];
    if (!job->watch.notes || !context_device_counts(job->context, &counts))
        return;
    snprintf(text, sizeof text,
             "CUDA device %" PRIu32 " computed %" PRIu64 " steps; %s were copied to it and %s from it",
             job->options.device_number, counts.n_steps, bytes_text(counts.bytes_up).text,
             bytes_text(counts.bytes_down).text);
    message_note(text);
}

static int link_planned_ranks(struct ranks_run *run) {
    const struct link_job *link = run->link;
    const struct job *job = run->job;
    struct sutra_error error;
    struct rank_job_options options = {
        .folder = job->output,
        .ending = link_extensions[link->format],
        .words = run->options,
        .link = link->options,
        .output = link->output,
        .into = run->synchronizes ? RECORD_FOLDER "/" : "",
        .context = job->options,
        .device_of = job->context,
        .memory = link->memory,
        .again = link->relink,
        .next = next_pair,
        .done = on_rank_done,
        .temporary = on_rank_temporary,
        .arg = run,
    };
    options.context.size = sizeof options.context;
    options.context.most_input_bytes = 0;
    options.context.n_threads = threads_of(job);
    options.output.how.gpu_streams = run->per_stream;
    options.output.of_job = run->synchronizes;
    enum sutra_status status = rank_job_run(&run->plan, &options, &error);
    progress_clear(&run->job->watch.progress);
    report_device(job);
    return status ? message_error(&error) : SUTRA_OK;
}

/* ---- The result ---- */

/* Errors are reported at any log level. */
static void report_findings(const struct job_whole *whole, bool warnings) {
    for (uint64_t i = 0; i < whole->n_findings; i++) {
        const struct job_finding *finding = &whole->findings[i];
        if (finding->severity == CHECK_ERROR || (warnings && finding->severity == CHECK_WARNING))
            message_warn("%s%s%s%s",
                         !*finding->ranks                ? ""
                         : strpbrk(finding->ranks, ",-") ? "ranks "
                                                         : "rank ",
                         finding->ranks, *finding->ranks ? ": " : "", finding->text);
    }
}

/* Prints why the rank with the smallest share of linked operators is not complete, then the result of all ranks. */
static void print_coverage(const struct job_whole *whole) {
    struct rank_list lists[LINK_COMPLETE + 1] = {0};
    uint64_t n[LINK_COMPLETE + 1] = {0}, n_all = whole->n_ranks;
    struct link_coverage sums = {0}, worst = {.share = 2};
    const struct whole_rank *worst_rank = NULL;
    for (size_t i = 0; i < n_all; i++) {
        const struct whole_rank *rank = &whole->ranks[i];
        /* Of a rank without a file: nothing. */
        const struct link_coverage coverage = coverage_of_link(&rank->report, &rank->match, rank->validity);
        rank_list_add(&lists[coverage.result], rank->rank);
        n[coverage.result]++;
        sums.n_cpu += coverage.n_cpu;
        sums.n_cpu_linked += coverage.n_cpu_linked;
        sums.n_gpu += coverage.n_gpu;
        sums.n_gpu_linked += coverage.n_gpu_linked;
        if (rank->state == RANK_DONE && coverage.result != LINK_COMPLETE && coverage.share < worst.share) {
            worst = coverage;
            worst_rank = rank;
        }
    }
    if (worst_rank && worst.result == LINK_NOTHING && worst_rank->warning)
        fprintf(stderr, "sutra: rank %" PRId64 ": %s\n", worst_rank->rank, worst_rank->warning);
    else if (worst_rank) {
        fprintf(stderr, "sutra: rank %" PRId64 ": ", worst_rank->rank);
        coverage_print(&worst, "the file of this rank");
    }
    if (n[LINK_COMPLETE] == n_all) {
        fprintf(stderr, "sutra: complete: %s of %s are linked\n", coverage_text(&sums).text,
                counted_text(n_all, "rank", "ranks").text);
        return;
    }
    fprintf(stderr, "sutra: %s: ", n[LINK_NOTHING] == n_all ? "nothing is linked" : "partly linked");
    fprintf(stderr, "%s of %s complete", count_text(n[LINK_COMPLETE]).text, counted_text(n_all, "rank", "ranks").text);
    if (n[LINK_PARTLY])
        fprintf(stderr, "; partly: rank %s", rank_list_text(&lists[LINK_PARTLY]));
    if (n[LINK_NOTHING])
        fprintf(stderr, "; not linked: rank %s", rank_list_text(&lists[LINK_NOTHING]));
    fprintf(stderr, "; see job.json\n");
}

static void print_summary(const struct ranks_run *run, const struct job_whole *whole, const char *folder) {
    const struct job_astra *network = whole->network;
    uint64_t n_read = 0, n_written = 0, n_warnings = 0;
    for (size_t i = 0; i < whole->n_ranks; i++) {
        n_read += whole->ranks[i].input_bytes;
        n_written += whole->ranks[i].file_bytes;
        n_warnings += whole->ranks[i].n_warnings;
    }
    const struct summary_row rows[] = {
        {whole->n_done, "ranks linked", true},
        {run->n_linked_before, "  linked before", false},
        {whole->n_broken, "ranks that cannot be linked", false},
        {whole->n_missing, "ranks not linked yet", false},
        {whole->n_left, "files skipped", false},
        {n_warnings, "warnings about single ranks: see job.json", false},
        {network ? network->n_modeled : 0, "nodes of collectives in ASTRA-sim's network model", network != NULL},
        {network ? network->n_one_size : 0, "  of kinds with one size: alpha is assumed", false},
        {network ? network->n_unsized : 0, "  replayed with their durations: unknown size", false},
        {network ? network->n_other_kinds : 0, "  replayed with their durations: kinds without a model", false},
        {network && whole->matched_collectives ? whole->matched_collectives->n_beside : 0,
         "  that overlap another collective of their rank", network != NULL},
    };
    fprintf(stderr, "sutra: linked into %s\n", folder);
    summary_print(rows, COUNT_OF(rows));
    fprintf(stderr, "%16s  read\n%16s  written\n", bytes_text(n_read).text, bytes_text(n_written).text);
    if (whole->matched_collectives)
        fprintf(stderr, "%16s  measured, from the first start to the last end of a rank\n",
                time_text(whole->matched_collectives->measured_us).text);
    print_coverage(whole);
}

/* Aggregates the records of all shards and processes. */
static int combine_records(struct ranks_run *run, const char *folder) {
    struct job *job = run->job;
    struct job_whole whole;
    struct sutra_error error;
    enum sutra_status status = job_whole_read(&whole, folder, &error);
    if (!status && whole.matched_collectives) {
        struct second_pass_options options = {
            .folder = folder,
            .context = {.size = sizeof options.context, .force = job->options.force, .n_threads = threads_of(job)},
            .memory = run->link->memory,
            .temporary = on_rank_temporary,
            .arg = run,
        };
        progress_line(&job->watch.progress, "match collectives");
        status = second_pass_run(&whole, &options, &error);
    }
    if (!status)
        status = job_whole_write(&whole, job->context, folder, &error);
    progress_clear(&job->watch.progress);
    if (status) {
        job_whole_free(&whole);
        return message_error(&error);
    }
    report_findings(&whole, job->log_level <= LOG_WARNING);
    if (job->log_level <= LOG_INFO)
        print_summary(run, &whole, folder);
    int exit_code = whole.n_missing > 0 || whole.n_ranks == 0 ? SUTRA_DATA : SUTRA_OK;
    for (size_t i = 0; i < whole.n_ranks; i++)
        if (whole.ranks[i].state == RANK_BROKEN)
            exit_code = (int)graver_failure((enum sutra_status)exit_code, whole.ranks[i].status);
    job_whole_free(&whole);
    return exit_code;
}

/* `exit_code`: of the plan; a failure is also reported to the other processes. */
static int link_and_combine(struct ranks_run *run, int exit_code) {
    const struct process_plan *plan = run->job->plan;
    if (plan && !plan->begin(plan->arg, exit_code == SUTRA_OK ? run->plan.n_pairs : SIZE_MAX))
        return exit_code != SUTRA_OK ? exit_code : SUTRA_NO_INPUT;
    if (exit_code == SUTRA_OK)
        exit_code = link_planned_ranks(run);
    if (plan)
        plan->end(plan->arg);
    if (exit_code != SUTRA_OK || (plan && !plan->is_first))
        return exit_code;
    return run->link->shard ? (int)run->failure : combine_records(run, run->job->output);
}

/* Links the ranks of a window, or of both directories. `exit_code`: of the preparation. */
static int link_window(struct link_job *link, int exit_code) {
    struct job *job = &link->pair.job;
    struct ranks_run run = {.link = link, .job = job, .next = link->shard_index};
    struct sutra_error error;
    if (exit_code == SUTRA_OK && job_open(job, NULL, &error))
        exit_code = message_error(&error);
    if (exit_code == SUTRA_OK)
        job->context->may_replace_links = true;
    if (exit_code == SUTRA_OK && link->combine) {
        exit_code = combine_records(&run, job->output);
    } else {
        if (exit_code == SUTRA_OK)
            exit_code = plan_ranks(&run);
        if (!link->dry_run)
            exit_code = link_and_combine(&run, exit_code);
    }
    progress_clear(&job->watch.progress);
    job_plan_free(&run.plan);
    return exit_code;
}

int link_ranks(struct link_job *link) {
    struct job *job = &link->pair.job;
    const char **folders = link->pair.traces;
    const struct run_inputs *run = &job->run;
    bool is_plain = true; /* the files of both directories are paired without a choice */
    int exit_code = SUTRA_OK;
    if (!link->table && !link->combine) {
        const struct operands devices = {.words = (char **)&folders[DEVICE_TRACE], .n = 1};
        job->selection.needs_one_role = job->selection.reads_hosts = true;
        exit_code = run_inputs_open(job, &devices, &job->selection, &job->run);
        if (exit_code == SUTRA_OK && !paths_same_folder(folders[HOST_TRACE], folders[DEVICE_TRACE]))
            exit_code = run_list(job, &folders[HOST_TRACE], 1, NULL, &link->hosts);
        is_plain = run->n == 0 || (run->run.is_flat && link->hosts.n_folders <= 1);
    }
    if (exit_code != SUTRA_OK || is_plain || !window_is_all(job->selection.window)) {
        job->window = is_plain ? NULL : run->windows;
        return link_window(link, exit_code);
    }
    if (job->plan)
        return message_fail(SUTRA_USAGE, "--window all: one process links all windows; several processes link one");
    if (!link->dry_run)
        TRY_CODE(folder_make(job->output));
    for (const struct chosen_window *window = run->windows; window < run->windows + run->n; window++) {
        struct link_job copy = *link; /* each window is a job of its own */
        char folder[PATH_MAX];
        snprintf(folder, sizeof folder, "%s/window-%zu", link->dry_run ? "" : job->output, window->window);
        copy.pair.job.output = folder;
        copy.pair.job.window = window;
        if (link->dry_run)
            printf("# window %zu\n", window->window);
        const int status = link_window(&copy, SUTRA_OK);
        sutra_context_free(copy.pair.job.context);
        exit_code = exit_code == SUTRA_OK ? status : exit_code;
    }
    return exit_code;
}
