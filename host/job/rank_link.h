/*
 * rank_link.h - pairs the traces of each rank, links them, and writes the rank's file: ET+, or a file for simulators.
 */
#ifndef JOB_RANK_LINK_H
#define JOB_RANK_LINK_H

#include <stdio.h>

#include "analyze/collective_calls.h"
#include "base/arena.h"
#include "facts/validity.h"
#include "link/link.h"
#include "read/file_kind.h"
#include "simulate/measured_et.h"
#include "sutra/convert.h"
#include "sutra/link.h"
#include "write/text.h"

/*
 * Pairs the host trace and the device trace of each rank.
 *
 *     files of both folders, or a table --heads--> pairs by rank
 *                                             \--> skipped files, with the reasons
 *
 * The rank of a device trace is the rank that it records, or else the number in its name. Its host trace is the host
 * trace of the same process. If several host traces have this process id, or none records one, the number in the name
 * decides. Contradicting files (process ids, ranks, dates) are never paired, regardless of their names. Nothing is
 * guessed: unmatched files are skipped.
 *
 * Cost: O(n log n), and reading the heads of the files.
 */

/* Ranks are below this number. */
#define RANK_LIMIT INT32_MAX

struct trace_file {
    const char *path;
    struct trace_head head;
    int64_t number; /* in the name */
    bool is_paired;
    uint32_t n_claims; /* device traces that it may belong to */
};

enum pair_by { PAIR_BY_PROCESS, PAIR_BY_PROCESS_AND_NAME, PAIR_BY_NAME, PAIR_BY_TABLE };

/* Names by enum pair_by: "process" and so on. */
extern const char *const pair_by_names[];

struct rank_pair {
    int64_t rank;
    struct trace_file host, device;
    enum pair_by by;
};

struct left_file {
    const char *path;
    const char *why;
};

/* Zero-initialize, and set `lenient`; free with job_plan_free(). */
struct job_plan {
    bool lenient;            /* repair malformed beginnings of traces before their heads are read */
    struct arena arena;      /* owns the lists and texts below */
    struct rank_pair *pairs; /* by rank */
    size_t n_pairs;
    struct left_file *left;
    size_t n_left;
    int64_t world_size; /* as recorded in the traces, or one more than the largest rank */
};

/* Files that should be traces of one side; with `mixed`, of either side. */
struct trace_files {
    char *const *paths;
    size_t n;
    bool mixed;           /* traces of the other side are ignored, not listed as skipped */
    const int64_t *ranks; /* of the traces, NOT_RECORDED: unknown; NULL: by heads and names */
};

/* Pairs the files, and copies their names. Unreadable files are skipped. If there is one device trace but several
 * host traces, the device trace is read: it may have their ranks. SUTRA_SYSTEM: out of memory. */
enum sutra_status job_plan_pair(struct job_plan *plan, const struct trace_files *hosts,
                                const struct trace_files *devices, struct sutra_error *error);

/* Reads the pairs from a table with one line per rank: rank, host and device, separated by tabs; further columns, empty
 * lines and lines that start with # are ignored. SUTRA_DATA: any other line. */
enum sutra_status job_plan_read(struct job_plan *plan, const char *table, struct sutra_error *error);

/* Reads the rest of a file as a text, which the caller frees. SUTRA_DATA: the file is empty or contains a NUL.
 * SUTRA_IO: a read failed. SUTRA_SYSTEM: out of memory. */
enum sutra_status job_text_read(FILE *file, const char *path, char **text, struct sutra_error *error);

void job_plan_free(struct job_plan *plan);

/* ---- Linking of a pair ---- */

/* The output of linked traces. */
struct link_output {
    bool et;       /* a file for simulators instead of ET+ */
    bool faithful; /* its nodes have the measured times */
    struct sutra_convert_options what;
    struct sutra_faithful_options how;
    bool of_job; /* the ranks of the job synchronize at collectives when they are simulated */
    const char
        *streams_path; /* of_job with one resource: file for the kernels that a resource per stream changes, or NULL */
    const char *astra_folder; /* of a rank alone: directory for the files with which ASTRA-sim replays it, or NULL */
};

/* Start and end of a rank of a simulated job on its own clock, and its first CPU node. */
struct rank_start {
    bool is_known, has_ops;
    int64_t origin_ns, end_ns;
    uint64_t first_node;
};

/* Writes the output; a file for simulators consumes the traces. Fills `faithful`, whose size is set, for a faithful
 * output, and `job` for a rank of a job (else NULL). *n_bytes may be NULL. Errors as of sutra_linked_write() and
 * sutra_linked_convert(). */
enum sutra_status link_output_write(struct sutra_context *context, const struct linked_traces *inputs_to_free,
                                    const struct link_output *output, struct rank_of_job *job, const char *path,
                                    uint64_t *n_bytes, struct sutra_faithful_report *faithful,
                                    struct sutra_error *error);

/* Results of linking a rank, apart from its file. */
struct rank_result {
    struct sutra_link_report report;
    struct sutra_link_match match;
    struct sutra_faithful_report faithful;
    struct collective_calls calls;
    struct rank_start start;
    struct trace_validity validity; /* of both traces; also if linking failed after they were read */
    int64_t n_devices;              /* GPUs of its host, as recorded in the trace; NOT_RECORDED */
};

/* Links the pair into a file. The caller reports the defects of the traces; a strict context fails with the first one:
 * SUTRA_STRICT. SUTRA_DATA: a trace is malformed, or the traces belong to different processes, times or ranks, or have
 * no operator in common. Call rank_result_free() in any case. */
enum sutra_status rank_link(struct sutra_context *context, const struct rank_pair *pair,
                            const struct sutra_link_options *options, const struct link_output *output,
                            const char *path, struct rank_result *result, struct sutra_error *error);
void rank_result_free(struct rank_result *result);

#endif
