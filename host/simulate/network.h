/*
 * network.h - how long transfers of a job would take on another network.
 *
 *     transfers of one kind and number of ranks     time = alpha + bytes / bandwidth      a line through all of them
 *
 * Only what moves data gets faster with the network: alpha stays. Where all transfers of a kind have one size, alpha is
 * that of the other kinds. Cost: O(transfers).
 */
#ifndef SIMULATE_NETWORK_H
#define SIMULATE_NETWORK_H

#include "simulate/rank_graph.h"

/* What the network does for transfers of one kind among so many ranks. */
struct network_link {
    enum comm_kind kind;
    uint32_t n_ranks;
    uint64_t n; /* transfers */
    double alpha_ns, ns_per_byte;
    double residual_ns; /* the root of the mean square of what is left around the line */
    bool is_fitted;     /* sizes differ, so that there is a line */
};

/* Bytes that a rank's link carries for each of the transfer's; of what nobody knows, all. */
double network_link_share(const struct network_link *link);

struct network {
    struct network_link *links; /* in the order of first sight */
    uint32_t n;
};

/* Draws the lines; they lie in the arena. SUTRA_SYSTEM: out of memory. */
enum sutra_status network_fit(struct network *network, const struct rank_graph *graphs, uint32_t n, struct arena *arena,
                              struct sutra_error *error);

/* A network that is told instead: "alpha=12us,beta=50GB/s", in any order; ns, us, ms, s, and B/s to TB/s. One that is
 * not told stays as it was fitted: NAN. */
struct told_network {
    double alpha_ns, bytes_per_ns;
};
enum sutra_status network_read(struct told_network *told, const char *text, struct sutra_error *error);

/* run_ns[r][i] of all transfers becomes what they take with `times` the bandwidth, or on the network that is told
 * (NULL: none), times what they were scaled by before. */
void network_apply(const struct network *network, const struct told_network *told, double times,
                   const struct rank_graph *graphs, uint32_t n, double *const *run_ns);

#endif
