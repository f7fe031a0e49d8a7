/*
 * collectives.h - the kind of a collective by its name, and its properties: whether all ranks end together, how many
 * elements it moves, and the share of them that each link carries.
 *
 *     "_allgather_base", 8 ranks, 1000 floats in, 8000 out  -->  all-gather of 32,000 bytes; each link carries 7/8 of them
 *
 * Sizes and shares are defined as in nccl-tests: the size is the size of the larger of the input and output buffers.
 * The algorithm bandwidth is size by time. The bus bandwidth is the algorithm bandwidth times the share; for each kind
 * it is comparable with the bandwidth of a link.
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

/* Whose recognition of names applies: a letter of the table in collectives.c. */
enum collective_reader {
    COLLECTIVES_OF_SUTRA = 'K',
    COLLECTIVES_OF_CHAKRA_CONVERTER = 'C',
    COLLECTIVES_OF_CHAKRA = 'S'
};

/* The kind of a collective of this name, or of its kernel's name; COMM_OTHER if the reader does not recognize it.
 * O(length). */
enum comm_kind collective_kind_read(const char *name, size_t length, enum collective_reader reader);

/* The same for sutra's own kinds. */
enum comm_kind collective_kind_of(const char *name);

/* Whether no rank ends before all ranks have begun. */
bool collective_ends_at_once(enum comm_kind kind);

/* Whether each rank of a collective of this name has sizes of its own. */
bool collective_sizes_differ(const char *name);

/* Elements that a collective moves among n ranks, given the largest numbers of elements in and out. */
int64_t collective_elements(enum comm_kind kind, int64_t n_in, int64_t n_out, int64_t n_ranks);

/* The share that each link carries among n ranks; NaN if undefined, as for a barrier. */
double collective_bus_share(enum comm_kind kind, int64_t n_ranks);

/* Bytes of an element of a type as collectives name it ("Float", "BFloat16"); 0 if unknown. */
unsigned collective_type_bytes(const char *type);

#endif
