/*
 * simulate.c - `sutra simulate`: computes the times that a simulator would find for a job's .et files, and what-ifs.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/job.h"
#include "cli/link.h"
#include "cli/paths.h"
#include "cli/simulate_page.h"
#include "sutra/sutra.h"

#define N_WORTH     10
#define CHANGES_MAX (2 * WORDS_MAX + 1)

struct simulate_values {
    struct job_values job; /* its output is the trace */
    int gpu, cpu, format, overlap;
    struct word_list scales, removals;
    const char *bandwidth, *network;
    int straggler;
    bool no_latency, alone, sensitivity, worth;
};

static const struct stage_share stages[] = {
    {"read .et", 50, true}, {"simulate", 30, false}, {"sensitivity", 100, false}, {"write", 20, false}, {0}};

#define AT(field) .offset = offsetof(struct simulate_values, field)

static const char *const cpus[] = {"one", "threads", NULL};
static const char *const formats[] = {"text", "json", NULL};
static const char *const overlaps[] = {"as-is", "comm", NULL};

static const char *const stragglers[] = {"as-is", "none", NULL};

static const struct option_row options[] = {
    {"gpu", 0, OPTION_CHOICE, "HOW", AT(gpu), .choices = faithful_gpus,
     .help = "run one kernel and one collective at a time per GPU, as ASTRA-sim does (one), or one node at a time per "
             "stream (streams) (default: as recorded in the files, else one)"},
    {"cpu", 0, OPTION_CHOICE, "HOW", AT(cpu), .choices = cpus,
     .help = "simulate one CPU per rank (one) or one per thread (threads) (default: one)"},
    {"scale", 's', OPTION_WORDS, "WHAT:FACTOR", AT(scales),
     .help =
         "multiply the execution time of WHAT by FACTOR, such as 0.5 or 2x. WHAT is cpu, gpu, compute, comm, "
         "name=TEXT, name=~REGEX, op=TEXT, op=~REGEX (launched by an operator) or stream=N; the prefix rank=N: selects "
         "one rank; repeatable"},
    {"remove", 0, OPTION_WORDS, "WHAT", AT(removals), .help = "estimate the time if WHAT took no time; repeatable"},
    {"no-launch-latency", 0, OPTION_FLAG, AT(no_latency), .help = "estimate the time without launch latency"},
    {"overlap", 0, OPTION_CHOICE, "WHAT", AT(overlap), .choices = overlaps,
     .help = "estimate the time if all communication overlapped with compute (comm) (default: as-is)"},
    {"bandwidth", 0, OPTION_TEXT, "xN", AT(bandwidth),
     .help =
         "estimate the time with N times the network bandwidth: a linear fit of time over bytes gives the part of a "
         "job's collectives that scales; other communication takes 1/N of its execution time"},
    {"network", 0, OPTION_TEXT, "NETWORK", AT(network),
     .help =
         "estimate the time on another network, such as alpha=12us,beta=50GB/s: latency of a collective and bandwidth "
         "of each rank's link"},
    {"straggler", 0, OPTION_CHOICE, "WHAT", AT(straggler), .choices = stragglers,
     .help = "estimate the time if no rank computed more slowly than the median rank (none) (default: as-is)"},
    {"what-if-summary", 0, OPTION_FLAG, AT(worth),
     .help = "print the time without stragglers, with twice the bandwidth and without communication, with the known "
             "errors of these estimates"},
    {"sensitivity", 0, OPTION_FLAG, AT(sensitivity),
     .help = "print for each of the ten longest names the time without its nodes"},
    {"alone", 0, OPTION_FLAG, AT(alone),
     .help = "simulate each rank alone, without waits for other ranks at collectives"},
    {"trace", 't', OPTION_FILE, "OUT", AT(job.output),
     .help =
         "write the simulated times for Perfetto, and the measured times if the files record start times; compressed "
         "if OUT ends in .gz or .zst"},
    JOB_ROW_FORCE(job.force),
    JOB_ROW_INPUT(job.most_input_bytes),
    {"format", 'f', OPTION_CHOICE, "FORMAT", AT(format), .choices = formats,
     .help = "print human-readable text or json (default: text)"},
    {"quiet", 'q', OPTION_FLAG, AT(job.quiet), .help = "print no progress and no warnings"},
    {0},
};

/* What lives while a job is simulated. */
struct simulate_job {
    const struct simulate_values *values;
    struct job job;
    struct sutra_et_ranks *ranks;
    uint64_t *numbers;
    uint32_t n;
    bool has_folder;       /* the files of a directory */
    char *made[WORDS_MAX]; /* changes that the removals make */
    double bandwidth;
    const char *changes[CHANGES_MAX];
    size_t n_changes;
    struct sutra_simulation *simulation, *before;
    uint64_t worth_ns[JOB_WORTHS];
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

/* The ranks of the files, by their names if all of these tell one, and each another; else by their order. Files of a
 * directory that have one rank may be those of two jobs, such as rank.0.et and rank.0.et.gz: SUTRA_USAGE. */
static enum sutra_status number_ranks(struct simulate_job *job, char *const *paths, struct sutra_error *error) {
    bool told = true;
    for (uint32_t i = 0; i < job->n && told; i++) {
        told = rank_of_name(paths[i], &job->numbers[i]);
        for (uint32_t k = 0; k < i && told; k++) {
            told = job->numbers[k] != job->numbers[i];
            if (!told && job->has_folder)
                return error_file(error, SUTRA_USAGE, paths[i], "%s is also rank %" PRIu64 "; pass one file per rank",
                                  paths[k], job->numbers[i]);
        }
    }
    for (uint32_t i = 0; i < job->n && !told; i++)
        job->numbers[i] = i;
    return SUTRA_OK;
}

/* ---- Changes ---- */

static enum sutra_status add_removals(struct simulate_job *job, struct sutra_error *error) {
    const struct word_list *removals = &job->values->removals;
    for (size_t i = 0; i < removals->n; i++) {
        size_t size = strlen(removals->words[i]) + 3;
        if (!(job->made[i] = malloc(size))) {
            return error_memory(error);
        }
        snprintf(job->made[i], size, "%s:0", removals->words[i]);
        job->changes[job->n_changes++] = job->made[i];
    }
    return SUTRA_OK;
}

/* Reads "x2", "2x" or "2". False: not such a number, and reported. */
static bool read_bandwidth(struct simulate_job *job) {
    const char *text = job->values->bandwidth;
    char *end;
    job->bandwidth = 1;
    if (!text)
        return true;
    const bool leads = *text == 'x';
    job->bandwidth = strtod(text + leads, &end);
    bool valid = end != text + leads && job->bandwidth > 0 && job->bandwidth <= 1e6;
    if (valid && (!*end || (!leads && strcmp(end, "x") == 0)))
        return true;
    message_fail(SUTRA_USAGE, "--bandwidth: '%s' is not a factor such as 2x", text);
    return false;
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

/* Whether there is a resource for each stream. */
static bool is_per_stream(const struct simulate_job *job) {
    return job->values->gpu == GPU_UNSAID ? sutra_et_ranks_gpu_streams(job->ranks) : job->values->gpu == GPU_STREAMS;
}

/* How nodes are run, without any change. */
static struct sutra_simulate_options plain_options(const struct simulate_job *job) {
    const struct simulate_values *values = job->values;
    return (struct sutra_simulate_options){.size = sizeof(struct sutra_simulate_options),
                                           .gpu_streams = is_per_stream(job),
                                           .cpu_threads = values->cpu == 1,
                                           .alone = values->alone};
}

static struct sutra_simulate_options changed_options(const struct simulate_job *job) {
    const struct simulate_values *values = job->values;
    struct sutra_simulate_options how = plain_options(job);
    how.scales = job->changes;
    how.n_scales = job->n_changes;
    how.no_launch_latency = values->no_latency;
    how.bandwidth = job->bandwidth;
    how.network = values->network;
    how.no_straggler = values->straggler == 1;
    return how;
}

static bool is_changed(const struct simulate_job *job) {
    const struct simulate_values *values = job->values;
    return job->n_changes || values->no_latency || values->bandwidth || values->network || values->straggler;
}

static enum sutra_status simulate(const struct simulate_job *job, const struct sutra_simulate_options *how,
                                  struct sutra_simulation **simulation, struct sutra_error *error) {
    return sutra_simulate_ranks(job->job.context, job->ranks, how, simulation, error);
}

/* Simulates one additional change, and keeps the time. */
static enum sutra_status find_worth(struct simulate_job *job, enum job_worth worth, struct sutra_error *error) {
    struct sutra_simulate_options how = changed_options(job);
    const char *changes[CHANGES_MAX + 1];
    struct sutra_simulation *simulation = NULL;
    memcpy(changes, job->changes, job->n_changes * sizeof *changes);
    changes[job->n_changes] = "comm:0";
    if (worth == WORTH_NO_STRAGGLER)
        how.no_straggler = true;
    else if (worth == WORTH_NETWORK)
        how.bandwidth *= 2;
    else
        how.scales = changes, how.n_scales++;
    enum sutra_status status = simulate(job, &how, &simulation, error);
    if (!status)
        job->worth_ns[worth] = sutra_simulation_time_ns(simulation);
    sutra_simulation_free(simulation);
    return status;
}

static enum sutra_status run_all(struct simulate_job *job, struct sutra_error *error) {
    const struct simulate_values *values = job->values;
    const struct sutra_simulate_options changed = changed_options(job), plain = plain_options(job);
    enum sutra_status status = simulate(job, &changed, &job->simulation, error);
    if (!status && is_changed(job))
        status = simulate(job, &plain, &job->before, error);
    if (!status && values->sensitivity)
        status = sutra_simulation_what_if(job->job.context, job->simulation, N_WORTH, error);
    for (int worth = 0; worth < JOB_WORTHS && values->worth && !status; worth++)
        status = find_worth(job, (enum job_worth)worth, error);
    return status;
}

static enum sutra_status job_run(struct simulate_job *job, char *const *paths, struct sutra_error *error) {
    const struct simulate_values *values = job->values;
    enum sutra_status status = number_ranks(job, paths, error);
    if (!status)
        status = collect_changes(job, error);
    if (!status)
        status = job_open(&job->job, values->job.output, error);
    if (!status)
        status =
            sutra_et_ranks_read(job->job.context, (const char *const *)paths, job->numbers, job->n, &job->ranks, error);
    if (!status)
        status = run_all(job, error);
    if (!status && values->job.output)
        status = sutra_simulation_write_trace(job->job.context, job->simulation, values->job.output, NULL, error);
    progress_clear(&job->job.watch.progress);
    return status;
}

/* Names the command that makes an .et file of the host trace and the device trace that are among the files. */
static void name_link_command(const struct simulate_job *job, const struct trace_list *files,
                              struct sutra_error *error) {
    const char *host = NULL, *device = NULL;
    for (size_t i = 0; i < files->n; i++)
        if (!host && job_is_trace(&job->job, files->paths[i], SUTRA_TRACE_HOST))
            host = files->paths[i];
        else if (!device && job_is_trace(&job->job, files->paths[i], SUTRA_TRACE_DEVICE))
            device = files->paths[i];
    if (host && device)
        error_file(error, SUTRA_DATA, host,
                   "expected an .et file, found a host trace; link it: 'sutra link %s %s -o rank.0.et'", host, device);
}

static int job_show(const struct simulate_job *job) {
    struct simulate_result result = {.simulation = job->simulation,
                                     .before = job->before,
                                     .worth_ns = job->values->worth ? job->worth_ns : NULL,
                                     .per_stream = is_per_stream(job),
                                     .network = job->values->bandwidth || job->values->network || job->values->worth};
    if (job->values->sensitivity) {
        uint64_t n = sutra_simulation_n_names(job->simulation);
        result.n_worth = n < N_WORTH ? n : N_WORTH;
    }
    (job->values->format ? simulate_json_print : simulate_page_print)(&result);
    fflush(stdout);
    if (!job->values->job.quiet)
        simulate_warn_lacking(job->simulation);
    if (sutra_simulation_n_deadlocked(job->simulation) == 0)
        return SUTRA_OK;
    simulate_warn_stuck(job->simulation);
    return SUTRA_DATA;
}

static void job_free(struct simulate_job *job) {
    sutra_simulation_free(job->simulation);
    sutra_simulation_free(job->before);
    sutra_et_ranks_free(job->ranks);
    for (size_t i = 0; i < WORDS_MAX; i++)
        free(job->made[i]);
    free(job->numbers);
}

static int simulate_files(struct simulate_values *values, const struct trace_list *files, bool has_folder) {
    for (size_t i = 0; i < files->n; i++)
        if (values->job.output && paths_same(values->job.output, files->paths[i]))
            return message_fail(SUTRA_USAGE, "%s: output and input are the same file", values->job.output);
    values->job.n_inputs = files->n;
    struct simulate_job job = {.values = values, .n = (uint32_t)files->n, .has_folder = has_folder};
    if (!read_bandwidth(&job))
        return SUTRA_USAGE;
    job.job = job_start(&values->job, !values->job.quiet, !values->job.quiet, false);
    job.numbers = calloc(files->n + 1, sizeof *job.numbers);
    struct sutra_error error;
    enum sutra_status status = job.numbers ? job_run(&job, files->paths, &error) : error_memory(&error);
    if (status == SUTRA_DATA && files->n > 1)
        name_link_command(&job, files, &error);
    int exit_code = status ? SUTRA_OK : job_show(&job);
    job_free(&job);
    int ended = job_end(&job.job, status, &error);
    return ended ? ended : exit_code;
}

static int run(const struct command *command, int argc, char **argv) {
    struct simulate_values values = {
        .job.where.device.choice = SUTRA_DEVICE_CPU, .job.stages = stages, .gpu = GPU_UNSAID};
    struct operands operands;
    int exit_code;
    if (!arguments_parse(command, argc, argv, &values, &operands, &exit_code))
        return exit_code;
    if (operands.n == 0)
        return message_fail(SUTRA_USAGE, "missing .et files; see '%s --help'", command->called);
    struct trace_list files;
    exit_code = trace_list_make(&files, &operands, NAMES_ET);
    bool has_folder = false;
    for (unsigned i = 0; i < operands.n; i++)
        has_folder = has_folder || path_is_folder(operands.words[i]);
    if (exit_code == SUTRA_OK)
        exit_code = simulate_files(&values, &files, has_folder);
    trace_list_free(&files);
    return exit_code;
}

static const char *const synopses[] = {"FILE.et... [OPTIONS]", "DIR [OPTIONS]", NULL};
static const char *const description[] = {
    "Replays the nodes of Chakra files, as ASTRA-sim does for measured durations: a node starts when its dependencies "
    "have ended and its resource is free. Prints the end of each rank, the CPU and GPU time, and the critical path.",
    "Several files are the ranks of one job. A name such as job.N.et gives the rank, otherwise the order of the files. "
    "The ranks synchronize at their collectives, matched by process group and order, and sends are matched with "
    "receives. For a deadlock, sutra prints the chain of waiting nodes (exit code 65).",
    "DIR stands for the .et files in it, such as the files of 'sutra link HOSTS DEVICES -o DIR --format et'.",
    "What-ifs (--scale to --straggler) change durations, and the output has the time with and without them. Launch "
    "latency is unchanged, except by --no-launch-latency. Files of 'sutra link HOST DEVICE -o X.et' reproduce the "
    "measured time.",
    NULL,
};
static const struct example examples[] = {
    {"sutra simulate rank.0.et", "simulate a rank, and print its critical path"},
    {"sutra simulate rank.0.et --scale 'name=~gemm:0.5'", "estimate the time with GEMM kernels of twice the speed"},
    {"sutra simulate rank.*.et --bandwidth x2", "estimate the time of a job with twice the bandwidth"},
    {"sutra simulate linked", "simulate a linked job in this directory"},
    {"sutra simulate rank.*.et --what-if-summary", "estimate the cost of stragglers and communication"},
    {"sutra simulate rank.0.et --sensitivity", "find the operators and kernels that are worth optimizing"},
    {"sutra simulate rank.0.et --trace simulated.json.gz", "write the simulated times for Perfetto"},
    {0},
};

const struct command simulate_command = {
    .name = "simulate",
    .called = "sutra simulate",
    .summary = "simulate Chakra .et files, and estimate what-ifs",
    .synopses = synopses,
    .description = description,
    .options = options,
    .examples = examples,
    .n_operands_max = OPERANDS_ANY,
    .run = run,
};
