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

static void add_device(struct json_out *json, uint32_t number, const struct sutra_device_info *device) {
    json_open_line(json);
    json_add_count(json, "number", number);
    json_add_text(json, "name", device->name);
    json_add_format(json, "compute_capability", "\"%" PRIu32 ".%" PRIu32 "\"", device->major, device->minor);
    json_add_count(json, "multiprocessors", device->n_processors);
    json_add_count(json, "memory_bytes", device->memory);
    json_add_count(json, "free_memory_bytes", device->free_memory);
    json_add_text(json, "refused", device->refused);
    json_close_line(json);
}

static int list_devices(struct job *job) {
    bool is_json = ((const struct devices_job *)job)->json;
    struct sutra_error error = {.message = ""};
    struct text_out text = {.file = stdout};
    struct json_out json = {.text = &text, .indent = 2};
    uint32_t n = sutra_device_count(&error);
    const char *none = n == 0 ? error.message : ""; /* the reason why there is no device */
    if (is_json) {
        json_open(&json, '{');
        json_add_open(&json, "devices", '[');
    }
    for (uint32_t i = 0; i < n; i++) {
        struct sutra_device_info device = {.size = sizeof device};
        if (sutra_device_describe(i, &device, &error)) {
            buffer_free(&text.out);
            return message_error(&error);
        }
        if (is_json)
            add_device(&json, i, &device);
        else
            print_device(i, &device);
    }

    char why[400];
    if (*none)
        snprintf(why, sizeof why, "%s", none);
    else
        gpu_faster_text(GPU_FASTER_EVENTS, why, sizeof why);
    bool cpu = *none || GPU_FASTER_EVENTS == NEVER_FASTER;
    if (!is_json) {
        printf(*none ? "%s\n--device auto uses the CPU\n"
               : cpu ? "--device auto uses the CPU: %s\n"
                     : "--device auto: %s\n",
               why);
        return SUTRA_OK;
    }
    json_close(&json, ']');
    json_name(&json, "auto");
    json_open_line(&json);
    if (cpu)
        json_add_text(&json, "least_events", NULL);
    else
        json_add_count(&json, "least_events", GPU_FASTER_EVENTS);
    json_add_text(&json, "why", why);
    json_close_line(&json);
    json_close(&json, '}');
    return json_finish(&json);
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
    COMMAND_TEXTS,
    .size = sizeof(struct devices_job),
    .work = list_devices,
};
