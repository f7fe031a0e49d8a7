/*
 * simulate.h - Chakra .et files, which simulators such as ASTRA-sim run.
 *
 *     .et file --> sutra_et_read() --> struct sutra_et --> sutra_et_write_json()   JSON, or JSON lines
 *     JSON lines --> sutra_et_read_lines() --/        \--> sutra_et_write()        .et
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

/* Options; zero every field that you do not set. `size` is sizeof the struct as the caller knows it. */
struct sutra_et_read_options {
    size_t size;
    bool damaged; /* take the nodes before a place where the file is malformed, instead of failing there */
};

/* Reads an .et file, or bytes of one (which are copied), plain or compressed with gzip or zstd; "-" is standard input.
 * `options` may be NULL. *et is the caller's. SUTRA_NO_INPUT. SUTRA_DATA: malformed; the error has the byte and the
 * node. SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_et_read(struct sutra_context *context, const char *path,
                                const struct sutra_et_read_options *options, struct sutra_et **et,
                                struct sutra_error *error);
enum sutra_status sutra_et_parse(struct sutra_context *context, const char *name, const void *bytes, size_t size,
                                 const struct sutra_et_read_options *options, struct sutra_et **et,
                                 struct sutra_error *error);
void sutra_et_free(struct sutra_et *et);

uint64_t sutra_et_nodes(const struct sutra_et *et);

/* Whether a file is of this format, told by its beginning. SUTRA_NO_INPUT; SUTRA_DATA: it cannot be decompressed, or
 * stands for more than the context's `most_input_bytes`. */
enum sutra_status sutra_et_known(struct sutra_context *context, const char *path, bool *known,
                                 struct sutra_error *error);

/* Reads the JSON lines of sutra_et_write_json(), or what chakra_jsonizer writes. Errors as those of sutra_et_read(),
 * with the line. */
enum sutra_status sutra_et_read_lines(struct sutra_context *context, const char *path, struct sutra_et **et,
                                      struct sutra_error *error);
enum sutra_status sutra_et_parse_lines(struct sutra_context *context, const char *name, const void *bytes, size_t size,
                                       struct sutra_et **et, struct sutra_error *error);

/* Whether a file holds such lines, told by its first bytes; one that is compressed is not known. SUTRA_NO_INPUT. */
enum sutra_status sutra_et_lines_known(const char *path, bool *known, struct sutra_error *error);

/* Writes an .et file, as Google's own writer has the bytes. Writes as sutra_linked_write() does. */
enum sutra_status sutra_et_write(struct sutra_context *context, const struct sutra_et *et, const char *path,
                                 uint64_t *n_bytes, struct sutra_error *error);

/* ---- What a file holds ---- */

/* Communication of a type in a group. */
struct sutra_et_traffic {
    const char *type;  /* such as "ALL_REDUCE"; "SEND", "RECEIVE" */
    const char *group; /* its name; "": all ranks */
    uint64_t count;
    uint64_t bytes; /* of all of them; 2^64 - 1 where they do not fit */
    uint64_t bytes_least, bytes_most;
};

/* Types of nodes: the numbers of Chakra's schema up to COMM_COLL_NODE, and all others. */
enum { SUTRA_ET_OTHER = 8, SUTRA_ET_TYPES = 9 };

struct sutra_et_info {
    size_t size;
    uint64_t n_bytes; /* after decompression */
    uint64_t n_nodes, n_cpu, n_gpu;
    uint64_t n_of_type[SUTRA_ET_TYPES];
    uint64_t n_ctrl, n_data;                /* dependencies */
    uint64_t n_absent;                      /* of these, on nodes that are not there */
    uint64_t n_cyclic;                      /* nodes in a cycle of dependencies or behind one */
    uint64_t us_least, us_most, us_total;   /* durations */
    uint64_t critical_us;                   /* largest sum of durations along a chain of dependencies */
    uint64_t n_levels;                      /* nodes of the longest chain */
    uint64_t width;                         /* most nodes that stand equally far from the beginning */
    const char *schema;                     /* of the trace that was converted; "": not given */
    const struct sutra_et_traffic *traffic; /* by type, then by group in order of first sight */
    uint64_t n_traffic;
};

/* Fills the report; its texts live until the file's next report, or its end. SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_et_info(struct sutra_context *context, struct sutra_et *et, struct sutra_et_info *info,
                                struct sutra_error *error);

/* ---- JSON ---- */

enum sutra_et_layout {
    SUTRA_ET_CHAKRA, /* indented objects one right behind the other, as chakra_jsonizer writes them */
    SUTRA_ET_LINES,  /* an object a line: the metadata, then the nodes */
};

/* Writes to a file as sutra_linked_write() does. */
enum sutra_status sutra_et_write_json(struct sutra_context *context, const struct sutra_et *et,
                                      enum sutra_et_layout layout, const char *path, uint64_t *n_bytes,
                                      struct sutra_error *error);

/* ---- What ASTRA-sim needs of the files of a job ---- */

struct sutra_et_check;

/* Which reader of ASTRA-sim's: that of today, or the one before it, which follows data dependencies only. */
enum sutra_et_feeder { SUTRA_FEEDER_V3, SUTRA_FEEDER_V1 };

/* Options; zero every field that you do not set. `size` is sizeof the struct as the caller knows it. */
struct sutra_et_check_options {
    size_t size;
    enum sutra_et_feeder feeder;
    bool roofline;      /* times come from ASTRA-sim's roofline model */
    const char *groups; /* path of a comm_group.json, or NULL */
};

/* Begins a check. *check is the caller's. SUTRA_NO_INPUT, SUTRA_DATA: the groups. SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_et_check_create(struct sutra_context *context, const struct sutra_et_check_options *options,
                                        struct sutra_et_check **check, struct sutra_error *error);

/* Checks a file, which is known by the name that it was read by (PREFIX.RANK.et) and may be freed then; one that was
 * read in part, as `damaged` allows, is checked so far. */
enum sutra_status sutra_et_check_add(struct sutra_et_check *check, const struct sutra_et *et,
                                     struct sutra_error *error);

/* Checks what must agree between the files, after the last of them. */
enum sutra_status sutra_et_check_finish(struct sutra_et_check *check, struct sutra_error *error);

struct sutra_et_check_report {
    size_t size;
    uint64_t n_files;
    uint64_t n_errors, n_warnings; /* findings: rules that are broken, in each file, and by the job */
};
void sutra_et_check_report(const struct sutra_et_check *check, struct sutra_et_check_report *report);

/* A rule that is broken. All texts live as long as the check. */
struct sutra_et_finding {
    const char *file;    /* NULL: the job as a whole */
    const char *rule;    /* such as "R6"; docs/simulating.md explains them */
    bool is_error;       /* the simulation would stop, hang or lose nodes; else a warning */
    uint64_t count;      /* of what breaks it */
    const char *unit;    /* and what that is: "nodes", "groups" */
    const uint64_t *ids; /* the first of them */
    uint32_t n_ids;
    const char *what, *detail, *why, *mend; /* the detail may be "" */
};

/* The i-th finding, in the order in which files were added, then of the job. False: there are no more. */
bool sutra_et_check_finding(const struct sutra_et_check *check, uint64_t i, struct sutra_et_finding *finding);

void sutra_et_check_free(struct sutra_et_check *check);
/* ---- Simulating ---- */

struct sutra_simulation;

/* How to run the nodes; zero every field that you do not set. `size` is sizeof the struct as the caller knows it.
 *
 * A change is SELECTOR:FACTOR, or rank=N:SELECTOR:FACTOR; the execution of the nodes that it selects takes FACTOR times
 * as long, and their launch latency stays. A selector is one of
 *     cpu, gpu, compute, comm    what the nodes are; gpu is what a GPU does by itself: not the collectives of ranks that meet
 *     name=TEXT, name=~REGEX     their names: all of it, or a POSIX extended expression that fits in it anywhere
 *     op=TEXT, op=~REGEX         the name of the first node of their control dependencies
 *     stream=N                   GPU nodes of a stream
 * Of several changes that select a node all count, one upon the other. */
struct sutra_simulate_options {
    size_t size;
    bool gpu_streams; /* a resource for each stream, instead of one for computation and one for communication */
    bool cpu_threads; /* a resource for each thread, instead of one */
    bool alone;       /* ranks do not meet in their collectives: each runs by itself */
    const char *const *scales; /* changes */
    size_t n_scales;
    bool no_launch_latency; /* GPU nodes take their execution time only */
    double bandwidth;       /* the network's, times as much as it was; 0: 1 */
    const char *network;    /* a network that is told, "alpha=12us,beta=50GB/s" or one of both; or NULL */
    bool no_straggler;      /* ranks that compute more slowly than the median rank compute like that one */
};

/* Whether the file was made for a resource for each stream, and says so, as those of a job are. */
bool sutra_et_gpu_streams(const struct sutra_et *et);

/* Runs the files of a job's ranks together. `ranks[i]` is the rank of ets[i] in its job, or NULL: they are ranks 0, 1,
 * ... The result is the caller's. SUTRA_USAGE: a change that cannot be read; the error
 * says where. SUTRA_DATA: durations that together are no time. SUTRA_SYSTEM: out of memory. Nodes that can never run
 * are no error: sutra_simulation_stuck() tells. */
enum sutra_status sutra_simulate(struct sutra_context *context, const struct sutra_et *const *ets,
                                 const uint64_t *ranks, uint32_t n, const struct sutra_simulate_options *options,
                                 struct sutra_simulation **simulation, struct sutra_error *error);
void sutra_simulation_free(struct sutra_simulation *simulation);

/* The same in two steps, for jobs of many ranks and for many questions: the files are read side by side, and of them
 * only what simulating needs is kept, some 100 bytes a node. What it does not need is not looked at, and may be
 * malformed. */
struct sutra_et_ranks;

/* Reads the files of a job's ranks, paths[i] being that of rank numbers[i], or of rank i where that is NULL. *ranks is
 * the caller's. SUTRA_NO_INPUT. SUTRA_DATA, of the first such file: malformed; durations that together are no time.
 * SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_et_ranks_read(struct sutra_context *context, const char *const *paths, const uint64_t *numbers,
                                      uint32_t n, struct sutra_et_ranks **ranks, struct sutra_error *error);
void sutra_et_ranks_free(struct sutra_et_ranks *ranks);

/* Whether all files say that they were made for a resource for each stream. */
bool sutra_et_ranks_gpu_streams(const struct sutra_et_ranks *ranks);

/* Runs them, as sutra_simulate() does. The ranks must outlive the result, which is the caller's. */
enum sutra_status sutra_simulate_ranks(struct sutra_context *context, const struct sutra_et_ranks *ranks,
                                       const struct sutra_simulate_options *options,
                                       struct sutra_simulation **simulation, struct sutra_error *error);

/* What a rank did. Times are nanoseconds. */
struct sutra_simulated_rank {
    size_t size;
    uint64_t rank;
    uint64_t n_nodes, n_ran;
    uint64_t time_ns;                     /* when its last node ended */
    uint64_t cpu_ns, compute_ns, comm_ns; /* in which nodes of each kind ran, added up over its resources */
    uint64_t wait_ns;                     /* in which communication waited for other ranks */
    uint64_t n_meetings;                  /* nodes that met those of other ranks */
    uint64_t n_absent;                    /* dependencies on nodes that the file lacks */
    double cpu_slowness, gpu_slowness; /* its time for what it computes, over that of the median rank; 1 for one rank */
};

/* When the last node of the job ended. */
uint64_t sutra_simulation_time_ns(const struct sutra_simulation *simulation);
uint32_t sutra_simulation_ranks(const struct sutra_simulation *simulation);
/* Fills *rank, of which the caller sets `size`, for file i. */
void sutra_simulation_rank(const struct sutra_simulation *simulation, uint32_t i, struct sutra_simulated_rank *rank);

/* Who waited for whom: a rank for another one that came last to their meetings; the longest waits first. */
struct sutra_simulated_wait {
    size_t size;
    uint64_t rank, awaited;
    uint64_t n, ns; /* how often, and how long together */
};
uint64_t sutra_simulation_n_waits(const struct sutra_simulation *simulation);
void sutra_simulation_wait(const struct sutra_simulation *simulation, uint64_t i, struct sutra_simulated_wait *wait);

/* Meetings of the job's ranks, in the order in which they ended. One that never came to be is not among them. */
struct sutra_simulated_meeting {
    size_t size;
    const char *name;                  /* of its node on the first rank */
    const char *kind;                  /* "all-reduce"; "" where the files do not tell */
    uint64_t n_ranks;                  /* that met, */
    uint64_t n_told;                   /* and of the group, as the files tell; 0: they do not */
    uint64_t bytes;                    /* of the first rank; 0 where the files do not tell */
    uint64_t last;                     /* the rank that came last */
    uint64_t start_ns, run_ns, end_ns; /* when the first one came, when all ran, and when the last one was done */
    uint64_t wait_ns;                  /* of all ranks together */
};
uint64_t sutra_simulation_n_meetings(const struct sutra_simulation *simulation);
void sutra_simulation_meeting(const struct sutra_simulation *simulation, uint64_t i,
                              struct sutra_simulated_meeting *meeting);

/* What the job's transfers tell of the network: time = alpha + bytes / bandwidth, for each kind and number of ranks. */
struct sutra_network_link {
    size_t size;
    const char *kind; /* "all-reduce" */
    uint64_t n_ranks, n_transfers;
    double alpha_us, bytes_per_s; /* infinite where it cannot be told */
    double residual_us;           /* root of the mean square of what is left */
    bool is_fitted;               /* sizes differ; else alpha is that of the other kinds */
};
uint64_t sutra_simulation_n_links(const struct sutra_simulation *simulation);
void sutra_simulation_link(const struct sutra_simulation *simulation, uint64_t i, struct sutra_network_link *link);

/* Why a node never ran: */
enum sutra_stuck_why {
    SUTRA_STUCK_DEPENDS, /* it depends on the other one in a ring, which may be itself */
    SUTRA_STUCK_MEETS,   /* it has started, and waits for the other one to do so, a node of its meeting */
    SUTRA_STUCK_BEHIND,  /* it depends on the other one, itself or through others */
    SUTRA_STUCK_HELD,    /* it could start, but the other one has its resource, and waits in a meeting */
};

struct sutra_stuck_node {
    size_t size;
    uint64_t rank, id;
    const char *name; /* the simulation's, as all names */
    enum sutra_stuck_why why;
    uint64_t awaited_rank, awaited_id; /* the other node */
    const char *awaited_name;
};

/* How many nodes never ran; and the i-th of those that explain it: who waits in meetings, each followed by why the
 * other one does not come, where that was not told before; then the nodes of rings. Returns false where there are no
 * more. */
uint64_t sutra_simulation_n_stuck(const struct sutra_simulation *simulation);
bool sutra_simulation_stuck(const struct sutra_simulation *simulation, uint32_t i, struct sutra_stuck_node *node);

/* The critical path: from the last end back through what each node waited for. A step of it is a stretch of one
 * node. */
struct sutra_simulated_step {
    size_t size;
    uint64_t rank, id;
    const char *name;
    int work; /* 0: processor, 1: computation, 2: communication */
    uint64_t start_ns, end_ns;
};
uint64_t sutra_simulation_n_steps(const struct sutra_simulation *simulation);
void sutra_simulation_step(const struct sutra_simulation *simulation, uint64_t i, struct sutra_simulated_step *step);

/* Names by the time of their nodes, the longest first: what a change of them may be worth. */
struct sutra_simulated_name {
    size_t size;
    const char *name;
    int work; /* as in a step */
    uint64_t n_nodes;
    uint64_t run_ns;  /* execution of all its nodes */
    uint64_t path_ns; /* of the critical path */
    uint64_t free_ns; /* time of the job if their execution took no time; asked for with sutra_simulation_worth() */
    uint64_t wait_ns; /* in which they waited for nodes of other ranks */
};
uint64_t sutra_simulation_n_names(const struct sutra_simulation *simulation);
void sutra_simulation_name(const struct sutra_simulation *simulation, uint64_t i, struct sutra_simulated_name *name);

/* Simulates the job once more for each of the first n names, without the execution of their nodes, several at a time.
 * SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_simulation_worth(struct sutra_context *context, struct sutra_simulation *simulation, uint64_t n,
                                         struct sutra_error *error);

/* Writes the simulated times as a Chrome trace for Perfetto: a process for each rank, a thread for each resource.
 * Beside it, where its file tells when nodes started, a process with the measured times, a thread for each thread and
 * stream. */
enum sutra_status sutra_simulation_write_trace(struct sutra_context *context, const struct sutra_simulation *simulation,
                                               const char *path, uint64_t *n_bytes, struct sutra_error *error);

/* ---- Drawings ---- */

enum sutra_et_picture {
    SUTRA_ET_DOT,     /* for Graphviz */
    SUTRA_ET_GRAPHML, /* XML for Gephi, yEd, networkx */
};

/* Options; zero every field that you do not set. `size` is sizeof the struct as the caller knows it. */
struct sutra_et_draw_options {
    size_t size;
    bool collectives; /* communication, and what stands above it by control dependencies; else nodes around one: */
    uint64_t node;    /* its id */
    uint64_t depth;   /* how many dependencies away they may be, in either direction */
};

struct sutra_et_drawn {
    size_t size;
    uint64_t n_nodes, n_edges;
};

/* Draws a part of a file; *drawn may be NULL. Writes as sutra_linked_write() does. SUTRA_DATA: there is no such
 * node. */
enum sutra_status sutra_et_draw(struct sutra_context *context, const struct sutra_et *et,
                                const struct sutra_et_draw_options *options, enum sutra_et_picture format,
                                const char *path, struct sutra_et_drawn *drawn, struct sutra_error *error);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
