/*
 * profiler_steps.h - the profiler's steps: annotations ProfilerStep#N, by the rules of the tools that read them.
 *
 *     rules            a step's name                                              text of its number
 *     STEPS_RATES      begins with "ProfilerStep"                                 -
 *     STEPS_HTA        begins with "ProfilerStep", "#" and a digit, with          all after the white space
 *                      optional white space after both
 *     STEPS_HTA_0_6    begins with "ProfilerStep#" and a digit                    all after "#"
 *     STEPS_OVERVIEW   the same; one that is also recorded as an operator counts  all after "#"
 *                      once
 *     STEPS_SELECTION  contains "ProfilerStep#"                                   all after "#"
 *     STEPS_MEMORY     is "ProfilerStep#" and 1 to 18 digits                      all after "#"
 *
 * The role NAME_STEP (facts/names.h) marks all names that contain "ProfilerStep". Linking, the critical path and
 * `analyze dlrm` only ask for the role. HTA's steps are rows of its own table, with times of its own
 * (analyze/compat/hta/hta_steps.c), and a selection only needs their first start and last end: both use the rules of
 * names, but no list.
 */
#ifndef FACTS_PROFILER_STEPS_H
#define FACTS_PROFILER_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "facts/names.h"

enum step_rules {
    STEPS_RATES,
    STEPS_HTA,
    STEPS_HTA_0_6,
    STEPS_OVERVIEW,
    STEPS_SELECTION,
    STEPS_MEMORY,
};

/* The text of the step's number, or what follows STEP_NAME if the rules need no number; NULL: not a step. O(length). */
const char *profiler_step_number(const char *name, size_t length, enum step_rules rules);

/* Whether "3", or a range such as "3-5", selects the number of a step; a single step is compared as text. */
bool profiler_step_is_selected(const char *number, const char *steps);

/* Adds `role` to the names of the selected steps, by STEPS_SELECTION. */
void profiler_steps_mark(const struct strings *strings, struct string_roles *roles, const char *steps, uint32_t role);

/* Writes why no step is selected: "no annotation ProfilerStep#9: the trace has steps 3 to 5". */
void profiler_steps_explain(const struct strings *strings, const char *steps, char *text, size_t size);

/* Columns of n rows that may be steps: those whose kind has its bit in `kinds`. */
struct step_rows {
    const struct strings *strings;
    const struct device_events *events;
    const row_t *event;
    const int64_t *start, *end;
    const uint8_t *kind;
    row_t n;
    uint32_t kinds;
};

struct profiler_steps {
    row_t n;
    row_t *row;
    int64_t *number; /* 0 by rules that need no number */
};

/* Lists the steps, ascending by start, then by row; in the arena. False: out of memory. O(n + s log s) for s steps, and
 * the length of the distinct strings. */
bool profiler_steps_find(const struct step_rows *rows, enum step_rules rules, struct arena *arena,
                         struct profiler_steps *steps);

#endif
