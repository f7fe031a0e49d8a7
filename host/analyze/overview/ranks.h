/*
 * ranks.h - the tables of one rank's overview.
 */
#ifndef ANALYZE_OVERVIEW_RANKS_H
#define ANALYZE_OVERVIEW_RANKS_H

#include "analyze/overview/straggler.h"
#include "analyze/ranks.h"

/* Names and columns of all tables. */
extern const struct table_spec overview_table_specs[];

/* The activity of each stream in the window. Leaves `scratch` as it was. */
enum sutra_status overview_streams_add(const struct overview *overview, const struct values *values, int64_t rank,
                                       struct arena *scratch, struct sutra_table *table, struct sutra_error *error);

#endif
