/*
 * arguments.h - recorded arguments, parsed once for each distinct text: launch configurations of kernels, and FLOPs and
 * bytes of operators from their inputs.
 *
 *     rows of devices --read ahead--> ids of equal texts --parse each once--> launch configurations
 *     rows of hosts   --arguments---> groups of equal name and inputs --facts/flops.h--> FLOPs, bytes, or why unknown
 */
#ifndef ANALYZE_LAUNCHES_ARGUMENTS_H
#define ANALYZE_LAUNCHES_ARGUMENTS_H

#include "analyze/launches/launches.h"
#include "columns/hash_tables.h"
#include "facts/flops.h"
#include "facts/gpu_peaks.h"
#include "match/key_index.h"

/* ---- Launch configurations ---- */

struct launch_config {
    uint32_t shape;              /* id of grid, block (their text in the file), registers and shared memory */
    uint32_t grid, block;        /* texts in Python's format; 0: "" */
    double occupancy;            /* percent; NaN: not recorded */
    struct kernel_shape numbers; /* NaN: not recorded, or not a number */
};

struct launch_configs {
    uint32_t *of; /* by row of devices: index in the list */
    struct launch_config *list;
    uint64_t n, capacity;
    struct strings texts;
};

/* Reads the column of the trace that launch_configs_read() needs. */
enum sutra_status launch_configs_preread(struct sutra_context *context, const struct launch_model *model,
                                         struct sutra_error *error);

/* `kinds` needs launch_configs_free() in any case. O(kernels + bytes of distinct texts). SUTRA_SYSTEM: no memory. */
enum sutra_status launch_configs_read(struct sutra_context *context, const struct launch_model *model,
                                      struct arena *arena, struct launch_configs *kinds, struct sutra_error *error);
void launch_configs_free(struct launch_configs *kinds);

/* ---- Arguments of operators ---- */

enum op_argument { ARGUMENT_DIMS, ARGUMENT_TYPES, ARGUMENT_STRIDES, ARGUMENT_VALUES, N_ARGUMENTS };

/* Arguments of a list of rows of hosts, as Python prints them; text 0 is "", for missing arguments. */
struct op_arguments {
    struct strings texts;
    struct tuples kinds; /* each kind of arguments: its texts, by enum op_argument */
    uint32_t *of;        /* by index in the list: its kind */
};

/* The text of an argument of the row at an index of the list. */
static inline uint32_t op_argument_text(const struct op_arguments *arguments, enum op_argument argument, row_t place) {
    return (uint32_t)arguments->kinds.list[arguments->of[place]].part[argument];
}

/* Requests the arguments of two lists in one walk over the trace, in file order, for op_arguments_read(). */
struct op_host_list {
    const row_t *host;
    row_t n;
};
enum sutra_status op_arguments_ask(struct sutra_context *context, const struct launch_model *model,
                                   const struct op_host_list lists[2], struct arena *scratch,
                                   struct sutra_error *error);

/* `arguments` needs op_arguments_free() in any case. */
enum sutra_status op_arguments_read(struct sutra_context *context, const struct launch_model *model, const row_t *hosts,
                                    row_t n, struct arena *arena, struct op_arguments *arguments,
                                    struct sutra_error *error);
void op_arguments_free(struct op_arguments *arguments);

/* Parses the arguments at an index of a list, which are valid until the next call. False: out of memory. */
bool op_arguments_parse(const struct op_arguments *arguments, row_t i, struct op_inputs_parser *parser,
                        struct op_inputs *inputs);

/* ---- FLOPs of operators ---- */

struct op_costs {
    row_t n;
    const row_t *host; /* rows of hosts, the caller's */
    struct op_arguments arguments;
    struct row_groups groups; /* of equal name and arguments; members are indices of `host` */
    struct op_flops *flops;   /* by group */
};

/* The table entry of a row's name, or NULL if there is no formula. */
const struct op_kind *op_cost_formula(const struct launch_model *model, row_t host, enum flops_rules rules);

/* Whether a row is an operator whose name has a formula. known[], by string, caches the answers; zeros at first. */
bool op_cost_is_known(const struct launch_model *model, row_t host, enum flops_rules rules, uint8_t *known);

/* Computes each group once. `costs` needs op_costs_free() in any case. O(operators + bytes of distinct arguments).
 * SUTRA_SYSTEM: out of memory. */
enum sutra_status op_costs_read(struct sutra_context *context, const struct launch_model *model, const row_t *hosts,
                                row_t n, enum flops_rules rules, struct arena *arena, struct op_costs *costs,
                                struct sutra_error *error);
void op_costs_free(struct op_costs *costs);

/* Parses the inputs of a group's operators, which are valid until the next call. False: out of memory. */
bool op_costs_inputs(const struct op_costs *costs, uint32_t group, struct op_inputs_parser *parser,
                     struct op_inputs *inputs);

#endif
