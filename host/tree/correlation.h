/*
 * correlation.h - internals of struct sutra_correlation.
 */
#ifndef TREE_CORRELATION_H
#define TREE_CORRELATION_H

#include "base/arena.h"
#include "tree/profile.h"
#include "write/text.h"

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

#endif
