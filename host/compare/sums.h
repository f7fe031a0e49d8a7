/*
 * sums.h - the reduction of one trace for a comparison, small enough to keep for every rank: sums by operator, shapes,
 * kernel and collective, and the call paths of the steps.
 *
 *     trace --> launch_model --> part_make(): steps, sums (sums.c), trees (call_paths.c) --> part_join() --> whole
 *
 * GPU activity belongs to the step in which its call starts, or without a call in which it starts. GPU activity outside
 * the steps is skipped. A trace without steps is one step. Cost: O(n), plus reading.
 */
#ifndef COMPARE_SUMS_H
#define COMPARE_SUMS_H

#include <math.h>
#include <stdbool.h>

#include "analyze/collective_calls.h"
#include "analyze/operators/operators.h"
#include "analyze/overview/steps.h"
#include "base/arena.h"
#include "columns/hash_tables.h"
#include "columns/numbers.h"
#include "columns/strings.h"
#include "match/intervals.h"
#include "sutra/diff.h"

/*
 * ---- Call paths (call_paths.c): operators that enclose GPU activity, as a tree in pre-order ----
 *
 * Each step of a rank has a tree. The trees of many steps and ranks of one side are folded into one, and the trees of
 * both sides are merged.
 *
 *     node     0 root   1 backward   2 aten::mm   3 gemm   4 aten::add   5 elementwise
 *     parent   -        0            1            2        1             4
 *     end      6        6            4            4        6             6
 *
 * The tree contains only nodes that launch GPU activity, directly or in a descendant; GPU activities are the leaves;
 * there is always a root.
 *
 * Nodes have the same `id` exactly if their subtrees are equal: name, shapes of an operator's inputs, children in
 * order. Ids are dense numbers of a struct tuples, not hashes, so distinct subtrees never collide.
 *
 * Folding: the k-th child of a name below a node is the k-th child of this name in every step.
 *
 *     step 4   linear norm linear          folded   linear linear norm linear'          linear, norm in all steps,
 *     step 5   linear norm linear                   in the order of the steps           linear' in the last
 *     step 6   linear norm linear linear
 *
 * Most steps are equal to their predecessors, so a child is first searched after the position where its predecessor was
 * found, and then by its name. O(1) per node.
 */

#define TEXT_NONE UINT32_MAX

enum path_kind {
    PATH_ROOT,
    PATH_THREAD, /* of the CPU, or the parent of GPU activity without a known call */
    PATH_CALLED, /* an operator, an annotation, a call outside of operators */
    PATH_MODULE, /* an nn.Module */
    PATH_WORK,   /* GPU activity: a kernel, memcpy or memset */
};

/* Pairs are values of sides A and B. */
struct path_node {
    uint32_t name[2];    /* texts; TEXT_NONE: the side has no such node */
    uint32_t path[2];    /* from the root to the node: number of a path + 1; 0: none */
    uint32_t shapes;     /* text; for GPU activity its class */
    uint32_t id, shell;  /* `shell`: equal for equal names and shapes; */
    uint32_t bare, list; /* for equal names; for equal children, 0: none */
    uint32_t n_children;
    row_t parent, end;
    uint8_t kind;
    uint64_t calls[2];
    wide_t ticks[2]; /* of GPU activity */
};

struct path_tree {
    row_t n;
    struct path_node *nodes;
};

static inline bool node_is_on(const struct path_node *node, int side) {
    return node->name[side] != TEXT_NONE;
}

/* A node's name, on A if A has the node. */
static inline uint32_t node_name(const struct path_node *node) {
    return node->name[node_is_on(node, 0) ? 0 : 1];
}

/* Scratch of the alignment: an id among the children that are aligned. */
struct path_slot {
    uint32_t stamp;
    row_t n[2]; /* occurrences on each side */
    row_t next; /* its next index on the second side, or ROW_NONE */
};

/* The numbers of ids, and scratch by id. */
struct path_ids {
    struct tuples numbers;
    struct path_slot *slots;
    uint64_t n_slots;
    uint32_t stamp; /* slots with another stamp are stale */
};

/* False: out of memory. Call path_ids_free() also after a failure. */
bool path_ids_init(struct path_ids *ids);
void path_ids_free(struct path_ids *ids);

/* Set `id` of all nodes; set `bare` and `shell`. False: out of memory. O(n). */
bool path_tree_number(struct path_tree *tree, struct path_ids *ids);
bool path_tree_name(struct path_tree *tree, struct path_ids *ids);

/* Whether the tree has modules; removes them. O(n). */
bool path_tree_has_modules(const struct path_tree *tree);
void path_tree_drop_modules(struct path_tree *tree, struct arena *scratch);

/* Computes `end` and `n_children` from parents. */
void path_tree_finish(struct path_tree *tree);

/* Merges two trees that have ids and names into one, in the arena: aligned nodes become one. `scratch` is another
 * arena, which is released. SUTRA_SYSTEM: out of memory. O(n log n + ids). */
enum sutra_status path_tree_merge(const struct path_tree trees[2], struct path_ids *ids, struct arena *arena,
                                  struct arena *scratch, struct path_tree *merged, struct sutra_error *error);

/* ---- Folding ---- */

struct fold_node {
    struct path_node node;
    row_t parent, first, next; /* first child, next sibling; ROW_NONE */
    row_t same_name;           /* the next sibling of its name, in the order of insertion */
    uint64_t used_by;          /* the last call of its parent that used it */
    /* For the first sibling of its name: */
    row_t unused;        /* siblings of its name before this one are used */
    uint64_t unused_for; /* by this call */
};

struct path_fold {
    struct fold_node *list;
    row_t n;
    uint64_t capacity;
    struct pair_table heads; /* by parent, kind and name: the first child of that name */
    uint64_t n_calls;        /* of nodes, in the order of insertion */
};

/* False: out of memory. Call path_fold_free() also after a failure. */
bool path_fold_init(struct path_fold *fold);
void path_fold_free(struct path_fold *fold);

/* Adds a tree of the side: calls and times of its nodes are added to the matching nodes. Releases `scratch`. False: out
 * of memory. */
bool path_fold_add(struct path_fold *fold, const struct path_tree *tree, int side, struct arena *scratch);

/* The tree in pre-order, in the arena; `nodes` is NULL if memory runs out. */
struct path_tree path_fold_tree(const struct path_fold *fold, struct arena *arena);

/*
 * ---- Sums of GPU activity and operators of one key: counts, times, and the spread of device time over steps ----
 *
 * Each step of each rank is a sample. Sums are exact; the spread is computed with Welford's and Chan's formulas, so
 * that equal samples have a spread of 0.
 */

/* The spread of n values. */
struct spread {
    double n, mean, squares; /* squares: the sum of squared deviations from the mean */
};

void spread_add(struct spread *spread, double value);

/* The variance of a sample's mean, with zeros added up to n values. NaN: fewer than two values. */
double spread_error(const struct spread *spread, double n);

struct ledger_sum {
    uint64_t calls;        /* of operators; of GPU activity in a ledger of kernels */
    wide_t device;         /* nanoseconds of GPU activity */
    wide_t host;           /* self time of operators */
    struct spread samples; /* of device time, in samples with device time */
    uint64_t n_met;        /* calls of collectives that are known on several ranks */
    wide_t wait;           /* sum of their excess over the shortest call */
    row_t sample;          /* current sample + 1 */
    wide_t device_now;     /* device time of the current sample */
};

struct ledger {
    struct tuples keys;
    struct ledger_sum *sums; /* by key */
    uint64_t capacity;
};

enum part_ledger {
    LEDGER_OPERATORS,   /* text of the name, enum operator_kind */
    LEDGER_SHAPES,      /* the same; texts of dims and types */
    LEDGER_KERNELS,     /* text of the short name, enum device_class */
    LEDGER_COLLECTIVES, /* texts of the collective and the type, elements, group size; CALL_UNKNOWN */
    N_LEDGERS
};

/* Parts of the keys that are texts. */
extern const bool ledger_key_texts[N_LEDGERS][4];

/* The row that GPU activity is attributed to. */
enum operator_kind { KIND_OPERATOR, KIND_CALL, KIND_UNATTRIBUTED, N_KINDS };

/* A step, and the categories of its time: enum step_part (analyze/overview/steps.h). */
enum diff_part { DIFF_PART_STEP, DIFF_PART_FIRST, N_DIFF_PARTS = DIFF_PART_FIRST + N_STEP_PARTS };

struct part_side {
    row_t n_samples; /* steps of all ranks */
    bool has_steps;  /* else each trace is one */
    struct spread device;
    wide_t device_ns, outside_ns;  /* of all GPU activity in steps, outside steps */
    wide_t parts_ns[N_DIFF_PARTS]; /* of all steps, and their spread */
    struct spread parts[N_DIFF_PARTS];
    struct ledger ledgers[N_LEDGERS];
    struct collective_calls calls; /* in the steps */
    struct path_fold fold;         /* the steps' call paths */
};

/* The reduction of one trace, or of both sides. */
struct part {
    struct strings texts;
    struct tuples paths; /* (parent path + 1 or 0, text) */
    struct part_side sides[2];
};

struct part_options {
    int side;
    int64_t rank;
    struct sutra_diff_options diff;
};

/* False: out of memory. Call part_free() also after a failure. */
bool part_init(struct part *part);
void part_free(struct part *part);

/* Fills a side. SUTRA_DATA: no such step. SUTRA_USAGE: no such category. */
enum sutra_status part_make(struct sutra_context *context, const struct sutra_device_trace *trace,
                            const struct part_options *options, struct part *part, struct sutra_error *error);

/* Adds a side of a part to the side of `whole`. SUTRA_SYSTEM: out of memory. */
enum sutra_status part_join(struct part *whole, const struct part *part, int side, struct sutra_error *error);

/* ---- Between the files of a part ---- */

/* Disjoint time intervals in ascending order. */
struct step_window {
    int64_t from, to;
    row_t host; /* the step's CPU row; ROW_NONE: the whole trace */
};

/* The state of part_make(). */
struct part_work {
    struct sutra_context *context;
    const struct sutra_device_trace *trace;
    const struct part_options *options;
    struct launch_model model;
    struct arena arena, scratch;
    struct part *part;
    struct part_side *side;
    struct step_window *windows;
    row_t n_windows;
    row_t *host_sample, *device_sample; /* by row: its window, or ROW_NONE */
    uint32_t *host_text, *work_text;    /* by string of the trace: as an operator, as a kernel */
    uint32_t *shapes_text;              /* by attributed row */
};

/* Finds the steps (call_paths.c). */
enum sutra_status step_windows_find(struct part_work *work, struct sutra_error *error);

/* Partitions n rows, NULL: all, by step: step s has order[first[s]] .. order[first[s + 1] - 1]. Rows of ROW_NONE are
 * skipped. first[] has room for n_samples + 2. */
void rows_by_sample(const row_t *sample, const row_t *rows, row_t n, row_t n_samples, row_t *first, row_t *order);

/* Sums the wait time of collectives of a side of the whole. SUTRA_SYSTEM: out of memory. */
enum sutra_status collective_waits_find(struct part *whole, int side, struct sutra_error *error);

/* Builds the trees of all steps (call_paths.c). */
enum sutra_status path_steps_make(struct part_work *work, struct sutra_error *error);

#endif
