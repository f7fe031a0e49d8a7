/*
 * remedies.h - what to do about a finding in this trace: rows of rule, situation, test, remedies, metric to check.
 *
 *     names of a trace --read_trace_facts()--> facts, a bit each --+
 *     rule: facts of the finding ----------------------------------+--> the first row that fits: select_remedy()
 *
 * A remedy is not listed if the trace already has it (`unless`). Cost: O(hosts + bytes of their names).
 */
#ifndef ANALYZE_OVERVIEW_REMEDIES_H
#define ANALYZE_OVERVIEW_REMEDIES_H

#include "analyze/overview/findings.h"

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

#define REMEDY_LINES 4

/* A line of a remedy. In the text, %s is replaced by the subject of the finding. */
struct remedy_line {
    const char *text, *api, *source;
    uint64_t unless; /* facts of traces that already have it */
};

struct remedy {
    enum finding_rule rule;
    const char *situation; /* "": the only one of the rule */
    uint64_t needs, excludes;
    struct remedy_line lines[REMEDY_LINES];
    const char *metric, *after;
};

/* Names of rules on pages: "Launch-bound". */
extern const char *const finding_titles[N_FINDING_RULES];

/* The title of a finding is the title of its rule. But if the launch calls alone are fast enough: "CPU-bound". */
const char *finding_title(const struct overview_finding *finding);

/* Fills d->facts. */
enum sutra_status read_trace_facts(struct diagnosis *d, struct sutra_error *error);

/* Selects the remedy of a finding by the facts of both; NULL: by the finding's own. */
void select_remedy(const struct diagnosis *d, struct overview_finding *finding);

/* The rows; `remedy` of a finding is an index. */
extern const struct remedy finding_remedies[];
uint32_t count_remedies(void);

/* Whether a line is listed for a finding. */
static inline bool remedy_line_applies(const struct remedy_line *line, const struct overview_finding *finding) {
    return line->text && !(finding->facts & line->unless);
}

/* A finding as one text: title, evidence and remedies. */
void finding_text(const struct overview_finding *finding, char *text, size_t size);

/* The text of a line, with the subject of the finding. */
void remedy_line_text(const struct remedy_line *line, const struct overview_finding *finding, char *text, size_t size);

#endif
