/*
 * legacy.h - internals of struct sutra_legacy: both sides, the match of their operators, and the nodes of the output.
 *
 *     host side, device side --match by position or names--> match --assembly--> nodes with new ids, GPU nodes
 */
#ifndef LEGACY_LEGACY_H
#define LEGACY_LEGACY_H

#include <stdbool.h>
#include <stdint.h>

#include "align/op_match.h"
#include "base/arena.h"
#include "base/memory.h"
#include "columns/hash.h"
#include "columns/strings.h"
#include "context/context.h"
#include "link/link.h"
#include "match/key_index.h"
#include "read/device_trace.h"
#include "sutra/legacy.h"

/*
 * ---- Operators of the host trace (host_ops.c) ----
 *
 * Operators of one iteration are matched, ascending by id.
 *
 * Names of both traces are in one table, so that operators are compared by number. The facts about a name are computed
 * once per name.
 *
 *     0 ... n - 1     the strings of the device trace, with their numbers
 *     n ...           names of the host trace, and of the markers for process and threads
 */

#define PROCESS_NAME    "[pytorch|profiler|execution_trace|process]"
#define THREAD_NAME     "[pytorch|profiler|execution_trace|thread]"
#define OLD_THREAD_NAME "[pytorch|profiler|execution_graph|thread]"

/* ---- Log lines of the older program, assembled in pieces. Without a callback, the functions do nothing. ---- */

/* The owner frees the text. */
struct legacy_log {
    void (*line)(void *arg, enum sutra_legacy_line kind, const char *text, size_t length);
    void *arg;
    struct buffer text;
};

__attribute__((format(printf, 2, 3))) void log_text(struct legacy_log *log, const char *format, ...);
void log_bytes(struct legacy_log *log, const char *bytes, size_t n);

/* Appends a number as Python's str() formats it. */
void log_number(struct legacy_log *log, struct number number);

/* Passes the line to the callback. Lines without memory are skipped. */
void log_end(struct legacy_log *log, enum sutra_legacy_line kind);

/* Ends a line with this text, as SUTRA_LEGACY_INFO. */
__attribute__((format(printf, 2, 3))) void log_info(struct legacy_log *log, const char *format, ...);

/* ---- Names and operators ---- */

struct legacy_names {
    struct strings table;
    uint32_t process, thread, old_thread; /* numbers of the three names above */

    /* Per name, computed by names_finish() in its arena. */
    uint8_t *annotated; /* contains the annotation */
    uint8_t *iteration; /* contains "iteration#" */
    uint32_t *renamed;  /* the name with each "execution_graph" replaced by "execution_trace" */
};

/* Initializes the table with the strings of a device trace; false: out of memory. The caller frees the table. */
bool names_begin(struct legacy_names *names, const struct strings *device);

/* Computes the facts about names; annotation NULL: none. No name may be added later. False: out of memory. */
bool names_finish(struct legacy_names *names, const char *annotation, struct arena *arena);

/* Whether a host and a device operator with these names, at the same position, are the same. */
static inline bool names_agree(const struct legacy_names *names, uint32_t host, uint32_t device) {
    return host == device || names->renamed[host] == device || (names->iteration[host] && names->iteration[device]);
}

/* Columns are in one arena; the owner frees `units`. */
struct host_side {
    const struct sutra_host_trace *trace;
    struct host_ops units; /* nodes by id; a unit's last node is the operator, as in `link` */
    uint32_t *name;        /* per node: its number in the table of names */
    uint8_t *has_category; /* per node: it has the field "cat" */
    value_key *sequence;   /* per node: its sequence number, or KEY_ABSENT */
    row_t *unit;           /* the operators, ascending by id: rows of units */
    row_t *parent;         /* per operator: its parent, or ROW_NONE (the root) */
    row_t n;
};

/* Reads the names of all nodes into the table. SUTRA_DATA: a node has no name, or there is no root. */
enum sutra_status host_side_read(struct host_side *side, struct sutra_context *context,
                                 const struct sutra_host_trace *trace, struct legacy_names *names, struct arena *arena,
                                 struct sutra_error *error);

/* Selects the iteration and lists its operators; `old_names`: threads may have their older name. SUTRA_DATA: parents
 * form a cycle, or an operator whose parent is outside the iteration is on a thread without a node. */
enum sutra_status host_side_choose(struct host_side *side, struct sutra_context *context,
                                   const struct legacy_names *names, bool old_names, struct legacy_log *log,
                                   struct arena *arena, struct sutra_error *error);

/* The node that represents an operator. */
static inline row_t host_side_node(const struct host_side *side, row_t op) {
    return unit_node(&side->units, side->unit[op]);
}

static inline value_key host_side_id(const struct host_side *side, row_t op) {
    return side->trace->nodes.id[host_side_node(side, op)];
}

static inline value_key host_side_sequence(const struct host_side *side, row_t op) {
    return side->sequence[host_side_node(side, op)];
}

static inline uint32_t host_side_name(const struct host_side *side, row_t op) {
    return side->name[host_side_node(side, op)];
}

/*
 * ---- Operators of the device trace (device_ops.c) ----
 *
 *     events --sort by ts, filter--> CPU operators | launches | GPU operators
 *     CPU operators --cut at annotations--> segments --best fit--> with markers: the list to be matched
 *
 *     list   process  thread  op  op  op  thread  op  op ...     a marker directly before a thread's first operator
 *
 * GPU operators are grouped by CPU operator: GPU operator -> its launch -> the CPU operator that runs at the end of the
 * launch. CPU operators are identified by "Ev Idx", as in the older program.
 */

/* Columns are in one arena. */
struct device_side {
    const struct sutra_device_trace *trace;
    row_t *cpu, *launch, *gpu; /* events, by start */
    row_t n_cpu, n_launches, n_gpu, n_memory_sets;
    row_t *flow_start, *flow_finish; /* of flows from CPU to GPU: phases s and f */
    row_t n_flow_start, n_flow_finish;
    row_t *step; /* profiler steps, of any category */
    row_t n_steps;
    row_t n_segments;
    row_t segment; /* the chosen operators: cpu[segment] ... cpu[segment + n_segment - 1] */
    row_t n_segment;

    /* The list to be matched. */
    row_t n;
    uint32_t *name;
    row_t *event;  /* ROW_NONE: a marker */
    row_t *thread; /* number of the thread in order of first use; ROW_NONE for the process */
    struct number_column ts, dur;
    row_t n_threads;
};

/* Sorts and filters. `all_launches`: all launching calls, not only cudaLaunchKernel and cudaMemcpyAsync. */
enum sutra_status device_side_read(struct device_side *side, struct sutra_context *context,
                                   const struct sutra_device_trace *trace, bool all_launches, struct arena *arena,
                                   struct sutra_error *error);

/* Selects the segment whose length is nearest to `n_host_ops`, which include three markers. */
void device_side_choose(struct device_side *side, const struct legacy_names *names, const char *annotation,
                        row_t n_host_ops, struct legacy_log *log);

/* Builds the list of the segment; a second call replaces the list. SUTRA_DATA: there are no CPU operators. */
enum sutra_status device_side_list(struct device_side *side, struct sutra_context *context,
                                   const struct legacy_names *names, struct arena *arena, struct sutra_error *error);

/* Columns are in one arena; the owner frees the index. */
struct gpu_groups {
    /* GPU operators with a CPU operator: by group, in a group by the time of the launch. */
    row_t *event;
    struct number_column ts; /* end of its launch, which the output uses as its ts */
    row_t n;
    row_t n_groups;
    row_t *start;           /* n_groups + 1 */
    row_t *group_of;        /* in trace order, not in group order */
    struct key_index index; /* "Ev Idx" -> its first operator */
};

/* Adds counts to the report. SUTRA_DATA: a GPU operator has no external id, no launch, or a CPU operator without
 * "Ev Idx"; lenient contexts skip and count such operators. */
enum sutra_status gpu_groups_build(struct gpu_groups *groups, struct sutra_context *context,
                                   const struct device_side *side, struct legacy_log *log,
                                   struct sutra_legacy_report *report, struct arena *arena, struct sutra_error *error);

/* Finds the group of each of n events (ROW_NONE: no event), or ROW_NONE. */
enum sutra_status gpu_groups_find(const struct gpu_groups *groups, struct sutra_context *context,
                                  const struct sutra_device_trace *trace, const row_t *event, row_t n, row_t *group,
                                  struct sutra_error *error);

/* ---- Both sides, their match, and the output ---- */

/* The operators of both traces, with names that are compared by number. */
struct legacy_sides {
    struct legacy_names names;
    struct host_side host;
    struct device_side device;
};

/* A GPU node of the output. */
struct gpu_node {
    row_t member; /* of the groups */
    row_t node;   /* its parent, a node of the host trace */
    int64_t id;
};

/* Changes of one node of the host trace. */
enum node_change {
    NODE_NEW_ID = 1,
    NODE_NEW_PARENT = 2,
};

/* The nodes of the output. */
struct legacy_nodes {
    /* Per node of the host trace, in file order. */
    uint8_t *change; /* bits of enum node_change */
    int64_t *id, *parent;
    row_t *match; /* entry of the device's list, or ROW_NONE */

    struct gpu_node *gpu; /* after all nodes */
    row_t n_gpu;
};

struct sutra_legacy {
    struct arena arena; /* contains all columns */
    struct legacy_sides sides;
    struct gpu_groups groups;
    row_t *match; /* per host operator: the entry of the device's list, or ROW_NONE */
    struct legacy_nodes nodes;
};

/* The operators of both traces without markers and profiler steps, as op_match.h matches them. */
struct legacy_ops {
    struct op_side host;   /* of the iteration */
    struct op_side device; /* all CPU operators: rows of device_side.cpu */
    row_t *op;             /* per row of `host`: the operator of the host's side */
    row_t *thread;         /* per operator of the host's side, also of markers: its thread, or ROW_NONE */
};

/* Columns are in the arena. Operators below `max_depth` levels (0: all) have TOKEN_NONE. */
enum sutra_status legacy_ops_read(struct legacy_ops *ops, struct sutra_context *context,
                                  const struct legacy_sides *sides, uint32_t max_depth, struct arena *arena,
                                  struct sutra_error *error);

/* Matches the operators by names and numbers: by record-function ids in place of sequence numbers, if at least as many
 * are in common. */
enum sutra_status legacy_ops_match(const struct legacy_ops *ops, struct sutra_context *context,
                                   const struct legacy_sides *sides, struct arena *arena, struct op_match *match,
                                   struct sutra_error *error);

/* Fills `match` by names and positions. SUTRA_DATA: operators do not match; report->mismatch is set. */
enum sutra_status exact_match(const struct legacy_sides *sides, struct legacy_log *log,
                              struct sutra_legacy_report *report, row_t *match, struct arena *scratch,
                              struct sutra_error *error);

/* Pairs of a match whose operators both have a sequence number. */
struct number_counts {
    row_t n_equal, n_different;
};
enum sutra_status count_numbers(const struct legacy_sides *sides, struct sutra_context *context, const row_t *match,
                                struct number_counts *counts, struct arena *scratch, struct sutra_error *error);

/* Fills `match` from the result of legacy_ops_match(). The matched operators become the segment of the device's side,
 * whose list is built in the arena. SUTRA_DATA: the share of matched operators is below `min_match`. */
enum sutra_status names_match(struct legacy_sides *sides, struct sutra_context *context, const struct legacy_ops *ops,
                              const struct op_match *found, double min_match, struct legacy_log *log,
                              struct sutra_legacy_report *report, struct arena *arena, struct arena *scratch,
                              row_t *match, struct sutra_error *error);

/* Fills `match` as the older program does without exact match. SUTRA_DATA: the share of matched operators is below
 * `min_match`. */
enum sutra_status positional_match(const struct legacy_sides *sides, struct sutra_context *context, double min_match,
                                   struct legacy_log *log, struct sutra_legacy_report *report, row_t *match,
                                   struct arena *scratch, struct sutra_error *error);

/* Assembles the nodes of the output, in the arena. SUTRA_DATA: a parent that is no node, a node without a field that
 * its GPU nodes copy, or an output of at least `most_bytes` (0: no limit). */
enum sutra_status assemble(struct legacy_nodes *nodes, struct sutra_context *context, const struct legacy_sides *sides,
                           const struct gpu_groups *groups, const row_t *match, uint64_t most_bytes,
                           struct sutra_legacy_report *report, struct arena *arena, struct sutra_error *error);

/*
 * The smallest free id that is at least a wanted id.
 *
 * A table of the used ids, each with a lower bound of the next free id. Searches raise the bounds, so that runs of used
 * ids are skipped. O(log n) amortized per id; memory only for the assigned ids.
 */

/* An id below which all ids from this one are used. */
struct used_id {
    int64_t id, next;
};

struct free_ids {
    struct hash_slots slots;
    struct used_id *used;
    uint64_t capacity;
    uint32_t n;
};

enum free_ids_result { FREE_ID_GIVEN, FREE_ID_NONE, FREE_ID_MEMORY };

/* Zero-initialize. FREE_ID_NONE: no id below 2^63 is free. */
enum free_ids_result free_ids_take(struct free_ids *ids, int64_t wanted, int64_t *given);
void free_ids_free(struct free_ids *ids);

#endif
