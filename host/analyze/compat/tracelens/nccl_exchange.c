/*
 * nccl_exchange.c - TraceLens' tables of all-to-all-v: each exchange, totals by group and type, and the bytes
 * that each rank sends to each rank of its group.
 *
 *     ids --> struct nccl_exchange each: sizes, durations, throughputs --> tables;   split sizes of rows --> heat map
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compat/tracelens/nccl_collectives.h"
#include "analyze/statistics.h"
#include "analyze/table.h"

/* Jobs with more ranks have no heat map. */
#define MAX_HEATMAP_RANKS 1024

/* The measures of an exchange. */
struct nccl_exchange {
    uint64_t id;
    double first_start, last_start, first_end, last_end;
    double data, elements, wall, longest, shortest, mean_dur, throughput, fastest, slowest, imbalance;
};

static struct nccl_exchange measure(const struct nccl_job *job, uint64_t id) {
    const struct nccl_row *first = nccl_row_at(job, id, 0);
    uint64_t n = nccl_rows_of(job, id);
    struct nccl_exchange made = {.id = id,
                                 .first_start = first->ts,
                                 .last_start = first->ts,
                                 .first_end = first->ts + first->dur,
                                 .last_end = first->ts + first->dur,
                                 .longest = first->dur,
                                 .shortest = first->dur,
                                 .fastest = (double)NAN,
                                 .slowest = (double)NAN,
                                 .imbalance = (double)NAN};
    double durations = 0, largest = 0;
    for (uint64_t i = 0; i < n; i++) {
        const struct nccl_row *row = nccl_row_at(job, id, i);
        double size = nccl_megabytes(job, row, row->n_in), end = row->ts + row->dur;
        made.first_start = fmin(made.first_start, row->ts);
        made.last_start = fmax(made.last_start, row->ts);
        made.first_end = fmin(made.first_end, end);
        made.last_end = fmax(made.last_end, end);
        made.longest = fmax(made.longest, row->dur);
        made.shortest = fmin(made.shortest, row->dur);
        made.data += size;
        made.elements += row->n_in;
        durations += row->dur;
        largest = fmax(largest, size);
        if (size > 0 && row->dur > 0) {
            double rate = (size / 1024) / (row->dur / 1e6);
            made.fastest = isnan(made.fastest) || rate > made.fastest ? rate : made.fastest;
            made.slowest = isnan(made.slowest) || rate < made.slowest ? rate : made.slowest;
        }
    }
    made.wall = made.last_end - made.first_start;
    made.mean_dur = durations / (double)n;
    made.throughput = made.wall > 0 ? (made.data / 1024) / (made.wall / 1e6) : (double)NAN;
    if (made.data > 0)
        made.imbalance = largest / (made.data / (double)n);
    return made;
}

/* ---- Each exchange ---- */

enum { N_CELLS = 10, N_OF_EVENT = 8 };

static const char *const of_ranks[N_CELLS] = {"ts",
                                              "dur",
                                              "In msg nelems",
                                              "Out msg nelems",
                                              "In msg size (MB)",
                                              "Out msg size (MB)",
                                              "In split size",
                                              "Out split size",
                                              "skew in start time",
                                              "skew in end time"};

static const struct column_spec general[] = {
    TEXT("collective_id"),
    TEXT("Process Group Name"),
    TEXT("Process Group Ranks"),
    TEXT("Collective name"),
    REAL("Group size"),
    TEXT("dtype"),
    REAL("stream"),
    REAL("total data communicated (MB)"),
    REAL("total nelems communicated"),
    REAL("wall_time (us)"),
    REAL("max_rank_dur (us)"),
    REAL("min_rank_dur (us)"),
    REAL("avg_rank_dur (us)"),
    REAL("throughput (GB/s)"),
    REAL("max_rank_throughput (GB/s)"),
    REAL("min_rank_throughput (GB/s)"),
    REAL("size_imbalance"),
    REAL("skew in start time"),
    REAL("skew in end time"),
};

static void add_exchange(struct nccl_job *job, const struct nccl_exchange *made, const struct nccl_columns *columns,
                         const struct nccl_row **row_of, struct sutra_table *table) {
    const struct nccl_row *first = nccl_row_at(job, made->id, 0);
    enum { IN_SPLIT = 6, OUT_SPLIT };
    const struct nccl_row none = {.ts = NAN, .dur = NAN, .n_in = NAN, .n_out = NAN};
    const double values[] = {made->data,
                             made->elements,
                             made->wall,
                             made->longest,
                             made->shortest,
                             made->mean_dur,
                             made->throughput,
                             made->fastest,
                             made->slowest,
                             made->imbalance,
                             made->last_start - made->first_start,
                             made->last_end - made->first_end};
    nccl_add_id(job, table, first);
    nccl_add_collective(job, table, first);
    table_real(table, first->stream);
    table_reals(table, values, sizeof values / sizeof *values);
    nccl_rows_by_rank(job, columns, made->id, row_of);
    for (uint32_t i = 0; i < columns->n_cells; i++) {
        uint32_t cell = columns->cells[i] % N_CELLS;
        const struct nccl_row *known = row_of[columns->cells[i] / N_CELLS], *row = known ? known : &none;
        const double of_rank[N_CELLS] = {row->ts,
                                         row->dur,
                                         row->n_in,
                                         row->n_out,
                                         nccl_megabytes(job, row, row->n_in),
                                         nccl_megabytes(job, row, row->n_out),
                                         0,
                                         0,
                                         row->ts - made->first_start,
                                         made->last_end - (row->ts + row->dur)};
        if (cell == IN_SPLIT || cell == OUT_SPLIT)
            nccl_add_text(job, table, row, cell == IN_SPLIT ? NCCL_IN_SPLIT : NCCL_OUT_SPLIT);
        else
            table_real(table, of_rank[cell]);
    }
}

/* ---- Totals by group and type ---- */

struct nccl_exchanged {
    const struct nccl_exchange *exchange;
    const struct nccl_row *row;
    uint64_t index;
};

static int compare_groups(const struct nccl_job *job, const struct nccl_exchanged *a, const struct nccl_exchanged *b) {
    int order = nccl_compare_texts(job, a->row, b->row, NCCL_GROUP, "Unknown_Group");
    return order ? order : nccl_compare_texts(job, a->row, b->row, NCCL_TYPE, "");
}

/* By group; the largest first, as in the table of exchanges. */
static int compare_exchanged(const void *left, const void *right, void *arg) {
    const struct nccl_exchanged *a = left, *b = right;
    int order = compare_groups(arg, a, b);
    if (!order && a->exchange->data != b->exchange->data)
        order = a->exchange->data < b->exchange->data ? 1 : -1;
    return order ? order : (a->index > b->index) - (a->index < b->index);
}

enum { VALUE_DATA, VALUE_WALL, VALUE_THROUGHPUT, VALUE_IMBALANCE, VALUE_LONGEST, VALUE_SKEW, VALUE_END_SKEW, N_VALUES };

static void add_run(struct nccl_job *job, const struct nccl_exchanged *run, uint64_t n, enum group_order order,
                    double *values, struct sutra_table *table) {
    double wall_us = 0;
    nccl_add_text(job, table, run->row, NCCL_GROUP);
    nccl_add_text(job, table, run->row, NCCL_TYPE);
    for (int value = 0; value < N_VALUES; value++) {
        for (uint64_t i = 0; i < n; i++) {
            const struct nccl_exchange *one = run[i].exchange;
            const double all[N_VALUES] = {one->data,
                                          one->wall,
                                          one->throughput,
                                          one->imbalance,
                                          one->longest,
                                          one->last_start - one->first_start,
                                          one->last_end - one->first_end};
            values[i] = all[value];
        }
        struct value_stats spread = pandas_stats(values, n, order, values + n);
        table_real(table, spread.mean);
        if (value <= VALUE_THROUGHPUT) {
            table_real(table, spread.median);
            table_real(table, spread.min);
        }
        table_real(table, spread.max);
        if (value == VALUE_WALL)
            table_real(table, wall_us = spread.sum);
    }
    table_integer(table, (int64_t)n);
    nccl_add_text(job, table, run->row, NCCL_MEMBERS);
    nccl_add_text(job, table, run->row, NCCL_WHAT);
    table_real(table, run->row->size);
    table_real(table, wall_us / 1000);
}

/* The order of the table of exchanges: the largest first. */
ORDER_BY(compare_data, struct nccl_exchanged, DESCENDING(exchange->data) ASCENDING(index))

static void add_summaries(struct nccl_job *job, const struct nccl_exchange *list, uint64_t n) {
    struct nccl_exchanged *rows = arena_alloc(job->arena, n, sizeof *rows);
    double *values = arena_alloc(job->arena, 2 * n, sizeof *values);
    uint64_t n_rows = 0;
    if (job->arena->failed)
        return;
    for (uint64_t i = 0; i < n; i++) {
        const struct nccl_row *first = nccl_row_at(job, list[i].id, 0);
        if (first->text[NCCL_TYPE]) /* groups without a type are dropped */
            rows[n_rows++] = (struct nccl_exchanged){&list[i], first, i};
    }
    /* pandas adds up in an order that depends on whether groups are sorted in the table of exchanges */
    enum group_order order = n_rows < n ? GROUPS_MIXED : GROUPS_SORTED;
    if (n_rows)
        qsort(rows, n_rows, sizeof *rows, compare_data);
    for (uint64_t i = 1; i < n_rows; i++)
        order = compare_groups(job, &rows[i - 1], &rows[i]) > 0 ? GROUPS_MIXED : order;
    struct sutra_table *table = result_table_begin(job->result, SUTRA_TRACELENS_NCCL_SUMMARY_ALL2ALLV);
    if (n_rows)
        qsort_r(rows, n_rows, sizeof *rows, compare_exchanged, job);
    for (uint64_t begin = 0, end; begin < n_rows; begin = end) {
        for (end = begin; end < n_rows && compare_groups(job, &rows[begin], &rows[end]) == 0;)
            end++;
        add_run(job, rows + begin, end - begin, order, values, table);
    }
    nccl_sort(job, table, table->n_columns - 1, false);
}

/* ---- The heat map: bytes from rank to rank ---- */

/* What one rank sends to another in one exchange. */
struct nccl_sent {
    uint32_t from, to;
    double bytes;
};

ORDER_BY(compare_sent, struct nccl_sent, ASCENDING(from) ASCENDING(to))

/* Adds the split sizes of a row; malformed sizes, and sizes that do not match the group, are skipped. False: out of
 * memory. */
static bool add_parts(struct nccl_job *job, const struct nccl_row *row, struct nccl_sent **sent, uint64_t *n,
                      uint64_t *capacity) {
    uint32_t string = row->text[NCCL_IN_SPLIT];
    double bytes = nccl_megabytes(job, &(struct nccl_row){.text = {[NCCL_TYPE] = row->text[NCCL_TYPE]}}, 1024.0 * 1024);
    size_t n_parts;
    if (!string || isnan(bytes))
        return true;
    const int64_t *parts = collective_list_read(strings_text(&job->all.strings, string - 1),
                                                strings_length(&job->all.strings, string - 1), job->arena, &n_parts);
    if (!isnan(row->size) && row->size != (double)n_parts)
        return parts;
    for (size_t i = 0; parts && i < n_parts; i++) {
        if (!arena_grow(job->arena, sent, *n, capacity, sizeof **sent))
            return false;
        (*sent)[(*n)++] = (struct nccl_sent){row->rank, (uint32_t)i, (double)parts[i] * bytes};
    }
    return parts;
}

static void add_heatmap(struct nccl_job *job) {
    struct nccl_sent *sent = NULL;
    uint64_t n = 0, capacity = 0;
    for (uint64_t i = 0; i < job->all.n; i++)
        if (nccl_kind_of(job, &job->all.list[i]) == NCCL_ALL_TO_ALL_V &&
            !add_parts(job, &job->all.list[i], &sent, &n, &capacity))
            return;
    if (n == 0 || job->n_ranks > MAX_HEATMAP_RANKS)
        return;
    qsort(sent, n, sizeof *sent, compare_sent);
    struct sutra_table *table = result_table_begin(job->result, SUTRA_TRACELENS_NCCL_HEATMAP);
    for (uint64_t begin = 0, end; begin < n; begin = end) {
        double bytes = 0;
        for (end = begin; end < n && compare_sent(&sent[begin], &sent[end]) == 0; end++)
            bytes += sent[end].bytes;
        double megabytes = bytes / (1024.0 * 1024.0);
        table_integer(table, sent[begin].from);
        table_integer(table, sent[begin].to);
        table_real(table, megabytes);
        table_real(table, megabytes / (double)(end - begin));
        table_integer(table, (int64_t)(end - begin));
    }
}

void nccl_exchange_make(struct nccl_job *job) {
    struct nccl_exchange *list = arena_alloc(job->arena, job->n_ids, sizeof *list);
    uint64_t n = 0;
    for (uint64_t id = 0; id < job->n_ids && list; id++)
        if (nccl_kind_of(job, nccl_row_at(job, id, 0)) == NCCL_ALL_TO_ALL_V)
            list[n++] = measure(job, id);
    if (n > 0) {
        size_t n_ranks = job->n_ranks;
        const struct nccl_row **row_of = arena_alloc(job->arena, n_ranks, sizeof(void *));
        struct nccl_columns columns;
        if (!row_of || !nccl_columns_init(job, &columns, N_CELLS, N_OF_EVENT))
            return;
        for (uint64_t i = 0; i < n; i++)
            nccl_columns_add(job, &columns, list[i].id);
        struct sutra_table *table = nccl_columns_table(job, &columns, SUTRA_TRACELENS_NCCL_ALL2ALLV, general,
                                                       sizeof general / sizeof *general, of_ranks);
        for (uint64_t i = 0; i < n && table; i++)
            add_exchange(job, &list[i], &columns, row_of, table);
        if (table)
            nccl_sort(job, table, 7, false);
        add_summaries(job, list, n);
    }
    add_heatmap(job);
}
