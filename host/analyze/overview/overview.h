/*
 * overview.h - where the time of a rank went, moment by moment: what the device did, and when it did nothing, why.
 *
 *     who launched what --> window --> stretches of work and gaps --> gaps taken apart by what held the next launch up
 *     (op_reading)          window.c   stretches.c                    idle.c, with host_marks.c and covering.c
 *
 *     steps    |  ProfilerStep#4 ..................... |
 *     thread   |   DataLoader .... aten::mm  launch    |
 *     stream   | gemm |                       | gemm | |
 *     rows     [compute)[loading)[host )[launch)[compute)[after)
 *
 * The rows of an overview are all of its window, one behind the other, each of one kind. A gap ends where a piece of
 * work begins, and belongs to the thread that launched that:
 *
 *     queued         the launch had returned before the gap began: a wait of streams, a graph, the hardware
 *     not started    behind the launch call, where that takes more than NOT_STARTED_NS
 *     slow launch    the launch call of a kernel, where it takes more than SLOW_CALL_NS: code is loaded
 *     launch         the launch call, and from its end to the work
 *     loading        before the launch, the thread was in a data loader,
 *     sync           in a call that blocks,
 *     set-up         in a call that takes memory, loads code or makes streams,
 *     after sync     in none of these, but in one that blocks when the gap began: the host starts anew behind it
 *     host           in none of these: Python, operators, anything on the CPU
 *     unknown        the trace has no launch of the next work
 *     after          behind the last work of the window
 *
 * Times are ticks of the reading, nanoseconds. Cost: O(n), and O(log n) for a gap.
 */
#ifndef ANALYZE_OVERVIEW_OVERVIEW_H
#define ANALYZE_OVERVIEW_OVERVIEW_H

#include "analyze/launches/launches.h"

#define NOT_STARTED_NS 200000
#define SLOW_CALL_NS   1000000

enum overview_kind {
    OVERVIEW_COMPUTE,
    OVERVIEW_COMMUNICATION, /* without computation */
    OVERVIEW_COPY,          /* copies and sets of memory without either */
    OVERVIEW_QUEUED,        /* from here on: idle */
    OVERVIEW_NOT_STARTED,
    OVERVIEW_SLOW_LAUNCH,
    OVERVIEW_LAUNCH,
    OVERVIEW_LOADING,
    OVERVIEW_SYNC,
    OVERVIEW_SET_UP,
    OVERVIEW_AFTER_SYNC,
    OVERVIEW_HOST,
    OVERVIEW_UNKNOWN,
    OVERVIEW_AFTER,
    OVERVIEW_N_KINDS
};

#define OVERVIEW_FIRST_IDLE OVERVIEW_QUEUED

/* From what to what. */
struct overview_window {
    int64_t from, to;
    row_t n_steps;
    row_t *steps; /* rows of hosts, by start: those of the profiler */
};

struct overview_row {
    int64_t begin, end;
    row_t gap;   /* of an idle row; ROW_NONE */
    row_t frame; /* row of hosts: the shortest event of the gap's thread that covers most of it; ROW_NONE */
    row_t wait;  /* row of hosts: of kinds SYNC and AFTER_SYNC, the call that blocks; ROW_NONE */
    uint8_t kind;
};

/* Between two stretches of work. */
struct overview_gap {
    int64_t begin, end;
    row_t device;      /* row of devices: what ends it; ROW_NONE: the window does */
    uint32_t thread;   /* of hosts, that launched it; THREAD_UNKNOWN */
    row_t first, last; /* its rows, less the last */
};

#define THREAD_UNKNOWN UINT32_MAX

/* All in the arena. */
struct overview {
    const struct op_reading *reading;
    struct string_roles *roles; /* READER_OVERVIEW's */
    struct overview_window window;
    struct overview_row *rows;
    struct overview_gap *gaps;
    row_t n_rows, n_gaps;
    uint8_t *classes;                /* by row of devices: enum overview_kind, one of the first three */
    uint8_t *blocks;                 /* by row of hosts: a call that waits for the device */
    int64_t ticks[OVERVIEW_N_KINDS]; /* together the window */
    int64_t communication, copies;   /* beside other work or not */
};

/* `scratch` is given back. SUTRA_SYSTEM: out of memory. A trace without anything has an empty window. */
enum sutra_status overview_make(struct sutra_context *context, const struct op_reading *reading, struct arena *arena,
                                struct arena *scratch, struct overview *overview, struct sutra_error *error);

/* Leaves out what lies before a moment of the window. */
void overview_crop(struct overview *overview, int64_t from);

/* Adds times that may overlap: no more than fits. */
static inline void ticks_add(int64_t *sum, int64_t ticks) {
    if (__builtin_add_overflow(*sum, ticks, sum))
        *sum = ticks < 0 ? INT64_MIN : INT64_MAX;
}

static inline int64_t overview_busy(const struct overview *overview) {
    const int64_t *ticks = overview->ticks;
    return ticks[OVERVIEW_COMPUTE] + ticks[OVERVIEW_COMMUNICATION] + ticks[OVERVIEW_COPY];
}

static inline int64_t overview_length(const struct overview *overview) {
    return overview->window.to - overview->window.from;
}

/* What the name of a row of hosts means to the overview. */
static inline uint32_t overview_name(const struct overview *overview, row_t host) {
    return name_roles(overview->reading->events, overview->roles, overview->reading->hosts.event[host]);
}

/* ---- The parts ---- */

/* Roles of NAME_OWN and above. */
#define NAME_COLLECTIVE  NAME_OWN        /* kernels of communication beside those that facts/device_class.h knows */
#define NAME_FROM_DEVICE (NAME_OWN << 1) /* copies from the device to the host */
#define NAME_CAPTURES    (NAME_OWN << 2) /* calls from which on a stream's work becomes a graph instead of running, */
#define NAME_CAPTURED    (NAME_OWN << 3) /* and up to which */

/* idle.c: gaps taken apart. */
enum sutra_status overview_idle_attribute(struct sutra_context *context, struct overview *overview, struct arena *arena,
                                          struct arena *scratch, struct sutra_error *error);

/* host_marks.c: when threads load data, wait or set up; disjoint, those of thread t are list[first[t]] and on, less
 * list[first[t + 1]]. */
struct host_mark {
    int64_t begin, end;
    row_t host;
    uint8_t kind; /* OVERVIEW_LOADING, OVERVIEW_SYNC, OVERVIEW_SET_UP */
};

struct host_marks {
    struct host_mark *list;
    row_t *first;
    row_t n;
};

/* covering.c: ways up from rows of hosts. */
struct host_ways {
    const struct host_rows *hosts;
    row_t *first; /* by thread: its first row of hosts; n_threads + 1 */
    row_t *jump;  /* a row above, so that any can be reached in O(log n) steps; the row itself where there is none */
};

/* The shortest event of a thread that covers at least COVERED_PERCENT of a stretch, or ROW_NONE. *near is any
 * number at first and the caller's to keep: for stretches in the order of time the search is short. O(log n). */
#define COVERED_PERCENT 70

#endif
