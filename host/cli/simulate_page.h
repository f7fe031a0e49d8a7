/*
 * simulate_page.h - terminal report and JSON of `sutra simulate`.
 */
#ifndef CLI_SIMULATE_PAGE_H
#define CLI_SIMULATE_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "sutra/simulate.h"

/* What is worth how much to a job. */
enum job_worth { WORTH_NO_STRAGGLER, WORTH_NETWORK, WORTH_NO_COMMUNICATION, JOB_WORTHS };

struct simulate_result {
    const struct sutra_simulation *simulation;
    const struct sutra_simulation *before; /* the same without the changes; NULL: there are none */
    uint64_t n_worth;                      /* names whose worth was asked for */
    const uint64_t *worth_ns;              /* by enum job_worth: the job's time then; NULL: it was not asked for */
    bool per_stream;                       /* there was a resource for each stream */
    bool network;                          /* tell what the transfers say of the network */
};

void simulate_page_print(const struct simulate_result *result);
void simulate_json_print(const struct simulate_result *result);

/* A line on standard error where ranks of collectives have no file here. */
void simulate_warn_lacking(const struct sutra_simulation *simulation);

/* Lines on standard error about nodes that can never run. */
void simulate_warn_stuck(const struct sutra_simulation *simulation);

#endif
