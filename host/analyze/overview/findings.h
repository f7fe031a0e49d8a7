/*
 * findings.h - why the steps of a rank are slow, in sentences: rules that inspect an overview. A rule that is not
 * certain reports nothing.
 *
 *     overview --guards--> cropped or suppressed --rules in the order of FINDING_RULES--> findings --sort--> five
 *
 *     rule      its name, title, function, what a repair changes        struct finding_rule, next to the function:
 *     remedies  rows of situation, needed facts, lines to do            rules_host.c, rules_cpu.c, rules_gpu.c,
 *     finding   intervals, saving, evidence, facts                      rules_communication.c; guards in findings.c
 *
 *     names of a trace --read_trace_facts()--> facts, a bit each --+
 *     rule: facts of the finding ----------------------------------+--> the first row that fits: finding_remedy()
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
#include "columns/hash_tables.h"
#include "sutra/overview.h"
#include "text/names.h"
#include "text/quantities.h"

/* Facts that distinguish situations. */
enum finding_fact {
    /* of the trace */
    FACT_ENGINE = 1 << 0, /* an inference engine */
    FACT_BACKWARD = 1 << 1,
    FACT_OPTIMIZER = 1 << 2,
    FACT_COMPILED = 1 << 3,
    FACT_HIP = 1 << 4,
    FACT_MOE = 1 << 5,
    FACT_EMBEDDING = 1 << 6,
    FACT_FSDP = 1 << 7,
    FACT_DDP = 1 << 8,
    FACT_WORKERS = 1 << 9,        /* of a data loader */
    FACT_INLINE_LOADER = 1 << 10, /* loads in the training process */
    FACT_CUDA = 1 << 11,          /* not FACT_HIP */
    FACT_SGLANG = 1 << 12,
    /* of a finding */
    FACT_GRAPHS = 1 << 13,       /* launches graphs */
    FACT_FEW_LAUNCHES = 1 << 14, /* one pass of inference */
    FACT_ALL_REDUCE = 1 << 15,   /* the kind of most exposed communication */
    FACT_SHARDED = 1 << 16,      /* all-gather and reduce-scatter */
    FACT_ALL_TO_ALL = 1 << 17,
    FACT_FORWARD = 1 << 18,    /* in the forward phase, within one host */
    FACT_MANY_SHORT = 1 << 19, /* collectives, about one per parameter */
    FACT_MANY_KERNELS = 1 << 20,
    FACT_ITEM = 1 << 21, /* the caller of a synchronizing call */
    FACT_NONZERO = 1 << 22,
    FACT_FROM_DEVICE = 1 << 23, /* a copy */
    FACT_TO_DEVICE = 1 << 24,
    FACT_ON_DEVICE = 1 << 25,
    FACT_PAGEABLE = 1 << 26,
    FACT_STATIC_INPUT = 1 << 27, /* into buffers of a graph */
    FACT_NAMED = 1 << 28,        /* the finding names a function or operator */
    FACT_FEW_ROWS = 1 << 29,     /* a matrix multiplication that is bound by memory */
    FACT_UNNAMED = 1 << 30       /* it names none */
};

#define FACT_VLLM         (1U << 31)
#define FACT_DEEPEP       ((uint64_t)1 << 32) /* the library of most exposed communication */
#define FACT_INNER_REDUCE ((uint64_t)1 << 33) /* an all-reduce of an inference engine */
#define FACT_OTHER_DEVICE ((uint64_t)1 << 34) /* neither FACT_CUDA nor FACT_HIP */
#define FACT_HOST_ONLY    ((uint64_t)1 << 35) /* no device was recorded */
#define FACT_UNDELIVERED  ((uint64_t)1 << 36) /* launch calls, but no GPU activity */

#define FACT_LONG_KERNELS ((uint64_t)1 << 37) /* the median kernel takes longer than two median launch calls */
#define FACT_EQUAL_STEPS  ((uint64_t)1 << 38) /* the finding recurs at equal distances of steps */
#define FACT_FRAMES       ((uint64_t)1 << 39) /* the trace records Python functions */
#define FACT_FIRST_CALLS  ((uint64_t)1 << 40) /* first calls are most of a warm-up */
#define FACT_NO_OPERATORS ((uint64_t)1 << 43) /* the trace records no CPU operators */
#define FACT_CPU_MODEL    ((uint64_t)1 << 41) /* operators of CPU backends are most of the time */
#define FACT_DEVICE_USED  ((uint64_t)1 << 42) /* a call or a tensor of a device, in a trace without GPU activity */

#define FACT_MEGATRON       ((uint64_t)1 << 44)
#define FACT_SEVERAL_RANKS  ((uint64_t)1 << 45) /* several stragglers */
#define FACT_LARGE_MESSAGES ((uint64_t)1 << 46) /* collectives of SMALL_MESSAGE_BYTES or more, or of unknown size */

/* ---- Remedies ---- */

#define REMEDY_LINES  4
#define REMEDIES_MOST 20

/* A line of a remedy. In the text, %s is replaced by the subject of the finding. */
struct remedy_line {
    const char *text, *api, *source;
    uint64_t unless; /* facts of traces that already have it */
};

/* What to do in a situation: if the finding has all needed facts, and none of the excluded ones. */
struct remedy {
    const char *situation; /* name in outputs; NULL: the only one of the rule */
    uint64_t needs, excludes;
    struct remedy_line lines[REMEDY_LINES];
    const char *metric, *after; /* instead of the rule's */
    const char *note;           /* after the title: "gradient all-reduce" */
    const char *fix;            /* instead of the rule's */
};

/* Pages that several rules name; the names of interfaces, and versions, are from there. */
#define TORCH_DOCS    "docs.pytorch.org/docs/stable/"
#define COMPILE_PAGE  TORCH_DOCS "generated/torch.compile.html"
#define DDP_PAGE      TORCH_DOCS "generated/torch.nn.parallel.DistributedDataParallel.html"
#define PROFILER_PAGE TORCH_DOCS "profiler.html"
#define PINNED_PAGE   "docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html"
#define TUNING_PAGE   "docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html"

/* ---- Rules ---- */

struct diagnosis;

/* Time that a rule is about. If the GPU is often idle, findings about compute follow those about idle time. */
enum finding_scope { SCOPE_STEP, SCOPE_IDLE, SCOPE_COMPUTE, SCOPE_COMMUNICATION };

/* The CPU after a repair: as busy as before, so that it may become the limit of the step; or less busy. */
enum finding_cpu { CPU_NO_LIMIT, CPU_STAYS_BUSY, CPU_IS_RELIEVED };

/* A popular number in percent, and its cost in this trace in percent of the window. */
struct suspect_percents {
    double apparent, cost;
};

/* Everything that is specific to a rule. Members that a rule omits are 0. */
struct finding_rule {
    const char *name;  /* in outputs: "data_loading" */
    const char *title; /* on pages: "Data loading" */
    struct {
        uint64_t fact;
        const char *title;
    } title_if; /* the title of findings with a fact */

    /* Adds the finding; NULL: a guard, which findings.c applies before all rules. */
    enum sutra_status (*find)(struct diagnosis *d, struct sutra_error *error);
    enum finding_scope scope;
    bool is_first;                      /* precedes all others, and is certain in a damaged trace, too */
    unsigned position;                  /* among findings without a saving, which are last; ascending */
    double min_percent;                 /* of the saving of a finding that is shown; 0: MIN_SAVING */
    bool uses_launches;                 /* rests on the time from launches to activities */
    bool cause_is_unknown;              /* lists functions: its time remains unexplained, and it is repaired last */
    const struct finding_rule *part_of; /* in the time of this rule's finding, by definition */

    /* The saving, and the step without this time. */
    bool is_estimate;    /* not an upper limit */
    bool includes_waits; /* for a straggler of the job, which are subtracted */
    enum finding_cpu cpu;

    /* Words of pages. */
    const char *marked;                    /* its intervals in a picture: "layout kernels"; NULL: GPU idle time */
    const char *waits_for;                 /* the headline of the host's idle time: "for kernel launches"; NULL */
    const char *fix;                       /* what a repair changes: "348 ms -> 204 ms if the CPU kept up" */
    const char *metric, *after;            /* what to check afterwards: "launches per step", "must fall" */
    struct remedy remedies[REMEDIES_MOST]; /* the first one that fits; the last one has no conditions */

    /* A number that other tools name as the cause (suspects in verdict.c); without a name: none. */
    struct {
        const char *name, *text; /* the text formats both percents */
        double min_apparent;     /* to be named */
        struct suspect_percents (*measure)(const struct diagnosis *d);
        unsigned position; /* among equal ones, ascending */
    } suspect;
};

/* The rules in the order of their application and of findings with equal savings. RULE(x) is struct finding_rule
 * rule_x. Numbers of rules are indices of this list, in sets of bits and in partial results. */
#define FINDING_RULES(RULE)                                                                                            \
    RULE(no_kernels)                                                                                                   \
    RULE(startup)                                                                                                      \
    RULE(unrecorded_graph)                                                                                             \
    RULE(device_side)                                                                                                  \
    RULE(data_loading)                                                                                                 \
    RULE(host_stall)                                                                                                   \
    RULE(cpu_preprocessing)                                                                                            \
    RULE(host_bound)                                                                                                   \
    RULE(small_kernels_optimizer)                                                                                      \
    RULE(exposed_comm)                                                                                                 \
    RULE(straggler)                                                                                                    \
    RULE(slow_collective)                                                                                              \
    RULE(copies)                                                                                                       \
    RULE(sync)                                                                                                         \
    RULE(allocation)                                                                                                   \
    RULE(host_gaps)                                                                                                    \
    RULE(fp32)                                                                                                         \
    RULE(unfused_attention)                                                                                            \
    RULE(elementwise_fusion)                                                                                           \
    RULE(layout)                                                                                                       \
    RULE(ddp_buffers)                                                                                                  \
    RULE(gemm_bound)                                                                                                   \
    RULE(trace_edge)                                                                                                   \
    RULE(eval_mode_missing)

#define FINDING_RULE_DECLARED(x) extern const struct finding_rule rule_##x;
FINDING_RULES(FINDING_RULE_DECLARED)

#define FINDING_RULE_COUNTED(x) +1
enum { N_FINDING_RULES = FINDING_RULES(FINDING_RULE_COUNTED), FINDING_RULES_MOST = 31 /* sets have a bit for each */ };
extern const struct finding_rule *const finding_rules[];
extern const uint32_t n_finding_rules; /* a variable, so that a new rule changes few objects */

uint32_t finding_rule_number(const struct finding_rule *rule);
static inline uint32_t finding_rule_bit(const struct finding_rule *rule) {
    return 1U << finding_rule_number(rule);
}
/* NULL: no rule has this name. */
const struct finding_rule *finding_rule_named(const char *name);

/* ---- Findings ---- */

#define FINDING_SEEN    480
#define FINDING_NAME    128
#define FINDING_NUMBERS 12
#define FINDINGS_MOST   5
#define FINDING_UNITS   3
#define FINDING_IDS     4
#define FINDING_FRAME   320

/* Where a finding is: shares of its time in percent. */
struct finding_where {
    double phases[SUTRA_N_PHASES];
    struct finding_unit {
        uint32_t phase; /* enum sutra_phase; SUTRA_N_PHASES: none */
        double percent;
        char name[FINDING_NAME];
    } units[FINDING_UNITS];
    unsigned n_units;
    unsigned n_names;          /* different units, shown or not */
    char frame[FINDING_FRAME]; /* "": unknown */
    unsigned n_code;           /* different functions of its code, listed in struct rank_verdict or not */
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
    const struct finding_rule *rule;
    double saving_percent;  /* estimated saving, percent of the window; NaN: none is claimed */
    double uncapped;        /* the same without the cap; equal: there is none */
    double weight;          /* 0 .. 1 */
    struct spans spans;     /* in the arena of the diagnosis */
    const uint8_t *kernels; /* there, too: by row of devices, the kernels of a rule about kernels; NULL */
    const char *range_code; /* there, too: the code of most of its time in the range, "train.py:12 step"; NULL */
    uint64_t facts;         /* of the finding, and of the trace: they select the remedy */
    uint32_t part_of;       /* a bit for each rule of a finding whose intervals contain these */
    uint32_t limited_by;    /* enum finding_limit */
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
    struct overview_finding list[FINDING_RULES_MOST]; /* shown ones first */
    unsigned n;                                       /* shown */
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
    row_t *launched;           /* rows of devices with a known call, by the start of the call */
    row_t n_launched;
    struct kind_clock idle;
    struct kind_clock exposed; /* exposed communication; if the rule exposed_comm fired */
    int64_t off_core;          /* the thread with most launches is off its core (rules_host.c) */
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
    uint64_t facts;                         /* of the trace */
    int64_t unexplained_sync;               /* ticks of synchronizing calls in which no recorded activity runs */
    int64_t device_side;                    /* ticks of idle time that the host does not cause; 0: few */
    struct spans host;                      /* gaps of the host and of launches that no earlier rule explains */
    struct spans straggler;                 /* exposed communication that waits for a straggler */
    bool host_suppressed;                   /* rules about the host are suppressed, */
    bool kernels_suppressed;                /* and rules about kernels */
    int64_t excluded;                       /* ticks of the start of the trace that are cropped, */
    const struct finding_rule *excluded_by; /* by this guard; NULL */
    bool is_startup;                        /* all rules are suppressed */
    struct spans first_calls;               /* idle time of the host before first calls, which belongs to no rule */
    struct overview_findings *findings;
};

/* Fills d->facts. Leaves d->arena as it was. */
enum sutra_status read_trace_facts(struct diagnosis *d, struct sutra_error *error);

/* Applies guards and rules, which may crop the overview. */
enum sutra_status apply_rules(struct diagnosis *d, struct sutra_error *error);

/* Sorts by saving, largest first and unknown ones last; `n` becomes the number of findings that are shown: without
 * small savings, at most FINDINGS_MOST. */
void sort_findings(struct overview_findings *findings, double busy_percent);

/* Whether it has no saving, or a large one. */
bool finding_is_shown(const struct overview_finding *finding);

/* The finding of a rule among the first n of a list; NULL: none. */
const struct overview_finding *finding_of_rule(const struct overview_finding *list, unsigned n,
                                               const struct finding_rule *rule);

/* Whether a rule fired before. */
static inline bool has_fired(const struct diagnosis *d, const struct finding_rule *rule) {
    return finding_of_rule(d->findings->list, d->findings->n_all, rule) != NULL;
}

/* ---- Texts of a finding (finding_texts.c) ---- */

/* The title of its rule, by its facts. */
const char *finding_title(const struct overview_finding *finding);

/* The first remedy of its rule that fits; without lines if none does. */
const struct remedy *finding_remedy(const struct overview_finding *finding);

/* Whether a line is listed for a finding, and its text with the subject of the finding. */
static inline bool remedy_line_applies(const struct remedy_line *line, const struct overview_finding *finding) {
    return line->text && !(finding->facts & line->unless);
}
void remedy_line_text(const struct remedy_line *line, const struct overview_finding *finding, char *text, size_t size);

/* Title, evidence and remedies as one text. */
void finding_text(const struct overview_finding *finding, char *text, size_t size);

/* ---- For the rules ---- */

/* Adds a finding with the evidence that its text reports. Its saving is the length of its intervals; `spans` NULL: it
 * claims none. */
__attribute__((format(printf, 4, 5))) struct overview_finding *
add_finding(struct diagnosis *d, const struct finding_rule *rule, const struct spans *spans, const char *format, ...);

/* Reduces its saving to some ticks. */
void set_finding_saving(const struct diagnosis *d, struct overview_finding *finding, double ticks);

/* Its intervals are not a saving. */
void claim_no_saving(struct overview_finding *finding);

/* Appends to the evidence. */
__attribute__((format(printf, 2, 3))) void append_finding_text(struct overview_finding *finding, const char *format,
                                                               ...);
void add_finding_number(struct overview_finding *finding, const char *name, double value);
__attribute__((format(printf, 2, 3))) void set_finding_now(struct overview_finding *finding, const char *format, ...);

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

/* rules_communication.c: the bus bandwidth of a large collective within a machine, bytes per second; 0: it is small
 * or of unknown size. Links with less than this percentage of their peak are underused. */
#define SLOW_LINK_PERCENT 10
#define EXPOSED_PERCENT   8 /* of the window: rule exposed_comm */
double large_collective_bandwidth(const struct collective_calls *calls, const struct collective_call *call);

/* rules_cpu.c: the rule eval_mode_missing, which also applies to traces without GPU activity. */
enum sutra_status find_eval_mode_missing(struct diagnosis *d, struct sutra_error *error);

/* rules_gpu.c: the kernel name that computes longest; STRING_NONE: nothing computes. */
uint32_t find_max_kernel(const struct diagnosis *d);

/* The limit of ranges of evidence. */
#define MAX_RANGE_NS 50000000

/* where.c: the name of a unit: an autograd node without its prefix, Optimizer.step#SGD without the method. */
void copy_unit_name(const struct diagnosis *d, uint32_t string, char name[FINDING_NAME]);

/* where.c: the phases and units of the host's rows of some kinds, within intervals (NULL: all); fills
 * finding->where. */
enum sutra_status find_host_places(const struct diagnosis *d, uint32_t kinds, const struct spans *within,
                                   struct finding_where *where, struct sutra_error *error);

/* The same of GPU activities with `ticks` (by row of devices): their own names, or the operators that launched them. */
enum sutra_status find_device_places(const struct diagnosis *d, const int64_t *ticks, bool by_kernel,
                                     struct finding_where *where, struct sutra_error *error);

/* where.c: the innermost Python function of the user, not of a library, that encloses a row of hosts; STRING_NONE. */
uint32_t user_frame_of(const struct diagnosis *d, row_t host);

/* where.c: the name of the enclosing event with most time in rows of some kinds; STRING_NONE: no row has one. */
enum sutra_status find_main_frame(const struct diagnosis *d, uint32_t kinds, uint32_t *name, int64_t *ticks,
                                  struct sutra_error *error);

#endif
