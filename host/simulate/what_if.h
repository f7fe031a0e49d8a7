/*
 * what_if.h - what-if analyses: another network, ranks without stragglers, and changes such as "name=~gemm:0.5" that
 * select nodes and scale their durations.
 */
#ifndef SIMULATE_WHAT_IF_H
#define SIMULATE_WHAT_IF_H

#include "facts/gpu_peaks.h"
#include "simulate/rank_graph.h"
#include "sutra/error.h"

/*
 * Durations of transfers on another network.
 *
 *     transfers of one kind and number of ranks     time = alpha + bytes / bandwidth      a line through all of them
 *
 * Only the transfer of data scales with the bandwidth: alpha stays. If all transfers of a kind have one size, alpha is
 * the mean of the other kinds. In a job with another number of replicas, it is the alpha of the recorded job, if that
 * job has transfers of this kind and number of ranks. Cost: O(transfers).
 */

/* The network for transfers of one kind among a number of ranks. */
struct network_link {
    enum comm_kind kind;
    uint32_t n_ranks;
    uint64_t n; /* transfers */
    double alpha_ns, ns_per_byte;
    double residual_ns; /* root mean square of the residuals */
    double mean_bytes;
    bool has_one_size;
    bool is_fitted; /* sizes differ, and times ascend with them, so a line was fitted */
};

/* Bytes on the link of a rank per byte of the transfer; 1 if unknown. */
double network_link_share(const struct network_link *link);

struct network {
    struct network_link *links; /* in the order of first appearance */
    uint32_t n;
};

/* Fits the lines; the arena owns them. `recorded`: the network of the recorded job, or NULL. SUTRA_SYSTEM: out of
 * memory. */
enum sutra_status network_fit(struct network *network, const struct network *recorded, const struct rank_graph *graphs,
                              uint32_t n, struct arena *arena, struct sutra_error *error);

/* A given network: "alpha=12us,beta=50GB/s", in any order; ns, us, ms, s, and B/s to TB/s. A missing value stays as
 * fitted: NAN. */
struct network_model {
    double alpha_ns, bytes_per_ns;
};
enum sutra_status network_read(struct network_model *model, const char *text, struct sutra_error *error);

/* Sets run_ns[r][i] of all transfers to their duration with `times` the bandwidth, or on the given network (NULL:
 * none), times their earlier scaling. */
void network_apply(const struct network *network, const struct network_model *model, double times,
                   const struct rank_graph *graphs, uint32_t n, double *const *run_ns);

/*
 * Times of nodes of files without matches, as generators of workloads write them, from sizes.
 *
 *     collective   alpha + share of the kind and number of ranks * comm_size / beta     all-gather: n * comm_size
 *     send         alpha + comm_size / beta
 *     receive      0: it ends when its message arrives (replay.h)
 *     kernel       the longer of num_ops / peak and tensor_size / memory bandwidth (roofline)
 *
 * The number of ranks is the number of members of the match; a collective of one rank takes no time. Cost: O(nodes).
 */

/* Sets run_ns[r][i] of communication on the network with `times` its bandwidth. n_matches: matches of the job. The
 * scratch arena keeps the numbers of members. SUTRA_SYSTEM: out of memory. */
enum sutra_status network_price(const struct network_model *model, double times, const struct rank_graph *graphs,
                                uint32_t n, uint32_t n_matches, double *const *run_ns, struct arena *scratch,
                                struct sutra_error *error);

/* Sets run_ns[r][i] of the kernel_sizes[] of all ranks. */
void kernels_price(const struct device_peaks *peaks, const struct rank_graph *graphs, uint32_t n,
                   double *const *run_ns);

/*
 * The slowness of each rank of a job, compared with the median rank.
 *
 *     rank 0   sgemm 100 us  relu 20 us          GPU: the time of a rank for all of its kernels, divided by the time
 *     rank 1   sgemm 130 us  relu 26 us   1.3    of the median rank, name by name
 *     rank 2   sgemm 101 us  relu 20 us
 *
 * Kernels of a single rank do not count, so different pipeline stages are not compared. CPU nodes are cut in many ways,
 * so the total CPU time per launched kernel counts. Of an even number of ranks the median is the faster middle one: of
 * two ranks the slower one is the straggler. Cost: O(n log n).
 */

struct rank_slowness {
    double cpu, gpu; /* 1: like the median rank */
};

/* A rank this much slower than the median is a straggler. */
#define STRAGGLER_SLOWNESS 1.05

/* Fills slowness[0..n-1]. SUTRA_SYSTEM: out of memory. */
enum sutra_status slowness_find(const struct rank_graph *graphs, uint32_t n, struct rank_slowness *slowness,
                                struct sutra_error *error);

/* Scales run_ns[r][i] of computation and CPU nodes of stragglers to the median rank. */
void slowness_even(const struct rank_graph *graphs, uint32_t n, const struct rank_slowness *slowness,
                   double *const *run_ns);

/* The nodes of a job that changes select from. */
struct change_target {
    const struct rank_graph *graphs;
    const uint64_t *ranks; /* of the job */
    uint32_t n;
    const struct strings *names;
};

/* kept[r][i] = 0 for the nodes that a selector of the removals selects. Errors and cost as changes_apply(). */
enum sutra_status removals_apply(const struct change_target *target, const char *const *removals, size_t n,
                                 double *const *kept, struct arena *arena, struct sutra_error *error);

/* run_ns[r][i] *= the factors of all changes that select node i of rank r. SUTRA_USAGE: a change is invalid, or names
 * an unknown rank, stream or name. Cost: O(names + nodes) per change. */
enum sutra_status changes_apply(const struct change_target *target, const char *const *changes, size_t n,
                                double *const *run_ns, struct arena *arena, struct sutra_error *error);

#endif
