/*
 * collective_checks.h - errors in the collectives of a job: missing ranks, lost collectives, collectives that differ
 * under one number or run in another order, wrong group sizes, split sizes that do not match, unmatched messages.
 *
 *     matches of all groups --compare members--> checks, each with the rank and time of its first case
 *
 * Profiles rarely begin and end at the same collective on all ranks. So members are compared in the range of numbers
 * that all of them recorded; collectives before and after it are only counted.
 *
 * Cost: O(n log n) in collectives.
 */
#ifndef ANALYZE_COLLECTIVE_CHECKS_H
#define ANALYZE_COLLECTIVE_CHECKS_H

#include "analyze/collective_matches.h"

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
