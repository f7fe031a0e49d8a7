/*
 * collective_calls.h - the table of the collectives of ranks: a row for each kernel, with its recorded arguments.
 *
 *     device traces --> rank, group, number in the group, kind, elements, start, end
 *
 * "Process Group Ranks" may be truncated; then the ranks are read from "distributedInfo". A group is its name and its
 * ranks, ascending, regardless of the recorded order. Sends and receives are messages, which groups count separately.
 *
 * Cost: O(events) to find the kernels, O(1) a collective.
 */
#ifndef ANALYZE_COLLECTIVE_CALLS_H
#define ANALYZE_COLLECTIVE_CALLS_H

#include <stdbool.h>

#include "analyze/codec.h"
#include "base/arena.h"
#include "base/memory.h"
#include "columns/hash_tables.h"
#include "columns/numbers.h"
#include "columns/strings.h"
#include "context/context.h"
#include "facts/kernel_class.h"
#include "read/device_trace.h"
#include "read/document.h"
#include "text/numbers.h"

struct sutra_linked;

/* The number of GPUs of the host, from the trace's "deviceProperties"; 0: not recorded. */
int64_t trace_device_count(const struct document *document);

/* Not recorded. */
#define CALL_UNKNOWN (-1)

/* The library and phase of kernels (facts/kernel_class.h): kernels of different ones are never matched. */
struct collective_source {
    uint8_t library, phase; /* enum kernel_library, enum kernel_phase */
};
#define COLLECTIVES_OF_NCCL                                                                                            \
    (struct collective_source) {                                                                                       \
        LIBRARY_NCCL, PHASE_NONE                                                                                       \
    }

/* Texts are ids of the table's strings. */
struct collective_group {
    uint32_t name, members; /* "[0, 1]" */
    int64_t size;
    struct collective_source source;
};

struct collective_call {
    int64_t rank;
    uint32_t group;
    uint32_t what, type; /* "allreduce", "Float" */
    int64_t n_in, n_out; /* elements */
    int64_t seq;
    int64_t peer; /* of a message; of a group with unknown members: the rank in the group of the peer or, in a
                   * collective, the own one */
    int64_t start_ns, end_ns;
    uint32_t in_split, out_split; /* elements for, and from, each rank, "[1, 2]": string id + 1; 0: not recorded */
    uint32_t comms_id;            /* "Comms Id", equal on all ranks of a collective: string id + 1; 0: not recorded */
    row_t event;                  /* of the trace */
    bool is_message, is_send;
    /* In files of a job for simulators: its node; when it could begin without waiting for other ranks, and when it
     * ended, since the rank's start. CALL_UNKNOWN: unset. */
    uint64_t node;
    int64_t ready_us, done_us;
    int64_t op_bytes; /* bytes of the tensors of the operator that launched it; 0: not recorded */
};

/* A collective that a log records without a time of the GPU: it is no call, and not lost. */
struct untimed_call {
    int64_t rank;
    uint32_t group, what;
    int64_t seq;
};

struct collective_calls {
    struct strings strings;
    struct collective_group *groups;
    struct collective_call *list; /* of each rank in trace order */
    uint64_t n_groups, groups_capacity, n, capacity;
    struct pair_table known_groups; /* by name and source, and members */
    uint64_t n_untold;              /* kernels of collectives without recorded arguments */
    bool keep_unrecorded;           /* adds rows of these, too: with group "", of the kind of their kernel */

    /* Rows are of NCCL Inspector logs, which record durations without a timeline: all calls end at time 0. `seq` counts
     * per group and type, or for messages per sender, receiver and direction; sizes are bytes of the whole group; the
     * members of a group are the ranks with records. */
    bool from_logs;
    struct untimed_call *untimed; /* of logs, sorted by collective_untimed_sort() */
    uint64_t n_untimed, untimed_capacity;
};

/* Needs collective_calls_free() in any case. False: out of memory. */
bool collective_calls_init(struct collective_calls *calls);
void collective_calls_free(struct collective_calls *calls);

/* The id of the group with a name, members and source, a new one if there is none. UINT32_MAX: out of memory. */
uint32_t collective_group_add(struct collective_calls *calls, const char *name, size_t name_length, const char *members,
                              size_t members_length, int64_t size, struct collective_source source);

/* Adds a row, whose group and texts are in the table. False: out of memory. */
bool collective_call_add(struct collective_calls *calls, const struct collective_call *call);

/* Sorts the untimed collectives; and finds one of them: whether the rank recorded this collective without a time. */
void collective_untimed_sort(struct collective_calls *calls);
bool collective_is_untimed(const struct collective_calls *calls, const struct untimed_call *call);

/* Whether this kind is a message, by its name. */
bool collective_is_message(const char *what);

/* The base of the times of a trace, nanoseconds since 1970: "baseTimeNanoseconds", or 0. */
int64_t trace_base_ns(const struct sutra_device_trace *trace);

/* Start and end of an event, nanoseconds since 1970; false: one is not recorded, negative duration, or out of range. */
bool event_moments(const struct device_events *events, row_t event, int64_t base_ns, int64_t *start_ns,
                   int64_t *end_ns);

/* Whether an interval of moments is ordered, and differences of moments like these fit 64 bits. */
static inline bool moments_are_sound(int64_t from_ns, int64_t to_ns) {
    return -(INT64_C(1) << 62) < from_ns && from_ns <= to_ns && to_ns < INT64_C(1) << 62;
}

/* Arithmetic of times, which wraps around for adversarial traces with times out of range. */
static inline int64_t moment_plus(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t moment_minus(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static inline int64_t moment_size(int64_t a) {
    return a < 0 ? moment_minus(0, a) : a;
}

/* Appends the rows of `from`. False: out of memory. */
bool collective_calls_append(struct collective_calls *to, const struct collective_calls *from);

/* The table of one rank; decoded into an empty one. */
void collective_calls_codec(struct codec *codec, struct collective_calls *calls, int64_t rank);

/* A time of the trace plus its base; 0 if out of range. */
int64_t trace_time_ns(double us, int64_t base_ns);

/* Appends the collectives of a rank's trace with known times. SUTRA_SYSTEM: out of memory. */
enum sutra_status collective_calls_read(struct collective_calls *calls, struct sutra_context *context,
                                        const struct sutra_device_trace *trace, int64_t rank,
                                        struct sutra_error *error);

/* Lists the communication kernels of a trace in trace order, and their rows of kernel_kinds[], in the arena. NULL: out
 * of memory. O(events). */
row_t *collective_kernels_find(const struct sutra_device_trace *trace, struct arena *arena, uint8_t **kinds, row_t *n);

/*
 * ---- Collectives that only host traces record, as in PyTorch before 2.3 (collective_records.c) ----
 */

/* Adds the kernels without arguments whose record_param_comms is in the host trace, after collective_calls_read() of
 * the device trace. The members of their groups are unknown. SUTRA_SYSTEM: out of memory. */
enum sutra_status collective_records_read(struct collective_calls *calls, struct sutra_context *context,
                                          const struct sutra_linked *linked, int64_t rank, struct sutra_error *error);

/* Finds the members of these groups from the collectives of all ranks. Collectives of other groups become unrecorded.
 * *n_inferred: groups of some ranks whose members follow from a stride. SUTRA_SYSTEM: out of memory. */
enum sutra_status collective_groups_find_members(struct collective_calls *calls, int64_t world_size,
                                                 uint64_t *n_inferred, struct sutra_error *error);

/* Parses a list such as "[0, 1]", in the arena; *n is 0 if it is truncated. NULL: out of memory. */
int64_t *collective_list_read(const char *text, size_t length, struct arena *arena, size_t *n);

/* The ranks of a group, ascending, in the arena; *n is 0 if they are truncated. NULL: out of memory. */
int64_t *collective_group_ranks(const struct collective_calls *calls, uint32_t group, struct arena *arena, size_t *n);

#endif
