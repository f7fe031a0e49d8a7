/*
 * findings.h - why the steps of a rank are slow, in sentences: rules that inspect an overview. A rule that is not
 * certain reports nothing.
 *
 *     overview --guards (findings.c)--> cropped or suppressed --rules_*.c--> findings --sort (findings.c)--> five
 *
 * Each rule has its threshold and its formula next to it, and in docs/findings.md. A saving is how much of the window
 * would go, in percent; savings do not add up.
 *
 * Cost: O(n log n); arguments of operators are read only by rules that report rates.
 */
#ifndef ANALYZE_OVERVIEW_FINDINGS_H
#define ANALYZE_OVERVIEW_FINDINGS_H

#include <math.h>

#include "analyze/collective_calls.h"
#include "analyze/operators/operators.h"
#include "analyze/overview/overview.h"
#include "analyze/overview/steps.h"
#include "analyze/rank_clocks.h"
#include "analyze/table.h"
#include "columns/hash_tables.h"
#include "sutra/overview.h"
#include "text/names.h"
#include "text/quantities.h"

/* The rules: name in outputs, scope, function. They are applied in this order, and findings of equal saving are sorted
 * in this order. Guards, which have no function, are applied before all of them. */
#define FINDING_RULES(GUARD, RULE)                                                                                     \
    GUARD(NO_KERNELS, "no_kernels")                                                                                    \
    GUARD(STARTUP, "startup")                                                                                          \
    GUARD(UNRECORDED_GRAPH, "unrecorded_graph")                                                                        \
    GUARD(DEVICE_SIDE, "device_side")                                                                                  \
    RULE(DATA_LOADING, "data_loading", SCOPE_IDLE, rule_data_loading)                                                  \
    RULE(CPU_PREPROCESSING, "cpu_preprocessing", SCOPE_IDLE, rule_cpu_preprocessing)                                   \
    RULE(HOST_BOUND, "host_bound", SCOPE_IDLE, rule_host_bound)                                                        \
    RULE(SMALL_KERNELS_OPTIMIZER, "small_kernels_optimizer", SCOPE_STEP, rule_small_kernels_optimizer)                 \
    RULE(EXPOSED_COMM, "exposed_comm", SCOPE_STEP, rule_exposed_comm)                                                  \
    RULE(STRAGGLER, "straggler", SCOPE_STEP, rule_straggler)                                                           \
    RULE(SLOW_COLLECTIVE, "slow_collective", SCOPE_STEP, rule_slow_collective)                                         \
    RULE(COPIES, "copies", SCOPE_STEP, rule_copies)                                                                    \
    RULE(SYNC, "sync", SCOPE_STEP, rule_sync)                                                                          \
    RULE(ALLOCATION, "allocation", SCOPE_STEP, rule_allocation)                                                        \
    RULE(FP32, "fp32_no_tensor_cores", SCOPE_COMPUTE, rule_fp32)                                                       \
    RULE(UNFUSED_ATTENTION, "unfused_attention", SCOPE_COMPUTE, rule_unfused_attention)                                \
    RULE(ELEMENTWISE_FUSION, "elementwise_fusion", SCOPE_COMPUTE, rule_elementwise_fusion)                             \
    RULE(LAYOUT, "layout", SCOPE_STEP, rule_layout)                                                                    \
    RULE(DDP_BUFFERS, "ddp_buffers", SCOPE_STEP, rule_ddp_buffers)                                                     \
    RULE(GEMM_BOUND, "gemm_bound", SCOPE_STEP, rule_gemm_bound)                                                        \
    GUARD(TRACE_EDGE, "trace_edge")

#define FINDING_GUARD_ID(id, name)                 FINDING_##id,
#define FINDING_RULE_ID(id, name, scope, function) FINDING_##id,
enum finding_rule { FINDING_RULES(FINDING_GUARD_ID, FINDING_RULE_ID) N_FINDING_RULES };

/* Names of rules in outputs: "data_loading". */
extern const char *const finding_names[N_FINDING_RULES];

#define FINDING_SEEN    480
#define FINDING_NAME    128
#define FINDING_NUMBERS 8
#define FINDINGS_MOST   5
#define FINDING_UNITS   3
#define FINDING_IDS     4

/* Where a finding is: shares of its time in percent. */
struct finding_where {
    double phases[SUTRA_N_PHASES];
    struct finding_unit {
        uint32_t phase; /* enum sutra_phase; SUTRA_N_PHASES: none */
        double percent;
        char name[FINDING_NAME];
    } units[FINDING_UNITS];
    unsigned n_units;
    unsigned n_names;         /* different units, shown or not */
    char frame[FINDING_NAME]; /* "": unknown */
};

/* The range that represents a finding: microseconds after the first event of the trace. */
struct finding_range {
    int64_t from_us, to_us; /* equal: none */
    char step[FINDING_NAME];
    unsigned n_threads, n_streams;
    char threads[FINDING_IDS][24], streams[FINDING_IDS][24]; /* the most active ones, by activity */
};

/*
 * The intervals of a finding, and the part of them that a repair would save:
 *
 *     saving = weight * length of the intervals
 */
struct overview_finding {
    enum finding_rule rule;
    double saving_percent; /* estimated saving, percent of the window; NaN: none is claimed */
    double uncapped;       /* the same without the cap; equal: there is none */
    double weight;         /* 0 .. 1 */
    struct spans spans;    /* in the arena of the diagnosis */
    uint64_t facts;        /* of the trace, which select the remedies (remedies.h) */
    uint32_t remedy;       /* index of the row of remedies */
    uint32_t part_of;      /* a bit for each rule of a finding whose intervals contain these */
    uint32_t limited_by;   /* enum finding_limit */
    char seen[FINDING_SEEN];
    char subject[FINDING_NAME]; /* what the remedy names: a function, an operator */
    char now[32];               /* value of the metric that the remedy changes */
    struct finding_where where;
    struct finding_range range;
    struct sutra_finding_number numbers[FINDING_NUMBERS];
    unsigned n_numbers;
};

enum finding_limit { LIMIT_NONE, LIMIT_HOST_WAITS, LIMIT_STRAGGLER };

struct overview_findings {
    struct overview_finding list[N_FINDING_RULES]; /* shown ones first */
    unsigned n;                                    /* shown */
    unsigned n_all;
};

/* Measurements that several rules use. Times are ticks. */
struct measures {
    double window;             /* its length, never 0 */
    double n_steps;            /* at least 1 */
    int64_t device_time;       /* sum of the durations of all activities in the window */
    int64_t *of_kernel;        /* by string: the same for activities of this name, */
    int64_t *of_operator;      /* and for activities that operators of this name launched */
    row_t n_launches, n_empty; /* activities launched in the window; launched when all earlier ones had ended */
    row_t n_kernels, n_graph;  /* kernels; kernels of graphs */
    row_t n_short_kernels;     /* below SHORT_KERNEL_NS */
    row_t n_graph_launches;
    row_t n_collectives, n_short_collectives;
    int64_t host_active;       /* no launching thread synchronizes or loads */
    int64_t host_needed;       /* the same without launch calls that a full queue blocks */
    int64_t median_call;       /* median duration of launch calls */
    int64_t blocked_on_device; /* the host synchronizes while the GPU is busy */
    int64_t blocking;          /* any thread is in a synchronizing call */
    int64_t loading;           /* any thread loads data */
    int64_t fp32_time;         /* durations of kernels in FP32 without tensor cores */
    bool has_frames;
    row_t *launched; /* rows of devices with a known call, by the start of the call */
    row_t n_launched;
    struct kind_clock idle;
    struct kind_clock exposed; /* exposed communication; if the rule exposed_comm fired */
};

struct diagnosis {
    struct sutra_context *context;
    const struct launch_model *model;
    struct overview *overview;
    const struct overview_steps *steps;
    const struct collective_calls *calls; /* the collectives of the trace */
    bool alone;                           /* no other rank's trace, which would contain more, is analyzed */
    struct arena *kept;                   /* intervals of findings */
    struct arena *arena;                  /* scratch */
    struct measures measures;
    uint64_t facts;             /* of the trace: remedies.h */
    int64_t unexplained_sync;   /* ticks of synchronizing calls in which no recorded activity runs */
    struct spans preprocessing; /* host gaps that the rule cpu_preprocessing reports, */
    struct spans host;          /* and all other gaps of the host and of launches */
    struct spans straggler;     /* exposed communication that waits for a straggler */
    bool fired[N_FINDING_RULES];
    bool host_suppressed;          /* rules about the host are suppressed, */
    bool kernels_suppressed;       /* and rules about kernels */
    int64_t excluded;              /* ticks of the start of the trace that are cropped, */
    enum finding_rule excluded_by; /* by this guard */
    struct overview_findings *findings;
};

struct rank_verdict;

/* Reports the verdict on an overview, which may be cropped. `alone`: no other rank's trace is analyzed. Intervals of
 * findings are in `arena`; the verdict needs rank_verdict_free() in any case. */
enum sutra_status find_findings(struct sutra_context *context, const struct launch_model *model,
                                struct overview *overview, const struct overview_steps *steps,
                                const struct collective_calls *calls, bool alone, struct arena *arena,
                                struct arena *scratch, struct rank_verdict *verdict, struct sutra_error *error);

/* Sorts by saving, largest first and unknown ones last; `n` becomes the number of findings that are shown: without
 * small savings, at most FINDINGS_MOST. */
void sort_findings(struct overview_findings *findings, double busy_percent);

/* ---- For the rules ---- */

/* Adds a finding with the evidence that its text reports. Its saving is the length of its intervals; `spans` NULL: it
 * claims none. */
__attribute__((format(printf, 4, 5))) struct overview_finding *
add_finding(struct diagnosis *d, enum finding_rule rule, const struct spans *spans, const char *format, ...);

/* Reduces its saving to some ticks. */
void set_finding_saving(const struct diagnosis *d, struct overview_finding *finding, double ticks);

/* Its intervals are not a saving. */
void claim_no_saving(struct overview_finding *finding);

/* Appends to the evidence. */
__attribute__((format(printf, 2, 3))) void append_finding_text(struct overview_finding *finding, const char *format,
                                                               ...);
void add_finding_number(struct overview_finding *finding, const char *name, double value);
__attribute__((format(printf, 2, 3))) void set_finding_now(struct overview_finding *finding, const char *format, ...);

/* "59.3 ms", "12 us": three digits. */
struct figure finding_time(double ticks);
/* "59.3 ms of each 175 ms step"; without steps, of the window. */
struct figure finding_per_step(const struct diagnosis *d, double ticks);
struct figure finding_percent(double part, double whole);
/* "642 per step", or "642 in total" without steps. */
struct figure finding_count(const struct diagnosis *d, double count);
/* A name of the trace in at most 48 columns. */
struct shortened finding_name(const struct diagnosis *d, uint32_t string);
/* A name of the trace for a field of `size` bytes. */
void copy_finding_name(const struct diagnosis *d, uint32_t string, char *name, size_t size);

static inline double percent_of_window(const struct diagnosis *d, double ticks) {
    return ticks / d->measures.window * 100;
}

/* The name of the enclosing event with most time in rows of some kinds; STRING_NONE: no row has one. */
enum sutra_status find_main_frame(const struct diagnosis *d, uint32_t kinds, uint32_t *name, int64_t *ticks,
                                  struct sutra_error *error);

/* Whether set-up recurs: at least a third of it is in the second half of at least three steps. */
bool set_up_recurs(const struct overview *overview);

/* rules_communication.c: the bus bandwidth of a large collective within a machine, bytes per second; 0: it is small
 * or of unknown size. Links with less than this percentage of their peak are underused. */
#define SLOW_LINK_PERCENT 10
double large_collective_bandwidth(const struct collective_calls *calls, const struct collective_call *call);

/* The limit of ranges of evidence. */
#define MAX_RANGE_NS 50000000

/* where.c: the name of a unit: an autograd node without its prefix, Optimizer.step#SGD without the method. */
void copy_unit_name(const struct diagnosis *d, uint32_t string, char name[FINDING_NAME]);

/* where.c: the phases and units of the host's rows of some kinds, outside of `without`; fills finding->where. */
enum sutra_status find_host_places(const struct diagnosis *d, uint32_t kinds, const struct spans *without,
                                   struct finding_where *where, struct sutra_error *error);

/* The same of GPU activities with `ticks` (by row of devices): their own names, or the operators that launched them. */
enum sutra_status find_device_places(const struct diagnosis *d, const int64_t *ticks, bool by_kernel,
                                     struct finding_where *where, struct sutra_error *error);

typedef enum sutra_status finding_rule_function(struct diagnosis *d, struct sutra_error *error);
#define FINDING_NO_FUNCTION(id, name)
#define FINDING_RULE_FUNCTION(id, name, scope, function) finding_rule_function function;
FINDING_RULES(FINDING_NO_FUNCTION, FINDING_RULE_FUNCTION)

/*
 * The straggler among the ranks of a job.
 *
 *     rank 0             |-| all-to-all      arrives last: shortest duration
 *     rank 1   |-----------| all-to-all
 *     rank 3       |-------| all-to-all
 *
 * Input: the collectives of all ranks, which are matched by their recorded number, or else by their order. The rule for
 * a straggler is in analyze/rank_clocks.h; it is applied to the windows of the overviews. The shortest duration of a
 * collective is its transfer, so that a wait for a rank is not reported as slow links.
  */

struct rank_collectives {
    int64_t rank;
    struct rank_window window; /* by the clock of `calls` */
    row_t n_steps;
    int64_t first_ns; /* the first event of the trace, by the same clock */
    struct collective_calls calls;
    double link;         /* peak of the links of its GPU, bytes per second; 0: unknown */
    double wait_percent; /* output: part of the window in which it waits for the straggler */
};

/* Reads the collectives of a rank; `collectives->calls` needs collective_calls_free() in any case. */
enum sutra_status rank_collectives_read(struct sutra_context *context, const struct overview *overview, int64_t rank,
                                        struct rank_collectives *collectives, struct sutra_error *error);

/* Updates the window after the overview was cropped. */
void rank_collectives_crop(const struct overview *overview, struct rank_collectives *collectives);

struct job_findings {
    bool is_late;
    struct overview_finding late; /* if is_late: the straggler */
    int64_t straggler, waiting;   /* its rank, and the rank that waits longest for it */
    bool links_used;              /* by a large collective once all ranks have arrived: links are not slow */
};

/* Columns of the table of waits: a row for each rank with collectives. */
enum { WAITS_RANK, WAITS_N, WAITS_WAITED, WAITS_FOR, WAITS_LAST, WAITS_FIRST };

/* `ranks` ascend. Appends rows to `waits` (may be NULL). */
enum sutra_status find_job_straggler(struct rank_collectives *const *ranks, size_t n, struct arena *scratch,
                                     struct job_findings *found, struct sutra_table *waits, struct sutra_error *error);

#endif
