/*
 * tracelens.h - the tables of TraceLens' report about collectives, with its rules and its arithmetic.
 *
 *     kernels of each trace --> rows, those of the first trace first --> ids: the i-th of a group's name on each rank
 *                                                                  --> runs of one id --> tables
 *
 * To TraceLens a rank is the place of its file in the list, and the first row of an id tells what all are. Where rows
 * of an id differ it stops, unless it is told not to; here they are compared no further. Where no row tells its group
 * and each rank has one stream, the i-th of a rank is one.
 *
 * Cost: O(n log n).
 */
#ifndef ANALYZE_COLLECTIVES_TRACELENS_H
#define ANALYZE_COLLECTIVES_TRACELENS_H

#include "analyze/collectives/collectives.h"

enum nccl_text { NCCL_GROUP, NCCL_MEMBERS, NCCL_WHAT, NCCL_TYPE, NCCL_IN_SPLIT, NCCL_OUT_SPLIT, N_NCCL_TEXTS };

/* A kernel; NaN and text 0 are what is not told. */
struct nccl_row {
    uint32_t text[N_NCCL_TEXTS]; /* a string's number and 1 */
    uint32_t rank, index;        /* place among the traces; place among those of its group and rank */
    double size, n_in, n_out, stream, ts, dur;
};

struct nccl_rows {
    struct strings strings;
    struct nccl_row *list;
    uint64_t n, capacity;
};

/* Those of a trace, in the order of the file (nccl_rows.c). *rows is the caller's. SUTRA_SYSTEM: out of memory. */
enum sutra_status nccl_rows_take(struct nccl_rows **rows, struct sutra_context *context,
                                 const struct sutra_device_trace *trace, struct sutra_error *error);
void nccl_rows_free(struct nccl_rows *rows);

/* Encodes the rows; decoded ones are the caller's to free, or NULL after a failure. */
void nccl_rows_codec(struct codec *codec, struct nccl_rows **rows);

/* ---- What the tables are made from ---- */

/* Kinds that all ranks wait in. */
enum nccl_kind { NCCL_NONE, NCCL_ALL_REDUCE, NCCL_REDUCE_SCATTER, NCCL_ALL_GATHER, NCCL_ALL_TO_ALL, NCCL_ALL_TO_ALL_V };

struct nccl_work {
    struct sutra_collectives *of;
    struct nccl_rows all; /* of all ranks */
    bool simplified;
    uint64_t *order;        /* rows by id; of an id by rank; ids in the order of their first rows */
    uint64_t *first, n_ids; /* order[first[i]] to order[first[i + 1]] */
    struct arena *arena;
};

static inline const struct nccl_row *nccl_row_at(const struct nccl_work *work, uint64_t id, uint64_t place) {
    return &work->all.list[work->order[work->first[id] + place]];
}

static inline uint64_t nccl_rows_of(const struct nccl_work *work, uint64_t id) {
    return work->first[id + 1] - work->first[id];
}

enum nccl_kind nccl_kind_of(const struct nccl_work *work, const struct nccl_row *row);

/* Megabytes of so many elements of the row's type; NaN: its size is not known. */
double nccl_megabytes(const struct nccl_work *work, const struct nccl_row *row, double n_elements);

/* Sets a table up, whose columns are a list from the arena. */
struct sutra_table *nccl_table_begin(struct nccl_work *work, enum sutra_collectives_table id, const char *name,
                                     const struct column_spec *columns, uint32_t n);

void nccl_put_text(const struct nccl_work *work, struct sutra_table *table, const struct nccl_row *row,
                   enum nccl_text text);
void nccl_put_id(const struct nccl_work *work, struct sutra_table *table, const struct nccl_row *row);

/* Sorts a table by a column of numbers, the largest first or the smallest. */
void nccl_sort(struct nccl_work *work, struct sutra_table *table, uint32_t column, bool rising);

/* The order of a text of two rows, where `missing` is the text of none. */
int nccl_compare_texts(const struct nccl_work *work, const struct nccl_row *a, const struct nccl_row *b,
                       enum nccl_text text, const char *missing);

/* A column for each of the ranks, which lie in the arena: "rank_3_ts". */
const char *nccl_column_name(struct nccl_work *work, uint32_t rank, const char *what);

/* The long tables (nccl_long.c), those of collectives that all wait in (nccl_sync.c), of all-to-all-v
 * (nccl_exchange.c). */
void nccl_long_make(struct nccl_work *work);
void nccl_sync_make(struct nccl_work *work);
void nccl_exchange_make(struct nccl_work *work);

/* Turns columns into integers and adds the nodes of ranks (nccl_finish.c). */
void nccl_finish(struct nccl_work *work);

/* Makes all tables of the parts. SUTRA_SYSTEM: out of memory. */
enum sutra_status nccl_tables_make(struct sutra_collectives *of, struct sutra_error *error);

#endif
