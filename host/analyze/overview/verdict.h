/*
 * verdict.h - the verdict on a rank and on a job: shares of the step, achievable steps, the unexplained part, suspects.
 *
 *     rows and intervals of findings --one sweep--> atoms --sums--> shares, achievable steps, unexplained parts
 *
 *     rows        [compute)[host ........)[exposed)[host)
 *     finding A            [==============)        [====)
 *     finding B                    [======)
 *     atoms       compute {}   host {A}  host {A, B}  exposed {}  host {A}     equal ones are one atom: 4
 *
 * An atom is the time in which the same findings cover the same part of the step. Atoms are few, however long the trace
 * is, and each sum over any set of findings is exact: overlapping savings are never added. A job of many ranks keeps
 * only the atoms of each rank's timeline.
 *
 * Cost: O(rows + intervals) times the number of findings, at most 20.
 */
#ifndef ANALYZE_OVERVIEW_VERDICT_H
#define ANALYZE_OVERVIEW_VERDICT_H

#include "analyze/collectives/collectives.h"
#include "analyze/overview/findings.h"
#include "analyze/rank_clocks.h"

struct verdict_atom {
    uint32_t rules; /* a bit for each rule whose intervals contain it */
    uint32_t part;  /* enum sutra_verdict_part */
    int64_t ticks;
};

#define SUSPECTS_MOST      3
#define CPU_OPERATORS_MOST 5

/* A function with at least 10 % of the time of a finding, at most FINDING_CODES for each. Kept as bytes: without random
 * padding. */
#define FINDING_CODES 3
enum code_via { CODE_VIA_DIRECT, CODE_VIA_FORWARD, CODE_VIA_CAPTURE, N_CODE_VIAS };
struct finding_code {
    double percent;
    uint32_t rule;            /* number of the finding's rule */
    uint32_t line;            /* with most of the time */
    uint32_t via;             /* enum code_via, of most of the time */
    char name[FINDING_FRAME]; /* "FILE(LINE): FUNCTION" */
};

/* What is kept of a rank. Times are ticks, nanoseconds. */
struct rank_verdict {
    enum sutra_verdict_kind kind;
    int64_t window;
    double n_steps; /* at least 1 */
    bool has_steps, by_annotation;
    int64_t busy, communication, host_needed;
    double off_core; /* part of the window in which the thread with most launches is off its core, 0 .. 1 */
    bool device_side;
    int64_t excluded;
    const struct finding_rule *excluded_by; /* if `excluded`: the guard */
    char no_activity[NO_ACTIVITY_TEXT];     /* why there is no GPU activity; "" */
    char device[64];
    char slow_step[FINDING_NAME]; /* a sentence about the slowest step; "" */
    char main_kernel[400];        /* a sentence about a kernel that takes much of the window; "" */
    struct cpu_operator {         /* without GPU activity: descending by self time */
        char name[FINDING_NAME], shapes[FINDING_NAME];
        int64_t self; /* ticks */
        double percent;
        uint32_t n_calls, n_threads;
    } cpu_operators[CPU_OPERATORS_MOST];
    unsigned n_cpu_operators;
    struct verdict_atom *atoms; /* owned */
    uint64_t n_atoms;
    struct finding_code *codes; /* owned; of each finding consecutive, descending by time */
    uint64_t n_codes;
    struct suspect_numbers {
        const struct finding_rule *rule;
        double apparent, percent;
    } suspects[SUSPECTS_MOST];
    unsigned n_suspects;
    uint32_t not_judged; /* a bit for each rule whose finding rests on damaged data */
    unsigned n_findings; /* shown */
    struct overview_finding findings[FINDINGS_MOST];
};

void rank_verdict_free(struct rank_verdict *verdict);

/* Finds the verdict on an overview, which may be cropped. `alone`: no other rank's trace is analyzed. Intervals of
 * findings are in `arena`; the verdict needs rank_verdict_free() in any case. */
enum sutra_status find_findings(struct sutra_context *context, const struct launch_model *model,
                                struct overview *overview, const struct overview_steps *steps,
                                const struct collective_calls *calls, bool alone, struct arena *arena,
                                struct arena *scratch, struct rank_verdict *verdict, struct sutra_error *error);

/* A rank of a job: its verdict, and how it and the other ranks wait for each other. Of a rank alone, all but the
 * verdict is 0. */
struct job_rank {
    int64_t rank;
    const char *path;
    const struct rank_verdict *verdict;
    double wait;  /* part of its exposed communication that waits for any rank, 0 .. 1; the rest is transfer */
    double late;  /* ticks by which it arrives after the first rank, summed over its collectives */
    double stray; /* part of its exposed communication that waits for ranks that are no stragglers, 0 .. `wait` */
    bool is_late; /* a straggler */
};

/* The window if findings of these rules (bits) were repaired, in ticks: at least what is still needed. */
enum achievable_bound { BOUND_NONE, BOUND_GPU, BOUND_COMMUNICATION, BOUND_HOST };
double achievable_window(const struct job_rank *rank, uint32_t rules, enum achievable_bound *bound);

/* A path as a word of a POSIX shell; an option is no path, so "-x" becomes "./-x" (job_verdict.c). */
const char *shell_word(struct arena *arena, const char *path);

/* The member "shares" (verdict_json.c): parts that are 0 are listed, too, except outside_step; none of NULL. */
struct json_out;
void json_add_shares(struct json_out *json, const double *shares);

/* Ticks of each part, and of each part that no finding of these rules (bits) covers. */
void verdict_parts(const struct rank_verdict *verdict, int64_t ticks[SUTRA_N_PARTS]);
void verdict_unexplained(const struct rank_verdict *verdict, uint32_t rules, int64_t ticks[SUTRA_N_PARTS]);

/*
 * ---- Stragglers among all ranks (straggler.c) ----
 *
 *     rank 0             |-| all-to-all      arrives last: shortest duration
 *     rank 1   |-----------| all-to-all
 *     rank 3       |-------| all-to-all
 *
 * Input: the collectives of all ranks, which are matched by their recorded number, or else by their order. The rule for
 * stragglers is in analyze/rank_clocks.h; it is applied to the windows of the overviews. Waits are computed as by
 * `analyze collectives`, within the windows. The shortest duration of a collective is its transfer, so that a wait for
 * a rank is not reported as slow links.
 */

struct rank_collectives {
    int64_t rank;
    struct rank_window window; /* by the clock of `calls` */
    row_t n_steps;
    int64_t first_ns; /* the first event of the trace, by the same clock */
    struct collective_calls calls;
    double link;                     /* peak of the links of its GPU, bytes per second; 0: unknown */
    double exposed_ns;               /* exposed communication in the window */
    double compute_ns;               /* sum of the durations of the trace's compute kernels */
    struct operator_times operators; /* of a job with several ranks; needs operator_times_free() */
    /* output: waits for any rank, and for stragglers; its own lateness; whether it is a straggler */
    double wait_ns, late_wait_ns, late_ns;
    bool is_late;
};

/* Reads the collectives of a rank; `collectives->calls` needs collective_calls_free() in any case. */
enum sutra_status rank_collectives_read(struct sutra_context *context, const struct overview *overview, int64_t rank,
                                        struct rank_collectives *collectives, struct sutra_error *error);

/* Updates the window after the overview was cropped. */
void rank_collectives_crop(const struct overview *overview, struct rank_collectives *collectives);

struct job_findings {
    double wait_us, transfer_us; /* mean per rank and step: waiting in collectives; the rest of exposed communication */
    bool is_late;                /* any rank is a straggler: */
    struct overview_finding late; /* the finding about all of them, */
    int64_t *late_ranks;          /* their ranks, ascending, in the arena, */
    size_t n_late;
    row_t latest[LATE_NAMED]; /* the indices of those for which the others wait most, */
    row_t n_latest;
    double latest_wait_us[LATE_NAMED]; /* this wait in the window, */
    int64_t waiting;                   /* and the rank that waits longest for them */
    bool links_used;                   /* by a large collective once all ranks have arrived: links are not slow */
};

/* `ranks` ascend. Appends a row to the table of collective waits for each rank with collectives; `waits` NULL: none.
 * Results are in the arena, which is also scratch. */
enum sutra_status find_job_stragglers(struct rank_collectives *const *ranks, size_t n, struct arena *arena,
                                      struct job_findings *found, struct sutra_table *waits, struct sutra_error *error);

/* Names in the finding the operators that take longer on the latest stragglers than on the rank of median compute
 * time. Leaves `scratch` as it was. */
enum sutra_status name_late_operators(struct rank_collectives *const *ranks, size_t n, struct arena *scratch,
                                      struct job_findings *found, struct sutra_error *error);

/* ---- The verdict on all ranks (job_verdict.c) ---- */

/* What the public functions return; all in the arena. */
struct job_verdict {
    struct sutra_verdict verdict;
    struct sutra_finding findings[FINDINGS_MOST];
    size_t n_findings;
};

/* Joins the verdicts of n > 0 ranks, ascending. `validity` is the sum of their defects; `window` may be NULL. */
enum sutra_status job_verdict_make(const struct job_rank *ranks, size_t n, const struct trace_validity *validity,
                                   const struct job_findings *found, const struct chosen_window *window,
                                   struct arena *arena, struct job_verdict *job, struct sutra_error *error);

/* code.c: lists the functions of the shown findings, after find_evidence(), if the trace records Python functions. */
enum sutra_status find_code(const struct diagnosis *d, struct rank_verdict *verdict, struct sutra_error *error);

/* evidence.c: the range that represents a finding. */
enum sutra_status find_evidence(const struct diagnosis *d, struct overview_finding *finding, struct sutra_error *error);
/* where.c: whether an operator or annotation of this name encloses the work of a step as a whole. */
bool name_is_wrapper(const char *text);

/* excerpt.c: appends the events in the range of a finding to the table `evidence`, from which its picture is drawn;
 * none without a range or events. Leaves `scratch` as it was. */
enum sutra_status excerpt_add(const struct overview *overview, const struct values *values, int64_t rank,
                              const struct overview_finding *finding, struct arena *scratch, struct sutra_table *table,
                              struct sutra_error *error);

#endif
