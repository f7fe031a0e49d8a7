/*
 * kernel_class.h - the class of a GPU activity, and the library, collective and phase of a communication kernel.
 *
 *     category, name  --kernel_kind_find()-->  a row of kernel_kinds[]  -->  class, library, collective, phase, fused
 *
 *     kernel   ncclDevKernel_AllGather_RING_LL(...)         communication, nccl, all-gather
 *     kernel   deep_ep::internode::dispatch<...>            communication, deepep, all-to-all, dispatch
 *     kernel   triton_poi_fused_add_all_reduce_0            compute: the name lists source operators
 *     kernel   gemm, with the argument "Collective name"    communication, other
 *
 * sutra's own analyses use this classification. Tables of TraceLens and HTA use the types of facts/names.h.
 *
 * A kind is a byte, so that a caller finds it once for each interned name. Cost: O(rows of the table * length).
 */
#ifndef FACTS_KERNEL_CLASS_H
#define FACTS_KERNEL_CLASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "columns/strings.h"
#include "columns/traces.h"
#include "facts/names.h"

#define KERNEL_LIBRARIES(X)                                                                                            \
    X(NONE, "")                                                                                                        \
    X(NCCL, "nccl")                                                                                                    \
    X(DEEPEP, "deepep")                                                                                                \
    X(MORI, "mori")                                                                                                    \
    X(PPLX, "pplx")                                                                                                    \
    X(CUSTOM, "custom")                                                                                                \
    X(QUICKREDUCE, "quickreduce")                                                                                      \
    X(AITER, "aiter")                                                                                                  \
    X(TRTLLM, "trtllm")                                                                                                \
    X(SYMM_MEM, "torch_symm_mem")                                                                                      \
    X(USERBUFFERS, "userbuffers")                                                                                      \
    X(NVSHMEM, "nvshmem")                                                                                              \
    X(MSCCLPP, "mscclpp")                                                                                              \
    X(MSCCL, "msccl")                                                                                                  \
    X(ONECCL, "oneccl")                                                                                                \
    X(FLAGCX, "flagcx")                                                                                                \
    X(HCCL, "hccl")                                                                                                    \
    X(OTHER, "other")

#define KERNEL_LIBRARY_ID(id, name) LIBRARY_##id,
enum kernel_library { KERNEL_LIBRARIES(KERNEL_LIBRARY_ID) N_KERNEL_LIBRARIES };
extern const char *const kernel_library_names[N_KERNEL_LIBRARIES];

#define KERNEL_COLLECTIVES(X)                                                                                          \
    X(NONE, "")                                                                                                        \
    X(ALLREDUCE, "allreduce")                                                                                          \
    X(REDUCESCATTER, "reducescatter")                                                                                  \
    X(ALLGATHER, "allgather")                                                                                          \
    X(ALLTOALL, "alltoall")                                                                                            \
    X(BROADCAST, "broadcast")                                                                                          \
    X(SENDRECV, "sendrecv")                                                                                            \
    X(BARRIER, "barrier")                                                                                              \
    X(REDUCE, "reduce")                                                                                                \
    X(UNKNOWN, "unknown")                                                                                              \
    X(RECORDED, "recorded") /* by the argument "Collective name", or else by the words of the kernel's name */

#define KERNEL_COLLECTIVE_ID(id, name) COLL_##id,
enum kernel_collective { KERNEL_COLLECTIVES(KERNEL_COLLECTIVE_ID) N_KERNEL_COLLECTIVES };
extern const char *const kernel_collective_names[N_KERNEL_COLLECTIVES];

/* Phases of the exchange of tokens among experts. */
enum kernel_phase { PHASE_NONE, PHASE_NOTIFY, PHASE_DISPATCH, PHASE_COMBINE, N_KERNEL_PHASES };
extern const char *const kernel_phase_names[N_KERNEL_PHASES];

struct kernel_kind {
    const char *pieces[2]; /* that the name contains in this order; NULL: set by other rules */
    uint8_t class;         /* enum device_class */
    uint8_t library;       /* enum kernel_library */
    uint8_t collective;    /* enum kernel_collective; RECORDED: see above */
    uint8_t phase;         /* enum kernel_phase */
    bool fused;            /* also computes, as a reduction with a norm */
};
extern const struct kernel_kind kernel_kinds[];

/* The first rows of kernel_kinds[]. */
enum {
    KIND_COMPUTE, /* unless the event has the argument "Collective name": then KIND_BY_ARGUMENT */
    KIND_ONLY_COMPUTE,
    KIND_COPY,
    KIND_SYNC, /* waits and records: not busy */
    KIND_BY_ARGUMENT,
    KIND_BY_WORDS,
    KIND_NCCL,
    KIND_ONECCL,
    KIND_HCCL,
    KIND_FIRST_BY_NAME
};

/* The index of the row of kernel_kinds[] for an activity whose category has these roles (facts/names.h); KIND_SYNC
 * without CATEGORY_WORK. */
uint8_t kernel_kind_find(uint32_t category, const char *name, size_t length);

/* Kinds of the names of a trace, each found once. In the arena; `kind` is NULL if out of memory. */
struct kernel_kinds {
    const struct device_events *events;
    const struct strings *strings;
    const struct string_roles *roles;
    uint8_t *kind; /* by role of the category and name; UINT8_MAX: not found yet */
};
struct kernel_kinds kernel_kinds_begin(const struct device_events *events, const struct strings *strings,
                                       const struct string_roles *roles, struct arena *arena);

/* The kind of an event, whose category has a role of CATEGORY_WORK. */
uint8_t kernel_kind_of_event(struct kernel_kinds *kinds, row_t event);

static inline enum device_class kernel_class_of_event(struct kernel_kinds *kinds, row_t event) {
    return (enum device_class)kernel_kinds[kernel_kind_of_event(kinds, event)].class;
}

/* The kind of an event, of the kind of its name: the argument "Collective name" decides if the name does not. */
static inline uint8_t kernel_kind_with(uint8_t kind, uint16_t event_flags) {
    bool is_undecided = kind == KIND_COMPUTE || kind == KIND_BY_WORDS;
    return is_undecided && event_flags & EVENT_HAS_COLLECTIVE ? KIND_BY_ARGUMENT : kind;
}

/* Whether a kernel of this name communicates, without arguments. O(length). */
static inline bool kernel_communicates(const char *name, size_t length) {
    return kernel_kinds[kernel_kind_find(CATEGORY_KERNEL, name, length)].class == DEVICE_COMMUNICATION;
}

/* The collective of a kind; `recorded` is the argument "Collective name", or "". */
enum kernel_collective kernel_collective_find(uint8_t kind, const char *recorded, const char *name, size_t length);

#endif
