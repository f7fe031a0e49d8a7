/*
 * tree_times.c - self and total times of the tree, from the bottom up; in come parents and ends, out go four columns.
 *
 * On the host, an event's own time is what its children on its thread leave of it. On the device, an operator has the
 * time of the kernels, copies and sets that its own launches started, and in all what is started below it. O(n).
 */
#include "tree/tree.h"

static int64_t overlap(const struct sutra_tree *tree, row_t parent, row_t child) {
    const int64_t *start = tree->sorted.events.start, *end = tree->end;
    int64_t from = start[parent] > start[child] ? start[parent] : start[child];
    int64_t to = end[parent] < end[child] ? end[parent] : end[child];
    return to > from ? to - from : 0;
}

static void own_times(struct sutra_tree *tree, row_t i) {
    uint8_t gpu = tree->profile->gpu[tree->sorted.order[i]];
    int64_t time = tree->end[i] == EVENT_NO_END ? 0 : tree->end[i] - tree->sorted.events.start[i];
    if (gpu == EVENT_ON_HOST)
        tree->host[i] = tree->host_self[i] = time;
    if (gpu == EVENT_GPU_OPERATOR)
        tree->device[i] = tree->device_self[i] = time;
}

static void hand_up(struct sutra_tree *tree, row_t i) {
    row_t parent = tree->parent[i];
    const struct sutra_profile *profile = tree->profile;
    if (parent == ROW_NONE)
        return;
    tree->device[parent] += tree->device[i];
    if (profile->kind[tree->sorted.order[i]] == SUTRA_EVENT_KINETO)
        tree->device_self[parent] += tree->device_self[i];
    if (tree->sorted.events.thread[parent] != tree->sorted.events.thread[i] || !tree->host[i])
        return;
    int64_t left = tree->host_self[parent] - overlap(tree, parent, i);
    tree->host_self[parent] = left > 0 ? left : 0;
}

void tree_sum_times(struct sutra_tree *tree) {
    row_t n = tree->profile->n;
    for (row_t i = 0; i < n; i++)
        own_times(tree, i);
    for (row_t k = n; k-- > 0;)
        hand_up(tree, tree->preorder[k]);
}
