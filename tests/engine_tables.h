/*
 * engine_tables.h - synthetic tables for comparing engines: operators, markers and queries of many shapes; runs all
 * steps of an engine on a table and compares the results array by array.
 */
#ifndef TESTS_ENGINE_TABLES_H
#define TESTS_ENGINE_TABLES_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generate/match_table.h"
#include "match/steps.h"
#include "match_table.h"

/* ---- Tables ---- */

static const struct table_shape shapes[] = {
    {"nested doubles", 4, 1 << 20, 5000, NESTED, DOUBLES},
    {"nested integers with equal starts", 3, 300, 40, NESTED, INTEGERS},
    {"overlapping doubles", 3, 1 << 16, 3000, OVERLAPPING, DOUBLES},
    {"overlapping integers", 1, 1 << 12, 100, OVERLAPPING, INTEGERS},
    {"long overlaps", 2, 1 << 12, 1 << 12, OVERLAPPING, DOUBLES},
    {"all at once", 5, 3, 50, OVERLAPPING, INTEGERS},
    {"one duration", 2, 1, 2, OVERLAPPING, DOUBLES},
    {"integers and doubles", 3, 2000, 200, NESTED, MIXED},
    {"integers beyond 2^53", 2, 2000, 100, NESTED, HUGE_INTEGERS},
    {"integers beyond 2^53 and doubles", 2, 2000, 100, NESTED, HUGE_MIXED},
    {"negative, infinite and tiny", 3, 400, 60, OVERLAPPING, WILD},
    {"many threads", 300, 1 << 14, 500, NESTED, DOUBLES},
    {"far apart", 7, (int64_t)1 << 40, 3000, NESTED, DOUBLES},
    {"one parent", 1, 1 << 20, 40, ONE_PARENT, DOUBLES},
    {"one parent, integers", 1, 1 << 10, 40, ONE_PARENT, INTEGERS},
};
#define N_SHAPES (sizeof shapes / sizeof *shapes)

static inline void *room(row_t n, size_t size) {
    void *memory = calloc((size_t)n + 1, size);
    if (!memory)
        abort();
    return memory;
}

static inline struct number_column numbers(row_t n) {
    return (struct number_column){room(n, 8), room(n, 1)};
}

static inline void make(const struct table_shape *shape, uint64_t seed, row_t n, struct match_table *big) {
    if (match_table_make(NULL, shape, seed, n, big, NULL))
        abort();
}

/* ---- Results ---- */

struct results {
    row_t *sorted, *before, *parent, *covering, *joined, *key_rows, *partner, *lane_before, *lane_after;
    uint32_t *length;
    uint64_t *keys;
    struct number_column exclusive;
    struct exclusive_anomalies anomalies;
};

static inline void results_free(struct results *results) {
    free(results->sorted), free(results->before), free(results->parent), free(results->covering);
    free(results->joined), free(results->key_rows), free(results->keys), free(results->partner);
    free(results->lane_before), free(results->lane_after), free(results->length);
    free(results->exclusive.bits), free(results->exclusive.kind);
}

/* Steps that know no operators, on columns made of the table's: threads are lanes, rows are moments. */
static inline enum sutra_status run_lanes(const struct engine *engine, const struct match_table *big,
                                          struct results *results, struct sutra_error *error) {
    row_t n = big->ops.n;
    uint64_t *item_time = room(n, 8), *time = room(n, 8);
    uint32_t *lane = room(n, 4);
    row_t thread_start[4] = {0, n / 3, n / 3, n};
    for (row_t i = 0; i < n; i++) {
        item_time[i] = 1 + i / 3;
        time[i] = (uint64_t)i * 7919 % (n + 5) / 3;
        lane[i] = big->thread[(uint64_t)i * 31 % n];
    }
    struct lane_items items = {n, big->ops.n_threads, big->thread, item_time};
    struct frame_tokens tokens = {n, 3, thread_start, big->nccl};
    struct lane_neighbours_step neighbours = {&items, lane, time, n, results->lane_before, results->lane_after};
    struct queue_lengths_step lengths = {lane, big->nccl, n, big->ops.n_threads, results->length};
    struct match_frames_step frames = {&tokens, results->partner};
    struct join_step join = {big->external, n, big->wanted, n, results->joined};
    enum sutra_status status = engine->lane_neighbours(engine->state, &neighbours, error);
    if (!status)
        status = engine->queue_lengths(engine->state, &lengths, error);
    if (!status)
        status = engine->match_frames(engine->state, &frames, error);
    if (!status)
        status = engine->join(engine->state, &join, error);
    free(item_time);
    free(time);
    free(lane);
    return status;
}

/* All steps on one table; the first failure's status. */
static inline enum sutra_status run_all(const struct engine *engine, const struct match_table *big,
                                        struct results *results, struct sutra_error *error) {
    row_t n = big->ops.n;
    *results = (struct results){.sorted = room(n, 4),
                                .before = room(n, 4),
                                .parent = room(n, 4),
                                .covering = room(n, 4),
                                .joined = room(n, 4),
                                .key_rows = room(n, 4),
                                .partner = room(n, 4),
                                .lane_before = room(n, 4),
                                .lane_after = room(n, 4),
                                .length = room(n, 4),
                                .keys = room(n, 8),
                                .exclusive = numbers(n),
                                .anomalies = {.first_replaced = ROW_NONE}};
    for (row_t i = 0; i < n; i++) {
        results->keys[i] = integer_sort_key(big->external[i]);
        results->key_rows[i] = i;
    }
    struct sort_numbers_step by_number = {big->launch_ts, n, results->sorted};
    struct sort_keys_step by_key = {results->keys, results->key_rows, n};
    struct exclusive_durations_step exclusive = {&big->ops, results->exclusive, &results->anomalies};
    struct thread_order_step thread_order = {&big->ops, 1000, results->before};
    struct parents_step parents = {&big->ops, &big->markers, &big->queries, results->parent};
    struct covering_ops_step covering = {big->ts, big->dur, n, big->launch_ts, n, results->covering};
    enum sutra_status status = engine->sort_numbers(engine->state, &by_number, error);
    if (!status)
        status = engine->sort_keys(engine->state, &by_key, error);
    engine->load(engine->state, &big->ops);
    if (!status)
        status = engine->exclusive_durations(engine->state, &exclusive, error);
    if (!status)
        status = engine->thread_order(engine->state, &thread_order, error);
    if (!status)
        status = engine->parents(engine->state, &parents, error);
    engine->load(engine->state, NULL);
    if (!status)
        status = engine->covering_ops(engine->state, &covering, error);
    return status ? status : run_lanes(engine, big, results, error);
}

/* Writes the first difference between two results to `text`. */
struct difference {
    char text[200];
};

static inline bool rows_differ(const char *what, const uint32_t *got, const uint32_t *expected, row_t n,
                               struct difference *difference) {
    for (row_t i = 0; i < n; i++)
        if (got[i] != expected[i]) {
            snprintf(difference->text, sizeof difference->text, "%s of row %" PRIu32 " is %" PRIu32 ", not %" PRIu32,
                     what, i, got[i], expected[i]);
            return true;
        }
    return false;
}

/* The same bits, or both no number: the CPU chooses which of the many NaNs a difference of infinities gives. */
static inline bool numbers_differ(struct number got, struct number expected) {
    double a = number_as_double(got), b = number_as_double(expected);
    return got.kind != expected.kind || (got.bits != expected.bits && (a == a || b == b));
}

static inline bool durations_differ(const struct results *got, const struct results *expected, row_t n,
                                    struct difference *difference) {
    const struct exclusive_anomalies *a = &got->anomalies, *b = &expected->anomalies;
    for (row_t i = 0; i < n; i++)
        if (numbers_differ(number_at(got->exclusive, i), number_at(expected->exclusive, i))) {
            snprintf(
                difference->text, sizeof difference->text, "exclusive duration of row %" PRIu32 " is %.17g, not %.17g",
                i, number_as_double(number_at(got->exclusive, i)), number_as_double(number_at(expected->exclusive, i)));
            return true;
        }
    snprintf(difference->text, sizeof difference->text,
             "rounded, replaced, first: %" PRIu64 ", %" PRIu64 ", %" PRIu32 ", not %" PRIu64 ", %" PRIu64 ", %" PRIu32,
             a->n_rounded, a->n_replaced, a->first_replaced, b->n_rounded, b->n_replaced, b->first_replaced);
    return a->n_rounded != b->n_rounded || a->n_replaced != b->n_replaced || a->first_replaced != b->first_replaced;
}

static inline bool results_differ(const struct results *got, const struct results *expected, row_t n,
                                  struct difference *difference) {
    snprintf(difference->text, sizeof difference->text, "sorted keys differ");
    return memcmp(got->keys, expected->keys, n * sizeof *got->keys) != 0 ||
           rows_differ("sorted row", got->sorted, expected->sorted, n, difference) ||
           rows_differ("row of the sorted key", got->key_rows, expected->key_rows, n, difference) ||
           durations_differ(got, expected, n, difference) ||
           rows_differ("operator before", got->before, expected->before, n, difference) ||
           rows_differ("parent", got->parent, expected->parent, n, difference) ||
           rows_differ("covering operator", got->covering, expected->covering, n, difference) ||
           rows_differ("item before", got->lane_before, expected->lane_before, n, difference) ||
           rows_differ("item behind", got->lane_after, expected->lane_after, n, difference) ||
           rows_differ("queue length", got->length, expected->length, n, difference) ||
           rows_differ("partner", got->partner, expected->partner, n, difference) ||
           rows_differ("joined row", got->joined, expected->joined, n, difference);
}

#endif
