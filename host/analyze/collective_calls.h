/*
 * collective_calls.h - the collectives of ranks as a table: a row for each kernel of one, with what the trace tells of
 * it.
 *
 *     device traces --> who, which group, which one of it, how much, from when to when
 *
 * "Process Group Ranks" may be cut off in the trace; then the ranks are taken from its "distributedInfo". A group is
 * its name and its ranks, in rising order, whatever order they are told in. Sends and receives are messages, which
 * groups count apart.
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
#include "columns/row.h"
#include "columns/strings.h"
#include "context/context.h"
#include "read/device_trace.h"
#include "read/document.h"
#include "text/numbers.h"

/*
 * Arguments of operators as Python writes them, lists as tuples:
 *
 *     [[512], [141, 512], []]   ->   ((512,), (141, 512), ())          ["float", ""]   ->   ('float', '')
 */

/* Appends the checked JSON value of `length` bytes; a string by itself without quotes, an object as it stands in the
 * file. O(length). */
void argument_append(struct buffer *out, const char *json, size_t length);

/*
 * Shapes of tensors as texts.
 */

/* The shape of what has none. */
#define SHAPE_NONE "[[-1]]"

/* Appends the checked JSON list at `json` as Python writes it, without those elements on its top level that count as
 * false in Python: empty lists, which stand for scalars, zeros, empty strings, null and false. If nothing is left, or
 * if it is no list or has an object in it, SHAPE_NONE. */
void shape_append(struct buffer *out, const char *json);

/* Appends a list that shape_append() wrote as Python's repr of nested tuples: "[[2], 3]" becomes "((2,), 3)". */
void shape_append_tuple(struct buffer *out, const char *json);

/*
 * How many devices the host has that a trace was taken on, as its "deviceProperties" tell.
 */

/* 0: the trace does not tell. */
int64_t trace_device_count(const struct document *document);

/* What is not told. */
#define CALL_UNKNOWN (-1)

/* Texts are numbers in the table's strings. */
struct collective_group {
    uint32_t name, members; /* "[0, 1]" */
    int64_t size;
};

struct collective_call {
    int64_t rank;
    uint32_t group;
    uint32_t what, type; /* "allreduce", "Float" */
    int64_t n_in, n_out; /* elements */
    int64_t seq;
    int64_t peer; /* of a message */
    int64_t start_ns, end_ns;
    uint32_t in_split,
        out_split; /* elements for, and from, each rank, "[1, 2]": the string's number and 1; 0: not told */
    row_t event;   /* of the trace, while that is there */
    bool is_message, is_send;
    /* In a job's files for simulators: its node; when that could begin but for the other ranks, and when it was done,
     * since the rank's start. CALL_UNKNOWN: it has none. */
    uint64_t node;
    int64_t ready_us, done_us;
};

struct collective_calls {
    struct strings strings;
    struct collective_group *groups;
    struct collective_call *list; /* of each rank in the order of the trace */
    uint64_t n_groups, groups_capacity, n, capacity;
    struct pair_table known_groups; /* by name and members */
    uint64_t n_untold;              /* kernels of collectives without arguments */
    bool keep_untold;               /* as rows, too: of the group "", named by their kernels */
};

/* False: out of memory. It needs collective_calls_free() from then on in any case. */
bool collective_calls_init(struct collective_calls *calls);
void collective_calls_free(struct collective_calls *calls);

/* The group of this name and these members. UINT32_MAX: out of memory. */
uint32_t collective_group_take(struct collective_calls *calls, const char *name, size_t name_length,
                               const char *members, size_t members_length, int64_t size);

/* Adds a row, of whose group and texts the table knows already. False: out of memory. */
bool collective_call_add(struct collective_calls *calls, const struct collective_call *call);

/* Whether this kind is a message, by its name. */
bool collective_is_message(const char *what);

/* Kernels of collectives, as rows of events, in the arena. NULL: out of memory. */
row_t *collective_kernels_find(const struct sutra_device_trace *trace, struct arena *arena, row_t *n);

/* What the times of a trace count from, in nanoseconds since 1970: "baseTimeNanoseconds", or 0. */
int64_t trace_base_ns(const struct sutra_device_trace *trace);

/* When an event begins and ends, in nanoseconds since 1970; false: it does not tell both, ends before it begins, or is
 * of another age. */
bool event_moments(const struct device_events *events, row_t event, int64_t base_ns, int64_t *start_ns,
                   int64_t *end_ns);

/* Whether an interval of moments is ordered, and differences of moments like these fit 64 bits. */
static inline bool moments_are_sound(int64_t from_ns, int64_t to_ns) {
    return -(INT64_C(1) << 62) < from_ns && from_ns <= to_ns && to_ns < INT64_C(1) << 62;
}

/* Arithmetic of moments, which wraps round where a hostile trace has some beyond all ages. */
static inline int64_t moment_plus(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t moment_minus(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static inline int64_t moment_size(int64_t a) {
    return a < 0 ? moment_minus(0, a) : a;
}

/* Adds the rows of `from` behind those of `to`. False: out of memory. */
bool collective_calls_append(struct collective_calls *to, const struct collective_calls *from);

/* The table of one rank; decoded into an empty one. */
void collective_calls_codec(struct codec *codec, struct collective_calls *calls, int64_t rank);

/* A time of the trace, counted from there; 0 where that is no time. */
int64_t trace_time_ns(double us, int64_t base_ns);

/* Adds the collectives of a rank's trace, but for those without moments. SUTRA_SYSTEM: out of memory. */
enum sutra_status collective_calls_take(struct collective_calls *calls, struct sutra_context *context,
                                        const struct sutra_device_trace *trace, int64_t rank,
                                        struct sutra_error *error);

/* Numbers of a list such as "[0, 1]", in the arena; *n is 0 where it is cut off. NULL: out of memory. */
int64_t *collective_list_read(const char *text, size_t length, struct arena *arena, size_t *n);

/* The ranks of a group, rising, in the arena; *n is 0 where they are not told to the end. NULL: out of memory. */
int64_t *collective_group_ranks(const struct collective_calls *calls, uint32_t group, struct arena *arena, size_t *n);

#endif
