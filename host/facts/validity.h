/*
 * validity.h - which events of a trace can be true: one check after reading, for all commands.
 *
 *     device trace --one pass--> struct trace_validity: for each defect a count, an example, the time concerned
 *                            --> EVENT_UNUSABLE in the events' flags, and the column usable_dur
 *
 *     CPU      launch 7   launch 8   launch 9                     no time         start 0, or no duration: unusable
 *     GPU  8                 7.......................7            before launch   8 starts before its launch: unusable
 *                                     9...9  9...9                runs over       7 ends where 9 starts
 *                                                                 duplicate       the second 9: unusable
 *
 * The columns keep all events with the times of the file: tables that other tools define use them. Our own analyses
 * skip unusable events (time_is_usable() in times.h) and use usable_dur.
 *
 * Definitions:
 *   - no time: start or duration is absent, negative or no number, or the start is 0 while most CPU operators start
 *     later. CPU events have no start time if they start at 0 or before, and all others a hundred times the trace's
 *     length later. Events of both have no time if they are far from the middle half of the CPU events: by a day, and
 *     by a hundred times the length of this half. GPU activities have none if most would be at the time of the CPU
 *     events in nanoseconds.
 *   - before launch: the activity starts more than 1 us before the first call with its correlation. If at least 90 % of
 *     the activities with a call do, or start more than a minute after it, the clocks of device and host differ, and no
 *     activity is unusable. Otherwise activities are unusable that are early by more than 1 ms.
 *   - runs over: an activity ends after the next one of its stream starts, by more than 10 us and more than 20 % of the
 *     shorter one. Less is programmatic dependent launch; kernels of a CUDA graph may overlap.
 *   - duplicate: name, start, duration, device, stream and correlation of an earlier activity.
 *   - truncated: the file has no end (read/document.h). Profilers write CPU operators first, so the kernels of later
 *     steps are missing. Complete are the steps that end before the last GPU activity does.
 *   - no rank: an event of a trace of several ranks that belongs to none of them (processes.h); `of` are all events.
 *   - unknown launch: chakra_trace_link does not know the call that launches the activity (link/link.h). Linking finds
 *     these; they are a defect if they are more than 5 % of the GPU time.
 *
 *     host trace --one pass--> the same struct
 *
 *     1 process <- 2 thread <- 3 step <- 4 mm       below the root
 *                       (absent 24)  <- 25 mm       not below the root: node 24 is absent
 *
 *   - not below the root: the chain of parents ends at an absent node or in a cycle, not at the root, node 1.
 *   - no root: no node has id 1.
 *   - duplicate id: an earlier node has the id.
 */
#ifndef FACTS_VALIDITY_H
#define FACTS_VALIDITY_H

#include <stdbool.h>
#include <stdint.h>

#include "context/context.h"
#include "read/device_trace.h"
#include "read/host_trace.h"

/* X(id, name, counted events, verb for one event, verb for several events, effect) */
#define TRACE_DEFECTS(X)                                                                                               \
    X(NO_TIME, "no_time", "GPU activities", "has no valid start time and duration",                                    \
      "have no valid start time and duration", "own analyses skip them")                                               \
    X(HOST_NO_TIME, "host_no_time", "CPU events", "has no valid start time and duration",                              \
      "have no valid start time and duration", "own analyses skip them")                                               \
    X(DEVICE_CLOCK, "device_clock", "GPU activities", "starts before its launch call",                                 \
      "start before their launch call",                                                                                \
      "own analyses shift the device's clock, and do not judge queue delays and causes of idle time")                  \
    X(BEFORE_LAUNCH, "before_launch", "GPU activities", "starts before its launch call",                               \
      "start before their launch call", "own analyses skip activities that are early by more than 1 ms")               \
    X(DUPLICATE, "duplicate", "GPU activities", "is a duplicate", "are duplicates", "own analyses skip them")          \
    X(TRUNCATED, "truncated", "steps", "is incomplete", "are incomplete", "own analyses use only the complete part")   \
    X(RUNS_OVER, "runs_over", "GPU activities", "runs past the start of the next activity of its stream",              \
      "run past the start of the next activity of their stream", "own analyses end them at that start")                \
    X(NO_RANK, "no_rank", "events", "belongs to no rank", "belong to no rank", "skipped")                              \
    X(UNKNOWN_LAUNCH, "unknown_launch", "GPU activities",                                                              \
      "is launched by a call that chakra_trace_link does not know",                                                    \
      "are launched by calls that chakra_trace_link does not know",                                                    \
      "ET+ lacks them, .et files with measured times contain them")                                                    \
    X(NOT_BELOW_ROOT, "not_below_root", "nodes", "is not below the root", "are not below the root",                    \
      "link writes them without times and GPU activities")                                                             \
    X(NO_ROOT, "no_root", "nodes", "has no root (a node with id 1) above it",                                          \
      "have no root (a node with id 1) above them", "link treats all nodes as host operators")                         \
    X(DUPLICATE_ID, "duplicate_id", "nodes", "has the id of an earlier node", "have the id of an earlier node",        \
      "link uses the last node of each id")

enum trace_defect_kind {
#define DEFECT_ID(id, name, noun, one, several, effect) DEFECT_##id,
    TRACE_DEFECTS(DEFECT_ID)
#undef DEFECT_ID
        N_DEFECTS
};

struct trace_defect {
    uint64_t count, of; /* affected events, and inspected ones */
    double largest_us;  /* of one event; NaN if the defect is not an amount of time */
    double gpu_us;      /* GPU time that the defect concerns */
    char example[192];  /* "'gemm', event 212", the first in the file */
    char cause[256];    /* "node 24 is absent"; "": the defect is its own cause */
};

struct trace_validity {
    struct trace_defect defects[N_DEFECTS]; /* count 0: the trace does not have the defect */
    uint64_t n_launched;                    /* kernels and memcpys whose correlation a call has */
    uint64_t n_activities;                  /* GPU activities, */
    double gpu_us;                          /* and the sum of their durations */
    uint64_t n_complete_steps;              /* DEFECT_TRUNCATED: of `of` steps, 0 if the trace has none; */
    int64_t complete_steps[2];              /* their first and last number; */
    double complete_us;                     /* from the first start to the last end of a GPU activity */
    double span_us;                         /* DEFECT_NO_TIME: from the first start to the last end of usable events */
    double clock_difference_us; /* DEFECT_DEVICE_CLOCK: the smallest time from a launch call to its activity; of late
                                 * ones above a minute */
    uint64_t lacks_thread;      /* DEFECT_NOT_BELOW_ROOT: a thread is absent, and none of its nodes is below the root */
};

/* Whether defects concern more than 5 % of the GPU activities, or of their time: then results that rest on the times of
 * GPU activities are unreliable. A different clock alone damages only results that rest on launches. */
bool validity_has_damaged_times(const struct trace_validity *validity);

static inline bool validity_has_device_clock(const struct trace_validity *validity) {
    return validity->defects[DEFECT_DEVICE_CLOCK].count > 0;
}

/* Counts an event of a trace; the first one becomes the example. `us`: its amount, or NaN. */
void defect_note(struct trace_defect *defect, const struct sutra_device_trace *trace, row_t event, double us,
                 double gpu_us);

/* Adds the defects of another rank. Example and cause of the first rank that has the defect remain. */
void validity_add(struct trace_validity *sum, const struct trace_validity *rank);

/* A defect in one line: "4 of 40 GPU activities have no start time (the first: 'gemm', event 212): own analyses
 * skip them". `ranks` is a list such as "ranks 0-2", or "". */
#define DEFECT_TEXT 800
struct defect_text {
    char text[DEFECT_TEXT];
};
struct defect_text defect_message(const struct trace_validity *validity, enum trace_defect_kind kind,
                                  const char *ranks);

/* The same as a row of a table, without the count: "nodes that are not below the root: node 24 is absent". */
struct defect_text defect_row(const struct trace_validity *validity, enum trace_defect_kind kind);

/* Names of the defects, as in JSON. */
extern const char *const defect_names[N_DEFECTS];

/* The defect as public functions return it; `defect` must outlive it. */
struct sutra_trace_defect defect_publish(const struct trace_defect *defect, enum trace_defect_kind kind,
                                         const char *message);

/* Reports each defect as a warning that begins with `name`, the file's name or NULL; in a strict context fails with the
 * first one: SUTRA_STRICT. */
enum sutra_status validity_report(struct sutra_context *context, const struct trace_validity *validity,
                                  const char *name, struct sutra_error *error);

/* Reads the i-th of the traces into which a trace of several ranks was split, and checks it as
 * sutra_device_trace_read() does. */
struct rank_texts; /* processes.h */
enum sutra_status validity_read_rank(struct sutra_context *context, const char *name, const struct rank_texts *texts,
                                     size_t i, struct sutra_device_trace **trace, struct sutra_error *error);

#endif
