/*
 * simulate_page.h - terminal report and JSON of `sutra simulate`.
 */
#ifndef CLI_SIMULATE_PAGE_H
#define CLI_SIMULATE_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "sutra/simulate.h"

enum what_if { WHAT_IF_NO_STRAGGLER, WHAT_IF_NETWORK, WHAT_IF_NO_COMMUNICATION, N_WHAT_IFS };

struct simulate_result {
    const struct sutra_simulation *simulation;
    const struct sutra_simulation *before; /* without the changes; NULL: there are no changes */
    uint64_t n_sensitivity;                /* names with a time without their nodes */
    const uint64_t *what_if_ns;            /* time of the job, by enum what_if; NULL: not requested */
    bool per_stream;                       /* one resource per stream */
    bool network;                          /* print the fitted network */
};

void simulate_page_print(const struct simulate_result *result);
/* Returns the exit code. */
int simulate_json_print(const struct simulate_result *result);

/* Warns if ranks of collectives have no file. */
void simulate_warn_missing_ranks(const struct sutra_simulation *simulation);

/* Reports the nodes that can never run. */
void simulate_warn_deadlock(const struct sutra_simulation *simulation);

#endif
