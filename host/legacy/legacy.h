/*
 * legacy.h - internals of struct sutra_legacy: both sides, the match of their operators, and the nodes of the output.
 *
 *     host side, device side --match by position or names--> match --assembly--> nodes with new ids, GPU nodes
 */
#ifndef LEGACY_LEGACY_H
#define LEGACY_LEGACY_H

#include "align/op_match.h"
#include "columns/hash.h"
#include "legacy/device_ops.h"
#include "legacy/host_ops.h"
#include "sutra/legacy.h"

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

/* Lists the operators of both traces in the arena, the iterations that end at `annotation` (NULL: all) on the host's
 * side and all operators on the device's side. The caller frees the names and the units. SUTRA_DATA: as
 * host_side_read() and host_side_choose(). */
enum sutra_status legacy_sides_read(struct legacy_sides *sides, struct sutra_context *context,
                                    const struct sutra_host_trace *host, const struct sutra_device_trace *device,
                                    const struct sutra_legacy_options *options, struct legacy_log *log,
                                    struct arena *arena, struct sutra_error *error);
void legacy_sides_free(struct legacy_sides *sides);

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
