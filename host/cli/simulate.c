/*
 * simulate.c - `sutra simulate`: computes the times that a simulator would find for a job's .et files, and what-ifs.
 *
 *     .et files --> simulation with the changes, without them, with one more change each --> page or JSON, trace
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
#include "cli/progress.h"
#include "cli/simulate_page.h"
#include "sutra/sutra.h"

#define N_SENSITIVITY 10 /* names */
#define CHANGES_MAX   (2 * LIST_MAX + 1)

struct simulate_job {
    struct job job; /* its output is the trace */
    struct sutra_simulate_options options;
    int gpu, cpu, format, overlap, straggler;
    struct option_list scales, removals;
    const char *bandwidth;
    bool sensitivity, what_ifs;
    struct sutra_et_ranks *ranks;
    uint64_t *numbers;                            /* ranks of the files */
    char *made[LIST_MAX];                         /* changes for the removals */
    const char *changes[CHANGES_MAX + 1];         /* one more for what-ifs */
    struct sutra_simulation *simulation, *before; /* with and without the changes; before NULL: no changes */
    uint64_t what_if_ns[N_WHAT_IFS];
};

static const struct stage_share stages[] = {
    {"read .et", 50, true}, {"simulate", 30, false}, {"sensitivity", 100, false}, {"write", 20, false}, {0}};

static const char *const cpus[] = {"one", "threads", NULL};
static const char *const formats[] = {"text", "json", NULL};
static const char *const overlaps[] = {"as-is", "comm", NULL};

static const char *const stragglers[] = {"as-is", "none", NULL};

static const struct option_row options[] = {
    {"gpu", 0, OPTION_CHOICE, "HOW", AT(simulate_job, gpu), .choices = faithful_gpus,
     .help = "run one kernel and one collective at a time per GPU, as ASTRA-sim does (one), or one node at a time per "
             "stream (streams) (default: as recorded in the files, else one)"},
    {"cpu", 0, OPTION_CHOICE, "HOW", AT(simulate_job, cpu), .choices = cpus,
     .help = "simulate one CPU per rank (one) or one per thread (threads) (default: one)"},
    {"scale", 's', OPTION_LIST, "WHAT:FACTOR", AT(simulate_job, scales),
     .help =
         "multiply the execution time of WHAT by FACTOR, such as 0.5 or 2x. WHAT is cpu, gpu, compute, comm, "
         "name=TEXT, name=~REGEX, op=TEXT, op=~REGEX (launched by an operator) or stream=N; the prefix rank=N: selects "
         "one rank; repeatable"},
    {"remove", 0, OPTION_LIST, "WHAT", AT(simulate_job, removals),
     .help = "estimate the time if WHAT took no time; repeatable"},
    {"no-launch-latency", 0, OPTION_FLAG, AT(simulate_job, options.no_launch_latency),
     .help = "estimate the time without launch latency"},
    {"overlap", 0, OPTION_CHOICE, "WHAT", AT(simulate_job, overlap), .choices = overlaps,
     .help = "estimate the time if all communication overlapped with compute (comm) (default: as-is)"},
    {"bandwidth", 0, OPTION_TEXT, "xN", AT(simulate_job, bandwidth),
     .help =
         "estimate the time with N times the network bandwidth: a linear fit of time over bytes gives the part of a "
         "job's collectives that scales; other communication takes 1/N of its execution time"},
    {"network", 0, OPTION_TEXT, "NETWORK", AT(simulate_job, options.network),
     .help =
         "estimate the time on another network, such as alpha=12us,beta=50GB/s: latency of a collective and bandwidth "
         "of each rank's link"},
    {"straggler", 0, OPTION_CHOICE, "WHAT", AT(simulate_job, straggler), .choices = stragglers,
     .help = "estimate the time if no rank computed more slowly than the median rank (none) (default: as-is)"},
    {"what-if-summary", 0, OPTION_FLAG, AT(simulate_job, what_ifs),
     .help = "print the time without stragglers, with twice the bandwidth and without communication, with the known "
             "errors of these estimates"},
    {"sensitivity", 0, OPTION_FLAG, AT(simulate_job, sensitivity),
     .help = "print for each of the ten longest names the time without its nodes"},
    {"alone", 0, OPTION_FLAG, AT(simulate_job, options.alone),
     .help = "simulate each rank alone, without waits for other ranks at collectives"},
    {"trace", 't', OPTION_FILE, "OUT", AT(job, output),
     .help =
         "write the simulated times for Perfetto, and the measured times if the files record start times; compressed "
         "if OUT ends in .gz or .zst"},
    JOB_ROW_FORCE,
    JOB_ROW_INPUT,
    {"format", 'f', OPTION_CHOICE, "FORMAT", AT(simulate_job, format), .choices = formats,
     .help = "print human-readable text or json (default: text)"},
    JOB_ROW_QUIET("print no progress and no warnings"),
    {0},
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

static int check(struct job *job) {
    struct simulate_job *simulate = (struct simulate_job *)job;
    struct sutra_simulate_options *how = &simulate->options;
    how->cpu_threads = simulate->cpu == 1;
    how->no_straggler = simulate->straggler == 1;
    how->bandwidth = 1;
    const char *text = simulate->bandwidth;
    if (text) { /* "x2", "2x" or "2" */
        char *end;
        const bool leads = *text == 'x';
        how->bandwidth = strtod(text + leads, &end);
        bool valid = end != text + leads && how->bandwidth > 0 && how->bandwidth <= 1e6;
        if (!valid || (*end && (leads || strcmp(end, "x") != 0)))
            return message_fail(SUTRA_USAGE, "--bandwidth: '%s' is not a factor such as 2x", text);
    }
    return job_list_inputs(job, NAMES_ET);
}

/* Determines the ranks of the files: by name if all names contain a rank and all ranks differ, else by order. Files of
 * a directory with the same rank may be from two jobs, such as rank.0.et and rank.0.et.gz: SUTRA_USAGE. */
static enum sutra_status number_ranks(struct simulate_job *simulate, struct sutra_error *error) {
    const struct job *job = &simulate->job;
    bool named = true, has_folder = false;
    if (!(simulate->numbers = calloc(job->n_inputs + 1, sizeof *simulate->numbers)))
        return error_memory(error);
    for (unsigned i = 0; i < job->operands.n; i++)
        has_folder = has_folder || path_is_folder(job->operands.words[i]);
    for (size_t i = 0; i < job->n_inputs && named; i++) {
        named = rank_of_name(job->inputs[i], &simulate->numbers[i]);
        for (size_t k = 0; k < i && named; k++) {
            named = simulate->numbers[k] != simulate->numbers[i];
            if (!named && has_folder)
                return error_file(error, SUTRA_USAGE, job->inputs[i],
                                  "%s is also rank %" PRIu64 "; pass one file per rank", job->inputs[k],
                                  simulate->numbers[i]);
        }
    }
    for (size_t i = 0; i < job->n_inputs && !named; i++)
        simulate->numbers[i] = i;
    return SUTRA_OK;
}

/* Collects the changes of --scale, --overlap and --remove. */
static enum sutra_status collect_changes(struct simulate_job *simulate, struct sutra_error *error) {
    const struct option_list *scales = &simulate->scales, *removals = &simulate->removals;
    size_t n = 0;
    for (size_t i = 0; i < scales->n; i++)
        simulate->changes[n++] = scales->texts[i];
    if (simulate->overlap)
        simulate->changes[n++] = "comm:0";
    for (size_t i = 0; i < removals->n; i++) {
        size_t size = strlen(removals->texts[i]) + 3;
        if (!(simulate->made[i] = malloc(size)))
            return error_memory(error);
        snprintf(simulate->made[i], size, "%s:0", removals->texts[i]);
        simulate->changes[n++] = simulate->made[i];
    }
    simulate->options.scales = simulate->changes;
    simulate->options.n_scales = n;
    return SUTRA_OK;
}

/* Simulates the job with its changes, without them, and with each what-if in addition. */
static enum sutra_status run_simulations(struct simulate_job *simulate, struct sutra_error *error) {
    struct sutra_context *context = simulate->job.context;
    struct sutra_simulate_options *how = &simulate->options;
    how->gpu_streams =
        simulate->gpu == GPU_DEFAULT ? sutra_et_ranks_gpu_streams(simulate->ranks) : simulate->gpu == GPU_STREAMS;
    const struct sutra_simulate_options plain = {
        .size = sizeof plain, .gpu_streams = how->gpu_streams, .cpu_threads = how->cpu_threads, .alone = how->alone};
    bool is_changed =
        how->n_scales || how->no_launch_latency || simulate->bandwidth || how->network || how->no_straggler;
    enum sutra_status status = sutra_simulate_ranks(context, simulate->ranks, how, &simulate->simulation, error);
    if (!status && is_changed)
        status = sutra_simulate_ranks(context, simulate->ranks, &plain, &simulate->before, error);
    if (!status && simulate->sensitivity)
        status = sutra_simulation_what_if(context, simulate->simulation, N_SENSITIVITY, error);
    for (int what_if = 0; what_if < N_WHAT_IFS && simulate->what_ifs && !status; what_if++) {
        struct sutra_simulate_options more = *how;
        struct sutra_simulation *simulation = NULL;
        simulate->changes[how->n_scales] = "comm:0";
        more.no_straggler |= what_if == WHAT_IF_NO_STRAGGLER;
        more.bandwidth *= what_if == WHAT_IF_NETWORK ? 2 : 1;
        more.n_scales += what_if == WHAT_IF_NO_COMMUNICATION;
        status = sutra_simulate_ranks(context, simulate->ranks, &more, &simulation, error);
        if (!status)
            simulate->what_if_ns[what_if] = sutra_simulation_time_ns(simulation);
        sutra_simulation_free(simulation);
    }
    return status;
}

/* If the files contain a host trace and a device trace, reports the command that links them. */
static void recommend_link(const struct job *job, struct sutra_error *error) {
    const char *host = NULL, *device = NULL;
    for (size_t i = 0; i < job->n_inputs; i++)
        if (!host && job_is_trace(job, job->inputs[i], SUTRA_TRACE_HOST))
            host = job->inputs[i];
        else if (!device && job_is_trace(job, job->inputs[i], SUTRA_TRACE_DEVICE))
            device = job->inputs[i];
    if (host && device)
        error_file(error, SUTRA_DATA, host,
                   "expected an .et file, found a host trace; link it: 'sutra link %s %s -o rank.0.et'", host, device);
}

static int simulate(struct job *job) {
    struct simulate_job *simulate = (struct simulate_job *)job;
    struct sutra_error error;
    enum sutra_status status = number_ranks(simulate, &error);
    if (!status)
        status = collect_changes(simulate, &error);
    if (!status)
        status = job_open(job, job->output, &error);
    if (!status)
        status = sutra_et_ranks_read(job->context, job->inputs, simulate->numbers, (uint32_t)job->n_inputs,
                                     &simulate->ranks, &error);
    if (!status)
        status = run_simulations(simulate, &error);
    if (!status && job->output)
        status = sutra_simulation_write_trace(job->context, simulate->simulation, job->output, NULL, &error);
    if (status == SUTRA_DATA && job->n_inputs > 1)
        recommend_link(job, &error);
    if (status)
        return job_fail(job, &error);
    progress_clear(&job->watch.progress);

    struct simulate_result result = {.simulation = simulate->simulation,
                                     .before = simulate->before,
                                     .what_if_ns = simulate->what_ifs ? simulate->what_if_ns : NULL,
                                     .per_stream = simulate->options.gpu_streams,
                                     .network = simulate->bandwidth || simulate->options.network || simulate->what_ifs};
    if (simulate->sensitivity) {
        uint64_t n = sutra_simulation_n_names(simulate->simulation);
        result.n_sensitivity = n < N_SENSITIVITY ? n : N_SENSITIVITY;
    }
    int exit_code = SUTRA_OK;
    if (simulate->format)
        exit_code = simulate_json_print(&result);
    else
        simulate_page_print(&result);
    fflush(stdout);
    if (!job->quiet)
        simulate_warn_missing_ranks(simulate->simulation);
    if (exit_code != SUTRA_OK || sutra_simulation_n_deadlocked(simulate->simulation) == 0)
        return exit_code;
    simulate_warn_deadlock(simulate->simulation);
    return SUTRA_DATA;
}

static void release(struct job *job) {
    struct simulate_job *simulate = (struct simulate_job *)job;
    sutra_simulation_free(simulate->simulation);
    sutra_simulation_free(simulate->before);
    sutra_et_ranks_free(simulate->ranks);
    for (size_t i = 0; i < LIST_MAX; i++)
        free(simulate->made[i]);
    free(simulate->numbers);
}

static const struct simulate_job defaults = {.job = {.device.choice = SUTRA_DEVICE_CPU, .stages = stages},
                                             .options.size = sizeof(struct sutra_simulate_options),
                                             .gpu = GPU_DEFAULT};

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
    .n_operands_min = 1,
    .n_operands_max = OPERANDS_ANY,
    .missing = "missing .et files",
    .size = sizeof(struct simulate_job),
    .defaults = &defaults,
    .check = check,
    .work = simulate,
    .release = release,
};
