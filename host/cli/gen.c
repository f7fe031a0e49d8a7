/*
 * gen.c - `sutra gen`: generates a synthetic pair of traces of any size, or the traces of all ranks of a job, for tests
 * and benchmarks.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/job.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "generate/generate.h"

struct gen_values {
    uint64_t events, seed, n_threads, n_streams, gpu_density, depth;
    const char *host, *device, *schema;
    const char *gpu_scale;
    int shape, sync;
    uint64_t n_ranks, ranks_per_host, skew_us, clock_offset_us;
    uint64_t slow_rank;
    struct word_list injected; /* FAULT:RANK */
    bool force, quiet, integer_times, no_gpu, no_annotations, collectives, python_functions;
};

#define AT(field) .offset = offsetof(struct gen_values, field)

static const char *const syncs[] = {"plain", "stream", "event", "device", NULL}; /* as enum generate_sync has them */

static const struct option_row options[] = {
    {"events", 'n', OPTION_NUMBER, "N", AT(events), .minimum = 1, .maximum = UINT64_MAX,
     .help = "write N device events, for example 250k or 1M"},
    {"host", 0, OPTION_FILE, "HOST", AT(host),
     .help = "write the host trace to HOST (default: host.json, with --ranks hosts)"},
    {"device", 0, OPTION_FILE, "DEVICE", AT(device),
     .help = "write the device trace to DEVICE (default: device.json, with --ranks devices)"},
    JOB_ROW_FORCE(force),
    {"seed", 's', OPTION_NUMBER, "S", AT(seed), .maximum = UINT64_MAX,
     .help = "seed the generator with S; equal seeds give equal files (default: 0)"},
    {"shape", 0, OPTION_CHOICE, "SHAPE", AT(shape), .choices = generate_shape_names,
     .help = "select the shape of the run: realistic, or hard to link: unmatched, nested, overlapping, gaps, ties, "
             "deep (default: realistic)"},
    {"threads", 0, OPTION_NUMBER, "N", AT(n_threads), .maximum = UINT32_MAX, .help = "run N CPU threads (default: 2)"},
    {"streams", 0, OPTION_NUMBER, "N", AT(n_streams), .maximum = UINT32_MAX, .help = "run N GPU streams (default: 4)"},
    {"gpu-density", 0, OPTION_NUMBER, "N", AT(gpu_density), .maximum = 200,
     .help = "generate N GPU activities per 1,000 events, at most 150 (default: 120)"},
    {"depth", 0, OPTION_NUMBER, "N", AT(depth), .maximum = UINT32_MAX, .help = "nest operators at least N levels deep"},
    {"schema", 0, OPTION_TEXT, "SCHEMA", AT(schema),
     .help = "write SCHEMA as schema of the host trace (default: 1.1.1-chakra.0.0.4)"},
    {"sync", 0, OPTION_CHOICE, "HOW", AT(sync), .choices = syncs,
     .help = "synchronize with a stream, an event or the device at times; streams then also wait for each other's "
             "events (default: plain, a stream without such waits)"},
    {"gpu-scale", 0, OPTION_TEXT, "F", AT(gpu_scale),
     .help = "multiply the durations of GPU activities by F (default: 1)"},
    {"integer-times", 0, OPTION_FLAG, AT(integer_times), .help = "write times as integer microseconds"},
    {"no-gpu", 0, OPTION_FLAG, AT(no_gpu), .help = "omit GPU activities"},
    {"no-annotations", 0, OPTION_FLAG, AT(no_annotations), .help = "omit ProfilerStep and other user annotations"},
    {"collectives", 0, OPTION_FLAG, AT(collectives), .help = "add all-reduces of gradients to the backward pass"},
    {"python-functions", 0, OPTION_FLAG, AT(python_functions),
     .help = "add an event for the Python function around each top-level operator"},
    {"ranks", 0, OPTION_NUMBER, "N", AT(n_ranks), .minimum = 1, .maximum = UINT32_MAX,
     .help = "write the traces of a job of N ranks to the directories HOST and DEVICE, as host.R.json and "
             "device.R.json"},
    {"ranks-per-host", 0, OPTION_NUMBER, "N", AT(ranks_per_host), .minimum = 1, .maximum = UINT32_MAX,
     .help = "let N ranks share a host and its clock (default: 8)"},
    {"skew-us", 0, OPTION_NUMBER, "US", AT(skew_us), .maximum = UINT32_MAX,
     .help = "start ranks at most US microseconds apart (default: 0)"},
    {"clock-offset-us", 0, OPTION_NUMBER, "US", AT(clock_offset_us), .maximum = UINT32_MAX,
     .help = "offset the clocks of hosts by at most US microseconds from the first host's clock (default: 0)"},
    {"straggler-rank", 0, OPTION_NUMBER, "R", AT(slow_rank), .maximum = UINT32_MAX - 1,
     .help = "make rank R take 1.5 times as long"},
    {"inject", 0, OPTION_WORDS, "FAULT:RANK", AT(injected),
     .help = "inject a fault into the traces of one rank: missing (no traces), swap (two collectives in the wrong "
             "order), cut (truncated device trace), lost (no kernel of one collective) or resize (one collective of "
             "another size); may be repeated"},
    {"quiet", 'q', OPTION_FLAG, AT(quiet), .help = "print no progress"},
    {0},
};

#define NO_RANK UINT64_MAX

static int check(const struct gen_values *values, const struct command *command) {
    if (values->events == 0)
        return message_fail(SUTRA_USAGE, "--events N is missing; see '%s --help'", command->called);
    if (values->n_ranks == 0 && (values->ranks_per_host || values->skew_us || values->clock_offset_us ||
                                 values->slow_rank != NO_RANK || values->injected.n > 0))
        return message_fail(SUTRA_USAGE, "options for ranks need --ranks N");
    if (values->n_ranks == 0 && paths_same(values->host, values->device))
        return message_fail(SUTRA_USAGE, "%s: both traces have the same file name", values->host);
    return SUTRA_OK;
}

static bool read_scale(const char *text, double *scale) {
    char *end;
    *scale = strtod(text, &end);
    return end > text && !*end && *scale > 0;
}

/* Sets the rank of each injected fault. */
static int read_faults(const struct word_list *injected, struct generate_job_options *job) {
    const struct {
        const char *name;
        uint32_t *rank;
    } faults[] = {{"missing", &job->missing_rank},
                  {"swap", &job->swapped_rank},
                  {"cut", &job->cut_rank},
                  {"lost", &job->lossy_rank},
                  {"resize", &job->resized_rank}};
    enum { N_FAULTS = sizeof faults / sizeof *faults };
    for (size_t i = 0; i < N_FAULTS; i++)
        *faults[i].rank = GENERATE_RANK_NONE;
    for (size_t i = 0; i < injected->n; i++) {
        const char *word = injected->words[i], *colon = strchr(word, ':');
        size_t length = colon ? (size_t)(colon - word) : 0, fault = 0;
        char *end = NULL;
        unsigned long rank = colon && colon[1] >= '0' && colon[1] <= '9' ? strtoul(colon + 1, &end, 10) : 0;
        while (fault < N_FAULTS &&
               (strlen(faults[fault].name) != length || strncmp(faults[fault].name, word, length) != 0))
            fault++;
        if (fault == N_FAULTS || !end || *end || rank >= GENERATE_RANK_NONE)
            return message_fail(
                SUTRA_USAGE, "--inject: '%s' is not FAULT:RANK with missing, swap, cut, lost or resize as FAULT", word);
        *faults[fault].rank = (uint32_t)rank;
    }
    return SUTRA_OK;
}

/* Each file has its place among those that an interrupted program removes. */
static void on_host(void *arg, const char *path) {
    (void)arg;
    interrupt_guard_set_at(0, path);
}

static void on_device(void *arg, const char *path) {
    (void)arg;
    interrupt_guard_set_at(1, path);
}

static void on_progress(void *arg, uint64_t done, uint64_t total) {
    progress_update(arg, "write traces", done, total);
}

static int make_folders(const struct gen_values *values) {
    int exit_code = folder_make(values->host);
    return exit_code == SUTRA_OK ? folder_make(values->device) : exit_code;
}

static struct generate_job_options job_options(const struct gen_values *values) {
    return (struct generate_job_options){
        .n_ranks = (uint32_t)values->n_ranks,
        .ranks_per_host = (uint32_t)values->ranks_per_host,
        .skew_us = values->skew_us,
        .clock_offset_us = values->clock_offset_us,
        .slow_rank = (uint32_t)values->slow_rank, /* no rank is GENERATE_RANK_NONE */
        .host_folder = values->host,
        .device_folder = values->device,
    };
}

static int run(const struct command *command, int argc, char **argv) {
    struct gen_values values = {.host = NULL, .slow_rank = NO_RANK};
    struct operands operands;
    int exit_code;
    if (!arguments_parse(command, argc, argv, &values, &operands, &exit_code))
        return exit_code;
    values.host = values.host ? values.host : values.n_ranks ? "hosts" : "host.json";
    values.device = values.device ? values.device : values.n_ranks ? "devices" : "device.json";
    if ((exit_code = check(&values, command)) != SUTRA_OK)
        return exit_code;
    struct generate_job_options job = job_options(&values);
    if ((exit_code = read_faults(&values.injected, &job)) != SUTRA_OK)
        return exit_code;
    double gpu_scale = 1;
    if (values.gpu_scale && !read_scale(values.gpu_scale, &gpu_scale))
        return message_fail(SUTRA_USAGE, "--gpu-scale: '%s' is not a positive number", values.gpu_scale);
    const bool makes_host = values.n_ranks && !path_is_folder(values.host);
    const bool makes_device = values.n_ranks && !path_is_folder(values.device);
    if (values.n_ranks && (exit_code = make_folders(&values)) != SUTRA_OK)
        return exit_code;
    struct progress progress = progress_start(!values.quiet, NULL, 0);
    const struct generate_options generate = {
        .events = values.events,
        .seed = values.seed,
        .host_path = values.host,
        .device_path = values.device,
        .n_threads = (uint32_t)values.n_threads,
        .n_streams = (uint32_t)values.n_streams,
        .gpu_density = (uint32_t)values.gpu_density,
        .depth = (uint32_t)values.depth,
        .schema = values.schema,
        .integer_times = values.integer_times,
        .no_gpu = values.no_gpu,
        .no_annotations = values.no_annotations,
        .collectives = values.collectives,
        .python_functions = values.python_functions,
        .shape = (enum generate_shape)values.shape,
        .host_file = {.force = values.force, .temporary = on_host},
        .device_file = {.force = values.force, .temporary = on_device},
        .sync = (enum generate_sync)values.sync,
        .gpu_scale = gpu_scale,
        .progress = on_progress,
        .arg = &progress,
    };
    job.run = generate;
    struct sutra_error error;
    enum sutra_status status = values.n_ranks ? generate_job(&job, &error) : generate_pair(&generate, &error);
    progress_clear(&progress);
    if (status && makes_host) /* empty folders only */
        rmdir(values.host);
    if (status && makes_device)
        rmdir(values.device);
    return status ? message_error(&error) : SUTRA_OK;
}

static const char *const synopses[] = {
    "--events N [--seed S] [--host HOST] [--device DEVICE] [OPTIONS]",
    "--events N --ranks N [--host DIR] [--device DIR] [OPTIONS]",
    NULL,
};
static const char *const description[] = {
    "Writes a host trace and a device trace of one synthetic run, in the formats of PyTorch and Kineto. Equal options "
    "give equal files.",
    "With --ranks, writes the traces of all ranks of a job. All ranks run the same program. Its collectives record "
    "their group, number, type and size, start when each rank arrives, and end at the same time on all ranks.",
    NULL,
};
static const struct example examples[] = {
    {"sutra gen --events 1M --seed 1 --host host.json --device device.json",
     "write a pair with a million device events"},
    {"sutra gen --events 10k --shape nested --host host.json --device device.json",
     "write a pair with ten thousand operators, each nested in the previous one"},
    {"sutra gen --events 100k --ranks 8 --host hosts --device devices --straggler-rank 3",
     "write a job with a slow rank"},
    {0},
};

const struct command gen_command = {
    .name = "gen",
    .called = "sutra gen",
    .summary = "generate a synthetic pair of traces, or a whole job",
    .synopses = synopses,
    .description = description,
    .options = options,
    .examples = examples,
    .run = run,
};
