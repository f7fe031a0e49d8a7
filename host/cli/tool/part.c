/*
 * part.c - parses "3/64", or reads the task of a Slurm job array from its environment variables.
 */
#include "cli/tool/part.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tool/message.h"

static bool read_variable(const char *name, uint64_t *value) {
    const char *text = getenv(name);
    char *end = NULL;
    errno = 0;
    *value = text && *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    return end && !*end && !errno;
}

/* Ids of an array's tasks are MIN, MIN + STEP, ...; Slurm sets all four variables in each task. */
static int read_slurm_task(size_t *part, size_t *n_parts) {
    uint64_t id, n, first, step;
    if (!read_variable("SLURM_ARRAY_TASK_ID", &id) || !read_variable("SLURM_ARRAY_TASK_COUNT", &n))
        return message_fail(SUTRA_USAGE,
                            "--shard slurm: SLURM_ARRAY_TASK_ID and SLURM_ARRAY_TASK_COUNT are not set: run "
                            "it as a task of 'sbatch --array', or use --shard K/N");
    if (!read_variable("SLURM_ARRAY_TASK_MIN", &first))
        first = 1;
    if (!read_variable("SLURM_ARRAY_TASK_STEP", &step) || step == 0)
        step = 1;
    uint64_t k = id >= first ? (id - first) / step : n;
    if (k >= n || id != first + k * step)
        return message_fail(
            SUTRA_USAGE,
            "--shard slurm: task %s is not one of the %s evenly spaced tasks of the array: use --shard K/N",
            getenv("SLURM_ARRAY_TASK_ID"), getenv("SLURM_ARRAY_TASK_COUNT"));
    *part = k;
    *n_parts = n;
    return SUTRA_OK;
}

int part_read(const char *text, size_t *part, size_t *n_parts) {
    if (strcmp(text, "slurm") == 0)
        return read_slurm_task(part, n_parts);
    char *slash, *end = "";
    unsigned long long k = strtoull(text, &slash, 10), n = 0;
    if (slash != text && *slash == '/')
        n = strtoull(slash + 1, &end, 10);
    if (slash == text || *slash != '/' || *text == '-' || end == slash + 1 || *end || slash[1] == '-' || k == 0 ||
        k > n)
        return message_fail(SUTRA_USAGE, "--shard: '%s' is neither K/N, such as 3/64, nor 'slurm'", text);
    *part = k - 1;
    *n_parts = n;
    return SUTRA_OK;
}
