/*
 * simulate_write.c - the files of `sutra simulate --write`: their names, checks before any file is written, and the
 * what-ifs as text for their metadata.
 *
 *     inputs --> names in the directory --checks--> sutra_simulation_write()
 *
 * Cost: O(n log n) in files, and writing them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/shared.h"
#include "cli/simulate.h"
#include "text/strings.h"
#include "write/text.h"

bool rank_digits(const char *name, const char **digits, const char **end) {
    *end = strstr(name, ".et");
    if (!*end)
        return false;
    *digits = *end;
    while (*digits > name && (*digits)[-1] >= '0' && (*digits)[-1] <= '9')
        (*digits)--;
    return *digits<*end && * digits> name && (*digits)[-1] == '.';
}

static uint64_t rank_number(const struct simulate_job *simulate, uint32_t i) {
    struct sutra_simulated_rank rank = {.size = sizeof rank};
    sutra_simulation_rank(simulate->simulation, i, &rank);
    return rank.rank;
}

/* The what-ifs as they were given, for the metadata of the files. False: out of memory. */
static bool what_if_text(const struct simulate_job *simulate, struct text_out *text) {
    const struct sutra_simulate_options *how = &simulate->options;
    for (size_t i = 0; i < simulate->scales.n; i++)
        out_format(text, " --scale %s", simulate->scales.texts[i]);
    for (size_t i = 0; i < simulate->removals.n; i++)
        out_format(text, " --remove %s", simulate->removals.texts[i]);
    if (how->no_launch_latency)
        out_add(text, " --no-launch-latency");
    if (simulate->overlap)
        out_add(text, " --overlap comm");
    if (simulate->bandwidth)
        out_format(text, " --bandwidth %s", simulate->bandwidth);
    if (how->network)
        out_format(text, " --network %s", how->network);
    if (how->peaks)
        out_format(text, " --peaks %s", how->peaks);
    if (how->no_straggler)
        out_add(text, " --straggler none");
    if (simulate->scale.layers)
        out_format(text, " --layers %u", simulate->scale.layers);
    if (simulate->scale.micro_batches)
        out_format(text, " --micro-batches %u", simulate->scale.micro_batches);
    if (simulate->scale.data_parallel)
        out_format(text, " --data-parallel %u", simulate->scale.data_parallel);
    if (simulate->scale.ranks_per_host)
        out_format(text, " --ranks-per-host %u", simulate->scale.ranks_per_host);
    if (simulate->hop)
        out_format(text, " --hop %s", simulate->hop);
    buffer_append(&text->out, "", 1);
    return !text->out.failed;
}

struct named_input {
    const char *name;
};

ORDER_BY(compare_named, struct named_input, ASCENDING_TEXT(name))

/* The files of --write must differ from each other and from the inputs, and must not exist without --force. */
static enum sutra_status check_changed(const struct simulate_job *simulate, char *const *paths, size_t n,
                                       struct sutra_error *error) {
    const struct job *job = &simulate->job;
    struct named_input *names = calloc(n + 1, sizeof *names);
    enum sutra_status status = names ? SUTRA_OK : error_memory(error);
    for (size_t i = 0; i < n && names; i++)
        names[i].name = path_file_name(paths[i]);
    if (names)
        qsort(names, n, sizeof *names, compare_named);
    for (size_t i = 1; i < n && !status; i++)
        if (strcmp(names[i - 1].name, names[i].name) == 0)
            status = error_file(error, SUTRA_USAGE, names[i].name, "--write: two inputs have this name; rename one");
    free(names);
    for (size_t i = 0; i < job->n_inputs && !status; i++) {
        char *path = NULL;
        if (path_is_stream(job->inputs[i]))
            return error_set(error, SUTRA_USAGE, "--write needs input files with names, not standard input");
        TRY_ALLOC(asprintf(&path, "%s/%s", simulate->folder, path_file_name(job->inputs[i])) >= 0, error);
        if (paths_same(job->inputs[i], path))
            status = error_file(error, SUTRA_USAGE, job->inputs[i],
                                "--write would replace the input; name another directory");
        free(path);
    }
    for (size_t i = 0; i < n && !status && !job->options.force; i++)
        if (access(paths[i], F_OK) == 0)
            status = error_file(error, SUTRA_NO_OUTPUT, paths[i], "already exists (--force replaces it)");
    return status;
}

/* The path of the changed file of rank i: the name of its input, with the number of a new rank. NULL: out of memory. */
static char *changed_path(const struct simulate_job *simulate, uint32_t i) {
    const uint32_t source = simulate->scaled ? sutra_et_ranks_source(simulate->scaled, i) : i;
    const char *name = path_file_name(simulate->job.inputs[source]), *digits, *end;
    char *path = NULL;
    int n;
    if (!simulate->scale.data_parallel)
        n = asprintf(&path, "%s/%s", simulate->folder, name);
    else if (rank_digits(name, &digits, &end))
        n = asprintf(&path, "%s/%.*s%" PRIu64 "%s", simulate->folder, (int)(digits - name), name,
                     rank_number(simulate, i), end);
    else
        n = asprintf(&path, "%s/rank.%" PRIu64 ".et", simulate->folder, rank_number(simulate, i));
    return n < 0 ? NULL : path;
}

enum sutra_status write_changed(const struct simulate_job *simulate, struct sutra_error *error) {
    const struct job *job = &simulate->job;
    const uint32_t n = sutra_simulation_ranks(simulate->simulation);
    struct text_out text = {0};
    char **paths = calloc((size_t)n + 1, sizeof *paths);
    enum sutra_status status = folder_create(simulate->folder, error);
    bool ok = paths && what_if_text(simulate, &text);
    for (uint32_t i = 0; i < n && ok; i++)
        ok = (paths[i] = changed_path(simulate, i));
    if (!status)
        status = ok ? check_changed(simulate, paths, n, error) : error_memory(error);
    if (!status)
        status = sutra_simulation_write(job->context, simulate->simulation, job->inputs, (const char *const *)paths,
                                        text.out.bytes + (*text.out.bytes == ' '), error);
    if (!status && simulate->scaled)
        status = sutra_simulation_write_groups(job->context, simulate->simulation, simulate->folder, error);
    for (uint32_t i = 0; i < n && paths; i++)
        free(paths[i]);
    free(paths);
    buffer_free(&text.out);
    return status;
}
