/*
 * tracelens.c - TraceLens' finished tables of collectives: columns of integers, and the nodes of ranks.
 *
 * A node is as many ranks as the first trace lists GPUs. O(bytes of the tables).
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/collectives/tracelens.h"
#include "analyze/table.h"
#include "base/error.h"
#include "columns/column.h"
#include "facts/names.h"

/* What the names of columns end with that PyTorch fills with integers. */
static const char *const integer_endings[] = {"Group size", "In msg nelems", "Out msg nelems", "stream",
                                              "total nelems communicated"};

static bool has_ending(const char *name, const char *ending) {
    size_t n = strlen(name), n_ending = strlen(ending);
    return n >= n_ending && strcmp(name + n - n_ending, ending) == 0;
}

static void make_integers(struct sutra_table *table) {
    for (uint32_t column = 0; column < table->n_columns; column++)
        for (size_t i = 0; i < sizeof integer_endings / sizeof *integer_endings; i++)
            if (has_ending(table->columns[column].spec.name, integer_endings[i]))
                table_make_integers(table, column);
}

static uint32_t column_named(const struct sutra_table *table, const char *name) {
    uint32_t column = 0;
    while (column < table->n_columns && strcmp(table->columns[column].spec.name, name) != 0)
        column++;
    return column;
}

static void add_node_ids(struct nccl_work *work, struct sutra_table *table, uint32_t ranks, int64_t per_node) {
    int64_t *nodes = arena_take(work->arena, table->n_rows, sizeof *nodes);
    table->failed |= !nodes;
    for (uint64_t row = 0; row < table->n_rows && nodes; row++)
        nodes[row] = table_get_integer(table, ranks, row) / per_node;
    if (nodes)
        table_add_integers(table, "node_id", nodes);
}

/* Whether the ranks of a list such as "[0, 1]" are on one node. */
static const char *span_of(const char *ranks, int64_t per_node) {
    int64_t node = -1;
    for (const char *at = ranks; *at;) {
        if (!isdigit((unsigned char)*at)) {
            at++;
            continue;
        }
        char *end;
        int64_t of = strtoll(at, &end, 10) / per_node;
        if (node >= 0 && node != of)
            return "inter_node";
        node = of;
        at = end;
    }
    return node < 0 ? "unknown" : "intra_node";
}

static void add_node_spans(struct nccl_work *work, struct sutra_table *table, uint32_t members, int64_t per_node) {
    const char **spans = arena_take(work->arena, table->n_rows, sizeof *spans);
    table->failed |= !spans;
    for (uint64_t row = 0; row < table->n_rows && spans; row++) {
        size_t length;
        spans[row] = span_of(table_get_text(table, members, row, &length), per_node);
    }
    if (spans)
        table_add_texts(table, "node_span", spans);
}

void nccl_finish(struct nccl_work *work) {
    struct sutra_collectives *of = work->of;
    int64_t per_node = (int64_t)of->options.ranks_per_host;
    if (!per_node && of->tasks.n)
        per_node = collective_part_of(of, 0)->n_devices;
    for (int id = SUTRA_COLLECTIVES_NCCL_LONG; id < SUTRA_COLLECTIVES_N_TABLES; id++) {
        struct sutra_table *table = &of->tables[id];
        if (!of->made[id] || table->failed)
            continue;
        make_integers(table);
        uint32_t rank = column_named(table, "rank"), members = column_named(table, "Process Group Ranks");
        if (per_node <= 0 || table->n_rows == 0)
            continue;
        if (rank < table->n_columns)
            add_node_ids(work, table, rank, per_node);
        if (members < table->n_columns - (rank < table->n_columns))
            add_node_spans(work, table, members, per_node);
    }
}

/*
 * TraceLens' tables of collectives in which all ranks wait: each, by kind and size, and who came last.
 */

#define REAL SUTRA_COLUMN_REAL
#define TEXT SUTRA_COLUMN_TEXT

/* A collective, worked out. */
struct nccl_sync {
    uint64_t id;
    enum nccl_kind kind;
    uint32_t earliest;
    double latency, skew, wait_mean, end_skew, full, algorithm, bus, latest_ts;
};

static double bus_share(enum nccl_kind kind, double n) {
    return kind == NCCL_ALL_REDUCE ? 2 * (n - 1) / n : (n - 1) / n;
}

static void find_rates(const struct nccl_work *work, const struct nccl_row *first, struct nccl_sync *sync) {
    sync->full = sync->algorithm = sync->bus = (double)NAN;
    if (sync->kind == NCCL_NONE)
        return;
    sync->full = nccl_megabytes(work, first, sync->kind == NCCL_ALL_GATHER ? first->n_out : first->n_in);
    if (sync->latency > 0)
        sync->algorithm = (sync->full / 1024) / (sync->latency / 1e6);
    sync->bus = sync->algorithm * bus_share(sync->kind, first->size);
}

static struct nccl_sync work_out(const struct nccl_work *work, uint64_t id) {
    const struct nccl_row *first = nccl_row_at(work, id, 0);
    struct nccl_sync sync = {
        .id = id, .kind = nccl_kind_of(work, first), .latency = first->dur, .latest_ts = first->ts};
    double first_end = first->ts + first->dur, last_end = first_end, sum = 0;
    uint64_t n = nccl_rows_of(work, id);
    for (uint64_t i = 0; i < n; i++) {
        const struct nccl_row *row = nccl_row_at(work, id, i);
        double end = row->ts + row->dur;
        sync.latest_ts = fmax(sync.latest_ts, row->ts);
        sync.latency = fmin(sync.latency, row->dur);
        first_end = fmin(first_end, end);
        last_end = fmax(last_end, end);
    }
    sync.skew = -1;
    for (uint64_t i = 0; i < n; i++) {
        const struct nccl_row *row = nccl_row_at(work, id, i);
        double wait = sync.latest_ts - row->ts;
        sum += wait;
        if (wait >= sync.skew) { /* of equal ones the last rank; rows are by rank */
            sync.skew = wait;
            sync.earliest = row->rank;
        }
    }
    sync.wait_mean = sum / (double)n;
    sync.end_skew = last_end - first_end;
    find_rates(work, first, &sync);
    return sync;
}

/* ---- Each ---- */

/* Columns of ranks, as pandas orders keys of dictionaries: a collective adds start and duration of each rank that is
 * new, and then their waits. */
struct nccl_columns {
    uint32_t *ranks, n; /* in the order of first sight */
    uint32_t *place;    /* by rank: its place in it, or UINT32_MAX */
    uint32_t n_cells;   /* three of each rank: 3 * place + 0 for the start, 1 for the duration, 2 for the wait */
    uint32_t *cells;
};

static bool find_columns(struct nccl_work *work, const struct nccl_sync *syncs, uint64_t n,
                         struct nccl_columns *columns) {
    size_t n_ranks = work->of->tasks.n;
    columns->ranks = arena_take(work->arena, n_ranks, sizeof *columns->ranks);
    columns->place = arena_take(work->arena, n_ranks, sizeof *columns->place);
    columns->cells = arena_take(work->arena, 3 * n_ranks, sizeof *columns->cells);
    if (work->arena->failed)
        return false;
    memset(columns->place, 0xff, n_ranks * sizeof *columns->place);
    for (uint64_t i = 0; i < n; i++) {
        uint32_t first = columns->n;
        for (uint64_t k = 0; k < nccl_rows_of(work, syncs[i].id); k++) {
            uint32_t rank = nccl_row_at(work, syncs[i].id, k)->rank;
            if (columns->place[rank] != UINT32_MAX)
                continue;
            columns->place[rank] = columns->n;
            columns->cells[columns->n_cells++] = 3 * columns->n;
            columns->cells[columns->n_cells++] = 3 * columns->n + 1;
            columns->ranks[columns->n++] = rank;
        }
        for (; first < columns->n; first++)
            columns->cells[columns->n_cells++] = 3 * first + 2;
    }
    return true;
}

#define N_GENERAL 18

static struct sutra_table *begin_each(struct nccl_work *work, const struct nccl_columns *columns) {
    static const struct column_spec general[N_GENERAL] = {
        {"collective_id", TEXT},       {"Process Group Name", TEXT},
        {"Process Group Ranks", TEXT}, {"Collective name", TEXT},
        {"Group size", REAL},          {"dtype", TEXT},
        {"In msg nelems", REAL},       {"Out msg nelems", REAL},
        {"In msg size (MB)", REAL},    {"Out msg size (MB)", REAL},
        {"Full msg size (MB)", REAL},  {"comm_latency", REAL},
        {"skew in start time", REAL},  {"earliest arrival rank", SUTRA_COLUMN_INTEGER},
        {"avg_wait_time", REAL},       {"skew in end time", REAL},
        {"algo bw (GB/s)", REAL},      {"bus bw (GB/s)", REAL}};
    static const char *const of_ranks[] = {"ts", "dur", "wait_time"};
    uint32_t n = N_GENERAL + 3 * columns->n;
    struct column_spec *specs = arena_take(work->arena, n, sizeof *specs);
    if (!specs)
        return NULL;
    memcpy(specs, general, sizeof general);
    for (uint32_t i = 0; i < 3 * columns->n; i++)
        specs[N_GENERAL + i] = (struct column_spec){
            nccl_column_name(work, columns->ranks[columns->cells[i] / 3], of_ranks[columns->cells[i] % 3]), REAL};
    return work->arena->failed
               ? NULL
               : nccl_table_begin(work, SUTRA_COLLECTIVES_NCCL_IMPLICIT_SYNC, "nccl_implicit_sync", specs, n);
}

static void put_each(struct nccl_work *work, const struct nccl_sync *sync, const struct nccl_columns *columns,
                     const struct nccl_row **by_place, struct sutra_table *table) {
    const struct nccl_row *first = nccl_row_at(work, sync->id, 0);
    nccl_put_id(work, table, first);
    nccl_put_text(work, table, first, NCCL_GROUP);
    nccl_put_text(work, table, first, NCCL_MEMBERS);
    nccl_put_text(work, table, first, NCCL_WHAT);
    table_real(table, first->size);
    nccl_put_text(work, table, first, NCCL_TYPE);
    table_real(table, first->n_in);
    table_real(table, first->n_out);
    table_real(table, nccl_megabytes(work, first, first->n_in));
    table_real(table, nccl_megabytes(work, first, first->n_out));
    table_real(table, sync->full);
    table_real(table, sync->latency);
    table_real(table, sync->skew);
    table_integer(table, sync->earliest);
    table_real(table, sync->wait_mean);
    table_real(table, sync->end_skew);
    table_real(table, sync->algorithm);
    table_real(table, sync->bus);
    memset(by_place, 0, columns->n * sizeof(void *));
    for (uint64_t i = 0; i < nccl_rows_of(work, sync->id); i++) {
        const struct nccl_row *row = nccl_row_at(work, sync->id, i);
        by_place[columns->place[row->rank]] = row;
    }
    for (uint32_t i = 0; i < columns->n_cells; i++) {
        const struct nccl_row *row = by_place[columns->cells[i] / 3];
        const double values[] = {row ? row->ts : (double)NAN, row ? row->dur : (double)NAN,
                                 row ? sync->latest_ts - row->ts : (double)NAN};
        table_real(table, values[columns->cells[i] % 3]);
    }
}

/* ---- By kind, type and size ---- */

static int compare_numbers(uint64_t a, uint64_t b) {
    return (a > b) - (a < b);
}

/* A collective with what it is summed by; sizes that are not told come last. */
struct nccl_summed {
    const struct nccl_sync *sync;
    const struct nccl_row *row;
    uint64_t place;
};

static int compare_sizes(double a, double b) {
    if (isnan(a) || isnan(b))
        return isnan(a) - isnan(b);
    return (a > b) - (a < b);
}

static int compare_kinds(const struct nccl_work *work, const struct nccl_summed *a, const struct nccl_summed *b) {
    int order = nccl_compare_texts(work, a->row, b->row, NCCL_WHAT, "Unknown");
    order = order ? order : nccl_compare_texts(work, a->row, b->row, NCCL_TYPE, "Unknown");
    return order ? order : compare_sizes(a->row->n_in, b->row->n_in);
}

static int compare_summed(const void *left, const void *right, void *arg) {
    const struct nccl_summed *a = left, *b = right;
    int order = compare_kinds(arg, a, b);
    return order ? order : compare_numbers(a->place, b->place);
}

/* The values that are described, in the order of the columns. */
enum { VALUE_LATENCY, VALUE_SKEW, VALUE_END_SKEW, VALUE_ALGORITHM, VALUE_BUS, N_VALUES };

static double value_of(const struct nccl_sync *sync, int value) {
    const double values[N_VALUES] = {sync->latency, sync->skew, sync->end_skew, sync->algorithm, sync->bus};
    return values[value];
}

/* Bandwidths have columns if one is known. */
static bool any_is_known(const struct nccl_sync *syncs, uint64_t n, int value) {
    for (uint64_t i = 0; i < n; i++)
        if (!isnan(value_of(&syncs[i], value)))
            return true;
    return false;
}

static struct sutra_table *begin_summary(struct nccl_work *work, const bool *has) {
    static const char *const names[N_VALUES][4] = {
        {"comm_latency_mean", "comm_latency_median", "comm_latency_min", "comm_latency_max"},
        {"skew in start time_mean", "skew in start time_median", "skew in start time_min", "skew in start time_max"},
        {"skew in end time_mean", "skew in end time_median", "skew in end time_min", "skew in end time_max"},
        {"algo bw (GB/s)_mean", "algo bw (GB/s)_median", "algo bw (GB/s)_min", "algo bw (GB/s)_max"},
        {"bus bw (GB/s)_mean", "bus bw (GB/s)_median", "bus bw (GB/s)_min", "bus bw (GB/s)_max"}};
    struct column_spec specs[TABLE_COLUMNS_MAX] = {{"Collective name", TEXT}, {"dtype", TEXT},
                                                   {"In msg nelems", TEXT},   {"Process Group Name", TEXT},
                                                   {"Group size", REAL},      {"Full msg size (MB)", REAL}};
    uint32_t n = 6;
    for (int value = 0; value < N_VALUES; value++)
        for (int i = 0; i < 4 && has[value]; i++)
            specs[n++] = (struct column_spec){names[value][i], REAL};
    specs[n++] = (struct column_spec){"count", SUTRA_COLUMN_INTEGER};
    specs[n++] = (struct column_spec){"Total comm latency (ms)", REAL};
    return nccl_table_begin(work, SUTRA_COLLECTIVES_NCCL_SUMMARY_IMPLICIT_SYNC, "nccl_summary_implicit_sync", specs, n);
}

static void put_or_unknown(struct nccl_work *work, struct sutra_table *table, const struct nccl_row *row,
                           enum nccl_text text) {
    if (row->text[text])
        nccl_put_text(work, table, row, text);
    else
        table_words(table, "Unknown");
}

static void put_elements(struct sutra_table *table, double n) {
    char text[32];
    snprintf(text, sizeof text, "%.0f", n);
    table_words(table, isnan(n) ? "Unknown" : text);
}

/* The first of a run's values that is known. */
static double first_known(const struct nccl_summed *run, uint64_t n, bool full) {
    for (uint64_t i = 0; i < n; i++) {
        double value = full ? run[i].sync->full : run[i].row->size;
        if (!isnan(value))
            return value;
    }
    return (double)NAN;
}

static void put_run(struct nccl_work *work, const struct nccl_summed *run, uint64_t n, const bool *has,
                    const bool *has_nan, enum group_order order, double *values, struct sutra_table *table) {
    double total = 0;
    put_or_unknown(work, table, run->row, NCCL_WHAT);
    put_or_unknown(work, table, run->row, NCCL_TYPE);
    put_elements(table, run->row->n_in);
    nccl_put_text(work, table, run->row, NCCL_GROUP);
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

static void put_summaries(struct nccl_work *work, const struct nccl_sync *syncs, uint64_t n) {
    struct nccl_summed *rows = arena_take(work->arena, n, sizeof *rows);
    double *values = arena_take(work->arena, 2 * n, sizeof *values);
    bool has[N_VALUES] = {true, true, true}, has_nan[N_VALUES] = {false};
    if (work->arena->failed)
        return;
    has[VALUE_ALGORITHM] = any_is_known(syncs, n, VALUE_ALGORITHM);
    has[VALUE_BUS] = any_is_known(syncs, n, VALUE_BUS);
    for (uint64_t i = 0; i < n; i++)
        rows[i] = (struct nccl_summed){&syncs[i], nccl_row_at(work, syncs[i].id, 0), i};
    for (int value = 0; value < N_VALUES; value++)
        for (uint64_t i = 0; i < n; i++)
            has_nan[value] |= isnan(value_of(&syncs[i], value));
    qsort_r(rows, n, sizeof *rows, compare_summed, work);
    enum group_order order = GROUPS_SORTED;
    for (uint64_t i = 1; i < n; i++)
        order = rows[i].place < rows[i - 1].place ? GROUPS_MIXED : order;
    struct sutra_table *table = begin_summary(work, has);
    for (uint64_t begin = 0, end; begin < n; begin = end) {
        for (end = begin; end < n && compare_kinds(work, &rows[begin], &rows[end]) == 0;)
            end++;
        put_run(work, rows + begin, end - begin, has, has_nan, order, values, table);
    }
    nccl_sort(work, table, table->n_columns - 1, false);
}

/* ---- Stragglers ---- */

/* What a rank waited. */
struct nccl_waits {
    double total; /* numpy's sum of the column of waits, 0 where the rank takes no part */
    double dur;   /* pandas' sum of its rows */
    uint64_t n, n_last, n_first;
};

/* To a tenth, as numpy rounds. */
static double tenth(double value) {
    return rint(value * 10) / 10;
}

static void add_waits(const struct nccl_work *work, const struct nccl_sync *sync, const struct nccl_columns *columns,
                      struct nccl_waits *waits) {
    uint32_t last = UINT32_MAX;
    for (uint64_t i = 0; i < nccl_rows_of(work, sync->id); i++) {
        const struct nccl_row *row = nccl_row_at(work, sync->id, i);
        double wait = sync->latest_ts - row->ts;
        waits[row->rank].n++;
        if (wait == 0 && (last == UINT32_MAX || columns->place[row->rank] < columns->place[last]))
            last = row->rank;
    }
    if (last != UINT32_MAX)
        waits[last].n_last++;
    waits[sync->earliest].n_first++;
}

/* Sums of waits and of durations, rank by rank; rows are in the order of ranks. False: out of memory. */
static bool add_times(struct nccl_work *work, const struct nccl_sync *syncs, uint64_t n, struct nccl_waits *waits) {
    const struct nccl_row *rows = work->all.list;
    uint64_t n_rows = work->all.n;
    double *wait = arena_take(work->arena, n, sizeof *wait);
    double *durations = arena_take(work->arena, n_rows, sizeof *durations);
    uint64_t *sync_of = arena_zeros(work->arena, n_rows, sizeof *sync_of); /* by row: its index + 1, or 0 */
    if (work->arena->failed)
        return false;
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t k = 0; k < nccl_rows_of(work, syncs[i].id); k++)
            sync_of[nccl_row_at(work, syncs[i].id, k) - rows] = i + 1;
    for (uint64_t begin = 0, end; begin < n_rows; begin = end) {
        memset(wait, 0, n * sizeof *wait);
        for (end = begin; end < n_rows && rows[end].rank == rows[begin].rank; end++) {
            durations[end - begin] = rows[end].dur;
            if (sync_of[end])
                wait[sync_of[end] - 1] = syncs[sync_of[end] - 1].latest_ts - rows[end].ts;
        }
        waits[rows[begin].rank].total = numpy_sum(wait, n);
        waits[rows[begin].rank].dur = pandas_sum(durations, end - begin, GROUPS_SORTED);
    }
    return true;
}

static void put_stragglers(struct nccl_work *work, const struct nccl_sync *syncs, uint64_t n,
                           const struct nccl_columns *columns) {
    static const struct column_spec specs[] = {{"rank", SUTRA_COLUMN_INTEGER},
                                               {"total_wait_time_us", REAL},
                                               {"mean_wait_time_us", REAL},
                                               {"times_arrived_last", SUTRA_COLUMN_INTEGER},
                                               {"times_arrived_first", SUTRA_COLUMN_INTEGER},
                                               {"pct_arrived_last", REAL},
                                               {"num_collectives", SUTRA_COLUMN_INTEGER},
                                               {"total_nccl_dur_us", REAL}};
    struct nccl_waits *waits = arena_zeros(work->arena, work->of->tasks.n, sizeof *waits);
    if (!waits)
        return;
    for (uint64_t i = 0; i < n; i++)
        add_waits(work, &syncs[i], columns, waits);
    if (!add_times(work, syncs, n, waits))
        return;
    struct sutra_table *table = nccl_table_begin(work, SUTRA_COLLECTIVES_STRAGGLER_SUMMARY, "straggler_summary", specs,
                                                 sizeof specs / sizeof *specs);
    for (size_t rank = 0; rank < work->of->tasks.n; rank++) {
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
    nccl_sort(work, table, 1, true);
}

/* ---- All three ---- */

static bool is_shown(const struct nccl_work *work, uint64_t id) {
    const struct nccl_row *first = nccl_row_at(work, id, 0);
    enum nccl_kind kind = nccl_kind_of(work, first);
    return kind != NCCL_ALL_TO_ALL_V && (kind != NCCL_NONE || work->simplified);
}

void nccl_sync_make(struct nccl_work *work) {
    struct nccl_sync *syncs = arena_take(work->arena, work->n_ids, sizeof *syncs);
    const struct nccl_row **by_place = arena_take(work->arena, work->of->tasks.n, sizeof(void *));
    struct nccl_columns columns = {0};
    uint64_t n = 0;
    for (uint64_t id = 0; id < work->n_ids && syncs; id++)
        if (is_shown(work, id))
            syncs[n++] = work_out(work, id);
    if (n == 0 || !by_place || !find_columns(work, syncs, n, &columns))
        return;
    struct sutra_table *table = begin_each(work, &columns);
    for (uint64_t i = 0; i < n && table; i++)
        put_each(work, &syncs[i], &columns, by_place, table);
    put_summaries(work, syncs, n);
    put_stragglers(work, syncs, n, &columns);
}

/*
 * Kernels of collectives as TraceLens reads them.
 */

/* The texts first, as in enum nccl_text. */
enum nccl_field { NCCL_SIZE = N_NCCL_TEXTS, NCCL_IN, NCCL_OUT, NCCL_STREAM, N_NCCL_FIELDS };

static const struct asked_field nccl_fields[N_NCCL_FIELDS] = {
    [NCCL_GROUP] = {.name = "Process Group Name", .form = ASK_PLACE},
    [NCCL_MEMBERS] = {.name = "Process Group Ranks", .form = ASK_PLACE},
    [NCCL_WHAT] = {.name = "Collective name", .form = ASK_PLACE},
    [NCCL_TYPE] = {.name = "dtype", .form = ASK_PLACE},
    [NCCL_IN_SPLIT] = {.name = "In split size", .form = ASK_PLACE},
    [NCCL_OUT_SPLIT] = {.name = "Out split size", .form = ASK_PLACE},
    [NCCL_SIZE] = {.name = "Group size", .form = ASK_NUMBER},
    [NCCL_IN] = {.name = "In msg nelems", .form = ASK_NUMBER},
    [NCCL_OUT] = {.name = "Out msg nelems", .form = ASK_NUMBER},
    [NCCL_STREAM] = {.name = "stream", .form = ASK_NUMBER},
};

/* What Python prints of a value: a string's text, "(0, 1)" of an array; null and nothing are not told. */
static bool take_text(struct nccl_rows *rows, const struct sutra_device_trace *trace, struct json_place place,
                      uint32_t *text) {
    const char *bytes = trace->document.source.bytes + place.at;
    size_t length = place.at ? place.end - place.at : 0;
    *text = 0;
    if (length == 0 || (length == 4 && memcmp(bytes, "null", 4) == 0))
        return true;
    char *copy = malloc(2 * length + 4);
    size_t n = 0;
    if (!copy)
        return false;
    bool is_text = *bytes == '"', is_array = *bytes == '['; /* a text ends before its quote */
    for (size_t i = is_text; i < length; i++) {
        if (!is_array || !strchr("[] \t\r\n", bytes[i]))
            copy[n++] = bytes[i];
        else if (bytes[i] == '[')
            copy[n++] = '(';
        else if (bytes[i] == ']') {
            if (!memchr(bytes, ',', length) && n > 1)
                copy[n++] = ',';
            copy[n++] = ')';
        }
        if (is_array && bytes[i] == ',')
            copy[n++] = ' ';
    }
    uint32_t kept = strings_intern(&rows->strings, copy, n);
    free(copy);
    *text = kept + 1;
    return kept != STRING_NONE;
}

/* Kernels of collectives of vLLM have no arguments, but a name that tells. */
static bool infer_kind(struct nccl_rows *rows, const struct sutra_device_trace *trace, row_t event,
                       struct nccl_row *row) {
    uint32_t name = trace->events.name[event];
    if (row->text[NCCL_WHAT] || !text_compare(&trace->strings, name, TEXT_HAS_IN_ANY_CASE, "cross_device_reduce"))
        return true;
    uint32_t kept = strings_intern(&rows->strings, "allreduce", strlen("allreduce"));
    row->text[NCCL_WHAT] = kept + 1;
    return kept != STRING_NONE;
}

static double number_of(const struct asked_column *column, row_t event) {
    return number_as_double(number_at(column->number, event));
}

static bool take_row(struct nccl_rows *rows, const struct sutra_device_trace *trace, const struct asked_column *columns,
                     row_t event) {
    const struct device_events *events = &trace->events;
    struct nccl_row row = {.size = number_of(&columns[NCCL_SIZE], event),
                           .n_in = number_of(&columns[NCCL_IN], event),
                           .n_out = number_of(&columns[NCCL_OUT], event),
                           .stream = number_of(&columns[NCCL_STREAM], event),
                           .ts = number_as_double(number_at(events->ts, event)),
                           .dur = number_as_double(number_at(events->dur, event))};
    for (int i = 0; i < N_NCCL_TEXTS; i++)
        if (!take_text(rows, trace, columns[i].place[event], &row.text[i]))
            return false;
    if (!infer_kind(rows, trace, event, &row) ||
        !column_grow(&rows->list, rows->n, &rows->capacity, sizeof *rows->list))
        return false;
    rows->list[rows->n++] = row;
    return true;
}

/* Whether it has an id at all, as TraceLens wants. */
static bool is_linked(const struct device_events *events, row_t event) {
    return (key_is_value(events->correlation[event]) && (int64_t)events->correlation[event] != -1) ||
           (key_is_value(events->external[event]) && (int64_t)events->external[event] != -1);
}

enum sutra_status nccl_rows_take(struct nccl_rows **rows, struct sutra_context *context,
                                 const struct sutra_device_trace *trace, struct sutra_error *error) {
    struct arena scratch = {0};
    struct asked_column columns[N_NCCL_FIELDS];
    row_t n, *kernels = collective_kernels_find(trace, &scratch, &n);
    struct nccl_rows *made = calloc(1, sizeof *made);
    bool done = kernels && made && strings_init(&made->strings);
    enum sutra_status status = done ? SUTRA_OK : error_memory(error);
    if (!status)
        status = event_columns_ask(context, trace, nccl_fields, N_NCCL_FIELDS, kernels, n, columns, error);
    for (row_t i = 0; i < n && !status; i++)
        if (is_linked(&trace->events, kernels[i]) && !take_row(made, trace, columns, kernels[i]))
            status = error_memory(error);
    arena_free(&scratch);
    if (status)
        nccl_rows_free(made);
    else
        *rows = made;
    return status;
}

void nccl_rows_free(struct nccl_rows *rows) {
    if (!rows)
        return;
    strings_free(&rows->strings);
    free(rows->list);
    free(rows);
}

/* ---- Partial results ---- */

void nccl_rows_codec(struct codec *codec, struct nccl_rows **rows) {
    if (codec_decodes(codec)) {
        *rows = calloc(1, sizeof **rows);
        if (!*rows || !strings_init(&(*rows)->strings)) {
            codec_fail(codec, CODEC_NO_MEMORY);
            nccl_rows_free(*rows);
            *rows = NULL;
            return;
        }
    }
    codec_strings(codec, &(*rows)->strings);
    codec_array(codec, &(*rows)->list, &(*rows)->n, NULL);
    for (uint64_t i = 0; i < (*rows)->n && codec_decodes(codec); i++)
        for (int text = 0; text < N_NCCL_TEXTS; text++)
            codec_check(codec, (*rows)->list[i].text[text] <= (*rows)->strings.n);
    if (codec_decodes(codec) && codec->failure) {
        nccl_rows_free(*rows);
        *rows = NULL;
    }
}
