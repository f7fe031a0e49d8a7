/*
 * parent_search.h - from GPU operators through launches to the external ids of the CPU operators that launched them.
 *
 * The CPU operators get markers first: one for the process and one for each tid, at their first events, which operators
 * of tid 0 without an external id may match.
 */
#ifndef LINK_PARENT_SEARCH_H
#define LINK_PARENT_SEARCH_H

#include "context/context.h"
#include "facts/names.h"
#include "match/engine.h"
#include "match/key_index.h"
#include "read/device_trace.h"

/* Events by class, in sorted order, and the numbers of the CPU operators' tids. */
struct operator_lists {
    row_t *launch, *gpu;
    row_t n_launches, n_gpu;
    struct key_index threads; /* tid -> first CPU operator of it */
};

struct parent_search {
    struct sutra_context *context;
    const struct sutra_device_trace *trace;
    const struct string_roles *roles;
    const row_t *order;
    const struct cpu_ops *cpu;
    const struct operator_lists *lists;
    struct arena *arena; /* of the results, and of what is needed on the way */

    /* Results: the GPU operators that found one, in sorted order, and the external id of what they found. */
    row_t *gpu;
    value_key *external;
    row_t n_found, n_without_launch, n_without_parent;
};

/* SUTRA_STRICT: two launches with one correlation; SUTRA_DATA: a GPU operator without a proper name. */
enum sutra_status parent_search_run(struct parent_search *search, struct sutra_error *error);

#endif
