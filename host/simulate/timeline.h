/*
 * timeline.h - from measured operators, kernels and waits to nodes that take the measured time when they are simulated.
 *
 *     measured   thread 1  [ op a     [ op b ]    ]    [synchronize]         calls and kernels with their times
 *                stream 7            [ kernel       ]
 *     cuts                 |  a   |   b  |   a    |  gap  | wait ..|
 *     nodes      cpu       a ---> b ---> a' ----> gap ------------> c       one chain over all threads
 *                gpu              b ---> kernel --------------------^
 *
 * The idea: a processor works through the cuts of all threads in one order, so each node lasts from one cut to the next
 * and no time is counted twice; where a call waited for the GPU, the chain goes on when the kernel ends instead of
 * after a duration; and a kernel starts when the cut at its launch is reached and the kernels before it have ended.
 * Durations are differences of rounded cuts, so that no rounding adds up.
 *
 * All times are microseconds as the traces give them. Threads and streams are numbered densely by the caller. Cost:
 * O(n log n) for n operators, kernels and calls.
 */
#ifndef SIMULATE_TIMELINE_H
#define SIMULATE_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "columns/row.h"
#include "match/engine.h"
#include "sutra/error.h"

#define THREAD_UNKNOWN UINT32_MAX
#define STREAM_ANY     UINT32_MAX /* a call that waits for all streams */

/* CPU operators that have times, by rising id. */
struct timeline_ops {
    row_t n;
    uint32_t n_threads;
    const uint64_t *id;
    const double *start, *end;
    const uint32_t *thread;
};

enum kernel_trait {
    KERNEL_COMMUNICATES = 1,
    KERNEL_COPIES = 2,   /* from or to the host, or between devices */
    KERNEL_PAGEABLE = 4, /* a copy whose host memory is not pinned */
};

/* GPU operators, by rising id. A kernel without a known launch has its own start as the launch's start and end. */
struct timeline_kernels {
    row_t n;
    uint32_t n_streams;
    const uint64_t *id;
    const double *start, *end;
    const uint32_t *stream;
    const double *launch_start, *launch_end;
    const uint32_t *launch_thread; /* that of `ops`, or THREAD_UNKNOWN */
    const row_t *event;            /* of the device trace; NULL: these are not of one */
    uint8_t *traits;               /* KERNEL_... bits */
};

/* Calls that wait for the GPU: for all that was launched before `before` on a stream, or on all of them. */
struct timeline_calls {
    row_t n;
    double *start, *end;
    double *before;   /* the call's start; where it waits for an event: when that was recorded */
    uint32_t *stream; /* or STREAM_ANY; a number >= n_streams is a stream without kernels */
    uint32_t *thread; /* or THREAD_UNKNOWN */
};

/* One of them. */
struct timeline_call {
    double start, end, before;
    uint32_t stream, thread;
};

/* Room for n of them, of which there are none yet; where memory runs out the arena tells. */
struct timeline_calls timeline_calls_take(struct arena *arena, size_t n);
void timeline_calls_add(struct timeline_calls *calls, struct timeline_call call);

/* Streams that are told to wait for an event: kernels launched on `stream` from `call_start` on start after the kernels
 * launched on `awaited` before `record_start`. Of a job, streams without kernels have numbers, too, behind the
 * others. */
struct timeline_orders {
    row_t n;
    const uint32_t *stream, *awaited;
    const double *call_start, *record_start;
    uint32_t n_streams;
    bool told; /* the trace tells such orders at all */
    /* Where it does not: when streams were told to wait for something. */
    row_t n_calls;
    const double *calls;
};

struct timeline_options {
    double rest_us;  /* gaps, and times of a parent after its children, that are longer become nodes of their own */
    bool per_stream; /* the simulator has a resource for each stream: kernels are not cut where they overlap */
    /* The rank is one of a job: communication is never cut, since it meets that of other ranks, and what an event
     * stands for is followed from stream to stream. */
    bool of_job;
};

struct timeline_input {
    struct timeline_ops ops;
    struct timeline_kernels kernels;
    struct timeline_calls calls;
    struct timeline_orders orders;
    struct timeline_options options;
    uint64_t first_new_id; /* above all ids of the file */
};

/* What a node stands for. */
enum timeline_role {
    NODE_OP,     /* a part of operator `of`; its first part has the operator's id */
    NODE_REST,   /* time in operator `of` in which nothing that was recorded ran */
    NODE_GAP,    /* time in no operator */
    NODE_KERNEL, /* a part of kernel `of`; its last part has the kernel's id */
};

/* Nodes in no order; node i depends on the nodes deps[first_dep[i]] .. deps[first_dep[i + 1] - 1], which are places in
 * these columns. Dependencies lead backwards in time, so there is no cycle. */
struct timeline_nodes {
    row_t n;
    uint64_t *id;
    uint8_t *role; /* enum timeline_role */
    row_t *of;     /* row of the operator or kernel; ROW_NONE for a gap */
    double *start; /* when it begins, measured */
    uint64_t *duration_us;
    double *run_us;      /* of that, for kernels: execution without launch latency */
    uint64_t *first_dep; /* n + 1 */
    uint64_t n_deps;
    row_t *deps;
};

struct timeline_report {
    uint64_t n_waits, n_blocking_copies, n_pageable_copies; /* where the processor waits for the GPU */
    uint64_t n_calls_outside, n_calls_without_kernel;       /* that do not count */
    uint64_t n_launch_cuts;                                 /* operators cut at a launch */
    uint64_t n_rests, n_parts; /* nodes more for rests, and for kernels that share the GPU */
    uint64_t n_orders, n_orders_against_time;
    uint64_t n_guessed;  /* waits for another stream that no record tells, as libraries launch collectives */
    uint64_t n_inferred; /* kernels that wait for one of another stream though no record says so */
    uint64_t n_clocked;  /* kernels held to the processor's clock, */
    uint64_t n_late;     /* or late for no known reason, */
    double late_us;      /* by so much in all */
    double origin;       /* time 0 of the simulation */
    double measured_us;  /* from there to the last end */
};

/* Makes the nodes; their columns are the arena's. Input without any operator gives kernels only. SUTRA_SYSTEM: out of
 * memory. */
enum sutra_status timeline_build(const struct timeline_input *input, const struct engine *engine, struct arena *arena,
                                 struct timeline_nodes *nodes, struct timeline_report *report,
                                 struct sutra_error *error);

#endif
