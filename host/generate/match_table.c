/*
 * match_table.c - implements match_table.h.
 */
#include "generate/match_table.h"

#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "base/threads.h"
#include "columns/column.h"
#include "generate/random.h"

#define MARKERS  5
#define SPAN_MAX ((int64_t)1 << 31)
#define GAP_US   1000 /* of the order between threads, as in `sutra link` */

/* ---- Tables ---- */

static struct number time_of(const struct table_shape *shape, uint64_t *random, int64_t value) {
    const int64_t huge = ((int64_t)1 << 60) + 1;
    bool coin = xorshift_below(random, 2);
    switch (shape->times) {
    case INTEGERS:
        return number_integer(value);
    case DOUBLES:
        return number_double(4391163259776.0 + (double)value / 8);
    case MIXED:
        return coin ? number_integer(value / 8) : number_double((double)value / 8);
    case HUGE_INTEGERS:
        return number_integer(huge + value);
    case HUGE_MIXED:
        return coin ? number_integer(huge + value) : number_double((double)huge + (double)(value - value % 256));
    case WILD:
        break;
    }
    static const double wild[] = {0, -0.0, 0x1p-1074, 1e300, 5, 7};
    return coin ? number_double((double)(value - 50) / 3) : number_double(wild[xorshift_below(random, 6)]);
}

static struct number dur_of(const struct table_shape *shape, uint64_t *random) {
    int64_t value = xorshift_below(random, shape->longest);
    switch (shape->times) {
    case INTEGERS:
    case HUGE_INTEGERS:
        return number_integer(value);
    case DOUBLES:
        return number_double((double)value / 8);
    case MIXED:
    case HUGE_MIXED:
        return xorshift_below(random, 2) ? number_integer(value) : number_double((double)value / 4);
    case WILD:
        break;
    }
    static const double wild[] = {-1, 0, 1e-300, 1e300, 0.1, 1.0 / 0.0};
    return xorshift_below(random, 2) ? number_double((double)value / 3)
                                     : number_double(wild[xorshift_below(random, 6)]);
}

/* Cuts operators at the end of the one of their thread that they begin in. */
static enum sutra_status nest(struct match_table *table, struct sutra_error *error) {
    enum { DEPTH = 64 };
    struct arena_mark mark = arena_mark(&table->arena);
    row_t(*open)[DEPTH] = arena_alloc(&table->arena, table->ops.n_threads, sizeof *open);
    uint32_t *depth = arena_zeros(&table->arena, table->ops.n_threads, sizeof *depth);
    TRY(arena_status(&table->arena, error));
    for (row_t i = 0; i < table->ops.n; i++) {
        uint32_t t = table->thread[i];
        struct number start = number_at(table->ts, i);
        struct number end = number_add(start, number_at(table->dur, i));
        while (depth[t]) {
            row_t top = open[t][depth[t] - 1];
            struct number top_end = number_add(number_at(table->ts, top), number_at(table->dur, top));
            if (number_compare(top_end, start) > 0) {
                if (number_compare(end, top_end) > 0)
                    number_set(table->dur, i, number_subtract(top_end, start));
                break;
            }
            depth[t]--;
        }
        if (depth[t] < DEPTH)
            open[t][depth[t]++] = i;
    }
    arena_release(&table->arena, mark);
    return SUTRA_OK;
}

static value_key random_external(uint64_t *random, row_t n) {
    int64_t value = xorshift_below(random, n / 4 + 8);
    return value == 3 ? -1 : value == 4 ? KEY_ABSENT : value == 5 ? KEY_VALUES + 1 : value;
}

static enum sutra_status make_ops(struct pool *pool, const struct table_shape *shape, uint64_t *random, row_t n,
                                  struct match_table *table, struct sutra_error *error) {
    struct arena *arena = &table->arena;
    table->ts = numbers_alloc(arena, n);
    table->dur = numbers_alloc(arena, n);
    table->thread = arena_alloc(arena, n, sizeof *table->thread);
    table->external = arena_alloc(arena, n, sizeof *table->external);
    table->coalesced = arena_alloc(arena, n, 1);
    struct arena_mark mark = arena_mark(arena);
    struct number_column unsorted = numbers_alloc(arena, n);
    row_t *order = arena_alloc(arena, n, sizeof *order);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < n; i++)
        number_set(unsorted, i, time_of(shape, random, xorshift_below(random, shape->span)));
    TRY(cpu_sort_numbers(pool, &(struct sort_numbers_step){unsorted, n, order}, error));
    uint32_t n_threads = 0;
    for (row_t i = 0; i < n; i++) {
        number_set(table->ts, i, number_at(unsorted, order[i]));
        number_set(table->dur, i, dur_of(shape, random));
        table->thread[i] = (uint32_t)xorshift_below(random, n_threads < shape->n_threads ? n_threads + 1 : n_threads);
        n_threads += table->thread[i] == n_threads;
        table->external[i] = random_external(random, n);
        table->coalesced[i] = xorshift_below(random, 9) == 0;
    }
    arena_release(arena, mark);
    table->ops =
        (struct cpu_ops){n, n_threads, table->ts, table->dur, table->thread, table->external, table->coalesced};
    if (shape->nesting == ONE_PARENT && n) {
        struct number end = number_add(number_at(table->ts, n - 1), number_at(table->dur, n - 1));
        number_set(table->dur, 0, number_subtract(end, number_at(table->ts, 0)));
    }
    return shape->nesting == OVERLAPPING ? SUTRA_OK : nest(table, error);
}

static void make_markers(const struct table_shape *shape, uint64_t *random, struct match_table *table) {
    row_t before = 0;
    for (row_t k = 0; k < MARKERS && table->ops.n; k++) {
        before = before + (row_t)xorshift_below(random, (table->ops.n - before) / 2 + 1);
        number_set(table->marker_ts, k, number_at(table->ts, before < table->ops.n ? before : table->ops.n - 1));
        table->before[k] = before;
    }
    table->markers = (struct op_markers){table->ops.n ? MARKERS : 0, table->marker_ts, table->before,
                                         (uint32_t)xorshift_below(random, shape->n_threads + 1)};
}

enum sutra_status match_table_make(struct pool *pool, const struct table_shape *shape, uint64_t seed, row_t n,
                                   struct match_table *table, struct sutra_error *error) {
    uint64_t random = seed * UINT64_C(0x9E3779B97F4A7C15);
    struct arena *arena = &table->arena;
    *table = (struct match_table){.arena = {0}};
    table->marker_ts = numbers_alloc(arena, MARKERS);
    table->before = arena_alloc(arena, MARKERS, sizeof *table->before);
    table->launch_ts = numbers_alloc(arena, n);
    table->launch_thread = arena_alloc(arena, n, sizeof *table->launch_thread);
    table->wanted = arena_alloc(arena, n, sizeof *table->wanted);
    table->nccl = arena_alloc(arena, n, 1);
    TRY(make_ops(pool, shape, &random, n, table, error));
    make_markers(shape, &random, table);
    for (row_t i = 0; i < n; i++) {
        number_set(table->launch_ts, i, time_of(shape, &random, xorshift_below(&random, shape->span + 9)));
        table->launch_thread[i] =
            xorshift_below(&random, 20) ? (uint32_t)xorshift_below(&random, table->ops.n_threads + 1) : UINT32_MAX;
        table->wanted[i] = random_external(&random, n);
        table->nccl[i] = xorshift_below(&random, 5) < 3;
    }
    table->queries = (struct parent_queries){n, table->launch_ts, table->launch_thread, table->wanted, table->nccl};
    return SUTRA_OK;
}

void match_table_order_queries(struct match_table *table, bool swaps) {
    for (row_t i = 0; i < table->ops.n; i++) {
        row_t op = swaps && (i ^ 1) < table->ops.n ? i ^ 1 : i;
        table->external[i] = (value_key)i;
        table->wanted[i] = (value_key)op;
        table->launch_thread[i] = table->thread[op];
        number_set(table->launch_ts, i, number_add(number_at(table->ts, op), number_double(0.5)));
    }
}

const struct table_shape table_shape_recorded = {"recorded", 8, 200, 5000, NESTED, DOUBLES};

struct table_shape table_shape_scale(const struct table_shape *shape, row_t n) {
    struct table_shape scaled = *shape;
    scaled.span = MIN(scaled.span * n, SPAN_MAX);
    return scaled;
}

enum sutra_status match_table_make_recorded(struct pool *pool, row_t n, struct match_table *table,
                                            struct sutra_error *error) {
    struct table_shape shape = table_shape_scale(&table_shape_recorded, n);
    TRY(match_table_make(pool, &shape, 1, n, table, error));
    match_table_order_queries(table, true);
    return SUTRA_OK;
}

void match_table_free(struct match_table *table) {
    arena_free(&table->arena);
    *table = (struct match_table){.arena = {0}};
}

/* ---- Measured matching ---- */

enum sutra_status match_results_make(struct match_results *results, row_t n, struct sutra_error *error) {
    struct arena *arena = &results->arena;
    *results = (struct match_results){.arena = {0}};
    results->sorted = arena_alloc(arena, n, sizeof *results->sorted);
    results->before = arena_alloc(arena, n, sizeof *results->before);
    results->parent = arena_alloc(arena, n, sizeof *results->parent);
    results->exclusive = numbers_alloc(arena, n);
    TRY(arena_status(arena, error));
    memset(results->sorted, 0xA5, n * sizeof *results->sorted);
    memset(results->before, 0xA5, n * sizeof *results->before);
    memset(results->parent, 0xA5, n * sizeof *results->parent);
    memset(results->exclusive.bits, 0xA5, n * sizeof *results->exclusive.bits);
    memset(results->exclusive.kind, 0xA5, n);
    return SUTRA_OK;
}

bool match_results_differ(const struct match_results *a, const struct match_results *b, row_t n) {
    size_t bytes = n * sizeof(row_t);
    return memcmp(a->sorted, b->sorted, bytes) != 0 || memcmp(a->before, b->before, bytes) != 0 ||
           memcmp(a->parent, b->parent, bytes) != 0 ||
           memcmp(a->exclusive.bits, b->exclusive.bits, n * sizeof(uint64_t)) != 0 ||
           memcmp(a->exclusive.kind, b->exclusive.kind, n) != 0 || a->anomalies.n_replaced != b->anomalies.n_replaced ||
           a->anomalies.n_rounded != b->anomalies.n_rounded;
}

enum sutra_status match_measure(const struct engine *engine, const struct match_table *table,
                                struct match_results *results, double seconds[N_MATCH_STEPS],
                                struct sutra_error *error) {
    const struct cpu_ops *ops = &table->ops;
    struct sort_numbers_step by_number = {table->launch_ts, ops->n, results->sorted};
    struct exclusive_durations_step exclusive = {ops, results->exclusive, &results->anomalies};
    struct thread_order_step thread_order = {ops, GAP_US, results->before};
    struct parents_step parents = {ops, &table->markers, &table->queries, results->parent};
    double at[N_MATCH_STEPS];
    at[MATCH_SORT] = clock_seconds();
    enum sutra_status status = engine->sort_numbers(engine->state, &by_number, error);
    engine->load(engine->state, ops);
    at[MATCH_EXCLUSIVE] = clock_seconds();
    if (!status)
        status = engine->exclusive_durations(engine->state, &exclusive, error);
    at[MATCH_ORDER] = clock_seconds();
    if (!status)
        status = engine->thread_order(engine->state, &thread_order, error);
    at[MATCH_PARENTS] = clock_seconds();
    if (!status)
        status = engine->parents(engine->state, &parents, error);
    at[MATCH_TOTAL] = clock_seconds();
    engine->load(engine->state, NULL);
    for (int step = 0; step < MATCH_TOTAL; step++)
        seconds[step] = at[step + 1] - at[step];
    seconds[MATCH_TOTAL] = at[MATCH_TOTAL] - at[MATCH_SORT];
    return status;
}

/* Twice the peak memory per operator of `sutra devices --calibrate --operators 5M` on the CPU (124 bytes). */
#define ROW_BYTES 256

uint64_t match_memory(uint64_t n) {
    return n * ROW_BYTES;
}
