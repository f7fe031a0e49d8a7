/*
 * collective_matches.h - the same collective on all ranks that take part in it, and errors in the collectives of a job.
 *
 *     rank 0   0:allreduce  1:allreduce  2:broadcast           group 0, number 1: rows of ranks 0, 1 and 3
 *     rank 1   0:allreduce  1:allreduce  2:broadcast      ->
 *     rank 3                1:allreduce  2:broadcast
 *
 * Collectives of a group are matched by their number, "Seq", and calls of a rank with the same number by their turn. If
 * a call of the group has no number, all are matched by their order on each rank, realigned where a rank lost some.
 * "Comms Id", if every call of the group has it, precedes Seq. Messages are matched by sender, receiver and order; in
 * groups of two, whose members count them alike, by number. Kernels without a group of other libraries than NCCL are
 * matched by their index among the kernels of their library and phase, if every rank has equally many.
 *
 * Collectives of NCCL Inspector logs are matched by group, type and number.
 *
 * Cost: O(n log n).
 */
#ifndef ANALYZE_COLLECTIVE_MATCHES_H
#define ANALYZE_COLLECTIVE_MATCHES_H

#include "analyze/collective_calls.h"
#include "columns/numbers.h"

struct collective_match {
    uint32_t group;
    row_t first, n;   /* its rows of the table are order[first] .. order[first + n - 1], by rank */
    int64_t number;   /* in the group; of logs, of the type in the group */
    uint32_t what;    /* of collectives of logs: the type that is counted; else 0 */
    int64_t from, to; /* of a message; CALL_UNKNOWN: not recorded */
    row_t turn;       /* among matches of this number, from 0 */
    bool is_message;
};

/* All in the arena. */
struct collective_matches {
    row_t *order;
    struct collective_match
        *list; /* by group, collectives before messages, by sender and receiver, by number, by turn */
    row_t n;
    bool *by_order;   /* by group: matched by order */
    row_t n_repeated; /* of logs: calls whose number the rank has recorded before; they are not matched */
};

enum sutra_status collective_matches_find(const struct collective_calls *calls, struct arena *arena,
                                          struct collective_matches *matches, struct sutra_error *error);

/* Call i of a match. */
static inline const struct collective_call *collective_match_call(const struct collective_calls *calls,
                                                                  const struct collective_matches *matches,
                                                                  const struct collective_match *match, row_t i) {
    return &calls->list[matches->order[match->first + i]];
}

/*
 * ---- Errors in the collectives of a job (collective_checks.c) ----
 *
 * Missing ranks, lost collectives, collectives that differ under one number or run in another order, wrong group sizes,
 * split sizes that do not match, unmatched messages.
 *
 *     matches of all groups --compare members--> checks, each with the rank and time of its first case
 *
 * Profiles rarely begin and end at the same collective on all ranks. So members are compared in the range of numbers
 * that all of them recorded; collectives before and after it are only counted.
 *
 * Cost: O(n log n) in collectives.
 */

enum check_severity { CHECK_NOTE, CHECK_WARNING, CHECK_ERROR };

/* "note", "warning", "error". */
extern const char *const check_severity_names[];

/* Texts are in the arena. */
struct collective_check {
    enum check_severity severity;
    bool hangs;        /* ranks deadlock, or compute with data of another collective */
    const char *rule;  /* such as "lost collective" */
    const char *group; /* name; "": none */
    int64_t number;    /* of the first collective; CALL_UNKNOWN */
    const char *ranks; /* "3", "0-2, 7"; "": none */
    int64_t rank;      /* of the first case, */
    int64_t at_ns;     /* at this time of its trace; CALL_UNKNOWN */
    const char *text;
};

struct collective_checks {
    struct collective_check *list; /* in the order of detection */
    uint64_t n, capacity;
};

/* Checks the collectives of `ranks`, which ascend; other members are missing. SUTRA_SYSTEM: out of memory. */
enum sutra_status collective_checks_find(const struct collective_calls *calls, const struct collective_matches *matches,
                                         const int64_t *ranks, size_t n_ranks, struct arena *arena,
                                         struct collective_checks *checks, struct sutra_error *error);

#endif
