/*
 * simulate_page.h - what `sutra simulate` prints: a page for people, or JSON.
 */
#ifndef CLI_SIMULATE_PAGE_H
#define CLI_SIMULATE_PAGE_H

#include <stdint.h>

#include "sutra/simulate.h"

struct simulate_result {
    const struct sutra_simulation *simulation;
    const struct sutra_simulation *before; /* the same without the changes; NULL: there are none */
    uint64_t n_worth;                      /* names whose worth was asked for */
};

void simulate_page_print(const struct simulate_result *result);
void simulate_json_print(const struct simulate_result *result);

/* Lines on standard error about nodes that can never run. */
void simulate_warn_stuck(const struct sutra_simulation *simulation);

#endif
