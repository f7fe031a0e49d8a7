/*
 * runs.c - implements runs.h.
 */
#include "cli/runs.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "cli/job.h"
#include "cli/paths.h"

bool operands_are_run(const struct operands *operands) {
    for (unsigned i = 0; i < operands->n; i++)
        if (path_is_folder(operands->words[i]))
            return true;
    return false;
}

static int compare_paths(const void *left, const void *right, void *arg) {
    const char *const *paths = arg;
    return strcmp(paths[*(const uint32_t *)left], paths[*(const uint32_t *)right]);
}

/* Makes paths, ranks and words of a window for a command, in the arena of the run. `is_named`: --window names it. */
static void describe_window(const struct run *run, const struct run_role *role, size_t window, bool is_named,
                            struct chosen_window *chosen) {
    struct arena *arena = run->arena;
    const struct run_window *of = &role->windows[window];
    const char **paths = arena_alloc(arena, of->n_traces, sizeof *paths);
    int64_t *ranks = arena_alloc(arena, of->n_traces, sizeof *ranks);
    uint32_t *sorted = arena_alloc(arena, of->n_traces, sizeof *sorted);
    if (arena->failed)
        return;
    for (size_t i = 0; i < of->n_traces; i++) {
        paths[i] = of->traces[i]->file;
        ranks[i] = of->traces[i]->rank;
        sorted[i] = (uint32_t)i;
    }
    qsort_r(sorted, of->n_traces, sizeof *sorted, compare_paths, paths);
    *chosen = (struct chosen_window){
        .run = run->path,
        .is_one_folder = run->n_arguments == 1,
        .role = run->n_roles > 1 ? role->name : NULL,
        .label = of->label,
        .name = run->path,
        .text = "",
        .window = window,
        .n_windows = role->n_windows,
        .n_skipped = run->n_skipped,
        .is_default = window == role->default_window,
        .paths = paths,
        .ranks = ranks,
        .sorted = sorted,
        .n = of->n_traces,
    };
    if (run->n_arguments > 1)
        chosen->run = arena_format(arena, "%s and %zu more", run->path, run->n_arguments - 1);
    if (role->n_windows > 1) {
        const char *which = is_named                        ? " of"
                            : window + 1 == role->n_windows ? ", the last of"
                                                            : ", the last complete of";
        const char *label = of->label ? arena_format(arena, " (%s)", of->label) : "";
        chosen->name = arena_format(arena, "%s, window %zu%s", run->path, window, label);
        chosen->text = arena_format(arena, "window %zu%s%s %zu", window, label, which, role->n_windows);
    }
}

int run_list(struct job *job, const char *const *folders, size_t n, const struct run_selection *selection,
             struct run *run) {
    struct sutra_context *context = NULL;
    struct sutra_error error;
    job->watch.warnings = job->log_level <= LOG_WARNING; /* also before job_start() */
    run->skipped_folder = job->output;
    enum sutra_status status = job_create_context(job, &context, &error);
    if (!status)
        status = run_open(run, context, folders, n, &error);
    const bool has_traces = !status && run->n_roles > 0;
    const bool has_logs = !status && run_count_skipped(run, RUN_INSPECTOR) > 0;
    const bool needs_traces = selection && !(has_logs && selection->reads_logs);
    if (!status && selection && (has_traces || (needs_traces && (!selection->reads_hosts || run->n_folders != n))))
        status = run_choose(run, context, selection, &error);
    sutra_context_free(context);
    if (status == SUTRA_NO_INPUT && !has_traces && n == 1 && run->n_folders > 0 &&
        run_count_skipped(run, RUN_DUMP) == 0) {
        const size_t length = strlen(error.message);
        snprintf(error.message + length, sizeof error.message - length, "%s",
                 has_logs ? "" : folder_advice(*folders, NAMES_JSON));
    }
    return status ? job_fail(job, &error) : SUTRA_OK;
}

int run_inputs_open(struct job *job, const struct operands *operands, const struct run_selection *selection,
                    struct run_inputs *inputs) {
    struct sutra_error error;
    struct run *run = &inputs->run;
    size_t n = 0;
    TRY_CODE(run_list(job, (const char *const *)operands->words, operands->n, selection, run));
    for (const struct run_pick *pick = run->picks; pick < run->picks + run->n_picks; pick++)
        n += pick->n;
    inputs->windows = arena_alloc(run->arena, n, sizeof *inputs->windows);
    if (arena_status(run->arena, &error))
        return job_fail(job, &error);
    for (const struct run_pick *pick = run->picks; pick < run->picks + run->n_picks; pick++)
        for (size_t k = pick->first; k < pick->first + pick->n; k++)
            describe_window(run, pick->role, k, selection->window != NULL, &inputs->windows[inputs->n++]);
    if (arena_status(run->arena, &error))
        return job_fail(job, &error);
    if (selection->needs_one_role && job->log_level <= LOG_INFO && !run_inputs_are_plain(inputs) && n == 1 &&
        *inputs->windows->text) /* the headline of the verdict names the window */
        fprintf(stderr, "sutra: %s: %s\n", run->path, inputs->windows->text);
    return SUTRA_OK;
}

int run_add_skipped(const struct run *run, enum run_kind kind, struct trace_list *list, enum trace_names names) {
    for (size_t i = 0; i < run->n_skipped; i++) {
        char *file = (char *)run->skipped[i].file; /* struct operands has words of argv */
        if (run->skipped[i].kind == kind)
            TRY_CODE(trace_list_add(list, &(struct operands){.words = &file, .n = 1}, names));
    }
    return SUTRA_OK;
}

int run_list_snapshots(struct job *job, struct trace_list *list) {
    struct run run = {.path = NULL};
    int exit_code = run_list(job, (const char *const *)job->operands.words, job->operands.n, NULL, &run);
    if (run.is_nested && exit_code == SUTRA_OK)
        exit_code = run_add_skipped(&run, RUN_SNAPSHOT, list, NAMES_SNAPSHOT);
    run_free(&run);
    return list->n == 0 && exit_code == SUTRA_OK ? trace_list_add(list, &job->operands, NAMES_SNAPSHOT) : exit_code;
}

int run_list_all_files(struct job *job, struct trace_list *list) {
    struct sutra_context *context = NULL;
    struct sutra_error error;
    struct run_files files = {.n = 0};
    int exit_code = SUTRA_OK;
    job->watch.warnings = job->log_level <= LOG_WARNING; /* also before job_start() */
    enum sutra_status status = job_create_context(job, &context, &error);
    if (!status)
        status = run_list_files(&files, context, (const char *const *)job->operands.words, job->operands.n, job->output,
                                &error);
    for (size_t i = 0; i < files.n && !status && exit_code == SUTRA_OK; i++) {
        char *file = (char *)files.paths[i]; /* struct operands has words of argv */
        exit_code = trace_list_add(list, &(struct operands){.words = &file, .n = 1}, NAMES_SNAPSHOT);
    }
    arena_free(&files.arena);
    sutra_context_free(context);
    return status ? job_fail(job, &error) : exit_code;
}

int run_check_output(const struct operands *operands, const char *output) {
    struct stat found;
    char file[PATH_MAX], folder[PATH_MAX];
    if (!output || stat(output, &found) != 0 || !S_ISREG(found.st_mode) || !realpath(output, file))
        return SUTRA_OK;
    for (unsigned i = 0; i < operands->n; i++) {
        const char *word = operands->words[i];
        const size_t length = path_is_folder(word) && realpath(word, folder) ? strlen(folder) : 0;
        if (length > 0 && strncmp(file, folder, length) == 0 && (file[length] == '/' || length == 1))
            return message_fail(SUTRA_USAGE, "%s: a file of the run %s: it would be overwritten", output, word);
    }
    return SUTRA_OK;
}
