/*
 * runs.c - implements runs.h.
 */
#include "cli/runs.h"

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

/* "window 6 (iteration_70), the last of 7" */
static const char *window_text(struct arena *arena, const struct run_role *role, size_t window, bool is_named) {
    const char *label = role->windows[window].label;
    const char *which = is_named ? " of" : window + 1 == role->n_windows ? ", the last of" : ", the last complete of";
    if (role->n_windows == 1)
        return "";
    return arena_format(arena, "window %zu%s%s%s%s %zu", window, label ? " (" : "", label ? label : "",
                        label ? ")" : "", which, role->n_windows);
}

static enum sutra_status describe_window(const struct run *run, const struct run_role *role, size_t window,
                                         bool is_named, struct chosen_window *chosen, struct sutra_error *error) {
    struct arena *arena = run->arena;
    const struct run_window *of = &role->windows[window];
    const char **paths = arena_alloc(arena, of->n_traces, sizeof *paths);
    int64_t *ranks = arena_alloc(arena, of->n_traces, sizeof *ranks);
    uint32_t *sorted = arena_alloc(arena, of->n_traces, sizeof *sorted);
    TRY(arena_status(arena, error));
    for (size_t i = 0; i < of->n_traces; i++) {
        paths[i] = of->traces[i]->file;
        ranks[i] = of->traces[i]->rank;
        sorted[i] = (uint32_t)i;
    }
    qsort_r(sorted, of->n_traces, sizeof *sorted, compare_paths, paths);
    const char *title =
        run->n_arguments == 1 ? run->path : arena_format(arena, "%s and %zu more", run->path, run->n_arguments - 1);
    *chosen = (struct chosen_window){.run = title,
                                     .is_one_folder = run->n_arguments == 1,
                                     .role = run->n_roles > 1 ? role->name : NULL,
                                     .label = of->label,
                                     .text = window_text(arena, role, window, is_named),
                                     .window = window,
                                     .n_windows = role->n_windows,
                                     .n_skipped = run->n_skipped,
                                     .is_default = window == role->default_window,
                                     .paths = paths,
                                     .ranks = ranks,
                                     .sorted = sorted,
                                     .n = of->n_traces};
    return arena_status(arena, error);
}

static enum sutra_status list_windows(struct run_inputs *inputs, const struct run_selection *selection,
                                      struct sutra_error *error) {
    const struct run *run = &inputs->run;
    for (size_t i = 0; i < run->n_picks; i++)
        inputs->n += run->picks[i].n;
    inputs->windows = arena_alloc(run->arena, inputs->n, sizeof *inputs->windows);
    TRY(arena_status(run->arena, error));
    size_t n = 0;
    for (size_t i = 0; i < run->n_picks; i++)
        for (size_t k = 0; k < run->picks[i].n; k++)
            TRY(describe_window(run, run->picks[i].role, run->picks[i].first + k, selection->window != NULL,
                                &inputs->windows[n++], error));
    return SUTRA_OK;
}

int run_inputs_open(struct job *job, const struct operands *operands, const struct run_selection *selection,
                    struct run_inputs *inputs) {
    struct sutra_context *context;
    struct sutra_error error;
    struct run *run = &inputs->run;
    run->skipped_folder = job->output;
    job->watch.warnings = job->log_level <= LOG_WARNING; /* also before job_start() */
    if (job_create_context(job, &context, &error))
        return job_fail(job, &error);
    enum sutra_status status = run_open(run, context, (const char *const *)operands->words, operands->n, &error);
    const bool has_traces = !status && run->n_roles > 0;
    if (!status && !has_traces && selection->reads_hosts && run->n_folders == operands->n) {
        sutra_context_free(context);
        return SUTRA_OK;
    }
    if (!status)
        status = run_choose(run, context, selection, &error);
    if (!status)
        status = list_windows(inputs, selection, &error);
    sutra_context_free(context);
    if (!status && selection->needs_one_role && job->log_level <= LOG_INFO && !run_inputs_are_plain(inputs) &&
        inputs->n == 1 && *inputs->windows[0].text) /* the headline of the verdict names the window */
        fprintf(stderr, "sutra: %s: %s\n", run->path, inputs->windows[0].text);
    if (!status)
        return SUTRA_OK;
    if (status == SUTRA_NO_INPUT && !has_traces && operands->n == 1 && run->n_folders > 0) {
        const size_t length = strlen(error.message);
        snprintf(error.message + length, sizeof error.message - length, "%s",
                 folder_advice(operands->words[0], NAMES_JSON));
    }
    return job_fail(job, &error);
}

int run_list_snapshots(struct job *job, struct trace_list *list) {
    struct sutra_context *context;
    struct sutra_error error;
    struct run run = {.skipped_folder = job->output};
    int exit_code = job_create_context(job, &context, &error) ? job_fail(job, &error) : SUTRA_OK;
    if (exit_code != SUTRA_OK)
        return exit_code;
    if (run_open(&run, context, (const char *const *)job->operands.words, job->operands.n, &error))
        exit_code = job_fail(job, &error);
    sutra_context_free(context);
    size_t n = 0;
    bool is_nested = run.n_arguments == 1;
    for (size_t i = 0; i < run.n_skipped; i++)
        is_nested &= strchr(run.skipped[i].path, '/') != NULL;
    for (size_t i = 0; i < run.n_roles; i++)
        for (size_t k = 0; k < run.roles[i].n_windows; k++)
            for (size_t t = 0; t < run.roles[i].windows[k].n_traces; t++)
                is_nested &= strchr(run.roles[i].windows[k].traces[t]->path, '/') != NULL;
    for (size_t i = 0; i < run.n_skipped && is_nested && exit_code == SUTRA_OK; i++) {
        char *file = (char *)run.skipped[i].file;
        if (run.skipped[i].kind != RUN_SNAPSHOT)
            continue;
        n++;
        exit_code = trace_list_add(list, &(struct operands){.words = &file, .n = 1}, NAMES_SNAPSHOT);
    }
    run_free(&run);
    return n == 0 && exit_code == SUTRA_OK ? trace_list_make(list, &job->operands, NAMES_SNAPSHOT) : exit_code;
}

int run_check_output(const struct operands *operands, const char *output) {
    struct stat found;
    char *file = output && stat(output, &found) == 0 && S_ISREG(found.st_mode) ? realpath(output, NULL) : NULL;
    int exit_code = SUTRA_OK;
    for (unsigned i = 0; i < operands->n && file && exit_code == SUTRA_OK; i++) {
        char *folder = path_is_folder(operands->words[i]) ? realpath(operands->words[i], NULL) : NULL;
        const size_t length = folder ? strlen(folder) : 0;
        if (folder && strncmp(file, folder, length) == 0 && (file[length] == '/' || length == 1))
            exit_code = message_fail(SUTRA_USAGE, "%s: a file of the run %s: it would be overwritten", output,
                                     operands->words[i]);
        free(folder);
    }
    free(file);
    return exit_code;
}

void run_inputs_free(struct run_inputs *inputs) {
    run_free(&inputs->run);
    inputs->n = 0;
}
