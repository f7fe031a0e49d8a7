/*
 * feeder_walk.h - a walk through the files of a job as ASTRA-sim's feeder v3 makes it, without any of the library's
 * graphs: a node is issued when all that it depends on, by control or by data, is done; collectives of a group are done
 * when each member has issued one more of them; what is done releases what waits for it.
 */
#ifndef TESTS_FEEDER_WALK_H
#define TESTS_FEEDER_WALK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "simulate/et.h"
#include "simulate/et_format.h"

#define RANKS_MAX 4

struct walked_rank {
    const struct et_nodes *nodes;
    bool *issued, *done;
    unsigned n_absent; /* dependencies that no node stands for: the feeder would throw */
};

struct walked_id {
    uint64_t id;
    row_t row;
};

static inline int compare_ids(const void *left, const void *right) {
    const struct walked_id *a = left, *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

/* Whether all of a list is done. */
static inline bool all_done(struct walked_rank *rank, const struct walked_id *ids, const struct et_ids *list,
                            row_t row) {
    for (uint64_t i = list->first[row]; i < list->first[row + 1]; i++) {
        struct walked_id key = {list->ids[i], 0};
        const struct walked_id *found = bsearch(&key, ids, rank->nodes->n, sizeof key, compare_ids);
        rank->n_absent += !found;
        if (!found || !rank->done[found->row])
            return false;
    }
    return true;
}

static inline bool same_group(const struct et_nodes *a, row_t i, const struct et_nodes *b, row_t k) {
    struct et_text left = et_group_name(a, i), right = et_group_name(b, k);
    return left.length == right.length && memcmp(left.bytes, right.bytes, left.length) == 0;
}

/* The place of an issued collective among those of its group that wait on its rank. */
static inline unsigned waiting_on(const struct walked_rank *rank, const struct et_nodes *nodes, row_t row) {
    unsigned n = 0;
    for (row_t i = 0; i < rank->nodes->n; i++)
        n += rank->nodes->type[i] == ET_COMM_COLL && rank->issued[i] && !rank->done[i] &&
             same_group(rank->nodes, i, nodes, row);
    return n;
}

/* Ends the first waiting collective of a group on each rank, once each has one; all ranks are members. */
static inline bool meet(struct walked_rank *ranks, unsigned n_ranks, unsigned r, row_t row) {
    for (unsigned i = 0; i < n_ranks; i++)
        if (waiting_on(&ranks[i], ranks[r].nodes, row) == 0)
            return false;
    for (unsigned i = 0; i < n_ranks; i++)
        for (row_t k = 0; k < ranks[i].nodes->n; k++)
            if (ranks[i].nodes->type[k] == ET_COMM_COLL && ranks[i].issued[k] && !ranks[i].done[k] &&
                same_group(ranks[i].nodes, k, ranks[r].nodes, row)) {
                ranks[i].done[k] = true;
                break;
            }
    return true;
}

/* One look at each node of a rank; whether anything came of it. */
static inline bool walk_step(struct walked_rank *ranks, unsigned n_ranks, unsigned r, const struct walked_id *ids) {
    struct walked_rank *rank = &ranks[r];
    const struct et_nodes *nodes = rank->nodes;
    bool moved = false;
    for (row_t row = 0; row < nodes->n; row++) {
        if (!rank->issued[row]) {
            if (!all_done(rank, ids, &nodes->ctrl, row) || !all_done(rank, ids, &nodes->data, row))
                continue;
            rank->issued[row] = moved = true;
            rank->done[row] = nodes->type[row] != ET_COMM_COLL;
        }
        if (!rank->done[row])
            moved |= meet(ranks, n_ranks, r, row);
    }
    return moved;
}

/* Walks until nothing moves; returns the nodes that were done, of all ranks. */
static inline uint64_t feeder_walk(struct sutra_et *const *files, unsigned n_ranks, unsigned *n_absent) {
    struct walked_rank ranks[RANKS_MAX] = {0};
    struct walked_id *ids[RANKS_MAX];
    uint64_t n_done = 0;
    for (unsigned r = 0; r < n_ranks; r++) {
        const struct et_nodes *nodes = &files[r]->file.nodes;
        ranks[r] = (struct walked_rank){nodes, calloc(nodes->n + 1, 1), calloc(nodes->n + 1, 1), 0};
        ids[r] = calloc((size_t)nodes->n + 1, sizeof *ids[r]);
        assert_true(ranks[r].issued && ranks[r].done && ids[r]);
        for (row_t row = 0; row < nodes->n; row++)
            ids[r][row] = (struct walked_id){nodes->id[row], row};
        qsort(ids[r], nodes->n, sizeof *ids[r], compare_ids);
    }
    for (bool moved = true; moved;) {
        moved = false;
        for (unsigned r = 0; r < n_ranks; r++)
            moved |= walk_step(ranks, n_ranks, r, ids[r]);
    }
    *n_absent = 0;
    for (unsigned r = 0; r < n_ranks; r++) {
        for (row_t row = 0; row < ranks[r].nodes->n; row++)
            n_done += ranks[r].done[row];
        *n_absent += ranks[r].n_absent;
        free(ranks[r].issued);
        free(ranks[r].done);
        free(ids[r]);
    }
    return n_done;
}

#endif
