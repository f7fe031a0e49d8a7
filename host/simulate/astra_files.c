/*
 * astra_files.c - what ASTRA-sim needs beside .et files: the members of process groups, and a system, a network and a
 * memory to begin with.
 */
#include "simulate/astra_files.h"

#include <stdio.h>

#include "base/error.h"
#include "simulate/converted.h"
#include "write/json_out.h"
#include "write/text_file.h"

/* What a text is written of. */
struct astra_files {
    const struct comm_groups *groups; /* or, of a job whose ranks meet: */
    const struct astra_group *met;
    uint32_t n_met;
    uint32_t n_ranks;
};

static void write_ranks(struct json_out *json, const struct comm_group *group, uint32_t n_ranks) {
    json_open(json, '[');
    for (uint32_t i = 0; i < (group->n_ranks ? group->n_ranks : n_ranks); i++)
        json_integer(json, group->n_ranks ? group->ranks[i] : i);
    json_close(json, ']');
}

/* {"3": [0, 1]}; the group 0 is that of all ranks, which ASTRA-sim knows by itself. */
static bool write_groups(const void *of, struct text_out *text) {
    const struct astra_files *files = of;
    struct json_out json = {.text = text, .indent = JSON_ONE_LINE};
    json_open(&json, '{');
    for (uint32_t i = 0; i < files->groups->n_used; i++) {
        const struct comm_group *group = &files->groups->list[i];
        if (group->number.length == 1 && *group->number.bytes == '0')
            continue;
        json_key(&json, group->number.bytes, group->number.length);
        write_ranks(&json, group, files->n_ranks);
    }
    json_close(&json, '}');
    out_add(text, "\n");
    return !text->out.failed;
}

static bool write_met_groups(const void *of, struct text_out *text) {
    const struct astra_files *files = of;
    struct json_out json = {.text = text, .indent = JSON_ONE_LINE};
    json_open(&json, '{');
    for (uint32_t i = 0; i < files->n_met; i++) {
        char number[16];
        int length = snprintf(number, sizeof number, "%u", files->met[i].number);
        if (files->met[i].n_ranks == 0)
            continue;
        json_key(&json, number, (size_t)length);
        json_open(&json, '[');
        for (uint32_t k = 0; k < files->met[i].n_ranks; k++)
            json_integer(&json, files->met[i].ranks[k]);
        json_close(&json, ']');
    }
    json_close(&json, '}');
    out_add(text, "\n");
    return !text->out.failed;
}

static bool write_system(const void *of, struct text_out *text) {
    const struct astra_files *files = of;
    out_format(text, "{\n  \"scheduling-policy\": \"LIFO\",\n  \"endpoint-delay\": %d,\n", files->met ? 0 : 10);
    out_add(text, "  \"active-chunks-per-dimension\": 1,\n"
                  "  \"preferred-dataset-splits\": 4,\n"
                  "  \"all-reduce-implementation\": [\"ring\"],\n"
                  "  \"all-gather-implementation\": [\"ring\"],\n"
                  "  \"reduce-scatter-implementation\": [\"ring\"],\n"
                  "  \"all-to-all-implementation\": [\"ring\"],\n"
                  "  \"collective-optimization\": \"localBWAware\",\n"
                  "  \"local-mem-bw\": 1600,\n"
                  "  \"boost-mode\": 0,\n"
                  "  \"roofline-enabled\": 0,\n"
                  "  \"trace-enabled\": 1,\n"
                  "  \"peak-perf\": 900\n"
                  "}\n");
    return !text->out.failed;
}

static bool write_network(const void *of, struct text_out *text) {
    const struct astra_files *files = of;
    out_add(text, "# A ring of all ranks; ASTRA-sim needs at least two ranks.\n"
                  "topology: [ Ring ]\n");
    out_format(text, "npus_count: [ %u ]\n", files->n_ranks);
    if (files->met)
        out_add(text, "# Synchronization takes no time: the node of a collective has its duration.\n"
                      "bandwidth: [ 1000000.0 ]\n"
                      "latency: [ 0.0 ]\n");
    else
        out_add(text, "bandwidth: [ 50.0 ]   # GB/s of each link\n"
                      "latency: [ 500.0 ]    # ns of each link\n");
    return !text->out.failed;
}

static bool write_memory(const void *of, struct text_out *text) {
    (void)of;
    out_add(text, "{ \"memory-type\": \"NO_MEMORY_EXPANSION\" }\n");
    return !text->out.failed;
}

static enum sutra_status write_files(struct sutra_context *context, const struct astra_files *files, const char *folder,
                                     struct sutra_error *error) {
    const struct {
        const char *name;
        bool (*write)(const void *of, struct text_out *text);
    } texts[] = {{"comm_group.json", files->met ? write_met_groups : write_groups},
                 {"system.json", write_system},
                 {"network.yml", write_network},
                 {"memory.json", write_memory}};
    uint64_t n_bytes = 0;
    enum sutra_status status = SUTRA_OK;
    for (size_t i = 0; i < sizeof texts / sizeof *texts && !status; i++)
        status = text_file_write_in(context, folder, texts[i].name, texts[i].write, files, &n_bytes, error);
    return status;
}

enum sutra_status astra_files_write(struct sutra_context *context, const char *folder, const struct astra_group *groups,
                                    uint32_t n_groups, uint32_t n_ranks, struct sutra_error *error) {
    const struct astra_files files = {.met = groups, .n_met = n_groups, .n_ranks = n_ranks};
    return write_files(context, &files, folder, error);
}

enum sutra_status sutra_converted_write_astra(struct sutra_context *context, const struct sutra_converted *converted,
                                              const char *folder, uint32_t n_ranks, struct sutra_error *error) {
    uint32_t n_told = converted->groups.n_world > 2 ? converted->groups.n_world : 2;
    const struct astra_files files = {.groups = &converted->groups, .n_ranks = n_ranks > 1 ? n_ranks : n_told};
    return write_files(context, &files, folder, error);
}
