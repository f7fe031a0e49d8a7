/*
 * collectives.h - what a collective does, told by its name, and what follows from that: whether it ends everywhere
 * at once, how much it moves, and what share of that each link carries.
 *
 *     "_allgather_base", 8 ranks, 1000 floats in, 8000 out  -->  all-gather of 32,000 bytes; each link carries 7/8 of them
 *
 * Bytes and shares are those of nccl-tests: of the larger of both buffers, which a broken-down collective moves whole.
 * An algorithm's bandwidth is bytes by time; that of the bus is this times the share, so that it can be held against
 * what a link can do, whatever the collective.
 */
#ifndef FACTS_COLLECTIVES_H
#define FACTS_COLLECTIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMM_KINDS(X)                                                                                                  \
    X(ALL_REDUCE, "all-reduce")                                                                                        \
    X(ALL_GATHER, "all-gather")                                                                                        \
    X(REDUCE_SCATTER, "reduce-scatter")                                                                                \
    X(ALL_TO_ALL, "all-to-all")                                                                                        \
    X(ALL_TO_ALL_V, "all-to-all-v")                                                                                    \
    X(BROADCAST, "broadcast")                                                                                          \
    X(REDUCE, "reduce")                                                                                                \
    X(GATHER, "gather")                                                                                                \
    X(SCATTER, "scatter")                                                                                              \
    X(BARRIER, "barrier")                                                                                              \
    X(MESSAGE, "message")                                                                                              \
    X(OTHER, "other")

enum comm_kind {
#define COMM_NUMBER(number, name) COMM_##number,
    COMM_KINDS(COMM_NUMBER)
#undef COMM_NUMBER
        N_COMM_KINDS
};

/* "all-reduce" and so on. */
extern const char *const collective_kind_names[N_COMM_KINDS];

/* The kind of a collective of this name, as PyTorch tells it, or of the name of its kernel. O(length). */
enum comm_kind collective_kind_of(const char *name);

/* Whether no rank ends before all have begun. */
bool collective_ends_at_once(enum comm_kind kind);

/* Whether one of this name has sizes that are each rank's own. */
bool collective_sizes_differ(const char *name);

/* Elements that it moves among n ranks, of which the largest have so many in and out. */
int64_t collective_elements(enum comm_kind kind, int64_t n_in, int64_t n_out, int64_t n_ranks);

/* The share that each link carries among n ranks; NaN: there is none to tell, as of a barrier. */
double collective_bus_share(enum comm_kind kind, int64_t n_ranks);

/* Bytes of an element of a type as collectives name it ("Float", "BFloat16"); 0: not known. */
unsigned collective_type_bytes(const char *type);

#endif
