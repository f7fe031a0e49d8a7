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
 *   - no time: start or duration is absent, negative or no number, or the start is 0 while at least half of the CPU
 *     operators start later.
 *   - before launch: the activity starts more than 1 us before the first call with its correlation. If at least 90 % of
 *     the activities with a call do, the clocks of device and host differ, and no activity is unusable. Otherwise
 *     activities are unusable that are early by more than 1 ms.
 *   - runs over: an activity ends after the next one of its stream starts, by more than 10 us and more than 20 % of the
 *     shorter one. Less is programmatic dependent launch; kernels of a CUDA graph may overlap.
 *   - duplicate: name, start, duration, device, stream and correlation of an earlier activity.
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

/* X(id, name, what is counted, what is true of one of them, of several, what sutra does) */
#define TRACE_DEFECTS(X)                                                                                               \
    X(NO_TIME, "no_time", "GPU activities", "has no valid start time and duration",                                    \
      "have no valid start time and duration", "skipped")                                                              \
    X(HOST_NO_TIME, "host_no_time", "CPU events", "has no valid start time and duration",                              \
      "have no valid start time and duration", "skipped")                                                              \
    X(DEVICE_CLOCK, "device_clock", "GPU activities", "starts before its launch call",                                 \
      "start before their launch call",                                                                                \
      "the clocks of device and host differ; queue delays and causes of idle time are not judged")                     \
    X(BEFORE_LAUNCH, "before_launch", "GPU activities", "starts before its launch call",                               \
      "start before their launch call", "skipped if early by more than 1 ms")                                          \
    X(DUPLICATE, "duplicate", "GPU activities", "is a duplicate", "are duplicates", "skipped")                         \
    X(RUNS_OVER, "runs_over", "GPU activities", "runs past the start of the next activity of its stream",              \
      "run past the start of the next activity of their stream", "their ends are corrected to that start")             \
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
    char cause[96];     /* "node 24 is absent"; "": the defect is its own cause */
};

struct trace_validity {
    struct trace_defect defects[N_DEFECTS]; /* count 0: the trace does not have the defect */
    uint64_t n_activities;                  /* GPU activities, */
    double gpu_us;                          /* and the sum of their durations */
    double clock_difference_us; /* DEFECT_DEVICE_CLOCK: the smallest time from a launch call to its activity */
    bool lacks_thread; /* DEFECT_NOT_BELOW_ROOT: the absent node is a thread, of which no node is below the root */
};

/* Whether defects concern more than 5 % of the GPU activities or of their time, so that no result is reliable. */
bool validity_is_damaged(const struct trace_validity *validity);

/* Adds the defects of another rank. The examples of the first rank that has the defect remain. */
void validity_add(struct trace_validity *sum, const struct trace_validity *rank);

/* A defect in one line: "4 of 40 GPU activities have no start time (the first: 'gemm', event 212): skipped". `ranks` is
 * a list such as "ranks 0-2", or "". */
#define DEFECT_TEXT 400
struct defect_text {
    char text[DEFECT_TEXT];
};
struct defect_text defect_message(const struct trace_validity *validity, enum trace_defect_kind kind,
                                  const char *ranks);

/* The same as a row of a table, without the count: "nodes that are not below the root: node 24 is absent". */
struct defect_text defect_row(const struct trace_validity *validity, enum trace_defect_kind kind);

/* Names of the defects, and of what sutra does about them, as in JSON. */
extern const char *const defect_names[N_DEFECTS];
extern const char *const defect_effects[N_DEFECTS];

/* Reports each defect as a warning that begins with `name`, the file's name or NULL; in a strict context fails with the
 * first one: SUTRA_STRICT. */
enum sutra_status validity_report(struct sutra_context *context, const struct trace_validity *validity,
                                  const char *name, struct sutra_error *error);

#endif
