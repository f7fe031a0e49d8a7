/*
 * rank_link.h - links the traces of one rank and writes its file: ET+, or a file for simulators.
 */
#ifndef JOB_RANK_LINK_H
#define JOB_RANK_LINK_H

#include "analyze/collective_calls.h"
#include "job/plan.h"
#include "link/link.h"
#include "simulate/faithful.h"
#include "sutra/convert.h"
#include "sutra/link.h"
#include "write/text.h"

/* The output of linked traces. */
struct link_output {
    bool et;       /* a file for simulators instead of ET+ */
    bool faithful; /* its nodes have the measured times */
    struct sutra_convert_options what;
    struct sutra_faithful_options how;
    bool of_job; /* the ranks of the job synchronize at collectives when they are simulated */
    bool astra;  /* in the form that ASTRA-sim needs */
};

/* Start and end of a rank of a simulated job on its own clock, and its first CPU node. */
struct rank_start {
    bool is_told, has_ops;
    int64_t origin_ns, end_ns;
    uint64_t first_node;
};

/* Writes the output; a file for simulators consumes the traces. Fills `faithful`, whose size is set, for a faithful
 * output, and `job` for a rank of a job (else NULL). *n_bytes may be NULL. Errors as of sutra_linked_write() and
 * sutra_linked_convert(). */
enum sutra_status link_output_write(struct sutra_context *context, const struct linked_traces *spent,
                                    const struct link_output *output, struct rank_of_job *job, const char *path,
                                    uint64_t *n_bytes, struct sutra_faithful_report *faithful,
                                    struct sutra_error *error);

/* Results of linking a rank, apart from its file. */
struct rank_result {
    struct sutra_link_report report;
    struct sutra_faithful_report faithful;
    struct collective_calls calls;
    struct rank_start start;
    int64_t n_devices; /* GPUs of its host, as recorded in the trace; NOT_TOLD */
};

/* Links the pair into a file. SUTRA_DATA: a trace is malformed, or the traces belong to different processes, times or
 * ranks, or have no operator in common. Call rank_result_free() in any case. */
enum sutra_status rank_link(struct sutra_context *context, const struct rank_pair *pair,
                            const struct sutra_link_options *options, const struct link_output *output,
                            const char *path, struct rank_result *result, struct sutra_error *error);
void rank_result_free(struct rank_result *result);

#endif
