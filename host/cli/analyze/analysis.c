/*
 * analysis.c - implements analysis.h.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/launches/graphs.h"
#include "base/error.h"
#include "cli/analyze/analysis.h"
#include "cli/job.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "context/context.h"
#include "read/source.h"
#include "report/sections.h"
#include "sutra/link.h"
#include "text/numbers.h"
#include "text/quantities.h"
#include "write/sink.h"

#define SHARE_FOLDER ".parts"

const char *const table_formats[] = {"csv", "json", "arrow", NULL};
const struct stage_share analysis_stages[] = {
    {"analyze ranks", 90, false}, STAGES_READ("device trace", 55), {"analyze", 35, false}, {"write", 10, false}, {0}};

void print_graphs(const struct sutra_table *table, int64_t rank) {
    struct graph_totals totals[GRAPHS_N];
    graph_totals_of(table, rank, totals);
    const char *title = "graphs";
    for (int k = 0; k < GRAPHS_UNMATCHED; k++) {
        const char *remark = graph_remark(totals[k].confidence);
        if (totals[k].n == 0)
            continue;
        printf("  %-11s %11s %7s  %s%s%s\n", title, time_text(totals[k].us).text,
               share_text(totals[k].percent, 100).text,
               counted_text(totals[k].n, "kernel of graphs", "kernels of graphs").text, *remark ? ", " : "", remark);
        title = "";
    }
}

void print_unmatched_graphs(const struct sutra_table *table, int64_t rank) {
    struct graph_totals totals[GRAPHS_N];
    char text[512];
    graph_totals_of(table, rank, totals);
    if (!totals[GRAPHS_UNMATCHED].n)
        return;
    snprintf(text, sizeof text, "%s (%s of GPU time) of graph launches have %s",
             counted_text(totals[GRAPHS_UNMATCHED].n, "kernel", "kernels").text,
             share_text(totals[GRAPHS_UNMATCHED].percent, 100).text, graph_remark("none"));
    putchar('\n');
    wrapped_print(text, 0, 0);
}

/* ---- Result files ---- */

enum sutra_status result_file_path(const struct analysis *analysis, const char *name, int64_t rank,
                                   const char *extension, struct result_path *path, struct sutra_error *error) {
    char of_rank[32] = "";
    if (rank != RANK_ALL)
        snprintf(of_rank, sizeof of_rank, ".rank%" PRId64, rank);
    int length =
        snprintf(path->text, sizeof path->text, "%s/%s%s.%s", analysis->results.path, name, of_rank, extension);
    if (length < 0 || (size_t)length >= sizeof path->text)
        return error_set(error, SUTRA_NO_OUTPUT, "the path of the output directory is too long");
    return SUTRA_OK;
}

enum sutra_status analysis_write_table(struct analysis *analysis, const struct sutra_table *table, int64_t rank,
                                       struct sutra_error *error) {
    struct result_path path = {.text = ""};
    uint64_t n_bytes = 0;
    if (!table)
        return SUTRA_OK;
    TRY(result_file_path(analysis, sutra_table_name(table), rank, table_formats[analysis->table_format], &path, error));
    if (analysis->table_format == TABLE_ARROW) {
        struct ArrowArrayStream stream;
        TRY(sutra_table_arrow(table, &stream, error));
        TRY(sutra_columns_write(analysis->job.context, &stream, path.text, NULL, &n_bytes, error));
    } else {
        TRY(sutra_table_write(analysis->job.context, table, (enum sutra_table_format)analysis->table_format, path.text,
                              &n_bytes, error));
    }
    analysis->job.figures.output_bytes += n_bytes;
    return SUTRA_OK;
}

enum sutra_status analysis_write_tables(struct analysis *analysis, const struct sutra_result *result, int64_t rank,
                                        struct sutra_error *error) {
    for (uint32_t id = 0; id < sutra_result_n_tables(result); id++)
        TRY(analysis_write_table(analysis, sutra_result_table(result, id, NULL), rank, error));
    return SUTRA_OK;
}

/* ---- The directory of the results; sutra nests directories at most two deep, so recursion is safe ---- */

#define FOLDER_DEPTH_MAX 8

/* The action on the files of a directory. */
enum walk { WALK_REMOVE, WALK_CHECK, WALK_MOVE };

static int cannot_write(const char *path) {
    return message_fail(SUTRA_NO_OUTPUT, "%s: cannot be written: %s", path, strerror(errno));
}

/* Removes or moves a file, or checks that it can be moved. */
static int apply_to_file(enum walk walk, const char *from, const char *to, const struct result_folder *folder) {
    struct sutra_error error;
    struct stat found;
    if (walk == WALK_REMOVE)
        return unlink(from) ? cannot_write(from) : SUTRA_OK;
    if (walk == WALK_MOVE)
        return rename(from, to) ? cannot_write(to) : SUTRA_OK;
    if (lstat(to, &found) == 0 && S_ISDIR(found.st_mode)) {
        errno = EISDIR;
        return cannot_write(to);
    }
    for (size_t i = 0; i < folder->n_inputs; i++)
        if (paths_same(folder->inputs[i], to))
            return message_fail(SUTRA_USAGE, "%s: the results would overwrite this input; select another --output",
                                folder->inputs[i]);
    return !folder->force && sutra_output_check(to, &error) ? message_error(&error) : SUTRA_OK;
}

static int walk_folder(enum walk walk, const char *from, const char *to, const struct result_folder *folder, int depth);

static int apply_to_entry(enum walk walk, const char *from, const char *to, const char *name,
                          const struct result_folder *folder, int depth) {
    char file[PATH_MAX], target[PATH_MAX];
    struct stat found;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return SUTRA_OK;
    errno = ENAMETOOLONG;
    if (snprintf(file, sizeof file, "%s/%s", from, name) >= (int)sizeof file ||
        snprintf(target, sizeof target, "%s/%s", to, name) >= (int)sizeof target || lstat(file, &found))
        return cannot_write(name);
    return S_ISDIR(found.st_mode) ? walk_folder(walk, file, target, folder, depth + 1)
                                  : apply_to_file(walk, file, target, folder);
}

static int walk_folder(enum walk walk, const char *from, const char *to, const struct result_folder *folder,
                       int depth) {
    struct stat found;
    if (walk == WALK_CHECK && stat(to, &found) && errno == ENOENT)
        return SUTRA_OK; /* a new directory has no files to replace */
    if (depth > 0 && walk != WALK_REMOVE && lstat(to, &found) == 0 && S_ISLNK(found.st_mode))
        return message_fail(SUTRA_NO_OUTPUT, "%s: cannot be written: a symbolic link may lead out of the directory",
                            to);
    if (depth > FOLDER_DEPTH_MAX || (walk != WALK_REMOVE && !path_make_folder(to)))
        return cannot_write(to);
    DIR *list = opendir(from);
    if (!list)
        return cannot_write(from);
    int exit_code = SUTRA_OK;
    const struct dirent *entry;
    /* cppcheck-suppress readdirCalled; no other thread reads this list */
    while (exit_code == SUTRA_OK && (entry = readdir(list)))
        exit_code = apply_to_entry(walk, from, to, entry->d_name, folder, depth);
    closedir(list);
    if (exit_code == SUTRA_OK && walk != WALK_CHECK && rmdir(from))
        exit_code = cannot_write(from);
    return exit_code;
}

/* Creates and locks incomplete.sutra, or removes the one of a killed run first. */
static int create_result_folder(struct result_folder *folder) {
    const char *target = folder->target;
    if (folder_make(target) != SUTRA_OK)
        return SUTRA_NO_OUTPUT;
    errno = ENAMETOOLONG;
    if (snprintf(folder->path, sizeof folder->path, "%s/incomplete.sutra", target) >= (int)sizeof folder->path)
        return cannot_write(target);
    bool exists = mkdir(folder->path, 0777) != 0;
    if (exists && errno != EEXIST)
        return cannot_write(folder->path);
    folder->lock = open(folder->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder->lock < 0)
        return cannot_write(folder->path);
    if (flock(folder->lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
        close(folder->lock);
        return message_fail(SUTRA_NO_OUTPUT, "%s: another run is writing to this directory", folder->target);
    }
    if (!exists) {
        interrupt_guard_set_folder(folder->path);
        return SUTRA_OK;
    }
    int exit_code = walk_folder(WALK_REMOVE, folder->path, folder->path, folder, 0);
    close(folder->lock);
    return exit_code == SUTRA_OK ? create_result_folder(folder) : exit_code;
}

/* Moves the files to the target if they are complete, else removes them. */
static int close_result_folder(struct result_folder *folder, bool is_complete) {
    int exit_code = SUTRA_OK;
    if (!folder->target)
        return SUTRA_OK;
    interrupt_hold(); /* a signal between two moves would leave old and new files */
    if (is_complete)
        exit_code = walk_folder(WALK_CHECK, folder->path, folder->target, folder, 0);
    if (is_complete && exit_code == SUTRA_OK)
        exit_code = walk_folder(WALK_MOVE, folder->path, folder->target, folder, 0);
    else
        walk_folder(WALK_REMOVE, folder->path, folder->path, folder, 0);
    interrupt_guard_set_folder(NULL);
    interrupt_release();
    close(folder->lock);
    return exit_code;
}

int result_folder_remove(const char *path) {
    struct stat found;
    if (lstat(path, &found))
        return SUTRA_OK;
    if (!S_ISDIR(found.st_mode)) /* a link may lead out of the directory */
        return apply_to_file(WALK_REMOVE, path, path, NULL);
    return walk_folder(WALK_REMOVE, path, path, NULL, 0);
}

/* ---- Ranks shared between processes ---- */

bool analysis_is_shared(const struct analysis *analysis) {
    return analysis->shard || analysis->combine || analysis->job.plan;
}

void analysis_share_path(const struct analysis *analysis, size_t number, char path[SHARE_PATH_MAX]) {
    snprintf(path, SHARE_PATH_MAX, "%s/%zu", analysis->share_folder, number);
}

void analysis_share_files(const struct analysis *analysis, size_t number, char path[SHARE_PATH_MAX]) {
    snprintf(path, SHARE_PATH_MAX, "%s/%zu.files", analysis->share_folder, number);
}

/* Removes the results of all traces and ranks; the number of ranks of a trace is unknown here. */
static void remove_shared_results(const struct analysis *analysis) {
    DIR *list = opendir(analysis->share_folder);
    const struct dirent *entry;
    /* cppcheck-suppress readdirCalled; no other thread reads this list */
    while (list && (entry = readdir(list))) {
        char path[SHARE_PATH_MAX + sizeof entry->d_name];
        size_t digits = strspn(entry->d_name, "0123456789");
        const char *ending = entry->d_name + digits;
        if (digits == 0 || (*ending && strcmp(ending, ".files") != 0))
            continue;
        snprintf(path, sizeof path, "%s/%s", analysis->share_folder, entry->d_name);
        result_folder_remove(path);
    }
    if (list)
        closedir(list);
}

static enum sutra_status copy_file(struct sutra_context *context, const char *from, const char *to,
                                   struct sutra_error *error) {
    struct source source = {0};
    struct sink *sink;
    enum sutra_status status = source_open_any(&source, from, 0, error);
    if (!status)
        status = sink_open(&sink, context, to, error);
    if (!status) {
        sink_write(sink, 0, source.bytes, source.size);
        status = sink_close(sink, true, NULL, error);
    }
    source_close(&source);
    return status;
}

static enum sutra_status copy_folder(struct sutra_context *context, const char *from, const char *to,
                                     struct sutra_error *error);

static enum sutra_status copy_entry(struct sutra_context *context, const char *from, const char *to, const char *name,
                                    struct sutra_error *error) {
    char *file = NULL, *copy = NULL;
    bool named = asprintf(&file, "%s/%s", from, name) >= 0 && asprintf(&copy, "%s/%s", to, name) >= 0;
    enum sutra_status status = named ? SUTRA_OK : error_memory(error);
    struct stat found;
    if (named && name[0] != '.' && lstat(file, &found) == 0 && !S_ISLNK(found.st_mode))
        status = (S_ISDIR(found.st_mode) ? copy_folder : copy_file)(context, file, copy, error);
    free(file);
    free(copy);
    return status;
}

/* The directory has at most one level of subdirectories. */
static enum sutra_status copy_folder(struct sutra_context *context, const char *from, const char *to,
                                     struct sutra_error *error) {
    DIR *list = path_make_folder(to) ? opendir(from) : NULL;
    const struct dirent *entry;
    enum sutra_status status = SUTRA_OK;
    if (!list)
        return error_os(error, SUTRA_NO_OUTPUT, to, errno, "");
    /* cppcheck-suppress readdirCalled; no other thread reads this list */
    while (!status && (entry = readdir(list)))
        status = copy_entry(context, from, to, entry->d_name, error);
    closedir(list);
    return status;
}

enum sutra_status analysis_share_copy(const struct analysis *analysis, size_t number, const char *folder,
                                      struct sutra_error *error) {
    char files[SHARE_PATH_MAX];
    analysis_share_files(analysis, number, files);
    return copy_folder(analysis->job.context, files, folder, error);
}

static bool next_trace(void *arg, size_t *number) {
    const struct process_plan *plan = ((const struct analysis *)arg)->job.plan;
    return plan->next(plan->arg, number);
}

static void end_plan(void *arg) {
    struct analysis *analysis = arg;
    if (!analysis->has_ended)
        analysis->job.plan->end(analysis->job.plan->arg);
    analysis->has_ended = true;
}

/* Checks the options, and creates the directory for the results of traces. */
static int prepare_share(struct analysis *analysis) {
    const char *output = analysis->job.output;
    if (!output)
        return message_fail(SUTRA_USAGE, "several processes need an output directory: -o DIR");
    if ((analysis->shard != NULL) + analysis->combine + (analysis->job.plan != NULL) > 1)
        return message_fail(SUTRA_USAGE, "--shard and --combine exclude each other; MPI processes need neither");
    int length = snprintf(analysis->share_folder, sizeof analysis->share_folder, "%s/" SHARE_FOLDER, output);
    if (length >= (int)sizeof analysis->share_folder)
        return message_fail(SUTRA_NO_OUTPUT, "%s: path too long", output);
    TRY_CODE(folder_make(output));
    if (!path_make_own_folder(analysis->share_folder))
        return message_fail(SUTRA_NO_OUTPUT, "%s: cannot create the directory: %s", analysis->share_folder,
                            strerror(errno));
    if (analysis->shard)
        TRY_CODE(shard_parse(analysis->shard, &analysis->plan.shard, &analysis->plan.n_shards));
    if (analysis->job.plan && analysis->job.plan->is_first)
        remove_shared_results(analysis);
    return SUTRA_OK;
}

/* Begins sharing, if requested. `exit_code`: of the checks; a failure is also reported to the other processes.
 * Processes that leave the results to another one have no output. */
static int begin_share(struct analysis *analysis, int exit_code) {
    const struct process_plan *processes = analysis->job.plan;
    struct shard_plan *plan = &analysis->plan;
    if (!analysis_is_shared(analysis))
        return exit_code;
    if (exit_code == SUTRA_OK)
        exit_code = prepare_share(analysis);
    if (processes && !processes->begin(processes->arg, exit_code == SUTRA_OK ? analysis->job.traces.n : SIZE_MAX))
        return exit_code == SUTRA_OK ? SUTRA_NO_INPUT : exit_code;
    if (exit_code != SUTRA_OK)
        return exit_code;
    analysis->is_shared = true;
    plan->folder = analysis->share_folder;
    plan->arg = analysis;
    plan->combines = processes ? processes->is_first : analysis->combine;
    if (processes) {
        plan->next = next_trace;
        plan->end = end_plan;
    }
    if (!plan->combines)
        analysis->job.output = NULL;
    analysis->print_path &= plan->combines;
    analysis->no_report |= !plan->combines;
    return SUTRA_OK;
}

/* Whether a directory has the results of n traces. */
static bool has_results(const char *folder, size_t n) {
    char path[SHARE_PATH_MAX + 32];
    for (size_t i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%zu", folder, i);
        if (access(path, F_OK) != 0)
            return false;
    }
    return true;
}

/* Ends sharing; `exit_code`: of the work. Removes the results of traces if all are present, else returns SUTRA_DATA, so
 * that missing traces can be analyzed. */
static int end_share(struct analysis *analysis, int exit_code) {
    if (!analysis->is_shared)
        return exit_code;
    if (analysis->job.plan)
        end_plan(analysis);
    if (!analysis->plan.combines || exit_code != SUTRA_OK)
        return exit_code;
    if (!analysis->role && !has_results(analysis->share_folder, analysis->job.traces.n))
        return SUTRA_DATA;
    for (size_t i = 0; i < analysis->job.n_windows && analysis->role; i++) {
        char folder[SHARE_PATH_MAX];
        analysis_share_path(analysis, i, folder);
        if (!has_results(folder, analysis->job.window[i].n))
            return SUTRA_DATA;
    }
    remove_shared_results(analysis);
    rmdir(analysis->share_folder);
    return SUTRA_OK;
}

/* ---- The run ---- */

int analysis_check(struct job *job) {
    const struct analysis *analysis = (const struct analysis *)job;
    job->n_inputs = 0; /* check_files() checks the listed traces */
    if (analysis->print_path && (!job->output || analysis->no_report))
        return message_fail(SUTRA_USAGE, "--print-path needs --output and a report (no --no-report)");
    return analysis->kind->rereads && job->operands.n == 1 ? job_spool_operand(job) : SUTRA_OK;
}

/* Parses lists such as "0-3,8". */
static int parse_restriction(struct analysis *analysis) {
    struct sutra_restriction *restriction = &analysis->restriction;
    const struct option_list *lists = &analysis->rank_lists;
    restriction->size = sizeof *restriction;
    restriction->ranks = analysis->ranks;
    for (size_t i = 0; i < lists->n; i++)
        for (const char *at = lists->texts[i], *end; at; at = *end ? end + 1 : NULL) {
            end = at + strcspn(at, ",");
            const char *dash = memchr(at, '-', (size_t)(end - at)), *first_end = dash ? dash : end;
            struct sutra_rank_range range;
            bool valid =
                restriction->n_ranks < ANALYSIS_RANGES_MAX && integer_parse(at, (size_t)(first_end - at), &range.first);
            if (valid && dash)
                valid = integer_parse(dash + 1, (size_t)(end - dash - 1), &range.last) && range.first <= range.last;
            else if (valid)
                range.last = range.first;
            if (!valid)
                return message_fail(SUTRA_USAGE, "--rank '%s': expected ranks such as 0-3,8", lists->texts[i]);
            analysis->ranks[restriction->n_ranks++] = range;
        }
    if (restriction->to_us > 0 && restriction->to_us <= restriction->from_us)
        return message_fail(SUTRA_USAGE, "--to-us must be after --from-us");
    return SUTRA_OK;
}

/* Checks that no input is named twice, and that neither statistics nor results overwrite an input. */
static int check_files(const struct analysis *analysis) {
    static const char *const extensions[] = {".csv", ".html", ".svg",
                                             ".arrow"}; /* of results, besides tables as JSON */
    const struct job *job = &analysis->job;
    size_t earlier = 0;
    TRY_CODE(job_check_stats(job->stats, NULL, job->inputs, job->n_inputs));
    TRY_CODE(run_check_output(&job->operands, job->stats));
    if (!analysis->repeats_inputs) {
        size_t later = paths_find_duplicate(job->inputs, job->n_inputs, &earlier);
        if (later == SIZE_MAX)
            return message_fail(SUTRA_SYSTEM, "out of memory");
        if (later < job->n_inputs)
            return message_fail(SUTRA_USAGE, "%s: the same file as %s: pass each trace once", job->inputs[later],
                                job->inputs[earlier]);
    }
    for (size_t i = 0; job->output && i < job->n_inputs; i++)
        for (size_t k = 0; k < COUNT_OF(extensions); k++)
            if (path_ends_in(job->inputs[i], extensions[k]) && path_is_in(job->inputs[i], job->output))
                return message_fail(SUTRA_USAGE, "%s: the results could overwrite this input; select another --output",
                                    job->inputs[i]);
    struct sutra_error error;
    if (job->stats && !job->options.force && sutra_output_check(job->stats, &error))
        return message_error(&error);
    return SUTRA_OK;
}

/* Analyzes the traces; writes all results or none. */
static int write_results(struct analysis *analysis) {
    struct job *job = &analysis->job;
    struct result_folder *results = &analysis->results;
    struct sutra_error error;
    int exit_code = SUTRA_OK;
    TRY_CODE(check_files(analysis));
    *results = (struct result_folder){.target = job->output,
                                      .inputs = job->inputs,
                                      .n_inputs = job->n_inputs,
                                      .force = job->options.force,
                                      .lock = -1};
    if (results->target) {
        interrupt_hold();
        exit_code = create_result_folder(results);
        interrupt_release();
        TRY_CODE(exit_code);
    }
    enum sutra_status status = job_open(job, NULL, &error);
    if (!status) {
        job->context->may_replace_links = true;
        job->context->plan = analysis->is_shared ? &analysis->plan : NULL;
        status = analysis->kind->work(analysis, &error);
    }
    progress_clear(&job->watch.progress);
    if (status)
        exit_code = message_error(&error);
    int closed = close_result_folder(results, exit_code == SUTRA_OK);
    return exit_code == SUTRA_OK ? closed : exit_code;
}

/* Lists the captures of graphs in --capture, and the ones in the run. */
static int list_captures(struct analysis *analysis) {
    const struct run *run = &analysis->job.run.run;
    const struct operands named = {(unsigned)analysis->captures.n, (char **)analysis->captures.texts};
    struct trace_list *files = &analysis->capture_files;
    TRY_CODE(trace_list_add(files, &named, NAMES_JSON));
    const size_t n_named = files->n;
    if (analysis->kind->reads_captures)
        TRY_CODE(run_add_skipped(run, RUN_CAPTURE, files, NAMES_JSON));
    if (files->n > n_named && analysis->job.log_level <= LOG_INFO)
        fprintf(stderr, "sutra: %s: %s used\n", run->path,
                counted_text(files->n - n_named, "capture of graphs is", "captures of graphs are").text);
    return SUTRA_OK;
}

/* Analyzes the inputs of the job, and reports. `exit_code`: of the preparation. */
static int run_inputs(struct analysis *analysis, int exit_code) {
    struct job *job = &analysis->job;
    const struct trace_list *traces = &job->traces;
    if (exit_code == SUTRA_OK)
        exit_code = list_captures(analysis);
    if (exit_code == SUTRA_OK && analysis->kind->check)
        exit_code = analysis->kind->check(analysis);
    if (exit_code == SUTRA_OK && !analysis->combine)
        exit_code = paths_check_inputs((const char *const *)job->operands.words, job->operands.n);
    exit_code = begin_share(analysis, exit_code);
    if (exit_code == SUTRA_OK)
        exit_code = write_results(analysis);
    int ended = end_share(analysis, exit_code);
    if (exit_code == SUTRA_OK && (!analysis->is_shared || analysis->plan.combines)) {
        job_measure(job, traces->streams ? 0 : traces->n_bytes, trace_list_largest(traces, job->options.n_threads));
        exit_code = analysis->kind->report(analysis);
    }
    return exit_code == SUTRA_OK ? ended : exit_code;
}

/* Runs a copy of the analysis for windows of a role; with several roles, the output is a directory per role. */
static int run_role(const struct analysis *analysis, const struct run_pick *pick, const struct chosen_window *windows) {
    const struct run *run = &analysis->job.run.run;
    const size_t size = analysis->job.command->size;
    struct analysis *copy = malloc(size);
    int exit_code = SUTRA_OK;
    if (!copy)
        return message_fail(SUTRA_SYSTEM, "out of memory");
    memcpy(copy, analysis, size);
    copy->job.traces = (struct trace_list){0};
    copy->restriction.ranks = copy->ranks;
    copy->role = window_is_all(analysis->job.selection.window) ? pick->role : NULL;
    if (analysis->job.output && run->n_picks > 1) {
        char *name = arena_text(run->arena, windows->role, strlen(windows->role));
        for (char *at = name; at && *at; at++)
            *at = strchr("[]/", *at) ? '_' : *at;
        copy->job.output = arena_format(run->arena, "%s/%s", analysis->job.output, name ? name : "");
        exit_code =
            run->arena->failed ? message_fail(SUTRA_SYSTEM, "out of memory") : folder_make(analysis->job.output);
    }
    if (exit_code == SUTRA_OK)
        exit_code = job_use_windows(&copy->job, windows, pick->n);
    if (exit_code == SUTRA_OK)
        exit_code = run_inputs(copy, SUTRA_OK);
    if (copy->job.command->release)
        copy->job.command->release(&copy->job);
    sutra_context_free(copy->job.context);
    trace_list_free(&copy->job.traces);
    free(copy);
    return exit_code;
}

int analysis_run(struct job *job) {
    struct analysis *analysis = (struct analysis *)job;
    const struct analysis_kind *kind = analysis->kind;
    const struct run *run = &job->run.run;
    int exit_code = parse_restriction(analysis);
    if (exit_code == SUTRA_OK && window_is_all(job->selection.window) && !kind->between_roles)
        exit_code = message_fail(SUTRA_USAGE,
                                 "--window all: %s reads one window; 'sutra analyze RUN --window all' "
                                 "compares all",
                                 job->command->called);
    job->selection.needs_one_role = !kind->between_roles || job->plan;
    if (exit_code == SUTRA_OK)
        exit_code = kind->list ? kind->list(analysis) : job_list_inputs(job, analysis->names);
    const bool is_all = window_is_all(job->selection.window); /* list() may select them */
    if (exit_code == SUTRA_OK && is_all && job->run.n == 0)
        return message_fail(SUTRA_USAGE, "--window all needs the directory of a run");
    const size_t n = is_all || !run_inputs_are_plain(&job->run) ? run->n_picks : 0;
    if (exit_code != SUTRA_OK || (n <= 1 && !is_all))
        return run_inputs(analysis, exit_code);
    bool fails = false; /* a gate fails; all roles are tested */
    const struct chosen_window *windows = job->run.windows;
    for (size_t i = 0; i < n && exit_code == SUTRA_OK; windows += run->picks[i++].n) {
        if (n > 1)
            kind->between_roles(analysis, i, n);
        exit_code = run_role(analysis, &run->picks[i], windows);
        fails |= exit_code == SUTRA_STRICT;
        exit_code = exit_code == SUTRA_STRICT ? SUTRA_OK : exit_code;
    }
    if (exit_code == SUTRA_OK && n > 1)
        kind->between_roles(analysis, n, n);
    return exit_code == SUTRA_OK && fails ? SUTRA_STRICT : exit_code;
}

int analysis_close(struct analysis *analysis, const struct named_count *counts, size_t n,
                   const struct named_count *more, size_t n_more) {
    struct job *job = &analysis->job;
    struct sutra_error error;
    if (job->output && sutra_report_link(job->context, job->output, &error))
        return message_error(&error);
    if (!job->quiet)
        fprintf(stderr, "%.3f s, %s peak memory\n", job->figures.seconds, bytes_text(job->figures.peak_memory).text);
    if (analysis->print_path)
        report_path_print(job->output, analysis->kind->page);
    return job_write_stats(job, NULL, counts, n, more, n_more);
}
