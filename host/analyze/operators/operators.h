/*
 * operators.h - inside of struct sutra_operators: the input of the makers of tables, and the tables.
 */
#ifndef ANALYZE_OPERATORS_OPERATORS_H
#define ANALYZE_OPERATORS_OPERATORS_H

#include "analyze/launches/arguments.h"
#include "analyze/launches/launches.h"
#include "analyze/ranks.h"
#include "analyze/table.h"
#include "columns/hash_tables.h"
#include "facts/gpu_peaks.h"
#include "facts/op_categories.h"
#include "facts/profiler_steps.h"
#include "match/intervals.h"
#include "sutra/operators.h"

/*
 * The call paths from launchers (the operators that GPU activity is attributed to) outwards: launchers and their
 * enclosing operators, a small part of the host's rows, numbered so that results about them are in short arrays.
 *
 *     hosts      0 linear   1 addmm   2 launch   3 relu   4 loss   5 backward   6 mm   7 launch
 *     enclosing  -          0         1          -        -        -            5      6
 *     launchers             ^ 0                                                 ^ 1
 *     paths      0          1                                      2            3           above  -  0  -  2
 *                                                                                           of_launcher  1  3
 */

struct call_paths {
    row_t n;
    row_t *host;        /* by path: its row of hosts, ascending */
    row_t *above;       /* by path: the path of the enclosing operator, which is lower, or ROW_NONE */
    row_t *of_launcher; /* by launcher */
};

/* The durations of all GPU activity, attributed or not. */
wide_t sum_device_time(const struct launch_model *model);

struct rates_run;

/* The input of makers. */
struct op_input {
    struct sutra_context *context;
    struct sutra_operators_options options;
    const struct launch_model *model;
    const uint8_t *categories; /* by launcher of `model`: enum op_category */
    wide_t device_ticks;       /* the durations of all GPU activity */
    struct call_paths paths;
    const struct rates_run *rates; /* input of operators_rates() */
};

struct sutra_operators {
    struct sutra_result result;
    struct sutra_operators_options options;
    uint64_t n_untimed; /* events that were skipped */
    bool is_of_job;     /* other ranks are analyzed, too */
};

struct graph_captures;

/* The rules by which the tables of a trace are made: sutra's rules, or another program's (analyze/compat/). */
struct operator_rules {
    const char *name;               /* partial results of other rules are refused */
    const struct table_spec *specs; /* names and columns of all tables */
    uint32_t n_tables;
    bool is_foreign; /* of another program: truncated traces remain complete, and CSV does not mark formulas */
    /* Makes the tables in `made`, which has the options; `captures` are capture traces that are read, or NULL. */
    enum sutra_status (*make)(struct sutra_context *context, const struct sutra_device_trace *trace,
                              const struct graph_captures *captures, struct sutra_operators *made,
                              struct sutra_error *error);
};
extern const struct operator_rules own_operator_rules;

/* Checks options and fills in defaults. */
enum sutra_status op_options_init(const struct sutra_operators_options *given, struct sutra_operators_options *taken,
                                  struct sutra_error *error);

/* Makes the tables of operators and of kernels from a launch model. Releases `scratch`. */
enum sutra_status operators_make_of(struct sutra_context *context, const struct launch_model *model, int64_t rank,
                                    const char *peaks, struct arena *scratch, struct sutra_operators **operators,
                                    struct sutra_error *error);

/* Computes the tables of one rank, with complete options. */
enum sutra_status operators_run(struct sutra_context *context, const struct sutra_device_trace *trace,
                                const struct operator_rules *rules, const struct sutra_operators_options *options,
                                const struct graph_captures *captures, struct sutra_operators **operators,
                                struct sutra_error *error);

/* A result without tables, with complete options; NULL: out of memory. */
struct sutra_operators *operators_new(const struct operator_rules *rules,
                                      const struct sutra_operators_options *options);

/*
 * The operators that the operators of autograd's engine are for (modules.c):
 *
 *     forward    aten::linear, sequence number 17
 *     backward   autograd::engine::evaluate_function: AddmmBackward0, 17 --> aten::linear
 *
 * the last operator outside of the engine with the same sequence number that started before. `forward_of`, in the
 * arena: by row of hosts, the operator that the innermost operator of the engine that encloses the row (or is it) is
 * for, or ROW_NONE. Cost: O(n log n).
 */
enum sutra_status find_forward_operators(struct sutra_context *context, const struct launch_model *model,
                                         struct arena *arena, row_t **forward_of, struct sutra_error *error);

/* Adds the stream of a GPU activity, as text. */
void table_stream(struct sutra_context *context, const struct launch_model *model, row_t device,
                  struct sutra_table *table);

/* Makers of tables. Temporary memory is from the arena and is released. */
typedef enum sutra_status op_maker(const struct op_input *input, struct arena *arena, struct sutra_operators *operators,
                                   struct sutra_error *error);
op_maker operators_timeline, operators_by_name, operators_by_arguments, operators_by_category, operators_by_module,
    operators_by_annotation, operators_by_path, operators_rates, operators_kernels, operators_graphs,
    operators_communication, operators_counters, operators_triton;

/* The columns of graph_table_add() by launch and method. */
#define GRAPH_COLUMNS                                                                                                  \
    INTEGER("rank"), TEXT("launch"), TEXT("method"), TEXT("confidence"), INTEGER("kernels"), REAL("device_us"),        \
        REAL("percent")

/* Adds the graph kernels of a model by launch and method, or by operator, module and method, longest first. O(n) in
 * expectation. */
enum sutra_status graph_table_add(const struct launch_model *model, int64_t rank, bool by_operator, struct arena *arena,
                                  struct sutra_table *table, struct sutra_error *error);

/* ---- Many ranks (operator_ranks.c) ---- */

struct rank_tasks;
struct codec;

/* Computes the tables of all ranks by the rules, as sutra_operators_ranks_run(). */
enum sutra_status operators_ranks_run(struct sutra_context *context, const char *const *paths, size_t n_paths,
                                      const struct operator_rules *rules,
                                      const struct sutra_operators_ranks_options *options,
                                      struct sutra_operators_ranks **ranks, struct sutra_error *error);

/* Joins tables of ranks that another analysis made by our rules: moves the struct sutra_operators * at `offset` in each
 * result of the tasks, which must live longer. */
enum sutra_status operators_ranks_join(const struct rank_tasks *tasks, size_t offset,
                                       struct sutra_operators_ranks **ranks, struct sutra_error *error);

/* The partial result of a rank; a decoded one gets the options, and is the caller's to free (NULL after a failure). */
void operators_codec(struct codec *codec, const struct operator_rules *rules,
                     const struct sutra_operators_options *options, struct sutra_operators **operators);

/*
 * ---- Input of the tables of rates: the operator that represents each launcher, and the rows of equal operators ----
 */

/* A row of the table. */
struct rate_row {
    uint32_t group; /* of costs; or, if the FLOPs are unknown, */
    uint32_t name;  /* the launcher's name, */
    const char *missing;
    row_t calls, attributions; /* operators, and launchers below them */
    uint64_t kernels;
    wide_t device, direct; /* ticks */
    bool tf32;
    row_t first_launcher;
};

struct rates_run {
    const struct op_input *input;
    const struct launch_model *model;
    row_t n_hosts, *hosts; /* rows of hosts: operators with a formula at or above any launcher */
    struct op_costs costs;
    row_t *index;          /* by path: its index in that list, and among the costs, or ROW_NONE */
    row_t *representative; /* by path: the path of the operator with known FLOPs that represents it, or ROW_NONE */
    uint32_t *row_of;      /* by launcher */
    struct tuples keys;    /* (group, 0) or (name, 1) */
    struct rate_row *rows;
    uint8_t *is_tf32; /* by name of activity: 1 no, 2 yes */
    struct device_peaks peaks;
    bool has_peaks;
    char *peaks_name;
};

/* Requests all columns of the trace except the arguments of the operators in the list. `run` needs rates_end() in any
 * case. SUTRA_NO_INPUT, SUTRA_DATA: the file of peaks. */
enum sutra_status rates_begin(const struct op_input *input, struct arena *arena, struct rates_run *run,
                              struct sutra_error *error);
void rates_end(struct rates_run *run);

#endif
