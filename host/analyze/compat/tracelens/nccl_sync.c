/*
 * nccl_sync.c - TraceLens' tables of collectives in which all ranks wait: each collective, totals by kind and
 * size, and waits of each rank.
 *
 *     ids --> struct nccl_sync each: latency, skew, bandwidths --> three tables
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compat/tracelens/nccl_collectives.h"
#include "analyze/statistics.h"
#include "analyze/table.h"
#include "base/shared.h"

/* The measures of a collective. */
struct nccl_sync {
    uint64_t id;
    enum nccl_kind kind;
    uint32_t earliest;
    double latency, skew, wait_mean, end_skew, full, algorithm, bus, latest_ts;
};

static struct nccl_sync measure(const struct nccl_job *job, uint64_t id) {
    const struct nccl_row *first = nccl_row_at(job, id, 0);
    struct nccl_sync sync = {.id = id, .kind = nccl_kind_of(job, first), .latency = first->dur, .latest_ts = first->ts};
    double first_end = first->ts + first->dur, last_end = first_end, sum = 0;
    uint64_t n = nccl_rows_of(job, id);
    for (uint64_t i = 0; i < n; i++) {
        const struct nccl_row *row = nccl_row_at(job, id, i);
        double end = row->ts + row->dur;
        sync.latest_ts = fmax(sync.latest_ts, row->ts);
        sync.latency = fmin(sync.latency, row->dur);
        first_end = fmin(first_end, end);
        last_end = fmax(last_end, end);
    }
    sync.skew = -1;
    for (uint64_t i = 0; i < n; i++) {
        const struct nccl_row *row = nccl_row_at(job, id, i);
        double wait = sync.latest_ts - row->ts;
        sum += wait;
        if (wait >= sync.skew) { /* the last rank of equal ones; rows are ordered by rank */
            sync.skew = wait;
            sync.earliest = row->rank;
        }
    }
    sync.wait_mean = sum / (double)n;
    sync.end_skew = last_end - first_end;
    sync.full = sync.algorithm = sync.bus = (double)NAN;
    if (sync.kind == NCCL_NONE)
        return sync;
    sync.full = nccl_megabytes(job, first, sync.kind == NCCL_ALL_GATHER ? first->n_out : first->n_in);
    if (sync.latency > 0)
        sync.algorithm = (sync.full / 1024) / (sync.latency / 1e6);
    double factor = sync.kind == NCCL_ALL_REDUCE ? 2 : 1;
    sync.bus = sync.algorithm * (factor * (first->size - 1) / first->size);
    return sync;
}

/* ---- Each collective ---- */

/* Cells of a rank: start and duration, and after them the wait. */
enum { CELL_START, CELL_DURATION, CELL_WAIT, N_CELLS, N_OF_EVENT = 2 };
static const struct column_spec general[] = {TEXT("collective_id"),       TEXT("Process Group Name"),
                                             TEXT("Process Group Ranks"), TEXT("Collective name"),
                                             REAL("Group size"),          TEXT("dtype"),
                                             REAL("In msg nelems"),       REAL("Out msg nelems"),
                                             REAL("In msg size (MB)"),    REAL("Out msg size (MB)"),
                                             REAL("Full msg size (MB)"),  REAL("comm_latency"),
                                             REAL("skew in start time"),  INTEGER("earliest arrival rank"),
                                             REAL("avg_wait_time"),       REAL("skew in end time"),
                                             REAL("algo bw (GB/s)"),      REAL("bus bw (GB/s)")};
static const char *const of_ranks[N_CELLS] = {"ts", "dur", "wait_time"};

static void add_collective(struct nccl_job *job, const struct nccl_sync *sync, const struct nccl_columns *columns,
                           const struct nccl_row **row_of, struct sutra_table *table) {
    const struct nccl_row *first = nccl_row_at(job, sync->id, 0);
    nccl_add_id(job, table, first);
    nccl_add_collective(job, table, first);
    table_real(table, first->n_in);
    table_real(table, first->n_out);
    table_real(table, nccl_megabytes(job, first, first->n_in));
    table_real(table, nccl_megabytes(job, first, first->n_out));
    table_real(table, sync->full);
    table_real(table, sync->latency);
    table_real(table, sync->skew);
    table_integer(table, sync->earliest);
    table_real(table, sync->wait_mean);
    table_real(table, sync->end_skew);
    table_real(table, sync->algorithm);
    table_real(table, sync->bus);
    nccl_rows_by_rank(job, columns, sync->id, row_of);
    for (uint32_t i = 0; i < columns->n_cells; i++) {
        const struct nccl_row *row = row_of[columns->cells[i] / N_CELLS];
        const double values[N_CELLS] = {row ? row->ts : (double)NAN, row ? row->dur : (double)NAN,
                                        row ? sync->latest_ts - row->ts : (double)NAN};
        table_real(table, values[columns->cells[i] % N_CELLS]);
    }
}

/* ---- Totals by kind, type and size ---- */
/* A collective with the row that contains its keys; unknown sizes are last. */
struct nccl_summed {
    const struct nccl_sync *sync;
    const struct nccl_row *row;
    uint64_t index;
};

static int compare_kinds(const struct nccl_job *job, const struct nccl_summed *a, const struct nccl_summed *b) {
    int order = nccl_compare_texts(job, a->row, b->row, NCCL_WHAT, "Unknown");
    order = order ? order : nccl_compare_texts(job, a->row, b->row, NCCL_TYPE, "Unknown");
    if (order)
        return order;
    double x = a->row->n_in, y = b->row->n_in;
    return isnan(x) || isnan(y) ? isnan(x) - isnan(y) : (x > y) - (x < y);
}

static int compare_summed(const void *left, const void *right, void *arg) {
    const struct nccl_summed *a = left, *b = right;
    int order = compare_kinds(arg, a, b);
    return order ? order : (a->index > b->index) - (a->index < b->index);
}

/* The described values, in the order of the columns. */
enum { VALUE_LATENCY, VALUE_SKEW, VALUE_END_SKEW, VALUE_ALGORITHM, VALUE_BUS, N_VALUES };

static double value_of(const struct nccl_sync *sync, int value) {
    const double values[N_VALUES] = {sync->latency, sync->skew, sync->end_skew, sync->algorithm, sync->bus};
    return values[value];
}

static void add_or_unknown(struct nccl_job *job, struct sutra_table *table, const struct nccl_row *row,
                           enum nccl_text text) {
    if (row->text[text])
        nccl_add_text(job, table, row, text);
    else
        table_words(table, "Unknown");
}

/* The first known value of a run. */
static double first_known(const struct nccl_summed *run, uint64_t n, bool full) {
    for (uint64_t i = 0; i < n; i++) {
        double value = full ? run[i].sync->full : run[i].row->size;
        if (!isnan(value))
            return value;
    }
    return (double)NAN;
}

static void add_run(struct nccl_job *job, const struct nccl_summed *run, uint64_t n, const bool *has,
                    const bool *has_nan, enum group_order order, double *values, struct sutra_table *table) {
    double total = 0;
    char elements[32];
    snprintf(elements, sizeof elements, "%.0f", run->row->n_in);
    add_or_unknown(job, table, run->row, NCCL_WHAT);
    add_or_unknown(job, table, run->row, NCCL_TYPE);
    table_words(table, isnan(run->row->n_in) ? "Unknown" : elements);
    nccl_add_text(job, table, run->row, NCCL_GROUP);
    table_real(table, first_known(run, n, false));
    table_real(table, first_known(run, n, true));
    for (int value = 0; value < N_VALUES; value++) {
        for (uint64_t i = 0; i < n; i++)
            values[i] = value_of(run[i].sync, value);
        total = value == VALUE_LATENCY ? numpy_sum(values, n) : total;
        if (!has[value])
            continue;
        struct value_stats stats = pandas_stats(values, n, has_nan[value] ? GROUPS_MIXED : order, values + n);
        table_real(table, stats.mean);
        table_real(table, stats.median);
        table_real(table, stats.min);
        table_real(table, stats.max);
    }
    table_integer(table, (int64_t)n);
    table_real(table, total / 1000);
}

static void add_summaries(struct nccl_job *job, const struct nccl_sync *syncs, uint64_t n) {
    static const char *const names[N_VALUES][4] = {
        {"comm_latency_mean", "comm_latency_median", "comm_latency_min", "comm_latency_max"},
        {"skew in start time_mean", "skew in start time_median", "skew in start time_min", "skew in start time_max"},
        {"skew in end time_mean", "skew in end time_median", "skew in end time_min", "skew in end time_max"},
        {"algo bw (GB/s)_mean", "algo bw (GB/s)_median", "algo bw (GB/s)_min", "algo bw (GB/s)_max"},
        {"bus bw (GB/s)_mean", "bus bw (GB/s)_median", "bus bw (GB/s)_min", "bus bw (GB/s)_max"}};
    struct column_spec specs[TABLE_COLUMNS_MAX] = {TEXT("Collective name"), TEXT("dtype"),
                                                   TEXT("In msg nelems"),   TEXT("Process Group Name"),
                                                   REAL("Group size"),      REAL("Full msg size (MB)")};
    uint32_t n_columns = 6;
    struct nccl_summed *rows = arena_alloc(job->arena, n, sizeof *rows);
    double *values = arena_alloc(job->arena, 2 * n, sizeof *values);
    bool has[N_VALUES] = {true, true, true}, has_nan[N_VALUES] = {false}; /* bandwidths have columns if one is known */
    if (job->arena->failed)
        return;
    for (uint64_t i = 0; i < n; i++)
        rows[i] = (struct nccl_summed){&syncs[i], nccl_row_at(job, syncs[i].id, 0), i};
    for (int value = 0; value < N_VALUES; value++)
        for (uint64_t i = 0; i < n; i++) {
            has[value] |= !isnan(value_of(&syncs[i], value));
            has_nan[value] |= isnan(value_of(&syncs[i], value));
        }
    qsort_r(rows, n, sizeof *rows, compare_summed, job);
    enum group_order order = GROUPS_SORTED;
    for (uint64_t i = 1; i < n; i++)
        order = rows[i].index < rows[i - 1].index ? GROUPS_MIXED : order;
    for (int value = 0; value < N_VALUES; value++)
        for (int i = 0; i < 4 && has[value]; i++)
            specs[n_columns++] = (struct column_spec)REAL(names[value][i]);
    specs[n_columns++] = (struct column_spec)INTEGER("count");
    specs[n_columns++] = (struct column_spec)REAL("Total comm latency (ms)");
    struct sutra_table *table =
        result_table_begin_with(job->result, SUTRA_TRACELENS_NCCL_SUMMARY_IMPLICIT_SYNC, specs, n_columns);
    for (uint64_t begin = 0, end; begin < n; begin = end) {
        for (end = begin; end < n && compare_kinds(job, &rows[begin], &rows[end]) == 0;)
            end++;
        add_run(job, rows + begin, end - begin, has, has_nan, order, values, table);
    }
    nccl_sort(job, table, table->n_columns - 1, false);
}

/* ---- Waits of each rank ---- */

/* Totals of a rank. */
struct nccl_waits {
    double total; /* numpy's sum of the column of waits, 0 where the rank does not participate */
    double dur;   /* pandas' sum of its rows */
    uint64_t n, n_last, n_first;
};

/* Rounds to a tenth, as numpy does. */
static double tenth(double value) {
    return rint(value * 10) / 10;
}

static void add_stragglers(struct nccl_job *job, const struct nccl_sync *syncs, uint64_t n,
                           const struct nccl_columns *columns) {
    const struct nccl_row *rows = job->all.list;
    uint64_t n_rows = job->all.n;
    struct nccl_waits *waits = arena_zeros(job->arena, job->n_ranks, sizeof *waits);
    double *wait = arena_alloc(job->arena, n, sizeof *wait);
    double *durations = arena_alloc(job->arena, n_rows, sizeof *durations);
    uint64_t *sync_of = arena_zeros(job->arena, n_rows, sizeof *sync_of); /* by row: its index + 1, or 0 */
    if (job->arena->failed)
        return;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t last = UINT32_MAX;
        for (uint64_t k = 0; k < nccl_rows_of(job, syncs[i].id); k++) {
            const struct nccl_row *row = nccl_row_at(job, syncs[i].id, k);
            sync_of[row - rows] = i + 1;
            waits[row->rank].n++;
            if (syncs[i].latest_ts - row->ts == 0 &&
                (last == UINT32_MAX || columns->index[row->rank] < columns->index[last]))
                last = row->rank;
        }
        if (last != UINT32_MAX)
            waits[last].n_last++;
        waits[syncs[i].earliest].n_first++;
    }
    for (uint64_t begin = 0, end; begin < n_rows; begin = end) { /* rows are ordered by rank */
        memset(wait, 0, n * sizeof *wait);
        for (end = begin; end < n_rows && rows[end].rank == rows[begin].rank; end++) {
            durations[end - begin] = rows[end].dur;
            if (sync_of[end])
                wait[sync_of[end] - 1] = syncs[sync_of[end] - 1].latest_ts - rows[end].ts;
        }
        waits[rows[begin].rank].total = numpy_sum(wait, n);
        waits[rows[begin].rank].dur = pandas_sum(durations, end - begin, GROUPS_SORTED);
    }
    struct sutra_table *table = result_table_begin(job->result, SUTRA_TRACELENS_STRAGGLER_SUMMARY);
    for (size_t rank = 0; rank < job->n_ranks; rank++) {
        if (waits[rank].n == 0)
            continue;
        table_integer(table, (int64_t)rank);
        table_real(table, tenth(waits[rank].total));
        table_real(table, tenth(waits[rank].total / (double)waits[rank].n));
        table_integer(table, (int64_t)waits[rank].n_last);
        table_integer(table, (int64_t)waits[rank].n_first);
        table_real(table, tenth(100.0 * (double)waits[rank].n_last / (double)n));
        table_integer(table, (int64_t)n);
        table_real(table, tenth(waits[rank].dur));
    }
    nccl_sort(job, table, 1, true);
}

void nccl_sync_make(struct nccl_job *job) {
    struct nccl_sync *syncs = arena_alloc(job->arena, job->n_ids, sizeof *syncs);
    const struct nccl_row **row_of = arena_alloc(job->arena, job->n_ranks, sizeof(void *));
    struct nccl_columns columns;
    uint64_t n = 0;
    for (uint64_t id = 0; id < job->n_ids && syncs; id++) {
        enum nccl_kind kind = nccl_kind_of(job, nccl_row_at(job, id, 0));
        if (kind != NCCL_ALL_TO_ALL_V && (kind != NCCL_NONE || job->simplified))
            syncs[n++] = measure(job, id);
    }
    if (n == 0 || !row_of || !nccl_columns_init(job, &columns, N_CELLS, N_OF_EVENT))
        return;
    for (uint64_t i = 0; i < n; i++)
        nccl_columns_add(job, &columns, syncs[i].id);
    struct sutra_table *table = nccl_columns_table(job, &columns, SUTRA_TRACELENS_NCCL_IMPLICIT_SYNC, general,
                                                   sizeof general / sizeof *general, of_ranks);
    for (uint64_t i = 0; i < n && table; i++)
        add_collective(job, &syncs[i], &columns, row_of, table);
    add_summaries(job, syncs, n);
    add_stragglers(job, syncs, n, &columns);
}
