/*
 * findings.h - why a rank's steps are slow, in sentences: rules that look at an overview, each of which says nothing
 * where it is not sure.
 *
 *     overview --guards.c--> cut at what is no training, or silence --rules_*.c--> findings --findings.c--> five
 *
 * Each rule has its threshold and its formula beside it, and in docs/findings.md. A win is how much of the window would
 * go, in percent; wins do not add up.
 *
 * Cost: O(n log n); arguments of operators are read only for the rule that names rates of products.
 */
#ifndef ANALYZE_OVERVIEW_FINDINGS_H
#define ANALYZE_OVERVIEW_FINDINGS_H

#include <math.h>

#include "analyze/collective_calls.h"
#include "analyze/operators/operators.h"
#include "analyze/overview/overview.h"
#include "analyze/overview/steps.h"
#include "columns/hash_tables.h"
#include "sutra/overview.h"
#include "text/names.h"
#include "text/quantities.h"

/* In the order in which findings of equal win stand. */
enum finding_rule {
    FINDING_STARTUP,
    FINDING_UNRECORDED_GRAPH,
    FINDING_DEVICE_SIDE,
    FINDING_DATA_LOADING,
    FINDING_CPU_PREPROCESSING,
    FINDING_HOST_BOUND,
    FINDING_SMALL_KERNELS_OPTIMIZER,
    FINDING_EXPOSED_COMM,
    FINDING_STRAGGLER,
    FINDING_SLOW_COLLECTIVE,
    FINDING_COPIES,
    FINDING_SYNC,
    FINDING_ALLOCATION,
    FINDING_FP32,
    FINDING_UNFUSED_ATTENTION,
    FINDING_ELEMENTWISE_FUSION,
    FINDING_LAYOUT,
    FINDING_DDP_BUFFERS,
    FINDING_GEMM_BOUND,
    FINDING_TRACE_EDGE,
    N_FINDING_RULES
};

/* As the rules are called outside: "data_loading". */
extern const char *const finding_names[N_FINDING_RULES];

#define FINDING_TEXT    600
#define FINDING_NUMBERS 8
#define FINDINGS_MOST   5

struct overview_finding {
    enum finding_rule rule;
    double win; /* percent of the window; NaN: none is claimed */
    char text[FINDING_TEXT];
    struct sutra_finding_number numbers[FINDING_NUMBERS];
    unsigned n_numbers;
};

struct overview_findings {
    struct overview_finding list[N_FINDING_RULES];
    unsigned n;
};

/* What several rules look at. Times are ticks. */
struct measures {
    double window;             /* its length, never 0 */
    double n_steps;            /* at least 1 */
    int64_t device_time;       /* durations of all work in the window, added up */
    int64_t *of_kernel;        /* by string: the same of work of this name, */
    int64_t *of_operator;      /* of what operators of this name launched, */
    row_t n_launches, n_empty; /* work launched in the window; all that was launched before had ended by then */
    row_t n_kernels, n_graph;  /* kernels, and those of graphs */
    row_t n_graph_launches;
    row_t n_collectives, n_short_collectives;
    int64_t host_active;       /* no launching thread waits or loads */
    int64_t blocked_on_device; /* the host waits while the device works */
    bool has_frames;
    row_t *launched; /* rows of devices whose call is known, by its start; n_launched of them */
    row_t n_launched;
    struct kind_clock idle;
    struct kind_clock exposed; /* communication that nothing hides; where exposed_comm speaks */
};

struct findings_work {
    struct sutra_context *context;
    const struct op_reading *reading;
    struct overview *overview;
    const struct collective_calls *calls; /* the collectives of the trace */
    bool alone;                           /* no trace of another rank is there, which would tell more */
    struct arena *arena;                  /* given back */
    struct measures measures;
    int64_t unexplained_waits;       /* ticks of waiting calls in which the device does what the trace does not hold */
    int64_t preprocessing;           /* ticks of host gaps that a rule of their own has */
    bool fired[N_FINDING_RULES];     /* whether the rule's condition held, though it may have nothing to win */
    bool silent_host, silent_device; /* the host cannot be what is slow; nor can the device be called idle */
    struct overview_findings *findings;
};

/* What is found in an overview, which may be cut at its beginning: best first, at most FINDINGS_MOST. `alone`: no other
 * rank's trace is there. */
enum sutra_status findings_make(struct sutra_context *context, const struct op_reading *reading,
                                struct overview *overview, const struct collective_calls *calls, bool alone,
                                struct arena *scratch, struct overview_findings *findings, struct sutra_error *error);

/* Best first, those without a win last; less than the least that is told is left out. */
void findings_order(struct overview_findings *findings, double busy_percent);

/* ---- For those who make them ---- */

/* A finding whose text is printed; `win` in ticks, or NaN. Numbers are added behind it. */
__attribute__((format(printf, 4, 5))) struct overview_finding *
finding_say(struct findings_work *work, enum finding_rule rule, double win, const char *format, ...);
/* Goes on with its text. */
__attribute__((format(printf, 2, 3))) void finding_add(struct overview_finding *finding, const char *format, ...);
void finding_number(struct overview_finding *finding, const char *name, double value);

/* "59.3 ms", "12 us": three digits; "59.3 ms of each 175 ms step", or of all where there are no steps. */
struct figure finding_time(double ticks);
struct figure finding_per_step(const struct findings_work *work, double ticks);
struct figure finding_percent(double part, double whole);
/* "642 per step", or "642 in total" where there are no steps. */
struct figure finding_count(const struct findings_work *work, double count);
/* A name of the trace in at most 48 columns. */
struct shortened finding_name(const struct findings_work *work, uint32_t string);

static inline double part_of_window(const struct findings_work *work, double ticks) {
    return ticks / work->measures.window * 100;
}

/* The name of the frame that most time of the rows of some kinds has; STRING_NONE: none has one. */
enum sutra_status finding_frame(struct findings_work *work, uint32_t kinds, uint32_t *name, int64_t *ticks,
                                struct sutra_error *error);

/* rules_communication.c: the bus bandwidth of a large collective within a machine, bytes a second; 0: it is none, or
 * its size is not told. Below this part of what links give they are hardly used. */
#define SLOW_LINK_PERCENT 10
double large_collective_bandwidth(const struct collective_calls *calls, const struct collective_call *call);

/* What collectives of equal kind, type, size and group have in common; and how many times as long as the quickest of
 * them one takes at least that takes unequally long. */
#define UNEVEN_SPREAD 1.5

/* guards.c: whether set-up comes again and again: a third of it or more in the second half of three steps or more. */
bool set_up_recurs(const struct overview *overview);

/* rules_*.c, in the order in which they look. */
typedef enum sutra_status finding_look(struct findings_work *work, struct sutra_error *error);
finding_look rule_data_loading, rule_cpu_preprocessing, rule_host_bound, rule_small_kernels_optimizer,
    rule_exposed_comm, rule_straggler, rule_slow_collective, rule_copies, rule_sync, rule_allocation, rule_fp32,
    rule_unfused_attention, rule_elementwise_fusion, rule_layout, rule_ddp_buffers, rule_gemm_bound;

#endif
