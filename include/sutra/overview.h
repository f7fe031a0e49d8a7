/*
 * overview.h - why training is slow: what the devices of a job did and waited for, and the few sentences that follow.
 *
 *     device traces of ranks --> sutra_overview_make() --> struct sutra_overview --> findings, tables
 *
 * A finding is a sentence with its number, its cause and what to do, by one of the rules of docs/findings.md. Rules
 * keep silent where they are not sure; of many ranks a finding is that of the rank that it holds for most.
 */
#ifndef SUTRA_OVERVIEW_H
#define SUTRA_OVERVIEW_H

#include <stddef.h>
#include <stdint.h>

#include "sutra/analyze.h"
#include "sutra/operators.h"
#include "sutra/table.h"
#include "sutra/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct sutra_overview;

/* Options; zero every field that you do not set. `size` is sizeof the struct as the caller knows it. */
struct sutra_overview_options {
    size_t size;
    const char
        *annotation;   /* steps are annotations of this name, with or without "#" and more behind it; NULL: those of
                               the profiler, else what repeats */
    bool tables;       /* also those of sutra_overview_operators() and sutra_overview_hta(), of the same reading */
    const char *peaks; /* see struct sutra_operators_options */
    sutra_hta_visit *visit; /* called for the tables of HTA of each rank while they are whole; may be NULL */
    void *arg;
    const struct sutra_restriction *restriction; /* may be NULL */
};

/* Reads the device traces of `n_paths` ranks, several at a time. A trace that cannot be read, or whose rank an earlier
 * one has, is left out with a warning; in a strict context that is an error, as it is if no trace is left. *overview is
 * the caller's, and does not depend on the number of threads; `options` may be NULL. */
enum sutra_status sutra_overview_make(struct sutra_context *context, const char *const *paths, size_t n_paths,
                                      const struct sutra_overview_options *options, struct sutra_overview **overview,
                                      struct sutra_error *error);
void sutra_overview_free(struct sutra_overview *overview);

/* A number that a finding's sentence rests on: its name, with the unit, and its value. */
struct sutra_finding_number {
    const char *name;
    double value;
};

struct sutra_finding {
    const char *rule;   /* "data_loading" */
    double win_percent; /* of the window; NaN: no win is claimed */
    const char *text;
    const struct sutra_finding_number *numbers;
    size_t n_numbers;
};

/* The findings, at most five, the one with most to win first; 0 where `i` is too large. They live as long as
 * `overview`. */
int sutra_overview_finding(const struct sutra_overview *overview, size_t i, struct sutra_finding *finding);

enum sutra_overview_table {
    SUTRA_OVERVIEW_RANKS,       /* rank: path, window, steps, busy, communication, hidden or not */
    SUTRA_OVERVIEW_TIMELINE,    /* rank, what the device did or waited for: time, share of the window */
    SUTRA_OVERVIEW_OPERATORS,   /* rank, name: time of what it launched */
    SUTRA_OVERVIEW_KERNELS,     /* rank, name: time, how many */
    SUTRA_OVERVIEW_STREAMS,     /* rank, stream: its work by kind, the busiest first */
    SUTRA_OVERVIEW_STEPS,       /* rank, step: what it consists of */
    SUTRA_OVERVIEW_STEP_RANKS,  /* rank: mean step, spread, slowest step and why */
    SUTRA_OVERVIEW_STEP_PLACES, /* n-th step of all ranks: mean, spread, slowest rank and why; of one rank empty */
    SUTRA_OVERVIEW_FINDINGS,    /* the findings: rule, win, text */
    SUTRA_OVERVIEW_WAITS,       /* rank: how long it waits in collectives, and is waited for; of one rank empty */
    SUTRA_OVERVIEW_N_TABLES
};

/* A table of all ranks. It lives as long as `overview`. */
const struct sutra_table *sutra_overview_table(const struct sutra_overview *overview, enum sutra_overview_table id);

/* The tables of operators and of kernels, and those of HTA by its default rules; NULL: they were not asked for. They
 * live as long as `overview`. */
const struct sutra_operators_ranks *sutra_overview_operators(const struct sutra_overview *overview);
const struct sutra_hta_ranks *sutra_overview_hta(const struct sutra_overview *overview);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
