/*
 * what_if.h - what-ifs: words such as "name=~gemm:0.5" that select nodes and say how long they would take.
 */
#ifndef SIMULATE_WHAT_IF_H
#define SIMULATE_WHAT_IF_H

#include "simulate/rank_graph.h"
#include "sutra/error.h"

/*
 * How long transfers of a job would take on another network.
 *
 *     transfers of one kind and number of ranks     time = alpha + bytes / bandwidth      a line through all of them
 *
 * Only what moves data gets faster with the network: alpha stays. Where all transfers of a kind have one size, alpha is
 * that of the other kinds. Cost: O(transfers).
 */

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

/*
 * How much longer each rank of a job computes than the others.
 *
 *     rank 0   sgemm 100 us  relu 20 us          GPU: a rank's time for all of its kernels, over the time that they would
 *     rank 1   sgemm 130 us  relu 26 us   1.3    take on the median rank, name by name
 *     rank 2   sgemm 101 us  relu 20 us
 *
 * Kernels that one rank alone has say nothing, so stages that do different things are not compared. Nodes of processors
 * are cut in many ways, so their whole time counts, for each kernel that they launch. Of an even number the faster one
 * in the middle is the median: of two ranks the slower one is the straggler. Cost: O(n log n).
 */

struct rank_slowness {
    double cpu, gpu; /* 1: as the median rank */
};

/* A rank so much slower than the median is a straggler. */
#define STRAGGLER_SLOWNESS 1.05

/* Fills slowness[0..n-1]. SUTRA_SYSTEM: out of memory. */
enum sutra_status slowness_find(const struct rank_graph *graphs, uint32_t n, struct rank_slowness *slowness,
                                struct sutra_error *error);

/* Lets stragglers compute as the median rank: run_ns[r][i] of their computation, and of their processor. */
void slowness_even(const struct rank_graph *graphs, uint32_t n, const struct rank_slowness *slowness,
                   double *const *run_ns);

/* How long the nodes of a job take. */
struct change_target {
    const struct rank_graph *graphs;
    const uint64_t *ranks; /* of the job */
    uint32_t n;
    const struct strings *names;
};

/* run_ns[r][i] *= the factors of all changes that select node i of rank r. SUTRA_USAGE: a change cannot be read, or
 * names an unknown rank, stream or name. Cost: O(names + nodes) for each change. */
enum sutra_status changes_apply(const struct change_target *target, const char *const *changes, size_t n,
                                double *const *run_ns, struct arena *arena, struct sutra_error *error);

#endif
