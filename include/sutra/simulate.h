/*
 * simulate.h - Chakra .et files, the input of simulators such as ASTRA-sim.
 *
 *     .et file --> sutra_et_read() --> struct sutra_et --> sutra_et_write_json()   JSON, or JSON lines
 *     .et files of a job --> sutra_simulate() --> struct sutra_simulation           times, critical path, what-ifs
 */
#ifndef SUTRA_SIMULATE_H
#define SUTRA_SIMULATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sutra/context.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* ---- Reading ---- */

struct sutra_et;

/* Options; initialize all other fields to zero. `size` is sizeof the caller's struct. */
struct sutra_et_read_options {
    size_t size;
    bool damaged; /* accept a malformed file: keep the nodes before the first malformed byte */
};

/* Reads an .et file, or the bytes of one (copied), plain or compressed with gzip or zstd; "-" is standard input.
 * `options` may be NULL. The caller frees *et. Errors: SUTRA_NO_INPUT; SUTRA_DATA: malformed file, with the byte and
 * the node in the error; SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_et_read(struct sutra_context *context, const char *path,
                                const struct sutra_et_read_options *options, struct sutra_et **et,
                                struct sutra_error *error);
enum sutra_status sutra_et_parse(struct sutra_context *context, const char *name, const void *bytes, size_t size,
                                 const struct sutra_et_read_options *options, struct sutra_et **et,
                                 struct sutra_error *error);
void sutra_et_free(struct sutra_et *et);

/* Detects the .et format from the first bytes of a file. Errors: SUTRA_NO_INPUT; SUTRA_DATA: decompression fails or
 * exceeds the context's `most_input_bytes`. */
enum sutra_status sutra_is_et(struct sutra_context *context, const char *path, bool *known, struct sutra_error *error);

/* ---- File summary ---- */

/* Communication of one type in one process group. */
struct sutra_et_traffic {
    const char *type;  /* such as "ALL_REDUCE"; "SEND", "RECEIVE" */
    const char *group; /* name of the process group; "": all ranks */
    uint64_t count;
    uint64_t bytes; /* total; 2^64 - 1 on overflow */
    uint64_t bytes_least, bytes_most;
};

/* Node types: the numbers of Chakra's schema up to COMM_COLL_NODE, and one for all others. */
enum { SUTRA_ET_OTHER = 8, SUTRA_ET_TYPES = 9 };

struct sutra_et_info {
    size_t size;
    uint64_t n_bytes; /* after decompression */
    uint64_t n_nodes, n_cpu, n_gpu;
    uint64_t n_of_type[SUTRA_ET_TYPES];
    uint64_t n_ctrl, n_data;                /* dependencies */
    uint64_t n_absent;                      /* dependencies on missing nodes */
    uint64_t n_cyclic;                      /* nodes in or after a dependency cycle */
    uint64_t us_least, us_most, us_total;   /* durations */
    uint64_t critical_us;                   /* longest dependency chain by duration */
    uint64_t n_levels;                      /* nodes in the longest dependency chain */
    uint64_t width;                         /* maximum number of nodes at the same depth */
    const char *schema;                     /* schema of the converted trace; "": not recorded */
    const struct sutra_et_traffic *traffic; /* by type, then by group in order of first occurrence */
    uint64_t n_traffic;
};

/* Fills *info; its strings are valid until the next call for the same file or its free. Errors: SUTRA_SYSTEM: out of
 * memory. */
enum sutra_status sutra_et_info(struct sutra_context *context, struct sutra_et *et, struct sutra_et_info *info,
                                struct sutra_error *error);

/* ---- JSON ---- */

enum sutra_et_layout {
    SUTRA_ET_CHAKRA, /* concatenated indented objects, as chakra_jsonizer writes them */
    SUTRA_ET_LINES,  /* one object per line: the metadata, then the nodes */
};

/* Writes to a file as sutra_linked_write() does. */
enum sutra_status sutra_et_write_json(struct sutra_context *context, const struct sutra_et *et,
                                      enum sutra_et_layout layout, const char *path, uint64_t *n_bytes,
                                      struct sutra_error *error);

/* ---- Checks for ASTRA-sim ---- */

struct sutra_et_check;

/* ASTRA-sim's feeder: the current one, or its predecessor, which follows data dependencies only. */
enum sutra_et_feeder { SUTRA_FEEDER_V3, SUTRA_FEEDER_V1 };

/* Options; initialize all other fields to zero. `size` is sizeof the caller's struct. */
struct sutra_et_check_options {
    size_t size;
    enum sutra_et_feeder feeder;
    bool roofline;      /* ASTRA-sim computes durations by its roofline model */
    const char *groups; /* path of a comm_group.json, or NULL */
    bool replay;        /* ASTRA-sim replays durations ("replay-only": 1), and ignores most attributes */
};

/* Creates a check; the caller frees *check. Errors: SUTRA_NO_INPUT, SUTRA_DATA: the groups file is missing or
 * malformed; SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_et_check_create(struct sutra_context *context, const struct sutra_et_check_options *options,
                                        struct sutra_et_check **check, struct sutra_error *error);

/* Checks one file, identified by the name under which it was read (PREFIX.RANK.et). The file may be freed afterwards. A
 * truncated file read with `damaged` is checked up to its last node. */
enum sutra_status sutra_et_check_add(struct sutra_et_check *check, const struct sutra_et *et,
                                     struct sutra_error *error);

/* Checks consistency across files; call it after the last sutra_et_check_add(). */
enum sutra_status sutra_et_check_finish(struct sutra_et_check *check, struct sutra_error *error);

struct sutra_et_check_report {
    size_t size;
    uint64_t n_files;
    uint64_t n_errors, n_warnings; /* findings: violated rules, per file and for the job */
};
void sutra_et_check_report(const struct sutra_et_check *check, struct sutra_et_check_report *report);

/* A violated rule. All strings live as long as the check. */
struct sutra_et_finding {
    const char *file;    /* NULL: the job */
    const char *rule;    /* such as "R6"; documented in docs/checking.md */
    bool is_error;       /* ASTRA-sim would stop, hang or lose nodes; else a warning */
    uint64_t count;      /* number of violations */
    const char *unit;    /* unit of the count: "nodes", "groups" */
    const uint64_t *ids; /* the first violations */
    uint32_t n_ids;
    const char *what, *detail, *why, *remedy; /* the detail may be "" */
};

/* Returns the i-th finding: findings of files in the order of sutra_et_check_add(), then findings of the job. Returns
 * false after the last one. */
bool sutra_et_check_finding(const struct sutra_et_check *check, uint64_t i, struct sutra_et_finding *finding);

void sutra_et_check_free(struct sutra_et_check *check);

/* ---- Simulation ---- */

struct sutra_simulation;

/* Options; initialize all other fields to zero. `size` is sizeof the caller's struct.
 *
 * A change is SELECTOR:FACTOR, or rank=N:SELECTOR:FACTOR. It multiplies the execution time of the selected nodes by
 * FACTOR; their launch latency is unchanged. Selectors:
 *     cpu, gpu, compute, comm    kind of node; gpu excludes collectives that are matched across ranks
 *     name=TEXT, name=~REGEX     full name, or a POSIX extended regular expression that matches a part of the name
 *     op=TEXT, op=~REGEX         name of the first node in the control dependencies
 *     stream=N                   GPU nodes of a stream
 * Factors of several changes that select the same node are multiplied. */
struct sutra_simulate_options {
    size_t size;
    bool gpu_streams;          /* one resource per stream, instead of one for compute and one for communication */
    bool cpu_threads;          /* one resource per CPU thread, instead of one */
    bool alone;                /* simulate ranks independently, without waiting at collectives */
    const char *const *scales; /* changes */
    size_t n_scales;
    bool no_launch_latency; /* GPU nodes have no launch latency */
    double bandwidth;       /* factor on the network bandwidth; 0: 1 */
    /* Assumed network, "alpha=12us,beta=50GB/s" or one of both; or NULL. Without matches in the files both are needed,
     * for times of sends and collectives from comm_size. */
    const char *network;
    bool no_straggler;           /* limit the compute time of each rank to the median rank */
    const char *const *removals; /* selectors: the selected nodes take no time, also no launch latency */
    size_t n_removals;
    /* File with peak rates of the GPU, as in struct sutra_operators_options, or NULL. If no file records matches,
     * kernels without duration take the time of their num_ops and tensor_size. */
    const char *peaks;
};

/* Simulates the files of a job. `ranks[i]` is the rank of ets[i]; NULL: ranks 0, 1, ... The caller frees *simulation.
 * Errors: SUTRA_USAGE: malformed change, with its position; SUTRA_DATA: the sum of durations overflows; SUTRA_SYSTEM:
 * out of memory. Nodes that can never run are not an error: see sutra_simulation_deadlocked(). */
enum sutra_status sutra_simulate(struct sutra_context *context, const struct sutra_et *const *ets,
                                 const uint64_t *ranks, uint32_t n, const struct sutra_simulate_options *options,
                                 struct sutra_simulation **simulation, struct sutra_error *error);
void sutra_simulation_free(struct sutra_simulation *simulation);

/* Two-step simulation for jobs of many ranks and for repeated simulation: files are read in parallel, and only the
 * simulated fields are kept (about 100 bytes per node). All other fields are not checked and may be malformed. */
struct sutra_et_ranks;

/* Reads the files of a job. paths[i] is the file of rank numbers[i], or of rank i if `numbers` is NULL. The caller
 * frees *ranks. Errors, for the first file with an error: SUTRA_NO_INPUT; SUTRA_DATA: malformed, or the sum of
 * durations overflows; SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_et_ranks_read(struct sutra_context *context, const char *const *paths, const uint64_t *numbers,
                                      uint32_t n, struct sutra_et_ranks **ranks, struct sutra_error *error);
void sutra_et_ranks_free(struct sutra_et_ranks *ranks);

/* Whether all files request one resource per stream. */
bool sutra_et_ranks_gpu_streams(const struct sutra_et_ranks *ranks);

/* Simulates as sutra_simulate() does. *ranks must outlive *simulation, which the caller frees. */
enum sutra_status sutra_simulate_ranks(struct sutra_context *context, const struct sutra_et_ranks *ranks,
                                       const struct sutra_simulate_options *options,
                                       struct sutra_simulation **simulation, struct sutra_error *error);

/* What-ifs that change the nodes of a job: the number of data-parallel replicas, micro-batches or layers. Initialize
 * all other fields to zero; `size` is sizeof the caller's struct. Numbers of 0 leave the job as it is. */
struct sutra_scale_options {
    size_t size;
    uint32_t layers;         /* repeated blocks of the whole pipeline, a multiple of its stages */
    uint32_t micro_batches;  /* per step and pipeline */
    uint32_t data_parallel;  /* replicas; the batch of a rank stays */
    uint32_t ranks_per_host; /* 0: as recorded in the files, else 8 */
    bool has_hop;            /* hop_us is set */
    double hop_us;           /* time of a hop of a collective, where the recorded collectives do not determine it;
                                else 0.6 on a host and 2.7 across hosts */
    const char *network;     /* network of the following simulation, which permits groups across hosts; or NULL */
};

/* Makes the job with these numbers, for simulations with further changes. Layers change first, then micro-batches, then
 * replicas. *ranks must outlive *scaled, which the caller frees. Errors: SUTRA_DATA: refused, with the reason, such as
 * an unknown pipeline schedule, no repeated layers, no replicas, a network that no recorded collective uses, or a job
 * that takes another time after an edit to the recorded number of layers or micro-batches;
 * SUTRA_USAGE: no number is set; SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_et_ranks_scale(struct sutra_context *context, const struct sutra_et_ranks *ranks,
                                       const struct sutra_scale_options *options, struct sutra_et_ranks **scaled,
                                       struct sutra_error *error);

/* The index of the recorded rank of which rank i of a changed job is a copy; of a recorded job: i. */
uint32_t sutra_et_ranks_source(const struct sutra_et_ranks *ranks, uint32_t i);

/* The layers of a job with another number of layers. A repeated block is the period of the kernels of a pass, which may
 * be several layers of the model. */
struct sutra_scaled_layers {
    size_t size;
    uint32_t n, n_recorded;                            /* repeated blocks of a pipeline, after and before the change */
    uint32_t n_stages;                                 /* of a pipeline */
    uint32_t n_forward_kernels, n_forward_collectives; /* per block of the first forward pass of the first rank */
    uint32_t n_backward_kernels, n_backward_collectives; /* per block of the last backward pass of its first step */
};

/* Fills *layers. Returns false if the number of layers was not changed. */
bool sutra_et_ranks_layers(const struct sutra_et_ranks *ranks, struct sutra_scaled_layers *layers);

/* The kernels of one name in a block. */
struct sutra_block_kernel {
    size_t size;
    const char *name;
    uint32_t n; /* kernels of this name */
};

/* Fills *kernel with the i-th name of the block of the forward or backward pass, in launch order. Returns false after
 * the last name. */
bool sutra_et_ranks_block_kernel(const struct sutra_et_ranks *ranks, bool is_backward, uint32_t i,
                                 struct sutra_block_kernel *kernel);

/* The interval of the time of a job with another number of replicas. */
struct sutra_simulated_interval {
    size_t size;
    uint64_t low_ns, high_ns;
    bool has_one_size; /* collectives of a kind have one size, so that the interval may be very wide */
    bool assumes_ring; /* a changed group spans hosts with several ranks each, where NCCL may use faster algorithms */
};

/* Simulates the bounds of the network for ranks of sutra_et_ranks_scale() with data_parallel. `options` as in
 * sutra_simulate_ranks(). Errors: as there; SUTRA_USAGE: the number of replicas was not changed. */
enum sutra_status sutra_simulate_interval(struct sutra_context *context, const struct sutra_et_ranks *ranks,
                                          const struct sutra_simulate_options *options,
                                          struct sutra_simulated_interval *interval, struct sutra_error *error);

/* Simulated times of a rank, in nanoseconds. */
struct sutra_simulated_rank {
    size_t size;
    uint64_t rank;
    uint64_t n_nodes, n_ran;
    uint64_t time_ns;                     /* end of its last node */
    uint64_t cpu_ns, compute_ns, comm_ns; /* time in nodes of each kind, summed over resources */
    uint64_t wait_ns;                     /* time that communication waited for other ranks */
    uint64_t n_matched_collectives;       /* nodes matched with nodes of other ranks */
    uint64_t n_absent;                    /* dependencies on missing nodes */
    double cpu_slowness, gpu_slowness;    /* compute time divided by the median rank's; 1 for one rank */
};

/* End time of the job's last node. */
uint64_t sutra_simulation_time_ns(const struct sutra_simulation *simulation);
uint32_t sutra_simulation_ranks(const struct sutra_simulation *simulation);
/* Fills *rank for file i; the caller sets `size`. */
void sutra_simulation_rank(const struct sutra_simulation *simulation, uint32_t i, struct sutra_simulated_rank *rank);

/* Total wait of one rank for another rank that arrived last at a collective; descending by wait time. */
struct sutra_simulated_wait {
    size_t size;
    uint64_t rank, awaited;
    uint64_t n, ns; /* number of waits, and their total time */
};
uint64_t sutra_simulation_n_waits(const struct sutra_simulation *simulation);
void sutra_simulation_wait(const struct sutra_simulation *simulation, uint64_t i, struct sutra_simulated_wait *wait);

/* Simulated collectives and messages, ascending by end time. Unmatched ones are not included. */
struct sutra_simulated_collective {
    size_t size;
    const char *name;                  /* name of the node on the first rank */
    const char *kind;                  /* "all-reduce"; "": not recorded */
    uint64_t n_ranks;                  /* ranks that take part */
    uint64_t n_told;                   /* recorded size of the process group; 0: not recorded */
    uint64_t bytes;                    /* message size on the first rank; 0: not recorded */
    uint64_t last;                     /* the rank that arrived last */
    uint64_t start_ns, run_ns, end_ns; /* first arrival, start of the transfer, end on the last rank */
    uint64_t wait_ns;                  /* sum over all ranks */
};
uint64_t sutra_simulation_n_collectives(const struct sutra_simulation *simulation);
void sutra_simulation_collective(const struct sutra_simulation *simulation, uint64_t i,
                                 struct sutra_simulated_collective *matched_collective);

/* Network model fitted to the job's transfers: time = alpha + bytes / bandwidth, per kind and number of ranks. */
struct sutra_network_link {
    size_t size;
    const char *kind; /* "all-reduce" */
    uint64_t n_ranks, n_transfers;
    double alpha_us, bytes_per_s; /* infinite: unknown */
    double residual_us;           /* root mean square of the residuals */
    bool is_fitted;               /* false: all sizes are equal, and alpha comes from the other kinds */
};
uint64_t sutra_simulation_n_links(const struct sutra_simulation *simulation);
void sutra_simulation_link(const struct sutra_simulation *simulation, uint64_t i, struct sutra_network_link *link);

/* Why a node never runs. */
enum sutra_deadlock_cause {
    SUTRA_STUCK_DEPENDS, /* it is in a dependency cycle with the other node, which may be itself */
    SUTRA_STUCK_MEETS,   /* it has started and waits for the other node of its collective */
    SUTRA_STUCK_BEHIND,  /* it depends on the other node, directly or indirectly */
    SUTRA_STUCK_HELD,    /* its resource is occupied by the other node, which waits in a collective */
    SUTRA_STUCK_UNSENT,  /* it waits for a message that no file sends; the other node is the node itself */
};

struct sutra_deadlocked_node {
    size_t size;
    uint64_t rank, id;
    const char *name; /* owned by the simulation, as all names */
    enum sutra_deadlock_cause why;
    uint64_t awaited_rank, awaited_id; /* the other node */
    const char *awaited_name;
};

/* Number of nodes that never run, and the i-th node that explains the deadlock: nodes waiting in collectives, each
 * followed by the cause on the other rank unless listed before; then nodes in dependency cycles. Returns false after
 * the last one. */
uint64_t sutra_simulation_n_deadlocked(const struct sutra_simulation *simulation);
bool sutra_simulation_deadlocked(const struct sutra_simulation *simulation, uint32_t i,
                                 struct sutra_deadlocked_node *node);

/* The critical path: from the last end backwards along the dependency that each node waited for. A step is an interval
 * of one node. */
struct sutra_simulated_step {
    size_t size;
    uint64_t rank, id;
    const char *name;
    int work; /* 0: CPU, 1: compute, 2: communication */
    uint64_t start_ns, end_ns;
};
uint64_t sutra_simulation_n_steps(const struct sutra_simulation *simulation);
void sutra_simulation_step(const struct sutra_simulation *simulation, uint64_t i, struct sutra_simulated_step *step);

/* Node names with their total times, descending; candidates for what-if changes. */
struct sutra_simulated_name {
    size_t size;
    const char *name;
    int work; /* as in a step */
    uint64_t n_nodes;
    uint64_t run_ns;  /* execution time of all its nodes */
    uint64_t path_ns; /* time on the critical path */
    uint64_t free_ns; /* job time without their execution time; set by sutra_simulation_what_if() */
    uint64_t wait_ns; /* time that they waited for other ranks */
};
uint64_t sutra_simulation_n_names(const struct sutra_simulation *simulation);
void sutra_simulation_name(const struct sutra_simulation *simulation, uint64_t i, struct sutra_simulated_name *name);

/* The nodes whose duration a what-if changed. */
struct sutra_simulated_change {
    size_t size;
    uint64_t n_nodes;   /* nodes with another duration, of execution and launch latency in whole microseconds */
    uint64_t n_rounded; /* nodes whose duration changed by less than the rounding to whole microseconds */
    uint64_t path_ns;   /* time of the n_nodes nodes on the critical path of `before` */
};

/* Compares a simulation with one of the same files without the what-if. Returns false if the nodes differ, as after
 * sutra_et_ranks_scale(). */
bool sutra_simulation_change(const struct sutra_simulation *simulation, const struct sutra_simulation *before,
                             struct sutra_simulated_change *change);

/* Simulates the job again for each of the first n names, with zero execution time of their nodes, in parallel. Errors:
 * SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_simulation_what_if(struct sutra_context *context, struct sutra_simulation *simulation,
                                           uint64_t n, struct sutra_error *error);

/* Writes the simulated times as a Chrome trace for Perfetto: one process per rank, one thread per resource. If a file
 * records start times, a second process shows the measured times with one thread per thread and stream. */
enum sutra_status sutra_simulation_write_trace(struct sutra_context *context, const struct sutra_simulation *simulation,
                                               const char *path, uint64_t *n_bytes, struct sutra_error *error);

/* Writes the file of each rank with the durations of the what-if, for other simulators: inputs[i] is the file from
 * which rank i was read (of a changed job: recorded rank i, see sutra_et_ranks_source()), outputs[i] the file to write,
 * compressed if the name ends in .gz or .zst. Ids, order, dependencies and other attributes of the nodes stay, except
 * in a changed job. The metadata records `what_if`, such as "--scale gpu:0.5"; NULL or "": nothing. Writes as
 * sutra_et_write() does. Errors also: SUTRA_NO_INPUT, SUTRA_DATA: an input is missing or has changed. */
enum sutra_status sutra_simulation_write(struct sutra_context *context, const struct sutra_simulation *simulation,
                                         const char *const *inputs, const char *const *outputs, const char *what_if,
                                         struct sutra_error *error);

/* Writes comm_groups.json of a changed job into a directory: the process groups of the written files, by pg_name. */
enum sutra_status sutra_simulation_write_groups(struct sutra_context *context,
                                                const struct sutra_simulation *simulation, const char *folder,
                                                struct sutra_error *error);

/* ---- Drawings ---- */

enum sutra_et_picture {
    SUTRA_ET_DOT,     /* for Graphviz */
    SUTRA_ET_GRAPHML, /* XML for Gephi, yEd, networkx */
};

/* Options; initialize all other fields to zero. `size` is sizeof the caller's struct. */
struct sutra_et_draw_options {
    size_t size;
    bool collectives; /* draw communication and its control dependencies; else the neighborhood of `node` */
    uint64_t node;    /* id of the center node */
    uint64_t depth;   /* maximum distance from the center, in dependencies of either direction */
};

struct sutra_et_drawn {
    size_t size;
    uint64_t n_nodes, n_edges;
};

/* Draws a part of a file; `drawn` may be NULL. Writes as sutra_linked_write() does. Errors: SUTRA_DATA: the node does
 * not exist. */
enum sutra_status sutra_et_draw(struct sutra_context *context, const struct sutra_et *et,
                                const struct sutra_et_draw_options *options, enum sutra_et_picture format,
                                const char *path, struct sutra_et_drawn *drawn, struct sutra_error *error);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
