/*
 * simulate.h - the state of `sutra simulate`, shared by the command (simulate.c), its text (simulate_text.c), the
 * files of its what-ifs (simulate_write.c), and the output of pipelines (simulate_pipeline.c).
 *
 *     arguments --> struct simulate_job --> ranks, simulations --> text, JSON, trace
 *                                                             \--> changed files, as --write requests
 */
#ifndef CLI_SIMULATE_H
#define CLI_SIMULATE_H

#include "cli/command.h"
#include "cli/job.h"
#include "cli/paths.h"
#include "simulate/rank_graph.h"
#include "sutra/pipeline.h"
#include "sutra/simulate.h"
#include "write/json.h"

enum what_if { WHAT_IF_NO_STRAGGLER, WHAT_IF_NETWORK, WHAT_IF_NO_COMMUNICATION, N_WHAT_IFS };

#define N_SENSITIVITY 10 /* names */
#define CHANGES_MAX   (LIST_MAX + 1)
#define SCALE_MAX     100000 /* layers, micro-batches, replicas */

struct simulate_job {
    struct job job; /* its output is the trace */
    struct sutra_simulate_options options;
    struct sutra_scale_options scale;
    const char *hop;
    int gpu, cpu, format, overlap, straggler;
    struct option_list scales, removals;
    const char *bandwidth, *folder; /* folder: for the changed files */
    bool sensitivity, what_ifs, shows_pipeline;
    const char *tables_folder; /* for the tables and the page of the pipeline */
    int table_format;          /* enum sutra_table_format */
    struct sutra_pipeline *pipeline;
    struct sutra_et_ranks *ranks, *scaled;    /* scaled NULL: no other number of layers, micro-batches or replicas */
    struct sutra_simulated_interval interval; /* high_ns 0: none */
    struct node_counts counts;                /* of the files */
    uint64_t *numbers;                        /* ranks of the files */
    const char *changes[CHANGES_MAX + 1];     /* one more for what-ifs */
    struct sutra_simulation *simulation, *before; /* with and without the changes; before NULL: no changes */
    uint64_t n_sensitivity;                       /* names with a time without their nodes */
    uint64_t what_if_ns[N_WHAT_IFS];              /* time of the job */
    const char *reference_folder;                 /* files of the same job for a resource per stream, or NULL */
    struct trace_list reference_files;
    struct sutra_et_ranks *reference; /* of --reference, or of the job of the files; NULL: none */
    char no_reference[700];           /* why the job of the files has none; "": it has one, or needs none */
    uint64_t reference_ns, reference_what_if_ns[N_WHAT_IFS]; /* its times with the same changes */
};

/* ---- Elements of a simulation ---- */

static inline double us_of(uint64_t ns) {
    return (double)ns / 1000;
}

/* Each returns element i by value. */
#define ELEMENT(name, type, index, fill)                                                                               \
    static inline struct type name(const struct sutra_simulation *simulation, index i) {                               \
        struct type made = {.size = sizeof made};                                                                      \
        fill(simulation, i, &made);                                                                                    \
        return made;                                                                                                   \
    }
ELEMENT(rank_at, sutra_simulated_rank, uint32_t, sutra_simulation_rank)
ELEMENT(name_at, sutra_simulated_name, uint64_t, sutra_simulation_name)
ELEMENT(wait_at, sutra_simulated_wait, uint64_t, sutra_simulation_wait)
ELEMENT(link_at, sutra_network_link, uint64_t, sutra_simulation_link)
ELEMENT(path_step_at, sutra_simulated_step, uint64_t, sutra_simulation_step)
#undef ELEMENT

/* ---- Text (simulate_text.c) ---- */

/*
 * The largest error of a what-if, in percent of the job; NaN: unknown. With a resource per stream: seen on jobs with a
 * known answer. With one resource per GPU the error depends on the job, but not by a rule on its overlap: it differs
 * from the answer of the files for streams by at most 0.6 % in 155 what-ifs of 31 jobs with a known answer.
 */
double error_bound(const struct simulate_job *simulate, bool no_straggler, uint64_t ns, uint64_t reference_ns,
                   uint64_t job_ns);

/* The same for enum what_if of the summary; no job without communication has a known answer. */
double summary_error(const struct simulate_job *simulate, int what_if);

/* Prints the result. */
void simulation_print(const struct simulate_job *simulate);

/* Warns about nodes without durations, durations that contain waits, unknown latencies of the network, and the parts of
 * ASTRA-sim's configuration in the directory of the job that sutra does not simulate. */
void simulation_warn(const struct simulate_job *simulate);

/* ---- Changed files (simulate_write.c) ---- */

/* The number between the last two dots of a name such as job.3.et or rank.3.et.gz; false: there is none. */
bool rank_digits(const char *name, const char **digits, const char **end);

/* Writes the files of --write. SUTRA_USAGE: a file would replace an input, or two files have one name.
 * SUTRA_NO_OUTPUT: a file exists, without --force. */
enum sutra_status write_changed(const struct simulate_job *simulate, struct sutra_error *error);

/* ---- Pipeline bubbles and expert balance (simulate_pipeline.c) ---- */

/* Prints the bubbles of at most n_most ranks, means over their steps, and the time lost by unbalanced experts. */
void pipeline_print(const struct sutra_pipeline *pipeline, uint32_t n_most);

/* Adds "pipeline": each table as an array of rows; null: the table is missing. */
void pipeline_add_json(struct json_out *json, const struct sutra_pipeline *pipeline);

/* Writes the tables and pipeline.html to a directory, which is created if missing. `path` names the job on the page. */
enum sutra_status pipeline_write(struct sutra_context *context, const struct sutra_pipeline *pipeline, const char *path,
                                 const char *folder, enum sutra_table_format format, struct sutra_error *error);

#endif
