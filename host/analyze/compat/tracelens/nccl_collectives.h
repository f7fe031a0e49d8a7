/*
 * nccl_collectives.h - inside of TraceLens' tables of collectives, with TraceLens' rules and arithmetic.
 *
 *     kernels of each trace --> rows, by trace --> ids: the i-th row of a group's name on each rank
 *                                                                  --> runs of one id --> tables
 *
 * In TraceLens a rank is the index of its file in the list, and the first row of an id describes all its rows. If rows
 * of an id differ, TraceLens fails by default; sutra does not compare them. If no row records its group and each rank
 * has one stream, the i-th rows of all ranks are one id.
 *
 * Cost: O(n log n).
 */
#ifndef ANALYZE_COMPAT_TRACELENS_NCCL_COLLECTIVES_H
#define ANALYZE_COMPAT_TRACELENS_NCCL_COLLECTIVES_H

#include "analyze/collectives/collectives.h"
#include "sutra/tracelens.h"

enum nccl_text { NCCL_GROUP, NCCL_MEMBERS, NCCL_WHAT, NCCL_TYPE, NCCL_IN_SPLIT, NCCL_OUT_SPLIT, N_NCCL_TEXTS };

/* A kernel; NaN and text 0: not recorded. */
struct nccl_row {
    uint32_t text[N_NCCL_TEXTS]; /* a string's id + 1 */
    uint32_t rank, index;        /* index of the trace; index among the rows of its group and rank */
    double size, n_in, n_out, stream, ts, dur;
};

struct nccl_rows {
    struct strings strings;
    struct nccl_row *list;
    uint64_t n, capacity;
};

/* Encodes the rows; decoded ones are the caller's to free, or NULL after a failure. */
void nccl_rows_codec(struct codec *codec, struct nccl_rows **rows);
void nccl_rows_free(struct nccl_rows *rows);

/* ---- Input of the tables ---- */

/* Kinds of collectives in which all ranks wait. */
enum nccl_kind { NCCL_NONE, NCCL_ALL_REDUCE, NCCL_REDUCE_SCATTER, NCCL_ALL_GATHER, NCCL_ALL_TO_ALL, NCCL_ALL_TO_ALL_V };

struct nccl_job {
    struct sutra_result *result;
    size_t n_ranks;       /* traces */
    struct nccl_rows all; /* of all ranks */
    bool simplified;
    uint64_t *order;        /* rows by id; of an id by rank; ids ordered by their first rows */
    uint64_t *first, n_ids; /* order[first[i]] to order[first[i + 1]] */
    struct arena *arena;
};

static inline const struct nccl_row *nccl_row_at(const struct nccl_job *job, uint64_t id, uint64_t i) {
    return &job->all.list[job->order[job->first[id] + i]];
}

static inline uint64_t nccl_rows_of(const struct nccl_job *job, uint64_t id) {
    return job->first[id + 1] - job->first[id];
}

enum nccl_kind nccl_kind_of(const struct nccl_job *job, const struct nccl_row *row);

/* Megabytes of a number of elements of the row's type; NaN: unknown type. */
double nccl_megabytes(const struct nccl_job *job, const struct nccl_row *row, double n_elements);

void nccl_add_text(const struct nccl_job *job, struct sutra_table *table, const struct nccl_row *row,
                   enum nccl_text text);
/* The group, its members, the collective, the group's size and the type of a row. */
void nccl_add_collective(const struct nccl_job *job, struct sutra_table *table, const struct nccl_row *row);
void nccl_add_id(const struct nccl_job *job, struct sutra_table *table, const struct nccl_row *row);

/* Sorts a table by a column of numbers, ascending or descending. */
void nccl_sort(struct nccl_job *job, struct sutra_table *table, uint32_t column, bool ascending);

/* Compares a text of two rows; `missing` replaces missing texts. */
int nccl_compare_texts(const struct nccl_job *job, const struct nccl_row *a, const struct nccl_row *b,
                       enum nccl_text text, const char *missing);

/* Columns of ranks, as pandas orders the keys of dictionaries: an id adds the first n_of_event cells of each new rank,
 * and then the other cells of its new ranks. */
struct nccl_columns {
    uint32_t n, *ranks; /* ranks, as they first occur */
    uint32_t *index;    /* by rank: its index in that list, or UINT32_MAX */
    uint32_t n_cells;   /* in the order of the columns */
    uint32_t *cells;    /* n_per_rank * index + number of the cell */
    uint32_t n_per_rank, n_of_event;
};

/* False: out of memory. */
bool nccl_columns_init(struct nccl_job *job, struct nccl_columns *columns, uint32_t n_per_rank, uint32_t n_of_event);
void nccl_columns_add(const struct nccl_job *job, struct nccl_columns *columns, uint64_t id);

/* Finds the row of each rank of an id: row_of[index of the rank], NULL for ranks without one. */
void nccl_rows_by_rank(const struct nccl_job *job, const struct nccl_columns *columns, uint64_t id,
                       const struct nccl_row **row_of);

/* Initializes a table with n_general columns and the columns of ranks, whose names end with of_ranks[]. NULL: out of
 * memory. */
struct sutra_table *nccl_columns_table(struct nccl_job *job, const struct nccl_columns *columns,
                                       enum sutra_tracelens_collectives_table id, const struct column_spec *general,
                                       uint32_t n_general, const char *const *of_ranks);

/* Make the tables of collectives in which all ranks wait, and of all-to-all-v. */
void nccl_sync_make(struct nccl_job *job);
void nccl_exchange_make(struct nccl_job *job);
#endif
