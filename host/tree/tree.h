/*
 * tree.h - internals of struct sutra_tree, whose columns are by position (see sutra/tree.h), and of struct
 * sutra_correlation; writers of the formats of trees.
 */
#ifndef TREE_TREE_H
#define TREE_TREE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/memory.h"
#include "context/context.h"
#include "match/call_tree.h"
#include "read/device_trace.h"
#include "tree/profile.h"
#include "write/text.h"

/*
 * Events by start: the columns for the replay, gathered from columns in any order.
 *
 *     position  0   1   2   ...      index of the tree's columns
 *     order     5   0   1            rows of the caller's columns
 */

struct sorted_events {
    struct tree_events events;
    row_t *order;
};

/* Ids; columns are NULL if shapes or memory were not recorded. */
struct tensor_ids {
    uint32_t *tensor;     /* per tensor of the profile's inputs */
    uint32_t *allocation; /* tensor ids of allocations, by position */
    uint32_t *storage;    /* allocation ids, by position */
    uint32_t n;           /* number of different ids */
};

struct sutra_tree {
    const struct sutra_profile *profile;
    struct holders holders;        /* references to the columns */
    struct arena arena, ids_arena; /* of the columns; of the ids, which are computed concurrently */
    struct sorted_events sorted;
    row_t *position; /* per row of the profile */
    row_t *parent;
    int64_t *closing, *end;
    uint32_t *depth;
    row_t *child_begin, *children; /* roots are the children of position n */
    row_t *preorder;               /* positions, each before its children */
    int64_t *host, *host_self, *device, *device_self;
    struct tensor_ids ids;
    struct sutra_tree_report report;
};

/* Computes the ids, in the arena. */
enum sutra_status tensor_ids_find(struct tensor_ids *ids, const struct sutra_tree *tree, const struct engine *engine,
                                  enum sutra_torch_version torch_version, struct arena *arena,
                                  struct sutra_error *error);

/* A tree and the options of its writer. */
struct tree_written {
    const struct sutra_tree *tree;
    const struct sutra_tree_write_options *options;
};

/* Writers for text_file_write(), of a struct tree_written. */
bool write_tree_json(const void *written, struct text_out *text);
bool write_tree_text(const void *written, struct text_out *text);
bool write_tree_chrome(const void *written, struct text_out *text);
bool write_tree_events(const void *written, struct text_out *text);

/* Rows of the profile. */
struct launch_pair {
    row_t from, to;
};

struct launch_pairs {
    struct launch_pair *list;
    row_t n;
};

struct sutra_correlation {
    const struct sutra_profile *profile;
    struct arena arena; /* of all pairs */
    enum sutra_correlation_kind kind;
    struct sutra_flow_pair *fwdbwd;
    uint64_t n_fwdbwd;
    struct launch_pairs launches;  /* launch -> GPU operator */
    struct launch_pairs operators; /* operator -> GPU operator */
    struct sutra_pair_report report;
};

/*
 * Copies a device trace, optionally without some events, and appends flows.
  */

struct trace_flows {
    const struct sutra_device_trace *trace;
    struct text_out *text;
    size_t from; /* the next byte of the file to copy */
    bool empty;  /* the array has no element yet */
};

/* Writes the file up to the end of its last event, without the events whose `dropped` (may be NULL) is 1. */
struct trace_flows trace_flows_begin(const struct sutra_device_trace *trace, struct text_out *text,
                                     const uint8_t *dropped);

/* Writes a flow between two events; `name` is also its category. */
void trace_flows_add(struct trace_flows *flows, row_t from, row_t to, uint64_t id, const char *name);

/* Writes the rest of the file. */
void trace_flows_end(struct trace_flows *flows);

#endif
