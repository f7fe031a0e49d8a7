/*
 * collectives.h - inside of struct sutra_collectives: the part of each trace, the times of each collective, and the
 * makers of tables.
 *
 *     traces --> parts: calls --> matches, clocks --> a struct collective_time each --> tables
 *       logs --> members, ranks: calls  /
 */
#ifndef ANALYZE_COLLECTIVES_COLLECTIVES_H
#define ANALYZE_COLLECTIVES_COLLECTIVES_H

#include "analyze/codec.h"
#include "analyze/collective_matches.h"
#include "analyze/launches/launches.h"
#include "analyze/rank_clocks.h"
#include "analyze/ranks.h"
#include "analyze/table.h"
#include "base/memory.h"
#include "facts/collectives.h"
#include "sutra/collectives.h"

/* The part of a trace. */
struct collective_part {
    struct sutra_collectives_rank rank;
    struct collective_calls calls;
    int64_t n_devices;         /* of its host; CALL_UNKNOWN */
    double link_gb_per_s;      /* of its device; 0: unknown */
    double compute_ns;         /* total of compute kernels */
    int64_t first_ns, last_ns; /* of GPU activity */
};

/* Whether the ranks of a collective are on one host or between hosts. */
enum collective_place { PLACE_UNKNOWN, PLACE_INSIDE, PLACE_BETWEEN };
extern const char *const collective_place_names[];

/* The times of a match, by the common clock if clocks are aligned. */
struct collective_time {
    enum comm_kind kind;
    enum collective_place place;
    int64_t n_members; /* of the group, or, if unknown, of the match */
    struct collective_moments at;
    int64_t skew_ns, end_skew_ns; /* of starts, of ends */
    int64_t bytes;                /* CALL_UNKNOWN */
    double algorithm, bus;        /* GB/s; NaN */
};

/* The inputs, if they are logs of NCCL Inspector (logs.c). All in the arena. */
struct collective_logs {
    struct sutra_collectives_rank *ranks; /* ascending, then skipped logs */
    size_t n_ranks, n_skipped;
    int64_t *hosts;                /* by index in `ranks`: the host, by name; CALL_UNKNOWN: skipped */
    enum collective_place *places; /* by group, from the number of nodes of the communicator */
};

struct sutra_collectives {
    struct sutra_result result;
    struct rank_tasks tasks; /* whose results are struct collective_part */
    struct sutra_collectives_options options;
    struct arena arena;
    struct collective_logs logs;   /* if calls.from_logs; then there are no tasks */
    struct collective_calls calls; /* of all ranks */
    struct collective_matches matches;
    struct rank_clock *clocks;
    bool *clock_set; /* by clock: times of its rank are aligned */
    row_t n_clocks;
    struct collective_checks checks;
    int64_t ranks_per_host;               /* 0: unknown */
    enum collective_place *places;        /* of groups */
    int64_t first_ns;                     /* of the job's GPU activity */
    double link_gb_per_s;                 /* 0: unknown */
    const struct collective_part **parts; /* by clock; NULL: the rank has no trace */
    struct rank_waits *sums;              /* by clock */
    struct sutra_collectives_summary summary;
    struct sutra_collectives_straggler straggler;
    char sentence[600];
};

/* ---- Operators that make a rank slow (straggler.c) ---- */

/* The operators of a rank by phase of a step: compute time of the GPU that they launch, without communication, which
 * depends on other ranks; and self CPU times. */
struct operator_times {
    struct strings names;
    struct operator_time {
        uint32_t name;
        uint8_t phase, on_host;
        uint16_t unused; /* 0: the list is encoded as it is in memory */
        uint64_t calls;
        double ns;
    } * list; /* owned */
    uint64_t n;
    double device_ns, host_ns; /* sums */
};

/* Leaves `arena` as it was. `times`, zeros, needs operator_times_free() in any case. O(n). SUTRA_SYSTEM: out of
 * memory. */
enum sutra_status operator_times_find(const struct launch_model *model, struct arena *arena,
                                      struct operator_times *times, struct sutra_error *error);
void operator_times_free(struct operator_times *times);
void operator_times_codec(struct codec *codec, struct operator_times *times);

/* The operator of a rank that takes longest beyond its time on another rank, in one phase of a step. */
struct rank_excess {
    bool on_host;      /* the CPU is slower, not the GPU */
    const char *phase; /* "forward"; "": no operator takes long enough */
    char operator_name[256];
    double us;
};

/* The rank of median compute time (n values by rank; NaN: it has no trace) among ranks that are not late, to which late
 * ranks are compared; ROW_NONE: there is none. `scratch` has room for n values. */
row_t find_median_rank(const double *compute_ns, const bool *late, row_t n, double *scratch);

/* Compares the operators of a rank for which the other ranks wait for wait_us with the operators of a reference. Makes
 * the table of operators of a result, if it is not NULL. O(n log n). SUTRA_SYSTEM: out of memory. */
enum sutra_status rank_excess_find(const struct operator_times *times, const struct operator_times *reference,
                                   double wait_us, struct rank_excess *excess, struct sutra_result *result,
                                   struct sutra_error *error);

extern const struct rank_analysis collectives_analysis;

/* Makes the tables of the tasks' results; `of` has its options and empty calls. SUTRA_SYSTEM: out of memory. */
enum sutra_status collectives_join(struct sutra_collectives *of, struct sutra_context *context,
                                   struct sutra_error *error);

/* Checks options and fills in defaults. */
enum sutra_status collectives_options_init(const struct sutra_collectives_options *given,
                                           struct sutra_collectives_options *taken, struct sutra_error *error);

static inline struct sutra_collectives_rank collectives_rank_of(const struct rank_task *task) {
    return (struct sutra_collectives_rank){.path = task->path,
                                           .rank = task->rank,
                                           .source = task->source,
                                           .reason = task->status ? task->error.message : NULL};
}

/* ---- Logs of NCCL Inspector (logs.c) ---- */

/* Whether inputs are logs, by the beginnings of the files. SUTRA_USAGE: logs and traces. */
enum sutra_status collective_inputs_are_logs(const char *const *paths, size_t n_paths, bool *are_logs,
                                             struct sutra_error *error);

/* Reads logs in parallel into of->logs and of->calls. SUTRA_USAGE: options that need times or several processes.
 * SUTRA_DATA: no log could be read; or, in a strict context, one of them. O(bytes + n log n). */
enum sutra_status collective_logs_read(struct sutra_collectives *of, struct sutra_context *context,
                                       const char *const *paths, size_t n_paths, struct sutra_error *error);

/* ---- Parts ---- */

/* Reads the part of a trace. SUTRA_SYSTEM: out of memory. */
enum sutra_status collective_part_read(struct collective_part *part, struct sutra_context *context,
                                       const struct sutra_device_trace *trace, int64_t rank, struct sutra_error *error);

struct collective_part *collective_part_of(const struct sutra_collectives *of, size_t number);

/* ---- Times ---- */

/* The input of collective_moments_of() and of waits. */
struct job_collectives collectives_job(const struct sutra_collectives *of);

/* Finds the times of a match. O(ranks log ranks). */
struct collective_time collective_time_of(const struct sutra_collectives *of, const struct collective_match *match);

/* ---- Tables ---- */

static inline double microseconds(int64_t ns) {
    return (double)ns / 1e3;
}

/* tables.c: names and columns of all tables. */
extern const struct table_spec collective_table_specs[];

/* tables.c: collectives and arrivals; kinds, groups and sizes. SUTRA_SYSTEM: out of memory. */
enum sutra_status collective_tables_make(struct sutra_collectives *of, struct sutra_error *error);
enum sutra_status collective_kinds_make(struct sutra_collectives *of, struct sutra_error *error);

/* straggler.c: the stragglers and the operators that make the latest one slow; reads two traces again. */
enum sutra_status collective_straggler_find(struct sutra_collectives *of, struct sutra_context *context,
                                            struct sutra_error *error);

#endif
