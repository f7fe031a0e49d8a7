/*
 * simulate.c - `sutra simulate`: the .et files of a job in, the times that a simulator would find out; and what-ifs.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/simulate/simulate_page.h"
#include "cli/tool/arguments.h"
#include "cli/tool/job.h"
#include "cli/tool/paths.h"
#include "sutra/sutra.h"

#define N_WORTH     10
#define CHANGES_MAX (2 * WORDS_MAX + 2)

struct simulate_values {
    struct job_values job; /* its output is the trace */
    int gpu, cpu, format, overlap;
    struct word_list scales, removals;
    const char *bandwidth;
    bool no_latency, alone, sensitivity;
};

static const struct stage_share stages[] = {
    {"read .et", 50, true}, {"simulate", 30, false}, {"what names are worth", 100, false}, {"write", 20, false}, {0}};

#define AT(field) .offset = offsetof(struct simulate_values, field)

static const char *const gpus[] = {"one", "streams", NULL};
static const char *const cpus[] = {"one", "threads", NULL};
static const char *const formats[] = {"text", "json", NULL};
static const char *const overlaps[] = {"as-is", "comm", NULL};

static const struct option_row options[] = {
    {"gpu", 0, OPTION_CHOICE, "HOW", AT(gpu), .choices = gpus,
     .help = "one: a GPU computes one thing at a time and communicates one at a time, as ASTRA-sim has it; streams: a "
             "resource for each stream (default: one)"},
    {"cpu", 0, OPTION_CHOICE, "HOW", AT(cpu), .choices = cpus,
     .help = "one processor for all threads of a rank, or one for each of its threads (default: one)"},
    {"scale", 's', OPTION_WORDS, "WHAT:FACTOR", AT(scales),
     .help =
         "what if the execution of WHAT took FACTOR times as long: cpu, gpu, compute, comm, name=TEXT, name=~REGEX, "
         "op=TEXT, op=~REGEX (what an operator launched) or stream=N; rank=N: before it means one rank; may be "
         "repeated"},
    {"remove", 0, OPTION_WORDS, "WHAT", AT(removals), .help = "what if WHAT took no time; may be repeated"},
    {"no-launch-latency", 0, OPTION_FLAG, AT(no_latency), .help = "what if kernels began as soon as they could"},
    {"overlap", 0, OPTION_CHOICE, "WHAT", AT(overlap), .choices = overlaps,
     .help = "comm: what if all communication were hidden (default: as-is)"},
    {"bandwidth", 0, OPTION_TEXT, "xN", AT(bandwidth),
     .help = "what if the network were N times as fast: collectives and messages take 1/N of their execution time"},
    {"sensitivity", 0, OPTION_FLAG, AT(sensitivity),
     .help = "say for each of the ten longest names what the time would be if its nodes took none"},
    {"alone", 0, OPTION_FLAG, AT(alone), .help = "let ranks not meet in their collectives: each runs by itself"},
    {"trace", 't', OPTION_FILE, "OUT", AT(job.output),
     .help =
         "write the simulated times as a trace for Perfetto, beside the measured ones where files tell when nodes started; "
         "compressed if it ends in .gz or .zst"},
    JOB_ROW_FORCE(job.force),
    JOB_ROW_INPUT(job.most_input_bytes),
    {"format", 'f', OPTION_CHOICE, "FORMAT", AT(format), .choices = formats,
     .help = "text for people, or json (default: text)"},
    {"quiet", 'q', OPTION_FLAG, AT(job.quiet), .help = "no progress and no warnings"},
    {0},
};

/* What lives while a job is simulated. */
struct simulate_job {
    const struct simulate_values *values;
    struct job job;
    struct sutra_et **ets;
    uint64_t *ranks;
    uint32_t n;
    char *made[WORDS_MAX]; /* changes that the removals make */
    char bandwidth[64];
    const char *changes[CHANGES_MAX];
    size_t n_changes;
    struct sutra_simulation *simulation, *before;
};

/* The number between the last two dots of a name such as job.3.et or rank.3.et.gz; false: there is none. */
static bool rank_of_name(const char *path, uint64_t *rank) {
    const char *name = strrchr(path, '/'), *end;
    name = name ? name + 1 : path;
    const char *suffix = strstr(name, ".et");
    if (!suffix)
        return false;
    const char *digits = suffix;
    while (digits > name && digits[-1] >= '0' && digits[-1] <= '9')
        digits--;
    if (digits == suffix || digits == name || digits[-1] != '.')
        return false;
    *rank = strtoull(digits, (char **)&end, 10);
    return true;
}

/* The ranks of the files, by their names if all of these tell one, and each another; else by their order. */
static void number_ranks(struct simulate_job *job, char *const *paths) {
    bool told = true;
    for (uint32_t i = 0; i < job->n && told; i++) {
        told = rank_of_name(paths[i], &job->ranks[i]);
        for (uint32_t k = 0; k < i && told; k++)
            told = job->ranks[k] != job->ranks[i];
    }
    for (uint32_t i = 0; i < job->n && !told; i++)
        job->ranks[i] = i;
}

/* ---- Changes ---- */

static enum sutra_status add_removals(struct simulate_job *job, struct sutra_error *error) {
    const struct word_list *removals = &job->values->removals;
    for (size_t i = 0; i < removals->n; i++) {
        size_t size = strlen(removals->words[i]) + 3;
        if (!(job->made[i] = malloc(size))) {
            *error = (struct sutra_error){.status = SUTRA_SYSTEM, .message = "out of memory"};
            return SUTRA_SYSTEM;
        }
        snprintf(job->made[i], size, "%s:0", removals->words[i]);
        job->changes[job->n_changes++] = job->made[i];
    }
    return SUTRA_OK;
}

/* "x2" or "2". False: it is no such number, and a message says so. */
static bool add_bandwidth(struct simulate_job *job) {
    const char *text = job->values->bandwidth;
    if (!text)
        return true;
    char *end;
    double times = strtod(text + (*text == 'x'), &end);
    if (end == text + (*text == 'x') || *end || !(times > 0 && times <= 1e6)) {
        message_fail(SUTRA_USAGE, "--bandwidth: '%s' is no factor such as x2", text);
        return false;
    }
    snprintf(job->bandwidth, sizeof job->bandwidth, "comm:%.17g", 1 / times);
    job->changes[job->n_changes++] = job->bandwidth;
    return true;
}

static enum sutra_status collect_changes(struct simulate_job *job, struct sutra_error *error) {
    const struct word_list *scales = &job->values->scales;
    for (size_t i = 0; i < scales->n; i++)
        job->changes[job->n_changes++] = scales->words[i];
    if (job->values->overlap)
        job->changes[job->n_changes++] = "comm:0";
    return add_removals(job, error);
}

/* ---- Running ---- */

static enum sutra_status read_files(struct simulate_job *job, char *const *paths, struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    for (uint32_t i = 0; i < job->n && !status; i++)
        status = sutra_et_read(job->job.context, paths[i], NULL, &job->ets[i], error);
    return status;
}

static enum sutra_status simulate(struct simulate_job *job, bool changed, struct sutra_simulation **simulation,
                                  struct sutra_error *error) {
    const struct simulate_values *values = job->values;
    const struct sutra_simulate_options how = {.size = sizeof how,
                                               .gpu_streams = values->gpu == 1,
                                               .cpu_threads = values->cpu == 1,
                                               .alone = values->alone,
                                               .scales = job->changes,
                                               .n_scales = changed ? job->n_changes : 0,
                                               .no_launch_latency = changed && values->no_latency};
    return sutra_simulate(job->job.context, (const struct sutra_et *const *)job->ets, job->ranks, job->n, &how,
                          simulation, error);
}

static enum sutra_status job_run(struct simulate_job *job, char *const *paths, struct sutra_error *error) {
    const struct simulate_values *values = job->values;
    number_ranks(job, paths);
    enum sutra_status status = collect_changes(job, error);
    if (!status)
        status = job_open(&job->job, values->job.output, error);
    if (!status)
        status = read_files(job, paths, error);
    if (!status)
        status = simulate(job, true, &job->simulation, error);
    if (!status && (job->n_changes || values->no_latency))
        status = simulate(job, false, &job->before, error);
    if (!status && values->sensitivity)
        status = sutra_simulation_worth(job->job.context, job->simulation, N_WORTH, error);
    if (!status && values->job.output)
        status = sutra_simulation_write_trace(job->job.context, job->simulation, values->job.output, NULL, error);
    progress_clear(&job->job.watch.progress);
    return status;
}

static int job_show(const struct simulate_job *job) {
    struct simulate_result result = {.simulation = job->simulation, .before = job->before};
    if (job->values->sensitivity) {
        uint64_t n = sutra_simulation_n_names(job->simulation);
        result.n_worth = n < N_WORTH ? n : N_WORTH;
    }
    (job->values->format ? simulate_json_print : simulate_page_print)(&result);
    if (sutra_simulation_n_stuck(job->simulation) == 0)
        return SUTRA_OK;
    fflush(stdout);
    simulate_warn_stuck(job->simulation);
    return SUTRA_DATA;
}

static void job_free(struct simulate_job *job) {
    sutra_simulation_free(job->simulation);
    sutra_simulation_free(job->before);
    for (uint32_t i = 0; i < job->n && job->ets; i++)
        sutra_et_free(job->ets[i]);
    for (size_t i = 0; i < WORDS_MAX; i++)
        free(job->made[i]);
    free(job->ets);
    free(job->ranks);
}

static int run(const struct command *command, int argc, char **argv) {
    struct simulate_values values = {.job.where.device.choice = SUTRA_DEVICE_CPU, .job.stages = stages};
    struct operands operands;
    int exit_code;
    if (!arguments_parse(command, argc, argv, &values, &operands, &exit_code))
        return exit_code;
    if (operands.n == 0)
        return message_fail(SUTRA_USAGE, "the .et files are missing; see '%s --help'", command->called);
    for (unsigned i = 0; i < operands.n; i++)
        if (values.job.output && paths_same(values.job.output, operands.words[i]))
            return message_fail(SUTRA_USAGE, "%s: the output is the input", values.job.output);
    values.job.n_inputs = operands.n;
    struct simulate_job job = {.values = &values,
                               .job = job_start(&values.job, !values.job.quiet, !values.job.quiet, false),
                               .ets = calloc(operands.n, sizeof(void *)),
                               .ranks = calloc(operands.n, sizeof *job.ranks),
                               .n = operands.n};
    struct sutra_error error = {.status = SUTRA_SYSTEM, .message = "out of memory"};
    enum sutra_status status = SUTRA_SYSTEM;
    if (!add_bandwidth(&job)) {
        job_free(&job);
        return SUTRA_USAGE;
    }
    if (job.ets && job.ranks)
        status = job_run(&job, operands.words, &error);
    exit_code = status ? SUTRA_OK : job_show(&job);
    job_free(&job);
    int ended = job_end(&job.job, status, &error);
    return ended ? ended : exit_code;
}

static const char *const synopses[] = {"FILE.et... [OPTIONS]", NULL};
static const char *const description[] = {
    "Runs the nodes of Chakra files in time, as ASTRA-sim does where it replays measured durations: a node starts when "
    "those that it depends on have ended and its resource is free. Tells when each rank is done, what its processor "
    "and its GPU do meanwhile, and what the critical path goes through.",
    "Several files are the ranks of one job (rank N by names such as job.N.et, else by their order); they meet in "
    "their collectives, by group and order, and sends meet receives. A job that stands still is named: who waits for "
    "whom (exit code 65).",
    "What-ifs (--scale and the options behind it) change how long nodes take; launch latency stays. The page then "
    "tells the time before and after. Files that 'sutra link HOST DEVICE -o X.et' makes take the measured time.",
    NULL,
};
static const struct example examples[] = {
    {"sutra simulate rank.0.et", "how long the rank takes, and why"},
    {"sutra simulate rank.0.et --scale 'name=~gemm:0.5'", "what if matrix products were twice as fast"},
    {"sutra simulate rank.*.et --gpu streams --bandwidth x2", "what if the network of a job were"},
    {"sutra simulate rank.0.et --sensitivity", "what is worth to be made faster"},
    {"sutra simulate rank.0.et --trace simulated.json.gz", "look at it in Perfetto"},
    {0},
};

const struct command simulate_command = {
    .name = "simulate",
    .called = "sutra simulate",
    .summary = "how long Chakra .et files take, and what if",
    .synopses = synopses,
    .description = description,
    .options = options,
    .examples = examples,
    .n_operands_max = OPERANDS_ANY,
    .run = run,
};
