/*
 * operators.h - the operators, GPU operators and operator trees of generated traces.
 */
#ifndef GENERATE_OPERATORS_H
#define GENERATE_OPERATORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"

/* ---- Lists of arguments in both traces, as text for templates: `letters` are arguments, `k` the tensor shapes ---- */

/* One of the lists: the first four are the host trace's, the others the device trace's. */
enum facet {
    FACET_VALUES,
    FACET_SHAPES,
    FACET_TYPES,
    FACET_STRIDES,
    FACET_CONCRETE_INPUTS,
    FACET_INPUT_TYPES,
    FACET_INPUT_STRIDES,
    FACET_INPUT_DIMS,
};

/* Appends "[...]" with one element per argument; outputs (`are_made`) have the ids of new tensors. */
void arguments_add(struct buffer *text, enum facet facet, const char *letters, bool are_made, size_t k);

/* The GPU activity of an operator. */
enum launch_config { LAUNCH_NONE, LAUNCH_MULTIPLY, LAUNCH_ELEMENTWISE, LAUNCH_REDUCE, LAUNCH_COPY, LAUNCH_NCCL };

#define N_LAUNCH_KINDS 6

/*
 * inputs, outputs: a letter for each argument
 *   t tensor   w matrix   v vector   l tensor of long int   i list of integers
 *   s integer  f double   b bool     d device               n none
 */
struct operator_row {
    const char *name;
    const char *inputs, *outputs;
    const char *schema;
    uint8_t launch;     /* enum launch_config */
    bool has_sequence;  /* recorded with a sequence number */
    bool is_annotation; /* category user_annotation */
};

extern const struct operator_row operator_rows[];
extern const size_t n_operators;
/* Number of operators of a single rank, the first rows; only jobs run the others. */
extern const size_t n_single_operators;

/* The operator that encloses a tree if more nesting is requested. */
extern const uint8_t operator_scope;

/* A tree of operators by start, each with its depth. */
struct tree {
    const uint8_t *ops; /* pairs of a depth and a row of `operators` */
    uint8_t n;
    uint8_t height; /* largest depth + 1 */
};

enum phase { PHASE_FORWARD, PHASE_BACKWARD, PHASE_OPTIMIZER, PHASE_COLLECTIVE, N_PHASES };

struct forest {
    const struct tree *trees;
    uint32_t n;
};

extern const struct forest forests[N_PHASES];

/* The collectives of a job, and their operators. */
enum collective_kind {
    COLLECTIVE_ALL_REDUCE,
    COLLECTIVE_BROADCAST,
    COLLECTIVE_ALL_GATHER,
    COLLECTIVE_REDUCE_SCATTER,
    COLLECTIVE_SEND,
    COLLECTIVE_RECEIVE,
    N_COLLECTIVE_KINDS,
};

extern const struct tree collective_trees[N_COLLECTIVE_KINDS];

/* A GPU operator: `launch` is the call that starts it, `median_us` its usual duration. */
struct gpu_row {
    uint8_t kind;     /* enum launch_config, ascending */
    bool is_copy;     /* category gpu_memcpy */
    bool is_blocking; /* its operator waits for its end */
    uint16_t median_us;
    const char *name;
    const char *launch, *launch_category;
    uint16_t cbid;
    const char *group; /* process group of a collective, or NULL */
};

extern const struct gpu_row gpu_rows[];
extern const size_t n_gpu_rows;

#endif
