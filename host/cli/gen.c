/*
 * gen.c - `sutra gen`: a made-up pair of traces of any size, for tests and measurements.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "cli/tool/arguments.h"
#include "cli/tool/interrupt.h"
#include "cli/tool/job.h"
#include "cli/tool/paths.h"
#include "generate/generate.h"

struct gen_values {
    uint64_t events, seed, n_threads, n_streams, gpu_density, depth;
    const char *host, *device, *schema;
    const char *gpu_scale;
    int shape, sync;
    bool force, integer_times, no_gpu, no_annotations, collectives, python_functions;
};

#define AT(field) .offset = offsetof(struct gen_values, field)

static const char *const syncs[] = {"plain", "stream", "event", "device", NULL}; /* as enum generate_sync has them */

static const struct option_row options[] = {
    {"events", 'n', OPTION_NUMBER, "N", AT(events), .minimum = 1, .maximum = UINT64_MAX,
     .help = "write N device events; 250k and 1M are numbers too"},
    {"host", 0, OPTION_FILE, "HOST", AT(host), .help = "write the host trace to HOST (default: host.json)"},
    {"device", 0, OPTION_FILE, "DEVICE", AT(device), .help = "write the device trace to DEVICE (default: device.json)"},
    JOB_ROW_FORCE(force),
    {"seed", 's', OPTION_NUMBER, "S", AT(seed), .maximum = UINT64_MAX,
     .help = "another number, another pair; equal numbers give equal files (default: 0)"},
    {"shape", 0, OPTION_CHOICE, "SHAPE", AT(shape), .choices = generate_shape_names,
     .help =
         "what the run looks like: realistic, or hard on a linker: unmatched, nested, overlapping, gaps, ties, deep "
         "(default: realistic)"},
    {"threads", 0, OPTION_NUMBER, "N", AT(n_threads), .maximum = UINT32_MAX,
     .help = "CPU threads of the run (default: 2)"},
    {"streams", 0, OPTION_NUMBER, "N", AT(n_streams), .maximum = UINT32_MAX,
     .help = "GPU streams of the run (default: 4)"},
    {"gpu-density", 0, OPTION_NUMBER, "N", AT(gpu_density), .maximum = 200,
     .help = "GPU operators per 1,000 events, at most 150 (default: 120)"},
    {"depth", 0, OPTION_NUMBER, "N", AT(depth), .maximum = UINT32_MAX, .help = "nest operators at least so deep"},
    {"schema", 0, OPTION_TEXT, "SCHEMA", AT(schema), .help = "schema of the host trace (default: 1.1.1-chakra.0.0.4)"},
    {"sync", 0, OPTION_CHOICE, "HOW", AT(sync), .choices = syncs,
     .help =
         "how the run now and then waits for the GPU: for a stream, an event or the device; streams then also wait for "
         "each other's events (default: plain, for a stream and without that)"},
    {"gpu-scale", 0, OPTION_TEXT, "F", AT(gpu_scale),
     .help = "the same run on a GPU whose operators take F times as long (default: 1)"},
    {"integer-times", 0, OPTION_FLAG, AT(integer_times), .help = "whole microseconds instead of decimals"},
    {"no-gpu", 0, OPTION_FLAG, AT(no_gpu), .help = "no GPU operators"},
    {"no-annotations", 0, OPTION_FLAG, AT(no_annotations), .help = "no ProfilerStep and other spans of the user's"},
    {"collectives", 0, OPTION_FLAG, AT(collectives), .help = "all-reduces of gradients in the backward pass"},
    {"python-functions", 0, OPTION_FLAG, AT(python_functions),
     .help = "an event for the Python function around each top-level operator"},
    {0},
};

static int check(const struct gen_values *values, const struct command *command) {
    if (values->events == 0)
        return message_fail(SUTRA_USAGE, "--events N is missing; see '%s --help'", command->called);
    if (paths_same(values->host, values->device))
        return message_fail(SUTRA_USAGE, "%s: both traces would be the same file", values->host);
    return SUTRA_OK;
}

static bool read_scale(const char *text, double *scale) {
    char *end;
    *scale = strtod(text, &end);
    return end > text && !*end && *scale > 0;
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

static int run(const struct command *command, int argc, char **argv) {
    struct gen_values values = {.host = "host.json", .device = "device.json"};
    struct operands operands;
    int exit_code;
    if (!arguments_parse(command, argc, argv, &values, &operands, &exit_code))
        return exit_code;
    if ((exit_code = check(&values, command)) != SUTRA_OK)
        return exit_code;
    double gpu_scale = 1;
    if (values.gpu_scale && !read_scale(values.gpu_scale, &gpu_scale))
        return message_fail(SUTRA_USAGE, "--gpu-scale: '%s' is no positive number", values.gpu_scale);
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
    };
    struct sutra_error error;
    return generate_pair(&generate, &error) ? message_error(&error) : SUTRA_OK;
}

static const char *const synopses[] = {"--events N [--seed S] [--host HOST] [--device DEVICE] [OPTIONS]", NULL};
static const char *const description[] = {
    "Writes a host trace and a device trace of the same made-up run, laid out as PyTorch and Kineto do it. Equal "
    "options give equal files.",
    NULL,
};
static const struct example examples[] = {
    {"sutra gen --events 1M --seed 1 --host host.json --device device.json", "a pair with a million device events"},
    {"sutra gen --events 10k --shape nested --host host.json --device device.json",
     "ten thousand operators, each inside the one before"},
    {0},
};

const struct command gen_command = {
    .name = "gen",
    .called = "sutra gen",
    .summary = "make up a pair of traces of any size",
    .synopses = synopses,
    .description = description,
    .options = options,
    .examples = examples,
    .run = run,
};
