/*
 * analysis_share.c - directory for partial results of several processes, and assignment of traces to processes.
 */
#include "cli/analyze/analysis_share.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/tool/part.h"
#include "cli/tool/paths.h"
#include "context/context.h"
#include "read/source.h"
#include "write/sink.h"

#define PARTS_FOLDER ".parts"

bool analysis_is_shared(const struct analysis_values *values, const struct job_team *processes) {
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

int analysis_share_begin(struct analysis_share *share, struct analysis_values *values, const struct job_team *processes,
                         const struct trace_list *traces, int exit_code) {
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

void analysis_share_with(const struct analysis_share *share, struct sutra_context *context) {
    context->team = share->is_on ? &share->team : NULL;
}

bool analysis_share_has_results(const struct analysis_share *share) {
    return !share->is_on || share->team.takes;
}

int analysis_share_end(struct analysis_share *share, const struct trace_list *traces, int exit_code) {
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
