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

struct gen_job {
    struct job job;
    struct generate_job_options run; /* run.run: options of each rank, or of a single pair */
    const char *host_path, *device_path, *gpu_scale;
    struct option_list faults; /* FAULT:RANK */
};

static const char *const syncs[] = {"plain", "stream", "event", "device",
                                    NULL}; /* in the order of enum generate_sync */

static const struct option_row options[] = {
    {"events", 'n', OPTION_NUMBER, "N", AT(gen_job, run.run.events), .minimum = 1, .maximum = UINT64_MAX,
     .help = "write N device events, for example 250k or 1M"},
    {"host", 0, OPTION_FILE, "HOST", AT(gen_job, host_path),
     .help = "write the host trace to HOST (default: host.json, with --ranks hosts)"},
    {"device", 0, OPTION_FILE, "DEVICE", AT(gen_job, device_path),
     .help = "write the device trace to DEVICE (default: device.json, with --ranks devices)"},
    JOB_ROW_FORCE,
    {"seed", 's', OPTION_NUMBER, "S", AT(gen_job, run.run.seed), .maximum = UINT64_MAX,
     .help = "seed the generator with S; equal seeds give equal files (default: 0)"},
    {"shape", 0, OPTION_CHOICE, "SHAPE", AT(gen_job, run.run.shape), .choices = generate_shape_names,
     .help = "select the shape of the run: realistic, or hard to link: unmatched, nested, overlapping, gaps, ties, "
             "deep (default: realistic)"},
    {"threads", 0, OPTION_NUMBER, "N", AT(gen_job, run.run.n_threads), .maximum = UINT32_MAX,
     .help = "run N CPU threads (default: 2)"},
    {"streams", 0, OPTION_NUMBER, "N", AT(gen_job, run.run.n_streams), .maximum = UINT32_MAX,
     .help = "run N GPU streams (default: 4)"},
    {"gpu-density", 0, OPTION_NUMBER, "N", AT(gen_job, run.run.gpu_density), .maximum = 200,
     .help = "generate N GPU activities per 1,000 events, at most 150 (default: 120)", .group = group_more},
    {"depth", 0, OPTION_NUMBER, "N", AT(gen_job, run.run.depth), .maximum = UINT32_MAX,
     .help = "nest operators at least N levels deep", .group = group_more},
    {"schema", 0, OPTION_TEXT, "SCHEMA", AT(gen_job, run.run.schema),
     .help = "write SCHEMA as schema of the host trace (default: 1.1.1-chakra.0.0.4)", .group = group_more},
    {"sync", 0, OPTION_CHOICE, "HOW", AT(gen_job, run.run.sync), .choices = syncs,
     .help = "synchronize with a stream, an event or the device at times; streams then also wait for each other's "
             "events (default: plain, a stream without such waits)",
     .group = group_more},
    {"gpu-scale", 0, OPTION_TEXT, "F", AT(gen_job, gpu_scale),
     .help = "multiply the durations of GPU activities by F (default: 1)", .group = group_more},
    {"integer-times", 0, OPTION_FLAG, AT(gen_job, run.run.integer_times), .help = "write times as integer microseconds",
     .group = group_more},
    {"no-gpu", 0, OPTION_FLAG, AT(gen_job, run.run.no_gpu), .help = "omit GPU activities", .group = group_more},
    {"no-annotations", 0, OPTION_FLAG, AT(gen_job, run.run.no_annotations),
     .help = "omit ProfilerStep and other user annotations", .group = group_more},
    {"collectives", 0, OPTION_FLAG, AT(gen_job, run.run.collectives),
     .help = "add all-reduces of gradients to the backward pass", .group = group_more},
    {"python-functions", 0, OPTION_FLAG, AT(gen_job, run.run.python_functions),
     .help = "add an event for the Python function around each top-level operator", .group = group_more},
    {"ranks", 0, OPTION_NUMBER, "N", AT(gen_job, run.n_ranks), .minimum = 1, .maximum = UINT32_MAX,
     .help = "write the traces of a job of N ranks to the directories HOST and DEVICE, as host.R.json and "
             "device.R.json",
     .group = "Jobs"},
    {"ranks-per-host", 0, OPTION_NUMBER, "N", AT(gen_job, run.ranks_per_host), .minimum = 1, .maximum = UINT32_MAX,
     .help = "let N ranks share a host and its clock (default: 8)", .group = "Jobs"},
    {"skew-us", 0, OPTION_NUMBER, "US", AT(gen_job, run.skew_us), .maximum = UINT32_MAX,
     .help = "start ranks at most US microseconds apart (default: 0)", .group = "Jobs"},
    {"clock-offset-us", 0, OPTION_NUMBER, "US", AT(gen_job, run.clock_offset_us), .maximum = UINT32_MAX,
     .help = "offset the clocks of hosts by at most US microseconds from the first host's clock (default: 0)",
     .group = "Jobs"},
    {"straggler-rank", 0, OPTION_NUMBER, "R", AT(gen_job, run.slow_rank), .maximum = UINT32_MAX - 1,
     .help = "make rank R take 1.5 times as long", .group = "Jobs"},
    {"inject", 0, OPTION_LIST, "FAULT:RANK", AT(gen_job, faults),
     .help = "inject a fault into the traces of one rank: missing (no traces), swap (two collectives in the wrong "
             "order), cut (truncated device trace), lost (no kernel of one collective) or resize (one collective of "
             "another size); may be repeated",
     .group = "Jobs"},
    JOB_ROW_QUIET,
    {0},
};

/* Sets the rank of each injected fault. */
static int read_faults(const struct option_list *injected, struct generate_job_options *job) {
    const struct {
        const char *name;
        uint32_t *rank;
    } faults[] = {{"missing", &job->missing_rank},
                  {"swap", &job->swapped_rank},
                  {"cut", &job->cut_rank},
                  {"lost", &job->lossy_rank},
                  {"resize", &job->resized_rank}};
    enum { N_FAULTS = COUNT_OF(faults) };
    for (size_t i = 0; i < N_FAULTS; i++)
        *faults[i].rank = GENERATE_RANK_NONE;
    for (size_t i = 0; i < injected->n; i++) {
        const char *word = injected->texts[i], *colon = strchr(word, ':');
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

static int check(struct job *job) {
    struct gen_job *gen = (struct gen_job *)job;
    struct generate_job_options *run = &gen->run;
    bool is_job = run->n_ranks > 0;
    gen->host_path = gen->host_path ? gen->host_path : is_job ? "hosts" : "host.json";
    gen->device_path = gen->device_path ? gen->device_path : is_job ? "devices" : "device.json";
    if (run->run.events == 0)
        return message_fail(SUTRA_USAGE, "--events N is missing; see '%s --help'", job->command->called);
    if (!is_job && (run->ranks_per_host || run->skew_us || run->clock_offset_us ||
                    run->slow_rank != GENERATE_RANK_NONE || gen->faults.n > 0))
        return message_fail(SUTRA_USAGE, "options for ranks need --ranks N");
    if (!is_job && paths_same(gen->host_path, gen->device_path))
        return message_fail(SUTRA_USAGE, "%s: both traces have the same file name", gen->host_path);
    TRY_CODE(read_faults(&gen->faults, run));
    TRY_CODE(path_check_format(gen->host_path, is_job ? "" : ".json"));
    TRY_CODE(path_check_format(gen->device_path, is_job ? "" : ".json"));
    run->run.gpu_scale = 1;
    if (gen->gpu_scale) {
        char *end;
        run->run.gpu_scale = strtod(gen->gpu_scale, &end);
        if (end == gen->gpu_scale || *end || !(run->run.gpu_scale > 0))
            return message_fail(SUTRA_USAGE, "--gpu-scale: '%s' is not a positive number", gen->gpu_scale);
    }
    return SUTRA_OK;
}

/* An interrupted program removes both temporary files. */
static void on_host_file(void *arg, const char *path) {
    (void)arg;
    interrupt_guard_set_at(0, path);
}

static void on_device_file(void *arg, const char *path) {
    (void)arg;
    interrupt_guard_set_at(1, path);
}

static void on_progress(void *arg, uint64_t done, uint64_t total) {
    progress_update(arg, "write traces", done, total);
}

static int generate(struct job *job) {
    struct gen_job *gen = (struct gen_job *)job;
    struct generate_options *run = &gen->run.run;
    bool is_job = gen->run.n_ranks > 0;
    struct sutra_error error;
    if (is_job) {
        TRY_CODE(folder_make(gen->host_path));
        TRY_CODE(folder_make(gen->device_path));
    }
    run->host_path = gen->run.host_folder = gen->host_path;
    run->device_path = gen->run.device_folder = gen->device_path;
    run->host_file = (struct temp_file_options){.force = job->options.force, .temporary = on_host_file};
    run->device_file = (struct temp_file_options){.force = job->options.force, .temporary = on_device_file};
    run->progress = on_progress;
    run->arg = &job->watch.progress;
    if (is_job ? generate_job(&gen->run, &error) : generate_pair(run, &error))
        return job_fail(job, &error);
    return SUTRA_OK;
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
    COMMAND_TEXTS,
    .size = sizeof(struct gen_job),
    .defaults = &(const struct gen_job){.run.slow_rank = GENERATE_RANK_NONE},
    .check = check,
    .work = generate,
};
