/*
 * comm_groups.h - process groups of ET+: numbers for those that have other names, and which ranks are in them.
 *
 * ASTRA-sim knows groups by numbers: 0, or none, is that of all ranks. A group of another name gets a number made of
 * the name, so that the files of all ranks agree without knowing each other. Members are told by nodes that describe
 * groups:
 *
 *     "## process_group:init ##"   ['[{"pg_name": "1", ..., "ranks": [0, 2], ...}, ...]']
 *
 * Older traces name a group elsewhere by its "backend_id" or "uid", which stands there, too.
 */
#ifndef SIMULATE_COMM_GROUPS_H
#define SIMULATE_COMM_GROUPS_H

#include "base/arena.h"
#include "columns/strings.h"
#include "simulate/node_graph.h"

struct comm_group {
    struct et_text number; /* its name in the file */
    bool told;             /* a node describes it */
    uint32_t *ranks;       /* none: all */
    uint32_t n_ranks;
};

struct comm_groups {
    struct strings names;
    struct comm_group *list; /* by number of the name */
    uint32_t n_used;         /* of the first ones there are communication nodes; the others are only described */
    uint64_t n_described;    /* descriptions; a group may have several */
    struct strings uids;     /* other names, at most two a description, */
    uint32_t *uid_group;     /* each with its group */
    struct arena arena;
    uint64_t n_numbered; /* used groups of other names than numbers */
    uint32_t n_world;    /* one more than the largest rank that is told */
};

/* Finds the groups of the communication nodes that are kept, and those that are described. SUTRA_SYSTEM: out of
 * memory. */
enum sutra_status comm_groups_find(struct comm_groups *groups, const struct node_graph *graph,
                                   struct sutra_error *error);
void comm_groups_free(struct comm_groups *groups);

/* A group by its name or uid; NULL: there is none. */
const struct comm_group *comm_group_find(const struct comm_groups *groups, struct et_text name);

/* The number that stands for a group of this name in every file, as text. */
#define GROUP_NUMBER_MAX 16
void comm_group_number_of(const char *name, size_t length, char number[GROUP_NUMBER_MAX]);

/* The number of a group that was found, by its name. */
struct et_text comm_group_number(const struct comm_groups *groups, struct et_text name);

#endif
