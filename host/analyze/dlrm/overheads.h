/*
 * overheads.h - taking samples of the host's overheads.
 */
#ifndef ANALYZE_DLRM_OVERHEADS_H
#define ANALYZE_DLRM_OVERHEADS_H

#include "analyze/codec.h"
#include "analyze/dlrm/dlrm.h"
#include "columns/strings.h"
#include "write/text.h"

/*
 * The samples behind the overheads by shape, as a table that the original writes: what is left of an
 * analysis when the trace is gone, for the overheads of many ranks together.
 */

/* Samples of one kind, operator (or launch) and shape. */
struct dlrm_raw_group {
    enum sutra_dlrm_overhead_kind kind;
    uint32_t name, shapes; /* texts; name is that of no characters for T1; shapes as Python writes tuples */
    uint64_t n;
};

/* Groups in the order of the table: T1, T4 by launch, then T2, T3 and T5 of each operator and shape. */
struct dlrm_raw {
    struct arena arena; /* of all that follows */
    struct strings texts;
    struct dlrm_raw_group *groups;
    double *us; /* of one group behind the other's */
    uint64_t n_groups, n;
    bool has_fractions; /* one of them was no integer */
    struct dlrm_launches launches;
};

/* dlrm_raw_free() is due in any case. */
enum sutra_status dlrm_raw_take(const struct sutra_dlrm *dlrm, struct dlrm_raw *raw, struct sutra_error *error);
void dlrm_raw_free(struct dlrm_raw *raw);

/* Encodes the samples, or decodes them; dlrm_raw_free() is due in any case. */
void dlrm_raw_codec(struct codec *codec, struct dlrm_raw *raw);

/* What goes into one table: the samples of one trace or several, with what the first columns say. */
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

/* Mean and standard deviation (of the population), sums rounded as numpy does; NaN without a value. The values are
 * used up. */
void dlrm_mean_of(double *list, uint64_t n, double *mean, double *deviation);

/* Numbers the names of operators in the order of their first calls, from 1 on; 0 is what has none. False: out of
 * memory. */
bool dlrm_number_operators(const struct dlrm_operators *ops, struct tuples *names);

#endif
