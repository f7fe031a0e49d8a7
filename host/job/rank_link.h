/*
 * rank_link.h - from the traces of one rank to its file, ET+ or one for simulators.
 */
#ifndef JOB_RANK_LINK_H
#define JOB_RANK_LINK_H

#include "analyze/collective_calls.h"
#include "job/plan.h"
#include "link/linked.h"
#include "simulate/faithful.h"
#include "sutra/convert.h"
#include "sutra/link.h"

/* What is made of linked traces. */
struct link_output {
    bool et;       /* a file for simulators, */
    bool faithful; /* whose nodes take the measured times */
    struct sutra_convert_options what;
    struct sutra_faithful_options how;
    bool of_job; /* the rank is to meet others of a job when it is simulated */
    bool astra;  /* as ASTRA-sim meets */
};

/* When a rank of a simulated job starts, by its own clock, and the first node of its processor. */
struct rank_start {
    bool is_told, has_ops;
    int64_t origin_ns, end_ns;
    uint64_t first_node;
};

/* Writes it; a file for simulators spends the traces. `faithful`, whose size is set, is filled if it is asked for, and
 * `job` where the output is of one, else NULL; *n_bytes may be NULL. Errors as of sutra_linked_write() and
 * sutra_linked_convert(). */
enum sutra_status link_output_write(struct sutra_context *context, const struct linked_traces *spent,
                                    const struct link_output *output, struct rank_of_job *job, const char *path,
                                    uint64_t *n_bytes, struct sutra_faithful_report *faithful,
                                    struct sutra_error *error);

/* What linking a rank gives beside its file. */
struct rank_result {
    struct sutra_link_report report;
    struct sutra_faithful_report faithful;
    struct collective_calls calls;
    struct rank_start start;
    int64_t n_devices; /* GPUs of its host, as the trace says; NOT_TOLD */
};

/* Links the pair into a file, if the traces do not speak against each other: SUTRA_DATA is also that they are of two
 * processes, times or ranks, or have nothing in common. The result needs rank_result_free() in any case. */
enum sutra_status rank_link(struct sutra_context *context, const struct rank_pair *pair,
                            const struct sutra_link_options *options, const struct link_output *output,
                            const char *path, struct rank_result *result, struct sutra_error *error);
void rank_result_free(struct rank_result *result);

#endif
