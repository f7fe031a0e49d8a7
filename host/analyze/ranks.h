/*
 * ranks.h - analyzes the traces of many ranks, several at a time, in one process or several.
 *
 *     traces --read--> trace, rank --analyze--> result --visit--> caller
 *                                                 |
 *                           --codec--> file --codec--> result of another process (--shard, --combine; MPI)
 *                                                 |
 *     results of all ranks, in the order of the ranks --merge--> result of the job
 *
 * Each trace is a task with a context of its own. Tasks start and claim their ranks in the order of the list, and their
 * warnings are reported in this order: nothing depends on the speed of threads.
 *
 * Traces of unselected ranks are not read if their beginning records the rank. The others are restricted to the
 * selected events. A trace that cannot be read or analyzed, or whose rank an earlier trace has, is skipped with a
 * warning; in a strict context that is an error, as it is if no trace is left. A trace without GPU activity, such as a
 * coordinator's, is no rank if other traces have some: it is skipped with a warning, too. Defects of the traces
 * (facts/validity.h) are reported once for all ranks.
 *
 * The task of a trace with several ranks (facts/processes.h) splits it, and is then replaced by a task for each rank,
 * FILE/rank0, FILE/rank1 and so on, which reads the trace of its rank from memory. The process that splits a trace also
 * analyzes its ranks.
 */
#ifndef ANALYZE_RANKS_H
#define ANALYZE_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/codec.h"
#include "analyze/launches/launches.h"
#include "base/arena.h"
#include "base/memory.h"
#include "base/options.h"
#include "context/context.h"
#include "facts/selection.h"
#include "facts/validity.h"
#include "read/device_trace.h"
#include "sutra/trace.h"

/* ---- The analyzed part of a job (struct sutra_restriction): its ranks, and the events of each trace ---- */

/* Copies the caller's options; NULL: no restriction. */
enum sutra_status restriction_copy(const struct sutra_restriction *given, struct sutra_restriction *taken,
                                   struct sutra_error *error);

bool restriction_has_rank(const struct sutra_restriction *restriction, int64_t rank);

/* Whether it skips events of a trace. */
static inline bool restriction_is_part(const struct sutra_restriction *restriction) {
    return restriction->step || restriction->from_us > 0 || restriction->to_us > 0 || restriction->name ||
           restriction->stream || restriction->category;
}

/* The options of a partial result (encode_options of codec.h). */
void restriction_encode(const void *options, struct buffer *out);

/* Removes the GPU activity outside of the restriction, and attributes the rest again. Events of the host remain;
 * model->from and to delimit the restriction. Errors as of sutra_device_trace_restrict(). */
enum sutra_status restrict_launch_model(struct sutra_context *context, const struct sutra_restriction *restriction,
                                        struct launch_model *model, struct arena *arena, struct arena *scratch,
                                        struct sutra_error *error);

/* Removes the events after the complete part of a truncated trace, for our analyses; others are unchanged. SUTRA_DATA:
 * no step is complete. */
enum sutra_status restrict_to_complete_part(struct sutra_context *context, struct sutra_device_trace *trace,
                                            struct sutra_error *error);

/* ---- Analyses ---- */

struct rank_run;

/* Analyzes a trace, which it frees or keeps, with `context`; runs on several threads at a time. `number` is the index
 * in the list of traces, for task_result(). */
typedef enum sutra_status rank_analyze(void *arg, struct rank_run *run, size_t number, struct sutra_context *context,
                                       struct sutra_device_trace *trace, struct sutra_error *error);

/* Runs while no other thread is in a visitor, with the context of all tasks. */
typedef enum sutra_status rank_visit(void *arg, size_t number, struct sutra_context *context,
                                     struct sutra_error *error);

/* What an analysis does for a rank and for all of them; `arg` is its state. Optional functions are NULL. */
struct rank_analysis {
    struct codec_kind kind;
    size_t result_size; /* of a rank's result, which is zeros at first, and again once it is freed */
    rank_analyze *analyze;
    rank_visit *visit; /* optional: shows the result of an analyzed rank, unless another process combines them */
    rank_visit *visit_decoded;                                    /* optional: shows a decoded result */
    void (*codec)(void *arg, size_t number, struct codec *codec); /* NULL: cannot run on several processes */
    void (*free)(void *result);                                   /* optional */
    enum sutra_status (*merge)(void *arg, struct sutra_context *context, struct sutra_error *error); /* optional */
};

/* Shards: how a process shares the ranks of a job. It writes each result to a file of the directory, named by the index
 * of the trace; the process that `combines` decodes all results in the end. */
struct shard_plan {
    const char *folder;
    size_t shard, n_shards;                  /* analyzes traces shard, shard + n_shards, ...; n_shards 0: none */
    bool (*next)(void *arg, size_t *number); /* or the traces that this returns to one thread at a time */
    void (*end)(void *arg);                  /* this process is done; returns when all results exist. May be NULL */
    bool combines;
    void *arg;
};

/* ---- Tasks ---- */

/* One trace of the list. */
struct rank_task {
    const char *path;
    size_t number; /* index of the trace in the list of paths */
    size_t place;  /* the same, or of a rank of a trace with several, a larger number: equal in all processes */
    struct file_stamp stamp; /* of when it was read */
    int64_t rank;
    enum sutra_rank_source source;
    enum sutra_status status; /* SUTRA_OK, or why it is skipped */
    struct sutra_error error;
    bool ends_run;                  /* the error is not the trace's: no other task can succeed */
    struct nsys_shared *report;     /* whose ranks several tasks read, or NULL; of the first task, which frees it */
    bool is_unselected;             /* the rank is not selected, which is the reason in the status */
    bool is_idle;                   /* it has no GPU activity: a rank only if no trace has any */
    struct buffer warnings;         /* lines, each with a NUL */
    struct trace_validity validity; /* of the complete trace; of an unread one, all zeros */
    bool is_split;                  /* it has several ranks, in `texts`: their tasks replace it */
    struct rank_texts *texts;       /* it is the rank number `text` of these, or NULL */
    uint32_t text;
};

struct rank_tasks {
    struct arena arena; /* of all members, and of whatever lives as long */
    size_t n;
    struct rank_task *list;
    size_t *order;                     /* tasks by rank, then skipped ones, then unselected ones */
    size_t n_selected;                 /* tasks of selected ranks, */
    size_t n_analyzed;                 /* and of them, the analyzed ones */
    void *results;                     /* of the analysis, by task */
    bool is_combined_by_other_process; /* another process combines the results; there are none here */
    struct trace_validity validity;    /* of all analyzed traces */
    struct sutra_trace_defect *defects;
    uint32_t n_defects;
    const struct rank_analysis *analysis;

    /* Set before. */
    struct sutra_restriction restriction; /* zeros: all ranks and events */
    const char *stage;                    /* for progress; NULL: "analyze ranks" */
    const struct rank_tasks *first_pass;  /* over the same traces, which reported all warnings and skipped traces */
    bool keeps_truncated;                 /* by the rules of another tool: traces are not cut to their complete part */
    bool names_traces;                    /* warnings name the trace even if it is the only one */
    bool keep_offsets;                    /* this and the next are fields of the context for readers */
    unsigned prefetch_columns;
    struct sutra_device_trace **traces; /* by task: a trace that is still in memory, which is moved; or NULL */
    bool keeps_texts;                   /* a second pass reads the ranks of traces with several ranks again */

    size_t n_paths; /* of the list */
};

/* Copies the paths, analyzes their traces and sorts the tasks; then merges the results, unless another process does. A
 * single trace is analyzed in `context` itself, unless it has several ranks. SUTRA_USAGE: no traces, or too many.
 * rank_tasks_free() is due in any case. */
enum sutra_status rank_tasks_run(struct rank_tasks *tasks, const struct rank_analysis *analysis,
                                 struct sutra_context *context, const char *const *paths, size_t n_paths, void *arg,
                                 struct sutra_error *error);

/* Moves the part of each result that another analysis needs: the pointer at byte `from_offset` of a result of `from`,
 * which must live longer, to byte `offset` of a result of `tasks`. Moved pointers become NULL. */
enum sutra_status rank_tasks_reuse(struct rank_tasks *tasks, const struct rank_analysis *analysis, size_t offset,
                                   const struct rank_tasks *from, size_t from_offset, struct sutra_error *error);
void rank_tasks_free(struct rank_tasks *tasks);

/* Whether this process analyzes traces, and does not only combine the results of others. */
static inline bool rank_tasks_analyze(const struct sutra_context *context) {
    return !context->plan || context->plan->n_shards || context->plan->next;
}

/* The result of the task at this position of the list, and of the i-th rank. */
static inline void *task_result(const struct rank_tasks *tasks, size_t number) {
    return (char *)tasks->results + number * tasks->analysis->result_size;
}

static inline void *task_result_of_rank(const struct rank_tasks *tasks, size_t i) {
    return task_result(tasks, tasks->order[i]);
}

/* ---- Companions ---- */

/* An analysis of the traces that another analysis reads, whose tasks these are. The other analysis stores a pointer to
 * each result in its own result of the rank. */
struct sutra_companion {
    const struct codec_kind *kind;
    /* The analysis of a trace: run() may be on a background thread, end() is on the caller's and always due. */
    enum sutra_status (*begin)(const struct rank_tasks *tasks, size_t number, struct sutra_context *context,
                               const struct sutra_device_trace *trace, bool in_background, void **making,
                               struct sutra_error *error);
    void (*run)(void *making);
    enum sutra_status (*end)(void *making, void **result, struct sutra_error *error);
    void (*codec)(const struct rank_tasks *tasks, size_t number, struct codec *codec, void **result);
    void (*free)(void *result);
    /* Joins the results of all ranks: moves the pointer at byte `offset` of each result of the tasks, which must live
     * longer. */
    enum sutra_status (*join)(const struct rank_tasks *tasks, size_t offset, void **joined, struct sutra_error *error);
    void (*free_joined)(void *joined);
};

/* ---- For functions that analyze ---- */

/* Calls a visitor, unless one failed before. */
enum sutra_status rank_run_visit(struct rank_run *run, size_t number, rank_visit *visit, void *arg,
                                 struct sutra_error *error);

/* Waits until all earlier tasks of the list are done; and whether they are. */
void rank_run_wait(struct rank_run *run, size_t number);
bool rank_run_is_next(struct rank_run *run, size_t number);

#endif
