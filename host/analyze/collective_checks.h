/*
 * collective_checks.h - what is wrong with the collectives of a job: ranks that are not there, collectives that ranks
 * lost, that differ under one number or come in another order, groups of another size than their members, parts that do
 * not meet, messages without their other half.
 *
 *     matches of all groups --> what all members should have alike --> checks, each with its first place
 *
 * Profiles seldom begin and end at the same collective on all ranks. So a group's members are compared where all of
 * them have collectives; what lies before or behind is only told.
 *
 * Cost: O(n log n) in collectives.
 */
#ifndef ANALYZE_COLLECTIVE_CHECKS_H
#define ANALYZE_COLLECTIVE_CHECKS_H

#include "analyze/collective_matches.h"

enum check_severity { CHECK_NOTE, CHECK_WARNING, CHECK_ERROR };

/* "note" and so on. */
extern const char *const check_severity_names[];

/* What was found; texts are the arena's. */
struct collective_check {
    enum check_severity severity;
    bool hangs;        /* ranks that do this wait for each other for ever, or compute with what is not theirs */
    const char *rule;  /* such as "lost collective" */
    const char *group; /* its name; "": it is about no group */
    int64_t number;    /* of the first collective; CALL_UNKNOWN */
    const char *ranks; /* "3", "0-2, 7"; "" where it is about none */
    int64_t rank;      /* the first place is on this rank, */
    int64_t at_ns;     /* at this time of its trace; CALL_UNKNOWN: there is none */
    const char *text;
};

struct collective_checks {
    struct collective_check *list; /* in the order in which they were found */
    uint64_t n, capacity;
};

/* Checks what the ranks, in rising order, have; others are missing. SUTRA_SYSTEM: out of memory. */
enum sutra_status collective_checks_find(const struct collective_calls *calls, const struct collective_matches *matches,
                                         const int64_t *ranks, size_t n_ranks, struct arena *arena,
                                         struct collective_checks *checks, struct sutra_error *error);

#endif
