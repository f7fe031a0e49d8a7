/*
 * context.h - members of struct sutra_context: thread pool, engine, table of ids that are no integers, times of stages.
 */
#ifndef CONTEXT_CONTEXT_H
#define CONTEXT_CONTEXT_H

#include "base/threads.h"
#include "columns/strings.h"
#include "columns/traces.h"
#include "cuda/engine_cuda.h"
#include "match/steps.h"
#include "sutra/context.h"
#include "sutra/link.h"

/* ---- The engine: on the CPU, or on a CUDA device ---- */

/* Fewest operators for which AUTO reads a calibration: a GPU cannot save much time below. */
#define CALIBRATED_OPS_MIN 10000

#define NEVER_FASTER UINT64_MAX

/* The calibration of this machine (facts/calibration.h) for a context's device. */
struct gpu_calibration {
    bool is_known;         /* false: not read yet */
    uint64_t min_ops;      /* operators from which the device matches faster, including the time to open it */
    uint64_t min_open_ops; /* the same for an open device; both may be NEVER_FASTER */
    char device[128];      /* its name */
    uint32_t driver;       /* CUDA version of the driver, such as 13000 */
    char why_cpu[300];     /* why the CPU matches any number of operators; "": it does not */
};

/* Whether a device is not the calibrated one; then `why` is the reason, of `size` bytes. */
bool gpu_calibration_differs(const struct gpu_calibration *calibration, const char *device, uint32_t driver, char *why,
                             size_t size);

struct engine_choice {
    struct engine cpu;
    bool tried;        /* to open the device */
    char refused[400]; /* reason of the failure */
    char last_note[600];
    struct gpu_calibration calibration;
    struct sutra_stage stages[CUDA_PHASES];
};

/* Chooses the engine of an operation before its first step, and reports the reason. AUTO uses a device only for
 * operations that mainly match operators, from the calibrated number on: others are slower on a GPU (docs/gpu.md).
 * `n_ops`: CPU operators to be matched; NO_MATCHING: the operation does not mainly match operators. */
#define NO_MATCHING UINT64_MAX
void context_choose_engine(struct sutra_context *context, uint64_t n_ops);

/*
 * A CUDA device for one context, or for contexts that work concurrently, such as one for each rank. It is opened in the
 * background, and computes for one context at a time: a step, or all steps on a loaded table.
 *
 *     open      |----------|
 *     rank 0    read ......... match  write ....
 *     rank 1    read ................ match  write ....
 */
struct shared_device;

/* Lets a context use the device of `owner`, by the option `device` of `owner`. The owner must be freed later. */
void context_share_device(struct sutra_context *context, const struct sutra_context *owner);

/* Acquires the device, and waits until it is open: a note reports the seconds. *cuda is valid until
 * context_device_release(). Errors: SUTRA_UNAVAILABLE. */
enum sutra_status context_device_acquire(struct sutra_context *context, struct engine **cuda,
                                         struct sutra_error *error);
void context_device_release(struct sutra_context *context);

/* Sets *counts to the steps and bytes of the device for all its contexts. Returns false if no context used it. */
bool context_device_counts(const struct sutra_context *context, struct cuda_engine_counts *counts);

/* The window of a run that the traces are of (run/run.h): their ranks, and words for texts and commands. */
struct chosen_window {
    const char *run; /* directory of the run; of several, "A and 2 more" */
    bool is_one_folder;
    const char *role;  /* NULL: the run has one role */
    const char *label; /* of the window, or NULL */
    const char *name;  /* "RUN, window 6 (iteration_70)"; RUN, if the role has one window */
    const char *text;  /* "window 6 (iteration_70), the last of 7"; "": the role has one window */
    size_t window, n_windows, n_skipped;
    bool is_default;
    const char *const *paths; /* in the order of the ranks; ascending by bytes in `sorted` */
    const int64_t *ranks;
    const uint32_t *sorted;
    size_t n;
    int64_t first_rank;                /* added to the ranks, so that the ranks of several roles differ */
    const struct chosen_window *other; /* whose traces are read with it, or NULL */
};

/* The window of a trace, among a window and its others, and the rank there, with first_rank; NULL: no window has it. */
const struct chosen_window *chosen_window_of(const struct chosen_window *window, const char *path, int64_t *rank);

#define STAGES_MAX 32

struct shard_plan;

struct sutra_context {
    struct sutra_context_options options;
    struct pool *pool;
    struct engine engine; /* the chosen one */
    struct engine_choice choice;
    struct shared_device *device;
    bool owns_device;
    bool keeps_device;    /* acquired by load(), until load(NULL) */
    struct values values; /* ids that are no 64-bit integers, of all traces of this context */
    struct sutra_stage stages[STAGES_MAX];
    size_t n_stages;
    double stage_began;
    const char *stage; /* the running one, or NULL */
    uint64_t stage_total;
    size_t part_bytes;             /* smallest part of a file for a thread */
    const struct shard_plan *plan; /* processes that share ranks (analyze/ranks.h), or NULL */
    struct nsys_shared *report;    /* of the next device trace, which other contexts read, too (read/nsys.h), or NULL */
    bool keep_offsets;             /* readers of device traces keep offsets of values that a copy may replace */
    unsigned prefetch_columns;     /* and read these columns ahead (read/event_columns.h) */
    bool stage_held;               /* threads work in this stage: begin and end no other stage */
    bool may_replace_links;        /* the program chose the names of outputs: replace links (write/sink.h) */
    bool holds_defects;   /* neither defects of traces (facts/validity.h) nor operators that are matched by names
                                     are reported: the caller does this */
    bool keeps_processes; /* readers return a trace of several ranks, unchecked (facts/processes.h) */
    const struct chosen_window *window; /* NULL: the traces are not of a run, or need no words */
    const char *warns_of;               /* file name at the beginning of warnings, or NULL */
};

/* Begin a stage (after the end of the previous one) and end it. Names are constants; `total` is the end value of the
 * progress, which the pool's tasks advance. */
void stage_begin(struct sutra_context *context, const char *name, uint64_t total);
void stage_end(struct sutra_context *context);

/* Whether the running call was cancelled. A function that ends early returns context_early_end_error(): the error of
 * cancellation, or else of memory. */
bool context_is_cancelled(const struct sutra_context *context);
enum sutra_status context_early_end_error(const struct sutra_context *context, struct sutra_error *error);

/* SUTRA_OK, or the error of cancellation. */
enum sutra_status context_check_cancelled(const struct sutra_context *context, struct sutra_error *error);

/* Send a line to the caller's callback for warnings, or for notes. */
__attribute__((format(printf, 2, 3))) void context_warn(struct sutra_context *context, const char *format, ...);
__attribute__((format(printf, 2, 3))) void context_note(struct sutra_context *context, const char *format, ...);

#endif
