/*
 * match_table.h - synthetic tables of CPU operators, markers and GPU operators, and the measured time to match them.
 *
 * bench/match_engines.c, `sutra devices --calibrate` and tests of the engines match the same tables.
 */
#ifndef GENERATE_MATCH_TABLE_H
#define GENERATE_MATCH_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "match/steps.h"

/* ---- Tables ---- */

enum table_nesting {
    OVERLAPPING,
    NESTED,    /* an operator that begins in another one of its thread ends in it */
    ONE_PARENT /* the same, and the first operator contains all others of its thread */
};
enum table_times { INTEGERS, DOUBLES, MIXED, HUGE_INTEGERS, HUGE_MIXED, WILD };

/* Parameters of a table. */
struct table_shape {
    const char *name;
    uint32_t n_threads;
    int64_t span;    /* starts are below this; small: many are equal */
    int64_t longest; /* durations are below this */
    enum table_nesting nesting;
    enum table_times times;
};

/* CPU operators, markers, and a query for each GPU operator. Columns are in the arena. */
struct match_table {
    struct arena arena;
    struct cpu_ops ops;
    struct number_column ts, dur;
    uint32_t *thread;
    value_key *external;
    uint8_t *coalesced;
    struct op_markers markers;
    struct number_column marker_ts;
    row_t *before;
    struct parent_queries queries;
    struct number_column launch_ts;
    uint32_t *launch_thread;
    value_key *wanted;
    uint8_t *nccl;
};

/* Makes a table of n operators and n queries in random order. `pool` may be NULL. The caller frees it with
 * match_table_free(), also on failure. Errors: SUTRA_SYSTEM. Cost: O(n log n). */
enum sutra_status match_table_make(struct pool *pool, const struct table_shape *shape, uint64_t seed, row_t n,
                                   struct match_table *table, struct sutra_error *error);

/* Replaces the queries by those of a recorded trace: each operator launches one GPU operator, in the order of time.
 * `swaps`: neighbours change places, so that starts do not ascend. */
void match_table_order_queries(struct match_table *table, bool swaps);

/* A table as of a recorded trace, which is the shape of calibrations: nested operators of eight threads, and each
 * operator launches one GPU operator, almost in time order. */
extern const struct table_shape table_shape_recorded;
enum sutra_status match_table_make_recorded(struct pool *pool, row_t n, struct match_table *table,
                                            struct sutra_error *error);
void match_table_free(struct match_table *table);

/* A shape for n operators: the span of the parameter is for each operator, up to a limit. */
struct table_shape table_shape_scale(const struct table_shape *shape, row_t n);

/* ---- Measured matching ---- */

/* Steps as in `sutra link`: sorted starts, exclusive durations, order between threads, parents of GPU operators. */
enum match_step { MATCH_SORT, MATCH_EXCLUSIVE, MATCH_ORDER, MATCH_PARENTS, MATCH_TOTAL, N_MATCH_STEPS };

struct match_results {
    struct arena arena; /* of the columns */
    row_t *sorted, *before, *parent;
    struct number_column exclusive;
    struct exclusive_anomalies anomalies;
};

/* Results for n operators, filled with other values, so that no round pays for new pages, and a missing result is
 * detected. The caller frees the arena. Errors: SUTRA_SYSTEM. */
enum sutra_status match_results_make(struct match_results *results, row_t n, struct sutra_error *error);

/* Whether any result of n operators differs. */
bool match_results_differ(const struct match_results *a, const struct match_results *b, row_t n);

/* One round of all steps; `seconds` is the wall time of each step and of all. Errors: as the steps of the engine. */
enum sutra_status match_measure(const struct engine *engine, const struct match_table *table,
                                struct match_results *results, double seconds[N_MATCH_STEPS],
                                struct sutra_error *error);

/* Bytes of memory that a table of n operators needs while an engine on the CPU matches it, with results of two
 * engines. */
uint64_t match_memory(uint64_t n);

#endif
