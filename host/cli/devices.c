/*
 * devices.c - `sutra devices`: lists the CUDA devices of this machine and the choice of --device auto, as text or JSON.
 * No devices is a valid result, not an error.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/job.h"
#include "context/context.h"
#include "sutra/sutra.h"
#include "text/quantities.h"
#include "write/json.h"

struct devices_job {
    struct job job;
    bool json;
};

static const struct option_row options[] = {
    {"json", 'j', OPTION_FLAG, AT(devices_job, json), .help = "print one JSON object"},
    {0},
};

static void print_device(uint32_t number, const struct sutra_device_info *device) {
    printf("%" PRIu32 "  %s, compute capability %" PRIu32 ".%" PRIu32 ", %" PRIu32 " multiprocessors, %s of memory",
           number, device->name, device->major, device->minor, device->n_processors, bytes_text(device->memory).text);
    if (*device->refused)
        printf("; unusable: %s\n", device->refused);
    else
        printf(", %s free\n", bytes_text(device->free_memory).text);
}

static void print_device_json(uint32_t number, const struct sutra_device_info *device) {
    printf("%s\n    {\"number\": %" PRIu32 ", \"name\": ", number ? "," : "", number);
    json_string_print(stdout, device->name);
    printf(", \"compute_capability\": \"%" PRIu32 ".%" PRIu32 "\", \"multiprocessors\": %" PRIu32
           ", \"memory_bytes\": %" PRIu64 ", \"free_memory_bytes\": %" PRIu64 ", \"refused\": ",
           device->major, device->minor, device->n_processors, device->memory, device->free_memory);
    json_string_print(stdout, device->refused);
    putchar('}');
}

/* Prints the choice of --device auto. `none` is the reason why there is no device, or "". */
static void print_auto(const char *none, bool json) {
    char why[400];
    if (*none)
        snprintf(why, sizeof why, "%s", none);
    else
        gpu_faster_text(GPU_FASTER_EVENTS, why, sizeof why);
    bool cpu = *none || GPU_FASTER_EVENTS == NEVER_FASTER;
    if (!json) {
        printf(*none ? "%s\n--device auto uses the CPU\n"
               : cpu ? "--device auto uses the CPU: %s\n"
                     : "--device auto: %s\n",
               why);
        return;
    }
    printf("%s],\n  \"auto\": {\"least_events\": ", *none ? "" : "\n  ");
    if (cpu)
        printf("null");
    else
        printf("%" PRIu64, GPU_FASTER_EVENTS);
    printf(", \"why\": ");
    json_string_print(stdout, why);
    printf("}\n}\n");
}

static int list_devices(struct job *job) {
    bool json = ((const struct devices_job *)job)->json;
    struct sutra_error error = {.message = ""};
    uint32_t n = sutra_device_count(&error);
    if (json)
        printf("{\n  \"devices\": [");
    for (uint32_t i = 0; i < n; i++) {
        struct sutra_device_info device = {.size = sizeof device};
        if (sutra_device_describe(i, &device, &error))
            return message_error(&error);
        (json ? print_device_json : print_device)(i, &device);
    }
    print_auto(n ? "" : error.message, json);
    return SUTRA_OK;
}

static const char *const synopses[] = {"[OPTIONS]", NULL};
static const char *const description[] = {
    "Lists the CUDA devices of this machine, numbered as in --device cuda:N, and prints when --device auto uses one. "
    "If there is no CUDA device, prints the reason.",
    NULL,
};
static const struct example examples[] = {
    {"sutra devices", "list the devices"},
    {"sutra devices --json | jq '.devices[].name'", "print the device names, for a script"},
    {0},
};

const struct command devices_command = {
    .name = "devices",
    .called = "sutra devices",
    .summary = "list usable GPUs",
    .synopses = synopses,
    .description = description,
    .options = options,
    .examples = examples,
    .size = sizeof(struct devices_job),
    .work = list_devices,
};
