/*
 * steps.h - the steps of the CPU engine, as engine.h describes them, for the engine's table, for each other and for
 * tests. `pool` may be NULL where it says so: then all is done on the caller's thread, as tasks of a pool need it.
 */
#ifndef MATCH_STEPS_H
#define MATCH_STEPS_H

#include "match/engine.h"

/* `pool` may be NULL. O(n) on sorted numbers, else O(n) for each 11 bits in which they differ. */
enum sutra_status cpu_sort_numbers(struct pool *pool, struct number_column numbers, row_t n, row_t *order,
                                   struct sutra_error *error);

/* `pool` may be NULL. O(n) on sorted keys, else O(n) for each 11 bits in which they differ. */
enum sutra_status cpu_sort_keys(struct pool *pool, uint64_t *keys, row_t *rows, row_t n, struct sutra_error *error);

/* Rows by thread: those of thread t are rows[start[t]] .. rows[start[t + 1] - 1], in the order in which order[] has
 * them (NULL: rising). start[] has n_threads + 1 places. O(n + n_threads). */
void cpu_rows_by_thread(const struct cpu_ops *ops, const row_t *order, row_t *start, row_t *rows);

/* Steps for each operator after which a walk gives way to the sweep. */
#define EXCLUSIVE_BUDGET 16

/* O(n) on nested operators, O(n log^2 n) on any others whose times are exact; see exclusive.c. */
enum sutra_status cpu_exclusive_durations(struct pool *pool, const struct cpu_ops *ops, uint32_t budget,
                                          struct number_column exclusive, struct exclusive_anomalies *anomalies,
                                          struct sutra_error *error);

/* O(n + n_threads). */
enum sutra_status cpu_thread_order(const struct cpu_ops *ops, int64_t gap, row_t *before, struct sutra_error *error);

/* O(n) to index the operators, O(log n) for a query, less where neighbours ask for neighbours. */
enum sutra_status cpu_parents(struct pool *pool, const struct cpu_ops *ops, const struct op_markers *markers,
                              const struct parent_queries *queries, row_t *parent, struct sutra_error *error);

/* `pool` may be NULL. O(n) to index the operators, O(log n) for a moment. */
enum sutra_status cpu_covering_ops(struct pool *pool, struct number_column ts, struct number_column dur, row_t n,
                                   struct number_column at, row_t n_moments, row_t *found, struct sutra_error *error);

/* O(n) to index the items, O(log n) for a question. */
enum sutra_status cpu_lane_neighbours(const struct lane_items *items, const uint32_t *lane, const uint64_t *time,
                                      row_t n, row_t *before, row_t *after, struct sutra_error *error);

/* O(n + n_lanes). */
enum sutra_status cpu_queue_lengths(const uint32_t *lane, const uint8_t *up, row_t n, uint32_t n_lanes,
                                    uint32_t *length, struct sutra_error *error);

/* O(n). */
enum sutra_status cpu_match_frames(const struct frame_tokens *tokens, row_t *partner, struct sutra_error *error);

/* O(n + n_wanted) where keys lie close together. `pool` may be NULL. */
enum sutra_status cpu_join(struct pool *pool, const value_key *keys, row_t n, const value_key *wanted, row_t n_wanted,
                           row_t *found, struct sutra_error *error);

#endif
