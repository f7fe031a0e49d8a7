/*
 * analysis.c - argument checks before an analysis, and its closing summary lines.
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

#include "base/error.h"
#include "cli/analyze/analysis.h"
#include "cli/job.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "context/context.h"
#include "read/source.h"
#include "sutra/link.h"
#include "text/numbers.h"
#include "text/quantities.h"
#include "write/sink.h"

/*
 * Directory for partial results of several processes, and assignment of traces to processes.
 */

#define PARTS_FOLDER ".parts"

/* Whether the words ask for it. */
static bool analysis_is_shared(const struct analysis_values *values, const struct job_team *processes) {
    return values->part || values->finish || processes;
}

static int make_folders(struct analysis_share *share, const char *output) {
    int length = snprintf(share->folder, sizeof share->folder, "%s/" PARTS_FOLDER, output);
    if (length >= (int)sizeof share->folder)
        return message_fail(SUTRA_NO_OUTPUT, "%s: path too long", output);
    int exit_code = folder_make(output);
    if (exit_code == SUTRA_OK && !path_make_own_folder(share->folder))
        exit_code =
            message_fail(SUTRA_NO_OUTPUT, "%s: cannot create the directory: %s", share->folder, strerror(errno));
    return exit_code;
}

static void path_of_result(const struct analysis_share *share, size_t number, char path[SHARE_PATH_MAX]) {
    snprintf(path, SHARE_PATH_MAX, "%s/%zu", share->folder, number);
}

void analysis_share_files(const struct analysis_share *share, size_t number, char path[SHARE_PATH_MAX]) {
    snprintf(path, SHARE_PATH_MAX, "%s/%zu.files", share->folder, number);
}

static void remove_results(const struct analysis_share *share, const struct trace_list *traces) {
    char path[SHARE_PATH_MAX];
    for (size_t i = 0; i < traces->n; i++) {
        path_of_result(share, i, path);
        unlink(path);
        analysis_share_files(share, i, path);
        result_folder_remove(path);
    }
}

/* ---- Files about a trace ---- */

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
    char *file = NULL, *place = NULL;
    bool named = asprintf(&file, "%s/%s", from, name) >= 0 && asprintf(&place, "%s/%s", to, name) >= 0;
    enum sutra_status status = named ? SUTRA_OK : error_memory(error);
    struct stat found;
    if (named && name[0] != '.' && lstat(file, &found) == 0 && !S_ISLNK(found.st_mode))
        status = (S_ISDIR(found.st_mode) ? copy_folder : copy_file)(context, file, place, error);
    free(file);
    free(place);
    return status;
}

/* Folders in it are those that we made, one deep. */
static enum sutra_status copy_folder(struct sutra_context *context, const char *from, const char *to,
                                     struct sutra_error *error) {
    DIR *list = path_make_folder(to) ? opendir(from) : NULL;
    const struct dirent *entry;
    enum sutra_status status = SUTRA_OK;
    if (!list)
        return error_file(error, SUTRA_NO_OUTPUT, to, "%s", strerror(errno));
    /* cppcheck-suppress readdirCalled; nobody else reads this list */
    while (!status && (entry = readdir(list)))
        status = copy_entry(context, from, to, entry->d_name, error);
    closedir(list);
    return status;
}

enum sutra_status analysis_share_copy(const struct analysis_share *share, struct sutra_context *context, size_t number,
                                      const char *folder, struct sutra_error *error) {
    char files[SHARE_PATH_MAX];
    analysis_share_files(share, number, files);
    return copy_folder(context, files, folder, error);
}

/* ---- Who does what ---- */

static bool all_are_there(const struct analysis_share *share, const struct trace_list *traces) {
    char path[SHARE_PATH_MAX];
    size_t i = 0;
    for (bool there = true; i < traces->n && there; i += there) {
        path_of_result(share, i, path);
        there = access(path, F_OK) == 0;
    }
    return i == traces->n;
}

static int check_words(const struct analysis_values *values, const struct job_team *processes) {
    if (!values->job.output)
        return message_fail(SUTRA_USAGE, "several processes need an output directory: -o DIR");
    if ((values->part != NULL) + values->finish + (processes != NULL) > 1)
        return message_fail(SUTRA_USAGE, "--shard and --combine exclude each other; MPI processes need neither");
    return SUTRA_OK;
}

static bool next_trace(void *arg, size_t *number) {
    const struct analysis_share *share = arg;
    return share->processes->next(share->processes->arg, number);
}

static void tell_end(void *arg) {
    struct analysis_share *share = arg;
    if (!share->has_ended)
        share->processes->end(share->processes->arg);
    share->has_ended = true;
}

static void take_words(struct analysis_share *share, struct analysis_values *values, const struct job_team *processes) {
    share->is_on = true;
    share->team.folder = share->folder;
    share->team.arg = share;
    share->team.takes = processes ? processes->is_first : values->finish;
    if (processes) {
        share->team.next = next_trace;
        share->team.end = tell_end;
        values->job.where.n_threads = values->job.where.n_threads ? values->job.where.n_threads : processes->n_threads;
    }
    if (!share->team.takes)
        values->job.output = NULL;
    values->open &= share->team.takes;
    values->no_report |= !share->team.takes;
}

/* Begins, where the words ask for it, once the list of traces is there (`exit_code`: or is not); makes the output's
 * folder. Processes that leave the results to another one get values without an output. Returns SUTRA_OK, or another
 * exit code after it has said what is wrong; then there is nothing to end. */
static int analysis_share_begin(struct analysis_share *share, struct analysis_values *values,
                                const struct job_team *processes, const struct trace_list *traces, int exit_code) {
    *share = (struct analysis_share){.processes = processes};
    if (!analysis_is_shared(values, processes))
        return exit_code;
    if (exit_code == SUTRA_OK)
        exit_code = check_words(values, processes);
    if (exit_code == SUTRA_OK)
        exit_code = make_folders(share, values->job.output);
    if (exit_code == SUTRA_OK && values->part)
        exit_code = part_read(values->part, &share->team.part, &share->team.n_parts);
    if (exit_code == SUTRA_OK && processes && processes->is_first)
        remove_results(share, traces);
    if (processes && !processes->begin(processes->arg, exit_code == SUTRA_OK ? traces->n : SIZE_MAX))
        return exit_code == SUTRA_OK ? SUTRA_NO_INPUT : exit_code;
    if (exit_code == SUTRA_OK)
        take_words(share, values, processes);
    return exit_code;
}

/* Has the context share its ranks. */
static void analysis_share_with(const struct analysis_share *share, struct sutra_context *context) {
    context->team = share->is_on ? &share->team : NULL;
}

/* Whether the results of the work are this process's. */
static bool analysis_share_has_results(const struct analysis_share *share) {
    return !share->is_on || share->team.takes;
}

/* Ends it; `exit_code` is that of the work. Removes what was left for each other if all was there, else returns
 * SUTRA_DATA, so that what is missing can be done. */
static int analysis_share_end(struct analysis_share *share, const struct trace_list *traces, int exit_code) {
    if (!share->is_on)
        return exit_code;
    if (share->processes)
        tell_end(share);
    if (!share->team.takes || exit_code != SUTRA_OK)
        return exit_code;
    if (!all_are_there(share, traces))
        return SUTRA_DATA;
    remove_results(share, traces);
    rmdir(share->folder);
    return SUTRA_OK;
}

/* A run of a kind, for those who know neither. */
struct running {
    const struct analysis_kind *kind;
    struct analysis_run *run;
};

static enum sutra_status do_work(void *arg, struct sutra_error *error) {
    const struct running *running = arg;
    struct analysis_run *run = running->run;
    enum sutra_status status = job_open(&run->job, NULL, error);
    if (!status) {
        run->job.context->own_names = true;
        analysis_share_with(&run->share, run->job.context);
        status = running->kind->work(run, error);
    }
    progress_clear(&run->job.watch.progress);
    return status;
}

static void print_stats(FILE *file, const void *result) {
    const struct running *running = result;
    running->kind->print_counts(file, running->run);
    run_figures_print_json(file, &running->run->job.figures);
}

static int tell(const struct running *running) {
    struct analysis_run *run = running->run;
    job_measure(&run->job, run->traces.streams ? 0 : run->traces.n_bytes,
                trace_list_largest(&run->traces, where_threads(&run->values->job.where)));
    running->kind->print(run);
    return analysis_job_close(&run->job, running->kind->page, print_stats, running);
}

/* What is analyzed, and whether it may be. */
static int list_traces(const struct running *running, const struct operands *operands, bool is_shared) {
    struct analysis_run *run = running->run;
    int exit_code = analysis_part_take(&run->values->wanted, &run->part);
    if (exit_code == SUTRA_OK)
        exit_code = trace_list_make(&run->traces, operands, NAMES_JSON);
    if (exit_code == SUTRA_OK && running->kind->check)
        exit_code = running->kind->check(run, is_shared);
    return exit_code;
}

static int run_listed(struct running *running, const struct operands *operands, const struct job_team *processes) {
    struct analysis_run *run = running->run;
    int exit_code = list_traces(running, operands, analysis_is_shared(run->values, processes));
    exit_code = analysis_share_begin(&run->share, run->values, processes, &run->traces, exit_code);
    if (exit_code == SUTRA_OK)
        exit_code = analysis_job_work(run->values, &run->traces, &run->results, do_work, running);
    int ended = analysis_share_end(&run->share, &run->traces, exit_code);
    if (exit_code == SUTRA_OK && analysis_share_has_results(&run->share))
        exit_code = tell(running);
    return exit_code == SUTRA_OK ? ended : exit_code;
}

int analysis_run(const struct analysis_kind *kind, struct analysis_run *run, struct analysis_values *values,
                 const struct command *command, int argc, char **argv, const struct job_team *processes) {
    struct operands operands;
    int exit_code;
    if (!arguments_parse(command, argc, argv, values, &operands, &exit_code))
        return exit_code;
    if ((exit_code = analysis_values_check(values, &operands, command)) != SUTRA_OK)
        return exit_code;
    run->values = values;
    run->job = analysis_job_start(values);
    return run_listed(&(struct running){kind, run}, &operands, processes);
}

void analysis_run_free(struct analysis_run *run) {
    sutra_context_free(run->job.context);
    trace_list_free(&run->traces);
}

enum sutra_status analysis_write_table(struct analysis_run *run, const struct sutra_table *table, int64_t rank,
                                       struct sutra_error *error) {
    return table_file_write(&run->job, run->results.path, table, rank, (enum sutra_table_format)run->values->tables,
                            error);
}

/*
 * Names and writes the files of tables.
 */

const char *const table_formats[] = {"csv", "json", NULL};

enum sutra_status result_place(const char *folder, const char *name, int64_t rank, const char *ending,
                               struct result_path *path, struct sutra_error *error) {
    char of_rank[32] = "";
    if (rank != RANK_ALL)
        snprintf(of_rank, sizeof of_rank, ".rank%" PRId64, rank);
    int length = snprintf(path->text, sizeof path->text, "%s/%s%s.%s", folder, name, of_rank, ending);
    if (length < 0 || (size_t)length >= sizeof path->text) {
        *error = (struct sutra_error){.status = SUTRA_NO_OUTPUT, .offset = SUTRA_NO_OFFSET};
        snprintf(error->message, sizeof error->message, "the path of the output directory is too long");
        return SUTRA_NO_OUTPUT;
    }
    return SUTRA_OK;
}

enum sutra_status table_file_write(struct job *job, const char *folder, const struct sutra_table *table, int64_t rank,
                                   enum sutra_table_format format, struct sutra_error *error) {
    struct result_path path;
    uint64_t n_bytes = 0;
    enum sutra_status status = result_place(folder, sutra_table_name(table), rank, table_formats[format], &path, error);
    if (!status)
        status = sutra_table_write(job->context, table, format, path.text, &n_bytes, error);
    job->figures.output_bytes += n_bytes;
    return status;
}

/*
 * Creates, moves and removes the files of an analysis. sutra nests directories at most two deep, so
 * recursive walking is safe.
 */

#define FOLDER_DEPTH_MAX 8

/* What is done with the files of a folder, and where they are to go. */
enum walk { WALK_REMOVE, WALK_CHECK, WALK_MOVE };

static int cannot_write(const char *path) {
    return message_fail(SUTRA_NO_OUTPUT, "%s: cannot be written: %s", path, strerror(errno));
}

static int check_file(const char *to, const struct result_folder *folder) {
    struct sutra_error error;
    struct stat there;
    if (lstat(to, &there) == 0 && S_ISDIR(there.st_mode)) {
        errno = EISDIR;
        return cannot_write(to);
    }
    for (size_t i = 0; i < folder->n_inputs; i++)
        if (paths_same(folder->inputs[i], to))
            return message_fail(SUTRA_USAGE, "%s: the results would overwrite this input; select another --output",
                                folder->inputs[i]);
    return !folder->force && sutra_output_check(to, &error) ? message_error(&error) : SUTRA_OK;
}

static int do_file(enum walk walk, const char *from, const char *to, const struct result_folder *folder) {
    if (walk == WALK_CHECK)
        return check_file(to, folder);
    if (walk == WALK_REMOVE ? unlink(from) : rename(from, to))
        return cannot_write(walk == WALK_REMOVE ? from : to);
    return SUTRA_OK;
}

static int walk_folder(enum walk walk, const char *from, const char *to, const struct result_folder *folder, int depth);

static int do_entry(enum walk walk, const char *from, const char *to, const char *name,
                    const struct result_folder *folder, int depth) {
    char file[PATH_MAX], place[PATH_MAX];
    struct stat found;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return SUTRA_OK;
    errno = ENAMETOOLONG;
    if (snprintf(file, sizeof file, "%s/%s", from, name) >= (int)sizeof file ||
        snprintf(place, sizeof place, "%s/%s", to, name) >= (int)sizeof place || lstat(file, &found))
        return cannot_write(name);
    return S_ISDIR(found.st_mode) ? walk_folder(walk, file, place, folder, depth + 1)
                                  : do_file(walk, file, place, folder);
}

/* A folder that is not there yet has no files in the way. */
static bool is_clear(enum walk walk, const char *to) {
    struct stat found;
    return walk == WALK_CHECK && stat(to, &found) && errno == ENOENT;
}

static bool is_link(const char *path) {
    struct stat found;
    return lstat(path, &found) == 0 && S_ISLNK(found.st_mode);
}

static int walk_folder(enum walk walk, const char *from, const char *to, const struct result_folder *folder,
                       int depth) {
    if (is_clear(walk, to))
        return SUTRA_OK;
    if (depth > 0 && walk != WALK_REMOVE && is_link(to))
        return message_fail(SUTRA_NO_OUTPUT, "%s: cannot be written: a symbolic link may lead out of the directory",
                            to);
    if (depth > FOLDER_DEPTH_MAX || (walk != WALK_REMOVE && !path_make_folder(to)))
        return cannot_write(to);
    DIR *list = opendir(from);
    if (!list)
        return cannot_write(from);
    int exit_code = SUTRA_OK;
    const struct dirent *entry;
    /* cppcheck-suppress readdirCalled; nobody else reads this list */
    while (exit_code == SUTRA_OK && (entry = readdir(list)))
        exit_code = do_entry(walk, from, to, entry->d_name, folder, depth);
    closedir(list);
    if (exit_code == SUTRA_OK && walk != WALK_CHECK && rmdir(from))
        exit_code = cannot_write(from);
    return exit_code;
}

/* Opens and locks the folder that a killed run has left, or the one that was just made. */
static int take(struct result_folder *folder) {
    folder->lock = open(folder->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder->lock < 0)
        return cannot_write(folder->path);
    if (flock(folder->lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
        close(folder->lock);
        return message_fail(SUTRA_NO_OUTPUT, "%s: another run is writing to this directory", folder->target);
    }
    return SUTRA_OK;
}

static int begin(struct result_folder *folder) {
    const char *target = folder->target;
    struct stat found;
    folder->made |= stat(target, &found) != 0;
    if (folder_make(target) != SUTRA_OK)
        return SUTRA_NO_OUTPUT;
    errno = ENAMETOOLONG;
    if (snprintf(folder->path, sizeof folder->path, "%s/incomplete.sutra", target) >= (int)sizeof folder->path)
        return cannot_write(target);
    bool left = mkdir(folder->path, 0777) != 0;
    if (left && errno != EEXIST)
        return cannot_write(folder->path);
    int exit_code = take(folder);
    if (exit_code == SUTRA_OK && !left)
        interrupt_guard_set_folder(folder->path, folder->made ? target : NULL);
    if (exit_code != SUTRA_OK || !left)
        return exit_code;
    exit_code = walk_folder(WALK_REMOVE, folder->path, folder->path, folder, 0);
    close(folder->lock);
    return exit_code == SUTRA_OK ? begin(folder) : exit_code;
}

/* Begins with the fields up to `force`. Both return SUTRA_OK, or another exit code after they have said what is wrong;
 * then there is nothing to end. */
static int result_folder_begin(struct result_folder *folder) {
    folder->lock = -1;
    if (!folder->target)
        return SUTRA_OK;
    interrupt_hold();
    int exit_code = begin(folder);
    interrupt_release();
    return exit_code;
}

/* Puts the files in their places if they are `whole`, else removes them. */
static int result_folder_end(struct result_folder *folder, bool whole) {
    int exit_code = SUTRA_OK;
    if (!folder->target)
        return SUTRA_OK;
    interrupt_hold(); /* a signal between two moves would leave old and new files */
    if (whole)
        exit_code = walk_folder(WALK_CHECK, folder->path, folder->target, folder, 0);
    if (whole && exit_code == SUTRA_OK)
        exit_code = walk_folder(WALK_MOVE, folder->path, folder->target, folder, 0);
    else if (walk_folder(WALK_REMOVE, folder->path, folder->path, folder, 0) == SUTRA_OK && folder->made)
        rmdir(folder->target);
    interrupt_guard_set_folder(NULL, NULL);
    interrupt_release();
    close(folder->lock);
    return exit_code;
}

int result_folder_remove(const char *path) {
    struct stat found;
    if (lstat(path, &found))
        return SUTRA_OK;
    if (!S_ISDIR(found.st_mode)) /* a link may lead out of the folder */
        return do_file(WALK_REMOVE, path, path, NULL);
    return walk_folder(WALK_REMOVE, path, path, NULL, 0);
}

const struct stage_share analysis_stages[] = {
    {"analyze ranks", 90, false}, STAGES_READ("device trace", 55), {"analyze", 35, false}, {"write", 10, false}, {0}};

int analysis_values_check(const struct analysis_values *values, const struct operands *operands,
                          const struct command *command) {
    if (operands->n == 0)
        return message_fail(SUTRA_USAGE, "missing argument TRACE; see '%s --help'", command->called);
    if (job_check_flags(&values->job) != SUTRA_OK)
        return SUTRA_USAGE;
    if (values->open && (!values->job.output || values->no_report))
        return message_fail(SUTRA_USAGE, "--open needs --output and a report (no --no-report)");
    return SUTRA_OK;
}

/* "3", or "3-5". */
static bool read_range(const char *text, size_t length, struct sutra_rank_range *range) {
    const char *dash = memchr(text, '-', length);
    size_t first = dash ? (size_t)(dash - text) : length;
    if (!integer_parse(text, first, &range->first))
        return false;
    range->last = range->first;
    return !dash || (integer_parse(dash + 1, length - first - 1, &range->last) && range->first <= range->last);
}

static bool read_ranges(const struct word_list *words, struct analysis_part *part) {
    for (size_t i = 0; i < words->n; i++)
        for (const char *at = words->words[i], *end; at; at = *end ? end + 1 : NULL) {
            end = at + strcspn(at, ",");
            if (part->restriction.n_ranks == ANALYSIS_RANGES_MAX ||
                !read_range(at, (size_t)(end - at), &part->ranks[part->restriction.n_ranks++])) {
                message_fail(SUTRA_USAGE, "--rank '%s': expected ranks such as 0-3,8", words->words[i]);
                return false;
            }
        }
    return true;
}

int analysis_part_take(const struct part_values *values, struct analysis_part *part) {
    *part = (struct analysis_part){.restriction = {.size = sizeof part->restriction,
                                                   .step = values->step,
                                                   .from_us = (double)values->from_us,
                                                   .to_us = (double)values->to_us,
                                                   .name = values->name,
                                                   .stream = values->stream,
                                                   .category = values->category}};
    if (!read_ranges(&values->ranks, part))
        return SUTRA_USAGE;
    if (values->to_us && values->to_us <= values->from_us)
        return message_fail(SUTRA_USAGE, "--to-us must be after --from-us");
    part->restriction.ranks = part->ranks;
    return SUTRA_OK;
}

/* The same trace would count as two ranks. */
static int check_inputs_differ(const char *const *inputs, size_t n_inputs) {
    size_t earlier = 0, later = paths_find_twice(inputs, n_inputs, &earlier);
    if (later == SIZE_MAX)
        return message_fail(SUTRA_SYSTEM, "out of memory");
    if (later == n_inputs)
        return SUTRA_OK;
    return message_fail(SUTRA_USAGE, "%s: the same file as %s: pass each trace once", inputs[later], inputs[earlier]);
}

/* Whether an analysis writes files whose names end so, besides tables as JSON. */
static bool has_ending_of_results(const char *path) {
    static const char *const endings[] = {".csv", ".html", ".svg"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (path_ends_in(path, endings[i]))
            return true;
    return false;
}

static int check_inputs_stay(const char *folder, const char *const *inputs, size_t n_inputs) {
    for (size_t i = 0; folder && i < n_inputs; i++)
        if (has_ending_of_results(inputs[i]) && path_lies_in(inputs[i], folder))
            return message_fail(SUTRA_USAGE, "%s: the results could overwrite this input; select another --output",
                                inputs[i]);
    return SUTRA_OK;
}

/* Checks that no input is named twice, and that neither the statistics, which can be written, nor the results overwrite
 * one; and begins the folder for the results. Returns
 * SUTRA_OK, or another exit code after it has said what is wrong. */
static int place_results(const struct analysis_values *values, const char *const *inputs, size_t n_inputs,
                         struct result_folder *results) {
    const char *stats = values->job.stats, *folder = values->job.output;
    struct sutra_error error;
    int exit_code = job_check_stats(stats, NULL, inputs, n_inputs);
    if (exit_code == SUTRA_OK && !values->may_meet)
        exit_code = check_inputs_differ(inputs, n_inputs);
    if (exit_code == SUTRA_OK)
        exit_code = check_inputs_stay(folder, inputs, n_inputs);
    if (exit_code != SUTRA_OK)
        return exit_code;
    if (stats && !values->job.force && sutra_output_check(stats, &error))
        return message_error(&error);
    *results =
        (struct result_folder){.target = folder, .inputs = inputs, .n_inputs = n_inputs, .force = values->job.force};
    return result_folder_begin(results);
}

int analysis_job_work(const struct analysis_values *values, const struct trace_list *traces,
                      struct result_folder *results, enum sutra_status (*work)(void *arg, struct sutra_error *error),
                      void *arg) {
    struct sutra_error error;
    int exit_code = place_results(values, (const char *const *)traces->paths, traces->n, results);
    if (exit_code != SUTRA_OK)
        return exit_code;
    if (work(arg, &error))
        exit_code = message_error(&error);
    int ended = result_folder_end(results, exit_code == SUTRA_OK);
    return exit_code == SUTRA_OK ? ended : exit_code;
}

struct job analysis_job_start(const struct analysis_values *values) {
    return job_start(&values->job, !values->job.quiet, true, values->job.verbose);
}

int analysis_job_close(const struct job *job, const char *page, void (*print)(FILE *file, const void *result),
                       const void *result) {
    const struct analysis_values *analysis = (const void *)job->values;
    const struct job_values *values = job->values;
    struct sutra_error error;
    if (values->output && sutra_report_link(job->context, values->output, &error))
        return message_error(&error);
    if (!values->quiet)
        fprintf(stderr, "%.3f s, %s peak memory\n", job->figures.seconds, bytes_text(job->figures.peak_memory).text);
    if (analysis->open)
        report_place_print(values->output, page);
    return values->stats ? (int)stats_write(values->stats, print, result) : SUTRA_OK;
}
