/*
 * collectives.h - inside of struct sutra_collectives: what of each trace is kept, what of each collective is worked
 * out, and the makers of tables.
 *
 *     traces --parts.c--> calls --> matches, clocks --times.c--> a struct collective_time each --> tables
 */
#ifndef ANALYZE_COLLECTIVES_COLLECTIVES_H
#define ANALYZE_COLLECTIVES_COLLECTIVES_H

#include "analyze/collective_checks.h"
#include "analyze/rank_clocks.h"
#include "analyze/ranks.h"
#include "analyze/table.h"
#include "base/memory.h"
#include "facts/collectives.h"
#include "sutra/collectives.h"

/* What is kept of a trace. */
struct collective_part {
    struct sutra_collectives_rank rank;
    struct collective_calls calls;
    struct nccl_rows *nccl;    /* of TraceLens' tables; NULL */
    int64_t n_devices;         /* of its host; CALL_UNKNOWN */
    double link_gb_per_s;      /* of its device; 0: not known */
    double compute_ns;         /* of kernels that compute, added up */
    int64_t first_ns, last_ns; /* work of the device */
};

enum collective_place { PLACE_UNKNOWN, PLACE_INSIDE, PLACE_BETWEEN };
extern const char *const collective_place_names[];

/* A match, worked out. Moments are by the clock of the first rank, as far as that is known. */
struct collective_time {
    enum comm_kind kind;
    enum collective_place place;
    int64_t n_members; /* as the group tells it, else those that are there */
    struct collective_moments at;
    int64_t skew_ns, end_skew_ns; /* of starts, of ends */
    int64_t bytes;                /* CALL_UNKNOWN */
    double algorithm, bus;        /* GB/s; NaN */
};

struct sutra_collectives {
    struct rank_tasks tasks; /* whose results are struct collective_part */
    struct sutra_collectives_options options;
    struct arena arena;
    struct collective_calls calls; /* of all ranks */
    struct collective_matches matches;
    struct rank_clock *clocks;
    bool *clock_set; /* by place among the clocks: its times are taken as set right */
    row_t n_clocks;
    struct collective_checks checks;
    int64_t ranks_per_host;               /* 0: not known */
    enum collective_place *places;        /* of groups */
    int64_t first_ns;                     /* of the job's work */
    double link_gb_per_s;                 /* 0: not known */
    const struct collective_part **parts; /* by place among the clocks, as the next; NULL: it has no trace */
    struct rank_waits *sums;
    struct sutra_collectives_summary summary;
    struct sutra_collectives_straggler straggler;
    char sentence[600];
    struct sutra_table tables[SUTRA_COLLECTIVES_N_TABLES];
    bool made[SUTRA_COLLECTIVES_N_TABLES];
};

extern const struct rank_analysis collectives_analysis;

/* Makes the tables of what the tasks kept; `of` has its options and empty calls. SUTRA_SYSTEM: out of memory. */
enum sutra_status collectives_join(struct sutra_collectives *of, struct sutra_context *context,
                                   struct sutra_error *error);

/* ---- Parts (parts.c) ---- */

/* Keeps what a trace tells. SUTRA_SYSTEM: out of memory. */
enum sutra_status collective_part_take(struct collective_part *part, struct sutra_context *context,
                                       const struct sutra_device_trace *trace, int64_t rank, bool compat,
                                       struct sutra_error *error);

struct collective_part *collective_part_of(const struct sutra_collectives *of, size_t number);

/* ---- Moments (times.c) ---- */

/* What waits are worked out from. */
struct job_collectives collectives_job(const struct sutra_collectives *of);

/* Works out a match. O(ranks log ranks). */
struct collective_time collective_time_of(const struct sutra_collectives *of, const struct collective_match *match);

/* ---- Tables (table_specs.c) ---- */

/* Sets a table up, under its name and with its columns. */
struct sutra_table *collective_table_begin(struct sutra_collectives *of, enum sutra_collectives_table id);

/* All and arrivals (tables.c); kinds, groups and sizes (kinds.c); ranks, clocks, hosts and checks, and the sums behind
 * them (ranks.c). SUTRA_SYSTEM: out of memory. */
enum sutra_status collective_tables_make(struct sutra_collectives *of, struct sutra_error *error);
enum sutra_status collective_kinds_make(struct sutra_collectives *of, struct sutra_error *error);

/* Who holds the job up, and by which operators, for which two traces are read again (straggler.c). */
enum sutra_status collective_straggler_find(struct sutra_collectives *of, struct sutra_context *context,
                                            struct sutra_error *error);

#endif
