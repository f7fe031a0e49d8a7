/*
 * overheads.h - samples of the CPU overheads as a table, and their statistics.
 */
#ifndef ANALYZE_COMPAT_DLRM_OVERHEADS_H
#define ANALYZE_COMPAT_DLRM_OVERHEADS_H

#include "analyze/codec.h"
#include "analyze/compat/dlrm/dlrm.h"
#include "columns/strings.h"
#include "write/text.h"

/*
 * The samples of the overheads by shape, as the table that the notebook writes. A job keeps them per rank after the
 * trace is freed, for the overheads of all ranks.
 */

/* Samples of one kind, operator (or launch) and shape. */
struct dlrm_raw_group {
    enum sutra_dlrm_overhead_kind kind;
    uint32_t name, shapes; /* texts; the name is empty for T1; shapes as Python writes tuples */
    uint64_t n;
};

/* Groups in the order of the table: T1, T4 by launch, then T2, T3 and T5 of each operator and shape. */
struct dlrm_raw {
    struct arena arena; /* of all that follows */
    struct strings texts;
    struct dlrm_raw_group *groups;
    double *us; /* by group */
    uint64_t n_groups, n;
    bool has_fractions; /* not all samples are integers */
    struct dlrm_launches launches;
};

/* Call dlrm_raw_free() also after a failure. */
enum sutra_status dlrm_raw_make(const struct sutra_dlrm *dlrm, struct dlrm_raw *raw, struct sutra_error *error);
void dlrm_raw_free(struct dlrm_raw *raw);

/* Encodes the samples, or decodes them; call dlrm_raw_free() also after a failure. */
void dlrm_raw_codec(struct codec *codec, struct dlrm_raw *raw);

/* The samples of one trace in a table, with the values of the first columns. */
struct dlrm_raw_part {
    const struct dlrm_raw *raw;
    const char *model;
    size_t model_length;
    uint64_t batch;
};

struct dlrm_raw_table {
    const struct dlrm_raw_part *parts;
    size_t n;
};

/* Appends a struct dlrm_raw_table as CSV. Times are integers only if all of them are. */
bool dlrm_raw_write(const void *table, struct text_out *out);

/* Mean and standard deviation (of the population), sums rounded as numpy does; NaN without a value. Overwrites the
 * values. */
void dlrm_mean_of(double *list, uint64_t n, double *mean, double *deviation);

/* Numbers the names of operators in the order of their first calls, from 1 on; 0 is SUTRA_DLRM_NONE. False: out of
 * memory. */
bool dlrm_number_operators(const struct dlrm_operators *ops, struct tuples *names);

#endif
