/*
 * call_tree.h - the call tree of each CPU thread: rows nest by their times.
 *
 *     thread    [ aten::linear                    ]      call_tree_visit(): aten::linear, parent ROW_NONE
 *                  [ aten::addmm  [launch] ]             aten::addmm, parent aten::linear; launch, parent aten::addmm
 *
 * As in HTA (`compat`): threads with the number 0 are a GPU's, each row that ends removes the last row of the stack,
 * and rows of the backward thread are below the annotations of backward (or the steps) of the forward thread. HTA fails
 * at durations below 0, which are 0 here.
 */
#ifndef ANALYZE_HTA_CALL_TREE_H
#define ANALYZE_HTA_CALL_TREE_H

#include "analyze/compat/hta/hta.h"
#include "base/shared.h"
#include "columns/hash_tables.h"

struct hta_call_tree {
    const struct hta_input *input;
    row_t n; /* rows of threads, by thread, start, and descending duration */
    row_t *event;
    struct tuples threads;
    row_t *first;     /* of each thread, and the end */
    uint32_t forward; /* threads that HTA joins, or TUPLE_NONE */
    uint32_t backward;
    row_t *anchor; /* rows of the forward thread that may be parents of rows of the backward thread */
    row_t n_anchors;
    row_t *stack;
    int64_t *ends; /* of the rows of each thread, ascending; for HTA only */
};

/* Called for each row of each thread by start, the backward thread last. */
typedef void call_visit(void *arg, row_t event, row_t parent);

/* On failure call_tree_free() is still due; all memory but `threads` is in the arena. */
enum sutra_status call_tree_make(struct hta_call_tree *tree, const struct hta_input *input, struct arena *arena,
                                 struct sutra_error *error);
void call_tree_visit(const struct hta_call_tree *tree, call_visit *visit, void *arg);
void call_tree_free(struct hta_call_tree *tree);

/* Whether a row is in the tree of a thread. */
bool call_tree_has(const struct hta_input *input, row_t event);

/* The end of a row; a row with a duration below 0 ends at its start. */
static inline int64_t hta_end(const struct hta_rows *rows, row_t event) {
    return rows->start[event] + MAX(rows->dur[event], 0);
}

#endif
