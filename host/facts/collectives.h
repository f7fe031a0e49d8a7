/*
 * collectives.h - the kind of a collective by its name, and its properties: whether all ranks end together, how many
 * elements it moves, and the share of them that each link carries; the inputs of record_param_comms.
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

#include "facts/op_inputs.h"

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

/* The name of such a type for the type of a tensor or of a list of tensors, "GenericList[Tensor(c10::Half)]"; NULL:
 * unknown. */
const char *collective_type_of_tensor(const char *type, size_t length);

/*
 * Inputs of record_param_comms, with which PyTorch records a collective or message in host traces:
 *
 *     before 2.3   [tensors], 337, 93825114103440, 0, 'allreduce', [], [], 8
 *     later        [tensors], [337, false], ['1', 'tp'], 0, 'allreduce', [], [], 4, 2, 8
 *
 * in JSON or Python syntax: tensors (not of a wait), sequence number, group, rank in the group, name, split sizes, then
 * in later versions the first global rank of the group and the step to the next, and the number of ranks. The rank is
 * the peer of a message, the root of a broadcast, reduce, gather or scatter, and else the own rank. Older versions
 * record the address of the group, which differs between the processes of a job.
 */

/* A rank, number or size that is not recorded. */
#define RANK_NOT_RECORDED INT64_C(-1)

struct comms_inputs {
    struct input_text name, group; /* parts of the text, without quotes; length 0: not recorded */
    int64_t seq, rank, size;       /* RANK_NOT_RECORDED; seq only if it is an integer */
    int64_t start, step;
    bool has_address; /* the group is an address */
};

/* Reads the list of inputs; false: it has another form, and *inputs records nothing. O(length). */
bool comms_inputs_read(struct input_text list, struct comms_inputs *inputs);

/* Reads up to `most` elements of a list as texts; returns their number. O(length). */
unsigned comms_items_read(struct input_text list, struct input_text *items, unsigned most);

/* The rank of at most nine digits at the beginning of the text, or RANK_NOT_RECORDED. */
int64_t comms_rank_read(struct input_text text);

/* Whether the rank in the inputs is the own rank. */
bool comms_inputs_name_own_rank(const struct comms_inputs *inputs);

#endif
