/*
 * astra_files.h - what ASTRA-sim needs beside the .et files of a job whose ranks meet in nodes [meet].
 */
#ifndef SIMULATE_ASTRA_FILES_H
#define SIMULATE_ASTRA_FILES_H

#include "context/context.h"

/* Ranks that communicate, as a number above 0. */
struct astra_group {
    uint32_t number;
    const int64_t *ranks;
    uint32_t n_ranks;
};

/* Writes comm_group.json, system.json, network.yml and memory.json into the folder: a network on which meeting costs
 * nothing. */
enum sutra_status astra_files_write(struct sutra_context *context, const char *folder, const struct astra_group *groups,
                                    uint32_t n_groups, uint32_t n_ranks, struct sutra_error *error);

#endif
