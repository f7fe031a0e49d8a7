/*
 * ranks.h - what is kept of a rank's overview until all ranks are there, and that as bytes for another
 * process.
 */
#ifndef ANALYZE_OVERVIEW_RANKS_H
#define ANALYZE_OVERVIEW_RANKS_H

#include "analyze/overview/straggler.h"
#include "analyze/ranks.h"

struct rank_overview {
    struct sutra_operators *operators; /* until all ranks are joined */
    struct sutra_hta *hta;
    bool made;
    double busy_percent, exposed_percent; /* of the window: all work; communication beside none */
    struct overview_findings findings;
    struct rank_collectives collectives;
    struct sutra_table tables[SUTRA_OVERVIEW_N_TABLES];
};

/* Sets up a table of one rank, up to SUTRA_OVERVIEW_STEPS. */
void rank_overview_table(struct sutra_table *table, enum sutra_overview_table id);

/* How the tables of HTA are made, whichever process makes them: of a step that was asked for, it may be the last
 * one. */
static inline struct sutra_hta_options overview_hta_options(const struct rank_tasks *tasks, int64_t rank) {
    return (struct sutra_hta_options){.size = sizeof(struct sutra_hta_options),
                                      .rank = rank,
                                      .last_step = tasks->restriction.step != NULL,
                                      .only_joined = true};
}

/* What each stream did in the window. `scratch` is given back. */
enum sutra_status overview_streams_add(const struct overview *overview, const struct values *values, int64_t rank,
                                       struct arena *scratch, struct sutra_table *table, struct sutra_error *error);

#endif
